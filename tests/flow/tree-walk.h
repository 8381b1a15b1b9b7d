/* A graph computed without an executor: what every other way to run it is held against. */
#pragma once

#include "core/ir/model.h"

/* What @model gives for @inputs (IrValueId -> IrTensor). A value is computed when somebody reads it, by recursion over the
 * graph as it is written; of the product only the reference kernels of single nodes take part, so no order, plan, memory
 * or runner. It knows If, Loop, Scan (opset 9 on), SequenceMap, calls of functions, and closures.
 * Returns: (transfer full): of IrTensor, by output; NULL with @error set */
GPtrArray *tree_walk (const IrModel *model, GHashTable *inputs, GError **error);
