/* Every reader of a value gets it as its kernel takes it, in whatever layout it is kept for another
 * reader: graphs of few channels, of groups, and of operands that no kernel takes in blocks agree
 * with the reference in every value. */
#include "config.h"

#include "core/exec/kernel/nchwc.h"
#include "tests/exec/bodies.h"
#include "tests/exec/graphs.h"

#include <math.h>
#include <string.h>

/* CC stands for a number of channels, from 1 to MOST_CHANNELS, GG for a multiple of it. */
#define MOST_CHANNELS 9
#define N_OPTIONS     (2 * (IR_N_DECISIONS + 2)) /* kept or not, without none, each and all */

#define PADS    "<pads = [1,1,1,1]>"
#define POOL    "MaxPool <kernel_shape = [2,2]>"
#define NORM(X) "BatchNormalization (" X ", o, o, o, o)\n"
/* t of CC channels, which BatchNormalization and a pooling want in blocks. */
#define FIRST                                                                                      \
  "o = Expand (one, cc)\n"                                                                         \
  "t = Conv " PADS " (x, w0)\n"
#define GIVEN                                                                                      \
  "(float[2,3,6,6] x, float[CC,3,3,3] w0, float[8,CC,3,3] w, float[CC,CC,3,3] v,\n"                \
  " float[CC,1,3,3] d, float[GG,1,3,3] g, float[CC,8,3,3] u,\n"                                    \
  " float[16,3,3,3] g0, float[8,SS,3,3] k, float[81] x27, float[27] x9, float[1,3,3,3] w1,\n"      \
  " float[CC,3,6,6] w6) => "
#define SIZES                                                                                      \
  "cc = Constant <value = int64[1] {CC}> ()  one = Constant <value = float[1] {0.9}> ()\n"

static const struct
{
  const char *title, *outputs, *body;
} cases[] = {
  { "BatchNormalization beside Conv", "(float[2,CC,6,6] z, float[2,8,5,5] y)",
    FIRST "z = " NORM ("t") "y0 = Conv " PADS " (t, w)\n"
                            "y = " POOL " (y0)\n" },
  { "a pooling beside Conv", "(float[2,CC,5,5] z, float[2,8,5,5] y)",
    FIRST "z = " POOL " (t)\n"
          "y0 = Conv " PADS " (t, w)\n"
          "y = " POOL " (y0)\n" },
  { "a residual, then BatchNormalization", "(float[2,CC,6,6] y)",
    FIRST "a = Conv " PADS " (t, v)\n"
          "s = Add (t, a)\n"
          "y = " NORM ("s") },
  { "a residual, then a pooling", "(float[2,CC,5,5] y)",
    FIRST "a = Conv " PADS " (t, v)\n"
          "s = Add (t, a)\n"
          "r = Relu (s)\n"
          "y = " POOL " (r)\n" },
  { "a gate of Conv", "(float[2,CC,5,5] y)",
    FIRST "a = Conv " PADS " (t, v)\n"
          "s = Sigmoid (a)\n"
          "m = Mul (t, s)\n"
          "y = " POOL " (m)\n" },
  { "Concat, then Conv", "(float[2,8,6,6] y, float[2,8,5,5] q)",
    FIRST "e = Conv " PADS " (x, g0)\n"
          "c = Concat <axis = 1> (e, t)\n"
          "y = Conv " PADS " (c, k)\n"
          "p = Conv " PADS " (t, w)\n"
          "q = " POOL " (p)\n" },
  { "fused operators", "(float[2,CC,5,5] y, float[2,8,5,5] q)",
    FIRST "a = irscope.ConvRelu " PADS " (t, v)\n"
          "s = irscope.ConvAddRelu " PADS " (t, v, o, t)\n"
          "r = irscope.ConvAdd " PADS " (a, v, o, s)\n"
          "y = " POOL " (r)\n"
          "p = irscope.ConvRelu " PADS " (r, w)\n"
          "q = " POOL " (p)\n" },
  { "depthwise and grouped Conv", "(float[2,CC,5,5] y, float[2,GG,5,5] q, float[2,CC,5,5] p)",
    FIRST "a = Conv <pads = [1,1,1,1], group = CC> (t, d)\n"
          "y = " POOL " (a)\n"
          "b = Conv <pads = [1,1,1,1], group = CC> (t, g)\n"
          "q = " POOL " (b)\n"
          "p = " POOL " (t)\n" },
  { "ConvTranspose beside Conv", "(float[2,8,8,8] y, float[2,8,5,5] q, float[2,CC,5,5] p)",
    FIRST "y = ConvTranspose (t, u)\n"
          "b = Conv " PADS " (t, w)\n"
          "q = " POOL " (b)\n"
          "p = " POOL " (t)\n" },
  { "an output in the middle", "(float[2,CC,6,6] t, float[2,8,5,5] q, float[2,CC,5,5] p)",
    FIRST "a = Conv " PADS " (t, w)\n"
          "q = " POOL " (a)\n"
          "p = " POOL " (t)\n" },
  { "Conv of one axis, and of three", "(float[2,8,36] y, float[1,8,2,6,6] z, float[2,CC,5,5] p)",
    FIRST "l = Constant <value = int64[3] {2,CC,36}> ()\n"
          "a = Reshape (t, l)\n"
          "k1 = Constant <value = int64[3] {8,CC,9}> ()\n"
          "wa = Reshape (w, k1)\n"
          "y = Conv <pads = [4,4]> (a, wa)\n"
          "h = Constant <value = int64[5] {1,CC,2,6,6}> ()\n"
          "b = Reshape (t, h)\n"
          "k3 = Constant <value = int64[5] {8,CC,1,3,3}> ()\n"
          "wb = Reshape (w, k3)\n"
          "z = Conv <pads = [0,1,1,0,1,1]> (b, wb)\n"
          "p = " POOL " (t)\n" },
  { "weights that a Conv gives, and a pooling reads", "(float[2,3,5,5] y, float[3,CC,2,2] p)",
    FIRST "i = Constant <value = int64[4] {3,3,3,3}> ()\n"
          "f = Reshape (x27, i)\n"
          "wk = Conv " PADS " (f, w0)\n"
          "p = " POOL " (wk)\n"
          "a = Conv " PADS " (t, wk)\n"
          "y = " POOL " (a)\n" },
  { "a single element beside blocks", "(float[2,CC,5,5] y, float[1,1,1,1] z, float[1,1,1,1] n)",
    FIRST "i = Constant <value = int64[4] {1,3,3,3}> ()\n"
          "f = Reshape (x9, i)\n"
          "h = Conv (f, w1)\n"
          "z = MaxPool <kernel_shape = [1,1]> (h)\n"
          "a = Conv " PADS " (t, v)\n"
          "m = Mul (a, h)\n"
          "y = " POOL " (m)\n"
          "e = Exp (h)\n"
          "n = MaxPool <kernel_shape = [1,1]> (e)\n" },
  { "one element for each channel, in blocks", "(float[2,CC,5,5] y, float[2,CC,1,1] z)",
    FIRST "h = Conv (x, w6)\n"
          "z = MaxPool <kernel_shape = [1,1]> (h)\n"
          "a = Conv " PADS " (t, v)\n"
          "m = Mul (a, h)\n"
          "s = Sub (h, m)\n"
          "y = " POOL " (s)\n" },
  { "a single element of Conv, and what it is broadcast to",
    "(float[2,CC,3,3] z, float[1,1,1,1] a)",
    "i = Constant <value = int64[4] {1,3,3,3}> ()\n"
    "f = Reshape (x9, i)\n"
    "t = Conv (f, w1)\n"
    "r = Relu (t)\n"
    "m = Mul (x, r)\n"
    "z = Conv <pads = [1,1,1,1], strides = [2,2]> (m, w0)\n"
    "p = MaxPool <kernel_shape = [2,2], pads = [0,0,1,1]> (r)\n"
    "n = BatchNormalization (t, one, one, one, one)\n"
    "a = Add (n, p)\n" },
};

static void
replace_number (GString *text, const char *name, gint64 number)
{
  g_autofree char *digits = g_strdup_printf ("%" G_GINT64_FORMAT, number);

  g_string_replace (text, name, digits, 0);
}

static IrModel *
model_of (guint index, gint64 channels)
{
  g_autoptr (GString) signature = g_string_new (GIVEN), body = g_string_new (SIZES);
  GString *const texts[] = { signature, body };

  g_string_append (signature, cases[index].outputs);
  g_string_append (body, cases[index].body);
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      replace_number (texts[i], "CC", channels);
      replace_number (texts[i], "GG", 2 * channels);
      replace_number (texts[i], "SS", 16 + channels);
    }
  return read_graph (17, signature->str, body->str);
}

/* Errors add up along the graph: they are compared with the largest element. */
static gboolean
agrees (const IrTensor *found, const IrTensor *wanted)
{
  double most = 0;

  if (ir_tensor_n_elements (found) != ir_tensor_n_elements (wanted))
    return FALSE;
  for (guint64 i = 0; i < ir_tensor_n_elements (wanted); i++)
    most = MAX (most, fabs (ir_tensor_get_double (wanted, i)));
  for (guint64 i = 0; i < ir_tensor_n_elements (wanted); i++)
    if (!(fabs (ir_tensor_get_double (found, i) - ir_tensor_get_double (wanted, i)) <= 2e-5 * most))
      return FALSE;
  return TRUE;
}

static void
compare_runs (const IrRun *found, const IrRun *wanted, const char *where)
{
  for (IrValueId id = 1; id < wanted->n_values; id++)
    {
      const IrTensor *y = ir_run_value (wanted, id), *x = ir_run_value (found, id);
      if (x == NULL || y == NULL || ir_tensor_dtype (y) != IR_DTYPE_FLOAT || agrees (x, y))
        continue;
      g_test_message ("%s: %s differs", where, ir_model_value (wanted->model, id)->name);
      g_test_fail ();
    }
}

static void
assert_sound (const IrRun *run, const char *where)
{
  guint n_nodes;
  const GArray *rows = ir_run_contradictions (run, &n_nodes);

  g_assert_nonnull (rows);
  g_assert_cmpuint (n_nodes, >, 0);
  for (guint i = 0; i < rows->len; i++)
    {
      const IrContradiction *row = &g_array_index (rows, IrContradiction, i);
      g_test_message ("%s: %s %u (%s): found %s, declared is %s", where,
                      row->is_output ? "output" : "input", row->slot, row->value, row->found,
                      row->declared);
      g_test_fail ();
    }
}

/* Twice: the second run finds everything packed and placed. */
static void
compare_with (IrModel *model,
              GHashTable *inputs,
              const IrRunOptions *options,
              const IrRun *wanted,
              const char *title)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *where = g_strdup_printf ("%s%s, %u threads, without %x", title,
                                            options->capture == IR_CAPTURE_ALL ? ", all kept" : "",
                                            options->n_threads, options->without);
  g_autoptr (IrExecutable) executable = ir_executable_new (model, options, &error);

  g_assert_no_error (error);
  for (guint round = 0; round < 2; round++)
    {
      g_autoptr (IrRun) found = ir_executable_run (executable, inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      compare_runs (found, wanted, where);
      assert_sound (found, where);
    }
}

static void
compare_case (guint index, gint64 channels, guint n_options)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = model_of (index, channels);
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, (guint64) channels, NULL, &error);
  g_autofree char *title = g_strdup_printf ("%s, %d channels", cases[index].title, (int) channels);
  g_assert_no_error (error);
  IrRunOptions ref = { .backend = ir_backend_find ("ref"),
                       .n_threads = 1,
                       .capture = IR_CAPTURE_ALL };
  g_autoptr (IrRun) wanted = ir_model_run (model, inputs, &ref, NULL, &error);
  g_assert_no_error (error);
  for (guint k = 0; k < n_options; k++)
    {
      guint bit = k / 2;
      IrDecisions without = bit == 0               ? 0
                            : bit > IR_N_DECISIONS ? (IrDecisions) ((1 << IR_N_DECISIONS) - 1)
                                                   : (IrDecisions) (1 << (bit - 1));
      IrRunOptions cpu = { .backend = ir_backend_find ("cpu"),
                           .n_threads = bit % 3 == 1 ? 2 : 1,
                           .parallel = bit % 3 == 1 ? IR_PARALLEL_ON : IR_PARALLEL_OFF,
                           .without = without,
                           .checks = IR_RUN_CHECK_PLAN,
                           .capture = k % 2 != 0 ? IR_CAPTURE_ALL : IR_CAPTURE_NONE };
      compare_with (model, inputs, &cpu, wanted, title);
    }
}

static void
test_case (gconstpointer data)
{
  for (gint64 channels = 1; channels <= MOST_CHANNELS; channels++)
    compare_case (GPOINTER_TO_UINT (data), channels, 2);
  compare_case (GPOINTER_TO_UINT (data), 3, N_OPTIONS);
  compare_case (GPOINTER_TO_UINT (data), 17, N_OPTIONS);
}

/* -- shapes that a graph declares, and that its values do not have -- */

static const struct
{
  const char *title, *body;
} false_shapes[] = {
  { "Conv", "a = Conv <pads = [1,1,1,1]> (t, w)\n"
            "r = Relu (a)\n"
            "y = MaxPool <kernel_shape = [2,2]> (r)\n" },
  { "Concat", "a = Conv <pads = [1,1,1,1]> (c, w)\n"
              "b = Conv <pads = [1,1,1,1]> (t, w)\n"
              "k = Concat <axis = 1> (b, b, b, t)\n"
              "y = MaxPool <kernel_shape = [2,2]> (k)\n" },
  { "BatchNormalization", "a = Conv <pads = [1,1,1,1]> (t, w)\n"
                          "n = BatchNormalization (a, o, o, o, o)\n"
                          "y = Conv (n, w)\n" },
  { "Gather", "a = Conv <pads = [1,1,1,1]> (t, w)\n"
              "i = Constant <value = int64[8] {7,6,5,4,3,2,1,0}> ()\n"
              "g = Gather <axis = 1> (a, i)\n"
              "y = Conv (g, w)\n" },
  { "GlobalAveragePool", "a = Conv <pads = [1,1,1,1]> (t, w)\n"
                         "y = GlobalAveragePool (a)\n" },
  { "a sum of what is as declared and what is not", "a = Conv <pads = [1,1,1,1]> (c, w)\n"
                                                    "u = GlobalAveragePool (a)\n"
                                                    "b = Conv <pads = [1,1,1,1]> (t, w)\n"
                                                    "s = Add (u, b)\n"
                                                    "y = MaxPool <kernel_shape = [2,2]> (s)\n" },
  { "a sum over what is broadcast", "a = Abs (t)\n"
                                    "q = Exp (d)\n"
                                    "s = Add (a, q)\n"
                                    "y = Neg (s)\n" },
};

static void
set_input (IrModel *model, GHashTable *inputs, const char *name, IrTensor *tensor)
{
  const IrValue *value = ir_graph_find_value (model->main, name);

  g_hash_table_replace (inputs, GUINT_TO_POINTER (value->id), tensor);
}

static void
test_false_shape (gconstpointer data)
{
  guint index = GPOINTER_TO_UINT (data);
  static const gint64 dims[] = { 1, 8, 4, 4 }, channels = 8;
  static const float ones[] = { 1, 1, 1, 1, 1, 1, 1, 1 }; /* a variance is not negative */
  g_autoptr (GError) error = NULL;
  g_autofree char *body = g_strconcat ("t = Reshape (x, l)  d = Reshape (e, l)\n",
                                       false_shapes[index].body, NULL);
  g_autoptr (IrModel)
      model = read_graph (17,
                          "(float[8,1,4,4] x, int64[4] l, float[8,8,3,3] w, float[1,8,60,60] c,\n"
                          " float[8,1,4,4] e, float[8] o) => (y) <float[1,8,60,60] t,\n"
                          " float[1,8,60,60] d>",
                          body);
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 5, NULL, &error);

  g_assert_no_error (error);
  set_input (model, inputs, "l", ir_tensor_new_int64s (dims, 4));
  set_input (model, inputs, "o", ir_tensor_new_copy (IR_DTYPE_FLOAT, 1, &channels, ones));
  for (guint k = 0; k < 4; k++)
    {
      IrRunOptions options = { .backend = ir_backend_find ("ref"),
                               .n_threads = 1,
                               .capture = k % 2 != 0 ? IR_CAPTURE_ALL : IR_CAPTURE_NONE };
      g_autoptr (IrRun) wanted = ir_model_run (model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      options.backend = ir_backend_find ("cpu");
      options.n_threads = 1 + k / 2;
      g_autoptr (IrRun) found = ir_model_run (model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      compare_runs (found, wanted, false_shapes[index].title);
    }
}

/* A back end that says of its kernels, once plans are made, what they do not do. */
static gboolean is_planned;

static IrInputTerms
false_terms (const IrNode *node, guint slot, gboolean blocks)
{
  return (IrInputTerms){ .layouts = IR_LAYOUT_PLAIN, .overwritten = !is_planned };
}

/* By title of what is found of @value. */
static gboolean
has_found (const IrRun *run, const char *value, const char *found)
{
  guint n_nodes;
  const GArray *rows = ir_run_contradictions (run, &n_nodes);

  for (guint i = 0; i < rows->len; i++)
    {
      const IrContradiction *row = &g_array_index (rows, IrContradiction, i);
      if (strcmp (row->value, value) == 0 && g_str_has_prefix (row->found, found))
        return TRUE;
    }
  return FALSE;
}

static void
test_found (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel)
      model = read_graph (17, "(float[1,8,6,6] x) => (float[6,48] y, float[8,6,6] s)",
                          "p = MaxPool <kernel_shape = [1,1]> (x)\n"
                          "q = AveragePool <kernel_shape = [1,1]> (p)\n"
                          "s = ReduceSum <keepdims = 0> (q, a)\n"
                          "a = Constant <value = int64[1] {0}> ()\n"
                          "t = Transpose <perm = [0,2,1,3]> (p)\n"
                          "l = Constant <value = int64[2] {6,48}> ()\n"
                          "v = Softmax <axis = 3> (t)\n"
                          "u = Reshape (v, l)\n"
                          "y = Neg (u)\n");
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 1, NULL, &error);
  IrBackend liar = *ir_backend_find ("cpu");
  IrRunOptions options = { .backend = &liar, .n_threads = 1, .checks = IR_RUN_CHECK_PLAN };

  liar.input_terms = false_terms;
  is_planned = FALSE;
  g_autoptr (IrExecutable) executable = ir_executable_new (model, &options, &error);
  g_assert_no_error (error);
  g_assert_true (ir_executable_prepare (executable, inputs, NULL, &error));
  is_planned = TRUE;
  g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (has_found (run, "t", "bytes that p lies in") ||
                 has_found (run, "q", "bytes that p lies in"));
}

static void
test_found_layout (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = model_of (0, 8);
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 1, NULL, &error);
  IrBackend liar = *ir_backend_find ("cpu");
  IrRunOptions options = { .backend = &liar, .n_threads = 1, .checks = IR_RUN_CHECK_PLAN };

  liar.input_terms = false_terms;
  is_planned = TRUE;
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  if (ir_schedule_block (run->schedule, ir_graph_find_value (run->model->main, "t")) == 0)
    g_test_skip ("no kernels over blocks for this machine");
  else
    g_assert_true (has_found (run, "t", "NCHW"));
}

static IrOutputTerms
false_output_terms (const IrNode *node)
{
  return (IrOutputTerms){ .gives = IR_LAYOUT_PLAIN };
}

static void
test_found_output (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = model_of (0, 8);
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 1, NULL, &error);
  IrBackend liar = *ir_backend_find ("cpu");
  IrRunOptions options = { .backend = &liar, .n_threads = 1, .checks = IR_RUN_CHECK_PLAN };

  liar.output_terms = false_output_terms;
  g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  if (ir_schedule_block (run->schedule, ir_graph_find_value (run->model->main, "t")) == 0)
    g_test_skip ("no kernels over blocks for this machine");
  else
    g_assert_true (has_found (run, "t", "NCHW"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/layouts/%s", cases[i].title);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_case);
    }
  for (guint i = 0; i < G_N_ELEMENTS (false_shapes); i++)
    {
      g_autofree char *path = g_strdup_printf ("/layouts/a shape that is not as declared: %s",
                                               false_shapes[i].title);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_false_shape);
    }
  g_test_add_func ("/layouts/a check finds bytes that are written over", test_found);
  g_test_add_func ("/layouts/a check finds a layout that a kernel does not declare",
                   test_found_layout);
  g_test_add_func ("/layouts/a check finds blocks that a kernel does not declare to give",
                   test_found_output);
  return g_test_run ();
}
