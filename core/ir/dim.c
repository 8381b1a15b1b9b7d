/* Symbolic dimensions. An expression is a polynomial in canonical form: terms sorted by degree and
 * then by the texts of their atoms, no zero coefficients; a term is an integer times a product of
 * atoms; an atom is a symbol or an application of floor division, remainder, minimum or maximum to
 * two polynomials. Terms' products, atoms and polynomials are hash-consed, so equality is equality
 * of pointers, and an IrDim is the index of a polynomial. The order depends on texts alone: equal
 * inputs print alike, whatever was made before.
 *
 * A symbol is an integer >= 0. A division by an expression assumes that it is not 0, as the shape
 * functions do. Whatever overflows 64 bits or grows beyond the limits below is IR_DIM_UNKNOWN. */
#include "config.h"

#include "core/ir/context-private.h"
#include "core/ir/scanner.h"
#include "core/ir/dim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TERMS  128
#define MAX_DEGREE 16
#define MAX_DEPTH  48   /* of atoms in atoms, and of parentheses in a text */
#define MAX_TEXT   2048 /* bytes of an atom's text; bounds every walk over an expression */

typedef enum
{
  ATOM_SYMBOL,
  ATOM_FLOORDIV,
  ATOM_MOD,
  ATOM_MIN,
  ATOM_MAX
} AtomKind;

typedef struct _Poly Poly;

typedef struct
{
  AtomKind kind;
  const char *text; /* interned; of symbols the name */
  const Poly *a, *b;
  gint64 lower, upper;
  guint depth;
} Atom;

/* A product of atoms, sorted; n = 0 is 1. */
typedef struct
{
  guint n;
  const Atom *atoms[];
} Mono;

typedef struct
{
  gint64 factor;
  const Mono *mono;
} Term;

struct _Poly
{
  guint index; /* into expr_by_index */
  guint n;
  guint depth;
  gint64 lower, upper; /* G_MININT64 and G_MAXINT64 stand for the infinities */
  Term terms[];
};

/* Terms under construction, in any order. */
typedef struct
{
  guint n;
  gboolean failed; /* overflow, or too many terms */
  Term terms[MAX_TERMS];
} Sum;

static const Poly *poly_floordiv (IrContext *context, const Poly *a, const Poly *b);
static const Poly *poly_mod (IrContext *context, const Poly *a, const Poly *b);
static const Poly *poly_extreme (IrContext *context, AtomKind kind, const Poly *a, const Poly *b);
static void append_poly (GString *text, const Poly *poly);

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

static gboolean
floordiv_int (gint64 a, gint64 b, gint64 *quotient)
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
compare_atoms (const Atom *a, const Atom *b)
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
compare_monos (const Mono *a, const Mono *b)
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
  return compare_monos (((const Term *) a)->mono, ((const Term *) b)->mono);
}

/* -- interning -- */

static gboolean
mono_equal (gconstpointer entry, gconstpointer key)
{
  const Mono *a = entry, *b = key;
  return a->n == b->n && (a->n == 0 || memcmp (a->atoms, b->atoms, sizeof (Atom *) * a->n) == 0);
}

/* @mono: sorted scratch, copied if new. */
static const Mono *
intern_mono (IrContext *context, const Mono *mono)
{
  gsize bytes = sizeof (Mono) + sizeof (Atom *) * mono->n;
  guint hash = mono->n;
  Mono *found;

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
  Mono mono;
  char bytes[sizeof (Mono) + sizeof (Atom *) * MAX_DEGREE];
} MonoBuffer;

static const Mono *
mono_of (IrContext *context, const Atom *atom)
{
  MonoBuffer buffer;
  buffer.mono.n = atom != NULL;
  if (atom != NULL)
    memcpy (buffer.bytes + sizeof (Mono), &atom, sizeof atom);
  return intern_mono (context, &buffer.mono);
}

static const Mono *
mono_mul (IrContext *context, const Mono *a, const Mono *b)
{
  MonoBuffer buffer;
  const Atom **atoms = (const Atom **) (buffer.bytes + sizeof (Mono));
  guint i = 0, j = 0, n = 0;

  if (a->n == 0)
    return b;
  if (b->n == 0)
    return a;
  if (a->n + b->n > MAX_DEGREE)
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
static const Mono *
mono_div (IrContext *context, const Mono *mono, const Mono *by)
{
  MonoBuffer buffer;
  const Atom **atoms = (const Atom **) (buffer.bytes + sizeof (Mono));
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
  const Poly *a = entry;
  const Sum *b = key;

  if (a->n != b->n)
    return FALSE;
  for (guint i = 0; i < a->n; i++)
    if (a->terms[i].factor != b->terms[i].factor || a->terms[i].mono != b->terms[i].mono)
      return FALSE;
  return TRUE;
}

/* What the terms add up to where symbols are at least @least; the rest is bounded as it is. */
static void
bound_terms (const Poly *poly, gint64 least, gint64 *lower, gint64 *upper)
{
  *lower = *upper = 0;
  for (guint i = 0; i < poly->n; i++)
    {
      const Mono *mono = poly->terms[i].mono;
      gint64 from = poly->terms[i].factor, to = from;
      for (guint j = 0; j < mono->n; j++)
        mul_range (&from, &to,
                   mono->atoms[j]->kind == ATOM_SYMBOL ? MAX (mono->atoms[j]->lower, least)
                                                       : mono->atoms[j]->lower,
                   mono->atoms[j]->upper);
      *lower = add_lower (*lower, from);
      *upper = add_upper (*upper, to);
    }
}

static void
measure_poly (Poly *poly)
{
  for (guint i = 0; i < poly->n; i++)
    for (guint j = 0; j < poly->terms[i].mono->n; j++)
      poly->depth = MAX (poly->depth, poly->terms[i].mono->atoms[j]->depth);
  bound_terms (poly, 0, &poly->lower, &poly->upper);
}

/* Sorts and adds up; NULL if the sum has failed. */
static const Poly *
intern_sum (IrContext *context, Sum *sum)
{
  guint n = 0, hash = 7;
  Poly *found;

  if (sum->failed)
    return NULL;
  qsort (sum->terms, sum->n, sizeof (Term), compare_terms);
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
      found = ir_arena_alloc (context->arena, sizeof (Poly) + sizeof (Term) * n);
      found->index = context->expr_by_index->len;
      found->n = n;
      if (n > 0)
        memcpy (found->terms, sum->terms, sizeof (Term) * n);
      measure_poly (found);
      g_ptr_array_add (context->expr_by_index, found);
      ir_intern_table_add (&context->exprs, hash, found);
    }
  return found;
}

static void
sum_add (Sum *sum, gint64 factor, const Mono *mono)
{
  if (mono == NULL || sum->n == MAX_TERMS)
    sum->failed = TRUE;
  else if (factor != 0)
    sum->terms[sum->n++] = (Term){ factor, mono };
}

static const Poly *
poly_constant (IrContext *context, gint64 value)
{
  Sum sum = { .n = 0 };
  sum_add (&sum, value, mono_of (context, NULL));
  return intern_sum (context, &sum);
}

static const Poly *
poly_of_atom (IrContext *context, const Atom *atom)
{
  Sum sum = { .n = 0 };
  if (atom == NULL)
    return NULL;
  sum_add (&sum, 1, mono_of (context, atom));
  return intern_sum (context, &sum);
}

static gboolean
poly_is_constant (const Poly *poly, gint64 *value)
{
  *value = poly->n == 1 ? poly->terms[0].factor : 0;
  return poly->n == 0 || (poly->n == 1 && poly->terms[0].mono->n == 0);
}

static const Atom *
poly_only_atom (const Poly *poly)
{
  return poly->n == 1 && poly->terms[0].factor == 1 && poly->terms[0].mono->n == 1
             ? poly->terms[0].mono->atoms[0]
             : NULL;
}

/* -- atoms -- */

static gboolean
atom_equal (gconstpointer entry, gconstpointer key)
{
  const Atom *a = entry, *b = key;
  return a->kind == b->kind && a->a == b->a && a->b == b->b &&
         (a->kind != ATOM_SYMBOL || a->text == b->text);
}

static void
measure_floordiv (Atom *atom)
{
  const Poly *a = atom->a, *b = atom->b;

  if (b->lower < 1)
    return;
  /* Dividing by more moves towards 0 (or -1), so the extremes are at the corners. */
  if (a->lower != G_MININT64)
    floordiv_int (a->lower, a->lower < 0 ? b->lower : b->upper, &atom->lower);
  if (a->upper != G_MAXINT64)
    floordiv_int (a->upper, a->upper < 0 ? b->upper : b->lower, &atom->upper);
  if (a->lower >= 0)
    atom->lower = MAX (atom->lower, 0);
}

static void
measure_atom (Atom *atom)
{
  const Poly *a = atom->a, *b = atom->b;

  atom->lower = G_MININT64;
  atom->upper = G_MAXINT64;
  switch (atom->kind)
    {
    case ATOM_SYMBOL:
      atom->lower = 0;
      return;
    case ATOM_FLOORDIV:
      measure_floordiv (atom);
      break;
    case ATOM_MOD:
      /* A divisor that may be 0 is not: see the top of the file. */
      if (b->lower >= 0)
        {
          atom->lower = 0;
          atom->upper = b->upper == G_MAXINT64 ? G_MAXINT64 : MAX (b->upper - 1, 0);
          if (a->lower >= 0)
            atom->upper = MIN (atom->upper, a->upper);
        }
      break;
    case ATOM_MIN:
      atom->lower = MIN (a->lower, b->lower);
      atom->upper = MIN (a->upper, b->upper);
      break;
    case ATOM_MAX:
      atom->lower = MAX (a->lower, b->lower);
      atom->upper = MAX (a->upper, b->upper);
      break;
    default:
      break;
    }
  atom->depth = 1 + MAX (a->depth, b->depth);
}

static void
append_divided (GString *text, const Poly *poly)
{
  gboolean bare = poly->n == 0 || (poly->n == 1 && poly->terms[0].factor > 0);
  if (!bare)
    g_string_append_c (text, '(');
  append_poly (text, poly);
  if (!bare)
    g_string_append_c (text, ')');
}

static const char *
atom_text (IrContext *context, const Atom *atom)
{
  static const char *const names[] = { "", "floor", "mod", "min", "max" };
  g_autoptr (GString) text = g_string_new (names[atom->kind]);
  const Poly *b = atom->b;
  gint64 number;
  /* A divisor that is a product needs parentheses: n/(a*b). */
  gboolean bare = poly_is_constant (b, &number) ? number >= 0 : poly_only_atom (b) != NULL;

  g_string_append_c (text, '(');
  if (atom->kind == ATOM_FLOORDIV)
    {
      append_divided (text, atom->a);
      g_string_append (text, bare ? "/" : "/(");
      append_poly (text, b);
      if (!bare)
        g_string_append_c (text, ')');
    }
  else
    {
      append_poly (text, atom->a);
      g_string_append (text, ", ");
      append_poly (text, b);
    }
  g_string_append_c (text, ')');
  return text->len <= MAX_TEXT ? ir_context_intern (context, text->str) : NULL;
}

static const Atom *
intern_atom (IrContext *context, const Atom *key)
{
  guint hash = (guint) key->kind;
  Atom *found;
  Atom atom = *key;

  hash = ir_hash_mix (
      hash, (guint64) (guintptr) (key->kind == ATOM_SYMBOL ? (gconstpointer) key->text : key->a));
  hash = ir_hash_mix (hash, (guint64) (guintptr) key->b);
  found = ir_intern_table_find (&context->atoms, hash, atom_equal, key);
  if (found != NULL)
    return found;
  measure_atom (&atom);
  if (atom.kind != ATOM_SYMBOL)
    atom.text = atom_text (context, &atom);
  if (atom.text == NULL || atom.depth > MAX_DEPTH)
    return NULL;
  found = ir_arena_dup (context->arena, &atom, sizeof atom);
  ir_intern_table_add (&context->atoms, hash, found);
  return found;
}

static const Poly *
apply (IrContext *context, AtomKind kind, const Poly *a, const Poly *b)
{
  Atom key = { .kind = kind, .a = a, .b = b };
  return poly_of_atom (context, intern_atom (context, &key));
}

/* -- arithmetic; a NULL operand or result is unknown -- */

static const Poly *
poly_combine (IrContext *context, const Poly *a, const Poly *b, gint64 factor)
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

static const Poly *
poly_add (IrContext *context, const Poly *a, const Poly *b)
{
  return poly_combine (context, a, b, 1);
}

static const Poly *
poly_sub (IrContext *context, const Poly *a, const Poly *b)
{
  return poly_combine (context, a, b, -1);
}

static const Poly *
poly_mul (IrContext *context, const Poly *a, const Poly *b)
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
static const Poly *
poly_exact_div (IrContext *context, const Poly *a, const Poly *b)
{
  Sum quotient = { .n = 0 };

  if (a == NULL || b == NULL || b->n == 0)
    return NULL;
  for (guint round = 0; a->n > 0; round++)
    {
      const Mono *mono = mono_div (context, a->terms[0].mono, b->terms[0].mono);
      Sum step = { .n = 0 };
      gint64 factor, rest;

      if (round == MAX_TERMS || mono == NULL ||
          !floordiv_int (a->terms[0].factor, b->terms[0].factor, &factor) ||
          !mod_int (a->terms[0].factor, b->terms[0].factor, &rest) || rest != 0)
        return NULL;
      sum_add (&quotient, factor, mono);
      sum_add (&step, factor, mono);
      a = poly_sub (context, a, poly_mul (context, b, intern_sum (context, &step)));
      if (a == NULL)
        return NULL;
    }
  return intern_sum (context, &quotient);
}

/* a = by * quotient + rest, with all of rest's factors in [0, by); by > 0. */
static gboolean
split_by (IrContext *context, const Poly *a, gint64 by, const Poly **quotient, const Poly **rest)
{
  Sum whole = { .n = 0 }, part = { .n = 0 };

  for (guint i = 0; i < a->n; i++)
    {
      gint64 q = 0, r = 0;
      floordiv_int (a->terms[i].factor, by, &q);
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
common_factor (const Poly *a, guint64 by)
{
  for (guint i = 0; i < a->n; i++)
    if (a->terms[i].mono->n > 0)
      by = gcd (by, magnitude (a->terms[i].factor));
  return by;
}

/* floor (r / by) where no whole part can be taken out; by > 1. */
static const Poly *
floordiv_rest (IrContext *context, const Poly *rest, gint64 by)
{
  guint64 common;
  const Poly *quotient, *ignored;
  const Atom *inner = rest->n > 0 && rest->terms[0].mono->n == 1 && rest->terms[0].factor == 1
                          ? rest->terms[0].mono->atoms[0]
                          : NULL;
  gint64 constant = 0, inner_by, product;

  if (rest->lower >= 0 && rest->upper < by)
    return poly_constant (context, 0);
  common = common_factor (rest, (guint64) by);
  if (common > 1)
    {
      /* floor (x / (c m)) = floor (floor (x / c) / m); the inner one rounds the constant only. */
      if (!split_by (context, rest, (gint64) common, &quotient, &ignored))
        return NULL;
      return poly_floordiv (context, quotient, poly_constant (context, by / (gint64) common));
    }
  if (rest->n == 2 && rest->terms[1].mono->n == 0)
    constant = rest->terms[1].factor;
  if (inner != NULL && inner->kind == ATOM_FLOORDIV && (rest->n == 1 || constant != 0) &&
      rest->n <= 2 && poly_is_constant (inner->b, &inner_by) && inner_by > 0 &&
      !__builtin_mul_overflow (inner_by, by, &product) &&
      !__builtin_mul_overflow (inner_by, constant, &constant))
    {
      /* floor ((floor (x / p) + c) / q) = floor ((x + p c) / (p q)): strides in a row. */
      const Poly *moved = poly_add (context, inner->a, poly_constant (context, constant));
      if (moved != NULL)
        return poly_floordiv (context, moved, poly_constant (context, product));
    }
  return apply (context, ATOM_FLOORDIV, rest, poly_constant (context, by));
}

static const Poly *
poly_floordiv (IrContext *context, const Poly *a, const Poly *b)
{
  gint64 by, number, result;
  const Poly *quotient, *rest;

  if (a == NULL || b == NULL || b->n == 0)
    return NULL;
  if (!poly_is_constant (b, &by))
    {
      quotient = poly_exact_div (context, a, b);
      if (quotient != NULL)
        return quotient;
      if (a->lower >= 0 && b->lower > 0 && a->upper < b->lower)
        return poly_constant (context, 0);
      return apply (context, ATOM_FLOORDIV, a, b);
    }
  if (poly_is_constant (a, &number))
    return floordiv_int (number, by, &result) ? poly_constant (context, result) : NULL;
  if (by < 0)
    {
      if (by == G_MININT64)
        return NULL;
      a = poly_sub (context, poly_constant (context, 0), a);
      return poly_floordiv (context, a, poly_constant (context, -by));
    }
  if (by == 1)
    return a;
  if (!split_by (context, a, by, &quotient, &rest))
    return NULL;
  if (poly_is_constant (rest, &number))
    return quotient; /* 0 <= rest < by */
  return poly_add (context, quotient, floordiv_rest (context, rest, by));
}

static const Poly *
poly_ceildiv (IrContext *context, const Poly *a, const Poly *b)
{
  const Poly *zero = poly_constant (context, 0), *quotient;

  if (a == NULL || b == NULL)
    return NULL;
  quotient = poly_exact_div (context, a, b);
  if (quotient != NULL)
    return quotient;
  if (b->lower >= 0) /* the form that people write */
    return poly_floordiv (
        context, poly_sub (context, poly_add (context, a, b), poly_constant (context, 1)), b);
  return poly_sub (context, zero, poly_floordiv (context, poly_sub (context, zero, a), b));
}

static const Poly *
poly_mod (IrContext *context, const Poly *a, const Poly *b)
{
  gint64 by, number, result;
  guint64 common;
  const Poly *quotient, *rest;

  if (a == NULL || b == NULL || b->n == 0)
    return NULL;
  if (!poly_is_constant (b, &by))
    {
      if (poly_exact_div (context, a, b) != NULL)
        return poly_constant (context, 0);
      return apply (context, ATOM_MOD, a, b);
    }
  if (poly_is_constant (a, &number))
    return mod_int (number, by, &result) ? poly_constant (context, result) : NULL;
  if (by < 0)
    return apply (context, ATOM_MOD, a, b);
  if (!split_by (context, a, by, &quotient, &rest))
    return NULL;
  if (rest->lower >= 0 && rest->upper < by)
    return rest;
  common = common_factor (rest, (guint64) by);
  if (rest->terms[rest->n - 1].mono->n == 0)
    common = gcd (common, magnitude (rest->terms[rest->n - 1].factor));
  if (common > 1 && split_by (context, rest, (gint64) common, &quotient, &rest))
    {
      const Poly *factor = poly_constant (context, (gint64) common);
      return poly_mul (context, factor,
                       poly_mod (context, quotient, poly_constant (context, by / (gint64) common)));
    }
  return apply (context, ATOM_MOD, rest, b);
}

/* Whether max (a, b) with @kind ATOM_MAX has @part among its operands, at any level. */
static gboolean
extreme_contains (const Poly *poly, AtomKind kind, const Poly *part)
{
  const Atom *atom = poly_only_atom (poly);
  if (poly == part)
    return TRUE;
  return atom != NULL && atom->kind == kind &&
         (extreme_contains (atom->a, kind, part) || extreme_contains (atom->b, kind, part));
}

static int
compare_polys (const Poly *a, const Poly *b)
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

static const Poly *
poly_extreme (IrContext *context, AtomKind kind, const Poly *a, const Poly *b)
{
  const Poly *difference;
  gboolean largest = kind == ATOM_MAX;

  if (a == NULL || b == NULL)
    return NULL;
  /* max (a, min (a, c)) = a, and the other way round. */
  if (extreme_contains (b, largest ? ATOM_MIN : ATOM_MAX, a))
    return a;
  if (extreme_contains (a, largest ? ATOM_MIN : ATOM_MAX, b))
    return b;
  if (extreme_contains (a, kind, b))
    return a;
  if (extreme_contains (b, kind, a))
    return b;
  if (a->lower >= b->upper && !is_infinite (a->lower))
    return largest ? a : b;
  if (b->lower >= a->upper && !is_infinite (b->lower))
    return largest ? b : a;
  difference = poly_sub (context, a, b);
  if (difference != NULL && difference->lower >= 0)
    return largest ? a : b;
  if (difference != NULL && difference->upper <= 0)
    return largest ? b : a;
  return compare_polys (a, b) <= 0 ? apply (context, kind, a, b) : apply (context, kind, b, a);
}

/* -- dims and polynomials -- */

static const Poly *
poly_from_dim (IrContext *context, IrDim dim)
{
  guint64 index = (guint64) (-2 - dim);

  if (dim >= 0)
    return poly_constant (context, dim);
  if (dim == IR_DIM_UNKNOWN || index >= context->expr_by_index->len)
    return NULL;
  return context->expr_by_index->pdata[index];
}

static IrNumber
number_from_poly (const Poly *poly)
{
  gint64 value;

  if (poly == NULL)
    return (IrNumber){ FALSE, 0, IR_DIM_UNKNOWN };
  if (poly_is_constant (poly, &value))
    return ir_number_known (value);
  return (IrNumber){ FALSE, 0, -2 - (IrDim) poly->index };
}

static const Poly *
poly_from_number (IrContext *context, IrNumber number)
{
  return number.known ? poly_constant (context, number.value)
                      : poly_from_dim (context, number.expr);
}

typedef const Poly *(*PolyFunc) (IrContext *context, const Poly *a, const Poly *b);

static const Poly *
poly_min (IrContext *context, const Poly *a, const Poly *b)
{
  return poly_extreme (context, ATOM_MIN, a, b);
}

static const Poly *
poly_max (IrContext *context, const Poly *a, const Poly *b)
{
  return poly_extreme (context, ATOM_MAX, a, b);
}

#define SMALL G_GINT64_CONSTANT (0x7fffffff) /* sums and products of these do not overflow */

/* Of numbers no polynomial is made: most dims are known. FALSE: left to @func. */
static gboolean
calculate_known (PolyFunc func, gint64 a, gint64 b, gint64 *result)
{
  if (a < -SMALL || a > SMALL || b < -SMALL || b > SMALL)
    return FALSE;
  if (func == poly_add)
    *result = a + b;
  else if (func == poly_sub)
    *result = a - b;
  else if (func == poly_mul)
    *result = a * b;
  else if (func == poly_floordiv)
    return floordiv_int (a, b, result);
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
  result = number_from_poly (
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
  Atom key = { .kind = ATOM_SYMBOL };
  IrNumber number;

  if (name[0] == '\0' || strlen (name) > MAX_TEXT)
    return IR_DIM_UNKNOWN;
  g_rec_mutex_lock (&context->lock);
  key.text = ir_context_intern (context, name);
  number = number_from_poly (poly_of_atom (context, intern_atom (context, &key)));
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
  const Poly *poly = NULL;
  const Atom *atom;

  g_rec_mutex_lock (&context->lock);
  if (ir_dim_is_symbolic (dim))
    poly = poly_from_dim (context, dim);
  g_rec_mutex_unlock (&context->lock);
  atom = poly != NULL ? poly_only_atom (poly) : NULL;
  return atom != NULL && atom->kind == ATOM_SYMBOL ? atom->text : NULL;
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
  return calculate_dim (context, poly_add, a, b);
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
  return calculate_dim (context, poly_sub, a, b);
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
  return calculate_dim (context, poly_mul, a, b);
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
  return calculate_dim (context, poly_floordiv, a, b);
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
  return calculate_dim (context, poly_ceildiv, a, b);
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
  return calculate_dim (context, poly_mod, a, b);
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
  IrDim result = calculate_dim (context, poly_exact_div, a, b);
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
  const Poly *poly;

  *lower = MAX (dim, 0);
  *upper = dim >= 0 ? dim : G_MAXINT64;
  if (!ir_dim_is_symbolic (dim))
    return;
  g_rec_mutex_lock (&context->lock);
  poly = poly_from_dim (context, dim);
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
  const Poly *poly;

  if (!ir_dim_is_symbolic (dim))
    return dim > 0;
  g_rec_mutex_lock (&context->lock);
  poly = poly_from_dim (context, dim);
  if (poly != NULL)
    bound_terms (poly, 1, &lower, &upper);
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
  return calculate (context, poly_add, a, b);
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
  return calculate (context, poly_sub, a, b);
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
  return calculate (context, poly_mul, a, b);
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
  return calculate (context, poly_floordiv, a, b);
}

/* -- evaluating -- */

/* A polynomial with numbers for symbols: NULL @bindings entries stay. Bounded by MAX_TEXT. */
static const Poly *
substitute (IrContext *context, const Poly *poly, GHashTable *bindings)
{
  const Poly *result = poly_constant (context, 0);

  for (guint i = 0; i < poly->n && result != NULL; i++)
    {
      const Mono *mono = poly->terms[i].mono;
      const Poly *product = poly_constant (context, poly->terms[i].factor);
      for (guint j = 0; j < mono->n && product != NULL; j++)
        {
          const Atom *atom = mono->atoms[j];
          const gint64 *bound = atom->kind == ATOM_SYMBOL
                                    ? g_hash_table_lookup (bindings, atom->text)
                                    : NULL;
          const Poly *a, *b, *value = NULL;

          if (atom->kind == ATOM_SYMBOL)
            value = bound != NULL ? poly_constant (context, *bound) : poly_of_atom (context, atom);
          else if ((a = substitute (context, atom->a, bindings)) != NULL &&
                   (b = substitute (context, atom->b, bindings)) != NULL)
            value = atom->kind == ATOM_FLOORDIV ? poly_floordiv (context, a, b)
                    : atom->kind == ATOM_MOD    ? poly_mod (context, a, b)
                                                : poly_extreme (context, atom->kind, a, b);
          product = poly_mul (context, product, value);
        }
      result = poly_add (context, result, product);
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
  const Poly *poly;

  if (!ir_dim_is_symbolic (dim))
    return dim;
  g_rec_mutex_lock (&context->lock);
  poly = poly_from_dim (context, dim);
  dim = ir_number_to_dim (
      number_from_poly (poly != NULL ? substitute (context, poly, bindings) : NULL));
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
  const Poly *poly;
  gboolean known;

  *value = MAX (dim, 0);
  if (!ir_dim_is_symbolic (dim))
    return dim >= 0;
  g_rec_mutex_lock (&context->lock);
  poly = poly_from_dim (context, dim);
  poly = poly != NULL ? substitute (context, poly, bindings) : NULL;
  known = poly != NULL && poly_is_constant (poly, value);
  g_rec_mutex_unlock (&context->lock);
  return known;
}

/* -- text -- */

static gboolean
is_name_start (char c)
{
  return g_ascii_isalpha (c) || c == '_' || (guchar) c >= 0x80;
}

/* Length of the name at @text. Dots and colons are part of it, and so is a hyphen right between
 * letters: exporters write "batch-size", and differences are printed with spaces. */
static gsize
name_length (const char *text)
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
  gboolean plain = name_length (name) == strlen (name);
  g_string_append_printf (text, plain ? "%s" : "'%s'", name);
}

static void
append_mono (GString *text, const Mono *mono)
{
  for (guint i = 0; i < mono->n; i++)
    {
      if (i > 0)
        g_string_append_c (text, '*');
      if (mono->atoms[i]->kind == ATOM_SYMBOL)
        append_symbol (text, mono->atoms[i]->text);
      else
        g_string_append (text, mono->atoms[i]->text);
    }
}

static void
append_poly (GString *text, const Poly *poly)
{
  if (poly->n == 0)
    g_string_append_c (text, '0');
  for (guint i = 0; i < poly->n; i++)
    {
      const Term *term = &poly->terms[i];
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

/**
 * ir_dim_to_string:
 * @context: context of @dim
 * @dim: any dim
 *
 * Returns: (transfer full): "?", "3", a symbol's own name, or an expression that ir_dim_parse()
 *   reads back: "2*n + 1", "batch*seq", "floor(n/2)", "max(n, 1)"
 */
char *
ir_dim_to_string (IrContext *context, IrDim dim)
{
  const char *name = ir_dim_symbol_name (context, dim);
  g_autoptr (GString) text = g_string_new (name);
  const Poly *poly;

  if (name != NULL)
    return g_strdup (name);
  if (dim >= 0)
    return g_strdup_printf ("%" G_GINT64_FORMAT, dim);
  g_rec_mutex_lock (&context->lock);
  poly = poly_from_dim (context, dim);
  if (poly != NULL)
    append_poly (text, poly);
  else
    g_string_append_c (text, '?');
  g_rec_mutex_unlock (&context->lock);
  return g_strdup (text->str);
}

/* A value while parsing is a fraction, so that floor(n/2 + 1/2) means what it says. */
typedef struct
{
  const Poly *above, *below; /* above NULL: not an expression */
} Fraction;

typedef struct
{
  IrContext *context;
  const char *at;
  guint depth;
} Parser;

static Fraction parse_sum (Parser *parser);

static Fraction
whole (Parser *parser, const Poly *poly)
{
  return (Fraction){ poly, poly_constant (parser->context, 1) };
}

static const Poly *
to_poly (Parser *parser, Fraction value)
{
  return poly_exact_div (parser->context, value.above, value.below);
}

static Fraction
add_fractions (Parser *parser, Fraction a, Fraction b, gint64 sign)
{
  IrContext *context = parser->context;

  if (a.above == NULL || b.above == NULL)
    return (Fraction){ NULL, NULL };
  if (a.below == b.below)
    return (Fraction){ poly_combine (context, a.above, b.above, sign), a.below };
  return (Fraction){ poly_combine (context, poly_mul (context, a.above, b.below),
                                   poly_mul (context, b.above, a.below), sign),
                     poly_mul (context, a.below, b.below) };
}

static Fraction
mul_fractions (Parser *parser, Fraction a, Fraction b)
{
  return (Fraction){ poly_mul (parser->context, a.above, b.above),
                     poly_mul (parser->context, a.below, b.below) };
}

static Fraction
div_fractions (Parser *parser, Fraction a, Fraction b)
{
  if (b.above == NULL || b.above->n == 0)
    return (Fraction){ NULL, NULL };
  return (Fraction){ poly_mul (parser->context, a.above, b.below),
                     poly_mul (parser->context, a.below, b.above) };
}

static const Poly *
floor_fraction (Parser *parser, Fraction value)
{
  return poly_floordiv (parser->context, value.above, value.below);
}

/* Arguments of a function, up to the closing parenthesis. */
static Fraction
parse_call (Parser *parser, const char *name)
{
  IrContext *context = parser->context;
  gboolean is_min = g_ascii_strcasecmp (name, "min") == 0;
  gboolean is_max = g_ascii_strcasecmp (name, "max") == 0;
  Fraction first = parse_sum (parser);
  const Poly *result = NULL;

  if (strcmp (name, "floor") == 0)
    result = floor_fraction (parser, first);
  else if (strcmp (name, "ceil") == 0 || strcmp (name, "ceiling") == 0)
    result = first.above != NULL ? poly_ceildiv (context, first.above, first.below) : NULL;
  else if (g_ascii_strcasecmp (name, "mod") == 0 && ir_accept (&parser->at, ","))
    result = poly_mod (context, to_poly (parser, first), to_poly (parser, parse_sum (parser)));
  else if (is_min || is_max)
    {
      result = to_poly (parser, first);
      while (result != NULL && ir_accept (&parser->at, ","))
        result = poly_extreme (context, is_min ? ATOM_MIN : ATOM_MAX, result,
                               to_poly (parser, parse_sum (parser)));
    }
  return whole (parser, result != NULL && ir_accept (&parser->at, ")") ? result : NULL);
}

static Fraction
parse_symbol (Parser *parser, const char *name, gsize length)
{
  Atom key = { .kind = ATOM_SYMBOL };
  key.text = ir_context_intern_len (parser->context, name, (gssize) length);
  return whole (parser, poly_of_atom (parser->context, intern_atom (parser->context, &key)));
}

static Fraction
parse_number (Parser *parser)
{
  char *end;
  guint64 value;

  errno = 0;
  value = g_ascii_strtoull (parser->at, &end, 10);
  if (errno != 0 || value > (guint64) G_MAXINT64 || is_name_start (*end) || *end == '.')
    return whole (parser, NULL);
  parser->at = end;
  return whole (parser, poly_constant (parser->context, (gint64) value));
}

static Fraction
parse_primary (Parser *parser)
{
  gsize length;
  const char *start, *end;
  Fraction value = { NULL, NULL };

  ir_skip_space (&parser->at);
  start = parser->at;
  if (g_ascii_isdigit (*start))
    return parse_number (parser);
  if (*start == '\'' && (end = strchr (start + 1, '\'')) != NULL && end > start + 1)
    {
      parser->at = end + 1;
      return parse_symbol (parser, start + 1, (gsize) (end - start - 1));
    }
  if (ir_accept (&parser->at, "("))
    {
      value = parse_sum (parser);
      return ir_accept (&parser->at, ")") ? value : (Fraction){ NULL, NULL };
    }
  length = name_length (start);
  if (length == 0)
    return value;
  parser->at += length;
  if (*parser->at == '(')
    {
      g_autofree char *name = g_strndup (start, length);
      parser->at++;
      return parse_call (parser, name);
    }
  return parse_symbol (parser, start, length);
}

static Fraction
parse_power (Parser *parser)
{
  Fraction base = parse_primary (parser), result;
  guint64 exponent;
  char *end;

  if (base.above == NULL || !(ir_accept (&parser->at, "**") || ir_accept (&parser->at, "^")))
    return base;
  ir_skip_space (&parser->at);
  exponent = g_ascii_strtoull (parser->at, &end, 10);
  if (!g_ascii_isdigit (*parser->at) || exponent > MAX_DEGREE)
    return (Fraction){ NULL, NULL };
  parser->at = end;
  result = whole (parser, poly_constant (parser->context, 1));
  for (guint64 i = 0; i < exponent; i++)
    result = mul_fractions (parser, result, base);
  return result;
}

static Fraction
parse_unary (Parser *parser)
{
  gboolean negative = FALSE;

  for (guint i = 0; i < MAX_DEPTH; i++)
    if (ir_accept (&parser->at, "-"))
      negative = !negative;
    else
      break;
  if (!negative)
    return parse_power (parser);
  return mul_fractions (parser, whole (parser, poly_constant (parser->context, -1)),
                        parse_power (parser));
}

static Fraction
parse_product (Parser *parser)
{
  Fraction value = parse_unary (parser), by;
  IrContext *context = parser->context;

  while (value.above != NULL && value.below != NULL)
    if (ir_accept (&parser->at, "//"))
      {
        by = parse_unary (parser);
        value = whole (parser, floor_fraction (parser, div_fractions (parser, value, by)));
      }
    else if (ir_accept (&parser->at, "/"))
      value = div_fractions (parser, value, parse_unary (parser));
    else if (ir_accept (&parser->at, "%"))
      value = whole (parser, poly_mod (context, to_poly (parser, value),
                                       to_poly (parser, parse_unary (parser))));
    else if (ir_accept (&parser->at, "*"))
      value = mul_fractions (parser, value, parse_unary (parser));
    else
      return value;
  return (Fraction){ NULL, NULL };
}

static Fraction
parse_sum (Parser *parser)
{
  Fraction value = { NULL, NULL };

  if (++parser->depth > MAX_DEPTH)
    return value;
  value = parse_product (parser);
  while (value.above != NULL)
    if (ir_accept (&parser->at, "+"))
      value = add_fractions (parser, value, parse_product (parser), 1);
    else if (ir_accept (&parser->at, "-"))
      value = add_fractions (parser, value, parse_product (parser), -1);
    else
      break;
  parser->depth--;
  return value;
}

/**
 * ir_dim_parse:
 * @context: where it lives
 * @text: a dim as ir_dim_to_string() prints it, or any text (dim_param of a file)
 *
 * Knows numbers, names, 'quoted names', + - * / // % ** parentheses, floor, ceil, mod, min and max.
 * A text that is no expression in whole numbers is the name of a symbol, kept as it is.
 *
 * Returns: the dim; %IR_DIM_UNKNOWN for "" and "?"
 */
IrDim
ir_dim_parse (IrContext *context, const char *text)
{
  Parser parser = { context, text, 0 };
  const Poly *poly = NULL;
  IrNumber number;

  if (text[0] == '\0' || strcmp (text, "?") == 0)
    return IR_DIM_UNKNOWN;
  if (name_length (text) == strlen (text) || strlen (text) > MAX_TEXT)
    return ir_dim_symbol (context, text);
  g_rec_mutex_lock (&context->lock);
  {
    Fraction value = parse_sum (&parser);
    ir_skip_space (&parser.at);
    if (value.above != NULL && value.below != NULL && *parser.at == '\0')
      poly = to_poly (&parser, value);
  }
  number = number_from_poly (poly);
  g_rec_mutex_unlock (&context->lock);
  if (poly == NULL || (number.known && number.value < 0))
    return ir_dim_symbol (context, text);
  return ir_number_to_dim (number);
}
