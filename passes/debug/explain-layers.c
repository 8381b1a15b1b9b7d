/* What came back to each node, and how it grew on the way through it. */
#include "config.h"

#include "core/grad/grad.h"
#include "core/ir/grad-mark.h"
#include "core/op/op.h"
#include "passes/debug/explain-private.h"
#include "passes/debug/gradients.h"

#include <math.h>
#include <string.h>

static double
mean_square (const IrTensorStats *stats)
{
  return stats->n > 0 ? stats->l2 / sqrt ((double) stats->n) : NAN;
}

/* Which axis units lie along: channels of images, and the last one of sequences */
static guint
axis_of_units (guint rank)
{
  return rank > 3 ? 1 : rank - 1;
}

/* @used: per unit whether an element of @tensor is not 0 */
static void
mark_used (const IrTensor *tensor, gboolean *used)
{
  const guint axis = axis_of_units (ir_tensor_rank (tensor));
  const gint64 *dims = ir_tensor_dims (tensor);
  guint64 below = 1;

  for (guint i = axis + 1; i < ir_tensor_rank (tensor); i++)
    below *= (guint64) dims[i];
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    if (ir_tensor_get_double (tensor, i) != 0)
      used[i / below % (guint64) dims[axis]] = TRUE;
}

/* Units that something came to and nothing went on from. */
static void
count_dead (IrGradientLayer *layer, const IrTensor *came, const IrTensor *on)
{
  guint n;

  if (came == NULL || on == NULL || ir_tensor_rank (on) < 2 ||
      ir_tensor_rank (on) != ir_tensor_rank (came) || ir_tensor_n_elements (on) == 0 ||
      memcmp (ir_tensor_dims (on), ir_tensor_dims (came), ir_tensor_rank (on) * sizeof (gint64)) !=
          0)
    return;
  n = (guint) ir_tensor_dims (on)[axis_of_units (ir_tensor_rank (on))];
  g_autofree gboolean *reached = g_new0 (gboolean, n), *passed = g_new0 (gboolean, n);
  mark_used (came, reached);
  mark_used (on, passed);
  layer->n_units = n;
  for (guint i = 0; i < n; i++)
    layer->n_dead += reached[i] && !passed[i];
}

/* The largest of what went on, but to parameters */
static void
find_growth (const IrExplain *s,
             const IrPassage *passage,
             const IrTensor *came,
             IrGradientLayer *layer)
{
  const double before = mean_square (&layer->stats);
  double most = -1;

  for (guint i = 0; i < passage->step->parts->len; i++)
    {
      const IrValue *value, *part = ir_explain_part_at (s, passage->step, i, &value);
      IrTensorStats stats;
      if (value == NULL || part == NULL || value->producer == passage->node ||
          ir_value_constant (value) != NULL || !ir_explain_stats_of (s, part, &stats))
        continue;
      if (mean_square (&stats) > most)
        most = mean_square (&stats);
      if (value == ir_node_input (passage->node, 0) &&
          ir_explain_kind_of_block (passage->node) == IR_GRADIENT_DEAD)
        count_dead (layer, came, ir_explain_tensor_of (s, part));
    }
  layer->growth = most >= 0 && before > 0 ? most / before : NAN;
}

static void
add_layer (const IrExplain *s, const IrPassage *passage, GArray *layers)
{
  IrGradientLayer layer = { .node = passage->node->id, .growth = NAN };
  const IrTensor *tensor = NULL;
  double most = -1;

  for (guint i = 0; i < passage->node->n_outputs; i++)
    {
      const IrValue *came = ir_explain_came_to (s, passage, i);
      IrTensorStats stats;
      if (came == NULL || !ir_explain_stats_of (s, came, &stats) || !(stats.l2 > most))
        continue;
      most = stats.l2;
      tensor = ir_explain_tensor_of (s, came);
      layer.value = passage->node->outputs[i]->id;
      layer.stats = stats;
    }
  if (tensor == NULL)
    return;
  find_growth (s, passage, tensor, &layer);
  g_array_append_val (layers, layer);
}

/* -- nodes without a step of their own: what came went on as it was, as through Add -- */

typedef struct
{
  const IrExplain *s;
  GHashTable *active; /* set of IrValue */
  GHashTable *came;   /* IrValue -> IrValue: the last that is noted */
} Flow;

static void
flow_clear (Flow *flow)
{
  g_hash_table_unref (flow->active);
  g_hash_table_unref (flow->came);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Flow, flow_clear)

static gboolean
is_stopped (const IrGradients *gradients, const IrValue *value)
{
  return gradients->stop != NULL &&
         g_strv_contains ((const char *const *) gradients->stop, value->name);
}

/* What depends on what is derived by */
static void
find_active (Flow *flow, const IrGradients *gradients)
{
  guint n;
  IrNode *const *order = ir_graph_order (gradients->model->main, &n);

  for (guint i = 0; i < gradients->rows->len; i++)
    g_hash_table_add (
        flow->active,
        ir_model_value (gradients->model, g_array_index (gradients->rows, IrGradientRow, i).by));
  for (guint i = 0; i < n; i++)
    {
      gboolean reads = FALSE;
      ir_node_for_each_input (order[i], k, value)
        reads |= g_hash_table_contains (flow->active, value);
      for (guint k = 0; reads && k < order[i]->n_outputs; k++)
        if (order[i]->outputs[k] != NULL && !is_stopped (gradients, order[i]->outputs[k]))
          g_hash_table_add (flow->active, order[i]->outputs[k]);
    }
}

/* (nullable) The output of the last node that @step has made */
static IrValue *
last_made (const IrModel *model, const IrStep *step)
{
  IrNode *node = NULL;

  for (gsize i = 0; i < step->n_records; i++)
    {
      const IrRecord *record = ir_history_record (model, step->first_record + i);
      IrNode *made = record->kind == IR_RECORD_NODE_STATE
                         ? ir_model_live_node (model, record->subject)
                         : NULL;
      node = made != NULL ? made : node;
    }
  return node != NULL ? node->outputs[0] : NULL;
}

/* Of a vjp step its parts; a sum or a seed is what came to the only output of the node that it is for. */
static void
note_step (Flow *flow, const IrModel *model, const IrStep *step)
{
  const IrNode *anchor = ir_model_live_node (model, step->anchor);

  for (guint i = 0; step->parts != NULL && i < step->parts->len; i++)
    {
      const IrValue *value, *part = ir_explain_part_at (flow->s, step, i, &value);
      if (value != NULL && part != NULL)
        g_hash_table_insert (flow->came, (gpointer) value, (gpointer) part);
    }
  if ((strcmp (step->rule, ir_grad_rule_ACCUMULATE) == 0 ||
       strcmp (step->rule, ir_grad_rule_SEED) == 0) &&
      anchor != NULL && anchor->n_outputs == 1 && last_made (model, step) != NULL)
    g_hash_table_insert (flow->came, anchor->outputs[0], last_made (model, step));
}

static gboolean
passes_on (const Flow *flow, const IrNode *node, const IrValue *input)
{
  const IrGradRow *row = node->op != NULL ? ir_grad_row (node->op) : NULL;

  return row != NULL && !row->zero && ir_grad_mark (node) != IR_GRAD_MARK_STOP &&
         g_hash_table_contains (flow->active, input) && input->type == node->outputs[0]->type;
}

static void
add_passing (Flow *flow, const IrNode *node, GArray *layers)
{
  const IrValue *y = ir_node_output (node, 0);
  IrValue *came = y != NULL && g_hash_table_contains (flow->active, y)
                      ? g_hash_table_lookup (flow->came, y)
                      : NULL;
  IrGradientLayer layer = { .node = node->id, .growth = NAN };

  if (came == NULL || !ir_explain_stats_of (flow->s, came, &layer.stats))
    return;
  layer.value = y->id;
  ir_node_for_each_input (node, i, input)
    if (passes_on (flow, node, input))
      {
        if (ir_value_constant (input) == NULL && mean_square (&layer.stats) > 0)
          layer.growth = 1;
        if (!g_hash_table_contains (flow->came, input))
          g_hash_table_insert (flow->came, input, came);
      }
  g_array_append_val (layers, layer);
}

/**
 * ir_explain_layers:
 * @gradients: derivatives, with a run that kept all values
 *
 * Returns: (transfer full) (element-type IrGradientLayer): the nodes of the main graph that something
 *   came to, backwards
 */
GArray *
ir_explain_layers (const IrGradients *gradients)
{
  const IrModel *model = gradients->model;
  g_auto (IrExplain) s = { 0 };
  g_auto (Flow) flow = { &s, g_hash_table_new (NULL, NULL), g_hash_table_new (NULL, NULL) };
  g_autoptr (GHashTable) passages = g_hash_table_new (NULL, NULL);
  GArray *layers = g_array_new (FALSE, FALSE, sizeof (IrGradientLayer));
  guint n;
  IrNode *const *order = ir_graph_order (model->main, &n);

  ir_explain_init (&s, model, gradients->run, NULL);
  find_active (&flow, gradients);
  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    note_step (&flow, model, ir_history_step (model, i));
  for (guint i = 0; i < s.passages->len; i++)
    {
      const IrPassage *passage = &g_array_index (s.passages, IrPassage, i);
      if (passage->node->id == passage->step->anchor)
        g_hash_table_insert (passages, (gpointer) passage->node, (gpointer) passage);
    }
  for (guint i = n; i-- > 0;)
    {
      const IrPassage *passage = g_hash_table_lookup (passages, order[i]);
      if (passage != NULL)
        add_layer (&s, passage, layers);
      else
        add_passing (&flow, order[i], layers);
    }
  return layers;
}

/**
 * ir_gradient_nodes_of:
 * @model: a model behind the pass gradient, with its steps
 * @node: a node of the graph as it was written
 *
 * Returns: (transfer full): of #IrNodeId: the nodes that were made to derive it
 */
GArray *
ir_gradient_nodes_of (const IrModel *model, IrNodeId node)
{
  GArray *nodes = g_array_new (FALSE, FALSE, sizeof (IrNodeId));

  for (guint i = 1; i <= ir_history_cursor (model); i++)
    {
      const IrStep *step = ir_history_step (model, i);
      if (step->anchor != node || strcmp (step->rule, ir_grad_rule_VJP) != 0)
        continue;
      for (gsize k = 0; k < step->n_records; k++)
        {
          const IrRecord *record = ir_history_record (model, step->first_record + k);
          if (record->kind == IR_RECORD_NODE_STATE &&
              ir_model_live_node (model, record->subject) != NULL)
            g_array_append_val (nodes, record->subject);
        }
    }
  return nodes;
}
