/* The ways to run one graph that must agree: one row each. */
#pragma once

#include "core/exec/exec.h"

typedef enum
{
  WAY_AS_IT_IS,
  WAY_OPTIMIZED, /* behind the pipeline that was drawn */
  WAY_READ_BACK  /* written as ONNX and read */
} WayForm;

typedef struct
{
  const char *name, *title;
  const char *backend;
  guint n_threads;
  IrParallelMode parallel;
  gboolean deterministic;
  IrCaptureKind capture;
  WayForm form;
  gboolean two_shapes; /* the plan has run other sizes before */
  guint bits;          /* ways of one number agree bit for bit; 0: within rounding */
} Way;

#define WAY_BITS_REFERENCE 1 /* so does evaluating node by node */
#define MAX_WAYS           24

const Way *graph_ways (guint *n);

/* Runs @model, which is in the form that @way wants, with the inputs of @seed.
 * Returns: the outputs, or NULL and what is wrong */
GPtrArray *graph_way_run (const Way *way, IrModel *model, guint32 seed, char **wrong);
