/* Derivatives against differences of the function itself, in double. */
#pragma once

#include "core/exec/exec.h"

/* As torch.autograd.gradcheck has them */
#define IR_GRADCHECK_EPS  1e-6
#define IR_GRADCHECK_ATOL 1e-5
#define IR_GRADCHECK_RTOL 1e-3

typedef struct
{
  const char *of, *wrt; /* as the options of the pass gradient */
  const IrNode *node;   /* (nullable) this node alone: its outputs by its inputs, where they are */
  const char
      *element; /* (nullable) this element of the only value of @wrt: ir_tensor_index_parse() */
  guint order;  /* 2: the derivatives of the first derivatives; else 1 */
  double eps, atol, rtol;
  guint64 seed;
  guint n_directions; /* random ones, for what has many elements */
  IrRunLimits limits;
  GCancellable *cancellable; /* (nullable) */
} IrGradcheckOptions;

typedef enum
{
  IR_GRADCHECK_PASSED,
  IR_GRADCHECK_FAILED,
  IR_GRADCHECK_KINK, /* the slopes on both sides differ, and the derivative lies between */
} IrGradcheckVerdict;

typedef struct
{
  IrNodeId node;     /* that was checked alone; 0: none */
  const char *graph; /* (nullable) of a case, in ONNX text: core/grad/cases.h */
  char *input;
  gint64 index; /* of the element; -1: a random direction */
  double analytic, numeric, left, right;
  IrGradcheckVerdict verdict;
} IrGradcheckItem;

/* (transfer full) (element-type IrGradcheckItem) */
GArray *ir_gradcheck (IrModel *model,
                      GHashTable *inputs,
                      const IrGradcheckOptions *options,
                      GError **error);
GArray *ir_gradcheck_items_new (void);
GArray *ir_gradcheck_operator (const char *name, const IrGradcheckOptions *options, GError **error);
const char *ir_gradcheck_verdict_name (IrGradcheckVerdict verdict);
IrModel *ir_model_widen (IrModel *model);
