/* The session's fields, for session.c and session-verbs.c only. */
#pragma once

#include "core/layout/scene.h"
#include "views/jobs.h"
#include "views/session.h"

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

struct _IrSession
{
  GObject parent_instance;

  IrTimeline *timeline; /* (nullable) */
  IrFrame *frame;       /* (nullable) */
  char *path;           /* (nullable) */
  char *title;
  gboolean modified; /* user's edits that are in no file */
  GPtrArray *problems;
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
  GHashTable *folded; /* set of fold keys */
  guint serial;       /* counts changes of what the picture depends on */
  double span_start_ms, span_end_ms;

  GHashTable *inputs;      /* value id -> IrTensor, given */
  GHashTable *used_inputs; /* (nullable) value id -> IrTensor, of the last run */
  guint64 seed;
  IrRun *runs[IR_N_SIDES]; /* (nullable) */
  guint run_step;
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
