/* Element types of tensors: a table (dtype.def) and the few questions that one asks of it. */
#pragma once

#include <glib.h>

typedef enum
{
  IR_DTYPE_UNDEFINED = 0,
#define IR_DTYPE(ID, CODE, NAME, BITS, KIND, NUMPY) IR_DTYPE_##ID = CODE,
#include "core/ir/dtype.def"
  IR_N_DTYPES
} IrDtype;

typedef enum
{
  IR_DTYPE_KIND_NONE,
  IR_DTYPE_KIND_FLOAT,
  IR_DTYPE_KIND_SINT,
  IR_DTYPE_KIND_UINT,
  IR_DTYPE_KIND_BOOL,
  IR_DTYPE_KIND_STRING,
  IR_DTYPE_KIND_COMPLEX,
  IR_N_DTYPE_KINDS
} IrDtypeKind;

/* How a number becomes a float8e8m0, which holds powers of two only: to the nearest one, where ties
 * go up; to the next one away from zero, or towards zero. */
typedef enum
{
  IR_DTYPE_ROUND_NEAREST,
  IR_DTYPE_ROUND_UP,
  IR_DTYPE_ROUND_DOWN
} IrDtypeRounding;

const char *ir_dtype_name (IrDtype dtype);
IrDtype ir_dtype_from_name (const char *name);
IrDtypeKind ir_dtype_kind (IrDtype dtype);
guint ir_dtype_bits (IrDtype dtype);
const char *ir_dtype_numpy (IrDtype dtype);
gboolean ir_dtype_is_valid (gint64 code);
gboolean ir_dtype_is_float (IrDtype dtype);
gboolean ir_dtype_is_integer (IrDtype dtype);
gboolean ir_dtype_storage_bytes (IrDtype dtype, guint64 n_elements, gsize *bytes);

/* The one place where an element of any numeric type is widened or rounded. */
gboolean ir_dtype_get_double (IrDtype dtype, const void *data, gsize index, double *value);
void ir_dtype_set_double (IrDtype dtype, void *data, gsize index, double value);
void ir_dtype_cast_double (IrDtype dtype,
                           void *data,
                           gsize index,
                           double value,
                           gboolean saturate,
                           IrDtypeRounding rounding);
guint ir_dtype_get_code (IrDtype dtype, const void *data, gsize index);
void ir_dtype_set_code (IrDtype dtype, void *data, gsize index, guint code);
gboolean ir_dtype_get_int64 (IrDtype dtype, const void *data, gsize index, gint64 *value);
void ir_dtype_set_int64 (IrDtype dtype, void *data, gsize index, gint64 value);
float ir_float16_to_float (guint16 bits);
guint16 ir_float16_from_float (float value);
float ir_bfloat16_to_float (guint16 bits);
guint16 ir_bfloat16_from_float (float value);
