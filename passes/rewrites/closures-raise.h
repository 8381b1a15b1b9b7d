/* What the ways back from closures share. */
#pragma once

#include "passes/rewrites/closure-loop.h"
#include "passes/rewrites/closures-private.h"

/* (nullable) (transfer full): why the loop that @call begins stays; else it is a Loop, a Scan or a SequenceMap */
char *ir_closure_raise_loop (IrLowering *l,
                             IrNode *call,
                             const IrClosureLoop *loop,
                             const char *rule);

/* -- functions: from-closures.c -- */
/* Whether somebody else names the functions of @partials, or calls these closures: they cannot go where they are
 * called, only copies of them. */
gboolean ir_closure_are_shared (IrNode *const *partials, guint n);
/* (nullable) A function that does the same; %NULL: it cannot be copied */
IrGraph *ir_closure_copy (IrLowering *l, const IrGraph *function);
/* Inputs of the function of @partial are what it holds, and then what @call gives: input @i */
IrValue *ir_closure_given (const IrNode *partial, const IrNode *call, guint i);
/* Removes closures that nobody reads any more. */
void ir_closure_drop (IrLowering *l, IrNode *node);
/* @functions: that are gone; @graph: where what called them was */
void ir_closure_drop_imports (IrLowering *l, IrGraph *const *functions, guint n, IrGraph *graph);
/* New nodes go where the construct was: (transfer full) of IrNode, those that were moved there */
void ir_closure_take_place (IrLowerConstruct *c, IrNode *node);
/* (nullable) (transfer full) What @node, or a node inside of it, does not fit, now that types are known that a function
 * did not know */
char *ir_closure_why_ill_typed (IrLowering *l, IrNode *node);
