/* Back ends: which kernel runs a node, and what it declares of its operands; the errors of the
 * execution. */
#pragma once

#include "core/exec/kernel/memory.h"
#include "core/exec/kernel/threads.h"
#include "core/ir/model.h"
#include "core/op/op.h"

#define IR_EXEC_ERROR (ir_exec_error_quark ())
GQuark ir_exec_error_quark (void);
typedef enum
{
  IR_EXEC_ERROR_INPUT,       /* an input is missing, or of the wrong type or shape */
  IR_EXEC_ERROR_UNSUPPORTED, /* a node has no kernel: message says which and why */
  IR_EXEC_ERROR_KERNEL,      /* a kernel failed: message names the node */
  IR_EXEC_ERROR_MEMORY,
  IR_EXEC_ERROR_DEVICE, /* the device is not there */
  IR_EXEC_ERROR_CANCELLED,
  IR_EXEC_ERROR_LIMIT,  /* more time or iterations than allowed */
  IR_EXEC_ERROR_STOPPED /* where it was told to: core/exec/run/control.h */
} IrExecErrorCode;

/* -- what a kernel declares of an input: plans go by it, and where something else lies there it is
 * brought into a layout that is declared before the kernel runs -- */
typedef enum
{
  IR_LAYOUT_PLAIN = 1 << 0, /* as the graph has it */
  IR_LAYOUT_NCHWC = 1 << 1  /* NCHWc: core/exec/kernel/nchwc.h */
} IrLayouts;
typedef struct
{
  IrLayouts layouts;    /* that it reads the input in */
  gboolean any_address; /* as files have them; else at a multiple of the size of its elements */
  gboolean overwritten; /* each element is read before output 0 is written there */
  gboolean there;       /* read in the memory of the back end, if that has one */
} IrInputTerms;
/* And of output 0. */
typedef struct
{
  IrLayouts gives; /* that it can give the output in */
  gboolean tiled;  /* tiles of its float32 operands give the same tile of the output, on any
                       * thread and without scratch memory */
} IrOutputTerms;

/* What is known of how a back end runs a node. */
typedef struct
{
  char *title, *text;
  char *code; /* (nullable) what it is compiled from */
} IrKernelFact;
void ir_kernel_fact_free (gpointer fact);

/* -- back ends: one row each -- */
typedef struct _IrBackend IrBackend;
typedef struct _IrKernels IrKernels;
struct _IrBackend
{
  const char *name, *title;
  /* (nullable) Where its kernels read inputs, as far as they declare it, and write outputs; NULL: in the
   * host's memory. */
  const IrMemory *memory;
  /* (nullable) From now on it is device @index of several, as in gpu:1; NULL: there is one. */
  void (*take) (guint index);
  /* (nullable) Whether it can be used on this machine; NULL: always. */
  gboolean (*available) (GError **error);
  /* Why the back end cannot run @node with a kernel of its own, or NULL if it can. */
  const char *(*refuses) (const IrNode *node);
  IrKernelFunc (*kernel) (const IrNode *node);
  const char *(*kernel_name) (const IrNode *node); /* (nullable): the back end's own name */
  /* (nullable) prepared state per node (packed weights, primitives); called once per plan */
  gpointer (*prepare) (IrCall *call, GError **error);
  void (*release) (gpointer state);
  /* (nullable) Whether a call with this state makes the host wait, or may do other things than the call before: it cannot be
   * asked of streams once for all runs. NULL: no call can. */
  gboolean (*waits) (gconstpointer state);
  /* (nullable) Whether what was prepared for @node serves other nodes of the same kernel_name()
   * too: it is made anew where shapes or weights are others. */
  gboolean (*shares_state) (const IrNode *node);
  /* (nullable) Which back end runs nodes without a kernel, by a recorded decision; NULL: none. */
  const IrBackend *falls_back;
  /* (nullable) Which values of @graph are kept in NCHWc: by value id, channels in a
   * block, or 0, which they all are before. */
  void (*plan_blocks) (const IrGraph *graph, const IrKernels *kernels, guint8 *blocks);
  /* (nullable) What that means for @node, in words; NULL: nothing */
  const char *(*explain_blocks) (const IrNode *node, const guint8 *blocks);
  /* (nullable) Names that IR_META_KERNEL of @node may have, beside "ref"; NULL: there is one kernel
   * only. The first that fits is taken where nobody asks for another. */
  const char *(*candidates) (const IrNode *node);
  /* (nullable) In words, why @node gets the one that it gets; NULL: nothing to say */
  const char *(*explain_choice) (const IrNode *node);
  /* (nullable) (transfer full) (element-type IrKernelFact): what its kernel of @node consists of; NULL: it has none */
  GPtrArray *(*facts) (const IrNode *node);
  /* (nullable) What the kernel of @node declares of input @slot, beside what IR_OP_INPLACE
   * promises; @blocks: where it works on values in NCHWc. NULL: plain values, at
   * addresses of their elements, which nothing is written over. */
  IrInputTerms (*input_terms) (const IrNode *node, guint slot, gboolean blocks);
  /* (nullable) What it declares of output 0. NULL: a plain value, whole. */
  IrOutputTerms (*output_terms) (const IrNode *node);
};
IrInputTerms ir_backend_input_terms (const IrBackend *backend,
                                     const IrNode *node,
                                     guint slot,
                                     gboolean blocks);
IrOutputTerms ir_backend_output_terms (const IrBackend *backend, const IrNode *node);
const IrBackend *ir_backend_find (
    const char *name); /* "ref", "cpu", "gpu:1"; NULL if unknown or not built */
const IrBackend *const *ir_backends (guint *n);
IrKernelFunc ir_ref_kernel (const IrOp *op); /* (nullable) the reference kernel of an operator */

/* Property (metadata_props) of a node that asks for a kernel: "ref", or one of the candidates of
 * the back end. One that does not fit is passed over, and the schedule says what is taken. */
#define IR_META_KERNEL "irscope.kernel"
const char *ir_node_wanted_kernel (const IrNode *node); /* (nullable) */

extern const IrBackend ir_backend_ref;
const IrBackend *ir_backend_require (const char *name, GError **error);
gboolean ir_backend_choose (const IrBackend *backend,
                            const IrNode *node,
                            IrKernelFunc *kernel,
                            const IrBackend **chosen,
                            const char **why,
                            GError **error);

/* -- the kernels of all nodes: chosen once, read by schedules, layouts, plans and runs -- */
typedef struct
{
  IrKernelFunc kernel;      /* NULL: the runner executes it (control flow), or nothing can run it */
  const IrBackend *backend; /* (nullable) whose it is; NULL: nothing can run the node */
  const char *why;          /* (nullable) why it is not of the back end that was asked for */
  const char *name;         /* what schedules call it */
} IrKernelChoice;
struct _IrKernels
{
  IrBackend copy;           /* of the one that was asked for: schedules may outlive it */
  const IrBackend *backend; /* that one */
  IrKernelChoice *rows;     /* by node id, those of subgraphs included */
  guint n;                  /* its length */
  IrNodeId refused;         /* the first node of a subgraph that nothing can run; 0: none */
  gatomicrefcount ref_count;
};
IrKernels *ir_kernels_new (const IrModel *model, const IrBackend *backend, GError **error);
IrKernels *ir_kernels_new_within (const IrNode *node, const IrBackend *backend, GError **error);
gboolean ir_kernels_check (const IrKernels *kernels, const IrModel *model, GError **error);
IrKernels *ir_kernels_ref (IrKernels *kernels);
void ir_kernels_unref (IrKernels *kernels);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrKernels, ir_kernels_unref)

/* Whether the back end that was asked for has a kernel of its own for @node. */
static inline gboolean
ir_kernels_is_own (const IrKernels *kernels, const IrNode *node)
{
  const IrKernelChoice *row = &kernels->rows[node->id];

  return row->kernel != NULL && row->why == NULL;
}
const char *ir_backend_kernel_name (const IrBackend *backend,
                                    const IrNode *node,
                                    IrKernelFunc kernel);
gboolean ir_node_is_inplace (const IrNode *node, guint slot);

/* -- for all rooms -- */
char *ir_exec_label (
    const IrNode *node); /* (transfer full): as errors name a node of what is run */
GError *ir_exec_error_from_kernel (const IrNode *node, GError *error);
gsize ir_exec_default_memory_limit (void);
guint64 ir_exec_random_seed (const IrNode *node, guint64 seed, guint round);
gboolean ir_exec_cancelled (GCancellable *cancellable, guint index, GError **error);
