/* Run control. What a run waits for, and what is spent on judging values, counts neither as its time
 * nor against its limit. A run that is told to stop behind a node ends before the next one, so that
 * what the node gave is handed out. */
#include "config.h"

#include "core/exec/run/control.h"
#include "core/exec/run/iteration-name.h"

#include "core/exec/kernel/backend.h"
#include "core/exec/run/capture.h"
#include "core/exec/run/state.h"
#include "core/ir/inline.h"

#define LOOK_US 50000 /* between looks at whether a run that waits was cancelled */

struct _IrRunControl
{
  IrObserver observer; /* first: it is all that the runner knows */
  IrRunControlSetup setup;
  IrObserver *other; /* (nullable) */
  char *(*found) (IrObserver *other, const IrNode *node);
  IrRunState *state; /* (nullable) while it runs */
  guint *rounds;     /* by node id */
  IrRunCommand command;
  guint depth;          /* where it was given */
  const IrGraph *graph; /* likewise: IR_RUN_ROUND */
  gboolean after;       /* it stands behind a node of the main graph, which has run */
  const IrNode *last;   /* (nullable) the node that has just run */
  gboolean ends;
  gint pause; /* atomic */
  gint
      n_breaks; /* atomic: of the list below, so that who has none does not ask for it at each node */
  GMutex lock; /* guards what follows */
  GCond told;
  gboolean is_told, waits; /* nobody needs to be woken where nobody waits */
  IrRunCommand next;
  GPtrArray *breaks;       /* of IrRunBreak; another in its place, never changed */
  GHashTable *divergences; /* (nullable) value id -> char *: set before it runs */
};

/* -- where it stands -- */

static guint64
live_bytes (const IrRunState *state)
{
  return state->live_bytes + state->placed_bytes;
}

/**
 * ir_run_stop_text:
 * @stop: where a run stands
 *
 * Returns: (transfer full): the same as a sentence
 */
char *
ir_run_stop_text (const IrRunStop *stop)
{
  g_autofree char *label = stop->node != NULL ? ir_exec_label (stop->node) : NULL;
  g_autoptr (GString) text = g_string_new (NULL);

  if (label != NULL)
    g_string_append_printf (text, "%s %s%s", stop->after ? "after" : "before",
                            stop->place != NULL ? stop->place : "", label);
  else
    g_string_append (text, "at the beginning");
  if (stop->round > 1 && stop->place == NULL)
    g_string_append_printf (text, ", round %" G_GUINT64_FORMAT, stop->round);
  g_string_append_printf (text, ", %u of %u nodes done", stop->done, stop->total);
  if (stop->hit != NULL)
    {
      g_string_append_printf (text, "; %s", ir_run_break_text (stop->hit));
      if (stop->value != NULL)
        g_string_append_printf (text, ": %s: %s", stop->value->name, stop->finding.text);
      else if (stop->finding.text != NULL)
        g_string_append_printf (text, ": %s", stop->finding.text);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
stop_clear (IrRunStop *stop)
{
  ir_run_finding_clear (&stop->finding);
  g_clear_pointer (&stop->hit, ir_run_break_unref);
  g_clear_pointer (&stop->came_in, g_free);
  g_clear_pointer (&stop->place, g_free);
}

/* Whether @by is about the loops that the run is in */
static gboolean
is_in (const IrRunControl *self, const IrRunBreak *by)
{
  const IrFrameAt *at = self->state->frame;

  if (!ir_run_break_has_place (by) || at == NULL)
    return ir_run_break_is_in (by, NULL, NULL, 0);
  g_autofree char *frame = ir_frame_at_path (at);
  g_autofree char *name = at->loop != NULL ? ir_loop_name (at->loop) : g_strdup (at->name);
  return ir_run_break_is_in (by, frame, name, at->iteration);
}

static void
stop_init (IrRunControl *self, IrRunStop *stop, const IrNode *node, gboolean after)
{
  const IrRunState *state = self->state;

  *stop = (IrRunStop){ .model = state->prepared->model,
                       .node = node,
                       .after = after,
                       .round = node != NULL ? self->rounds[node->id] : 0,
                       .depth = state->depth,
                       .total = state->prepared->schedule->items->len,
                       .live_bytes = live_bytes (state) };
  stop->done = state->n_done + (after && state->depth == 0);
}

/* A call has run when the last node of its function has. */
static void
take_command (IrRunControl *self, IrRunCommand command)
{
  self->command = command;
  if (command.move == IR_RUN_TO)
    self->command.node = ir_inline_last (self->state->prepared->model, command.node);
}

static IrRunCommand
wait_for_command (IrRunControl *self)
{
  IrRunCommand command = { .move = IR_RUN_STOP };

  g_mutex_lock (&self->lock);
  self->waits = TRUE;
  while (!self->is_told && !g_cancellable_is_cancelled (self->state->cancellable))
    g_cond_wait_until (&self->told, &self->lock, g_get_monotonic_time () + LOOK_US);
  self->waits = FALSE;
  if (self->is_told)
    command = self->next;
  self->is_told = FALSE;
  g_mutex_unlock (&self->lock);
  return command;
}

/* The clock of the run goes on as if it had not stood. */
static void
forget_time (IrRunState *state, gint64 since_ns)
{
  const gint64 ns = ir_run_now_ns () - since_ns;

  state->start_ns += ns;
  if (state->watch.deadline_us > 0)
    state->watch.deadline_us += ns / 1000;
}

/* Before a step of the main graph, the clock was just looked at. */
static gint64
began_to_stand (const IrRunState *state, const IrRunStop *stop)
{
  return !stop->after && stop->depth == 0 && stop->node != NULL && stop->node == state->node
             ? state->start_ns + state->step_ns
             : ir_run_now_ns ();
}

static void
stand (IrRunControl *self, IrRunStop *stop)
{
  const gint64 since_ns = began_to_stand (self->state, stop);
  const IrFrameAt *at = self->state->frame;
  g_autofree char *frame = at != NULL ? ir_frame_at_path (at) : NULL;

  if (frame != NULL)
    stop->place = g_strdup_printf ("%s@%" G_GINT64_FORMAT "/", frame, at->iteration);

  g_atomic_int_set (&self->pause, 0);
  self->after = stop->after && stop->depth == 0;
  self->setup.stopped (self, stop, self->setup.data);
  take_command (self, wait_for_command (self));
  self->after = FALSE;
  self->depth = stop->depth;
  self->graph = stop->node != NULL ? stop->node->graph : NULL;
  self->ends = self->command.move == IR_RUN_STOP;
  forget_time (self->state, since_ns);
  stop_clear (stop);
}

static gboolean
end_here (const IrNode *node, GError **error)
{
  g_autofree char *label = ir_exec_label (node);

  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_STOPPED, "Stopped before %s", label);
  return FALSE;
}

/* -- breakpoints -- */

/* (transfer full): of IrRunBreak */
static GPtrArray *
breaks_now (IrRunControl *self)
{
  g_mutex_lock (&self->lock);
  GPtrArray *breaks = g_ptr_array_ref (self->breaks);
  g_mutex_unlock (&self->lock);
  return breaks;
}

static gboolean
overlap (const IrTensor *a, const IrTensor *b)
{
  const char *x = ir_tensor_data (a), *y = ir_tensor_data (b);

  return x != NULL && y != NULL && x < y + ir_tensor_n_bytes (b) && y < x + ir_tensor_n_bytes (a);
}

/* Whether the step that makes it is still to come. What a run before has given is filled in without one. */
static gboolean
is_ahead (const IrRunControl *self, const IrValue *value)
{
  const GArray *items = self->state->prepared->schedule->items;
  const IrNode *node = value->producer;

  if (node == NULL || node == self->last || self->state->ran[node->id])
    return FALSE;
  for (guint i = self->state->n_done; i < items->len; i++)
    if (g_array_index (items, IrScheduleItem, i).node == node->id)
      return TRUE;
  return FALSE;
}

/* Whether the plan lets its bytes be another's by now, or still */
static gboolean
lends_bytes (const IrRunControl *self, const IrValue *value)
{
  const IrPrepared *prepared = self->state->prepared;
  const GArray *items = prepared->memplan->items;

  if (is_ahead (self, value))
    return TRUE;
  if (!ir_prepared_in_arena (prepared, value))
    return FALSE;
  if (value->producer != NULL && !self->state->ran[value->producer->id])
    return TRUE;
  for (guint i = 0; i < items->len; i++)
    if (g_array_index (items, IrMemItem, i).value == value->id)
      return g_array_index (items, IrMemItem, i).last < self->state->n_done;
  return FALSE;
}

/* Whether others may have written over @tensor: nodes that ran before, or the one that has just run. A view has written
 * nothing. */
static gboolean
may_be_gone (IrRunControl *self, const IrValue *value, const IrTensor *tensor)
{
  const IrNode *node = self->last;

  if (lends_bytes (self, value))
    return TRUE;
  if (node == NULL || value->producer == node || (node->op != NULL && node->op->flags & IR_OP_VIEW))
    return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrTensor *other = node->outputs[i] != NULL
                                  ? ir_run_state_tensor (self->state, node->outputs[i])
                                  : NULL;
      if (other != NULL && overlap (tensor, other))
        return TRUE;
    }
  return FALSE;
}

/* What @value holds now, in the layout of the graph; (transfer full) (nullable) */
static IrTensor *
contents_of (IrRunControl *self, const IrValue *value)
{
  const IrTensor *tensor = value != NULL ? ir_run_state_tensor (self->state, value) : NULL;

  return tensor != NULL && !may_be_gone (self, value, tensor)
             ? ir_run_state_plain (self->state, value, tensor, NULL)
             : NULL;
}

/* Names of inputs of @node of which @by holds, too; what a body reads around it is not looked at. */
static char *
find_inputs (IrRunControl *self, const IrRunBreak *by, const IrNode *node)
{
  g_autoptr (GString) names = g_string_new (NULL);

  ir_node_for_each_input (node, i, value)
    {
      g_autoptr (IrTensor) tensor = contents_of (self, value);
      IrTensorStats stats;
      IrRunFinding finding;

      if (tensor == NULL)
        continue;
      ir_tensor_stats_with (tensor, 0, self->state->threads, &stats);
      if (!ir_run_break_holds (by, tensor, &stats, &finding))
        continue;
      ir_run_finding_clear (&finding);
      g_string_append_printf (names, "%s%s", names->len > 0 ? ", " : "", value->name);
    }
  return names->len > 0 ? g_string_free (g_steal_pointer (&names), FALSE) : NULL;
}

/* What nodes have given, with statistics that are made when first asked for. */
typedef struct
{
  const IrValue *value;
  IrTensor *tensor; /* (nullable) */
  IrTensorStats stats;
  gboolean counted;
} Given;

/* Of what lies in the memory of a device alone, which counts it: most often that says that nothing is to be copied. */
static gboolean
may_hold_there (IrRunControl *self, const IrRunBreak *by, Given *given)
{
  IrRunFinding finding;

  if (given->tensor != NULL || ir_run_break_needs (by) & IR_RUN_BREAK_CONTENTS)
    return TRUE;
  if (!given->counted &&
      !ir_device_stats_now (self->state, given->value, &given->stats, &given->counted, NULL))
    return TRUE; /* who copies it says what is wrong */
  if (!given->counted)
    return TRUE;
  gboolean holds = ir_run_break_holds (by, NULL, &given->stats, &finding);
  ir_run_finding_clear (&finding);
  return holds;
}

static gboolean
holds_of (IrRunControl *self, const IrRunBreak *by, Given *given, IrRunFinding *finding)
{
  if (given->value == NULL || !may_hold_there (self, by, given))
    return FALSE;
  if (given->tensor == NULL)
    given->tensor = contents_of (self, given->value);
  if (given->tensor == NULL)
    return FALSE;
  if (!given->counted)
    ir_tensor_stats_with (given->tensor, 0, self->state->threads, &given->stats);
  given->counted = TRUE;
  return ir_run_break_holds (by, given->tensor, &given->stats, finding);
}

/* (nullable): none of them differs from the original graph */
static const Given *
find_divergence (const IrRunControl *self, const Given *given, guint n)
{
  for (guint i = 0; self->divergences != NULL && i < n; i++)
    if (given[i].value != NULL &&
        g_hash_table_contains (self->divergences, GUINT_TO_POINTER (given[i].value->id)))
      return &given[i];
  return NULL;
}

/* @node: (nullable): @given are inputs of the graph */
static gboolean
hits (IrRunControl *self,
      IrRunBreak *by,
      const IrNode *node,
      Given *given,
      guint n,
      const char *diverges, /* (nullable) */
      IrRunStop *stop)
{
  const IrRunBreakNeeds needs = ir_run_break_needs (by);

  if (((needs & IR_RUN_BREAK_REF) && diverges == NULL) ||
      ((needs & IR_RUN_BREAK_ORIGINAL) && find_divergence (self, given, n) == NULL))
    return FALSE;
  if ((needs & IR_RUN_BREAK_MEMORY) &&
      !ir_run_break_exceeded (by, live_bytes (self->state), &stop->finding))
    return FALSE;
  if (needs & IR_RUN_BREAK_STATS)
    {
      guint i = 0;

      ir_run_finding_clear (&stop->finding);
      while (i < n && !holds_of (self, by, &given[i], &stop->finding))
        i++;
      if (i == n)
        return FALSE;
      stop->value = given[i].value;
      stop->came_in = node != NULL ? find_inputs (self, by, node) : NULL;
    }
  else if (needs & IR_RUN_BREAK_REF)
    {
      ir_run_finding_clear (&stop->finding);
      stop->finding.text = g_strdup (diverges);
    }
  else if (needs & IR_RUN_BREAK_ORIGINAL)
    {
      const Given *at = find_divergence (self, given, n);

      ir_run_finding_clear (&stop->finding);
      stop->value = at->value;
      stop->finding.text = g_strdup (
          g_hash_table_lookup (self->divergences, GUINT_TO_POINTER (at->value->id)));
      stop->finding.advice = "The values before it agree: the step that made this node, or its "
                             "kernel, is the first to look at; irscope bisect finds which.";
    }
  stop->kind = IR_RUN_STOPPED_BY_BREAK;
  stop->hit = ir_run_break_ref (by);
  return TRUE;
}

/* The first breakpoint that holds of what @values are now. */
static gboolean
find_hit (IrRunControl *self,
          const IrNode *node,
          const IrValue *const *values,
          guint n,
          const char *diverges,
          IrRunStop *stop)
{
  g_autoptr (GPtrArray) breaks = breaks_now (self);
  const gint64 since_ns = breaks->len > 0 ? ir_run_now_ns () : 0;
  g_autofree Given *given = NULL;
  gboolean found = FALSE;

  for (guint i = 0; i < breaks->len && !found; i++)
    {
      IrRunBreak *by = breaks->pdata[i];

      if (ir_run_break_needs (by) == 0 ||
          !(node != NULL ? ir_run_break_matches (by, node) : ir_run_break_is_of_any (by)) ||
          !is_in (self, by))
        continue;
      if (given == NULL)
        {
          given = g_new0 (Given, n + 1);
          for (guint k = 0; k < n; k++)
            given[k].value = values[k];
        }
      found = hits (self, by, node, given, n, diverges, stop);
    }
  for (guint k = 0; given != NULL && k < n; k++)
    g_clear_pointer (&given[k].tensor, ir_tensor_unref);
  if (since_ns != 0)
    forget_time (self->state, since_ns);
  return found;
}

/* One that is about the node alone. (transfer full) (nullable) */
static IrRunBreak *
find_node_break (IrRunControl *self, const IrNode *node)
{
  if (g_atomic_int_get (&self->n_breaks) == 0)
    return NULL;
  g_autoptr (GPtrArray) breaks = breaks_now (self);

  for (guint i = 0; i < breaks->len; i++)
    if (ir_run_break_needs (breaks->pdata[i]) == 0 &&
        ir_run_break_matches (breaks->pdata[i], node) && is_in (self, breaks->pdata[i]))
      return ir_run_break_ref (breaks->pdata[i]);
  return NULL;
}

/* -- observing -- */

static gboolean
begin (IrObserver *observer, IrRunState *state, GError **error)
{
  IrRunControl *self = (IrRunControl *) observer;
  const IrGraph *main = state->prepared->model->main;
  g_autofree const IrValue **inputs = g_new0 (const IrValue *, ir_graph_n_inputs (main) + 1);
  guint n = 0;
  IrRunStop stop;

  self->state = state;
  g_free (self->rounds);
  self->rounds = g_new0 (guint, state->prepared->n_nodes + 1);
  take_command (self, self->setup.first);
  self->depth = 0;
  self->ends = FALSE;
  self->last = NULL;
  if (!ir_observer_begin (self->other, state, error))
    return FALSE;
  for (guint i = 0; i < ir_graph_n_inputs (main); i++)
    if (ir_graph_input (main, i) != NULL && ir_value_constant (ir_graph_input (main, i)) == NULL)
      inputs[n++] = ir_graph_input (main, i);
  stop_init (self, &stop, NULL, FALSE);
  if (find_hit (self, NULL, inputs, n, NULL, &stop))
    stand (self, &stop);
  return TRUE;
}

static gboolean
is_first_of (const IrGraph *graph, const IrNode *node)
{
  guint n;
  IrNode *const *nodes = ir_graph_order (graph, &n);

  return n > 0 && nodes[0] == node;
}

/* Whether the move that was told ends before @node. */
static gboolean
arrives_before (const IrRunControl *self, const IrNode *node)
{
  switch (self->command.move)
    {
    case IR_RUN_STEP:
      return TRUE;
    case IR_RUN_OVER:
      return self->state->depth <= self->depth;
    case IR_RUN_ROUND:
      return self->state->depth < self->depth || self->depth == 0 ||
             (node->graph == self->graph && is_first_of (self->graph, node));
    case IR_RUN_CONTINUE:
    case IR_RUN_TO:
    case IR_RUN_STOP:
    default:
      return FALSE;
    }
}

/* Whether it has come to what %IR_RUN_TO names */
static gboolean
has_come (const IrRunControl *self, const IrNode *node)
{
  const IrRunCommand *command = &self->command;
  const IrFrameAt *at = self->state->frame;

  if (command->move != IR_RUN_TO || command->node != node->id)
    return FALSE;
  if (command->frame == NULL)
    return TRUE;
  if (at == NULL || (command->iteration >= 0 && command->iteration != at->iteration))
    return FALSE;
  g_autofree char *path = ir_frame_at_path (at);
  return ir_iteration_frame_is (command->frame, path);
}

static gboolean
before (IrObserver *observer,
        IrRunState *state,
        const IrNode *node,
        const IrRunStep *step,
        GError **error)
{
  IrRunControl *self = (IrRunControl *) observer;
  const gboolean paused = g_atomic_int_get (&self->pause);
  IrRunBreak *hit;
  IrRunStop stop;

  if (self->ends)
    return end_here (node, error);
  self->rounds[node->id]++;
  hit = find_node_break (self, node);
  if (hit != NULL || paused || arrives_before (self, node))
    {
      stop_init (self, &stop, node, FALSE);
      stop.hit = hit;
      stop.kind = hit != NULL ? IR_RUN_STOPPED_BY_BREAK
                  : paused    ? IR_RUN_STOPPED_BY_PAUSE
                              : IR_RUN_STOPPED_BY_MOVE;
      stand (self, &stop);
      if (self->ends)
        return end_here (node, error);
    }
  return ir_observer_before (self->other, state, node, step, error);
}

static gboolean
after (IrObserver *observer,
       IrRunState *state,
       const IrNode *node,
       const IrRunStep *step,
       GError **error)
{
  IrRunControl *self = (IrRunControl *) observer;
  g_autofree char *diverges = NULL;
  IrRunStop stop;

  if (!ir_observer_after (self->other, state, node, step, error))
    return FALSE;
  if (self->found != NULL)
    diverges = self->found (self->other, node);
  self->last = node;
  self->after = state->depth == 0;
  if (self->setup.ran != NULL)
    self->setup.ran (self, node, self->setup.data);
  self->after = FALSE;
  if (g_atomic_int_get (&self->n_breaks) > 0 || has_come (self, node))
    {
      stop_init (self, &stop, node, TRUE);
      if (find_hit (self, node, (const IrValue *const *) node->outputs, node->n_outputs, diverges,
                    &stop) ||
          has_come (self, node))
        stand (self, &stop);
    }
  self->last = NULL;
  return TRUE;
}

static gboolean
end (IrObserver *observer, IrRunState *state, GError **error)
{
  IrRunControl *self = (IrRunControl *) observer;

  return ir_observer_end (self->other, state, error);
}

/* What moves tokens is told of to who looks on beside. */
static void
flow (IrObserver *observer, const IrFlowTell *tell)
{
  IrObserver *other = ((IrRunControl *) observer)->other;

  if (other != NULL && other->flow != NULL)
    other->flow (other, tell);
}

/* -- the whole -- */

/**
 * ir_run_control_new:
 * @setup: how it tells, and how a run begins; each run anew
 *
 * Returns: (transfer full): a control for IrRunOptions.control, of one run at a time
 */
IrRunControl *
ir_run_control_new (const IrRunControlSetup *setup)
{
  g_return_val_if_fail (setup->stopped != NULL, NULL);
  IrRunControl *self = g_new0 (IrRunControl, 1);

  self->observer = (IrObserver){ begin, before, after, end, flow };
  self->setup = *setup;
  self->breaks = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_run_break_unref);
  g_mutex_init (&self->lock);
  g_cond_init (&self->told);
  return self;
}

/**
 * ir_run_control_free:
 * @self: (transfer full) (nullable): a control that no run has any more
 */
void
ir_run_control_free (IrRunControl *self)
{
  if (self == NULL)
    return;
  g_mutex_clear (&self->lock);
  g_cond_clear (&self->told);
  g_ptr_array_unref (self->breaks);
  g_clear_pointer (&self->divergences, g_hash_table_unref);
  g_free (self->rounds);
  g_free (self);
}

/**
 * ir_run_control_begin_by:
 * @self: a control that no run has now
 * @first: how the next run begins, and those after it
 */
void
ir_run_control_begin_by (IrRunControl *self, IrRunCommand first)
{
  self->setup.first = first;
}

/**
 * ir_run_control_set_breaks:
 * @self: a control
 * @breaks: (element-type IrRunBreak): any of them stops; from the next node on
 *
 * From any thread.
 */
void
ir_run_control_set_breaks (IrRunControl *self, GPtrArray *breaks)
{
  GPtrArray *copy = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_run_break_unref);

  for (guint i = 0; i < breaks->len; i++)
    g_ptr_array_add (copy, ir_run_break_ref (breaks->pdata[i]));
  g_mutex_lock (&self->lock);
  GPtrArray *old = g_steal_pointer (&self->breaks);
  self->breaks = copy;
  g_atomic_int_set (&self->n_breaks, (gint) copy->len);
  g_mutex_unlock (&self->lock);
  g_ptr_array_unref (old);
}

/**
 * ir_run_control_set_divergences:
 * @self: a control of a run that has not begun
 * @divergences: value id -> text: values of the graph that runs which are not what the original graph
 *   has there; referenced
 *
 * What breakpoints with %IR_RUN_BREAK_ORIGINAL stop at.
 */
void
ir_run_control_set_divergences (IrRunControl *self, GHashTable *divergences)
{
  g_clear_pointer (&self->divergences, g_hash_table_unref);
  self->divergences = g_hash_table_ref (divergences);
}

/**
 * ir_run_control_go:
 * @self: a control
 * @command: how the run that stands goes on
 *
 * From any thread, also in the function that was told that the run stands.
 */
void
ir_run_control_go (IrRunControl *self, IrRunCommand command)
{
  g_mutex_lock (&self->lock);
  self->next = command;
  self->is_told = TRUE;
  if (self->waits)
    g_cond_signal (&self->told);
  g_mutex_unlock (&self->lock);
}

/**
 * ir_run_control_pause:
 * @self: a control
 *
 * Stops the run before its next node. From any thread.
 */
void
ir_run_control_pause (IrRunControl *self)
{
  g_atomic_int_set (&self->pause, 1);
}

/**
 * ir_run_control_value:
 * @self: a control whose run stands
 * @value: a value of its model
 * @error: return location for an error
 *
 * Returns: (transfer full) (nullable): what @value holds now, in the layout of the graph; %NULL without
 *   an error: it has not been computed, or was read for the last time
 */
IrTensor *
ir_run_control_value (IrRunControl *self, const IrValue *value, GError **error)
{
  const IrTensor *tensor = ir_run_state_tensor (self->state, value);

  if (tensor == NULL || may_be_gone (self, value, tensor))
    return ir_run_value (self->state->run, value->id) != NULL
               ? ir_tensor_ref (ir_run_value (self->state->run, value->id))
               : NULL;
  g_autoptr (IrTensor) plain = ir_run_state_plain (self->state, value, tensor, error);
  if (plain == NULL || ir_tensor_is_container (plain) || ir_tensor_dtype (plain) == IR_DTYPE_STRING)
    return g_steal_pointer (&plain);
  return ir_tensor_copy (plain, error);
}

/**
 * ir_run_control_snapshot:
 * @self: a control whose run stands, or has just run a node
 *
 * Returns: (transfer full): the run so far, with what it has kept; it does not change as the run goes
 *   on
 */
IrRun *
ir_run_control_snapshot (IrRunControl *self)
{
  return ir_run_state_snapshot (self->state, self->state->n_done + self->after);
}

/**
 * ir_run_control_observer:
 * @self: (nullable): a control
 *
 * Returns: (transfer none) (nullable): how the runner knows it
 */
IrObserver *
ir_run_control_observer (IrRunControl *self)
{
  return self != NULL ? &self->observer : NULL;
}

/**
 * ir_run_control_watch:
 * @self: a control whose run has not begun
 * @other: (nullable): who looks on, too
 * @found: (nullable): what it says of a node that has just run; (transfer full) (nullable)
 */
void
ir_run_control_watch (IrRunControl *self,
                      IrObserver *other,
                      char *(*found) (IrObserver *other, const IrNode *node))
{
  self->other = other;
  self->found = found;
}

/**
 * ir_run_control_watcher:
 * @self: a control
 *
 * Returns: (transfer none) (nullable): who looks on, too
 */
IrObserver *
ir_run_control_watcher (IrRunControl *self)
{
  return self->other;
}
