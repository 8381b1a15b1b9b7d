/* A mapped file and its guard.
 *
 * Weights are read from the pages of the mapped file when they are used, maybe hours after opening.
 * Two things can happen to them meanwhile. If the file is cut, touching a page behind its new end
 * raises SIGBUS: the handler below puts zeros there and behind it, and marks the file, so the
 * program goes on and the mark is found by ir_mapped_file_check(). It runs on a stack of its own,
 * which each thread has (signal-stack.c). If the file is rewritten in place, pages that were not
 * read yet show the new contents: size and time of the inode tell, and the check is made before
 * every run, proof and save. A file that is replaced by renaming another over it (as every careful
 * program saves) does no harm: the mapping keeps the old inode.
 *
 * The table of guarded ranges and the signal handler are the one piece of global mutable state in
 * core: a signal handler has no other way to find its data. Slots are claimed and released with
 * atomic operations, since the handler may run in any thread at any moment.
 */
#include "config.h"

#include "core/io/mapped-file.h"

#include "core/io/io.h"
#include "core/io/signal-stack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_GUARDS 1024

/* Up to here a file is read, not mapped: that is faster and safer. */
#define SMALL_BYTES (64 * 1024)

/* The kernel's file times move in ticks of 4 ms or more. A file that was written within the last
 * ticks could be written once more without its time changing, so opening waits until it is over. */
#define TIME_TICK_NS (10 * 1000 * 1000)

typedef struct
{
  gint in_use;    /* atomic: 0 free, 1 claimed, 2 armed */
  guintptr start; /* first address */
  gsize length;   /* bytes, whole pages */
  gint faulted;   /* atomic: the handler had to step in */
} Guard;

static Guard guards[N_GUARDS];
static struct sigaction previous_action;

struct _IrMappedFile
{
  gatomicrefcount ref_count;
  char *path;
  int fd; /* -1: the file was read into memory */
  gsize size;
  struct timespec modified;
  void *map;
  Guard *guard;
  GBytes *bytes; /* without a reference on the file: see bytes_free() */
};

static Guard *
find_guard (guintptr address)
{
  for (guint i = 0; i < N_GUARDS; i++)
    if (__atomic_load_n (&guards[i].in_use, __ATOMIC_ACQUIRE) == 2 && address >= guards[i].start &&
        address - guards[i].start < guards[i].length)
      return &guards[i];
  return NULL;
}

static void
pass_on (int signal_number, siginfo_t *info, void *context)
{
  if ((previous_action.sa_flags & SA_SIGINFO) != 0 && previous_action.sa_sigaction != NULL)
    previous_action.sa_sigaction (signal_number, info, context);
  else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN)
    previous_action.sa_handler (signal_number);
  else
    {
      /* The fault happens again on return, now with the default action. */
      signal (SIGBUS, SIG_DFL);
    }
}

static void
on_bus_error (int signal_number, siginfo_t *info, void *context)
{
  int saved_errno = errno;
  Guard *guard = find_guard ((guintptr) info->si_addr);
  guintptr page = (guintptr) info->si_addr & ~((guintptr) sysconf (_SC_PAGESIZE) - 1);

  if (guard == NULL || mmap ((void *) page, guard->length - (page - guard->start), PROT_READ,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    {
      pass_on (signal_number, info, context);
      errno = saved_errno;
      return;
    }
  __atomic_store_n (&guard->faulted, 1, __ATOMIC_RELEASE);
  errno = saved_errno;
}

static void
install_handler (void)
{
  static gsize once = 0;

  if (g_once_init_enter (&once))
    {
      struct sigaction action = { 0 };

      action.sa_sigaction = on_bus_error;
      action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
      sigemptyset (&action.sa_mask);
      sigaction (SIGBUS, &action, &previous_action);
      g_once_init_leave (&once, 1);
    }
}

static Guard *
guard_claim (void *start, gsize length)
{
  install_handler ();
  ir_signal_stack_take ();
  for (guint i = 0; i < N_GUARDS; i++)
    {
      gint expected = 0;

      if (!__atomic_compare_exchange_n (&guards[i].in_use, &expected, 1, FALSE, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
        continue;
      guards[i].start = (guintptr) start;
      guards[i].length = length;
      __atomic_store_n (&guards[i].faulted, 0, __ATOMIC_RELAXED);
      __atomic_store_n (&guards[i].in_use, 2, __ATOMIC_RELEASE);
      return &guards[i];
    }
  return NULL;
}

static void
guard_release (Guard *guard)
{
  if (guard != NULL)
    __atomic_store_n (&guard->in_use, 0, __ATOMIC_RELEASE);
}

static gboolean
fail (GError **error, const char *path, const char *what)
{
  g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_OPEN, "%s: %s (%s).", path, what,
               g_strerror (errno));
  return FALSE;
}

static gboolean
read_small (IrMappedFile *file, GError **error)
{
  g_autofree guint8 *data = g_malloc (file->size + 1);
  gsize done = 0;

  while (done < file->size)
    {
      ssize_t n = read (file->fd, data + done, file->size - done);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return fail (error, file->path, "cannot be read");
      if (n == 0)
        break;
      done += (gsize) n;
    }
  close (file->fd);
  file->fd = -1;
  file->size = done;
  file->bytes = g_bytes_new_take (g_steal_pointer (&data), done);
  return TRUE;
}

static void
wait_for_next_tick (const struct stat *info)
{
  gint64 now = g_get_real_time () * 1000;
  gint64 modified = (gint64) info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;

  if (now >= modified && now - modified < TIME_TICK_NS)
    g_usleep ((gulong) (TIME_TICK_NS - (now - modified)) / 1000 + 1);
}

static void
bytes_free (gpointer data)
{
  ir_mapped_file_unref (data);
}

static gboolean
map_large (IrMappedFile *file, GError **error)
{
  gsize page_size = (gsize) sysconf (_SC_PAGESIZE);
  gsize length = (file->size + page_size - 1) & ~(page_size - 1);

  file->map = mmap (NULL, file->size, PROT_READ, MAP_PRIVATE, file->fd, 0);
  if (file->map == MAP_FAILED)
    {
      file->map = NULL;
      return fail (error, file->path, "cannot be mapped");
    }
  file->guard = guard_claim (file->map, length);
  if (file->guard == NULL)
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_LIMIT,
                   "%s: more than %d files are open at once; close some models.", file->path,
                   N_GUARDS);
      return FALSE;
    }
  return TRUE;
}

/**
 * ir_mapped_file_open:
 * @path: a file
 * @error: return location for an error
 *
 * Maps a file read-only; small ones are read into memory instead. Nothing of a mapped file is read
 * here, so the cost does not depend on its size.
 *
 * Fails with %IR_IO_ERROR_OPEN if it is not a regular file or cannot be read.
 *
 * Returns: (transfer full) (nullable): the file
 */
IrMappedFile *
ir_mapped_file_open (const char *path, GError **error)
{
  return ir_mapped_file_open_fd (open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), path, error);
}

/**
 * ir_mapped_file_open_fd:
 * @fd: (transfer full): what open() gave, with O_NONBLOCK, or -1 and errno
 * @path: what messages call it
 * @error: return location for an error
 *
 * As ir_mapped_file_open(), of a file that somebody found in a way of his own.
 *
 * Returns: (transfer full) (nullable): the file
 */
IrMappedFile *
ir_mapped_file_open_fd (int fd, const char *path, GError **error)
{
  g_autoptr (IrMappedFile) file = g_new0 (IrMappedFile, 1);
  struct stat info;

  g_atomic_ref_count_init (&file->ref_count);
  file->path = g_strdup (path);
  file->fd = fd;
  if (file->fd < 0 || fstat (file->fd, &info) != 0)
    {
      fail (error, path, "cannot be opened");
      return NULL;
    }
  if (!S_ISREG (info.st_mode))
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_OPEN, "%s: is not a regular file.", path);
      return NULL;
    }
  file->size = (gsize) info.st_size;
  if (file->size <= SMALL_BYTES)
    return read_small (file, error) ? g_steal_pointer (&file) : NULL;
  wait_for_next_tick (&info);
  if (fstat (file->fd, &info) != 0 || (gsize) info.st_size <= SMALL_BYTES)
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_CHANGED, "%s: is being written; try again.",
                   path);
      return NULL;
    }
  file->size = (gsize) info.st_size;
  file->modified = info.st_mtim;
  return map_large (file, error) ? g_steal_pointer (&file) : NULL;
}

/**
 * ir_mapped_file_ref:
 * @file: a file
 *
 * Returns: (transfer full): @file
 */
IrMappedFile *
ir_mapped_file_ref (IrMappedFile *file)
{
  g_atomic_ref_count_inc (&file->ref_count);
  return file;
}

/**
 * ir_mapped_file_unref:
 * @file: (transfer full) (nullable): a file; the last reference unmaps it
 *
 * Bytes of the file hold references, so slices of them stay valid.
 */
void
ir_mapped_file_unref (IrMappedFile *file)
{
  if (file == NULL || !g_atomic_ref_count_dec (&file->ref_count))
    return;
  guard_release (file->guard);
  if (file->map != NULL)
    munmap (file->map, file->size);
  if (file->fd >= 0)
    close (file->fd);
  g_clear_pointer (&file->bytes, g_bytes_unref);
  g_free (file->path);
  g_free (file);
}

/**
 * ir_mapped_file_path:
 * @file: a file
 *
 * Returns: (transfer none): the path that it was opened by
 */
const char *
ir_mapped_file_path (const IrMappedFile *file)
{
  return file->path;
}

/**
 * ir_mapped_file_bytes:
 * @file: a file
 *
 * The contents. They hold a reference on @file, so slices of them keep the mapping alive.
 *
 * Returns: (transfer full): all bytes of the file
 */
GBytes *
ir_mapped_file_bytes (IrMappedFile *file)
{
  if (file->map == NULL)
    return g_bytes_ref (file->bytes);
  return g_bytes_new_with_free_func (file->map, file->size, bytes_free, ir_mapped_file_ref (file));
}

/**
 * ir_mapped_file_set_scattered:
 * @file: a file
 * @scattered: whether the next reads are few bytes far apart
 *
 * Tells the system whether to read ahead. The structure of a model lies in small pieces between
 * its weights: with reading ahead, opening a large model from a cold disk reads most of it.
 */
void
ir_mapped_file_set_scattered (IrMappedFile *file, gboolean scattered)
{
  if (file->map != NULL)
    madvise (file->map, file->size, scattered ? MADV_RANDOM : MADV_NORMAL);
}

/**
 * ir_mapped_file_give_back:
 * @data: bytes, of any memory
 * @length: how many
 *
 * For those who have made what they need of @data, as packed weights: the pages that lie whole
 * within it leave the memory of the process if they are of a mapped file. When they are read again
 * they come from the file.
 */
void
ir_mapped_file_give_back (gconstpointer data, gsize length)
{
  guintptr mask = (guintptr) sysconf (_SC_PAGESIZE) - 1;
  guintptr start = ((guintptr) data + mask) & ~mask, end = ((guintptr) data + length) & ~mask;

  if (start < end && find_guard ((guintptr) data) != NULL)
    madvise ((void *) start, end - start, MADV_DONTNEED);
}

/**
 * ir_mapped_file_is_mapped:
 * @file: a file
 *
 * Returns: %FALSE if the file was small and read into memory
 */
gboolean
ir_mapped_file_is_mapped (const IrMappedFile *file)
{
  return file->map != NULL;
}

/**
 * ir_mapped_file_check:
 * @file: a file
 * @error: return location for an error
 *
 * Whether the mapped inode still has the size and the time of when it was opened, and no page of it
 * was missing when it was read.
 *
 * Fails with %IR_IO_ERROR_CHANGED.
 *
 * Returns: %TRUE if the contents are what was opened
 */
gboolean
ir_mapped_file_check (const IrMappedFile *file, GError **error)
{
  struct stat info;

  if (file->map == NULL)
    return TRUE;
  if (__atomic_load_n (&file->guard->faulted, __ATOMIC_ACQUIRE) == 0 &&
      fstat (file->fd, &info) == 0 && (gsize) info.st_size == file->size &&
      info.st_mtim.tv_sec == file->modified.tv_sec &&
      info.st_mtim.tv_nsec == file->modified.tv_nsec)
    return TRUE;
  g_set_error (
      error, IR_IO_ERROR, IR_IO_ERROR_CHANGED,
      "%s: was changed by another program since it was opened, so its weights can no longer "
      "be trusted; open it again.",
      file->path);
  return FALSE;
}
