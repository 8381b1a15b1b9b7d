/* Four floats in a row, as elements. */
K_FUNCTION void
k_four (float *to, k_float4 v)
{
  to[0] = v.x;
  to[1] = v.y;
  to[2] = v.z;
  to[3] = v.w;
}
