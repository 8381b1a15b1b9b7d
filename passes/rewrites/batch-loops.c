/* Iterations that do not wait for each other are computed at once:
 *
 *     y = Loop (8, , ) { e = Gather (x, i)  MatMul (e, w) }     y = Scan (x) { e: MatMul (e, w) }
 *     y = Scan (x) { e: MatMul (e, w) }                         y = MatMul (x, w)
 *
 * A Loop that nothing but its constant limit ends, and whose body reads by its iteration number what has as
 * many parts as it has iterations, becomes a Scan of them; any other use of the number becomes a part of
 * 0, 1, 2, .. . It does so where nothing is carried, or it is too long to be written out (unroll-loop).
 * A Scan without states becomes the nodes of its body, each for all iterations along a new first axis, where
 * each of them can be: operators element by element, products, Gemm as a product and what is added to it, Transpose,
 * reductions, and those that name their axes by an attribute. Source: Bradbury et al., JAX: vmap; Maclaurin et al., Autobatching; XLA's
 * WhileLoopSimplifier, WhileLoopTripCountAnnotator. */
#include "config.h"

#include "core/ir/inline.h"
#include "core/op/check.h"
#include "core/op/infer.h"
#include "passes/rewrites/axis-kinds.h"
#include "passes/rewrites/speculate.h"
#include "passes/rewrites/trips.h"
#include "passes/rewrites/unroll.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#define RULE_SCAN  "loop-to-scan"
#define RULE_BATCH "batch-scan"

#define MOST_NUMBERS 65536 /* of a part that is the iteration number */

typedef struct
{
  IrPassContext *context;
  IrPassNames *names; /* (nullable) counted when first needed */
} Batcher;

/* What stood in a body is called as it was. */
static void
hand_names (Batcher *b, const GPtrArray *nodes, const GPtrArray *copies)
{
  for (guint i = 0; i < nodes->len; i++)
    ir_pass_hand_names (b->context, b->names, nodes->pdata[i], copies->pdata[i]);
}

static void
count_names (Batcher *b)
{
  if (b->names == NULL)
    b->names = ir_pass_names_new (b->context->model);
}

/* -- a Loop as a Scan -- */

/* What an iteration reads by its number. */
typedef struct
{
  IrNode *gather;
  gint64 axis; /* of what it reads of, from the front */
} Part;

static gboolean
find_part (const IrKnownLoop *loop, IrUse use, Part *part)
{
  IrNode *node = use.node;
  const IrValue *data;

  if (node == NULL || node->graph != loop->body || !ir_op_is (node, IR_OP_GATHER) ||
      ir_node_valid_op (node) == NULL || ir_pass_is_open (node) || use.slot != 1)
    return FALSE;
  data = node->inputs[0];
  part->gather = node;
  part->axis = ir_node_attr_int (node, "axis", 0);
  return data->graph != loop->body && ir_value_rank (data) > 0 &&
         ir_value_rank (node->outputs[0]) == ir_value_rank (data) - 1 &&
         ir_axis_in_range (&part->axis, (guint) ir_value_rank (data)) &&
         data->type->dims[part->axis] == loop->trips;
}

/* (transfer full): of Part. @reads_number: whether the number is read otherwise, too */
static GArray *
find_parts (const IrKnownLoop *loop, gboolean *reads_number)
{
  const IrValue *number = ir_graph_input (loop->body, 0);
  GArray *parts = g_array_new (FALSE, FALSE, sizeof (Part));
  Part part;

  *reads_number = FALSE;
  for (guint i = 0; i < number->n_uses; i++)
    if (find_part (loop, ir_value_use (number, i), &part))
      g_array_append_val (parts, part);
    else
      *reads_number = TRUE;
  return parts;
}

static const char *
why_not_scanned (const IrKnownLoop *loop, const GArray *parts, gboolean reads_number)
{
  const guint size = ir_unroll_size (loop->body);

  if (parts->len == 0)
    return "it reads nothing part by part, by its iteration number alone";
  if (size == G_MAXUINT)
    return "the body draws random numbers, which depend on names";
  if (loop->n_carried > 0 && loop->trips <= IR_UNROLL_NODES &&
      size * (guint64) loop->trips <= IR_UNROLL_NODES)
    return "it carries something, and is short enough to be written out";
  if (reads_number && loop->trips > MOST_NUMBERS)
    return "the numbers of its iterations would be a constant of more than 65,536 elements";
  if (ir_graph_opset (loop->node->graph, "") < 9)
    return "a Scan without a batch needs opset 9";
  for (guint i = 0; i < loop->n_carried; i++)
    if (!ir_types_identical (loop->node->inputs[i + 2]->type,
                             ir_graph_output (loop->body, i + 1)->type) ||
        !ir_types_identical (loop->node->inputs[i + 2]->type,
                             ir_graph_input (loop->body, i + 2)->type))
      return "what it carries is not known to keep its type and shape";
  return ir_unroll_stacks_tensors (loop) ? NULL : "what is stacked is not known to be a tensor";
}

static IrValue *
add_numbers (IrPassContext *context, const IrKnownLoop *loop)
{
  g_autofree gint64 *numbers = g_new (gint64, loop->trips);

  for (gint64 i = 0; i < loop->trips; i++)
    numbers[i] = i;
  g_autoptr (IrTensor) tensor = ir_tensor_new_int64s (numbers, (guint) loop->trips);
  return ir_pass_add_constant (context, loop->node->graph, "iterations", tensor);
}

static IrNode *
add_scan (IrPassContext *context,
          const IrKnownLoop *loop,
          const GPtrArray *inputs,
          const GArray *axes)
{
  IrContext *own = context->model->context;
  IrNode *scan = ir_edit_add_node (context->edit, loop->node->graph, "Scan", NULL, "", inputs->len,
                                   (IrValue *const *) inputs->pdata, loop->node->n_outputs);
  IrGraph *body = ir_edit_add_graph (context->edit, IR_GRAPH_SUBGRAPH, loop->body->name);

  ir_edit_set_rank (context->edit, scan, loop->node->rank);
  ir_edit_set_device (context->edit, scan, loop->node->device);
  ir_edit_set_attr (context->edit, scan, ir_attr_int (own, "num_scan_inputs", axes->len));
  ir_edit_set_attr (
      context->edit, scan,
      ir_attr_ints (own, "scan_input_axes", (const gint64 *) (gpointer) axes->data, axes->len));
  ir_edit_set_attr (context->edit, scan, ir_attr_graph (own, "body", body->id));
  ir_edit_step_map_node (context->edit, loop->node->id, scan->id);
  return scan;
}

/* (transfer container): what it scans, and along which axes */
static GPtrArray *
scan_inputs (IrPassContext *context,
             const IrKnownLoop *loop,
             const GArray *parts,
             gboolean reads_number,
             GArray *axes)
{
  GPtrArray *inputs = g_ptr_array_new ();
  const gint64 first = 0;

  for (guint i = 0; i < loop->n_carried; i++)
    g_ptr_array_add (inputs, loop->node->inputs[i + 2]);
  for (guint i = 0; i < parts->len; i++)
    {
      const Part *part = &g_array_index (parts, Part, i);

      g_ptr_array_add (inputs, part->gather->inputs[0]);
      g_array_append_val (axes, part->axis);
    }
  if (reads_number)
    {
      g_ptr_array_add (inputs, add_numbers (context, loop));
      g_array_append_val (axes, first);
    }
  return inputs;
}

static IrValue *
add_like (IrPassContext *context, IrGraph *body, const IrValue *value)
{
  return ir_edit_add_value (context->edit, body, ir_edit_unique_name (context->edit, value->name),
                            value->type);
}

/* An iteration gets what it read by its number. */
static IrValue *
take_part (IrPassContext *context, IrGraph *body, GHashTable *values, const Part *part)
{
  IrValue *read = g_hash_table_lookup (values, part->gather->outputs[0]);
  IrNode *gather = read->producer;
  IrValue *element = add_like (context, body, part->gather->outputs[0]);

  ir_edit_replace_uses (context->edit, read, element);
  ir_edit_remove_node (context->edit, gather);
  g_hash_table_insert (values, part->gather->outputs[0], element);
  return element;
}

/* What led to the condition alone. */
static void
remove_unread (IrPassContext *context, const GPtrArray *nodes)
{
  for (guint i = nodes->len; i > 0; i--)
    {
      IrNode *node = nodes->pdata[i - 1];
      gboolean read = node->state != IR_STATE_LIVE || ir_pass_has_control (context, node);

      for (guint k = 0; k < node->n_outputs && !read; k++)
        read = node->outputs[k] != NULL && node->outputs[k]->n_uses > 0;
      if (!read)
        ir_edit_remove_node (context->edit, node);
    }
}

/* The body again, without the condition; (transfer container): the nodes of it, in the order of the body */
static GPtrArray *
copy_body (IrPassContext *context,
           const IrKnownLoop *loop,
           const GArray *parts,
           gboolean reads_number,
           IrGraph *to)
{
  g_autoptr (GHashTable) values = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) inputs = g_ptr_array_new (), outputs = g_ptr_array_new ();
  GPtrArray *nodes;
  IrValue *number = add_like (context, to, ir_graph_input (loop->body, 0));

  for (guint i = 0; i < loop->n_carried; i++)
    {
      g_ptr_array_add (inputs, add_like (context, to, ir_graph_input (loop->body, i + 2)));
      g_hash_table_insert (values, ir_graph_input (loop->body, i + 2), inputs->pdata[i]);
    }
  g_hash_table_insert (values, ir_graph_input (loop->body, 0), number);
  g_hash_table_insert (values, ir_graph_input (loop->body, 1),
                       ir_graph_input (loop->body, 1)->n_uses > 0
                           ? ir_unroll_scalar (context, to, "true", IR_DTYPE_BOOL, 1)
                           : NULL);
  nodes = ir_inline_iteration (context->edit, loop->node, loop->body, to, values, NULL, NULL);
  for (guint i = 0; i < parts->len; i++)
    g_ptr_array_add (inputs, take_part (context, to, values, &g_array_index (parts, Part, i)));
  if (reads_number)
    g_ptr_array_add (inputs, number);
  else
    ir_edit_remove_value (context->edit, number);
  for (guint i = 1; i < ir_graph_n_outputs (loop->body); i++)
    g_ptr_array_add (outputs, g_hash_table_lookup (values, ir_graph_output (loop->body, i)));
  ir_edit_set_graph_inputs (context->edit, to, (IrValue *const *) inputs->pdata, inputs->len);
  ir_edit_set_graph_outputs (context->edit, to, (IrValue *const *) outputs->pdata, outputs->len);
  remove_unread (context, nodes);
  return nodes;
}

static gboolean
write_scan (Batcher *b, const IrKnownLoop *loop, const GArray *parts, gboolean reads_number)
{
  IrPassContext *context = b->context;
  g_autoptr (GPtrArray) results = g_ptr_array_new (), nodes = ir_graph_nodes (loop->body),
                        inputs = NULL, copies = NULL;
  g_autoptr (GArray) axes = g_array_new (FALSE, FALSE, sizeof (gint64));
  IrNode *scan;

  count_names (b);
  inputs = scan_inputs (context, loop, parts, reads_number, axes);
  scan = add_scan (context, loop, inputs, axes);
  copies = copy_body (context, loop, parts, reads_number, ir_node_attr_graph (scan, "body"));
  for (guint i = 0; i < scan->n_outputs; i++)
    g_ptr_array_add (results, loop->node->outputs[i] != NULL ? scan->outputs[i] : NULL);
  if (!ir_unroll_hand_over (context, loop->node, results))
    return FALSE;
  hand_names (b, nodes, copies);
  return TRUE;
}

static void
loop_to_scan (Batcher *b, IrNode *node)
{
  IrPassContext *context = b->context;
  IrKnownLoop loop;
  gboolean reads_number;
  const IrNodeId id = node->id;
  const char *why;

  if (!ir_unroll_find (node, &loop) || !ir_unroll_count_trips (&loop) || loop.trips < 1)
    return;
  g_autoptr (GArray) parts = find_parts (&loop, &reads_number);
  if ((why = why_not_scanned (&loop, parts, reads_number)) != NULL)
    {
      ir_edit_refuse (context->edit, RULE_SCAN, id, why);
      return;
    }
  if (!ir_pass_begin (context, RULE_SCAN, IR_CLASS_EXACT, node))
    return;
  ir_edit_step_reason (context->edit, "each of its %" G_GINT64_FORMAT " iterations reads its part",
                       loop.trips);
  if (write_scan (b, &loop, parts, reads_number))
    {
      ir_pass_end (context);
      return;
    }
  ir_pass_abort (context);
  ir_edit_refuse (context->edit, RULE_SCAN, id, "less would be known of the type of an output");
}

/* -- a Scan at once -- */

typedef struct
{
  IrPassContext *context;
  IrNode *node;
  IrGraph *body;
  GHashTable *ranks; /* value of the body that differs by iteration -> rank of an element */
  IrDim length;
  gboolean rounds;
} Scan;

static gboolean
differs (const Scan *scan, const IrValue *value)
{
  return value != NULL && g_hash_table_contains (scan->ranks, value);
}

static guint
rank_of (const Scan *scan, const IrValue *value)
{
  return differs (scan, value) ? GPOINTER_TO_UINT (g_hash_table_lookup (scan->ranks, value))
                               : (guint) MAX (ir_value_rank (value), 0);
}

/* One of each list, or the default. FALSE: of another length, or not all alike */
static gboolean
all_are (const IrNode *node, const char *attr, guint n_wanted, gint64 *which)
{
  guint n = 0;
  const gint64 *given = ir_node_attr_ints (node, attr, &n);

  *which = n_wanted > 0 && given != NULL && n > 0 ? given[0] : 0;
  for (guint i = 1; given != NULL && i < n; i++)
    if (given[i] != *which)
      return FALSE;
  return given == NULL || n == n_wanted;
}

static gint64
input_axis (const IrNode *scan, guint i)
{
  guint n = 0;
  const gint64 *axes = ir_node_attr_ints (scan, "scan_input_axes", &n);
  gint64 axis = axes != NULL && i < n ? axes[i] : 0;

  return axis < 0 ? axis + ir_value_rank (scan->inputs[i]) : axis;
}

static const char *
why_not_fitting (Scan *scan)
{
  const IrNode *node = scan->node;
  gint64 forwards, backwards, axes;

  if (ir_node_valid_op (node) == NULL || ir_node_opset (node) < 9 || scan->body == NULL ||
      ir_graph_is_cyclic (scan->body) || ir_graph_n_inputs (scan->body) != node->n_inputs ||
      ir_graph_n_outputs (scan->body) != node->n_outputs)
    return "it does not fit its body";
  if (ir_node_attr_int (node, "num_scan_inputs", 0) != node->n_inputs)
    return "it has a state";
  if (!all_are (node, "scan_input_directions", node->n_inputs, &forwards) ||
      !all_are (node, "scan_output_directions", node->n_outputs, &backwards) ||
      forwards != backwards)
    return "its inputs and outputs do not all run in one direction";
  if (!all_are (node, "scan_output_axes", node->n_outputs, &axes) || axes != 0)
    return "an output is stacked along another axis than the first";
  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrValue *whole = node->inputs[i], *part = ir_graph_input (scan->body, i);
      const int rank = whole != NULL ? ir_value_rank (whole) : IR_RANK_UNKNOWN;

      if (part == NULL || part->initializer != NULL || rank < 1 ||
          ir_value_rank (part) != rank - 1 || input_axis (node, i) < 0 ||
          input_axis (node, i) >= rank)
        return "the shape of an input is not known";
      if (i == 0)
        scan->length = whole->type->dims[input_axis (node, 0)];
      g_hash_table_insert (scan->ranks, (gpointer) part, GUINT_TO_POINTER (rank - 1));
    }
  return NULL;
}

/* The axis of each iteration is the first of all products; it stays so where the others line up behind it. */
static gboolean
lines_up (const Scan *scan, const IrNode *product)
{
  const IrValue *a = product->inputs[0], *b = product->inputs[1];
  const guint of_a = rank_of (scan, a), of_b = rank_of (scan, b);

  if (differs (scan, a) && differs (scan, b))
    return of_a == of_b && of_a >= 2;
  return differs (scan, a) ? of_b <= MAX (of_a, 2) : of_b >= 2 && of_a <= of_b;
}

/* Axes that a reduction goes along in an iteration, in @axes, of IR_MAX_RANK. FALSE: not known, or none on purpose */
static gboolean
reduced_axes (const Scan *scan, const IrNode *node, gint64 *axes, guint *n)
{
  const guint rank = rank_of (scan, node->inputs[0]);
  g_autofree gint64 *given = NULL;

  if (differs (scan, ir_node_input (node, 1)) ||
      !ir_axis_constant_ints (node, "axes", 1, &given, n) || *n > IR_MAX_RANK ||
      !ir_axes_in_range (given, *n, rank) ||
      (*n == 0 && ir_node_attr_int (node, "noop_with_empty_axes", 0) != 0))
    return FALSE;
  for (guint i = 0; i < *n; i++)
    axes[i] = given[i];
  for (; given == NULL && *n < rank; *n += 1)
    axes[*n] = *n;
  return *n > 0;
}

static const char *
why_not_gemm (const IrNode *node)
{
  const gboolean scales = ir_node_attr_float (node, "alpha", 1) != 1 ||
                          ir_node_attr_float (node, "beta", 1) != 1;

  if (ir_node_opset (node) < 7)
    return "an older form of Gemm says itself how it broadcasts";
  return scales && !ir_dtype_is_float (ir_value_dtype (node->outputs[0]))
             ? "it scales what has no fractions"
             : NULL;
}

static const char *
why_not_batched (Scan *scan, const IrNode *node)
{
  gint64 axes[IR_MAX_RANK];
  guint n_axes;
  const Kind kind = ir_axis_kind_of (node);
  gint64 axis;
  gboolean all = TRUE;

  ir_node_for_each_input (node, i, value)
    {
      if (ir_value_rank (value) == IR_RANK_UNKNOWN)
        return "the rank of what it reads is not known";
      all = all && differs (scan, value);
    }
  if (ir_op_is (node, IR_OP_MATMUL))
    {
      scan->rounds = TRUE;
      return lines_up (scan, node) ? NULL : "the axes of the product do not line up";
    }
  if (ir_op_is (node, IR_OP_TRANSPOSE) || ir_op_is (node, IR_OP_IDENTITY) ||
      kind == KIND_ELEMENTWISE)
    return NULL;
  scan->rounds |= ir_op_is (node, IR_OP_GEMM) || kind == KIND_REDUCE;
  if (ir_op_is (node, IR_OP_GEMM))
    return why_not_gemm (node);
  if (kind == KIND_REDUCE)
    return reduced_axes (scan, node, axes, &n_axes) ? NULL
                                                    : "the axes that it reduces are not known";
  if (kind != KIND_AXIS)
    return "the operator is not one of those that compute along a further axis";
  scan->rounds |= !(node->op->flags & IR_OP_MOVES);
  return all && ir_axis_of (node, rank_of (scan, node->inputs[0]), &axis)
             ? NULL
             : "it joins what differs by iteration with what does not";
}

/* Finds out what differs by iteration. */
static const char *
why_not_node (Scan *scan, const IrNode *node)
{
  const char *why = NULL;
  gboolean any = FALSE;

  if (ir_node_is_constant (node))
    return NULL;
  if (ir_node_valid_op (node) == NULL || ir_pass_is_open (node) || node->n_outputs != 1 ||
      node->op->flags & (IR_OP_RANDOM | IR_OP_SUBGRAPHS) ||
      ir_pass_has_control (scan->context, node))
    return "a node of the body is left alone";
  ir_node_for_each_input (node, i, value)
    any |= differs (scan, value);
  why = any ? why_not_batched (scan, node) : ir_pass_why_may_fail (node);
  if (why == NULL && ir_value_rank (node->outputs[0]) == IR_RANK_UNKNOWN)
    why = "the rank of what it gives is not known";
  if (why == NULL && any)
    g_hash_table_insert (scan->ranks, node->outputs[0],
                         GUINT_TO_POINTER (ir_value_rank (node->outputs[0])));
  return why;
}

static const char *
why_not (Scan *scan)
{
  const char *why = why_not_fitting (scan);
  IrNode *const *nodes;
  guint n;

  if (why != NULL)
    return why;
  nodes = ir_graph_order (scan->body, &n);
  for (guint i = 0; i < n && why == NULL; i++)
    why = why_not_node (scan, nodes[i]);
  for (guint i = 0; i < scan->node->n_outputs && why == NULL; i++)
    if (!differs (scan, ir_graph_output (scan->body, i)))
      why = "an output is the same in each iteration";
  return why;
}

static const IrType *
batched_type (const Scan *scan, const IrType *element)
{
  IrDim dims[IR_MAX_RANK + 1] = { scan->length };

  for (int i = 0; i < element->rank; i++)
    dims[i + 1] = element->dims[i];
  return ir_type_tensor (scan->context->model->context, element->dtype, element->rank + 1, dims);
}

static IrNode *
add_node (const Scan *scan, const char *op, guint n_inputs, IrValue *const *inputs)
{
  IrEdit *edit = scan->context->edit;
  IrNode *node = ir_edit_add_node (edit, scan->node->graph, op, NULL, "", n_inputs, inputs, 1);

  ir_edit_set_rank (edit, node, scan->node->rank);
  ir_edit_set_device (edit, node, scan->node->device);
  ir_edit_step_map_node (edit, scan->node->id, node->id);
  return node;
}

/* @value, of which an element has @rank axes, with the axis of the iterations first */
static IrValue *
first_axis (const Scan *scan, IrValue *value, gint64 axis)
{
  gint64 perm[IR_MAX_RANK];
  const guint rank = (guint) ir_value_rank (value);
  IrNode *node;

  if (axis == 0)
    return value;
  perm[0] = axis;
  for (guint i = 1; i < rank; i++)
    perm[i] = i <= axis ? i - 1 : i;
  node = add_node (scan, "Transpose", 1, &value);
  ir_edit_set_attr (scan->context->edit, node,
                    ir_attr_ints (scan->context->model->context, "perm", perm, rank));
  ir_infer_node (scan->context->edit, node, NULL);
  return node->outputs[0];
}

/* Axes of size 1 behind that of the iterations, so that elements of fewer axes line up. */
static IrValue *
widen (const Scan *scan, IrValue *value, guint n_axes)
{
  IrPassContext *context = scan->context;
  const gboolean by_input = ir_graph_opset (scan->node->graph, "") >= 13;
  gint64 axes[IR_MAX_RANK];
  IrNode *node;

  for (guint i = 0; i < n_axes; i++)
    axes[i] = i + 1;
  g_autoptr (IrTensor) tensor = ir_tensor_new_int64s (axes, n_axes);
  IrValue *inputs[] = { value,
                        by_input ? ir_pass_add_constant (context, scan->node->graph, "axes", tensor)
                                 : NULL };
  node = add_node (scan, "Unsqueeze", by_input ? 2 : 1, inputs);
  if (!by_input)
    ir_edit_set_attr (context->edit, node,
                      ir_attr_ints (context->model->context, "axes", axes, n_axes));
  ir_infer_node (context->edit, node, NULL);
  return node->outputs[0];
}

/* @copy reads for all iterations what @node reads in one. */
static void
line_up (const Scan *scan, const IrNode *node, IrNode *copy)
{
  const guint most = rank_of (scan, node->outputs[0]);

  for (guint i = 0; i < node->n_inputs; i++)
    if (differs (scan, node->inputs[i]) && rank_of (scan, node->inputs[i]) < most)
      ir_edit_set_input (scan->context->edit, copy, i,
                         widen (scan, copy->inputs[i], most - rank_of (scan, node->inputs[i])));
}

static void
shift_perm (const Scan *scan, const IrNode *node, IrNode *copy)
{
  const guint rank = rank_of (scan, node->inputs[0]);
  guint n = 0;
  const gint64 *old = ir_node_attr_ints (node, "perm", &n);
  gint64 perm[IR_MAX_RANK + 1] = { 0 };

  for (guint i = 0; i < rank; i++)
    perm[i + 1] = 1 + (old != NULL ? old[i] : rank - 1 - i);
  ir_edit_set_attr (scan->context->edit, copy,
                    ir_attr_ints (scan->context->model->context, "perm", perm, rank + 1));
}

static void
shift_reduced (const Scan *scan, const IrNode *node, IrNode *copy)
{
  IrPassContext *context = scan->context;
  const gboolean by_input = ir_node_attr (node, "axes") == NULL &&
                            ir_node_opset (node) >= (ir_op_is (node, IR_OP_REDUCE_SUM) ? 13 : 18);
  gint64 axes[IR_MAX_RANK];
  guint n = 0;

  reduced_axes (scan, node, axes, &n);
  for (guint i = 0; i < n; i++)
    axes[i]++;
  if (!by_input)
    {
      ir_edit_set_attr (context->edit, copy,
                        ir_attr_ints (context->model->context, "axes", axes, n));
      return;
    }
  g_autoptr (IrTensor) tensor = ir_tensor_new_int64s (axes, n);
  if (copy->n_inputs < 2)
    ir_edit_set_n_inputs (context->edit, copy, 2);
  ir_edit_set_input (context->edit, copy, 1,
                     ir_pass_add_constant (context, scan->node->graph, "axes", tensor));
}

/* The last two axes change places, if that is asked for. */
static IrValue *
turn (const Scan *scan, IrValue *value, gboolean is_turned, gboolean is_batched)
{
  static const gint64 perms[2][3] = { { 1, 0 }, { 0, 2, 1 } };

  if (!is_turned)
    return value;
  IrNode *node = add_node (scan, "Transpose", 1, &value);
  ir_edit_set_attr (
      scan->context->edit, node,
      ir_attr_ints (scan->context->model->context, "perm", perms[is_batched], is_batched ? 3 : 2));
  ir_infer_node (scan->context->edit, node, NULL);
  return node->outputs[0];
}

/* What is written last is @last, and takes its values instead: one is made for all others. */
static IrValue *
compute (const Scan *scan, IrNode *last, const char *op, IrValue *a, IrValue *b)
{
  IrEdit *edit = scan->context->edit;
  IrValue *inputs[] = { a, b };

  if (last == NULL)
    {
      IrNode *node = add_node (scan, op, 2, inputs);
      ir_infer_node (edit, node, NULL);
      return node->outputs[0];
    }
  ir_edit_set_op (edit, last, op, "", "");
  ir_edit_set_n_inputs (edit, last, 2);
  for (guint i = 0; i < 2; i++)
    ir_edit_set_input (edit, last, i, inputs[i]);
  for (guint i = last->n_attrs; i-- > 0;)
    ir_edit_unset_attr (edit, last, last->attrs[i]->name);
  return last->outputs[0];
}

static IrValue *
scale_of (const Scan *scan, const IrNode *node, const char *attr)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_scalar (ir_value_dtype (node->outputs[0]),
                                                      ir_node_attr_float (node, attr, 1));

  return ir_pass_add_constant (scan->context, scan->node->graph, attr, tensor);
}

/* A Gemm has no further axes: a product, and what is added to it. */
static void
split_gemm (const Scan *scan, const IrNode *node, IrNode *copy)
{
  const IrValue *added = ir_node_input (node, 2);
  const gboolean scales = ir_node_attr_float (node, "alpha", 1) != 1;
  IrValue *a = turn (scan, copy->inputs[0], ir_node_attr_int (node, "transA", 0) != 0,
                     differs (scan, node->inputs[0])),
          *b = turn (scan, copy->inputs[1], ir_node_attr_int (node, "transB", 0) != 0,
                     differs (scan, node->inputs[1])),
          *c = ir_node_input (copy, 2), *alpha = scales ? scale_of (scan, node, "alpha") : NULL,
          *beta = added != NULL && ir_node_attr_float (node, "beta", 1) != 1
                      ? scale_of (scan, node, "beta")
                      : NULL;

  IrValue *product = compute (scan, added == NULL && !scales ? copy : NULL, "MatMul", a, b);
  if (scales)
    product = compute (scan, added == NULL ? copy : NULL, "Mul", product, alpha);
  if (added == NULL)
    return;
  if (differs (scan, added) && rank_of (scan, added) < 2)
    c = widen (scan, c, 2 - rank_of (scan, added));
  if (beta != NULL)
    c = compute (scan, NULL, "Mul", c, beta);
  compute (scan, copy, "Add", product, c);
}

/* FALSE: its types contradict each other then */
static gboolean
batch (const Scan *scan, const IrNode *node, IrNode *copy)
{
  IrPassContext *context = scan->context;
  g_autoptr (GPtrArray)
      problems = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_problem_free);
  const Kind kind = ir_axis_kind_of (node);
  gint64 axis;

  ir_edit_set_rank (context->edit, copy, scan->node->rank);
  ir_edit_step_map_node (context->edit, node->id, copy->id);
  if (ir_node_is_constant (node) || !differs (scan, node->outputs[0]))
    return TRUE;
  if (ir_op_is (node, IR_OP_TRANSPOSE))
    shift_perm (scan, node, copy);
  else if (kind == KIND_AXIS && ir_axis_of (node, rank_of (scan, node->inputs[0]), &axis))
    ir_edit_set_attr (context->edit, copy, ir_attr_int (context->model->context, "axis", axis + 1));
  else if (kind == KIND_ELEMENTWISE)
    line_up (scan, node, copy);
  else if (kind == KIND_REDUCE)
    shift_reduced (scan, node, copy);
  else if (ir_op_is (node, IR_OP_GEMM))
    split_gemm (scan, node, copy);
  ir_infer_node (context->edit, copy, problems);
  return problems->len == 0 && ir_node_valid_op (copy) != NULL;
}

/* What iterations give, given for all of them. */
static void
set_types (const Scan *scan, const GPtrArray *nodes, const GPtrArray *copies)
{
  for (guint i = 0; i < nodes->len; i++)
    {
      const IrNode *node = nodes->pdata[i], *copy = copies->pdata[i];

      for (guint k = 0; k < node->n_outputs; k++)
        if (differs (scan, node->outputs[k]))
          {
            ir_edit_set_claim (scan->context->edit, copy->outputs[k], NULL);
            ir_edit_set_type (scan->context->edit, copy->outputs[k],
                              batched_type (scan, node->outputs[k]->type));
          }
    }
}

static gboolean
write_batched (Batcher *b, Scan *scan)
{
  g_autoptr (GHashTable) values = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (scan->body), copies = NULL,
                        results = g_ptr_array_new ();

  count_names (b);
  for (guint i = 0; i < scan->node->n_inputs; i++)
    g_hash_table_insert (values, ir_graph_input (scan->body, i),
                         first_axis (scan, scan->node->inputs[i], input_axis (scan->node, i)));
  copies = ir_inline_iteration (scan->context->edit, scan->node, scan->body, scan->node->graph,
                                values, NULL, NULL);
  if (copies->len != nodes->len)
    return FALSE;
  set_types (scan, nodes, copies);
  for (guint i = 0; i < nodes->len; i++)
    if (!batch (scan, nodes->pdata[i], copies->pdata[i]))
      return FALSE;
  for (guint i = 0; i < scan->node->n_outputs; i++)
    g_ptr_array_add (results, g_hash_table_lookup (values, ir_graph_output (scan->body, i)));
  if (!ir_unroll_hand_over (scan->context, scan->node, results))
    return FALSE;
  hand_names (b, nodes, copies);
  return TRUE;
}

static void
batch_scan (Batcher *b, IrNode *node)
{
  IrPassContext *context = b->context;
  g_autoptr (GHashTable) ranks = g_hash_table_new (NULL, NULL);
  Scan scan = {
    .context = context, .node = node, .body = ir_node_attr_graph (node, "body"), .ranks = ranks
  };
  const IrNodeId id = node->id;
  const char *why = why_not (&scan);

  if (why != NULL)
    {
      ir_edit_refuse (context->edit, RULE_BATCH, id, why);
      return;
    }
  if (!ir_pass_begin (context, RULE_BATCH, scan.rounds ? IR_CLASS_ROUNDING : IR_CLASS_EXACT, node))
    return;
  ir_edit_step_reason (context->edit, "no iteration waits for another one");
  if (write_batched (b, &scan))
    {
      ir_pass_end (context);
      return;
    }
  ir_pass_abort (context);
  ir_edit_refuse (context->edit, RULE_BATCH, id, "types would contradict each other");
}

/* -- the pass -- */

static void
visit (IrNode *node, gpointer data)
{
  Batcher *b = data;

  if (ir_pass_has_control (b->context, node))
    return;
  if (ir_op_is (node, IR_OP_LOOP))
    loop_to_scan (b, node);
  else if (ir_op_is (node, IR_OP_SCAN))
    batch_scan (b, node);
}

/* Inner graphs first: a loop of loops is batched from the inside. */
static gboolean
run (IrPassContext *context, GError **error)
{
  Batcher b = { context, NULL };
  const gboolean done = ir_pass_visit_inner_first (context, visit, &b, error);

  g_clear_pointer (&b.names, ir_pass_names_free);
  return done;
}

static const IrRule rules[] = {
  { RULE_SCAN, "a Loop of a constant number of iterations that reads parts by their number",
    "a Scan of them", IR_CLASS_EXACT, "What each iteration reads by its number it gets." },
  { RULE_BATCH, "a Scan without a state", "the nodes of its body, along a further axis",
    IR_CLASS_ROUNDING, "Iterations that do not wait for each other are computed at once." },
  { NULL },
};

const IrPass ir_pass_batch_loops = {
  .name = "batch-loops",
  .title = "Batch loops",
  .doc =
      "A Loop that reads part by part becomes a Scan; a Scan without a state becomes the nodes of its "
      "body, each for all iterations at once.",
  .source = "Bradbury et al., JAX: vmap; XLA WhileLoopSimplifier",
  .step_class = IR_CLASS_ROUNDING,
  .before_after = "Scan (x) { e -> MatMul (w) -> Relu } -> y\nx -> MatMul (w) -> Relu -> y",
  .run = run,
  .documented_rules = rules,
};
