/* Inputs with the outputs that belong to them, as models come with: a folder test_data_set_N beside
 * the model, with input_0.pb, .., output_0.pb, .. in the order of the graph's. */
#pragma once

#include "core/exec/run/run.h"

typedef struct
{
  GHashTable *inputs; /* value id -> IrTensor */
  GHashTable *files;  /* value id -> path: where that was read */
  GHashTable *wanted; /* name of an output -> IrTensor */
} IrDataSet;

GStrv ir_data_set_list (const char *model_path); /* (transfer full): folders, by their number */
IrDataSet *ir_data_set_load (IrModel *model, const char *dir, GError **error);
void ir_data_set_free (IrDataSet *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrDataSet, ir_data_set_free)
/* What differs, in words, by the tolerance of the operator that makes @output, at least that of the
 * standard's own cases; (transfer full) (nullable): nothing. @actual (nullable): was not computed. */
char *ir_data_set_difference (const IrDataSet *set, const IrValue *output, const IrTensor *actual);
