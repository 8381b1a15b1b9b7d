/* Sizes that the graph itself fixes. Inference says what nodes need of dims; each equation with one
 * unknown is solved, the others with their symbols of default 1, such as a batch, taken as that. A
 * solution is found by bisection over the value of the expressions, which is right for products and
 * sums of sizes and for what strides and pools make of them; it is only taken if the equation holds. */
#include "config.h"

#include "core/exec/run/sizes.h"

#include "core/op/infer.h"

#include <string.h>

#define MAX_DIMS      64 /* one bit each */
#define MAX_EQUATIONS 4096
#define MAX_CONFLICTS 16
#define MAX_SIZE      ((gint64) 1 << 31)

typedef guint64 DimSet;

typedef struct
{
  IrDimEquation is;
  DimSet dims;
  gboolean tried;
} Equation;

typedef struct
{
  IrModel *model;
  GArray *dims;       /* of IrFreeDim */
  GArray *equations;  /* of Equation */
  GHashTable *values; /* name -> gint64 *, borrowed: the sizes so far */
  DimSet known;       /* asked for, or found */
} Solver;

static IrFreeDim *
dim_at (const Solver *s, guint i)
{
  return &g_array_index (s->dims, IrFreeDim, i);
}

static guint
n_dims (const Solver *s)
{
  return MIN (s->dims->len, MAX_DIMS);
}

static guint
count (DimSet set)
{
  return (guint) __builtin_popcountll (set);
}

static gboolean
evaluate (const Solver *s, const Equation *equation, gint64 *a, gint64 *b)
{
  return ir_dim_evaluate (s->model->context, equation->is.a, s->values, a) &&
         ir_dim_evaluate (s->model->context, equation->is.b, s->values, b);
}

static gboolean
holds (const Solver *s, const Equation *equation)
{
  gint64 a, b;

  return evaluate (s, equation, &a, &b) && (a == b || (equation->is.or_one && (a == 1 || b == 1)));
}

/* -- equations -- */

/* Those that @equation is about: it has no value without them. */
static DimSet
dims_of (Solver *s, const Equation *equation)
{
  DimSet found = 0;
  gint64 a, b;

  for (guint i = 0; i < n_dims (s); i++)
    {
      g_hash_table_remove (s->values, dim_at (s, i)->name);
      if (!evaluate (s, equation, &a, &b))
        found |= (DimSet) 1 << i;
      g_hash_table_insert (s->values, dim_at (s, i)->name, &dim_at (s, i)->size);
    }
  return found;
}

static void
collect (Solver *s)
{
  g_autoptr (GArray) all = ir_infer_equations (s->model);
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < all->len && s->equations->len < MAX_EQUATIONS; i++)
    {
      Equation equation = { .is = g_array_index (all, IrDimEquation, i) };
      char *key = g_strdup_printf ("%" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %d", equation.is.a,
                                   equation.is.b, equation.is.or_one);
      gint64 a, b;

      /* Others are of sizes that only a run knows. */
      if (!g_hash_table_add (seen, key) || !evaluate (s, &equation, &a, &b))
        continue;
      equation.dims = dims_of (s, &equation);
      if (equation.dims != 0)
        g_array_append_val (s->equations, equation);
    }
}

static gint64
gcd (gint64 a, gint64 b)
{
  while (b != 0)
    {
      gint64 rest = a % b;

      a = b;
      b = rest;
    }
  return a;
}

/* "b*s = 16" for 1024*b*s = 16384. */
static char *
equation_text (const Solver *s, const Equation *equation)
{
  IrContext *context = s->model->context;
  gboolean swap = ir_dim_is_known (equation->is.a);
  IrDim left = swap ? equation->is.b : equation->is.a,
        right = swap ? equation->is.a : equation->is.b, quotient;
  gint64 value;

  if (ir_dim_is_known (right) && right > 0)
    {
      const gint64 ones = 1;
      g_autoptr (GHashTable) table = g_hash_table_new (g_str_hash, g_str_equal);

      for (guint i = 0; i < s->dims->len; i++)
        g_hash_table_insert (table, dim_at (s, i)->name, (gpointer) &ones);
      value = ir_dim_evaluate (context, left, table, &value) && value > 0 ? gcd (right, value) : 1;
      if (value > 1 && ir_dim_divides (context, left, value, &quotient))
        {
          left = quotient;
          right /= value;
        }
    }
  g_autofree char *a = ir_dim_to_string (context, left), *b = ir_dim_to_string (context, right);
  return g_strdup_printf ("%s = %s", a, b);
}

/* -- one equation -- */

static void
set_all (Solver *s, DimSet set, gint64 size)
{
  for (guint i = 0; i < n_dims (s); i++)
    if (set >> i & 1)
      dim_at (s, i)->size = size;
}

/* The sign of a - b with all of @set being @size; FALSE: too large to tell. */
static gboolean
sign_at (Solver *s, const Equation *equation, DimSet set, gint64 size, int *sign)
{
  gint64 a, b;

  set_all (s, set, size);
  if (!evaluate (s, equation, &a, &b))
    return FALSE;
  *sign = (a > b) - (a < b);
  return TRUE;
}

/* The least size in [low, high] where @equation's sign times @rise is at least @least. */
static gint64
least_with (
    Solver *s, const Equation *equation, DimSet set, gint64 low, gint64 high, int rise, int least)
{
  while (low < high)
    {
      gint64 middle = low + (high - low) / 2;
      int sign;

      if (!sign_at (s, equation, set, middle, &sign) || sign * rise >= least)
        high = middle;
      else
        low = middle + 1;
    }
  return low;
}

/* Where a range of sizes does, as behind strides, that with most factors of two: networks halve. */
static gint64
roundest (gint64 low, gint64 high)
{
  gint64 step = 1;

  while (step <= high / 2 && high / (2 * step) * (2 * step) >= low)
    step *= 2;
  return high / step * step;
}

/* One size for all of @set that makes @equation hold, left there; if there is none, all is as before. */
static gboolean
solve (Solver *s, const Equation *equation, DimSet set)
{
  gint64 before[MAX_DIMS], low, high;
  int first, last = 0;

  for (guint i = 0; i < n_dims (s); i++)
    before[i] = dim_at (s, i)->size;
  if (!equation->is.or_one && count (set) == 1 && holds (s, equation))
    return TRUE;
  if (sign_at (s, equation, set, 1, &first))
    {
      for (high = 2; high < MAX_SIZE && sign_at (s, equation, set, high, &last) && last == first;)
        high *= 2;
      low = first == 0 ? 1 : least_with (s, equation, set, 1, high, -first, 0);
      high = first == 0 ? 1 : least_with (s, equation, set, low, high, -first, 1) - 1;
      set_all (s, set, roundest (low, MAX (low, high)));
      if (holds (s, equation))
        return TRUE;
    }
  for (guint i = 0; i < n_dims (s); i++)
    dim_at (s, i)->size = before[i];
  return FALSE;
}

static void
settle (Solver *s, const Equation *equation, DimSet found)
{
  for (guint i = 0; i < n_dims (s); i++)
    if (found >> i & 1)
      {
        dim_at (s, i)->node = equation->is.node;
        dim_at (s, i)->why = equation_text (s, equation);
      }
  s->known |= equation->dims;
}

/* Which of several unknowns take a new size: not those that are 1 by default, where there are others. */
static void
solve_several (Solver *s, const Equation *equation, DimSet open)
{
  DimSet large = 0;
  gboolean pictures = TRUE;

  for (guint i = 0; i < n_dims (s); i++)
    if ((open >> i & 1) && dim_at (s, i)->size != 1)
      {
        pictures = pictures && dim_at (s, i)->size == IR_PICTURE_SIZE;
        large |= (DimSet) 1 << i;
      }
  large = large != 0 ? large : open;
  if (pictures && solve (s, equation, large)) /* a height and a width */
    {
      settle (s, equation, large);
      return;
    }
  for (guint pass = 0; pass < 2; pass++)
    for (guint i = 0; i < n_dims (s); i++)
      if (((pass == 0 ? large : open & ~large) >> i & 1) && solve (s, equation, (DimSet) 1 << i))
        {
          settle (s, equation, (DimSet) 1 << i);
          return;
        }
}

/* -- all of them -- */

/* What is surest first: one unknown before several, equal before equal or 1. (nullable): none left */
static Equation *
next_equation (const Solver *s)
{
  for (guint rank = 0; rank < 4; rank++)
    for (guint i = 0; i < s->equations->len; i++)
      {
        Equation *equation = &g_array_index (s->equations, Equation, i);
        guint n_open = count (equation->dims & ~s->known);

        if (equation->tried || n_open == 0 || equation->is.or_one != (rank % 2 == 1) ||
            (n_open == 1) != (rank < 2))
          continue;
        /* What holds anyway fixes nothing, but for one unknown. */
        if (rank == 0 || !holds (s, equation))
          return equation;
      }
  return NULL;
}

static void
solve_all (Solver *s)
{
  Equation *equation;

  while ((equation = next_equation (s)) != NULL)
    {
      DimSet open = equation->dims & ~s->known;

      equation->tried = TRUE;
      if (count (open) > 1)
        solve_several (s, equation, open);
      else if (solve (s, equation, open))
        settle (s, equation, open);
    }
}

static char *
label_of (const Solver *s, IrNodeId node)
{
  const IrNode *found = ir_model_node (s->model, node);

  return found != NULL ? ir_node_label (found) : g_strdup ("a node");
}

/* @equation does not hold: by another node, by a size that was asked for, or for no size at all. */
static void
add_conflict (const Solver *s, const Equation *equation, GArray *conflicts)
{
  IrSizeConflict conflict = { .node = equation->is.node };
  g_autofree char *label = label_of (s, equation->is.node), *need = equation_text (s, equation);
  const IrFreeDim *by_node = NULL, *given = NULL;

  for (guint i = 0; i < n_dims (s); i++)
    if (equation->dims >> i & 1)
      {
        if (by_node == NULL && dim_at (s, i)->node != 0)
          by_node = dim_at (s, i);
        if (given == NULL && dim_at (s, i)->given)
          given = dim_at (s, i);
      }
  if (by_node != NULL)
    {
      g_autofree char *other = label_of (s, by_node->node);

      conflict.other = by_node->node;
      conflict.text = g_strdup_printf ("%s needs %s, %s needs %s: no sizes suit both.", other,
                                       by_node->why, label, need);
    }
  else if (given != NULL)
    conflict.text = g_strdup_printf ("%s needs %s, which %s = %" G_GINT64_FORMAT " does not fit.",
                                     label, need, given->name, given->size);
  else
    conflict.text = g_strdup_printf ("%s needs %s, for which there is no size.", label, need);
  g_array_append_val (conflicts, conflict);
}

/* Dims that were not asked for get what nodes need. One walk of inference, where any are free only. */
void
ir_sizes_solve (IrModel *model, GArray *dims, GArray *conflicts)
{
  g_autoptr (GArray) equations = g_array_new (FALSE, FALSE, sizeof (Equation));
  g_autoptr (GHashTable) values = g_hash_table_new (g_str_hash, g_str_equal);
  Solver s = { .model = model, .dims = dims, .equations = equations, .values = values };

  if (dims->len == 0)
    return;
  for (guint i = 0; i < dims->len; i++)
    {
      g_hash_table_insert (values, dim_at (&s, i)->name, &dim_at (&s, i)->size);
      if (i < MAX_DIMS && dim_at (&s, i)->given)
        s.known |= (DimSet) 1 << i;
    }
  collect (&s);
  solve_all (&s);
  for (guint i = 0; conflicts != NULL && i < equations->len; i++)
    if (conflicts->len < MAX_CONFLICTS && !holds (&s, &g_array_index (equations, Equation, i)))
      add_conflict (&s, &g_array_index (equations, Equation, i), conflicts);
}
