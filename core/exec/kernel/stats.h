/* Statistics of a tensor. */
#pragma once

#include "core/op/call.h"

#include <gio/gio.h>

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
double ir_tensor_stats_norm (const IrTensorStats *stats);
double ir_tensor_stats_max_abs (const IrTensorStats *stats);
guint64 ir_tensor_stats_n_finite (const IrTensorStats *stats);
char *ir_tensor_stats_range_text (const IrTensorStats *stats, int digits, const char *gap);
void ir_tensor_stats_with (const IrTensor *tensor,
                           guint n_bins,
                           IrThreads threads,
                           IrTensorStats *stats);

/* What follows statistics under way. */
typedef struct
{
  GCancellable *cancellable;                         /* (nullable) */
  void (*progress) (double fraction, gpointer data); /* (nullable) on the calling thread */
  gpointer data;
} IrStatsWatch;
gboolean ir_tensor_stats_watched (const IrTensor *tensor,
                                  guint n_bins,
                                  IrThreads threads,
                                  const IrStatsWatch *watch,
                                  IrTensorStats *stats);

/* -- sample.c: a part that stands for all -- */
IrTensor *ir_tensor_sample (const IrTensor *tensor, guint64 most); /* (transfer full) (nullable) */

/* -- places.c: where what they count lies; the number of elements: nowhere -- */
typedef struct
{
  guint64 min, max; /* of finite elements */
  guint64 nan, inf; /* the first of them */
} IrTensorPlaces;
void ir_tensor_places (const IrTensor *tensor, const IrTensorStats *stats, IrTensorPlaces *places);

typedef enum
{
  IR_HISTOGRAM_LINEAR,
  IR_HISTOGRAM_LOG,      /* of powers of ten of magnitudes */
  IR_HISTOGRAM_SYMMETRIC /* from the largest magnitude below zero to that above */
} IrHistogramKind;
gboolean ir_histogram_kind_find (const char *name, IrHistogramKind *kind);

typedef struct
{
  IrHistogramKind kind;
  double low, high; /* logarithmic: powers of ten */
  guint n_bins;
  guint64 bins[64];
  guint64 n_zero; /* logarithmic: in no bin */
} IrHistogram;
void ir_tensor_histogram (const IrTensor *tensor,
                          const IrTensorStats *stats,
                          IrHistogramKind kind,
                          IrHistogram *result);
