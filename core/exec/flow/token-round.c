/* The executor is followed through one iteration, with all that can come: a Merge that closes a loop runs with the first
 * token, any other when both sides are there, as it is not known which is dead. A loop inside is there as a whole, as soon as
 * all that it is entered by has come. */
#include "config.h"

#include "core/exec/flow/token-round.h"

#include "core/exec/flow/token-private.h"

#define MAX_PARALLEL 1000 /* as the executor has it */

/* What some values have in common, as tokens that are moved on are the same. */
typedef struct
{
  guint64 bytes;
  guint n_readers; /* that are still to come */
} Held;

typedef struct
{
  const IrTokenProgram *program;
  guint32 frame;
  IrTokenRound *round;
  guint32 *pending;   /* by node: tokens that it waits for */
  guint8 *ran;        /* by node: it is in the queue, or was */
  guint32 *entered;   /* by frame: Enters that have run */
  GQueue ready;       /* of node + 1 */
  GHashTable *groups; /* value -> Held; those of moved ones are one */
  GPtrArray *all;     /* (owned) of Held */
  GArray *nexts;      /* of guint32: NextIterations, as they ran */
  guint64 live;
} Round;

static void
round_clear (gpointer data)
{
  IrTokenRound *round = data;

  g_free (round->path);
  g_array_unref (round->steps);
}

static guint64
bytes_of (Round *r, const IrValue *value)
{
  gsize bytes;

  if (ir_value_shown_type (value) != NULL && ir_type_n_bytes (ir_value_shown_type (value), &bytes))
    return bytes;
  r->round->partial = TRUE;
  return 0;
}

static gboolean
closes_loop (const IrTokenNode *merge)
{
  for (guint i = 0; i < merge->n_data; i++)
    if (merge->data[i] != NULL && merge->data[i]->producer != NULL &&
        ir_node_tokens (merge->data[i]->producer) == IR_TOKENS_NEXT_ITERATION)
      return TRUE;
  return FALSE;
}

/* -- who is ready -- */

static void
take (Round *r, guint32 index)
{
  const IrTokenNode *node = &r->program->nodes[index];

  if (r->ran[index])
    return;
  if (r->pending[index] > 0)
    r->pending[index]--;
  if (r->pending[index] > 0 && !(node->rule == IR_TOKENS_MERGE && closes_loop (node)))
    return;
  r->ran[index] = TRUE;
  g_queue_push_tail (&r->ready, GUINT_TO_POINTER (index + 1));
}

static void
hand_on (Round *r, guint32 index)
{
  const IrTokenNode *node = &r->program->nodes[index];

  for (guint i = 0; i < node->n_edges; i++)
    if (node->edges[i].to != IR_TOKEN_OUTPUT &&
        r->program->nodes[node->edges[i].to].frame == r->frame)
      take (r, node->edges[i].to);
}

/* -- what is held -- */

static guint
count_readers (const Round *r, const IrTokenNode *node, guint slot)
{
  guint n = 0;

  for (guint i = 0; i < node->n_edges; i++)
    n += node->edges[i].from_slot == slot && node->edges[i].to != IR_TOKEN_OUTPUT &&
         r->program->nodes[node->edges[i].to].frame == r->frame;
  return n;
}

/* Each output is there, as what @node moves on or by itself. @moved: (nullable) */
static void
hold (Round *r, const IrTokenNode *node, Held *moved)
{
  for (guint i = 0; i < node->node->n_outputs; i++)
    {
      const IrValue *value = node->node->outputs[i];
      Held *held = moved;
      if (value == NULL)
        continue;
      if (held == NULL)
        {
          held = g_new0 (Held, 1);
          g_ptr_array_add (r->all, held);
          held->bytes = bytes_of (r, value);
          r->live += held->bytes;
        }
      held->n_readers += count_readers (r, node, i);
      g_hash_table_insert (r->groups, (gpointer) value, held);
    }
}

static void
let_go (Round *r, Held *held)
{
  if (held->n_readers > 0)
    return;
  r->live -= held->bytes;
  held->bytes = 0;
}

static void
let_inputs_go (Round *r, const IrTokenNode *node)
{
  for (guint i = 0; i < node->n_data; i++)
    {
      Held *held = node->data[i] != NULL ? g_hash_table_lookup (r->groups, node->data[i]) : NULL;
      if (held == NULL)
        continue;
      held->n_readers -= held->n_readers > 0;
      let_go (r, held);
    }
}

static void
let_outputs_go (Round *r, const IrTokenNode *node)
{
  for (guint i = 0; i < node->node->n_outputs; i++)
    {
      Held *held = node->node->outputs[i] != NULL
                       ? g_hash_table_lookup (r->groups, node->node->outputs[i])
                       : NULL;
      if (held != NULL)
        let_go (r, held);
    }
}

/* -- the iteration -- */

/* What a loop inside gives is there. */
static void
leave (Round *r, guint32 inner)
{
  const IrTokenProgram *program = r->program;

  for (guint32 i = 0; i < program->n_nodes; i++)
    if (program->nodes[i].rule == IR_TOKENS_EXIT && program->nodes[i].frame == inner)
      {
        hold (r, &program->nodes[i], NULL);
        hand_on (r, i);
      }
}

/* (nullable) Of the token that @node moves on */
static Held *
moved_by (const Round *r, const IrTokenNode *node)
{
  if (node->rule == IR_TOKENS_STRICT || node->rule == IR_TOKENS_CONTROL_TRIGGER)
    return NULL;
  for (guint i = 0; i < node->n_data; i++)
    if (node->data[i] != NULL && g_hash_table_contains (r->groups, node->data[i]) &&
        (node->rule == IR_TOKENS_MERGE || node->data[i] == node->node->inputs[0]))
      return g_hash_table_lookup (r->groups, node->data[i]);
  return NULL;
}

static void
run (Round *r, guint32 index)
{
  const IrTokenNode *node = &r->program->nodes[index];
  const gboolean leads_out = node->rule == IR_TOKENS_ENTER || node->rule == IR_TOKENS_EXIT ||
                             node->rule == IR_TOKENS_NEXT_ITERATION;

  if (!leads_out)
    hold (r, node, moved_by (r, node));
  const IrTokenStep step = { node->node->id, r->live };
  g_array_append_val (r->round->steps, step);
  if (r->live > r->round->peak_bytes)
    {
      r->round->peak_bytes = r->live;
      r->round->at_peak = node->node->id;
    }
  let_inputs_go (r, node);
  if (!leads_out)
    {
      let_outputs_go (r, node);
      hand_on (r, index);
    }
  if (node->rule == IR_TOKENS_NEXT_ITERATION)
    g_array_append_val (r->nexts, index);
  if (node->rule == IR_TOKENS_ENTER &&
      ++r->entered[node->child] == r->program->by_frame[node->child].n_enters)
    leave (r, node->child);
}

static void
run_ready (Round *r)
{
  while (!g_queue_is_empty (&r->ready))
    run (r, GPOINTER_TO_UINT (g_queue_pop_head (&r->ready)) - 1);
}

static void
enter (Round *r, gboolean are_constant)
{
  const IrTokenProgram *program = r->program;

  for (guint32 i = 0; i < program->n_nodes; i++)
    {
      const IrTokenNode *node = &program->nodes[i];
      const IrValue *value = node->node->n_outputs > 0 ? node->node->outputs[0] : NULL;
      if (node->rule != IR_TOKENS_ENTER || node->child != r->frame || value == NULL ||
          node->is_constant != are_constant)
        continue;
      if (node->is_constant)
        r->round->shared_bytes += bytes_of (r, value);
      else
        hold (r, node, NULL);
      hand_on (r, i);
    }
}

/* An iteration. @nexts: (nullable) of guint32: NextIterations of the one before, as they ran: while the next one of them is
 * still to come, what can run does. %NULL: it is the first */
static void
go (Round *r, const GArray *nexts)
{
  const IrTokenProgram *program = r->program;

  for (guint32 i = 0; i < program->n_nodes; i++)
    if (r->pending[i] == 0 && program->nodes[i].frame == r->frame &&
        (r->frame == 0 || program->nodes[i].n_data > 0))
      take (r, i);
  for (guint i = 0; i < program->by_frame[r->frame].fixed->len; i++)
    take (r, g_array_index (program->by_frame[r->frame].fixed, guint32, i));
  enter (r, TRUE);
  if (nexts == NULL)
    enter (r, FALSE);
  for (guint i = 0; nexts != NULL && i < nexts->len; i++)
    {
      const guint32 index = g_array_index (nexts, guint32, i);
      hold (r, &program->nodes[index], NULL);
      hand_on (r, index);
      run_ready (r);
    }
  run_ready (r);
}

/* (transfer full) */
static char *
path_of (const IrFrames *frames, guint32 index)
{
  const IrFrame *frame = &g_array_index (frames->frames, IrFrame, index);
  g_autofree char *around = index != 0 && frame->parent != 0 ? path_of (frames, frame->parent)
                                                             : NULL;

  return around != NULL ? g_strconcat (around, "/", frame->name, NULL)
                        : g_strdup (index != 0 ? frame->name : "");
}

/* (transfer full): the NextIterations, as they ran. @nexts: (nullable) likewise, of the iteration before */
static GArray *
follow (const IrTokenProgram *program, guint32 frame, const GArray *nexts, IrTokenRound *round)
{
  const IrFrame *of = &g_array_index (program->frames->frames, IrFrame, frame);
  Round r = { .program = program, .frame = frame, .round = round };

  *round = (IrTokenRound){ .path = path_of (program->frames, frame),
                           .trips = frame == 0 ? 1 : of->trips,
                           .in_flight = frame == 0 ? 1
                                                   : MIN (of->parallel_iterations, MAX_PARALLEL),
                           .steps = g_array_new (FALSE, FALSE, sizeof (IrTokenStep)) };
  if (round->trips >= 0 && round->in_flight > round->trips + 1)
    round->in_flight = (guint) round->trips + 1; /* the last one finds that it is over */
  r.pending = g_new0 (guint32, program->n_nodes + 1);
  r.ran = g_new0 (guint8, program->n_nodes + 1);
  r.entered = g_new0 (guint32, program->n_frames);
  r.groups = g_hash_table_new (NULL, NULL);
  r.all = g_ptr_array_new_with_free_func (g_free);
  r.nexts = g_array_new (FALSE, FALSE, sizeof (guint32));
  for (guint32 i = 0; i < program->n_nodes; i++)
    {
      const IrTokenNode *node = &program->nodes[i];
      r.pending[i] = node->n_data + node->n_control;
      r.ran[i] = ir_node_is_constant (node->node); /* constants are there, in a model as it is */
      for (guint k = 0; k < node->n_data; k++)
        r.pending[i] -= node->data[k] != NULL && node->data[k]->producer != NULL &&
                        ir_node_is_constant (node->data[k]->producer);
    }
  go (&r, nexts);
  g_hash_table_unref (r.groups);
  g_ptr_array_unref (r.all);
  g_free (r.pending);
  g_free (r.ran);
  g_free (r.entered);
  return r.nexts;
}

/* One that is not the first, where there is one. */
static IrTokenRound
follow_frame (const IrTokenProgram *program, guint32 frame)
{
  IrTokenRound round;
  g_autoptr (GArray) nexts = follow (program, frame, NULL, &round);

  if (nexts->len > 0)
    {
      round_clear (&round);
      g_array_unref (follow (program, frame, nexts, &round));
    }
  return round;
}

static gboolean
is_followed (const IrGraph *graph)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  if (graph == NULL || graph->state != IR_STATE_LIVE || !ir_graph_has_tokens (graph))
    return FALSE;
  ir_graph_report_frames (graph, problems);
  for (guint i = 0; i < problems->len; i++)
    if (((const IrProblem *) problems->pdata[i])->severity == IR_SEVERITY_ERROR)
      return FALSE;
  return TRUE;
}

/**
 * ir_token_rounds:
 * @model: a model, as it is or as it runs
 *
 * Follows one iteration of each frame of the graphs that tokens move through and that have no problem. What stands outside of
 * loops in such a graph is its first, with one iteration.
 *
 * Returns: (transfer full) (element-type IrTokenRound): those around before those inside
 */
GArray *
ir_token_rounds (const IrModel *model)
{
  GArray *rounds = g_array_new (FALSE, FALSE, sizeof (IrTokenRound));

  g_array_set_clear_func (rounds, round_clear);
  for (guint i = 0; i < model->graphs->len; i++)
    {
      const IrGraph *graph = model->graphs->pdata[i];
      IrTokenProgram *program = is_followed (graph) ? ir_token_program_new (graph) : NULL;
      for (guint32 frame = 0; program != NULL && frame < program->n_frames; frame++)
        {
          const IrTokenRound round = follow_frame (program, frame);
          g_array_append_val (rounds, round);
        }
      ir_token_program_unref (program);
    }
  return rounds;
}

/**
 * ir_token_rounds_text:
 * @model: a model
 *
 * Returns: (transfer full): of each loop of tokens a line; "" if there is none
 */
char *
ir_token_rounds_text (const IrModel *model)
{
  g_autoptr (GArray) rounds = ir_token_rounds (model);
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < rounds->len; i++)
    {
      const IrTokenRound *round = &g_array_index (rounds, IrTokenRound, i);
      g_autofree char *line = *round->path != '\0' ? ir_token_round_text (round, model) : NULL;
      if (line != NULL)
        g_string_append_printf (text, "%s%s", text->len > 0 ? "\n" : "", line);
    }
  return g_string_free (text, FALSE);
}

/**
 * ir_token_round_text:
 * @round: one iteration of a frame
 * @model: its model
 *
 * Returns: (transfer full): what it is in a line
 */
char *
ir_token_round_text (const IrTokenRound *round, const IrModel *model)
{
  g_autofree char *label = round->at_peak != 0
                               ? ir_node_label (ir_model_node (model, round->at_peak))
                               : NULL;
  GString *text = g_string_new (NULL);

  if (*round->path == '\0')
    g_string_append (text, "tokens outside of loops: ");
  else
    g_string_append_printf (text, "an iteration of %s: ", round->path);
  g_string_append_printf (text, "%u nodes hold %s%" G_GUINT64_FORMAT " bytes at most",
                          round->steps->len, round->partial ? "at least " : "", round->peak_bytes);
  if (label != NULL)
    g_string_append_printf (text, ", at %s", label);
  if (round->shared_bytes > 0)
    g_string_append_printf (text, "; all of them share %" G_GUINT64_FORMAT, round->shared_bytes);
  if (*round->path != '\0')
    g_string_append_printf (text, "; up to %u in flight hold as many times that", round->in_flight);
  return g_string_free (text, FALSE);
}
