/* External data: tensors whose bytes lie in other files of the model's folder. A model is untrusted
 * input, so nothing outside that folder is ever opened: absolute paths, "..", and links anywhere on
 * the way are refused. Each part of the path is opened in the folder that the part before it is, by
 * the system call that refuses links, so that nobody can put one there in between. */
#define _GNU_SOURCE /* O_PATH */

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

/* What opening a part has failed for, as errno says. */
static gboolean
cannot_open (int folder, const char *part, const char *location, GError **error)
{
  int reason = errno;
  struct stat info;

  if (fstatat (folder, part, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK (info.st_mode))
    return refuse (error, location, "the path goes through a link");
  g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_OPEN,
               "its data in \"%s\" cannot be opened (%s); put that file beside the model.",
               location, g_strerror (reason));
  return FALSE;
}

/* The parts of a path, without empty ones and "."; NULL if it may lead out of the folder. Models
 * that were saved on Windows have backslashes. */
static GPtrArray *
split_location (const char *location, GError **error)
{
  g_auto (GStrv) split = g_strsplit_set (location, "/\\", -1);
  g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func (g_free);

  if (location[0] == '/' || location[0] == '\\' || strchr (location, ':') != NULL)
    refuse (error, location, "the path is absolute");
  else if (g_strv_contains ((const char *const *) split, ".."))
    refuse (error, location, "the path leaves the folder");
  else
    {
      for (guint i = 0; split[i] != NULL; i++)
        if (split[i][0] != '\0' && strcmp (split[i], ".") != 0)
          g_ptr_array_add (parts, g_strdup (split[i]));
      if (parts->len > 0)
        return g_steal_pointer (&parts);
      refuse (error, location, "no file is named");
    }
  return NULL;
}

/* A descriptor of the file, or -1 and an error. */
static int
open_below (const char *folder, const char *location, GError **error)
{
  g_autoptr (GPtrArray) parts = split_location (location, error);
  int at;

  if (parts == NULL)
    return -1;
  at = open (folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (at < 0)
    cannot_open (AT_FDCWD, folder, location, error);
  for (guint i = 0; i < parts->len && at >= 0; i++)
    {
      gboolean last = i + 1 == parts->len;
      int next = openat (at, parts->pdata[i],
                         O_NOFOLLOW | O_CLOEXEC |
                             (last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY));

      if (next < 0)
        cannot_open (at, parts->pdata[i], location, error);
      close (at);
      at = next;
    }
  return at;
}

static IrMappedFile *
open_external (IrOnnxReader *reader, const char *location, GError **error)
{
  IrMappedFile *file = g_hash_table_lookup (reader->external_files, location);
  g_autofree char *path = NULL;
  int fd;

  if (file != NULL)
    return file;
  fd = open_below (reader->folder, location, error);
  if (fd < 0)
    return NULL;
  path = g_build_filename (reader->folder, location, NULL);
  file = ir_mapped_file_open_fd (fd, path, error);
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
