/* Writing files so that a crash or a full disk loses nothing: into a temporary file of the same
 * folder, flushed to the disk, then renamed over the old one. */
#include "config.h"

#include "core/io/formats.h"
#include "core/io/mapped-file.h"
#include "core/ir/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gunixoutputstream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/**
 * ir_io_error_quark:
 *
 * Returns: the domain of IR_IO_ERROR
 */
GQuark
ir_io_error_quark (void)
{
  return g_quark_from_static_string ("ir-io-error-quark");
}

static gboolean
fail (GError **error, const char *path, const char *what)
{
  g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_OPEN, "%s: %s (%s).", path, what,
               g_strerror (errno));
  return FALSE;
}

/* The name that a link leads to: the target is replaced, not the link. */
static char *
real_target (const char *path)
{
  char *target = realpath (path, NULL);
  char *copy;

  if (target == NULL)
    return g_strdup (path);
  copy = g_strdup (target);
  free (target);
  return copy;
}

static int
open_temporary (char *name, const char *target)
{
  int fd = g_mkstemp_full (name, O_RDWR | O_CLOEXEC, 0666); /* less the umask */
  struct stat info;

  if (fd >= 0 && stat (target, &info) == 0)
    (void) !fchmod (fd, info.st_mode & 07777);
  return fd;
}

static void
sync_folder (const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);
  int fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  if (fd >= 0)
    {
      fsync (fd);
      close (fd);
    }
}

static gboolean
write_temporary (int fd, const char *path, IrFileFunc func, gpointer user_data, GError **error)
{
  g_autoptr (GOutputStream) file = g_unix_output_stream_new (fd, FALSE);
  g_autoptr (GError) cause = NULL;

  if (!func (file, user_data, &cause))
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_OPEN, "%s: cannot be written (%s).", path,
                   cause != NULL ? cause->message : "no reason given");
      return FALSE;
    }
  return fsync (fd) == 0 || fail (error, path, "cannot be written to the disk");
}

/**
 * ir_file_stream_atomic:
 * @path: file to make or replace
 * @func: (scope call): writes the contents
 * @user_data: for @func
 * @error: return location for an error
 *
 * Replaces @path as a whole or not at all. The permissions of an existing file are kept, and where
 * @path is a link, the file that it leads to is replaced.
 *
 * Returns: %TRUE if the new file is in its place
 */
gboolean
ir_file_stream_atomic (const char *path, IrFileFunc func, gpointer user_data, GError **error)
{
  g_autofree char *target = real_target (path);
  g_autofree char *temporary = g_strconcat (target, ".XXXXXX", NULL);
  struct stat info;
  gboolean ok;
  int fd;

  if (stat (target, &info) == 0 && !S_ISREG (info.st_mode))
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_OPEN, "%s: is no regular file.", path);
      return FALSE;
    }
  fd = open_temporary (temporary, target);
  if (fd < 0)
    return fail (error, path, "its folder cannot be written to");
  ok = write_temporary (fd, path, func, user_data, error);
  if (close (fd) != 0 && ok)
    ok = fail (error, path, "cannot be written");
  if (ok && rename (temporary, target) != 0)
    ok = fail (error, path, "cannot be replaced");
  if (ok)
    sync_folder (target);
  else
    unlink (temporary);
  return ok;
}

static gboolean
stream_bytes (GOutputStream *stream, gpointer user_data, GError **error)
{
  gsize length;
  gconstpointer data = g_bytes_get_data (user_data, &length);

  return length == 0 || g_output_stream_write_all (stream, data, length, NULL, NULL, error);
}

/**
 * ir_file_write_atomic:
 * @path: file to make or replace
 * @bytes: its contents
 * @error: return location for an error
 *
 * Replaces @path as a whole or not at all.
 *
 * Returns: %TRUE if the new file is in its place
 */
gboolean
ir_file_write_atomic (const char *path, GBytes *bytes, GError **error)
{
  return ir_file_stream_atomic (path, stream_bytes, bytes, error);
}

typedef struct
{
  IrModel *model;
  char *(*write) (IrModel *model);
  char *text;
} Writing;

static void
write_text (gpointer data, IrAside *aside)
{
  Writing *writing = data;

  writing->text = writing->write (writing->model);
}

static void
writing_free (gpointer data)
{
  Writing *writing = data;

  ir_model_unref (writing->model);
  g_free (writing->text);
  g_free (writing);
}

/**
 * ir_file_write_text:
 * @model: a model, which nobody edits before the next look that is not stopped
 * @write: gives its text
 * @path: file to make or replace
 * @stop: (nullable): what may stop it; then there is no error
 * @error: return location for an error
 *
 * Writes a format that is made as a whole.
 *
 * Returns: %TRUE if the new file is in its place
 */
gboolean
ir_file_write_text (IrModel *model,
                    char *(*write) (IrModel *model),
                    const char *path,
                    const IrStop *stop,
                    GError **error)
{
  Writing *writing = g_new (Writing, 1);
  g_autoptr (GBytes) bytes = NULL;

  *writing = (Writing){ ir_model_ref (model), write, NULL };
  if (!ir_aside_until (writing, writing_free, write_text, stop))
    return FALSE;
  bytes = g_bytes_new_take (writing->text, strlen (writing->text));
  writing->text = NULL;
  writing_free (writing);
  return ir_file_write_atomic (path, bytes, error);
}

#define MAX_TEXT_BYTES (1024 * 1024 * 1024)

/**
 * ir_file_read_text:
 * @path: a text file
 * @error: return location for an error
 *
 * Reads a file into memory, so that it may change while it is parsed.
 *
 * Returns: (transfer full) (nullable): its contents
 */
GBytes *
ir_file_read_text (const char *path, GError **error)
{
  g_autoptr (IrMappedFile) file = ir_mapped_file_open (path, error);
  g_autoptr (GBytes) mapped = NULL;
  GBytes *copy;

  if (file == NULL)
    return NULL;
  mapped = ir_mapped_file_bytes (file);
  if (g_bytes_get_size (mapped) > MAX_TEXT_BYTES)
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_LIMIT,
                   "%s: a text of more than 1 GiB is not read.", path);
      return NULL;
    }
  copy = g_bytes_new (g_bytes_get_data (mapped, NULL), g_bytes_get_size (mapped));
  if (ir_mapped_file_check (file, error))
    return copy;
  g_bytes_unref (copy);
  return NULL;
}
