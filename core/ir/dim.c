/* Symbolic dimensions: an IrDim that is no number is the index of a polynomial in its context, and so is an IrNumber. */
#include "config.h"

#include "core/ir/poly.h"

/* -- dims and polynomials -- */

const IrPoly *
ir_poly_from_dim (IrContext *context, IrDim dim)
{
  guint64 index = (guint64) (-2 - dim);

  if (dim >= 0)
    return ir_poly_constant (context, dim);
  if (dim == IR_DIM_UNKNOWN || index >= context->expr_by_index->len)
    return NULL;
  return context->expr_by_index->pdata[index];
}

IrNumber
ir_poly_to_number (const IrPoly *poly)
{
  gint64 value;

  if (poly == NULL)
    return (IrNumber){ FALSE, 0, IR_DIM_UNKNOWN };
  if (ir_poly_is_constant (poly, &value))
    return ir_number_known (value);
  return (IrNumber){ FALSE, 0, -2 - (IrDim) poly->index };
}

static const IrPoly *
poly_from_number (IrContext *context, IrNumber number)
{
  return number.known ? ir_poly_constant (context, number.value)
                      : ir_poly_from_dim (context, number.expr);
}

typedef const IrPoly *(*PolyFunc) (IrContext *context, const IrPoly *a, const IrPoly *b);

static const IrPoly *
poly_min (IrContext *context, const IrPoly *a, const IrPoly *b)
{
  return ir_poly_extreme (context, IR_ATOM_MIN, a, b);
}

static const IrPoly *
poly_max (IrContext *context, const IrPoly *a, const IrPoly *b)
{
  return ir_poly_extreme (context, IR_ATOM_MAX, a, b);
}

#define SMALL G_GINT64_CONSTANT (0x7fffffff) /* sums and products of these do not overflow */

/* Of numbers no polynomial is made: most dims are known. FALSE: left to @func. */
static gboolean
calculate_known (PolyFunc func, gint64 a, gint64 b, gint64 *result)
{
  if (a < -SMALL || a > SMALL || b < -SMALL || b > SMALL)
    return FALSE;
  if (func == ir_poly_add)
    *result = a + b;
  else if (func == ir_poly_sub)
    *result = a - b;
  else if (func == ir_poly_mul)
    *result = a * b;
  else if (func == ir_poly_floordiv)
    return ir_floordiv (a, b, result);
  else
    return FALSE;
  return TRUE;
}

static IrNumber
calculate (IrContext *context, PolyFunc func, IrNumber a, IrNumber b)
{
  IrNumber result;
  gint64 known;

  if (a.known && b.known && calculate_known (func, a.value, b.value, &known))
    return ir_number_known (known);
  g_rec_mutex_lock (&context->lock);
  result = ir_poly_to_number (
      func (context, poly_from_number (context, a), poly_from_number (context, b)));
  g_rec_mutex_unlock (&context->lock);
  return result;
}

static IrDim
calculate_dim (IrContext *context, PolyFunc func, IrDim a, IrDim b)
{
  if (a == IR_DIM_UNKNOWN || b == IR_DIM_UNKNOWN)
    return IR_DIM_UNKNOWN;
  return ir_number_to_dim (
      calculate (context, func, ir_number_from_dim (a), ir_number_from_dim (b)));
}

/**
 * ir_dim_symbol:
 * @context: where it lives
 * @name: any text; it is not read as an expression
 *
 * Returns: the dim of that name, unknown but equal to itself; %IR_DIM_UNKNOWN if @name is "" or
 *   longer than 2048 bytes
 */
IrDim
ir_dim_symbol (IrContext *context, const char *name)
{
  IrAtom key = { .kind = IR_ATOM_SYMBOL };
  IrNumber number;

  if (name[0] == '\0' || strlen (name) > IR_DIM_MAX_TEXT)
    return IR_DIM_UNKNOWN;
  g_rec_mutex_lock (&context->lock);
  key.text = ir_context_intern (context, name);
  number = ir_poly_to_number (ir_poly_of_atom (context, ir_poly_atom (context, &key)));
  g_rec_mutex_unlock (&context->lock);
  return ir_number_to_dim (number);
}

/**
 * ir_dim_symbol_name:
 * @context: context of @dim
 * @dim: any dim
 *
 * Returns: (nullable): its name if it is a single symbol
 */
const char *
ir_dim_symbol_name (IrContext *context, IrDim dim)
{
  const IrPoly *poly = NULL;
  const IrAtom *atom;

  g_rec_mutex_lock (&context->lock);
  if (ir_dim_is_symbolic (dim))
    poly = ir_poly_from_dim (context, dim);
  g_rec_mutex_unlock (&context->lock);
  atom = poly != NULL ? ir_poly_only_atom (poly) : NULL;
  return atom != NULL && atom->kind == IR_ATOM_SYMBOL ? atom->text : NULL;
}

/**
 * ir_dim_add:
 * @context: context of both
 * @a: a dim
 * @b: a dim
 *
 * Returns: @a + @b; as with all operations %IR_DIM_UNKNOWN if an operand is unknown, the result is
 *   known to be negative, or it overflows
 */
IrDim
ir_dim_add (IrContext *context, IrDim a, IrDim b)
{
  return calculate_dim (context, ir_poly_add, a, b);
}

/**
 * ir_dim_sub:
 * @context: context of both
 * @a: a dim
 * @b: a dim
 *
 * Returns: @a - @b
 */
IrDim
ir_dim_sub (IrContext *context, IrDim a, IrDim b)
{
  return calculate_dim (context, ir_poly_sub, a, b);
}

/**
 * ir_dim_mul:
 * @context: context of both
 * @a: a dim
 * @b: a dim
 *
 * Returns: @a times @b; 0 times an unknown dim is 0
 */
IrDim
ir_dim_mul (IrContext *context, IrDim a, IrDim b)
{
  if (a == 0 || b == 0)
    return 0;
  return calculate_dim (context, ir_poly_mul, a, b);
}

/**
 * ir_dim_floordiv:
 * @context: context of both
 * @a: a dim
 * @b: a dim, taken not to be 0 where it is symbolic
 *
 * Returns: @a / @b rounded down, simplified where that is exact: 4*n / 2 = 2*n, and
 *   floor((floor(n/2) + 1)/2) = floor((n + 2)/4)
 */
IrDim
ir_dim_floordiv (IrContext *context, IrDim a, IrDim b)
{
  return calculate_dim (context, ir_poly_floordiv, a, b);
}

/**
 * ir_dim_ceildiv:
 * @context: context of both
 * @a: a dim
 * @b: a dim, taken not to be 0 where it is symbolic
 *
 * Returns: @a / @b rounded up
 */
IrDim
ir_dim_ceildiv (IrContext *context, IrDim a, IrDim b)
{
  return calculate_dim (context, ir_poly_ceildiv, a, b);
}

/**
 * ir_dim_mod:
 * @context: context of both
 * @a: a dim
 * @b: a dim, taken not to be 0 where it is symbolic
 *
 * Returns: @a - @b * floor (@a / @b)
 */
IrDim
ir_dim_mod (IrContext *context, IrDim a, IrDim b)
{
  return calculate_dim (context, ir_poly_mod, a, b);
}

/**
 * ir_dim_max:
 * @context: context of both
 * @a: a dim
 * @b: a dim
 *
 * Returns: the larger one; decided by bounds where possible
 */
IrDim
ir_dim_max (IrContext *context, IrDim a, IrDim b)
{
  return calculate_dim (context, poly_max, a, b);
}

/**
 * ir_dim_min:
 * @context: context of both
 * @a: a dim
 * @b: a dim
 *
 * Returns: the smaller one; decided by bounds where possible
 */
IrDim
ir_dim_min (IrContext *context, IrDim a, IrDim b)
{
  return calculate_dim (context, poly_min, a, b);
}

/**
 * ir_dim_divides:
 * @context: context of both
 * @a: the dividend
 * @b: the divisor
 * @quotient: (out) (optional): @a / @b
 *
 * Returns: %TRUE if @a is provably a multiple of @b: @a = @b * @quotient
 */
gboolean
ir_dim_divides (IrContext *context, IrDim a, IrDim b, IrDim *quotient)
{
  IrDim result = calculate_dim (context, ir_poly_exact_div, a, b);
  if (quotient != NULL)
    *quotient = result;
  return result != IR_DIM_UNKNOWN;
}

/**
 * ir_dim_bounds:
 * @context: context of @dim
 * @dim: any dim
 * @lower: (out): it is at least this
 * @upper: (out): it is at most this; %G_MAXINT64 if there is no bound
 *
 * Symbols are at least 0; an expression such as n - 1 may be negative. An unknown dim is in
 * [0, G_MAXINT64].
 */
void
ir_dim_bounds (IrContext *context, IrDim dim, gint64 *lower, gint64 *upper)
{
  const IrPoly *poly;

  *lower = MAX (dim, 0);
  *upper = dim >= 0 ? dim : G_MAXINT64;
  if (!ir_dim_is_symbolic (dim))
    return;
  g_rec_mutex_lock (&context->lock);
  poly = ir_poly_from_dim (context, dim);
  if (poly != NULL)
    {
      *lower = poly->lower;
      *upper = poly->upper;
    }
  g_rec_mutex_unlock (&context->lock);
}

/**
 * ir_dim_is_positive:
 * @context: context of @dim
 * @dim: any dim
 *
 * Returns: %TRUE if @dim is at least 1 wherever its symbols are, as n and 2 * n + m are, and n - 1
 *   and n / 2 are not
 */
gboolean
ir_dim_is_positive (IrContext *context, IrDim dim)
{
  gint64 lower = dim, upper;
  const IrPoly *poly;

  if (!ir_dim_is_symbolic (dim))
    return dim > 0;
  g_rec_mutex_lock (&context->lock);
  poly = ir_poly_from_dim (context, dim);
  if (poly != NULL)
    ir_poly_bound (poly, 1, &lower, &upper);
  g_rec_mutex_unlock (&context->lock);
  return lower > 0;
}

/* -- numbers -- */

/**
 * ir_number_known:
 * @value: any integer
 *
 * Returns: that number
 */
IrNumber
ir_number_known (gint64 value)
{
  return (IrNumber){ TRUE, value, IR_DIM_UNKNOWN };
}

/**
 * ir_number_from_dim:
 * @dim: any dim
 *
 * Returns: the same as a number
 */
IrNumber
ir_number_from_dim (IrDim dim)
{
  return dim >= 0 ? ir_number_known (dim) : (IrNumber){ FALSE, 0, dim };
}

/**
 * ir_number_to_dim:
 * @number: any number
 *
 * Returns: the same as a dim; %IR_DIM_UNKNOWN if it is negative
 */
IrDim
ir_number_to_dim (IrNumber number)
{
  if (number.known)
    return number.value >= 0 ? number.value : IR_DIM_UNKNOWN;
  return number.expr;
}

/**
 * ir_number_add:
 * @context: context of both
 * @a: a number
 * @b: a number
 *
 * Returns: @a + @b, which may be negative; unknown on overflow
 */
IrNumber
ir_number_add (IrContext *context, IrNumber a, IrNumber b)
{
  return calculate (context, ir_poly_add, a, b);
}

/**
 * ir_number_sub:
 * @context: context of both
 * @a: a number
 * @b: a number
 *
 * Returns: @a - @b
 */
IrNumber
ir_number_sub (IrContext *context, IrNumber a, IrNumber b)
{
  return calculate (context, ir_poly_sub, a, b);
}

/**
 * ir_number_mul:
 * @context: context of both
 * @a: a number
 * @b: a number
 *
 * Returns: @a times @b
 */
IrNumber
ir_number_mul (IrContext *context, IrNumber a, IrNumber b)
{
  return calculate (context, ir_poly_mul, a, b);
}

/**
 * ir_number_floordiv:
 * @context: context of both
 * @a: a number
 * @b: a number
 *
 * Returns: @a / @b rounded down; unknown if @b is 0
 */
IrNumber
ir_number_floordiv (IrContext *context, IrNumber a, IrNumber b)
{
  return calculate (context, ir_poly_floordiv, a, b);
}

/* -- evaluating -- */

/* A polynomial with numbers for symbols: NULL @bindings entries stay. Bounded by IR_DIM_MAX_TEXT. */
static const IrPoly *
substitute (IrContext *context, const IrPoly *poly, GHashTable *bindings)
{
  const IrPoly *result = ir_poly_constant (context, 0);

  for (guint i = 0; i < poly->n && result != NULL; i++)
    {
      const IrMono *mono = poly->terms[i].mono;
      const IrPoly *product = ir_poly_constant (context, poly->terms[i].factor);
      for (guint j = 0; j < mono->n && product != NULL; j++)
        {
          const IrAtom *atom = mono->atoms[j];
          const gint64 *bound = atom->kind == IR_ATOM_SYMBOL
                                    ? g_hash_table_lookup (bindings, atom->text)
                                    : NULL;
          const IrPoly *a, *b, *value = NULL;

          if (atom->kind == IR_ATOM_SYMBOL)
            value = bound != NULL ? ir_poly_constant (context, *bound)
                                  : ir_poly_of_atom (context, atom);
          else if ((a = substitute (context, atom->a, bindings)) != NULL &&
                   (b = substitute (context, atom->b, bindings)) != NULL)
            value = atom->kind == IR_ATOM_FLOORDIV ? ir_poly_floordiv (context, a, b)
                    : atom->kind == IR_ATOM_MOD    ? ir_poly_mod (context, a, b)
                                                   : ir_poly_extreme (context, atom->kind, a, b);
          product = ir_poly_mul (context, product, value);
        }
      result = ir_poly_add (context, result, product);
    }
  return result;
}

/**
 * ir_dim_substitute:
 * @context: context of @dim
 * @dim: any dim
 * @bindings: (element-type utf8 gint64): numbers for symbols; others stay
 *
 * Returns: @dim with the numbers in place
 */
IrDim
ir_dim_substitute (IrContext *context, IrDim dim, GHashTable *bindings)
{
  const IrPoly *poly;

  if (!ir_dim_is_symbolic (dim))
    return dim;
  g_rec_mutex_lock (&context->lock);
  poly = ir_poly_from_dim (context, dim);
  dim = ir_number_to_dim (
      ir_poly_to_number (poly != NULL ? substitute (context, poly, bindings) : NULL));
  g_rec_mutex_unlock (&context->lock);
  return dim;
}

/**
 * ir_dim_evaluate:
 * @context: context of @dim
 * @dim: any dim
 * @bindings: (element-type utf8 gint64): numbers for symbols
 * @value: (out): the result, which may be negative
 *
 * Returns: %FALSE if a symbol has no number, on overflow and on division by 0
 */
gboolean
ir_dim_evaluate (IrContext *context, IrDim dim, GHashTable *bindings, gint64 *value)
{
  const IrPoly *poly;
  gboolean known;

  *value = MAX (dim, 0);
  if (!ir_dim_is_symbolic (dim))
    return dim >= 0;
  g_rec_mutex_lock (&context->lock);
  poly = ir_poly_from_dim (context, dim);
  poly = poly != NULL ? substitute (context, poly, bindings) : NULL;
  known = poly != NULL && ir_poly_is_constant (poly, value);
  g_rec_mutex_unlock (&context->lock);
  return known;
}
