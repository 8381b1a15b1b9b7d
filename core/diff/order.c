/* Pairing by the order of execution: what names, contents and neighbours do not decide.
 *
 * Two exporters write one network with other names, other weights (folded or not) and other little
 * nodes in between, but its layers stand in one order. Pairs that are known and in the same order
 * on both sides cut the two sequences into gaps; in each gap the sequences of nodes without twin
 * are aligned so that the sum of what the pairs have in common is largest. In the first run only
 * nodes of the same shapes may be pairs, in the second the operator is enough. A gap that is too
 * large is aligned near its diagonal only: the cost is bounded by MAX_CELLS per gap. */
#include "config.h"

#include "core/diff/diff-private.h"

#include <string.h>

#define MAX_CELLS (4u << 20)

typedef struct
{
  const IrNode *node;
  guint64 shape; /* 0: nothing is known */
} Item;

typedef struct
{
  guint a, b; /* places in the orders */
} Anchor;

/* -- what a node looks like -- */

static guint64
mix_type (guint64 hash, const IrType *type, gboolean *known)
{
  if (!ir_type_is_tensor (type) || !ir_type_has_rank (type))
    return ir_diff_mix (hash, 3);
  hash = ir_diff_mix (hash, (guint64) type->rank + 5);
  for (int i = 0; i < type->rank; i++)
    {
      gboolean is_number = ir_dim_is_known (type->dims[i]);

      hash = ir_diff_mix (hash, is_number ? (guint64) type->dims[i] + 7 : 1);
      *known |= is_number && type->dims[i] > 1;
    }
  return hash;
}

static guint64
shape_of (const IrNode *node)
{
  guint64 hash = ir_diff_mix (ir_diff_hash_text (node->op_type), ir_diff_hash_text (node->domain));
  gboolean known = FALSE;

  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && node->inputs[i]->initializer != NULL)
      hash = mix_type (ir_diff_mix (hash, i), node->inputs[i]->type, &known);
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      hash = mix_type (hash, ir_value_shown_type (node->outputs[i]), &known);
  return known ? hash : 0;
}

/* What two nodes have in common; 0: they cannot be a pair. */
static int
likeness (const Item *a, const Item *b, gboolean alike)
{
  gboolean same_shape = a->shape != 0 && a->shape == b->shape;

  if (!ir_diff_same_operator (a->node, b->node) || (alike && !same_shape) ||
      (!alike && ir_node_is_constant (a->node)))
    return 0;
  return 1 + 2 * same_shape + (a->node->n_attrs == b->node->n_attrs) +
         (a->node->n_inputs == b->node->n_inputs);
}

/* -- one gap -- */

typedef enum
{
  MOVE_A,
  MOVE_B,
  MOVE_BOTH
} Move;

typedef struct
{
  const Item *a, *b;
  guint n_a, n_b;
  guint width; /* of the band: columns of a row that are looked at */
} Gap;

static guint
band_start (const Gap *gap, guint row)
{
  gint64 middle = (gint64) row * gap->n_b / MAX (gap->n_a, 1);

  return (guint) CLAMP (middle - (gint64) gap->width / 2, 0,
                        (gint64) gap->n_b + 1 - (gint64) gap->width);
}

static void
take (IrPairing *p, const IrNode *a, const IrNode *b)
{
  if (!ir_pair_nodes (p, a, b))
    return;
  for (guint k = 0; k < MIN (a->n_outputs, b->n_outputs); k++)
    ir_pair_values (p, a->outputs[k], b->outputs[k]);
  ir_pair_constants (p, a, b);
}

static int
score_at (const Gap *gap, const int *row, guint start, guint column)
{
  return column >= start && column < start + gap->width ? row[column - start] : -1;
}

/* Rows of a, columns of b; row and column 0 stand before the first. */
static guint8 *
fill_moves (const Gap *gap, gboolean alike)
{
  guint8 *moves = g_malloc0 ((gsize) (gap->n_a + 1) * gap->width);
  g_autofree int *before = g_new0 (int, gap->width), *now = g_new0 (int, gap->width);

  for (guint i = 1; i <= gap->n_a; i++)
    {
      guint start = band_start (gap, i), above = band_start (gap, i - 1);
      int *swap;

      for (guint k = 0; k < gap->width; k++)
        {
          guint column = start + k;
          int best = score_at (gap, before, above, column);
          int left = k > 0 ? now[k - 1] : -1;
          int like = column > 0 ? likeness (&gap->a[i - 1], &gap->b[column - 1], alike) : 0;
          int both = column > 0 ? score_at (gap, before, above, column - 1) : -1;
          guint8 move = MOVE_A;

          if (left > best)
            best = left, move = MOVE_B;
          if (like > 0 && both >= 0 && both + like > best)
            best = both + like, move = MOVE_BOTH;
          now[k] = MAX (best, 0);
          moves[(gsize) i * gap->width + k] = move;
        }
      swap = before, before = now, now = swap;
    }
  return moves;
}

static void
align (IrPairing *p, Gap *gap, gboolean alike)
{
  guint i = gap->n_a, k = gap->n_b;

  if (i == 0 || k == 0)
    return;
  gap->width = (guint) CLAMP (MAX_CELLS / (gap->n_a + 1), 2, gap->n_b + 1);
  g_autofree guint8 *moves = fill_moves (gap, alike);
  while (i > 0 && k > 0)
    {
      guint start = band_start (gap, i);

      if (k < start || k >= start + gap->width)
        {
          k = MIN (k, start + gap->width - 1);
          i -= k < start;
          continue;
        }
      switch ((Move) moves[(gsize) i * gap->width + k - start])
        {
        case MOVE_BOTH:
          take (p, gap->a[--i].node, gap->b[--k].node);
          break;
        case MOVE_B:
          k--;
          break;
        case MOVE_A:
          i--;
          break;
        }
    }
}

/* -- the gaps -- */

/* Of pairs in the order of a, the most that are in the order of b too: patience sorting. */
static GArray *
longest_chain (const GArray *pairs)
{
  g_autofree guint *tails = g_new (guint, pairs->len + 1), *back = g_new (guint, pairs->len + 1);
  GArray *chain = g_array_new (FALSE, FALSE, sizeof (Anchor));
  guint n = 0;

  for (guint i = 0; i < pairs->len; i++)
    {
      guint b = g_array_index (pairs, Anchor, i).b, low = 0, high = n;

      while (low < high)
        {
          guint middle = (low + high) / 2;
          if (g_array_index (pairs, Anchor, tails[middle]).b < b)
            low = middle + 1;
          else
            high = middle;
        }
      back[i] = low > 0 ? tails[low - 1] : G_MAXUINT;
      tails[low] = i;
      n = MAX (n, low + 1);
    }
  for (guint i = n > 0 ? tails[n - 1] : G_MAXUINT; i != G_MAXUINT; i = back[i])
    g_array_append_val (chain, g_array_index (pairs, Anchor, i));
  return chain; /* from the last to the first */
}

static GArray *
anchors_of (const IrPairing *p, IrNode *const *a, guint n_a, IrNode *const *b, guint n_b)
{
  g_autoptr (GArray) pairs = g_array_new (FALSE, FALSE, sizeof (Anchor));
  g_autofree guint *places = g_new0 (guint, p->b->nodes->len + 1);

  for (guint i = 0; i < n_b; i++)
    places[b[i]->id] = i + 1;
  for (guint i = 0; i < n_a; i++)
    {
      guint place = places[p->node_of_a[a[i]->id]];
      Anchor anchor = { i, place - 1 };

      if (place > 0)
        g_array_append_val (pairs, anchor);
    }
  return longest_chain (pairs);
}

static GArray *
open_items (IrNode *const *order, guint first, guint end, const guint32 *twins)
{
  GArray *items = g_array_new (FALSE, FALSE, sizeof (Item));

  for (guint i = first; i < end; i++)
    if (twins[order[i]->id] == 0)
      {
        Item item = { order[i], shape_of (order[i]) };
        g_array_append_val (items, item);
      }
  return items;
}

/* @alike: only nodes of the same shapes. */
void
ir_pair_by_order (IrPairing *p, gboolean alike)
{
  guint n_a, n_b;
  IrNode *const *a = ir_graph_order (p->a->main, &n_a);
  IrNode *const *b = ir_graph_order (p->b->main, &n_b);
  g_autoptr (GArray) anchors = anchors_of (p, a, n_a, b, n_b);
  Anchor last = { 0, 0 };

  for (guint i = anchors->len + 1; i > 0; i--)
    {
      Anchor next = i > 1 ? g_array_index (anchors, Anchor, i - 2) : (Anchor){ n_a, n_b };
      g_autoptr (GArray) items_a = open_items (a, last.a, next.a, p->node_of_a);
      g_autoptr (GArray) items_b = open_items (b, last.b, next.b, p->node_of_b);
      Gap gap = { (const Item *) items_a->data, (const Item *) items_b->data, items_a->len,
                  items_b->len, 0 };

      align (p, &gap, alike);
      last = (Anchor){ MIN (next.a + 1, n_a), MIN (next.b + 1, n_b) };
    }
}
