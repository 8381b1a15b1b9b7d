/* The edit log read back: travel along the steps, snapshots, what each step was. A jump applies the
 * records between two cursors forwards or backwards; one record costs tens of nanoseconds, so a
 * jump across a hundred thousand steps stays within milliseconds and needs no checkpoints. */
#include "config.h"

#include "core/ir/log-private.h"
#include "core/ir/model-private.h"

#include <string.h>

/* -- life of the log -- */

IrLog *
ir_log_new (void)
{
  IrLog *log = g_new0 (IrLog, 1);

  log->records = g_array_new (FALSE, FALSE, sizeof (IrRecord));
  log->steps = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_step_free);
  log->pass_runs = g_array_new (FALSE, TRUE, sizeof (IrPassRun));
  log->refusals = g_array_new (FALSE, FALSE, sizeof (IrRefusal));
  log->occurrences = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return log;
}

static void
drop_snapshots (IrLog *log, guint behind)
{
  for (guint i = 0; i < IR_N_SNAPSHOTS; i++)
    if (log->snapshots[i].model != NULL && log->snapshots[i].step > behind)
      g_clear_pointer (&log->snapshots[i].model, ir_model_unref);
}

void
ir_log_free (IrLog *log)
{
  for (guint i = 0; i < IR_N_SNAPSHOTS; i++)
    g_clear_pointer (&log->snapshots[i].model, ir_model_unref);
  g_array_unref (log->records);
  g_ptr_array_unref (log->steps);
  g_array_unref (log->pass_runs);
  g_array_unref (log->refusals);
  g_hash_table_unref (log->occurrences);
  g_free (log);
}

void
ir_step_free (IrStep *step)
{
  g_clear_pointer (&step->nodes, g_array_unref);
  g_clear_pointer (&step->values, g_array_unref);
  g_clear_pointer (&step->parts, g_array_unref);
  g_free (step);
}

static void
forget_occurrence (IrLog *log, const IrStep *step)
{
  g_autofree char *key = g_strdup_printf ("%s@%u", step->rule, step->anchor);
  guint n = GPOINTER_TO_UINT (g_hash_table_lookup (log->occurrences, key));

  if (n > 0)
    g_hash_table_replace (log->occurrences, g_steal_pointer (&key), GUINT_TO_POINTER (n - 1));
}

/* Those of pass runs that are gone: their nodes may be others by now. */
static void
drop_refusals (IrLog *log)
{
  GArray *refusals = log->refusals;

  while (refusals->len > 0 &&
         g_array_index (refusals, IrRefusal, refusals->len - 1).pass_run >= log->pass_runs->len)
    g_array_set_size (refusals, refusals->len - 1);
}

void
ir_log_cut (IrLog *log, guint step)
{
  if (step >= log->steps->len)
    return;
  for (guint i = step; i < log->steps->len; i++)
    forget_occurrence (log, log->steps->pdata[i]);
  g_array_set_size (log->records, ((IrStep *) log->steps->pdata[step])->first_record);
  g_ptr_array_set_size (log->steps, step);
  while (log->pass_runs->len > 0)
    {
      IrPassRun *run = &g_array_index (log->pass_runs, IrPassRun, log->pass_runs->len - 1);

      if (run->first_step <= step)
        {
          run->n_steps = MIN (run->n_steps, step + 1 - run->first_step);
          break;
        }
      g_array_set_size (log->pass_runs, log->pass_runs->len - 1);
    }
  drop_refusals (log);
  drop_snapshots (log, step);
}

/* -- reading -- */

/**
 * ir_history_n_steps:
 * @model: a model
 *
 * Returns: number of recorded steps; 0 for frozen models
 */
guint
ir_history_n_steps (const IrModel *model)
{
  return model->log != NULL ? model->log->steps->len : 0;
}

/**
 * ir_history_cursor:
 * @model: a model
 *
 * Returns: the step after which the model stands, 0 = as imported
 */
guint
ir_history_cursor (const IrModel *model)
{
  return model->log != NULL ? model->log->cursor : 0;
}

/**
 * ir_history_step:
 * @model: a model with a history
 * @index: 1 .. n_steps
 *
 * Returns: (transfer none): the step
 */
const IrStep *
ir_history_step (const IrModel *model, guint index)
{
  g_return_val_if_fail (index >= 1 && index <= ir_history_n_steps (model), NULL);
  return model->log->steps->pdata[index - 1];
}

/**
 * ir_history_n_pass_runs:
 * @model: a model
 *
 * Returns: number of runs of passes, those without steps too
 */
guint
ir_history_n_pass_runs (const IrModel *model)
{
  return model->log != NULL ? model->log->pass_runs->len : 0;
}

/**
 * ir_history_pass_run:
 * @model: a model with a history
 * @index: 0 .. n_pass_runs - 1
 *
 * Returns: (transfer none): valid until the next pass begins
 */
const IrPassRun *
ir_history_pass_run (const IrModel *model, guint index)
{
  g_return_val_if_fail (index < ir_history_n_pass_runs (model), NULL);
  return &g_array_index (model->log->pass_runs, IrPassRun, index);
}

/**
 * ir_history_pass_of:
 * @model: a model with a history
 * @step: 1 .. n_steps
 *
 * Returns: (transfer none): name of the pass that made the step
 */
const char *
ir_history_pass_of (const IrModel *model, guint step)
{
  return ir_history_pass_run (model, ir_history_step (model, step)->pass_run)->pass;
}

/**
 * ir_history_n_refusals:
 * @model: a model
 *
 * Returns: number of refusals that were kept
 */
guint
ir_history_n_refusals (const IrModel *model)
{
  return model->log != NULL ? model->log->refusals->len : 0;
}

/**
 * ir_history_refusal:
 * @model: a model with a history
 * @index: 0 .. n_refusals - 1
 *
 * Returns: (transfer none): valid until the next refusal
 */
const IrRefusal *
ir_history_refusal (const IrModel *model, guint index)
{
  g_return_val_if_fail (index < ir_history_n_refusals (model), NULL);
  return &g_array_index (model->log->refusals, IrRefusal, index);
}

/**
 * ir_history_record:
 * @model: a model with a history
 * @index: place in the log, as in a step's first_record
 *
 * Returns: (transfer none): valid until the next edit
 */
const IrRecord *
ir_history_record (const IrModel *model, gsize index)
{
  g_return_val_if_fail (model->log != NULL && index < model->log->records->len, NULL);
  return &g_array_index (model->log->records, IrRecord, index);
}

/**
 * ir_history_bytes:
 * @model: a model
 *
 * Returns: memory of records, steps and spans; payloads are shared with the model
 */
gsize
ir_history_bytes (const IrModel *model)
{
  const IrLog *log = model->log;
  gsize bytes;

  if (log == NULL)
    return 0;
  bytes = log->records->len * sizeof (IrRecord) +
          log->steps->len * (sizeof (IrStep) + sizeof (gpointer));
  bytes += log->pass_runs->len * sizeof (IrPassRun) + log->refusals->len * sizeof (IrRefusal);
  for (guint i = 0; i < log->steps->len; i++)
    {
      const IrStep *step = log->steps->pdata[i];
      bytes += (step->nodes != NULL ? step->nodes->len : 0) * sizeof (IrIdPair);
      bytes += (step->values != NULL ? step->values->len : 0) * sizeof (IrIdPair);
      bytes += (step->parts != NULL ? step->parts->len : 0) * sizeof (IrIdPair);
    }
  for (guint i = 0; i < IR_N_SNAPSHOTS; i++)
    if (log->snapshots[i].model != NULL)
      bytes += ir_arena_bytes (log->snapshots[i].model->cache->arena);
  return bytes;
}

/* -- travel -- */

/* Index of the first record behind @step. */
static gsize
end_of_step (const IrLog *log, guint step)
{
  const IrStep *last = step > 0 ? log->steps->pdata[step - 1] : NULL;
  return last != NULL ? last->first_record + last->n_records : 0;
}

/* Uses cost most of a jump; if many records lie on the way it is cheaper to let them rest and make
 * them anew at the end. */
static void
travel (IrModel *model, guint step)
{
  IrLog *log = model->log;
  gsize here = end_of_step (log, log->cursor), there = end_of_step (log, step);
  gsize first = MIN (here, there), n = MAX (here, there) - first;
  const IrRecord *records = (const IrRecord *) log->records->data;

  log->cursor = step;
  model->cache->uses_suspended = n > (gsize) (model->nodes->len + model->values->len) / 4;
  ir_record_apply_range (model, records + first, n, there > here);
  if (model->cache->uses_suspended)
    ir_model_rebuild_uses (model);
  model->cache->uses_suspended = FALSE;
}

/**
 * ir_history_goto:
 * @model: a model that is not being edited
 * @step: 0 .. n_steps
 *
 * Undoes or redoes steps until the model stands behind @step.
 */
void
ir_history_goto (IrModel *model, guint step)
{
  g_return_if_fail (model->log != NULL && !model->log->editing && step <= model->log->steps->len);
  if (step == model->log->cursor)
    return;
  travel (model, step);
  model->stamp++;
}

/**
 * ir_history_undo:
 * @model: a model that is not being edited
 *
 * Returns: %FALSE if there is nothing to undo
 */
gboolean
ir_history_undo (IrModel *model)
{
  guint cursor = ir_history_cursor (model);

  if (cursor == 0)
    return FALSE;
  ir_history_goto (model, cursor - 1);
  return TRUE;
}

/**
 * ir_history_redo:
 * @model: a model that is not being edited
 *
 * Returns: %FALSE if there is nothing to redo
 */
gboolean
ir_history_redo (IrModel *model)
{
  guint cursor = ir_history_cursor (model);

  if (cursor == ir_history_n_steps (model))
    return FALSE;
  ir_history_goto (model, cursor + 1);
  return TRUE;
}

/* -- snapshots -- */

static IrSnapshotEntry *
find_snapshot (IrLog *log, guint step)
{
  for (guint i = 0; i < IR_N_SNAPSHOTS; i++)
    if (log->snapshots[i].model != NULL && log->snapshots[i].step == step)
      return &log->snapshots[i];
  return NULL;
}

static IrSnapshotEntry *
oldest_snapshot (IrLog *log)
{
  IrSnapshotEntry *oldest = &log->snapshots[0];

  for (guint i = 0; i < IR_N_SNAPSHOTS; i++)
    {
      IrSnapshotEntry *entry = &log->snapshots[i];
      if (entry->model == NULL)
        return entry;
      if (entry->last_used < oldest->last_used)
        oldest = entry;
    }
  g_clear_pointer (&oldest->model, ir_model_unref);
  return oldest;
}

static IrModel *
take_snapshot (IrModel *model, guint step)
{
  guint cursor = model->log->cursor;
  guint64 stamp = model->stamp;
  IrModel *copy;

  travel (model, step);
  copy = ir_model_snapshot (model);
  travel (model, cursor);
  /* The state is what it was, so what was derived from it still holds. The copy must not be taken
   * for that state: its stamp differs. */
  model->stamp = stamp;
  copy->stamp = stamp + 1;
  return copy;
}

/**
 * ir_history_snapshot:
 * @model: a model, not being edited; or a frozen one
 * @step: 0 .. n_steps
 *
 * The cursor stays where it is. The last few snapshots are kept. Must be called by the thread that
 * owns @model; the result may be read by any.
 *
 * Returns: (transfer full): the model at @step, frozen
 */
IrModel *
ir_history_snapshot (IrModel *model, guint step)
{
  IrLog *log = model->log;
  IrSnapshotEntry *entry;

  if (model->frozen)
    return ir_model_ref (model);
  g_return_val_if_fail (!log->editing && step <= log->steps->len, NULL);
  entry = find_snapshot (log, step);
  if (entry == NULL)
    {
      entry = oldest_snapshot (log);
      entry->step = step;
      entry->model = take_snapshot (model, step);
    }
  entry->last_used = ++log->clock;
  return ir_model_ref (entry->model);
}

static IrStep *
step_copy (const IrStep *step)
{
  IrStep *copy = g_memdup2 (step, sizeof (IrStep));

  copy->nodes = step->nodes != NULL ? g_array_copy (step->nodes) : NULL;
  copy->values = step->values != NULL ? g_array_copy (step->values) : NULL;
  copy->parts = step->parts != NULL ? g_array_copy (step->parts) : NULL;
  return copy;
}

/**
 * ir_history_clone:
 * @model: a model with a history, not being edited
 *
 * A copy that can travel on its own, in another thread: records name ids, not structs, so the log
 * of one copy holds for all.
 *
 * Returns: (transfer full): an editable copy with the same history and cursor
 */
IrModel *
ir_history_clone (IrModel *model)
{
  IrModel *copy = ir_model_clone (model);
  const IrLog *from = model->log;
  IrLog *to = copy->log;
  GHashTableIter iter;
  gpointer key, count;

  g_array_append_vals (to->records, from->records->data, from->records->len);
  g_array_append_vals (to->pass_runs, from->pass_runs->data, from->pass_runs->len);
  g_array_append_vals (to->refusals, from->refusals->data, from->refusals->len);
  for (guint i = 0; i < from->steps->len; i++)
    g_ptr_array_add (to->steps, step_copy (from->steps->pdata[i]));
  g_hash_table_iter_init (&iter, from->occurrences);
  while (g_hash_table_iter_next (&iter, &key, &count))
    g_hash_table_insert (to->occurrences, g_strdup (key), count);
  to->cursor = from->cursor;
  to->n_imported_graphs = from->n_imported_graphs;
  to->n_imported_nodes = from->n_imported_nodes;
  to->n_imported_values = from->n_imported_values;
  return copy;
}

/* -- what is known about a step afterwards -- */

static IrStep *
writable_step (IrModel *model, guint step)
{
  g_return_val_if_fail (step >= 1 && step <= ir_history_n_steps (model), NULL);
  return model->log->steps->pdata[step - 1];
}

/**
 * ir_history_set_proof:
 * @model: a model with a history
 * @step: 1 .. n_steps
 * @proof: copied; its text is interned
 */
void
ir_history_set_proof (IrModel *model, guint step, const IrProof *proof)
{
  IrStep *found = writable_step (model, step);

  found->proof = *proof;
  if (proof->text != NULL)
    found->proof.text = ir_context_intern (model->context, proof->text);
}

/**
 * ir_history_set_cost:
 * @model: a model with a history
 * @step: 1 .. n_steps
 * @before: cost of the model before the step
 * @after: and behind it
 */
void
ir_history_set_cost (IrModel *model, guint step, const IrCost *before, const IrCost *after)
{
  IrStep *found = writable_step (model, step);

  found->cost_before = *before;
  found->cost_after = *after;
}

/**
 * ir_verdict_name:
 * @verdict: a verdict
 *
 * Returns: (transfer none): "none", "exact", "rounding", "broken" or "skipped"
 */
const char *
ir_verdict_name (IrVerdict verdict)
{
  static const char *const names[IR_N_VERDICTS] = { "none", "exact", "rounding", "broken",
                                                    "skipped" };
  return names[verdict];
}
