/* What an evaluator has to do with whole runs: it starts from what one has captured, and it can do
 * what one would do for another state of the graph, computing only what is new there. */
#include "config.h"

#include "passes/proof/evaluate.h"

/**
 * ir_model_has_calls:
 * @model: a model
 *
 * Returns: whether some state of it has functions, or operators that run as their body
 */
gboolean
ir_model_has_calls (const IrModel *model)
{
  for (guint i = 1; i < model->graphs->len; i++)
    if (((IrGraph *) model->graphs->pdata[i])->kind == IR_GRAPH_FUNCTION)
      return TRUE;
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];

      if (node->op == NULL ||
          (ir_ref_kernel (node->op) == NULL && (node->op->flags & IR_OP_SUBGRAPHS) == 0))
        return TRUE;
    }
  return FALSE;
}

typedef struct
{
  IrEvaluator *evaluator;
  const IrRun *run; /* (nullable) */
  GHashTable *inputs;
  GHashTable *numbers; /* (nullable) */
} Start;

/* What a graph starts from: its inputs, and those of bodies that the run came through. */
static guint
known (const IrValue *value, gpointer data)
{
  const Start *start = data;
  IrTensor *tensor = g_hash_table_lookup (start->inputs, GUINT_TO_POINTER (value->id));

  if (tensor == NULL && start->run != NULL && value->producer == NULL &&
      value->graph->kind == IR_GRAPH_SUBGRAPH)
    tensor = ir_run_value (start->run, value->id);
  return tensor != NULL ? ir_evaluator_leaf (start->evaluator, tensor) : 0;
}

static void
take_value (const Start *start, IrScope *scope, const IrValue *value)
{
  IrTensor *tensor = value != NULL && start->run != NULL ? ir_run_value (start->run, value->id)
                                                         : NULL;
  guint number;

  if (tensor == NULL && value != NULL)
    tensor = g_hash_table_lookup (start->inputs, GUINT_TO_POINTER (value->id));
  number = tensor != NULL ? ir_scope_number (scope, value, NULL) : 0;
  if (number == 0)
    return;
  number = ir_evaluator_keep (start->evaluator, number, tensor);
  g_hash_table_insert (scope->numbers, GUINT_TO_POINTER (value->id), GUINT_TO_POINTER (number));
  if (start->numbers != NULL)
    g_hash_table_insert (start->numbers, GUINT_TO_POINTER (value->id), GUINT_TO_POINTER (number));
}

/* What no run has captured is computed, if it can be. */
static void
make_value (const Start *start, IrScope *scope, const IrValue *value)
{
  IrTensor *tensor = value != NULL ? ir_scope_contents (scope, value, NULL) : NULL;
  guint number;

  if (tensor == NULL)
    return;
  number = ir_scope_number (scope, value, NULL);
  if (ir_evaluator_hold (start->evaluator, number) && start->numbers != NULL)
    g_hash_table_insert (start->numbers, GUINT_TO_POINTER (value->id), GUINT_TO_POINTER (number));
}

static void
note_failed (const Start *start, IrScope *scope, const IrNode *node)
{
  const IrValue *first = ir_node_output (node, 0);
  guint number = first != NULL ? ir_scope_number (scope, first, NULL) : 0;

  if (number != 0)
    ir_evaluator_note_failure (start->evaluator, number, start->run->error);
}

/* Of bodies only the inputs, as of one round: what their nodes made may be of different rounds. */
static void
take_bodies (const Start *start, IrScope *scope, const IrNode *node)
{
  g_autoptr (GPtrArray) subgraphs = ir_node_subgraphs (node);

  for (guint i = 0; subgraphs != NULL && i < subgraphs->len; i++)
    {
      const IrGraph *graph = g_ptr_array_index (subgraphs, i);
      guint n;
      IrNode *const *order = ir_graph_order (graph, &n);

      for (guint k = 0; k < ir_graph_n_inputs (graph); k++)
        take_value (start, scope, ir_graph_input (graph, k));
      for (guint k = 0; k < n; k++)
        take_bodies (start, scope, order[k]);
    }
}

/**
 * ir_evaluator_take_run:
 * @evaluator: an evaluator
 * @flat: a graph without function calls; see ir_exec_expand()
 * @run: (nullable): a run of it that has captured values; %NULL: there is none, as some node cannot
 *   run, and what the others give is computed here
 * @inputs: value id -> #IrTensor that it was given
 * @numbers: (nullable): gets value id -> number of every value that was captured
 */
void
ir_evaluator_take_run (IrEvaluator *evaluator,
                       const IrModel *flat,
                       const IrRun *run,
                       GHashTable *inputs,
                       GHashTable *numbers)
{
  Start start = { evaluator, run, inputs, numbers };
  g_auto (IrScope) scope = { 0 };
  guint n;
  IrNode *const *order = ir_graph_order (flat->main, &n);

  ir_scope_init (&scope, evaluator, flat, known, &start);
  for (guint i = 0; i < ir_graph_n_inputs (flat->main); i++)
    take_value (&start, &scope, ir_graph_input (flat->main, i));
  for (guint i = 0; i < n; i++)
    {
      for (guint k = 0; k < order[i]->n_outputs; k++)
        if (run != NULL)
          take_value (&start, &scope, order[i]->outputs[k]);
        else
          make_value (&start, &scope, order[i]->outputs[k]);
      if (run != NULL && run->error != NULL && run->failed_node == order[i]->id)
        note_failed (&start, &scope, order[i]);
      take_bodies (&start, &scope, order[i]);
    }
}

/**
 * ir_evaluator_run:
 * @evaluator: an evaluator
 * @flat: a graph without function calls; see ir_exec_expand()
 * @inputs: value id -> #IrTensor
 * @chosen: of #IrValueId: values of the main graph
 * @contents: value id -> #IrTensor: gets what they hold, as far as they are there
 * @error: return location for an error
 *
 * Does what a run of @flat does, in its order, but leaves out nodes whose outputs are kept already:
 * it fails where a run fails, and costs the nodes that are new.
 *
 * Returns: %FALSE if a node failed
 */
gboolean
ir_evaluator_run (IrEvaluator *evaluator,
                  const IrModel *flat,
                  GHashTable *inputs,
                  const GArray *chosen,
                  GHashTable *contents,
                  GError **error)
{
  Start start = { evaluator, NULL, inputs, NULL };
  g_auto (IrScope) scope = { 0 };
  guint n;
  IrNode *const *order = ir_graph_order (flat->main, &n);

  ir_scope_init (&scope, evaluator, flat, known, &start);
  for (guint i = 0; i < n; i++)
    {
      ir_evaluator_report (evaluator, i, n, order[i]);
      for (guint k = 0; k < order[i]->n_outputs; k++)
        if (order[i]->outputs[k] != NULL &&
            ir_scope_contents (&scope, order[i]->outputs[k], error) == NULL)
          return FALSE;
    }
  for (guint i = 0; i < chosen->len; i++)
    {
      IrValueId id = g_array_index (chosen, IrValueId, i);
      const IrValue *value = ir_model_live_value (flat, id);
      IrTensor *tensor = value != NULL ? ir_scope_contents (&scope, value, error) : NULL;

      if (value != NULL && tensor == NULL)
        return FALSE;
      if (tensor != NULL)
        g_hash_table_insert (contents, GUINT_TO_POINTER (id), ir_tensor_ref (tensor));
    }
  return TRUE;
}
