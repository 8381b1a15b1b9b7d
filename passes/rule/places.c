/* Where nodes run in graphs that tokens move through: in which frame, and under which condition in an iteration
 * of it (core/ir/frames.h). A rule is for nodes of one such place, and leaves there what it makes. So nothing
 * leaves its frame, and nothing is alive that was dead. */
#include "config.h"

#include "passes/rule/pattern.h"
#include "passes/rule/step.h"

#include "core/op/op.h"

/**
 * ir_pass_frames:
 * @context: a run of passes
 * @graph: a graph that has tokens
 *
 * Returns: (transfer none): its frames; until a step changes the model, or longer by ir_pass_keep_frames()
 */
IrFrames *
ir_pass_frames (IrPassContext *context, const IrGraph *graph)
{
  struct _IrPassPrivate *priv = context->priv;
  IrFrames *frames;

  if (priv->frames == NULL)
    priv->frames = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_frames_free);
  if (priv->frames_step != priv->n_steps)
    g_hash_table_remove_all (priv->frames);
  priv->frames_step = priv->n_steps;
  frames = g_hash_table_lookup (priv->frames, graph);
  if (frames == NULL)
    {
      frames = ir_frames_new (graph);
      g_hash_table_insert (priv->frames, (gpointer) graph, frames);
    }
  return frames;
}

/**
 * ir_pass_keep_frames:
 * @context: a run of passes
 *
 * The step that ended kept what ir_pass_frames() knows true.
 */
void
ir_pass_keep_frames (IrPassContext *context)
{
  context->priv->frames_step = context->priv->n_steps;
}

static const IrCondition *
condition_of (const IrFrames *frames, const IrNode *node)
{
  return frames->conditions[node->id];
}

static gboolean
is_same_place (const IrFrames *frames, const IrNode *a, const IrNode *b)
{
  return frames->frame_of[a->id] == frames->frame_of[b->id] &&
         condition_of (frames, a) == condition_of (frames, b);
}

static gboolean
fail_between (IrMatch *match, const IrFrames *frames, const IrNode *node, const IrNode *root)
{
  if (!match->wants_why)
    return ir_match_fail (match, "nodes of two places");
  g_autofree char *path = ir_frame_path (frames, frames->frame_of[node->id]);
  g_autofree char *root_path = ir_frame_path (frames, frames->frame_of[root->id]);
  g_autofree char *when = ir_condition_text (root->graph->model, condition_of (frames, node));
  g_autofree char *root_when = ir_condition_text (root->graph->model, condition_of (frames, root));
  g_autofree char *label = ir_node_label (node);
  g_autofree char *root_label = ir_node_label (root);

  return ir_match_fail (match, "%s runs in %s (%s), %s in %s (%s)", label, path, when, root_label,
                        root_path, root_when);
}

/* By an Identity that stands before Switches, conditionals of one condition are told apart. */
static gboolean
is_marker (const IrNode *node)
{
  return ir_node_is (node, "Identity") && ir_pass_is_predicate (node);
}

/**
 * ir_pass_is_predicate:
 * @node: a node
 *
 * Returns: whether some Switch is told its side by what @node gives
 */
gboolean
ir_pass_is_predicate (const IrNode *node)
{
  for (guint i = 0; i < node->n_outputs; i++)
    for (guint k = 0; node->outputs[i] != NULL && k < node->outputs[i]->n_uses; k++)
      {
        IrUse use = ir_value_use (node->outputs[i], k);
        if (use.node != NULL && use.slot == 1 && ir_node_tokens (use.node) == IR_TOKENS_SWITCH)
          return TRUE;
      }
  return FALSE;
}

/**
 * ir_match_is_one_place:
 * @match: a match whose pattern fits
 *
 * Returns: %FALSE, by ir_match_fail(), if tokens move through its graph, and its nodes are not all of one
 *   frame and one condition, or some handle tokens themselves
 */
gboolean
ir_match_is_one_place (IrMatch *match)
{
  const IrNode *root = match->nodes[0];

  if (!ir_graph_has_tokens (root->graph))
    return TRUE;
  const IrFrames *frames = ir_pass_frames (match->context, root->graph);
  for (guint i = 0; i < match->rule->n_nodes; i++)
    {
      const IrNode *node = match->nodes[i];

      if (node->graph != root->graph)
        continue;
      if (ir_node_tokens (node) != IR_TOKENS_STRICT)
        return ir_match_fail (match, "%s handles tokens", node->op_type);
      if (!match->shared[i] && is_marker (node))
        return ir_match_fail (match, "it tells a conditional from others of its condition");
      if (!is_same_place (frames, node, root))
        return fail_between (match, frames, node, root);
    }
  return TRUE;
}

/* -- what a rule made -- */

/* Whether @value is of a graph around @graph that tokens move through: what a body reads, its owner waits for. */
static gboolean
is_captured_token (const IrGraph *graph, const IrValue *value)
{
  return value != NULL && value->graph != graph && ir_graph_has_tokens (value->graph) &&
         ir_value_is_token (value, value->graph);
}

static void
add_captured (const IrNode *node, GHashTable *values)
{
  g_autoptr (GPtrArray) captures = ir_node_captures (node);

  for (guint i = 0; i < node->n_inputs; i++)
    if (is_captured_token (node->graph, node->inputs[i]))
      g_hash_table_add (values, node->inputs[i]);
  for (guint i = 0; i < captures->len; i++)
    if (is_captured_token (node->graph, captures->pdata[i]))
      g_hash_table_add (values, captures->pdata[i]);
}

static gboolean
is_same_set (GHashTable *a, GHashTable *b)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, a);
  while (g_hash_table_iter_next (&iter, &value, NULL))
    if (!g_hash_table_contains (b, value))
      return FALSE;
  return g_hash_table_size (a) == g_hash_table_size (b);
}

/* The match, and what was made for it, read the same of the tokens around. */
static gboolean
reads_the_same_tokens (IrMatch *match, GPtrArray *fresh, IrNodeId first_new)
{
  const IrGraph *graph = match->nodes[0]->graph;
  g_autoptr (GHashTable) before = g_hash_table_new (NULL, NULL),
                         after = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < match->rule->n_nodes; i++)
    if (!match->shared[i])
      add_captured (match->nodes[i], before);
  for (IrNodeId id = first_new; id < graph->model->nodes->len; id++)
    if (ir_model_live_node (graph->model, id) != NULL)
      add_captured (ir_model_live_node (graph->model, id), after);
  for (guint i = 0; i < fresh->len; i++)
    if (is_captured_token (graph, fresh->pdata[i]))
      g_hash_table_add (after, fresh->pdata[i]);
  return is_same_set (before, after) ||
         ir_match_fail (match, "the graph around would wait for other tokens");
}

/* @node, which is made, waits for what the nodes of the match waited for. */
static void
wait_as_before (IrMatch *match, IrNode *node)
{
  const IrNode *root = match->nodes[0];

  for (guint i = 0; i < match->rule->n_nodes; i++)
    {
      const IrNode *old = match->nodes[i];

      for (guint k = 0; old->graph == root->graph && old->controls != NULL && k < old->controls->n;
           k++)
        ir_edit_add_control (match->context->edit, node,
                             ir_model_node (root->graph->model, old->controls->ids[k]));
    }
}

static gboolean
is_made_in_place (IrMatch *match, IrFrames *frames, IrNodeId first_new)
{
  const IrNode *root = match->nodes[0];

  for (IrNodeId id = first_new; id < root->graph->model->nodes->len; id++)
    {
      IrNode *node = ir_model_live_node (root->graph->model, id);

      if (node == NULL || node->graph != root->graph)
        continue;
      gboolean one = ir_frames_add (frames, node);
      if (ir_node_is_constant (node) || (one && is_same_place (frames, node, root)))
        continue;
      wait_as_before (match, node);
      if (!ir_frames_add (frames, node))
        return ir_match_fail (match, "values of two frames would meet");
      if (!is_same_place (frames, node, root))
        return fail_between (match, frames, node, root);
    }
  return TRUE;
}

/* Whether @with is there where, and only where, what @root gives is. */
static gboolean
stands_for (const IrFrames *frames, const IrNode *root, const IrValue *with)
{
  if (!ir_value_is_token (with, root->graph))
    return frames->frame_of[root->id] == 0 && condition_of (frames, root)->n == 0;
  return ir_frames_value_frame (frames, with) == frames->frame_of[root->id] &&
         ir_frames_value_condition (frames, with) == condition_of (frames, root);
}

/* The node of the graph of @value that @node is, or lies in */
static const IrNode *
reader_around (const IrValue *value, const IrNode *node)
{
  while (node != NULL && node->graph != value->graph)
    node = ir_model_live_node (node->graph->model, node->graph->owner);
  return node;
}

static gboolean
is_read_by_others (const IrValue *value, const IrNode *node)
{
  const IrNode *around = reader_around (value, node);

  for (guint i = 0; i < value->n_uses; i++)
    {
      const IrNode *other = ir_value_use (value, i).node;
      const IrNode *owner = other;
      while (owner != NULL && owner != node && owner->graph != node->graph)
        owner = ir_model_live_node (owner->graph->model, owner->graph->owner);
      if (other != NULL && owner != node && reader_around (value, other) == around)
        return TRUE;
    }
  return FALSE;
}

/**
 * ir_pass_lets_others_wait:
 * @node: a node
 *
 * What owns a body waits for all tokens that nodes in it read, and is dead with them.
 *
 * Returns: whether that stays as it is without @node
 */
gboolean
ir_pass_lets_others_wait (const IrNode *node)
{
  g_autoptr (GHashTable) captured = g_hash_table_new (NULL, NULL);
  GHashTableIter iter;
  gpointer value;

  if (!ir_pass_moves_tokens (ir_graph_outer (node->graph)))
    return TRUE;
  add_captured (node, captured);
  g_hash_table_iter_init (&iter, captured);
  while (g_hash_table_iter_next (&iter, &value, NULL))
    if (!is_read_by_others (value, node))
      return FALSE;
  return TRUE;
}

/**
 * ir_pass_is_everywhere:
 * @context: a run of passes
 * @node: a node
 *
 * A constant is there in all frames and under all conditions, and nothing waits for it.
 *
 * Returns: whether a constant may stand for what @node gives, as far as tokens go
 */
gboolean
ir_pass_is_everywhere (IrPassContext *context, const IrNode *node)
{
  if (ir_pass_moves_tokens (ir_graph_outer (node->graph)))
    {
      g_autoptr (GHashTable) captured = g_hash_table_new (NULL, NULL);

      add_captured (node, captured);
      if (g_hash_table_size (captured) > 0)
        return FALSE;
    }
  if (!ir_graph_has_tokens (node->graph))
    return TRUE;
  const IrFrames *frames = ir_pass_frames (context, node->graph);
  return ir_node_tokens (node) == IR_TOKENS_STRICT && frames->frame_of[node->id] == 0 &&
         condition_of (frames, node) != NULL && condition_of (frames, node)->n == 0;
}

/**
 * ir_match_keeps_place:
 * @match: a match of one place, inside of its step
 * @fresh: (element-type IrValue) (nullable entries): what will stand for each output of its root
 * @first_new: the first id of a node that the step made
 *
 * Returns: %FALSE, by ir_match_fail(), if tokens move through its graph or one around it, and the rule would
 *   take something out of its frame, or let something live that is dead
 */
gboolean
ir_match_keeps_place (IrMatch *match, GPtrArray *fresh, IrNodeId first_new)
{
  const IrNode *root = match->nodes[0];

  if (ir_pass_moves_tokens (ir_graph_outer (root->graph)) &&
      !reads_the_same_tokens (match, fresh, first_new))
    return FALSE;
  if (!ir_graph_has_tokens (root->graph))
    return TRUE;
  IrFrames *frames = ir_pass_frames (match->context, root->graph);
  if (!is_made_in_place (match, frames, first_new))
    return FALSE;
  for (guint i = 0; i < fresh->len; i++)
    {
      const IrValue *with = fresh->pdata[i];

      if (with == NULL)
        continue;
      if (!stands_for (frames, root, with))
        return ir_match_fail (match, "%s is not there where, and only where, %s is", with->name,
                              root->outputs[i]->name);
      if (with->producer != NULL && with->producer->id >= first_new)
        ir_frames_replace (frames, root->outputs[i], with);
    }
  return TRUE;
}
