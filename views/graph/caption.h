/* What stands above the graph: which rewrite is shown, or what is compared. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

typedef struct
{
  GtkWidget *box, *close;
  GtkLabel *title, *text;
} IrCaption;

/* @close: ends what it tells of, where that can be ended. */
GtkWidget *ir_caption_build (IrCaption *self, GtkWidget *close);
/* Hidden where there is nothing to tell. */
void ir_caption_update (IrCaption *self, IrSession *session);
