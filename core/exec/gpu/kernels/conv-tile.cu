/* A convolution as a product of matrices (implicit GEMM), by tiles of $bm channels of the result and $bn of its
 * places, of all samples: rows of the kernel times what of the input lies under its taps, $bk steps of both at a
 * time. While one part of shared memory is multiplied, the next is read. $split groups of threads share the
 * steps, and their sums come together in their order at the end; each thread has $tm channels and $tn places,
 * four in a row. */
$finishing
IR_KERNEL ($name) ($parameters)
{
  K_SHARED (float, ta, $size_a);
  K_SHARED (float, tb, $size_b);
  unsigned int t = K_THREAD, portion = t / $group_threads, tr = t / $tx % $ty, tc = t % $tx;
  $index g = K_BLOCK / ($tiles_m * $tiles_n);
  $index row = K_BLOCK % $tiles_m * $bm, column = K_BLOCK / $tiles_m % $tiles_n * $bn;
  $index n = column + t % $bn;
  int known = n < $n;
  float sum[$tm * $tn], va[$loads_a], vb[$loads_b];

$begin
  for (unsigned int i = 0; i < $tm * $tn; i++)
    sum[i] = 0;
  for (unsigned int first = 0; first < $k + $bk; first += $bk)
    {
      unsigned int part = first / $bk % 2;
      if (first < $k)
        {
          for (unsigned int e = 0; e < $loads_a; e++)
            {
              unsigned int i = t + e * $threads, k = first + i % $bk;
              $index m = row + i / $bk;
              va[e] = 0;
              if (m < $channels_out && k < $k)
                va[e] = $load_w (K_LOAD (w, (g * $channels_out + m) * $k + k));
            }
          for (unsigned int e = 0; e < $loads_b; e++)
            {
              unsigned int k = first + (t + e * $threads) / $bn;
              vb[e] = 0;
$under              if (inside)
                vb[e] = $load_x (K_LOAD (x, $at));
            }
        }
      if (first > 0)
        K_UNROLL for (unsigned int q = 0; q < $bk / $split; q++)
          {
            unsigned int step = (1 - part) * $bk + portion * ($bk / $split) + q;
            float a[$tm], b[$tn];
            for (unsigned int i = 0; i < $tm; i += 4)
              k_four (a + i, K_GET4 (ta, step * $pitch + i * $ty + tr * 4));
            for (unsigned int j = 0; j < $tn; j += 4)
              k_four (b + j, K_GET4 (tb, step * $bn + j * $tx + tc * 4));
            for (unsigned int i = 0; i < $tm; i++)
              for (unsigned int j = 0; j < $tn; j++)
                sum[i * $tn + j] = fmaf (a[i], b[j], sum[i * $tn + j]);
          }
      if (first < $k)
        {
          for (unsigned int e = 0; e < $loads_a; e++)
            {
              unsigned int i = t + e * $threads;
              K_SET (ta, (part * $bk + i % $bk) * $pitch + i / $bk, va[e]);
            }
          for (unsigned int e = 0; e < $loads_b; e++)
            K_SET (tb, part * $bk * $bn + t + e * $threads, vb[e]);
        }
      K_BARRIER ();
    }
$together
  for (unsigned int i = 0; i < $tm; i++)
    {
      $index m = row + i / 4 * $ty * 4 + tr * 4 + i % 4, c = g * $channels_out + m;
      float plus = 0;
      if ($mine m < $channels_out)
        plus = $bias;
      for (unsigned int j = 0; j < $tn; j++)
        {
          n = column + j / 4 * $tx * 4 + tc * 4 + j % 4;
          $index o = (n / $out_plane * $all_channels + c) * $out_plane + n % $out_plane;
          if ($mine m < $channels_out && n < $n)
            K_STORE (y, o, $store_y (e_$name (sum[i * $tn + j]$plus, o$arguments)));
        }
    }
}
