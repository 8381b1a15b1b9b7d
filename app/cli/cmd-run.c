/* irscope run: executes a graph. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/leave.h"
#include "app/cli/origin.h"
#include "app/cli/output.h"
#include "app/cli/rates.h"
#include "app/cli/recompute.h"
#include "app/cli/run-control.h"
#include "core/exec/measure/times.h"
#include "core/io/io.h"
#include "core/io/json/print.h"

#include <glib/gstdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_US 200000 /* between two looks of the user at it */

static const CliOption run_options[] = {
  { "capture", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRun, capture),
    "What to keep beside the outputs: all, checkpoints (few, the others are computed again), stats, "
    "none (default), original (all values of the graph before the pipeline), or names of values; one in "
    "a function's body is NODE/NAME, with the node that calls it; LOOP@N/NAME is one of iteration N, and LOOP/NAME of "
    "all of them",
    "POLICY|NAME.." },
  { "iterations", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRun, iterations),
    "Of values in bodies of loops keep those of these iterations, from 0: a..b (both included), every:N, last:N; "
    "or checkpoints (few, from which the others come back). They are called LOOP@N/NAME; without --capture "
    "all values of all loops are kept",
    "WHICH" },
  CLI_BUDGET_OPTION (G_STRUCT_OFFSET (CliRun, model.budget)),
  { "capture-budget", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRun, capture_budget),
    "Most memory of captured values; the others go to a file in TMPDIR (default: a quarter of "
    "memory)",
    "SIZE" },
  { "out", 'o', G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (CliRun, out),
    "Write outputs and captured values there as .npy, those that NumPy has no type for as .pb",
    "DIR" },
  { "data-set", 0, G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (CliRun, model.data_set),
    "Take the inputs from input_N.pb in DIR and compare the outputs with output_N.pb there; a number N "
    "is test_data_set_N beside FILE; exit status 1: an output differs",
    "DIR|N" },
  { "without", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (CliRun, without),
    "Leave out decisions of the plan, to find the one at fault: blocks (values in NCHWc layout), "
    "sharing (values that share bytes), chains (nodes that run tile by tile), spans (nodes that "
    "run concurrently), prepack (constants in the layout of their kernel), all",
    "A,B" },
  { "check", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (CliRun, checks),
    "Check the execution: plan (layouts, addresses and shared bytes at every node are what its kernel "
    "declares and the plan says), ref (what every node gives is what the reference kernels make of "
    "its inputs), all; exit status 1: a fault was found",
    "plan,ref,all" },
  { "check-budget", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRun, check_budget),
    "Operations that ref may have for one node, and for all: nodes beyond that are judged by another "
    "kernel, or not at all (default 2G,25G)",
    "NODE[,ALL]" },
  { "break", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (CliRun, breaks),
    "Stop where this holds of a node or of what it gives, and show it: nan, inf, 'max>6', zeros, 'dead>25%', "
    "saturated, diverges (from ref), diverges:original (from the graph before the passes), 'memory>100M', op:conv, 'nan op:softmax'; exit status 1: it was so. The run "
    "goes node by node, without chains and spans",
    "COND" },
  { "until", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRun, until),
    "Stop when this node has run, and show what it gave", "NODE" },
  { "watch", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (CliRun, watches),
    "Of which of the values that were kept this holds (all are, unless --capture says otherwise), with what "
    "it most often comes of; exit status 1: of some",
    "COND" },
  { "debug", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (CliRun, debug),
    "Step through the run by commands from standard input: step, over, round, to, continue, value, break; "
    "help lists them",
    NULL },
  { "since", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRun, since),
    "First run the graph as it was at this step; then run only what differs since, and say how many nodes were "
    "not run, as their values are the same bits (see them with --nodes)",
    "STEP" },
  { "deterministic", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (CliRun, deterministic),
    "Give the same bits at any number of threads; costs some speed", NULL },
  { "parallel", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (CliRun, parallel),
    "Run independent nodes concurrently, on one thread each: off (default), on, or auto: where "
    "the first 15 runs show that it is faster",
    "off,on,auto" },
  { "trace", 0, G_OPTION_ARG_FILENAME, G_STRUCT_OFFSET (CliRun, trace),
    "Write a Chrome trace (opens in Perfetto)", "FILE" },
  { "roofline", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (CliRun, roofline),
    "First measure what the machine can do at most, and show what share of it nodes got", NULL },
  { "nodes", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (CliRun, nodes),
    "Show what each node took and did; JSON has it always", NULL },
  { "runs", 'n', G_OPTION_ARG_INT, G_STRUCT_OFFSET (CliRun, runs),
    "Run so many times; the times are of all of them", "N" },
  { "warmup", 'w', G_OPTION_ARG_INT, G_STRUCT_OFFSET (CliRun, warmup),
    "Runs before them that are told apart", "N" },
  { 0 },
};

static gboolean
parse_limits (const CliRun *options, IrRunOptions *settings, GError **error)
{
  IrRunLimits limits;

  if (options->warmup < 0 || options->runs < 0)
    {
      g_set_error_literal (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                           "--runs and --warmup must not be negative");
      return FALSE;
    }
  if (options->capture_budget != NULL && options->capture == NULL && options->iterations == NULL)
    {
      g_set_error_literal (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                           "--capture-budget is of captured values; --capture says of which");
      return FALSE;
    }
  if (!cli_limits (&options->model, &limits, error))
    return FALSE;
  ir_run_options_limit (settings, &limits);
  return TRUE;
}

static gboolean
parse_checks (const CliRun *options, IrRunChecks *checks, GError **error)
{
  for (guint i = 0; options->checks != NULL && options->checks[i] != NULL; i++)
    if (!ir_run_checks_parse (options->checks[i], checks, error))
      {
        g_prefix_error (error, "--check ");
        return FALSE;
      }
  return TRUE;
}

static gboolean
wants_original (const CliRun *options)
{
  return g_strcmp0 (options->capture, "original") == 0;
}

static gboolean
choose_value (CliRun *options, IrModel *model, const char *name, GArray *chosen, GError **error)
{
  const IrBackend *backend = cli_backend (&options->model, error);
  g_auto (IrIterationName) iteration = { 0 };
  const IrValue *value = backend != NULL ? cli_find_iteration (model, backend, &options->expanded,
                                                               name, &iteration, error)
                                         : NULL;

  if (value == NULL)
    return FALSE;
  g_array_append_val (chosen, value->id);
  if (iteration.frame != NULL)
    cli_run_pick_iteration (options, &iteration);
  else
    g_array_append_val (options->whole, value->id);
  return TRUE;
}

static gboolean
parse_capture (CliRun *options, IrModel *model, IrCaptureKind *kind, GArray *chosen, GError **error)
{
  g_auto (GStrv) names = NULL;

  *kind = IR_CAPTURE_NONE;
  if (options->capture == NULL || strcmp (options->capture, "none") == 0)
    return TRUE;
  *kind = strcmp (options->capture, "all") == 0           ? IR_CAPTURE_ALL
          : wants_original (options)                      ? IR_CAPTURE_ALL
          : strcmp (options->capture, "checkpoints") == 0 ? IR_CAPTURE_CHECKPOINTS
          : strcmp (options->capture, "stats") == 0       ? IR_CAPTURE_STATS
                                                          : IR_CAPTURE_CHOSEN;
  if (*kind != IR_CAPTURE_CHOSEN)
    return TRUE;
  names = g_strsplit (options->capture, ",", -1);
  options->whole = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  for (guint i = 0; names[i] != NULL; i++)
    if (!choose_value (options, model, names[i], chosen, error))
      return FALSE;
  return TRUE;
}

/* Outputs that no run gives, each with the node that stops it. */
static void
report_missing (const CliRunReport *report, cJSON *json)
{
  const GArray *missing = report->run->missing;
  cJSON *array = cJSON_AddArrayToObject (json, "missing");

  for (guint i = 0; missing != NULL && i < missing->len; i++)
    {
      const IrMissing *one = &g_array_index (missing, IrMissing, i);
      const IrValue *value = ir_model_value (report->run->model, one->output);
      const IrNode *node = ir_model_node (report->run->model, one->node);
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddStringToObject (object, "name", value->name);
      cJSON_AddStringToObject (object, "node", node != NULL ? node->name : "");
      cJSON_AddNumberToObject (object, "id", one->node);
      cJSON_AddStringToObject (object, "op", node != NULL ? node->op_type : "");
      cJSON_AddStringToObject (object, "why", one->why);
      cJSON_AddItemToArray (array, object);
      if (!report->cli->json)
        cli_print ("%s  not computed: %s\n", value->name, one->why);
    }
}

static void
add_type_text (cJSON *object, const char *key, const IrRun *run, const IrType *type)
{
  g_autofree char *text = ir_type_to_string (run->model->context, type);

  cJSON_AddStringToObject (object, key, text);
}

/* Declarations that were wrong: the values are right all the same. */
static void
report_claims (const Cli *cli, const IrRun *run, cJSON *json)
{
  cJSON *array = cJSON_AddArrayToObject (json, "claims");

  for (guint i = 0; run->claims != NULL && i < run->claims->len; i++)
    {
      const IrWrongClaim *wrong = &g_array_index (run->claims, IrWrongClaim, i);
      const IrNode *node = ir_model_node (run->model, wrong->node);
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddStringToObject (object, "value", ir_model_value (run->model, wrong->value)->name);
      cJSON_AddStringToObject (object, "node", node != NULL ? node->name : "");
      cJSON_AddNumberToObject (object, "id", wrong->node);
      cJSON_AddStringToObject (object, "op", node != NULL ? node->op_type : "");
      add_type_text (object, "declared", run, wrong->declared);
      add_type_text (object, "found", run, wrong->found);
      cJSON_AddStringToObject (object, "text", wrong->text);
      cJSON_AddItemToArray (array, object);
      if (!cli->json)
        cli_printerr ("irscope run: warning: %s\n", wrong->text);
    }
}

/* Where a node could not run: what no sizes suit. Of those that were asked for it was said before. */
static void
report_size_conflicts (const CliRun *options, const IrModel *model)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  if (options->model.dims != NULL)
    return;
  cli_add_size_conflicts (model, NULL, problems);
  cli_print_problems (problems, IR_SEVERITY_ERROR);
}

static void
report_capture (const IrRun *run, cJSON *json)
{
  g_autofree char *note = ir_run_capture_note (run);
  cJSON *capture = cJSON_AddObjectToObject (json, "capture");

  cJSON_AddNumberToObject (capture, "kept", ir_run_n_kept (run));
  cJSON_AddNumberToObject (capture, "spilled", ir_run_n_spilled (run));
  cli_json_add_uint (capture, "spilled_bytes", ir_run_spilled_bytes (run));
  cJSON_AddNumberToObject (capture, "lost", ir_run_n_lost (run));
  if (note != NULL)
    cJSON_AddStringToObject (capture, "note", note);
  if (note != NULL)
    cli_printerr ("irscope run: %s\n", note);
}

/* What was kept, and of the runs that do not count how long the first and the last took. */
static void
print_summary (const CliRun *options, const IrRun *run)
{
  guint n = run->error == NULL ? MIN ((guint) options->warmup, options->traces->len) : 0;

  if (n > 0)
    {
      const IrTrace *first = options->traces->pdata[0], *last = options->traces->pdata[n - 1];
      cli_print ("%u before them to warm up: first %.3f ms, last %.3f ms\n", n,
                 (double) first->duration_ns / 1e6, (double) last->duration_ns / 1e6);
    }
  if (ir_run_n_spilled (run) > 0)
    {
      g_autofree char *bytes = cli_format_bytes (ir_run_spilled_bytes (run));
      cli_print ("%u values kept in memory, %u in a file, %s\n", ir_run_n_kept (run),
                 ir_run_n_spilled (run), bytes);
    }
}

static void
add_contradiction (cJSON *array, const IrRun *run, const IrContradiction *row)
{
  const IrNode *node = ir_model_node (run->model, row->node);
  cJSON *object = cJSON_CreateObject ();
  const char *kernel = NULL;

  for (guint i = 0; i < run->schedule->items->len && kernel == NULL; i++)
    if (g_array_index (run->schedule->items, IrScheduleItem, i).node == row->node)
      kernel = g_array_index (run->schedule->items, IrScheduleItem, i).kernel;
  cJSON_AddStringToObject (object, "node", node->name);
  cJSON_AddNumberToObject (object, "id", row->node);
  cJSON_AddStringToObject (object, "op", node->op_type);
  cJSON_AddStringToObject (object, "kernel", kernel != NULL ? kernel : "");
  cJSON_AddStringToObject (object, "operand", row->is_output ? "output" : "input");
  cJSON_AddNumberToObject (object, "slot", row->slot);
  cJSON_AddStringToObject (object, "value", row->value);
  cJSON_AddStringToObject (object, "found", row->found);
  cJSON_AddStringToObject (object, "declared", row->declared);
  cJSON_AddItemToArray (array, object);
}

/* What the checks of --check found. */
static cJSON *
check_json (cJSON *json)
{
  cJSON *check = cJSON_GetObjectItem (json, "check");

  return check != NULL ? check : cJSON_AddObjectToObject (json, "check");
}

/* Returns whether nothing was found, or nothing was looked for. */
static gboolean
report_contradictions (const Cli *cli, const IrRun *run, cJSON *json)
{
  guint n_nodes;
  const GArray *rows = ir_run_contradictions (run, &n_nodes);
  cJSON *check, *array;

  if (rows == NULL)
    return TRUE;
  check = cJSON_AddObjectToObject (check_json (json), "plan");
  cJSON_AddNumberToObject (check, "kernels", n_nodes);
  array = cJSON_AddArrayToObject (check, "contradictions");
  for (guint i = 0; i < rows->len; i++)
    {
      const IrContradiction *row = &g_array_index (rows, IrContradiction, i);
      const IrNode *node = ir_model_node (run->model, row->node);
      g_autofree char *label = ir_node_label (node), *text = ir_contradiction_to_string (row);

      add_contradiction (array, run, row);
      if (!cli->json)
        cli_print ("%s: %s\n", label, text);
    }
  if (!cli->json)
    cli_print ("plan checked at %u kernels: %u contradictions\n", n_nodes, rows->len);
  return rows->len == 0;
}

static gboolean
commit (IrStaging *stage, GError **error)
{
  cli_leave_stage (NULL);
  return ir_staging_commit (stage, NULL, error);
}

static CliStatus
report (Cli *cli,
        const CliRun *options,
        IrModel *history,
        IrRun *run,
        const CliRunControl *control,
        const IrTimes *times,
        const GError *failure)
{
  const gboolean stopped = g_error_matches (failure, IR_EXEC_ERROR, IR_EXEC_ERROR_STOPPED);
  CliStatus status = CLI_OK;
  cJSON *json = cJSON_CreateObject ();
  cJSON *outputs = cJSON_AddArrayToObject (json, "outputs"), *wall, *captured;
  g_autoptr (GHashTable) taken = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (IrOriginals) originals = NULL;
  g_autoptr (GError) error = NULL;

  wall = cJSON_AddObjectToObject (json, "wall_ms");
  cJSON_AddNumberToObject (wall, "median", times->median);
  cJSON_AddNumberToObject (wall, "min", times->min);
  cJSON_AddNumberToObject (wall, "max", times->max);
  cJSON_AddNumberToObject (wall, "runs", times->n);
  if (options->roofline)
    cli_json_add_peaks (json, "roofline", &options->peaks);
  cli_json_add_uint (json, "peak_bytes", run->trace != NULL ? run->trace->peak_bytes : 0);
  cli_json_add_uint (json, "arena_bytes", run->trace != NULL ? run->trace->arena_bytes : 0);
  cli_held_add (json, run);
  captured = cJSON_AddArrayToObject (json, "captured");
  if (stopped)
    failure = NULL;
  if (failure != NULL)
    cJSON_AddStringToObject (json, "error", failure->message);
  if (wants_original (options))
    originals = ir_originals_new (history, ir_history_cursor (history), run, &error);
  CliRunReport what = { cli, options, run, originals, taken, outputs, captured };
  report_capture (run, json);
  report_claims (cli, run, json);
  cli_run_report_reused (cli, options, run, json);
  cli_json_add_sizes (json, history);
  gboolean sound = report_contradictions (cli, run, json);
  sound = cli_run_report_data_set (cli, options, run, json) && sound;
  if ((wants_original (options) && originals == NULL) || !cli_run_report_values (&what, &error) ||
      !cli_run_report_iterations (&what, json, &error) ||
      (options->stage != NULL && !commit (options->stage, &error)) ||
      (run->trace != NULL && !cli_run_write_trace (options, run, &error)))
    {
      cJSON_Delete (json);
      return cli_fail (CLI_FAILED, error);
    }
  sound = cli_run_control_report (control, json, &status) && sound;
  sound = cli_run_report_watch (cli, options, run, json) && sound;
  report_missing (&what, json);
  if (failure != NULL || run->missing != NULL)
    report_size_conflicts (options, history);
  if (cli->json)
    {
      cli_run_add_warmup (json, options, run);
      cli_run_report_nodes (cli, options, run, json);
      if (options->checked != NULL)
        cJSON_AddItemToObject (check_json (json), "ref", cli_execution_json (options->checked));
      cli_json_print_long (cli, json);
    }
  else
    {
      if (options->checked != NULL)
        cli_execution_print (options->checked, TRUE);
      g_autofree char *peak = cli_format_bytes (run->trace != NULL ? run->trace->peak_bytes : 0);
      if (times->n > 0)
        cli_print ("%.3f ms (median of %u, %.3f to %.3f), peak %s\n", times->median, times->n,
                   times->min, times->max, peak);
      cli_held_print (run);
      print_summary (options, run);
      if (options->nodes || options->roofline)
        cli_run_report_nodes (cli, options, run, NULL);
      cJSON_Delete (json);
    }
  if (failure != NULL)
    return cli_fail (cli_status_of (failure), failure);
  if ((options->checked != NULL && !cli_execution_is_right (options->checked)) ||
      run->missing != NULL)
    sound = FALSE;
  return status != CLI_OK ? status : sound ? CLI_OK : CLI_NO;
}

static IrRun *
run_often (Cli *cli,
           const CliRun *options,
           IrModel *model,
           GHashTable *inputs,
           const IrRunOptions *run_options_,
           GArray *ms,
           IrRun **partial,
           GError **error)
{
  g_autoptr (IrExecutable) executable = ir_executable_new (model, run_options_, error);
  IrRun *run = NULL;

  if (executable == NULL)
    return NULL;
  for (gint i = -options->warmup; i < MAX (options->runs, 1); i++)
    {
      double elapsed;

      g_clear_pointer (&run, ir_run_unref);
      run = ir_executable_run_what_can (executable, inputs, cli->cancellable, partial, error);
      cli_progress_end (cli);
      if (run == NULL)
        return NULL;
      elapsed = run->trace->duration_ns / 1e6;
      if (options->trace != NULL || cli->json || options->nodes || options->roofline || i < 0)
        g_ptr_array_add (options->traces, ir_trace_ref (run->trace));
      if (i >= 0)
        g_array_append_val (ms, elapsed);
    }
  return run;
}

typedef struct
{
  const Cli *cli;
  gint64 shown_us; /* when last */
} Progress;

static void
show_progress (guint done, guint total, const IrNode *node, gpointer data)
{
  Progress *progress = data;
  gint64 now_us = g_get_monotonic_time ();

  if (now_us - progress->shown_us < PROGRESS_US)
    return;
  progress->shown_us = now_us;
  cli_progress (progress->cli, "node", done, total);
}

static gboolean
check_alone (const CliRun *options, GError **error)
{
  const char *other = options->runs > 1           ? "--runs"
                      : options->warmup > 0       ? "--warmup"
                      : options->parallel != NULL ? "--parallel"
                                                  : NULL;

  if (options->breaks == NULL && options->until == NULL && !options->debug)
    return TRUE;
  if (other != NULL)
    g_set_error (error, CLI_ERROR, 0,
                 "%s: a run that stops goes node by node, once; leave out either this or --break, "
                 "--until and --debug",
                 other);
  return other == NULL;
}

/* Of each of these more than a run of what differs is wanted. */
static gboolean
check_since (const CliRun *options, GError **error)
{
  const char *other = options->runs > 1           ? "--runs"
                      : options->warmup > 0       ? "--warmup"
                      : options->parallel != NULL ? "--parallel"
                      : options->checks != NULL   ? "--check"
                      : options->breaks != NULL   ? "--break"
                      : options->until != NULL    ? "--until"
                      : options->debug            ? "--debug"
                                                  : NULL;

  if (options->since == NULL || other == NULL)
    return TRUE;
  g_set_error (error, CLI_ERROR, 0,
               "%s: is of runs of all nodes, one after the other; leave out either this or --since",
               other);
  return FALSE;
}

/* Watchpoints are of values, which then have to be kept. */
static gboolean
parse_watches (CliRun *options, const IrModel *model, GError **error)
{
  if (options->watches == NULL)
    return TRUE;
  options->watched = cli_run_breaks (options->watches, "--watch", model, error);
  for (guint i = 0; options->watched != NULL && i < options->watched->len; i++)
    {
      const IrRunBreak *watch = options->watched->pdata[i];
      const gboolean is_test = (ir_run_break_needs (watch) & IR_RUN_BREAK_STATS) != 0;

      if (is_test && !ir_run_break_has_place (watch))
        continue;
      g_set_error (error, CLI_ERROR, 0, "--watch %s: %s; --break takes it",
                   ir_run_break_text (watch),
                   is_test ? "is of one iteration, and what is watched is what a run has at its end"
                           : "is no test of a value, such as nan or max>6");
      return FALSE;
    }
  options->watches_alone = options->capture == NULL;
  if (options->watches_alone)
    options->capture = g_strdup ("all");
  return options->watched != NULL;
}

/* By a plan of its own, made as that of the run is. */
static gboolean
check_execution (Cli *cli,
                 CliRun *options,
                 IrModel *model,
                 GHashTable *inputs,
                 const IrRunOptions *settings,
                 GError **error)
{
  if (!(settings->checks & IR_RUN_CHECK_REF))
    return TRUE;
  options->checked = ir_execution_check (model, inputs, settings, &options->budget,
                                         cli->cancellable, error);
  cli_progress_end (cli);
  return options->checked != NULL;
}

/* Asked before the run, whose work would be lost. */
static gboolean
is_writable_place (const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);

  return *path != '\0' && g_access (folder, W_OK) == 0 && !g_file_test (path, G_FILE_TEST_IS_DIR);
}

static CliStatus
run_model (Cli *cli, CliRun *options, IrModel *model)
{
  Progress progress = { cli, g_get_monotonic_time () };
  g_autoptr (GPtrArray) traces = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_trace_unref);
  g_autoptr (GArray) chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  g_autoptr (GArray) ms = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GHashTable) inputs = NULL;
  g_autoptr (CliRunControl) control = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) result = NULL, before = NULL;
  g_autoptr (IrRun) partial = NULL;
  IrRunOptions settings = { .chosen = chosen,
                            .n_threads = MAX (options->model.threads, 0),
                            .partial = TRUE,
                            .deterministic = options->deterministic,
                            .budget = options->model.budget,
                            .progress = isatty (STDERR_FILENO) ? show_progress : NULL,
                            .progress_data = &progress,
                            .seed = (guint64) options->model.seed };
  IrTimes times = { 0 };

  settings.backend = cli_backend (&options->model, &error);
  if (settings.backend == NULL ||
      !cli_parse_size ("--capture-budget", options->capture_budget, &settings.capture_budget,
                       &error) ||
      !parse_limits (options, &settings, &error) ||
      !cli_parallel (options->parallel, &settings.parallel, &error) ||
      !cli_without (options->without, &settings.without, &error) ||
      !parse_checks (options, &settings.checks, &error) ||
      !cli_check_budget (options->check_budget, &options->budget, &error) ||
      !check_alone (options, &error) || !check_since (options, &error) ||
      !parse_watches (options, model, &error) ||
      !parse_capture (options, model, &settings.capture, chosen, &error) ||
      !cli_run_parse_iterations (options, model, &settings, chosen, &error))
    return cli_fail (cli_status_of (error), error);
  if (options->trace != NULL && !is_writable_place (options->trace))
    {
      cli_printerr ("irscope run: --trace %s: its folder cannot be written to; choose another\n",
                    options->trace);
      return CLI_FAILED;
    }
  if (options->out != NULL && (options->stage = ir_staging_new (options->out, &error)) == NULL)
    return cli_fail (CLI_FAILED, error);
  cli_leave_stage (options->stage);
  if (options->expanded != NULL)
    model = options->expanded;
  if (options->model.data_set != NULL)
    options->set = ir_data_set_load (model, options->model.data_set, &error);
  if (error == NULL)
    inputs = cli_inputs_within (cli, &options->model, model, settings.memory_limit, &error);
  if (inputs == NULL)
    return cli_fail (cli_status_of (error), error);
  options->traces = traces;
  if (options->roofline &&
      !ir_roofline_measure (settings.backend, settings.n_threads, &options->peaks, &error))
    return cli_fail (cli_status_of (error), error);
  const CliRunControlOptions wanted = { options->breaks, options->until,   options->debug,
                                        "irscope run",   &options->budget, TRUE };
  control = cli_run_control_new (cli, &wanted, model, &settings, &error);
  if (error != NULL || !cli_run_control_compare (control, model, inputs, &settings, &error))
    return cli_fail (cli_status_of (error), error);
  if (options->since != NULL &&
      (before = cli_run_since (cli, options, model, inputs, &settings, &error)) == NULL)
    return cli_fail (cli_status_of (error), error);
  settings.before = before;
  result = run_often (cli, options, model, inputs, &settings, ms, &partial, &error);
  if (result == NULL && partial == NULL)
    report_size_conflicts (options, model);
  if (result == NULL && partial == NULL)
    return cli_fail_run (cli, error);
  if (result != NULL)
    times = ir_times (ms);
  if (result != NULL && !check_execution (cli, options, model, inputs, &settings, &error))
    return cli_fail (cli_status_of (error), error);
  return report (cli, options, model, result != NULL ? result : partial, control, &times, error);
}

/* A number stands for the folder of that number beside the model. */
static void
name_data_set (CliRun *options, const char *path)
{
  char **set = &options->model.data_set;

  if (*set == NULL || **set == '\0' || strspn (*set, "0123456789") != strlen (*set))
    return;
  g_autofree char *dir = g_path_get_dirname (path);
  g_autofree char *name = g_strconcat ("test_data_set_", *set, NULL);
  g_free (*set);
  *set = g_build_filename (dir, name, NULL);
}

static CliStatus
run (Cli *cli)
{
  CliRun *options = cli->options;
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GError) error = NULL;
  CliStatus status;

  name_data_set (options, cli->args[0]);
  if (!cli_model_open (cli, &options->model, cli->args[0], FALSE, &opened, &status))
    return status;
  if (!cli_spares_model ("--trace", options->trace, opened.path, &error))
    return cli_fail (CLI_BAD, error);
  cli_print_problems (opened.problems, IR_SEVERITY_ERROR);
  status = run_model (cli, options, opened.model);
  /* What is left of a file that was cut gives nothing, which is no success. */
  if (status == CLI_OK && ir_graph_n_outputs (opened.model->main) == 0 &&
      ir_problems_count (opened.problems, IR_SEVERITY_ERROR) > 0)
    status = CLI_NO;
  g_clear_pointer (&options->expanded, ir_model_unref);
  g_clear_pointer (&options->picks, g_array_unref);
  g_clear_pointer (&options->whole, g_array_unref);
  g_clear_pointer (&options->watched, g_ptr_array_unref);
  g_clear_pointer (&options->checked, ir_execution_check_free);
  cli_leave_stage (NULL);
  g_clear_pointer (&options->stage, ir_staging_free);
  g_clear_pointer (&options->set, ir_data_set_free);
  return status;
}

const CliCommand cli_command_run = {
  .name = "run",
  .arguments = "FILE",
  .takes_model = TRUE,
  .summary = "Execute a graph and show or save its outputs and inner values",
  .doc =
      "Inputs that are not given are random, within what their uses allow: indices in range, masks\n"
      "0 or 1. The same seed gives the same inputs, and the same\n"
      "numbers of random operators that have no seed of their own.\n"
      "Dimensions that the graph leaves open have the sizes that nodes need, such as a Reshape to a\n"
      "constant shape, else small ones; --dim asks for others.\n"
      "A node that does not fit its operator, has no kernel, or whose kernel fails, is left out:\n"
      "outputs that wait for it are named with it and with the reason, the others are given, and the\n"
      "exit status is 1. Where a value is not of the type that the file declares, a warning says so.\n"
      "The peak is the most bytes of values that were held at once: in the arena of the plan, which\n"
      "'irscope memory' explains, and of those that are kept.",
  .min_args = 1,
  .max_args = 1,
  .options = run_options,
  .model_options = cli_limited_options,
  .options_size = sizeof (CliRun),
  .run = run,
};
