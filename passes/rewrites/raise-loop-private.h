/* A frame on its way to a Loop, a Scan or a SequenceMap. */
#pragma once

#include "passes/rewrites/raise-private.h"

/* What goes round. */
typedef struct
{
  IrNode *merge, *enter, *next;
  IrNode *exit_switch;  /* (nullable): its Switch */
  IrValue *inside;      /* (nullable): what the body calls it */
  gboolean is_left_out; /* the iteration's number and the condition are there anyway */
  IrNode *insert;       /* (nullable): it is a sequence that this appends to, in each iteration */
  IrNode *stack;        /* (nullable): the one that reads that sequence behind the loop */
} IrRaiseVariable;

/* What an iteration reads of a value by its number: Gather or SequenceAt. */
typedef struct
{
  IrNode *node;
  IrValue *whole; /* as it is called outside */
  gint64 axis;
  gboolean is_backward;
} IrRaisePart;

typedef enum
{
  IR_RAISE_TO_LOOP,
  IR_RAISE_TO_SCAN,
  IR_RAISE_TO_MAP
} IrRaiseForm;

typedef struct
{
  IrRaise *raise;
  const IrFrame *frame;
  IrNode *cond;          /* LoopCond */
  GArray *variables;     /* of IrRaiseVariable */
  IrRaiseReach members;  /* all nodes of the frame but its primitives */
  GPtrArray *primitives; /* of IrNode */
  GPtrArray *exits;      /* of IrNode */
  GHashTable *condition; /* set of IrNode: what only says whether it goes on */
  GPtrArray *steps;      /* of IrNode: the same, in order, and what is of no use any more */
  IrRaiseVariable *counter,
      *loop_condition; /* (nullable): where the condition has the form that lowering makes */
  IrValue *limit;      /* (nullable) */
  IrRaiseForm form;
  GArray *parts; /* of IrRaisePart: what a Scan or a SequenceMap gets */
  IrNode *node;
  IrGraph *body;
} IrRaiseLoop;

IrRaiseVariable *ir_raise_variable_at (const IrRaiseLoop *l, guint i);
gboolean ir_raise_is_primitive (const IrRaiseLoop *l, IrNode *node);
/* (nullable) The variable whose Merge, or with @inside whose Switch, gives @value */
IrRaiseVariable *ir_raise_variable_of (const IrRaiseLoop *l, const IrValue *value, gboolean inside);
gboolean ir_raise_is_number (const IrValue *value, IrDtype dtype, double number);
/* (nullable) What does not change in the loop, as it is called outside */
IrValue *ir_raise_outside (const IrRaiseLoop *l, IrValue *value);

/* Finds sequences that are appended to in each iteration, and whether it is a Scan or a SequenceMap. */
void ir_raise_find_collected (IrRaiseLoop *l);
void ir_raise_find_loop_form (IrRaiseLoop *l);

/* Makes the node, within a step. FALSE: less would be known of the type of an output */
gboolean ir_raise_build_loop (IrRaiseLoop *l);
