/* A block for each row. a and b: where scale and bias have element k. */
K_FUNCTION $compute
r_$name ($compute v)
{
  return $load ($store (v));
}

K_FUNCTION $index
a_$name ($index k)
{
$scale_place  return o0;
}

K_FUNCTION $index
b_$name ($index k)
{
$bias_place  return o0;
}

IR_KERNEL ($name) ($parameters)
{
  K_SHARED ($compute, parts, 8);
  $index base = ($index) K_BLOCK * $n;
  $compute mean = 0, square = 0, scale;

$begin$mean  for ($index k = K_THREAD; k < $n; k += $threads)
    {
      $compute v = $element - mean;
      square += v * v;
    }
  square = k_block_add$f (square, parts, $warps) / $n;
  scale = 1 / sqrt$f (square + $epsilon);
$outputs  for ($index k = K_THREAD; k < $n; k += $threads)
    {
      $compute v = ($element - mean) * scale;
      v = v * $load_w (K_LOAD (w, a_$name (k)))$bias;
      K_STORE (y, base + k, $store (v));
    }
}
