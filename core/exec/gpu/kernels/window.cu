/* One thread for each element of the result: it visits the places of its window that lie inside. The
 * padding is no element of it. */
IR_KERNEL ($name) ($parameters)
{
  $index i = ($index) K_BLOCK * $threads + K_THREAD;
  $compute s = $start;

  if (i >= $n)
    return;
$digits$loops$visit$closings$finish}
