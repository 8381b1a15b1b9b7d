/* Chains of nodes over large values, which run tile by tile: the same bits as each node by itself, and
 * every value that somebody wants to see. */
#include "config.h"

#include "core/exec/kernel/backend.h"
#include "tests/exec/graphs.h"

#include <string.h>

typedef struct
{
  Builder b;
  GHashTable *inputs;
  IrValue *x, *y, *last;
} Case;

static void
case_begin (Case *c, const char *type)
{
  *c = (Case){ .inputs = inputs_new () };
  builder_init (&c->b, 17);
  c->x = build_input (&c->b, "x", type);
  c->y = build_input (&c->b, "y", type);
  inputs_add (c->inputs, c->x, tensor_random (type, 3));
  inputs_add (c->inputs, c->y, tensor_random (type, 4));
  c->last = c->x;
}

static IrValue *
then (Case *c, const char *op, IrValue *other)
{
  IrNode *node = other != NULL ? build_node (&c->b, NULL, op, 1, c->last, other, END)
                               : build_node (&c->b, NULL, op, 1, c->last, END);

  c->last = node->outputs[0];
  return c->last;
}

static IrValue *
number (Case *c, const char *name, double value)
{
  return build_constant (&c->b, name, ir_tensor_new_scalar (IR_DTYPE_FLOAT, value));
}

static IrRun *
run (Case *c, guint n_threads, IrCaptureKind capture, GArray *chosen)
{
  g_autoptr (GError) error = NULL;
  IrRunOptions options = {
    .backend = ir_backend_find ("cpu"), .n_threads = n_threads, .capture = capture, .chosen = chosen
  };
  IrRun *result = ir_model_run (c->b.model, c->inputs, &options, NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (result->trace->items->len, ==, result->schedule->items->len);
  return result;
}

static guint
n_tiled (const IrRun *result)
{
  guint n = 0;

  for (guint i = 0; i < result->trace->items->len; i++)
    n += g_str_has_prefix (g_array_index (result->trace->items, IrTraceItem, i).kernel,
                           "tile by tile");
  return n;
}

static const IrTensor *
contents (const Case *c, IrRun *everything, const IrValue *value)
{
  const IrTensor *given = g_hash_table_lookup (c->inputs, GUINT_TO_POINTER (value->id));

  if (given == NULL)
    given = ir_value_constant (value);
  return given != NULL ? given : ir_run_value (everything, value->id);
}

static void
assert_same (const IrTensor *a, const IrTensor *b)
{
  g_assert_nonnull (a);
  g_assert_nonnull (b);
  g_assert_cmpmem (ir_tensor_data (a), ir_tensor_n_bytes (a), ir_tensor_data (b),
                   ir_tensor_n_bytes (b));
}

/* Each node by itself, on what was captured before it. */
static void
check_nodes (Case *c, IrRun *everything)
{
  guint n_nodes;
  IrNode *const *nodes = ir_graph_order (c->b.model->main, &n_nodes);

  for (guint i = 0; i < n_nodes; i++)
    {
      g_autoptr (GError) error = NULL;
      const IrTensor *inputs[3] = { NULL };
      IrTensor *output = NULL;
      for (guint k = 0; k < nodes[i]->n_inputs; k++)
        if (nodes[i]->inputs[k] != NULL)
          inputs[k] = contents (c, everything, nodes[i]->inputs[k]);
      ir_eval_node (nodes[i], inputs, &output, ir_backend_find ("cpu"), 0, &error);
      g_assert_no_error (error);
      assert_same (output, ir_run_value (everything, nodes[i]->outputs[0]->id));
      ir_tensor_unref (output);
    }
}

static void
check_chosen (Case *c, IrRun *everything, guint first)
{
  g_autoptr (GArray) chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  guint n_nodes;
  IrNode *const *nodes = ir_graph_order (c->b.model->main, &n_nodes);

  for (guint i = first; i < n_nodes; i += 3)
    g_array_append_val (chosen, nodes[i]->outputs[0]->id);
  g_autoptr (IrRun) some = run (c, 2, IR_CAPTURE_CHOSEN, chosen);
  for (guint i = 0; i < chosen->len; i++)
    {
      IrValueId id = g_array_index (chosen, IrValueId, i);
      assert_same (ir_run_value (some, id), ir_run_value (everything, id));
    }
  assert_same (ir_run_value (some, c->last->id), ir_run_value (everything, c->last->id));
}

static void
case_end_with (Case *c, guint n_wanted, guint n_kept)
{
  build_output (&c->b, c->last);
  build_done (&c->b);
  g_autoptr (IrRun) everything = run (c, 1, IR_CAPTURE_ALL, NULL);
  check_nodes (c, everything);
  g_assert_cmpuint (n_tiled (everything), ==, n_kept);
  for (guint n_threads = 1; n_threads <= 4; n_threads++)
    {
      g_autoptr (IrRun) plain = run (c, n_threads, IR_CAPTURE_NONE, NULL);
      assert_same (ir_run_value (plain, c->last->id), ir_run_value (everything, c->last->id));
      g_assert_cmpuint (n_tiled (plain), ==, n_wanted);
      g_assert_cmpuint (plain->trace->arena_bytes, ==, plain->memplan->peak_bytes);
      g_autoptr (IrRun) all = run (c, n_threads, IR_CAPTURE_ALL, NULL);
      for (guint i = 0; i < everything->n_values; i++)
        if (ir_run_value (everything, i) != NULL)
          assert_same (ir_run_value (all, i), ir_run_value (everything, i));
    }
  g_autoptr (IrRun) stats = run (c, 2, IR_CAPTURE_STATS, NULL);
  assert_same (ir_run_value (stats, c->last->id), ir_run_value (everything, c->last->id));
  for (guint i = 0; i < everything->n_values; i++)
    {
      IrTensor *tensor = ir_run_value (everything, i);
      const IrTensorStats *found = g_hash_table_lookup (stats->stats, GUINT_TO_POINTER (i));
      IrTensorStats wanted;
      if (tensor == NULL || found == NULL)
        continue;
      ir_tensor_stats (tensor, G_N_ELEMENTS (wanted.bins), &wanted);
      g_assert_cmpfloat (found->min, ==, wanted.min);
      g_assert_cmpfloat (found->max, ==, wanted.max);
    }
  for (guint first = 0; first < 3; first++)
    check_chosen (c, everything, first);
  builder_clear (&c->b);
  g_hash_table_unref (c->inputs);
}

static void
case_end (Case *c, guint n_wanted)
{
  case_end_with (c, n_wanted, n_wanted);
}

static void
test_channels (void)
{
  Case c;

  case_begin (&c, "float[1,67,64,64]");
  then (&c, "Exp", NULL);
  then (&c, "Mul", build_constant (&c.b, "scale", tensor_random ("float[67,1,1]", 1)));
  then (&c, "Add", number (&c, "one", 1));
  then (&c, "Sub", c.y);
  then (&c, "Tanh", NULL);
  then (&c, "Add", build_constant (&c.b, "shift", tensor_random ("float[1,67,1,1]", 2)));
  c.last = build_node (&c.b, NULL, "Clip", 1, c.last, number (&c, "low", -0.5),
                       number (&c, "high", 0.75), END)
               ->outputs[0];
  then (&c, "Sigmoid", NULL);
  case_end (&c, 8);
}

static void
test_rows (void)
{
  Case c;

  case_begin (&c, "float[3,100,1031]");
  then (&c, "Abs", NULL);
  then (&c, "Add", build_constant (&c.b, "bias", tensor_random ("float[1031]", 1)));
  c.last = build_node (&c.b, NULL, "Sub", 1, c.y, c.last, END)->outputs[0];
  then (&c, "Mul", c.last);
  then (&c, "Div", number (&c, "three", 3));
  then (&c, "Neg", NULL);
  case_end (&c, 6);
}

static void
test_what_is_no_chain (void)
{
  Case c;

  /* Rows and columns both: the chain ends between them. A value that is read twice ends one too. */
  case_begin (&c, "float[600,700]");
  then (&c, "Exp", NULL);
  then (&c, "Add", build_constant (&c.b, "row", tensor_random ("float[700]", 1)));
  IrValue *twice = then (&c, "Neg", NULL);
  then (&c, "Tanh", NULL); /* may not write over what Sub reads */
  then (&c, "Softmax", NULL);
  then (&c, "Sub", twice);
  case_end_with (&c, 3, 4); /* where all are kept, Tanh has memory of its own */
}

/* What the chain alone reads, once or several times, and what others read as well. Constants lie
 * between the nodes. The rows are of no number that pieces or lines have. */
static void
test_kept_values (void)
{
  Case c;

  case_begin (&c, "float[201,331]");
  IrValue *x = then (&c, "Neg", NULL);
  IrNode *constant = build_node (&c.b, NULL, "Constant", 1, END);
  g_autoptr (IrTensor) three = ir_tensor_new_scalar (IR_DTYPE_FLOAT, 3);
  ir_edit_set_attr (c.b.edit, constant, ir_attr_tensor (c.b.model->context, "value", three));
  then (&c, "Add", constant->outputs[0]);
  IrValue *gate = then (&c, "Sigmoid", NULL);
  then (&c, "Mul", x);
  then (&c, "Sub", build_constant (&c.b, "row", tensor_random ("float[331]", 1)));
  then (&c, "Mul", gate);
  then (&c, "Softmax", NULL);
  then (&c, "Add", gate);
  then (&c, "Exp", NULL);
  case_end_with (&c, 0, 8);
}

/* Chains end after some nodes, so that their pieces stay in the cache, and others begin. */
static void
test_long (void)
{
  Case c;

  case_begin (&c, "float[600,700]");
  for (guint i = 0; i < 40; i++)
    then (&c, i % 2 == 0 ? "Neg" : "Abs", NULL);
  case_end (&c, 40);
}

static void
test_small_values (void)
{
  Case c;

  case_begin (&c, "float[60,70]");
  then (&c, "Exp", NULL);
  then (&c, "Neg", NULL);
  then (&c, "Tanh", NULL);
  case_end (&c, 0);
}

static void
test_cancelling (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Case c;

  case_begin (&c, "float[600,700]");
  for (guint i = 0; i < 8; i++)
    then (&c, "Tanh", NULL);
  build_output (&c.b, c.last);
  build_done (&c.b);
  g_cancellable_cancel (cancellable);
  g_assert_null (ir_model_run (c.b.model, c.inputs, NULL, cancellable, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
  builder_clear (&c.b);
  g_hash_table_unref (c.inputs);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/chains/one operand for each channel", test_channels);
  g_test_add_func ("/chains/rows with a bias, and operands on either side", test_rows);
  g_test_add_func ("/chains/what is read twice, or works on rows, ends a chain",
                   test_what_is_no_chain);
  g_test_add_func ("/chains/kept values, read inside of their chain or outside", test_kept_values);
  g_test_add_func ("/chains/many nodes are several chains", test_long);
  g_test_add_func ("/chains/small values run node by node", test_small_values);
  g_test_add_func ("/chains/a cancelled run ends", test_cancelling);
  return g_test_run ();
}
