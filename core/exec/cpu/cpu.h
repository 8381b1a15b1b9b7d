/* The CPU back end: kernels in float32 for what networks spend their time in, on oneDNN where that
 * is good at it and in plain vectorizable C elsewhere. What it refuses runs on the reference
 * kernels, by a decision that the schedule shows.
 *
 * One thread pool: oneDNN of Debian runs on OpenMP, so everything here does; a kernel asks for as
 * many threads as its call has. */
#pragma once

#include "core/exec/exec-private.h"

typedef struct
{
  const char *name; /* for schedules and traces */
  /* (nullable) why it does not take @node, whose types may be known; NULL: takes it */
  const char *(*refuses) (const IrNode *node);
  /* (nullable) what can be done once per shape: primitives, packed weights */
  gpointer (*prepare) (IrCall *call, GError **error);
  void (*release) (gpointer state);
  IrKernelFunc run;
} IrCpuKernel;

extern const IrBackend ir_backend_cpu;

#define CPU(kernel) extern const IrCpuKernel kernel;
#include "core/op/ops.def"

/* Copies of a function for wider vector units, chosen when the program starts. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CPU_VECTORIZED                                                                             \
  __attribute__ ((target_clones ("avx512f", "avx2", "default"), optimize ("O3")))
#else
#define CPU_VECTORIZED
#endif

/* -- shared by the kernels -- */
int cpu_n_threads (const IrCall *call, guint64 work); /* 1 where the work is too little to share */
const float *cpu_floats (const IrCall *call, guint slot); /* NULL: absent, or of another type */
float *cpu_new_floats (IrCall *call, guint slot, const IrTensor *like, GError **error);
float *cpu_new_floats_shaped (
    IrCall *call, guint slot, guint rank, const gint64 *dims, GError **error);
const char *cpu_needs_float (
    const IrNode *node); /* refuses unless all inputs with a type are float32 */
void cpu_softmax_row (const float *x, float *y, gint64 n);
const char *cpu_needs_first_float (const IrNode *node); /* only input 0 */
IrDtype cpu_dtype (const IrNode *node, guint slot); /* of an input; UNDEFINED: absent or unknown */
/* refuses unless elements of input @slot have 1, 2, 4 or 8 bytes */
const char *cpu_needs_whole_bytes (const IrNode *node, guint slot);
/* The memory of output @slot, of the type that inference gave it. */
gpointer cpu_new_output (IrCall *call, guint slot, GError **error);

/* [outer, middle, inner] around the axes [first, end). */
typedef struct
{
  gint64 outer, middle, inner;
} CpuSplit;

CpuSplit cpu_split_axes (const IrTensor *tensor, gint64 first, gint64 end);

/* -- activations of fused operators: what follows the base operator, by operator -- */
typedef enum
{
  CPU_ACT_NONE,
  CPU_ACT_RELU,
  CPU_ACT_CLIP,
  CPU_ACT_LEAKY_RELU,
  CPU_ACT_SIGMOID,
  CPU_ACT_TANH,
  CPU_ACT_HARD_SWISH,
  CPU_ACT_SILU,
  CPU_ACT_GELU
} CpuActivation;

typedef struct
{
  CpuActivation activation;
  float alpha, low, high;
  const float *add; /* (nullable) residual, same shape, added first */
} CpuEpilogue;

/* Whether @vector has the dims of @in from @axis on, perhaps with ones before. */
gboolean cpu_is_tail (const IrTensor *vector, const IrTensor *in, gint64 axis);
/* The limits in inputs @slot and @slot + 1; FALSE unless both are there with one element each. */
gboolean cpu_limits (const IrCall *call, guint slot, CpuEpilogue *epilogue);
void cpu_epilogue (const CpuEpilogue *epilogue, float *y, guint64 n, guint64 offset);
void cpu_epilogue_all (const IrCall *call, const CpuEpilogue *epilogue, float *y, guint64 n);
