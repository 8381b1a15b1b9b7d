/* Symbolic derivatives, rule by rule, from the expressions of the GRAD column:
 *
 *   d (a b)     ->   (d a) b + (d b) a        by "(Mul dy b)" and "(Mul dy a)", where dy is d a, d b
 *
 * An expression is a number, a variable, or an operator on expressions; each is there once, so that
 * they form a graph (DAG). Its size as a tree, where what is shared is written out each time, grows
 * without need: that is called expression swell. Source: Baydin et al. 2018, Automatic Differentiation
 * in Machine Learning: a Survey, section 2; Laue 2019, On the Equivalence of Automatic and Symbolic
 * Differentiation. */
#include "config.h"

#include "core/grad/symbolic.h"

#include "core/grad/grad.h"
#include "core/ir/grad-mark.h"
#include "core/ir/inline.h"
#include "core/op/infer.h"
#include "core/op/op.h"

#include <math.h>
#include <string.h>

#define MAX_ARGS    8
#define LONG_TREE   120 /* nodes: longer ones are written with names for what is shared */
#define MAX_ENTRIES (1000 * 1000)

typedef struct
{
  const char *op;     /* interned; NULL: a number or a variable */
  IrValueId variable; /* 0: none */
  IrNodeId node;      /* whose attributes the operator has; 0: none */
  double number;
  guint n;
  IrExpr args[MAX_ARGS];
} Entry;

struct _IrSymbolic
{
  IrModel *model;
  IrValue *of;
  GArray *entries;     /* of Entry; the first is none */
  GHashTable *numbers; /* Entry's place by its text -> IrExpr */
  GHashTable *values;  /* value id -> IrExpr */
  GPtrArray *path;     /* of IrNode, in order */
};

static const Entry *
entry_of (const IrSymbolic *symbolic, IrExpr expression)
{
  return &g_array_index (symbolic->entries, Entry, expression);
}

/* -- one of each -- */

static IrExpr
intern (IrSymbolic *symbolic, const Entry *entry)
{
  g_autoptr (GString) key = g_string_new (entry->op);
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  if (entry->op == NULL && entry->variable != 0)
    g_string_printf (key, "v%u", entry->variable);
  else if (entry->op == NULL)
    g_string_append (key, g_ascii_dtostr (number, sizeof number, entry->number));
  if (entry->node != 0)
    g_string_append_printf (key, "#%u", entry->node);
  for (guint i = 0; i < entry->n; i++)
    g_string_append_printf (key, " %u", entry->args[i]);
  gpointer found = g_hash_table_lookup (symbolic->numbers, key->str);
  if (found != NULL)
    return GPOINTER_TO_UINT (found);
  g_array_append_vals (symbolic->entries, entry, 1);
  IrExpr expression = symbolic->entries->len - 1;
  g_hash_table_insert (symbolic->numbers, g_strdup (key->str), GUINT_TO_POINTER (expression));
  return expression;
}

static IrExpr
number_of (IrSymbolic *symbolic, double number)
{
  return intern (symbolic, &(Entry){ .number = number == 0 ? 0 : number });
}

static gboolean
is_number (const IrSymbolic *symbolic, IrExpr expression, double *number)
{
  const Entry *entry = entry_of (symbolic, expression);

  *number = entry->number;
  return entry->op == NULL && entry->variable == 0;
}

static gboolean
is (const IrSymbolic *symbolic, IrExpr expression, double number)
{
  double value;

  return is_number (symbolic, expression, &value) && value == number;
}

/* -- simpler -- */

static gboolean
compute (const char *op, guint n, const double *x, double *y)
{
  double a = x[0], b = n > 1 ? x[1] : 0;

  if (g_str_equal (op, "Add"))
    *y = a + b;
  else if (g_str_equal (op, "Sub"))
    *y = a - b;
  else if (g_str_equal (op, "Mul"))
    *y = a * b;
  else if (g_str_equal (op, "Div"))
    *y = a / b;
  else if (g_str_equal (op, "Neg"))
    *y = -a;
  else if (g_str_equal (op, "Equal"))
    *y = a == b;
  else if (g_str_equal (op, "Less"))
    *y = a < b;
  else if (g_str_equal (op, "Greater"))
    *y = a > b;
  else if (g_str_equal (op, "And"))
    *y = a != 0 && b != 0;
  else if (g_str_equal (op, "Not"))
    *y = a == 0;
  else
    return FALSE;
  return isfinite (*y);
}

/* 0: it is not folded */
static IrExpr
fold (IrSymbolic *symbolic, const char *op, const IrExpr *args)
{
  gboolean mul = g_str_equal (op, "Mul"), add = g_str_equal (op, "Add");

  for (guint i = 0; i < 2 && (mul || add); i++)
    {
      if (mul && is (symbolic, args[i], 0))
        return args[i];
      if (is (symbolic, args[i], mul ? 1 : 0))
        return args[1 - i];
    }
  return 0;
}

static IrExpr apply (
    IrSymbolic *symbolic, IrSymbolicLevel level, const char *op, guint n, const IrExpr *args);

/* 0: it is not made simpler */
static IrExpr
simplify (IrSymbolic *symbolic, const char *op, guint n, const IrExpr *args)
{
  double x[MAX_ARGS], y;
  gboolean known = TRUE;

  for (guint i = 0; i < n; i++)
    known &= is_number (symbolic, args[i], &x[i]);
  if (known && n > 0 && compute (op, n, x, &y))
    return number_of (symbolic, y);
  if (g_str_equal (op, "Where") && n == 3 && is_number (symbolic, args[0], &y))
    return args[y != 0 ? 1 : 2];
  if (g_str_equal (op, "Where") && n == 3 && args[1] == args[2])
    return args[1];
  for (guint i = 0; i < 2 && g_str_equal (op, "Mul"); i++)
    if (is (symbolic, args[i], -1))
      return apply (symbolic, IR_SYMBOLIC_SIMPLIFIED, "Neg", 1, &args[1 - i]);
  if (g_str_equal (op, "Sub") && is (symbolic, args[1], 0))
    return args[0];
  if (g_str_equal (op, "Sub") && is (symbolic, args[0], 0))
    return apply (symbolic, IR_SYMBOLIC_SIMPLIFIED, "Neg", 1, &args[1]);
  if (g_str_equal (op, "Div") && (is (symbolic, args[0], 0) || is (symbolic, args[1], 1)))
    return args[0];
  if (g_str_equal (op, "Pow") && is (symbolic, args[1], 1))
    return args[0];
  if (g_str_equal (op, "Neg") && g_strcmp0 (entry_of (symbolic, args[0])->op, "Neg") == 0)
    return entry_of (symbolic, args[0])->args[0];
  return 0;
}

static IrExpr
apply (IrSymbolic *symbolic, IrSymbolicLevel level, const char *op, guint n, const IrExpr *args)
{
  Entry entry = { .op = ir_context_intern (symbolic->model->context, op), .n = n };
  IrExpr simpler = 0;

  if (level >= IR_SYMBOLIC_FOLDED && n == 2)
    simpler = fold (symbolic, op, args);
  if (simpler == 0 && level >= IR_SYMBOLIC_SIMPLIFIED)
    simpler = simplify (symbolic, op, n, args);
  if (simpler != 0)
    return simpler;
  memcpy (entry.args, args, n * sizeof *args);
  return intern (symbolic, &entry);
}

/* -- rules: the language of vjp.c, on expressions -- */

typedef struct
{
  IrSymbolic *symbolic;
  IrSymbolicLevel level;
  const IrNode *node;
  IrExpr dy;
} Rule;

static IrExpr read_rule (const Rule *rule, const char **text);

static IrExpr
read_atom (const Rule *rule, const char *word)
{
  if (g_str_equal (word, "dy"))
    return rule->dy;
  if (g_str_equal (word, "y"))
    return ir_symbolic_expression (rule->symbolic, rule->node->outputs[0]);
  if (word[0] >= 'a' && word[0] <= 'd' && word[1] == '\0')
    return ir_symbolic_expression (rule->symbolic,
                                   ir_node_input (rule->node, (guint) (word[0] - 'a')));
  if (word[0] != '@')
    return number_of (rule->symbolic, g_ascii_strtod (word, NULL));
  const IrAttrSpec *spec = ir_op_attr (rule->node->op, word + 1);
  double fallback = spec != NULL && spec->fallback != NULL ? g_ascii_strtod (spec->fallback, NULL)
                                                           : 0;
  return number_of (rule->symbolic,
                    (double) ir_node_attr_float (rule->node, word + 1, (float) fallback));
}

static char *
next_word (const char **text)
{
  gsize n = strcspn (*text, " ()");
  char *word = g_strndup (*text, n);

  *text += n;
  return word;
}

static IrExpr
read_rule (const Rule *rule, const char **text)
{
  IrExpr args[MAX_ARGS];
  guint n = 0;

  if (**text != '(')
    {
      g_autofree char *atom = next_word (text);
      return read_atom (rule, atom);
    }
  (*text)++;
  g_autofree char *op = next_word (text);
  while (**text == ' ' && n < MAX_ARGS)
    {
      (*text)++;
      args[n++] = read_rule (rule, text);
    }
  if (**text == ')')
    (*text)++;
  return g_str_equal (op, "Like") ? args[0] : apply (rule->symbolic, rule->level, op, n, args);
}

/* -- expressions of the graph -- */

/* What stands for its first input, or the sum of all of them, where there are no tensors */
static gboolean
is_copy (const IrNode *node)
{
  return ir_op_is (node, IR_OP_IDENTITY) || ir_op_is (node, IR_OP_CAST) ||
         ir_op_is (node, IR_OP_CAST_LIKE);
}

static gboolean
is_sum (const IrNode *node)
{
  return ir_op_is (node, IR_OP_SUM) && node->n_inputs > 0 && node->n_inputs <= MAX_ARGS;
}

static IrExpr
leaf_of (IrSymbolic *symbolic, const IrValue *value)
{
  const IrTensor *constant = ir_value_constant ((IrValue *) value);

  if (constant != NULL && ir_tensor_kind (constant) == IR_TYPE_TENSOR &&
      ir_tensor_n_elements (constant) == 1 && ir_tensor_dtype (constant) != IR_DTYPE_STRING)
    return number_of (symbolic, ir_tensor_get_double (constant, 0));
  return intern (symbolic, &(Entry){ .variable = value->id });
}

/**
 * ir_symbolic_expression:
 * @symbolic: expressions of a graph
 * @value: a value of it
 *
 * Returns: what it is computed by, from what it is derived by; 0: it is none of them
 */
IrExpr
ir_symbolic_expression (const IrSymbolic *symbolic, const IrValue *value)
{
  IrSymbolic *mutable = (IrSymbolic *) symbolic;

  if (value == NULL)
    return 0;
  gpointer found = g_hash_table_lookup (symbolic->values, GUINT_TO_POINTER (value->id));
  if (found == NULL)
    {
      found = GUINT_TO_POINTER (leaf_of (mutable, value));
      g_hash_table_insert (symbolic->values, GUINT_TO_POINTER (value->id), found);
    }
  return GPOINTER_TO_UINT (found);
}

static void
express (IrSymbolic *symbolic, const IrNode *node)
{
  IrExpr args[MAX_ARGS], result;
  Entry entry = { .op = node->op_type, .node = node->id, .n = node->n_inputs };

  for (guint i = 0; i < node->n_inputs; i++)
    entry.args[i] = args[i] = ir_symbolic_expression (symbolic, node->inputs[i]);
  result = is_copy (node) ? args[0]
           : node->n_attrs == 0
               ? apply (symbolic, IR_SYMBOLIC_RAW, node->op_type, node->n_inputs, args)
               : intern (symbolic, &entry);
  g_hash_table_insert (symbolic->values, GUINT_TO_POINTER (node->outputs[0]->id),
                       GUINT_TO_POINTER (result));
}

/* -- what can be expressed -- */

static gboolean
same_shape (const IrValue *value, const IrValue *of)
{
  guint64 n = 0, other = 0;

  if (value->type == NULL || of->type == NULL)
    return FALSE;
  return (ir_type_n_elements (value->type, &n) && n == 1 && ir_type_n_elements (of->type, &other) &&
          other == 1) ||
         (value->type->rank == of->type->rank &&
          memcmp (value->type->dims, of->type->dims,
                  (gsize) MAX (of->type->rank, 0) * sizeof *of->type->dims) == 0);
}

/* (nullable) Why no expression says what @node computes */
static const char *
why_not (const IrSymbolic *symbolic, const IrNode *node)
{
  if (ir_node_function (node) != NULL)
    return "it is a call; the pass inline-functions makes nodes of it";
  if (node->op == NULL)
    return "no rule says what it computes";
  if (node->op->flags & IR_OP_SUBGRAPHS)
    return "control flow is no expression: how often it runs depends on values";
  const IrGradRow *row = ir_grad_row (node->op);
  if (!(node->op->flags & IR_OP_ELEMENTWISE) && !is_copy (node) && !is_sum (node))
    return "it is not elementwise, and expressions are of scalars";
  if (ir_grad_mark (node) == IR_GRAD_MARK_STRAIGHT_THROUGH)
    return NULL;
  if (!ir_vjp_is_pointwise (node) && !is_copy (node) && !is_sum (node) &&
      (row == NULL || !row->zero))
    return "no expression says its derivative";
  if (!ir_dtype_is_float (ir_value_dtype (node->outputs[0])) && (row == NULL || !row->zero))
    return "its result is not floating-point";
  return NULL;
}

/* (nullable) The first that is no expression, else the first whose elements are others than those of
 * what is derived. */
static const IrNode *
find_stop (const IrSymbolic *symbolic, const char **why)
{
  for (guint i = 0; i < symbolic->path->len; i++)
    if ((*why = why_not (symbolic, symbolic->path->pdata[i])) != NULL)
      return symbolic->path->pdata[i];
  *why = "its result has another shape than what is derived, and an expression is of one element";
  for (guint i = 0; i < symbolic->path->len; i++)
    if (!same_shape (((const IrNode *) symbolic->path->pdata[i])->outputs[0], symbolic->of))
      return symbolic->path->pdata[i];
  return NULL;
}

/* What gives a shape, or indices, is no part of an expression, nor what is marked stop: nothing comes
 * through it. */
static void
leave_out_cuts (GPtrArray *path)
{
  for (guint i = path->len; i-- > 0;)
    {
      const IrNode *node = path->pdata[i];
      IrDtype dtype = node->outputs[0] != NULL ? ir_value_dtype (node->outputs[0])
                                               : IR_DTYPE_UNDEFINED;
      if (ir_grad_mark (node) == IR_GRAD_MARK_STOP ||
          (node->op != NULL && !(node->op->flags & (IR_OP_ELEMENTWISE | IR_OP_SUBGRAPHS)) &&
           dtype != IR_DTYPE_UNDEFINED && !ir_dtype_is_float (dtype)))
        g_ptr_array_remove_index (path, i);
    }
}

static gboolean
find_path (IrSymbolic *symbolic, const GPtrArray *by, const IrNode **stop, GError **error)
{
  g_autoptr (IrReverse) reverse = ir_reverse_new (NULL, symbolic->model->main, 0, NULL);

  for (guint i = 0; i < by->len; i++)
    ir_reverse_by (reverse, by->pdata[i]);
  symbolic->path = ir_reverse_path (reverse, &symbolic->of, 1);
  leave_out_cuts (symbolic->path);
  const char *why;
  const IrNode *node = find_stop (symbolic, &why);
  g_autofree char *label = node != NULL ? ir_node_label (node) : NULL;
  if (node == NULL)
    return TRUE;
  if (stop != NULL)
    *stop = node;
  g_set_error (error, IR_GRAD_ERROR, IR_GRAD_ERROR_NO_RULE, "%s stops it first: %s; use %s", label,
               why,
               node->op != NULL && (node->op->flags & IR_OP_SUBGRAPHS)
                   ? "differences"
                   : "reverse or forward mode, or the tape");
  return FALSE;
}

/**
 * ir_symbolic_new:
 * @model: a model whose types are known
 * @of: what is derived, a value of its main graph
 * @by: (element-type IrValue): by what
 * @stop: (out) (optional) (nullable): the first node that is no expression
 * @error: return location for an error
 *
 * Fails with %IR_GRAD_ERROR_NO_RULE, naming that node, where there is one.
 *
 * Returns: (transfer full) (nullable): expressions of the values between
 */
IrSymbolic *
ir_symbolic_new (
    IrModel *model, IrValue *of, const GPtrArray *by, const IrNode **stop, GError **error)
{
  g_autoptr (IrSymbolic) symbolic = g_new0 (IrSymbolic, 1);

  symbolic->model = model;
  symbolic->of = of;
  symbolic->entries = g_array_new (FALSE, TRUE, sizeof (Entry));
  g_array_set_size (symbolic->entries, 1);
  symbolic->numbers = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  symbolic->values = g_hash_table_new (NULL, NULL);
  if (!find_path (symbolic, by, stop, error))
    return NULL;
  for (guint i = 0; i < by->len; i++)
    g_hash_table_insert (symbolic->values, GUINT_TO_POINTER (((IrValue *) by->pdata[i])->id),
                         GUINT_TO_POINTER (intern (
                             symbolic, &(Entry){ .variable = ((IrValue *) by->pdata[i])->id })));
  for (guint i = 0; i < symbolic->path->len; i++)
    express (symbolic, symbolic->path->pdata[i]);
  return g_steal_pointer (&symbolic);
}

/**
 * ir_symbolic_free:
 * @symbolic: (transfer full): expressions
 */
void
ir_symbolic_free (IrSymbolic *symbolic)
{
  g_array_unref (symbolic->entries);
  g_hash_table_unref (symbolic->numbers);
  g_hash_table_unref (symbolic->values);
  g_clear_pointer (&symbolic->path, g_ptr_array_unref);
  g_free (symbolic);
}

/* -- derivatives -- */

/* @sum + @term, where - z is subtracted */
static IrExpr
add (IrSymbolic *symbolic, IrSymbolicLevel level, IrExpr sum, IrExpr term)
{
  const Entry *entry = entry_of (symbolic, term);
  gboolean minus = g_strcmp0 (entry->op, "Neg") == 0;
  IrExpr args[2] = { sum, minus ? entry->args[0] : term };

  return sum == 0 ? term : apply (symbolic, level, minus ? "Sub" : "Add", 2, args);
}

static IrExpr
derive_node (IrSymbolic *symbolic, IrSymbolicLevel level, const IrNode *node, GHashTable *known)
{
  const IrGradRow *row = ir_grad_row (node->op);
  const IrExpr zero = number_of (symbolic, 0);
  IrExpr sum = 0;

  if (ir_grad_mark (node) == IR_GRAD_MARK_STRAIGHT_THROUGH)
    {
      sum = GPOINTER_TO_UINT (g_hash_table_lookup (known, node->inputs[0]));
      return sum != 0 ? sum : zero;
    }
  for (guint i = 0; i < node->n_inputs && !row->zero; i++)
    {
      const IrValue *input = node->inputs[i];
      const char *text = i < IR_VJP_MAX_RULES ? row->rules[i] : NULL;
      IrExpr dy;
      if (input == NULL || !ir_dtype_is_float (ir_value_dtype (input)))
        continue;
      dy = GPOINTER_TO_UINT (g_hash_table_lookup (known, input));
      Rule rule = { symbolic, level, node, dy != 0 ? dy : zero };
      if (is_copy (node))
        return rule.dy;
      if (is_sum (node))
        sum = add (symbolic, level, sum, rule.dy);
      else if (text != NULL && *text != '\0')
        sum = add (symbolic, level, sum, read_rule (&rule, &text));
    }
  return sum != 0 ? sum : zero;
}

/**
 * ir_symbolic_derive:
 * @symbolic: expressions
 * @by: one of those that it is derived by
 * @level: how much is made simpler
 *
 * Returns: the derivative; 0 where it has more than a million different parts
 */
IrExpr
ir_symbolic_derive (IrSymbolic *symbolic, const IrValue *by, IrSymbolicLevel level)
{
  g_autoptr (GHashTable) known = g_hash_table_new (NULL, NULL);
  const IrExpr one = number_of (symbolic, 1);

  g_hash_table_insert (known, (gpointer) by, GUINT_TO_POINTER (one));
  for (guint i = 0; i < symbolic->path->len && symbolic->entries->len < MAX_ENTRIES; i++)
    {
      const IrNode *node = symbolic->path->pdata[i];
      if (node->outputs[0] != by)
        g_hash_table_insert (known, node->outputs[0],
                             GUINT_TO_POINTER (derive_node (symbolic, level, node, known)));
    }
  gpointer result = g_hash_table_lookup (known, symbolic->of);
  if (symbolic->entries->len >= MAX_ENTRIES)
    return 0;
  return result != NULL ? GPOINTER_TO_UINT (result) : number_of (symbolic, 0);
}

/* -- sizes -- */

/**
 * ir_symbolic_tree_size:
 * @symbolic: expressions
 * @expression: one of them
 *
 * Returns: operators, numbers and variables, each as often as it is written
 */
double
ir_symbolic_tree_size (const IrSymbolic *symbolic, IrExpr expression)
{
  g_autofree double *sizes = g_new0 (double, expression + 1);

  for (IrExpr i = 1; i <= expression; i++) /* what an expression is made of came before it */
    {
      const Entry *entry = entry_of (symbolic, i);
      sizes[i] = 1;
      for (guint k = 0; k < entry->n; k++)
        sizes[i] += sizes[entry->args[k]];
    }
  return sizes[expression];
}

static void
mark (const IrSymbolic *symbolic, IrExpr expression, gboolean *seen)
{
  seen[expression] = TRUE;
  for (IrExpr i = expression; i > 0; i--)
    for (guint k = 0; seen[i] && k < entry_of (symbolic, i)->n; k++)
      seen[entry_of (symbolic, i)->args[k]] = TRUE;
}

/**
 * ir_symbolic_dag_size:
 * @symbolic: expressions
 * @expressions: (array length=n): some of them
 * @n: how many
 *
 * Returns: operators, numbers and variables, each once
 */
guint
ir_symbolic_dag_size (const IrSymbolic *symbolic, const IrExpr *expressions, guint n)
{
  g_autofree gboolean *seen = g_new0 (gboolean, symbolic->entries->len);
  guint size = 0;

  for (guint i = 0; i < n; i++)
    if (expressions[i] != 0)
      mark (symbolic, expressions[i], seen);
  for (guint i = 1; i < symbolic->entries->len; i++)
    size += seen[i];
  return size;
}

/* -- as text -- */

static const struct
{
  const char *op, *sign;
  guint binding;
} signs[] = {
  { "Add", " + ", 1 },    { "Sub", " - ", 1 },  { "Sum", " + ", 1 },
  { "Mul", " * ", 2 },    { "Div", " / ", 2 },  { "Pow", "^", 4 },
  { "Equal", " == ", 0 }, { "Less", " < ", 0 }, { "Greater", " > ", 0 },
};

static void
append_number (GString *text, double number)
{
  char digits[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append (text, g_ascii_formatd (digits, sizeof digits, "%.9g", number));
}

/* @names: per expression (nullable): the number of its name, 0: none */
static void
append (const IrSymbolic *symbolic,
        IrExpr expression,
        guint binding,
        const guint *names,
        gboolean top,
        GString *text)
{
  const Entry *entry = entry_of (symbolic, expression);

  if (names != NULL && names[expression] != 0 && !top)
    {
      g_string_append_printf (text, "t%u", names[expression]);
      return;
    }
  if (entry->op == NULL && entry->variable != 0)
    {
      g_string_append (text, ir_model_value (symbolic->model, entry->variable)->name);
      return;
    }
  if (entry->op == NULL)
    {
      append_number (text, entry->number);
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (signs); i++)
    if (g_str_equal (signs[i].op, entry->op))
      {
        gboolean parted = signs[i].binding < binding;
        g_string_append (text, parted ? "(" : "");
        for (guint k = 0; k < entry->n; k++)
          {
            g_string_append (text, k > 0 ? signs[i].sign : "");
            append (symbolic, entry->args[k], signs[i].binding + (k > 0 || signs[i].binding == 4),
                    names, FALSE, text);
          }
        g_string_append (text, parted ? ")" : "");
        return;
      }
  if (g_str_equal (entry->op, "Neg"))
    {
      g_string_append (text, binding > 1 ? "(-" : "-");
      append (symbolic, entry->args[0], 3, names, FALSE, text);
      g_string_append (text, binding > 1 ? ")" : "");
      return;
    }
  g_autofree char *name = g_ascii_strdown (entry->op, -1);
  g_string_append_printf (text, "%s(", g_str_equal (name, "log") ? "ln" : name);
  for (guint k = 0; k < entry->n; k++)
    {
      g_string_append (text, k > 0 ? ", " : "");
      append (symbolic, entry->args[k], 0, names, FALSE, text);
    }
  g_string_append_c (text, ')');
}

/* What is shared gets a name: t1, t2 .. */
static guint *
name_shared (const IrSymbolic *symbolic, IrExpr expression)
{
  g_autofree gboolean *seen = g_new0 (gboolean, symbolic->entries->len);
  g_autofree guint *uses = g_new0 (guint, symbolic->entries->len);
  guint *names = g_new0 (guint, symbolic->entries->len), n = 0;

  mark (symbolic, expression, seen);
  for (IrExpr i = 1; i <= expression; i++)
    for (guint k = 0; seen[i] && k < entry_of (symbolic, i)->n; k++)
      uses[entry_of (symbolic, i)->args[k]]++;
  for (IrExpr i = 1; i < expression; i++)
    if (uses[i] > 1 && entry_of (symbolic, i)->op != NULL)
      names[i] = ++n;
  return names;
}

/**
 * ir_symbolic_text:
 * @symbolic: expressions
 * @expression: one of them
 *
 * Returns: (transfer full): as it is written; a long one with a line "t1 = .." for each part that is
 *   shared, before it
 */
char *
ir_symbolic_text (const IrSymbolic *symbolic, IrExpr expression)
{
  GString *text = g_string_new (NULL);
  g_autofree guint *names = ir_symbolic_tree_size (symbolic, expression) > LONG_TREE
                                ? name_shared (symbolic, expression)
                                : NULL;

  for (IrExpr i = 1; names != NULL && i < expression; i++)
    if (names[i] != 0)
      {
        g_string_append_printf (text, "t%u = ", names[i]);
        append (symbolic, i, 0, names, TRUE, text);
        g_string_append_c (text, '\n');
      }
  append (symbolic, expression, 0, names, TRUE, text);
  return g_string_free (text, FALSE);
}

/* -- as a graph -- */

static IrValue *
emit (
    IrSymbolic *symbolic, IrEdit *edit, IrGraph *graph, const Entry *entry, IrValue *const *values)
{
  IrValue *args[MAX_ARGS];

  if (entry->op == NULL && entry->variable != 0)
    return ir_model_value (ir_edit_model (edit), entry->variable);
  if (entry->op == NULL)
    {
      g_autoptr (IrTensor)
          tensor = ir_tensor_new_scalar (ir_value_dtype (symbolic->of), entry->number);
      return ir_edit_add_initializer (edit, graph, NULL, tensor);
    }
  for (guint i = 0; i < entry->n; i++)
    args[i] = values[entry->args[i]];
  const IrNode *source = ir_model_node (symbolic->model, entry->node);
  IrNode *node = ir_edit_add_node (edit, graph, entry->op, source != NULL ? source->domain : "",
                                   NULL, entry->n, args, 1);
  for (guint i = 0; source != NULL && i < source->n_attrs; i++)
    ir_edit_set_attr (edit, node, source->attrs[i]);
  ir_infer_node (edit, node, NULL);
  return node->outputs[0];
}

/**
 * ir_symbolic_emit:
 * @symbolic: expressions
 * @edit: an edit of the same model, or a copy of it
 * @graph: its main graph
 * @expression: one of them
 *
 * Returns: a value of @graph that new nodes compute by @expression
 */
IrValue *
ir_symbolic_emit (IrSymbolic *symbolic, IrEdit *edit, IrGraph *graph, IrExpr expression)
{
  g_autofree gboolean *seen = g_new0 (gboolean, symbolic->entries->len);
  g_autofree IrValue **values = g_new0 (IrValue *, symbolic->entries->len);

  mark (symbolic, expression, seen);
  for (IrExpr i = 1; i <= expression; i++)
    if (seen[i])
      values[i] = emit (symbolic, edit, graph, entry_of (symbolic, i), values);
  return values[expression];
}
