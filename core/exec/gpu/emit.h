/* Inside this folder: what functions that write kernels stand on. */
#pragma once

#include "core/exec/gpu/program.h"

typedef struct _IrGpuKernel IrGpuKernel;
typedef struct _GpuReduction GpuReduction; /* reduce.c */

/* The column GPU of the op table. */
struct _IrGpuKernel
{
  const char *name; /* for schedules and traces */
  /* Writes the launches of @call, whose types are known, into @program. Returns NULL, or why there is
   * no kernel for it. */
  const char *(*emit) (const IrGpuKernel *kernel, IrCall *call, IrGpuProgram *program);
  const GpuReduction *reduction; /* (nullable) */
};

/* The column SCALAR of the op table: an operator element by element, as an expression in C of its inputs
 * a, b, c, in the type that its elements are computed with: @real in float, or double where they are
 * double; @sint and @uint in 64 bits, bool being an unsigned number of 0 and 1. A missing one is not
 * taken. Which counts is said by the type of the last input.
 *   F behind a name or a number: f in float, nothing in double: expF (a), 0.5F
 *   @alpha: the attribute, as a number of that type
 *   lowest, highest: the ends of that type, infinite if it is real
 *   r_$name (a): a real number rounded to the element type, as between two operators
 * Of any number of inputs: a is what came before, b the next one. */
typedef struct
{
  const char *real, *sint, *uint;
  gboolean fold;         /* any number of inputs */
  const char *end;       /* (nullable) with @fold, what becomes of a; N: the number of inputs */
  const char *absent[3]; /* (nullable) instead of an optional input that is left out */
  /* (nullable) Where an attribute chooses among expressions: "fmod=1", "direction=LEFT". The first
   * row of an operator whose condition holds counts; without one it always holds. */
  const char *when;
  IrGpuFault fault;  /* if @fails holds of an element */
  const char *fails; /* (nullable) of integers: a condition on a, b, c */
} GpuScalar;
#define GPU_MAX_SCALARS 3

const GpuScalar *gpu_scalars (
    const IrOp *op); /* (nullable) GPU_MAX_SCALARS, ends with an empty one */
const IrGpuKernel *gpu_kernel (const IrOp *op); /* (nullable) */

/* -- element types -- */
typedef struct
{
  IrDtype dtype;
  const char *storage; /* the type of an element in memory */
  const char *load;    /* a function from that to what is computed with */
  const char *store;   /* and back */
  const char *compute; /* "float", "double", "k_i64", "k_u64" */
} GpuElement;

const GpuElement *gpu_element (IrDtype dtype); /* (nullable) */
/* Of the same width, for what only moves elements; of 1, 2, 4 or 8 bytes. (nullable) */
const char *gpu_word (IrDtype dtype);

/* -- shapes -- */
typedef struct
{
  guint rank;
  gint64 dims[IR_MAX_RANK];
  guint64 n;
} GpuShape;

gboolean gpu_shape (const IrType *type, GpuShape *shape); /* FALSE: not all is known */

/* Loops over the elements of @shape, and where each operand has them: adjacent axes are joined where
 * that is the same for all. */
#define GPU_MAX_OPERANDS 16
typedef struct
{
  guint rank, n_operands;
  gint64 dims[IR_MAX_RANK];
  gint64 strides[GPU_MAX_OPERANDS][IR_MAX_RANK]; /* in elements; 0: broadcast */
  gint64 bases[GPU_MAX_OPERANDS];                /* where the first element is */
  guint64 n;
} GpuLoop;

void gpu_loop_init (GpuLoop *loop, const GpuShape *shape);
/* Numpy's broadcasting of @operand to the shape of the loop. */
void gpu_loop_add_broadcast (GpuLoop *loop, const GpuShape *operand);
void gpu_loop_add (GpuLoop *loop, const gint64 *strides, gint64 base);
void gpu_loop_join (GpuLoop *loop);
gboolean gpu_loop_is_whole (const GpuLoop *loop, guint operand);  /* element i is at i */
gboolean gpu_loop_is_single (const GpuLoop *loop, guint operand); /* one element for all */
/* Text that makes the indices o0, o1 .. of the operands from that of an element, @index. */
void gpu_loop_print (const GpuLoop *loop, const char *index, GString *text);
/* "unsigned int", or where that is too small "unsigned long long" */
const char *gpu_index_type (const GpuLoop *loop);
void gpu_contiguous_strides (const GpuShape *shape, gint64 *strides);

/* -- text -- */
/* A template with what stands for each $name: pairs of texts, ending with NULL. */
char *gpu_fill (const char *template_name, ...) G_GNUC_NULL_TERMINATED;
char *gpu_fill_text (const char *text, const GPtrArray *words);
char *gpu_fill_words (const char *template_name, const GPtrArray *words);
char *gpu_number (double value, gboolean is_double);

gboolean gpu_is_real (const char *compute);
/* @expression in the type @compute, of @n inputs or elements. (transfer full) */
char *gpu_expression (const IrCall *call, const char *compute, guint64 n, const char *expression);

/* Adds a launch; @text: (transfer full) has $name where the kernel's name goes. */
IrGpuLaunch *gpu_launch (
    IrGpuProgram *program, const char *family, char *text, guint64 blocks, guint threads);
void gpu_launch_arg (IrGpuLaunch *launch, IrGpuArgKind kind, guint slot);
#define GPU_THREADS 256
/* Blocks of @threads for @n elements; 0 where there are more than a launch has. */
guint64 gpu_blocks (guint64 n, guint threads);

#define GPU(kernel) extern const IrGpuKernel kernel;
#include "core/op/ops.def"

const char *gpu_emit_scalar (IrCall *call, IrGpuProgram *program);
