/* A thread for each element of the result. */
$function
IR_KERNEL ($name) ($parameters)
{
$each
$offsets
  K_STORE (y, i, $value);
}
