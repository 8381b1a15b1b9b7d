#include "config.h"

#include "core/query/condition.h"

#include <math.h>
#include <string.h>

static const char *const relations[IR_N_RELATIONS] = {
  [IR_RELATION_GREATER] = ">",
  [IR_RELATION_GREATER_EQUAL] = ">=",
  [IR_RELATION_LESS] = "<",
  [IR_RELATION_LESS_EQUAL] = "<=",
};

/**
 * ir_relation_text:
 * @relation: a relation
 *
 * Returns: (transfer none): such as ">="
 */
const char *
ir_relation_text (IrRelation relation)
{
  return relations[relation];
}

/**
 * ir_relation_read:
 * @text: such as ">= 5"
 * @relation: (out): the relation that @text begins with; the longest one
 *
 * Returns: what follows it; @text itself, and @relation as it was: there is none
 */
const char *
ir_relation_read (const char *text, IrRelation *relation)
{
  gsize length = 0;

  for (guint i = 0; i < IR_N_RELATIONS; i++)
    if (g_str_has_prefix (text, relations[i]) && strlen (relations[i]) > length)
      {
        *relation = i;
        length = strlen (relations[i]);
      }
  return text + length;
}

/**
 * ir_relation_holds:
 * @relation: how @x and @limit are compared
 * @x: a number; NaN holds in none
 * @limit: a number
 *
 * Returns: whether it is so
 */
gboolean
ir_relation_holds (IrRelation relation, double x, double limit)
{
  return relation == IR_RELATION_GREATER         ? x > limit
         : relation == IR_RELATION_GREATER_EQUAL ? x >= limit
         : relation == IR_RELATION_LESS          ? x < limit
                                                 : x <= limit;
}

/**
 * ir_amount_read:
 * @text: a number, and behind it nothing, k, M, G or T, or a unit of bytes: B, kB, MB, GB, KiB, MiB, GiB
 * @kilo: what k, K, M, G and T alone count in: 1000, or 1024 of bytes
 * @share: whether it may be a part, with % behind it: 50% is 0.5
 * @amount: (out): the number
 *
 * Returns: whether @text is all of that, and finite
 */
gboolean
ir_amount_read (const char *text, double kilo, gboolean share, double *amount)
{
  const struct
  {
    const char *name;
    double factor;
  } units[] = {
    { "", 1 },
    { "%", share ? 0.01 : NAN },
    { "B", 1 },
    { "k", kilo },
    { "K", kilo },
    { "M", kilo * kilo },
    { "G", kilo * kilo * kilo },
    { "T", kilo * kilo * kilo * kilo },
    { "kB", 1e3 },
    { "KB", 1e3 },
    { "MB", 1e6 },
    { "GB", 1e9 },
    { "KiB", 0x1p10 },
    { "MiB", 0x1p20 },
    { "GiB", 0x1p30 },
  };
  g_autofree char *unit = NULL;
  char *end;

  *amount = g_ascii_strtod (text, &end);
  if (end == text || !isfinite (*amount))
    return FALSE;
  unit = g_strstrip (g_strdup (end));
  for (guint i = 0; i < G_N_ELEMENTS (units); i++)
    if (strcmp (units[i].name, unit) == 0)
      {
        *amount *= units[i].factor;
        return isfinite (*amount);
      }
  return FALSE;
}
