/* Writing files so that a crash or a full disk loses nothing: into a file of the same folder that
 * has no name yet, flushed to the disk, then put in the place of the old one. Where the file system
 * has no files without names, and for the moment of replacing, it is NAME.irscope-XXXXXX; what a
 * kill has left of these is removed by the next who saves NAME. */
#define _GNU_SOURCE /* O_TMPFILE */

#include "config.h"

#include "core/io/formats.h"
#include "core/io/mapped-file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gio/gunixoutputstream.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
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

#define MAX_LINKS     40 /* as Linux has it */
#define TEMPORARY     ".irscope-"
#define N_RANDOM      6
#define LOCK_TRIES    100
#define LOCK_PAUSE_US 10000

/* The name that links lead to, whether or not there is a file: the target is replaced, no link. */
static char *
real_target (const char *path)
{
  char *target = g_strdup (path), *link;

  for (guint i = 0; i < MAX_LINKS && (link = g_file_read_link (target, NULL)) != NULL; i++)
    {
      g_autofree char *folder = g_path_get_dirname (target);

      g_free (target);
      target = g_path_is_absolute (link) ? g_strdup (link) : g_build_filename (folder, link, NULL);
      g_free (link);
    }
  return target;
}

/**
 * ir_file_lock_folder:
 * @folder: a folder
 *
 * Says that something is being saved there, until ir_file_sweep() closes it. Saves do not wait for
 * each other.
 *
 * Returns: a descriptor of the folder, or -1
 */
int
ir_file_lock_folder (const char *folder)
{
  int fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  /* Who sweeps is done at once; nobody else may make a save wait for good. */
  for (guint i = 0; fd >= 0 && i < LOCK_TRIES && flock (fd, LOCK_SH | LOCK_NB) != 0; i++)
    if (errno == EWOULDBLOCK)
      g_usleep (LOCK_PAUSE_US);
    else
      break;
  return fd;
}

static gboolean
is_left_over (const char *name, const IrLeftOver *kind)
{
  gsize before = strlen (kind->before), after = strlen (kind->after), length = strlen (name);

  if (length != before + kind->n_between + after || !g_str_has_prefix (name, kind->before) ||
      !g_str_has_suffix (name, kind->after) || g_strcmp0 (name, kind->keep) == 0)
    return FALSE;
  for (gsize i = 0; i < kind->n_between; i++)
    if (!g_ascii_isalnum (name[before + i]))
      return FALSE;
  return TRUE;
}

/* What @base, or a file whose name begins with it and a dot, was on its way in. */
static gboolean
is_temporary_of (const char *name, const char *base)
{
  gsize before = strlen (base), length = strlen (name), after = strlen (TEMPORARY) + N_RANDOM;

  if (!g_str_has_prefix (name, base) || name[before] != '.' || length < before + after ||
      strncmp (name + length - after, TEMPORARY, strlen (TEMPORARY)) != 0)
    return FALSE;
  for (gsize i = length - N_RANDOM; i < length; i++)
    if (!g_ascii_isalnum (name[i]))
      return FALSE;
  return TRUE;
}

/**
 * ir_file_sweep:
 * @folder: what ir_file_lock_folder() gave; it is closed
 * @base: (nullable): name of what was saved there; %NULL: nothing was
 * @kind: (nullable): names of other files that nobody needs
 *
 * Ends a save. Where no other is going on in the folder, temporary files of @base and files of @kind are removed.
 */
void
ir_file_sweep (int folder, const char *base, const IrLeftOver *kind)
{
  DIR *entries;
  const struct dirent *entry;

  if (folder < 0)
    return;
  if (base == NULL || flock (folder, LOCK_EX | LOCK_NB) != 0)
    {
      close (folder);
      return;
    }
  entries = fdopendir (folder);
  while (entries != NULL && (entry = readdir (entries)) != NULL)
    if (is_temporary_of (entry->d_name, base) ||
        (kind != NULL && is_left_over (entry->d_name, kind)))
      unlinkat (folder, entry->d_name, 0);
  if (entries != NULL)
    closedir (entries);
  else
    close (folder);
}

/* A file on its way into its place. */
typedef struct
{
  const char *target;
  char *name; /* (nullable) of the temporary file; NULL: it has none */
  int fd;
} Temporary;

static void
name_temporary (Temporary *file)
{
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  char *end;

  g_free (file->name);
  file->name = g_strconcat (file->target, TEMPORARY, "XXXXXX", NULL);
  end = file->name + strlen (file->name) - N_RANDOM;
  for (guint i = 0; i < N_RANDOM; i++)
    end[i] = letters[(guint) g_random_int_range (0, (gint32) strlen (letters))];
}

/* What its permissions are is said by the file that is there, else by the umask. */
static gboolean
open_temporary (Temporary *file)
{
  g_autofree char *folder = g_path_get_dirname (file->target);
  struct stat info;

  file->fd = -1;
  if (access ("/proc/self/fd", X_OK) == 0) /* the way to a name */
    file->fd = open (folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (file->fd < 0)
    {
      file->name = g_strconcat (file->target, TEMPORARY, "XXXXXX", NULL);
      file->fd = g_mkstemp_full (file->name, O_RDWR | O_CLOEXEC, 0666);
    }
  if (file->fd >= 0 && stat (file->target, &info) == 0)
    (void) !fchmod (file->fd, info.st_mode & 07777);
  return file->fd >= 0;
}

static gboolean
link_as (const Temporary *file, const char *name)
{
  g_autofree char *source = g_strdup_printf ("/proc/self/fd/%d", file->fd);

  return linkat (AT_FDCWD, source, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

static gboolean
put_in_place (Temporary *file)
{
  if (file->name == NULL)
    {
      if (link_as (file, file->target))
        return TRUE;
      do
        {
          if (errno != EEXIST)
            return FALSE;
          name_temporary (file);
        }
      while (!link_as (file, file->name));
    }
  return rename (file->name, file->target) == 0;
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

/* Names are on the disk too, and what others have left is away. */
static void
end_save (const Temporary *file, int folder)
{
  g_autofree char *base = g_path_get_basename (file->target);

  if (folder >= 0)
    fsync (folder);
  ir_file_sweep (folder, file->name != NULL ? base : NULL, NULL);
}

/**
 * ir_file_stream_atomic:
 * @path: file to make or replace
 * @func: (scope call): writes the contents
 * @user_data: for @func
 * @error: return location for an error
 *
 * Replaces @path as a whole or not at all. The permissions of an existing file are kept, and where
 * @path is a link, the file that it leads to is replaced or made.
 *
 * Returns: %TRUE if the new file is in its place
 */
gboolean
ir_file_stream_atomic (const char *path, IrFileFunc func, gpointer user_data, GError **error)
{
  g_autofree char *target = real_target (path);
  g_autofree char *folder = g_path_get_dirname (target);
  Temporary file = { .target = target };
  struct stat info;
  gboolean ok;
  int lock;

  if (stat (target, &info) == 0 && !S_ISREG (info.st_mode))
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_OPEN, "%s: is no regular file.", path);
      return FALSE;
    }
  lock = ir_file_lock_folder (folder);
  if (!open_temporary (&file))
    ok = fail (error, path, "its folder cannot be written to");
  else
    {
      ok = write_temporary (file.fd, path, func, user_data, error) &&
           (put_in_place (&file) || fail (error, path, "cannot be replaced"));
      if (close (file.fd) != 0 && ok)
        ok = fail (error, path, "cannot be written");
      if (!ok && file.name != NULL)
        unlink (file.name);
    }
  end_save (&file, lock);
  g_free (file.name);
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

/**
 * ir_file_write_text:
 * @model: a model
 * @write: gives its text
 * @path: file to make or replace
 * @cancellable: (nullable): what may stop it; then there is no error
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
                    GCancellable *cancellable,
                    GError **error)
{
  char *text = write (model);
  g_autoptr (GBytes) bytes = g_bytes_new_take (text, strlen (text));

  if (g_cancellable_is_cancelled (cancellable))
    return FALSE;
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

#define MAX_SETTINGS_BYTES (256 * 1024 * 1024)

/**
 * ir_file_read_settings:
 * @path: a file that a user names beside a model: a pipeline, costs, an instance
 * @length: (out): its bytes, without the 0 behind them
 * @error: return location for an error
 *
 * Reads a regular file of at most 256 MiB: a device or a pipe, which may have no end, is refused.
 *
 * Returns: (transfer full) (nullable): its contents, ended by 0
 */
char *
ir_file_read_settings (const char *path, gsize *length, GError **error)
{
  g_autoptr (GBytes) bytes = NULL;
  gsize n;

  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    {
      g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "%s: there is no such file", path);
      return NULL;
    }
  bytes = ir_file_read_text (path, error);
  if (bytes == NULL)
    return NULL;
  n = g_bytes_get_size (bytes);
  if (n > MAX_SETTINGS_BYTES)
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_LIMIT,
                   "%s: a file of this kind with more than 256 MiB is not read.", path);
      return NULL;
    }
  *length = n;
  char *text = g_malloc (n + 1);
  if (n > 0)
    memcpy (text, g_bytes_get_data (bytes, NULL), n);
  text[n] = '\0';
  return text;
}
