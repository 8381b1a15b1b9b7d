/* What takes the place of the timeline when a file was opened, a pipeline was run or the graph was
 * edited; all of it at once. */
#pragma once

#include "passes/debug/what-if.h"
#include "views/session/execution-private.h"
#include "views/session/frame-private.h"

typedef struct
{
  IrTimeline *timeline;
  IrFrame *frame;
  GPtrArray *problems;          /* (nullable) as they were, if no edit is new */
  char *message;                /* (nullable) what to say when it is done */
  IrWhatIf *what_if;            /* (nullable) */
  IrModel *other;               /* (nullable) a file to compare with */
  GHashTable *folds;            /* (nullable) that are closed because the graph is large */
  IrExecutionReport *execution; /* (nullable) of the graph of @frame */
} IrSuccessor;

/* Lays out @model, which it takes, at @to compared with @from or (nullable) @other. */
IrSuccessor *ir_successor_new (IrModel *model,
                               IrModel *other,
                               guint from,
                               guint to,
                               IrFrame *previous,
                               IrPictureSettings *settings,
                               GCancellable *cancellable);
/* The same of a history that is there already; takes @timeline. */
IrSuccessor *ir_successor_show (IrTimeline *timeline,
                                IrModel *other,
                                guint from,
                                guint to,
                                IrFrame *previous,
                                IrPictureSettings *settings,
                                GCancellable *cancellable);
void ir_successor_free (gpointer successor);
/* Takes what is in it; tells nobody. */
void ir_session_take_successor (IrSession *self, IrSuccessor *successor);
/* Puts another model in place, with its first frame; takes both, and tells nobody. */
void ir_session_take_timeline (IrSession *self, IrTimeline *timeline, IrFrame *frame);

/* -- making frames (draw.c) -- */
typedef struct
{
  IrTimeline *timeline;
  guint from, to;
  IrFrame *previous; /* (nullable): unchanged boxes stay where they are in it */
  IrPictureSettings *settings;
  IrModel *other; /* (nullable): compared with this instead of with @from */
} IrFrameSpec;

IrFrame *ir_frame_make (const IrFrameSpec *spec, GCancellable *cancellable, GError **error);
/* Starts to make the frame that is wanted, unless it is there or one is being made. */
void ir_session_request_frame (IrSession *self);
