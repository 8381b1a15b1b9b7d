/* The slider of a value that is computed in the rounds of a loop: which one is shown. */
#pragma once

#include "views/tensor/tensor-request.h"

#include <gtk/gtk.h>

typedef struct
{
  GtkWidget *box, *slider, *text;
  IrRun *series; /* (nullable) has the rounds of @value, that @run was in */
  IrRun *run;    /* (nullable) */
  IrValueId value;
  void (*changed) (gpointer data); /* another one is wanted */
  gpointer data;
  gboolean showing; /* the slider is set, and not used */
} IrTensorRounds;

/* (transfer floating): the widget, which is hidden where there is nothing to choose */
GtkWidget *ir_tensor_rounds_init (IrTensorRounds *self, GCallback changed, gpointer data);
void ir_tensor_rounds_clear (IrTensorRounds *self);
/* Puts into @request what is known of its rounds, and which is wanted. Returns: (transfer full) (nullable): the
 * loops that have not ended, so that none can be chosen */
char *ir_tensor_rounds_ask (IrTensorRounds *self, IrTensorRequest *request);
/* Shows the rounds that were found; @series: (inout) (nullable), taken */
void ir_tensor_rounds_take (IrTensorRounds *self, IrRun **series);
const char *ir_tensor_rounds_text (const IrTensorRounds *self); /* (nullable) which one is shown */
