/* Values of the original graph that no run has got, as a fused kernel computes what came of them or
 * the original graph did not run: found by running the few of its nodes that lie between them and
 * the nearest values of the run of the graph on screen. What that needs is prepared once for a run.
 */
#include "config.h"

#include "core/exec/run/capture.h"
#include "views/session/frame.h"
#include "views/session/runs-private.h"
#include "views/session/timeline-private.h"

/* -- what a run says of the original graph -- */

typedef struct
{
  gatomicrefcount ref_count;
  IrTimeline *timeline;
  IrRun *run;
  guint step;
  GMutex lock;            /* guards the next */
  IrOriginals *originals; /* (nullable): made for the first value */
} IrRunOriginals;

static IrRunOriginals *
run_originals_new (IrTimeline *timeline, IrRun *run, guint step)
{
  IrRunOriginals *self = g_new0 (IrRunOriginals, 1);

  g_atomic_ref_count_init (&self->ref_count);
  g_mutex_init (&self->lock);
  self->timeline = ir_timeline_ref (timeline);
  self->run = ir_run_ref (run);
  self->step = step;
  return self;
}

static IrRunOriginals *
run_originals_ref (IrRunOriginals *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

static void
run_originals_unref (IrRunOriginals *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;
  g_clear_pointer (&self->originals, ir_originals_free);
  g_clear_pointer (&self->run, ir_run_unref);
  g_clear_pointer (&self->timeline, ir_timeline_unref);
  g_mutex_clear (&self->lock);
  g_free (self);
}

/* (transfer none) (nullable) */
static IrOriginals *
prepare (IrRunOriginals *self, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&self->lock);

  if (self->originals == NULL)
    {
      g_autoptr (GMutexLocker) history = ir_timeline_lock (self->timeline);

      self->originals = ir_originals_new (ir_timeline_model (self->timeline), self->step, self->run,
                                          error);
    }
  return self->originals;
}

/* -- one value -- */

struct _IrOriginalValue
{
  IrRunOriginals *originals;
  IrValueId id; /* of the original graph */
  IrSide side;
  char *inside; /* (nullable) the node that computes what came of it */
};

/* The node of the run that the one that made @value ended up in. */
static char *
label_of_fused (IrSession *self, const IrValue *value)
{
  g_autoptr (GArray) nodes = value->producer != NULL
                                 ? ir_session_descendants (self, value->producer->id,
                                                           ir_session_get_run_step (self))
                                 : NULL;
  const IrNode *node = nodes != NULL && nodes->len > 0
                           ? ir_model_live_node (ir_session_get_run (self, IR_SIDE_AFTER)->model,
                                                 g_array_index (nodes, IrNodeId, 0))
                           : NULL;

  return node != NULL ? ir_node_label (node) : NULL;
}

/* Whether the run of the graph on screen is what says something of @side of @value. */
static gboolean
is_asked_of_run (IrSession *self, IrValueId value, IrSide side)
{
  const IrRun *run = ir_session_get_run (self, IR_SIDE_AFTER);

  if (run == NULL || run->error != NULL || ir_session_get_run_step (self) == 0 ||
      (value & IR_OTHER_SIDE) != 0)
    return FALSE;
  return side == IR_SIDE_BEFORE
             ? ir_session_was_one_run (self) && ir_session_get_run (self, IR_SIDE_BEFORE) == NULL
             : ir_model_live_value (run->model, value) == NULL;
}

/**
 * ir_session_new_original_value:
 * @value: a value of any step
 * @side: as it was before, which is asked of the run where the original graph did not run; or as it
 *   is after the optimization, where the graph that ran does not have it
 *
 * Returns: (transfer full) (nullable): what finds the contents of @value; %NULL if there is no such
 *   run, or @value is none of the original graph
 */
IrOriginalValue *
ir_session_new_original_value (IrSession *self, IrValueId value, IrSide side)
{
  IrRunOriginals *originals;
  IrOriginalValue *asked;
  IrValueId id;
  const IrValue *original;

  if (!is_asked_of_run (self, value, side))
    return NULL;
  id = side == IR_SIDE_BEFORE ? ir_session_original_value (self, value) : value;
  original = ir_model_live_value (ir_session_get_original (self), id);
  if (original == NULL)
    return NULL;
  originals = ir_session_get_attached (self);
  if (originals == NULL)
    {
      originals = run_originals_new (ir_session_get_timeline (self),
                                     ir_session_get_run (self, IR_SIDE_AFTER),
                                     ir_session_get_run_step (self));
      ir_session_attach_to_run (self, originals, (GDestroyNotify) run_originals_unref);
    }
  asked = g_new0 (IrOriginalValue, 1);
  asked->originals = run_originals_ref (originals);
  asked->id = id;
  asked->side = side;
  asked->inside = label_of_fused (self, original);
  return asked;
}

void
ir_original_value_free (IrOriginalValue *value)
{
  run_originals_unref (value->originals);
  g_free (value->inside);
  g_free (value);
}

static char *
how_text (const IrOriginalValue *value, const IrFound *found)
{
  g_autofree char *text = ir_found_text (found, value->originals->run->model);

  if (value->side == IR_SIDE_BEFORE)
    return g_strdup_printf ("The original graph did not run: this was %s.", text);
  if (found->stands_for == 0 && value->inside != NULL)
    return g_strdup_printf ("It lies inside %s of the graph that ran: it was %s.", value->inside,
                            text);
  return g_strdup_printf ("The graph that ran does not have this value: it was %s.", text);
}

/**
 * ir_original_value_find:
 * @value: made by ir_session_new_original_value()
 * @cancellable: (nullable): ends it
 * @computed: (out): whether nodes of the original graph made the contents anew
 * @how: (out) (transfer full) (nullable): how the contents were had, as a sentence
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): the contents, on the inputs of the run
 */
IrTensor *
ir_original_value_find (IrOriginalValue *value,
                        GCancellable *cancellable,
                        gboolean *computed,
                        char **how,
                        GError **error)
{
  IrOriginals *originals = prepare (value->originals, error);
  g_auto (IrFound) found = { 0 };
  IrTensor *tensor = originals != NULL
                         ? ir_originals_find (originals, value->id, cancellable, &found, error)
                         : NULL;

  *computed = tensor != NULL && found.how == IR_FOUND_COMPUTED;
  *how = tensor != NULL ? how_text (value, &found) : NULL;
  return tensor;
}
