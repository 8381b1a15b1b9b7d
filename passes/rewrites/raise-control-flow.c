/* Data flow as control flow again: what lower-control-flow does, backwards, and the graphs that others
 * write with Switch and Merge.
 *
 *     Merge (g (Switch (x, c) : 0), f (Switch (x, c) : 1))      If (c) { f } else { g }
 *     Enter -> Merge -> Switch -> f -> NextIteration -> Merge   Loop (M, c, v) { f }
 *
 * Inner constructs come before those around them, and the Ifs of a frame before its Loop. What has no
 * such form stays, with what it stands on; only the primitives are read, no names and no metadata.
 *
 * Source: Yu et al., Dynamic control flow in large-scale machine learning, EuroSys 2018. */
#include "config.h"

#include "core/ir/problem.h"
#include "passes/rewrites/raise-private.h"
#include "passes/rewrites/raise.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#include <string.h>

/* One construct to come. */
typedef struct
{
  IrRaiseChoice *choice; /* (nullable): else the loop of the frame */
  guint frame, frame_depth, place;
} Item;

/* -- what is there -- */

static gboolean
is_loop_switch (const IrNode *node)
{
  const IrNode *condition = node->inputs[1] != NULL ? node->inputs[1]->producer : NULL;

  return condition != NULL && ir_node_tokens (condition) == IR_TOKENS_LOOP_COND;
}

static void
note_waiting (IrRaise *raise, IrNode *node)
{
  for (guint i = 0; node->controls != NULL && i < node->controls->n; i++)
    ir_raise_note_waiting (raise, node,
                           ir_model_node (raise->graph->model, node->controls->ids[i]));
}

static void
choice_free (gpointer data)
{
  IrRaiseChoice *choice = data;

  g_ptr_array_unref (choice->switches);
  g_free (choice);
}

static void
note_switch (IrRaise *raise, IrNode *node, GHashTable *choices, GArray *items)
{
  const IrCondition *condition = raise->frames->conditions[node->id];
  const guint frame = raise->frames->frame_of[node->id];
  g_autofree char *key = g_strdup_printf ("%u@%u", node->inputs[1]->id, frame);
  IrRaiseChoice *choice = g_hash_table_lookup (choices, key);

  if (choice == NULL)
    {
      choice = g_new0 (IrRaiseChoice, 1);
      choice->frame = frame;
      choice->condition = condition;
      choice->switches = g_ptr_array_new ();
      g_hash_table_insert (choices, g_steal_pointer (&key), choice);
      const Item item = { .choice = choice,
                          .frame = choice->frame,
                          .frame_depth = ir_frames_of (raise->frames, node)->depth,
                          .place = items->len };
      g_array_append_val (items, item);
    }
  g_ptr_array_add (choice->switches, node);
}

static IrValueId
root_of (const IrRaise *raise, const IrValue *value)
{
  gboolean outcome = TRUE;

  return ir_frames_predicate (raise->frames, value, &outcome);
}

/* Whether one of them says more of a predicate that something is chosen by; that a value is live may be said
 * in other words, and what is never live is no matter. */
static gboolean
differ (const IrCondition *a, const IrCondition *b, GHashTable *roots)
{
  for (guint i = 0; i < a->n; i++)
    {
      gboolean found = !g_hash_table_contains (roots, GUINT_TO_POINTER (a->outcomes[i].predicate));
      for (guint k = 0; k < b->n && !found; k++)
        found = a->outcomes[i].predicate == b->outcomes[k].predicate &&
                a->outcomes[i].outcome == b->outcomes[k].outcome;
      if (!found)
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_never (const IrCondition *condition)
{
  return condition->n > 0 && condition->outcomes[0].predicate == 0;
}

static gboolean
is_mixed (const IrRaise *raise, const IrRaiseChoice *choice, GHashTable *roots)
{
  const IrCondition *const *conditions = raise->frames->conditions;
  const IrCondition *first = choice->condition;

  for (guint i = 1; i < choice->switches->len && first != NULL && !is_never (first); i++)
    {
      const IrCondition *other = conditions[((const IrNode *) choice->switches->pdata[i])->id];
      if (other != NULL && other != first && !is_never (other) &&
          (differ (first, other, roots) || differ (other, first, roots)))
        return TRUE;
    }
  return FALSE;
}

/* Finds choices whose Switches lie in different sides of others: they are not one If. */
static void
find_mixed (IrRaise *raise, GHashTable *choices)
{
  g_autoptr (GHashTable) roots = g_hash_table_new (NULL, NULL);
  GHashTableIter iter;
  gpointer choice;

  g_hash_table_iter_init (&iter, choices);
  while (g_hash_table_iter_next (&iter, NULL, &choice))
    {
      const IrNode *first = ((IrRaiseChoice *) choice)->switches->pdata[0];
      g_hash_table_add (roots, GUINT_TO_POINTER (root_of (raise, first->inputs[1])));
    }
  g_hash_table_iter_init (&iter, choices);
  while (g_hash_table_iter_next (&iter, NULL, &choice))
    ((IrRaiseChoice *) choice)->is_mixed = is_mixed (raise, choice, roots);
}

/* Inner frames first, in a frame its choices, the last ones first: a Switch inside of another's side comes
 * behind that in the order. Then its loop; of loops side by side those that others read. */
static int
compare_items (gconstpointer a, gconstpointer b)
{
  const Item *x = a, *y = b;

  if (x->frame_depth != y->frame_depth)
    return x->frame_depth > y->frame_depth ? -1 : 1;
  if ((x->choice == NULL) != (y->choice == NULL))
    return x->choice == NULL ? 1 : -1;
  if (x->choice == NULL)
    return x->place < y->place ? -1 : x->place > y->place;
  return x->place > y->place ? -1 : x->place < y->place;
}

static GArray *
find_items (IrRaise *raise, GHashTable *choices)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (raise->graph);
  GArray *items = g_array_new (FALSE, TRUE, sizeof (Item));

  for (guint i = 0; i < nodes->len; i++)
    {
      IrNode *node = nodes->pdata[i];
      note_waiting (raise, node);
      if (ir_node_tokens (node) == IR_TOKENS_SWITCH && node->n_inputs == 2 &&
          node->n_outputs == 2 && node->inputs[0] != NULL && node->inputs[1] != NULL &&
          !is_loop_switch (node))
        note_switch (raise, node, choices, items);
    }
  find_mixed (raise, choices);
  for (guint i = 1; i < raise->frames->frames->len; i++)
    {
      const IrFrame *frame = &g_array_index (raise->frames->frames, IrFrame, i);
      const Item item = { .frame = i, .frame_depth = frame->depth, .place = items->len };
      g_array_append_val (items, item);
    }
  g_array_sort (items, compare_items);
  return items;
}

/* -- the pass -- */

/* Notes why @node stays, and of all such nodes the first. */
static void
refuse (IrRaise *raise, const char *rule, IrNodeId node, const char *why)
{
  ir_edit_refuse (raise->edit, rule, node, why);
  if (raise->left != NULL && raise->left->why == NULL)
    *raise->left = (IrRaiseLeft){ node, g_strdup (why) };
}

static void
raise_item (IrRaise *raise, const Item *item)
{
  const IrFrame *frame = &g_array_index (raise->frames->frames, IrFrame, item->frame);
  g_autofree char *why = item->choice != NULL ? ir_raise_choice (raise, item->choice)
                                              : ir_raise_loop (raise, item->frame);

  if (why == NULL)
    return;
  if (item->choice != NULL)
    refuse (raise, IR_RAISE_IF, ((IrNode *) item->choice->switches->pdata[0])->id, why);
  else
    refuse (raise, IR_RAISE_LOOP, frame->loop_cond, why);
}

/* Frames that are broken have no form. */
char *
ir_raise_why_unsound (const IrGraph *graph, IrNodeId *node)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  ir_graph_report_frames (graph, problems);
  for (guint i = 0; i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];
      if (problem->severity != IR_SEVERITY_ERROR)
        continue;
      *node = problem->node;
      return g_strdup (problem->message);
    }
  return NULL;
}

static gboolean
is_sound (IrRaise *raise)
{
  IrNodeId node = 0;
  g_autofree char *why = ir_raise_why_unsound (raise->graph, &node);

  if (why != NULL)
    refuse (raise, IR_RAISE_LOOP, node, why);
  return why == NULL;
}

static gboolean
raise_graph (
    IrPassContext *context, IrGraph *graph, guint *n_left, IrRaiseLeft *left, GError **error)
{
  IrRaise raise = {
    .context = context, .edit = context->edit, .graph = graph, .n_left = n_left, .left = left
  };
  g_autoptr (GHashTable)
      choices = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, choice_free);
  gboolean good = TRUE;

  if (!is_sound (&raise))
    return TRUE;
  raise.frames = ir_frames_new (graph);
  raise.waiting = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_ptr_array_unref);
  g_autoptr (GArray) items = find_items (&raise, choices);
  for (guint i = 0; i < items->len && good && !context->stopped; i++)
    {
      good = !ir_pass_cancelled (context, error);
      if (good)
        raise_item (&raise, &g_array_index (items, Item, i));
    }
  g_hash_table_unref (raise.waiting);
  ir_frames_free (raise.frames);
  return good;
}

guint
ir_raise_count_primitives (const IrModel *model)
{
  guint n = 0;

  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];
      n += node->state == IR_STATE_LIVE && strcmp (node->domain, "irscope.flow") == 0;
    }
  return n;
}

/* @left: (nullable): the first node that stays */
static gboolean
raise_all (IrPassContext *context, IrRaiseLeft *left, GError **error)
{
  const GPtrArray *graphs = context->model->graphs;
  const guint n = graphs->len; /* those that it makes have no tokens */
  guint n_left = ir_raise_count_primitives (context->model);
  gboolean good = TRUE;

  for (guint i = 1; i < n && good && !context->stopped; i++)
    {
      IrGraph *graph = graphs->pdata[i];
      if (graph->state == IR_STATE_LIVE && ir_graph_has_tokens (graph) &&
          !ir_graph_is_cyclic (graph))
        good = raise_graph (context, graph, &n_left, left, error);
    }
  return good;
}

static gboolean
run (IrPassContext *context, GError **error)
{
  return raise_all (context, NULL, error);
}

static gboolean
raise_tokens (IrPassContext *context, const char *who, GError **error)
{
  IrRaiseLeft left = { 0 };
  gboolean good = raise_all (context, &left, error);
  const IrNode *node = left.node != 0 ? ir_model_live_node (context->model, left.node) : NULL;

  if (good && left.why != NULL)
    {
      g_autofree char *label = node != NULL ? ir_node_label (node) : g_strdup ("a loop");
      good = ir_pass_refuse (error, who,
                             "tokens have no derivatives, and %s has no form as If, Loop, Scan or "
                             "SequenceMap: %s",
                             label, left.why);
    }
  g_free (left.why);
  return good;
}

/**
 * ir_raise_control_flow:
 * @context: a run of passes
 * @who: the pass, for errors
 * @error: return location for an error
 *
 * Raises closures, and then all that tokens move through, by steps of the pass that runs.
 *
 * Returns: %FALSE if some has no form as control flow; the error names it and says why
 */
gboolean
ir_raise_control_flow (IrPassContext *context, const char *who, GError **error)
{
  return ir_raise_closures (context, who, error) &&
         (context->stopped || raise_tokens (context, who, error));
}

static const IrRule rules[] = {
  { IR_RAISE_IF, "Switches of one predicate and the Merges of their two sides", "an If",
    IR_CLASS_EXACT,
    "What runs on one side alone becomes a branch, which reads what the Switches read." },
  { IR_RAISE_LOOP, "a frame: Enters, Merges, LoopCond, Switches, NextIterations, Exits", "a Loop",
    IR_CLASS_EXACT,
    "What goes round is carried; a number that counts from 0 and its limit become those of the Loop. Any "
    "other condition is computed before the Loop, and at the end of its body. A sequence that is appended to "
    "and read by Stack is a scan output." },
  { IR_RAISE_SCAN, "a frame of as many iterations as an axis is long, which read by their number",
    "a Scan", IR_CLASS_EXACT, "What Gather reads by the number of the iteration is scanned." },
  { IR_RAISE_MAP, "a frame of as many iterations as a sequence is long, which read by their number",
    "a SequenceMap", IR_CLASS_EXACT,
    "What SequenceAt reads by the number of the iteration is an item; sequences that are appended to are "
    "results." },
  { NULL },
};

const IrPass ir_pass_raise_control_flow = {
  .name = "raise-control-flow",
  .title = "Raise tokens to control flow",
  .doc =
      "Switch, Merge, Enter, Exit, NextIteration and LoopCond become If, Loop, Scan and SequenceMap again, inner "
      "ones first, a step for each. What has no such form stays, with the reason.",
  .source = "Yu et al. 2018; TensorFlow functionalize_cond, functionalize_while",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x, c -> Switch -> f, g -> Merge -> y\nx, c -> If { f } else { g } -> y",
  .run = run,
  .documented_rules = rules,
  .once = TRUE,
};
