/* The widgets of a row of the list of steps. */
#pragma once

#include "views/steps/step-list.h"

/* A verdict: glyph and word, not colour alone. */
typedef struct
{
  const char *glyph, *css, *text, *row;
} IrVerdictLook;

const IrVerdictLook *ir_verdict_look (IrVerdict verdict);
char *ir_step_sums_text (const IrPassSummary *pass);  /* "−59 nodes · −1.2 MFLOP · 3 ms" */
char *ir_unproved_text (const IrUnproved *unproved);  /* "3 not proved: random numbers" */
const char *ir_step_pass_title (const char *pass);    /* of its row, or its name */
char *ir_step_group_title (const IrStepGroup *group); /* "fold-constants (Shape)" */
char *ir_signed_text (gint64 change, char *(*text) (guint64)); /* "−1,200" */

GtkWidget *ir_step_row_widget_new (void); /* floating */
/* @position: of the row in @list */
void ir_step_row_widget_bind (
    GtkWidget *widget, IrStepList *list, guint position, IrStepRow *row, IrModel *history);
guint ir_step_row_widget_position (
    GtkWidget *widget); /* GTK_INVALID_LIST_POSITION: no such widget */
