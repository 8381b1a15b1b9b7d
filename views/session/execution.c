/* Checking what runs the graph: at every node what lies there against what its kernel declares, and
 * what it gives against what the reference kernel makes of the same inputs. */
#include "config.h"

#include "views/session/execution.h"

#include "core/exec/check/check.h"
#include "core/ir/inline.h"
#include "views/session/execution-private.h"
#include "views/session/problems-private.h"
#include "views/session/request.h"
#include "views/session/runs-private.h"

#include <string.h>

#define HINT                                                                                       \
  "The graph may be right and its kernel wrong: another kernel can be asked for in the "           \
  "properties of the node"

static void
finding_free (gpointer data)
{
  IrExecutionFinding *finding = data;

  g_free (finding->title);
  g_free (finding->text);
  g_free (finding);
}

void
ir_execution_report_free (IrExecutionReport *report)
{
  g_ptr_array_unref (report->findings);
  g_hash_table_unref (report->errors);
  g_free (report->summary);
  g_free (report->counts);
  g_free (report->error);
  g_free (report);
}

/* -- checking, in any thread -- */

static void
on_node_progress (guint done, guint total, const IrNode *node, gpointer data)
{
  g_autofree char *text = g_strdup_printf ("Checking the execution: node %u of %u", done, total);

  ir_job_report (data, total > 0 ? (double) done / total : -1, text);
}

/* @text: (transfer full) */
static void
add_finding (
    IrExecutionReport *report, const IrModel *model, const IrNode *node, gboolean fault, char *text)
{
  IrExecutionFinding *finding = g_new0 (IrExecutionFinding, 1);

  finding->node = ir_model_live_node (model, node->id) != NULL ? node->id : 0;
  finding->is_fault = fault;
  finding->title = ir_node_label (node);
  finding->text = text;
  g_ptr_array_add (report->findings, finding);
}

/* What is said of the node, without its name. */
static char *
text_of (const IrExecutionCheck *check, const IrNodeCheck *item)
{
  g_autofree char *label = ir_node_label (ir_model_node (check->model, item->node));
  g_autofree char *text = ir_node_check_to_string (check, item);
  const char *rest = text + strlen (label);

  return g_strdup (g_str_has_prefix (rest, ", ") ? rest + 2 : rest);
}

static void
add_checked (IrExecutionReport *report,
             const IrModel *model,
             const IrExecutionCheck *check,
             gboolean faults)
{
  for (guint i = 0; i < check->nodes->len; i++)
    {
      const IrNodeCheck *item = &g_array_index (check->nodes, IrNodeCheck, i);

      if (ir_checked_is_fault (item->verdict) == faults && item->verdict != IR_CHECKED_RIGHT)
        add_finding (report, model, ir_model_node (check->model, item->node), faults,
                     text_of (check, item));
    }
}

static void
add_contradictions (IrExecutionReport *report, const IrModel *model, const IrRun *run)
{
  guint n_nodes;
  const GArray *rows = ir_run_contradictions (run, &n_nodes);

  for (guint i = 0; rows != NULL && i < rows->len; i++)
    {
      const IrContradiction *row = &g_array_index (rows, IrContradiction, i);

      add_finding (report, model, ir_model_node (run->model, row->node), TRUE,
                   ir_contradiction_to_string (row));
    }
}

/* Nodes that no kernel runs, as far as they stop outputs. */
static void
add_left_out (IrExecutionReport *report, const IrModel *model, const IrRun *run)
{
  g_autoptr (GHashTable) told = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < run->missing->len; i++)
    {
      const IrMissing *missing = &g_array_index (run->missing, IrMissing, i);
      const IrNode *node = ir_model_live_node (model,
                                               ir_inline_written (run->model, missing->node));

      if (node != NULL && g_hash_table_add (told, (gpointer) node))
        add_finding (report, model, node, FALSE, g_strdup_printf ("cannot run: %s", missing->why));
    }
}

static guint
count_faults (const IrExecutionReport *report)
{
  g_autoptr (GHashTable) nodes = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < report->findings->len; i++)
    {
      const IrExecutionFinding *finding = report->findings->pdata[i];

      if (finding->is_fault)
        g_hash_table_add (nodes, finding->title);
    }
  return g_hash_table_size (nodes);
}

static char *
summary_of (const IrExecutionReport *report, guint n_left, gboolean in_part)
{
  const IrExecutionFinding *first = report->n_faults > 0 ? report->findings->pdata[0] : NULL;
  const char *nodes = report->n_judged == 1 ? "node" : "nodes";

  if (first != NULL && report->n_faults == 1)
    return g_strdup_printf ("Execution is wrong at %s", first->title);
  if (first != NULL)
    return g_strdup_printf ("Execution is wrong at %u nodes, first at %s", report->n_faults,
                            first->title);
  if (report->error != NULL)
    return g_strdup ("Execution was checked in part: the run did not come to its end");
  if (report->n_judged == 0)
    return g_strdup ("Execution was judged at no node");
  if (n_left > 0)
    return g_strdup_printf ("Execution is right at %u %s, %u not judged", report->n_judged, nodes,
                            n_left);
  if (in_part)
    return g_strdup_printf ("Execution is right at the %u %s that can run", report->n_judged,
                            nodes);
  return report->n_judged == 1
             ? g_strdup ("Execution is right at the only node")
             : g_strdup_printf ("Execution is right at all %u kernel calls", report->n_judged);
}

static IrExecutionReport *
report_new (const IrModel *model, guint step, const IrRun *run, const IrExecutionCheck *check)
{
  IrExecutionReport *report = g_new0 (IrExecutionReport, 1);

  report->step = step;
  report->findings = g_ptr_array_new_with_free_func (finding_free);
  report->counts = ir_execution_check_summary (check);
  report->errors = ir_overlay_errors (check);
  report->error = check->error != NULL ? g_strdup (check->error->message) : NULL;
  add_checked (report, model, check, TRUE);
  if (run != NULL)
    add_contradictions (report, model, run);
  report->n_faults = count_faults (report);
  report->n_judged = check->nodes->len - check->n[IR_CHECKED_NOT];
  add_checked (report, model, check, FALSE);
  if (run != NULL && run->missing != NULL)
    add_left_out (report, model, run);
  report->summary = summary_of (report, check->n[IR_CHECKED_NOT],
                                run != NULL && run->missing != NULL);
  return report;
}

/* A run that ends early has been checked so far. */
static IrRun *
run_with_plan_check (IrModel *model,
                     IrRunOptions options,
                     GHashTable *inputs,
                     GCancellable *cancellable,
                     GError **error)
{
  g_autoptr (IrExecutable) executable = NULL;

  options.checks = IR_RUN_CHECK_PLAN;
  executable = ir_executable_new (model, &options, error);
  return executable != NULL ? ir_run_once (executable, model, inputs, cancellable, error) : NULL;
}

/* @inputs: of any model of the history. (transfer full) (nullable) */
IrExecutionReport *
ir_execution_judge (IrModel *model,
                    guint step,
                    GHashTable *inputs,
                    const IrRunOptions *options,
                    IrJob *job,
                    GCancellable *cancellable,
                    GError **error)
{
  g_autoptr (GHashTable) known = ir_inputs_of (model, inputs);
  g_autoptr (IrExecutionCheck) check = NULL;
  g_autoptr (IrRun) run = NULL;
  IrRunOptions settings = *options;

  settings.capture = IR_CAPTURE_NONE; /* what is kept is not put where it lies in a plain run */
  settings.chosen = NULL;
  settings.partial = TRUE;
  settings.progress = on_node_progress;
  settings.progress_data = job;
  check = ir_execution_check (model, known, &settings, NULL, cancellable, error);
  if (check == NULL)
    return NULL;
  run = run_with_plan_check (model, settings, inputs, cancellable, NULL);
  if (g_cancellable_set_error_if_cancelled (cancellable, error))
    return NULL;
  return report_new (model, step, run, check);
}

/* -- the report, in the main thread -- */

typedef struct
{
  IrExecutionReport *report; /* (nullable) of a graph of the timeline */
} Execution;

static void
clear (gpointer state)
{
  g_clear_pointer (&((Execution *) state)->report, ir_execution_report_free);
}

IR_SESSION_NOUN (Execution, NULL, clear)

/* (transfer full) (nullable) */
static GPtrArray *
faults_of (const IrExecutionReport *report, const IrModel *model)
{
  GPtrArray *problems;

  if (report->n_faults == 0)
    return NULL;
  problems = ir_problems_new ();
  for (guint i = 0; i < report->findings->len; i++)
    {
      const IrExecutionFinding *finding = report->findings->pdata[i];
      const IrNode *node = finding->node != 0 ? ir_model_node (model, finding->node) : NULL;

      if (finding->is_fault)
        ir_problem_set_hint (ir_problems_add (problems, IR_SEVERITY_ERROR, IR_PROBLEM_EXECUTION,
                                              node, NULL, "%s, %s", finding->title, finding->text),
                             HINT);
    }
  return problems;
}

void
ir_session_forget_execution (IrSession *self)
{
  clear (own (self));
  ir_session_place_errors (self, NULL);
  ir_session_forget_faults (self);
}

void
ir_session_take_execution (IrSession *self, IrExecutionReport *report)
{
  clear (own (self));
  own (self)->report = report;
  ir_session_place_errors (self, report->errors);
  ir_session_set_faults (self, IR_FAULTS_OF_CHECK, report->step,
                         faults_of (report, ir_session_get_history (self)));
  ir_session_faults_changed (self);
}

/**
 * ir_session_get_execution:
 *
 * Returns: (transfer none) (nullable): what was found when the graph on screen was checked; %NULL:
 *   it was not
 */
const IrExecutionReport *
ir_session_get_execution (IrSession *self)
{
  const IrExecutionReport *report = own (self)->report;

  return report != NULL && report->step == ir_session_get_cursor (self) ? report : NULL;
}

/* -- the command -- */

typedef struct
{
  IrRequest base;
  IrRunOptions options;
} CheckRequest;

static gpointer
run_check (IrJob *job, gpointer data, GCancellable *cancellable, GError **error)
{
  const CheckRequest *request = data;
  const IrFrame *frame = request->base.frame;
  g_autoptr (GHashTable) inputs = ir_feed_inputs (&request->base.feed, frame->model, error);

  return inputs != NULL ? ir_execution_judge (frame->model, frame->to, inputs, &request->options,
                                              job, cancellable, error)
                        : NULL;
}

static void
on_checked (IrSession *self, gpointer result, gpointer request)
{
  IrExecutionReport *report = result;

  if (ir_request_is_current (request, self))
    {
      ir_session_take_execution (self, report);
      ir_session_message (self, "%s", report->summary);
    }
  else
    ir_execution_report_free (report);
  ir_session_changed (self, IR_CHANGED_BUSY | IR_CHANGED_PROBLEMS | IR_CHANGED_PICTURE);
}

static const IrWork check_work = {
  .run = run_check,
  .done = on_checked,
  .failure = "The execution could not be checked",
  .result_free = (GDestroyNotify) ir_execution_report_free,
  .runs = TRUE,
};

/**
 * ir_session_check_execution:
 *
 * Runs the graph on screen, as a run of it is made, and holds what each node gives against what the
 * reference kernel makes of the same inputs, and what lies there against what its kernel declares.
 */
void
ir_session_check_execution (IrSession *self)
{
  CheckRequest *request;

  if (ir_session_is_empty (self))
    return;
  request = ir_session_new_request (self, &check_work, sizeof *request);
  request->options = ir_session_get_run_options (self);
  ir_session_start (self, "Checking the execution", request);
}
