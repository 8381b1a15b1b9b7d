IR_KERNEL ($name) (const $storage *x, $storage *y)
{
  K_SHARED ($compute, parts, 8);
  $index base = q_$name (K_BLOCK);
  $compute s = $start;

  for ($index j = K_THREAD; j < $n; j += $threads)
    s = c_$name (s, m_$name ($load (K_LOAD (x, base + p_$name (j)))));
  for (int mask = 16; mask > 0; mask /= 2)
    s = c_$name (s, K_SHUFFLE_XOR (s, mask));
  if (K_THREAD % 32 == 0)
    K_SET (parts, K_THREAD / 32, s);
  K_BARRIER ();
  if (K_THREAD > 0)
    return;
  for (int i = 1; i < 8; i++)
    s = c_$name (s, K_GET (parts, i));
  K_STORE (y, K_BLOCK, $store (e_$name (s)));
}
