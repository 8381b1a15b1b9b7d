/* After a change only what it affects runs again. Values are the same where the same is computed from
 * the same: nodes of the graph now are numbered by those of the graph then, from the inputs on (Click
 * 1995), and ids mean nothing, so that it does not matter how one graph came of the other. Equal bits
 * need more than equal arithmetic: kernel, layouts and declared types of a node are compared as well.
 *
 * A node with bodies runs always, as it keeps what lies in them; what reads it need not. */
#include "config.h"

#include "core/exec/run/reuse.h"

#include "core/exec/run/state.h"
#include "core/ir/hash.h"

#include <string.h>

struct _IrReuse
{
  IrRun *before;
  IrValueId *from; /* by value id: the value of @before that holds the same; 0: none */
  guint8 *nodes;   /* by node id: does not run */
};

/* One of the two graphs. */
typedef struct
{
  const IrModel *model;
  const IrSchedule *schedule;
  const IrKernels *kernels;
  guint64 seed;
  IrValueId *same; /* by value id: the first value of the graph then that holds the same; 0: none */
} Side;

typedef struct
{
  Side then, now;
  const IrRun *before;
  GHashTable *heads; /* hash -> node then */
  IrNodeId *next;    /* by id of a node then: the next one of that hash */
} Numbering;

/* -- options -- */

/* Whether equal calls give equal bits, apart from what is compared node by node. Tiles of chains do not
 * show in them. */
static gboolean
run_alike (const IrRunOptions *a, const IrRunOptions *b)
{
  return strcmp (a->backend->name, b->backend->name) == 0 && a->backend->memory == NULL &&
         b->backend->memory == NULL && a->n_threads == b->n_threads &&
         a->deterministic == b->deterministic && a->parallel == IR_PARALLEL_OFF &&
         b->parallel == IR_PARALLEL_OFF && a->except == NULL && b->except == NULL &&
         ((a->without ^ b->without) & ~(guint) IR_DECISION_CHAINS) == 0;
}

/* -- numbers -- */

static guint
hash_of (const Side *side, const IrNode *node)
{
  guint64 hash = g_str_hash (node->op_type);

  for (guint i = 0; i < node->n_inputs; i++)
    hash = ir_mix64 (hash ^ (node->inputs[i] != NULL ? side->same[node->inputs[i]->id] : 0));
  return (guint) hash;
}

/* Values of bodies are told by their ids: who has copied the body has changed them all. */
static gboolean
same_contents (const Side *a, const IrValue *x, const Side *b, const IrValue *y)
{
  if (x->graph->kind != IR_GRAPH_SUBGRAPH)
    return a->same[x->id] != 0 && a->same[x->id] == b->same[y->id];
  return x->id == y->id &&
         (x->initializer == y->initializer || (x->initializer != NULL && y->initializer != NULL &&
                                               ir_tensor_equal (x->initializer, y->initializer)));
}

static gboolean
same_value (const Side *a, const IrValue *x, const Side *b, const IrValue *y, gboolean contents)
{
  if (x == NULL || y == NULL)
    return x == y;
  return x->type == y->type &&
         ir_schedule_kept_type (a->schedule, x) == ir_schedule_kept_type (b->schedule, y) &&
         (!contents || same_contents (a, x, b, y));
}

static gboolean
same_kernel (const IrKernelChoice *a, const IrKernelChoice *b)
{
  return a->kernel == b->kernel && g_strcmp0 (a->name, b->name) == 0 &&
         (a->backend == b->backend || (a->backend != NULL && b->backend != NULL &&
                                       strcmp (a->backend->name, b->backend->name) == 0));
}

/* Whether @x of @a gives the very bits that @y of @b does. */
static gboolean
same_node (const Side *a, const IrNode *x, const Side *b, const IrNode *y)
{
  if (x->op != y->op || x->op_type != y->op_type || x->domain != y->domain ||
      x->n_inputs != y->n_inputs || x->n_outputs != y->n_outputs || x->n_attrs != y->n_attrs ||
      ir_node_opset (x) != ir_node_opset (y) ||
      ir_exec_random_seed (x, a->seed, 0) != ir_exec_random_seed (y, b->seed, 0) ||
      !same_kernel (&a->kernels->rows[x->id], &b->kernels->rows[y->id]))
    return FALSE;
  for (guint i = 0; i < x->n_inputs; i++)
    if (!same_value (a, x->inputs[i], b, y->inputs[i], TRUE))
      return FALSE;
  for (guint i = 0; i < x->n_outputs; i++)
    if (!same_value (a, x->outputs[i], b, y->outputs[i], FALSE))
      return FALSE;
  for (guint i = 0; i < x->n_attrs; i++)
    if (!ir_attr_equal (x->attrs[i], y->attrs[i]))
      return FALSE;
  return TRUE;
}

static gboolean same_bodies (const Side *a, const IrNode *x, const Side *b, const IrNode *y);

static gboolean
same_graph (const Side *a, const IrGraph *x, const Side *b, const IrGraph *y)
{
  guint n_x, n_y;
  IrNode *const *xs = ir_graph_order (x, &n_x), *const *ys = ir_graph_order (y, &n_y);

  if (n_x != n_y || ir_graph_n_inputs (x) != ir_graph_n_inputs (y) ||
      ir_graph_n_outputs (x) != ir_graph_n_outputs (y))
    return FALSE;
  for (guint i = 0; i < ir_graph_n_inputs (x); i++)
    if (!same_value (a, ir_graph_input (x, i), b, ir_graph_input (y, i), TRUE))
      return FALSE;
  for (guint i = 0; i < n_x; i++)
    {
      if (!same_node (a, xs[i], b, ys[i]) || !same_bodies (a, xs[i], b, ys[i]))
        return FALSE;
      for (guint k = 0; k < xs[i]->n_outputs; k++)
        if (xs[i]->outputs[k] != NULL && xs[i]->outputs[k]->id != ys[i]->outputs[k]->id)
          return FALSE;
    }
  for (guint i = 0; i < ir_graph_n_outputs (x); i++)
    if (!same_value (a, ir_graph_output (x, i), b, ir_graph_output (y, i), TRUE))
      return FALSE;
  return TRUE;
}

static gboolean
same_bodies (const Side *a, const IrNode *x, const Side *b, const IrNode *y)
{
  g_autoptr (GPtrArray) xs = ir_node_subgraphs (x), ys = ir_node_subgraphs (y);
  const guint n = xs != NULL ? xs->len : 0;

  if (n != (ys != NULL ? ys->len : 0))
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (!same_graph (a, xs->pdata[i], b, ys->pdata[i]))
      return FALSE;
  return TRUE;
}

static gboolean
has_bodies (const IrNode *node)
{
  g_autoptr (GPtrArray) bodies = ir_node_subgraphs (node);

  return bodies != NULL && bodies->len > 0;
}

/* (nullable) */
static const IrNode *
find (const Numbering *self, const Side *side, const IrNode *node, guint hash)
{
  IrNodeId id = GPOINTER_TO_UINT (g_hash_table_lookup (self->heads, GUINT_TO_POINTER (hash)));

  for (; id != 0; id = self->next[id])
    {
      const IrNode *then = ir_model_node (self->then.model, id);
      if (same_node (&self->then, then, side, node) && same_bodies (&self->then, then, side, node))
        return then;
    }
  return NULL;
}

static void
number_outputs (const Numbering *self, const Side *side, const IrNode *node, const IrNode *as)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && as->outputs[i] != NULL)
      side->same[node->outputs[i]->id] = self->then.same[as->outputs[i]->id] != 0
                                             ? self->then.same[as->outputs[i]->id]
                                             : as->outputs[i]->id;
}

/* What no node makes is a value of its own then. */
static void
number_then (Numbering *self)
{
  const Side *then = &self->then;
  guint n;
  IrNode *const *nodes = ir_graph_order (then->model->main, &n);

  for (guint id = 1; id < then->model->values->len; id++)
    {
      const IrValue *value = ir_model_live_value (then->model, id);
      if (value != NULL && value->producer == NULL)
        then->same[id] = id;
    }
  for (guint i = 0; i < n; i++)
    {
      const guint hash = hash_of (then, nodes[i]);
      const IrNode *as = find (self, then, nodes[i], hash);

      number_outputs (self, then, nodes[i], as != NULL ? as : nodes[i]);
      if (as != NULL)
        continue;
      self->next[nodes[i]->id] = GPOINTER_TO_UINT (
          g_hash_table_lookup (self->heads, GUINT_TO_POINTER (hash)));
      g_hash_table_insert (self->heads, GUINT_TO_POINTER (hash), GUINT_TO_POINTER (nodes[i]->id));
    }
}

/* (nullable): what a value without a producer holds */
static IrTensor *
source (GHashTable *inputs, const IrValue *value)
{
  IrTensor *given = g_hash_table_lookup (inputs, GUINT_TO_POINTER (value->id));

  return given != NULL ? given : value->initializer;
}

/* Sources are told by their names, and by all that they hold. */
static void
number_sources (Numbering *self, GHashTable *inputs)
{
  GHashTable *given = ir_run_inputs (self->before);

  for (guint id = 1; id < self->now.model->values->len; id++)
    {
      const IrValue *value = ir_model_live_value (self->now.model, id), *then;
      IrTensor *holds, *held;

      if (value == NULL || value->producer != NULL || value->graph != self->now.model->main)
        continue;
      then = ir_graph_find_value (self->then.model->main, value->name);
      if (then == NULL || then->producer != NULL)
        continue;
      holds = source (inputs, value);
      held = source (given, then);
      if (holds != NULL && held != NULL && (holds == held || ir_tensor_equal (holds, held)))
        self->now.same[id] = then->id;
    }
}

static void
number_now (Numbering *self, GHashTable *inputs)
{
  guint n;
  IrNode *const *nodes = ir_graph_order (self->now.model->main, &n);

  number_sources (self, inputs);
  for (guint i = 0; i < n; i++)
    {
      const IrNode *as = find (self, &self->now, nodes[i], hash_of (&self->now, nodes[i]));
      if (as != NULL)
        number_outputs (self, &self->now, nodes[i], as);
    }
}

/* -- what does not run -- */

static gboolean
is_kept (const IrRun *run, IrValueId id)
{
  return id != 0 && id < run->n_values &&
         (run->values[id] != NULL || ir_capture_is_spilled (run, id));
}

static gboolean
is_wanted (const IrRunStep *step, guint slot)
{
  return step->node->outputs[slot] != NULL && (!step->bound || step->outputs[slot] != NULL);
}

/* Whether @step gives what a node then did. */
static gboolean
is_same (const IrReuse *self, const IrRunStep *step)
{
  const IrNode *node = step->node;

  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && self->from[node->outputs[i]->id] == 0)
      return FALSE;
  return TRUE;
}

static gboolean
is_there (const IrReuse *self, const IrRunStep *step)
{
  const IrNode *node = step->node;

  for (guint i = 0; i < node->n_outputs; i++)
    if (!step->no_op && is_wanted (step, i) &&
        !is_kept (self->before, self->from[node->outputs[i]->id]))
      return FALSE;
  return !step->there && step->chain == 0 && !has_bodies (node);
}

/* Whether nobody computes what @node gives, so that it is neither run nor reused */
gboolean
ir_reuse_is_constant (const IrNode *node)
{
  return node->n_inputs == 0 && node->n_outputs == 1 && node->outputs[0] != NULL &&
         ir_value_constant (node->outputs[0]) != NULL;
}

/* Whether something is another: where nothing has changed, somebody wants to see it run. */
static gboolean
choose (IrReuse *self, const IrPrepared *prepared, gboolean all, guint *n_reused)
{
  const guint n_steps = prepared->schedule->items->len;
  gboolean changed = all;

  *n_reused = 0;
  for (guint i = 0; i < n_steps; i++)
    {
      const IrRunStep *step = &prepared->steps[i];
      const gboolean same = is_same (self, step), there = same && is_there (self, step);

      changed = changed || !same;
      self->nodes[step->node->id] = there;
      *n_reused += there && !ir_reuse_is_constant (step->node);
    }
  return changed && *n_reused > 0;
}

/* For a run that begins. NULL: all nodes run, as nothing is the same, or everything, or as they run in another
 * way than those of @before, so that bits may differ. Counts in the run those that need not run. */
IrReuse *
ir_reuse_new (IrRun *before, const IrRunState *state)
{
  const IrPrepared *prepared = state->prepared;
  g_autoptr (GHashTable) heads = g_hash_table_new (NULL, NULL);
  const IrModel *then = before->model, *now = prepared->model;
  g_autofree IrValueId *same = g_new0 (IrValueId, then->values->len + 1);
  g_autofree IrNodeId *next = g_new0 (IrNodeId, then->nodes->len + 1);
  IrReuse *self;
  Numbering numbering;

  if (then->context != now->context || state->options->checks != 0 ||
      !run_alike (ir_run_options (before), state->options))
    return NULL;
  self = g_new0 (IrReuse, 1);
  self->before = ir_run_ref (before);
  self->from = g_new0 (IrValueId, now->values->len + 1);
  self->nodes = g_new0 (guint8, now->nodes->len + 1);
  numbering = (Numbering){
    { then, before->schedule, before->schedule->kernels, ir_run_options (before)->seed, same },
    { now, prepared->schedule, prepared->kernels, state->options->seed, self->from },
    before,
    heads,
    next,
  };
  number_then (&numbering);
  number_now (&numbering, ir_run_inputs (state->run));
  if (choose (self, prepared, state->options->reuse_all, &state->run->n_reused))
    return self;
  state->run->n_reused = 0;
  ir_reuse_free (self);
  return NULL;
}

void
ir_reuse_free (IrReuse *self)
{
  if (self == NULL)
    return;
  ir_run_unref (self->before);
  g_free (self->from);
  g_free (self->nodes);
  g_free (self);
}

gboolean
ir_reuse_has (const IrReuse *self, const IrNode *node)
{
  return self != NULL && self->nodes[node->id];
}

/* Gives the outputs of @step their contents, in place of its kernel. */
gboolean
ir_reuse_fill (const IrReuse *self, IrRunState *state, IrRunStep *step, GError **error)
{
  const IrNode *node = step->node;

  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrValue *value = node->outputs[i];
      if (!is_wanted (step, i))
        continue;
      g_autoptr (IrTensor) kept = ir_capture_peek (self->before, self->from[value->id]);
      g_autoptr (IrTensor) tensor = NULL;
      if (kept == NULL)
        {
          g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                       "what the run before has kept of %s cannot be read again", value->name);
          return FALSE;
        }
      tensor = ir_run_layout_for_kernels (state->prepared->schedule, value, kept, error);
      if (tensor == NULL)
        return FALSE;
      if (step->bound && !state->diverged)
        memcpy (ir_tensor_data_writable (step->outputs[i]), ir_tensor_data (tensor),
                ir_tensor_n_bytes (tensor));
      else if (!ir_run_state_publish (state, value, tensor, error))
        return FALSE;
    }
  return TRUE;
}
