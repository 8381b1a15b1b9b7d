/* The pattern language, read once per table. Grammar:
 *
 *   expression = variable | rest | number | node
 *              | "_"                             an input that is left out
 *              | "@" label                       the node of that label again
 *   variable   = "?" name [ "?" ] { ":" condition }      "?b?" may be left out
 *   rest       = "?*" name                       all inputs that are left
 *   number     = "1" | "-0" | "+0" | "0.5" ...   a constant of that number everywhere
 *   node       = "(" head { expression } ")"
 *   head       = op { "|" op } [ "@" label ] [ ":shared" ] [ attributes ]
 *              | "@" label [ attributes ]        replacements: the operator of that node
 *   op         = [ domain "." ] name             "irscope.Swish"
 *   attributes = "{" attribute { "," attribute } "}"
 *   attribute  = name "=" integer
 *              | name "=" "?" variable
 *              | "@" label                       all attributes of that node
 *
 * A replacement is one expression per output of the root. */
#include "config.h"

#include "passes/rule/pattern.h"
#include "core/ir/scanner.h"

#include <string.h>

typedef struct
{
  IrCompiledRule *rule;
  const char *at;
  gboolean replacement;
  GError **error;
} Parser;

static gpointer
fail (Parser *p, const char *needed)
{
  if (p->error != NULL && *p->error == NULL)
    g_set_error (p->error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                 "rule %s: at \"%.20s\": needs %s", p->rule->rule->name, p->at, needed);
  return NULL;
}

static gboolean
take (Parser *p, char c)
{
  if (*p->at != c)
    return FALSE;
  p->at++;
  return TRUE;
}

static char *
take_name (Parser *p)
{
  const char *start = p->at;

  while (g_ascii_isalnum (*p->at) || *p->at == '_' || *p->at == '-')
    p->at++;
  return g_strndup (start, p->at - start);
}

static void
pat_attr_clear (gpointer data)
{
  IrPatAttr *attr = data;

  g_free (attr->name);
  g_free (attr->variable);
}

static void
pat_free (gpointer data)
{
  IrPat *pat = data;

  g_clear_pointer (&pat->conditions, g_ptr_array_unref);
  g_clear_pointer (&pat->args, g_ptr_array_unref);
  g_clear_pointer (&pat->attrs, g_array_unref);
  g_strfreev (pat->ops);
  g_free (pat->names);
  g_free (pat->domain);
  g_free (pat->same_as);
  g_free (pat->label);
  g_free (pat->copy_attrs);
  g_free (pat);
}

/**
 * ir_compiled_rule_var:
 * @rule: a rule
 * @name: a variable of its pattern
 *
 * Returns: its index; -1 if there is none of that name
 */
int
ir_compiled_rule_var (const IrCompiledRule *rule, const char *name)
{
  for (guint i = 0; i < rule->vars->len; i++)
    if (strcmp (rule->vars->pdata[i], name) == 0)
      return i;
  return -1;
}

/**
 * ir_compiled_rule_label:
 * @rule: a rule
 * @name: a label of a node of its pattern
 *
 * Returns: its index; -1 if there is none of that name
 */
int
ir_compiled_rule_label (const IrCompiledRule *rule, const char *name)
{
  for (guint i = 0; i < rule->labels->len; i++)
    if (rule->labels->pdata[i] != NULL && strcmp (rule->labels->pdata[i], name) == 0)
      return i;
  return -1;
}

/* Takes over @name. */
static guint
var_index (Parser *p, char *name)
{
  int index = ir_compiled_rule_var (p->rule, name);

  if (index >= 0)
    {
      g_free (name);
      return index;
    }
  g_ptr_array_add (p->rule->vars, name);
  if (p->rule->vars->len > IR_MATCH_MAX_VARS)
    fail (p, "fewer variables");
  return MIN (p->rule->vars->len, IR_MATCH_MAX_VARS) - 1;
}

static const IrVarCondition *
find_condition (const char *name)
{
  for (const IrVarCondition *c = ir_var_conditions; c->name != NULL; c++)
    if (strcmp (c->name, name) == 0)
      return c;
  return NULL;
}

static IrPat *parse_expression (Parser *p, guint depth);

static gboolean
parse_variable (Parser *p, IrPat *pat)
{
  pat->kind = take (p, '*') ? IR_PAT_REST : IR_PAT_VAR;
  pat->var = var_index (p, take_name (p));
  pat->optional = take (p, '?');
  while (take (p, ':'))
    {
      g_autofree char *name = take_name (p);
      const IrVarCondition *condition = find_condition (name);

      if (condition == NULL)
        return fail (p, "the name of a condition before this") != NULL;
      if (pat->conditions == NULL)
        pat->conditions = g_ptr_array_new ();
      g_ptr_array_add (pat->conditions, (gpointer) condition);
    }
  return TRUE;
}

static gboolean
parse_attrs (Parser *p, IrPat *pat)
{
  if (!take (p, '{'))
    return TRUE;
  do
    {
      IrPatAttr attr = { NULL, NULL, 0 };

      ir_skip_space (&p->at);
      if (take (p, '@'))
        {
          g_free (pat->copy_attrs);
          pat->copy_attrs = take_name (p);
          continue;
        }
      attr.name = take_name (p);
      if (pat->attrs == NULL)
        {
          pat->attrs = g_array_new (FALSE, FALSE, sizeof (IrPatAttr));
          g_array_set_clear_func (pat->attrs, pat_attr_clear);
        }
      if (!take (p, '='))
        {
          g_free (attr.name);
          return fail (p, "'=' and a value") != NULL;
        }
      if (take (p, '?'))
        {
          attr.variable = take_name (p);
          var_index (p, g_strdup (attr.variable));
        }
      else
        attr.number = g_ascii_strtoll (p->at, (char **) &p->at, 10);
      g_array_append_val (pat->attrs, attr);
    }
  while (take (p, ','));
  return take (p, '}') || fail (p, "'}'") != NULL;
}

static gboolean
parse_head (Parser *p, IrPat *pat)
{
  if (p->replacement && take (p, '@'))
    {
      pat->same_as = take_name (p);
      return parse_attrs (p, pat);
    }
  g_autoptr (GStrvBuilder) ops = g_strv_builder_new ();
  pat->domain = g_strdup ("");
  do
    {
      g_autofree char *op = take_name (p);

      if (take (p, '.'))
        {
          g_free (pat->domain);
          pat->domain = g_steal_pointer (&op);
          op = take_name (p);
        }
      if (op[0] == '\0')
        return fail (p, "an operator") != NULL;
      g_strv_builder_add (ops, op);
    }
  while (take (p, '|'));
  pat->ops = g_strv_builder_end (ops);
  if (take (p, '@'))
    pat->label = take_name (p);
  if (g_str_has_prefix (p->at, ":shared"))
    {
      pat->shared = TRUE;
      p->at += strlen (":shared");
    }
  return parse_attrs (p, pat);
}

static gboolean
commutes (const IrPat *pat)
{
  for (guint i = 0; pat->ops != NULL && pat->ops[i] != NULL; i++)
    {
      const IrOp *op = ir_op_find (pat->domain, pat->ops[i]);
      if (op != NULL && op->flags & IR_OP_COMMUTES)
        return TRUE;
    }
  return FALSE;
}

static gboolean
parse_node (Parser *p, IrPat *pat, guint depth)
{
  pat->kind = IR_PAT_NODE;
  pat->args = g_ptr_array_new_with_free_func (pat_free);
  pat->commute_bit = -1;
  if (!parse_head (p, pat))
    return FALSE;
  if (!p->replacement)
    {
      pat->index = p->rule->n_nodes++;
      g_ptr_array_add (p->rule->labels, g_strdup (pat->label));
      p->rule->depth = MAX (p->rule->depth, depth);
      if (p->rule->n_nodes > IR_MATCH_MAX_NODES)
        return fail (p, "fewer nodes") != NULL;
    }
  for (ir_skip_space (&p->at); *p->at != ')'; ir_skip_space (&p->at))
    {
      IrPat *arg = parse_expression (p, depth + 1);
      if (arg == NULL)
        return FALSE;
      g_ptr_array_add (pat->args, arg);
    }
  p->at++;
  if (!p->replacement && pat->args->len == 2 && commutes (pat))
    pat->commute_bit = p->rule->n_commute++;
  return TRUE;
}

static gboolean
parse_number (Parser *p, IrPat *pat)
{
  const char *start = p->at;

  pat->kind = IR_PAT_NUMBER;
  pat->number = g_ascii_strtod (start, (char **) &p->at);
  pat->signed_zero = *start == '+' || *start == '-';
  return p->at != start || fail (p, "a variable, a number or '('") != NULL;
}

static IrPat *
parse_expression (Parser *p, guint depth)
{
  IrPat *pat = g_new0 (IrPat, 1);
  gboolean done = TRUE;

  ir_skip_space (&p->at);
  if (take (p, '?'))
    done = parse_variable (p, pat);
  else if (take (p, '('))
    done = parse_node (p, pat, depth);
  else if (take (p, '_'))
    pat->kind = IR_PAT_ABSENT;
  else if (take (p, '@'))
    {
      g_autofree char *label = take_name (p);
      int index = ir_compiled_rule_label (p->rule, label);

      pat->kind = IR_PAT_REF;
      pat->index = MAX (index, 0);
      done = index >= 0 || fail (p, "a label that stands before") != NULL;
    }
  else
    done = parse_number (p, pat);
  if (done)
    return pat;
  pat_free (pat);
  return NULL;
}

/**
 * ir_compiled_rule_free:
 * @rule: (transfer full) (nullable): a rule
 */
void
ir_compiled_rule_free (IrCompiledRule *rule)
{
  g_clear_pointer (&rule->pattern, pat_free);
  g_ptr_array_unref (rule->results);
  g_ptr_array_unref (rule->vars);
  g_ptr_array_unref (rule->labels);
  g_free (rule);
}

/**
 * ir_rule_compile:
 * @rule: a row of a pass
 * @error: return location for an error
 *
 * Parses pattern, replacement and conditions.
 *
 * Returns: (transfer full) (nullable): the rule, ready to match
 */
IrCompiledRule *
ir_rule_compile (const IrRule *rule, GError **error)
{
  IrCompiledRule *compiled = g_new0 (IrCompiledRule, 1);
  g_autoptr (GError) local = NULL;
  Parser p = { compiled, rule->pattern, FALSE, &local };

  compiled->rule = rule;
  compiled->results = g_ptr_array_new_with_free_func (pat_free);
  compiled->vars = g_ptr_array_new_with_free_func (g_free);
  compiled->labels = g_ptr_array_new_with_free_func (g_free);
  compiled->pattern = parse_expression (&p, 0);
  if (compiled->pattern != NULL && compiled->pattern->kind != IR_PAT_NODE)
    fail (&p, "a node as the root");
  p.replacement = TRUE;
  p.at = rule->replacement;
  for (ir_skip_space (&p.at); *p.at != '\0' && local == NULL; ir_skip_space (&p.at))
    {
      IrPat *result = parse_expression (&p, 0);
      if (result != NULL)
        g_ptr_array_add (compiled->results, result);
    }
  if (local == NULL && compiled->results->len == 0)
    fail (&p, "a replacement");
  if (local == NULL)
    return compiled;
  ir_compiled_rule_free (compiled);
  g_propagate_error (error, g_steal_pointer (&local));
  return NULL;
}
