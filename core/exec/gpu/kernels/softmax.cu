/* A block for each row, whose elements are $inner apart. What the function body of the operator rounds to
 * the element type is rounded here. */
K_FUNCTION $compute
r_$name ($compute v)
{
  return $round;
}

IR_KERNEL ($name) ($parameters)
{
  K_SHARED ($compute, parts, 8);
  $index base = ($index) K_BLOCK / $inner * $inner * $n + K_BLOCK % $inner;
  $compute most = -K_INFINITY, sum = 0;

  for ($index k = K_THREAD; k < $n; k += $threads)
    most = k_max$f (most, $load (K_LOAD (x, base + k * $inner)));
  most = k_block_max$f (most, parts, $warps);
  for ($index k = K_THREAD; k < $n; k += $threads)
    sum += r_$name (exp$f (r_$name ($load (K_LOAD (x, base + k * $inner)) - most)));
  sum = r_$name (k_block_add$f (sum, parts, $warps));
  for ($index k = K_THREAD; k < $n; k += $threads)
    {
      $compute v = $load (K_LOAD (x, base + k * $inner)) - most;
      K_STORE (y, base + k * $inner, $store ($result));
    }
}
