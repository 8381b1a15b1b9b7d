IR_KERNEL ($name) (const $storage *x, $storage *y)
{
  $index i = ($index) K_BLOCK * $threads + K_THREAD, base;
  $compute s = $start;

  if (i >= $results)
    return;
  base = q_$name (i);
  for ($index j = 0; j < $n; j++)
    s = c_$name (s, m_$name ($load (K_LOAD (x, base + p_$name (j)))));
  K_STORE (y, i, $store (e_$name (s)));
}
