/* The runner: results, capture, limits, cancelling, errors; statistics and traces. */
#include "config.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "core/exec/kernel/backend.h"
#include "tests/exec/graphs.h"

/* x [2,3] -> MatMul w -> Relu -> Reshape [6] -> Softmax -> y; the Relu is an output too. */
typedef struct
{
  Builder b;
  IrValue *x, *product, *relu, *flat, *y;
  GHashTable *inputs;
} Chain;

static void
chain_init (Chain *chain, const char *input_type)
{
  *chain = (Chain){ 0 };
  Builder *b = &chain->b;
  builder_init (b, 17);
  chain->x = build_input (b, "x", input_type);
  IrValue *w = build_constant (b, "w", tensor_of ("float[3,2]", "1 0 0 1 -1 -1"));
  IrValue *shape = build_constant (b, "shape", ir_tensor_new_int64s ((gint64[]){ -1 }, 1));
  IrNode *matmul = build_node (b, NULL, "MatMul", 1, chain->x, w, END);
  ir_edit_rename_node (b->edit, matmul, "product");
  chain->product = matmul->outputs[0];
  chain->relu = build_node (b, NULL, "Relu", 1, chain->product, END)->outputs[0];
  chain->flat = build_node (b, NULL, "Reshape", 1, chain->relu, shape, END)->outputs[0];
  IrValue *soft = build_node (b, NULL, "Softmax", 1, chain->flat, END)->outputs[0];
  chain->y = build_node (b, NULL, "Neg", 1, soft, END)->outputs[0];
  build_output (b, chain->y);
  build_done (b);
  chain->inputs = inputs_new ();
  inputs_add (chain->inputs, chain->x, tensor_of ("float[2,3]", "5 1 2 1 3 4"));
}

static void
chain_clear (Chain *chain)
{
  g_hash_table_unref (chain->inputs);
  builder_clear (&chain->b);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Chain, chain_clear)

/* Node by node with ir_eval_node(): no plan, no arena. */
static IrTensor *
evaluate_directly (IrModel *model, GHashTable *inputs, const IrValue *wanted)
{
  g_autoptr (GHashTable) values = inputs_new ();
  guint n_nodes;
  IrNode *const *nodes = ir_graph_order (model->main, &n_nodes);

  for (guint i = 0; i < n_nodes; i++)
    {
      g_autoptr (GError) error = NULL;
      const IrTensor *in[8] = { NULL };
      IrTensor *out[8] = { NULL };
      for (guint slot = 0; slot < nodes[i]->n_inputs; slot++)
        {
          gpointer key = GUINT_TO_POINTER (nodes[i]->inputs[slot]->id);
          in[slot] = nodes[i]->inputs[slot]->initializer;
          in[slot] = in[slot] != NULL ? in[slot] : g_hash_table_lookup (inputs, key);
          in[slot] = in[slot] != NULL ? in[slot] : g_hash_table_lookup (values, key);
        }
      g_assert_true (ir_eval_node (nodes[i], in, out, NULL, 0, &error));
      g_assert_no_error (error);
      for (guint slot = 0; slot < nodes[i]->n_outputs; slot++)
        inputs_add (values, nodes[i]->outputs[slot], out[slot]);
    }
  return ir_tensor_ref (g_hash_table_lookup (values, GUINT_TO_POINTER (wanted->id)));
}

static IrRunOptions
ref_options (void)
{
  return (IrRunOptions){ .backend = ir_backend_find ("ref"), .n_threads = 2 };
}

static void
test_equals_direct_evaluation (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Chain) c = { 0 };
  chain_init (&c, "float[2,3]");
  IrRunOptions options = ref_options ();
  g_autoptr (IrTensor) expected = evaluate_directly (c.b.model, c.inputs, c.y);
  g_autoptr (IrExecutable) executable = ir_executable_new (c.b.model, &options, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (IrRun) run = ir_executable_run (executable, c.inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      g_assert_true (ir_tensor_equal (ir_run_value (run, c.y->id), expected));
      g_assert_null (ir_run_value (run, c.product->id));
      g_assert_cmpuint (run->trace->items->len, ==, 5);
      g_assert_cmpuint (run->trace->peak_bytes, >, 0);
    }
}

static void
test_symbolic_shapes (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Chain) c = { 0 };
  chain_init (&c, "float[rows,3]");
  IrRunOptions options = ref_options ();
  g_autoptr (IrExecutable) executable = ir_executable_new (c.b.model, &options, &error);
  g_assert_no_error (error);
  for (gint64 rows = 1; rows < 5; rows++)
    {
      g_autofree char *type = g_strdup_printf ("float[%" G_GINT64_FORMAT ",3]", rows);
      g_autoptr (GHashTable) inputs = inputs_new ();
      inputs_add (inputs, c.x, tensor_random (type, 3));
      g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpint (ir_tensor_dims (ir_run_value (run, c.y->id))[0], ==, 2 * rows);
      const IrValue *y = ir_model_value (run->model, c.y->id);
      g_assert_true (ir_type_is_static (y->type));
      /* The caller's model stays as it was. */
      g_assert_false (ir_type_is_static (c.x->type));
    }
}

/* Back ends' functions have no data of the caller. */
static int n_prepared;                     /* of prepare_counted() */
static GCancellable *cancelled_by_prepare; /* (nullable) by the same */

static gpointer
prepare_counted (IrCall *call, GError **error)
{
  n_prepared++;
  if (cancelled_by_prepare != NULL)
    g_cancellable_cancel (cancelled_by_prepare);
  return ir_backend_find ("cpu")->prepare (call, error);
}

/* Sizes that take turns are planned once each, and give what they gave; after many others the
 * first are forgotten. */
static void
test_shapes_in_turns (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Chain) c = { 0 };
  chain_init (&c, "float[rows,3]");
  IrBackend counted = *ir_backend_find ("cpu");
  counted.prepare = prepare_counted;
  IrRunOptions options = { .backend = &counted, .n_threads = 1 };
  g_autoptr (IrExecutable) executable = ir_executable_new (c.b.model, &options, &error);
  g_assert_no_error (error);
  g_autoptr (GPtrArray) first = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  int n_each = 0;
  n_prepared = 0;
  for (gint64 i = 0; i < 9; i++)
    {
      gint64 rows = 1 + i % 3;
      g_autofree char *type = g_strdup_printf ("float[%" G_GINT64_FORMAT ",3]", rows);
      g_autoptr (GHashTable) inputs = inputs_new ();
      inputs_add (inputs, c.x, tensor_random (type, 3));
      g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      if (i < 3)
        g_ptr_array_add (first, ir_tensor_ref (ir_run_value (run, c.y->id)));
      else
        g_assert_true (ir_tensor_equal (ir_run_value (run, c.y->id), first->pdata[i % 3]));
      n_each = i == 0 ? n_prepared : n_each;
    }
  g_assert_cmpint (n_each, >, 0);
  g_assert_cmpint (n_prepared, ==, 3 * n_each);
  for (gint64 rows = 3; rows <= 7; rows++)
    {
      g_autofree char *type = g_strdup_printf ("float[%" G_GINT64_FORMAT ",3]", rows);
      g_autoptr (GHashTable) inputs = inputs_new ();
      inputs_add (inputs, c.x, tensor_random (type, 3));
      g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);
      g_assert_no_error (error);
    }
  g_assert_cmpint (n_prepared, ==, 7 * n_each);
  g_autoptr (GHashTable) inputs = inputs_new ();
  inputs_add (inputs, c.x, tensor_random ("float[1,3]", 3));
  g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (n_prepared, ==, 8 * n_each);
}

static void
test_capture_all (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Chain) c = { 0 };
  chain_init (&c, "float[2,3]");
  IrRunOptions options = ref_options ();
  options.capture = IR_CAPTURE_ALL;
  g_autoptr (IrRun) run = ir_model_run (c.b.model, c.inputs, &options, NULL, &error);
  g_assert_no_error (error);
  assert_tensor (ir_run_value (run, c.product->id), "float[2,2]", "3 -1 -3 -1", 0);
  assert_tensor (ir_run_value (run, c.relu->id), "float[2,2]", "3 0 0 0", 0);
  assert_tensor (ir_run_value (run, c.flat->id), "float[4]", "3 0 0 0", 0);
  g_assert_true (ir_run_value (run, c.x->id) ==
                 g_hash_table_lookup (c.inputs, GUINT_TO_POINTER (c.x->id)));
}

static void
test_capture_chosen (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Chain) c = { 0 };
  chain_init (&c, "float[2,3]");
  g_autoptr (GArray) chosen = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  g_array_append_val (chosen, c.relu->id);
  IrRunOptions options = ref_options ();
  options.capture = IR_CAPTURE_CHOSEN;
  options.chosen = chosen;
  g_autoptr (IrRun) run = ir_model_run (c.b.model, c.inputs, &options, NULL, &error);
  g_assert_no_error (error);
  assert_tensor (ir_run_value (run, c.relu->id), "float[2,2]", "3 0 0 0", 0);
  g_assert_null (ir_run_value (run, c.product->id));
  g_assert_nonnull (ir_run_value (run, c.y->id));
}

static void
test_capture_stats (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Chain) c = { 0 };
  chain_init (&c, "float[2,3]");
  IrRunOptions options = ref_options ();
  options.capture = IR_CAPTURE_STATS;
  g_autoptr (IrRun) run = ir_model_run (c.b.model, c.inputs, &options, NULL, &error);
  g_assert_no_error (error);
  const IrTensorStats *stats = g_hash_table_lookup (run->stats, GUINT_TO_POINTER (c.product->id));
  g_assert_nonnull (stats);
  g_assert_cmpfloat (stats->min, ==, -3);
  g_assert_cmpfloat (stats->max, ==, 3);
  g_assert_cmpuint (stats->n_negative, ==, 3);
  g_assert_null (ir_run_value (run, c.product->id));
}

static void
test_small_limits (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "float[64,64]");
  IrNode *node = build_node (&b, NULL, "Exp", 1, x, END);
  IrNode *last = build_node (&b, NULL, "Transpose", 1, node->outputs[0], END);
  build_output (&b, last->outputs[0]);
  build_done (&b);
  inputs_add (inputs, x, tensor_random ("float[64,64]", 1));
  IrRunOptions options = ref_options ();
  options.memory_limit = 1000;
  g_assert_null (ir_model_run (b.model, inputs, &options, NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_MEMORY);
  g_clear_error (&error);
  options.memory_limit = 0;
  options.output_limit = 1000;
  g_assert_null (ir_model_run (b.model, inputs, &options, NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_MEMORY);
  g_clear_error (&error);
  options.output_limit = 64 * 64 * 4;
  g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  g_assert_nonnull (run);
}

/* With half of the memory limit in use, captured values go to a file and are still right. */
static void
test_spill (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (GPtrArray) values = g_ptr_array_new ();
  IrValue *at = build_input (&b, "x", "float[64,64]");
  inputs_add (inputs, at, tensor_of ("float[64,64]", "1 -2"));
  for (guint i = 0; i < 20; i++)
    {
      at = build_node (&b, NULL, i % 2 == 0 ? "Neg" : "Abs", 1, at, END)->outputs[0];
      g_ptr_array_add (values, at);
    }
  build_output (&b, at);
  build_done (&b);
  IrRunOptions options = ref_options ();
  options.capture = IR_CAPTURE_ALL;
  options.memory_limit = 6 * 64 * 64 * 4;
  g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < values->len; i++)
    {
      const IrValue *value = g_ptr_array_index (values, i);
      const char *expected = i == 0 ? "-1 2" : i % 2 == 0 ? "-1 -2" : "1 2";
      assert_tensor (ir_run_value (run, value->id), "float[64,64]", expected, 0);
    }
}

static void
count_progress (guint done, guint total, const IrNode *node, gpointer data)
{
  GCancellable *cancellable = data;

  g_assert_cmpuint (done, <=, total);
  g_assert_nonnull (node);
  if (done == 2)
    g_cancellable_cancel (cancellable);
}

static void
test_cancel (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (IrRun) partial = NULL;
  g_auto (Chain) c = { 0 };
  chain_init (&c, "float[2,3]");
  IrRunOptions options = ref_options ();
  options.capture = IR_CAPTURE_ALL;
  options.progress = count_progress;
  options.progress_data = cancellable;
  g_autoptr (IrExecutable) executable = ir_executable_new (c.b.model, &options, &error);
  g_assert_no_error (error);
  g_assert_null (ir_executable_run (executable, c.inputs, cancellable, &partial, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
  g_assert_nonnull (partial);
  g_assert_nonnull (ir_run_value (partial, c.relu->id));
  g_assert_null (ir_run_value (partial, c.flat->id));
}

/* Neither more nodes are prepared nor one runs, and the executable is as good as before. */
static void
test_cancel_while_preparing (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (IrRun) partial = NULL;
  IrBackend counted = *ir_backend_find ("cpu");
  g_auto (Chain) c = { 0 };
  chain_init (&c, "float[2,3]");
  IrRunOptions options = { .backend = &counted, .n_threads = 1 };
  counted.prepare = prepare_counted;
  g_autoptr (IrExecutable) executable = ir_executable_new (c.b.model, &options, &error);
  g_assert_no_error (error);

  cancelled_by_prepare = cancellable;
  n_prepared = 0;
  g_assert_null (ir_executable_run (executable, c.inputs, cancellable, &partial, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
  g_assert_null (partial);
  cancelled_by_prepare = NULL;
  g_assert_cmpint (n_prepared, ==, 1);
  g_clear_error (&error);
  g_assert_null (ir_executable_run (executable, c.inputs, cancellable, &partial, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED);
  g_assert_cmpint (n_prepared, ==, 1); /* not even its shapes were bound */
  g_clear_error (&error);
  g_autoptr (IrRun) run = ir_executable_run (executable, c.inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (n_prepared, >, 2);
}

/* -- the same bits at any number of threads -- */

static IrValue *
build_varied (Builder *b, IrValue *x)
{
  IrValue *w = build_constant (b, "w", tensor_random ("float[40,24,3,3]", 2));
  IrValue *c = build_node (b, NULL, "Conv", 1, x, w, END)->outputs[0];
  c = build_node (b, NULL, "Sigmoid", 1, c, END)->outputs[0];
  IrValue *rows = build_constant (b, "rows", ir_tensor_new_int64s ((gint64[]){ 35, -1 }, 2));
  IrValue *flat = build_node (b, NULL, "Reshape", 1, c, rows, END)->outputs[0];
  IrValue *m = build_constant (b, "m", tensor_random ("float[1760,301]", 3));
  IrValue *p = build_node (b, NULL, "MatMul", 1, flat, m, END)->outputs[0];
  p = build_node (b, NULL, "Tanh", 1, p, END)->outputs[0];
  IrNode *square = build_node (b, NULL, "Gemm", 1, p, p, END);
  build_int (b, square, "transA", 1);
  IrValue *soft = build_node (b, NULL, "Softmax", 1, square->outputs[0], END)->outputs[0];
  IrValue *mean = build_node (b, NULL, "ReduceMean", 1, soft, END)->outputs[0];
  IrValue *sum = build_node (b, NULL, "ReduceL2", 1, c, END)->outputs[0];
  /* Many products for each of few sums: a library may share out the products of one sum, as oneDNN
   * does of a matrix by a vector; without the option, these are other bits at 2 threads than at 1.
   */
  IrValue *tall = build_constant (b, "tall", tensor_random ("float[1,65536,1,1]", 4));
  IrValue *deep = build_constant (b, "deep", tensor_random ("float[65536,16,1,1]", 5));
  IrValue *from = build_node (b, NULL, "Add", 1, tall, mean, END)->outputs[0];
  IrValue *wide = build_node (b, NULL, "ConvTranspose", 1, from, deep, END)->outputs[0];
  return build_node (b, NULL, "Add", 1, wide, sum, END)->outputs[0];
}

static void
assert_same_at_any_number (IrModel *model, GHashTable *inputs)
{
  static const guint n_threads[] = { 1, 2, 4 };
  g_autoptr (IrRun) first = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (n_threads); i++)
    {
      g_autoptr (GError) error = NULL;
      IrRunOptions options = { .n_threads = n_threads[i],
                               .capture = IR_CAPTURE_ALL,
                               .deterministic = TRUE };
      g_autoptr (IrRun) run = ir_model_run (model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      for (IrValueId id = 1; first != NULL && id < run->n_values; id++)
        {
          const IrTensor *a = ir_run_value (first, id), *c = ir_run_value (run, id);
          g_assert_true ((a == NULL) == (c == NULL));
          if (a != NULL)
            g_assert_cmpmem (ir_tensor_data (a), ir_tensor_n_bytes (a), ir_tensor_data (c),
                             ir_tensor_n_bytes (c));
        }
      if (first == NULL)
        first = g_steal_pointer (&run);
    }
  g_assert_cmpuint (ir_run_n_kept (first), >, 10);
}

static void
test_deterministic (void)
{
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "float[1,24,46,37]");

  build_output (&b, build_varied (&b, x));
  build_done (&b);
  inputs_add (inputs, x, tensor_random ("float[1,24,46,37]", 1));
  assert_same_at_any_number (b.model, inputs);
}

static IrValue *
random_constant (Builder *b, GRand *rand, gint64 rows, gint64 columns)
{
  g_autofree char *type = g_strdup_printf ("float[%d,%d]", (int) rows, (int) columns);
  g_autofree char *name = g_strdup_printf ("c%u", g_rand_int (rand));

  return build_constant (b, name, tensor_random (type, g_rand_int (rand)));
}

/* A matrix [rows, columns] becomes another one. */
static IrValue *
random_step (Builder *b, GRand *rand, IrValue *x, gint64 *rows, gint64 *columns)
{
  static const char *const unary[] = {
    "Tanh", "Sigmoid", "Erf", "Softplus", "Softmax", "LogSoftmax"
  };
  static const gint64 sizes[] = { 1, 17, 130, 515 };
  static const char *const reductions[] = { "ReduceMean", "ReduceL2", "ReduceLogSumExp",
                                            "ReduceMax" };
  gint64 size = sizes[g_rand_int_range (rand, 0, G_N_ELEMENTS (sizes))];
  IrNode *node;

  switch (g_rand_int_range (rand, 0, 6))
    {
    case 0:
      node = build_node (b, NULL, "MatMul", 1, x, random_constant (b, rand, *columns, size), END);
      *columns = size;
      break;
    case 1:
      node = build_node (b, NULL, "Gemm", 1, x, random_constant (b, rand, *rows, size), END);
      build_int (b, node, "transA", 1);
      *rows = *columns;
      *columns = size;
      break;
    case 2:
      node = build_node (b, NULL, "Transpose", 1, x, END);
      size = *rows;
      *rows = *columns;
      *columns = size;
      break;
    case 3:
      {
        IrValue *all = build_node (b, NULL, reductions[g_rand_int_range (rand, 0, 4)], 1, x, END)
                           ->outputs[0];
        node = build_node (b, NULL, "Add", 1, x, all, END);
        break;
      }
    case 4:
      node = build_node (b, NULL, "Mul", 1, x, random_constant (b, rand, *rows, *columns), END);
      break;
    default:
      node = build_node (b, NULL, unary[g_rand_int_range (rand, 0, 6)], 1, x, END);
      break;
    }
  return node->outputs[0];
}

static void
test_deterministic_random (void)
{
  for (guint seed = 1; seed <= 12; seed++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      g_auto (Builder) b = { 0 };
      builder_init (&b, 17);
      g_autoptr (GHashTable) inputs = inputs_new ();
      gint64 rows = 300, columns = 257;
      IrValue *x = build_input (&b, "x", "float[300,257]"), *at = x;
      for (guint i = 0; i < 14; i++)
        at = random_step (&b, rand, at, &rows, &columns);
      build_output (&b, at);
      build_done (&b);
      inputs_add (inputs, x, tensor_random ("float[300,257]", seed));
      assert_same_at_any_number (b.model, inputs);
    }
}

static void
test_failing_node (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) partial = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "float[2,?]");
  IrNode *first = build_node (&b, NULL, "Neg", 1, x, END);
  IrNode *second = build_node (&b, NULL, "MatMul", 1, first->outputs[0], first->outputs[0], END);
  ir_edit_rename_node (b.edit, second, "square");
  build_output (&b, second->outputs[0]);
  build_done (&b);
  inputs_add (inputs, x, tensor_of ("float[2,3]", "1"));
  IrRunOptions options = ref_options ();
  options.capture = IR_CAPTURE_ALL;
  g_autoptr (IrExecutable) executable = ir_executable_new (b.model, &options, &error);
  g_assert_no_error (error);
  g_assert_null (ir_executable_run (executable, inputs, NULL, &partial, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_KERNEL);
  g_assert_true (g_str_has_prefix (error->message, "square (MatMul)"));
  g_assert_nonnull (partial);
  g_assert_cmpuint (partial->failed_node, ==, second->id);
  g_assert_nonnull (partial->error);
  assert_tensor (ir_run_value (partial, first->outputs[0]->id), "float[2,3]", "-1", 0);
}

static void
test_bad_inputs (void)
{
  const char *bad[] = { "float[2,4]", "double[2,3]", "float[3]" };
  g_auto (Chain) c = { 0 };
  chain_init (&c, "float[2,3]");
  IrRunOptions options = ref_options ();
  g_autoptr (GHashTable) none = inputs_new ();
  g_autoptr (GError) error = NULL;

  g_assert_null (ir_model_run (c.b.model, none, &options, NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT);
  g_assert_nonnull (strstr (error->message, "input x"));
  g_clear_error (&error);
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GHashTable) inputs = inputs_new ();
      inputs_add (inputs, c.x, tensor_of (bad[i], "1"));
      g_assert_null (ir_model_run (c.b.model, inputs, &options, NULL, &error));
      g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT);
      g_assert_nonnull (strstr (error->message, "float[2,3]"));
      g_clear_error (&error);
    }
  inputs_add (c.inputs, c.relu, tensor_of ("float[2,2]", "1"));
  g_assert_null (ir_model_run (c.b.model, c.inputs, &options, NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT);
}

static void
test_equal_symbols (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "float[n]");
  IrValue *y = build_input (&b, "y", "float[n]");
  build_output (&b, build_node (&b, NULL, "Add", 1, x, y, END)->outputs[0]);
  build_done (&b);
  inputs_add (inputs, x, tensor_of ("float[3]", "1"));
  inputs_add (inputs, y, tensor_of ("float[1]", "1"));
  IrRunOptions options = ref_options ();
  g_assert_null (ir_model_run (b.model, inputs, &options, NULL, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT);
}

/* An output that is an input, a constant, or there twice. */
static void
test_odd_outputs (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrValue *x = build_input (&b, "x", "float[2]");
  IrValue *w = build_constant (&b, "w", tensor_of ("float[2]", "7 8"));
  IrNode *same = build_node (&b, NULL, "Identity", 1, x, END);
  IrNode *used = build_node (&b, NULL, "Neg", 1, same->outputs[0], END);
  IrNode *unused = build_node (&b, NULL, "Exp", 1, x, END);
  g_assert_nonnull (unused);
  build_output (&b, x);
  build_output (&b, w);
  build_output (&b, same->outputs[0]);
  build_output (&b, used->outputs[0]);
  build_output (&b, used->outputs[0]);
  build_done (&b);
  inputs_add (inputs, x, tensor_of ("float[2]", "1 2"));
  IrRunOptions options = ref_options ();
  g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  assert_tensor (ir_run_value (run, x->id), "float[2]", "1 2", 0);
  assert_tensor (ir_run_value (run, w->id), "float[2]", "7 8", 0);
  assert_tensor (ir_run_value (run, same->outputs[0]->id), "float[2]", "1 2", 0);
  assert_tensor (ir_run_value (run, used->outputs[0]->id), "float[2]", "-1 -2", 0);
}

/* An initializer that is an input too may be given, from IR version 4 on. */
static void
test_overridable_input (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[2]");
  IrValue *w = build_input (&b, "w", "float[2]");
  g_autoptr (IrTensor) fallback = tensor_of ("float[2]", "10 20");
  ir_edit_set_initializer (b.edit, w, fallback);
  IrNode *node = build_node (&b, NULL, "Add", 1, x, w, END);
  build_output (&b, node->outputs[0]);
  build_done (&b);
  IrRunOptions options = ref_options ();
  g_autoptr (IrExecutable) executable = ir_executable_new (b.model, &options, &error);
  g_assert_no_error (error);
  for (guint given = 0; given < 3; given++)
    {
      g_autoptr (GHashTable) inputs = inputs_new ();
      inputs_add (inputs, x, tensor_of ("float[2]", "1 2"));
      if (given == 1)
        inputs_add (inputs, w, tensor_of ("float[2]", "5 6"));
      g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      assert_tensor (ir_run_value (run, node->outputs[0]->id), "float[2]",
                     given == 1 ? "6 8" : "11 22", 0);
    }
}

/* if c: y = -x + k, else: y = x * x, where k comes from outside. */
static void
test_if (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrContext *context = b.model->context;
  IrValue *c = build_input (&b, "c", "bool[]");
  IrValue *x = build_input (&b, "x", "float[2]");
  IrNode *k = build_node (&b, NULL, "Exp", 1, x, END);
  IrGraph *yes = ir_edit_add_graph (b.edit, IR_GRAPH_SUBGRAPH, "yes");
  IrGraph *no = ir_edit_add_graph (b.edit, IR_GRAPH_SUBGRAPH, "no");
  IrNode *neg = build_node (&b, yes, "Neg", 1, x, END);
  IrNode *sum = build_node (&b, yes, "Add", 1, neg->outputs[0], k->outputs[0], END);
  IrNode *square = build_node (&b, no, "Mul", 1, x, x, END);
  ir_edit_set_graph_outputs (b.edit, yes, &sum->outputs[0], 1);
  ir_edit_set_graph_outputs (b.edit, no, &square->outputs[0], 1);
  IrNode *branch = build_node (&b, NULL, "If", 1, c, END);
  ir_edit_set_attr (b.edit, branch, ir_attr_graph (context, "then_branch", yes->id));
  ir_edit_set_attr (b.edit, branch, ir_attr_graph (context, "else_branch", no->id));
  IrNode *last = build_node (&b, NULL, "Neg", 1, branch->outputs[0], END);
  build_output (&b, last->outputs[0]);
  build_done (&b);
  IrRunOptions options = ref_options ();
  g_autoptr (IrExecutable) executable = ir_executable_new (b.model, &options, &error);
  g_assert_no_error (error);
  for (guint truth = 0; truth < 2; truth++)
    {
      g_autoptr (GHashTable) inputs = inputs_new ();
      inputs_add (inputs, c, tensor_of ("bool[]", truth ? "1" : "0"));
      inputs_add (inputs, x, tensor_of ("float[2]", "0 3"));
      g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      assert_tensor (ir_run_value (run, last->outputs[0]->id), "float[2]",
                     truth ? "-1 -17.0855369" : "0 -9", 1e-5);
    }
}

/* The numbers i + k of n rounds, and the factorial: v *= i + 1; stops when v is 24. */
static void
test_loop (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrContext *context = b.model->context;
  const IrType *counter = ir_type_parse (context, "int64[]", NULL);
  const IrType *truth = ir_type_parse (context, "bool[]", NULL);
  IrValue *n = build_input (&b, "n", "int64[]");
  IrValue *k = build_input (&b, "k", "int64[]");
  IrValue *start = build_constant (&b, "start", ir_tensor_new_int64s ((gint64[]){ 1 }, -1));
  IrValue *one = build_constant (&b, "one", ir_tensor_new_int64s ((gint64[]){ 1 }, -1));
  IrValue *stop = build_constant (&b, "stop", ir_tensor_new_int64s ((gint64[]){ 24 }, -1));
  IrGraph *body = ir_edit_add_graph (b.edit, IR_GRAPH_SUBGRAPH, "body");
  IrValue *in[] = {
    ir_edit_add_value (b.edit, body, "i", counter),
    ir_edit_add_value (b.edit, body, "go", truth),
    ir_edit_add_value (b.edit, body, "v", counter),
  };
  ir_edit_set_graph_inputs (b.edit, body, in, 3);
  IrValue *next = build_node (&b, body, "Add", 1, in[0], one, END)->outputs[0];
  IrValue *v = build_node (&b, body, "Mul", 1, in[2], next, END)->outputs[0];
  IrValue *sum = build_node (&b, body, "Add", 1, in[0], k, END)->outputs[0];
  IrValue *go = build_node (&b, body, "Less", 1, v, stop, END)->outputs[0];
  ir_edit_set_graph_outputs (b.edit, body, (IrValue *[]){ go, v, sum }, 3);
  IrValue *begin = build_constant (&b, "begin", ir_tensor_new_scalar (IR_DTYPE_BOOL, 1));
  IrNode *loop = build_node (&b, NULL, "Loop", 2, n, begin, start, END);
  ir_edit_set_attr (b.edit, loop, ir_attr_graph (context, "body", body->id));
  build_output (&b, loop->outputs[0]);
  build_output (&b, loop->outputs[1]);
  build_done (&b);
  const struct
  {
    const char *n, *v, *sums_type, *sums;
  } cases[] = {
    { "0", "1", "int64[0]", "0" },
    { "3", "6", "int64[3]", "10 11 12" },
    { "9", "24", "int64[4]", "10 11 12 13" },
  };
  IrRunOptions options = ref_options ();
  g_autoptr (IrExecutable) executable = ir_executable_new (b.model, &options, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GHashTable) inputs = inputs_new ();
      inputs_add (inputs, n, tensor_of ("int64[]", cases[i].n));
      inputs_add (inputs, k, tensor_of ("int64[]", "10"));
      g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      assert_tensor (ir_run_value (run, loop->outputs[0]->id), "int64[]", cases[i].v, 0);
      assert_tensor (ir_run_value (run, loop->outputs[1]->id), cases[i].sums_type, cases[i].sums,
                     0);
    }
}

static void
test_trace_json (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Chain) c = { 0 };
  chain_init (&c, "float[2,3]");
  IrRunOptions options = ref_options ();
  g_autoptr (IrRun) run = ir_model_run (c.b.model, c.inputs, &options, NULL, &error);
  g_assert_no_error (error);
  g_autofree char *text = ir_trace_to_chrome_json (run->trace, run->model);
  cJSON *json = cJSON_Parse (text);
  g_assert_nonnull (json);
  const cJSON *events = cJSON_GetObjectItem (json, "traceEvents");
  g_assert_cmpint (cJSON_GetArraySize (events), ==, 5);
  const cJSON *first = cJSON_GetArrayItem (events, 0);
  g_assert_cmpstr (cJSON_GetObjectItem (first, "name")->valuestring, ==, "product (MatMul)");
  g_assert_cmpstr (cJSON_GetObjectItem (first, "ph")->valuestring, ==, "X");
  g_assert_cmpfloat (
      cJSON_GetObjectItem (cJSON_GetObjectItem (first, "args"), "flops")->valuedouble, ==,
      2 * 3 * 4);
  cJSON_Delete (json);
}

/* -- statistics -- */

static void
test_stats (void)
{
  g_autoptr (IrTensor) tensor = tensor_random ("double[1000]", 9);
  double *data = ir_tensor_data_writable (tensor), sum = 0, squares = 0, low = 1, high = -1;
  IrTensorStats stats;
  guint64 n = 0, in_bins = 0;

  data[3] = NAN;
  data[5] = INFINITY;
  data[8] = data[9] = -INFINITY;
  data[11] = 0;
  data[12] = -0.0;
  for (guint i = 0; i < 1000; i++)
    if (isfinite (data[i]))
      {
        sum += data[i];
        n++;
        low = MIN (low, data[i]);
        high = MAX (high, data[i]);
      }
  for (guint i = 0; i < 1000; i++)
    if (isfinite (data[i]))
      squares += (data[i] - sum / (double) n) * (data[i] - sum / (double) n);
  ir_tensor_stats (tensor, 10, &stats);
  g_assert_cmpuint (stats.n, ==, 1000);
  g_assert_cmpuint (stats.n_nan, ==, 1);
  g_assert_cmpuint (stats.n_pos_inf, ==, 1);
  g_assert_cmpuint (stats.n_neg_inf, ==, 2);
  g_assert_cmpuint (stats.n_zero, ==, 2);
  g_assert_cmpfloat_with_epsilon (stats.mean, sum / (double) n, 1e-12);
  g_assert_cmpfloat_with_epsilon (stats.std, sqrt (squares / (double) n), 1e-12);
  g_assert_cmpfloat (stats.min, ==, low);
  g_assert_cmpfloat (stats.max, ==, high);
  for (guint i = 0; i < stats.n_bins; i++)
    in_bins += stats.bins[i];
  g_assert_cmpuint (in_bins, ==, n);
  guint64 first_bin = 0;
  for (guint i = 0; i < 1000; i++)
    first_bin += isfinite (data[i]) && data[i] < low + (high - low) / 10;
  g_assert_cmpuint (stats.bins[0], ==, first_bin);
}

static void
test_stats_edges (void)
{
  g_autoptr (IrTensor) constant = tensor_of ("int32[4]", "7");
  g_autoptr (IrTensor) empty = tensor_of ("float[0]", "1");
  IrTensorStats stats;

  ir_tensor_stats (constant, 64, &stats);
  g_assert_cmpfloat (stats.std, ==, 0);
  g_assert_cmpuint (stats.bins[0], ==, 4);
  ir_tensor_stats (empty, 64, &stats);
  g_assert_cmpuint (stats.n, ==, 0);
  g_assert_cmpfloat (stats.mean, ==, 0);
}

/* -- buffers that stay from run to run -- */

static void
test_kept_runs (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Chain) c = { 0 };
  chain_init (&c, "float[2,3]");
  IrRunOptions options = { .n_threads = 1, .capture = IR_CAPTURE_ALL };
  g_autoptr (GHashTable) others = inputs_new ();
  inputs_add (others, c.x, tensor_of ("float[2,3]", "0 0 0 7 8 1"));
  g_autoptr (IrExecutable) executable = ir_executable_new (c.b.model, &options, &error);
  g_assert_no_error (error);
  g_autoptr (IrRun) first = ir_executable_run (executable, c.inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  g_autoptr (IrTensor) flat = ir_tensor_ref (ir_run_value (first, c.flat->id));
  g_autoptr (IrRun) second = ir_executable_run (executable, others, NULL, NULL, &error);
  g_assert_no_error (error);
  assert_tensor (ir_run_value (first, c.product->id), "float[2,2]", "3 -1 -3 -1", 0);
  assert_tensor (ir_run_value (second, c.product->id), "float[2,2]", "0 0 6 7", 0);
  assert_tensor (ir_run_value (second, c.flat->id), "float[4]", "0 0 6 7", 0);
  /* The view alone keeps the bytes of what it is a view of. */
  g_clear_pointer (&first, ir_run_unref);
  g_clear_pointer (&second, ir_run_unref);
  first = ir_executable_run (executable, others, NULL, NULL, &error);
  g_assert_no_error (error);
  assert_tensor (flat, "float[4]", "3 0 0 0", 0);
  assert_tensor (ir_run_value (first, c.flat->id), "float[4]", "0 0 6 7", 0);
}

static void
test_used_again (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Chain) c = { 0 };
  chain_init (&c, "float[2,3]");
  IrRunOptions options = { .n_threads = 1, .capture = IR_CAPTURE_ALL };
  g_autoptr (IrExecutable) executable = ir_executable_new (c.b.model, &options, &error);
  g_assert_no_error (error);
  IrRun *run = ir_executable_run (executable, c.inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  gconstpointer relu = ir_tensor_data (ir_run_value (run, c.relu->id));
  guint64 hash = ir_tensor_hash (ir_run_value (run, c.relu->id));
  g_assert_true (relu == ir_tensor_data (ir_run_value (run, c.flat->id)));
  ir_run_unref (run);
  inputs_add (c.inputs, c.x, tensor_of ("float[2,3]", "0 0 0 7 8 1"));
  run = ir_executable_run (executable, c.inputs, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (relu == ir_tensor_data (ir_run_value (run, c.relu->id)));
  g_assert_cmpuint (ir_tensor_hash (ir_run_value (run, c.relu->id)), !=, hash);
  ir_run_unref (run);
}

/* A file may declare a shape that holds for some contents of the inputs only. */
static void
test_unforeseen_shape (void)
{
  const struct
  {
    const char *shape, *type;
  } cases[] = { { "2 2", "float[2,2]" }, { "4 1", "float[4,1]" }, { "1 4", "float[1,4]" } };
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };

  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[4]"), *to = build_input (&b, "to", "int64[2]");
  IrValue *shaped = build_node (&b, NULL, "Reshape", 1, x, to, END)->outputs[0];
  IrValue *relu = build_node (&b, NULL, "Relu", 1, shaped, END)->outputs[0];
  IrValue *y = build_node (&b, NULL, "Neg", 1, relu, END)->outputs[0];
  build_output (&b, y);
  build_done (&b);
  const IrType *declared = ir_type_tensor (b.model->context, IR_DTYPE_FLOAT, 2, (IrDim[]){ 4, 1 });
  ir_edit_set_type (b.edit, shaped, declared);
  ir_edit_set_type (b.edit, relu, declared);
  ir_edit_set_type (b.edit, y, declared);
  g_autoptr (IrExecutable) executable = ir_executable_new (b.model, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 2 * G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GHashTable) inputs = inputs_new ();
      inputs_add (inputs, x, tensor_of ("float[4]", "1 -2 3 4"));
      inputs_add (inputs, to, tensor_of ("int64[2]", cases[i / 2].shape));
      g_autoptr (IrRun) run = ir_executable_run (executable, inputs, NULL, NULL, &error);
      g_assert_no_error (error);
      assert_tensor (ir_run_value (run, y->id), cases[i / 2].type, "-1 0 -3 -4", 0);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/run/a planned run equals evaluating node by node",
                   test_equals_direct_evaluation);
  g_test_add_func ("/run/symbols take the sizes of the inputs", test_symbolic_shapes);
  g_test_add_func ("/run/plans of shapes that come again are kept", test_shapes_in_turns);
  g_test_add_func ("/run/capturing all keeps every value", test_capture_all);
  g_test_add_func ("/run/capturing chosen values keeps these", test_capture_chosen);
  g_test_add_func ("/run/capturing statistics keeps no tensors", test_capture_stats);
  g_test_add_func ("/run/what a run keeps is not written over by the next", test_kept_runs);
  g_test_add_func ("/run/buffers that nobody holds are used again", test_used_again);
  g_test_add_func ("/run/shapes that inference did not foresee run all the same",
                   test_unforeseen_shape);
  g_test_add_func ("/run/limits on memory are kept", test_small_limits);
  g_test_add_func ("/run/captured values spill to a file", test_spill);
  g_test_add_func ("/run/cancelling stops between nodes", test_cancel);
  g_test_add_func ("/run/cancelling stops while a run is prepared", test_cancel_while_preparing);
  g_test_add_func ("/run/deterministic runs give the same bits at 1, 2 and 4 threads",
                   test_deterministic);
  g_test_add_func ("/run/deterministic runs of random graphs give the same bits at any number",
                   test_deterministic_random);
  g_test_add_func ("/run/a failing node is named and earlier values are there", test_failing_node);
  g_test_add_func ("/run/inputs that do not fit are refused", test_bad_inputs);
  g_test_add_func ("/run/equal symbols need equal sizes", test_equal_symbols);
  g_test_add_func ("/run/outputs may be inputs, constants and repeated", test_odd_outputs);
  g_test_add_func ("/run/an input with a default may be given or not", test_overridable_input);
  g_test_add_func ("/run/If runs the branch that its condition names", test_if);
  g_test_add_func ("/run/Loop carries values and stacks the others", test_loop);
  g_test_add_func ("/trace/the Chrome trace parses and has every node", test_trace_json);
  g_test_add_func ("/stats/statistics equal a naive computation", test_stats);
  g_test_add_func ("/stats/constant and empty tensors have statistics", test_stats_edges);
  return g_test_run ();
}
