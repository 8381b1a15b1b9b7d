/* Polynomials in canonical form: terms sorted by degree and then by the texts of their atoms, no zero
 * coefficients; a term is an integer times a product of atoms; an atom is a symbol or an application of
 * floor division, remainder, minimum or maximum to two polynomials. Terms' products, atoms and
 * polynomials are hash-consed, so equality is equality of pointers. The order depends on texts alone:
 * equal inputs print alike, whatever was made before.
 *
 * A symbol is an integer >= 0. A division by an expression assumes that it is not 0, as the shape
 * functions do. Whatever overflows 64 bits or grows beyond the limits is unknown. */
#include "config.h"

#include "core/ir/poly.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TERMS 128

/* Terms under construction, in any order. */
typedef struct
{
  guint n;
  gboolean failed; /* overflow, or too many terms */
  IrTerm terms[MAX_TERMS];
} Sum;

/* -- saturating interval arithmetic -- */

static gboolean
is_infinite (gint64 value)
{
  return value == G_MAXINT64 || value == G_MININT64;
}

static gint64
add_saturating (gint64 a, gint64 b)
{
  gint64 sum;
  return __builtin_add_overflow (a, b, &sum) ? (a < 0 ? G_MININT64 : G_MAXINT64) : sum;
}

static gint64
add_lower (gint64 a, gint64 b)
{
  return a == G_MININT64 || b == G_MININT64 ? G_MININT64 : add_saturating (a, b);
}

static gint64
add_upper (gint64 a, gint64 b)
{
  return a == G_MAXINT64 || b == G_MAXINT64 ? G_MAXINT64 : add_saturating (a, b);
}

static gint64
mul_bound (gint64 a, gint64 b)
{
  gint64 product;

  if (a == 0 || b == 0)
    return 0;
  if (is_infinite (a) || is_infinite (b) || __builtin_mul_overflow (a, b, &product))
    return (a < 0) == (b < 0) ? G_MAXINT64 : G_MININT64;
  return product;
}

static void
mul_range (gint64 *lower, gint64 *upper, gint64 by_lower, gint64 by_upper)
{
  gint64 corners[4] = { mul_bound (*lower, by_lower), mul_bound (*lower, by_upper),
                        mul_bound (*upper, by_lower), mul_bound (*upper, by_upper) };

  *lower = *upper = corners[0];
  for (guint i = 1; i < 4; i++)
    {
      *lower = MIN (*lower, corners[i]);
      *upper = MAX (*upper, corners[i]);
    }
}

gboolean
ir_floordiv (gint64 a, gint64 b, gint64 *quotient)
{
  if (b == 0 || (a == G_MININT64 && b == -1))
    return FALSE;
  *quotient = a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
  return TRUE;
}

static gboolean
mod_int (gint64 a, gint64 b, gint64 *rest)
{
  if (b == 0)
    return FALSE;
  *rest = b == -1 ? 0 : a % b;
  if (*rest != 0 && (*rest < 0) != (b < 0))
    *rest += b;
  return TRUE;
}

static guint64
magnitude (gint64 value)
{
  return value < 0 ? -(guint64) value : (guint64) value;
}

static guint64
gcd (guint64 a, guint64 b)
{
  while (b != 0)
    {
      guint64 rest = a % b;
      a = b;
      b = rest;
    }
  return a;
}

/* -- order -- */

static int
compare_atoms (const IrAtom *a, const IrAtom *b)
{
  if (a == b)
    return 0;
  if (a->kind != b->kind)
    return a->kind < b->kind ? -1 : 1;
  return strcmp (a->text, b->text);
}

/* Higher degree first, then by atoms: a monomial order, so exact division works by leading terms.
 */
static int
compare_monos (const IrMono *a, const IrMono *b)
{
  if (a == b)
    return 0;
  if (a->n != b->n)
    return a->n > b->n ? -1 : 1;
  for (guint i = 0; i < a->n; i++)
    {
      int order = compare_atoms (a->atoms[i], b->atoms[i]);
      if (order != 0)
        return order;
    }
  return 0;
}

static int
compare_terms (const void *a, const void *b)
{
  return compare_monos (((const IrTerm *) a)->mono, ((const IrTerm *) b)->mono);
}

/* -- interning -- */

static gboolean
mono_equal (gconstpointer entry, gconstpointer key)
{
  const IrMono *a = entry, *b = key;
  return a->n == b->n && (a->n == 0 || memcmp (a->atoms, b->atoms, sizeof (IrAtom *) * a->n) == 0);
}

/* @mono: sorted scratch, copied if new. */
static const IrMono *
intern_mono (IrContext *context, const IrMono *mono)
{
  gsize bytes = sizeof (IrMono) + sizeof (IrAtom *) * mono->n;
  guint hash = mono->n;
  IrMono *found;

  for (guint i = 0; i < mono->n; i++)
    hash = ir_hash_mix (hash, (guint64) (guintptr) mono->atoms[i]);
  found = ir_intern_table_find (&context->monos, hash, mono_equal, mono);
  if (found == NULL)
    {
      found = ir_arena_dup (context->arena, mono, bytes);
      ir_intern_table_add (&context->monos, hash, found);
    }
  return found;
}

typedef union
{
  IrMono mono;
  char bytes[sizeof (IrMono) + sizeof (IrAtom *) * IR_POLY_MAX_DEGREE];
} MonoBuffer;

static const IrMono *
mono_of (IrContext *context, const IrAtom *atom)
{
  MonoBuffer buffer;
  buffer.mono.n = atom != NULL;
  if (atom != NULL)
    memcpy (buffer.bytes + sizeof (IrMono), &atom, sizeof atom);
  return intern_mono (context, &buffer.mono);
}

static const IrMono *
mono_mul (IrContext *context, const IrMono *a, const IrMono *b)
{
  MonoBuffer buffer;
  const IrAtom **atoms = (const IrAtom **) (buffer.bytes + sizeof (IrMono));
  guint i = 0, j = 0, n = 0;

  if (a->n == 0)
    return b;
  if (b->n == 0)
    return a;
  if (a->n + b->n > IR_POLY_MAX_DEGREE)
    return NULL;
  while (i < a->n || j < b->n)
    if (j == b->n || (i < a->n && compare_atoms (a->atoms[i], b->atoms[j]) <= 0))
      atoms[n++] = a->atoms[i++];
    else
      atoms[n++] = b->atoms[j++];
  buffer.mono.n = n;
  return intern_mono (context, &buffer.mono);
}

/* The other factor, or NULL if @by is none of @mono. */
static const IrMono *
mono_div (IrContext *context, const IrMono *mono, const IrMono *by)
{
  MonoBuffer buffer;
  const IrAtom **atoms = (const IrAtom **) (buffer.bytes + sizeof (IrMono));
  guint j = 0, n = 0;

  for (guint i = 0; i < mono->n; i++)
    if (j < by->n && mono->atoms[i] == by->atoms[j])
      j++;
    else
      atoms[n++] = mono->atoms[i];
  if (j < by->n)
    return NULL;
  buffer.mono.n = n;
  return intern_mono (context, &buffer.mono);
}

static gboolean
poly_equal (gconstpointer entry, gconstpointer key)
{
  const IrPoly *a = entry;
  const Sum *b = key;

  if (a->n != b->n)
    return FALSE;
  for (guint i = 0; i < a->n; i++)
    if (a->terms[i].factor != b->terms[i].factor || a->terms[i].mono != b->terms[i].mono)
      return FALSE;
  return TRUE;
}

/* What the terms add up to where symbols are at least @least; the rest is bounded as it is. */
void
ir_poly_bound (const IrPoly *poly, gint64 least, gint64 *lower, gint64 *upper)
{
  *lower = *upper = 0;
  for (guint i = 0; i < poly->n; i++)
    {
      const IrMono *mono = poly->terms[i].mono;
      gint64 from = poly->terms[i].factor, to = from;
      for (guint j = 0; j < mono->n; j++)
        mul_range (&from, &to,
                   mono->atoms[j]->kind == IR_ATOM_SYMBOL ? MAX (mono->atoms[j]->lower, least)
                                                          : mono->atoms[j]->lower,
                   mono->atoms[j]->upper);
      *lower = add_lower (*lower, from);
      *upper = add_upper (*upper, to);
    }
}

static void
measure_poly (IrPoly *poly)
{
  for (guint i = 0; i < poly->n; i++)
    for (guint j = 0; j < poly->terms[i].mono->n; j++)
      poly->depth = MAX (poly->depth, poly->terms[i].mono->atoms[j]->depth);
  ir_poly_bound (poly, 0, &poly->lower, &poly->upper);
}

/* Sorts and adds up; NULL if the sum has failed. */
static const IrPoly *
intern_sum (IrContext *context, Sum *sum)
{
  guint n = 0, hash = 7;
  IrPoly *found;

  if (sum->failed)
    return NULL;
  qsort (sum->terms, sum->n, sizeof (IrTerm), compare_terms);
  for (guint i = 0; i < sum->n; i++)
    if (n > 0 && sum->terms[n - 1].mono == sum->terms[i].mono)
      {
        if (__builtin_add_overflow (sum->terms[n - 1].factor, sum->terms[i].factor,
                                    &sum->terms[n - 1].factor))
          return NULL;
      }
    else
      {
        if (n > 0 && sum->terms[n - 1].factor == 0)
          n--;
        sum->terms[n++] = sum->terms[i];
      }
  if (n > 0 && sum->terms[n - 1].factor == 0)
    n--;
  sum->n = n;
  for (guint i = 0; i < n; i++)
    hash = ir_hash_mix (ir_hash_mix (hash, (guint64) (guintptr) sum->terms[i].mono),
                        (guint64) sum->terms[i].factor);
  found = ir_intern_table_find (&context->exprs, hash, poly_equal, sum);
  if (found == NULL)
    {
      found = ir_arena_alloc (context->arena, sizeof (IrPoly) + sizeof (IrTerm) * n);
      found->index = context->expr_by_index->len;
      found->n = n;
      if (n > 0)
        memcpy (found->terms, sum->terms, sizeof (IrTerm) * n);
      measure_poly (found);
      g_ptr_array_add (context->expr_by_index, found);
      ir_intern_table_add (&context->exprs, hash, found);
    }
  return found;
}

static void
sum_add (Sum *sum, gint64 factor, const IrMono *mono)
{
  if (mono == NULL || sum->n == MAX_TERMS)
    sum->failed = TRUE;
  else if (factor != 0)
    sum->terms[sum->n++] = (IrTerm){ factor, mono };
}

const IrPoly *
ir_poly_constant (IrContext *context, gint64 value)
{
  Sum sum = { .n = 0 };
  sum_add (&sum, value, mono_of (context, NULL));
  return intern_sum (context, &sum);
}

const IrPoly *
ir_poly_of_atom (IrContext *context, const IrAtom *atom)
{
  Sum sum = { .n = 0 };
  if (atom == NULL)
    return NULL;
  sum_add (&sum, 1, mono_of (context, atom));
  return intern_sum (context, &sum);
}

gboolean
ir_poly_is_constant (const IrPoly *poly, gint64 *value)
{
  *value = poly->n == 1 ? poly->terms[0].factor : 0;
  return poly->n == 0 || (poly->n == 1 && poly->terms[0].mono->n == 0);
}

const IrAtom *
ir_poly_only_atom (const IrPoly *poly)
{
  return poly->n == 1 && poly->terms[0].factor == 1 && poly->terms[0].mono->n == 1
             ? poly->terms[0].mono->atoms[0]
             : NULL;
}

/* -- atoms -- */

static gboolean
atom_equal (gconstpointer entry, gconstpointer key)
{
  const IrAtom *a = entry, *b = key;
  return a->kind == b->kind && a->a == b->a && a->b == b->b &&
         (a->kind != IR_ATOM_SYMBOL || a->text == b->text);
}

static void
measure_floordiv (IrAtom *atom)
{
  const IrPoly *a = atom->a, *b = atom->b;

  if (b->lower < 1)
    return;
  /* Dividing by more moves towards 0 (or -1), so the extremes are at the corners. */
  if (a->lower != G_MININT64)
    ir_floordiv (a->lower, a->lower < 0 ? b->lower : b->upper, &atom->lower);
  if (a->upper != G_MAXINT64)
    ir_floordiv (a->upper, a->upper < 0 ? b->upper : b->lower, &atom->upper);
  if (a->lower >= 0)
    atom->lower = MAX (atom->lower, 0);
}

static void
measure_atom (IrAtom *atom)
{
  const IrPoly *a = atom->a, *b = atom->b;

  atom->lower = G_MININT64;
  atom->upper = G_MAXINT64;
  switch (atom->kind)
    {
    case IR_ATOM_SYMBOL:
      atom->lower = 0;
      return;
    case IR_ATOM_FLOORDIV:
      measure_floordiv (atom);
      break;
    case IR_ATOM_MOD:
      /* A divisor that may be 0 is not: see the top of the file. */
      if (b->lower >= 0)
        {
          atom->lower = 0;
          atom->upper = b->upper == G_MAXINT64 ? G_MAXINT64 : MAX (b->upper - 1, 0);
          if (a->lower >= 0)
            atom->upper = MIN (atom->upper, a->upper);
        }
      break;
    case IR_ATOM_MIN:
      atom->lower = MIN (a->lower, b->lower);
      atom->upper = MIN (a->upper, b->upper);
      break;
    case IR_ATOM_MAX:
      atom->lower = MAX (a->lower, b->lower);
      atom->upper = MAX (a->upper, b->upper);
      break;
    default:
      break;
    }
  atom->depth = 1 + MAX (a->depth, b->depth);
}

static void
append_divided (GString *text, const IrPoly *poly)
{
  gboolean bare = poly->n == 0 || (poly->n == 1 && poly->terms[0].factor > 0);
  if (!bare)
    g_string_append_c (text, '(');
  ir_poly_append (text, poly);
  if (!bare)
    g_string_append_c (text, ')');
}

static const char *
atom_text (IrContext *context, const IrAtom *atom)
{
  static const char *const names[] = { "", "floor", "mod", "min", "max" };
  g_autoptr (GString) text = g_string_new (names[atom->kind]);
  const IrPoly *b = atom->b;
  gint64 number;
  /* A divisor that is a product needs parentheses: n/(a*b). */
  gboolean bare = ir_poly_is_constant (b, &number) ? number >= 0 : ir_poly_only_atom (b) != NULL;

  g_string_append_c (text, '(');
  if (atom->kind == IR_ATOM_FLOORDIV)
    {
      append_divided (text, atom->a);
      g_string_append (text, bare ? "/" : "/(");
      ir_poly_append (text, b);
      if (!bare)
        g_string_append_c (text, ')');
    }
  else
    {
      ir_poly_append (text, atom->a);
      g_string_append (text, ", ");
      ir_poly_append (text, b);
    }
  g_string_append_c (text, ')');
  return text->len <= IR_DIM_MAX_TEXT ? ir_context_intern (context, text->str) : NULL;
}

const IrAtom *
ir_poly_atom (IrContext *context, const IrAtom *key)
{
  guint hash = (guint) key->kind;
  IrAtom *found;
  IrAtom atom = *key;

  hash = ir_hash_mix (
      hash,
      (guint64) (guintptr) (key->kind == IR_ATOM_SYMBOL ? (gconstpointer) key->text : key->a));
  hash = ir_hash_mix (hash, (guint64) (guintptr) key->b);
  found = ir_intern_table_find (&context->atoms, hash, atom_equal, key);
  if (found != NULL)
    return found;
  measure_atom (&atom);
  if (atom.kind != IR_ATOM_SYMBOL)
    atom.text = atom_text (context, &atom);
  if (atom.text == NULL || atom.depth > IR_DIM_MAX_DEPTH)
    return NULL;
  found = ir_arena_dup (context->arena, &atom, sizeof atom);
  ir_intern_table_add (&context->atoms, hash, found);
  return found;
}

static const IrPoly *
apply (IrContext *context, IrAtomKind kind, const IrPoly *a, const IrPoly *b)
{
  IrAtom key = { .kind = kind, .a = a, .b = b };
  return ir_poly_of_atom (context, ir_poly_atom (context, &key));
}

/* -- arithmetic; a NULL operand or result is unknown -- */

const IrPoly *
ir_poly_combine (IrContext *context, const IrPoly *a, const IrPoly *b, gint64 factor)
{
  Sum sum = { .n = 0 };
  gint64 product;

  if (a == NULL || b == NULL)
    return NULL;
  for (guint i = 0; i < a->n; i++)
    sum_add (&sum, a->terms[i].factor, a->terms[i].mono);
  for (guint i = 0; i < b->n; i++)
    {
      if (__builtin_mul_overflow (b->terms[i].factor, factor, &product))
        return NULL;
      sum_add (&sum, product, b->terms[i].mono);
    }
  return intern_sum (context, &sum);
}

const IrPoly *
ir_poly_add (IrContext *context, const IrPoly *a, const IrPoly *b)
{
  return ir_poly_combine (context, a, b, 1);
}

const IrPoly *
ir_poly_sub (IrContext *context, const IrPoly *a, const IrPoly *b)
{
  return ir_poly_combine (context, a, b, -1);
}

const IrPoly *
ir_poly_mul (IrContext *context, const IrPoly *a, const IrPoly *b)
{
  Sum sum = { .n = 0 };
  gint64 product;

  if (a == NULL || b == NULL || (gsize) a->n * b->n > MAX_TERMS)
    return NULL;
  for (guint i = 0; i < a->n; i++)
    for (guint j = 0; j < b->n; j++)
      {
        if (__builtin_mul_overflow (a->terms[i].factor, b->terms[j].factor, &product))
          return NULL;
        sum_add (&sum, product, mono_mul (context, a->terms[i].mono, b->terms[j].mono));
      }
  return intern_sum (context, &sum);
}

/* a / b as a polynomial if b * quotient = a, else NULL. Long division by leading terms. */
const IrPoly *
ir_poly_exact_div (IrContext *context, const IrPoly *a, const IrPoly *b)
{
  Sum quotient = { .n = 0 };

  if (a == NULL || b == NULL || b->n == 0)
    return NULL;
  for (guint round = 0; a->n > 0; round++)
    {
      const IrMono *mono = mono_div (context, a->terms[0].mono, b->terms[0].mono);
      Sum step = { .n = 0 };
      gint64 factor, rest;

      if (round == MAX_TERMS || mono == NULL ||
          !ir_floordiv (a->terms[0].factor, b->terms[0].factor, &factor) ||
          !mod_int (a->terms[0].factor, b->terms[0].factor, &rest) || rest != 0)
        return NULL;
      sum_add (&quotient, factor, mono);
      sum_add (&step, factor, mono);
      a = ir_poly_sub (context, a, ir_poly_mul (context, b, intern_sum (context, &step)));
      if (a == NULL)
        return NULL;
    }
  return intern_sum (context, &quotient);
}

/* a = by * quotient + rest, with all of rest's factors in [0, by); by > 0. */
static gboolean
split_by (
    IrContext *context, const IrPoly *a, gint64 by, const IrPoly **quotient, const IrPoly **rest)
{
  Sum whole = { .n = 0 }, part = { .n = 0 };

  for (guint i = 0; i < a->n; i++)
    {
      gint64 q = 0, r = 0;
      ir_floordiv (a->terms[i].factor, by, &q);
      mod_int (a->terms[i].factor, by, &r);
      sum_add (&whole, q, a->terms[i].mono);
      sum_add (&part, r, a->terms[i].mono);
    }
  *quotient = intern_sum (context, &whole);
  *rest = intern_sum (context, &part);
  return *quotient != NULL && *rest != NULL;
}

/* The greatest number that divides @by and all factors of @a but the constant's. */
static guint64
common_factor (const IrPoly *a, guint64 by)
{
  for (guint i = 0; i < a->n; i++)
    if (a->terms[i].mono->n > 0)
      by = gcd (by, magnitude (a->terms[i].factor));
  return by;
}

/* floor (r / by) where no whole part can be taken out; by > 1. */
static const IrPoly *
floordiv_rest (IrContext *context, const IrPoly *rest, gint64 by)
{
  guint64 common;
  const IrPoly *quotient, *ignored;
  const IrAtom *inner = rest->n > 0 && rest->terms[0].mono->n == 1 && rest->terms[0].factor == 1
                            ? rest->terms[0].mono->atoms[0]
                            : NULL;
  gint64 constant = 0, inner_by, product;

  if (rest->lower >= 0 && rest->upper < by)
    return ir_poly_constant (context, 0);
  common = common_factor (rest, (guint64) by);
  if (common > 1)
    {
      /* floor (x / (c m)) = floor (floor (x / c) / m); the inner one rounds the constant only. */
      if (!split_by (context, rest, (gint64) common, &quotient, &ignored))
        return NULL;
      return ir_poly_floordiv (context, quotient, ir_poly_constant (context, by / (gint64) common));
    }
  if (rest->n == 2 && rest->terms[1].mono->n == 0)
    constant = rest->terms[1].factor;
  if (inner != NULL && inner->kind == IR_ATOM_FLOORDIV && (rest->n == 1 || constant != 0) &&
      rest->n <= 2 && ir_poly_is_constant (inner->b, &inner_by) && inner_by > 0 &&
      !__builtin_mul_overflow (inner_by, by, &product) &&
      !__builtin_mul_overflow (inner_by, constant, &constant))
    {
      /* floor ((floor (x / p) + c) / q) = floor ((x + p c) / (p q)): strides in a row. */
      const IrPoly *moved = ir_poly_add (context, inner->a, ir_poly_constant (context, constant));
      if (moved != NULL)
        return ir_poly_floordiv (context, moved, ir_poly_constant (context, product));
    }
  return apply (context, IR_ATOM_FLOORDIV, rest, ir_poly_constant (context, by));
}

const IrPoly *
ir_poly_floordiv (IrContext *context, const IrPoly *a, const IrPoly *b)
{
  gint64 by, number, result;
  const IrPoly *quotient, *rest;

  if (a == NULL || b == NULL || b->n == 0)
    return NULL;
  if (!ir_poly_is_constant (b, &by))
    {
      quotient = ir_poly_exact_div (context, a, b);
      if (quotient != NULL)
        return quotient;
      if (a->lower >= 0 && b->lower > 0 && a->upper < b->lower)
        return ir_poly_constant (context, 0);
      return apply (context, IR_ATOM_FLOORDIV, a, b);
    }
  if (ir_poly_is_constant (a, &number))
    return ir_floordiv (number, by, &result) ? ir_poly_constant (context, result) : NULL;
  if (by < 0)
    {
      if (by == G_MININT64)
        return NULL;
      a = ir_poly_sub (context, ir_poly_constant (context, 0), a);
      return ir_poly_floordiv (context, a, ir_poly_constant (context, -by));
    }
  if (by == 1)
    return a;
  if (!split_by (context, a, by, &quotient, &rest))
    return NULL;
  if (ir_poly_is_constant (rest, &number))
    return quotient; /* 0 <= rest < by */
  return ir_poly_add (context, quotient, floordiv_rest (context, rest, by));
}

const IrPoly *
ir_poly_ceildiv (IrContext *context, const IrPoly *a, const IrPoly *b)
{
  const IrPoly *zero = ir_poly_constant (context, 0), *quotient;

  if (a == NULL || b == NULL)
    return NULL;
  quotient = ir_poly_exact_div (context, a, b);
  if (quotient != NULL)
    return quotient;
  if (b->lower >= 0) /* the form that people write */
    return ir_poly_floordiv (
        context, ir_poly_sub (context, ir_poly_add (context, a, b), ir_poly_constant (context, 1)),
        b);
  return ir_poly_sub (context, zero, ir_poly_floordiv (context, ir_poly_sub (context, zero, a), b));
}

const IrPoly *
ir_poly_mod (IrContext *context, const IrPoly *a, const IrPoly *b)
{
  gint64 by, number, result;
  guint64 common;
  const IrPoly *quotient, *rest;

  if (a == NULL || b == NULL || b->n == 0)
    return NULL;
  if (!ir_poly_is_constant (b, &by))
    {
      if (ir_poly_exact_div (context, a, b) != NULL)
        return ir_poly_constant (context, 0);
      return apply (context, IR_ATOM_MOD, a, b);
    }
  if (ir_poly_is_constant (a, &number))
    return mod_int (number, by, &result) ? ir_poly_constant (context, result) : NULL;
  if (by < 0)
    return apply (context, IR_ATOM_MOD, a, b);
  if (!split_by (context, a, by, &quotient, &rest))
    return NULL;
  if (rest->lower >= 0 && rest->upper < by)
    return rest;
  common = common_factor (rest, (guint64) by);
  if (rest->terms[rest->n - 1].mono->n == 0)
    common = gcd (common, magnitude (rest->terms[rest->n - 1].factor));
  if (common > 1 && split_by (context, rest, (gint64) common, &quotient, &rest))
    {
      const IrPoly *factor = ir_poly_constant (context, (gint64) common);
      return ir_poly_mul (
          context, factor,
          ir_poly_mod (context, quotient, ir_poly_constant (context, by / (gint64) common)));
    }
  return apply (context, IR_ATOM_MOD, rest, b);
}

/* Whether max (a, b) with @kind IR_ATOM_MAX has @part among its operands, at any level. */
static gboolean
extreme_contains (const IrPoly *poly, IrAtomKind kind, const IrPoly *part)
{
  const IrAtom *atom = ir_poly_only_atom (poly);
  if (poly == part)
    return TRUE;
  return atom != NULL && atom->kind == kind &&
         (extreme_contains (atom->a, kind, part) || extreme_contains (atom->b, kind, part));
}

static int
compare_polys (const IrPoly *a, const IrPoly *b)
{
  for (guint i = 0; i < MIN (a->n, b->n); i++)
    {
      int order = compare_monos (a->terms[i].mono, b->terms[i].mono);
      if (order != 0)
        return order;
      if (a->terms[i].factor != b->terms[i].factor)
        return a->terms[i].factor < b->terms[i].factor ? -1 : 1;
    }
  return (a->n < b->n) - (a->n > b->n);
}

const IrPoly *
ir_poly_extreme (IrContext *context, IrAtomKind kind, const IrPoly *a, const IrPoly *b)
{
  const IrPoly *difference;
  gboolean largest = kind == IR_ATOM_MAX;

  if (a == NULL || b == NULL)
    return NULL;
  /* max (a, min (a, c)) = a, and the other way round. */
  if (extreme_contains (b, largest ? IR_ATOM_MIN : IR_ATOM_MAX, a))
    return a;
  if (extreme_contains (a, largest ? IR_ATOM_MIN : IR_ATOM_MAX, b))
    return b;
  if (extreme_contains (a, kind, b))
    return a;
  if (extreme_contains (b, kind, a))
    return b;
  if (a->lower >= b->upper && !is_infinite (a->lower))
    return largest ? a : b;
  if (b->lower >= a->upper && !is_infinite (b->lower))
    return largest ? b : a;
  difference = ir_poly_sub (context, a, b);
  if (difference != NULL && difference->lower >= 0)
    return largest ? a : b;
  if (difference != NULL && difference->upper <= 0)
    return largest ? b : a;
  return compare_polys (a, b) <= 0 ? apply (context, kind, a, b) : apply (context, kind, b, a);
}

/* -- text -- */

static gboolean
is_name_start (char c)
{
  return g_ascii_isalpha (c) || c == '_' || (guchar) c >= 0x80;
}

/* Length of the name at @text. Dots and colons are part of it, and so is a hyphen right between
 * letters: exporters write "batch-size", and differences are printed with spaces. */
gsize
ir_dim_name_length (const char *text)
{
  gsize n = 0;

  if (!is_name_start (text[0]))
    return 0;
  while (is_name_start (text[n]) || g_ascii_isdigit (text[n]) || text[n] == '.' || text[n] == ':' ||
         text[n] == '$' || text[n] == '#' || text[n] == '@' ||
         (text[n] == '-' && is_name_start (text[n + 1])))
    n++;
  return n;
}

static void
append_symbol (GString *text, const char *name)
{
  gboolean plain = ir_dim_name_length (name) == strlen (name);
  g_string_append_printf (text, plain ? "%s" : "'%s'", name);
}

static void
append_mono (GString *text, const IrMono *mono)
{
  for (guint i = 0; i < mono->n; i++)
    {
      if (i > 0)
        g_string_append_c (text, '*');
      if (mono->atoms[i]->kind == IR_ATOM_SYMBOL)
        append_symbol (text, mono->atoms[i]->text);
      else
        g_string_append (text, mono->atoms[i]->text);
    }
}

void
ir_poly_append (GString *text, const IrPoly *poly)
{
  if (poly->n == 0)
    g_string_append_c (text, '0');
  for (guint i = 0; i < poly->n; i++)
    {
      const IrTerm *term = &poly->terms[i];
      if (i > 0)
        g_string_append (text, term->factor < 0 ? " - " : " + ");
      else if (term->factor < 0)
        g_string_append_c (text, '-');
      if (term->mono->n == 0 || magnitude (term->factor) != 1)
        g_string_append_printf (text, "%" G_GUINT64_FORMAT "%s", magnitude (term->factor),
                                term->mono->n > 0 ? "*" : "");
      append_mono (text, term->mono);
    }
}
