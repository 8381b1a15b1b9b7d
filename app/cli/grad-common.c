/* What the ways of irscope grad share: names, directions, and how a derivative is printed. */
#include "config.h"

#include "app/cli/grad.h"
#include "app/cli/output.h"
#include "core/exec/eval/given.h"
#include "core/io/io.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

char *
cli_grad_names (char *const *names, const char *fallback)
{
  return names != NULL ? g_strjoinv (",", (char **) names) : g_strdup (fallback);
}

static gboolean
looks_like_numbers (const char *text)
{
  char *end = NULL;

  g_ascii_strtod (text, &end);
  return end != text && (*end == '\0' || *end == ',');
}

IrTensor *
cli_grad_direction (const CliGradOptions *options, const IrValue *value, GError **error)
{
  for (guint i = 0; options->tangents != NULL && options->tangents[i] != NULL; i++)
    {
      g_autofree char *name = NULL;
      const char *text;

      if (!cli_split_assignment (options->tangents[i], "tangent", &name, &text, error))
        return NULL;
      if (strcmp (name, value->name) != 0)
        continue;
      g_autoptr (IrTensor) tensor = ir_given_make (
          looks_like_numbers (text) ? IR_GIVEN_NUMBERS : IR_GIVEN_FILE, value, NULL, text, error);
      if (tensor == NULL)
        g_prefix_error (error, "--tangent %s: ", options->tangents[i]);
      else if (ir_tensor_dtype (tensor) != ir_value_dtype (value))
        g_set_error (error, CLI_ERROR, 0, "--tangent %s: is %s, and %s is %s", options->tangents[i],
                     ir_dtype_name (ir_tensor_dtype (tensor)), value->name,
                     ir_dtype_name (ir_value_dtype (value)));
      else
        return g_steal_pointer (&tensor);
      return NULL;
    }
  return NULL;
}

char *
cli_grad_wrt (const CliGradOptions *options, GError **error)
{
  g_autoptr (GString) names = g_string_new (NULL);

  if (options->tangents == NULL)
    return cli_grad_names (options->wrt, "params");
  if (options->wrt != NULL)
    {
      g_set_error (
          error, CLI_ERROR, 0,
          "--tangent and --hvp name what it is derived by, and --wrt does, too: leave --wrt out");
      return NULL;
    }
  for (guint i = 0; options->tangents[i] != NULL; i++)
    {
      g_autofree char *name = NULL;
      const char *text;
      if (!cli_split_assignment (options->tangents[i], "tangent", &name, &text, error))
        return NULL;
      g_string_append_printf (names, "%s%s", i > 0 ? "," : "", name);
    }
  return g_string_free (g_steal_pointer (&names), FALSE);
}

gboolean
cli_grad_save (const CliGradOptions *options,
               const char *name,
               const IrTensor *tensor,
               char **path,
               GError **error)
{
  *path = NULL;
  if (options->out == NULL || tensor == NULL)
    return TRUE;
  if (g_mkdir_with_parents (options->out, 0777) != 0)
    {
      g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s: cannot be made", options->out);
      return FALSE;
    }
  g_autofree char *file = cli_file_of_value (name, g_hash_table_size (options->taken), tensor,
                                             options->taken);
  *path = g_build_filename (options->out, file, NULL);
  return ir_tensor_save (tensor, *path, error);
}

double
cli_grad_sum (const IrTensor *tensor)
{
  double sum = 0;

  if (tensor == NULL)
    return NAN;
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    sum += ir_tensor_get_double (tensor, i);
  return isnan (sum) ? NAN : sum; /* whatever its sign: a processor gives "-nan" */
}

static IrTensorStats
stats_of (const IrTensor *tensor)
{
  IrTensorStats stats = { 0 };

  if (tensor != NULL)
    ir_tensor_stats (tensor, 0, &stats);
  return stats;
}

void
cli_grad_add_tensor (cJSON *object, const IrTensor *tensor, const char *path)
{
  const IrTensorStats stats = stats_of (tensor);

  if (path != NULL)
    cJSON_AddStringToObject (object, "file", path);
  else
    cJSON_AddNullToObject (object, "file");
  cJSON *shape = cJSON_AddArrayToObject (object, "shape");
  for (guint i = 0; tensor != NULL && i < ir_tensor_rank (tensor); i++)
    cJSON_AddItemToArray (shape, cJSON_CreateNumber ((double) ir_tensor_dims (tensor)[i]));
  cli_json_add_double (object, "norm", ir_tensor_stats_norm (&stats));
  cli_json_add_double (object, "max_abs", ir_tensor_stats_max_abs (&stats));
  cli_json_add_uint (object, "zeros", stats.n_zero);
  cli_json_add_uint (object, "nan", stats.n_nan);
}

void
cli_grad_add_held (cJSON *object, double norm)
{
  if (isnan (norm))
    cJSON_AddNullToObject (object, "held_norm");
  else
    cli_json_add_double (object, "held_norm", norm);
}

void
cli_grad_print_tensor (const char *name, const IrTensor *tensor, const char *why)
{
  const IrTensorStats stats = stats_of (tensor);

  if (tensor == NULL)
    {
      cli_print ("  %-32s none  %s\n", name, why != NULL ? why : "");
      return;
    }
  cli_print ("  %-32s norm %-12.6g max %-12.6g %8" G_GUINT64_FORMAT " zeros %6" G_GUINT64_FORMAT
             " NaN%s%s\n",
             name, ir_tensor_stats_norm (&stats), ir_tensor_stats_max_abs (&stats), stats.n_zero,
             stats.n_nan, why != NULL ? "  " : "", why != NULL ? why : "");
}

void
cli_grad_add_node (const IrNode *node, cJSON *object)
{
  g_autofree char *id = node != NULL ? g_strdup_printf ("#%u", node->id) : NULL;

  cJSON_AddItemToObject (object, "node",
                         node == NULL ? cJSON_CreateNull ()
                                      : cJSON_CreateString (*node->name != '\0' ? node->name : id));
  cJSON_AddItemToObject (object, "operator",
                         node != NULL ? cJSON_CreateString (node->op_type) : cJSON_CreateNull ());
}
