/* What inputs a run gets, and what sizes: --dim, --shape, --random, and what given.c reads. */
#include "config.h"

#include "app/cli/given.h"
#include "app/cli/model.h"
#include "app/cli/print.h"

#include "core/exec/exec.h"
#include "core/io/io.h"
#include "core/op/infer.h"

#include <string.h>

/* -- dimensions -- */

gboolean
cli_split_assignment (
    const char *text, const char *option, char **name, const char **value, GError **error)
{
  const char *equals = strrchr (text, '=');

  if (equals == NULL || equals == text || equals[1] == '\0')
    {
      g_set_error (error, CLI_ERROR, 0, "--%s %s: needs NAME=VALUE", option, text);
      return FALSE;
    }
  *name = g_strndup (text, equals - text);
  *value = equals + 1;
  return TRUE;
}

GHashTable *
cli_bindings (const CliModelOptions *options, GError **error)
{
  g_autoptr (GHashTable) bindings = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);

  for (guint i = 0; options->dims != NULL && options->dims[i] != NULL; i++)
    {
      g_autofree char *name = NULL;
      const char *text;
      gint64 value;

      if (!cli_split_assignment (options->dims[i], "dim", &name, &text, error))
        return NULL;
      if (!g_ascii_string_to_signed (text, 10, 0, G_MAXINT32, &value, NULL))
        {
          g_set_error (error, CLI_ERROR, 0, "--dim %s: needs a number from 0 to %d, found '%s'",
                       options->dims[i], G_MAXINT32, text);
          return NULL;
        }
      g_hash_table_replace (bindings, g_steal_pointer (&name), g_memdup2 (&value, sizeof value));
    }
  return g_steal_pointer (&bindings);
}

static gboolean
parse_shape (const char *text, gint64 *dims, guint *rank)
{
  g_auto (GStrv) parts = g_strsplit (text, "x", -1);

  *rank = 0;
  if (strcmp (text, "scalar") == 0)
    return TRUE;
  for (guint i = 0; parts[i] != NULL; i++)
    if (*rank == IR_MAX_RANK ||
        !g_ascii_string_to_signed (parts[i], 10, 0, G_MAXINT32, &dims[(*rank)++], NULL))
      return FALSE;
  return TRUE;
}

static gboolean
bind_shape (IrEdit *edit, const char *option, GError **error)
{
  IrModel *model = ir_edit_model (edit);
  g_autofree char *name = NULL;
  const char *text;
  gint64 dims[IR_MAX_RANK];
  guint rank;
  IrValue *input;

  if (!cli_split_assignment (option, "shape", &name, &text, error))
    return FALSE;
  if (!parse_shape (text, dims, &rank))
    {
      g_set_error (error, CLI_ERROR, 0,
                   "--shape %s: needs sizes joined by x, such as 1x128, or scalar; found '%s'",
                   option, text);
      return FALSE;
    }
  input = ir_graph_find_value (model->main, name);
  if (input == NULL || !ir_value_is_graph_input (input))
    {
      g_set_error (error, CLI_ERROR, 0, "--shape %s: the graph has no input '%s'", option, name);
      return FALSE;
    }
  ir_infer_bind_input (edit, input, rank, dims);
  return TRUE;
}

/* @sizes: of symbols, by the contents so far: one symbol has one size. */
static gboolean
agree_on_symbols (const char *option,
                  IrContext *context,
                  const IrType *type,
                  const IrTensor *tensor,
                  GHashTable *sizes,
                  GError **error)
{
  for (int i = 0; i < type->rank; i++)
    {
      const char *symbol = ir_dim_is_symbolic (type->dims[i])
                               ? ir_dim_symbol_name (context, type->dims[i])
                               : NULL;
      const gint64 *size = &ir_tensor_dims (tensor)[i];
      const gint64 *before = symbol != NULL ? g_hash_table_lookup (sizes, symbol) : NULL;

      if (before != NULL && *before != *size)
        {
          g_set_error (error, CLI_ERROR, 0,
                       "%s: has %s = %" G_GINT64_FORMAT ", but another input has %" G_GINT64_FORMAT
                       "; where both are right, give the inputs shapes of their own by --shape",
                       option, symbol, *size, *before);
          return FALSE;
        }
      if (symbol != NULL && before == NULL)
        g_hash_table_insert (sizes, (gpointer) symbol, g_memdup2 (size, sizeof *size));
    }
  return TRUE;
}

/* Contents that are given say the sizes of their input, for passes too. What does not fit the type
 * is left for the run to refuse. */
static gboolean
bind_contents (IrEdit *edit, const CliGiven *given, GHashTable *sizes, GError **error)
{
  IrValue *input = given->input;
  const IrTensor *tensor = given->tensor;
  const IrType *type = input->type;

  if (!ir_type_is_tensor (type) || ir_tensor_kind (tensor) != IR_TYPE_TENSOR ||
      (type->rank != IR_RANK_UNKNOWN && (guint) type->rank != ir_tensor_rank (tensor)))
    return TRUE;
  for (int i = 0; i < type->rank; i++)
    if (ir_dim_is_known (type->dims[i]) && type->dims[i] != ir_tensor_dims (tensor)[i])
      return TRUE;
  if (!agree_on_symbols (given->option, ir_edit_model (edit)->context, type, tensor, sizes, error))
    return FALSE;
  ir_infer_bind_input (edit, input, ir_tensor_rank (tensor), ir_tensor_dims (tensor));
  return TRUE;
}

/* Of an input whose dim has no name: "x[1]". */
static gboolean
is_free_dim (const IrModel *model, const char *name)
{
  g_autoptr (GArray) dims = ir_free_dims (model, NULL);

  for (guint i = 0; i < dims->len; i++)
    if (strcmp (g_array_index (dims, IrFreeDim, i).name, name) == 0)
      return TRUE;
  return FALSE;
}

/* -- sizes that the graph fixes -- */

/* "--dim s=16", for those of @model that follow from a node; (nullable): there are none */
static char *
proposal_text (const IrModel *model)
{
  g_autoptr (GArray) dims = ir_free_dims (model, NULL);
  GString *text = NULL;

  for (guint i = 0; i < dims->len; i++)
    {
      const IrFreeDim *dim = &g_array_index (dims, IrFreeDim, i);

      if (dim->node == 0)
        continue;
      text = text != NULL ? text : g_string_new ("give");
      g_string_append_printf (text, " --dim '%s=%" G_GINT64_FORMAT "'", dim->name, dim->size);
    }
  return text != NULL ? g_string_free (text, FALSE) : NULL;
}

guint
cli_add_size_conflicts (const IrModel *model, GHashTable *bindings, GPtrArray *problems)
{
  g_autoptr (GArray) conflicts = ir_size_conflicts (model, bindings);
  g_autofree char *proposal = bindings != NULL && conflicts->len > 0 ? proposal_text (model) : NULL;

  for (guint i = 0; i < conflicts->len; i++)
    {
      const IrSizeConflict *conflict = &g_array_index (conflicts, IrSizeConflict, i);
      IrProblem *problem = ir_problems_add (problems, IR_SEVERITY_ERROR, IR_PROBLEM_SHAPE_MISMATCH,
                                            ir_model_node (model, conflict->node), NULL, "%s",
                                            conflict->text);

      if (proposal != NULL)
        ir_problem_set_hint (problem, proposal);
    }
  return conflicts->len;
}

void
cli_json_add_sizes (cJSON *json, const IrModel *model)
{
  g_autoptr (GArray) dims = ir_free_dims (model, NULL);
  cJSON *array = cJSON_AddArrayToObject (json, "sizes");

  for (guint i = 0; i < dims->len; i++)
    {
      const IrFreeDim *dim = &g_array_index (dims, IrFreeDim, i);
      const IrNode *node = dim->node != 0 ? ir_model_node (model, dim->node) : NULL;
      cJSON *object = cJSON_CreateObject ();

      cJSON_AddStringToObject (object, "name", dim->name);
      cJSON_AddNumberToObject (object, "size", (double) dim->size);
      cJSON_AddStringToObject (object, "by", node != NULL ? "node" : "default");
      if (node != NULL)
        {
          cJSON_AddStringToObject (object, "node", node->name);
          cJSON_AddNumberToObject (object, "id", node->id);
          cJSON_AddStringToObject (object, "why", dim->why);
        }
      cJSON_AddItemToArray (array, object);
    }
}

void
cli_print_default_sizes (const IrModel *model)
{
  g_autoptr (GArray) dims = ir_free_dims (model, NULL);

  for (guint i = 0; i < dims->len; i++)
    {
      const IrFreeDim *dim = &g_array_index (dims, IrFreeDim, i);

      if (dim->node == 0 && dim->size > 1)
        cli_print ("%s=%" G_GINT64_FORMAT
                   " by default; a smaller one, --dim %s=1, is searched sooner\n",
                   dim->name, dim->size, dim->name);
    }
}

gboolean
cli_bind_dims (const CliModelOptions *options, IrModel *model, GPtrArray *problems, GError **error)
{
  g_autoptr (IrEdit) edit = NULL;
  g_autoptr (GHashTable) bindings = NULL;
  GHashTableIter iter;
  gpointer symbol, size;
  g_autoptr (GHashTable) sizes = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);

  g_autoptr (GArray) given = cli_given (options, model, error);

  g_autoptr (GHashTable) fills = given != NULL ? cli_fills (options, model, error) : NULL;

  if (fills == NULL)
    return FALSE;
  if (options->dims == NULL && options->shapes == NULL && given->len == 0)
    return TRUE;
  edit = ir_edit_new_import (model);
  for (guint i = 0; options->shapes != NULL && options->shapes[i] != NULL; i++)
    if (!bind_shape (edit, options->shapes[i], error))
      return FALSE;
  for (guint i = 0; i < given->len; i++)
    if (!bind_contents (edit, &g_array_index (given, CliGiven, i), sizes, error))
      return FALSE;
  bindings = cli_bindings (options, error);
  for (guint i = 0; bindings != NULL && options->dims != NULL && options->dims[i] != NULL; i++)
    {
      g_autofree char *name = g_strndup (options->dims[i],
                                         strrchr (options->dims[i], '=') - options->dims[i]);

      if (ir_context_has_string (model->context, name) || is_free_dim (model, name))
        continue;
      g_set_error (
          error, CLI_ERROR, 0,
          "--dim %s: the model has no symbol '%s'; 'irscope info' shows those of its inputs",
          options->dims[i], name);
      return FALSE;
    }
  g_hash_table_iter_init (&iter, sizes);
  while (bindings != NULL && g_hash_table_iter_next (&iter, &symbol, &size))
    if (!g_hash_table_contains (bindings, symbol))
      g_hash_table_insert (bindings, g_strdup (symbol), g_memdup2 (size, sizeof (gint64)));
  if (bindings != NULL && options->dims != NULL)
    cli_add_size_conflicts (model, bindings, problems);
  return bindings != NULL && ir_infer_bind (edit, bindings, problems, error);
}

/* -- inputs -- */

/* (transfer full) (nullable): those that options give; their sizes are added to @bindings */
static GHashTable *
given_inputs (const CliModelOptions *options, IrModel *model, GHashTable *bindings, GError **error)
{
  g_autoptr (GHashTable)
      given = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);

  g_autoptr (GArray) all = cli_given (options, model, error);

  if (all == NULL)
    return NULL;
  for (guint i = 0; i < all->len; i++)
    {
      const CliGiven *one = &g_array_index (all, CliGiven, i);

      g_hash_table_replace (given, GUINT_TO_POINTER (one->input->id), ir_tensor_ref (one->tensor));
    }
  ir_bind_given (model, given, bindings);
  return g_steal_pointer (&given);
}

GHashTable *
cli_inputs_within (
    Cli *cli, const CliModelOptions *options, IrModel *model, guint64 limit, GError **error)
{
  g_autoptr (GHashTable) bindings = cli_bindings (options, error);
  g_autoptr (GHashTable) given = bindings != NULL ? given_inputs (options, model, bindings, error)
                                                  : NULL;
  g_autoptr (GHashTable) fills = given != NULL ? cli_fills (options, model, error) : NULL;
  IrRandomOptions random = { .seed = (guint64) options->seed,
                             .bindings = bindings,
                             .given = given,
                             .fills = fills,
                             .limit = limit,
                             .cancellable = cli->cancellable };
  GHashTable *inputs = fills != NULL ? ir_random_inputs_with (model, &random, error) : NULL;
  GHashTableIter iter;
  gpointer id, tensor;

  if (inputs == NULL)
    return NULL;
  g_hash_table_iter_init (&iter, given);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    g_hash_table_replace (inputs, id, ir_tensor_ref (tensor));
  return inputs;
}

GHashTable *
cli_inputs (Cli *cli, const CliModelOptions *options, IrModel *model, GError **error)
{
  return cli_inputs_within (cli, options, model, 0, error);
}

gboolean
cli_bind_sizes (const CliModelOptions *options, IrModel *model, IrEdit *edit, GError **error)
{
  g_autoptr (GHashTable) bindings = cli_bindings (options, error);
  g_autoptr (GHashTable) given = bindings != NULL ? given_inputs (options, model, bindings, error)
                                                  : NULL;
  IrRandomOptions random = { .bindings = bindings, .given = given };

  return given != NULL && ir_random_bind_sizes (edit, &random, error);
}
