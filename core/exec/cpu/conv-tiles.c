/* A convolution on oneDNN in tiles, each a call of its primitive. */
#include "config.h"

#include "core/exec/cpu/conv.h"
#include "core/exec/kernel/prepack.h"

#include <string.h>

#define MOST_TAPS 65536 /* of a window: oneDNN makes code for each */
#define TILE      5e8   /* multiply-adds between two looks at whether the call is to stop */
#define MOVING    16 /* of them in the time that an element takes to be brought into another order */
#define LEAST     16384 /* likewise, that a sample or a group takes, however small it is */
#define WIDE_STEP 64    /* maps of a tile are a multiple, which all blocked layouts divide */
#define MAP_STEP  8     /* or of this, where so many take too long */

/* Elements of a tensor of oneDNN, the first @skip axes left out. */
static gint64
volume (const dnnl_dims_t dims, int ndims, int skip)
{
  gint64 n = 1;

  for (int i = skip; i < ndims; i++)
    n *= dims[i];
  return n;
}

/* A convolution that takes long is done in tiles, so that cancelling is seen in time: some
 * samples, or of one sample some groups, or some maps of its only group. Those are contiguous.
 * Where even few maps take too long, they are cut along their longest axis, too. */
typedef struct
{
  gint64 samples, maps, rows; /* of a tile; the last ones may have fewer */
  int axis;                   /* along which rows are counted */
} Tiles;

/* Elements of the input that a window reaches over. */
static gint64
reach (const CpuConvShape *s, int axis)
{
  gint64 taps = s->w[axis + (s->group > 1)];

  return (taps - 1) * (s->dilations[axis - 2] + 1) + 1;
}

/* Rows whose windows lie in the padding alone would need no input at all: there is no such tile.
 */
static gboolean
may_cut (const CpuConvShape *s, int axis)
{
  return s->pad_begin[axis - 2] < reach (s, axis) && s->pad_end[axis - 2] < reach (s, axis);
}

static int
longest_axis (const CpuConvShape *s)
{
  int axis = 2;

  for (int i = 3; i < s->ndims; i++)
    if (s->y[i] > s->y[axis])
      axis = i;
  return axis;
}

static Tiles
tiles_of (const CpuConvShape *s)
{
  int grouped = s->group > 1, axis = longest_axis (s);
  Tiles each = { 1, s->y[1], s->y[axis], axis };
  double plane = (double) volume (s->y, s->ndims, 2), x = (double) volume (s->x, s->ndims, 1);
  double weights = (double) volume (s->w, s->ndims + grouped, 1 + grouped); /* of a map */
  double own = grouped ? x / (double) s->y[1] : 0; /* of the input, that other tiles do not read */
  double sums = plane * weights, moved = MOVING * (plane + own), packed = MOVING * weights;
  double least = grouped ? LEAST : 0; /* of a map: its group has few */
  double map = MAX (MAX (sums, moved + packed), least), n_maps = (double) s->y[1];
  double shared = grouped ? 0 : MOVING * x; /* of each tile */

  if (MAX (map * n_maps, shared) <= TILE)
    {
      double sample = MAX (MAX (MAX (sums, moved), least) * n_maps, shared);
      each.samples = CLAMP ((gint64) (TILE / MAX (sample, LEAST)), 1, s->x[0]);
      return each;
    }
  gint64 maps = (gint64) (TILE / map);
  gint64 unit = grouped                         ? s->y[1] / s->group
                : maps >= WIDE_STEP             ? WIDE_STEP
                : packed * MAP_STEP <= 2 * TILE ? MAP_STEP
                                                : 1;
  maps = maps / unit * unit;
  each.maps = CLAMP (maps, MIN (unit, s->y[1]), s->y[1]);
  double tile = MAX (map * (double) each.maps, shared);
  if (tile > 2 * TILE && may_cut (s, axis))
    each.rows = CLAMP ((gint64) ((double) each.rows * (TILE / tile)), 1, each.rows);
  return each;
}

/* Rows [first, first + rows) of the output along @axis, and what of the input they need. Returns:
 * the first element of that. */
static gint64
cut_rows (CpuConvShape *wanted, int axis, gint64 first, gint64 rows)
{
  gint64 from = first * wanted->strides[axis - 2] - wanted->pad_begin[axis - 2];
  gint64 to = from + (rows - 1) * wanted->strides[axis - 2] + reach (wanted, axis);

  if (rows == wanted->y[axis])
    return 0;
  wanted->pad_begin[axis - 2] = MAX (-from, 0);
  wanted->pad_end[axis - 2] = MAX (to - wanted->x[axis], 0);
  wanted->x[axis] = MIN (to, wanted->x[axis]) - MAX (from, 0);
  wanted->y[axis] = rows;
  return MAX (from, 0);
}

/* Whether oneDNN would work too long on the smallest tile, or on making itself ready for it. */
static gboolean
takes_long (const CpuConvShape *s)
{
  int grouped = s->group > 1, ndims = s->ndims + grouped;

  return volume (s->w, ndims, 2 + grouped) > MOST_TAPS ||
         MOVING * (double) volume (s->w, ndims, 1 + grouped) > 2 * TILE;
}

/* The plan for @samples and @maps, made anew unless @plan is it. */
static CpuConvPlan *
plan_for (CpuConvPlan **plan, const CpuConvShape *shape, gint64 samples, gint64 maps)
{
  CpuConvShape wanted = *shape;

  wanted.x[0] = wanted.y[0] = samples;
  wanted.y[1] = wanted.b[0] = maps;
  if (shape->group > 1 && maps != shape->y[1])
    {
      wanted.group = maps / (shape->y[1] / shape->group);
      wanted.x[1] = shape->x[1] / shape->group * wanted.group;
      wanted.w[0] = wanted.group;
      if (wanted.group == 1) /* then the axis of groups is not there */
        {
          memmove (wanted.w, wanted.w + 1, sizeof wanted.w - sizeof *wanted.w);
          wanted.w[shape->ndims] = 0;
        }
    }
  else if (shape->group <= 1)
    wanted.w[0] = maps;
  if (*plan != NULL && memcmp (cpu_conv_plan_shape (*plan), &wanted, sizeof wanted) == 0)
    return *plan;
  g_clear_pointer (plan, cpu_conv_plan_free);
  return *plan = cpu_conv_plan_new (&wanted);
}

/* FALSE: it was to stop, or it is not for oneDNN. */
gboolean
cpu_conv_run_tiles (CpuConvPlans *plans, const IrCall *call, const CpuConvShape *s, float *y)
{
  if (takes_long (s))
    return FALSE;
  const float *x = cpu_floats (call, 0), *w = cpu_floats (call, 1), *b = cpu_floats (call, 2);
  Tiles each = tiles_of (s);
  gboolean constant = call->node->inputs[1] != NULL &&
                      ir_value_constant (call->node->inputs[1]) != NULL &&
                      ir_packed_keeps (call->packed);
  gint64 plane = volume (s->y, s->ndims, 2), in_plane = volume (s->x, s->ndims, 2);
  gint64 n_rows = s->y[each.axis], row = volume (s->y, s->ndims, each.axis + 1),
         in_row = volume (s->x, s->ndims, each.axis + 1);
  gint64 group_maps = s->y[1] / s->group, group_channels = s->x[1] / s->group;
  gint64 map_weights = volume (s->w, s->ndims + (s->group > 1), s->group > 1 ? 2 : 1);

  for (gint64 n = 0; n < s->x[0]; n += each.samples)
    for (gint64 at = 0; at < n_rows; at += each.rows)
      for (gint64 m = 0; m < s->y[1]; m += each.maps)
        {
          gint64 samples = MIN (each.samples, s->x[0] - n), maps = MIN (each.maps, s->y[1] - m);
          gint64 channel = s->group > 1 ? m / group_maps * group_channels : 0;
          gint64 rows = MIN (each.rows, n_rows - at);
          gboolean whole = samples == each.samples && maps == each.maps &&
                           (rows == n_rows || (at > 0 && at + rows < n_rows));
          CpuConvShape cut = *s;
          gint64 from = cut_rows (&cut, each.axis, at, rows);
          CpuConvPlan *plan = plan_for (whole ? &plans->plan : &plans->rest, &cut, samples, maps);

          CpuConvWeights weights = { w, m * map_weights, constant };

          if ((n > 0 || at > 0 || m > 0) && ir_call_stopped (call))
            return FALSE;
          if (plan == NULL ||
              !cpu_conv_plan_run (
                  plan, call->scratch, x + (n * s->x[1] + channel) * in_plane + from * in_row,
                  &weights, b != NULL ? b + m : NULL, y + (n * s->y[1] + m) * plane + at * row))
            return FALSE;
        }
  return TRUE;
}

void
cpu_conv_plans_clear (CpuConvPlans *plans)
{
  g_clear_pointer (&plans->plan, cpu_conv_plan_free);
  g_clear_pointer (&plans->rest, cpu_conv_plan_free);
}
