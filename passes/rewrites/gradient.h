/* What the passes gradient and tangent derive, by what, and why nothing comes to a value. */
#pragma once

#include "passes/pass.h"

GPtrArray *ir_gradient_wrt (const IrModel *model, const char *wrt, GError **error);
IrValue *ir_gradient_of (const IrModel *model, const char *of, GError **error);
char *ir_gradient_end (const IrValue *value, const IrValue *of, const IrNode **node);

/* -- what both passes share -- */
gboolean ir_gradient_is_geometry (const IrValue *value);
gboolean ir_gradient_is_kind (const char *wrt);
GStrv ir_gradient_names (const IrModel *model, const char *text);
IrValue *ir_gradient_find (const IrModel *model,
                           const char *what,
                           const char *name,
                           GError **error);
guint64 ir_gradient_rank (const IrGraph *graph);
IrValue *ir_gradient_filled (IrPassContext *context, IrValue *like, double element, guint64 rank);
void ir_gradient_connect (IrPassContext *context,
                          IrValue *value,
                          IrValue *gradient,
                          const char *suffix,
                          guint first_node,
                          guint64 rank,
                          GPtrArray *outputs);
GPtrArray *ir_gradient_outputs (const IrGraph *graph);
void ir_gradient_hand_out (IrPassContext *context, const GPtrArray *outputs);
