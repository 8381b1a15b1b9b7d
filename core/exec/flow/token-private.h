/* Graphs that tokens move through: what is known of one before it runs (token-program.c), and its
 * executor (token-graph.c). */
#pragma once

#include "core/exec/flow/subgraph-private.h"
#include "core/ir/frames.h"
#include "core/op/op.h"

#define IR_TOKEN_CONTROL G_MAXUINT32 /* in place of a slot: a control dependency */
#define IR_TOKEN_OUTPUT                                                                            \
  (G_MAXUINT32 - 1) /* in place of a node: the graph, whose output the slot is */

typedef struct
{
  guint32 from_slot; /* output of the node that it leads from, or %IR_TOKEN_CONTROL */
  guint32 to;        /* index of a node */
  guint32 to_slot;   /* which of its tokens, or %IR_TOKEN_CONTROL */
} IrTokenEdge;

typedef struct
{
  const IrNode *node;
  IrTokens rule;
  guint32 frame;        /* in whose iterations it runs */
  guint32 child;        /* of an Enter: the frame that it leads into */
  gboolean is_constant; /* of an Enter: into all iterations */
  guint32 place;        /* among the nodes of its frame */
  guint32 n_data, n_control;
  guint32 first_data; /* among the data tokens of its frame */
  const IrValue *
      *data; /* n_data: what they are contents of, captured values last; of a Merge its inputs */
  gboolean has_fixed; /* a Merge that reads what is no token: constants, values of graphs around */
  guint32 n_edges;
  IrTokenEdge *edges;
} IrTokenNode;

typedef struct
{
  guint32 n_nodes, n_data, n_enters, parallel;
  GArray *nodes; /* of guint32: those that run in it */
  GArray *fixed; /* of guint32: those of them that have_fixed */
} IrTokenFrame;

typedef struct
{
  const IrGraph *graph;
  IrFrames *frames; /* for what is said of places and conditions */
  guint n_nodes;
  IrTokenNode *nodes;
  guint n_frames;
  IrTokenFrame *by_frame;
  GArray *sources;   /* of guint32: what waits for nothing; of the root frame */
  GHashTable *index; /* node -> index + 1 */
} IrTokenProgram;

gboolean ir_token_is (const IrGraph *graph, const IrValue *value);
IrTokenProgram *ir_token_program_new (const IrGraph *graph);
void ir_token_program_free (IrTokenProgram *program);
