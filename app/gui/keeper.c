/* A window's session lies in sessions/ of the user's data, as NAME.json beside NAME.lock, which the
 * window's process holds: the system lets go of it however the process ends. So a session whose lock can
 * be had was lost. It is written in a thread, as a whole, at most half a second after a change. */
#include "config.h"

#include "app/gui/keeper.h"

#include "app/gui/window-private.h"
#include "views/session/file.h"
#include "views/session/frame.h"
#include "views/session/saved.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define PAUSE_MS 400 /* from a change to writing it down */
#define WATCH_MS 300 /* from a change of the model's file to looking at it: it may go on */

typedef struct
{
  IrWindow *window;   /* (transfer none) */
  IrSession *session; /* (nullable) (weak) its */
  char *path;         /* of the session */
  int lock;
  guint pause; /* source: 0, nothing has changed since it was written */
  gboolean writing, again;
  GMutex ending;  /* held while it is written */
  gboolean ended; /* under @ending: nothing is written any more */

  char *model;  /* (nullable) the file that is watched */
  char *sha256; /* (nullable) its contents, as they were opened or saved; %NULL: not known yet */
  char *seen;   /* (nullable) as they were when they were looked at last */
  guint opened; /* which opening or saving these are of: ir_session_get_file_serial() */
  GFileMonitor *monitor;
  guint look;   /* source: its contents are to be looked at */
  guint serial; /* of what is watched: answers about an earlier one are of no use */
} Keeper;

static GPtrArray *keepers; /* of Keeper, main thread */
static GHashTable *lost;   /* path -> lock of it + 1 */

static char *
sessions_dir (void)
{
  return g_build_filename (g_get_user_data_dir (), "irscope", "sessions", NULL);
}

/* -1: somebody has it, or it cannot be made */
static int
take_lock (const char *path)
{
  g_autofree char *name = g_strconcat (path, ".lock", NULL);
  const int lock = open (name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

  if (lock >= 0 && flock (lock, LOCK_EX | LOCK_NB) == 0)
    return lock;
  if (lock >= 0)
    close (lock);
  return -1;
}

static void
remove_files (const char *path)
{
  g_autofree char *name = g_strconcat (path, ".lock", NULL);

  g_unlink (path);
  g_unlink (name);
}

/* -- writing -- */

static void write_soon (Keeper *self);

static void
run_write (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  IrSessionFile *file = data;
  Keeper *self = g_object_get_data (G_OBJECT (task), "keeper"); /* it stays until this has ended */
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->ending);
  g_autoptr (GError) error = NULL;

  if (self->ended)
    return;
  if (!ir_session_file_write (file, file->file, &error))
    g_warning ("the session cannot be kept: %s", error->message);
}

static void
keeper_free (Keeper *self)
{
  if (self->lock >= 0)
    close (self->lock);
  g_mutex_clear (&self->ending);
  g_free (self->path);
  g_free (self);
}

static void
on_written (GObject *source, GAsyncResult *result, gpointer data)
{
  Keeper *self = data;

  self->writing = FALSE;
  if (self->ended)
    keeper_free (self);
  else if (self->again)
    write_soon (self);
}

/* (nullable): nothing is open */
static IrSessionFile *
take_down (Keeper *self)
{
  IrSessionFile *file = ir_session_to_file (self->window->session);

  if (file == NULL)
    return NULL;
  if (self->sha256 != NULL && g_strcmp0 (file->model, self->model) == 0)
    file->sha256 = g_strdup (self->sha256);
  ir_window_note_panes (self->window, file->window);
  return file;
}

static gboolean
write_now (gpointer data)
{
  Keeper *self = data;
  IrSessionFile *file = self->writing ? NULL : take_down (self);
  g_autoptr (GTask) task = NULL;

  self->pause = 0;
  self->again = self->writing;
  if (file == NULL)
    return G_SOURCE_REMOVE;
  file->file = g_strdup (self->path);
  self->writing = TRUE;
  task = g_task_new (NULL, NULL, on_written, self);
  g_object_set_data (G_OBJECT (task), "keeper", self);
  g_task_set_task_data (task, file, (GDestroyNotify) ir_session_file_free);
  g_task_run_in_thread (task, run_write);
  return G_SOURCE_REMOVE;
}

static void
write_soon (Keeper *self)
{
  if (self->pause == 0)
    self->pause = g_timeout_add (PAUSE_MS, write_now, self);
}

/* -- the model's file -- */

typedef struct
{
  Keeper *keeper;
  guint serial;
  char *path;
} Look;

static void
look_free (gpointer data)
{
  g_free (((Look *) data)->path);
  g_free (data);
}

static void
run_look (GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  g_task_return_pointer (task, ir_session_hash (((Look *) data)->path, NULL), g_free);
}

static void
on_looked (GObject *source, GAsyncResult *result, gpointer data)
{
  const Look *looked = g_task_get_task_data (G_TASK (result));
  g_autofree char *sha256 = g_task_propagate_pointer (G_TASK (result), NULL);
  Keeper *self = looked->keeper;

  if (!g_ptr_array_find (keepers, self, NULL) || looked->serial != self->serial || sha256 == NULL)
    return;
  if (self->sha256 == NULL)
    {
      self->sha256 = g_strdup (sha256);
      write_soon (self);
    }
  else if (strcmp (self->sha256, sha256) != 0 && g_strcmp0 (self->seen, sha256) != 0)
    ir_window_offer_reload (self->window);
  g_free (self->seen);
  self->seen = g_steal_pointer (&sha256);
}

static gboolean
look_now (gpointer data)
{
  Keeper *self = data;
  g_autoptr (GTask) task = NULL;
  Look *look;

  if (ir_session_get_busy (self->window->session)) /* it may be what writes the file */
    return G_SOURCE_CONTINUE;
  self->look = 0;
  if (self->model == NULL)
    return G_SOURCE_REMOVE;
  look = g_new0 (Look, 1);
  *look = (Look){ self, self->serial, g_strdup (self->model) };
  task = g_task_new (NULL, NULL, on_looked, NULL);
  g_task_set_task_data (task, look, look_free);
  g_task_run_in_thread (task, run_look);
  return G_SOURCE_REMOVE;
}

static void
look_soon (Keeper *self)
{
  if (self->look == 0)
    self->look = g_timeout_add (WATCH_MS, look_now, self);
}

static void
on_file_event (Keeper *self)
{
  look_soon (self);
}

/* Also when the same file was opened or written again: what is in it now is what is open. */
static void
watch_model (Keeper *self)
{
  const char *path = ir_session_is_empty (self->window->session)
                         ? NULL
                         : ir_session_get_path (self->window->session);
  const guint opened = ir_session_get_file_serial (self->window->session);

  if (opened == self->opened) /* it was edited */
    return;
  self->opened = opened;
  self->serial++;
  g_clear_pointer (&self->sha256, g_free);
  g_clear_pointer (&self->seen, g_free);
  if (g_strcmp0 (path, self->model) != 0)
    {
      g_autoptr (GFile) file = path != NULL ? g_file_new_for_path (path) : NULL;

      g_clear_object (&self->monitor);
      g_free (self->model);
      self->model = g_strdup (path);
      self->monitor = file != NULL
                          ? g_file_monitor_file (file, G_FILE_MONITOR_WATCH_MOVES, NULL, NULL)
                          : NULL;
      if (self->monitor != NULL)
        g_signal_connect_swapped (self->monitor, "changed", G_CALLBACK (on_file_event), self);
    }
  if (path != NULL)
    look_soon (self);
}

/* -- life -- */

#define NO_CONTENT                                                                                 \
  (IR_CHANGED_HOVER | IR_CHANGED_BUSY | IR_CHANGED_VALUES | IR_CHANGED_RUNS | IR_CHANGED_SCORES |  \
   IR_CHANGED_TIME_SPAN | IR_CHANGED_KERNELS)

static void
on_changed (Keeper *self, guint changes)
{
  if (changes & IR_CHANGED_FILE)
    watch_model (self);
  if (ir_session_is_empty (self->window->session))
    g_unlink (self->path);
  else if (changes & ~(guint) NO_CONTENT)
    write_soon (self);
}

static void
end (Keeper *self)
{
  g_ptr_array_remove (keepers, self);
  g_clear_handle_id (&self->pause, g_source_remove);
  g_clear_handle_id (&self->look, g_source_remove);
  g_clear_object (&self->monitor);
  g_clear_pointer (&self->model, g_free);
  g_clear_pointer (&self->sha256, g_free);
  g_clear_pointer (&self->seen, g_free);
  if (self->session != NULL)
    g_signal_handlers_disconnect_by_data (self->session, self);
  g_clear_weak_pointer (&self->session);
  g_mutex_lock (&self->ending); /* what is being written is there then, and goes too */
  self->ended = TRUE;
  remove_files (self->path);
  g_mutex_unlock (&self->ending);
  if (!self->writing) /* else when that has ended */
    keeper_free (self);
}

static void
on_window_gone (gpointer data, GObject *window)
{
  if (g_ptr_array_find (keepers, data, NULL))
    end (data);
}

void
ir_keeper_attach (IrWindow *window)
{
  g_autofree char *dir = sessions_dir (), *unique = g_uuid_string_random (), *name = NULL;
  Keeper *self = g_new0 (Keeper, 1);

  keepers = keepers != NULL ? keepers : g_ptr_array_new ();
  g_ptr_array_add (keepers, self);
  g_mkdir_with_parents (dir, 0700);
  name = g_strconcat (unique, ".json", NULL);
  self->window = window;
  g_mutex_init (&self->ending);
  g_set_weak_pointer (&self->session, window->session);
  self->path = g_build_filename (dir, name, NULL);
  self->lock = take_lock (self->path);
  g_object_weak_ref (G_OBJECT (window), on_window_gone, self);
  g_signal_connect_data (window->session, "changed", G_CALLBACK (on_changed), self, NULL,
                         G_CONNECT_SWAPPED);
}

void
ir_keepers_end (void)
{
  while (keepers != NULL && keepers->len > 0)
    end (keepers->pdata[0]);
}

/* -- what was lost -- */

static gint64
time_of (const char *path)
{
  GStatBuf info;

  return g_stat (path, &info) == 0 ? (gint64) info.st_mtime : -1;
}

/* The newest one. Locks without a session are of windows in which nothing was open. */
char *
ir_keeper_find_lost (void)
{
  g_autofree char *dir = sessions_dir ();
  g_autoptr (GDir) files = g_dir_open (dir, 0, NULL);
  char *newest = NULL;
  const char *name;
  int held = -1;

  lost = lost != NULL ? lost : g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  while (files != NULL && (name = g_dir_read_name (files)) != NULL)
    {
      g_autofree char *path = g_build_filename (dir, name, NULL);
      const gint64 time = g_str_has_suffix (name, ".json") && !g_hash_table_contains (lost, path)
                              ? time_of (path)
                              : -1;
      const int lock = time >= 0 && (newest == NULL || time > time_of (newest)) ? take_lock (path)
                                                                                : -1;

      if (lock < 0)
        continue;
      if (held >= 0)
        close (held);
      g_free (newest);
      newest = g_steal_pointer (&path);
      held = lock;
    }
  if (newest != NULL)
    g_hash_table_insert (lost, g_strdup (newest), GINT_TO_POINTER (held + 1));
  return newest;
}

void
ir_keeper_leave (const char *path)
{
  const int lock = lost != NULL ? GPOINTER_TO_INT (g_hash_table_lookup (lost, path)) - 1 : -1;

  if (lock < 0)
    return;
  close (lock);
  g_hash_table_remove (lost, path);
}

void
ir_keeper_drop (const char *path)
{
  remove_files (path);
  ir_keeper_leave (path);
}
