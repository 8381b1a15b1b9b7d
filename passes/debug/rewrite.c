#include "config.h"

#include "passes/debug/rewrite.h"

#include "core/io/io.h"

#define MAX_DRAWN 24 /* nodes of a side */
#define MAX_NAMED 4  /* nodes in a sentence */

/* -- what the step touched -- */

static gboolean
is_of_node (const IrRecord *record)
{
  return record->kind <= IR_RECORD_NODE_GRAPH;
}

/* It reads something else: the node itself is what it was. */
static gboolean
is_link (const IrRecord *record)
{
  return record->kind == IR_RECORD_NODE_INPUT || record->kind == IR_RECORD_NODE_RANK ||
         record->kind == IR_RECORD_NODE_CONTROLS;
}

static int
compare_nodes (gconstpointer a, gconstpointer b)
{
  const IrNode *x = *(const IrNode *const *) a, *y = *(const IrNode *const *) b;

  return x->id < y->id ? -1 : x->id > y->id;
}

/* Constants are rows of the nodes that take them, unless nothing else was touched. */
static void
drop_constants (GPtrArray *nodes)
{
  guint n = 0;

  for (guint i = 0; i < nodes->len; i++)
    n += !ir_node_is_constant (nodes->pdata[i]);
  for (guint i = nodes->len; n > 0 && i > 0; i--)
    if (ir_node_is_constant (nodes->pdata[i - 1]))
      g_ptr_array_remove_index (nodes, i - 1);
}

/* @touched: node id -> whether more than its links changed */
static void
collect_nodes (IrRewrite *self, GHashTable *touched, gboolean links)
{
  GHashTableIter iter;
  gpointer id, more;

  g_hash_table_iter_init (&iter, touched);
  while (g_hash_table_iter_next (&iter, &id, &more))
    for (guint side = 0; side < IR_N_REWRITE_SIDES; side++)
      {
        const IrNode *node = ir_model_live_node (self->models[side], GPOINTER_TO_UINT (id));

        if (node != NULL && (links || GPOINTER_TO_INT (more)))
          g_ptr_array_add (self->nodes[side], (gpointer) node);
      }
  for (guint side = 0; side < IR_N_REWRITE_SIDES; side++)
    {
      g_ptr_array_sort (self->nodes[side], compare_nodes);
      drop_constants (self->nodes[side]);
    }
}

/* What stands for the results of nodes that nothing came for. */
static void
collect_values (IrRewrite *self, const GArray *pairs)
{
  for (guint i = 0; pairs != NULL && i < pairs->len; i++)
    {
      const IrValueId id = g_array_index (pairs, IrIdPair, i).after;
      const IrValue *value = id != 0 ? ir_model_live_value (self->models[IR_REWRITE_AFTER], id)
                                     : NULL;

      if (value != NULL && !g_ptr_array_find (self->values, value, NULL))
        g_ptr_array_add (self->values, (gpointer) value);
    }
}

/**
 * ir_rewrite_new:
 * @history: a model with a history
 * @step: 1 .. n_steps
 * @before: (transfer none): @history at the step before
 * @after: (transfer none): @history at @step
 *
 * Returns: (transfer full): what the step did to which nodes
 */
IrRewrite *
ir_rewrite_new (const IrModel *history, guint step, IrModel *before, IrModel *after)
{
  IrRewrite *self = g_new0 (IrRewrite, 1);
  g_autoptr (GHashTable) touched = g_hash_table_new (NULL, NULL);
  const IrStep *done = ir_history_step (history, step);

  self->step = step;
  self->models[IR_REWRITE_BEFORE] = ir_model_ref (before);
  self->models[IR_REWRITE_AFTER] = ir_model_ref (after);
  for (guint side = 0; side < IR_N_REWRITE_SIDES; side++)
    self->nodes[side] = g_ptr_array_new ();
  self->values = g_ptr_array_new ();
  for (guint i = 0; i < done->n_records; i++)
    {
      const IrRecord *record = ir_history_record (history, done->first_record + i);
      const gpointer id = GUINT_TO_POINTER (record->subject);

      if (is_of_node (record))
        g_hash_table_insert (touched, id,
                             GINT_TO_POINTER (GPOINTER_TO_INT (g_hash_table_lookup (touched, id)) ||
                                              !is_link (record)));
    }
  collect_nodes (self, touched, FALSE);
  if (self->nodes[IR_REWRITE_BEFORE]->len + self->nodes[IR_REWRITE_AFTER]->len == 0)
    collect_nodes (self, touched, TRUE);
  if (self->nodes[IR_REWRITE_AFTER]->len == 0)
    collect_values (self, done->values);
  return self;
}

/**
 * ir_rewrite_free:
 * @rewrite: (transfer full): a rewrite
 */
void
ir_rewrite_free (IrRewrite *rewrite)
{
  for (guint side = 0; side < IR_N_REWRITE_SIDES; side++)
    {
      g_ptr_array_unref (rewrite->nodes[side]);
      ir_model_unref (rewrite->models[side]);
    }
  g_ptr_array_unref (rewrite->values);
  g_free (rewrite);
}

/**
 * ir_rewrite_is_large:
 * @rewrite: a rewrite
 *
 * Returns: whether it has more nodes than can be drawn beside each other
 */
gboolean
ir_rewrite_is_large (const IrRewrite *rewrite)
{
  return MAX (rewrite->nodes[IR_REWRITE_BEFORE]->len, rewrite->nodes[IR_REWRITE_AFTER]->len) >
         MAX_DRAWN;
}

/* -- in words -- */

/* "a", "a and b", "a, b, c and 7 more" */
static char *
list_names (const GPtrArray *things, char *(*name_of) (gconstpointer thing))
{
  const guint n = things->len, named = n > MAX_NAMED ? MAX_NAMED - 1 : n;
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < named; i++)
    {
      g_autofree char *name = name_of (things->pdata[i]);

      g_string_append_printf (text, "%s%s", i == 0 ? "" : i + 1 == n ? " and " : ", ", name);
    }
  if (named < n)
    g_string_append_printf (text, " and %u more", n - named);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static char *
name_of_node (gconstpointer node)
{
  return ir_node_label (node);
}

static char *
name_of_value (gconstpointer value)
{
  return g_strdup (((const IrValue *) value)->name);
}

/* Constants that a step makes are told of by the nodes that they come from. */
static gboolean
all_constant (const GPtrArray *values)
{
  for (guint i = 0; i < values->len; i++)
    if (ir_value_constant (values->pdata[i]) == NULL)
      return FALSE;
  return TRUE;
}

static gboolean
same_nodes (const GPtrArray *a, const GPtrArray *b)
{
  if (a->len != b->len)
    return FALSE;
  for (guint i = 0; i < a->len; i++)
    if (((const IrNode *) a->pdata[i])->id != ((const IrNode *) b->pdata[i])->id)
      return FALSE;
  return TRUE;
}

typedef IrValue *(*Port) (const IrGraph *graph, guint i);

static const IrValue *
find_port (const IrGraph *graph, Port port, guint n, IrValueId id)
{
  for (guint i = 0; i < n; i++)
    if (port (graph, i)->id == id)
      return port (graph, i);
  return NULL;
}

/* The ports of @graph that @other has not (@shared: has with another name or type). */
static GPtrArray *
list_ports (
    const IrGraph *graph, guint n, const IrGraph *other, guint n_other, Port port, gboolean shared)
{
  GPtrArray *found = g_ptr_array_new ();

  for (guint i = 0; i < n; i++)
    {
      const IrValue *value = port (graph, i), *same = find_port (other, port, n_other, value->id);

      if (shared ? same != NULL &&
                       (same->type != value->type || !g_str_equal (same->name, value->name))
                 : same == NULL)
        g_ptr_array_add (found, (gpointer) value);
    }
  return found;
}

static void
tell_ports (GString *text, const char *kind, const GPtrArray *values, const char *became)
{
  g_autofree char *names = list_names (values, name_of_value);

  if (values->len > 0)
    g_string_append_printf (text, "%sThe %s%s %s %s %s.", text->len > 0 ? " " : "", kind,
                            values->len == 1 ? "" : "s", names, values->len == 1 ? "was" : "were",
                            became);
}

/* Of a step that touched no node: what the model takes and gives may have changed. */
static char *
interface_sentence (const IrRewrite *rewrite)
{
  const IrGraph *old = rewrite->models[IR_REWRITE_BEFORE]->main,
                *new = rewrite->models[IR_REWRITE_AFTER]->main;
  const struct
  {
    const char *kind;
    Port port;
    guint n_old, n_new;
  } rows[] = {
    { "input", ir_graph_input, ir_graph_n_inputs (old), ir_graph_n_inputs (new) },
    { "output", ir_graph_output, ir_graph_n_outputs (old), ir_graph_n_outputs (new) },
  };
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const guint n_old = rows[i].n_old, n_new = rows[i].n_new;
      const Port port = rows[i].port;
      g_autoptr (GPtrArray) went = list_ports (old, n_old, new, n_new, port, FALSE),
                            came = list_ports (new, n_new, old, n_old, port, FALSE),
                            changed = list_ports (new, n_new, old, n_old, port, TRUE);

      tell_ports (text, rows[i].kind, went, "removed");
      tell_ports (text, rows[i].kind, came, "added");
      tell_ports (text, rows[i].kind, changed, "changed");
    }
  if (text->len == 0)
    g_string_append (text, "No node was touched.");
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* Those of @after that @before has not; %NULL: not all of @before are in @after. */
static GPtrArray *
nodes_besides (const GPtrArray *before, const GPtrArray *after)
{
  GPtrArray *besides = g_ptr_array_new ();
  guint k = 0; /* both ascend */

  for (guint i = 0; i < after->len; i++)
    if (k < before->len &&
        ((const IrNode *) before->pdata[k])->id == ((const IrNode *) after->pdata[i])->id)
      k++;
    else
      g_ptr_array_add (besides, after->pdata[i]);
  if (k < before->len)
    g_clear_pointer (&besides, g_ptr_array_unref);
  return besides;
}

/* Nodes that stay, with others that join them: those of a wrapped function go into its body. */
static char *
joined_sentence (const IrRewrite *rewrite, const GPtrArray *joined)
{
  const GPtrArray *stay = rewrite->nodes[IR_REWRITE_BEFORE];
  const IrNode *first = stay->pdata[0],
               *now = ir_model_live_node (rewrite->models[IR_REWRITE_AFTER], first->id);
  g_autofree char *old = list_names (stay, name_of_node), *new = list_names (joined, name_of_node);
  const char *were = stay->len == 1 ? "was" : "were";

  if (now->graph->kind == IR_GRAPH_FUNCTION && now->graph->id != first->graph->id)
    return g_strdup_printf ("%s %s moved into the function %s, which %s calls.", old, were,
                            now->graph->name, new);
  return g_strdup_printf ("%s %s changed, and %s %s added.", old, were, new,
                          joined->len == 1 ? "was" : "were");
}

/**
 * ir_rewrite_sentence:
 * @rewrite: a rewrite
 *
 * Returns: (transfer full): what became of which nodes
 */
char *
ir_rewrite_sentence (const IrRewrite *rewrite)
{
  const GPtrArray *before = rewrite->nodes[IR_REWRITE_BEFORE],
                  *after = rewrite->nodes[IR_REWRITE_AFTER], *values = rewrite->values;
  g_autofree char *old = list_names (before, name_of_node), *new = list_names (after, name_of_node),
                  *stand_in = list_names (values, name_of_value);

  if (before->len == 0 && after->len == 0)
    return interface_sentence (rewrite);
  if (before->len == 0)
    return g_strdup_printf ("%s %s added.", new, after->len == 1 ? "was" : "were");
  if (same_nodes (before, after))
    return g_strdup_printf ("%s %s changed.", old, before->len == 1 ? "was" : "were");
  if (after->len > 0)
    {
      g_autoptr (GPtrArray) joined = nodes_besides (before, after);

      return joined != NULL ? joined_sentence (rewrite, joined)
                            : g_strdup_printf ("%s became %s.", old, new);
    }
  if (values->len == 0)
    return g_strdup_printf ("%s %s removed.", old, before->len == 1 ? "was" : "were");
  if (all_constant (values))
    return g_strdup_printf ("%s became the constant%s %s.", old, values->len == 1 ? "" : "s",
                            stand_in);
  return g_strdup_printf ("%s %s removed; %s %s %s place.", old, before->len == 1 ? "was" : "were",
                          stand_in, values->len == 1 ? "takes" : "take",
                          before->len == 1 ? "its" : "their");
}

/**
 * ir_rewrite_text:
 * @rewrite: a rewrite
 * @side: before or after
 *
 * Returns: (transfer full) (element-type utf8): its nodes in ONNX's textual syntax, one a line
 */
GPtrArray *
ir_rewrite_text (const IrRewrite *rewrite, IrRewriteSide side)
{
  GPtrArray *lines = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < rewrite->nodes[side]->len; i++)
    g_ptr_array_add (lines, ir_text_write_node (rewrite->nodes[side]->pdata[i]));
  return lines;
}

/* -- as a picture -- */

static IrScene *
side_scene (const IrRewrite *self,
            IrRewriteSide side,
            gboolean bare,
            const IrSceneOptions *options,
            GCancellable *cancellable,
            GError **error)
{
  g_autoptr (GHashTable) states = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) none = g_ptr_array_new ();
  const IrScenePart part = { .nodes = self->nodes[side],
                             .values = side == IR_REWRITE_AFTER ? self->values : none,
                             .states = states,
                             .earlier = side == IR_REWRITE_BEFORE,
                             .bare = bare };

  for (guint i = 0; i < self->nodes[side]->len; i++)
    {
      const IrNode *node = self->nodes[side]->pdata[i];
      const gboolean stays = ir_model_live_node (self->models[!side], node->id) != NULL;

      g_hash_table_insert (states, GUINT_TO_POINTER (node->id),
                           GINT_TO_POINTER (stays                       ? IR_SCENE_CHANGED
                                            : side == IR_REWRITE_BEFORE ? IR_SCENE_REMOVED
                                                                        : IR_SCENE_NEW));
    }
  return ir_scene_new_for_part (&part, options, cancellable, error);
}

/**
 * ir_rewrite_scene:
 * @rewrite: a rewrite
 * @join: %IR_SCENE_JOIN_RIGHT or %IR_SCENE_JOIN_DOWN
 * @bare: without the values that the nodes take and give
 * @options: how texts are measured, and what is shown
 * @cancellable: (nullable): checked by the layout
 * @error: return location for an error
 *
 * The nodes before, an arrow, what came of them.
 *
 * Returns: (transfer full) (nullable): %NULL without @error where there is nothing to draw, or too
 *   much
 */
IrScene *
ir_rewrite_scene (const IrRewrite *rewrite,
                  IrSceneJoin join,
                  gboolean bare,
                  const IrSceneOptions *options,
                  GCancellable *cancellable,
                  GError **error)
{
  const gboolean left = rewrite->nodes[IR_REWRITE_BEFORE]->len > 0,
                 right = rewrite->nodes[IR_REWRITE_AFTER]->len + rewrite->values->len > 0;
  g_autoptr (IrScene) before = NULL, after = NULL;

  if (ir_rewrite_is_large (rewrite) || !(left || right))
    return NULL;
  if (left)
    before = side_scene (rewrite, IR_REWRITE_BEFORE, bare, options, cancellable, error);
  if (right && (before != NULL || !left))
    after = side_scene (rewrite, IR_REWRITE_AFTER, bare, options, cancellable, error);
  if (left && right)
    return before != NULL && after != NULL ? ir_scene_new_joined (before, after, join) : NULL;
  return left ? g_steal_pointer (&before) : g_steal_pointer (&after);
}
