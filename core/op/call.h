/* IrCall: one operator applied to inputs, in canonical form: what inference, cost functions and
 * kernels see. In inference inputs have types and sometimes contents; in execution all have
 * contents. Made by ir_call_init() from a node; the row's adapt functions have been run on it, so
 * attributes and inputs are those of the newest opset that irscope knows. */
#pragma once

#include "core/ir/model.h"
#include <gio/gio.h>

#define IR_OP_ERROR (ir_op_error_quark ())
GQuark ir_op_error_quark (void);

typedef enum
{
  IR_OP_ERROR_SHAPE,       /* shapes or ranks do not fit each other */
  IR_OP_ERROR_DTYPE,       /* element types do not fit */
  IR_OP_ERROR_ATTRIBUTE,   /* attribute missing, of the wrong kind, or out of range */
  IR_OP_ERROR_ARITY,       /* too few or too many inputs or outputs */
  IR_OP_ERROR_VALUE,       /* contents: index out of range, division by zero, negative size */
  IR_OP_ERROR_UNSUPPORTED, /* legal, but irscope cannot do it */
  IR_OP_ERROR_LIMIT,       /* would need more memory or time than allowed */
  IR_OP_ERROR_CANCELLED
} IrOpErrorCode;

typedef struct _IrCall IrCall;
/* What a call may use of the threads of the program: core/exec/kernel/threads.h. */
typedef struct
{
  guint n;                /* the calling one included; 0: that one alone */
  gboolean deterministic; /* results are the same bits at any number */
} IrThreads;
typedef struct _IrScratch IrScratch; /* core/exec/kernel/nchwc.h */
typedef struct _IrPacked IrPacked;   /* core/exec/kernel/prepack.h */

/* Contents of a small integer tensor (a shape, an axis list) known element by element, symbols
 * included: how dims propagate through Shape, Gather, Concat, Slice and arithmetic. */
typedef struct
{
  guint n; /* elements; rank is 0 (n = 1) or 1 */
  gboolean scalar;
  IrNumber numbers[];
} IrShapeData;

typedef struct
{
  const IrType *type;      /* (nullable) */
  const IrTensor *tensor;  /* (nullable) contents; always there in execution */
  const IrShapeData *data; /* (nullable) inference only */
  gboolean present;        /* FALSE: optional input left out */
  guint8 align_axis;       /* opset < 7: 1 + axis of input 0 that axis 0 of this one lines up with;
                              0: as numpy does. The accessors below apply it. */
  guint8
      block; /* execution: @tensor has so many channels together (core/exec/kernel/nchwc.h); 0: plain */
  guint8 layouts; /* execution: kept by the back end; 0: nothing yet */
  gboolean there; /* execution: @tensor lies in the memory of the back end, not in the host's */
} IrCallInput;

typedef struct
{
  const IrType *type;      /* inference: result */
  IrTensor *tensor;        /* execution: result, (transfer full) to the caller of the kernel */
  const IrShapeData *data; /* (nullable) inference: propagated contents */
  gboolean present;        /* FALSE: nobody wants it; kernels may leave it out */
  gpointer memory;         /* (nullable) execution: where the memory plan wants it */
  gsize memory_bytes;
  guint8 block; /* execution: so many channels are wanted together; 0: plain */
  gboolean there; /* execution: it is wanted in the memory of the back end */
} IrCallOutput;

/* What kernels that take long poll now and then, from any of their threads. */
typedef struct
{
  gint64 deadline_us; /* of g_get_monotonic_time(): when the run has to end; 0: it need not */
  gint stopped;       /* atomic: whether a poll has said so */
  gint left;          /* atomic: nobody waits for the run any more */
} IrWatch;

/* Gives memory for outputs; NULL: the heap. */
typedef IrTensor *(*IrAllocFunc) (
    IrCall *call, guint output, IrDtype dtype, guint rank, const gint64 *dims, GError **error);

struct _IrCall
{
  const IrNode *node; /* for messages; attributes are read through ir_call_attr() */
  const IrOp *op;
  IrContext *context;
  gint64 opset; /* version of the node's domain */
  /* Execution: inference has seen just these types, and nothing that is not constant can change its
   * answer; back ends need not ask it again. */
  gboolean shape_static;
  guint n_inputs, n_outputs, n_attrs;
  IrCallInput *inputs;
  IrCallOutput *outputs;
  const IrAttr **attrs;
  GPtrArray *owned; /* (nullable) scratch that lives as long as the call */
  IrThreads threads;
  GCancellable *cancellable; /* (nullable) */
  IrWatch *watch;            /* (nullable) */
  guint64 random_seed;       /* execution: for draws whose node has no seed of its own */
  gsize max_output_bytes;    /* 0 = no limit beyond the address space */
  IrAllocFunc alloc;
  gpointer alloc_data;
  IrScratch *scratch;    /* (nullable) memory that back ends may use during the call */
  IrPacked *packed;      /* (nullable) what back ends make of constants, once for many calls */
  gpointer kernel_state; /* back ends: prepared state of the node (packed weights …) */
  gboolean by_ref;       /* execution: the kernel has left it to the reference kernel */
  /* (nullable) execution: told by the back end when everything is as the kernel is to get it; @blocks:
   * one that works on values in blocks of channels. From any thread. */
  void (*ready) (const IrCall *call, gboolean blocks, gpointer data);
  gpointer ready_data;
  /* (nullable) inference inside function bodies: types that are not in the values themselves */
  const IrType *(*type_of) (gpointer data, const IrValue *value);
  gpointer type_of_data;
  /* (nullable) inference: told of dims that have to be equal, or, with @or_one, one of them 1 */
  void (*equal) (const IrCall *call, IrDim a, IrDim b, gboolean or_one, gpointer data);
  gpointer equal_data;
};

static inline void
ir_call_ready (const IrCall *call, gboolean blocks)
{
  if (call->ready != NULL)
    call->ready (call, blocks, call->ready_data);
}

/* Lays out a call for @node: attributes from the node, @n_inputs and @n_outputs as the node has;
 * inputs' types from the values; then runs the adapters. Clear with ir_call_clear(). */
void ir_call_init (IrCall *call, const IrNode *node);
void ir_call_layout (IrCall *call, const IrNode *node); /* ir_call_init() without the adapters */
void ir_call_adapt (IrCall *call);                      /* the adapters alone; once per call */
/* Gives an input its contents, before or after the adapters. (transfer none): @tensor must live as
 * long as the call. */
void ir_call_set_input (IrCall *call, guint slot, const IrTensor *tensor);
const IrType *ir_call_value_type (const IrCall *call, const IrValue *value); /* (nullable) */
void ir_call_clear (IrCall *call);
guint ir_call_n_owned (const IrCall *call);
void ir_call_disown (IrCall *call, guint n);

/* -- attributes, canonical -- */
const IrAttr *ir_call_attr (const IrCall *call, const char *name);
gint64 ir_call_int (const IrCall *call, const char *name, gint64 fallback);
double ir_call_float (const IrCall *call, const char *name, double fallback);
const char *ir_call_string (const IrCall *call, const char *name, const char *fallback);
const gint64 *ir_call_ints (const IrCall *call, const char *name, guint *n); /* NULL if absent */

/* -- inputs and outputs -- */
gboolean ir_call_has_input (const IrCall *call, guint slot);
const IrType *ir_call_input_type (const IrCall *call, guint slot); /* (nullable) */
const IrTensor *ir_call_input (const IrCall *call, guint slot);    /* (nullable) contents */
gboolean ir_call_has_output (const IrCall *call, guint slot);
/* Known integer contents of an input, from its tensor or from propagated data, symbols included;
 * FALSE if not known. (transfer container) @numbers: g_free(). */
gboolean ir_call_input_numbers (const IrCall *call, guint slot, IrNumber **numbers, guint *n);
/* As above, all values known. @values: g_free(). */
gboolean ir_call_input_ints (const IrCall *call, guint slot, gint64 **values, guint *n);
void ir_call_set_output_type (IrCall *call, guint slot, const IrType *type);
void ir_call_set_output_tensor_type (
    IrCall *call, guint slot, IrDtype dtype, int rank, const IrDim *dims);
void ir_call_set_output_data (
    IrCall *call, guint slot, const IrNumber *numbers, guint n, gboolean scalar);
/* Kernels: memory for output @slot; the data may be written. (transfer none) */
IrTensor *ir_call_new_output (
    IrCall *call, guint slot, IrDtype dtype, guint rank, const gint64 *dims, GError **error);
void ir_call_take_output (IrCall *call,
                          guint slot,
                          IrTensor *tensor); /* (transfer full) e.g. a view */
gboolean ir_call_take_strings (
    IrCall *call, guint slot, guint rank, const gint64 *dims, GBytes **strings, GError **error);

/* Number of inputs and outputs, required inputs and attributes, against the row; after adapting. */
gboolean ir_call_check (const IrCall *call, GError **error);

/* -- stopping: kernels ask in the loop that hands out work -- */
gboolean ir_call_stopped (const IrCall *call);
gboolean ir_call_fail_if_stopped (const IrCall *call, GError **error);
gboolean ir_call_fail_if_cut (const IrCall *call, GError **error);

/* -- errors: prefix with the node's label -- */
gboolean ir_call_fail (const IrCall *call,
                       GError **error,
                       IrOpErrorCode code,
                       const char *format,
                       ...) G_GNUC_PRINTF (4, 5);

/* -- for adapters -- */
void ir_call_set_attr (IrCall *call, const IrAttr *attr);
void ir_call_drop_attr (IrCall *call, const char *name);
void ir_call_set_input_ints (IrCall *call,
                             guint slot,
                             const gint64 *values,
                             gssize n);                                     /* < 0: scalar */
void ir_call_set_input_tensor (IrCall *call, guint slot, IrTensor *tensor); /* (transfer full) */
void ir_call_attr_to_input (IrCall *call,
                            const char *attr,
                            guint slot); /* INTS or INT -> int64 tensor */
