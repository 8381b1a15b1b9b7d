/* A block for $bq rows of queries of one head, with $bk keys at a time: 16 x 16 threads, each with $rm rows and $cn keys
 * of the scores, and as many rows of the result. The softmax goes along: when a larger score comes, what has been
 * summed up is scaled down. Keys and values take turns in one part of shared memory. */
K_FUNCTION float
r_$name (float v)
{
  return $load ($store (v));
}

IR_KERNEL ($name) ($parameters)
{
  K_SHARED (float, query, $bq * $pitch);
  K_SHARED (float, tile, $bk * $tile_pitch);
  K_SHARED (float, weights, $bq * ($bk + 4));
  k_i64 start = K_BLOCK % $row_tiles * $bq, head = K_BLOCK / $row_tiles % $heads;
  k_i64 batch = K_BLOCK / ($row_tiles * $heads), shared = head / $group;
  unsigned int tr = K_THREAD / 16 * $rm, tc = K_THREAD % 16;
  float sums[$rm * $columns], most[$rm], totals[$rm];

$valid
  for (unsigned int i = 0; i < $rm; i++)
    {
      most[i] = -K_INFINITY;
      totals[i] = 0;
    }
  for (unsigned int i = 0; i < $rm * $columns; i++)
    sums[i] = 0;
  for (unsigned int i = K_THREAD; i < $bq * $width; i += 256)
    {
      unsigned int d = i % $width;
      k_i64 row = start + i / $width;
      float element = 0;
      if (row < $rows && d < $size)
        element = r_$name ($load_q (K_LOAD (q, $query + d)) * $root);
      K_SET (query, i / $width * $pitch + d, element);
    }
  for (k_i64 first = 0; first < $keys; first += $bk)
    {
      float scores[$rm * $cn];
      for (unsigned int i = K_THREAD; i < $bk * $width; i += 256)
        {
          unsigned int d = i % $width;
          k_i64 j = first + i / $width;
          float element = 0;
          if (j < $keys && d < $size)
            element = r_$name ($load_k ($key) * $root);
          K_SET (tile, i / $width * $pitch + d, element);
        }
      K_BARRIER ();
      for (unsigned int i = 0; i < $rm * $cn; i++)
        scores[i] = 0;
      for (unsigned int d = 0; d < $width; d += 4)
        {
          float a[$rm * 4], b[$cn * 4];
          for (unsigned int i = 0; i < $rm; i++)
            k_four (a + i * 4, K_GET4 (query, (tr + i) * $pitch + d));
          for (unsigned int i = 0; i < $cn; i++)
            k_four (b + i * 4, K_GET4 (tile, (tc + i * 16) * $pitch + d));
          for (unsigned int i = 0; i < $rm * $cn * 4; i++)
            scores[i / 4] = fmaf (a[i / 4 / $cn * 4 + i % 4], b[i / 4 % $cn * 4 + i % 4], scores[i / 4]);
        }
      for (unsigned int i = 0; i < $rm; i++)
        {
          k_i64 row = start + tr + i;
          float larger = most[i], factor, total = 0;
          for (unsigned int n = 0; n < $cn; n++)
            {
              k_i64 j = first + tc + n * 16;
              float s = -K_INFINITY;
              if (j < $keys && row < $rows)
                {
                  s = r_$name (scores[i * $cn + n]);
$scores                }
              scores[i * $cn + n] = s;
              larger = k_maxf (larger, s);
            }
          for (unsigned int lanes = 8; lanes > 0; lanes /= 2)
            larger = k_maxf (larger, K_SHUFFLE_XOR (larger, lanes));
          factor = most[i] == larger ? 1 : expf (most[i] - larger);
          for (unsigned int n = 0; n < $cn; n++)
            {
              float s = scores[i * $cn + n], weight = 0;
              if (s != -K_INFINITY || larger != -K_INFINITY)
                weight = expf (s - larger);
              total += weight;
              K_SET (weights, (tr + i) * ($bk + 4) + tc + n * 16, weight);
            }
          for (unsigned int lanes = 8; lanes > 0; lanes /= 2)
            total += K_SHUFFLE_XOR (total, lanes);
          totals[i] = totals[i] * factor + total;
          most[i] = larger;
          for (unsigned int c = 0; c < $columns; c++)
            sums[i * $columns + c] *= factor;
        }
      K_BARRIER ();
      for (unsigned int i = K_THREAD; i < $bk * $value_width; i += 256)
        {
          unsigned int n = i / $value_width, d = i % $value_width;
          float element = 0;
          if (first + n < $keys && d < $value_size)
            element = $load_v ($value);
          K_SET (tile, n * $value_pitch + d, element);
        }
      K_BARRIER ();
      for (unsigned int n = 0; n < $bk; n += 4)
        {
          float a[$rm * 4], values[4];
          for (unsigned int i = 0; i < $rm; i++)
            k_four (a + i * 4, K_GET4 (weights, (tr + i) * ($bk + 4) + n));
          for (unsigned int k = 0; k < 4; k++)
            for (unsigned int c = 0; c < $columns; c += 4)
              {
                k_four (values, K_GET4 (tile, (n + k) * $value_pitch + c * 16 + tc * 4));
                for (unsigned int i = 0; i < $rm * 4; i++)
                  sums[i / 4 * $columns + c + i % 4] = fmaf (a[i / 4 * 4 + k], values[i % 4], sums[i / 4 * $columns + c + i % 4]);
              }
        }
      K_BARRIER ();
    }
  for (unsigned int i = 0; i < $rm; i++)
    for (unsigned int c = 0; c < $columns; c++)
      {
        k_i64 row = start + tr + i;
        unsigned int d = c / 4 * 64 + tc * 4 + c % 4, e = i * $columns + c;
        float sum = totals[i];
        if (row < $rows && d < $value_size)
          K_STORE (y, $result + d, $store ($end));
      }
}
