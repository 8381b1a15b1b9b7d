/* The canvas from inside: its state, and what its nouns ask of each other. */
#pragma once

#include "core/layout/scene-tokens.h"
#include "core/render/render.h"
#include "views/graph/canvas.h"
#include "views/graph/drag.h"
#include "views/graph/paint.h"
#include "views/graph/tip.h"
#include "views/graph/tween.h"

#include <adwaita.h>

#define MAX_SELECTED 1000 /* rings that are drawn */
#define ZOOM_STEP    1.2

/* Where one was before groups were opened or closed, or nodes filtered. */
typedef struct
{
  guint64 from, to; /* shapes of frames */
  IrCamera camera, arrived;
  gboolean moved;
} IrLeftView;

struct _IrCanvas
{
  GtkWidget parent_instance;

  IrSession *session; /* referenced */
  IrFrame *frame;     /* (nullable) */
  IrNodePainter *painter;
  IrSceneSides sides;     /* that are shown */
  gboolean blinking;      /* a key is held: the other side is, for that time */
  IrDrag *drag;           /* what is not panning */
  GskRenderNode *content; /* (nullable) cached for the camera it was made with */
  IrCamera content_camera;

  GtkAdjustment *hadjustment, *vadjustment;
  GtkScrollablePolicy hpolicy, vpolicy;
  double zoom;
  int allocated_width, allocated_height;
  double inset;                   /* px at the bottom that something floats over */
  double cover_left, cover_right; /* px at the sides that panes lie on */
  double map_width, map_height;   /* px in an upper corner, where nothing is in sight */
  gboolean map_left;              /* in the left one */
  double note_width, note_height; /* px in the lower left corner, the same */
  gboolean configuring, allocating, zoom_to_tell;
  GHashTable *places;   /* root or "" -> IrCamera *: where one was in graphs that were left */
  GArray *left;         /* of IrLeftView: pictures that one may go back to, the last one last */
  char *toggled;        /* (nullable) the group of which the next frame shows it */
  gboolean holds_place; /* of a group, although little may be left around it */
  IrCamera next;        /* where the next frame is looked at; zoom 0: as it comes */
  IrLayoutRect aim;     /* what was flown to last */
  IrCamera aimed;       /* where that led; no zoom: nothing was */
  gboolean next_due;    /* it is there already, and the widget has not got its size yet */
  gboolean moved;       /* by hand or by a flight; until then the first place follows the size */

  /* camera flight */
  AdwAnimation *animation;
  IrCamera from, target;

  /* boxes on their way from the picture before */
  AdwAnimation *tweening; /* (nullable) */
  IrTween *tween;         /* (nullable) */

  /* what was chosen elsewhere is lit up for a moment */
  AdwAnimation *flashing;
  double flash; /* 1 … 0 */

  /* pointer */
  double pointer_x, pointer_y;
  double drag_x, drag_y;
  gboolean panning;
  double pinch_zoom;
  IrTip *tip; /* of what the pointer rests on */

  gint32 selected_box;    /* -1 = none */
  gint32 hover_box;       /* -1 = none */
  gint32 clicked_line;    /* -1 = none */
  GArray *selected_lines; /* of gint32: at the selected box or value */
  GArray *hovered;        /* of gint32: boxes of what another view points at */
  GArray *tokens;         /* (nullable) of IrSceneToken */
  IrTextMeasure *measure; /* (nullable) of their texts */
  GArray *relatives;      /* of gint32: boxes of what the selected node comes from or became */
  GPtrArray *proxies;     /* of IrNodeProxy, (transfer none) */
  guint sync_timeout;
  gint64 synced_us;     /* when there were proxies last */
  IrCamera sync_camera; /* that the proxies were made for */
};

void canvas_snapshot_tokens (IrCanvas *self, GtkSnapshot *snapshot, const IrCamera *now);
void canvas_forget_tokens (IrCanvas *self);

static inline const IrScene *
canvas_scene (IrCanvas *self)
{
  return self->frame != NULL ? self->frame->scene : NULL;
}

static inline const IrSceneBox *
canvas_box (IrCanvas *self, gint32 index)
{
  guint n;
  const IrSceneBox *boxes = canvas_scene (self) != NULL ? ir_scene_boxes (canvas_scene (self), &n)
                                                        : NULL;

  return boxes != NULL && index >= 0 && (guint) index < n ? &boxes[index] : NULL;
}

/* Whether it is on the side that is shown. */
static inline gboolean
canvas_shows (IrCanvas *self, IrSceneHit hit)
{
  const IrSceneSides sides = self->blinking ? IR_SCENE_BEFORE : self->sides;
  guint n;

  if (hit.box >= 0)
    return ir_scene_shows_box (sides, canvas_box (self, hit.box));
  return hit.line < 0 ||
         ir_scene_shows_line (sides, &ir_scene_lines (canvas_scene (self), &n)[hit.line]);
}

#define CANVAS_READABLE   0.65 /* zoom: a first look is not farther out than this */
#define CANVAS_FIT        0.96 /* part of the canvas that a whole picture takes */
#define CANVAS_ROOM_ABOVE 8    /* px, above a graph that is looked at from its beginning */

/* -- first-look.c -- */
void canvas_place_first (IrCanvas *self);

/* -- camera.c -- */
double canvas_fit_zoom (IrCanvas *self, const IrLayoutRect *bounds, double *height);
void canvas_queue_allocate (IrCanvas *self);
void canvas_configure (IrCanvas *self, double x, double y);
void canvas_set_camera (IrCanvas *self, double zoom, double x, double y);
void canvas_zoom_at (IrCanvas *self, double zoom, double x, double y);
gboolean canvas_keep_selected (IrCanvas *self, const IrFrame *old, const IrFrame *frame);
double canvas_hidden_below (IrCanvas *self, double old, double height);
gboolean canvas_is_aimed (IrCanvas *self);
void canvas_aim_again (IrCanvas *self);
gboolean canvas_same_camera (const IrCamera *a, const IrCamera *b);
void canvas_follow_frame (IrCanvas *self, const IrFrame *old, const IrFrame *frame);
void canvas_go_to_next (IrCanvas *self);
void canvas_await_size (IrCanvas *self); /* and goes there then */
gboolean canvas_rect_in_sight (IrCanvas *self, const IrLayoutRect *rect, double margin);

void canvas_tween_from (IrCanvas *self, const IrFrame *old, const IrCamera *was);
void canvas_end_tween (IrCanvas *self);

/* -- selected.c -- */
gint32 canvas_box_of_node (IrCanvas *self, IrNodeId node);
gint32 canvas_box_of_fold (IrCanvas *self, const IrFrame *frame, const char *fold);
void canvas_select_box (IrCanvas *self, gint32 index, gboolean toggle);

/* -- keyboard.c -- */
void canvas_focus_selected (IrCanvas *self);
void canvas_go_to_box (IrCanvas *self, gint32 index);
void canvas_activate_selected (IrCanvas *self);
void canvas_add_keys (IrCanvas *self);

/* -- pointer.c -- */
void canvas_add_pointer (IrCanvas *self);

/* -- proxies.c -- */
void canvas_sync_proxies (IrCanvas *self);
void canvas_queue_sync (IrCanvas *self);
void canvas_allocate_proxies (IrCanvas *self);
