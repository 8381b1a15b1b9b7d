/* A reduction by a block for each element of the result, or by a thread where few elements go into it.
 * q: where those of a result begin; p: where element j of them is, from there. */
K_FUNCTION $index
q_$name ($index i)
{
$kept  return o0;
}

K_FUNCTION $index
p_$name ($index j)
{
$reduced  return o0;
}

K_FUNCTION $compute
c_$name ($compute s, $compute v)
{
  return $combine;
}

K_FUNCTION $compute
m_$name ($compute v)
{
  return $map;
}

K_FUNCTION $compute
e_$name ($compute s)
{
  return $end;
}

