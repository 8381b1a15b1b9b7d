/* A block for each channel of dx and dy: what it sums over samples and places. */
IR_KERNEL ($name) ($parameters)
{
  K_SHARED ($compute, parts, 8);
  $compute sum = 0, along = 0;

  for ($index k = K_THREAD; k < $n; k += $threads)
    {
      $index o = (k / $plane * $channels + K_BLOCK) * $plane + k % $plane;
      $compute d = $load_dy (K_LOAD (dy, o));
      sum += d;
      along += d * K_LOAD (dx, o);
    }
  sum = k_block_add$f (sum, parts, $warps);
  along = k_block_add$f (along, parts, $warps);
$sums}
