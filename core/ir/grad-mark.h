/* What somebody has said about the derivative of one node. */
#pragma once

#include "core/ir/edit.h"

typedef enum
{
  IR_GRAD_MARK_PLAIN,
  IR_GRAD_MARK_STOP,             /* nothing goes back through it: its outputs count as constant */
  IR_GRAD_MARK_STRAIGHT_THROUGH, /* what comes to its output goes on to its first input unchanged */
  IR_N_GRAD_MARKS
} IrGradMark;
IrGradMark ir_grad_mark (const IrNode *node);
const char *ir_grad_mark_name (IrGradMark mark);
void ir_grad_set_mark (IrEdit *edit, IrNode *node, IrGradMark mark);
