/* A drop-down of the kernels that could run a node; choosing one is an edit. */
#pragma once

#include "core/ir/model.h"
#include "views/session/session.h"

#include <gtk/gtk.h>

GtkWidget *ir_kernel_chooser_new (IrSession *session); /* floating */
/* @node: (nullable): of the graph on screen. FALSE: there is nothing to choose. */
gboolean ir_kernel_chooser_set_node (GtkWidget *chooser, const IrNode *node);
