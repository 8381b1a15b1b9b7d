/* All derivatives of all elements of a value: its Jacobian, a row of the backward part at a time. */
#pragma once

#include "passes/debug/gradients.h"

typedef struct
{
  IrGradients *gradients;
  IrValueId seed; /* the input that weighs the elements of what is derived */
  guint64 n;      /* elements of what is derived */
  GPtrArray
      *tensors; /* per row of @gradients: of IrTensor [of.., by..]; NULL: nothing comes to it */
} IrJacobian;

IrJacobian *ir_jacobian_new (IrModel *model,
                             const IrGradientsSetup *setup,
                             GCancellable *cancellable,
                             GError **error);
void ir_jacobian_free (IrJacobian *jacobian);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrJacobian, ir_jacobian_free)
gboolean ir_jacobian_run (IrJacobian *jacobian,
                          GHashTable *inputs,
                          const IrRunOptions *options,
                          GCancellable *cancellable,
                          GError **error);
