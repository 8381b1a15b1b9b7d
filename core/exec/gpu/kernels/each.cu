  $index i = ($index) K_BLOCK * $threads + K_THREAD;

  if (i >= $n)
    return;
