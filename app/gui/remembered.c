/* Sizes, what inputs are given, and views of models. sizes.ini in the user's data: a group per model, called by a checksum of its path, as the names of
 * groups and keys are not free. The models that changed longest ago go first. */
#include "config.h"

#include "app/gui/remembered.h"

#include "core/exec/exec.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/inputs.h"
#include "views/session/kept.h"
#include "views/session/timeline.h"

#include <string.h>

#define MAX_MODELS 200

typedef struct
{
  char *path;        /* (nullable) of the model whose sizes are in the session */
  GHashTable *sizes; /* (nullable) as they were written, referenced: the session makes new ones */
  char *inputs;      /* (nullable) what was said of inputs, as it was written */
  gboolean restoring;
} Remembered;

/* What is said of inputs: their names, how each is given, and what. */
typedef struct
{
  GPtrArray *names, *kinds, *texts; /* of char * */
} Inputs;

static const char *const input_keys[] = { "inputs", "input-kinds", "input-texts" };

static void
inputs_clear (Inputs *inputs)
{
  g_ptr_array_unref (inputs->names);
  g_ptr_array_unref (inputs->kinds);
  g_ptr_array_unref (inputs->texts);
}

static Inputs
inputs_of (IrSession *session)
{
  const IrGraph *graph = ir_session_get_original (session)->main;
  Inputs inputs = { g_ptr_array_new_with_free_func (g_free),
                    g_ptr_array_new_with_free_func (g_free),
                    g_ptr_array_new_with_free_func (g_free) };

  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    {
      const IrValue *input = ir_graph_input (graph, i);
      const IrInputWords *words = input != NULL ? ir_session_input_words (session, input->id)
                                                : NULL;

      if (words == NULL)
        continue;
      g_ptr_array_add (inputs.names, g_strdup (input->name));
      g_ptr_array_add (inputs.kinds, g_strdup (words->kind));
      g_ptr_array_add (inputs.texts, g_strdup (words->text));
    }
  return inputs;
}

/* All of it, to see whether it has changed. (transfer full) */
static char *
inputs_text (const Inputs *inputs)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < inputs->names->len; i++)
    g_string_append_printf (text, "%s\n%s\n%s\n", (char *) inputs->names->pdata[i],
                            (char *) inputs->kinds->pdata[i], (char *) inputs->texts->pdata[i]);
  return g_string_free (text, FALSE);
}

static void
remembered_free (gpointer data)
{
  Remembered *self = data;

  g_free (self->path);
  g_free (self->inputs);
  g_clear_pointer (&self->sizes, g_hash_table_unref);
  g_free (self);
}

static char *
file_path (void)
{
  return g_build_filename (g_get_user_data_dir (), "irscope", "sizes.ini", NULL);
}

/* Read each time: other windows write it too. */
static GKeyFile *
load (void)
{
  GKeyFile *file = g_key_file_new ();
  g_autofree char *path = file_path ();

  g_key_file_load_from_file (file, path, G_KEY_FILE_NONE, NULL);
  return file;
}

static char *
group_of (const char *path)
{
  g_autofree char *full = g_canonicalize_filename (path, NULL);

  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, full, -1);
}

static void
drop_oldest (GKeyFile *file)
{
  g_auto (GStrv) groups = g_key_file_get_groups (file, NULL);
  const guint n = g_strv_length (groups);

  for (guint i = 0; i + MAX_MODELS < n; i++)
    g_key_file_remove_group (file, groups[i], NULL);
}

/* The group goes to the end of the file. Where it cannot be written, what was said lasts as long
 * as the window. */
static void
write_model (const char *path, GHashTable *sizes, const Inputs *inputs)
{
  const GPtrArray *const lists[] = { inputs->names, inputs->kinds, inputs->texts };
  g_autoptr (GKeyFile) file = load ();
  g_autofree char *group = group_of (path), *name = file_path (), *dir = g_path_get_dirname (name);
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func (g_free);
  GHashTableIter iter;
  gpointer key, size;

  g_hash_table_iter_init (&iter, sizes);
  while (g_hash_table_iter_next (&iter, &key, &size))
    g_ptr_array_add (texts, g_strdup_printf ("%s=%" G_GINT64_FORMAT, (const char *) key,
                                             *(const gint64 *) size));
  g_key_file_remove_group (file, group, NULL);
  if (texts->len + inputs->names->len > 0)
    g_key_file_set_string (file, group, "path", path);
  if (texts->len > 0)
    g_key_file_set_string_list (file, group, "sizes", (const char *const *) texts->pdata,
                                texts->len);
  for (guint i = 0; inputs->names->len > 0 && i < G_N_ELEMENTS (lists); i++)
    g_key_file_set_string_list (file, group, input_keys[i], (const char *const *) lists[i]->pdata,
                                lists[i]->len);
  drop_oldest (file);
  g_mkdir_with_parents (dir, 0700);
  g_key_file_save_to_file (file, name, NULL);
}

static gboolean
is_free (const GArray *dims, const char *name)
{
  for (guint i = 0; i < dims->len; i++)
    if (strcmp (g_array_index (dims, IrFreeDim, i).name, name) == 0)
      return TRUE;
  return FALSE;
}

/* The file may have been changed since: only dims that are open are asked for. */
static void
restore (IrSession *session, const char *path)
{
  g_autoptr (GKeyFile) file = load ();
  g_autofree char *group = group_of (path);
  g_auto (GStrv) texts = g_key_file_get_string_list (file, group, "sizes", NULL, NULL);
  g_autoptr (GArray) dims = texts != NULL ? ir_session_free_dims (session) : NULL;

  for (guint i = 0; texts != NULL && texts[i] != NULL; i++)
    {
      char *equals = strrchr (texts[i], '=');
      gint64 size;

      if (equals == NULL || !g_ascii_string_to_signed (equals + 1, 10, 0, G_MAXINT32, &size, NULL))
        continue;
      *equals = '\0';
      if (is_free (dims, texts[i]))
        ir_session_set_size (session, texts[i], size);
    }
}

/* What was given then may be gone, or the input another: then it is random, and that is said. */
static void
restore_inputs (IrSession *session, const char *path)
{
  g_autoptr (GKeyFile) file = load ();
  g_autofree char *group = group_of (path);
  GStrv lists[G_N_ELEMENTS (input_keys)];
  guint n = G_MAXUINT;

  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    {
      lists[i] = g_key_file_get_string_list (file, group, input_keys[i], NULL, NULL);
      n = MIN (n, lists[i] != NULL ? g_strv_length (lists[i]) : 0);
    }
  for (guint i = 0; i < n; i++)
    {
      const IrValue *input = ir_graph_find_value (ir_session_get_original (session)->main,
                                                  lists[0][i]);
      g_autoptr (GError) error = NULL;

      if (input == NULL || !ir_value_is_graph_input (input) ||
          ir_session_give_input (session, input->id, lists[1][i], lists[2][i], &error))
        continue;
      g_autofree char *text = g_strdup_printf ("Input %s is random: %s", input->name,
                                               error != NULL ? error->message
                                                             : "what it was given is not known");
      g_signal_emit_by_name (session, "message", text);
    }
  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    g_strfreev (lists[i]);
}

static void
take (Remembered *self, IrSession *session, const Inputs *inputs)
{
  g_clear_pointer (&self->sizes, g_hash_table_unref);
  self->sizes = g_hash_table_ref (ir_session_get_sizes (session));
  g_free (self->inputs);
  self->inputs = inputs_text (inputs);
}

static void
on_changed (IrSession *session, guint flags, Remembered *self)
{
  const char *path = ir_session_is_empty (session) ? NULL : ir_session_get_path (session);
  Inputs inputs;

  if (!(flags & IR_CHANGED_INPUTS) || path == NULL)
    return;
  if (self->restoring)
    return;
  if (g_strcmp0 (path, self->path) != 0 ||
      (flags == IR_CHANGED_ALL && g_hash_table_size (ir_session_get_sizes (session)) == 0))
    {
      g_free (self->path);
      self->path = g_strdup (path);
      self->restoring = TRUE;
      restore (session, path);
      restore_inputs (session, path);
      self->restoring = FALSE;
      inputs = inputs_of (session);
    }
  else
    {
      g_autofree char *text = NULL;

      inputs = inputs_of (session);
      text = inputs_text (&inputs);
      if (flags != IR_CHANGED_ALL &&
          (ir_session_get_sizes (session) != self->sizes || g_strcmp0 (text, self->inputs) != 0))
        write_model (path, ir_session_get_sizes (session), &inputs);
    }
  take (self, session, &inputs);
  inputs_clear (&inputs);
}

void
ir_remember_sizes (IrSession *session)
{
  Remembered *self = g_new0 (Remembered, 1);

  g_object_set_data_full (G_OBJECT (session), "remembered-sizes", self, remembered_free);
  g_signal_connect (session, "changed", G_CALLBACK (on_changed), self);
}

/* -- views -- */

static void
restore_views (IrSession *session, const char *path)
{
  const IrFrame *frame = ir_session_get_frame (session);
  g_autofree char *file = ir_kept_file ();
  g_autoptr (GError) error = NULL;
  GPtrArray *views = frame != NULL ? ir_kept_load (file, frame->model, path, &error) : NULL;

  if (error != NULL)
    g_warning ("%s", error->message);
  if (views != NULL)
    ir_session_take_kept (session, views);
}

/* What another window has kept of the same model stays. */
static void
save_views (IrSession *session, const char *path)
{
  const IrModel *model = ir_session_get_frame (session)->model;
  GPtrArray *own = ir_session_get_kept (session);
  g_autofree char *file = ir_kept_file ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) known = ir_kept_load (file, model, path, &error);

  for (guint i = 0; known != NULL && i < own->len; i++)
    if (own->pdata[i] == NULL)
      own->pdata[i] = g_steal_pointer (&known->pdata[i]);
  if (known == NULL || !ir_kept_save (file, model, path, own, &error))
    g_warning ("%s", error->message);
}

/* All has changed where a file was opened. */
static void
on_views_changed (IrSession *session, guint flags)
{
  const char *path = ir_session_is_empty (session) ? NULL : ir_session_get_path (session);

  if (path != NULL && flags == IR_CHANGED_ALL)
    restore_views (session, path);
  else if (path != NULL && flags == IR_CHANGED_KEPT)
    save_views (session, path);
}

void
ir_remember_views (IrSession *session)
{
  g_signal_connect (session, "changed", G_CALLBACK (on_views_changed), NULL);
}
