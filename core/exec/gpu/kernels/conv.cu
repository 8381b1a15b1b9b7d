/* A convolution, or a transposed one, directly: a thread for each element of the result visits the taps of
 * the kernel whose places lie inside. Group g of the result's channels sees $channels of the input's. */
$finishing
IR_KERNEL ($name) ($parameters)
{
$each
  $sum s = 0;
$digits
  $index g = c / $group_channels, m = c % $group_channels;
$loops
      for (k_i64 k = 0; k < $channels; k++)
        s += (($sum) $load_x (K_LOAD (x, (((k_i64) b * $groups + g) * $channels + k) * $plane + $place))$minus_x)
             * (($sum) $load_w (K_LOAD (w, $weight * $taps + $tap))$minus_w);
$closings
$finish
}
