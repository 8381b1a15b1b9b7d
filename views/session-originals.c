/* Values that the graph that ran has not got, as a fused kernel computes what came of them: found
 * by running the few nodes of the original graph that lie between them and the nearest values of
 * the run. */
#include "config.h"

#include "core/exec/capture.h"
#include "views/session-private.h"

struct _IrFusedValue
{
  IrTimeline *timeline;
  IrRun *run;
  guint step;
  IrValueId original;
  char *inside; /* (nullable) the node that computes what came of it */
};

/* The node of the run that the one that made @value ended up in. */
static char *
label_of_fused (IrSession *self, const IrValue *value)
{
  g_autoptr (GArray)
      nodes = value->producer != NULL
                  ? ir_session_descendants (self, value->producer->id, self->run_step)
                  : NULL;
  const IrNode *node = nodes != NULL && nodes->len > 0
                           ? ir_model_live_node (self->runs[IR_SIDE_AFTER]->model,
                                                 g_array_index (nodes, IrNodeId, 0))
                           : NULL;

  return node != NULL ? ir_node_label (node) : NULL;
}

/**
 * ir_session_new_fused_value:
 * @value: a value of any step
 *
 * Returns: (transfer full) (nullable): what finds the contents of @value in a run of a graph that
 *   does not have it; %NULL if there is no such run, or @value is none of the original graph
 */
IrFusedValue *
ir_session_new_fused_value (IrSession *self, IrValueId value)
{
  IrRun *run = self->runs[IR_SIDE_AFTER];
  const IrValue *original = self->timeline != NULL && (value & IR_OTHER_SIDE) == 0
                                ? ir_model_live_value (self->timeline->original, value)
                                : NULL;
  IrFusedValue *fused;

  if (run == NULL || run->error != NULL || original == NULL || self->run_step == 0 ||
      ir_model_live_value (run->model, value) != NULL)
    return NULL;
  fused = g_new0 (IrFusedValue, 1);
  fused->timeline = ir_timeline_ref (self->timeline);
  fused->run = ir_run_ref (run);
  fused->step = self->run_step;
  fused->original = value;
  fused->inside = label_of_fused (self, original);
  return fused;
}

void
ir_fused_value_free (IrFusedValue *value)
{
  ir_timeline_unref (value->timeline);
  ir_run_unref (value->run);
  g_free (value->inside);
  g_free (value);
}

/**
 * ir_fused_value_find:
 * @value: made by ir_session_new_fused_value()
 * @cancellable: (nullable): ends it
 * @how: (out) (transfer full): how the contents were had, as a sentence
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): the contents, on the inputs of the run
 */
IrTensor *
ir_fused_value_find (IrFusedValue *value, GCancellable *cancellable, char **how, GError **error)
{
  g_autoptr (IrOriginals) originals = NULL;
  g_auto (IrFound) found = { 0 };
  g_autofree char *text = NULL;
  IrTensor *tensor;

  *how = NULL;
  g_mutex_lock (&value->timeline->lock);
  originals = ir_originals_new (value->timeline->model, value->step, value->run, error);
  g_mutex_unlock (&value->timeline->lock);
  if (originals == NULL)
    return NULL;
  tensor = ir_originals_find (originals, value->original, cancellable, &found, error);
  if (tensor == NULL)
    return NULL;
  text = ir_found_text (&found, value->run->model);
  *how = found.stands_for == 0 && value->inside != NULL
             ? g_strdup_printf ("It lies inside %s of the graph that ran: it was %s.",
                                value->inside, text)
             : g_strdup_printf ("The graph that ran does not have this value: it was %s.", text);
  return tensor;
}
