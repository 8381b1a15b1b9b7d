/* Lineage in the metadata of a model. From IR version 10 on each node has metadata of its own:
 *
 *     irscope.from     ["conv1", "bn1"]               original nodes
 *     irscope.values   ["bn1_out"]                    per output, "" = none
 *     irscope.rules    ["fold-conv-bn/fold-conv-bn"]  pass/rule
 *
 * and the model has irscope.lineage = "nodes". Before that only models have metadata: there it is
 * an object, first output of a node -> {"from", "values", "rules"}. Initializers that stand for
 * computed values are in the model's irscope.constants, name -> original value. Original nodes that
 * no node stands for are in irscope.gone, name -> {"into": names of values, "rule": "pass/rule"}. A
 * node of which nothing is said stands for itself.
 *
 * One walk over the steps carries sets of imported nodes along: linear in the pairs of the log and
 * the sizes of the sets. What the opened file said already is followed too, so that names stay
 * those of the first original. */
#include "config.h"

#include "core/ir/folded.h"
#include "core/ir/log-private.h"
#include "core/ir/origin.h"

#include <cjson/cJSON.h>
#include <string.h>

#define META_LINEAGE        "irscope.lineage"
#define META_CONSTANTS      "irscope.constants"
#define META_GONE           "irscope.gone"
#define META_FROM           "irscope.from"
#define META_VALUES         "irscope.values"
#define META_RULES          "irscope.rules"
#define NODES_SAY           "nodes"
#define FIRST_NODE_METADATA 10 /* IR version */

struct _IrOrigins
{
  GHashTable *by_node;   /* node id -> IrOrigin */
  GHashTable *constants; /* name -> name of the original value */
  GHashTable *gone;      /* original node -> IrGone */
  GHashTable *n_named;   /* node name -> how many nodes have it */
};

static void
gone_free (IrGone *gone)
{
  g_ptr_array_unref (gone->into);
  g_free (gone->rule);
  g_free (gone);
}

static IrGone *
gone_new (const char *rule)
{
  IrGone *gone = g_new (IrGone, 1);

  gone->into = g_ptr_array_new_with_free_func (g_free);
  gone->rule = g_strdup (rule != NULL ? rule : "");
  return gone;
}

static void
origin_free (IrOrigin *origin)
{
  g_ptr_array_unref (origin->nodes);
  g_ptr_array_unref (origin->values);
  g_ptr_array_unref (origin->rules);
  g_free (origin);
}

static IrOrigin *
origin_new (void)
{
  IrOrigin *origin = g_new (IrOrigin, 1);

  origin->nodes = g_ptr_array_new_with_free_func (g_free);
  origin->values = g_ptr_array_new_with_free_func (g_free);
  origin->rules = g_ptr_array_new_with_free_func (g_free);
  return origin;
}

static void
add_text (GPtrArray *array, const char *text)
{
  for (guint i = 0; i < array->len; i++)
    if (strcmp (array->pdata[i], text) == 0)
      return;
  g_ptr_array_add (array, g_strdup (text));
}

/* -- names -- */

static const char *
first_output (const IrNode *node)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      return node->outputs[i]->name;
  return "";
}

static GHashTable *
count_names (const IrModel *model)
{
  GHashTable *names = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      guint n = node != NULL ? GPOINTER_TO_UINT (g_hash_table_lookup (names, node->name)) : 0;

      if (node != NULL && node->name[0] != '\0')
        g_hash_table_insert (names, (gpointer) node->name, GUINT_TO_POINTER (n + 1));
    }
  return names;
}

static const char *
name_of (GHashTable *n_named, const IrNode *node)
{
  if (GPOINTER_TO_UINT (g_hash_table_lookup (n_named, node->name)) == 1)
    return node->name;
  return first_output (node);
}

/* -- reading -- */

static void
add_texts (GPtrArray *array, const cJSON *json)
{
  const cJSON *item;

  cJSON_ArrayForEach (item, json) if (cJSON_IsString (item))
      g_ptr_array_add (array, g_strdup (item->valuestring));
}

static void
add_json_text (GPtrArray *array, const IrProps *props, const char *key)
{
  const char *text = props != NULL ? ir_props_get (props, key) : NULL;
  cJSON *json = text != NULL ? cJSON_Parse (text) : NULL;

  if (cJSON_IsArray (json))
    add_texts (array, json);
  cJSON_Delete (json);
}

static IrOrigin *
read_node_metadata (const IrNode *node)
{
  const IrProps *props = node->extra != NULL ? node->extra->props : NULL;
  IrOrigin *origin;

  if (props == NULL || ir_props_get (props, META_FROM) == NULL)
    return NULL;
  origin = origin_new ();
  add_json_text (origin->nodes, props, META_FROM);
  add_json_text (origin->values, props, META_VALUES);
  add_json_text (origin->rules, props, META_RULES);
  return origin;
}

static IrOrigin *
read_model_metadata (const cJSON *entry)
{
  IrOrigin *origin;

  if (!cJSON_IsObject (entry))
    return NULL;
  origin = origin_new ();
  add_texts (origin->nodes, cJSON_GetObjectItemCaseSensitive (entry, "from"));
  add_texts (origin->values, cJSON_GetObjectItemCaseSensitive (entry, "values"));
  add_texts (origin->rules, cJSON_GetObjectItemCaseSensitive (entry, "rules"));
  return origin;
}

/* The list of a cJSON object is searched from its start: a table, as there may be many nodes. */
static GHashTable *
index_object (const cJSON *object)
{
  GHashTable *index = g_hash_table_new (g_str_hash, g_str_equal);
  const cJSON *item;

  cJSON_ArrayForEach (item, object) g_hash_table_insert (index, item->string, (gpointer) item);
  return index;
}

static void
read_nodes (IrOrigins *origins, const IrModel *model, const cJSON *lineage)
{
  g_autoptr (GHashTable) index = index_object (lineage);

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      IrOrigin *origin = NULL;

      if (node != NULL)
        origin = cJSON_IsObject (lineage)
                     ? read_model_metadata (g_hash_table_lookup (index, first_output (node)))
                     : read_node_metadata (node);
      if (origin != NULL)
        g_hash_table_insert (origins->by_node, GUINT_TO_POINTER (i), origin);
    }
}

static void
read_gone (IrOrigins *origins, const IrProps *props)
{
  const char *text = props != NULL ? ir_props_get (props, META_GONE) : NULL;
  cJSON *json = text != NULL ? cJSON_Parse (text) : NULL;
  const cJSON *item;

  cJSON_ArrayForEach (item, json)
  {
    IrGone *gone;

    if (!cJSON_IsObject (item) || item->string == NULL)
      continue;
    gone = gone_new (cJSON_GetStringValue (cJSON_GetObjectItemCaseSensitive (item, "rule")));
    add_texts (gone->into, cJSON_GetObjectItemCaseSensitive (item, "into"));
    g_hash_table_replace (origins->gone, g_strdup (item->string), gone);
  }
  cJSON_Delete (json);
}

/**
 * ir_origins_read:
 * @model: a model as it was opened
 *
 * Metadata that cannot be understood counts as none.
 *
 * Returns: (transfer full) (nullable): what the file of @model says of its lineage; %NULL if it was
 *   not written with any
 */
IrOrigins *
ir_origins_read (const IrModel *model)
{
  const IrProps *props = model->info->extra.props;
  const char *text = props != NULL ? ir_props_get (props, META_LINEAGE) : NULL;
  const char *constants = props != NULL ? ir_props_get (props, META_CONSTANTS) : NULL;
  IrOrigins *origins;
  cJSON *json;
  const cJSON *item;

  if (text == NULL)
    return NULL;
  origins = g_new (IrOrigins, 1);
  origins->by_node = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) origin_free);
  origins->constants = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  origins->gone = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                         (GDestroyNotify) gone_free);
  origins->n_named = count_names (model);
  read_gone (origins, props);
  json = strcmp (text, NODES_SAY) != 0 ? cJSON_Parse (text) : NULL;
  read_nodes (origins, model, json);
  cJSON_Delete (json);
  json = constants != NULL ? cJSON_Parse (constants) : NULL;
  cJSON_ArrayForEach (item, json) if (cJSON_IsString (item) && item->string != NULL)
      g_hash_table_replace (origins->constants, g_strdup (item->string),
                            g_strdup (item->valuestring));
  cJSON_Delete (json);
  return origins;
}

/**
 * ir_origins_free:
 * @origins: (transfer full): what a file says
 */
void
ir_origins_free (IrOrigins *origins)
{
  g_hash_table_unref (origins->by_node);
  g_hash_table_unref (origins->constants);
  g_hash_table_unref (origins->gone);
  g_hash_table_unref (origins->n_named);
  g_free (origins);
}

/**
 * ir_origins_of:
 * @origins: what a file says
 * @node: id of a node of it
 *
 * Returns: (transfer none) (nullable): what the node stands for; %NULL: for itself
 */
const IrOrigin *
ir_origins_of (const IrOrigins *origins, IrNodeId node)
{
  return g_hash_table_lookup (origins->by_node, GUINT_TO_POINTER (node));
}

/**
 * ir_origins_of_constant:
 * @origins: what a file says
 * @name: name of an initializer
 *
 * Returns: (transfer none) (nullable): the original value that it stands for; %NULL: itself
 */
const char *
ir_origins_of_constant (const IrOrigins *origins, const char *name)
{
  return g_hash_table_lookup (origins->constants, name);
}

/**
 * ir_origins_gone:
 * @origins: what a file says
 * @name: name of a node of the original
 *
 * Returns: (transfer none) (nullable): what became of it, if no node stands for it
 */
const IrGone *
ir_origins_gone (const IrOrigins *origins, const char *name)
{
  return g_hash_table_lookup (origins->gone, name);
}

/**
 * ir_origins_name:
 * @origins: what a file says
 * @node: a node of that file
 *
 * Returns: (transfer none): how lineage calls the node: by its name, or by its first output where
 *   it has none or shares it
 */
const char *
ir_origins_name (const IrOrigins *origins, const IrNode *node)
{
  return name_of (origins->n_named, node);
}

/* -- from the log -- */

typedef struct
{
  IrModel *model, *original; /* original: as imported */
  IrOrigins *said;           /* (nullable) what the opened file says */
  GHashTable *now, *then;    /* names of nodes and how many have them */
  GPtrArray *from;           /* node id -> (nullable) GArray of guint32: imported nodes */
  GPtrArray *steps;          /* node id -> (nullable) GArray of guint32: steps that made it */
  guint32 *value_from;       /* value id -> id of the imported value; 0 = none */
} Walk;

static void
add_id (GPtrArray *sets, guint32 index, guint32 id)
{
  guint place = 0;
  GArray *set;

  if (sets->pdata[index] == NULL)
    sets->pdata[index] = g_array_new (FALSE, FALSE, sizeof (guint32));
  set = sets->pdata[index];
  place = set->len;
  while (place > 0 && g_array_index (set, guint32, place - 1) > id)
    place--;
  if (place == 0 || g_array_index (set, guint32, place - 1) != id)
    g_array_insert_val (set, place, id);
}

static gboolean
join_sets (GPtrArray *sets, guint32 before, guint32 after)
{
  const GArray *from = sets->pdata[before];
  guint n = sets->pdata[after] != NULL ? ((GArray *) sets->pdata[after])->len : 0;

  for (guint i = 0; from != NULL && i < from->len; i++)
    add_id (sets, after, g_array_index (from, guint32, i));
  return sets->pdata[after] != NULL && ((GArray *) sets->pdata[after])->len > n;
}

/* Pairs of a step may chain, in any order. */
static void
walk_nodes (Walk *walk, const IrStep *step)
{
  const GArray *pairs = step->nodes;
  gboolean grown = pairs != NULL;

  while (grown)
    {
      grown = FALSE;
      for (guint i = 0; i < pairs->len; i++)
        {
          IrIdPair pair = g_array_index (pairs, IrIdPair, i);

          if (pair.before == pair.after || pair.before == 0 || pair.after == 0)
            continue;
          grown |= join_sets (walk->from, pair.before, pair.after);
          grown |= join_sets (walk->steps, pair.before, pair.after);
        }
    }
  for (guint i = 0; pairs != NULL && i < pairs->len; i++)
    if (g_array_index (pairs, IrIdPair, i).after != 0)
      add_id (walk->steps, g_array_index (pairs, IrIdPair, i).after, step->index);
  if (step->anchor != 0)
    add_id (walk->steps, step->anchor, step->index);
}

static void
walk_values (Walk *walk, const IrStep *step, guint n_imported)
{
  for (guint i = 0; step->values != NULL && i < step->values->len; i++)
    {
      IrIdPair pair = g_array_index (step->values, IrIdPair, i);

      if (pair.after >= n_imported)
        walk->value_from[pair.after] = walk->value_from[pair.before];
    }
}

static void
free_set (gpointer set)
{
  if (set != NULL)
    g_array_unref (set);
}

static GPtrArray *
new_sets (guint n)
{
  GPtrArray *sets = g_ptr_array_new_full (n, free_set);

  g_ptr_array_set_size (sets, (gint) n);
  return sets;
}

static void
walk_init (Walk *walk, IrModel *model)
{
  guint n_nodes = model->nodes->len, n_values = model->values->len;
  guint n_imported = model->log->n_imported_values;

  walk->model = model;
  walk->original = ir_history_snapshot (model, 0);
  walk->said = ir_origins_read (walk->original);
  walk->now = count_names (model);
  walk->then = count_names (walk->original);
  walk->from = new_sets (n_nodes);
  walk->steps = new_sets (n_nodes);
  walk->value_from = g_new0 (guint32, n_values);
  n_imported = n_imported == 0 ? n_values : n_imported;
  for (guint i = 1; i < n_nodes; i++)
    if (ir_model_live_node (walk->original, i) != NULL)
      add_id (walk->from, i, i);
  for (guint i = 1; i < n_imported; i++)
    walk->value_from[i] = i;
  for (guint i = 1; i <= ir_history_cursor (model); i++)
    {
      walk_nodes (walk, ir_history_step (model, i));
      walk_values (walk, ir_history_step (model, i), n_imported);
    }
}

static void
walk_clear (Walk *walk)
{
  g_clear_pointer (&walk->original, ir_model_unref);
  g_clear_pointer (&walk->said, ir_origins_free);
  g_clear_pointer (&walk->now, g_hash_table_unref);
  g_clear_pointer (&walk->then, g_hash_table_unref);
  g_clear_pointer (&walk->from, g_ptr_array_unref);
  g_clear_pointer (&walk->steps, g_ptr_array_unref);
  g_clear_pointer (&walk->value_from, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Walk, walk_clear)

/* How the first original calls a value of the imported graph; "" if it stands for nothing there. */
static const char *
original_name (const Walk *walk, IrValueId value)
{
  const IrValue *original = ir_model_live_value (walk->original, walk->value_from[value]);
  const IrOrigin *said = NULL;

  if (original == NULL)
    return "";
  if (walk->said == NULL)
    return original->name;
  if (original->producer != NULL)
    said = ir_origins_of (walk->said, original->producer->id);
  else if (ir_origins_of_constant (walk->said, original->name) != NULL)
    return ir_origins_of_constant (walk->said, original->name);
  return said != NULL && original->output_slot < said->values->len
             ? said->values->pdata[original->output_slot]
             : original->name;
}

static void
add_said (const Walk *walk, IrOrigin *origin, IrNodeId imported)
{
  const IrOrigin *said = walk->said != NULL ? ir_origins_of (walk->said, imported) : NULL;

  if (said == NULL)
    add_text (origin->nodes, name_of (walk->then, ir_model_node (walk->original, imported)));
  for (guint i = 0; said != NULL && i < said->nodes->len; i++)
    add_text (origin->nodes, said->nodes->pdata[i]);
  for (guint i = 0; said != NULL && i < said->rules->len; i++)
    add_text (origin->rules, said->rules->pdata[i]);
}

static IrOrigin *
origin_of (const Walk *walk, const IrNode *node)
{
  const GArray *from = walk->from->pdata[node->id], *steps = walk->steps->pdata[node->id];
  IrOrigin *origin = origin_new ();

  for (guint i = 0; from != NULL && i < from->len; i++)
    add_said (walk, origin, g_array_index (from, guint32, i));
  for (guint i = 0; steps != NULL && i < steps->len; i++)
    {
      guint index = g_array_index (steps, guint32, i);
      g_autofree char *rule = g_strdup_printf ("%s/%s", ir_history_pass_of (walk->model, index),
                                               ir_history_step (walk->model, index)->rule);
      add_text (origin->rules, rule);
    }
  for (guint i = 0; i < node->n_outputs; i++)
    g_ptr_array_add (
        origin->values,
        g_strdup (node->outputs[i] != NULL ? original_name (walk, node->outputs[i]->id) : ""));
  return origin;
}

static gboolean
is_itself (const Walk *walk, const IrNode *node, const IrOrigin *origin)
{
  if (origin->rules->len > 0 || origin->nodes->len != 1 ||
      strcmp (origin->nodes->pdata[0], name_of (walk->now, node)) != 0)
    return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && strcmp (origin->values->pdata[i], node->outputs[i]->name) != 0)
      return FALSE;
  return TRUE;
}

/* -- writing -- */

static cJSON *
texts_to_json (const GPtrArray *texts)
{
  cJSON *array = cJSON_CreateArray ();

  for (guint i = 0; i < texts->len; i++)
    cJSON_AddItemToArray (array, cJSON_CreateString (texts->pdata[i]));
  return array;
}

/* Takes @json over. Interned. */
static const char *
json_to_text (IrContext *context, cJSON *json)
{
  char *text = cJSON_PrintUnformatted (json);
  const char *interned = ir_context_intern (context, text != NULL ? text : "");

  cJSON_free (text);
  cJSON_Delete (json);
  return interned;
}

static void
set_node_metadata (IrEdit *edit, IrNode *node, const IrOrigin *origin)
{
  IrContext *context = ir_edit_model (edit)->context;
  const IrExtra *extra = node->extra;
  g_autoptr (GPtrArray) keys = g_ptr_array_new ();
  g_autoptr (GPtrArray) values = g_ptr_array_new ();
  static const char *const own[] = { META_FROM, META_VALUES, META_RULES, NULL };
  const GPtrArray *const lists[] = { origin->nodes, origin->values, origin->rules };

  for (guint i = 0; extra != NULL && extra->props != NULL && i < extra->props->n; i++)
    if (!g_strv_contains (own, extra->props->pairs[i].key))
      {
        g_ptr_array_add (keys, (gpointer) extra->props->pairs[i].key);
        g_ptr_array_add (values, (gpointer) extra->props->pairs[i].value);
      }
  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    {
      g_ptr_array_add (keys, (gpointer) own[i]);
      g_ptr_array_add (values, (gpointer) json_to_text (context, texts_to_json (lists[i])));
    }
  ir_edit_set_node_extra (
      edit, node,
      ir_extra_new (context, extra != NULL ? extra->doc : NULL,
                    ir_props_new (context, keys->len, (const char *const *) keys->pdata,
                                  (const char *const *) values->pdata),
                    extra != NULL ? extra->unknown : NULL));
}

static void
add_to_lineage (cJSON *lineage, const IrNode *node, const IrOrigin *origin)
{
  cJSON *entry = cJSON_CreateObject ();

  cJSON_AddItemToObject (entry, "from", texts_to_json (origin->nodes));
  cJSON_AddItemToObject (entry, "values", texts_to_json (origin->values));
  cJSON_AddItemToObject (entry, "rules", texts_to_json (origin->rules));
  cJSON_AddItemToObject (lineage, first_output (node), entry);
}

static void
set_constants (const Walk *walk, IrEdit *edit)
{
  const IrModel *model = walk->model;
  cJSON *constants = cJSON_CreateObject ();
  gboolean any = FALSE;

  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = ir_model_live_value (model, i);
      const char *name = value != NULL && value->initializer != NULL ? original_name (walk, i) : "";

      if (name[0] == '\0' || strcmp (name, value->name) == 0)
        continue;
      cJSON_AddItemToObject (constants, value->name, cJSON_CreateString (name));
      any = TRUE;
    }
  if (any)
    ir_edit_set_metadata (edit, META_CONSTANTS,
                          json_to_text (ir_edit_model (edit)->context, constants));
  else
    cJSON_Delete (constants);
}

/* -- what is gone -- */

static void
add_names (const Walk *walk, cJSON *array, GHashTable *seen, GArray *values)
{
  for (guint i = 0; i < values->len; i++)
    {
      const IrValue *value = ir_model_value (walk->model, g_array_index (values, guint32, i));

      if (g_hash_table_add (seen, (gpointer) value->name))
        cJSON_AddItemToArray (array, cJSON_CreateString (value->name));
    }
  g_array_unref (values);
}

static void
add_gone (const Walk *walk, cJSON *gone, IrFolded *folded, IrNodeId node, const char *name)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  guint step = ir_folded_step (folded, node);
  cJSON *entry = cJSON_CreateObject ();

  add_names (walk, cJSON_AddArrayToObject (entry, "into"), seen, ir_folded_of_node (folded, node));
  if (step > 0)
    {
      g_autofree char *rule = g_strdup_printf ("%s/%s", ir_history_pass_of (walk->model, step),
                                               ir_history_step (walk->model, step)->rule);
      cJSON_AddStringToObject (entry, "rule", rule);
    }
  cJSON_AddItemToObject (gone, name, entry);
}

/* What was gone before: where that is now. */
static void
carry_gone (const Walk *walk, cJSON *gone, IrFolded *folded)
{
  GHashTableIter iter;
  gpointer name, item;

  g_hash_table_iter_init (&iter, walk->said->gone);
  while (g_hash_table_iter_next (&iter, &name, &item))
    {
      g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
      const IrGone *was = item;
      cJSON *entry = cJSON_CreateObject (), *into = cJSON_AddArrayToObject (entry, "into");

      for (guint i = 0; i < was->into->len; i++)
        {
          const IrValue *value = ir_graph_find_value (walk->original->main, was->into->pdata[i]);
          if (value != NULL)
            add_names (walk, into, seen, ir_folded_of_value (folded, value->id));
        }
      cJSON_AddStringToObject (entry, "rule", was->rule);
      cJSON_AddItemToObject (gone, name, entry);
    }
}

/* Imported nodes that no live node descends from, by the names of the first original. */
static void
set_gone (const Walk *walk, IrEdit *edit, GHashTable *standing)
{
  g_autoptr (IrFolded) folded = ir_folded_new (walk->model);
  cJSON *gone = cJSON_CreateObject ();

  if (walk->said != NULL)
    carry_gone (walk, gone, folded);
  for (guint i = 1; i < walk->original->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (walk->original, i);
      IrOrigin *names = origin_new ();

      if (node != NULL && !ir_node_is_constant (node))
        add_said (walk, names, i);
      for (guint k = 0; k < names->nodes->len; k++)
        if (!g_hash_table_contains (standing, names->nodes->pdata[k]))
          {
            g_hash_table_add (standing, g_strdup (names->nodes->pdata[k]));
            add_gone (walk, gone, folded, i, names->nodes->pdata[k]);
          }
      origin_free (names);
    }
  if (gone->child != NULL)
    ir_edit_set_metadata (edit, META_GONE, json_to_text (ir_edit_model (edit)->context, gone));
  else
    cJSON_Delete (gone);
}

/* Files with two nodes of one name in a graph are refused elsewhere: those that steps have made
 * give way. Two that the file had are its own. */
static void
make_names_unique (const IrModel *model, IrEdit *edit, const IrGraph *graph)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL); /* names are interned */
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph);

  for (guint made = 0; made < 2; made++)
    for (guint i = 0; i < nodes->len; i++)
      {
        IrNode *node = nodes->pdata[i];

        if (node->name[0] == '\0' || (node->id >= model->log->n_imported_nodes) != made)
          continue;
        if (!g_hash_table_add (seen, (gpointer) node->name) && made)
          ir_edit_rename_node (edit, node, ir_edit_unique_name (edit, node->name));
      }
}

/* Of a graph that was built from nothing there is no original that nodes could stand for. */
static gboolean
began_empty (const IrModel *model)
{
  guint n_born = 0;

  for (guint i = 0; i < model->log->records->len; i++)
    {
      const IrRecord *record = &g_array_index (model->log->records, IrRecord, i);

      n_born += record->kind == IR_RECORD_NODE_STATE && record->before.number == IR_STATE_UNBORN;
    }
  return n_born + 1 >= model->nodes->len;
}

/**
 * ir_model_with_origins:
 * @model: a model, at any step of its history
 *
 * Lineage is written for the nodes that the steps up to the cursor have made or changed, in names
 * of the graph as it was opened, or, where that came from a file with lineage, of its original.
 * Nodes that they have made get names of their own.
 *
 * Returns: (transfer full): a copy to be saved; without history
 */
IrModel *
ir_model_with_origins (IrModel *model)
{
  IrModel *copy = ir_model_clone (model);
  g_autoptr (IrEdit) edit = ir_edit_new_import (copy);
  g_auto (Walk) walk = { 0 };
  g_autoptr (GHashTable) standing = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  gboolean in_nodes = model->info->ir_version >= FIRST_NODE_METADATA;
  cJSON *lineage;

  if (model->log == NULL || ir_history_cursor (model) == 0 || began_empty (model))
    return copy;
  for (guint i = 1; i < copy->graphs->len; i++)
    if (ir_model_graph (copy, i)->state == IR_STATE_LIVE)
      make_names_unique (model, edit, ir_model_graph (copy, i));
  walk_init (&walk, model);
  lineage = cJSON_CreateObject ();
  for (guint i = 1; i < model->nodes->len; i++)
    {
      IrNode *node = ir_model_live_node (copy, i);
      IrOrigin *origin = node != NULL ? origin_of (&walk, node) : NULL;

      if (origin == NULL)
        continue;
      for (guint k = 0; k < origin->nodes->len; k++)
        g_hash_table_add (standing, g_strdup (origin->nodes->pdata[k]));
      if (is_itself (&walk, node, origin))
        ;
      else if (in_nodes)
        set_node_metadata (edit, node, origin);
      else
        add_to_lineage (lineage, node, origin);
      origin_free (origin);
    }
  if (in_nodes)
    cJSON_Delete (lineage);
  ir_edit_set_metadata (edit, META_LINEAGE,
                        in_nodes ? NODES_SAY : json_to_text (copy->context, lineage));
  set_constants (&walk, edit);
  set_gone (&walk, edit, standing);
  return copy;
}
