#include "config.h"

#include "tests/fuzz/fuzz.h"
#include "tests/io/models.h"

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (GBytes) bytes = g_bytes_new (data, size);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) model = ir_onnx_read_bytes (bytes, NULL, problems, NULL);
  g_autoptr (GBytes) written = model != NULL ? ir_onnx_write_bytes (model, NULL) : NULL;
  g_autoptr (IrModel) again = NULL;

  /* What we write, we read. */
  if (written != NULL)
    {
      again = ir_onnx_read_bytes (written, NULL, problems, NULL);
      g_assert_nonnull (again);
    }
  return 0;
}

GPtrArray *
fuzz_seeds (void)
{
  GPtrArray *seeds = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  g_autoptr (IrModel) rich = test_read_text (test_rich_text);
  g_autoptr (IrModel) dtypes = test_read_text (test_dtypes_text);

  g_ptr_array_add (seeds, ir_onnx_write_bytes (rich, NULL));
  g_ptr_array_add (seeds, ir_onnx_write_bytes (dtypes, NULL));
  return seeds;
}
