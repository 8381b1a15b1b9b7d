/* Where boxes, frames and lines of fixed and seeded graphs lie, to a tenth of a pixel, and what is kept of it when the graph
 * is laid out again: places.txt (tests/table/snapshot.h). What each layout must hold is in test-layout.c. */
#include "config.h"

#include "tests/layout/graphs.h"
#include "tests/table/snapshot.h"

typedef struct
{
  const char *name;
  TestGraph *(*make) (guint32 seed);
} Kind;

static TestGraph *
make_chain (guint32 seed)
{
  return test_graph_chain (5 + 7 * seed);
}

static TestGraph *
make_layered (guint32 seed)
{
  return test_graph_layered (20 + 5 * seed, 0.05 * seed, seed);
}

static TestGraph *
make_transformer (guint32 seed)
{
  return test_graph_transformer (30 * seed);
}

static TestGraph *
make_skips (guint32 seed)
{
  return test_graph_long_skips (30, 4 * seed, seed);
}

static TestGraph *
make_groups (guint32 seed)
{
  return test_graph_random (30, 45, FALSE, seed, seed);
}

static TestGraph *
make_cyclic (guint32 seed)
{
  return test_graph_random (25, 40, TRUE, seed % 3, seed);
}

static const Kind kinds[] = {
  { "chain", make_chain }, { "layered", make_layered }, { "transformer", make_transformer },
  { "skips", make_skips }, { "groups", make_groups },   { "cyclic", make_cyclic },
};

static void
put_rect (GString *text, const char *label, guint i, IrLayoutRect r)
{
  g_string_append_printf (text, "%s %u: %.1f %.1f %.1f %.1f\n", label, i, r.x, r.y, r.width,
                          r.height);
}

static IrLayout *
say_layout (GString *text,
            const TestGraph *graph,
            IrLayoutDirection direction,
            IrLayoutKeep keep,
            const IrLayout *previous)
{
  IrLayoutInput input = test_graph_input (graph);
  g_autoptr (GError) error = NULL;

  input.direction = direction;
  input.keep = keep;
  input.previous = previous;
  IrLayout *layout = ir_layout_new (&input, NULL, &error);
  g_assert_no_error (error);
  g_string_append_printf (text, "direction %d, keep %d\n", direction, keep);
  for (guint i = 0; i < ir_layout_n_boxes (layout); i++)
    put_rect (text, "box", i, ir_layout_box (layout, i));
  for (guint i = 0; i < ir_layout_n_groups (layout); i++)
    put_rect (text, "frame", i, ir_layout_group (layout, i));
  for (guint i = 0; i < ir_layout_n_edges (layout); i++)
    {
      guint n;
      const IrLayoutPoint *points = ir_layout_edge (layout, i, &n);
      g_string_append_printf (text, "line %u:", i);
      for (guint k = 0; k < n; k++)
        g_string_append_printf (text, " %.1f,%.1f", points[k].x, points[k].y);
      g_string_append_c (text, '\n');
    }
  return layout;
}

static char *
say (gconstpointer data, guint *n_tried, guint *n_taken)
{
  const Kind *kind = data;
  GString *text = g_string_new (NULL);

  *n_tried = *n_taken = 0;
  for (guint32 seed = 1; seed <= 6; seed++)
    for (guint direction = 0; direction < 2; direction++)
      {
        g_autoptr (TestGraph) graph = kind->make (seed);
        IrLayout *first = say_layout (text, graph, direction, IR_LAYOUT_KEEP_NOTHING, NULL);

        test_graph_edge (graph, 0, 0, (gint32) graph->boxes->len - 1, 0);
        for (guint keep = IR_LAYOUT_KEEP_ORDER; keep <= IR_LAYOUT_KEEP_PLACES; keep++)
          ir_layout_unref (say_layout (text, graph, direction, keep, first));
        ir_layout_unref (first);
        *n_tried += 3;
        *n_taken += 3;
      }
  return g_string_free (text, FALSE);
}

int
main (int argc, char **argv)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    snapshot_add (kinds[i].name, say, &kinds[i]);
  return snapshot_run (argc, argv, "places.txt");
}
