/* How a network is trained, as a form: samples, loss, optimizer, and where it is written. */
#pragma once

#include "core/ir/model.h"
#include "views/session/training.h"

#include <gtk/gtk.h>

#define IR_TYPE_TRAINING_FORM (ir_training_form_get_type ())
G_DECLARE_FINAL_TYPE (IrTrainingForm, ir_training_form, IR, TRAINING_FORM, GtkWidget)

/* Signals:
 *   changed ()    something was typed or chosen
 *   rate (double) another learning rate was typed */
GtkWidget *ir_training_form_new (void);                                 /* (transfer floating) */
void ir_training_form_set (IrTrainingForm *self, const IrModel *model); /* (nullable) */
/* What is asked for; FALSE with @why (transfer full): what is missing */
gboolean ir_training_form_get (IrTrainingForm *self, IrTrainingWish *wish, char **why);
void ir_training_form_enable (IrTrainingForm *self, gboolean idle); /* but the rate */
