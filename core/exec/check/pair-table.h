/* Two tensors side by side in a file: an element to a line, with both contents and their difference. */
#pragma once

#include "core/ir/tensor.h"

/* A header names the columns: axis_0 .., before, after, difference. */
gboolean ir_tensors_save_table (const IrTensor *before,
                                const IrTensor *after,
                                const char *path,
                                GError **error);
