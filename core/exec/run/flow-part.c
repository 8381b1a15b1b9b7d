/* Some iterations of a loop, seen once more: the recorder of a part hears what happens from a checkpoint on, and counts
 * events from where they were then. */
#include "config.h"

#include "core/exec/run/flow-log-private.h"

#include <string.h>

/* -- while it is played -- */

static IrFlowPlace *
top (const IrFlowLog *part)
{
  return &g_array_index (part->places, IrFlowPlace, part->places->len - 1);
}

/* How many of the events outside of loops there were before the part */
static guint
count_outside (const IrFlowLog *part)
{
  const GArray *outside = part->whole->outside;
  guint n = 0;

  while (n < outside->len &&
         g_array_index (outside, IrFlowEvent, n).index < part->observer.n_events)
    n++;
  return n;
}

/* What happened outside before the part; where it has the beginning of its loop, what came right before is of it. Else the
 * loop is where its iteration before the first has ended. */
static void
fill_before (IrFlowLog *part)
{
  const GArray *outside = part->whole->outside;
  const guint n = count_outside (part);
  guint n_kept = 0;

  while (part->first == 0 && n_kept < n &&
         g_array_index (outside, IrFlowEvent, n - 1 - n_kept).index + n_kept + 1 ==
             part->observer.n_events)
    n_kept++;
  g_array_append_vals (part->before, outside->data, n - n_kept);
  g_array_append_vals (part->events, &g_array_index (outside, IrFlowEvent, n - n_kept), n_kept);
  if (part->first == 0)
    return;
  const IrFlowPlace *place = top (part);
  const IrFlowEvent entered = { part->observer.n_events,
                                IR_FLOW_ENTERED,
                                part->part_of,
                                place->path,
                                place->name,
                                part->first - 1,
                                -1 };
  g_array_append_val (part->before, entered);
}

/* From what its executor tells first; before that others may have run. */
static gboolean
hears_tokens (IrFlowLog *part, const IrFlowTell *tell)
{
  if (part->is_deaf && tell->frame != NULL && tell->owner->id == part->owner)
    {
      part->is_deaf = FALSE;
      ir_flow_log_push (part, top (part)->path, "", 0);
    }
  return !part->is_deaf;
}

/* Whether @log, if it is a part, has begun, and its loop was not left. It begins where that comes to its first iteration, of
 * which it goes on. */
gboolean
ir_flow_part_hears (IrFlowLog *log, const IrFlowTell *tell)
{
  if (log->whole == NULL)
    return TRUE;
  if (log->owner != 0)
    return hears_tokens (log, tell);
  if (log->was_left)
    return FALSE;
  if (log->is_deaf && tell->frame == NULL && tell->node->id == log->part_of &&
      tell->iteration == log->from && (tell->kind == IR_FLOW_ENTERED || tell->kind == IR_FLOW_NEXT))
    {
      log->is_deaf = FALSE;
      if (tell->kind == IR_FLOW_NEXT)
        ir_flow_log_push (log, ir_flow_log_intern (log, g_strdup (log->part_name)), log->part_name,
                          tell->iteration);
    }
  if (log->filter.to == 0 && tell->frame == NULL && tell->node->id == log->part_of &&
      tell->iteration == log->first)
    {
      log->filter.to = log->observer.n_events + log->max_events;
      fill_before (log);
    }
  return !log->is_deaf;
}

/* A part of tokens begins, and these lie there. */
void
ir_flow_part_stand (IrFlowLog *part, const GArray *tokens)
{
  if (part->owner == 0)
    return;
  part->filter.to = part->observer.n_events + part->max_events;
  g_array_append_vals (part->before, part->whole->outside->data, count_outside (part));
  part->tokens = g_array_copy ((GArray *) tokens);
  for (guint i = 0; i < tokens->len; i++)
    {
      IrFlowToken *token = &g_array_index (part->tokens, IrFlowToken, i);
      token->frame = ir_flow_log_intern (part, g_strdup (token->frame));
    }
}

/* -- its loop -- */

static const IrFlowLog *
whole_of (const IrFlowLog *log)
{
  return log->whole != NULL ? log->whole : log;
}

static const IrFlowStart *
start_of (const IrFlowLog *log, IrNodeId loop)
{
  const GArray *starts = whole_of (log)->starts;

  for (guint i = 0; i < starts->len; i++)
    if (g_array_index (starts, IrFlowStart, i).loop == loop)
      return &g_array_index (starts, IrFlowStart, i);
  return NULL;
}

/**
 * ir_flow_log_outer_loop:
 * @log: a log of a run
 * @name: of a loop, as ir_flow_log_frames() has it
 *
 * Returns: the node of which it is, of a frame of tokens its LoopCond, if it is in no other and was entered once, so that
 *   its iterations can be made again one by one; 0: it is not
 */
IrNodeId
ir_flow_log_outer_loop (const IrFlowLog *log, const char *name)
{
  const GArray *starts = whole_of (log)->starts;
  const IrModel *model = ir_flow_log_model (log);
  IrNodeId found = 0;

  for (guint i = 0; model != NULL && i < starts->len; i++)
    {
      const IrFlowStart *start = &g_array_index (starts, IrFlowStart, i);
      const IrNode *node = *start->name != '\0' ? ir_model_live_node (model, start->loop) : NULL;
      if (node == NULL || strcmp (start->name, name) != 0)
        continue;
      if (found != 0 || node->graph->kind == IR_GRAPH_FUNCTION)
        return 0;
      found = node->id;
    }
  return found;
}

/**
 * ir_flow_log_loop_name:
 * @log: a log of a run
 * @loop: by ir_flow_log_outer_loop()
 *
 * Returns: (transfer none): its name, as ir_flow_log_frames() has it
 */
const char *
ir_flow_log_loop_name (const IrFlowLog *log, IrNodeId loop)
{
  const IrFlowStart *start = start_of (log, loop);

  return start != NULL ? start->name : "";
}

/**
 * ir_flow_log_moves_tokens:
 * @log: a log of a run
 * @loop: by ir_flow_log_outer_loop()
 *
 * Returns: whether @loop is a frame of tokens, of which several iterations may be in flight
 */
gboolean
ir_flow_log_moves_tokens (const IrFlowLog *log, IrNodeId loop)
{
  const IrNode *node = loop != 0 ? ir_model_live_node (ir_flow_log_model (log), loop) : NULL;

  return node != NULL && ir_node_tokens (node) == IR_TOKENS_LOOP_COND;
}

/* -- parts -- */

/**
 * ir_flow_log_new_part:
 * @whole: the log of a run
 * @loop: by ir_flow_log_outer_loop()
 * @from: (nullable): the checkpoint from which it goes on; %NULL: its beginning
 * @first: the first iteration that is kept
 * @last: the last iteration that is played
 * @max_events: so many are kept
 *
 * Returns: (transfer full): a log that is to see the run again, from @from on: ir_flow_log_observer()
 */
IrFlowLog *
ir_flow_log_new_part (IrFlowLog *whole,
                      IrNodeId loop,
                      const IrCheckpoint *from,
                      gint64 first,
                      gint64 last,
                      guint max_events)
{
  const IrFlowFilter none = { .to = 0, .iteration = -1 }; /* until it comes there */
  const IrNode *node = ir_model_live_node (whole->model, loop);
  const IrNodeId owner = ir_flow_log_moves_tokens (whole, loop) ? node->graph->owner : 0;
  const IrFlowStart *start = start_of (whole, owner != 0 ? owner : loop);
  IrFlowLog *part = ir_flow_log_new (&none);

  part->whole = ir_flow_log_ref (whole);
  part->part_of = loop;
  part->part_name = ir_flow_log_loop_name (whole, loop);
  part->owner = owner;
  part->from = from != NULL ? from->iteration : 0;
  part->first = first;
  part->last = last;
  part->max_events = max_events;
  part->is_deaf = TRUE;
  part->observer.n_events = from != NULL ? from->n_events : start != NULL ? start->index : 0;
  ir_flow_log_push (part, ir_flow_log_intern (part, g_strdup ("")), "", 0);
  return part;
}

/**
 * ir_flow_log_observer:
 *
 * Returns: (transfer none): what is to see the run
 */
IrObserver *
ir_flow_log_observer (IrFlowLog *log)
{
  return &log->observer;
}

/**
 * ir_flow_log_end_part:
 * @part: a log of a part, which has seen it
 * @values: (transfer full): the statistics of its iterations
 */
void
ir_flow_log_end_part (IrFlowLog *part, IrIterationValues *values)
{
  const GArray *outside = part->whole->outside;
  guint64 next = part->observer.n_events;

  part->values = values;
  if (part->owner != 0) /* others that were in flight are there in part */
    ir_iteration_values_cut (values, part->part_name, part->first, part->last);
  if (!part->was_left || next > part->filter.to)
    return;
  part->last = G_MAXINT64;
  for (guint i = 0; i < outside->len; i++)
    if (g_array_index (outside, IrFlowEvent, i).index == next)
      {
        g_array_append_val (part->events, g_array_index (outside, IrFlowEvent, i));
        next++;
      }
}

/**
 * ir_flow_log_part_series:
 * @log: a log
 * @value: id of a value
 *
 * Returns: (transfer none) (nullable) (element-type IrSeriesPoint): those of single iterations that a part has; %NULL: it
 *   has none, or is no part
 */
const GArray *
ir_flow_log_part_series (const IrFlowLog *log, IrValueId value)
{
  return log->values != NULL ? ir_iteration_values_series (log->values, value) : NULL;
}

/**
 * ir_flow_log_whole:
 *
 * Returns: (transfer none): the log of which it is a part, or itself
 */
IrFlowLog *
ir_flow_log_whole (IrFlowLog *log)
{
  return log->whole != NULL ? log->whole : log;
}

/**
 * ir_flow_log_before:
 * @log: a log of a part
 *
 * Returns: (transfer none) (element-type IrFlowEvent): what led to its first event, outside of loops
 */
const GArray *
ir_flow_log_before (const IrFlowLog *log)
{
  return log->before;
}

/**
 * ir_flow_log_tokens:
 * @log: a log of a part
 *
 * Returns: (transfer none) (nullable) (element-type IrFlowToken): all that lay there before its first event where tokens
 *   move, but what comes of ir_flow_log_before(); %NULL: its loop has a body
 */
const GArray *
ir_flow_log_tokens (const IrFlowLog *log)
{
  return log->tokens;
}

/**
 * ir_flow_log_token_graph:
 * @log: a log of a part
 *
 * Returns: (transfer none) (nullable): the graph of the model that ran in which its tokens move
 */
const IrGraph *
ir_flow_log_token_graph (const IrFlowLog *log)
{
  return log->owner != 0 ? ir_model_node (ir_flow_log_model (log), log->part_of)->graph : NULL;
}

/**
 * ir_flow_log_first_round:
 * @log: a log
 * @loop: name of a loop that is in no other
 *
 * Returns: the first iteration that there is of it: 0, but of a part
 */
gint64
ir_flow_log_first_round (const IrFlowLog *log, const char *loop)
{
  return log->whole != NULL && strcmp (log->part_name, loop) == 0 ? log->first : 0;
}

static guint
most_in_flight (const IrFlowLog *log, const char *loop)
{
  const GArray *frames = whole_of (log)->frames;

  for (guint i = 0; i < frames->len; i++)
    if (strcmp (g_array_index (frames, IrFlowFrame, i).name, loop) == 0)
      return g_array_index (frames, IrFlowFrame, i).most_in_flight;
  return 1;
}

/**
 * ir_flow_log_rounds:
 * @log: a log
 * @loop: by ir_flow_log_outer_loop()
 * @first: (out): the first iteration of which it has all events, up to the limit of a part
 * @last: (out): the last one; %G_MAXINT64: up to the end
 *
 * Returns: %FALSE if it has none
 */
gboolean
ir_flow_log_rounds (const IrFlowLog *log, IrNodeId loop, gint64 *first, gint64 *last)
{
  const char *name = ir_flow_log_loop_name (log, loop);

  *first = log->whole != NULL ? log->first : 0;
  *last = log->whole != NULL ? log->last : G_MAXINT64;
  if (log->whole != NULL || log->events->len == log->observer.n_events)
    return log->whole == NULL || log->part_of == loop;
  for (guint i = log->events->len; i-- > 0;)
    {
      const IrFlowEvent *event = &g_array_index (log->events, IrFlowEvent, i);
      if (event->kind != IR_FLOW_NEXT || strcmp (event->frame, name) != 0)
        continue;
      *last = event->iteration - most_in_flight (log, name);
      return *last >= 0;
    }
  return FALSE;
}

/**
 * ir_flow_log_has_round:
 * @log: a log
 * @loop: by ir_flow_log_outer_loop()
 * @iteration: one of its iterations
 *
 * Returns: whether it has all events of it, up to the limit of a part
 */
gboolean
ir_flow_log_has_round (const IrFlowLog *log, IrNodeId loop, gint64 iteration)
{
  gint64 first, last;

  return ir_flow_log_rounds (log, loop, &first, &last) && iteration >= first && iteration <= last;
}
