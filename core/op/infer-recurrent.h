/* Recurrent layers: the sizes that RNN, GRU and LSTM share, for inference, cost and kernels. */
#pragma once

#include "core/op/call.h"
#include "core/ir/dim.h"

typedef struct
{
  guint n_gates;      /* blocks of hidden rows in W and R: RNN 1, GRU 3, LSTM 4 */
  guint n_directions; /* 1, or 2 for bidirectional; then the second one is the reverse */
  gboolean reverse;   /* the only direction runs backwards */
  gboolean
      batch_first; /* layout 1: X [batch, steps, in] and Y [batch, steps, directions, hidden] */
  IrDim steps, batch, in, hidden; /* elements */
} IrRecurrent;

/* Of AttnLSTM: the attention to a memory that is a part of what a step reads. */
typedef struct
{
  IrDim steps, depth; /* of the memory */
  IrDim inner;        /* in which the state is held against the memory */
  IrDim size;         /* of what comes behind X: the depth, or what AW makes of it and the state */
} IrRecurrentMemory;

gboolean ir_recurrent_init_attended (IrRecurrent *sizes,
                                     IrRecurrentMemory *memory,
                                     const IrCall *call,
                                     GError **error);
gboolean ir_recurrent_init (IrRecurrent *sizes, const IrCall *call, guint n_gates, GError **error);
