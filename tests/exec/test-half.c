/* Float16 and bfloat16 on the CPU: conversions of every code, and kernels in float32 for networks of 16
 * bits. That they agree with the reference, operator by operator, is held by tests/fuzz. */
#include "config.h"

#include "core/exec/kernel/half.h"
#include "core/exec/kernel/prepack.h"
#include "tests/exec/graphs.h"

#include <math.h>
#include <string.h>

/* -- conversions -- */

typedef struct
{
  IrDtype dtype;
  gboolean plain;
} Loops;

static float
float_of (IrDtype dtype, guint16 code)
{
  return dtype == IR_DTYPE_FLOAT16 ? ir_float16_to_float (code) : ir_bfloat16_to_float (code);
}

static guint16
code_of (IrDtype dtype, float value)
{
  return dtype == IR_DTYPE_FLOAT16 ? ir_float16_from_float (value) : ir_bfloat16_from_float (value);
}

static void
assert_same (float found, float wanted)
{
  if (isnan (wanted))
    g_assert_true (isnan (found));
  else
    g_assert_cmpmem (&found, sizeof found, &wanted, sizeof wanted);
}

static void
test_every_code (gconstpointer data)
{
  const Loops *which = data;
  IrHalfLoops loops = ir_half_loops (which->dtype, which->plain);
  g_autofree guint8 *codes = g_malloc (2 * 65536 + 1);
  g_autofree float *values = g_new (float, 65536);

  for (guint i = 0; i < 65536; i++)
    memcpy (codes + 1 + 2 * i, &(guint16){ (guint16) i }, 2); /* as files have them */
  loops.widen ((const IrHalf *) (codes + 1), values, 65536);
  for (guint i = 0; i < 65536; i++)
    assert_same (values[i], float_of (which->dtype, (guint16) i));
}

/* Each value that a code has, and those beside it: between two codes, and at the least distance from
 * there. */
static void
test_rounding (gconstpointer data)
{
  const Loops *which = data;
  IrHalfLoops loops = ir_half_loops (which->dtype, which->plain);
  enum
  {
    AROUND = 5
  };
  g_autofree float *values = g_new (float, 65536 * AROUND);
  g_autofree guint16 *codes = g_new (guint16, 65536 * AROUND);

  for (guint i = 0; i < 65536; i++)
    {
      float value = float_of (which->dtype, (guint16) i),
            next = float_of (which->dtype, (guint16) (i + 1));
      float middle = value + (next - value) / 2;
      float all[AROUND] = { value, middle, nextafterf (middle, 0), nextafterf (middle, INFINITY),
                            -middle };
      memcpy (values + AROUND * i, all, sizeof all);
    }
  loops.narrow (values, codes, 65536 * AROUND - 3); /* no whole number of vectors */
  for (guint i = 0; i < 65536 * AROUND - 3; i++)
    assert_same (float_of (which->dtype, codes[i]),
                 float_of (which->dtype, code_of (which->dtype, values[i])));
}

/* -- networks -- */

static IrTensor *
half_random (const char *type, IrDtype dtype, guint seed)
{
  g_autoptr (IrTensor) tensor = tensor_random (type, seed);

  return ir_tensor_cast (tensor, dtype);
}

/* A convolution, a normalization, a product and what lies between. */
static IrValue *
build_network (Builder *b, IrDtype dtype, IrValue **x)
{
  g_autofree char *type = g_strdup_printf ("%s[N,3,16,16]", ir_dtype_name (dtype));

  builder_init (b, 20);
  *x = build_input (b, "x", type);
  IrNode *conv = build_node (b, NULL, "Conv", 1, *x,
                             build_constant (b, "w", half_random ("float[16,3,3,3]", dtype, 1)),
                             build_constant (b, "c", half_random ("float[16]", dtype, 2)), END);
  IrNode *relu = build_node (b, NULL, "Relu", 1, conv->outputs[0], END);
  IrNode *pool = build_node (b, NULL, "MaxPool", 1, relu->outputs[0], END);
  build_ints (b, pool, "kernel_shape", 2, 2, 2);
  IrNode *mean = build_node (b, NULL, "GlobalAveragePool", 1, pool->outputs[0], END);
  IrNode *flat = build_node (b, NULL, "Flatten", 1, mean->outputs[0], END);
  IrNode *norm = build_node (b, NULL, "LayerNormalization", 1, flat->outputs[0],
                             build_constant (b, "s", half_random ("float[16]", dtype, 3)), END);
  IrNode *product = build_node (b, NULL, "MatMul", 1, norm->outputs[0],
                                build_constant (b, "m", half_random ("float[16,10]", dtype, 4)),
                                END);
  IrNode *softmax = build_node (b, NULL, "Softmax", 1, product->outputs[0], END);
  build_output (b, softmax->outputs[0]);
  build_done (b);
  return softmax->outputs[0];
}

static IrRun *
run_on (IrModel *model, const char *device, const IrValue *x, IrDtype dtype, guint without)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GHashTable) inputs = inputs_new ();
  IrRunOptions options = { .backend = ir_backend_find (device),
                           .n_threads = 2,
                           .without = without };

  inputs_add (inputs, x, half_random ("float[2,3,16,16]", dtype, 5));
  IrRun *run = ir_model_run (model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  return run;
}

static void
test_network (gconstpointer data)
{
  IrDtype dtype = GPOINTER_TO_INT (data);
  g_auto (Builder) b = { 0 };
  IrValue *x, *y = build_network (&b, dtype, &x);
  g_autoptr (IrRun) ref = run_on (b.model, "ref", x, dtype, 0);
  g_autoptr (IrRun) cpu = run_on (b.model, "cpu", x, dtype, 0);
  g_autoptr (IrRun) unpacked = run_on (b.model, "cpu", x, dtype, IR_DECISION_PREPACK);
  const IrTensor *wanted = ir_run_value (ref, y->id), *found = ir_run_value (cpu, y->id);

  for (guint i = 0; i < cpu->trace->items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (cpu->trace->items, IrTraceItem, i);
      g_assert_cmpstr (item->device, ==, "cpu");
      g_assert_false (item->by_ref);
    }
  g_assert_true (ir_tensor_dtype (found) == dtype);
  g_assert_true (ir_tensor_equal (found, ir_run_value (unpacked, y->id)));
  for (guint64 i = 0; i < ir_tensor_n_elements (wanted); i++)
    g_assert_cmpfloat_with_epsilon (ir_tensor_get_double (found, i),
                                    ir_tensor_get_double (wanted, i),
                                    dtype == IR_DTYPE_FLOAT16 ? 4e-3 : 3e-2);
}

/* -- constants -- */

typedef struct
{
  guint n;
} Widened;

static IrTensor *
count_and_widen (const IrTensor *constant, gpointer data)
{
  ((Widened *) data)->n++;
  return ir_tensor_cast (constant, IR_DTYPE_FLOAT);
}

static void
test_constants_are_widened_once (void)
{
  g_autoptr (IrPacked) packed = ir_packed_new ();
  g_autoptr (IrPacked) closed = ir_packed_new_closed ();
  g_autoptr (IrTensor) constant = half_random ("float[8,8]", IR_DTYPE_FLOAT16, 1);
  Widened widened = { 0 };
  g_autoptr (IrTensor) one = ir_packed_tensor (packed, constant, count_and_widen, &widened);
  g_autoptr (IrTensor) other = ir_packed_tensor (packed, constant, count_and_widen, &widened);

  g_assert_true (one == other);
  g_assert_true (ir_tensor_dtype (one) == IR_DTYPE_FLOAT);
  g_assert_null (ir_packed_tensor (closed, constant, count_and_widen, &widened));
  g_assert_cmpuint (widened.n, ==, 1);
}

int
main (int argc, char **argv)
{
  static const Loops loops[] = { { IR_DTYPE_FLOAT16, FALSE },
                                 { IR_DTYPE_FLOAT16, TRUE },
                                 { IR_DTYPE_BFLOAT16, FALSE } };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (loops); i++)
    {
      g_autofree char *name = g_strdup_printf ("%s%s", ir_dtype_name (loops[i].dtype),
                                               loops[i].plain ? ", plain" : "");
      g_autofree char *codes = g_strdup_printf ("/half/%s/every code", name);
      g_autofree char *rounding = g_strdup_printf ("/half/%s/rounding", name);
      g_test_add_data_func (codes, &loops[i], test_every_code);
      g_test_add_data_func (rounding, &loops[i], test_rounding);
    }
  g_test_add_data_func ("/half/float16/a network runs on CPU kernels",
                        GINT_TO_POINTER (IR_DTYPE_FLOAT16), test_network);
  g_test_add_data_func ("/half/bfloat16/a network runs on CPU kernels",
                        GINT_TO_POINTER (IR_DTYPE_BFLOAT16), test_network);
  g_test_add_func ("/half/constants are widened once", test_constants_are_widened_once);
  return g_test_run ();
}
