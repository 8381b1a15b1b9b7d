/* Every function of the runtime of a device takes its lock, once, as any thread may call it: the one that runs, those that
 * capture and show, and the one that draws. */
#include "config.h"

#include "core/exec/gpu/backend.h"
#include "core/exec/gpu/cache.h"
#include "core/exec/gpu/runtime.h"
#include "tests/support/locks.h"

static void
test_memory (void)
{
  const IrMemory *memory = &ir_gpu_memory;
  IrMemoryBlock block = { NULL };
  IrMemoryEvent event = { NULL };
  float out[16] = { 1, 2, 3 }, in[16] = { 0 };
  gboolean pinned;
  g_autoptr (GError) error = NULL;

  ASSERT_LOCKS (1, memory->alloc (sizeof out, &block, &error));
  g_assert_no_error (error);
  ASSERT_LOCKS (1, g_assert_true (memory->is_there (&block)));
  ASSERT_LOCKS (1, memory->copy_in (block.data, out, sizeof out, &error));
  g_assert_no_error (error);
  ASSERT_LOCKS (1, memory->copy_out (in, block.data, sizeof in, &error));
  g_assert_no_error (error);
  g_assert_cmpmem (in, sizeof in, out, sizeof out);
  ASSERT_LOCKS (1, memory->copy ((guint8 *) block.data + 32, block.data, 32, &error));
  g_assert_no_error (error);
  ASSERT_LOCKS (1, memory->pin (in, sizeof in, &pinned, &error));
  g_assert_no_error (error);
  g_assert_true (pinned);
  ASSERT_LOCKS (1, memory->copy_out_late (in, block.data, sizeof in, &error));
  g_assert_no_error (error);
  ASSERT_LOCKS (1, g_assert_cmpuint (memory->n_streams (), >, 0));
  ASSERT_LOCKS (1, memory->record (&event, &error));
  g_assert_no_error (error);
  ASSERT_LOCKS (1, memory->wait (&event, &error));
  g_assert_no_error (error);
  ASSERT_LOCKS (1, memory->free_event (&event));
  ASSERT_LOCKS (1, memory->finish (&error));
  g_assert_no_error (error);
  g_assert_cmpmem (in + 8, 32, out, 32);
  ASSERT_LOCKS (1, memory->unpin (in));
  ASSERT_LOCKS (1, memory->free (&block));
  ASSERT_LOCKS (1, g_assert_false (memory->is_there (&block)));
}

static void
test_runtime (void)
{
  const IrGpuProduct product = { .dtype = IR_DTYPE_FLOAT };
  g_autoptr (IrGpuProgram) program = ir_gpu_program_new ();
  g_autoptr (GError) error = NULL;
  IrGpuFault fault;

  ASSERT_LOCKS (1, ir_gpu_runtime_take (0));
  ASSERT_LOCKS (1, ir_gpu_runtime_open (&error));
  g_assert_no_error (error);
  ASSERT_LOCKS (1, g_assert_true (ir_gpu_runtime_is_stand_in ()));
  ASSERT_LOCKS (1, ir_gpu_runtime_beside (2));
  ASSERT_LOCKS (1, ir_gpu_runtime_round (IR_GPU_STRICT));
  ASSERT_LOCKS (1, g_assert_nonnull (ir_gpu_runtime_product (&product)));
  ASSERT_LOCKS (1, ir_gpu_add_kernels (program, &error));
  g_assert_no_error (error);
  ASSERT_LOCKS (1, ir_gpu_run (program, NULL, NULL, &fault, &error));
  g_assert_no_error (error);
  ASSERT_LOCKS (1, ir_gpu_runtime_close ());
}

int
main (int argc, char **argv)
{
  g_autofree char *path = NULL;

  g_test_init (&argc, &argv, NULL);
  path = g_strdup_printf ("%s:-", g_test_get_dir (G_TEST_BUILT));
  g_setenv (IR_GPU_PATH, path, TRUE);
  g_setenv (IR_GPU_CACHE, "-", TRUE);
  g_test_add_func ("/gpu/locks/memory", test_memory);
  g_test_add_func ("/gpu/locks/runtime", test_runtime);
  return g_test_run ();
}
