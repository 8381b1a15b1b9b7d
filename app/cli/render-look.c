#include "config.h"

#include "app/cli/render.h"

#include "core/layout/scene.h"
#include "core/query/query.h"

#include <string.h>

/* What --fold may name besides scopes: all groups whose keys begin so. */
static const struct
{
  const char *name, *prefix;
} kinds_of_folds[] = {
  { "scopes", "scope:" },
  { "repeats", "repeat:" },
  { "shapes", "shape:" },
  { "branches", "node:" },
};

static void
add_folds_of_kind (GHashTable *folded, const IrScene *open, const char *prefix)
{
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (open, &n);

  for (guint i = 0; i < n; i++)
    if (boxes[i].fold != NULL && g_str_has_prefix (boxes[i].fold, prefix))
      g_hash_table_add (folded, g_strdup (boxes[i].fold));
}

void
cli_render_add_fold (GHashTable *folded, const IrScene *open, const char *text)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds_of_folds); i++)
    {
      if (strcmp (text, kinds_of_folds[i].name) == 0)
        add_folds_of_kind (folded, open, kinds_of_folds[i].prefix);
      if (strcmp (text, kinds_of_folds[i].name) == 0 ||
          g_str_has_prefix (text, kinds_of_folds[i].prefix))
        {
          g_hash_table_add (folded, g_strdup (text));
          return;
        }
    }
  g_hash_table_add (folded, g_strconcat ("scope:", text, NULL));
}

/* "NODE", "NODE/then_branch" or "NODE/branches.1". */
static char *
root_of (const IrModel *model, const char *text, GError **error)
{
  const IrNode *node = cli_find_node (model, text, NULL);
  const char *slash = strrchr (text, '/');
  g_autofree char *name = slash != NULL ? g_strndup (text, (gsize) (slash - text)) : NULL;
  g_autofree char *root = NULL;
  const IrGraph *graph;

  if (node == NULL && name != NULL)
    node = cli_find_node (model, name, NULL);
  else
    slash = NULL;
  if (node == NULL)
    {
      cli_find_node (model, text, error); /* says what there is instead */
      return NULL;
    }
  for (guint i = 0; (graph = ir_scene_node_body (node, i)) != NULL; i++)
    {
      g_free (root);
      root = ir_scene_graph_root (graph);
      if (root != NULL && (slash == NULL || g_str_has_suffix (root, slash)))
        return g_steal_pointer (&root);
    }
  g_set_error (
      error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
      "--enter %s: %s has no %s: needs a node with branches or a body, or one that calls a "
      "function of the model",
      text, node->name[0] != '\0' ? node->name : node->op_type,
      slash != NULL ? slash + 1 : "graph of its own");
  return NULL;
}

static gboolean
open_calls (IrLook *look, const IrModel *model, char *const *names, GError **error)
{
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      const IrNode *node = cli_find_node (model, names[i], error);
      g_autofree char *fold = NULL;

      if (node == NULL)
        return FALSE;
      if (node->op != NULL || ir_scene_node_body (node, 0) == NULL)
        {
          g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                       "--open %s: needs a node that calls a function of the model", names[i]);
          return FALSE;
        }
      fold = g_strdup_printf (IR_SCENE_CALL_FOLD "node:%u", node->id);
      if (!g_hash_table_contains (look->calls, fold))
        ir_look_toggle_call (look, model, fold);
    }
  return TRUE;
}

static gboolean
add_beside (IrLook *look, const IrModel *model, char *const *names, GError **error)
{
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      const IrNode *node = cli_find_node (model, names[i], error);

      if (node == NULL)
        return FALSE;
      if (ir_scene_node_body (node, 0) == NULL)
        {
          g_set_error (
              error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
              "--beside %s: needs a node with branches or a body, or one that calls a function of "
              "the model",
              names[i]);
          return FALSE;
        }
      g_hash_table_add (look->beside, g_strdup_printf ("node:%u", node->id));
    }
  return TRUE;
}

static gboolean
add_rule (IrLook *look,
          const char *option,
          const char *query,
          IrRuleEffect effect,
          guint colour,
          GError **error)
{
  g_autoptr (IrQuery) read = ir_query_new (query, error);

  if (read == NULL)
    {
      if (error != NULL && *error != NULL)
        g_prefix_error (error, "%s %s: ", option, query);
      return FALSE;
    }
  ir_look_add_rule (look, query, effect, colour);
  return TRUE;
}

static gboolean
add_rules (IrLook *look, const CliRender *options, GError **error)
{
  for (guint i = 0; options->only != NULL && options->only[i] != NULL; i++)
    if (!add_rule (look, "--only", options->only[i], IR_RULE_ONLY, 0, error))
      return FALSE;
  for (guint i = 0; options->highlight != NULL && options->highlight[i] != NULL; i++)
    if (!add_rule (look, "--highlight", options->highlight[i], IR_RULE_DIM, 0, error))
      return FALSE;
  for (guint i = 0; options->colour != NULL && options->colour[i] != NULL; i++)
    {
      g_auto (GStrv) parts = g_strsplit (options->colour[i], "=", 2);
      const guint colour = ir_rule_colour_find (parts[0]);

      if (colour == 0 || parts[1] == NULL)
        {
          g_set_error (
              error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
              "--colour %s: needs COLOUR=QUERY, such as orange=op:conv, with blue, orange, "
              "green, pink, sky, red, yellow or grey",
              options->colour[i]);
          return FALSE;
        }
      if (!add_rule (look, "--colour", parts[1], IR_RULE_COLOUR, colour, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
choose_overlay (IrLook *look, const CliRender *options, GError **error)
{
  static const char *const scales[] = { "auto", "linear", "log" };
  const char *id = options->overlay_file != NULL ? "file" : options->overlay;
  g_autofree char *ids = ir_overlay_ids ();

  if (id != NULL &&
      (ir_overlay_find (id) == NULL || (strcmp (id, "file") == 0 && options->overlay_file == NULL)))
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--overlay %s: needs %s; numbers of a file with --overlay-file", id, ids);
      return FALSE;
    }
  look->overlay = g_strdup (id);
  for (guint i = 0; options->overlay_scale != NULL && i < G_N_ELEMENTS (scales); i++)
    if (strcmp (options->overlay_scale, scales[i]) == 0)
      {
        look->scale = (IrScaleKind) i;
        return TRUE;
      }
  if (options->overlay_scale == NULL)
    return TRUE;
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "--overlay-scale %s: needs auto, linear or log", options->overlay_scale);
  return FALSE;
}

IrLook *
cli_render_look (const CliRender *options, const IrModel *model, GError **error)
{
  g_autoptr (IrLook) look = ir_look_new ();

  look->show = IR_SHOW_SHAPES | IR_SHOW_NAMES | (options->constants ? IR_SHOW_CONSTANTS : 0) |
               (options->flat ? 0 : IR_SHOW_SCOPES) |
               (options->left_to_right ? IR_SHOW_SIDEWAYS : 0) |
               (options->wrap ? IR_SHOW_COLUMNS : 0);
  if (options->enter != NULL && (look->root = root_of (model, options->enter, error)) == NULL)
    return NULL;
  if (!open_calls (look, model, options->open, error) ||
      !add_beside (look, model, options->beside, error) || !add_rules (look, options, error) ||
      !choose_overlay (look, options, error))
    return NULL;
  return g_steal_pointer (&look);
}
