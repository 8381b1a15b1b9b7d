/* The runner: follows the schedule node by node. Intermediate values lie in one arena where the
 * memory plan put them; what is captured, what leaves the run, and what had no known size lies on
 * the heap and is let go after its last use. No tensor that is handed out refers to the arena. */
#include "config.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/exec/pages.h"
#include "core/exec/parallel.h"
#include "core/exec/tune.h"
#include "core/io/io.h"
#include "core/op/infer.h"

struct _IrExecutable
{
  IrModel *base; /* a private copy without function calls */
  IrModel *source;
  IrRunOptions options;
  IrThreads *threads;
  IrPacked *packed;     /* what kernels make of constants */
  GPtrArray *plans;     /* of IrPrepared, by shapes of inputs, that of the last run first */
  IrPrepared *prepared; /* (nullable) the one of them for the shapes of the last run */
  guint64 constant_bytes;
};

#define MAX_PLANS 4 /* that are kept for shapes that may come again */

static gint64
now_ns (void)
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
  return now_ns () - state->start_ns;
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
  ir_run_state_publish (state, value, tensor);
  return TRUE;
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
  /* The finalizer of SplitMix64 (Steele, Lea and Flood 2014) spreads what differs in few bits. */
  seed = (seed ^ (seed >> 30)) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  seed = (seed ^ (seed >> 27)) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  return seed ^ (seed >> 31);
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

/* The main graph: by the schedule, letting values go after their last use. */
static gboolean
run_schedule (IrRunState *state, GError **error)
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

/* -- inputs -- */

static gboolean input_error (const IrValue *input, GError **error, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

static gboolean
input_error (const IrValue *input, GError **error, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *found = g_strdup_vprintf (format, args);
  va_end (args);
  g_autofree char *needed = input->type != NULL
                                ? ir_type_to_string (input->graph->model->context, input->type)
                                : g_strdup ("a tensor");
  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT, "input %s: %s, needed is %s", input->name,
               found, needed);
  return FALSE;
}

/* Whether the tensor fits the declared type; equal symbols must get equal sizes. */
static gboolean
check_input (const IrValue *input, const IrTensor *tensor, GHashTable *symbols, GError **error)
{
  const IrType *type = input->type;
  IrContext *context = input->graph->model->context;

  if (type == NULL)
    return TRUE;
  g_autofree char *found = ir_type_to_string (context, ir_tensor_type (tensor, context));
  if (!ir_type_is_tensor (type))
    return ir_type_merge (context, type, ir_tensor_type (tensor, context)) != NULL ||
           input_error (input, error, "found %s, which is not of this kind", found);
  if (ir_tensor_is_container (tensor))
    return input_error (input, error, "found %s", found);
  if (type->dtype != IR_DTYPE_UNDEFINED && type->dtype != ir_tensor_dtype (tensor))
    return input_error (input, error, "found %s", found);
  if (type->rank == IR_RANK_UNKNOWN)
    return TRUE;
  if ((guint) type->rank != ir_tensor_rank (tensor))
    return input_error (input, error, "found %s", found);
  for (guint i = 0; i < ir_tensor_rank (tensor); i++)
    {
      gint64 size = ir_tensor_dims (tensor)[i];
      if (ir_dim_is_known (type->dims[i]) && type->dims[i] != size)
        return input_error (input, error, "found %s", found);
      if (!ir_dim_is_symbolic (type->dims[i]))
        continue;
      gint64 *bound = g_hash_table_lookup (symbols, GINT_TO_POINTER (type->dims[i]));
      if (bound != NULL && *bound != size)
        {
          g_autofree char *symbol = ir_dim_to_string (context, type->dims[i]);
          return input_error (input, error,
                              "found %s, but another input of this run has %s = %" G_GINT64_FORMAT,
                              found, symbol, *bound);
        }
      if (bound == NULL)
        g_hash_table_insert (symbols, GINT_TO_POINTER (type->dims[i]),
                             g_memdup2 (&size, sizeof size));
    }
  return TRUE;
}

static gboolean
check_ids (const IrGraph *graph, GHashTable *inputs, GError **error)
{
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, inputs);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    {
      const IrValue *value = ir_model_live_value (graph->model, GPOINTER_TO_UINT (key));
      if (value == NULL || !ir_graph_has_input (graph, value))
        {
          g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                       "%s is not an input of the graph; “irscope info” lists the inputs",
                       value != NULL ? value->name : "A given value");
          return FALSE;
        }
      if (ir_value_constant (value) != NULL)
        return input_error (value, error, "it is a constant of the model and cannot be given");
    }
  return TRUE;
}

/* Checks all inputs and makes the key that says for which shapes a plan holds. */
static char *
check_inputs (const IrGraph *graph, GHashTable *inputs, GError **error)
{
  g_autoptr (GHashTable) symbols = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  g_autoptr (GString) key = g_string_new (NULL);

  if (!check_ids (graph, inputs, error))
    return NULL;
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    {
      const IrValue *input = ir_graph_input (graph, i);
      const IrTensor *tensor = input != NULL
                                   ? g_hash_table_lookup (inputs, GUINT_TO_POINTER (input->id))
                                   : NULL;
      if (input == NULL || (tensor == NULL && input->initializer != NULL))
        continue;
      if (tensor == NULL)
        {
          input_error (input, error, "no tensor is given");
          return NULL;
        }
      if (!check_input (input, tensor, symbols, error))
        return NULL;
      IrContext *context = graph->model->context;
      g_autofree char *type = ir_type_to_string (context, ir_tensor_type (tensor, context));
      g_string_append_printf (key, "%u %s\n", input->id, type);
    }
  return g_string_free (g_steal_pointer (&key), FALSE);
}

/* -- a run -- */

static IrRun *
run_new (IrPrepared *prepared, const IrRunOptions *options, GHashTable *inputs)
{
  IrRun *run = g_new0 (IrRun, 1);

  g_atomic_ref_count_init (&run->ref_count);
  g_mutex_init (&run->presenting);
  run->model = ir_model_ref (prepared->model);
  run->values = g_new0 (IrTensor *, prepared->n_values + 1);
  run->n_values = prepared->n_values;
  run->capture = ir_capture_new (options, inputs);
  run->stats = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  run->schedule = ir_schedule_ref (prepared->schedule);
  run->memplan = ir_mem_plan_ref (prepared->memplan);
  run->trace = g_new0 (IrTrace, 1);
  g_atomic_ref_count_init (&run->trace->ref_count);
  run->trace->items = g_array_new (FALSE, FALSE, sizeof (IrTraceItem));
  return run;
}

static gboolean
make_arena (IrPrepared *prepared, gsize memory_limit, GError **error)
{
  const IrMemPlan *plan = prepared->memplan;

  if (prepared->arena != NULL || plan->peak_bytes == 0)
    return TRUE;
  if (plan->peak_bytes <= memory_limit)
    prepared->arena = ir_pages_new (plan->peak_bytes);
  if (prepared->arena == NULL)
    {
      g_autofree char *needed = g_format_size (plan->peak_bytes);
      g_autofree char *limit = g_format_size (memory_limit);
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_MEMORY,
                   "The values between the nodes need %s at once, the limit is %s; use smaller "
                   "inputs or raise the limit",
                   needed, limit);
      return FALSE;
    }
  return TRUE;
}

static void
state_clear (IrRunState *state)
{
  for (guint id = 0; id < state->prepared->n_values; id++)
    if (state->tensors[id] != NULL && !ir_steps_holds (state->prepared, id, state->tensors[id]))
      ir_tensor_unref (state->tensors[id]);
  g_hash_table_unref (state->charges);
  g_clear_pointer (&state->draws, g_hash_table_unref);
  g_free (state->tensors);
  g_free (state->ran);
}

/* Who executed the nodes that ran at least once. */
static void
count_nodes (const IrRunState *state)
{
  const IrPrepared *prepared = state->prepared;

  for (guint id = 0; id < prepared->n_nodes; id++)
    {
      const IrNodePlan *plan = &prepared->nodes[id];
      if (!state->ran[id])
        continue;
      if (plan->kernel == NULL)
        state->run->n_control++;
      else if (plan->backend == state->options->backend)
        state->run->n_own++;
      else
        state->run->n_fallback++;
    }
}

static gboolean
run_state (IrRunState *state, GHashTable *inputs, GError **error)
{
  gboolean done = ir_steps_begin (state, inputs, error) && run_schedule (state, error);
  count_nodes (state);
  state->run->trace->duration_ns = now_ns () - state->start_ns;
  state->run->trace->peak_bytes = state->peak_bytes;
  guint64 align = state->prepared->memplan->align_bytes;
  state->run->trace->arena_bytes = (state->arena_bytes + align - 1) / align * align;
  return done;
}

/* Captured values have a budget of their own unless the user has set a limit on everything. */
static gsize
memory_limit (const IrExecutable *executable)
{
  return executable->options.memory_limit != 0
             ? executable->options.memory_limit
             : ir_exec_default_memory_limit () + ir_capture_budget (&executable->options);
}

static guint64
constant_bytes (const IrModel *model)
{
  guint64 bytes = 0;

  for (guint i = 1; i < model->values->len; i++)
    {
      const IrValue *value = model->values->pdata[i];
      if (value->state == IR_STATE_LIVE && value->initializer != NULL)
        bytes += ir_tensor_n_bytes (value->initializer);
    }
  return bytes;
}

/* Leaves room for one more. Plans that wait for their shapes to come again, with an arena and
 * packed constants each, hold at most half of the memory that a run may use. */
static void
forget_plans (IrExecutable *executable)
{
  GPtrArray *plans = executable->plans;
  guint64 held = 0;
  guint n = 0;

  for (; n < MIN (plans->len, MAX_PLANS - 1); n++)
    {
      held += ((IrPrepared *) plans->pdata[n])->memplan->peak_bytes + executable->constant_bytes;
      if (held > memory_limit (executable) / 2)
        break;
    }
  g_ptr_array_set_size (plans, (gint) n);
}

static IrPrepared *
find_plan (IrExecutable *executable, const char *shapes)
{
  GPtrArray *plans = executable->plans;

  for (guint i = 0; i < plans->len; i++)
    if (strcmp (((IrPrepared *) plans->pdata[i])->shapes, shapes) == 0)
      {
        IrPrepared *found = g_ptr_array_steal_index (plans, i);
        g_ptr_array_insert (plans, 0, found);
        return found;
      }
  return NULL;
}

static gboolean
prepare (IrExecutable *executable, GHashTable *inputs, GError **error)
{
  g_autofree char *shapes = check_inputs (executable->base->main, inputs, error);

  if (shapes == NULL)
    return FALSE;
  if (executable->prepared == NULL || strcmp (executable->prepared->shapes, shapes) != 0)
    executable->prepared = find_plan (executable, shapes);
  if (executable->prepared == NULL)
    {
      forget_plans (executable);
      executable->prepared = ir_prepared_new (
          executable->base, inputs, executable->options.backend, ir_threads_n (executable->threads),
          executable->options.parallel, executable->packed, g_steal_pointer (&shapes), error);
      if (executable->prepared != NULL)
        g_ptr_array_insert (executable->plans, 0, executable->prepared);
    }
  return executable->prepared != NULL && ir_tuner_next (executable->prepared, error) &&
         make_arena (executable->prepared, memory_limit (executable), error) &&
         ir_steps_make (executable->prepared, &executable->options, memory_limit (executable),
                        error);
}

/**
 * ir_executable_new:
 * @model: the model to run; it may be edited later, the executable keeps what it is now
 * @options: (nullable): how to run; %NULL: all defaults
 * @error: return location for an error
 *
 * Takes a private copy of @model, expands the functions that it defines, and finds a kernel for
 * every node, so that what cannot run is said before inputs are asked for.
 *
 * Fails with %IR_EXEC_ERROR_UNSUPPORTED, naming the first node that cannot run, and with an
 * %IR_IO_ERROR if the file under @model has changed.
 *
 * Returns: (transfer full) (nullable): the executable; to be used by one thread at a time
 */
IrExecutable *
ir_executable_new (IrModel *model, const IrRunOptions *options, GError **error)
{
  g_return_val_if_fail (model != NULL, NULL);
  g_autoptr (IrExecutable) executable = g_new0 (IrExecutable, 1);

  if (!ir_model_check_file (model, error))
    return NULL;
  if (options != NULL)
    executable->options = *options;
  if (executable->options.chosen != NULL)
    g_array_ref (executable->options.chosen);
  if (executable->options.backend == NULL)
    executable->options.backend = ir_backend_require (NULL, NULL);
  executable->source = ir_model_ref (model);
  executable->base = ir_exec_expand (model, error);
  if (executable->base == NULL)
    return NULL;
  executable->plans = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_prepared_free);
  executable->constant_bytes = constant_bytes (executable->base);
  executable->packed = ir_packed_new ();
  executable->threads = ir_threads_new (executable->options.n_threads);
  ir_threads_set_deterministic (executable->threads, executable->options.deterministic);
  g_autoptr (IrSchedule)
      schedule = ir_schedule_new (executable->base, executable->options.backend, 1, error);
  return schedule != NULL ? g_steal_pointer (&executable) : NULL;
}

/**
 * ir_executable_free:
 * @executable: (transfer full) (nullable): an executable
 */
void
ir_executable_free (IrExecutable *executable)
{
  if (executable == NULL)
    return;
  g_clear_pointer (&executable->plans, g_ptr_array_unref);
  g_clear_pointer (&executable->options.chosen, g_array_unref);
  ir_threads_free (executable->threads);
  ir_packed_unref (executable->packed);
  g_clear_pointer (&executable->base, ir_model_unref);
  g_clear_pointer (&executable->source, ir_model_unref);
  g_free (executable);
}

/**
 * ir_executable_prepare:
 * @executable: an executable
 * @inputs: value id -> #IrTensor; overridable inputs may be left out
 * @error: return location for an error
 *
 * Makes the plan for the shapes of @inputs: types, schedule, memory, packed weights. A run with
 * inputs of these shapes then only runs.
 *
 * Fails with an %IR_EXEC_ERROR; the message names the input or the node.
 *
 * Returns: %TRUE if the plan is there
 */
gboolean
ir_executable_prepare (IrExecutable *executable, GHashTable *inputs, GError **error)
{
  g_return_val_if_fail (executable != NULL && inputs != NULL, FALSE);

  return ir_model_check_file (executable->source, error) && prepare (executable, inputs, error);
}

/**
 * ir_executable_run:
 * @executable: an executable
 * @inputs: value id -> #IrTensor; overridable inputs may be left out
 * @cancellable: (nullable): looked at between nodes, and inside kernels that take long
 * @partial: (out) (optional) (nullable) (transfer full): where a node failed, the run up to there
 * @error: return location for an error
 *
 * Runs once. The plan is made anew when the shapes of the inputs differ from those of the last run.
 *
 * Fails with an %IR_EXEC_ERROR; the message names the input or the node.
 *
 * Returns: (transfer full) (nullable): the run
 */
IrRun *
ir_executable_run (IrExecutable *executable,
                   GHashTable *inputs,
                   GCancellable *cancellable,
                   IrRun **partial,
                   GError **error)
{
  g_return_val_if_fail (executable != NULL && inputs != NULL, NULL);
  g_autoptr (GError) local = NULL;

  if (partial != NULL)
    *partial = NULL;
  if (!ir_model_check_file (executable->source, error) || !prepare (executable, inputs, error))
    return NULL;
  IrPrepared *prepared = executable->prepared;
  g_autoptr (IrRun) run = run_new (prepared, &executable->options, inputs);
  IrRunState state = {
    .options = &executable->options,
    .prepared = prepared,
    .threads = executable->threads,
    .cancellable = cancellable,
    .run = run,
    .tensors = g_new0 (IrTensor *, prepared->n_values + 1),
    .keep = prepared->keep,
    .ran = g_new0 (guint8, prepared->n_nodes + 1),
    .charges = g_hash_table_new_full (NULL, NULL, NULL, g_free),
    .memory_limit = memory_limit (executable),
    .capture_budget = ir_capture_budget (&executable->options),
    .kept_bytes = prepared->kept_bytes,
    .start_ns = now_ns (),
  };
  state.watch.looked = executable->options.looked;
  state.watch.looked_data = executable->options.looked_data;
  guint time_limit_ms = executable->options.time_limit_ms > 0 ? executable->options.time_limit_ms
                                                              : IR_RUN_DEFAULT_TIME_MS;
  if (time_limit_ms != G_MAXUINT)
    state.watch.deadline_us = g_get_monotonic_time () + (gint64) time_limit_ms * 1000;
  state.output_limit = executable->options.output_limit != 0 ? executable->options.output_limit
                                                             : ir_exec_default_memory_limit ();
  gboolean done = run_state (&state, inputs, &local);
  state_clear (&state);
  /* Contents from a file that changed meanwhile are worth nothing. */
  if (done && !ir_model_check_file (executable->source, error))
    return NULL;
  if (done)
    {
      ir_tuner_note (prepared, run->trace);
      return g_steal_pointer (&run);
    }
  run->error = g_error_copy (local);
  g_propagate_error (error, g_steal_pointer (&local));
  if (partial != NULL)
    *partial = g_steal_pointer (&run);
  return NULL;
}

/**
 * ir_run_ref:
 * @run: a run
 *
 * Returns: (transfer full): @run
 */
IrRun *
ir_run_ref (IrRun *run)
{
  g_atomic_ref_count_inc (&run->ref_count);
  return run;
}

/**
 * ir_run_unref:
 * @run: (transfer full) (nullable): a run
 */
void
ir_run_unref (IrRun *run)
{
  if (run == NULL || !g_atomic_ref_count_dec (&run->ref_count))
    return;
  ir_capture_drop_values (run);
  g_free (run->values);
  g_hash_table_unref (run->stats);
  ir_capture_free (run->capture);
  g_mutex_clear (&run->presenting);
  ir_trace_unref (run->trace);
  ir_schedule_unref (run->schedule);
  ir_mem_plan_unref (run->memplan);
  g_clear_error (&run->error);
  ir_model_unref (run->model);
  g_free (run);
}

/**
 * ir_model_run:
 * @model: a model
 * @inputs: value id -> #IrTensor
 * @options: (nullable): how to run
 * @cancellable: (nullable): looked at between nodes
 * @error: return location for an error
 *
 * Prepares, runs once and frees.
 *
 * Returns: (transfer full) (nullable): the run
 */
IrRun *
ir_model_run (IrModel *model,
              GHashTable *inputs,
              const IrRunOptions *options,
              GCancellable *cancellable,
              GError **error)
{
  g_autoptr (IrExecutable) executable = ir_executable_new (model, options, error);

  return executable != NULL ? ir_executable_run (executable, inputs, cancellable, NULL, error)
                            : NULL;
}
