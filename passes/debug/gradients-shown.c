/* How derivatives are shown: as numbers of the nodes that colour a graph, in words, and as bars. */
#include "config.h"

#include "passes/debug/gradients.h"

#include <math.h>

/* Of @node; all that is not known is NaN. */
static IrNodeGradient *
entry_of (GHashTable *table, IrNodeId node)
{
  IrNodeGradient *one = g_hash_table_lookup (table, GUINT_TO_POINTER (node));

  if (one == NULL)
    {
      one = g_new (IrNodeGradient, 1);
      *one = (IrNodeGradient){ NAN, NAN, NAN, NAN, NAN };
      g_hash_table_insert (table, GUINT_TO_POINTER (node), one);
    }
  return one;
}

/* Of what the nodes that were there before the backward part read, where all of it is finite */
static void
add_ratios (const IrGradients *gradients, GHashTable *table)
{
  for (guint i = 0; i < gradients->rows->len; i++)
    {
      const IrGradientRow *row = &g_array_index (gradients->rows, IrGradientRow, i);
      const IrValue *by = ir_model_value (gradients->model, row->by);
      const gboolean known = row->stats.n > 0 && row->held > 0 &&
                             row->stats.n_nan + row->stats.n_pos_inf + row->stats.n_neg_inf == 0;
      for (guint k = 0; k < by->n_uses && known; k++)
        {
          const IrNode *reader = ir_value_use (by, k).node;
          if (reader == NULL || (gradients->first_node != 0 && reader->id >= gradients->first_node))
            continue;
          IrNodeGradient *one = entry_of (table, reader->id);
          one->ratio = fmax (one->ratio, row->stats.l2 / row->held);
        }
    }
}

/**
 * ir_gradients_by_node:
 * @gradients: derivatives, with a run that kept all values
 *
 * Returns: (transfer full): node id -> #IrNodeGradient, of the graph as it was written
 */
GHashTable *
ir_gradients_by_node (const IrGradients *gradients)
{
  GHashTable *table = g_hash_table_new_full (NULL, NULL, NULL, g_free);

  for (guint i = 0; gradients->layers != NULL && i < gradients->layers->len; i++)
    {
      const IrGradientLayer *layer = &g_array_index (gradients->layers, IrGradientLayer, i);
      const IrTensorStats *stats = &layer->stats;
      const double part = 100.0 / (double) stats->n;
      IrNodeGradient *one = entry_of (table, layer->node);

      one->norm = stats->l2;
      one->zeros = part * (double) stats->n_zero;
      one->not_finite = part * (double) (stats->n_nan + stats->n_pos_inf + stats->n_neg_inf);
      one->dead = layer->n_units > 0 ? 100.0 * layer->n_dead / layer->n_units : NAN;
    }
  add_ratios (gradients, table);
  return table;
}

/**
 * ir_gradient_row_state:
 * @row: a derivative that a run has computed
 *
 * Returns: (transfer full): what is wrong with it in a word or two; "": nothing
 */
char *
ir_gradient_row_state (const IrGradientRow *row)
{
  const IrTensorStats *stats = &row->stats;

  return g_strdup (row->why != NULL                            ? "no path"
                   : stats->n_nan > 0                          ? "NaN"
                   : stats->n_pos_inf + stats->n_neg_inf > 0   ? "infinite"
                   : stats->n > 0 && stats->n_zero == stats->n ? "zero"
                                                               : "");
}

static char *
number_text (const IrTensorStats *stats)
{
  return stats->n_nan > 0                          ? g_strdup ("NaN")
         : stats->n_pos_inf + stats->n_neg_inf > 0 ? g_strdup ("infinite")
                                                   : g_strdup_printf ("%.3g", stats->l2);
}

static double
length_of (const IrTensorStats *stats)
{
  return stats->n_nan + stats->n_pos_inf + stats->n_neg_inf > 0 ? NAN : stats->l2;
}

/* A bar selects the first node that reads the value. */
static IrNodeId
reader_of (const IrValue *value)
{
  return value->producer != NULL            ? value->producer->id
         : ir_value_n_node_uses (value) > 0 ? ir_value_use (value, 0).node->id
                                            : 0;
}

static void
add_rows (const IrGradients *gradients, GArray *sections)
{
  g_autofree char *title = g_strdup_printf ("Norm of the derivative of %s by each",
                                            ir_model_value (gradients->model, gradients->of)->name);

  ir_chart_sections_add (sections, title);
  for (guint i = 0; i < gradients->rows->len; i++)
    {
      const IrGradientRow *row = &g_array_index (gradients->rows, IrGradientRow, i);
      IrValue *by = ir_model_value (gradients->model, row->by);
      g_autofree char *state = ir_gradient_row_state (row), *number = number_text (&row->stats);
      g_autofree char *tip = g_strdup_printf (
          "%s\nnorm %s, %.0f %% zeros%s%s", by->name, number,
          row->stats.n > 0 ? 100.0 * (double) row->stats.n_zero / (double) row->stats.n : 0.0,
          row->why != NULL ? "\n" : "", row->why != NULL ? row->why : "");

      ir_chart_sections_add_bar (sections,
                                 &(IrChartMagnitude){ .name = (char *) by->name,
                                                      .text = *state != '\0' ? state : number,
                                                      .tip = tip,
                                                      .amount = length_of (&row->stats),
                                                      .warn = *state != '\0',
                                                      .node = reader_of (by) });
    }
}

/* Forwards: the first node of the graph stands first. */
static void
add_layers (const IrGradients *gradients, GArray *sections)
{
  const GArray *layers = gradients->layers;

  if (layers == NULL || layers->len == 0)
    return;
  ir_chart_sections_add (sections,
                         "Norm of what came back to each node, in the order of the graph");
  for (guint i = layers->len; i-- > 0;)
    {
      const IrGradientLayer *layer = &g_array_index (layers, IrGradientLayer, i);
      const IrNode *node = ir_model_node (gradients->model, layer->node);
      g_autofree char *label = ir_node_label (node), *number = number_text (&layer->stats);
      g_autofree char *dead = layer->n_dead > 0
                                  ? g_strdup_printf ("\n%u of %u units let nothing pass",
                                                     layer->n_dead, layer->n_units)
                                  : g_strdup ("");
      g_autofree char *growth = isnan (layer->growth)
                                    ? g_strdup ("")
                                    : g_strdup_printf ("\ntimes %.3g on the way through it",
                                                       layer->growth);
      g_autofree char *tip = g_strdup_printf (
          "%s\nnorm %s, %.0f %% zeros%s%s", label, number,
          100.0 * (double) layer->stats.n_zero / (double) layer->stats.n, growth, dead);

      ir_chart_sections_add_bar (
          sections,
          &(IrChartMagnitude){ .name = label,
                               .text = number,
                               .tip = tip,
                               .amount = length_of (&layer->stats),
                               .warn = layer->n_dead > 0 || isnan (length_of (&layer->stats)),
                               .node = layer->node });
    }
}

/**
 * ir_gradients_chart:
 * @gradients: derivatives, with a run
 * @options: (nullable): the drawing area
 *
 * Returns: (transfer full): their norms, and those of what came back to each node, as bars
 */
IrScene *
ir_gradients_chart (const IrGradients *gradients, const IrChartOptions *options)
{
  g_autoptr (GArray) sections = ir_chart_sections_new ();

  add_rows (gradients, sections);
  add_layers (gradients, sections);
  return ir_chart_magnitudes (sections, NULL, gradients->model, options);
}
