/* Compositions: operators that are made of others, in a way that depends on which inputs are given,
 * on attributes and on types, so that no function body can say it. A row's COMPOSE column is a
 * function that puts parts together; one and the same function is asked for types (inference), for
 * FLOPs (cost), for results (the reference kernel) and for nodes (what a back end runs in its
 * place), by whoever follows it.
 *
 *   IrPart *product = ir_compose (c, IR_OP_MATMUL, 2, ir_compose_input (c, 0), ir_compose_input (c, 1));
 *   ir_compose_result (c, 0, product);
 *
 * Inner calls are in the form of the newest opset. Once something has failed, or is not known yet,
 * every part is NULL and nothing is done any more: compositions need not look. */
#pragma once

#include "core/op/op.h"

/* A value of a composition. */
struct _IrPart
{
  const IrType *type;     /* (nullable) */
  const IrTensor *tensor; /* (nullable) contents: of constants, and in execution */
  IrTensor *own;          /* (nullable) @tensor, where it was made here */
  IrShapeData *data;      /* (nullable) inference */
  gpointer value;         /* (nullable) of who makes nodes */
};

struct _IrCompose
{
  IrCall *call; /* of the operator that is composed, after its adapters */
  /* What is done with an inner call, whose outputs become @outputs; FALSE: @error says why not. */
  gboolean (*apply) (
      IrCompose *c, IrCall *inner, IrPart *const *inputs, IrPart **outputs, GError **error);
  gpointer data;      /* of @apply */
  gboolean failed;    /* @error is set */
  gboolean unknown;   /* a type is not known that the composition depends on */
  gboolean not_nodes; /* it has what no node can have: it is not to be put in the graph's place */
  GError *error;
  GPtrArray *parts; /* of IrPart */
  GPtrArray *attrs; /* of the next inner call */
  IrPart **inputs;  /* (nullable entries) those of @call, as they are asked for */
  IrPart **results; /* (nullable entries) one per output of @call */
};

/* -- for compositions -- */
IrPart *ir_compose_input (IrCompose *c, guint slot); /* (nullable) absent */
/* (transfer full) @tensor */
IrPart *ir_compose_constant (IrCompose *c, IrTensor *tensor);
IrPart *ir_compose_ints (IrCompose *c, guint n, const gint64 *values); /* int64 [n] */
IrPart *ir_compose_number (IrCompose *c, IrDtype dtype, double value); /* a scalar */
/* Attributes of the next inner call. */
void ir_compose_set_int (IrCompose *c, const char *name, gint64 value);
void ir_compose_set_float (IrCompose *c, const char *name, double value);
void ir_compose_set_ints (IrCompose *c, const char *name, guint n, const gint64 *values);
void ir_compose_set_string (IrCompose *c, const char *name, const char *value);
void ir_compose_pass_attrs (IrCompose *c, IrOpId op); /* those of the call that @op has, too */
/* Output 0 of @op on parts, some of which may be NULL. */
IrPart *ir_compose (IrCompose *c, IrOpId op, guint n, ...);
void ir_compose_many (
    IrCompose *c, IrOpId op, guint n, IrPart *const *inputs, guint n_outputs, IrPart **outputs);
void ir_compose_result (IrCompose *c, guint slot, IrPart *part);
gboolean ir_compose_wants (const IrCompose *c, guint slot); /* an output */
void ir_compose_fail (IrCompose *c, IrOpErrorCode code, const char *format, ...)
    G_GNUC_PRINTF (3, 4);
/* The rank of a part, or 0, and then nothing more is done. */
guint ir_compose_rank (IrCompose *c, const IrPart *part);
/* The size of an axis, which may count from the end; or 0, and then nothing more is done. */
gint64 ir_compose_dim (IrCompose *c, const IrPart *part, int axis);
IrDtype ir_compose_dtype (const IrPart *part); /* UNDEFINED: not known */

/* -- for those who follow them -- */
void ir_compose_init (IrCompose *c, IrCall *call);
/* What @apply is given: types of outputs by the row's inference. */
gboolean ir_compose_infer (
    IrCompose *c, IrCall *inner, IrPart *const *inputs, IrPart **outputs, GError **error);
IrPart *ir_compose_part (IrCompose *c, const IrType *type);
/* Runs the composition; FALSE + @error, or FALSE alone where something is not known. */
gboolean ir_compose_follow (IrCompose *c, GError **error);
void ir_compose_clear (IrCompose *c);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrCompose, ir_compose_clear)
