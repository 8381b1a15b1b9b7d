/* What a pipeline would gain: it runs on a copy, and what it costs before and after is compared. */
#pragma once

#include "passes/pipeline/pipeline.h"

typedef struct
{
  guint n_steps;
  IrCost before, after;
  double before_ms, after_ms; /* predicted, by the table of rates; NAN: there is no schedule */
} IrGain;

gboolean ir_gain_measure (IrModel *model,
                          const IrPipeline *pipeline,
                          const IrBackend *backend,
                          IrGain *gain,
                          GCancellable *cancellable,
                          GError **error);
char *ir_gain_text (const IrGain *gain, const char *pipeline); /* (transfer full) */
