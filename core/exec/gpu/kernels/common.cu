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

