/* Products of matrices of 16-bit elements by tensor cores, with sums in float: tiles of 64 rows and 64 columns,
 * 16 steps of k at a time. Each of eight warps has 16 rows and 32 columns. In shared memory a word has two
 * elements that follow in k; rows are 12 words apart, so that the lanes that read are in different banks. */
K_FUNCTION $index
a_$name ($index i)
{
$batch_a  return o0;
}

K_FUNCTION $index
b_$name ($index i)
{
$batch_b  return o0;
}

$finishing
IR_KERNEL ($name) ($parameters)
{
  K_SHARED (unsigned int, ta, 768);
  K_SHARED (unsigned int, tb, 768);
  $index tile = K_BLOCK % ($tiles_m * $tiles_n), batch = K_BLOCK / ($tiles_m * $tiles_n);
  $index row = tile / $tiles_n * 64u, column = tile % $tiles_n * 64u;
  $index at_a = a_$name (batch), at_b = b_$name (batch);
  unsigned int t = K_THREAD, group = t % 32 / 4, lane = t % 4;
  unsigned int first_row = t / 32 % 4 * 16, first_column = t / 128 * 32;
  float sum[16];

  for (int i = 0; i < 16; i++)
    sum[i] = 0;
  for ($index k = 0; k < $k; k += 16)
    {
      for (unsigned int i = t; i < 512; i += 256)
        {
          $index m = row + i / 8, n = column + i % 64;
          unsigned int va = 0, vb = 0;
          for (unsigned int half = 0; half < 2; half++)
            {
              $index ka = k + i % 8 * 2 + half, kb = k + i / 64 * 2 + half;
              if (m < $m && ka < $k)
                va |= (unsigned int) K_LOAD (x, at_a + m * $step_m + ka * $step_ka) << half * 16;
              if (n < $n && kb < $k)
                vb |= (unsigned int) K_LOAD (w, at_b + kb * $step_kb + n * $step_n) << half * 16;
            }
          K_SET (ta, i / 8 * 12 + i % 8, va);
          K_SET (tb, i % 64 * 12 + i / 64, vb);
        }
      K_BARRIER ();
      unsigned int a[4], b[2];
      for (unsigned int i = 0; i < 4; i++)
        a[i] = K_GET (ta, (first_row + group + i % 2 * 8) * 12 + lane + i / 2 * 4);
      for (unsigned int j = 0; j < 4; j++)
        {
          for (unsigned int i = 0; i < 2; i++)
            b[i] = K_GET (tb, (first_column + j * 8 + group) * 12 + lane + i * 4);
          $mma (sum + j * 4, a, b);
        }
      K_BARRIER ();
    }
  for (unsigned int j = 0; j < 4; j++)
    for (unsigned int i = 0; i < 4; i++)
      {
        $index m = row + first_row + group + i / 2 * 8;
        $index n = column + first_column + j * 8 + lane * 2 + i % 2;
        if (m < $m && n < $n)
          {
            $index o = (batch * $m + m) * $n + n;
            float s = sum[j * 4 + i];
            K_STORE (y, o, $result);
          }
      }
}
