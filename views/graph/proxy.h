/* A box of the canvas as assistive technology sees it: an undrawn, focusable child widget, because
 * in GTK 4.8 only widgets are in the accessible tree. */
#pragma once

#include <gtk/gtk.h>

#define IR_TYPE_NODE_PROXY (ir_node_proxy_get_type ())
G_DECLARE_FINAL_TYPE (IrNodeProxy, ir_node_proxy, IR, NODE_PROXY, GtkWidget)

GtkWidget *ir_node_proxy_new (guint64 key); /* (transfer floating) */
guint64 ir_node_proxy_get_key (IrNodeProxy *self);
void ir_node_proxy_update (IrNodeProxy *self,
                           gint32 box,
                           const char *label,
                           gboolean selected,
                           guint position,
                           guint size);
gint32 ir_node_proxy_get_box (IrNodeProxy *self);
