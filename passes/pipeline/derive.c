/* Before a derivation: the opset that its rules give nodes of, control flow in place of closures and tokens, and
 * sizes where constants tell them. */
#include "config.h"

#include "passes/pipeline/derive.h"

#include "passes/rewrites/gradient.h"
#include "passes/rewrites/raise.h"
#include "passes/rewrites/upgrade.h"

#define DERIVED_OPSET 18

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
fold_sizes (IrModel *model, char **wrt, GCancellable *cancellable, GError **error)
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
  return ir_pipeline_run (model, pipeline, &options, NULL, cancellable, error);
}

/**
 * ir_upgrade_to_derive:
 * @model: a model
 * @cancellable: (nullable): stops it
 * @error: return location for an error
 *
 * Brings @model to an opset that the rules of derivatives give nodes of, in steps.
 */
gboolean
ir_upgrade_to_derive (IrModel *model, GCancellable *cancellable, GError **error)
{
  const char *const names[] = { IR_PASS_UPGRADE_OPSET, NULL };
  const gint64 opset = ir_model_opset (model, "");
  const IrPipelineOptions options = { .max_class = IR_CLASS_ROUNDING,
                                      .backend = ir_backend_find ("cpu") };
  g_autoptr (IrPipeline) pipeline = NULL;

  if (opset == 0 || opset >= DERIVED_OPSET)
    return TRUE;
  if (!ir_opset_may_be (model, DERIVED_OPSET, error))
    return FALSE;
  pipeline = ir_pipeline_new_from_names (names, error);
  return pipeline != NULL &&
         ir_pipeline_set (pipeline, IR_PASS_UPGRADE_OPSET ".opset=" G_STRINGIFY (DERIVED_OPSET),
                          error) &&
         ir_pipeline_run (model, pipeline, &options, NULL, cancellable, error);
}

/* Closures, and what tokens move through, become control flow, which is derived, where they have that form. */
static gboolean
raise_control_flow (IrModel *model, GCancellable *cancellable, GError **error)
{
  const char *const names[] = { "from-closures", "raise-control-flow", NULL };
  const IrPipelineOptions options = { .max_class = IR_CLASS_EXACT };
  g_autoptr (IrPipeline) pipeline = NULL;

  if (!ir_graph_has_tokens (model->main) && ir_pass_find_closure (model) == NULL)
    return TRUE;
  pipeline = ir_pipeline_new_from_names (names, error);
  return pipeline != NULL && ir_pipeline_run (model, pipeline, &options, NULL, cancellable, error);
}

/**
 * ir_prepare_to_derive:
 * @model: a model whose types are known
 * @wrt: (inout): what it is derived by, as the option of the pass gradient; names, where something
 *   was folded
 * @cancellable: (nullable): stops it
 * @error: return location for an error
 *
 * As ir_upgrade_to_derive(); also makes control flow of closures and tokens, and folds constants other than
 * parameters where that may tell sizes that are not known. All in steps.
 */
gboolean
ir_prepare_to_derive (IrModel *model, char **wrt, GCancellable *cancellable, GError **error)
{
  return ir_upgrade_to_derive (model, cancellable, error) &&
         raise_control_flow (model, cancellable, error) &&
         (!has_open_sizes (model) || fold_sizes (model, wrt, cancellable, error));
}
