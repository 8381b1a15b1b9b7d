/* Why a rule did not fire at a node. The history is read first: it may have fired. Else the rule's
 * pattern is compared once more, with a trail, at the last step that has the node: there everything
 * that could make it match has been done. What a rule refuses after its pattern matched is known
 * only while it runs, so that reason is taken from the refusals of the log, if they were recorded.
 *
 * If the node was replaced by one of the operator that the rule needs, that one is looked at. */
#include "config.h"

#include "passes/why.h"

#include "passes/rule-private.h"
#include "passes/step.h"

#include <string.h>

/**
 * ir_why_answer_name:
 * @answer: an answer
 *
 * Returns: (transfer none): "fired", "refused", ...
 */
const char *
ir_why_answer_name (IrWhyAnswer answer)
{
  static const char *const names[] = { "fired",   "refused", "matches",       "class",
                                       "not-run", "code",    "other-operator" };

  return answer < G_N_ELEMENTS (names) ? names[answer] : "";
}

static void
part_free (gpointer data)
{
  IrWhyPart *part = data;

  g_free (part->needed);
  g_free (part);
}

/**
 * ir_why_clear:
 * @why: what ir_why() filled
 */
void
ir_why_clear (IrWhy *why)
{
  g_clear_pointer (&why->steps, g_array_unref);
  g_clear_pointer (&why->roots, g_array_unref);
  g_clear_pointer (&why->parts, g_ptr_array_unref);
  g_clear_pointer (&why->operators, g_free);
  g_clear_pointer (&why->reason, g_free);
  g_clear_pointer (&why->found, g_free);
  g_clear_pointer (&why->needed, g_free);
}

/* -- the rule -- */

static const IrRule *
find_in (const IrRule *rules, const char *name)
{
  for (; rules != NULL && rules->name != NULL; rules++)
    if (strcmp (rules->name, name) == 0)
      return rules;
  return NULL;
}

static const IrRule *
find_rule (const char *name, const IrPass **pass, gboolean *is_row)
{
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  for (guint i = 0; i < n; i++)
    {
      const IrRule *rule = find_in (passes[i]->rules, name);

      *pass = passes[i];
      *is_row = rule != NULL;
      if (rule == NULL)
        rule = find_in (passes[i]->documented_rules, name);
      if (rule != NULL)
        return rule;
    }
  return NULL;
}

/* -- the history -- */

static gboolean
step_is_at (const IrStep *step, IrNodeId node)
{
  if (step->anchor == node)
    return TRUE;
  for (guint i = 0; step->nodes != NULL && i < step->nodes->len; i++)
    if (g_array_index (step->nodes, IrIdPair, i).before == node)
      return TRUE;
  return FALSE;
}

static void
find_firings (const IrModel *model, IrNodeId node, IrWhy *why)
{
  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    {
      const IrStep *step = ir_history_step (model, i);

      if (strcmp (step->rule, why->rule) == 0 && step_is_at (step, node))
        g_array_append_val (why->steps, i);
    }
}

static gboolean
pass_was_run (const IrModel *model, const char *pass)
{
  for (guint i = 0; i < ir_history_n_pass_runs (model); i++)
    if (strcmp (ir_history_pass_run (model, i)->pass, pass) == 0)
      return TRUE;
  return FALSE;
}

/* The last one says most: what stood in the way before may have been cleared. */
static const char *
last_refusal (const IrModel *model, const char *rule, IrNodeId node)
{
  for (guint i = ir_history_n_refusals (model); i > 0; i--)
    {
      const IrRefusal *refusal = ir_history_refusal (model, i - 1);
      if (refusal->anchor == node && strcmp (refusal->rule, rule) == 0)
        return refusal->reason;
    }
  return NULL;
}

static gboolean
is_root (const IrPat *pattern, const IrNode *node)
{
  return strcmp (node->domain, pattern->domain) == 0 &&
         g_strv_contains ((const char *const *) pattern->ops, node->op_type);
}

/* @node itself if it fits, else the latest node of the right operator that came of it. */
static IrNodeId
choose_root (const IrModel *model, const IrPat *pattern, IrNodeId node)
{
  g_autoptr (GHashTable) line = g_hash_table_new (NULL, NULL);
  IrNodeId best = is_root (pattern, ir_model_node (model, node)) ? node : 0;

  g_hash_table_add (line, GUINT_TO_POINTER (node));
  for (guint i = 1; i <= ir_history_n_steps (model); i++)
    {
      const GArray *pairs = ir_history_step (model, i)->nodes;

      for (guint k = 0; pairs != NULL && k < pairs->len; k++)
        {
          IrIdPair pair = g_array_index (pairs, IrIdPair, k);

          /* 0: nothing came of it */
          if (pair.after == 0 || !g_hash_table_contains (line, GUINT_TO_POINTER (pair.before)))
            continue;
          g_hash_table_add (line, GUINT_TO_POINTER (pair.after));
          if (is_root (pattern, ir_model_node (model, pair.after)))
            best = pair.after;
        }
    }
  return best;
}

/* The last step after which @node is there. */
static guint
last_step_with (IrModel *model, IrNodeId node, IrWhy *why)
{
  guint n = ir_history_n_steps (model);
  g_autoptr (IrModel) end = ir_history_snapshot (model, n);
  g_autoptr (GArray) touched = NULL;

  if (ir_model_live_node (end, node) != NULL)
    return n;
  touched = ir_lineage_steps (model, node);
  for (guint i = touched->len; i > 0; i--)
    {
      guint step = g_array_index (touched, guint, i - 1);
      g_autoptr (IrModel) before = ir_history_snapshot (model, step - 1);

      if (ir_model_live_node (before, node) == NULL)
        continue;
      why->removed_by = step;
      return step - 1;
    }
  return n;
}

/* -- the pattern in words -- */

static char *
words_of_var (const IrCompiledRule *rule, const IrPat *pat)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "?%s", (const char *) rule->vars->pdata[pat->var]);
  for (guint i = 0; pat->conditions != NULL && i < pat->conditions->len; i++)
    {
      const IrVarCondition *condition = pat->conditions->pdata[i];
      g_string_append_printf (text, "%s%s", i == 0 ? ": " : "; ", condition->doc);
    }
  return g_string_free (text, FALSE);
}

static char *
words_of_node (const IrPat *pat)
{
  g_autofree char *ops = g_strjoinv (" or ", pat->ops);
  GString *text = g_string_new (ops);

  for (guint i = 0; pat->attrs != NULL && i < pat->attrs->len; i++)
    {
      const IrPatAttr *attr = &g_array_index (pat->attrs, IrPatAttr, i);

      if (attr->variable == NULL)
        g_string_append_printf (text, ", %s = %" G_GINT64_FORMAT, attr->name, attr->number);
    }
  return g_string_free (text, FALSE);
}

static char *
words_of (const IrCompiledRule *rule, const IrPat *pat)
{
  switch (pat->kind)
    {
    case IR_PAT_VAR:
    case IR_PAT_REST:
      return words_of_var (rule, pat);
    case IR_PAT_NUMBER:
      return g_strdup_printf ("the constant %g", pat->number);
    case IR_PAT_ABSENT:
      return g_strdup ("no input");
    case IR_PAT_REF:
      return g_strdup ("the output of a node that the pattern has already");
    case IR_PAT_NODE:
      return words_of_node (pat);
    }
  return NULL;
}

static char *
words_of_value (const IrModel *model, const IrValue *value)
{
  g_autofree char *type = NULL, *label = NULL;

  if (value == NULL)
    return g_strdup ("no input");
  type = value->type != NULL ? ir_type_to_string (model->context, value->type)
                             : g_strdup ("of unknown type");
  if (ir_value_constant (value) != NULL)
    return g_strdup_printf ("%s, a constant, %s", value->name, type);
  if (value->producer == NULL)
    return g_strdup_printf ("%s, %s, %s", value->name,
                            ir_value_is_graph_input (value) ? "an input" : "an initializer", type);
  label = ir_node_label (value->producer);
  return g_strdup_printf ("%s, made by %s, %s", value->name, label, type);
}

static guint
count_parts (const IrPat *pat)
{
  guint n = pat->kind == IR_PAT_VAR || pat->kind == IR_PAT_NUMBER || pat->kind == IR_PAT_NODE;

  for (guint i = 0; pat->args != NULL && i < pat->args->len; i++)
    n += count_parts (pat->args->pdata[i]);
  return n;
}

static void
collect_parts (const IrPat *pat, const IrMatchTrail *trail, GPtrArray *parts)
{
  IrWhyPart *part;

  if (pat->kind != IR_PAT_NODE)
    return;
  part = g_new0 (IrWhyPart, 1);
  part->needed = words_of_node (pat);
  part->node = trail->nodes[pat->index] != NULL ? trail->nodes[pat->index]->id : 0;
  g_ptr_array_add (parts, part);
  for (guint i = 0; i < pat->args->len; i++)
    collect_parts (pat->args->pdata[i], trail, parts);
}

/* -- comparing -- */

static void
note_match (IrWhy *why, const IrModel *model, IrMatch *match, const IrMatchTrail *trail)
{
  collect_parts (match->rule->pattern, trail, why->parts);
  why->n_matched = why->n_parts;
  if (why->holds)
    return;
  why->reason = g_strdup (match->why);
  if (trail->part == NULL)
    return;
  why->n_matched = match->progress;
  why->needed = words_of (match->rule, trail->part);
  why->found = words_of_value (model, trail->value);
}

static void
compare (IrModel *model, IrCompiledRule *rule, const IrPass *pass, IrClass max_class, IrWhy *why)
{
  g_autoptr (IrModel) then = ir_history_clone (model);
  g_autoptr (IrEdit) edit = NULL;
  struct _IrPassPrivate priv = { 0 };
  IrPassContext context = { .max_class = max_class, .record_refusals = TRUE };
  IrMatchTrail trail;
  IrMatch match;
  IrNode *root;

  ir_history_goto (then, why->at_step);
  root = ir_model_live_node (then, why->node);
  if (root == NULL)
    return;
  edit = ir_edit_new (then);
  ir_pass_context_init (&context, &priv, edit);
  ir_pass_context_start (&context, pass);
  why->n_parts = count_parts (rule->pattern);
  why->holds = ir_rule_match_traced (rule, &context, root, &match, &trail);
  note_match (why, then, &match, &trail);
  ir_match_clear (&match);
  ir_pass_context_clear (&context);
}

/* Nodes of the pattern's operator that read what @node makes, at most as far as the pattern is
 * deep: what was perhaps meant. */
static void
find_roots (const IrPat *pattern, const IrNode *node, guint depth, GArray *roots)
{
  for (guint i = 0; depth > 0 && i < node->n_outputs; i++)
    for (guint k = 0; node->outputs[i] != NULL && k < node->outputs[i]->n_uses; k++)
      {
        const IrNode *user = ir_value_use (node->outputs[i], k).node;
        gboolean known = FALSE;

        if (user == NULL)
          continue;
        for (guint r = 0; r < roots->len; r++)
          known |= g_array_index (roots, IrNodeId, r) == user->id;
        if (is_root (pattern, user) && !known)
          g_array_append_val (roots, user->id);
        find_roots (pattern, user, depth - 1, roots);
      }
}

static void
explain_row (
    IrModel *model, IrCompiledRule *compiled, const IrPass *pass, IrClass max_class, IrWhy *why)
{
  IrNodeId root = choose_root (model, compiled->pattern, why->node);
  const char *refusal;

  why->operators = g_strjoinv (" or ", compiled->pattern->ops);
  why->answer = root == 0 ? IR_WHY_OTHER_OPERATOR : IR_WHY_REFUSED;
  if (root != 0 && root != why->node)
    {
      why->node = root;
      find_firings (model, root, why);
      if (why->steps->len > 0)
        {
          why->answer = IR_WHY_FIRED;
          return;
        }
    }
  why->at_step = last_step_with (model, why->node, why);
  if (root == 0)
    {
      g_autoptr (IrModel) then = ir_history_snapshot (model, why->at_step);
      const IrNode *node = ir_model_live_node (then, why->node);

      if (node != NULL)
        find_roots (compiled->pattern, node, MIN (compiled->depth, 3), why->roots);
      return;
    }
  compare (model, compiled, pass, max_class, why);
  if (!pass_was_run (model, pass->name))
    why->answer = IR_WHY_NOT_RUN;
  else if (compiled->rule->step_class > max_class)
    why->answer = IR_WHY_CLASS;
  else if (why->holds && (refusal = last_refusal (model, why->rule, why->node)) != NULL)
    why->reason = g_strdup (refusal);
  else if (why->holds)
    why->answer = IR_WHY_MATCHES;
}

/**
 * ir_why:
 * @model: a model with a history, best recorded with refusals; its cursor stays where it is
 * @rule: name of a rule
 * @node: id of a node of any step
 * @max_class: the class that the passes were run with
 * @why: (out caller-allocates): the answer; clear with ir_why_clear()
 * @error: return location for an error
 *
 * Costs one replay of the history and one attempt to match.
 *
 * Fails with %G_OPTION_ERROR_BAD_VALUE if there is no such rule or no such node.
 *
 * Returns: %TRUE if there is an answer
 */
gboolean
ir_why (
    IrModel *model, const char *rule, IrNodeId node, IrClass max_class, IrWhy *why, GError **error)
{
  const IrPass *pass = NULL;
  gboolean is_row = FALSE;
  const IrRule *found = find_rule (rule, &pass, &is_row);
  IrCompiledRule *compiled;

  memset (why, 0, sizeof *why);
  if (found == NULL || ir_model_node (model, node) == NULL)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   found == NULL ? "there is no rule \"%s\"; \"irscope rules\" lists them"
                                 : "%s: there is no such node",
                   rule);
      return FALSE;
    }
  why->pass = pass->name;
  why->rule = found->name;
  why->node = node;
  why->steps = g_array_new (FALSE, FALSE, sizeof (guint));
  why->roots = g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  why->parts = g_ptr_array_new_with_free_func (part_free);
  find_firings (model, node, why);
  if (why->steps->len > 0)
    why->answer = IR_WHY_FIRED;
  else if (!is_row)
    {
      why->answer = pass_was_run (model, pass->name) ? IR_WHY_CODE : IR_WHY_NOT_RUN;
      why->reason = g_strdup (last_refusal (model, rule, node));
      why->needed = g_strdup (found->pattern);
    }
  else
    {
      compiled = ir_rule_compile (found, error);
      if (compiled == NULL)
        return FALSE;
      explain_row (model, compiled, pass, max_class, why);
      ir_compiled_rule_free (compiled);
    }
  return TRUE;
}
