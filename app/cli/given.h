/* Contents of inputs that options give: a data set, files, numbers. */
#pragma once

#include "app/cli/model.h"

typedef struct
{
  IrValue *input;
  IrTensor *tensor; /* (owned) */
  char *option;     /* (owned) for messages */
} CliGiven;

/* (transfer full) (nullable): of CliGiven; where two are of one input, the later counts */
GArray *cli_given (const CliModelOptions *options, IrModel *model, GError **error);
/* (transfer full) (nullable): value id -> IrFill */
GHashTable *cli_fills (const CliModelOptions *options, const IrModel *model, GError **error);
