/* One thread for each element of the result: the largest of its window, of equal ones the first, and where
 * it is in the plane; what is no number wins. */
IR_KERNEL ($name) ($parameters)
{
$each
  $compute_x s = $start;
  k_i64 at = 0, visited = 0;
$digits
  k_i64 plane = (k_i64) b * $channels + c;
$loops
      k_i64 here = $place;
      $compute_x v = $load_x (K_LOAD (x, plane * $plane + here));
      if (visited == 0 || v > s || (v != v && s == s))
        {
          s = v;
          at = here;
        }
      visited++;
$closings
  K_STORE (y, i, $store_y (s));
$keep}
