/* What the ways to closures share: functions that are made of branches and bodies. */
#pragma once

#include "passes/rewrites/lower-private.h"

#define IR_CLOSURE_DOMAIN "irscope.closure"

/* A function that is being made. */
typedef struct
{
  IrGraph *graph;
  GPtrArray *inputs; /* of IrValue */
} IrClosureFunction;

/* @what: "then"; it is named by it, and by what the construct gives */
void ir_closure_function_init (IrClosureFunction *f, IrLowerConstruct *c, const char *what);
void ir_closure_function_clear (IrClosureFunction *f);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrClosureFunction, ir_closure_function_clear)
/* (nullable) @type: what it declares */
IrValue *ir_closure_add_input (IrClosureFunction *f,
                               IrLowerConstruct *c,
                               const char *name,
                               const IrType *type);
/* Each of @captures, of around, is an input, and @body reads that. */
void ir_closure_add_captures (IrClosureFunction *f,
                              IrLowerConstruct *c,
                              const GPtrArray *captures,
                              const IrGraph *body,
                              GPtrArray *results);
/* There are no more of them: nodes that read them may come. */
void ir_closure_set_inputs (IrClosureFunction *f, IrLowerConstruct *c);
/* @types: (nullable) of IrType, nullable, by output: what it declares */
void ir_closure_set_outputs (IrClosureFunction *f,
                             IrLowerConstruct *c,
                             IrValue *const *outputs,
                             guint n,
                             const GPtrArray *types);

/* -- new nodes, where new nodes go -- */
/* Of a @function that has no outputs yet the type of the closure is not known. */
IrValue *ir_closure_add_partial (IrLowerConstruct *c, const IrGraph *function, GPtrArray *captured);
IrValue *ir_closure_add_switch (IrLowerConstruct *c,
                                IrValue *condition,
                                IrValue *if_true,
                                IrValue *if_false);
/* (nullable) @arguments; @types: (nullable) as above */
IrNode *ir_closure_add_call (IrLowerConstruct *c,
                             IrValue *closure,
                             const GPtrArray *arguments,
                             guint n_outputs,
                             const GPtrArray *types);
/* The one whose results stand for those of the construct: it takes name and dependencies. */
void ir_closure_be_construct (IrLowerConstruct *c, IrNode *call);

/* A Loop, a Scan or a SequenceMap */
void ir_closure_loop (IrLowering *l, IrNode *node, const char *rule);
