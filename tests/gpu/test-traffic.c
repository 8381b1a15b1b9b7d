/* What kernels move, as the emulator counts it. Elementwise ones move each byte of an operand of full size once
 * and of one that is broadcast at most once for each block; sectors are nearly the fewest there can be; row
 * kernels have no bank conflicts. */
#include "config.h"

#include "core/exec/gpu/program.h"
#include "tests/fuzz/op-trial.h"
#include "tests/gpu/emulator/count.h"
#include "tests/gpu/emulator/emulator.h"

#include <string.h>

typedef enum
{
  ELEMENTWISE,
  MOVEMENT,
  ROWS
} Kind;

/* As in tests/gpu/cases.c. */
static const struct
{
  const char *op, *inputs, *attrs;
  Kind kind;
  double most_sectors; /* for one of the fewest */
} calls[] = {
  { "Add", "f64x257 f64x257", "", ELEMENTWISE, 1.05 },
  { "Relu", "f16387", "", ELEMENTWISE, 1.05 },
  { "Add", "f64x256 f256", "", ELEMENTWISE, 1.05 },
  { "Mul", "f64x256 f64x1", "", ELEMENTWISE, 1.05 },
  { "Mul", "f64x256 f", "", ELEMENTWISE, 1.05 },
  { "Where", "b64x256 f64x256 f256", "", ELEMENTWISE, 1.05 },
  { "Sqrt", "d2051", "", ELEMENTWISE, 1.05 },
  { "Add", "u4099 u4099", "", ELEMENTWISE, 1.05 },
  { "Max", "f8x1024 f8x1024 f8x1024 f1024", "", ELEMENTWISE, 1.05 },
  { "SwiGLU", "f16x256 f16x256", "", ELEMENTWISE, 1.05 },
  { "Concat", "f8x256 f8x512", "axis=1", MOVEMENT, 1.05 },
  { "Expand", "f1x256 i2<9", "", MOVEMENT, 1.05 },
  { "Gather", "f40x256 i7<40", "", MOVEMENT, 1.05 },
  { "Transpose", "f96x64", "perm=1,0", MOVEMENT, 1.10 },
  { "Transpose", "f3x96x64", "perm=0,2,1", MOVEMENT, 1.10 },
  { "Transpose", "f40x3x64", "perm=2,1,0", MOVEMENT, 1.10 },
  { "Transpose", "f2x48x8x32", "perm=0,2,1,3", MOVEMENT, 1.10 },
  { "Transpose", "d40x72", "perm=1,0", MOVEMENT, 1.10 },
  { "Softmax", "f16x704", "", ROWS, 1.05 },
  { "LogSoftmax", "f16x1024", "", ROWS, 1.05 },
  { "LayerNormalization", "f16x768 f768 f768", "", ROWS, 1.05 },
  { "RMSNormalization", "f16x768 f768", "", ROWS, 1.05 },
  { "ReduceSum", "f16x1000 i1<2", "", ROWS, 1.05 },
  { "InstanceNormalization", "f2x4x800 f4 f4", "", ROWS, 1.05 },
  { "LpNormalization", "f16x512", "", ROWS, 1.05 },
  { "ArgMax", "f16x512", "axis=1", ROWS, 1.05 },
};

/* Runs the launches of a call, which are one; FALSE: these contents do not fit the operator. */
typedef struct
{
  Trial trial;
  IrGpuProgram *program;
  guint64 bytes[EMU_MAX_COUNTED], largest;
  guint sizes[EMU_MAX_COUNTED];
} Run;

static gboolean
emit (Run *run)
{
  const IrNode *node = run->trial.node;
  gboolean done;
  IrCall call;

  ir_call_layout (&call, node);
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && run->trial.tensors[i] != NULL)
      ir_call_set_input (&call, i, run->trial.tensors[i]);
  ir_call_adapt (&call);
  done = ir_call_check (&call, NULL) && call.op->infer (&call, NULL) &&
         ir_gpu_program_add (run->program, &call) == NULL && run->program->launches->len > 0;
  for (guint l = 0; done && l < run->program->launches->len; l++)
    {
      const IrGpuLaunch *launch = run->program->launches->pdata[l];
      for (guint k = 0; l == 0 && k < launch->n_args; k++)
        {
          IrGpuArg arg = launch->args[k];
          const IrType *type = arg.kind == IR_GPU_INPUT    ? ir_call_input_type (&call, arg.slot)
                               : arg.kind == IR_GPU_OUTPUT ? call.outputs[arg.slot].type
                                                           : NULL;
          guint64 n = 1;
          if (type != NULL)
            ir_type_n_elements (type, &n);
          run->sizes[k] = type != NULL ? ir_dtype_bits (type->dtype) / 8 : 4;
          run->bytes[k] = n * run->sizes[k];
          run->largest = MAX (run->largest, arg.kind == IR_GPU_OUTPUT ? n : 0);
        }
    }
  ir_call_clear (&call);
  return done && run->largest > 0;
}

/* Counts the first launch; buffers hold what the trial has. */
static void
count (Run *run, EmuCounts *counts)
{
  const IrGpuLaunch *launch = run->program->launches->pdata[0];
  g_autofree char *text = ir_gpu_program_text (run->program);
  g_autoptr (GError) error = NULL;
  g_autoptr (EmuProgram) program = emu_compile (text, &error);
  EmuBuffer buffers[EMU_MAX_COUNTED];
  const EmuBuffer *args[EMU_MAX_COUNTED];
  g_autofree char *problem = NULL;

  g_assert_no_error (error);
  for (guint k = 0; k < launch->n_args; k++)
    {
      buffers[k] = emu_buffer_new ("operand", run->bytes[k], run->sizes[k],
                                   launch->args[k].kind != IR_GPU_INPUT);
      if (launch->args[k].kind == IR_GPU_INPUT)
        memcpy (buffers[k].data, ir_tensor_data (run->trial.tensors[launch->args[k].slot]),
                run->bytes[k]);
      args[k] = &buffers[k];
    }
  emu_count_into (counts);
  emu_run (program, launch, args, EMU_FORWARD, 1, &problem);
  emu_count_into (NULL);
  g_assert_cmpstr (problem, ==, NULL);
  for (guint k = 0; k < launch->n_args; k++)
    emu_buffer_clear (&buffers[k]);
}

static void
test_call (gconstpointer data)
{
  guint index = GPOINTER_TO_UINT (data);
  const IrOp *op = ir_op_find ("", calls[index].op);
  Kind kind = calls[index].kind;
  Run run = { .program = NULL };
  guint32 seed = 0;
  EmuCounts counts;
  gboolean fits = FALSE;

  while (!fits && ++seed < 200)
    {
      run = (Run){ .program = ir_gpu_program_new () };
      trial_init_as (&run.trial, op, seed, calls[index].inputs, calls[index].attrs);
      fits = emit (&run);
      if (fits)
        break;
      trial_clear (&run.trial);
      ir_gpu_program_free (run.program);
    }
  g_assert_true (fits);
  count (&run, &counts);
  const IrGpuLaunch *launch = run.program->launches->pdata[0];
  g_assert_cmpuint (counts.bank_conflicts, ==, 0);
  for (guint k = 0; k < launch->n_args; k++)
    {
      const EmuTraffic *t = &counts.buffers[k];
      guint64 n = kind == ROWS ? run.bytes[0] / run.sizes[0] : run.largest;
      gboolean full = run.bytes[k] / run.sizes[k] == n;
      g_test_message ("operand %u: %" G_GUINT64_FORMAT " bytes, asked for %" G_GUINT64_FORMAT
                      ", %" G_GUINT64_FORMAT " sectors for %" G_GUINT64_FORMAT,
                      k, t->touched_bytes, t->bytes, t->sectors, t->touched_sectors);
      if (kind != ROWS && full)
        g_assert_cmpuint (t->bytes, ==, kind == ELEMENTWISE ? run.bytes[k] : t->touched_bytes);
      if (kind == ELEMENTWISE)
        g_assert_cmpuint (t->block_bytes, <=, (guint64) launch->blocks * run.bytes[k]);
      if (full)
        {
          /* A row is visited more than once by those who need it all before they write. */
          double times = kind == ROWS ? (double) t->bytes / (double) MAX (t->touched_bytes, 1) : 1;
          g_assert_cmpfloat ((double) t->sectors, <=,
                             calls[index].most_sectors * times * (double) t->touched_sectors);
        }
    }
  trial_clear (&run.trial);
  ir_gpu_program_free (run.program);
}

/* What a kernel that is wrong in this way counts. */
static void
test_counting (void)
{
  static const char text[] =
      "IR_KERNEL (k) (const float *x, float *y)\n{\n  K_SHARED (float, s, 1024);\n"
      "  unsigned int t = K_THREAD;\n"
      "  K_SET (s, t * 32, K_LOAD (x, t * 8));\n"
      "  K_SET (s, t * 32 + 1, K_LOAD (x, t * 8));\n"
      "  K_STORE (y, t, K_GET (s, t * 32));\n}\n";
  IrGpuLaunch launch = { .name = (char *) "k", .blocks = 1, .threads = 32, .n_args = 2 };
  EmuBuffer x = emu_buffer_new ("input", 1024, 4, FALSE),
            y = emu_buffer_new ("output", 128, 4, TRUE);
  const EmuBuffer *args[] = { &x, &y };
  g_autoptr (EmuProgram) program = emu_compile (text, NULL);
  g_autofree char *problem = NULL;
  EmuCounts counts;

  emu_count_into (&counts);
  g_assert_true (emu_run (program, &launch, args, EMU_SEEDED, 5, &problem));
  emu_count_into (NULL);
  g_assert_cmpuint (counts.buffers[0].bytes, ==, 256);
  g_assert_cmpuint (counts.buffers[0].touched_bytes, ==, 128);
  g_assert_cmpuint (counts.buffers[0].block_bytes, ==, 128);
  g_assert_cmpuint (counts.buffers[0].sectors, ==, 64);
  g_assert_cmpuint (counts.buffers[0].touched_sectors, ==, 32);
  g_assert_cmpuint (counts.buffers[1].sectors, ==, 4);
  g_assert_cmpuint (counts.buffers[1].bytes, ==, 128);
  g_assert_cmpuint (counts.bank_conflicts, ==, 3 * 31);
  emu_buffer_clear (&x);
  emu_buffer_clear (&y);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gpu/traffic/counting", test_counting);
  for (guint i = 0; i < G_N_ELEMENTS (calls); i++)
    {
      g_autofree char *path = g_strdup_printf ("/gpu/traffic/%s/%s %s.", calls[i].op,
                                               calls[i].inputs, calls[i].attrs);
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_call);
    }
  return g_test_run ();
}
