/* Derivatives: nodes that compute gradients, built from the GRAD column of the op table. */
#pragma once

#include "core/grad/vjp.h"

#define IR_GRAD_ERROR (ir_grad_error_quark ())
GQuark ir_grad_error_quark (void);
typedef enum
{
  IR_GRAD_ERROR_NO_RULE /* a node on the way cannot be derived: message says which and why */
} IrGradErrorCode;

/* What the caller does around each part of a derivation. */
typedef struct
{
  gboolean (*begin) (const char *rule, const IrNode *anchor, gpointer data); /* (nullable) FALSE:
                                                                                leave it out */
  void (*end) (gpointer data);                                               /* (nullable) */
  IrGradInline inline_body;                                                  /* (nullable) */
  gpointer data;
} IrGradHooks;

#define IR_GRAD_RULES(R)                                                                           \
  R (SEED, "seed")                                                                                 \
  R (KEEP, "keep")                                                                                 \
  R (VJP, "vjp")                                                                                   \
  R (ACCUMULATE, "accumulate")
#define R(ID, NAME) extern const char ir_grad_rule_##ID[];
IR_GRAD_RULES (R)
#undef R

/* -- reverse accumulation (reverse.c) -- */
typedef struct _IrReverse IrReverse;
IrReverse *ir_reverse_new (IrEdit *edit, IrGraph *graph, guint64 rank, const IrGradHooks *hooks);
void ir_reverse_free (IrReverse *reverse);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrReverse, ir_reverse_free)
void ir_reverse_by (IrReverse *reverse, IrValue *value);
void ir_reverse_hold (IrReverse *reverse, IrValue *value);
GPtrArray *ir_reverse_path (const IrReverse *reverse, IrValue *of);
gboolean ir_reverse_run (
    IrReverse *reverse, IrValue *of, IrValue *seed, IrNode *const *path, guint n, GError **error);
IrValue *ir_reverse_gradient (IrReverse *reverse, IrValue *value);

/* -- the operator Gradient (gradient.c) -- */
gboolean ir_grad_expand (IrEdit *edit, const IrGradHooks *hooks, GError **error);
/* -- what can be derived (markdown.c) -- */
const char *ir_grad_kind (const IrOp *op); /* "rules", "function", "body", "zero", "opaque" */
char *ir_grad_markdown (void);             /* docs/GRADIENTS.md */
