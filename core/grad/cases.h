/* For each operator with a derivative, small graphs that have it: what gradcheck tries it on where there
 * is no model, and what tests of all ways to derive go through. */
#pragma once

#include <glib.h>

#define IR_GRADIENT_CASE_OPSET 27

/* What is derived: it weighs the elements of y differently and is not linear in them. */
#define IR_GRADIENT_CASE_LOSS                                                                      \
  "\n y_sine = Sin (y)\n y_weighed = Mul (y_sine, y)\n"                                            \
  "loss = ReduceSum <keepdims = 0> (y_weighed)\n"

/* y as a function of a, and perhaps of b */
typedef struct
{
  const char *op;         /* whose derivative it is for, without its domain */
  const char *a, *a_type; /* elements repeat */
  const char *b, *b_type; /* (nullable) */
  const char *body;       /* in ONNX text */
} IrGradientCase;

const IrGradientCase *ir_gradient_case (guint i); /* (nullable) */
guint ir_gradient_n_plain (void);
