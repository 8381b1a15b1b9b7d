/* Control flow whose graphs read values from around them. */
#include "config.h"

#include "core/op/infer.h"
#include "tests/fuzz/graph-parts.h"

static const IrTensor *
held_around (const IrValue *value, gpointer data)
{
  return gen_held (data, value);
}

/* Evaluates an owner that was just added, and offers what it gives; it goes again if it fails. */
static gboolean
offer_owner (Gen *gen, IrNode *node)
{
  IrEvalOptions options = { .backend = ir_backend_find ("ref"),
                            .contents = held_around,
                            .data = gen };
  const IrTensor *inputs[GEN_MAX_IN] = { NULL };
  IrTensor *outputs[GEN_MAX_IN] = { NULL };
  gboolean fits;

  for (guint i = 0; i < node->n_inputs; i++)
    inputs[i] = node->inputs[i] != NULL ? gen_held (gen, node->inputs[i]) : NULL;
  fits = ir_eval_node_with (node, inputs, outputs, &options, NULL) && gen_infer (gen, node);
  for (guint i = 0; i < node->n_outputs && fits; i++)
    fits = outputs[i] != NULL && !ir_tensor_is_container (outputs[i]) && gen->accepts (outputs[i]);
  for (guint i = 0; i < node->n_outputs && fits; i++)
    gen_offer (gen, node->outputs[i], outputs[i]);
  for (guint i = 0; i < GEN_MAX_IN; i++)
    g_clear_pointer (&outputs[i], ir_tensor_unref);
  if (!fits)
    ir_edit_remove_node (gen->edit, node);
  return fits;
}

/* Several nodes that begin at @x, in the type of which they end. */
static IrValue *
body_of (Gen *gen, IrValue *x, guint n)
{
  IrValue *y = gen_one (gen, "Identity", x, NULL, NULL);

  for (; n > 0; n--)
    {
      IrValue *other = gen_one_in (gen, 2) ? part_beside (gen, y, -1) : NULL;
      IrValue *z = other != NULL
                       ? gen_one (gen, gen_one_in (gen, 2) ? "Add" : "Sub", y, other, NULL)
                       : part_keeping (gen, y);
      if (part_rank (gen, z) == part_rank (gen, y) && part_beside (gen, z, -1) != NULL)
        y = z;
    }
  if (y->graph != gen->graph || !ir_type_is_tensor (y->type) || ir_value_is_graph_output (y))
    y = gen_one (gen, "Identity", x, NULL, NULL);
  const IrTensor *a = gen_held (gen, x), *b = gen_held (gen, y);
  gboolean same = ir_tensor_rank (a) == ir_tensor_rank (b);
  for (guint i = 0; same && i < ir_tensor_rank (a); i++)
    same = ir_tensor_dims (a)[i] == ir_tensor_dims (b)[i];
  return same ? y : gen_one (gen, "Identity", x, NULL, NULL);
}

static IrGraph *
branch (Gen *gen, const char *name, IrValue *x)
{
  IrGraph *outer = gen->graph, *graph = gen_enter (gen, name);
  IrValue *y = body_of (gen, x, gen_below (gen, 4));

  ir_edit_set_graph_outputs (gen->edit, graph, &y, 1);
  gen_leave (gen, outer);
  return graph;
}

static IrValue *
random_condition (Gen *gen, IrValue *x)
{
  IrValue *y;

  if (gen_one_in (gen, 2))
    return part_input (gen, "x", IR_DTYPE_BOOL, 0, NULL);
  y = PART (gen, "ReduceMax", ATTRS (INT ("keepdims", 0)), x);
  y = y != NULL ? PART (gen, "Greater", NULL, y, part_number (gen, IR_DTYPE_FLOAT, 0.37)) : NULL;
  return y != NULL ? y : part_number (gen, IR_DTYPE_BOOL, gen_one_in (gen, 2));
}

static void
flow_if (Gen *gen, IrValue *x)
{
  IrValue *condition = random_condition (gen, x);
  IrGraph *yes = branch (gen, "yes", x), *no = branch (gen, "no", x);

  offer_owner (gen, gen_add_owner (gen, "If", 1, &condition, 1,
                                   ATTRS (ir_attr_graph (gen->context, "then_branch", yes->id),
                                          ir_attr_graph (gen->context, "else_branch", no->id))));
}

/* Its type is declared for the sizes of this trial, which may be less than what holds for all. */
static IrValue *
body_input (Gen *gen, IrGraph *body, const char *name, IrTensor *tensor)
{
  IrValue *value = ir_edit_add_value (gen->edit, body, ir_edit_unique_name (gen->edit, name), NULL);

  ir_edit_set_claim (gen->edit, value, ir_tensor_type (tensor, gen->context));
  ir_edit_set_flags (gen->edit, value, value->flags | IR_VALUE_DECLARED);
  gen_offer (gen, value, tensor);
  return value;
}

/* Carries a value on, and stacks another one of every iteration now and then. */
static void
flow_loop (Gen *gen, IrValue *x)
{
  gint64 trips = gen_below (gen, 4), zero = 0;
  g_autoptr (IrTensor) trip = ir_tensor_new_int64s (&zero, -1);
  g_autoptr (IrTensor) yes = ir_tensor_new_scalar (IR_DTYPE_BOOL, 1);
  IrTensor *held = gen_held (gen, x);
  gboolean stacks = gen_one_in (gen, 2) && trips > 0;
  IrValue *count = gen_one_in (gen, 2) ? part_input (gen, "l3_", IR_DTYPE_INT64, 0, NULL)
                                       : part_ints (gen, &trips, -1);
  IrGraph *outer = gen->graph, *body = gen_enter (gen, "body");
  IrValue *in[] = { body_input (gen, body, "i", trip), body_input (gen, body, "go", yes),
                    body_input (gen, body, "carried", held) };

  ir_edit_set_graph_inputs (gen->edit, body, in, 3);
  IrValue *go = gen_one (gen, "Identity", in[1], NULL, NULL);
  IrValue *y = body_of (gen, in[2], gen_below (gen, 3));
  y = gen_one (gen, "Tanh", y, NULL, NULL);
  if (y->graph != body)
    y = gen_one (gen, "Identity", in[2], NULL, NULL);
  IrValue *each = gen_one (gen, "Neg", y, NULL, NULL);
  stacks = stacks && each != y && each->graph == body;
  ir_edit_set_graph_outputs (gen->edit, body, (IrValue *const[]){ go, y, each }, stacks ? 3 : 2);
  gen_leave (gen, outer);
  offer_owner (gen,
               gen_add_owner (gen, "Loop", 3, (IrValue *const[]){ count, NULL, x }, stacks ? 2 : 1,
                              ATTRS (ir_attr_graph (gen->context, "body", body->id))));
}

/* Goes along axis 0 of a value. */
static void
flow_scan (Gen *gen, IrValue *x)
{
  const IrTensor *held = gen_held (gen, x);
  guint rank = ir_tensor_rank (held);
  gint64 n = rank > 0 ? ir_tensor_dims (held)[0] : 0;

  if (n == 0 || ir_tensor_n_elements (held) == 0)
    return;
  g_autoptr (IrTensor) row = ir_tensor_new_copy (ir_tensor_dtype (held), rank - 1,
                                                 ir_tensor_dims (held) + 1, ir_tensor_data (held));
  IrValue *start = part_weight (gen, ir_tensor_dtype (held), rank - 1, ir_tensor_dims (held) + 1,
                                1);
  IrGraph *outer = gen->graph, *body = gen_enter (gen, "body");
  IrValue *in[] = { body_input (gen, body, "state", gen_held (gen, start)),
                    body_input (gen, body, "row", row) };

  ir_edit_set_graph_inputs (gen->edit, body, in, 2);
  IrValue *y = gen_one (gen, "Add", in[0], in[1], NULL);
  y = gen_one (gen, "Mul", y, part_number (gen, ir_tensor_dtype (held), 0.5), NULL);
  IrValue *each = body_of (gen, y, gen_below (gen, 3));
  gboolean fits = y->graph == body && y != in[0] && each->graph == body && each != y;
  ir_edit_set_graph_outputs (gen->edit, body, (IrValue *const[]){ y, each }, fits ? 2 : 1);
  gen_leave (gen, outer);
  IrNode *node = gen_add_owner (
      gen, "Scan", 2, (IrValue *const[]){ start, x }, fits ? 2 : 1,
      ATTRS (ir_attr_graph (gen->context, "body", body->id), INT ("num_scan_inputs", 1)));
  offer_owner (gen, node);
}

void
graph_control (Gen *gen)
{
  static void (*const ways[]) (Gen *, IrValue *) = { flow_if, flow_loop, flow_scan };
  guint rank = 1 + gen_below (gen, 3);
  gint64 dims[3];

  for (guint i = 0; i < rank; i++)
    dims[i] = part_size (gen, 6);
  part_input (gen, "x", IR_DTYPE_FLOAT, rank, dims);
  if (gen_one_in (gen, 2))
    part_input (gen, "x", IR_DTYPE_FLOAT, rank, dims);
  for (guint i = 1 + gen_below (gen, 3); i > 0; i--)
    {
      IrValue *x = part_pick (gen, IR_DTYPE_FLOAT, -1);
      if (gen_one_in (gen, 2))
        x = part_keeping (gen, x);
      CHOOSE (gen, ways) (gen, x);
    }
}
