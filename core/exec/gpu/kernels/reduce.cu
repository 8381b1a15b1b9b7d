/* A reduction by a block for each element of the result, or by a thread where few elements go into it. */
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

