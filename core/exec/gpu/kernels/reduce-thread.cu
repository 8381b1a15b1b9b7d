$places$functionsIR_KERNEL ($name) ($parameters)
{
$each
  $index base = q_$name (i);
  $compute s = $start;

  for ($index j = 0; j < $count; j++)
    s = c_$name (s, m_$name ($load (K_LOAD (x, base + p_$name (j)))));
  K_STORE (y, i, $store_y (e_$name (s)));
}
