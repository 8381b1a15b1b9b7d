/* What proving a pipeline costs, against what it must: one captured run, the kernels of what the
 * steps have made, and packing their weights (which happens inside those kernels).
 *
 *     bench-proof [--runs N] [--pipeline P] FILE..        JSON on stdout
 *
 * Every round measures a plain run, a run that captures all values (preparation included), and a
 * whole proof, one after the other, so that a busy machine disturbs all alike. Times are CPU time
 * of the process, in milliseconds; "wall" is beside them. On one core (taskset -c 0) CPU time and
 * wall time say the same on a quiet machine. */
#include "config.h"

#include "core/io/io.h"
#include "passes/pipeline/pipeline.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static gint n_runs = 5;
static gint64 size = 0;
static char *pipeline_name = NULL;
static char **files = NULL;

static const GOptionEntry entries[] = {
  { "runs", 0, 0, G_OPTION_ARG_INT, &n_runs, "How often everything is measured", "N" },
  { "pipeline", 0, 0, G_OPTION_ARG_STRING, &pipeline_name, "Which pipeline (default)", "P" },
  { "size", 0, 0, G_OPTION_ARG_INT64, &size, "Of every open dimension behind the first", "N" },
  { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &files, NULL, "FILE.." },
  { NULL },
};

typedef enum
{
  PLAIN,    /* a run of an executable that has run before */
  CAPTURED, /* a new executable that keeps every value */
  CONES,    /* inside the proof: kernels of what the steps made, with packing */
  OLD,      /* inside the proof: kernels of old sides */
  WIDE,     /* inside the proof: float64 */
  COMPARE,  /* inside the proof: comparing */
  FIRST,    /* inside the proof: its captured run */
  STEPS,    /* inside the proof: all steps, from CONES to COMPARE and what is around */
  PROOF,    /* all of it, the captured run included */
  WALL,     /* the same in wall time */
  N_TIMES
} Times;

static const char *const names[N_TIMES] = {
  "plain_run_ms", "captured_run_ms", "cones_ms", "old_sides_ms", "float64_ms",
  "compare_ms",   "first_run_ms",    "steps_ms", "proof_ms",     "proof_wall_ms",
};

static double
cpu_ms (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static int
compare_doubles (gconstpointer a, gconstpointer b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

static void
add_spread (cJSON *object, const char *name, double *values, guint n)
{
  cJSON *spread = cJSON_AddObjectToObject (object, name);

  qsort (values, n, sizeof *values, compare_doubles);
  cJSON_AddNumberToObject (spread, "median", values[n / 2]);
  cJSON_AddNumberToObject (spread, "min", values[0]);
  cJSON_AddNumberToObject (spread, "max", values[n - 1]);
}

static gboolean
measure_plain (IrExecutable *executable, GHashTable *inputs, double *ms, GError **error)
{
  double start = cpu_ms ();
  g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, error);

  *ms = cpu_ms () - start;
  return run != NULL;
}

static gboolean
measure_captured (IrModel *model, GHashTable *inputs, double *ms, GError **error)
{
  IrRunOptions options = { .backend = ir_backend_find ("cpu"), .capture = IR_CAPTURE_ALL };
  double start = cpu_ms ();
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, error);

  *ms = cpu_ms () - start;
  return run != NULL;
}

static gboolean
measure_proof (
    IrModel *model, GHashTable *inputs, double *times, IrProofSummary *summary, GError **error)
{
  double start = cpu_ms ();
  gint64 wall = g_get_monotonic_time ();
  g_autoptr (IrProver) prover = ir_prover_new (model, inputs, ir_backend_find ("cpu"), NULL, error);

  if (prover == NULL || !ir_prover_prove_all (prover, summary, NULL, NULL, NULL, error))
    return FALSE;
  const IrProofCost *cost = ir_prover_cost (prover);
  times[PROOF] = cpu_ms () - start;
  times[WALL] = (g_get_monotonic_time () - wall) / 1e3;
  times[CONES] = cost->new_ns / 1e6;
  times[OLD] = cost->old_ns / 1e6;
  times[WIDE] = cost->wide_ns / 1e6;
  times[COMPARE] = cost->compare_ns / 1e6;
  times[FIRST] = cost->captured_ns / 1e6;
  times[STEPS] = cost->steps_ns / 1e6;
  return TRUE;
}

static gboolean
measure_all (IrModel *model,
             IrExecutable *plain,
             GHashTable *inputs,
             double *times,
             IrProofSummary *summary,
             GError **error)
{
  g_autoptr (IrModel) original = ir_history_snapshot (model, 0);

  return measure_plain (plain, inputs, &times[PLAIN], error) &&
         measure_captured (original, inputs, &times[CAPTURED], error) &&
         measure_proof (model, inputs, times, summary, error);
}

static void
print_file (
    const char *file, IrModel *model, double *times, const IrProofSummary *summary, cJSON *all)
{
  cJSON *object = cJSON_CreateObject (), *verdicts;
  g_autofree double *one = g_new (double, n_runs), *ratios = g_new (double, n_runs),
                    *own = g_new (double, n_runs), *plains = g_new (double, n_runs);

  cJSON_AddStringToObject (object, "file", file);
  cJSON_AddNumberToObject (object, "steps", ir_history_n_steps (model));
  verdicts = cJSON_AddObjectToObject (object, "proof");
  for (IrVerdict v = IR_VERDICT_EXACT; v < IR_N_VERDICTS; v++)
    cJSON_AddNumberToObject (verdicts, ir_verdict_name (v), summary->n[v]);
  for (gint i = 0; i < n_runs; i++)
    {
      const double *t = &times[i * N_TIMES];

      ratios[i] = t[PROOF] / (t[CAPTURED] + t[CONES]);
      own[i] = t[PROOF] / (t[FIRST] + t[CONES]);
      plains[i] = t[PROOF] / t[PLAIN];
    }
  for (guint k = 0; k < N_TIMES; k++)
    {
      for (gint i = 0; i < n_runs; i++)
        one[i] = times[i * N_TIMES + k];
      add_spread (object, names[k], one, n_runs);
    }
  /* Paired, round by round: both sides of a ratio saw the same machine. */
  add_spread (object, "ratio", ratios, n_runs);
  /* Against the run that a proof makes itself: node by node, without blocks of channels. */
  add_spread (object, "ratio_to_own_run", own, n_runs);
  add_spread (object, "plain_runs", plains, n_runs);
  cJSON_AddItemToArray (all, object);
}

static GHashTable *
make_inputs (IrModel *model, GError **error)
{
  g_autoptr (GHashTable) bindings = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; size > 0 && i < ir_graph_n_inputs (model->main); i++)
    {
      const IrType *type = ir_graph_input (model->main, i)->type;
      for (int axis = 1; type != NULL && axis < type->rank; axis++)
        if (ir_dim_is_symbolic (type->dims[axis]) &&
            ir_dim_symbol_name (model->context, type->dims[axis]) != NULL)
          g_hash_table_insert (
              bindings, (gpointer) ir_dim_symbol_name (model->context, type->dims[axis]), &size);
    }
  return ir_random_inputs (model, 1, bindings, error);
}

static gboolean
bench (const char *file, cJSON *all, GError **error)
{
  g_autoptr (IrModel) model = ir_model_load (file, NULL, NULL, error);
  g_autoptr (IrModel) original = model != NULL ? ir_model_clone (model) : NULL;
  g_autoptr (GHashTable) inputs = model != NULL ? make_inputs (model, error) : NULL;
  g_autoptr (IrPipeline)
      pipeline = ir_pipeline_load (pipeline_name != NULL ? pipeline_name : "default", error);
  g_autoptr (IrExecutable) plain = NULL;
  g_autofree double *times = g_new0 (double, n_runs *N_TIMES);
  IrRunOptions options = { .backend = ir_backend_find ("cpu") };
  IrPipelineOptions how = { .max_class = IR_CLASS_ROUNDING, .backend = ir_backend_find ("cpu") };
  IrProofSummary summary = { { 0 } };
  double warm;

  if (inputs == NULL || pipeline == NULL ||
      !ir_pipeline_run (model, pipeline, &how, NULL, NULL, error))
    return FALSE;
  plain = ir_executable_new (original, &options, error);
  if (plain == NULL || !measure_plain (plain, inputs, &warm, error))
    return FALSE;
  for (gint i = 0; i < n_runs; i++)
    if (!measure_all (model, plain, inputs, &times[i * N_TIMES], &summary, error))
      return FALSE;
  print_file (file, model, times, &summary, all);
  return TRUE;
}

int
main (int argc, char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new ("FILE..");
  g_autoptr (GError) error = NULL;
  cJSON *all = cJSON_CreateArray ();
  char *text;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || files == NULL || n_runs < 1)
    {
      g_printerr ("bench-proof: %s\n", error != NULL ? error->message : "needs files");
      return 2;
    }
  for (guint i = 0; files[i] != NULL; i++)
    if (!bench (files[i], all, &error))
      {
        g_printerr ("bench-proof: %s: %s\n", files[i], error->message);
        return 3;
      }
  text = cJSON_Print (all);
  printf ("%s\n", text);
  cJSON_free (text);
  cJSON_Delete (all);
  return 0;
}
