#include "config.h"

#include "core/look/kept.h"

#include "core/io/io.h"
#include "core/io/json/print.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#define MAX_MOVED  1e7 /* px */
#define MAX_MODELS 200 /* those that were kept longest ago go first */

/**
 * ir_kept_error_quark:
 *
 * Returns: the domain of IR_KEPT_ERROR
 */
GQuark
ir_kept_error_quark (void)
{
  return g_quark_from_static_string ("ir-kept-error-quark");
}

/**
 * ir_kept_view_new:
 * @look: copied
 *
 * Returns: (transfer full): a view of which only the look is known
 */
IrKeptView *
ir_kept_view_new (const IrLook *look)
{
  IrKeptView *view = g_new0 (IrKeptView, 1);

  view->look = ir_look_copy (look);
  view->zoom = 1;
  view->selected = g_hash_table_new (NULL, NULL);
  view->moves = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  return view;
}

/**
 * ir_kept_view_move:
 * @key: of a box of the scene
 * @by: px at 1:1
 *
 * Keeps where a box stands that was moved by hand.
 */
void
ir_kept_view_move (IrKeptView *view, guint64 key, IrLayoutPoint by)
{
  g_hash_table_replace (view->moves, g_memdup2 (&key, sizeof key), g_memdup2 (&by, sizeof by));
}

/**
 * ir_kept_view_free:
 * @view: (nullable) (transfer full): a view
 */
void
ir_kept_view_free (IrKeptView *view)
{
  if (view == NULL)
    return;
  ir_look_free (view->look);
  g_hash_table_unref (view->selected);
  g_hash_table_unref (view->moves);
  g_free (view->numbers);
  g_free (view);
}

/**
 * ir_kept_file:
 *
 * Returns: (transfer full): where the window keeps views: views.json in the user's data
 */
char *
ir_kept_file (void)
{
  return g_build_filename (g_get_user_data_dir (), "irscope", "views.json", NULL);
}

/* -- writing -- */

static int
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static cJSON *
texts_json (GPtrArray *texts)
{
  cJSON *array = cJSON_CreateArray ();

  g_ptr_array_sort (texts, compare_texts); /* one file for one content */
  for (guint i = 0; i < texts->len; i++)
    cJSON_AddItemToArray (array, cJSON_CreateString (texts->pdata[i]));
  return array;
}

static void
add_keys (cJSON *json, const char *name, GHashTable *keys)
{
  g_autoptr (GPtrArray) texts = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, keys);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    g_ptr_array_add (texts, key);
  if (texts->len > 0)
    cJSON_AddItemToObject (json, name, texts_json (texts));
}

/* By name where it has one: ids are those of one reading of the file. */
static void
add_nodes (cJSON *json, const char *name, GHashTable *ids, const IrModel *model)
{
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer id;

  if (ids == NULL)
    return;
  g_hash_table_iter_init (&iter, ids);
  while (g_hash_table_iter_next (&iter, &id, NULL))
    {
      const IrNode *node = ir_model_live_node (model, GPOINTER_TO_UINT (id));

      if (node != NULL)
        g_ptr_array_add (texts, node->name[0] != '\0' ? g_strdup (node->name)
                                                      : g_strdup_printf ("#%u", node->id));
    }
  cJSON_AddItemToObject (json, name, texts_json (texts));
}

static int
compare_keys (gconstpointer a, gconstpointer b)
{
  const guint64 x = **(const guint64 *const *) a, y = **(const guint64 *const *) b;

  return (x > y) - (x < y);
}

/* Of a node by its name, as above; pills and groups have keys that follow from names. */
static void
add_moves (cJSON *json, GHashTable *moves, const IrModel *model)
{
  g_autofree guint64 **keys = (guint64 **) g_hash_table_get_keys_as_array (moves, NULL);
  const guint n = g_hash_table_size (moves);
  cJSON *array = n > 0 ? cJSON_AddArrayToObject (json, "moved") : NULL;

  qsort (keys, n, sizeof *keys, compare_keys);
  for (guint i = 0; i < n; i++)
    {
      const IrLayoutPoint *by = g_hash_table_lookup (moves, keys[i]);
      const IrNode *node = *keys[i] <= G_MAXUINT32 ? ir_model_live_node (model, (IrNodeId) *keys[i])
                                                   : NULL;
      g_autofree char *box = g_strdup_printf ("#%" G_GUINT64_FORMAT, *keys[i]);
      cJSON *item = cJSON_CreateObject ();

      cJSON_AddStringToObject (item, "box",
                               node != NULL && node->name[0] != '\0' ? node->name : box);
      cJSON_AddNumberToObject (item, "x", by->x);
      cJSON_AddNumberToObject (item, "y", by->y);
      cJSON_AddItemToArray (array, item);
    }
}

static cJSON *
view_json (const IrKeptView *view, const IrModel *model)
{
  cJSON *json = cJSON_CreateObject (), *rules;

  cJSON_AddNumberToObject (json, "show", view->look->show);
  add_keys (json, "folded", view->look->folded);
  add_keys (json, "automatic", view->look->automatic);
  add_keys (json, "beside", view->look->beside);
  add_keys (json, "calls", view->look->calls);
  add_nodes (json, "nodes", view->look->nodes, model);
  if (view->look->root != NULL)
    cJSON_AddStringToObject (json, "root", view->look->root);
  if (view->look->overlay != NULL)
    cJSON_AddStringToObject (json, "overlay", view->look->overlay);
  cJSON_AddNumberToObject (json, "scale", view->look->scale);
  rules = cJSON_AddArrayToObject (json, "rules");
  for (guint i = 0; i < view->look->rules->len; i++)
    {
      const IrLookRule *rule = &g_array_index (view->look->rules, IrLookRule, i);
      cJSON *item = cJSON_CreateObject ();

      cJSON_AddStringToObject (item, "query", rule->query);
      cJSON_AddStringToObject (item, "effect", ir_rule_effect_name (rule->effect));
      cJSON_AddNumberToObject (item, "colour", rule->colour);
      cJSON_AddItemToArray (rules, item);
    }
  cJSON_AddNumberToObject (json, "zoom", view->zoom);
  cJSON_AddNumberToObject (json, "x", view->x);
  cJSON_AddNumberToObject (json, "y", view->y);
  cJSON_AddNumberToObject (json, "width", view->width);
  cJSON_AddNumberToObject (json, "height", view->height);
  add_nodes (json, "selected", view->selected, model);
  add_moves (json, view->moves, model);
  if (view->numbers != NULL)
    cJSON_AddStringToObject (json, "numbers", view->numbers);
  return json;
}

/* -- reading -- */

static void
read_keys (GHashTable *keys, const cJSON *json, const char *name)
{
  const cJSON *array = cJSON_GetObjectItemCaseSensitive (json, name);

  for (const cJSON *item = cJSON_IsArray (array) ? array->child : NULL; item != NULL;
       item = item->next)
    if (cJSON_IsString (item))
      g_hash_table_add (keys, g_strdup (item->valuestring));
}

static gboolean
is_called (const IrNode *node, const char *name)
{
  char id[16];

  if (strcmp (node->name, name) == 0)
    return TRUE;
  g_snprintf (id, sizeof id, "#%u", node->id);
  return strcmp (id, name) == 0;
}

static void
read_nodes (GHashTable *ids, const cJSON *json, const char *name, const IrModel *model)
{
  const cJSON *array = cJSON_GetObjectItemCaseSensitive (json, name);

  for (const cJSON *item = cJSON_IsArray (array) ? array->child : NULL; item != NULL;
       item = item->next)
    for (guint id = 1; cJSON_IsString (item) && id < model->nodes->len; id++)
      {
        const IrNode *node = ir_model_live_node (model, id);

        if (node != NULL && is_called (node, item->valuestring))
          g_hash_table_add (ids, GUINT_TO_POINTER (id));
      }
}

static double
read_number (const cJSON *json, const char *name, double fallback)
{
  const cJSON *item = cJSON_GetObjectItemCaseSensitive (json, name);

  return cJSON_IsNumber (item) ? item->valuedouble : fallback;
}

static char *
read_text (const cJSON *json, const char *name)
{
  const cJSON *item = cJSON_GetObjectItemCaseSensitive (json, name);

  return g_strdup (cJSON_IsString (item) ? item->valuestring : NULL);
}

static void
read_rules (IrLook *look, const cJSON *json)
{
  const cJSON *array = cJSON_GetObjectItemCaseSensitive (json, "rules");

  for (const cJSON *item = cJSON_IsArray (array) ? array->child : NULL; item != NULL;
       item = item->next)
    {
      g_autofree char *query = read_text (item, "query"), *effect = read_text (item, "effect");

      for (int e = 0; query != NULL && e < IR_N_RULE_EFFECTS; e++)
        if (g_strcmp0 (effect, ir_rule_effect_name (e)) == 0)
          ir_look_add_rule (look, query, e,
                            (guint) CLAMP (read_number (item, "colour", 0), 0, IR_SCALE_CLASSES));
    }
}

static guint64
read_box (const char *name, const IrModel *model)
{
  guint64 key = 0;

  for (guint id = 1; name[0] != '#' && id < model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (model, id);

      if (node != NULL && strcmp (node->name, name) == 0)
        return id;
    }
  return name[0] == '#' && g_ascii_string_to_unsigned (name + 1, 10, 1, G_MAXUINT64, &key, NULL)
             ? key
             : 0;
}

static void
read_moves (IrKeptView *view, const cJSON *json, const IrModel *model)
{
  const cJSON *array = cJSON_GetObjectItemCaseSensitive (json, "moved");

  for (const cJSON *item = cJSON_IsArray (array) ? array->child : NULL; item != NULL;
       item = item->next)
    {
      g_autofree char *name = read_text (item, "box");
      const guint64 key = name != NULL ? read_box (name, model) : 0;
      const IrLayoutPoint by = { read_number (item, "x", 0), read_number (item, "y", 0) };

      if (key != 0 && fabs (by.x) <= MAX_MOVED && fabs (by.y) <= MAX_MOVED)
        ir_kept_view_move (view, key, by);
    }
}

static IrKeptView *
read_view (const cJSON *json, const IrModel *model)
{
  g_autoptr (IrLook) look = ir_look_new ();
  IrKeptView *view;

  look->show = (IrShow) CLAMP (read_number (json, "show", look->show), 0, 63);
  read_keys (look->folded, json, "folded");
  read_keys (look->automatic, json, "automatic");
  read_keys (look->beside, json, "beside");
  read_keys (look->calls, json, "calls");
  if (cJSON_IsArray (cJSON_GetObjectItemCaseSensitive (json, "nodes")))
    {
      look->nodes = g_hash_table_new (NULL, NULL);
      read_nodes (look->nodes, json, "nodes", model);
    }
  look->root = read_text (json, "root");
  look->overlay = read_text (json, "overlay");
  look->scale = (IrScaleKind) CLAMP (read_number (json, "scale", 0), 0, IR_SCALE_LOG);
  read_rules (look, json);
  view = ir_kept_view_new (look);
  view->zoom = CLAMP (read_number (json, "zoom", 1), 0.001, 4);
  view->x = read_number (json, "x", 0);
  view->y = read_number (json, "y", 0);
  view->width = MAX (read_number (json, "width", 0), 0);
  view->height = MAX (read_number (json, "height", 0), 0);
  read_nodes (view->selected, json, "selected", model);
  read_moves (view, json, model);
  view->numbers = read_text (json, "numbers");
  return view;
}

/* -- one view as text -- */

/**
 * ir_kept_view_text:
 * @view: a view
 * @model: that it is of: nodes are written by name
 *
 * Returns: (transfer full): JSON, in one line
 */
char *
ir_kept_view_text (const IrKeptView *view, const IrModel *model)
{
  cJSON *json = view_json (view, model);
  char *text = ir_json_print_line (json);

  cJSON_Delete (json);
  return text;
}

/**
 * ir_kept_view_parse:
 * @text: as ir_kept_view_text() writes it
 * @model: that is looked at; what it has no node for is left out
 *
 * Returns: (transfer full) (nullable): the view; %NULL: @text is no JSON object
 */
IrKeptView *
ir_kept_view_parse (const char *text, const IrModel *model)
{
  cJSON *json = cJSON_Parse (text);
  IrKeptView *view = cJSON_IsObject (json) ? read_view (json, model) : NULL;

  cJSON_Delete (json);
  return view;
}

/**
 * ir_kept_view_missing:
 * @text: as ir_kept_view_text() writes it
 * @model: that is looked at
 *
 * Returns: (transfer full) (element-type utf8): names of nodes of the view that @model does not have
 */
GPtrArray *
ir_kept_view_missing (const char *text, const IrModel *model)
{
  static const char *const lists[] = { "selected", "nodes" };
  GPtrArray *missing = g_ptr_array_new_with_free_func (g_free);
  cJSON *json = cJSON_Parse (text);

  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    {
      const cJSON *array = cJSON_GetObjectItemCaseSensitive (json, lists[i]);

      for (const cJSON *item = cJSON_IsArray (array) ? array->child : NULL; item != NULL;
           item = item->next)
        if (cJSON_IsString (item) && read_box (item->valuestring, model) == 0 &&
            item->valuestring[0] != '#')
          g_ptr_array_add (missing, g_strdup (item->valuestring));
    }
  cJSON_Delete (json);
  return missing;
}

/* -- the file -- */

static cJSON *
load (const char *file, GError **error)
{
  g_autofree char *text = NULL;
  gsize length;
  cJSON *json;

  if (!g_file_get_contents (file, &text, &length, NULL))
    return cJSON_CreateObject (); /* nothing was kept yet */
  json = cJSON_ParseWithLength (text, length);
  if (json == NULL || !cJSON_IsObject (json))
    {
      g_set_error (
          error, IR_KEPT_ERROR, IR_KEPT_ERROR_SYNTAX,
          "%s: kept views cannot be read: it is no JSON object; move it away to begin anew", file);
      g_clear_pointer (&json, cJSON_Delete);
    }
  return json;
}

/**
 * ir_kept_load:
 * @file: where views are kept
 * @model: that is open
 * @path: its file
 * @error: return location for an error, or %NULL
 *
 * Fails with %IR_KEPT_ERROR_SYNTAX where @file is damaged; if there is none, nothing is kept.
 *
 * Returns: (transfer full) (nullable) (element-type IrKeptView): %IR_N_KEPT entries, %NULL where
 *   nothing is kept
 */
GPtrArray *
ir_kept_load (const char *file, const IrModel *model, const char *path, GError **error)
{
  cJSON *json = load (file, error);
  g_autofree char *full = g_canonicalize_filename (path, NULL);
  GPtrArray *views;
  const cJSON *own;

  if (json == NULL)
    return NULL;
  own = cJSON_GetObjectItemCaseSensitive (json, full);
  views = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_kept_view_free);
  for (guint i = 1; i <= IR_N_KEPT; i++)
    {
      const char key[] = { (char) ('0' + i), '\0' };
      const cJSON *view = cJSON_GetObjectItemCaseSensitive (own, key);

      g_ptr_array_add (views, cJSON_IsObject (view) ? read_view (view, model) : NULL);
    }
  cJSON_Delete (json);
  return views;
}

/**
 * ir_kept_save:
 * @file: where views are kept
 * @model: that is open
 * @path: its file
 * @views: (element-type IrKeptView): %IR_N_KEPT entries, %NULL where nothing is kept
 * @error: return location for an error, or %NULL
 *
 * Replaces the views of this model in @file, atomically.
 *
 * Fails as ir_kept_load() does, or with a #GFileError.
 *
 * Returns: whether they were written
 */
gboolean
ir_kept_save (const char *file,
              const IrModel *model,
              const char *path,
              const GPtrArray *views,
              GError **error)
{
  cJSON *json = load (file, error), *own = cJSON_CreateObject ();
  g_autofree char *full = g_canonicalize_filename (path, NULL);
  g_autofree char *dir = g_path_get_dirname (file);
  g_autoptr (GBytes) bytes = NULL;
  gboolean ok;
  char *text;

  if (json == NULL)
    {
      cJSON_Delete (own);
      return FALSE;
    }
  for (guint i = 0; i < views->len; i++)
    {
      const char key[] = { (char) ('1' + i), '\0' };

      if (views->pdata[i] != NULL)
        cJSON_AddItemToObject (own, key, view_json (views->pdata[i], model));
    }
  cJSON_DeleteItemFromObjectCaseSensitive (json, full);
  cJSON_AddItemToObject (json, full, own);
  while (cJSON_GetArraySize (json) > MAX_MODELS)
    cJSON_DeleteItemFromArray (json, 0);
  text = cJSON_Print (json);
  cJSON_Delete (json);
  bytes = g_bytes_new (text, strlen (text));
  cJSON_free (text);
  g_mkdir_with_parents (dir, 0700);
  ok = ir_file_write_atomic (file, bytes, error);
  return ok;
}

/**
 * ir_kept_find:
 * @file: where views are kept
 * @model: that is open
 * @path: its file
 * @number: 1 … %IR_N_KEPT
 * @error: return location for an error, or %NULL
 *
 * Fails as ir_kept_load() does, or with %IR_KEPT_ERROR_NONE.
 *
 * Returns: (transfer full) (nullable): the view
 */
IrKeptView *
ir_kept_find (
    const char *file, const IrModel *model, const char *path, guint number, GError **error)
{
  g_autoptr (GPtrArray) views = ir_kept_load (file, model, path, error);
  IrKeptView *view;

  if (views == NULL)
    return NULL;
  view = number >= 1 && number <= views->len ? views->pdata[number - 1] : NULL;
  if (view == NULL)
    {
      g_autoptr (GString) kept = g_string_new (NULL);

      for (guint i = 0; i < views->len; i++)
        if (views->pdata[i] != NULL)
          g_string_append_printf (kept, "%s%u", kept->len > 0 ? ", " : "", i + 1);
      g_set_error (error, IR_KEPT_ERROR, IR_KEPT_ERROR_NONE,
                   "%s has no view %u: %s%s; Ctrl and a number keep one in the window", path,
                   number, kept->len > 0 ? "kept are " : "none is kept", kept->str);
      return NULL;
    }
  views->pdata[number - 1] = NULL;
  return view;
}
