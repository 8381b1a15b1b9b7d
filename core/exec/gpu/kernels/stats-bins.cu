/* The histogram of what stats.cu has been over, whose numbers say the range: each thread has counts of its own, and
 * each block gives a part. */
IR_KERNEL ($name) (const $type *x, const k_u64 *sizes, const double *numbers, unsigned int *bins)
{
  K_SHARED (double, parts, 8);
  K_SHARED (unsigned int, counts, $threads * $threads);
  k_u64 n = K_LOAD (sizes, 0), n_parts = K_LOAD (sizes, 1), each = (n + n_parts - 1) / n_parts;
  k_u64 n_blocks = (n + $block - 1) / $block, first = K_BLOCK * each, end = first + each < n ? first + each : n;
  double low = K_INFINITY, high = -K_INFINITY, width;
  unsigned int sum = 0;

  for (k_u64 i = K_THREAD; i < n_blocks; i += $threads)
    {
      low = k_min (low, K_LOAD (numbers, i * 5));
      high = k_max (high, K_LOAD (numbers, i * 5 + 1));
    }
  low = k_block_min (low, parts, $threads / 32);
  high = k_block_max (high, parts, $threads / 32);
  width = (high - low) / $threads;
  for (unsigned int k = 0; k < $threads; k++)
    K_SET (counts, k * $threads + K_THREAD, 0);
  for (k_u64 i = first + K_THREAD; i < end; i += $threads)
    {
      double v = (double) $load (K_LOAD (x, i)), at = (v - low) / width;
      at = at > $threads - 1 ? $threads - 1 : at;
      at = at > 0 ? at : 0; /* also where the width is 0 and it is no number */
      unsigned int place = (unsigned int) at * $threads + K_THREAD;
      if (v - v == 0)
        K_SET (counts, place, K_GET (counts, place) + 1);
    }
  K_BARRIER ();
  for (unsigned int k = 0; k < $threads; k++)
    sum += K_GET (counts, K_THREAD * $threads + (k + K_THREAD) % $threads);
  K_STORE (bins, K_BLOCK * $threads + K_THREAD, sum);
}
