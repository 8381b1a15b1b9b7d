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
  gboolean is_last;  /* of those of the output: the token itself goes there */
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
  gatomicrefcount ref_count;
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
IrTokenProgram *ir_token_program_ref (IrTokenProgram *program);
void ir_token_program_unref (IrTokenProgram *program);

/* -- while it runs -- */

typedef struct _IrTokenInstance IrTokenInstance;

/* What a node has of an iteration. */
typedef struct
{
  guint32 pending; /* tokens to come; of a Merge 1 for a live one and 2 for each control */
  guint32 dead;    /* of those that came: data and controls, of a Merge data alone */
  guint32 live;    /* of a Merge: 1 + which data token was live; 0: none was */
  gboolean is_ready;
} IrTokenWaiting;
G_STATIC_ASSERT (sizeof (IrTokenWaiting) % sizeof (gpointer) == 0);

typedef struct
{
  IrTokenInstance *instance;
  gint64 number;
  guint n_ready;          /* nodes that are ready and have not ended */
  guint n_children;       /* instances of frames that were entered from here */
  GHashTable *children;   /* (nullable) index of frame + 1 -> IrTokenInstance */
  IrTensor **data;        /* by the tokens of the frame: what has come and was live */
  guint8 *came;           /* likewise: whether it has come */
  IrTokenWaiting nodes[]; /* by the nodes of the frame */
} IrTokenIteration;

/* What is handed over later. */
typedef struct
{
  guint32 node;
  IrTensor *tensor; /* (nullable) dead */
} IrToken;

struct _IrTokenInstance
{
  guint32 frame;
  IrTokenIteration *parent; /* (nullable) of the root */
  GPtrArray *iterations;    /* of IrTokenIteration: those alive, in order */
  gint64 oldest, newest;    /* their numbers; oldest > newest: none */
  guint pending_enters;
  GArray *dead_exits; /* of guint32: of the newest iteration */
  GArray *invariants; /* of IrToken: there in every iteration */
  GArray *deferred;   /* of IrToken: NextIterations that wait until an iteration has ended */
  char *path;         /* (nullable) nobody looks on */
};

typedef struct
{
  IrTokenIteration *iteration;
  guint32 node;
} IrTokenReady;

typedef struct
{
  IrRunState *state; /* (nullable) of a checkpoint, which has none */
  IrTokenProgram *program;
  const IrNode *owner;
  IrTokenInstance *root;
  GArray *ready;      /* of IrTokenReady */
  guint first;        /* of those that have not begun */
  IrTensor **results; /* by output of the graph */
  guint8 *has_result;
  guint n_results;
  GHashTable *instances; /* set of all of them */
  char *
      stalled; /* (nullable) the first node of a frame that ended that had some of its tokens only */
  guint64 n_begun,
      n_seen; /* iterations, but first ones of frames; the second: of which checkpoints know */
  gboolean is_outermost; /* in no loop */
  gboolean has_stood;    /* a run again: who looks on was told what lies there */
  GHashTable *lasting;   /* (nullable) tensor -> the same outside of the arena: for checkpoints */
} IrTokenExecutor;

const char *ir_token_frame_name (const IrTokenExecutor *x, guint32 frame);
char *ir_token_label (const IrTokenExecutor *x,
                      const IrTokenIteration *iteration,
                      const IrNode *node);
gboolean ir_token_fail (const IrTokenExecutor *x,
                        const IrTokenIteration *iteration,
                        const IrNode *node,
                        GError **error,
                        const char *format,
                        ...) G_GNUC_PRINTF (5, 6);
gboolean ir_token_say_where (const IrTokenExecutor *x,
                             const IrTokenIteration *iteration,
                             GError **error);
/* The frame is over, with all that was in it. */
void ir_token_tell_end (const IrTokenExecutor *x, const IrTokenInstance *instance);
void ir_token_tell (const IrTokenExecutor *x,
                    const IrTokenIteration *iteration,
                    const IrNode *node,
                    IrFlowKind kind,
                    gint slot);
char *ir_token_path_below (const IrTokenExecutor *x, const IrTokenIteration *parent, guint32 frame);
IrTensor *ir_token_hold (IrTokenExecutor *x, IrTensor *tensor);
void ir_token_let_go (IrTokenExecutor *x, IrTensor **tensor);
IrTokenIteration *ir_token_iteration_new (IrTokenExecutor *x,
                                          IrTokenInstance *instance,
                                          gint64 number);
gsize ir_token_iteration_bytes (const IrTokenProgram *program, guint32 frame);
void ir_token_iteration_free (IrTokenExecutor *x, IrTokenIteration *iteration);
IrTokenIteration *ir_token_iteration_at (const IrTokenInstance *instance, gint64 number);
IrTokenInstance *ir_token_instance_new (IrTokenExecutor *x,
                                        guint32 frame,
                                        IrTokenIteration *parent);
void ir_token_instance_free (IrTokenExecutor *x, IrTokenInstance *instance);
void ir_token_note_stalled (IrTokenExecutor *x, const IrTokenIteration *iteration);
void ir_token_executor_init (IrTokenExecutor *x, IrTokenProgram *program, const IrNode *owner);
void ir_token_executor_clear (IrTokenExecutor *x);

/* -- token-checkpoint.c -- */
gboolean ir_token_resume (IrTokenExecutor *x);
gboolean ir_token_save (IrTokenExecutor *x, GError **error);

/* -- token-again.c -- */
gboolean ir_token_again (IrTokenExecutor *x, GError **error);
