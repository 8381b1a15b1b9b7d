/* sizes.ini in the user's data: a group per model, called by a checksum of its path, as the names of
 * groups and keys are not free. The models that changed longest ago go first. */
#include "config.h"

#include "app/gui/remembered.h"

#include "core/exec/exec.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/inputs.h"

#include <string.h>

#define MAX_MODELS 200

typedef struct
{
  char *path;        /* (nullable) of the model whose sizes are in the session */
  GHashTable *sizes; /* (nullable) as they were written, referenced: the session makes new ones */
} Remembered;

static void
remembered_free (gpointer data)
{
  Remembered *self = data;

  g_free (self->path);
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

/* The group goes to the end of the file. Where it cannot be written, sizes last as long as the window. */
static void
write_sizes (const char *path, GHashTable *sizes)
{
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
  if (texts->len > 0)
    {
      g_key_file_set_string (file, group, "path", path);
      g_key_file_set_string_list (file, group, "sizes", (const char *const *) texts->pdata,
                                  texts->len);
    }
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

static void
take_sizes (Remembered *self, IrSession *session)
{
  g_clear_pointer (&self->sizes, g_hash_table_unref);
  self->sizes = g_hash_table_ref (ir_session_get_sizes (session));
}

static void
on_changed (IrSession *session, guint flags, Remembered *self)
{
  const char *path = ir_session_is_empty (session) ? NULL : ir_session_get_path (session);

  if (!(flags & IR_CHANGED_INPUTS) || path == NULL)
    return;
  if (g_strcmp0 (path, self->path) != 0 ||
      (flags == IR_CHANGED_ALL && g_hash_table_size (ir_session_get_sizes (session)) == 0))
    {
      g_free (self->path);
      self->path = g_strdup (path);
      take_sizes (self, session);
      restore (session, path);
    }
  else if (ir_session_get_sizes (session) != self->sizes && flags != IR_CHANGED_ALL)
    write_sizes (path, ir_session_get_sizes (session));
  take_sizes (self, session);
}

void
ir_remember_sizes (IrSession *session)
{
  Remembered *self = g_new0 (Remembered, 1);

  g_object_set_data_full (G_OBJECT (session), "remembered-sizes", self, remembered_free);
  g_signal_connect (session, "changed", G_CALLBACK (on_changed), self);
}
