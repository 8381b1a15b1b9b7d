/* Elements of tensors as text: where they lie, what they are. */
#pragma once

#include "core/ir/tensor.h"

#include <gio/gio.h>

char *ir_tensor_index_text (const IrTensor *tensor, guint64 index); /* "[0, 3, 1]" */
/* The flat index that "0, 3, 1" or "[0 3 1]" names, or a flat index; FALSE if there is none. */
gboolean ir_tensor_index_parse (const IrTensor *tensor, const char *text, guint64 *index);
char *ir_tensor_element_text (const IrTensor *tensor, guint64 index); /* exact; "" = none */
gboolean ir_tensor_write_csv (const IrTensor *tensor, GOutputStream *stream, GError **error);
