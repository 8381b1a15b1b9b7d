/* The fuzzer of the optimizer. Random models (pass-trial.h) go through random pipelines; what comes
 * out must be sound, compute the same on the reference back end, and be undone, redone, cloned,
 * written and read back without a difference.
 *
 *   fuzz-passes [--graphs N] [--seconds N] [--seed FIRST] [--keep-going] [--verbose]
 *   fuzz-passes --seed N --graphs 1          one trial again, as the report of a finding says
 *
 * With rules of the class exact only, outputs must agree bit for bit, for NaN, infinities, -0 and
 * denormals too. With rounding ones, outputs may differ by what they differ by when every value of
 * the original is disturbed by a few units in its last place; trials where a value of the original
 * leaves the normal range are only checked for soundness, as are the unsafe ones.
 *
 * Trials run in child processes, so that a crash is a finding like any other. A finding is shrunk:
 * passes are dropped, outputs are dropped, and nodes are cut out, as long as it stays. */
#include "config.h"

#include "core/io/io.h"
#include "core/ir/dump.h"
#include "core/ir/verify.h"
#include "passes/pipeline.h"
#include "passes/rule.h"
#include "tests/fuzz/pass-trial.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIAL_SECONDS    20
#define TRIALS_PER_CHILD 500
#define MAX_FINDINGS     3
#define MAX_RULES        1024
#define N_DISTURBED      3

typedef enum
{
  JUDGED_EXACT,
  JUDGED_ROUNDING,
  JUDGED_SOUND, /* contents are not compared */
  REJECTED,     /* the original does not run */
  N_JUDGEMENTS
} Judgement;

typedef struct
{
  guint64 position; /* of the trial that runs */
  gboolean ended;
  guint64 n[N_JUDGEMENTS], n_steps;
  guint64 n_of_rule[MAX_RULES]; /* how often each took a step, in the order of the passes' rows */
  char message[2048];
} Shared;

typedef struct
{
  IrModel *original;
  GPtrArray *passes; /* of const IrPass */
  guint max_iterations;
  IrClass max_class;
  gint64 n;
  guint32 seed;
} Trial;

static void
trial_clear (Trial *trial)
{
  g_clear_pointer (&trial->original, ir_model_unref);
  g_clear_pointer (&trial->passes, g_ptr_array_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Trial, trial_clear)

/* -- making a trial -- */

static void
choose_passes (Trial *trial, GRand *rand)
{
  static const char *const named[] = { "default", "deploy", "canonical" };
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  trial->passes = g_ptr_array_new ();
  trial->max_iterations = 8;
  if (g_rand_int_range (rand, 0, 3) == 0)
    {
      g_autoptr (IrPipeline)
          pipeline = ir_pipeline_load (named[g_rand_int_range (rand, 0, 3)], NULL);
      g_ptr_array_extend (trial->passes, pipeline->passes, NULL, NULL);
      trial->max_iterations = pipeline->max_iterations;
      return;
    }
  for (guint i = 0; i < n; i++)
    if (strcmp (passes[i]->name, IR_PASS_UPGRADE_OPSET) != 0 || g_rand_int_range (rand, 0, 8) == 0)
      g_ptr_array_insert (trial->passes, g_rand_int_range (rand, 0, (gint) trial->passes->len + 1),
                          (gpointer) passes[i]);
  if (g_rand_boolean (rand))
    g_ptr_array_set_size (trial->passes, g_rand_int_range (rand, 1, (gint) n));
}

static void
trial_init (Trial *trial, guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed ^ 0x5eed);
  guint kind = (guint) g_rand_int_range (rand, 0, 10);

  trial->seed = seed;
  trial->max_class = kind < 5 ? IR_CLASS_EXACT : kind < 9 ? IR_CLASS_ROUNDING : IR_CLASS_UNSAFE;
  trial->original = pass_trial_model (seed, 1 + (guint) g_rand_int_range (rand, 0, 7),
                                      trial->max_class == IR_CLASS_ROUNDING, &trial->n);
  choose_passes (trial, rand);
}

static int
compare_lines (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static char *
steps_text (IrModel *model, gboolean reasons)
{
  GString *text = g_string_new (NULL);

  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    {
      const IrStep *step = ir_history_step (model, i);
      const IrNode *anchor = ir_model_node (model, step->anchor);
      const char *label = anchor == NULL ? "the graph" : anchor->op_type;

      g_string_append_printf (text, "  %s %s at %s: %s\n", ir_history_pass_of (model, i),
                              step->rule, label,
                              reasons && step->reason != NULL ? step->reason : "");
    }
  return g_string_free (text, FALSE);
}

/* The steps without ids and names, which copies number anew, and in an order of their own, as that
 * of subgraphs may be another in a file. How dead nodes share steps depends on that order, too, so
 * those are told by what is left. */
static char *
sorted_steps (IrModel *model)
{
  g_autofree char *text = steps_text (model, FALSE);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  GString *sorted = g_string_new (NULL);

  qsort (lines, g_strv_length (lines), sizeof *lines, compare_lines);
  for (guint i = 0; lines[i] != NULL; i++)
    if (strstr (lines[i], "eliminate-dead-code") == NULL)
      g_string_append_printf (sorted, "%s\n", lines[i]);
  g_string_append_printf (sorted, "%u nodes left", ir_model_n_counted_nodes (model));
  return g_string_free (sorted, FALSE);
}

/* -- soundness -- */

static char *
first_error (GPtrArray *problems, const char *what)
{
  for (guint i = 0; i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];
      if (problem->severity == IR_SEVERITY_ERROR)
        return g_strdup_printf ("%s: %s", what, problem->message);
    }
  return NULL;
}

/* What contradicts a type is wrong here, though only a warning elsewhere. */
static void
infer_check_strictly (IrModel *model, GPtrArray *problems)
{
  g_autoptr (GPtrArray) found = ir_problems_new ();

  ir_infer_check (model, found);
  for (guint i = 0; i < found->len; i++)
    {
      const IrProblem *problem = found->pdata[i];
      if (problem->code == IR_PROBLEM_TYPE_MISMATCH || problem->code == IR_PROBLEM_SHAPE_MISMATCH)
        ir_problems_add (problems, IR_SEVERITY_ERROR, problem->code, NULL, NULL, "%s",
                         problem->message);
    }
}

static char *
verify (IrModel *model, const char *what)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  ir_verify_structure (model, problems);
  ir_verify_nodes (model, problems);
  if (problems->len == 0)
    infer_check_strictly (model, problems);
  return first_error (problems, what);
}

static char *
optimize (const Trial *trial, IrModel *model, const char *what, guint *n_steps)
{
  IrPipeline pipeline = { (char *) "fuzz", (char *) "", (char *) "", trial->passes,
                          trial->max_iterations };
  IrPipelineOptions options = { .max_class = trial->max_class, .verify = TRUE };
  g_autoptr (GError) error = NULL;
  IrPipelineResult result = { 0 };

  if (!ir_pipeline_run (model, &pipeline, &options, &result, NULL, &error))
    return g_strdup_printf ("%s: pipeline: %s", what, error->message);
  if (result.reached_limit)
    return g_strdup_printf ("%s: limit: the passes do not come to an end", what);
  if (n_steps != NULL)
    *n_steps = result.n_steps;
  return NULL;
}

/* -- contents -- */

static IrRun *
run (IrModel *model, GHashTable *inputs, GError **error)
{
  IrRunOptions options = { .backend = ir_backend_find ("ref"),
                           .n_threads = 1,
                           .capture = IR_CAPTURE_ALL,
                           .memory_limit = 64 << 20,
                           .output_limit = 8 << 20 };
  return ir_model_run (model, inputs, &options, NULL, error);
}

static double
epsilon_of (IrDtype dtype)
{
  return dtype == IR_DTYPE_DOUBLE     ? 0x1p-50
         : dtype == IR_DTYPE_FLOAT    ? 0x1p-22
         : dtype == IR_DTYPE_BFLOAT16 ? 0x1p-6
                                      : 0x1p-9;
}

/* Whether all that was computed lies in the range where rounding is relative. */
static gboolean
in_normal_range (IrRun *captured)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, captured->values);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      const IrTensor *tensor = value;
      if (ir_tensor_is_container (tensor) || !ir_dtype_is_float (ir_tensor_dtype (tensor)))
        continue;
      gboolean half = ir_tensor_dtype (tensor) == IR_DTYPE_FLOAT16;
      double least = half ? 0x1p-9 : 0x1p-90, most = half ? 0x1p12 : 0x1p90;
      for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
        {
          double x = fabs (ir_tensor_get_double (tensor, i));
          if (!isfinite (x) || x > most || (x != 0 && x < least))
            return FALSE;
        }
    }
  return TRUE;
}

static IrTensor *
disturbed_tensor (const IrTensor *tensor, GRand *rand, gboolean factor)
{
  IrDtype dtype = ir_tensor_dtype (tensor);
  IrTensor *copy = ir_tensor_new_alloc (dtype, ir_tensor_rank (tensor), ir_tensor_dims (tensor),
                                        NULL);

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      double by = 1 + (g_rand_boolean (rand) ? 1 : -1) * epsilon_of (dtype);
      ir_dtype_set_double (dtype, ir_tensor_data_writable (copy), i,
                           (factor ? 1 : ir_tensor_get_double (tensor, i)) * by);
    }
  return copy;
}

static gboolean
may_be_disturbed (const IrTensor *tensor)
{
  return tensor != NULL && !ir_tensor_is_container (tensor) &&
         ir_dtype_is_float (ir_tensor_dtype (tensor)) && ir_tensor_n_elements (tensor) > 0;
}

/* Behind every node of the main graph each float output is multiplied by numbers next to 1. */
static IrModel *
disturbed_model (IrModel *original, IrRun *captured, GRand *rand)
{
  IrModel *model = ir_model_clone (original);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (model->main);
  guint n_values = model->values->len;

  for (guint i = 0; i < nodes->len; i++)
    {
      const IrNode *node = nodes->pdata[i];
      for (guint k = 0; k < node->n_outputs; k++)
        {
          IrValue *value = node->outputs[k];
          const IrTensor *tensor = value != NULL ? ir_run_value (captured, value->id) : NULL;
          if (!may_be_disturbed (tensor) || value->n_uses == 0 || ir_node_is (node, "Constant"))
            continue;
          g_autoptr (IrTensor) factor = disturbed_tensor (tensor, rand, TRUE);
          IrValue *in[] = { value, ir_edit_add_initializer (edit, model->main, NULL, factor) };
          IrNode *mul = ir_edit_add_node (edit, model->main, "Mul", "", "", 2, in, 1);
          ir_edit_replace_uses (edit, value, mul->outputs[0]);
          ir_edit_set_input (edit, mul, 0, value);
        }
    }
  for (guint i = 1; i < n_values; i++)
    {
      IrValue *value = model->values->pdata[i];
      if (value->state != IR_STATE_LIVE || value->initializer == NULL ||
          !may_be_disturbed (value->initializer) || ir_tensor_n_elements (value->initializer) == 1)
        continue;
      g_autoptr (IrTensor) tensor = disturbed_tensor (value->initializer, rand, FALSE);
      ir_edit_set_initializer (edit, value, tensor);
    }
  return model;
}

static GHashTable *
disturbed_inputs (GHashTable *inputs, GRand *rand)
{
  GHashTable *copy = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  GHashTableIter iter;
  gpointer key, value;

  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &key, &value))
    g_hash_table_insert (copy, key,
                         may_be_disturbed (value) ? disturbed_tensor (value, rand, FALSE)
                                                  : ir_tensor_ref (value));
  return copy;
}

/* Several runs of the original with small disturbances; NULL if one of them fails. */
static GPtrArray *
disturbed_runs (const Trial *trial, GHashTable *inputs, IrRun *captured, GPtrArray *models)
{
  g_autoptr (GPtrArray) runs = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_run_unref);
  g_autoptr (GRand) rand = g_rand_new_with_seed (trial->seed);

  for (guint i = 0; i < N_DISTURBED; i++)
    {
      IrModel *model = disturbed_model (trial->original, captured, rand);
      g_autoptr (GHashTable) changed = disturbed_inputs (inputs, rand);
      IrRun *result;

      g_ptr_array_add (models, model);
      result = run (model, changed, NULL);
      if (result == NULL)
        return NULL;
      g_ptr_array_add (runs, result);
    }
  return g_steal_pointer (&runs);
}

static char *
differs (const char *name, guint64 i, double wanted, double found)
{
  return g_strdup_printf ("differs: %s[%" G_GUINT64_FORMAT "] is %.9g, was %.9g", name, i, found,
                          wanted);
}

static char *
compare_exactly (const char *name, const IrTensor *a, const IrTensor *b)
{
  if (ir_dtype_kind (ir_tensor_dtype (a)) == IR_DTYPE_KIND_STRING || ir_tensor_is_container (a))
    return ir_tensor_equal (a, b) ? NULL : g_strdup_printf ("differs: %s", name);
  for (guint64 i = 0; i < ir_tensor_n_elements (a); i++)
    {
      double x = ir_tensor_get_double (a, i), y = ir_tensor_get_double (b, i);
      if (isnan (x) ? !isnan (y) : x != y || signbit (x) != signbit (y))
        return differs (name, i, x, y);
    }
  return NULL;
}

/* @disturbed: the same tensor of the disturbed runs */
static char *
compare_roughly (const char *name, const IrTensor *a, const IrTensor *b, IrTensor **disturbed)
{
  guint64 n = ir_tensor_n_elements (a);
  g_autofree double *spread = g_new0 (double, n + 1);
  double mean = 0, scale = 0, epsilon = epsilon_of (ir_tensor_dtype (a));

  for (guint k = 0; k < N_DISTURBED; k++)
    if (disturbed[k] == NULL || ir_tensor_n_elements (disturbed[k]) != n)
      return NULL;
  for (guint64 i = 0; i < n; i++)
    {
      double x = ir_tensor_get_double (a, i);
      for (guint k = 0; k < N_DISTURBED; k++)
        spread[i] = fmax (spread[i], fabs (ir_tensor_get_double (disturbed[k], i) - x));
      mean += spread[i] / (double) n;
      scale = fmax (scale, fabs (x));
    }
  if (!isfinite (mean) || mean > 0.01 * scale) /* too sensitive to say anything */
    return NULL;
  if (!ir_dtype_is_float (ir_tensor_dtype (a)))
    return mean > 0 ? NULL : compare_exactly (name, a, b);
  for (guint64 i = 0; i < n; i++)
    {
      double x = ir_tensor_get_double (a, i), y = ir_tensor_get_double (b, i);
      if (!(fabs (x - y) <= 64 * spread[i] + 32 * mean + 8 * epsilon * (fabs (x) + scale)))
        return differs (name, i, x, y);
    }
  return NULL;
}

static gboolean
same_form (const IrTensor *a, const IrTensor *b)
{
  return ir_tensor_is_container (a) == ir_tensor_is_container (b) &&
         ir_tensor_dtype (a) == ir_tensor_dtype (b) && ir_tensor_rank (a) == ir_tensor_rank (b) &&
         (ir_tensor_rank (a) == 0 || memcmp (ir_tensor_dims (a), ir_tensor_dims (b),
                                             ir_tensor_rank (a) * sizeof (gint64)) == 0);
}

/* @runs: (nullable) of the original, disturbed: then small differences are allowed */
static char *
compare (const Trial *trial,
         IrRun *before,
         IrModel *model,
         IrRun *after,
         GPtrArray *models,
         GPtrArray *runs)
{
  const IrGraph *old = trial->original->main;

  if (ir_graph_n_outputs (old) != ir_graph_n_outputs (model->main))
    return g_strdup ("differs: the number of outputs");
  for (guint i = 0; i < ir_graph_n_outputs (old); i++)
    {
      const IrValue *a = ir_graph_output (old, i), *b = ir_graph_output (model->main, i);
      const IrTensor *x = ir_run_value (before, a->id), *y = ir_run_value (after, b->id);
      IrTensor *disturbed[N_DISTURBED] = { NULL };
      char *found;

      if (strcmp (a->name, b->name) != 0)
        return g_strdup_printf ("differs: the name of output %s is %s", a->name, b->name);
      if (x == NULL || y == NULL || !same_form (x, y))
        return g_strdup_printf ("differs: the type of %s", a->name);
      for (guint k = 0; runs != NULL && k < N_DISTURBED; k++)
        {
          const IrModel *changed = models->pdata[k];
          disturbed[k] = ir_run_value (runs->pdata[k], ir_graph_output (changed->main, i)->id);
        }
      found = runs == NULL ? compare_exactly (a->name, x, y)
                           : compare_roughly (a->name, x, y, disturbed);
      if (found != NULL)
        return found;
    }
  return NULL;
}

static char *
check_contents (
    const Trial *trial, IrModel *model, GHashTable *inputs, IrRun *before, Judgement *judgement)
{
  g_autoptr (GPtrArray) models = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_model_unref);
  g_autoptr (GPtrArray) runs = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) after = run (model, inputs, &error);

  if (after == NULL)
    return g_strdup_printf ("fails: what came out does not run: %s", error->message);
  *judgement = trial->max_class == IR_CLASS_EXACT ? JUDGED_EXACT : JUDGED_SOUND;
  if (trial->max_class == IR_CLASS_EXACT)
    return compare (trial, before, model, after, NULL, NULL);
  if (trial->max_class != IR_CLASS_ROUNDING || !in_normal_range (before) ||
      (runs = disturbed_runs (trial, inputs, before, models)) == NULL)
    return NULL;
  *judgement = JUDGED_ROUNDING;
  return compare (trial, before, model, after, models, runs);
}

/* -- the history, copies and files -- */

static char *
check_history (IrModel *model, const char *start)
{
  guint n = ir_history_n_steps (model);
  g_autofree char *end = ir_model_dump (model), *undone = NULL, *redone = NULL;
  char *found;

  ir_history_goto (model, 0);
  undone = ir_text_write (model);
  if (strcmp (undone, start) != 0)
    return g_strdup ("undo: step 0 is not the original");
  ir_history_goto (model, n / 2);
  found = verify (model, "half undone");
  if (found != NULL)
    return found;
  ir_history_goto (model, n);
  redone = ir_model_dump (model);
  return strcmp (redone, end) != 0 ? g_strdup ("redo: the end is not the same again") : NULL;
}

static IrModel *
written_and_read (IrModel *model, gboolean as_text, GError **error)
{
  IrModel *copy = NULL;

  if (as_text)
    {
      g_autofree char *text = ir_text_write (model);
      copy = ir_text_read (text, -1, NULL, error);
    }
  else
    {
      g_autoptr (GBytes) bytes = ir_onnx_write_bytes (model, error);
      copy = bytes != NULL ? ir_onnx_read_bytes (bytes, NULL, NULL, error) : NULL;
    }
  if (copy != NULL)
    {
      g_autoptr (IrEdit) edit = ir_edit_new_import (copy);
      ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
    }
  return copy;
}

/* The same passes over a copy take the same steps. */
static char *
check_copy (const Trial *trial, IrModel *copy, const char *steps, const char *what)
{
  char *found = optimize (trial, copy, what, NULL);
  g_autofree char *taken = sorted_steps (copy);

  if (found == NULL && strcmp (taken, steps) != 0)
    found = g_strdup_printf ("%s: takes other steps:\n%s", what, taken);
  return found;
}

/* Another order in the file may lead to another choice among rules, but not to other contents. */
static char *
check_shuffled (const Trial *trial, GHashTable *inputs, IrRun *before)
{
  g_autoptr (IrModel) model = ir_model_clone (trial->original);
  g_autoptr (GRand) rand = g_rand_new_with_seed (trial->seed);
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  Judgement judgement;
  char *found;

  for (guint i = 1; i < model->nodes->len; i++)
    if (ir_model_live_node (model, i) != NULL)
      ir_edit_set_rank (edit, model->nodes->pdata[i], (guint64) g_rand_int_range (rand, 1, 1000));
  g_clear_pointer (&edit, ir_edit_free);
  found = optimize (trial, model, "shuffled", NULL);
  if (found == NULL)
    found = verify (model, "shuffled");
  if (found == NULL)
    found = check_contents (trial, model, inputs, before, &judgement);
  return found;
}

/* A file brings the functions of irscope's own operators along, for that pass to inline. */
static gboolean
inlines_functions (const Trial *trial)
{
  for (guint i = 0; i < trial->passes->len; i++)
    if (strcmp (((const IrPass *) trial->passes->pdata[i])->name, "inline-functions") == 0)
      return TRUE;
  return FALSE;
}

static char *
check_copies (const Trial *trial, IrModel *model, GHashTable *inputs, IrRun *before)
{
  g_autofree char *steps = sorted_steps (model);
  g_autoptr (IrModel) clone = ir_model_clone (trial->original);
  g_autoptr (IrModel) copy = NULL;
  g_autoptr (GError) error = NULL;
  gboolean as_text = trial->seed % 2 == 0;
  const char *what = as_text ? "text" : "onnx";
  char *found = check_copy (trial, clone, steps, "clone");

  if (found != NULL)
    return found;
  copy = written_and_read (trial->original, as_text, &error);
  if (copy == NULL)
    return g_strdup_printf ("%s: cannot be read back: %s", what, error->message);
  if (!inlines_functions (trial))
    found = check_copy (trial, copy, steps, what);
  if (found == NULL)
    found = check_shuffled (trial, inputs, before);
  if (found != NULL)
    return found;
  g_autoptr (IrModel) again = written_and_read (model, !as_text, &error);
  if (again == NULL)
    return g_strdup_printf ("%s: what came out cannot be read back: %s", what, error->message);
  return verify (again, "what came out, read back");
}

/* -- which rules applied -- */

static void
count_rules (Shared *shared, const IrModel *model)
{
  guint n, at = 0, n_steps = ir_history_n_steps (model);
  const IrPass *const *passes = ir_passes (&n);

  for (guint i = 0; i < n; i++)
    {
      const IrRule *rule = passes[i]->rules != NULL ? passes[i]->rules
                                                    : passes[i]->documented_rules;
      for (; rule != NULL && rule->name != NULL && at < MAX_RULES; rule++, at++)
        for (guint k = 1; k <= n_steps; k++)
          shared->n_of_rule[at] += strcmp (ir_history_step (model, k)->rule, rule->name) == 0;
    }
}

static void
print_rules (const Shared *shared)
{
  guint n, at = 0;
  const IrPass *const *passes = ir_passes (&n);

  for (guint i = 0; i < n; i++)
    {
      const IrRule *rule = passes[i]->rules != NULL ? passes[i]->rules
                                                    : passes[i]->documented_rules;
      for (; rule != NULL && rule->name != NULL && at < MAX_RULES; rule++, at++)
        printf ("# %8" G_GUINT64_FORMAT "  %s %s\n", shared->n_of_rule[at], passes[i]->name,
                rule->name);
    }
}

/* What is wrong, or NULL: a word for the kind, a colon, and the rest. */
static char *
check (const Trial *trial, Judgement *judgement, guint *n_steps, char **steps, Shared *shared)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *wrong = verify (trial->original, "original"), *start = NULL;
  g_autoptr (GHashTable)
      inputs = pass_trial_inputs (trial->original, trial->n, trial->seed,
                                  trial->max_class == IR_CLASS_EXACT && trial->seed % 4);
  char *found;

  *judgement = REJECTED;
  if (wrong != NULL)
    return NULL;
  g_autoptr (IrRun) before = run (trial->original, inputs, &error);
  if (before == NULL)
    return NULL;
  g_autoptr (IrModel) model = ir_model_clone (trial->original);
  start = ir_text_write (model);
  *judgement = JUDGED_SOUND;
  found = optimize (trial, model, "first", n_steps);
  if (steps != NULL)
    *steps = steps_text (model, TRUE);
  if (shared != NULL)
    count_rules (shared, model);
  if (found == NULL)
    found = verify (model, "invalid");
  if (found == NULL)
    found = check_contents (trial, model, inputs, before, judgement);
  if (found == NULL)
    found = check_history (model, start);
  if (found == NULL)
    found = check_copies (trial, model, inputs, before);
  return found;
}

/* -- children -- */

static int
child_main (Shared *shared, guint32 first_seed, guint64 end, gint64 deadline)
{
  end = MIN (end, shared->position + TRIALS_PER_CHILD);
  for (; shared->position < end && g_get_monotonic_time () < deadline; shared->position++)
    {
      g_auto (Trial) trial = { 0 };
      Judgement judgement;
      guint n_steps = 0;

      alarm (TRIAL_SECONDS);
      trial_init (&trial, first_seed + (guint32) shared->position);
      g_autofree char *found = check (&trial, &judgement, &n_steps, NULL, shared);
      if (found != NULL)
        {
          g_strlcpy (shared->message, found, sizeof shared->message);
          return 1;
        }
      shared->n[judgement]++;
      shared->n_steps += n_steps;
    }
  alarm (0);
  shared->ended = TRUE;
  return 0;
}

static void
silence (void)
{
  int null = open ("/dev/null", O_WRONLY);
  if (null >= 0)
    {
      dup2 (null, STDOUT_FILENO);
      dup2 (null, STDERR_FILENO);
      close (null);
    }
}

static int
wait_for (pid_t pid)
{
  int status = 0;
  while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
    ;
  return status;
}

/* The word that says what kind of finding it is; a crash is "signal" or "exit". */
static char *
kind_of (const char *message, int status)
{
  if (message[0] != '\0')
    return g_strndup (message, strcspn (message, ":"));
  return g_strdup (WIFSIGNALED (status) ? "signal" : WEXITSTATUS (status) > 0 ? "exit" : "");
}

/* -- shrinking -- */

static char *
kind_in_child (Shared *shared, const Trial *trial)
{
  shared->message[0] = '\0';
  fflush (NULL);
  pid_t pid = fork ();
  if (pid == 0)
    {
      Judgement judgement;
      silence ();
      alarm (TRIAL_SECONDS);
      char *found = check (trial, &judgement, NULL, NULL, NULL);
      g_strlcpy (shared->message, found != NULL ? found : "", sizeof shared->message);
      _exit (0);
    }
  return kind_of (shared->message, wait_for (pid));
}

static gboolean
still_fails (Shared *shared, const Trial *trial, const char *kind)
{
  g_autofree char *found = kind_in_child (shared, trial);
  return strcmp (found, kind) == 0;
}

static void
drop_passes (Shared *shared, Trial *trial, const char *kind)
{
  for (guint i = trial->passes->len; i > 0; i--)
    {
      gpointer pass = trial->passes->pdata[i - 1];
      g_ptr_array_remove_index (trial->passes, i - 1);
      if (!still_fails (shared, trial, kind))
        g_ptr_array_insert (trial->passes, (gint) i - 1, pass);
    }
}

static void
remove_unused (IrEdit *edit, IrModel *model)
{
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
  gboolean changed = TRUE;

  while (changed)
    {
      changed = FALSE;
      for (guint i = model->nodes->len; i > 1; i--)
        {
          IrNode *node = ir_model_live_node (model, i - 1);
          gboolean used = node == NULL || node->graph != model->main;
          for (guint k = 0; !used && k < node->n_outputs; k++)
            used = node->outputs[k] != NULL && node->outputs[k]->n_uses > 0;
          if (!used)
            {
              ir_edit_remove_node (edit, node);
              changed = TRUE;
            }
        }
    }
  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    if (ir_graph_input (model->main, i)->n_uses > 0)
      g_ptr_array_add (inputs, ir_graph_input (model->main, i));
  ir_edit_set_graph_inputs (edit, model->main, (IrValue *const *) inputs->pdata, inputs->len);
  for (guint i = 1; i < model->values->len; i++)
    {
      IrValue *value = ir_model_live_value (model, i);
      if (value != NULL && value->graph == model->main && value->producer == NULL &&
          value->n_uses == 0)
        ir_edit_remove_value (edit, value);
    }
}

static gboolean
accept (Shared *shared, Trial *trial, IrModel *candidate, const char *kind)
{
  IrModel *kept = trial->original;

  trial->original = candidate;
  if (still_fails (shared, trial, kind))
    {
      ir_model_unref (kept);
      return TRUE;
    }
  trial->original = kept;
  ir_model_unref (candidate);
  return FALSE;
}

static void
drop_outputs (Shared *shared, Trial *trial, const char *kind)
{
  for (guint i = ir_graph_n_outputs (trial->original->main);
       i > 0 && ir_graph_n_outputs (trial->original->main) > 1; i--)
    {
      IrModel *model = ir_model_clone (trial->original);
      IrEdit *edit = ir_edit_new_import (model);
      g_autoptr (GPtrArray) outputs = g_ptr_array_new ();

      for (guint k = 0; k < ir_graph_n_outputs (model->main); k++)
        if (k != i - 1)
          g_ptr_array_add (outputs, ir_graph_output (model->main, k));
      ir_edit_set_graph_outputs (edit, model->main, (IrValue *const *) outputs->pdata,
                                 outputs->len);
      remove_unused (edit, model);
      ir_edit_free (edit);
      accept (shared, trial, model, kind);
    }
}

/* The node goes; what read it reads its input, a new input, or a constant instead. */
static gboolean
cut_node (Shared *shared, Trial *trial, const char *kind, IrNodeId id, guint how, IrRun *captured)
{
  IrModel *model = ir_model_clone (trial->original);
  IrEdit *edit = ir_edit_new_import (model);
  IrNode *node = ir_model_live_node (model, id);
  IrValue *output = node->outputs[0], *with = NULL;
  const IrTensor *tensor = output != NULL && captured != NULL ? ir_run_value (captured, output->id)
                                                              : NULL;
  gboolean possible = node->n_outputs == 1 && output != NULL && !ir_value_is_graph_output (output);

  if (possible && how == 0 && node->n_inputs > 0)
    with = node->inputs[0];
  else if (possible && tensor != NULL && ir_type_is_tensor (output->type))
    {
      with = how == 1 ? ir_edit_add_value (edit, model->main, ir_edit_unique_name (edit, "cut"),
                                           ir_tensor_type (tensor, model->context))
                      : ir_edit_add_initializer (edit, model->main, NULL, (IrTensor *) tensor);
      if (how == 1)
        {
          g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
          for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
            g_ptr_array_add (inputs, ir_graph_input (model->main, i));
          g_ptr_array_add (inputs, with);
          ir_edit_set_graph_inputs (edit, model->main, (IrValue *const *) inputs->pdata,
                                    inputs->len);
        }
    }
  if (with != NULL && with != output)
    {
      ir_edit_replace_uses (edit, output, with);
      ir_edit_remove_node (edit, node);
      remove_unused (edit, model);
      for (guint i = 1; i < model->values->len; i++)
        {
          IrValue *value = ir_model_live_value (model, i);
          if (value != NULL && value->producer != NULL)
            ir_edit_set_type (edit, value, NULL);
        }
      ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
    }
  ir_edit_free (edit);
  if (with == NULL || with == output)
    {
      ir_model_unref (model);
      return FALSE;
    }
  return accept (shared, trial, model, kind);
}

static gboolean
cut_nodes (Shared *shared, Trial *trial, const char *kind)
{
  gboolean changed = FALSE;

  for (guint how = 0; how < 3; how++)
    for (guint i = trial->original->nodes->len; i > 1; i--)
      {
        const IrNode *node = i <= trial->original->nodes->len
                                 ? ir_model_live_node (trial->original, i - 1)
                                 : NULL;
        if (node == NULL || node->graph != trial->original->main || ir_node_is (node, "Constant"))
          continue;
        g_autoptr (GHashTable)
            inputs = pass_trial_inputs (trial->original, trial->n, trial->seed, FALSE);
        g_autoptr (IrRun) captured = run (trial->original, inputs, NULL);
        changed |= cut_node (shared, trial, kind, i - 1, how, captured);
      }
  return changed;
}

static void
report (Shared *shared, guint32 seed, int status)
{
  g_auto (Trial) trial = { 0 };
  g_autofree char *kind = kind_of (shared->message, status), *first = g_strdup (shared->message);
  g_autofree char *text = NULL, *found = NULL;

  trial_init (&trial, seed);
  if (!still_fails (shared, &trial, kind))
    fprintf (stderr, "\nThe next one needs the trials before it.\n");
  else
    {
      drop_passes (shared, &trial, kind);
      drop_outputs (shared, &trial, kind);
      for (guint i = 0; i < 4 && cut_nodes (shared, &trial, kind); i++)
        drop_outputs (shared, &trial, kind);
      drop_passes (shared, &trial, kind);
    }
  found = kind_in_child (shared, &trial);
  text = ir_text_write (trial.original);
  fprintf (stderr, "\n-- %s\n-- shrunk: %s%s\n%s-- class %s, n = %" G_GINT64_FORMAT ", passes:",
           first[0] != '\0' ? first : kind, found, shared->message, text,
           ir_class_name (trial.max_class), trial.n);
  for (guint i = 0; i < trial.passes->len; i++)
    fprintf (stderr, " %s", ((const IrPass *) trial.passes->pdata[i])->name);
  fprintf (stderr, "\n-- steps:\n");
  fflush (NULL);
  pid_t pid = fork ();
  if (pid == 0)
    {
      g_autofree char *steps = NULL;
      Judgement judgement;
      alarm (TRIAL_SECONDS);
      g_free (check (&trial, &judgement, NULL, &steps, NULL));
      fprintf (stderr, "%s", steps != NULL ? steps : "");
      _exit (0);
    }
  wait_for (pid);
  fprintf (stderr, "-- again: fuzz-passes --graphs 1 --seed %u\n", seed);
}

/* -- the program -- */

int
main (int argc, char **argv)
{
  gint seconds = 0, seed = 0, graphs = 3000;
  gboolean keep_going = FALSE, verbose = FALSE;
  const GOptionEntry entries[] = {
    { "seconds", 0, 0, G_OPTION_ARG_INT, &seconds, "At most so long (0: no limit)", "N" },
    { "seed", 0, 0, G_OPTION_ARG_INT, &seed, "First seed (default 0)", "N" },
    { "graphs", 0, 0, G_OPTION_ARG_INT, &graphs, "How many (default 3000)", "N" },
    { "keep-going", 0, 0, G_OPTION_ARG_NONE, &keep_going, "Do not stop at the third finding",
      NULL },
    { "verbose", 'v', 0, G_OPTION_ARG_NONE, &verbose, "Count the steps of each rule", NULL },
    G_OPTION_ENTRY_NULL
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  guint n_findings = 0;

  setlocale (LC_ALL, "C.UTF-8");
  g_log_set_always_fatal ((GLogLevelFlags) (G_LOG_LEVEL_CRITICAL | G_LOG_FATAL_MASK));
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      fprintf (stderr, "%s\n", error->message);
      return 2;
    }
  Shared *shared = mmap (NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                         -1, 0);
  if (shared == MAP_FAILED)
    return 3;
  gint64 deadline = seconds > 0 ? g_get_monotonic_time () + (gint64) seconds * G_USEC_PER_SEC
                                : G_MAXINT64;
  while (shared->position < (guint64) graphs && g_get_monotonic_time () < deadline &&
         (n_findings < MAX_FINDINGS || keep_going))
    {
      shared->ended = FALSE;
      shared->message[0] = '\0';
      fflush (NULL);
      pid_t pid = fork ();
      if (pid == 0)
        exit (child_main (shared, (guint32) seed, (guint64) graphs, deadline));
      int status = wait_for (pid);
      if (WIFEXITED (status) && WEXITSTATUS (status) == 0)
        continue;
      n_findings++;
      if (shared->ended)
        {
          fprintf (stderr, "\nLeaks in the trials up to %" G_GUINT64_FORMAT ", see above.\n",
                   shared->position);
          continue;
        }
      report (shared, (guint32) seed + (guint32) shared->position, status);
      shared->position++;
    }
  if (verbose)
    print_rules (shared);
  printf ("# %" G_GUINT64_FORMAT " graphs with %" G_GUINT64_FORMAT " rewrites: %" G_GUINT64_FORMAT
          " compared exactly, %" G_GUINT64_FORMAT " within rounding, %" G_GUINT64_FORMAT
          " for soundness, %" G_GUINT64_FORMAT " rejected; %u findings\n",
          shared->position, shared->n_steps, shared->n[JUDGED_EXACT], shared->n[JUDGED_ROUNDING],
          shared->n[JUDGED_SOUND], shared->n[REJECTED], n_findings);
  printf ("1..1\n%s 1 - random pipelines keep what random models compute\n",
          n_findings == 0 ? "ok" : "not ok");
  return n_findings == 0 ? 0 : 1;
}
