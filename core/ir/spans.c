/* Where the nodes and values of each graph lie among the ids. Nodes are never taken out of a span, so it may be
 * too wide, never too narrow. */
#include "config.h"

#include "core/ir/model-private.h"

/* @spans: (nullable): nobody has asked yet */
void
ir_id_span_add (IrModel *model, GArray *spans, IrGraphId graph, guint id)
{
  if (spans == NULL)
    return;
  if (spans->len < model->graphs->len)
    g_array_set_size (spans, model->graphs->len);
  IrIdSpan *span = &g_array_index (spans, IrIdSpan, graph);
  span->low = span->low == 0 ? id : MIN (span->low, id);
  span->high = MAX (span->high, id);
}

/* What was added since it was asked for last is looked at now. */
const IrGraphSpans *
ir_model_spans (IrModel *model)
{
  IrGraphSpans *spans = &model->cache->spans;

  if (spans->nodes == NULL)
    {
      spans->nodes = g_array_new (FALSE, TRUE, sizeof (IrIdSpan));
      spans->values = g_array_new (FALSE, TRUE, sizeof (IrIdSpan));
    }
  g_array_set_size (spans->nodes, model->graphs->len);
  g_array_set_size (spans->values, model->graphs->len);
  for (spans->n_nodes = MAX (spans->n_nodes, 1); spans->n_nodes < model->nodes->len;
       spans->n_nodes++)
    {
      const IrNode *node = model->nodes->pdata[spans->n_nodes];
      if (node->graph != NULL)
        ir_id_span_add (model, spans->nodes, node->graph->id, node->id);
    }
  for (spans->n_values = MAX (spans->n_values, 1); spans->n_values < model->values->len;
       spans->n_values++)
    {
      const IrValue *value = model->values->pdata[spans->n_values];
      if (value->graph != NULL)
        ir_id_span_add (model, spans->values, value->graph->id, value->id);
    }
  return spans;
}
