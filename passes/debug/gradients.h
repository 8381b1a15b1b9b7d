/* The derivatives of a value by many others: the backward graph, what a run of it gave, and what came back
 * through each node. */
#pragma once

#include "core/exec/kernel/stats.h"
#include "core/layout/charts.h"
#include "core/look/overlay.h"
#include "core/op/infer.h"
#include "passes/debug/explain-gradient.h"
#include "passes/proof/gradcheck.h"

typedef struct
{
  const char *of;    /* as the options of the pass gradient: "": the only floating-point output */
  const char *wrt;   /* "params", "inputs", "all", names */
  char *const *stop; /* (nullable) names that count as constant */
  const char *cotangent, *order; /* (nullable) */
} IrGradientsSetup;

/* A derivative. */
typedef struct
{
  IrValueId by, gradient; /* @gradient 0: nothing comes to it */
  char *why;              /* (nullable) why nothing comes */
  IrNodeId end;           /* where the path ends; 0: there is none */
  IrTensorStats stats;    /* of the derivative in the run; n 0: there is none */
  double held;            /* norm of what it is derived by; NAN: not known */
} IrGradientRow;

/* What came back to a node of the graph as it was written. */
typedef struct
{
  IrNodeId node;
  IrValueId value;     /* the output that it came to */
  IrTensorStats stats; /* of what came */
  double growth; /* root mean square of what went on to its inputs, the largest but parameters',
                          by that of what came; NAN: nothing did */
  guint n_units; /* of an activation: channels; else 0 */
  guint n_dead;  /* those that let nothing of what came pass, in no sample and nowhere */
} IrGradientLayer;

/* Shared: with a run it does not change any more. */
typedef struct
{
  gatomicrefcount refs;
  IrModel *model; /* with the backward part, and the steps that made it */
  IrValueId of;
  GArray *rows;        /* of IrGradientRow */
  IrCost forward, all; /* without and with the backward part */
  guint n_outputs;     /* of the graph without it */
  guint first_node;    /* of it; 0: there is none */
  char **stop;         /* (nullable) */
  IrRun *run;          /* (nullable) */
  GArray *layers;      /* (nullable) of IrGradientLayer, backwards; where the run kept all */
  guint64 kept_bytes;  /* what the forward part computes and the backward part reads */
} IrGradients;

IrGradients *ir_gradients_new (IrModel *model,
                               const IrGradientsSetup *setup,
                               GCancellable *cancellable,
                               GError **error);
IrGradients *ir_gradients_ref (IrGradients *gradients);
void ir_gradients_unref (IrGradients *gradients);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrGradients, ir_gradients_unref)
void ir_gradients_take_run (IrGradients *gradients, IrRun *run, gboolean all);
gboolean ir_gradients_run (IrGradients *gradients,
                           GHashTable *inputs,
                           const IrRunOptions *options,
                           GCancellable *cancellable,
                           GError **error);
/* (transfer none) (nullable): of the run, or an initializer */
IrTensor *ir_gradients_tensor (const IrGradients *gradients, IrValueId value);
gboolean ir_gradient_is_remarkable (const IrGradientRow *row);
IrGradientReason *ir_gradients_explain (const IrGradients *gradients, guint row);
GArray *ir_gradients_check (const IrGradients *gradients,
                            guint row,
                            guint64 index,
                            GCancellable *cancellable,
                            GError **error);
GArray *ir_explain_layers (const IrGradients *gradients);
GArray *ir_gradient_nodes_of (const IrModel *model, IrNodeId node);
/* -- shown (gradients-shown.c) -- */
GHashTable *ir_gradients_by_node (const IrGradients *gradients);
char *ir_gradient_row_state (const IrGradientRow *row);
IrScene *ir_gradients_chart (const IrGradients *gradients, const IrChartOptions *options);
