#include "config.h"

#include "app/cli/derive.h"

#include "passes/rewrites/gradient.h"

#define OPSET 18

/* A float value some size of which is not known, and is no symbol either. */
static gboolean
has_open_sizes (const IrModel *model)
{
  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = ir_model_live_value (model, i);
      const IrType *type = value != NULL && value->graph == model->main ? value->type : NULL;

      if (!ir_type_is_tensor (type) || !ir_dtype_is_float (type->dtype))
        continue;
      if (!ir_type_has_rank (type))
        return TRUE;
      for (int k = 0; k < type->rank; k++)
        if (type->dims[k] == IR_DIM_UNKNOWN)
          return TRUE;
    }
  return FALSE;
}

/* What is computed of parameters stays: it is derived by them. @data: set of IrValue */
static IrPolicyAnswer
ask_but_parameters (const char *pass,
                    const char *rule,
                    const IrNode *anchor,
                    guint ordinal,
                    const char *stable_key,
                    gpointer data)
{
  for (guint i = 0; anchor != NULL && i < anchor->n_inputs; i++)
    if (anchor->inputs[i] != NULL && g_hash_table_contains (data, anchor->inputs[i]))
      return IR_POLICY_SKIP;
  return IR_POLICY_APPLY;
}

/* Names, so that what folding makes constant is none of them. */
static char *
names_of (const GPtrArray *by)
{
  GString *names = g_string_new (NULL);

  for (guint i = 0; i < by->len; i++)
    g_string_append_printf (names, "%s%s", i > 0 ? "," : "",
                            ((const IrValue *) by->pdata[i])->name);
  return g_string_free (names, FALSE);
}

static gboolean
fold_sizes (Cli *cli, IrModel *model, char **wrt, GError **error)
{
  const char *const names[] = { "fold-constants", "fold-shapes", NULL };
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, error);
  g_autoptr (GHashTable) kept = g_hash_table_new (NULL, NULL);
  const IrPolicy policy = { ask_but_parameters, kept };
  const IrPipelineOptions options = { .max_class = IR_CLASS_EXACT, .policy = &policy };
  g_autoptr (GPtrArray) by = ir_gradient_wrt (model, *wrt, error);

  if (by == NULL || pipeline == NULL)
    return FALSE;
  g_free (*wrt);
  *wrt = names_of (by);
  for (guint i = 1; i < model->values->len; i++)
    {
      IrValue *value = ir_model_live_value (model, i);
      if (value != NULL && value->initializer != NULL && ir_dtype_is_float (ir_value_dtype (value)))
        g_hash_table_add (kept, value);
    }
  return ir_pipeline_run (model, pipeline, &options, NULL, cli->cancellable, error);
}

gboolean
cli_upgrade_to_derive (Cli *cli, const CliModelOptions *options, IrModel *model, GError **error)
{
  gint64 opset = ir_model_opset (model, "");
  CliModelOptions chosen = *options;
  IrPipelineResult result;

  chosen.pipeline = NULL;
  chosen.set = NULL;
  chosen.passes = (char *) IR_PASS_UPGRADE_OPSET;
  chosen.opset = OPSET;
  return opset == 0 || opset >= OPSET || cli_run_pipeline (cli, &chosen, model, &result, error);
}

/* What tokens move through becomes control flow, which is derived, where it has that form. */
static gboolean
raise_tokens (Cli *cli, IrModel *model, GError **error)
{
  const char *const names[] = { "raise-control-flow", NULL };
  const IrPipelineOptions options = { .max_class = IR_CLASS_EXACT };
  g_autoptr (IrPipeline) pipeline = NULL;

  if (!ir_graph_has_tokens (model->main))
    return TRUE;
  pipeline = ir_pipeline_new_from_names (names, error);
  return pipeline != NULL &&
         ir_pipeline_run (model, pipeline, &options, NULL, cli->cancellable, error);
}

gboolean
cli_prepare_to_derive (
    Cli *cli, const CliModelOptions *options, IrModel *model, char **wrt, GError **error)
{
  return cli_upgrade_to_derive (cli, options, model, error) && raise_tokens (cli, model, error) &&
         (!has_open_sizes (model) || fold_sizes (cli, model, wrt, error));
}
