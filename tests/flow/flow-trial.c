/* A program in several ways to run it: see flow-trial.h. */
#include "config.h"

#include "tests/flow/flow-trial.h"

#include "core/exec/run/capture.h"
#include "core/exec/run/flow-state.h"
#include "core/exec/run/iterations.h"
#include "core/ir/frames.h"
#include "core/op/verify.h"
#include "tests/flow/tree-walk.h"
#include "tests/rules/pass-test.h"

#include <string.h>

/* -- runs -- */

/* By the names of inputs, as graphs that were read again have other ids */
static GHashTable *
inputs_of (const FlowTrial *trial, const IrModel *model)
{
  GHashTable *inputs = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);

  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    {
      const IrValue *input = ir_graph_input (model->main, i);
      IrTensor *tensor = g_hash_table_lookup (trial->contents, input->name);
      if (tensor != NULL)
        g_hash_table_insert (inputs, GUINT_TO_POINTER (input->id), ir_tensor_ref (tensor));
    }
  return inputs;
}

static IrRun *
run_on (
    const FlowTrial *trial, IrModel *model, const char *backend, guint n_threads, GError **error)
{
  const IrRunOptions options = { .backend = ir_backend_find (backend),
                                 .n_threads = n_threads,
                                 .deterministic = TRUE };
  g_autoptr (GHashTable) inputs = inputs_of (trial, model);

  return ir_model_run (model, inputs, &options, NULL, error);
}

/* (nullable) (transfer full) What differs from the tree walk */
static char *
differs (const FlowTrial *trial, const IrModel *model, const IrRun *run)
{
  if (ir_graph_n_outputs (model->main) != trial->expected->len)
    return g_strdup ("it has another number of outputs");
  for (guint i = 0; i < trial->expected->len; i++)
    {
      const IrValue *output = ir_graph_output (model->main, i);
      const IrTensor *tensor = ir_run_value (run, output->id);
      char *text = tensor != NULL
                       ? test_compare_tensors (output->name, trial->expected->pdata[i], tensor, 0)
                       : g_strdup_printf ("%s has no contents", output->name);
      if (text != NULL || strcmp (output->name, ir_graph_output (trial->model->main, i)->name) != 0)
        return text != NULL ? text : g_strdup_printf ("output %u is called %s", i, output->name);
    }
  return NULL;
}

/* On cpu: against the program as it is, there. */
static char *
run_cpu (const FlowTrial *trial, IrModel *model, guint n_threads)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) own = run_on (trial, trial->model, "cpu", 1, &error);
  g_autoptr (IrRun) other = own != NULL ? run_on (trial, model, "cpu", n_threads, &error) : NULL;

  return other != NULL ? test_compare (trial->model, own, model, other, 0)
                       : g_strdup (error->message);
}

static char *
run_form (const FlowTrial *trial, IrModel *model, const FlowWay *way)
{
  g_autoptr (GError) error = NULL;

  if (way->on_cpu)
    return run_cpu (trial, model, way->n_threads);
  g_autoptr (IrRun) run = run_on (trial, model, "ref", way->n_threads, &error);
  return run != NULL ? differs (trial, model, run) : g_strdup (error->message);
}

/* -- what is made of a program -- */

/* (transfer full) (nullable) @model behind @pass; NULL: @found says why */
static IrModel *
rewritten_as (const IrModel *model,
              const IrPass *pass,
              const char *setting,
              const IrPolicy *policy,
              char **found)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrPipeline) pipeline = test_pipeline (pass);
  const IrPipelineOptions options = { .max_class = IR_CLASS_EXACT,
                                      .verify = TRUE,
                                      .policy = policy };
  g_autoptr (IrModel) other = ir_model_clone ((IrModel *) model);

  if (setting != NULL && !ir_pipeline_set (pipeline, setting, &error))
    *found = g_strdup_printf ("%s: %s", setting, error->message);
  else if (!ir_pipeline_run (other, pipeline, &options, NULL, NULL, &error))
    *found = g_strdup_printf ("%s: %s", pass->name, error->message);
  return *found == NULL ? g_steal_pointer (&other) : NULL;
}

static IrModel *
rewritten (const IrModel *model, const char *pass, char **found)
{
  return model != NULL ? rewritten_as (model, ir_pass_find (pass), NULL, NULL, found) : NULL;
}

/* (transfer full) (nullable) @model written as ONNX text and read */
static IrModel *
read_again (IrModel *model, char **found)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autofree char *text = model != NULL ? ir_text_write (model) : NULL;
  IrModel *again = text != NULL ? ir_text_read (text, -1, problems, &error) : NULL;

  if (text != NULL && again == NULL)
    *found = g_strdup (error->message);
  return again;
}

static void
set_parallel (IrModel *model, gint64 parallel)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);

  for (guint i = 1; i < model->nodes->len; i++)
    {
      IrNode *node = ir_model_live_node (model, i);
      if (node != NULL && strcmp (node->op_type, "Enter") == 0)
        ir_edit_set_attr (edit, node,
                          ir_attr_int (model->context, "parallel_iterations", parallel));
    }
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

static guint
count_functions (const IrModel *model)
{
  guint n = 0;

  for (guint i = 1; i < model->graphs->len; i++)
    n += ((const IrGraph *) model->graphs->pdata[i])->state == IR_STATE_LIVE &&
         ((const IrGraph *) model->graphs->pdata[i])->kind == IR_GRAPH_FUNCTION;
  return n;
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
find_more (const IrModel *before, const IrModel *after)
{
  g_autoptr (GHashTable) counts = count_operators (before), more = count_operators (after);
  GHashTableIter iter;
  gpointer op, n;

  g_hash_table_iter_init (&iter, more);
  while (g_hash_table_iter_next (&iter, &op, &n))
    if (GPOINTER_TO_UINT (g_hash_table_lookup (counts, op)) < GPOINTER_TO_UINT (n))
      return g_strdup_printf ("%u times %s, more than before", GPOINTER_TO_UINT (n),
                              ((const IrOp *) op)->name);
  return NULL;
}

/* (transfer none) (nullable) */
static IrModel *
lowered (FlowTrial *trial, char **found)
{
  if (trial->lowered == NULL)
    trial->lowered = rewritten (trial->model, "lower-control-flow", found);
  return trial->lowered;
}

static IrModel *
closures (FlowTrial *trial, char **found)
{
  if (trial->closures == NULL)
    trial->closures = rewritten (trial->model, "to-closures", found);
  return trial->closures;
}

/* @found: what frames say of it */
static void
report_frames (const IrModel *model, gboolean warnings, char **found)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  ir_graph_report_frames (model->main, problems);
  for (guint i = 0; i < problems->len && *found == NULL; i++)
    {
      const IrProblem *problem = problems->pdata[i];
      if (warnings || problem->severity == IR_SEVERITY_ERROR)
        *found = g_strdup (problem->message);
    }
}

/* -- forms -- */

typedef IrModel *(*MakeForm) (FlowTrial *trial, GRand *rand, char **found);

static IrModel *
make_as_it_is (FlowTrial *trial, GRand *rand, char **found)
{
  return ir_model_clone (trial->model);
}

static IrModel *
make_read (FlowTrial *trial, GRand *rand, char **found)
{
  return read_again (trial->model, found);
}

static IrModel *
make_lowered (FlowTrial *trial, GRand *rand, char **found)
{
  IrModel *model = lowered (trial, found);

  if (model != NULL && !has_constructs (model))
    report_frames (model, TRUE, found);
  return model != NULL ? ir_model_clone (model) : NULL;
}

static IrModel *
make_single (FlowTrial *trial, GRand *rand, char **found)
{
  IrModel *model = make_lowered (trial, rand, found);

  if (model != NULL)
    set_parallel (model, 1);
  return model;
}

static IrModel *
make_lowered_read (FlowTrial *trial, GRand *rand, char **found)
{
  return read_again (lowered (trial, found), found);
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

static IrModel *
make_half (FlowTrial *trial, GRand *rand, char **found)
{
  const IrPolicy policy = { leave_half, GUINT_TO_POINTER ((guint) trial->seed) };

  return rewritten_as (trial->model, ir_pass_find ("lower-control-flow"), NULL, &policy, found);
}

/* Some constructs are lowered, and those that are left, among the tokens, after them. */
static IrModel *
make_in_parts (FlowTrial *trial, GRand *rand, char **found)
{
  g_autoptr (IrModel) part = make_half (trial, rand, found);
  IrModel *model = rewritten (part, "lower-control-flow", found);

  if (model != NULL)
    report_frames (model, TRUE, found);
  return model;
}

/* Loops, and how many of them are given a condition */
static guint
count_loops (const IrModel *model, guint *n_conditions)
{
  guint n = 0;

  *n_conditions = 0;
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      if (node == NULL || !ir_node_is (node, "Loop"))
        continue;
      n++;
      *n_conditions += ir_node_input (node, 1) != NULL;
    }
  return n;
}

/* Back to If and Loop, from the primitives alone: by no other operators. Outputs that nobody reads are not
 * lowered, so what they alone need does not come back. */
static IrModel *
make_raised (FlowTrial *trial, GRand *rand, char **found)
{
  g_autoptr (IrModel) read = make_lowered_read (trial, rand, found);
  IrModel *model = rewritten (read, "raise-control-flow", found);
  guint n_before, n_after;

  if (model == NULL || has_constructs (lowered (trial, found)))
    return model;
  if (ir_graph_has_tokens (model->main) || ir_model_opset (model, "irscope.flow") != 0)
    *found = g_strdup ("primitives are left");
  else
    *found = find_more (trial->model, model);
  if (*found == NULL && count_loops (model, &n_after) == count_loops (trial->model, &n_before) &&
      n_after != n_before)
    *found = g_strdup_printf ("%u loops have a condition, and had %u", n_after, n_before);
  return model;
}

static IrModel *
make_closures (FlowTrial *trial, GRand *rand, char **found)
{
  IrModel *model = closures (trial, found);

  if (model != NULL && has_constructs (model) && count_functions (trial->model) == 0)
    *found = g_strdup ("constructs are left");
  return model != NULL ? ir_model_clone (model) : NULL;
}

static IrModel *
make_closures_read (FlowTrial *trial, GRand *rand, char **found)
{
  return read_again (closures (trial, found), found);
}

/* Back from closures: the same operators, each as often. */
static IrModel *
make_opened (FlowTrial *trial, GRand *rand, char **found)
{
  g_autoptr (IrModel) read = make_closures_read (trial, rand, found);
  IrModel *model = rewritten (read, "from-closures", found);

  if (model == NULL || count_functions (trial->model) > 0)
    return model;
  if (count_functions (model) > 0 || ir_model_opset (model, "irscope.closure") != 0 ||
      ir_model_opset (model, "irscope.flow") != 0)
    *found = g_strdup ("some are left");
  if (*found == NULL)
    *found = find_more (trial->model, model);
  if (*found == NULL)
    *found = find_more (model, trial->model);
  return model;
}

static IrModel *
make_from_functions (FlowTrial *trial, GRand *rand, char **found)
{
  return rewritten (trial->model, "from-closures", found);
}

static IrModel *
unrolled_as (const FlowTrial *trial, const char *setting, char **found)
{
  return rewritten_as (trial->model, ir_pass_find ("unroll-loops"), setting, NULL, found);
}

static IrModel *
make_unrolled (FlowTrial *trial, GRand *rand, char **found)
{
  return unrolled_as (trial, NULL, found);
}

static IrModel *
make_divided (FlowTrial *trial, GRand *rand, char **found)
{
  g_autofree char *setting = g_strdup_printf ("unroll-loops.by=%d", g_rand_int_range (rand, 2, 5));

  return unrolled_as (trial, setting, found);
}

static IrModel *
make_peeled (FlowTrial *trial, GRand *rand, char **found)
{
  const gint32 first = g_rand_int_range (rand, 0, 3),
               last = g_rand_int_range (rand, first, first + 3);
  g_autofree char *setting = g_strdup_printf ("unroll-loops.peel=%d..%d", first, last);

  return unrolled_as (trial, setting, found);
}

/* -- values of iterations -- */

static IrRun *
run_iterations (const FlowTrial *trial, IrModel *model, IrIterationsKind kind, GError **error)
{
  const IrRunOptions options = { .backend = ir_backend_find ("ref"),
                                 .n_threads = 1,
                                 .capture = kind == IR_ITERATIONS_EVERY ? IR_CAPTURE_ALL
                                                                        : IR_CAPTURE_NONE,
                                 .iterations = { kind, 1, 0, NULL } };
  g_autoptr (GHashTable) inputs = inputs_of (trial, model);

  return ir_model_run (model, inputs, &options, NULL, error);
}

/* Some values of iterations by their names, from a run that has kept checkpoints alone. @dense: (nullable): one that has
 * kept them all */
static char *
try_names (const FlowTrial *trial, IrModel *model, IrRun *dense, GRand *rand)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) own = dense == NULL ? run_iterations (trial, model, IR_ITERATIONS_EVERY, &error)
                                        : ir_run_ref (dense);

  if (own == NULL)
    return g_strdup (error->message);
  dense = own;
  const guint n = ir_run_n_iterations_kept (dense);
  g_autoptr (IrRun)
      sparse = n > 0 ? run_iterations (trial, model, IR_ITERATIONS_CHECKPOINTS, &error) : NULL;

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
        return g_strdup_printf ("%s: %s", text, error->message);
      if (!ir_tensor_equal (tensor, kept->tensor))
        return g_strdup_printf ("%s: from a checkpoint it holds something else", text);
    }
  return error != NULL ? g_strdup (error->message) : NULL;
}

static gboolean
same_event (const IrFlowEvent *event, const IrFlowEvent *as)
{
  return event->index == as->index && event->kind == as->kind && event->node == as->node &&
         event->iteration == as->iteration && event->slot == as->slot &&
         g_str_equal (event->frame, as->frame);
}

/* An iteration of a loop, played once more from a checkpoint: events are those of the run. */
static char *
try_part (const FlowTrial *trial, IrModel *model, GRand *rand)
{
  const IrFlowFilter filter = { .to = G_MAXUINT64, .iteration = -1 };
  const IrRunOptions options = { .backend = ir_backend_find ("ref"),
                                 .iterations = { .kind = IR_ITERATIONS_CHECKPOINTS } };
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = inputs_of (trial, model);
  g_autoptr (IrFlowLog) log = ir_flow_log_new (&filter), part = NULL;
  g_autoptr (IrRun) run = ir_flow_log_run (log, model, inputs, &options, NULL, &error);
  const GArray *frames = ir_flow_log_frames (log), *all = ir_flow_log_events (log);
  const IrFlowFrame *frame = frames->len > 0
                                 ? &g_array_index (frames, IrFlowFrame,
                                                   g_rand_int_range (rand, 0, (gint32) frames->len))
                                 : NULL;
  const IrNodeId loop = run != NULL && frame != NULL ? ir_flow_log_outer_loop (log, frame->name)
                                                     : 0;

  if (loop == 0)
    return run == NULL ? g_strdup (error->message) : NULL;
  const gint32 at = g_rand_int_range (rand, 0, (gint32) frame->n_iterations);
  part = ir_flow_log_replay (log, loop, at, at, G_MAXINT, NULL, &error);
  const GArray *events = part != NULL ? ir_flow_log_events (part) : NULL;
  if (events == NULL || events->len == 0)
    return g_strdup_printf ("%s@%d: %s", frame->name, at,
                            error != NULL ? error->message : "no events");
  for (guint i = 0; i < events->len; i++)
    {
      const IrFlowEvent *event = &g_array_index (events, IrFlowEvent, i);
      if (event->index >= all->len ||
          !same_event (event, &g_array_index (all, IrFlowEvent, event->index)))
        return g_strdup_printf ("%s@%d: event %u is something else from a checkpoint", frame->name,
                                at, (guint) event->index);
    }
  return NULL;
}

/* (nullable) What @all has of @kept's value in its iteration; @k: where to look from */
static const IrKeptIteration *
same_iteration (const GPtrArray *all, const IrKeptIteration *kept, guint *k)
{
  while (*k < all->len && ((const IrKeptIteration *) all->pdata[*k])->value < kept->value)
    ++*k;
  const IrKeptIteration *found = *k < all->len ? all->pdata[*k] : NULL;
  return found != NULL && found->value == kept->value && found->iteration == kept->iteration ? found
                                                                                             : NULL;
}

/* Of a node that both have, each iteration gives the same in both; lowered, one is in flight. */
static char *
try_iterations (FlowTrial *trial, GRand *rand, char **found)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) single = make_single (trial, rand, found);
  g_autoptr (IrRun) dense = single != NULL
                                ? run_iterations (trial, trial->model, IR_ITERATIONS_EVERY, &error)
                                : NULL;
  g_autoptr (IrRun)
      other = dense != NULL ? run_iterations (trial, single, IR_ITERATIONS_EVERY, &error) : NULL;
  g_autoptr (GPtrArray) all = g_ptr_array_new ();
  guint k = 0;

  if (other == NULL)
    return single != NULL ? g_strdup (error->message) : NULL;
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
      const IrKeptIteration *there = same_iteration (all, kept, &k);
      if (there == NULL || !ir_tensor_equal (there->tensor, kept->tensor))
        return g_strdup_printf ("%s@%" G_GINT64_FORMAT "/%s is something else as a token",
                                kept->frame, kept->iteration, value->name);
      k++;
    }
  char *differs = try_names (trial, trial->model, dense, rand);
  if (differs == NULL && g_rand_boolean (rand))
    return try_names (trial, single, other, rand);
  g_autoptr (IrModel) several = differs == NULL ? make_lowered (trial, rand, found) : NULL;
  if (several != NULL)
    differs = try_names (trial, several, NULL, rand);
  return differs == NULL && several != NULL ? try_part (trial, several, rand) : differs;
}

/* -- ways -- */

typedef struct
{
  const char *name;
  MakeForm make; /* NULL: values of iterations */
  gboolean tokens;
} Form;

static const Form forms[] = {
  { "as it is", make_as_it_is },
  { "written and read", make_read },
  { "lowered", make_lowered, TRUE },
  { "lowered, 1 in flight", make_single, TRUE },
  { "lowered, written and read", make_lowered_read, TRUE },
  { "half of it lowered", make_half, TRUE },
  { "lowered in two parts", make_in_parts, TRUE },
  { "raised", make_raised },
  { "closures", make_closures },
  { "closures, written and read", make_closures_read },
  { "closures and back", make_opened },
  { "from closures", make_from_functions },
  { "unrolled", make_unrolled },
  { "written out in part", make_divided },
  { "peeled", make_peeled },
  { "iterations", NULL },
};

guint
flow_n_forms (void)
{
  return G_N_ELEMENTS (forms);
}

const char *
flow_form_name (guint form)
{
  return forms[form].name;
}

void
flow_way_clear (FlowWay *way)
{
  g_clear_pointer (&way->passes, g_ptr_array_unref);
}

char *
flow_way_to_string (const FlowWay *way)
{
  GString *text = g_string_new (forms[way->form].name);

  for (guint i = 0; i < way->passes->len; i++)
    g_string_append_printf (text, ", %s", ((const IrPass *) way->passes->pdata[i])->name);
  g_string_append_printf (text, "%s%s", way->on_cpu ? ", on cpu" : "",
                          way->n_threads > 1 ? ", 2 threads" : "");
  return g_string_free (text, FALSE);
}

/* The forms in turn, in an order that the seed shuffles; a third each behind passes, and on cpu, where passes do
 * not keep bits. */
void
flow_way_draw (FlowWay *way, guint64 seed, guint index)
{
  const guint32 seeds[] = { (guint32) seed, (guint32) (seed >> 32), index };
  g_autoptr (GRand) rand = g_rand_new_with_seed_array (seeds, G_N_ELEMENTS (seeds));
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  way->form = (guint) ((seed * 5 + index * 7) % G_N_ELEMENTS (forms));
  way->passes = g_ptr_array_new ();
  way->seed = g_rand_int (rand);
  way->n_threads = 1;
  if (forms[way->form].make == NULL)
    return;
  way->n_threads += (guint) g_rand_int_range (rand, 0, 2);
  const gint32 where = g_rand_int_range (rand, 0, 3);
  way->on_cpu = where == 1;
  while (where == 2 && way->passes->len < FLOW_PASSES)
    {
      const IrPass *pass = passes[g_rand_int_range (rand, 0, (gint32) n)];
      if (!pass->once)
        g_ptr_array_add (way->passes, (gpointer) pass);
    }
}

/* -- trials -- */

static void
draw_contents (FlowTrial *trial)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed ((guint32) trial->seed);
  g_autoptr (GHashTable) inputs = test_inputs (trial->model, rand, FALSE);

  trial->contents = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                           (GDestroyNotify) ir_tensor_unref);
  for (guint i = 0; i < ir_graph_n_inputs (trial->model->main); i++)
    {
      const IrValue *input = ir_graph_input (trial->model->main, i);
      IrTensor *tensor = g_hash_table_lookup (inputs, GUINT_TO_POINTER (input->id));
      if (tensor != NULL)
        g_hash_table_insert (trial->contents, g_strdup (input->name), ir_tensor_ref (tensor));
    }
}

void
flow_trial_init (FlowTrial *trial, const IrModel *model, GHashTable *contents, guint64 seed)
{
  g_autoptr (IrEdit) edit = NULL;

  *trial = (FlowTrial){ .model = ir_model_clone ((IrModel *) model), .seed = seed };
  edit = ir_edit_new_import (trial->model);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  if (contents != NULL)
    trial->contents = g_hash_table_ref (contents);
  else
    draw_contents (trial);
}

void
flow_trial_clear (FlowTrial *trial)
{
  g_clear_pointer (&trial->model, ir_model_unref);
  g_clear_pointer (&trial->lowered, ir_model_unref);
  g_clear_pointer (&trial->closures, ir_model_unref);
  g_clear_pointer (&trial->contents, g_hash_table_unref);
  g_clear_pointer (&trial->expected, g_ptr_array_unref);
}

/* Among tokens passes keep what is live and what is dead; what they made is raised as far as it goes. */
static char *
try_tokens (const FlowTrial *trial, const IrModel *model, const FlowWay *way)
{
  char *found = NULL;

  /* Not warnings: what a pass made of a condition may be more than frames can tell of it. */
  report_frames (model, FALSE, &found);
  g_autoptr (IrModel) raised = found == NULL ? rewritten (model, "raise-control-flow", &found)
                                             : NULL;
  if (raised != NULL)
    found = run_form (trial, raised, way);
  if (found == NULL)
    return NULL;
  char *text = g_strdup_printf ("and raised: %s", found);
  g_free (found);
  return text;
}

static char *
try_way (FlowTrial *trial, const FlowWay *way, FlowCounts *counts)
{
  const Form *form = &forms[way->form];
  g_autoptr (GRand) rand = g_rand_new_with_seed (way->seed);
  char *found = NULL;

  if (form->make == NULL && count_functions (trial->model) > 0)
    return NULL;
  if (form->make == NULL)
    {
      char *differs = try_iterations (trial, rand, &found);
      return found != NULL ? found : differs;
    }
  IrModel *model = form->make (trial, rand, &found);
  counts->n_divided += model != NULL && (form->make == make_divided || form->make == make_peeled) &&
                       model->nodes->len > trial->model->nodes->len;
  for (guint i = 0; i < way->passes->len && found == NULL; i++)
    {
      IrModel *next = rewritten_as (model, way->passes->pdata[i], NULL, NULL, &found);
      ir_model_unref (model);
      model = next;
    }
  if (found == NULL)
    found = run_form (trial, model, way);
  if (found == NULL && form->tokens && way->passes->len > 0)
    found = try_tokens (trial, model, way);
  g_clear_pointer (&model, ir_model_unref);
  return found;
}

static char *
check_walk (FlowTrial *trial)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = inputs_of (trial, trial->model);

  if (trial->expected == NULL)
    trial->expected = tree_walk (trial->model, inputs, &error);
  return trial->expected == NULL ? g_strdup (error->message) : NULL;
}

char *
flow_trial_check (FlowTrial *trial, const FlowWay *way, FlowCounts *counts)
{
  g_autofree char *found = check_walk (trial),
                  *title = way != NULL ? flow_way_to_string (way) : NULL;

  if (found == NULL && way != NULL)
    found = try_way (trial, way, counts);
  if (way != NULL)
    counts->runs[way->form][2 * (way->passes->len > 0 ? 1
                                 : way->on_cpu        ? 2
                                                      : 0) +
                            way->n_threads - 1]++;
  return found != NULL ? g_strdup_printf ("%s: %s", title != NULL ? title : "tree walk", found)
                       : NULL;
}

/* -- broken graphs -- */

/* Lets an input of @node read an output of @other. Returns: whether that could be */
static gboolean
move_edge (IrEdit *edit, IrNode *node, const IrNode *other, GRand *rand)
{
  if (node->n_inputs == 0 || other->n_outputs == 0 || node->graph != other->graph)
    return FALSE;
  ir_edit_set_input (edit, node, (guint) g_rand_int_range (rand, 0, (gint32) node->n_inputs),
                     other->outputs[g_rand_int_range (rand, 0, (gint32) other->n_outputs)]);
  return TRUE;
}

/* An Exit or a NextIteration goes, and two frames become one. Returns: whether @node is such */
static gboolean
break_frame (IrEdit *edit, IrNode *node, const IrNode *other)
{
  const IrTokens rule = ir_node_tokens (node);

  if (rule == IR_TOKENS_ENTER && ir_node_tokens (other) == IR_TOKENS_ENTER)
    ir_edit_set_attr (edit, node, ir_node_attr (other, "frame_name"));
  else if ((rule == IR_TOKENS_EXIT || rule == IR_TOKENS_NEXT_ITERATION) && node->inputs[0] != NULL)
    {
      ir_edit_replace_uses (edit, node->outputs[0], node->inputs[0]);
      if (!ir_node_has_control_uses (node))
        ir_edit_remove_node (edit, node);
    }
  else
    return FALSE;
  return TRUE;
}

static gboolean
break_tokens (IrEdit *edit, IrNode *node, const IrNode *other, GRand *rand)
{
  switch (g_rand_int_range (rand, 0, 6))
    {
    case 0:
      if (node != other)
        ir_edit_add_control (edit, node, (IrNode *) other);
      return node != other;
    case 1:
      return break_frame (edit, node, other);
    default:
      return move_edge (edit, node, other, rand);
    }
}

/* Moves edges between some of its nodes; of tokens breaks frames as well, and lets nodes wait for others. */
static void
break_graph (IrModel *model, guint n, gboolean tokens, GRand *rand)
{
  g_autoptr (IrEdit) edit = ir_edit_new_import (model);
  g_autoptr (GPtrArray) nodes = g_ptr_array_new ();

  for (guint i = 1; i < model->nodes->len; i++)
    {
      IrNode *node = ir_model_live_node (model, i);
      if (node != NULL && (!tokens || node->graph == model->main))
        g_ptr_array_add (nodes, node);
    }
  for (guint tries = 0; n > 0 && tries < 100; tries++)
    {
      IrNode *node = nodes->pdata[g_rand_int_range (rand, 0, (gint32) nodes->len)];
      const IrNode *other = nodes->pdata[g_rand_int_range (rand, 0, (gint32) nodes->len)];
      if (node->state != IR_STATE_LIVE || other->state != IR_STATE_LIVE)
        continue;
      if (tokens ? break_tokens (edit, node, other, rand)
                 : node != other && move_edge (edit, node, other, rand))
        n--;
    }
}

static IrRun *
run_limited (const FlowTrial *trial, IrModel *model, GError **error)
{
  const IrRunOptions options = { .backend = ir_backend_find ("ref"),
                                 .n_threads = 1,
                                 .iteration_limit = 1000 };
  g_autoptr (GHashTable) inputs = inputs_of (trial, model);

  return ir_model_run (model, inputs, &options, NULL, error);
}

/* (nullable) (transfer full) What is wrong; that it ends is what is tried. */
static char *
try_broken_tokens (const FlowTrial *trial, const IrModel *whole, GRand *rand, FlowCounts *counts)
{
  g_autoptr (IrModel) model = ir_model_clone ((IrModel *) whole);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;

  break_graph (model, (guint) g_rand_int_range (rand, 1, 4), TRUE, rand);
  ir_verify_model (model, problems);
  g_autoptr (IrRun) run = run_limited (trial, model, &error);
  counts->n_ran += run != NULL;
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

/* How from-closures ends is tried, too. What it makes of a graph that runs nevertheless does the same: where types that
 * are not known before a function is called do not fit, it is refused. */
static char *
try_broken_closures (const FlowTrial *trial, const IrModel *whole, GRand *rand, FlowCounts *counts)
{
  g_autoptr (IrModel) model = ir_model_clone ((IrModel *) whole);
  g_autoptr (GError) error = NULL;
  char *found = NULL;

  break_graph (model, (guint) g_rand_int_range (rand, 1, 3), FALSE, rand);
  g_autoptr (IrRun) run = run_limited (trial, model, NULL);
  counts->n_ran += run != NULL;
  g_autoptr (IrModel) opened = rewritten (model, "from-closures", &found);
  if (run == NULL)
    {
      g_free (found);
      return NULL;
    }
  g_autoptr (IrRun) other = opened != NULL ? run_on (trial, opened, "ref", 1, &error) : NULL;
  if (found != NULL)
    return found;
  if (other != NULL)
    return test_compare (model, run, opened, other, 0);
  return g_strdup (error->message);
}

char *
flow_trial_check_broken (FlowTrial *trial, guint n, FlowCounts *counts)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed ((guint32) trial->seed + 1);
  char *found = NULL;
  const IrModel *tokens = lowered (trial, &found), *functions = closures (trial, &found);

  counts->n_left += tokens != NULL && has_constructs (tokens);
  for (guint i = 0; i < n && found == NULL; i++)
    {
      found = try_broken_tokens (trial, tokens, rand, counts);
      if (found == NULL && i % 3 == 0)
        found = try_broken_closures (trial, functions, rand, counts);
      counts->n_broken += 1 + (i % 3 == 0);
    }
  if (found == NULL)
    return NULL;
  g_autofree char *what = found;
  return g_strdup_printf ("broken: %s", what);
}
