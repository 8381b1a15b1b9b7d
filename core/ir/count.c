#include "config.h"

#include "core/ir/count.h"

#include <math.h>
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

/**
 * ir_flops_text:
 * @flops: how many
 * @partial: of some nodes it is not known
 *
 * Returns: (transfer full): the number in the unit that leaves one to three digits before the point
 */
char *
ir_flops_text (guint64 flops, gboolean partial)
{
  static const char *const units[] = { "", "k", "M", "G", "T", "P" };
  double number = (double) flops;
  guint unit = 0;

  for (; number >= 1000 && unit + 1 < G_N_ELEMENTS (units); unit++)
    number /= 1000;
  return g_strdup_printf ("%s%.4g %sFLOP", partial ? "at least " : "", number, units[unit]);
}

/**
 * ir_percent_text:
 * @before: an amount that is not 0
 * @after: what it became
 *
 * Returns: (transfer full): by how much, in one piece: "−15 %"
 */
char *
ir_percent_text (double before, double after)
{
  const double percent = round (100 * (after / before - 1));

  return g_strdup_printf ("%s%.0f\302\240%%", percent < 0 ? "−" : "+", fabs (percent));
}

/**
 * ir_unbroken:
 * @text: an amount with its unit
 *
 * Returns: (transfer full): @text with no-break spaces
 */
char *
ir_unbroken (const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, " ", -1);

  return g_strjoinv ("\302\240", words);
}
