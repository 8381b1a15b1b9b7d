/* From a network that is used to what trains it: the graphs of a step, of a check and of a result, made by
 * passes; and the file that a training run leaves, from which another goes on. */
#pragma once

#include "core/exec/train/train.h"
#include "core/grad/optimizer.h"

typedef struct
{
  const char *loss;   /* as the option of to-training */
  const char *of;     /* "": the only floating-point output */
  const char *target; /* name of the input that the loss adds */
  const char *freeze; /* patterns, with commas between */
  gboolean classes_last;
  char **settings; /* (nullable) "optimizer.algorithm=adam", "gradient.stop=x" .. */
  double loss_scale;
  const IrSamples *samples; /* whose rows give inputs their sizes */
  guint64 batch;
} IrTrainingOptions;

/* The same parameters by name in all of them. */
typedef struct
{
  IrModel *result;    /* the network as it is used */
  IrModel *step;      /* a step; with its history */
  IrModel *check;     /* loss and accuracy as it is used */
  IrModel *algorithm; /* of the optimizer alone: derivatives, inputs NAME.grad, to new parameters */
  GPtrArray *notes;   /* of char *: what a user should know */
} IrTraining;
IrTraining *ir_training_new (IrModel *model,
                             const IrTrainingOptions *options,
                             GCancellable *cancellable,
                             GError **error);
void ir_training_free (IrTraining *training);
gboolean ir_training_updates (const IrTraining *training, const IrValue *value);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrTraining, ir_training_free)

/* -- checkpoints (checkpoint.c) -- */
/* What a run that goes on must have in common with the one that it follows. */
typedef struct
{
  guint64 seed, batch, n_training;
  const char *method; /* loss, optimizer and its numbers, as text */
} IrCheckpointKey;
gboolean ir_checkpoint_save (const IrTraining *training,
                             const IrTrainer *trainer,
                             const IrCheckpointKey *key,
                             const char *path,
                             GError **error);
gboolean ir_checkpoint_resume (IrTrainer *trainer,
                               const IrCheckpointKey *key,
                               const char *path,
                               GError **error);
