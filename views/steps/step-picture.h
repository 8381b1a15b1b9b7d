/* The picture of a rewrite, as wide as there is room, and as high as that makes it. */
#pragma once

#include "views/session/frame.h"

#include <gtk/gtk.h>

#define IR_TYPE_STEP_PICTURE (ir_step_picture_get_type ())
G_DECLARE_FINAL_TYPE (IrStepPicture, ir_step_picture, IR, STEP_PICTURE, GtkWidget)

/* @frame: has a picture of its rewrite; @sentence: says the same */
GtkWidget *ir_step_picture_new (IrFrame *frame, const char *sentence); /* floating */
