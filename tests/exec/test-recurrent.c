/* Recurrent layers against values worked out by hand, against the equations of a single unit, and
 * against themselves: a reversed, transposed or shortened run must agree with a plain one. */
#include "config.h"

#include "tests/exec/graphs.h"

#include <math.h>
#include <string.h>

#define MAX_OUTPUTS 3

/* One node with constant inputs, run on the reference back end. */
typedef struct
{
  Builder builder;
  GHashTable *inputs;
  IrNode *node;
  IrTensor *outputs[MAX_OUTPUTS];
} Single;

/* Inputs as type and elements, in pairs; a NULL type is an input left out; ends with END_INPUTS. */
#define END_INPUTS ((const char *) -1)

static void
single_init (Single *single, gint64 opset, const char *op, guint n_outputs, ...)
{
  IrValue *values[8];
  guint n = 0;
  va_list args;

  memset (single, 0, sizeof *single);
  builder_init (&single->builder, opset);
  single->inputs = inputs_new ();
  va_start (args, n_outputs);
  for (const char *type = va_arg (args, const char *); type != END_INPUTS;
       type = va_arg (args, const char *))
    {
      const char *elements = va_arg (args, const char *);
      g_autofree char *name = g_strdup_printf ("input%u", n);
      values[n] = NULL;
      if (type != NULL)
        {
          values[n] = build_input (&single->builder, name, type);
          inputs_add (single->inputs, values[n],
                      g_str_has_prefix (elements, "random")
                          ? tensor_random (type, (guint) atoi (elements + strlen ("random")))
                          : tensor_of (type, elements));
        }
      n++;
    }
  va_end (args);
  single->node = ir_edit_add_node (single->builder.edit, single->builder.model->main, op, NULL,
                                   NULL, n, values, n_outputs);
}

static void
single_clear (Single *single)
{
  for (guint i = 0; i < MAX_OUTPUTS; i++)
    g_clear_pointer (&single->outputs[i], ir_tensor_unref);
  g_clear_pointer (&single->inputs, g_hash_table_unref);
  builder_clear (&single->builder);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Single, single_clear)

static void
single_strings (Single *single, const char *name, const char *const *strings)
{
  IrString values[8];
  guint n = 0;

  for (; strings[n] != NULL; n++)
    values[n] = (IrString){ strlen (strings[n]), strings[n] };
  ir_edit_set_attr (single->builder.edit, single->node,
                    ir_attr_strings (single->builder.model->context, name, values, n));
}

static void
single_floats (Single *single, const char *name, guint n, const float *values)
{
  ir_edit_set_attr (single->builder.edit, single->node,
                    ir_attr_floats (single->builder.model->context, name, values, n));
}

static IrRun *
single_try (Single *single, GError **error)
{
  IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = 1 };

  for (guint i = 0; i < single->node->n_outputs; i++)
    build_output (&single->builder, single->node->outputs[i]);
  build_done (&single->builder);
  return ir_model_run (single->builder.model, single->inputs, &options, NULL, error);
}

static void
single_run (Single *single)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) run = single_try (single, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < single->node->n_outputs; i++)
    {
      IrValueId id = single->node->outputs[i]->id;
      single->outputs[i] = ir_tensor_ref (ir_run_value (run, id));
      /* Inference must have said what the kernel did. */
      g_assert_true (ir_model_value (run->model, id)->type ==
                     ir_tensor_type (single->outputs[i], run->model->context));
    }
}

static void
assert_close (const IrTensor *a, guint64 at_a, const IrTensor *b, guint64 at_b, guint64 n)
{
  for (guint64 i = 0; i < n; i++)
    g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (a, at_a + i),
                                    ir_tensor_get_double (b, at_b + i), 1e-12);
}

/* -- by hand -- */

static void
test_rnn_by_hand (void)
{
  static const char *const activations[] = { "Relu", NULL };
  g_auto (Single) single = { 0 };

  /* h = relu (x + 2 h + 1): 1 + 0 + 1, 2 + 4 + 1, -10 + 14 + 1, -12 + 10 + 1 */
  single_init (&single, 14, "RNN", 2, "float[4,1,1]", "1 2 -10 -12", "float[1,1,1]", "1",
               "float[1,1,1]", "2", "float[1,2]", "0.25 0.75", END_INPUTS);
  build_int (&single.builder, single.node, "hidden_size", 1);
  single_strings (&single, "activations", activations);
  single_run (&single);
  assert_tensor (single.outputs[0], "float[4,1,1,1]", "2 7 5 0", 0);
  assert_tensor (single.outputs[1], "float[1,1,1]", "0", 0);
}

static void
test_lengths (void)
{
  static const char *const activations[] = { "Affine", NULL };
  g_auto (Single) single = { 0 };

  /* h = x + h, backwards over the steps of each sequence; sequences are columns of X */
  single_init (&single, 7, "RNN", 2, "double[3,3,1]", "1 2 3  10 20 30  100 200 300",
               "double[1,1,1]", "1", "double[1,1,1]", "1", NULL, NULL, "int32[3]", "2 3 0",
               "double[1,3,1]", "0 0 7", END_INPUTS);
  build_string (&single.builder, single.node, "direction", "reverse");
  single_strings (&single, "activations", activations);
  single_run (&single);
  assert_tensor (single.outputs[0], "double[3,1,3,1]", "11 222 0  10 220 0  0 200 0", 0);
  assert_tensor (single.outputs[1], "double[1,3,1]", "11 222 7", 0);
}

static void
test_lengths_checked (void)
{
  g_auto (Single) single = { 0 };
  g_autoptr (GError) error = NULL;

  single_init (&single, 14, "RNN", 1, "float[3,1,1]", "1 2 3", "float[1,1,1]", "1", "float[1,1,1]",
               "1", NULL, NULL, "int32[1]", "4", END_INPUTS);
  g_autoptr (IrRun) run = single_try (&single, &error);
  g_assert_null (run);
  g_assert_nonnull (error);
  g_assert_nonnull (strstr (error->message, "length 4"));
}

static void
test_parameters_of_activations (void)
{
  static const char *const activations[] = { "Tanh", "Affine", NULL };
  static const float alpha[] = { 2 }, beta[] = { 3 };
  g_auto (Single) single = { 0 };

  /* Tanh takes no parameter, so the only ones are those of Affine: 2 x + 3. */
  single_init (&single, 14, "RNN", 2, "double[1,1,1]", "0.5", "double[2,1,1]", "1 1",
               "double[2,1,1]", "0 0", END_INPUTS);
  build_string (&single.builder, single.node, "direction", "bidirectional");
  single_strings (&single, "activations", activations);
  single_floats (&single, "activation_alpha", 1, alpha);
  single_floats (&single, "activation_beta", 1, beta);
  single_run (&single);
  g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (single.outputs[1], 0), tanh (0.5), 1e-15);
  g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (single.outputs[1], 1), 4, 1e-15);
}

static void
test_activations (void)
{
  static const struct
  {
    const char *name;
    double at_minus_2, at_3;
  } rows[] = {
    { "relu", 0, 3 },
    { "Sigmoid", 0.11920292202211755, 0.9525741268224334 },
    { "LeakyRelu", -0.02, 3 },
    { "ThresholdedRelu", 0, 3 },
    { "ScaledTanh", -0.9640275800758169, 0.9950547536867305 },
    { "HardSigmoid", 0.1, 1 },
    { "Elu", -0.8646647167633873, 3 },
    { "Softsign", -2.0 / 3, 0.75 },
    { "Softplus", 0.1269280110429726, 3.048587351573742 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const char *names[] = { rows[i].name, NULL };
      g_auto (Single) single = { 0 };
      single_init (&single, 22, "RNN", 1, "double[1,2,1]", "-2 3", "double[1,1,1]", "1",
                   "double[1,1,1]", "0", END_INPUTS);
      single_strings (&single, "activations", names);
      single_run (&single);
      /* LeakyRelu and its like have float attributes. */
      g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (single.outputs[0], 0),
                                      rows[i].at_minus_2, 1e-7);
      g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (single.outputs[0], 1), rows[i].at_3,
                                      1e-7);
    }
}

static void
test_old_attribute (void)
{
  g_auto (Single) single = { 0 };

  single_init (&single, 1, "GRU", 2, "float[2,1,1]", "1 2", "float[1,3,1]", "0", "float[1,3,1]",
               "0", END_INPUTS);
  build_int (&single.builder, single.node, "output_sequence", 1);
  build_int (&single.builder, single.node, "hidden_size", 1);
  single_run (&single);
  assert_tensor (single.outputs[0], "float[2,1,1,1]", "0 0", 0);
}

/* -- a single unit, by its equations -- */

static double
sigmoid (double x)
{
  return 1 / (1 + exp (-x));
}

static const double unit_x[3] = { 0.5, -1.25, 2 };

static void
test_lstm_unit (void)
{
  g_auto (Single) single = { 0 };
  double h = 0.25, c = -0.5;

  /* gates: input, output, forget, cell */
  single_init (&single, 14, "LSTM", 3, "double[3,1,1]", "0.5 -1.25 2", "double[1,4,1]",
               "0.5 -0.25 0.75 1.5", "double[1,4,1]", "-0.5 0.25 1 -0.75", "double[1,8]",
               "0.1 0.2 0.3 0.4 -0.05 0.15 -0.25 0.35", NULL, NULL, "double[1,1,1]", "0.25",
               "double[1,1,1]", "-0.5", "double[1,3]", "0.6 -0.7 0.8", END_INPUTS);
  single_run (&single);
  for (guint t = 0; t < 3; t++)
    {
      double x = unit_x[t];
      double i = sigmoid (0.5 * x - 0.5 * h + 0.6 * c + 0.1 - 0.05);
      double f = sigmoid (0.75 * x + 1 * h + 0.8 * c + 0.3 - 0.25);
      double g = tanh (1.5 * x - 0.75 * h + 0.4 + 0.35);
      c = f * c + i * g;
      double o = sigmoid (-0.25 * x + 0.25 * h - 0.7 * c + 0.2 + 0.15);
      h = o * tanh (c);
      g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (single.outputs[0], t), h, 1e-14);
    }
  g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (single.outputs[1], 0), h, 1e-14);
  g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (single.outputs[2], 0), c, 1e-14);
}

static double
limit (double x)
{
  return CLAMP (x, -0.5, 0.5);
}

static void
test_lstm_coupled_and_clipped (void)
{
  g_auto (Single) single = { 0 };
  double h = 0, c = 0;

  single_init (&single, 14, "LSTM", 3, "double[3,1,1]", "0.5 -1.25 2", "double[1,4,1]",
               "0.5 -0.25 0.75 1.5", "double[1,4,1]", "-0.5 0.25 1 -0.75", END_INPUTS);
  build_int (&single.builder, single.node, "input_forget", 1);
  build_float (&single.builder, single.node, "clip", 0.5f);
  single_run (&single);
  for (guint t = 0; t < 3; t++)
    {
      double x = unit_x[t];
      double i = sigmoid (limit (0.5 * x - 0.5 * h)), g = tanh (limit (1.5 * x - 0.75 * h));
      double o = sigmoid (limit (-0.25 * x + 0.25 * h));
      c = (1 - i) * c + i * g;
      h = o * tanh (limit (c));
      g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (single.outputs[0], t), h, 1e-14);
    }
  g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (single.outputs[2], 0), c, 1e-14);
}

static void
check_gru_unit (gboolean linear_before_reset)
{
  g_auto (Single) single = { 0 };
  double h = 0.25;

  /* gates: update, reset, hidden */
  single_init (&single, 14, "GRU", 2, "double[3,1,1]", "0.5 -1.25 2", "double[1,3,1]",
               "0.5 -0.25 1.5", "double[1,3,1]", "-0.5 0.25 -0.75", "double[1,6]",
               "0.1 0.2 0.3 -0.05 0.15 -0.25", NULL, NULL, "double[1,1,1]", "0.25", END_INPUTS);
  build_int (&single.builder, single.node, "linear_before_reset", linear_before_reset);
  single_run (&single);
  for (guint t = 0; t < 3; t++)
    {
      double x = unit_x[t];
      double z = sigmoid (0.5 * x - 0.5 * h + 0.1 - 0.05);
      double r = sigmoid (-0.25 * x + 0.25 * h + 0.2 + 0.15);
      double n = linear_before_reset ? tanh (1.5 * x + r * (-0.75 * h - 0.25) + 0.3)
                                     : tanh (1.5 * x - 0.75 * (r * h) - 0.25 + 0.3);
      h = (1 - z) * n + z * h;
      g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (single.outputs[0], t), h, 1e-14);
    }
  g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (single.outputs[1], 0), h, 1e-14);
}

static void
test_gru_unit (void)
{
  check_gru_unit (FALSE);
  check_gru_unit (TRUE);
}

/* -- against itself -- */

static void
lstm_run (Single *single, const char *direction, gint64 layout)
{
  gboolean both = g_str_equal (direction, "bidirectional");

  single_init (single, 14, "LSTM", 3, layout == 0 ? "double[4,2,3]" : "double[2,4,3]", "random1",
               both ? "double[2,20,3]" : "double[1,20,3]", "random2",
               both ? "double[2,20,5]" : "double[1,20,5]", "random3",
               both ? "double[2,40]" : "double[1,40]", "random4", END_INPUTS);
  build_string (&single->builder, single->node, "direction", direction);
  build_int (&single->builder, single->node, "layout", layout);
  build_int (&single->builder, single->node, "hidden_size", 5);
}

static void
test_directions (void)
{
  g_auto (Single) both = { 0 }, forward = { 0 }, mirrored = { 0 };

  lstm_run (&both, "bidirectional", 0);
  lstm_run (&forward, "forward", 0);
  single_run (&both);
  single_run (&forward);
  /* The first direction has the first rows of the weights. */
  for (guint64 row = 0; row < 4; row++)
    assert_close (both.outputs[0], row * 20, forward.outputs[0], row * 10, 10);
  assert_close (both.outputs[2], 0, forward.outputs[2], 0, 10);
  /* The second one ends at the first step. */
  assert_close (both.outputs[0], 10, both.outputs[1], 10, 10);
  lstm_run (&mirrored, "reverse", 0);
  single_run (&mirrored);
  assert_close (mirrored.outputs[0], 0, mirrored.outputs[1], 0, 10);
}

/* A tensor with its axes in another order, for [steps, batch, in] and [batch, steps, in]. */
static IrTensor *
swapped (const IrTensor *tensor)
{
  const gint64 *dims = ir_tensor_dims (tensor);
  gint64 turned[3] = { dims[1], dims[0], dims[2] };
  IrTensor *result = ir_tensor_new_alloc (IR_DTYPE_DOUBLE, 3, turned, NULL);

  for (gint64 i = 0; i < dims[0]; i++)
    for (gint64 j = 0; j < dims[1]; j++)
      for (gint64 k = 0; k < dims[2]; k++)
        ((double *) ir_tensor_data_writable (result))[(j * dims[0] + i) * dims[2] + k] =
            ir_tensor_get_double (tensor, (guint64) ((i * dims[1] + j) * dims[2] + k));
  return result;
}

static void
test_layouts (void)
{
  g_auto (Single) steps_first = { 0 }, batch_first = { 0 };

  lstm_run (&steps_first, "bidirectional", 0);
  lstm_run (&batch_first, "bidirectional", 1);
  g_autoptr (IrTensor) x = tensor_random ("double[4,2,3]", 1);
  inputs_add (batch_first.inputs, batch_first.node->inputs[0], swapped (x));
  single_run (&steps_first);
  single_run (&batch_first);
  for (guint64 t = 0; t < 4; t++)
    for (guint64 d = 0; d < 2; d++)
      for (guint64 n = 0; n < 2; n++)
        assert_close (steps_first.outputs[0], ((t * 2 + d) * 2 + n) * 5, batch_first.outputs[0],
                      ((n * 4 + t) * 2 + d) * 5, 5);
  for (guint output = 1; output < 3; output++)
    for (guint64 d = 0; d < 2; d++)
      for (guint64 n = 0; n < 2; n++)
        assert_close (steps_first.outputs[output], (d * 2 + n) * 5, batch_first.outputs[output],
                      (n * 2 + d) * 5, 5);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/recurrent/rnn by hand", test_rnn_by_hand);
  g_test_add_func ("/recurrent/sequences of different lengths run backwards", test_lengths);
  g_test_add_func ("/recurrent/a length beyond the steps is refused", test_lengths_checked);
  g_test_add_func ("/recurrent/parameters go to activations that take them",
                   test_parameters_of_activations);
  g_test_add_func ("/recurrent/activations by their definition", test_activations);
  g_test_add_func ("/recurrent/output_sequence of old opsets says nothing", test_old_attribute);
  g_test_add_func ("/recurrent/lstm of one unit with peepholes", test_lstm_unit);
  g_test_add_func ("/recurrent/lstm with coupled gates and a clip", test_lstm_coupled_and_clipped);
  g_test_add_func ("/recurrent/gru of one unit, reset before and after", test_gru_unit);
  g_test_add_func ("/recurrent/directions of a bidirectional lstm", test_directions);
  g_test_add_func ("/recurrent/layout 1 is layout 0 with the batch first", test_layouts);
  return g_test_run ();
}
