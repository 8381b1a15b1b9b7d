/* A thread for each element of a variable. The rate is that of all of them: one thread of the block finds it, in
 * double, as powers near 1 are taken off 1. */
IR_KERNEL ($name) ($parameters)
{
  K_SHARED (double, common, 1);
  double rate = (double) $load_rates (K_LOAD (rates, 0));
  k_i64 count = (k_i64) K_LOAD (counts, 0);

  if (K_THREAD == 0)
    K_SET (common, 0, $rate);
  K_BARRIER ();
$each
  $compute r = ($compute) K_GET (common, 0);
  $compute x_i = $load (K_LOAD (x, i)), v_i = $load (K_LOAD (v, i)), h_i = $other_state;
  $compute gradient = $norm * x_i + $load (K_LOAD (g, i));
  $compute new_v = $state, new_h = $other;
$stores}
