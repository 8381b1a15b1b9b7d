/* A block for each row, whose elements are $inner apart. */
IR_KERNEL ($name) ($parameters)
{
  K_SHARED ($compute, parts, 8);
  $index base = ($index) K_BLOCK / $inner * $inner * $n + K_BLOCK % $inner;
  $compute sum = 0;

  for ($index k = K_THREAD; k < $n; k += $threads)
    sum += $load (K_LOAD (dy, base + k * $inner)) * $load (K_LOAD (y, base + k * $inner));
  sum = k_block_add$f (sum, parts, $warps);
  for ($index k = K_THREAD; k < $n; k += $threads)
    {
      $compute v = $load (K_LOAD (y, base + k * $inner)) * ($load (K_LOAD (dy, base + k * $inner)) - sum);
      K_STORE (dx, base + k * $inner, $store (v));
    }
}
