/* Whether pipelines make a model faster: it after each of them, against it as it is in the file.
 *
 *     bench-pipelines [--threads 1] [--pairs 15] [--pipelines basic,default]
 *         [--input NAME=FILE..] [--processor] [--check] FILE..
 *
 * A row on stdout for each file and pipeline. The plans are run in turns in one process, the other
 * way round in every second round, so that a busy machine disturbs all alike; before them, runs
 * that warm up. A pipeline makes a model slower if the lower quartile of its ratios is over 1.05:
 * --check then ends with exit status 1. --processor takes the time of the processor, of all threads,
 * instead of that of the clock: what else the machine does changes it less. Inputs are those of
 * --input NAME=FILE, or random, free dims 1 or --dim NAME=N. */
#include "config.h"

#include "core/exec/kernel/backend.h"
#include "core/exec/measure/times.h"
#include "core/exec/run/run.h"
#include "core/io/io.h"
#include "passes/pipeline/pipeline.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define N_WARMUP 3
#define SLOWER   1.05
#define MIN_MS   2.0 /* of one sample: short runs are repeated and timed together */

static gint n_pairs = 15, n_threads = 1;
static gboolean check = FALSE, processor = FALSE;
static char *pipeline_names = NULL;
static char **files = NULL, **dims = NULL, **given = NULL;

static const GOptionEntry entries[] = {
  { "threads", 0, 0, G_OPTION_ARG_INT, &n_threads, "Of all (1)", "N" },
  { "pairs", 0, 0, G_OPTION_ARG_INT, &n_pairs, "Rounds (15)", "N" },
  { "pipelines", 0, 0, G_OPTION_ARG_STRING, &pipeline_names, "(basic,default)", "A,B" },
  { "dim", 0, 0, G_OPTION_ARG_STRING_ARRAY, &dims, "Size of a free dim (1)", "NAME=N" },
  { "input", 0, 0, G_OPTION_ARG_STRING_ARRAY, &given, "Contents, of every input", "NAME=FILE" },
  { "processor", 0, 0, G_OPTION_ARG_NONE, &processor, "Time of the processor", NULL },
  { "check", 0, 0, G_OPTION_ARG_NONE, &check, "Fail where one makes a model slower", NULL },
  { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &files, NULL, "FILE.." },
  { NULL },
};

/* The model after a pipeline, or, the first, after none. */
typedef struct
{
  const char *name;
  IrExecutable *executable;
  guint n_nodes;
  double ms; /* of the last sample */
  GArray *samples, *ratios;
} Variant;

static void
variant_free (Variant *variant)
{
  g_clear_pointer (&variant->executable, ir_executable_free);
  g_array_unref (variant->samples);
  g_array_unref (variant->ratios);
  g_free (variant);
}

/* name -> gint64 *, of --dim. */
static GHashTable *
bindings_of_dims (void)
{
  GHashTable *bindings = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);

  for (guint i = 0; dims != NULL && dims[i] != NULL; i++)
    {
      char *equals = strrchr (dims[i], '=');
      gint64 size = equals != NULL ? g_ascii_strtoll (equals + 1, NULL, 10) : 0;

      if (size > 0)
        g_hash_table_insert (bindings, g_strndup (dims[i], (gsize) (equals - dims[i])),
                             g_memdup2 (&size, sizeof size));
    }
  return bindings;
}

/* Input id -> IrTensor, of --input; NULL with an error, or where there is none. */
static GHashTable *
read_inputs (const IrModel *model, GError **error)
{
  g_autoptr (GHashTable)
      inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);

  for (guint i = 0; given != NULL && given[i] != NULL; i++)
    {
      const char *equals = strrchr (given[i], '=');
      g_autofree char *name = equals != NULL ? g_strndup (given[i], (gsize) (equals - given[i]))
                                             : NULL;
      const IrValue *value = name != NULL ? ir_graph_find_value (model->main, name) : NULL;
      IrTensor *tensor;

      if (value == NULL)
        {
          g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                       "--input %s: needs NAME=FILE, and NAME to be an input", given[i]);
          return NULL;
        }
      if ((tensor = ir_tensor_load (equals + 1, error)) == NULL)
        return NULL;
      g_hash_table_insert (inputs, GUINT_TO_POINTER (value->id), tensor);
    }
  return given != NULL ? g_steal_pointer (&inputs) : NULL;
}

/* @name: (nullable): a pipeline; @inputs: made for the first variant, and given to all. */
static Variant *
variant_new (const char *file, const char *name, GHashTable **inputs, GError **error)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = ir_model_load (file, problems, NULL, error);
  IrPipelineOptions how = { .max_class = IR_CLASS_ROUNDING, .backend = ir_backend_find ("cpu") };
  IrRunOptions options = { .n_threads = (guint) n_threads };
  Variant *variant;

  if (model == NULL)
    return NULL;
  if (*inputs == NULL && given != NULL && (*inputs = read_inputs (model, error)) == NULL)
    return NULL;
  if (*inputs == NULL)
    {
      g_autoptr (GHashTable) bindings = bindings_of_dims ();
      *inputs = ir_random_inputs (model, 1, bindings, error);
      if (*inputs == NULL)
        return NULL;
    }
  if (name != NULL)
    {
      g_autoptr (IrPipeline) pipeline = ir_pipeline_load (name, error);
      if (pipeline == NULL || !ir_pipeline_run (model, pipeline, &how, NULL, NULL, error))
        return NULL;
    }
  variant = g_new0 (Variant, 1);
  variant->name = name;
  variant->n_nodes = ir_model_n_counted_nodes (model);
  variant->samples = g_array_new (FALSE, FALSE, sizeof (double));
  variant->ratios = g_array_new (FALSE, FALSE, sizeof (double));
  variant->executable = ir_executable_new (model, &options, error);
  if (variant->executable != NULL)
    return variant;
  variant_free (variant);
  return NULL;
}

static double
now_ms (void)
{
  struct timespec now;

  clock_gettime (processor ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

/* The mean of @n_runs runs, in milliseconds. */
static gboolean
sample (Variant *variant, GHashTable *inputs, guint n_runs, GError **error)
{
  double start_ms = now_ms ();

  for (guint i = 0; i < n_runs; i++)
    {
      g_autoptr (IrRun) run = ir_executable_run (variant->executable, inputs, NULL, NULL, error);
      if (run == NULL)
        return FALSE;
    }
  variant->ms = (now_ms () - start_ms) / n_runs;
  return TRUE;
}

static gboolean
measure (GPtrArray *variants, GHashTable *inputs, GError **error)
{
  Variant *plain = variants->pdata[0];
  guint n_runs;

  for (guint i = 0; i < variants->len * 2; i++) /* the second time nothing is prepared any more */
    if (!sample (variants->pdata[i % variants->len], inputs, N_WARMUP, error))
      return FALSE;
  n_runs = (guint) CLAMP (MIN_MS / MAX (plain->ms, 1e-3), 1, 1000);
  for (gint round = 0; round < n_pairs; round++)
    {
      for (guint i = 0; i < variants->len; i++)
        if (!sample (variants->pdata[round % 2 == 0 ? i : variants->len - 1 - i], inputs, n_runs,
                     error))
          return FALSE;
      for (guint i = 0; i < variants->len; i++)
        {
          Variant *variant = variants->pdata[i];
          double ratio = variant->ms / plain->ms;
          g_array_append_val (variant->samples, variant->ms);
          g_array_append_val (variant->ratios, ratio);
        }
    }
  return TRUE;
}

/* Whether one has made it slower. */
static gboolean
report (const char *file, const GPtrArray *variants)
{
  g_autofree char *name = g_path_get_basename (file);
  const Variant *plain = variants->pdata[0];
  gboolean slower = FALSE;

  for (guint i = 1; i < variants->len; i++)
    {
      const Variant *variant = variants->pdata[i];
      IrTimes before = ir_times (plain->samples), after = ir_times (variant->samples),
              ratios = ir_times (variant->ratios);

      printf ("%-32s %-10s %5u -> %5u nodes  %9.4f -> %9.4f ms  %.3f (%.3f to %.3f)%s\n", name,
              variant->name, plain->n_nodes, variant->n_nodes, before.median, after.median,
              ratios.median, ratios.q1, ratios.q3, ratios.q1 > SLOWER ? "  slower" : "");
      slower = slower || ratios.q1 > SLOWER;
    }
  fflush (stdout);
  return slower;
}

static gboolean
measure_file (const char *file, char **pipelines, gboolean *slower, GError **error)
{
  g_autoptr (GPtrArray) variants = g_ptr_array_new_with_free_func ((GDestroyNotify) variant_free);
  g_autoptr (GHashTable) inputs = NULL;

  for (guint i = 0; i == 0 || pipelines[i - 1] != NULL; i++)
    {
      Variant *variant = variant_new (file, i == 0 ? NULL : pipelines[i - 1], &inputs, error);
      if (variant == NULL)
        return FALSE;
      g_ptr_array_add (variants, variant);
    }
  if (!measure (variants, inputs, error))
    return FALSE;
  *slower = report (file, variants) || *slower;
  return TRUE;
}

int
main (int argc, char **argv)
{
  ir_threads_limit_spinning (argv);
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_auto (GStrv) pipelines = NULL;
  g_autoptr (GError) error = NULL;
  gboolean slower = FALSE, failed = FALSE;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || files == NULL || n_pairs < 1 ||
      n_threads < 1)
    {
      g_printerr ("bench-pipelines: %s\n",
                  error != NULL ? error->message : "needs files, pairs and threads of 1 or more");
      return 2;
    }
  pipelines = g_strsplit (pipeline_names != NULL ? pipeline_names : "basic,default", ",", -1);
  for (guint i = 0; files[i] != NULL; i++)
    {
      g_autoptr (GError) problem = NULL;
      if (!measure_file (files[i], pipelines, &slower, &problem))
        {
          g_printerr ("bench-pipelines: %s: %s\n", files[i], problem->message);
          failed = TRUE;
        }
    }
  return failed || (check && slower) ? 1 : 0;
}
