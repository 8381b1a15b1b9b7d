/* What an attention is called in another form of its heads: the HEADS column of the op table. */
#pragma once

#include "core/ir/model.h"

typedef enum
{
  IR_HEADS_TOGETHER, /* side by side in the last axis of Q, K and V */
  IR_HEADS_PACKED,   /* that, and Q, K and V side by side too */
  IR_HEADS_SHARED    /* fewer of K and V than of Q */
} IrHeadsForm;

gboolean ir_heads_are_apart (const IrNode *node);
const char *ir_heads_op (const IrNode *node, IrHeadsForm form); /* (nullable) its operator type */
