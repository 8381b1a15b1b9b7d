/* The window at a size, and what of it can be seen. */
#pragma once

#include "app/gui/state.h"
#include "app/gui/window.h"
#include "tests/gui/driving.h"
#include "tests/gui/waiting.h"
#include "views/graph/canvas.h"
#include "views/session/file.h"
#include "views/session/inputs.h"
#include "views/session/selection.h"

typedef gboolean (*Wanted) (GtkWidget *widget, gpointer data);

static inline GtkWidget *
find (GtkWidget *root, Wanted wanted, gpointer data)
{
  GtkWidget *found = wanted (root, data) ? root : NULL;

  for (GtkWidget *child = gtk_widget_get_first_child (root); child != NULL && found == NULL;
       child = gtk_widget_get_next_sibling (child))
    found = find (child, wanted, data);
  return found;
}

static inline gboolean
is_canvas (GtkWidget *widget, gpointer data)
{
  return IR_IS_CANVAS (widget);
}

static inline gboolean
has_type (GtkWidget *widget, gpointer data)
{
  return g_strcmp0 (G_OBJECT_TYPE_NAME (widget), data) == 0;
}

static inline IrWindow *
open_window (int width, int height)
{
  g_autofree char *path = g_build_filename (IR_SOURCE_DATADIR, "examples", "digits.onnx", NULL);
  IrWindow *window;

  ir_state_set_int ("width", width);
  ir_state_set_int ("height", height);
  window = ir_window_new (NULL);
  ir_session_open (ir_window_get_session (window), path);
  gtk_window_present (GTK_WINDOW (window));
  wait_for ("the model", is_open_and_idle, ir_window_get_session (window));
  ir_session_see_sizes (ir_window_get_session (window)); /* what runs does not ask for a batch */
  settle (300);
  return window;
}

static inline void
close_window (IrWindow *window)
{
  gtk_window_destroy (GTK_WINDOW (window));
  settle (50);
}

static inline gboolean
is_seen (IrWindow *window, const char *view)
{
  GtkWidget *found = find (GTK_WIDGET (window), has_type, (gpointer) view);

  return found != NULL && gtk_widget_get_mapped (found) && gtk_widget_get_width (found) > 100;
}

#define PATIENCE_MS 20000

/* Panes are placed in frames to come: @seen is so in the end. */
static inline void
expect_seen (IrWindow *window, const char *view, gboolean seen)
{
  for (guint ms = 0; ms < PATIENCE_MS && is_seen (window, view) != seen; ms += 50)
    settle (50);
  if (is_seen (window, view) != seen)
    g_error ("%s is %s", view, seen ? "not seen" : "seen");
}

/* px of the canvas that nothing lies over or below. */
static inline int
free_height (IrWindow *window)
{
  GtkWidget *canvas = find (GTK_WIDGET (window), is_canvas, NULL);

  return (int) (gtk_widget_get_height (canvas) - ir_canvas_get_inset (IR_CANVAS (canvas)));
}

/* Selects the first node, of an operator, and has it so far from the middle of the canvas. */
static inline void
select_at (IrWindow *window, const char *op, double right, double down)
{
  IrSession *session = ir_window_get_session (window);
  IrCanvas *canvas = IR_CANVAS (find (GTK_WIDGET (window), is_canvas, NULL));
  guint n;
  const IrSceneBox *box = ir_scene_boxes (ir_canvas_get_scene (canvas), &n);

  while (box->kind != IR_SCENE_NODE ||
         (op != NULL &&
          strcmp (ir_model_live_node (ir_session_get_frame (session)->model, box->node)->op_type,
                  op) != 0))
    box++;
  ir_session_select_node (session, box->node);
  settle (300);
  ir_canvas_centre (canvas, box->x + box->width / 2 - right / ir_canvas_get_zoom (canvas),
                    box->y + box->height / 2 - down / ir_canvas_get_zoom (canvas));
  settle (50);
}

/* Where the selected box ends, in px of the canvas. */
static inline graphene_point_t
selected_end (IrWindow *window)
{
  IrCanvas *canvas = IR_CANVAS (find (GTK_WIDGET (window), is_canvas, NULL));
  const IrCamera now = ir_canvas_get_camera (canvas);
  guint n;
  const IrSceneBox *box = ir_scene_boxes (ir_canvas_get_scene (canvas), &n) +
                          ir_canvas_selected_box (canvas);

  return GRAPHENE_POINT_INIT ((float) ((box->x + box->width) * now.zoom - now.x),
                              (float) ((box->y + box->height) * now.zoom - now.y));
}

/* As the application does: its style says how small tabs and buttons are. */
static inline void
load_style (void)
{
  g_autoptr (GtkCssProvider) style = gtk_css_provider_new ();

  gtk_css_provider_load_from_resource (style, "/org/irscope/Irscope/style.css");
  gtk_style_context_add_provider_for_display (gdk_display_get_default (),
                                              GTK_STYLE_PROVIDER (style),
                                              GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
}
