/* Pipelines as files: which passes run, in which order, how often. The files in data/pipelines are
 * JSON:
 *
 *     { "name": "default", "aliases": ["deploy"], "title": "...", "doc": "...",
 *       "max_iterations": 8,
 *       "passes": ["eliminate-identity", { "pass": "fold-constants", "limit": "1M" }, ...] }
 *
 * Users write their own: every mistake is an error that says where and what was needed. */
#include "config.h"

#include "core/io/io.h"
#include "passes/pipeline/pipeline.h"

#include <cjson/cJSON.h>
#include <string.h>

#define DEFAULT_ITERATIONS 8
#define MAX_ITERATIONS     1000

/**
 * ir_pipeline_free:
 * @pipeline: (transfer full): a pipeline
 */
void
ir_pipeline_free (IrPipeline *pipeline)
{
  g_free (pipeline->name);
  g_free (pipeline->title);
  g_free (pipeline->doc);
  g_ptr_array_unref (pipeline->passes);
  g_clear_pointer (&pipeline->own, g_ptr_array_unref);
  g_clear_pointer (&pipeline->aliases, g_ptr_array_unref);
  g_free (pipeline);
}

static IrPipeline *
pipeline_new (const char *name)
{
  IrPipeline *pipeline = g_new0 (IrPipeline, 1);

  pipeline->name = g_strdup (name);
  pipeline->passes = g_ptr_array_new ();
  pipeline->max_iterations = DEFAULT_ITERATIONS;
  return pipeline;
}

/* How many letters must be put in, left out or replaced; at most 32 letters are looked at. */
static guint
distance (const char *a, const char *b)
{
  guint n = MIN (strlen (b), 32), row[33];

  for (guint k = 0; k <= n; k++)
    row[k] = k;
  for (guint i = 1; a[i - 1] != '\0' && i <= 32; i++)
    {
      guint corner = row[0];

      row[0] = i;
      for (guint k = 1; k <= n; k++)
        {
          guint best = MIN (MIN (row[k], row[k - 1]) + 1, corner + (a[i - 1] != b[k - 1]));
          corner = row[k];
          row[k] = best;
        }
    }
  return row[n];
}

static const char *
nearest_pass (const char *name)
{
  const char *nearest = NULL;
  guint n, best = 5;
  const IrPass *const *passes = ir_passes (&n);

  for (guint i = 0; i < n; i++)
    if (distance (name, passes[i]->name) < best)
      {
        best = distance (name, passes[i]->name);
        nearest = passes[i]->name;
      }
  return nearest;
}

static gboolean
add_pass (IrPipeline *pipeline, const char *where, const char *name, GError **error)
{
  const IrPass *pass = ir_pass_find (name);
  const char *nearest;

  if (pass != NULL)
    {
      g_ptr_array_add (pipeline->passes, (gpointer) pass);
      return TRUE;
    }
  nearest = nearest_pass (name);
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "%s: there is no pass \"%s\"; %s%s%s\"irscope passes\" lists them", where, name,
               nearest != NULL ? "is \"" : "", nearest != NULL ? nearest : "",
               nearest != NULL ? "\" meant? " : "");
  return FALSE;
}

/* Sets an option of the pass at @index. */
static gboolean
set_option (
    IrPipeline *pipeline, guint index, const char *option, const char *value, GError **error)
{
  IrPass *pass = ir_pass_set (pipeline->passes->pdata[index], option, value, error);

  if (pass == NULL)
    return FALSE;
  if (pipeline->own == NULL)
    pipeline->own = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_pass_set_free);
  g_ptr_array_add (pipeline->own, pass);
  pipeline->passes->pdata[index] = pass;
  return TRUE;
}

static gboolean
fail_to_set (const char *assignment, GError **error, const char *why)
{
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s: %s", assignment, why);
  return FALSE;
}

/**
 * ir_pipeline_set:
 * @pipeline: a pipeline
 * @assignment: "fold-constants.limit=1M"
 * @error: return location for an error
 *
 * Sets an option of each pass of that name.
 *
 * Fails with %G_OPTION_ERROR_BAD_VALUE if the pipeline has no such pass, that no such option, or
 * the option takes no such value.
 *
 * Returns: %TRUE if it was set
 */
gboolean
ir_pipeline_set (IrPipeline *pipeline, const char *assignment, GError **error)
{
  const char *equals = strchr (assignment, '=');
  g_auto (GStrv) words = NULL;
  guint n_set = 0;

  g_autofree char *left = g_strndup (assignment,
                                     equals != NULL ? (gsize) (equals - assignment) : 0);
  words = g_strsplit (left, ".", 2);
  if (equals == NULL || g_strv_length (words) != 2)
    return fail_to_set (assignment, error, "needs the form PASS.OPTION=VALUE");
  for (guint i = 0; i < pipeline->passes->len; i++)
    if (strcmp (((const IrPass *) pipeline->passes->pdata[i])->name, words[0]) == 0)
      {
        if (!set_option (pipeline, i, words[1], equals + 1, error))
          {
            g_prefix_error (error, "%s: ", assignment);
            return FALSE;
          }
        n_set++;
      }
  if (n_set > 0)
    return TRUE;
  g_autofree char *why = g_strdup_printf (
      "there is no pass \"%s\"%s; \"irscope passes\" lists them and their options", words[0],
      ir_pass_find (words[0]) != NULL ? " in the pipeline" : "");
  return fail_to_set (assignment, error, why);
}

/**
 * ir_pipeline_new_from_names:
 * @pass_names: (array zero-terminated=1): names of passes
 * @error: return location for an error
 *
 * Fails with %G_OPTION_ERROR_BAD_VALUE if there is no pass of some name.
 *
 * Returns: (transfer full): a pipeline of these passes, in this order
 */
IrPipeline *
ir_pipeline_new_from_names (const char *const *pass_names, GError **error)
{
  g_autoptr (IrPipeline) pipeline = pipeline_new ("passes");

  pipeline->title = g_strjoinv (", ", (char **) pass_names);
  pipeline->doc = g_strdup ("Passes given by name.");
  for (guint i = 0; pass_names[i] != NULL; i++)
    if (!add_pass (pipeline, "pipeline", pass_names[i], error))
      return NULL;
  return g_steal_pointer (&pipeline);
}

/* -- where they lie -- */

/* In a build tree the source's files, else the installed ones. */
static char *
pipelines_dir (void)
{
  const char *const roots[] = { g_getenv ("IRSCOPE_DATADIR"), IR_SOURCE_DATADIR, IR_DATADIR };

  for (guint i = 0; i < G_N_ELEMENTS (roots); i++)
    {
      g_autofree char *dir = NULL;

      if (roots[i] == NULL)
        continue;
      dir = g_build_filename (roots[i], "pipelines", NULL);
      if (g_file_test (dir, G_FILE_TEST_IS_DIR))
        return g_steal_pointer (&dir);
    }
  return g_build_filename (IR_DATADIR, "pipelines", NULL);
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/**
 * ir_pipeline_names:
 *
 * Returns: (transfer full): names of the pipelines that come with irscope, sorted, "default" first
 */
GStrv
ir_pipeline_names (void)
{
  g_autofree char *path = pipelines_dir ();
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  GPtrArray *names = g_ptr_array_new ();
  const char *file;

  while (dir != NULL && (file = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (file, ".json"))
      g_ptr_array_add (names, g_strndup (file, strlen (file) - strlen (".json")));
  g_ptr_array_sort (names, compare_names);
  for (guint i = 1; i < names->len; i++)
    if (strcmp (names->pdata[i], "default") == 0)
      g_ptr_array_insert (names, 0, g_ptr_array_steal_index (names, i));
  g_ptr_array_add (names, NULL);
  return (GStrv) g_ptr_array_free (names, FALSE);
}

/* -- reading: what is wrong is said with line and column -- */

typedef struct
{
  const char *path, *text;
  gsize length;
} Source;

static gboolean complain (const Source *source,
                          const char *at,
                          GError **error,
                          const char *format,
                          ...) G_GNUC_PRINTF (4, 5);

/* @at: (nullable) in the text. Always FALSE. */
static gboolean
complain (const Source *source, const char *at, GError **error, const char *format, ...)
{
  g_autofree char *message = NULL;
  guint line = 1, column = 1;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  for (const char *c = source->text; at != NULL && c < at; c++)
    {
      column = *c == '\n' ? 1 : column + ((*c & 0xc0) != 0x80);
      line += *c == '\n';
    }
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "pipeline %s:%u:%u: %s",
               source->path, line, column, message);
  return FALSE;
}

/* Where a string stands, as it is written; behind @after if that is given. */
static const char *
place_of (const Source *source, const char *string, const char *after)
{
  g_autofree char *quoted = g_strdup_printf ("\"%s\"", string);
  const char *start = after != NULL ? after : source->text;
  const char *found = g_strstr_len (start, (gssize) (source->text + source->length - start),
                                    quoted);

  return found != NULL ? found : start;
}

static gboolean
read_text (const Source *source, const cJSON *item, char **text, GError **error)
{
  if (!cJSON_IsString (item))
    return complain (source, place_of (source, item->string, NULL), error,
                     "\"%s\" must be a string", item->string);
  g_free (*text);
  *text = g_strdup (item->valuestring);
  return TRUE;
}

static gboolean
read_iterations (const Source *source, const cJSON *item, guint *n, GError **error)
{
  if (!cJSON_IsNumber (item) || item->valuedouble < 1 || item->valuedouble > MAX_ITERATIONS ||
      item->valuedouble != (guint) item->valuedouble)
    return complain (source, place_of (source, item->string, NULL), error,
                     "\"max_iterations\" must be a whole number from 1 to %d", MAX_ITERATIONS);
  *n = (guint) item->valuedouble;
  return TRUE;
}

/* (nullable) The text of an option: a string, a number, or strings with a comma between. */
static char *
option_text (const cJSON *item)
{
  GString *text = g_string_new (NULL);
  const cJSON *part;

  if (cJSON_IsString (item))
    g_string_append (text, item->valuestring);
  else if (cJSON_IsNumber (item) && item->valuedouble == (double) (gint64) item->valuedouble)
    g_string_append_printf (text, "%" G_GINT64_FORMAT, (gint64) item->valuedouble);
  else if (!cJSON_IsArray (item))
    return g_string_free (text, TRUE), NULL;
  if (cJSON_IsArray (item))
    cJSON_ArrayForEach (part, item)
    {
      if (!cJSON_IsString (part))
        return g_string_free (text, TRUE), NULL;
      g_string_append_printf (text, "%s%s", text->len > 0 ? "," : "", part->valuestring);
    }
  return g_string_free (text, FALSE);
}

/* { "pass": "fold-constants", "limit": "1M" }: the options of the pass that was added last. */
static gboolean
read_options (const Source *source,
              const cJSON *object,
              IrPipeline *pipeline,
              const char **at,
              GError **error)
{
  const cJSON *item;

  cJSON_ArrayForEach (item, object)
  {
    g_autofree char *text = option_text (item);
    g_autoptr (GError) wrong = NULL;
    if (strcmp (item->string, "pass") == 0)
      continue;
    const char *place = place_of (source, item->string, *at);
    if (text == NULL)
      return complain (source, place, error,
                       "\"%s\" must be a string, a whole number or a list of strings",
                       item->string);
    if (!set_option (pipeline, pipeline->passes->len - 1, item->string, text, &wrong))
      return complain (source, place, error, "%s", wrong->message);
  }
  return TRUE;
}

static gboolean
read_pass (
    const Source *source, const cJSON *item, IrPipeline *pipeline, const char **at, GError **error)
{
  const cJSON *name = cJSON_IsObject (item) ? cJSON_GetObjectItemCaseSensitive (item, "pass")
                                            : item;
  g_autoptr (GError) unknown = NULL;

  if (!cJSON_IsString (name))
    return complain (source, *at, error,
                     "\"passes\" must hold names of passes, or objects with a name as \"pass\" "
                     "and options, and nothing else");
  *at = place_of (source, name->valuestring, *at);
  if (!add_pass (pipeline, "passes", name->valuestring, &unknown))
    return complain (source, *at, error, "%s", unknown->message);
  *at += strlen (name->valuestring) + 2;
  return !cJSON_IsObject (item) || read_options (source, item, pipeline, at, error);
}

static gboolean
read_passes (const Source *source, const cJSON *list, IrPipeline *pipeline, GError **error)
{
  const char *at = place_of (source, "passes", NULL);
  const cJSON *item;

  if (!cJSON_IsArray (list))
    return complain (source, at, error, "\"passes\" must be a list of names of passes");
  at += strlen ("\"passes\"");
  cJSON_ArrayForEach (item, list) if (!read_pass (source, item, pipeline, &at, error)) return FALSE;
  return TRUE;
}

static gboolean
read_aliases (const Source *source, const cJSON *list, IrPipeline *pipeline, GError **error)
{
  const cJSON *item;

  if (!cJSON_IsArray (list))
    return complain (source, place_of (source, "aliases", NULL), error,
                     "\"aliases\" must be a list of names");
  if (pipeline->aliases == NULL)
    pipeline->aliases = g_ptr_array_new_with_free_func (g_free);
  cJSON_ArrayForEach (item, list)
  {
    if (!cJSON_IsString (item))
      return complain (source, place_of (source, "aliases", NULL), error,
                       "\"aliases\" must hold names, and nothing else");
    g_ptr_array_add (pipeline->aliases, g_strdup (item->valuestring));
  }
  return TRUE;
}

static gboolean
read_member (const Source *source, const cJSON *item, IrPipeline *pipeline, GError **error)
{
  if (strcmp (item->string, "name") == 0)
    return read_text (source, item, &pipeline->name, error);
  if (strcmp (item->string, "aliases") == 0)
    return read_aliases (source, item, pipeline, error);
  if (strcmp (item->string, "title") == 0)
    return read_text (source, item, &pipeline->title, error);
  if (strcmp (item->string, "doc") == 0)
    return read_text (source, item, &pipeline->doc, error);
  if (strcmp (item->string, "max_iterations") == 0)
    return read_iterations (source, item, &pipeline->max_iterations, error);
  if (strcmp (item->string, "passes") == 0)
    return read_passes (source, item, pipeline, error);
  if (item->string[0] == '$')
    return TRUE;
  return complain (source, place_of (source, item->string, NULL), error,
                   "\"%s\" is not known; there are name, aliases, title, doc, max_iterations and passes",
                   item->string);
}

static gboolean
read_json (const Source *source, const cJSON *json, IrPipeline *pipeline, GError **error)
{
  const cJSON *item;

  cJSON_ArrayForEach (item, json) if (!read_member (source, item, pipeline, error)) return FALSE;
  if (cJSON_GetObjectItemCaseSensitive (json, "passes") == NULL)
    return complain (source, NULL, error, "needs a list \"passes\" of names of passes");
  if (pipeline->title == NULL)
    pipeline->title = g_strdup (pipeline->name);
  if (pipeline->doc == NULL)
    pipeline->doc = g_strdup ("");
  return TRUE;
}

static void
delete_json (cJSON *json)
{
  cJSON_Delete (json);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (cJSON, delete_json)

static char *
path_of (const char *name_or_path)
{
  g_autofree char *dir = NULL, *file = NULL;

  if (strchr (name_or_path, G_DIR_SEPARATOR) != NULL || g_str_has_suffix (name_or_path, ".json"))
    return g_strdup (name_or_path);
  dir = pipelines_dir ();
  file = g_strconcat (name_or_path, ".json", NULL);
  return g_build_filename (dir, file, NULL);
}

static gboolean
parse (const Source *source, IrPipeline *pipeline, GError **error)
{
  const char *end = NULL;
  g_autoptr (cJSON) json = cJSON_ParseWithLengthOpts (source->text, source->length, &end, FALSE);

  if (json == NULL)
    return complain (source, end, error,
                     "this is not JSON: a \",\", a quote or a bracket too many "
                     "or too few?");
  while (end < source->text + source->length && g_ascii_isspace (*end))
    end++;
  if (end < source->text + source->length)
    return complain (source, end, error, "nothing may follow the object");
  if (!cJSON_IsObject (json))
    return complain (source, NULL, error, "is not a JSON object");
  return read_json (source, json, pipeline, error);
}

static IrPipeline *
load_failed (const char *name_or_path, GError **error)
{
  g_auto (GStrv) names = ir_pipeline_names ();
  g_autofree char *known = g_strjoinv (", ", names);

  g_prefix_error (error, "pipeline %s: ", name_or_path);
  if (error != NULL && *error != NULL && known[0] != '\0')
    {
      char *message = g_strdup_printf ("%s (those that come with irscope: %s)", (*error)->message,
                                       known);
      g_free ((*error)->message);
      (*error)->message = message;
    }
  return NULL;
}

static IrPipeline *
load_file (const char *path, GError **error)
{
  g_autofree char *text = NULL, *base = NULL;
  g_autoptr (IrPipeline) pipeline = NULL;
  Source source = { .path = path };

  text = ir_file_read_settings (path, &source.length, error);
  if (text == NULL)
    return NULL;
  source.text = text;
  base = g_path_get_basename (path);
  if (g_str_has_suffix (base, ".json"))
    base[strlen (base) - strlen (".json")] = '\0';
  pipeline = pipeline_new (base);
  return parse (&source, pipeline, error) ? g_steal_pointer (&pipeline) : NULL;
}

/* A pipeline that comes with irscope, by another of its names. */
static IrPipeline *
load_by_alias (const char *name)
{
  g_auto (GStrv) names = ir_pipeline_names ();

  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autofree char *path = path_of (names[i]);
      g_autoptr (IrPipeline) pipeline = load_file (path, NULL);

      if (pipeline != NULL && pipeline->aliases != NULL &&
          g_ptr_array_find_with_equal_func (pipeline->aliases, name, g_str_equal, NULL))
        return g_steal_pointer (&pipeline);
    }
  return NULL;
}

/**
 * ir_pipeline_load:
 * @name_or_path: name or alias of a pipeline that comes with irscope, or the path of a JSON file
 * @error: return location for an error
 *
 * Fails if there is no such file, or with file, line and column where it is not what
 * data/schema/pipeline.schema.json says.
 *
 * Returns: (transfer full): the pipeline
 */
IrPipeline *
ir_pipeline_load (const char *name_or_path, GError **error)
{
  g_autofree char *path = path_of (name_or_path);
  g_autoptr (GError) local = NULL;
  IrPipeline *pipeline = load_file (path, &local);
  gboolean missing;

  if (pipeline == NULL && g_error_matches (local, G_FILE_ERROR, G_FILE_ERROR_NOENT))
    pipeline = load_by_alias (name_or_path);
  if (pipeline != NULL)
    return pipeline;
  missing = !g_error_matches (local, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE);
  g_propagate_error (error, g_steal_pointer (&local));
  return missing ? load_failed (name_or_path, error) : NULL;
}

static cJSON *
pass_to_json (const IrPass *pass)
{
  cJSON *object;

  if (ir_pass_settings (pass) == NULL)
    return cJSON_CreateString (pass->name);
  object = cJSON_CreateObject ();
  cJSON_AddStringToObject (object, "pass", pass->name);
  for (const IrPassOption *option = pass->options; option->name != NULL; option++)
    if (ir_pass_option_is_set (pass, option->name))
      cJSON_AddStringToObject (object, option->name, ir_pass_option (pass, option->name));
  return object;
}

/**
 * ir_pipeline_to_json:
 * @pipeline: a pipeline
 *
 * Returns: (transfer full): what ir_pipeline_load() reads as the same
 */
char *
ir_pipeline_to_json (const IrPipeline *pipeline)
{
  g_autoptr (cJSON) json = cJSON_CreateObject ();
  cJSON *passes, *aliases = NULL;
  char *printed, *text;

  cJSON_AddStringToObject (json, "name", pipeline->name);
  cJSON_AddStringToObject (json, "title", pipeline->title != NULL ? pipeline->title : "");
  cJSON_AddStringToObject (json, "doc", pipeline->doc != NULL ? pipeline->doc : "");
  cJSON_AddNumberToObject (json, "max_iterations", pipeline->max_iterations);
  if (pipeline->aliases != NULL)
    aliases = cJSON_AddArrayToObject (json, "aliases");
  for (guint i = 0; aliases != NULL && i < pipeline->aliases->len; i++)
    cJSON_AddItemToArray (aliases, cJSON_CreateString (pipeline->aliases->pdata[i]));
  passes = cJSON_AddArrayToObject (json, "passes");
  for (guint i = 0; i < pipeline->passes->len; i++)
    cJSON_AddItemToArray (passes, pass_to_json (pipeline->passes->pdata[i]));
  printed = cJSON_Print (json);
  text = g_strconcat (printed != NULL ? printed : "", "\n", NULL);
  cJSON_free (printed);
  return text;
}
