/* A block for all elements that share a statistic. */
$placesIR_KERNEL ($name) ($parameters)
{
  K_SHARED ($compute, parts, 8);
  $index base = q_$name (K_BLOCK);
  $compute mean = 0, sum = 0;

$mean  for ($index j = K_THREAD; j < $n; j += $threads)
    {
      $compute v = $load (K_LOAD (x, base + p_$name (j))) - mean;
      sum += $map;
    }
  sum = k_block_add$f (sum, parts, $warps);
  for ($index j = K_THREAD; j < $n; j += $threads)
    {
      $index at = base + p_$name (j);
      $compute v = $load (K_LOAD (x, at)) - mean;
      K_STORE (y, at, $store ($result));
    }
}
