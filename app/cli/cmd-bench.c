/* irscope bench: how long a model takes to open, prepare and run, and how much memory. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/model.h"
#include "app/cli/output.h"
#include "app/cli/times.h"
#include "core/exec/gpu/runtime.h"
#include "core/io/io.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define OPEN_AGAIN 4 /* more times than the first that a file is opened */

typedef struct
{
  CliModelOptions model;
  char *capture, *parallel, **without;
  gint runs, warmup;
  gboolean deterministic;
  double seconds;
  IrCaptureKind captured; /* no option: what @capture says */
} Options;

static const CliOption bench_options[] = {
  { "runs", 'n', G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, runs),
    "Timed runs of each kind (default 20)", "N" },
  { "warmup", 'w', G_OPTION_ARG_INT, G_STRUCT_OFFSET (Options, warmup),
    "Runs before them that are told apart, the first included (default 3)", "N" },
  { "seconds", 0, G_OPTION_ARG_DOUBLE, G_STRUCT_OFFSET (Options, seconds),
    "Stop the runs of a kind after so long, but not before 3 of them (default: no limit)", "S" },
  { "parallel", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, parallel),
    "Run independent nodes concurrently: off (default), on, or auto, which takes 15 runs to "
    "find out where: as many should be warm-up",
    "off,on,auto" },
  { "without", 0, G_OPTION_ARG_STRING_ARRAY, G_STRUCT_OFFSET (Options, without),
    "Leave out decisions of the plan, to find the one at fault: blocks (values in NCHWc layout), "
    "sharing (values that share bytes), chains (nodes that run tile by tile), spans (nodes that "
    "run concurrently), prepack (constants in the layout of their kernel), all",
    "A,B" },
  { "deterministic", 0, G_OPTION_ARG_NONE, G_STRUCT_OFFSET (Options, deterministic),
    "Then measure runs that give the same bits at any number of threads, in turn with those that "
    "need not",
    NULL },
  { "capture", 0, G_OPTION_ARG_STRING, G_STRUCT_OFFSET (Options, capture),
    "Afterwards measure runs that keep all values, or their statistics", "all,stats,none" },
  { 0 },
};

/* One kind of runs. */
typedef struct
{
  double prepare_ms, first_ms;
  IrTimes warmup, run; /* warmup: without the first */
  guint64 value_bytes, arena_bytes, rss_bytes;
} Series;

typedef struct
{
  const char *file; /* as it was given */
  guint n_nodes, n_own, n_fallback, n_control, n_graphs;
  double open_first_ms, pipeline_ms;
  IrTimes open;
  guint64 opened_rss_bytes;
  Series plain, captured;
  IrTimes free, fixed, ratio; /* bits that may and may not depend on threads; n 0: not asked for */
} Result;

static double
now_ms (void)
{
  return (double) g_get_monotonic_time () / 1e3;
}

/* Of this program alone: what getrusage() tells begins with that of the process that started it. */
static guint64
peak_rss_bytes (void)
{
  g_autofree char *status = NULL;
  const char *line = NULL;
  struct rusage usage;

  if (g_file_get_contents ("/proc/self/status", &status, NULL, NULL))
    line = strstr (status, "VmHWM:");
  if (line != NULL)
    return g_ascii_strtoull (line + strlen ("VmHWM:"), NULL, 10) * 1024;
  return getrusage (RUSAGE_SELF, &usage) == 0 ? (guint64) usage.ru_maxrss * 1024 : 0;
}

static gboolean
parse (Options *options)
{
  const char *text = options->capture != NULL ? options->capture : "none";

  options->captured = strcmp (text, "all") == 0     ? IR_CAPTURE_ALL
                      : strcmp (text, "stats") == 0 ? IR_CAPTURE_STATS
                                                    : IR_CAPTURE_NONE;
  if (options->captured == IR_CAPTURE_NONE && strcmp (text, "none") != 0)
    cli_printerr ("irscope bench: --capture %s: needs all, stats or none\n", text);
  else if (options->runs < 0 || options->warmup < 0 || !(options->seconds >= 0))
    cli_printerr ("irscope bench: --runs, --warmup and --seconds must not be negative\n");
  else
    return TRUE;
  return FALSE;
}

/* Opening alone, as a program does that has just started; then some more times. */
static gboolean
measure_open (Cli *cli, const char *file, Result *result, GError **error)
{
  g_autoptr (GArray) ms = g_array_new (FALSE, FALSE, sizeof (double));
  const char *at = strrchr (file, '@');
  g_autofree char *path = at != NULL && !g_file_test (file, G_FILE_TEST_EXISTS)
                              ? g_strndup (file, at - file)
                              : g_strdup (file);

  for (guint i = 0; i <= OPEN_AGAIN; i++)
    {
      g_autoptr (GPtrArray) problems = ir_problems_new ();
      double start = now_ms (), taken;
      g_autoptr (IrModel) model = ir_model_load (path, problems, cli->cancellable, error);

      if (model == NULL)
        return FALSE;
      taken = now_ms () - start;
      if (i == 0)
        {
          result->open_first_ms = taken;
          result->opened_rss_bytes = peak_rss_bytes ();
        }
      else
        g_array_append_val (ms, taken);
    }
  result->open = ir_times (ms);
  return TRUE;
}

static gboolean
run_once (Cli *cli, IrExecutable *executable, GHashTable *inputs, IrRun **last, GError **error)
{
  /* The last result is let go before, as a caller does that is done with it. */
  g_clear_pointer (last, ir_run_unref);
  *last = ir_executable_run (executable, inputs, cli->cancellable, NULL, error);
  return *last != NULL;
}

static gboolean
run_series (Cli *cli,
            const Options *options,
            IrExecutable *executable,
            GHashTable *inputs,
            Series *series,
            Result *result,
            GError **error)
{
  gint n = options->runs > 0 ? options->runs : 20, warmup = MAX (options->warmup, 1);
  g_autoptr (GArray) early = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GArray) timed = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (IrRun) run = NULL;
  double begin = now_ms ();

  for (gint i = 0; i < warmup + n; i++)
    {
      double start = now_ms (), taken;

      if (!run_once (cli, executable, inputs, &run, error))
        return FALSE;
      taken = now_ms () - start;
      if (i == 0)
        series->first_ms = taken;
      else
        g_array_append_val (i < warmup ? early : timed, taken);
      cli_progress (cli, "run", (guint) i + 1, (guint) (warmup + n));
      if (options->seconds > 0 && timed->len >= 3 && now_ms () - begin > options->seconds * 1e3)
        break;
    }
  cli_progress_end (cli);
  series->warmup = ir_times (early);
  series->run = ir_times (timed);
  series->value_bytes = run->trace->peak_bytes;
  series->arena_bytes = run->trace->arena_bytes;
  result->n_own = run->n_own;
  result->n_fallback = run->n_fallback;
  result->n_graphs = MAX (result->n_graphs, run->trace->n_graphs);
  result->n_control = run->n_control;
  return TRUE;
}

static IrRunOptions
run_settings (const Options *options, GError **error)
{
  IrRunOptions settings = {
    .backend = cli_backend (&options->model, error),
    .n_threads = (guint) MAX (options->model.threads, 0),
    .seed = (guint64) options->model.seed,
    .untimed = TRUE,
  };

  if (settings.backend != NULL && ir_gpu_runtime_is_stand_in ())
    {
      g_set_error (
          error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE,
          "--device gpu: the device is a stand-in that imitates a GPU on the processor; how "
          "long that takes says nothing of one, so nothing is measured");
      settings.backend = NULL;
    }
  if (settings.backend != NULL && !cli_without (options->without, &settings.without, error))
    settings.backend = NULL;
  return settings;
}

/* What the same bits at any number of threads cost: pairs of runs, either kind first in turn. */
static gboolean
measure_deterministic (Cli *cli,
                       const Options *options,
                       IrModel *model,
                       GHashTable *inputs,
                       Result *result,
                       GError **error)
{
  gint n = options->runs > 0 ? options->runs : 20, warmup = MAX (options->warmup, 1);
  IrRunOptions settings = run_settings (options, error);
  g_autoptr (GArray) ratios = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GArray) free_ms = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GArray) fixed_ms = g_array_new (FALSE, FALSE, sizeof (double));
  GArray *const ms[2] = { free_ms, fixed_ms };
  g_autoptr (IrExecutable) loose = NULL;
  g_autoptr (IrExecutable) fixed = NULL;

  if (settings.backend == NULL)
    return FALSE;
  loose = ir_executable_new (model, &settings, error);
  settings.deterministic = TRUE;
  fixed = loose != NULL ? ir_executable_new (model, &settings, error) : NULL;
  if (fixed == NULL)
    return FALSE;
  for (gint i = 0; i < warmup + n; i++)
    {
      double taken[2];

      for (guint k = 0; k < 2; k++)
        {
          guint which = (k + (guint) i) % 2;
          g_autoptr (IrRun) run = NULL;
          double start = now_ms ();

          if (!run_once (cli, which == 0 ? loose : fixed, inputs, &run, error))
            return FALSE;
          taken[which] = now_ms () - start;
          if (i >= warmup)
            g_array_append_val (ms[which], taken[which]);
        }
      double ratio = taken[1] / MAX (taken[0], 1e-6);
      if (i >= warmup)
        g_array_append_val (ratios, ratio);
      cli_progress (cli, "pairs", (guint) i + 1, (guint) (warmup + n));
    }
  cli_progress_end (cli);
  result->free = ir_times (free_ms);
  result->fixed = ir_times (fixed_ms);
  result->ratio = ir_times (ratios);
  return TRUE;
}

static gboolean
measure_series (Cli *cli,
                const Options *options,
                IrModel *model,
                GHashTable *inputs,
                IrCaptureKind capture,
                Series *series,
                Result *result,
                GError **error)
{
  IrRunOptions settings = run_settings (options, error);
  double start = now_ms ();

  settings.capture = capture;
  if (settings.backend == NULL || !cli_parallel (options->parallel, &settings.parallel, error))
    return FALSE;
  g_autoptr (IrExecutable) executable = ir_executable_new (model, &settings, error);
  if (executable == NULL || !ir_executable_prepare (executable, inputs, cli->cancellable, error))
    return FALSE;
  series->prepare_ms = now_ms () - start;
  if (!run_series (cli, options, executable, inputs, series, result, error))
    return FALSE;
  series->rss_bytes = peak_rss_bytes ();
  return TRUE;
}

static gboolean
measure (Cli *cli, const Options *options, const char *file, Result *result, CliStatus *status)
{
  g_auto (CliModel) opened = { 0 };
  g_autoptr (GHashTable) inputs = NULL;
  g_autoptr (GError) error = NULL;
  double start;

  result->file = file;
  if (g_file_test (file, G_FILE_TEST_EXISTS) && !measure_open (cli, file, result, &error))
    {
      *status = cli_fail (cli_status_of (error), error);
      return FALSE;
    }
  start = now_ms ();
  if (!cli_model_open (cli, &options->model, file, FALSE, &opened, status))
    return FALSE;
  if (options->model.pipeline != NULL || options->model.passes != NULL)
    result->pipeline_ms = MAX (now_ms () - start - result->open.median, 0);
  result->n_nodes = ir_model_n_counted_nodes (opened.model);
  inputs = cli_inputs (cli, &options->model, opened.model, &error);
  if (inputs != NULL &&
      measure_series (cli, options, opened.model, inputs, IR_CAPTURE_NONE, &result->plain, result,
                      &error) &&
      (options->captured == IR_CAPTURE_NONE ||
       measure_series (cli, options, opened.model, inputs, options->captured, &result->captured,
                       result, &error)) &&
      (!options->deterministic ||
       measure_deterministic (cli, options, opened.model, inputs, result, &error)))
    return TRUE;
  *status = cli_fail (cli_status_of (error), error);
  return FALSE;
}

/* -- reporting -- */

static void
add_series (cJSON *object, const char *key, const Series *series)
{
  if (series->run.n == 0)
    {
      cJSON_AddNullToObject (object, key);
      return;
    }
  cJSON *added = cJSON_AddObjectToObject (object, key);
  cJSON_AddNumberToObject (added, "prepare_ms", series->prepare_ms);
  cJSON_AddNumberToObject (added, "first_ms", series->first_ms);
  cli_json_add_times (added, "warmup_ms", &series->warmup);
  cli_json_add_times (added, "run_ms", &series->run);
  cli_json_add_uint (added, "value_bytes", series->value_bytes);
  cli_json_add_uint (added, "arena_bytes", series->arena_bytes);
  cli_json_add_uint (added, "peak_rss_bytes", series->rss_bytes);
}

static cJSON *
result_to_json (const Result *result)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "file", result->file);
  cJSON_AddNumberToObject (object, "nodes", result->n_nodes);
  cJSON_AddNumberToObject (object, "own", result->n_own);
  cJSON_AddNumberToObject (object, "fallback", result->n_fallback);
  cJSON_AddNumberToObject (object, "control", result->n_control);
  cJSON_AddNumberToObject (object, "device_graphs", result->n_graphs);
  cJSON_AddNumberToObject (object, "open_first_ms", result->open_first_ms);
  cli_json_add_times (object, "open_ms", &result->open);
  cli_json_add_uint (object, "open_peak_rss_bytes", result->opened_rss_bytes);
  cJSON_AddNumberToObject (object, "pipeline_ms", result->pipeline_ms);
  add_series (object, "plain", &result->plain);
  add_series (object, "captured", &result->captured);
  if (result->ratio.n > 0)
    {
      cJSON *added = cJSON_AddObjectToObject (object, "deterministic");
      cli_json_add_times (added, "free_ms", &result->free);
      cli_json_add_times (added, "run_ms", &result->fixed);
      cli_json_add_times (added, "ratio", &result->ratio);
    }
  else
    cJSON_AddNullToObject (object, "deterministic");
  return object;
}

static void
print_times (const char *name, const IrTimes *times)
{
  cli_print ("  %-9s %10.3f ms  (%.3f to %.3f, half of %u between %.3f and %.3f)\n", name,
             times->median, times->min, times->max, times->n, times->q1, times->q3);
}

static void
print_series (const char *name, const Series *series)
{
  g_autofree char *values = cli_format_bytes (series->value_bytes);
  g_autofree char *rss = cli_format_bytes (series->rss_bytes);

  if (series->run.n == 0)
    return;
  cli_print ("  %-9s %10.3f ms\n", "prepare", series->prepare_ms);
  cli_print ("  %-9s %10.3f ms\n", "first", series->first_ms);
  print_times (name, &series->run);
  cli_print ("  values %s, resident at most %s\n", values, rss);
}

static void
print_result (const Result *result)
{
  g_autofree char *graphs = result->n_graphs > 0
                                ? g_strdup_printf (", launched as %u graph%s of the device",
                                                   result->n_graphs,
                                                   result->n_graphs == 1 ? "" : "s")
                                : g_strdup ("");

  cli_print ("%s: %u nodes, %u by reference kernels%s\n", result->file, result->n_nodes,
             result->n_fallback, graphs);
  cli_print ("  %-9s %10.3f ms  first\n", "open", result->open_first_ms);
  print_times ("open", &result->open);
  if (result->pipeline_ms > 0)
    cli_print ("  %-9s %10.3f ms\n", "pipeline", result->pipeline_ms);
  print_series ("run", &result->plain);
  print_series ("captured", &result->captured);
  if (result->ratio.n == 0)
    return;
  print_times ("any bits", &result->free);
  print_times ("same bits", &result->fixed);
  cli_print ("  %-9s %10.3f     (half of %u pairs between %.3f and %.3f)\n", "ratio",
             result->ratio.median, result->ratio.n, result->ratio.q1, result->ratio.q3);
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  cJSON *json, *models;
  CliStatus status = CLI_OK;

  if (!parse (options))
    return CLI_BAD;
  json = cJSON_CreateObject ();
  cJSON_AddStringToObject (json, "version", IR_VERSION);
  cJSON_AddNumberToObject (json, "threads",
                           options->model.threads > 0 ? (guint) options->model.threads
                                                      : g_get_num_processors ());
  models = cJSON_AddArrayToObject (json, "models");
  for (guint i = 0; i < cli->n_args && status == CLI_OK; i++)
    {
      Result result = { 0 };

      if (!measure (cli, options, cli->args[i], &result, &status))
        break;
      if (cli->json)
        cJSON_AddItemToArray (models, result_to_json (&result));
      else
        print_result (&result);
    }
  if (cli->json && status == CLI_OK)
    cli_json_print (json);
  else
    cJSON_Delete (json);
  return status;
}

const CliCommand cli_command_bench = {
  .name = "bench",
  .arguments = "FILE..",
  .takes_model = TRUE,
  .summary = "Measure how long opening, preparing and running take, and how much memory",
  .doc =
      "Inputs that are not given are random. Every time comes with the smallest, the largest and the\n"
      "quartiles of all runs; runs that warm up are told apart. Memory is the peak of the process so far:\n"
      "measure one model per process to compare it.",
  .min_args = 1,
  .max_args = G_MAXUINT,
  .options = bench_options,
  .model_options = cli_run_options,
  .options_size = sizeof (Options),
  .run = run,
};
