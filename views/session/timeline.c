/* The model with its history, and what its steps made of what. */
#include "config.h"

#include "views/session/frame.h"
#include "views/session/timeline-private.h"

#include <string.h>

/* -- a timeline -- */

struct _IrTimeline
{
  gatomicrefcount ref_count;
  GMutex lock;
  IrModel *model;
  IrModel *original; /* frozen, step 0 */
};

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

IrModel *
ir_timeline_model (IrTimeline *timeline)
{
  return timeline->model;
}

GMutexLocker *
ir_timeline_lock (IrTimeline *timeline)
{
  return g_mutex_locker_new (&timeline->lock);
}

IrModel *
ir_timeline_original (IrTimeline *timeline)
{
  return timeline->original;
}

guint
ir_timeline_n_steps (IrTimeline *timeline)
{
  return ir_history_n_steps (timeline->model);
}

/* By hand, or by a pass that was asked for as an edit. */
static gboolean
is_edit (const IrModel *model, guint step)
{
  const IrPassRun *run = ir_history_pass_run (model, ir_history_step (model, step)->pass_run);

  return strcmp (run->pass, IR_EDIT_PASS) == 0 || g_strcmp0 (run->pipeline, IR_EDIT_PASS) == 0;
}

guint
ir_timeline_last_edit (IrTimeline *timeline)
{
  guint step = ir_timeline_n_steps (timeline);

  while (step > 0 && !is_edit (timeline->model, step))
    step--;
  return step;
}

IrModel *
ir_timeline_snapshot (IrTimeline *timeline, guint step)
{
  g_autoptr (GMutexLocker) locker = ir_timeline_lock (timeline);

  return ir_history_snapshot (timeline->model, step);
}

/* To facts that nobody else reads yet: which step touched each node last. */
void
ir_timeline_add_steps (IrTimeline *timeline, IrOverlayFacts *facts, guint step)
{
  g_autoptr (GMutexLocker) locker = ir_timeline_lock (timeline);

  ir_overlay_facts_add_history (facts, timeline->model, step);
}

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

IrModel *
ir_timeline_copy (IrTimeline *timeline)
{
  return ir_timeline_fork (timeline, ir_timeline_n_steps (timeline));
}

IrTimeline *
ir_timeline_until (IrTimeline *timeline, guint n_steps)
{
  IrModel *model;

  if (n_steps == ir_timeline_n_steps (timeline))
    return ir_timeline_ref (timeline);
  model = ir_timeline_fork (timeline, n_steps);
  ir_edit_free (ir_edit_new (model)); /* forgets the steps behind */
  return ir_timeline_new (model);
}

/* -- the one on screen -- */

typedef struct
{
  IrTimeline *timeline; /* (nullable) */
} Current;

static void
clear (gpointer state)
{
  g_clear_pointer (&((Current *) state)->timeline, ir_timeline_unref);
}

IR_SESSION_NOUN (Current, NULL, clear)

IrTimeline *
ir_session_get_timeline (IrSession *self)
{
  return own (self)->timeline;
}

void
ir_session_set_timeline (IrSession *self, IrTimeline *timeline)
{
  ir_job_free_later (own (self)->timeline, (GDestroyNotify) ir_timeline_unref);
  own (self)->timeline = timeline;
}

IrModel *
ir_session_get_original (IrSession *self)
{
  IrTimeline *timeline = own (self)->timeline;

  return timeline != NULL ? timeline->original : NULL;
}

/**
 * ir_session_get_history:
 *
 * Returns: (transfer none) (nullable): the model whose log the steps are, to be read only, in the
 *   main thread, until the next %IR_CHANGED_HISTORY
 */
IrModel *
ir_session_get_history (IrSession *self)
{
  IrTimeline *timeline = own (self)->timeline;

  return timeline != NULL ? timeline->model : NULL;
}

guint
ir_session_get_n_steps (IrSession *self)
{
  IrTimeline *timeline = own (self)->timeline;

  return timeline != NULL ? ir_timeline_n_steps (timeline) : 0;
}

/**
 * ir_session_origins:
 *
 * Returns: (transfer full): the nodes of the original graph that @node was made of; of #IrNodeId
 */
GArray *
ir_session_origins (IrSession *self, IrNodeId node)
{
  IrTimeline *timeline = own (self)->timeline;
  g_autoptr (GMutexLocker) locker = NULL;

  if (timeline == NULL || node & IR_OTHER_SIDE)
    return g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  locker = ir_timeline_lock (timeline);
  return ir_lineage_origins (timeline->model, node);
}

/**
 * ir_session_descendants:
 *
 * Returns: (transfer full): the nodes at @step that came from @node; of #IrNodeId
 */
GArray *
ir_session_descendants (IrSession *self, IrNodeId node, guint step)
{
  IrTimeline *timeline = own (self)->timeline;
  g_autoptr (GMutexLocker) locker = NULL;

  if (timeline == NULL || node & IR_OTHER_SIDE)
    return g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  locker = ir_timeline_lock (timeline);
  return ir_lineage_descendants (timeline->model, node, step);
}

/**
 * ir_session_steps_of:
 *
 * Returns: (transfer full): the steps that touched @node; of guint
 */
GArray *
ir_session_steps_of (IrSession *self, IrNodeId node)
{
  IrTimeline *timeline = own (self)->timeline;
  g_autoptr (GMutexLocker) locker = NULL;

  if (timeline == NULL || node & IR_OTHER_SIDE)
    return g_array_new (FALSE, FALSE, sizeof (guint));
  locker = ir_timeline_lock (timeline);
  return ir_lineage_steps (timeline->model, node);
}

/**
 * ir_session_touches_of:
 *
 * Returns: (transfer full): what steps were to @node; of #IrTouch
 */
GArray *
ir_session_touches_of (IrSession *self, IrNodeId node)
{
  IrTimeline *timeline = own (self)->timeline;
  g_autoptr (GMutexLocker) locker = NULL;

  if (timeline == NULL || node == 0 || node & IR_OTHER_SIDE)
    return g_array_new (FALSE, FALSE, sizeof (IrTouch));
  locker = ir_timeline_lock (timeline);
  return ir_lineage_touches (timeline->model, node);
}

IrValueId
ir_session_original_value (IrSession *self, IrValueId value)
{
  IrTimeline *timeline = own (self)->timeline;
  g_autoptr (GMutexLocker) locker = NULL;

  if (ir_model_live_value (timeline->original, value) != NULL)
    return value;
  locker = ir_timeline_lock (timeline);
  return ir_lineage_original_value (timeline->model, value);
}
