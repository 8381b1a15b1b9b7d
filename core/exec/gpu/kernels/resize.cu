/* An element of the result: the nearest of the input, or a sum over neighbours, each with its weight. */
K_FUNCTION k_i64
c_$name (double x, k_i64 n)
{
  return x >= 0 ? (k_i64) (x < (double) (n - 1) ? x : (double) (n - 1)) : 0;
}

K_FUNCTION double
w_$name (double distance)
{
  double d = fabs (distance);

  return $weight;
}

IR_KERNEL ($name) ($parameters)
{
$each
  int outside = 0;
$offsets
$places
  if (outside)
    {
      K_STORE (y, i, $fill);
      return;
    }
$picked
  K_STORE (y, i, $value);
}
