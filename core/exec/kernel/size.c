#include "config.h"

#include "core/exec/kernel/size.h"

#include <string.h>

/**
 * ir_size_parse:
 * @text: bytes, or with K, M, G or T in powers of 1024, or a part of @whole: "500000", "20M", "50%"
 * @whole: bytes that a part is of; 0: no part is allowed
 * @bytes: (out): at least 1, but for parts
 *
 * Returns: %FALSE if that is no size from 1 on
 */
gboolean
ir_size_parse (const char *text, guint64 whole, guint64 *bytes)
{
  static const char units[] = "KMGT";
  char *end = NULL;
  guint64 number = g_ascii_isdigit (text[0]) ? g_ascii_strtoull (text, &end, 10) : 0, scale = 1;
  const char *unit = end != NULL && *end != '\0' ? strchr (units, g_ascii_toupper (*end)) : NULL;

  if (unit != NULL)
    {
      scale = G_GUINT64_CONSTANT (1) << (10 * (unit - units + 1));
      end++;
    }
  else if (whole > 0 && end != NULL && strcmp (end, "%") == 0 && number > 0 && number <= 1000)
    {
      *bytes = (guint64) ((double) whole * (double) number / 100);
      return TRUE;
    }
  if (number == 0 || *end != '\0' || number > G_MAXINT64 / scale)
    return FALSE;
  *bytes = number * scale;
  return TRUE;
}
