/* Winograd's convolution of 3×3 with stride 1, over NCHWc: four by four
 * pixels of the output from 36 products for each pair of channels, and not from 144; or two by two
 * from 16, and not from 36, whose weights are fewer. Some tiles at once are transformed into memory
 * that stays in the second cache, multiplied by the tiles of the direct convolution as so many
 * convolutions of one by one, and transformed back.
 *
 * Results are rounded otherwise than by direct sums: weights are transformed in double and rounded
 * once, and the transforms add numbers up to a hundred times as large. Where an element of the
 * result is not finite, the whole convolution is left to the direct one, so that NaN and infinity
 * reach no neighbours. Every sum is added up in an order that only the shape decides.
 *
 * Source: Lavin and Gray 2016, Fast algorithms for convolutional neural networks. */
#include "config.h"

#include "core/exec/cpu/winograd.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_IN       6  /* pixels of a tile along an axis */
#define MOST_PRODUCTS 36 /* of it */
#define TAPS          9
#define LEAST_BYTES   (256 << 10) /* of transformed input at once */
#define MOST_BYTES    (1 << 20)
#define MOST_TILES    96
#define WEIGHT_BYTES  24576 /* of a part of the channels: what stays in the first cache */

struct _CpuWinograd
{
  CpuDirectShape shape;
  const CpuVectorUnit *unit;
  gint64 in, out, n_products;   /* pixels of a tile along an axis, and of its output */
  gint64 high, wide;            /* tiles of a sample along each axis */
  gint64 in_blocks, out_blocks; /* of channels */
  guint n_panels;
  gint64 at_once; /* tiles */
  gint32 corners[MOST_TILES];
  guint8 inside[MOST_TILES];
  gsize weight_bytes;
  float *weights, *bias; /* packed; NULL before */
};

static gint64
round_up (gint64 n, gint64 to)
{
  return (n + to - 1) / to * to;
}

/* Whether cpu_winograd_new() can compute it */
gboolean
cpu_winograd_takes (const CpuDirectShape *shape, guint lanes)
{
  for (guint i = 0; i < 2; i++)
    if (shape->kernel[i] != 3 || shape->stride[i] != 1 || shape->dilation[i] != 1)
      return FALSE;
  return shape->groups == 1 && cpu_direct_in_block (shape, lanes) == lanes;
}

/* A model in vector operations: products, which are a third less efficient than those of long sums,
 * both transforms, and the weights, of which there are more and which come from farther away.
 * Fitted to times of the layers of ResNet-50. @out: pixels of the output of a tile along an axis,
 * 1: the direct convolution. */
static double
cost_of (const CpuDirectShape *shape, guint lanes, gint64 out)
{
  double tiles = (double) (shape->batch * ((shape->out[0] + out - 1) / out) *
                           ((shape->out[1] + out - 1) / out));
  double in_blocks = (double) round_up (shape->channels, lanes) / lanes,
         out_blocks = (double) round_up (shape->maps, lanes) / lanes;
  double pairs = (double) shape->channels * out_blocks, fetch = 30;
  double products = out == 1 ? TAPS : (double) ((out + 2) * (out + 2));

  if (out == 1)
    return (tiles + fetch) * products * pairs;
  return tiles * products * (1.3 * pairs + 14 * in_blocks + 11 * out_blocks) +
         fetch * products * pairs;
}

static gint64
best_out (const CpuDirectShape *shape, guint lanes)
{
  return cost_of (shape, lanes, 2) < cost_of (shape, lanes, 4) ? 2 : 4;
}

/* Whether it is likely to be faster than the direct convolution */
gboolean
cpu_winograd_wins (const CpuDirectShape *shape, guint lanes)
{
  return cost_of (shape, lanes, best_out (shape, lanes)) < 0.85 * cost_of (shape, lanes, 1);
}

/* What leaves as much of the second cache to the products and the weights. Results do not depend on
 * it. */
static gint64
tile_bytes (void)
{
  long cache = 0;

#ifdef _SC_LEVEL2_CACHE_SIZE
  cache = sysconf (_SC_LEVEL2_CACHE_SIZE);
#endif
  return CLAMP (cache / 2, LEAST_BYTES, MOST_BYTES);
}

/* Geometry without weights; free with cpu_winograd_free() */
CpuWinograd *
cpu_winograd_new (const CpuDirectShape *shape, guint lanes)
{
  CpuWinograd *w = g_new0 (CpuWinograd, 1);
  gint64 width = lanes, most;

  w->shape = *shape;
  w->unit = cpu_vector_unit (lanes);
  w->out = best_out (shape, lanes);
  w->in = w->out + 2;
  w->n_products = w->in * w->in;
  w->high = (shape->out[0] + w->out - 1) / w->out;
  w->wide = (shape->out[1] + w->out - 1) / w->out;
  w->in_blocks = round_up (shape->channels, width) / width;
  w->out_blocks = round_up (shape->maps, width) / width;
  w->n_panels = ((guint) w->out_blocks + w->unit->most_blocks - 1) / w->unit->most_blocks;
  most = tile_bytes () / (w->n_products * w->in_blocks * width * (gint64) sizeof (float));
  w->at_once = CLAMP (most, 6, MOST_TILES);
  for (gint32 i = 0; i < MOST_TILES; i++)
    {
      w->corners[i] = i * (gint32) lanes;
      w->inside[i] = TRUE;
    }
  return w;
}

void
cpu_winograd_free (CpuWinograd *winograd)
{
  if (winograd == NULL)
    return;
  free (winograd->weights); /* from ir_pages_new() */
  free (winograd->bias);
  g_free (winograd);
}

const CpuDirectShape *
cpu_winograd_shape (const CpuWinograd *winograd)
{
  return &winograd->shape;
}

/* -- weights -- */

static gint64
panel_start (const CpuWinograd *w, guint panel)
{
  return w->out_blocks * panel / w->n_panels;
}

/* Elements of the weights of one product. */
static gint64
product_weights (const CpuWinograd *w)
{
  return w->shape.channels * w->out_blocks * w->unit->lanes;
}

static void
transform_weights (const CpuWinograd *w, const CpuUnalignedFloat *g, double *u)
{
  static const double lines_4[4][3] = {
    { 1, 0, 0 }, { 0.5, 0.5, 0.5 }, { 0.5, -0.5, 0.5 }, { 0, 0, 1 }
  };
  static const double lines_6[6][3] = { { 0.25, 0, 0 },
                                        { -1 / 6., -1 / 6., -1 / 6. },
                                        { -1 / 6., 1 / 6., -1 / 6. },
                                        { 1 / 24., 1 / 12., 1 / 6. },
                                        { 1 / 24., -1 / 12., 1 / 6. },
                                        { 0, 0, 1 } };
  const double (*lines)[3] = w->in == 4 ? lines_4 : lines_6;
  double half[MOST_IN][3];

  for (gint64 i = 0; i < w->in; i++)
    for (guint k = 0; k < 3; k++)
      half[i][k] = lines[i][0] * g[k] + lines[i][1] * g[3 + k] + lines[i][2] * g[6 + k];
  for (gint64 i = 0; i < w->in; i++)
    for (gint64 k = 0; k < w->in; k++)
      u[i * w->in + k] = half[i][0] * lines[k][0] + half[i][1] * lines[k][1] +
                         half[i][2] * lines[k][2];
}

/* [panel][product][channel][map of the panel]. Returns: whether all are finite. */
static gboolean
pack_map (const CpuWinograd *w, const CpuUnalignedFloat *weights, gint64 map)
{
  gint64 lanes = w->unit->lanes, channels = w->shape.channels;
  gboolean finite = TRUE;
  /* The last panel that starts at its block or before. */
  guint panel = (guint) (((map / lanes + 1) * w->n_panels - 1) / w->out_blocks);
  gint64 first = panel_start (w, panel) * lanes,
         n_maps = panel_start (w, panel + 1) * lanes - first;
  float *to = w->weights + w->n_products * first * channels + map - first;
  for (gint64 channel = 0; channel < channels; channel++)
    {
      double u[MOST_PRODUCTS];

      transform_weights (w, weights + (map * channels + channel) * TAPS, u);
      for (gint64 k = 0; k < w->n_products; k++)
        {
          float rounded = (float) u[k];
          finite &= isfinite (rounded) != 0;
          to[(k * channels + channel) * n_maps] = rounded;
        }
    }
  return finite;
}

/* Transforms the weights and brings them into the order in which they are read. Returns FALSE if
 * they are not finite or there is no memory. @weights: as the standard has
 * them: [maps, channels, 3, 3]. */
gboolean
cpu_winograd_pack (CpuWinograd *winograd,
                   const IrCall *call,
                   const CpuUnalignedFloat *weights,
                   const float *bias)
{
  gint64 maps = winograd->shape.maps, filled = winograd->out_blocks * winograd->unit->lanes;
  gsize bytes = (gsize) (winograd->n_products * product_weights (winograd)) * sizeof (float);
  int finite = TRUE;

  if (winograd->weights == NULL)
    winograd->weights = ir_pages_new (bytes);
  if (winograd->bias == NULL)
    winograd->bias = ir_pages_new ((gsize) filled * sizeof (float));
  if (winograd->weights == NULL || winograd->bias == NULL)
    return FALSE;
  if (filled > maps)
    memset (winograd->weights, 0, bytes);
  memset (winograd->bias, 0, (gsize) filled * sizeof (float));
  if (bias != NULL)
    memcpy (winograd->bias, bias, (gsize) maps * sizeof (float));
  int n_threads = cpu_n_threads (call, bytes);
#pragma omp parallel for num_threads(n_threads) schedule(static) reduction(&& : finite)
  for (gint64 map = 0; map < maps; map++)
    finite = finite && pack_map (winograd, weights, map);
  return finite != 0;
}

/* -- running -- */

typedef struct
{
  const CpuWinograd *winograd;
  const IrCall *call;
  const CpuEpilogue *epilogue;
  const float *x;
  float *y;
  CpuPanel product; /* what is the same for all products */
  CpuPanel panel;   /* and for what follows them */
  gint64 stride;    /* elements from one product of the input to the next */
  gint64 out_stride;
} Job;

/* Where tile @index of all samples lies. Returns: its sample. */
static gint64
place_tile (const CpuWinograd *w, gint64 index, CpuWinogradTile *tile)
{
  const CpuDirectShape *s = &w->shape;
  gint64 row = index / w->wide % w->high * w->out, column = index % w->wide * w->out;

  *tile = (CpuWinogradTile){
    .row = row - s->pad[0],
    .column = column - s->pad[1],
    .height = s->in[0],
    .width = s->in[1],
    .n_rows = (int) MIN (w->out, s->out[0] - row),
    .n_columns = (int) MIN (w->out, s->out[1] - column),
    .out_width = s->out[1],
    .out_pixel = row * s->out[1] + column,
  };
  return index / w->wide / w->high;
}

/* Of the @n tiles from @first on, those of [@from, @end). */
static void
transform_in (const Job *job, gint64 first, gint64 n, gint64 from, gint64 end, float *v)
{
  const CpuWinograd *w = job->winograd;
  gint64 lanes = w->unit->lanes, block = w->shape.in[0] * w->shape.in[1] * lanes;

  for (gint64 i = from; i < end; i++)
    {
      CpuWinogradTile tile;
      gint64 sample = place_tile (w, first + i, &tile);

      tile.stride = job->stride;
      for (gint64 b = 0; b < w->in_blocks; b++)
        w->unit->winograd_in[w->in == 6](&tile, job->x + (sample * w->in_blocks + b) * block,
                                         v + (b * n + i) * lanes);
    }
}

static gint64
parts_of (const CpuWinograd *w, gint64 n_blocks)
{
  gint64 lanes = w->unit->lanes,
         most = WEIGHT_BYTES / (n_blocks * lanes * lanes * (gint64) sizeof (float));

  return (w->in_blocks + most - 1) / MAX (most, 1);
}

/* Each product in parts of the channels whose weights stay in the first cache. */
static void
multiply (const Job *job, guint index, gint64 n, const float *v, float *m)
{
  const CpuWinograd *w = job->winograd;
  gint64 lanes = w->unit->lanes, start = panel_start (w, index),
         n_blocks = panel_start (w, index + 1) - start;
  gint64 most = w->unit->most_pixels[n_blocks], n_tiles = (n + most - 1) / most;
  gint64 block_weights = n_blocks * lanes * lanes;
  gint64 n_parts = parts_of (w, n_blocks);
  CpuPanel panel = job->product;

  panel.in_stride = panel.out_stride = panel.sums_stride = n * lanes;
  panel.w = w->weights + w->n_products * start * lanes * w->shape.channels;
  for (gint64 k = 0; k < w->n_products; k++)
    for (gint64 part = 0; part < n_parts; part++)
      {
        gint64 from = w->in_blocks * part / n_parts, to = w->in_blocks * (part + 1) / n_parts;
        gint64 n_weights = MIN (to * lanes, w->shape.channels) * n_blocks * lanes -
                           from * block_weights;

        panel.x = v + k * job->stride + from * panel.in_stride;
        panel.y = panel.sums = m + k * job->out_stride;
        panel.n_blocks = to - from;
        panel.last = to == w->in_blocks ? w->shape.channels - (to - 1) * lanes : lanes;
        panel.starts = part == 0;
        panel.ends = part + 1 == n_parts;
        for (gint64 tile = 0; tile < n_tiles; tile++)
          {
            gint64 pixel = n * tile / n_tiles, end = n * (tile + 1) / n_tiles;

            if (k + 1 < w->n_products || !panel.ends)
              cpu_fetch_ahead (&panel, panel.w + n_weights, n_weights, tile, n_tiles);
            else
              panel.ahead_lines = 0;
            w->unit->tiles[n_blocks][end - pixel](&panel, pixel);
          }
        panel.w += n_weights;
      }
}

static gboolean
transform_out (const Job *job, guint index, gint64 first, gint64 n, const float *m)
{
  const CpuWinograd *w = job->winograd;
  gint64 lanes = w->unit->lanes, plane = w->shape.out[0] * w->shape.out[1] * lanes;
  gint64 start = panel_start (w, index), end = panel_start (w, index + 1);
  CpuPanel panel = job->panel;
  gboolean finite = TRUE;

  for (gint64 i = 0; i < n; i++)
    {
      CpuWinogradTile tile;
      gint64 sample = place_tile (w, first + i, &tile);

      tile.stride = job->out_stride;
      for (gint64 b = start; b < end; b++)
        {
          gint64 at = (sample * w->out_blocks + b) * plane + tile.out_pixel * lanes;

          panel.bias = w->bias + b * lanes;
          panel.y = job->y + at;
          panel.add = job->epilogue->add != NULL ? job->epilogue->add + at : NULL;
          finite &= w->unit->winograd_out[w->in == 6](&tile, &panel,
                                                      m + ((b - start) * n + i) * lanes);
        }
    }
  return finite;
}

/* The products of an input that are one after the other in a set of the cache would push each other
 * out of it: a line more between them. */
static gint64
stride_of (const CpuWinograd *w, gint64 n_blocks)
{
  return (n_blocks * w->at_once + 1) * w->unit->lanes;
}

static gsize
in_floats (const CpuWinograd *w)
{
  return (gsize) (w->n_products * stride_of (w, w->in_blocks));
}

static gsize
out_floats (const CpuWinograd *w)
{
  return (gsize) (w->n_products * stride_of (w, CPU_MOST_BLOCKS));
}

/* Tiles [first, end) of all samples. */
static gboolean
run_part (const Job *job, gint64 first, gint64 end, float *scratch)
{
  const CpuWinograd *w = job->winograd;
  gint64 n_groups = (end - first + w->at_once - 1) / w->at_once;
  float *m = scratch + w->n_products * job->stride;
  gboolean finite = TRUE;

  for (gint64 group = 0; group < n_groups && finite; group++)
    {
      gint64 from = first + (end - first) * group / n_groups,
             n = first + (end - first) * (group + 1) / n_groups - from;

      if (ir_call_stopped (job->call))
        break;
      transform_in (job, from, n, 0, n, scratch);
      for (guint panel = 0; panel < w->n_panels && finite; panel++)
        {
          multiply (job, panel, n, scratch, m);
          finite = transform_out (job, panel, from, n, m);
        }
    }
  return finite;
}

/* All tiles, by a team of threads: each transforms some of the tiles and multiplies them all with
 * some of the weights, which so are read but once. */
static gboolean
run_member (const Job *job, gint64 member, gint64 n_members, float *v, float *m)
{
  const CpuWinograd *w = job->winograd;
  gint64 total = w->shape.batch * w->high * w->wide,
         n_groups = (total + w->at_once - 1) / w->at_once;
  gboolean finite = TRUE;

  for (gint64 group = 0; group < n_groups; group++)
    {
      gint64 first = total * group / n_groups, n = total * (group + 1) / n_groups - first;
      gboolean stopped = ir_call_stopped (job->call);

      if (!stopped)
        transform_in (job, first, n, n * member / n_members, n * (member + 1) / n_members, v);
#pragma omp barrier
      for (guint panel = (guint) (w->n_panels * member / n_members);
           panel < w->n_panels * (member + 1) / n_members && finite && !stopped; panel++)
        {
          multiply (job, panel, n, v, m);
          finite = transform_out (job, panel, first, n, m);
        }
#pragma omp barrier
    }
  return finite;
}

static const gint32 no_steps[1] = { 0 };
static const float no_bias[CPU_MOST_BLOCKS * CPU_MOST_LANES] = { 0 };

static void
describe (Job *job)
{
  const CpuWinograd *w = job->winograd;
  gint64 lanes = w->unit->lanes;

  job->stride = stride_of (w, w->in_blocks);
  job->out_stride = stride_of (w, CPU_MOST_BLOCKS);
  job->product = (CpuPanel){
    .bias = no_bias,
    .corners = w->corners,
    .inside = w->inside,
    .steps = no_steps,
    .n_taps = 1,
    .n_blocks = w->in_blocks,
    .between = 1,
    .pixel_bytes = lanes * (gint64) sizeof (float),
    .block = lanes,
    .last = w->shape.channels - (w->in_blocks - 1) * lanes,
    .lane_end = lanes,
    .starts = TRUE,
    .ends = TRUE,
    .activation = IR_ACTIVATION_NONE,
  };
  job->panel = (CpuPanel){
    .activation = cpu_direct_knows (job->epilogue) ? job->epilogue->activation : IR_ACTIVATION_NONE,
    .low = job->epilogue->low,
    .high = job->epilogue->high,
    .alpha = job->epilogue->alpha,
  };
}

/* Returns FALSE if there is no memory, or elements of the result are not finite: then the direct
 * convolution has to compute it. Also returns when it was cancelled; @y is then incomplete.
 * @epilogue: what follows; its residual is in blocks, as @y. */
gboolean
cpu_winograd_run (const CpuWinograd *winograd,
                  IrCall *call,
                  const CpuEpilogue *epilogue,
                  const float *x,
                  float *y)
{
  const CpuWinograd *w = winograd;
  Job job = { .winograd = w, .call = call, .epilogue = epilogue, .x = x, .y = y };
  gint64 n_tiles = w->shape.batch * w->high * w->wide;
  guint64 work = (guint64) (n_tiles * w->n_products) *
                 (guint64) (w->shape.channels * w->shape.maps);
  int n_threads = (int) MIN (cpu_n_threads (call, work / 32), n_tiles), finite = TRUE;
  gboolean team = n_threads > 1 && w->n_panels % (guint) n_threads == 0;
  gsize in = in_floats (w), out = out_floats (w),
        bytes = (in * (team ? 1 : (gsize) n_threads) + out * (gsize) n_threads) * sizeof (float);
  gpointer own = NULL;
  float *scratch;

  if (call->scratch != NULL)
    scratch = ir_scratch_get (call->scratch, IR_SCRATCH_KERNEL, bytes);
  else
    scratch = own = ir_pages_new (bytes);
  if (scratch == NULL)
    return FALSE;
  describe (&job);
  if (team)
    {
#pragma omp parallel num_threads(n_threads) reduction(&& : finite)
      finite = run_member (&job, omp_get_thread_num (), omp_get_num_threads (), scratch,
                           scratch + in + (gsize) omp_get_thread_num () * out);
    }
  else
    {
#pragma omp parallel for num_threads(n_threads) schedule(static) reduction(&& : finite)
      for (int part = 0; part < n_threads; part++)
        finite = finite &&
                 run_part (&job, n_tiles * part / n_threads, n_tiles * (part + 1) / n_threads,
                           scratch + (gsize) part * (in + out));
    }
  free (own);
  if (finite && !cpu_direct_knows (epilogue))
    {
      CpuEpilogue rest = *epilogue;

      rest.add = NULL; /* has been added */
      cpu_epilogue_all (call, &rest, y,
                        (guint64) (w->shape.batch * w->out_blocks * w->unit->lanes *
                                   w->shape.out[0] * w->shape.out[1]));
    }
  return finite != 0;
}
