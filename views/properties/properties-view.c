/* The properties: what the selected node is, what it takes and gives, where it comes from; with
 * nothing selected, what the model is. */
#include "config.h"

#include "views/properties/editing.h"
#include "views/properties/sections.h"
#include "views/session/frame.h"
#include "views/session/selection.h"
#include "views/view.h"

#include <string.h>

struct _IrPropertiesView
{
  IrView parent;
  GtkWidget *stack, *scroller;
  IrPropertyPage page;
  IrNodeId shown;
};

#define IR_TYPE_PROPERTIES_VIEW (ir_properties_view_get_type ())
G_DECLARE_FINAL_TYPE (IrPropertiesView, ir_properties_view, IR, PROPERTIES_VIEW, IrView)
G_DEFINE_FINAL_TYPE (IrPropertiesView, ir_properties_view, IR_TYPE_VIEW)

static const IrSceneBox *
find_group (const IrFrame *frame, const char *fold)
{
  guint n = 0;
  const IrSceneBox *boxes = frame->scene != NULL ? ir_scene_boxes (frame->scene, &n) : NULL;

  for (guint i = 0; i < n; i++)
    if (boxes[i].fold != NULL && strcmp (boxes[i].fold, fold) == 0)
      return &boxes[i];
  return NULL;
}

static void
rebuild (IrPropertiesView *self)
{
  IrSession *session = ir_view_get_session (IR_VIEW (self));
  IrFrame *frame = ir_session_get_frame (session);
  IrNodeId id = ir_session_get_selected_node (session);
  const IrNode *node = NULL;
  const IrSceneBox *group = NULL;
  const IrValue *value;
  g_autofree char *typing = ir_editing_focus (self->page.box);
  GtkWidget *child, *focus = gtk_root_get_focus (gtk_widget_get_root (GTK_WIDGET (self)));
  const gboolean choosing = self->page.chooser != NULL && focus != NULL && self->shown == id &&
                            gtk_widget_is_ancestor (focus, self->page.chooser);

  self->page.session = session;
  self->page.chooser = NULL;
  while ((child = gtk_widget_get_first_child (self->page.box)) != NULL)
    gtk_box_remove (GTK_BOX (self->page.box), child);
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack),
                                    frame != NULL ? "properties" : "closed");
  if (frame == NULL)
    return;
  if (id != 0)
    node = ir_frame_node (frame, id);
  else if (ir_session_get_selected_fold (session) != NULL)
    group = find_group (frame, ir_session_get_selected_fold (session));
  value = ir_model_live_value (frame->model, ir_session_get_selected_value (session));
  if (node != NULL)
    ir_properties_show_node (&self->page, node);
  else if (id != 0)
    ir_properties_show_absent (&self->page, id);
  else if (value != NULL)
    ir_properties_show_value (&self->page, value);
  else if (group != NULL)
    ir_properties_show_group (&self->page, frame, group);
  else
    ir_properties_show_model (&self->page, frame->model);
  if (self->shown == id)
    ir_editing_restore_focus (self->page.box, typing);
  if (choosing && self->page.chooser != NULL)
    gtk_widget_grab_focus (self->page.chooser);
  if (self->shown != id)
    gtk_adjustment_set_value (
        gtk_scrolled_window_get_vadjustment (GTK_SCROLLED_WINDOW (self->scroller)), 0);
  self->shown = id;
}

static void
ir_properties_view_session_changed (IrView *view, IrSessionChanges changes)
{
  if (changes & (IR_CHANGED_HISTORY | IR_CHANGED_FRAME | IR_CHANGED_SELECTION |
                 IR_CHANGED_PROBLEMS | IR_CHANGED_RUNS | IR_CHANGED_KERNELS | IR_CHANGED_NOTES))
    rebuild (IR_PROPERTIES_VIEW (view));
}

static void
ir_properties_view_class_init (IrPropertiesViewClass *klass)
{
  IR_VIEW_CLASS (klass)->session_changed = ir_properties_view_session_changed;
}

static void
ir_properties_view_init (IrPropertiesView *self)
{
  self->page.box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 18);
  gtk_widget_add_css_class (self->page.box, "properties");
  self->scroller = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (self->scroller), GTK_POLICY_NEVER,
                                  GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (self->scroller), self->page.box);
  self->stack = gtk_stack_new ();
  gtk_stack_add_named (
      GTK_STACK (self->stack),
      ir_view_empty_page ("document-properties-symbolic", "No Graph",
                          "Properties of the graph and of its nodes are shown here.", NULL, NULL),
      "closed");
  gtk_stack_add_named (GTK_STACK (self->stack), self->scroller, "properties");
  adw_bin_set_child (ADW_BIN (self), self->stack);
}

const IrViewInfo ir_view_properties = {
  .id = "properties",
  .title = "Properties",
  .icon_name = "document-properties-symbolic",
  .doc = "Attributes, inputs, outputs and lineage of what is selected.",
  .help =
      "What is selected: a node, a value or a group. With nothing selected, the model. "
      "Arrows lead to values, and a weight that is selected so can be replaced there; “Comes from” leads to "
      "the nodes that were written.",
  .place = IR_VIEW_END,
  .get_type = ir_properties_view_get_type,
};
