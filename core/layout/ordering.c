#include "config.h"

/* The order within the layers.
 *
 * Without a seed: a depth-first start, then barycentre sweeps down and up,
 * keeping the best order seen, then exchanges of neighbours for small graphs.
 * Crossings are counted by an accumulator tree (Barth, Juenger, Mutzel 2002)
 * in O(s log s) per pair of layers; segments of one net never cross.
 *
 * With a seed: seeded vertices keep their previous order, the others are put
 * where their neighbours are, and only they may be exchanged. */

#include "core/layout/layout-private.h"

#define EXCHANGE_MAX_SEGS 30000
#define EXCHANGE_ROUNDS   8

typedef struct
{
  double key;
  gint32 v;
  gint32 pos;
} SortItem;

static int
compare_items (const void *a, const void *b)
{
  const SortItem *x = a, *y = b;

  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->pos - y->pos;
}

static void
sort_items (SortItem *items, gint32 n)
{
  if (n > 1)
    qsort (items, (size_t) n, sizeof *items, compare_items);
}

static void
renumber_layer (IrFlat *flat, gint32 layer)
{
  for (gint32 i = flat->layer_start[layer]; i < flat->layer_start[layer + 1]; i++)
    flat->v[flat->order[i]].pos = i - flat->layer_start[layer];
}

/* Depth first through all segments, down before up; what is found together
 * comes to lie together. */
static void
start_depth_first (IrFlat *flat)
{
  const gint32 n = flat->n_vertices;
  g_autofree gint32 *fill = g_memdup2 (flat->layer_start,
                                       sizeof (gint32) * (gsize) (flat->n_layers + 1));
  g_autofree guint8 *seen = g_new0 (guint8, MAX (1, n));
  g_autofree gint32 *at = g_new0 (gint32, MAX (1, n));
  g_autofree gint32 *stack = g_new (gint32, MAX (1, n));

  for (gint32 root = 0; root < n; root++)
    {
      gint32 depth = 0;
      if (seen[root])
        continue;
      seen[root] = TRUE;
      flat->order[fill[flat->v[root].layer]++] = root;
      stack[depth++] = root;
      while (depth > 0)
        {
          gint32 v = stack[depth - 1], i = at[v]++, w;
          gint32 n_down = flat->down_start[v + 1] - flat->down_start[v];
          gint32 n_up = flat->up_start[v + 1] - flat->up_start[v];
          if (i < n_down)
            w = flat->segs[flat->down[flat->down_start[v] + i]].v;
          else if (i < n_down + n_up)
            w = flat->segs[flat->up[flat->up_start[v] + i - n_down]].u;
          else
            {
              depth--;
              continue;
            }
          if (seen[w])
            continue;
          seen[w] = TRUE;
          flat->order[fill[flat->v[w].layer]++] = w;
          stack[depth++] = w;
        }
    }
  for (gint32 l = 0; l < flat->n_layers; l++)
    renumber_layer (flat, l);
}

/* Position of a pin along its layer: the vertex index plus less than a half. */
static double
pin_position (const IrFlatVertex *v, double dx)
{
  return v->pos + (v->width > 0 ? 0.9 * dx / v->width : 0);
}

static void
sort_layer_by_barycentre (IrFlat *flat, gint32 layer, gboolean from_above, SortItem *items)
{
  gint32 *order = flat->order + flat->layer_start[layer];
  gint32 n = flat->layer_start[layer + 1] - flat->layer_start[layer], n_items = 0;

  for (gint32 i = 0; i < n; i++)
    {
      gint32 v = order[i];
      const gint32 *start = from_above ? flat->up_start : flat->down_start;
      gint32 count = start[v + 1] - start[v];
      double sum = 0;
      if (count == 0)
        continue;
      for (gint32 k = start[v]; k < start[v + 1]; k++)
        {
          const IrFlatSeg *s = &flat->segs[from_above ? flat->up[k] : flat->down[k]];
          sum += from_above ? pin_position (&flat->v[s->u], s->udx) -
                                  (flat->v[v].width > 0 ? 0.1 * s->vdx / flat->v[v].width : 0)
                            : pin_position (&flat->v[s->v], s->vdx) -
                                  (flat->v[v].width > 0 ? 0.1 * s->udx / flat->v[v].width : 0);
        }
      items[n_items++] = (SortItem){ .key = sum / count, .v = v, .pos = i };
    }
  sort_items (items, n_items);

  /* Vertices without neighbours on this side keep their index. */
  for (gint32 i = 0, k = 0; i < n && k < n_items; i++)
    {
      gint32 v = order[i];
      const gint32 *start = from_above ? flat->up_start : flat->down_start;
      if (start[v + 1] > start[v])
        items[k++].pos = i;
    }
  for (gint32 k = 0; k < n_items; k++)
    order[items[k].pos] = items[k].v;
  renumber_layer (flat, layer);
}

/* Scratch of the counting, sized for the widest pair of layers. */
typedef struct
{
  gint32 *rank; /* per segment: rank of its lower pin */
  gint32 *tree;
} Counter;

static void
counter_clear (Counter *counter)
{
  g_free (counter->rank);
  g_free (counter->tree);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Counter, counter_clear)

static gint32
rank_lower_pins (const IrFlat *flat, gint32 layer, gint32 *rank)
{
  gint32 n = 0;

  for (gint32 i = flat->layer_start[layer]; i < flat->layer_start[layer + 1]; i++)
    {
      gint32 v = flat->order[i];
      for (gint32 k = flat->up_start[v]; k < flat->up_start[v + 1]; k++)
        {
          if (k > flat->up_start[v] &&
              flat->segs[flat->up[k]].vdx != flat->segs[flat->up[k - 1]].vdx)
            n++;
          rank[flat->up[k]] = n;
        }
      n++;
    }
  return n;
}

/* Crossings between @layer - 1 and @layer. */
static guint64
count_crossings (const IrFlat *flat, gint32 layer, Counter *counter)
{
  gint32 n_ranks = rank_lower_pins (flat, layer, counter->rank), inserted = 0;
  gint32 *tree = counter->tree;
  guint64 total = 0;

  memset (tree, 0, sizeof (gint32) * (gsize) (n_ranks + 1));
  for (gint32 i = flat->layer_start[layer - 1]; i < flat->layer_start[layer]; i++)
    {
      gint32 u = flat->order[i];
      for (gint32 k = flat->down_start[u], end; k < flat->down_start[u + 1]; k = end)
        {
          for (end = k; end < flat->down_start[u + 1] &&
                        flat->segs[flat->down[end]].udx == flat->segs[flat->down[k]].udx;
               end++)
            {
              gint32 below = 0;
              for (gint32 r = counter->rank[flat->down[end]] + 1; r > 0; r -= r & -r)
                below += tree[r];
              total += (guint64) (inserted - below);
            }
          for (gint32 j = k; j < end; j++, inserted++)
            for (gint32 r = counter->rank[flat->down[j]] + 1; r <= n_ranks; r += r & -r)
              tree[r]++;
        }
    }
  return total;
}

static guint64
count_all_crossings (const IrFlat *flat, Counter *counter)
{
  guint64 total = 0;

  for (gint32 l = 1; l < flat->n_layers; l++)
    total += count_crossings (flat, l, counter);
  return total;
}

/* Crossings among the segments of two neighbours of a layer on one side, if
 * @a is left of @b; and in @swapped, if it is right of it. */
static gint64
pair_crossings (const IrFlat *flat, gint32 a, gint32 b, gboolean above, gint64 *swapped)
{
  const gint32 *start = above ? flat->up_start : flat->down_start;
  const gint32 *list = above ? flat->up : flat->down;
  gint64 straight = 0;

  for (gint32 i = start[a]; i < start[a + 1]; i++)
    for (gint32 j = start[b]; j < start[b + 1]; j++)
      {
        const IrFlatSeg *s = &flat->segs[list[i]], *t = &flat->segs[list[j]];
        double x = above ? pin_position (&flat->v[s->u], s->udx)
                         : pin_position (&flat->v[s->v], s->vdx);
        double y = above ? pin_position (&flat->v[t->u], t->udx)
                         : pin_position (&flat->v[t->v], t->vdx);
        straight += x > y;
        *swapped += x < y;
      }
  return straight;
}

/* One round of exchanges of neighbours; with a seed only pairs with a vertex
 * that is new. Returns the crossings removed. */
static gint64
exchange_round (IrFlat *flat, gboolean seeded)
{
  gint64 gain = 0;

  for (gint32 l = 0; l < flat->n_layers; l++)
    for (gint32 i = flat->layer_start[l]; i + 1 < flat->layer_start[l + 1]; i++)
      {
        gint32 a = flat->order[i], b = flat->order[i + 1];
        gint64 straight, swapped = 0;
        if (seeded && flat->v[a].seeded && flat->v[b].seeded)
          continue;
        if ((gint64) (flat->up_start[a + 1] - flat->up_start[a]) *
                    (flat->up_start[b + 1] - flat->up_start[b]) +
                (gint64) (flat->down_start[a + 1] - flat->down_start[a]) *
                    (flat->down_start[b + 1] - flat->down_start[b]) >
            4096)
          continue;
        straight = pair_crossings (flat, a, b, TRUE, &swapped);
        straight += pair_crossings (flat, a, b, FALSE, &swapped);
        if (swapped >= straight)
          continue;
        gain += straight - swapped;
        flat->order[i] = b;
        flat->order[i + 1] = a;
        flat->v[b].pos--;
        flat->v[a].pos++;
      }
  return gain;
}

/* x of the vertices that have no seed, from those that have one. */
static void
guess_seeds (IrFlat *flat, double *x, guint8 *known)
{
  for (int round = 0; round < 6; round++)
    {
      gboolean down = round % 2 == 0, changed = FALSE;
      for (gint32 k = 0; k < flat->n_vertices; k++)
        {
          gint32 v = flat->order[down ? k : flat->n_vertices - 1 - k];
          double sum = 0;
          gint32 n = 0;
          if (flat->v[v].seeded || (known[v] && round > 3))
            continue;
          for (gint32 i = flat->up_start[v]; i < flat->up_start[v + 1]; i++)
            {
              const IrFlatSeg *s = &flat->segs[flat->up[i]];
              if (known[s->u])
                sum += x[s->u] + s->udx - s->vdx, n++;
            }
          for (gint32 i = flat->down_start[v]; i < flat->down_start[v + 1]; i++)
            {
              const IrFlatSeg *s = &flat->segs[flat->down[i]];
              if (known[s->v])
                sum += x[s->v] + s->vdx - s->udx, n++;
            }
          if (n == 0)
            continue;
          changed |= !known[v];
          known[v] = TRUE;
          x[v] = sum / n;
        }
      if (!changed && round > 1)
        break;
    }
}

static void
order_by_seed (IrFlat *flat, SortItem *items)
{
  g_autofree double *x = g_new0 (double, MAX (1, flat->n_vertices));
  g_autofree guint8 *known = g_new0 (guint8, MAX (1, flat->n_vertices));
  double right = 0;

  for (gint32 v = 0; v < flat->n_vertices; v++)
    if (flat->v[v].seeded)
      {
        x[v] = flat->v[v].seed_x;
        known[v] = TRUE;
        right = MAX (right, x[v]);
      }
  guess_seeds (flat, x, known);
  for (gint32 l = 0; l < flat->n_layers; l++)
    {
      gint32 first = flat->layer_start[l], n = flat->layer_start[l + 1] - first;
      for (gint32 i = 0; i < n; i++)
        {
          gint32 v = flat->order[first + i];
          items[i] = (SortItem){ .key = known[v] ? x[v] : right + 1, .v = v, .pos = i };
        }
      sort_items (items, n);
      for (gint32 i = 0; i < n; i++)
        flat->order[first + i] = items[i].v;
      renumber_layer (flat, l);
    }
}

static gboolean
is_seeded (const IrFlat *flat)
{
  if (flat->keep == IR_LAYOUT_KEEP_NOTHING)
    return FALSE;
  for (gint32 v = 0; v < flat->n_real; v++)
    if (flat->v[v].seeded)
      return TRUE;
  return FALSE;
}

static int
max_sweeps (const IrFlat *flat)
{
  if (flat->n_segs < 4000)
    return 24;
  if (flat->n_segs < 40000)
    return 12;
  return 6;
}

static gboolean
sweep (IrFlat *flat, SortItem *items, Counter *counter, GCancellable *cancellable, GError **error)
{
  g_autofree gint32 *best = g_memdup2 (flat->order, sizeof (gint32) * (gsize) flat->n_vertices);
  guint64 best_crossings = count_all_crossings (flat, counter);
  int n_bad = 0;

  for (int k = 0; k < max_sweeps (flat) && best_crossings > 0 && n_bad < 4; k++)
    {
      gboolean down = k % 2 == 0;
      if (g_cancellable_set_error_if_cancelled (cancellable, error))
        return FALSE;
      for (gint32 i = 1; i < flat->n_layers; i++)
        sort_layer_by_barycentre (flat, down ? i : flat->n_layers - 1 - i, down, items);
      guint64 crossings = count_all_crossings (flat, counter);
      n_bad = crossings < best_crossings ? 0 : n_bad + 1;
      if (crossings < best_crossings)
        {
          best_crossings = crossings;
          memcpy (best, flat->order, sizeof (gint32) * (gsize) flat->n_vertices);
        }
    }
  memcpy (flat->order, best, sizeof (gint32) * (gsize) flat->n_vertices);
  for (gint32 l = 0; l < flat->n_layers; l++)
    renumber_layer (flat, l);
  return TRUE;
}

/* Fixes the order of the vertices in every layer and counts the crossings. Source: Sugiyama et
 * al. 1981; Barth, Juenger, Mutzel 2002. */
gboolean
ir_flat_order (IrFlat *flat, GCancellable *cancellable, GError **error)
{
  g_auto (Counter) counter = { 0 };
  g_autofree SortItem *items = g_new (SortItem, MAX (1, flat->n_vertices));
  gboolean seeded = is_seeded (flat);

  counter.rank = g_new (gint32, MAX (1, flat->n_segs));
  counter.tree = g_new (gint32, flat->n_segs + flat->n_vertices + 2);
  start_depth_first (flat);
  if (seeded)
    order_by_seed (flat, items);
  else if (!sweep (flat, items, &counter, cancellable, error))
    return FALSE;

  if (flat->n_segs <= EXCHANGE_MAX_SEGS)
    for (int round = 0; round < EXCHANGE_ROUNDS; round++)
      {
        if (g_cancellable_set_error_if_cancelled (cancellable, error))
          return FALSE;
        if (exchange_round (flat, seeded) == 0)
          break;
      }
  flat->crossings = count_all_crossings (flat, &counter);
  return TRUE;
}
