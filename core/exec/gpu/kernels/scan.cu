/* A thread for each line along the axis, whose elements are $inner apart. */
IR_KERNEL ($name) ($parameters)
{
$each
  $index base = i / $inner * $inner * $size + i % $inner;
  $compute_x s = $start;

  for ($index k = 0; k < $size; k++)
    {
      $index at = base + $step * $inner;
      $compute_x v = $load_x (K_LOAD (x, at)), next = $combine;
      K_STORE (y, at, $store_y ($kept));
      s = next;
    }
}
