/* Running pipelines: passes in their order, again and again until nothing changes. */
#include "config.h"

#include "passes/pipeline/pipeline.h"

#include "core/ir/cycles.h"
#include "core/ir/history.h"
#include "core/op/verify.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#define DEFAULT_FOLD_LIMIT (64u << 20)

static gboolean
verify (IrPassContext *context, const IrPass *pass, GError **error)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();

  ir_verify_structure (context->model, problems);
  for (guint i = 0; i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];

      if (problem->severity != IR_SEVERITY_ERROR)
        continue;
      g_set_error (error, IR_OP_ERROR, IR_OP_ERROR_VALUE, "after pass %s: %s", pass->name,
                   problem->message);
      return FALSE;
    }
  return TRUE;
}

/* Passes need shapes. A reader has inferred them; a graph built by hand may lack them. */
static gboolean
lacks_types (const IrModel *model)
{
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];

      for (guint k = 0; node->state == IR_STATE_LIVE && node->op != NULL && k < node->n_outputs;
           k++)
        if (node->outputs[k] != NULL && node->outputs[k]->type == NULL)
          return TRUE;
    }
  return FALSE;
}

/* A step of its own, if it finds anything; nothing runs otherwise than before. */
static void
infer (IrEdit *edit, const char *rule, const char *reason, void (*func) (IrEdit *edit))
{
  IrModel *model = ir_edit_model (edit);
  guint n = ir_history_n_steps (model);
  gboolean partial = FALSE;

  ir_edit_begin_pass (edit, "infer-shapes");
  ir_edit_begin_step (edit, rule, IR_CLASS_EXACT, 0);
  ir_edit_step_reason (edit, "%s", reason);
  func (edit);
  ir_edit_end_step (edit);
  ir_edit_end_pass (edit);
  if (ir_history_n_steps (model) > n)
    {
      const IrCost cost = ir_cost_model (model, &partial);
      ir_history_set_cost (model, n + 1, &cost, &cost);
    }
}

static void
infer_graphs (IrEdit *edit)
{
  ir_infer_model (edit, IR_INFER_FACTS, NULL);
}

static void
infer_all (IrEdit *edit, const char *reason)
{
  infer (edit, "infer-shapes", reason, infer_graphs);
}

static void
infer_missing (IrEdit *edit)
{
  if (lacks_types (ir_edit_model (edit)))
    infer_all (edit, "types of values, which the passes need");
}

/* Some output of a node has a rank or a dimension of which nothing is known. */
static gboolean
has_open_types (const IrModel *model)
{
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = model->nodes->pdata[i];

      for (guint k = 0; node->state == IR_STATE_LIVE && node->op != NULL && k < node->n_outputs;
           k++)
        {
          const IrType *type = node->outputs[k] != NULL ? node->outputs[k]->type : NULL;

          if (!ir_type_is_tensor (type))
            continue;
          if (!ir_type_has_rank (type))
            return TRUE;
          for (int d = 0; d < type->rank; d++)
            if (type->dims[d] == IR_DIM_UNKNOWN)
              return TRUE;
        }
    }
  return FALSE;
}

/* A shape that has become a constant says more about what is computed with it, and behind it. */
static void
infer_more (IrEdit *edit)
{
  if (has_open_types (ir_edit_model (edit)))
    infer_all (edit, "types of values that folding made known");
}

static gboolean
has_functions (const IrModel *model)
{
  for (guint i = 1; i < model->graphs->len; i++)
    if (((IrGraph *) model->graphs->pdata[i])->state == IR_STATE_LIVE &&
        ((IrGraph *) model->graphs->pdata[i])->kind == IR_GRAPH_FUNCTION)
      return TRUE;
  return FALSE;
}

/* In bodies of functions: what all calls agree on, which gets more as calls change. */
static void
infer_functions (IrEdit *edit)
{
  if (has_functions (ir_edit_model (edit)))
    infer (edit, "infer-functions", "types in functions, where all calls agree",
           ir_infer_functions);
}

static gboolean
run_rules (IrPassContext *context, const IrPass *pass, GError **error)
{
  IrRuleTable *table = g_hash_table_lookup (context->priv->tables, pass);

  if (table == NULL)
    {
      table = ir_rule_table_new_lazy (pass->rules);
      g_hash_table_insert (context->priv->tables, (gpointer) pass, table);
    }
  return ir_rule_table_run (table, context, error);
}

/* In the order of the pipeline, each pass once. */
static void
add_rule_totals (IrPassContext *context, const IrPipeline *pipeline, GArray *totals)
{
  for (guint i = 0; i < pipeline->passes->len; i++)
    {
      const IrPass *pass = pipeline->passes->pdata[i];
      const IrRuleTable *table = g_hash_table_lookup (context->priv->tables, pass);
      guint first;

      if (table != NULL && g_ptr_array_find (pipeline->passes, pass, &first) && first == i)
        ir_rule_table_add_totals (table, pass->name, totals);
    }
}

/* No rule follows the names in attributes of a Gradient when it removes or replaces what they stand
 * for: a model that has one stays as it is. */
static gboolean
names_values (IrPassContext *context)
{
  const IrModel *model = ir_edit_model (context->edit);

  if (!context->priv->names_values)
    return FALSE;
  for (guint i = 1; i < model->nodes->len; i++)
    {
      const IrNode *node = g_ptr_array_index (model->nodes, i);
      if (node->state != IR_STATE_LIVE || node->op == NULL ||
          !(node->op->flags & IR_OP_NAMES_VALUES))
        continue;
      ir_edit_refuse (context->edit, "gradient", node->id,
                      "the model has a Gradient, whose attributes name values that must stay");
      return TRUE;
    }
  return FALSE;
}

/* Steps are asked for their class one by one; a pass none of whose rules may apply is left out. */
static gboolean
may_do_something (const IrPassContext *context, const IrPass *pass)
{
  const IrRule *rules = pass->rules != NULL ? pass->rules : pass->documented_rules;

  if (rules == NULL)
    return pass->step_class <= context->max_class;
  for (; rules->name != NULL; rules++)
    if (ir_pass_rule_enabled (context, rules->name, rules->step_class))
      return TRUE;
  return FALSE;
}

static gboolean
run_pass (IrPassContext *context,
          const IrPass *pass,
          const IrPipelineOptions *options,
          GError **error)
{
  gboolean done;

  if (ir_pass_cancelled (context, error))
    return FALSE;
  ir_edit_begin_pass (context->edit, pass->name);
  ir_edit_note_settings (context->edit, ir_pass_settings (pass));
  ir_pass_context_start (context, pass);
  if (options->progress != NULL)
    options->progress (pass->name, context->priv->n_steps, options->progress_data);
  if (ir_pass_cancelled (context, error)) /* what it starts from may not be known */
    done = FALSE;
  else if (!may_do_something (context, pass) || names_values (context))
    done = TRUE;
  else
    done = pass->run != NULL ? pass->run (context, error) : run_rules (context, pass, error);
  ir_edit_end_pass (context->edit);
  return done && (!options->verify || verify (context, pass, error));
}

/* Has run in the first round, and runs in no other */
static gboolean
is_done (const IrPass *pass, const IrPipelineResult *result)
{
  return pass->once && result->iterations > 1;
}

static gboolean
run_all (IrPassContext *context,
         const IrPipeline *pipeline,
         const IrPipelineOptions *options,
         IrPipelineResult *result,
         GError **error)
{
  guint before;

  do
    {
      before = context->priv->n_steps;
      if (result->iterations++ > 0)
        infer_more (context->edit);
      infer_functions (context->edit);
      for (guint i = 0; i < pipeline->passes->len && !context->stopped; i++)
        if (!is_done (pipeline->passes->pdata[i], result) &&
            !run_pass (context, pipeline->passes->pdata[i], options, error))
          return FALSE;
    }
  while (context->priv->n_steps > before && !context->stopped &&
         result->iterations < pipeline->max_iterations);
  result->reached_limit |= context->priv->reached_limit ||
                           (context->priv->n_steps > before && pipeline->max_iterations > 1);
  return TRUE;
}

/**
 * ir_pipeline_run:
 * @model: a model that is not being edited
 * @pipeline: what to run
 * @options: (nullable): limits, policy, progress; %NULL: the defaults
 * @result: (out caller-allocates) (nullable): counts and time
 * @cancellable: (nullable): asked between applications
 * @error: return location for an error
 *
 * Runs the passes in their order, again and again until an iteration changes nothing (or
 * max_iterations). Every application is a step in the history of @model, with its cost. Steps
 * behind the cursor are forgotten. Main graph, subgraphs and bodies of functions are rewritten;
 * in a body holds what all of its calls agree on.
 *
 * Returns: %FALSE if cancelled, where the steps so far stay, or if a pass failed or the verifier
 *   found a mistake, where the steps so far are undone
 */
gboolean
ir_pipeline_run (IrModel *model,
                 const IrPipeline *pipeline,
                 const IrPipelineOptions *options,
                 IrPipelineResult *result,
                 GCancellable *cancellable,
                 GError **error)
{
  static const IrPipelineOptions defaults = { .max_class = IR_CLASS_ROUNDING };
  struct _IrPassPrivate priv = { 0 };
  IrPassContext context = { 0 };
  IrPipelineResult own = { 0 };
  gint64 start = g_get_monotonic_time ();
  clock_t cpu_start = clock ();
  gboolean done;

  g_autofree char *cycle = ir_model_cycle_message (model);
  if (cycle != NULL)
    {
      g_set_error_literal (error, IR_OP_ERROR, IR_OP_ERROR_UNSUPPORTED, cycle);
      return FALSE;
    }
  if (options == NULL)
    options = &defaults;
  guint cursor = ir_history_cursor (model);
  g_autoptr (IrEdit) edit = ir_edit_new (model);
  context.max_class = options->max_class;
  context.policy = options->policy;
  context.disabled_rules = options->disabled_rules;
  context.record_refusals = options->record_refusals;
  context.cancellable = cancellable;
  context.fold_limit_bytes = options->fold_limit_bytes != 0 ? options->fold_limit_bytes
                                                            : DEFAULT_FOLD_LIMIT;
  context.backend = options->backend;
  priv.progress = options->progress;
  priv.progress_data = options->progress_data;
  ir_edit_record_refusals (edit, options->record_refusals);
  ir_edit_begin_pipeline (edit, pipeline->name);
  infer_missing (edit);
  ir_pass_context_init (&context, &priv, edit);
  done = run_all (&context, pipeline, options, &own, error);
  ir_edit_end_pipeline (edit);
  own.n_steps = priv.n_steps;
  own.stopped = context.stopped;
  own.ms = (g_get_monotonic_time () - start) / 1000.0;
  own.cpu_ms = (clock () - cpu_start) * 1000.0 / CLOCKS_PER_SEC;
  if (options->rule_totals != NULL)
    add_rule_totals (&context, pipeline, options->rule_totals);
  ir_pass_context_clear (&context);
  g_clear_pointer (&edit, ir_edit_free);
  if (!done && !g_cancellable_is_cancelled (cancellable)) /* a pass may have been in its middle */
    ir_history_goto (model, cursor);
  if (result != NULL)
    *result = own;
  return done;
}

/* -- skipping -- */

/**
 * ir_policy_skip_named:
 * @pass: name of the pass
 * @rule: name of the rule
 * @anchor: (nullable): where it would be applied
 * @ordinal: how many applications were asked about, this one included
 * @stable_key: what names the application in every run
 * @names: a #GStrv: names of passes and rules, numbers, stable keys
 *
 * Returns: whether the application is left out: an #IrPolicy
 */
IrPolicyAnswer
ir_policy_skip_named (const char *pass,
                      const char *rule,
                      const IrNode *anchor,
                      guint ordinal,
                      const char *stable_key,
                      gpointer names)
{
  const char *const *all = names;
  g_autofree char *number = g_strdup_printf ("%u", ordinal);

  for (; *all != NULL; all++)
    if (strcmp (*all, pass) == 0 || strcmp (*all, rule) == 0 || strcmp (*all, number) == 0 ||
        g_strcmp0 (*all, stable_key) == 0)
      return IR_POLICY_SKIP;
  return IR_POLICY_APPLY;
}
