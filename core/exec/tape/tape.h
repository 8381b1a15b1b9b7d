/* A tape: a run, node by node as it comes, that records how to go back; and what happens when it is
 * played, forwards and backwards. */
#pragma once

#include "core/exec/run/run.h"

typedef enum
{
  IR_TAPE_PUSH,       /* a node has run; what its derivative reads is held */
  IR_TAPE_SEED,       /* the adjoint of what is derived */
  IR_TAPE_POP,        /* the derivatives by a node's outputs become those by its inputs */
  IR_TAPE_ACCUMULATE, /* what came to a value is added to what had come before */
} IrTapeEventKind;
const char *ir_tape_event_name (IrTapeEventKind kind); /* "push" */

typedef struct
{
  IrTapeEventKind kind;
  IrNodeId node;      /* 0: none */
  IrValueId value;    /* what a node gives, or what something came to */
  guint64 bytes_held; /* behind it, by the tape: without parameters and constants */
} IrTapeEvent;

/* How a node's result depends on one input, where both have one element */
typedef struct
{
  IrValueId input;
  double slope; /* NaN: there are more elements */
} IrTapePartial;

typedef struct
{
  IrValueId value;
  IrNodeId node;       /* that gives it; 0: an input or a parameter */
  IrTensor *contents;  /* (owned) */
  GPtrArray *tangents; /* of IrTensor (nullable): per direction; NULL: it does not move */
  GPtrArray *adjoints; /* of IrTensor: after each part that came */
  GArray *partials;    /* of IrTapePartial */
} IrTapeRow;

typedef struct
{
  IrModel *model;     /* (owned) what was run: calls are bodies */
  GArray *by;         /* of IrValueId */
  guint n_directions; /* one per value that it is derived by, where each is a number; else one */
  GArray *rows;       /* of IrTapeRow, in the order in which they came to be */
  GHashTable *places; /* value id -> row + 1 */
  GArray *events;     /* of IrTapeEvent */
  IrValueId of;
  guint n_pushed; /* events that are forwards */
} IrTape;

typedef struct
{
  IrRunLimits limits;
  guint64 seed;
  GCancellable *cancellable; /* (nullable) */
} IrTapeOptions;

IrTape *ir_tape_run (IrModel *model,
                     GHashTable *inputs,
                     const IrValue *of,
                     const GPtrArray *by,
                     const IrTapeOptions *options,
                     IrNodeId *stop,
                     GError **error);
void ir_tape_free (IrTape *tape);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrTape, ir_tape_free)
const IrTapeRow *ir_tape_row (const IrTape *tape, IrValueId value);
IrTensor *ir_tape_gradient (const IrTape *tape, IrValueId value);

/* -- paths of influence, where all values between are numbers (paths.c) -- */
typedef struct
{
  GArray *values;      /* of IrValueId: from what it is derived by to what is derived */
  double contribution; /* the product of the slopes along it */
} IrTapePath;
GArray *ir_tape_paths (const IrTape *tape, IrValueId by, guint max, gboolean *all);
