/* Two loops that run equally often become one:
 *
 *     s, u = Scan (a, x) { s + x, f }         s, t, u, v = Scan (a, b, x, y) { s + x, f; t * y, g }
 *     t, v = Scan (b, y) { t * y, g }
 *
 *     u = Scan (x) { f (x) }                  v = Scan (x) { g (f (x)) }
 *     v = Scan (u) { g (u) }
 *
 * The second of two may depend on the first in one way alone: it scans what the first puts
 * together, along the same axis and in the same order, so that slice i is there when iteration i
 * wants it; in a Loop that is Gather (u, i). Nothing else may lead from one to the other: not a
 * final state, not the whole of u, not a third node between them. Two Scans run equally often if
 * they scan the same, or sizes that are known or symbolic and equal; two Loops if their limits are
 * one value or equal constants, and no condition can end them before.
 *
 * The first node stays and takes over what the second has: inputs, outputs, and the nodes of the
 * body. Names that two values have are replaced where bodies meet, since a name of one body may
 * hide what the other captures. Random operators draw by names, so bodies with some stay. Scans of
 * opset 8 have a batch axis and lengths of their own, and stay too. Source: XLA
 * HloMultiOutputFusion; Futhark (Henriksen and others 2017), fusion of maps and scans. */
#include "config.h"

#include "passes/rule/move.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"
#include "passes/rewrites/trips.h"

#include <string.h>

#define RULE_SIBLINGS "merge-scans"
#define RULE_CHAIN    "chain-scans"
#define RULE_LOOPS    "merge-loops"

/* A Loop or a Scan. The inputs of the body are @n_head fixed ones, states and slices, as are those
 * of the node; the outputs of the body are @n_lead fixed ones, states and what is put together, as
 * are those of the node, without the lead. */
typedef struct
{
  IrNode *node;
  IrGraph *body;
  gboolean is_scan;
  guint n_head;    /* Loop: limit or iteration, condition */
  guint n_lead;    /* Loop: condition */
  guint n_states;  /* carried values */
  guint n_scanned; /* Scan alone */
  guint n_scans;   /* outputs that are put together */
} Cycle;

typedef struct
{
  IrPassContext *context;
  IrPassNames *names; /* (nullable) counted when first needed */
} Merger;

typedef struct
{
  Merger *merger;
  GHashTable *positions; /* node -> place in the order of its graph, from 1 */
  Cycle first, second;
  IrValue **stands;   /* by scanned input of the second: value of the first body; NULL: none */
  GPtrArray *gathers; /* of IrNode, in the body of the second: slice i of what the first gives */
  gboolean is_chain;  /* the second reads what the first puts together */
} Pair;

/* -- one loop -- */

static gboolean
has_whole_list (const IrNode *node, const char *attr, guint n_wanted)
{
  guint n = 0;
  const gint64 *values = ir_node_attr_ints (node, attr, &n);

  return values == NULL || n == n_wanted;
}

static gint64
list_entry (const IrNode *node, const char *attr, guint index)
{
  guint n = 0;
  const gint64 *values = ir_node_attr_ints (node, attr, &n);

  return values != NULL && index < n ? values[index] : 0;
}

static gboolean
has_known_attrs (const Cycle *c)
{
  static const char *const names[] = { "body",
                                       "num_scan_inputs",
                                       "scan_input_axes",
                                       "scan_input_directions",
                                       "scan_output_axes",
                                       "scan_output_directions",
                                       NULL };

  for (guint i = 0; i < c->node->n_attrs; i++)
    if (!g_strv_contains (names, c->node->attrs[i]->name))
      return FALSE;
  return !c->is_scan || (has_whole_list (c->node, "scan_input_axes", c->n_scanned) &&
                         has_whole_list (c->node, "scan_input_directions", c->n_scanned) &&
                         has_whole_list (c->node, "scan_output_axes", c->n_scans) &&
                         has_whole_list (c->node, "scan_output_directions", c->n_scans));
}

static gboolean
has_whole_body (const Cycle *c)
{
  if (c->body == NULL || ir_graph_is_cyclic (c->body) ||
      ir_graph_n_inputs (c->body) != c->node->n_inputs ||
      ir_graph_n_outputs (c->body) != c->node->n_outputs + c->n_lead)
    return FALSE;
  for (guint i = 0; i < ir_graph_n_inputs (c->body); i++)
    if (ir_graph_input (c->body, i) == NULL || ir_graph_input (c->body, i)->initializer != NULL ||
        (i >= c->n_head && c->node->inputs[i] == NULL))
      return FALSE;
  for (guint i = 0; i < ir_graph_n_outputs (c->body); i++)
    if (ir_graph_output (c->body, i) == NULL)
      return FALSE;
  return TRUE;
}

static gboolean
cycle_init (Cycle *c, IrNode *node)
{
  gint64 n_scanned = ir_node_attr_int (node, "num_scan_inputs", 0);

  *c = (Cycle){ .node = node, .body = ir_node_attr_graph (node, "body") };
  c->is_scan = ir_op_is (node, IR_OP_SCAN);
  c->n_head = c->is_scan ? 0 : 2;
  c->n_lead = c->is_scan ? 0 : 1;
  if (node->n_inputs < c->n_head || (c->is_scan && (n_scanned < 1 || n_scanned > node->n_inputs)))
    return FALSE;
  c->n_scanned = c->is_scan ? (guint) n_scanned : 0;
  c->n_states = node->n_inputs - c->n_head - c->n_scanned;
  if (node->n_outputs < c->n_states)
    return FALSE;
  c->n_scans = node->n_outputs - c->n_states;
  return has_whole_body (c) && has_known_attrs (c);
}

/* Why it stays by itself, whatever stands beside it; or NULL. */
static const char *
why_alone (const IrPassContext *context, const Cycle *c)
{
  gint64 condition;

  if (ir_pass_has_control (context, c->node))
    return "a control dependency begins or ends there";
  if (!c->is_scan &&
      ((c->node->inputs[1] != NULL &&
        (!ir_pass_constant_element (c->node->inputs[1], &condition) || condition == 0)) ||
       !ir_is_true_inside (c->body, ir_graph_output (c->body, 0))))
    return "a condition may end the Loop before";
  return ir_pass_draws (c->body) ? "the body draws random numbers, which depend on names" : NULL;
}

static IrValue *
scanned_input (const Cycle *c, guint index)
{
  return c->node->inputs[c->n_head + c->n_states + index];
}

static IrValue *
slice_input (const Cycle *c, guint index)
{
  return ir_graph_input (c->body, c->n_head + c->n_states + index);
}

static IrValue *
scan_result (const Cycle *c, guint index)
{
  return ir_graph_output (c->body, c->n_lead + c->n_states + index);
}

/* An axis from the front, where the rank of @value is known. */
static gint64
plain_axis (const IrValue *value, gint64 axis)
{
  int rank = ir_value_rank (value);

  return axis < 0 && rank != IR_RANK_UNKNOWN ? axis + rank : axis;
}

/* -- equally often -- */

static IrDim
scanned_size (const Cycle *c, guint index)
{
  const IrValue *value = scanned_input (c, index);
  gint64 axis = plain_axis (value, list_entry (c->node, "scan_input_axes", index));
  int rank = ir_value_rank (value);

  return rank != IR_RANK_UNKNOWN && axis >= 0 && axis < rank ? value->type->dims[axis]
                                                             : IR_DIM_UNKNOWN;
}

static gboolean
cut_alike (const Cycle *a, guint i, const Cycle *b, guint k)
{
  const IrValue *value = scanned_input (a, i);

  return value == scanned_input (b, k) &&
         plain_axis (value, list_entry (a->node, "scan_input_axes", i)) ==
             plain_axis (value, list_entry (b->node, "scan_input_axes", k));
}

static gboolean
scan_equally_often (const Cycle *a, const Cycle *b)
{
  for (guint i = 0; i < a->n_scanned; i++)
    for (guint k = 0; k < b->n_scanned; k++)
      {
        IrDim size = scanned_size (a, i);

        if (cut_alike (a, i, b, k) || (size != IR_DIM_UNKNOWN && size == scanned_size (b, k)))
          return TRUE;
      }
  return FALSE;
}

static gboolean
loop_equally_often (const Cycle *a, const Cycle *b)
{
  const IrValue *limits[] = { a->node->inputs[0], b->node->inputs[0] };
  gint64 numbers[2];

  if (limits[0] == NULL || limits[1] == NULL)
    return FALSE;
  return limits[0] == limits[1] || (ir_pass_constant_element (limits[0], &numbers[0]) &&
                                    ir_pass_constant_element (limits[1], &numbers[1]) &&
                                    MAX (numbers[0], 0) == MAX (numbers[1], 0));
}

/* -- what leads from the first to the second -- */

/* Which scan output of @c @value is; -1: none. */
static int
scan_index (const Cycle *c, const IrValue *value)
{
  if (value == NULL || value->producer != c->node || value->output_slot < c->n_states)
    return -1;
  return (int) (value->output_slot - c->n_states);
}

/* Slice i of the first is slice i of the second. */
static gboolean
in_step (const Pair *pair, guint scan, guint scanned)
{
  const IrNode *a = pair->first.node, *b = pair->second.node;
  const IrValue *value = scanned_input (&pair->second, scanned);

  return plain_axis (value, list_entry (a, "scan_output_axes", scan)) ==
             plain_axis (value, list_entry (b, "scan_input_axes", scanned)) &&
         (list_entry (a, "scan_output_directions", scan) == 1) ==
             (list_entry (b, "scan_input_directions", scanned) == 1);
}

/* Which slice of the first the second scans at the same time; values of the first body. */
static const char *
find_stands (Pair *pair)
{
  const Cycle *a = &pair->first, *b = &pair->second;

  for (guint k = 0; k < b->n_scanned; k++)
    {
      int scan = scan_index (a, scanned_input (b, k));

      pair->is_chain |= scan >= 0;
      if (scan >= 0 && !in_step (pair, (guint) scan, k))
        return "the second scans what the first gives in another order, or along another axis";
      if (scan >= 0)
        pair->stands[k] = scan_result (a, (guint) scan);
      for (guint i = 0; i < a->n_scanned && pair->stands[k] == NULL; i++)
        if (cut_alike (a, i, b, k) && (list_entry (a->node, "scan_input_directions", i) == 1) ==
                                          (list_entry (b->node, "scan_input_directions", k) == 1))
          pair->stands[k] = slice_input (a, i);
    }
  return NULL;
}

/* @node, in the body of the second Loop, takes slice i of what the first gives. */
static gboolean
is_gather (const Pair *pair, const IrNode *node, guint slot)
{
  const IrValue *iteration = ir_graph_input (pair->second.body, 0);

  return !pair->second.is_scan && slot == 0 && node->graph == pair->second.body &&
         ir_op_is (node, IR_OP_GATHER) && !ir_pass_is_open (node) &&
         ir_node_attr_int (node, "axis", 0) == 0 && node->inputs[1] == iteration &&
         ir_value_rank (iteration) == 0 && scan_index (&pair->first, node->inputs[0]) >= 0;
}

typedef struct
{
  Pair *pair;
  GHashTable *seen;
  GPtrArray *stack;
  char *why; /* (nullable) */
} Search;

/* @user, in the graph of the two or in one inside it, reads @value; @owner is the node of that
 * graph that holds it. */
static void
follow (Search *search, const IrNode *owner, IrNode *user, guint slot, const IrValue *value)
{
  Pair *pair = search->pair;
  const Cycle *a = &pair->first, *b = &pair->second;
  IrNode *producer = value != NULL && value->graph == a->node->graph ? value->producer : NULL;

  if (producer == NULL || search->why != NULL)
    return;
  if (producer != a->node)
    {
      if (GPOINTER_TO_UINT (g_hash_table_lookup (pair->positions, producer)) >
              GPOINTER_TO_UINT (g_hash_table_lookup (pair->positions, a->node)) &&
          g_hash_table_add (search->seen, producer))
        g_ptr_array_add (search->stack, producer);
      return;
    }
  g_autofree char *label = ir_node_label (owner);
  if (owner != b->node)
    search->why = g_strdup_printf ("%s stands between the two", label);
  else if (user != NULL && is_gather (pair, user, slot))
    {
      pair->is_chain = TRUE;
      g_ptr_array_add (pair->gathers, user);
    }
  else if (value->output_slot < a->n_states)
    search->why = g_strdup_printf ("%s reads a value that the first has only at its end", label);
  else if (user != b->node || slot < b->n_head + b->n_states)
    search->why = g_strdup_printf ("%s reads the whole of what the first puts together", label);
}

static void
follow_graph (Search *search, const IrNode *owner, const IrGraph *graph)
{
  IrNode *const *nodes;
  guint n;

  nodes = ir_graph_order (graph, &n);
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GPtrArray) inner = ir_node_subgraphs (nodes[i]);

      ir_node_for_each_input (nodes[i], slot, value)
        {
          follow (search, owner, nodes[i], slot, value);
        }
      for (guint k = 0; k < inner->len; k++)
        follow_graph (search, owner, inner->pdata[k]);
    }
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    follow (search, owner, NULL, i, ir_graph_output (graph, i));
}

static void
follow_node (Search *search, IrNode *node)
{
  g_autoptr (GPtrArray) inner = ir_node_subgraphs (node);

  ir_node_for_each_input (node, slot, value)
    {
      follow (search, node, node, slot, value);
    }
  for (guint i = 0; i < inner->len; i++)
    follow_graph (search, node, inner->pdata[i]);
  for (guint i = 0; node->controls != NULL && i < node->controls->n; i++)
    {
      IrNode *before = ir_model_node (node->graph->model, node->controls->ids[i]);

      if (before->graph == node->graph && g_hash_table_add (search->seen, before))
        g_ptr_array_add (search->stack, before);
    }
}

/* Everything that the second waits for and that may wait for the first. */
static char *
search_between (Pair *pair)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) stack = g_ptr_array_new ();
  Search search = { pair, seen, stack, NULL };

  g_ptr_array_add (stack, pair->second.node);
  while (stack->len > 0 && search.why == NULL)
    follow_node (&search, g_ptr_array_steal_index (stack, stack->len - 1));
  return search.why;
}

/* -- names -- */

static void
add_if_captured (const IrGraph *body, const IrValue *value, GHashTable *names)
{
  const IrGraph *graph = value != NULL ? value->graph : body;

  while (graph != NULL && graph != body)
    graph = ir_graph_outer (graph);
  if (graph == NULL)
    g_hash_table_add (names, (gpointer) value->name);
}

static void
add_captured (const IrGraph *body, const IrGraph *graph, GHashTable *names)
{
  IrNode *const *nodes;
  guint n;

  nodes = ir_graph_order (graph, &n);
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GPtrArray) inner = ir_node_subgraphs (nodes[i]);

      ir_node_for_each_input (nodes[i], slot, value)
        {
          add_if_captured (body, value, names);
        }
      for (guint k = 0; k < inner->len; k++)
        add_captured (body, inner->pdata[k], names);
    }
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    add_if_captured (body, ir_graph_output (graph, i), names);
}

/* What the second body reads from outside must not have the name of a value of the first. */
static void
uncover_captures (const Pair *pair)
{
  g_autoptr (GHashTable) names = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) hiding = g_ptr_array_new ();
  IrEdit *edit = pair->merger->context->edit;
  IrValue *const *values;
  guint n;

  add_captured (pair->second.body, pair->second.body, names);
  values = ir_graph_values (pair->first.body, &n);
  for (guint i = 0; i < n; i++)
    if (g_hash_table_contains (names, values[i]->name))
      g_ptr_array_add (hiding, values[i]);
  for (guint i = 0; i < hiding->len; i++)
    {
      IrValue *value = hiding->pdata[i];
      ir_edit_rename_value (edit, value, ir_edit_unique_name (edit, value->name));
    }
}

/* Graphs in the second body get neighbours whose names theirs would hide. */
static void
rename_inside (const Pair *pair, const IrGraph *graph)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph);

  for (guint i = 0; i < nodes->len; i++)
    {
      g_autoptr (GPtrArray) inner = ir_node_subgraphs (nodes->pdata[i]);

      for (guint k = 0; k < inner->len; k++)
        {
          ir_pass_make_names_unique (pair->merger->context, pair->merger->names, inner->pdata[k]);
          rename_inside (pair, inner->pdata[k]);
        }
    }
}

/* -- the rewrite -- */

/* What the merged node and its body have, in order; of IrValue. */
typedef struct
{
  GPtrArray *inputs, *parameters, *results, *outputs;
  GArray *axes, *directions, *out_axes, *out_directions; /* of gint64 */
} Merged;

static void
merged_clear (Merged *m)
{
  g_ptr_array_unref (m->inputs);
  g_ptr_array_unref (m->parameters);
  g_ptr_array_unref (m->results);
  g_ptr_array_unref (m->outputs);
  g_array_unref (m->axes);
  g_array_unref (m->directions);
  g_array_unref (m->out_axes);
  g_array_unref (m->out_directions);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Merged, merged_clear)

static void
add_entry (GArray *list, const IrNode *node, const char *attr, guint index)
{
  gint64 entry = list_entry (node, attr, index);

  g_array_append_val (list, entry);
}

static void
add_inputs (Merged *m, const Cycle *c, guint from, guint n)
{
  for (guint i = from; i < from + n; i++)
    {
      g_ptr_array_add (m->inputs, c->node->inputs[i]);
      g_ptr_array_add (m->parameters, ir_graph_input (c->body, i));
    }
}

static void
add_scanned (Merged *m, const Cycle *c, IrValue *const *stands)
{
  for (guint i = 0; i < c->n_scanned; i++)
    {
      if (stands != NULL && stands[i] != NULL)
        continue;
      add_inputs (m, c, c->n_head + c->n_states + i, 1);
      add_entry (m->axes, c->node, "scan_input_axes", i);
      add_entry (m->directions, c->node, "scan_input_directions", i);
    }
}

static void
add_outputs (Merged *m, const Cycle *c, guint from, guint n)
{
  for (guint i = from; i < from + n; i++)
    {
      g_ptr_array_add (m->outputs, c->node->outputs[i]);
      g_ptr_array_add (m->results, ir_graph_output (c->body, c->n_lead + i));
      if (i < c->n_states)
        continue;
      add_entry (m->out_axes, c->node, "scan_output_axes", i - c->n_states);
      add_entry (m->out_directions, c->node, "scan_output_directions", i - c->n_states);
    }
}

/* Inside the second, the slice itself takes the place of what is put together. */
static gboolean
is_for_second_alone (const Pair *pair, const IrValue *value)
{
  if (value == NULL || value->n_uses == 0)
    return FALSE;
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);

      if (use.node != pair->second.node && !g_ptr_array_find (pair->gathers, use.node, NULL))
        return FALSE;
    }
  return TRUE;
}

static void
merged_init (Merged *m, const Pair *pair)
{
  const Cycle *a = &pair->first, *b = &pair->second;

  m->inputs = g_ptr_array_new ();
  m->parameters = g_ptr_array_new ();
  m->results = g_ptr_array_new ();
  m->outputs = g_ptr_array_new ();
  m->axes = g_array_new (FALSE, FALSE, sizeof (gint64));
  m->directions = g_array_new (FALSE, FALSE, sizeof (gint64));
  m->out_axes = g_array_new (FALSE, FALSE, sizeof (gint64));
  m->out_directions = g_array_new (FALSE, FALSE, sizeof (gint64));
  add_inputs (m, a, 0, a->n_head + a->n_states);
  add_inputs (m, b, b->n_head, b->n_states);
  add_scanned (m, a, NULL);
  add_scanned (m, b, pair->stands);
  if (a->n_lead > 0)
    g_ptr_array_add (m->results, ir_graph_output (a->body, 0));
  add_outputs (m, a, 0, a->n_states);
  add_outputs (m, b, 0, b->n_states);
  for (guint i = a->n_states; i < a->n_states + a->n_scans; i++)
    if (!is_for_second_alone (pair, a->node->outputs[i]))
      add_outputs (m, a, i, 1);
  add_outputs (m, b, b->n_states, b->n_scans);
}

/* @with, of the first body, for @old, of the second, also where it is a result of the merged one.
 */
static gboolean
stand_in (const Pair *pair, Merged *m, IrValue *old, IrValue *with)
{
  IrPassContext *context = pair->merger->context;
  gboolean used = old->n_uses > 0;

  for (guint i = 0; i < m->results->len; i++)
    if (m->results->pdata[i] == old)
      {
        m->results->pdata[i] = with;
        used = TRUE;
      }
  if (!used)
    return TRUE;
  if (!ir_pass_fit_type (context, old, with))
    return FALSE;
  ir_edit_replace_uses (context->edit, old, with);
  return TRUE;
}

static gboolean
stand_in_slices (const Pair *pair, Merged *m)
{
  IrPassContext *context = pair->merger->context;
  const Cycle *a = &pair->first, *b = &pair->second;

  for (guint k = 0; k < b->n_scanned; k++)
    {
      IrValue *slice = slice_input (b, k);
      if (pair->stands[k] != NULL && !stand_in (pair, m, slice, pair->stands[k]))
        return FALSE;
    }
  for (guint i = 0; i < pair->gathers->len; i++)
    {
      IrNode *node = pair->gathers->pdata[i];
      IrValue *slice = scan_result (a, (guint) scan_index (a, node->inputs[0]));

      if (!stand_in (pair, m, node->outputs[0], slice))
        return FALSE;
      ir_edit_step_map_node (context->edit, node->id, a->node->id);
      ir_pass_remove_node (context, node);
    }
  return TRUE;
}

/* Iteration and condition of a Loop. What computed the condition of the second is of no use. */
static gboolean
stand_in_head (const Pair *pair, Merged *m, IrValue *condition)
{
  const Cycle *a = &pair->first, *b = &pair->second;

  if (condition != NULL && condition->producer != NULL && condition->n_uses == 0 &&
      condition->producer->n_outputs == 1 && condition->graph == b->body)
    ir_pass_remove_node (pair->merger->context, condition->producer);
  for (guint i = 0; i < b->n_head; i++)
    if (!stand_in (pair, m, ir_graph_input (b->body, i), ir_graph_input (a->body, i)))
      return FALSE;
  return TRUE;
}

/* The second body, without inputs and outputs, into the first. */
static void
move_body (const Pair *pair, const Merged *m)
{
  IrPassContext *context = pair->merger->context;
  IrPassNames *names = pair->merger->names;
  const IrGraph *from = pair->second.body;
  IrGraph *to = pair->first.body;
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (from), loose = g_ptr_array_new ();
  IrValue *const *values;
  guint n;

  rename_inside (pair, from);
  values = ir_graph_values (from, &n);
  for (guint i = 0; i < n; i++)
    if (values[i]->producer == NULL)
      g_ptr_array_add (loose, values[i]);
  for (guint i = 0; i < nodes->len; i++)
    {
      const IrNode *node = nodes->pdata[i];
      ir_pass_move_node (context, names, nodes->pdata[i], to);
      ir_edit_step_map_node (context->edit, node->id, node->id);
    }
  for (guint i = 0; i < loose->len; i++)
    {
      IrValue *value = loose->pdata[i];

      if (value->n_uses == 0 && value->initializer == NULL &&
          !g_ptr_array_find (m->parameters, value, NULL))
        ir_edit_remove_value (context->edit, value);
      else
        ir_pass_move_value (context, names, value, to);
    }
}

static void
set_list (IrPassContext *context, IrNode *node, const char *attr, const GArray *list)
{
  gboolean plain = TRUE;

  for (guint i = 0; i < list->len; i++)
    plain = plain && g_array_index (list, gint64, i) == 0;
  if (!plain)
    ir_edit_set_attr (context->edit, node,
                      ir_attr_ints (context->model->context, attr,
                                    (const gint64 *) (gpointer) list->data, list->len));
  else if (ir_node_attr (node, attr) != NULL)
    ir_edit_unset_attr (context->edit, node, attr);
}

static void
set_attrs (IrPassContext *context, const Merged *m, IrNode *node)
{
  ir_edit_set_attr (context->edit, node,
                    ir_attr_int (context->model->context, "num_scan_inputs", m->axes->len));
  set_list (context, node, "scan_input_axes", m->axes);
  set_list (context, node, "scan_input_directions", m->directions);
  set_list (context, node, "scan_output_axes", m->out_axes);
  set_list (context, node, "scan_output_directions", m->out_directions);
}

static void
set_ends (IrPassContext *context, const Merged *m, const Cycle *c)
{
  IrEdit *edit = context->edit;
  guint n = c->node->n_outputs;

  ir_edit_set_n_inputs (edit, c->node, m->inputs->len);
  for (guint i = 0; i < m->inputs->len; i++)
    ir_edit_set_input (edit, c->node, i, m->inputs->pdata[i]);
  for (guint i = 0; i < n; i++)
    ir_edit_set_output (edit, c->node, i, NULL);
  ir_edit_set_n_outputs (edit, c->node, m->outputs->len);
  for (guint i = 0; i < m->outputs->len; i++)
    ir_edit_set_output (edit, c->node, i, m->outputs->pdata[i]);
  ir_edit_set_graph_inputs (edit, c->body, (IrValue *const *) m->parameters->pdata,
                            m->parameters->len);
  ir_edit_set_graph_outputs (edit, c->body, (IrValue *const *) m->results->pdata, m->results->len);
}

static gboolean
merge (const Pair *pair)
{
  IrPassContext *context = pair->merger->context;
  IrEdit *edit = context->edit;
  const Cycle *a = &pair->first, *b = &pair->second;
  IrValue *condition = b->n_lead > 0 ? ir_graph_output (b->body, 0) : NULL;
  g_auto (Merged) m = { 0 };

  merged_init (&m, pair);
  uncover_captures (pair);
  ir_edit_set_graph_outputs (edit, b->body, NULL, 0);
  if (!stand_in_head (pair, &m, condition) || !stand_in_slices (pair, &m))
    return FALSE;
  ir_edit_set_graph_inputs (edit, b->body, NULL, 0);
  move_body (pair, &m);
  for (guint i = 0; i < b->node->n_outputs; i++)
    ir_edit_set_output (edit, b->node, i, NULL);
  ir_edit_step_map_node (edit, b->node->id, a->node->id);
  ir_edit_step_map_node (edit, a->node->id, a->node->id);
  if (a->is_scan)
    set_attrs (context, &m, a->node);
  set_ends (context, &m, a);
  ir_pass_remove_node (context, b->node); /* last: what only it read goes with it */
  return TRUE;
}

/* -- the pass -- */

static const char *
rule_of (const Pair *pair)
{
  return !pair->first.is_scan ? RULE_LOOPS : pair->is_chain ? RULE_CHAIN : RULE_SIBLINGS;
}

/* Why the two stay two, or NULL. */
static char *
why_apart (Pair *pair)
{
  const Cycle *a = &pair->first, *b = &pair->second;
  const char *why = why_alone (pair->merger->context, a);

  if (why == NULL)
    why = why_alone (pair->merger->context, b);
  if (why == NULL && strcmp (a->node->device, b->node->device) != 0)
    why = "the two are placed on different devices";
  if (why == NULL && a->is_scan)
    why = find_stands (pair);
  if (why == NULL && !a->is_scan && !loop_equally_often (a, b))
    why = "the two are not known to run equally often";
  if (why != NULL)
    return g_strdup (why);
  char *between = search_between (pair);
  if (between == NULL && a->is_scan && !pair->is_chain && !scan_equally_often (a, b))
    between = g_strdup ("the two are not known to run equally often");
  return between;
}

static gboolean
try_pair (Pair *pair)
{
  IrPassContext *context = pair->merger->context;
  g_autofree char *why = why_apart (pair), *label = ir_node_label (pair->first.node);
  const char *rule = rule_of (pair);
  IrNodeId id = pair->second.node->id;

  if (why != NULL)
    {
      g_autofree char *reason = g_strdup_printf ("not into %s: %s", label, why);
      ir_edit_refuse (context->edit, rule, id, reason);
      return FALSE;
    }
  if (!ir_pass_begin (context, rule, IR_CLASS_EXACT, pair->second.node))
    return FALSE;
  if (pair->merger->names == NULL)
    pair->merger->names = ir_pass_names_new (context->model);
  ir_edit_step_reason (context->edit, "it runs as often as %s%s", label,
                       pair->is_chain ? ", and takes in each iteration what that gives" : "");
  if (merge (pair))
    {
      ir_pass_end (context);
      return TRUE;
    }
  ir_pass_abort (context);
  ir_edit_refuse (context->edit, rule, id, "less would be known of a type in the body");
  return FALSE;
}

static gboolean
try_nodes (Merger *merger, GHashTable *positions, IrNode *a, IrNode *b)
{
  g_autofree IrValue **stands = g_new0 (IrValue *, b->n_inputs + 1);
  g_autoptr (GPtrArray) gathers = g_ptr_array_new ();
  Pair pair = { .merger = merger, .positions = positions, .stands = stands, .gathers = gathers };

  if (a->op != b->op || ir_pass_is_open (a) || ir_pass_is_open (b))
    return FALSE;
  if (ir_op_is (a, IR_OP_SCAN) && ir_node_opset (a) < 9)
    {
      ir_edit_refuse (merger->context->edit, RULE_SIBLINGS, b->id,
                      "Scans of opset 8 have a batch axis and lengths of their own");
      return FALSE;
    }
  return cycle_init (&pair.first, a) && cycle_init (&pair.second, b) && try_pair (&pair);
}

/* Of @graph, in order; gives the place of each node. */
static GPtrArray *
find_loops (const IrGraph *graph, GHashTable *positions)
{
  GPtrArray *loops = g_ptr_array_new ();
  IrNode *const *nodes;
  guint n;

  g_hash_table_remove_all (positions);
  nodes = ir_graph_order (graph, &n);
  for (guint i = 0; i < n; i++)
    {
      if (ir_op_is (nodes[i], IR_OP_LOOP) || ir_op_is (nodes[i], IR_OP_SCAN))
        g_ptr_array_add (loops, nodes[i]);
      g_hash_table_insert (positions, nodes[i], GUINT_TO_POINTER (i + 1));
    }
  return loops;
}

/* The first pair that fits becomes one. */
static gboolean
merge_some (Merger *merger, const IrGraph *graph)
{
  g_autoptr (GHashTable) positions = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) loops = find_loops (graph, positions);

  for (guint k = 1; k < loops->len; k++)
    for (guint i = 0; i < k; i++)
      if (try_nodes (merger, positions, loops->pdata[i], loops->pdata[k]))
        return TRUE;
  return FALSE;
}

/* Inner graphs first. */
static gboolean
run (IrPassContext *context, GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (context);
  g_autoptr (IrPassNames) names = NULL;
  Merger merger = { .context = context };
  gboolean cancelled = FALSE;

  for (guint i = graphs->len; i > 0 && !cancelled; i--)
    {
      const IrGraph *graph = graphs->pdata[i - 1];

      do
        cancelled = ir_pass_cancelled (context, error);
      while (!cancelled && graph->state == IR_STATE_LIVE && merge_some (&merger, graph));
    }
  names = merger.names;
  return !cancelled;
}

static const IrRule rules[] = {
  { RULE_SIBLINGS, "two Scans over equally many slices, neither of which needs the other",
    "one Scan with the states, slices and nodes of both", IR_CLASS_EXACT,
    "Scans that run equally often run together; what both scan is cut once." },
  { RULE_CHAIN,
    "a Scan over what another one puts together, in the same order, and nothing else "
    "between them",
    "one Scan that hands each slice over", IR_CLASS_EXACT,
    "What one Scan gives in an iteration another one takes in the same." },
  { RULE_LOOPS,
    "two Loops of the same limit that no condition ends before; the second reads of "
    "the first at most Gather (u, i)",
    "one Loop with the carried values and nodes of both", IR_CLASS_EXACT,
    "Loops that run equally often run together." },
  { NULL },
};

const IrPass ir_pass_merge_loops = {
  .name = "merge-loops",
  .title = "Merge loops",
  .doc = "Two Scans, or two Loops, that run equally often become one, if the second needs nothing "
         "of the first, or in each iteration what the first gives in the same one.",
  .source = "XLA HloMultiOutputFusion; Futhark (Henriksen and others 2017)",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x -> Scan { f } -> u; u -> Scan { g } -> v\nx -> Scan { f, g } -> v",
  .run = run,
  .documented_rules = rules,
};
