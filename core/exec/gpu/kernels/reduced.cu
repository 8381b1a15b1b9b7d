/* q: where those that belong to element i begin; p: where element j of them is, from there. */
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

