/* Runs that keep every value, or with --step that stop before every node, against plain runs of the same
 * graph. What is stepped has neither chains nor spans, and neither has what it is compared with; nothing is
 * kept or watched, and who is told that the run stands says at once that it goes on.
 *
 *     bench-capture [--step] [--threads 1] [--rounds 15] [--runs 5] [--pipeline P] [--shape S] FILE..
 *                                                                            JSON on stdout
 *
 * Both have a plan of their own in one process. In each round both run a few times, and which is
 * first changes from round to round, so that a busy machine disturbs both alike. The first run of
 * either in a round finds the caches full of the other's values and is not counted. Judged is the
 * median of the rounds' ratios, of wall time and of processor time, each of the rounds' medians. */
#include "config.h"

#include "app/cli/times.h"
#include "core/exec/kernel/backend.h"
#include "core/exec/run/control.h"
#include "core/io/io.h"
#include "passes/pipeline/pipeline.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#define N_WARMUP 3 /* runs of either before the first round */

static gint n_rounds = 15, n_runs = 5, n_threads = 1;
static char *pipeline_name = NULL, *shape = NULL;
static char **files = NULL;
static gboolean stepping = FALSE;

static const GOptionEntry entries[] = {
  { "step", 0, 0, G_OPTION_ARG_NONE, &stepping, "Node by node, instead of keeping values", NULL },
  { "threads", 0, 0, G_OPTION_ARG_INT, &n_threads, "Of both (1)", "N" },
  { "rounds", 0, 0, G_OPTION_ARG_INT, &n_rounds, "Ratios that are taken (15)", "N" },
  { "runs", 0, 0, G_OPTION_ARG_INT, &n_runs, "Runs of either in a round (5)", "N" },
  { "pipeline", 0, 0, G_OPTION_ARG_STRING, &pipeline_name, "Run first (none)", "P" },
  { "shape", 0, 0, G_OPTION_ARG_STRING, &shape, "Of the first input, a picture", "1x3x48x320" },
  { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &files, NULL, "FILE.." },
  { NULL },
};

typedef struct
{
  IrExecutable *executable;
  IrRun *last;
  GArray *wall_ms, *cpu_ms; /* one per round */
  guint64 n_faults, n_runs;
} Side;

static void
side_clear (Side *side)
{
  g_clear_pointer (&side->last, ir_run_unref);
  g_clear_pointer (&side->executable, ir_executable_free);
  g_clear_pointer (&side->wall_ms, g_array_unref);
  g_clear_pointer (&side->cpu_ms, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Side, side_clear)

static double
now_ms (clockid_t clock)
{
  struct timespec now;

  clock_gettime (clock, &now);
  return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

static guint64
faults (void)
{
  struct rusage usage;

  return getrusage (RUSAGE_SELF, &usage) == 0 ? (guint64) usage.ru_minflt : 0;
}

static gboolean
run (Side *side, GHashTable *inputs, GError **error)
{
  g_clear_pointer (&side->last, ir_run_unref);
  side->last = ir_executable_run (side->executable, inputs, NULL, NULL, error);
  return side->last != NULL;
}

static gboolean
run_round (Side *side, GHashTable *inputs, GError **error)
{
  g_autoptr (GArray) wall = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GArray) cpu = g_array_new (FALSE, FALSE, sizeof (double));
  guint64 before;

  if (!run (side, inputs, error))
    return FALSE;
  before = faults ();
  for (gint i = 0; i < n_runs; i++)
    {
      double wall_start = now_ms (CLOCK_MONOTONIC), cpu_start = now_ms (CLOCK_PROCESS_CPUTIME_ID);
      if (!run (side, inputs, error))
        return FALSE;
      double cpu_ms = now_ms (CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
      double wall_ms = now_ms (CLOCK_MONOTONIC) - wall_start;
      g_array_append_val (wall, wall_ms);
      g_array_append_val (cpu, cpu_ms);
    }
  side->n_faults += faults () - before;
  side->n_runs += (guint64) n_runs;
  double wall_ms = ir_times (wall).median, cpu_ms = ir_times (cpu).median;
  g_array_append_val (side->wall_ms, wall_ms);
  g_array_append_val (side->cpu_ms, cpu_ms);
  return TRUE;
}

static void
add_ratios (cJSON *json, const char *name, const GArray *plain, const GArray *captured)
{
  g_autoptr (GArray) ratios = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint i = 0; i < plain->len; i++)
    {
      double ratio = g_array_index (captured, double, i) / g_array_index (plain, double, i);
      g_array_append_val (ratios, ratio);
    }
  IrTimes times = ir_times (ratios);
  cli_json_add_times (json, name, &times);
}

static void
add_side (cJSON *json, const char *name, const Side *side)
{
  IrTimes wall = ir_times (side->wall_ms), cpu = ir_times (side->cpu_ms);
  cJSON *object = cJSON_AddObjectToObject (json, name);

  cli_json_add_times (object, "wall_ms", &wall);
  cli_json_add_times (object, "cpu_ms", &cpu);
  cJSON_AddNumberToObject (object, "faults_per_run",
                           (double) side->n_faults / (double) side->n_runs);
  cJSON_AddNumberToObject (object, "value_bytes", (double) side->last->trace->peak_bytes);
}

static void
go_on (IrRunControl *control, const IrRunStop *stop, gpointer data)
{
  guint64 *n_stops = data;

  ++*n_stops;
  ir_run_control_go (control, (IrRunCommand){ .move = IR_RUN_STEP });
}

static gboolean
measure (IrModel *model, GHashTable *inputs, cJSON *json, GError **error)
{
  IrRunOptions options = { .n_threads = (guint) n_threads };
  g_auto (Side) plain = { .wall_ms = g_array_new (FALSE, FALSE, sizeof (double)),
                          .cpu_ms = g_array_new (FALSE, FALSE, sizeof (double)) };
  g_auto (Side) captured = { .wall_ms = g_array_new (FALSE, FALSE, sizeof (double)),
                             .cpu_ms = g_array_new (FALSE, FALSE, sizeof (double)) };

  guint64 n_stops = 0;
  g_autoptr (IrRunControl) control = ir_run_control_new (
      &(IrRunControlSetup){ .stopped = go_on, .data = &n_stops, .first = { .move = IR_RUN_STEP } });

  options.without = stepping ? IR_DECISION_CHAINS | IR_DECISION_SPANS : 0;
  plain.executable = ir_executable_new (model, &options, error);
  options.capture = stepping ? IR_CAPTURE_NONE : IR_CAPTURE_ALL;
  options.control = stepping ? control : NULL;
  captured.executable = plain.executable != NULL ? ir_executable_new (model, &options, error)
                                                 : NULL;
  if (captured.executable == NULL)
    return FALSE;
  for (gint i = 0; i < N_WARMUP; i++)
    if (!run (&plain, inputs, error) || !run (&captured, inputs, error))
      return FALSE;
  for (gint i = 0; i < n_rounds; i++)
    if (!run_round (i % 2 == 0 ? &plain : &captured, inputs, error) ||
        !run_round (i % 2 == 0 ? &captured : &plain, inputs, error))
      return FALSE;
  add_side (json, "plain", &plain);
  add_side (json, stepping ? "stepped" : "captured", &captured);
  if (stepping)
    cJSON_AddNumberToObject (json, "stops_per_run",
                             (double) n_stops / (double) (N_WARMUP + n_rounds * (n_runs + 1)));
  add_ratios (json, "wall_ratio", plain.wall_ms, captured.wall_ms);
  add_ratios (json, "cpu_ratio", plain.cpu_ms, captured.cpu_ms);
  return TRUE;
}

/* What random inputs begin with: an image of the shape that was asked for. */
static GHashTable *
given_inputs (IrModel *model, GError **error)
{
  g_autoptr (GHashTable)
      given = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  g_auto (GStrv) parts = g_strsplit (shape != NULL ? shape : "", "x", IR_MAX_RANK);
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  gint64 dims[IR_MAX_RANK];
  guint rank = g_strv_length (parts);

  if (rank == 0)
    return g_steal_pointer (&given);
  for (guint i = 0; i < rank; i++)
    dims[i] = g_ascii_strtoll (parts[i], NULL, 10);
  IrTensor *tensor = ir_tensor_new_alloc (IR_DTYPE_FLOAT, rank, dims, error);
  if (tensor == NULL)
    return NULL;
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    ((float *) ir_tensor_data_writable (tensor))[i] = (float) g_rand_double_range (rand, -1, 1);
  g_hash_table_insert (given, GUINT_TO_POINTER (ir_graph_input (model->main, 0)->id), tensor);
  return g_steal_pointer (&given);
}

static gboolean
measure_file (const char *file, cJSON *json, GError **error)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = ir_model_load (file, problems, NULL, error);
  g_autoptr (IrPipeline) pipeline = NULL;
  IrPipelineOptions how = { .max_class = IR_CLASS_ROUNDING, .backend = ir_backend_find ("cpu") };
  GHashTableIter iter;
  gpointer id, tensor;

  if (model == NULL)
    return FALSE;
  if (pipeline_name != NULL)
    {
      pipeline = ir_pipeline_load (pipeline_name, error);
      if (pipeline == NULL || !ir_pipeline_run (model, pipeline, &how, NULL, NULL, error))
        return FALSE;
    }
  g_autoptr (GHashTable) given = given_inputs (model, error);
  g_autoptr (GHashTable)
      inputs = given != NULL ? ir_random_inputs_beside (model, 1, NULL, given, error) : NULL;
  if (inputs == NULL)
    return FALSE;
  g_hash_table_iter_init (&iter, given);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    g_hash_table_replace (inputs, id, ir_tensor_ref (tensor));
  cJSON_AddStringToObject (json, "file", file);
  return measure (model, inputs, json, error);
}

int
main (int argc, char **argv)
{
  ir_threads_limit_spinning (argv);
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || files == NULL || n_rounds < 1 ||
      n_runs < 1 || n_threads < 1)
    {
      g_printerr ("bench-capture: %s\n",
                  error != NULL ? error->message
                                : "needs files, and rounds, runs and threads of 1 or more");
      return 2;
    }
  cJSON *json = cJSON_CreateArray ();
  for (guint i = 0; files[i] != NULL; i++)
    {
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddItemToArray (json, object);
      if (!measure_file (files[i], object, &error))
        {
          g_printerr ("bench-capture: %s: %s\n", files[i], error->message);
          return 1;
        }
    }
  char *text = cJSON_Print (json);
  printf ("%s\n", text);
  cJSON_free (text);
  cJSON_Delete (json);
  return 0;
}
