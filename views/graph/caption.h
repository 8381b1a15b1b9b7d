/* What lies on the graph in its upper left corner: which rewrite is shown, or what is compared. */
#pragma once

#include "views/graph/canvas.h"
#include "views/session/session.h"

typedef struct
{
  GtkWidget *box, *close;
  GtkLabel *title, *text;
} IrCaption;

/* @close: ends what it tells of, where that can be ended. */
GtkWidget *ir_caption_build (IrCaption *self, GtkWidget *close);
/* Hidden where there is nothing to tell. */
void ir_caption_update (IrCaption *self, IrSession *session);
/* Tells the canvas where nothing is in sight. */
void ir_caption_tell (const IrCaption *self, IrCanvas *canvas);
