/* Choices of CPU kernels that do not depend on the machine. */
#pragma once

#include <glib.h>
#include <stdio.h>

/* Limits oneDNN, and the kernels that go by it, to AVX2; before anything of it is called. FALSE: the machine has no AVX2,
 * which is said as TAP. */
static inline gboolean
isa_limit (void)
{
#if defined(__x86_64__) && defined(__GNUC__)
  if (__builtin_cpu_supports ("avx2"))
    return g_setenv ("ONEDNN_MAX_CPU_ISA", "AVX2", TRUE);
#endif
  puts ("1..0 # SKIP what is kept is of machines with AVX2");
  return FALSE;
}
