/* The canonical dump: every field of a model as text, for tests and for comparing states. Removed
 * nodes and values are in it, unborn ones are not. Same state, same text, byte for byte. */
#pragma once
#include "core/ir/model.h"
char *ir_model_dump (const IrModel *model);
