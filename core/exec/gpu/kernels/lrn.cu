/* A thread for each element, which is divided by what its channel and those beside it have there. */
IR_KERNEL ($name) ($parameters)
{
$each
  k_i64 c = i / $plane % $channels, first = c > $before ? c - $before : 0;
  k_i64 last = c + $behind < $channels ? c + $behind : $channels - 1;
  $compute squares = 0;

  for (k_i64 k = first; k <= last; k++)
    {
      $compute v = $load (K_LOAD (x, i + (k - c) * $plane));
      squares += v * v;
    }
  K_STORE (y, i, $store ($load (K_LOAD (x, i)) / pow$f ($bias + $alpha * squares, $beta)));
}
