/* SequenceMap: a body that runs once per item of the first input. Other inputs that are sequences
 * go along item by item, tensors are the same for all. Each output is a sequence. */
#include "config.h"

#include "core/exec/flow/subgraph-private.h"

typedef struct
{
  const IrNode *node;
  IrBody body;
  IrRounds rounds;
  guint n_items;
} Map;

static gboolean
map_init (Map *map, IrRunState *state, const IrNode *node, GError **error)
{
  map->node = node;
  if (!ir_body_init (&map->body, node, node->n_inputs, node->n_outputs, error))
    return FALSE;
  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrTensor *input = ir_subgraph_input (state, node, i);
      gboolean is_sequence = input != NULL && ir_tensor_kind (input) == IR_TYPE_SEQUENCE;
      if (input == NULL || (i == 0 && !is_sequence))
        return ir_subgraph_fail (node, error, IR_EXEC_ERROR_KERNEL,
                                 "the first input must be a sequence, and none may be left out");
      if (i == 0)
        map->n_items = ir_tensor_n_items (input);
      else if (is_sequence && ir_tensor_n_items (input) != map->n_items)
        return ir_subgraph_fail (node, error, IR_EXEC_ERROR_KERNEL,
                                 "the input sequences have different lengths");
    }
  ir_rounds_init (&map->rounds, node->n_outputs, FALSE);
  return TRUE;
}

static gboolean
map_item (Map *map, IrRunState *state, guint index, GError **error)
{
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();

  for (guint i = 0; i < map->node->n_inputs; i++)
    {
      IrTensor *input = ir_subgraph_input (state, map->node, i);
      g_ptr_array_add (inputs, ir_tensor_kind (input) == IR_TYPE_SEQUENCE
                                   ? ir_tensor_item (input, index)
                                   : input);
    }
  if (!ir_body_run (&map->body, state, (IrTensor *const *) inputs->pdata, error))
    return FALSE;
  for (guint i = 0; i < map->node->n_outputs; i++)
    if (!ir_rounds_add (&map->rounds, i, g_ptr_array_index (map->body.results, i), state, map->node,
                        error))
      return FALSE;
  return TRUE;
}

/* Type of the items of an output, for a sequence that has none. */
static const IrType *
element_type (const Map *map, guint index)
{
  const IrValue *result = ir_graph_output (map->body.graph, index);
  const IrType *declared = ir_value_shown_type (map->node->outputs[index]);
  const IrType *element = ir_value_shown_type (result);
  IrContext *context = map->node->graph->model->context;

  if (element != NULL)
    return element;
  return declared != NULL && declared->element != NULL
             ? declared->element
             : ir_type_tensor (context, IR_DTYPE_UNDEFINED, IR_RANK_UNKNOWN, NULL);
}

static gboolean
map_publish (const Map *map, IrRunState *state, GError **error)
{
  for (guint i = 0; i < map->node->n_outputs; i++)
    {
      const GPtrArray *items = ir_rounds_list (&map->rounds, i);
      if (map->node->outputs[i] == NULL)
        continue;
      g_autoptr (IrTensor)
          sequence = items != NULL ? ir_tensor_new_sequence (NULL, (IrTensor *const *) items->pdata,
                                                             items->len)
                                   : ir_tensor_new_sequence (element_type (map, i), NULL, 0);
      if (sequence == NULL)
        return ir_subgraph_fail (map->node, error, IR_EXEC_ERROR_KERNEL,
                                 "the body gives different element types for different items");
      if (!ir_run_state_publish (state, map->node->outputs[i], sequence, error))
        return FALSE;
    }
  return TRUE;
}

/* Source: ONNX SequenceMap 17 */
gboolean
ir_sequence_map_run (IrRunState *state, const IrNode *node, GError **error)
{
  Map map = { 0 };
  gboolean done = map_init (&map, state, node, error);

  g_autoptr (GPtrArray) states = g_ptr_array_new (); /* it carries none */
  const gint64 first = done ? ir_body_first (&map.body, state, states) : 0;
  for (guint i = (guint) first; done && i < map.n_items; i++)
    done = ir_run_check (state, node, error) && map_item (&map, state, i, error);
  done = done && map_publish (&map, state, error);
  ir_body_clear (&map.body, state);
  ir_rounds_clear (&map.rounds);
  return done;
}
