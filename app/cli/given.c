/* What options give the inputs of a graph: --data-set, --input and --value. */
#include "config.h"

#include "app/cli/given.h"

#include "core/exec/eval/data-set.h"
#include "core/io/io.h"
#include "core/op/infer.h"

#include <string.h>

/* -- files -- */

/* Names and paths may have more of the sign: a name that an input has, and a path that there is. */
static IrValue *
split_input (const IrModel *model, const char *option, const char **path)
{
  IrValue *found = NULL;

  for (const char *at = strchr (option, '='); at != NULL; at = strchr (at + 1, '='))
    {
      g_autofree char *name = g_strndup (option, at - option);
      IrValue *value = ir_graph_find_value (model->main, name);
      gboolean there = g_file_test (at + 1, G_FILE_TEST_EXISTS);

      if (value == NULL || !ir_value_is_graph_input (value) || (found != NULL && !there))
        continue;
      found = value;
      *path = at + 1;
      if (there)
        break;
    }
  return found;
}

/* @tensor: (transfer full) */
static void
give (GArray *given, const char *option, const char *text, IrValue *input, IrTensor *tensor)
{
  const CliGiven one = { input, tensor, g_strdup_printf ("--%s %s", option, text) };

  g_array_append_val (given, one);
}

static IrValue *
find_input (const IrModel *model, const char *option, const char *text, GError **error)
{
  g_autofree char *name = g_strndup (text, strcspn (text, "="));
  IrValue *input = ir_graph_find_value (model->main, name);

  if (input != NULL && ir_value_is_graph_input (input))
    return input;
  g_set_error (error, CLI_ERROR, 0, "--%s %s: the graph has no input '%s'", option, text, name);
  return NULL;
}

/* -- .npz -- */

/* The array called @key; without one, that of the input's name, or the only one. (transfer full) */
static IrTensor *
array_of (
    const GPtrArray *arrays, const char *path, const char *key, const char *name, GError **error)
{
  g_autoptr (GString) keys = g_string_new (NULL);

  for (guint i = 0; i < arrays->len; i++)
    {
      const IrNamedTensor *array = arrays->pdata[i];

      if (strcmp (array->name, key != NULL ? key : name) == 0 || (key == NULL && arrays->len == 1))
        return ir_tensor_ref (array->tensor);
      g_string_append_printf (keys, "%s%s", i > 0 ? ", " : "", array->name);
    }
  g_set_error (error, CLI_ERROR, 0, "%s: has no array '%s'; it has %s", path,
               key != NULL ? key : name, arrays->len > 0 ? keys->str : "none");
  return NULL;
}

/* @path: FILE.npz or FILE.npz:KEY. (transfer full) (nullable) */
static IrTensor *
load_array (const char *path, const char *name, GError **error)
{
  const char *colon = g_str_has_suffix (path, ".npz") ? NULL : strrchr (path, ':');
  g_autofree char *file = g_strndup (path, colon != NULL ? (gsize) (colon - path) : strlen (path));
  g_autoptr (GPtrArray) arrays = ir_npz_load (file, error);

  return arrays != NULL ? array_of (arrays, file, colon != NULL ? colon + 1 : NULL, name, error)
                        : NULL;
}

/* All arrays of a file, by name; at least one is that of an input. */
static gboolean
give_arrays (GArray *given, const IrModel *model, const char *path, GError **error)
{
  g_autoptr (GPtrArray) arrays = ir_npz_load (path, error);
  gboolean some = FALSE;

  if (arrays == NULL)
    return FALSE;
  for (guint i = 0; i < arrays->len; i++)
    {
      const IrNamedTensor *array = arrays->pdata[i];
      IrValue *input = ir_graph_find_value (model->main, array->name);

      if (input == NULL || !ir_value_is_graph_input (input))
        continue;
      give (given, "input", path, input, ir_tensor_ref (array->tensor));
      some = TRUE;
    }
  if (!some)
    g_set_error (error, CLI_ERROR, 0,
                 "--input %s: none of its arrays has the name of an input; "
                 "give INPUT=%s:ARRAY",
                 path, path);
  return some;
}

static gboolean
is_array_path (const char *path)
{
  return g_str_has_suffix (path, ".npz") ||
         (strstr (path, ".npz:") != NULL && !g_file_test (path, G_FILE_TEST_EXISTS));
}

static gboolean
load_input (GArray *given, IrModel *model, const char *option, GError **error)
{
  g_autofree char *name = NULL;
  const char *path;
  IrTensor *tensor = NULL;

  if (g_str_has_suffix (option, ".npz") && g_file_test (option, G_FILE_TEST_EXISTS))
    return give_arrays (given, model, option, error);
  if (!cli_split_assignment (option, "input", &name, &path, error))
    return FALSE;
  IrValue *input = split_input (model, option, &path);
  if (input == NULL)
    return find_input (model, "input", option, error) != NULL;
  if (is_array_path (path))
    tensor = load_array (path, input->name, error);
  else if (!g_file_test (path, G_FILE_TEST_EXISTS))
    g_set_error (error, CLI_ERROR, 0, "--input %s: there is no file '%s'", option, path);
  else
    tensor = ir_value_load (path, input->type, error);
  if (tensor != NULL)
    give (given, "input", option, input, tensor);
  return tensor != NULL;
}

/* -- numbers -- */

/* One number for each element; a shape that is open takes the sizes of @sizes, and where only one is
 * left, what makes the numbers fit. FALSE: they do not. */
static gboolean
shape_of_numbers (const IrValue *input, GArray *sizes, guint n, gint64 *dims, guint *rank)
{
  const IrType *type = input->type;
  guint64 known = 1;
  int open = -1;

  *rank = 1;
  dims[0] = n;
  if (!ir_type_has_rank (type))
    return TRUE;
  *rank = (guint) type->rank;
  for (int axis = 0; axis < type->rank; axis++)
    {
      g_autofree char *text = ir_dim_to_string (input->graph->model->context, type->dims[axis]);
      g_autofree char *name = type->dims[axis] == IR_DIM_UNKNOWN
                                  ? ir_infer_dim_name (input, (guint) axis)
                                  : g_steal_pointer (&text);
      const IrFreeDim *dim = NULL;

      for (guint i = 0; i < sizes->len && dim == NULL; i++)
        if (strcmp (g_array_index (sizes, IrFreeDim, i).name, name) == 0)
          dim = &g_array_index (sizes, IrFreeDim, i);
      dims[axis] = type->dims[axis];
      if (!ir_dim_is_known (dims[axis]))
        {
          dims[axis] = dim != NULL ? dim->size : 1;
          open = open >= 0 || n == 1 || (dim != NULL && dim->given) ? open : axis;
        }
      if (axis != open && !g_uint64_checked_mul (&known, known, (guint64) dims[axis]))
        return FALSE;
    }
  if (open >= 0)
    dims[open] = known > 0 ? (gint64) (n / known) : 0;
  return n == 1 || (open >= 0 ? known * (guint64) dims[open] : known) == n;
}

/* (transfer full) (nullable): one number in all of @input, or one each */
static IrTensor *
tensor_of_numbers (
    const IrValue *input, GArray *sizes, GStrv texts, const char *option, GError **error)
{
  const IrDtype dtype = ir_value_dtype (input);
  const guint n = g_strv_length (texts);
  gint64 dims[IR_MAX_RANK];
  guint rank;

  if (input->type == NULL || !ir_type_is_tensor (input->type) ||
      !(ir_dtype_is_float (dtype) || ir_dtype_is_integer (dtype) || dtype == IR_DTYPE_BOOL))
    {
      g_set_error (error, CLI_ERROR, 0, "--value %s: the input is no tensor of numbers", option);
      return NULL;
    }
  if (!shape_of_numbers (input, sizes, n, dims, &rank))
    {
      g_autofree char *type = ir_type_to_string (input->graph->model->context, input->type);

      g_set_error (error, CLI_ERROR, 0, "--value %s: %u numbers do not fit %s", option, n, type);
      return NULL;
    }
  g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (dtype, rank, dims, error);
  for (guint64 i = 0; tensor != NULL && i < ir_tensor_n_elements (tensor); i++)
    {
      const char *text = texts[n == 1 ? 0 : i];
      char *end = NULL;
      gint64 integer = g_ascii_strtoll (text, &end, 10);

      if (ir_dtype_is_float (dtype))
        ir_dtype_set_double (dtype, ir_tensor_data_writable (tensor), i,
                             g_ascii_strtod (text, &end));
      else
        ir_dtype_set_int64 (dtype, ir_tensor_data_writable (tensor), i, integer);
      if (end == text || *end != '\0' ||
          (!ir_dtype_is_float (dtype) && ir_tensor_get_int64 (tensor, i) != integer))
        {
          g_set_error (error, CLI_ERROR, 0,
                       "--value %s: needs numbers of type %s with commas between, found '%s'",
                       option, ir_dtype_name (dtype), text);
          return NULL;
        }
    }
  return g_steal_pointer (&tensor);
}

static gboolean
give_numbers (GArray *given,
              const CliModelOptions *options,
              IrModel *model,
              const char *option,
              GError **error)
{
  g_autofree char *name = NULL;
  const char *text;

  if (!cli_split_assignment (option, "value", &name, &text, error))
    return FALSE;
  IrValue *input = ir_graph_find_value (model->main, name);
  if (input == NULL || !ir_value_is_graph_input (input))
    return find_input (model, "value", option, error) != NULL;
  g_autoptr (GHashTable) bindings = cli_bindings (options, error);
  g_autoptr (GArray) sizes = bindings != NULL ? ir_free_dims (model, bindings) : NULL;
  g_auto (GStrv) texts = g_strsplit (text, ",", -1);
  IrTensor *tensor = sizes != NULL ? tensor_of_numbers (input, sizes, texts, option, error) : NULL;
  if (tensor != NULL)
    give (given, "value", option, input, tensor);
  return tensor != NULL;
}

/* -- all of them -- */

static gboolean
give_data_set (GArray *given, IrModel *model, const char *dir, GError **error)
{
  g_autoptr (IrDataSet) set = ir_data_set_load (model, dir, error);

  for (guint i = 0; set != NULL && i < ir_graph_n_inputs (model->main); i++)
    {
      IrValue *input = ir_graph_input (model->main, i);
      IrTensor *tensor = input != NULL
                             ? g_hash_table_lookup (set->inputs, GUINT_TO_POINTER (input->id))
                             : NULL;

      if (tensor != NULL)
        give (given, "data-set", dir, input, ir_tensor_ref (tensor));
    }
  return set != NULL;
}

static void
given_clear (gpointer data)
{
  CliGiven *one = data;

  ir_tensor_unref (one->tensor);
  g_free (one->option);
}

GArray *
cli_given (const CliModelOptions *options, IrModel *model, GError **error)
{
  g_autoptr (GArray) given = g_array_new (FALSE, FALSE, sizeof (CliGiven));

  g_array_set_clear_func (given, given_clear);
  if (options->data_set != NULL && !give_data_set (given, model, options->data_set, error))
    return NULL;
  for (guint i = 0; options->inputs != NULL && options->inputs[i] != NULL; i++)
    if (!load_input (given, model, options->inputs[i], error))
      return NULL;
  for (guint i = 0; options->values != NULL && options->values[i] != NULL; i++)
    if (!give_numbers (given, options, model, options->values[i], error))
      return NULL;
  return g_steal_pointer (&given);
}
