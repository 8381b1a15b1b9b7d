#include "config.h"

/* Times of the layout: median, least and most of some runs, in ms of wall time.
 *
 *   bench-layout [RUNS] */

#include "tests/layout/graphs.h"

#include <stdlib.h>

static int
compare_doubles (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

static gboolean
bench (const char *name, TestGraph *graph, guint n_runs)
{
  IrLayoutInput input = test_graph_input (graph);
  g_autofree double *ms = g_new (double, n_runs);
  g_autoptr (IrLayout) layout = NULL;

  for (guint i = 0; i < n_runs; i++)
    {
      g_autoptr (GError) error = NULL;
      g_clear_pointer (&layout, ir_layout_unref);
      layout = ir_layout_new (&input, NULL, &error);
      if (layout == NULL)
        {
          g_printerr ("%s: %s\n", name, error->message);
          return FALSE;
        }
      ms[i] = (double) ir_layout_stats (layout)->time_us / 1000;
    }
  qsort (ms, n_runs, sizeof (double), compare_doubles);
  const IrLayoutStats *stats = ir_layout_stats (layout);
  IrLayoutRect r = ir_layout_bounds (layout);
  g_print ("%-22s %7u boxes %7u edges  %8.1f ms (%.1f .. %.1f, %u runs)  %6u layers %7u trunk "
           "%6u lanes %9" G_GUINT64_FORMAT " crossings  %.0f x %.0f px\n",
           name, input.n_boxes, input.n_edges, ms[n_runs / 2], ms[0], ms[n_runs - 1], n_runs,
           stats->n_layers, stats->n_trunk, stats->n_lanes, stats->crossings, r.width, r.height);
  test_graph_free (graph);
  return TRUE;
}

int
main (int argc, char **argv)
{
  static const guint sizes[] = { 1000, 10000, 50000 };
  guint n_runs = argc > 1 ? (guint) CLAMP (atoi (argv[1]), 1, 1000) : 5;
  gboolean ok = TRUE;

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      guint n = sizes[i];
      ok &= bench ("layered, 1.4 n edges", test_graph_layered (n, 1.4, 1), n_runs);
      ok &= bench ("transformer", test_graph_transformer (n), n_runs);
      ok &= bench ("chain", test_graph_chain (n), n_runs);
      ok &= bench ("chain and long skips", test_graph_long_skips (n, n * 2 / 5, 1), n_runs);
      ok &= bench ("no edges", test_graph_random (n, 0, FALSE, 0, 1), n_runs);
    }
  return ok ? 0 : 1;
}
