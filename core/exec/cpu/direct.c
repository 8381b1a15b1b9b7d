/* Direct convolution over NCHWc: geometry, packed weights, and how the tiles of the
 * output are shared among threads. Every sum is added up in an order that only the shape decides,
 * so results are the same for any number of threads.
 *
 * Source for the loop structure: Georganas et al. 2018, Anatomy of high-performance deep learning
 * convolutions on SIMD architectures. */
#include "config.h"

#include "core/exec/cpu/direct.h"

#include <math.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHT_BYTES 24576 /* of a part of the input channels: what stays in the first cache */
#define GROUP_BYTES  98304 /* of the output that is worked on together: what stays in the second */
#define MOST_PLACES  65536 /* taps of all pixels that a table is kept for */
#define FEW_CHANNELS 4     /* of a picture, which is read plain */
#define MOST_TAPS    65536 /* of a window: more take long for a single pixel */
#define LONG_ROW     (1 << 20) /* pixels: more are not written at once */

/* Multiplications that take as long as an element of a loop over vectors. */
#define PRODUCTS_PER_ELEMENT  16
#define DEPTHWISE_PER_ELEMENT 4

struct _CpuDirect
{
  CpuDirectShape shape;
  const CpuVectorUnit *unit;
  gboolean depthwise;
  gboolean by_rows;                   /* threads share the pixels, and else the maps */
  gint64 in_plane, out_plane, n_taps; /* pixels */
  gboolean plain;                     /* the input is, and not NCHWc */
  gint64 in_block;                    /* channels of the input that come one after the other */
  gint64 in_pixel;                    /* elements from one of its pixels to the next */
  gint64 n_groups;                    /* of channels that share their weights' lanes */
  gint64 in_blocks, out_blocks;       /* of a sample */
  gint64 *first_blocks;               /* by group: block of the output with its first map */
  gint64 *packed_blocks; /* by group, and after the last: blocks of maps of those before */
  void (*rows_func) (const CpuPanel *panel, const CpuDepthwiseRow *row); /* (nullable) depthwise */
  gint32 *corners, *rows, *columns; /* by pixel of the output */
  guint8 *inside;
  gint32 *places;                         /* (nullable) by pixel and tap */
  gint32 *steps, *tap_rows, *tap_columns; /* by tap */
  float *weights, *bias;                  /* packed; NULL before */
};

/* The environment variable of oneDNN that limits its instructions, ONEDNN_MAX_CPU_ISA, holds
 * here, too. Returns float32 lanes of the vectors that the kernels over NCHWc use
 * here; 0 where there are no such kernels. */
guint
cpu_lanes (void)
{
#ifdef __x86_64__
  unsigned int isa = (unsigned int) dnnl_get_effective_cpu_isa ();

  if ((isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core &&
      __builtin_cpu_supports ("avx512f"))
    return 16;
  if ((isa & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2 && __builtin_cpu_supports ("avx2") &&
      __builtin_cpu_supports ("fma"))
    return 8;
#endif
  return 0;
}

/* The loops for vectors of so many lanes */
const CpuVectorUnit *
cpu_vector_unit (guint lanes)
{
  return lanes == 16 ? &cpu_unit_avx512 : &cpu_unit_avx2;
}

static gboolean
is_depthwise (const CpuDirectShape *shape)
{
  return shape->groups > 1 && shape->channels == 1 && shape->maps == 1;
}

/* What a thread has written lies in its own cache, so it should read that again. If nodes in a
 * row are shared by pixels, only the edges of the parts come from other cores; if they are
 * shared by channels, what reads all channels has most of them from there, but each thread reads
 * only its own weights. Returns whether threads share the pixels of a node without many weights,
 * because convolutions of one by one beside it that have a sixth of the channels on their other
 * side do so. */
gboolean
cpu_shares_pixels (gint64 channels, gint64 plane)
{
  return plane > channels * 8 / 7;
}

/* The weights, which every thread would read, against the rest. */
static gboolean
shares_pixels (const CpuDirectShape *s)
{
  gint64 in = s->in[0] * s->in[1], out = s->out[0] * s->out[1];

  if (is_depthwise (s))
    return cpu_shares_pixels (s->groups, in);
  return in * s->channels + out * s->maps > 8 * s->maps * s->channels * s->kernel[0] * s->kernel[1];
}

/* Groups of very few channels are left to others: most lanes would be idle. Groups need not
 * consist of whole blocks: an input is read channel by channel wherever it is, and of a block of
 * the output that two groups share each writes its own lanes. Returns whether cpu_direct_new()
 * can compute it. */
gboolean
cpu_direct_takes (const CpuDirectShape *shape, guint lanes)
{
  gint64 most = G_MAXINT32 / 64;

  if (lanes == 0 || shape->batch < 1 || shape->channels < 1 || shape->maps < 1)
    return FALSE;
  for (guint i = 0; i < 2; i++)
    if (shape->in[i] < 1 || shape->out[i] < 1 || shape->kernel[i] < 1)
      return FALSE;
  if (shape->in[0] * shape->in[1] > most || shape->out[0] * shape->out[1] > most ||
      shape->kernel[0] * shape->dilation[0] > 32768 ||
      shape->kernel[1] * shape->dilation[1] > 32768 ||
      shape->kernel[0] * shape->kernel[1] > MOST_TAPS)
    return FALSE;
  return shape->groups == 1 || is_depthwise (shape) ||
         (shape->channels > FEW_CHANNELS && 2 * shape->maps >= lanes);
}

/* Pictures have too few channels to fill a block, and ordering them would take a third of the
 * time of the convolution. Returns how many channels stand together in its input; 0: it is read
 * plain. */
guint
cpu_direct_in_block (const CpuDirectShape *shape, guint lanes)
{
  return shape->groups == 1 && shape->channels <= FEW_CHANNELS ? 0 : lanes;
}

static void
fill_pixel (CpuDirect *direct, gint64 pixel, gint64 row, gint64 column)
{
  const CpuDirectShape *s = &direct->shape;

  direct->rows[pixel] = (gint32) row;
  direct->columns[pixel] = (gint32) column;
  direct->corners[pixel] = (gint32) ((row * s->in[1] + column) * direct->in_pixel);
  direct->inside[pixel] = row >= 0 && column >= 0 &&
                          row + (s->kernel[0] - 1) * s->dilation[0] < s->in[0] &&
                          column + (s->kernel[1] - 1) * s->dilation[1] < s->in[1];
}

static void
fill_windows (CpuDirect *direct)
{
  const CpuDirectShape *s = &direct->shape;

  for (gint64 tap = 0; tap < direct->n_taps; tap++)
    {
      gint64 row = tap / s->kernel[1] * s->dilation[0],
             column = tap % s->kernel[1] * s->dilation[1];

      direct->tap_rows[tap] = (gint32) row;
      direct->tap_columns[tap] = (gint32) column;
      direct->steps[tap] = (gint32) ((row * s->in[1] + column) * direct->in_pixel);
    }
  for (gint64 i = 0, pixel = 0; i < s->out[0]; i++)
    for (gint64 j = 0; j < s->out[1]; j++, pixel++)
      fill_pixel (direct, pixel, i * s->stride[0] - s->pad[0], j * s->stride[1] - s->pad[1]);
}

/* Where windows reach over the edge every tap has to be looked at; small outputs have mostly such,
 * and get a table. */
static void
fill_places (CpuDirect *direct)
{
  const CpuDirectShape *s = &direct->shape;

  if (direct->n_taps == 1 || direct->out_plane * direct->n_taps > MOST_PLACES)
    return;
  direct->places = g_new (gint32, direct->out_plane * direct->n_taps);
  for (gint64 pixel = 0; pixel < direct->out_plane; pixel++)
    for (gint64 tap = 0; tap < direct->n_taps; tap++)
      {
        gint64 row = direct->rows[pixel] + direct->tap_rows[tap];
        gint64 column = direct->columns[pixel] + direct->tap_columns[tap];
        gboolean inside = row >= 0 && row < s->in[0] && column >= 0 && column < s->in[1];

        direct->places[pixel * direct->n_taps + tap] = inside ? direct->steps[tap] : CPU_OUTSIDE;
      }
}

/* Blocks of the output that a group has maps in; of depthwise ones a block is a group. */
static void
fill_groups (CpuDirect *direct)
{
  const CpuDirectShape *s = &direct->shape;
  gint64 lanes = direct->unit->lanes;
  gint64 n = direct->depthwise ? (s->groups + lanes - 1) / lanes : s->groups;

  direct->n_groups = n;
  direct->in_blocks = (s->groups * s->channels + direct->in_block - 1) / direct->in_block;
  direct->out_blocks = (s->groups * s->maps + lanes - 1) / lanes;
  direct->first_blocks = g_new (gint64, n);
  direct->packed_blocks = g_new (gint64, n + 1);
  direct->packed_blocks[0] = 0;
  for (gint64 group = 0; group < n; group++)
    {
      gint64 first = direct->depthwise ? group : group * s->maps / lanes;
      gint64 end = direct->depthwise ? group + 1 : ((group + 1) * s->maps + lanes - 1) / lanes;

      direct->first_blocks[group] = first;
      direct->packed_blocks[group + 1] = direct->packed_blocks[group] + end - first;
    }
}

/* Geometry without weights; free with cpu_direct_free(). */
CpuDirect *
cpu_direct_new (const CpuDirectShape *shape, guint lanes)
{
  CpuDirect *direct = g_new0 (CpuDirect, 1);

  direct->shape = *shape;
  direct->unit = cpu_vector_unit (lanes);
  direct->depthwise = is_depthwise (shape);
  direct->in_plane = shape->in[0] * shape->in[1];
  direct->out_plane = shape->out[0] * shape->out[1];
  direct->n_taps = shape->kernel[0] * shape->kernel[1];
  direct->plain = cpu_direct_in_block (shape, lanes) == 0;
  direct->in_block = direct->plain ? shape->channels : lanes;
  direct->in_pixel = direct->plain ? 1 : lanes;
  direct->by_rows = shares_pixels (shape);
  direct->corners = g_new (gint32, direct->out_plane);
  direct->rows = g_new (gint32, direct->out_plane);
  direct->columns = g_new (gint32, direct->out_plane);
  direct->inside = g_new (guint8, direct->out_plane);
  direct->steps = g_new (gint32, direct->n_taps);
  direct->tap_rows = g_new (gint32, direct->n_taps);
  direct->tap_columns = g_new (gint32, direct->n_taps);
  if (direct->depthwise && shape->out[1] <= LONG_ROW && shape->kernel[0] == shape->kernel[1] &&
      shape->kernel[1] <= 5 && shape->stride[1] <= 2 && shape->dilation[0] == 1 &&
      shape->dilation[1] == 1)
    direct->rows_func = direct->unit->depthwise_row[shape->kernel[1]][shape->stride[1]];
  fill_groups (direct);
  fill_windows (direct);
  fill_places (direct);
  return direct;
}

void
cpu_direct_free (CpuDirect *direct)
{
  if (direct == NULL)
    return;
  g_free (direct->first_blocks);
  g_free (direct->packed_blocks);
  g_free (direct->corners);
  g_free (direct->rows);
  g_free (direct->columns);
  g_free (direct->inside);
  g_free (direct->places);
  g_free (direct->steps);
  g_free (direct->tap_rows);
  g_free (direct->tap_columns);
  free (direct->weights); /* from ir_pages_new() */
  free (direct->bias);
  g_free (direct);
}

const CpuDirectShape *
cpu_direct_shape (const CpuDirect *direct)
{
  return &direct->shape;
}

/* -- weights -- */

static gint64
group_blocks (const CpuDirect *direct, gint64 group)
{
  return direct->packed_blocks[group + 1] - direct->packed_blocks[group];
}

static guint
group_panels (const CpuDirect *direct, gint64 group)
{
  guint most = direct->unit->most_blocks,
        n = ((guint) group_blocks (direct, group) + most - 1) / most;

  return n >= 3 && n % 2 != 0 && !direct->by_rows && !direct->depthwise ? n + 1 : n;
}

/* First block of maps of a panel, in its group; as even as whole blocks go. */
static gint64
panel_start (const CpuDirect *direct, gint64 group, guint panel)
{
  return group_blocks (direct, group) * panel / group_panels (direct, group);
}

/* Where the channels of a group begin in their first block of the input. */
static gint64
group_skip (const CpuDirect *direct, gint64 group)
{
  return direct->depthwise ? 0 : group * direct->shape.channels % direct->in_block;
}

static gint64
group_in_blocks (const CpuDirect *direct, gint64 group)
{
  gint64 end = group_skip (direct, group) + direct->shape.channels;

  return (end + direct->in_block - 1) / direct->in_block;
}

/* Weights of all maps of a group in the order in which the tiles read them. */
static void
pack_group (const CpuDirect *direct, gint64 group, const CpuUnalignedFloat *from, float *to)
{
  const CpuDirectShape *s = &direct->shape;
  gint64 lanes = direct->unit->lanes, skip = group_skip (direct, group);
  gint64 before = group * s->maps - direct->first_blocks[group] * lanes; /* lanes of others */

  for (guint panel = 0; panel < group_panels (direct, group); panel++)
    for (gint64 block = 0; block < group_in_blocks (direct, group); block++)
      for (gint64 tap = 0; tap < direct->n_taps; tap++)
        {
          gint64 first = MAX (block * direct->in_block - skip, 0),
                 end = MIN ((block + 1) * direct->in_block - skip, s->channels),
                 map_first = panel_start (direct, group, panel) * lanes - before,
                 map_end = panel_start (direct, group, panel + 1) * lanes - before;

          for (gint64 channel = first; channel < end; channel++)
            for (gint64 map = map_first; map < map_end; map++)
              *to++ = map >= 0 && map < s->maps
                          ? from[(map * s->channels + channel) * direct->n_taps + tap]
                          : 0;
        }
}

static gboolean
all_finite (const CpuUnalignedFloat *x, gint64 n)
{
  gboolean finite = TRUE;

  for (gint64 i = 0; i < n; i++)
    finite &= isfinite (x[i]) != 0;
  return finite;
}

/* Weights of a depthwise convolution: lane by lane. */
static void
pack_depthwise (const CpuDirect *direct, const CpuUnalignedFloat *from, float *to)
{
  gint64 lanes = direct->unit->lanes, n_taps = direct->n_taps;
  gint64 n_blocks = direct->packed_blocks[direct->n_groups];

  for (gint64 block = 0; block < n_blocks; block++)
    for (gint64 tap = 0; tap < n_taps; tap++)
      for (gint64 c = block * lanes; c < (block + 1) * lanes; c++)
        *to++ = c < direct->shape.groups ? from[c * n_taps + tap] : 0;
}

/* Brings the weights into the order in which they are read. Weights that are not finite are
 * refused: beyond the edges of the input they would be multiplied with zeros. Returns FALSE if
 * this convolution cannot be computed so. @weights: as the standard has them: [groups * maps,
 * channels, kernel]. */
gboolean
cpu_direct_pack (CpuDirect *direct, const CpuUnalignedFloat *weights, const float *bias)
{
  const CpuDirectShape *s = &direct->shape;
  gint64 lanes = direct->unit->lanes, n_blocks = direct->packed_blocks[direct->n_groups];
  gint64 own = s->maps * s->channels * direct->n_taps, /* of a group in @weights */
      packed = lanes * (direct->depthwise ? 1 : s->channels) * direct->n_taps; /* of a block */

  if (!all_finite (weights, own * s->groups))
    return FALSE;
  if (direct->weights == NULL)
    direct->weights = ir_pages_new ((gsize) (packed * n_blocks) * sizeof (float));
  if (direct->bias == NULL)
    direct->bias = ir_pages_new ((gsize) (lanes * n_blocks) * sizeof (float));
  if (direct->weights == NULL || direct->bias == NULL)
    return FALSE;
  memset (direct->bias, 0, (gsize) (lanes * n_blocks) * sizeof (float));
  if (direct->depthwise)
    pack_depthwise (direct, weights, direct->weights);
  if (direct->depthwise && bias != NULL)
    memcpy (direct->bias, bias, (gsize) s->groups * sizeof (float));
  for (gint64 group = 0; group < direct->n_groups && !direct->depthwise; group++)
    {
      gint64 at = direct->packed_blocks[group],
             before = group * s->maps - direct->first_blocks[group] * lanes;

      pack_group (direct, group, weights + group * own, direct->weights + at * packed);
      if (bias != NULL)
        memcpy (direct->bias + at * lanes + before, bias + group * s->maps,
                (gsize) s->maps * sizeof (float));
    }
  return TRUE;
}

/* -- running -- */

typedef struct
{
  const CpuDirect *direct;
  const CpuEpilogue *epilogue;
  const IrCall *call;
  const float *x;
  float *y;
  CpuPanel panel; /* what is the same for all */
  gboolean after; /* an activation that the tiles do not know follows */
} Job;

static gint64
n_tiles_of (const CpuDirect *direct, gint64 n_blocks)
{
  gint64 most = direct->depthwise ? CPU_MOST_PIXELS : direct->unit->most_pixels[n_blocks];

  return (direct->out_plane + most - 1) / most;
}

/* @ahead: (nullable): the @n_ahead weights that are needed next */
static void
run_tiles (const Job *job,
           CpuPanel *panel,
           gint64 n_blocks,
           gint64 first,
           gint64 end,
           const float *ahead,
           gint64 n_ahead)
{
  const CpuDirect *direct = job->direct;
  gint64 n_tiles = n_tiles_of (direct, n_blocks), plane = direct->out_plane;

  for (gint64 tile = first; tile < end; tile++)
    {
      gint64 pixel = plane * tile / n_tiles, n = plane * (tile + 1) / n_tiles - pixel;

      if (ahead != NULL)
        cpu_fetch_ahead (panel, ahead, n_ahead, tile - first, end - first);
      (direct->depthwise ? direct->unit->depthwise : direct->unit->tiles[n_blocks])[n](panel,
                                                                                       pixel);
    }
}

/* Of the channels of a block that has @used of @lanes, a piece of pixels at a time. */
#define FEW_PIXELS 64

static void
activate_few (const CpuEpilogue *epilogue, float *y, gint64 n_pixels, gint64 lanes, gint64 used)
{
  float few[FEW_PIXELS * CPU_MOST_LANES];

  for (gint64 at = 0; at < n_pixels; at += FEW_PIXELS)
    {
      gint64 n = MIN (n_pixels - at, FEW_PIXELS);

      for (gint64 c = 0; c < used; c++)
        for (gint64 i = 0; i < n; i++)
          few[c * n + i] = y[(at + i) * lanes + c];
      cpu_epilogue (epilogue, few, (guint64) (n * used), 0);
      for (gint64 c = 0; c < used; c++)
        for (gint64 i = 0; i < n; i++)
          y[(at + i) * lanes + c] = few[c * n + i];
    }
}

/* The activations that are too long for the tiles, of @n_pixels of one block at @y, while they are
 * in the cache. A last block of few channels, as of pictures, does not pay for those it has not. */
static void
run_after (const Job *job, float *y, gint64 n_pixels)
{
  const CpuDirect *direct = job->direct;
  gint64 lanes = direct->unit->lanes, channels = direct->shape.maps * direct->shape.groups;
  gint64 block = (y - job->y) / (direct->out_plane * lanes) % direct->out_blocks;
  gint64 used = MIN (channels - block * lanes, lanes);
  CpuEpilogue epilogue = *job->epilogue;

  epilogue.add = NULL; /* has been added */
  if (used > lanes / 2)
    cpu_epilogue (&epilogue, y, (guint64) (n_pixels * lanes), 0);
  else
    activate_few (&epilogue, y, n_pixels, lanes, used);
}

/* The lanes of the group in the panel's first and last block. The last group fills its block up. */
static void
own_lanes (const CpuDirect *direct, gint64 group, gint64 start, gint64 end_block, CpuPanel *panel)
{
  gint64 lanes = direct->unit->lanes, maps = direct->shape.maps;

  panel->lane = 0;
  panel->lane_end = lanes;
  if (direct->depthwise)
    return;
  if (start == 0)
    panel->lane = group * maps - direct->first_blocks[group] * lanes;
  if (end_block == group_blocks (direct, group) && group + 1 < direct->n_groups)
    panel->lane_end = (group + 1) * maps - (direct->first_blocks[group] + end_block - 1) * lanes;
}

/* Tiles [first, end) of a panel: as many at once as fit into the cache with their sums, and for
 * those one part of the input channels after the other. What is added is read with the last part
 * only; where the output is written over it, sums wait elsewhere until then. */
static void
run_panel (const Job *job, gint64 sample, gint64 group, guint index, gint64 first, gint64 end)
{
  const CpuDirect *direct = job->direct;
  const CpuDirectShape *s = &direct->shape;
  gint64 lanes = direct->unit->lanes, start = panel_start (direct, group, index),
         end_block = panel_start (direct, group, index + 1), n_blocks = end_block - start;
  gint64 n_tiles = n_tiles_of (direct, n_blocks), plane = direct->out_plane;
  gint64 channels = direct->depthwise ? 1 : s->channels, skip = group_skip (direct, group);
  gint64 in_blocks = group_in_blocks (direct, group);
  gint64 channel_weights = direct->n_taps * n_blocks * lanes;
  gint64 per_part = MAX (
      WEIGHT_BYTES / (channel_weights * direct->in_block * (gint64) sizeof (float)), 1);
  gint64 n_parts = (in_blocks + per_part - 1) / per_part;
  gint64 packed = direct->packed_blocks[group] + start;
  gint64 out_block = sample * direct->out_blocks + direct->first_blocks[group] + start;
  gint64 in_block = sample * direct->in_blocks +
                    (direct->depthwise ? group : group * channels / direct->in_block);
  gint64 at_once = MAX (GROUP_BYTES / (n_blocks * lanes * (gint64) sizeof (float) *
                                       ((plane + n_tiles - 1) / n_tiles)),
                        1);
  const float *weights = direct->weights + packed * lanes * channels * direct->n_taps;
  const float *weights_end = direct->weights + direct->packed_blocks[direct->n_groups] * lanes *
                                                   channels * direct->n_taps;
  CpuPanel panel = job->panel;
  float partial[GROUP_BYTES / sizeof (float)] __attribute__ ((aligned (64)));

  panel.bias = direct->bias + packed * lanes;
  panel.y = job->y + out_block * plane * lanes;
  panel.add = job->epilogue->add != NULL ? job->epilogue->add + out_block * plane * lanes : NULL;
  panel.sums = panel.add == panel.y ? partial : panel.y;
  panel.sums_stride = panel.out_stride;
  panel.sums_pixel = 0;
  own_lanes (direct, group, start, end_block, &panel);
  for (gint64 tile = first; tile < end; tile += at_once)
    {
      gint64 tile_end = MIN (tile + at_once, end);

      if (ir_call_stopped (job->call))
        return;
      if (panel.sums == partial)
        {
          panel.sums_pixel = plane * tile / n_tiles;
          panel.sums_stride = (plane * tile_end / n_tiles - panel.sums_pixel) * lanes;
        }
      for (gint64 part = 0; part < n_parts; part++)
        {
          gint64 from = in_blocks * part / n_parts, to = in_blocks * (part + 1) / n_parts;
          /* Channels of the group before this part, and before the next. */
          gint64 done = MAX (from * direct->in_block - skip, 0),
                 then = MIN (to * direct->in_block - skip, channels);

          panel.starts = part == 0;
          panel.ends = part == n_parts - 1;
          panel.x = job->x + (in_block + from) * panel.in_stride;
          panel.w = weights + done * channel_weights;
          panel.n_blocks = to - from;
          panel.first = part == 0 ? skip : 0;
          panel.last = then + skip - (to - 1) * direct->in_block;
          /* What follows in the packed weights is the next part, or the next panel. */
          panel.ahead_lines = 0;
          const float *ahead = weights + then * channel_weights;
          gint64 n_ahead = MIN ((then - done) * channel_weights, weights_end - ahead);
          run_tiles (job, &panel, n_blocks, tile, tile_end,
                     then < channels || tile_end == end ? ahead : NULL, n_ahead);
        }
      gint64 pixel = plane * tile / n_tiles;
      for (gint64 m = 0; job->after && m < n_blocks; m++)
        run_after (job, panel.y + m * panel.out_stride + pixel * lanes,
                   plane * tile_end / n_tiles - pixel);
    }
}

/* Rows [first, end) of block @block of a depthwise convolution with a kernel for its window. */
static void
run_rows_of (const Job *job, gint64 block, gint64 first_row, gint64 end_row)
{
  const CpuDirect *direct = job->direct;
  const CpuDirectShape *s = &direct->shape;
  gint64 lanes = direct->unit->lanes, n_rows = s->out[0], step = s->stride[1], pad = s->pad[1];
  gint64 group = block % direct->n_groups;
  CpuPanel panel = job->panel;
  CpuDepthwiseRow row = { .width = s->in[1], .pad = pad, .n = s->out[1] };

  row.inside = MIN ((pad + step - 1) / step, row.n);
  if (row.width + pad >= s->kernel[1])
    row.end = MIN ((row.width + pad - s->kernel[1]) / step + 1, row.n);
  row.end = MAX (row.end, row.inside);
  panel.bias = direct->bias + group * lanes;
  for (gint64 i = first_row; i < end_row; i++)
    {
      gint64 top = i * s->stride[0] - s->pad[0], first = MAX (0, -top);
      gint64 at = (block * n_rows + i) * row.n * lanes;

      row.n_rows = MAX (MIN (s->kernel[0], s->in[0] - top) - first, 0);
      row.x = job->x +
              (block * direct->in_plane + (row.n_rows > 0 ? top + first : 0) * row.width) * lanes;
      row.w = direct->weights + (group * direct->n_taps + first * s->kernel[1]) * lanes;
      row.y = job->y + at;
      row.add = job->epilogue->add != NULL ? job->epilogue->add + at : NULL;
      direct->rows_func (&panel, &row);
      if (job->after)
        run_after (job, row.y, row.n);
    }
}

/* Of @n that all samples have each, those of sample @sample that belong to a part. */
static void
share_of_sample (const CpuDirect *direct,
                 gint64 sample,
                 gint64 n,
                 gint64 part,
                 gint64 n_parts,
                 gint64 *first,
                 gint64 *end)
{
  gint64 total = direct->shape.batch * n;

  *first = CLAMP (total * part / n_parts - sample * n, 0, n);
  *end = CLAMP (total * (part + 1) / n_parts - sample * n, 0, n);
}

static void
run_rows (const Job *job, gint64 part, gint64 n_parts)
{
  const CpuDirect *direct = job->direct;
  gint64 n_rows = direct->shape.out[0], n_blocks = direct->shape.batch * direct->n_groups;
  gint64 total = n_blocks * n_rows, begin = total * part / n_parts,
         stop = total * (part + 1) / n_parts;

  for (gint64 block = 0; block < n_blocks; block++)
    {
      gint64 first, end;

      if (direct->by_rows)
        share_of_sample (direct, block / direct->n_groups, n_rows, part, n_parts, &first, &end);
      else
        {
          first = CLAMP (begin - block * n_rows, 0, n_rows);
          end = CLAMP (stop - block * n_rows, 0, n_rows);
        }
      if (first < end && ir_call_stopped (job->call))
        return;
      run_rows_of (job, block, first, end);
    }
}

/* Of every panel the same part of the pixels. */
static void
run_pixels (const Job *job, gint64 part, gint64 n_parts)
{
  const CpuDirect *direct = job->direct;
  gint64 groups = direct->n_groups;

  for (gint64 i = 0; i < direct->shape.batch * groups; i++)
    for (guint panel = 0; panel < group_panels (direct, i % groups); panel++)
      {
        gint64 n_blocks = panel_start (direct, i % groups, panel + 1) -
                          panel_start (direct, i % groups, panel);
        gint64 first, end;

        share_of_sample (direct, i / groups, n_tiles_of (direct, n_blocks), part, n_parts, &first,
                         &end);
        if (first < end)
          run_panel (job, i / groups, i % groups, panel, first, end);
      }
}

/* All tiles in one row, counted by how many blocks of maps they have; every thread takes a part. */
static void
run_part (const Job *job, gint64 part, gint64 n_parts)
{
  const CpuDirect *direct = job->direct;
  gint64 groups = direct->n_groups, total = 0, done = 0;

  for (gint64 group = 0; group < groups; group++)
    for (guint panel = 0; panel < group_panels (direct, group); panel++)
      {
        gint64 n_blocks = panel_start (direct, group, panel + 1) -
                          panel_start (direct, group, panel);
        total += n_blocks * n_tiles_of (direct, n_blocks);
      }
  total *= direct->shape.batch;
  gint64 first = total * part / n_parts, end = total * (part + 1) / n_parts;
  for (gint64 i = 0; i < direct->shape.batch * groups && done < end; i++)
    for (guint panel = 0; panel < group_panels (direct, i % groups) && done < end; panel++)
      {
        gint64 n_blocks = panel_start (direct, i % groups, panel + 1) -
                          panel_start (direct, i % groups, panel);
        gint64 n_tiles = n_tiles_of (direct, n_blocks);
        gint64 from = CLAMP ((first - done + n_blocks - 1) / n_blocks, 0, n_tiles),
               to = CLAMP ((end - done + n_blocks - 1) / n_blocks, 0, n_tiles);

        if (first <= done)
          from = 0;
        if (from < to)
          run_panel (job, i / groups, i % groups, panel, from, to);
        done += n_blocks * n_tiles;
      }
}

/* Whether the tiles compute its activation; otherwise it is a loop over their results. */
gboolean
cpu_direct_knows (const CpuEpilogue *epilogue)
{
  /* clang-format off */
  static const gboolean in_tiles[] = { [IR_ACTIVATION_NONE] = TRUE
#define IR_ACTIVATION(ID, ...) , [IR_ACTIVATION_##ID] = FALSE
#define ACT_TILE(expression) || TRUE
#include "core/op/activations.def"
  };
  /* clang-format on */

  return in_tiles[epilogue->activation] && !isnan (epilogue->low) && !isnan (epilogue->high);
}

/* Whether the output may be written over what is added to it: not where groups share blocks of
 * the output. */
gboolean
cpu_direct_adds_in_place (const CpuDirectShape *shape, guint lanes)
{
  return shape->groups == 1 || is_depthwise (shape) || shape->maps % lanes == 0;
}

static void
describe (Job *job)
{
  const CpuDirect *direct = job->direct;
  const CpuEpilogue *epilogue = job->epilogue;
  gboolean known = cpu_direct_knows (epilogue);

  job->after = !known;
  job->panel = (CpuPanel){
    .corners = direct->corners,
    .rows = direct->rows,
    .columns = direct->columns,
    .inside = direct->inside,
    .places = direct->places,
    .steps = direct->steps,
    .tap_rows = direct->tap_rows,
    .tap_columns = direct->tap_columns,
    .n_taps = direct->n_taps,
    .height = direct->shape.in[0],
    .width = direct->shape.in[1],
    .in_stride = direct->in_plane * direct->in_block,
    .out_stride = direct->out_plane * direct->unit->lanes,
    .between = direct->plain ? direct->in_plane : 1,
    .pixel_bytes = direct->shape.stride[1] * direct->in_pixel * (gint64) sizeof (float),
    .block = direct->in_block,
    .activation = known ? epilogue->activation : IR_ACTIVATION_NONE,
    .low = epilogue->low,
    .high = epilogue->high,
    .alpha = epilogue->alpha,
  };
}

/* @epilogue: what follows; its residual is in blocks, as @y, and may be @y where
 * cpu_direct_adds_in_place(). */
void
cpu_direct_run (const CpuDirect *direct,
                const IrCall *call,
                const CpuEpilogue *epilogue,
                const float *x,
                float *y)
{
  const CpuDirectShape *s = &direct->shape;
  Job job = { direct, epilogue, call, x, y };
  guint64 work = (guint64) (s->batch * s->groups * s->maps * direct->out_plane) *
                 (guint64) (s->channels * direct->n_taps) /
                 (direct->depthwise ? DEPTHWISE_PER_ELEMENT : PRODUCTS_PER_ELEMENT);
  int n_threads = cpu_n_threads (call, work), n_parts = cpu_n_parts (call, work);

  describe (&job);
  /* Blocks that groups share are not complete before all have written their lanes. */
  gboolean shared = !direct->depthwise && s->groups > 1 && s->maps % direct->unit->lanes != 0;
  CpuEpilogue rest = *epilogue;
  gboolean after = job.after && shared;

  job.after = job.after && !shared;
  rest.add = NULL; /* has been added */
#pragma omp parallel for num_threads(n_threads) schedule(static)
  for (int part = 0; part < n_parts; part++)
    (direct->rows_func != NULL ? run_rows
     : direct->by_rows         ? run_pixels
                               : run_part) (&job, part, n_parts);
  if (after)
    cpu_epilogue_all (
        call, &rest, y,
        (guint64) (s->batch * direct->out_blocks * direct->unit->lanes * direct->out_plane));
}
