/* Checkpoints of the executor of tokens: between two nodes all that it knows is in its instances of frames, the
 * nodes that are ready and what it has given, so a copy of these is a place to go on from. What tokens hold is not
 * copied: nobody writes to it any more, and a sequence that is appended to shares its items. */
#include "config.h"

#include "core/exec/flow/token-private.h"

#include <string.h>

#define MAX_INSTANCES                                                                              \
  1000 /* of frames; of more, as frames in each other may have, a copy is not worth its time */

/* One executor becomes another. That of a checkpoint has no state, and its tensors are the inputs of the checkpoint. */
typedef struct
{
  const IrTokenExecutor *from;
  IrTokenExecutor *to;
  GHashTable *iterations; /* of @from -> of @to */
  GPtrArray *inputs;      /* (nullable) of IrTensor (unowned): of a checkpoint that is made */
  guint64 bytes;          /* of all but tensors */
  GError *error;
} Copy;

/* (nullable) @tensor as it is when the arena is used for other values; owned by @x */
static IrTensor *
lasting (const IrTokenExecutor *from, IrTensor *tensor, GHashTable **made, GError **error)
{
  IrTensor *known = *made != NULL ? g_hash_table_lookup (*made, tensor) : NULL;
  g_autoptr (IrTensor) own = known == NULL ? ir_run_state_lasting (from->state, tensor, error)
                                           : NULL;

  if (own == NULL || own == tensor)
    return known != NULL ? known : own;
  if (*made == NULL)
    *made = g_hash_table_new_full (NULL, NULL, (GDestroyNotify) ir_tensor_unref,
                                   (GDestroyNotify) ir_tensor_unref);
  known = own;
  g_hash_table_insert (*made, ir_tensor_ref (tensor), g_steal_pointer (&own));
  return known;
}

/* (nullable) */
static IrTensor *
hold (Copy *copy, IrTensor *tensor)
{
  if (tensor == NULL || copy->error != NULL)
    return NULL;
  if (copy->inputs == NULL)
    return ir_token_hold (copy->to, tensor);
  IrTensor *own = lasting (copy->from, tensor, &copy->to->lasting, &copy->error);
  if (own != NULL)
    g_ptr_array_add (copy->inputs, own);
  return own;
}

static GArray *
copy_tokens (Copy *copy, const GArray *tokens)
{
  GArray *own = g_array_sized_new (FALSE, FALSE, sizeof (IrToken), tokens->len);

  for (guint i = 0; i < tokens->len; i++)
    {
      const IrToken *from = &g_array_index (tokens, IrToken, i);
      const IrToken token = { from->node, hold (copy, from->tensor) };
      g_array_append_val (own, token);
    }
  copy->bytes += tokens->len * sizeof (IrToken);
  return own;
}

static IrTokenInstance *copy_instance (Copy *copy,
                                       const IrTokenInstance *from,
                                       IrTokenIteration *parent);

static void
copy_iteration (Copy *copy, const IrTokenIteration *from, IrTokenInstance *instance)
{
  const gsize bytes = ir_token_iteration_bytes (copy->from->program, instance->frame);
  const guint n_data = copy->from->program->by_frame[instance->frame].n_data;
  IrTokenIteration *own = g_memdup2 (from, bytes);
  GHashTableIter iter;
  gpointer key, child;

  copy->bytes += bytes;
  own->instance = instance;
  own->data = (IrTensor **) (void *) ((guint8 *) own + ((guint8 *) from->data - (guint8 *) from));
  own->came = (guint8 *) (own->data + n_data);
  for (guint i = 0; i < n_data; i++)
    own->data[i] = hold (copy, from->data[i]);
  g_ptr_array_add (instance->iterations, own);
  g_hash_table_insert (copy->iterations, (gpointer) from, own);
  if (from->children == NULL)
    return;
  own->children = g_hash_table_new (NULL, NULL);
  g_hash_table_iter_init (&iter, from->children);
  while (g_hash_table_iter_next (&iter, &key, &child))
    g_hash_table_insert (own->children, key,
                         child != NULL ? copy_instance (copy, child, own) : NULL);
}

static IrTokenInstance *
copy_instance (Copy *copy, const IrTokenInstance *from, IrTokenIteration *parent)
{
  IrTokenInstance *own = g_memdup2 (from, sizeof *from);

  copy->bytes += sizeof *own + strlen (from->path);
  own->parent = parent;
  own->iterations = g_ptr_array_new ();
  own->dead_exits = g_array_copy (from->dead_exits);
  own->invariants = copy_tokens (copy, from->invariants);
  own->deferred = copy_tokens (copy, from->deferred);
  own->path = g_strdup (from->path);
  g_hash_table_add (copy->to->instances, own);
  for (guint i = 0; i < from->iterations->len; i++)
    copy_iteration (copy, from->iterations->pdata[i], own);
  return own;
}

/* @to: by ir_token_executor_init() */
static void
copy_executor (Copy *copy)
{
  const IrTokenExecutor *from = copy->from;
  IrTokenExecutor *to = copy->to;

  copy->iterations = g_hash_table_new (NULL, NULL);
  to->root = copy_instance (copy, from->root, NULL);
  for (guint i = from->first; i < from->ready->len; i++)
    {
      const IrTokenReady *ready = &g_array_index (from->ready, IrTokenReady, i);
      const IrTokenReady own = { g_hash_table_lookup (copy->iterations, ready->iteration),
                                 ready->node };
      g_array_append_val (to->ready, own);
    }
  for (guint i = 0; i < from->n_results; i++)
    {
      to->results[i] = hold (copy, from->results[i]);
      to->has_result[i] = from->has_result[i];
    }
  to->stalled = g_strdup (from->stalled);
  to->n_begun = to->n_seen = from->n_begun;
  g_clear_pointer (&copy->iterations, g_hash_table_unref);
}

/* -- what a checkpoint is asked -- */

static void
saved_free (gpointer tokens)
{
  IrTokenExecutor *saved = tokens;

  ir_token_executor_clear (saved);
  ir_token_program_unref (saved->program);
  g_free (saved);
}

/* (nullable) What follows the name of @frame in @path */
static const char *
behind_name (const IrTokenExecutor *saved, guint32 frame, const char *path)
{
  const char *name = ir_token_frame_name (saved, frame), *rest = path + strlen (name);

  return g_str_has_prefix (path, name) && (*rest == '\0' || *rest == '@') ? rest : NULL;
}

/* Whether @number had not begun; a token for it may wait until there is room, and is of it already. */
static gboolean
is_to_come (const IrTokenInstance *instance, gint64 number)
{
  return number > instance->newest + (instance->deferred->len > 0 ? 1 : 0);
}

/* Likewise of @iteration of @path below @around, which is under way */
static gboolean
is_to_come_below (const IrTokenExecutor *saved,
                  const IrTokenIteration *around,
                  const char *path,
                  gint64 iteration)
{
  const GArray *frames = saved->program->frames->frames;

  for (guint32 i = 1; i < frames->len; i++)
    {
      const char *rest = g_array_index (frames, IrFrame, i).parent == around->instance->frame
                             ? behind_name (saved, i, path)
                             : NULL;
      const IrTokenInstance *child = NULL;
      char *end = NULL;
      if (rest == NULL)
        continue;
      const gint64 number = *rest == '@' ? g_ascii_strtoll (rest + 1, &end, 10) : iteration;
      if (end != NULL && *end != '/')
        continue;
      if (around->children == NULL ||
          !g_hash_table_lookup_extended (around->children, GUINT_TO_POINTER (i + 1), NULL,
                                         (gpointer *) &child))
        return TRUE;
      if (child == NULL || number < child->oldest)
        return FALSE; /* it is over */
      if (is_to_come (child, number))
        return TRUE;
      return end != NULL && number <= child->newest &&
             is_to_come_below (saved, ir_token_iteration_at (child, number), end + 1, iteration);
    }
  return FALSE;
}

static gboolean
precedes (gconstpointer tokens, const char *frame, gint64 iteration)
{
  const IrTokenExecutor *saved = tokens;

  return saved->root->iterations->len > 0 &&
         is_to_come_below (saved, saved->root->iterations->pdata[0], frame, iteration);
}

static const IrCheckpointKind kind = { precedes, saved_free };

/* -- for the executor -- */

/* Goes on from the checkpoint that is asked for. FALSE: it is to begin */
gboolean
ir_token_resume (IrTokenExecutor *x)
{
  const IrCheckpoint *from = x->is_outermost ? ir_iterations_resumed (x->state, x->owner) : NULL;

  if (x->is_outermost && from == NULL)
    ir_iterations_checkpoint_due (x->state, x->owner, 0);
  if (from == NULL)
    return FALSE;
  Copy copy = { .from = from->tokens, .to = x };
  copy_executor (&copy);
  return TRUE;
}

/* Takes a checkpoint where one is due. */
gboolean
ir_token_save (IrTokenExecutor *x, GError **error)
{
  g_autoptr (GPtrArray) inputs = NULL;
  IrTokenExecutor *saved;

  x->n_seen = x->n_begun;
  if (!x->is_outermost || g_hash_table_size (x->instances) > MAX_INSTANCES ||
      !ir_iterations_checkpoint_due (x->state, x->owner, (gint64) x->n_begun))
    return TRUE;
  inputs = g_ptr_array_new ();
  saved = g_new0 (IrTokenExecutor, 1);
  saved->lasting = g_steal_pointer (&x->lasting);
  ir_token_executor_init (saved, ir_token_program_ref (x->program), x->owner);
  Copy copy = { .from = x, .to = saved, .inputs = inputs };
  copy_executor (&copy);
  x->lasting = g_steal_pointer (&saved->lasting);
  if (copy.error != NULL)
    {
      g_propagate_error (error, copy.error);
      saved_free (saved);
      return FALSE;
    }
  const IrCheckpoint row = { .iteration = (gint64) x->n_begun,
                             .tokens = saved,
                             .kind = &kind,
                             .own_bytes = copy.bytes + sizeof *saved };
  return ir_iterations_add_checkpoint (x->state, x->owner, &row, (IrTensor *const *) inputs->pdata,
                                       inputs->len, error);
}
