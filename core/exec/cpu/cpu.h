/* The CPU back end: kernels in float32 for what networks spend their time in, on oneDNN where that
 * is good at it and in plain vectorizable C elsewhere; operands in float16 and bfloat16 are widened for
 * them. What it refuses runs on the reference kernels, by a decision that the schedule shows.
 *
 * One thread pool: oneDNN of Debian runs on OpenMP, so everything here does; a kernel asks for as
 * many threads as its call has. */
#pragma once

#include "core/exec/kernel/nchwc.h"
#include "core/exec/kernel/backend.h"
#include "core/exec/ref/ref.h"

/* How a kernel works on values in NCHWc (core/exec/kernel/nchwc.h). */
typedef struct
{
  /* The layouts that @run reads input @slot of @node in; blocks are of @lanes channels. */
  IrLayouts (*reads) (const IrNode *node, guint slot, guint lanes);
  /* (nullable) The layouts that it can give output 0 in; NULL: plain. */
  IrLayouts (*gives) (const IrNode *node, guint lanes);
  /* Every input is in a layout that @reads names; cpu_blocks_out() gives the output its own. */
  IrKernelFunc run;
  gboolean makes;   /* it gives blocks gladly, whatever lies in its inputs; else: if they are so */
  gboolean carries; /* it gains nothing from blocks by itself */
} IrCpuBlocks;

typedef struct
{
  const char *name; /* for schedules and traces */
  /* (nullable) why it does not take @node, whose types may be known; NULL: takes it */
  const char *(*refuses) (const IrNode *node);
  /* (nullable) what can be done once per shape: primitives, packed weights */
  gpointer (*prepare) (IrCall *call, GError **error);
  void (*release) (gpointer state);
  gboolean
      shares_state; /* what was prepared serves every node of the kernel, one after the other */
  IrKernelFunc run;
  const IrCpuBlocks *blocks; /* (nullable) plain values only, or operators element by element */
  guint unaligned; /* 1 + the input that it reads at any address, as files have them; 0: none */
  gboolean tiled;  /* float32 element by element: tiles of operands give tiles of the output */
  const char *candidates; /* (nullable) names of its variants, as users ask for them */
  /* (nullable) Those of them that can run @node, as far as its types tell. */
  const char *(*candidates_for) (const IrNode *node);
  /* (nullable) Name of the variant that @node gets, and in words why it is not another. */
  const char *(*variant) (const IrNode *node, const char **why);
  /* (nullable) The input whose elements are each read before output 0 is written there, beside
   * those that IR_OP_INPLACE promises; -1: none. */
  int (*overwrites) (const IrNode *node);
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
/* Into how many parts to cut work if that may show in the last bits: as many as threads, but by the
 * shape alone where results must be deterministic. */
int cpu_n_parts (const IrCall *call, guint64 work);
/* -- polls: the loop that hands out work asks now and then whether the run goes on -- */
/* Elements that are worked on between two of them: about a millisecond. */
#define CPU_POLL (1 << 20)

/* For a loop over parts, shared by its threads. */
typedef struct
{
  const IrCall *call;
  gint64 mask;
  int stopped; /* atomic */
} CpuWatch;

CpuWatch cpu_watch (const IrCall *call, gint64 part_elements);

/* Whether @part, and those after it, may be left out. */
static inline gboolean
cpu_watch_stopped (CpuWatch *watch, gint64 part)
{
  if (__atomic_load_n (&watch->stopped, __ATOMIC_RELAXED))
    return TRUE;
  if ((part & watch->mask) != watch->mask || !ir_call_stopped (watch->call))
    return FALSE;
  __atomic_store_n (&watch->stopped, TRUE, __ATOMIC_RELAXED);
  return TRUE;
}

/* Where the share of @n parts of this thread begins, and with 1 for @after where it ends, in a
 * parallel region. Loops of OpenMP go on to their end, which takes long of very many parts. */
gint64 cpu_share (gint64 n, int after);

/* -- products of matrices: product.c -- */
typedef struct
{
  const float *data;
  gint64 distance;     /* from row to row as it lies, in elements */
  gboolean transposed; /* it lies as the transpose of what is multiplied */
} CpuMatrix;

/* Y [m, n] = alpha * A [m, k] B [k, n] + beta * Y, all by rows. */
typedef struct
{
  gint64 m, n, k;
  float alpha, beta;
  CpuMatrix a, b;
  float *y;
  gint64 y_distance;
} CpuProduct;

gboolean cpu_multiply (const IrCall *call, const CpuProduct *product);
gboolean cpu_multiply_parts (const IrCall *call, const CpuProduct *product, int n_parts);

/* -- constants as products read them: padded.c -- */
CpuMatrix cpu_constant_matrix (
    const IrCall *call, gint64 m, gint64 n, gint64 k, gboolean transposed);
const char *cpu_product_variant (const IrNode *node, const char **why);
extern const char cpu_product_candidates[];

/* How many threads oneDNN may use by itself from here on: 1 where results must be deterministic. */
void cpu_library_threads (const IrCall *call, int n_threads);
const float *cpu_floats (const IrCall *call, guint slot); /* NULL: absent, or of another type */
/* The same for what is read but once, as when weights are packed: no aligned copy is made. */
typedef float CpuUnalignedFloat
    __attribute__ ((aligned (1))); /* as files have them, at any address */
const CpuUnalignedFloat *cpu_unaligned_floats (const IrCall *call, guint slot);
float *cpu_new_floats (IrCall *call, guint slot, const IrTensor *like, GError **error);
float *cpu_new_floats_shaped (
    IrCall *call, guint slot, guint rank, const gint64 *dims, GError **error);
/* -- what kernels compute in -- */
/* Given in place of a reason to refuse by kernels that compute in float32: an operand is in float16 or
 * bfloat16. The back end widens them and rounds what comes out (half-run.c). */
extern const char cpu_half[];
gboolean cpu_is_half (IrDtype dtype);
/* NULL for float32, cpu_half for float16 and bfloat16, else @why. */
const char *cpu_takes_float (IrDtype dtype, const char *why);
const char *cpu_first_reason (const char *why,
                              const char *other); /* what refuses before cpu_half */
const char *cpu_needs_float (
    const IrNode *node); /* refuses unless all inputs with a type are float32 */
const char *cpu_needs_float_but (const IrNode *node, guint slot); /* as it, that one aside */
const char *cpu_needs_floats (const IrNode *node, guint64 slots); /* those of a set of bits alone */
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

/* -- what follows the base operator of a fused operator -- */
typedef struct
{
  IrActivation activation;
  float alpha, low, high;
  const float *add; /* (nullable) residual, same shape, added first */
} CpuEpilogue;

/* Whether @vector has the dims of @in from @axis on, perhaps with ones before. */
gboolean cpu_is_tail (const IrTensor *vector, const IrTensor *in, gint64 axis);
/* The activation of a call of a fused operator and its parameters; FALSE: the reference kernel has to
 * say what is wrong. */
gboolean cpu_epilogue_of (const IrCall *call, CpuEpilogue *epilogue);
void cpu_epilogue (const CpuEpilogue *epilogue, float *y, guint64 n, guint64 offset);
void cpu_epilogue_all (const IrCall *call, const CpuEpilogue *epilogue, float *y, guint64 n);

/* -- the table: kernels.c -- */
const IrCpuKernel *cpu_kernel_of (const IrNode *node); /* (nullable) */

/* -- which values are in NCHWc: nchwc-plan.c -- */
void cpu_plan_blocks (const IrGraph *graph, const IrKernels *kernels, guint8 *blocks);
const char *cpu_explain_blocks (const IrNode *node, const guint8 *blocks);
IrInputTerms cpu_input_terms (const IrNode *node, guint slot, gboolean blocks);
IrOutputTerms cpu_output_terms (const IrNode *node);

/* -- operands in NCHWc or NCHW: nchwc-io.c -- */
guint cpu_lanes (void); /* of the machine's vectors; 0: none that kernels over blocks exist for */

/* Sizes of a value of rank 4 as the graph has it. */
typedef struct
{
  gint64 batch, channels, plane;
} CpuPlanes;

gboolean cpu_planes_of (const IrValue *value, CpuPlanes *planes); /* float32, all sizes known */
gboolean cpu_call_has_blocks (const IrCall *call);
const float *cpu_blocks_in (
    IrCall *call, guint slot, const gint64 *dims, gint64 parts, guint block, GError **error);
float *cpu_blocks_out (
    IrCall *call, const gint64 *dims, gint64 parts, guint block, IrTensor **blocks, GError **error);
gboolean cpu_blocks_done (
    IrCall *call, const gint64 *dims, gint64 parts, IrTensor *blocks, GError **error);
gboolean cpu_plain_in (IrCall *call, guint slot, GError **error);
gboolean cpu_plain_view (IrCall *call, GError **error);
gboolean cpu_run_in_order (IrKernelFunc run, IrCall *call, GError **error);
/* -- calls with such operands: nchwc-run.c -- */
gboolean cpu_run_blocks (const IrCpuKernel *kernel, IrCall *call, GError **error);

extern const IrCpuBlocks cpu_max_pool_blocks, cpu_average_pool_blocks, cpu_concat_blocks,
    cpu_global_average_pool_blocks, cpu_batch_norm_blocks, cpu_gather_blocks;
