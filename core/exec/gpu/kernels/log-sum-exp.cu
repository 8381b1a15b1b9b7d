/* A block for each element of the result. What is taken off before the exponentials is finite. */
$placesIR_KERNEL ($name) ($parameters)
{
  K_SHARED ($compute, parts, 8);
  $index base = q_$name (K_BLOCK);
  $compute most = -K_INFINITY, sum = 0;

  for ($index j = K_THREAD; j < $n; j += $threads)
    most = k_max$f (most, $load (K_LOAD (x, base + p_$name (j))));
  most = k_block_max$f (most, parts, $warps);
  most = most - most == 0 ? most : 0;
  for ($index j = K_THREAD; j < $n; j += $threads)
    sum += exp$f ($load (K_LOAD (x, base + p_$name (j))) - most);
  sum = k_block_add$f (sum, parts, $warps);
  if (K_THREAD == 0)
    K_STORE (y, K_BLOCK, $store (log$f (sum) + most));
}
