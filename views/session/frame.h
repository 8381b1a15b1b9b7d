/* What the position shows: the frame on screen, what it is compared with, and how it is drawn. */
#pragma once

#include "core/diff/diff.h"
#include "core/ir/model.h"
#include "core/look/look.h"
#include "passes/debug/rewrite.h"
#include "views/session/session.h"

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
  IrScale *scale;      /* (nullable) what the colours mean */
  IrScene *scene;      /* (nullable) laid out union of both; NULL if the layout failed */
  IrRewrite *rewrite;  /* (nullable) the step @to by itself; NULL at the original, and elsewhere */
  IrScene *rewrite_across, *rewrite_down; /* (nullable) its picture, in two forms */
  guint serial;        /* of the picture's settings that it was made with */
  const char *root;    /* (nullable) interned: the graph that was entered */
  guint64 shape;       /* of what decides the places in it beside the graph: folds, direction ... */
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

IrFrame *ir_session_get_frame (IrSession *self); /* (nullable): nothing is open */
gboolean ir_session_is_empty (IrSession *self);

/* -- what it is compared with -- */
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

IrCompare ir_session_get_compare (IrSession *self);
void ir_session_set_compare (IrSession *self, IrCompare compare);
gboolean ir_session_can_compare (IrSession *self, IrCompare compare);
void ir_session_pin (IrSession *self, guint step);       /* compare with this step from now on */
guint ir_session_get_pin (IrSession *self);
guint ir_session_get_base (IrSession *self); /* the step that the cursor's is compared with */
void ir_session_set_base (IrSession *self, guint step); /* the cursor's own: nothing is compared */
const char *ir_session_get_other_path (IrSession *self); /* (nullable) */
char *ir_session_other_title (IrSession *self);          /* (transfer full) "old.onnx" */

/* -- how it is drawn -- */
IrShow ir_session_get_show (IrSession *self);
void ir_session_set_show (IrSession *self, IrShow show);
const char *ir_session_get_overlay (IrSession *self); /* (nullable) id of a row of core/look/overlay.h */
void ir_session_set_overlay (IrSession *self, const char *id);
void ir_session_toggle_fold (IrSession *self, const char *fold);  /* key of a box of the scene */
void ir_session_set_folds (IrSession *self, gboolean closed);     /* all that are on screen */
gboolean ir_session_has_folds (IrSession *self, gboolean closed); /* some of them are so */
void ir_session_show_node (IrSession *self, IrNodeId node); /* opens what is around, selects */
const IrLook *ir_session_get_look (IrSession *self);
void ir_session_set_look (IrSession *self, const IrLook *look); /* copied */
void ir_session_enter (IrSession *self, const char *root);      /* (nullable) the main graph */
void ir_session_set_beside (IrSession *self, const char *fold, gboolean beside);
void ir_session_show_only (IrSession *self, GHashTable *nodes); /* (nullable) all */
void ir_session_add_rule (IrSession *self, const char *query, IrRuleEffect effect, guint colour);
void ir_session_remove_rule (IrSession *self, guint index);
void ir_session_set_numbers (IrSession *self, IrNumbers *numbers); /* (nullable) */
gboolean ir_session_open_numbers (IrSession *self, const char *path);
const IrNumbers *ir_session_get_numbers (IrSession *self);         /* (nullable) */
void ir_session_set_scale (IrSession *self, IrScaleKind kind);
guint ir_session_get_picture_serial (IrSession *self);  /* that IrFrame.serial is going to have */
const char *ir_session_get_shown_why (IrSession *self); /* (nullable) the rule that is drawn */
const char *ir_session_get_shown_why_text (IrSession *self); /* (nullable) the reason */
