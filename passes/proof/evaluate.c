/* Numbers of values are made as in value numbering (Click 1995): a node's key is its operator, its
 * attributes, and the numbers of its inputs; keys are hash-consed. Nodes
 * that own subgraphs have the nodes of these in their key, so that a change inside changes the
 * number outside. Random operators are keyed by the name that seeds them.
 *
 * Contents are kept by number up to a limit; beyond it the oldest computed ones are forgotten, and
 * computed again where they are asked for. */
#include "config.h"

#include "passes/proof/evaluate.h"

#include "core/exec/kernel/threads.h"

#include <time.h>
#include <unistd.h>

#define MAX_DEPTH  1000  /* nodes between a value and the nearest known one */
#define KEEP_SHARE 8     /* computed contents may take one in this many bytes of memory */
#define MAX_SMALL  16384 /* bytes of contents that are told by what they hold */

struct _IrEvaluator
{
  const IrBackend *backend;
  IrThreads threads;
  GCancellable *cancellable; /* (nullable) */
  GHashTable *keys;          /* GBytes -> number of a node's output 0 */
  GHashTable *leaves;        /* IrTensor -> number */
  GHashTable *small;         /* GBytes: type, shape and data of small contents -> number */
  GHashTable *same;          /* number -> the number in @small of what it holds */
  GPtrArray *contents;       /* by number: IrTensor, or NULL */
  GQueue computed;           /* numbers whose contents may be forgotten, oldest first */
  gsize bytes, limit;        /* of these contents */
  GHashTable *states;        /* weights (IrTensor) -> State: packed once for all nodes */
  gsize state_bytes;         /* of these weights */
  gboolean is_full;
  IrEvaluatorWork work;
  IrRunLimits run_limits; /* of a node */
  gint64 deadline_us;
  gsize held_bytes;   /* of computed contents that are not forgotten */
  GHashTable *failed; /* number of a node's output 0 -> GError: it is not run again */
  void (*progress) (guint done, guint total, const IrNode *node, gpointer data); /* (nullable) */
  gpointer progress_data;
};

/* What a kernel has prepared for some weights. */
typedef struct
{
  const IrBackend *backend;
  const char *kernel; /* its name */
  gpointer state;     /* (nullable) */
} State;

static void
state_free (gpointer data)
{
  State *state = data;

  if (state->state != NULL)
    state->backend->release (state->state);
  g_free (state);
}

static void
unref_tensor (gpointer tensor)
{
  if (tensor != NULL)
    ir_tensor_unref (tensor);
}

/**
 * ir_evaluator_new:
 * @backend: (nullable): whose kernels; %NULL: reference kernels
 * @n_threads: threads of a kernel; 0: number of cores
 * @cancellable: (nullable): asked between nodes
 *
 * Returns: (transfer full): an evaluator that knows nothing
 */
IrEvaluator *
ir_evaluator_new (const IrBackend *backend, guint n_threads, GCancellable *cancellable)
{
  IrEvaluator *evaluator = g_new0 (IrEvaluator, 1);
  goffset pages = sysconf (_SC_PHYS_PAGES), page_bytes = sysconf (_SC_PAGESIZE);

  evaluator->backend = backend != NULL ? backend : ir_backend_find ("ref");
  evaluator->threads = ir_threads_of (n_threads, FALSE);
  evaluator->cancellable = cancellable != NULL ? g_object_ref (cancellable) : NULL;
  evaluator->keys = g_hash_table_new_full (g_bytes_hash, g_bytes_equal,
                                           (GDestroyNotify) g_bytes_unref, NULL);
  evaluator->leaves = g_hash_table_new_full (NULL, NULL, unref_tensor, NULL);
  evaluator->small = g_hash_table_new_full (g_bytes_hash, g_bytes_equal,
                                            (GDestroyNotify) g_bytes_unref, NULL);
  evaluator->same = g_hash_table_new (NULL, NULL);
  evaluator->states = g_hash_table_new_full (NULL, NULL, NULL, state_free);
  evaluator->contents = g_ptr_array_new_with_free_func (unref_tensor);
  g_ptr_array_add (evaluator->contents, NULL); /* 0 is no number */
  evaluator->failed = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_error_free);
  g_queue_init (&evaluator->computed);
  evaluator->limit = pages > 0 && page_bytes > 0 ? (gsize) pages / KEEP_SHARE * (gsize) page_bytes
                                                 : (gsize) 1 << 30;
  return evaluator;
}

/**
 * ir_evaluator_free:
 * @evaluator: (transfer full): an evaluator
 */
void
ir_evaluator_free (IrEvaluator *evaluator)
{
  g_queue_clear (&evaluator->computed);
  g_hash_table_unref (evaluator->failed);
  g_hash_table_unref (evaluator->states);
  g_ptr_array_unref (evaluator->contents);
  g_hash_table_unref (evaluator->same);
  g_hash_table_unref (evaluator->small);
  g_hash_table_unref (evaluator->leaves);
  g_hash_table_unref (evaluator->keys);
  g_clear_object (&evaluator->cancellable);
  g_free (evaluator);
}

/**
 * ir_evaluator_tell:
 * @evaluator: an evaluator
 * @progress: (nullable): told by ir_evaluator_run() how many nodes are done
 * @data: for @progress
 */
void
ir_evaluator_tell (IrEvaluator *evaluator,
                   void (*progress) (guint done, guint total, const IrNode *node, gpointer data),
                   gpointer data)
{
  evaluator->progress = progress;
  evaluator->progress_data = data;
}

/**
 * ir_evaluator_report:
 * @evaluator: an evaluator
 * @done: nodes that are done
 * @total: of so many
 * @node: the one that comes next
 *
 * Tells who was given to ir_evaluator_tell().
 */
void
ir_evaluator_report (const IrEvaluator *evaluator, guint done, guint total, const IrNode *node)
{
  if (evaluator->progress != NULL)
    evaluator->progress (done, total, node, evaluator->progress_data);
}

/**
 * ir_evaluator_limit:
 * @evaluator: an evaluator
 * @limits: (nullable): of what it runs; %NULL: those of a run
 *
 * The limit of time is that of what is evaluated from one ir_evaluator_start() to the next.
 */
void
ir_evaluator_limit (IrEvaluator *evaluator, const IrRunLimits *limits)
{
  evaluator->run_limits = limits != NULL ? *limits : (IrRunLimits){ 0 };
  if (evaluator->run_limits.memory_limit != 0)
    evaluator->limit = MIN (evaluator->limit, evaluator->run_limits.memory_limit);
  ir_evaluator_start (evaluator);
}

/**
 * ir_evaluator_start:
 * @evaluator: an evaluator
 *
 * The limit of time begins anew.
 */
void
ir_evaluator_start (IrEvaluator *evaluator)
{
  evaluator->deadline_us = ir_run_limits_deadline (&evaluator->run_limits);
}

/**
 * ir_evaluator_bound:
 * @evaluator: an evaluator
 * @options: gets the limits under which it runs nodes
 */
void
ir_evaluator_bound (const IrEvaluator *evaluator, IrEvalOptions *options)
{
  options->limits = evaluator->run_limits;
  options->deadline_us = evaluator->deadline_us;
}

/**
 * ir_evaluator_note_failure:
 * @evaluator: an evaluator
 * @number: of output 0 of a node
 * @why: its error
 *
 * The node is not run again: what needs it fails in the same way.
 */
void
ir_evaluator_note_failure (IrEvaluator *evaluator, guint number, const GError *why)
{
  if (!g_error_matches (why, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED))
    g_hash_table_insert (evaluator->failed, GUINT_TO_POINTER (number), g_error_copy (why));
}

static guint
new_numbers (IrEvaluator *evaluator, guint n)
{
  guint first = evaluator->contents->len;

  g_ptr_array_set_size (evaluator->contents, (gint) (first + n));
  return first;
}

/* Small contents are told by what they hold, whoever made them: a shape or a bias stays the same
 * number when a step folds it, merges it with an equal one, or makes it by another operator, and
 * all that was computed from it is found again. Their first number is never forgotten.
 *
 * (transfer full) (nullable): %NULL if @tensor is told by its address */
static GBytes *
small_key (const IrTensor *tensor)
{
  g_autoptr (GByteArray) key = NULL;
  gconstpointer data;
  guint64 head;

  if (ir_tensor_is_container (tensor) || ir_tensor_sparse_values (tensor) != NULL ||
      ir_tensor_dtype (tensor) == IR_DTYPE_STRING || ir_tensor_n_bytes (tensor) > MAX_SMALL)
    return NULL;
  data = ir_tensor_data (tensor);
  if (data == NULL && ir_tensor_n_bytes (tensor) > 0)
    return NULL;
  key = g_byte_array_new ();
  head = (guint64) ir_tensor_dtype (tensor) << 32 | ir_tensor_rank (tensor);
  g_byte_array_append (key, (const guint8 *) &head, sizeof head);
  if (ir_tensor_rank (tensor) > 0)
    g_byte_array_append (key, (const guint8 *) ir_tensor_dims (tensor),
                         ir_tensor_rank (tensor) * (guint) sizeof (gint64));
  if (ir_tensor_n_bytes (tensor) > 0)
    g_byte_array_append (key, data, (guint) ir_tensor_n_bytes (tensor));
  return g_byte_array_free_to_bytes (g_steal_pointer (&key));
}

/* Returns: whether @number holds small contents, whose number is known from now on. */
static gboolean
note_small (IrEvaluator *evaluator, guint number, const IrTensor *tensor)
{
  g_autoptr (GBytes) key = small_key (tensor);
  gpointer first = key != NULL ? g_hash_table_lookup (evaluator->small, key) : NULL;

  if (first != NULL)
    g_hash_table_insert (evaluator->same, GUINT_TO_POINTER (number), first);
  else if (key != NULL)
    g_hash_table_insert (evaluator->small, g_bytes_ref (key), GUINT_TO_POINTER (number));
  return key != NULL;
}

static guint
first_of_same (const IrEvaluator *evaluator, guint number)
{
  gpointer first = g_hash_table_lookup (evaluator->same, GUINT_TO_POINTER (number));

  return first != NULL ? GPOINTER_TO_UINT (first) : number;
}

static guint
new_leaf (IrEvaluator *evaluator, IrTensor *tensor)
{
  guint number = new_numbers (evaluator, 1);

  evaluator->contents->pdata[number] = ir_tensor_sparse_values (tensor) != NULL
                                           ? ir_tensor_densify (tensor, NULL)
                                           : ir_tensor_ref (tensor);
  note_small (evaluator, number, tensor);
  return first_of_same (evaluator, number);
}

/**
 * ir_evaluator_leaf:
 * @evaluator: an evaluator
 * @tensor: contents that no node of the graph makes: of an input or of a constant
 *
 * Returns: its number, the same for the same tensor, and for small ones that hold the same
 */
guint
ir_evaluator_leaf (IrEvaluator *evaluator, IrTensor *tensor)
{
  guint number = GPOINTER_TO_UINT (g_hash_table_lookup (evaluator->leaves, tensor));

  if (number != 0)
    return number;
  number = new_leaf (evaluator, tensor);
  g_hash_table_insert (evaluator->leaves, ir_tensor_ref (tensor), GUINT_TO_POINTER (number));
  return number;
}

/**
 * ir_evaluator_equate:
 * @evaluator: an evaluator
 * @tensor: (transfer none): a constant
 * @number: a number whose contents have proved to be the same
 *
 * A constant that was folded gets the number of what it was folded from, unless its own is older:
 * what a run has computed from that is found again.
 */
void
ir_evaluator_equate (IrEvaluator *evaluator, IrTensor *tensor, guint number)
{
  if (ir_tensor_is_container (tensor) || ir_tensor_sparse_values (tensor) != NULL ||
      ir_evaluator_leaf (evaluator, tensor) < number)
    return;
  g_hash_table_insert (evaluator->leaves, ir_tensor_ref (tensor), GUINT_TO_POINTER (number));
}

/**
 * ir_evaluator_contents:
 * @evaluator: an evaluator
 * @number: a number that it gave
 *
 * Returns: (transfer none) (nullable): contents, if they are kept
 */
IrTensor *
ir_evaluator_contents (const IrEvaluator *evaluator, guint number)
{
  return evaluator->contents->pdata[number];
}

/**
 * ir_evaluator_keep:
 * @evaluator: an evaluator
 * @number: a number that it gave
 * @tensor: (transfer none): contents that a run has computed; they are never forgotten
 *
 * Returns: the number that they have from now on
 */
guint
ir_evaluator_keep (IrEvaluator *evaluator, guint number, IrTensor *tensor)
{
  if (evaluator->contents->pdata[number] == NULL)
    {
      evaluator->contents->pdata[number] = ir_tensor_ref (tensor);
      note_small (evaluator, number, tensor);
    }
  return first_of_same (evaluator, number);
}

/**
 * ir_evaluator_work:
 * @evaluator: an evaluator
 *
 * Returns: (transfer none): what it has run so far
 */
const IrEvaluatorWork *
ir_evaluator_work (const IrEvaluator *evaluator)
{
  return &evaluator->work;
}

/**
 * ir_evaluator_clock_ns:
 *
 * Returns: CPU time of the process, of all threads, so that a busy machine changes little
 */
gint64
ir_evaluator_clock_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (gint64) now.tv_sec * 1000000000 + now.tv_nsec;
}

/**
 * ir_evaluator_is_full:
 * @evaluator: an evaluator
 *
 * Returns: whether contents had to be forgotten, so that values may be computed again
 */
gboolean
ir_evaluator_is_full (const IrEvaluator *evaluator)
{
  return evaluator->is_full;
}

static void
keep_computed (IrEvaluator *evaluator, guint number, IrTensor *tensor)
{
  if (evaluator->contents->pdata[number] != NULL)
    return;
  evaluator->contents->pdata[number] = ir_tensor_ref (tensor);
  if (note_small (evaluator, number, tensor))
    return;
  g_queue_push_tail (&evaluator->computed, GUINT_TO_POINTER (number));
  evaluator->bytes += ir_tensor_n_bytes (tensor);
}

/**
 * ir_evaluator_hold:
 * @evaluator: an evaluator
 * @number: a number whose contents it has computed
 *
 * Keeps contents as ir_evaluator_keep() does, while all of them fit into the limit of memory.
 *
 * Returns: whether they are kept
 */
gboolean
ir_evaluator_hold (IrEvaluator *evaluator, guint number)
{
  const IrTensor *tensor = evaluator->contents->pdata[number];
  gsize limit = evaluator->run_limits.memory_limit;
  gsize bytes = tensor != NULL ? ir_tensor_n_bytes (tensor) : 0;

  if (limit == 0)
    limit = evaluator->limit * (KEEP_SHARE / 4); /* a quarter of memory, as a run has */
  if (tensor == NULL || bytes > limit - MIN (limit, evaluator->held_bytes))
    return FALSE;
  if (g_queue_remove (&evaluator->computed, GUINT_TO_POINTER (number)))
    {
      evaluator->bytes -= bytes;
      evaluator->held_bytes += bytes;
    }
  return TRUE;
}

static void
forget (IrEvaluator *evaluator)
{
  while (evaluator->bytes > evaluator->limit && !g_queue_is_empty (&evaluator->computed))
    {
      guint oldest = GPOINTER_TO_UINT (g_queue_pop_head (&evaluator->computed));
      IrTensor *tensor = g_steal_pointer (&evaluator->contents->pdata[oldest]);

      evaluator->bytes -= ir_tensor_n_bytes (tensor);
      ir_tensor_unref (tensor);
      evaluator->is_full = TRUE;
    }
}

/* -- keys -- */

/**
 * ir_scope_init:
 * @scope: (out caller-allocates): clear with ir_scope_clear()
 * @evaluator: (transfer none): whose numbers
 * @model: (transfer none): a graph that does not change meanwhile
 * @known: says which values are not computed
 * @data: for @known
 */
void
ir_scope_init (IrScope *scope,
               IrEvaluator *evaluator,
               const IrModel *model,
               guint (*known) (const IrValue *value, gpointer data),
               gpointer data)
{
  *scope = (IrScope){ evaluator, model, known, data, g_hash_table_new (NULL, NULL), 0 };
}

/**
 * ir_scope_clear:
 * @scope: a scope
 */
void
ir_scope_clear (IrScope *scope)
{
  g_clear_pointer (&scope->numbers, g_hash_table_unref);
}

static void
add_word (GByteArray *key, guint64 word)
{
  g_byte_array_append (key, (const guint8 *) &word, sizeof word);
}

static void
add_pointer (GByteArray *key, gconstpointer pointer)
{
  add_word (key, (guint64) (gsize) pointer);
}

/* Draws are seeded by name. Of kernels only what a node asks for is in the key: a run knows all
 * types, and takes the ones that the same node has once a step has written its types down. */
static void
add_seed (GByteArray *key, const IrNode *node)
{
  add_pointer (key, ir_node_wanted_kernel (node));
  if (node->op != NULL && (node->op->flags & IR_OP_RANDOM) != 0 && ir_node_output (node, 0) != NULL)
    add_pointer (key, ir_node_output (node, 0)->name);
}

/* Values that a subgraph defines have places; those around it have numbers. */
typedef struct
{
  IrScope *scope;
  GByteArray *key;
  GHashTable *places; /* IrValue -> place in the key */
} Body;

static gboolean add_graph (Body *body, const IrGraph *graph, GError **error);

static gboolean
add_value (Body *body, const IrValue *value, GError **error)
{
  guint place = value != NULL ? GPOINTER_TO_UINT (g_hash_table_lookup (body->places, value)) : 0;
  guint number = 0;

  if (value != NULL && place == 0)
    {
      number = ir_scope_number (body->scope, value, error);
      if (number == 0)
        return FALSE;
    }
  add_word (body->key, (guint64) place << 32 | number);
  return TRUE;
}

static void
add_place (Body *body, const IrValue *value)
{
  guint place = g_hash_table_size (body->places) + 1;

  if (value != NULL)
    g_hash_table_insert (body->places, (gpointer) value, GUINT_TO_POINTER (place));
}

/* All that decides what @node computes, its inputs as numbers or places. */
static gboolean
add_node (Body *body, const IrNode *node, GError **error)
{
  add_pointer (body->key, node->op_type);
  add_pointer (body->key, node->domain);
  add_word (body->key, (guint64) ir_node_opset (node));
  add_word (body->key, (guint64) node->n_inputs << 32 | node->n_outputs);
  add_seed (body->key, node);
  for (guint i = 0; i < node->n_outputs; i++)
    add_word (body->key, node->outputs[i] != NULL);
  for (guint i = 0; i < node->n_inputs; i++)
    if (!add_value (body, node->inputs[i], error))
      return FALSE;
  for (guint i = 0; i < node->n_attrs; i++)
    {
      const IrAttr *attr = node->attrs[i];

      add_pointer (body->key, attr->name);
      if (attr->kind != IR_ATTR_GRAPH && attr->kind != IR_ATTR_GRAPHS)
        add_pointer (body->key, attr);
      else
        for (guint k = 0; k < attr->n; k++)
          if (!add_graph (body, ir_model_graph (body->scope->model, attr->graphs[k]), error))
            return FALSE;
    }
  return TRUE;
}

static gboolean
add_graph (Body *body, const IrGraph *graph, GError **error)
{
  guint n;
  IrNode *const *nodes = ir_graph_order (graph, &n);

  add_word (body->key, (guint64) ir_graph_n_inputs (graph) << 32 | n);
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    add_place (body, ir_graph_input (graph, i));
  for (guint i = 0; i < n; i++)
    {
      if (!add_node (body, nodes[i], error))
        return FALSE;
      for (guint k = 0; k < nodes[i]->n_outputs; k++)
        add_place (body, nodes[i]->outputs[k]);
    }
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    if (!add_value (body, ir_graph_output (graph, i), error))
      return FALSE;
  return TRUE;
}

/* Number of output 0; the others follow. */
static guint
node_number (IrScope *scope, const IrNode *node, GError **error)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  g_autoptr (GHashTable) places = g_hash_table_new (NULL, NULL);
  Body body = { scope, bytes, places };
  GBytes *key;
  guint number;

  if (!add_node (&body, node, error))
    return 0;
  key = g_byte_array_free_to_bytes (g_steal_pointer (&bytes));
  number = GPOINTER_TO_UINT (g_hash_table_lookup (scope->evaluator->keys, key));
  if (number != 0)
    {
      g_bytes_unref (key);
      return number;
    }
  number = new_numbers (scope->evaluator, node->n_outputs);
  g_hash_table_insert (scope->evaluator->keys, key, GUINT_TO_POINTER (number));
  return number;
}

/* -- inputs of bodies -- */

static guint
leaf_of (IrScope *scope, IrTensor *tensor)
{
  guint number = tensor != NULL ? ir_evaluator_leaf (scope->evaluator, tensor) : 0;

  if (tensor != NULL)
    ir_tensor_unref (tensor);
  return number;
}

/* Zeros of the declared type, if that says how many. */
static guint
any_contents (IrScope *scope, const IrValue *input)
{
  const IrType *type = input->type;

  if (type == NULL || !ir_type_is_tensor (type) || !ir_type_is_static (type) ||
      type->dtype == IR_DTYPE_UNDEFINED || type->dtype == IR_DTYPE_STRING)
    return 0;
  return leaf_of (scope, ir_tensor_new_alloc (type->dtype, (guint) type->rank, type->dims, NULL));
}

/* What an input of a body holds in the first round, although no run has reached it. */
static guint
first_round (IrScope *scope, const IrValue *input, GError **error)
{
  const IrNode *owner = ir_model_live_node (scope->model, input->graph->owner);
  const IrValue *outer = NULL;
  guint slot = 0, number;

  while (slot < ir_graph_n_inputs (input->graph) && ir_graph_input (input->graph, slot) != input)
    slot++;
  if (owner != NULL && ir_op_is (owner, IR_OP_LOOP) && slot < 2)
    return leaf_of (scope, ir_tensor_new_scalar (slot == 0 ? IR_DTYPE_INT64 : IR_DTYPE_BOOL, slot));
  if (owner != NULL && ir_op_is (owner, IR_OP_LOOP))
    outer = ir_node_input (owner, slot);
  if (outer != NULL)
    return ir_scope_number (scope, outer, error);
  number = any_contents (scope, input);
  if (number == 0)
    g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                 "the run did not reach %s, and its type does not say what it may hold",
                 input->name);
  return number;
}

/* -- numbers and contents -- */

static guint
compute_number (IrScope *scope, const IrValue *value, GError **error)
{
  const IrTensor *constant = ir_value_constant (value);
  guint number;

  if (constant != NULL)
    return ir_evaluator_leaf (scope->evaluator, (IrTensor *) constant);
  number = scope->known (value, scope->data);
  if (number != 0)
    return number;
  if (value->producer != NULL)
    {
      number = node_number (scope, value->producer, error);
      return number != 0 ? number + value->output_slot : 0;
    }
  if (value->initializer != NULL)
    return ir_evaluator_leaf (scope->evaluator, value->initializer);
  if (value->graph->kind == IR_GRAPH_SUBGRAPH)
    return first_round (scope, value, error);
  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT, "the contents of %s are not known",
               value->name);
  return 0;
}

/**
 * ir_scope_number:
 * @scope: a state of a graph
 * @value: a value of it
 * @error: return location for an error
 *
 * Runs nothing. Fails with %IR_EXEC_ERROR_INPUT if @value depends on something that is not known.
 *
 * Returns: its number, or 0
 */
guint
ir_scope_number (IrScope *scope, const IrValue *value, GError **error)
{
  gpointer key = GUINT_TO_POINTER (value->id);
  guint number = GPOINTER_TO_UINT (g_hash_table_lookup (scope->numbers, key));

  if (number != 0)
    return number;
  if (scope->depth >= MAX_DEPTH)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_LIMIT,
                   "%s lies more than %d nodes behind the last known value", value->name,
                   MAX_DEPTH);
      return 0;
    }
  scope->depth++;
  number = first_of_same (scope->evaluator, compute_number (scope, value, error));
  scope->depth--;
  if (number != 0)
    g_hash_table_insert (scope->numbers, key, GUINT_TO_POINTER (number));
  return number;
}

/* What the bodies of a node see of the values around it. */
static const IrTensor *
outer_contents (const IrValue *value, gpointer data)
{
  return ir_scope_contents (data, value, NULL);
}

/* Where the kernel of @node finds its packed weights, and leaves them; NULL: nowhere. The weights
 * are leaves, so that their address is theirs as long as the evaluator lives. */
static gpointer *
state_of (IrEvaluator *evaluator, const IrNode *node)
{
  const IrBackend *backend = evaluator->backend;
  const IrValue *weights = ir_node_input (node, 1);
  const IrTensor *constant = weights != NULL ? ir_value_constant (weights) : NULL;
  State *state;

  if (constant == NULL || backend->shares_state == NULL || backend->refuses (node) != NULL ||
      !backend->shares_state (node))
    return NULL;
  state = g_hash_table_lookup (evaluator->states, constant);
  if (state != NULL)
    return state->kernel == backend->kernel_name (node) ? &state->state : NULL;
  evaluator->state_bytes += ir_tensor_n_bytes (constant);
  if (evaluator->state_bytes > evaluator->limit)
    {
      g_hash_table_remove_all (evaluator->states);
      evaluator->state_bytes = ir_tensor_n_bytes (constant);
    }
  state = g_new0 (State, 1);
  state->backend = backend;
  state->kernel = backend->kernel_name (node);
  g_hash_table_insert (evaluator->states, (gpointer) constant, state);
  return &state->state;
}

static gboolean
run_node (IrScope *scope, const IrNode *node, guint first, GError **error)
{
  IrEvaluator *evaluator = scope->evaluator;
  g_autoptr (GPtrArray) held = g_ptr_array_new_with_free_func (unref_tensor);
  g_autofree const IrTensor **inputs = g_new0 (const IrTensor *, node->n_inputs + 1);
  g_autofree IrTensor **outputs = g_new0 (IrTensor *, node->n_outputs + 1);
  IrEvalOptions options = {
    .backend = evaluator->backend,
    .threads = evaluator->threads,
    .cancellable = evaluator->cancellable,
    .contents = outer_contents,
    .data = scope,
    .state = state_of (evaluator, node),
  };
  const GError *before = g_hash_table_lookup (evaluator->failed, GUINT_TO_POINTER (first));
  GError *local = NULL;
  gint64 start;
  gboolean done;

  if (before != NULL)
    {
      g_propagate_error (error, g_error_copy (before));
      return FALSE;
    }

  if (evaluator->cancellable != NULL &&
      g_cancellable_set_error_if_cancelled (evaluator->cancellable, error))
    return FALSE;
  ir_node_for_each_input (node, i, value)
    {
      inputs[i] = ir_scope_contents (scope, value, error);
      if (inputs[i] == NULL)
        return FALSE;
      g_ptr_array_add (held, ir_tensor_ref ((IrTensor *) inputs[i]));
    }
  forget (evaluator);
  start = ir_evaluator_clock_ns ();
  ir_evaluator_bound (evaluator, &options);
  done = ir_eval_node_with (node, inputs, outputs, &options, &local);
  if (local != NULL)
    {
      ir_evaluator_note_failure (evaluator, first, local);
      g_propagate_error (error, local);
    }
  evaluator->work.duration_ns += ir_evaluator_clock_ns () - start;
  evaluator->work.n_nodes++;
  for (guint i = 0; i < node->n_outputs; i++)
    if (outputs[i] != NULL)
      {
        if (done)
          keep_computed (evaluator, first + i, outputs[i]);
        ir_tensor_unref (outputs[i]);
      }
  return done;
}

/**
 * ir_scope_contents:
 * @scope: a state of a graph
 * @value: a value of it
 * @error: return location for an error
 *
 * Runs the nodes that lead to @value from the nearest values whose contents are kept.
 *
 * Returns: (transfer none) (nullable): what @value holds; valid until the next value is asked for
 */
IrTensor *
ir_scope_contents (IrScope *scope, const IrValue *value, GError **error)
{
  guint number = ir_scope_number (scope, value, error);
  const IrTensor *constant;
  IrTensor *tensor;

  if (number == 0)
    return NULL;
  tensor = ir_evaluator_contents (scope->evaluator, number);
  constant = tensor == NULL ? ir_value_constant (value) : NULL;
  if (constant != NULL) /* equated with a value whose contents were forgotten */
    return (IrTensor *) constant;
  if (tensor != NULL || value->producer == NULL)
    return tensor;
  if (!run_node (scope, value->producer, number - value->output_slot, error))
    return NULL;
  tensor = ir_evaluator_contents (scope->evaluator, number);
  if (tensor == NULL)
    g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED, "%s was not computed",
                 value->name);
  return tensor;
}
