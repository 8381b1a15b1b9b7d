/* Moves elements, each from its place to another. */
IR_KERNEL ($name) ($parameters)
{
$each
$offsets
  K_STORE (y, o1, K_LOAD (x, o0));
}
