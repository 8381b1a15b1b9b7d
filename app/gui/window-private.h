/* The window's fields, and what its files share: window-files.c opens and exports, window-actions.c
 * has the verbs of menus and keys, window-panes.c places what is shown, window.c follows the session. */
#pragma once

#include "app/gui/sides.h"
#include "app/gui/transport.h"
#include "app/gui/window.h"
#include "views/session/session.h"
#include "views/view.h"

struct _IrWindow
{
  AdwApplicationWindow parent_instance;

  IrSession *session;
  GPtrArray *views; /* of IrView, (transfer none) */
  GtkStack *stacks[IR_N_VIEW_PLACES];
  GStrv pipeline_names;
  guint activity_timeout;
  gulong saving;     /* handler: what waits for the edits to be saved */
  guint have;        /* NEEDS_… that are fulfilled */
  const char *doing; /* (nullable) the action that began last of those that wait */
  const char *next;  /* (nullable) the one that waits until nothing is going on */
  gboolean updating; /* widgets follow the session, not the other way round */
  gboolean blinking; /* a key is held */
  gboolean close_confirmed, panes_placed;
  gboolean wants_execution; /* what a check of the execution finds is shown when it is there */

  AdwToastOverlay *toasts, *graph_toasts; /* over the welcome page; over the graph */
  AdwToast *toast; /* (nullable) weak: the message on screen, until it fades */
  gint64 toast_us; /* when it came */
  GtkWidget *header;
  GtkMenuButton *menu_button;
  GMenu *edit_menu;
  AdwWindowTitle *title;
  GtkWidget *run_controls, *export_button, *search_button, *start_button, *end_button;
  GtkWidget *inputs_button, *options_button;
  GtkWidget *open_button;
  GtkDropDown *pipelines;
  GtkInfoBar *banner;
  GtkLabel *banner_label;
  GtkMenuButton *banner_button;
  GtkStack *pages;
  AdwBin *welcome;
  AdwBin *workspace;
  IrSides *sides;
  GtkPaned *start_paned, *end_paned, *bottom_paned, *beside_paned;
  GtkBox *start_box, *centre_box, *beside_box, *end_box, *bottom_box, *bottom_tabs;
  GtkOverlay *centre_overlay;
  GtkBox *float_box;
  guint room_source;                       /* 0: the views leave room for it */
  int room_below;                          /* px of the graph's that what floats takes */
  gboolean float_over_text;                /* the graph beside the text is too narrow for it */
  gboolean low;                            /* what floats over the graph is as low as it can be */
  gboolean raised[IR_N_VIEW_PLACES];       /* panes that came by themselves */
  gboolean shown_before[IR_N_VIEW_PLACES]; /* the graph was alone */
  gboolean alone;
  IrTransport *transport;
  GtkLabel *run_status;
  GtkRevealer *activity;
  GtkLabel *activity_label;
  GtkProgressBar *activity_bar;
  GtkWidget *activity_spinner;
  GMenu *recent_section, *undo_section;
};

/* What has to be so for an action to mean something. */
enum
{
  NEEDS_NOTHING = 0,
  NEEDS_GRAPH = 1 << 0, /* something is open */
  NEEDS_IDLE = 1 << 1,  /* no long job is going on */
  NEEDS_BUSY = 1 << 2,
  NEEDS_LATER = 1 << 3,   /* there are steps after the cursor */
  NEEDS_EARLIER = 1 << 4, /* there are steps before it */
  NEEDS_STEPS = 1 << 5,
  NEEDS_WHAT_IF = 1 << 6, /* something is skipped */
  NEEDS_OTHER = 1 << 7,   /* another file to compare with */
  NEEDS_PAIR = 1 << 8,    /* two graphs on screen */
  NEEDS_NODE = 1 << 9,    /* one is selected */
  NEEDS_UNDO = 1 << 10,   /* something was done that can be taken back */
  NEEDS_REDO = 1 << 11
};

typedef struct
{
  GActionEntry entry;
  guint needs;
  gboolean waits; /* asked for by its key while something is going on, it is done behind that */
} IrWindowAction;

/* What would drop the user's edits. */
typedef void (*IrWindowThen) (IrWindow *self, gpointer data);
void ir_window_ask_about_edits (IrWindow *self,
                                IrWindowThen then,
                                gpointer data,
                                GDestroyNotify data_free);
char *ir_window_export_name (IrWindow *self, const char *format);

const IrWindowAction *ir_window_file_actions (guint *n);
const IrWindowAction *ir_window_session_actions (guint *n);
gboolean ir_window_is_session (const char *path);
void ir_window_open_session (IrWindow *self, const char *path);
void ir_window_note_panes (IrWindow *self, GHashTable *to);
void ir_window_offer_reload (IrWindow *self);
void ir_window_add_actions (IrWindow *self);
void ir_window_update_actions (IrWindow *self);
guint ir_window_missing (IrWindow *self,
                         const char *action); /* NEEDS_…: what keeps it from being done */
IrView *ir_window_visible_view (IrWindow *self, IrViewPlace place);
void ir_window_show_view (IrWindow *self, const char *id);

void ir_window_build_panes (IrWindow *self);
void ir_window_place_panes (IrWindow *self);
void ir_window_remember_panes (IrWindow *self);
void ir_window_raise_panes (IrWindow *self);
void ir_window_update_float (IrWindow *self);
void ir_window_queue_room (
    IrWindow *self); /* what floats, or what lies beside it, has another size */
void ir_window_add_toast (IrWindow *self, AdwToast *toast); /* (transfer full) */
void ir_window_show_pane (IrWindow *self, IrViewPlace place, gboolean shown);
void ir_window_show_alone (IrWindow *self, gboolean alone);
