/* Sampling between elements, as the sums of weighted neighbours that it is, which are derived in its
 * place: by what is sampled, and by the places. Where to step over to the next neighbours is a floor,
 * through which nothing comes back.
 *
 * Sources: ONNX, GridSample 22, AffineGrid 20, DeformConv 22, RoiAlign 22, MaxRoiPool 22. */
#include "config.h"

#include "core/grad/emit.h"
#include "core/grad/rules.h"
#include "core/grad/slide.h"

#include <math.h>
#include <string.h>

#define MAX_AXES 3
#define MAX_TAPS 4
#define CUBIC_A  (-0.75)

typedef enum
{
  OUTSIDE_ZERO,
  OUTSIDE_BORDER,
  OUTSIDE_REFLECTED
} Outside;

typedef struct
{
  const IrVjp *in;
  guint n_axes, n_taps; /* along each axis: 1 nearest, 2 linear, 4 cubic */
  Outside outside;
  gboolean align;   /* where reflection turns: at the centre of the outermost element */
  gboolean largest; /* of the weighted neighbours, not their sum */
  gint64 sizes[MAX_AXES];
  IrValue *index[MAX_AXES][MAX_TAPS];  /* int64, within the axis */
  IrValue *weight[MAX_AXES][MAX_TAPS]; /* (nullable): 1 */
} Sampling;

/* -- small things -- */

static IrValue *
number (const Sampling *s, const IrValue *like, double value)
{
  return ir_emit_number_like (s->in, like, value);
}

static IrValue *
plus (const Sampling *s, IrValue *a, double value)
{
  return value == 0 ? a : ir_emit2 (s->in, "Add", a, number (s, a, value));
}

static IrValue *
times (const Sampling *s, IrValue *a, double value)
{
  return value == 1 ? a : ir_emit2 (s->in, "Mul", a, number (s, a, value));
}

static IrValue *
clipped (const Sampling *s, IrValue *at, double high)
{
  return ir_emit3 (s->in, "Clip", at, number (s, at, 0), number (s, at, high));
}

/* -- one axis -- */

/* Folded back at both ends */
static IrValue *
reflected (const Sampling *s, IrValue *at, guint axis)
{
  const double low = s->align ? 0 : -0.5, range = (double) s->sizes[axis] - (s->align ? 1 : 0);
  IrValue *far = ir_emit1 (s->in, "Abs", plus (s, at, -low));
  IrValue *inputs[] = { far, number (s, at, 2 * range) };

  if (range <= 0)
    return times (s, at, 0);
  IrNode *mod = ir_emit_node (s->in, "Mod", 2, inputs, 1);
  ir_emit_attr_int (s->in, mod, "fmod", 1);
  IrValue *rest = ir_emit_end (s->in, mod);
  IrValue *back = ir_emit2 (s->in, "Sub", inputs[1], rest);
  return plus (s, ir_emit2 (s->in, "Min", rest, back), low);
}

static IrValue *
placed (const Sampling *s, IrValue *at, guint axis)
{
  const double high = (double) s->sizes[axis] - 1, edge = s->align ? 0 : 0.5;

  if (s->n_taps == 1)
    at = ir_emit1 (s->in, "Round", at);
  if (s->outside == OUTSIDE_REFLECTED)
    return reflected (s, at, axis);
  if (s->outside != OUTSIDE_BORDER)
    return at;
  IrValue *outside = ir_emit2 (s->in, "Or", ir_emit2 (s->in, "Less", at, number (s, at, -edge)),
                               ir_emit2 (s->in, "Greater", at, number (s, at, high + edge)));
  return ir_emit3 (s->in, "Where", outside, clipped (s, at, high), at);
}

/* Of Keys 1981, at a distance within 1 or from 1 to 2 */
static IrValue *
cubic (const Sampling *s, IrValue *d, gboolean near)
{
  const double a = CUBIC_A;
  IrValue *sum = times (s, d, near ? a + 2 : a);

  sum = ir_emit2 (s->in, "Mul", plus (s, sum, near ? -(a + 3) : -5 * a), d);
  sum = ir_emit2 (s->in, "Mul", plus (s, sum, near ? 0 : 8 * a), d);
  return plus (s, sum, near ? 1 : -4 * a);
}

/* (nullable) 1; @part: how far behind the first of the two neighbours */
static IrValue *
weight_of (const Sampling *s, IrValue *part, guint tap)
{
  IrValue *rest = plus (s, times (s, part, -1), 1);

  if (s->n_taps == 1)
    return NULL;
  if (s->n_taps == 2)
    return tap == 0 ? rest : part;
  return tap == 0   ? cubic (s, plus (s, part, 1), FALSE)
         : tap == 1 ? cubic (s, part, TRUE)
         : tap == 2 ? cubic (s, rest, TRUE)
                    : cubic (s, plus (s, rest, 1), FALSE);
}

/* The neighbours of @at, counted in elements, along @axis */
static void
find_taps (Sampling *s, guint axis, IrValue *at, IrDtype dtype)
{
  const double high = (double) s->sizes[axis] - 1;

  at = placed (s, at, axis);
  IrValue *base = ir_emit1 (s->in, s->n_taps == 1 ? "Round" : "Floor", at);
  IrValue *part = ir_emit2 (s->in, "Sub", at, base);
  for (guint k = 0; k < s->n_taps; k++)
    {
      IrValue *tap = plus (s, base, (double) k - (s->n_taps == 4));
      IrValue *weight = weight_of (s, part, k);
      if (s->outside == OUTSIDE_REFLECTED)
        tap = ir_emit1 (s->in, "Round", reflected (s, tap, axis));
      IrValue *within = clipped (s, tap, high);
      if (s->outside == OUTSIDE_ZERO)
        weight = ir_emit3 (s->in, "Where", ir_emit2 (s->in, "Equal", within, tap),
                           weight != NULL ? weight : number (s, at, 1), number (s, at, 0));
      s->index[axis][k] = ir_emit_cast (s->in, within, IR_DTYPE_INT64);
      s->weight[axis][k] = weight != NULL ? ir_emit_cast (s->in, weight, dtype) : NULL;
    }
}

/* -- all axes -- */

/* Weighted elements of one combination of neighbours: of @x [N, C, elements], [N, C, places] */
static IrValue *
combination (const Sampling *s, IrValue *x, guint which)
{
  static const gint64 flat[] = { 0, 1, -1 };
  const gint64 channels[] = { 1, ir_emit_dim (x, 1), 1 };
  IrValue *index = NULL, *weight = NULL;
  gint64 stride = 1;

  for (guint axis = s->n_axes; axis-- > 0; which /= s->n_taps)
    {
      IrValue *at = s->index[axis][which % s->n_taps], *w = s->weight[axis][which % s->n_taps];
      if (stride != 1)
        at = ir_emit2 (s->in, "Mul", at, ir_emit_ints (s->in, &stride, -1));
      index = index != NULL ? ir_emit2 (s->in, "Add", index, at) : at;
      weight = weight != NULL && w != NULL ? ir_emit2 (s->in, "Mul", weight, w)
               : w != NULL                 ? w
                                           : weight;
      stride *= s->sizes[axis];
    }
  index = ir_emit2 (s->in, "Expand", ir_emit_reshape (s->in, index, flat, 3),
                    ir_emit_ints (s->in, channels, 3));
  IrValue *inputs[] = { x, index };
  IrNode *gather = ir_emit_node (s->in, "GatherElements", 2, inputs, 1);
  ir_emit_attr_int (s->in, gather, "axis", 2);
  IrValue *taken = ir_emit_end (s->in, gather);
  return weight != NULL ? ir_emit2 (s->in, "Mul", taken, ir_emit_reshape (s->in, weight, flat, 3))
                        : taken;
}

/* @x [N, C, sizes]; places are those of find_taps(), [N, ...]: [N, C, places] */
static IrValue *
sampled (const Sampling *s, IrValue *x)
{
  static const gint64 flat[] = { 0, 0, -1 };
  IrValue *parts[MAX_TAPS * MAX_TAPS * MAX_TAPS];
  guint n = 1;

  for (guint i = 0; i < s->n_axes; i++)
    n *= s->n_taps;
  x = ir_emit_reshape (s->in, x, flat, 3);
  for (guint i = 0; i < n; i++)
    parts[i] = combination (s, x, i);
  return n == 1 ? parts[0] : ir_emit (s->in, s->largest ? "Max" : "Sum", n, parts);
}

static gboolean
read_sizes (Sampling *s, const IrValue *x, GError **error)
{
  const int rank = ir_value_rank (x);

  s->n_axes = rank > 2 ? (guint) rank - 2 : 0;
  if (s->n_axes < 1 || s->n_axes > MAX_AXES)
    return ir_emit_fail (s->in, error, "it needs an input of one to %d spatial axes", MAX_AXES);
  gboolean known = ir_emit_dim (x, 1) > 0;
  for (guint i = 0; i < s->n_axes; i++)
    known &= (s->sizes[i] = ir_emit_dim (x, (int) i + 2)) > 0;
  return known ||
         ir_emit_fail (s->in, error, "the sizes of its input are not known; give them (--dim)");
}

/* -- GridSample -- */

gboolean
ir_expand_grid_sample (const IrVjp *emit, IrValue **outputs, GError **error)
{
  const IrNode *node = emit->node;
  const char *mode = ir_node_attr_string (node, "mode", "linear");
  const char *padding = ir_node_attr_string (node, "padding_mode", "zeros");
  Sampling s = { .in = emit,
                 .align = ir_node_attr_int (node, "align_corners", 0) != 0,
                 .n_taps = strcmp (mode, "nearest") == 0      ? 1
                           : g_str_has_suffix (mode, "cubic") ? 4
                                                              : 2,
                 .outside = strcmp (padding, "border") == 0       ? OUTSIDE_BORDER
                            : strcmp (padding, "reflection") == 0 ? OUTSIDE_REFLECTED
                                                                  : OUTSIDE_ZERO };

  if (!read_sizes (&s, node->inputs[0], error))
    return FALSE;
  for (guint i = 0; i < s.n_axes; i++)
    {
      const double size = (double) s.sizes[i], span = s.align ? size - 1 : size;
      IrValue *x = ir_emit_pick (emit, node->inputs[1], -1, s.n_axes - 1 - i);
      IrValue *at = plus (&s, times (&s, plus (&s, x, 1), span / 2), s.align ? 0 : -0.5);
      find_taps (&s, i, at, ir_value_dtype (node->inputs[0]));
    }
  outputs[0] = ir_emit_reshape_like (emit, sampled (&s, node->inputs[0]), node->outputs[0]);
  return TRUE;
}

/* -- AffineGrid: linear in theta; what stands at each place is the grid of the identity -- */

gboolean
ir_expand_affine_grid (const IrVjp *emit, IrValue **outputs, GError **error)
{
  static const gint64 turned[] = { 0, 2, 1 };
  const IrNode *node = emit->node;
  const gint64 n = ir_emit_dim (node->inputs[0], 1), one = 1;
  IrValue *theta = node->inputs[0], *size = node->inputs[1];

  if (n != 2 && n != 3)
    return ir_emit_fail (emit, error, "the size of theta is not known");
  const gint64 dims[] = { 1, n, n + 1 }, flat[] = { 1, -1, n };
  const gint64 first = 1, end = G_MAXINT64, axis = 0, ends[] = { 0, 0, 0, 0, 0, 1 };
  double identity[12] = { 0 };
  for (gint64 i = 0; i < n; i++)
    identity[i * (n + 1) + i] = 1;
  g_autoptr (IrTensor) tensor = ir_tensor_new_copy (IR_DTYPE_DOUBLE, 3, dims, identity);
  IrValue *same = ir_emit_cast (emit,
                                ir_edit_add_initializer (emit->edit, emit->graph, NULL, tensor),
                                ir_value_dtype (theta));
  IrValue *inputs[] = { same,
                        ir_emit_concat (emit, ir_emit_ints (emit, &one, 1),
                                        ir_emit_slice (emit, size, &first, &end, &axis, 1), 0) };
  IrNode *grid = ir_emit_node (emit, "AffineGrid", 2, inputs, 1);
  ir_emit_copy_attr (emit, grid, "align_corners");
  IrValue *places = ir_emit_reshape (emit, ir_emit_end (emit, grid), flat, 3);
  places = ir_emit3 (emit, "Pad", places, ir_emit_ints (emit, ends, 6),
                     ir_emit_number_like (emit, theta, 1));
  IrValue *moved = ir_emit2 (emit, "MatMul", places, ir_emit_transpose (emit, theta, turned, 3));
  outputs[0] = ir_emit_reshape_like (emit, moved, node->outputs[0]);
  return TRUE;
}

/* -- DeformConv: samples as columns, which the kernel is multiplied by -- */

typedef struct
{
  IrSlide window;
  gint64 groups, taps, places; /* of offsets; of the kernel; of the output */
} Deform;

static gboolean
read_deform (Sampling *s, Deform *d, GError **error)
{
  const IrNode *node = s->in->node;

  if (!read_sizes (s, node->inputs[0], error) ||
      !ir_slide_read (s->in, node->inputs[0], node->outputs[0], node->inputs[1], &d->window, error))
    return FALSE;
  if (!d->window.sizes_known || ir_emit_dim (node->inputs[0], 0) < 1)
    return ir_emit_fail (s->in, error, "its sizes are not known; give them (--dim)");
  d->groups = ir_node_attr_int (node, "offset_group", 1);
  d->taps = d->places = 1;
  for (guint i = 0; i < s->n_axes; i++)
    {
      d->taps *= d->window.kernel[i];
      d->places *= d->window.out[i];
    }
  return d->groups > 0 ||
         ir_emit_fail (s->in, error, "offset_group is %" G_GINT64_FORMAT, d->groups);
}

/* Where each tap looks at each place without an offset, along @axis: [1, taps, places] */
static IrValue *
undisturbed (const Sampling *s, const Deform *d, guint axis)
{
  const gint64 dims[] = { 1, d->taps, d->places };
  g_autofree double *at = g_new (double, d->taps * d->places);
  const IrSlide *w = &d->window;

  for (gint64 i = 0; i < d->taps * d->places; i++)
    {
      gint64 tap = i / d->places, place = i % d->places;
      for (guint k = s->n_axes; k-- > axis + 1;)
        {
          tap /= w->kernel[k];
          place /= w->out[k];
        }
      at[i] = (double) (place % w->out[axis] * w->strides[axis] - w->pads[axis] +
                        tap % w->kernel[axis] * w->dilations[axis]);
    }
  g_autoptr (IrTensor) tensor = ir_tensor_new_copy (IR_DTYPE_DOUBLE, 3, dims, at);
  return ir_emit_cast (s->in, ir_edit_add_initializer (s->in->edit, s->in->graph, NULL, tensor),
                       ir_value_dtype (s->in->node->inputs[2]));
}

gboolean
ir_expand_deform_conv (const IrVjp *emit, IrValue **outputs, GError **error)
{
  const IrNode *node = emit->node;
  IrValue *x = node->inputs[0], *w = node->inputs[1], *bias = ir_node_input (node, 3);
  IrValue *mask = ir_node_input (node, 4);
  Sampling s = { .in = emit, .n_taps = 2 };
  Deform d;

  if (!read_deform (&s, &d, error))
    return FALSE;
  const gint64 batch = ir_emit_dim (x, 0), channels = ir_emit_dim (x, 1), rows = batch * d.groups;
  const gint64 group = d.window.group, out = ir_emit_dim (w, 0), depth = channels / group * d.taps;
  gint64 split[IR_MAX_RANK] = { rows, channels / d.groups };
  const gint64 offsets[] = { rows, d.taps, s.n_axes, d.places }, masks[] = { rows, 1, -1 };
  const gint64 columns[] = { batch, group, depth, d.places };
  const gint64 kernel[] = { group, out / group, depth }, channel[] = { 1, out, 1 };
  const gint64 flat[] = { batch, out, d.places };
  for (guint i = 0; i < s.n_axes; i++)
    split[i + 2] = s.sizes[i];
  IrValue *offset = ir_emit_reshape (emit, node->inputs[2], offsets, 4);
  for (guint i = 0; i < s.n_axes; i++)
    find_taps (&s, i,
               ir_emit2 (emit, "Add", ir_emit_pick (emit, offset, 2, i), undisturbed (&s, &d, i)),
               ir_value_dtype (x));
  IrValue *taken = sampled (&s, ir_emit_reshape (emit, x, split, s.n_axes + 2));
  if (mask != NULL)
    taken = ir_emit2 (emit, "Mul", taken, ir_emit_reshape (emit, mask, masks, 3));
  IrValue *y = ir_emit2 (emit, "MatMul", ir_emit_reshape (emit, w, kernel, 3),
                         ir_emit_reshape (emit, taken, columns, 4));
  y = ir_emit_reshape (emit, y, flat, 3);
  if (bias != NULL)
    y = ir_emit2 (emit, "Add", y, ir_emit_reshape (emit, bias, channel, 3));
  outputs[0] = ir_emit_reshape_like (emit, y, node->outputs[0]);
  return TRUE;
}

/* -- RoiAlign: means, or the largest, of samples -- */

/* One axis of all regions. Without sampling_ratio the cells of a region have as many samples as elements: then
 * there are places for those of the largest cell, and @counts says which of them are samples. */
typedef struct
{
  gint64 cells, ratio, size;
  guint from, to; /* columns of rois */
  gint64 apart
      [2]; /* axes of the samples of the other side, of five: regions, then cells and samples of both */
  IrValue *places; /* in elements */
  IrValue *n,
      *counts; /* (nullable) samples of a cell, [regions, 1, 1], and bool; NULL: ratio, and all */
} Side;

/* A constant of rank 3, in double */
static IrValue *
exact (const Sampling *s, const gint64 shape[3], const double *values)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_copy (IR_DTYPE_DOUBLE, 3, shape, values);

  return ir_edit_add_initializer (s->in->edit, s->in->graph, NULL, tensor);
}

static IrValue *
column_of (const IrVjp *in, guint column)
{
  static const gint64 dims[] = { -1, 1, 1 };

  return ir_emit_reshape (in, ir_emit_pick (in, in->node->inputs[1], 1, column), dims, 3);
}

/* How far in cells the samples lie behind the start: [1, cells, ratio], or [regions, cells, most] */
static IrValue *
along_cells (const Sampling *s, Side *side, IrValue *cell)
{
  static const gint64 all[] = { 0, 1, 2 }, row[] = { 1, 1, -1 }, none = 0, one = 1;
  const IrDtype dtype = ir_value_dtype (cell);
  const gint64 samples = MAX (side->ratio, 1), shape[] = { 1, side->cells, samples };
  g_autofree double *at = g_new (double, side->cells *samples);

  for (gint64 i = 0; i < side->cells * samples; i++)
    at[i] = (double) (i / samples) +
            (side->ratio > 0 ? ((double) (i % samples) + 0.5) / (double) samples : 0);
  IrValue *fixed = ir_emit_cast (s->in, exact (s, shape, at), dtype);
  if (side->ratio > 0)
    return fixed;
  side->n = ir_emit2 (s->in, "Max", ir_emit1 (s->in, "Ceil", cell), number (s, cell, 0));
  IrValue *most = ir_emit2 (s->in, "Max",
                            ir_emit_reduce (s->in, "ReduceMax", side->n, all, 3, FALSE),
                            number (s, cell, 1));
  IrValue *range = ir_emit3 (s->in, "Range", ir_emit_ints (s->in, &none, -1),
                             ir_emit_cast (s->in, most, IR_DTYPE_INT64),
                             ir_emit_ints (s->in, &one, -1));
  IrValue *sample = ir_emit_cast (s->in, ir_emit_reshape (s->in, range, row, 3), dtype);
  /* Both moved on by the number of the cell, which makes them [regions, cells, most] */
  side->counts = ir_emit_unsqueeze (s->in,
                                    ir_emit2 (s->in, "Less", ir_emit2 (s->in, "Add", fixed, sample),
                                              ir_emit2 (s->in, "Add", fixed, side->n)),
                                    side->apart, 2);
  IrValue *some = ir_emit2 (s->in, "Max", side->n, number (s, cell, 1));
  return ir_emit2 (s->in, "Add", fixed, ir_emit2 (s->in, "Div", plus (s, sample, 0.5), some));
}

static void
place_samples (const Sampling *s, Side *side)
{
  const IrNode *node = s->in->node;
  const gint64 opset = ir_node_opset (node);
  const double scale = (double) ir_node_attr_float (node, "spatial_scale", 1);
  const gboolean shifted = (opset == 0 || opset >= 16) &&
                           strcmp (ir_node_attr_string (node, "coordinate_transformation_mode",
                                                        "half_pixel"),
                                   "half_pixel") == 0;

  IrValue *start = times (s, column_of (s->in, side->from), scale);
  IrValue *extent = ir_emit2 (s->in, "Sub", times (s, column_of (s->in, side->to), scale), start);
  if (!shifted)
    extent = ir_emit2 (s->in, "Max", extent, number (s, extent, 1));
  IrValue *cell = ir_emit2 (s->in, "Div", extent, number (s, extent, (double) side->cells));
  IrValue *at = ir_emit2 (s->in, "Add", plus (s, start, shifted ? -0.5 : 0),
                          ir_emit2 (s->in, "Mul", cell, along_cells (s, side, cell)));
  side->places = ir_emit_unsqueeze (s->in, at, side->apart, 2);
}

/* 1 where a sample lies in X or less than an element beside it, else 0 */
static IrValue *
within (const Sampling *s, const Side *side, IrDtype dtype)
{
  IrValue *at = side->places;
  IrValue *outside = ir_emit2 (
      s->in, "Or", ir_emit2 (s->in, "Less", at, number (s, at, -1)),
      ir_emit2 (s->in, "Greater", at, number (s, at, (double) side->size)));

  return ir_emit_cast (s->in, ir_emit1 (s->in, "Not", outside), dtype);
}

/* @taken [regions, channels, all places]: the mean of the samples of each cell, or the largest */
static IrValue *
pooled_evenly (const Sampling *s, const Side sides[2], IrValue *taken)
{
  static const gint64 samples[] = { 3, 5 };
  const gint64 dims[] = { 0,
                          ir_emit_dim (s->in->node->inputs[0], 1),
                          sides[0].cells,
                          sides[0].ratio,
                          sides[1].cells,
                          sides[1].ratio };

  return ir_emit_reduce (s->in, s->largest ? "ReduceMax" : "ReduceMean",
                         ir_emit_reshape (s->in, taken, dims, 6), samples, 2, FALSE);
}

/* Of those places that are samples; 0 where a cell has none */
static IrValue *
pooled_as_counted (const Sampling *s, const Side sides[2], IrValue *taken)
{
  static const gint64 samples[] = { 3, 5 }, channel = 1, end = G_MAXINT64, axis = 0;
  const gint64 front[] = { 0, ir_emit_dim (s->in->node->inputs[0], 1) };
  IrValue *some = ir_emit2 (s->in, "And", sides[0].counts, sides[1].counts);
  IrValue *behind = ir_emit_slice (s->in, ir_emit1 (s->in, "Shape", some), &channel, &end, &axis,
                                   1);
  IrValue *n = ir_emit_unsqueeze (s->in, ir_emit2 (s->in, "Mul", sides[0].n, sides[1].n), &channel,
                                  1);
  IrValue *zero = number (s, taken, 0);

  taken = ir_emit2 (s->in, "Reshape", taken,
                    ir_emit_concat (s->in, ir_emit_ints (s->in, front, 2), behind, 0));
  taken = ir_emit3 (s->in, "Where", ir_emit_unsqueeze (s->in, some, &channel, 1), taken,
                    s->largest ? number (s, taken, -INFINITY) : zero);
  taken = ir_emit_reduce (s->in, s->largest ? "ReduceMax" : "ReduceSum", taken, samples, 2, FALSE);
  if (s->largest)
    return ir_emit3 (s->in, "Where", ir_emit2 (s->in, "Greater", n, zero), taken, zero);
  return ir_emit2 (s->in, "Div", taken, ir_emit2 (s->in, "Max", n, number (s, taken, 1)));
}

gboolean
ir_expand_roi_align (const IrVjp *emit, IrValue **outputs, GError **error)
{
  static const gint64 flat[] = { 0, 1, -1 };
  const IrNode *node = emit->node;
  const gint64 ratio = MAX (ir_node_attr_int (node, "sampling_ratio", 0), 0);
  const IrDtype dtype = ir_value_dtype (node->inputs[0]);
  Sampling s = { .in = emit,
                 .n_taps = 2,
                 .outside = OUTSIDE_BORDER,
                 .align = TRUE,
                 .largest = strcmp (ir_node_attr_string (node, "mode", "avg"), "max") == 0 };

  if (!read_sizes (&s, node->inputs[0], error))
    return FALSE;
  Side sides[2] = {
    { .cells = ir_node_attr_int (node, "output_height", 1), .from = 1, .to = 3, .apart = { 3, 4 } },
    { .cells = ir_node_attr_int (node, "output_width", 1), .from = 0, .to = 2, .apart = { 1, 2 } }
  };
  for (guint i = 0; i < 2; i++)
    {
      sides[i].ratio = ratio;
      sides[i].size = s.sizes[i];
      place_samples (&s, &sides[i]);
      find_taps (&s, i, sides[i].places, dtype);
    }
  IrValue *taken = sampled (&s, ir_emit2 (emit, "Gather", node->inputs[0], node->inputs[2]));
  IrValue *inside = ir_emit2 (emit, "Mul", within (&s, &sides[0], dtype),
                              within (&s, &sides[1], dtype));
  taken = ir_emit2 (emit, "Mul", taken, ir_emit_reshape (emit, inside, flat, 3));
  outputs[0] = ratio > 0 ? pooled_evenly (&s, sides, taken) : pooled_as_counted (&s, sides, taken);
  return TRUE;
}

/* -- MaxRoiPool: the largest of what lies in each cell -- */

/* Which elements of an axis of @size lie in which of @cells, as bool [regions, cells, size]. Corners are
 * rounded to elements and cells may share some, as the operator itself has it (Girshick 2015, Fast
 * R-CNN); corners are computed in double, as it does. */
static IrValue *
cells_of (const Sampling *s, guint from, guint to, gint64 cells, gint64 size)
{
  const gint64 across[] = { 1, cells, 1 }, along[] = { 1, 1, size };
  const gint64 longest = MAX (cells, size);
  const double scale = (double) ir_node_attr_float (s->in->node, "spatial_scale", 1);
  g_autofree double *count = g_new (double, longest + 1);
  IrValue *corners[2];

  for (gint64 i = 0; i <= longest; i++)
    count[i] = (double) i;
  for (guint i = 0; i < 2; i++)
    {
      IrValue *at = ir_emit_cast (s->in, column_of (s->in, i == 0 ? from : to), IR_DTYPE_DOUBLE);
      at = times (s, at, scale);
      /* Half away from zero; Round would go to the even one. */
      corners[i] = ir_emit2 (s->in, "Mul", ir_emit1 (s->in, "Sign", at),
                             ir_emit1 (s->in, "Floor", plus (s, ir_emit1 (s->in, "Abs", at), 0.5)));
    }
  IrValue *extent = plus (s, ir_emit2 (s->in, "Sub", corners[1], corners[0]), 1);
  extent = ir_emit2 (s->in, "Max", extent, number (s, extent, 1));
  IrValue *cell = ir_emit2 (s->in, "Div", extent, number (s, extent, (double) cells));
  IrValue *begins = exact (s, across, count), *ends = exact (s, across, count + 1);
  IrValue *low = ir_emit1 (s->in, "Floor", ir_emit2 (s->in, "Mul", cell, begins));
  IrValue *high = ir_emit1 (s->in, "Ceil", ir_emit2 (s->in, "Mul", cell, ends));
  IrValue *at = exact (s, along, count);
  low = ir_emit2 (s->in, "Add", low, corners[0]);
  high = ir_emit2 (s->in, "Add", high, corners[0]);
  return ir_emit2 (s->in, "And", ir_emit2 (s->in, "GreaterOrEqual", at, low),
                   ir_emit2 (s->in, "Less", at, high));
}

/* 1 for each cell of @inside that has an element, else 0 */
static IrValue *
filled (const Sampling *s, IrValue *inside, const gint64 shape[4], IrDtype dtype)
{
  static const gint64 last[] = { 2 };

  return ir_emit_reshape (
      s->in,
      ir_emit_reduce (s->in, "ReduceMax", ir_emit_cast (s->in, inside, dtype), last, 1, FALSE),
      shape, 4);
}

gboolean
ir_expand_max_roi_pool (const IrVjp *emit, IrValue **outputs, GError **error)
{
  static const gint64 sides[] = { 4, 5 }, flat[] = { -1 };
  const IrNode *node = emit->node;
  IrValue *x = node->inputs[0];
  const gint64 height = ir_emit_dim (node->outputs[0], 2),
               width = ir_emit_dim (node->outputs[0], 3);
  const gint64 channels = ir_emit_dim (x, 1);
  const IrDtype dtype = ir_value_dtype (x);
  Sampling s = { .in = emit };

  if (!read_sizes (&s, x, error))
    return FALSE;
  IrValue *rows = cells_of (&s, 2, 4, height, s.sizes[0]);
  IrValue *columns = cells_of (&s, 1, 3, width, s.sizes[1]);
  const gint64 of_rows[] = { -1, 1, height, 1, s.sizes[0], 1 };
  const gint64 of_columns[] = { -1, 1, 1, width, 1, s.sizes[1] };
  const gint64 of_x[] = { -1, channels, 1, 1, s.sizes[0], s.sizes[1] };
  IrValue *inside = ir_emit2 (emit, "And", ir_emit_reshape (emit, rows, of_rows, 6),
                              ir_emit_reshape (emit, columns, of_columns, 6));
  IrValue *region = ir_emit_reshape (
      emit, ir_emit_cast (emit, ir_emit_pick (emit, node->inputs[1], 1, 0), IR_DTYPE_INT64), flat,
      1);
  IrValue *taken = ir_emit_reshape (emit, ir_emit2 (emit, "Gather", x, region), of_x, 6);
  taken = ir_emit3 (emit, "Where", inside, taken, number (&s, x, -INFINITY));
  taken = ir_emit_reduce (emit, "ReduceMax", taken, sides, 2, FALSE);
  const gint64 down[] = { -1, 1, height, 1 }, over[] = { -1, 1, 1, width };
  IrValue *any = ir_emit2 (emit, "Mul", filled (&s, rows, down, dtype),
                           filled (&s, columns, over, dtype));
  outputs[0] = ir_emit3 (emit, "Where", ir_emit2 (emit, "Greater", any, number (&s, x, 0)), taken,
                         number (&s, x, 0));
  return TRUE;
}
