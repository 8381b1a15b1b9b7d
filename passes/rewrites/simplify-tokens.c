/* Tokens whose course is known:
 *
 *     Switch (x, true)                      x, and nothing on the other side
 *     Merge (x, dead)                       x
 *
 * What is never live is told from Switches of constants forwards: a strict node is dead if something that it reads
 * is, a Merge if all are, and a frame if all that enters it is. So a Merge of which one input can live becomes that, and what led to the others has no
 * reader any more. A Merge that begins a loop stays, as does one that says which input it was. The other side of
 * a Switch goes before the Switch does. Source: TensorFlow Grappler, loop_optimizer (dead
 * branches). */
#include "config.h"

#include "core/op/op.h"
#include "passes/rewrites/raise-private.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#define RULE_SWITCH "switch-on-constant"
#define RULE_MERGE  "merge-of-one"

typedef struct
{
  IrPassContext *context;
  const IrFrames *frames;
  GHashTable *dead;    /* of IrValue and, where a node never runs, of IrNode */
  GHashTable *entered; /* numbers of frames into which something that may be live leads */
} Course;

/* Whether it is known which side of @node is taken; the condition of a loop is not asked. */
static gboolean
known_side (const IrNode *node, guint *side)
{
  const IrValue *predicate = ir_node_input (node, 1);
  const IrTensor *tensor;

  while (predicate != NULL && predicate->producer != NULL &&
         (ir_node_is (predicate->producer, "Identity") ||
          ir_node_tokens (predicate->producer) == IR_TOKENS_ENTER))
    predicate = ir_node_input (predicate->producer, 0);
  tensor = predicate != NULL ? ir_value_constant (predicate) : NULL;
  if (tensor == NULL || ir_tensor_dtype (tensor) != IR_DTYPE_BOOL ||
      ir_tensor_n_elements (tensor) != 1 || ir_tensor_data (tensor) == NULL)
    return FALSE;
  *side = ir_tensor_get_int64 (tensor, 0) != 0;
  return TRUE;
}

static gboolean
is_dead (const Course *course, const IrValue *value)
{
  return value != NULL && g_hash_table_contains (course->dead, value);
}

static guint
count_live (const Course *course, const IrNode *node, guint *last)
{
  guint n = 0;

  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && !is_dead (course, node->inputs[i]))
      {
        *last = i;
        n++;
      }
  return n;
}

static gboolean
waits_for_dead (const Course *course, const IrNode *node)
{
  g_autoptr (GPtrArray) captures = ir_node_captures (node);
  gboolean dead = FALSE;

  for (guint i = 0; i < node->n_inputs; i++)
    dead |= is_dead (course, node->inputs[i]);
  for (guint i = 0; i < captures->len; i++)
    dead |= is_dead (course, captures->pdata[i]);
  return dead;
}

/* Whether the frame is never entered, or some node that never runs is waited for */
static gboolean
waits_behind_dead (const Course *course, const IrNode *node)
{
  const guint frame = course->frames->frame_of[node->id];

  if (frame != 0 && !g_hash_table_contains (course->entered, GUINT_TO_POINTER (frame)))
    return TRUE;
  for (guint i = 0; node->controls != NULL && i < node->controls->n; i++)
    if (g_hash_table_contains (course->dead,
                               ir_model_node (node->graph->model, node->controls->ids[i])))
      return TRUE;
  return FALSE;
}

static gboolean
never_runs (const Course *course, const IrNode *node)
{
  guint last;

  switch (ir_node_tokens (node))
    {
    case IR_TOKENS_MERGE: /* which says that it is dead as soon as an Enter does */
      return waits_behind_dead (course, node) || count_live (course, node, &last) == 0;
    case IR_TOKENS_CONTROL_TRIGGER:
      return FALSE;
    case IR_TOKENS_EXIT:
    case IR_TOKENS_STRICT:
    case IR_TOKENS_SWITCH:
    case IR_TOKENS_ENTER:
    case IR_TOKENS_NEXT_ITERATION:
    case IR_TOKENS_LOOP_COND:
    default:
      return waits_for_dead (course, node) || waits_behind_dead (course, node);
    }
}

static void
note_dead (Course *course, IrNode *node)
{
  const gboolean is_switch = ir_node_tokens (node) == IR_TOKENS_SWITCH;
  const gboolean never = never_runs (course, node);
  guint side = 0;
  const gboolean known = is_switch && known_side (node, &side);

  if (never)
    g_hash_table_add (course->dead, node);
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && (never || (known && i != side)))
      g_hash_table_add (course->dead, node->outputs[i]);
}

static void
note_entered (Course *course, IrNode *const *nodes, guint n)
{
  g_hash_table_remove_all (course->entered);
  for (guint i = 0; i < n; i++)
    if (ir_node_tokens (nodes[i]) == IR_TOKENS_ENTER &&
        !is_dead (course, ir_node_output (nodes[i], 0)))
      g_hash_table_add (course->entered, GUINT_TO_POINTER (course->frames->child_of[nodes[i]->id]));
}

/* As long as a frame turns out never to be entered, more may be dead. */
static void
find_dead (Course *course, IrNode *const *nodes, guint n)
{
  guint before;

  do
    {
      before = g_hash_table_size (course->dead);
      note_entered (course, nodes, n);
      for (guint i = 0; i < n; i++)
        note_dead (course, nodes[i]);
    }
  while (g_hash_table_size (course->dead) > before);
}

/* -- what becomes of them -- */

/* @with stands for @old, an output of @node, which goes; of another name where both have to stay. */
static gboolean
can_stand_for (const IrValue *old, const IrValue *with)
{
  return !ir_value_is_graph_output (old) ||
         (with->producer != NULL && with->graph == old->graph && !ir_value_is_graph_output (with));
}

/* Behind the last of them the model need not import them any more. */
static void
end_step (IrPassContext *context)
{
  if (ir_raise_count_primitives (context->model) == 0)
    ir_edit_set_opset (context->edit, "irscope.flow", 0);
  ir_pass_end (context);
}

static void
replace (Course *course, IrNode *node, IrValue *old, IrValue *with)
{
  IrPassContext *context = course->context;

  ir_edit_replace_uses (context->edit, old, with);
  ir_edit_step_map_node (context->edit, node->id, with->producer != NULL ? with->producer->id : 0);
  ir_pass_remove_node (context, node);
  ir_pass_take_name (context, old, with);
  end_step (context);
}

static gboolean
is_unused (const IrValue *value)
{
  return value == NULL || value->n_uses == 0;
}

/* Where its data are there, and only there, the node gives them. */
static gboolean
is_where_data_are (IrPassContext *context, const IrNode *node)
{
  const IrFrames *frames = ir_pass_frames (context, node->graph);
  const IrValue *data = node->inputs[0];

  if (!ir_value_is_token (data, node->graph))
    return frames->frame_of[node->id] == 0 && frames->conditions[node->id]->n == 0;
  return ir_frames_value_frame (frames, data) == frames->frame_of[node->id] &&
         ir_frames_value_condition (frames, data) == frames->conditions[node->id];
}

/* A constant entered into a frame is there in every iteration; control edges say in which the node is. */
static gboolean
is_held (const Course *course, const IrNode *node, const char *rule)
{
  if (!ir_pass_has_control (course->context, node))
    return FALSE;
  ir_edit_refuse (course->context->edit, rule, node->id,
                  "control edges say where it runs, and its data do not");
  return TRUE;
}

static void
simplify_switch (Course *course, IrNode *node)
{
  guint side;

  if (!known_side (node, &side) || !is_unused (ir_node_output (node, 1 - side)) ||
      is_unused (ir_node_output (node, side)) || ir_node_input (node, 0) == NULL ||
      !can_stand_for (node->outputs[side], node->inputs[0]) || is_held (course, node, RULE_SWITCH))
    return;
  if (!is_where_data_are (course->context, node))
    {
      ir_edit_refuse (course->context->edit, RULE_SWITCH, node->id,
                      "what it waits for beside its data may be dead, or of another frame");
      return;
    }
  if (!ir_pass_begin (course->context, RULE_SWITCH, IR_CLASS_EXACT, node))
    return;
  ir_edit_step_reason (course->context->edit, "it is always %s", side != 0 ? "true" : "false");
  replace (course, node, node->outputs[side], node->inputs[0]);
}

/* What begins a loop, or may be told by an Enter that a loop is not entered */
static gboolean
begins_loop (const IrNode *node)
{
  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrNode *from = node->inputs[i] != NULL ? node->inputs[i]->producer : NULL;
      if (from != NULL &&
          (ir_edge_is_back (from, node) || ir_node_tokens (from) == IR_TOKENS_ENTER))
        return TRUE;
    }
  return FALSE;
}

static void
simplify_merge (Course *course, IrNode *node)
{
  guint last;

  if (begins_loop (node) || count_live (course, node, &last) != 1 ||
      is_unused (ir_node_output (node, 0)) || is_held (course, node, RULE_MERGE))
    return;
  if (!is_unused (ir_node_output (node, 1)) ||
      !ir_value_is_token (node->inputs[last], node->graph) ||
      !can_stand_for (node->outputs[0], node->inputs[last]))
    {
      ir_edit_refuse (course->context->edit, RULE_MERGE, node->id,
                      "which input it was is read, or its name has to stay");
      return;
    }
  if (!ir_pass_begin (course->context, RULE_MERGE, IR_CLASS_EXACT, node))
    return;
  ir_edit_step_reason (course->context->edit, "only %s can be live", node->inputs[last]->name);
  replace (course, node, node->outputs[0], node->inputs[last]);
}

static void
simplify_graph (IrPassContext *context, IrGraph *graph)
{
  g_autoptr (GHashTable) dead = g_hash_table_new (NULL, NULL),
                         entered = g_hash_table_new (NULL, NULL);
  Course course = { context, ir_pass_frames (context, graph), dead, entered };
  guint n;
  IrNode *const *order = ir_graph_order (graph, &n);
  g_autofree IrNode **nodes = g_memdup2 (order, MAX (n, 1) * sizeof (IrNode *));

  find_dead (&course, nodes, n);
  course.frames = NULL; /* steps change them */
  for (guint i = 0; i < n && !context->stopped; i++)
    {
      /* What never runs stays as it is: without its Switches nothing would say that it is dead. */
      if (nodes[i]->state != IR_STATE_LIVE || g_hash_table_contains (dead, nodes[i]) ||
          ir_pass_is_open (nodes[i]))
        continue;
      if (ir_node_tokens (nodes[i]) == IR_TOKENS_SWITCH)
        simplify_switch (&course, nodes[i]);
      else if (ir_node_tokens (nodes[i]) == IR_TOKENS_MERGE)
        simplify_merge (&course, nodes[i]);
    }
}

static gboolean
run (IrPassContext *context, GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (context);

  for (guint i = 0; i < graphs->len && !context->stopped; i++)
    {
      if (ir_pass_cancelled (context, error))
        return FALSE;
      if (ir_graph_has_tokens (graphs->pdata[i]))
        simplify_graph (context, graphs->pdata[i]);
    }
  return TRUE;
}

static const IrRule rules[] = {
  { RULE_SWITCH, "a Switch of a constant, the other side of which nothing reads", "its data",
    IR_CLASS_EXACT, "A Switch that always goes one way is no Switch." },
  { RULE_MERGE, "a Merge of which one input can be live", "that input", IR_CLASS_EXACT,
    "Where only one side can be live, there is nothing to merge." },
  { NULL },
};

const IrPass ir_pass_simplify_tokens = {
  .name = "simplify-tokens",
  .title = "Simplify tokens",
  .doc =
      "A Merge of which only one input can be live becomes that input, and a Switch of a constant its "
      "data.",
  .source = "TensorFlow Grappler, loop_optimizer",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x -> Switch (true) -> Relu -> Merge -> y\nx -> Relu -> y",
  .run = run,
  .tokens = TRUE,
  .documented_rules = rules,
};
