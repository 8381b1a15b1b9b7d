/* Results of constant nodes that only rename, move or repeat elements: without a kernel, and
 * without a copy where the bytes stay what they are. Used by fold-constants. */
#pragma once

#include "passes/pass.h"

typedef struct _IrFoldSplats IrFoldSplats;

IrFoldSplats *ir_fold_splats_new (void);
void ir_fold_splats_free (IrFoldSplats *splats);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrFoldSplats, ir_fold_splats_free)

/* (transfer full) (nullable) the output of @node, whose inputs are constant; NULL: ask the kernel
 */
IrTensor *ir_fold_directly (const IrNode *node, IrFoldSplats *splats);
