#include "config.h"

#include "views/count.h"

#include <string.h>

/**
 * ir_count_text:
 * @count: how many
 *
 * Returns: (transfer full): the number with a comma between groups of three digits, in every locale
 */
char *
ir_count_text (guint64 count)
{
  g_autofree char *digits = g_strdup_printf ("%" G_GUINT64_FORMAT, count);
  const gsize n = strlen (digits);
  g_autoptr (GString) text = g_string_sized_new (n + n / 3 + 1);

  for (gsize i = 0; i < n; i++)
    {
      if (i > 0 && (n - i) % 3 == 0)
        g_string_append_c (text, ',');
      g_string_append_c (text, digits[i]);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}
