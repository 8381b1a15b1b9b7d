/* A block for each row: dx becomes what its elements were normalized to. */
IR_KERNEL ($name) ($parameters)
{
  K_SHARED ($compute, parts, 8);
  $index base = ($index) K_BLOCK * $n;
  $compute mean = 0, square = 0;

  for ($index k = K_THREAD; k < $n; k += $threads)
    mean += $load_x (K_LOAD (x, base + k));
  mean = $mean;
  for ($index k = K_THREAD; k < $n; k += $threads)
    {
      $compute v = $load_x (K_LOAD (x, base + k)) - mean;
      square += v * v;
    }
  square = k_block_add$f (square, parts, $warps) / $n;
  square = 1 / sqrt$f (square + $epsilon);
  for ($index k = K_THREAD; k < $n; k += $threads)
    K_STORE (dx, base + k, $store (($load_x (K_LOAD (x, base + k)) - mean) * square));
}
