/* The changes of form, one row each: see upgrade-opset.c. A row whose new form the op table's
 * adapters know is written by write_adapted(), which compares the node with what its adapter makes
 * of it; the others put nodes around theirs. Every new form must mean the same in the old version,
 * as irscope runs it, unless its row is late. */
#include "config.h"

#include "core/op/check.h"
#include "passes/rewrites/upgrade.h"

#include <string.h>

/* -- making things -- */

static gboolean cannot (GError **error, const char *format, ...) G_GNUC_PRINTF (2, 3);

static gboolean
cannot (GError **error, const char *format, ...)
{
  va_list args;
  g_autofree char *message = NULL;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, IR_OP_ERROR, IR_OP_ERROR_UNSUPPORTED, message);
  return FALSE;
}

static gboolean
in_function (const IrGraph *graph)
{
  while (graph->kind == IR_GRAPH_SUBGRAPH && ir_graph_outer (graph) != NULL)
    graph = ir_graph_outer (graph);
  return graph->kind == IR_GRAPH_FUNCTION;
}

static IrNode *
add_node (IrUpgrade *upgrade,
          const IrNode *at,
          const char *op_type,
          guint n_inputs,
          IrValue *const *inputs,
          guint n_outputs)
{
  IrNode *node = ir_edit_add_node (upgrade->context->edit, at->graph, op_type, "", NULL, n_inputs,
                                   inputs, n_outputs);

  ir_edit_step_map_node (upgrade->context->edit, at->id, node->id);
  return node;
}

/* A constant beside @node, named after its output; functions have no initializers. */
static IrValue *
add_constant (IrUpgrade *upgrade, const IrNode *node, const char *what, IrTensor *tensor)
{
  IrEdit *edit = upgrade->context->edit;
  g_autoptr (IrTensor) owned = tensor;
  const IrValue *output = node->n_outputs > 0 ? node->outputs[0] : NULL;
  g_autofree char *base = g_strdup_printf ("%s_%s", output != NULL ? output->name : node->op_type,
                                           what);
  const char *name = ir_edit_unique_name (edit, base);
  IrNode *constant;

  if (!upgrade->constants_are_nodes && !in_function (node->graph))
    return ir_edit_add_initializer (edit, node->graph, name, tensor);
  constant = add_node (upgrade, node, "Constant", 0, NULL, 1);
  ir_edit_set_attr (edit, constant,
                    ir_attr_tensor (ir_edit_model (edit)->context, "value", tensor));
  ir_edit_rename_value (edit, constant->outputs[0], name);
  ir_infer_node (edit, constant, NULL);
  return constant->outputs[0];
}

static IrValue *
add_ints (IrUpgrade *upgrade, const IrNode *node, const char *what, const gint64 *values, gssize n)
{
  return add_constant (upgrade, node, what, ir_tensor_new_int64s (values, n));
}

static IrValue *
result_of (IrUpgrade *upgrade, IrNode *node)
{
  ir_infer_node (upgrade->context->edit, node, NULL);
  return node->outputs[0];
}

static IrContext *
context_of (const IrUpgrade *upgrade)
{
  return upgrade->context->model->context;
}

/* Unsqueeze of @value at axes @first .. @end - 1. */
static IrValue *
add_unsqueeze (IrUpgrade *upgrade, const IrNode *at, IrValue *value, gint64 first, gint64 end)
{
  g_autofree gint64 *axes = g_new (gint64, MAX (end - first, 1));
  IrValue *inputs[2] = { value, NULL };
  IrNode *node;

  for (gint64 i = first; i < end; i++)
    axes[i - first] = i;
  if (upgrade->target >= 13)
    inputs[1] = add_ints (upgrade, at, "axes", axes, end - first);
  node = add_node (upgrade, at, "Unsqueeze", upgrade->target >= 13 ? 2 : 1, inputs, 1);
  if (upgrade->target < 13)
    ir_edit_set_attr (upgrade->context->edit, node,
                      ir_attr_ints (context_of (upgrade), "axes", axes, (guint) (end - first)));
  return result_of (upgrade, node);
}

static IrValue *
add_reshape (IrUpgrade *upgrade, const IrNode *at, IrValue *value, IrValue *shape)
{
  return result_of (upgrade,
                    add_node (upgrade, at, "Reshape", 2, (IrValue *[]){ value, shape }, 1));
}

/* Appends @value as input @slot; slots in between are left out. */
static void
put_input (IrUpgrade *upgrade, IrNode *node, guint slot, IrValue *value)
{
  if (slot >= node->n_inputs)
    ir_edit_set_n_inputs (upgrade->context->edit, node, slot + 1);
  ir_edit_set_input (upgrade->context->edit, node, slot, value);
}

/* -- by the adapters of the op table -- */

static const IrAdapt *
adapter_of (const IrFormChange *change, const IrNode *node)
{
  for (const IrAdapt *adapt = node->op->adapt; adapt->below != 0; adapt++)
    if (adapt->below == change->version)
      return adapt;
  return NULL;
}

static const IrAttr *
adapted_attr (const IrCall *call, const char *name)
{
  for (guint i = 0; i < call->n_attrs; i++)
    if (strcmp (call->attrs[i]->name, name) == 0)
      return call->attrs[i];
  return NULL;
}

static gboolean
is_new_input (const IrCall *call, const IrNode *node, guint slot)
{
  return call->inputs[slot].present && ir_node_input (node, slot) == NULL &&
         call->inputs[slot].tensor != NULL;
}

/* Whether the adapter changes anything. */
static gboolean
differs_adapted (const IrFormChange *change, const IrNode *node)
{
  const IrAdapt *adapt = ir_node_valid_op (node) != NULL ? adapter_of (change, node) : NULL;
  IrCall call;
  gboolean differs;

  if (adapt == NULL)
    return FALSE;
  ir_call_layout (&call, node);
  adapt->adapt (&call);
  differs = call.n_attrs != node->n_attrs;
  for (guint i = 0; i < node->n_attrs && !differs; i++)
    {
      const IrAttr *attr = adapted_attr (&call, node->attrs[i]->name);
      differs = attr == NULL || !ir_attr_equal (attr, node->attrs[i]);
    }
  for (guint i = 0; i < call.n_inputs && !differs; i++)
    differs = is_new_input (&call, node, i);
  ir_call_clear (&call);
  return differs;
}

static gboolean
write_attrs (IrUpgrade *upgrade, const IrCall *call, IrNode *node, GError **error)
{
  guint n = node->n_attrs;
  g_autofree const IrAttr **old = g_memdup2 (node->attrs, MAX (n, 1) * sizeof *old);

  for (guint i = 0; i < n; i++)
    {
      const IrAttr *attr = adapted_attr (call, old[i]->name);
      if (attr != NULL && ir_attr_equal (attr, old[i]))
        continue;
      if (old[i]->ref_name != NULL)
        return cannot (error, "attribute %s is given by the caller of the function", old[i]->name);
      if (attr == NULL)
        ir_edit_unset_attr (upgrade->context->edit, node, old[i]->name);
    }
  for (guint i = 0; i < call->n_attrs; i++)
    ir_edit_set_attr (upgrade->context->edit, node, call->attrs[i]);
  return TRUE;
}

static void
write_inputs (IrUpgrade *upgrade, const IrCall *call, IrNode *node)
{
  for (guint i = 0; i < call->n_inputs; i++)
    {
      g_autofree char *name = NULL;
      if (!is_new_input (call, node, i))
        continue;
      name = ir_op_input_name (node->op, i);
      put_input (
          upgrade, node, i,
          add_constant (upgrade, node, name, ir_tensor_ref ((IrTensor *) call->inputs[i].tensor)));
    }
}

/* Writes what the adapter of that version makes of the node into it. */
static gboolean
write_adapted (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  IrCall call;
  gboolean written;

  ir_call_layout (&call, node);
  adapter_of (change, node)->adapt (&call);
  written = write_attrs (upgrade, &call, node, error);
  if (written)
    write_inputs (upgrade, &call, node);
  ir_call_clear (&call);
  return written;
}

/* -- attributes -- */

static gboolean
has_consumed_inputs (const IrFormChange *change, const IrNode *node)
{
  return ir_node_attr (node, "consumed_inputs") != NULL;
}

static gboolean
drop_consumed_inputs (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  ir_edit_unset_attr (upgrade->context->edit, node, "consumed_inputs");
  return TRUE;
}

static gboolean
drop_is_test (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  ir_edit_unset_attr (upgrade->context->edit, node, "is_test");
  return TRUE;
}

static gboolean
has_is_test (const IrFormChange *change, const IrNode *node)
{
  return ir_node_attr (node, "is_test") != NULL;
}

static gboolean
drop_broadcast (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  ir_edit_unset_attr (upgrade->context->edit, node, "broadcast");
  return TRUE;
}

static gboolean
drop_spatial (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  int rank = node->inputs[0] != NULL ? ir_value_rank (node->inputs[0]) : IR_RANK_UNKNOWN;

  if (ir_node_attr_int (node, "spatial", 1) == 0 && rank != 2)
    return cannot (error, "it has spatial = 0 (statistics for each element), which later versions "
                          "of BatchNormalization cannot say");
  ir_edit_unset_attr (upgrade->context->edit, node, "spatial");
  return TRUE;
}

static gboolean
has_spatial (const IrFormChange *change, const IrNode *node)
{
  return ir_node_attr (node, "spatial") != NULL;
}

static gboolean
has_float_p (const IrFormChange *change, const IrNode *node)
{
  const IrAttr *p = ir_node_attr (node, "p");

  return p != NULL && p->kind == IR_ATTR_FLOAT;
}

static gboolean
write_int_p (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  float p = ir_node_attr_float (node, "p", 2);

  if (!(p >= 1 && p < 1 << 24) || p != (float) (gint64) p)
    return cannot (error, "its p is %g, an integer is needed", (double) p);
  ir_edit_set_attr (upgrade->context->edit, node,
                    ir_attr_int (context_of (upgrade), "p", (gint64) p));
  return TRUE;
}

static gboolean
has_old_mode (const IrFormChange *change, const IrNode *node)
{
  const char *mode = ir_node_attr_string (node, "mode", "linear");

  return strcmp (mode, "bilinear") == 0 || strcmp (mode, "bicubic") == 0;
}

static gboolean
write_new_mode (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  const char *mode = ir_node_attr_string (node, "mode", "linear");

  ir_edit_set_attr (upgrade->context->edit, node,
                    ir_attr_string (context_of (upgrade), "mode", mode + strlen ("bi"), -1));
  return TRUE;
}

/* Since opset 18 a Split without sizes needs the number of its parts. */
static gboolean
lacks_sizes (const IrFormChange *change, const IrNode *node)
{
  return ir_node_input (node, 1) == NULL && ir_node_attr (node, "num_outputs") == NULL;
}

static gboolean
write_num_outputs (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  ir_edit_set_attr (upgrade->context->edit, node,
                    ir_attr_int (context_of (upgrade), "num_outputs", node->n_outputs));
  return TRUE;
}

/* -- inputs -- */

static gboolean
has_k (const IrFormChange *change, const IrNode *node)
{
  return ir_node_attr (node, "k") != NULL;
}

static gboolean
write_k (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  gint64 k = ir_node_attr_int (node, "k", 0);

  put_input (upgrade, node, 1, add_ints (upgrade, node, "k", &k, 1));
  ir_edit_unset_attr (upgrade->context->edit, node, "k");
  return TRUE;
}

static gboolean
has_ratio (const IrFormChange *change, const IrNode *node)
{
  return ir_node_attr (node, "ratio") != NULL;
}

/* It says nothing in inference, but it is the model's. */
static gboolean
write_ratio (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  float ratio = ir_node_attr_float (node, "ratio", 0.5f);

  put_input (
      upgrade, node, 1,
      add_constant (upgrade, node, "ratio", ir_tensor_new_scalar (IR_DTYPE_FLOAT, (double) ratio)));
  ir_edit_unset_attr (upgrade->context->edit, node, "ratio");
  return TRUE;
}

/* Opset 1 let the sizes be an input, as opset 13 does again. */
static gboolean
has_sizes_input (const IrFormChange *change, const IrNode *node)
{
  return ir_node_input (node, 1) != NULL && ir_node_opset (node) < 2;
}

static gboolean
write_sizes_attr (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  const IrTensor *sizes = ir_value_constant (node->inputs[1]);
  g_autofree gint64 *values = NULL;
  guint n;

  if (upgrade->target >= 13)
    return TRUE;
  if (sizes == NULL)
    return cannot (error, "its sizes are computed, which Split can have again since opset 13");
  n = (guint) ir_tensor_n_elements (sizes);
  values = g_new (gint64, MAX (n, 1));
  for (guint i = 0; i < n; i++)
    values[i] = ir_tensor_get_int64 (sizes, i);
  ir_edit_set_attr (upgrade->context->edit, node,
                    ir_attr_ints (context_of (upgrade), "split", values, n));
  ir_edit_set_n_inputs (upgrade->context->edit, node, 1);
  return TRUE;
}

static gboolean
has_three_inputs (const IrFormChange *change, const IrNode *node)
{
  return node->n_inputs == 3;
}

static gboolean
write_repeats (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  int rank = node->inputs[0] != NULL ? ir_value_rank (node->inputs[0]) : IR_RANK_UNKNOWN;
  const IrTensor *tiles = node->inputs[1] != NULL ? ir_value_constant (node->inputs[1]) : NULL;
  const IrTensor *axis = node->inputs[2] != NULL ? ir_value_constant (node->inputs[2]) : NULL;
  gint64 repeats[IR_MAX_RANK], at;

  if (rank < 0 || rank > IR_MAX_RANK || tiles == NULL || axis == NULL ||
      ir_tensor_n_elements (tiles) != 1 || ir_tensor_n_elements (axis) != 1)
    return cannot (error, "its count and axis must be constants, and the rank of its input known");
  at = (gint64) ir_tensor_get_double (axis, 0);
  if (at < -rank || at >= rank)
    return cannot (error, "its axis is %" G_GINT64_FORMAT ", the input has rank %d", at, rank);
  for (int i = 0; i < rank; i++)
    repeats[i] = 1;
  repeats[at < 0 ? at + rank : at] = (gint64) ir_tensor_get_double (tiles, 0);
  ir_edit_set_n_inputs (upgrade->context->edit, node, 2);
  ir_edit_set_input (upgrade->context->edit, node, 1,
                     add_ints (upgrade, node, "repeats", repeats, rank));
  return TRUE;
}

/* -- broadcasting -- */

static gboolean
has_broadcast (const IrFormChange *change, const IrNode *node)
{
  return ir_node_attr (node, "broadcast") != NULL || ir_node_attr (node, "axis") != NULL;
}

static gboolean
write_broadcast (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  IrEdit *edit = upgrade->context->edit;
  gint64 axis = ir_node_attr_int (node, "axis", -1);
  IrValue *b = ir_node_input (node, 1);

  if (ir_node_attr_int (node, "broadcast", 0) != 0 && axis >= 0 && b != NULL)
    {
      int a_rank = node->inputs[0] != NULL ? ir_value_rank (node->inputs[0]) : IR_RANK_UNKNOWN;
      int b_rank = ir_value_rank (b);
      if (b_rank < 0 || (b_rank > 0 && a_rank < 0))
        return cannot (error,
                       "it lines up axis %" G_GINT64_FORMAT " with inputs whose rank is not "
                       "known",
                       axis);
      if (b_rank > 0 && a_rank - axis > b_rank)
        ir_edit_set_input (edit, node, 1, add_unsqueeze (upgrade, node, b, b_rank, a_rank - axis));
    }
  ir_edit_unset_attr (edit, node, "broadcast");
  ir_edit_unset_attr (edit, node, "axis");
  return TRUE;
}

/* Before opset 7 a slope of one axis was one for each channel. */
static gboolean
has_slope_per_channel (const IrFormChange *change, const IrNode *node)
{
  const IrValue *x = ir_node_input (node, 0), *slope = ir_node_input (node, 1);
  int rank = x != NULL ? ir_value_rank (x) : IR_RANK_UNKNOWN;
  int slope_rank = slope != NULL ? ir_value_rank (slope) : 0;

  return slope_rank == IR_RANK_UNKNOWN ||
         (slope_rank == 1 && slope->type->dims[0] != 1 && (rank > 2 || rank == IR_RANK_UNKNOWN));
}

static gboolean
write_slope (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  IrValue *slope = node->inputs[1];
  int rank = node->inputs[0] != NULL ? ir_value_rank (node->inputs[0]) : IR_RANK_UNKNOWN;

  if (rank == IR_RANK_UNKNOWN || ir_value_rank (slope) == IR_RANK_UNKNOWN)
    return cannot (error,
                   "its slope is one for each channel, and the rank of an input is not known");
  ir_edit_set_input (upgrade->context->edit, node, 1,
                     add_unsqueeze (upgrade, node, slope, 1, rank - 1));
  return TRUE;
}

/* -- replaced operators -- */

static gboolean
always (const IrFormChange *change, const IrNode *node)
{
  return TRUE;
}

static gboolean
write_resize (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  ir_edit_set_op (upgrade->context->edit, node, "Resize", "", NULL);
  return TRUE;
}

static gboolean
write_scatter_elements (IrUpgrade *upgrade,
                        const IrFormChange *change,
                        IrNode *node,
                        GError **error)
{
  ir_edit_set_op (upgrade->context->edit, node, "ScatterElements", "", NULL);
  return TRUE;
}

static gboolean
has_two_inputs (const IrFormChange *change, const IrNode *node)
{
  return node->n_inputs == 2;
}

/* Opset 11: X, roi, scales; roi may be left out since 13. */
static gboolean
write_resize_inputs (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  IrEdit *edit = upgrade->context->edit;
  IrContext *context = context_of (upgrade);
  IrValue *scales = node->inputs[1], *roi = NULL;
  gint64 none = 0;

  ir_edit_set_attr (edit, node,
                    ir_attr_string (context, "coordinate_transformation_mode", "asymmetric", -1));
  ir_edit_set_attr (edit, node, ir_attr_string (context, "nearest_mode", "floor", -1));
  if (upgrade->target < 13)
    roi = add_constant (upgrade, node, "roi", ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, &none, &none));
  ir_edit_set_n_inputs (edit, node, 3);
  ir_edit_set_input (edit, node, 1, roi);
  ir_edit_set_input (edit, node, 2, scales);
  return TRUE;
}

static gboolean
has_old_coordinates (const IrFormChange *change, const IrNode *node)
{
  return strcmp (ir_node_attr_string (node, "coordinate_transformation_mode", ""),
                 "tf_half_pixel_for_nn") == 0;
}

/* Without the half that other coordinates take off: rounding takes it off instead, where it can. */
static gboolean
write_coordinates (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  const char *rounding = ir_node_attr_string (node, "nearest_mode", "round_prefer_floor");
  const char *fresh = NULL;

  if (strcmp (rounding, "floor") == 0)
    fresh = "round_prefer_ceil";
  else if (strcmp (rounding, "round_prefer_floor") == 0)
    fresh = "ceil";
  if (fresh == NULL || strcmp (ir_node_attr_string (node, "mode", "nearest"), "nearest") != 0)
    return cannot (error, "its coordinate_transformation_mode is tf_half_pixel_for_nn, which later "
                          "versions can say for the nearest element, rounded down, only");
  ir_edit_set_attr (
      upgrade->context->edit, node,
      ir_attr_string (context_of (upgrade), "coordinate_transformation_mode", "half_pixel", -1));
  ir_edit_set_attr (upgrade->context->edit, node,
                    ir_attr_string (context_of (upgrade), "nearest_mode", fresh, -1));
  return TRUE;
}

/* -- normalization -- */

static gboolean
has_more_outputs (const IrFormChange *change, const IrNode *node)
{
  return node->n_outputs > 1;
}

static gboolean
drop_training_outputs (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  for (guint i = 1; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && node->outputs[i]->n_uses > 0)
      return cannot (error, "output %u (%s) is of training, and is used", i,
                     node->outputs[i]->name);
  ir_edit_set_n_outputs (upgrade->context->edit, node, 1);
  return TRUE;
}

static gboolean
is_not_last_axis (const IrFormChange *change, const IrNode *node)
{
  int rank = node->inputs[0] != NULL ? ir_value_rank (node->inputs[0]) : IR_RANK_UNKNOWN;
  gint64 axis = ir_node_attr_int (node, "axis", 1);

  if (ir_node_attr (node, "axis") == NULL)
    return TRUE;
  return axis != -1 && (rank == IR_RANK_UNKNOWN || (axis < 0 ? axis + rank : axis) != rank - 1);
}

static guint
n_open_dims (const IrType *type)
{
  guint n = 0;

  for (int i = 0; i < type->rank; i++)
    n += type->dims[i] < 0;
  return n;
}

/* Can a tensor of this type be put back into its shape, if sizes that are open may be 0? Without
 * allowzero a computed 0 copies another size, but one open size may be left to the operator. */
static gboolean
can_unflatten (const IrUpgrade *upgrade, const IrType *type)
{
  return upgrade->target >= 14 || (ir_type_has_rank (type) && n_open_dims (type) <= 1);
}

static IrValue *
shape_of (IrUpgrade *upgrade, const IrNode *at, IrValue *value)
{
  gint64 dims[IR_MAX_RANK];

  if (!ir_type_is_static (value->type) && upgrade->target >= 14)
    return result_of (upgrade, add_node (upgrade, at, "Shape", 1, (IrValue *[]){ value }, 1));
  for (int i = 0; i < value->type->rank; i++)
    dims[i] = MAX (value->type->dims[i], -1);
  return add_ints (upgrade, at, "shape", dims, value->type->rank);
}

/* @value, of as many elements as @x, in the shape of @x. A size of 0 must not copy another one. */
static IrValue *
add_unflatten (IrUpgrade *upgrade, const IrNode *at, IrValue *value, IrValue *x)
{
  IrValue *shape = shape_of (upgrade, at, x), *fresh = add_reshape (upgrade, at, value, shape);

  if (upgrade->target >= 14 && !ir_type_is_static (x->type))
    ir_edit_set_attr (upgrade->context->edit, fresh->producer,
                      ir_attr_int (context_of (upgrade), "allowzero", 1));
  else if (!ir_types_identical (fresh->type, x->type))
    ir_edit_set_type (upgrade->context->edit, fresh, x->type);
  return fresh;
}

static gboolean
is_empty (const IrValue *value)
{
  for (int i = 0; i < ir_value_rank (value); i++)
    if (value->type->dims[i] == 0)
      return TRUE;
  return FALSE;
}

static gboolean
write_softmax (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  IrEdit *edit = upgrade->context->edit;
  IrContext *context = context_of (upgrade);
  IrValue *x = node->inputs[0], *y = node->outputs[0], *fresh;
  const IrAttr *attr = ir_node_attr (node, "axis");
  int rank = ir_value_rank (x);
  gint64 axis = ir_node_attr_int (node, "axis", 1);
  IrNode *flatten, *softmax;

  if (attr != NULL && attr->ref_name != NULL)
    return cannot (error, "attribute axis is given by the caller of the function");
  if (rank != IR_RANK_UNKNOWN && axis < 0)
    axis += rank;
  if (axis == rank - 1 || is_empty (x) || rank == 0) /* a scalar has no axis to be flattened at */
    {
      ir_edit_set_attr (edit, node, ir_attr_int (context, "axis", rank == 0 ? -1 : axis));
      return TRUE;
    }
  if (!can_unflatten (upgrade, x->type))
    return cannot (error,
                   "several sizes of %s are not known, and before opset 14 a size of 0 could "
                   "not be put back; upgrade to 14 or later",
                   x->name);
  flatten = add_node (upgrade, node, "Flatten", 1, &x, 1);
  ir_edit_set_attr (edit, flatten, ir_attr_int (context, "axis", axis));
  fresh = result_of (upgrade, flatten);
  softmax = add_node (upgrade, node, node->op_type, 1, &fresh, 1);
  ir_edit_set_attr (edit, softmax, ir_attr_int (context, "axis", 1));
  ir_edit_rename_node (edit, softmax, node->name);
  fresh = add_unflatten (upgrade, node, result_of (upgrade, softmax), x);
  ir_edit_replace_uses (edit, y, fresh);
  ir_edit_remove_node (edit, node);
  ir_pass_take_name (upgrade->context, y, fresh);
  return TRUE;
}

static gint64
known_dim (const IrValue *value, int axis)
{
  if (value == NULL || ir_value_rank (value) <= axis || value->type->dims[axis] < 0)
    return -1;
  return value->type->dims[axis];
}

static gboolean
has_scale_per_group (const IrFormChange *change, const IrNode *node)
{
  return known_dim (ir_node_input (node, 0), 1) != ir_node_attr_int (node, "num_groups", 0);
}

/* Whether scale and bias are: models of version 18 may have them for each channel, as later ones.
 */
static gboolean
are_sized (const IrNode *node, gint64 groups, gint64 channels)
{
  for (guint i = 1; i <= 2; i++)
    {
      const IrValue *value = ir_node_input (node, i);
      gint64 size = known_dim (value, 0);

      if (value != NULL && size != groups && size != channels)
        return FALSE;
    }
  return TRUE;
}

static gboolean
write_scale (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  gint64 groups = ir_node_attr_int (node, "num_groups", 0);
  gint64 channels = known_dim (ir_node_input (node, 0), 1);
  gint64 column[2] = { -1, 1 }, wide[2] = { groups, 1 }, flat = -1;

  if (channels < 0 || groups < 1 || channels % groups != 0)
    return cannot (error,
                   "the number of its channels must be known, to repeat the scale of each "
                   "of %" G_GINT64_FORMAT " groups",
                   groups);
  if (!are_sized (node, groups, channels))
    return cannot (error,
                   "it must be known whether its scale is for each of %" G_GINT64_FORMAT
                   " groups or for each channel",
                   groups);
  wide[1] = channels / groups;
  for (guint i = 1; i <= 2; i++)
    {
      IrValue *value = ir_node_input (node, i);
      IrNode *expand;
      if (value == NULL || known_dim (value, 0) == channels)
        continue;
      value = add_reshape (upgrade, node, value, add_ints (upgrade, node, "column", column, 2));
      expand = add_node (upgrade, node, "Expand", 2,
                         (IrValue *[]){ value, add_ints (upgrade, node, "groups", wide, 2) }, 1);
      value = add_reshape (upgrade, node, result_of (upgrade, expand),
                           add_ints (upgrade, node, "channels", &flat, 1));
      ir_edit_set_input (upgrade->context->edit, node, i, value);
    }
  return TRUE;
}

/* -- late ones -- */

static gboolean
has_used_mask (const IrFormChange *change, const IrNode *node)
{
  const IrValue *mask = ir_node_output (node, 1);

  return mask != NULL && mask->n_uses > 0;
}

static gboolean
write_mask (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  IrEdit *edit = upgrade->context->edit;
  IrValue *mask = node->outputs[1], *none = NULL;
  const IrType *type = mask->type;
  IrDtype dtype = node->inputs[0] != NULL ? ir_value_dtype (node->inputs[0]) : IR_DTYPE_UNDEFINED;
  IrNode *cast;

  if (dtype == IR_DTYPE_UNDEFINED)
    return cannot (error, "its mask is used, and the element type of its input is not known");
  cast = add_node (upgrade, node, "Cast", 1, &none, 1);
  ir_edit_set_attr (edit, cast, ir_attr_int (context_of (upgrade), "to", (gint64) dtype));
  ir_edit_replace_uses (edit, mask, cast->outputs[0]);
  ir_edit_set_input (edit, cast, 0, mask);
  ir_edit_set_type (edit, cast->outputs[0], type);
  if (ir_type_is_tensor (type))
    ir_edit_set_type (edit, mask,
                      ir_type_tensor (context_of (upgrade), IR_DTYPE_BOOL, type->rank, type->dims));
  return TRUE;
}

/* The type of one entry of the batch. */
static const IrType *
entry_type (IrUpgrade *upgrade, const IrValue *value)
{
  const IrType *type = value->type;

  if (!ir_type_is_tensor (type) || !ir_type_has_rank (type) || type->rank < 1)
    return ir_type_is_tensor (type)
               ? ir_type_tensor (context_of (upgrade), type->dtype, IR_RANK_UNKNOWN, NULL)
               : NULL;
  return ir_type_tensor (context_of (upgrade), type->dtype, type->rank - 1, type->dims + 1);
}

/* The graph that the outer Scan runs for each entry: one Scan, of the new form. */
static IrGraph *
scan_of_entry (IrUpgrade *upgrade, IrNode *node, const IrAttr *body)
{
  IrEdit *edit = upgrade->context->edit;
  IrContext *context = context_of (upgrade);
  IrGraph *graph = ir_edit_add_graph (edit, IR_GRAPH_SUBGRAPH, "entry");
  guint n = node->n_inputs - 1, n_directions;
  g_autofree IrValue **inputs = g_new (IrValue *, MAX (n, 1));
  const gint64 *directions = ir_node_attr_ints (node, "directions", &n_directions);
  IrNode *scan;

  for (guint i = 0; i < n; i++)
    inputs[i] = ir_edit_add_value (edit, graph, ir_edit_unique_name (edit, "entry"),
                                   entry_type (upgrade, node->inputs[i + 1]));
  ir_edit_set_graph_inputs (edit, graph, inputs, n);
  scan = ir_edit_add_node (edit, graph, "Scan", "", node->name, n, inputs, node->n_outputs);
  ir_edit_set_attr (edit, scan, ir_node_attr (node, "num_scan_inputs"));
  if (directions != NULL)
    ir_edit_set_attr (edit, scan,
                      ir_attr_ints (context, "scan_input_directions", directions, n_directions));
  ir_edit_unset_attr (edit, node, "body");
  for (guint i = 0; i < body->n; i++)
    ir_edit_set_graph_owner (edit, ir_model_graph (upgrade->context->model, body->graphs[i]), scan);
  ir_edit_set_attr (edit, scan, body);
  for (guint i = 0; i < scan->n_outputs; i++)
    if (node->outputs[i] != NULL)
      ir_edit_set_type (edit, scan->outputs[i], entry_type (upgrade, node->outputs[i]));
  ir_edit_set_graph_outputs (edit, graph, scan->outputs, scan->n_outputs);
  return graph;
}

static gboolean
write_scan (IrUpgrade *upgrade, const IrFormChange *change, IrNode *node, GError **error)
{
  IrEdit *edit = upgrade->context->edit;
  IrContext *context = context_of (upgrade);
  const IrAttr *body = ir_node_attr (node, "body");
  guint n = node->n_inputs;
  IrGraph *graph;

  if (body == NULL || body->kind != IR_ATTR_GRAPH || body->ref_name != NULL || n < 2 ||
      ir_node_attr (node, "num_scan_inputs") == NULL)
    return cannot (error, "it has no body, no inputs, or no num_scan_inputs");
  if (node->inputs[0] != NULL)
    return cannot (error, "it has sequence_lens, which later versions of Scan do not have");
  for (guint i = 1; i < n; i++)
    if (node->inputs[i] == NULL)
      return cannot (error, "input %u is missing", i);
  graph = scan_of_entry (upgrade, node, body);
  for (guint i = 1; i < n; i++)
    ir_edit_set_input (edit, node, i - 1, node->inputs[i]);
  ir_edit_set_n_inputs (edit, node, n - 1);
  ir_edit_unset_attr (edit, node, "directions");
  ir_edit_set_attr (edit, node, ir_attr_int (context, "num_scan_inputs", n - 1));
  ir_edit_set_attr (edit, node, ir_attr_graph (context, "body", graph->id));
  return TRUE;
}

/* -- the table -- */

#define CONSUMED "consumed_inputs means nothing any more"
#define ADAPTED  differs_adapted, write_adapted

static const char *const binary[] = { "Add", "Sub", "Mul",   "Div",     "Pow",  "And",
                                      "Or",  "Xor", "Equal", "Greater", "Less", NULL };
static const char *const reductions[] = {
  "ReduceL1",   "ReduceL2",  "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
  "ReduceMean", "ReduceMin", "ReduceProd",   "ReduceSumSquare", NULL
};
static const char *const softmaxes[] = { "Softmax", "LogSoftmax", "Hardmax", NULL };
static const char *const recurrent[] = { "RNN", "GRU", "LSTM", NULL };
static const char *const squeezes[] = { "Squeeze", "Unsqueeze", "ReduceSum", NULL };
static const char *const lp_pools[] = { "LpPool", "GlobalLpPool", NULL };
static const char *const batch_norm[] = { "BatchNormalization", NULL };
static const char *const cast[] = { "Cast", NULL };
static const char *const clip[] = { "Clip", NULL };
static const char *const concat[] = { "Concat", NULL };
static const char *const dft[] = { "DFT", NULL };
static const char *const dropout[] = { "Dropout", NULL };
static const char *const gemm[] = { "Gemm", NULL };
static const char *const grid_sample[] = { "GridSample", NULL };
static const char *const group_norm[] = { "GroupNormalization", NULL };
static const char *const pad[] = { "Pad", NULL };
static const char *const p_relu[] = { "PRelu", NULL };
static const char *const reshape[] = { "Reshape", NULL };
static const char *const resize[] = { "Resize", NULL };
static const char *const roi_align[] = { "RoiAlign", NULL };
static const char *const scan[] = { "Scan", NULL };
static const char *const scatter[] = { "Scatter", NULL };
static const char *const selu[] = { "Selu", NULL };
static const char *const slice[] = { "Slice", NULL };
static const char *const split[] = { "Split", NULL };
static const char *const tile[] = { "Tile", NULL };
static const char *const top_k[] = { "TopK", NULL };
static const char *const upsample[] = { "Upsample", NULL };

static const IrFormChange changes[] = {
  { lp_pools, 2, "respell-attribute", "p becomes an integer", has_float_p, write_int_p },
  { pad, 2, "respell-attribute", "paddings becomes pads", ADAPTED },
  { split, 2, "attributes-to-inputs", "sizes become an attribute", has_sizes_input,
    write_sizes_attr },
  { concat, 4, "explicit-attribute", "the axis is written down", ADAPTED },
  { reshape, 5, "attributes-to-inputs", "the shape becomes an input", ADAPTED },
  { cast, 6, "respell-attribute", "the type becomes a number", ADAPTED },
  { selu, 6, "explicit-attribute", "alpha and gamma are written down", ADAPTED },
  { tile, 6, "tile-repeats", "repeats for all axes", has_three_inputs, write_repeats },
  { NULL, 6, "drop-attribute", CONSUMED, has_consumed_inputs, drop_consumed_inputs },
  { binary, 7, "broadcast-by-shape", "operands line up by their last axes", has_broadcast,
    write_broadcast },
  { p_relu, 7, "broadcast-by-shape", "the slope lines up by its last axes", has_slope_per_channel,
    write_slope },
  { gemm, 7, "drop-attribute", "C always broadcasts", has_broadcast, drop_broadcast },
  { batch_norm, 7, "drop-attribute", "is_test means nothing any more", has_is_test, drop_is_test },
  { dropout, 7, "drop-attribute", "is_test means nothing any more", has_is_test, drop_is_test },
  { recurrent, 7, "drop-attribute", "output_sequence means nothing any more", ADAPTED },
  { upsample, 7, "respell-attribute", "scales for all axes", ADAPTED },
  { batch_norm, 9, "drop-attribute", "spatial is always 1", has_spatial, drop_spatial },
  { upsample, 9, "attributes-to-inputs", "scales become an input", ADAPTED },
  { scan, 9, "scan-over-batch", "an outer Scan goes over the batch", always, write_scan, TRUE },
  { upsample, 10, "rename-operator", "is a case of Resize", always, write_resize },
  { slice, 10, "attributes-to-inputs", "starts, ends and axes become inputs", ADAPTED },
  { top_k, 10, "attributes-to-inputs", "k becomes an input", has_k, write_k },
  { dropout, 10, "mask-type", "the mask becomes boolean", has_used_mask, write_mask, TRUE },
  { clip, 11, "attributes-to-inputs", "limits become inputs", ADAPTED },
  { pad, 11, "attributes-to-inputs", "pads and value become inputs", ADAPTED },
  { resize, 11, "resize-inputs", "regions come before scales, coordinates are written down",
    has_two_inputs, write_resize_inputs },
  { scatter, 11, "rename-operator", "is ScatterElements", always, write_scatter_elements },
  { dropout, 12, "attributes-to-inputs", "the ratio becomes an input", has_ratio, write_ratio },
  { squeezes, 13, "attributes-to-inputs", "axes become an input", ADAPTED },
  { split, 13, "attributes-to-inputs", "sizes become an input", ADAPTED },
  { softmaxes, 13, "softmax-over-axis", "one axis instead of all from it on", is_not_last_axis,
    write_softmax },
  { resize, 13, "resize-inputs", "coordinates as later versions have them", has_old_coordinates,
    write_coordinates },
  { batch_norm, 14, "training-outputs", "outputs of training go", has_more_outputs,
    drop_training_outputs },
  { roi_align, 16, "explicit-attribute", "coordinates are written down", ADAPTED },
  { reductions, 18, "attributes-to-inputs", "axes become an input", ADAPTED },
  { split, 18, "explicit-attribute", "the number of parts is written down", lacks_sizes,
    write_num_outputs },
  { dft, 20, "attributes-to-inputs", "the axis becomes an input", ADAPTED },
  { grid_sample, 20, "respell-attribute", "modes for any rank", has_old_mode, write_new_mode },
  { group_norm, 21, "scale-per-channel", "scale and bias for each channel", has_scale_per_group,
    write_scale },
};

/**
 * ir_form_changes:
 * @n: (out): number of rows
 *
 * Returns: (transfer none) (array length=n): how the forms of operators changed, ascending by
 *   version
 */
const IrFormChange *
ir_form_changes (guint *n)
{
  *n = G_N_ELEMENTS (changes);
  return changes;
}
