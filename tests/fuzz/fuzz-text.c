#include "config.h"

#include "tests/fuzz/fuzz.h"
#include "tests/io/models.h"

#include <string.h>

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *text = g_memdup2 (data, size);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel)
      model = ir_text_read (text != NULL ? text : "", (gssize) size, problems, &error);
  g_autofree char *written = model != NULL ? ir_text_write (model) : NULL;

  g_assert_true ((model == NULL) == (error != NULL));
  if (written != NULL)
    {
      g_autoptr (IrModel) again = ir_text_read (written, -1, problems, NULL);

      g_assert_nonnull (again);
    }
  return 0;
}

GPtrArray *
fuzz_seeds (void)
{
  GPtrArray *seeds = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);

  g_ptr_array_add (seeds, g_bytes_new_static (test_rich_text, strlen (test_rich_text)));
  g_ptr_array_add (seeds, g_bytes_new_static (test_dtypes_text, strlen (test_dtypes_text)));
  return seeds;
}
