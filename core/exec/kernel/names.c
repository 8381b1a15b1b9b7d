/* Which of several a name asks for. */
#include "config.h"

#include "core/exec/kernel/names.h"

/**
 * ir_name_find:
 * @names: (array length=n): what they are called
 * @n: how many there are
 * @name: (nullable): a name
 *
 * Returns: the index of @name; -1: none is called so
 */
int
ir_name_find (const char *const *names, guint n, const char *name)
{
  for (guint i = 0; i < n; i++)
    if (g_strcmp0 (names[i], name) == 0)
      return (int) i;
  return -1;
}
