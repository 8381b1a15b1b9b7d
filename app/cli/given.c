/* What options give the inputs of a graph: --data-set, --input, --image, --value and --fill. */
#include "config.h"

#include "app/cli/given.h"

#include "core/exec/eval/data-set.h"
#include "core/exec/eval/given.h"
#include "core/exec/run/fill.h"
#include "core/io/io.h"

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

/* @why: (transfer full): of words that mean nothing, with the option that has them */
static void
pass_on (GError **error, const char *option, const char *said, GError *why)
{
  if (g_error_matches (why, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT))
    {
      g_set_error (error, CLI_ERROR, 0, "--%s %s: %s", option, said, why->message);
      g_error_free (why);
    }
  else
    g_propagate_error (error, why);
}

/* All arrays of a file, by name. */
static gboolean
give_arrays (GArray *given, const IrModel *model, const char *path, GError **error)
{
  GError *why = NULL;
  g_autoptr (GPtrArray) arrays = ir_given_arrays (model, path, &why);

  for (guint i = 0; arrays != NULL && i < arrays->len; i++)
    {
      const IrNamedTensor *array = arrays->pdata[i];

      give (given, "input", path, ir_graph_find_value (model->main, array->name),
            ir_tensor_ref (array->tensor));
    }
  if (why != NULL)
    pass_on (error, "input", path, why);
  return arrays != NULL;
}

/* What is said of one input. */
static gboolean
give_one (GArray *given,
          const CliModelOptions *options,
          IrGivenKind kind,
          const char *option,
          IrValue *input,
          const char *said,
          const char *text,
          GError **error)
{
  g_autoptr (GHashTable) bindings = cli_bindings (options, error);
  GError *why = NULL;
  IrTensor *tensor = bindings != NULL ? ir_given_make (kind, input, bindings, text, &why) : NULL;

  if (tensor != NULL)
    give (given, option, said, input, tensor);
  else if (why != NULL)
    pass_on (error, option, said, why);
  return tensor != NULL;
}

static gboolean
load_input (
    GArray *given, const CliModelOptions *options, IrModel *model, const char *said, GError **error)
{
  g_autofree char *name = NULL;
  const char *path;
  IrValue *input;

  if (g_str_has_suffix (said, ".npz") && g_file_test (said, G_FILE_TEST_EXISTS))
    return give_arrays (given, model, said, error);
  if (!cli_split_assignment (said, "input", &name, &path, error))
    return FALSE;
  input = split_input (model, said, &path);
  if (input == NULL)
    return find_input (model, "input", said, error) != NULL;
  return give_one (given, options, IR_GIVEN_FILE, "input", input, said, path, error);
}

/* -- pictures and numbers -- */

/* The first sign behind a name that an input has: settings of pictures have more of them. */
static IrValue *
split_name (const IrModel *model, const char *said, const char **text)
{
  for (const char *at = strchr (said, '='); at != NULL; at = strchr (at + 1, '='))
    {
      g_autofree char *name = g_strndup (said, (gsize) (at - said));
      IrValue *value = ir_graph_find_value (model->main, name);

      if (value != NULL && ir_value_is_graph_input (value) && at[1] != '\0')
        {
          *text = at + 1;
          return value;
        }
    }
  return NULL;
}

static gboolean
give_words (GArray *given,
            const CliModelOptions *options,
            IrModel *model,
            IrGivenKind kind,
            const char *option,
            const char *said,
            GError **error)
{
  g_autofree char *name = NULL;
  const char *text;
  IrValue *input;

  if (!cli_split_assignment (said, option, &name, &text, error))
    return FALSE;
  input = split_name (model, said, &text);
  if (input == NULL)
    return find_input (model, option, said, error) != NULL;
  return give_one (given, options, kind, option, input, said, text, error);
}

static void
free_fill (gpointer fill)
{
  g_free (fill);
}

GHashTable *
cli_fills (const CliModelOptions *options, const IrModel *model, GError **error)
{
  g_autoptr (GHashTable) fills = g_hash_table_new_full (NULL, NULL, NULL, free_fill);

  for (guint i = 0; options->fills != NULL && options->fills[i] != NULL; i++)
    {
      g_autofree char *name = NULL;
      g_autoptr (GError) why = NULL;
      const char *text;
      IrValue *input;
      IrFill fill;

      if (!cli_split_assignment (options->fills[i], "fill", &name, &text, error))
        return NULL;
      input = split_name (model, options->fills[i], &text);
      if (input == NULL)
        {
          find_input (model, "fill", options->fills[i], error);
          return NULL;
        }
      if (!ir_fill_parse (text, &fill, &why))
        {
          g_set_error (error, CLI_ERROR, 0, "--fill %s: %s", options->fills[i], why->message);
          return NULL;
        }
      g_hash_table_replace (fills, GUINT_TO_POINTER (input->id), g_memdup2 (&fill, sizeof fill));
    }
  return g_steal_pointer (&fills);
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
    if (!load_input (given, options, model, options->inputs[i], error))
      return NULL;
  for (guint i = 0; options->images != NULL && options->images[i] != NULL; i++)
    if (!give_words (given, options, model, IR_GIVEN_PICTURE, "image", options->images[i], error))
      return NULL;
  for (guint i = 0; options->values != NULL && options->values[i] != NULL; i++)
    if (!give_words (given, options, model, IR_GIVEN_NUMBERS, "value", options->values[i], error))
      return NULL;
  return g_steal_pointer (&given);
}
