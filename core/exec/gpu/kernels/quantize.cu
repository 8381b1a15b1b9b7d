/* To the nearest whole number, of two the even one, within the range of the type; what is no number is 0. */
K_FUNCTION k_i64
q_$name (float v, k_i64 zero)
{
  k_i64 whole = (k_i64) k_maxf (-4294967296.0f, k_minf (4294967296.0f, rintf (v))) + zero;

  return v != v ? 0 : whole < $low ? $low : whole > $high ? $high : whole;
}

