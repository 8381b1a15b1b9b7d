/* Why a derivative is 0, tiny, or not a number: the values of a run, followed along what derives them. */
#pragma once

#include "core/exec/run/run.h"

typedef enum
{
  IR_GRADIENT_PLAIN,      /* nothing is remarkable */
  IR_GRADIENT_NO_PATH,    /* nothing leads from it to what is derived */
  IR_GRADIENT_FROZEN,     /* what leads there counts as constant */
  IR_GRADIENT_DEAD,       /* an activation whose slope is 0 where its input lies */
  IR_GRADIENT_SATURATED,  /* one at its limits, where its slope is 0 or tiny */
  IR_GRADIENT_MASKED,     /* a choice or a mask that takes another part */
  IR_GRADIENT_TIMES_ZERO, /* what it is multiplied by is 0 */
  IR_GRADIENT_CANCELLED,  /* parts that are not 0 have the sum 0 */
  IR_GRADIENT_UNDERFLOW,  /* a product of numbers that are not 0 is 0 in its type */
  IR_GRADIENT_NON_FINITE, /* NaN or infinite */
  IR_N_GRADIENT_KINDS
} IrGradientKind;

/* What came back to a value between, from what is derived towards the value asked for. */
typedef struct
{
  IrValueId value, gradient; /* of the forward part; the derivative by it */
  double norm, max_abs;
  double zeros; /* share of its elements */
  guint64 n_nan;
} IrGradientStage;

typedef struct
{
  IrGradientKind kind;
  IrNodeId node;      /* of the model as it was written; 0: none */
  char *text;         /* sentences */
  double share;       /* of the elements of the derivative that this concerns, 0 to 1 */
  gint64 sample;      /* place along the first axis of what is not finite; -1: none */
  gboolean is_finite; /* what is derived is finite */
  GArray *stages;     /* of IrGradientStage */
} IrGradientReason;

IrGradientReason *ir_gradient_explain (const IrModel *model,
                                       IrRun *run,
                                       const IrValue *of,
                                       const IrValue *by,
                                       const IrValue *gradient,
                                       char *const *stop);
void ir_gradient_reason_free (IrGradientReason *reason);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrGradientReason, ir_gradient_reason_free)
const char *ir_gradient_kind_name (IrGradientKind kind); /* "plain", "no-path", "times-zero" ... */
