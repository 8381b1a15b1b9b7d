/* A block for 32 columns of dx and dy: each warp has its share of the rows, and the first adds them up in their order. */
IR_KERNEL ($name) ($parameters)
{
  K_SHARED ($compute, parts, 512);
  $index column = ($index) K_BLOCK * 32 + K_THREAD % 32;
  unsigned int warp = K_THREAD / 32, lane = K_THREAD % 32;
  $compute sum = 0, along = 0;

  for ($index row = warp; column < $n && row < $rows; row += $warps)
    {
      $compute d = $load_dy (K_LOAD (dy, row * $n + column));
      sum += d;
      along += d * K_LOAD (dx, row * $n + column);
    }
  K_SET (parts, warp * 32 + lane, sum);
  K_SET (parts, 256 + warp * 32 + lane, along);
  K_BARRIER ();
  if (warp == 0 && column < $n)
    {
      for (unsigned int i = 1; i < $warps; i++)
        {
          sum += K_GET (parts, i * 32 + lane);
          along += K_GET (parts, 256 + i * 32 + lane);
        }
$sums    }
}
