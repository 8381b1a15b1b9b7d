/* The runner: follows the schedule node by node. Intermediate values lie in one arena where the
 * memory plan put them; what is captured, what leaves the run, and what had no known size lies on
 * the heap and is let go after its last use. No tensor that is handed out refers to the arena. */
#include "config.h"

#include "core/exec/run/parallel.h"
#include "core/exec/run/plan-check.h"
#include "core/op/infer.h"

/* -- one node -- */

/**
 * ir_run_give_memory:
 * @state: a run under way
 * @call: a call whose kernel asks for the memory of an output
 * @output: which
 * @dtype: its element type
 * @rank: number of its dims
 * @dims: (array length=rank): its dims
 * @error: return location for an error
 *
 * Fails with %IR_OP_ERROR_LIMIT where it is more than the call may have.
 *
 * Returns: (transfer full) (nullable): where the memory plan wants it, or on the heap
 */
IrTensor *
ir_run_give_memory (IrRunState *state,
                    IrCall *call,
                    guint output,
                    IrDtype dtype,
                    guint rank,
                    const gint64 *dims,
                    GError **error)
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
  ir_run_count_bytes (&state->allocated_bytes, bytes);
  return ir_tensor_new_alloc (dtype, rank, dims, error);
}

static IrTensor *
give_memory (
    IrCall *call, guint output, IrDtype dtype, guint rank, const gint64 *dims, GError **error)
{
  return ir_run_give_memory (call->alloc_data, call, output, dtype, rank, dims, error);
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

/* Contents in NCHWc have a rank of their own; kernels see the type of the graph. */
static void
bind_block (IrRunState *state, IrCall *call, guint slot, const IrValue *value)
{
  guint block = ir_schedule_block (state->prepared->schedule, value);

  if (block == 0 || ir_tensor_rank (call->inputs[slot].tensor) == (guint) value->type->rank)
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

/* Whether a call whose inputs have the types of the plan gives what the plan has in blocks. */
static gboolean
gives_as_planned (IrCall *call, const IrNode *node)
{
  if (!call->op->infer (call, NULL))
    return FALSE;
  for (guint i = 0; i < node->n_outputs && i < call->n_outputs; i++)
    if (call->outputs[i].block != 0 && call->outputs[i].type != node->outputs[i]->type)
      return FALSE;
  return TRUE;
}

/* Decides whether outputs are given in blocks, and, where shapes are not those of the plan, brings
 * inputs that are so into the order of the graph: those were made when shapes still were.
 * @planned: all inputs are of the types of the plan */
static gboolean
bind_layouts (IrRunState *state, IrCall *call, const IrNode *node, gboolean planned, GError **error)
{
  gboolean some = FALSE;

  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      {
        call->outputs[i].block = (guint8) ir_schedule_block (state->prepared->schedule,
                                                             node->outputs[i]);
        some = some || call->outputs[i].block != 0;
      }
  for (guint i = 0; i < node->n_inputs; i++)
    some = some || call->inputs[i].block != 0;
  if (!some || (planned && gives_as_planned (call, node)))
    return TRUE;
  for (guint i = 0; i < node->n_outputs; i++)
    call->outputs[i].block = 0;
  for (guint i = 0; i < node->n_inputs; i++)
    if (call->inputs[i].block != 0)
      {
        IrTensor *plain = ir_nchwc_to_graph (call->inputs[i].tensor, node->inputs[i]->type, error);
        if (plain == NULL)
          return FALSE;
        ir_call_set_input_tensor (call, i, plain);
        call->inputs[i].block = 0;
      }
  return TRUE;
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

/* Bytes that an output may take */
static gsize
bytes_left (const IrRunState *state)
{
  gsize left = state->memory_limit > state->live_bytes
                   ? (gsize) (state->memory_limit - state->live_bytes)
                   : 1;

  return MIN (state->output_limit, left);
}

static gboolean
call_kernel (IrRunState *state, IrCall *call, const IrNode *node, GError **error)
{
  if (!bind_inputs (state, call, node, error))
    return FALSE;
  gboolean may_place = ir_steps_may_place (state->prepared, call),
           may_block = ir_steps_may_block (state->prepared, call);
  ir_run_enter_call (state, call, state->threads, &state->prepared->scratch);
  call->max_output_bytes = bytes_left (state);
  call->random_seed = random_seed (state, node);
  call->alloc = give_memory;
  call->alloc_data = state;
  ir_plan_check_watch (state, call);
  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrValue *value = node->outputs[i];
      if (value == NULL || !may_place || !ir_prepared_in_arena (state->prepared, value))
        continue;
      const IrPlace *place = &state->prepared->values[value->id].place;
      call->outputs[i].memory = (guint8 *) state->prepared->arena + place->offset;
      call->outputs[i].memory_bytes = place->size;
    }
  ir_call_adapt (call);
  /* A kernel that has seen that it is to stop may leave its outputs incomplete. */
  if (!ir_call_check (call, error) || !bind_layouts (state, call, node, may_block, error) ||
      !ir_run_kernel (state, ir_prepared_choice (state->prepared, node)->kernel, call, error) ||
      ir_call_fail_if_stopped (call, error))
    return FALSE;
  for (guint i = 0; i < node->n_outputs; i++)
    if (!take_output (state, call, node, i, error))
      return FALSE;
  return TRUE;
}

/* Nodes of bodies run again and again. */
static gboolean
run_kernel (IrRunState *state, const IrNode *node, gboolean *by_ref, GError **error)
{
  IrBodyCall *kept = state->depth > 0 ? ir_body_call_fits (state, node) : NULL;
  IrCall call;

  if (kept != NULL)
    return ir_body_call_run (kept, bytes_left (state), by_ref, error);
  ir_call_layout (&call, node);
  gboolean done = call_kernel (state, &call, node, error);
  *by_ref = call.by_ref;
  ir_call_clear (&call);
  if (done && state->depth > 0)
    ir_body_call_make (state, node);
  return done;
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
  gboolean done, by_ref = FALSE;

  if (!(state->depth > 0 ? ir_run_check_use : ir_run_check) (state, node, error) ||
      !ir_late_copies_settle (state, error))
    return FALSE;
  if (ir_prepared_is_control (state->prepared, node))
    done = state->prepared->control (state, node, &local);
  else
    done = run_kernel (state, node, &by_ref, &local);
  state->by_ref = by_ref;
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
    if (!ir_run_before (state, nodes[i], NULL, error) || !ir_run_node (state, nodes[i], error) ||
        !ir_run_after (state, nodes[i], NULL, error))
      return FALSE;
  return TRUE;
}

/* What an earlier run has kept is the step's. */
static gboolean
reuse_step (IrRunState *state, IrRunStep *step, guint index, GError **error)
{
  IrTraceItem *item = &g_array_index (state->run->trace->items, IrTraceItem, index);

  item->kernel = IR_TRACE_REUSED;
  item->flops = item->bytes = 0;
  state->by_ref = FALSE;
  if (!ir_reuse_fill (state->reuse, state, step, error))
    return FALSE;
  if (step->bound && !state->diverged)
    ir_step_finish (state, step);
  return TRUE;
}

static gboolean
compute_step (IrRunState *state, IrRunStep *step, guint index, GError **error)
{
  GError *local = NULL;

  if (!step->no_op && ir_reuse_has (state->reuse, step->node))
    return (ir_run_check (state, step->node, error) && reuse_step (state, step, index, &local)) ||
           (local != NULL && node_failed (state, step->node, local, error));
  if (!step->bound || state->diverged)
    {
      state->placed_bytes = step->placed_bytes;
      return ir_run_node (state, step->node, error);
    }
  if (!ir_run_check_use (state, step->node, error))
    return FALSE;
  if (!ir_step_run (state, step, index, &local))
    return node_failed (state, step->node, local, error);
  state->ran[step->node->id] = TRUE;
  return TRUE;
}

static gboolean
run_step (IrRunState *state, IrRunStep *step, GError **error)
{
  guint index = (guint) (step - state->prepared->steps);
  GError *local = NULL;

  /* Who looks on finds operands where the kernel does. */
  if (!ir_streams_enter (state, index, &local) || !ir_copies_run (state, index, FALSE, &local))
    return node_failed (state, step->node, local, error);
  if (!ir_run_before (state, step->node, step, error) ||
      !compute_step (state, step, index, error) || !ir_run_after (state, step->node, step, error))
    return FALSE;
  return ir_streams_leave (state, index, &local) || node_failed (state, step->node, local, error);
}

static void
release_values (IrRunState *state, guint step)
{
  const IrPrepared *prepared = state->prepared;

  for (guint i = prepared->release_start[step]; i < prepared->release_start[step + 1]; i++)
    if (state->run->values[prepared->release[i]] == NULL)
      ir_run_state_drop (state, ir_model_value (prepared->model, prepared->release[i]));
}

/* Steps that run concurrently. */
static gboolean
run_span (IrRunState *state, const IrScheduleSpan *span, GError **error)
{
  guint done;
  IrTraceItem *trace = (IrTraceItem *) (void *) state->run->trace->items->data;
  const IrNode *failed;
  GError *local = NULL;

  gboolean good = ir_parallel_run (state, span, trace, &done, &failed, &local);
  if (state->plan_check != NULL)
    ir_plan_check_steps (state, span->first, done);
  for (guint step = span->first; step < done; step++)
    release_values (state, step);
  state->n_done = done;
  if (good)
    return TRUE;
  if (failed != NULL)
    return node_failed (state, failed, local, error);
  g_propagate_error (error, local);
  return FALSE;
}

/* Steps that the device is asked for at once; @asked: (out): as ir_device_graphs_run() */
static gboolean
run_graph (IrRunState *state, IrDeviceGraph *graph, gboolean *asked, GError **error)
{
  GArray *trace = state->run->trace->items;
  gint64 start_ns = ir_run_elapsed_ns (state);
  GError *local = NULL;

  if (!ir_run_check (state, state->node, error))
    return FALSE;
  if (!ir_device_graphs_run (state, graph, asked, &local))
    return node_failed (state, state->node, local, error);
  for (guint i = graph->first; *asked && i < graph->end; i++)
    {
      IrTraceItem *item = &g_array_index (trace, IrTraceItem, i);
      item->start_ns = item->end_ns = start_ns;
      release_values (state, i);
      state->n_done = i + 1;
    }
  return TRUE;
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
  guint n_steps = prepared->schedule->items->len;
  GArray *trace = state->run->trace->items;
  gint64 start_ns = ir_run_elapsed_ns (state);
  gboolean spans = FALSE;
  IrObserver *observer = state->observer;

  if (!ir_device_clock_begin (state, error) || !ir_observer_begin (observer, state, error))
    return FALSE;
  g_array_append_vals (trace, prepared->trace, n_steps);
  while (state->n_done < n_steps)
    {
      IrTraceItem *item = &g_array_index (trace, IrTraceItem, state->n_done);
      IrRunStep *step = &prepared->steps[state->n_done];
      const IrScheduleSpan *span = ir_parallel_span (state, state->n_done);
      state->node = step->node;
      if (span != NULL)
        {
          spans = TRUE;
          if (!run_span (state, span, error))
            break;
          start_ns = ir_run_elapsed_ns (state);
          continue;
        }
      IrDeviceGraph *graph = ir_device_graphs_at (state, state->n_done);
      gboolean asked = FALSE;
      if (graph != NULL && !run_graph (state, graph, &asked, error))
        break;
      if (asked)
        {
          start_ns = ir_run_elapsed_ns (state);
          continue;
        }
      if (is_late (state, start_ns) && !ir_run_check (state, step->node, error))
        break;
      state->step_ns = start_ns;
      if (!run_step (state, step, error))
        break;
      item->by_ref = !step->bound || state->diverged ? state->by_ref
                                                     : !step->no_op && step->call.by_ref;
      item->start_ns = start_ns;
      item->end_ns = start_ns = ir_run_elapsed_ns (state);
      if (state->plan_check != NULL)
        ir_plan_check_steps (state, state->n_done, state->n_done + 1);
      release_values (state, state->n_done++);
      ir_run_tell (state, state->n_done, n_steps, step->node);
    }
  gboolean good = state->n_done == n_steps;
  good = ir_streams_finish (state, good ? error : NULL) && good;
  if (good)
    ir_device_graphs_allow (state);
  good = ir_device_clock_read (state, trace, good ? error : NULL) && good &&
         ir_observer_end (observer, state, error);
  g_array_set_size (trace, state->n_done);
  ir_run_adopt (state, state->n_done);
  if (spans)
    g_array_sort (trace, compare_starts);
  return good;
}
