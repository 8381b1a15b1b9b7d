/* What the metadata of a node says by a key; files keep it. */
#pragma once

#include "core/ir/edit.h"

/* Which iteration of which loops a copy of a node is: "outer@1/inner@3/h", "loop@4i+2/h" where it runs once in
 * each iteration i of a loop of four. */
#define IR_PROP_ITERATION "irscope.iteration"

const char *ir_node_prop (const IrNode *node, const char *key); /* (nullable) */
void ir_node_set_prop (IrEdit *edit, IrNode *node, const char *key, const char *value);
