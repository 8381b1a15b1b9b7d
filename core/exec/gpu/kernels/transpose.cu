/* Tiles of 32 by 32 elements go through shared memory, so that threads beside each other read and write what
 * is side by side: the input along axis a, the result along axis b. Rows of the tile are 33 apart, in
 * different banks. */
IR_KERNEL ($name) ($parameters)
{
  K_SHARED ($cell, tile, 1056);
  $index at_b = K_BLOCK % $tiles_b * 32u, at_a = K_BLOCK / $tiles_b % $tiles_a * 32u;
  $index rest = K_BLOCK / $tiles_b / $tiles_a;
  unsigned int column = K_THREAD % 32, row = K_THREAD / 32;
$offsets
  for (unsigned int k = row; k < 32; k += 8)
    if (at_a + column < $a && at_b + k < $b)
      K_SET (tile, k * 33 + column, K_LOAD (x, o0 + (at_a + column) + (at_b + k) * $step_b));
  K_BARRIER ();
  for (unsigned int k = row; k < 32; k += 8)
    if (at_a + k < $a && at_b + column < $b)
      K_STORE (y, o1 + (at_a + k) * $step_a + (at_b + column), ($type_x) K_GET (tile, column * 33 + k));
}
