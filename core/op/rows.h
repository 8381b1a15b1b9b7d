/* What the rows of ops.def name: the macros for their tables and the declarations of inference,
 * adapter, cost and reference functions. Only op.c, and the files that define these functions,
 * include it. */
#pragma once

#include "core/op/op.h"

/* Attribute and adapter tables inside a row; static storage, ended for the reader. */
#define IR_ATTRS(...)                                                                              \
  (const IrAttrSpec[])                                                                             \
  {                                                                                                \
    __VA_ARGS__, { NULL }                                                                          \
  }
#define IR_ADAPTS(...)                                                                             \
  (const IrAdapt[])                                                                                \
  {                                                                                                \
    __VA_ARGS__, { 0 }                                                                             \
  }

/* The ONNX function body of an operator of the standard, written from its definition: what runs
 * where there is no kernel, and what tests hold the kernel against. A constant of a body has the
 * element type of one of its values. */
#define IR_FUNCTION(SIGNATURE, CODE)                                                               \
  .body = "<opset_import: [\"\" : 18]>\n" SIGNATURE "\n{\n" CODE "}\n"
#define IR_CONSTANT(NAME, VALUE, LIKE)                                                             \
  "  " NAME "Value = Constant <value_float: float = " VALUE "> ()\n  " NAME " = CastLike (" NAME   \
  "Value, " LIKE ")\n"

#define IR_DECLARE_INFER(name) gboolean ir_infer_##name (IrCall *call, GError **error);
#define IR_DECLARE_REF(name)   gboolean ir_ref_##name (IrCall *call, GError **error);
#define IR_DECLARE_ADAPT(name) void ir_adapt_##name (IrCall *call);
#define IR_DECLARE_COST(name)  guint64 ir_cost_##name (const IrCall *call);

#include "core/op/rows-basic.h" /* elementwise, activation, reduce, shape, index, constant, control */
#if __has_include("core/op/rows-nn.h")
#include "core/op/rows-nn.h" /* linear, pool, norm, fused */
#endif
#include "core/op/rows-attention.h"
#include "core/op/rows-signal.h" /* recurrent, transforms, images */
#include "core/op/rows-ml.h"     /* ml */
#include "core/op/rows-more.h"   /* loss and what follows it in ops.def */
