/* The scoreboard: what the graph costs after each step, as one sparkline for each score over all
 * steps. A click goes to the step under the pointer; a step that made the graph dearer has a mark,
 * which catches clicks near it. The scores are made in a job when the view is first looked at. */
#include "config.h"

#include "views/view.h"

#include <math.h>

#define HEIGHT 30  /* px of a sparkline */
#define MARGIN 5.0 /* px around it: room for marks */
#define CATCH  7.0 /* px: a click so near to a mark means it */

struct _IrScoreboardView
{
  IrView parent;
  GtkWidget *stack, *note, *next_spike;
  GtkWidget *areas[IR_N_SCORES], *values[IR_N_SCORES], *changes[IR_N_SCORES];
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

static double
x_of (const IrScoreboard *board, guint step, int width)
{
  return MARGIN + (width - 2 * MARGIN) * step / MAX (board->n_steps, 1);
}

/* From 0, so that a line half as high is half as dear. */
static double
y_of (const IrScoreboard *board, IrScore score, guint step, double most, int height)
{
  const double part = most > 0 ? ir_scoreboard_value (board, score, step) / most : 0;

  return height - MARGIN - (height - 2 * MARGIN) * part;
}

static double
most_of (const IrScoreboard *board, IrScore score)
{
  double most = 0;

  for (guint step = 0; step <= board->n_steps; step++)
    most = fmax (most, ir_scoreboard_value (board, score, step)); /* passes over NaN */
  return most;
}

static void
set_colour (GtkWidget *widget, cairo_t *cr, const char *name, double alpha)
{
  GtkStyleContext *style = gtk_widget_get_style_context (widget);
  GdkRGBA colour;

  if (!gtk_style_context_lookup_color (style, name, &colour))
    gtk_style_context_get_color (style, &colour);
  colour.alpha *= (float) alpha;
  gdk_cairo_set_source_rgba (cr, &colour);
}

static void
draw_line (const IrScoreboard *board, IrScore score, cairo_t *cr, int width, int height)
{
  const double most = most_of (board, score);
  gboolean is_down = FALSE;

  for (guint step = 0; step <= board->n_steps; step++)
    {
      if (isnan (ir_scoreboard_value (board, score, step)))
        {
          is_down = FALSE;
          continue;
        }
      (is_down ? cairo_line_to : cairo_move_to) (cr, x_of (board, step, width),
                                                 y_of (board, score, step, most, height));
      is_down = TRUE;
    }
  cairo_stroke (cr);
}

/* A triangle, so that the mark is told by its form too. */
static void
draw_spikes (const IrScoreboard *board, IrScore score, cairo_t *cr, int width, int height)
{
  const double most = most_of (board, score);

  for (guint step = 1; step <= board->n_steps; step++)
    if (ir_scoreboard_is_spike (board, score, step))
      {
        const double x = x_of (board, step, width);
        const double y = MAX (y_of (board, score, step, most, height) - 3, 6);

        cairo_move_to (cr, x, y - 6);
        cairo_line_to (cr, x + 5, y + 2);
        cairo_line_to (cr, x - 5, y + 2);
        cairo_close_path (cr);
        cairo_fill (cr);
      }
}

static void
draw (GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  IrScoreboardView *self = data;
  const IrScoreboard *board = board_of (self);
  GtkWidget *widget = GTK_WIDGET (area);
  const IrScore score = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (area), "score"));
  const guint cursor = ir_session_get_cursor (ir_view_get_session (IR_VIEW (self)));
  double x;

  if (board == NULL)
    return;
  set_colour (widget, cr, "borders", 1);
  cairo_set_line_width (cr, 1);
  cairo_move_to (cr, MARGIN, height - MARGIN + 0.5);
  cairo_line_to (cr, width - MARGIN, height - MARGIN + 0.5);
  cairo_stroke (cr);
  x = floor (x_of (board, MIN (cursor, board->n_steps), width)) + 0.5;
  set_colour (widget, cr, "theme_fg_color", 0.5);
  cairo_move_to (cr, x, 0);
  cairo_line_to (cr, x, height);
  cairo_stroke (cr);
  set_colour (widget, cr, "accent_color", 1);
  cairo_set_line_width (cr, 2);
  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
  draw_line (board, score, cr, width, height);
  set_colour (widget, cr, "error_color", 1);
  draw_spikes (board, score, cr, width, height);
}

/* -- pointer -- */

static guint
step_at (const IrScoreboard *board, IrScore score, double x, int width)
{
  const double part = (x - MARGIN) / MAX (width - 2 * MARGIN, 1);
  guint nearest = (guint) (CLAMP (part, 0, 1) * board->n_steps + 0.5);
  double distance = CATCH;

  for (guint step = 1; step <= board->n_steps; step++)
    if (ir_scoreboard_is_spike (board, score, step) &&
        fabs (x_of (board, step, width) - x) < distance)
      {
        nearest = step;
        distance = fabs (x_of (board, step, width) - x);
      }
  return nearest;
}

static void
on_pressed (GtkGestureClick *gesture, int n_press, double x, double y, IrScoreboardView *self)
{
  GtkWidget *area = gtk_event_controller_get_widget (GTK_EVENT_CONTROLLER (gesture));
  const IrScore score = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (area), "score"));
  const IrScoreboard *board = board_of (self);

  if (board != NULL)
    ir_session_goto (ir_view_get_session (IR_VIEW (self)),
                     step_at (board, score, x, gtk_widget_get_width (area)));
}

static gboolean
on_query_tooltip (
    GtkWidget *area, int x, int y, gboolean keyboard, GtkTooltip *tooltip, IrScoreboardView *self)
{
  const IrScore score = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (area), "score"));
  const IrScoreboard *board = board_of (self);
  const IrModel *history = ir_session_get_history (ir_view_get_session (IR_VIEW (self)));
  g_autofree char *value = NULL, *text = NULL;
  guint step;

  if (board == NULL || history == NULL || keyboard)
    return FALSE;
  step = step_at (board, score, x, gtk_widget_get_width (area));
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

static gboolean
is_any_spike (const IrScoreboard *board, guint step)
{
  for (guint i = 0; i < IR_N_SCORES; i++)
    if (ir_scoreboard_is_spike (board, i, step))
      return TRUE;
  return FALSE;
}

static guint
count_spikes (const IrScoreboard *board)
{
  guint n = 0;

  for (guint step = 1; step <= board->n_steps; step++)
    n += is_any_spike (board, step);
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

      if (step > 0 && is_any_spike (board, step))
        {
          ir_session_goto (session, step);
          return;
        }
    }
}

static char *
measured_text (IrSession *session)
{
  const IrRun *before = ir_session_get_run (session, IR_SIDE_BEFORE);
  const IrRun *after = ir_session_get_run (session, IR_SIDE_AFTER);
  const guint step = ir_session_get_run_step (session);

  if (after == NULL || after->trace == NULL)
    return g_strdup ("Time: run the graph to measure it (Ctrl+R)");
  if (step == 0 || before == NULL || before->trace == NULL)
    return g_strdup_printf ("Time, one run: %.2f ms at step %u", after->trace->duration_ns / 1e6,
                            step);
  return g_strdup_printf ("Time, one run each: %.2f ms original, %.2f ms at step %u",
                          before->trace->duration_ns / 1e6, after->trace->duration_ns / 1e6, step);
}

static void
show_note (IrScoreboardView *self, const IrScoreboard *board)
{
  const guint n = count_spikes (board);
  g_autofree char *measured = measured_text (ir_view_get_session (IR_VIEW (self)));
  g_autofree char *rises = n == 0 ? g_strdup ("no step made the graph dearer")
                                  : g_strdup_printf ("%u %s made the graph dearer (▲)", n,
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
                  *last = cursor > 0
                              ? ir_score_change_text (
                                    score, ir_scoreboard_value (board, score, cursor - 1), now)
                              : g_strdup ("");

  change = start > 0 && !isnan (now) && start != now
               ? g_strdup_printf ("%+.0f %%%s%s", (now - start) / start * 100,
                                  last[0] != '\0' ? " · here " : "", last)
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
  show_note (self, board);
}

static void
ir_scoreboard_view_session_changed (IrView *view, IrSessionChanges changes)
{
  if (changes & IR_CHANGED_HISTORY)
    ir_session_request_scoreboard (ir_view_get_session (view));
  if (changes & (IR_CHANGED_HISTORY | IR_CHANGED_FRAME | IR_CHANGED_RUNS | IR_CHANGED_DEBUG))
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
  gtk_widget_set_vexpand (grid, TRUE);
  return grid;
}

static GtkWidget *
make_board (IrScoreboardView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12);

  self->note = make_label (NULL, 0, -1, "dim-label");
  gtk_label_set_ellipsize (GTK_LABEL (self->note), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand (self->note, TRUE);
  self->next_spike = gtk_button_new_with_label ("Next Rise");
  gtk_widget_set_tooltip_text (self->next_spike, "The next step that made the graph dearer");
  gtk_widget_add_css_class (self->next_spike, "flat");
  g_signal_connect (self->next_spike, "clicked", G_CALLBACK (on_next_spike), self);
  gtk_box_append (GTK_BOX (bar), self->note);
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
  .place = IR_VIEW_BOTTOM,
  .get_type = ir_scoreboard_view_get_type,
};
