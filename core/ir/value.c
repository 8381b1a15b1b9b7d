/* Queries about one value, and its list of uses. */
#include "config.h"

#include "core/ir/model-private.h"

#include <string.h>

/* -- uses: ascending keys -- */

static guint
find_use (const IrValue *value, guint64 key)
{
  guint low = 0, high = value->n_uses;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;
      if (value->uses[middle] < key)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

void
ir_value_add_use (IrModel *model, IrValue *value, guint64 key)
{
  guint at = find_use (value, key);

  if (value->n_uses == value->uses_capacity)
    {
      guint capacity = MAX (2, value->uses_capacity * 2);
      guint64 *grown = ir_model_alloc (model, capacity * sizeof (guint64));

      if (value->n_uses > 0)
        memcpy (grown, value->uses, value->n_uses * sizeof (guint64));
      value->uses = grown;
      value->uses_capacity = capacity;
    }
  memmove (value->uses + at + 1, value->uses + at, (value->n_uses - at) * sizeof (guint64));
  value->uses[at] = key;
  value->n_uses++;
}

void
ir_value_remove_use (IrValue *value, guint64 key)
{
  guint at = find_use (value, key);

  g_return_if_fail (at < value->n_uses && value->uses[at] == key);
  value->n_uses--;
  memmove (value->uses + at, value->uses + at + 1, (value->n_uses - at) * sizeof (guint64));
}

/* @key is greater than all that are there. */
static void
append_use (IrModel *model, IrValue *value, guint64 key)
{
  if (value->n_uses == value->uses_capacity)
    ir_value_add_use (model, value, key);
  else
    value->uses[value->n_uses++] = key;
}

/* Nodes by id and slot, then outputs by graph and place: keys come in ascending order. */
void
ir_model_rebuild_uses (IrModel *model)
{
  model->checks++; /* nobody has kept account of what changed for the users of values */
  for (guint i = 1; i < model->values->len; i++)
    ((IrValue *) model->values->pdata[i])->n_uses = 0;
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      for (guint k = 0; node->state == IR_STATE_LIVE && k < node->n_inputs; k++)
        if (node->inputs[k] != NULL)
          append_use (model, node->inputs[k], ir_use_key (i, k));
    }
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrIdList *outputs = ((IrGraph *) model->graphs->pdata[i])->outputs;
      for (guint k = 0; k < outputs->n; k++)
        append_use (model, model->values->pdata[outputs->ids[k]], ir_use_key_output (i, k));
    }
}

/**
 * ir_value_use:
 * @value: a value
 * @index: 0 .. n_uses - 1
 *
 * Returns: who uses it: nodes by id and slot first, then graph outputs
 */
IrUse
ir_value_use (const IrValue *value, guint index)
{
  const IrModel *model = value->graph->model;
  guint64 key = value->uses[index];
  guint32 id = (key & ~IR_USE_GRAPH_BIT) >> 32;
  IrUse use = { NULL, NULL, key & G_MAXUINT32 };

  if (key & IR_USE_GRAPH_BIT)
    use.graph = model->graphs->pdata[id];
  else
    {
      use.node = model->nodes->pdata[id];
      use.graph = use.node->graph;
    }
  return use;
}

/**
 * ir_value_n_node_uses:
 * @value: a value
 *
 * Returns: uses by nodes: edges, not distinct nodes
 */
guint
ir_value_n_node_uses (const IrValue *value)
{
  return find_use (value, IR_USE_GRAPH_BIT);
}

/**
 * ir_value_is_graph_output:
 * @value: a value
 *
 * Returns: %TRUE if some graph hands it out
 */
gboolean
ir_value_is_graph_output (const IrValue *value)
{
  return value->n_uses > 0 && (value->uses[value->n_uses - 1] & IR_USE_GRAPH_BIT);
}

/**
 * ir_value_is_graph_input:
 * @value: a value
 *
 * Returns: %TRUE if it is an input of its graph, with or without an initializer as default
 */
gboolean
ir_value_is_graph_input (const IrValue *value)
{
  return value->producer == NULL && ir_graph_has_input (value->graph, value);
}

/* -- constants -- */

/* Constant's short forms (value_float, value_ints …), opset 12. */
static IrTensor *
tensor_of_short_form (const IrAttr *attr)
{
  gint64 n = attr->n;

  if (strcmp (attr->name, "value_float") == 0 && attr->kind == IR_ATTR_FLOAT)
    return ir_tensor_new_copy (IR_DTYPE_FLOAT, 0, NULL, attr->floats);
  if (strcmp (attr->name, "value_floats") == 0 && attr->kind == IR_ATTR_FLOATS)
    return ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, &n, attr->floats);
  if (strcmp (attr->name, "value_int") == 0 && attr->kind == IR_ATTR_INT)
    return ir_tensor_new_copy (IR_DTYPE_INT64, 0, NULL, attr->ints);
  if (strcmp (attr->name, "value_ints") == 0 && attr->kind == IR_ATTR_INTS)
    return ir_tensor_new_copy (IR_DTYPE_INT64, 1, &n, attr->ints);
  if ((strcmp (attr->name, "value_string") == 0 && attr->kind == IR_ATTR_STRING) ||
      (strcmp (attr->name, "value_strings") == 0 && attr->kind == IR_ATTR_STRINGS))
    {
      g_autoptr (GPtrArray)
          strings = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);

      for (guint i = 0; i < attr->n; i++)
        g_ptr_array_add (strings, g_bytes_new (attr->strings[i].data, attr->strings[i].length));
      return ir_tensor_new_strings (attr->kind == IR_ATTR_STRINGS ? 1 : 0, &n,
                                    (GBytes **) strings->pdata);
    }
  if (strcmp (attr->name, "sparse_value") == 0 && attr->kind == IR_ATTR_SPARSE_TENSOR)
    return ir_tensor_densify (attr->tensors[0], NULL);
  return NULL;
}

/* What is made once from an immutable object is kept with the model. */
static const IrTensor *
derived_tensor (const IrModel *model, gconstpointer key, IrTensor *(*make) (gconstpointer key))
{
  IrModelCache *cache = model->cache;
  IrTensor *tensor;

  g_rec_mutex_lock (&cache->lock);
  tensor = g_hash_table_lookup (cache->constants, key);
  if (tensor == NULL && (tensor = make (key)) != NULL)
    g_hash_table_insert (cache->constants, (gpointer) key, tensor);
  g_rec_mutex_unlock (&cache->lock);
  return tensor;
}

static IrTensor *
make_from_attr (gconstpointer attr)
{
  return tensor_of_short_form (attr);
}

static IrTensor *
make_dense (gconstpointer sparse)
{
  return ir_tensor_densify ((IrTensor *) sparse, NULL);
}

static const IrTensor *
constant_of_node (const IrNode *node)
{
  for (guint i = 0; i < node->n_attrs; i++)
    {
      const IrAttr *attr = node->attrs[i];

      if (attr->ref_name != NULL || attr->n == 0 || !g_str_has_prefix (attr->name, "value"))
        {
          if (attr->kind == IR_ATTR_SPARSE_TENSOR && attr->n == 1 && attr->ref_name == NULL)
            return derived_tensor (node->graph->model, attr, make_from_attr);
          if (attr->ref_name != NULL ||
              (attr->kind != IR_ATTR_INTS && attr->kind != IR_ATTR_FLOATS &&
               attr->kind != IR_ATTR_STRINGS))
            continue;
        }
      if (strcmp (attr->name, "value") == 0 && attr->kind == IR_ATTR_TENSOR)
        return attr->tensors[0];
      const IrTensor *tensor = derived_tensor (node->graph->model, attr, make_from_attr);
      if (tensor != NULL)
        return tensor;
    }
  return NULL;
}

/* By its name: ir_node_is() looks at the inputs, and hence asks here. */
static gboolean
is_constant (const IrValue *value)
{
  const IrNode *node = value->producer;

  return value->output_slot == 0 && node->n_inputs == 0 && node->domain[0] == '\0' &&
         strcmp (node->op_type, "Constant") == 0;
}

/**
 * ir_value_constant:
 * @value: a value
 *
 * The contents if they can never change. An initializer that is a graph input too is a default that
 * the caller may override, and so no constant, from IR version 4 on; before, every initializer had
 * to be listed as an input. A mutable one is what training begins with.
 *
 * Returns: (transfer none) (nullable): dense contents of an initializer or of a Constant node
 */
const IrTensor *
ir_value_constant (const IrValue *value)
{
  const IrModel *model = value->graph->model;

  if (value->producer != NULL)
    return is_constant (value) ? constant_of_node (value->producer) : NULL;
  if (value->initializer == NULL || (value->flags & IR_VALUE_MUTABLE) != 0)
    return NULL;
  if (model->info->ir_version >= 4 && ir_graph_has_input (value->graph, value))
    return NULL;
  if (ir_tensor_sparse_indices (value->initializer) != NULL)
    return derived_tensor (model, value->initializer, make_dense);
  return value->initializer;
}

/**
 * ir_value_is_default:
 * @value: a value
 *
 * Exporters list parameters as inputs beside the true ones. Where all inputs of a graph have
 * initializers, these are what the inputs hold by default.
 *
 * Returns: %TRUE for such an input
 */
gboolean
ir_value_is_default (const IrValue *value)
{
  const IrGraph *graph = value->graph;

  if (value->initializer == NULL || graph->model->info->ir_version < 4 ||
      ir_value_is_mutable (value) || !ir_value_is_graph_input (value))
    return FALSE;
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    if (ir_graph_input (graph, i) == NULL || ir_graph_input (graph, i)->initializer == NULL)
      return FALSE;
  return TRUE;
}

/**
 * ir_value_is_mutable:
 * @value: a value
 *
 * Returns: %TRUE for an initializer that training changes: ir_value_constant() has none, and a run
 *   may be given other contents
 */
gboolean
ir_value_is_mutable (const IrValue *value)
{
  return value->producer == NULL && value->initializer != NULL &&
         (value->flags & IR_VALUE_MUTABLE) != 0;
}

/**
 * ir_model_has_value:
 * @model: a model
 * @name: any
 *
 * Returns: %TRUE if some live value of some graph is called @name now
 */
gboolean
ir_model_has_value (const IrModel *model, const char *name)
{
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      if (graph->state == IR_STATE_LIVE && ir_graph_find_value (graph, name) != NULL)
        return TRUE;
    }
  return FALSE;
}

/**
 * ir_value_is_captured:
 * @value: a value
 *
 * Returns: %TRUE if a node or an output of another graph uses it
 */
gboolean
ir_value_is_captured (const IrValue *value)
{
  for (guint i = 0; i < value->n_uses; i++)
    if (ir_value_use (value, i).graph != value->graph)
      return TRUE;
  return FALSE;
}

/**
 * ir_value_only_user:
 * @value: a value
 *
 * Returns: (transfer none) (nullable): the node, if the value has exactly one use and that is by a
 *   node of its own graph
 */
IrNode *
ir_value_only_user (const IrValue *value)
{
  IrUse use;

  if (value->n_uses != 1)
    return NULL;
  use = ir_value_use (value, 0);
  return use.node != NULL && use.graph == value->graph ? use.node : NULL;
}

/**
 * ir_value_rank:
 * @value: a value
 *
 * Returns: its rank, or %IR_RANK_UNKNOWN
 */
int
ir_value_rank (const IrValue *value)
{
  return ir_type_is_tensor (value->type) ? value->type->rank : IR_RANK_UNKNOWN;
}

/**
 * ir_value_shown_type:
 * @value: a value
 *
 * What the type is, or is claimed to be where that is possible: for people and estimates. Nothing
 * whose result depends on it may rely on a claim.
 *
 * Returns: (transfer none) (nullable): the type with what the file declares of it
 */
const IrType *
ir_value_shown_type (const IrValue *value)
{
  const IrType *both = value->claim != NULL
                           ? ir_type_merge (value->graph->model->context, value->claim, value->type)
                           : NULL;

  return both != NULL ? both : value->type;
}

/**
 * ir_value_declared_type:
 * @value: a value
 *
 * As ir_value_shown_type(), but in the body of a function what was declared, for all that may call
 * it, and not what the calls that there are agree on.
 *
 * Returns: (transfer none) (nullable): the type to write into a file
 */
const IrType *
ir_value_declared_type (const IrValue *value)
{
  return value->graph->kind == IR_GRAPH_FUNCTION && value->claim != NULL
             ? value->claim
             : ir_value_shown_type (value);
}

/**
 * ir_value_dtype:
 * @value: a value
 *
 * Returns: element type, or %IR_DTYPE_UNDEFINED if it is no tensor or not known
 */
IrDtype
ir_value_dtype (const IrValue *value)
{
  return ir_type_is_tensor (value->type) ? value->type->dtype : IR_DTYPE_UNDEFINED;
}
