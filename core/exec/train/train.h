/* A training run: one graph, forward, loss, backward and updates, planned once and run for batch after
 * batch. The run owns parameters and states; graph and file stay as they are. It goes on only when it
 * is asked for the next step, so whoever drives it may pause, look, change the rate or leave. */
#pragma once

#include "core/exec/run/control.h"
#include "core/exec/run/run.h"
#include "core/exec/train/rate.h"
#include "core/exec/train/samples.h"

typedef struct
{
  IrModel *step;      /* outputs: loss, perhaps accuracy, and NAME.new for what changes */
  IrModel *check;     /* (nullable) outputs: loss, perhaps accuracy; the same parameters by name */
  IrSamples *samples; /* (transfer full): inputs of both by name */
  guint64 batch, epochs;
  IrRate rate;
  const char *rate_input; /* name of the input that gets it */
  const char *const
      *norms; /* (nullable) states by name: each step says how long they and their changes are */
  IrRunOptions run;
} IrTrainerSetup;

/* What one step, or what is held out, has given. */
typedef struct
{
  guint64 step;          /* from 1 on */
  guint64 epoch;         /* from 1 on */
  double loss, accuracy; /* accuracy: NaN where there is none */
  double rate;
  double ms;
  double weights,
      update; /* norms of what was asked for together, and of its change; NaN: nothing was */
  guint64 allocated_bytes; /* of memory for values, by the run's own account */
} IrTrainerResult;

/* What training begins with and becomes: a parameter, a statistic, or a state of the optimizer. */
typedef struct
{
  char *name;
  IrValueId in, out, check; /* in the step: before and after; in the check, 0: it has none */
  gboolean measured;        /* a part of the norms */
  IrTensor *tensor;         /* (owned) as it is now */
  double weights, update; /* where it is measured: norms of it and of its change in the last step */
} IrTrainerState;

/* Where a run stands, all that it needs to go on beside its states. */
typedef struct
{
  guint64 step;       /* steps done */
  double loss, right; /* of the epoch so far: sums of loss and accuracy over its steps */
} IrTrainerPlace;

typedef struct _IrTrainer IrTrainer;
IrTrainer *ir_trainer_new (const IrTrainerSetup *setup, GError **error);
void ir_trainer_free (IrTrainer *trainer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrTrainer, ir_trainer_free)
/* The next batch. Fails with IR_EXEC_ERROR_KERNEL at the first NaN, naming its node: then states are
 * as they were before the step. */
gboolean ir_trainer_step (IrTrainer *trainer,
                          GCancellable *cancellable,
                          IrTrainerResult *result,
                          GError **error);
gboolean ir_trainer_check (IrTrainer *trainer,
                           GCancellable *cancellable,
                           IrTrainerResult *result,
                           GError **error);
gboolean ir_trainer_holds_out (
    const IrTrainer *trainer); /* ir_trainer_check() has something to do */
gboolean ir_trainer_is_done (const IrTrainer *trainer);
gboolean ir_trainer_ends_epoch (const IrTrainer *trainer);   /* the last step was the last of one */
gboolean ir_trainer_has_diverged (const IrTrainer *trainer); /* a step failed by NaN or infinity */
IrNodeId ir_trainer_bad_node (const IrTrainer *trainer);
gboolean ir_trainer_drive (IrTrainer *trainer, IrRunControl *control, GError **error);
void ir_trainer_set_rate (IrTrainer *trainer, double base);
guint64 ir_trainer_steps_per_epoch (const IrTrainer *trainer);
guint64 ir_trainer_peak_bytes (const IrTrainer *trainer);
/* What holding the budget of the options took in the last step; *planned: (out) bytes of its arena */
IrHeld ir_trainer_held (const IrTrainer *trainer, guint64 *planned);
const GArray *ir_trainer_states (const IrTrainer *trainer); /* of IrTrainerState */
IrTrainerPlace ir_trainer_place (const IrTrainer *trainer);
void ir_trainer_epoch_means (const IrTrainer *trainer, double *loss, double *accuracy);
/* Goes on from there; @tensor: of each state by name */
gboolean ir_trainer_resume (IrTrainer *trainer,
                            const IrTrainerPlace *place,
                            GHashTable *tensors,
                            GError **error);
