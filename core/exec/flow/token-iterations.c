/* What the executor of tokens knows while it runs: instances of frames with the iterations that are alive,
 * and how errors and events name them. */
#include "config.h"

#include "core/exec/flow/token-private.h"

#define MAX_PLACES 4 /* frames that an error names */

/* -- names -- */

const char *
ir_token_frame_name (const IrTokenExecutor *x, guint32 frame)
{
  return g_array_index (x->program->frames->frames, IrFrame, frame).name;
}

/* "a@0/b@3/": what an error has in front of a node, as names of iterations have. */
static char *
place_text (const IrTokenExecutor *x, const IrTokenIteration *iteration)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; iteration != NULL && iteration->instance->parent != NULL;
       iteration = iteration->instance->parent, i++)
    {
      g_autofree char *own = g_strdup_printf ("%s@%" G_GINT64_FORMAT "/",
                                              ir_token_frame_name (x, iteration->instance->frame),
                                              iteration->number);
      if (i == MAX_PLACES)
        {
          g_string_prepend (text, "…/");
          break;
        }
      g_string_prepend (text, own);
    }
  return g_string_free (text, FALSE);
}

/* "while@3/compare (Less)" (transfer full) */
char *
ir_token_label (const IrTokenExecutor *x, const IrTokenIteration *iteration, const IrNode *node)
{
  g_autofree char *place = place_text (x, iteration);
  g_autofree char *label = ir_exec_label (node);

  return g_strconcat (place, label, NULL);
}

/* Fails with %IR_EXEC_ERROR_KERNEL, with the node and its iteration in front. */
gboolean
ir_token_fail (const IrTokenExecutor *x,
               const IrTokenIteration *iteration,
               const IrNode *node,
               GError **error,
               const char *format,
               ...)
{
  g_autofree char *label = ir_token_label (x, iteration, node);
  va_list args;

  va_start (args, format);
  g_autofree char *found = g_strdup_vprintf (format, args);
  va_end (args);
  if (x->state->run->failed_node == 0)
    x->state->run->failed_node = node->id;
  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_KERNEL, "%s: %s", label, found);
  return FALSE;
}

/* An error of a node, with its iteration in front. */
gboolean
ir_token_say_where (const IrTokenExecutor *x, const IrTokenIteration *iteration, GError **error)
{
  g_autofree char *place = place_text (x, iteration);

  if (error != NULL && *error != NULL && ir_error_has_place (*error))
    g_prefix_error (error, "%s", place);
  return FALSE;
}

/* -- who looks on -- */

static gboolean
is_watched (const IrTokenExecutor *x)
{
  return x->state->observer != NULL && x->state->observer->flow != NULL;
}

/* Whether frames have paths */
static gboolean
is_named (const IrTokenExecutor *x)
{
  return is_watched (x) || x->state->run->iterations != NULL;
}

/* @node: (nullable) what comes next is there */
void
ir_token_tell (const IrTokenExecutor *x,
               const IrTokenIteration *iteration,
               const IrNode *node,
               IrFlowKind kind,
               gint slot)
{
  const IrTokenInstance *instance = iteration->instance;

  if (is_watched (x))
    x->state->observer->flow (x->state->observer,
                              &(IrFlowTell){ kind, node, instance->path,
                                             ir_token_frame_name (x, instance->frame),
                                             iteration->number, slot, 0, 0, x->owner });
}

static void
tell_of_iteration (const IrTokenExecutor *x, const IrTokenIteration *iteration)
{
  const IrTokenInstance *instance = iteration->instance;
  const IrNodeId loop = g_array_index (x->program->frames->frames, IrFrame, instance->frame)
                            .loop_cond;

  if (is_watched (x) && instance->parent != NULL)
    x->state->observer->flow (
        x->state->observer,
        &(IrFlowTell){ IR_FLOW_NEXT, NULL, instance->path, ir_token_frame_name (x, instance->frame),
                       iteration->number, -1, instance->iterations->len, loop, x->owner });
}

void
ir_token_tell_end (const IrTokenExecutor *x, const IrTokenInstance *instance)
{
  if (is_watched (x))
    x->state->observer->flow (x->state->observer,
                              &(IrFlowTell){ IR_FLOW_EXITED, NULL, instance->path,
                                             ir_token_frame_name (x, instance->frame), 0, -1, 0, 0,
                                             x->owner });
}

/* (transfer full) "outer@3/inner", of a frame that is entered from @parent */
char *
ir_token_path_below (const IrTokenExecutor *x, const IrTokenIteration *parent, guint32 frame)
{
  const char *name = ir_token_frame_name (x, frame);

  if (*parent->instance->path == '\0')
    return g_strdup (name);
  return g_strdup_printf ("%s@%" G_GINT64_FORMAT "/%s", parent->instance->path, parent->number,
                          name);
}

/* -- tokens -- */

/* Counted as memory of the run for as long as somebody waits for it. (nullable) @tensor */
IrTensor *
ir_token_hold (IrTokenExecutor *x, IrTensor *tensor)
{
  IrRunState *state = x->state;

  if (tensor == NULL)
    return NULL;
  state->live_bytes += ir_account_add (state->account, tensor);
  state->peak_bytes = MAX (state->peak_bytes, state->live_bytes + state->placed_bytes);
  return ir_tensor_ref (tensor);
}

void
ir_token_let_go (IrTokenExecutor *x, IrTensor **tensor)
{
  if (*tensor == NULL || x->state == NULL) /* those of a checkpoint are its inputs */
    return;
  x->state->live_bytes -= ir_account_remove (x->state->account, *tensor);
  g_clear_pointer (tensor, ir_tensor_unref);
}

/* -- iterations -- */

gsize
ir_token_iteration_bytes (const IrTokenProgram *program, guint32 frame)
{
  const IrTokenFrame *of = &program->by_frame[frame];

  return sizeof (IrTokenIteration) + sizeof (IrTokenWaiting) * of->n_nodes +
         (sizeof (gpointer) + 1) * of->n_data;
}

IrTokenIteration *
ir_token_iteration_new (IrTokenExecutor *x, IrTokenInstance *instance, gint64 number)
{
  const IrTokenFrame *frame = &x->program->by_frame[instance->frame];
  gsize head = sizeof (IrTokenIteration) +
               sizeof (IrTokenWaiting) * frame->n_nodes; /* a multiple of pointers */
  IrTokenIteration *iteration = g_malloc0 (ir_token_iteration_bytes (x->program, instance->frame));

  iteration->data = (IrTensor **) (void *) ((guint8 *) iteration + head);
  iteration->came = (guint8 *) (iteration->data + frame->n_data);
  iteration->instance = instance;
  iteration->number = number;
  for (guint i = 0; i < frame->n_nodes; i++)
    {
      const IrTokenNode *node = &x->program->nodes[g_array_index (frame->nodes, guint32, i)];
      iteration->nodes[i].pending = node->rule == IR_TOKENS_MERGE ? 2 * node->n_control + 1
                                                                  : node->n_data + node->n_control;
    }
  g_ptr_array_add (instance->iterations, iteration);
  instance->newest = number;
  tell_of_iteration (x, iteration);
  return iteration;
}

void
ir_token_iteration_free (IrTokenExecutor *x, IrTokenIteration *iteration)
{
  for (guint i = 0; i < x->program->by_frame[iteration->instance->frame].n_data; i++)
    ir_token_let_go (x, &iteration->data[i]);
  g_clear_pointer (&iteration->children, g_hash_table_unref);
  g_free (iteration);
}

IrTokenIteration *
ir_token_iteration_at (const IrTokenInstance *instance, gint64 number)
{
  return instance->iterations->pdata[number - instance->oldest];
}

IrTokenInstance *
ir_token_instance_new (IrTokenExecutor *x, guint32 frame, IrTokenIteration *parent)
{
  IrTokenInstance *instance = g_new0 (IrTokenInstance, 1);

  instance->frame = frame;
  instance->parent = parent;
  instance->iterations = g_ptr_array_new ();
  instance->pending_enters = x->program->by_frame[frame].n_enters;
  instance->dead_exits = g_array_new (FALSE, FALSE, sizeof (guint32));
  instance->invariants = g_array_new (FALSE, FALSE, sizeof (IrToken));
  instance->deferred = g_array_new (FALSE, FALSE, sizeof (IrToken));
  instance->newest = -1;
  instance->path = !is_named (x)    ? NULL
                   : parent == NULL ? g_strdup ("")
                                    : ir_token_path_below (x, parent, frame);
  g_hash_table_add (x->instances, instance);
  return instance;
}

void
ir_token_instance_free (IrTokenExecutor *x, IrTokenInstance *instance)
{
  g_hash_table_remove (x->instances, instance);
  for (guint i = 0; i < instance->iterations->len; i++)
    ir_token_iteration_free (x, instance->iterations->pdata[i]);
  for (guint i = 0; i < instance->invariants->len; i++)
    ir_token_let_go (x, &g_array_index (instance->invariants, IrToken, i).tensor);
  for (guint i = 0; i < instance->deferred->len; i++)
    ir_token_let_go (x, &g_array_index (instance->deferred, IrToken, i).tensor);
  g_ptr_array_unref (instance->iterations);
  g_array_unref (instance->dead_exits);
  g_array_unref (instance->invariants);
  g_array_unref (instance->deferred);
  g_free (instance->path);
  g_free (instance);
}

/* -- all -- */

/* Notes, of what ends, a node that has some of its tokens and not all: if an output does not come, it
 * may be why. */
void
ir_token_note_stalled (IrTokenExecutor *x, const IrTokenIteration *iteration)
{
  const IrTokenFrame *frame = &x->program->by_frame[iteration->instance->frame];

  for (guint i = 0; i < frame->n_nodes && x->stalled == NULL; i++)
    {
      const IrTokenNode *node = &x->program->nodes[g_array_index (frame->nodes, guint32, i)];
      const IrTokenWaiting *own = &iteration->nodes[i];
      if (own->is_ready || own->pending == 0 || node->rule == IR_TOKENS_MERGE ||
          own->pending == node->n_data + node->n_control)
        continue;
      g_autofree char *label = ir_token_label (x, iteration, node->node);
      const char *missing = "what it waits for";
      for (guint k = 0; k < node->n_data; k++)
        if (!iteration->came[node->first_data + k])
          missing = node->data[k]->name;
      x->stalled = g_strdup_printf ("%s waits for %s", label, missing);
    }
}

/* @x: filled with 0, but for its state */
void
ir_token_executor_init (IrTokenExecutor *x, IrTokenProgram *program, const IrNode *owner)
{
  x->program = program;
  x->owner = owner;
  x->n_results = owner->n_outputs;
  x->instances = g_hash_table_new (NULL, NULL);
  x->ready = g_array_new (FALSE, FALSE, sizeof (IrTokenReady));
  x->results = g_new0 (IrTensor *, x->n_results + 1);
  x->has_result = g_new0 (guint8, x->n_results + 1);
}

void
ir_token_executor_clear (IrTokenExecutor *x)
{
  GHashTableIter iter;
  gpointer instance;

  while (g_hash_table_iter_init (&iter, x->instances),
         g_hash_table_iter_next (&iter, &instance, NULL))
    ir_token_instance_free (x, instance);
  for (guint i = 0; i < x->n_results; i++)
    ir_token_let_go (x, &x->results[i]);
  g_hash_table_unref (x->instances);
  g_array_unref (x->ready);
  g_free (x->results);
  g_free (x->has_result);
  g_free (x->stalled);
  g_clear_pointer (&x->lasting, g_hash_table_unref);
}
