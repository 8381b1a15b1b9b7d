#include "config.h"

#include "app/cli/output.h"

#include "app/cli/leave.h"

#include "core/exec/gpu/runtime.h"
#include "core/io/io.h"
#include "core/io/json/print.h"

#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_PROBLEMS          12 /* lines on stderr; 'irscope check' prints all */
#define LARGEST_EXACT_INTEGER (G_GINT64_CONSTANT (1) << 53)

/* -- JSON -- */

void
cli_json_add_int (cJSON *object, const char *key, gint64 value)
{
  char text[32];

  if (ABS (value) <= LARGEST_EXACT_INTEGER && value != G_MININT64)
    {
      cJSON_AddNumberToObject (object, key, (double) value);
      return;
    }
  g_snprintf (text, sizeof text, "%" G_GINT64_FORMAT, value);
  cJSON_AddStringToObject (object, key, text);
}

void
cli_json_add_uint (cJSON *object, const char *key, guint64 value)
{
  char text[32];

  if (value <= (guint64) LARGEST_EXACT_INTEGER)
    {
      cJSON_AddNumberToObject (object, key, (double) value);
      return;
    }
  g_snprintf (text, sizeof text, "%" G_GUINT64_FORMAT, value);
  cJSON_AddStringToObject (object, key, text);
}

void
cli_json_add_double (cJSON *object, const char *key, double value)
{
  if (isfinite (value))
    cJSON_AddNumberToObject (object, key, value);
  else
    cJSON_AddStringToObject (object, key,
                             isnan (value) ? "NaN"
                             : value > 0   ? "Infinity"
                                           : "-Infinity");
}

void
cli_json_add_shape (cJSON *object, const char *key, IrContext *context, const IrType *type)
{
  cJSON *shape;

  if (!ir_type_has_rank (type))
    {
      cJSON_AddNullToObject (object, key);
      return;
    }
  shape = cJSON_AddArrayToObject (object, key);
  for (int i = 0; i < type->rank; i++)
    {
      g_autofree char *text = NULL;

      if (ir_dim_is_known (type->dims[i]))
        {
          cJSON_AddItemToArray (shape, cJSON_CreateNumber ((double) type->dims[i]));
          continue;
        }
      text = type->dims[i] == IR_DIM_UNKNOWN ? NULL : ir_dim_to_string (context, type->dims[i]);
      cJSON_AddItemToArray (shape, text != NULL ? cJSON_CreateString (text) : cJSON_CreateNull ());
    }
}

static void
add_type (cJSON *object, IrContext *context, const IrType *type)
{
  g_autofree char *text = NULL;

  if (ir_type_is_tensor (type))
    {
      cJSON_AddStringToObject (object, "dtype", ir_dtype_name (type->dtype));
      cli_json_add_shape (object, "shape", context, type);
      return;
    }
  text = type != NULL ? ir_type_to_string (context, type) : NULL;
  cJSON_AddStringToObject (object, "dtype", text != NULL ? text : "unknown");
  cJSON_AddNullToObject (object, "shape");
}

void
cli_json_add_value (cJSON *array, const IrValue *value)
{
  cJSON *object = cJSON_CreateObject ();

  cJSON_AddStringToObject (object, "name", value->name);
  add_type (object, value->graph->model->context, ir_value_shown_type (value));
  cJSON_AddItemToArray (array, object);
}

static const char *
kind_name (IrTypeKind kind)
{
  return kind == IR_TYPE_SEQUENCE   ? "sequence"
         : kind == IR_TYPE_OPTIONAL ? "optional"
         : kind == IR_TYPE_CLOSURE  ? "closure"
                                    : "map";
}

/* The shape of a sequence is its length, that of an optional 0 or 1. */
void
cli_json_add_contents (Cli *cli, cJSON *object, const IrTensor *tensor)
{
  gboolean is_container = ir_tensor_is_container (tensor);
  cJSON *shape, *items;

  cJSON_AddStringToObject (object, "dtype",
                           is_container ? kind_name (ir_tensor_kind (tensor))
                                        : ir_dtype_name (ir_tensor_dtype (tensor)));
  shape = cJSON_AddArrayToObject (object, "shape");
  for (guint i = 0; i < ir_tensor_rank (tensor); i++)
    cJSON_AddItemToArray (shape, cJSON_CreateNumber (ir_tensor_dims (tensor)[i]));
  if (!is_container)
    return;
  cJSON_AddItemToArray (shape, cJSON_CreateNumber (ir_tensor_n_items (tensor)));
  items = cJSON_AddArrayToObject (object, "items");
  for (guint i = 0; i < ir_tensor_n_items (tensor) && !cli_cut (cli); i++)
    {
      cJSON *item = cJSON_CreateObject ();
      cli_json_add_contents (cli, item, ir_tensor_item (tensor, i));
      cJSON_AddItemToArray (items, item);
    }
}

void
cli_json_add_stats (cJSON *object, const IrTensorStats *stats)
{
  cJSON *histogram, *bins;

  cli_json_add_uint (object, "elements", stats->n);
  cli_json_add_double (object, "min", stats->min);
  cli_json_add_double (object, "max", stats->max);
  cli_json_add_double (object, "mean", stats->mean);
  cli_json_add_double (object, "std", stats->std);
  cli_json_add_double (object, "l2", stats->l2);
  cli_json_add_uint (object, "nan", stats->n_nan);
  cli_json_add_uint (object, "inf", stats->n_pos_inf + stats->n_neg_inf);
  cli_json_add_uint (object, "zeros", stats->n_zero);
  cli_json_add_uint (object, "negative", stats->n_negative);
  g_autofree char *checksum = g_strdup_printf ("%016" G_GINT64_MODIFIER "x", stats->checksum);
  cJSON_AddStringToObject (object, "checksum", checksum);
  histogram = cJSON_AddObjectToObject (object, "histogram");
  cli_json_add_double (histogram, "low", stats->bin_low);
  cli_json_add_double (histogram, "high", stats->bin_high);
  bins = cJSON_AddArrayToObject (histogram, "counts");
  for (guint i = 0; i < stats->n_bins; i++)
    cJSON_AddItemToArray (bins, cJSON_CreateNumber ((double) stats->bins[i]));
}

cJSON *
cli_json_problems (const GPtrArray *problems, const IrModel *model)
{
  cJSON *array = cJSON_CreateArray ();

  for (guint i = 0; problems != NULL && i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];
      const IrNode *node = model != NULL && problem->node != 0
                               ? ir_model_node (model, problem->node)
                               : NULL;
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddStringToObject (object, "severity", ir_severity_name (problem->severity));
      cJSON_AddStringToObject (object, "code", ir_problem_code_name (problem->code));
      if (node != NULL)
        cJSON_AddStringToObject (object, "node", node->name);
      else
        cJSON_AddNullToObject (object, "node");
      cJSON_AddStringToObject (object, "message", problem->message);
      if (problem->hint != NULL)
        cJSON_AddStringToObject (object, "hint", problem->hint);
      if (problem->line > 0)
        {
          cJSON_AddNumberToObject (object, "line", problem->line);
          cJSON_AddNumberToObject (object, "column", problem->column);
        }
      cJSON_AddItemToArray (array, object);
    }
  return array;
}

/* What was made by a device that only imitates a GPU says so, whichever command it is of. */
static void
mark_stand_in (cJSON *json)
{
  if (cJSON_IsObject (json) && !cJSON_HasObjectItem (json, "stand_in") &&
      ir_gpu_runtime_is_stand_in ())
    cJSON_AddBoolToObject (json, "stand_in", TRUE);
}

void
cli_json_print (cJSON *json)
{
  mark_stand_in (json);
  g_autofree char *text = ir_json_print_text (json);

  puts (text);
  cJSON_Delete (json);
}

static gboolean
print_part (const char *text, gsize length, gpointer cli)
{
  return !cli_cut (cli) && fwrite (text, 1, length, stdout) == length;
}

void
cli_json_print_long (Cli *cli, cJSON *json)
{
  mark_stand_in (json);
  if (ir_json_print (json, print_part, cli))
    putchar ('\n');
  cJSON_Delete (json);
}

gboolean
cli_cut (Cli *cli)
{
  cli->cut = cli->cut || g_cancellable_is_cancelled (cli->cancellable);
  return cli->cut;
}

/* -- text -- */

static void
print_line (const char *name,
            IrContext *context,
            const IrTensor *tensor,
            guint max_elements,
            const char *path)
{
  g_autofree char *type = ir_type_to_string (context, ir_tensor_type (tensor, context));
  g_autofree char *text = ir_tensor_is_container (tensor)
                              ? g_strdup_printf ("%u %s", ir_tensor_n_items (tensor),
                                                 ir_tensor_n_items (tensor) == 1 ? "item" : "items")
                              : ir_tensor_to_string (tensor, max_elements);

  cli_print ("%s  %s  %s%s%s\n", name, type, text, path != NULL ? "  -> " : "",
             path != NULL ? path : "");
}

void
cli_print_contents (Cli *cli,
                    const char *name,
                    IrContext *context,
                    const IrTensor *tensor,
                    guint max_elements,
                    const char *path)
{
  static const char *const map_parts[] = { "keys", "values" };

  if (ir_tensor_kind (tensor) == IR_TYPE_OPTIONAL && ir_tensor_n_items (tensor) == 0)
    {
      g_autofree char *type = ir_type_to_string (context, ir_tensor_type (tensor, context));
      cli_print ("%s  %s  none%s%s\n", name, type, path != NULL ? "  -> " : "",
                 path != NULL ? path : "");
      return;
    }
  print_line (name, context, tensor, max_elements, path);
  for (guint i = 0; i < ir_tensor_n_items (tensor) && !cli_cut (cli); i++)
    {
      g_autofree char *inner = ir_tensor_kind (tensor) == IR_TYPE_MAP
                                   ? g_strdup_printf ("%s.%s", name, map_parts[i])
                                   : g_strdup_printf ("%s[%u]", name, i);
      cli_print_contents (cli, inner, context, ir_tensor_item (tensor, i), max_elements, NULL);
    }
}

void
cli_print_problems (const GPtrArray *problems, IrSeverity at_least)
{
  guint n = 0;

  for (guint i = 0; problems != NULL && i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];

      if (problem->severity < at_least || n++ >= MAX_PROBLEMS)
        continue;
      if (problem->line > 0)
        cli_printerr ("%u:%u: ", problem->line, problem->column);
      cli_printerr ("%s: %s", ir_severity_name (problem->severity), problem->message);
      if (problem->hint != NULL)
        cli_printerr (" (%s)", problem->hint);
      cli_printerr ("\n");
    }
  if (n > MAX_PROBLEMS)
    cli_printerr ("… and %u more; 'irscope check' lists them all\n", n - MAX_PROBLEMS);
}

CliStatus
cli_status_of (const GError *error)
{
  if (error == NULL)
    return CLI_FAILED;
  if (g_error_matches (error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
    return CLI_BAD;
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED) || error->domain == G_FILE_ERROR)
    return CLI_FAILED;
  if (error->domain == IR_IO_ERROR)
    return error->code == IR_IO_ERROR_OPEN || error->code == IR_IO_ERROR_CHANGED ? CLI_FAILED
                                                                                 : CLI_BAD;
  if (error->domain == IR_BUDGET_ERROR)
    return CLI_NO;
  if (error->domain == IR_EXEC_ERROR)
    return error->code == IR_EXEC_ERROR_INPUT ? CLI_BAD : CLI_FAILED;
  if (error->domain == IR_OP_ERROR)
    return error->code == IR_OP_ERROR_LIMIT || error->code == IR_OP_ERROR_CANCELLED ? CLI_FAILED
                                                                                    : CLI_BAD;
  return CLI_BAD;
}

CliStatus
cli_fail (CliStatus status, const GError *error)
{
  if (cli_leave_claim ())
    cli_printerr ("irscope: %s\n", error != NULL ? error->message : "failed");
  return status;
}

CliStatus
cli_cancelled (const Cli *cli)
{
  g_autoptr (GError) error = NULL;

  g_cancellable_set_error_if_cancelled (cli->cancellable, &error);
  return cli_fail (CLI_FAILED, error);
}

gboolean
cli_same_file (const char *path, const char *other)
{
  GStatBuf a, b;

  return path != NULL && other != NULL && g_stat (path, &a) == 0 && g_stat (other, &b) == 0 &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

gboolean
cli_spares_model (const char *option, const char *path, const char *model, GError **error)
{
  if (!cli_same_file (path, model))
    return TRUE;
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "%s %s: is the model itself, which it would replace; choose another name", option,
               path);
  return FALSE;
}

char *
cli_format_count (guint64 n)
{
  static const char *const units[] = { "", " K", " M", " G", " T", " P" };
  double value = n;
  guint unit = 0;

  while (value >= 1000 && unit + 1 < G_N_ELEMENTS (units))
    {
      value /= 1000;
      unit++;
    }
  return unit == 0 ? g_strdup_printf ("%" G_GUINT64_FORMAT, n)
                   : g_strdup_printf ("%.3g%s", value, units[unit]);
}

char *
cli_format_bytes (guint64 n)
{
  return g_format_size_full (n, G_FORMAT_SIZE_IEC_UNITS);
}

/* -- progress -- */

static gboolean
shows_progress (const Cli *cli)
{
  return !cli->quiet && isatty (STDERR_FILENO);
}

void
cli_progress (const Cli *cli, const char *what, guint done, guint total)
{
  if (!shows_progress (cli))
    return;
  if (total > 0)
    fprintf (stderr, "\r\033[K%s %u/%u", what, done, total);
  else
    fprintf (stderr, "\r\033[K%s %u", what, done);
  fflush (stderr);
}

void
cli_progress_end (const Cli *cli)
{
  if (shows_progress (cli))
    fputs ("\r\033[K", stderr);
}

/* Bytes of a value's name in that of its file: 255 is what file systems allow of all of it. */
#define MOST_NAME 200

/* A file name for a value: unusual characters become '_', two values never share one. NumPy has no
 * bfloat16, no 8-bit floats and no strings of any bytes; the ending tells which format is written.
 */
char *
cli_file_of_value (const char *of, guint id, const IrTensor *tensor, GHashTable *taken)
{
  const char *ending = ir_dtype_numpy (ir_tensor_dtype (tensor)) != NULL &&
                               ir_tensor_sparse_values (tensor) == NULL
                           ? "npy"
                           : "pb";
  g_autofree char *safe = g_strndup (of, MOST_NAME);
  const gboolean whole = strlen (of) <= MOST_NAME;
  g_autofree char *name = NULL;

  g_strcanon (safe, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", '_');
  if (safe[0] == '.' || safe[0] == '\0')
    name = g_strdup_printf ("value%s_%u.%s", safe, id, ending);
  else if (!whole) /* iterations of one value have its id too */
    name = g_strdup_printf ("%s_%u_%08x.%s", safe, id, g_str_hash (of), ending);
  else if (g_hash_table_contains (taken, safe))
    name = g_strdup_printf ("%s_%u.%s", safe, id, ending);
  else
    name = g_strdup_printf ("%s.%s", safe, ending);
  g_hash_table_add (taken, g_steal_pointer (&safe));
  return g_steal_pointer (&name);
}
