/* The file that is open, the one that it is compared with, and those that are written. */
#include "config.h"

#include "core/act/act.h"
#include "core/io/io.h"
#include "passes/pipeline/save.h"
#include "core/op/verify.h"
#include "views/session/gradients.h"
#include "views/session/play.h"
#include "views/session/training.h"
#include "views/session/debug-private.h"
#include "views/session/file-private.h"
#include "views/session/kept.h"
#include "views/session/notes-private.h"
#include "views/session/problems-private.h"
#include "views/session/replace.h"
#include "views/session/runs-private.h"
#include "views/session/selection-private.h"
#include "views/session/undo-private.h"

typedef struct
{
  char *path; /* (nullable) */
  char *title;
  guint saved;  /* the edits that are in a file, as ir_session_get_edits() counts them */
  guint serial; /* another number after it was opened or written */
} File;

static void
init (gpointer state)
{
  ((File *) state)->title = g_strdup ("");
}

static void
clear (gpointer state)
{
  File *self = state;

  g_free (self->path);
  g_free (self->title);
}

IR_SESSION_NOUN (File, init, clear)

const char *
ir_session_get_path (IrSession *self)
{
  return own (self)->path;
}

const char *
ir_session_get_title (IrSession *self)
{
  return own (self)->title;
}

guint
ir_session_get_file_serial (IrSession *self)
{
  return own (self)->serial;
}

gboolean
ir_session_get_modified (IrSession *self)
{
  return ir_session_get_edits (self) != own (self)->saved;
}

/* -- opening -- */

typedef struct
{
  IrRequest base;
  char *path;
  char *other;      /* (nullable) path of a file to compare with */
  gboolean is_save; /* the file becomes the one that is open */
  IrPictureSettings *settings;
} FileRequest;

static void
clear_request (gpointer data)
{
  FileRequest *request = data;

  g_free (request->path);
  g_free (request->other);
  g_clear_pointer (&request->settings, ir_picture_settings_unref);
}

static FileRequest *
file_request_new (IrSession *self, const IrWork *work, const char *path)
{
  FileRequest *request = ir_session_new_request (self, work, sizeof *request);

  request->path = g_canonicalize_filename (path, NULL);
  return request;
}

static void
say_failure (IrSession *self, const FileRequest *request, const char *what, const GError *error)
{
  g_autofree char *base = g_path_get_basename (request->path);
  g_autofree char *title = g_strdup_printf ("“%s” could not be %s", base, what);

  ir_session_failed (self, title, error);
}

static void
on_not_opened (IrSession *self, const GError *error, gpointer request)
{
  say_failure (self, request, "opened", error);
}

void
ir_successor_fold_large (IrSuccessor *opened,
                         const IrPictureSettings *settings,
                         GCancellable *cancellable)
{
  IrFrame *frame = opened->frame;
  g_autoptr (IrPictureSettings) folded = NULL;
  g_autoptr (GError) error = NULL;
  IrScene *scene;

  if (frame->scene == NULL || (settings->look->show & IR_SHOW_SCOPES) == 0)
    return;
  opened->folds = ir_look_choose_folds (frame->scene);
  if (opened->folds == NULL)
    return;
  folded = ir_picture_settings_with_problems (settings, settings->problems);
  ir_picture_settings_set_automatic (folded, opened->folds);
  scene = ir_picture_new (frame, folded, NULL, NULL, NULL, cancellable, &error);
  if (scene == NULL)
    return;
  ir_scene_unref (frame->scene);
  frame->scene = scene;
}

static gpointer
run_open (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  FileRequest *request = data;
  g_autoptr (GPtrArray) problems = ir_problems_new (), others = ir_problems_new ();
  g_autoptr (IrPictureSettings) settings = NULL;
  g_autoptr (IrModel) other = NULL;
  IrModel *model;
  IrSuccessor *opened;

  if (request->other != NULL)
    {
      other = ir_model_load (request->other, others, cancellable, error);
      if (other == NULL)
        return NULL;
    }
  model = ir_model_load (request->path, problems, cancellable, error);
  if (model == NULL)
    return NULL;
  ir_verify_model (model, problems);
  ir_job_report (job, -1, "Laying out the graph");
  settings = ir_picture_settings_with_problems (request->settings, problems);
  opened = ir_successor_new (model, other, 0, 0, NULL, settings, cancellable);
  ir_successor_fold_large (opened, settings, cancellable);
  opened->problems = g_steal_pointer (&problems);
  opened->other = g_steal_pointer (&other);
  return opened;
}

void
ir_session_take_opened (
    IrSession *self, IrSuccessor *opened, const char *path, const char *title, const char *other)
{
  File *file = own (self);

  clear (file);
  *file = (File){ g_strdup (path), g_strdup (title), 0, file->serial + 1 };
  ir_session_take_last_run (self, NULL, NULL);
  ir_session_forget_records (self);
  ir_session_forget_events (self);
  ir_session_forget_gradients (self);
  ir_session_forget_course (self);
  ir_session_forget_kernel_times (self);
  ir_session_forget_inputs (self);
  ir_session_forget_sizes (self);
  ir_session_forget_seen (self);
  ir_session_forget_data_set (self);
  ir_session_forget_selection (self);
  ir_session_forget_places (self);
  ir_session_forget_kept (self);
  ir_session_forget_notes (self);
  ir_session_place_pin (self, 0);
  ir_session_forget_what_if (self);
  ir_session_forget_other (self);
  ir_session_take_successor (self, opened);
  ir_session_begin_acts (self);
  file->saved = ir_session_get_edits (self);
  if (opened->other != NULL)
    ir_session_take_other (self, g_steal_pointer (&opened->other), other);
  ir_session_reset_folds (self, g_steal_pointer (&opened->folds));
  ir_session_check_compare (self);
  ir_session_changed (self, IR_CHANGED_ALL);
}

static void
on_opened (IrSession *self, gpointer result, gpointer data)
{
  const FileRequest *request = data;
  g_autofree char *base = g_path_get_basename (request->path);

  ir_session_take_opened (self, result, request->path, base, request->other);
  ir_successor_free (result);
}

static const IrWork open_work = {
  .run = run_open,
  .done = on_opened,
  .failed = on_not_opened,
  .clear = clear_request,
  .result_free = ir_successor_free,
};

static IrPictureSettings *
settings_to_open (IrSession *self)
{
  return ir_session_picture_settings (self, ir_session_get_run (self, IR_SIDE_AFTER),
                                      ir_session_found_at (self, 0));
}

/**
 * ir_session_open:
 * @path: a model file
 *
 * Reads, verifies and lays out the model. Until that is done the session stays as it is.
 */
void
ir_session_open (IrSession *self, const char *path)
{
  ir_session_open_pair (self, NULL, path);
}

/**
 * ir_session_open_pair:
 * @before: (nullable): a model file to compare with
 * @path: a model file
 *
 * Opens @path as ir_session_open() does, with what differs from @before on screen.
 */
void
ir_session_open_pair (IrSession *self, const char *before, const char *path)
{
  g_autofree char *base = g_path_get_basename (path);
  g_autofree char *text = g_strdup_printf ("Opening %s", base);
  FileRequest *request = file_request_new (self, &open_work, path);

  request->other = before != NULL ? g_canonicalize_filename (before, NULL) : NULL;
  request->settings = settings_to_open (self);
  ir_session_start (self, text, request);
}

/**
 * ir_session_new_model:
 *
 * Opens an empty graph, to be built.
 */
void
ir_session_new_model (IrSession *self)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrPictureSettings) settings = NULL;
  IrSuccessor *opened;

  if (ir_session_get_busy (self))
    return;
  settings = settings_to_open (self);
  opened = ir_successor_new (ir_act_new_model (), NULL, 0, 0, NULL, settings, NULL);
  opened->problems = g_steal_pointer (&problems);
  ir_session_take_opened (self, opened, NULL, "New graph", NULL);
  ir_successor_free (opened);
}

/* -- the other file -- */

static gpointer
run_load (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const FileRequest *request = data;
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  return ir_model_load (request->path, problems, cancellable, error);
}

static void
on_loaded (IrSession *self, gpointer result, gpointer data)
{
  const FileRequest *request = data;

  ir_session_clear_marks (self);
  ir_session_take_other (self, result, request->path);
  ir_session_changed (self, IR_CHANGED_BUSY | IR_CHANGED_COMPARE);
  ir_session_show_view (self, "differences");
}

static const IrWork load_work = {
  .run = run_load,
  .done = on_loaded,
  .failed = on_not_opened,
  .clear = clear_request,
  .result_free = (GDestroyNotify) ir_model_unref,
};

/**
 * ir_session_compare_with:
 * @path: a model file
 *
 * Shows how the graph at the cursor, whatever step that is, differs from the graph of the file.
 */
void
ir_session_compare_with (IrSession *self, const char *path)
{
  if (ir_session_is_empty (self))
    ir_session_open (self, path);
  else
    ir_session_start (self, "Reading the other file", file_request_new (self, &load_work, path));
}

/**
 * ir_session_swap_files:
 *
 * Opens the file that is compared with, and compares it with the one that was open.
 */
void
ir_session_swap_files (IrSession *self)
{
  g_autofree char *before = g_strdup (own (self)->path),
                  *after = g_strdup (ir_session_get_other_path (self));

  if (before != NULL && after != NULL)
    ir_session_open_pair (self, before, after);
}

/* -- exporting -- */

/* DOT of a graph alone can be read back; of a difference it is what the picture shows. */
static gboolean
is_picture (const IrFrame *frame, const char *path)
{
  const gboolean dot = g_str_has_suffix (path, ".dot") || g_str_has_suffix (path, ".gv");

  return ir_picture_is_format (path) ||
         (dot && frame->scene != NULL && ir_scene_is_diff (frame->scene));
}

static gpointer
run_export (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const FileRequest *request = data;
  const IrFrame *frame = request->base.frame;
  gboolean ok;

  if (is_picture (frame, request->path))
    ok = ir_picture_save (frame, request->path, error);
  else
    {
      /* With its history, of which the lineage goes into the file. */
      g_autoptr (IrModel) model = ir_timeline_fork (request->base.timeline, frame->to);
      ok = ir_pass_save_model (model, request->path, NULL, NULL, cancellable, error);
    }
  return ok ? GINT_TO_POINTER (TRUE) : NULL;
}

static void
on_exported (IrSession *self, gpointer result, gpointer data)
{
  const FileRequest *request = data;
  g_autofree char *base = g_path_get_basename (request->path);
  const gboolean keeps_graphs = g_str_has_suffix (base, ".onnx") ||
                                g_str_has_suffix (base, ".onnxtxt");
  const gboolean has_edits = request->base.frame->to >=
                             ir_timeline_last_edit (request->base.timeline);

  if (keeps_graphs && has_edits)
    own (self)->saved = ir_session_get_edits (self);
  if (request->is_save)
    {
      g_free (own (self)->path);
      g_free (own (self)->title);
      own (self)->path = g_strdup (request->path);
      own (self)->title = g_strdup (base);
      own (self)->serial++;
      ir_session_acts_written (self, request->base.frame->to);
    }
  ir_session_changed (self, IR_CHANGED_BUSY | IR_CHANGED_FILE);
  if (keeps_graphs && !has_edits)
    ir_session_message (self, "Wrote %s at step %u, without the edits behind it", base,
                        request->base.frame->to);
  else
    ir_session_message (self, request->is_save ? "Saved %s" : "Wrote %s", base);
}

static void
on_not_exported (IrSession *self, const GError *error, gpointer request)
{
  say_failure (self, request, "written", error);
}

static const IrWork export_work = {
  .run = run_export,
  .done = on_exported,
  .failed = on_not_exported,
  .clear = clear_request,
};

/**
 * ir_session_export:
 * @path: the file; its extension says what is written
 *
 * Writes the graph at the cursor as a model, or what the graph view shows as a picture.
 */
void
ir_session_export (IrSession *self, const char *path)
{
  if (!ir_session_is_empty (self))
    ir_session_start (self, "Writing", file_request_new (self, &export_work, path));
}

/**
 * ir_session_save:
 * @path: the file; its extension says in which format, ONNX if it has none
 *
 * Writes the graph at the cursor as a model, and goes on with it as the file that is open.
 */
void
ir_session_save (IrSession *self, const char *path)
{
  FileRequest *request;

  if (ir_session_is_empty (self))
    return;
  request = file_request_new (self, &export_work, path);
  request->is_save = TRUE;
  ir_session_start (self, "Saving", request);
}
