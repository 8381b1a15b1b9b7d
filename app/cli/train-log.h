/* What irscope train writes down of its steps. */
#pragma once

#include "passes/training/parameters.h"

typedef struct _CliTrainLog CliTrainLog;
/* @append: behind what a run that goes on has written; @parameters: that are to follow */
CliTrainLog *cli_train_log_open (const char *path,
                                 gboolean append,
                                 const GPtrArray *parameters,
                                 GError **error);
void cli_train_log_step (CliTrainLog *log,
                         const IrTrainerResult *step,
                         const IrTrainerResult *check,
                         const GPtrArray *parameters);
gboolean cli_train_log_close (CliTrainLog *log, GError **error); /* (transfer full) (nullable) */
