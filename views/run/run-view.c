/* A run that is driven: buttons that begin it and have it go on, where it stands, breakpoints, and of
 * which of the values that the last run has kept they hold. */
#include "config.h"
#include "views/label.h"

#include "views/session/frame.h"
#include "views/session/run-control.h"
#include "views/session/runs.h"
#include "views/session/selection.h"
#include "views/session/timeline.h"
#include "views/view.h"

#define MOST_HITS 200 /* rows; more are counted */

/* The buttons, and the words of the action win.drive. */
typedef struct
{
  const char *name, *title, *tip;
  IrRunMove move;
} Move;

static const Move moves[] = {
  { "step", "Step", "To the next node, into bodies (F7); begins a run", IR_RUN_STEP },
  { "over", "Over", "To the next node that is in no body of this one (Shift+F7)", IR_RUN_OVER },
  { "round", "Round", "To where the body of the loop begins again, or is left (Alt+F7)",
    IR_RUN_ROUND },
  { "to", "To Selected", "Until the selected node has run (Ctrl+F7)", IR_RUN_TO },
  { "continue", "Continue", "To the next breakpoint (Ctrl+Shift+F7); begins a run",
    IR_RUN_CONTINUE },
  { "stop", "End", "End the run where it stands", IR_RUN_STOP },
};

struct _IrRunView
{
  IrView parent;
  GtkWidget *buttons[G_N_ELEMENTS (moves)], *pause;
  GtkWidget *where, *advice, *entry, *error, *breaks, *hits, *n_hits;
};

#define IR_TYPE_RUN_VIEW (ir_run_view_get_type ())
G_DECLARE_FINAL_TYPE (IrRunView, ir_run_view, IR, RUN_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrRunView, ir_run_view, IR_TYPE_VIEW)

static IrSession *
session_of (gpointer self)
{
  return ir_view_get_session (IR_VIEW (self));
}

/* -- driving -- */

static void
on_move (GtkButton *button, IrRunView *self)
{
  const Move *move = g_object_get_data (G_OBJECT (button), "move");

  ir_session_drive (session_of (self),
                    (IrRunCommand){ .move = move->move,
                                    .node = ir_session_get_selected_node (session_of (self)) });
}

static void
on_pause (IrRunView *self)
{
  ir_session_pause_run (session_of (self));
}

static gboolean
may (IrSession *session, IrRunMove move)
{
  const IrStanding *standing = ir_session_get_standing (session);
  const gboolean begins = !ir_session_get_busy (session) && !ir_session_is_empty (session);

  switch (move)
    {
    case IR_RUN_STOP:
      return ir_session_is_driven (session);
    case IR_RUN_TO:
      return (begins || standing != NULL) && ir_session_get_selected_node (session) != 0;
    case IR_RUN_OVER:
    case IR_RUN_ROUND:
      return standing != NULL;
    case IR_RUN_STEP:
    case IR_RUN_CONTINUE:
    default:
      return begins || standing != NULL;
    }
}

static void
show_buttons (IrRunView *self)
{
  IrSession *session = session_of (self);

  for (guint i = 0; i < G_N_ELEMENTS (moves); i++)
    gtk_widget_set_sensitive (self->buttons[i], may (session, moves[i].move));
  gtk_widget_set_sensitive (self->pause, ir_session_is_driven (session) &&
                                             ir_session_get_standing (session) == NULL);
}

static void
show_where (IrRunView *self)
{
  IrSession *session = session_of (self);
  const IrStanding *standing = ir_session_get_standing (session);
  g_autofree char *stale = ir_session_stale_text (session), *text = NULL;

  if (standing != NULL)
    text = g_strdup_printf ("Stands %s", standing->text);
  else if (ir_session_is_driven (session))
    text = g_strdup ("Runs, node by node, without chains and spans");
  else if (stale != NULL)
    text = g_strdup (stale);
  else if (ir_session_get_run (session, IR_SIDE_AFTER) != NULL)
    text = g_strdup ("The last run is of the graph on screen");
  else
    text = g_strdup ("Step begins a run that stops before its first node");
  gtk_label_set_text (GTK_LABEL (self->where), text);
  gtk_label_set_text (GTK_LABEL (self->advice),
                      standing != NULL && standing->advice != NULL ? standing->advice : "");
  gtk_widget_set_visible (self->advice, standing != NULL && standing->advice != NULL);
}

/* -- breakpoints -- */

static void
clear_box (GtkWidget *box)
{
  GtkWidget *child;

  while ((child = gtk_widget_get_first_child (box)) != NULL)
    gtk_box_remove (GTK_BOX (box), child);
}

static void
on_remove (GtkButton *button, IrRunView *self)
{
  const guint index = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (button), "index"));

  gtk_widget_grab_focus (self->entry);
  ir_session_remove_run_break (session_of (self), index);
}

static GtkWidget *
make_break (IrRunView *self, const IrRunBreak *one, guint index)
{
  const IrStanding *standing = ir_session_get_standing (session_of (self));
  const gboolean hit = standing != NULL && standing->hit == (gint) index;
  const char *text = ir_run_break_text (one);
  g_autofree char *name = g_strdup_printf ("Remove %s", text),
                  *shown = g_strconcat (hit ? "● " : "", text, NULL);
  GtkWidget *row = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 12), *label = gtk_label_new (shown),
            *remove = gtk_button_new_from_icon_name ("user-trash-symbolic");

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand (label, TRUE);
  gtk_widget_add_css_class (label, "monospace");
  gtk_widget_add_css_class (remove, "flat");
  gtk_widget_set_tooltip_text (remove, "Remove");
  gtk_accessible_update_property (GTK_ACCESSIBLE (remove), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  g_object_set_data (G_OBJECT (remove), "index", GUINT_TO_POINTER (index));
  g_signal_connect (remove, "clicked", G_CALLBACK (on_remove), self);
  gtk_box_append (GTK_BOX (row), label);
  gtk_box_append (GTK_BOX (row), remove);
  return row;
}

static void
show_breaks (IrRunView *self)
{
  const GPtrArray *breaks = ir_session_get_run_breaks (session_of (self));

  clear_box (self->breaks);
  for (guint i = 0; i < breaks->len; i++)
    gtk_box_append (GTK_BOX (self->breaks), make_break (self, breaks->pdata[i], i));
}

static void
on_add (IrRunView *self)
{
  g_autoptr (GError) error = NULL;
  const char *text = gtk_editable_get_text (GTK_EDITABLE (self->entry));
  const gboolean added = ir_session_add_run_break (session_of (self), text, &error);

  gtk_label_set_text (GTK_LABEL (self->error), added ? "" : error->message);
  gtk_widget_set_visible (self->error, !added);
  if (added)
    gtk_editable_set_text (GTK_EDITABLE (self->entry), "");
}

static void
on_example (GtkButton *button, IrRunView *self)
{
  gtk_editable_set_text (GTK_EDITABLE (self->entry), g_object_get_data (G_OBJECT (button), "text"));
  gtk_popover_popdown (
      GTK_POPOVER (gtk_widget_get_ancestor (GTK_WIDGET (button), GTK_TYPE_POPOVER)));
  gtk_widget_grab_focus (self->entry);
}

/* -- what holds -- */

static void
on_hit (GtkButton *button, IrRunView *self)
{
  IrSession *session = session_of (self);
  const IrNodeId node = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (button), "node"));

  if (node != 0 && ir_model_live_node (ir_session_get_history (session), node) != NULL)
    ir_session_select_node (session, node);
  ir_session_select_value (session,
                           GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (button), "value")));
}

static GtkWidget *
make_hit (IrRunView *self, const IrRunHit *hit, const IrModel *model)
{
  g_autofree char *text = g_strdup_printf ("%s: %s", ir_model_value (model, hit->value)->name,
                                           hit->finding.text);
  GtkWidget *button = gtk_button_new_with_label (text),
            *label = gtk_button_get_child (GTK_BUTTON (button));

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  gtk_label_set_ellipsize (GTK_LABEL (label), PANGO_ELLIPSIZE_MIDDLE);
  gtk_widget_add_css_class (button, "flat");
  gtk_widget_set_tooltip_text (button, hit->finding.advice);
  g_object_set_data (G_OBJECT (button), "node", GUINT_TO_POINTER (hit->node));
  g_object_set_data (G_OBJECT (button), "value", GUINT_TO_POINTER (hit->value));
  g_signal_connect (button, "clicked", G_CALLBACK (on_hit), self);
  return button;
}

/* What is said of @hits: of values alone can it be judged what the run has kept. */
static char *
hits_text (const GPtrArray *breaks, const GArray *hits)
{
  guint n_judged = 0;

  for (guint i = 0; i < breaks->len; i++)
    n_judged += (ir_run_break_needs (breaks->pdata[i]) &
                 (IR_RUN_BREAK_STATS | IR_RUN_BREAK_CONTENTS)) != 0;
  if (n_judged == 0)
    return g_strdup ("They stop a run that goes node by node: Continue begins one");
  return g_strdup_printf ("%s of %u %s that the run has kept",
                          n_judged == breaks->len ? "They hold" : "Those of values hold", hits->len,
                          hits->len == 1 ? "value" : "values");
}

static void
show_hits (IrRunView *self)
{
  IrSession *session = session_of (self);
  const GArray *hits = ir_session_get_run_hits (session);
  const IrRun *run = ir_session_get_run (session, IR_SIDE_AFTER);
  const GPtrArray *breaks = ir_session_get_run_breaks (session);
  g_autofree char *count = hits != NULL && breaks->len > 0 ? hits_text (breaks, hits) : NULL;

  clear_box (self->hits);
  gtk_label_set_text (GTK_LABEL (self->n_hits), count != NULL ? count : "");
  for (guint i = 0; hits != NULL && i < MIN (hits->len, MOST_HITS); i++)
    gtk_box_append (GTK_BOX (self->hits),
                    make_hit (self, &g_array_index (hits, IrRunHit, i), run->model));
}

/* -- the view -- */

static void
ir_run_view_session_changed (IrView *view, IrSessionChanges changes)
{
  IrRunView *self = IR_RUN_VIEW (view);
  const IrSessionChanges shown = IR_CHANGED_RUN_CONTROL | IR_CHANGED_RUNS;

  if (changes & (shown | IR_CHANGED_BUSY | IR_CHANGED_SELECTION | IR_CHANGED_FRAME))
    show_buttons (self);
  if (changes & (shown | IR_CHANGED_FRAME | IR_CHANGED_INPUTS))
    show_where (self);
  if (changes & shown)
    {
      show_breaks (self);
      show_hits (self);
    }
}

static void
ir_run_view_focus_content (IrView *view)
{
  gtk_widget_grab_focus (IR_RUN_VIEW (view)->buttons[0]);
}

static void
ir_run_view_class_init (IrRunViewClass *klass)
{
  IR_VIEW_CLASS (klass)->session_changed = ir_run_view_session_changed;
  IR_VIEW_CLASS (klass)->focus_content = ir_run_view_focus_content;
}

/* Where they do not fit they are scrolled: a GtkFlowBox asks for the height of one below the other, and keeps the focus. */
static GtkWidget *
make_bar (IrRunView *self)
{
  GtkWidget *bar = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6),
            *scroller = gtk_scrolled_window_new ();

  for (guint i = 0; i < G_N_ELEMENTS (moves); i++)
    {
      GtkWidget *button = self->buttons[i] = gtk_button_new_with_label (moves[i].title);

      gtk_widget_set_tooltip_text (button, moves[i].tip);
      g_object_set_data (G_OBJECT (button), "move", (gpointer) &moves[i]);
      g_signal_connect (button, "clicked", G_CALLBACK (on_move), self);
      gtk_box_append (GTK_BOX (bar), button);
    }
  self->pause = gtk_button_new_with_label ("Pause");
  gtk_widget_set_tooltip_text (self->pause, "Stop before the next node");
  g_signal_connect_swapped (self->pause, "clicked", G_CALLBACK (on_pause), self);
  gtk_box_append (GTK_BOX (bar), self->pause);
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_AUTOMATIC,
                                  GTK_POLICY_NEVER);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scroller), bar);
  return scroller;
}

static GtkWidget *
make_examples (IrRunView *self)
{
  GtkWidget *button = gtk_menu_button_new (), *popover = gtk_popover_new (),
            *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  for (const char *const *example = ir_run_break_examples (); *example != NULL; example += 2)
    {
      g_autofree char *text = g_strdup_printf ("%s — %s", example[0], example[1]);
      GtkWidget *row = gtk_button_new_with_label (text);

      gtk_label_set_xalign (GTK_LABEL (gtk_button_get_child (GTK_BUTTON (row))), 0);
      gtk_widget_add_css_class (row, "flat");
      g_object_set_data (G_OBJECT (row), "text", (gpointer) example[0]);
      g_signal_connect (row, "clicked", G_CALLBACK (on_example), self);
      gtk_box_append (GTK_BOX (box), row);
    }
  gtk_popover_set_child (GTK_POPOVER (popover), box);
  gtk_menu_button_set_label (GTK_MENU_BUTTON (button), "Examples");
  gtk_menu_button_set_popover (GTK_MENU_BUTTON (button), popover);
  gtk_widget_add_css_class (button, "flat");
  return button;
}

static GtkWidget *
make_entry (IrRunView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6),
            *add = gtk_button_new_with_label ("Add");

  self->entry = gtk_entry_new ();
  gtk_entry_set_placeholder_text (GTK_ENTRY (self->entry), "nan, max>6, dead>25%, op:softmax …");
  gtk_widget_set_hexpand (self->entry, TRUE);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self->entry), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "New breakpoint of runs", -1);
  g_signal_connect_swapped (self->entry, "activate", G_CALLBACK (on_add), self);
  g_signal_connect_swapped (add, "clicked", G_CALLBACK (on_add), self);
  gtk_box_append (GTK_BOX (box), self->entry);
  gtk_box_append (GTK_BOX (box), make_examples (self));
  gtk_box_append (GTK_BOX (box), add);
  return box;
}

static GtkWidget *
make_label (const char *css)
{
  GtkWidget *label = gtk_label_new (NULL);

  gtk_label_set_xalign (GTK_LABEL (label), 0);
  ir_label_wrap_names (GTK_LABEL (label));
  if (css != NULL)
    gtk_widget_add_css_class (label, css);
  return label;
}

static void
ir_run_view_init (IrRunView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6),
            *lists = gtk_box_new (GTK_ORIENTATION_VERTICAL, 6);

  self->where = make_label (NULL);
  self->advice = make_label ("dim-label");
  self->error = make_label ("error");
  self->n_hits = make_label ("dim-label");
  self->breaks = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  self->hits = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);
  gtk_widget_set_visible (self->error, FALSE);
  gtk_box_append (GTK_BOX (lists), self->where);
  gtk_box_append (GTK_BOX (lists), self->advice);
  gtk_box_append (GTK_BOX (lists), make_entry (self));
  gtk_box_append (GTK_BOX (lists), self->error);
  gtk_box_append (GTK_BOX (lists), self->breaks);
  gtk_box_append (GTK_BOX (lists), self->n_hits);
  gtk_box_append (GTK_BOX (lists), self->hits);
  gtk_box_append (GTK_BOX (box), make_bar (self));
  gtk_box_append (GTK_BOX (box), ir_view_scrolled (lists));
  gtk_widget_add_css_class (box, "breakpoints");
  adw_bin_set_child (ADW_BIN (self), box);
}

const IrViewInfo ir_view_run = {
  .id = "run",
  .title = "Run",
  .icon_name = "media-playback-start-symbolic",
  .doc = "A run that goes node by node, stops at breakpoints and can be looked at.",
  .help =
      "F7 steps to the next node, Ctrl+F7 runs until the selected one has run. While the run "
      "stands, Tensor shows what nodes gave. A breakpoint is a test of a value (nan, max>6, "
      "dead>25%), a question about the node (op:softmax), or both. Below stands of which of the "
      "values of the last run they hold.",
  .place = IR_VIEW_BOTTOM,
  .get_type = ir_run_view_get_type,
};
