/* A block for each row of what was normalized together; without a mean both are 0. p: where its element k is; a: where scale has it. */
K_FUNCTION $index
p_$name ($index k)
{
$place  return o;
}

K_FUNCTION $index
a_$name ($index k)
{
$scale_place  return o0;
}

IR_KERNEL ($name) ($parameters)
{
  K_SHARED ($compute, parts, 8);
  $compute mean = 0, square = 0, inverse, sum = 0, along = 0, g_sum = 0, g_along = 0;

  for ($index k = K_THREAD; k < $n; k += $threads)
    mean += $load_x (K_LOAD (x, p_$name (k)));
  mean = $mean;
  for ($index k = K_THREAD; k < $n; k += $threads)
    {
      $compute v = $load_x (K_LOAD (x, p_$name (k))) - mean;
      square += v * v;
    }
  square = k_block_add$f (square, parts, $warps) / $n;
  inverse = 1 / sqrt$f (square + $epsilon);
  for ($index k = K_THREAD; k < $n; k += $threads)
    {
      $compute v = ($load_x (K_LOAD (x, p_$name (k))) - mean) * inverse;
      $compute d = $load_dy (K_LOAD (dy, p_$name (k)));
      $compute g = d * $load_w (K_LOAD (w, a_$name (k)));
      sum += d;
      along += d * v;
      g_sum += g;
      g_along += g * v;
    }
  sum = k_block_add$f (sum, parts, $warps);
  along = k_block_add$f (along, parts, $warps);
  g_sum = $g_mean;
  g_along = k_block_add$f (g_along, parts, $warps) / $n;
$sums  for ($index k = K_THREAD; k < $n; k += $threads)
    {
      $compute v = ($load_x (K_LOAD (x, p_$name (k))) - mean) * inverse;
      $compute g = $load_dy (K_LOAD (dy, p_$name (k))) * $load_w (K_LOAD (w, a_$name (k)));
      K_STORE (dx, p_$name (k), $store (inverse * (g - g_sum - v * g_along)));
    }
}
