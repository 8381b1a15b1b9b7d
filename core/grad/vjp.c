/* The rules of derivation: see vjp.h. They are read from the GRAD column of the op table:
 *
 *   GRAD (.rules = { "(Mul dy b)", "(Mul dy a)" })    one expression per input
 *   GRAD (.function = ir_vjp_matmul)                  all inputs at once
 *   GRAD (.body = TRUE)                               as the row's function body is derived
 *   GRAD (.expand = ir_expand_lstm)                   as nodes are that compute the same
 *   GRAD (.zero = TRUE)                               0, and no nodes
 *   GRAD (.opaque = "It draws random numbers.")       it cannot be derived, and why
 *
 * In an expression a, b, c are the inputs, y and dy the first output and the derivative by it, a
 * number is a scalar of dy's type, nothing an input whose contents do not count, @name the FLOAT
 * attribute of that name, and (Op ...) a new node; (Like x) casts x to the type of dy, and the Shape
 * of what has a known one is a constant. What broadcasting repeated is summed up again behind the
 * expression. Where a function has a kink, one of both slopes is taken, as frameworks do: .kink says
 * which.
 *
 * The nodes are those of the model's own opset where that matters (axes as attribute or input); a
 * few (Where, Expand) are used before their time, which execution does not mind. */
#include "config.h"

#include "core/grad/vjp.h"

#include "core/grad/emit.h"
#include "core/grad/rules.h"
#include "core/op/op.h"

#include <string.h>

#define MAX_ARGS 8

/* -- expressions -- */

static IrValue *evaluate (const IrVjp *vjp, const char **text);

static char *
next_word (const char **text)
{
  gsize n = strcspn (*text, " ()");
  char *word = g_strndup (*text, n);

  *text += n;
  return word;
}

static IrValue *
atom (const IrVjp *vjp, const char *word)
{
  if (strcmp (word, "dy") == 0)
    return vjp->dy[0];
  if (strcmp (word, "y") == 0)
    return vjp->node->outputs[0];
  if (word[0] >= 'a' && word[0] <= 'd' && word[1] == '\0')
    return ir_node_input (vjp->node, (guint) (word[0] - 'a'));
  if (word[0] != '@')
    return ir_emit_number (vjp, g_ascii_strtod (word, NULL));
  const IrAttrSpec *spec = ir_op_attr (vjp->node->op, word + 1);
  double fallback = spec != NULL && spec->fallback != NULL ? g_ascii_strtod (spec->fallback, NULL)
                                                           : 0;
  return ir_emit_number (vjp, (double) ir_node_attr_float (vjp->node, word + 1, (float) fallback));
}

/* Behind the opening parenthesis. */
static IrValue *
application (const IrVjp *vjp, const char **text)
{
  g_autofree char *op = next_word (text);
  IrValue *arguments[MAX_ARGS] = { NULL };
  guint n = 0;

  while (**text == ' ' && n < MAX_ARGS)
    {
      (*text)++;
      arguments[n++] = evaluate (vjp, text);
    }
  if (**text == ')')
    (*text)++;
  if (strcmp (op, "Like") == 0)
    return ir_emit_cast (vjp, arguments[0], ir_value_dtype (vjp->dy[0]));
  if (strcmp (op, "Shape") == 0)
    return ir_emit_shape (vjp, arguments[0]);
  return ir_emit (vjp, op, n, arguments);
}

static IrValue *
evaluate (const IrVjp *vjp, const char **text)
{
  if (**text == '(')
    {
      (*text)++;
      return application (vjp, text);
    }
  g_autofree char *word = next_word (text);
  return atom (vjp, word);
}

static gboolean
run_rules (IrVjp *vjp, const IrGradRow *row, GError **error)
{
  for (guint i = 0; i < vjp->node->n_inputs; i++)
    {
      const char *text = i < IR_VJP_MAX_RULES ? row->rules[i] : NULL;
      if (!vjp->wanted[i])
        continue;
      if (text == NULL)
        return ir_emit_fail (vjp, error, "there is no rule for its input %u", i);
      if (*text != '\0')
        vjp->dx[i] = ir_emit_sum_to (vjp, evaluate (vjp, &text), vjp->node->inputs[i]);
    }
  return TRUE;
}

/* -- the table -- */

/* Each row closes the one before it, so that rows without the column have no rule. */
/* clang-format off */
static const IrGradRow rows[IR_N_OPS] = { [IR_OP_NONE] = { .op = IR_OP_NONE
#define IR_OP(ID, NAME, ...) }, [IR_OP_##ID] = { .op = IR_OP_##ID
#define GRAD(...) , __VA_ARGS__
#include "core/op/ops.def"
} };
/* clang-format on */

static gboolean
has_rules (const IrGradRow *row)
{
  for (guint i = 0; i < IR_VJP_MAX_RULES; i++)
    if (row->rules[i] != NULL)
      return TRUE;
  return FALSE;
}

/**
 * ir_grad_has_body:
 * @row: (nullable): how an operator is derived
 *
 * Returns: whether that is through other nodes that compute the same
 */
gboolean
ir_grad_has_body (const IrGradRow *row)
{
  return row != NULL && (row->body || row->expand != NULL);
}

/**
 * ir_grad_row:
 * @op: a row of the op table
 *
 * What is composed of other operators is derived through these, where its row does not say.
 *
 * Returns: (nullable): how @op is derived, or why not; %NULL if its row does not say
 */
const IrGradRow *
ir_grad_row (const IrOp *op)
{
  static const IrGradRow composed = { .body = TRUE };
  const IrGradRow *row = &rows[op->id];

  if (has_rules (row) || row->function != NULL || ir_grad_has_body (row) || row->zero ||
      row->opaque != NULL)
    return row;
  return op->compose != NULL ? &composed : NULL;
}

/**
 * ir_vjp_is_known:
 * @node: a node
 *
 * Returns: whether its operator has rules or a function
 */
gboolean
ir_vjp_is_known (const IrNode *node)
{
  const IrGradRow *row = node->op != NULL ? ir_grad_row (node->op) : NULL;

  return row != NULL && (row->function != NULL || row->expand != NULL || has_rules (row));
}

/**
 * ir_vjp_passes_integers:
 * @node: a node
 * @slot: an input of it
 *
 * Returns: whether the input has a derivative though it is quantized: where it goes back to floating
 *   point at once, straight through
 */
gboolean
ir_vjp_passes_integers (const IrNode *node, guint slot)
{
  const IrNode *producer = node->inputs[slot]->producer;

  return slot == 0 && ir_op_is (node, IR_OP_DEQUANTIZE_LINEAR) && producer != NULL &&
         ir_op_is (producer, IR_OP_QUANTIZE_LINEAR);
}

/**
 * ir_vjp_is_pointwise:
 * @node: a node
 *
 * Returns: whether each element of the result depends on those at its own place alone, and
 *   expressions say how
 */
gboolean
ir_vjp_is_pointwise (const IrNode *node)
{
  const IrGradRow *row = node->op != NULL ? ir_grad_row (node->op) : NULL;

  return row != NULL && has_rules (row) && (node->op->flags & IR_OP_ELEMENTWISE);
}

/**
 * ir_vjp_pointwise:
 * @vjp: a pointwise node; its dy is the tangent of the input
 * @slot: the input
 *
 * A pointwise rule is its own transpose.
 *
 * Returns: (nullable): what that adds to the tangent of the result, in a shape that broadcasts to it;
 *   %NULL: nothing, or there is no rule
 */
IrValue *
ir_vjp_pointwise (const IrVjp *vjp, guint slot)
{
  const IrGradRow *row = ir_grad_row (vjp->node->op);
  const char *text = slot < IR_VJP_MAX_RULES ? row->rules[slot] : NULL;

  return text != NULL && *text != '\0' ? evaluate (vjp, &text) : NULL;
}

static gboolean
only_first_output (const IrVjp *vjp)
{
  for (guint i = 1; i < vjp->node->n_outputs; i++)
    if (vjp->dy[i] != NULL)
      return FALSE;
  return vjp->dy[0] != NULL;
}

/**
 * ir_vjp_run:
 * @vjp: a node, and the derivatives by its outputs; dx is filled in
 * @error: return location for an error
 *
 * Fails with %IR_GRAD_ERROR_NO_RULE, naming the node, where its operator has no rule.
 *
 * Returns: %TRUE if the derivatives by all wanted inputs are there
 */
gboolean
ir_vjp_run (IrVjp *vjp, GError **error)
{
  const IrGradRow *row = vjp->node->op != NULL ? ir_grad_row (vjp->node->op) : NULL;

  if (row == NULL)
    return ir_emit_fail (vjp, error, "there is no rule for the operator %s", vjp->node->op_type);
  if (row->zero)
    return TRUE;
  if (row->opaque != NULL)
    return ir_emit_fail (vjp, error, "%s", row->opaque);
  for (guint i = 0; i < (guint) vjp->node->op->in.min && row->dual == NULL; i++)
    if (ir_node_input (vjp->node, i) == NULL)
      return ir_emit_fail (vjp, error, "one of its inputs is missing");
  if (!row->any_output && !only_first_output (vjp))
    return ir_emit_fail (vjp, error, "the result depends on another output than the first");
  for (guint i = 0; i < vjp->node->n_outputs; i++)
    if (vjp->dy[i] != NULL && !ir_emit_is_float (vjp->dy[i]))
      return ir_emit_fail (vjp, error, "the type of its output is not known");
  return row->function != NULL ? row->function (vjp, error) : run_rules (vjp, row, error);
}
