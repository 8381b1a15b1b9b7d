IR_KERNEL ($name) (const $storage *x, $storage *y)
{
  K_SHARED ($compute, parts, 8);
  $index base = q_$name (K_BLOCK);
  $compute s = $start;

  for ($index j = K_THREAD; j < $n; j += $threads)
    s = c_$name (s, m_$name ($load (K_LOAD (x, base + p_$name (j)))));
  s = t_$name (s, parts, 8);
  if (K_THREAD == 0)
    K_STORE (y, K_BLOCK, $store (e_$name (s)));
}
