/* The scoreboard: what the graph costs after each step, as one sparkline for each score over all
 * steps. A click goes to the step under the pointer; a step that made the graph dearer has a mark,
 * which catches clicks near it. The scores are made in a job when the view is first looked at. */
#include "config.h"

#include "core/ir/count.h"
#include "views/session/debug.h"
#include "views/session/frame.h"
#include "views/session/timeline.h"
#include "views/sparkline.h"
#include "views/view.h"

#include <math.h>

#define HEIGHT 30  /* px of a sparkline */
#define MARGIN 5.0 /* px around it: room for marks */

struct _IrScoreboardView
{
  IrView parent;
  GtkWidget *stack, *note, *next_spike;
  GtkWidget *areas[IR_N_SCORES], *values[IR_N_SCORES], *changes[IR_N_SCORES];
  GtkWidget *time_title, *time_area, *time_value, *time_change;
};

#define IR_TYPE_SCOREBOARD_VIEW (ir_scoreboard_view_get_type ())
G_DECLARE_FINAL_TYPE (IrScoreboardView, ir_scoreboard_view, IR, SCOREBOARD_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrScoreboardView, ir_scoreboard_view, IR_TYPE_VIEW)

static const IrScoreboard *
board_of (IrScoreboardView *self)
{
  return ir_session_get_scoreboard (ir_view_get_session (IR_VIEW (self)));
}

/* -- drawing -- */

static IrSparkline
line_of (const IrScoreboard *board, IrScore score, int width, int height)
{
  return (IrSparkline){ .board = board,
                        .score = score,
                        .start = MARGIN,
                        .end = width - MARGIN,
                        .top = MARGIN,
                        .bottom = height - MARGIN };
}

static void
draw (GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  IrScoreboardView *self = data;
  const IrScoreboard *board = board_of (self);
  GtkWidget *widget = GTK_WIDGET (area);
  const IrScore score = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (area), "score"));
  const guint cursor = ir_session_get_cursor (ir_view_get_session (IR_VIEW (self)));
  IrSparkline line;
  double x;

  if (board == NULL)
    return;
  line = line_of (board, score, width, height);
  ir_sparkline_colour (widget, cr, "borders", 1);
  cairo_set_line_width (cr, 1);
  cairo_move_to (cr, MARGIN, height - MARGIN + 0.5);
  cairo_line_to (cr, width - MARGIN, height - MARGIN + 0.5);
  cairo_stroke (cr);
  x = floor (ir_sparkline_x (&line, MIN (cursor, board->n_steps))) + 0.5;
  ir_sparkline_colour (widget, cr, "theme_fg_color", 0.5);
  cairo_move_to (cr, x, 0);
  cairo_line_to (cr, x, height);
  cairo_stroke (cr);
  ir_sparkline_colour (widget, cr, "accent_color", 1);
  cairo_set_line_width (cr, 2);
  ir_sparkline_draw (&line, cr);
  ir_sparkline_colour (widget, cr, "error_color", 1);
  ir_sparkline_draw_spikes (&line, cr);
}

/* -- pointer -- */

static void
on_pressed (GtkGestureClick *gesture, int n_press, double x, double y, IrScoreboardView *self)
{
  GtkWidget *area = gtk_event_controller_get_widget (GTK_EVENT_CONTROLLER (gesture));
  const IrScore score = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (area), "score"));
  const IrScoreboard *board = board_of (self);

  if (board != NULL)
    {
      const IrSparkline line = line_of (board, score, gtk_widget_get_width (area), HEIGHT);

      ir_session_goto (ir_view_get_session (IR_VIEW (self)),
                       ir_sparkline_step_at (&line, x, FALSE));
    }
}

static gboolean
on_query_tooltip (
    GtkWidget *area, int x, int y, gboolean keyboard, GtkTooltip *tooltip, IrScoreboardView *self)
{
  const IrScore score = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (area), "score"));
  const IrScoreboard *board = board_of (self);
  const IrModel *history = ir_session_get_history (ir_view_get_session (IR_VIEW (self)));
  g_autofree char *value = NULL, *text = NULL;
  IrSparkline line;
  guint step;

  if (board == NULL || history == NULL || keyboard)
    return FALSE;
  line = line_of (board, score, gtk_widget_get_width (area), HEIGHT);
  step = ir_sparkline_step_at (&line, x, FALSE);
  value = ir_score_text (score, ir_scoreboard_value (board, score, step));
  if (step == 0)
    text = g_strdup_printf ("Original: %s", value);
  else
    text = g_strdup_printf ("Step %u, %s: %s%s", step, ir_history_step (history, step)->rule, value,
                            ir_scoreboard_is_spike (board, score, step) ? " ▲ it rose here" : "");
  gtk_tooltip_set_text (tooltip, text);
  return TRUE;
}

/* -- texts -- */

static guint
count_spikes (const IrScoreboard *board)
{
  guint n = 0;

  for (guint step = 1; step <= board->n_steps; step++)
    n += ir_sparkline_any_spike (board, step);
  return n;
}

/* After the last one it begins again. */
static void
on_next_spike (GtkButton *button, IrScoreboardView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrScoreboard *board = board_of (self);
  const guint cursor = ir_session_get_cursor (session);

  for (guint i = 1; board != NULL && i <= board->n_steps + 1; i++)
    {
      const guint step = (cursor + i) % (board->n_steps + 1);

      if (step > 0 && ir_sparkline_any_spike (board, step))
        {
          ir_session_goto (session, step);
          return;
        }
    }
}

static void
on_measure (IrScoreboardView *self)
{
  ir_session_measure_times (ir_view_get_session (IR_VIEW (self)));
}

static char *
measured_text (IrSession *session, guint step)
{
  double spread;
  const double now = ir_session_get_time (session, step, &spread),
               start = ir_session_get_time (session, 0, NULL);

  if (!isnan (now))
    return g_strdup_printf ("Time of a run here %.3g ms ± %.2g (original %.3g ms)", now, spread / 2,
                            start);
  return g_strdup (isnan (start) ? "Time not measured" : "Time not measured at this step");
}

/* The fifth line, once it was measured. */
static void
draw_times (GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  IrScoreboardView *self = data;
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const guint n = ir_session_get_n_steps (session);
  double most = 0;
  gboolean is_down = FALSE;

  for (guint step = 0; step <= n; step++)
    most = fmax (most, ir_session_get_time (session, step, NULL));
  ir_sparkline_colour (GTK_WIDGET (area), cr, "accent_color", 1);
  cairo_set_line_width (cr, 2);
  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
  for (guint step = 0; step <= n; step++)
    {
      const double time = ir_session_get_time (session, step, NULL);
      const double x = MARGIN + (width - 2 * MARGIN) * step / MAX (n, 1);

      if (isnan (time))
        continue;
      (is_down ? cairo_line_to : cairo_move_to) (
          cr, x, height - MARGIN - (height - 2 * MARGIN) * (most > 0 ? time / most : 0));
      is_down = TRUE;
    }
  cairo_stroke (cr);
}

static void
on_time_pressed (GtkGestureClick *gesture, int n_press, double x, double y, IrScoreboardView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const int width = gtk_widget_get_width (self->time_area);
  const double part = (x - MARGIN) / MAX (width - 2 * MARGIN, 1);

  ir_session_goto (session, (guint) (CLAMP (part, 0, 1) * ir_session_get_n_steps (session) + 0.5));
}

static void
show_times (IrScoreboardView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const double start = ir_session_get_time (session, 0, NULL),
               now = ir_session_get_time (session, ir_session_get_cursor (session), NULL);
  const gboolean is_measured = !isnan (start);
  g_autofree char *value = g_strdup_printf ("%.3g ms", now),
                  *change = ir_change_in_percent (start, now);

  gtk_label_set_text (GTK_LABEL (self->time_value), isnan (now) ? "–" : value);
  gtk_label_set_text (GTK_LABEL (self->time_change), isnan (now) || now == start ? "" : change);
  gtk_widget_set_visible (self->time_title, is_measured);
  gtk_widget_set_visible (self->time_value, is_measured);
  gtk_widget_set_visible (self->time_change, is_measured);
  gtk_widget_set_visible (self->time_area, is_measured);
  gtk_widget_queue_draw (self->time_area);
}

static void
show_note (IrScoreboardView *self, const IrScoreboard *board)
{
  const guint n = count_spikes (board);
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  g_autofree char *measured = measured_text (session, ir_session_get_cursor (session));
  g_autofree char *count = ir_count_text (n);
  g_autofree char *rises = n == 0 ? g_strdup ("no step made the graph dearer")
                                  : g_strdup_printf ("%s %s made the graph dearer (▲)", count,
                                                     n == 1 ? "step" : "steps");
  g_autofree char *text = g_strdup_printf ("%s · %s%s%s", measured, rises,
                                           board->problem != NULL ? " · " : "",
                                           board->problem != NULL ? board->problem : "");

  gtk_label_set_text (GTK_LABEL (self->note), text);
  gtk_widget_set_tooltip_text (self->note, text);
  gtk_widget_set_sensitive (self->next_spike, n > 0);
}

static void
show_row (IrScoreboardView *self, const IrScoreboard *board, IrScore score, guint cursor)
{
  const double start = ir_scoreboard_value (board, score, 0);
  const double now = ir_scoreboard_value (board, score, cursor);
  g_autofree char *value = ir_score_text (score, now), *change = NULL, *label = NULL,
                  *percent = NULL,
                  *last = cursor > 0
                              ? ir_score_change_text (
                                    score, ir_scoreboard_value (board, score, cursor - 1), now)
                              : g_strdup ("");

  percent = ir_change_in_percent (start, now);
  change = start > 0 && !isnan (now) && start != now
               ? g_strdup_printf ("%s%s%s", percent, last[0] != '\0' ? " · here " : "", last)
               : g_strdup (last);
  gtk_label_set_text (GTK_LABEL (self->values[score]), value);
  gtk_label_set_text (GTK_LABEL (self->changes[score]), change);
  label = g_strdup_printf ("%s: %s after step %u", ir_score_title (score), value, cursor);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->areas[score]),
                                  GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  gtk_widget_queue_draw (self->areas[score]);
}

static void
update (IrScoreboardView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  const IrScoreboard *board = ir_session_get_scoreboard (session);
  const guint n = ir_session_get_n_steps (session);

  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), ir_session_is_empty (session)
                                                                 ? "closed"
                                                             : n == 0        ? "empty"
                                                             : board == NULL ? "busy"
                                                                             : "board");
  if (board == NULL)
    return;
  for (guint i = 0; i < IR_N_SCORES; i++)
    show_row (self, board, i, MIN (ir_session_get_cursor (session), board->n_steps));
  show_times (self);
  show_note (self, board);
}

static void
ir_scoreboard_view_session_changed (IrView *view, IrSessionChanges changes)
{
  if (changes & IR_CHANGED_HISTORY)
    ir_session_request_scoreboard (ir_view_get_session (view));
  if (changes & (IR_CHANGED_HISTORY | IR_CHANGED_FRAME | IR_CHANGED_RUNS | IR_CHANGED_SCORES))
    update (IR_SCOREBOARD_VIEW (view));
}

/* -- object -- */

static void
ir_scoreboard_view_class_init (IrScoreboardViewClass *klass)
{
  IR_VIEW_CLASS (klass)->session_changed = ir_scoreboard_view_session_changed;
}

static GtkWidget *
make_label (const char *text, float xalign, int width, const char *css)
{
  GtkWidget *label = gtk_label_new (text);

  gtk_label_set_xalign (GTK_LABEL (label), xalign);
  gtk_label_set_width_chars (GTK_LABEL (label), width);
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  return label;
}

static GtkWidget *
make_area (IrScoreboardView *self, IrScore score)
{
  GtkWidget *area = gtk_drawing_area_new ();
  GtkGesture *click = gtk_gesture_click_new ();

  g_object_set_data (G_OBJECT (area), "score", GUINT_TO_POINTER (score));
  gtk_drawing_area_set_content_height (GTK_DRAWING_AREA (area), HEIGHT);
  gtk_drawing_area_set_draw_func (GTK_DRAWING_AREA (area), draw, self, NULL);
  gtk_widget_set_hexpand (area, TRUE);
  gtk_widget_set_vexpand (area, TRUE);
  gtk_widget_set_has_tooltip (area, TRUE);
  g_signal_connect (area, "query-tooltip", G_CALLBACK (on_query_tooltip), self);
  g_signal_connect (click, "pressed", G_CALLBACK (on_pressed), self);
  gtk_widget_add_controller (area, GTK_EVENT_CONTROLLER (click));
  return area;
}

static void
add_time_row (IrScoreboardView *self, GtkWidget *grid)
{
  GtkGesture *click = gtk_gesture_click_new ();

  self->time_title = make_label ("Time of a run", 0, -1, NULL);
  self->time_value = make_label (NULL, 1, 9, "numeric");
  self->time_change = make_label (NULL, 0, 20, "dim-label");
  self->time_area = gtk_drawing_area_new ();
  gtk_drawing_area_set_content_height (GTK_DRAWING_AREA (self->time_area), HEIGHT);
  gtk_drawing_area_set_draw_func (GTK_DRAWING_AREA (self->time_area), draw_times, self, NULL);
  gtk_widget_set_hexpand (self->time_area, TRUE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->time_area), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "Time of a run over the steps", -1);
  g_signal_connect (click, "pressed", G_CALLBACK (on_time_pressed), self);
  gtk_widget_add_controller (self->time_area, GTK_EVENT_CONTROLLER (click));
  gtk_grid_attach (GTK_GRID (grid), self->time_title, 0, IR_N_SCORES, 1, 1);
  gtk_grid_attach (GTK_GRID (grid), self->time_value, 1, IR_N_SCORES, 1, 1);
  gtk_grid_attach (GTK_GRID (grid), self->time_change, 2, IR_N_SCORES, 1, 1);
  gtk_grid_attach (GTK_GRID (grid), self->time_area, 3, IR_N_SCORES, 1, 1);
}

static GtkWidget *
make_rows (IrScoreboardView *self)
{
  GtkWidget *grid = gtk_grid_new ();

  gtk_grid_set_column_spacing (GTK_GRID (grid), 12);
  for (guint i = 0; i < IR_N_SCORES; i++)
    {
      self->values[i] = make_label (NULL, 1, 9, "numeric");
      self->changes[i] = make_label (NULL, 0, 20, "dim-label");
      gtk_widget_add_css_class (self->changes[i], "numeric");
      self->areas[i] = make_area (self, i);
      gtk_grid_attach (GTK_GRID (grid), make_label (ir_score_title (i), 0, -1, NULL), 0, (int) i, 1,
                       1);
      gtk_grid_attach (GTK_GRID (grid), self->values[i], 1, (int) i, 1, 1);
      gtk_grid_attach (GTK_GRID (grid), self->changes[i], 2, (int) i, 1, 1);
      gtk_grid_attach (GTK_GRID (grid), self->areas[i], 3, (int) i, 1, 1);
    }
  add_time_row (self, grid);
  gtk_widget_set_vexpand (grid, TRUE);
  return grid;
}

static GtkWidget *
make_board (IrScoreboardView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6), *measure;

  self->note = make_label (NULL, 0, -1, "dim-label");
  gtk_label_set_ellipsize (GTK_LABEL (self->note), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand (self->note, TRUE);
  self->next_spike = gtk_button_new_with_label ("Next Rise");
  gtk_widget_set_tooltip_text (self->next_spike, "The next step that made the graph dearer");
  gtk_widget_add_css_class (self->next_spike, "flat");
  g_signal_connect (self->next_spike, "clicked", G_CALLBACK (on_next_spike), self);
  gtk_box_append (GTK_BOX (bar), self->note);
  measure = gtk_button_new_with_label ("Measure Times");
  gtk_widget_set_tooltip_text (measure, "Runs the graph after each step, several times");
  gtk_widget_add_css_class (measure, "flat");
  g_signal_connect_swapped (measure, "clicked", G_CALLBACK (on_measure), self);
  gtk_box_append (GTK_BOX (bar), measure);
  gtk_box_append (GTK_BOX (bar), self->next_spike);
  gtk_box_append (GTK_BOX (box), make_rows (self));
  gtk_box_append (GTK_BOX (box), bar);
  gtk_widget_add_css_class (box, "scoreboard");
  return box;
}

static void
ir_scoreboard_view_init (IrScoreboardView *self)
{
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (GTK_STACK (self->stack),
                       ir_view_empty_page ("document-open-symbolic", "No Graph",
                                           "Open a graph to see what its steps cost.", "win.open",
                                           "Open…"),
                       "closed");
  gtk_stack_add_named (GTK_STACK (self->stack),
                       ir_view_empty_page ("view-list-symbolic", "No Steps Yet",
                                           "Run a pipeline to see what each step saves.",
                                           "win.optimize", "Optimize"),
                       "empty");
  gtk_stack_add_named (GTK_STACK (self->stack), make_label ("Scoring the steps…", 0.5, -1, NULL),
                       "busy");
  gtk_stack_add_named (GTK_STACK (self->stack), make_board (self), "board");
  adw_bin_set_child (ADW_BIN (self), self->stack);
}

const IrViewInfo ir_view_scoreboard = {
  .id = "scoreboard",
  .title = "Scoreboard",
  .icon_name = "view-list-symbolic",
  .doc = "What the graph costs after each step.",
  .help = "A curve for each cost over the steps; ▲ marks where one rose. A click goes to "
          "that step.",
  .place = IR_VIEW_BOTTOM,
  .get_type = ir_scoreboard_view_get_type,
};
