/* What the rows of ops.def name: the macros for their tables and the declarations of inference,
 * adapter and cost functions. Only op.c, and the files that define these functions, include it. */
#pragma once

#include "core/op/op.h"

/* The attributes of a row; static storage, ended for the reader. */
/* clang-format off */
#define IR_ATTRS(...)  (const IrAttrSpec[]) { __VA_ARGS__, { NULL } }
/* clang-format on */

/* The ONNX function body of an operator of the standard, written from its definition: what runs
 * where there is no kernel, and what tests hold the kernel against. A constant of a body has the
 * element type of one of its values. */
#define IR_FUNCTION(SIGNATURE, CODE)                                                               \
  .body = "<opset_import: [\"\" : 18]>\n" SIGNATURE "\n{\n" CODE "}\n"
#define IR_CONSTANT(NAME, VALUE, LIKE)                                                             \
  "  " NAME "Value = Constant <value_float: float = " VALUE "> ()\n  " NAME " = CastLike (" NAME   \
  "Value, " LIKE ")\n"

/* The columns that core/op itself expands declare what they name. Others: REF (core/exec/ref/ref.h),
 * CPU (core/exec/cpu/cpu.h), CONTROL (core/exec), TOKENS (op.h), GRAD (core/grad/vjp.h),
 * TAKES (core/act/fits.c), ROLES (core/exec/run/inputs.c), AXES (passes/rewrites/push-transposes.c), HEADS
 * (passes/rewrites/heads.c). */
#define INFER(function) gboolean function (IrCall *call, GError **error);
#define COST(function)  guint64 function (const IrCall *call);
#define BYTES(function) guint64 function (const IrCall *call);
#define SUBGRAPH_INPUT(function)                                                                   \
  const IrType *function (const IrCall *call, const IrGraph *graph, guint input);
#define CARRIED(function)                                                                          \
  const IrType *function (const IrCall *call, guint input, guint *output);
#define COMPOSE(function) void function (IrCompose *c);
#define ADAPT(below, function) void function (IrCall *call);
#define ADAPT_2(below1, function1, below2, function2)                                              \
  ADAPT (below1, function1) ADAPT (below2, function2)
#define ADAPT_3(below1, function1, below2, function2, below3, function3)                           \
  ADAPT_2 (below1, function1, below2, function2) ADAPT (below3, function3)
#include "core/op/ops.def"
