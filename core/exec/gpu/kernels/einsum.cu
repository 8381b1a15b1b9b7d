/* A thread for each element of the result. Places of operands are those of its indices, and of those that are
 * summed. */
IR_KERNEL ($name) ($parameters)
{
$each
$offsets$starts
  $compute s = 0;

  for ($index j = 0; j < $count; j++)
    {
$places
      s += $product;
    }
  K_STORE (y, i, $result);
}
