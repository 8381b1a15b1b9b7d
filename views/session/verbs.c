/* The session's verbs. Each long one is a job: it collects what it needs in the main thread, works
 * in a thread on a fork of the model or on frozen snapshots, and brings back a bundle that is
 * swapped in at once. Moving the cursor is a job of its own kind: it may run beside a long one, and
 * a burst of moves (the slider) makes only the newest frame after the current one. */
#include "config.h"

#include "core/io/io.h"
#include "core/op/verify.h"
#include "core/op/infer.h"
#include "passes/pipeline/pipeline.h"
#include "views/count.h"
#include "views/picture.h"
#include "views/session/session-private.h"

/* Proofs run every changed cone, so they are made by themselves only for graphs that run in about a
 * second. */
#define PROVE_MAX_FLOPS G_GUINT64_CONSTANT (4000000000)
#define PROVE_MAX_STEPS 2000

/* -- the long job -- */

static void
on_progress (gpointer owner, double fraction, const char *text)
{
  IrSession *self = owner;

  self->progress = fraction;
  g_free (self->progress_text);
  self->progress_text = g_strdup (text);
  ir_session_changed (self, IR_CHANGED_BUSY);
}

gboolean
ir_session_start_job (IrSession *self, const char *text, const IrJobSpec *spec)
{
  IrJobSpec full = *spec;

  if (self->job != NULL)
    {
      ir_session_message (self, "Busy: wait for the current work to end, or cancel it");
      if (spec->data_free != NULL)
        spec->data_free (spec->data);
      return FALSE;
    }
  full.progress = on_progress;
  self->job = ir_job_start (self, &full);
  on_progress (self, -1, text);
  return TRUE;
}

/* First line of every done function. */
void
ir_session_end_job (IrSession *self)
{
  g_clear_pointer (&self->job, ir_job_unref);
  self->progress = -1;
  g_clear_pointer (&self->progress_text, g_free);
}

/* -- frames -- */

typedef struct
{
  IrTimeline *timeline;
  guint from, to;
  IrFrame *previous; /* (nullable): unchanged boxes stay where they are in it */
  IrPictureSettings *settings;
  IrModel *other;             /* (nullable): compared with this instead of with @from */
  IrTimeline *other_timeline; /* (nullable): or with the last step of this */
} FrameRequest;

static void
frame_request_free (gpointer data)
{
  FrameRequest *request = data;

  g_clear_pointer (&request->timeline, ir_timeline_unref);
  g_clear_pointer (&request->previous, ir_frame_unref);
  g_clear_pointer (&request->settings, ir_picture_settings_unref);
  g_clear_pointer (&request->other, ir_model_unref);
  g_clear_pointer (&request->other_timeline, ir_timeline_unref);
  g_free (request);
}

/* @problems: of the graph that is drawn */
static IrPictureSettings *
picture_settings (IrSession *self, GPtrArray *problems)
{
  IrPictureSettings *settings = ir_picture_settings_new (
      self->serial, self->show, self->folded, self->overlay, self->runs[IR_SIDE_AFTER], problems);

  ir_picture_settings_set_automatic (settings, self->automatic);
  ir_picture_settings_set_marks (settings, self->marks, self->marks_step);
  return settings;
}

/* (transfer full) (nullable): what the frame is compared with, if that has another history. */
static IrModel *
foreign_side (const FrameRequest *request)
{
  IrModel *model;

  if (request->other != NULL)
    return ir_model_ref (request->other);
  if (request->other_timeline == NULL)
    return NULL;
  g_mutex_lock (&request->other_timeline->lock);
  model = ir_history_snapshot (request->other_timeline->model,
                               ir_history_n_steps (request->other_timeline->model));
  g_mutex_unlock (&request->other_timeline->lock);
  return model;
}

static IrFrame *
make_frame (const FrameRequest *request, GCancellable *cancellable, GError **error)
{
  IrFrame *frame = g_new0 (IrFrame, 1);
  IrModel *other = foreign_side (request);

  g_atomic_ref_count_init (&frame->ref_count);
  frame->from = request->from;
  frame->to = request->to;
  g_mutex_lock (&request->timeline->lock);
  frame->model = ir_history_snapshot (request->timeline->model, request->to);
  frame->before = other != NULL ? other
                  : request->from == request->to
                      ? ir_model_ref (frame->model)
                      : ir_history_snapshot (request->timeline->model, request->from);
  g_mutex_unlock (&request->timeline->lock);
  frame->foreign = other != NULL;
  if (other == NULL && request->settings->marks != NULL &&
      request->settings->marks_step == request->to && request->from == request->to)
    frame->marks = ir_scene_marks_ref (request->settings->marks);
  frame->diff = ir_diff_new (frame->before, frame->model, !frame->foreign);
  frame->serial = request->settings->serial;
  frame->scene = ir_picture_new (frame, request->settings, request->previous, cancellable, error);
  return frame;
}

static gpointer
run_frame (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  g_autoptr (GError) local = NULL;
  IrFrame *frame = make_frame (data, cancellable, &local);

  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    {
      ir_frame_unref (frame);
      return NULL;
    }
  if (local != NULL)
    g_warning ("layout: %s", local->message);
  return frame;
}

static void
on_frame (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrSession *self = owner;
  FrameRequest *request = data;
  IrFrame *frame = result;

  g_clear_pointer (&self->frame_job, ir_job_unref);
  if (frame != NULL && request->timeline == self->timeline)
    {
      ir_job_free_later (self->frame, (GDestroyNotify) ir_frame_unref);
      self->frame = g_steal_pointer (&frame);
      /* other values belong to another pair of graphs */
      ir_session_changed (
          self, IR_CHANGED_FRAME | (self->values != NULL ? IR_CHANGED_RUNS : 0) |
                    (self->faults != NULL || self->found->len > 1 ? IR_CHANGED_PROBLEMS : 0));
      ir_session_select_pending (self);
    }
  g_clear_pointer (&frame, ir_frame_unref);
  ir_session_request_frame (self);
}

/* Starts to make the frame that is wanted, unless it is there or one is being made. */
void
ir_session_request_frame (IrSession *self)
{
  FrameRequest *request;
  guint from;

  if (self->frame == NULL || self->frame_job != NULL)
    return;
  from = ir_session_compare_from (self, self->cursor);
  if (self->frame->to == self->cursor && self->frame->from == from &&
      self->frame->serial == self->serial)
    return;
  request = g_new0 (FrameRequest, 1);
  request->timeline = ir_timeline_ref (self->timeline);
  request->from = from;
  request->to = self->cursor;
  request->previous = ir_frame_ref (self->frame);
  request->settings = picture_settings (self, ir_session_problems_at (self, self->cursor));
  if (self->marks == NULL)
    {
      request->other = ir_session_other_model (self);
      request->other_timeline = ir_session_other_timeline (self);
    }
  self->frame_job = ir_job_start (self,
                                  &(IrJobSpec){ .run = run_frame,
                                                .data = request,
                                                .data_free = frame_request_free,
                                                .result_free = (GDestroyNotify) ir_frame_unref,
                                                .done = on_frame });
}

void
ir_session_picture_changed (IrSession *self)
{
  self->serial++;
  ir_session_request_frame (self);
}

/**
 * ir_session_goto:
 * @step: 0 is the graph as it was opened; clamped to the last step
 *
 * Moves the cursor. The frame follows when it has been made.
 */
void
ir_session_goto (IrSession *self, guint step)
{
  step = MIN (step, ir_session_get_n_steps (self));
  if (self->frame == NULL || step == self->cursor)
    return;
  self->cursor = step;
  ir_session_hide_why (self, step);
  g_object_notify (G_OBJECT (self), "cursor");
  ir_session_request_frame (self);
}

/* Who moves by passes wants to see what a pass did, who moves by steps what a step did; the other
 * comparisons were chosen and stay. */
static void
compare_as_moved (IrSession *self, IrCompare unit)
{
  if (self->compare == unit ||
      (self->compare != IR_COMPARE_STEP && self->compare != IR_COMPARE_PASS))
    return;
  self->compare = unit;
  g_object_notify (G_OBJECT (self), "compare");
}

/**
 * ir_session_step_by:
 * @n_steps: how many steps to go on (or, if negative, back)
 *
 * Moves the cursor; a comparison with the beginning of the pass becomes one with the step before.
 */
void
ir_session_step_by (IrSession *self, int n_steps)
{
  gint64 step = (gint64) self->cursor + n_steps;

  compare_as_moved (self, IR_COMPARE_STEP);
  ir_session_goto (self, CLAMP (step, 0, (gint64) ir_session_get_n_steps (self)));
}

/* The last step of the next pass run that has steps, or of the one before the current one. */
static guint
neighbour_pass_end (IrSession *self, gboolean forward)
{
  const IrModel *model = ir_session_get_history (self);
  const guint n = ir_history_n_pass_runs (model);
  guint best = forward ? ir_history_n_steps (model) : 0;

  for (guint i = 0; i < n; i++)
    {
      const IrPassRun *run = ir_history_pass_run (model, i);
      const guint end = run->first_step + run->n_steps - 1;

      if (run->n_steps == 0)
        continue;
      if (forward && end > self->cursor)
        return end;
      if (!forward && end < self->cursor)
        best = end;
    }
  return best;
}

/**
 * ir_session_pass_by:
 * @n_passes: how many pass runs to go on (or, if negative, back)
 *
 * Moves the cursor to the ends of pass runs; a comparison with the step before becomes one with the
 * beginning of the pass.
 */
void
ir_session_pass_by (IrSession *self, int n_passes)
{
  if (self->frame == NULL)
    return;
  compare_as_moved (self, IR_COMPARE_PASS);
  for (int i = 0; i < ABS (n_passes); i++)
    ir_session_goto (self, neighbour_pass_end (self, n_passes > 0));
}

void
ir_session_set_compare (IrSession *self, IrCompare compare)
{
  g_return_if_fail (compare < IR_N_COMPARES);
  ir_session_show_why (self, NULL);
  if (self->compare == compare || !ir_session_can_compare (self, compare))
    return;
  if (ir_compare_is_foreign (compare) || ir_compare_is_foreign (self->compare))
    self->serial++;
  self->compare = compare;
  g_object_notify (G_OBJECT (self), "compare");
  ir_session_request_frame (self);
}

/**
 * ir_session_pin:
 * @step: a step
 *
 * From now on the graph at the cursor is compared with the graph at @step.
 */
void
ir_session_pin (IrSession *self, guint step)
{
  self->pinned = MIN (step, ir_session_get_n_steps (self));
  self->compare = IR_COMPARE_PINNED;
  g_object_notify (G_OBJECT (self), "compare");
  ir_session_request_frame (self);
}

/* -- opening -- */

typedef struct
{
  IrTimeline *timeline;
  IrFrame *frame;
  GPtrArray *problems;
  char *message;                /* (nullable) what to say when it is done */
  IrWhatIf *what_if;            /* (nullable) */
  IrModel *other;               /* (nullable) a file to compare with */
  GHashTable *folds;            /* (nullable) that are closed because the graph is large */
  IrExecutionReport *execution; /* (nullable) of the graph of @frame */
} Opened;

static void
opened_free (gpointer data)
{
  Opened *opened = data;

  g_clear_pointer (&opened->timeline, ir_timeline_unref);
  g_clear_pointer (&opened->frame, ir_frame_unref);
  g_clear_pointer (&opened->problems, g_ptr_array_unref);
  g_clear_pointer (&opened->what_if, ir_what_if_free);
  g_clear_pointer (&opened->other, ir_model_unref);
  g_clear_pointer (&opened->folds, g_hash_table_unref);
  g_clear_pointer (&opened->execution, ir_execution_report_free);
  g_free (opened->message);
  g_free (opened);
}

/* Steps at the beginning that are the user's edits. */
static guint
n_edit_steps (const IrModel *model)
{
  guint n = 0;

  while (n < ir_history_n_steps (model) &&
         g_strcmp0 (ir_history_pass_of (model, n + 1), "edit") == 0)
    n++;
  return n;
}

/* Lays out @model, at @to compared with @from or (nullable) @other, as the first frame of a new
 * timeline. */
static Opened *
opened_new (IrModel *model,
            IrModel *other,
            guint from,
            guint to,
            IrFrame *previous,
            IrPictureSettings *settings,
            GCancellable *cancellable)
{
  Opened *opened = g_new0 (Opened, 1);
  g_autoptr (GError) error = NULL;

  opened->timeline = ir_timeline_new (model);
  opened->frame = make_frame (&(FrameRequest){ .timeline = opened->timeline,
                                               .other = other,
                                               .from = from,
                                               .to = to,
                                               .previous = previous,
                                               .settings = settings },
                              cancellable, &error);
  if (error != NULL && !g_cancellable_is_cancelled (cancellable))
    g_warning ("layout: %s", error->message);
  return opened;
}

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
fold_large (Opened *opened, const IrPictureSettings *settings, GCancellable *cancellable)
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
  Opened *opened;

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
  opened = opened_new (model, other, 0, 0, NULL, settings, cancellable);
  fold_large (opened, settings, cancellable);
  opened->problems = g_steal_pointer (&problems);
  opened->other = g_steal_pointer (&other);
  return opened;
}

static void
swap_model (IrSession *self, Opened *opened)
{
  ir_session_forget_values (self);
  ir_session_take_timeline (self, g_steal_pointer (&opened->timeline),
                            g_steal_pointer (&opened->frame));
  if (opened->problems != NULL)
    ir_session_take_problems (self, self->frame->to, g_steal_pointer (&opened->problems));
  else
    ir_session_forget_problems (self, n_edit_steps (self->timeline->model));
  if (opened->execution != NULL)
    ir_session_take_execution (self, g_steal_pointer (&opened->execution));
}

static void
forget_selection (IrSession *self)
{
  gtk_bitset_remove_all (self->selection);
  self->selected_node = 0;
  self->selected_value = 0;
  self->hover = 0;
}

static void
take_opened (
    IrSession *self, Opened *opened, const char *path, const char *title, const char *other)
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
  forget_selection (self);
  self->pinned = 0;
  ir_session_forget_what_if (self);
  ir_session_forget_other (self);
  swap_model (self, opened);
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
      opened_free (result);
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
  request->settings = picture_settings (self, ir_session_found_at (self, 0));
  ir_session_start_job (self, text,
                        &(IrJobSpec){ .run = run_open,
                                      .data = request,
                                      .data_free = open_request_free,
                                      .result_free = opened_free,
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
  Opened *opened;

  if (self->job != NULL)
    return;
  model = ir_text_read (empty, -1, problems, &error);
  if (model == NULL)
    model = ir_model_new ();
  settings = picture_settings (self, ir_session_found_at (self, 0));
  opened = opened_new (model, NULL, 0, 0, NULL, settings, NULL);
  opened->problems = g_steal_pointer (&problems);
  take_opened (self, opened, NULL, "New graph", NULL);
  opened_free (opened);
}

/* -- forks -- */

/* An editable copy of the model as it is at @step; what is edited there follows that step. */
IrModel *
ir_timeline_fork (IrTimeline *timeline, guint step)
{
  IrModel *fork;

  if (step == 0)
    return ir_model_clone (timeline->original);
  g_mutex_lock (&timeline->lock);
  fork = ir_history_clone (timeline->model);
  g_mutex_unlock (&timeline->lock);
  ir_history_goto (fork, step);
  return fork;
}

/* Every input of @model: what was given, the rest random. */
GHashTable *
ir_session_all_inputs (
    IrModel *model, GHashTable *given, guint64 seed, GHashTable *sizes, GError **error)
{
  GHashTable *inputs = ir_random_inputs (model, seed, sizes, error);
  GHashTableIter iter;
  gpointer id, tensor;

  if (inputs == NULL)
    return NULL;
  g_hash_table_iter_init (&iter, given);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    if (ir_model_live_value (model, GPOINTER_TO_UINT (id)) != NULL)
      g_hash_table_insert (inputs, id, ir_tensor_ref (tensor));
  return inputs;
}

GHashTable *
ir_session_copy_inputs (GHashTable *inputs)
{
  GHashTable *copy = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  GHashTableIter iter;
  gpointer id, tensor;

  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    g_hash_table_insert (copy, id, ir_tensor_ref (tensor));
  return copy;
}

/* -- running a pipeline -- */

typedef struct
{
  IrTimeline *timeline;
  IrFrame *previous;
  char *pipeline;
  IrPictureSettings *settings;
  IrCompare compare;
  gboolean prove;
  GHashTable *inputs;
  guint64 seed;
  GHashTable *sizes;
  IrRunOptions options; /* of the run of the result that is checked */
  GStrv skips;          /* (nullable) what-if: names and stable keys that are left out */
  IrTimeline *original; /* (nullable) what-if: the result to compare with */
  IrModel *other;       /* (nullable) the file that the frame is compared with */
  IrJob *job;           /* (transfer none) for progress */
} PipelineRequest;

static void
pipeline_request_free (gpointer data)
{
  PipelineRequest *request = data;

  g_clear_pointer (&request->timeline, ir_timeline_unref);
  g_clear_pointer (&request->previous, ir_frame_unref);
  g_clear_pointer (&request->settings, ir_picture_settings_unref);
  g_clear_pointer (&request->inputs, g_hash_table_unref);
  g_clear_pointer (&request->sizes, g_hash_table_unref);
  g_clear_pointer (&request->original, ir_timeline_unref);
  g_clear_pointer (&request->other, ir_model_unref);
  g_clear_pointer (&request->skips, g_strfreev);
  g_free (request->pipeline);
  g_free (request);
}

static void
on_pass_progress (const char *pass, guint n_steps, gpointer data)
{
  g_autofree char *text = g_strdup_printf ("%s: %u steps", pass, n_steps);

  ir_job_report (data, -1, text);
}

static void
on_proof_progress (guint done, guint total, gpointer data)
{
  g_autofree char *text = g_strdup_printf ("Checking step %u of %u", done, total);

  ir_job_report (data, total > 0 ? (double) done / total : -1, text);
}

static gboolean
is_too_large (const IrModel *model)
{
  return ir_history_n_steps (model) > PROVE_MAX_STEPS ||
         ir_history_step (model, 1)->cost_before.flops > PROVE_MAX_FLOPS;
}

/* Verdicts for all steps; returns a phrase for the message, or NULL when there is nothing to say.
 */
static char *
prove_steps (const PipelineRequest *request, IrModel *model, GCancellable *cancellable)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = NULL;
  g_autoptr (IrProver) prover = NULL;
  IrProofSummary summary = { 0 };

  if (!request->prove || ir_history_n_steps (model) == 0)
    return NULL;
  if (is_too_large (model))
    return g_strdup ("not checked: the graph is large");
  inputs = ir_session_all_inputs (request->timeline->original, request->inputs, request->seed,
                                  request->sizes, &error);
  if (inputs != NULL)
    prover = ir_prover_new (model, inputs, ir_backend_find ("cpu"), cancellable, &error);
  if (prover == NULL ||
      !ir_prover_prove_all (prover, &summary, on_proof_progress, request->job, cancellable, &error))
    return g_strdup_printf ("not checked: %s", error != NULL ? error->message : "no reason given");
  return g_strdup_printf ("%u exact, %u rounding, %u broken", summary.n[IR_VERDICT_EXACT],
                          summary.n[IR_VERDICT_ROUNDING], summary.n[IR_VERDICT_BROKEN]);
}

/* The rewrites may be right and what runs their result be wrong. (nullable): with @why, where it
 * could not be judged. */
static IrExecutionReport *
judge_result (const PipelineRequest *request, IrModel *model, char **why, GCancellable *cancellable)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = NULL;
  IrExecutionReport *report = NULL;

  if (!request->prove || ir_history_n_steps (model) == 0 || is_too_large (model))
    return NULL;
  inputs = ir_session_all_inputs (model, request->inputs, request->seed, request->sizes, &error);
  if (inputs != NULL)
    report = ir_session_judge_execution (model, ir_history_n_steps (model), inputs,
                                         &request->options, request->job, cancellable, &error);
  if (report == NULL)
    *why = g_strdup_printf ("execution not checked: %s", error->message);
  else
    *why = g_strdup_printf ("%c%s", g_ascii_tolower (report->summary[0]), report->summary + 1);
  return report;
}

static guint
compare_from (const PipelineRequest *request, const IrModel *model)
{
  const guint to = ir_history_n_steps (model);

  if (to == 0 || request->compare == IR_COMPARE_ORIGINAL || request->compare == IR_COMPARE_PINNED)
    return 0;
  if (request->compare == IR_COMPARE_PASS)
    return ir_history_pass_run (model, ir_history_step (model, to)->pass_run)->first_step - 1;
  return request->compare == IR_COMPARE_STEP ? to - 1 : to;
}

static char *
pipeline_message (IrTimeline *timeline,
                  const IrModel *model,
                  const char *proof,
                  const char *execution)
{
  const guint n_steps = ir_history_n_steps (model);
  g_autofree char *steps = ir_count_text (n_steps),
                  *before = ir_count_text (ir_model_n_counted_nodes (timeline->original)),
                  *after = ir_count_text (ir_model_n_counted_nodes (model));

  if (n_steps == 0)
    return g_strdup ("Nothing to rewrite: no rule of the pipeline applies to this graph");
  return g_strdup_printf ("%s %s: %s nodes became %s%s%s%s%s", steps,
                          n_steps == 1 ? "step" : "steps", before, after,
                          proof != NULL ? " · " : "", proof != NULL ? proof : "",
                          execution != NULL ? " · " : "", execution != NULL ? execution : "");
}

/* What if: both results beside each other, in a thread of the job. */
static void
compare_results (const PipelineRequest *request,
                 IrModel *model,
                 Opened *opened,
                 GCancellable *cancellable)
{
  g_autoptr (IrModel) with = NULL;
  g_autoptr (GHashTable) inputs = NULL;
  g_autoptr (GError) error = NULL;
  const guint n = ir_history_n_steps (request->original->model);

  inputs = ir_session_all_inputs (request->timeline->original, request->inputs, request->seed,
                                  request->sizes, &error);
  if (inputs == NULL)
    return;
  with = ir_timeline_fork (request->original, n);
  opened->what_if = ir_what_if_new (with, model, inputs, ir_backend_find ("cpu"), NULL,
                                    ir_history_step (with, n)->cost_before.flops <= PROVE_MAX_FLOPS,
                                    cancellable);
}

static gpointer
run_pipeline (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  PipelineRequest *request = data;
  const guint base = n_edit_steps (request->timeline->model);
  g_autoptr (IrPipeline) pipeline = ir_pipeline_load (request->pipeline, error);
  g_autoptr (IrModel) model = NULL;
  g_autoptr (IrExecutionReport) execution = NULL;
  g_autofree char *proof = NULL, *executed = NULL;
  IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING,
                                .backend = ir_backend_find ("cpu"),
                                .record_refusals = TRUE, /* for why not; takes little time */
                                .progress = on_pass_progress,
                                .progress_data = job };
  IrPolicy policy = { ir_what_if_ask, request->skips };
  IrPipelineResult result = { 0 };
  Opened *opened;

  request->job = job;
  if (pipeline == NULL)
    return NULL;
  if (request->skips != NULL)
    options.policy = &policy;
  model = ir_timeline_fork (request->timeline, base);
  if (!ir_pipeline_run (model, pipeline, &options, &result, cancellable, error))
    return NULL;
  proof = prove_steps (request, model, cancellable);
  execution = judge_result (request, model, &executed, cancellable);
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return NULL;
  ir_job_report (job, -1, "Laying out the graph");
  opened = opened_new (ir_model_ref (model), request->other, compare_from (request, model),
                       ir_history_n_steps (model), request->previous, request->settings,
                       cancellable);
  opened->message = pipeline_message (request->timeline, model, proof, executed);
  opened->execution = g_steal_pointer (&execution);
  if (request->original != NULL)
    {
      ir_job_report (job, -1, "Comparing the results");
      compare_results (request, model, opened, cancellable);
    }
  if (!g_cancellable_set_error_if_cancelled (cancellable, error))
    return opened;
  opened_free (opened);
  return NULL;
}

/* Ids of the steps that a re-run made anew may name other things now: keep what still is there. */
void
ir_session_keep_live_selection (IrSession *self)
{
  if (self->selected_node != 0 &&
      ir_model_live_node (self->frame->model, self->selected_node) == NULL)
    forget_selection (self);
  else if (ir_model_live_value (self->frame->model, self->selected_value) == NULL)
    self->selected_value = 0;
}

static void
on_pipeline (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrSession *self = owner;
  PipelineRequest *request = data;
  Opened *opened = result;

  ir_session_end_job (self);
  if (opened == NULL)
    {
      ir_session_changed (self, IR_CHANGED_BUSY);
      ir_session_failed (self, "The pipeline could not run", error);
      return;
    }
  if (request->timeline == self->timeline)
    {
      if (request->skips != NULL)
        ir_session_keep_original (self, g_steal_pointer (&request->skips),
                                  g_steal_pointer (&opened->what_if));
      else
        ir_session_forget_what_if (self);
      swap_model (self, opened);
      ir_session_check_compare (self);
      ir_session_forget_after (self);
      ir_session_keep_live_selection (self);
      ir_session_changed (self, IR_CHANGED_HISTORY | IR_CHANGED_FRAME | IR_CHANGED_SELECTION |
                                    IR_CHANGED_RUNS | IR_CHANGED_BUSY | IR_CHANGED_DEBUG |
                                    IR_CHANGED_PROBLEMS);
      ir_session_message (self, "%s", opened->message);
      ir_session_request_frame (self); /* a pinned comparison starts from its step again */
    }
  opened_free (opened);
}

/**
 * ir_session_run_pipeline:
 * @name: (nullable): a pipeline of ir_pipeline_names(); %NULL is the one that is set
 *
 * Runs the pipeline on the original graph with the user's edits, in place of the steps of an
 * earlier run, gives verdicts to the steps if wanted, and goes to the last one.
 */
void
ir_session_run_pipeline (IrSession *self, const char *name)
{
  if (self->frame == NULL)
    return;
  ir_session_set_pipeline (self, name);
  ir_session_run_pipeline_without (self, NULL);
}

/* Takes @skips: (nullable) what a what-if leaves out. */
void
ir_session_run_pipeline_without (IrSession *self, GStrv skips)
{
  PipelineRequest *request;

  request = g_new0 (PipelineRequest, 1);
  request->timeline = ir_timeline_ref (self->timeline);
  request->previous = ir_frame_ref (self->frame);
  ir_session_show_why (self, NULL);
  request->settings = picture_settings (
      self, ir_session_found_at (self, n_edit_steps (self->timeline->model)));
  request->pipeline = g_strdup (self->pipeline);
  request->compare = self->compare;
  request->other = ir_session_other_model (self);
  request->prove = self->prove;
  request->inputs = ir_session_copy_inputs (self->inputs);
  request->seed = self->seed;
  request->sizes = g_hash_table_ref (self->sizes);
  request->options = self->settings.options;
  request->options.seed = self->seed;
  request->skips = skips;
  if (skips != NULL)
    request->original = ir_timeline_ref (
        self->kept != NULL && self->shows_what_if ? self->kept : self->timeline);
  ir_session_start_job (self, "Running the pipeline",
                        &(IrJobSpec){ .run = run_pipeline,
                                      .data = request,
                                      .data_free = pipeline_request_free,
                                      .result_free = opened_free,
                                      .done = on_pipeline });
}

/* -- editing -- */

typedef struct
{
  IrTimeline *timeline;
  IrFrame *previous;
  IrPictureSettings *settings;
  guint step;
  IrSessionEditFunc func;
  gpointer data;
  GDestroyNotify data_free;
} EditRequest;

static void
edit_request_free (gpointer data)
{
  EditRequest *request = data;

  g_clear_pointer (&request->timeline, ir_timeline_unref);
  g_clear_pointer (&request->previous, ir_frame_unref);
  g_clear_pointer (&request->settings, ir_picture_settings_unref);
  if (request->data_free != NULL)
    request->data_free (request->data);
  g_free (request);
}

static gpointer
run_edit (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  EditRequest *request = data;
  const IrStop stop = { .cancellable = cancellable };
  g_autoptr (IrModel) model = ir_timeline_fork (request->timeline, request->step);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  IrEdit *edit;
  IrCost before, after;
  gboolean ok;
  Opened *opened;
  guint n;

  if (!ir_cost_model_until (model, NULL, &stop, &before))
    return g_cancellable_set_error_if_cancelled (cancellable, error), NULL;
  edit = ir_edit_new (model);
  ir_edit_begin_pass (edit, "edit");
  ok = request->func (edit, request->data, problems, cancellable, error);
  ir_edit_end_pass (edit);
  ir_edit_free (edit);
  if (!ok || g_cancellable_set_error_if_cancelled (cancellable, error))
    return NULL;
  n = ir_history_n_steps (model);
  if (n == request->step + 1)
    {
      if (!ir_cost_model_until (model, NULL, &stop, &after))
        return g_cancellable_set_error_if_cancelled (cancellable, error), NULL;
      ir_history_set_cost (model, n, &before, &after);
    }
  ir_verify_model (model, problems);
  ir_picture_settings_set_problems (request->settings, problems);
  opened = opened_new (ir_model_ref (model), NULL, request->step, n, request->previous,
                       request->settings, cancellable);
  opened->problems = g_steal_pointer (&problems);
  opened->message = g_strdup_printf ("Applied as step %u", n);
  return opened;
}

static void
on_edited (gpointer owner, gpointer result, const GError *error, gpointer data)
{
  IrSession *self = owner;
  EditRequest *request = data;
  Opened *opened = result;

  ir_session_end_job (self);
  if (opened == NULL)
    {
      ir_session_changed (self, IR_CHANGED_BUSY);
      ir_session_failed (self, "The edit could not be made", error);
      return;
    }
  if (request->timeline == self->timeline && opened->frame->to == request->step)
    ir_session_message (self, "Nothing changed");
  else if (request->timeline == self->timeline)
    {
      ir_session_forget_what_if (self);
      swap_model (self, opened);
      ir_session_check_compare (self);
      self->modified = TRUE;
      ir_job_free_later (g_steal_pointer (&self->runs[IR_SIDE_AFTER]),
                         (GDestroyNotify) ir_run_unref);
      ir_session_keep_live_selection (self);
      ir_session_changed (self, IR_CHANGED_ALL & ~(IR_CHANGED_OVERLAY | IR_CHANGED_TIME_SPAN));
      ir_session_message (self, "%s", opened->message);
    }
  ir_session_changed (self, IR_CHANGED_BUSY);
  opened_free (opened);
}

/**
 * ir_session_edit:
 * @title: what is done, for the progress line
 * @func: makes the steps, in a thread
 * @data: (transfer full): freed by @data_free when done
 *
 * Edits the graph at the cursor; steps beyond it are cut off.
 */
void
ir_session_edit (IrSession *self,
                 const char *title,
                 IrSessionEditFunc func,
                 gpointer data,
                 GDestroyNotify data_free)
{
  EditRequest *request = g_new0 (EditRequest, 1);

  request->func = func;
  request->data = data;
  request->data_free = data_free;
  if (self->frame == NULL)
    {
      edit_request_free (request);
      return;
    }
  request->timeline = ir_timeline_ref (self->timeline);
  request->previous = ir_frame_ref (self->frame);
  ir_session_show_why (self, NULL);
  request->settings = picture_settings (self, ir_session_found_at (self, 0));
  request->step = self->frame->to;
  ir_session_start_job (self, title,
                        &(IrJobSpec){ .run = run_edit,
                                      .data = request,
                                      .data_free = edit_request_free,
                                      .result_free = opened_free,
                                      .done = on_edited });
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
