/* What the ways to tokens share: what is read from around a construct, and how its graphs come to where it is. */
#pragma once

#include "core/ir/frames.h"
#include "core/op/check.h"
#include "core/op/op.h"
#include "passes/rule/move.h"
#include "passes/rule/step.h"

#define IR_LOWER_DOMAIN "irscope.flow"

/* What a graph had before anything changed: orders are not found again at each step. */
typedef struct
{
  GPtrArray *nodes; /* of IrNode, in order */
  GPtrArray *free;  /* of IrValue: initializers */
  gboolean draws;   /* random numbers */
} IrLowerMembers;

typedef struct
{
  IrPassContext *context;
  IrEdit *edit;
  IrPassNames *names;
  GHashTable *members;     /* IrGraph -> IrLowerMembers */
  GHashTable *conditional; /* set of IrValue: dead where their branch or body is not run */
  GHashTable *waited_for;  /* set of IrNode: others were made to wait for them here */
  GQueue waiting;          /* of IrNode: constructs to come */
} IrLowering;

/* One construct under way. */
typedef struct
{
  IrLowering *l;
  IrNode *node;
  IrGraph *graph;      /* of @node */
  IrNode *gate;        /* (nullable) what is dead with @node, where it has no controls of its own */
  GHashTable *inside;  /* set of IrValue: dead where the branch or body is not run */
  GHashTable *brought; /* IrValue of @graph -> the Switch that brings it in */
  GPtrArray *switches; /* of IrNode: these */
} IrLowerConstruct;

/* -- what is read from around -- */
void ir_lower_find_captures (const IrLowering *l,
                             const IrGraph *inner,
                             const IrGraph *graph,
                             GPtrArray *values,
                             GHashTable *seen);
/* What is inside of @inner reads @with in place of @value. */
void ir_lower_read_instead (IrLowering *l, const IrGraph *inner, IrValue *value, IrValue *with);
/* (nullable) Why a branch or a body stays where it is */
const char *ir_lower_why_not_moved (const IrLowering *l, const IrGraph *graph);

/* -- new nodes -- */
/* @domain: (nullable) of the standard; @type: (nullable) of all outputs */
IrNode *ir_lower_add_node (IrLowerConstruct *c,
                           const char *op,
                           const char *domain,
                           guint n_inputs,
                           IrValue *const *inputs,
                           guint n_outputs,
                           const IrType *type);
/* What reads nothing that is dead with the construct waits for what is. */
void ir_lower_guard (IrLowerConstruct *c, IrNode *node);
/* One that was made in case that somebody needs it. (nullable) @node */
void ir_lower_drop_unread (IrLowerConstruct *c, IrNode *node);

/* -- what moves -- */
/* @value is dead where the branch or body is not run. */
void ir_lower_mark (IrLowerConstruct *c, IrValue *value);
/* A branch or a body comes to where its node is. @pivot: what is live when it runs */
void ir_lower_move_in (IrLowerConstruct *c, const IrGraph *from, IrNode *pivot);
/* A result that is there whether or not the branch or body runs is held back until it does. */
IrValue *ir_lower_hold_back (IrLowerConstruct *c, IrValue *value, IrNode *pivot);
GPtrArray *ir_lower_take_outputs (IrLowering *l, IrGraph *graph);
void ir_lower_swap_result (GPtrArray *results, IrValue *value, IrValue *with);

/* -- a construct -- */
gboolean ir_lower_begin (IrLowerConstruct *c, IrLowering *l, const char *rule, IrNode *node);
/* @results, by output, stand for the node, and it goes. FALSE: nothing may stay. */
gboolean ir_lower_hand_over (IrLowerConstruct *c, IrValue *const *results);
void ir_lower_end (IrLowerConstruct *c, const char *rule, gboolean done);

/* A Loop, a Scan or a SequenceMap */
void ir_lower_loop (IrLowering *l, IrNode *node, const char *rule);
