/* A training run as it is asked for, in words: samples in files, a loss, an optimizer; and how it begins. */
#pragma once

#include "passes/training/training.h"

#define IR_TRAINING_BATCH 32 /* where nothing is said */

/* Texts are those of the options of irscope train. */
typedef struct
{
  char *const *data;     /* NAME=FILE */
  const char *target;    /* (nullable) a file */
  const char *loss, *of; /* @of: (nullable): the only floating-point output */
  const char *rate, *schedule, *validate, *loss_scale; /* all but @rate (nullable) */
  char *const *freeze;                                 /* (nullable) patterns */
  char *const *settings; /* of passes: "optimizer.algorithm=adam", "gradient.stop=x" .. */
  guint64 batch, epochs; /* 0: 32; 1 */
  guint64 seed;
} IrTrainingOrder;

typedef struct
{
  IrTraining *training;
  IrTrainer *trainer; /* (nullable) before ir_training_run_begin() */
  IrCheckpointKey key;
  char *method; /* what must be the same for the same bits, in words */
  /* private */
  IrTrainerSetup setup;
} IrTrainingRun;

IrTrainingRun *ir_training_run_new (IrModel *model,
                                    const IrTrainingOrder *order,
                                    GCancellable *cancellable,
                                    GError **error);
void ir_training_run_free (IrTrainingRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrTrainingRun, ir_training_run_free)
gboolean ir_training_run_begin (IrTrainingRun *run,
                                const IrRunOptions *options,
                                gboolean norms,
                                const char *resume,
                                GError **error);
gboolean ir_training_run_save (const IrTrainingRun *run, const char *path, GError **error);
IrNodeId ir_training_run_node (const IrTrainingRun *run, IrNodeId node);
IrNodeId ir_training_run_bad_node (const IrTrainingRun *run);
char *ir_training_run_diverged_text (const IrTrainingRun *run, const GError *error);
char *ir_training_run_unmoved_text (const IrTrainingRun *run);
