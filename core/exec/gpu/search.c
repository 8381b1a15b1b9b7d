/* What looks along an axis: ArgMax, ArgMin, TopK, Hardmax; and running sums and products. */
#include "config.h"

#include "core/exec/gpu/writer.h"
#include "core/op/infer-util.h"

/* Which of two elements comes first; of real numbers as text of its own. */
typedef struct
{
  const char *real, *whole, *tie;
} Order;

/* Puts input 0 as x, and rows along axis @axis, which is that of the result as well. */
static const GpuElement *
put_rows (GpuWriter *w, GpuShape *x, gint64 axis, guint64 *n, guint64 *inner)
{
  const GpuElement *e = gpu_put_input (w, "x", 0);

  if (e == NULL || !gpu_shape_of_input (w, 0, x))
    return NULL;
  axis += axis < 0 ? x->rank : 0;
  if (axis < 0 || axis >= MAX (x->rank, 1))
    {
      gpu_refuse (w, "its axis does not fit");
      return NULL;
    }
  *n = x->rank > 0 ? (guint64) x->dims[axis] : 1;
  *inner = 1;
  for (guint i = (guint) axis + 1; i < x->rank; i++)
    *inner *= (guint64) x->dims[i];
  gpu_put_int (w, "inner", (gint64) *inner);
  return e;
}

static const char *
write_search (GpuWriter *w,
              const GpuElement *e,
              const Order *order,
              gint64 k,
              guint64 n,
              guint64 n_rows,
              const char *take)
{
  gpu_put (w, "better", "%s", gpu_is_real (e->compute) ? order->real : order->whole);
  gpu_put (w, "tie", "%s", order->tie);
  gpu_put_int (w, "k", k);
  gpu_put (w, "n", "%" G_GUINT64_FORMAT, n);
  gpu_put (w, "take", "%s", take);
  return gpu_write_rows (w, "search", n_rows, n);
}

#define NOT_A_NUMBER_FIRST "a != a ? b == b : a "
#define NOT_A_NUMBER_LAST  "b != b ? a == a : a "

static const char *
emit_arg (IrCall *call, IrGpuProgram *program, gboolean largest)
{
  const Order order = { largest ? NOT_A_NUMBER_FIRST "> b" : NOT_A_NUMBER_FIRST "< b",
                        largest ? "a > b" : "a < b",
                        ir_call_int (call, "select_last_index", 0) != 0 ? ">" : "<" };
  g_auto (GpuWriter) w;
  GpuShape x;
  guint64 n, inner;

  gpu_writer_init (&w, program, call, largest ? "arg_max" : "arg_min");
  const GpuElement *e = put_rows (&w, &x, ir_call_int (call, "axis", 0), &n, &inner);
  if (e == NULL || x.n == 0)
    return e == NULL ? w.why : "there is nothing to choose from";
  gpu_put_output (&w, "y", 0);
  return write_search (&w, e, &order, 1, n, x.n / n,
                       "      if (K_THREAD == 0)\n        K_STORE (y, K_BLOCK, at);\n");
}

static const char *
emit_arg_max (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_arg (call, program, TRUE);
}

static const char *
emit_arg_min (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_arg (call, program, FALSE);
}

static const char *
emit_top_k (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  static const Order most = { NOT_A_NUMBER_FIRST "> b", "a > b", "<" },
                     least = { NOT_A_NUMBER_LAST "< b", "a < b", "<" };
  gint64 axis = ir_call_int (call, "axis", -1);
  g_auto (GpuWriter) w;
  GpuShape x, y;
  guint64 n, inner;
  guint slot = call->outputs[0].present ? 0 : 1;

  gpu_writer_init (&w, program, call, "top_k");
  const GpuElement *e = put_rows (&w, &x, axis, &n, &inner);
  if (e == NULL || !gpu_shape_of_output (&w, slot, &y) || y.n == 0)
    return w.why;
  GString *take = g_string_new (
      "      $index to = ($index) K_BLOCK / $inner * $inner * $k + K_BLOCK % $inner + round * $inner;\n"
      "      if (K_THREAD == 0)\n        {\n");
  if (call->outputs[0].present)
    {
      gpu_put_output (&w, "y", 0);
      g_string_append (take, "          K_STORE (y, to, $store_y (v));\n");
    }
  if (call->n_outputs > 1 && call->outputs[1].present)
    {
      gpu_put_output (&w, "indices", 1);
      g_string_append (take, "          K_STORE (indices, to, at);\n");
    }
  g_string_append (take, "        }\n");
  g_autofree char *text = g_string_free (take, FALSE);
  return write_search (&w, e, ir_call_int (call, "largest", 1) != 0 ? &most : &least,
                       y.dims[axis < 0 ? axis + y.rank : axis], n, x.n / n, text);
}

/* The first place counts where it holds no number; else that is the smallest. */
static const char *
emit_hardmax (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  static const Order most = { NOT_A_NUMBER_LAST "> b", "a > b", "<" };
  g_auto (GpuWriter) w;
  GpuShape x;
  guint64 n, inner;

  gpu_writer_init (&w, program, call, "hardmax");
  if (ir_call_int (call, "flatten", 0) != 0)
    return gpu_refuse (&w, "its axis is that of versions before 13");
  const GpuElement *e = put_rows (&w, &x, ir_call_int (call, "axis", -1), &n, &inner);
  if (e == NULL || x.n == 0)
    return w.why;
  gpu_put_output (&w, "y", 0);
  return write_search (&w, e, &most, 1, n, x.n / n,
                       "      $compute_x first = $load_x (K_LOAD (x, base));\n"
                       "      at = first != first ? 0 : at;\n"
                       "      for ($index j = K_THREAD; j < $n; j += $threads)\n"
                       "        K_STORE (y, base + j * $inner, $store_y (j == at));\n");
}

/* -- running sums -- */

static const char *
emit_scan (IrCall *call, IrGpuProgram *program, const char *real, const char *whole, gboolean one)
{
  g_auto (GpuWriter) w;
  g_autofree gint64 *axes = NULL;
  GpuShape x;
  guint64 n, inner;
  guint n_axes;

  gpu_writer_init (&w, program, call, "scan");
  if (!ir_call_input_ints (call, 1, &axes, &n_axes) || n_axes != 1)
    return gpu_refuse (&w, gpu_unknown_contents);
  const GpuElement *e = put_rows (&w, &x, axes[0], &n, &inner);
  if (e == NULL || x.n == 0)
    return w.why;
  gpu_put_output (&w, "y", 0);
  gpu_put_int (&w, "start", one);
  gpu_put_int (&w, "size", (gint64) n);
  gpu_put (&w, "combine", "%s", gpu_is_real (e->compute) ? real : whole);
  gpu_put (&w, "kept", "%s", ir_call_int (call, "exclusive", 0) != 0 ? "s" : "next");
  gpu_put (&w, "step", "%s", ir_call_int (call, "reverse", 0) != 0 ? "($size - 1 - k)" : "k");
  return gpu_write_each (&w, "scan", x.n / n);
}

static const char *
emit_cum_sum (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_scan (call, program, "s + v", "(k_i64) ((k_u64) s + (k_u64) v)", FALSE);
}

static const char *
emit_cum_prod (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program)
{
  return emit_scan (call, program, "s * v", "(k_i64) ((k_u64) s * (k_u64) v)", TRUE);
}

const IrGpuKernel gpu_arg_max = { "arg-max", emit_arg_max };
const IrGpuKernel gpu_arg_min = { "arg-min", emit_arg_min };
const IrGpuKernel gpu_top_k = { "top-k", emit_top_k };
const IrGpuKernel gpu_hardmax = { "hardmax", emit_hardmax };
const IrGpuKernel gpu_cum_sum = { "cum-sum", emit_cum_sum };
const IrGpuKernel gpu_cum_prod = { "cum-prod", emit_cum_prod };
