#include "config.h"

#include "tests/fuzz/graph-trial.h"

#include "core/io/io.h"
#include "core/op/infer.h"
#include "tests/fuzz/disturb.h"

#include <math.h>
#include <string.h>

#define N_DISTURBED 16

static const char *const pipelines[GRAPH_N_PIPELINES] = {
  [GRAPH_PIPELINE_BASIC] = "basic",     [GRAPH_PIPELINE_DEFAULT] = "default",
  [GRAPH_PIPELINE_CANONICAL] = "canonical", [GRAPH_PIPELINE_RANDOM] = "random",
  [GRAPH_PIPELINE_ONE] = "one-pass",
};

const char *
graph_pipeline_name (GraphPipeline pipeline)
{
  return pipelines[pipeline];
}

/* -- drawing -- */

/* Every set of ways is as likely as every other one, and so is every pair. */
static void
draw_ways (GraphTrial *trial, GRand *rand)
{
  guint n, at[MAX_WAYS];
  const Way *ways = graph_ways (&n);

  for (guint i = 0; i < n; i++)
    at[i] = i;
  for (guint i = 0; i < GRAPH_WAYS; i++)
    {
      guint k = (guint) g_rand_int_range (rand, (gint) i, (gint) n), swap = at[i];
      at[i] = at[k];
      at[k] = swap;
      trial->ways[i] = &ways[at[i]];
    }
}

static void
draw_pipeline (GraphTrial *trial, GRand *rand)
{
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  trial->pipeline = (GraphPipeline) g_rand_int_range (rand, 0, GRAPH_N_PIPELINES);
  trial->max_class = g_rand_int_range (rand, 0, 4) == 0 ? IR_CLASS_EXACT : IR_CLASS_ROUNDING;
  trial->passes = g_ptr_array_new ();
  trial->max_iterations = 8;
  if (trial->pipeline == GRAPH_PIPELINE_ONE)
    {
      const IrPass *pass = passes[g_rand_int_range (rand, 0, (gint) n)];
      g_ptr_array_add (trial->passes, (gpointer) (pass->once ? passes[0] : pass));
    }
  else if (trial->pipeline == GRAPH_PIPELINE_RANDOM)
    {
      for (guint i = 0; i < n; i++)
        if (strcmp (passes[i]->name, IR_PASS_UPGRADE_OPSET) != 0 && !passes[i]->once)
          g_ptr_array_insert (trial->passes,
                              g_rand_int_range (rand, 0, (gint) trial->passes->len + 1),
                              (gpointer) passes[i]);
      g_ptr_array_set_size (trial->passes,
                            g_rand_int_range (rand, 1, (gint) trial->passes->len + 1));
    }
  else
    {
      g_autoptr (IrPipeline) pipeline = ir_pipeline_load (pipelines[trial->pipeline], NULL);
      g_ptr_array_extend (trial->passes, pipeline->passes, NULL, NULL);
      trial->max_iterations = pipeline->max_iterations;
    }
}

void
graph_trial_init (GraphTrial *trial, guint32 seed, const GraphFamily *family)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed ^ 0x3a95u);

  *trial = (GraphTrial){ .seed = seed };
  draw_ways (trial, rand);
  draw_pipeline (trial, rand);
  graph_init (&trial->graph, seed, family);
}

void
graph_trial_clear (GraphTrial *trial)
{
  graph_clear (&trial->graph);
  g_clear_pointer (&trial->passes, g_ptr_array_unref);
}

/* -- node by node -- */

static const IrTensor *
held (const IrValue *value, gpointer data)
{
  const IrTensor *tensor = g_hash_table_lookup (data, value);
  return tensor != NULL ? tensor : ir_value_constant (value);
}

static gboolean
evaluate_node (const IrNode *node, GHashTable *tensors)
{
  IrEvalOptions options = { .backend = ir_backend_find ("ref"), .contents = held, .data = tensors };
  g_autofree const IrTensor **in = g_new0 (const IrTensor *, node->n_inputs + 1);
  g_autofree IrTensor **out = g_new0 (IrTensor *, node->n_outputs + 1);

  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && (in[i] = held (node->inputs[i], tensors)) == NULL)
      return FALSE;
  if (!ir_eval_node_with (node, in, out, &options, NULL))
    return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (out[i] != NULL && node->outputs[i] != NULL)
      g_hash_table_insert (tensors, node->outputs[i], out[i]);
    else
      g_clear_pointer (&out[i], ir_tensor_unref);
  return TRUE;
}

gboolean
graph_trial_replace (GraphTrial *trial, IrModel *model)
{
  g_autoptr (GHashTable)
      tensors = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (model->main);

  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    {
      IrValue *value = ir_graph_input (model->main, i);
      if (value->type == NULL || !ir_type_is_tensor (value->type) ||
          !ir_type_has_rank (value->type))
        return FALSE;
      g_hash_table_insert (tensors, value, graph_input_contents (value, trial->seed, 0));
    }
  for (guint i = 0; i < nodes->len; i++)
    if (!evaluate_node (nodes->pdata[i], tensors))
      return FALSE;
  trial->graph.model = model;
  g_ptr_array_set_size (trial->graph.outputs, 0);
  for (guint i = 0; i < ir_graph_n_outputs (model->main); i++)
    {
      const IrTensor *tensor = held (ir_graph_output (model->main, i), tensors);
      if (tensor == NULL)
        return FALSE;
      g_ptr_array_add (trial->graph.outputs, ir_tensor_ref ((IrTensor *) tensor));
    }
  return TRUE;
}

/* -- the forms that ways want -- */

static IrModel *
optimized (const GraphTrial *trial, char **wrong)
{
  IrModel *model = ir_model_clone (trial->graph.model);
  IrPipeline pipeline = { (char *) "fuzz", (char *) "", (char *) "", trial->passes,
                          trial->max_iterations };
  IrPipelineOptions options = { .max_class = trial->max_class };
  IrPipelineResult result = { 0 };
  g_autoptr (GError) error = NULL;

  if (ir_pipeline_run (model, &pipeline, &options, &result, NULL, &error))
    return model;
  /* An upgrade that a node cannot follow says so, and takes back what it did. */
  if (strstr (error->message, "cannot be upgraded") != NULL)
    return model;
  *wrong = g_strdup_printf ("pipeline: %s", error->message);
  ir_model_unref (model);
  return NULL;
}

static IrModel *
read_back (const GraphTrial *trial, char **wrong)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = ir_onnx_write_bytes (trial->graph.model, &error);
  IrModel *copy = bytes != NULL ? ir_onnx_read_bytes (bytes, NULL, NULL, &error) : NULL;

  if (copy == NULL)
    {
      *wrong = g_strdup_printf ("file: %s", error->message);
      return NULL;
    }
  g_autoptr (IrEdit) edit = ir_edit_new_import (copy);
  ir_infer_model (edit, IR_INFER_DEFAULT, NULL);
  return copy;
}

static IrModel *
in_form (const GraphTrial *trial, WayForm form, char **wrong)
{
  static IrModel *(*const makers[]) (const GraphTrial *, char **) = {
    [WAY_OPTIMIZED] = optimized,
    [WAY_READ_BACK] = read_back,
  };
  return form == WAY_AS_IT_IS ? ir_model_ref (trial->graph.model) : makers[form](trial, wrong);
}

/* -- how far rounding may carry -- */

static IrRun *
run_captured (IrModel *model, GHashTable *inputs)
{
  IrRunOptions options = { .backend = ir_backend_find ("ref"),
                           .n_threads = 1,
                           .capture = IR_CAPTURE_ALL,
                           .memory_limit = 256 << 20 };
  return ir_model_run (model, inputs, &options, NULL, NULL);
}

IrRun *
graph_trial_captured (const GraphTrial *trial)
{
  g_autoptr (GHashTable) inputs = graph_inputs (trial->graph.model, trial->seed, 0);
  return run_captured (trial->graph.model, inputs);
}

typedef struct
{
  GPtrArray *models, *runs;
} Disturbed;

static void
disturbed_clear (Disturbed *disturbed)
{
  g_clear_pointer (&disturbed->runs, g_ptr_array_unref);
  g_clear_pointer (&disturbed->models, g_ptr_array_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Disturbed, disturbed_clear)

/* Several runs with small disturbances, which grow, so that what may flip flips in one of them. */
static void
disturbed_make (Disturbed *disturbed, const GraphTrial *trial)
{
  g_autoptr (GHashTable) inputs = graph_inputs (trial->graph.model, trial->seed, 0);
  g_autoptr (IrRun) captured = run_captured (trial->graph.model, inputs);
  g_autoptr (GRand) rand = g_rand_new_with_seed (trial->seed);

  disturbed->models = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_model_unref);
  disturbed->runs = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_run_unref);
  for (guint i = 0; i < N_DISTURBED && captured != NULL; i++)
    {
      double amount = 1 << i % 4;
      g_autoptr (GHashTable) changed = disturb_inputs (inputs, rand, amount);
      IrModel *model = disturb_model (trial->graph.model, captured, rand, amount);
      IrRun *run = run_captured (model, changed);

      if (run == NULL)
        {
          ir_model_unref (model);
          continue;
        }
      g_ptr_array_add (disturbed->models, model);
      g_ptr_array_add (disturbed->runs, run);
    }
}

/* Within what no graph can be expected to hold more closely. */
static gboolean
is_close (const IrTensor *a, const IrTensor *b)
{
  IrDtype dtype = ir_tensor_dtype (a);
  double scale = 0, bound = (ir_dtype_bits (dtype) < 32 ? 4 : 32) * disturb_epsilon (dtype);

  if (!ir_dtype_is_float (dtype))
    return ir_tensor_equal (a, b);
  for (guint64 i = 0; i < ir_tensor_n_elements (a); i++)
    {
      double x = fabs (ir_tensor_get_double (a, i));
      if (isfinite (x))
        scale = fmax (scale, x);
    }
  for (guint64 i = 0; i < ir_tensor_n_elements (a); i++)
    {
      double x = ir_tensor_get_double (a, i), y = ir_tensor_get_double (b, i);
      if (x != y && !(fabs (x - y) <= bound * scale))
        return FALSE;
    }
  return TRUE;
}

static char *
compare_disturbed (const GraphTrial *trial,
                   guint output,
                   const IrTensor *found,
                   Disturbed *disturbed,
                   GraphJudgement *judgement)
{
  const char *name = ir_graph_output (trial->graph.model->main, output)->name;
  IrTensor *others[N_DISTURBED];
  gboolean sensitive;

  if (disturbed->runs == NULL)
    disturbed_make (disturbed, trial);
  if (disturbed->runs->len < N_DISTURBED / 2)
    {
      judgement->n_sensitive++;
      return NULL;
    }
  for (guint i = 0; i < disturbed->runs->len; i++)
    {
      const IrModel *model = disturbed->models->pdata[i];
      others[i] = ir_run_value (disturbed->runs->pdata[i],
                                ir_graph_output (model->main, output)->id);
    }
  char *differs = compare_roughly (name, trial->graph.outputs->pdata[output], found, others,
                                   disturbed->runs->len, &sensitive);
  judgement->n_disturbed += !sensitive;
  judgement->n_sensitive += sensitive;
  return differs;
}

/* -- judging -- */

static char *
compare_with_reference (const GraphTrial *trial,
                        const Way *way,
                        GPtrArray *outputs,
                        Disturbed *disturbed,
                        GraphJudgement *judgement)
{
  const IrGraph *graph = trial->graph.model->main;

  for (guint i = 0; i < outputs->len; i++)
    {
      const IrTensor *a = trial->graph.outputs->pdata[i], *b = outputs->pdata[i];
      const char *name = ir_graph_output (graph, i)->name;
      char *found = NULL;

      if (a == NULL || b == NULL || !same_form (a, b))
        return g_strdup_printf ("form: the type of %s", name);
      if (way->bits == WAY_BITS_REFERENCE)
        found = compare_exactly (name, a, b);
      else if (is_close (a, b))
        judgement->n_close++;
      else
        found = compare_disturbed (trial, i, b, disturbed, judgement);
      if (found != NULL)
        return found;
    }
  return NULL;
}

static char *
compare_pair (const GraphTrial *trial, GPtrArray *a, GPtrArray *b)
{
  for (guint i = 0; i < a->len; i++)
    {
      char *found = compare_exactly (ir_graph_output (trial->graph.model->main, i)->name,
                                     a->pdata[i], b->pdata[i]);
      if (found != NULL)
        return found;
    }
  return NULL;
}

static char *
check_way (const GraphTrial *trial,
           const Way *way,
           GPtrArray **outputs,
           Disturbed *disturbed,
           GraphJudgement *judgement)
{
  g_autofree char *wrong = NULL;
  g_autoptr (IrModel) model = in_form (trial, way->form, &wrong);

  judgement->optimized |= way->form == WAY_OPTIMIZED;
  if (model == NULL)
    return g_strdup_printf ("%s: %s", way->name, wrong);
  *outputs = graph_way_run (way, model, trial->seed, &wrong);
  if (*outputs == NULL)
    return g_strdup_printf ("%s fails: %s", way->name, wrong);
  if ((*outputs)->len != trial->graph.outputs->len)
    return g_strdup_printf ("%s: the number of outputs", way->name);
  g_autofree char *found = compare_with_reference (trial, way, *outputs, disturbed, judgement);
  return found != NULL ? g_strdup_printf ("%s against node by node: %s", way->name, found) : NULL;
}

char *
graph_trial_check (const GraphTrial *trial, GraphJudgement *judgement)
{
  g_autoptr (GPtrArray)
      results = g_ptr_array_new_with_free_func ((GDestroyNotify) g_ptr_array_unref);
  g_auto (Disturbed) disturbed = { NULL, NULL };

  for (guint i = 0; i < GRAPH_WAYS; i++)
    {
      GPtrArray *outputs = NULL;
      char *found = check_way (trial, trial->ways[i], &outputs, &disturbed, judgement);
      if (outputs != NULL)
        g_ptr_array_add (results, outputs);
      if (found != NULL)
        return found;
      for (guint k = 0; k < i; k++)
        if (trial->ways[k]->bits != 0 && trial->ways[k]->bits == trial->ways[i]->bits)
          {
            g_autofree char *differs = compare_pair (trial, results->pdata[k], outputs);
            if (differs != NULL)
              return g_strdup_printf ("%s against %s: %s", trial->ways[k]->name,
                                      trial->ways[i]->name, differs);
          }
    }
  return NULL;
}
