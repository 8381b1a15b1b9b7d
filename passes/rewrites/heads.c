/* The forms of an attention whose heads have an axis of their own. */
#include "config.h"

#include "passes/rewrites/heads.h"

#include "core/op/check.h"

/* clang-format off */
static const struct
{
  IrOpId op, forms[3]; /* by IrHeadsForm */
} rows[IR_N_OPS] = { { .op = IR_OP_NONE
#define IR_OP(ID, NAME, ...) }, [IR_OP_##ID] = { .op = IR_OP_##ID
#define HEADS(TOGETHER, PACKED, SHARED) , .forms = { IR_OP_##TOGETHER, IR_OP_##PACKED, IR_OP_##SHARED }
#include "core/op/ops.def"
} };
/* clang-format on */

/* Whether it is an attention of the column. */
gboolean
ir_heads_are_apart (const IrNode *node)
{
  return node->op != NULL && rows[node->op->id].forms[IR_HEADS_TOGETHER] != IR_OP_NONE;
}

const char *
ir_heads_op (const IrNode *node, IrHeadsForm form)
{
  IrOpId id = node->op != NULL ? rows[node->op->id].forms[form] : IR_OP_NONE;

  return id != IR_OP_NONE ? ir_op_by_id (id)->name : NULL;
}
