/* Values in blocks of channels: random chains of convolutions, poolings, sums and the like agree
 * with the reference in every value between the nodes, whatever layout they are kept in. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/exec/memory/memory.h"
#include "tests/exec/graphs.h"

#include <math.h>
#include <string.h>

#define N_CHAINS 60

static gint64
size_of (const IrValue *value, guint axis)
{
  return value->type->dims[axis];
}

static IrValue *
random_constant (Builder *b, const char *name, GRand *rand, guint rank, const gint64 *dims)
{
  g_autoptr (GString) type = g_string_new ("float[");
  double n_summed = 1; /* so that sums stay as large as what is summed */
  IrTensor *tensor;

  for (guint i = 0; i < rank; i++)
    g_string_append_printf (type, "%s%" G_GINT64_FORMAT, i > 0 ? "," : "", dims[i]);
  g_string_append_c (type, ']');
  tensor = tensor_random (type->str, g_rand_int (rand));
  for (guint i = 1; i < rank; i++)
    n_summed *= (double) dims[i];
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    ((float *) ir_tensor_data_writable (tensor))[i] /= (float) sqrt (n_summed);
  return build_constant (b, name, tensor);
}

static gboolean
chance (GRand *rand, double probability)
{
  return g_rand_double (rand) < probability;
}

static IrValue *
add_conv (Builder *b, GRand *rand, IrValue *x, guint index)
{
  static const gint64 widths[] = { 1, 3, 8, 16, 20, 24, 32, 48, 80 };
  gint64 channels = size_of (x, 1), maps = widths[g_rand_int_range (rand, 0, 9)], group = 1;
  gint64 kernel = g_rand_int_range (rand, 1, 4), dilation = g_rand_int_range (rand, 1, 3);
  g_autofree char *name = g_strdup_printf ("w%u", index), *bias = g_strdup_printf ("b%u", index);
  IrValue *offset = NULL;

  if (chance (rand, 0.25))
    group = maps = channels; /* depthwise */
  else if (chance (rand, 0.3) && channels % 4 == 0)
    {
      group = 4;
      maps = (maps + 3) / 4 * 4;
    }
  gint64 dims[] = { maps, channels / group, kernel, kernel };
  IrValue *w = random_constant (b, name, rand, 4, dims);
  if (chance (rand, 0.7))
    offset = random_constant (b, bias, rand, 1, &maps);
  gboolean relu = chance (rand, 0.3);
  IrNode *conv = build_node (b, NULL, relu ? "irscope.ConvRelu" : "Conv", 1, x, w, offset, END);
  /* Nothing becomes empty on the way. */
  int tall = (int) ((kernel - 1) * dilation), wide = (int) kernel - 1;
  int more = g_rand_int_range (rand, 0, 2);
  build_ints (b, conv, "pads", 4, tall / 2 + more, wide - wide / 2, tall - tall / 2, wide / 2);
  build_ints (b, conv, "strides", 2, g_rand_int_range (rand, 1, 3), 1);
  build_ints (b, conv, "dilations", 2, (int) dilation, 1);
  build_int (b, conv, "group", group);
  return conv->outputs[0];
}

static IrValue *
add_pool (Builder *b, GRand *rand, IrValue *x, const char *op)
{
  IrNode *pool = build_node (b, NULL, op, 1, x, END);

  build_ints (b, pool, "kernel_shape", 2, 2, g_rand_int_range (rand, 2, 4));
  build_ints (b, pool, "pads", 4, 1, 1, 1, g_rand_int_range (rand, 0, 2));
  build_ints (b, pool, "strides", 2, g_rand_int_range (rand, 1, 3), g_rand_int_range (rand, 1, 4));
  return pool->outputs[0];
}

static IrValue *
add_batch_norm (Builder *b, GRand *rand, IrValue *x, guint index)
{
  gint64 channels = size_of (x, 1);
  IrValue *parts[4];

  for (guint i = 0; i < 4; i++)
    {
      g_autofree char *name = g_strdup_printf ("n%u_%u", index, i),
                      *type = g_strdup_printf ("float[%" G_GINT64_FORMAT "]", channels);
      parts[i] = i == 3 ? build_constant (b, name, tensor_of (type, "1 2 0.5"))
                        : random_constant (b, name, rand, 1, &channels);
    }
  return build_node (b, NULL, "BatchNormalization", 1, x, parts[0], parts[1], parts[2], parts[3],
                     END)
      ->outputs[0];
}

/* A scale for each channel, from the means of the channels. */
static IrValue *
add_gate (Builder *b, IrValue *x)
{
  IrNode *mean = build_node (b, NULL, "GlobalAveragePool", 1, x, END);
  IrNode *gate = build_node (b, NULL, "Sigmoid", 1, mean->outputs[0], END);

  return build_node (b, NULL, "Mul", 1, x, gate->outputs[0], END)->outputs[0];
}

/* The channels in another order, some of them twice. */
static IrValue *
add_gather (Builder *b, GRand *rand, IrValue *x, guint index)
{
  gint64 channels = size_of (x, 1), n = MAX (channels - 1 + g_rand_int_range (rand, 0, 3), 1);
  g_autofree char *name = g_strdup_printf ("o%u", index);
  g_autofree gint64 *order = g_new (gint64, n);

  for (gint64 i = 0; i < n; i++)
    order[i] = chance (rand, 0.7) ? i % 4 * channels / 4 + i / 4 % MAX (channels / 4, 1)
                                  : g_rand_int_range (rand, -(gint32) channels, (gint32) channels);
  IrNode *gather = build_node (b, NULL, "Gather", 1, x,
                               build_constant (b, name, ir_tensor_new_int64s (order, (guint64) n)),
                               END);
  build_int (b, gather, "axis", 1);
  return gather->outputs[0];
}

static IrValue *
add_some (Builder *b, GRand *rand, IrValue *x, guint index)
{
  IrValue *one = x;

  switch (g_rand_int_range (rand, 0, 11))
    {
    case 0:
      return add_pool (b, rand, x, "MaxPool");
    case 1:
      return add_pool (b, rand, x, "AveragePool");
    case 2:
      return build_node (b, NULL, "Relu", 1, x, END)->outputs[0];
    case 3:
      one = build_node (b, NULL, chance (rand, 0.5) ? "Sigmoid" : "Softplus", 1, x, END)
                ->outputs[0];
      return build_node (b, NULL, chance (rand, 0.5) ? "Add" : "Mul", 1, x, one, END)->outputs[0];
    case 4:
      return add_batch_norm (b, rand, x, index);
    case 5:
      {
        IrNode *concat = build_node (b, NULL, "Concat", 1, x, x, END);
        build_int (b, concat, "axis", 1);
        return concat->outputs[0];
      }
    case 6:
      return add_gate (b, x);
    case 7:
      return add_gather (b, rand, x, index);
    default:
      return add_conv (b, rand, x, index);
    }
}

static void
build_chain (Builder *b, GRand *rand, IrValue **input)
{
  builder_init (b, 17);
  *input = build_input (b, "x", chance (rand, 0.5) ? "float[1,3,11,9]" : "float[2,20,7,10]");
  IrValue *x = *input;
  ir_infer_model (b->edit, IR_INFER_DEFAULT, NULL);
  for (guint i = 0; i < 8 && size_of (x, 1) <= 160; i++)
    {
      x = i % 3 == 0 ? add_conv (b, rand, x, i) : add_some (b, rand, x, i);
      ir_infer_model (b->edit, IR_INFER_DEFAULT, NULL);
    }
  IrNode *flat = build_node (b, NULL, "Flatten", 1, x, END);
  build_output (b, flat->outputs[0]);
  build_done (b);
}

/* Errors of values add up along a chain: they are compared with the largest element. */
static void
assert_close (const IrTensor *found, const IrTensor *wanted, const char *name)
{
  const float *x = ir_tensor_data (found), *y = ir_tensor_data (wanted);
  double most = 0;

  g_assert_cmpuint (ir_tensor_rank (found), ==, ir_tensor_rank (wanted));
  g_assert_cmpmem (ir_tensor_dims (found), ir_tensor_rank (found) * sizeof (gint64),
                   ir_tensor_dims (wanted), ir_tensor_rank (wanted) * sizeof (gint64));
  for (guint64 i = 0; i < ir_tensor_n_elements (wanted); i++)
    if (isfinite (y[i]))
      most = MAX (most, fabs ((double) y[i]));
  for (guint64 i = 0; i < ir_tensor_n_elements (wanted); i++)
    if (isnan (y[i]) != isnan (x[i]) || fabs ((double) x[i] - y[i]) > 2e-5 * most)
      {
        g_test_message ("%s: element %" G_GUINT64_FORMAT " is %g and should be %g", name, i, x[i],
                        y[i]);
        g_test_fail ();
        return;
      }
}

static void
compare_values (const Builder *b, const IrRun *found, const IrRun *wanted)
{
  guint n_values;
  IrValue *const *values = ir_graph_values (b->model->main, &n_values);

  for (guint i = 0; i < n_values; i++)
    {
      const IrTensor *x = ir_run_value (found, values[i]->id),
                     *y = ir_run_value (wanted, values[i]->id);
      if (ir_value_constant (values[i]) != NULL)
        continue;
      g_assert_true (x != NULL && y != NULL);
      assert_close (x, y, values[i]->name);
    }
}

static void
test_chains (void)
{
  g_autoptr (GError) error = NULL;
  IrRunOptions cpu = { .backend = ir_backend_find ("cpu"),
                       .n_threads = 2,
                       .capture = IR_CAPTURE_ALL };
  IrRunOptions ref = { .backend = ir_backend_find ("ref"),
                       .n_threads = 1,
                       .capture = IR_CAPTURE_ALL };

  for (guint seed = 0; seed < N_CHAINS; seed++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      g_autoptr (GHashTable) inputs = inputs_new ();
      g_auto (Builder) b = { 0 };
      IrValue *x;

      build_chain (&b, rand, &x);
      g_autofree char *type = ir_type_to_string (b.model->context, x->type);
      inputs_add (inputs, x, tensor_random (type, seed));
      g_autoptr (IrExecutable) executable = ir_executable_new (b.model, &cpu, &error);
      g_assert_no_error (error);
      g_autoptr (IrRun) wanted = ir_model_run (b.model, inputs, &ref, NULL, &error);
      g_assert_no_error (error);
      /* Twice: the second run finds everything packed and placed. */
      for (guint round = 0; round < 2; round++)
        {
          g_autoptr (IrRun) found = ir_executable_run (executable, inputs, NULL, NULL, &error);
          g_assert_no_error (error);
          compare_values (&b, found, wanted);
        }
      if (g_test_failed ())
        {
          g_test_message ("chain %u", seed);
          return;
        }
    }
}

/* Nothing is captured, so everything lies in the arena and is overwritten in its turn. */
static void
test_threads (void)
{
  g_autoptr (GError) error = NULL;

  for (guint seed = 0; seed < N_CHAINS; seed++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      g_autoptr (GHashTable) inputs = inputs_new ();
      g_autoptr (IrRun) first = NULL;
      g_auto (Builder) b = { 0 };
      IrValue *x, *y;

      build_chain (&b, rand, &x);
      y = ir_graph_output (b.model->main, 0);
      g_autofree char *type = ir_type_to_string (b.model->context, x->type);
      inputs_add (inputs, x, tensor_random (type, seed));
      for (guint n_threads = 1; n_threads <= 4; n_threads *= 2)
        {
          IrRunOptions options = { .backend = ir_backend_find ("cpu"), .n_threads = n_threads };
          g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
          g_assert_no_error (error);
          if (first == NULL)
            first = g_steal_pointer (&run);
          else
            g_assert_true (
                ir_tensor_equal (ir_run_value (run, y->id), ir_run_value (first, y->id)));
        }
    }
}

/* Two convolutions of 20 channels, a Relu between them. */
static void
build_pair (Builder *b, IrValue **x, IrValue **between)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  gint64 first[] = { 20, 3, 3, 3 }, second[] = { 5, 20, 1, 1 };

  builder_init (b, 17);
  *x = build_input (b, "x", "float[1,3,8,8]");
  IrNode *one = build_node (b, NULL, "Conv", 1, *x, random_constant (b, "w1", rand, 4, first), END);
  IrNode *relu = build_node (b, NULL, "Relu", 1, one->outputs[0], END);
  *between = relu->outputs[0];
  IrNode *two = build_node (b, NULL, "Conv", 1, *between,
                            random_constant (b, "w2", rand, 4, second), END);
  build_output (b, two->outputs[0]);
  build_done (b);
}

/* Says in test_plan() whether the machine has kernels over blocks at all. */
static guint
block_of (const IrSchedule *schedule, const IrValue *value)
{
  guint block = ir_schedule_block (schedule, value);

  if (block == 0)
    g_test_skip ("no kernels over blocks for this machine");
  return block;
}

static void
test_plan (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  IrValue *x, *between;
  guint block;

  build_pair (&b, &x, &between);
  g_autoptr (IrSchedule) schedule = ir_schedule_new (b.model, ir_backend_find ("cpu"), 1, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (ir_schedule_block (schedule, x), ==, 0);
  g_assert_cmpuint (ir_schedule_block (schedule, ir_graph_output (b.model->main, 0)), ==, 0);
  if ((block = block_of (schedule, between)) == 0)
    return;
  g_autofree char *first = g_strdup_printf ("reads NCHW, writes NCHW%uc", block);
  g_autofree char *second = g_strdup_printf ("reads NCHW%uc, writes NCHW%uc", block, block);
  g_assert_cmpstr (g_array_index (schedule->items, IrScheduleItem, 0).layout, ==, first);
  g_assert_cmpstr (g_array_index (schedule->items, IrScheduleItem, 1).layout, ==, second);
  g_autoptr (IrMemPlan) plan = ir_mem_plan_new (b.model, schedule, 64);
  guint64 padded = (20 + block - 1) / block * block * 36 * sizeof (float);
  for (guint i = 0; i < plan->items->len; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      if (item->value == between->id)
        g_assert_cmpuint (item->size, ==, padded);
    }
  g_autoptr (IrSchedule) plain = ir_schedule_new (b.model, ir_backend_find ("ref"), 1, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (ir_schedule_block (plain, between), ==, 0);
}

/* The convolution in the middle, by each kernel that can be asked for. */
static void
test_wanted (void)
{
  static const char *const kernels[] = { "direct", "onednn", "ref" };
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = inputs_new ();
  g_autoptr (IrRun) first = NULL;
  IrRunOptions options = { .n_threads = 1 };
  g_auto (Builder) b = { 0 };
  IrValue *x, *between;

  build_pair (&b, &x, &between);
  inputs_add (inputs, x, tensor_random ("float[1,3,8,8]", 3));
  IrNode *node = between->producer;
  IrNode *conv = node->inputs[0]->producer;
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
    for (guint k = 0; k < 2; k++)
      {
        IrNode *asked = k == 0 ? conv : node; /* the Relu has but one kernel, and the reference */
        IrContext *context = b.model->context;
        const char *key = IR_META_KERNEL;
        const IrProps *props = ir_props_new (context, 1, &key, &kernels[i]);

        ir_edit_set_node_extra (b.edit, asked, ir_extra_new (context, NULL, props, NULL));
        g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
        g_assert_no_error (error);
        const char *kernel = g_array_index (run->schedule->items, IrScheduleItem, k).kernel;
        if (i == 2)
          g_assert_cmpstr (kernel, ==, "ref");
        else if (k == 0 && i == 1)
          g_assert_cmpstr (kernel, ==, "oneDNN convolution");
        IrValueId y = ir_graph_output (b.model->main, 0)->id;
        if (first == NULL)
          first = g_steal_pointer (&run);
        else
          assert_close (ir_run_value (run, y), ir_run_value (first, y), kernels[i]);
      }
}

static void
test_stats (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrRunOptions options = { .n_threads = 1, .capture = IR_CAPTURE_STATS };
  g_auto (Builder) b = { 0 };
  IrValue *x, *between;

  build_pair (&b, &x, &between);
  inputs_add (inputs, x, tensor_random ("float[1,3,8,8]", 3));
  g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  const IrTensorStats *stats = g_hash_table_lookup (run->stats, GUINT_TO_POINTER (between->id));
  g_assert_cmpuint (stats->n, ==, 20 * 36); /* and not what fills up the blocks */
}

static void
test_nan (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrRunOptions options = { .n_threads = 2 };
  g_auto (Builder) b = { 0 };
  IrTensor *tensor = tensor_random ("float[1,3,8,8]", 3);
  IrValue *x, *between;
  guint n_nan = 0;

  build_pair (&b, &x, &between);
  ((float *) ir_tensor_data_writable (tensor))[3 * 8 + 3] = NAN; /* under nine windows */
  inputs_add (inputs, x, tensor);
  g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  const IrTensor *y = ir_run_value (run, ir_graph_output (b.model->main, 0)->id);
  for (guint64 i = 0; i < ir_tensor_n_elements (y); i++)
    n_nan += isnan (((const float *) ir_tensor_data (y))[i]);
  g_assert_cmpuint (n_nan, ==, 5 * 9);
}

/* Groups that share blocks of channels, of sizes around those of a block; NaN and infinity in one
 * channel reach the maps of its own group only. */
static void
test_groups (void)
{
  static const gint64 sizes[][3] = { { 2, 20, 18 }, { 4, 34, 34 }, { 3, 7, 9 },  { 4, 6, 28 },
                                     { 5, 16, 8 },  { 2, 24, 48 }, { 3, 17, 17 } };
  static const char *const ops[] = { "Conv", "irscope.ConvRelu", "irscope.ConvSigmoid" };
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find ("cpu"), .n_threads = 2 };
  IrRunOptions ref = { .backend = ir_backend_find ("ref"), .n_threads = 1 };

  for (guint k = 0; k < G_N_ELEMENTS (sizes); k++)
    for (gint64 kernel = 1; kernel <= 3; kernel += 2)
      {
        gint64 groups = sizes[k][0], channels = sizes[k][1], maps = sizes[k][2];
        gint64 dims[] = { groups * maps, channels, kernel, kernel };
        g_autofree char *type = g_strdup_printf ("float[2,%d,7,6]", (int) (groups * channels));
        g_autoptr (GRand) rand = g_rand_new_with_seed (k);
        g_autoptr (GHashTable) inputs = inputs_new ();
        g_auto (Builder) b = { 0 };
        IrTensor *tensor = tensor_random (type, k);
        float *places = ir_tensor_data_writable (tensor);

        builder_init (&b, 17);
        IrValue *x = build_input (&b, "x", type);
        IrNode *conv = build_node (&b, NULL, ops[k % 3], 1, x,
                                   random_constant (&b, "w", rand, 4, dims),
                                   random_constant (&b, "b", rand, 1, dims), END);
        build_int (&b, conv, "group", groups);
        build_ints (&b, conv, "pads", 4, (int) kernel / 2, 0, 1, (int) kernel - 1);
        build_output (&b, conv->outputs[0]);
        build_done (&b);
        places[(channels - 1) * 42 + 8] = NAN; /* the last channel of the first group */
        places[channels * 42 + 30] = INFINITY; /* the first of the second */
        inputs_add (inputs, x, tensor);
        g_autoptr (IrRun) found = ir_model_run (b.model, inputs, &options, NULL, &error);
        g_assert_no_error (error);
        g_autoptr (IrRun) wanted = ir_model_run (b.model, inputs, &ref, NULL, &error);
        g_assert_no_error (error);
        assert_close (ir_run_value (found, conv->outputs[0]->id),
                      ir_run_value (wanted, conv->outputs[0]->id), type);
      }
}

/* Depthwise windows that have kernels of their own, and others, over edges on all sides. */
static void
test_depthwise (void)
{
  static const char *const ops[] = { "Conv", "irscope.ConvRelu", "irscope.ConvSilu",
                                     "irscope.ConvAdd" };
  static const gint64 sizes[][2] = { { 7, 7 }, { 14, 15 }, { 3, 2 }, { 29, 1 }, { 5, 33 } };
  IrRunOptions options = { .backend = ir_backend_find ("cpu"), .n_threads = 2 };
  IrRunOptions ref = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  g_autoptr (GError) error = NULL;

  for (guint k = 0; k < G_N_ELEMENTS (sizes) * 4 * 2; k++)
    {
      const gint64 *size = sizes[k % G_N_ELEMENTS (sizes)];
      gint64 window = 2 + k / G_N_ELEMENTS (sizes) % 4, stride = 1 + k / 20, channels = 21;
      gint64 low = window / 2, high = k % 2 == 0 ? low : (window - 1) / 2 + 1;
      gint64 dims[] = { channels, 1, window, window };
      gint64 out[] = { 2, channels, (size[0] + low + high - window) / stride + 1,
                       (size[1] + low + high - window) / stride + 1 };
      const char *op = ops[k % G_N_ELEMENTS (ops)];
      g_autofree char *type = g_strdup_printf ("float[2,%d,%d,%d]", (int) channels, (int) size[0],
                                               (int) size[1]);
      g_autoptr (GRand) rand = g_rand_new_with_seed (k);
      g_autoptr (GHashTable) inputs = inputs_new ();
      g_auto (Builder) b = { 0 };
      IrTensor *tensor = tensor_random (type, k);

      builder_init (&b, 17);
      IrValue *x = build_input (&b, "x", type);
      IrValue *w = random_constant (&b, "w", rand, 4, dims),
              *bias = random_constant (&b, "b", rand, 1, dims);
      IrNode *conv = strcmp (op, "irscope.ConvAdd") == 0
                         ? build_node (&b, NULL, op, 1, x, w, bias,
                                       random_constant (&b, "z", rand, 4, out), END)
                         : build_node (&b, NULL, op, 1, x, w, bias, END);
      build_int (&b, conv, "group", channels);
      build_ints (&b, conv, "strides", 2, (int) stride, (int) stride);
      build_ints (&b, conv, "pads", 4, (int) low, (int) low, (int) high, (int) high);
      build_output (&b, conv->outputs[0]);
      build_done (&b);
      ((float *) ir_tensor_data_writable (tensor))[size[0] * size[1]] = k % 3 ? 1 : NAN;
      inputs_add (inputs, x, tensor);
      g_autoptr (IrRun) found = ir_model_run (b.model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      g_autoptr (IrRun) wanted = ir_model_run (b.model, inputs, &ref, NULL, &error);
      g_assert_no_error (error);
      assert_close (ir_run_value (found, conv->outputs[0]->id),
                    ir_run_value (wanted, conv->outputs[0]->id), type);
    }
}

/* Rows of windows that share columns, with a NaN under some of them, which stays. */
static void
test_pools (void)
{
  static const int strides[] = { 1, 2, 3 }, widths[] = { 2, 3, 5 };
  IrRunOptions options = { .backend = ir_backend_find ("cpu"), .n_threads = 2 };
  IrRunOptions ref = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  g_autoptr (GError) error = NULL;

  for (guint k = 0; k < 36; k++)
    {
      gboolean average = k >= 18;
      g_autoptr (GRand) rand = g_rand_new_with_seed (k);
      g_autoptr (GHashTable) inputs = inputs_new ();
      g_auto (Builder) b = { 0 };
      IrTensor *tensor = tensor_random ("float[1,20,9,13]", k);
      gint64 dims[] = { 20, 20, 1, 1 };

      builder_init (&b, 17);
      IrValue *x = build_input (&b, "x", "float[1,20,9,13]");
      IrNode *conv = build_node (&b, NULL, "Conv", 1, x, random_constant (&b, "w", rand, 4, dims),
                                 END);
      IrNode *pool = build_node (&b, NULL, average ? "AveragePool" : "MaxPool", 1, conv->outputs[0],
                                 END);
      build_ints (&b, pool, "kernel_shape", 2, 3, widths[k % 3]);
      build_ints (&b, pool, "strides", 2, strides[k / 6 % 3], strides[k / 3 % 3]);
      if (average)
        build_int (&b, pool, "count_include_pad", k / 3 % 2);
      build_ints (&b, pool, "pads", 4, 1, (int) k % 2, 0, 1);
      build_output (&b, pool->outputs[0]);
      build_done (&b);
      ((float *) ir_tensor_data_writable (tensor))[3 * 13 + 4] = NAN;
      ((float *) ir_tensor_data_writable (tensor))[8 * 13 + 12] = -INFINITY;
      inputs_add (inputs, x, tensor);
      g_autoptr (IrRun) found = ir_model_run (b.model, inputs, &options, NULL, &error);
      g_assert_no_error (error);
      g_autoptr (IrRun) wanted = ir_model_run (b.model, inputs, &ref, NULL, &error);
      g_assert_no_error (error);
      assert_close (ir_run_value (found, pool->outputs[0]->id),
                    ir_run_value (wanted, pool->outputs[0]->id), "pool");
    }
}

static IrNode *
build_three (Builder *b, const gint64 *size, const char *op, IrValue **x)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed ((guint32) (size[1] * size[2]));
  gint64 dims[] = { size[4], size[1], 3, 3 };
  gint64 out[] = { size[0], size[4], size[2] + size[5] + size[6] - 2,
                   size[3] + size[7] + size[5] - 2 };
  g_autofree char *type = g_strdup_printf ("float[%d,%d,%d,%d]", (int) size[0], (int) size[1],
                                           (int) size[2], (int) size[3]);
  gboolean adds = strstr (op, "Add") != NULL;

  builder_init (b, 17);
  *x = build_input (b, "x", type);
  IrValue *w = random_constant (b, "w", rand, 4, dims),
          *bias = random_constant (b, "b", rand, 1, dims);
  IrNode *conv = adds ? build_node (b, NULL, op, 1, *x, w, bias,
                                    random_constant (b, "z", rand, 4, out), END)
                      : build_node (b, NULL, op, 1, *x, w, bias, END);
  build_ints (b, conv, "pads", 4, (int) size[5], (int) size[7], (int) size[6], (int) size[5]);
  build_output (b, conv->outputs[0]);
  build_done (b);
  return conv;
}

/* Products of Winograd against the reference, which sums in double: sizes that are no multiples of
 * tiles and blocks, uneven pads, all that may follow, at any number of threads; and as the direct
 * convolution has it where something is not finite. */
static void
test_winograd (void)
{
  /* batch, channels, height, width, maps, then pads: top and right, bottom, left */
  static const gint64 sizes[][8] = { { 1, 16, 8, 8, 16, 1, 1, 1 },  { 2, 20, 7, 9, 24, 1, 1, 1 },
                                     { 1, 5, 3, 3, 1, 1, 1, 1 },    { 1, 32, 4, 5, 80, 0, 0, 0 },
                                     { 3, 40, 13, 6, 33, 2, 0, 1 }, { 1, 130, 14, 14, 70, 1, 1, 1 },
                                     { 1, 17, 30, 29, 16, 0, 2, 1 } };
  static const char *const ops[] = { "Conv", "irscope.ConvRelu", "irscope.ConvSigmoid",
                                     "irscope.ConvAddRelu", "irscope.ConvAdd" };
  IrRunOptions ref = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  g_autoptr (GError) error = NULL;

  for (guint k = 0; k < G_N_ELEMENTS (sizes); k++)
    for (guint finite = 0; finite < 2; finite++)
      {
        g_autoptr (GHashTable) inputs = inputs_new ();
        g_autoptr (IrRun) first = NULL;
        g_auto (Builder) b = { 0 };
        IrValue *x;
        IrNode *conv = build_three (&b, sizes[k], ops[k % G_N_ELEMENTS (ops)], &x);
        g_autofree char *type = ir_type_to_string (b.model->context, x->type);
        IrTensor *tensor = tensor_random (type, k);
        const char *key = IR_META_KERNEL, *kernel = "winograd";
        const IrProps *props = ir_props_new (b.model->context, 1, &key, &kernel);

        if (!finite)
          ((float *) ir_tensor_data_writable (tensor))[sizes[k][3] + 1] = k % 2 ? NAN : INFINITY;
        inputs_add (inputs, x, tensor);
        ir_edit_set_node_extra (b.edit, conv, ir_extra_new (b.model->context, NULL, props, NULL));
        g_autoptr (IrRun) wanted = ir_model_run (b.model, inputs, &ref, NULL, &error);
        g_assert_no_error (error);
        for (guint n_threads = 1; n_threads <= 4; n_threads *= 2)
          {
            IrRunOptions options = { .backend = ir_backend_find ("cpu"), .n_threads = n_threads };
            g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
            IrValueId y = conv->outputs[0]->id;

            g_assert_no_error (error);
            assert_close (ir_run_value (run, y), ir_run_value (wanted, y), type);
            if (first == NULL)
              first = g_steal_pointer (&run);
            else
              g_assert_true (ir_tensor_equal (ir_run_value (run, y), ir_run_value (first, y)));
          }
      }
}

static const char *
kernel_of_three (const gint64 *size, const char *kernel)
{
  const char *key = IR_META_KERNEL, *found;
  g_auto (Builder) b = { 0 };
  IrValue *x;
  IrNode *conv = build_three (&b, size, "Conv", &x);

  if (kernel != NULL)
    ir_edit_set_node_extra (b.edit, conv,
                            ir_extra_new (b.model->context, NULL,
                                          ir_props_new (b.model->context, 1, &key, &kernel), NULL));
  g_autoptr (IrSchedule) schedule = ir_schedule_new (b.model, ir_backend_find ("cpu"), 1, NULL);
  found = g_array_index (schedule->items, IrScheduleItem, 0).kernel;
  return found;
}

static void
test_choice (void)
{
  static const gint64 large[] = { 1, 64, 56, 56, 64, 1, 1, 1 },
                      small[] = { 1, 8, 6, 6, 8, 1, 1, 1 };

  if (g_str_has_prefix (kernel_of_three (large, NULL), "oneDNN"))
    {
      g_test_skip ("no kernels over blocks for this machine");
      return;
    }
  g_assert_cmpstr (kernel_of_three (large, NULL), ==, "Winograd convolution");
  g_assert_cmpstr (kernel_of_three (large, "direct"), ==, "direct convolution");
  g_assert_cmpstr (kernel_of_three (small, NULL), ==, "direct convolution");
  g_assert_cmpstr (kernel_of_three (small, "winograd"), ==, "Winograd convolution");
}

static void
test_there_and_back (void)
{
  static const gint64 sizes[][4] = {
    { 1, 16, 9, 16 }, { 2, 20, 7, 16 }, { 3, 5, 1, 8 }, { 1, 3, 101, 4 }
  };

  for (guint k = 0; k < G_N_ELEMENTS (sizes); k++)
    {
      const gint64 *s = sizes[k];
      gint64 n = s[0] * s[1] * s[2], filled = s[0] * ((s[1] + s[3] - 1) / s[3]) * s[3] * s[2];
      g_autofree float *plain = g_new (float, n), *back = g_new0 (float, n);
      g_autofree float *blocks = g_new (float, filled);

      for (gint64 i = 0; i < n; i++)
        plain[i] = (float) (i + 1);
      ir_nchwc_from_plain (plain, blocks, s[0], s[1], s[2], s[3], 2);
      g_assert_cmpfloat (blocks[s[3]], ==, s[2] > 1 ? 2 : blocks[s[3]]); /* the next pixel */
      ir_nchwc_to_plain (blocks, back, s[0], s[1], s[2], s[3], 2);
      g_assert_cmpmem (back, (gsize) n * sizeof *back, plain, (gsize) n * sizeof *plain);
    }
}

/* Large planes are cut. */
static void
test_large_planes (void)
{
  const gint64 channels = 24, plane = 300000, filled = 32 * plane;
  g_autofree float *plain = g_new0 (float, channels *plane), *blocks = g_new0 (float, filled);
  g_autofree float *back = g_new0 (float, channels *plane);

  for (gint64 i = 0; i < channels * plane; i++)
    plain[i] = (float) (i % 10007);
  for (int n_threads = 1; n_threads <= 2; n_threads++)
    {
      ir_nchwc_from_plain (plain, blocks, 1, channels, plane, 16, n_threads);
      ir_nchwc_to_plain (blocks, back, 1, channels, plane, 16, n_threads);
      g_assert_cmpmem (back, (gsize) (channels * plane) * sizeof *back, plain,
                       (gsize) (channels * plane) * sizeof *plain);
    }
}

/* Convolutions that are large enough for several threads, which share their pixels or their maps:
 * same bits for any number of threads, and as the reference has them. */
static void
test_sharing (void)
{
  /* batch, groups, channels and maps of one, height (one less than the width), window, step */
  static const gint64 sizes[][7] = {
    { 1, 1, 16, 96, 48, 1, 1 }, { 1, 1, 96, 16, 48, 1, 1 },  { 3, 1, 20, 24, 31, 1, 1 },
    { 1, 1, 192, 80, 7, 1, 1 }, { 2, 1, 160, 200, 6, 1, 1 }, { 1, 1, 40, 40, 20, 3, 2 },
    { 1, 1, 3, 32, 60, 3, 2 },  { 1, 2, 48, 72, 17, 1, 1 },  { 1, 40, 1, 1, 64, 3, 1 },
    { 2, 200, 1, 1, 15, 3, 1 }, { 1, 320, 1, 1, 15, 5, 2 },  { 1, 96, 1, 1, 40, 4, 1 },
  };
  static const char *const ops[] = { "Conv", "irscope.ConvRelu", "irscope.ConvSilu" };
  IrRunOptions ref = { .backend = ir_backend_find ("ref"), .n_threads = 1 };
  g_autoptr (GError) error = NULL;

  for (guint k = 0; k < G_N_ELEMENTS (sizes); k++)
    {
      const gint64 *s = sizes[k];
      gint64 dims[] = { s[1] * s[3], s[2], s[5], s[5] };
      g_autofree char *type = g_strdup_printf ("float[%d,%d,%d,%d]", (int) s[0],
                                               (int) (s[1] * s[2]), (int) s[4], (int) s[4] + 1);
      g_autoptr (GRand) rand = g_rand_new_with_seed (k);
      g_autoptr (GHashTable) inputs = inputs_new ();
      g_autoptr (IrRun) first = NULL;
      g_auto (Builder) b = { 0 };

      builder_init (&b, 17);
      IrValue *x = build_input (&b, "x", type);
      IrNode *conv = build_node (&b, NULL, ops[k % G_N_ELEMENTS (ops)], 1, x,
                                 random_constant (&b, "w", rand, 4, dims),
                                 random_constant (&b, "b", rand, 1, dims), END);
      build_int (&b, conv, "group", s[1]);
      build_ints (&b, conv, "strides", 2, (int) s[6], (int) s[6]);
      build_ints (&b, conv, "pads", 4, (int) s[5] / 2, 0, 0, (int) s[5] / 2);
      build_output (&b, conv->outputs[0]);
      build_done (&b);
      inputs_add (inputs, x, tensor_random (type, k));
      g_autoptr (IrRun) wanted = ir_model_run (b.model, inputs, &ref, NULL, &error);
      g_assert_no_error (error);
      for (guint i = 0; i < 6; i++)
        {
          IrRunOptions options = { .backend = ir_backend_find ("cpu"),
                                   .n_threads = 1 + i % 4,
                                   .deterministic = i >= 4 };
          IrValueId y = conv->outputs[0]->id;
          g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);

          g_assert_no_error (error);
          assert_close (ir_run_value (run, y), ir_run_value (wanted, y), type);
          if (first == NULL)
            first = g_steal_pointer (&run);
          else
            g_assert_true (ir_tensor_equal (ir_run_value (run, y), ir_run_value (first, y)));
        }
    }
}

/* What takes long on oneDNN is cut along its longest axis: with pads, steps and distances of any
 * size, as the direct convolution has it in one piece. */
static void
test_cuts (void)
{
  /* height, width, window; then pads above, left, below, right; step, distance of taps, groups */
  static const gint64 sizes[][10] = { { 900, 300, 3, 1, 1, 1, 1, 1, 1, 1 },
                                      { 310, 1000, 3, 2, 2, 0, 1, 1, 3, 1 },
                                      { 1900, 701, 3, 0, 1, 1, 0, 2, 1, 1 },
                                      { 500, 700, 2, 1, 0, 0, 1, 1, 2, 2 } };
  static const char *const kernels[] = { "direct", "onednn" };
  g_autoptr (GError) error = NULL;

  if (cpu_lanes () == 0)
    {
      g_test_skip ("no kernels over blocks for this machine");
      return;
    }
  for (guint k = 0; k < G_N_ELEMENTS (sizes); k++)
    {
      const gint64 *s = sizes[k];
      gint64 dims[] = { 8 * s[9], 60, s[2], s[2] };
      g_autofree char *type = g_strdup_printf ("float[1,%d,%d,%d]", (int) (60 * s[9]), (int) s[0],
                                               (int) s[1]);
      g_autoptr (GRand) rand = g_rand_new_with_seed (k);
      g_autoptr (GHashTable) inputs = inputs_new ();
      g_autoptr (IrRun) first = NULL;
      g_auto (Builder) b = { 0 };

      builder_init (&b, 17);
      IrValue *x = build_input (&b, "x", type);
      IrNode *conv = build_node (&b, NULL, "Conv", 1, x, random_constant (&b, "w", rand, 4, dims),
                                 random_constant (&b, "b", rand, 1, dims), END);
      build_ints (&b, conv, "pads", 4, (int) s[3], (int) s[4], (int) s[5], (int) s[6]);
      build_ints (&b, conv, "strides", 2, (int) s[7], (int) s[7]);
      build_ints (&b, conv, "dilations", 2, (int) s[8], (int) s[8]);
      build_int (&b, conv, "group", s[9]);
      build_output (&b, conv->outputs[0]);
      build_done (&b);
      inputs_add (inputs, x, tensor_random (type, k));
      for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
        {
          IrRunOptions options = { .backend = ir_backend_find ("cpu"), .n_threads = 2 };
          const char *key = IR_META_KERNEL;
          const IrProps *props = ir_props_new (b.model->context, 1, &key, &kernels[i]);
          IrValueId y = conv->outputs[0]->id;

          ir_edit_set_node_extra (b.edit, conv, ir_extra_new (b.model->context, NULL, props, NULL));
          g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
          g_assert_no_error (error);
          if (first == NULL)
            first = g_steal_pointer (&run);
          else
            assert_close (ir_run_value (run, y), ir_run_value (first, y), type);
        }
    }
}

static const IrMemItem *
item_of (const IrMemPlan *plan, const IrValue *value)
{
  for (guint i = 0; i < plan->items->len; i++)
    if (g_array_index (plan->items, IrMemItem, i).value == value->id)
      return &g_array_index (plan->items, IrMemItem, i);
  return NULL;
}

typedef struct
{
  const char *op, *kernel;
  gint64 groups, channels, maps, size, window;
  gboolean plain, finite; /* operands; weights */
  gboolean in_place;
} Sum;

/* A convolution of x, to which -z is added, or minus a convolution of it. */
static void
build_sum (Builder *b, const Sum *sum, IrValue **x, IrValue **z, IrNode **conv, IrNode **add)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  gint64 dims[] = { sum->groups * sum->maps, sum->channels, sum->window, sum->window };
  gint64 one[] = { dims[0], dims[0], 1, 1 };
  g_autofree char *type = g_strdup_printf ("float[2,%d,%d,%d]", (int) (sum->groups * sum->channels),
                                           (int) sum->size, (int) sum->size);
  g_autofree char *out = g_strdup_printf ("float[2,%d,%d,%d]", (int) dims[0], (int) sum->size,
                                          (int) sum->size);

  builder_init (b, 17);
  *x = build_input (b, "x", type);
  *z = build_input (b, "z", out);
  IrValue *w = random_constant (b, "w", rand, 4, dims), *first = *z;
  if (!sum->finite)
    ((float *) ir_tensor_data_writable ((IrTensor *) ir_value_constant (w)))[3] = INFINITY;
  if (!sum->plain)
    first = build_node (b, NULL, "Conv", 1, *z, random_constant (b, "v", rand, 4, one), END)
                ->outputs[0];
  *add = build_node (b, NULL, "Neg", 1, first, END);
  *conv = build_node (b, NULL, sum->op, 1, *x, w, random_constant (b, "b", rand, 1, dims),
                      (*add)->outputs[0], END);
  build_int (b, *conv, "group", sum->groups);
  build_ints (b, *conv, "pads", 4, (int) sum->window / 2, (int) sum->window / 2,
              (int) sum->window / 2, (int) sum->window / 2);
  IrNode *last = build_node (b, NULL, sum->plain ? "Transpose" : "Abs", 1, (*conv)->outputs[0],
                             END);
  if (!sum->plain)
    last = build_node (b, NULL, "Conv", 1, last->outputs[0], random_constant (b, "u", rand, 4, one),
                       END);
  build_output (b, last->outputs[0]);
  build_done (b);
}

/* The output of a convolution over what is added to it: as the schedule's kernel allows, and with
 * the bits of a run that keeps all values, in which nothing is written over. */
static void
test_sums_in_place (void)
{
  static const Sum sums[] = {
    { "irscope.ConvAdd", NULL, 1, 300, 90, 9, 1, FALSE, TRUE, TRUE },
    { "irscope.ConvAddRelu", NULL, 1, 200, 40, 30, 1, FALSE, TRUE, TRUE },
    { "irscope.ConvAddSigmoid", NULL, 1, 130, 64, 8, 3, FALSE, TRUE, TRUE },
    { "irscope.ConvAddRelu", NULL, 70, 1, 1, 20, 3, FALSE, TRUE, TRUE },
    { "irscope.ConvAddRelu", NULL, 2, 100, 32, 9, 1, FALSE, TRUE, TRUE },
    { "irscope.ConvAddRelu", NULL, 2, 100, 20, 9, 1, FALSE, TRUE, FALSE },
    { "irscope.ConvAdd", "onednn", 1, 40, 40, 9, 1, FALSE, TRUE, FALSE },
    { "irscope.ConvAdd", "winograd", 1, 40, 40, 9, 3, FALSE, TRUE, FALSE },
    { "irscope.ConvAdd", "ref", 1, 40, 40, 9, 1, FALSE, TRUE, FALSE },
    { "irscope.ConvAddRelu", NULL, 1, 300, 90, 9, 1, TRUE, TRUE, TRUE },
    { "irscope.ConvAddRelu", NULL, 1, 300, 90, 9, 1, TRUE, FALSE, TRUE },
    { "irscope.ConvAddRelu", NULL, 1, 300, 90, 9, 1, FALSE, FALSE, TRUE },
  };
  g_autoptr (GError) error = NULL;

  if (cpu_lanes () == 0)
    {
      g_test_skip ("no kernels over blocks for this machine");
      return;
    }
  for (guint k = 0; k < G_N_ELEMENTS (sums); k++)
    {
      const Sum *sum = &sums[k];
      g_autoptr (GHashTable) inputs = inputs_new ();
      g_auto (Builder) b = { 0 };
      IrNode *conv, *add;
      IrValue *x, *z;

      build_sum (&b, sum, &x, &z, &conv, &add);
      g_autofree char *x_type = ir_type_to_string (b.model->context, x->type),
                      *z_type = ir_type_to_string (b.model->context, z->type);
      if (sum->kernel != NULL)
        {
          const char *key = IR_META_KERNEL;
          const IrProps *props = ir_props_new (b.model->context, 1, &key, &sum->kernel);
          ir_edit_set_node_extra (b.edit, conv, ir_extra_new (b.model->context, NULL, props, NULL));
        }
      inputs_add (inputs, x, tensor_random (x_type, k));
      inputs_add (inputs, z, tensor_random (z_type, k + 50));
      for (guint n_threads = 1; n_threads <= 3; n_threads++)
        {
          IrRunOptions options = { .backend = ir_backend_find ("cpu"), .n_threads = n_threads };
          IrRunOptions kept = options;
          IrValueId y = ir_graph_output (b.model->main, 0)->id;

          kept.capture = IR_CAPTURE_ALL;
          g_autoptr (IrRun) run = ir_model_run (b.model, inputs, &options, NULL, &error);
          g_assert_no_error (error);
          g_autoptr (IrRun) apart = ir_model_run (b.model, inputs, &kept, NULL, &error);
          g_assert_no_error (error);
          g_autoptr (IrMemPlan) plan = ir_mem_plan_new (b.model, run->schedule, 64);
          IrValueId over = item_of (plan, conv->outputs[0])->over;
          g_assert_cmpuint (over, ==, sum->in_place ? add->outputs[0]->id : 0);
          const IrTensor *found = ir_run_value (run, y), *wanted = ir_run_value (apart, y);
          g_assert_cmpmem (ir_tensor_data (found), ir_tensor_n_bytes (found),
                           ir_tensor_data (wanted), ir_tensor_n_bytes (wanted));
        }
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/blocks/values come back in order", test_there_and_back);
  g_test_add_func ("/blocks/bringing large values in order stops when it is told to",
                   test_large_planes);
  g_test_add_func ("/blocks/every value of random chains agrees with the reference", test_chains);
  g_test_add_func ("/blocks/results do not depend on the number of threads", test_threads);
  g_test_add_func ("/blocks/the plan says what is in blocks, and what that takes", test_plan);
  g_test_add_func ("/blocks/a node is run by the kernel that it asks for", test_wanted);
  g_test_add_func ("/blocks/statistics are of the graph's elements", test_stats);
  g_test_add_func ("/blocks/a NaN stays one", test_nan);
  g_test_add_func ("/blocks/depthwise windows of any size agree with the reference",
                   test_depthwise);
  g_test_add_func ("/blocks/threads share pixels or maps, and give the same bits", test_sharing);
  g_test_add_func ("/blocks/sums are written over what is added, where the kernel allows it",
                   test_sums_in_place);
  g_test_add_func ("/blocks/long convolutions on oneDNN are cut along an axis", test_cuts);
  g_test_add_func ("/blocks/poolings of rows agree with the reference", test_pools);
  g_test_add_func ("/blocks/convolutions by Winograd agree with the reference", test_winograd);
  g_test_add_func ("/blocks/Winograd is taken where it is worth it, or asked for", test_choice);
  g_test_add_func ("/blocks/groups may share blocks, and keep what is not finite to themselves",
                   test_groups);
  return g_test_run ();
}
