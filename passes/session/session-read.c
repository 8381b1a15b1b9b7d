/* Reading a session. A key that is not known is of a newer program, and passed over; a value of the wrong
 * kind is an error that says where. */
#include "config.h"

#include "passes/session/session-file.h"

#include "core/io/json/print.h"

#include <math.h>
#include <string.h>

#define MOST_WITHIN 4 /* lists in lists */

/* Where one is, and what was wrong there. */
typedef struct
{
  const char *path;   /* of the file, for messages */
  const char *folder; /* that paths start from */
  GError **error;
  gboolean failed;
  /* items of lists that one is in, from the outside */
  struct
  {
    const char *list;
    guint index;
  } within[MOST_WITHIN];
  guint n_within;
} Reading;

/* "branches[1].done[0].at needs a whole number". @place: (nullable) a key of what one is in; %NULL: that itself */
static void
fail (Reading *reading, const char *place, const char *needed)
{
  g_autoptr (GString) where = g_string_new (NULL);

  for (guint i = 0; i < reading->n_within; i++)
    g_string_append_printf (where, "%s%s[%u]", i > 0 ? "." : "", reading->within[i].list,
                            reading->within[i].index);
  if (place != NULL)
    g_string_append_printf (where, "%s%s", where->len > 0 ? "." : "", place);
  if (!reading->failed)
    g_set_error (reading->error, IR_SESSION_ERROR, IR_SESSION_ERROR_FORMAT,
                 "%s: %s needs %s; data/schema/session.schema.json says what a session holds",
                 reading->path, where->str, needed);
  reading->failed = TRUE;
}

static const cJSON *
item_of (const cJSON *object, const char *key)
{
  return cJSON_GetObjectItemCaseSensitive (object, key);
}

/* (transfer full) (nullable) */
static char *
read_text (Reading *reading, const cJSON *object, const char *key)
{
  const cJSON *item = item_of (object, key);

  if (item != NULL && !cJSON_IsString (item))
    fail (reading, key, "a text");
  return cJSON_IsString (item) ? g_strdup (item->valuestring) : NULL;
}

static char *
need_text (Reading *reading, const cJSON *object, const char *key)
{
  char *text = read_text (reading, object, key);

  if (text == NULL)
    fail (reading, key, "a text");
  return text != NULL ? text : g_strdup ("");
}

static guint
read_number (Reading *reading, const cJSON *object, const char *key, guint fallback, guint most)
{
  const cJSON *item = item_of (object, key);

  if (item == NULL)
    return fallback;
  if (cJSON_IsNumber (item) && item->valuedouble >= 0 && item->valuedouble <= most &&
      item->valuedouble == floor (item->valuedouble))
    return (guint) item->valuedouble;
  fail (reading, key, "a whole number, 0 or more");
  return fallback;
}

static guint
read_count (Reading *reading, const cJSON *object, const char *key, guint fallback)
{
  return read_number (reading, object, key, fallback, IR_SESSION_MAX_COUNT);
}

static gboolean
read_boolean (Reading *reading, const cJSON *object, const char *key, gboolean fallback)
{
  const cJSON *item = item_of (object, key);

  if (item == NULL)
    return fallback;
  if (!cJSON_IsBool (item))
    fail (reading, key, "true or false");
  return cJSON_IsTrue (item);
}

/* The first item of a list; %NULL: it is empty, absent, or no list. */
static const cJSON *
first_of (Reading *reading, const cJSON *object, const char *key)
{
  const cJSON *list = item_of (object, key);

  if (list != NULL && !cJSON_IsArray (list))
    fail (reading, key, "a list");
  return cJSON_IsArray (list) ? list->child : NULL;
}

/* Of a list of objects, one after the other; what is wrong in one is said with its number. */
static const cJSON *
first_item (Reading *reading, const cJSON *object, const char *key)
{
  const cJSON *first = first_of (reading, object, key);

  if (first != NULL)
    {
      reading->within[reading->n_within].list = key;
      reading->within[reading->n_within++].index = 0;
    }
  return first;
}

static const cJSON *
next_item (Reading *reading, const cJSON *item)
{
  if (item->next == NULL)
    reading->n_within--;
  else
    reading->within[reading->n_within - 1].index++;
  return item->next;
}

static const cJSON *
object_of (Reading *reading, const cJSON *object, const char *key)
{
  const cJSON *item = item_of (object, key);

  if (item != NULL && !cJSON_IsObject (item))
    fail (reading, key, "an object");
  return cJSON_IsObject (item) ? item : NULL;
}

static void
read_texts (Reading *reading, const cJSON *object, const char *key, GPtrArray *texts)
{
  for (const cJSON *item = first_of (reading, object, key); item != NULL; item = item->next)
    if (cJSON_IsString (item))
      g_ptr_array_add (texts, g_strdup (item->valuestring));
    else
      fail (reading, key, "texts");
}

/* (transfer full) (nullable): there are none */
static GStrv
read_strv (Reading *reading, const cJSON *object, const char *key)
{
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func (g_free);

  read_texts (reading, object, key, texts);
  if (texts->len == 0)
    return NULL;
  g_ptr_array_add (texts, NULL);
  return (GStrv) g_ptr_array_steal (texts, NULL);
}

/* (transfer full) (nullable): absolute. @path: (transfer full) (nullable) */
static char *
full_path (const Reading *reading, char *path)
{
  char *full = path != NULL ? g_canonicalize_filename (path, reading->folder) : NULL;

  g_free (path);
  return full;
}

/* A name is one of those that come with the program; what looks like a file is one. */
static char *
read_pipeline (Reading *reading, const cJSON *object)
{
  char *name = read_text (reading, object, "pipeline");

  return name != NULL && (strchr (name, '/') != NULL || g_str_has_suffix (name, ".json"))
             ? full_path (reading, name)
             : name;
}

/* -- what was done -- */

static void
read_made (Reading *reading, const cJSON *object, IrDone *done)
{
  const cJSON *made = object_of (reading, object, "made");

  if (made == NULL)
    return;
  ir_done_expect_nothing (done);
  for (const cJSON *item = made->child; item != NULL; item = item->next)
    ir_done_expect_rule (done, item->string, read_count (reading, made, item->string, 0));
}

static IrDone *
read_done (Reading *reading, const cJSON *object)
{
  IrDone *done = ir_done_new (IR_DONE_ACT, NULL, NULL, read_count (reading, object, "at", 0));
  guint n = 0;

  for (IrDoneKind kind = 0; kind < IR_N_DONE_KINDS; kind++)
    if (item_of (object, ir_done_kind_name (kind)) != NULL)
      {
        g_free (done->text);
        done->kind = kind;
        done->text = kind == IR_DONE_PIPELINE
                         ? read_pipeline (reading, object)
                         : need_text (reading, object, ir_done_kind_name (kind));
        n++;
      }
  if (n != 1)
    fail (reading, NULL, "one of act, text, kernel, opset and pipeline");
  done->skips = read_strv (reading, object, "skips");
  done->passes = read_strv (reading, object, "passes");
  done->set = read_strv (reading, object, "set");
  done->step_class = read_text (reading, object, "class");
  done->n_steps = read_count (reading, object, "steps", done->at);
  done->n_nodes = read_count (reading, object, "nodes", 0);
  if (done->n_steps < done->at)
    fail (reading, "steps", "a number that is not less than at");
  read_made (reading, object, done);
  return done;
}

static void
read_all_done (Reading *reading, const cJSON *object, GPtrArray *done)
{
  for (const cJSON *item = first_item (reading, object, "done"); item != NULL;
       item = next_item (reading, item))
    g_ptr_array_add (done, read_done (reading, item));
}

static void
read_branches (Reading *reading, const cJSON *json, IrSessionFile *self)
{
  for (const cJSON *item = first_item (reading, json, "branches"); item != NULL;
       item = next_item (reading, item))
    {
      IrDoneBranch *branch = g_new0 (IrDoneBranch, 1);

      branch->done = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_done_free);
      g_ptr_array_add (self->branches, branch);
      branch->n_shared = read_count (reading, item, "shared", 0);
      read_all_done (reading, item, branch->done);
      if (branch->n_shared > self->done->len)
        fail (reading, "shared", "a number that is not larger than that of what was done");
    }
}

/* -- the rest -- */

static void
read_inputs (Reading *reading, const cJSON *json, IrSessionFile *self)
{
  for (const cJSON *item = first_item (reading, json, "inputs"); item != NULL;
       item = next_item (reading, item))
    {
      g_autofree char *name = need_text (reading, item, "name"),
                      *kind = need_text (reading, item, "kind"),
                      *text = need_text (reading, item, "text");

      if (strcmp (kind, "file") == 0 || strcmp (kind, "picture") == 0)
        text = full_path (reading, g_steal_pointer (&text));
      ir_session_file_add_input (self, name, kind, text);
    }
}

static void
read_seed (Reading *reading, const cJSON *json, IrSessionFile *self)
{
  const cJSON *seed = item_of (json, "seed");

  if (cJSON_IsString (seed))
    {
      if (!g_ascii_string_to_unsigned (seed->valuestring, 10, 0, G_MAXUINT64, &self->seed, NULL))
        fail (reading, "seed", "a whole number");
    }
  else
    self->seed = read_number (reading, json, "seed", 0, G_MAXINT32); /* older ones are so large */
}

static void
read_debugger (Reading *reading, const cJSON *json, IrSessionFile *self)
{
  for (const cJSON *item = first_item (reading, json, "breakpoints"); item != NULL;
       item = next_item (reading, item))
    {
      g_autofree char *text = need_text (reading, item, "text");

      ir_session_file_add_breakpoint (self, text, read_boolean (reading, item, "on", TRUE));
    }
  read_texts (reading, json, "watches", self->watches);
  for (const cJSON *item = first_item (reading, json, "notes"); item != NULL;
       item = next_item (reading, item))
    {
      g_autofree char *node = need_text (reading, item, "node"),
                      *text = need_text (reading, item, "text");

      ir_session_file_add_note (self, node, text);
    }
}

static void
read_views (Reading *reading, const cJSON *json, IrSessionFile *self)
{
  const cJSON *view = object_of (reading, json, "view"),
              *views = object_of (reading, json, "views"),
              *window = object_of (reading, json, "window");

  self->view = view != NULL ? ir_json_print_line (view) : NULL;
  for (guint i = 0; i < IR_N_SESSION_VIEWS; i++)
    {
      const char key[] = { (char) ('1' + i), '\0' };

      view = object_of (reading, views, key);
      self->views[i] = view != NULL ? ir_json_print_line (view) : NULL;
    }
  for (const cJSON *item = window != NULL ? window->child : NULL; item != NULL; item = item->next)
    g_hash_table_replace (self->window, g_strdup (item->string),
                          need_text (reading, window, item->string));
}

static void
read_session (Reading *reading, const cJSON *json, IrSessionFile *self)
{
  const cJSON *model = object_of (reading, json, "model");

  g_free (self->program);
  self->program = need_text (reading, json, "program");
  if (model != NULL)
    {
      self->model = full_path (reading, need_text (reading, model, "path"));
      self->sha256 = read_text (reading, model, "sha256");
    }
  self->other = full_path (reading, read_text (reading, json, "other"));
  self->pipeline = read_pipeline (reading, json);
  self->passes = read_strv (reading, json, "passes");
  self->passes_set = read_strv (reading, json, "passes_set");
  self->step_class = read_text (reading, json, "class");
  read_texts (reading, json, "set", self->set);
  self->prove = read_boolean (reading, json, "prove", TRUE);
  read_all_done (reading, json, self->done);
  self->n_done = read_count (reading, json, "now", self->done->len);
  if (self->n_done > self->done->len)
    fail (reading, "now", "a number that is not larger than that of what was done");
  self->n_undone = read_count (reading, json, "undone", 0);
  read_branches (reading, json, self);
  self->step = read_count (reading, json, "step", 0);
  self->compare = read_text (reading, json, "compare");
  read_texts (reading, json, "sizes", self->sizes);
  read_inputs (reading, json, self);
  read_seed (reading, json, self);
  read_debugger (reading, json, self);
  read_views (reading, json, self);
}

/* "line 3, column 7" (transfer full) */
static char *
place_in (const char *text, const char *at)
{
  guint line = 1;
  const char *begin = text;

  for (const char *p = text; p < at; p++)
    if (*p == '\n')
      {
        line++;
        begin = p + 1;
      }
  return g_strdup_printf ("line %u, column %u", line, (guint) (at - begin) + 1);
}

/* Where the JSON ends nothing but blanks may follow: what else is there was meant to be read. */
static gboolean
is_whole (const char *text, gsize length, const char *end)
{
  while (end < text + length && g_ascii_isspace (*end))
    end++;
  return end == text + length;
}

/**
 * ir_session_file_parse:
 * @text: JSON
 * @length: of @text in bytes, or -1
 * @path: that it is of, from whose folder relative paths start
 * @error: return location for an error, or %NULL
 *
 * Fails with %IR_SESSION_ERROR_FORMAT or %IR_SESSION_ERROR_VERSION.
 *
 * Returns: (transfer full) (nullable): the session
 */
IrSessionFile *
ir_session_file_parse (const char *text, gssize length, const char *path, GError **error)
{
  const gsize size = length >= 0 ? (gsize) length : strlen (text);
  const char *end = NULL;
  cJSON *json = cJSON_ParseWithLengthOpts (text, size, &end, FALSE);
  const gboolean whole = json == NULL || is_whole (text, size, end);
  g_autofree char *behind = whole ? NULL : place_in (text, end);
  const cJSON *version = item_of (json, "irscope_session");
  g_autofree char *full = g_canonicalize_filename (path, NULL), *folder = g_path_get_dirname (full);
  g_autoptr (IrSessionFile) self = ir_session_file_new ();
  Reading reading = { path, folder, error, FALSE };

  self->file = g_strdup (full);
  reading.failed = !whole || !cJSON_IsNumber (version) || version->valuedouble > IR_SESSION_VERSION;
  if (!whole)
    g_set_error (error, IR_SESSION_ERROR, IR_SESSION_ERROR_FORMAT,
                 "%s: is no session of irscope: something follows the end of the JSON, from %s on; "
                 "take it out",
                 path, behind);
  else if (json == NULL)
    {
      g_autofree char *place = place_in (text, end != NULL ? end : text);

      g_set_error (error, IR_SESSION_ERROR, IR_SESSION_ERROR_FORMAT,
                   "%s: is no session of irscope: it is no JSON, from %s on", path, place);
    }
  else if (!cJSON_IsNumber (version))
    g_set_error (error, IR_SESSION_ERROR, IR_SESSION_ERROR_FORMAT,
                 "%s: is no session of irscope: it has no number irscope_session", path);
  else if (reading.failed)
    g_set_error (error, IR_SESSION_ERROR, IR_SESSION_ERROR_VERSION,
                 "%s: is a session of version %g; this program reads version %d: a newer one wrote "
                 "it, open it there",
                 path, version->valuedouble, IR_SESSION_VERSION);
  else
    read_session (&reading, json, self);
  cJSON_Delete (json);
  return reading.failed ? NULL : g_steal_pointer (&self);
}

/**
 * ir_session_file_read:
 * @path: a session file
 * @error: return location for an error, or %NULL
 *
 * Fails with %IR_SESSION_ERROR_OPEN, or as ir_session_file_parse() does.
 *
 * Returns: (transfer full) (nullable): the session
 */
IrSessionFile *
ir_session_file_read (const char *path, GError **error)
{
  g_autofree char *text = NULL;
  g_autoptr (GError) why = NULL;
  gsize length;

  if (g_file_get_contents (path, &text, &length, &why))
    return ir_session_file_parse (text, (gssize) length, path, error);
  g_set_error (error, IR_SESSION_ERROR, IR_SESSION_ERROR_OPEN, "the session cannot be read: %s",
               why->message);
  return NULL;
}
