/* ONNX has no tokens, and no edge back: what they move through becomes If, Loop, Scan and SequenceMap again
 * where a model is saved as ONNX. ONNX text and JSON keep it as it is. */
#include "config.h"

#include "passes/pipeline/save.h"

#include "core/io/io.h"
#include "passes/pipeline/pipeline.h"

#include <string.h>

static gboolean
has_tokens (const IrModel *model)
{
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      if (graph->state == IR_STATE_LIVE && ir_graph_has_tokens (graph))
        return TRUE;
    }
  return FALSE;
}

/* The first node that makes or takes closures is named in @error. */
static gboolean
has_closures (const IrModel *model, const char *path, GError **error)
{
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      if (node->state != IR_STATE_LIVE || strcmp (node->domain, "irscope.closure") != 0)
        continue;
      g_autofree char *label = ir_node_label (node);
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_UNSUPPORTED,
                   "%s: ONNX has no closures (%s); save it as .onnxtxt or .json, which keep them",
                   path, label);
      return TRUE;
    }
  return FALSE;
}

/* (transfer full) The first reason why something stays; @first: refusals that were there before */
static char *
why_left (const IrModel *model, guint first)
{
  const IrRefusal *refusal = ir_history_n_refusals (model) > first
                                 ? ir_history_refusal (model, first)
                                 : NULL;
  const IrNode *node = refusal != NULL ? ir_model_live_node (model, refusal->anchor) : NULL;
  g_autofree char *label = node != NULL ? ir_node_label (node) : NULL;

  if (refusal == NULL)
    return g_strdup ("some have no such form");
  return g_strdup_printf ("%s%s%s", label != NULL ? label : "", label != NULL ? ": " : "",
                          refusal->reason);
}

static gboolean
raise_tokens (
    IrModel *model, const char *path, guint *n_raised, GCancellable *cancellable, GError **error)
{
  const char *const names[] = { "raise-control-flow", NULL };
  const IrPipelineOptions options = { .max_class = IR_CLASS_EXACT, .record_refusals = TRUE };
  const guint before = ir_history_n_refusals (model);
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, error);
  IrPipelineResult result = { 0 };

  if (pipeline == NULL || !ir_pipeline_run (model, pipeline, &options, &result, cancellable, error))
    return FALSE;
  if (n_raised != NULL)
    *n_raised = result.n_steps;
  if (!has_tokens (model))
    return TRUE;
  g_autofree char *why = why_left (model, before);
  g_set_error (
      error, IR_IO_ERROR, IR_IO_ERROR_UNSUPPORTED,
      "%s: ONNX has no tokens, and what they move through has no form as If, Loop, Scan or "
      "SequenceMap (%s); save it as .onnxtxt or .json, which keep tokens",
      path, why);
  return FALSE;
}

/**
 * ir_pass_save_model:
 * @model: a model; raising is added to its history, unless it is frozen
 * @path: file to make or replace
 * @format: (nullable): name of a format; %NULL: by the extension of @path
 * @n_raised: (out) (optional): by how many steps tokens were raised
 * @cancellable: (nullable): polled before the file takes its place
 * @error: return location for an error
 *
 * Saves a model as ir_model_save() does, in a form that the format has.
 *
 * Fails with %IR_IO_ERROR_UNSUPPORTED if there is none.
 *
 * Returns: %TRUE if it is saved
 */
gboolean
ir_pass_save_model (IrModel *model,
                    const char *path,
                    const char *format,
                    guint *n_raised,
                    GCancellable *cancellable,
                    GError **error)
{
  const IrFormat *row = ir_format_find (format != NULL ? format : path);
  g_autoptr (IrModel) own = NULL;

  if (n_raised != NULL)
    *n_raised = 0;
  if (row != NULL && strcmp (row->name, "onnx") == 0 && has_closures (model, path, error))
    return FALSE;
  if (row == NULL || strcmp (row->name, "onnx") != 0 || !has_tokens (model))
    return ir_model_save (model, path, format, cancellable, error);
  own = model->frozen ? ir_model_clone (model) : ir_model_ref (model);
  return raise_tokens (own, path, n_raised, cancellable, error) &&
         ir_model_save (own, path, format, cancellable, error);
}
