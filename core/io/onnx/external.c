/* External data: tensors whose bytes lie in other files of the model's folder. A model is untrusted
 * input, so nothing outside that folder is ever opened: absolute paths, "..", and links anywhere on
 * the way are refused. */
#include "config.h"

#include "core/io/io.h"
#include "core/io/onnx/onnx.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static gboolean
refuse (GError **error, const char *location, const char *why)
{
  g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_REFUSED,
               "its data in \"%s\" is refused: %s; external data must lie in the model's folder.",
               location, why);
  return FALSE;
}

/* Every part of the path must exist, stay below and be no link. */
static gboolean
check_location (const char *folder, const char *location, GError **error)
{
  g_auto (GStrv) parts = NULL;
  g_autoptr (GString) path = g_string_new (folder);
  struct stat info;

  if (location[0] == '\0')
    return refuse (error, location, "no file is named");
  if (g_path_is_absolute (location) || location[0] == '\\' || strchr (location, ':') != NULL)
    return refuse (error, location, "the path is absolute");
  parts = g_strsplit_set (location, "/\\", -1);
  for (guint i = 0; parts[i] != NULL; i++)
    {
      if (parts[i][0] == '\0' || strcmp (parts[i], ".") == 0)
        continue;
      if (strcmp (parts[i], "..") == 0)
        return refuse (error, location, "the path leaves the folder");
      g_string_append_printf (path, "/%s", parts[i]);
      if (lstat (path->str, &info) != 0)
        {
          g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_OPEN,
                       "its data in \"%s\" cannot be opened (%s); put that file beside the model.",
                       location, g_strerror (errno));
          return FALSE;
        }
      if (S_ISLNK (info.st_mode))
        return refuse (error, location, "the path goes through a link");
    }
  return TRUE;
}

static IrMappedFile *
open_external (IrOnnxReader *reader, const char *location, GError **error)
{
  IrMappedFile *file = g_hash_table_lookup (reader->external_files, location);
  g_autofree char *path = NULL;

  if (file != NULL)
    return file;
  if (!check_location (reader->folder, location, error))
    return NULL;
  path = g_build_filename (reader->folder, location, NULL);
  file = ir_mapped_file_open (path, error);
  if (file == NULL)
    return NULL;
  g_ptr_array_add (reader->keep_alive, file);
  g_hash_table_insert (reader->external_files, (gpointer) location, file);
  return file;
}

/**
 * ir_onnx_external_bytes:
 * @reader: a reader
 * @location: (nullable): path relative to the model, interned
 * @offset: first byte
 * @length: number of bytes, -1 if the file does not say
 * @expected: number of bytes that shape and type need
 * @error: return location for an error
 *
 * Fails with %IR_IO_ERROR_REFUSED for a path that leaves the model's folder.
 *
 * Returns: (transfer full) (nullable): a slice of the mapped file
 */
GBytes *
ir_onnx_external_bytes (IrOnnxReader *reader,
                        const char *location,
                        guint64 offset,
                        gint64 length,
                        gsize expected,
                        GError **error)
{
  IrMappedFile *file;
  g_autoptr (GBytes) all = NULL;

  if (location == NULL || reader->folder == NULL)
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_OPEN, "%s",
                   location == NULL ? "its data is in another file, but none is named."
                                    : "its data is in another file, and the folder is not known.");
      return NULL;
    }
  if (length >= 0 && (guint64) length != expected)
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT,
                   "has %" G_GINT64_FORMAT
                   " bytes in \"%s\", its shape and type need %" G_GSIZE_FORMAT ".",
                   length, location, expected);
      return NULL;
    }
  file = open_external (reader, location, error);
  if (file == NULL)
    return NULL;
  all = ir_mapped_file_bytes (file);
  if (offset > g_bytes_get_size (all) || expected > g_bytes_get_size (all) - offset)
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_TRUNCATED,
                   "needs %" G_GSIZE_FORMAT " bytes at offset %" G_GUINT64_FORMAT
                   " of \"%s\", which has only %" G_GSIZE_FORMAT ".",
                   expected, offset, location, g_bytes_get_size (all));
      return NULL;
    }
  return g_bytes_new_from_bytes (all, (gsize) offset, expected);
}
