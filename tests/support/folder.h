/* Folders of tests, in that of temporary files. */
#pragma once

#include <gio/gio.h>
#include <glib/gstdio.h>

static inline char *
test_folder (void)
{
  g_autoptr (GError) error = NULL;
  char *folder = g_dir_make_tmp ("irscope-test-XXXXXX", &error);

  g_assert_no_error (error);
  return folder;
}

static inline void
test_remove_folder (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);

      if (g_file_test (path, G_FILE_TEST_IS_DIR) && !g_file_test (path, G_FILE_TEST_IS_SYMLINK))
        test_remove_folder (path);
      else
        g_unlink (path);
    }
  g_rmdir (folder);
}
