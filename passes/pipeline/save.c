/* ONNX has no closures, no tokens, and no edge back: they become If, Loop, Scan, SequenceMap and calls of functions
 * again where a model is saved as ONNX. ONNX text and JSON keep them as they are. */
#include "config.h"

#include "passes/pipeline/save.h"

#include "core/io/io.h"
#include "passes/pipeline/pipeline.h"
#include "passes/rewrites/raise.h"

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
is_raised (const IrModel *model)
{
  return ir_pass_find_closure (model) == NULL && !has_tokens (model);
}

static gboolean
run_passes (IrModel *model,
            const char *const *names,
            guint *n_steps,
            GCancellable *cancellable,
            GError **error)
{
  const IrPipelineOptions options = { .max_class = IR_CLASS_EXACT, .record_refusals = TRUE };
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, error);
  IrPipelineResult result = { 0 };

  if (pipeline == NULL || !ir_pipeline_run (model, pipeline, &options, &result, cancellable, error))
    return FALSE;
  if (n_steps != NULL)
    *n_steps += result.n_steps;
  return TRUE;
}

/* What stays may be what nobody reads: that goes then. */
static gboolean
raise_control_flow (
    IrModel *model, const char *path, guint *n_raised, GCancellable *cancellable, GError **error)
{
  static const char *const raising[] = { "from-closures", "raise-control-flow", NULL };
  static const char *const unread[] = { "eliminate-dead-code", NULL };
  const guint before = ir_history_n_refusals (model);

  if (!run_passes (model, raising, n_raised, cancellable, error) ||
      (!is_raised (model) && !run_passes (model, unread, n_raised, cancellable, error)))
    return FALSE;
  if (is_raised (model))
    return TRUE;
  const gboolean closures = ir_pass_find_closure (model) != NULL;
  g_autofree char *why = why_left (model, before);
  g_set_error (
      error, IR_IO_ERROR, IR_IO_ERROR_UNSUPPORTED,
      "%s: ONNX has no %s, and what there is has no form as If, Loop, Scan, SequenceMap or a call of a "
      "function (%s); save it as .onnxtxt or .json, which keep it",
      path, closures ? "closures" : "tokens", why);
  return FALSE;
}

/**
 * ir_pass_save_model:
 * @model: a model; raising is added to its history, unless it is frozen
 * @path: file to make or replace
 * @format: (nullable): name of a format; %NULL: by the extension of @path
 * @n_raised: (out) (optional): by how many steps closures and tokens were raised
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
  if (row == NULL || strcmp (row->name, "onnx") != 0 ||
      (!has_tokens (model) && ir_pass_find_closure (model) == NULL))
    return ir_model_save (model, path, format, cancellable, error);
  own = model->frozen ? ir_model_clone (model) : ir_model_ref (model);
  return raise_control_flow (own, path, n_raised, cancellable, error) &&
         ir_model_save (own, path, format, cancellable, error);
}
