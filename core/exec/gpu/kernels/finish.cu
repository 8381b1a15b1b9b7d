/* What fused operators do behind a product that a library has computed, in its place. */
$finishing
IR_KERNEL ($name) ($parameters)
{
$each
  K_STORE (y, i, $store_y (e_$name ($load_y (K_LOAD (y, i))$plus, i$arguments)));
}
