/* Moves elements, each from its place to another. */
IR_KERNEL ($name) (const $word *x, $word *y)
{
  $index i = ($index) K_BLOCK * $threads + K_THREAD;

  if (i >= $n)
    return;
$offsets
  K_STORE (y, o1, K_LOAD (x, o0));
}
