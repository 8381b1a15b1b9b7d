/* What the tensors of a run hold: shared bytes once, items of sequences beside their list. */
#include "config.h"

#include "core/exec/run/account.h"
#include "tests/exec/graphs.h"

static void
test_shared (void)
{
  IrCharges *charges = ir_charges_new ();
  g_autoptr (IrTensor) floats = tensor_random ("float[6]", 1);
  g_autoptr (IrTensor) view = ir_tensor_reshape (floats, 2, (const gint64[]){ 2, 3 });

  g_assert_cmpuint (ir_charges_add (charges, floats), ==, 24);
  g_assert_cmpuint (ir_charges_add (charges, view), ==, 0);
  g_assert_cmpuint (ir_charges_remove (charges, floats), ==, 0);
  g_assert_cmpuint (ir_charges_remove (charges, view), ==, 24);
  g_assert_cmpuint (ir_charges_remove (charges, view), ==, 0); /* it is not held */
  ir_charges_free (charges);
}

static void
test_sequences (void)
{
  IrCharges *charges = ir_charges_new ();
  g_autoptr (IrTensor) a = tensor_random ("float[6]", 1), b = tensor_random ("float[10]", 2);
  g_autoptr (IrTensor) one = ir_tensor_new_sequence (NULL, (IrTensor *[]){ a, b }, 2),
                       two = ir_tensor_new_sequence (NULL, (IrTensor *[]){ b, b, a }, 3);

  g_assert_cmpuint (ir_charges_add (charges, one), ==, 24 + 40 + 2 * sizeof (gpointer));
  g_assert_cmpuint (ir_charges_add (charges, two), ==, 3 * sizeof (gpointer));
  g_assert_cmpuint (ir_charges_remove (charges, one), ==, 2 * sizeof (gpointer));
  g_assert_cmpuint (ir_charges_remove (charges, two), ==, 24 + 40 + 3 * sizeof (gpointer));
  ir_charges_free (charges);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/charges/bytes that several tensors share count once", test_shared);
  g_test_add_func ("/charges/items count beside the lists that hold them", test_sequences);
  return g_test_run ();
}
