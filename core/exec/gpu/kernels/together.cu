/* Of all threads of a block, the same to each. @parts: an element for each warp; it may be used again at
 * once. */
K_FUNCTION $compute
$function ($compute v, $compute *parts, unsigned int warps)
{
  for (int mask = 16; mask > 0; mask /= 2)
    v = $joining (v, K_SHUFFLE_XOR (v, mask));
  K_BARRIER ();
  if (K_THREAD % 32 == 0)
    K_SET (parts, K_THREAD / 32, v);
  K_BARRIER ();
  v = K_GET (parts, 0);
  for (unsigned int i = 1; i < warps; i++)
    v = $joining (v, K_GET (parts, i));
  return v;
}

