#include "config.h"

#include "app/gui/state.h"

#define GROUP "window"

static char *
state_path (void)
{
  return g_build_filename (g_get_user_config_dir (), "irscope", "window.ini", NULL);
}

/* Loaded at the first use; a file that is missing or damaged is an empty one. */
static GKeyFile *
state_file (void)
{
  static GKeyFile *file;

  if (g_once_init_enter (&file))
    {
      GKeyFile *loaded = g_key_file_new ();
      g_autofree char *path = state_path ();

      g_key_file_load_from_file (loaded, path, G_KEY_FILE_NONE, NULL);
      g_once_init_leave (&file, loaded);
    }
  return file;
}

char *
ir_state_get_string (const char *key, const char *fallback)
{
  char *value = g_key_file_get_string (state_file (), GROUP, key, NULL);

  return value != NULL ? value : g_strdup (fallback);
}

int
ir_state_get_int (const char *key, int fallback)
{
  g_autoptr (GError) error = NULL;
  const int value = g_key_file_get_integer (state_file (), GROUP, key, &error);

  return error == NULL ? value : fallback;
}

gboolean
ir_state_get_boolean (const char *key, gboolean fallback)
{
  g_autoptr (GError) error = NULL;
  const gboolean value = g_key_file_get_boolean (state_file (), GROUP, key, &error);

  return error == NULL ? value : fallback;
}

void
ir_state_set_string (const char *key, const char *value)
{
  g_key_file_set_string (state_file (), GROUP, key, value);
}

void
ir_state_set_int (const char *key, int value)
{
  g_key_file_set_integer (state_file (), GROUP, key, value);
}

void
ir_state_set_boolean (const char *key, gboolean value)
{
  g_key_file_set_boolean (state_file (), GROUP, key, value);
}

/* Writes what was set. A folder that cannot be written costs the memory, nothing else. */
void
ir_state_save (void)
{
  g_autofree char *path = state_path ();
  g_autofree char *dir = g_path_get_dirname (path);

  if (g_mkdir_with_parents (dir, 0700) == 0)
    g_key_file_save_to_file (state_file (), path, NULL);
}
