/* Products of matrices by tiles of 64 rows and 64 columns: 256 threads, each with four rows and four
 * columns, 16 apart, over 16 steps of k at a time. Where operands begin in a batch is said by a and b. The sum of an
 * element goes along k, whatever the tiles are. */
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
  K_SHARED ($sum, ta, 1024);
  K_SHARED ($sum, tb, 1024);
  $index tile = K_BLOCK % ($tiles_m * $tiles_n), batch = K_BLOCK / ($tiles_m * $tiles_n);
  $index row = tile / $tiles_n * 64u, column = tile % $tiles_n * 64u;
  $index at_a = a_$name (batch), at_b = b_$name (batch);
  unsigned int t = K_THREAD, tr = t / 16, tc = t % 16;
  $sum sum[16];

  for (int i = 0; i < 16; i++)
    sum[i] = 0;
  for ($index k = 0; k < $k; k += 16)
    {
      for (unsigned int i = t; i < 1024; i += 256)
        {
          $index m = row + i / 16, ka = k + i % 16, n = column + i % 64, kb = k + i / 64;
          $sum va = 0, vb = 0;
          if (m < $m && ka < $k)
            va = $value_a;
          if (n < $n && kb < $k)
            vb = $value_b;
          K_SET (ta, i, va);
          K_SET (tb, i, vb);
        }
      K_BARRIER ();
      for (unsigned int q = 0; q < 16; q++)
        for (int i = 0; i < 4; i++)
          {
            $sum va = K_GET (ta, (tr + i * 16) * 16 + q);
            for (int j = 0; j < 4; j++)
              sum[i * 4 + j] += va * K_GET (tb, q * 64 + tc + j * 16);
          }
      K_BARRIER ();
    }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      {
        $index m = row + tr + i * 16, n = column + tc + j * 16;
        if (m < $m && n < $n)
          {
            $index o = (batch * $m + m) * $n + n;
            $sum s = sum[i * 4 + j];
            K_STORE (y, o, $result);
          }
      }
}
