#include "config.h"

#include "passes/proof/value-table.h"

#include <math.h>
#include <string.h>

/* -- sorting -- */

static int
compare_numbers (double x, double y)
{
  return (x < y) - (x > y); /* the largest first */
}

static double
number_of (const IrValueRow *row, double (*read) (const IrComparison *))
{
  if (row->item == NULL)
    return -1; /* behind all that have one */
  return !row->item->comparable || row->item->result.non_finite_differs ? INFINITY
                                                                        : read (&row->item->result);
}

static double
read_abs (const IrComparison *result)
{
  return result->max_abs;
}

static double
read_rel (const IrComparison *result)
{
  return result->max_rel;
}

static double
read_ulp (const IrComparison *result)
{
  return (double) result->max_ulp;
}

static const char *
name_of (const IrValue *value)
{
  return value != NULL ? value->name : "";
}

static int
by_order (const IrValueRow *x, const IrValueRow *y)
{
  return (x->order > y->order) - (x->order < y->order);
}

static int
by_a (const IrValueRow *x, const IrValueRow *y)
{
  return strcmp (name_of (x->a), name_of (y->a));
}

static int
by_b (const IrValueRow *x, const IrValueRow *y)
{
  return strcmp (name_of (x->b), name_of (y->b));
}

static int
by_abs (const IrValueRow *x, const IrValueRow *y)
{
  return compare_numbers (number_of (x, read_abs), number_of (y, read_abs));
}

static int
by_rel (const IrValueRow *x, const IrValueRow *y)
{
  return compare_numbers (number_of (x, read_rel), number_of (y, read_rel));
}

static int
by_ulp (const IrValueRow *x, const IrValueRow *y)
{
  return compare_numbers (number_of (x, read_ulp), number_of (y, read_ulp));
}

static const struct
{
  const char *name;
  int (*compare) (const IrValueRow *x, const IrValueRow *y);
} orders[IR_N_VALUE_ORDERS] = {
  [IR_VALUES_BY_ORDER] = { "order", by_order },
  [IR_VALUES_BY_A] = { "a", by_a },
  [IR_VALUES_BY_B] = { "b", by_b },
  [IR_VALUES_BY_ABS] = { "abs", by_abs },
  [IR_VALUES_BY_REL] = { "rel", by_rel },
  [IR_VALUES_BY_ULP] = { "ulp", by_ulp },
};

/**
 * ir_value_order_name:
 * @order: an order of rows
 *
 * Returns: (transfer none): "order", "a", "b", "abs", "rel" or "ulp"
 */
const char *
ir_value_order_name (IrValueOrder order)
{
  return orders[order].name;
}

/* Equal ones stay in their order. */
static int
compare_rows (gconstpointer x, gconstpointer y, gpointer order)
{
  const int different = orders[GPOINTER_TO_UINT (order)].compare (x, y);

  return different != 0 ? different : by_order (x, y);
}

/**
 * ir_value_rows_sort:
 * @rows: (element-type IrValueRow): a table
 * @order: by what; equal ones stay in the order of execution
 */
void
ir_value_rows_sort (GArray *rows, IrValueOrder order)
{
  g_array_sort_with_data (rows, compare_rows, GUINT_TO_POINTER (order));
}

/* -- rows -- */

static gboolean
is_alone (const IrValue *value, GHashTable *paired)
{
  return value != NULL && value->producer != NULL && ir_value_constant (value) == NULL &&
         value->graph->kind == IR_GRAPH_MAIN &&
         !g_hash_table_contains (paired, GUINT_TO_POINTER (value->id));
}

/* In the order of execution of one side. @paired: ids of that side */
static void
add_alone (GArray *rows, const IrModel *model, GHashTable *paired, gboolean of_b)
{
  guint n;
  IrNode *const *order = ir_graph_order (model->main, &n);

  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < order[i]->n_outputs; k++)
      if (is_alone (order[i]->outputs[k], paired))
        {
          const IrValueRow row = { of_b ? NULL : order[i]->outputs[k],
                                   of_b ? order[i]->outputs[k] : NULL, IR_PAIRED_NOT, NULL,
                                   rows->len };

          g_array_append_val (rows, row);
        }
}

/**
 * ir_value_rows:
 * @values: what was compared; borrowed
 *
 * Returns: (transfer full) (element-type IrValueRow): pairs in the order of execution of the second graph, then the
 *   values of each that have no partner
 */
GArray *
ir_value_rows (const IrComparedValues *values)
{
  GArray *rows = g_array_new (FALSE, FALSE, sizeof (IrValueRow));

  for (guint i = 0; i < values->items->len; i++)
    {
      const IrComparedValue *item = &g_array_index (values->items, IrComparedValue, i);
      const IrValueRow row = { ir_model_value (values->a, item->a),
                               ir_model_value (values->b, item->b), item->how, item, rows->len };

      g_array_append_val (rows, row);
    }
  add_alone (rows, values->a, values->by_a, FALSE);
  add_alone (rows, values->b, values->by_b, TRUE);
  return rows;
}

/**
 * ir_value_rows_of_structure:
 * @diff: two graphs; borrowed
 * @matched: of ir_match_values() without evidence
 *
 * Returns: (transfer full) (element-type IrValueRow): the like of graphs that were not run
 */
GArray *
ir_value_rows_of_structure (const IrDiff *diff, GHashTable *matched)
{
  GArray *rows = g_array_new (FALSE, FALSE, sizeof (IrValueRow));
  g_autoptr (GHashTable) of_a = g_hash_table_new (NULL, NULL);
  guint n;
  IrNode *const *order = ir_graph_order (diff->b->main, &n);

  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < order[i]->n_outputs; k++)
      {
        const IrValue *b = order[i]->outputs[k];
        const IrMatchedValue *one = b != NULL
                                        ? g_hash_table_lookup (matched, GUINT_TO_POINTER (b->id))
                                        : NULL;
        IrValueRow row = { NULL, b, IR_PAIRED_NOT, NULL, rows->len };

        if (one == NULL)
          continue;
        row.a = ir_model_value (diff->a, one->a);
        row.how = one->how;
        g_hash_table_add (of_a, GUINT_TO_POINTER (one->a));
        g_array_append_val (rows, row);
      }
  add_alone (rows, diff->a, of_a, FALSE);
  add_alone (rows, diff->b, matched, TRUE);
  return rows;
}

/**
 * ir_value_row_verdict:
 * @row: a row
 *
 * Returns: (transfer none): "same", "rounding", "diverges", "not comparable", "no partner" or "not run"
 */
const char *
ir_value_row_verdict (const IrValueRow *row)
{
  return row->how == IR_PAIRED_NOT ? "no partner"
         : row->item == NULL       ? "not run"
         : !row->item->comparable  ? "not comparable"
         : !row->item->differs     ? "same"
         : row->item->diverges     ? "diverges"
                                   : "rounding";
}

static const char *
operator_of (const IrValue *value)
{
  return value != NULL && value->producer != NULL ? value->producer->op_type : "";
}

static char *
type_of (const IrValue *value)
{
  const IrType *type = value != NULL ? ir_value_shown_type (value) : NULL;

  return type != NULL ? ir_type_to_string (value->graph->model->context, type) : g_strdup ("");
}

/* -- writing -- */

/* As RFC 4180 has it. */
static void
append_field (GString *text, const char *field)
{
  if (text->len > 0 && text->str[text->len - 1] != '\n')
    g_string_append_c (text, ',');
  if (strpbrk (field, ",\"\r\n") == NULL)
    {
      g_string_append (text, field);
      return;
    }
  g_string_append_c (text, '"');
  for (; *field != '\0'; field++)
    {
      if (*field == '"')
        g_string_append_c (text, '"');
      g_string_append_c (text, *field);
    }
  g_string_append_c (text, '"');
}

static void
append_number (GString *text, const IrValueRow *row, double number)
{
  char field[G_ASCII_DTOSTR_BUF_SIZE];

  append_field (text, row->item != NULL && row->item->comparable
                          ? g_ascii_dtostr (field, sizeof field, number)
                          : "");
}

/**
 * ir_value_rows_csv:
 * @rows: (element-type IrValueRow): a table
 *
 * Returns: (transfer full): it as CSV (RFC 4180), with a line of titles
 */
char *
ir_value_rows_csv (const GArray *rows)
{
  GString *text = g_string_new ("a,b,operator_a,operator_b,type_a,type_b,paired_by,verdict,max_abs,"
                                "max_rel,max_ulp,largest\n");

  for (guint i = 0; i < rows->len; i++)
    {
      const IrValueRow *row = &g_array_index (rows, IrValueRow, i);
      const IrComparison zero = { 0 }, *result = row->item != NULL ? &row->item->result : &zero;
      g_autofree char *type_a = type_of (row->a), *type_b = type_of (row->b);

      /* an empty first field would look like the beginning of a line */
      if (name_of (row->a)[0] == '\0')
        g_string_append (text, "\"\"");
      else
        append_field (text, name_of (row->a));
      append_field (text, name_of (row->b));
      append_field (text, operator_of (row->a));
      append_field (text, operator_of (row->b));
      append_field (text, type_a);
      append_field (text, type_b);
      append_field (text, ir_paired_name (row->how));
      append_field (text, ir_value_row_verdict (row));
      append_number (text, row, result->max_abs);
      append_number (text, row, result->max_rel);
      append_number (text, row, (double) result->max_ulp);
      if (row->item != NULL && row->item->differs) /* else nobody has looked */
        append_number (text, row, result->scale);
      else
        append_field (text, "");
      g_string_append_c (text, '\n');
    }
  return g_string_free (text, FALSE);
}
