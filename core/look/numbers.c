/* Numbers per node from a JSON file. Three forms are read:
 *
 *   { "conv1": 0.25, "relu1": 3 }
 *   { "title": "Latency", "unit": "s", "nodes": { "conv1": 0.25 } }
 *   { "main": { "results": { "conv1": { "value": 0.25 } } } }     node data of Model Explorer
 *
 * A name is that of a node, or of a value that it makes, or "#12", its id. */
#include "config.h"

#include "core/look/overlay.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

struct _IrNumbers
{
  gatomicrefcount refs;
  char *path, *title, *unit;
  GHashTable *by_name; /* name -> double * */
};

/**
 * ir_numbers_error_quark:
 *
 * Returns: the domain of IR_NUMBERS_ERROR
 */
GQuark
ir_numbers_error_quark (void)
{
  return g_quark_from_static_string ("ir-numbers-error-quark");
}

/* A number, or an object that holds one as "value". */
static gboolean
read_number (const cJSON *item, double *number)
{
  if (cJSON_IsObject (item))
    item = cJSON_GetObjectItemCaseSensitive (item, "value");
  if (item == NULL || !(cJSON_IsNumber (item) || cJSON_IsBool (item)))
    return FALSE;
  *number = cJSON_IsBool (item) ? cJSON_IsTrue (item) : item->valuedouble;
  return isfinite (*number);
}

static guint
add_all (IrNumbers *self, const cJSON *object)
{
  guint n = 0;

  for (const cJSON *item = object->child; item != NULL; item = item->next)
    {
      double number;

      if (item->string == NULL || !read_number (item, &number))
        continue;
      g_hash_table_replace (self->by_name, g_strdup (item->string),
                            g_memdup2 (&number, sizeof number));
      n++;
    }
  return n;
}

/* Where the numbers are: here, under "nodes" or "results", or in what is inside. */
static guint
collect (IrNumbers *self, const cJSON *object, guint depth)
{
  static const char *const wrappers[] = { "nodes", "results" };
  guint n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (wrappers); i++)
    {
      const cJSON *inside = cJSON_GetObjectItemCaseSensitive (object, wrappers[i]);

      if (cJSON_IsObject (inside))
        return add_all (self, inside);
    }
  n = add_all (self, object);
  for (const cJSON *item = object->child; n == 0 && depth < 3 && item != NULL; item = item->next)
    if (cJSON_IsObject (item))
      n = collect (self, item, depth + 1);
  return n;
}

static char *
take_text (const cJSON *root, const char *key, const char *fallback)
{
  const cJSON *item = cJSON_GetObjectItemCaseSensitive (root, key);

  return g_strdup (cJSON_IsString (item) && g_utf8_validate (item->valuestring, -1, NULL)
                       ? item->valuestring
                       : fallback);
}

/**
 * ir_numbers_parse:
 * @text: JSON
 * @length: bytes of it; -1: it ends with a NUL
 * @name: what to call it in messages, a path
 * @error: return location for an error, or %NULL
 *
 * Fails with %IR_NUMBERS_ERROR_SYNTAX where the text is no JSON, or holds no numbers by name.
 *
 * Returns: (transfer full) (nullable): the numbers
 */
IrNumbers *
ir_numbers_parse (const char *text, gssize length, const char *name, GError **error)
{
  const gsize size = length < 0 ? strlen (text) : (gsize) length;
  const char *stopped = NULL;
  cJSON *root = cJSON_ParseWithLengthOpts (text, size, &stopped, FALSE);
  g_autofree char *base = g_path_get_basename (name);
  IrNumbers *self;

  if (root == NULL)
    {
      g_set_error (error, IR_NUMBERS_ERROR, IR_NUMBERS_ERROR_SYNTAX,
                   "%s: is no JSON: it cannot be read from byte %zu on", name,
                   stopped != NULL ? (gsize) (stopped - text) : 0);
      return NULL;
    }
  self = g_new0 (IrNumbers, 1);
  g_atomic_ref_count_init (&self->refs);
  self->path = g_strdup (name);
  self->by_name = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->title = take_text (root, "title", base);
  self->unit = take_text (root, "unit", "");
  if (!cJSON_IsObject (root) || collect (self, root, 0) == 0)
    {
      g_set_error (
          error, IR_NUMBERS_ERROR, IR_NUMBERS_ERROR_SYNTAX,
          "%s: holds no numbers by the names of nodes: needs an object such as "
          "{ \"conv1\": 0.25 }, or { \"title\": \"Latency\", \"unit\": \"s\", \"nodes\": {...} }",
          name);
      g_clear_pointer (&self, ir_numbers_unref);
    }
  cJSON_Delete (root);
  return self;
}

/**
 * ir_numbers_load:
 * @path: a JSON file
 * @error: return location for an error, or %NULL
 *
 * Fails with a #GFileError, or as ir_numbers_parse() does.
 *
 * Returns: (transfer full) (nullable): the numbers
 */
IrNumbers *
ir_numbers_load (const char *path, GError **error)
{
  g_autofree char *text = NULL;
  gsize length;

  if (!g_file_get_contents (path, &text, &length, error))
    return NULL;
  return ir_numbers_parse (text, (gssize) length, path, error);
}

/**
 * ir_numbers_ref:
 * @numbers: numbers
 *
 * Returns: (transfer full): the same
 */
IrNumbers *
ir_numbers_ref (IrNumbers *numbers)
{
  g_atomic_ref_count_inc (&numbers->refs);
  return numbers;
}

/**
 * ir_numbers_unref:
 * @numbers: (transfer full): numbers
 */
void
ir_numbers_unref (IrNumbers *numbers)
{
  if (!g_atomic_ref_count_dec (&numbers->refs))
    return;
  g_hash_table_unref (numbers->by_name);
  g_free (numbers->path);
  g_free (numbers->title);
  g_free (numbers->unit);
  g_free (numbers);
}

static const double *
find (const IrNumbers *self, const IrNode *node, const char **key)
{
  const double *found = NULL;
  static const char none[] = "";
  char id[16];

  *key = none;
  if (node->name[0] != '\0')
    found = g_hash_table_lookup (self->by_name, *key = node->name);
  for (guint i = 0; found == NULL && i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      found = g_hash_table_lookup (self->by_name, *key = node->outputs[i]->name);
  if (found != NULL)
    return found;
  g_snprintf (id, sizeof id, "#%u", node->id);
  *key = none;
  return g_hash_table_lookup (self->by_name, id);
}

/**
 * ir_numbers_of:
 * @numbers: numbers
 * @node: a node
 *
 * Returns: its number; %NAN if the file has none for it
 */
double
ir_numbers_of (const IrNumbers *numbers, const IrNode *node)
{
  const char *key;
  const double *found = find (numbers, node, &key);

  return found != NULL ? *found : NAN;
}

/**
 * ir_numbers_check:
 * @numbers: numbers
 * @model: whose nodes they should be of
 * @note: (out) (nullable) (transfer full): how many names are no nodes; %NULL if all are
 * @error: return location for an error, or %NULL
 *
 * Fails with %IR_NUMBERS_ERROR_EMPTY if none of the names is a node of @model.
 *
 * Returns: whether some are
 */
gboolean
ir_numbers_check (const IrNumbers *numbers, const IrModel *model, char **note, GError **error)
{
  const guint n_names = g_hash_table_size (numbers->by_name);
  guint n = 0;

  *note = NULL;
  for (guint id = 1; id < model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (model, id);
      const char *key;

      n += node != NULL && find (numbers, node, &key) != NULL;
    }
  if (n == 0)
    {
      GHashTableIter iter;
      gpointer first = NULL;

      g_hash_table_iter_init (&iter, numbers->by_name);
      g_hash_table_iter_next (&iter, &first, NULL);
      g_set_error (error, IR_NUMBERS_ERROR, IR_NUMBERS_ERROR_EMPTY,
                   "%s: none of its %u names, such as “%s”, is a node of the graph: needs names of "
                   "nodes, or of values that they make",
                   numbers->path, n_names, (const char *) first);
      return FALSE;
    }
  if (n < n_names)
    *note = g_strdup_printf ("%u of %u names in %s are no nodes of the graph", n_names - n, n_names,
                             numbers->path);
  return TRUE;
}

/**
 * ir_numbers_title:
 * @numbers: numbers
 *
 * Returns: (transfer none): what the file calls them, or its name
 */
const char *
ir_numbers_title (const IrNumbers *numbers)
{
  return numbers->title;
}

/**
 * ir_numbers_unit:
 * @numbers: numbers
 *
 * Returns: (transfer none): the unit that the file states, or ""
 */
const char *
ir_numbers_unit (const IrNumbers *numbers)
{
  return numbers->unit;
}

/**
 * ir_numbers_path:
 * @numbers: numbers
 *
 * Returns: (transfer none): where they were read
 */
const char *
ir_numbers_path (const IrNumbers *numbers)
{
  return numbers->path;
}
