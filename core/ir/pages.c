/* Memory of values and packed weights: on large pages where that is worth it, as a run that goes
 * through some megabytes otherwise waits for entries of page tables at every 4 KiB. */
#include "config.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "core/ir/pages.h"

#define LARGE_PAGE (2 << 20) /* bytes */

/**
 * ir_pages_new:
 * @bytes: how much is needed
 *
 * Only whole large pages are asked for, so that nothing is resident that nobody writes. What is in
 * the memory is not defined.
 *
 * Returns: (nullable): the memory, aligned to 64 bytes or more, to be freed with free(); %NULL if
 *   there is not enough
 */
gpointer
ir_pages_new (gsize bytes)
{
  gboolean large = bytes >= LARGE_PAGE;
  gpointer memory = NULL;

  if (posix_memalign (&memory, large ? LARGE_PAGE : IR_ALIGN_BYTES, MAX (bytes, IR_ALIGN_BYTES)) !=
      0)
    return NULL;
#ifdef MADV_HUGEPAGE
  if (large) /* where the system has none, they are as good as before */
    madvise (memory, bytes / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
#endif
  return memory;
}
