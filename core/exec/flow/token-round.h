/* One iteration of each frame of tokens: which nodes run, in which order, and how much they hold. How many iterations are in
 * flight multiplies that. */
#pragma once

#include "core/ir/model.h"

typedef struct
{
  IrNodeId node;
  guint64 live_bytes; /* of the iteration, while it runs */
} IrTokenStep;

/* Cleared by the array that has it. */
typedef struct
{
  char *path;           /* "outer/inner"; "" outside of loops */
  gint64 trips;         /* iterations each time it is entered, where that is proved; -1: unknown */
  guint in_flight;      /* iterations at once, at most */
  guint64 shared_bytes; /* of what all iterations read of around */
  guint64 peak_bytes;   /* of one iteration */
  IrNodeId at_peak;     /* 0: it holds nothing */
  gboolean partial;     /* some size is not known and left out */
  GArray *steps;        /* of IrTokenStep, in the order in which they run */
} IrTokenRound;

GArray *ir_token_rounds (const IrModel *model); /* of IrTokenRound */
char *ir_token_rounds_text (const IrModel *model);
char *ir_token_round_text (const IrTokenRound *round, const IrModel *model);
