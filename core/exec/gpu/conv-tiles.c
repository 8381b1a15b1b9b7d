/* Convolutions of real numbers by tiles: which size they have, and the text that finds what lies under a tap. */
#include "config.h"

#include "core/exec/gpu/windows.h"

#define I64 "%" G_GINT64_FORMAT

/* Tiles of @bm x @bn elements of a group's result, each thread with @tm x @tn, over @bk steps at a time that
 * @split groups of threads share; @rate: of what one can multiply, as large ones have it: such that, for the shapes of
 * ResNet-50 at batch 1 and 64 on an H200, the choice is the tile that was measured fastest, or next to it (not
 * measured: 32 x 128 and 16 x 64). */
typedef struct
{
  guint bm, bn, tm, tn, bk, split;
  double rate;
} Tile;

/* All have BM * BN / (TM * TN) * SPLIT threads, a multiple of BN. */
static const Tile tiles[] = {
  { 128, 128, 8, 8, 8, 1, 1.0 }, { 64, 128, 8, 8, 8, 1, 1.0 }, { 64, 64, 8, 4, 16, 2, 0.95 },
  { 32, 128, 4, 8, 8, 1, 0.7 },  { 16, 64, 4, 4, 16, 1, 0.4 }, { 32, 32, 4, 4, 32, 4, 0.52 },
  { 16, 32, 4, 4, 64, 8, 0.5 },
};

/* Processors of the devices that tiles are made for; the text of a kernel does not depend on the one at hand. */
#define PROCESSORS 132

static guint64
up (guint64 n, guint64 size)
{
  return (n + size - 1) / size;
}

static double
cost (const Tile *tile, guint64 m, guint64 n, guint64 groups)
{
  guint64 blocks = up (m, tile->bm) * up (n, tile->bn) * groups;

  return (double) (up (blocks, PROCESSORS) * tile->bm * tile->bn) / tile->rate;
}

static const Tile *
choose (guint64 m, guint64 n, guint64 groups)
{
  const Tile *best = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (tiles); i++)
    if (best == NULL || cost (&tiles[i], m, n, groups) < cost (best, m, n, groups))
      best = &tiles[i];
  return best;
}

/* Whether some of the taps of axis @i lie outside of the input. */
static gboolean
leaves (const IrWindow *window, guint i)
{
  return window->pad_begin[i] > 0 || (window->out[i] - 1) * window->stride[i] +
                                             (window->kernel[i] - 1) * window->dilation[i] -
                                             window->pad_begin[i] >=
                                         window->in[i];
}

/* $begin: where the window of column n begins, b0, b1 .., and the sample; $under: of step k, the tap and where
 * it lies, and whether that is inside; $at: its index. */
static void
put_places (GpuWriter *w, const IrWindow *window, const char *whole)
{
  GString *place = g_string_new ("  $index r = n;\n"), *tap = g_string_new (NULL), *at;

  g_string_append (tap, "              unsigned int c = k;\n"
                        "              int inside = known && k < $k;\n");
  for (guint i = window->n_axes; i-- > 0;)
    {
      g_string_append_printf (
          place, "  %s b%u = (%s) (r %% " I64 ") * " I64 " - (" I64 ");\n  r /= " I64 ";\n", whole,
          i, whole, window->out[i], window->stride[i], window->pad_begin[i], window->out[i]);
      g_string_append_printf (tap,
                              "              %s a%u = b%u + (%s) (c %% " I64 ") * " I64 ";\n"
                              "              c /= " I64 ";\n",
                              whole, i, i, whole, window->kernel[i], window->dilation[i],
                              window->kernel[i]);
      if (leaves (window, i))
        g_string_append_printf (tap,
                                "              inside = inside && a%u >= 0 && a%u < " I64 ";\n", i,
                                i, window->in[i]);
    }
  g_string_append_printf (place, "  %s start = (%s) ((r * $groups + g) * $channels * $plane);\n",
                          whole, whole);
  at = g_string_new ("start + (");
  g_string_append_printf (at, "%s) c * $plane + ", whole);
  gpu_put_text (w, "begin", g_string_free (place, FALSE));
  gpu_put_text (w, "under", g_string_free (tap, FALSE));
  g_autofree char *within = gpu_windows_place (window, 'a', window->in);
  g_string_append (at, within);
  gpu_put_text (w, "at", g_string_free (at, FALSE));
}

/* The sizes of the tile, and what follows from them. */
static guint
put_tile (GpuWriter *w, const Tile *tile)
{
  guint group_threads = tile->bm * tile->bn / (tile->tm * tile->tn);
  guint threads = group_threads * tile->split;
  const struct
  {
    const char *word;
    guint number;
  } sizes[] = {
    { "bm", tile->bm },
    { "bn", tile->bn },
    { "bk", tile->bk },
    { "tm", tile->tm },
    { "tn", tile->tn },
    { "tx", tile->bn / tile->tn },
    { "ty", tile->bm / tile->tm },
    { "split", tile->split },
    { "group_threads", group_threads },
    { "pitch", tile->bm + 4 },
    { "size_a", 2 * tile->bk * (tile->bm + 4) },
    { "size_b", 2 * tile->bk * tile->bn },
    { "loads_a", tile->bm * tile->bk / threads },
    { "loads_b", tile->bn * tile->bk / threads },
  };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    gpu_put (w, sizes[i].word, "%uu", sizes[i].number);
  gpu_put (w, "mine", "%s", tile->split > 1 ? "portion == 0 &&" : "");
  if (tile->split > 1)
    gpu_put_part (w, "together", "conv-split");
  else
    gpu_put (w, "together", "%s", "");
  return threads;
}

gboolean
gpu_conv_tiles_fit (const GpuElement *element,
                    const IrWindow *window,
                    gint64 channels,
                    gint64 outputs)
{
  gint64 steps = channels * gpu_windows_product (window->kernel, window->n_axes);

  return g_str_equal (element->compute, "float") && outputs >= 8 && steps >= 8 &&
         steps < G_MAXINT32;
}

const char *
gpu_conv_tiles_write (GpuWriter *w,
                      const IrWindow *window,
                      gint64 batch,
                      gint64 groups,
                      gint64 channels,
                      gint64 outputs)
{
  guint64 out_plane = (guint64) gpu_windows_product (window->out, window->n_axes);
  gint64 taps = gpu_windows_product (window->kernel, window->n_axes);
  guint64 n = (guint64) batch * out_plane, blocks;
  const Tile *tile = choose ((guint64) outputs, n, (guint64) groups);
  guint threads = put_tile (w, tile);

  put_places (w, window, g_str_equal (w->index, "unsigned int") ? "int" : "k_i64");
  gpu_put_int (w, "k", channels * taps);
  gpu_put_int (w, "n", (gint64) n);
  gpu_put_int (w, "channels_out", outputs);
  gpu_put_int (w, "all_channels", groups * outputs);
  gpu_put_int (w, "out_plane", (gint64) out_plane);
  gpu_put_int (w, "tiles_m", (gint64) up ((guint64) outputs, tile->bm));
  gpu_put_int (w, "tiles_n", (gint64) up (n, tile->bn));
  if (__builtin_mul_overflow (up ((guint64) outputs, tile->bm) * up (n, tile->bn), (guint64) groups,
                              &blocks))
    return gpu_refuse (w, "it has more tiles than a launch has blocks");
  return gpu_write (w, "conv-tile", blocks, threads);
}
