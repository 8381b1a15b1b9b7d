/* IrView: the abstract widget that shows one aspect of the session, and the registry of all views.
 * A view reads the session and asks it for work; it knows no other view. The window builds its
 * panes from the registry.
 *
 * A new view is a folder views/NAME with NAME-view.c, whose last stanza is its descriptor
 * `const IrViewInfo ir_view_NAME`, and a row in views/meson.build. */
#pragma once

#include "views/session/session.h"

#include <adwaita.h>

#define IR_TYPE_VIEW (ir_view_get_type ())
G_DECLARE_DERIVABLE_TYPE (IrView, ir_view, IR, VIEW, AdwBin)

struct _IrViewClass
{
  AdwBinClass parent_class;

  /* The session changed; @changes says what. Called only while the view is mapped: what changes
   * meanwhile comes in one call when it is shown again. The first call has IR_CHANGED_ALL. */
  void (*session_changed) (IrView *view, IrSessionChanges changes);
  /* (nullable) Puts the keyboard focus where work in this view begins. */
  void (*focus_content) (IrView *view);
  /* (nullable) Something floats over the lowest @px of the view. */
  void (*inset) (IrView *view, int px);
  void (*cover) (IrView *view, int left, int right);
  void (*note) (IrView *view, int *width, int *height);
};

typedef enum
{
  IR_VIEW_START,  /* left pane */
  IR_VIEW_CENTRE, /* the middle */
  IR_VIEW_BESIDE, /* beside the middle, when asked for */
  IR_VIEW_END,    /* right pane */
  IR_VIEW_BOTTOM, /* tabs below the middle */
  IR_N_VIEW_PLACES
} IrViewPlace;

typedef struct
{
  const char *id;        /* "graph": actions, state file, ir_session_show_view() */
  const char *title;     /* "Graph" */
  const char *icon_name; /* symbolic */
  const char *doc;       /* one sentence: tooltip of the tab */
  const char *help;      /* how to read it: what marks and axes mean, what a click does */
  IrViewPlace place;
  GType (*get_type) (void); /* a final IrView */
  gboolean (*says_work) (
      IrSession *session); /* (nullable): it says how far the long job is, and stops it */
} IrViewInfo;

const IrViewInfo *const *ir_views (guint *n); /* in the order of views/meson.build */
const IrViewInfo *ir_view_find (const char *id);
IrView *ir_view_info_create (const IrViewInfo *info, IrSession *session); /* floating */

IrSession *ir_view_get_session (IrView *view);     /* (transfer none), never NULL */
const IrViewInfo *ir_view_get_info (IrView *view); /* (nullable) */
void ir_view_focus_content (IrView *view);
void ir_view_set_inset (IrView *view, int px);              /* what floats over its lowest part */
void ir_view_set_cover (IrView *view, int left, int right); /* px that panes lie on at its sides */
void ir_view_get_note (IrView *view,
                       int *width,
                       int *height); /* px that it has in a lower corner */
void ir_view_enable_action (IrView *view, const char *name, gboolean enabled);
gboolean ir_view_can (IrView *view, const char *name);
/* A short text beside the title, such as a count; NULL removes it. */
void ir_view_set_indicator (IrView *view, const char *text);
const char *ir_view_get_indicator (IrView *view);

/* The screen of a view that has nothing to show: says what to do next. @action_name and
 * @action_label: (nullable) a button. */
GtkWidget *ir_view_empty_page (const char *icon_name,
                               const char *title,
                               const char *description,
                               const char *action_name,
                               const char *action_label);
/* @child behind a vertical scroll bar, as high as there is room, and never too low to be read. */
GtkWidget *ir_view_scrolled (GtkWidget *child);
GtkWidget *ir_view_fading_row (GtkWidget *row);
GtkWidget *ir_view_scrolled_row (GtkWidget *row);
