/* Frames: which nodes of a graph run together, once per iteration, under which condition. They follow
 * from the operators that handle tokens (the column TOKENS) and are stored nowhere. */
#pragma once

#include "core/ir/model.h"
#include "core/ir/problem.h"

/* A predicate with its outcome. */
typedef struct
{
  IrValueId predicate; /* where it comes from: behind Identity, LoopCond, Enter and Switch */
  gboolean outcome;
} IrOutcome;

/* All of these hold, or nothing is asked for. Interned: equal ones are one pointer. */
typedef struct
{
  guint n;
  IrOutcome outcomes[]; /* by predicate */
} IrCondition;

/* A value that a loop carries from one iteration to the next. Entries are 0 where they are missing. */
typedef struct
{
  IrNodeId merge, enter, next, exit;
} IrLoopVariable;

typedef struct
{
  const char *name;   /* interned; "" of the root frame */
  guint parent;       /* index of the frame around; of the root itself */
  guint depth;        /* 0: root */
  IrNodeId loop_cond; /* 0: none; the first of several */
  guint n_conds, n_enters;
  guint parallel_iterations;    /* the least that an Enter asks for */
  GArray *variables;            /* of IrLoopVariable, by the order of their Merges */
  GArray *invariants;           /* of IrNodeId: Enters of values that all iterations see */
  const IrCondition *condition; /* under which its Enters are live, in the frame around */
  gint64 trips;                 /* how often its body runs, where that is proved; -1: not known */
} IrFrame;

/* Of one graph; valid until its model changes. */
typedef struct
{
  const IrGraph *graph;
  GArray *frames;          /* of IrFrame; [0] is the root, those around come first */
  guint n_nodes, n_values; /* largest id + 1 */
  guint32 *frame_of;       /* by node id: in which frame it runs; an Enter in the one around */
  const IrCondition *
      *conditions;   /* by node id: under which it runs in an iteration; NULL elsewhere */
  guint32 *child_of; /* by node id of an Enter: the frame that it leads into */
  const IrCondition **enter_conditions; /* by node id of an Enter: of what it brings, in there */
  IrValueId *roots;                     /* by value id: what it is a copy of; 0: itself */
  GHashTable *interned;
} IrFrames;

IrFrames *ir_frames_new (const IrGraph *graph);
void ir_frames_free (IrFrames *frames);
gboolean ir_frames_add (IrFrames *frames, const IrNode *node);
IrValueId ir_frames_predicate (const IrFrames *frames, const IrValue *value, gboolean *outcome);
void ir_frames_replace (IrFrames *frames, const IrValue *old, const IrValue *with);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrFrames, ir_frames_free)
const IrFrame *ir_frames_of (const IrFrames *frames, const IrNode *node);
/* Under which a value is live, in an iteration of the frame whose nodes read it. */
const IrCondition *ir_frames_value_condition (const IrFrames *frames, const IrValue *value);
gboolean ir_value_is_token (const IrValue *value, const IrGraph *graph);
gboolean ir_node_is_free_constant (const IrNode *node);
guint ir_frames_value_frame (const IrFrames *frames, const IrValue *value);
gboolean ir_value_known_integer (const IrValue *value, gint64 *number); /* a constant, or a size */
gboolean ir_conditions_exclude (const IrCondition *a, const IrCondition *b);
gboolean ir_condition_is_never (const IrCondition *condition);
char *ir_condition_text (const IrModel *model, const IrCondition *condition);
char *ir_frame_path (const IrFrames *frames, guint frame);
/* (transfer container) of IrValue: what subgraphs of @node read of the graph that it is in, each once */
GPtrArray *ir_node_captures (const IrNode *node);
void ir_graph_report_frames (const IrGraph *graph, GPtrArray *problems);
