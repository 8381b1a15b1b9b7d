/* What follows a sum before it is stored: an addend, an activation. Element @o of the result; what parts of
 * the operator round to the element type is rounded here. */
K_FUNCTION $compute
r_$name ($compute v)
{
  return $load ($store (v));
}

K_FUNCTION $compute
e_$name ($compute v, $index o$declarations)
{
  $compute a = r_$name (v);
$steps
  return $activation;
}

