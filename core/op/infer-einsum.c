/* Inference and cost of Einsum. */
#include "config.h"

#include "core/op/infer-einsum.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"
#include <string.h>

static guint8
letter_label (char letter)
{
  return (guint8) (IR_EINSUM_LETTERS +
                   (g_ascii_isupper (letter) ? letter - 'A' : letter - 'a' + 26));
}

/* A term as it is written: its letters, and where among them the ellipsis stands. */
typedef struct
{
  guint n;
  guint8 labels[IR_MAX_RANK];
  int ellipsis; /* number of letters before it; -1: none */
} Spelled;

static gboolean
spell (Spelled *spelled, const IrCall *call, const char *text, GError **error)
{
  spelled->n = 0;
  spelled->ellipsis = -1;
  for (const char *c = text; *c != '\0'; c++)
    if (g_ascii_isalpha (*c) && spelled->n < IR_MAX_RANK)
      spelled->labels[spelled->n++] = letter_label (*c);
    else if (strncmp (c, "...", 3) == 0 && spelled->ellipsis < 0)
      {
        spelled->ellipsis = (int) spelled->n;
        c += 2;
      }
    else if (*c != ' ')
      return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                           "the term \"%s\" of the equation cannot be read", text);
  return TRUE;
}

/* Puts @n_ellipsis axes, or an unknown number (< 0), where the ellipsis stands. */
static gboolean
expand (
    IrEinsumTerm *term, const Spelled *spelled, int n_ellipsis, const IrCall *call, GError **error)
{
  int rank = 0;

  if (spelled->ellipsis < 0)
    n_ellipsis = 0;
  term->rank = IR_RANK_UNKNOWN;
  if (n_ellipsis < 0)
    return TRUE;
  if ((int) spelled->n + n_ellipsis > IR_MAX_RANK)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "a term has more than %d axes",
                         IR_MAX_RANK);
  for (int i = 0; i <= (int) spelled->n; i++)
    {
      for (int k = n_ellipsis; i == spelled->ellipsis && k-- > 0;)
        term->labels[rank++] = (guint8) k;
      if (i < (int) spelled->n)
        term->labels[rank++] = spelled->labels[i];
    }
  term->rank = rank;
  return TRUE;
}

static int
n_ellipsis_of (const IrEinsumTerm *term)
{
  int n = 0;

  for (int i = 0; i < term->rank; i++)
    n += term->labels[i] < IR_EINSUM_LETTERS;
  return n;
}

/* The sizes of a term's labels meet those of the terms before it; size 1 broadcasts. */
static gboolean
meet_sizes (IrEinsum *einsum, const IrCall *call, guint slot, GError **error)
{
  const IrEinsumTerm *term = &einsum->terms[slot];
  const IrDim *dims = ir_call_input_dims (call, slot);
  IrDim own[IR_EINSUM_N_LABELS];
  gboolean seen[IR_EINSUM_N_LABELS] = { FALSE };

  for (int i = 0; i < term->rank; i++)
    {
      guint8 label = term->labels[i];
      IrDim dim = dims != NULL ? dims[i] : IR_DIM_UNKNOWN;
      if (!seen[label])
        own[label] = dim;
      else if (!ir_call_same_dim (call, own[label], dim, "sizes of a repeated index", &own[label],
                                  error))
        return FALSE;
      seen[label] = TRUE;
    }
  for (guint label = 0; label < IR_EINSUM_N_LABELS; label++)
    {
      if (!seen[label])
        continue;
      if (!einsum->used[label])
        einsum->sizes[label] = own[label];
      else if (!ir_call_broadcast_dim (call, einsum->sizes[label], own[label],
                                       &einsum->sizes[label], error))
        return FALSE;
      einsum->used[label] = TRUE;
    }
  return TRUE;
}

static gboolean
read_terms (IrEinsum *einsum,
            const IrCall *call,
            const char *left,
            guint *counts,
            int *n_ellipsis,
            GError **error)
{
  g_auto (GStrv) terms = g_strsplit (left, ",", -1);
  Spelled spelled;

  einsum->n_terms = MAX (g_strv_length (terms), 1);
  if (einsum->n_terms != call->n_inputs)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "the equation has %u terms, there are %u inputs", einsum->n_terms,
                         call->n_inputs);
  einsum->terms = g_new0 (IrEinsumTerm, einsum->n_terms);
  for (guint t = 0; t < einsum->n_terms; t++)
    {
      int rank = ir_call_input_rank (call, t);
      if (!spell (&spelled, call, terms[t] != NULL ? terms[t] : "", error))
        return FALSE;
      int letters = (int) spelled.n;
      if (rank != IR_RANK_UNKNOWN && (rank < letters || (spelled.ellipsis < 0 && rank != letters)))
        return ir_call_fail (call, error, IR_OP_ERROR_SHAPE,
                             "input %u has %d dims, its term names %d", t, rank, letters);
      if (!expand (&einsum->terms[t], &spelled, rank == IR_RANK_UNKNOWN ? -1 : rank - letters, call,
                   error) ||
          !meet_sizes (einsum, call, t, error))
        return FALSE;
      for (guint i = 0; i < spelled.n; i++)
        counts[spelled.labels[i]]++;
      if (einsum->terms[t].rank == IR_RANK_UNKNOWN)
        *n_ellipsis = -1;
      else if (*n_ellipsis >= 0)
        *n_ellipsis = MAX (*n_ellipsis, n_ellipsis_of (&einsum->terms[t]));
    }
  return TRUE;
}

/* Without "->": the ellipsis, then the indices that occur once, in the order of ASCII. */
static void
spell_output (Spelled *spelled, const guint *counts)
{
  spelled->n = 0;
  spelled->ellipsis = 0;
  for (guint label = IR_EINSUM_LETTERS; label < IR_EINSUM_N_LABELS; label++)
    if (counts[label] == 1)
      spelled->labels[spelled->n++] = (guint8) label;
}

static gboolean
check_output (const IrCall *call, const Spelled *output, const guint *counts, GError **error)
{
  gboolean seen[IR_EINSUM_N_LABELS] = { FALSE };

  for (guint i = 0; i < output->n; i++)
    {
      guint8 label = output->labels[i];
      if (counts[label] == 0 || seen[label])
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "index %u of the output %s", i,
                             seen[label] ? "stands there twice" : "is in no input");
      seen[label] = TRUE;
    }
  return TRUE;
}

/**
 * ir_einsum_init:
 * @einsum: (out caller-allocates): the equation; clear with ir_einsum_clear(), also after a failure
 * @call: a call with the attribute equation
 * @error: return location for an error
 *
 * Reads the equation and works out the size of every index from the types of the inputs. As in
 * numpy, an axis of size 1 broadcasts, and the axes of an ellipsis line up at their ends.
 *
 * Source: ONNX Einsum 28.
 *
 * Returns: %FALSE if the equation cannot be read or does not fit the inputs
 */
gboolean
ir_einsum_init (IrEinsum *einsum, const IrCall *call, GError **error)
{
  const char *equation = ir_call_string (call, "equation", NULL);
  guint counts[IR_EINSUM_N_LABELS] = { 0 };
  int n_ellipsis = 0;
  Spelled output;

  memset (einsum, 0, sizeof *einsum);
  if (equation == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "attribute equation is missing");
  g_auto (GStrv) sides = g_strsplit (equation, "->", 2);
  if (!read_terms (einsum, call, sides[0] != NULL ? sides[0] : "", counts, &n_ellipsis, error))
    return FALSE;
  if (sides[0] == NULL || sides[1] == NULL)
    spell_output (&output, counts);
  else if (!spell (&output, call, sides[1], error) || !check_output (call, &output, counts, error))
    return FALSE;
  return expand (&einsum->output, &output, n_ellipsis, call, error);
}

/**
 * ir_einsum_clear:
 * @einsum: an equation
 */
void
ir_einsum_clear (IrEinsum *einsum)
{
  g_clear_pointer (&einsum->terms, g_free);
}

/* Sets the output to the sizes of the indices that the equation keeps. Source: ONNX Einsum 28. */
gboolean
ir_infer_einsum (IrCall *call, GError **error)
{
  g_auto (IrEinsum) einsum = { 0 };
  IrDim dims[IR_MAX_RANK];
  IrDtype dtype;

  if (!ir_call_common_dtype (call, 0, call->n_inputs, &dtype, error) ||
      !ir_einsum_init (&einsum, call, error))
    return FALSE;
  for (int i = 0; i < einsum.output.rank; i++)
    dims[i] = einsum.sizes[einsum.output.labels[i]];
  ir_call_set_output_tensor_type (call, 0, dtype, einsum.output.rank, dims);
  return TRUE;
}

/* For every value of all indices the inputs are multiplied, and added where an index is summed, which is
 * the definition; kernels may do with less. */
guint64
ir_cost_einsum (const IrCall *call)
{
  g_auto (IrEinsum) einsum = { 0 };
  guint64 n = 1, each = call->n_inputs - 1;
  gboolean sums = FALSE;

  if (!ir_einsum_init (&einsum, call, NULL))
    return 0;
  for (guint label = 0; label < IR_EINSUM_N_LABELS; label++)
    if (einsum.used[label])
      {
        sums |= einsum.output.rank != IR_RANK_UNKNOWN &&
                memchr (einsum.output.labels, (int) label, (gsize) einsum.output.rank) == NULL;
        if (ir_dim_is_known (einsum.sizes[label]))
          n = ir_mul_saturated (n, (guint64) einsum.sizes[label]);
      }
  return ir_mul_saturated (n, each + sums);
}
