/* The events up to one are played once more, on tokens alone: each event takes what its node reads in that
 * iteration, and lays down what it gives. What a body reads from around stays where it is. */
#include "config.h"

#include "core/exec/run/flow-state.h"

#include "core/exec/lower/lower.h"
#include "core/exec/run/iteration-name.h"
#include "core/exec/run/iterations.h"
#include "core/exec/run/loop-table.h"
#include "core/op/op.h"

#include <string.h>

#define MOST_IN_FLIGHT 64 /* iterations for which it is remembered what a Merge took */

typedef struct
{
  const char *frame;
  gint64 iteration;
} Place;

struct _IrFlowState
{
  IrFlowLog *log;
  const IrModel *model;
  GArray **waiting;  /* by reader, 0: outputs; (nullable) of IrFlowToken */
  IrFlowNote *notes; /* by node */
  GArray **
      merged; /* by node, (nullable) of Place: where it was merged last; what comes later has lost */
  GHashTable *paths;    /* set of (owned) char *: frames around others, and in them */
  GHashTable *dead;     /* set of char * of @paths: frames that dead tokens entered */
  GHashTable *constant; /* frame -> GArray of IrNodeId: readers of what is constant in it */
  guint n_ends;         /* frames that are over */
  guint n_done;         /* events */
};

static gboolean
same_place (Place a, const IrFlowToken *token)
{
  return a.iteration == token->iteration &&
         (a.frame == token->frame || strcmp (a.frame, token->frame) == 0);
}

static Place
place_of (const IrFlowEvent *event)
{
  return (Place){ event->frame, event->iteration };
}

/* @path: (transfer full) */
static const char *
intern (IrFlowState *state, char *path)
{
  gpointer found;

  if (g_hash_table_lookup_extended (state->paths, path, &found, NULL))
    {
      g_free (path);
      return found;
    }
  g_hash_table_add (state->paths, path);
  return path;
}

/* "outer@3/inner" is entered from iteration 3 of "outer". */
static Place
place_around (IrFlowState *state, const IrFlowEvent *event)
{
  const gsize length = strlen (event->frame), own = strlen (event->loop);
  g_autofree char *outer = g_strndup (event->frame, length > own ? length - own - 1 : 0);
  char *at = strrchr (outer, '@');
  const gint64 iteration = at != NULL ? g_ascii_strtoll (at + 1, NULL, 10) : 0;

  if (at != NULL)
    *at = '\0';
  return (Place){ intern (state, g_steal_pointer (&outer)), iteration };
}

/* Where a dead token enters @node's frame; of a live one the event says it. */
static Place
place_inside (IrFlowState *state, const IrNode *node, const IrFlowEvent *event)
{
  const char *name = ir_node_attr_string (node, "frame_name", "");

  return (Place){ intern (state, *event->frame == '\0'
                                     ? g_strdup (name)
                                     : g_strdup_printf ("%s@%" G_GINT64_FORMAT "/%s", event->frame,
                                                        event->iteration, name)),
                  0 };
}

/* -- tokens -- */

/* Of one value, or of all where @value is 0. @all: what stays, too */
static void
take (IrFlowState *state, IrNodeId reader, IrValueId value, Place place, gboolean all)
{
  GArray *tokens = state->waiting[reader];
  guint kept = 0;

  for (guint i = 0; tokens != NULL && i < tokens->len; i++)
    {
      const IrFlowToken token = g_array_index (tokens, IrFlowToken, i);
      if ((token.stays && !all) || (value != 0 && token.value != value) ||
          !same_place (place, &token))
        g_array_index (tokens, IrFlowToken, kept++) = token;
    }
  if (tokens != NULL)
    g_array_set_size (tokens, kept);
}

static gboolean
has_merged (const IrFlowState *state, IrNodeId reader, const IrFlowToken *token)
{
  const GArray *places = state->merged[reader];

  for (guint i = 0; places != NULL && i < places->len; i++)
    if (same_place (g_array_index (places, Place, i), token))
      return TRUE;
  return FALSE;
}

static void
note_merged (IrFlowState *state, IrNodeId node, Place place)
{
  if (state->merged[node] == NULL)
    state->merged[node] = g_array_new (FALSE, FALSE, sizeof (Place));
  if (state->merged[node]->len == MOST_IN_FLIGHT)
    g_array_remove_index (state->merged[node], 0);
  g_array_append_val (state->merged[node], place);
}

static void
note_constant (IrFlowState *state, const char *frame, IrNodeId reader)
{
  GArray *readers = g_hash_table_lookup (state->constant, frame);

  if (readers == NULL)
    g_hash_table_insert (state->constant, (gpointer) frame,
                         readers = g_array_new (FALSE, FALSE, sizeof (IrNodeId)));
  g_array_append_val (readers, reader);
}

/* What is constant in a frame goes with it. */
static void
end_frame (IrFlowState *state, const char *frame)
{
  const GArray *readers = g_hash_table_lookup (state->constant, frame);

  for (guint i = 0; readers != NULL && i < readers->len; i++)
    take (state, g_array_index (readers, IrNodeId, i), 0, (Place){ frame, 0 }, TRUE);
  g_hash_table_remove (state->constant, frame);
  g_hash_table_remove (state->dead, frame);
}

static void
lay (IrFlowState *state, IrNodeId reader, const IrFlowToken *token)
{
  const Place place = { token->frame, token->iteration };

  if (has_merged (state, reader, token))
    return;
  if (state->waiting[reader] == NULL)
    state->waiting[reader] = g_array_new (FALSE, FALSE, sizeof (IrFlowToken));
  take (state, reader, token->value, place, TRUE);
  if (token->stays)
    note_constant (state, token->frame, reader);
  g_array_append_val (state->waiting[reader], *token);
  g_array_index (state->waiting[reader], IrFlowToken, state->waiting[reader]->len - 1)
      .reader = reader;
}

static void
give (IrFlowState *state, const IrValue *value, Place place, gboolean is_dead, gboolean stays)
{
  const IrFlowToken token = { .value = value != NULL ? value->id : 0,
                              .state = is_dead ? IR_TOKEN_DEAD : IR_TOKEN_LIVE,
                              .stays = stays,
                              .frame = place.frame,
                              .iteration = place.iteration };

  for (guint i = 0; value != NULL && i < value->n_uses; i++)
    lay (state, ir_value_use (value, i).node != NULL ? ir_value_use (value, i).node->id : 0,
         &token);
}

static void
give_all (IrFlowState *state, const IrNode *node, Place place, gboolean is_dead)
{
  for (guint i = 0; i < node->n_outputs; i++)
    give (state, node->outputs[i], place, is_dead, FALSE);
}

/* What is left over of an iteration, in the graphs of @node and in those inside of them. @anew: another begins,
 * of whose nodes nothing is told yet */
static void
sweep (IrFlowState *state, const IrNode *node, Place place, gboolean anew)
{
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);

  for (guint i = 0; i < graphs->len; i++)
    {
      const IrGraph *graph = g_ptr_array_index (graphs, i);
      g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph);
      for (guint k = 0; graph->outputs != NULL && k < graph->outputs->n; k++)
        take (state, 0, graph->outputs->ids[k], place, TRUE);
      for (guint k = 0; k < nodes->len; k++)
        {
          const IrNode *inside = g_ptr_array_index (nodes, k);
          take (state, inside->id, 0, place, TRUE);
          if (anew)
            state->notes[inside->id] = (IrFlowNote){ NULL };
          sweep (state, inside, place, anew);
        }
    }
}

/* -- what events do -- */

static gboolean
owns_body (const IrNode *node)
{
  return ir_node_attr_graph (node, "body") != NULL;
}

static void
begin_round (IrFlowState *state, const IrNode *node, Place place)
{
  const IrGraph *body = ir_node_attr_graph (node, "body");

  for (guint i = 0; body->inputs != NULL && i < body->inputs->n; i++)
    give (state, ir_model_value (state->model, body->inputs->ids[i]), place, FALSE, FALSE);
}

static void
play_body (IrFlowState *state, const IrNode *node, const IrFlowEvent *event)
{
  Place place = place_of (event);

  if (event->kind == IR_FLOW_ENTERED)
    take (state, node->id, 0, place_around (state, event), FALSE);
  if (event->kind == IR_FLOW_EXITED)
    sweep (state, node, place, FALSE);
  if (event->kind == IR_FLOW_NEXT)
    sweep (state, node, (Place){ place.frame, place.iteration - 1 }, TRUE);
  if (event->kind != IR_FLOW_EXITED)
    begin_round (state, node, place);
}

static void
enter (IrFlowState *state, const IrNode *node, const IrFlowEvent *event)
{
  take (state, node->id, 0, place_around (state, event), FALSE);
  give (state, node->outputs[0], place_of (event), FALSE,
        ir_node_attr_int (node, "is_constant", 0) != 0);
}

static void
leave (IrFlowState *state, const IrNode *node, const IrFlowEvent *event)
{
  take (state, node->id, 0, place_of (event), FALSE);
  give_all (state, node, place_around (state, event), FALSE);
}

/* A dead token ends at a NextIteration, and at an Exit but of a loop that is dead as a whole. */
static void
die (IrFlowState *state, const IrNode *node, const IrFlowEvent *event)
{
  const IrTokens rule = ir_node_tokens (node);
  Place place = place_of (event);

  take (state, node->id, 0, place, FALSE);
  if (rule == IR_TOKENS_ENTER)
    {
      place = place_inside (state, node, event);
      g_hash_table_add (state->dead, (gpointer) place.frame);
      give (state, node->outputs[0], place, TRUE, ir_node_attr_int (node, "is_constant", 0) != 0);
    }
  else if (rule == IR_TOKENS_EXIT && g_hash_table_contains (state->dead, event->frame))
    give_all (state, node, place_around (state, event), TRUE);
  else if (rule != IR_TOKENS_NEXT_ITERATION && rule != IR_TOKENS_EXIT)
    give_all (state, node, place, TRUE);
}

static void
wait_for_room (IrFlowState *state, const IrNode *node, Place place)
{
  GArray *tokens = state->waiting[node->id];

  for (guint i = 0; tokens != NULL && i < tokens->len; i++)
    if (same_place (place, &g_array_index (tokens, IrFlowToken, i)))
      g_array_index (tokens, IrFlowToken, i).state = IR_TOKEN_WAITS;
}

static void
choose (IrFlowState *state, const IrNode *node, gint slot)
{
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);
  const IrGraph *chosen = ir_node_attr_graph (node, slot > 0 ? "then_branch" : "else_branch");

  for (guint i = 0; i < graphs->len; i++)
    {
      g_autoptr (GPtrArray) nodes = ir_graph_nodes (g_ptr_array_index (graphs, i));
      for (guint k = 0; k < nodes->len; k++)
        state->notes[((const IrNode *) g_ptr_array_index (nodes, k))->id]
            .is_passed_by = slot >= 0 && g_ptr_array_index (graphs, i) != chosen;
    }
}

static void
move_tokens (IrFlowState *state, const IrNode *node, const IrFlowEvent *event)
{
  const Place place = place_of (event);

  take (state, node->id, 0, place, FALSE);
  for (guint i = 0; i < node->n_outputs; i++)
    give (state, node->outputs[i], place,
          event->kind == IR_FLOW_FIRED && ir_node_tokens (node) == IR_TOKENS_SWITCH &&
              (gint) i != event->slot,
          FALSE);
}

static void
fire (IrFlowState *state, const IrNode *node, const IrFlowEvent *event)
{
  const Place place = place_of (event);

  switch (event->kind)
    {
    case IR_FLOW_ENTERED:
      enter (state, node, event);
      break;
    case IR_FLOW_NEXT:
      take (state, node->id, 0, (Place){ place.frame, place.iteration - 1 }, FALSE);
      give_all (state, node, place, FALSE);
      break;
    case IR_FLOW_EXITED:
      leave (state, node, event);
      break;
    case IR_FLOW_DEFERRED:
      wait_for_room (state, node, place);
      break;
    case IR_FLOW_CALLED:
      choose (state, node, event->slot);
      break;
    case IR_FLOW_RETURNED:
      sweep (state, node, place, FALSE);
      break;
    case IR_FLOW_MERGED:
      note_merged (state, node->id, place);
      move_tokens (state, node, event);
      break;
    case IR_FLOW_DEAD:
      die (state, node, event);
      break;
    case IR_FLOW_FIRED:
    case IR_N_FLOW_KINDS:
    default:
      move_tokens (state, node, event);
      break;
    }
}

static void
end_frames (IrFlowState *state, guint64 before)
{
  const GArray *ends = ir_flow_log_ends (state->log);

  for (;
       state->n_ends < ends->len && g_array_index (ends, IrFlowEnd, state->n_ends).index <= before;
       state->n_ends++)
    end_frame (state, g_array_index (ends, IrFlowEnd, state->n_ends).frame);
}

static void
play (IrFlowState *state, const IrFlowEvent *event)
{
  const IrNode *node = ir_model_node (state->model, event->node);
  if (node == NULL) /* of the body of a call, which the graph does not have */
    return;
  const gboolean is_turn = event->kind == IR_FLOW_ENTERED || event->kind == IR_FLOW_NEXT ||
                           event->kind == IR_FLOW_EXITED;
  IrFlowNote *note = &state->notes[node->id];

  /* Which branch was called says more than that it came back. */
  if (event->kind != IR_FLOW_RETURNED &&
      (event->kind != IR_FLOW_FIRED || note->event == NULL || note->event->kind != IR_FLOW_CALLED))
    note->event = event;
  end_frames (state, event->index);
  if (is_turn && ir_node_tokens (node) == IR_TOKENS_STRICT && !owns_body (node))
    return; /* a loop of calls: what is in it is of no graph here */
  if (is_turn && owns_body (node))
    play_body (state, node, event);
  else
    fire (state, node, event);
}

/* -- all -- */

static gboolean
is_in (const IrModel *model, const IrNode *node, const IrGraph *graph)
{
  const IrNode *own = node != NULL ? ir_model_live_node (model, node->id) : NULL;

  return own != NULL && own->graph == graph;
}

/* What nodes of the graph of tokens gave each other. */
static void
clear_inside (IrFlowState *state, const IrModel *runs, const IrGraph *graph)
{
  for (IrNodeId id = 0; id < state->model->nodes->len; id++)
    {
      GArray *tokens = state->waiting[id];
      guint kept = 0;
      for (guint i = 0; tokens != NULL && i < tokens->len; i++)
        {
          const IrFlowToken token = g_array_index (tokens, IrFlowToken, i);
          if (!is_in (runs, ir_model_value (state->model, token.value)->producer, graph))
            g_array_index (tokens, IrFlowToken, kept++) = token;
        }
      if (tokens != NULL)
        g_array_set_size (tokens, kept);
    }
}

/* Where tokens move, a part says what lies there, in place of what led to it. */
static void
stand (IrFlowState *state)
{
  const GArray *tokens = ir_flow_log_tokens (state->log);

  if (tokens == NULL)
    return;
  clear_inside (state, ir_flow_log_model (state->log), ir_flow_log_token_graph (state->log));
  for (guint i = 0; i < tokens->len; i++)
    {
      const IrFlowToken *token = &g_array_index (tokens, IrFlowToken, i);
      const Place place = { token->frame, token->iteration };
      const IrNode *node = ir_model_node (state->model, token->reader);
      if (token->reader >= state->model->nodes->len)
        continue; /* of the body of a call */
      if (token->state != IR_TOKEN_TAKEN)
        lay (state, token->reader, token);
      else
        {
          take (state, token->reader, 0, place, FALSE);
          if (ir_node_tokens (node) == IR_TOKENS_MERGE)
            note_merged (state, token->reader, place);
        }
    }
}

static void
begin (IrFlowState *state)
{
  const IrGraph *graph = state->model->main;

  for (guint i = 0; i < state->model->nodes->len; i++)
    {
      if (state->waiting[i] != NULL)
        g_array_set_size (state->waiting[i], 0);
      g_clear_pointer (&state->merged[i], g_array_unref);
    }
  memset (state->notes, 0, state->model->nodes->len * sizeof *state->notes);
  g_hash_table_remove_all (state->constant);
  state->n_ends = 0;
  g_hash_table_remove_all (state->dead);
  state->n_done = 0;
  for (guint i = 0; graph->inputs != NULL && i < graph->inputs->n; i++)
    give (state, ir_model_value (state->model, graph->inputs->ids[i]), (Place){ "", 0 }, FALSE,
          FALSE);
  const GArray *before = ir_flow_log_before (state->log);
  for (guint i = 0; i < before->len; i++)
    play (state, &g_array_index (before, IrFlowEvent, i));
  stand (state);
}

/**
 * ir_flow_state_new:
 * @log: the events of a run from its beginning, or of a part of it, of all loops; its model is not edited as long as the state is there
 *
 * Returns: (transfer full): where the tokens were before the first event
 */
IrFlowState *
ir_flow_state_new (IrFlowLog *log)
{
  IrFlowState *state = g_new0 (IrFlowState, 1);

  state->log = ir_flow_log_ref (log);
  state->model = ir_flow_log_source (log);
  state->waiting = g_new0 (GArray *, state->model->nodes->len);
  state->notes = g_new0 (IrFlowNote, state->model->nodes->len);
  state->merged = g_new0 (GArray *, state->model->nodes->len);
  state->paths = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  state->dead = g_hash_table_new (g_str_hash, g_str_equal);
  state->constant = g_hash_table_new_full (g_str_hash, g_str_equal, NULL,
                                           (GDestroyNotify) g_array_unref);
  begin (state);
  return state;
}

/**
 * ir_flow_state_free:
 * @state: (transfer full) (nullable): a state
 */
void
ir_flow_state_free (IrFlowState *state)
{
  if (state == NULL)
    return;
  for (guint i = 0; i < state->model->nodes->len; i++)
    {
      g_clear_pointer (&state->waiting[i], g_array_unref);
      g_clear_pointer (&state->merged[i], g_array_unref);
    }
  g_free (state->waiting);
  g_free (state->notes);
  g_free (state->merged);
  g_hash_table_unref (state->dead);
  g_hash_table_unref (state->paths);
  g_hash_table_unref (state->constant);
  ir_flow_log_unref (state->log);
  g_free (state);
}

/**
 * ir_flow_state_go:
 * @state: a state
 * @event: which of the events that the log has kept, from 0
 *
 * Goes to behind that event; back from the beginning.
 */
void
ir_flow_state_go (IrFlowState *state, guint event)
{
  const GArray *events = ir_flow_log_events (state->log);
  const guint until = MIN (event + 1, events->len);

  if (until < state->n_done)
    begin (state);
  while (state->n_done < until)
    play (state, &g_array_index (events, IrFlowEvent, state->n_done++));
  if (until > 0 &&
      g_array_index (events, IrFlowEvent, until - 1).index + 1 == ir_flow_log_n_events (state->log))
    end_frames (state, ir_flow_log_n_events (state->log));
}

/**
 * ir_flow_state_event:
 *
 * Returns: (nullable): the event behind which it is; %NULL before the first
 */
const IrFlowEvent *
ir_flow_state_event (const IrFlowState *state)
{
  return state->n_done > 0
             ? &g_array_index (ir_flow_log_events (state->log), IrFlowEvent, state->n_done - 1)
             : NULL;
}

/**
 * ir_flow_state_tokens:
 *
 * Returns: (transfer full) (element-type IrFlowToken): all that lie on edges, by who reads them
 */
GArray *
ir_flow_state_tokens (const IrFlowState *state)
{
  GArray *all = g_array_new (FALSE, FALSE, sizeof (IrFlowToken));

  for (guint i = 0; i < state->model->nodes->len; i++)
    if (state->waiting[i] != NULL && state->waiting[i]->len > 0)
      g_array_append_vals (all, state->waiting[i]->data, state->waiting[i]->len);
  return all;
}

/**
 * ir_flow_state_note:
 *
 * Returns: (nullable): the last that was told of @node; %NULL if the run has no such node
 */
const IrFlowNote *
ir_flow_state_note (const IrFlowState *state, IrNodeId node)
{
  return node < state->model->nodes->len ? &state->notes[node] : NULL;
}

/**
 * ir_flow_state_log:
 *
 * Returns: (transfer none): what it plays
 */
const IrFlowLog *
ir_flow_state_log (const IrFlowState *state)
{
  return state->log;
}

/* -- what tokens hold -- */

/**
 * ir_flow_values:
 * @model: a model
 * @backend: what is to run it
 *
 * Returns: (transfer full) (element-type IrValueId): of what runs, the values of all loops, those in functions too, and
 *   single elements outside
 */
GArray *
ir_flow_values (IrModel *model, const IrBackend *backend)
{
  g_autoptr (IrModel) lowered = ir_exec_lower (model, backend, NULL);
  const IrModel *runs = lowered != NULL ? lowered : model; /* why not, the run says */
  GArray *values = ir_loop_values (runs);

  for (IrValueId id = 1; id < runs->values->len; id++)
    {
      const IrValue *value = ir_model_live_value (runs, id);
      g_autofree char *loop = value != NULL && value->graph == runs->main ? ir_value_loop (value)
                                                                          : NULL;
      guint64 n;

      if (value != NULL && value->graph == runs->main && loop == NULL &&
          ir_type_n_elements (value->type, &n) && n == 1)
        g_array_append_val (values, id);
    }
  return values;
}

static char *
number_text (double value, IrDtype dtype)
{
  return dtype == IR_DTYPE_BOOL ? g_strdup (value != 0 ? "true" : "false")
                                : g_strdup_printf ("%.6g", value);
}

static char *
point_text (const IrSeriesPoint *point, IrDtype dtype)
{
  if (point->n_nan + point->n_inf > 0)
    return g_strdup (point->n_nan > 0 ? "NaN" : "Inf");
  return point->n == 1 ? number_text (point->mean, dtype)
                       : g_strdup_printf ("%.3g … %.3g", point->min, point->max);
}

/* Of a loop that is in no other the point of an iteration stands at its number, from the first on. */
static const IrSeriesPoint *
point_of (const GArray *series, const char *frame, gint64 iteration)
{
  const IrSeriesPoint *points = (const IrSeriesPoint *) (gconstpointer) series->data;

  const gint64 at = series->len > 0 ? iteration - points[0].iteration : -1;

  if (at >= 0 && at < series->len && points[at].iteration == iteration &&
      strcmp (points[at].frame, frame) == 0)
    return &points[at];
  for (guint i = 0; i < series->len; i++)
    if (points[i].iteration == iteration && strcmp (points[i].frame, frame) == 0)
      return &points[i];
  return NULL;
}

/**
 * ir_flow_value_text:
 * @log: a log whose run kept %IR_ITERATIONS_SERIES
 * @value: a value of its model
 * @frame: where it was computed: "outer@3/inner", "" outside
 * @iteration: of @frame
 *
 * Returns: (transfer full) (nullable): one element as a number, of more the least and the largest; %NULL if
 *   the run has not kept it
 */
char *
ir_flow_value_text (const IrFlowLog *log, const IrValue *value, const char *frame, gint64 iteration)
{
  const IrRun *run = ir_flow_log_get_run (log);
  const GArray *series = ir_flow_log_series (log, value->id);
  const IrSeriesPoint *point = series != NULL ? point_of (series, frame, iteration) : NULL;
  const IrTensor *tensor = run != NULL && *frame == '\0' && value->id < run->n_values
                               ? ir_run_value (run, value->id)
                               : NULL;

  if (point != NULL && point->n > 0)
    return point_text (point, ir_value_dtype (ir_model_value (ir_flow_log_model (log), value->id)));
  return tensor != NULL && !ir_tensor_is_container (tensor) && ir_tensor_n_elements (tensor) == 1 &&
                 ir_dtype_kind (ir_tensor_dtype (tensor)) != IR_DTYPE_KIND_STRING
             ? number_text (ir_tensor_get_double (tensor, 0), ir_tensor_dtype (tensor))
             : NULL;
}
