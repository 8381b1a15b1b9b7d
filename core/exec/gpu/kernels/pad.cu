/* Each element of the result has one of the input, or lies outside of it. */
IR_KERNEL ($name) ($parameters)
{
$each
  k_i64 o = 0;
  int inside = 1;
$offsets
$places
  if (inside)
    K_STORE (y, i, K_LOAD (x, o));
  else
    K_STORE (y, i, $value);
}
