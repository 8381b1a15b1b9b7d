/* Of as many iterations as have columns the cells are filled; the scrubber moves these along. */
#include "config.h"

#include "views/play/iterations.h"

#include "core/exec/run/loop-table.h"
#include "core/ir/count.h"
#include "views/name.h"
#include "views/sparkline.h"

#include <math.h>

#define N_SHOWN   5   /* iterations that have columns */
#define HEIGHT    48  /* px of the line */
#define MARGIN    4.0 /* px around it */
#define PAGE_STEP 10  /* iterations by Page Up and Down */

struct _IrIterationsPane
{
  GtkBox parent;
  IrIterationsChosen chosen;
  gpointer data;
  IrFlowLog *log;     /* (nullable) that has the run */
  IrLoopTable *table; /* (nullable) of it */
  GtkStringList *names;
  GtkSingleSelection *selection;
  GtkAdjustment *round;
  GtkWidget *title, *area, *scale, *place, *view, *previous, *next;
  GtkColumnViewColumn *columns[N_SHOWN];
  PangoAttrList *bold;
  GPtrArray *cells; /* of GtkListItem that are bound, but those of names */
  gboolean filling;
};

G_DEFINE_FINAL_TYPE (IrIterationsPane, ir_iterations, GTK_TYPE_BOX)

/* -- where it stands -- */

static guint
n_rounds (const IrIterationsPane *self)
{
  return self->table != NULL ? ir_loop_table_n_rounds (self->table) : 0;
}

static guint
round_now (const IrIterationsPane *self)
{
  return (guint) gtk_adjustment_get_value (self->round);
}

/* Of the first column; the one that is chosen stands in the middle, but at the ends. */
static guint
first_shown (const IrIterationsPane *self)
{
  const guint n = n_rounds (self), now = round_now (self), before = N_SHOWN / 2;

  return n <= N_SHOWN || now < before ? 0 : MIN (now - before, n - N_SHOWN);
}

static guint
row_now (const IrIterationsPane *self)
{
  const guint row = gtk_single_selection_get_selected (self->selection);

  return self->table != NULL && row < self->table->rows->len ? row : GTK_INVALID_LIST_POSITION;
}

static const IrValue *
value_of (const IrIterationsPane *self, guint row)
{
  return ir_model_value (ir_flow_log_model (self->log),
                         g_array_index (self->table->rows, IrLoopRow, row).value);
}

static char *
round_text (const IrIterationsPane *self, guint round)
{
  const IrLoopRound at = ir_loop_table_round (self->table, round);

  /* Of a loop in a loop, which of them it is, is known when it was played again. */
  return self->table->line != NULL && !ir_loop_table_has_round (self->table, round)
             ? g_strdup_printf ("%s@%" G_GINT64_FORMAT " …", at.frame, at.iteration)
             : g_strdup_printf ("%s@%" G_GINT64_FORMAT, at.frame, at.iteration);
}

/* -- what a cell says -- */

/* What it held in a round: "…" until that was run again */
static char *
point_text (const IrIterationsPane *self, guint row, guint round)
{
  const IrValue *value = value_of (self, row);
  const IrSeriesPoint *point = ir_loop_table_point (self->table, row, round);

  if (point == NULL)
    return g_strdup (ir_loop_table_has_round (self->table, round) ? "–" : "…");
  if (point->n == 0)
    return g_strdup ("empty");
  if (point->n_nan > 0)
    return g_strdup ("NaN");
  if (point->n_inf > 0)
    return g_strdup ("Inf");
  if (point->n == 1 && ir_value_dtype (value) == IR_DTYPE_BOOL)
    return g_strdup (point->mean != 0 ? "true" : "false");
  return point->n == 1 ? g_strdup_printf ("%.6g", point->mean)
                       : g_strdup_printf ("%.3g … %.3g", point->min, point->max);
}

static void
show_cell (IrIterationsPane *self, GtkListItem *item)
{
  GtkWidget *label = gtk_list_item_get_child (item);
  const guint column = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (item), "column"));
  const guint row = gtk_list_item_get_position (item), round = first_shown (self) + column;
  g_autofree char *text = NULL;

  if (self->table == NULL || row >= self->table->rows->len || round >= n_rounds (self))
    {
      gtk_label_set_text (GTK_LABEL (label), "");
      return;
    }
  text = point_text (self, row, round);
  gtk_label_set_text (GTK_LABEL (label), text);
  gtk_widget_set_tooltip_text (label,
                               g_str_equal (text, "–") ? "Not computed in this iteration" : NULL);
  gtk_label_set_attributes (GTK_LABEL (label), round == round_now (self) ? self->bold : NULL);
  ir_name_row (label);
}

/* -- the line -- */

/* FALSE: nothing of it is finite. */
static gboolean
range_of (const GArray *series, double *least, double *largest)
{
  *least = INFINITY;
  *largest = -INFINITY;
  for (guint i = 0; i < series->len; i++)
    {
      const IrSeriesPoint *point = &g_array_index (series, IrSeriesPoint, i);
      *least = fmin (*least, point->min);
      *largest = fmax (*largest, point->max);
    }
  return *least <= *largest;
}

static double
x_of (guint round, guint n, int width)
{
  return MARGIN + (width - 2 * MARGIN) * (n > 1 ? (double) round / (n - 1) : 0.5);
}

/* Of a row: in order, each at a round from which on it is */
static const GArray *
line_of (const IrIterationsPane *self, guint row)
{
  return g_array_index (self->table->rows, IrLoopRow, row).line;
}

/* The round of the point @i of a line; of what branches compute, a loop in no other knows it by its number. Of a loop in
 * a loop points are as far from each other. */
static guint
round_of (const IrIterationsPane *self, const GArray *line, guint i)
{
  if (self->table->line != NULL)
    return (guint) ((guint64) i * n_rounds (self) / line->len);
  return self->table->loop != 0 ? (guint) g_array_index (line, IrSeriesPoint, i).iteration : i;
}

static const IrSeriesPoint *
point_at (const IrIterationsPane *self, guint row, guint i)
{
  return self->table->loop != 0 ? &g_array_index (line_of (self, row), IrSeriesPoint, i)
                                : ir_loop_table_point (self->table, row, i);
}

/* All points are looked at, however many lie on a pixel: a single one is what is searched for. */
static void
draw_not_finite (IrIterationsPane *self, cairo_t *cr, guint row, int width, double foot)
{
  const GArray *line = line_of (self, row);
  const guint n = n_rounds (self), n_points = self->table->loop != 0 ? line->len : n;
  double drawn = -1;

  ir_sparkline_colour (self->area, cr, "error_color", 1);
  for (guint i = 0; i < n_points; i++)
    {
      const IrSeriesPoint *point = point_at (self, row, i);
      const double x = floor (x_of (round_of (self, line, i), n, width));
      if (point == NULL || point->n_nan + point->n_inf == 0 || x == drawn)
        continue;
      cairo_rectangle (cr, x - 1, foot - 3, 2, 6);
      drawn = x;
    }
  cairo_fill (cr);
}

/* A line through means over a band from least to largest; what is not finite is a stroke at the foot. */
static void
draw_series (IrIterationsPane *self, cairo_t *cr, guint row, int width, int height)
{
  const GArray *line = line_of (self, row);
  const guint n = n_rounds (self), n_points = self->table->loop != 0 ? line->len : n,
              step = MAX (n_points / (guint) MAX (4 * width, 1), 1);
  double least, largest;
  const gboolean some = range_of (line, &least, &largest);
  const double scale = largest > least ? (height - 2 * MARGIN) / (largest - least) : 0;
  const double foot = height - MARGIN, middle = scale == 0 ? (height - 2 * MARGIN) / 2 : 0;
  gboolean is_down = FALSE;

  draw_not_finite (self, cr, row, width, foot);
  for (guint i = 0; i < n_points; i += step)
    {
      const IrSeriesPoint *point = point_at (self, row, i);
      const double x = x_of (round_of (self, line, i), n, width);
      if (!some || point == NULL || isnan (point->mean))
        continue;
      ir_sparkline_colour (self->area, cr, "accent_color", 0.3);
      cairo_rectangle (cr, x - 1, foot - middle - (point->max - least) * scale, 2,
                       (point->max - point->min) * scale);
      cairo_fill (cr);
    }
  ir_sparkline_colour (self->area, cr, "accent_color", 1);
  for (guint i = 0; some && i < n_points; i += step)
    {
      const IrSeriesPoint *point = point_at (self, row, i);
      if (point == NULL || isnan (point->mean))
        continue;
      const double x = x_of (round_of (self, line, i), n, width),
                   y = foot - middle - (point->mean - least) * scale;
      if (n <= 60)
        {
          cairo_new_sub_path (cr);
          cairo_arc (cr, x, y, 2.5, 0, 2 * G_PI);
          cairo_fill (cr);
        }
      else
        {
          (is_down ? cairo_line_to : cairo_move_to) (cr, x, y);
          is_down = TRUE;
        }
    }
  cairo_set_line_width (cr, 1.5);
  cairo_stroke (cr);
}

static void
draw (GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  IrIterationsPane *self = data;
  const guint row = row_now (self);
  double x;

  if (self->table == NULL || n_rounds (self) == 0)
    return;
  x = x_of (round_now (self), n_rounds (self), width);
  ir_sparkline_colour (GTK_WIDGET (area), cr, "window_fg_color", 0.6);
  cairo_rectangle (cr, floor (x), 0, 1, height);
  cairo_fill (cr);
  if (row != GTK_INVALID_LIST_POSITION)
    draw_series (self, cr, row, width, height);
}

/* -- showing -- */

/* A loop may compute constants and sequences alone. */
static const char *
why_empty (const IrIterationsPane *self)
{
  const GArray *frames = self->table != NULL ? ir_flow_log_frames (self->log) : NULL;

  for (guint i = 0; frames != NULL && i < frames->len; i++)
    if (g_str_equal (g_array_index (frames, IrFlowFrame, i).name, self->table->name))
      return "None of its values is kept by iterations; Events and Lanes have what it did";
  return "No iteration of this loop was run";
}

static void
show_title (IrIterationsPane *self)
{
  const guint row = row_now (self);
  g_autofree char *text = NULL, *place = NULL, *now = NULL;
  const guint n_lost = self->log != NULL && ir_flow_log_get_run (self->log) != NULL
                           ? ir_run_n_iterations_lost (ir_flow_log_get_run (self->log))
                           : 0;
  double least, largest;

  if (n_rounds (self) == 0 || row == GTK_INVALID_LIST_POSITION)
    {
      gtk_label_set_text (GTK_LABEL (self->title), n_rounds (self) == 0
                                                       ? why_empty (self)
                                                       : "Choose a value to see it as a line");
      return;
    }
  place = round_text (self, round_now (self));
  now = point_text (self, row, round_now (self));
  if (ir_value_dtype (value_of (self, row)) != IR_DTYPE_BOOL &&
      range_of (line_of (self, row), &least, &largest))
    text = g_strdup_printf ("%s/%s = %s, over all from %.6g to %.6g%s", place,
                            value_of (self, row)->name, now, least, largest,
                            n_lost > 0 ? "; of later iterations too many to keep" : "");
  else
    text = g_strdup_printf ("%s/%s = %s", place, value_of (self, row)->name, now);
  gtk_label_set_text (GTK_LABEL (self->title), text);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->area), GTK_ACCESSIBLE_PROPERTY_LABEL, text,
                                  -1);
}

static void
show_round (IrIterationsPane *self)
{
  const guint n = n_rounds (self), now = round_now (self), first = first_shown (self);
  g_autofree char *count = ir_count_text (n), *nth = ir_count_text (now + 1), *text = NULL,
                  *place = n > 0 ? round_text (self, now) : g_strdup ("");

  for (guint i = 0; i < N_SHOWN; i++)
    {
      g_autofree char *title = first + i < n ? round_text (self, first + i) : g_strdup ("");
      g_autofree char *marked = g_strconcat (first + i == now && n > 0 ? "▸ " : "", title, NULL);
      gtk_column_view_column_set_title (self->columns[i], marked);
      gtk_column_view_column_set_visible (self->columns[i], first + i < n);
    }
  text = n > 0 ? g_strdup_printf ("%s of %s", nth, count) : g_strdup ("");
  gtk_label_set_text (GTK_LABEL (self->place), text);
  gtk_widget_set_sensitive (self->previous, now > 0);
  gtk_widget_set_sensitive (self->next, now + 1 < n);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->scale), GTK_ACCESSIBLE_PROPERTY_VALUE_TEXT,
                                  place, -1);
  for (guint i = 0; i < self->cells->len; i++)
    show_cell (self, self->cells->pdata[i]);
  show_title (self);
  gtk_widget_queue_draw (self->area);
}

void
ir_iterations_tell (IrIterationsPane *self)
{
  if (n_rounds (self) == 0)
    return;
  const IrLoopRound at = ir_loop_table_round (self->table, round_now (self));
  self->chosen (0, &at, self->data);
}

static void
on_round (IrIterationsPane *self)
{
  if (self->filling)
    return;
  show_round (self);
  ir_iterations_tell (self);
}

static void
on_value (IrIterationsPane *self)
{
  const guint row = row_now (self);

  if (self->filling)
    return;
  show_title (self);
  gtk_widget_queue_draw (self->area);
  if (row != GTK_INVALID_LIST_POSITION)
    self->chosen (g_array_index (self->table->rows, IrLoopRow, row).value, NULL, self->data);
}

/* (transfer full) (nullable) The first loop that has values */
static char *
first_loop (const IrFlowLog *log)
{
  const GArray *frames = ir_flow_log_frames (log);

  for (guint i = 0; i < frames->len; i++)
    {
      const char *name = g_array_index (frames, IrFlowFrame, i).name;
      g_autoptr (IrLoopTable) table = ir_loop_table_new (log, name);
      if (table->rows->len > 0)
        return g_strdup (name);
    }
  return NULL;
}

/* The first that is drawn as a line: no number of an iteration, no condition, and not what functions hand on as it is. */
static guint
first_row (const IrIterationsPane *self)
{
  guint first = 0;
  double least, largest;

  for (guint i = self->table->rows->len; i-- > 0;)
    if (ir_dtype_is_float (ir_value_dtype (value_of (self, i))) &&
        range_of (line_of (self, i), &least, &largest) && least < largest)
      first = i;
  return first;
}

static void
fill (IrIterationsPane *self)
{
  const guint n = n_rounds (self);

  self->filling = TRUE;
  gtk_string_list_splice (self->names, 0, g_list_model_get_n_items (G_LIST_MODEL (self->names)),
                          NULL);
  for (guint i = 0; self->table != NULL && i < self->table->rows->len; i++)
    gtk_string_list_append (self->names, value_of (self, i)->name);
  gtk_adjustment_configure (self->round, 0, 0, n > 0 ? n - 1 : 0, 1, PAGE_STEP, 0);
  if (self->table != NULL && self->table->rows->len > 0)
    gtk_single_selection_set_selected (self->selection, first_row (self));
  self->filling = FALSE;
  gtk_widget_set_sensitive (self->scale, n > 1);
  show_round (self);
}

static void
load (IrIterationsPane *self, IrFlowLog *log, const char *loop)
{
  g_autofree char *name = g_strdup (loop);

  if (log != NULL)
    ir_flow_log_ref (log);
  g_clear_pointer (&self->table, ir_loop_table_free);
  g_clear_pointer (&self->log, ir_flow_log_unref);
  self->log = log;
  self->table = name != NULL && log != NULL ? ir_loop_table_new (log, name) : NULL;
}

void
ir_iterations_set (IrIterationsPane *self, IrFlowLog *log, const char *loop)
{
  g_autofree char *first = log != NULL && loop == NULL ? first_loop (log) : NULL;

  load (self, log, loop != NULL ? loop : first);
  fill (self);
}

void
ir_iterations_set_log (IrIterationsPane *self, IrFlowLog *log)
{
  const guint n = n_rounds (self);

  if (self->table == NULL)
    return;
  load (self, log, self->table->name);
  if (n_rounds (self) != n)
    fill (self);
  else
    show_round (self);
}

/* -- building -- */

static void
step_by (IrIterationsPane *self, double by)
{
  gtk_adjustment_set_value (self->round, gtk_adjustment_get_value (self->round) + by);
}

void
ir_iterations_step (IrIterationsPane *self, int by)
{
  step_by (self, by);
}

static void
on_previous (IrIterationsPane *self)
{
  step_by (self, -1);
}

static void
on_next (IrIterationsPane *self)
{
  step_by (self, 1);
}

static void
on_pressed (IrIterationsPane *self, int n_press, double x)
{
  const double width = gtk_widget_get_width (self->area) - 2 * MARGIN;

  if (width > 0 && n_rounds (self) > 1)
    gtk_adjustment_set_value (self->round,
                              round (CLAMP ((x - MARGIN) / width, 0, 1) * (n_rounds (self) - 1)));
}

static void
setup_cell (GtkSignalListItemFactory *factory, GtkListItem *item, gpointer column)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_widget_add_css_class (label, "numeric");
  g_object_set_data (G_OBJECT (item), "column", column);
  gtk_list_item_set_child (item, label);
}

static void
bind_cell (GtkSignalListItemFactory *factory, GtkListItem *item, IrIterationsPane *self)
{
  g_ptr_array_add (self->cells, item);
  show_cell (self, item);
}

static void
unbind_cell (GtkSignalListItemFactory *factory, GtkListItem *item, IrIterationsPane *self)
{
  g_ptr_array_remove_fast (self->cells, item);
}

static void
setup_name (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_MIDDLE);
  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_list_item_set_child (item, label);
}

static void
bind_name (GtkSignalListItemFactory *factory, GtkListItem *item)
{
  GtkWidget *label = gtk_list_item_get_child (item);

  gtk_label_set_text (GTK_LABEL (label),
                      gtk_string_object_get_string (gtk_list_item_get_item (item)));
  ir_name_row (label);
}

static GtkColumnViewColumn *
add_column (IrIterationsPane *self, const char *title, GtkListItemFactory *factory)
{
  g_autoptr (GtkColumnViewColumn) column = gtk_column_view_column_new (title, factory);

  gtk_column_view_column_set_expand (column, TRUE);
  gtk_column_view_append_column (GTK_COLUMN_VIEW (self->view), column);
  return column;
}

static GtkWidget *
make_table (IrIterationsPane *self)
{
  GtkWidget *scroller = gtk_scrolled_window_new ();
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new ();

  self->names = gtk_string_list_new (NULL);
  self->selection = gtk_single_selection_new (G_LIST_MODEL (self->names));
  gtk_single_selection_set_autoselect (self->selection, FALSE);
  self->view = gtk_column_view_new (GTK_SELECTION_MODEL (self->selection));
  g_signal_connect (factory, "setup", G_CALLBACK (setup_name), NULL);
  g_signal_connect (factory, "bind", G_CALLBACK (bind_name), NULL);
  add_column (self, "Value", factory);
  for (guint i = 0; i < N_SHOWN; i++)
    {
      factory = gtk_signal_list_item_factory_new ();
      g_signal_connect (factory, "setup", G_CALLBACK (setup_cell), GUINT_TO_POINTER (i));
      g_signal_connect (factory, "bind", G_CALLBACK (bind_cell), self);
      g_signal_connect (factory, "unbind", G_CALLBACK (unbind_cell), self);
      self->columns[i] = add_column (self, "", factory);
    }
  gtk_widget_add_css_class (self->view, "data-table");
  ir_name (self->view, "Values by iterations");
  g_signal_connect_object (self->selection, "notify::selected", G_CALLBACK (on_value), self,
                           G_CONNECT_SWAPPED);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), self->view);
  gtk_widget_set_vexpand (scroller, TRUE);
  return scroller;
}

static GtkWidget *
add_step (
    IrIterationsPane *self, GtkWidget *box, const char *icon, const char *tip, GCallback clicked)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);

  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_tooltip_text (button, tip);
  ir_name (button, tip);
  g_signal_connect_swapped (button, "clicked", clicked, self);
  gtk_box_append (GTK_BOX (box), button);
  return button;
}

static GtkWidget *
make_scrubber (IrIterationsPane *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);

  self->previous = add_step (self, box, "go-previous-symbolic", "Previous iteration (,)",
                             G_CALLBACK (on_previous));
  self->scale = gtk_scale_new (GTK_ORIENTATION_HORIZONTAL, self->round);
  gtk_scale_set_draw_value (GTK_SCALE (self->scale), FALSE);
  gtk_range_set_round_digits (GTK_RANGE (self->scale), 0);
  gtk_widget_set_hexpand (self->scale, TRUE);
  gtk_widget_set_tooltip_text (self->scale, "Which iteration is shown");
  ir_name (self->scale, "Iteration");
  gtk_box_append (GTK_BOX (box), self->scale);
  self->next = add_step (self, box, "go-next-symbolic", "Next iteration (.)", G_CALLBACK (on_next));
  self->place = gtk_label_new (NULL);
  gtk_widget_add_css_class (self->place, "dim-label");
  gtk_widget_add_css_class (self->place, "numeric");
  gtk_box_append (GTK_BOX (box), self->place);
  gtk_widget_set_margin_start (box, 6);
  gtk_widget_set_margin_end (box, 12);
  return box;
}

static void
ir_iterations_dispose (GObject *object)
{
  IrIterationsPane *self = IR_ITERATIONS (object);

  g_clear_pointer (&self->table, ir_loop_table_free);
  g_clear_pointer (&self->log, ir_flow_log_unref);
  G_OBJECT_CLASS (ir_iterations_parent_class)->dispose (object);
}

static void
ir_iterations_finalize (GObject *object)
{
  g_ptr_array_unref (IR_ITERATIONS (object)->cells);
  pango_attr_list_unref (IR_ITERATIONS (object)->bold);
  G_OBJECT_CLASS (ir_iterations_parent_class)->finalize (object);
}

static void
ir_iterations_class_init (IrIterationsPaneClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_iterations_dispose;
  G_OBJECT_CLASS (klass)->finalize = ir_iterations_finalize;
}

static void
ir_iterations_init (IrIterationsPane *self)
{
  GtkGesture *click = gtk_gesture_click_new ();

  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  self->cells = g_ptr_array_new ();
  self->bold = pango_attr_list_new ();
  pango_attr_list_insert (self->bold, pango_attr_weight_new (PANGO_WEIGHT_BOLD));
  self->round = gtk_adjustment_new (0, 0, 0, 1, PAGE_STEP, 0);
  self->title = gtk_label_new (NULL);
  gtk_label_set_ellipsize (GTK_LABEL (self->title), PANGO_ELLIPSIZE_END);
  gtk_label_set_xalign (GTK_LABEL (self->title), 0);
  gtk_widget_add_css_class (self->title, "numeric");
  gtk_widget_set_margin_start (self->title, 12);
  gtk_widget_set_margin_end (self->title, 12);
  self->area = gtk_drawing_area_new ();
  gtk_drawing_area_set_content_height (GTK_DRAWING_AREA (self->area), HEIGHT);
  gtk_drawing_area_set_draw_func (GTK_DRAWING_AREA (self->area), draw, self, NULL);
  gtk_widget_set_margin_start (self->area, 12);
  gtk_widget_set_margin_end (self->area, 12);
  g_signal_connect_swapped (click, "pressed", G_CALLBACK (on_pressed), self);
  gtk_widget_add_controller (self->area, GTK_EVENT_CONTROLLER (click));
  gtk_box_append (GTK_BOX (self), self->title);
  gtk_box_append (GTK_BOX (self), self->area);
  gtk_box_append (GTK_BOX (self), make_scrubber (self));
  gtk_box_append (GTK_BOX (self), make_table (self));
  g_signal_connect_object (self->round, "value-changed", G_CALLBACK (on_round), self,
                           G_CONNECT_SWAPPED);
}

GtkWidget *
ir_iterations_new (IrIterationsChosen chosen, gpointer data)
{
  IrIterationsPane *self = g_object_new (IR_TYPE_ITERATIONS, NULL);

  self->chosen = chosen;
  self->data = data;
  return GTK_WIDGET (self);
}
