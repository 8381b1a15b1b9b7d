/* The op table: one row per operator (ops.def and the family files that it includes). Facts about
 * operators stand here and nowhere else; columns behind a row (INFER, REF, CPU, GRAD ...) are
 * expanded by the layer that they belong to alone. A row is found by (domain, name); the stored node
 * stays as its file wrote it, and the row's adapters turn an old opset's form into the one canonical
 * call that inference, cost and kernels see. */
#pragma once

#include "core/ir/model.h"
#include "core/op/call.h"
#include <gio/gio.h>

typedef enum
{
  IR_OP_NONE,
#define IR_OP(ID, NAME, ...) IR_OP_##ID,
#include "core/op/ops.def"
  IR_N_OPS
} IrOpId;

/* Families give the colour class of a node and the order in documentation. */
#define IR_OP_FAMILIES(F)                                                                          \
  F (ELEMENTWISE, "elementwise", "Arithmetic, comparison and logic, element by element")           \
  F (ACTIVATION, "activation", "Activation functions")                                             \
  F (REDUCE, "reduction", "Reductions along axes")                                                 \
  F (LINEAR, "linear", "Matrix products and convolutions")                                         \
  F (POOL, "pooling", "Pooling")                                                                   \
  F (NORM, "normalization", "Normalization")                                                       \
  F (SHAPE, "shape", "Shape and layout changes without arithmetic")                                \
  F (INDEX, "indexing", "Gather, slice, select")                                                   \
  F (CONSTANT, "constant", "Constants and generators")                                             \
  F (CONTROL, "control", "Control flow")                                                           \
  F (FUSED, "fused", "Fused operators of the domain irscope")                                      \
  F (OTHER, "other", "Everything else")

typedef enum
{
#define F(ID, NAME, DOC) IR_FAMILY_##ID,
  IR_OP_FAMILIES (F)
#undef F
      IR_N_FAMILIES
} IrOpFamily;

typedef enum
{
  IR_OP_COMMUTES = 1 << 0,    /* inputs 0 and 1 may be swapped */
  IR_OP_ELEMENTWISE = 1 << 1, /* output element i depends on input elements i only (broadcast) */
  IR_OP_VIEW = 1 << 2,        /* output is input 0's bytes under another shape */
  IR_OP_INPLACE = 1 << 3,     /* kernel may write output 0 over input 0 */
  IR_OP_RANDOM = 1 << 4,      /* not deterministic: never folded, merged or cached */
  IR_OP_SUBGRAPHS = 1 << 5,   /* owns subgraphs */
  IR_OP_IDEMPOTENT = 1 << 6,  /* op (op (x)) = op (x), bit for bit */
  IR_OP_INVOLUTION = 1 << 7,  /* op (op (x)) = x, bit for bit */
  IR_OP_VARIADIC_OUT = 1 << 8,
  IR_OP_CONTAINERS = 1 << 9, /* takes or gives sequences, optionals, maps or closures */
  /* With inputs of known types that inference accepts it never fails, whatever they hold: it may
   * run where it would not have run before. */
  IR_OP_TOTAL = 1 << 10,
  IR_OP_TOTAL_FLOAT = 1 << 11, /* so on floating-point types; integers may divide by zero */
  /* Bounded by itself on magnitudes: |f (x + e) - f (x)| <= f (|x| + |e|) - f (|x|), as sums of
   * products are, also if Relu comes behind. */
  IR_OP_SUMS = 1 << 12,
  IR_OP_NOT_NEGATIVE = 1 << 13, /* no result is below 0, NaN aside; the -0 of some counts as 0 */
  /* Outputs hold elements of the data, which is input 0, or all where it is variadic. */
  IR_OP_MOVES = 1 << 14,
  IR_OP_RANGES = 1 << 15, /* inputs or outputs may be ranges of bytes of what they are parts of */
  IR_OP_NAMES_VALUES = 1 << 16, /* attributes name values of the graph, which no rule follows */
  IR_OP_NAMES_FUNCTION = 1 << 18, /* its attributes name a function of the model, which is a use of it */
  IR_OP_SAFE_WEIGHTS = 1 << 17  /* an attention whose weights that are no number are 0 */
} IrOpFlags;

/* What a row does with tokens, live or dead: the column TOKENS. Without one it is strict. */
typedef enum
{
  IR_TOKENS_STRICT, /* runs when all inputs and control dependencies are there; dead if one is dead */
  IR_TOKENS_SWITCH, /* input 0 goes to the output that input 1 names, the other one is dead */
  IR_TOKENS_MERGE,  /* the first live data input; dead if all are dead, or one from an ENTER is */
  IR_TOKENS_ENTER,  /* into the first iteration of a frame, or into all */
  IR_TOKENS_EXIT,   /* out of the frame */
  IR_TOKENS_NEXT_ITERATION, /* into the next iteration */
  IR_TOKENS_LOOP_COND,      /* strict; its input is the condition of the loop */
  IR_TOKENS_CONTROL_TRIGGER /* waits as strict rows do; always live */
} IrTokens;

/* What a fused operator does to each element at the end. */
typedef enum
{
  IR_ACTIVATION_NONE,
#define IR_ACTIVATION(ID, ...) IR_ACTIVATION_##ID,
#include "core/op/activations.def"
} IrActivation;

/* How exactly back ends must agree with the reference kernel: |a - b| <= atol + rtol * |b|. */
typedef struct
{
  double rtol, atol; /* for float32; float16 and bfloat16 scale by their own epsilon */
} IrTolerance;

#define IR_RTOL_SUMS 1e-5
/* clang-format off */
#define IR_TOL_EXACT          { 0, 0 }
#define IR_TOL_ROUNDING       { IR_RTOL_SUMS, 1e-6 } /* sums of products: order of summation differs */
#define IR_TOL_TRANSCENDENTAL { 2e-6, 1e-7 } /* exp, log, tanh … within a few ULP */
/* clang-format on */

typedef struct
{
  const char *name;
  IrAttrKind kind;
  const char *fallback; /* (nullable) default as text; NULL: none, the attribute is required or
                           optional without value */
  gboolean required;
  const char *doc;
} IrAttrSpec;

typedef gboolean (*IrInferFunc) (IrCall *call, GError **error);
typedef gboolean (*IrKernelFunc) (IrCall *call, GError **error);
typedef void (*IrAdaptFunc) (IrCall *call);
/* FLOPs of one execution; 0 where there is no arithmetic. Bytes are derived from the types. */
typedef guint64 (*IrCostFunc) (const IrCall *call);
typedef struct _IrCompose IrCompose; /* core/op/compose.h */
typedef struct _IrPart IrPart;
typedef void (*IrComposeFunc) (IrCompose *c);

/* Applies when the node's opset version is below @below. Entries ascend by it; all that apply are
 * run in order. */
typedef struct
{
  gint64 below;
  IrAdaptFunc adapt;
} IrAdapt;
#define IR_MAX_ADAPTS 3

typedef struct
{
  gint8 min, max; /* max -1 = any number */
} IrArity;

struct _IrOp
{
  IrOpId id;
  const char *brief;         /* (nullable) what a small box says: "BN" */
  const char *name, *domain; /* domain NULL in rows = "" = ai.onnx */
  gint64 since, until;       /* opset versions: first, and (0 = none) the one that removed it */
  IrOpFamily family;
  IrArity in, out;
  const char *in_names, *out_names; /* "X W B?" space separated; '?' optional, '*' variadic */
  const IrAttrSpec *attrs;          /* ends with a NULL name */
  IrOpFlags flags;
  IrTolerance tol;
  /* Fused operators: what follows the base operator, whose own inputs come first. */
  IrActivation activation; /* of IR_ACTIVATION_CLIP the last two inputs are the limits */
  guint8 addend;           /* the input that is added before it; 0: none */
  IrInferFunc infer;
  IrCostFunc cost;
  IrCostFunc bytes; /* (nullable) bytes moved; default: those of all inputs and outputs */
  /* (nullable) type of an input of a subgraph that the node owns, as far as it is known */
  const IrType *(*subgraph_input) (const IrCall *call, const IrGraph *graph, guint input);
  /* (nullable) type that an input of the body has in the first turn, (nullable) not known, and the
   * output of the body that it is in the next one, %G_MAXUINT: none */
  const IrType *(*carried) (const IrCall *call, guint input, guint *output);
  IrComposeFunc compose; /* (nullable) the row is made of other operators */
  IrTokens tokens;
  IrAdapt adapt[IR_MAX_ADAPTS + 1]; /* ends with below 0 */
  const char *body; /* (nullable) ONNX function body as text: domain irscope and function ops */
  /* (nullable) of those that own subgraphs: a graph in ONNX text with one such node, as it is added by
   * hand; what its branches capture are further inputs of the graph */
  const char *start;
  const char *doc; /* sentence case, ends with a period; user-visible */
};

const IrOp *ir_op_find (const char *domain, const char *name); /* (nullable) */
const IrOp *ir_op_by_id (IrOpId id);
guint ir_op_n (void); /* rows are 1 .. n - 1 for ir_op_by_id() */
const char *ir_op_family_name (IrOpFamily family);
const char *ir_op_family_doc (IrOpFamily family);
const IrAttrSpec *ir_op_attr (const IrOp *op, const char *name);
char *ir_op_input_name (const IrOp *op, guint slot);           /* (transfer full) "X", "input 3" */
gboolean ir_op_input_is_optional (const IrOp *op, guint slot); /* "B?" */
guint ir_op_least_inputs (const IrOp *op); /* without optional ones at the end */
char *ir_op_output_name (const IrOp *op, guint slot);
gboolean ir_op_is (const IrNode *node, IrOpId id); /* the node's row is @id */

static inline IrTokens
ir_node_tokens (const IrNode *node)
{
  return node->op != NULL ? node->op->tokens : IR_TOKENS_STRICT;
}

/* Whether what @to reads of @from is of the iteration before: the one edge that may close a cycle.
 * @to: (nullable) */
static inline gboolean
ir_edge_is_back (const IrNode *from, const IrNode *to)
{
  return to != NULL && ir_node_tokens (to) == IR_TOKENS_MERGE && from->graph == to->graph &&
         ir_node_tokens (from) == IR_TOKENS_NEXT_ITERATION;
}

char *ir_ops_markdown (void); /* (transfer full) docs/OPS.md */
