/* Inside of this folder: polynomials in canonical form, what symbolic dimensions are made of. All with the lock of the
 * context held; a NULL operand or result is unknown. */
#pragma once

#include "core/ir/context-private.h"
#include "core/ir/dim.h"

#define IR_POLY_MAX_DEGREE 16
#define IR_DIM_MAX_DEPTH   48   /* of atoms in atoms, and of parentheses in a text */
#define IR_DIM_MAX_TEXT    2048 /* bytes of an atom's text; bounds every walk over an expression */

typedef enum
{
  IR_ATOM_SYMBOL,
  IR_ATOM_FLOORDIV,
  IR_ATOM_MOD,
  IR_ATOM_MIN,
  IR_ATOM_MAX
} IrAtomKind;

typedef struct _IrPoly IrPoly;

typedef struct
{
  IrAtomKind kind;
  const char *text; /* interned; of symbols the name */
  const IrPoly *a, *b;
  gint64 lower, upper;
  guint depth;
} IrAtom;

/* A product of atoms, sorted; n = 0 is 1. */
typedef struct
{
  guint n;
  const IrAtom *atoms[];
} IrMono;

typedef struct
{
  gint64 factor;
  const IrMono *mono;
} IrTerm;

struct _IrPoly
{
  guint index; /* into expr_by_index */
  guint n;
  guint depth;
  gint64 lower, upper; /* G_MININT64 and G_MAXINT64 stand for the infinities */
  IrTerm terms[];
};

/* Rounds down; FALSE by 0, and where it overflows. */
gboolean ir_floordiv (gint64 a, gint64 b, gint64 *quotient);
/* What the terms add up to where symbols are at least @least; the rest is bounded as it is. */
void ir_poly_bound (const IrPoly *poly, gint64 least, gint64 *lower, gint64 *upper);
const IrPoly *ir_poly_constant (IrContext *context, gint64 value);
const IrPoly *ir_poly_of_atom (IrContext *context, const IrAtom *atom);
gboolean ir_poly_is_constant (const IrPoly *poly, gint64 *value);
/* (nullable) if it is nothing else */
const IrAtom *ir_poly_only_atom (const IrPoly *poly);
/* (nullable) NULL: its text or its depth is beyond the limits */
const IrAtom *ir_poly_atom (IrContext *context, const IrAtom *key);
const IrPoly *ir_poly_add (IrContext *context, const IrPoly *a, const IrPoly *b);
const IrPoly *ir_poly_sub (IrContext *context, const IrPoly *a, const IrPoly *b);
const IrPoly *ir_poly_mul (IrContext *context, const IrPoly *a, const IrPoly *b);
/* NULL: @b does not divide it */
const IrPoly *ir_poly_exact_div (IrContext *context, const IrPoly *a, const IrPoly *b);
const IrPoly *ir_poly_floordiv (IrContext *context, const IrPoly *a, const IrPoly *b);
const IrPoly *ir_poly_ceildiv (IrContext *context, const IrPoly *a, const IrPoly *b);
const IrPoly *ir_poly_mod (IrContext *context, const IrPoly *a, const IrPoly *b);
const IrPoly *ir_poly_extreme (IrContext *context,
                               IrAtomKind kind,
                               const IrPoly *a,
                               const IrPoly *b);
/* a + factor b */
const IrPoly *ir_poly_combine (IrContext *context, const IrPoly *a, const IrPoly *b, gint64 factor);
/* Its text, as the parser reads it. */
void ir_poly_append (GString *text, const IrPoly *poly);
/* Bytes of the name of a symbol at @text; 0: there is none. */
gsize ir_dim_name_length (const char *text);
const IrPoly *ir_poly_from_dim (IrContext *context, IrDim dim);
IrNumber ir_poly_to_number (const IrPoly *poly);
