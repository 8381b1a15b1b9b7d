/* Functions of all kernels. What is no number wins. */
K_FUNCTION float
k_maxf (float a, float b)
{
  return a != a ? a : b != b || b > a ? b : a;
}

K_FUNCTION double
k_max (double a, double b)
{
  return a != a ? a : b != b || b > a ? b : a;
}

K_FUNCTION float
k_minf (float a, float b)
{
  return a != a ? a : b != b || b < a ? b : a;
}

K_FUNCTION double
k_min (double a, double b)
{
  return a != a ? a : b != b || b < a ? b : a;
}

/* Of all threads of a block, the same to each. @parts: an element for each warp; it may be used again at
 * once. */
K_FUNCTION float
k_block_maxf (float v, float *parts, unsigned int warps)
{
  for (int mask = 16; mask > 0; mask /= 2)
    v = k_maxf (v, K_SHUFFLE_XOR (v, mask));
  K_BARRIER ();
  if (K_THREAD % 32 == 0)
    K_SET (parts, K_THREAD / 32, v);
  K_BARRIER ();
  v = K_GET (parts, 0);
  for (unsigned int i = 1; i < warps; i++)
    v = k_maxf (v, K_GET (parts, i));
  return v;
}

K_FUNCTION double
k_block_max (double v, double *parts, unsigned int warps)
{
  for (int mask = 16; mask > 0; mask /= 2)
    v = k_max (v, K_SHUFFLE_XOR (v, mask));
  K_BARRIER ();
  if (K_THREAD % 32 == 0)
    K_SET (parts, K_THREAD / 32, v);
  K_BARRIER ();
  v = K_GET (parts, 0);
  for (unsigned int i = 1; i < warps; i++)
    v = k_max (v, K_GET (parts, i));
  return v;
}

K_FUNCTION float
k_block_sumf (float v, float *parts, unsigned int warps)
{
  for (int mask = 16; mask > 0; mask /= 2)
    v += K_SHUFFLE_XOR (v, mask);
  K_BARRIER ();
  if (K_THREAD % 32 == 0)
    K_SET (parts, K_THREAD / 32, v);
  K_BARRIER ();
  v = K_GET (parts, 0);
  for (unsigned int i = 1; i < warps; i++)
    v += K_GET (parts, i);
  return v;
}

K_FUNCTION double
k_block_sum (double v, double *parts, unsigned int warps)
{
  for (int mask = 16; mask > 0; mask /= 2)
    v += K_SHUFFLE_XOR (v, mask);
  K_BARRIER ();
  if (K_THREAD % 32 == 0)
    K_SET (parts, K_THREAD / 32, v);
  K_BARRIER ();
  v = K_GET (parts, 0);
  for (unsigned int i = 1; i < warps; i++)
    v += K_GET (parts, i);
  return v;
}

