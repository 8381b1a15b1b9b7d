/* Operators that carry a state from position to position, as the nodes that compute the same: a Scan over
 * positions, a convolution behind its state, a scatter. They are derived in their place.
 *
 * Sources: ONNX, LinearAttention 27, CausalConvWithState 27, TensorScatter 24, CumProd 26. */
#include "config.h"

#include "core/grad/body.h"
#include "core/grad/rules.h"

#include <math.h>
#include <string.h>

static const IrType *
without_axis (const IrVjp *in, const IrValue *value, gint64 axis)
{
  const IrType *type = value->type;
  IrDim dims[IR_MAX_RANK];
  int n = 0;

  if (!ir_type_is_tensor (type) || !ir_type_has_rank (type) || type->rank > IR_MAX_RANK)
    return NULL;
  for (int i = 0; i < type->rank; i++)
    if (i != axis)
      dims[n++] = type->dims[i];
  return ir_type_tensor (ir_edit_model (in->edit)->context, type->dtype, n, dims);
}

/* -- LinearAttention -- */

typedef struct
{
  const IrVjp *in;
  gint64 heads, group, k_size, v_size; /* of keys; queries that share each; elements */
  double scale;
} Linear;

/* [batch, positions, heads * n * size] to [positions, batch, heads, n, size] */
static IrValue *
by_position (const Linear *linear, IrValue *value, gint64 n)
{
  static const gint64 perm[] = { 1, 0, 2, 3, 4 };
  const gint64 dims[] = { 0, 0, linear->heads, n, -1 };

  return ir_emit_transpose (linear->in, ir_emit_reshape (linear->in, value, dims, 5), perm, 5);
}

/* Rates [batch, positions, heads * n] as columns, [positions, batch, heads, n, 1] */
static IrValue *
rates_by_position (const Linear *linear, IrValue *value)
{
  static const gint64 perm[] = { 1, 0, 2, 3, 4 };
  const gint64 size = ir_emit_dim (value, 2);
  const gint64 dims[] = { 0, 0, size == 1 ? 1 : linear->heads, -1, 1 };

  return ir_emit_transpose (linear->in, ir_emit_reshape (linear->in, value, dims, 5), perm, 5);
}

static IrValue *
first_state (const Linear *linear)
{
  const IrVjp *in = linear->in;
  const gint64 sizes[] = { linear->heads, linear->k_size, linear->v_size }, zero = 0, one = 1;
  IrValue *past = ir_node_input (in->node, 3), *query = in->node->inputs[0];

  if (past != NULL)
    return past;
  IrValue *batch = ir_emit_slice (in, ir_emit_shape (in, query), &zero, &one, &zero, 1);
  IrValue *shape = ir_emit_concat (in, batch, ir_emit_ints (in, sizes, 3), 0);
  return ir_emit2 (in, "Expand", ir_emit_number_like (in, query, 0), shape);
}

/* The state decays, takes in key and value, and is read. @parts: query, key, value, decay and beta, the
 * last two nullable; rows are [batch, heads, n, size] */
static void
build_step (const Linear *linear, IrGradBody *body, IrValue *const *parts)
{
  static const gint64 turned[] = { 0, 1, 3, 2 };
  const IrVjp *in = &body->emit;
  IrValue *state = body->inputs->pdata[0], *value = parts[2];

  if (parts[3] != NULL)
    state = ir_emit2 (in, "Mul", state, ir_emit1 (in, "Exp", parts[3]));
  if (parts[4] != NULL)
    value = ir_emit2 (in, "Mul", parts[4],
                      ir_emit2 (in, "Sub", value, ir_emit2 (in, "MatMul", parts[1], state)));
  state = ir_emit2 (in, "Add", state,
                    ir_emit2 (in, "Mul", ir_emit_transpose (in, parts[1], turned, 4), value));
  ir_grad_body_add_output (body, state);
  ir_grad_body_add_output (body, ir_emit2 (in, "Mul", ir_emit2 (in, "MatMul", parts[0], state),
                                           ir_emit_number_like (in, state, linear->scale)));
}

static gboolean
linear_init (Linear *linear, const IrVjp *in, GError **error)
{
  const IrNode *node = in->node;
  const gint64 q_heads = ir_node_attr_int (node, "q_num_heads", 1);
  const gint64 width = ir_emit_dim (node->inputs[1], 2), values = ir_emit_dim (node->inputs[2], 2);

  linear->in = in;
  linear->heads = ir_node_attr_int (node, "kv_num_heads", 1);
  if (linear->heads < 1 || q_heads % linear->heads != 0 || width < 1 || values < 1 ||
      (ir_node_input (node, 5) != NULL && ir_emit_dim (node->inputs[5], 2) < 0))
    return ir_emit_fail (in, error, "the sizes of its heads are not known; give them (--dim)");
  linear->group = q_heads / linear->heads;
  linear->k_size = width / linear->heads;
  linear->v_size = values / linear->heads;
  linear->scale = (double) ir_node_attr_float (node, "scale", 0);
  if (linear->scale == 0)
    linear->scale = 1 / sqrt ((double) linear->k_size);
  return TRUE;
}

gboolean
ir_expand_linear_attention (const IrVjp *emit, IrValue **outputs, GError **error)
{
  static const gint64 perm[] = { 1, 0, 2, 3, 4 }, flat[] = { 0, 0, -1 };
  const IrNode *node = emit->node;
  IrValue *inputs[6] = { NULL }, *parts[5] = { NULL };
  g_auto (IrGradBody) body = { 0 };
  Linear linear = { .in = emit };
  guint n = 0;

  if (!linear_init (&linear, emit, error))
    return FALSE;
  inputs[n++] = first_state (&linear);
  inputs[n++] = by_position (&linear, node->inputs[0], linear.group);
  inputs[n++] = by_position (&linear, node->inputs[1], 1);
  inputs[n++] = by_position (&linear, node->inputs[2], 1);
  for (guint i = 4; i < 6; i++)
    if (ir_node_input (node, i) != NULL)
      inputs[n++] = rates_by_position (&linear, node->inputs[i]);
  IrNode *scan = ir_emit_node (emit, "Scan", n, inputs, 2);
  ir_grad_body_open (&body, emit, NULL, scan, "body");
  for (guint i = 0; i < n; i++)
    ir_grad_body_add_input (&body, i == 0 ? inputs[0]->type : without_axis (emit, inputs[i], 0));
  for (guint i = 0, at = 1; i < 5; i++)
    if (i < 3 || ir_node_input (node, i + 1) != NULL)
      parts[i] = body.inputs->pdata[at++];
  build_step (&linear, &body, parts);
  ir_grad_body_close (&body);
  ir_emit_attr_int (emit, scan, "num_scan_inputs", n - 1);
  ir_emit_end (emit, scan);
  outputs[0] = ir_emit_reshape (emit, ir_emit_transpose (emit, scan->outputs[1], perm, 5), flat, 3);
  if (node->n_outputs > 1)
    outputs[1] = scan->outputs[0];
  return TRUE;
}

/* -- CausalConvWithState -- */

gboolean
ir_expand_causal_conv (const IrVjp *emit, IrValue **outputs, GError **error)
{
  static const gint64 last = 2, all = G_MAXINT64;
  const IrNode *node = emit->node;
  const gint64 channels = ir_emit_dim (node->inputs[1], 0), taps = ir_emit_dim (node->inputs[1], 2);
  const gint64 pads[] = { 0, 0, taps - 1, 0, 0, 0 }, first = taps > 1 ? 1 - taps : all;
  IrValue *x = node->inputs[0], *past = ir_node_input (node, 3);

  if (channels < 1 || taps < 1)
    return ir_emit_fail (emit, error, "the size of its weight is not known; give it (--dim)");
  x = past != NULL ? ir_emit_concat (emit, past, x, 2)
                   : ir_emit2 (emit, "Pad", x, ir_emit_ints (emit, pads, 6));
  IrValue *inputs[] = { x, node->inputs[1], ir_node_input (node, 2) };
  IrNode *conv = ir_emit_node (emit, "Conv", inputs[2] != NULL ? 3 : 2, inputs, 1);
  ir_emit_attr_int (emit, conv, "group", channels);
  IrValue *y = ir_emit_end (emit, conv);
  if (strcmp (ir_node_attr_string (node, "activation", "none"), "none") != 0)
    y = ir_emit2 (emit, "Mul", y, ir_emit1 (emit, "Sigmoid", y));
  outputs[0] = y;
  if (node->n_outputs > 1)
    outputs[1] = ir_emit_slice (emit, x, &first, &all, &last, 1);
  return TRUE;
}

/* -- TensorScatter -- */

/* Entry @axis of the shape of @value, a scalar */
static IrValue *
size_along (const IrVjp *in, IrValue *value, gint64 axis)
{
  return ir_emit_pick (in, ir_emit_shape (in, value), 0, axis);
}

gboolean
ir_expand_tensor_scatter (const IrVjp *emit, IrValue **outputs, GError **error)
{
  static const gint64 zero = 0, one = 1;
  const IrNode *node = emit->node;
  IrValue *cache = node->inputs[0], *update = node->inputs[1], *from = ir_node_input (node, 2);
  const int rank = ir_value_rank (cache);
  gint64 axis = ir_node_attr_int (node, "axis", -2), along[IR_MAX_RANK], sample[IR_MAX_RANK];

  axis += axis < 0 ? rank : 0;
  if (rank < 2 || axis < 1 || axis >= rank)
    return ir_emit_fail (emit, error, "the rank of its cache is not known");
  for (int i = 0; i < rank; i++)
    {
      along[i] = i == axis ? -1 : 1;
      sample[i] = i == 0 ? -1 : 1;
    }
  IrValue *places = ir_emit3 (emit, "Range", ir_emit_ints (emit, &zero, -1),
                              size_along (emit, update, axis), ir_emit_ints (emit, &one, -1));
  places = ir_emit_reshape (emit, places, along, (guint) rank);
  if (from != NULL)
    places = ir_emit2 (
        emit, "Add", places,
        ir_emit_reshape (emit, ir_emit_cast (emit, from, IR_DTYPE_INT64), sample, (guint) rank));
  if (strcmp (ir_node_attr_string (node, "mode", "linear"), "circular") == 0)
    places = ir_emit2 (emit, "Mod", places, size_along (emit, cache, axis));
  IrValue *inputs[] = { cache, ir_emit2 (emit, "Expand", places, ir_emit_shape (emit, update)),
                        update };
  IrNode *scatter = ir_emit_node (emit, "ScatterElements", 3, inputs, 1);
  ir_emit_attr_int (emit, scatter, "axis", axis);
  outputs[0] = ir_emit_end (emit, scatter);
  return TRUE;
}

/* -- CumProd: products one after the other, so that no factor is divided by -- */

gboolean
ir_expand_cum_prod (const IrVjp *emit, IrValue **outputs, GError **error)
{
  const IrNode *node = emit->node;
  const IrTensor *given = ir_value_constant (node->inputs[1]);
  const int rank = ir_value_rank (node->inputs[0]);
  const gint64 way = ir_node_attr_int (node, "reverse", 0) != 0;
  g_auto (IrGradBody) body = { 0 };

  if (given == NULL || ir_tensor_n_elements (given) != 1 || rank < 1)
    return ir_emit_fail (emit, error, "its axis must be constant and the rank of its input known");
  gint64 axis = ir_tensor_get_int64 (given, 0);
  axis += axis < 0 ? rank : 0;
  IrValue *x = node->inputs[0], *first = ir_emit_pick (emit, x, axis, 0);
  IrValue *inputs[] = { ir_emit_filled (emit, first, 1), x };
  IrNode *scan = ir_emit_node (emit, "Scan", 2, inputs, 2);
  ir_grad_body_open (&body, emit, NULL, scan, "body");
  for (guint i = 0; i < 2; i++)
    ir_grad_body_add_input (&body, without_axis (emit, x, axis));
  IrValue *before = body.inputs->pdata[0];
  IrValue *after = ir_emit2 (&body.emit, "Mul", before, body.inputs->pdata[1]);
  ir_grad_body_add_output (&body, after);
  ir_grad_body_add_output (&body, ir_node_attr_int (node, "exclusive", 0) != 0 ? before : after);
  ir_grad_body_close (&body);
  ir_emit_attr_int (emit, scan, "num_scan_inputs", 1);
  ir_emit_attr_ints (emit, scan, "scan_input_axes", &axis, 1);
  ir_emit_attr_ints (emit, scan, "scan_output_axes", &axis, 1);
  ir_emit_attr_ints (emit, scan, "scan_input_directions", &way, 1);
  ir_emit_attr_ints (emit, scan, "scan_output_directions", &way, 1);
  ir_emit_end (emit, scan);
  outputs[0] = scan->outputs[1];
  return TRUE;
}
