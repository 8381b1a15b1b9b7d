/* Matching: the pattern against the graph, from the root upwards. Never writes. A commutative node
 * is tried both ways: each has a bit in a mask, and all masks are tried, so that no choice made
 * early hides a match. */
#include "config.h"

#include "core/op/check.h"
#include "passes/rule/pattern.h"
#include "passes/rule/step.h"

#include <math.h>
#include <string.h>

/* -- conditions of variables -- */

static gboolean
holds_const (const IrValue *value)
{
  return ir_value_constant (value) != NULL;
}

static gboolean
holds_scalar (const IrValue *value)
{
  const IrTensor *tensor = ir_value_constant (value);

  return tensor != NULL && ir_tensor_n_elements (tensor) == 1;
}

static gboolean
holds_float (const IrValue *value)
{
  return ir_dtype_is_float (ir_value_dtype (value));
}

static gboolean
holds_int (const IrValue *value)
{
  return ir_dtype_is_integer (ir_value_dtype (value));
}

static gboolean
holds_static (const IrValue *value)
{
  return ir_type_is_static (value->type);
}

static gboolean
holds_ranked (const IrValue *value)
{
  return ir_value_rank (value) != IR_RANK_UNKNOWN;
}

static gboolean
holds_2d (const IrValue *value)
{
  return ir_value_rank (value) == 2;
}

const IrVarCondition ir_var_conditions[] = {
  { "const", "a constant: an initializer that no caller can override, or the output of a Constant",
    holds_const },
  { "scalar", "a constant of one element", holds_scalar },
  { "float", "of a floating-point type", holds_float },
  { "int", "of an integer type", holds_int },
  { "static", "of a shape that is known in full", holds_static },
  { "ranked", "of a known number of dimensions", holds_ranked },
  { "2d", "a matrix", holds_2d },
  { NULL, NULL, NULL },
};

/**
 * ir_rule_conditions_markdown:
 *
 * Returns: (transfer full): the conditions of variables as a list, for docs/RULES.md
 */
char *
ir_rule_conditions_markdown (void)
{
  GString *text = g_string_new ("| condition | the value is |\n|---|---|\n");

  for (const IrVarCondition *c = ir_var_conditions; c->name != NULL; c++)
    g_string_append_printf (text, "| `:%s` | %s |\n", c->name, c->doc);
  return g_string_free (text, FALSE);
}

/* -- failing -- */

static void
leave_trail (const IrMatch *match, const IrPat *part)
{
  if (match->trail == NULL)
    return;
  match->trail->part = part;
  match->trail->value = part != NULL ? match->part_value : NULL;
  memcpy (match->trail->nodes, match->nodes, sizeof match->nodes);
}

/* Keeps the reason of the attempt that got furthest. */
static gboolean G_GNUC_PRINTF (3, 4) no (IrMatch *match, guint *progress, const char *format, ...)
{
  va_list args;

  if (!match->wants_why || (match->why != NULL && *progress <= match->progress))
    return FALSE;
  va_start (args, format);
  g_free (match->why);
  match->why = g_strdup_vprintf (format, args);
  va_end (args);
  match->progress = *progress;
  leave_trail (match, match->part);
  return FALSE;
}

/**
 * ir_match_fail:
 * @match: a match
 * @format: printf() format: what was found and what was needed
 * @...: arguments
 *
 * Returns: %FALSE always, so that a condition can return it; the text is the reason of a refusal
 */
gboolean
ir_match_fail (IrMatch *match, const char *format, ...)
{
  va_list args;

  if (!match->wants_why)
    return FALSE;
  va_start (args, format);
  g_free (match->why);
  match->why = g_strdup_vprintf (format, args);
  va_end (args);
  leave_trail (match, NULL);
  return FALSE;
}

/* -- walking -- */

static gboolean match_value (
    IrMatch *match, const IrPat *pat, IrValue *value, const IrNode *user, guint *progress);

static gboolean
match_var (IrMatch *match, const IrPat *pat, IrValue *value, const IrNode *user, guint *progress)
{
  const char *name = match->rule->vars->pdata[pat->var];

  if (value == NULL && !pat->optional)
    return no (match, progress, "%s has no input for ?%s", user->op_type, name);
  if (match->vars[pat->var].bound && match->vars[pat->var].value != value)
    return no (match, progress, "?%s would be two different values", name);
  for (guint i = 0; value != NULL && pat->conditions != NULL && i < pat->conditions->len; i++)
    {
      const IrVarCondition *condition = pat->conditions->pdata[i];
      if (!condition->holds (value))
        return no (match, progress, "%s is not %s", value->name, condition->doc);
    }
  match->vars[pat->var].bound = TRUE;
  match->vars[pat->var].value = value;
  ++*progress;
  return TRUE;
}

/* Whether @c broadcasts to @x without making the result bigger than @x. */
static gboolean
does_not_enlarge (const IrTensor *c, const IrValue *x)
{
  guint rank = ir_tensor_rank (c);
  const gint64 *dims = ir_tensor_dims (c);
  int x_rank = x != NULL ? ir_value_rank (x) : IR_RANK_UNKNOWN;

  if (rank == 0)
    return TRUE;
  if (x_rank == IR_RANK_UNKNOWN || (int) rank > x_rank)
    return FALSE;
  for (guint i = 0; i < rank; i++)
    if (dims[i] != 1 && dims[i] != x->type->dims[x_rank - rank + i])
      return FALSE;
  return TRUE;
}

static gboolean
match_number (
    IrMatch *match, const IrPat *pat, const IrValue *value, const IrNode *user, guint *progress)
{
  const IrTensor *tensor = value != NULL ? ir_value_constant (value) : NULL;
  const IrValue *other = NULL;

  if (tensor == NULL || ir_tensor_n_elements (tensor) == 0 ||
      ir_dtype_kind (ir_tensor_dtype (tensor)) == IR_DTYPE_KIND_STRING ||
      ir_dtype_kind (ir_tensor_dtype (tensor)) == IR_DTYPE_KIND_COMPLEX)
    return no (match, progress, "an input of %s is not the constant %g", user->op_type,
               pat->number);
  for (guint64 i = 0; i < ir_tensor_n_elements (tensor); i++)
    {
      double element = ir_tensor_get_double (tensor, i);
      if (element != pat->number ||
          (pat->signed_zero && signbit (element) != signbit (pat->number)))
        return no (match, progress, "%s is not %s%g everywhere", value->name,
                   pat->signed_zero && !signbit (pat->number) ? "+" : "", pat->number);
    }
  for (guint i = 0; i < user->n_inputs; i++)
    if (user->inputs[i] != value)
      other = user->inputs[i];
  if (!does_not_enlarge (tensor, other))
    return no (match, progress, "broadcasting %s may make the result bigger than the operand",
               value->name);
  ++*progress;
  return TRUE;
}

static gboolean
match_attrs (IrMatch *match, const IrPat *pat, const IrNode *node, guint *progress)
{
  for (guint i = 0; pat->attrs != NULL && i < pat->attrs->len; i++)
    {
      const IrPatAttr *wanted = &g_array_index (pat->attrs, IrPatAttr, i);
      const IrAttr *attr = ir_node_attr (node, wanted->name);

      if (wanted->variable != NULL)
        {
          int var = ir_compiled_rule_var (match->rule, wanted->variable);

          if (match->vars[var].bound && match->vars[var].attr != attr &&
              (attr == NULL || match->vars[var].attr == NULL ||
               !ir_attr_equal (attr, match->vars[var].attr)))
            return no (match, progress, "attribute %s of %s differs", wanted->name, node->op_type);
          match->vars[var].bound = TRUE;
          match->vars[var].attr = attr;
          continue;
        }
      const IrAttrSpec *spec = node->op != NULL ? ir_op_attr (node->op, wanted->name) : NULL;
      gint64 fallback = spec != NULL && spec->fallback != NULL
                            ? g_ascii_strtoll (spec->fallback, NULL, 10)
                            : wanted->number + 1;
      gint64 found = ir_node_attr_int (node, wanted->name, fallback);
      if (found != wanted->number)
        return no (match, progress,
                   "attribute %s of %s is %" G_GINT64_FORMAT ", not %" G_GINT64_FORMAT,
                   wanted->name, node->op_type, found, wanted->number);
    }
  return TRUE;
}

static gboolean
match_args (IrMatch *match, const IrPat *pat, const IrNode *node, guint *progress)
{
  gboolean commutes = pat->commute_bit >= 0 && node->op != NULL &&
                      node->op->flags & IR_OP_COMMUTES && node->n_inputs == 2;
  gboolean swap = commutes && (match->mask >> pat->commute_bit & 1);

  if (commutes)
    match->consulted |= 1u << pat->commute_bit;
  for (guint i = 0; i < pat->args->len; i++)
    {
      const IrPat *arg = pat->args->pdata[i];

      if (arg->kind == IR_PAT_REST)
        {
          match->vars[arg->var].bound = TRUE;
          match->vars[arg->var].rest = node->inputs + MIN (i, node->n_inputs);
          match->vars[arg->var].n_rest = node->n_inputs - MIN (i, node->n_inputs);
          return TRUE;
        }
      if (!match_value (match, arg, ir_node_input (node, swap ? 1 - i : i), node, progress))
        return FALSE;
    }
  match->part = pat;
  match->part_value = ir_node_output (node, 0);
  for (guint i = pat->args->len; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL)
      return no (match, progress, "%s has more inputs than the pattern", node->op_type);
  return TRUE;
}

static gboolean
is_operator (const IrPat *pat, const IrNode *node)
{
  if (node->domain != pat->in)
    return FALSE;
  for (guint i = 0; pat->names[i] != NULL; i++)
    if (pat->names[i] == node->op_type)
      return TRUE;
  return FALSE;
}

static gboolean
match_node (IrMatch *match, const IrPat *pat, IrNode *node, guint *progress)
{
  if (!is_operator (pat, node))
    {
      g_autofree char *label = match->wants_why ? ir_node_label (node) : NULL;
      g_autofree char *needed = match->wants_why ? g_strjoinv (" or ", pat->ops) : NULL;
      return no (match, progress, "%s is not a %s", label, needed);
    }
  match->nodes[pat->index] = node;
  match->shared[pat->index] = pat->shared;
  ++*progress;
  if (!ir_node_is_valid (node))
    return no (match, progress, "%s does not fit its operator; “irscope check” says why",
               node->op_type);
  if (ir_pass_is_open (node))
    return no (match, progress, "%s takes an attribute of the function that it is in",
               node->op_type);
  return match_attrs (match, pat, node, progress) && match_args (match, pat, node, progress);
}

static gboolean
match_value (IrMatch *match, const IrPat *pat, IrValue *value, const IrNode *user, guint *progress)
{
  match->part = pat;
  match->part_value = value;
  switch (pat->kind)
    {
    case IR_PAT_VAR:
      return match_var (match, pat, value, user, progress);
    case IR_PAT_NUMBER:
      return match_number (match, pat, value, user, progress);
    case IR_PAT_ABSENT:
      return value == NULL || no (match, progress, "%s has an input too many", user->op_type);
    case IR_PAT_NODE:
      if (value == NULL || value->producer == NULL || value->output_slot != 0)
        return no (match, progress, "%s does not come from a %s",
                   value != NULL ? value->name : "an absent input", pat->ops[0]);
      return match_node (match, pat, value->producer, progress);
    case IR_PAT_REF:
      return (value != NULL && value->producer == match->nodes[pat->index] &&
              value->output_slot == 0) ||
             no (match, progress, "%s does not come from the same node", user->op_type);
    case IR_PAT_REST:
      break;
    }
  return FALSE;
}

/* -- what holds for every rule: the safety checks -- */

static int
place_of (const IrMatch *match, const IrNode *node)
{
  for (guint i = 0; i < match->rule->n_nodes; i++)
    if (match->nodes[i] == node)
      return i;
  return -1;
}

/* Nobody but the match may see an interior value. */
static gboolean
interior_is_private (IrMatch *match, const IrNode *node)
{
  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrValue *value = node->outputs[i];

      if (value == NULL)
        continue;
      if (value->n_uses > match->rule->n_nodes)
        return ir_match_fail (match, "%s has %u uses", value->name, value->n_uses);
      for (guint k = 0; k < value->n_uses; k++)
        {
          IrUse use = ir_value_use (value, k);

          if (use.node == NULL)
            return ir_match_fail (match, "%s is an output of the graph", value->name);
          if (place_of (match, use.node) < 0 || use.graph != node->graph)
            {
              g_autofree char *label = match->wants_why ? ir_node_label (use.node) : NULL;
              return ir_match_fail (match, "%s is used by %s too", value->name, label);
            }
        }
    }
  return TRUE;
}

static gboolean
node_is_safe (IrMatch *match, guint index)
{
  const IrNode *node = match->nodes[index], *root = match->nodes[0];

  for (guint i = 0; i < index; i++)
    if (match->nodes[i] == node)
      return ir_match_fail (match, "one node would stand for two of the pattern");
  if (match->shared[index])
    return TRUE;
  /* What waits for tokens waits on (places.c). */
  if (ir_pass_has_control (match->context, node) &&
      (!ir_graph_has_tokens (node->graph) || ir_pass_is_control_source (match->context, node)))
    {
      g_autofree char *label = match->wants_why ? ir_node_label (node) : NULL;
      return ir_match_fail (match, "%s has control dependencies", label);
    }
  if (node->graph != root->graph)
    return ir_match_fail (match, "%s lies in another graph", node->op_type);
  if (strcmp (node->device, root->device) != 0)
    return ir_match_fail (match, "%s is on device %s, %s on %s", node->op_type, node->device,
                          root->op_type, root->device);
  return index == 0 || interior_is_private (match, node);
}

/* Outputs of the root that the replacement has nothing for must be unused. */
static gboolean
outputs_are_covered (IrMatch *match)
{
  const IrNode *root = match->nodes[0];

  for (guint i = match->rule->results->len; i < root->n_outputs; i++)
    if (root->outputs[i] != NULL && root->outputs[i]->n_uses > 0)
      return ir_match_fail (match, "%s, output %u, is used", root->outputs[i]->name, i);
  return TRUE;
}

/* An existing value cannot take an output's name if it must keep its own. */
static gboolean
names_can_stay (IrMatch *match)
{
  const IrNode *root = match->nodes[0];

  for (guint i = 0; i < MIN (match->rule->results->len, root->n_outputs); i++)
    {
      const IrPat *result = match->rule->results->pdata[i];
      const IrValue *old = root->outputs[i], *with;

      if (result->kind != IR_PAT_VAR || old == NULL || !ir_value_is_graph_output (old))
        continue;
      with = match->vars[result->var].value;
      if (with != NULL &&
          (with->producer == NULL || with->graph != old->graph || ir_value_is_graph_output (with)))
        return ir_match_fail (match, "%s is an output of the graph and %s must keep its own name",
                              old->name, with->name);
    }
  return TRUE;
}

/* What an interior node makes goes with it: as an operand of the replacement, too, it would have to
 * be computed beside it. */
static gboolean
is_outside (IrMatch *match, const IrValue *value)
{
  int place = value != NULL && value->producer != NULL ? place_of (match, value->producer) : -1;

  return place < 0 || match->shared[place] ||
         ir_match_fail (match, "%s would be taken as an operand and as the result of the %s",
                        value->name, value->producer->op_type);
}

static gboolean
operands_are_outside (IrMatch *match)
{
  for (guint i = 0; i < match->rule->vars->len; i++)
    {
      if (!is_outside (match, match->vars[i].value))
        return FALSE;
      for (guint k = 0; k < match->vars[i].n_rest; k++)
        if (!is_outside (match, match->vars[i].rest[k]))
          return FALSE;
    }
  return TRUE;
}

static gboolean
is_safe (IrMatch *match)
{
  for (guint i = 0; i < match->rule->n_nodes; i++)
    if (!node_is_safe (match, i))
      return FALSE;
  return operands_are_outside (match) && outputs_are_covered (match) && names_can_stay (match) &&
         ir_match_is_one_place (match);
}

/* -- orders of commutative operands -- */

/* An attempt that failed having read only some bits of the mask fails with every mask that has the
 * same ones: most of the orders need no attempt. */
#define MAX_FAILURES 32

typedef struct
{
  guint n;
  struct
  {
    guint consulted, mask;
  } failed[MAX_FAILURES];
} Orders;

static gboolean
is_known_to_fail (const Orders *orders, guint mask)
{
  for (guint i = 0; i < orders->n; i++)
    if ((mask & orders->failed[i].consulted) == orders->failed[i].mask)
      return TRUE;
  return FALSE;
}

static void
note_failure (Orders *orders, const IrMatch *match)
{
  if (orders->n == MAX_FAILURES)
    return;
  orders->failed[orders->n].consulted = match->consulted;
  orders->failed[orders->n++].mask = match->mask & match->consulted;
}

static void
begin_attempt (IrMatch *match, IrNode *root, guint mask)
{
  memset (match->vars, 0, match->rule->vars->len * sizeof match->vars[0]);
  if (match->trail != NULL)
    memset (match->nodes, 0, sizeof match->nodes);
  match->mask = mask;
  match->consulted = 0;
  match->part = match->rule->pattern;
  match->part_value = ir_node_output (root, 0);
}

/* Tries every order of the commutative nodes, with a cleared @match. */
static gboolean
match_orders (IrCompiledRule *rule, IrPassContext *context, IrNode *root, IrMatch *match)
{
  Orders orders = { .n = 0 };

  ir_rule_intern (rule, context->model->context);
  match->context = context;
  match->rule = rule;
  match->wants_why = context->record_refusals;
  for (guint mask = 0; mask < 1u << rule->n_commute; mask++)
    {
      guint progress = 0;

      if (is_known_to_fail (&orders, mask))
        continue;
      begin_attempt (match, root, mask);
      if (!match_node (match, rule->pattern, root, &progress))
        {
          note_failure (&orders, match);
          continue;
        }
      match->progress = G_MAXUINT;
      if (is_safe (match) && (rule->rule->when == NULL || rule->rule->when (match)))
        return TRUE;
      match->progress = progress;
    }
  return FALSE;
}

static void
intern_pattern (IrPat *pat, IrContext *context)
{
  guint n = pat->ops != NULL ? g_strv_length (pat->ops) : 0;

  for (guint i = 0; pat->args != NULL && i < pat->args->len; i++)
    intern_pattern (pat->args->pdata[i], context);
  if (n == 0)
    return;
  g_free (pat->names);
  pat->names = g_new0 (const char *, n + 1);
  for (guint i = 0; i < n; i++)
    pat->names[i] = ir_context_intern (context, pat->ops[i]);
  pat->in = ir_context_intern (context, pat->domain);
}

/**
 * ir_rule_intern:
 * @rule: a rule
 * @context: of the model that is matched next
 *
 * Interns the operators of the pattern, so that they compare by pointer with those of nodes.
 */
void
ir_rule_intern (IrCompiledRule *rule, IrContext *context)
{
  if (rule->context == context)
    return;
  intern_pattern (rule->pattern, context);
  rule->context = context;
}

static gboolean
may_be_operand (const IrPat *arg, const IrNode *root, guint slot)
{
  const IrValue *value = ir_node_input (root, slot);

  return value != NULL && value->producer != NULL && is_operator (arg, value->producer);
}

/**
 * ir_rule_may_match:
 * @rule: a rule
 * @root: a node with the operator of the pattern's root
 *
 * Returns: whether the operands of @root may be what the pattern asks for; %FALSE is certain
 */
gboolean
ir_rule_may_match (const IrCompiledRule *rule, const IrNode *root)
{
  const IrPat *pat = rule->pattern;

  for (guint i = 0; i < pat->args->len; i++)
    {
      const IrPat *arg = pat->args->pdata[i];

      if (arg->kind == IR_PAT_NODE && !may_be_operand (arg, root, i) &&
          (pat->commute_bit < 0 || !may_be_operand (arg, root, 1 - i)))
        return FALSE;
    }
  return TRUE;
}

/**
 * ir_rule_match:
 * @rule: a rule
 * @context: the pass that runs
 * @root: the node that is matched with the root of the pattern
 * @match: (out caller-allocates): what stands where; on failure the best partial match and why it
 *   went no further
 *
 * Reads only.
 *
 * Returns: whether the pattern and all conditions hold at @root
 */
gboolean
ir_rule_match (IrCompiledRule *rule, IrPassContext *context, IrNode *root, IrMatch *match)
{
  memset (match, 0, sizeof *match);
  return match_orders (rule, context, root, match);
}

/**
 * ir_rule_match_traced:
 * @rule: a rule
 * @context: the pass that runs
 * @root: the node that is matched with the root of the pattern
 * @match: (out caller-allocates): as of ir_rule_match()
 * @trail: (nullable): every comparison that was made is noted here
 *
 * Returns: as ir_rule_match()
 */
gboolean
ir_rule_match_traced (
    IrCompiledRule *rule, IrPassContext *context, IrNode *root, IrMatch *match, IrMatchTrail *trail)
{
  memset (match, 0, sizeof *match);
  memset (trail, 0, sizeof *trail);
  match->trail = trail;
  if (!match_orders (rule, context, root, match))
    return FALSE;
  leave_trail (match, NULL);
  return TRUE;
}

/**
 * ir_match_clear:
 * @match: a match
 */
void
ir_match_clear (IrMatch *match)
{
  g_clear_pointer (&match->why, g_free);
  if (match->notes != NULL)
    g_string_free (match->notes, TRUE);
  match->notes = NULL;
}

/* -- reading a match -- */

/**
 * ir_match_context:
 * @match: a match
 *
 * Returns: (transfer none): the run of passes that it is made in
 */
IrPassContext *
ir_match_context (const IrMatch *match)
{
  return match->context;
}

/**
 * ir_match_root:
 * @match: a match
 *
 * Returns: (transfer none): the node that the root of the pattern stands for
 */
IrNode *
ir_match_root (const IrMatch *match)
{
  return match->nodes[0];
}

/**
 * ir_match_node:
 * @match: a match
 * @label: "conv" for @conv in the pattern
 *
 * Returns: (transfer none) (nullable): the node; %NULL if the pattern has no such label
 */
IrNode *
ir_match_node (const IrMatch *match, const char *label)
{
  int index = ir_compiled_rule_label (match->rule, label);

  g_return_val_if_fail (index >= 0, NULL);
  return match->nodes[index];
}

/**
 * ir_match_value:
 * @match: a match
 * @variable: "x" for ?x in the pattern
 *
 * Returns: (transfer none) (nullable): the value; %NULL if it was left out
 */
IrValue *
ir_match_value (const IrMatch *match, const char *variable)
{
  int index = ir_compiled_rule_var (match->rule, variable);

  g_return_val_if_fail (index >= 0, NULL);
  return match->vars[index].value;
}

/**
 * ir_match_constant:
 * @match: a match
 * @variable: "x" for ?x in the pattern
 *
 * Returns: (transfer none) (nullable): contents of a constant; %NULL if it is none or was left out
 */
const IrTensor *
ir_match_constant (const IrMatch *match, const char *variable)
{
  const IrValue *value = ir_match_value (match, variable);

  return value != NULL ? ir_value_constant (value) : NULL;
}

/**
 * ir_match_attr:
 * @match: a match
 * @variable: name of the attribute variable
 *
 * Returns: (transfer none) (nullable): the attribute; %NULL if the node leaves it out
 */
const IrAttr *
ir_match_attr (const IrMatch *match, const char *variable)
{
  int index = ir_compiled_rule_var (match->rule, variable);

  g_return_val_if_fail (index >= 0, NULL);
  return match->vars[index].attr;
}

/**
 * ir_match_rest:
 * @match: a match
 * @variable: "xs" for ?*xs in the pattern
 * @values: (out) (transfer none): the values that it stands for
 *
 * Returns: how many there are
 */
guint
ir_match_rest (const IrMatch *match, const char *variable, IrValue ***values)
{
  int index = ir_compiled_rule_var (match->rule, variable);

  g_return_val_if_fail (index >= 0, 0);
  *values = match->vars[index].rest;
  return match->vars[index].n_rest;
}

/**
 * ir_match_bindings:
 * @match: a match
 *
 * Returns: (transfer full): what its variables stand for, "x = data, w = conv1_w"
 */
char *
ir_match_bindings (const IrMatch *match)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < match->rule->vars->len; i++)
    if (match->vars[i].value != NULL)
      g_string_append_printf (text, "%s%s = %s", text->len > 0 ? ", " : "",
                              (const char *) match->rule->vars->pdata[i],
                              match->vars[i].value->name);
  return g_string_free (text, FALSE);
}
