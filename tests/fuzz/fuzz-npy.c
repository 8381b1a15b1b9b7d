#include "config.h"

#include "tests/fuzz/fuzz.h"
#include "tests/io/models.h"

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (GBytes) bytes = g_bytes_new (data, size);
  g_autoptr (GError) error = NULL;
  g_autoptr (IrTensor) tensor = ir_npy_read (bytes, &error);
  g_autoptr (GBytes) written = tensor != NULL ? ir_npy_write (tensor, NULL) : NULL;

  g_autoptr (GError) no_archive = NULL;
  g_autoptr (GPtrArray) arrays = ir_npz_read (bytes, &no_archive);

  g_assert_true ((tensor == NULL) == (error != NULL));
  g_assert_true ((arrays == NULL) == (no_archive != NULL));
  if (written != NULL)
    {
      g_autoptr (IrTensor) again = ir_npy_read (written, NULL);

      g_assert_nonnull (again);
      g_assert_true (ir_tensor_equal (tensor, again));
    }
  return 0;
}

GPtrArray *
fuzz_seeds (void)
{
  GPtrArray *seeds = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  g_autoptr (IrModel) model = test_read_text (test_dtypes_text);

  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = model->values->pdata[i];
      GBytes *bytes = value->initializer != NULL ? ir_npy_write (value->initializer, NULL) : NULL;

      if (bytes != NULL)
        g_ptr_array_add (seeds, bytes);
    }
  g_ptr_array_add (seeds, test_npz ());
  return seeds;
}
