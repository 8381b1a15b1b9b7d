/* What tokens move through is run by an executor of its own, inside of a node that stands in its place:
 * TokenGraph. Nodes that run once and are never dead stay outside, where the plan places and binds them;
 * of those, what lies between two that do not goes along. */
#include "config.h"

#include "core/exec/lower/lower.h"

#include "core/ir/frames.h"
#include "core/op/op.h"

typedef struct
{
  IrEdit *edit;
  IrModel *model;
  IrGraph *graph;
  GPtrArray *nodes; /* of @graph, in order */
  guint8 *inside;   /* by node id */
  IrGraph *body;
  IrNode *node;             /* that stands for them */
  GPtrArray *inner, *outer; /* of IrValue: what leaves, as the body and as @graph know it */
} Region;

/* The node of @graph that @node is or lies in; (nullable) */
static IrNode *
lift (const IrGraph *graph, const IrGraph *inner, IrNode *node)
{
  while (inner != NULL && inner != graph)
    {
      node = ir_model_live_node (graph->model, inner->owner);
      inner = node != NULL ? node->graph : NULL;
    }
  return inner != NULL ? node : NULL;
}

static gboolean
is_inside (const Region *region, const IrNode *node)
{
  return node != NULL && region->inside[node->id];
}

/* Whether some node before @node, by values or controls, is marked. */
static gboolean
is_behind (const IrGraph *graph, const IrNode *node, const guint8 *marked)
{
  g_autoptr (GPtrArray) captures = ir_node_captures (node);

  for (guint i = 0; i < node->n_inputs + captures->len; i++)
    {
      const IrValue *value = i < node->n_inputs ? node->inputs[i]
                                                : captures->pdata[i - node->n_inputs];
      if (value != NULL && value->producer != NULL && value->producer->graph == graph &&
          marked[value->producer->id])
        return TRUE;
    }
  for (guint i = 0; node->controls != NULL && i < node->controls->n; i++)
    if (ir_model_live_node (graph->model, node->controls->ids[i]) != NULL &&
        marked[node->controls->ids[i]])
      return TRUE;
  return FALSE;
}

/* Marks what @node waits for. */
static void
mark_before (const IrGraph *graph, const IrNode *node, guint8 *marked)
{
  g_autoptr (GPtrArray) captures = ir_node_captures (node);

  for (guint i = 0; i < node->n_inputs + captures->len; i++)
    {
      const IrValue *value = i < node->n_inputs ? node->inputs[i]
                                                : captures->pdata[i - node->n_inputs];
      if (value != NULL && value->producer != NULL && value->producer->graph == graph)
        marked[value->producer->id] = TRUE;
    }
  for (guint i = 0; node->controls != NULL && i < node->controls->n; i++)
    marked[node->controls->ids[i]] = TRUE;
}

/* Nodes that handle tokens, that run in a frame, or that may be dead; and what lies between them. */
static void
find_inside (Region *region)
{
  g_autoptr (IrFrames) frames = ir_frames_new (region->graph);
  guint n_nodes = region->model->nodes->len;
  g_autofree guint8 *behind = g_new0 (guint8, n_nodes), *before = g_new0 (guint8, n_nodes);

  for (guint i = 0; i < region->nodes->len; i++)
    {
      const IrNode *node = region->nodes->pdata[i];
      gboolean own = ir_node_tokens (node) != IR_TOKENS_STRICT || frames->frame_of[node->id] != 0 ||
                     frames->conditions[node->id]->n > 0;
      region->inside[node->id] = own;
      behind[node->id] = own || is_behind (region->graph, node, behind);
    }
  for (guint i = region->nodes->len; i > 0; i--)
    {
      const IrNode *node = region->nodes->pdata[i - 1];
      before[node->id] |= region->inside[node->id];
      if (before[node->id])
        mark_before (region->graph, node, before);
      region->inside[node->id] |= behind[node->id] && before[node->id];
    }
}

/* Control dependencies do not go from graph to graph: the node in place takes those at the border. */
static void
move_controls (Region *region)
{
  for (guint i = 0; i < region->nodes->len; i++)
    {
      IrNode *node = region->nodes->pdata[i];
      const IrIdList *controls = node->controls;
      for (guint k = 0; controls != NULL && k < controls->n; k++)
        {
          IrNode *before = ir_model_live_node (region->model, controls->ids[k]);
          if (before == NULL || is_inside (region, before) == is_inside (region, node))
            continue;
          ir_edit_remove_control (region->edit, node, before);
          if (is_inside (region, node))
            ir_edit_add_control (region->edit, region->node, before);
          else
            ir_edit_add_control (region->edit, node, region->node);
        }
    }
}

/* In a list of outputs of a graph inside, @with in place of @old. */
static void
change_outputs (Region *region, IrGraph *graph, const IrValue *old, IrValue *with)
{
  g_autoptr (GPtrArray) values = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    {
      IrValue *value = ir_graph_output (graph, i);
      g_ptr_array_add (values, value == old ? with : value);
    }
  ir_edit_set_graph_outputs (region->edit, graph, (IrValue *const *) values->pdata, values->len);
}

/* If somebody outside reads @value, it stays there as an output of the node in place, and those inside
 * read another. */
static void
let_out (Region *region, IrNode *node, guint slot)
{
  IrValue *value = node->outputs[slot];
  g_autoptr (GArray) inside = g_array_new (FALSE, FALSE, sizeof (IrUse));
  gboolean outside = FALSE;

  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      if (is_inside (region, lift (region->graph, use.graph, use.node)))
        g_array_append_val (inside, use);
      else
        outside = TRUE;
    }
  if (!outside)
    return;
  IrValue *own = ir_edit_add_value (region->edit, region->graph,
                                    ir_edit_unique_name (region->edit, value->name), value->type);
  ir_edit_set_output (region->edit, node, slot, own);
  for (guint i = 0; i < inside->len; i++)
    {
      IrUse use = g_array_index (inside, IrUse, i);
      if (use.node != NULL)
        ir_edit_set_input (region->edit, use.node, use.slot, own);
      else
        change_outputs (region, use.graph, value, own);
    }
  g_ptr_array_add (region->inner, own);
  g_ptr_array_add (region->outer, value);
}

static void
wrap_graph (IrEdit *edit, IrGraph *graph, const char *problem)
{
  IrModel *model = ir_edit_model (edit);
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph);
  g_autofree guint8 *inside = g_new0 (guint8, model->nodes->len);
  g_autoptr (GPtrArray) inner = g_ptr_array_new (), outer = g_ptr_array_new ();
  Region region = { edit, model, graph, nodes, inside, NULL, NULL, inner, outer };

  find_inside (&region);
  for (guint i = 0; i < nodes->len; i++)
    {
      IrNode *node = nodes->pdata[i];
      for (guint k = 0; is_inside (&region, node) && k < node->n_outputs; k++)
        if (node->outputs[k] != NULL)
          let_out (&region, node, k);
    }
  region.body = ir_edit_add_graph (edit, IR_GRAPH_SUBGRAPH, "tokens");
  region.node = ir_edit_add_node_with_outputs (edit, graph, "TokenGraph", "irscope.flow", "tokens",
                                               0, NULL, outer->len,
                                               (IrValue *const *) outer->pdata);
  move_controls (&region);
  for (guint i = 0; i < nodes->len; i++)
    if (is_inside (&region, nodes->pdata[i]))
      ir_edit_move_node (edit, nodes->pdata[i], region.body);
  ir_edit_set_graph_outputs (edit, region.body, (IrValue *const *) inner->pdata, inner->len);
  ir_edit_set_attr (edit, region.node, ir_attr_graph (model->context, "body", region.body->id));
  if (problem != NULL)
    ir_edit_set_attr (edit, region.node, ir_attr_string (model->context, "problem", problem, -1));
}

/* (transfer full) (nullable) Why frames of @graph are broken */
static char *
find_problem (const IrGraph *graph)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  ir_graph_report_frames (graph, problems);
  for (guint i = 0; i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];
      if (problem->severity == IR_SEVERITY_ERROR)
        return g_strdup_printf ("%s. %s", problem->message, problem->hint);
    }
  return NULL;
}

/**
 * ir_exec_wrap_tokens:
 * @model: a private copy of a model, without function calls, not being edited
 *
 * In each graph that has nodes that are not strict, puts one TokenGraph in place of those and of what
 * depends on what they do. Graphs without such nodes stay as they are, and cost nothing.
 *
 * Where frames are broken, as ir_graph_report_frames() finds it, the TokenGraph fails when it is run, and
 * what does not need it can still be had.
 */
void
ir_exec_wrap_tokens (IrModel *model)
{
  guint n_graphs = model->graphs->len;
  g_autoptr (IrEdit) edit = NULL;

  for (guint i = 1; i < n_graphs; i++)
    {
      IrGraph *graph = ir_model_graph (model, i);
      if (graph->state != IR_STATE_LIVE || graph->kind == IR_GRAPH_FUNCTION ||
          !ir_graph_has_tokens (graph) || ir_graph_is_cyclic (graph))
        continue;
      g_autofree char *problem = find_problem (graph);
      if (edit == NULL)
        edit = ir_edit_new_import (model);
      wrap_graph (edit, graph, problem);
    }
}
