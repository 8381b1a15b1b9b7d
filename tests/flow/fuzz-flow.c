/* Random structured programs, nested If, Loop, Scan and SequenceMap, run as they are and lowered to tokens, one and ten
 * iterations in flight, on one thread and two, unrolled whole and in part, and once more after the lowered graph was written and read, and
 * as closures, and back from both; and programs of closures in variables and functions that call themselves beside the
 * same by If and Loop: no bit may differ on the reference kernels, nor on cpu between its own two runs.
 *
 *     fuzz-flow [--from SEED] [--graphs N] [--broken N] [--write FILE]
 *
 * Each lowered graph is then broken a few times, by edges that are moved and dependencies that are added: it is
 * checked, and runs to an end or an error, within limits. Closures are broken a third as often, and turned back.
 *
 * A finding prints its seed, and the program as ONNX text; --write writes the program of the first seed. */

#include "config.h"

#include "core/exec/run/capture.h"
#include "core/exec/run/iterations.h"
#include "core/ir/frames.h"
#include "core/op/verify.h"
#include "tests/flow/flow-program.h"
#include "tests/rules/pass-test.h"

#include <glib/gstdio.h>
#include <string.h>

static guint n_divided; /* ways in which iterations of a loop were written out in part */

/* -- trials -- */

static IrRun *
run_on (IrModel *model, GHashTable *inputs, const char *backend, guint n_threads, GError **error)
{
  IrRunOptions options = { .backend = ir_backend_find (backend),
                           .n_threads = n_threads,
                           .deterministic = TRUE };

  return ir_model_run (model, inputs, &options, NULL, error);
}

static IrRun *
run_model (IrModel *model, GHashTable *inputs, const char *backend, GError **error)
{
  return run_on (model, inputs, backend, 1, error);
}

static void
set_parallel (IrModel *model, gint64 parallel)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);

  for (guint i = 1; i < model->nodes->len; i++)
    {
      IrNode *node = model->nodes->pdata[i];
      if (node->state == IR_STATE_LIVE && strcmp (node->op_type, "Enter") == 0)
        ir_edit_set_attr (edit, node,
                          ir_attr_int (model->context, "parallel_iterations", parallel));
    }
}

/* (nullable) (transfer full) What differs */
static char *
try_way (IrModel *lowered, IrModel *model, IrRun *run, GHashTable *inputs, const char *way)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) other = run_model (lowered, inputs, "ref", &error);
  g_autofree char *difference = NULL;

  if (other == NULL)
    return g_strdup_printf ("%s: %s", way, error->message);
  difference = test_compare (model, run, lowered, other, 0);
  return difference != NULL ? g_strdup_printf ("%s: %s", way, difference) : NULL;
}

/* Values of inputs by place: ids of a graph that was read again are others. */
static GHashTable *
inputs_of (const IrModel *from, GHashTable *inputs, const IrModel *to)
{
  GHashTable *mapped = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);

  for (guint i = 0; i < ir_graph_n_inputs (from->main); i++)
    {
      IrTensor *tensor = g_hash_table_lookup (
          inputs, GUINT_TO_POINTER (ir_graph_input (from->main, i)->id));
      g_hash_table_insert (mapped, GUINT_TO_POINTER (ir_graph_input (to->main, i)->id),
                           ir_tensor_ref (tensor));
    }
  return mapped;
}

/* Moves an edge, or lets a node wait for another. */
static void
break_graph (IrModel *model, GRand *rand)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (model->main);
  IrNode *node = nodes->pdata[g_rand_int_range (rand, 0, (gint32) nodes->len)];
  const IrNode *other = nodes->pdata[g_rand_int_range (rand, 0, (gint32) nodes->len)];

  if (g_rand_int_range (rand, 0, 5) == 0 && node != other)
    ir_edit_add_control (edit, node, (IrNode *) other);
  else if (node->n_inputs > 0 && other->n_outputs > 0)
    ir_edit_set_input (edit, node, (guint) g_rand_int_range (rand, 0, (gint32) node->n_inputs),
                       other->outputs[g_rand_int_range (rand, 0, (gint32) other->n_outputs)]);
}

/* (nullable) (transfer full) What is wrong; that it ends is what is tried. */
static char *
try_broken (IrModel *lowered, GHashTable *inputs, GRand *rand, guint *n_ran)
{
  g_autoptr (IrModel) model = ir_model_clone (lowered);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find ("ref"),
                           .n_threads = 1,
                           .iteration_limit = 1000 };

  for (gint32 i = g_rand_int_range (rand, 1, 4); i > 0; i--)
    break_graph (model, rand);
  ir_verify_model (model, problems);
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
  *n_ran += run != NULL;
  if (run == NULL && (error == NULL || error->message[0] == '\0'))
    return g_strdup ("a broken graph ends without a run and without an error");
  for (guint i = 0; i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];
      if (problem->hint == NULL && problem->code == IR_PROBLEM_FRAME)
        return g_strdup_printf ("a problem without what to do: %s", problem->message);
    }
  return NULL;
}

/* (transfer full) @model behind a pass */
static IrModel *
rewritten_as (const IrModel *model, const char *pass, const char *setting)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = test_pipeline (ir_pass_find (pass));
  const IrPipelineOptions options = { .max_class = IR_CLASS_EXACT, .verify = TRUE };
  IrModel *other = ir_model_clone ((IrModel *) model);

  if (setting != NULL)
    ir_pipeline_set (pipeline, setting, &error);
  g_assert_no_error (error);
  ir_pipeline_run (other, pipeline, &options, NULL, NULL, &error);
  g_assert_no_error (error);
  return other;
}

static IrModel *
rewritten (const IrModel *model, const char *pass)
{
  return rewritten_as (model, pass, NULL);
}

/* How often each operator is there; Identity and constants, which hold values back, left out */
static GHashTable *
count_operators (const IrModel *model)
{
  GHashTable *counts = g_hash_table_new (NULL, NULL);

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      if (node == NULL || ir_node_is (node, "Identity") || node->n_inputs == 0)
        continue;
      const IrOp *op = node->op;
      g_hash_table_insert (
          counts, (gpointer) op,
          GUINT_TO_POINTER (GPOINTER_TO_UINT (g_hash_table_lookup (counts, op)) + 1));
    }
  return counts;
}

/* (nullable) (transfer full) An operator that @after has more often than @before */
static char *
find_more (const IrModel *before, const IrModel *after, const char *way)
{
  g_autoptr (GHashTable) counts = count_operators (before), more = count_operators (after);
  GHashTableIter iter;
  gpointer op, n;

  g_hash_table_iter_init (&iter, more);
  while (g_hash_table_iter_next (&iter, &op, &n))
    if (GPOINTER_TO_UINT (g_hash_table_lookup (counts, op)) < GPOINTER_TO_UINT (n))
      return g_strdup_printf ("%s: %u times %s, more than before", way, GPOINTER_TO_UINT (n),
                              ((const IrOp *) op)->name);
  return NULL;
}

/* Back to If and Loop, from the primitives alone: the same values, by no other operators. Outputs that
 * nobody reads are not lowered, so what they alone need does not come back. */
static char *
try_raised (const IrModel *lowered, IrModel *model, IrRun *run, GHashTable *inputs)
{
  g_autoptr (IrModel) raised = rewritten (lowered, "raise-control-flow");
  char *found = NULL;

  if (ir_graph_has_tokens (raised->main) || ir_model_opset (raised, "irscope.flow") != 0)
    return g_strdup ("raised: primitives are left");
  found = find_more (model, raised, "raised");
  return found != NULL ? found : try_way (raised, model, run, inputs, "raised");
}

/* (transfer full) @model behind some random passes, as far as they are exact; which ones is appended to @way */
static IrModel *
rewritten_at_random (const IrModel *model, GRand *rand, GString *way)
{
  IrModel *other = ir_model_clone ((IrModel *) model);
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  for (guint i = 0; i < 6; i++)
    {
      const IrPass *pass = passes[g_rand_int_range (rand, 0, (gint32) n)];
      if (pass->once)
        continue;
      IrModel *next = rewritten (other, pass->name);
      g_string_append_printf (way, ", %s", pass->name);
      ir_model_unref (other);
      other = next;
    }
  return other;
}

/* Among tokens passes keep what is live and what is dead; what they made is raised as far as it goes. */
static char *
try_rewritten (const IrModel *lowered, IrModel *model, IrRun *run, GHashTable *inputs, GRand *rand)
{
  g_autoptr (GString) way = g_string_new ("lowered");
  g_autoptr (IrModel) other = rewritten_at_random (lowered, rand, way);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  char *found = try_way (other, model, run, inputs, way->str);

  ir_graph_report_frames (other->main, problems);
  /* Not warnings: what a pass made of a condition may be more than frames can tell of it. */
  for (guint i = 0; found == NULL && i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];
      if (problem->severity == IR_SEVERITY_ERROR)
        found = g_strdup_printf ("%s: %s", way->str, problem->message);
    }
  if (found != NULL)
    return found;
  g_autoptr (IrModel) raised = rewritten (other, "raise-control-flow");
  g_string_append (way, ", raised");
  return try_way (raised, model, run, inputs, way->str);
}

static IrRun *
run_iterations (IrModel *model, GHashTable *inputs, IrIterationsKind kind, GError **error)
{
  const IrRunOptions options = { .backend = ir_backend_find ("ref"),
                                 .n_threads = 1,
                                 .capture = kind == IR_ITERATIONS_EVERY ? IR_CAPTURE_ALL
                                                                        : IR_CAPTURE_NONE,
                                 .iterations = { kind, 1, 0, NULL } };

  return ir_model_run (model, inputs, &options, NULL, error);
}

/* Some values of iterations by their names, from a run that has kept checkpoints alone. */
static char *
try_names (IrModel *model, GHashTable *inputs, const IrRun *dense, GRand *rand)
{
  g_autoptr (GError) error = NULL;
  const guint n = ir_run_n_iterations_kept (dense);
  g_autoptr (IrRun)
      sparse = n > 0 ? run_iterations (model, inputs, IR_ITERATIONS_CHECKPOINTS, &error) : NULL;

  for (guint i = 0; sparse != NULL && i < 4; i++)
    {
      const IrKeptIteration *kept = ir_run_iteration (
          dense, (guint) g_rand_int_range (rand, 0, (gint32) n));
      g_autofree char *text = g_strdup_printf ("%s@%" G_GINT64_FORMAT "/#%u", kept->frame,
                                               kept->iteration, kept->value);
      g_auto (IrIterationName) name = { 0 };
      g_autoptr (IrTensor) tensor = ir_iteration_name_parse (sparse->model, text, &name, &error)
                                        ? ir_run_find_iteration (sparse, &name, NULL, NULL, &error)
                                        : NULL;
      if (tensor == NULL)
        return g_strdup_printf ("iterations, %s: %s", text, error->message);
      if (!ir_tensor_equal (tensor, kept->tensor))
        return g_strdup_printf ("iterations, %s: from a checkpoint it holds something else", text);
    }
  return error != NULL ? g_strdup_printf ("iterations: %s", error->message) : NULL;
}

/* Of a node that both have, each iteration gives the same in both; @lowered has one in flight. */
static char *
try_iterations (IrModel *model, IrModel *lowered, GHashTable *inputs, GRand *rand)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) dense = run_iterations (model, inputs, IR_ITERATIONS_EVERY, &error);
  g_autoptr (IrRun)
      other = dense != NULL ? run_iterations (lowered, inputs, IR_ITERATIONS_EVERY, &error) : NULL;
  g_autoptr (GPtrArray) all = g_ptr_array_new ();
  guint k = 0;

  if (other == NULL)
    return g_strdup_printf ("iterations: %s", error->message);
  for (guint i = 0; i < ir_run_n_iterations_kept (other); i++)
    g_ptr_array_add (all, (gpointer) ir_run_iteration (other, i));
  for (guint i = 0; i < ir_run_n_iterations_kept (dense); i++)
    {
      const IrKeptIteration *kept = ir_run_iteration (dense, i);
      const IrValue *value = ir_model_value (dense->model, kept->value);
      const IrValue *same = ir_model_live_value (other->model, kept->value);
      if (value->producer == NULL || ir_value_constant (value) != NULL || same == NULL ||
          same->producer == NULL || value->producer->op != same->producer->op)
        continue;
      while (k < all->len && ((IrKeptIteration *) all->pdata[k])->value < kept->value)
        k++;
      const IrKeptIteration *found = k < all->len ? all->pdata[k] : NULL;
      if (found == NULL || found->value != kept->value || found->iteration != kept->iteration ||
          !ir_tensor_equal (found->tensor, kept->tensor))
        return g_strdup_printf ("iterations: %s@%" G_GINT64_FORMAT
                                "/%s is something else as a token",
                                kept->frame, kept->iteration, value->name);
      k++;
    }
  return try_names (model, inputs, dense, rand);
}

/* Whether some If, Loop, Scan or SequenceMap is left */
static gboolean
has_constructs (const IrModel *model)
{
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      if (node != NULL && node->op != NULL && (node->op->flags & IR_OP_SUBGRAPHS) != 0)
        return TRUE;
    }
  return FALSE;
}

/* (transfer full) @model written as ONNX text and read */
static IrModel *
read_again (IrModel *model)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autofree char *text = ir_text_write (model);
  IrModel *again = ir_text_read (text, -1, problems, &error);

  g_assert_no_error (error);
  return again;
}

/* Half of the constructs, by their ids */
static IrPolicyAnswer
leave_half (const char *pass,
            const char *rule,
            const IrNode *anchor,
            guint ordinal,
            const char *stable_key,
            gpointer seed)
{
  return anchor != NULL &&
                 g_direct_hash (GUINT_TO_POINTER (anchor->id ^ GPOINTER_TO_UINT (seed))) % 2
             ? IR_POLICY_SKIP
             : IR_POLICY_APPLY;
}

/* Some constructs are lowered, and those that are left, among the tokens, after them. */
static char *
try_in_parts (IrModel *model, IrRun *run, GHashTable *inputs, guint64 seed)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = test_pipeline (ir_pass_find ("lower-control-flow"));
  const IrPolicy policy = { leave_half, GUINT_TO_POINTER ((guint) seed) };
  const IrPipelineOptions options = { .max_class = IR_CLASS_EXACT,
                                      .policy = &policy,
                                      .verify = TRUE };
  g_autoptr (IrModel) part = ir_model_clone (model);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  char *found;

  ir_pipeline_run (part, pipeline, &options, NULL, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (IrModel) lowered = rewritten (part, "lower-control-flow");
  ir_graph_report_frames (lowered->main, problems);
  if (problems->len > 0)
    return g_strdup_printf ("lowered in two parts: %s",
                            ((IrProblem *) problems->pdata[0])->message);
  found = try_way (part, model, run, inputs, "half of it lowered");
  return found != NULL ? found : try_way (lowered, model, run, inputs, "lowered in two parts");
}

static guint
count_functions (const IrModel *model)
{
  guint n = 0;

  for (guint i = 1; i < model->graphs->len; i++)
    n += ((const IrGraph *) model->graphs->pdata[i])->state == IR_STATE_LIVE &&
         ((const IrGraph *) model->graphs->pdata[i])->kind == IR_GRAPH_FUNCTION;
  return n;
}

/* Back from closures: the same operators, each as often. */
static char *
try_opened (const IrModel *closures, IrModel *model, IrRun *run, GHashTable *inputs)
{
  g_autoptr (IrModel) opened = rewritten (closures, "from-closures");
  char *found = NULL;

  if (count_functions (opened) > count_functions (model) ||
      ir_model_opset (opened, "irscope.closure") != ir_model_opset (model, "irscope.closure") ||
      ir_model_opset (opened, "irscope.flow") != 0)
    return g_strdup ("from closures: some are left");
  found = find_more (model, opened, "from closures");
  if (found == NULL)
    found = find_more (opened, model, "before closures");
  return found != NULL ? found : try_way (opened, model, run, inputs, "from closures");
}

/* As functions that are values, once more as they are read from a file, and back from that. */
static char *
try_closures (IrModel *closures, IrModel *model, IrRun *run, GHashTable *inputs)
{
  g_autoptr (IrModel) read = read_again (closures);
  g_autoptr (GHashTable) read_inputs = inputs_of (model, inputs, read);
  char *found = NULL;

  if (has_constructs (closures))
    return g_strdup ("closures: constructs are left");
  found = try_way (closures, model, run, inputs, "closures");
  if (found == NULL)
    found = try_way (read, model, run, read_inputs, "closures, read again");
  return found != NULL ? found : try_opened (read, model, run, read_inputs);
}

/* Some edges of closures, and of what their functions do, are moved: that and how from-closures ends is what is
 * tried, and what it makes of a graph that runs nevertheless does the same. */
static char *
try_broken_closures (const IrModel *whole, GHashTable *inputs, GRand *rand, guint *n_ran)
{
  g_autoptr (IrModel) closures = ir_model_clone ((IrModel *) whole);
  g_autoptr (GPtrArray) nodes = g_ptr_array_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrEdit) edit = ir_edit_new_import (closures);
  const IrRunOptions options = { .backend = ir_backend_find ("ref"),
                                 .n_threads = 1,
                                 .iteration_limit = 1000 };

  for (guint i = 1; i < closures->nodes->len; i++)
    if (ir_model_live_node (closures, i) != NULL)
      g_ptr_array_add (nodes, closures->nodes->pdata[i]);
  for (gint32 i = g_rand_int_range (rand, 1, 3), tries = 0; i > 0 && tries < 100; tries++)
    {
      IrNode *node = nodes->pdata[g_rand_int_range (rand, 0, (gint32) nodes->len)];
      const IrNode *other = nodes->pdata[g_rand_int_range (rand, 0, (gint32) nodes->len)];
      if (node == other || node->graph != other->graph || node->n_inputs == 0 ||
          other->n_outputs == 0)
        continue;
      ir_edit_set_input (edit, node, (guint) g_rand_int_range (rand, 0, (gint32) node->n_inputs),
                         other->outputs[g_rand_int_range (rand, 0, (gint32) other->n_outputs)]);
      i--;
    }
  g_clear_pointer (&edit, ir_edit_free);
  g_autoptr (IrRun) run = ir_model_run (closures, inputs, &options, NULL, NULL);
  g_autoptr (IrPipeline) pipeline = test_pipeline (ir_pass_find ("from-closures"));
  g_autoptr (IrModel) opened = ir_model_clone (closures);
  if (!ir_pipeline_run (opened, pipeline, NULL, NULL, NULL, &error))
    return run != NULL ? g_strdup_printf ("from broken closures: %s", error->message) : NULL;
  *n_ran += run != NULL;
  return run != NULL ? try_way (opened, closures, run, inputs, "from broken closures") : NULL;
}

/* Two threads give the bits of one. */
static char *
try_threads (IrModel *other, IrModel *model, IrRun *run, GHashTable *inputs, const char *way)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) two = run_on (other, inputs, "ref", 2, &error);
  g_autofree char *difference = two != NULL ? test_compare (model, run, other, two, 0)
                                            : g_strdup (error->message);

  return difference != NULL ? g_strdup_printf ("%s, 2 threads: %s", way, difference) : NULL;
}

/* Whole, some iterations at a time with a loop for the rest, and some of them between two loops. */
static char *
try_unrolled (IrModel *model, IrRun *run, GHashTable *inputs, GRand *rand)
{
  gint32 by = g_rand_int_range (rand, 2, 5), first = g_rand_int_range (rand, 0, 3);
  gint32 last = g_rand_int_range (rand, first, first + 3);
  g_autofree char *divided = g_strdup_printf ("unroll-loops.by=%d", by),
                  *peeled = g_strdup_printf ("unroll-loops.peel=%d..%d", first, last);
  const char *const settings[] = { NULL, divided, peeled };
  char *found = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (settings) && found == NULL; i++)
    {
      g_autoptr (IrModel) unrolled = rewritten_as (model, "unroll-loops", settings[i]);
      found = try_way (unrolled, model, run, inputs,
                       settings[i] != NULL ? settings[i] : "unrolled");
      n_divided += i > 0 && unrolled->nodes->len > model->nodes->len;
    }
  return found;
}

static IrModel *
read_program (const char *text, char **found)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  IrModel *model = ir_text_read (text, -1, problems, &error);

  if (model == NULL || problems->len > 0)
    *found = g_strdup_printf ("the program is wrong: %s",
                              model == NULL ? error->message
                                            : ((IrProblem *) problems->pdata[0])->message);
  if (*found != NULL)
    {
      if (model != NULL)
        ir_model_unref (model);
      return NULL;
    }
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  return model;
}

/* Closures in variables and a function that calls itself compute what If and Loop do, also behind passes. */
static char *
try_functions (const char *by_functions, const char *without, guint64 seed)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed ((guint32) seed);
  g_autoptr (GString) way = g_string_new ("functions");
  char *found = NULL;
  g_autoptr (IrModel) plain = read_program (without, &found);
  g_autoptr (IrModel) model = found == NULL ? read_program (by_functions, &found) : NULL;

  if (found != NULL)
    return found;
  g_autoptr (GHashTable) inputs = test_inputs (plain, rand, FALSE),
                         same = inputs_of (plain, inputs, model);
  g_autoptr (IrRun) run = run_model (plain, inputs, "ref", &error);
  if (run == NULL)
    return g_strdup_printf ("without functions: %s", error->message);
  g_autoptr (IrModel) read = read_again (model), opened = rewritten (model, "from-closures"),
                      others = rewritten_at_random (model, rand, way);
  g_autoptr (GHashTable) read_inputs = inputs_of (plain, inputs, read);
  found = try_way (model, plain, run, same, "functions");
  if (found == NULL)
    found = try_threads (model, plain, run, same, "functions");
  if (found == NULL)
    found = try_way (read, plain, run, read_inputs, "functions, written and read");
  if (found == NULL)
    found = try_way (opened, plain, run, same, "functions, from closures");
  return found != NULL ? found : try_way (others, plain, run, same, way->str);
}

static char *
try_program (const char *text, guint64 seed, guint n_broken, guint *n_ran, guint *n_left)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = ir_text_read (text, -1, problems, &error);
  g_autoptr (GRand) rand = g_rand_new_with_seed ((guint32) seed);
  char *found = NULL;

  if (model == NULL || problems->len > 0)
    return g_strdup_printf ("the program is wrong: %s",
                            model == NULL ? error->message
                                          : ((IrProblem *) problems->pdata[0])->message);
  {
    g_autoptr (IrEdit) edit = ir_edit_new_import (model);
    ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  }
  g_autoptr (GHashTable) inputs = test_inputs (model, rand, FALSE);
  g_autoptr (IrRun) run = run_model (model, inputs, "ref", &error), on_cpu = NULL,
                    lowered_on_cpu = NULL;
  if (run == NULL)
    return g_strdup_printf ("as it is: %s", error->message);
  g_autoptr (IrModel) lowered = rewritten (model, "lower-control-flow");
  g_autoptr (IrModel) closures = rewritten (model, "to-closures");
  if (has_constructs (
          lowered)) /* a condition that the body reads, of which the rank is not known */
    {
      *n_left += 1;
      return try_way (lowered, model, run, inputs, "lowered in part");
    }
  ir_graph_report_frames (lowered->main, problems);
  if (problems->len > 0)
    return g_strdup (((IrProblem *) problems->pdata[0])->message);
  g_autoptr (IrModel) read = read_again (lowered);
  g_autoptr (GHashTable) read_inputs = inputs_of (model, inputs, read);
  found = try_way (lowered, model, run, inputs, "lowered, 10 in flight");
  if (found == NULL)
    found = try_way (read, model, run, read_inputs, "lowered, written and read");
  if (found == NULL)
    found = try_raised (read, model, run, read_inputs);
  if (found == NULL)
    found = try_rewritten (read, model, run, read_inputs, rand);
  if (found == NULL)
    found = try_in_parts (model, run, inputs, seed);
  if (found == NULL)
    found = try_closures (closures, model, run, inputs);
  if (found == NULL)
    found = try_threads (model, model, run, inputs, "as it is");
  if (found == NULL)
    found = try_threads (lowered, model, run, inputs, "lowered");
  if (found == NULL)
    found = try_unrolled (model, run, inputs, rand);
  set_parallel (read, 1);
  if (found == NULL)
    found = try_way (read, model, run, read_inputs, "lowered, 1 in flight");
  if (found == NULL)
    found = try_threads (read, model, run, read_inputs, "lowered, 1 in flight");
  if (found == NULL)
    {
      g_autoptr (IrModel) single = ir_model_clone (lowered);
      set_parallel (single, 1);
      found = try_iterations (model, single, inputs, rand);
    }
  for (guint i = 0; found == NULL && i < n_broken; i++)
    found = try_broken (lowered, inputs, rand, n_ran);
  for (guint i = 0; found == NULL && i < n_broken; i += 3)
    found = try_broken_closures (closures, inputs, rand, n_ran);
  if (found != NULL)
    return found;
  on_cpu = run_model (model, inputs, "cpu", &error);
  lowered_on_cpu = on_cpu != NULL ? run_model (lowered, inputs, "cpu", &error) : NULL;
  if (lowered_on_cpu == NULL)
    return g_strdup_printf ("on cpu: %s", error->message);
  return test_compare (model, on_cpu, lowered, lowered_on_cpu, 0);
}

int
main (int argc, char **argv)
{
  gint64 from = 1, n_graphs = 300;
  g_autofree char *write = NULL;
  guint n_found = 0, n_constructs = 0, n_ran = 0, n_left = 0;
  gint n_broken = 3;
  const GOptionEntry entries[] = {
    { "from", 0, 0, G_OPTION_ARG_INT64, &from, "First seed", "SEED" },
    { "graphs", 0, 0, G_OPTION_ARG_INT64, &n_graphs, "How many", "N" },
    { "broken", 0, 0, G_OPTION_ARG_INT, &n_broken, "How often each is broken", "N" },
    { "write", 0, 0, G_OPTION_ARG_FILENAME, &write, "Write the program of the first seed", "FILE" },
    { NULL }
  };
  g_autoptr (GOptionContext) options = g_option_context_new (NULL);
  g_autoptr (GError) error = NULL;

  g_option_context_add_main_entries (options, entries, NULL);
  if (!g_option_context_parse (options, &argc, &argv, &error))
    g_error ("%s", error->message);
  for (gint64 seed = from; seed < from + n_graphs; seed++)
    {
      guint n;
      g_autofree char *text = flow_program ((guint64) seed, &n);
      if (write != NULL)
        return g_file_set_contents (write, text, -1, NULL) ? 0 : 1;
      g_autofree char *found = try_program (text, (guint64) seed, (guint) MAX (n_broken, 0), &n_ran,
                                            &n_left);
      n_constructs += n;
      g_autofree char *functions = NULL, *without = NULL;
      flow_function_programs ((guint64) seed, &functions, &without);
      if (found == NULL && (found = try_functions (functions, without, (guint64) seed)) != NULL)
        g_print ("%s\n%s\n", functions, without);
      if (found == NULL)
        continue;
      g_print ("seed %" G_GINT64_FORMAT ": %s\n%s\n", seed, found, text);
      if (++n_found == 3)
        break;
    }
  g_print ("%" G_GINT64_FORMAT
           " programs with %u constructs, %u findings; %u were lowered in part; "
           "loops were written out in part %u times; of broken ones %u ran\n",
           n_graphs, n_constructs, n_found, n_left, n_divided, n_ran);
  return n_found > 0 || n_left > 1 + n_graphs / 500 || n_divided < n_graphs / 10;
}
