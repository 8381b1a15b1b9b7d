/* Pictures of random graphs of every family, and of what differs from one to the next: their scenes as text, as SVG and for
 * Graphviz; with groups closed, constants shown, in columns, from left to right, one body by itself, behind another picture
 * whose places are kept, one side alone and both beside each other. Kept in pictures.txt (tests/table/snapshot.h). What each
 * picture must hold is in tests/layout. */
#include "config.h"

#include "core/layout/scene.h"
#include "core/render/render.h"
#include "tests/fuzz/graph-gen.h"
#include "tests/table/snapshot.h"

#define N_GRAPHS 10 /* of each family */

static const IrSceneOptions ways[] = {
  { 0 },
  { .direction = IR_LAYOUT_LEFT_TO_RIGHT, .show_constants = TRUE, .hide_names = TRUE },
  { .flat = TRUE, .hide_shapes = TRUE },
  { .wrapped = TRUE },
};

static void
say_scene (GString *text, const IrScene *scene, const char *what)
{
  g_autofree char *said = ir_scene_to_text (scene);
  IrRenderOptions options = { 0 };
  g_autoptr (GBytes) svg = ir_render_svg (scene, &options, NULL),
                     dot = ir_render_dot (scene, &options, NULL);
  IrLayoutRect bounds = ir_scene_bounds (scene);
  IrSceneHit hit = ir_scene_pick (scene, bounds.x + bounds.width / 2, bounds.y + bounds.height / 2,
                                  8);

  g_string_append_printf (text, "-- %s: %d %d\n%s\n", what, hit.box, hit.line, said);
  g_string_append_len (text, g_bytes_get_data (svg, NULL), (gssize) g_bytes_get_size (svg));
  g_string_append_len (text, g_bytes_get_data (dot, NULL), (gssize) g_bytes_get_size (dot));
}

/* (transfer full) Every second key of what a picture can close, beginning with @first */
static GHashTable *
some_folds (const IrScene *scene, guint first)
{
  GHashTable *folds = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  guint n, n_folds = 0;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  for (guint i = 0; i < n; i++)
    if (boxes[i].fold != NULL && n_folds++ % 2 == first)
      g_hash_table_add (folds, g_strdup (boxes[i].fold));
  return folds;
}

static void
say_bodies (GString *text, IrModel *model)
{
  for (guint id = 1; id < model->graphs->len; id++)
    {
      const IrGraph *graph = model->graphs->pdata[id];
      if (graph->state != IR_STATE_LIVE || graph->kind != IR_GRAPH_SUBGRAPH)
        continue;
      g_autofree char *root = ir_scene_graph_root (graph);
      IrSceneOptions options = { .root = root };
      g_autoptr (IrScene) scene = ir_scene_new_for_model (model, &options, NULL, NULL);
      if (scene != NULL)
        say_scene (text, scene, root);
    }
}

static void
say_model (GString *text, IrModel *model)
{
  g_autoptr (IrScene) open = ir_scene_new_for_model (model, &ways[0], NULL, NULL);

  say_scene (text, open, "open");
  for (guint i = 1; i < G_N_ELEMENTS (ways); i++)
    {
      g_autoptr (IrScene) scene = ir_scene_new_for_model (model, &ways[i], NULL, NULL);
      say_scene (text, scene, "another way");
    }
  for (guint first = 0; first < 2; first++)
    {
      g_autoptr (GHashTable) folds = some_folds (open, first);
      IrSceneOptions options = { .folded = folds,
                                 .previous = open,
                                 .keep = first == 0 ? IR_LAYOUT_KEEP_ORDER
                                                    : IR_LAYOUT_KEEP_PLACES };
      g_autoptr (IrScene) closed = ir_scene_new_for_model (model, &options, NULL, NULL);
      say_scene (text, closed, "closed");
    }
  say_bodies (text, model);
}

static void
say_difference (GString *text, IrModel *a, IrModel *b)
{
  g_autoptr (IrDiff) diff = ir_diff_new (a, b, FALSE);

  for (guint i = 0; i < G_N_ELEMENTS (ways); i++)
    {
      g_autoptr (IrScene) scene = ir_scene_new_for_diff (diff, &ways[i], NULL, NULL);
      say_scene (text, scene, "difference");
      if (i > 0)
        continue;
      g_autoptr (GHashTable) folds = some_folds (scene, 1);
      IrSceneOptions options = { .folded = folds };
      g_autoptr (IrScene) closed = ir_scene_new_for_diff (diff, &options, NULL, NULL);
      g_autoptr (IrScene) before = ir_scene_new_for_side (scene, IR_SCENE_BEFORE),
                          after = ir_scene_new_for_side (scene, IR_SCENE_AFTER);
      g_autoptr (IrScene) beside = ir_scene_new_joined (before, after, IR_SCENE_JOIN_SIDES);
      g_autoptr (IrScene) below = ir_scene_new_joined (before, after, IR_SCENE_JOIN_DOWN);
      say_scene (text, closed, "closed");
      say_scene (text, beside, "beside");
      say_scene (text, below, "below");
    }
}

static char *
say (gconstpointer data, guint *n_tried, guint *n_taken)
{
  GString *text = g_string_new (NULL);

  *n_tried = *n_taken = N_GRAPHS;
  for (guint32 seed = 1; seed <= N_GRAPHS; seed++)
    {
      g_auto (Graph) graph = { 0 }, next = { 0 };
      graph_init (&graph, seed, data);
      graph_init (&next, seed + 1, data);
      say_model (text, graph.model);
      say_difference (text, graph.model, next.model);
    }
  return g_string_free (text, FALSE);
}

int
main (int argc, char **argv)
{
  guint n;
  const GraphFamily *families = graph_families (&n);

  for (guint i = 0; i < n; i++)
    snapshot_add (families[i].name, say, &families[i]);
  return snapshot_run (argc, argv, "pictures.txt");
}
