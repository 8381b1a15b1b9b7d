/* Rows and columns of the table of values. What has no number to be sorted by is less than all. */
#include "config.h"

#include "views/differences/value-table.h"

#include <math.h>
#include <string.h>

#define NO_NUMBER (-1.0)

struct _IrValueItem
{
  GObject parent_instance;
  guint id, order;
  double abs, rel, ulp;
  const char *badge, *difference; /* the second (nullable): its number says it */
  char *name, *about;
};

G_DEFINE_FINAL_TYPE (IrValueItem, ir_value_item, G_TYPE_OBJECT)

/* -- what is said of a row -- */

/* "by 3.2e-05, where values reach 4.1"; of what diverges by itself also "1.3e-05 is allowed" */
static char *
difference_text (const IrComparedValue *item)
{
  if (item == NULL)
    return g_strdup ("No partner in the other graph");
  if (!item->comparable)
    return g_strdup ("Another shape or type");
  if (!item->differs)
    return g_strdup ("The same, bit for bit");
  if (item->result.non_finite_differs)
    return g_strdup ("Not finite on one side");
  if (item->diverges && item->bound_kind != IR_BOUND_NONE)
    return g_strdup_printf ("Differs by %.3g, where values reach %.3g and %.3g is allowed",
                            item->result.max_abs, item->result.scale, item->bound);
  return g_strdup_printf ("Differs by %.3g, where values reach %.3g", item->result.max_abs,
                          item->result.scale);
}

/* Name, the other name, difference, verdict, and why the two are one value: a line each. */
static char *
about_row (const IrValueRow *row, const char *name)
{
  GString *text = g_string_new (name);
  g_autofree char *difference = difference_text (row->item),
                  *verdict = row->item != NULL ? ir_compared_value_verdict (row->item) : NULL;

  if (row->item != NULL && row->item->is_output)
    g_string_append (text, ", an output");
  if (row->a != NULL && row->b != NULL && strcmp (row->a->name, name) != 0)
    g_string_append_printf (text, "\n%s in the other graph", row->a->name);
  g_string_append_printf (text, "\n%s", difference);
  if (verdict != NULL)
    g_string_append_printf (text, "\n%s", verdict);
  if (row->how != IR_PAIRED_NOT)
    g_string_append_printf (text, "\nPaired by %s", ir_paired_name (row->how));
  return g_string_free (text, FALSE);
}

/* -- items -- */

static void
ir_value_item_finalize (GObject *object)
{
  g_free (IR_VALUE_ITEM (object)->name);
  g_free (IR_VALUE_ITEM (object)->about);
  G_OBJECT_CLASS (ir_value_item_parent_class)->finalize (object);
}

static void
ir_value_item_class_init (IrValueItemClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = ir_value_item_finalize;
}

static void
ir_value_item_init (IrValueItem *self)
{
}

IrValueItem *
ir_value_item_new (const IrValueRow *row)
{
  IrValueItem *self = g_object_new (IR_TYPE_VALUE_ITEM, NULL);
  const IrComparedValue *item = row->item;
  const gboolean compared = item != NULL && item->comparable;

  self->id = row->b != NULL ? row->b->id : row->a->id | IR_OTHER_SIDE;
  self->order = row->order;
  self->name = g_strdup ((row->b != NULL ? row->b : row->a)->name);
  self->about = about_row (row, self->name);
  self->badge = item == NULL ? "?" : item->diverges ? "≠" : item->differs ? "≈" : "=";
  self->difference = item == NULL                                       ? "alone"
                     : !compared                                        ? "other type"
                     : item->differs && item->result.non_finite_differs ? "not finite"
                                                                        : NULL;
  self->abs = item == NULL ? NO_NUMBER : self->difference != NULL ? INFINITY : item->result.max_abs;
  self->rel = compared ? item->result.max_rel : NO_NUMBER;
  self->ulp = compared ? (double) item->result.max_ulp : NO_NUMBER;
  return self;
}

guint
ir_value_item_id (IrValueItem *self)
{
  return self->id;
}

/* -- columns -- */

static char *
badge_text (gpointer item)
{
  return g_strdup (IR_VALUE_ITEM (item)->badge);
}

static double
order_number (gpointer item)
{
  return IR_VALUE_ITEM (item)->order;
}

static char *
name_text (gpointer item)
{
  return g_strdup (IR_VALUE_ITEM (item)->name);
}

static char *
about_text (gpointer item)
{
  return g_strdup (IR_VALUE_ITEM (item)->about);
}

static char *
number_text (const char *format, double number)
{
  return number == NO_NUMBER ? g_strdup ("–") : g_strdup_printf (format, number);
}

static char *
abs_text (gpointer item)
{
  const IrValueItem *self = item;

  return self->difference != NULL ? g_strdup (self->difference) : number_text ("%.3g", self->abs);
}

static double
abs_number (gpointer item)
{
  return IR_VALUE_ITEM (item)->abs;
}

static char *
rel_text (gpointer item)
{
  return number_text ("%.3g", IR_VALUE_ITEM (item)->rel);
}

static double
rel_number (gpointer item)
{
  return IR_VALUE_ITEM (item)->rel;
}

static char *
ulp_text (gpointer item)
{
  return number_text ("%.0f", IR_VALUE_ITEM (item)->ulp);
}

static double
ulp_number (gpointer item)
{
  return IR_VALUE_ITEM (item)->ulp;
}

/* clang-format off */
const IrColumn ir_value_columns[IR_N_VALUE_COLUMNS] = {
  [IR_VALUE_COLUMN_ORDER] = { "#", "In the order of execution; ≠ by more than rounding, ≈ by rounding, = the same, ? alone", 32, badge_text, order_number, .about = about_text },
  [IR_VALUE_COLUMN_NAME] = { "Value", NULL, 150, name_text, NULL, .about = about_text },
  [IR_VALUE_COLUMN_ABS] = { "Difference", "Of all elements the largest", 92, abs_text, abs_number, .about = about_text },
  [IR_VALUE_COLUMN_REL] = { "Relative", "Difference by the element", 80, rel_text, rel_number, .about = about_text },
  [IR_VALUE_COLUMN_ULP] = { "ULPs", "Numbers of the type between the two", 72, ulp_text, ulp_number, .about = about_text },
};
/* clang-format on */
