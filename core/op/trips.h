/* How often loops run, as far as the graph says it, and what one run costs by that. */
#pragma once

#include "core/op/infer.h"

/* (nullable) What @node runs again and again */
const IrGraph *ir_node_repeated (const IrNode *node);
/* How often that is run each time, where it is proved; -1: not known */
gint64 ir_node_trips (const IrNode *node);
/* Whether @value, of @body, the body of a Loop, is true whenever the body runs. */
gboolean ir_is_true_inside (const IrGraph *body, const IrValue *value);
/* (transfer full) by node id: how often it runs in one run */
guint64 *ir_model_times (const IrModel *model, gboolean *partial);
IrCost ir_cost_run (const IrModel *model, gboolean *partial);
