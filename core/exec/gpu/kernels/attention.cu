/* A block for each row of queries, with the scores of $threads keys at a time. The softmax goes along: when a
 * larger score comes, what has been summed up is scaled down. Each thread sums up the elements of values
 * from its own number on, $threads apart. */
K_FUNCTION $compute
r_$name ($compute v)
{
  return $load ($store (v));
}

IR_KERNEL ($name) ($parameters)
{
  K_SHARED ($compute, parts, 8);
  K_SHARED ($compute, query, $size);
  K_SHARED ($compute, weights, $threads);
  k_i64 row = K_BLOCK % $rows, head = K_BLOCK / $rows % $heads, batch = K_BLOCK / ($rows * $heads);
  k_i64 shared = head / $group;
  $compute sums[$n_sums], most = -K_INFINITY, sum = 0;

  for (int e = 0; e < $n_sums; e++)
    sums[e] = 0;
  for (unsigned int d = K_THREAD; d < $size; d += $threads)
    K_SET (query, d, r_$name ($load_q (K_LOAD (q, $query + d)) * $root));
$valid
  K_BARRIER ();
  for (k_i64 first = 0; first < $keys; first += $threads)
    {
      k_i64 j = first + K_THREAD;
      $compute s = -K_INFINITY, larger, factor, weight = 0;
      if (j < $keys)
        {
          s = 0;
          for (unsigned int d = 0; d < $size; d++)
            s += K_GET (query, d) * r_$name ($load_k ($key) * $root);
          s = r_$name (s);
$scores        }
      larger = k_max$f (most, k_block_max$f (s, parts, $warps));
      factor = most == larger ? 1 : exp$f (most - larger);
      if (s != -K_INFINITY || larger != -K_INFINITY)
        weight = exp$f (s - larger);
      sum = sum * factor + k_block_add$f (weight, parts, $warps);
      most = larger;
      K_SET (weights, K_THREAD, weight);
      K_BARRIER ();
      for (int e = 0; e < $n_sums; e++)
        {
          unsigned int d = K_THREAD + e * $threads;
          sums[e] *= factor;
          for (k_i64 n = 0; d < $value_size && n < $threads && first + n < $keys; n++)
            sums[e] += K_GET (weights, n) * $load_v ($value);
        }
    } /* the next weights come behind the barriers of their maximum */
  for (int e = 0; e < $n_sums; e++)
    {
      unsigned int d = K_THREAD + e * $threads;
      if (d < $value_size)
        K_STORE (y, $result + d, $store ($end));
    }
}
