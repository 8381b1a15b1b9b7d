/* Dimensions: known (>= 0), unknown (IR_DIM_UNKNOWN) or symbolic (<= -2: an index of a hash-consed
 * expression of the context, so equal expressions are equal integers). Expressions are kept in a
 * canonical form: a sum of products of symbols with integer coefficients, whose atoms may also be
 * floor division, remainder, minimum and maximum. */
#pragma once

#include "core/ir/context.h"

typedef gint64 IrDim;

#define IR_DIM_UNKNOWN ((IrDim) -1)

static inline gboolean
ir_dim_is_known (IrDim dim)
{
  return dim >= 0;
}

static inline gboolean
ir_dim_is_symbolic (IrDim dim)
{
  return dim <= -2;
}

/* Arithmetic over dimensions and over shape-like integer data. A known result may be negative in
 * data (Slice ends, -1 in Reshape); IrNumber keeps value and symbol apart. */
typedef struct
{
  gboolean known; /* value holds; else symbolic expression or unknown */
  gint64 value;   /* valid if known */
  IrDim expr;     /* if not known: IR_DIM_UNKNOWN or a symbolic dim */
} IrNumber;

IrDim ir_dim_symbol (IrContext *context, const char *name);
IrDim ir_dim_parse (IrContext *context, const char *text);
char *ir_dim_to_string (IrContext *context, IrDim dim);
const char *ir_dim_symbol_name (IrContext *context, IrDim dim);

IrDim ir_dim_add (IrContext *context, IrDim a, IrDim b);
IrDim ir_dim_sub (IrContext *context, IrDim a, IrDim b);
IrDim ir_dim_mul (IrContext *context, IrDim a, IrDim b);
IrDim ir_dim_floordiv (IrContext *context, IrDim a, IrDim b);
IrDim ir_dim_ceildiv (IrContext *context, IrDim a, IrDim b);
IrDim ir_dim_mod (IrContext *context, IrDim a, IrDim b);
IrDim ir_dim_max (IrContext *context, IrDim a, IrDim b);
IrDim ir_dim_min (IrContext *context, IrDim a, IrDim b);
gboolean ir_dim_divides (IrContext *context, IrDim a, IrDim b, IrDim *quotient);
void ir_dim_bounds (IrContext *context, IrDim dim, gint64 *lower, gint64 *upper);
gboolean ir_dim_is_positive (IrContext *context, IrDim dim);

IrNumber ir_number_known (gint64 value);
IrNumber ir_number_from_dim (IrDim dim);
IrDim ir_number_to_dim (IrNumber number);
IrNumber ir_number_add (IrContext *context, IrNumber a, IrNumber b);
IrNumber ir_number_sub (IrContext *context, IrNumber a, IrNumber b);
IrNumber ir_number_mul (IrContext *context, IrNumber a, IrNumber b);
IrNumber ir_number_floordiv (IrContext *context, IrNumber a, IrNumber b);

/* @bindings: symbol name -> gint64 * */
gboolean ir_dim_evaluate (IrContext *context, IrDim dim, GHashTable *bindings, gint64 *value);
IrDim ir_dim_substitute (IrContext *context, IrDim dim, GHashTable *bindings);
