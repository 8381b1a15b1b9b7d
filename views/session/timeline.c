/* The model with its history, and what its steps made of what. */
#include "config.h"

#include "views/session/session-private.h"

IrTimeline *
ir_timeline_new (IrModel *model)
{
  IrTimeline *timeline = g_new0 (IrTimeline, 1);

  g_atomic_ref_count_init (&timeline->ref_count);
  g_mutex_init (&timeline->lock);
  timeline->model = model;
  timeline->original = ir_history_snapshot (model, 0);
  return timeline;
}

IrTimeline *
ir_timeline_ref (IrTimeline *timeline)
{
  g_atomic_ref_count_inc (&timeline->ref_count);
  return timeline;
}

void
ir_timeline_unref (IrTimeline *timeline)
{
  if (!g_atomic_ref_count_dec (&timeline->ref_count))
    return;
  g_clear_pointer (&timeline->original, ir_model_unref);
  g_clear_pointer (&timeline->model, ir_model_unref);
  g_mutex_clear (&timeline->lock);
  g_free (timeline);
}

/* An editable copy of the model as it is at @step; what is edited there follows that step. */
IrModel *
ir_timeline_fork (IrTimeline *timeline, guint step)
{
  IrModel *fork;

  if (step == 0)
    return ir_model_clone (timeline->original);
  g_mutex_lock (&timeline->lock);
  fork = ir_history_clone (timeline->model);
  g_mutex_unlock (&timeline->lock);
  ir_history_goto (fork, step);
  return fork;
}

/* Steps at the beginning that are the user's edits. */
guint
ir_history_n_edits (const IrModel *model)
{
  guint n = 0;

  while (n < ir_history_n_steps (model) &&
         g_strcmp0 (ir_history_pass_of (model, n + 1), "edit") == 0)
    n++;
  return n;
}

/* -- reading -- */

/**
 * ir_session_get_history:
 *
 * Returns: (transfer none) (nullable): the model whose log the steps are, to be read only, in the
 *   main thread, until the next %IR_CHANGED_HISTORY
 */
IrModel *
ir_session_get_history (IrSession *self)
{
  return self->timeline != NULL ? self->timeline->model : NULL;
}

guint
ir_session_get_n_steps (IrSession *self)
{
  return self->timeline != NULL ? ir_history_n_steps (self->timeline->model) : 0;
}

/**
 * ir_session_origins:
 *
 * Returns: (transfer full): the nodes of the original graph that @node was made of; of #IrNodeId
 */
GArray *
ir_session_origins (IrSession *self, IrNodeId node)
{
  g_autoptr (GMutexLocker) locker = NULL;

  if (self->timeline == NULL || node & IR_OTHER_SIDE)
    return g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  locker = g_mutex_locker_new (&self->timeline->lock);
  return ir_lineage_origins (self->timeline->model, node);
}

/**
 * ir_session_descendants:
 *
 * Returns: (transfer full): the nodes at @step that came from @node; of #IrNodeId
 */
GArray *
ir_session_descendants (IrSession *self, IrNodeId node, guint step)
{
  g_autoptr (GMutexLocker) locker = NULL;

  if (self->timeline == NULL || node & IR_OTHER_SIDE)
    return g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  locker = g_mutex_locker_new (&self->timeline->lock);
  return ir_lineage_descendants (self->timeline->model, node, step);
}

/**
 * ir_session_steps_of:
 *
 * Returns: (transfer full): the steps that touched @node; of guint
 */
GArray *
ir_session_steps_of (IrSession *self, IrNodeId node)
{
  g_autoptr (GMutexLocker) locker = NULL;

  if (self->timeline == NULL || node & IR_OTHER_SIDE)
    return g_array_new (FALSE, FALSE, sizeof (guint));
  locker = g_mutex_locker_new (&self->timeline->lock);
  return ir_lineage_steps (self->timeline->model, node);
}

/* The value of the original graph that @value is or stands for; 0: none. */
IrValueId
ir_session_original_value (IrSession *self, IrValueId value)
{
  g_autoptr (GMutexLocker) locker = NULL;

  if (ir_model_live_value (self->timeline->original, value) != NULL)
    return value;
  locker = g_mutex_locker_new (&self->timeline->lock);
  return ir_lineage_original_value (self->timeline->model, value);
}
