/* What the position shows, for the folder alone. */
#pragma once

#include "views/picture.h"
#include "views/session/frame.h"
#include "views/session/hub.h"
#include "views/session/runs.h"
#include "views/session/timeline-private.h"

/* -- the frame on screen (frame.c) -- */
void ir_session_set_frame (IrSession *self, IrFrame *frame); /* takes it; tells nobody */

/* -- what it is compared with (compare.c) -- */
void ir_session_place_compare (IrSession *self, IrCompare compare); /* tells nobody */
void ir_session_check_compare (IrSession *self);           /* a comparison with what is gone ends */
guint ir_session_compare_from (IrSession *self, guint to); /* the step that @to is compared with */
guint ir_compare_step (IrCompare compare, const IrModel *history, guint to, guint pinned);
void ir_session_place_pin (IrSession *self, guint at_most);
void ir_session_take_other (IrSession *self, IrModel *model, const char *path); /* takes @model */
void ir_session_forget_other (IrSession *self);
void ir_session_set_other_result (IrSession *self, IrTimeline *result); /* (nullable) */
/* What the frame is compared with, if that has another history. (transfer full) (nullable) */
IrModel *ir_session_other_model (IrSession *self);
IrTimeline *ir_session_other_timeline (IrSession *self);

/* -- how it is drawn (display.c) -- */
/* Something that the picture depends on is another: a new one is made. */
void ir_session_picture_changed (IrSession *self);
void ir_session_age_picture (IrSession *self); /* the same, when somebody asks for a frame */
gboolean ir_session_place_gradients (IrSession *self, GHashTable *gradients);
gboolean ir_session_place_updates (IrSession *self, GHashTable *updates);
void ir_session_place_errors (IrSession *self, GHashTable *errors);
IrPictureSettings *ir_session_picture_settings (IrSession *self, IrRun *run, GPtrArray *problems);
/* @automatic: (nullable): folds that are closed because the graph is large; takes it */
void ir_session_reset_folds (IrSession *self, GHashTable *automatic);
gboolean ir_session_reveal (IrSession *self, const IrDiff *diff, const IrNode *node);
/* What was moved by hand (places.c). */
void ir_session_place_boxes (IrSession *self, IrPictureSettings *settings);
void ir_session_forget_places (IrSession *self);
/* A rule's pattern: takes @marks and @text; tells nobody. */
void ir_session_take_marks (
    IrSession *self, IrSceneMarks *marks, guint step, const char *rule, char *text);
void ir_session_clear_marks (IrSession *self); /* tells, if there were any */
void ir_session_forget_marks (IrSession *self);
void ir_session_hide_marks (IrSession *self, guint step); /* at another step there are none */
gboolean ir_session_has_marks (IrSession *self);
gboolean ir_session_has_marks_at (IrSession *self, guint step);
