/* What a network is trained on: tensors with a sample per row, read in an order of their own. */
#pragma once

#include "core/ir/tensor.h"

/* One input of the graph, and where its samples are. */
typedef struct
{
  char *name;     /* of the input */
  char *file;     /* for messages */
  IrTensor *rows; /* (owned) [N, ...]; most often in a mapped file */
  IrDtype dtype;  /* that the input takes */
} IrSampleSource;

/* The last rows are held out for validation; the others are shuffled by seed and epoch. */
typedef struct
{
  GArray *sources; /* of IrSampleSource */
  guint64 n, n_held_out;
  guint64 seed;
  guint64 epoch;  /* that @order is of */
  guint32 *order; /* (nullable) of n - n_held_out rows */
} IrSamples;

IrSamples *ir_samples_new (guint64 seed);
void ir_samples_free (IrSamples *samples);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrSamples, ir_samples_free)
/* @dtype: IR_DTYPE_UNDEFINED: as the file has it */
gboolean ir_samples_add (
    IrSamples *samples, const char *name, const char *file, IrTensor *rows, GError **error);
gboolean ir_samples_take (IrSamples *samples, guint source, IrDtype dtype, GError **error);
/* "20%", a number of rows; the last ones */
gboolean ir_samples_hold_out (IrSamples *samples, const char *text, GError **error);
guint64 ir_samples_n_training (const IrSamples *samples);
IrSampleSource *ir_samples_source (const IrSamples *samples, guint index);
IrTensor *ir_samples_new_batch (const IrSamples *samples, guint source, guint64 n, GError **error);
/* Rows @first .. of the shuffled order of @epoch, or of those held out, into @batch. */
void ir_samples_fill (
    IrSamples *samples, guint source, guint64 epoch, guint64 first, IrTensor *batch);
void ir_samples_fill_held_out (const IrSamples *samples,
                               guint source,
                               guint64 first,
                               IrTensor *batch);
