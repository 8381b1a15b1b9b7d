/* One random application of an operator: made from (row, seed, size), and nothing else, so that the
 * three numbers repeat it. */
#pragma once

#include "core/exec/exec.h"
#include "core/ir/edit.h"

#define TRIAL_MAX_INPUTS 24

typedef struct
{
  IrModel *model;
  IrEdit *edit;
  IrNode *node;
  guint n;
  IrTensor *tensors[TRIAL_MAX_INPUTS]; /* entries nullable */
  gboolean extreme; /* numbers so large that sums and products of them overflow in float32 */
} Trial;

/* @size: most places along an axis, and @size 1 has no special numbers; 0: as drawn */
void trial_init (Trial *trial, const IrOp *op, guint32 seed, guint size);
void trial_init_as (
    Trial *trial, const IrOp *op, guint32 seed, const char *inputs, const char *attrs);
void trial_clear (Trial *trial);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Trial, trial_clear)

/* The first or the last number of input @slot becomes far too small or too large. FALSE: those are no whole numbers */
gboolean trial_break_input (Trial *trial, guint slot, gboolean last);
/* Whether a recipe with @attrs is @op's: operators of two domains may have one name. */
gboolean trial_attrs_exist (const IrOp *op, const char *attrs);

char *trial_to_string (const Trial *trial);

/* How what a kernel gave for output @slot differs from what the reference gave, by the tolerance of the
 * row; NULL: it does not. (transfer full) */
char *trial_difference (const Trial *trial,
                        guint slot,
                        const IrTensor *found,
                        const IrTensor *wanted);
