/* What a run keeps of its outermost loops while they run, so that it can go on from there again. */
#pragma once

#include "core/ir/model.h"

typedef struct _IrRunState IrRunState; /* state.h */

/* What the executor of tokens has saved, by what knows it. */
typedef struct
{
  /* Whether @iteration of @frame ("outer@3/inner") had not begun yet */
  gboolean (*precedes) (gconstpointer tokens, const char *frame, gint64 iteration);
  void (*free) (gpointer tokens);
} IrCheckpointKind;

/* Of a loop of the outermost level: the values that its body begins an iteration with. Of tokens: all that is in flight. */
typedef struct
{
  gint64 iteration; /* of tokens: how many of all frames had begun, but the first ones */
  gpointer tokens;  /* (nullable) (owned) */
  const IrCheckpointKind *kind; /* of @tokens */
  guint64 own_bytes;            /* of @tokens beside the tensors */
  GPtrArray *inputs;            /* of IrTensor: of the body; of tokens whatever they hold */
  GHashTable *draws;            /* (nullable) node id -> how often a random node had run */
  guint64 n_events;             /* that an observer had counted */
} IrCheckpoint;

typedef struct _IrCheckpoints IrCheckpoints;

IrCheckpoints *ir_checkpoints_new (void);
void ir_checkpoints_free (IrCheckpoints *self);
gboolean ir_checkpoints_due (IrCheckpoints *self,
                             IrRunState *state,
                             IrNodeId loop,
                             gint64 iteration);
gboolean ir_checkpoints_add (IrCheckpoints *self,
                             IrRunState *state,
                             IrNodeId loop,
                             const IrCheckpoint *row,
                             IrTensor *const *inputs,
                             guint n_inputs,
                             GError **error);
const IrCheckpoint *ir_checkpoints_find (const IrCheckpoints *self,
                                         IrNodeId loop,
                                         gint64 iteration);
const IrCheckpoint *ir_checkpoints_find_tokens (const IrCheckpoints *self,
                                                const IrGraph *graph,
                                                const char *frame,
                                                gint64 iteration,
                                                IrNodeId *owner);
GHashTable *ir_draws_copy (GHashTable *draws);
