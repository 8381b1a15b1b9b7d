$places$functions$togetherIR_KERNEL ($name) ($parameters)
{
  K_SHARED ($compute, parts, 8);
  $index base = q_$name (K_BLOCK);
  $compute s = $start;

  for ($index j = K_THREAD; j < $count; j += $threads)
    s = c_$name (s, m_$name ($load (K_LOAD (x, base + p_$name (j)))));
  s = t_$name (s, parts, $warps);
  if (K_THREAD == 0)
    K_STORE (y, K_BLOCK, $store_y (e_$name (s)));
}
