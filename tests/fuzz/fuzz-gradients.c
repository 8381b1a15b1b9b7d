/* The fuzzer of derivatives: random programs with control flow (gradient-gen.h), in double on the
 * reference kernels. Backwards by the pass gradient, forwards by the pass tangent, and by differences
 * of the program itself: the slope along one random direction is the same, and stays so when the
 * derived graph goes through the passes of the default pipeline, which every second one does.
 *
 *   fuzz-gradients [--from SEED] [--graphs N] [--keep-going] [--results FILE]
 *   fuzz-gradients --from SEED --graphs 1     one program again, as the report of a finding says
 *
 * Where shapes are lost in sequences, rules that need a rank refuse by name, which is counted. Programs
 * run in child processes, so that a crash is a finding like any other. Of a finding, as many
 * statements are left out as it stays without. With --results, what was tried is appended to FILE,
 * and seeds go on where its last line ends. */
#include "config.h"

#include "core/exec/exec.h"
#include "core/io/io.h"
#include "passes/pipeline/pipeline.h"
#include "tests/fuzz/child.h"
#include "tests/fuzz/gradient-gen.h"

#include <glib/gstdio.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIAL_SECONDS     60
#define PROGRAMS_A_CHILD  500
#define PASSES_EACH       2 /* programs: passes take longer than all else */
#define MAX_FINDINGS      3
#define STEP              1e-5
#define MODES_AGREE       1e-9 /* of the sum of all terms */
#define DIFFERENCES_AGREE 1e-5
#define TOO_LARGE         1e6 /* what is larger says nothing */

typedef struct
{
  ChildState state;
  guint64 tried, nodes, kinks, too_large, refused;
} Shared;

typedef struct
{
  Shared *shared;
  guint32 first_seed;
  guint64 end;
  gboolean keep_going;
} Fuzzer;

/* -- one program -- */

typedef struct
{
  guint32 seed;
  IrTensor *inputs[4]; /* a, b, and the direction of each */
  gboolean kink, too_large, refused;
  guint nodes;
} Trial;

static void
trial_init (Trial *trial, guint32 seed)
{
  static const gint64 dims[] = { 2, 3 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed ^ 0x9e3779b9);

  memset (trial, 0, sizeof *trial);
  trial->seed = seed;
  for (guint i = 0; i < G_N_ELEMENTS (trial->inputs); i++)
    {
      const gboolean wide = i % 2 == 0;
      trial->inputs[i] = ir_tensor_new_alloc (IR_DTYPE_DOUBLE, wide ? 2 : 1, wide ? dims : dims + 1,
                                              NULL);
      double *numbers = ir_tensor_data_writable (trial->inputs[i]);
      for (guint k = 0; k < (wide ? 6 : 3); k++)
        numbers[k] = g_rand_double_range (rand, -1.2, 1.2);
    }
}

static void
trial_clear (Trial *trial)
{
  for (guint i = 0; i < G_N_ELEMENTS (trial->inputs); i++)
    ir_tensor_unref (trial->inputs[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Trial, trial_clear)

/* (transfer full) (nullable) Where a and b are moved by @step */
static IrRun *
run_at (const Trial *trial, IrModel *model, double step, GError **error)
{
  g_autoptr (GHashTable)
      inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  const IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };

  for (guint i = 0; i < G_N_ELEMENTS (trial->inputs); i++)
    {
      const IrTensor *at = trial->inputs[i];
      IrTensor *tensor = ir_tensor_new_copy (IR_DTYPE_DOUBLE, ir_tensor_rank (at),
                                             ir_tensor_dims (at), ir_tensor_data (at));
      double *numbers = ir_tensor_data_writable (tensor);
      for (guint64 k = 0; i < 2 && k < ir_tensor_n_elements (at); k++)
        numbers[k] += step * ir_tensor_get_double (trial->inputs[2 + i], k);
      g_hash_table_insert (inputs, GUINT_TO_POINTER (ir_graph_input (model->main, i)->id), tensor);
    }
  return ir_model_run (model, inputs, &options, NULL, error);
}

static gboolean
loss_at (const Trial *trial, IrModel *model, double step, double *loss, GError **error)
{
  g_autoptr (IrRun) run = run_at (trial, model, step, error);

  if (run != NULL)
    *loss = ir_tensor_get_double (ir_run_value (run, ir_graph_output (model->main, 0)->id), 0);
  return run != NULL;
}

static gboolean
pass (IrModel *model, IrPipeline *pipeline, IrClass most, GError **error)
{
  const IrPipelineOptions options = { .max_class = most, .verify = TRUE };

  return pipeline != NULL && ir_pipeline_run (model, pipeline, &options, NULL, NULL, error);
}

static gboolean
derive (IrModel *model, GError **error)
{
  static const char *const names[] = { "gradient", "tangent", NULL };
  static const char *const settings[] = { "gradient.of=loss", "gradient.wrt=a,b", "tangent.of=loss",
                                          "tangent.wrt=a,b", "tangent.tangent=ta,tb" };
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, error);

  for (guint i = 0; i < G_N_ELEMENTS (settings); i++)
    if (!ir_pipeline_set (pipeline, settings[i], error))
      return FALSE;
  return pass (model, pipeline, IR_CLASS_EXACT, error);
}

/* The slope along the direction, backwards and forwards; @terms: sum of magnitudes */
static gboolean
slopes_of (const Trial *trial,
           IrModel *model,
           double *backward,
           double *forward,
           double *terms,
           GError **error)
{
  g_autoptr (IrRun) run = run_at (trial, model, 0, error);

  *backward = *terms = 0;
  for (guint i = 0; run != NULL && i < 2; i++)
    {
      const IrTensor *gradient = ir_run_value (run, ir_graph_output (model->main, 1 + i)->id);
      for (guint64 k = 0; k < ir_tensor_n_elements (gradient); k++)
        {
          double term = ir_tensor_get_double (gradient, k) *
                        ir_tensor_get_double (trial->inputs[2 + i], k);
          *backward += term;
          *terms += fabs (term);
        }
    }
  if (run != NULL)
    *forward = ir_tensor_get_double (ir_run_value (run, ir_graph_output (model->main, 3)->id), 0);
  return run != NULL;
}

/* Smaller steps where a kink may lie within one. (transfer full) (nullable): what differs */
static char *
compare_differences (Trial *trial, IrModel *model, double slope, double terms, GError **error)
{
  double at, before = 0, behind = 0, numeric = 0, left = 0, right = 0;

  if (!loss_at (trial, model, 0, &at, error))
    return NULL;
  for (double step = STEP; step >= STEP * 1e-2; step *= 1e-1)
    {
      if (!loss_at (trial, model, -step, &before, error) ||
          !loss_at (trial, model, step, &behind, error))
        return NULL;
      numeric = (behind - before) / (2 * step);
      left = (at - before) / step;
      right = (behind - at) / step;
      if (fabs (numeric - slope) <= DIFFERENCES_AGREE * MAX (terms, 1))
        return NULL;
    }
  trial->kink = fabs (right - left) > 1e-4 * MAX (terms, 1);
  return trial->kink ? NULL
                     : g_strdup_printf ("differences: %.12g, derived %.12g (left %.9g, right %.9g)",
                                        numeric, slope, left, right);
}

/* (transfer full) (nullable): what is wrong with the model in @text */
static char *
check_text (Trial *trial, const char *text, GError **error)
{
  g_autoptr (IrModel) model = ir_text_read (text, -1, NULL, error);
  g_autoptr (IrModel) derived = NULL;
  g_autoptr (IrPipeline) pipeline = NULL;
  double backward, forward, terms, again, again_forward;
  char *found;

  if (model == NULL)
    return NULL;
  derived = ir_model_clone (model);
  if (!derive (derived, error) || !slopes_of (trial, derived, &backward, &forward, &terms, error))
    return NULL;
  trial->nodes = ir_model_n_nodes (derived);
  trial->too_large = !(terms <= TOO_LARGE);
  if (trial->too_large)
    return NULL;
  if (!(fabs (backward - forward) <= MODES_AGREE * MAX (terms, 1)))
    return g_strdup_printf ("modes: %.17g backwards, %.17g forwards", backward, forward);
  found = compare_differences (trial, model, backward, terms, error);
  if (found != NULL || (error != NULL && *error != NULL) || trial->seed % PASSES_EACH != 0)
    return found;
  pipeline = ir_pipeline_load ("default", error);
  if (pipeline == NULL || !pass (derived, pipeline, IR_CLASS_ROUNDING, error) ||
      !slopes_of (trial, derived, &again, &again_forward, &terms, error))
    return NULL;
  if (!(fabs (again - backward) <= MODES_AGREE * MAX (terms, 1) &&
        fabs (again_forward - forward) <= MODES_AGREE * MAX (terms, 1)))
    return g_strdup_printf (
        "passes: %.17g backwards and %.17g forwards, after them %.17g and %.17g", backward, forward,
        again, again_forward);
  return NULL;
}

static char *
check (Trial *trial, const GradientProgram *program)
{
  g_autofree char *text = gradient_program_text (program);
  g_autoptr (GError) error = NULL;
  char *found = check_text (trial, text, &error);

  trial->refused = error != NULL && (strstr (error->message, "not known") != NULL ||
                                     strstr (error->message, "no sequences of sequences") != NULL);
  return error == NULL || trial->refused ? found : g_strdup_printf ("error: %s", error->message);
}

/* -- children -- */

static int
run_trials (gpointer data)
{
  const Fuzzer *fuzzer = data;
  Shared *shared = fuzzer->shared;
  guint64 *position = &shared->state.position;
  const guint64 end = MIN (fuzzer->end, *position + PROGRAMS_A_CHILD);

  for (; *position < end; ++*position)
    {
      g_auto (Trial) trial = { 0 };
      trial_init (&trial, fuzzer->first_seed + (guint32) *position);
      g_autoptr (GradientProgram) program = gradient_program_new (trial.seed);
      alarm (TRIAL_SECONDS);
      g_autofree char *found = check (&trial, program);
      shared->tried++;
      shared->nodes += trial.nodes;
      shared->kinks += trial.kink;
      shared->too_large += trial.too_large;
      shared->refused += trial.refused;
      if (found == NULL)
        continue;
      g_strlcpy (shared->state.message, found, sizeof shared->state.message);
      return 1;
    }
  alarm (0);
  shared->state.ended = TRUE;
  return 0;
}

static gboolean
goes_on (gpointer data, guint n_findings)
{
  const Fuzzer *fuzzer = data;

  return fuzzer->shared->state.position < fuzzer->end &&
         (n_findings < MAX_FINDINGS || fuzzer->keep_going);
}

/* -- what is left of a finding -- */

typedef struct
{
  Shared *shared;
  guint32 seed;
  GradientProgram *program;
} Shrinking;

static int
check_again (gpointer data)
{
  const Shrinking *shrinking = data;
  g_auto (Trial) trial = { 0 };

  trial_init (&trial, shrinking->seed);
  alarm (TRIAL_SECONDS);
  g_autofree char *found = check (&trial, shrinking->program);
  g_strlcpy (shrinking->shared->state.message, found != NULL ? found : "",
             sizeof shrinking->shared->state.message);
  return 0;
}

/* "differences", "modes", "passes", the end of an error, or how it died */
static char *
kind_of (const char *message, int status)
{
  const char *last = strrchr (message, ':');

  if (g_str_has_prefix (message, "error:"))
    return g_strdup (last);
  return message[0] != '\0' ? g_strndup (message, strcspn (message, ":"))
                            : g_strdup_printf ("status %d", status);
}

static void
report (gpointer data, int status)
{
  const Fuzzer *fuzzer = data;
  Shared *shared = fuzzer->shared;
  const guint32 seed = fuzzer->first_seed + (guint32) shared->state.position;
  g_autoptr (GradientProgram) program = gradient_program_new (seed);
  Shrinking shrinking = { shared, seed, program };
  g_autofree char *message = g_strdup (shared->state.message), *kind = kind_of (message, status);

  for (guint i = 0; i < gradient_program_n (program); i++)
    {
      gradient_program_drop (program, i, TRUE);
      shared->state.message[0] = '\0';
      int again = child_run (check_again, &shrinking, TRUE);
      g_autofree char *same = kind_of (shared->state.message, again);
      if (strcmp (same, kind) != 0)
        gradient_program_drop (program, i, FALSE);
    }
  g_autofree char *text = gradient_program_text (program);
  fprintf (stderr, "\n%s\nagain by --from %u --graphs 1; what is left of it:\n%s\n",
           message[0] != '\0' ? message : kind, seed, text);
}

/* -- the program -- */

/* The seed behind the last line of the file; @otherwise where there is none. */
static gint64
next_seed (const char *path, gint64 otherwise)
{
  g_autofree char *text = NULL;
  const char *last;

  if (path == NULL || !g_file_get_contents (path, &text, NULL, NULL))
    return otherwise;
  last = g_strrstr (g_strchomp (text), "next seed ");
  return last != NULL ? g_ascii_strtoll (last + strlen ("next seed "), NULL, 10) : otherwise;
}

static gboolean
append_results (const char *path, const char *line)
{
  FILE *file = g_fopen (path, "a");
  gboolean done = file != NULL && fputs (line, file) >= 0;

  return file != NULL && fclose (file) == 0 && done;
}

int
main (int argc, char **argv)
{
  gint graphs = 1000;
  gint64 from = -1;
  gboolean keep_going = FALSE;
  g_autofree char *results = NULL;
  const GOptionEntry entries[] = {
    { "from", 0, 0, G_OPTION_ARG_INT64, &from,
      "First seed (default 1, or where the file of results ends)", "SEED" },
    { "graphs", 0, 0, G_OPTION_ARG_INT, &graphs, "How many (default 1000)", "N" },
    { "keep-going", 0, 0, G_OPTION_ARG_NONE, &keep_going, "Do not stop at the third finding",
      NULL },
    { "results", 0, 0, G_OPTION_ARG_FILENAME, &results, "Append what was tried to FILE", "FILE" },
    G_OPTION_ENTRY_NULL
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;

  setlocale (LC_ALL, "C.UTF-8");
  g_log_set_always_fatal ((GLogLevelFlags) (G_LOG_LEVEL_CRITICAL | G_LOG_FATAL_MASK));
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      fprintf (stderr, "fuzz-gradients: %s\n", error->message);
      return 2;
    }
  Shared *shared = child_share (sizeof *shared);
  if (shared == NULL)
    return 3;
  Fuzzer fuzzer = { .shared = shared,
                    .first_seed = (guint32) (from >= 0 ? from : next_seed (results, 1)),
                    .end = (guint64) MAX (graphs, 0),
                    .keep_going = keep_going };
  const ChildLoop loop = { &shared->state, &fuzzer, goes_on, run_trials, report };
  const guint n_findings = child_loop (&loop);
  g_autofree char *line = g_strdup_printf (
      "%" G_GUINT64_FORMAT " programs from seed %u on, %" G_GUINT64_FORMAT
      " nodes derived; %" G_GUINT64_FORMAT " at kinks, %" G_GUINT64_FORMAT
      " too large, %" G_GUINT64_FORMAT " refused; %u findings; next seed %" G_GUINT64_FORMAT "\n",
      shared->tried, fuzzer.first_seed, shared->nodes, shared->kinks, shared->too_large,
      shared->refused, n_findings, fuzzer.first_seed + shared->state.position);
  printf ("# %s1..1\n%s 1 - random programs say the same backwards, forwards and by differences\n",
          line, n_findings == 0 ? "ok" : "not ok");
  if (results != NULL && !append_results (results, line))
    {
      fprintf (stderr, "fuzz-gradients: %s cannot be written\n", results);
      return 3;
    }
  return n_findings == 0 ? 0 : 1;
}
