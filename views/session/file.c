/* The file that is open, and those that are written. */
#include "config.h"

#include "core/io/io.h"
#include "core/op/verify.h"
#include "views/picture.h"
#include "views/session/session-private.h"

const char *
ir_session_get_path (IrSession *self)
{
  return self->path;
}

const char *
ir_session_get_title (IrSession *self)
{
  return self->title;
}

gboolean
ir_session_get_modified (IrSession *self)
{
  return self->modified;
}

/* -- opening -- */

typedef struct
{
  char *path;
  char *other; /* (nullable) path of a file to compare with */
  IrPictureSettings *settings;
} OpenRequest;

static void
open_request_free (gpointer data)
{
  OpenRequest *request = data;

  g_free (request->path);
  g_free (request->other);
  ir_picture_settings_unref (request->settings);
  g_free (request);
}

/* Of a graph that is too large to be taken in at once, scopes are closed. */
static void
fold_large (IrOpened *opened, const IrPictureSettings *settings, GCancellable *cancellable)
{
  IrFrame *frame = opened->frame;
  g_autoptr (IrPictureSettings) folded = NULL;
  g_autoptr (GError) error = NULL;
  IrScene *scene;

  if (frame->scene == NULL || (settings->show & IR_SHOW_SCOPES) == 0)
    return;
  opened->folds = ir_picture_choose_folds (frame->scene);
  if (opened->folds == NULL)
    return;
  folded = ir_picture_settings_with_problems (settings, settings->problems);
  ir_picture_settings_set_automatic (folded, opened->folds);
  scene = ir_picture_new (frame, folded, NULL, cancellable, &error);
  if (scene == NULL)
    return;
  ir_scene_unref (frame->scene);
  frame->scene = scene;
}

static gpointer
run_open (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  OpenRequest *request = data;
  g_autoptr (GPtrArray) problems = ir_problems_new (), others = ir_problems_new ();
  g_autoptr (IrPictureSettings) settings = NULL;
  g_autoptr (IrModel) other = NULL;
  IrModel *model;
  IrOpened *opened;

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
  opened = ir_opened_new (model, other, 0, 0, NULL, settings, cancellable);
  fold_large (opened, settings, cancellable);
  opened->problems = g_steal_pointer (&problems);
  opened->other = g_steal_pointer (&other);
  return opened;
}

static void
take_opened (
    IrSession *self, IrOpened *opened, const char *path, const char *title, const char *other)
{
  g_free (self->path);
  self->path = g_strdup (path);
  g_free (self->title);
  self->title = g_strdup (title);
  self->modified = FALSE;
  ir_session_clear_runs (self);
  ir_session_forget_records (self);
  g_hash_table_remove_all (self->inputs);
  ir_session_forget_sizes (self);
  ir_session_forget_selection (self);
  self->pinned = 0;
  ir_session_forget_what_if (self);
  ir_session_forget_other (self);
  ir_session_take_opened (self, opened);
  if (opened->other != NULL)
    ir_session_take_other (self, g_steal_pointer (&opened->other), other);
  g_hash_table_remove_all (self->folded);
  g_hash_table_remove_all (self->automatic);
  if (opened->folds != NULL)
    {
      g_hash_table_unref (self->automatic);
      self->automatic = g_steal_pointer (&opened->folds);
    }
  ir_session_check_compare (self);
  ir_session_changed (self, IR_CHANGED_ALL);
}

static void
on_opened (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrSession *self = owner;
  const char *path = ((OpenRequest *) data)->path;
  g_autofree char *base = g_path_get_basename (path);

  ir_session_end_job (self);
  if (result != NULL)
    {
      take_opened (self, result, path, base, ((OpenRequest *) data)->other);
      ir_opened_free (result);
      ir_session_request_frame (self);
    }
  else
    {
      g_autofree char *title = g_strdup_printf ("“%s” could not be opened", base);

      ir_session_changed (self, IR_CHANGED_BUSY);
      ir_session_failed (self, title, error);
    }
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
  OpenRequest *request = g_new0 (OpenRequest, 1);

  request->path = g_canonicalize_filename (path, NULL);
  request->other = before != NULL ? g_canonicalize_filename (before, NULL) : NULL;
  request->settings = ir_session_picture_settings (self, ir_session_found_at (self, 0));
  ir_session_start_job (self, text,
                        &(IrJobSpec){ .run = run_open,
                                      .data = request,
                                      .data_free = open_request_free,
                                      .result_free = ir_opened_free,
                                      .done = on_opened });
}

/**
 * ir_session_new_model:
 *
 * Opens an empty graph, to be built in the text view.
 */
void
ir_session_new_model (IrSession *self)
{
  static const char empty[] = "<ir_version: 8, opset_import: [\"\": 17]>\n"
                              "new_graph () => () {\n}\n";
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrPictureSettings) settings = NULL;
  g_autoptr (GError) error = NULL;
  IrModel *model;
  IrOpened *opened;

  if (self->job != NULL)
    return;
  model = ir_text_read (empty, -1, problems, &error);
  if (model == NULL)
    model = ir_model_new ();
  settings = ir_session_picture_settings (self, ir_session_found_at (self, 0));
  opened = ir_opened_new (model, NULL, 0, 0, NULL, settings, NULL);
  opened->problems = g_steal_pointer (&problems);
  take_opened (self, opened, NULL, "New graph", NULL);
  ir_opened_free (opened);
}

/* -- exporting -- */

typedef struct
{
  IrFrame *frame;
  IrTimeline *timeline;
  char *path;
} ExportRequest;

static void
export_request_free (gpointer data)
{
  ExportRequest *request = data;

  ir_frame_unref (request->frame);
  ir_timeline_unref (request->timeline);
  g_free (request->path);
  g_free (request);
}

static gpointer
run_export (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  ExportRequest *request = data;
  const IrStop stop = { .cancellable = cancellable };
  gboolean ok;

  if (ir_picture_is_format (request->path))
    ok = ir_picture_save (request->frame, request->path, error);
  else
    {
      /* With its history, of which the lineage goes into the file. */
      g_autoptr (IrModel) model = ir_timeline_fork (request->timeline, request->frame->to);
      ok = ir_model_save_until (model, request->path, NULL, &stop, error);
    }
  return ok ? GINT_TO_POINTER (TRUE) : NULL;
}

static void
on_exported (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrSession *self = owner;
  ExportRequest *request = data;
  g_autofree char *base = g_path_get_basename (request->path);

  ir_session_end_job (self);
  if (result == NULL)
    {
      g_autofree char *title = g_strdup_printf ("“%s” could not be written", base);

      ir_session_changed (self, IR_CHANGED_BUSY);
      ir_session_failed (self, title, error);
      return;
    }
  if (g_str_has_suffix (base, ".onnx") || g_str_has_suffix (base, ".onnxtxt"))
    self->modified = FALSE;
  ir_session_changed (self, IR_CHANGED_BUSY | IR_CHANGED_FILE);
  ir_session_message (self, "Wrote %s", base);
}

/**
 * ir_session_export:
 * @path: the file; its extension says what is written
 *
 * Writes the graph at the cursor as a model, or what the graph view shows as a picture.
 */
void
ir_session_export (IrSession *self, const char *path)
{
  ExportRequest *request;

  if (self->frame == NULL)
    return;
  request = g_new0 (ExportRequest, 1);
  request->frame = ir_frame_ref (self->frame);
  request->timeline = ir_timeline_ref (self->timeline);
  request->path = g_strdup (path);
  ir_session_start_job (self, "Writing",
                        &(IrJobSpec){ .run = run_export,
                                      .data = request,
                                      .data_free = export_request_free,
                                      .done = on_exported });
}
