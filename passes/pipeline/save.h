/* Saving a model in a format that does not have all that it has. */
#pragma once

#include "passes/pass.h"

/* As ir_model_save(); ONNX has no tokens, so they are raised before. @n_raised: (out) (optional) by how many
 * steps */
gboolean ir_pass_save_model (IrModel *model,
                             const char *path,
                             const char *format,
                             guint *n_raised,
                             GCancellable *cancellable,
                             GError **error);
