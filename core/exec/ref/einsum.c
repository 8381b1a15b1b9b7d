/* Einsum: operands are contracted one after the other, from the left; what neither a later operand
 * nor the output needs is summed up at once. Intermediate results are doubles, or 64-bit integers
 * that wrap around. */
#include "config.h"

#include "core/op/infer-einsum.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/kernel/threads.h"
#include "core/exec/ref/ref.h"
#include <string.h>

typedef union
{
  double real;
  guint64 integer;
} Number;

/* A dense tensor with an index name per axis. */
typedef struct
{
  guint rank;
  guint8 labels[IR_EINSUM_N_LABELS];
  gint64 dims[IR_EINSUM_N_LABELS];
  Number *numbers;
  guint64 n;
} Operand;

static void
operand_clear (Operand *operand)
{
  g_clear_pointer (&operand->numbers, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Operand, operand_clear)

/* All values of some indices, and how far apart their elements lie in the operands. */
typedef struct
{
  guint n;
  gint64 dims[IR_EINSUM_N_LABELS];
  gint64 strides[2][IR_EINSUM_N_LABELS];
} Space;

typedef struct
{
  const Operand *operands[2]; /* the second one nullable */
  Operand *result;
  gboolean is_real;
  Space kept, summed;
  const IrCall *call;
} Contraction;

/* -- operands -- */

static gboolean
operand_alloc (Operand *operand, const IrCall *call, GError **error)
{
  operand->n = 1;
  for (guint i = 0; i < operand->rank; i++)
    operand->n = ir_mul_saturated (operand->n, (guint64) operand->dims[i]);
  operand->numbers = operand->n < G_MAXSIZE / sizeof (Number)
                         ? g_try_new (Number, MAX ((gsize) operand->n, 1))
                         : NULL;
  return operand->numbers != NULL ||
         ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                       "no memory for %" G_GUINT64_FORMAT " elements of scratch", operand->n);
}

static gboolean
operand_load (
    Operand *operand, const IrCall *call, guint slot, const IrEinsumTerm *term, GError **error)
{
  const IrTensor *tensor = ir_call_input (call, slot);
  gboolean is_real = ir_ref_kind (ir_tensor_dtype (tensor)) == IR_REF_REAL;

  operand->rank = (guint) term->rank;
  memcpy (operand->labels, term->labels, operand->rank);
  for (guint i = 0; i < operand->rank; i++)
    operand->dims[i] = ir_tensor_dims (tensor)[i];
  if (!operand_alloc (operand, call, error))
    return FALSE;
  for (guint64 i = 0; i < operand->n; i++)
    {
      gint64 offset = (gint64) i, integer;
      if (is_real)
        ir_ref_load_real (tensor, &offset, 1, &operand->numbers[i].real);
      else
        {
          ir_ref_load_int (tensor, &offset, 1, &integer);
          operand->numbers[i].integer = (guint64) integer;
        }
    }
  return TRUE;
}

/* Elements from one value of @label to the next: a repeated label walks a diagonal, an axis of
 * size 1 stands still. */
static gint64
label_stride (const Operand *operand, guint8 label)
{
  guint64 stride = 1, sum = 0; /* an empty operand may have axes whose product does not fit */

  for (guint i = operand->rank; i-- > 0;)
    {
      if (operand->labels[i] == label && operand->dims[i] != 1)
        sum += stride;
      stride *= (guint64) operand->dims[i];
    }
  return (gint64) sum;
}

/* -- a contraction of two operands, or a sum over one -- */

static void
space_add (Space *space, const Contraction *c, guint8 label, gint64 dim)
{
  space->dims[space->n] = dim;
  for (guint i = 0; i < 2; i++)
    space->strides[i][space->n] = c->operands[i] != NULL ? label_stride (c->operands[i], label) : 0;
  space->n++;
}

/* Adds the products along the last summed index, or the only product where nothing is summed. */
static void
add_line (const Contraction *c, Number *sum, const gint64 *offsets)
{
  const Space *space = &c->summed;
  gint64 n = space->n > 0 ? space->dims[space->n - 1] : 1;
  gint64 step_a = space->n > 0 ? space->strides[0][space->n - 1] : 0;
  gint64 step_b = space->n > 0 ? space->strides[1][space->n - 1] : 0;
  const Number one = c->is_real ? (Number){ .real = 1 } : (Number){ .integer = 1 };
  const Number *a = c->operands[0]->numbers + offsets[0];
  const Number *b = c->operands[1] != NULL ? c->operands[1]->numbers + offsets[1] : &one;

  if (c->is_real)
    for (gint64 i = 0; i < n; i++)
      sum->real += a[i * step_a].real * b[i * step_b].real;
  else
    for (gint64 i = 0; i < n; i++)
      sum->integer += a[i * step_a].integer * b[i * step_b].integer;
}

/* Sum over all values of the summed indices, of which there is none with size 0. */
static Number
sum_products (const Contraction *c, const gint64 *start)
{
  const Space *space = &c->summed;
  gint64 at[IR_EINSUM_N_LABELS], offsets[2] = { start[0], start[1] };
  Number sum = { .integer = 0 }; /* which is 0.0, too */
  gboolean more = TRUE;

  for (guint i = 0; i < space->n; i++)
    at[i] = 0;
  while (more)
    {
      add_line (c, &sum, offsets);
      more = FALSE;
      for (guint i = MAX (space->n, 1) - 1; i-- > 0 && !more;)
        {
          gint64 step = 1;
          more = ++at[i] < space->dims[i];
          if (!more)
            {
              step = 1 - at[i];
              at[i] = 0;
            }
          offsets[0] += step * space->strides[0][i];
          offsets[1] += step * space->strides[1][i];
        }
    }
  return sum;
}

static void
contract_range (guint64 first, guint64 end, guint worker, gpointer data)
{
  const Contraction *c = data;

  for (guint64 i = first; i < end && !ir_call_stopped (c->call); i++)
    {
      guint64 rest = i;
      gint64 offsets[2] = { 0, 0 };
      for (guint k = c->kept.n; k-- > 0; rest /= (guint64) c->kept.dims[k])
        for (guint o = 0; o < 2; o++)
          offsets[o] += (gint64) (rest % (guint64) c->kept.dims[k]) * c->kept.strides[o][k];
      c->result->numbers[i] = sum_products (c, offsets);
    }
}

static gboolean
has_label (const Operand *operand, guint8 label)
{
  return operand != NULL && memchr (operand->labels, label, operand->rank) != NULL;
}

/* Fills @c->result, whose labels are given. */
static gboolean
contract (Contraction *c, const IrEinsum *einsum, IrCall *call, GError **error)
{
  Operand *result = c->result;
  gboolean empty = FALSE;
  double n_summed = 1;

  for (guint i = 0; i < result->rank; i++)
    {
      result->dims[i] = einsum->sizes[result->labels[i]];
      space_add (&c->kept, c, result->labels[i], result->dims[i]);
    }
  for (guint label = 0; label < IR_EINSUM_N_LABELS; label++)
    if (!has_label (result, (guint8) label) &&
        (has_label (c->operands[0], (guint8) label) || has_label (c->operands[1], (guint8) label)))
      {
        space_add (&c->summed, c, (guint8) label, einsum->sizes[label]);
        n_summed *= (double) einsum->sizes[label];
        empty = empty || einsum->sizes[label] == 0;
      }
  if (!operand_alloc (result, call, error))
    return FALSE;
  if (empty)
    memset (result->numbers, 0, sizeof (Number) * result->n);
  else if (result->n > 0)
    ir_threads_for (call->threads, result->n, ir_threads_grain (n_summed), contract_range, c);
  return !ir_block_cancelled (call, error);
}

/* -- all operands -- */

/* Indices of @a and @b that the output or a term from @next on needs. */
static void
name_intermediate (
    Operand *result, const IrEinsum *einsum, const Operand *a, const Operand *b, guint next)
{
  for (guint label = 0; label < IR_EINSUM_N_LABELS; label++)
    {
      gboolean needed = memchr (einsum->output.labels, (int) label, (gsize) einsum->output.rank) !=
                        NULL;
      for (guint t = next; t < einsum->n_terms && !needed; t++)
        needed = memchr (einsum->terms[t].labels, (int) label, (gsize) einsum->terms[t].rank) !=
                 NULL;
      if (needed && (has_label (a, (guint8) label) || has_label (b, (guint8) label)))
        result->labels[result->rank++] = (guint8) label;
    }
}

static gboolean
contract_all (IrCall *call, const IrEinsum *einsum, Operand *result, GError **error)
{
  gboolean is_real = ir_ref_kind (ir_tensor_dtype (ir_call_input (call, 0))) == IR_REF_REAL;
  guint n = einsum->n_terms;

  if (!operand_load (result, call, 0, &einsum->terms[0], error))
    return FALSE;
  for (guint t = 1; t < MAX (n, 2); t++)
    {
      g_auto (Operand) left = *result, right = { 0 };
      Contraction c = { .operands = { &left, t < n ? &right : NULL },
                        .result = result,
                        .is_real = is_real,
                        .call = call };
      memset (result, 0, sizeof *result);
      if (t < n && !operand_load (&right, call, t, &einsum->terms[t], error))
        return FALSE;
      if (t + 1 < n)
        name_intermediate (result, einsum, &left, &right, t + 1);
      else
        {
          result->rank = (guint) einsum->output.rank;
          memcpy (result->labels, einsum->output.labels, result->rank);
        }
      if (!contract (&c, einsum, call, error))
        return FALSE;
    }
  return TRUE;
}

/* Source: ONNX Einsum 28; numpy.einsum */
gboolean
ir_ref_einsum (IrCall *call, GError **error)
{
  g_auto (IrEinsum) einsum = { 0 };
  g_auto (Operand) result = { 0 };

  if (!ir_ref_prepare (call, error) || !ir_einsum_init (&einsum, call, error))
    return FALSE;
  IrDtype dtype = ir_tensor_dtype (ir_call_input (call, 0));
  if (ir_ref_kind (dtype) == IR_REF_OTHER)
    return ir_ref_fail_dtype (call, dtype, error);
  IrTensor *y = ir_block_new_output (call, 0, error);
  if (y == NULL || !contract_all (call, &einsum, &result, error))
    return FALSE;
  for (guint64 i = 0; i < result.n; i++)
    if (ir_ref_kind (dtype) == IR_REF_REAL)
      ir_block_store (y, i, 1, &result.numbers[i].real);
    else
      ir_ref_store_int (y, i, 1, (const gint64 *) &result.numbers[i].integer);
  return TRUE;
}
