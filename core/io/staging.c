/* Several files of one folder that are saved as one act: written into a folder of their own within
 * it, and moved out when all are whole. Until then, and when writing fails, the folder has what it
 * had. A stage is locked by who fills it; what a kill has left of one goes when the next begins. */
#include "config.h"

#include "core/io/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define PREFIX ".irscope-stage-"

struct _IrStaging
{
  char *folder, *place;
  int fd; /* of @place, locked */
};

static gboolean
fail (GError **error, const char *path, const char *what)
{
  g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_OPEN, "%s: %s (%s).", path, what,
               g_strerror (errno));
  return FALSE;
}

/* @kind: LOCK_SH: it is being filled, which locks of saves within it allow; LOCK_EX: nobody does. */
static int
open_locked (const char *path, int kind)
{
  int fd = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

  if (fd >= 0 && flock (fd, kind | LOCK_NB) != 0)
    {
      close (fd);
      return -1;
    }
  return fd;
}

static GPtrArray *
names_in (const char *path)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    g_ptr_array_add (names, g_strdup (name));
  return names;
}

static void
remove_place (const char *place)
{
  g_autoptr (GPtrArray) names = names_in (place);

  for (guint i = 0; i < names->len; i++)
    {
      g_autofree char *path = g_build_filename (place, names->pdata[i], NULL);
      g_unlink (path);
    }
  g_rmdir (place);
}

/* Stages that nobody fills any more. */
static void
sweep (const char *folder)
{
  g_autoptr (GPtrArray) names = names_in (folder);

  for (guint i = 0; i < names->len; i++)
    {
      g_autofree char *path = g_build_filename (folder, names->pdata[i], NULL);
      int fd = g_str_has_prefix (names->pdata[i], PREFIX) ? open_locked (path, LOCK_EX) : -1;

      if (fd < 0)
        continue;
      remove_place (path);
      close (fd);
    }
}

/**
 * ir_staging_new:
 * @folder: where the files go; it is made if it is not there
 * @error: return location for an error of the domain IR_IO_ERROR
 *
 * Returns: (transfer full) (nullable): an empty stage
 */
IrStaging *
ir_staging_new (const char *folder, GError **error)
{
  g_autoptr (IrStaging) stage = g_new0 (IrStaging, 1);

  stage->fd = -1;
  if (g_mkdir_with_parents (folder, 0777) != 0)
    return fail (error, folder, "cannot be made"), NULL;
  sweep (folder);
  stage->folder = g_strdup (folder);
  stage->place = g_build_filename (folder, PREFIX "XXXXXX", NULL);
  if (g_mkdtemp (stage->place) == NULL)
    {
      g_clear_pointer (&stage->place, g_free);
      return fail (error, folder, "cannot be written to"), NULL;
    }
  stage->fd = open_locked (stage->place, LOCK_SH);
  return g_steal_pointer (&stage);
}

/**
 * ir_staging_folder:
 * @stage: a stage
 *
 * Returns: (transfer none): where the files are to be written, each under its own name
 */
const char *
ir_staging_folder (const IrStaging *stage)
{
  return stage->place;
}

static gboolean
move (const IrStaging *stage, const char *name, GError **error)
{
  g_autofree char *from = g_build_filename (stage->place, name, NULL);
  g_autofree char *to = g_build_filename (stage->folder, name, NULL);

  return g_rename (from, to) == 0 || fail (error, to, "cannot be replaced");
}

static void
flush (const char *folder)
{
  int fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  if (fd < 0)
    return;
  fsync (fd);
  close (fd);
}

/**
 * ir_staging_commit:
 * @stage: a stage, whose files are all written
 * @last: (nullable): the file that says what the others are; without it they are no whole
 * @error: return location for an error of the domain IR_IO_ERROR
 *
 * Moves the files into the folder, over those of the same names.
 *
 * Returns: %TRUE if all are there
 */
gboolean
ir_staging_commit (IrStaging *stage, const char *last, GError **error)
{
  g_autoptr (GPtrArray) names = names_in (stage->place);

  if (last != NULL)
    {
      g_autofree char *old = g_build_filename (stage->folder, last, NULL);
      if (g_unlink (old) != 0 && errno != ENOENT)
        return fail (error, old, "cannot be replaced");
    }
  for (guint i = 0; i < names->len; i++)
    if (g_strcmp0 (names->pdata[i], last) != 0 && !move (stage, names->pdata[i], error))
      return FALSE;
  flush (stage->folder);
  if (last != NULL && !move (stage, last, error))
    return FALSE;
  flush (stage->folder);
  return TRUE;
}

/**
 * ir_staging_free:
 * @stage: (transfer full) (nullable): a stage
 *
 * Drops the files that were not committed.
 */
void
ir_staging_free (IrStaging *stage)
{
  if (stage == NULL)
    return;
  if (stage->place != NULL)
    remove_place (stage->place);
  if (stage->fd >= 0)
    close (stage->fd);
  g_free (stage->place);
  g_free (stage->folder);
  g_free (stage);
}
