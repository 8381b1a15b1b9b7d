/* IrSession: the hub where all views meet. It owns what there is one of, each noun with a face of
 * its own in this folder: the timeline and the position in it (timeline.h), what was done to it
 * (undo.h), the file (file.h), what the position shows (frame.h), the selection (selection.h), what
 * inputs are given (inputs.h), runs (runs.h, records.h, values.h, kernels.h), problems and checks
 * (execution.h), and the debugger (debug.h). Views read them and ask them for work; they never talk to each other.
 *
 * Threads: the session lives in the main thread. Verbs start jobs that work on forks or frozen
 * snapshots, and swap their result in when done, all of it at once. */
#pragma once

#include <glib-object.h>

#define IR_TYPE_SESSION (ir_session_get_type ())
G_DECLARE_FINAL_TYPE (IrSession, ir_session, IR, SESSION, GObject)

/* What of the session is another than before: a view hears of all and looks at what it reads. */
typedef enum
{
  IR_CHANGED_HISTORY = 1 << 0, /* another model, or steps were added, cut or proved */
  IR_CHANGED_FRAME = 1 << 1,   /* what is on screen: the cursor or the comparison has moved */
  IR_CHANGED_CURSOR = 1 << 2,  /* where it is going */
  IR_CHANGED_COMPARE = 1 << 3, /* what the frame is going to be compared with */
  IR_CHANGED_PICTURE = 1 << 4, /* what the picture is made of: it is made anew */
  IR_CHANGED_OVERLAY = 1 << 5,
  IR_CHANGED_SELECTION = 1 << 6, /* selected nodes or the selected value */
  IR_CHANGED_HOVER = 1 << 7,
  IR_CHANGED_TIME_SPAN = 1 << 8,
  IR_CHANGED_RUNS = 1 << 9,
  IR_CHANGED_VALUES = 1 << 10, /* those of both sides on screen */
  IR_CHANGED_KERNELS = 1 << 11,
  IR_CHANGED_INPUTS = 1 << 12,
  IR_CHANGED_PROBLEMS = 1 << 13,
  IR_CHANGED_BUSY = 1 << 14,     /* a job began, went on or ended */
  IR_CHANGED_FILE = 1 << 15,     /* path, modified */
  IR_CHANGED_PIPELINE = 1 << 16, /* its name, and whether its steps get verdicts */
  IR_CHANGED_SCORES = 1 << 17,   /* scoreboard and measured times of the steps */
  IR_CHANGED_BREAKPOINTS = 1 << 18,
  IR_CHANGED_WHAT_IF = 1 << 19,
  IR_CHANGED_BISECTION = 1 << 20,
  IR_CHANGED_WHY = 1 << 21,
  IR_CHANGED_UNDO = 1 << 22,        /* what can be undone and redone, and the branches */
  IR_CHANGED_KEPT = 1 << 23,        /* the views that are kept */
  IR_CHANGED_RUN_CONTROL = 1 << 24, /* a run that is driven, its breakpoints and what they found */
  IR_CHANGED_NOTES = 1 << 25,
  IR_CHANGED_PLAY = 1 << 26,      /* the events of a run's control flow */
  IR_CHANGED_GRADIENTS = 1 << 27, /* what the graph was derived to, or why it could not be */
  IR_CHANGED_TRAINING = 1 << 28,  /* a training run went on, stands or has ended */
  IR_CHANGED_SIGHT = 1 << 29,     /* the part of the graph that is looked at, or is to be */
  IR_CHANGED_EVENT = 1 << 30,     /* the event of a run that is shown, with the tokens behind it */
  IR_CHANGED_ALL = (1U << 31) - 1
} IrSessionChanges;

/* Signals:
 *   changed (IrSessionChanges flags)         the one that views hear through IrView
 *   message (const char *text)               a toast
 *   failed (const char *title, const char *text)  a dialog: what went wrong, what to do
 *   show-view (const char *id)               bring a view to the front */
IrSession *ir_session_new (void);

/* -- the one long job -- */
gboolean ir_session_get_busy (IrSession *self);
double ir_session_get_progress (IrSession *self);           /* 0..1, < 0 = unknown */
const char *ir_session_get_progress_text (IrSession *self); /* (nullable) */
void ir_session_cancel (IrSession *self);

void ir_session_show_view (IrSession *self, const char *id);
