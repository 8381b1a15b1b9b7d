/* Steps in graphs that tokens move through, in functions that closures name, and of closures. A node there may
 * run many times, or not at all, so its cone has no one set of inputs to be run on. The graph is run as a whole before and after the step, on the inputs of
 * the proof and by the reference kernels, and all that leaves it is compared bit for bit. */
#include "config.h"

#include "core/exec/check/difference.h"
#include "passes/proof/proof-private.h"

#include <string.h>

#define CLOSURES "irscope.closure"

/* Whether @model has a graph that is run by tokens. */
static gboolean
moves_tokens (const IrModel *model)
{
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      if (graph->state == IR_STATE_LIVE && ir_graph_has_tokens (graph))
        return TRUE;
    }
  return FALSE;
}

/* Whether @step changed something in a graph that is run by tokens before or after it. */
static gboolean
touches_tokens (const IrProver *prover, const IrCone *cone)
{
  const IrModel *sides[] = { prover->flat_before, prover->flat_after };
  GHashTableIter iter;
  gpointer id;

  for (guint i = 0; i < G_N_ELEMENTS (sides); i++)
    {
      if (!moves_tokens (sides[i]))
        continue;
      g_hash_table_iter_init (&iter, cone->changed);
      while (g_hash_table_iter_next (&iter, &id, NULL))
        {
          const IrNode *node = ir_model_live_node (sides[i], GPOINTER_TO_UINT (id));
          for (const IrGraph *graph = node != NULL ? node->graph : NULL; graph != NULL;
               graph = ir_graph_outer (graph))
            if (ir_graph_has_tokens (graph))
              return TRUE;
        }
    }
  return FALSE;
}

/* Whether @step changed a closure, or a function in a model that has some: any of them may be called by it. */
static gboolean
touches_closures (const IrProver *prover, const IrCone *cone)
{
  const IrModel *sides[] = { prover->before, prover->after };
  GHashTableIter iter;
  gpointer id;

  for (guint i = 0; i < G_N_ELEMENTS (sides); i++)
    {
      g_hash_table_iter_init (&iter, cone->changed);
      while (g_hash_table_iter_next (&iter, &id, NULL))
        {
          const IrNode *node = ir_model_live_node (sides[i], GPOINTER_TO_UINT (id));
          if (node != NULL && strcmp (node->domain, CLOSURES) == 0)
            return TRUE;
        }
      for (guint k = 1; cone->in_function && k < sides[i]->nodes->len; k++)
        {
          const IrNode *node = sides[i]->nodes->pdata[k];
          if (node->state == IR_STATE_LIVE && strcmp (node->domain, CLOSURES) == 0)
            return TRUE;
        }
    }
  return FALSE;
}

/* (transfer full) (nullable) */
static IrRun *
run_whole (IrProver *prover, IrModel *model, GError **error)
{
  IrRunOptions options = { .backend = ir_backend_find ("ref"), .n_threads = prover->how.n_threads };
  g_autoptr (IrExecutable) executable = NULL;

  ir_run_options_limit (&options, &prover->how.limits);
  executable = ir_executable_new (model, &options, error);
  return executable != NULL
             ? ir_executable_run (executable, prover->inputs, prover->cancellable, NULL, error)
             : NULL;
}

static void
compare_outputs (
    IrProver *prover, const IrRun *before, const IrRun *after, gboolean exact, IrProof *proof)
{
  const IrGraph *old = prover->flat_before->main, *fresh = prover->flat_after->main;
  IrContext *context = prover->model->context;
  guint n = ir_graph_n_outputs (old);

  proof->verdict = n == ir_graph_n_outputs (fresh) ? IR_VERDICT_EXACT : IR_VERDICT_BROKEN;
  for (guint i = 0; i < MIN (n, ir_graph_n_outputs (fresh)); i++)
    {
      const IrValue *value = ir_graph_output (old, i);
      const IrTensor *a = ir_run_value (before, value->id);
      const IrTensor *b = ir_run_value (after, ir_graph_output (fresh, i)->id);
      IrComparison comparison;
      if (a == NULL || b == NULL)
        continue;
      gboolean compared = !ir_tensor_is_container (a) && ir_tensors_compare (a, b, &comparison);
      if (compared ? comparison.same : ir_tensor_equal (a, b))
        continue;
      g_autofree char *text = g_strdup_printf (
          "the graph was run as a whole before and after the step, and its output %s is another%s",
          value->name, exact ? "" : "; whether that is rounding alone is not known");
      proof->verdict = exact ? IR_VERDICT_BROKEN : IR_VERDICT_SKIPPED;
      proof->worst_value = value->id;
      proof->text = ir_context_intern (context, text);
      if (compared)
        {
          proof->max_abs = comparison.max_abs;
          proof->max_rel = comparison.max_rel;
          proof->max_ulp = comparison.max_ulp;
        }
      return;
    }
}

/* FALSE: @step touches no such graph, and nothing has happened. What is after one step is before the next,
 * and is run once. */
gboolean
ir_token_judge (IrProver *prover, guint step, const IrCone *cone, IrProof *proof)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrRun) before = NULL, after = NULL;

  if (!touches_tokens (prover, cone) && !touches_closures (prover, cone))
    return FALSE;
  if (prover->token_run != NULL && prover->token_step == step - 1)
    before = g_steal_pointer (&prover->token_run);
  g_clear_pointer (&prover->token_run, ir_run_unref);
  if (before == NULL)
    before = run_whole (prover, prover->flat_before, &error);
  if (before != NULL)
    after = run_whole (prover, prover->flat_after, &error);
  if (after != NULL)
    compare_outputs (prover, before, after,
                     ir_history_step (prover->model, step)->step_class == IR_CLASS_EXACT, proof);
  else
    {
      g_autofree char *text = g_strdup_printf (
          "the graph could not be run as a whole %s the step: %s",
          before == NULL ? "before" : "after", error->message);
      /* It ran before: the step has broken it. */
      proof->verdict = before != NULL &&
                               !g_error_matches (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED) &&
                               !g_error_matches (error, IR_EXEC_ERROR, IR_EXEC_ERROR_LIMIT) &&
                               !g_error_matches (error, IR_EXEC_ERROR, IR_EXEC_ERROR_MEMORY)
                           ? IR_VERDICT_BROKEN
                           : IR_VERDICT_SKIPPED;
      proof->text = ir_context_intern (prover->model->context, text);
    }
  prover->token_run = g_steal_pointer (&after);
  prover->token_step = step;
  return TRUE;
}
