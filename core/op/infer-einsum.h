/* The equation of Einsum, read once for inference and kernels. */
#pragma once

#include "core/op/call.h"
#include "core/ir/dim.h"

/* Labels: axes of the ellipsis, counted from the last one, then A to Z, then a to z. */
#define IR_EINSUM_LETTERS  IR_MAX_RANK
#define IR_EINSUM_N_LABELS (IR_EINSUM_LETTERS + 2 * 26)

typedef struct
{
  int rank;                   /* IR_RANK_UNKNOWN: an ellipsis of unknown length */
  guint8 labels[IR_MAX_RANK]; /* rank entries */
} IrEinsumTerm;

typedef struct
{
  guint n_terms;
  IrEinsumTerm *terms; /* n_terms, one per input */
  IrEinsumTerm output;
  IrDim sizes[IR_EINSUM_N_LABELS];   /* of labels that occur */
  gboolean used[IR_EINSUM_N_LABELS]; /* in some term */
} IrEinsum;

gboolean ir_einsum_init (IrEinsum *einsum, const IrCall *call, GError **error);
void ir_einsum_clear (IrEinsum *einsum);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrEinsum, ir_einsum_clear)
