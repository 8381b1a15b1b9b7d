/* Inference of operators that own graphs. The driver infers the graphs first, with inputs of the
 * types that the functions ir_*_body_input() give; what is here reads the types of their outputs.
 */
#include "config.h"

#include "core/op/infer-util.h"
#include "core/op/rows.h"

static const IrType *
graph_output_type (const IrCall *call, const IrGraph *graph, guint index)
{
  const IrValue *value = graph != NULL && index < ir_graph_n_outputs (graph)
                             ? ir_graph_output (graph, index)
                             : NULL;
  return value != NULL ? ir_call_value_type (call, value) : NULL;
}

/* If. An output has the type that both branches give; with a constant condition, that of the
 * branch that runs. */
gboolean
ir_infer_if (IrCall *call, GError **error)
{
  const IrGraph *then_graph = ir_node_attr_graph (call->node, "then_branch");
  const IrGraph *else_graph = ir_node_attr_graph (call->node, "else_branch");
  g_autofree gint64 *condition = NULL;
  guint n = 0;
  gboolean known = ir_call_input_ints (call, 0, &condition, &n) && n == 1;
  for (guint i = 0; i < call->n_outputs; i++)
    {
      const IrType *a = graph_output_type (call, then_graph, i);
      const IrType *b = graph_output_type (call, else_graph, i);
      const IrType *type = NULL;
      if (known)
        type = condition[0] != 0 ? a : b;
      else if (!ir_type_join (call, a, b, &type, error))
        return FALSE;
      ir_call_set_output_type (call, i, type);
    }
  return TRUE;
}

/**
 * ir_type_without_shape:
 * @context: the context of @type
 * @type: (nullable): a type
 *
 * What a loop carries may change its shape from one turn to the next.
 *
 * Returns: (nullable): the element type alone, of what is in sequences and optionals too
 */
const IrType *
ir_type_without_shape (IrContext *context, const IrType *type)
{
  if (type == NULL)
    return NULL;
  if (type->kind == IR_TYPE_SEQUENCE)
    return ir_type_sequence (context, ir_type_without_shape (context, type->element));
  if (type->kind == IR_TYPE_OPTIONAL)
    return ir_type_optional (context, ir_type_without_shape (context, type->element));
  if (!ir_type_is_tensor (type))
    return type;
  return ir_type_tensor (context, type->dtype, IR_RANK_UNKNOWN, NULL);
}

/* @type with an axis of @dim at @axis. */
static const IrType *
with_axis (IrContext *context, const IrType *type, gint64 axis, IrDim dim)
{
  if (type == NULL || !ir_type_is_tensor (type))
    return NULL;
  int rank = type->rank + 1;
  if (!ir_type_has_rank (type) || rank > IR_MAX_RANK || axis < -rank || axis >= rank)
    return ir_type_tensor (context, type->dtype, IR_RANK_UNKNOWN, NULL);
  axis = axis < 0 ? axis + rank : axis;
  IrDim dims[IR_MAX_RANK];
  for (int i = 0; i < rank; i++)
    dims[i] = i == axis ? dim : type->dims[i > axis ? i - 1 : i];
  return ir_type_tensor (context, type->dtype, rank, dims);
}

/* @type without @axis. */
static const IrType *
without_axis (IrContext *context, const IrType *type, gint64 axis)
{
  if (type == NULL || !ir_type_is_tensor (type))
    return NULL;
  if (!ir_type_has_rank (type) || axis < -type->rank || axis >= type->rank)
    return ir_type_tensor (context, type->dtype, IR_RANK_UNKNOWN, NULL);
  axis = axis < 0 ? axis + type->rank : axis;
  IrDim dims[IR_MAX_RANK];
  int n = 0;
  for (int i = 0; i < type->rank; i++)
    if (i != axis)
      dims[n++] = type->dims[i];
  return ir_type_tensor (context, type->dtype, n, dims);
}

/* -- Loop -- */

/* A scalar, but some runtimes give one element of rank 1 where the file declares that. */
static const IrType *
iteration_type (IrContext *context, const IrValue *input)
{
  const IrType *claim = input != NULL ? input->claim : NULL;
  gboolean is_scalar = claim == NULL || claim->rank <= 0;

  return ir_type_tensor (context, IR_DTYPE_INT64, is_scalar ? 0 : IR_RANK_UNKNOWN, NULL);
}

/* Loop. Returns what is known of the type. */
const IrType *
ir_loop_body_input (const IrCall *call, const IrGraph *graph, guint input)
{
  if (input == 0)
    return iteration_type (call->context, ir_graph_input (graph, 0));
  if (input == 1)
    return ir_type_tensor (call->context, IR_DTYPE_BOOL, IR_RANK_UNKNOWN, NULL);
  return ir_type_without_shape (call->context, ir_call_input_type (call, input));
}

/* Loop. Returns the type that it begins with. @output: the output of the body that it is in the
 * next turn; %G_MAXUINT: none. */
const IrType *
ir_loop_carried (const IrCall *call, guint input, guint *output)
{
  gboolean is_given = input >= 1 && ir_call_has_input (call, input);
  const IrType *type = is_given ? ir_call_input_type (call, input) : NULL;

  *output = is_given || input == 1 ? input - 1 : G_MAXUINT;
  if (input == 1 && !is_given) /* it is true at first */
    return ir_type_tensor (call->context, IR_DTYPE_BOOL, 0, NULL);
  /* One element of a higher rank may come as a scalar. */
  return input > 1 || (type != NULL && type->rank == 0) ? type : NULL;
}

gboolean
ir_infer_loop (IrCall *call, GError **error)
{
  const IrGraph *body = ir_node_attr_graph (call->node, "body");
  guint n_carried = call->n_inputs > 2 ? call->n_inputs - 2 : 0;
  for (guint i = 0; i < call->n_outputs; i++)
    {
      const IrType *type = graph_output_type (call, body, i + 1);
      if (i >= n_carried)
        type = with_axis (call->context, type, 0, IR_DIM_UNKNOWN);
      else if (!ir_type_join (call, ir_call_input_type (call, i + 2), type, &type, error))
        return FALSE;
      ir_call_set_output_type (call, i, type);
    }
  return TRUE;
}

/* -- Scan -- */

/* Opset 8 has a batch axis in front of everything and cuts along axis 1; its first input, if given,
 * is a list of lengths. */
typedef struct
{
  gboolean batched;
  guint first; /* slot of the first state */
  guint n_states, n_scanned;
} ScanLayout;

static gboolean
scan_layout (const IrCall *call, ScanLayout *layout)
{
  gint64 n = ir_call_int (call, "num_scan_inputs", 0);
  layout->batched = call->opset > 0 && call->opset < 9;
  layout->first = layout->batched && ir_node_input (call->node, 0) != NULL ? 1 : 0;
  if (n < 1 || n + layout->first > call->n_inputs)
    return FALSE;
  layout->n_scanned = (guint) n;
  layout->n_states = call->n_inputs - layout->first - layout->n_scanned;
  return TRUE;
}

static gint64
list_entry (const IrCall *call, const char *attr, guint index)
{
  guint n = 0;
  const gint64 *values = ir_call_ints (call, attr, &n);
  return values != NULL && index < n ? values[index] : 0;
}

/* Scan. Returns what is known of the type. */
const IrType *
ir_scan_body_input (const IrCall *call, const IrGraph *graph, guint input)
{
  ScanLayout layout;
  if (!scan_layout (call, &layout) || input >= layout.n_states + layout.n_scanned)
    return NULL;
  const IrType *type = ir_call_input_type (call, layout.first + input);
  /* The standard wants the same shape in each iteration, which nothing checks. */
  if (input < layout.n_states)
    return ir_type_without_shape (call->context, type);
  if (layout.batched)
    return without_axis (call->context, without_axis (call->context, type, 0), 0);
  return without_axis (call->context, type,
                       list_entry (call, "scan_input_axes", input - layout.n_states));
}

/* Scan. Returns the type that it begins with. @output: the output of the body that it is in the
 * next turn; %G_MAXUINT: none. */
const IrType *
ir_scan_carried (const IrCall *call, guint input, guint *output)
{
  ScanLayout layout;

  *output = G_MAXUINT;
  if (!scan_layout (call, &layout) || input >= layout.n_states)
    return NULL;
  *output = input;
  const IrType *type = ir_call_input_type (call, layout.first + input);
  return layout.batched ? without_axis (call->context, type, 0) : type;
}

/* Size of the first scanned input along @axis. */
static IrDim
scanned_dim (const IrCall *call, const ScanLayout *layout, gint64 axis)
{
  const IrDim *dims = ir_call_input_dims (call, layout->first + layout->n_states);
  gint64 rank = ir_call_input_rank (call, layout->first + layout->n_states);
  return dims != NULL && axis >= -rank && axis < rank ? dims[axis < 0 ? axis + rank : axis]
                                                      : IR_DIM_UNKNOWN;
}

/* Scan. States have the type that they have before and after, and in between; scan outputs that
 * of the body with an axis as long as the scanned one. Source: ONNX Scan 25, Scan 8. */
gboolean
ir_infer_scan (IrCall *call, GError **error)
{
  const IrGraph *body = ir_node_attr_graph (call->node, "body");
  ScanLayout layout;
  if (!scan_layout (call, &layout))
    return TRUE;
  for (guint i = layout.first + layout.n_states; i < call->n_inputs; i++)
    if (ir_call_input_rank (call, i) >= 0 &&
        ir_call_input_rank (call, i) < (layout.batched ? 2 : 1))
      return ir_call_fail (
          call, error, IR_OP_ERROR_SHAPE,
          "input %u has no axis to be cut along; its rank is %d, needed %d or more", i,
          ir_call_input_rank (call, i), layout.batched ? 2 : 1);
  IrDim length = scanned_dim (call, &layout,
                              layout.batched ? 1 : list_entry (call, "scan_input_axes", 0));
  for (guint i = 0; i < call->n_outputs; i++)
    {
      const IrType *type = graph_output_type (call, body, i);
      gboolean is_state = i < layout.n_states;
      if (!is_state)
        type = with_axis (
            call->context, type,
            layout.batched ? 0 : list_entry (call, "scan_output_axes", i - layout.n_states),
            length);
      if (layout.batched)
        type = with_axis (call->context, type, 0, scanned_dim (call, &layout, 0));
      const IrType *before = is_state ? ir_call_input_type (call, layout.first + i) : NULL;
      if (is_state && !ir_type_join (call, before, type, &type, error))
        return FALSE;
      ir_call_set_output_type (call, i, type);
    }
  return TRUE;
}

/* -- SequenceMap -- */

/* SequenceMap. Returns what is known of the type. */
const IrType *
ir_sequence_map_body_input (const IrCall *call, const IrGraph *graph, guint input)
{
  const IrType *type = ir_call_input_type (call, input);
  return type != NULL && type->kind == IR_TYPE_SEQUENCE ? type->element : type;
}

gboolean
ir_infer_sequence_map (IrCall *call, GError **error)
{
  const IrGraph *body = ir_node_attr_graph (call->node, "body");
  const IrType *sequence = ir_call_input_type (call, 0);
  if (sequence != NULL && sequence->kind != IR_TYPE_SEQUENCE)
    return ir_call_fail (call, error, IR_OP_ERROR_DTYPE, "input 0 must be a sequence");
  for (guint i = 0; i < call->n_outputs; i++)
    {
      const IrType *type = graph_output_type (call, body, i);
      if (type != NULL)
        ir_call_set_output_type (call, i, ir_type_sequence (call->context, type));
    }
  return TRUE;
}
