#include "config.h"

#include "core/look/scale.h"

#include <math.h>
#include <string.h>

#define MANY_TIMES 100.0 /* largest over smallest, from where on a logarithm says more */

/**
 * ir_scale_ref:
 * @scale: a scale
 *
 * Returns: (transfer full): the same
 */
IrScale *
ir_scale_ref (IrScale *scale)
{
  g_atomic_ref_count_inc (&scale->refs);
  return scale;
}

/**
 * ir_scale_unref:
 * @scale: (transfer full): a scale
 */
void
ir_scale_unref (IrScale *scale)
{
  if (!g_atomic_ref_count_dec (&scale->refs))
    return;
  for (guint i = 0; i < scale->n_classes; i++)
    g_free (scale->classes[i]);
  g_free (scale->title);
  g_free (scale->unit);
  g_free (scale);
}

static IrScale *
new_scale (const char *title, const char *unit)
{
  IrScale *scale = g_new0 (IrScale, 1);

  g_atomic_ref_count_init (&scale->refs);
  scale->title = g_strdup (title);
  scale->unit = g_strdup (unit);
  return scale;
}

/**
 * ir_scale_at:
 * @scale: a scale of numbers
 * @number: one
 *
 * Returns: its place on the scale, 0 … 1; what lies below a logarithmic scale is 0
 */
double
ir_scale_at (const IrScale *scale, double number)
{
  const double low = scale->is_log ? log (scale->low) : scale->low;
  const double high = scale->is_log ? log (scale->high) : scale->high;

  if (scale->is_log && number <= scale->low)
    return 0;
  if (high <= low)
    return number > 0 ? 1 : 0;
  return CLAMP (((scale->is_log ? log (number) : number) - low) / (high - low), 0, 1);
}

/* Amounts begin at 0, so that twice the colour is twice the amount; negative ones where they are. */
static void
measure (IrScale *scale, const IrSceneBox *boxes, guint n, IrScaleKind kind)
{
  double least = G_MAXDOUBLE, low = 0, high = -G_MAXDOUBLE;
  gboolean any_negative = FALSE;

  for (guint i = 0; i < n; i++)
    {
      const double amount = boxes[i].amount;

      if (isnan (amount))
        continue;
      scale->n++;
      high = MAX (high, amount);
      low = MIN (low, amount);
      any_negative |= amount < 0;
      if (amount > 0)
        least = MIN (least, amount);
    }
  if (scale->n == 0)
    high = 0;
  scale->low = low;
  scale->high = high;
  scale->is_log = !any_negative && least < G_MAXDOUBLE && least < high &&
                  (kind == IR_SCALE_LOG || (kind == IR_SCALE_AUTO && high > MANY_TIMES * least));
  if (scale->is_log)
    scale->low = least;
}

/**
 * ir_scale_apply:
 * @scene: a finished scene that nobody else reads yet
 * @title: what the numbers are
 * @unit: their unit, or ""
 * @kind: linear, logarithmic, or what suits them
 *
 * Gives each box with an amount its tint.
 *
 * Returns: (transfer full): the scale that was used
 */
IrScale *
ir_scale_apply (IrScene *scene, const char *title, const char *unit, IrScaleKind kind)
{
  IrScale *scale = new_scale (title, unit);
  guint n;
  IrSceneBox *boxes = (IrSceneBox *) ir_scene_boxes (scene, &n);

  measure (scale, boxes, n, kind);
  for (guint i = 0; i < n; i++)
    {
      double at;

      if (isnan (boxes[i].amount))
        continue;
      at = ir_scale_at (scale, boxes[i].amount);
      boxes[i].has_tint = TRUE;
      boxes[i].tint = at;
      scale->bins[MIN ((guint) (at * IR_SCALE_BINS), IR_SCALE_BINS - 1)]++;
    }
  return scale;
}

/* -- classes -- */

typedef struct
{
  const char *name; /* of the scene */
  guint n;
} Class;

/* Large classes first; of equals by name, so that the order is always the same. */
static int
compare_classes (gconstpointer a, gconstpointer b)
{
  const Class *x = a, *y = b;

  return x->n != y->n ? (x->n > y->n ? -1 : 1) : strcmp (x->name, y->name);
}

static GArray *
count_classes (const IrSceneBox *boxes, guint n)
{
  g_autoptr (GHashTable) counts = g_hash_table_new (g_str_hash, g_str_equal);
  GArray *classes = g_array_new (FALSE, FALSE, sizeof (Class));
  GHashTableIter iter;
  gpointer name, count;

  for (guint i = 0; i < n; i++)
    if (boxes[i].class_name != NULL)
      g_hash_table_insert (counts, (gpointer) boxes[i].class_name,
                           GUINT_TO_POINTER (1 + GPOINTER_TO_UINT (g_hash_table_lookup (
                                                     counts, boxes[i].class_name))));
  g_hash_table_iter_init (&iter, counts);
  while (g_hash_table_iter_next (&iter, &name, &count))
    {
      const Class c = { name, GPOINTER_TO_UINT (count) };

      g_array_append_val (classes, c);
    }
  g_array_sort (classes, compare_classes);
  return classes;
}

/**
 * ir_scale_apply_classes:
 * @scene: a finished scene that nobody else reads yet
 * @title: what the classes are of
 *
 * Gives each box with a class the colour of it.
 *
 * Returns: (transfer full): what has which colour
 */
IrScale *
ir_scale_apply_classes (IrScene *scene, const char *title)
{
  IrScale *scale = new_scale (title, "");
  guint n;
  IrSceneBox *boxes = (IrSceneBox *) ir_scene_boxes (scene, &n);
  g_autoptr (GArray) classes = count_classes (boxes, n);
  g_autoptr (GHashTable) index = g_hash_table_new (g_str_hash, g_str_equal);

  scale->is_class = TRUE;
  scale->n_classes = MIN (classes->len, IR_SCALE_CLASSES);
  for (guint i = 0; i < classes->len; i++)
    {
      const Class *c = &g_array_index (classes, Class, i);
      const guint at = MIN (i, IR_SCALE_CLASSES - 1);
      const gboolean others = at + 1 == IR_SCALE_CLASSES && classes->len > IR_SCALE_CLASSES;

      if (scale->classes[at] == NULL)
        scale->classes[at] = g_strdup (others ? "others" : c->name);
      scale->n_in_class[at] += c->n;
      scale->n += c->n;
      g_hash_table_insert (index, (gpointer) c->name, GUINT_TO_POINTER (at + 1));
    }
  for (guint i = 0; i < n; i++)
    if (boxes[i].class_name != NULL && boxes[i].accent == 0)
      boxes[i].accent = (guint8) GPOINTER_TO_UINT (
          g_hash_table_lookup (index, boxes[i].class_name));
  return scale;
}

/* -- numbers as people write them -- */

/**
 * ir_scale_text:
 * @number: a number
 * @unit: its unit, or ""
 *
 * Three digits with the prefix that fits: "4.85 µs", "1.2 MB", "0.31". Units that are words have no
 * prefix.
 *
 * Returns: (transfer full): the text
 */
char *
ir_scale_text (double number, const char *unit)
{
  static const char *const prefixes[] = { "n", "\302\265", "m", "", "k", "M", "G", "T", "P" };
  const gboolean has_small = strcmp (unit, "s") == 0;
  const gboolean is_word = unit[0] != '\0' && strlen (unit) > 1 && strcmp (unit, "FLOP") != 0;
  double shown = fabs (number);
  int i = 3;

  while (!is_word && unit[0] != '%' && shown >= 999.5 && i + 1 < (int) G_N_ELEMENTS (prefixes) &&
         !(has_small && i >= 3))
    {
      shown /= 1000;
      i++;
    }
  while (has_small && shown > 0 && shown < 0.9995 && i > 0)
    {
      shown *= 1000;
      i--;
    }
  return g_strdup_printf (shown == floor (shown) || shown >= 999.5 ? "%s%.0f%s%s%s"
                                                                   : "%s%.3g%s%s%s",
                          number < 0 ? "\342\210\222" : "", shown,
                          unit[0] != '\0' || prefixes[i][0] != '\0' ? " " : "", prefixes[i], unit);
}

/**
 * ir_scale_sentence:
 * @scale: a scale
 *
 * Returns: (transfer full): what a screen reader says of it
 */
char *
ir_scale_sentence (const IrScale *scale)
{
  g_autoptr (GString) text = g_string_new (scale->title);

  if (scale->n == 0)
    g_string_append_printf (text, ": %s", scale->lacks != NULL ? scale->lacks : "nothing is known");
  else if (scale->is_class)
    for (guint i = 0; i < scale->n_classes; i++)
      g_string_append_printf (text, "%s%u %s", i == 0 ? ": " : ", ", scale->n_in_class[i],
                              scale->classes[i]);
  else
    {
      g_autofree char *low = ir_scale_text (scale->low, scale->unit);
      g_autofree char *high = ir_scale_text (scale->high, scale->unit);

      g_string_append_printf (text, " from %s to %s, %s, of %u boxes", low, high,
                              scale->is_log ? "logarithmic" : "linear", scale->n);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}
