/* What cost.c needs of the inference driver: types inside function bodies, which are not stored. */
#pragma once

#include "core/op/infer.h"
#include "core/op/op.h"

/* @call: inputs and outputs have the types of this application. */
typedef void (*IrVisitFunc) (const IrCall *call, gpointer data);

/* Walks over the body of the model-local function that @node applies, functions inside included.
 * FALSE if there is none. */
gboolean ir_infer_visit_function (const IrNode *node, IrVisitFunc visit, gpointer data);
