/* Loops of functions that are values, as they are found in a graph. */
#pragma once

#include "core/ir/model.h"

/* A loop of functions: the header calls body or after last, and the body the header. */
typedef struct
{
  IrGraph *header, *body, *after;
  IrNode *tail, *choose;    /* Call and Switch of the header */
  IrNode *again, *done;     /* Partials there, of body and after */
  IrNode *back_call, *back; /* Call and Partial of the body */
  gboolean is_until;        /* the body is what is called where the condition is false */
} IrClosureLoop;

gboolean ir_closure_find_loop (const IrGraph *header, IrClosureLoop *loop);
IrNode *ir_closure_partial_of (const IrValue *value);
