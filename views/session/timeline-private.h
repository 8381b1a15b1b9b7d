/* The timeline, for the folder alone. */
#pragma once

#include "core/look/overlay.h"
#include "views/session/hub.h"
#include "views/session/timeline.h"

#define IR_EDIT_PASS "edit" /* the pass of what is done by hand */

/* The live model with its history. Held by the session and by every job that reads it; a lock
 * guards snapshots and lineage, which keep caches in the log. Once here a model is never edited:
 * verbs fork it and put a new timeline in its place. */
typedef struct _IrTimeline IrTimeline;

IrTimeline *ir_timeline_new (IrModel *model); /* takes @model */
IrTimeline *ir_timeline_ref (IrTimeline *timeline);
void ir_timeline_unref (IrTimeline *timeline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrTimeline, ir_timeline_unref)
/* The model, to read what needs no lock; and what keeps it for one who needs it. */
IrModel *ir_timeline_model (IrTimeline *timeline);
GMutexLocker *ir_timeline_lock (IrTimeline *timeline); /* (transfer full) */
IrModel *ir_timeline_original (IrTimeline *timeline);  /* frozen, step 0 */
guint ir_timeline_n_steps (IrTimeline *timeline);
guint ir_timeline_last_edit (IrTimeline *timeline); /* the last step that is the user's; 0: none */
IrModel *ir_timeline_snapshot (IrTimeline *timeline, guint step); /* (transfer full) */
void ir_timeline_add_steps (IrTimeline *timeline, IrOverlayFacts *facts, guint step);
/* An editable copy of the model as it is at @step; what is edited there follows that step. */
IrModel *ir_timeline_fork (IrTimeline *timeline, guint step);
IrModel *ir_timeline_copy (IrTimeline *timeline); /* a fork at the last step */
/* (transfer full): its first @n_steps steps alone; itself, if that is all of them */
IrTimeline *ir_timeline_until (IrTimeline *timeline, guint n_steps);

IrTimeline *ir_session_get_timeline (IrSession *self); /* (transfer none) (nullable) */
void ir_session_set_timeline (IrSession *self, IrTimeline *timeline);   /* takes it; tells nobody */
IrValueId ir_session_original_value (IrSession *self, IrValueId value); /* 0: none */

void ir_session_place_cursor (IrSession *self, guint step); /* tells nobody */
