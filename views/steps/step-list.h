/* The steps of a history as a flat list model: the original graph, then for each pass run that did
 * something a heading and its steps. Items are made when asked for. */
#pragma once

#include "core/ir/history.h"
#include "views/session/session.h"

#include <gtk/gtk.h>

typedef enum
{
  IR_STEP_ROW_ORIGINAL,
  IR_STEP_ROW_PASS,
  IR_STEP_ROW_STEP
} IrStepRowKind;

#define IR_TYPE_STEP_ROW (ir_step_row_get_type ())
G_DECLARE_FINAL_TYPE (IrStepRow, ir_step_row, IR, STEP_ROW, GObject)
IrStepRowKind ir_step_row_get_kind (IrStepRow *self);
guint ir_step_row_get_step (IrStepRow *self); /* of a pass: its last step; of the original: 0 */
guint ir_step_row_get_pass_run (IrStepRow *self);

#define IR_TYPE_STEP_LIST (ir_step_list_get_type ())
G_DECLARE_FINAL_TYPE (IrStepList, ir_step_list, IR, STEP_LIST, GObject)
IrStepList *ir_step_list_new (void);
/* @history: (nullable): empties it; @filter: (nullable): words that all steps listed have in their
 * rule, or in the name or operator of their node. Headings of passes without such steps go. */
void ir_step_list_load (IrStepList *self, IrModel *history, const char *filter);
guint ir_step_list_position (IrStepList *self, guint step); /* of the row of a step,
                                                               or GTK_INVALID_LIST_POSITION */
guint ir_step_list_n_steps (IrStepList *self);              /* that are listed */
