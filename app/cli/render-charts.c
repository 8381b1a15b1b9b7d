/* Pictures of render that are no graph: charts of runs, plans and contents. */
#include "config.h"

#include "app/cli/contents.h"
#include "app/cli/execution.h"
#include "app/cli/proof.h"
#include "app/cli/recompute.h"
#include "app/cli/render-charts.h"
#include "core/exec/run/flow-log.h"
#include "core/exec/run/flow-state.h"
#include "core/ir/history.h"
#include "core/ir/pages.h"
#include "passes/debug/derivation.h"
#include "passes/debug/scoreboard.h"
#include "passes/rewrites/gradient.h"
#include "passes/training/curves.h"

#include <string.h>

#define N_BINS      48
#define MOST_EVENTS 200000

static IrScene *
tensor_scene (Cli *cli,
              const CliChartSource *source,
              IrModel *model,
              const IrChartOptions *chart,
              GError **error)
{
  const char *name = source->tensor != NULL ? source->tensor : "";
  g_auto (CliContents) contents = { 0 };
  IrTensorStats stats;

  if (!cli_find_contents (cli, source->model, model, name, &contents, error))
    return NULL;
  ir_tensor_stats (contents.tensor, N_BINS, &stats);
  return ir_chart_histogram (&stats, contents.iteration.frame != NULL ? name : contents.value->name,
                             chart);
}

static IrScene *
schedule_scene (Cli *cli,
                const CliChartSource *source,
                IrModel *model,
                const IrChartOptions *chart,
                GError **error)
{
  g_autoptr (IrModel) sized = NULL;
  g_autoptr (IrSchedule) schedule = NULL;
  IrParallelMode mode = IR_PARALLEL_OFF;

  if (!cli_parallel (source->plan->parallel, &mode, error))
    return NULL;
  schedule = source->plan->parallel != NULL
                 ? cli_run_schedule (cli, source->model, model, mode, &sized, NULL, error)
                 : cli_schedule (cli, source->model, model, cli_n_workers (source->model), &sized,
                                 error);
  return schedule != NULL ? ir_chart_times (schedule, NULL, NULL, sized, chart) : NULL;
}

static IrScene *
budget_scene (Cli *cli,
              const CliChartSource *source,
              const CliPlanChoice *choice,
              IrModel *model,
              const IrSchedule *schedule,
              const IrMemPlan *plan,
              const IrChartOptions *chart,
              GError **error)
{
  const IrMemOptions place = { .align_bytes = IR_ALIGN_BYTES,
                               .max_steps = CLI_BUDGET_STEPS,
                               .cancellable = cli->cancellable };
  guint64 budget;

  if (!cli_parse_budget (source->plan->budget, plan->peak_bytes, &budget, error))
    return NULL;
  g_autoptr (IrRecomputeGraph)
      graph = ir_recompute_graph_new (model, schedule, choice->flags, &place);
  g_autoptr (IrRecomputePlan)
      again = graph != NULL ? ir_mem_recompute (&graph->problem, budget, &place) : NULL;
  if (again == NULL)
    {
      g_cancellable_set_error_if_cancelled (cli->cancellable, error);
      return NULL;
    }
  return ir_chart_recompute (graph, again, model, chart);
}

static IrScene *
memory_scene (Cli *cli,
              const CliChartSource *source,
              IrModel *model,
              const IrChartOptions *chart,
              GError **error)
{
  const IrMemOptions place = { .align_bytes = IR_ALIGN_BYTES,
                               .max_steps = IR_MEM_DEFAULT_STEPS,
                               .cancellable = cli->cancellable };
  g_autoptr (IrModel) sized = NULL;
  g_autoptr (IrSchedule) schedule = NULL;
  g_autoptr (IrMemPlan) plan = NULL;
  IrChartOptions full = *chart;
  CliPlanChoice choice;

  if (!cli_plan_choice (source->plan, &choice, error))
    return NULL;
  schedule = cli_plan_schedule (cli, source->model, &choice, model, &sized, error);
  if (schedule == NULL)
    return NULL;
  plan = ir_mem_plan_new_full (sized, schedule, choice.flags, &place);
  if (plan == NULL)
    g_cancellable_set_error_if_cancelled (cli->cancellable, error);
  if (plan == NULL || source->plan->budget != NULL)
    return plan != NULL ? budget_scene (cli, source, &choice, sized, schedule, plan, chart, error)
                        : NULL;
  full.beside = schedule;
  return ir_chart_memory (plan, sized, &full);
}

static IrScene *
trace_scene (Cli *cli,
             const CliChartSource *source,
             IrModel *model,
             const IrChartOptions *chart,
             GError **error)
{
  g_autoptr (IrRun) run = cli_run (cli, source->model, model, IR_CAPTURE_NONE, NULL, NULL, error);
  IrChartOptions full = *chart;

  if (run == NULL)
    return NULL;
  full.beside = run->schedule;
  return ir_chart_times (NULL, run->trace, NULL, run->model, &full);
}

/* Predicted above measured, and what the plan holds below. */
static IrScene *
timeline_scene (Cli *cli,
                const CliChartSource *source,
                IrModel *model,
                const IrChartOptions *chart,
                GError **error)
{
  IrParallelMode mode = IR_PARALLEL_OFF;
  g_autoptr (IrRun) run = NULL;

  if (!cli_parallel (source->plan->parallel, &mode, error))
    return NULL;
  run = cli_timed_run (cli, source->model, model, mode, error);
  return run != NULL ? ir_chart_times (run->schedule, run->trace, run->memplan, run->model, chart)
                     : NULL;
}

static IrScene *
summary_scene (Cli *cli,
               const CliChartSource *source,
               IrModel *model,
               const IrChartOptions *chart,
               GError **error)
{
  const IrBackend *backend = cli_backend (source->model, error);
  g_autoptr (IrSummary) summary = backend != NULL ? ir_summary_new (model, NULL, backend, 1, 10)
                                                  : NULL;

  return summary != NULL ? ir_chart_summary (summary, IR_SUMMARY_FLOPS, NULL, chart) : NULL;
}

static const char *
of_source (const CliChartSource *source)
{
  return source->of != NULL ? source->of : "";
}

/* By the inputs, if nothing else is said */
static IrScene *
derivation_scene (Cli *cli,
                  const CliChartSource *source,
                  IrModel *model,
                  const IrChartOptions *chart,
                  GError **error)
{
  IrRunLimits limits;
  g_autoptr (GHashTable) inputs = NULL;

  if (!cli_limits (source->model, &limits, error))
    return NULL;
  inputs = cli_inputs_within (cli, source->model, model, limits.memory_limit, error);
  g_autoptr (IrDerivation)
      derivation = inputs != NULL ? ir_derivation_new (model, inputs, of_source (source),
                                                       source->wrt != NULL ? source->wrt : "inputs",
                                                       &limits, cli->cancellable, error)
                                  : NULL;
  return derivation != NULL ? ir_derivation_chart (derivation, chart) : NULL;
}

IrGradients *
cli_gradients (Cli *cli, const CliChartSource *source, IrModel *model, GError **error)
{
  g_autoptr (GPtrArray) params = ir_gradient_wrt (model, "params", NULL);
  const IrGradientsSetup setup = { .of = of_source (source),
                                   .wrt = source->wrt != NULL ? source->wrt
                                          : params != NULL    ? "params"
                                                              : "inputs" };
  g_autoptr (IrModel) copy = ir_model_clone (model);
  g_autoptr (IrGradients) gradients = ir_gradients_new (copy, &setup, cli->cancellable, error);
  IrRun *run = gradients != NULL
                   ? cli_run (cli, source->model, copy, IR_CAPTURE_ALL, NULL, NULL, error)
                   : NULL;

  if (run == NULL)
    return NULL;
  ir_gradients_take_run (gradients, run, TRUE);
  return g_steal_pointer (&gradients);
}

static IrScene *
gradients_scene (Cli *cli,
                 const CliChartSource *source,
                 IrModel *model,
                 const IrChartOptions *chart,
                 GError **error)
{
  g_autoptr (IrGradients) gradients = cli_gradients (cli, source, model, error);

  return gradients != NULL ? ir_gradients_chart (gradients, chart) : NULL;
}

static IrScene *
training_scene (Cli *cli,
                const CliChartSource *source,
                IrModel *model,
                const IrChartOptions *chart,
                GError **error)
{
  g_autoptr (GArray) points = NULL;

  if (source->log == NULL)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--view training: needs --log CSV, which 'irscope train --log' writes");
      return NULL;
    }
  points = ir_training_points_load (source->log, error);
  return points != NULL ? ir_training_chart (points, chart) : NULL;
}

IrFlowLog *
cli_flow_log (Cli *cli, const CliChartSource *source, IrModel *model, GError **error)
{
  const IrFlowFilter all = { .to = MOST_EVENTS, .iteration = -1 };
  const IrBackend *backend = cli_backend (source->model, error);
  g_autoptr (GArray) chosen = backend != NULL ? ir_flow_values (model, backend) : NULL;
  IrRunOptions options = { .backend = backend,
                           .seed = (guint64) source->model->seed,
                           .capture = IR_CAPTURE_CHOSEN,
                           .chosen = chosen,
                           .iterations = { .kind = IR_ITERATIONS_SERIES } };
  g_autoptr (GHashTable) inputs = NULL;
  g_autoptr (IrFlowLog) log = ir_flow_log_new (&all);
  IrRunLimits limits;

  if (options.backend == NULL || !cli_limits (source->model, &limits, error))
    return NULL;
  ir_run_options_limit (&options, &limits);
  inputs = cli_inputs_within (cli, source->model, model, limits.memory_limit, error);
  g_autoptr (IrRun)
      run = inputs != NULL ? ir_flow_log_run (log, model, inputs, &options, cli->cancellable, error)
                           : NULL;
  return run != NULL ? g_steal_pointer (&log) : NULL;
}

static IrScene *
flow_scene (Cli *cli,
            const CliChartSource *source,
            IrModel *model,
            const IrChartOptions *chart,
            GError **error)
{
  g_autoptr (IrFlowLog) log = cli_flow_log (cli, source, model, error);

  return log != NULL ? ir_chart_flow (log, chart) : NULL;
}

/* "2..5" or "3" */
static gboolean
parse_rounds (const char *text, gint64 *first, gint64 *last, GError **error)
{
  g_auto (GStrv) ends = g_strsplit (text, "..", 2);
  const gboolean good = ends[0] != NULL &&
                        g_ascii_string_to_signed (ends[0], 10, 0, G_MAXINT64 - 1, first, NULL) &&
                        g_ascii_string_to_signed (ends[ends[1] != NULL ? 1 : 0], 10, *first,
                                                  G_MAXINT64 - 1, last, NULL);

  if (!good)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                 "--iterations %s: needs a range of iterations, from 0, such as 0..3", text);
  return good;
}

static IrScene *
unrolled_scene (Cli *cli,
                const CliChartSource *source,
                IrModel *model,
                const IrChartOptions *chart,
                GError **error)
{
  gint64 first = 0, last = 0;

  if (!parse_rounds (source->iterations != NULL ? source->iterations : "0..3", &first, &last,
                     error))
    return NULL;
  g_autoptr (IrFlowLog) log = cli_flow_log (cli, source, model, error);
  const GArray *frames = log != NULL ? ir_flow_log_frames (log) : NULL;
  if (frames != NULL && frames->len == 0)
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                 "--view unrolled: no loop ran in %s", source->opened->path);
  return frames != NULL && frames->len > 0
             ? ir_chart_unrolled (log,
                                  source->loop != NULL
                                      ? source->loop
                                      : g_array_index (frames, IrFlowFrame, 0).name,
                                  first, last, chart, cli->cancellable, error)
             : NULL;
}

static IrScene *
scoreboard_scene (Cli *cli,
                  const CliChartSource *source,
                  IrModel *model,
                  const IrChartOptions *chart,
                  GError **error)
{
  g_autoptr (IrTrial) trial = NULL;
  g_autoptr (IrScoreboard) board = NULL;

  if (ir_history_n_steps (model) == 0)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "--view scoreboard: the passes made no steps");
      return NULL;
    }
  trial = cli_trial (cli, source->model, source->opened, error);
  board = trial != NULL ? ir_scoreboard_new (trial, NULL, NULL, error) : NULL;
  return board != NULL ? ir_scoreboard_chart (board, chart) : NULL;
}

static const struct
{
  const char *name;
  IrScene *(*make) (Cli *cli,
                    const CliChartSource *source,
                    IrModel *model,
                    const IrChartOptions *chart,
                    GError **error);
} charts[] = {
  { "summary", summary_scene },
  { "schedule", schedule_scene },
  { "trace", trace_scene },
  { "timeline", timeline_scene },
  { "memory", memory_scene },
  { "tensor", tensor_scene },
  { "derivation", derivation_scene },
  { "gradients", gradients_scene },
  { "training", training_scene },
  { "scoreboard", scoreboard_scene },
  { "flow", flow_scene },
  { "unrolled", unrolled_scene },
};

IrScene *
cli_chart (Cli *cli,
           const char *view,
           const CliChartSource *source,
           IrModel *model,
           const IrChartOptions *chart,
           GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (charts); i++)
    if (strcmp (view, charts[i].name) == 0)
      return charts[i].make (cli, source, model, chart, error);
  g_set_error (
      error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
      "--view %s: needs graph, summary, schedule, trace, timeline, memory, tensor, derivation, gradients, training, scoreboard, flow or unrolled",
      view);
  return NULL;
}
