/* What is done with all bytes of a string, which may be two thousand million: with looks, or so
 * that it takes no longer than with a short one. */
#pragma once

#include "core/exec/ref/block.h"

/* Bytes of a string from which on it pays to have its own thread (core/ir/aside.h) for what
 * cannot look: some milliseconds. */
#define IR_LONG_STRING ((gsize) 1 << 18)

const char *ir_string_at (const IrTensor *tensor, guint64 i, gsize *length);
gboolean ir_string_equal (IrBlockWatch *watch, GBytes *a, GBytes *b);
int ir_string_compare (IrBlockWatch *watch, GBytes *a, GBytes *b);
guint ir_string_hash (gconstpointer bytes);
GBytes *ir_string_join (
    IrBlockWatch *watch, const char *a, gsize a_length, const char *b, gsize b_length);
/* What a string says, if it is a number: whole, if it is wanted so and is, or real. */
typedef struct
{
  gboolean is_whole, is_real;
  gint64 whole;
  double real;
} IrStringNumber;

gboolean ir_string_number (IrBlockWatch *watch,
                           GBytes *string,
                           gboolean integers,
                           IrStringNumber *number);
GBytes *ir_string_part (IrBlockWatch *watch, GBytes *string, gsize start, gsize length);
