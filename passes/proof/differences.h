/* A model as a function that can be moved: in double, on reference kernels. */
#pragma once

#include "core/exec/exec.h"

typedef struct
{
  IrModel *model;     /* the copy in double, with the same ids */
  IrExecutable *runs; /* of it, as far as @of */
  GHashTable *inputs; /* value id -> IrTensor */
  GPtrArray *by;      /* of IrValue of @model: what it is derived by; inputs of it */
  IrValue *of;
  guint n_outputs; /* of the model itself */
  gboolean opens;  /* what it is derived by may be computed: it is cut off from that, and moved */
  IrRunLimits limits;
  GCancellable *cancellable; /* (nullable) */
} IrMovable;

void ir_movable_clear (IrMovable *movable);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrMovable, ir_movable_clear)
gboolean ir_movable_init (IrMovable *movable,
                          IrModel *model,
                          GHashTable *inputs,
                          const char *of,
                          const char *wrt,
                          GError **error);
/* Derivatives by all of @by in double, backwards: per value. (transfer full) (nullable) */
GPtrArray *ir_movable_derive (const IrMovable *movable, GError **error);
/* (transfer full) (nullable): all values where the inputs are */
IrRun *ir_movable_run_all (const IrMovable *movable, GError **error);
/* The sum of what is derived, with the contents of @value moved by @step along @direction */
gboolean ir_movable_at (const IrMovable *movable,
                        const IrValue *value,
                        const double *direction,
                        double step,
                        double *result,
                        GError **error);
double ir_tensor_sum (const IrTensor *tensor);
