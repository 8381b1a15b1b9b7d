/* The tensors of a plan that its runs hand out, lent as a whole: a run that kept ten thousand values
 * counts one reference instead of as many. While no run has the shelf, the plan fills the tensors
 * again; otherwise it leaves them to the runs and takes new ones. */
#pragma once

#include "core/ir/tensor.h"

typedef struct _IrShelf IrShelf;

IrShelf *ir_shelf_new (void);
IrShelf *ir_shelf_ref (IrShelf *shelf);
void ir_shelf_unref (IrShelf *shelf);
gboolean ir_shelf_is_lent (IrShelf *shelf); /* somebody beside the plan has it */
void ir_shelf_leave (IrShelf *shelf, IrTensor *tensor);
