/* Training: a form on the left, on the right what drives it and what it comes to, step by step. The curves are
 * those that `irscope render --view training` draws of a log. */
#include "config.h"

#include "views/chart-area.h"
#include "views/name.h"
#include "views/session/act.h"
#include "views/session/frame.h"
#include "views/session/selection.h"
#include "views/session/training.h"
#include "views/training/form.h"
#include "views/training/parameter-table.h"

#include <math.h>
#include <string.h>

struct _IrTrainingView
{
  IrView parent;
  GtkWidget *stack, *form, *go, *pause, *step, *node, *stop, *write, *said, *note, *pages, *table;
  IrChartArea *chart;
};

#define IR_TYPE_TRAINING_VIEW (ir_training_view_get_type ())
G_DECLARE_FINAL_TYPE (IrTrainingView, ir_training_view, IR, TRAINING_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrTrainingView, ir_training_view, IR_TYPE_VIEW)

static IrSession *
session_of (IrTrainingView *self)
{
  return ir_view_get_session (IR_VIEW (self));
}

/* -- what there is to see -- */

static IrScene *
make_scene (IrJob *job,
            gpointer data,
            const IrChartOptions *options,
            GCancellable *cancellable,
            GError **error)
{
  return ir_training_chart (data, options);
}

static void
load_chart (IrTrainingView *self)
{
  g_auto (IrCourse) course = ir_session_get_course (session_of (self));

  ir_chart_area_load (self->chart, make_scene, g_array_ref (course.points),
                      (GDestroyNotify) g_array_unref);
}

static char *
progress_text (const IrCourse *course)
{
  const IrTrainingPoint *last = course->points->len > 0
                                    ? &g_array_index (course->points, IrTrainingPoint,
                                                      course->points->len - 1)
                                    : NULL;
  const char *how = course->state == IR_COURSE_RUNS     ? "Running"
                    : course->state == IR_COURSE_STANDS ? "Standing"
                    : course->failed                    ? "Stopped"
                                                        : "Ended";

  if (course->state == IR_COURSE_NONE)
    return g_strdup ("");
  if (course->standing != NULL)
    return g_strdup_printf ("Standing in step %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT,
                            course->step + 1, course->n_steps);
  if (last == NULL)
    return g_strdup (course->state == IR_COURSE_ENDED ? "Not begun" : "Preparing…");
  return isnan (last->accuracy)
             ? g_strdup_printf ("%s: step %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                                ", loss %.4g",
                                how, course->step, course->n_steps, last->loss)
             : g_strdup_printf ("%s: step %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                                ", loss %.4g, accuracy %.4g",
                                how, course->step, course->n_steps, last->loss, last->accuracy);
}

static void
show_buttons (IrTrainingView *self, const IrCourse *course)
{
  const gboolean runs = course->state == IR_COURSE_RUNS, stands = course->state == IR_COURSE_STANDS;
  const gboolean busy = ir_session_get_busy (session_of (self));
  const gboolean can_begin = !runs && !stands && !busy;

  gtk_button_set_label (GTK_BUTTON (self->go), stands ? "Continue" : "Train");
  gtk_widget_set_sensitive (self->go, can_begin || stands);
  gtk_widget_set_sensitive (self->pause, runs);
  gtk_widget_set_sensitive (self->step, can_begin || stands);
  gtk_widget_set_sensitive (self->node, can_begin || stands);
  gtk_widget_set_sensitive (self->stop, runs || stands);
  gtk_widget_set_sensitive (self->write, can_begin && course->is_written);
  ir_training_form_enable (IR_TRAINING_FORM (self->form), !runs && !stands);
}

static void
show_note (IrTrainingView *self, const char *text, gboolean failed)
{
  gtk_label_set_text (GTK_LABEL (self->note), text != NULL ? text : "");
  gtk_widget_set_visible (self->note, text != NULL);
  if (failed)
    gtk_widget_add_css_class (self->note, "error");
  else
    gtk_widget_remove_css_class (self->note, "error");
}

static void
show_course (IrTrainingView *self)
{
  g_auto (IrCourse) course = ir_session_get_course (session_of (self));
  g_autofree char *said = progress_text (&course);

  show_buttons (self, &course);
  if (course.standing != NULL)
    show_note (self, course.standing, FALSE);
  else
    show_note (self, course.text, course.failed);
  ir_parameter_table_set (IR_PARAMETER_TABLE (self->table), course.parameters);
  gtk_label_set_text (GTK_LABEL (self->said), said);
  gtk_widget_set_visible (self->said, *said != '\0');
  gtk_widget_set_tooltip_text (self->said, said);
}

static void
ir_training_view_session_changed (IrView *view, IrSessionChanges changes)
{
  IrTrainingView *self = IR_TRAINING_VIEW (view);
  const IrFrame *frame = ir_session_get_frame (session_of (self));

  if (changes & (IR_CHANGED_FRAME | IR_CHANGED_FILE))
    {
      ir_training_form_set (IR_TRAINING_FORM (self->form), frame != NULL ? frame->model : NULL);
      gtk_stack_set_visible_child_name (GTK_STACK (self->stack), frame != NULL ? "open" : "closed");
    }
  if (changes & (IR_CHANGED_TRAINING | IR_CHANGED_BUSY | IR_CHANGED_FILE))
    show_course (self);
  if (changes & (IR_CHANGED_TRAINING | IR_CHANGED_FILE))
    load_chart (self);
  ir_chart_area_session_changed (self->chart, changes);
}

/* -- driving -- */

static void
begin (IrTrainingView *self, IrTrainingStart start)
{
  g_auto (IrTrainingWish) wish = { 0 };
  g_autofree char *why = NULL;

  if (ir_training_form_get (IR_TRAINING_FORM (self->form), &wish, &why))
    ir_session_train (session_of (self), &wish, start);
  else
    show_note (self, why, TRUE);
}

static IrCourseState
state_of (IrTrainingView *self)
{
  g_auto (IrCourse) course = ir_session_get_course (session_of (self));

  return course.state;
}

static void
on_go (IrTrainingView *self)
{
  if (state_of (self) == IR_COURSE_STANDS)
    ir_session_train_on (session_of (self));
  else
    begin (self, IR_TRAINING_RUNS);
}

static void
on_pause (IrTrainingView *self)
{
  ir_session_train_pause (session_of (self));
}

static void
on_step (IrTrainingView *self)
{
  if (state_of (self) == IR_COURSE_STANDS)
    ir_session_train_step (session_of (self));
  else
    begin (self, IR_TRAINING_STEP);
}

static void
on_node (IrTrainingView *self)
{
  if (state_of (self) == IR_COURSE_STANDS)
    ir_session_train_node (session_of (self));
  else
    begin (self, IR_TRAINING_NODE);
}

static void
on_stop (IrTrainingView *self)
{
  ir_session_train_stop (session_of (self));
}

/* One step of the graph, which can be undone. */
static void
on_write (IrTrainingView *self)
{
  g_auto (IrCourse) course = ir_session_get_course (session_of (self));
  const char *const words[] = { "weights", course.path, NULL };

  if (course.path != NULL && !ir_session_get_busy (session_of (self)))
    ir_session_act (session_of (self), words);
}

static void
on_rate (IrTrainingView *self, double rate)
{
  ir_session_train_rate (session_of (self), rate);
}

/* Selects where it is read. */
static void
on_parameter (IrTrainingView *self, const char *name)
{
  const IrFrame *frame = ir_session_get_frame (session_of (self));
  const IrValue *value = frame != NULL ? ir_graph_find_value (frame->model->main, name) : NULL;

  if (value != NULL)
    ir_session_select_value (session_of (self), value->id);
}

/* -- building -- */

static GtkWidget *
add_button (
    IrTrainingView *self, GtkWidget *bar, const char *label, const char *tip, GCallback clicked)
{
  GtkWidget *button = gtk_button_new_with_label (label);

  gtk_widget_set_tooltip_text (button, tip);
  g_signal_connect_swapped (button, "clicked", clicked, self);
  gtk_box_append (GTK_BOX (bar), button);
  return button;
}

/* With an icon, named by its tip up to the colon */
static GtkWidget *
add_icon (
    IrTrainingView *self, GtkWidget *bar, const char *icon, const char *tip, GCallback clicked)
{
  GtkWidget *button = gtk_button_new_from_icon_name (icon);
  g_autofree char *name = g_strndup (tip, strcspn (tip, ":"));

  gtk_widget_set_tooltip_text (button, tip);
  ir_name (button, name);
  g_signal_connect_swapped (button, "clicked", clicked, self);
  gtk_box_append (GTK_BOX (bar), button);
  return button;
}

static GtkWidget *
make_bar (IrTrainingView *self)
{
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);

  self->go = add_button (self, bar, "Train", "Train from the graph's weights, or go on",
                         G_CALLBACK (on_go));
  gtk_widget_add_css_class (self->go, "suggested-action");
  self->pause = add_icon (self, bar, "media-playback-pause-symbolic",
                          "Pause: stand behind the step under way", G_CALLBACK (on_pause));
  self->step = add_icon (self, bar, "media-skip-forward-symbolic",
                         "Step: one batch, and stand behind it", G_CALLBACK (on_step));
  self->node = add_icon (self, bar, "go-next-symbolic",
                         "Step Node: to the next node of the batch, and stand before it",
                         G_CALLBACK (on_node));
  self->stop = add_icon (self, bar, "media-playback-stop-symbolic",
                         "Stop: end it, and write what there is", G_CALLBACK (on_stop));
  self->write = add_button (self, bar, "Write Weights",
                            "Give the graph the trained weights, as one step",
                            G_CALLBACK (on_write));
  self->pages = gtk_stack_new ();
  GtkWidget *switcher = gtk_stack_switcher_new ();
  gtk_stack_switcher_set_stack (GTK_STACK_SWITCHER (switcher), GTK_STACK (self->pages));
  gtk_widget_set_hexpand (switcher, TRUE);
  gtk_widget_set_halign (switcher, GTK_ALIGN_END);
  gtk_box_append (GTK_BOX (bar), switcher);
  gtk_widget_add_css_class (bar, "view-toolbar");
  return bar;
}

static GtkWidget *
make_course (IrTrainingView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  self->said = gtk_label_new (NULL);
  gtk_label_set_xalign (GTK_LABEL (self->said), 0);
  gtk_label_set_ellipsize (GTK_LABEL (self->said), PANGO_ELLIPSIZE_END);
  gtk_widget_set_margin_start (self->said, 12);
  gtk_widget_set_margin_end (self->said, 12);
  gtk_widget_add_css_class (self->said, "numeric");
  gtk_widget_add_css_class (self->said, "dim-label");
  self->note = gtk_label_new (NULL);
  gtk_label_set_wrap (GTK_LABEL (self->note), TRUE);
  gtk_label_set_wrap_mode (GTK_LABEL (self->note), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_xalign (GTK_LABEL (self->note), 0);
  gtk_label_set_selectable (GTK_LABEL (self->note), FALSE);
  gtk_widget_set_margin_start (self->note, 12);
  gtk_widget_set_margin_end (self->note, 12);
  self->chart = IR_CHART_AREA (ir_chart_area_new ("Training", FALSE));
  g_signal_connect_object (self->chart, "resized", G_CALLBACK (load_chart), self,
                           G_CONNECT_SWAPPED);
  gtk_box_append (GTK_BOX (box), ir_view_scrolled_row (make_bar (self)));
  gtk_box_append (GTK_BOX (box), self->said);
  gtk_box_append (GTK_BOX (box), self->note);
  gtk_box_append (GTK_BOX (box), self->pages);
  gtk_stack_add_titled (GTK_STACK (self->pages), GTK_WIDGET (self->chart), "curves", "Curves");
  self->table = ir_parameter_table_new ();
  g_signal_connect_object (self->table, "activate", G_CALLBACK (on_parameter), self,
                           G_CONNECT_SWAPPED);
  gtk_stack_add_titled (GTK_STACK (self->pages), self->table, "parameters", "Parameters");
  gtk_widget_set_hexpand (box, TRUE);
  return box;
}

static void
ir_training_view_focus_content (IrView *view)
{
  gtk_widget_child_focus (IR_TRAINING_VIEW (view)->stack, GTK_DIR_TAB_FORWARD);
}

static void
ir_training_view_class_init (IrTrainingViewClass *klass)
{
  IR_VIEW_CLASS (klass)->session_changed = ir_training_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_training_view_focus_content;
}

static void
ir_training_view_init (IrTrainingView *self)
{
  GtkWidget *open = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 0);

  self->form = ir_training_form_new ();
  g_signal_connect_object (self->form, "rate", G_CALLBACK (on_rate), self, G_CONNECT_SWAPPED);
  g_signal_connect_object (self->form, "changed", G_CALLBACK (show_course), self,
                           G_CONNECT_SWAPPED);
  gtk_box_append (GTK_BOX (open), self->form);
  gtk_box_append (GTK_BOX (open), gtk_separator_new (GTK_ORIENTATION_VERTICAL));
  gtk_box_append (GTK_BOX (open), make_course (self));
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (GTK_STACK (self->stack),
                       ir_view_empty_page ("media-record-symbolic", "No Graph",
                                           "Open a network to train it on samples in files.",
                                           "win.open", "Open…"),
                       "closed");
  gtk_stack_add_named (GTK_STACK (self->stack), open, "open");
  adw_bin_set_child (ADW_BIN (self), self->stack);
}

static gboolean
trains (IrSession *session)
{
  g_auto (IrCourse) course = ir_session_get_course (session);

  return course.state == IR_COURSE_RUNS || course.state == IR_COURSE_STANDS;
}

const IrViewInfo ir_view_training = {
  .id = "training",
  .title = "Training",
  .icon_name = "media-record-symbolic",
  .doc =
      "Trains the network on samples in files, with live curves of loss, accuracy, norms and rate.",
  .help =
      "Files have a sample per row. Train begins with the weights of the graph on screen; Step makes one batch and stands, "
      "Step Node stands before each node of a batch, forwards and backwards, selects it or the one that it derives, and "
      "shows what it reads; breakpoints of runs stop a batch, too. Pause stands behind the step under way, Continue goes "
      "on, and a rate that is entered meanwhile counts from the next step. "
      "Parameters says of each how long it is and how far steps move it. "
      "It stops at the first numbers that are not finite, and selects their node. What was trained is written after each epoch; "
      "Write Weights gives the graph its weights, as one step that can be undone.",
  .place = IR_VIEW_BOTTOM,
  .says_work = trains,
  .get_type = ir_training_view_get_type,
};
