/* Whether a node may run where the graph as it is written does not run it. */
#pragma once

#include "core/ir/model.h"

/* (nullable) Why @node might fail on what it reads; NULL: it cannot, by facts of the table and types. */
const char *ir_pass_why_may_fail (const IrNode *node);
