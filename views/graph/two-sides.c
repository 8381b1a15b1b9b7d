#include "config.h"

#include "views/graph/two-sides.h"

#include "core/ir/count.h"
#include "views/session/timeline.h"

#define SETTLE_MS 80

struct _IrTwoSides
{
  GtkWidget parent;
  IrCanvas *canvas; /* what is at the cursor, or both */
  IrCanvas *before; /* (nullable) until it is wanted */
  GtkWidget *halves[2], *titles[2];
  gboolean wanted, following;
  guint leader; /* of the two, which was moved */
  guint follow_source, settle_source;
};

G_DEFINE_FINAL_TYPE (IrTwoSides, ir_two_sides, GTK_TYPE_WIDGET)

enum
{
  LEFT,
  RIGHT
};

static GtkWidget *
make_half (GtkWidget *title)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  gtk_widget_add_css_class (title, "caption-heading");
  gtk_widget_add_css_class (title, "side-title");
  gtk_widget_set_visible (title, FALSE);
  gtk_box_append (GTK_BOX (box), title);
  gtk_widget_set_hexpand (box, TRUE);
  return box;
}

/* -- one place -- */

/* Not at once: a canvas may hear of its place while sizes are given, and the other one must not ask
 * for another round then. Before the next frame is painted. */
static gboolean
follow (gpointer data)
{
  IrTwoSides *self = data;

  self->follow_source = 0;
  if (self->before == NULL || !gtk_widget_get_visible (self->halves[LEFT]))
    return G_SOURCE_REMOVE;
  self->following = TRUE;
  if (self->leader == LEFT)
    ir_canvas_follow (self->canvas, self->before);
  else
    ir_canvas_follow (self->before, self->canvas);
  self->following = FALSE;
  return G_SOURCE_REMOVE;
}

static void
queue_follow (IrTwoSides *self, guint leader)
{
  if (self->following || self->follow_source != 0)
    return;
  self->leader = leader;
  self->follow_source = g_idle_add_full (GDK_PRIORITY_REDRAW - 10, follow, self, NULL);
}

static void
on_canvas_moved (IrTwoSides *self)
{
  queue_follow (self, RIGHT);
}

static void
on_before_moved (IrTwoSides *self)
{
  queue_follow (self, LEFT);
}

/* @moved: called where it looks at another place: at once, and once more when it is still */
static void
add_canvas (IrTwoSides *self, guint half, IrCanvas *canvas, GCallback moved)
{
  GtkWidget *scrolled = gtk_scrolled_window_new ();

  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), GTK_WIDGET (canvas));
  /* Bars that come and go would change the size while it is being given. */
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scrolled), GTK_POLICY_ALWAYS,
                                  GTK_POLICY_ALWAYS);
  gtk_widget_set_vexpand (scrolled, TRUE);
  gtk_box_append (GTK_BOX (self->halves[half]), scrolled);
  g_signal_connect_object (gtk_scrolled_window_get_hadjustment (GTK_SCROLLED_WINDOW (scrolled)),
                           "value-changed", moved, self, G_CONNECT_SWAPPED);
  g_signal_connect_object (gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (scrolled)),
                           "value-changed", moved, self, G_CONNECT_SWAPPED);
  g_signal_connect_object (canvas, "moved", moved, self, G_CONNECT_SWAPPED);
}

/* -- which sides -- */

static void
name_sides (IrTwoSides *self, const IrFrame *frame)
{
  IrSession *session = ir_canvas_get_session (self->canvas);
  g_autofree char *from = ir_count_text (frame->from), *to = ir_count_text (frame->to),
                  *other = frame->foreign ? ir_session_other_title (session) : NULL;
  g_autofree char *left = other != NULL
                              ? g_strdup_printf ("Before: %s",
                                                 other[0] != '\0' ? other : "the other result")
                          : frame->from == 0 ? g_strdup ("Before: the original")
                                             : g_strdup_printf ("Before: step %s", from);
  g_autofree char *right = frame->to == 0 ? g_strdup ("After: the original")
                                          : g_strdup_printf ("After: step %s", to);

  gtk_label_set_text (GTK_LABEL (self->titles[LEFT]), left);
  gtk_label_set_text (GTK_LABEL (self->titles[RIGHT]), right);
}

/* The canvas has its new width: what is selected, else what changed, is brought into sight. */
static gboolean
on_settled (gpointer data)
{
  IrTwoSides *self = data;

  self->settle_source = 0;
  if (ir_canvas_selected_box (self->canvas) >= 0)
    ir_canvas_show_box (self->canvas, ir_canvas_selected_box (self->canvas));
  else
    ir_canvas_show_changes (self->canvas);
  return G_SOURCE_REMOVE;
}

static void
update (IrTwoSides *self)
{
  const IrFrame *frame = ir_canvas_get_frame (self->canvas);
  const gboolean two = self->wanted && frame != NULL && frame->scene != NULL &&
                       frame->marks == NULL && ir_scene_is_diff (frame->scene);

  if (two && self->before == NULL)
    {
      self->before = IR_CANVAS (ir_canvas_new (ir_canvas_get_session (self->canvas)));
      ir_canvas_set_sides (self->before, IR_SCENE_BEFORE);
      gtk_accessible_update_property (GTK_ACCESSIBLE (self->before), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                      "The graph before", -1);
      add_canvas (self, LEFT, self->before, G_CALLBACK (on_before_moved));
      ir_canvas_frame_changed (self->before);
    }
  if (two)
    name_sides (self, frame);
  for (guint i = LEFT; i <= RIGHT; i++)
    gtk_widget_set_visible (self->titles[i], two);
  if (two != ir_two_sides_are_shown (self) && self->settle_source == 0)
    self->settle_source = g_timeout_add (SETTLE_MS, on_settled, self);
  gtk_widget_set_visible (self->halves[LEFT], two);
  ir_canvas_set_sides (self->canvas, two ? IR_SCENE_AFTER : IR_SCENE_BOTH_SIDES);
  on_canvas_moved (self);
}

void
ir_two_sides_session_changed (IrTwoSides *self, IrSessionChanges changes)
{
  if (self->before != NULL && changes & (IR_CHANGED_FRAME | IR_CHANGED_HISTORY))
    ir_canvas_frame_changed (self->before);
  if (self->before != NULL && changes & IR_CHANGED_SELECTION)
    ir_canvas_selection_changed (self->before);
  if (changes & (IR_CHANGED_FRAME | IR_CHANGED_HISTORY))
    update (self);
}

gboolean
ir_two_sides_are_shown (IrTwoSides *self)
{
  return gtk_widget_get_visible (self->halves[LEFT]);
}

gboolean
ir_two_sides_get_wanted (IrTwoSides *self)
{
  return self->wanted;
}

void
ir_two_sides_set_wanted (IrTwoSides *self, gboolean wanted)
{
  self->wanted = wanted;
  update (self);
}

/* -- object -- */

static void
ir_two_sides_dispose (GObject *object)
{
  IrTwoSides *self = IR_TWO_SIDES (object);
  GtkWidget *child;

  g_clear_handle_id (&self->follow_source, g_source_remove);
  g_clear_handle_id (&self->settle_source, g_source_remove);
  while ((child = gtk_widget_get_first_child (GTK_WIDGET (self))) != NULL)
    gtk_widget_unparent (child);
  G_OBJECT_CLASS (ir_two_sides_parent_class)->dispose (object);
}

static void
ir_two_sides_class_init (IrTwoSidesClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = ir_two_sides_dispose;
  gtk_widget_class_set_layout_manager_type (GTK_WIDGET_CLASS (klass), GTK_TYPE_BOX_LAYOUT);
  gtk_widget_class_set_css_name (GTK_WIDGET_CLASS (klass), "sides");
}

static void
ir_two_sides_init (IrTwoSides *self)
{
  gtk_widget_set_hexpand (GTK_WIDGET (self), TRUE);
  gtk_widget_set_vexpand (GTK_WIDGET (self), TRUE);
  gtk_box_layout_set_homogeneous (
      GTK_BOX_LAYOUT (gtk_widget_get_layout_manager (GTK_WIDGET (self))), TRUE);
  for (guint i = LEFT; i <= RIGHT; i++)
    {
      self->titles[i] = gtk_label_new (NULL);
      self->halves[i] = make_half (self->titles[i]);
      gtk_widget_set_parent (self->halves[i], GTK_WIDGET (self));
    }
  gtk_widget_add_css_class (self->halves[LEFT], "side-before");
  gtk_widget_set_visible (self->halves[LEFT], FALSE);
}

GtkWidget *
ir_two_sides_new (IrCanvas *canvas)
{
  IrTwoSides *self = g_object_new (IR_TYPE_TWO_SIDES, NULL);

  self->canvas = canvas;
  add_canvas (self, RIGHT, canvas, G_CALLBACK (on_canvas_moved));
  return GTK_WIDGET (self);
}
