/* The loops of a model: how deep they lie, how often they run, and what one iteration costs. */
#pragma once

#include "core/ir/model.h"

/* Cleared by the array that has it. */
typedef struct
{
  IrNodeId node; /* that owns the body, or the LoopCond of a frame of tokens; 0: it has none */
  char *path;    /* "outer/inner", as names of iterations have them */
  guint depth;   /* 1: in no other loop */
  gint64 trips;  /* iterations each time it is entered, where that is proved; -1: unknown */
  GPtrArray *invariants; /* of const char *: names of what all iterations read of around */
  guint64 flops, bytes;  /* of one iteration; loops inside count as often as is proved, else once */
  gboolean partial; /* some size, or how often a loop inside runs, is not known and counted as 1 */
} IrLoopFacts;

GArray *ir_loops (const IrModel *model); /* of IrLoopFacts, those around first */
