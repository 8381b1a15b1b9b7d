/* A thread for each large thing that is let go: while many of them are under way, those who make
 * more get that much less of the processor, so they do not pile up. */
#include "config.h"

#include "core/ir/release.h"

#include <malloc.h>

#define MANY (1 << 16) /* about a hundredth of a second */

typedef struct
{
  gpointer data;
  GDestroyNotify free_func;
} Release;

static gpointer
release (gpointer user)
{
  Release *self = user;

  self->free_func (self->data);
  g_free (self);
  return NULL;
}

/**
 * ir_release:
 * @data: (transfer full): what nobody needs any more
 * @free_func: gives it back; from any thread
 * @n: how many parts it has that are given back one by one
 *
 * Gives it back now, or on a thread of its own where that would take long.
 */
void
ir_release (gpointer data, GDestroyNotify free_func, guint64 n)
{
  if (n >= MANY)
    {
      Release *self = g_new (Release, 1);
      *self = (Release){ data, free_func };
      GThread *thread = g_thread_try_new ("irscope-release", release, self, NULL);
      if (thread != NULL)
        {
          g_thread_unref (thread);
          return;
        }
      g_free (self);
    }
  free_func (data);
}

/**
 * ir_long_array_unref:
 * @array: (transfer full): an array that only the caller has
 *
 * As g_ptr_array_unref(), without the caller waiting for it.
 */
void
ir_long_array_unref (IrLongArray *array)
{
  ir_release (array, (GDestroyNotify) g_ptr_array_unref, array->len);
}

/**
 * ir_release_steadily:
 *
 * For main(). By itself the C library sets small pieces aside that are given back, and puts all of
 * them together within some later call: for a tenth of a second where they are millions. After this
 * it puts each together when it is given back.
 */
void
ir_release_steadily (void)
{
#ifdef M_MXFAST
  mallopt (M_MXFAST, 0);
#endif
}
