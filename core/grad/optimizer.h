/* The step of an optimizer as nodes: what torch.optim computes, operation by operation. */
#pragma once

#include "core/ir/edit.h"

typedef enum
{
  IR_OPTIMIZER_SGD, /* with momentum, and Nesterov's */
  IR_OPTIMIZER_ADAM,
  IR_OPTIMIZER_ADAMW,
  IR_OPTIMIZER_ADAGRAD,
  IR_N_OPTIMIZERS
} IrOptimizerKind;

/* How parameters follow their derivatives. The learning rate is an input of the graph. */
typedef struct
{
  IrOptimizerKind kind;
  double momentum;     /* of SGD; 0: none is kept */
  gboolean nesterov;   /* look ahead along it */
  double betas[2];     /* of Adam: what stays of the mean and of the mean square */
  double epsilon;      /* added to the root that is divided by */
  double weight_decay; /* AdamW: part of the parameter; else added to the derivative */
  double clip;         /* longest norm of all derivatives together; 0: any */
  double loss_scale;   /* what the derivatives have been multiplied by */
  gboolean preview;    /* nodes of ai.onnx.preview.training, where those compute the same */
} IrOptimizer;

const char *ir_optimizer_name (IrOptimizerKind kind);                  /* "adam" */
void ir_optimizer_init (IrOptimizer *optimizer, IrOptimizerKind kind); /* as torch's defaults */
gboolean ir_optimizer_find (const char *name, IrOptimizer *optimizer, GError **error);
gboolean ir_optimizer_check (const IrOptimizer *optimizer, GError **error);

/* -- updates of one graph -- */
typedef struct _IrUpdates IrUpdates;
IrUpdates *ir_updates_new (IrEdit *edit,
                           IrGraph *graph,
                           const IrOptimizer *optimizer,
                           guint64 rank);
void ir_updates_free (IrUpdates *updates);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrUpdates, ir_updates_free)
void ir_updates_begin (IrUpdates *updates);
void ir_updates_clip (IrUpdates *updates, IrValue **gradients, guint n);
void ir_updates_add (IrUpdates *updates, IrValue *parameter, IrValue *gradient);
/* Of what changes, initializers, and what it becomes, in the same order. (transfer none) */
const GPtrArray *ir_updates_states (const IrUpdates *updates);
const GPtrArray *ir_updates_values (const IrUpdates *updates);

/* Names of what training adds. */
#define IR_TRAINING_RATE   "optimizer.rate"  /* input: double */
#define IR_TRAINING_COUNT  "optimizer.count" /* state: int64, steps so far */
#define IR_TRAINING_SUFFIX ".new"            /* of the output that a state becomes */
