/* What the graph says of how often a Loop runs, and of what it stacks; for passes over control flow. */
#pragma once

#include "core/op/trips.h"

/* The one element of a constant, int64 or bool, as a number. */
gboolean ir_pass_constant_element (const IrValue *value, gint64 *element);
/* Some node of @graph, or of a graph inside it, draws random numbers. */
gboolean ir_pass_draws (const IrGraph *graph);
gboolean ir_pass_draws_itself (const IrGraph *graph); /* by calls of closures does not count */
/* (nullable) Type of what iterations give behind each other along a new axis */
const IrType *ir_pass_stacked_type (IrContext *context, const IrType *row, gint64 axis);
