/* What a training step minimizes: losses as nodes. */
#pragma once

#include "core/ir/edit.h"

/* How a prediction is compared with what it should have been. */
typedef struct
{
  IrValue *prediction; /* in: of the graph; out: what the loss reads */
  IrValue *target;     /* out: a new input; (nullable) where the loss was a value of the graph */
  IrValue *loss;       /* out: a scalar */
  IrValue *accuracy;   /* out: (nullable) a scalar: share of predictions that are right */
} IrLossHead;

typedef struct _IrLossKind IrLossKind;
const IrLossKind *ir_loss_find (const char *name); /* (nullable) */
const char *ir_loss_names (void);                  /* "cross-entropy, nll, ..." */
/* What it stands before, where the loss has its own form of it: a Softmax, a Sigmoid; (nullable) */
IrNode *ir_loss_activation (const IrLossKind *kind, const IrValue *prediction, gboolean last);
gboolean ir_loss_check (const IrLossKind *kind,
                        const IrValue *prediction,
                        gboolean last,
                        GError **error);
void ir_loss_add (IrEdit *edit,
                  const IrLossKind *kind,
                  const char *target,
                  double delta,
                  gboolean last,
                  IrLossHead *head);
void ir_loss_take_value (IrEdit *edit, IrValue *value, IrLossHead *head);
