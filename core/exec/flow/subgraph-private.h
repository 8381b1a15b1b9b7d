/* What the operators that own subgraphs share: running a body once, and collecting what it gives
 * in each round. */
#pragma once

#include "core/exec/run/state.h"

gboolean ir_subgraph_fail (const IrNode *node,
                           GError **error,
                           IrExecErrorCode code,
                           const char *message);
/* The one bool that @tensor (nullable) has to be; @name: of the condition, @behind: the iteration that gave
 * it; -1: none */
gboolean ir_subgraph_bool (const IrNode *node,
                           const IrTensor *tensor,
                           const char *name,
                           gint64 behind,
                           gboolean *value,
                           GError **error);
gboolean ir_error_has_place (const GError *error);
void ir_subgraph_drop (IrRunState *state, const IrGraph *graph);
IrTensor *ir_subgraph_input (IrRunState *state, const IrNode *node, guint slot); /* (nullable) */

const IrGraph *ir_if_begin (IrRunState *state, const IrNode *node, gboolean *taken, GError **error);
gboolean ir_if_end (
    IrRunState *state, const IrNode *node, const IrGraph *branch, gboolean taken, GError **error);
void ir_if_say_where (const IrNode *node, gboolean taken, GError **error);

/* -- a graph that is run again and again -- */
typedef struct
{
  const IrNode *node;
  const IrGraph *graph;
  GPtrArray *results; /* of IrTensor: the outputs of the last round */
  gint64 n_rounds;
} IrBody;
/* FALSE with an error unless the graph is there, with @n_inputs and at least @n_outputs. */
gboolean ir_body_init (
    IrBody *body, const IrNode *node, guint n_inputs, guint n_outputs, GError **error);
gint64 ir_body_first (IrBody *body, IrRunState *state, GPtrArray *inputs);
gboolean ir_body_run (IrBody *body, IrRunState *state, IrTensor *const *inputs, GError **error);
gboolean ir_body_check_carried (const IrBody *body,
                                guint output,
                                const IrTensor *before,
                                const IrTensor *after,
                                GError **error);
void ir_body_clear (IrBody *body, IrRunState *state);

/* -- rounds.c: what all rounds give, one tensor per output and round -- */
typedef struct _IrRound IrRound;
typedef struct
{
  guint n;
  gboolean stacked; /* they become one tensor in the end */
  IrRound *of;      /* n of them */
  guint64 bytes;    /* of all: they count against the memory limit */
} IrRounds;
void ir_rounds_init (IrRounds *rounds, guint n, gboolean stacked);
void ir_rounds_clear (IrRounds *rounds);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrRounds, ir_rounds_clear)
gboolean ir_rounds_add (IrRounds *rounds,
                        guint index,
                        IrTensor *tensor,
                        const IrRunState *state,
                        const IrNode *node,
                        GError **error);
guint ir_rounds_length (const IrRounds *rounds, guint index);
const IrTensor *ir_rounds_first (const IrRounds *rounds, guint index); /* (nullable) */
const GPtrArray *ir_rounds_list (const IrRounds *rounds, guint index); /* (nullable) */
/* All rounds along a new axis. @like: what gives them, for the type if there was no round. */
IrTensor *ir_rounds_stack (IrRounds *rounds,
                           guint index,
                           gint64 axis,
                           gboolean backward,
                           const IrValue *like,
                           IrRunState *state,
                           GError **error);

/* -- the operators -- */
#define CONTROL(run) gboolean run (IrRunState *state, const IrNode *node, GError **error);
#include "core/op/ops.def"
