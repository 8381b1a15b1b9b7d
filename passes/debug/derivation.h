/* One derivation in all ways: what each says, or which node stops it first. */
#pragma once

#include "core/layout/charts.h"

typedef struct
{
  IrModel *model;
  IrTape *tape; /* (nullable) forwards and back */
  char *title;  /* "f by x1, x2" */
  GArray *ways; /* of IrChartWay: those that the tape is not, and of the tape why there is none */
} IrDerivation;

IrDerivation *ir_derivation_new (IrModel *model,
                                 GHashTable *inputs,
                                 const char *of,
                                 const char *wrt,
                                 const IrRunLimits *limits,
                                 GCancellable *cancellable,
                                 GError **error);
void ir_derivation_free (IrDerivation *derivation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrDerivation, ir_derivation_free)
IrScene *ir_derivation_chart (const IrDerivation *derivation, const IrChartOptions *options);
