#include "config.h"

#include "core/exec/plan/shelf.h"

struct _IrShelf
{
  gatomicrefcount ref_count;
  GPtrArray *left; /* (nullable) of IrTensor: what the plan has left to those who have the shelf */
};

/**
 * ir_shelf_new:
 *
 * Returns: (transfer full): a shelf that only the caller has
 */
IrShelf *
ir_shelf_new (void)
{
  IrShelf *shelf = g_new0 (IrShelf, 1);

  g_atomic_ref_count_init (&shelf->ref_count);
  return shelf;
}

/**
 * ir_shelf_ref:
 * @shelf: a shelf
 *
 * Returns: (transfer full): @shelf; its tensors stay until it is let go
 */
IrShelf *
ir_shelf_ref (IrShelf *shelf)
{
  g_atomic_ref_count_inc (&shelf->ref_count);
  return shelf;
}

/**
 * ir_shelf_unref:
 * @shelf: (transfer full) (nullable): a shelf
 */
void
ir_shelf_unref (IrShelf *shelf)
{
  if (shelf == NULL || !g_atomic_ref_count_dec (&shelf->ref_count))
    return;
  g_clear_pointer (&shelf->left, g_ptr_array_unref);
  g_free (shelf);
}

/**
 * ir_shelf_is_lent:
 * @shelf: a shelf
 *
 * Returns: whether somebody else has a reference
 */
gboolean
ir_shelf_is_lent (IrShelf *shelf)
{
  return !g_atomic_ref_count_compare (&shelf->ref_count, 1);
}

/**
 * ir_shelf_leave:
 * @shelf: a shelf that is lent
 * @tensor: (transfer full) (nullable): a tensor that belongs to the plan until now
 *
 * Leaves @tensor to those who have the shelf; to be called before the plan lets go of it.
 */
void
ir_shelf_leave (IrShelf *shelf, IrTensor *tensor)
{
  if (tensor == NULL)
    return;
  if (shelf->left == NULL)
    shelf->left = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  g_ptr_array_add (shelf->left, tensor);
}
