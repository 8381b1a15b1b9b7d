/* Concurrent nodes against one node at a time, both on the same threads.
 *
 *     bench-parallel [--threads 2] [--pairs 50] [--mode auto] [--pipeline P] FILE..   JSON on
 * stdout
 *
 * Two plans of one model are run in turns in one process, and which is first changes from pair to
 * pair, so that a busy machine disturbs both alike. The plan of concurrent nodes first gets
 * the runs that it needs to choose. What is judged is the median of the ratios of the pairs, with
 * the 95 % bootstrap interval of the median (Efron 1979, 10,000 draws with a fixed seed). */
#include "config.h"

#include "app/cli/times.h"
#include "core/exec/kernel/backend.h"
#include "core/io/io.h"
#include "passes/pipeline/pipeline.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

#define N_LEARN 24 /* runs until nothing is tried any more, and some */
#define N_DRAWS 10000

static gint n_pairs = 50, n_threads = 2;
static gboolean deterministic = FALSE;
static char *pipeline_name = NULL, *mode_name = NULL;
static char **files = NULL;

static const GOptionEntry entries[] = {
  { "threads", 0, 0, G_OPTION_ARG_INT, &n_threads, "Of both (2)", "N" },
  { "pairs", 0, 0, G_OPTION_ARG_INT, &n_pairs, "Pairs of runs (50)", "N" },
  { "mode", 0, 0, G_OPTION_ARG_STRING, &mode_name, "on or auto (auto)", "MODE" },
  { "deterministic", 0, 0, G_OPTION_ARG_NONE, &deterministic, "Both", NULL },
  { "pipeline", 0, 0, G_OPTION_ARG_STRING, &pipeline_name, "Run first (none)", "P" },
  { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &files, NULL, "FILE.." },
  { NULL },
};

typedef struct
{
  IrExecutable *executable;
  IrRun *last;
  GArray *ms;
} Side;

static void
side_clear (Side *side)
{
  g_clear_pointer (&side->last, ir_run_unref);
  g_clear_pointer (&side->executable, ir_executable_free);
  g_clear_pointer (&side->ms, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Side, side_clear)

static gboolean
run (Side *side, GHashTable *inputs, gboolean timed, GError **error)
{
  gint64 start_us = g_get_monotonic_time ();

  g_clear_pointer (&side->last, ir_run_unref);
  side->last = ir_executable_run (side->executable, inputs, NULL, NULL, error);
  double ms = (double) (g_get_monotonic_time () - start_us) / 1e3;
  if (timed)
    g_array_append_val (side->ms, ms);
  return side->last != NULL;
}

static int
compare (gconstpointer a, gconstpointer b)
{
  const double *x = a, *y = b;

  return *x < *y ? -1 : *x > *y;
}

static void
add_interval (cJSON *json, const GArray *ratios)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  g_autoptr (GArray) medians = g_array_new (FALSE, FALSE, sizeof (double));
  g_autoptr (GArray) draw = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint i = 0; i < N_DRAWS; i++)
    {
      g_array_set_size (draw, 0);
      for (guint k = 0; k < ratios->len; k++)
        {
          gint at = g_rand_int_range (rand, 0, (gint) ratios->len);
          g_array_append_val (draw, g_array_index (ratios, double, at));
        }
      double median = ir_times (draw).median;
      g_array_append_val (medians, median);
    }
  g_array_sort (medians, compare);
  cJSON_AddNumberToObject (json, "ratio", ir_times (ratios).median);
  cJSON_AddNumberToObject (json, "ratio_low",
                           ir_quantile ((double *) (void *) medians->data, N_DRAWS, 0.025));
  cJSON_AddNumberToObject (json, "ratio_high",
                           ir_quantile ((double *) (void *) medians->data, N_DRAWS, 0.975));
}

/* What the plan has chosen, and what it expects of it. */
static void
add_choice (cJSON *json, const IrRun *last)
{
  const GArray *spans = last->schedule->spans;
  double together = 0, apart = 0;
  guint n_nodes = 0;

  for (guint i = 0; spans != NULL && i < spans->len; i++)
    {
      const IrScheduleSpan *span = &g_array_index (spans, IrScheduleSpan, i);
      together += span->together_ms;
      apart += span->apart_ms;
      n_nodes += span->last + 1 - span->first;
    }
  cJSON_AddNumberToObject (json, "spans", spans != NULL ? spans->len : 0);
  cJSON_AddNumberToObject (json, "nodes_beside", n_nodes);
  cJSON_AddNumberToObject (json, "spans_beside_ms", together);
  cJSON_AddNumberToObject (json, "spans_apart_ms", apart);
}

static gboolean
measure (IrModel *model, GHashTable *inputs, IrParallelMode mode, cJSON *json, GError **error)
{
  IrRunOptions options = { .n_threads = (guint) n_threads, .deterministic = deterministic };
  g_auto (Side) apart = { .ms = g_array_new (FALSE, FALSE, sizeof (double)) };
  g_auto (Side) beside = { .ms = g_array_new (FALSE, FALSE, sizeof (double)) };
  g_autoptr (GArray) ratios = g_array_new (FALSE, FALSE, sizeof (double));

  apart.executable = ir_executable_new (model, &options, error);
  options.parallel = mode;
  beside.executable = apart.executable != NULL ? ir_executable_new (model, &options, error) : NULL;
  if (beside.executable == NULL)
    return FALSE;
  for (gint i = 0; i < N_LEARN; i++)
    if (!run (&beside, inputs, FALSE, error) || (i < 3 && !run (&apart, inputs, FALSE, error)))
      return FALSE;
  for (gint i = 0; i < n_pairs; i++)
    {
      if (!run (i % 2 == 0 ? &apart : &beside, inputs, TRUE, error) ||
          !run (i % 2 == 0 ? &beside : &apart, inputs, TRUE, error))
        return FALSE;
      double ratio = g_array_index (beside.ms, double, i) / g_array_index (apart.ms, double, i);
      g_array_append_val (ratios, ratio);
    }
  IrTimes apart_times = ir_times (apart.ms), beside_times = ir_times (beside.ms);
  add_choice (json, beside.last);
  cli_json_add_times (json, "apart_ms", &apart_times);
  cli_json_add_times (json, "beside_ms", &beside_times);
  cJSON_AddNumberToObject (json, "apart_arena_bytes", (double) apart.last->trace->arena_bytes);
  cJSON_AddNumberToObject (json, "beside_arena_bytes", (double) beside.last->trace->arena_bytes);
  add_interval (json, ratios);
  return TRUE;
}

static gboolean
measure_file (const char *file, IrParallelMode mode, cJSON *json, GError **error)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = ir_model_load (file, problems, NULL, error);
  g_autoptr (IrPipeline) pipeline = NULL;
  IrPipelineOptions how = { .max_class = IR_CLASS_ROUNDING, .backend = ir_backend_find ("cpu") };

  if (model == NULL)
    return FALSE;
  if (pipeline_name != NULL)
    {
      pipeline = ir_pipeline_load (pipeline_name, error);
      if (pipeline == NULL || !ir_pipeline_run (model, pipeline, &how, NULL, NULL, error))
        return FALSE;
    }
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 1, NULL, error);
  cJSON_AddStringToObject (json, "file", file);
  return inputs != NULL && measure (model, inputs, mode, json, error);
}

int
main (int argc, char **argv)
{
  ir_threads_limit_spinning (argv);
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  IrParallelMode mode = IR_PARALLEL_AUTO;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || files == NULL || n_pairs < 1 ||
      n_threads < 1 || (mode_name != NULL && !ir_parallel_mode_find (mode_name, &mode)))
    {
      g_printerr ("bench-parallel: %s\n",
                  error != NULL ? error->message : "needs files, pairs and threads of 1 or more");
      return 2;
    }
  cJSON *json = cJSON_CreateArray ();
  for (guint i = 0; files[i] != NULL; i++)
    {
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddItemToArray (json, object);
      if (!measure_file (files[i], mode, object, &error))
        {
          g_printerr ("bench-parallel: %s: %s\n", files[i], error->message);
          return 1;
        }
    }
  char *text = cJSON_Print (json);
  printf ("%s\n", text);
  cJSON_free (text);
  cJSON_Delete (json);
  return 0;
}
