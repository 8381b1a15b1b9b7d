/* One application of one rule, as the runner sees it: asked of the policy by a key that means the
 * same in every run, opened in the log, closed with its cost. Costs are kept by delta: what each
 * live node costs is in a side table, so a step pays for the nodes that it made and removed, not
 * for the graph. */
#include "config.h"

#include "core/op/check.h"
#include "passes/rule/step.h"

#include "core/ir/inline.h"
#include "core/op/op.h"
#include "passes/pass.h"
#include "passes/rule/rule.h"

#include <string.h>

typedef struct
{
  guint64 flops, bytes;
  guint64 params; /* of Constant nodes: elements */
  guint step;     /* ordinal of the step that it was counted after */
  guint8 counted; /* 1 if it counts as a node */
  guint8 present; /* 1 if it is in the sum */
} NodeCost;

/* -- origins: which node of the start a node descends from -- */

static guint32
origin_of (const struct _IrPassPrivate *priv, IrNodeId node)
{
  guint32 origin = 0;

  if (node < priv->origins->len)
    origin = g_array_index (priv->origins, guint32, node);
  return origin != 0 ? origin : node;
}

static void
note_origins (GArray *origins, const IrStep *step)
{
  for (guint i = 0; step->nodes != NULL && i < step->nodes->len; i++)
    {
      IrIdPair pair = g_array_index (step->nodes, IrIdPair, i);
      guint32 from = pair.before;

      if (pair.after == 0 || pair.after == pair.before)
        continue;
      if (from < origins->len && g_array_index (origins, guint32, from) != 0)
        from = g_array_index (origins, guint32, from);
      if (pair.after >= origins->len)
        g_array_set_size (origins, pair.after + 1);
      guint32 *slot = &g_array_index (origins, guint32, pair.after);
      if (*slot == 0 || from < *slot)
        *slot = from;
    }
}

/* @settings: (nullable): what was set of the pass's options; another value, another key */
static char *
prefix_of (const char *pass, const char *settings, const char *rule, guint32 origin)
{
  return settings != NULL ? g_strdup_printf ("%s{%s}/%s/%u", pass, settings, rule, origin)
                          : g_strdup_printf ("%s/%s/%u", pass, rule, origin);
}

static char *
prefix_of_step (const IrModel *model, const IrStep *step, guint32 origin)
{
  const IrPassRun *run = ir_history_pass_run (model, step->pass_run);

  return prefix_of (run->pass, run->settings, step->rule, origin);
}

static char *
stable_key (struct _IrPassPrivate *priv, const char *rule, const IrNode *anchor, guint *occurrence)
{
  g_autofree char *prefix = prefix_of (priv->pass->name, ir_pass_settings (priv->pass), rule,
                                       anchor != NULL ? origin_of (priv, anchor->id) : 0);

  *occurrence = GPOINTER_TO_UINT (g_hash_table_lookup (priv->occurrence, prefix));
  return g_strdup_printf ("%s/%u", prefix, *occurrence);
}

/**
 * ir_step_stable_key:
 * @model: a model with a history
 * @step: 1 .. n_steps
 *
 * The key that the policy is asked with when a re-run comes to the same application: pass, its
 * options that were set, rule, the node of the start that the anchor descends from, and the how-manieth application there.
 * O(step).
 *
 * Returns: (transfer full): "fold-conv-bn/fold-conv-bn/12/0"
 */
char *
ir_step_stable_key (const IrModel *model, guint step)
{
  g_autoptr (GArray) origins = g_array_new (FALSE, TRUE, sizeof (guint32));
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 1; i <= step; i++)
    {
      const IrStep *at = ir_history_step (model, i);
      guint32 origin = at->anchor;

      if (origin < origins->len && g_array_index (origins, guint32, origin) != 0)
        origin = g_array_index (origins, guint32, origin);
      char *prefix = prefix_of_step (model, at, origin);
      guint n = GPOINTER_TO_UINT (g_hash_table_lookup (seen, prefix));
      if (i == step)
        {
          char *key = g_strdup_printf ("%s/%u", prefix, n);
          g_free (prefix);
          return key;
        }
      g_hash_table_replace (seen, prefix, GUINT_TO_POINTER (n + 1));
      note_origins (origins, at);
    }
  return NULL;
}

/* -- costs -- */

static NodeCost
cost_of (const IrNode *node)
{
  NodeCost cost = { .counted = !ir_node_is_constant (node), .present = TRUE };
  IrCost both = ir_cost_node (node);

  cost.flops = both.flops;
  cost.bytes = both.bytes;
  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrTensor *tensor = node->outputs[i] != NULL ? ir_value_constant (node->outputs[i])
                                                        : NULL;
      cost.params += tensor != NULL ? ir_tensor_n_elements (tensor) : 0;
    }
  return cost;
}

static guint64
params_of (const IrValue *value)
{
  return value->initializer != NULL ? ir_tensor_n_elements (value->initializer) : 0;
}

static NodeCost *
cost_slot (struct _IrPassPrivate *priv, const IrNode *node)
{
  if (node->id >= priv->node_costs->len)
    g_array_set_size (priv->node_costs, MAX (node->id + 1, priv->node_costs->len * 2));
  return &g_array_index (priv->node_costs, NodeCost, node->id);
}

/* Nodes in the bodies of functions are not asked what they cost: each of a chain of bodies that
 * call the next one twice costs what all of its calls do, so asking them all would take for ever.
 */
static gboolean
is_in_function (const IrNode *node)
{
  const IrGraph *graph = node->graph;

  while (graph->kind == IR_GRAPH_SUBGRAPH && ir_graph_outer (graph) != NULL)
    graph = ir_graph_outer (graph);
  return graph->kind == IR_GRAPH_FUNCTION;
}

static void
note_operator (struct _IrPassPrivate *priv, const IrNode *node)
{
  g_hash_table_add (priv->present, (gpointer) node->op_type);
  if (node->op != NULL && (node->op->flags & IR_OP_NAMES_VALUES))
    priv->names_values = TRUE;
}

static void
count_all (IrPassContext *context)
{
  struct _IrPassPrivate *priv = context->priv;
  gboolean partial = FALSE;

  for (guint i = 1; i < context->model->nodes->len; i++)
    {
      const IrNode *node = context->model->nodes->pdata[i];
      if (node->state != IR_STATE_LIVE)
        continue;
      note_operator (priv, node);
      if (!is_in_function (node))
        *cost_slot (priv, node) = cost_of (node);
    }
  priv->cost = ir_cost_model (context->model, &partial);
}

static void
subtract_cost (IrCost *sum, const NodeCost *cost)
{
  sum->flops -= MIN (cost->flops, sum->flops);
  sum->bytes -= MIN (cost->bytes, sum->bytes);
  sum->params -= MIN (cost->params, sum->params);
  sum->n_nodes -= MIN (cost->counted, sum->n_nodes);
}

/* What @node costs after the step instead of what it cost before; once per step. FALSE: it lies in
 * a function, whose nodes cost what its calls do. */
static gboolean
apply_node_cost (IrPassContext *context, const IrNode *node)
{
  struct _IrPassPrivate *priv = context->priv;
  NodeCost *slot, cost;

  if (node->state == IR_STATE_LIVE)
    note_operator (priv, node);
  if (node->controls != NULL)
    priv->controls_known = FALSE;
  if (is_in_function (node))
    return FALSE;
  slot = cost_slot (priv, node);
  if (slot->step == priv->n_steps + 1)
    return TRUE;
  if (slot->present)
    subtract_cost (&priv->cost, slot);
  *slot = (NodeCost){ 0 };
  if (node->state == IR_STATE_LIVE)
    {
      cost = cost_of (node);
      priv->cost.flops += cost.flops;
      priv->cost.bytes += cost.bytes;
      priv->cost.params += cost.params;
      priv->cost.n_nodes += cost.counted;
      *slot = cost;
    }
  slot->step = priv->n_steps + 1;
  return TRUE;
}

/* What reads or makes a value whose type changed. */
static gboolean
apply_type_cost (IrPassContext *context, const IrValue *value)
{
  gboolean known = TRUE;

  if (value->state != IR_STATE_LIVE)
    return TRUE;
  if (value->producer != NULL)
    known = apply_node_cost (context, value->producer);
  for (guint i = 0; i < value->n_uses && known; i++)
    {
      IrUse use = ir_value_use (value, i);
      if (use.node != NULL)
        known = apply_node_cost (context, use.node);
    }
  return known;
}

/* A step names what it changed by its records. One that changed a function may have changed what
 * every call of it costs: then all is counted anew. */
static void
apply_costs (IrPassContext *context, const IrStep *step)
{
  struct _IrPassPrivate *priv = context->priv;
  gboolean known = TRUE;

  for (guint i = 0; i < step->n_records && known; i++)
    {
      const IrRecord *record = ir_history_record (context->model, step->first_record + i);

      if (ir_record_changes_computation (record))
        known = apply_node_cost (context, ir_model_node (context->model, record->subject));
      else if (record->kind == IR_RECORD_NODE_CONTROLS)
        priv->controls_known = FALSE;
      else if (record->kind == IR_RECORD_VALUE_TYPE || record->kind == IR_RECORD_VALUE_CLAIM)
        known = apply_type_cost (context, ir_model_value (context->model, record->subject));
      else if (record->kind == IR_RECORD_VALUE_STATE)
        {
          const IrValue *value = ir_model_value (context->model, record->subject);
          if (value->state == IR_STATE_LIVE)
            priv->cost.params += params_of (value);
          else
            priv->cost.params -= MIN (params_of (value), priv->cost.params);
        }
    }
  if (!known)
    {
      count_all (context);
      priv->controls_known = FALSE;
    }
}

/* -- the runner's context -- */

/**
 * ir_pass_context_init:
 * @context: a run of passes, its public fields set
 * @priv: (out caller-allocates): what the runner keeps
 * @edit: the edit that passes write through
 */
void
ir_pass_context_init (IrPassContext *context, struct _IrPassPrivate *priv, IrEdit *edit)
{
  context->edit = edit;
  context->model = ir_edit_model (edit);
  context->priv = priv;
  priv->origins = g_array_new (FALSE, TRUE, sizeof (guint32));
  priv->node_costs = g_array_new (FALSE, TRUE, sizeof (NodeCost));
  priv->calls = g_ptr_array_new ();
  priv->occurrence = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  priv->skipped = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  priv->present = g_hash_table_new (NULL, NULL);
  priv->tables = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) ir_rule_table_free);
  priv->control_sources = g_hash_table_new (NULL, NULL);
  priv->ordinal = ir_history_n_steps (context->model);
  for (guint i = 1; i <= ir_history_n_steps (context->model); i++)
    {
      const IrStep *step = ir_history_step (context->model, i);
      g_autofree char *prefix = prefix_of_step (context->model, step,
                                                origin_of (priv, step->anchor));
      guint n = GPOINTER_TO_UINT (g_hash_table_lookup (priv->occurrence, prefix));
      g_hash_table_replace (priv->occurrence, g_steal_pointer (&prefix), GUINT_TO_POINTER (n + 1));
      note_origins (priv->origins, step);
    }
}

/**
 * ir_pass_context_clear:
 * @context: a run of passes
 *
 * Frees what ir_pass_context_init() made.
 */
void
ir_pass_context_clear (IrPassContext *context)
{
  struct _IrPassPrivate *priv = context->priv;

  g_clear_pointer (&priv->origins, g_array_unref);
  g_clear_pointer (&priv->node_costs, g_array_unref);
  g_clear_pointer (&priv->calls, g_ptr_array_unref);
  g_clear_pointer (&priv->occurrence, g_hash_table_unref);
  g_clear_pointer (&priv->skipped, g_hash_table_unref);
  g_clear_pointer (&priv->present, g_hash_table_unref);
  g_clear_pointer (&priv->tables, g_hash_table_unref);
  g_clear_pointer (&priv->control_sources, g_hash_table_unref);
  g_clear_pointer (&priv->frames, g_hash_table_unref);
}

/**
 * ir_pass_context_start:
 * @context: a run of passes
 * @pass: the pass that runs next
 *
 * Takes stock of the model as it is when @pass begins: of control dependencies, and at first of
 * costs, which then are kept by the steps.
 */
void
ir_pass_context_start (IrPassContext *context, const IrPass *pass)
{
  struct _IrPassPrivate *priv = context->priv;

  if (priv->pass == NULL)
    count_all (context);
  priv->pass = pass;
  if (priv->controls_known)
    return;
  priv->controls_known = TRUE;
  g_hash_table_remove_all (priv->control_sources);
  for (guint i = 1; i < context->model->nodes->len; i++)
    {
      const IrNode *node = context->model->nodes->pdata[i];

      for (guint k = 0;
           node->state == IR_STATE_LIVE && node->controls != NULL && k < node->controls->n; k++)
        g_hash_table_add (priv->control_sources, GUINT_TO_POINTER (node->controls->ids[k]));
    }
}

/**
 * ir_pass_is_control_source:
 * @context: a run of passes
 * @node: a live node
 *
 * Returns: %TRUE if some node must run after it
 */
gboolean
ir_pass_is_control_source (const IrPassContext *context, const IrNode *node)
{
  return g_hash_table_contains (context->priv->control_sources, GUINT_TO_POINTER (node->id));
}

/**
 * ir_pass_has_control:
 * @context: a run of passes
 * @node: a live node
 *
 * Returns: %TRUE if a control dependency begins or ends at it
 */
gboolean
ir_pass_has_control (const IrPassContext *context, const IrNode *node)
{
  return node->controls != NULL || ir_pass_is_control_source (context, node);
}

/**
 * ir_pass_rule_enabled:
 * @context: a run of passes
 * @rule: name of a rule
 * @step_class: its class
 *
 * Returns: %TRUE if the class is allowed and the rule is not switched off
 */
gboolean
ir_pass_rule_enabled (const IrPassContext *context, const char *rule, IrClass step_class)
{
  return step_class <= context->max_class &&
         (context->disabled_rules == NULL || !g_strv_contains (context->disabled_rules, rule));
}

/* -- one application -- */

/**
 * ir_pass_begin:
 * @context: a run of passes
 * @rule: name of a rule
 * @step_class: its class
 * @anchor: where it would be applied
 *
 * Asks whether @rule may be applied at @anchor.
 *
 * Returns: %TRUE with an open step; %FALSE if class, switches, policy or cancellation forbid it
 */
gboolean
ir_pass_begin (IrPassContext *context, const char *rule, IrClass step_class, const IrNode *anchor)
{
  struct _IrPassPrivate *priv = context->priv;
  IrPolicyAnswer answer = IR_POLICY_APPLY;
  guint occurrence;

  if (context->stopped || !ir_pass_rule_enabled (context, rule, step_class))
    return FALSE;
  if (context->policy != NULL)
    {
      g_autofree char *key = stable_key (priv, rule, anchor, &occurrence);

      /* A skipped place is met again in the next iteration: asking once is enough. */
      if (g_hash_table_contains (priv->skipped, key))
        return FALSE;
      answer = context->policy->ask (priv->pass->name, rule, anchor, ++priv->ordinal, key,
                                     context->policy->data);
      if (answer == IR_POLICY_SKIP)
        g_hash_table_add (priv->skipped, g_steal_pointer (&key));
    }
  if (answer == IR_POLICY_STOP)
    context->stopped = TRUE;
  if (answer != IR_POLICY_APPLY)
    return FALSE;
  ir_edit_begin_step (context->edit, rule, step_class, anchor != NULL ? anchor->id : 0);
  return TRUE;
}

/**
 * ir_pass_abort:
 * @context: a run of passes with an open step
 *
 * Takes the step back.
 */
void
ir_pass_abort (IrPassContext *context)
{
  ir_edit_abort_step (context->edit);
}

/**
 * ir_pass_end:
 * @context: a run of passes with an open step
 *
 * Ends the step: its stable key, lineage and costs.
 */
void
ir_pass_end (IrPassContext *context)
{
  struct _IrPassPrivate *priv = context->priv;
  guint before = ir_history_n_steps (context->model);
  IrCost cost = priv->cost;

  ir_edit_end_step (context->edit);
  if (ir_history_n_steps (context->model) == before)
    return;
  const IrStep *step = ir_history_step (context->model, before + 1);
  char *prefix = prefix_of_step (context->model, step, origin_of (priv, step->anchor));
  guint n = GPOINTER_TO_UINT (g_hash_table_lookup (priv->occurrence, prefix));
  g_hash_table_replace (priv->occurrence, prefix, GUINT_TO_POINTER (n + 1));
  note_origins (priv->origins, step);
  apply_costs (context, step);
  ir_history_set_cost (context->model, before + 1, &cost, &priv->cost);
  priv->n_steps++;
  if (priv->progress != NULL)
    priv->progress (priv->pass->name, priv->n_steps, priv->progress_data);
}

/* -- shared by passes -- */

static void
remove_if_unused (IrPassContext *context, IrValue *value)
{
  if (value->state != IR_STATE_LIVE || value->n_uses > 0 || ir_value_constant (value) == NULL)
    return;
  if (value->producer != NULL)
    ir_edit_remove_node (context->edit, value->producer);
  else if (!ir_value_is_graph_input (value))
    ir_edit_remove_value (context->edit, value);
}

/**
 * ir_pass_remove_node:
 * @context: a run of passes with an open step
 * @node: a live node whose outputs nobody uses
 *
 * Removes @node, then its constant inputs that nothing uses any more.
 */
void
ir_pass_remove_node (IrPassContext *context, IrNode *node)
{
  guint n = node->n_inputs;
  g_autofree IrValue **inputs = g_memdup2 (node->inputs, n * sizeof (IrValue *));

  ir_edit_remove_node (context->edit, node);
  for (guint i = 0; i < n; i++)
    if (inputs[i] != NULL)
      remove_if_unused (context, inputs[i]);
}

/**
 * ir_pass_take_name:
 * @context: a run of passes with an open step
 * @old: a value that @fresh has replaced everywhere, its producer gone
 * @fresh: a live value
 *
 * Gives @fresh the name that a user gave to @old.
 */
void
ir_pass_take_name (IrPassContext *context, const IrValue *old, IrValue *fresh)
{
  if (old->state == IR_STATE_LIVE || !(old->flags & IR_VALUE_NAMED_BY_USER) ||
      (fresh->flags & IR_VALUE_NAMED_BY_USER))
    return;
  ir_edit_rename_value (context->edit, fresh, old->name);
  ir_edit_set_flags (context->edit, fresh, fresh->flags | IR_VALUE_NAMED_BY_USER);
}

/**
 * ir_pass_replace_node:
 * @context: a run of passes with an open step
 * @old: a live node of one output
 * @fresh: (transfer none): the output of a new node that is the same value
 *
 * @fresh stands for the output of @old from now on: with what is known of its type, for all its
 * uses, under its name. @old goes, with its constant inputs that nothing else uses.
 */
void
ir_pass_replace_node (IrPassContext *context, IrNode *old, IrValue *fresh)
{
  IrValue *value = old->outputs[0];
  const IrType *merged = ir_type_merge (context->model->context, fresh->type, value->type);

  if (merged != NULL && merged != fresh->type)
    ir_edit_set_type (context->edit, fresh, merged);
  ir_edit_replace_uses (context->edit, value, fresh);
  ir_edit_step_map_node (context->edit, old->id, fresh->producer->id);
  ir_pass_remove_node (context, old);
  ir_pass_take_name (context, value, fresh);
}

/**
 * ir_pass_moves_tokens:
 * @graph: (nullable): a graph
 *
 * Returns: whether it, or a graph around it, has nodes that may be dead or run more than once: what a rule
 *   takes for a value that is there may not be
 */
gboolean
ir_pass_moves_tokens (const IrGraph *graph)
{
  for (; graph != NULL; graph = ir_graph_outer (graph))
    if (ir_graph_has_tokens (graph))
      return TRUE;
  return FALSE;
}

/* Detached graphs, what fusion made, and bodies of what the op table has a row for: an operator is
 * not to be made from what defines it. */
static gboolean
is_left_alone (const IrGraph *graph)
{
  const IrFunctionInfo *info;

  while (graph != NULL && graph->kind == IR_GRAPH_SUBGRAPH)
    graph = ir_graph_outer (graph);
  info = graph != NULL ? graph->function : NULL;
  return graph == NULL || (info != NULL && (strcmp (info->domain, IR_PASS_FUSED_DOMAIN) == 0 ||
                                            ir_op_find (info->domain, info->name) != NULL));
}

/**
 * ir_pass_graphs:
 * @context: a run of passes
 *
 * In the body of a function types are what all calls agree on, attributes may be those of the call
 * (ir_pass_is_open()), and constants are nodes (ir_pass_add_constant()).
 *
 * A graph that tokens move through is left out, with what is inside of it, unless the pass is made for such:
 * the rule engine is (places.c), others say so (IrPass.tokens).
 *
 * Returns: (transfer container): the live main graph, bodies of functions, and subgraphs of both,
 *   outer ones first
 */
GPtrArray *
ir_pass_graphs (IrPassContext *context)
{
  GPtrArray *graphs = g_ptr_array_new ();
  const IrPass *pass = context->priv->pass;
  const gboolean tokens = pass->rules != NULL || pass->tokens;

  for (guint i = 1; i < context->model->graphs->len; i++)
    {
      IrGraph *graph = context->model->graphs->pdata[i];
      if (graph->state == IR_STATE_LIVE && !is_left_alone (graph) && !ir_graph_is_cyclic (graph) &&
          (tokens || !ir_pass_moves_tokens (graph)))
        g_ptr_array_add (graphs, graph);
    }
  return graphs;
}

/**
 * ir_pass_visit_nodes:
 * @context: a pass that runs
 * @visit: called with each node that is still live; may write
 * @error: return location for an error
 *
 * Goes through the nodes of all graphs that may be rewritten, as they were when their graph came.
 *
 * Returns: %FALSE with an error if cancelled
 */
gboolean
ir_pass_visit_nodes (IrPassContext *context, IrPassVisit visit, GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (context);

  for (guint i = 0; i < graphs->len; i++)
    {
      g_autoptr (GPtrArray) nodes = ir_graph_nodes (graphs->pdata[i]);

      for (guint k = 0; k < nodes->len && !context->stopped; k++)
        {
          IrNode *node = nodes->pdata[k];

          if (ir_pass_cancelled (context, error))
            return FALSE;
          if (node->state == IR_STATE_LIVE)
            visit (context, node);
        }
    }
  return TRUE;
}

/**
 * ir_pass_visit_inner_first:
 * @context: a pass that runs
 * @visit: called with each node that is still live; may write, and remove graphs
 * @data: for @visit
 * @error: return location for an error
 *
 * As ir_pass_visit_nodes(), but what is inside of a node comes before it.
 *
 * Returns: %FALSE with an error if cancelled
 */
gboolean
ir_pass_visit_inner_first (IrPassContext *context,
                           IrPassVisitInner visit,
                           gpointer data,
                           GError **error)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (context);

  for (guint i = graphs->len; i > 0 && !context->stopped; i--)
    {
      const IrGraph *graph = graphs->pdata[i - 1];
      g_autoptr (GPtrArray) nodes = graph->state == IR_STATE_LIVE ? ir_graph_nodes (graph) : NULL;

      for (guint k = 0; nodes != NULL && k < nodes->len && !context->stopped; k++)
        {
          IrNode *node = nodes->pdata[k];

          if (ir_pass_cancelled (context, error))
            return FALSE;
          if (node->state == IR_STATE_LIVE)
            visit (node, data);
        }
    }
  return TRUE;
}

/**
 * ir_pass_is_open:
 * @node: a node
 *
 * Returns: %TRUE if it is not said here what @node does, so that it has to be left alone: it takes
 *   attributes of the function around it, and what they are is up to the call, or it does not fit
 *   its operator (ir_node_is_valid())
 */
gboolean
ir_pass_is_open (const IrNode *node)
{
  if (!ir_node_is_valid (node))
    return TRUE;
  for (guint i = 0; i < node->n_attrs; i++)
    if (node->attrs[i]->ref_name != NULL)
      return TRUE;
  return FALSE;
}

/**
 * ir_pass_make_constant:
 * @context: a run of passes with an open step
 * @value: a value with an initializer
 *
 * A function has no initializers: what got there becomes the output of a Constant.
 */
void
ir_pass_make_constant (IrPassContext *context, IrValue *value)
{
  IrEdit *edit = context->edit;
  IrNode *node;

  if (value->graph->kind != IR_GRAPH_FUNCTION || value->initializer == NULL)
    return;
  g_autoptr (IrTensor) tensor = ir_tensor_ref (value->initializer);
  ir_edit_set_initializer (edit, value, NULL);
  node = ir_edit_add_node_with_outputs (edit, value->graph, "Constant", NULL, NULL, 0, NULL, 1,
                                        &value);
  ir_edit_set_attr (edit, node, ir_attr_tensor (context->model->context, "value", tensor));
}

/**
 * ir_pass_add_constant:
 * @context: a run of passes with an open step
 * @graph: where
 * @base_name: what its name begins with
 * @tensor: its contents
 *
 * Returns: (transfer none): a new initializer, in the body of a function the output of a Constant
 */
IrValue *
ir_pass_add_constant (IrPassContext *context,
                      IrGraph *graph,
                      const char *base_name,
                      IrTensor *tensor)
{
  IrValue *value = ir_edit_add_initializer (context->edit, graph,
                                            ir_edit_unique_name (context->edit, base_name), tensor);

  ir_pass_make_constant (context, value);
  return value;
}

static gboolean
imports (const IrOpsets *opsets, const char *domain)
{
  for (guint i = 0; opsets != NULL && i < opsets->n; i++)
    if (strcmp (opsets->opsets[i].domain, domain) == 0)
      return TRUE;
  return FALSE;
}

/* @version: 0: it imports it no more */
static void
import_in_function (IrPassContext *context, IrGraph *graph, const char *domain, gint64 version)
{
  const IrOpsets *old = graph->function->opsets;
  guint n = old != NULL ? old->n : 0;
  gsize size = sizeof *old + (n + 1) * sizeof old->opsets[0];
  g_autofree IrOpsets *opsets = g_malloc0 (size);
  IrFunctionInfo info = *graph->function;

  for (guint i = 0; i < n; i++)
    if (strcmp (old->opsets[i].domain, domain) != 0)
      opsets->opsets[opsets->n++] = old->opsets[i];
  if (version != 0)
    opsets->opsets[opsets->n++] = (IrOpset){ ir_context_intern (context->model->context, domain),
                                             version };
  info.opsets = ir_context_dup (context->model->context, opsets, size);
  ir_edit_set_function_info (context->edit, graph, &info);
}

static IrGraph *
root_of (IrGraph *graph)
{
  while (graph->kind == IR_GRAPH_SUBGRAPH && ir_graph_outer (graph) != NULL)
    graph = ir_graph_outer (graph);
  return graph;
}

/**
 * ir_pass_import:
 * @context: a run of passes with an open step
 * @graph: where an operator of @domain is about to be used
 * @domain: a domain of which there is one version
 *
 * irscope's own operators need an import, or no reader would know their version; a function has its
 * own imports.
 */
void
ir_pass_import (IrPassContext *context, IrGraph *graph, const char *domain)
{
  if (domain[0] == '\0')
    return;
  if (!imports (context->model->opsets, domain))
    ir_edit_set_opset (context->edit, domain, 1);
  graph = root_of (graph);
  if (graph->kind == IR_GRAPH_FUNCTION && graph->function != NULL &&
      !imports (graph->function->opsets, domain))
    import_in_function (context, graph, domain, 1);
}

/**
 * ir_pass_drop_import:
 * @context: a run of passes with an open step
 * @graph: where an operator of @domain was used
 * @domain: a domain
 *
 * Takes the import back from the model, and from the function that @graph lies in, if nothing there is of
 * @domain any more. O(model).
 */
void
ir_pass_drop_import (IrPassContext *context, IrGraph *graph, const char *domain)
{
  const IrModel *model = context->model;
  gboolean in_model = FALSE, in_function = FALSE;

  graph = root_of (graph);
  for (guint i = 1; i < model->nodes->len && !in_function; i++)
    {
      const IrNode *node = ir_model_live_node (model, i);
      if (node == NULL || strcmp (node->domain, domain) != 0)
        continue;
      in_model = TRUE;
      in_function = root_of (node->graph) == graph;
    }
  for (guint i = 1; i < model->graphs->len && !in_model; i++)
    {
      const IrGraph *function = model->graphs->pdata[i];
      in_model = function->state == IR_STATE_LIVE && function->function != NULL &&
                 strcmp (function->function->domain, domain) == 0;
    }
  if (!in_model && imports (model->opsets, domain))
    ir_edit_set_opset (context->edit, domain, 0);
  if (!in_function && graph->state == IR_STATE_LIVE && graph->function != NULL &&
      imports (graph->function->opsets, domain))
    import_in_function (context, graph, domain, 0);
}

/**
 * ir_pass_cancelled:
 * @context: a run of passes
 * @error: return location for an error
 *
 * Returns: %TRUE, with %G_IO_ERROR_CANCELLED, if the run was cancelled
 */
gboolean
ir_pass_cancelled (IrPassContext *context, GError **error)
{
  return context->cancellable != NULL &&
         g_cancellable_set_error_if_cancelled (context->cancellable, error);
}

/**
 * ir_types_identical:
 * @a: (nullable): a type
 * @b: (nullable): a type
 *
 * Returns: %TRUE if both are the same tensor type with every dimension known or symbolic, so that
 *   reading one for the other changes nothing
 */
gboolean
ir_types_identical (const IrType *a, const IrType *b)
{
  if (!ir_type_is_tensor (a) || !ir_type_is_tensor (b) || a->dtype != b->dtype ||
      a->dtype == IR_DTYPE_UNDEFINED || !ir_type_has_rank (a) || a->rank != b->rank)
    return FALSE;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] == IR_DIM_UNKNOWN || a->dims[i] != b->dims[i])
      return FALSE;
  return TRUE;
}

/**
 * ir_pass_same_operation:
 * @a: a node
 * @b: another one
 *
 * An output that one leaves out and the other makes is a difference.
 *
 * Returns: %TRUE if they compute the same where they read the same, unless they draw random numbers
 */
gboolean
ir_pass_same_operation (const IrNode *a, const IrNode *b)
{
  if (a->op_type != b->op_type || a->domain != b->domain || a->overload != b->overload ||
      a->device != b->device || a->n_inputs != b->n_inputs || a->n_attrs != b->n_attrs ||
      a->n_outputs != b->n_outputs)
    return FALSE;
  for (guint i = 0; i < a->n_outputs; i++)
    if ((a->outputs[i] == NULL) != (b->outputs[i] == NULL))
      return FALSE;
  for (guint i = 0; i < a->n_attrs; i++)
    if (!ir_attr_equal (a->attrs[i], b->attrs[i]))
      return FALSE;
  return TRUE;
}
