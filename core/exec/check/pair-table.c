#include "config.h"

#include "core/exec/check/pair-table.h"

#include "core/exec/check/curve.h"
#include "core/exec/check/metrics.h"
#include "core/io/io.h"
#include "core/ir/problem.h"
#include "core/ir/tensor-text.h"

#define MOST 20000000 /* elements: the file is made in memory */

typedef struct
{
  const IrTensor *before, *after;
} Pair;

static void
append_header (GString *text, guint rank)
{
  for (guint axis = 0; axis < rank; axis++)
    g_string_append_printf (text, "axis_%u,", axis);
  g_string_append (text, "before,after,difference\n");
}

static void
append_line (GString *text, const Pair *pair, guint64 index)
{
  const guint rank = ir_tensor_rank (pair->after);
  g_autofree char *before = ir_tensor_element_text (pair->before, index),
                  *after = ir_tensor_element_text (pair->after, index);
  guint64 within = ir_tensor_n_elements (pair->after), left = index;

  for (guint axis = 0; axis < rank; axis++)
    {
      within /= (guint64) ir_tensor_dims (pair->after)[axis];
      g_string_append_printf (text, "%" G_GUINT64_FORMAT ",", left / within);
      left %= within;
    }
  g_string_append_printf (text, "%s,%s,%.9g\n", before, after,
                          ir_tensor_minus (pair->after, pair->before, index));
}

/**
 * ir_tensors_save_table:
 * @before: a tensor of numbers
 * @after: another one of the same shape
 * @path: the .csv file, which is replaced as a whole or not at all
 * @error: return location for an error
 *
 * Fails with %IR_IO_ERROR_UNSUPPORTED where the shapes differ, or a side holds no numbers, and with
 * %IR_IO_ERROR_LIMIT where there are more elements than a table can hold.
 *
 * Returns: %TRUE if it is saved
 */
gboolean
ir_tensors_save_table (const IrTensor *before,
                       const IrTensor *after,
                       const char *path,
                       GError **error)
{
  const Pair pair = { before, after };
  const guint64 n = ir_tensor_n_elements (after);
  g_autoptr (GString) text = g_string_new (NULL);

  if (!ir_tensors_are_comparable (before, after))
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_UNSUPPORTED,
                   "%s: both sides in one table need the same shape, and numbers on both", path);
      return FALSE;
    }
  if (n > MOST)
    {
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_LIMIT,
                   "%s: %" G_GUINT64_FORMAT " elements are too many for a table, which has at most "
                   "%d; save each side as .npy",
                   path, n, MOST);
      return FALSE;
    }
  append_header (text, ir_tensor_rank (after));
  for (guint64 i = 0; i < n; i++)
    append_line (text, &pair, i);
  g_autoptr (GBytes) bytes = g_string_free_to_bytes (g_steal_pointer (&text));
  return ir_file_write_atomic (path, bytes, error);
}
