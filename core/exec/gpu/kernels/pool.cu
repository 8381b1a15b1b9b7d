/* One thread for each element of the result: it visits the places of its window that lie inside. The
 * padding is no element of it. */
IR_KERNEL ($name) ($parameters)
{
$each
  $compute_x s = $start;
  k_i64 visited = 0;
$digits
  k_i64 plane = (k_i64) b * $channels + c;
$padded
$loops
      $compute_x v = $load_x (K_LOAD (x, plane * $plane + $place));
      s += $visit;
      visited++;
$closings
  K_STORE (y, i, $store_y (visited > 0 ? $result : 0));
}
