/* Bodies of control flow, copied to be derived: what a body computes is computed again, in a graph
 * of its own, where derivatives follow. */
#pragma once

#include "core/grad/emit.h"
#include "core/grad/grad.h"

typedef struct
{
  const IrVjp *vjp;    /* the node that is derived, and where nodes around go */
  const IrGraph *from; /* what is copied */
  IrVjp emit;          /* where nodes of the copy go */
  GHashTable *values;  /* IrValue of @from -> IrValue of the copy */
  GPtrArray *path;     /* (element-type IrNode): the copies, in order */
  GPtrArray *inputs;   /* (element-type IrValue): of the new graph, as they are added */
  GPtrArray *outputs;  /* (element-type IrValue) */
} IrGradBody;

void ir_grad_body_open (
    IrGradBody *body, const IrVjp *vjp, const IrGraph *from, IrNode *owner, const char *attr);
void ir_grad_body_clear (IrGradBody *body);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrGradBody, ir_grad_body_clear)
IrValue *ir_grad_body_add_input (IrGradBody *body, const IrType *type);
IrValue *ir_grad_body_stand_for (IrGradBody *body, IrValue *value);
void ir_grad_body_copy (IrGradBody *body);
IrValue *ir_grad_body_at (const IrGradBody *body, IrValue *value);
void ir_grad_body_add_output (IrGradBody *body, IrValue *value);
void ir_grad_body_close (IrGradBody *body);
IrReverse *ir_grad_body_reverse (const IrGradBody *body);

/* Where states, slices and scanned values stand among inputs and outputs of a Loop or a Scan. */
typedef struct
{
  guint n_states, n_slices, n_scans;
  guint node_in;  /* input of the node that is the first state; its first output is 0 */
  guint body_in;  /* the same of the body, */
  guint body_out; /* and of its outputs */
} IrGradRounds;

gboolean ir_grad_rounds_init (IrGradRounds *rounds, const IrVjp *vjp, GError **error);
IrReverse *ir_grad_rounds_activity (const IrGradRounds *rounds,
                                    const IrVjp *vjp,
                                    const IrGraph *from);
gboolean ir_grad_refuse_random (const IrVjp *vjp, const IrGraph *graph, GError **error);
IrValue *ir_emit_filled_container (const IrVjp *vjp, IrValue *like, double element);
