#include "config.h"

#include "views/graph/proxy.h"

struct _IrNodeProxy
{
  GtkWidget parent_instance;
  guint64 key;
  gint32 box;
  char *label;
  int selected; /* -1: not told yet */
  guint position, size;
};

G_DEFINE_FINAL_TYPE (IrNodeProxy, ir_node_proxy, GTK_TYPE_WIDGET)

static void
activate (GtkWidget *widget, const char *name, GVariant *parameter)
{
  gtk_widget_grab_focus (widget);
  gtk_widget_activate_action (gtk_widget_get_parent (widget), "canvas.activate", NULL);
}

static void
ir_node_proxy_finalize (GObject *object)
{
  g_free (IR_NODE_PROXY (object)->label);
  G_OBJECT_CLASS (ir_node_proxy_parent_class)->finalize (object);
}

static void
ir_node_proxy_class_init (IrNodeProxyClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = ir_node_proxy_finalize;
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_LIST_ITEM);
  gtk_widget_class_install_action (widget_class, "node.activate", NULL, activate);
}

static void
ir_node_proxy_init (IrNodeProxy *self)
{
  gtk_widget_set_focusable (GTK_WIDGET (self), TRUE);
  gtk_widget_set_can_target (GTK_WIDGET (self), FALSE);
  self->selected = -1;
}

GtkWidget *
ir_node_proxy_new (guint64 key)
{
  IrNodeProxy *self = g_object_new (IR_TYPE_NODE_PROXY, NULL);

  self->key = key;
  return GTK_WIDGET (self);
}

guint64
ir_node_proxy_get_key (IrNodeProxy *self)
{
  return self->key;
}

gint32
ir_node_proxy_get_box (IrNodeProxy *self)
{
  return self->box;
}

/* Tells assistive technology what the box is now; says nothing when nothing changed. */
void
ir_node_proxy_update (
    IrNodeProxy *self, gint32 box, const char *label, gboolean selected, guint position, guint size)
{
  GtkAccessible *accessible = GTK_ACCESSIBLE (self);

  self->box = box;
  if (g_strcmp0 (self->label, label) != 0)
    {
      g_free (self->label);
      self->label = g_strdup (label);
      gtk_accessible_update_property (accessible, GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
    }
  if (self->selected != selected)
    {
      self->selected = selected;
      gtk_accessible_update_state (accessible, GTK_ACCESSIBLE_STATE_SELECTED, selected, -1);
    }
  if (self->position != position || self->size != size)
    {
      self->position = position;
      self->size = size;
      gtk_accessible_update_relation (accessible, GTK_ACCESSIBLE_RELATION_POS_IN_SET, position,
                                      GTK_ACCESSIBLE_RELATION_SET_SIZE, size, -1);
    }
}
