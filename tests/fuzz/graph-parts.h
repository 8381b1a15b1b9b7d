/* Private to the makers of random whole graphs: what families of graphs are put together from.
 * Every part gives what it was given where it cannot be computed, so that graphs go on. */
#pragma once

#include "tests/fuzz/gen.h"

#include <stdlib.h>
#include <string.h>

/* -- values -- */
/* What an input holds follows from its name: s strings, x -1 to 1, p 0.5 to 1.5, kN_ 0 to N - 1, lN_ 1 to N,
 * q all of its type. */
IrValue *part_input (Gen *gen, const char *name, IrDtype dtype, guint rank, const gint64 *dims);
/* Numbers from -scale to scale; one there was before, now and then. */
IrValue *part_weight (Gen *gen, IrDtype dtype, guint rank, const gint64 *dims, double scale);
IrValue *part_positive (Gen *gen, IrDtype dtype, guint rank, const gint64 *dims);
IrValue *part_number (Gen *gen, IrDtype dtype, double number);
/* Constant strings. */
IrValue *part_words (Gen *gen, guint rank, const gint64 *dims);
/* @n < 0: a scalar */
IrValue *part_ints (Gen *gen, const gint64 *values, gint n);
/* What was computed or given, the newest most often; of any rank if @rank is negative. NULL: none.
 */
IrValue *part_pick (Gen *gen, IrDtype dtype, int rank);
/* Another value of the dims of @like but for those of @axis (negative: all the same), or NULL. */
IrValue *part_beside (Gen *gen, const IrValue *like, int axis);
/* A size up to @most, small ones often; 0 or 1 for graphs of such sizes. */
gint64 part_size (Gen *gen, guint most);

guint part_rank (Gen *gen, const IrValue *value);
gint64 part_dim (Gen *gen, const IrValue *value, int axis); /* negative: from the end */
IrDtype part_dtype (Gen *gen, const IrValue *value);

/* -- nodes -- */
/* NULL if it cannot be computed. */
IrValue *part_try (
    Gen *gen, const char *op, guint n_in, IrValue *const *in, const IrAttr *const *attrs);
#define PART(GEN, OP, ATTRIBUTES, ...)                                                             \
  part_try (GEN, OP, sizeof ((IrValue *[]){ __VA_ARGS__ }) / sizeof (IrValue *),                   \
            (IrValue *[]){ __VA_ARGS__ }, ATTRIBUTES)
/* @y, or @x if that is NULL. */
#define PART_OR(Y, X) part_or (Y, X)
static inline IrValue *
part_or (IrValue *y, IrValue *x)
{
  return y != NULL ? y : x;
}
#define STRING(NAME, VALUE) ir_attr_string (gen->context, NAME, VALUE, -1)

IrValue *part_activation (Gen *gen, IrValue *x);
IrValue *part_binary (Gen *gen, IrValue *x);
IrValue *part_reduce (Gen *gen, const char *op, IrValue *x, gint64 axis, gboolean keep);
IrValue *part_reshape (Gen *gen, IrValue *x, guint n, const gint64 *dims);
IrValue *part_transpose (Gen *gen, IrValue *x, const gint64 *order);
IrValue *part_slice (Gen *gen, IrValue *x, gint64 axis, gint64 from, gint64 to);
/* x W + b, with a constant W of @m columns, as MatMul and Add or as Gemm. */
IrValue *part_linear (Gen *gen, IrValue *x, gint64 m);
IrValue *part_normalization (Gen *gen, IrValue *x);
/* The same node once more. */
IrValue *part_again (Gen *gen, IrValue *x);
/* Something that keeps the shape and dtype of a float @x. */
IrValue *part_keeping (Gen *gen, IrValue *x);

/* -- families -- */
void graph_conv (Gen *gen, guint spatial, IrDtype dtype);
void graph_conv_2d (Gen *gen);
void graph_conv_few (Gen *gen);
void graph_conv_1d (Gen *gen);
void graph_conv_3d (Gen *gen);
void graph_conv_transposed (Gen *gen);
void graph_attention (Gen *gen);
void graph_attention_op (Gen *gen);
void graph_recurrent (Gen *gen);
void graph_norms (Gen *gen);
void graph_products (Gen *gen);
void graph_quantized (Gen *gen);
void graph_quantized_ops (Gen *gen);
void graph_control (Gen *gen);
void graph_shapes (Gen *gen);
void graph_integers (Gen *gen);
void graph_indices (Gen *gen);
void graph_float16 (Gen *gen);
void graph_bfloat16 (Gen *gen);
void graph_double (Gen *gen);
void graph_sequences (Gen *gen);
void graph_strings (Gen *gen);
void graph_mixed (Gen *gen);
void graph_edge (Gen *gen);
