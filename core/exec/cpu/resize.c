/* Resize and Upsample by tables: for each element of an axis of the output the elements of the
 * input that it is made of, with their weights in float32. The nearest neighbour moves elements of
 * any type in one pass, the others take one pass per axis that changes. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/op/infer-resize.h"

#include <math.h>
#include <string.h>

/* -- where an element of the output lies -- */

typedef double (*PlaceFunc) (double x, double scale, double in, double out);

static double
half_pixel (double x, double scale, double in, double out)
{
  return (x + 0.5) / scale - 0.5;
}

static double
half_pixel_symmetric (double x, double scale, double in, double out)
{
  return in / 2 * (1 - out / (scale * in)) + (x + 0.5) / scale - 0.5;
}

static double
pytorch_half_pixel (double x, double scale, double in, double out)
{
  return out > 1 ? (x + 0.5) / scale - 0.5 : 0;
}

static double
align_corners (double x, double scale, double in, double out)
{
  return out > 1 ? x * (in - 1) / (scale * in - 1) : 0;
}

static double
asymmetric (double x, double scale, double in, double out)
{
  return x / scale;
}

static double
half_pixel_for_nearest (double x, double scale, double in, double out)
{
  return (x + 0.5) / scale;
}

/* A crop is the reference kernel's. */
static const struct
{
  const char *name;
  PlaceFunc place;
  gboolean moves; /* even if the size stays */
} coordinates[] = {
  { "half_pixel", half_pixel, FALSE },
  { "half_pixel_symmetric", half_pixel_symmetric, FALSE },
  { "pytorch_half_pixel", pytorch_half_pixel, FALSE },
  { "align_corners", align_corners, FALSE },
  { "asymmetric", asymmetric, FALSE },
  { "tf_half_pixel_for_nn", half_pixel_for_nearest, TRUE },
};

static double
prefer_floor (double x)
{
  return ceil (x - 0.5);
}

static double
prefer_ceil (double x)
{
  return floor (x + 0.5);
}

static const struct
{
  const char *name;
  double (*round) (double x);
} roundings[] = {
  { "round_prefer_floor", prefer_floor },
  { "round_prefer_ceil", prefer_ceil },
  { "floor", floor },
  { "ceil", ceil },
};

/* -- what the call asks for -- */

typedef struct
{
  IrResize geometry;
  PlaceFunc place;
  gboolean moves;
  double (*round) (double x);
  gboolean nearest, cubic, antialias, exclude_outside;
  double cubic_a;
} Plan;

/* FALSE: not by these tables. */
static gboolean
plan_init (Plan *plan, IrCall *call)
{
  const char *mode = ir_call_string (call, "mode", "nearest"),
             *place = ir_call_string (call, "coordinate_transformation_mode", "half_pixel"),
             *rounding = ir_call_string (call, "nearest_mode", "round_prefer_floor");

  if (!ir_resize_init (&plan->geometry, call, NULL))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (coordinates); i++)
    if (strcmp (coordinates[i].name, place) == 0)
      {
        plan->place = coordinates[i].place;
        plan->moves = coordinates[i].moves;
      }
  for (guint i = 0; i < G_N_ELEMENTS (roundings); i++)
    if (strcmp (roundings[i].name, rounding) == 0)
      plan->round = roundings[i].round;
  plan->nearest = strcmp (mode, "nearest") == 0;
  plan->cubic = strcmp (mode, "cubic") == 0;
  plan->antialias = ir_call_int (call, "antialias", 0) != 0;
  plan->exclude_outside = ir_call_int (call, "exclude_outside", 0) != 0;
  plan->cubic_a = ir_call_float (call, "cubic_coeff_a", -0.75);
  return plan->place != NULL && plan->round != NULL &&
         (plan->nearest || plan->cubic || strcmp (mode, "linear") == 0);
}

static double
place_of (const Plan *plan, guint axis, gint64 i, gint64 in)
{
  return plan->place ((double) i, plan->geometry.scale[axis], (double) in,
                      (double) plan->geometry.out[axis]);
}

/* -- nearest -- */

static gint64 *
nearest_table (const Plan *plan, guint axis, gint64 in, gint64 stride)
{
  gint64 out = plan->geometry.out[axis], *table = g_try_new (gint64, MAX (out, 1));

  for (gint64 i = 0; table != NULL && i < out; i++)
    {
      double x = plan->round (place_of (plan, axis, i, in));

      table[i] = (x >= 0 ? (gint64) MIN (x, (double) (in - 1)) : 0) * stride;
    }
  return table;
}

#define PICK(Type)                                                                                 \
  static void pick_##Type (const Type *x, const gint64 *table, Type *y, gint64 n)                  \
  {                                                                                                \
    for (gint64 i = 0; i < n; i++)                                                                 \
      y[i] = x[table[i]];                                                                          \
  }
PICK (guint8)
PICK (guint16)
PICK (guint32)
PICK (guint64)

static void
pick_row (const guint8 *x, gint64 at, const gint64 *table, guint8 *y, gint64 n, gsize size)
{
  x += at * (gint64) size;
  if (size == 4)
    pick_guint32 ((const guint32 *) x, table, (guint32 *) y, n);
  else if (size == 8)
    pick_guint64 ((const guint64 *) x, table, (guint64 *) y, n);
  else if (size == 2)
    pick_guint16 ((const guint16 *) x, table, (guint16 *) y, n);
  else
    pick_guint8 (x, table, y, n);
}

static gboolean
run_nearest (IrCall *call, const Plan *plan, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  g_autoptr (GPtrArray) tables = g_ptr_array_new_with_free_func (g_free);
  guint rank = plan->geometry.rank;
  gsize size = ir_dtype_bits (ir_tensor_dtype (in)) / 8;
  const guint8 *x = ir_tensor_data (in);
  gint64 stride = 1, rows = 1, n;
  guint8 *y = cpu_new_output (call, 0, error);

  if (y == NULL)
    return FALSE;
  for (guint axis = rank; axis > 0; axis--)
    {
      gint64 dim = ir_tensor_dims (in)[axis - 1];
      gint64 *table = nearest_table (plan, axis - 1, dim, stride);

      if (table == NULL)
        return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "the tables do not fit into memory");
      g_ptr_array_insert (tables, 0, table);
      stride *= dim;
      rows *= axis < rank ? plan->geometry.out[axis - 1] : 1;
    }
  n = plan->geometry.out[rank - 1];
  int n_threads = cpu_n_threads (call, (guint64) (rows * n));
  CpuWatch watch = cpu_watch (call, n);
#pragma omp parallel num_threads(n_threads)
  for (gint64 row = cpu_share (rows, 0), until = cpu_share (rows, 1);
       row < until && !cpu_watch_stopped (&watch, row); row++)
    {
      gint64 at = 0, index = row;

      for (guint axis = rank - 1; axis > 0; axis--)
        {
          gint64 dim = plan->geometry.out[axis - 1];

          at += ((const gint64 *) tables->pdata[axis - 1])[index % dim];
          index /= dim;
        }
      pick_row (x, at, tables->pdata[rank - 1], y + row * n * (gint64) size, n, size);
    }
  return TRUE;
}

/* -- linear and cubic -- */

typedef struct
{
  guint n;        /* neighbours of an element */
  gint64 *index;  /* @n for each element of the output */
  float *weights; /* as many */
} Table;

static void
table_clear (Table *table)
{
  g_clear_pointer (&table->index, g_free);
  g_clear_pointer (&table->weights, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Table, table_clear)

/* Cubic: Keys 1981, "Cubic convolution interpolation for digital image processing". */
static double
weight_of (const Plan *plan, double distance)
{
  double d = fabs (distance), a = plan->cubic_a;

  if (!plan->cubic)
    return MAX (1 - d, 0);
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* The weights of one element have the sum 1. With antialiasing the kernel is stretched to what an
 * element of the output stands for. */
static gboolean
table_init (Table *table, const Plan *plan, guint axis, gint64 in)
{
  gint64 out = plan->geometry.out[axis];
  double stretch = plan->antialias ? MIN (plan->geometry.scale[axis], 1) : 1;
  double reach = (plan->cubic ? 2 : 1) / stretch;
  gint64 before = (gint64) floor (-reach) + 1;

  if (!(reach < 1 << 20))
    return FALSE;
  table->n = (guint) (2 - 2 * before);
  table->index = g_try_new (gint64, (gsize) out * table->n);
  table->weights = g_try_new (float, (gsize) out * table->n);
  g_autofree double *weights = g_try_new (double, table->n);
  if (table->index == NULL || table->weights == NULL || weights == NULL)
    return FALSE;
  for (gint64 i = 0; i < out; i++)
    {
      double at = place_of (plan, axis, i, in), sum = 0;
      gint64 first = (gint64) floor (at) + before;

      for (guint k = 0; k < table->n; k++)
        {
          gboolean outside = first + k < 0 || first + k >= in;

          weights[k] = plan->exclude_outside && outside
                           ? 0
                           : weight_of (plan, ((double) (first + k) - at) * stretch);
          sum += weights[k];
          table->index[i * table->n + k] = CLAMP (first + k, 0, in - 1);
        }
      for (guint k = 0; k < table->n; k++)
        table->weights[i * table->n + k] = (float) (weights[k] / sum);
    }
  return TRUE;
}

CPU_VECTORIZED static void
mix_rows (
    const float *x, const gint64 *index, const float *weights, guint n, float *y, gint64 length)
{
  for (gint64 r = 0; r < length; r++)
    y[r] = weights[0] * x[index[0] * length + r];
  for (guint k = 1; k < n; k++)
    {
      const float *row = x + index[k] * length;
      float weight = weights[k];

      for (gint64 r = 0; r < length; r++)
        y[r] += weight * row[r];
    }
}

/* One axis: [outer, in, inner] -> [outer, out, inner]. */
static void
interpolate (
    const IrCall *call, const Table *table, const float *x, float *y, CpuSplit split, gint64 out)
{
  int n_threads = cpu_n_threads (call, (guint64) (split.outer * out * split.inner) * table->n);
  gint64 inner = split.inner;
  CpuWatch watch = cpu_watch (call, inner * table->n);

#pragma omp parallel num_threads(n_threads)
  for (gint64 row = cpu_share (split.outer * out, 0), until = cpu_share (split.outer * out, 1);
       row < until && !cpu_watch_stopped (&watch, row); row++)
    {
      gint64 i = row % out;

      mix_rows (x + row / out * split.middle * inner, table->index + i * table->n,
                table->weights + i * table->n, table->n, y + row * inner, inner);
    }
}

static gboolean
run_interpolated (IrCall *call, const Plan *plan, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  guint rank = plan->geometry.rank;
  g_autofree float *scratch = NULL;
  const float *x = ir_tensor_data (in);
  float *y = cpu_new_output (call, 0, error);
  gint64 dims[IR_MAX_RANK], done = 1, left = (gint64) ir_tensor_n_elements (in);

  if (y == NULL)
    return FALSE;
  memcpy (dims, ir_tensor_dims (in), rank * sizeof *dims);
  for (guint axis = 0; axis < rank; axis++)
    {
      gint64 from = dims[axis], out = plan->geometry.out[axis];
      g_auto (Table) table = { 0 };

      left /= from;
      if (out != from || plan->geometry.scale[axis] != 1 || plan->moves)
        {
          CpuSplit split = { done, from, left };
          g_autofree float *next = g_try_new (float, (gsize) (done * out * left));

          if (next == NULL || !table_init (&table, plan, axis, from))
            return ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                                 "a pass over an axis does not fit into memory");
          interpolate (call, &table, x, next, split, out);
          g_free (scratch);
          x = scratch = g_steal_pointer (&next);
        }
      done *= out;
    }
  if (done > 0)
    memcpy (y, x, (gsize) done * sizeof *y);
  return TRUE;
}

static const char *
refuses (const IrNode *node)
{
  return strcmp (ir_node_attr_string (node, "mode", "nearest"), "nearest") == 0
             ? cpu_needs_whole_bytes (node, 0)
             : cpu_needs_first_float (node);
}

static gboolean
run (IrCall *call, GError **error)
{
  const IrTensor *in = ir_call_input (call, 0);
  const IrType *type = call->outputs[0].type;
  Plan plan = { .place = NULL };

  if (!plan_init (&plan, call) || plan.geometry.rank == 0 || ir_tensor_n_elements (in) == 0 ||
      type == NULL || !ir_type_is_static (type) ||
      (!plan.nearest && ir_tensor_dtype (in) != IR_DTYPE_FLOAT))
    return ir_ref_run (call, error);
  for (guint i = 0; i < plan.geometry.rank; i++)
    if (plan.geometry.out[i] <= 0)
      return ir_ref_run (call, error);
  return plan.nearest ? run_nearest (call, &plan, error) : run_interpolated (call, &plan, error);
}

const IrCpuKernel cpu_resize = { .name = "table loop", .refuses = refuses, .run = run };
