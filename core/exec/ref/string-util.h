/* Elements of tensors of strings: bytes of any length, mostly UTF-8. */
#pragma once

#include "core/exec/ref/block.h"

/* What a string says, if it is a number: whole, if it is wanted so and is, or real. */
typedef struct
{
  gboolean is_whole, is_real;
  gint64 whole;
  double real;
} IrStringNumber;

const char *ir_string_at (const IrTensor *tensor, guint64 i, gsize *length);
GBytes *ir_string_join (const char *a, gsize a_length, const char *b, gsize b_length);
IrStringNumber ir_string_number (GBytes *string, gboolean integers);
GBytes *ir_string_part (GBytes *string, gsize start, gsize length);
