#include "config.h"

#include "app/cli/value-table.h"

#include "app/cli/model.h"
#include "app/cli/output.h"
#include "core/io/io.h"
#include "core/io/json/print.h"

#include <math.h>
#include <string.h>

/* One value, or two that are the same. */
typedef struct
{
  const IrValue *a, *b;        /* (nullable): none on that side */
  const IrComparedValue *item; /* (nullable): one alone */
  guint order;
} Row;

/* -- sorting -- */

static int
compare_numbers (double x, double y)
{
  return (x < y) - (x > y); /* the largest first */
}

static double
number_of (const Row *row, double (*read) (const IrComparison *))
{
  if (row->item == NULL || !row->item->comparable)
    return -1; /* behind all that have one */
  return row->item->result.non_finite_differs ? INFINITY : read (&row->item->result);
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
by_order (const Row *x, const Row *y)
{
  return (x->order > y->order) - (x->order < y->order);
}

static int
by_a (const Row *x, const Row *y)
{
  return strcmp (name_of (x->a), name_of (y->a));
}

static int
by_b (const Row *x, const Row *y)
{
  return strcmp (name_of (x->b), name_of (y->b));
}

static int
by_abs (const Row *x, const Row *y)
{
  return compare_numbers (number_of (x, read_abs), number_of (y, read_abs));
}

static int
by_rel (const Row *x, const Row *y)
{
  return compare_numbers (number_of (x, read_rel), number_of (y, read_rel));
}

static int
by_ulp (const Row *x, const Row *y)
{
  return compare_numbers (number_of (x, read_ulp), number_of (y, read_ulp));
}

static const struct
{
  const char *name;
  int (*compare) (const Row *x, const Row *y);
} columns[] = { { "order", by_order }, { "a", by_a },     { "b", by_b },
                { "abs", by_abs },     { "rel", by_rel }, { "ulp", by_ulp } };

static guint
column_of (const CliValueTable *table)
{
  guint i = 0;

  while (table->sort != NULL && i < G_N_ELEMENTS (columns) &&
         strcmp (columns[i].name, table->sort) != 0)
    i++;
  return i;
}

/* Equal ones stay in their order. */
static int
compare_rows (gconstpointer x, gconstpointer y, gpointer column)
{
  const int order = columns[GPOINTER_TO_UINT (column)].compare (x, y);

  return order != 0 ? order : by_order (x, y);
}

/* Returns FALSE if the options do not go together */
gboolean
cli_value_table_check (const CliValueTable *table, gboolean values, GError **error)
{
  if ((table->path != NULL || table->sort != NULL) && !values)
    g_set_error (error, CLI_ERROR, 0, "--%s: needs --values",
                 table->path != NULL ? "table" : "sort");
  else if (table->sort != NULL && table->path == NULL)
    g_set_error (error, CLI_ERROR, 0, "--sort: needs --table F");
  else if (column_of (table) == G_N_ELEMENTS (columns))
    g_set_error (error, CLI_ERROR, 0, "--sort %s: needs order, a, b, abs, rel or ulp", table->sort);
  else if (table->path != NULL && !g_str_has_suffix (table->path, ".csv") &&
           !g_str_has_suffix (table->path, ".json"))
    g_set_error (error, CLI_ERROR, 0, "--table %s: needs a name that ends in .csv or .json",
                 table->path);
  else
    return TRUE;
  return FALSE;
}

/* -- rows -- */

static gboolean
is_alone (const IrValue *value, GHashTable *paired)
{
  return value != NULL && value->producer != NULL && ir_value_constant (value) == NULL &&
         value->graph->kind == IR_GRAPH_MAIN &&
         !g_hash_table_contains (paired, GUINT_TO_POINTER (value->id));
}

/* In the order of execution of one side. */
static void
add_alone (GArray *rows, const IrModel *model, GHashTable *paired, gboolean of_b)
{
  guint n;
  IrNode *const *order = ir_graph_order (model->main, &n);

  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < order[i]->n_outputs; k++)
      if (is_alone (order[i]->outputs[k], paired))
        {
          const Row row = { of_b ? NULL : order[i]->outputs[k], of_b ? order[i]->outputs[k] : NULL,
                            NULL, rows->len };

          g_array_append_val (rows, row);
        }
}

static GArray *
make_rows (const IrComparedValues *values)
{
  GArray *rows = g_array_new (FALSE, FALSE, sizeof (Row));

  for (guint i = 0; i < values->items->len; i++)
    {
      const IrComparedValue *item = &g_array_index (values->items, IrComparedValue, i);
      const Row row = { ir_model_value (values->a, item->a), ir_model_value (values->b, item->b),
                        item, rows->len };

      g_array_append_val (rows, row);
    }
  add_alone (rows, values->a, values->by_a, FALSE);
  add_alone (rows, values->b, values->by_b, TRUE);
  return rows;
}

static const char *
verdict_of (const IrComparedValue *item)
{
  return item == NULL        ? "no partner"
         : !item->comparable ? "not comparable"
         : !item->differs    ? "same"
         : item->diverges    ? "diverges"
                             : "rounding";
}

static const char *
operator_of (const IrValue *value)
{
  return value != NULL && value->producer != NULL ? value->producer->op_type : "";
}

static char *
type_of (const IrValue *value, const IrModel *model)
{
  const IrType *type = value != NULL ? ir_value_shown_type (value) : NULL;

  return type != NULL ? ir_type_to_string (model->context, type) : g_strdup ("");
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
append_number (GString *text, const Row *row, double number)
{
  char field[G_ASCII_DTOSTR_BUF_SIZE];

  append_field (text, row->item != NULL && row->item->comparable
                          ? g_ascii_dtostr (field, sizeof field, number)
                          : "");
}

static char *
to_csv (const GArray *rows, const IrComparedValues *values)
{
  GString *text = g_string_new ("a,b,operator_a,operator_b,type_a,type_b,paired_by,verdict,max_abs,"
                                "max_rel,max_ulp,largest\n");

  for (guint i = 0; i < rows->len; i++)
    {
      const Row *row = &g_array_index (rows, Row, i);
      const IrComparison zero = { 0 }, *result = row->item != NULL ? &row->item->result : &zero;
      g_autofree char *type_a = type_of (row->a, values->a), *type_b = type_of (row->b, values->b);

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
      append_field (text, ir_paired_name (row->item != NULL ? row->item->how : IR_PAIRED_NOT));
      append_field (text, verdict_of (row->item));
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

static void
add_side (cJSON *object, const char *side, const IrValue *value, const IrModel *model)
{
  g_autofree char *key = g_strdup_printf ("operator_%s", side),
                  *type_key = g_strdup_printf ("type_%s", side), *type = type_of (value, model);

  if (value == NULL)
    return;
  cJSON_AddStringToObject (object, side, value->name);
  cJSON_AddStringToObject (object, key, operator_of (value));
  cJSON_AddStringToObject (object, type_key, type);
}

static char *
to_json (const GArray *rows, const IrComparedValues *values)
{
  cJSON *json = cJSON_CreateObject (), *array = cJSON_AddArrayToObject (json, "values");
  const IrComparedValue *first = ir_compared_values_first (values, TRUE);
  char *text;

  if (first != NULL)
    cJSON_AddStringToObject (json, "first_diverging", ir_model_value (values->b, first->b)->name);
  for (guint i = 0; i < rows->len; i++)
    {
      const Row *row = &g_array_index (rows, Row, i);
      cJSON *object = cJSON_CreateObject ();

      add_side (object, "a", row->a, values->a);
      add_side (object, "b", row->b, values->b);
      if (row->item != NULL)
        cJSON_AddStringToObject (object, "paired_by", ir_paired_name (row->item->how));
      cJSON_AddStringToObject (object, "verdict", verdict_of (row->item));
      if (row->item != NULL && row->item->comparable)
        {
          cli_json_add_double (object, "max_abs", row->item->result.max_abs);
          cli_json_add_double (object, "max_rel", row->item->result.max_rel);
          cli_json_add_uint (object, "max_ulp", row->item->result.max_ulp);
          if (row->item->differs) /* else nobody has looked */
            cli_json_add_double (object, "largest", row->item->result.scale);
        }
      cJSON_AddItemToArray (array, object);
    }
  text = ir_json_print_text (json);
  cJSON_Delete (json);
  return text;
}

/* Replaces the file as a whole */
gboolean
cli_value_table_write (const CliValueTable *table, const IrComparedValues *values, GError **error)
{
  g_autoptr (GArray) rows = make_rows (values);
  g_autoptr (GBytes) bytes = NULL;
  char *text;

  g_array_sort_with_data (rows, compare_rows, GUINT_TO_POINTER (column_of (table)));
  text = (g_str_has_suffix (table->path, ".csv") ? to_csv : to_json) (rows, values);
  bytes = g_bytes_new_take (text, strlen (text));
  return ir_file_write_atomic (table->path, bytes, error);
}
