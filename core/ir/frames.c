/* Frames and conditions, in one walk along the order of the nodes. What a value is live under is told in
 * predicates that hold within one iteration of its frame; where that cannot be told, by "this very value
 * is live", which nothing excludes. So a condition that asks for nothing is a proof that the value is
 * never dead, and conditions that contradict each other are one that they are never live together.
 *
 * Sources: Yu et al., Dynamic control flow in large-scale machine learning, EuroSys 2018; the states of
 * predicates are those of TensorFlow's functionalize_cond. */
#include "config.h"

#include "core/ir/frames-private.h"

#include "core/ir/hash.h"
#include "core/op/op.h"

#include <string.h>

#define MAX_OUTCOMES 64 /* of a condition; one with more is "this value is live" */
#define NEVER        0  /* the predicate of what contradicts itself */

typedef struct
{
  IrFrames *frames;
  const IrGraph *graph;
  GHashTable *by_name; /* parent and name -> frame + 1 */
  GPtrArray *problems; /* (nullable) */
} Walk;

/* -- conditions -- */

static guint
condition_hash (gconstpointer key)
{
  const IrCondition *condition = key;
  guint64 hash = condition->n;

  for (guint i = 0; i < condition->n; i++)
    hash = ir_mix64 (hash ^ ((guint64) condition->outcomes[i].predicate << 1 |
                             (condition->outcomes[i].outcome != FALSE)));
  return (guint) hash;
}

static gboolean
condition_equal (gconstpointer a, gconstpointer b)
{
  const IrCondition *x = a, *y = b;

  return x->n == y->n && memcmp (x->outcomes, y->outcomes, x->n * sizeof (IrOutcome)) == 0;
}

static const IrCondition *
intern (IrFrames *frames, const IrOutcome *outcomes, guint n)
{
  IrCondition *key = g_malloc0 (sizeof (IrCondition) + n * sizeof (IrOutcome));
  IrCondition *known;

  key->n = n;
  if (n > 0)
    memcpy (key->outcomes, outcomes, n * sizeof (IrOutcome));
  known = g_hash_table_lookup (frames->interned, key);
  if (known == NULL)
    {
      g_hash_table_add (frames->interned, key);
      return key;
    }
  g_free (key);
  return known;
}

static const IrCondition *
always (IrFrames *frames)
{
  return intern (frames, NULL, 0);
}

static const IrCondition *
only (IrFrames *frames, IrValueId predicate, gboolean outcome)
{
  const IrOutcome one = { predicate, outcome };

  return intern (frames, &one, 1);
}

static int
compare_outcomes (const IrOutcome *a, const IrOutcome *b)
{
  return a->predicate != b->predicate ? (a->predicate < b->predicate ? -1 : 1)
                                      : a->outcome - b->outcome;
}

/* Both hold. @stands_for: the value that is live then, where that cannot be told otherwise */
static const IrCondition *
both (IrFrames *frames, const IrCondition *a, const IrCondition *b, IrValueId stands_for)
{
  IrOutcome outcomes[2 * MAX_OUTCOMES];
  guint n = 0, i = 0, k = 0;

  if (a == b || b->n == 0)
    return a;
  if (a->n == 0)
    return b;
  while (i < a->n || k < b->n)
    {
      int order = i == a->n   ? 1
                  : k == b->n ? -1
                              : compare_outcomes (&a->outcomes[i], &b->outcomes[k]);
      outcomes[n] = order <= 0 ? a->outcomes[i] : b->outcomes[k];
      i += order <= 0;
      k += order >= 0;
      if (n > 0 && outcomes[n - 1].predicate == outcomes[n].predicate)
        return only (frames, NEVER, TRUE);
      n++;
    }
  return n <= MAX_OUTCOMES ? intern (frames, outcomes, n) : only (frames, stands_for, TRUE);
}

/**
 * ir_condition_is_never:
 * @condition: a condition
 *
 * Returns: whether it contradicts itself
 */
gboolean
ir_condition_is_never (const IrCondition *condition)
{
  return condition->n > 0 && condition->outcomes[0].predicate == NEVER;
}

/**
 * ir_conditions_exclude:
 * @a: a condition
 * @b: one within the same iteration of the same frame
 *
 * Returns: whether it is proved that they never hold together
 */
gboolean
ir_conditions_exclude (const IrCondition *a, const IrCondition *b)
{
  guint i = 0, k = 0;

  if (ir_condition_is_never (a) || ir_condition_is_never (b))
    return TRUE;
  while (i < a->n && k < b->n)
    {
      IrValueId x = a->outcomes[i].predicate, y = b->outcomes[k].predicate;
      if (x == y && a->outcomes[i].outcome != b->outcomes[k].outcome)
        return TRUE;
      i += x <= y;
      k += y <= x;
    }
  return FALSE;
}

static gboolean
asks_for (const IrCondition *condition, IrOutcome outcome)
{
  for (guint i = 0; i < condition->n; i++)
    if (condition->outcomes[i].predicate == outcome.predicate &&
        condition->outcomes[i].outcome == outcome.outcome)
      return TRUE;
  return FALSE;
}

/* (nullable) The condition that holds if and only if one of the two does */
static const IrCondition *
either (IrFrames *frames, const IrCondition *a, const IrCondition *b)
{
  IrOutcome outcomes[MAX_OUTCOMES];
  guint n = 0;

  if (a->n > b->n)
    return either (frames, b, a);
  if (ir_condition_is_never (a) || ir_condition_is_never (b))
    return ir_condition_is_never (a) ? b : a;
  for (guint i = 0; i < a->n; i++)
    if (asks_for (b, a->outcomes[i]))
      outcomes[n++] = a->outcomes[i];
  if (n == a->n) /* what @b asks for beyond @a changes nothing */
    return a;
  if (a->n != b->n || n + 1 != a->n)
    return NULL;
  return ir_conditions_exclude (a, b) ? intern (frames, outcomes, n) : NULL;
}

/* One of them holds: joined two by two as far as that goes. */
static const IrCondition *
any_of (IrFrames *frames, GPtrArray *list, IrValueId stands_for)
{
  for (guint i = 0; i < list->len; i++)
    for (guint k = 0; k < i; k++)
      {
        const IrCondition *joined = either (frames, list->pdata[i], list->pdata[k]);
        if (joined == NULL)
          continue;
        g_ptr_array_remove_index_fast (list, i);
        list->pdata[k] = (gpointer) joined;
        i = 0; /* begins again, with one less */
        break;
      }
  return list->len == 1 ? list->pdata[0] : only (frames, stands_for, TRUE);
}

/* -- frames -- */

static guint
add_frame (IrFrames *frames, guint parent, const char *name)
{
  IrFrame frame = { .name = name, .parent = parent, .trips = -1, .parallel_iterations = G_MAXUINT };

  frame.depth = frames->frames->len > 0 ? ir_frames_at (frames, parent)->depth + 1 : 0;
  frame.variables = g_array_new (FALSE, FALSE, sizeof (IrLoopVariable));
  frame.invariants = g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  g_array_append_val (frames->frames, frame);
  return frames->frames->len - 1;
}

/* The frame that an Enter leads into. */
static guint
enter_frame (Walk *walk, const IrNode *node, guint parent)
{
  const char *name = ir_context_intern (walk->graph->model->context,
                                        ir_node_attr_string (node, "frame_name", ""));
  g_autofree char *key = g_strdup_printf ("%u %s", parent, name);
  guint index = GPOINTER_TO_UINT (g_hash_table_lookup (walk->by_name, key));

  if (index == 0)
    {
      index = add_frame (walk->frames, parent, name) + 1;
      g_hash_table_insert (walk->by_name, g_steal_pointer (&key), GUINT_TO_POINTER (index));
    }
  return index - 1;
}

/* In which frame those run that read of @node, or wait for it. */
static guint
frame_behind (const IrFrames *frames, const IrNode *node)
{
  guint own = frames->frame_of[node->id];

  if (ir_node_tokens (node) == IR_TOKENS_ENTER)
    return frames->child_of[node->id];
  return ir_node_tokens (node) == IR_TOKENS_EXIT ? ir_frames_at (frames, own)->parent : own;
}

/**
 * ir_value_is_token:
 * @value: (nullable): a value
 * @graph: a graph that it can be seen from
 *
 * Constants, and values of graphs around, are there in every iteration of every frame; a Constant that
 * waits for something is there when that is.
 *
 * Returns: whether @value is of one frame of @graph
 */
gboolean
ir_value_is_token (const IrValue *value, const IrGraph *graph)
{
  if (value == NULL || value->graph != graph || value->initializer != NULL)
    return FALSE;
  return value->producer == NULL || value->producer->controls != NULL ||
         ir_value_constant (value) == NULL;
}

/**
 * ir_node_is_free_constant:
 * @node: a node
 *
 * Returns: whether it gives a constant and waits for nothing, so that it is there in every iteration of every frame
 */
gboolean
ir_node_is_free_constant (const IrNode *node)
{
  return node->n_outputs == 1 && node->outputs[0] != NULL && node->controls == NULL &&
         ir_value_constant (node->outputs[0]) != NULL;
}

/* Where a value comes from, past what forwards it. */
IrValueId
ir_frames_root (const IrFrames *frames, const IrValue *value)
{
  return value->id < frames->n_values && frames->roots[value->id] != 0 ? frames->roots[value->id]
                                                                       : value->id;
}

static void
note_roots (IrFrames *frames, const IrNode *node)
{
  IrTokens rule = ir_node_tokens (node);

  if (node->n_inputs == 0 || node->inputs[0] == NULL ||
      (!ir_node_is (node, "Identity") && rule != IR_TOKENS_LOOP_COND && rule != IR_TOKENS_ENTER &&
       rule != IR_TOKENS_SWITCH))
    return;
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      frames->roots[node->outputs[i]->id] = ir_frames_root (frames, node->inputs[0]);
}

static const IrCondition *
own_condition (const IrFrames *frames, const IrNode *node)
{
  const IrCondition *condition = frames->conditions[node->id];

  return condition != NULL ? condition : always ((IrFrames *) frames);
}

static IrValueId
first_output (const IrNode *node)
{
  return node->n_outputs > 0 && node->outputs[0] != NULL ? node->outputs[0]->id : 0;
}

/**
 * ir_frames_predicate:
 * @frames: frames of a graph
 * @value: what a Switch reads as its predicate
 * @outcome: (inout): what that is to be
 *
 * Returns: the value of which conditions tell, behind what forwards it and behind Not, which turns @outcome round
 */
IrValueId
ir_frames_predicate (const IrFrames *frames, const IrValue *value, gboolean *outcome)
{
  const IrModel *model = frames->graph->model;
  IrValueId root = ir_frames_root (frames, value);
  const IrValue *from = ir_model_live_value (model, root);

  while (from != NULL && from->producer != NULL && ir_node_is (from->producer, "Not") &&
         ir_node_input (from->producer, 0) != NULL)
    {
      root = ir_frames_root (frames, from->producer->inputs[0]);
      from = ir_model_live_value (model, root);
      *outcome = !*outcome;
    }
  return root;
}

static const IrCondition *
has_outcome (const IrFrames *frames, const IrValue *predicate, gboolean outcome)
{
  const IrValueId id = ir_frames_predicate (frames, predicate, &outcome);

  return only ((IrFrames *) frames, id, outcome);
}

/* Whether an Exit leaves its loop as soon as the condition of the loop is false, and only then. */
static gboolean
leaves_with_loop (const IrFrames *frames, const IrNode *node)
{
  const IrFrame *frame = ir_frames_at (frames, frames->frame_of[node->id]);
  const IrNode *cond = ir_model_live_node (frames->graph->model, frame->loop_cond);

  return cond != NULL && frame->n_conds == 1 && ir_node_input (cond, 0) != NULL &&
         own_condition (frames, node) == has_outcome (frames, cond->inputs[0], FALSE);
}

/* Under which those run that read output @slot of @node, or wait for it. */
static const IrCondition *
condition_behind (const IrFrames *frames, const IrNode *node, guint slot, gboolean control)
{
  IrFrames *own = (IrFrames *) frames;
  const IrCondition *condition = own_condition (frames, node);
  const IrFrame *frame = ir_frames_at (frames, frames->frame_of[node->id]);
  IrTokens rule = ir_node_tokens (node);

  if (rule == IR_TOKENS_ENTER) /* on a cycle, it may not have come yet */
    return frames->enter_conditions[node->id] != NULL ? frames->enter_conditions[node->id]
                                                      : always (own);
  if (rule == IR_TOKENS_EXIT && frame->condition != NULL)
    return leaves_with_loop (frames, node) || ir_condition_is_never (frame->condition)
               ? frame->condition
               : only (own, first_output (node), TRUE);
  if (rule != IR_TOKENS_SWITCH || control || node->n_inputs < 2 || node->inputs[1] == NULL)
    return condition;
  return both (own, condition, has_outcome (frames, node->inputs[1], slot != 0),
               node->outputs[slot]->id);
}

/* -- the walk -- */

static void
add_captures (const IrGraph *inner, const IrGraph *graph, GPtrArray *values, GHashTable *seen)
{
  guint n;
  IrNode *const *nodes = ir_graph_order (inner, &n);

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GPtrArray) graphs = ir_node_subgraphs (nodes[i]);
      for (guint k = 0; k < nodes[i]->n_inputs; k++)
        if (nodes[i]->inputs[k] != NULL && nodes[i]->inputs[k]->graph == graph &&
            g_hash_table_add (seen, nodes[i]->inputs[k]))
          g_ptr_array_add (values, nodes[i]->inputs[k]);
      for (guint k = 0; k < graphs->len; k++)
        add_captures (graphs->pdata[k], graph, values, seen);
    }
  for (guint i = 0; i < ir_graph_n_outputs (inner); i++)
    {
      IrValue *value = ir_graph_output (inner, i);
      if (value != NULL && value->graph == graph && g_hash_table_add (seen, value))
        g_ptr_array_add (values, value);
    }
}

/**
 * ir_node_captures:
 * @node: a node
 *
 * Returns: (transfer container) (element-type IrValue): what its subgraphs, and those inside of them,
 *   read of the graph that it is in; each once
 */
GPtrArray *
ir_node_captures (const IrNode *node)
{
  GPtrArray *values = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = NULL;
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);

  for (guint i = 0; i < graphs->len; i++)
    {
      if (seen == NULL)
        seen = g_hash_table_new (NULL, NULL);
      add_captures (graphs->pdata[i], node->graph, values, seen);
    }
  return values;
}

typedef struct
{
  gboolean some, meets; /* @meets: another frame came as well */
  guint frame;
  char *first; /* (nullable) what is of that frame: "input 0 (x)" */
  const IrCondition *condition;
} Place;

static void
report_meeting (Walk *walk, const IrNode *node, const Place *place, const char *other, guint frame)
{
  g_autofree char *label = ir_node_label (node);
  g_autofree char *a = ir_frame_path (walk->frames, place->frame);
  g_autofree char *b = ir_frame_path (walk->frames, frame);
  IrProblem *problem = ir_problems_add (walk->problems, IR_SEVERITY_ERROR, IR_PROBLEM_FRAME, node,
                                        NULL, "%s - two frames meet: %s is of %s, %s of %s", label,
                                        place->first, a, other, b);

  ir_problem_set_hint (problem,
                       "Bring a value into a frame by Enter (is_constant = 1 for all of its "
                       "iterations), and out of it by Exit.");
}

/* @what: (transfer full) */
static void
meet (Walk *walk, const IrNode *node, Place *place, guint frame, char *what)
{
  if (!place->some)
    {
      place->some = TRUE;
      place->frame = frame;
      place->first = what;
      return;
    }
  place->meets |= frame != place->frame;
  if (frame != place->frame && walk->problems != NULL)
    report_meeting (walk, node, place, what, frame);
  g_free (what);
}

static void
meet_value (Walk *walk, const IrNode *node, Place *place, const IrValue *value, const char *how)
{
  if (ir_value_is_token (value, walk->graph))
    meet (walk, node, place, ir_frames_value_frame (walk->frames, value),
          g_strdup_printf ("%s (%s)", how, value->name));
}

/* In which frame a node runs, by all that it waits for but edges of the iteration before. */
static Place
find_place (Walk *walk, const IrNode *node, const GPtrArray *captures)
{
  const IrModel *model = walk->graph->model;
  Place place = { .condition = always (walk->frames) };

  for (guint i = 0; i < node->n_inputs; i++)
    {
      g_autofree char *how = g_strdup_printf ("input %u", i);
      const IrValue *value = node->inputs[i];
      if (value != NULL && (value->producer == NULL || !ir_edge_is_back (value->producer, node)))
        meet_value (walk, node, &place, value, how);
    }
  for (guint i = 0; i < captures->len; i++)
    meet_value (walk, node, &place, captures->pdata[i], "what its graphs read");
  for (guint i = 0; node->controls != NULL && i < node->controls->n; i++)
    {
      const IrNode *before = ir_model_live_node (model, node->controls->ids[i]);
      if (before != NULL && before->graph == node->graph && !ir_node_is_free_constant (before))
        meet (walk, node, &place, frame_behind (walk->frames, before),
              g_strdup_printf ("what it waits for (%s)", before->name));
    }
  g_free (place.first);
  place.first = NULL;
  return place;
}

static const IrCondition *
strict_condition (Walk *walk, const IrNode *node, const GPtrArray *captures)
{
  const IrCondition *condition = always (walk->frames);
  IrValueId own = first_output (node);

  for (guint i = 0; i < node->n_inputs + captures->len; i++)
    {
      const IrValue *value = i < node->n_inputs ? node->inputs[i]
                                                : captures->pdata[i - node->n_inputs];
      if (ir_value_is_token (value, walk->graph))
        condition = both (walk->frames, condition, ir_frames_value_condition (walk->frames, value),
                          own);
    }
  for (guint i = 0; node->controls != NULL && i < node->controls->n; i++)
    {
      const IrNode *before = ir_model_live_node (walk->graph->model, node->controls->ids[i]);
      if (before != NULL && before->graph == node->graph)
        condition = both (walk->frames, condition, condition_behind (walk->frames, before, 0, TRUE),
                          own);
    }
  return condition;
}

static const IrCondition *
merge_condition (Walk *walk, const IrNode *node)
{
  g_autoptr (GPtrArray) list = g_ptr_array_new ();

  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrValue *value = node->inputs[i];
      if (value == NULL || (value->producer != NULL && ir_edge_is_back (value->producer, node)))
        continue;
      const IrCondition *next = ir_value_is_token (value, walk->graph)
                                    ? ir_frames_value_condition (walk->frames, value)
                                    : always (walk->frames);
      if (!g_ptr_array_find (list, next, NULL))
        g_ptr_array_add (list, (gpointer) next);
    }
  return list->len > 0 ? any_of (walk->frames, list, first_output (node)) : always (walk->frames);
}

/* An Enter says of its frame how it is entered. One under another condition than the first is told
 * apart inside: what it brings may be dead while the others' is live. */
static void
note_enter (Walk *walk, const IrNode *node)
{
  IrFrames *frames = walk->frames;
  guint index = enter_frame (walk, node, frames->frame_of[node->id]);
  IrFrame *frame = ir_frames_at (frames, index);
  gint64 parallel = ir_node_attr_int (node, "parallel_iterations", 10);

  frames->child_of[node->id] = index;
  frame->n_enters++;
  frame->parallel_iterations = (guint) MIN ((guint64) MAX (parallel, 1),
                                            frame->parallel_iterations);
  if (ir_node_attr_int (node, "is_constant", 0) != 0)
    g_array_append_val (frame->invariants, node->id);
  if (frame->condition == NULL)
    frame->condition = frames->conditions[node->id];
  frames->enter_conditions[node->id] = frame->condition == frames->conditions[node->id]
                                           ? always (frames)
                                           : only (frames, first_output (node), TRUE);
}

/* Returns: whether all that it waits for is of one frame */
static gboolean
visit (Walk *walk, const IrNode *node)
{
  IrFrames *frames = walk->frames;
  g_autoptr (GPtrArray) captures = ir_node_captures (node);
  const Place place = find_place (walk, node, captures);
  IrTokens rule = ir_node_tokens (node);

  note_roots (frames, node);
  frames->frame_of[node->id] = place.frame;
  frames->conditions[node->id] = rule == IR_TOKENS_MERGE ? merge_condition (walk, node)
                                 : rule == IR_TOKENS_CONTROL_TRIGGER
                                     ? always (frames)
                                     : strict_condition (walk, node, captures);
  if (rule == IR_TOKENS_ENTER)
    note_enter (walk, node);
  if (rule == IR_TOKENS_LOOP_COND)
    {
      IrFrame *frame = ir_frames_at (frames, place.frame);
      if (frame->n_conds++ == 0)
        frame->loop_cond = node->id;
    }
  return !place.meets;
}

/* -- all of it -- */

static IrFrames *
frames_new (const IrGraph *graph, GPtrArray *problems)
{
  IrFrames *frames = g_new0 (IrFrames, 1);
  g_autoptr (GHashTable) by_name = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Walk walk = { frames, graph, by_name, problems };
  guint n;

  frames->graph = graph;
  frames->n_nodes = graph->model->nodes->len;
  frames->frames = g_array_new (FALSE, FALSE, sizeof (IrFrame));
  frames->frame_of = g_new0 (guint32, frames->n_nodes);
  frames->child_of = g_new0 (guint32, frames->n_nodes);
  frames->n_values = graph->model->values->len;
  frames->roots = g_new0 (IrValueId, frames->n_values);
  frames->conditions = g_new0 (const IrCondition *, frames->n_nodes);
  frames->enter_conditions = g_new0 (const IrCondition *, frames->n_nodes);
  frames->interned = g_hash_table_new_full (condition_hash, condition_equal, g_free, NULL);
  add_frame (frames, 0, ir_context_intern (graph->model->context, ""));
  IrNode *const *nodes = ir_graph_order (graph, &n);
  for (guint i = 0; i < n; i++)
    visit (&walk, nodes[i]);
  for (guint i = 0; i < n; i++)
    if (ir_node_tokens (nodes[i]) == IR_TOKENS_MERGE)
      ir_frames_note_variable (frames, nodes[i]);
  for (guint i = 1; i < frames->frames->len; i++)
    ir_frames_find_trips (frames, ir_frames_at (frames, i));
  return frames;
}

/**
 * ir_frames_new:
 * @graph: a graph; what is wrong with its frames is not said here
 *
 * Cost: linear in nodes and edges, times the depth of conditions.
 *
 * Returns: (transfer full): the frames of @graph, with the root frame alone where it has no tokens
 */
IrFrames *
ir_frames_new (const IrGraph *graph)
{
  return frames_new (graph, NULL);
}

#define GROW(FIELD, OLD, NEW)                                                                      \
  ((FIELD) = g_renew (typeof (*(FIELD)), (FIELD), (NEW)),                                          \
   memset ((FIELD) + (OLD), 0, ((NEW) - (OLD)) * sizeof *(FIELD)))

/* Room for nodes and values that came since. */
static void
grow (IrFrames *frames)
{
  const IrModel *model = frames->graph->model;
  const guint n = model->nodes->len;

  if (n > frames->n_nodes)
    {
      GROW (frames->frame_of, frames->n_nodes, n);
      GROW (frames->child_of, frames->n_nodes, n);
      GROW (frames->conditions, frames->n_nodes, n);
      GROW (frames->enter_conditions, frames->n_nodes, n);
      frames->n_nodes = n;
    }
  if (model->values->len > frames->n_values)
    {
      GROW (frames->roots, frames->n_values, model->values->len);
      frames->n_values = model->values->len;
    }
}

/**
 * ir_frames_add:
 * @frames: the frames of a graph
 * @node: a strict node of it that came since, behind those that it reads
 *
 * Returns: whether all that it reads is of one frame
 */
gboolean
ir_frames_add (IrFrames *frames, const IrNode *node)
{
  Walk walk = { frames, frames->graph, NULL, NULL };

  grow (frames);
  return visit (&walk, node);
}

/**
 * ir_frames_replace:
 * @frames: the frames of a graph
 * @old: a value of it
 * @with: one that stands in its place from now on; as a predicate it is the same
 */
void
ir_frames_replace (IrFrames *frames, const IrValue *old, const IrValue *with)
{
  grow (frames);
  if (with->graph == frames->graph && ir_frames_root (frames, with) == with->id &&
      ir_frames_root (frames, old) != with->id)
    frames->roots[with->id] = ir_frames_root (frames, old);
}

/**
 * ir_frames_free:
 * @frames: (transfer full) (nullable): frames
 */
void
ir_frames_free (IrFrames *frames)
{
  if (frames == NULL)
    return;
  for (guint i = 0; i < frames->frames->len; i++)
    {
      g_array_unref (ir_frames_at (frames, i)->variables);
      g_array_unref (ir_frames_at (frames, i)->invariants);
    }
  g_array_unref (frames->frames);
  g_free (frames->frame_of);
  g_free (frames->child_of);
  g_free (frames->roots);
  g_free (frames->conditions);
  g_free (frames->enter_conditions);
  g_hash_table_unref (frames->interned);
  g_free (frames);
}

/**
 * ir_frames_of:
 * @frames: the frames of a graph
 * @node: a node of it
 *
 * Returns: (transfer none): the frame in whose iterations it runs
 */
const IrFrame *
ir_frames_of (const IrFrames *frames, const IrNode *node)
{
  return ir_frames_at (frames, frames->frame_of[node->id]);
}

/**
 * ir_frames_value_frame:
 * @frames: the frames of a graph
 * @value: a value of it that is no constant
 *
 * Returns: the index of the frame in which it is read: behind an Enter that inside
 */
guint
ir_frames_value_frame (const IrFrames *frames, const IrValue *value)
{
  return value->producer != NULL ? frame_behind (frames, value->producer) : 0;
}

/**
 * ir_frames_value_condition:
 * @frames: the frames of a graph
 * @value: a value of it
 *
 * Returns: (transfer none): under which it is live within an iteration of the frame that reads it; a
 *   condition that asks for nothing: always
 */
const IrCondition *
ir_frames_value_condition (const IrFrames *frames, const IrValue *value)
{
  return value->producer != NULL
             ? condition_behind (frames, value->producer, value->output_slot, FALSE)
             : always ((IrFrames *) frames);
}

/**
 * ir_condition_text:
 * @model: the model of the predicates
 * @condition: a condition
 *
 * Returns: (transfer full): "p = true, q = false", "always" or "never"; "x is live" where x is no predicate
 */
char *
ir_condition_text (const IrModel *model, const IrCondition *condition)
{
  if (condition->n == 0 || ir_condition_is_never (condition))
    return g_strdup (condition->n == 0 ? "always" : "never");
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < condition->n; i++)
    {
      const IrValue *value = ir_model_value (model, condition->outcomes[i].predicate);
      const gboolean decides = value->type == NULL || value->type->dtype == IR_DTYPE_BOOL ||
                               value->type->dtype == IR_DTYPE_UNDEFINED;
      const char *outcome = condition->outcomes[i].outcome ? "= true" : "= false";
      g_string_append_printf (text, "%s%s %s", i > 0 ? ", " : "", value->name,
                              decides ? outcome : "is live");
    }
  return g_string_free (text, FALSE);
}

/**
 * ir_frame_path:
 * @frames: the frames of a graph
 * @frame: index of one
 *
 * Returns: (transfer full): "frame outer/inner", or "no frame"
 */
char *
ir_frame_path (const IrFrames *frames, guint frame)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  GString *text = g_string_new (frame == 0 ? "no frame" : "frame ");

  for (guint i = frame; i != 0 && names->len < 8; i = ir_frames_at (frames, i)->parent)
    g_ptr_array_add (names, (gpointer) ir_frames_at (frames, i)->name);
  if (names->len == 8 && ir_frames_at (frames, frame)->depth > 8)
    g_string_append (text, "…/");
  for (guint i = names->len; i > 0; i--)
    g_string_append_printf (text, "%s%s", (const char *) names->pdata[i - 1], i > 1 ? "/" : "");
  return g_string_free (text, FALSE);
}

/* -- findings -- */

static void
report_next (Walk *walk, const IrNode *node)
{
  const IrValue *value = ir_node_output (node, 0);
  g_autofree char *label = ir_node_label (node);
  gboolean merged = FALSE;
  IrProblem *problem;

  for (guint i = 0; value != NULL && i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      g_autofree char *other = use.node != NULL ? ir_node_label (use.node) : NULL;
      if (use.node != NULL && ir_edge_is_back (node, use.node))
        {
          merged = TRUE;
          if (walk->frames->frame_of[use.node->id] == walk->frames->frame_of[node->id])
            continue;
          problem = ir_problems_add (walk->problems, IR_SEVERITY_ERROR, IR_PROBLEM_FRAME, node,
                                     NULL, "%s - two frames meet: its Merge %s is of another frame",
                                     label, other);
          ir_problem_set_hint (problem, "A NextIteration and its Merge belong to one frame.");
          continue;
        }
      problem = ir_problems_add (
          walk->problems, IR_SEVERITY_ERROR, IR_PROBLEM_FRAME, node, value,
          "%s - is read by %s, which is no Merge and has nothing to read in the first iteration",
          label, other != NULL ? other : "an output of the graph");
      ir_problem_set_hint (problem,
                           "Let a Merge choose between the value of an Enter and this one.");
    }
  if (!merged)
    {
      problem = ir_problems_add (walk->problems, IR_SEVERITY_ERROR, IR_PROBLEM_FRAME, node, NULL,
                                 "%s - no Merge reads what it brings into the next iteration",
                                 label);
      ir_problem_set_hint (problem, "Make it an input of the Merge that the loop begins with.");
    }
  if (walk->frames->frame_of[node->id] == 0)
    {
      problem = ir_problems_add (walk->problems, IR_SEVERITY_ERROR, IR_PROBLEM_FRAME, node, NULL,
                                 "%s - is in no frame, so there is no next iteration", label);
      ir_problem_set_hint (problem, "Bring the values of the loop into a frame by Enter.");
    }
}

static void
report_exit (Walk *walk, const IrNode *node)
{
  if (walk->frames->frame_of[node->id] != 0)
    return;
  g_autofree char *label = ir_node_label (node);
  IrProblem *problem = ir_problems_add (walk->problems, IR_SEVERITY_ERROR, IR_PROBLEM_FRAME, node,
                                        NULL, "%s - is in no frame: no Enter leads to it", label);
  ir_problem_set_hint (problem, "Bring what it waits for into a frame by Enter, or remove it.");
}

/* Whether @condition asks a constant predicate for what it is not. */
static gboolean
asks_in_vain (const IrModel *model, const IrCondition *condition)
{
  for (guint i = 0; i < condition->n; i++)
    {
      const IrValue *predicate = ir_model_live_value (model, condition->outcomes[i].predicate);
      gint64 known;
      if (predicate != NULL && ir_value_known_integer (predicate, &known) &&
          (known != 0) != (condition->outcomes[i].outcome != FALSE))
        return TRUE;
    }
  return FALSE;
}

static gboolean
exclude (const IrFrames *frames, const IrValue *a, const IrValue *b)
{
  const IrModel *model = frames->graph->model;
  const IrCondition *of_a = ir_frames_value_condition (frames, a),
                    *of_b = ir_frames_value_condition (frames, b);

  return ir_conditions_exclude (of_a, of_b) || asks_in_vain (model, of_a) ||
         asks_in_vain (model, of_b);
}

/* Inputs of a Merge that nothing says are not live in one iteration. How predicates are computed, but for Not, is not
 * looked at: it may keep them apart. */
static void
report_merge (Walk *walk, const IrNode *node)
{
  const IrFrames *frames = walk->frames;

  for (guint i = 0; i < node->n_inputs; i++)
    for (guint k = 0; k < i; k++)
      {
        const IrValue *a = node->inputs[k], *b = node->inputs[i];
        if (a == NULL || b == NULL)
          continue;
        gboolean back = a->producer != NULL && ir_edge_is_back (a->producer, node);
        if (back != (b->producer != NULL && ir_edge_is_back (b->producer, node)) ||
            exclude (frames, a, b))
          continue;
        g_autofree char *label = ir_node_label (node);
        g_autofree char *when_a = ir_condition_text (walk->graph->model,
                                                     ir_frames_value_condition (frames, a));
        g_autofree char *when_b = ir_condition_text (walk->graph->model,
                                                     ir_frames_value_condition (frames, b));
        IrProblem *problem = ir_problems_add (
            walk->problems, IR_SEVERITY_WARNING, IR_PROBLEM_MERGE_RACE, node, a,
            "%s - input %u (%s; live: %s) and input %u (%s; live: %s) may be live together", label,
            k, a->name, when_a, i, b->name, when_b);
        ir_problem_set_hint (problem,
                             "A run ends with an error where they are. Let both come from the "
                             "two outputs of Switches of one predicate.");
        return;
      }
}

/* (nullable) @value */
static void
report_output (Walk *walk, const IrValue *value)
{
  guint frame = ir_value_is_token (value, walk->graph) ? ir_frames_value_frame (walk->frames, value)
                                                       : 0;

  if (frame == 0)
    return;
  g_autofree char *path = ir_frame_path (walk->frames, frame);
  IrProblem *problem = ir_problems_add (
      walk->problems, IR_SEVERITY_ERROR, IR_PROBLEM_FRAME, value->producer, value,
      "Graph \"%s\" - output \"%s\" is of %s, and there are many of it", walk->graph->name,
      value->name, path);
  ir_problem_set_hint (problem, "Bring it out of its frame by Exit.");
}

static void
report_frame (Walk *walk, guint index)
{
  const IrFrame *frame = ir_frames_at (walk->frames, index);
  g_autofree char *path = ir_frame_path (walk->frames, index);
  IrProblem *problem;

  if (frame->n_conds == 1)
    return;
  problem = ir_problems_add (walk->problems, IR_SEVERITY_ERROR, IR_PROBLEM_FRAME,
                             ir_model_live_node (walk->graph->model, frame->loop_cond), NULL,
                             "Graph \"%s\" - %s has %u LoopConds, needed one", walk->graph->name,
                             path, frame->n_conds);
  ir_problem_set_hint (problem,
                       frame->n_conds == 0
                           ? "Give the frame's condition to a LoopCond, and that to the Switches."
                           : "Two loops need two names of frames.");
}

/**
 * ir_graph_report_frames:
 * @graph: a graph
 * @problems: (element-type IrProblem): findings are appended
 *
 * Nodes where two frames meet, an Exit without Enter, a NextIteration without Merge, a frame without
 * one LoopCond, an output of the graph that is of a frame; and, as warnings, a Merge of inputs that may be live together. A graph without tokens
 * costs nothing.
 */
void
ir_graph_report_frames (const IrGraph *graph, GPtrArray *problems)
{
  guint n;

  if (!ir_graph_has_tokens (graph))
    return;
  g_autoptr (IrFrames) frames = frames_new (graph, problems);
  Walk walk = { frames, graph, NULL, problems };
  IrNode *const *nodes = ir_graph_order (graph, &n);
  for (guint i = 0; i < n; i++)
    {
      IrTokens rule = ir_node_tokens (nodes[i]);
      if (rule == IR_TOKENS_NEXT_ITERATION)
        report_next (&walk, nodes[i]);
      else if (rule == IR_TOKENS_EXIT)
        report_exit (&walk, nodes[i]);
      else if (rule == IR_TOKENS_MERGE)
        report_merge (&walk, nodes[i]);
    }
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    report_output (&walk, ir_graph_output (graph, i));
  for (guint i = 1; i < frames->frames->len; i++)
    report_frame (&walk, i);
}
