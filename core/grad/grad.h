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
  guint max_nodes; /* that a derivation may add; 0: a million */
  gboolean opens;  /* forwards: products that are opened are not computed beside, to rounding */
} IrGradHooks;

#define IR_GRAD_RULES(R)                                                                           \
  R (SEED, "seed")                                                                                 \
  R (KEEP, "keep")                                                                                 \
  R (VJP, "vjp")                                                                                   \
  R (TANGENT, "tangent")                                                                           \
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
GHashTable *ir_reverse_sources (const IrReverse *reverse, const IrValue *of);
GPtrArray *ir_reverse_path (const IrReverse *reverse, IrValue *const *of, guint n);
gboolean ir_reverse_run (
    IrReverse *reverse, IrValue *of, IrValue *seed, IrNode *const *path, guint n, GError **error);
IrValue *ir_reverse_gradient (IrReverse *reverse, IrValue *value);
void ir_reverse_give (IrReverse *reverse, IrValue *value, IrValue *part);
/* of one node */
gboolean ir_reverse_node (const IrReverse *reverse, IrVjp *vjp, GError **error);
GPtrArray *ir_reverse_open_body (const IrReverse *reverse,
                                 const IrNode *node,
                                 IrValue ***outputs,
                                 GError **error);
void ir_reverse_keep (const IrReverse *reverse, const IrVjp *vjp);
GPtrArray *ir_grad_captured (const IrNode *node);
GPtrArray *ir_reverse_captured (const IrReverse *reverse, const IrNode *node);
gboolean ir_reverse_is_active (const IrReverse *reverse, const IrValue *value);
void ir_reverse_activate (IrReverse *reverse, IrNode *const *path, guint n);
gboolean ir_reverse_reads (const IrNode *node, const IrValue *value);

/* -- forward accumulation (forward.c) -- */
typedef struct _IrForward IrForward;
IrForward *ir_forward_new (IrEdit *edit, IrGraph *graph, const IrGradHooks *hooks);
void ir_forward_free (IrForward *forward);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrForward, ir_forward_free)
void ir_forward_by (IrForward *forward, IrValue *value, IrValue *tangent);
void ir_forward_hold (IrForward *forward, IrValue *value);
gboolean ir_forward_run (IrForward *forward, IrValue *const *of, guint n_of, GError **error);
gboolean ir_forward_opens (const IrNode *node);
IrValue *ir_forward_tangent (const IrForward *forward, const IrValue *value);

/* -- the operator Gradient (gradient.c) -- */
gboolean ir_grad_expand (IrEdit *edit, const IrGradHooks *hooks, GError **error);
/* -- what can be derived (markdown.c) -- */
const char *ir_grad_kind (const IrOp *op); /* "rules", "function", "body", "zero", "opaque" */
char *ir_grad_markdown (void);             /* docs/GRADIENTS.md */
