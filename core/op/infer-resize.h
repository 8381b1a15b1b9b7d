/* The geometry of Resize: which scale and size each axis has, shared by inference and kernel. */
#pragma once

#include "core/op/infer-util.h"

typedef struct
{
  guint rank;
  gboolean chosen[IR_MAX_RANK]; /* roi, scales and sizes speak of this axis */
  gint8 place[IR_MAX_RANK];     /* and stand there in them */
  guint n_chosen;
  double scale[IR_MAX_RANK]; /* out / in; 0 if not known */
  IrDim out[IR_MAX_RANK];
} IrResize;

gboolean ir_resize_init (IrResize *resize, const IrCall *call, GError **error);
