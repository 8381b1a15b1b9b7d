/* Each element of the result has one of the input, or lies outside of it. */
IR_KERNEL ($name) (const $word *x, $value_parameter$word *y)
{
  $index i = ($index) K_BLOCK * $threads + K_THREAD;
  k_i64 o = 0;
  int inside = 1;

  if (i >= $n)
    return;
$offsets
$places
  if (inside)
    K_STORE (y, i, K_LOAD (x, o));
  else
    K_STORE (y, i, $value);
}
