/* Loops whose iterations are written out: what is known of one, and copies of its body. */
#pragma once

#include "passes/rule/move.h"

/* Nodes that the copies of a body may have together, Constants not counted, where nobody asks for more. */
#define IR_UNROLL_NODES 256

typedef struct
{
  IrNode *node;
  IrGraph *body;
  guint n_carried;
  gint64 trips; /* -1: not known */
} IrKnownLoop;

/* FALSE: it is no Loop, or does not fit its body */
gboolean ir_unroll_find (IrNode *node, IrKnownLoop *loop);
/* Whether nothing but its limit ends it, once it runs */
gboolean ir_unroll_only_limit (const IrKnownLoop *loop);
/* How often the body runs, if the graph says so. */
gboolean ir_unroll_count_trips (IrKnownLoop *loop);
char *ir_unroll_why_unknown (const IrKnownLoop *loop); /* (transfer full) */
/* How many nodes @graph has, with those of the graphs inside it; G_MAXUINT if some is random. */
guint ir_unroll_size (const IrGraph *graph);
/* Whether what it collects for somebody is known to be tensors */
gboolean ir_unroll_stacks_tensors (const IrKnownLoop *loop);
IrValue *ir_unroll_scalar (
    IrPassContext *context, IrGraph *graph, const char *name, IrDtype dtype, gint64 number);

/* Initializers, which have no producer, come to where the copies are. */
void ir_unroll_move_free_values (IrPassContext *context,
                                 IrPassNames *names,
                                 const IrGraph *from,
                                 IrGraph *to);
/* @results stand for the outputs of @node, and it goes. FALSE: nothing may stay. */
gboolean ir_unroll_hand_over (IrPassContext *context, IrNode *node, const GPtrArray *results);

/* An iteration to be copied into @to. */
typedef struct
{
  IrGraph *to;
  IrValue *number; /* (nullable): which it is; made from @constant where it is read */
  gint64 constant;
  IrValue *condition;        /* (nullable): what the body is given; true */
  const char *suffix, *mark; /* (nullable): as of ir_inline_iteration() */
} IrUnrolledIteration;

/* @carried: of IrValue: what it begins with, then what it ends with. @scans: what it gives is added, by output. */
void ir_unroll_copy (IrPassContext *context,
                     const IrKnownLoop *loop,
                     const IrUnrolledIteration *iteration,
                     GPtrArray *carried,
                     GPtrArray **scans);
/* @parts behind each other along a new first axis. @axes: (inout) (nullable): the constant that says which */
IrValue *ir_unroll_stack (IrPassContext *context,
                          const IrKnownLoop *loop,
                          IrGraph *graph,
                          const GPtrArray *parts,
                          IrValue **axes);
