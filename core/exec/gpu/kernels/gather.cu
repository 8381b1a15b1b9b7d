/* Takes element k along an axis of $size places, where k is read from the indices. */
IR_KERNEL ($name) ($parameters)
{
$each
  k_i64 k;
$offsets
  k = (k_i64) K_LOAD (indices, o1);
  if (k < 0)
    k += $size;
  if (k < 0 || k >= $size)
    {
      K_FAULT (fault, 2u);
      return;
    }
  K_STORE (y, i, K_LOAD (x, o0 + ($index) k * $stride));
}
