/* Statistics of a tensor. */
#pragma once

#include "core/op/call.h"

typedef struct
{
  guint64 n;
  double min, max, mean, std; /* over finite elements */
  guint64 n_nan, n_pos_inf, n_neg_inf, n_zero, n_negative;
  double l2;
  guint n_bins;
  double bin_low, bin_high;
  guint64 bins[64]; /* over finite elements */
  guint64 checksum; /* of the bytes */
} IrTensorStats;
void ir_tensor_stats (const IrTensor *tensor, guint n_bins, IrTensorStats *stats);
void ir_tensor_stats_with (const IrTensor *tensor,
                           guint n_bins,
                           IrThreads threads,
                           IrTensorStats *stats);
