  /* The sums of all groups of threads, in their order, become those of the first. */
  K_SHARED (float, whole, $bm * $bn);
  for (unsigned int from = 1; from < $split; from++)
    {
      for (unsigned int i = 0; portion == from && i < $tm * $tn; i++)
        K_SET (whole, i * $group_threads + t % $group_threads, sum[i]);
      K_BARRIER ();
      for (unsigned int i = 0; portion == 0 && i < $tm * $tn; i++)
        sum[i] += K_GET (whole, i * $group_threads + t);
      K_BARRIER ();
    }
