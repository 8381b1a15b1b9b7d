/* What the ways back from tokens share: what lies between, and how it moves into a graph of its own. */
#pragma once

#include "core/ir/frames.h"
#include "core/op/op.h"
#include "passes/pass.h"

/* A node that stays, and why. */
typedef struct
{
  IrNodeId node;
  char *why; /* (nullable) (owned) */
} IrRaiseLeft;

/* One graph that tokens move through. */
typedef struct
{
  IrPassContext *context;
  IrEdit *edit;
  IrGraph *graph;
  IrFrames *frames;    /* as they were before anything was raised: nodes stay what they are */
  GHashTable *waiting; /* IrNode -> GPtrArray of IrNode that wait for it, or did */
  guint *n_left;       /* primitives in the whole model */
  IrRaiseLeft *left;   /* (nullable) the first that stays, once one does */
  gboolean in_step;    /* of somebody else, who begins and ends it */
} IrRaise;

/* The Switches of one predicate, in one frame. */
typedef struct
{
  guint frame;
  const IrCondition *condition; /* (nullable) of the first; @is_mixed: not of all */
  gboolean is_mixed;
  GPtrArray *switches; /* of IrNode */
} IrRaiseChoice;

/* What is reached from values, by data, by control edges and out of subgraphs. */
typedef struct _IrRaiseReach IrRaiseReach;
struct _IrRaiseReach
{
  IrRaise *raise;
  GHashTable *set;  /* of IrNode */
  GPtrArray *nodes; /* of IrNode: the same, as they were found */
  /* Whether @node belongs to it; where nothing can be raised it says why. */
  gboolean (*takes) (IrRaiseReach *reach, IrNode *node, const IrValue *value);
  gpointer data;
  const GPtrArray *primitives; /* (nullable) of IrNode: a constant that they wait for is not of it */
  gboolean outputs_too; /* an output of the graph is no reason */
  char *why;            /* (nullable) (owned) */
};

void ir_raise_reach_init (IrRaiseReach *reach, IrRaise *raise);
void ir_raise_reach_clear (IrRaiseReach *reach);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrRaiseReach, ir_raise_reach_clear)
void ir_raise_reach_from (IrRaiseReach *reach, IrValue *value);
void ir_raise_reach_all (IrRaiseReach *reach);
void ir_raise_reach_fail (IrRaiseReach *reach, const char *format, ...) G_GNUC_PRINTF (2, 3);

IrNode *ir_raise_add (IrRaise *raise,
                      IrGraph *graph,
                      const IrNode *place,
                      const char *op,
                      guint n_inputs,
                      IrValue *const *inputs,
                      guint n_outputs);
IrValue *ir_raise_identity (IrRaise *raise, IrGraph *graph, const IrNode *place, IrValue *value);
void ir_raise_move_in (IrRaise *raise, const IrRaiseReach *reach, IrGraph *to);
void ir_raise_take_controls (IrRaise *raise, IrNode *from, IrNode *to);
void ir_raise_remove_unread (IrRaise *raise, GPtrArray *nodes);
void ir_raise_end (IrRaise *raise, guint n_primitives);
gboolean ir_raise_is_waited_for (const IrRaise *raise, const IrNode *node);
char *ir_raise_find_waited_for (const IrRaise *raise, const GPtrArray *nodes); /* (nullable) */
void ir_raise_note_waiting (IrRaise *raise, IrNode *node, IrNode *before);
/* (nullable) (transfer full) What is wrong with frames of @graph; @node: (out): where */
char *ir_raise_why_unsound (const IrGraph *graph, IrNodeId *node);
guint ir_raise_count_primitives (const IrModel *model);
void ir_raise_let_wait (IrRaise *raise, IrNode *node, IrNode *before);

/* (transfer full) (nullable) Why it stays as it is; %NULL: it was raised, or somebody skipped it */
char *ir_raise_choice (IrRaise *raise, const IrRaiseChoice *choice);
char *ir_raise_loop (IrRaise *raise, guint frame);

#define IR_RAISE_IF   "raise-if"
#define IR_RAISE_LOOP "raise-loop"
#define IR_RAISE_SCAN "raise-scan"
#define IR_RAISE_MAP  "raise-sequence-map"
