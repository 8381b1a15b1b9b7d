/* Runs, for the folder alone. */
#pragma once

#include "core/exec/measure/times.h"
#include "core/ir/worker.h"
#include "views/session/hub.h"
#include "views/session/kernels.h"
#include "views/session/records.h"
#include "views/session/runs.h"
#include "views/session/values.h"

/* -- the last run (runs.c) -- */
typedef struct
{
  IrRun *runs[IR_N_SIDES];  /* (nullable) */
  GHashTable *inputs;       /* (nullable) value id -> IrTensor */
  IrDivergence *divergence; /* (nullable) */
  char *unknown;            /* (nullable) names of chosen values that neither graph has */
  guint step;
  guint n_changes;   /* of its inputs: IrFeed */
  GHashTable *sizes; /* (nullable) likewise */
  gboolean one_run;  /* the run says what the original graph's values were */
} IrLastRun;

void ir_last_run_clear (IrLastRun *run);
/* Moves the contents of @run in the place of the last one; (nullable): there is none any more. */
void ir_session_take_last_run (IrSession *self, IrLastRun *run, GPtrArray *stops);
void ir_session_run_changed (IrSession *self,
                             IrSessionChanges also); /* an overlay is painted anew */
/* (transfer full) (nullable): whose values the next run, at @step, need not compute again */
IrRun *ir_session_dup_earlier_run (IrSession *self, IrSide side, guint step);
void ir_session_forget_run_after (IrSession *self); /* the graph on screen is a new one */
gboolean ir_session_was_run_forgotten (IrSession *self);
GHashTable *ir_session_get_used_inputs (IrSession *self); /* (nullable) of the last run */
gboolean ir_session_was_one_run (IrSession *self);
gboolean ir_session_run_has_other_inputs (IrSession *self); /* than the next one would have */
const char *ir_session_get_unknown (IrSession *self);       /* (nullable) */
/* What somebody made of the run on screen, which goes with it. Takes @data. */
void ir_session_attach_to_run (IrSession *self, gpointer data, GDestroyNotify free_func);
gpointer ir_session_get_attached (IrSession *self);        /* (nullable) */
IrRunOptions ir_session_get_run_options (IrSession *self); /* with the seed */
IrWorker *ir_session_get_worker (IrSession *self);         /* (transfer none) of all its runs */
/* One that fails half way is a result too: what was computed before can be looked at, and the run
 * says which node failed. (transfer full) (nullable) */
IrRun *ir_run_once (IrExecutable *executable,
                    IrModel *model,
                    GHashTable *inputs,
                    GCancellable *cancellable,
                    GError **error);

/* -- what runs took (records.c) -- */
/* A run of the graph on screen, of which times stay when another has taken its place. */
typedef struct _IrRunRecord IrRunRecord;

/* What runs took, as they are made. */
typedef struct
{
  GArray *total; /* (nullable) of double, ms */
  GPtrArray
      *nodes; /* (element-type GArray): of double, ms; by node id, NULL where there are none */
} IrRunSamples;

/* Of a node, by id. */
typedef struct
{
  gboolean compared;
  IrDifference difference;
} IrOutputChange;

void ir_run_samples_init (IrRunSamples *samples);
void ir_run_samples_take (IrRunSamples *samples, const IrTrace *trace);
void ir_run_samples_clear (IrRunSamples *samples);
IrRunRecord *ir_run_record_new (guint step, IrRun *run, const IrRunSamples *samples);
IrRunRecord *ir_run_record_ref (IrRunRecord *record);
void ir_run_record_unref (IrRunRecord *record);
/* (transfer full) (nullable): NULL where the values of @before are gone. @outputs: (out) of
 * IrOutputChange, by node id */
IrRunChange *ir_run_record_compare (const IrRunRecord *before,
                                    const IrRunRecord *after,
                                    const IrModel *model,
                                    GCancellable *cancellable,
                                    GArray **outputs);
IrRunRecord *ir_session_get_record (IrSession *self); /* (nullable) */
void ir_session_take_record (IrSession *self,
                             IrRunRecord *record,
                             IrRunChange *change,
                             GArray *outputs);
void ir_session_forget_records (IrSession *self); /* ids mean something else from now on */

char *ir_session_missing_text (IrSession *self, const IrRun *run); /* (transfer full) */
char *ir_session_stopped_text (IrSession *self, const IrRun *run);
void ir_session_forget_kernel_times (IrSession *self);

/* -- the values of both sides on screen (values.c) -- */
void ir_session_forget_values (IrSession *self);
gboolean ir_session_has_values (IrSession *self); /* of some pair of graphs */
IrTensor *ir_session_pair_tensor (IrSession *self,
                                  IrValueId value,
                                  IrSide side,
                                  gboolean *compared);
