K_FUNCTION k_u64
mix_$name (k_u64 sum, k_u64 word)
{
  sum = (sum ^ word) * 0x9fb21c651e98df25ull;
  return sum ^ (sum >> 29);
}

K_FUNCTION k_u64
fold_$name (k_u64 a, k_u64 b)
{
  return mix_$name (mix_$name (1, a), b);
}

/* Of the eight threads of a block of elements, in the order of the host: core/exec/kernel/stats.c. */
K_FUNCTION double
add_$name (double x)
{
  x += K_SHUFFLE_XOR (x, 4);
  x += K_SHUFFLE_XOR (x, 1);
  return x + K_SHUFFLE_XOR (x, 2);
}

K_FUNCTION k_u64
fold_all_$name (k_u64 sum, unsigned int lane)
{
  k_u64 other = K_SHUFFLE_XOR (sum, 4);
  sum = lane & 4 ? fold_$name (other, sum) : fold_$name (sum, other);
  other = K_SHUFFLE_XOR (sum, 1);
  sum = lane & 1 ? fold_$name (other, sum) : fold_$name (sum, other);
  other = K_SHUFFLE_XOR (sum, 2);
  return lane & 2 ? fold_$name (other, sum) : fold_$name (sum, other);
}

/* What is known of each block of $block elements, eight threads for one; core/exec/kernel/stats-blocks.h says where
 * it is. Sums are in double. */
IR_KERNEL ($name) (const $type *x, const $word *words, const k_u64 *sizes, double *numbers, k_u64 *wholes)
{
  k_u64 n = K_LOAD (sizes, 0), block = (k_u64) K_BLOCK * $blocks + K_THREAD / 8, first = block * $block;
  unsigned int lane = K_THREAD % 8, count = first >= n ? 0 : n - first < $block ? (unsigned int) (n - first) : $block;
  double low = K_INFINITY, high = -K_INFINITY, sum = 0, scaled = 0, power = 0, squares = 0, mean = 0;
  k_u64 counts = 0, finite = 0, check = 0;

  for (unsigned int i = lane; i < count; i += 8)
    {
      double v = (double) $load (K_LOAD (x, first + i));
      if (v - v == 0)
        {
          low = v < low ? v : low;
          high = v > high ? v : high;
          sum += v;
          scaled += v / $block;
          power += v * v;
          finite++;
          counts += ((k_u64) (v == 0) << 3 * $bits) + ((k_u64) (v < 0) << 4 * $bits);
        }
      else
        counts += v != v ? (k_u64) 1 : v > 0 ? (k_u64) 1 << $bits : (k_u64) 1 << 2 * $bits;
    }
  for (unsigned int i = lane; i * $per < count; i += 8)
    {
      k_u64 word = 0;
      for (unsigned int k = 0; k < $per && i * $per + k < count; k++)
        word |= (k_u64) K_LOAD (words, first + i * $per + k) << 64 / $per * k;
      check = mix_$name (check, word);
    }
  for (unsigned int mask = 1; mask < 8; mask *= 2)
    {
      double other = K_SHUFFLE_XOR (low, mask);
      low = other < low ? other : low;
      other = K_SHUFFLE_XOR (high, mask);
      high = other > high ? other : high;
      counts += K_SHUFFLE_XOR (counts, mask);
      finite += K_SHUFFLE_XOR (finite, mask);
    }
  sum = add_$name (sum);
  scaled = add_$name (scaled);
  power = add_$name (power);
  check = fold_all_$name (check, lane);
  if (finite > 0)
    mean = count % 8 == 0 && finite == count && power - power == 0 ? sum / (double) count
                                                                    : scaled / (double) finite * $block;
  for (unsigned int i = lane; i < count; i += 8)
    {
      double v = (double) $load (K_LOAD (x, first + i)), apart = v - v == 0 ? v - mean : 0;
      squares += apart * apart;
    }
  squares = add_$name (squares);
  if (lane == 0 && count > 0)
    {
      K_STORE (numbers, block * 5, low == 0 ? 0 : low);
      K_STORE (numbers, block * 5 + 1, high == 0 ? 0 : high);
      K_STORE (numbers, block * 5 + 2, mean);
      K_STORE (numbers, block * 5 + 3, squares);
      K_STORE (numbers, block * 5 + 4, power);
      K_STORE (wholes, block * 2, counts);
      K_STORE (wholes, block * 2 + 1, check);
    }
}
