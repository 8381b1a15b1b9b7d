/* IrSession: the hub where all views meet. It holds the model with its history, the cursor, the
 * pair of steps that are compared, selection, hover, overlay, time span, runs and problems, and the
 * verbs. Views read it and set properties on it; they never talk to each other.
 *
 * Threads: the session lives in the main thread. Verbs start jobs that work on forks or frozen
 * snapshots, and swap their result in when done, all of it at once. */
#pragma once

#include "core/exec/exec.h"
#include "core/diff/diff.h"
#include "core/ir/history.h"
#include "core/ir/problem.h"
#include "passes/debug/bisect.h"
#include "passes/debug/breakpoint.h"
#include "passes/proof/compare-values.h"
#include "passes/debug/what-if.h"
#include "passes/debug/why.h"

#include <gtk/gtk.h>

#define IR_TYPE_SESSION (ir_session_get_type ())
G_DECLARE_FINAL_TYPE (IrSession, ir_session, IR, SESSION, GObject)

typedef enum
{
  IR_CHANGED_HISTORY = 1 << 0,   /* another model, or steps were added, cut or proved */
  IR_CHANGED_FRAME = 1 << 1,     /* the cursor or the comparison moved */
  IR_CHANGED_SELECTION = 1 << 2, /* selected nodes or the selected value */
  IR_CHANGED_HOVER = 1 << 3,
  IR_CHANGED_OVERLAY = 1 << 4,
  IR_CHANGED_TIME_SPAN = 1 << 5,
  IR_CHANGED_RUNS = 1 << 6,
  IR_CHANGED_INPUTS = 1 << 7,
  IR_CHANGED_PROBLEMS = 1 << 8,
  IR_CHANGED_BUSY = 1 << 9,   /* a job began, went on or ended */
  IR_CHANGED_FILE = 1 << 10,  /* path, modified, name of the pipeline */
  IR_CHANGED_DEBUG = 1 << 11, /* scoreboard, breakpoints, what-if, bisection, why-not */
  IR_CHANGED_ALL = (1 << 12) - 1
} IrSessionChanges;

/* What the cursor's diff is taken against. */
typedef enum
{
  IR_COMPARE_STEP,     /* the step before: one rewrite */
  IR_COMPARE_PASS,     /* the beginning of the pass run */
  IR_COMPARE_ORIGINAL, /* the graph as it was opened */
  IR_COMPARE_NOTHING,
  IR_COMPARE_PINNED, /* a step that stays, set by ir_session_pin() */
  IR_COMPARE_FILE,   /* another file, set by ir_session_compare_with() */
  IR_COMPARE_RESULT, /* the other result of a what-if */
  IR_N_COMPARES
} IrCompare;

/* The side of a comparison of values. */
typedef enum
{
  IR_SIDE_BEFORE, /* the original graph, step 0 */
  IR_SIDE_AFTER,  /* the graph at the step where it was run last */
  IR_N_SIDES
} IrSide;

/* Set in the ids of nodes and values of the other side, where it has ids of its own: of the other
 * file, or of the other result. */
#define IR_OTHER_SIDE (1u << 31)

/* What is on screen: made by one job, swapped as a whole, immutable. */
typedef struct
{
  gatomicrefcount ref_count;
  guint from, to;      /* compared steps; the cursor is @to */
  IrModel *model;      /* frozen, at @to */
  IrModel *before;     /* frozen, at @from; the same as @model when from = to, unless foreign */
  gboolean foreign;    /* @before is another file or result; from = to */
  IrSceneMarks *marks; /* (nullable) a rule's pattern is drawn on @model; from = to */
  IrDiff *diff;        /* @before to @model */
  IrScene *scene;      /* (nullable) laid out union of both; NULL if the layout failed */
  guint serial;        /* of the picture's settings that it was made with */
} IrFrame;

IrFrame *ir_frame_ref (IrFrame *frame);
void ir_frame_unref (IrFrame *frame);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrFrame, ir_frame_unref)
/* By ids as they are selected; on either side. (nullable) */
const IrNode *ir_frame_node (const IrFrame *frame, IrNodeId id);
const IrValue *ir_frame_value (const IrFrame *frame, IrValueId id);
IrNodeId ir_frame_box_node (const IrFrame *frame, const IrSceneBox *box); /* 0: no node */
IrValueId ir_frame_line_value (const IrFrame *frame, const IrSceneLine *line);
gint32 ir_frame_find_box (const IrFrame *frame, IrNodeId id); /* -1: not drawn */

/* What the picture of the graph shows. */
typedef enum
{
  IR_SHOW_CONSTANTS = 1 << 0, /* initializers as boxes of their own */
  IR_SHOW_SHAPES = 1 << 1,    /* types beside the lines */
  IR_SHOW_NAMES = 1 << 2,     /* names of nodes */
  IR_SHOW_SCOPES = 1 << 3,    /* frames around scopes */
  IR_SHOW_SIDEWAYS = 1 << 4   /* from left to right */
} IrShow;

/* Signals:
 *   changed (IrSessionChanges flags)         the one that views hear through IrView
 *   message (const char *text)               a toast
 *   failed (const char *title, const char *text)  a dialog: what went wrong, what to do
 *   show-view (const char *id)               bring a view to the front
 * Properties (all notify): history-steps, cursor, compare, selected-value, hover, overlay, busy,
 * progress, progress-text, title, modified, pipeline, prove. */
IrSession *ir_session_new (void);

/* -- reading -- */
IrFrame *ir_session_get_frame (IrSession *self);   /* (nullable): nothing is open */
IrModel *ir_session_get_history (IrSession *self); /* (nullable) for ir_history_step() and such:
                                                      read only, main thread, until the next
                                                      IR_CHANGED_HISTORY; take snapshots only
                                                      through the frame */
guint ir_session_get_n_steps (IrSession *self);
guint ir_session_get_cursor (IrSession *self); /* where the cursor is going, at once */
IrCompare ir_session_get_compare (IrSession *self);
const char *ir_session_get_path (IrSession *self);  /* (nullable): never saved */
const char *ir_session_get_title (IrSession *self); /* for the header bar */
gboolean ir_session_get_modified (IrSession *self);
GPtrArray *ir_session_get_problems (IrSession *self); /* of IrProblem, (transfer none) */
const char *ir_session_get_pipeline (IrSession *self);
gboolean ir_session_is_empty (IrSession *self);

gboolean ir_session_get_busy (IrSession *self);
double ir_session_get_progress (IrSession *self);           /* 0..1, < 0 = unknown */
const char *ir_session_get_progress_text (IrSession *self); /* (nullable) */

/* Lineage, under the lock that guards the history: (transfer full), as in history.h. */
GArray *ir_session_origins (IrSession *self, IrNodeId node);
GArray *ir_session_descendants (IrSession *self, IrNodeId node, guint step);
GArray *ir_session_steps_of (IrSession *self, IrNodeId node);

/* -- selection, hover, overlay, time span -- */
const GtkBitset *ir_session_get_selection (IrSession *self);  /* node ids */
IrNodeId ir_session_get_selected_node (IrSession *self);      /* the last one selected; 0 = none */
IrValueId ir_session_get_selected_value (IrSession *self);    /* 0 = none */
void ir_session_select_node (IrSession *self, IrNodeId node); /* 0 = nothing; clears the value */
void ir_session_toggle_node (IrSession *self, IrNodeId node); /* adds or takes away */
void ir_session_set_selection (IrSession *self, const GtkBitset *nodes);
void ir_session_select_value (IrSession *self, IrValueId value); /* keeps the nodes */
IrNodeId ir_session_get_hover (IrSession *self);
void ir_session_set_hover (IrSession *self, IrNodeId node);
const char *ir_session_get_overlay (IrSession *self); /* (nullable) id of a row of overlay.h */
void ir_session_set_overlay (IrSession *self, const char *id);
IrShow ir_session_get_show (IrSession *self);
void ir_session_set_show (IrSession *self, IrShow show);
guint ir_session_get_picture_serial (IrSession *self); /* that IrFrame.serial is going to have */
void ir_session_toggle_fold (IrSession *self, const char *fold); /* key of a box of the scene */
void ir_session_get_time_span (IrSession *self, double *start_ms, double *end_ms); /* 0, 0 = all */
void ir_session_set_time_span (IrSession *self, double start_ms, double end_ms);
void ir_session_show_view (IrSession *self, const char *id);

/* -- runs and values -- */
IrRun *ir_session_get_run (IrSession *self, IrSide side); /* (transfer none) (nullable) */
guint ir_session_get_run_step (IrSession *self);          /* the step that IR_SIDE_AFTER ran */
/* The contents of @value on a side: a constant of the graph, an input, or what was captured; for
 * IR_SIDE_BEFORE through the lineage (the original value that @value stands for). NULL with
 * @reason (transfer full): a sentence that says why not and what to do. */
IrTensor *ir_session_dup_tensor (IrSession *self, IrValueId value, IrSide side, char **reason);
/* The run that has, or can compute, what @value holds on a side, and which of its values that is.
 * (transfer full) (nullable): there is none; ir_run_find() is for a job. */
IrRun *ir_session_dup_run_of (IrSession *self, IrValueId value, IrSide side, IrValueId *id);
GHashTable *ir_session_get_inputs (IrSession *self); /* value id -> IrTensor: those given */
void ir_session_set_input (IrSession *self, IrValueId input, IrTensor *tensor); /* (nullable) */
guint64 ir_session_get_seed (IrSession *self); /* of the random inputs */
void ir_session_set_seed (IrSession *self, guint64 seed);
/* Sizes of free dims of inputs without a file, by name: what `irscope run --dim` gets. */
GHashTable *ir_session_get_sizes (IrSession *self); /* name -> gint64 *; not to be changed */
void ir_session_set_size (IrSession *self, const char *name, gint64 size); /* -1: by default */
gboolean ir_session_failed_by_sizes (IrSession *self); /* while "failed" is told */
GArray *ir_session_free_dims (IrSession *self);        /* of IrFreeDim, (transfer full) */

/* The values of the last run against those of the original graph that they stand for. */
typedef struct
{
  guint n_compared;
  IrValueId first; /* in the order of the graph, that differs by more than rounding; 0: none */
  IrDifference first_difference;
  IrValueId worst; /* 0: all are equal */
  IrDifference worst_difference;
} IrDivergence;

const IrDivergence *ir_session_get_divergence (IrSession *self); /* (nullable): nothing compared */

/* Measured times: a run of the graph after each step, some of them where there are many. */
void ir_session_measure_times (IrSession *self);
double ir_session_get_time (IrSession *self, guint step, double *spread); /* ms, NaN: unknown */

/* -- verbs: each returns at once; the outcome comes by signals -- */
void ir_session_open (IrSession *self, const char *path);
void ir_session_new_model (IrSession *self);                      /* an empty graph */
void ir_session_run_pipeline (IrSession *self, const char *name); /* (nullable): the current one */
void ir_session_set_pipeline (IrSession *self, const char *name);
void ir_session_set_prove (IrSession *self, gboolean prove); /* verdicts on steps */
gboolean ir_session_get_prove (IrSession *self);
void ir_session_run_graph (IrSession *self); /* the original and the cursor's: runs.h */
void ir_session_goto (IrSession *self, guint step);
void ir_session_step_by (IrSession *self, int n_steps);
void ir_session_pass_by (IrSession *self, int n_passes); /* to ends of pass runs */
void ir_session_set_compare (IrSession *self, IrCompare compare);
void ir_session_pin (IrSession *self, guint step); /* compare with this step from now on */
void ir_session_cancel (IrSession *self);

/* Runs in the job's thread, between the begin and end of a pass run "edit" on a fork of the model
 * at the cursor; makes its own steps (ir_edit_begin_step). @problems gets what it finds beyond what
 * ir_verify_model() will. FALSE + @error changes nothing. */
typedef gboolean (*IrSessionEditFunc) (
    IrEdit *edit, gpointer data, GPtrArray *problems, GCancellable *cancellable, GError **error);
void ir_session_edit (IrSession *self,
                      const char *title,
                      IrSessionEditFunc func,
                      gpointer data,
                      GDestroyNotify data_free);

/* Writes the graph at the cursor; by extension: a model format of ir_formats(), or a picture (svg,
 * pdf, png) of what the graph view shows. */
void ir_session_export (IrSession *self, const char *path);

/* -- comparing with what has another history (other.c) -- */
void ir_session_compare_with (IrSession *self, const char *path);
void ir_session_open_pair (IrSession *self, const char *before, const char *after);
gboolean ir_session_can_compare (IrSession *self, IrCompare compare);
const char *ir_session_get_other_path (IrSession *self); /* (nullable) */
char *ir_session_other_title (IrSession *self);          /* (transfer full) "old.onnx" */
void ir_session_swap_files (IrSession *self);            /* what was compared with is opened */

/* -- the values of both sides on screen (session/values.c) -- */
gboolean ir_session_can_compare_values (IrSession *self);
void ir_session_compare_values (IrSession *self);
const IrComparedValues *ir_session_get_values (IrSession *self); /* (nullable) */

/* -- why not (session/why.c) -- */
/* Compares all rules that start at the operator of @node; %IR_CHANGED_DEBUG says when. */
void ir_session_ask_why (IrSession *self, IrNodeId node);
GPtrArray *ir_session_get_whys (IrSession *self); /* (nullable) of IrWhy */
IrNodeId ir_session_get_asked (IrSession *self);  /* the node of the newest question */
/* Draws an answer of ir_session_get_whys() on the graph; (nullable): none any more. */
void ir_session_show_why (IrSession *self, const IrWhy *why);
const char *ir_session_get_shown_why (IrSession *self);      /* (nullable) the rule */
const char *ir_session_get_shown_why_text (IrSession *self); /* (nullable) the reason */

/* -- the debugger (debug.c) -- */
/* The scoreboard of the steps; %NULL until it was asked for and made. */
IrScoreboard *ir_session_get_scoreboard (IrSession *self);
void ir_session_request_scoreboard (IrSession *self); /* makes it beside other work */
gboolean ir_session_is_scoring (IrSession *self);

GPtrArray *ir_session_get_breakpoints (IrSession *self); /* of IrBreakpoint */
gboolean ir_session_add_breakpoint (IrSession *self, const char *text, GError **error);
void ir_session_remove_breakpoint (IrSession *self, guint index);
void ir_session_run_to_breakpoint (IrSession *self, gboolean forward);

/* What if: the pipeline again without an application (by its stable key), a rule or a pass. */
void ir_session_skip (IrSession *self, const char *name);
void ir_session_skip_nothing (IrSession *self);                   /* back to the original result */
void ir_session_show_what_if (IrSession *self, gboolean what_if); /* FALSE: shows the original */
const IrWhatIf *ir_session_get_what_if (IrSession *self);         /* (nullable) */
gboolean ir_session_shows_what_if (IrSession *self);
const char *const *ir_session_get_skips (IrSession *self); /* (nullable) */

/* Gives one step its verdict, also where all were not proved. */
void ir_session_prove_step (IrSession *self, guint step);

/* Finds the step that makes the predicate fail and goes there. */
void ir_session_bisect (IrSession *self, const char *predicate);
const IrBisection *ir_session_get_bisection (IrSession *self); /* (nullable) */
const char *ir_session_get_bisected (IrSession *self);         /* (nullable) the predicate */
char *ir_session_bisection_text (IrSession *self);             /* (transfer full) for people */
/* Writes what shows the failure that was found, without the rest of the graph, into @folder. */
void ir_session_reproduce (IrSession *self, const char *folder);
gboolean ir_session_can_reproduce (IrSession *self);
