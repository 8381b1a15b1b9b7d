/* A replay uses the kernels, layouts and number of threads of the run, so that it gives the same
 * bits. From the node that makes the value it walks backwards until every path ends at something
 * known, then runs what it came through in the order of the schedule and lets go of what nobody
 * reads any more. A value in a body is had by running the node of the main graph that owns the
 * body: it is that of the last round.
 *
 * What was computed stays for the next query, up to a part of memory; the oldest goes first. */
#include "config.h"

#include "core/exec/replay/replay.h"

#include "core/exec/run/state.h"

#define CACHE_SHARE 4 /* of the budget of captured values that is for what was computed again */

struct _IrReplay
{
  IrRunOptions options;
  GHashTable *inputs; /* value id -> IrTensor */
  IrPrepared *prepared;
  IrThreads threads, lane; /* lane: one thread, for nodes that ran concurrently */
  const IrRun *run;        /* (nullable) (unowned) whose bits are wanted */
  IrReplayKnown known;
  gpointer data;
  GPtrArray *callers;  /* of IrNode: of the main graph, those that call functions by closures */
  gboolean calls_draw; /* random numbers, by how often the function was called before */
  GHashTable *cache;   /* value id -> IrTensor, as kernels left it */
  GQueue order;        /* ids in the cache, oldest first */
  guint64 cache_bytes, cache_limit;
};

/* One query. */
typedef struct
{
  IrReplay *replay;
  IrRunState state;
  IrRun run;      /* holds a value of a body, and the state of failures */
  GArray *kept;   /* (nullable) of IrValueId: values of bodies, while they are asked for */
  guint8 *needed; /* by node id */
  guint *uses;    /* by value id: needed nodes that are still to read it */
  IrFound *found;
} Query;

/* -- what calls functions by closures -- */

static gboolean
has_node (const IrGraph *graph, gboolean (*is) (const IrNode *node))
{
  guint n_nodes;
  IrNode *const *nodes = ir_graph_order (graph, &n_nodes);

  for (guint i = 0; i < n_nodes; i++)
    {
      g_autoptr (GPtrArray) inside = ir_node_subgraphs (nodes[i]);
      if (is (nodes[i]))
        return TRUE;
      for (guint k = 0; k < inside->len; k++)
        if (has_node (inside->pdata[k], is))
          return TRUE;
    }
  return FALSE;
}

static gboolean
has_node_inside (const IrNode *node, gboolean (*is) (const IrNode *node))
{
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);

  for (guint i = 0; i < graphs->len; i++)
    if (has_node (graphs->pdata[i], is))
      return TRUE;
  return FALSE;
}

static gboolean
is_call (const IrNode *node)
{
  return ir_op_is (node, IR_OP_CLOSURE_CALL);
}

static gboolean
draws (const IrNode *node)
{
  return node->op != NULL && (node->op->flags & IR_OP_RANDOM) != 0;
}

static void
find_callers (IrReplay *replay, const IrModel *model)
{
  guint n_nodes;
  IrNode *const *nodes = ir_graph_order (model->main, &n_nodes);

  replay->callers = g_ptr_array_new ();
  for (guint i = 0; i < n_nodes; i++)
    if (ir_op_is (nodes[i], IR_OP_FUNCTIONS))
      replay->calls_draw = has_node_inside (nodes[i], draws);
    else if (is_call (nodes[i]) || has_node_inside (nodes[i], is_call))
      g_ptr_array_add (replay->callers, nodes[i]);
}

/**
 * ir_replay_new:
 * @frozen: a model without function calls, with concrete shapes
 * @schedule: of it
 * @options: back end, threads, limits and seed of the run
 * @inputs: value id -> #IrTensor
 * @known: says what is there already
 * @data: for @known
 * @error: return location for an error
 *
 * Fails with %IR_EXEC_ERROR_UNSUPPORTED where a node has no kernel.
 *
 * Returns: (transfer full) (nullable): a replay; to be used by one thread at a time
 */
IrReplay *
ir_replay_new (IrModel *frozen,
               IrSchedule *schedule,
               const IrRunOptions *options,
               GHashTable *inputs,
               IrReplayKnown known,
               gpointer data,
               GError **error)
{
  g_autoptr (IrReplay) replay = g_new0 (IrReplay, 1);

  replay->options = *options;
  replay->options.capture = IR_CAPTURE_NONE;
  replay->options.chosen = NULL;
  replay->options.progress = NULL;
  replay->options.time_limit_ms = 0;
  replay->inputs = g_hash_table_ref (inputs);
  replay->known = known;
  replay->data = data;
  replay->cache = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_tensor_unref);
  replay->cache_limit = ir_capture_budget (options) / CACHE_SHARE;
  replay->prepared = ir_prepared_new_bare (frozen, schedule, error);
  if (replay->prepared == NULL)
    return NULL;
  replay->prepared->control = ir_subgraph_run;
  find_callers (replay, frozen);
  replay->threads = ir_threads_of (options->n_threads, options->deterministic);
  replay->lane = ir_threads_of (1, options->deterministic);
  return g_steal_pointer (&replay);
}

/**
 * ir_replay_set_run:
 * @replay: a replay
 * @run: (transfer none): the run whose bits it is to give; has to live as long
 *
 * Nodes that ran concurrently in @run, each on one thread, do so again.
 */
void
ir_replay_set_run (IrReplay *replay, const IrRun *run)
{
  replay->run = run;
}

/**
 * ir_replay_free:
 * @replay: (transfer full) (nullable): a replay
 */
void
ir_replay_free (IrReplay *replay)
{
  if (replay == NULL)
    return;
  g_queue_clear (&replay->order);
  g_clear_pointer (&replay->cache, g_hash_table_unref);
  g_clear_pointer (&replay->callers, g_ptr_array_unref);
  g_clear_pointer (&replay->prepared, ir_prepared_free);
  g_clear_pointer (&replay->inputs, g_hash_table_unref);
  g_free (replay);
}

/* -- what reads what -- */

static void
add_outer_reads (GPtrArray *reads, const IrGraph *main, const IrGraph *inner)
{
  guint n_nodes;
  IrNode *const *nodes = ir_graph_order (inner, &n_nodes);

  for (guint i = 0; i < n_nodes; i++)
    {
      ir_node_for_each_input (nodes[i], slot, value)
        {
          if (value->graph == main)
            g_ptr_array_add (reads, value);
        }
      g_autoptr (GPtrArray) deeper = ir_node_subgraphs (nodes[i]);
      for (guint k = 0; deeper != NULL && k < deeper->len; k++)
        add_outer_reads (reads, main, g_ptr_array_index (deeper, k));
    }
  for (guint i = 0; i < ir_graph_n_outputs (inner); i++)
    {
      IrValue *output = ir_graph_output (inner, i);
      if (output != NULL && output->graph == main)
        g_ptr_array_add (reads, output);
    }
}

/**
 * ir_replay_reads:
 * @node: a node
 *
 * Returns: (transfer container): values of the graph of @node that it reads, those that its bodies
 *   read included; some may be there twice
 */
GPtrArray *
ir_replay_reads (const IrNode *node)
{
  GPtrArray *reads = g_ptr_array_new ();
  g_autoptr (GPtrArray) subgraphs = ir_node_subgraphs (node);

  ir_node_for_each_input (node, slot, value)
    g_ptr_array_add (reads, value);
  for (guint i = 0; subgraphs != NULL && i < subgraphs->len; i++)
    add_outer_reads (reads, node->graph, g_ptr_array_index (subgraphs, i));
  return reads;
}

/* (nullable) The node of the main graph that is @node of @graph, or around it */
static const IrNode *
producer_of (const IrGraph *graph, const IrNode *node)
{
  while (graph != NULL && graph->kind == IR_GRAPH_SUBGRAPH)
    {
      node = ir_model_live_node (graph->model, graph->owner);
      graph = node != NULL ? node->graph : NULL;
    }
  return graph != NULL && graph->kind == IR_GRAPH_MAIN ? node : NULL;
}

/**
 * ir_replay_producer:
 * @value: a value
 *
 * Returns: (transfer none) (nullable): the node of the main graph that makes it, or around the body
 *   in which it is made
 */
const IrNode *
ir_replay_producer (const IrValue *value)
{
  return producer_of (value->graph, value->producer);
}

/* -- what is there -- */

/* As the graph has them. (transfer full) */
static IrTensor *
to_plain (const IrReplay *replay, const IrValue *value, IrTensor *tensor, GError **error)
{
  if (ir_schedule_block (replay->prepared->schedule, value) == 0 ||
      ir_tensor_rank (tensor) == (guint) value->type->rank)
    return ir_tensor_ref (tensor);
  return ir_nchwc_to_graph (tensor, value->type, error);
}

/* (transfer full) (nullable) NULL without an error: it has to be computed. */
static IrTensor *
lookup (IrReplay *replay, const IrValue *value, GCancellable *cancellable, GError **error)
{
  gpointer key = GUINT_TO_POINTER (value->id);
  IrTensor *tensor = g_hash_table_lookup (replay->cache, key);

  if (tensor == NULL)
    tensor = g_hash_table_lookup (replay->inputs, key);
  if (tensor != NULL)
    return ir_tensor_ref (tensor);
  if (value->initializer != NULL && ir_tensor_sparse_values (value->initializer) != NULL)
    return ir_tensor_densify (value->initializer, error);
  if (value->initializer != NULL)
    return ir_tensor_ref (value->initializer);
  g_autoptr (IrTensor) known = replay->known (value, cancellable, replay->data);
  return known != NULL ? ir_run_layout_for_kernels (replay->prepared->schedule, value, known, error)
                       : NULL;
}

static void
remember (IrReplay *replay, IrValueId id, IrTensor *tensor)
{
  gpointer key = GUINT_TO_POINTER (id);
  guint64 bytes = ir_tensor_n_bytes (tensor);

  if (bytes > replay->cache_limit || g_hash_table_contains (replay->cache, key))
    return;
  replay->cache_bytes += bytes;
  g_hash_table_insert (replay->cache, key, ir_tensor_ref (tensor));
  g_queue_push_tail (&replay->order, key);
  while (replay->cache_bytes > replay->cache_limit)
    {
      gpointer oldest = g_queue_pop_head (&replay->order);
      replay->cache_bytes -= ir_tensor_n_bytes (g_hash_table_lookup (replay->cache, oldest));
      g_hash_table_remove (replay->cache, oldest);
    }
}

/* -- one query -- */

static void
query_init (Query *query, IrReplay *replay, GCancellable *cancellable, IrFound *found)
{
  IrPrepared *prepared = replay->prepared;
  const IrRunOptions *options = &replay->options;
  gsize limit = ir_exec_default_memory_limit ();

  *query = (Query){ .replay = replay, .found = found };
  query->run.model = prepared->model;
  query->run.schedule = prepared->schedule;
  query->run.n_values = prepared->n_values;
  query->run.values = g_new0 (IrTensor *, prepared->n_values + 1);
  query->needed = g_new0 (guint8, prepared->n_nodes + 1);
  query->uses = g_new0 (guint, prepared->n_values + 1);
  query->state = (IrRunState){
    .options = options,
    .prepared = prepared,
    .threads = replay->threads,
    .cancellable = cancellable,
    .run = &query->run,
    .tensors = g_new0 (IrTensor *, prepared->n_values + 1),
    .ran = g_new0 (guint8, prepared->n_nodes + 1),
    .account = ir_account_new (),
    .memory_limit = options->memory_limit != 0 ? options->memory_limit : limit,
    .output_limit = options->output_limit != 0 ? options->output_limit : limit,
  };
}

static void
query_clear (Query *query)
{
  IrRunState *state = &query->state;

  if (state->prepared == NULL)
    return;
  for (guint i = 0; query->kept != NULL && i < query->kept->len; i++)
    state->prepared->values[g_array_index (query->kept, IrValueId, i)].keep = IR_KEEP_NOT;
  g_clear_pointer (&query->kept, g_array_unref);
  for (guint id = 0; id < state->prepared->n_values; id++)
    {
      g_clear_pointer (&state->tensors[id], ir_tensor_unref);
      g_clear_pointer (&query->run.values[id], ir_tensor_unref);
    }
  ir_account_free (state->account);
  g_clear_pointer (&state->draws, g_hash_table_unref);
  ir_body_calls_free (state->body_calls, state->prepared->n_nodes);
  g_clear_pointer (&state->token_programs, g_hash_table_unref);
  ir_run_free_calls (state);
  g_clear_pointer (&query->run.iterations, ir_iteration_values_free);
  g_free (state->tensors);
  g_free (state->ran);
  g_free (query->run.values);
  g_free (query->needed);
  g_free (query->uses);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Query, query_clear)

static void
keep (Query *query, IrValueId value)
{
  if (query->kept == NULL)
    query->kept = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  if (query->replay->prepared->values[value].keep != IR_KEEP_NOT)
    return;
  query->replay->prepared->values[value].keep = IR_KEEP_PLANNED;
  g_array_append_val (query->kept, value);
}

static void
need (Query *query, const IrNode *node, GPtrArray *todo)
{
  if (query->needed[node->id])
    return;
  query->needed[node->id] = TRUE;
  g_ptr_array_add (todo, (gpointer) node);
}

/* FALSE: it depends on something that nobody knows. */
static gboolean
take_read (Query *query, const IrValue *value, GPtrArray *todo, GError **error)
{
  IrRunState *state = &query->state;
  g_autoptr (GError) local = NULL;

  if (query->uses[value->id]++ > 0)
    return TRUE;
  if (ir_value_constant (value) != NULL && value->producer != NULL) /* of a Constant node */
    ir_run_state_set (state, value, (IrTensor *) ir_value_constant (value));
  if (ir_value_constant (value) != NULL)
    return TRUE;
  g_autoptr (IrTensor) tensor = lookup (query->replay, value, state->cancellable, &local);
  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (tensor != NULL)
    {
      ir_run_state_set (state, value, tensor);
      g_ptr_array_add (query->found->from, g_strdup (value->name));
      return TRUE;
    }
  if (value->producer == NULL)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT, "the contents of %s are not known",
                   value->name);
      return FALSE;
    }
  need (query, value->producer, todo);
  return TRUE;
}

/* Everything between @producer and what is known. What functions compute, all do that call them; and where what they
 * draw hangs on how often they were called before, none of the calls can be left out. */
static gboolean
find_needed (Query *query, const IrNode *producer, GError **error)
{
  const IrReplay *replay = query->replay;
  g_autoptr (GPtrArray) todo = g_ptr_array_new ();

  need (query, producer, todo);
  while (todo->len > 0)
    {
      const IrNode *node = g_ptr_array_steal_index_fast (todo, todo->len - 1);
      g_autoptr (GPtrArray) reads = ir_replay_reads (node);
      for (guint i = 0; i < reads->len; i++)
        if (!take_read (query, g_ptr_array_index (reads, i), todo, error))
          return FALSE;
      if (ir_op_is (node, IR_OP_FUNCTIONS) ||
          (replay->calls_draw && g_ptr_array_find (replay->callers, node, NULL)))
        for (guint i = 0; i < replay->callers->len; i++)
          need (query, replay->callers->pdata[i], todo);
    }
  return TRUE;
}

/* What it stacks has no rows of the iterations before. */
static gboolean
went_on_in (const Query *query, const IrNode *node)
{
  const IrResume *resume = query->state.resume;
  const IrNode *loop = resume != NULL && resume->from != NULL
                           ? ir_model_node (node->graph->model, resume->loop)
                           : NULL;

  return loop != NULL && node == producer_of (loop->graph, loop);
}

static void
let_go (Query *query, const IrNode *node, IrValueId wanted)
{
  g_autoptr (GPtrArray) reads = ir_replay_reads (node);

  for (guint i = 0; i < reads->len; i++)
    {
      const IrValue *value = g_ptr_array_index (reads, i);
      if (--query->uses[value->id] == 0 && value->id != wanted)
        ir_run_state_drop (&query->state, value);
    }
  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrValue *value = node->outputs[i];
      if (value == NULL || query->state.tensors[value->id] == NULL)
        continue;
      if (!went_on_in (query, node))
        remember (query->replay, value->id, query->state.tensors[value->id]);
      if (query->uses[value->id] == 0 && value->id != wanted)
        ir_run_state_drop (&query->state, value);
    }
}

static gboolean
run_needed (Query *query, IrValueId wanted, GError **error)
{
  IrPrepared *prepared = query->replay->prepared;
  const GArray *items = prepared->schedule->items;

  for (guint i = 0; i < items->len; i++)
    {
      IrNodeId id = g_array_index (items, IrScheduleItem, i).node;
      const IrNode *node = ir_model_node (prepared->model, id);
      if (!query->needed[id])
        continue;
      query->state.threads = query->replay->run != NULL &&
                                     ir_capture_is_concurrent (query->replay->run, id)
                                 ? query->replay->lane
                                 : query->replay->threads;
      gboolean done = ir_prepared_ready (prepared, id, error) &&
                      ir_run_node (&query->state, node, error);
      ir_prepared_unready (prepared, id);
      if (!done)
        return FALSE;
      query->found->n_nodes++;
      let_go (query, node, wanted);
    }
  return TRUE;
}

static IrTensor *
compute (Query *query, const IrValue *value, const IrNode *producer, GError **error)
{
  IrReplay *replay = query->replay;
  gint64 start_us = g_get_monotonic_time ();

  if (value->graph->kind == IR_GRAPH_SUBGRAPH)
    keep (query, value->id);
  query->found->from = g_ptr_array_new_with_free_func (g_free);
  if (!find_needed (query, producer, error) || !run_needed (query, value->id, error))
    return NULL;
  IrTensor *tensor = query->run.values[value->id] != NULL ? query->run.values[value->id]
                                                          : query->state.tensors[value->id];
  if (tensor == NULL)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED,
                   "%s has no contents: the run did not come through the body that it lies in",
                   value->name);
      return NULL;
    }
  if (value->graph->kind == IR_GRAPH_SUBGRAPH)
    remember (replay, value->id, tensor);
  query->found->how = IR_FOUND_COMPUTED;
  query->found->duration_ns = (g_get_monotonic_time () - start_us) * 1000;
  return to_plain (replay, value, tensor, error);
}

/**
 * ir_replay_find:
 * @replay: a replay
 * @value: a value of its model
 * @cancellable: (nullable): looked at between nodes, and inside kernels that take long
 * @found: gets how the contents were had, where they had to be computed; what was computed for an
 *   earlier query costs no node any more
 * @error: return location for an error
 *
 * Fails with an %IR_EXEC_ERROR where the run did not come through @value, depends on what is not
 * known, or a node fails.
 *
 * Returns: (transfer full) (nullable): the contents, as the graph has them
 */
IrTensor *
ir_replay_find (IrReplay *replay,
                const IrValue *value,
                GCancellable *cancellable,
                IrFound *found,
                GError **error)
{
  const IrNode *producer = ir_replay_producer (value);
  IrTensor *cached = g_hash_table_lookup (replay->cache, GUINT_TO_POINTER (value->id));
  g_auto (Query) query = { 0 };

  found->in_body = value->graph->kind == IR_GRAPH_SUBGRAPH;
  if (cached != NULL)
    {
      found->how = IR_FOUND_COMPUTED;
      return to_plain (replay, value, cached, error);
    }
  query_init (&query, replay, cancellable, found);
  if (producer == NULL)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED,
                   "%s was not computed: it is no part of the graph that runs", value->name);
      return NULL;
    }
  return compute (&query, value, producer, error);
}

/* -- one iteration -- */

/* Runs what leads to the loop in @producer, and that from a checkpoint on. */
static gboolean
run_until (Query *query,
           const IrResume *resume,
           const IrIterations *wanted,
           const IrNode *producer,
           GError **error)
{
  g_autoptr (GError) local = NULL;

  query->run.iterations = ir_iteration_values_new (wanted);
  query->state.resume = resume;
  const gboolean done = find_needed (query, producer, &local) && run_needed (query, 0, &local);
  query->state.resume = NULL;
  query->found->n_iterations = query->state.n_iterations;
  if (done || g_error_matches (local, IR_EXEC_ERROR, IR_EXEC_ERROR_STOPPED))
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

static gboolean
run_until_value (Query *query, const IrIterationName *name, const IrNode *producer, GError **error)
{
  const IrIterations wanted = { IR_ITERATIONS_ONE, name->iteration, 0, name->frame };
  const IrIterationValues *values = query->replay->run != NULL ? query->replay->run->iterations
                                                               : NULL;
  const IrCheckpoints *checkpoints = values != NULL ? ir_iteration_values_checkpoints (values)
                                                    : NULL;
  IrResume resume = { name->loop, name->outermost, NULL };

  if (checkpoints != NULL && name->loop != 0)
    resume.from = ir_checkpoints_find (checkpoints, name->loop, name->outermost);
  else if (checkpoints != NULL)
    resume.from = ir_checkpoints_find_tokens (checkpoints, name->value->graph, name->frame,
                                              name->iteration, &resume.loop);

  keep (query, name->value->id);
  return run_until (query, &resume, &wanted, producer, error);
}

/**
 * ir_replay_find_iteration:
 * @replay: a replay
 * @name: a value in an iteration; none is left open
 * @cancellable: (nullable): looked at between nodes
 * @found: gets how the contents were had
 * @error: return location for an error
 *
 * Runs again, from the last checkpoint that the run has of the outermost loop, until the value has come.
 *
 * Fails with an %IR_EXEC_ERROR where the run did not come through it, or a node fails.
 *
 * Returns: (transfer full) (nullable): the contents, as the graph has them
 */
IrTensor *
ir_replay_find_iteration (IrReplay *replay,
                          const IrIterationName *name,
                          GCancellable *cancellable,
                          IrFound *found,
                          GError **error)
{
  const IrModel *model = replay->prepared->model;
  const IrNode *loop = name->loop != 0 ? ir_model_live_node (model, name->loop) : NULL;
  const IrNode *producer = loop != NULL ? producer_of (loop->graph, loop)
                                        : ir_replay_producer (name->value);
  const IrNode *maker = ir_replay_producer (name->value);
  const gboolean is_called = maker != NULL && ir_op_is (maker, IR_OP_FUNCTIONS);
  const gint64 start_us = g_get_monotonic_time ();
  g_auto (Query) query = { 0 };
  IrTensor *tensor;

  query_init (&query, replay, cancellable, found);
  found->from = g_ptr_array_new_with_free_func (g_free);
  if (producer != NULL && !run_until_value (&query, name, producer, error))
    return NULL;
  tensor = producer != NULL ? ir_iteration_values_find (query.run.iterations, name->value->id,
                                                        name->frame, name->iteration)
                            : NULL;
  if (tensor == NULL)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                   "%s was not computed in iteration %" G_GINT64_FORMAT
                   " of %s: the loop has fewer iterations, or a branch was not taken there%s",
                   name->value->name, name->iteration, name->frame,
                   is_called ? ", or loops call its function, which stand in front: LOOP@N/…" : "");
      return NULL;
    }
  found->how = IR_FOUND_COMPUTED;
  found->duration_ns = (g_get_monotonic_time () - start_us) * 1000;
  return ir_tensor_ref (tensor);
}

/* -- several -- */

/**
 * ir_replay_iterations:
 * @replay: a replay
 * @resume: from where to where
 * @values: (element-type IrValueId): of which statistics are wanted
 * @observer: (nullable): sees what happens in bodies
 * @cancellable: (nullable): looked at between nodes
 * @error: return location for an error
 *
 * Runs what leads to a loop, and of that from a checkpoint on until behind an iteration.
 *
 * Returns: (transfer full) (nullable): the statistics of iterations that were run
 */
IrIterationValues *
ir_replay_iterations (IrReplay *replay,
                      const IrResume *resume,
                      GArray *values,
                      IrObserver *observer,
                      GCancellable *cancellable,
                      GError **error)
{
  const IrIterations wanted = { .kind = IR_ITERATIONS_SERIES };
  const IrNode *loop = ir_model_node (replay->prepared->model, resume->loop);
  g_auto (IrFound) found = { 0 };
  g_auto (Query) query = { 0 };

  query_init (&query, replay, cancellable, &found);
  query.state.observer = observer;
  query.state.capture_budget = ir_capture_budget (&replay->options);
  found.from = g_ptr_array_new_with_free_func (g_free);
  query.kept = g_array_new (FALSE, FALSE, sizeof (IrValueId));
  for (guint i = 0; i < values->len; i++)
    keep (&query, g_array_index (values, IrValueId, i));
  if (!run_until (&query, resume, &wanted, producer_of (loop->graph, loop), error))
    return NULL;
  return g_steal_pointer (&query.run.iterations);
}
