/* A block for each row, whose elements are $inner apart: finds the first $k elements in an order, one after
 * the other. In each round the threads look at what comes behind the last one that was found. */
K_FUNCTION int
p_$name ($compute_x a, $compute_x b)
{
  return $better;
}

/* Whether a, at one place, comes before b at another. */
K_FUNCTION int
o_$name ($compute_x a, k_i64 at, $compute_x b, k_i64 other)
{
  return p_$name (a, b) || (!p_$name (b, a) && at $tie other);
}

IR_KERNEL ($name) ($parameters)
{
  K_SHARED ($compute_x, parts, 8);
  K_SHARED (k_i64, places, 8);
  $index base = ($index) K_BLOCK / $inner * $inner * $n + K_BLOCK % $inner;
  $compute_x v = 0;
  k_i64 at = -1;

  for (k_i64 round = 0; round < $k; round++)
    {
      $compute_x last = v;
      k_i64 last_at = at;
      at = -1;
      for ($index j = K_THREAD; j < $n; j += $threads)
        {
          $compute_x x_j = $load_x (K_LOAD (x, base + j * $inner));
          if (round > 0 && !o_$name (last, last_at, x_j, j))
            continue;
          if (at < 0 || o_$name (x_j, j, v, at))
            {
              v = x_j;
              at = j;
            }
        }
      for (int mask = 16; mask > 0; mask /= 2)
        {
          $compute_x u = K_SHUFFLE_XOR (v, mask);
          k_i64 other = K_SHUFFLE_XOR (at, mask);
          if (other >= 0 && (at < 0 || o_$name (u, other, v, at)))
            {
              v = u;
              at = other;
            }
        }
      K_BARRIER ();
      if (K_THREAD % 32 == 0)
        {
          K_SET (parts, K_THREAD / 32, v);
          K_SET (places, K_THREAD / 32, at);
        }
      K_BARRIER ();
      for (unsigned int w = 0; w < $warps; w++)
        {
          $compute_x u = K_GET (parts, w);
          k_i64 other = K_GET (places, w);
          if (other >= 0 && (at < 0 || o_$name (u, other, v, at)))
            {
              v = u;
              at = other;
            }
        }
$take    }
}
