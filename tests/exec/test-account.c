/* What the tensors of a run hold: shared bytes once, items of sequences beside their list. */
#include "config.h"

#include "core/exec/run/account.h"
#include "tests/exec/graphs.h"

static void
test_shared (void)
{
  IrAccount *account = ir_account_new ();
  g_autoptr (IrTensor) floats = tensor_random ("float[6]", 1);
  g_autoptr (IrTensor) view = ir_tensor_reshape (floats, 2, (const gint64[]){ 2, 3 });

  g_assert_cmpuint (ir_account_add (account, floats), ==, 24);
  g_assert_cmpuint (ir_account_add (account, view), ==, 0);
  g_assert_cmpuint (ir_account_remove (account, floats), ==, 0);
  g_assert_cmpuint (ir_account_remove (account, view), ==, 24);
  g_assert_cmpuint (ir_account_remove (account, view), ==, 0); /* it is not held */
  ir_account_free (account);
}

static void
test_sequences (void)
{
  IrAccount *account = ir_account_new ();
  g_autoptr (IrTensor) a = tensor_random ("float[6]", 1), b = tensor_random ("float[10]", 2);
  g_autoptr (IrTensor) one = ir_tensor_new_sequence (NULL, (IrTensor *[]){ a, b }, 2),
                       two = ir_tensor_new_sequence (NULL, (IrTensor *[]){ b, b, a }, 3);

  g_assert_cmpuint (ir_account_add (account, one), ==, 24 + 40 + 2 * sizeof (gpointer));
  g_assert_cmpuint (ir_account_add (account, two), ==, 3 * sizeof (gpointer));
  g_assert_cmpuint (ir_account_remove (account, one), ==, 2 * sizeof (gpointer));
  g_assert_cmpuint (ir_account_remove (account, two), ==, 24 + 40 + 3 * sizeof (gpointer));
  ir_account_free (account);
}

/* A sequence and what was appended to it have their items in common. */
static void
test_appended (void)
{
  IrAccount *account = ir_account_new ();
  g_autoptr (IrTensor) a = tensor_random ("float[6]", 1), b = tensor_random ("float[10]", 2);
  g_autoptr (IrTensor) none = ir_tensor_new_sequence (NULL, &a, 1);
  g_autoptr (IrTensor) one = ir_tensor_append (none, a), two = ir_tensor_append (one, b);
  g_autoptr (IrTensor) other = ir_tensor_append (one, a); /* @two was first */

  g_assert_true (ir_tensor_item_store (one) == ir_tensor_item_store (two));
  g_assert_true (ir_tensor_item_store (one) != ir_tensor_item_store (other));
  g_assert_cmpuint (ir_account_add (account, one), ==, 24 + 2 * sizeof (gpointer));
  g_assert_cmpuint (ir_account_n_items (account, two), ==, 2);
  g_assert_cmpuint (ir_account_add (account, two), ==, 40 + sizeof (gpointer));
  g_assert_cmpuint (ir_account_remove (account, two), ==, 0); /* @one has room for its item */
  g_assert_cmpuint (ir_account_add (account, other), ==, 3 * sizeof (gpointer));
  g_assert_cmpuint (ir_account_remove (account, one), ==, 40 + 3 * sizeof (gpointer));
  g_assert_cmpuint (ir_account_remove (account, other), ==, 24 + 3 * sizeof (gpointer));
  ir_account_free (account);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/account/bytes that several tensors share count once", test_shared);
  g_test_add_func ("/account/items count beside the lists that hold them", test_sequences);
  g_test_add_func ("/account/items that sequences have in common count once", test_appended);
  return g_test_run ();
}
