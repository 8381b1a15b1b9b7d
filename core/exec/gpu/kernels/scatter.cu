/* A line is what indices choose from, its places $stride apart. Each thread owns $part places of a line: it
 * copies them, looks at all indices of the line in their order, and takes those that are its own. So what
 * comes to one element comes in the order of the updates, without atomics. */
K_FUNCTION $compute
c_$name ($compute a, $compute b)
{
  return $combine;
}

IR_KERNEL ($name) ($parameters)
{
$each
  k_i64 from = (k_i64) (i / $lines) * $part, to = from + $part < $size ? from + $part : $size;
  $index line = i % $lines;
$offsets
$has_updates
  for (k_i64 k = from; k < to; k++)
    K_STORE (y, o0 + k * $stride, $copied);
  for (k_i64 k = 0; has_updates && k < $n_updates; k++)
    {
      k_i64 t = 0, j;
      int outside = 0;
$target
      if (outside)
        {
          K_FAULT (fault, 2u);
          return;
        }
      if (t >= from && t < to)
        K_STORE (y, o0 + t * $stride, $store (c_$name ($load (K_LOAD (y, o0 + t * $stride)), $load (K_LOAD (updates, $update)))));
    }
}
