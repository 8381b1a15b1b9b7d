/* Elements of tensors as text: where they lie, what they are. */
#pragma once

#include "core/ir/tensor.h"

#include <gio/gio.h>

char *ir_tensor_index_text (const IrTensor *tensor, guint64 index); /* "[0, 3, 1]" */
/* The flat index that "0, 3, 1" or "[0 3 1]" names, or a flat index; FALSE if there is none. */
gboolean ir_tensor_index_parse (const IrTensor *tensor, const char *text, guint64 *index);
char *ir_tensor_element_text (const IrTensor *tensor, guint64 index); /* exact; "" = none */

/* How an element is written. */
typedef enum
{
  IR_NUMBER_EXACT,      /* all digits that tell it from its neighbours */
  IR_NUMBER_SHORT,      /* four digits */
  IR_NUMBER_FIXED,      /* six digits behind the point */
  IR_NUMBER_SCIENTIFIC, /* one digit before the point, all behind it */
  IR_NUMBER_BITS,       /* what lies in memory, in hexadecimal */
  IR_N_NUMBER_FORMATS
} IrNumberFormat;
const char *ir_number_format_name (IrNumberFormat format); /* as the command line has it */
gboolean ir_number_format_find (const char *name, IrNumberFormat *format);
char *ir_tensor_element_format (const IrTensor *tensor, guint64 index, IrNumberFormat format);
gboolean ir_tensor_write_csv (const IrTensor *tensor, GOutputStream *stream, GError **error);
