#include "config.h"

#include "app/cli/value-table.h"

#include "app/cli/model.h"
#include "app/cli/output.h"
#include "core/io/io.h"
#include "core/io/json/print.h"

#include <string.h>

/* %IR_N_VALUE_ORDERS: there is none of that name */
static IrValueOrder
order_of (const CliValueTable *table)
{
  IrValueOrder order = 0;

  while (table->sort != NULL && order < IR_N_VALUE_ORDERS &&
         strcmp (ir_value_order_name (order), table->sort) != 0)
    order++;
  return order;
}

/* Returns FALSE if the options do not go together */
gboolean
cli_value_table_check (const CliValueTable *table, gboolean values, GError **error)
{
  const IrValueOrder order = order_of (table);

  if (table->sort != NULL && table->path == NULL)
    g_set_error (error, CLI_ERROR, 0, "--sort: needs --table F");
  else if (order == IR_N_VALUE_ORDERS)
    g_set_error (error, CLI_ERROR, 0, "--sort %s: needs order, a, b, abs, rel or ulp", table->sort);
  else if (order >= IR_VALUES_BY_ABS && !values)
    g_set_error (error, CLI_ERROR, 0, "--sort %s: needs --values, which runs both", table->sort);
  else if (table->path != NULL && !g_str_has_suffix (table->path, ".csv") &&
           !g_str_has_suffix (table->path, ".json"))
    g_set_error (error, CLI_ERROR, 0, "--table %s: needs a name that ends in .csv or .json",
                 table->path);
  else
    return TRUE;
  return FALSE;
}

/* -- writing -- */

static void
add_side (cJSON *object, const char *side, const IrValue *value)
{
  g_autofree char *key = g_strdup_printf ("operator_%s", side),
                  *type_key = g_strdup_printf ("type_%s", side), *type = NULL;

  if (value == NULL)
    return;
  type = ir_type_to_string (value->graph->model->context, ir_value_shown_type (value));
  cJSON_AddStringToObject (object, side, value->name);
  cJSON_AddStringToObject (object, key, value->producer != NULL ? value->producer->op_type : "");
  cJSON_AddStringToObject (object, type_key, type);
}

static void
add_numbers (cJSON *object, const IrComparedValue *item)
{
  cli_json_add_double (object, "max_abs", item->result.max_abs);
  cli_json_add_double (object, "max_rel", item->result.max_rel);
  cli_json_add_uint (object, "max_ulp", item->result.max_ulp);
  if (item->differs) /* else nobody has looked */
    cli_json_add_double (object, "largest", item->result.scale);
}

/* @values: (nullable): nothing was run */
static char *
to_json (const GArray *rows, const IrComparedValues *values)
{
  cJSON *json = cJSON_CreateObject (), *array = cJSON_AddArrayToObject (json, "values");
  const IrComparedValue *first = values != NULL ? ir_compared_values_first (values, TRUE) : NULL;
  char *text;

  if (first != NULL)
    cJSON_AddStringToObject (json, "first_diverging", ir_model_value (values->b, first->b)->name);
  for (guint i = 0; i < rows->len; i++)
    {
      const IrValueRow *row = &g_array_index (rows, IrValueRow, i);
      cJSON *object = cJSON_CreateObject ();

      add_side (object, "a", row->a);
      add_side (object, "b", row->b);
      if (row->how != IR_PAIRED_NOT)
        cJSON_AddStringToObject (object, "paired_by", ir_paired_name (row->how));
      cJSON_AddStringToObject (object, "verdict", ir_value_row_verdict (row));
      if (row->item != NULL && row->item->comparable)
        add_numbers (object, row->item);
      cJSON_AddItemToArray (array, object);
    }
  text = ir_json_print_text (json);
  cJSON_Delete (json);
  return text;
}

static gboolean
write_rows (const CliValueTable *table,
            GArray *rows,
            const IrComparedValues *values,
            GError **error)
{
  g_autoptr (GBytes) bytes = NULL;
  char *text;

  ir_value_rows_sort (rows, order_of (table));
  text = g_str_has_suffix (table->path, ".csv") ? ir_value_rows_csv (rows) : to_json (rows, values);
  bytes = g_bytes_new_take (text, strlen (text));
  return ir_file_write_atomic (table->path, bytes, error);
}

/* Replaces the file as a whole */
gboolean
cli_value_table_write (const CliValueTable *table, const IrComparedValues *values, GError **error)
{
  g_autoptr (GArray) rows = ir_value_rows (values);

  return write_rows (table, rows, values, error);
}

/* The same of two graphs that were not run */
gboolean
cli_value_table_write_structure (const CliValueTable *table,
                                 const IrDiff *diff,
                                 GHashTable *matched,
                                 GError **error)
{
  g_autoptr (GArray) rows = ir_value_rows_of_structure (diff, matched);

  return write_rows (table, rows, NULL, error);
}
