/* Cases of the ONNX backend tests: a folder with model.onnx and
 * test_data_set_N/{input,output}_N.pb. A case passes if number, shape and type of the outputs are
 * those of the data and every element is close: |actual - wanted| <= atol + rtol · |wanted|, NaN
 * where NaN is wanted, strings byte by byte. That is the rule of the standard's own runner. */
#pragma once

#include "core/exec/eval/eval.h"

#define IR_CONFORMANCE_RTOL 1e-3
#define IR_CONFORMANCE_ATOL 1e-7

typedef enum
{
  IR_CASE_PASSED,
  IR_CASE_FAILED,
  IR_CASE_UNSUPPORTED,
  IR_N_CASE_STATUSES
} IrCaseStatus;

/* Nodes that ran, those of subgraphs once each. */
typedef struct
{
  guint own;      /* by kernels of the back end */
  guint fallback; /* by reference kernels in their place */
  guint control;  /* by the runner: control flow */
} IrCaseNodes;

const char *ir_case_status_name (IrCaseStatus status); /* "passed" */
/* What differs, in words; (transfer full) (nullable): nothing. */
char *ir_tensor_difference (
    IrContext *context, const IrTensor *actual, const IrTensor *wanted, double rtol, double atol);
IrCaseStatus ir_case_run (const char *dir,
                          const IrBackend *backend,
                          char **why,
                          IrCaseNodes *nodes); /* (out) (optional) */
