#include "config.h"

#include "tests/layout/graphs.h"

TestGraph *
test_graph_new (void)
{
  TestGraph *graph = g_new0 (TestGraph, 1);

  graph->boxes = g_array_new (FALSE, TRUE, sizeof (IrLayoutBox));
  graph->edges = g_array_new (FALSE, TRUE, sizeof (IrLayoutEdge));
  graph->groups = g_array_new (FALSE, TRUE, sizeof (IrLayoutGroup));
  return graph;
}

void
test_graph_free (TestGraph *graph)
{
  g_array_unref (graph->boxes);
  g_array_unref (graph->edges);
  g_array_unref (graph->groups);
  g_free (graph);
}

gint32
test_graph_box (TestGraph *graph, guint64 key, double width, double height, guint n_in, guint n_out)
{
  IrLayoutBox box = {
    .key = key, .width = width, .height = height, .group = -1, .n_in = n_in, .n_out = n_out
  };

  g_array_append_val (graph->boxes, box);
  return (gint32) graph->boxes->len - 1;
}

void
test_graph_edge (TestGraph *graph, gint32 from, gint32 from_port, gint32 to, gint32 to_port)
{
  IrLayoutEdge edge = { from, from_port, to, to_port };

  g_array_append_val (graph->edges, edge);
}

gint32
test_graph_group (TestGraph *graph, guint64 key, gint32 parent)
{
  IrLayoutGroup group = { .key = key,
                          .parent = parent,
                          .pad_left = 16,
                          .pad_top = 32,
                          .pad_right = 16,
                          .pad_bottom = 16,
                          .min_width = 96,
                          .n_in = 1,
                          .n_out = 1 };

  g_array_append_val (graph->groups, group);
  return (gint32) graph->groups->len - 1;
}

IrLayoutInput
test_graph_input (const TestGraph *graph)
{
  return (IrLayoutInput){ .boxes = (const IrLayoutBox *) (void *) graph->boxes->data,
                          .n_boxes = graph->boxes->len,
                          .edges = (const IrLayoutEdge *) (void *) graph->edges->data,
                          .n_edges = graph->edges->len,
                          .groups = (const IrLayoutGroup *) (void *) graph->groups->data,
                          .n_groups = graph->groups->len };
}

/* n boxes, one below the other. */
TestGraph *
test_graph_chain (guint n)
{
  TestGraph *graph = test_graph_new ();

  for (guint i = 0; i < n; i++)
    {
      test_graph_box (graph, i + 1, 96 + 8 * (i % 4), 40, 1, 1);
      if (i > 0)
        test_graph_edge (graph, (gint32) i - 1, 0, (gint32) i, 0);
    }
  return graph;
}

/* Rows of sqrt (n) boxes; each box is fed by boxes of the row above that are
 * near, and now and then by one some rows higher. @density edges per box. */
TestGraph *
test_graph_layered (guint n, double density, guint32 seed)
{
  TestGraph *graph = test_graph_new ();
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  gint32 row = 1;

  while ((guint) row * (guint) row < n)
    row++;
  for (gint32 i = 0; i < (gint32) n; i++)
    {
      test_graph_box (graph, (guint64) i + 1, 64 + 8 * g_rand_int_range (rand, 0, 10),
                      24 + 8 * g_rand_int_range (rand, 0, 4), 3, 2);
      for (double d = density; i >= row && (d >= 1 || g_rand_double (rand) < d); d -= 1)
        {
          gint32 up = g_rand_int_range (rand, 0, 10) == 0 ? g_rand_int_range (rand, 1, 8) : 1;
          gint32 from = i - up * row + g_rand_int_range (rand, -2, 3);
          if (from >= 0 && from < i - i % row)
            test_graph_edge (graph, from, g_rand_int_range (rand, 0, 2), i,
                             g_rand_int_range (rand, 0, 3));
        }
    }
  return graph;
}

/* A stack of attention and feed-forward blocks with residual edges, weights as
 * boxes and one mask that every block reads. */
TestGraph *
test_graph_transformer (guint n)
{
  static const double wide[] = { 56, 84 }, narrow[] = { 40, 64 };
  TestGraph *graph = test_graph_new ();
  guint64 key = 1;
  gint32 mask = test_graph_box (graph, key++, 96, 32, 0, 1);
  gint32 x = test_graph_box (graph, key++, 96, 32, 0, 1);

  while (graph->boxes->len + 20 < n)
    {
      gint32 branch[3], norm = test_graph_box (graph, key++, 112, 40, 1, 1);
      test_graph_edge (graph, x, 0, norm, 0);
      for (int k = 0; k < 3; k++)
        {
          gint32 w = test_graph_box (graph, key++, 80, 24, 0, 1);
          branch[k] = test_graph_box (graph, key++, 112, 40, 2, 1);
          test_graph_edge (graph, norm, 0, branch[k], 0);
          test_graph_edge (graph, w, 0, branch[k], 1);
        }
      gint32 scores = test_graph_box (graph, key++, 112, 40, 2, 1);
      gint32 masked = test_graph_box (graph, key++, 80, 40, 2, 1);
      gint32 softmax = test_graph_box (graph, key++, 112, 40, 1, 1);
      gint32 mixed = test_graph_box (graph, key++, 112, 40, 2, 1);
      gint32 add = test_graph_box (graph, key++, 80, 40, 2, 1);
      test_graph_edge (graph, branch[0], 0, scores, 0);
      test_graph_edge (graph, branch[1], 0, scores, 1);
      test_graph_edge (graph, scores, 0, masked, 0);
      test_graph_edge (graph, mask, 0, masked, 1);
      test_graph_edge (graph, masked, 0, softmax, 0);
      test_graph_edge (graph, softmax, 0, mixed, 0);
      test_graph_edge (graph, branch[2], 0, mixed, 1);
      test_graph_edge (graph, mixed, 0, add, 0);
      test_graph_edge (graph, x, 0, add, 1);
      gint32 up = test_graph_box (graph, key++, 112, 40, 1, 1);
      gint32 gelu = test_graph_box (graph, key++, 96, 40, 1, 1);
      gint32 down = test_graph_box (graph, key++, 112, 40, 1, 1);
      x = test_graph_box (graph, key++, 80, 40, 2, 1);
      test_graph_edge (graph, add, 0, up, 0);
      test_graph_edge (graph, up, 0, gelu, 0);
      test_graph_edge (graph, gelu, 0, down, 0);
      test_graph_edge (graph, down, 0, x, 0);
      test_graph_edge (graph, add, 0, x, 1);
    }
  for (guint i = 0; i < graph->boxes->len; i++)
    {
      IrLayoutBox *box = &g_array_index (graph->boxes, IrLayoutBox, i);
      if (box->n_in == 2)
        box->in_x = box->width > 100 ? wide : narrow;
    }
  return graph;
}

/* A chain with @n_skips edges of any length. */
TestGraph *
test_graph_long_skips (guint n, guint n_skips, guint32 seed)
{
  TestGraph *graph = test_graph_chain (n);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);

  for (guint i = 0; i < n; i++)
    g_array_index (graph->boxes, IrLayoutBox, i).n_in = 2;
  for (guint i = 0; i < n_skips; i++)
    {
      gint32 a = g_rand_int_range (rand, 0, (gint32) n), b = g_rand_int_range (rand, 0, (gint32) n);
      if (a != b)
        test_graph_edge (graph, MIN (a, b), 0, MAX (a, b), 1);
    }
  return graph;
}

/* Anything: @m edges between @n boxes, in @n_groups nested groups. */
TestGraph *
test_graph_random (guint n, guint m, gboolean cyclic, guint n_groups, guint32 seed)
{
  TestGraph *graph = test_graph_new ();
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);

  for (guint g = 0; g < n_groups; g++)
    test_graph_group (graph, 1000000 + g, g_rand_int_range (rand, -1, (gint32) g));
  for (guint i = 0; i < n; i++)
    {
      gint32 b = test_graph_box (
          graph, i + 1, g_rand_double_range (rand, 1, 200), g_rand_double_range (rand, 1, 120),
          (guint) g_rand_int_range (rand, 1, 5), (guint) g_rand_int_range (rand, 1, 4));
      if (n_groups > 0)
        g_array_index (graph->boxes, IrLayoutBox, b).group = g_rand_int_range (rand, -1,
                                                                               (gint32) n_groups);
    }
  for (guint i = 0; n > 0 && i < m; i++)
    {
      gint32 a = g_rand_int_range (rand, 0, (gint32) n), b = g_rand_int_range (rand, 0, (gint32) n);
      if (!cyclic && a == b)
        continue;
      if (!cyclic && a > b)
        {
          gint32 t = a;
          a = b;
          b = t;
        }
      test_graph_edge (
          graph, a,
          g_rand_int_range (rand, 0, (gint32) g_array_index (graph->boxes, IrLayoutBox, a).n_out),
          b,
          g_rand_int_range (rand, 0, (gint32) g_array_index (graph->boxes, IrLayoutBox, b).n_in));
    }
  return graph;
}
