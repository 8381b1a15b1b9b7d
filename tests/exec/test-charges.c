/* What the tensors of a run hold: shared bytes once, items of sequences beside their list. */
#include "config.h"

#include "core/exec/run/account.h"
#include "tests/exec/graphs.h"

static const IrCall quiet = { 0 };

static void
test_shared (void)
{
  IrCharges *charges = ir_charges_new ();
  g_autoptr (IrTensor) floats = tensor_random ("float[6]", 1);
  g_autoptr (IrTensor) view = ir_tensor_reshape (floats, 2, (const gint64[]){ 2, 3 });

  g_assert_cmpuint (ir_charges_add (charges, floats, &quiet), ==, 24);
  g_assert_cmpuint (ir_charges_add (charges, view, &quiet), ==, 0);
  g_assert_cmpuint (ir_charges_remove (charges, floats, &quiet), ==, 0);
  g_assert_cmpuint (ir_charges_remove (charges, view, &quiet), ==, 24);
  g_assert_cmpuint (ir_charges_remove (charges, view, &quiet), ==, 0); /* it is not held */
  ir_charges_free (charges);
}

static void
test_sequences (void)
{
  IrCharges *charges = ir_charges_new ();
  g_autoptr (IrTensor) a = tensor_random ("float[6]", 1), b = tensor_random ("float[10]", 2);
  g_autoptr (IrTensor) one = ir_tensor_new_sequence (NULL, (IrTensor *[]){ a, b }, 2),
                       two = ir_tensor_new_sequence (NULL, (IrTensor *[]){ b, b, a }, 3);

  g_assert_cmpuint (ir_charges_add (charges, one, &quiet), ==, 24 + 40 + 2 * sizeof (gpointer));
  g_assert_cmpuint (ir_charges_add (charges, two, &quiet), ==, 3 * sizeof (gpointer));
  g_assert_cmpuint (ir_charges_remove (charges, one, &quiet), ==, 2 * sizeof (gpointer));
  g_assert_cmpuint (ir_charges_remove (charges, two, &quiet), ==, 24 + 40 + 3 * sizeof (gpointer));
  ir_charges_free (charges);
}

static IrTensor *
long_sequence (guint n)
{
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);

  for (guint i = 0; i < n; i++)
    g_ptr_array_add (items, ir_tensor_new_scalar (IR_DTYPE_FLOAT, i));
  return ir_tensor_new_sequence (NULL, (IrTensor *const *) items->pdata, n);
}

static void
test_stops (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  Ear ear = { .cancellable = cancellable };
  IrWatch watch = { .looked = ear_heard, .looked_data = &ear };
  const IrCall call = { .cancellable = cancellable, .watch = &watch };
  g_autoptr (IrTensor) sequence = long_sequence (10000);
  IrCharges *charges = ir_charges_new ();

  guint64 all = ir_charges_add (charges, sequence, &call);
  int n_looks = ear.n_looks;
  g_assert_cmpint (n_looks, >=, 10000 / 256);
  g_assert_cmpuint (ir_charges_remove (charges, sequence, &call), ==, all);
  g_assert_cmpint (ear.n_looks, ==, 2 * n_looks);
  ear.stop_at = 2 * n_looks + 3;
  g_assert_cmpuint (ir_charges_add (charges, sequence, &call), <, all);
  g_assert_cmpint (ear.n_looks, ==, ear.stop_at);
  g_assert_cmpuint (ir_charges_remove (charges, sequence, &call), <, all);
  g_assert_cmpint (ear.n_looks, ==, ear.stop_at + 1);
  ir_charges_free (charges);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/charges/bytes that several tensors share count once", test_shared);
  g_test_add_func ("/charges/items count beside the lists that hold them", test_sequences);
  g_test_add_func ("/charges/counting stops in the middle of a sequence", test_stops);
  return g_test_run ();
}
