/* Queries about one node. */
#include "config.h"

#include "core/ir/model-private.h"
#include "core/op/check.h"

#include <string.h>

/**
 * ir_node_attr:
 * @node: a node
 * @name: name of an attribute
 *
 * Returns: (transfer none) (nullable): the attribute as stored
 */
const IrAttr *
ir_node_attr (const IrNode *node, const char *name)
{
  for (guint i = 0; i < node->n_attrs; i++)
    if (strcmp (node->attrs[i]->name, name) == 0)
      return node->attrs[i];
  return NULL;
}

static const IrAttr *
attr_of_kind (const IrNode *node, const char *name, IrAttrKind kind)
{
  const IrAttr *attr = ir_node_attr (node, name);
  return attr != NULL && attr->kind == kind && attr->n > 0 ? attr : NULL;
}

/**
 * ir_node_attr_int:
 * @node: a node
 * @name: name of an INT attribute
 * @fallback: what to return if it is absent or of another kind
 *
 * Returns: the value
 */
gint64
ir_node_attr_int (const IrNode *node, const char *name, gint64 fallback)
{
  const IrAttr *attr = attr_of_kind (node, name, IR_ATTR_INT);
  return attr != NULL ? attr->ints[0] : fallback;
}

/**
 * ir_node_attr_float:
 * @node: a node
 * @name: name of a FLOAT attribute
 * @fallback: what to return if it is absent or of another kind
 *
 * Returns: the value
 */
float
ir_node_attr_float (const IrNode *node, const char *name, float fallback)
{
  const IrAttr *attr = attr_of_kind (node, name, IR_ATTR_FLOAT);
  return attr != NULL ? attr->floats[0] : fallback;
}

/**
 * ir_node_attr_string:
 * @node: a node
 * @name: name of a STRING attribute
 * @fallback: (nullable): what to return if it is absent or of another kind
 *
 * Returns: (transfer none) (nullable): the value
 */
const char *
ir_node_attr_string (const IrNode *node, const char *name, const char *fallback)
{
  const IrAttr *attr = attr_of_kind (node, name, IR_ATTR_STRING);
  return attr != NULL ? attr->strings[0].data : fallback;
}

/**
 * ir_node_attr_ints:
 * @node: a node
 * @name: name of an INTS attribute
 * @n: (out): number of values
 *
 * Returns: (transfer none) (nullable) (array length=n): the values; %NULL if absent. An empty list
 *   gives a pointer that must not be read.
 */
const gint64 *
ir_node_attr_ints (const IrNode *node, const char *name, guint *n)
{
  const IrAttr *attr = ir_node_attr (node, name);

  *n = 0;
  if (attr == NULL || attr->kind != IR_ATTR_INTS || attr->ref_name != NULL)
    return NULL;
  *n = attr->n;
  return attr->n > 0 ? attr->ints : (const gint64 *) attr;
}

/**
 * ir_node_attr_tensor:
 * @node: a node
 * @name: name of a TENSOR attribute
 *
 * Returns: (transfer none) (nullable): the tensor
 */
IrTensor *
ir_node_attr_tensor (const IrNode *node, const char *name)
{
  const IrAttr *attr = attr_of_kind (node, name, IR_ATTR_TENSOR);
  return attr != NULL ? attr->tensors[0] : NULL;
}

/**
 * ir_node_attr_graph:
 * @node: a node
 * @name: name of a GRAPH attribute
 *
 * Returns: (transfer none) (nullable): the subgraph
 */
IrGraph *
ir_node_attr_graph (const IrNode *node, const char *name)
{
  const IrAttr *attr = attr_of_kind (node, name, IR_ATTR_GRAPH);
  return attr != NULL ? ir_model_graph (node->graph->model, attr->graphs[0]) : NULL;
}

/**
 * ir_node_subgraphs:
 * @node: a node
 *
 * Returns: (transfer container): the graphs in its attributes, by attribute name
 */
GPtrArray *
ir_node_subgraphs (const IrNode *node)
{
  GPtrArray *graphs = g_ptr_array_new ();

  for (guint i = 0; i < node->n_attrs; i++)
    {
      const IrAttr *attr = node->attrs[i];
      if (attr->kind != IR_ATTR_GRAPH && attr->kind != IR_ATTR_GRAPHS)
        continue;
      for (guint k = 0; k < attr->n; k++)
        {
          IrGraph *graph = ir_model_graph (node->graph->model, attr->graphs[k]);
          if (graph != NULL)
            g_ptr_array_add (graphs, graph);
        }
    }
  return graphs;
}

/**
 * ir_node_is:
 * @node: a node
 * @op_type: an operator of the domain ai.onnx
 *
 * What does not fit the row of its operator is none: ir_node_is_valid().
 *
 * Returns: %TRUE if @node is one
 */
gboolean
ir_node_is (const IrNode *node, const char *op_type)
{
  return node->domain[0] == '\0' && strcmp (node->op_type, op_type) == 0 &&
         ir_node_is_valid (node);
}

/**
 * ir_node_is_constant:
 * @node: a node
 *
 * Returns: %TRUE for Constant, and for ConstantOfShape of a constant: what node counts leave out
 */
gboolean
ir_node_is_constant (const IrNode *node)
{
  if (ir_node_is (node, "Constant"))
    return TRUE;
  return ir_node_is (node, "ConstantOfShape") && node->n_inputs > 0 && node->inputs[0] != NULL &&
         ir_value_constant (node->inputs[0]) != NULL;
}

/**
 * ir_node_input:
 * @node: a node
 * @slot: any number
 *
 * Returns: (transfer none) (nullable): the value, or %NULL where there is none
 */
IrValue *
ir_node_input (const IrNode *node, guint slot)
{
  return slot < node->n_inputs ? node->inputs[slot] : NULL;
}

/**
 * ir_node_output:
 * @node: a node
 * @slot: any number
 *
 * Returns: (transfer none) (nullable): the value, or %NULL where there is none
 */
IrValue *
ir_node_output (const IrNode *node, guint slot)
{
  return slot < node->n_outputs ? node->outputs[slot] : NULL;
}

/**
 * ir_node_opset:
 * @node: a node
 *
 * Returns: the version of the node's domain that is in force in its graph; 0 if not imported
 */
gint64
ir_node_opset (const IrNode *node)
{
  return ir_graph_opset (node->graph, node->domain);
}

/**
 * ir_node_label:
 * @node: a node
 *
 * Returns: (transfer full): how messages name it: "conv1 (Conv)", or "#12 (Conv)" without a name
 */
char *
ir_node_label (const IrNode *node)
{
  if (node->name[0] != '\0')
    return g_strdup_printf ("%s (%s)", node->name, node->op_type);
  return g_strdup_printf ("#%u (%s)", node->id, node->op_type);
}

static void
rebuild_control_sources (const IrModel *model)
{
  GHashTable *sources = model->cache->control_sources;

  g_hash_table_remove_all (sources);
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      for (guint k = 0;
           node->state == IR_STATE_LIVE && node->controls != NULL && k < node->controls->n; k++)
        g_hash_table_add (sources, GUINT_TO_POINTER (node->controls->ids[k]));
    }
  model->cache->controls_stamp = model->stamp;
}

/**
 * ir_node_has_control_uses:
 * @node: a node
 *
 * Returns: %TRUE if some live node must run after it by a control dependency
 */
gboolean
ir_node_has_control_uses (const IrNode *node)
{
  const IrModel *model = node->graph->model;
  gboolean found;

  g_rec_mutex_lock (&model->cache->lock);
  if (model->cache->controls_stamp != model->stamp)
    rebuild_control_sources (model);
  found = g_hash_table_contains (model->cache->control_sources, GUINT_TO_POINTER (node->id));
  g_rec_mutex_unlock (&model->cache->lock);
  return found;
}
