/* One block: the range of all elements and 0, as the scale of 256 places and the place of 0. */
$function
IR_KERNEL ($name) ($parameters)
{
  K_SHARED (float, parts, 8);
  float low = 0, high = 0, step;

  for ($index k = K_THREAD; k < $n; k += $threads)
    {
      float v = K_LOAD (x, k);
      low = k_minf (low, v);
      high = k_maxf (high, v);
    }
  low = k_block_minf (low, parts, $warps);
  high = k_block_maxf (high, parts, $warps);
  step = (float) (((double) high - (double) low) / 255.0);
  if (!(step > 0))
    step = 1;
  if (K_THREAD == 0)
    {
      K_STORE (scale, 0, step);
      K_STORE (zero, 0, (unsigned char) q_$name (-low / step, 0));
    }
}
