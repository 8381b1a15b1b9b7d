/* What came back to each node, and how it grew on the way through it. */
#include "config.h"

#include "core/grad/grad.h"
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

/* Of IrGradientLayer, backwards: the nodes of the main graph that something came to */
GArray *
ir_explain_layers (const IrModel *model, IrRun *run)
{
  g_auto (IrExplain) s = { 0 };
  GArray *layers = g_array_new (FALSE, FALSE, sizeof (IrGradientLayer));

  ir_explain_init (&s, model, run, NULL);
  for (guint i = 0; i < s.passages->len; i++)
    {
      const IrPassage *passage = &g_array_index (s.passages, IrPassage, i);
      if (passage->node->id == passage->step->anchor)
        add_layer (&s, passage, layers);
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
