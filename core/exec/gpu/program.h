/* Kernels as text, before anything compiles them: what an operator becomes on a GPU is a list of
 * launches. A kernel is a C subset over the vocabulary of a prelude, so the same bytes are compiled
 * by NVRTC and, in tests, by the C compiler of the machine. All parameters are pointers: what has
 * sizes are the texts, which are made for the shapes of one call. */
#pragma once

#include "core/exec/kernel/backend.h"

#define IR_GPU_MAX_ARGS 16

typedef enum
{
  IR_GPU_INPUT,  /* of the call */
  IR_GPU_OUTPUT, /* of the call */
  IR_GPU_FAULT   /* one word, 0 before the launch: kernels put an IrGpuFault there */
} IrGpuArgKind;

typedef struct
{
  IrGpuArgKind kind;
  guint slot;
} IrGpuArg;

/* What only shows in the contents of operands; each is an error of the run. */
typedef enum
{
  IR_GPU_FAULT_NONE,
  IR_GPU_FAULT_DIVISION = 1, /* an integer by zero */
  IR_GPU_FAULT_INDEX = 2     /* out of range */
} IrGpuFault;

/* A product of matrices, y = alpha a b and, where it has one, a bias, by rows without gaps. Where cuBLAS is
 * there, it takes the place of the kernel. */
typedef struct
{
  IrDtype dtype;
  gint64 m, n, k, batch;       /* rows and columns of a result, what is summed, how many results */
  gboolean turned_a, turned_b; /* it lies there transposed */
  gint64 stride_a, stride_b;   /* elements between two of the batch; 0: one for all */
  double alpha;
  guint a, b, y; /* slots */
  int bias;      /* slot of what has an element for each column; -1: none */
} IrGpuProduct;

typedef struct _IrGpuLaunch
{
  char *name; /* of the kernel: launches of one text have one name */
  char *text; /* C, without a prelude */
  guint blocks, threads;
  guint n_args;
  IrGpuArg args[IR_GPU_MAX_ARGS];
  IrGpuProduct *product; /* (nullable) what the kernel computes, but for what @finish does */
  struct _IrGpuLaunch
      *finish; /* (nullable) of what the product has made, what the kernel does behind it */
} IrGpuLaunch;

typedef struct
{
  GPtrArray *launches; /* of IrGpuLaunch, in their order */
} IrGpuProgram;

IrGpuProgram *ir_gpu_program_new (void);
void ir_gpu_program_free (IrGpuProgram *program);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrGpuProgram, ir_gpu_program_free)
const char *ir_gpu_program_add (IrGpuProgram *program, IrCall *call);
void ir_gpu_program_add_text (IrGpuProgram *program, const char *name, const char *text);
char *ir_gpu_program_text (const IrGpuProgram *program);
const char *ir_gpu_prelude (void);
const char *ir_gpu_kernel_name (const IrOp *op);
