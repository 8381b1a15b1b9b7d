/* A session as JSON: data/schema/session.schema.json says what it holds. What is at its default is left
 * out, and the order is fixed, so that equal sessions are equal texts. */
#include "config.h"

#include "passes/session/session-file.h"

#include "core/io/io.h"
#include "core/io/json/print.h"

#include <string.h>

static void
add_text (cJSON *object, const char *key, const char *text)
{
  if (text != NULL)
    cJSON_AddStringToObject (object, key, text);
}

static void
add_texts (cJSON *object, const char *key, const GPtrArray *texts)
{
  cJSON *array = texts->len > 0 ? cJSON_AddArrayToObject (object, key) : NULL;

  for (guint i = 0; i < texts->len; i++)
    cJSON_AddItemToArray (array, cJSON_CreateString (texts->pdata[i]));
}

static void
add_strv (cJSON *object, const char *key, char **texts)
{
  cJSON *array = texts != NULL && texts[0] != NULL ? cJSON_AddArrayToObject (object, key) : NULL;

  for (guint i = 0; array != NULL && texts[i] != NULL; i++)
    cJSON_AddItemToArray (array, cJSON_CreateString (texts[i]));
}

/* Within @folder (nullable) it is written from there, so that the folder can be moved. */
static void
add_path (cJSON *object, const char *key, const char *path, const char *folder)
{
  g_autofree char *full = path != NULL ? g_canonicalize_filename (path, NULL) : NULL;
  const gsize n = folder != NULL ? strlen (folder) : 0;
  const gboolean within = full != NULL && n > 1 && strncmp (full, folder, n) == 0 && full[n] == '/';

  add_text (object, key, within ? full + n + 1 : full);
}

/* What has no slash is the name of one that comes with the program. */
static void
add_pipeline (cJSON *object, const char *name, const char *folder)
{
  cJSON *item;

  if (name == NULL || strchr (name, '/') == NULL)
    {
      add_text (object, "pipeline", name);
      return;
    }
  add_path (object, "pipeline", name, folder);
  item = cJSON_GetObjectItemCaseSensitive (object, "pipeline");
  if (strchr (item->valuestring, '/') == NULL)
    {
      g_autofree char *here = g_strconcat ("./", item->valuestring, NULL);

      cJSON_SetValuestring (item, here);
    }
}

static cJSON *
done_json (const IrDone *done, const char *folder)
{
  cJSON *object = cJSON_CreateObject (), *made;

  if (done->kind == IR_DONE_PIPELINE)
    add_pipeline (object, done->text, folder);
  else
    add_text (object, ir_done_kind_name (done->kind), done->text);
  add_strv (object, "passes", done->passes);
  add_strv (object, "set", done->set);
  add_text (object, "class", done->step_class);
  add_strv (object, "skips", done->skips);
  cJSON_AddNumberToObject (object, "at", done->at);
  cJSON_AddNumberToObject (object, "steps", done->n_steps);
  if (done->n_nodes > 0)
    cJSON_AddNumberToObject (object, "nodes", done->n_nodes);
  made = done->made != NULL ? cJSON_AddObjectToObject (object, "made") : NULL;
  for (guint i = 0; made != NULL && i < done->made->len; i++)
    {
      const IrDoneCount *count = &g_array_index (done->made, IrDoneCount, i);

      cJSON_AddNumberToObject (made, count->rule, count->n);
    }
  return object;
}

static void
add_done (cJSON *object, const GPtrArray *done, const char *folder)
{
  cJSON *array = done->len > 0 ? cJSON_AddArrayToObject (object, "done") : NULL;

  for (guint i = 0; i < done->len; i++)
    cJSON_AddItemToArray (array, done_json (done->pdata[i], folder));
}

static void
add_graph (cJSON *json, const IrSessionFile *self, const char *folder)
{
  cJSON *model = self->model != NULL ? cJSON_AddObjectToObject (json, "model") : NULL, *branches;

  if (model != NULL)
    {
      add_path (model, "path", self->model, folder);
      add_text (model, "sha256", self->sha256);
    }
  add_path (json, "other", self->other, folder);
  add_pipeline (json, self->pipeline, folder);
  add_strv (json, "passes", self->passes);
  add_strv (json, "passes_set", self->passes_set);
  add_text (json, "class", self->step_class);
  add_texts (json, "set", self->set);
  if (!self->prove)
    cJSON_AddBoolToObject (json, "prove", FALSE);
  add_done (json, self->done, folder);
  if (self->n_done < self->done->len)
    cJSON_AddNumberToObject (json, "now", self->n_done);
  if (self->n_undone > 0)
    cJSON_AddNumberToObject (json, "undone", self->n_undone);
  branches = self->branches->len > 0 ? cJSON_AddArrayToObject (json, "branches") : NULL;
  for (guint i = 0; i < self->branches->len; i++)
    {
      const IrDoneBranch *branch = self->branches->pdata[i];
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddNumberToObject (object, "shared", branch->n_shared);
      add_done (object, branch->done, folder);
      cJSON_AddItemToArray (branches, object);
    }
  if (self->step > 0)
    cJSON_AddNumberToObject (json, "step", self->step);
  add_text (json, "compare", self->compare);
}

static void
add_inputs (cJSON *json, const IrSessionFile *self, const char *folder)
{
  cJSON *array = self->inputs->len > 0 ? cJSON_AddArrayToObject (json, "inputs") : NULL;

  for (guint i = 0; i < self->inputs->len; i++)
    {
      const IrSessionInput *input = self->inputs->pdata[i];
      cJSON *object = cJSON_CreateObject ();

      add_text (object, "name", input->name);
      add_text (object, "kind", input->kind);
      if (strcmp (input->kind, "file") == 0 || strcmp (input->kind, "picture") == 0)
        add_path (object, "text", input->text, folder);
      else
        add_text (object, "text", input->text);
      cJSON_AddItemToArray (array, object);
    }
  add_texts (json, "sizes", self->sizes);
  if (self->seed > IR_SESSION_MAX_COUNT)
    {
      g_autofree char *seed = g_strdup_printf ("%" G_GUINT64_FORMAT, self->seed);

      cJSON_AddStringToObject (json, "seed", seed);
    }
  else if (self->seed > 0)
    cJSON_AddNumberToObject (json, "seed", (double) self->seed);
}

static void
add_debugger (cJSON *json, const IrSessionFile *self)
{
  cJSON *array = self->breakpoints->len > 0 ? cJSON_AddArrayToObject (json, "breakpoints") : NULL;

  for (guint i = 0; i < self->breakpoints->len; i++)
    {
      const IrSessionBreakpoint *breakpoint = self->breakpoints->pdata[i];
      cJSON *object = cJSON_CreateObject ();

      add_text (object, "text", breakpoint->text);
      cJSON_AddBoolToObject (object, "on", breakpoint->on);
      cJSON_AddItemToArray (array, object);
    }
  add_texts (json, "watches", self->watches);
  array = self->notes->len > 0 ? cJSON_AddArrayToObject (json, "notes") : NULL;
  for (guint i = 0; i < self->notes->len; i++)
    {
      const IrSessionNote *note = self->notes->pdata[i];
      cJSON *object = cJSON_CreateObject ();

      add_text (object, "node", note->node);
      add_text (object, "text", note->text);
      cJSON_AddItemToArray (array, object);
    }
}

static int
compare_keys (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static void
add_views (cJSON *json, const IrSessionFile *self)
{
  g_autofree char **keys = (char **) g_hash_table_get_keys_as_array (self->window, NULL);
  const guint n = g_hash_table_size (self->window);
  cJSON *views = NULL, *window;

  if (self->view != NULL)
    cJSON_AddItemToObject (json, "view", cJSON_Parse (self->view));
  for (guint i = 0; i < IR_N_SESSION_VIEWS; i++)
    {
      const char key[] = { (char) ('1' + i), '\0' };

      if (self->views[i] == NULL)
        continue;
      views = views != NULL ? views : cJSON_AddObjectToObject (json, "views");
      cJSON_AddItemToObject (views, key, cJSON_Parse (self->views[i]));
    }
  qsort (keys, n, sizeof *keys, compare_keys);
  window = n > 0 ? cJSON_AddObjectToObject (json, "window") : NULL;
  for (guint i = 0; i < n; i++)
    cJSON_AddStringToObject (window, keys[i], g_hash_table_lookup (self->window, keys[i]));
}

/**
 * ir_session_file_text:
 * @self: a session
 * @folder: (nullable): absolute; paths within it are written from there
 *
 * Returns: (transfer full): as data/schema/session.schema.json has it, with a newline
 */
char *
ir_session_file_text (const IrSessionFile *self, const char *folder)
{
  cJSON *json = cJSON_CreateObject ();
  g_autofree char *text = NULL;

  cJSON_AddNumberToObject (json, "irscope_session", IR_SESSION_VERSION);
  add_text (json, "program", self->program);
  add_graph (json, self, folder);
  add_inputs (json, self, folder);
  add_debugger (json, self);
  add_views (json, self);
  text = ir_json_print_text (json);
  cJSON_Delete (json);
  return g_strconcat (text, "\n", NULL);
}

/**
 * ir_session_file_write:
 * @self: a session
 * @path: the file, which is replaced as a whole
 * @error: return location for an error, or %NULL
 *
 * Paths of models, inputs and pipelines that lie in the folder of @path, or below it, are written from there.
 *
 * Fails with %IR_IO_ERROR_OPEN.
 *
 * Returns: whether it was written
 */
gboolean
ir_session_file_write (const IrSessionFile *self, const char *path, GError **error)
{
  g_autofree char *full = g_canonicalize_filename (path, NULL), *folder = g_path_get_dirname (full),
                  *text = ir_session_file_text (self, folder);
  const gsize length = strlen (text);
  g_autoptr (GBytes) bytes = g_bytes_new_take (g_steal_pointer (&text), length);

  return ir_file_write_atomic (full, bytes, error);
}
