/* Functions of all kernels, for each type of real numbers. What is no number wins. */
K_FUNCTION $compute
k_max$f ($compute a, $compute b)
{
  return a != a ? a : b != b || b > a ? b : a;
}

K_FUNCTION $compute
k_min$f ($compute a, $compute b)
{
  return a != a ? a : b != b || b < a ? b : a;
}

K_FUNCTION $compute
k_add$f ($compute a, $compute b)
{
  return a + b;
}

