/* Each element of the result comes from a place that indices say. */
IR_KERNEL ($name) ($parameters)
{
$each
  k_i64 t = 0, j;
  int outside = 0;
$offsets
$target
  if (outside)
    {
      K_FAULT (fault, 2u);
      return;
    }
  K_STORE (y, i, $from);
}
