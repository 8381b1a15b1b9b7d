/* Checkpoints are of loops of the outermost level: those of the levels below run inside of one iteration of
 * them. Their distance is a power of two that doubles, with each second one let go, as soon as there are more of
 * them than it is long. So of n iterations there are at most sqrt (n) checkpoints, and none is further away than
 * 2 sqrt (n). Of tokens iterations of all frames count as one row, as what is saved has all of them. */
#include "config.h"

#include "core/exec/run/checkpoints.h"

#include "core/exec/run/account.h"
#include "core/exec/run/state.h"

/* Of one loop. */
typedef struct
{
  gint64 distance;
  GArray *rows;       /* of IrCheckpoint */
  IrAccount *account; /* of what they hold: many share values, and sequences their items */
  guint64 bytes;
  gboolean
      again; /* it was entered more than once, by calls of a function: which time is not told by names */
} Checkpoints;

struct _IrCheckpoints
{
  GHashTable *loops; /* node id -> Checkpoints */
};

static void
checkpoint_clear (gpointer data)
{
  IrCheckpoint *row = data;

  if (row->tokens != NULL)
    row->kind->free (row->tokens);
  row->tokens = NULL;
  g_clear_pointer (&row->inputs, g_ptr_array_unref);
  g_clear_pointer (&row->draws, g_hash_table_unref);
}

static void
loop_free (gpointer data)
{
  Checkpoints *self = data;

  g_array_unref (self->rows);
  ir_account_free (self->account);
  g_free (self);
}

/* (transfer full) None */
IrCheckpoints *
ir_checkpoints_new (void)
{
  IrCheckpoints *self = g_new (IrCheckpoints, 1);

  self->loops = g_hash_table_new_full (NULL, NULL, NULL, loop_free);
  return self;
}

void
ir_checkpoints_free (IrCheckpoints *self)
{
  g_hash_table_unref (self->loops);
  g_free (self);
}

/* -- taking them -- */

static void
set_bytes (IrRunState *state, Checkpoints *self, guint64 bytes)
{
  state->kept_bytes = state->kept_bytes - self->bytes + bytes;
  self->bytes = bytes;
}

static void
let_go (IrRunState *state, Checkpoints *self, IrCheckpoint *row)
{
  guint64 bytes = row->own_bytes;

  for (guint i = 0; i < row->inputs->len; i++)
    bytes += ir_account_remove (self->account, row->inputs->pdata[i]);
  set_bytes (state, self, self->bytes - bytes);
  checkpoint_clear (row);
}

/* Each second one goes. */
static void
thin_out (IrRunState *state, Checkpoints *self)
{
  guint n = 0;

  self->distance *= 2;
  for (guint i = 0; i < self->rows->len; i++)
    {
      IrCheckpoint *row = &g_array_index (self->rows, IrCheckpoint, i);
      const IrCheckpoint keep = *row;
      if (row->iteration % self->distance != 0)
        {
          let_go (state, self, row);
          continue;
        }
      *row = (IrCheckpoint){ 0 };
      g_array_index (self->rows, IrCheckpoint, n++) = keep;
    }
  g_array_set_size (self->rows, n);
}

static void
drop_all (IrRunState *state, Checkpoints *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    let_go (state, self, &g_array_index (self->rows, IrCheckpoint, i));
  g_array_set_size (self->rows, 0);
}

/* (transfer full) @draws: node id -> how often a random node has run */
GHashTable *
ir_draws_copy (GHashTable *draws)
{
  GHashTable *copy = g_hash_table_new (NULL, NULL);
  GHashTableIter iter;
  gpointer id, count;

  g_hash_table_iter_init (&iter, draws);
  while (g_hash_table_iter_next (&iter, &id, &count))
    g_hash_table_insert (copy, id, count);
  return copy;
}

/* Whether ir_checkpoints_add() is to be called for @iteration, from 0, of a loop of the outermost level. The first one
 * begins with what the loop reads, and needs none. */
gboolean
ir_checkpoints_due (IrCheckpoints *self, IrRunState *state, IrNodeId loop, gint64 iteration)
{
  Checkpoints *own = g_hash_table_lookup (self->loops, GUINT_TO_POINTER (loop));

  if (own == NULL)
    {
      own = g_new0 (Checkpoints, 1);
      own->distance = 1;
      own->rows = g_array_new (FALSE, TRUE, sizeof (IrCheckpoint));
      g_array_set_clear_func (own->rows, checkpoint_clear);
      own->account = ir_account_new ();
      g_hash_table_insert (self->loops, GUINT_TO_POINTER (loop), own);
    }
  else if (iteration == 0 && !own->again)
    {
      own->again = TRUE;
      drop_all (state, own);
    }
  return iteration != 0 && !own->again && iteration % own->distance == 0;
}

/* FALSE: there is no memory. @row: iteration, and tokens, which are taken even so */
gboolean
ir_checkpoints_add (IrCheckpoints *self,
                    IrRunState *state,
                    IrNodeId loop,
                    const IrCheckpoint *row,
                    IrTensor *const *inputs,
                    guint n_inputs,
                    GError **error)
{
  Checkpoints *own = g_hash_table_lookup (self->loops, GUINT_TO_POINTER (loop));
  IrCheckpoint next = *row;
  guint64 bytes = next.own_bytes;

  next.inputs = g_ptr_array_new_full (n_inputs, (GDestroyNotify) ir_tensor_unref);
  for (guint i = 0; i < n_inputs; i++)
    {
      IrTensor *tensor = ir_run_state_lasting (state, inputs[i], error);
      if (tensor == NULL)
        {
          checkpoint_clear (&next);
          return FALSE;
        }
      g_ptr_array_add (next.inputs, tensor);
    }
  for (guint i = 0; i < n_inputs; i++)
    bytes += ir_account_add (own->account, next.inputs->pdata[i]);
  set_bytes (state, own, own->bytes + bytes);
  next.draws = state->draws != NULL ? ir_draws_copy (state->draws) : NULL;
  next.n_events = state->observer != NULL ? state->observer->n_events : 0;
  g_array_append_val (own->rows, next);
  while (own->rows->len > own->distance ||
         (state->kept_bytes > state->capture_budget && own->rows->len > 0))
    thin_out (state, own);
  return TRUE;
}

/* -- what there is -- */

static const GArray *
rows_of (const IrCheckpoints *self, IrNodeId loop)
{
  const Checkpoints *own = g_hash_table_lookup (self->loops, GUINT_TO_POINTER (loop));

  return own != NULL ? own->rows : NULL;
}

/* (nullable) The last from which @iteration of a loop of the outermost level comes; NULL: from the beginning of that */
const IrCheckpoint *
ir_checkpoints_find (const IrCheckpoints *self, IrNodeId loop, gint64 iteration)
{
  const GArray *rows = rows_of (self, loop);
  const IrCheckpoint *last = NULL;

  for (guint i = 0; rows != NULL && i < rows->len; i++)
    {
      const IrCheckpoint *row = &g_array_index (rows, IrCheckpoint, i);
      if (row->iteration <= iteration)
        last = row;
    }
  return last;
}

/* (nullable) Of those of tokens the last that is early enough */
static const IrCheckpoint *
last_before (const GArray *rows, const char *frame, gint64 iteration)
{
  guint first = 0, n = rows != NULL ? rows->len : 0;

  while (n > 0)
    {
      const IrCheckpoint *row = &g_array_index (rows, IrCheckpoint, first + n / 2);
      if (row->tokens == NULL || !row->kind->precedes (row->tokens, frame, iteration))
        n = n / 2;
      else
        {
          first += n / 2 + 1;
          n -= n / 2 + 1;
        }
    }
  return first > 0 ? &g_array_index (rows, IrCheckpoint, first - 1) : NULL;
}

/* (nullable) The last before @iteration of @frame of tokens, "outer@3/inner", begins, of what runs @graph or is in it.
 * @owner: (out): the node that runs the tokens */
const IrCheckpoint *
ir_checkpoints_find_tokens (const IrCheckpoints *self,
                            const IrGraph *graph,
                            const char *frame,
                            gint64 iteration,
                            IrNodeId *owner)
{
  const IrCheckpoint *found = NULL;

  *owner = 0;
  while (graph != NULL && graph->kind == IR_GRAPH_SUBGRAPH)
    {
      const IrNode *node = ir_model_live_node (graph->model, graph->owner);
      const IrCheckpoint *row = node != NULL
                                    ? last_before (rows_of (self, node->id), frame, iteration)
                                    : NULL;
      found = row != NULL ? row : found;
      *owner = row != NULL ? node->id : *owner;
      graph = node != NULL ? node->graph : NULL;
    }
  return found;
}

/**
 * ir_run_n_checkpoints:
 * @run: a run
 * @bytes: (out) (optional): what they hold
 *
 * Returns: how many checkpoints of loops it has kept
 */
guint
ir_run_n_checkpoints (const IrRun *run, guint64 *bytes)
{
  GHashTableIter iter;
  gpointer id, data;
  guint64 sum = 0;
  guint n = 0;

  if (run->iterations != NULL)
    g_hash_table_iter_init (&iter, ir_iteration_values_checkpoints (run->iterations)->loops);
  while (run->iterations != NULL && g_hash_table_iter_next (&iter, &id, &data))
    {
      const Checkpoints *own = data;
      sum += own->bytes;
      n += own->rows->len;
    }
  if (bytes != NULL)
    *bytes = sum;
  return n;
}
