/* Unique: slices along an axis are sorted, equal neighbours are one. */
#include "config.h"

#include "core/exec/ref/string-util.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <math.h>

typedef struct
{
  const IrTensor *in;
  IrRefKind kind;
  gint64 outer, n, inner; /* X as [outer, n, inner] */
} Slices;

/* NaN stands behind all numbers, and equals itself. */
static int
compare_reals (double a, double b)
{
  if (isnan (a) || isnan (b))
    return isnan (a) - isnan (b);
  return (a > b) - (a < b);
}

static int
compare_elements (Slices *slices, gint64 a, gint64 b)
{
  gint64 offsets[2] = { a, b }, whole[2];
  double real[2];

  if (ir_tensor_dtype (slices->in) == IR_DTYPE_STRING)
    return g_bytes_compare (ir_tensor_string (slices->in, (guint64) a),
                              ir_tensor_string (slices->in, (guint64) b));
  if (slices->kind == IR_REF_REAL)
    {
      ir_ref_load_real (slices->in, offsets, 2, real);
      return compare_reals (real[0], real[1]);
    }
  ir_ref_load_int (slices->in, offsets, 2, whole);
  if (slices->kind == IR_REF_UINT)
    return ((guint64) whole[0] > (guint64) whole[1]) - ((guint64) whole[0] < (guint64) whole[1]);
  return (whole[0] > whole[1]) - (whole[0] < whole[1]);
}

static int
compare_slices (gconstpointer a, gconstpointer b, gpointer data)
{
  Slices *slices = data;
  gint64 first = *(const gint64 *) a, second = *(const gint64 *) b;

  for (gint64 o = 0; o < slices->outer; o++)
    for (gint64 i = 0; i < slices->inner; i++)
      {
        int order = compare_elements (slices, (o * slices->n + first) * slices->inner + i,
                                      (o * slices->n + second) * slices->inner + i);
        if (order != 0)
          return order;
      }
  return 0;
}

static int
compare_numbers (gconstpointer a, gconstpointer b, gpointer data)
{
  gint64 first = *(const gint64 *) a, second = *(const gint64 *) b;

  return (first > second) - (first < second);
}

typedef struct
{
  gint64 n;        /* how many are different */
  gint64 *first;   /* of each: the slice where it first stands */
  gint64 *count;   /* of each */
  gint64 *inverse; /* of each slice: which one it is */
} Groups;

static void
groups_clear (Groups *groups)
{
  g_free (groups->first);
  g_free (groups->count);
  g_free (groups->inverse);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Groups, groups_clear)

/* The sort is stable, so the first of equal slices is the one that stands first. FALSE: they are
 * too many. */
static gboolean
find_groups (Slices *slices, gboolean sorted, Groups *groups)
{
  g_autofree gint64 *order = g_new (gint64, MAX (slices->n, 1));
  g_autofree gint64 *leader = g_new0 (gint64, MAX (slices->n, 1));

  for (gint64 i = 0; i < slices->n; i++)
    order[i] = i;
  if (!ir_block_sort (order, slices->n, compare_slices, slices))
    return FALSE;
  for (gint64 i = 0; i < slices->n; i++)
    {
      gboolean same = i > 0 && compare_slices (&order[i - 1], &order[i], slices) == 0;
      leader[order[i]] = same ? leader[order[i - 1]] : order[i];
      if (!same)
        groups->first[groups->n++] = order[i];
    }
  if (!sorted && !ir_block_sort (groups->first, groups->n, compare_numbers, NULL))
    return FALSE;
  for (gint64 g = 0; g < groups->n; g++)
    groups->inverse[groups->first[g]] = g;
  for (gint64 i = 0; i < slices->n; i++)
    {
      groups->inverse[i] = groups->inverse[leader[i]];
      groups->count[groups->inverse[i]]++;
    }
  return TRUE;
}

static gboolean
store_numbers (IrCall *call, guint slot, gint64 n, const gint64 *values, GError **error)
{
  if (!ir_call_has_output (call, slot))
    return TRUE;
  IrTensor *out = ir_call_new_output (call, slot, IR_DTYPE_INT64, 1, &n, error);
  if (out == NULL)
    return FALSE;
  for (gint64 i = 0; i < n; i++)
    ir_ref_store_int (out, (guint64) i, 1, &values[i]);
  return TRUE;
}

static gboolean
store_slices (IrCall *call, const Slices *slices, const Groups *groups, gint64 axis, GError **error)
{
  g_auto (IrRefReader) in = { 0 };
  g_auto (IrRefWriter) out = { 0 };
  gboolean flat = axis < 0;
  guint rank = flat ? 1 : ir_tensor_rank (slices->in);
  gint64 dims[IR_MAX_RANK];

  for (guint i = 0; i < rank; i++)
    dims[i] = flat || i == (guint) axis ? groups->n : ir_tensor_dims (slices->in)[i];
  if (!ir_ref_reader_init (&in, call, slices->in, error) ||
      !ir_ref_writer_init_dims (&out, call, 0, in.dtype, rank, dims, error))
    return FALSE;
  for (gint64 o = 0; o < slices->outer && out.n > 0; o++)
    for (gint64 g = 0; g < groups->n; g++)
      ir_ref_copy_run (&out, (guint64) ((o * groups->n + g) * slices->inner), &in,
                       (guint64) ((o * slices->n + groups->first[g]) * slices->inner),
                       (guint64) slices->inner);
  return ir_ref_writer_finish (&out, error);
}

/* X. Source: ONNX Unique 11. Cost: O(n log n) comparisons of slices. */
gboolean
ir_ref_unique (IrCall *call, GError **error)
{
  g_auto (Groups) groups = { 0 };
  gint64 axis = -1;

  if (!ir_call_check (call, error) || !call->op->infer (call, error))
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  guint rank = ir_tensor_rank (in);
  Slices slices = { .in = in,
                    .kind = ir_ref_kind (ir_tensor_dtype (in)),
                    .outer = 1,
                    .n = (gint64) ir_tensor_n_elements (in),
                    .inner = 1 };
  if (slices.kind == IR_REF_OTHER && ir_tensor_dtype (in) != IR_DTYPE_STRING)
    return ir_ref_fail_dtype (call, ir_tensor_dtype (in), error);
  if (ir_call_attr (call, "axis") != NULL)
    {
      if (!ir_call_axis (call, ir_call_int (call, "axis", 0), (int) rank, &axis, error))
        return FALSE;
      slices.n = ir_tensor_dims (in)[axis];
      ir_ref_split_at (rank, ir_tensor_dims (in), (guint) axis, &slices.outer, &slices.inner);
    }
  if (slices.n > G_MAXINT32)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "%" G_GINT64_FORMAT " slices to sort",
                         slices.n);
  groups.first = g_new0 (gint64, MAX (slices.n, 1));
  groups.count = g_new0 (gint64, MAX (slices.n, 1));
  groups.inverse = g_new0 (gint64, MAX (slices.n, 1));
  if (!find_groups (&slices, ir_call_int (call, "sorted", 1) != 0, &groups))
    return ir_block_cancelled (call, error)
               ? FALSE
               : ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "no memory to sort an axis");
  return store_slices (call, &slices, &groups, axis, error) &&
         store_numbers (call, 1, groups.n, groups.first, error) &&
         store_numbers (call, 2, slices.n, groups.inverse, error) &&
         store_numbers (call, 3, groups.n, groups.count, error);
}
