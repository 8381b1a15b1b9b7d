/* Random inputs: reproducible, and within what the uses of an input allow. */
#include "config.h"

#include <math.h>

#include "core/exec/ref/twister.h"
#include "core/io/io.h"
#include "tests/exec/graphs.h"

static const IrTensor *
input_of (GHashTable *inputs, const IrValue *value)
{
  const IrTensor *tensor = g_hash_table_lookup (inputs, GUINT_TO_POINTER (value->id));

  g_assert_nonnull (tensor);
  return tensor;
}

static void
assert_range (const IrTensor *tensor, gint64 low, gint64 high)
{
  gint64 least = G_MAXINT64, most = G_MININT64;

  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      least = MIN (least, ir_tensor_get_int64 (tensor, i));
      most = MAX (most, ir_tensor_get_int64 (tensor, i));
    }
  g_assert_cmpint (least, ==, low);
  g_assert_cmpint (most, ==, high);
}

static void
test_same_seed (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[100,100]");
  IrValue *y = build_input (&b, "y", "float[100,100]");
  build_output (&b, build_node (&b, NULL, "Add", 1, x, y, END)->outputs[0]);
  build_done (&b);
  g_autoptr (GHashTable) one = ir_random_inputs (b.model, 7, NULL, &error);
  g_autoptr (GHashTable) two = ir_random_inputs (b.model, 7, NULL, &error);
  g_autoptr (GHashTable) other = ir_random_inputs (b.model, 8, NULL, &error);
  IrTensorStats stats;

  g_assert_no_error (error);
  g_assert_true (ir_tensor_equal (input_of (one, x), input_of (two, x)));
  g_assert_false (ir_tensor_equal (input_of (one, x), input_of (other, x)));
  g_assert_false (ir_tensor_equal (input_of (one, x), input_of (one, y)));
  ir_tensor_stats (input_of (one, x), 0, &stats);
  g_assert_cmpfloat (fabs (stats.mean), <, 0.05);
  g_assert_cmpfloat (fabs (stats.std - 1), <, 0.05);
}

static void
test_indices (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrValue *ids = build_input (&b, "ids", "int64[20,50]");
  IrValue *moved = build_input (&b, "moved", "int64[1000]");
  IrValue *table = build_constant (&b, "table", tensor_random ("float[11,4]", 1));
  IrValue *two = build_constant (&b, "two", ir_tensor_new_int64s ((gint64[]){ 2 }, -1));
  IrValue *flat = build_constant (&b, "flat", ir_tensor_new_int64s ((gint64[]){ -1 }, 1));
  IrNode *reshape = build_node (&b, NULL, "Reshape", 1, ids, flat, END);
  IrNode *cast = build_node (&b, NULL, "Cast", 1, reshape->outputs[0], END);
  build_int (&b, cast, "to", IR_DTYPE_INT32);
  IrNode *gather = build_node (&b, NULL, "Gather", 1, table, cast->outputs[0], END);
  IrNode *add = build_node (&b, NULL, "Add", 1, moved, two, END);
  IrNode *gather2 = build_node (&b, NULL, "Gather", 1, table, add->outputs[0], END);
  build_output (&b, gather->outputs[0]);
  build_output (&b, gather2->outputs[0]);
  build_done (&b);
  g_autoptr (GHashTable) inputs = ir_random_inputs (b.model, 1, NULL, &error);
  g_assert_no_error (error);
  assert_range (input_of (inputs, ids), 0, 10);
  assert_range (input_of (inputs, moved), -2, 8);
  IrRunOptions options = { .backend = ir_backend_find ("ref") };
  g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  g_assert_nonnull (run);
}

/* Labels lie below the classes, ids below the rows of the table that each is for. */
static void
test_labels_and_rows (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = ir_text_read (
      "<ir_version: 8, opset_import: [\"\" : 17, \"irscope\" : 1, \"com.microsoft\" : 1]>\n"
      "g (float[200,3] scores, int64[200] labels, int64[20,50] words, int64[20,50] types, int64[20,50] at, "
      "int32[20,50] ids, float[11,4] W, float[2,4] T, float[50,4] P, float[4] s, float[4] b) "
      "=> (float loss, float[20,50,4] e, float[20,50,4] m)\n"
      "{ loss = SoftmaxCrossEntropyLoss (scores, labels)\n"
      "  e = irscope.EmbedLayerNormalization (W, words, T, types, P, at, s, b)\n"
      "  m, mask = com.microsoft.EmbedLayerNormalization (ids, , W, P, , s, b) }",
      -1, problems, &error);
  const struct
  {
    const char *name;
    gint64 high;
  } bounds[] = { { "labels", 2 }, { "words", 10 }, { "types", 1 }, { "at", 49 }, { "ids", 10 } };

  g_assert_no_error (error);
  g_autoptr (GHashTable) inputs = ir_random_inputs (model, 1, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (bounds); i++)
    assert_range (input_of (inputs, ir_graph_find_value (model->main, bounds[i].name)), 0,
                  bounds[i].high);
}

/* (1 - float (mask)) * -10000, as exported transformers do. */
static void
test_masks (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrValue *mask = build_input (&b, "mask", "int64[batch,seq]");
  IrValue *choice = build_input (&b, "choice", "bool[seq]");
  IrValue *one = build_constant (&b, "one", tensor_of ("float[]", "1"));
  IrValue *axes = build_constant (&b, "axes", ir_tensor_new_int64s ((gint64[]){ 1, 2 }, 2));
  IrNode *unsqueeze = build_node (&b, NULL, "Unsqueeze", 1, mask, axes, END);
  IrNode *cast = build_node (&b, NULL, "Cast", 1, unsqueeze->outputs[0], END);
  build_int (&b, cast, "to", IR_DTYPE_FLOAT);
  IrNode *flip = build_node (&b, NULL, "Sub", 1, one, cast->outputs[0], END);
  IrNode *where = build_node (&b, NULL, "Where", 1, choice, flip->outputs[0], one, END);
  gint64 batch = 3, seq = 40;
  g_autoptr (GHashTable) bindings = g_hash_table_new (g_str_hash, g_str_equal);
  build_output (&b, where->outputs[0]);
  build_done (&b);
  g_hash_table_insert (bindings, (gpointer) "batch", &batch);
  g_hash_table_insert (bindings, (gpointer) "seq", &seq);
  g_autoptr (GHashTable) inputs = ir_random_inputs (b.model, 1, bindings, &error);
  g_assert_no_error (error);
  assert_range (input_of (inputs, mask), 0, 1);
  assert_range (input_of (inputs, choice), 0, 1);
  g_assert_cmpint (ir_tensor_dims (input_of (inputs, mask))[0], ==, 3);
  g_assert_cmpint (ir_tensor_dims (input_of (inputs, mask))[1], ==, 40);
}

static void
test_default_sizes (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[batch,3,height,?]");
  IrValue *y = build_input (&b, "y", "float[seq]");
  IrValue *z = build_input (&b, "z", "float[seq+1]");
  IrNode *node = build_node (&b, NULL, "Log", 1, y, END);
  build_output (&b, node->outputs[0]);
  build_done (&b);
  g_autoptr (GHashTable) inputs = ir_random_inputs (b.model, 1, NULL, &error);
  g_assert_no_error (error);
  const gint64 *dims = ir_tensor_dims (input_of (inputs, x));
  g_assert_cmpint (dims[0], ==, 1);
  g_assert_cmpint (dims[2], ==, 64);
  g_assert_cmpint (dims[3], ==, 64);
  g_assert_cmpint (ir_tensor_dims (input_of (inputs, z))[0], ==,
                   ir_tensor_dims (input_of (inputs, y))[0] + 1);
  for (guint64 i = 0; i < ir_tensor_n_elements (input_of (inputs, y)); i++)
    g_assert_cmpfloat (ir_tensor_get_double (input_of (inputs, y), i), >, 0);
}

static void
test_too_large (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  build_input (&b, "x", "float[1000000000,1000000000,1000000000]");
  g_assert_null (ir_random_inputs (b.model, 1, NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT);
}

/* What is refused is refused before it is made, and making it can be given up. */
static void
test_limits (void)
{
  g_auto (Builder) b = { 0 };
  g_autoptr (GError) limit = NULL, cancelled = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  IrRandomOptions options = { .seed = 1, .limit = 1200, .cancellable = cancellable };

  builder_init (&b, 17);
  build_input (&b, "x", "float[200]");
  build_input (&b, "y", "float[100]");
  g_autoptr (GHashTable) inputs = ir_random_inputs_with (b.model, &options, NULL);
  g_assert_cmpuint (g_hash_table_size (inputs), ==, 2);
  options.limit = 1199;
  g_assert_null (ir_random_inputs_with (b.model, &options, &limit));
  g_assert_error (limit, IR_EXEC_ERROR, IR_EXEC_ERROR_LIMIT);
  g_assert_nonnull (strstr (limit->message, "input y"));
  options.limit = 0;
  g_cancellable_cancel (cancellable);
  g_assert_null (ir_random_inputs_with (b.model, &options, &cancelled));
  g_assert_error (cancelled, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

/* What numpy's RandomState gives, behind the first and the second 624 words too. */
static void
test_twister (void)
{
  static const struct
  {
    guint32 seed;
    guint at[5];
    double uniform[5], normal[5];
  } rows[] = {
    { 0,
      { 0, 311, 312, 623, 999 },
      { 0.5488135039273248, 0.14694664540037505, 0.07952208258675575, 0.8130538632474607,
        0.6771411441114241 },
      { 1.764052345967664, 0, 0, 0, -0.35811407547985674 } },
    { 5489,
      { 0, 311, 312, 623, 999 },
      { 0.8147236863931789, 0.5185949425105382, 0.9729745547638625, 0.666416217319468,
        0.8667498969993187 },
      { -0.7732891502316195, 0, 0, 0, 0.45922512678209815 } },
    { G_MAXUINT32,
      { 0, 311, 312, 623, 999 },
      { 0.0976320289940138, 0.2845819535787153, 0.89887815082878, 0.16177415711968401,
        0.556626859384112 },
      { 0.6484086742306527, 0, 0, 0, 0.8396779525796308 } },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      IrTwister uniform, normal;

      ir_twister_init (&uniform, rows[i].seed);
      ir_twister_init (&normal, rows[i].seed);
      for (guint n = 0, k = 0; k < 5; n++)
        {
          double u = ir_twister_uniform (&uniform), g = ir_twister_normal (&normal);
          if (n != rows[i].at[k])
            continue;
          g_assert_cmpfloat (u, ==, rows[i].uniform[k]);
          if (rows[i].normal[k] != 0)
            g_assert_cmpfloat_with_epsilon (g, rows[i].normal[k], 1e-14);
          k++;
        }
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/random/the same seed gives the same tensors", test_same_seed);
  g_test_add_func ("/random/numbers are those of numpy", test_twister);
  g_test_add_func ("/random/indices lie within the table", test_indices);
  g_test_add_func ("/random/labels and rows of tables are there", test_labels_and_rows);
  g_test_add_func ("/random/masks are 0 or 1", test_masks);
  g_test_add_func ("/random/symbols have sensible sizes", test_default_sizes);
  g_test_add_func ("/random/limits hold before anything is made", test_limits);
  g_test_add_func ("/random/a size beyond memory is refused", test_too_large);
  return g_test_run ();
}
