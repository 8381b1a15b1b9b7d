/* The steps of a history as a list model: the original graph, then for each pass that did something
 * a card with its steps, equal ones together, and at the end the passes that did nothing. Cards and
 * what stands together can be closed. Items are made when asked for. */
#pragma once

#include "passes/debug/summary.h"
#include "views/session/session.h"

#include <gtk/gtk.h>

typedef enum
{
  IR_STEP_ROW_ORIGINAL,
  IR_STEP_ROW_PASS,  /* the heading of a card */
  IR_STEP_ROW_GROUP, /* equal steps of a card */
  IR_STEP_ROW_STEP,
  IR_STEP_ROW_IDLE,     /* the passes that did nothing */
  IR_STEP_ROW_IDLE_PASS /* one of them */
} IrStepRowKind;

#define IR_TYPE_STEP_ROW (ir_step_row_get_type ())
G_DECLARE_FINAL_TYPE (IrStepRow, ir_step_row, IR, STEP_ROW, GObject)
IrStepRowKind ir_step_row_get_kind (IrStepRow *self);
/* Of a pass: its last step; of equal steps: the first; of the original: 0. */
guint ir_step_row_get_step (IrStepRow *self);
guint ir_step_row_get_card (IrStepRow *self);     /* place among the passes of the summary */
guint ir_step_row_get_part (IrStepRow *self);     /* place of the group, or of the idle pass */
gboolean ir_step_row_is_within (IrStepRow *self); /* a step of a group that is open */

#define IR_TYPE_STEP_LIST (ir_step_list_get_type ())
G_DECLARE_FINAL_TYPE (IrStepList, ir_step_list, IR, STEP_LIST, GObject)
IrStepList *ir_step_list_new (void);
/* @history: (nullable): empties it; @filter: (nullable): words that all steps listed have in their
 * rule, or in the name or operator of their node. Passes without such steps go. */
void ir_step_list_load (IrStepList *self, IrModel *history, const char *filter);
/* Of the row of a step, or of what it lies in; or GTK_INVALID_LIST_POSITION. */
guint ir_step_list_position (IrStepList *self, guint step);
guint ir_step_list_card_position (IrStepList *self, guint last_step); /* of the pass that ends so */
guint ir_step_list_n_steps (IrStepList *self);                        /* that are listed */
const IrStepSummary *ir_step_list_get_summary (IrStepList *self);     /* (nullable) */
const IrPassSummary *ir_step_list_get_pass (IrStepList *self, IrStepRow *row);
const IrStepGroup *ir_step_list_get_group (IrStepList *self, IrStepRow *row);
/* -- what can be closed: cards, groups, and the passes that did nothing -- */
gboolean ir_step_list_can_open (IrStepList *self, guint position);
gboolean ir_step_list_is_open (IrStepList *self, guint position);
void ir_step_list_set_open (IrStepList *self, guint position, gboolean open);
