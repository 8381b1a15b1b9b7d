/* Derivatives of pools and of resampling. */
#include "config.h"

#include "core/grad/emit.h"
#include "core/grad/rules.h"
#include "core/grad/slide.h"
#include "core/op/infer-resize.h"

#include <math.h>
#include <string.h>

/* The second output of MaxPool and of TopK. */
guint
ir_keep_places (const IrNode *node)
{
  return 1;
}

/* With its spatial axes in reverse, as Indices by columns count (storage_order) */
static IrValue *
by_columns (const IrVjp *vjp, IrValue *value, int rank)
{
  gint64 perm[IR_MAX_RANK] = { 0, 1 };

  for (int i = 2; i < rank; i++)
    perm[i] = rank + 1 - i;
  return ir_emit_transpose (vjp, value, perm, (guint) rank);
}

/* To where the largest element stood: the forward node gives it besides, and nothing is searched
 * again. Windows overlap, so it is added. */
gboolean
ir_vjp_max_pool (IrVjp *vjp, GError **error)
{
  const gboolean turned = ir_node_attr_int (vjp->node, "storage_order", 0) != 0;
  IrValue *x = vjp->node->inputs[0];
  const int rank = ir_value_rank (x);

  if (!ir_emit_needs_opset (vjp, 16, error))
    return FALSE;
  if (turned && rank < 3)
    return ir_emit_fail (vjp, error, "the rank of its input is not known");
  IrValue *dx = ir_emit_scatter_flat (vjp, turned ? by_columns (vjp, x, rank) : x,
                                      ir_emit_extra_output (vjp, 1), vjp->dy[0]);
  vjp->dx[0] = turned ? by_columns (vjp, dx, rank) : dx;
  return TRUE;
}

/* Elements of the window at @place along @axis that count */
static guint
count_along (const IrSlide *window, guint axis, gint64 place, gboolean with_padding)
{
  gint64 first = place * window->strides[axis] - window->pads[axis], n = 0;
  gint64 low = with_padding ? -window->pads[axis] : 0;
  gint64 high = window->in[axis] + (with_padding ? window->pads[axis + window->n] : 0);

  for (gint64 k = 0; k < window->kernel[axis]; k++)
    {
      gint64 at = first + k * window->dilations[axis];
      n += at >= low && at < high;
    }
  return (guint) MAX (n, 1);
}

/* One over the number of elements, for each place: a constant of the shape [1, 1, out...] */
static IrValue *
shares (const IrVjp *vjp, const IrSlide *window, gboolean with_padding)
{
  gint64 dims[IR_MAX_RANK] = { 1, 1 }, total = 1;

  for (guint i = 0; i < window->n; i++)
    total *= dims[i + 2] = window->out[i];
  g_autofree double *values = g_new (double, MAX (total, 1));
  for (gint64 at = 0; at < total; at++)
    {
      gint64 rest = at;
      values[at] = 1;
      for (guint i = window->n; i-- > 0;)
        {
          values[at] /= count_along (window, i, rest % window->out[i], with_padding);
          rest /= window->out[i];
        }
    }
  return ir_emit_doubles (vjp, window->n + 2, dims, values);
}

/* (nullable) What comes to each place goes to all elements of its window: each channel is an image
 * of its own, with a kernel of ones. */
static IrValue *
spread_windows (const IrVjp *vjp, IrSlide *window, IrValue *part, GError **error)
{
  gint64 dims[IR_MAX_RANK] = { -1, 1 }, kernel[IR_MAX_RANK] = { 1, 1 }, ones = 1;

  for (guint i = 0; i < window->n; i++)
    {
      dims[i + 2] = window->out[i];
      ones *= kernel[i + 2] = window->kernel[i];
    }
  window->group = 1;
  g_autofree double *values = g_new (double, ones);
  for (gint64 i = 0; i < ones; i++)
    values[i] = 1;
  IrValue *back = ir_slide_back (vjp, window, ir_emit_reshape (vjp, part, dims, window->n + 2),
                                 ir_emit_doubles (vjp, window->n + 2, kernel, values), error);
  return back != NULL ? ir_emit_reshape_like (vjp, back, vjp->node->inputs[0]) : NULL;
}

static gboolean
read_pool (const IrVjp *vjp, IrSlide *window, GError **error)
{
  return ir_slide_read (vjp, vjp->node->inputs[0], vjp->node->outputs[0], NULL, window, error) &&
         (window->sizes_known ||
          ir_emit_fail (vjp, error, "its sizes are not known; give them (--dim)"));
}

gboolean
ir_vjp_average_pool (IrVjp *vjp, GError **error)
{
  IrSlide window;

  if (!read_pool (vjp, &window, error))
    return FALSE;
  IrValue *part = ir_emit2 (
      vjp, "Mul", vjp->dy[0],
      shares (vjp, &window, ir_node_attr_int (vjp->node, "count_include_pad", 0) != 0));
  vjp->dx[0] = spread_windows (vjp, &window, part, error);
  return vjp->dx[0] != NULL;
}

/* -- p-norms: x |x|^(p-2) y^(1-p), and 0 where y is 0 -- */

static IrValue *
norm_share (const IrVjp *vjp, double p)
{
  IrValue *y = vjp->node->outputs[0], *zero = ir_emit_number (vjp, 0);
  IrValue *none = ir_emit2 (vjp, "Equal", y, zero);
  IrValue *safe = ir_emit3 (vjp, "Where", none, ir_emit_number (vjp, 1), y);
  IrValue *power = ir_emit2 (vjp, "Pow", safe, ir_emit_number (vjp, 1 - p));

  return ir_emit3 (vjp, "Where", none, zero, ir_emit2 (vjp, "Mul", vjp->dy[0], power));
}

static IrValue *
norm_slope (const IrVjp *vjp, double p)
{
  IrValue *x = vjp->node->inputs[0];
  IrValue *power = ir_emit2 (vjp, "Pow", ir_emit1 (vjp, "Abs", x), ir_emit_number (vjp, p - 1));

  return ir_emit2 (vjp, "Mul", ir_emit1 (vjp, "Sign", x), power);
}

gboolean
ir_vjp_lp_pool (IrVjp *vjp, GError **error)
{
  double p = (double) ir_node_attr_int (vjp->node, "p", 2);
  IrSlide window;

  if (!read_pool (vjp, &window, error))
    return FALSE;
  IrValue *spread = spread_windows (vjp, &window, norm_share (vjp, p), error);
  vjp->dx[0] = spread != NULL ? ir_emit2 (vjp, "Mul", spread, norm_slope (vjp, p)) : NULL;
  return spread != NULL;
}

gboolean
ir_vjp_global_lp_pool (IrVjp *vjp, GError **error)
{
  double p = (double) ir_node_attr_int (vjp->node, "p", 2);

  vjp->dx[0] = ir_emit2 (vjp, "Mul", norm_share (vjp, p), norm_slope (vjp, p));
  return TRUE;
}

/* Without what output_shape adds behind each axis, which indices do not count */
static IrValue *
pooled_part (const IrVjp *vjp, IrValue *value, GError **error)
{
  const IrValue *x = vjp->node->inputs[0];
  gint64 starts[IR_MAX_RANK] = { 0 }, ends[IR_MAX_RANK], axes[IR_MAX_RANK];
  IrSlide window;

  if (!read_pool (vjp, &window, error))
    return NULL;
  for (guint i = 0; i < window.n; i++)
    {
      axes[i] = i + 2;
      ends[i] = (x->type->dims[i + 2] - 1) * window.strides[i] + window.kernel[i] - window.pads[i] -
                window.pads[i + window.n];
    }
  return ir_emit_slice (vjp, value, starts, ends, axes, window.n);
}

/* Each element is read from where it was put. */
gboolean
ir_vjp_max_unpool (IrVjp *vjp, GError **error)
{
  IrValue *dy = vjp->dy[0];

  if (ir_node_input (vjp->node, 2) != NULL && (dy = pooled_part (vjp, dy, error)) == NULL)
    return FALSE;
  vjp->dx[0] = ir_emit2 (vjp, "Gather", ir_emit_flat (vjp, dy), vjp->node->inputs[1]);
  return TRUE;
}

gboolean
ir_vjp_global_average_pool (IrVjp *vjp, GError **error)
{
  IrValue *x = vjp->node->inputs[0];
  IrDtype dtype = ir_value_dtype (vjp->dy[0]);
  IrValue *size = ir_emit_cast (vjp, ir_emit_size (vjp, x), dtype);
  IrValue *count = ir_emit_cast (vjp, ir_emit_size (vjp, vjp->node->outputs[0]), dtype);
  IrValue *part = ir_emit2 (vjp, "Div", vjp->dy[0], ir_emit2 (vjp, "Div", size, count));

  vjp->dx[0] = ir_emit2 (vjp, "Expand", part, ir_emit_shape (vjp, x));
  return TRUE;
}

/* Elements that are the result share what comes. */
gboolean
ir_vjp_global_max_pool (IrVjp *vjp, GError **error)
{
  IrValue *x = vjp->node->inputs[0];
  gint64 axes[IR_MAX_RANK];
  int rank = ir_value_rank (x);

  if (rank < 3)
    return ir_emit_fail (vjp, error, "the rank of its input is not known");
  for (int i = 2; i < rank; i++)
    axes[i - 2] = i;
  IrValue *chosen = ir_emit_cast (vjp, ir_emit2 (vjp, "Equal", x, vjp->node->outputs[0]),
                                  ir_value_dtype (vjp->dy[0]));
  IrValue *n = ir_emit_reduce (vjp, "ReduceSum", chosen, axes, (guint) rank - 2, TRUE);
  vjp->dx[0] = ir_emit2 (vjp, "Mul", chosen, ir_emit2 (vjp, "Div", vjp->dy[0], n));
  return TRUE;
}

/* -- Resize: along each axis a matrix, which Resize itself gives of the unit matrix -- */

static void
copy_resize_attrs (const IrVjp *vjp, IrNode *node)
{
  static const char *const names[] = {
    "mode",          "antialias",       "coordinate_transformation_mode",
    "cubic_coeff_a", "exclude_outside", "nearest_mode"
  };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    ir_emit_copy_attr (vjp, node, names[i]);
}

static gboolean
has_coordinates (const IrNode *node, const char *mode)
{
  return strcmp (ir_node_attr_string (node, "coordinate_transformation_mode", ""), mode) == 0;
}

/* tf_half_pixel_for_nn moves by half an element also what keeps its size, unless that is rounded away. */
static gboolean
moves_all (const IrNode *node)
{
  return has_coordinates (node, "tf_half_pixel_for_nn") &&
         (strcmp (ir_node_attr_string (node, "mode", "nearest"), "nearest") != 0 ||
          g_str_has_suffix (ir_node_attr_string (node, "nearest_mode", ""), "ceil"));
}

static IrValue *
unit_matrix (const IrVjp *vjp, gint64 n)
{
  gint64 dims[] = { n, n };
  g_autofree double *values = g_new0 (double, MAX (n * n, 1));

  for (gint64 i = 0; i < n; i++)
    values[i * n + i] = 1;
  return ir_emit_doubles (vjp, 2, dims, values);
}

/* The scale of each axis, as far as constants say it. */
static gboolean
read_scales (const IrVjp *vjp, IrResize *resize, GError **error)
{
  IrCall call;

  ir_call_init (&call, vjp->node);
  for (guint i = 2; i < call.n_inputs; i++)
    {
      IrValue *input = ir_node_input (vjp->node, i);
      const IrTensor *tensor = input != NULL ? ir_value_constant (input) : NULL;
      if (tensor != NULL)
        ir_call_set_input (&call, i, tensor);
    }
  gboolean read = ir_resize_init (resize, &call, error);
  ir_call_clear (&call);
  return read;
}

/* Start and end of @axis in roi, behind those of an axis that is taken whole: [0, start, 1, end] */
static IrValue *
crop_along (const IrVjp *vjp, const IrResize *resize, int axis)
{
  static const gint64 one = 1;
  IrValue *roi = ir_node_input (vjp->node, 1), *ends[2];

  for (gint64 i = 0; i < 2; i++)
    {
      IrValue *whole = ir_emit_number_like (vjp, roi, (double) i);
      IrValue *end = ir_emit_pick (vjp, roi, 0, resize->place[axis] + i * resize->n_chosen);
      ends[i] = ir_emit_concat (vjp, ir_emit_reshape (vjp, whole, &one, 1),
                                ir_emit_reshape (vjp, end, &one, 1), 0);
    }
  return ir_emit_concat (vjp, ends[0], ends[1], 0);
}

/* The weights [in, out] of one axis. What a crop (nullable) adds around the input is 0 here. */
static IrValue *
axis_matrix (const IrVjp *vjp, gint64 in, gint64 out, IrValue *crop, const double *scale)
{
  gint64 sizes[] = { in, out }, two = 2;
  IrValue *inputs[4] = { unit_matrix (vjp, in), crop };

  if (scale != NULL)
    {
      const float values[] = { 1, (float) *scale };
      g_autoptr (IrTensor) tensor = ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, &two, values);
      inputs[2] = ir_edit_add_initializer (vjp->edit, vjp->graph, NULL, tensor);
    }
  else
    inputs[3] = ir_emit_ints (vjp, sizes, 2);
  IrNode *node = ir_emit_node (vjp, "Resize", scale != NULL ? 3 : 4, inputs, 1);
  copy_resize_attrs (vjp, node);
  return ir_emit_end (vjp, node);
}

/* Moves @axis last, multiplies by the matrix [out, in], and moves it back. */
static IrValue *
multiply_along (const IrVjp *vjp, IrValue *value, int axis, int rank, IrValue *matrix)
{
  gint64 perm[IR_MAX_RANK];

  for (int i = 0; i < rank; i++)
    perm[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
  value = ir_emit_transpose (vjp, value, perm, (guint) rank);
  value = ir_emit2 (vjp, "MatMul", value, matrix);
  return ir_emit_transpose (vjp, value, perm, (guint) rank);
}

gboolean
ir_vjp_resize (IrVjp *vjp, GError **error)
{
  static const gint64 swap[] = { 1, 0 };
  const IrNode *node = vjp->node;
  const gboolean crops = has_coordinates (node, "tf_crop_and_resize");
  gint64 in[IR_MAX_RANK], out[IR_MAX_RANK];
  int rank, out_rank;
  IrResize resize;

  if (!ir_emit_needs_opset (vjp, 13, error))
    return FALSE;
  for (guint i = 1; i < node->n_inputs; i++)
    if (vjp->wanted[i])
      return ir_emit_fail (vjp, error, "there is no rule for its input %u", i);
  if (moves_all (node))
    return ir_emit_fail (vjp, error,
                         "its coordinates move axes that keep their size, too, which has no rule");
  if (!ir_emit_dims (node->inputs[0], in, &rank) ||
      !ir_emit_dims (node->outputs[0], out, &out_rank) || rank != out_rank)
    return ir_emit_fail (vjp, error, "its sizes are not known; give them (--dim)");
  if (!read_scales (vjp, &resize, error))
    return FALSE;
  IrValue *dx = vjp->dy[0];
  for (int i = 0; i < rank; i++)
    {
      const double scale = resize.scale[i], reached = scale * (double) in[i];
      const gboolean by_sizes = scale == 0 || fabs (reached - (double) out[i]) < 1e-6;
      IrValue *crop = crops && resize.chosen[i] ? crop_along (vjp, &resize, i) : NULL;
      if (by_sizes && in[i] == out[i] && crop == NULL)
        continue;
      if (scale == 0 && ir_node_input (node, 2) != NULL)
        return ir_emit_fail (vjp, error, "its scales are not constant, which has no rule");
      if (!by_sizes && floor (reached) != (double) out[i])
        return ir_emit_fail (vjp, error,
                             "axis %d keeps the aspect ratio by a size that is rounded, which has "
                             "no rule",
                             i);
      IrValue *matrix = axis_matrix (vjp, in[i], out[i], crop, by_sizes ? NULL : &scale);
      dx = multiply_along (vjp, dx, i, rank, ir_emit_transpose (vjp, matrix, swap, 2));
    }
  vjp->dx[0] = dx;
  return TRUE;
}
