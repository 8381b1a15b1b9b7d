/* The session's fields, for the files session*.c alone. */
#pragma once

#include "core/layout/scene.h"
#include "passes/debug/bisect.h"
#include "views/jobs.h"
#include "views/session/execution.h"
#include "views/session/runs.h"
#include "views/session/session.h"
#include "views/picture.h"

/* The live model with its history. Held by the session and by every job that reads it; the lock
 * guards snapshots and lineage, which keep caches in the log. Once here a model is never edited:
 * verbs fork it and put a new timeline in its place. */
typedef struct
{
  gatomicrefcount ref_count;
  GMutex lock;
  IrModel *model;
  IrModel *original; /* frozen, step 0 */
} IrTimeline;

IrTimeline *ir_timeline_new (IrModel *model); /* takes @model */
IrTimeline *ir_timeline_ref (IrTimeline *timeline);
void ir_timeline_unref (IrTimeline *timeline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrTimeline, ir_timeline_unref)

typedef struct _IrPairValues IrPairValues;     /* session/values.c */
typedef struct _IrRunOriginals IrRunOriginals; /* session/originals.c */

/* A run of the graph on screen, of which times stay when another has taken its place. */
typedef struct
{
  gatomicrefcount ref_count;
  guint step;
  IrRun *run;    /* (nullable): until the next one was compared with it */
  IrTimes times; /* ms */
  GArray *nodes; /* of IrTimes, by node id, ms */
} IrRunRecord;

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

struct _IrSession
{
  GObject parent_instance;

  IrTimeline *timeline; /* (nullable) */
  IrFrame *frame;       /* (nullable) */
  char *path;           /* (nullable) */
  char *title;
  gboolean modified; /* user's edits that are in no file */
  GArray *found;     /* problems, by the step from which on there are these: problems.c */
  IrExecutionReport *execution; /* (nullable) of a graph of the timeline */
  GPtrArray *faults; /* (nullable) of IrProblem: those found, and those of runs and of @execution */
  guint faults_step; /* where they are */
  char *pipeline;
  gboolean prove;

  /* where the frame is going */
  guint cursor, pinned;
  IrCompare compare;
  IrJob *frame_job; /* (nullable) */

  IrJob *job; /* (nullable): the one long job */
  double progress;
  char *progress_text;

  GtkBitset *selection;
  IrNodeId selected_node;
  IrValueId selected_value;
  IrNodeId hover;
  const char *overlay; /* interned */
  IrShow show;
  GHashTable *folded;    /* set of fold keys, closed by hand */
  GHashTable *automatic; /* set of fold keys, closed because the graph is large */
  guint serial;          /* counts changes of what the picture depends on */
  double span_start_ms, span_end_ms;

  GHashTable *inputs;      /* value id -> IrTensor, given */
  GHashTable *used_inputs; /* (nullable) value id -> IrTensor, of the last run */
  guint64 seed;
  gboolean sizes_matter;   /* to the failure that is being told */
  GHashTable *sizes;       /* name of a free dim -> gint64 *; never changed, as jobs share it */
  IrRun *runs[IR_N_SIDES]; /* (nullable) */
  guint run_step;
  gboolean one_run;          /* the run says what the original graph's values were */
  IrRunOriginals *originals; /* (nullable) of the run */
  char *unknown;             /* (nullable) chosen values that neither graph had */
  IrRunSettings settings;
  char *chosen;                  /* (nullable) the settings' */
  IrRunRecord *record, *earlier; /* (nullable) the last run, and the one before it */
  IrRunChange *change;           /* (nullable) between these */
  GArray *output_changes;        /* (nullable) of IrOutputChange, by node id */
  GPtrArray *kernel_times;       /* (nullable) of IrKernelTime */
  IrNodeId kernel_node;          /* whose they are */
  guint kernel_step;             /* where they were measured */
  IrDivergence *divergence;      /* (nullable) of the runs */
  double *times, *spreads;       /* (nullable) (array length = steps + 1) ms, of the timeline */

  /* the debugger: debug.c */
  IrScoreboard *board; /* (nullable) of the timeline */
  IrJob *board_job;    /* (nullable) */
  guint board_serial;  /* of the newest request; counts timelines too */
  GPtrArray *breakpoints;
  int wants_run;       /* +1 or -1: a breakpoint run waits for the scoreboard */
  GStrv skips;         /* (nullable) what the what-if left out */
  IrTimeline *kept;    /* (nullable) the other result: the original's, or the what-if's */
  IrFrame *kept_frame; /* (nullable) */
  gboolean shows_what_if;
  IrWhatIf *what_if;      /* (nullable) */
  IrBisection *bisection; /* (nullable) of the timeline */
  char *bisected;         /* (nullable) the predicate */
  IrModel *other;         /* (nullable) frozen: the file to compare with */
  char *other_path;       /* (nullable) */
  IrPairValues *values;   /* (nullable) of a pair of graphs, not always the one on screen */
  GPtrArray *whys;        /* (nullable) of IrWhy, about @asked */
  IrNodeId asked;
  IrJob *why_job;                   /* (nullable) */
  IrSceneMarks *marks;              /* (nullable) what is drawn */
  guint marks_step;                 /* where */
  char *shown_why, *shown_why_text; /* (nullable) */
  IrNodeId pending_node;            /* to be selected when the culprit's frame is there */
  IrValueId pending_value;
};

void ir_session_changed (IrSession *self, IrSessionChanges changes);
void ir_session_message (IrSession *self, const char *format, ...) G_GNUC_PRINTF (2, 3);
void ir_session_failed (IrSession *self, const char *title, const GError *error);
/* Puts a new model in place, with its first frame; takes both. */
void ir_session_take_timeline (IrSession *self, IrTimeline *timeline, IrFrame *frame);
void ir_session_clear_runs (IrSession *self);
/* Something that the picture depends on changed: makes it anew. */
void ir_session_picture_changed (IrSession *self);
guint ir_session_compare_from (IrSession *self, guint to);
void ir_session_request_frame (IrSession *self);
void ir_session_keep_live_selection (IrSession *self);

/* -- jobs and forks, for verbs -- */
gboolean ir_session_start_job (IrSession *self, const char *text, const IrJobSpec *spec);
void ir_session_end_job (IrSession *self); /* first line of every done function */
IrModel *ir_timeline_fork (IrTimeline *timeline, guint step);
GHashTable *ir_session_all_inputs (
    IrModel *model, GHashTable *given, guint64 seed, GHashTable *sizes, GError **error);
void ir_session_forget_sizes (IrSession *self);
void ir_session_run_failed (IrSession *self, const char *title, const GError *error);
GHashTable *ir_session_copy_inputs (GHashTable *inputs);
IrValueId ir_session_original_value (IrSession *self, IrValueId value); /* 0: none */

/* -- running -- */
void ir_run_samples_init (IrRunSamples *samples);
void ir_run_samples_take (IrRunSamples *samples, const IrTrace *trace);
void ir_run_samples_clear (IrRunSamples *samples);
IrRunRecord *ir_run_record_new (guint step, IrRun *run, const IrRunSamples *samples);
IrRunRecord *ir_run_record_ref (IrRunRecord *record);
void ir_run_record_unref (IrRunRecord *record);
IrRunChange *ir_run_record_compare (const IrRunRecord *before,
                                    const IrRunRecord *after,
                                    const IrModel *model,
                                    GCancellable *cancellable,
                                    GArray **outputs);
void ir_session_take_record (IrSession *self,
                             IrRunRecord *record,
                             IrRunChange *change,
                             GArray *outputs);
/* The graph on screen is another now: its run is gone, unless @self can compare the next with it.
 */
void ir_session_forget_after (IrSession *self);
void ir_session_forget_originals (IrSession *self);
void ir_session_forget_records (IrSession *self); /* ids mean something else from now on */
GHashTable *ir_session_inputs_of (const IrModel *model, GHashTable *inputs);
IrRun *ir_session_run_once (IrExecutable *executable,
                            IrModel *model,
                            GHashTable *inputs,
                            GCancellable *cancellable,
                            GError **error);

char *ir_session_missing_text (IrSession *self, const IrRun *run); /* (transfer full) */

/* -- checking the execution (execution.c) -- */
IrExecutionReport *ir_session_judge_execution (IrModel *model,
                                               guint step,
                                               GHashTable *inputs,
                                               const IrRunOptions *options,
                                               IrJob *job,
                                               GCancellable *cancellable,
                                               GError **error);
void ir_execution_report_free (IrExecutionReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrExecutionReport, ir_execution_report_free)
void ir_session_take_execution (IrSession *self, IrExecutionReport *report); /* takes @report */
void ir_session_forget_execution (IrSession *self);
void ir_session_faults_changed (IrSession *self);
GPtrArray *ir_session_problems_at (IrSession *self, guint step); /* (transfer none) */

/* -- problems.c -- */
GArray *ir_found_problems_new (void);
void ir_session_forget_problems (IrSession *self, guint step);
void ir_session_take_problems (IrSession *self, guint step, GPtrArray *problems);
GPtrArray *ir_session_found_at (IrSession *self, guint step);

/* -- comparing with what has another history -- */
gboolean ir_compare_is_foreign (IrCompare compare);
IrModel *ir_session_other_model (IrSession *self);       /* (transfer full) (nullable) */
IrTimeline *ir_session_other_timeline (IrSession *self); /* (transfer full) (nullable) */
void ir_session_forget_other (IrSession *self);
void ir_session_take_other (IrSession *self, IrModel *model, const char *path); /* takes @model */
void ir_session_check_compare (IrSession *self);

/* -- the values of both sides on screen -- */
void ir_session_forget_values (IrSession *self);
IrTensor *ir_session_pair_tensor (IrSession *self,
                                  IrValueId value,
                                  IrSide side,
                                  gboolean *compared);

/* -- why not -- */
void ir_session_forget_whys (IrSession *self);
gboolean ir_session_hide_why (IrSession *self, guint step);

/* -- the debugger -- */
void ir_session_run_pipeline_without (IrSession *self, GStrv skips);
void ir_session_keep_original (IrSession *self, GStrv skips, IrWhatIf *what_if); /* takes both */
void ir_session_forget_what_if (IrSession *self);
void ir_session_forget_findings (IrSession *self); /* scores and bisection: another history */
void ir_session_clear_debug (IrSession *self);
void ir_session_select_pending (IrSession *self);

typedef struct
{
  IrTimeline *timeline;
  guint from, to;
  IrFrame *previous; /* (nullable): unchanged boxes stay where they are in it */
  IrPictureSettings *settings;
  IrModel *other;             /* (nullable): compared with this instead of with @from */
  IrTimeline *other_timeline; /* (nullable): or with the last step of this */
} IrFrameRequest;

typedef struct
{
  IrTimeline *timeline;
  IrFrame *frame;
  GPtrArray *problems;
  char *message;                /* (nullable) what to say when it is done */
  IrWhatIf *what_if;            /* (nullable) */
  IrModel *other;               /* (nullable) a file to compare with */
  GHashTable *folds;            /* (nullable) that are closed because the graph is large */
  IrExecutionReport *execution; /* (nullable) of the graph of @frame */
} IrOpened;

typedef struct
{
  IrTimeline *timeline;
  GHashTable *inputs;
  guint64 seed;
  GHashTable *sizes;
  guint serial;    /* scoreboard: which request */
  guint step;      /* proof: of which step */
  char *predicate; /* (nullable) bisection, reproducer */
  char *folder;    /* (nullable) reproducer: where it is written */
  IrJob *job;      /* (transfer none) for progress */
} IrDebugRequest;

IrFrame *ir_frame_make (const IrFrameRequest *request, GCancellable *cancellable, GError **error);
IrPictureSettings *ir_session_picture_settings (IrSession *self, GPtrArray *problems);
void ir_opened_free (gpointer data);
IrOpened *ir_opened_new (IrModel *model,
                         IrModel *other,
                         guint from,
                         guint to,
                         IrFrame *previous,
                         IrPictureSettings *settings,
                         GCancellable *cancellable);
guint ir_history_n_edits (const IrModel *model);
void ir_session_take_opened (IrSession *self, IrOpened *opened);
void ir_session_forget_selection (IrSession *self);
IrDebugRequest *ir_debug_request_new (IrSession *self);
void ir_debug_request_free (gpointer data);
IrTrial *ir_debug_trial (const IrDebugRequest *request, GCancellable *cancellable, GError **error);
void ir_bisection_free (gpointer data);
void ir_session_run_breakpoints (IrSession *self, gboolean forward);
