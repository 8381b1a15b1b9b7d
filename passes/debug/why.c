/* Why a rule did not fire at a node. The history is read first: it may have fired. Else the rule's
 * pattern is compared once more, with a trail, at the last step that has the node: there everything
 * that could make it match has been done. What a rule refuses after its pattern matched is known
 * only while it runs, so that reason is taken from the refusals of the log, if they were recorded.
 *
 * If the node was replaced by one of the operator that the rule needs, that one is looked at. */
#include "config.h"

#include "passes/debug/why.h"

#include "passes/pipeline/pipeline.h"
#include "passes/rule/pattern.h"
#include "passes/rule/step.h"

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
  g_clear_pointer (&why->missing, g_free);
  g_clear_pointer (&why->missing_detail, g_free);
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

/* -- the pattern on the graph -- */

typedef struct
{
  const IrCompiledRule *rule;
  const IrMatchTrail *trail;
  IrWhy *why;
} Walk;

/* What stands where the pattern has @arg; NULL if that is not known. */
static const IrValue *
value_of_arg (const Walk *walk, const IrPat *arg)
{
  const IrNode *node = arg->kind == IR_PAT_NODE ? walk->trail->nodes[arg->index] : NULL;

  return arg == walk->trail->part ? walk->trail->value
         : node != NULL           ? ir_node_output (node, 0)
                                  : NULL;
}

/* The input of @user that @arg was compared with: the inputs of a commutative node may be swapped.
 */
static guint
slot_of_arg (const Walk *walk, const IrNode *user, const IrPat *arg, guint index)
{
  const IrValue *value = value_of_arg (walk, arg);

  if (user == NULL || value == NULL || ir_node_input (user, index) == value)
    return index;
  for (guint i = 0; i < user->n_inputs; i++)
    if (user->inputs[i] == value)
      return i;
  return index;
}

static gboolean
is_right_operator (const IrPat *pat, const IrNode *node)
{
  return node != NULL && pat->kind == IR_PAT_NODE && is_root (pat, node);
}

static char *
word_of (const Walk *walk, const IrPat *pat, char **detail)
{
  g_autoptr (GString) names = g_string_new (NULL);

  *detail = NULL;
  if (pat->kind == IR_PAT_NODE)
    return words_of_node (pat);
  if (pat->kind != IR_PAT_VAR)
    return words_of (walk->rule, pat);
  for (guint i = 0; pat->conditions != NULL && i < pat->conditions->len; i++)
    g_string_append_printf (names, "%s%s", i > 0 ? ", " : "",
                            ((const IrVarCondition *) pat->conditions->pdata[i])->name);
  if (names->len > 0)
    *detail = g_string_free (g_steal_pointer (&names), FALSE);
  return g_strdup_printf ("?%s", (const char *) walk->rule->vars->pdata[pat->var]);
}

/* A node of the right operator that fails otherwise stands there: nothing is missing. */
static void
note_missing (Walk *walk, const IrPat *pat, gint user, guint slot)
{
  const IrValue *value = walk->trail->value;
  IrWhy *why = walk->why;

  why->misfit = value != NULL ? value->id : 0;
  why->misfit_node = value != NULL && value->producer != NULL ? value->producer->id : 0;
  why->missing_user = user;
  why->missing_slot = slot;
  if (value == NULL || !is_right_operator (pat, value->producer))
    why->missing = word_of (walk, pat, &why->missing_detail);
}

static void
collect_parts (Walk *walk, const IrPat *pat, gint user, guint slot)
{
  const IrNode *node = walk->trail->nodes[pat->index];
  const gint index = (gint) walk->why->parts->len;
  IrWhyPart *part = g_new0 (IrWhyPart, 1);

  part->needed = words_of_node (pat);
  part->node = node != NULL ? node->id : 0;
  part->user = user;
  part->slot = slot;
  part->fits = node != NULL && pat != walk->trail->part;
  g_ptr_array_add (walk->why->parts, part);
  for (guint i = 0; i < pat->args->len; i++)
    {
      const IrPat *arg = pat->args->pdata[i];
      const guint at = slot_of_arg (walk, node, arg, i);

      if (arg == walk->trail->part)
        note_missing (walk, arg, index, at);
      if (arg->kind == IR_PAT_NODE)
        collect_parts (walk, arg, index, at);
    }
}

static gboolean
is_part (const IrWhy *why, IrNodeId node)
{
  for (guint i = 0; i < why->parts->len; i++)
    if (((const IrWhyPart *) why->parts->pdata[i])->node == node)
      return TRUE;
  return FALSE;
}

/* Of a pattern that fits: who uses a value that lies between its nodes. */
static IrNodeId
find_intruder (const IrWhy *why, const IrMatch *match, const IrMatchTrail *trail)
{
  for (guint i = 1; i < match->rule->n_nodes; i++)
    for (guint k = 0;
         trail->nodes[i] != NULL && !match->shared[i] && k < trail->nodes[i]->n_outputs; k++)
      {
        const IrValue *value = trail->nodes[i]->outputs[k];

        for (guint u = 0; value != NULL && u < value->n_uses; u++)
          {
            const IrNode *user = ir_value_use (value, u).node;
            if (user != NULL && !is_part (why, user->id))
              return user->id;
          }
      }
  return 0;
}

/* -- comparing -- */

static void
note_match (IrWhy *why, const IrModel *model, IrMatch *match, const IrMatchTrail *trail)
{
  Walk walk = { match->rule, trail, why };

  collect_parts (&walk, match->rule->pattern, -1, 0);
  why->n_matched = why->n_parts;
  if (why->holds)
    return;
  why->reason = g_strdup (match->why);
  if (trail->part == NULL)
    {
      why->n_parts++; /* what failed is no part of the pattern */
      why->intruder = find_intruder (why, match, trail);
      return;
    }
  why->n_matched = match->progress;
  why->needed = words_of (match->rule, trail->part);
  why->found = words_of_value (model, trail->value);
}

/* A history that is asked about, and a copy of it that travels; made at its first use. */
typedef struct
{
  IrModel *model; /* (transfer none) */
  IrModel *then;  /* (nullable) */
  IrClass max_class;
} Asked;

static IrModel *
travel (Asked *asked, guint step)
{
  if (asked->then == NULL)
    asked->then = ir_history_clone (asked->model);
  if (ir_history_cursor (asked->then) != step)
    ir_history_goto (asked->then, step);
  return asked->then;
}

static void
compare (Asked *asked, IrCompiledRule *rule, const IrPass *pass, IrWhy *why)
{
  IrModel *then = travel (asked, why->at_step);
  g_autoptr (IrEdit) edit = NULL;
  struct _IrPassPrivate priv = { 0 };
  IrPassContext context = { .max_class = asked->max_class, .record_refusals = TRUE };
  IrMatchTrail trail;
  IrMatch match;
  IrNode *root = ir_model_live_node (then, why->node);

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

/**
 * ir_why_note_refusal:
 * @why: an answer whose pattern fits
 * @reason: what the rule said when it ran
 *
 * Makes it one that was refused.
 */
void
ir_why_note_refusal (IrWhy *why, const char *reason)
{
  g_free (why->reason);
  why->reason = g_strdup (reason);
  why->holds = FALSE;
  why->n_parts++;
}

/**
 * ir_why_try:
 * @model: a model with a history
 * @why: (inout): an answer of ir_why_rules() whose pattern fits and whose pass did not run
 * @max_class: the class that passes are run with
 * @cancellable: (nullable): checked while it runs
 *
 * Runs the pass on a copy of the graph at the step where the pattern was compared. @why->holds
 * afterwards says whether the rule was applied to the node; if it was refused, the reason is there.
 */
void
ir_why_try (IrModel *model, IrWhy *why, IrClass max_class, GCancellable *cancellable)
{
  const char *const names[] = { why->pass, NULL };
  IrPipelineOptions options = { .max_class = max_class, .record_refusals = TRUE };
  g_autoptr (IrPipeline) pipeline = ir_pipeline_new_from_names (names, NULL);
  g_autoptr (IrModel) trial = ir_history_clone (model);
  g_auto (IrWhy) fired = { .steps = g_array_new (FALSE, FALSE, sizeof (guint)), .rule = why->rule };
  const IrPass *pass;
  gboolean is_row;
  const char *reason;

  if (find_rule (why->rule, &pass, &is_row)->step_class > max_class)
    {
      why->answer = IR_WHY_CLASS;
      return;
    }
  ir_history_goto (trial, why->at_step);
  if (pipeline == NULL || !ir_pipeline_run (trial, pipeline, &options, NULL, cancellable, NULL))
    return;
  find_firings (trial, why->node, &fired);
  if (fired.steps->len > 0)
    return;
  reason = last_refusal (trial, why->rule, why->node);
  ir_why_note_refusal (why, reason != NULL ? reason : "another rule of its pass comes first");
}

static void
explain_row (Asked *asked, IrCompiledRule *compiled, const IrPass *pass, IrWhy *why)
{
  IrModel *model = asked->model;
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
  compare (asked, compiled, pass, why);
  if (!pass_was_run (model, pass->name))
    why->answer = IR_WHY_NOT_RUN;
  else if (compiled->rule->step_class > asked->max_class)
    why->answer = IR_WHY_CLASS;
  else if (why->holds && (refusal = last_refusal (model, why->rule, why->node)) != NULL)
    ir_why_note_refusal (why, refusal);
  else if (why->holds)
    why->answer = IR_WHY_MATCHES;
}

static void
why_init (IrWhy *why, const IrPass *pass, const IrRule *rule, IrNodeId node)
{
  memset (why, 0, sizeof *why);
  why->pass = pass->name;
  why->rule = rule->name;
  why->node = node;
  why->missing_user = -1;
  why->steps = g_array_new (FALSE, FALSE, sizeof (guint));
  why->roots = g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  why->parts = g_ptr_array_new_with_free_func (part_free);
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
  why_init (why, pass, found, node);
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
      Asked asked = { .model = model, .max_class = max_class };

      compiled = ir_rule_compile (found, error);
      if (compiled == NULL)
        return FALSE;
      explain_row (&asked, compiled, pass, why);
      ir_compiled_rule_free (compiled);
      g_clear_pointer (&asked.then, ir_model_unref);
    }
  return TRUE;
}

/* -- all rules of a node -- */

static void
why_free (gpointer data)
{
  ir_why_clear (data);
  g_free (data);
}

static void
add_row (GPtrArray *whys, Asked *asked, const IrPass *pass, const IrRule *rule, const IrNode *node)
{
  IrCompiledRule *compiled = ir_rule_compile (rule, NULL);
  IrWhy *why;

  if (compiled == NULL)
    return;
  if (is_root (compiled->pattern, node))
    {
      why = g_new (IrWhy, 1);
      why_init (why, pass, rule, node->id);
      find_firings (asked->model, node->id, why);
      if (why->steps->len == 0)
        explain_row (asked, compiled, pass, why);
      g_ptr_array_add (whys, why);
    }
  ir_compiled_rule_free (compiled);
}

/* Fired, then what is nearest to a match; rules of passes that did not run come last. */
static double
distance_of (const IrWhy *why)
{
  if (why->answer == IR_WHY_FIRED)
    return -1;
  return (1.0 - (double) why->n_matched / MAX (why->n_parts, 1)) +
         (why->answer == IR_WHY_NOT_RUN || why->answer == IR_WHY_CLASS ? 2 : 0);
}

static int
compare_whys (gconstpointer a, gconstpointer b)
{
  const IrWhy *x = *(const IrWhy *const *) a, *y = *(const IrWhy *const *) b;
  const double difference = distance_of (x) - distance_of (y);

  if (difference != 0)
    return difference < 0 ? -1 : 1;
  if (x->n_parts != y->n_parts) /* the longer pattern says more */
    return x->n_parts > y->n_parts ? -1 : 1;
  return strcmp (x->rule, y->rule);
}

/**
 * ir_why_rules:
 * @model: a model with a history; its cursor stays where it is
 * @node: id of a node of any step
 * @max_class: the class that the passes were run with
 *
 * Asks ir_why() for every rule whose pattern starts at the operator of @node. Costs one replay of
 * the history and one attempt to match for each.
 *
 * Returns: (transfer full) (element-type IrWhy): those that fired, then the nearest to a match
 *   first, then those that were not asked to run; empty if there is no such node
 */
GPtrArray *
ir_why_rules (IrModel *model, IrNodeId node, IrClass max_class)
{
  GPtrArray *whys = g_ptr_array_new_with_free_func (why_free);
  const IrNode *about = ir_model_node (model, node);
  Asked asked = { .model = model, .max_class = max_class };
  guint n;
  const IrPass *const *passes = ir_passes (&n);

  for (guint i = 0; about != NULL && i < n; i++)
    for (const IrRule *rule = passes[i]->rules; rule != NULL && rule->name != NULL; rule++)
      add_row (whys, &asked, passes[i], rule, about);
  g_ptr_array_sort (whys, compare_whys);
  g_clear_pointer (&asked.then, ir_model_unref);
  return whys;
}

/* -- on the graph -- */

static void
mark (IrSceneMarks *marks, IrNodeId node, IrSceneState state)
{
  if (node != 0)
    g_hash_table_insert (marks->states, GUINT_TO_POINTER (node), GINT_TO_POINTER (state));
}

static gint32
add_ghost (IrSceneMarks *marks,
           const char *title,
           const char *detail,
           IrNodeId user,
           gint32 feeds,
           guint slot)
{
  IrSceneGhost ghost = { .title = g_strdup (title),
                         .detail = g_strdup (detail),
                         .user = user,
                         .feeds = feeds,
                         .slot = slot };

  g_array_append_val (marks->ghosts, ghost);
  return (gint32) marks->ghosts->len - 1;
}

/* The nodes of the pattern above the one that is missing are missing with it. */
static void
add_ghosts_above (IrSceneMarks *marks, const IrWhy *why, gint32 *ghost_of, guint first)
{
  for (guint i = first + 1; i < why->parts->len; i++)
    {
      const IrWhyPart *part = why->parts->pdata[i];

      if (part->node == 0 && part->user >= (gint) first && ghost_of[part->user] >= 0)
        ghost_of[i] = add_ghost (marks, part->needed, NULL, 0, ghost_of[part->user], part->slot);
    }
}

static void
add_ghosts (IrSceneMarks *marks, const IrWhy *why)
{
  const IrWhyPart *user = why->parts->pdata[why->missing_user];
  g_autofree gint32 *ghost_of = g_new (gint32, why->parts->len);
  const gint32 ghost = add_ghost (marks, why->missing, why->missing_detail, user->node, -1,
                                  why->missing_slot);

  for (guint i = 0; i < why->parts->len; i++)
    ghost_of[i] = -1;
  for (guint i = 0; i < why->parts->len; i++)
    {
      const IrWhyPart *part = why->parts->pdata[i];

      if (part->node != 0 || part->user != why->missing_user || part->slot != why->missing_slot)
        continue;
      ghost_of[i] = ghost;
      add_ghosts_above (marks, why, ghost_of, i);
    }
}

/**
 * ir_why_marks:
 * @why: an answer
 *
 * The answer as it is drawn on the graph after @why->at_step: the nodes that fit, what stands where
 * the pattern ends to fit, and ghosts of what it needs there.
 *
 * Returns: (transfer full) (nullable): %NULL where nothing was compared
 */
IrSceneMarks *
ir_why_marks (const IrWhy *why)
{
  IrSceneMarks *marks;

  if (why->parts == NULL || why->parts->len == 0)
    return NULL;
  marks = ir_scene_marks_new ();
  mark (marks, why->misfit_node, IR_SCENE_MISFIT);
  mark (marks, why->intruder, IR_SCENE_MISFIT);
  for (guint i = 0; i < why->parts->len; i++)
    {
      const IrWhyPart *part = why->parts->pdata[i];
      mark (marks, part->node, part->fits ? IR_SCENE_MATCHED : IR_SCENE_MISFIT);
    }
  marks->misfit = why->misfit;
  if (why->missing != NULL && why->missing_user >= 0)
    add_ghosts (marks, why);
  return marks;
}
