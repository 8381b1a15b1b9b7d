/* The fuzzer of the optimizer. Random models (pass-trial.h) go through random pipelines; what comes
 * out must be sound, compute the same on the reference back end, and be undone, redone, cloned,
 * written and read back without a difference, at the end and in between.
 *
 *   fuzz-passes [--graphs N] [--seconds N] [--seed FIRST] [--jobs N] [--keep-going] [--coverage]
 *   fuzz-passes --seed N --graphs 1          one trial again, as the report of a finding says
 *
 * With rules of the class exact only, outputs must agree bit for bit, for NaN, infinities, -0 and
 * denormals too. With rounding ones, outputs may differ by what they differ by when every value of
 * the original is disturbed by a few units in its last place; trials where a value of the original
 * leaves the normal range are only checked for soundness, as are the unsafe ones.
 *
 * Two trials in three are about one rule: its idiom is planted, with small changes or as it stands,
 * and its pass is among those that run. --coverage says how often each rule took a step.
 *
 * Trials run in child processes, so that a crash is a finding like any other. A finding is shrunk:
 * passes are dropped, outputs are dropped, and nodes are cut out, as long as it stays. */
#include "config.h"

#include "core/io/io.h"
#include "core/ir/dump.h"
#include "core/op/verify.h"
#include "passes/pipeline/pipeline.h"
#include "passes/rule/rule.h"
#include "tests/fuzz/child.h"
#include "tests/fuzz/disturb.h"
#include "tests/fuzz/idioms.h"
#include "tests/fuzz/pass-trial.h"
#include "tests/fuzz/shrink.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIAL_SECONDS    20
#define TRIALS_PER_CHILD 500
#define MAX_FINDINGS     3
#define MAX_RULES        1024
#define MAX_JOBS         64
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
  ChildState state;
  guint64 n[N_JUDGEMENTS], n_steps;
  guint64 n_of_rule[MAX_RULES]; /* how often each took a step, in the order of the passes' rows */
  guint n_findings;
} Shared;

typedef struct
{
  Shared *shared;
  guint32 first_seed;
  guint64 end; /* of the positions */
  gint64 deadline;
  gboolean keep_going;
} Fuzzer;

typedef struct
{
  IrModel *original;
  GPtrArray *passes; /* of const IrPass */
  guint max_iterations;
  IrClass max_class;
  gint64 n;
  gint64 opset; /* for the pass that upgrades; 0: the newest */
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
  static const char *const named[] = { "basic", "default", "canonical" };
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
    if (!passes[i]->once && (strcmp (passes[i]->name, IR_PASS_UPGRADE_OPSET) != 0 ||
                             g_rand_int_range (rand, 0, 8) == 0))
      g_ptr_array_insert (trial->passes, g_rand_int_range (rand, 0, (gint) trial->passes->len + 1),
                          (gpointer) passes[i]);
  if (g_rand_boolean (rand))
    g_ptr_array_set_size (trial->passes, g_rand_int_range (rand, 1, (gint) trial->passes->len + 1));
}

/* Alone, or somewhere among the others. */
static void
choose_pass (Trial *trial, const IrPass *pass, GRand *rand)
{
  if (g_rand_boolean (rand))
    g_ptr_array_set_size (trial->passes, 0);
  if (!g_ptr_array_find (trial->passes, pass, NULL))
    g_ptr_array_insert (trial->passes, g_rand_int_range (rand, 0, (gint) trial->passes->len + 1),
                        (gpointer) pass);
}

static void
trial_init (Trial *trial, guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed ^ 0x5eed);
  guint kind = (guint) g_rand_int_range (rand, 0, 10), size;
  g_autoptr (GPtrArray) idioms = g_rand_int_range (rand, 0, 5) == 0 ? idiom_traps_new ()
                                                                    : idioms_new ();
  const Idiom *idiom = g_rand_int_range (rand, 0, 3) == 0
                           ? NULL
                           : idioms->pdata[g_rand_int_range (rand, 0, (gint) idioms->len)];

  trial->seed = seed;
  trial->max_class = kind < 5 ? IR_CLASS_EXACT : kind < 9 ? IR_CLASS_ROUNDING : IR_CLASS_UNSAFE;
  if (idiom != NULL && kind < 9)
    trial->max_class = MAX (trial->max_class, idiom->rule->step_class);
  size = (guint) g_rand_int_range (rand, 0, idiom != NULL ? 4 : 7) + (idiom == NULL);
  trial->original = pass_trial_model (seed, size, trial->max_class == IR_CLASS_ROUNDING,
                                      idiom != NULL ? idiom->text : NULL, &trial->n);
  trial->opset = g_rand_int_range (rand, 13, 23);
  if (g_rand_boolean (rand) || trial->opset < ir_model_opset (trial->original, ""))
    trial->opset = 0;
  choose_passes (trial, rand);
  if (idiom != NULL)
    choose_pass (trial, idiom->pass, rand);
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
 * of subgraphs may be another in a file. How dead nodes share steps depends on that order, too, and
 * which of equal constants stays, so those are told by what is left. */
static char *
sorted_steps (IrModel *model)
{
  g_autofree char *text = steps_text (model, FALSE);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  GString *sorted = g_string_new (NULL);

  qsort (lines, g_strv_length (lines), sizeof *lines, compare_lines);
  for (guint i = 0; lines[i] != NULL; i++)
    if (strstr (lines[i], "eliminate-dead-code") == NULL &&
        strstr (lines[i], "share-constant") == NULL)
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

static IrPass *
upgrade_to (gint64 opset)
{
  g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, opset);

  return ir_pass_set (ir_pass_find (IR_PASS_UPGRADE_OPSET), "opset", text, NULL);
}

static char *
optimize (const Trial *trial, IrModel *model, const char *what, guint *n_steps)
{
  g_autoptr (IrPass) upgrade = upgrade_to (trial->opset);
  g_autoptr (GPtrArray) passes = g_ptr_array_copy (trial->passes, NULL, NULL);
  IrPipeline pipeline = { (char *) "fuzz", (char *) "", (char *) "", passes,
                          trial->max_iterations };
  IrPipelineOptions options = { .max_class = trial->max_class, .verify = TRUE };
  g_autoptr (GError) error = NULL;
  IrPipelineResult result = { 0 };

  for (guint i = 0; i < passes->len; i++)
    if (strcmp (((const IrPass *) passes->pdata[i])->name, IR_PASS_UPGRADE_OPSET) == 0)
      passes->pdata[i] = upgrade;
  if (!ir_pipeline_run (model, &pipeline, &options, &result, NULL, &error))
    {
      if (strstr (error->message, "cannot be upgraded") == NULL)
        return g_strdup_printf ("%s: pipeline: %s", what, error->message);
      /* An upgrade that a node cannot follow says so, and takes back what it did. */
      if (ir_history_cursor (model) != 0)
        return g_strdup_printf ("%s: pipeline: half of an upgrade is left", what);
      ir_edit_free (ir_edit_new (model)); /* forgets the steps that were taken back */
      return NULL;
    }
  if (result.reached_limit)
    return g_strdup_printf ("%s: limit: the passes do not come to an end", what);
  if (n_steps != NULL)
    *n_steps = result.n_steps;
  return NULL;
}

/* -- contents -- */

static GHashTable *
trial_inputs (const Trial *trial, IrModel *model)
{
  return pass_trial_inputs (model, trial->n, trial->seed,
                            trial->max_class == IR_CLASS_EXACT && trial->seed % 4);
}

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

/* Gelu adds 1 to what is almost -1 on its way: how it rounds below is not relative to what is left,
 * which disturbing its result does not show. */
static gboolean
cancels_inside (const IrValue *value, double x)
{
  return value != NULL && value->producer != NULL && x != 0 && x < 1e-3 &&
         strstr (value->producer->op_type, "Gelu") != NULL;
}

/* Whether all that was computed lies in the range where rounding is relative. */
static gboolean
in_normal_range (const IrModel *model, IrRun *captured)
{
  gboolean may_be_infinite = pass_trial_has_infinity (model);

  for (guint i = 1; i < captured->model->values->len; i++)
    {
      const IrTensor *tensor = ir_run_value (captured, i);
      const IrValue *of = ir_model_live_value (captured->model, i);
      if (tensor == NULL || ir_tensor_is_container (tensor) ||
          !ir_dtype_is_float (ir_tensor_dtype (tensor)))
        continue;
      gboolean half = ir_tensor_dtype (tensor) == IR_DTYPE_FLOAT16;
      double least = half ? 0x1p-9 : 0x1p-90, most = half ? 0x1p12 : 0x1p90;
      for (guint64 k = 0; k < ir_tensor_n_elements (tensor); k++)
        {
          double x = fabs (ir_tensor_get_double (tensor, k));
          if (isinf (x) && may_be_infinite)
            continue;
          if (!isfinite (x) || x > most || (x != 0 && x < least) || cancels_inside (of, x))
            return FALSE;
        }
    }
  return TRUE;
}

/* Several runs of the original with small disturbances; NULL if one of them fails. */
static GPtrArray *
disturbed_runs (const Trial *trial, IrRun *captured, GPtrArray *models)
{
  g_autoptr (GHashTable) inputs = trial_inputs (trial, trial->original);
  g_autoptr (GPtrArray) runs = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_run_unref);
  g_autoptr (GRand) rand = g_rand_new_with_seed (trial->seed);

  for (guint i = 0; i < N_DISTURBED; i++)
    {
      IrModel *model = disturb_model (trial->original, captured, rand, 1);
      g_autoptr (GHashTable) changed = disturb_inputs (inputs, rand, 1);
      IrRun *result;

      g_ptr_array_add (models, model);
      result = run (model, changed, NULL);
      if (result == NULL)
        return NULL;
      g_ptr_array_add (runs, result);
    }
  return g_steal_pointer (&runs);
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
      gboolean sensitive;
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
                           : compare_roughly (a->name, x, y, disturbed, N_DISTURBED, &sensitive);
      if (found != NULL)
        return found;
    }
  return NULL;
}

static char *
check_contents (const Trial *trial, IrModel *model, IrRun *before, Judgement *judgement)
{
  g_autoptr (GHashTable) inputs = trial_inputs (trial, model);
  g_autoptr (GPtrArray) models = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_model_unref);
  g_autoptr (GPtrArray) runs = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) after = run (model, inputs, &error);

  if (after == NULL)
    return g_strdup_printf ("fails: what came out does not run: %s", error->message);
  *judgement = trial->max_class == IR_CLASS_EXACT ? JUDGED_EXACT : JUDGED_SOUND;
  if (trial->max_class == IR_CLASS_EXACT)
    return compare (trial, before, model, after, NULL, NULL);
  if (trial->max_class != IR_CLASS_ROUNDING || !in_normal_range (trial->original, before) ||
      (runs = disturbed_runs (trial, before, models)) == NULL)
    return NULL;
  *judgement = JUDGED_ROUNDING;
  return compare (trial, before, model, after, models, runs);
}

/* -- what inference says of the original -- */

static GHashTable *
bindings_new (const Trial *trial)
{
  GHashTable *bindings = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);

  g_hash_table_insert (bindings, g_strdup ("n"), g_memdup2 (&trial->n, sizeof trial->n));
  for (gint64 i = 2; i < 10; i++)
    g_hash_table_insert (bindings, g_strdup_printf ("d%" G_GINT64_FORMAT, i),
                         g_memdup2 (&i, sizeof i));
  return bindings;
}

static gboolean
has_type (const IrModel *model, const IrValue *value, const IrTensor *tensor, GHashTable *bindings)
{
  const IrType *type = value->type;

  if (!ir_type_is_tensor (type) || ir_tensor_is_container (tensor))
    return TRUE;
  if (type->dtype != IR_DTYPE_UNDEFINED && type->dtype != ir_tensor_dtype (tensor))
    return FALSE;
  if (ir_type_has_rank (type) && (guint) type->rank != ir_tensor_rank (tensor))
    return FALSE;
  for (int i = 0; i < type->rank; i++)
    {
      gint64 size;
      if (ir_dim_evaluate (model->context, type->dims[i], bindings, &size) &&
          size != ir_tensor_dims (tensor)[i])
        return FALSE;
    }
  return TRUE;
}

/* Whether a size that was worked out came to 0, where that means to copy another one. */
static gboolean
reshapes_by_zero (const Trial *trial, IrRun *before)
{
  for (guint i = 1; i < trial->original->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (trial->original, i);
      const IrValue *by = node != NULL && ir_node_is (node, "Reshape") && node->n_inputs > 1
                              ? node->inputs[1]
                              : NULL;
      const IrTensor *shape = by != NULL && by->initializer == NULL ? ir_run_value (before, by->id)
                                                                    : NULL;

      for (guint64 k = 0; shape != NULL && k < ir_tensor_n_elements (shape); k++)
        if (ir_tensor_get_double (shape, k) == 0)
          return TRUE;
    }
  return FALSE;
}

/* Every pass believes what inference says, and it takes two things for granted: that what stands in
 * the shape of a Reshape is not 0, as a 0 there has a meaning of its own, and that a Loop that
 * stacks has iterations, as without any it does not know the sizes of what it would have stacked.
 * Where sizes are 0 the trial says nothing then: @empty. */
static char *
check_inference (const Trial *trial, IrRun *before, gboolean *empty)
{
  g_autoptr (GHashTable) bindings = bindings_new (trial);

  for (guint i = 1; i < trial->original->values->len; i++)
    {
      const IrValue *value = ir_model_live_value (trial->original, i);
      const IrTensor *tensor = value != NULL ? ir_run_value (before, value->id) : NULL;

      if (tensor == NULL || has_type (trial->original, value, tensor, bindings))
        continue;
      *empty = trial->n == 0 || ir_tensor_n_elements (tensor) == 0 ||
               reshapes_by_zero (trial, before);
      g_autofree char *type = ir_type_to_string (trial->original->context, value->type);
      g_autofree char *is = ir_type_to_string (trial->original->context,
                                               ir_tensor_type (tensor, trial->original->context));
      return g_strdup_printf ("inferred: %s is %s and not %s", value->name, is, type);
    }
  return NULL;
}

/* -- the history, copies and files -- */

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

/* Somewhere on the way: a clone is the same, and so is what is written and read. */
static char *
check_between (const Trial *trial, IrModel *model)
{
  g_autoptr (IrModel) clone = ir_model_clone (model);
  g_autofree char *text = ir_text_write (model), *cloned = ir_text_write (clone);
  g_autofree char *once = NULL, *twice = NULL;
  g_autoptr (GError) error = NULL;
  char *found = verify (model, "in between");

  if (found != NULL)
    return found;
  if (strcmp (text, cloned) != 0)
    return g_strdup ("clone: is not the same");
  g_autoptr (IrModel) copy = written_and_read (model, TRUE, &error);
  g_autoptr (IrModel) second = copy != NULL ? written_and_read (copy, TRUE, &error) : NULL;
  if (second == NULL)
    return g_strdup_printf ("text: cannot be read back: %s", error->message);
  /* The first reading orders values and infers what rewrites left open. */
  once = ir_text_write (copy);
  twice = ir_text_write (second);
  return strcmp (once, twice) != 0
             ? g_strdup_printf ("text: reads as another:\n%s\n%s", once, twice)
             : NULL;
}

/* New forms and the new import belong together: no place is between them. */
static guint
between (IrModel *model, guint step)
{
  while (step > 0 && step < ir_history_n_steps (model) &&
         strcmp (ir_history_pass_of (model, step + 1), IR_PASS_UPGRADE_OPSET) == 0)
    step++;
  return step;
}

static char *
check_history (const Trial *trial, IrModel *model, const char *start)
{
  guint n = ir_history_n_steps (model);
  g_autofree char *end = ir_model_dump (model), *undone = NULL, *redone = NULL;
  char *found;

  ir_history_goto (model, 0);
  undone = ir_text_write (model);
  if (strcmp (undone, start) != 0)
    return g_strdup ("undo: step 0 is not the original");
  ir_history_goto (model, between (model, n > 0 ? 1 + trial->seed % n : 0));
  found = check_between (trial, model);
  if (found != NULL)
    return found;
  ir_history_goto (model, n);
  redone = ir_model_dump (model);
  return strcmp (redone, end) != 0 ? g_strdup ("redo: the end is not the same again") : NULL;
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
check_shuffled (const Trial *trial, IrRun *before)
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
    found = check_contents (trial, model, before, &judgement);
  return found;
}

static guint
n_functions (const IrModel *model)
{
  guint n = 0;

  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      n += graph != NULL && graph->state == IR_STATE_LIVE && graph->kind == IR_GRAPH_FUNCTION;
    }
  return n;
}

/* The same contents, whatever the steps. */
static char *
check_other (const Trial *trial, IrModel *copy, IrRun *before, const char *what)
{
  Judgement judgement;
  char *found = optimize (trial, copy, what, NULL);

  if (found == NULL)
    found = verify (copy, what);
  if (found == NULL)
    found = check_contents (trial, copy, before, &judgement);
  return found;
}

static char *
check_copies (const Trial *trial, IrModel *model, IrRun *before)
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
  /* A file brings the functions of irscope's own operators along, which passes may rewrite. */
  if (n_functions (copy) == n_functions (trial->original))
    found = check_copy (trial, copy, steps, what);
  else
    found = check_other (trial, copy, before, what);
  if (found == NULL)
    found = check_shuffled (trial, before);
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
  guint n_steps = ir_history_n_steps (model);
  g_autoptr (GPtrArray) rules = idiom_rules_new ();

  for (guint at = 0; at < MIN (rules->len, MAX_RULES); at++)
    for (guint k = 1; k <= n_steps; k++)
      shared->n_of_rule[at] += strcmp (ir_history_step (model, k)->rule,
                                       ((const Idiom *) rules->pdata[at])->rule->name) == 0;
}

static void
print_rules (const Shared *shared)
{
  g_autoptr (GPtrArray) rules = idiom_rules_new ();
  guint n_never = 0;

  for (guint at = 0; at < MIN (rules->len, MAX_RULES); at++)
    {
      const Idiom *idiom = rules->pdata[at];
      n_never += shared->n_of_rule[at] == 0;
      printf ("# %8" G_GUINT64_FORMAT "  %s %s\n", shared->n_of_rule[at], idiom->pass->name,
              idiom->rule->name);
    }
  printf ("# %u of %u rules never applied\n", n_never, rules->len);
}

static char *
check_passes (const Trial *trial,
              IrRun *before,
              Judgement *judgement,
              guint *n_steps,
              char **steps,
              Shared *shared)
{
  g_autoptr (IrModel) model = ir_model_clone (trial->original);
  g_autofree char *start = ir_text_write (model);
  char *found;

  *judgement = JUDGED_SOUND;
  found = optimize (trial, model, "first", n_steps);
  if (steps != NULL)
    *steps = steps_text (model, TRUE);
  if (shared != NULL)
    count_rules (shared, model);
  if (found == NULL)
    found = verify (model, "invalid");
  if (found == NULL)
    found = check_contents (trial, model, before, judgement);
  if (found == NULL)
    found = check_history (trial, model, start);
  if (found == NULL)
    found = check_copies (trial, model, before);
  return found;
}

/* What is wrong, or NULL: a word for the kind, a colon, and the rest. */
static char *
check (const Trial *trial, Judgement *judgement, guint *n_steps, char **steps, Shared *shared)
{
  g_autofree char *wrong = verify (trial->original, "original"), *inferred = NULL;
  g_autoptr (GHashTable) inputs = trial_inputs (trial, trial->original);
  gboolean empty = FALSE;

  *judgement = REJECTED;
  if (wrong != NULL)
    return NULL;
  g_autoptr (IrRun) before = run (trial->original, inputs, NULL);
  if (before == NULL)
    return NULL;
  inferred = check_inference (trial, before, &empty);
  if (inferred != NULL)
    return empty ? NULL : g_steal_pointer (&inferred);
  return check_passes (trial, before, judgement, n_steps, steps, shared);
}

/* -- children -- */

static int
run_trials (gpointer data)
{
  const Fuzzer *fuzzer = data;
  Shared *shared = fuzzer->shared;
  guint64 *position = &shared->state.position;
  guint64 end = MIN (fuzzer->end, *position + TRIALS_PER_CHILD);

  for (; *position < end && g_get_monotonic_time () < fuzzer->deadline; ++*position)
    {
      g_auto (Trial) trial = { 0 };
      Judgement judgement;
      guint n_steps = 0;

      alarm (TRIAL_SECONDS);
      trial_init (&trial, fuzzer->first_seed + (guint32) *position);
      g_autofree char *found = check (&trial, &judgement, &n_steps, NULL, shared);
      if (found != NULL)
        {
          g_strlcpy (shared->state.message, found, sizeof shared->state.message);
          return 1;
        }
      shared->n[judgement]++;
      shared->n_steps += n_steps;
    }
  alarm (0);
  shared->state.ended = TRUE;
  return 0;
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

typedef struct
{
  Shared *shared;
  const Trial *trial;
} Again;

static int
check_again (gpointer data)
{
  const Again *again = data;
  char *message = again->shared->state.message;
  Judgement judgement;

  alarm (TRIAL_SECONDS);
  char *found = check (again->trial, &judgement, NULL, NULL, NULL);
  g_strlcpy (message, found != NULL ? found : "", sizeof again->shared->state.message);
  _exit (0);
}

static char *
kind_in_child (Shared *shared, const Trial *trial)
{
  Again again = { shared, trial };

  shared->state.message[0] = '\0';
  return kind_of (shared->state.message, child_run (check_again, &again, TRUE));
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

typedef struct
{
  Shared *shared;
  Trial *trial;
  const char *kind;
} Shrinking;

static gboolean
candidate_fails (IrModel *candidate, gpointer data)
{
  const Shrinking *shrinking = data;

  shrinking->trial->original = candidate;
  return still_fails (shrinking->shared, shrinking->trial, shrinking->kind);
}

static IrRun *
captured_for (IrModel *model, gpointer data)
{
  const Shrinking *shrinking = data;
  g_autoptr (GHashTable)
      inputs = pass_trial_inputs (model, shrinking->trial->n, shrinking->trial->seed, FALSE);

  return run (model, inputs, NULL);
}

static void
shrink (Shared *shared, Trial *trial, const char *kind)
{
  Shrinking shrinking = { shared, trial, kind };
  Shrink least = { trial->original, candidate_fails, captured_for, &shrinking };

  drop_passes (shared, trial, kind);
  shrink_outputs (&least);
  for (guint i = 0; i < 4 && shrink_nodes (&least); i++)
    shrink_outputs (&least);
  trial->original = least.model;
  drop_passes (shared, trial, kind);
}

static int
print_steps (gpointer data)
{
  g_autofree char *steps = NULL;
  Judgement judgement;

  alarm (TRIAL_SECONDS);
  g_free (check (data, &judgement, NULL, &steps, NULL));
  fprintf (stderr, "%s", steps != NULL ? steps : "");
  _exit (0);
}

static void
report (gpointer data, int status)
{
  const Fuzzer *fuzzer = data;
  Shared *shared = fuzzer->shared;
  guint32 seed = fuzzer->first_seed + (guint32) shared->state.position;
  g_auto (Trial) trial = { 0 };
  g_autofree char *first = g_strdup (shared->state.message);
  g_autofree char *kind = kind_of (first, status), *text = NULL, *found = NULL;

  trial_init (&trial, seed);
  if (still_fails (shared, &trial, kind))
    shrink (shared, &trial, kind);
  else
    fprintf (stderr, "\nThe next one needs the trials before it.\n");
  found = kind_in_child (shared, &trial);
  text = ir_text_write (trial.original);
  fprintf (stderr, "\n-- %s\n-- shrunk: %s\n%s-- class %s, n = %" G_GINT64_FORMAT ", passes:",
           first[0] != '\0' ? first : kind,
           shared->state.message[0] != '\0' ? shared->state.message : found, text,
           ir_class_name (trial.max_class), trial.n);
  for (guint i = 0; i < trial.passes->len; i++)
    fprintf (stderr, " %s", ((const IrPass *) trial.passes->pdata[i])->name);
  fprintf (stderr, "\n-- steps:\n");
  child_run (print_steps, &trial, FALSE);
  fprintf (stderr, "-- again: fuzz-passes --graphs 1 --seed %u\n", seed);
}

static gboolean
goes_on (gpointer data, guint n_findings)
{
  const Fuzzer *fuzzer = data;

  return fuzzer->shared->state.position < fuzzer->end &&
         g_get_monotonic_time () < fuzzer->deadline &&
         (n_findings < MAX_FINDINGS || fuzzer->keep_going);
}

static int
fuzz (gpointer data)
{
  Fuzzer *fuzzer = data;
  const ChildLoop loop = { &fuzzer->shared->state, fuzzer, goes_on, run_trials, report };

  fuzzer->shared->n_findings = child_loop (&loop);
  return 0;
}

/* -- several at once -- */

static void
add_counts (Shared *all, const Shared *one, guint64 begin)
{
  all->state.position += one->state.position - begin;
  all->n_steps += one->n_steps;
  all->n_findings += one->n_findings;
  for (guint i = 0; i < N_JUDGEMENTS; i++)
    all->n[i] += one->n[i];
  for (guint i = 0; i < MAX_RULES; i++)
    all->n_of_rule[i] += one->n_of_rule[i];
}

/* Each job has its own part of the seeds. A job that does not come back is a finding. */
static void
fuzz_jobs (const Fuzzer *whole, Shared *shares, guint n_jobs, Shared *all)
{
  pid_t pids[MAX_JOBS];
  guint64 begins[MAX_JOBS];

  fflush (NULL);
  for (guint i = 0; i < n_jobs; i++)
    {
      Fuzzer fuzzer = *whole;

      fuzzer.shared = &shares[i];
      shares[i].state.position = begins[i] = whole->end * i / n_jobs;
      fuzzer.end = whole->end * (i + 1) / n_jobs;
      pids[i] = n_jobs > 1 ? fork () : -1;
      if (pids[i] == 0)
        _exit (fuzz (&fuzzer));
      if (pids[i] < 0)
        fuzz (&fuzzer);
    }
  for (guint i = 0; i < n_jobs; i++)
    {
      all->n_findings += pids[i] > 0 && !child_succeeded (child_wait (pids[i]));
      add_counts (all, &shares[i], begins[i]);
    }
}

/* -- the program -- */

static int
say_result (const Shared *all, gboolean coverage)
{
  if (coverage)
    print_rules (all);
  printf ("# %" G_GUINT64_FORMAT " graphs with %" G_GUINT64_FORMAT " rewrites: %" G_GUINT64_FORMAT
          " compared exactly, %" G_GUINT64_FORMAT " within rounding, %" G_GUINT64_FORMAT
          " for soundness, %" G_GUINT64_FORMAT " rejected; %u findings\n",
          all->state.position, all->n_steps, all->n[JUDGED_EXACT], all->n[JUDGED_ROUNDING],
          all->n[JUDGED_SOUND], all->n[REJECTED], all->n_findings);
  printf ("1..1\n%s 1 - random pipelines keep what random models compute\n",
          all->n_findings == 0 ? "ok" : "not ok");
  return all->n_findings == 0 ? 0 : 1;
}

int
main (int argc, char **argv)
{
  gint seconds = 0, seed = 0, graphs = 3000, jobs = 1;
  gboolean keep_going = FALSE, coverage = FALSE;
  const GOptionEntry entries[] = {
    { "seconds", 0, 0, G_OPTION_ARG_INT, &seconds, "At most so long (0: no limit)", "N" },
    { "seed", 0, 0, G_OPTION_ARG_INT, &seed, "First seed (default 0)", "N" },
    { "graphs", 0, 0, G_OPTION_ARG_INT, &graphs, "How many (default 3000)", "N" },
    { "jobs", 'j', 0, G_OPTION_ARG_INT, &jobs, "So many at once (default 1)", "N" },
    { "keep-going", 0, 0, G_OPTION_ARG_NONE, &keep_going, "Do not stop at the third finding",
      NULL },
    { "coverage", 0, 0, G_OPTION_ARG_NONE, &coverage, "Count the steps of each rule", NULL },
    G_OPTION_ENTRY_NULL
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;
  Shared all = { 0 };

  setlocale (LC_ALL, "C.UTF-8");
  g_log_set_always_fatal ((GLogLevelFlags) (G_LOG_LEVEL_CRITICAL | G_LOG_FATAL_MASK));
  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      fprintf (stderr, "%s\n", error->message);
      return 2;
    }
  guint n_jobs = (guint) CLAMP (jobs, 1, MAX_JOBS);
  Shared *shares = child_share (sizeof *shares * n_jobs);
  if (shares == NULL)
    return 3;
  Fuzzer fuzzer = { NULL, (guint32) seed, (guint64) MAX (graphs, 0),
                    seconds > 0 ? g_get_monotonic_time () + (gint64) seconds * G_USEC_PER_SEC
                                : G_MAXINT64,
                    keep_going };
  fuzz_jobs (&fuzzer, shares, n_jobs, &all);
  return say_result (&all, coverage);
}
