/* The complex step: f (x + i h d) has h f'(x) d for its imaginary part, and nothing cancels, so that h
 * may be as small as 1e-200. Values that do not depend on x are those of a run; the others have an
 * imaginary part, too, by
 *
 *   COMPLEX (.one = csin)       the function of a complex number that the operator is, element by element
 *   COMPLEX (.two = times)      of two, broadcast
 *   .linear of the GRAD column  the node itself on both parts; of two factors, (a c - b d) + i (a d + b c)
 *
 * What has neither, such as Relu, is not differentiable in the sense that this needs. Source: Squire
 * and Trapp 1998, Using Complex Variables to Estimate Derivatives of Real Functions. */
#include "config.h"

#include "core/exec/eval/complex.h"

#include "core/exec/eval/eval.h"
#include "core/grad/vjp.h"
#include "core/ir/frames.h"
#include "core/ir/inline.h"
#include "core/op/op.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#ifndef CMPLX /* as with clang */
#define CMPLX(x, y) __builtin_complex ((double) (x), (double) (y))
#endif

typedef double complex Number;

typedef struct
{
  guint op; /* its IrOpId */
  Number (*one) (Number);
  Number (*two) (Number, Number);
} Row;

static Number
plus (Number a, Number b)
{
  return a + b;
}

static Number
minus (Number a, Number b)
{
  return a - b;
}

static Number
times (Number a, Number b)
{
  return a * b;
}

/* By the scaled quotient, since |b|^2 of small parts is 0. */
static Number
divided (Number a, Number b)
{
  double c = creal (b), d = cimag (b);

  if (fabs (c) < fabs (d))
    return (Number) CMPLX (cimag (a), -creal (a)) / CMPLX (d, -c);
  double ratio = d / c, length = c + d * ratio;
  return CMPLX ((creal (a) + cimag (a) * ratio) / length, (cimag (a) - creal (a) * ratio) / length);
}

static Number
negative (Number a)
{
  return -a;
}

static Number
reciprocal (Number a)
{
  return divided (1, a);
}

/* By products where the exponent is whole: the logarithm of a negative number has a part that is not
 * small. */
static Number
power (Number a, Number b)
{
  double n = creal (b);
  Number y = 1;

  if (cimag (b) != 0 || n != rint (n) || fabs (n) > 64)
    return cexp (b * clog (a));
  for (int i = 0; i < (int) fabs (n); i++)
    y *= a;
  return n < 0 ? divided (1, y) : y;
}

static Number
sigmoid (Number a)
{
  return divided (1, 1 + cexp (-a));
}

/* clang-format off */
static const Row rows[IR_N_OPS] = { [IR_OP_NONE] = { .op = IR_OP_NONE
#define IR_OP(ID, NAME, ...) }, [IR_OP_##ID] = { .op = IR_OP_##ID
#define COMPLEX(...) , __VA_ARGS__
#include "core/op/ops.def"
} };
/* clang-format on */

/* -- values -- */

typedef struct
{
  IrTensor *re, *im; /* double */
} Pair;

typedef struct
{
  const IrRun *real;
  GHashTable *inputs;
  GHashTable *pairs; /* value id -> Pair: what depends on what moves */
} Walk;

static void
free_pair (gpointer data)
{
  Pair *pair = data;

  g_clear_pointer (&pair->re, ir_tensor_unref);
  g_clear_pointer (&pair->im, ir_tensor_unref);
  g_free (pair);
}

static const Pair *
pair_of (const Walk *walk, const IrValue *value)
{
  return g_hash_table_lookup (walk->pairs, GUINT_TO_POINTER (value->id));
}

/* (nullable) The real part of any value */
static const IrTensor *
real_of (const Walk *walk, const IrValue *value)
{
  const Pair *pair = pair_of (walk, value);
  const IrTensor *given = g_hash_table_lookup (walk->inputs, GUINT_TO_POINTER (value->id));

  if (pair != NULL)
    return pair->re;
  if (given != NULL)
    return given;
  return value->initializer != NULL ? value->initializer : ir_run_value (walk->real, value->id);
}

static IrTensor *
new_like (const IrTensor *like)
{
  return ir_tensor_new_alloc (IR_DTYPE_DOUBLE, ir_tensor_rank (like), ir_tensor_dims (like), NULL);
}

/* Place in @in, broadcast to the shape of @out, of each element of @out */
static guint64
place_of (const IrTensor *in, const IrTensor *out, guint64 index)
{
  guint rank = ir_tensor_rank (in), shift = ir_tensor_rank (out) - rank;
  guint64 place = 0, stride = 1;

  for (guint i = ir_tensor_rank (out); i-- > 0;)
    {
      guint64 at = index % (guint64) ir_tensor_dims (out)[i];
      index /= (guint64) ir_tensor_dims (out)[i];
      if (i < shift)
        continue;
      gint64 dim = ir_tensor_dims (in)[i - shift];
      place += (dim == 1 ? 0 : at) * stride;
      stride *= (guint64) dim;
    }
  return place;
}

static Number
element (const IrTensor *re, const IrTensor *im, const IrTensor *out, guint64 index)
{
  guint64 place = place_of (re, out, index);

  return CMPLX (ir_tensor_get_double (re, place),
                im != NULL ? ir_tensor_get_double (im, place) : 0);
}

static Pair *
by_elements (const Walk *walk, const IrNode *node, const Row *row)
{
  const IrTensor *out = ir_run_value (walk->real, node->outputs[0]->id);
  const IrTensor *re[2] = { NULL, NULL }, *im[2] = { NULL, NULL };
  Pair *pair = g_new0 (Pair, 1);

  pair->re = new_like (out);
  pair->im = new_like (out);
  double *to_re = ir_tensor_data_writable (pair->re), *to_im = ir_tensor_data_writable (pair->im);
  for (guint i = 0; i < MIN (node->n_inputs, 2u); i++)
    {
      const Pair *in = pair_of (walk, node->inputs[i]);
      re[i] = real_of (walk, node->inputs[i]);
      im[i] = in != NULL ? in->im : NULL;
    }
  for (guint64 i = 0; i < ir_tensor_n_elements (out); i++)
    {
      Number a = element (re[0], im[0], out, i);
      Number y = row->one != NULL ? row->one (a) : row->two (a, element (re[1], im[1], out, i));
      to_re[i] = creal (y);
      to_im[i] = cimag (y);
    }
  return pair;
}

/* -- linear -- */

/* (transfer full) (nullable) The node on @inputs */
static IrTensor *
eval (const IrNode *node, const IrTensor *const *inputs, GError **error)
{
  g_autofree IrTensor **outputs = g_new0 (IrTensor *, node->n_outputs + 1);

  if (!ir_eval_node (node, inputs, outputs, NULL, 0, error))
    return NULL;
  for (guint i = 1; i < node->n_outputs; i++)
    g_clear_pointer (&outputs[i], ir_tensor_unref);
  return outputs[0];
}

/* @to + @sign * @term */
static gboolean
add_to (IrTensor *to, double sign, IrTensor *term)
{
  double *numbers = ir_tensor_data_writable (to);

  if (term == NULL || ir_tensor_n_elements (term) != ir_tensor_n_elements (to))
    return FALSE;
  for (guint64 i = 0; i < ir_tensor_n_elements (to); i++)
    numbers[i] += sign * ir_tensor_get_double (term, i);
  return TRUE;
}

/* 0 in the place of a floating-point input; others stay. */
static const IrTensor *
nothing_for (const Walk *walk, const IrValue *value, GPtrArray *zeros)
{
  const IrTensor *here = real_of (walk, value);

  if (here == NULL || !ir_dtype_is_float (ir_tensor_dtype (here)))
    return here;
  IrTensor *zero = new_like (here);
  memset (ir_tensor_data_writable (zero), 0, ir_tensor_n_elements (zero) * sizeof (double));
  g_ptr_array_add (zeros, zero);
  return zero;
}

/* What the letters of a word say: of capitals the imaginary part, of others the real one; of both the
 * imaginary one with @both. What is left out, or has no imaginary part, is 0. */
static gboolean
fill (const Walk *walk,
      const IrNode *node,
      const char *word,
      gboolean both,
      const IrTensor **inputs,
      GPtrArray *zeros)
{
  const guint length = (guint) strlen (word);
  const gboolean all = *word == '*' || *word == '+';

  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrValue *value = node->inputs[i];
      const Pair *pair = value != NULL ? pair_of (walk, value) : NULL;
      char letter = all ? 'A' : i < length ? word[i] : '.';
      gboolean factor = i < (guint) node->op->in.min && letter != '.';

      if (both && factor && pair == NULL)
        return FALSE;
      inputs[i] = value == NULL                       ? NULL
                  : g_ascii_islower (letter) && !both ? real_of (walk, value)
                  : pair != NULL && (both ? factor : letter != '.')
                      ? pair->im
                      : nothing_for (walk, value, zeros);
    }
  return TRUE;
}

static gboolean
has_imaginary (const Walk *walk, const IrNode *node, const char *word, gboolean capitals)
{
  const guint length = (guint) strlen (word);

  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && pair_of (walk, node->inputs[i]) != NULL &&
        (*word == '*' || *word == '+'
             ? capitals
             : i < length && (capitals ? g_ascii_isupper (word[i]) : g_ascii_islower (word[i]))))
      return TRUE;
  return FALSE;
}

/* An attribute is added to what is linear: it is no part of an imaginary part. */
static gboolean
adds_something (const IrNode *node)
{
  const IrGradRow *row = ir_grad_row (node->op);

  return row->adds != NULL && ir_node_attr_float (node, row->adds, 0) != 0;
}

/* @term less what the node gives of nothing */
static gboolean
take_from (const Walk *walk,
           const IrNode *node,
           const char *word,
           const IrTensor **inputs,
           GPtrArray *zeros,
           IrTensor *term,
           GError **error)
{
  g_autoptr (IrTensor) constant = NULL;

  for (guint i = 0; i < node->n_inputs && i < strlen (word); i++)
    if (node->inputs[i] != NULL && g_ascii_isupper (word[i]))
      inputs[i] = nothing_for (walk, node->inputs[i], zeros);
  constant = term != NULL ? eval (node, inputs, error) : NULL;
  return term != NULL && add_to (term, -1, constant);
}

static Pair *
by_parts (const Walk *walk, const IrNode *node, const char *linear, GError **error)
{
  g_auto (GStrv) words = g_strsplit (linear, " ", -1);
  g_autofree const IrTensor **inputs = g_new0 (const IrTensor *, node->n_inputs + 1);
  g_autoptr (GPtrArray) zeros = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_tensor_unref);
  Pair *pair = g_new0 (Pair, 1);
  gboolean done = TRUE, given = FALSE;

  for (guint i = 0; i < node->n_inputs; i++)
    inputs[i] = node->inputs[i] != NULL ? real_of (walk, node->inputs[i]) : NULL;
  pair->re = eval (node, inputs, error);
  for (guint w = 0; words[w] != NULL && pair->re != NULL && done; w++)
    {
      if (!has_imaginary (walk, node, words[w], TRUE))
        continue;
      fill (walk, node, words[w], FALSE, inputs, zeros);
      for (guint i = (guint) node->op->in.min; given && i < node->n_inputs; i++)
        if (node->inputs[i] != NULL) /* a bias comes once */
          inputs[i] = nothing_for (walk, node->inputs[i], zeros);
      IrTensor *term = eval (node, inputs, error);
      if (adds_something (node))
        done = take_from (walk, node, words[w], inputs, zeros, term, error);
      if (pair->im == NULL)
        pair->im = term;
      else
        {
          done = done && term != NULL && add_to (pair->im, 1, term);
          g_clear_pointer (&term, ir_tensor_unref);
        }
      given = TRUE;
      done = done && pair->im != NULL;
    }
  if (done && pair->im != NULL && words[1] != NULL &&
      fill (walk, node, words[0], TRUE, inputs, zeros))
    {
      IrTensor *term = eval (node, inputs, error); /* of both imaginary parts */
      done = add_to (pair->re, -1, term);
      g_clear_pointer (&term, ir_tensor_unref);
    }
  if (done && pair->im != NULL)
    return pair;
  free_pair (pair);
  return NULL;
}

/* -- the graph -- */

static const char *
linear_of (const IrNode *node)
{
  const IrGradRow *row = ir_grad_row (node->op);

  return row != NULL && row->linear != NULL && strcmp (row->linear, "each") != 0 &&
                 node->n_outputs == 1
             ? row->linear
             : NULL;
}

/**
 * ir_complex_why_not:
 * @node: a node
 *
 * Returns: (nullable): why it has no complex form, as words; %NULL if it has one
 */
const char *
ir_complex_why_not (const IrNode *node)
{
  if (ir_node_function (node) != NULL)
    return "it is a call; the pass inline-functions makes nodes of it";
  if (node->op == NULL)
    return "nothing is known of its operator";
  if (rows[node->op->id].one != NULL || rows[node->op->id].two != NULL || linear_of (node) != NULL)
    return NULL;
  return "it has no complex form";
}

static gboolean
stop_at (const IrNode *node, const char *why, const IrNode **stop, GError **error)
{
  g_autofree char *label = ir_node_label (node);

  if (stop != NULL)
    *stop = node;
  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED,
               "%s stops the complex step: %s; use central differences", label, why);
  return FALSE;
}

static gboolean
visit (Walk *walk, const IrNode *node, const IrNode **stop, GError **error)
{
  const Row *row = node->op != NULL ? &rows[node->op->id] : NULL;
  gboolean moves = FALSE;
  Pair *pair = NULL;

  g_autoptr (GPtrArray) captures = ir_node_captures (node);
  ir_node_for_each_input (node, i, value)
    moves |= pair_of (walk, value) != NULL;
  for (guint i = 0; i < captures->len; i++)
    moves |= pair_of (walk, captures->pdata[i]) != NULL;
  if (!moves ||
      (node->outputs[0] != NULL && ir_value_dtype (node->outputs[0]) != IR_DTYPE_UNDEFINED &&
       !ir_dtype_is_float (ir_value_dtype (node->outputs[0]))))
    return TRUE; /* what is not floating-point does not move */
  if (ir_complex_why_not (node) != NULL)
    return stop_at (node, ir_complex_why_not (node), stop, error);
  ir_node_for_each_input (node, k, value)
    if (real_of (walk, value) == NULL)
      return stop_at (node, "an input of it was not kept", stop, error);
  if (row->one != NULL || row->two != NULL)
    pair = by_elements (walk, node, row);
  else
    {
      const char *linear = linear_of (node);
      if (strchr (linear, ' ') == NULL && has_imaginary (walk, node, linear, FALSE))
        return stop_at (node, "it is not linear in what moves", stop, error);
      pair = by_parts (walk, node, linear, error);
    }
  if (pair == NULL && error != NULL && *error == NULL)
    return stop_at (node, "it is not linear in what moves", stop, error);
  if (pair == NULL)
    return FALSE;
  g_hash_table_insert (walk->pairs, GUINT_TO_POINTER (node->outputs[0]->id), pair);
  return TRUE;
}

/* Nodes that lead to @of */
static GHashTable *
sources_of (const IrValue *of)
{
  GHashTable *nodes = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) waiting = g_ptr_array_new ();

  g_ptr_array_add (waiting, (gpointer) of);
  while (waiting->len > 0)
    {
      const IrValue *value = g_ptr_array_steal_index_fast (waiting, waiting->len - 1);
      if (value->producer == NULL || !g_hash_table_add (nodes, value->producer))
        continue;
      g_autoptr (GPtrArray) captures = ir_node_captures (value->producer);
      ir_node_for_each_input (value->producer, i, input)
        g_ptr_array_add (waiting, input);
      g_ptr_array_extend (waiting, captures, NULL, NULL);
    }
  return nodes;
}

static Pair *
seed (const Walk *walk, const IrValue *value, const double *direction, double h)
{
  Pair *pair = g_new0 (Pair, 1);
  const IrTensor *here = real_of (walk, value);

  pair->re = ir_tensor_ref ((IrTensor *) here);
  pair->im = new_like (here);
  for (guint64 i = 0; i < ir_tensor_n_elements (here); i++)
    ((double *) ir_tensor_data_writable (pair->im))[i] = h * direction[i];
  return pair;
}

/**
 * ir_complex_step:
 * @model: a model in double
 * @real: a run of it, with all values
 * @inputs: value id -> #IrTensor
 * @of: what is derived
 * @value: by what; an input or a parameter
 * @direction: per element of it
 * @h: how far, above 0
 * @slope: (out): the derivative of the sum of @of along it
 * @stop: (out) (optional): which node has no complex form
 * @error: return location for an error
 *
 * Returns: %TRUE if all nodes between have a complex form
 */
gboolean
ir_complex_step (IrModel *model,
                 const IrRun *real,
                 GHashTable *inputs,
                 const IrValue *of,
                 const IrValue *value,
                 const double *direction,
                 double h,
                 double *slope,
                 const IrNode **stop,
                 GError **error)
{
  g_autoptr (GHashTable) pairs = g_hash_table_new_full (NULL, NULL, NULL, free_pair);
  Walk walk = { .real = real, .inputs = inputs, .pairs = pairs };
  g_autoptr (GHashTable) needed = sources_of (of);
  const Pair *pair;
  guint n;
  IrNode *const *order = ir_graph_order (model->main, &n);

  g_hash_table_insert (pairs, GUINT_TO_POINTER (value->id), seed (&walk, value, direction, h));
  for (guint i = 0; i < n; i++)
    if (g_hash_table_contains (needed, order[i]) && !visit (&walk, order[i], stop, error))
      return FALSE;
  pair = pair_of (&walk, of);
  *slope = 0;
  for (guint64 i = 0; pair != NULL && i < ir_tensor_n_elements (pair->im); i++)
    *slope += ir_tensor_get_double (pair->im, i) / h;
  return TRUE;
}
