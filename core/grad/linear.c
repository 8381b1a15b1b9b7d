/* Derivatives of products: each is linear in every operand. */
#include "config.h"

#include "core/grad/emit.h"
#include "core/grad/forward.h"
#include "core/grad/rules.h"
#include "core/grad/slide.h"

#include <string.h>

/* -- matrix products -- */

static IrValue *
transpose_last (const IrVjp *vjp, IrValue *value)
{
  gint64 perm[IR_MAX_RANK];
  int rank = ir_value_rank (value);

  if (rank < 2)
    return value;
  for (int i = 0; i < rank; i++)
    perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
  return ir_emit_transpose (vjp, value, perm, (guint) rank);
}

/* All but the last axis as one */
static IrValue *
rows_of (const IrVjp *vjp, IrValue *value)
{
  IrNode *node = ir_emit_node (vjp, "Flatten", 1, &value, 1);

  ir_emit_attr_int (vjp, node, "axis", ir_value_rank (value) - 1);
  return ir_emit_end (vjp, node);
}

/* Of one matrix that all of a stack are multiplied by, one product over all rows: no stack of products has
 * to be summed. */
static IrValue *
by_right (const IrVjp *vjp, IrValue *a, IrValue *b, IrValue *dy)
{
  if (ir_value_rank (b) == 2 && ir_value_rank (a) > 2)
    return ir_emit2 (vjp, "MatMul", transpose_last (vjp, rows_of (vjp, a)), rows_of (vjp, dy));
  return ir_emit_sum_to (vjp, ir_emit2 (vjp, "MatMul", transpose_last (vjp, a), dy), b);
}

/* Vectors become matrices of one row (left) or column (right), and the result likewise. */
gboolean
ir_vjp_matmul (IrVjp *vjp, GError **error)
{
  static const gint64 row = 0, column = 1;
  IrValue *a = vjp->node->inputs[0], *b = vjp->node->inputs[1], *dy = vjp->dy[0];
  gint64 rank = ir_value_rank (vjp->node->outputs[0]);

  if (ir_value_rank (a) < 1 || ir_value_rank (b) < 1 || rank < 0)
    return ir_emit_fail (vjp, error, "the ranks of its operands are not known");
  if (ir_value_rank (b) == 1)
    {
      b = ir_emit_unsqueeze (vjp, b, &column, 1);
      dy = ir_emit_unsqueeze (vjp, dy, &rank, 1);
      rank++;
    }
  if (ir_value_rank (a) == 1)
    {
      gint64 axis = rank - 1;
      a = ir_emit_unsqueeze (vjp, a, &row, 1);
      dy = ir_emit_unsqueeze (vjp, dy, &axis, 1);
    }
  if (vjp->wanted[0])
    vjp->dx[0] = ir_emit_reshape_like (
        vjp, ir_emit_sum_to (vjp, ir_emit2 (vjp, "MatMul", dy, transpose_last (vjp, b)), a),
        vjp->node->inputs[0]);
  if (vjp->wanted[1])
    vjp->dx[1] = ir_emit_reshape_like (vjp, by_right (vjp, a, b, dy), vjp->node->inputs[1]);
  return TRUE;
}

static IrValue *
product (const IrVjp *vjp, IrValue *a, gboolean trans_a, IrValue *b, gboolean trans_b)
{
  IrValue *inputs[2] = { a, b };
  IrNode *node = ir_emit_node (vjp, "Gemm", 2, inputs, 1);

  ir_emit_attr_int (vjp, node, "transA", trans_a);
  ir_emit_attr_int (vjp, node, "transB", trans_b);
  return ir_emit_end (vjp, node);
}

static IrValue *
times (const IrVjp *vjp, IrValue *value, double factor)
{
  return factor == 1 ? value : ir_emit2 (vjp, "Mul", value, ir_emit_number (vjp, factor));
}

gboolean
ir_vjp_gemm (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  IrValue *a = node->inputs[0], *b = node->inputs[1];
  gboolean trans_a = ir_node_attr_int (node, "transA", 0) != 0;
  gboolean trans_b = ir_node_attr_int (node, "transB", 0) != 0;
  double alpha = (double) ir_node_attr_float (node, "alpha", 1);
  double beta = (double) ir_node_attr_float (node, "beta", 1);
  IrValue *dy = vjp->wanted[0] || vjp->wanted[1] ? times (vjp, vjp->dy[0], alpha) : NULL;

  if (vjp->wanted[0])
    vjp->dx[0] = trans_a ? product (vjp, b, trans_b, dy, TRUE)
                         : product (vjp, dy, FALSE, b, !trans_b);
  if (vjp->wanted[1])
    vjp->dx[1] = trans_b ? product (vjp, dy, TRUE, a, trans_a)
                         : product (vjp, a, !trans_a, dy, FALSE);
  if (node->n_inputs > 2 && vjp->wanted[2])
    vjp->dx[2] = ir_emit_sum_to (vjp, times (vjp, vjp->dy[0], beta), node->inputs[2]);
  return TRUE;
}

/* -- Einsum: the terms of an operand and of the result change places. An ellipsis is one letter here -- */

#define ELLIPSIS '*'

typedef struct
{
  char **terms; /* one per operand */
  char *result;
} Equation;

static void
equation_clear (Equation *equation)
{
  g_strfreev (equation->terms);
  g_free (equation->result);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Equation, equation_clear)

/* The ellipsis, and indices that stand once, sorted: what an equation without an arrow results in. */
static char *
implied_result (const char *terms)
{
  GString *result = g_string_new (strchr (terms, ELLIPSIS) != NULL ? "*" : NULL);

  for (int c = 'A'; c <= 'z'; c++)
    {
      const char *first = g_ascii_isalpha (c) ? strchr (terms, c) : NULL;
      if (first != NULL && strchr (first + 1, c) == NULL)
        g_string_append_c (result, (char) c);
    }
  return g_string_free (result, FALSE);
}

static void
parse_equation (const IrNode *node, Equation *equation)
{
  g_auto (GStrv) words = g_strsplit (ir_node_attr_string (node, "equation", ""), " ", -1);
  g_autofree char *joined = g_strjoinv ("", words);
  g_autoptr (GString) text = g_string_new (joined);
  g_string_replace (text, "...", "*", 0);
  g_auto (GStrv) sides = g_strsplit (text->str, "->", 2);

  equation->terms = g_strsplit (sides[0] != NULL ? sides[0] : "", ",", -1);
  equation->result = sides[0] != NULL && sides[1] != NULL
                         ? g_strdup (sides[1])
                         : implied_result (sides[0] != NULL ? sides[0] : "");
}

/* Has each operand a term? */
static gboolean
check_terms (const IrVjp *vjp, const Equation *equation, GError **error)
{
  return g_strv_length (equation->terms) == vjp->node->n_inputs ||
         ir_emit_fail (vjp, error, "its equation has not as many terms as it has inputs");
}

static gboolean
check_ellipses (const IrVjp *vjp, const Equation *equation, GError **error)
{
  gboolean anywhere = FALSE;

  for (guint i = 0; equation->terms[i] != NULL; i++)
    {
      const char *dots = strchr (equation->terms[i], ELLIPSIS);
      anywhere |= dots != NULL;
      if (dots != NULL && dots != equation->terms[i])
        return ir_emit_fail (
            vjp, error, "its equation has an ellipsis behind other indices, which has no rule");
    }
  return !anywhere || equation->result[0] == ELLIPSIS ||
         ir_emit_fail (vjp, error, "its result has no ellipsis in front, which has no rule");
}

/* Is @index in the result, or in a term but that of operand @but? */
static gboolean
elsewhere (const Equation *equation, char index, guint but)
{
  gboolean found = strchr (equation->result, index) != NULL;

  for (guint i = 0; equation->terms[i] != NULL; i++)
    found |= i != but && strchr (equation->terms[i], index) != NULL;
  return found;
}

static char
unused_index (const Equation *equation, const char *more)
{
  for (char c = 'a'; c <= 'z'; c++)
    if (!elsewhere (equation, c, G_MAXUINT) && strchr (more, c) == NULL)
      return c;
  return 0;
}

/* What is built of one operand: operands and terms on the left, and the term on the right */
typedef struct
{
  GPtrArray *inputs;
  GString *left, *right;
} Turned;

static void
turned_clear (Turned *turned)
{
  g_ptr_array_unref (turned->inputs);
  g_string_free (turned->left, TRUE);
  g_string_free (turned->right, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Turned, turned_clear)

/* A diagonal: what comes back lies where @index is another one, too. */
static gboolean
add_diagonal (const IrVjp *vjp,
              const Equation *equation,
              Turned *turned,
              char index,
              gint64 n,
              GError **error)
{
  g_autofree char *used = g_strconcat (turned->left->str, turned->right->str, NULL);
  const char other = unused_index (equation, used);
  const gint64 dims[] = { n, n };

  if (n < 0 || other == 0)
    return ir_emit_fail (vjp, error, "the size of its diagonal is not known; give it (--dim)");
  g_autofree double *ones = g_new0 (double, MAX (n * n, 1));
  for (gint64 i = 0; i < n; i++)
    ones[i * n + i] = 1;
  g_string_append_printf (turned->left, ",%c%c", index, other);
  g_string_append_c (turned->right, other);
  g_ptr_array_add (turned->inputs, ir_emit_doubles (vjp, 2, dims, ones));
  return TRUE;
}

/* Behind an ellipsis axes count from the end. (nullable) */
static IrValue *
einsum_of (const IrVjp *vjp, const Equation *equation, guint slot, GError **error)
{
  g_auto (Turned)
      turned = { g_ptr_array_new (), g_string_new (equation->result), g_string_new (NULL) };
  const char *term = equation->terms[slot];
  const gint64 length = (gint64) strlen (term);
  IrValue *operand = vjp->node->inputs[slot];
  gint64 axes[IR_MAX_RANK];
  guint n_axes = 0;

  g_ptr_array_add (turned.inputs, vjp->dy[0]);
  for (guint i = 0; i < vjp->node->n_inputs; i++)
    if (i != slot)
      {
        g_string_append_printf (turned.left, ",%s", equation->terms[i]);
        g_ptr_array_add (turned.inputs, vjp->node->inputs[i]);
      }
  if (equation->result[0] == ELLIPSIS && term[0] != ELLIPSIS)
    g_string_append_c (turned.right, ELLIPSIS); /* which is summed away below */
  for (gint64 i = 0; i < length; i++)
    if (strchr (turned.right->str, term[i]) != NULL)
      {
        if (!add_diagonal (vjp, equation, &turned, term[i],
                           ir_emit_dim (operand, (int) (i - length)), error))
          return NULL;
      }
    else if (elsewhere (equation, term[i], slot) || strchr (term + i + 1, term[i]) != NULL)
      g_string_append_c (turned.right, term[i]);
    else if (n_axes < IR_MAX_RANK)
      axes[n_axes++] = i - length; /* summed away: the same for every element along it */
  g_string_append_printf (turned.left, "->%s", turned.right->str);
  g_string_replace (turned.left, "*", "...", 0);
  IrNode *node = ir_emit_node (vjp, "Einsum", turned.inputs->len,
                               (IrValue *const *) turned.inputs->pdata, 1);
  ir_emit_attr_string (vjp, node, "equation", turned.left->str);
  IrValue *dx = ir_emit_end (vjp, node);
  if (n_axes > 0)
    dx = ir_emit2 (vjp, "Expand", ir_emit_unsqueeze (vjp, dx, axes, n_axes),
                   ir_emit_shape (vjp, operand));
  return ir_emit_sum_to (vjp, dx, operand);
}

gboolean
ir_vjp_einsum (IrVjp *vjp, GError **error)
{
  g_auto (Equation) equation = { 0 };

  parse_equation (vjp->node, &equation);
  if (!check_terms (vjp, &equation, error) || !check_ellipses (vjp, &equation, error))
    return FALSE;
  for (guint i = 0; i < vjp->node->n_inputs; i++)
    if (vjp->wanted[i] && (vjp->dx[i] = einsum_of (vjp, &equation, i, error)) == NULL)
      return FALSE;
  return TRUE;
}

/* The indices of @left and of operand @slot that the result or an operand behind it names */
static char *
pair_term (const Equation *equation, const char *left, guint slot)
{
  const Equation rest = { equation->terms + slot + 1, equation->result };
  g_autofree char *both = g_strconcat (left, equation->terms[slot], NULL);
  GString *term = g_string_new (NULL);

  for (const char *c = both; *c != '\0'; c++)
    if (strchr (term->str, *c) == NULL && elsewhere (&rest, *c, G_MAXUINT))
      g_string_append_c (term, *c);
  return g_string_free (term, FALSE);
}

static IrValue *
pair_of (const IrVjp *emit, const char *equation, IrValue *left, IrValue *right)
{
  IrValue *inputs[] = { left, right };
  IrNode *node = ir_emit_node (emit, "Einsum", 2, inputs, 1);

  ir_emit_attr_string (emit, node, "equation", equation);
  return ir_emit_end (emit, node);
}

/* Of more than two operands: all at once they were one product for each that moves. Pair by pair, from
 * the left as the kernel goes, what is one product is three with its tangent. */
gboolean
ir_dual_einsum (IrDual *dual, GError **error)
{
  const IrVjp *emit = &dual->emit;
  const IrNode *node = dual->node;
  g_auto (Equation) equation = { 0 };
  IrValue *left = node->inputs[0], *tangent = dual->tangents[0];

  parse_equation (node, &equation);
  if (!check_terms (emit, &equation, error))
    return FALSE;
  g_autofree char *term = g_strdup (equation.terms[0]);
  for (guint i = 1; i < node->n_inputs; i++)
    {
      IrValue *right = node->inputs[i];
      char *next = i + 1 < node->n_inputs ? pair_term (&equation, term, i)
                                          : g_strdup (equation.result);
      g_autoptr (GString) text = g_string_new (NULL);
      g_string_printf (text, "%s,%s->%s", term, equation.terms[i], next);
      g_string_replace (text, "*", "...", 0);
      IrValue *moved = dual->tangents[i] != NULL
                           ? pair_of (emit, text->str, left, dual->tangents[i])
                           : NULL;
      if (tangent != NULL)
        tangent = pair_of (emit, text->str, tangent, right);
      if (moved != NULL)
        tangent = tangent != NULL ? ir_emit2 (emit, "Sum", tangent, moved) : moved;
      left = pair_of (emit, text->str, left, right);
      g_free (term);
      term = next;
    }
  dual->results[0] = tangent;
  if (left->type == node->outputs[0]->type)
    dual->values[0] = left;
  return TRUE;
}

/* -- convolutions -- */

/* The bias is added to every element of its channel. */
static void
derive_bias (IrVjp *vjp, const IrSlide *window)
{
  gint64 axes[IR_MAX_RANK] = { 0 };

  if (vjp->node->n_inputs < 3 || !vjp->wanted[2])
    return;
  for (guint i = 0; i < window->n; i++)
    axes[i + 1] = i + 2;
  vjp->dx[2] = ir_emit_reduce (vjp, "ReduceSum", vjp->dy[0], axes, window->n + 1, FALSE);
}

/* By W, from what it slid over and what came out: irscope.ConvGradWeight */
static IrValue *
weight_gradient (const IrVjp *vjp, const IrSlide *window, IrValue *x, IrValue *dy)
{
  IrValue *inputs[] = { x, dy };
  IrNode *node = ir_emit_node (vjp, "irscope.ConvGradWeight", 2, inputs, 1);

  ir_emit_attr_ints (vjp, node, "kernel_shape", window->kernel, window->n);
  ir_slide_set_attrs (vjp, window, node, FALSE);
  return ir_emit_end (vjp, node);
}

gboolean
ir_vjp_conv (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  IrSlide window;

  if (!ir_slide_read (vjp, node->inputs[0], node->outputs[0], node->inputs[1], &window, error))
    return FALSE;
  if (vjp->wanted[0])
    {
      IrValue *dx = ir_slide_back (vjp, &window, vjp->dy[0], node->inputs[1], error);
      if (dx == NULL)
        return FALSE;
      vjp->dx[0] = dx;
    }
  if (vjp->wanted[1])
    vjp->dx[1] = weight_gradient (vjp, &window, node->inputs[0], vjp->dy[0]);
  derive_bias (vjp, &window);
  return TRUE;
}

/* A convolution backwards: of its derivative forwards. */
static IrValue *
convolve (const IrVjp *vjp, const IrSlide *window, IrValue *x, IrValue *w)
{
  IrValue *inputs[] = { x, w };
  IrNode *node = ir_emit_node (vjp, "Conv", 2, inputs, 1);

  ir_slide_set_attrs (vjp, window, node, FALSE);
  return ir_emit_end (vjp, node);
}

/* (nullable) A convolution of what output_padding made larger has places behind the last element of x. */
static IrValue *
without_padding (const IrVjp *vjp, const IrSlide *window, IrValue *dx, GError **error)
{
  gint64 starts[IR_MAX_RANK] = { 0 }, axes[IR_MAX_RANK];

  if (ir_node_attr (vjp->node, "output_padding") == NULL)
    return dx;
  for (guint i = 0; i < window->n; i++)
    axes[i] = i + 2;
  if (!window->sizes_known)
    return ir_emit_fail (vjp, error, "its sizes are not known; give them (--dim)"), NULL;
  return ir_emit_slice (vjp, dx, starts, window->out, axes, window->n);
}

gboolean
ir_vjp_conv_transpose (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  IrSlide window;

  if (ir_node_attr (node, "output_shape") != NULL ||
      strcmp (ir_node_attr_string (node, "auto_pad", "NOTSET"), "NOTSET") != 0)
    return ir_emit_fail (vjp, error, "its padding follows from its output; give it as pads");
  if (!ir_slide_read (vjp, node->outputs[0], node->inputs[0], node->inputs[1], &window, error))
    return FALSE;
  if (vjp->wanted[0])
    vjp->dx[0] = without_padding (vjp, &window,
                                  convolve (vjp, &window, vjp->dy[0], node->inputs[1]), error);
  if (vjp->wanted[0] && vjp->dx[0] == NULL)
    return FALSE;
  if (vjp->wanted[1])
    vjp->dx[1] = weight_gradient (vjp, &window, vjp->dy[0], node->inputs[0]);
  derive_bias (vjp, &window);
  return TRUE;
}

/* Linear in what W slid over and in what came out: their convolutions with the derivative by W. */
gboolean
ir_vjp_conv_grad_weight (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  IrSlide window;

  if (!ir_slide_read (vjp, node->inputs[0], node->inputs[1], node->outputs[0], &window, error))
    return FALSE;
  if (vjp->wanted[0] &&
      (vjp->dx[0] = ir_slide_back (vjp, &window, node->inputs[1], vjp->dy[0], error)) == NULL)
    return FALSE;
  if (vjp->wanted[1])
    vjp->dx[1] = convolve (vjp, &window, node->inputs[0], vjp->dy[0]);
  return TRUE;
}

/* A rotation backwards is one by the negative angles. */
gboolean
ir_vjp_rotary (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  IrValue *inputs[] = { vjp->dy[0], node->inputs[1], ir_emit1 (vjp, "Neg", node->inputs[2]),
                        ir_node_input (node, 3) };

  if (vjp->wanted[1] || vjp->wanted[2])
    return ir_emit_fail (vjp, error, "there is no rule for its angles");
  IrNode *back = ir_emit_node (vjp, "RotaryEmbedding", inputs[3] != NULL ? 4 : 3, inputs, 1);
  for (guint i = 0; i < node->n_attrs; i++)
    ir_edit_set_attr (vjp->edit, back, node->attrs[i]);
  vjp->dx[0] = ir_emit_end (vjp, back);
  return TRUE;
}

/* -- Col2Im: which adds up overlapping blocks; backwards each block is cut out again, by a convolution
 * whose kernels have a one at one place each -- */

gboolean
ir_vjp_col2im (IrVjp *vjp, GError **error)
{
  const IrNode *node = vjp->node;
  const IrTensor *block = ir_value_constant (node->inputs[2]);
  const int rank = ir_value_rank (vjp->dy[0]);
  gint64 dims[IR_MAX_RANK] = { -1, 1 }, kernel[IR_MAX_RANK] = { 1, 1 }, elements = 1;

  if (block == NULL || rank < 3 || ir_tensor_n_elements (block) != (guint64) rank - 2)
    return ir_emit_fail (vjp, error, "its block_shape must be constant");
  for (int i = 2; i < rank; i++)
    {
      dims[i] = ir_emit_dim (vjp->dy[0], i);
      if (dims[i] < 0)
        return ir_emit_fail (vjp, error, "the size of its image is not known");
      elements *= kernel[i] = ir_tensor_get_int64 (block, (guint64) i - 2);
    }
  if (elements < 1 || elements > 1024)
    return ir_emit_fail (vjp, error, "its blocks have more than 1,024 elements");
  g_autofree double *ones = g_new0 (double, elements *elements);
  for (gint64 i = 0; i < elements; i++)
    ones[i * elements + i] = 1;
  kernel[0] = elements;
  IrValue *inputs[] = { ir_emit_reshape (vjp, vjp->dy[0], dims, (guint) rank),
                        ir_emit_doubles (vjp, (guint) rank, kernel, ones) };
  IrNode *conv = ir_emit_node (vjp, "Conv", 2, inputs, 1);
  for (guint i = 0; i < node->n_attrs; i++) /* dilations, pads and strides are those of Conv */
    ir_edit_set_attr (vjp->edit, conv, node->attrs[i]);
  vjp->dx[0] = ir_emit_reshape_like (vjp, ir_emit_end (vjp, conv), node->inputs[0]);
  return TRUE;
}
