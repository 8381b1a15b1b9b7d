/* Losses of targets, of each or of all together; those of all are summed up by one block, in a fixed order. */
IR_KERNEL ($name) ($parameters)
{
  K_SHARED ($compute, parts, 8);
  $compute sum = 0, total = 0;

  for ($index place = $first; place < $n; place += $step)
    {
      k_i64 c = (k_i64) K_LOAD (targets, place);
      $index base = place / $inner * ($classes * $inner) + place % $inner;
      $compute weight = 0, value = 0, shift = 0;
$shift
      if ($counts)
        {
          if (c < 0 || c >= $classes)
            K_FAULT (fault, 2u);
          else
            {
              weight = $weight;
              value = -weight * ($load (K_LOAD (x, base + c * $inner)) - shift);
            }
        }
      sum += value;
      total += weight;
$keep    }
$finish}
