/* The rules of derivation: see vjp.h. They are read from the GRAD column of the op table:
 *
 *   GRAD (.rules = { "(Mul dy b)", "(Mul dy a)" })    one expression per input
 *   GRAD (.function = vjp_matmul)                     all inputs at once
 *
 * In an expression a, b, c are the inputs, y and dy the first output and the derivative by it, a
 * number is a scalar of dy's type, nothing an input whose contents do not count, @name the FLOAT
 * attribute of that name, and (Op ...) a new node; (Like x) casts x to the type of dy. What
 * broadcasting repeated is summed up again behind the expression, by irscope.ReduceSumTo. Where a
 * function has a kink, one of both slopes is taken, as frameworks do; where inputs of Max or Min
 * are equal, they share.
 *
 * The nodes are those of the model's own opset where that matters (axes as attribute or input); a
 * few (Where, Expand) are used before their time, which execution does not mind. */
#include "config.h"

#include "core/grad/vjp.h"

#include "core/grad/grad.h"

#include "core/op/infer.h"
#include "core/op/op.h"
#include <string.h>

#define MAX_ARGS  8
#define MAX_RULES 3

typedef gboolean (*Function) (IrVjp *vjp, GError **error);

typedef struct
{
  IrOpId op;
  const char *rules[MAX_RULES]; /* (nullable) per input; NULL: nothing depends on it smoothly */
  Function function;            /* (nullable) */
} Row;

/* -- new nodes -- */

static gboolean
fail (const IrVjp *vjp, GError **error, const char *why)
{
  g_autofree char *label = ir_node_label (vjp->node);

  g_set_error (error, IR_GRAD_ERROR, IR_GRAD_ERROR_NO_RULE, "%s: cannot be derived: %s", label,
               why);
  return FALSE;
}

static IrContext *
context_of (const IrVjp *vjp)
{
  return ir_edit_model (vjp->edit)->context;
}

static IrNode *
add_node (const IrVjp *vjp, const char *op, guint n_inputs, IrValue *const *inputs)
{
  gboolean ours = g_str_has_prefix (op, "irscope.");
  const char *name = ours ? op + strlen ("irscope.") : op;
  IrNode *node = ir_edit_add_node (vjp->edit, vjp->at->graph, name, ours ? "irscope" : "", NULL,
                                   n_inputs, inputs, 1);

  ir_edit_set_rank (vjp->edit, node, vjp->at->rank);
  return node;
}

/* After the attributes are set. */
static IrValue *
infer_output (const IrVjp *vjp, IrNode *node)
{
  ir_infer_node (vjp->edit, node, NULL);
  return node->outputs[0];
}

/* Adds a node without attributes and infers its type. Returns its output. */
IrValue *
ir_vjp_emit (const IrVjp *vjp, const char *op, guint n_inputs, IrValue *const *inputs)
{
  return infer_output (vjp, add_node (vjp, op, n_inputs, inputs));
}

static IrValue *
emit1 (const IrVjp *vjp, const char *op, IrValue *a)
{
  return ir_vjp_emit (vjp, op, 1, &a);
}

static IrValue *
emit2 (const IrVjp *vjp, const char *op, IrValue *a, IrValue *b)
{
  IrValue *inputs[2] = { a, b };

  return ir_vjp_emit (vjp, op, 2, inputs);
}

static IrValue *
constant (const IrVjp *vjp, IrTensor *tensor)
{
  IrValue *value = ir_edit_add_initializer (vjp->edit, vjp->at->graph, NULL, tensor);

  ir_tensor_unref (tensor);
  return value;
}

static IrValue *
ints (const IrVjp *vjp, const gint64 *values, gssize n)
{
  return constant (vjp, ir_tensor_new_int64s (values, n));
}

static IrValue *
number (const IrVjp *vjp, double value)
{
  return constant (vjp, ir_tensor_new_scalar (ir_value_dtype (vjp->dy[0]), value));
}

static IrValue *
cast (const IrVjp *vjp, IrValue *value, IrDtype dtype)
{
  if (ir_value_dtype (value) == dtype)
    return value;
  IrNode *node = add_node (vjp, "Cast", 1, &value);
  ir_edit_set_attr (vjp->edit, node, ir_attr_int (context_of (vjp), "to", (gint64) dtype));
  return infer_output (vjp, node);
}

/* A tensor of the same shape and type, all of whose elements are @element. */
IrValue *
ir_vjp_filled_like (const IrVjp *vjp, IrValue *value, double element)
{
  IrValue *shape = emit1 (vjp, "Shape", value);
  IrNode *node = add_node (vjp, "ConstantOfShape", 1, &shape);
  gint64 one = 1;
  g_autoptr (IrTensor) scalar = ir_tensor_new_scalar (ir_value_dtype (value), element);
  g_autoptr (IrTensor) tensor = ir_tensor_reshape (scalar, 1, &one);

  ir_edit_set_attr (vjp->edit, node, ir_attr_tensor (context_of (vjp), "value", tensor));
  return infer_output (vjp, node);
}

/* -- shapes -- */

/* Undoes broadcasting: sums @value where @like was repeated. */
static IrValue *
sum_to (const IrVjp *vjp, IrValue *value, IrValue *like)
{
  if (value->type != NULL && value->type == like->type && ir_type_is_static (value->type))
    return value;
  return emit2 (vjp, "irscope.ReduceSumTo", value, like);
}

static IrValue *
reshape_like (const IrVjp *vjp, IrValue *value, IrValue *like)
{
  return emit2 (vjp, "Reshape", value, emit1 (vjp, "Shape", like));
}

/* Attributes became inputs of Unsqueeze and ReduceSum in opset 13. */
static gboolean
axes_are_inputs (const IrVjp *vjp)
{
  gint64 opset = ir_graph_opset (vjp->at->graph, "");

  return opset >= 13 || opset == 0;
}

static IrNode *
add_with_axes (const IrVjp *vjp, const char *op, IrValue *value, const gint64 *axes, guint n)
{
  IrValue *inputs[2] = { value, NULL };
  IrNode *node;

  if (axes_are_inputs (vjp))
    {
      inputs[1] = ints (vjp, axes, (gssize) n);
      return add_node (vjp, op, 2, inputs);
    }
  node = add_node (vjp, op, 1, inputs);
  ir_edit_set_attr (vjp->edit, node, ir_attr_ints (context_of (vjp), "axes", axes, n));
  return node;
}

static IrValue *
unsqueeze (const IrVjp *vjp, IrValue *value, const gint64 *axes, guint n)
{
  return infer_output (vjp, add_with_axes (vjp, "Unsqueeze", value, axes, n));
}

/* Sum along one axis, which stays with size 1. */
static IrValue *
sum_along (const IrVjp *vjp, IrValue *value, gint64 axis)
{
  return infer_output (vjp, add_with_axes (vjp, "ReduceSum", value, &axis, 1));
}

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
    return number (vjp, g_ascii_strtod (word, NULL));
  const IrAttrSpec *spec = ir_op_attr (vjp->node->op, word + 1);
  double fallback = spec != NULL && spec->fallback != NULL ? g_ascii_strtod (spec->fallback, NULL)
                                                           : 0;
  return number (vjp, (double) ir_node_attr_float (vjp->node, word + 1, (float) fallback));
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
    return cast (vjp, arguments[0], ir_value_dtype (vjp->dy[0]));
  return ir_vjp_emit (vjp, op, n, arguments);
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
run_rules (IrVjp *vjp, const Row *row, GError **error)
{
  for (guint i = 0; i < vjp->node->n_inputs; i++)
    {
      const char *text = i < MAX_RULES ? row->rules[i] : NULL;
      if (!vjp->wanted[i])
        continue;
      if (text == NULL)
        return fail (vjp, error, "there is no rule for one of its inputs");
      if (*text != '\0')
        vjp->dx[i] = sum_to (vjp, evaluate (vjp, &text), vjp->node->inputs[i]);
    }
  return TRUE;
}

/* -- any number of inputs -- */

static gboolean
vjp_sum (IrVjp *vjp, GError **error)
{
  for (guint i = 0; i < vjp->node->n_inputs; i++)
    if (vjp->wanted[i])
      vjp->dx[i] = sum_to (vjp, vjp->dy[0], vjp->node->inputs[i]);
  return TRUE;
}

static gboolean
vjp_mean (IrVjp *vjp, GError **error)
{
  IrValue *part = emit2 (vjp, "Div", vjp->dy[0], number (vjp, vjp->node->n_inputs));

  for (guint i = 0; i < vjp->node->n_inputs; i++)
    if (vjp->wanted[i])
      vjp->dx[i] = sum_to (vjp, part, vjp->node->inputs[i]);
  return TRUE;
}

/* Max, Min: those that are the result share what comes. */
static gboolean
vjp_extreme (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  IrDtype dtype = ir_value_dtype (vjp->dy[0]);
  g_autofree IrValue **chosen = g_new0 (IrValue *, node->n_inputs + 1);

  for (guint i = 0; i < node->n_inputs; i++)
    chosen[i] = cast (vjp, emit2 (vjp, "Equal", node->inputs[i], node->outputs[0]), dtype);
  IrValue *part = emit2 (vjp, "Div", vjp->dy[0], ir_vjp_emit (vjp, "Sum", node->n_inputs, chosen));
  for (guint i = 0; i < node->n_inputs; i++)
    if (vjp->wanted[i])
      vjp->dx[i] = sum_to (vjp, emit2 (vjp, "Mul", part, chosen[i]), node->inputs[i]);
  return TRUE;
}

/* -- matrix products -- */

static IrValue *
transpose_last (const IrVjp *vjp, IrValue *value)
{
  gint64 perm[IR_MAX_RANK];
  int rank = ir_value_rank (value);

  if (rank < 2)
    return value;
  IrNode *node = add_node (vjp, "Transpose", 1, &value);
  for (int i = 0; i < rank; i++)
    perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
  ir_edit_set_attr (vjp->edit, node, ir_attr_ints (context_of (vjp), "perm", perm, (guint) rank));
  return infer_output (vjp, node);
}

/* Vectors become matrices of one row (left) or column (right), and the result likewise. */
static gboolean
vjp_matmul (IrVjp *vjp, GError **error)
{
  static const gint64 row = 0, column = 1;
  IrValue *a = vjp->node->inputs[0], *b = vjp->node->inputs[1], *dy = vjp->dy[0];
  gint64 rank = ir_value_rank (vjp->node->outputs[0]);

  if (ir_value_rank (a) < 1 || ir_value_rank (b) < 1 || rank < 0)
    return fail (vjp, error, "the ranks of its operands are not known");
  if (ir_value_rank (b) == 1)
    {
      b = unsqueeze (vjp, b, &column, 1);
      dy = unsqueeze (vjp, dy, &rank, 1);
      rank++;
    }
  if (ir_value_rank (a) == 1)
    {
      gint64 axis = rank - 1;
      a = unsqueeze (vjp, a, &row, 1);
      dy = unsqueeze (vjp, dy, &axis, 1);
    }
  if (vjp->wanted[0])
    vjp->dx[0] = reshape_like (vjp,
                               sum_to (vjp, emit2 (vjp, "MatMul", dy, transpose_last (vjp, b)), a),
                               vjp->node->inputs[0]);
  if (vjp->wanted[1])
    vjp->dx[1] = reshape_like (vjp,
                               sum_to (vjp, emit2 (vjp, "MatMul", transpose_last (vjp, a), dy), b),
                               vjp->node->inputs[1]);
  return TRUE;
}

static IrValue *
product (const IrVjp *vjp, IrValue *a, gboolean trans_a, IrValue *b, gboolean trans_b)
{
  IrValue *inputs[2] = { a, b };
  IrNode *node = add_node (vjp, "Gemm", 2, inputs);

  ir_edit_set_attr (vjp->edit, node, ir_attr_int (context_of (vjp), "transA", trans_a));
  ir_edit_set_attr (vjp->edit, node, ir_attr_int (context_of (vjp), "transB", trans_b));
  return infer_output (vjp, node);
}

static gboolean
vjp_gemm (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  IrValue *a = node->inputs[0], *b = node->inputs[1];
  gboolean trans_a = ir_node_attr_int (node, "transA", 0) != 0;
  gboolean trans_b = ir_node_attr_int (node, "transB", 0) != 0;
  double alpha = (double) ir_node_attr_float (node, "alpha", 1);
  double beta = (double) ir_node_attr_float (node, "beta", 1);
  IrValue *dy = emit2 (vjp, "Mul", vjp->dy[0], number (vjp, alpha));

  if (vjp->wanted[0])
    vjp->dx[0] = trans_a ? product (vjp, b, trans_b, dy, TRUE)
                         : product (vjp, dy, FALSE, b, !trans_b);
  if (vjp->wanted[1])
    vjp->dx[1] = trans_b ? product (vjp, dy, TRUE, a, trans_a)
                         : product (vjp, a, !trans_a, dy, FALSE);
  if (node->n_inputs > 2 && vjp->wanted[2])
    vjp->dx[2] = sum_to (vjp, emit2 (vjp, "Mul", vjp->dy[0], number (vjp, beta)), node->inputs[2]);
  return TRUE;
}

/* -- reductions -- */

/* The derivative by the sums, repeated for each element of the input. */
static IrValue *
spread (const IrVjp *vjp)
{
  const IrNode *node = vjp->node;
  IrValue *x = node->inputs[0], *dy = vjp->dy[0], *axes_input = ir_node_input (node, 1);
  guint n = 0;
  const gint64 *axes = ir_node_attr_ints (node, "axes", &n);

  if (ir_node_attr_int (node, "keepdims", 1) == 0 && axes_input != NULL)
    dy = emit2 (vjp, "Unsqueeze", dy, axes_input);
  else if (ir_node_attr_int (node, "keepdims", 1) == 0 && axes != NULL && n > 0)
    dy = unsqueeze (vjp, dy, axes, n);
  return emit2 (vjp, "Expand", dy, emit1 (vjp, "Shape", x));
}

static gboolean
vjp_reduce_sum (IrVjp *vjp, GError **error)
{
  vjp->dx[0] = spread (vjp);
  return TRUE;
}

static gboolean
vjp_reduce_sum_square (IrVjp *vjp, GError **error)
{
  IrValue *twice = emit2 (vjp, "Mul", vjp->node->inputs[0], number (vjp, 2));

  vjp->dx[0] = emit2 (vjp, "Mul", spread (vjp), twice);
  return TRUE;
}

static gboolean
vjp_reduce_mean (IrVjp *vjp, GError **error)
{
  IrDtype dtype = ir_value_dtype (vjp->dy[0]);
  IrValue *all = cast (vjp, emit1 (vjp, "Size", vjp->node->inputs[0]), dtype);
  IrValue *groups = cast (vjp, emit1 (vjp, "Size", vjp->node->outputs[0]), dtype);

  vjp->dx[0] = emit2 (vjp, "Div", spread (vjp), emit2 (vjp, "Div", all, groups));
  return TRUE;
}

/* y (dy - sum (dy y)), along one axis; before opset 13 the axis flattened the input. */
static gboolean
vjp_softmax (IrVjp *vjp, GError **error)
{
  IrValue *y = vjp->node->outputs[0], *dy = vjp->dy[0];

  if (!axes_are_inputs (vjp))
    return fail (vjp, error, "before opset 13; convert the model");
  IrValue *sum = sum_along (vjp, emit2 (vjp, "Mul", dy, y),
                            ir_node_attr_int (vjp->node, "axis", -1));
  vjp->dx[0] = emit2 (vjp, "Mul", y, emit2 (vjp, "Sub", dy, sum));
  return TRUE;
}

static gboolean
vjp_log_softmax (IrVjp *vjp, GError **error)
{
  IrValue *y = vjp->node->outputs[0], *dy = vjp->dy[0];

  if (!axes_are_inputs (vjp))
    return fail (vjp, error, "before opset 13; convert the model");
  IrValue *sum = sum_along (vjp, dy, ir_node_attr_int (vjp->node, "axis", -1));
  vjp->dx[0] = emit2 (vjp, "Sub", dy, emit2 (vjp, "Mul", emit1 (vjp, "Exp", y), sum));
  return TRUE;
}

/* -- moving elements -- */

static gboolean
vjp_reshape (IrVjp *vjp, GError **error)
{
  vjp->dx[0] = reshape_like (vjp, vjp->dy[0], vjp->node->inputs[0]);
  return TRUE;
}

static gboolean
vjp_transpose (IrVjp *vjp, GError **error)
{
  guint n = 0;
  const gint64 *perm = ir_node_attr_ints (vjp->node, "perm", &n);
  gint64 inverse[IR_MAX_RANK] = { 0 };
  IrNode *node = add_node (vjp, "Transpose", 1, &vjp->dy[0]);

  for (guint i = 0; i < MIN (n, IR_MAX_RANK); i++)
    {
      gint64 from = perm[i] < 0 ? perm[i] + n : perm[i];
      if (from < 0 || from >= n)
        return fail (vjp, error, "perm is no permutation");
      inverse[from] = i;
    }
  if (perm != NULL)
    ir_edit_set_attr (vjp->edit, node,
                      ir_attr_ints (context_of (vjp), "perm", inverse, MIN (n, IR_MAX_RANK)));
  vjp->dx[0] = infer_output (vjp, node);
  return TRUE;
}

static gboolean
vjp_cast (IrVjp *vjp, GError **error)
{
  vjp->dx[0] = cast (vjp, vjp->dy[0], ir_value_dtype (vjp->node->inputs[0]));
  return TRUE;
}

/* Each input is cut out of the result where the ones before it end. */
static gboolean
vjp_concat (IrVjp *vjp, GError **error)
{
  gint64 axis = ir_node_attr_int (vjp->node, "axis", 1), zero = 0;
  IrValue *axes = ints (vjp, &axis, 1), *start = ints (vjp, &zero, 1);

  for (guint i = 0; i < vjp->node->n_inputs; i++)
    {
      IrValue *shape = emit1 (vjp, "Shape", vjp->node->inputs[i]);
      IrValue *end = emit2 (vjp, "Add", start, emit2 (vjp, "Gather", shape, axes));
      IrValue *inputs[4] = { vjp->dy[0], start, end, axes };
      if (vjp->wanted[i])
        vjp->dx[i] = ir_vjp_emit (vjp, "Slice", 4, inputs);
      start = end;
    }
  return TRUE;
}

/* -- the table -- */

/* Each row closes the one before it, so that rows without the column have no rule. */
/* clang-format off */
static const Row rows[IR_N_OPS] = { [IR_OP_NONE] = { .op = IR_OP_NONE
#define IR_OP(ID, NAME, ...) }, [IR_OP_##ID] = { .op = IR_OP_##ID
#define GRAD(...) , __VA_ARGS__
#include "core/op/ops.def"
} };
/* clang-format on */

/* Whether there is a rule for its operator */
gboolean
ir_vjp_is_known (const IrNode *node)
{
  if (node->op == NULL)
    return FALSE;
  const Row *row = &rows[node->op->id];
  for (guint i = 0; i < MAX_RULES; i++)
    if (row->rules[i] != NULL)
      return TRUE;
  return row->function != NULL;
}

/* Fails with %IR_GRAD_ERROR_NO_RULE, naming the node, where its operator has no rule. Returns
 * TRUE if the derivatives by all wanted inputs are there. @vjp: a node, and the derivatives by
 * its outputs; dx is filled in. */
gboolean
ir_vjp_run (IrVjp *vjp, GError **error)
{
  if (!ir_vjp_is_known (vjp->node))
    {
      g_autofree char *why = g_strdup_printf ("there is no rule for the operator %s",
                                              vjp->node->op_type);
      return fail (vjp, error, why);
    }
  const Row *row = &rows[vjp->node->op->id];
  for (guint i = 0; i < (guint) vjp->node->op->in.min; i++)
    if (ir_node_input (vjp->node, i) == NULL)
      return fail (vjp, error, "one of its inputs is missing");
  if (vjp->dy[0] == NULL)
    return fail (vjp, error, "the result depends on another output than the first");
  if (!ir_dtype_is_float (ir_value_dtype (vjp->dy[0])))
    return fail (vjp, error, "the type of its output is not known");
  return row->function != NULL ? row->function (vjp, error) : run_rules (vjp, row, error);
}
