/* Building the nodes of derivatives: see emit.h. */
#include "config.h"

#include "core/grad/body.h"
#include "core/grad/emit.h"

#include "core/grad/grad.h"
#include "core/op/infer.h"
#include "core/op/op.h"

#include <string.h>

gboolean
ir_emit_fail (const IrVjp *vjp, GError **error, const char *format, ...)
{
  g_autofree char *label = ir_node_label (vjp->node);
  va_list args;

  va_start (args, format);
  g_autofree char *why = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, IR_GRAD_ERROR, IR_GRAD_ERROR_NO_RULE, "%s: cannot be derived: %s", label,
               why);
  return FALSE;
}

static gint64
opset_of (const IrVjp *vjp)
{
  gint64 opset = ir_graph_opset (vjp->graph, "");

  return opset != 0 ? opset : G_MAXINT64;
}

gboolean
ir_emit_needs_opset (const IrVjp *vjp, gint64 opset, GError **error)
{
  return opset_of (vjp) >= opset ||
         ir_emit_fail (vjp, error,
                       "its derivative needs opset %" G_GINT64_FORMAT
                       ", the model has %" G_GINT64_FORMAT
                       "; convert it first (--opset %" G_GINT64_FORMAT ")",
                       opset, opset_of (vjp), opset);
}

static IrContext *
context_of (const IrVjp *vjp)
{
  return ir_edit_model (vjp->edit)->context;
}

/* -- nodes -- */

IrNode *
ir_emit_node (const IrVjp *vjp, const char *op, guint n, IrValue *const *inputs, guint n_out)
{
  gboolean ours = g_str_has_prefix (op, "irscope.");
  IrNode *node = ir_edit_add_node (vjp->edit, vjp->graph, ours ? op + strlen ("irscope.") : op,
                                   ours ? "irscope" : "", NULL, n, inputs, n_out);

  if (ours && ir_model_opset (ir_edit_model (vjp->edit), "irscope") == 0)
    ir_edit_set_opset (vjp->edit, "irscope", 1);
  ir_edit_set_rank (vjp->edit, node, vjp->rank);
  return node;
}

void
ir_emit_attr_int (const IrVjp *vjp, IrNode *node, const char *name, gint64 value)
{
  ir_edit_set_attr (vjp->edit, node, ir_attr_int (context_of (vjp), name, value));
}

void
ir_emit_attr_ints (const IrVjp *vjp, IrNode *node, const char *name, const gint64 *values, guint n)
{
  ir_edit_set_attr (vjp->edit, node, ir_attr_ints (context_of (vjp), name, values, n));
}

void
ir_emit_attr_string (const IrVjp *vjp, IrNode *node, const char *name, const char *value)
{
  ir_edit_set_attr (vjp->edit, node, ir_attr_string (context_of (vjp), name, value, -1));
}

void
ir_emit_copy_attr (const IrVjp *vjp, IrNode *node, const char *name)
{
  const IrAttr *attr = ir_node_attr (vjp->node, name);

  if (attr != NULL)
    ir_edit_set_attr (vjp->edit, node, attr);
}

IrValue *
ir_emit_end (const IrVjp *vjp, IrNode *node)
{
  ir_infer_node (vjp->edit, node, NULL);
  return node->outputs[0];
}

IrValue *
ir_emit (const IrVjp *vjp, const char *op, guint n, IrValue *const *inputs)
{
  return ir_emit_end (vjp, ir_emit_node (vjp, op, n, inputs, 1));
}

IrValue *
ir_emit1 (const IrVjp *vjp, const char *op, IrValue *a)
{
  return ir_emit (vjp, op, 1, &a);
}

IrValue *
ir_emit2 (const IrVjp *vjp, const char *op, IrValue *a, IrValue *b)
{
  IrValue *inputs[] = { a, b };

  return ir_emit (vjp, op, 2, inputs);
}

IrValue *
ir_emit3 (const IrVjp *vjp, const char *op, IrValue *a, IrValue *b, IrValue *c)
{
  IrValue *inputs[] = { a, b, c };

  return ir_emit (vjp, op, 3, inputs);
}

IrValue *
ir_emit_cast (const IrVjp *vjp, IrValue *value, IrDtype dtype)
{
  if (ir_value_dtype (value) == dtype)
    return value;
  IrNode *node = ir_emit_node (vjp, "Cast", 1, &value, 1);
  ir_emit_attr_int (vjp, node, "to", (gint64) dtype);
  return ir_emit_end (vjp, node);
}

IrValue *
ir_emit_extra_output (const IrVjp *vjp, guint slot)
{
  IrNode *node = (IrNode *) vjp->node;

  if (ir_node_output (node, slot) == NULL)
    {
      if (node->n_outputs <= slot)
        ir_edit_set_n_outputs (vjp->edit, node, slot + 1);
      if (node->outputs[slot] == NULL)
        ir_edit_set_output (vjp->edit, node, slot,
                            ir_edit_add_value (vjp->edit, node->graph, NULL, NULL));
      ir_infer_node (vjp->edit, node, NULL);
    }
  return node->outputs[slot];
}

/* -- constants -- */

static IrValue *
constant (const IrVjp *vjp, IrTensor *tensor)
{
  IrValue *value = ir_edit_add_initializer (vjp->edit, vjp->graph, NULL, tensor);

  ir_tensor_unref (tensor);
  return value;
}

IrValue *
ir_emit_ints (const IrVjp *vjp, const gint64 *values, gssize n)
{
  return constant (vjp, ir_tensor_new_int64s (values, n));
}

static IrDtype
dtype_of (const IrVjp *vjp)
{
  for (guint i = 0; i < vjp->node->n_outputs; i++)
    if (vjp->dy[i] != NULL)
      return ir_value_dtype (vjp->dy[i]);
  return IR_DTYPE_FLOAT;
}

IrValue *
ir_emit_number (const IrVjp *vjp, double value)
{
  return constant (vjp, ir_tensor_new_scalar (dtype_of (vjp), value));
}

IrValue *
ir_emit_number_like (const IrVjp *vjp, const IrValue *like, double value)
{
  return constant (vjp, ir_tensor_new_scalar (ir_value_dtype (like), value));
}

IrValue *
ir_emit_doubles (const IrVjp *vjp, guint rank, const gint64 *dims, const double *values)
{
  IrTensor *tensor = ir_tensor_new_copy (IR_DTYPE_DOUBLE, rank, dims, values);

  return ir_emit_cast (vjp, constant (vjp, tensor), dtype_of (vjp));
}

gint64
ir_emit_dim (const IrValue *value, int axis)
{
  const IrType *type = value != NULL ? value->type : NULL;

  if (!ir_type_is_tensor (type) || !ir_type_has_rank (type))
    return -1;
  axis += axis < 0 ? type->rank : 0;
  return axis >= 0 && axis < type->rank && ir_dim_is_known (type->dims[axis]) ? type->dims[axis]
                                                                              : -1;
}

gboolean
ir_emit_dims (const IrValue *value, gint64 *dims, int *rank)
{
  const IrType *type = value->type;

  if (!ir_type_is_tensor (type) || !ir_type_is_static (type) || type->rank > IR_MAX_RANK)
    return FALSE;
  *rank = type->rank;
  for (int i = 0; i < type->rank; i++)
    dims[i] = type->dims[i];
  return TRUE;
}

IrValue *
ir_emit_shape (const IrVjp *vjp, IrValue *value)
{
  gint64 dims[IR_MAX_RANK];
  int rank;

  return ir_emit_dims (value, dims, &rank) ? ir_emit_ints (vjp, dims, rank)
                                           : ir_emit1 (vjp, "Shape", value);
}

IrValue *
ir_emit_size (const IrVjp *vjp, IrValue *value)
{
  gint64 dims[IR_MAX_RANK], n = 1;
  int rank;

  if (!ir_emit_dims (value, dims, &rank))
    return ir_emit1 (vjp, "Size", value);
  for (int i = 0; i < rank; i++)
    n *= dims[i];
  return ir_emit_ints (vjp, &n, -1);
}

/* A tensor of the same shape and type, all of whose elements are @element */
IrValue *
ir_emit_filled (const IrVjp *vjp, IrValue *like, double element)
{
  if (ir_type_is_container (like->type))
    return ir_emit_filled_container (vjp, like, element);
  IrValue *shape = ir_emit_shape (vjp, like);
  IrNode *node = ir_emit_node (vjp, "ConstantOfShape", 1, &shape, 1);
  gint64 one = 1;
  g_autoptr (IrTensor) scalar = ir_tensor_new_scalar (ir_value_dtype (like), element);
  g_autoptr (IrTensor) tensor = ir_tensor_reshape (scalar, 1, &one);

  ir_edit_set_attr (vjp->edit, node, ir_attr_tensor (context_of (vjp), "value", tensor));
  return ir_emit_end (vjp, node);
}

/* -- shapes -- */

/* Attributes became inputs of Unsqueeze and ReduceSum in opset 13, of the other reductions in 18. */
static IrNode *
with_axes (const IrVjp *vjp, const char *op, IrValue *value, const gint64 *axes, guint n)
{
  gboolean early = strcmp (op, "Unsqueeze") == 0 || strcmp (op, "ReduceSum") == 0;
  IrValue *inputs[2] = { value, NULL };
  IrNode *node;

  if (opset_of (vjp) >= (early ? 13 : 18))
    {
      inputs[1] = ir_emit_ints (vjp, axes, (gssize) n);
      return ir_emit_node (vjp, op, 2, inputs, 1);
    }
  node = ir_emit_node (vjp, op, 1, inputs, 1);
  ir_emit_attr_ints (vjp, node, "axes", axes, n);
  return node;
}

IrValue *
ir_emit_unsqueeze (const IrVjp *vjp, IrValue *value, const gint64 *axes, guint n)
{
  return n == 0 ? value : ir_emit_end (vjp, with_axes (vjp, "Unsqueeze", value, axes, n));
}

IrValue *
ir_emit_reduce (
    const IrVjp *vjp, const char *op, IrValue *value, const gint64 *axes, guint n, gboolean keep)
{
  if (n == 0)
    return value;
  IrNode *node = with_axes (vjp, op, value, axes, n);
  ir_emit_attr_int (vjp, node, "keepdims", keep);
  return ir_emit_end (vjp, node);
}

/* Along which axes @value was broadcast from @like, if the types tell. */
static gboolean
repeated_axes (const IrType *value, const IrType *like, gint64 *axes, guint *n, guint *n_leading)
{
  if (!ir_type_is_tensor (value) || !ir_type_has_rank (value) || !ir_type_is_tensor (like) ||
      !ir_type_has_rank (like) || value->rank < like->rank)
    return FALSE;
  int shift = value->rank - like->rank;
  *n = 0;
  *n_leading = (guint) shift;
  for (int i = 0; i < like->rank; i++)
    {
      IrDim dim = like->dims[i], other = value->dims[i + shift];
      if (dim == 1 && other != 1)
        axes[(*n)++] = i;
      else if (dim == IR_DIM_UNKNOWN || (dim != other && (!ir_dim_is_known (dim) || other == 1)))
        return FALSE;
    }
  return TRUE;
}

/* Undoes broadcasting: sums @value where @like was repeated. */
IrValue *
ir_emit_sum_to (const IrVjp *vjp, IrValue *value, IrValue *like)
{
  gint64 axes[IR_MAX_RANK], leading[IR_MAX_RANK];
  guint n, n_leading;

  if (!repeated_axes (value->type, like->type, axes, &n, &n_leading))
    return ir_emit2 (vjp, "irscope.ReduceSumTo", value, like);
  for (guint i = 0; i < n_leading; i++)
    leading[i] = i;
  value = ir_emit_reduce (vjp, "ReduceSum", value, leading, n_leading, FALSE);
  return ir_emit_reduce (vjp, "ReduceSum", value, axes, n, TRUE);
}

IrValue *
ir_emit_reshape_like (const IrVjp *vjp, IrValue *value, IrValue *like)
{
  if (value->type != NULL && value->type == like->type && ir_type_is_static (value->type))
    return value;
  return ir_emit2 (vjp, "Reshape", value, ir_emit_shape (vjp, like));
}

IrValue *
ir_emit_reshape (const IrVjp *vjp, IrValue *value, const gint64 *dims, guint n)
{
  return ir_emit2 (vjp, "Reshape", value, ir_emit_ints (vjp, dims, (gssize) n));
}

IrValue *
ir_emit_flat (const IrVjp *vjp, IrValue *value)
{
  static const gint64 all = -1;

  return ir_value_rank (value) == 1 ? value : ir_emit_reshape (vjp, value, &all, 1);
}

IrValue *
ir_emit_transpose (const IrVjp *vjp, IrValue *value, const gint64 *perm, guint n)
{
  gboolean same = TRUE;

  for (guint i = 0; i < n; i++)
    same &= perm[i] == (gint64) i;
  if (same)
    return value;
  IrNode *node = ir_emit_node (vjp, "Transpose", 1, &value, 1);
  ir_emit_attr_ints (vjp, node, "perm", perm, n);
  return ir_emit_end (vjp, node);
}

IrValue *
ir_emit_pick (const IrVjp *vjp, IrValue *value, gint64 axis, gint64 index)
{
  IrValue *inputs[] = { value, value != NULL ? ir_emit_ints (vjp, &index, -1) : NULL };

  if (value == NULL)
    return NULL;
  IrNode *node = ir_emit_node (vjp, "Gather", 2, inputs, 1);
  ir_emit_attr_int (vjp, node, "axis", axis);
  return ir_emit_end (vjp, node);
}

IrValue *
ir_emit_concat (const IrVjp *vjp, IrValue *a, IrValue *b, gint64 axis)
{
  IrValue *inputs[] = { a, b };
  IrNode *node = ir_emit_node (vjp, "Concat", 2, inputs, 1);

  ir_emit_attr_int (vjp, node, "axis", axis);
  return ir_emit_end (vjp, node);
}

IrValue *
ir_emit_slice (const IrVjp *vjp,
               IrValue *value,
               const gint64 *starts,
               const gint64 *ends,
               const gint64 *axes,
               guint n)
{
  IrValue *inputs[] = { value, ir_emit_ints (vjp, starts, n), ir_emit_ints (vjp, ends, n),
                        ir_emit_ints (vjp, axes, n) };

  return ir_emit (vjp, "Slice", 4, inputs);
}

IrValue *
ir_emit_scatter_flat (const IrVjp *vjp, IrValue *like, IrValue *places, IrValue *updates)
{
  IrValue *inputs[] = { ir_emit_flat (vjp, ir_emit_filled (vjp, like, 0)),
                        ir_emit_flat (vjp, places), ir_emit_flat (vjp, updates) };
  IrNode *node = ir_emit_node (vjp, "ScatterElements", 3, inputs, 1);

  ir_emit_attr_string (vjp, node, "reduction", "add");
  return ir_emit_reshape_like (vjp, ir_emit_end (vjp, node), like);
}

/* Rules may build more than is wanted: what nothing reads goes again, but @kept. */
void
ir_emit_sweep (
    IrEdit *edit, guint first_node, guint first_value, IrValue *const *kept, guint n_kept)
{
  IrModel *model = ir_edit_model (edit);
  g_autoptr (GHashTable) stays = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < n_kept; i++)
    if (kept[i] != NULL)
      g_hash_table_add (stays, kept[i]);
  for (guint i = model->nodes->len; i-- > first_node;)
    {
      IrNode *node = model->nodes->pdata[i];
      gboolean used = node->state != IR_STATE_LIVE;
      for (guint k = 0; k < node->n_outputs && !used; k++)
        used = node->outputs[k] != NULL &&
               (node->outputs[k]->n_uses > 0 || g_hash_table_contains (stays, node->outputs[k]));
      if (!used)
        ir_edit_remove_node (edit, node);
    }
  for (guint i = first_value; i < model->values->len; i++)
    {
      IrValue *value = model->values->pdata[i];
      if (value->state == IR_STATE_LIVE && value->producer == NULL && value->n_uses == 0 &&
          value->initializer != NULL && !g_hash_table_contains (stays, value))
        ir_edit_remove_value (edit, value);
    }
}
