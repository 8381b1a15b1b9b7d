/* What the tensor view asks for: contents of both sides, wherever they are, and what is to be said of them. */
#pragma once

#include "core/exec/run/capture.h"
#include "core/exec/run/iterations.h"
#include "views/jobs.h"
#include "views/session/runs.h"
#include "views/tensor/tensor-facts.h"

typedef struct
{
  IrTensor *tensors[IR_N_SIDES];          /* (nullable) */
  IrRun *runs[IR_N_SIDES];                /* (nullable) that compute what they have not kept */
  IrValueId ids[IR_N_SIDES];              /* of the runs */
  IrOriginalValue *originals[IR_N_SIDES]; /* (nullable) what no run has, by themselves */
  gboolean reference;                     /* what is before is what the reference kernels give */
  IrRun *series;                          /* (nullable) has rounds of the value */
  gboolean in_loop;                       /* rounds are wanted */
  int round;                              /* -1: the last */
  gboolean exact;                         /* all elements; else a sample of large ones */
  gboolean computed;                      /* what is after was, by nodes of the graph before */
} IrTensorRequest;

typedef struct
{
  IrTensorFacts *facts;
  IrRun *series; /* (nullable) */
  gboolean computed;
  char *reasons[IR_N_SIDES]; /* (nullable) of values that no run has kept */
} IrTensorAnswer;

void ir_tensor_request_free (gpointer request);
void ir_tensor_answer_free (gpointer answer);
/* An #IrJobFunc: an #IrTensorAnswer of an #IrTensorRequest */
gpointer ir_tensor_request_run (IrJob *job,
                                gpointer request,
                                GCancellable *cancellable,
                                GError **error);
