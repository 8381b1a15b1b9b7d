/* What runs of the graph on screen took: of the last two the times of all nodes are kept; what the
 * values of the first were is compared with the second, and then let go. */
#include "config.h"

#include "core/exec/run/capture.h"
#include "views/session/runs-private.h"

#include <string.h>

/* -- records -- */

struct _IrRunRecord
{
  gatomicrefcount ref_count;
  guint step;
  IrRun *run;    /* (nullable): until the next one was compared with it */
  IrTimes times; /* ms */
  GArray *nodes; /* of IrTimes, by node id, ms */
};

IrRunRecord *
ir_run_record_ref (IrRunRecord *record)
{
  g_atomic_ref_count_inc (&record->ref_count);
  return record;
}

void
ir_run_record_unref (IrRunRecord *record)
{
  if (!g_atomic_ref_count_dec (&record->ref_count))
    return;
  g_clear_pointer (&record->run, ir_run_unref);
  g_clear_pointer (&record->nodes, g_array_unref);
  g_free (record);
}

static IrTimes
times_of_node (const IrRunRecord *record, IrNodeId node)
{
  if (record == NULL || node >= record->nodes->len)
    return (IrTimes){ 0 };
  return g_array_index (record->nodes, IrTimes, node);
}

/* -- times of several runs -- */

static void
unref_samples (gpointer data)
{
  if (data != NULL)
    g_array_unref (data);
}

/* @samples: of no run; clear it with ir_run_samples_clear() */
void
ir_run_samples_init (IrRunSamples *samples)
{
  samples->total = NULL;
  samples->nodes = g_ptr_array_new_with_free_func (unref_samples);
}

void
ir_run_samples_clear (IrRunSamples *samples)
{
  g_clear_pointer (&samples->total, g_array_unref);
  g_clear_pointer (&samples->nodes, g_ptr_array_unref);
}

static void
take_sample (GArray **samples, double ms)
{
  if (*samples == NULL)
    *samples = g_array_new (FALSE, FALSE, sizeof (double));
  g_array_append_val (*samples, ms);
}

void
ir_run_samples_take (IrRunSamples *samples, const IrTrace *trace)
{
  gboolean whole = TRUE;

  for (guint i = 0; i < trace->items->len; i++)
    {
      const IrTraceItem *item = &g_array_index (trace->items, IrTraceItem, i);

      whole = whole && !ir_trace_item_is_reused (item);
      if (ir_trace_item_is_reused (item))
        continue;
      if (item->node >= samples->nodes->len)
        g_ptr_array_set_size (samples->nodes, (int) item->node + 1);
      take_sample ((GArray **) &samples->nodes->pdata[item->node],
                   (double) (item->end_ns - item->start_ns) / 1e6);
    }
  if (whole) /* else it did not take what a run takes */
    take_sample (&samples->total, (double) trace->duration_ns / 1e6);
}

IrRunRecord *
ir_run_record_new (guint step, IrRun *run, const IrRunSamples *samples)
{
  IrRunRecord *record = g_new0 (IrRunRecord, 1);

  g_atomic_ref_count_init (&record->ref_count);
  record->step = step;
  record->run = ir_run_ref (run);
  if (samples->total != NULL)
    record->times = ir_times (samples->total);
  record->nodes = g_array_new (FALSE, TRUE, sizeof (IrTimes));
  g_array_set_size (record->nodes, samples->nodes->len);
  for (guint i = 0; i < samples->nodes->len; i++)
    if (samples->nodes->pdata[i] != NULL)
      g_array_index (record->nodes, IrTimes, i) = ir_times (samples->nodes->pdata[i]);
  return record;
}

/* -- what changed against the run before -- */

static gboolean
same_inputs (GHashTable *a, GHashTable *b)
{
  GHashTableIter iter;
  gpointer id, tensor;

  g_hash_table_iter_init (&iter, a);
  while (g_hash_table_iter_next (&iter, &id, &tensor))
    {
      const IrTensor *other = g_hash_table_lookup (b, id);

      if (other != NULL && other != tensor && !ir_tensor_equal (other, tensor))
        return FALSE;
    }
  return TRUE;
}

/* Steps that were cut off may have given the same id to something else. */
static const IrTensor *
same_value_before (const IrRun *before, const IrValue *value)
{
  const IrValue *other = ir_model_live_value (before->model, value->id);

  return other != NULL && g_strcmp0 (other->name, value->name) == 0
             ? ir_run_value (before, value->id)
             : NULL;
}

static void
compare_output (const IrRun *before,
                const IrRun *after,
                const IrValue *value,
                IrRunChange *change,
                IrOutputChange *node)
{
  const IrTensor *now = ir_run_value (after, value->id),
                 *then = now != NULL ? same_value_before (before, value) : NULL;
  IrDifference difference;

  if (then == NULL)
    return;
  ir_trial_difference (then, now, &difference);
  change->n_compared++;
  change->n_differ += difference.max_abs > 0;
  node->compared = TRUE;
  ir_difference_take_larger (&node->difference, &difference);
  if (difference.of_scale > change->worst_difference.of_scale)
    {
      change->worst = value->id;
      change->worst_difference = difference;
    }
}

IrRunChange *
ir_run_record_compare (const IrRunRecord *before,
                       const IrRunRecord *after,
                       const IrModel *model,
                       GCancellable *cancellable,
                       GArray **outputs)
{
  IrRunChange *change;
  guint n;
  IrNode *const *order = ir_graph_order (model->main, &n);

  if (before->run == NULL)
    return NULL;
  change = g_new0 (IrRunChange, 1);
  change->from_step = before->step;
  change->step = after->step;
  change->before = before->times;
  change->after = after->times;
  change->other_inputs = !same_inputs (ir_run_inputs (before->run), ir_run_inputs (after->run));
  *outputs = g_array_new (FALSE, TRUE, sizeof (IrOutputChange));
  g_array_set_size (*outputs, model->nodes->len);
  for (guint i = 0; i < n && !change->other_inputs && !g_cancellable_is_cancelled (cancellable);
       i++)
    for (guint k = 0; k < order[i]->n_outputs; k++)
      if (order[i]->outputs[k] != NULL)
        compare_output (before->run, after->run, order[i]->outputs[k], change,
                        &g_array_index (*outputs, IrOutputChange, order[i]->id));
  return change;
}

/* -- those of the last runs -- */

typedef struct
{
  IrRunRecord *record, *earlier; /* (nullable) the last run, and the one before it */
  IrRunChange *change;           /* (nullable) between these */
  GArray *outputs;               /* (nullable) of IrOutputChange, by node id */
} Records;

static void
clear (gpointer state)
{
  Records *self = state;

  g_clear_pointer (&self->record, ir_run_record_unref);
  g_clear_pointer (&self->earlier, ir_run_record_unref);
  g_clear_pointer (&self->change, g_free);
  g_clear_pointer (&self->outputs, g_array_unref);
}

IR_SESSION_NOUN (Records, NULL, clear)

void
ir_session_forget_records (IrSession *self)
{
  clear (own (self));
}

void
ir_session_take_record (IrSession *self, IrRunRecord *record, IrRunChange *change, GArray *outputs)
{
  Records *records = own (self);

  g_clear_pointer (&records->earlier, ir_run_record_unref);
  records->earlier = g_steal_pointer (&records->record);
  if (records->earlier != NULL)
    ir_job_free_later (g_steal_pointer (&records->earlier->run), (GDestroyNotify) ir_run_unref);
  records->record = record;
  g_free (records->change);
  records->change = change;
  g_clear_pointer (&records->outputs, g_array_unref);
  records->outputs = outputs;
}

IrRunRecord *
ir_session_get_record (IrSession *self)
{
  return own (self)->record;
}

IrTimes
ir_session_get_run_times (IrSession *self)
{
  return own (self)->record != NULL ? own (self)->record->times : (IrTimes){ 0 };
}

IrTimes
ir_session_get_node_times (IrSession *self, IrNodeId node)
{
  return times_of_node (own (self)->record, node);
}

const IrRunChange *
ir_session_get_run_change (IrSession *self)
{
  return own (self)->change;
}

/**
 * ir_session_get_node_change:
 * @change: (out caller-allocates): what of @node is otherwise than in the run before
 *
 * Returns: whether both runs had the node
 */
gboolean
ir_session_get_node_change (IrSession *self, IrNodeId node, IrNodeChange *change)
{
  const IrOutputChange *outputs;

  *change = (IrNodeChange){ .before = times_of_node (own (self)->earlier, node),
                            .after = times_of_node (own (self)->record, node) };
  if (own (self)->change == NULL || change->before.n == 0 || change->after.n == 0)
    return FALSE;
  if (node < own (self)->outputs->len)
    {
      outputs = &g_array_index (own (self)->outputs, IrOutputChange, node);
      change->compared = outputs->compared;
      change->difference = outputs->difference;
    }
  return TRUE;
}
