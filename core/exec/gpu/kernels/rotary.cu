/* A thread for each element: turned against the other one of its pair. */
K_FUNCTION $compute
r_$name ($compute v)
{
  return $load ($store (v));
}

IR_KERNEL ($name) ($parameters)
{
$each
$places
  K_STORE (y, i, $store ($result));
}
