/* One file per run, made in the folder for temporary files (TMPDIR) and without a name from the
 * beginning, so that nothing is left behind however the program ends. Contents follow each other at
 * multiples of 64 bytes; what is written again in the rounds of a loop takes the place of what was
 * there, where it fits. Reading maps the file once and hands out slices of that map: pages of it
 * are the kernel's to drop, and many values need no more maps than one.
 *
 * A full disk is no error of the run. What could not be written is counted, the reason is kept, and
 * nothing more is written. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/exec/run/spill.h"
#include "core/ir/pages.h"
#include "core/exec/memory/place/place.h"

typedef struct
{
  guint64 offset, bytes, room; /* in the file; the room is at least the bytes */
  IrDtype dtype;
  guint rank;
  gint64 dims[];
} Entry;

struct _IrSpill
{
  gatomicrefcount ref_count;
  GMutex lock;
  int fd;              /* -1: not made yet */
  guint64 end, limit;  /* bytes; limit 0: none */
  GHashTable *entries; /* key -> Entry */
  GBytes *map;         /* (nullable) of the file as it was when somebody looked last */
  guint n_lost;
  char *problem; /* (nullable) */
};

/* A file that is made when something is written. @limit: most bytes of the file; 0: as many as
 * fit. */
IrSpill *
ir_spill_new (guint64 limit)
{
  IrSpill *spill = g_new0 (IrSpill, 1);

  g_atomic_ref_count_init (&spill->ref_count);
  g_mutex_init (&spill->lock);
  spill->fd = -1;
  spill->limit = limit;
  spill->entries = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  return spill;
}

IrSpill *
ir_spill_ref (IrSpill *spill)
{
  g_atomic_ref_count_inc (&spill->ref_count);
  return spill;
}

/* Tensors that ir_spill_read() gave stay */
void
ir_spill_unref (IrSpill *spill)
{
  if (spill == NULL || !g_atomic_ref_count_dec (&spill->ref_count))
    return;
  if (spill->fd >= 0)
    close (spill->fd);
  g_clear_pointer (&spill->map, g_bytes_unref);
  g_hash_table_unref (spill->entries);
  g_free (spill->problem);
  g_mutex_clear (&spill->lock);
  g_free (spill);
}

static int
open_file (void)
{
  int fd = -1;

#ifdef O_TMPFILE
  fd = g_open (g_get_tmp_dir (), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#endif
  if (fd < 0)
    {
      g_autofree char *path = NULL;
      fd = g_file_open_tmp ("irscope-XXXXXX", &path, NULL);
      if (fd >= 0)
        g_unlink (path);
    }
  return fd;
}

static gboolean
write_all (int fd, const guint8 *data, gsize size, guint64 offset)
{
  while (size > 0)
    {
      gssize written = pwrite (fd, data, size, (off_t) offset);
      if (written < 0 && errno == EINTR)
        continue;
      if (written == 0)
        errno = ENOSPC;
      if (written <= 0)
        return FALSE;
      data += written;
      size -= (gsize) written;
      offset += (guint64) written;
    }
  return TRUE;
}

/* A write beyond the limit that the process has on sizes of files would end it by a signal. */
static gboolean
is_allowed (const IrSpill *spill, guint64 end)
{
  struct rlimit limit;

  if (spill->limit != 0 && end > spill->limit)
    {
      errno = EDQUOT;
      return FALSE;
    }
  if (getrlimit (RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      end > limit.rlim_cur)
    {
      errno = EFBIG;
      return FALSE;
    }
  return TRUE;
}

static gboolean
lose (IrSpill *spill, guint32 key, int code)
{
  g_hash_table_remove (spill->entries, GUINT_TO_POINTER (key));
  spill->n_lost++;
  if (spill->problem == NULL)
    spill->problem = g_strdup_printf ("%s: %s", g_get_tmp_dir (),
                                      code == EDQUOT ? "the limit of the file is reached"
                                                     : g_strerror (code));
  return FALSE;
}

static gboolean
can_be_written (const IrTensor *tensor)
{
  return !ir_tensor_is_container (tensor) && ir_tensor_sparse_values (tensor) == NULL &&
         ir_tensor_dtype (tensor) != IR_DTYPE_STRING &&
         (ir_tensor_n_bytes (tensor) == 0 || ir_tensor_data (tensor) != NULL);
}

static Entry *
entry_of (const IrTensor *tensor, guint64 offset, guint64 room)
{
  Entry *entry = g_malloc0 (sizeof *entry + sizeof (gint64) * ir_tensor_rank (tensor));

  entry->offset = offset;
  entry->bytes = ir_tensor_n_bytes (tensor);
  entry->room = room;
  entry->dtype = ir_tensor_dtype (tensor);
  entry->rank = ir_tensor_rank (tensor);
  for (guint i = 0; i < entry->rank; i++)
    entry->dims[i] = ir_tensor_dims (tensor)[i];
  return entry;
}

/* Replaces what @key had. Once writing has failed, nothing more is written. Returns whether @key
 * can be read now. @tensor: contents; containers, strings and sparse tensors cannot be written. */
gboolean
ir_spill_write (IrSpill *spill, guint32 key, const IrTensor *tensor)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&spill->lock);
  guint64 bytes = ir_tensor_n_bytes (tensor), offset = spill->end;
  guint64 room = ir_mem_align (bytes, IR_ALIGN_BYTES);
  const Entry *old = g_hash_table_lookup (spill->entries, GUINT_TO_POINTER (key));

  if (!can_be_written (tensor))
    return lose (spill, key, ENOTSUP);
  if (old != NULL && bytes <= old->room)
    {
      offset = old->offset;
      room = old->room;
    }
  else if (spill->problem != NULL)
    return lose (spill, key, 0);
  if (spill->fd < 0)
    spill->fd = open_file ();
  if (spill->fd < 0 || !is_allowed (spill, offset + bytes) ||
      !write_all (spill->fd, ir_tensor_data (tensor), bytes, offset))
    return lose (spill, key, errno);
  spill->end = MAX (spill->end, offset + room);
  g_hash_table_insert (spill->entries, GUINT_TO_POINTER (key), entry_of (tensor, offset, room));
  return TRUE;
}

/* Whether @base is there, so that @key can be read now. @base: a key whose contents are the same
 * bytes. */
gboolean
ir_spill_alias (IrSpill *spill, guint32 key, guint32 base, const IrTensor *tensor)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&spill->lock);
  const Entry *same = g_hash_table_lookup (spill->entries, GUINT_TO_POINTER (base));

  if (same == NULL || same->bytes != ir_tensor_n_bytes (tensor) || !can_be_written (tensor))
    return FALSE;
  /* No room: if @key is written later, it gets bytes of its own. */
  g_hash_table_insert (spill->entries, GUINT_TO_POINTER (key), entry_of (tensor, same->offset, 0));
  return TRUE;
}

/* @key: what is out of date; its bytes stay in the file */
void
ir_spill_remove (IrSpill *spill, guint32 key)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&spill->lock);

  g_hash_table_remove (spill->entries, GUINT_TO_POINTER (key));
}

gboolean
ir_spill_has (const IrSpill *spill, guint32 key)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new ((GMutex *) &spill->lock);

  return g_hash_table_contains (spill->entries, GUINT_TO_POINTER (key));
}

static gboolean
map_file (IrSpill *spill, guint64 end, GError **error)
{
  g_autoptr (GMappedFile) map = NULL;

  if (spill->map != NULL && g_bytes_get_size (spill->map) >= end)
    return TRUE;
  map = g_mapped_file_new_from_fd (spill->fd, FALSE, error);
  if (map == NULL)
    return FALSE;
  g_clear_pointer (&spill->map, g_bytes_unref);
  spill->map = g_mapped_file_get_bytes (map);
  if (g_bytes_get_size (spill->map) >= end)
    return TRUE;
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT,
               "The file that values were spilled to is shorter than what was written");
  return FALSE;
}

/* Fails with a GFileError where the file cannot be mapped. Returns the contents, in pages that
 * the kernel may drop. */
IrTensor *
ir_spill_read (IrSpill *spill, guint32 key, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&spill->lock);
  const Entry *entry = g_hash_table_lookup (spill->entries, GUINT_TO_POINTER (key));
  g_autoptr (GBytes) bytes = NULL;

  if (entry == NULL)
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND, "The value was not spilled");
      return NULL;
    }
  if (entry->bytes == 0)
    bytes = g_bytes_new (NULL, 0);
  else if (map_file (spill, entry->offset + entry->bytes, error))
    bytes = g_bytes_new_from_bytes (spill->map, entry->offset, entry->bytes);
  return bytes != NULL ? ir_tensor_new (entry->dtype, entry->rank, entry->dims, bytes) : NULL;
}

/* How many contents it has */
guint
ir_spill_n (const IrSpill *spill)
{
  return g_hash_table_size (spill->entries);
}

guint64
ir_spill_bytes (const IrSpill *spill)
{
  return spill->end;
}

/* How many contents could not be written */
guint
ir_spill_n_lost (const IrSpill *spill)
{
  return spill->n_lost;
}

/* Why writing failed first; NULL: it has not */
const char *
ir_spill_problem (const IrSpill *spill)
{
  return spill->problem;
}
