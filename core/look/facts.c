/* What overlays know of the nodes: of a run, of a check of the execution, of the steps before. */
#include "config.h"

#include "core/look/overlay.h"

#include "core/exec/kernel/stats.h"
#include "core/ir/lineage.h"

#include <math.h>

/**
 * ir_overlay_facts_new:
 *
 * Returns: (transfer full): facts of which nothing is known yet; add to them before others read
 */
IrOverlayFacts *
ir_overlay_facts_new (void)
{
  IrOverlayFacts *facts = g_new0 (IrOverlayFacts, 1);

  g_atomic_ref_count_init (&facts->refs);
  return facts;
}

/**
 * ir_overlay_facts_ref:
 * @facts: facts
 *
 * Returns: (transfer full): the same
 */
IrOverlayFacts *
ir_overlay_facts_ref (IrOverlayFacts *facts)
{
  g_atomic_ref_count_inc (&facts->refs);
  return facts;
}

/**
 * ir_overlay_facts_unref:
 * @facts: (transfer full): facts
 */
void
ir_overlay_facts_unref (IrOverlayFacts *facts)
{
  if (!g_atomic_ref_count_dec (&facts->refs))
    return;
  g_clear_pointer (&facts->time_ns, g_hash_table_unref);
  g_clear_pointer (&facts->devices, g_hash_table_unref);
  g_clear_pointer (&facts->copies, g_hash_table_unref);
  g_clear_pointer (&facts->thumbs, g_hash_table_unref);
  g_clear_pointer (&facts->zeros, g_hash_table_unref);
  g_clear_pointer (&facts->errors, g_hash_table_unref);
  g_clear_pointer (&facts->gradients, g_hash_table_unref);
  g_clear_pointer (&facts->updates, g_hash_table_unref);
  g_clear_pointer (&facts->touched, g_array_unref);
  g_clear_pointer (&facts->verdicts, g_array_unref);
  g_clear_pointer (&facts->numbers, ir_numbers_unref);
  g_free (facts);
}

static GHashTable *
new_table (void)
{
  return g_hash_table_new_full (NULL, NULL, NULL, g_free);
}

static void
put (GHashTable *table, IrNodeId node, double number)
{
  g_hash_table_replace (table, GUINT_TO_POINTER (node), g_memdup2 (&number, sizeof number));
}

static void
add_trace (IrOverlayFacts *facts, const IrTrace *trace)
{
  for (guint i = 0; i < trace->items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (trace->items, IrTraceItem, i);
      gint64 *ns = g_hash_table_lookup (facts->time_ns, GUINT_TO_POINTER (item->node));

      if (ir_trace_item_is_reused (item))
        continue;
      if (ns == NULL)
        {
          ns = g_new0 (gint64, 1);
          g_hash_table_insert (facts->time_ns, GUINT_TO_POINTER (item->node), ns);
        }
      *ns += item->end_ns - item->start_ns;
      g_hash_table_replace (facts->devices, GUINT_TO_POINTER (item->node),
                            (gpointer) g_intern_string (item->by_ref ? "ref" : item->device));
    }
}

static void
add_copies (IrOverlayFacts *facts, const IrTrace *trace)
{
  for (guint i = 0; trace->copies != NULL && i < trace->copies->len; i++)
    {
      const IrTraceCopy *copy = &g_array_index (trace->copies, IrTraceCopy, i);
      const char *known = g_hash_table_lookup (facts->copies, GUINT_TO_POINTER (copy->value));
      const char *text = copy->to_host ? "CopyToHost" : "CopyToDevice";

      if (known != NULL && !g_str_equal (known, text))
        text = "CopyToDevice, CopyToHost";
      g_hash_table_replace (facts->copies, GUINT_TO_POINTER (copy->value),
                            (gpointer) g_intern_string (text));
    }
}

/* Zeros among all elements of what the node made and the run kept; FALSE: nothing of it. */
static gboolean
part_of_zeros (const IrRun *run, const IrNode *node, double *part)
{
  guint64 n = 0, n_zero = 0;

  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrValueId id = node->outputs[i] != NULL ? node->outputs[i]->id : 0;
      const IrTensorStats *known = run->stats != NULL && id != 0
                                       ? g_hash_table_lookup (run->stats, GUINT_TO_POINTER (id))
                                       : NULL;
      IrTensorStats stats = { 0 };
      IrTensor *tensor;

      if (known != NULL)
        stats = *known;
      else if (id != 0 && id < run->n_values && (tensor = ir_run_value (run, id)) != NULL &&
               ir_dtype_kind (ir_tensor_dtype (tensor)) != IR_DTYPE_KIND_STRING)
        ir_tensor_stats (tensor, 1, &stats);
      n += stats.n;
      n_zero += stats.n_zero;
    }
  *part = n > 0 ? (double) n_zero / (double) n : 0;
  return n > 0;
}

/**
 * ir_overlay_facts_add_run:
 * @facts: facts that nobody else reads yet
 * @run: (nullable): a run
 *
 * Times, all executions of a node together, where nodes ran, and what was copied; of values that the run kept, the
 * part of their elements that is zero.
 */
void
ir_overlay_facts_add_run (IrOverlayFacts *facts, const IrRun *run)
{
  if (run == NULL || run->trace == NULL || facts->time_ns != NULL)
    return;
  facts->time_ns = new_table ();
  facts->devices = g_hash_table_new (NULL, NULL);
  facts->copies = g_hash_table_new (NULL, NULL);
  add_trace (facts, run->trace);
  add_copies (facts, run->trace);
}

/**
 * ir_overlay_facts_add_zeros:
 * @facts: facts that nobody else reads yet
 * @run: (nullable): a run that has kept values
 *
 * The part of the elements of what each node made that is zero: a look at every value.
 */
void
ir_overlay_facts_add_zeros (IrOverlayFacts *facts, const IrRun *run)
{
  if (run == NULL || run->model == NULL || facts->zeros != NULL)
    return;
  facts->zeros = new_table ();
  for (guint id = 1; id < run->model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (run->model, id);
      double part;

      if (node != NULL && part_of_zeros (run, node, &part))
        put (facts->zeros, id, 100 * part);
    }
}

/* 0 exact, 1 as far off as is allowed. */
static double
error_of (const IrNodeCheck *item)
{
  if (item->verdict == IR_CHECKED_RIGHT && (item->found.same || item->bound <= 0))
    return 0;
  if (item->bound > 0 && isfinite (item->found.max_abs))
    return item->found.max_abs / item->bound;
  return 1;
}

/**
 * ir_overlay_errors:
 * @check: (nullable): a check of the execution
 *
 * Returns: (transfer full): node id -> double *: how far each node that was judged is from what it
 *   was held against, as a part of what is allowed
 */
GHashTable *
ir_overlay_errors (const IrExecutionCheck *check)
{
  GHashTable *errors = new_table ();

  for (guint i = 0; check != NULL && i < check->nodes->len; i++)
    {
      const IrNodeCheck *item = &g_array_index (check->nodes, IrNodeCheck, i);

      if (item->verdict != IR_CHECKED_NOT)
        put (errors, item->node, error_of (item));
    }
  return errors;
}

/**
 * ir_overlay_facts_add_errors:
 * @facts: facts that nobody else reads yet
 * @errors: (nullable): as ir_overlay_errors() gives them
 */
void
ir_overlay_facts_add_errors (IrOverlayFacts *facts, GHashTable *errors)
{
  if (errors != NULL && facts->errors == NULL)
    facts->errors = g_hash_table_ref (errors);
}

/**
 * ir_overlay_facts_add_gradients:
 * @facts: facts that nobody else reads yet
 * @gradients: (nullable): node id -> #IrNodeGradient: what came back to each node
 */
void
ir_overlay_facts_add_gradients (IrOverlayFacts *facts, GHashTable *gradients)
{
  if (gradients != NULL && facts->gradients == NULL)
    facts->gradients = g_hash_table_ref (gradients);
}

/**
 * ir_overlay_facts_add_updates:
 * @facts: facts that nobody else reads yet
 * @updates: (nullable): node id -> #IrNodeUpdate: what a training run did to the parameters of each node
 */
void
ir_overlay_facts_add_updates (IrOverlayFacts *facts, GHashTable *updates)
{
  if (updates != NULL && facts->updates == NULL)
    facts->updates = g_hash_table_ref (updates);
}

/**
 * ir_node_update_free:
 * @update: (transfer full): what a training run did
 */
void
ir_node_update_free (IrNodeUpdate *update)
{
  g_clear_pointer (&update->history, ir_scene_thumb_unref);
  g_free (update);
}

/**
 * ir_overlay_facts_add_history:
 * @facts: facts that nobody else reads yet
 * @history: a model with its steps
 * @step: after which it is drawn
 *
 * Which step touched each node last, and its verdict.
 */
void
ir_overlay_facts_add_history (IrOverlayFacts *facts, IrModel *history, guint step)
{
  facts->step = MIN (step, ir_history_n_steps (history));
  if (facts->touched != NULL)
    return;
  facts->touched = ir_lineage_last_steps (history, facts->step);
  facts->verdicts = g_array_new (FALSE, FALSE, sizeof (IrVerdict));
  for (guint i = 1; i <= facts->step; i++)
    g_array_append_val (facts->verdicts, ir_history_step (history, i)->proof.verdict);
}

/**
 * ir_overlay_facts_add_numbers:
 * @facts: facts that nobody else reads yet
 * @numbers: (nullable): of a file
 */
void
ir_overlay_facts_add_numbers (IrOverlayFacts *facts, IrNumbers *numbers)
{
  if (numbers != NULL && facts->numbers == NULL)
    facts->numbers = ir_numbers_ref (numbers);
}
