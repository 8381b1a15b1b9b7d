/* What irscope train writes down of its steps. */
#pragma once

#include "core/exec/train/train.h"

typedef struct _CliTrainLog CliTrainLog;
/* @append: behind what a run that goes on has written */
CliTrainLog *cli_train_log_open (const char *path, gboolean append, GError **error);
void cli_train_log_step (CliTrainLog *log,
                         const IrTrainerResult *step,
                         const IrTrainerResult *check);
gboolean cli_train_log_close (CliTrainLog *log, GError **error); /* (transfer full) (nullable) */
