/* Which attributes say nothing: those that are spelled out with the value that leaving them out
 * has.
 */
#pragma once

#include "core/ir/model.h"

gboolean ir_op_attr_is_default (const IrNode *node, const IrAttr *attr);
