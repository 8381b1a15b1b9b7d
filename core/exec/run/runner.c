/* The runner: follows the schedule node by node. Intermediate values lie in one arena where the
 * memory plan put them; what is captured, what leaves the run, and what had no known size lies on
 * the heap and is let go after its last use. No tensor that is handed out refers to the arena. */
#include "config.h"

#include <time.h>
#include <unistd.h>

#include "core/exec/run/parallel.h"
#include "core/ir/hash.h"
#include "core/op/infer.h"

/**
 * ir_run_now_ns:
 *
 * Returns: nanoseconds of the clock by which runs are timed
 */
gint64
ir_run_now_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (gint64) now.tv_sec * 1000000000 + now.tv_nsec;
}

/**
 * ir_run_elapsed_ns:
 * @state: a run under way
 *
 * Returns: how long it has been under way
 */
gint64
ir_run_elapsed_ns (const IrRunState *state)
{
  return ir_run_now_ns () - state->start_ns;
}

/**
 * ir_exec_default_memory_limit:
 *
 * Returns: a quarter of the machine's memory, in bytes
 */
gsize
ir_exec_default_memory_limit (void)
{
  long pages = sysconf (_SC_PHYS_PAGES), page_bytes = sysconf (_SC_PAGESIZE);

  return pages > 0 && page_bytes > 0 ? (gsize) pages / 4 * (gsize) page_bytes : (gsize) 1 << 30;
}

/**
 * ir_exec_error_from_kernel:
 * @node: the node that failed
 * @error: (transfer full): what its kernel said
 *
 * Returns: (transfer full): the same as an %IR_EXEC_ERROR, with the node's label in front
 */
GError *
ir_exec_error_from_kernel (const IrNode *node, GError *error)
{
  g_autofree char *label = ir_node_label (node);
  gboolean labelled = g_str_has_prefix (error->message, label);
  IrExecErrorCode code = IR_EXEC_ERROR_KERNEL;

  if (error->domain == IR_EXEC_ERROR)
    return error;
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED) ||
      g_error_matches (error, IR_OP_ERROR, IR_OP_ERROR_CANCELLED))
    code = IR_EXEC_ERROR_CANCELLED;
  else if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT))
    code = IR_EXEC_ERROR_LIMIT;
  else if (g_error_matches (error, IR_OP_ERROR, IR_OP_ERROR_LIMIT))
    code = IR_EXEC_ERROR_MEMORY;
  else if (g_error_matches (error, IR_OP_ERROR, IR_OP_ERROR_UNSUPPORTED))
    code = IR_EXEC_ERROR_UNSUPPORTED;
  GError *result = g_error_new (IR_EXEC_ERROR, code, "%s%s%s", labelled ? "" : label,
                                labelled ? "" : ": ", error->message);
  g_error_free (error);
  return result;
}

/* -- one node -- */

static gboolean fail_limit (const IrNode *node, GError **error, int code, const char *format, ...)
    G_GNUC_PRINTF (4, 5);

static gboolean
fail_limit (const IrNode *node, GError **error, int code, const char *format, ...)
{
  g_autofree char *label = ir_node_label (node);
  va_list args;

  va_start (args, format);
  g_autofree char *found = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, IR_EXEC_ERROR, code, "%s: %s", label, found);
  return FALSE;
}

static gboolean
check_use (IrRunState *state, const IrNode *node, GError **error)
{
  if (g_cancellable_is_cancelled (state->cancellable))
    {
      g_autofree char *label = ir_node_label (node);
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED, "Cancelled before %s", label);
      return FALSE;
    }
  if (state->live_bytes + state->placed_bytes > state->memory_limit)
    {
      g_autofree char *used = g_format_size (state->live_bytes + state->placed_bytes);
      g_autofree char *limit = g_format_size (state->memory_limit);
      return fail_limit (node, error, IR_EXEC_ERROR_MEMORY,
                         "%s are in use, the limit is %s; raise the limit or capture fewer values",
                         used, limit);
    }
  return TRUE;
}

/**
 * ir_run_check:
 * @state: a run under way
 * @node: the node that is next
 * @error: return location for an error
 *
 * Returns: %FALSE with an error if the run was cancelled or has used up its memory or its time
 */
gboolean
ir_run_check (IrRunState *state, const IrNode *node, GError **error)
{
  if (!check_use (state, node, error))
    return FALSE;
  if (state->watch.deadline_us > 0 && g_get_monotonic_time () >= state->watch.deadline_us)
    return fail_limit (node, error, IR_EXEC_ERROR_LIMIT,
                       "the run has taken longer than its limit of time; raise the limit or use "
                       "smaller inputs");
  return TRUE;
}

/**
 * ir_run_count_iteration:
 * @state: a run under way
 * @node: a loop that is about to run its body
 * @error: return location for an error
 *
 * Counts the iterations of all loops together, so that loops in loops end as well.
 *
 * Returns: %FALSE with an error if that are more than allowed, or as ir_run_check()
 */
gboolean
ir_run_count_iteration (IrRunState *state, const IrNode *node, GError **error)
{
  guint64 limit = state->options->iteration_limit > 0 ? state->options->iteration_limit
                                                      : IR_RUN_DEFAULT_ITERATIONS;

  if (++state->n_iterations > limit)
    return fail_limit (node, error, IR_EXEC_ERROR_LIMIT,
                       "the loops of this run need more than %" G_GUINT64_FORMAT
                       " iterations; a condition may never become false, or the limit on "
                       "iterations is too low",
                       limit);
  return ir_run_check (state, node, error);
}

static IrTensor *
give_memory (
    IrCall *call, guint output, IrDtype dtype, guint rank, const gint64 *dims, GError **error)
{
  const IrCallOutput *slot = &call->outputs[output];
  guint64 n = 1;
  gsize bytes = 0;

  for (guint i = 0; i < rank; i++)
    if (dims[i] < 0 || !g_uint64_checked_mul (&n, n, (guint64) dims[i]))
      {
        ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "output %u is too large to be addressed",
                      output);
        return NULL;
      }
  if (!ir_dtype_storage_bytes (dtype, n, &bytes) ||
      (call->max_output_bytes != 0 && bytes > call->max_output_bytes))
    {
      g_autofree char *needed = g_format_size (bytes);
      g_autofree char *limit = g_format_size (call->max_output_bytes);
      ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "output %u needs %s, the limit is %s", output,
                    needed, limit);
      return NULL;
    }
  if (slot->memory != NULL && bytes <= slot->memory_bytes)
    return ir_tensor_new_static (dtype, rank, dims, slot->memory, bytes);
  return ir_tensor_new_alloc (dtype, rank, dims, error);
}

static gboolean
take_output (IrRunState *state, IrCall *call, const IrNode *node, guint slot, GError **error)
{
  const IrValue *value = node->outputs[slot];
  g_autoptr (IrTensor) tensor = g_steal_pointer (&call->outputs[slot].tensor);

  if (value == NULL)
    return TRUE;
  if (tensor == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_UNSUPPORTED,
                         "the kernel does not compute output %u (%s)", slot, value->name);
  return ir_run_state_publish (state, value, tensor, error);
}

/* Contents in blocks of channels have a rank of their own; kernels see the type of the graph. */
static void
bind_block (IrRunState *state, IrCall *call, guint slot, const IrValue *value)
{
  guint block = ir_schedule_block (state->prepared->schedule, value);

  if (block == 0)
    return;
  call->inputs[slot].block = (guint8) block;
  call->inputs[slot].type = value->type;
}

static gboolean
bind_inputs (IrRunState *state, IrCall *call, const IrNode *node, GError **error)
{
  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrValue *value = node->inputs[i];
      if (value == NULL)
        continue;
      IrTensor *tensor = ir_run_state_tensor (state, value);
      if (tensor == NULL)
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "input %u (%s) has no contents", i,
                             value->name);
      ir_call_set_input (call, i, tensor);
      bind_block (state, call, i, value);
    }
  return TRUE;
}

/**
 * ir_exec_random_seed:
 * @node: a node
 * @seed: of the run
 * @round: how often the node has run before
 *
 * Two runs agree; two nodes do not, and neither do two rounds of a loop. Names rather than ids, as
 * those survive when passes change the graph.
 *
 * Returns: what a random operator without a seed of its own draws from; 0 for other operators
 */
guint64
ir_exec_random_seed (const IrNode *node, guint64 seed, guint round)
{
  const IrValue *value = ir_node_output (node, 0);

  if (node->op == NULL || (node->op->flags & IR_OP_RANDOM) == 0)
    return 0;
  seed ^= ((guint64) round << 32) ^ g_str_hash (value != NULL ? value->name : node->name);
  /* Spreads what differs in few bits. */
  return ir_mix64 (seed);
}

static guint64
random_seed (IrRunState *state, const IrNode *node)
{
  gpointer key = GUINT_TO_POINTER (node->id);

  if (node->op == NULL || (node->op->flags & IR_OP_RANDOM) == 0)
    return 0;
  if (state->draws == NULL)
    state->draws = g_hash_table_new (NULL, NULL);
  guint round = GPOINTER_TO_UINT (g_hash_table_lookup (state->draws, key));
  g_hash_table_insert (state->draws, key, GUINT_TO_POINTER (round + 1));
  return ir_exec_random_seed (node, state->options->seed, round);
}

static gboolean
call_kernel (IrRunState *state, IrCall *call, const IrNode *node, GError **error)
{
  const IrNodePlan *plan = &state->prepared->nodes[node->id];
  gsize left = state->memory_limit > state->live_bytes
                   ? (gsize) (state->memory_limit - state->live_bytes)
                   : 1;

  if (!bind_inputs (state, call, node, error))
    return FALSE;
  call->threads = state->threads;
  call->cancellable = state->cancellable;
  call->watch = &state->watch;
  call->random_seed = random_seed (state, node);
  call->max_output_bytes = MIN (state->output_limit, left);
  call->alloc = give_memory;
  call->kernel_state = plan->state;
  call->scratch = &state->prepared->scratch;
  call->packed = state->prepared->packed;
  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrValue *value = node->outputs[i];
      const IrPlace *place = value != NULL ? &state->prepared->places[value->id] : NULL;
      if (value != NULL)
        call->outputs[i].block = (guint8) ir_schedule_block (state->prepared->schedule, value);
      if (place == NULL || place->offset == IR_PLACE_EXTERNAL || state->keep[value->id] ||
          !ir_steps_may_place (state->prepared, call))
        continue;
      call->outputs[i].memory = (guint8 *) state->prepared->arena + place->offset;
      call->outputs[i].memory_bytes = place->size;
    }
  ir_call_adapt (call);
  /* A kernel that has seen that it is to stop may leave its outputs incomplete. */
  if (!ir_call_check (call, error) || !plan->kernel (call, error) ||
      ir_call_fail_if_stopped (call, error))
    return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (!take_output (state, call, node, i, error))
      return FALSE;
  return TRUE;
}

/* @reason: (transfer full) (nullable) */
static gboolean
node_failed (IrRunState *state, const IrNode *node, GError *reason, GError **error)
{
  if (state->run->failed_node == 0)
    state->run->failed_node = node->id;
  if (reason == NULL)
    g_set_error_literal (&reason, IR_OP_ERROR, IR_OP_ERROR_VALUE,
                         "the kernel failed and gave no reason");
  g_propagate_error (error, ir_exec_error_from_kernel (node, reason));
  return FALSE;
}

/**
 * ir_run_node:
 * @state: a run under way
 * @node: the node that is next
 * @error: return location for an error
 *
 * Runs @node on what its inputs hold now, subgraphs and all.
 *
 * Returns: %TRUE if its outputs have contents
 */
gboolean
ir_run_node (IrRunState *state, const IrNode *node, GError **error)
{
  GError *local = NULL;
  gboolean done;

  if (!ir_run_check (state, node, error))
    return FALSE;
  if (state->prepared->nodes[node->id].kernel == NULL)
    done = ir_subgraph_run (state, node, &local);
  else
    {
      IrCall call;
      ir_call_layout (&call, node);
      done = call_kernel (state, &call, node, &local);
      ir_call_clear (&call);
    }
  if (done)
    {
      state->ran[node->id] = TRUE;
      return TRUE;
    }
  return node_failed (state, node, local, error);
}

/**
 * ir_run_graph:
 * @state: a run under way
 * @graph: a subgraph whose inputs have contents
 * @error: return location for an error
 *
 * Runs the nodes of @graph in order. What its values hold stays until the caller drops it.
 *
 * Returns: %TRUE if all nodes ran
 */
gboolean
ir_run_graph (IrRunState *state, const IrGraph *graph, GError **error)
{
  guint n_nodes;
  IrNode *const *nodes = ir_graph_order (graph, &n_nodes);

  for (guint i = 0; i < n_nodes; i++)
    if (!ir_run_node (state, nodes[i], error))
      return FALSE;
  return TRUE;
}

static gboolean
run_step (IrRunState *state, IrRunStep *step, GError **error)
{
  GError *local = NULL;

  if (!step->bound || state->astray)
    {
      state->placed_bytes = step->placed_bytes;
      return ir_run_node (state, step->node, error);
    }
  if (!check_use (state, step->node, error))
    return FALSE;
  if (!ir_step_run (state, step, &local))
    return node_failed (state, step->node, local, error);
  state->ran[step->node->id] = TRUE;
  return TRUE;
}

static void
release_values (IrRunState *state, guint step)
{
  const IrPrepared *prepared = state->prepared;

  for (guint i = prepared->release_start[step]; i < prepared->release_start[step + 1]; i++)
    if (state->run->values[prepared->release[i]] == NULL)
      ir_run_state_drop (state, ir_model_value (prepared->model, prepared->release[i]));
}

/* Steps that run beside each other; how many steps have run comes back in @done. */
static gboolean
run_span (IrRunState *state, const IrScheduleSpan *span, guint *done, GError **error)
{
  IrTraceItem *trace = (IrTraceItem *) (void *) state->run->trace->items->data;
  const IrNode *failed;
  GError *local = NULL;

  gboolean good = ir_parallel_run (state, span, trace, done, &failed, &local);
  for (guint step = span->first; step < *done; step++)
    release_values (state, step);
  if (good)
    return TRUE;
  if (failed != NULL)
    return node_failed (state, failed, local, error);
  g_propagate_error (error, local);
  return FALSE;
}

static int
compare_starts (gconstpointer a, gconstpointer b)
{
  const IrTraceItem *x = a, *y = b;

  return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* Whether the limit of time is reached, by a time that was taken already. */
static gboolean
is_late (const IrRunState *state, gint64 elapsed_ns)
{
  return state->watch.deadline_us > 0 &&
         state->start_ns + elapsed_ns >= state->watch.deadline_us * 1000;
}

/**
 * ir_run_schedule:
 * @state: a run whose values have been given their tensors
 * @error: return location for an error
 *
 * Runs the main graph in the order of the schedule, lets values go after their last use, and hands
 * out what is kept, also where a node fails.
 *
 * Returns: %TRUE if all nodes ran
 */
gboolean
ir_run_schedule (IrRunState *state, GError **error)
{
  const IrPrepared *prepared = state->prepared;
  guint n_steps = prepared->schedule->items->len, done = 0;
  GArray *trace = state->run->trace->items;
  gint64 start_ns = ir_run_elapsed_ns (state);
  gboolean spans = FALSE;

  g_array_append_vals (trace, prepared->trace, n_steps);
  while (done < n_steps)
    {
      IrTraceItem *item = &g_array_index (trace, IrTraceItem, done);
      IrRunStep *step = &prepared->steps[done];
      const IrScheduleSpan *span = ir_parallel_span (state, done);
      if (span != NULL)
        {
          spans = TRUE;
          if (!run_span (state, span, &done, error))
            break;
          start_ns = ir_run_elapsed_ns (state);
          continue;
        }
      if (is_late (state, start_ns) && !ir_run_check (state, step->node, error))
        break;
      if (!run_step (state, step, error))
        break;
      item->start_ns = start_ns;
      item->end_ns = start_ns = ir_run_elapsed_ns (state);
      release_values (state, done++);
      if (state->options->progress != NULL)
        state->options->progress (done, n_steps, step->node, state->options->progress_data);
    }
  g_array_set_size (trace, done);
  ir_run_adopt (state, done);
  if (done > 0)
    state->arena_bytes = MAX (state->arena_bytes, prepared->steps[done - 1].reach_bytes);
  if (spans)
    g_array_sort (trace, compare_starts);
  return done == n_steps;
}
