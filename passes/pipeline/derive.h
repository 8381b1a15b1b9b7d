/* What a model goes through before it is derived. */
#pragma once

#include "passes/pipeline/pipeline.h"

gboolean ir_upgrade_to_derive (IrModel *model, GCancellable *cancellable, GError **error);
gboolean ir_prepare_to_derive (IrModel *model,
                               char **wrt,
                               GCancellable *cancellable,
                               GError **error);
