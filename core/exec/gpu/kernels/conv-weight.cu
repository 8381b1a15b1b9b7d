/* The derivative of a convolution by its kernel: a block for each element of it, whose threads share the
 * places that the kernel stood at, in all samples. */
IR_KERNEL ($name) ($parameters)
{
  K_SHARED ($compute_y, parts, 8);
  $index r = K_BLOCK;
  $compute_y s = 0;

$taps
  $index k = r % $channels, m = r / $channels, g = m / $group_channels;
  for ($index j = K_THREAD; j < $n; j += $threads)
    {
      $index q = j, inside = 1;
$places
      $index b = q;
      if (inside)
        s += $load_x (K_LOAD (x, ((k_i64) b * $x_channels + g * $channels + k) * $plane + $place))
             * $load_d (K_LOAD (d, ((k_i64) b * $y_channels + m) * $out_plane + $spot));
    }
  s = k_block_add$f (s, parts, $warps);
  if (K_THREAD == 0)
    K_STORE (y, K_BLOCK, $store_y (s));
}
