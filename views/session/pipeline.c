/* Running a pipeline: steps in the place of those of the run before, their verdicts, and a check of the
 * execution of the result. */
#include "config.h"

#include "core/op/infer.h"
#include "passes/pipeline/pipeline.h"
#include "core/ir/count.h"
#include "views/session/debug-private.h"
#include "views/session/problems-private.h"
#include "views/session/prove-private.h"
#include "views/session/replace.h"
#include "views/session/runs-private.h"
#include "views/session/selection-private.h"
#include "views/session/undo-private.h"

#include <string.h>

typedef struct
{
  char *name;
  GStrv passes, values; /* (nullable) what IR_SESSION_PASSES stands for, and its options */
  gboolean prove, unsafe;
} Settings;

static void
init (gpointer state)
{
  *(Settings *) state = (Settings){ .name = g_strdup ("default"), .prove = TRUE };
}

static void
clear (gpointer state)
{
  Settings *settings = state;

  g_free (settings->name);
  g_strfreev (settings->passes);
  g_strfreev (settings->values);
}

IR_SESSION_NOUN (Settings, init, clear)

const char *
ir_session_get_pipeline (IrSession *self)
{
  return own (self)->name;
}

gboolean
ir_session_get_prove (IrSession *self)
{
  return own (self)->prove;
}

gboolean
ir_session_get_unsafe (IrSession *self)
{
  return own (self)->unsafe;
}

/* Rewrites that hold for real numbers only apply, too: of any pipeline. */
void
ir_session_set_unsafe (IrSession *self, gboolean unsafe)
{
  if (own (self)->unsafe == unsafe)
    return;
  own (self)->unsafe = unsafe;
  ir_session_changed (self, IR_CHANGED_PIPELINE);
}

/* -- passes that are chosen one by one -- */

/* As --pass and --set of irscope optimize: (transfer full) */
static IrPipeline *
pipeline_of (const char *const *passes, const char *const *values, GError **error)
{
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (passes, error);

  for (guint i = 0; pipeline != NULL && values != NULL && values[i] != NULL; i++)
    if (!ir_pipeline_set (pipeline, values[i], error))
      return NULL;
  return g_steal_pointer (&pipeline);
}

IrPipeline *
ir_session_load_pipeline (IrSession *self, GError **error)
{
  const Settings *settings = own (self);

  return strcmp (settings->name, IR_SESSION_PASSES) == 0
             ? pipeline_of ((const char *const *) settings->passes,
                            (const char *const *) settings->values, error)
             : ir_pipeline_load (settings->name, error);
}

const char *const *
ir_session_get_passes (IrSession *self)
{
  return (const char *const *) own (self)->passes;
}

const char *const *
ir_session_get_pass_values (IrSession *self)
{
  return (const char *const *) own (self)->values;
}

/**
 * ir_session_set_passes:
 * @passes: names of passes, in the order in which they run; at least one
 * @values: (nullable): what of their options is set, "fold-constants.limit=1M"
 * @error: return location for an error
 *
 * Makes a list of passes the pipeline, under the name %IR_SESSION_PASSES. Fails as
 * ir_pipeline_new_from_names() and ir_pipeline_set(), and changes nothing then.
 *
 * Returns: %TRUE if it is the pipeline now
 */
gboolean
ir_session_set_passes (IrSession *self,
                       const char *const *passes,
                       const char *const *values,
                       GError **error)
{
  Settings *settings = own (self);
  g_autoptr (IrPipeline) pipeline = pipeline_of (passes, values, error);
  g_auto (GStrv) old_passes = NULL, old_values = NULL;

  if (pipeline == NULL)
    return FALSE;
  old_passes = g_steal_pointer (&settings->passes);
  old_values = g_steal_pointer (&settings->values);
  settings->passes = g_strdupv ((char **) passes);
  settings->values = g_strdupv ((char **) values);
  g_free (settings->name);
  settings->name = g_strdup (IR_SESSION_PASSES);
  ir_session_changed (self, IR_CHANGED_PIPELINE);
  return TRUE;
}

void
ir_session_set_pipeline (IrSession *self, const char *name)
{
  if (name == NULL || g_strcmp0 (own (self)->name, name) == 0)
    return;
  if (strcmp (name, IR_SESSION_PASSES) == 0 && own (self)->passes == NULL)
    return;
  g_free (own (self)->name);
  own (self)->name = g_strdup (name);
  ir_session_changed (self, IR_CHANGED_PIPELINE);
}

void
ir_session_set_prove (IrSession *self, gboolean prove)
{
  if (own (self)->prove == prove)
    return;
  own (self)->prove = prove;
  ir_session_changed (self, IR_CHANGED_PIPELINE);
}

/* -- running -- */

typedef struct
{
  IrRequest base;
  char *pipeline;
  GStrv passes, values; /* (nullable) in place of one that has a name */
  IrClass max_class;
  IrPictureSettings *settings;
  IrCompare compare;
  gboolean prove;
  IrRunOptions options; /* of the run of the result that is checked */
  GStrv skips;          /* (nullable) what-if: names and stable keys that are left out */
  IrTimeline *original; /* (nullable) what-if: the result to compare with */
  IrModel *other;       /* (nullable) the file that the frame is compared with */
} PipelineRequest;

static void
clear_request (gpointer data)
{
  PipelineRequest *request = data;

  g_clear_pointer (&request->settings, ir_picture_settings_unref);
  g_clear_pointer (&request->original, ir_timeline_unref);
  g_clear_pointer (&request->other, ir_model_unref);
  g_clear_pointer (&request->skips, g_strfreev);
  g_clear_pointer (&request->passes, g_strfreev);
  g_clear_pointer (&request->values, g_strfreev);
  g_free (request->pipeline);
}

static void
on_pass_progress (const char *pass, guint n_steps, gpointer data)
{
  g_autofree char *text = g_strdup_printf ("%s: %u %s", pass, n_steps,
                                           n_steps == 1 ? "step" : "steps");

  ir_job_report (data, -1, text);
}

static void
on_proof_progress (guint done, guint total, gpointer data)
{
  g_autofree char *text = g_strdup_printf ("Checking step %u of %u", done, total);

  ir_job_report (data, total > 0 ? (double) done / total : -1, text);
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
  if (ir_history_is_large (model))
    return g_strdup ("not checked: large");
  inputs = ir_feed_inputs (&request->base.feed, ir_timeline_original (request->base.timeline),
                           &error);
  if (inputs != NULL)
    prover = ir_prover_new (model, inputs, ir_backend_find ("cpu"), cancellable, &error);
  if (prover == NULL || !ir_prover_prove_all (prover, &summary, on_proof_progress,
                                              request->base.job, cancellable, &error))
    return g_strdup_printf ("not checked: %s", error != NULL ? error->message : "no reason given");
  return ir_proof_summary_text (&summary);
}

/* The rewrites may be right and what runs their result be wrong. (nullable): with @why, where it
 * could not be judged. */
static IrExecutionReport *
judge_result (const PipelineRequest *request, IrModel *model, char **why, GCancellable *cancellable)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = NULL;
  IrExecutionReport *report = NULL;

  if (!request->prove || ir_history_n_steps (model) == 0 || ir_history_is_large (model))
    return NULL;
  inputs = ir_feed_inputs (&request->base.feed, model, &error);
  if (inputs != NULL)
    report = ir_execution_judge (model, ir_history_n_steps (model), inputs, &request->options,
                                 request->base.job, cancellable, &error);
  if (report == NULL)
    *why = g_strdup_printf ("execution not checked: %s", error->message);
  else
    *why = g_strdup_printf ("%c%s", g_ascii_tolower (report->summary[0]), report->summary + 1);
  return report;
}

/* What is said where the class keeps a pass from all that it could do. */
static const char *
left_out (const IrPipeline *pipeline, IrClass max_class)
{
  for (guint i = 0; i < pipeline->passes->len; i++)
    if (((const IrPass *) pipeline->passes->pdata[i])->step_class > max_class)
      return " · unsafe rewrites left out: Choose Passes (Shift+F5) allows them";
  return "";
}

static char *
pipeline_message (IrTimeline *timeline,
                  guint base,
                  const IrModel *model,
                  const char *proof,
                  const char *execution,
                  const char *left_out)
{
  const guint n_steps = ir_history_n_steps (model) - base;
  g_autofree char *steps = ir_count_text (n_steps),
                  *before = ir_count_text (
                      ir_model_n_counted_nodes (ir_timeline_original (timeline))),
                  *after = ir_count_text (ir_model_n_counted_nodes (model));

  if (n_steps == 0)
    return g_strdup_printf (
        "Nothing to rewrite: no rule applies. Select a node: Why Not says what was missing%s",
        left_out);
  return g_strdup_printf (
      "%s %s: %s nodes became %s%s%s%s%s%s", steps, n_steps == 1 ? "step" : "steps", before, after,
      proof != NULL ? " · " : "", proof != NULL ? proof : "", execution != NULL ? " · " : "",
      execution != NULL ? execution : "", left_out);
}

/* What if: both results beside each other, in a thread of the job. */
static void
compare_results (const PipelineRequest *request,
                 IrModel *model,
                 IrSuccessor *successor,
                 GCancellable *cancellable)
{
  g_autoptr (IrModel) with = NULL;
  g_autoptr (GHashTable) inputs = NULL;
  g_autoptr (GError) error = NULL;
  const guint n = ir_timeline_n_steps (request->original);

  inputs = ir_feed_inputs (&request->base.feed, ir_timeline_original (request->base.timeline),
                           &error);
  if (inputs == NULL)
    return;
  with = ir_timeline_fork (request->original, n);
  successor->what_if = ir_what_if_new (with, model, inputs, ir_backend_find ("cpu"), NULL,
                                       !ir_history_is_large (with), cancellable);
}

static IrPipeline *
requested_pipeline (const PipelineRequest *request, GError **error)
{
  if (request->passes == NULL)
    return ir_pipeline_load (request->pipeline, error);
  return pipeline_of ((const char *const *) request->passes, (const char *const *) request->values,
                      error);
}

static gpointer
run_pipeline (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  PipelineRequest *request = data;
  IrTimeline *timeline = request->base.timeline;
  const guint base = ir_timeline_last_edit (timeline);
  g_autoptr (IrPipeline) pipeline = requested_pipeline (request, error);
  g_autoptr (IrModel) model = NULL;
  g_autoptr (IrExecutionReport) execution = NULL;
  g_autofree char *proof = NULL, *executed = NULL;
  IrPipelineOptions options = { .max_class = request->max_class,
                                .backend = ir_backend_find ("cpu"),
                                .record_refusals = TRUE, /* for why not; takes little time */
                                .progress = on_pass_progress,
                                .progress_data = job };
  IrPolicy policy = { ir_policy_skip_named, request->skips };
  IrPipelineResult result = { 0 };
  IrSuccessor *successor;

  if (pipeline == NULL)
    return NULL;
  if (request->skips != NULL)
    options.policy = &policy;
  model = ir_timeline_fork (timeline, base);
  if (!ir_pipeline_run (model, pipeline, &options, &result, cancellable, error))
    return NULL;
  proof = prove_steps (request, model, cancellable);
  execution = judge_result (request, model, &executed, cancellable);
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return NULL;
  ir_job_report (job, -1, "Laying out the graph");
  successor = ir_successor_new (
      ir_model_ref (model), request->other,
      ir_compare_step (request->compare, model, ir_history_n_steps (model), 0),
      ir_history_n_steps (model), request->base.frame, request->settings, cancellable);
  successor->message = pipeline_message (timeline, base, model, proof, executed,
                                         left_out (pipeline, request->max_class));
  successor->execution = g_steal_pointer (&execution);
  if (request->original != NULL)
    {
      ir_job_report (job, -1, "Comparing the results");
      compare_results (request, model, successor, cancellable);
    }
  if (!g_cancellable_set_error_if_cancelled (cancellable, error))
    return successor;
  ir_successor_free (successor);
  return NULL;
}

static void
record_run (IrSession *self, const PipelineRequest *request)
{
  IrDone *done = ir_session_dup_ran (self);
  g_autofree char *title = ir_done_title (done);

  ir_session_record_act (self, &request->base, title,
                         ir_timeline_last_edit (request->base.timeline), done);
}

static void
keep_ran (IrSession *self, const PipelineRequest *request)
{
  IrDone *done = ir_done_new (IR_DONE_PIPELINE, request->pipeline,
                              (const char *const *) request->skips, 0);

  done->passes = g_strdupv (request->passes);
  done->set = g_strdupv (request->values);
  done->step_class = g_strdup (ir_class_name (request->max_class));
  ir_session_set_ran (self, done);
}

static void
on_pipeline (IrSession *self, gpointer result, gpointer data)
{
  PipelineRequest *request = data;
  IrSuccessor *successor = result;

  if (ir_request_is_current (request, self))
    {
      keep_ran (self, request);
      if (request->skips != NULL)
        ir_session_keep_original (self, g_steal_pointer (&request->skips),
                                  g_steal_pointer (&successor->what_if));
      else
        ir_session_forget_what_if (self);
      ir_session_take_successor (self, successor);
      if (request->original == NULL)
        record_run (self, request);
      ir_session_check_compare (self);
      ir_session_forget_run_after (self);
      ir_session_forget_records (self);
      ir_session_forget_kernel_times (self);
      ir_session_keep_live_selection (self);
      /* the picture too: a pinned comparison starts from its step again */
      ir_session_changed (self, IR_CHANGED_HISTORY | IR_CHANGED_FRAME | IR_CHANGED_PICTURE |
                                    IR_CHANGED_SELECTION | IR_CHANGED_RUNS | IR_CHANGED_KERNELS |
                                    IR_CHANGED_VALUES | IR_CHANGED_BUSY | IR_CHANGED_PROBLEMS |
                                    IR_CHANGED_SCORES | IR_CHANGED_WHAT_IF | IR_CHANGED_BISECTION |
                                    IR_CHANGED_WHY | IR_CHANGED_UNDO);
      ir_session_message (self, "%s", successor->message);
    }
  else
    ir_session_changed (self, IR_CHANGED_BUSY);
  ir_successor_free (successor);
}

static const IrWork pipeline_work = {
  .run = run_pipeline,
  .done = on_pipeline,
  .failure = "The pipeline could not run",
  .clear = clear_request,
  .result_free = ir_successor_free,
};

/* Takes @skips: (nullable) what a what-if leaves out. */
static void
run_without (IrSession *self, GStrv skips)
{
  PipelineRequest *request;

  ir_session_clear_marks (self);
  request = ir_session_new_request (self, &pipeline_work, sizeof *request);
  request->settings = ir_session_picture_settings (
      self, ir_session_get_run (self, IR_SIDE_AFTER),
      ir_session_found_at (self, ir_timeline_last_edit (request->base.timeline)));
  request->pipeline = g_strdup (own (self)->name);
  if (strcmp (request->pipeline, IR_SESSION_PASSES) == 0)
    {
      request->passes = g_strdupv (own (self)->passes);
      request->values = g_strdupv (own (self)->values);
    }
  request->max_class = own (self)->unsafe ? IR_CLASS_UNSAFE : IR_CLASS_ROUNDING;
  request->compare = ir_session_get_compare (self);
  request->other = ir_session_other_model (self);
  request->prove = own (self)->prove;
  request->options = ir_session_get_run_options (self);
  request->skips = skips;
  if (skips != NULL)
    request->original = ir_timeline_ref (ir_session_get_unskipped (self));
  ir_session_start (self, "Running the pipeline", request);
}

/**
 * ir_session_run_pipeline:
 * @name: (nullable): a pipeline of ir_pipeline_names(), or %IR_SESSION_PASSES if there are some; %NULL
 *   is the one that is set
 *
 * Runs the pipeline on the graph as the user edited it last, in place of the steps that an earlier run
 * made behind that, gives verdicts to the steps if wanted, and goes to the last one. Every edit stays.
 */
void
ir_session_run_pipeline (IrSession *self, const char *name)
{
  if (ir_session_is_empty (self))
    return;
  ir_session_set_pipeline (self, name);
  run_without (self, NULL);
}

/**
 * ir_session_skip:
 * @name: a stable key of an application, the name of a rule or of a pass
 *
 * Runs the pipeline again without what @name says, and without what was skipped before; the result
 * takes the place of the original one, which is kept.
 */
void
ir_session_skip (IrSession *self, const char *name)
{
  const char *const *before = ir_session_get_skips (self);
  g_autoptr (GStrvBuilder) names = NULL;

  if (ir_session_is_empty (self) || ir_session_get_n_steps (self) == 0)
    return;
  names = g_strv_builder_new ();
  if (before != NULL)
    g_strv_builder_addv (names, (const char **) before);
  g_strv_builder_add (names, name);
  run_without (self, g_strv_builder_end (names));
}
