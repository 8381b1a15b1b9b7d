/* Convolution on oneDNN: a primitive with the reorders around it (conv-onednn.c), and a call done
 * by several of them (conv-tiles.c). */
#pragma once

#include "core/exec/cpu/cpu.h"

#include <oneapi/dnnl/dnnl.h>

typedef struct
{
  int ndims; /* of X */
  dnnl_dims_t x, w, b, y;
  dnnl_dims_t strides, dilations, pad_begin, pad_end;
  dnnl_dims_t x_of, y_of; /* what x and y are cut out from, by spatial axes */
  dnnl_dim_t group;
  gboolean has_bias;
  int n_threads; /* that the primitive is made for */
} CpuConvShape;

/* Of a tile, from element @first of the weights on. */
typedef struct
{
  const float *weights;
  gint64 first;
  gboolean constant; /* they are, so that they are packed but once */
} CpuConvWeights;

typedef struct _CpuConvPlan CpuConvPlan;

CpuConvPlan *cpu_conv_plan_new (const CpuConvShape *shape); /* (nullable) */
void cpu_conv_plan_free (CpuConvPlan *plan);
const CpuConvShape *cpu_conv_plan_shape (const CpuConvPlan *plan);
gboolean cpu_conv_plan_run (CpuConvPlan *plan,
                            IrScratch *scratch,
                            const float *x,
                            const CpuConvWeights *w,
                            const float *b,
                            float *y);

/* What is made in the first run and kept: tiles, and what is left; both nullable. */
typedef struct
{
  CpuConvPlan *plan, *rest;
} CpuConvPlans;

void cpu_conv_plans_clear (CpuConvPlans *plans);
gboolean cpu_conv_run_tiles (CpuConvPlans *plans,
                             const IrCall *call,
                             const CpuConvShape *shape,
                             float *y);
