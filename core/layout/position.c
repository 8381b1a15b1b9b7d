#include "config.h"

/* x coordinates after Brandes and Koepf (2002): four alignments (with the
 * layer above or below, packed to the left or right), each made compact, and
 * the balanced median of the four. Three things differ from the paper:
 * vertices have widths and edges leave at ports, so that a block carries an
 * inner shift per vertex (as in ELK); compaction is a longest path over the
 * graph of blocks, which needs no classes and has not the paper's known flaw;
 * and the run with the fewest bends wins over the balanced one if it has
 * clearly fewer, for straight lines read better than centred ones.
 *
 * With a seed whose places are to be kept, the previous x is what each seeded
 * vertex wants, and the least squares closest x that keep the distances are
 * found layer by layer (pool adjacent violators). */

#include "core/layout/layout-private.h"

#include <math.h>

#define EDGE_GAP      14.0
#define BUNDLE_GAP    4.0 /* px between long lines that run side by side */
#define MIN_BUNDLED   3   /* layers that such a line passes */
#define SEEDED_WEIGHT 1e9
#define MAX_LONG      4    /* nets beside a waist */
#define SPINE_SLACK   40.0 /* px that a spine may wander */

/* Whether a vertex is where a line passes that passes several layers. */
static gboolean
is_of_long_line (const IrFlat *flat, const IrFlatVertex *v)
{
  return v->kind == IR_FLAT_TRUNK && v->net >= 0 && flat->nets[v->net].n_trunk >= MIN_BUNDLED;
}

/* Least distance of the two centres, px: long lines beside each other run as a bundle. */
double
ir_flat_gap (const IrFlat *flat, const IrFlatVertex *a, const IrFlatVertex *b)
{
  double gap = flat->box_gap;

  if (is_of_long_line (flat, a) && is_of_long_line (flat, b))
    gap = BUNDLE_GAP;
  else if (a->kind != IR_FLAT_BOX || b->kind != IR_FLAT_BOX)
    gap = EDGE_GAP;
  return (a->width + b->width) / 2 + gap;
}

/* One of the four runs. Arrays are indexed by vertex. */
typedef struct
{
  const IrFlat *flat;
  gboolean from_above;
  const gint32 *sorted; /* segments per vertex by place of the other end */
  gboolean mirrored;    /* right to left: positions and offsets are negated */
  gint32 *root;
  gint32 *align;
  double *shift; /* px, of a vertex against its block's root */
} Run;

static void
run_clear (Run *run)
{
  g_free (run->root);
  g_free (run->align);
  g_free (run->shift);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Run, run_clear)

static gint32
run_pos (const Run *run, gint32 v)
{
  return run->mirrored ? -run->flat->v[v].pos : run->flat->v[v].pos;
}

/* Per vertex its segments on one side, sorted by the place of the other end. */
static gint32 *
sort_by_place (const IrFlat *flat, gboolean above)
{
  const gint32 *start = above ? flat->up_start : flat->down_start;
  g_autofree gint32 *at = g_memdup2 (start, sizeof (gint32) * (gsize) (flat->n_vertices + 1));
  gint32 *sorted = g_new (gint32, MAX (1, flat->n_segs));

  for (gint32 k = 0; k < flat->n_vertices; k++)
    {
      gint32 u = flat->order[k];
      const gint32 *other = above ? flat->down_start : flat->up_start;
      for (gint32 i = other[u]; i < other[u + 1]; i++)
        {
          gint32 s = above ? flat->down[i] : flat->up[i];
          sorted[at[above ? flat->segs[s].v : flat->segs[s].u]++] = s;
        }
    }
  return sorted;
}

static void
run_align_vertex (Run *run, gint32 v, gint32 *last)
{
  const IrFlat *flat = run->flat;
  const gint32 *start = run->from_above ? flat->up_start : flat->down_start;
  const gint32 *list = run->sorted + start[v];
  gint32 n = start[v + 1] - start[v];

  if (n == 0)
    return;
  for (gint32 m = (n - 1) / 2; m <= n / 2; m++)
    {
      const IrFlatSeg *s = &flat->segs[list[run->mirrored ? n - 1 - m : m]];
      gint32 u = run->from_above ? s->u : s->v;
      double udx = run->from_above ? s->udx : s->vdx, vdx = run->from_above ? s->vdx : s->udx;
      if (run->align[v] != v || s->conflict || run_pos (run, u) <= *last)
        continue;
      run->align[u] = v;
      run->root[v] = run->root[u];
      run->align[v] = run->root[v];
      run->shift[v] = run->shift[u] + (run->mirrored ? vdx - udx : udx - vdx);
      *last = run_pos (run, u);
    }
}

static void
run_align (Run *run)
{
  const IrFlat *flat = run->flat;

  for (gint32 v = 0; v < flat->n_vertices; v++)
    {
      run->root[v] = run->align[v] = v;
      run->shift[v] = 0;
    }
  for (gint32 k = 1; k < flat->n_layers; k++)
    {
      gint32 l = run->from_above ? k : flat->n_layers - 1 - k;
      gint32 first = flat->layer_start[l], n = flat->layer_start[l + 1] - first;
      gint32 last = G_MININT32;
      for (gint32 i = 0; i < n; i++)
        run_align_vertex (run, flat->order[first + (run->mirrored ? n - 1 - i : i)], &last);
    }
}

/* The graph of blocks: an arc per pair of neighbours in a layer. */
typedef struct
{
  gint32 *start;  /* per block root */
  gint32 *target; /* root of the right neighbour */
  double *least;  /* px, least distance of the two roots */
  gint32 *order;  /* roots in topological order */
  gint32 n_order;
} Blocks;

static void
blocks_clear (Blocks *blocks)
{
  g_free (blocks->start);
  g_free (blocks->target);
  g_free (blocks->least);
  g_free (blocks->order);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Blocks, blocks_clear)

static void
blocks_sort (Blocks *blocks, const Run *run, gint32 *missing)
{
  const gint32 n = run->flat->n_vertices;
  gint32 head = 0;

  blocks->order = g_new (gint32, MAX (1, n));
  for (gint32 v = 0; v < n; v++)
    if (run->root[v] == v && missing[v] == 0)
      blocks->order[blocks->n_order++] = v;
  while (head < blocks->n_order)
    {
      gint32 b = blocks->order[head++];
      for (gint32 i = blocks->start[b]; i < blocks->start[b + 1]; i++)
        if (--missing[blocks->target[i]] == 0)
          blocks->order[blocks->n_order++] = blocks->target[i];
    }
}

static void
blocks_fill (Blocks *blocks, const Run *run)
{
  const IrFlat *flat = run->flat;
  const gint32 n = flat->n_vertices;
  g_autofree gint32 *missing = g_new0 (gint32, MAX (1, n));

  blocks->start = g_new0 (gint32, n + 1);
  blocks->target = g_new (gint32, MAX (1, n));
  blocks->least = g_new (double, MAX (1, n));
  for (int fill = 0; fill < 2; fill++)
    {
      for (gint32 l = 0; l < flat->n_layers; l++)
        for (gint32 i = flat->layer_start[l] + 1; i < flat->layer_start[l + 1]; i++)
          {
            gint32 a = flat->order[run->mirrored ? i : i - 1];
            gint32 b = flat->order[run->mirrored ? i - 1 : i];
            gint32 from = run->root[a], to = run->root[b];
            if (!fill)
              {
                blocks->start[from + 1]++;
                missing[to]++;
                continue;
              }
            gint32 at = blocks->start[from]++;
            blocks->target[at] = to;
            blocks->least[at] = ir_flat_gap (flat, &flat->v[a], &flat->v[b]) + run->shift[a] -
                                run->shift[b];
          }
      if (!fill)
        for (gint32 v = 0; v < n; v++)
          blocks->start[v + 1] += blocks->start[v];
    }
  memmove (blocks->start + 1, blocks->start, sizeof (gint32) * (gsize) n);
  blocks->start[0] = 0;
  blocks_sort (blocks, run, missing);
}

/* First as far left as possible, then each block as far right as its right
 * neighbours allow, which closes the holes. */
static void
run_compact (const Run *run, double *x)
{
  g_auto (Blocks) blocks = { 0 };
  const gint32 n = run->flat->n_vertices;

  blocks_fill (&blocks, run);
  for (gint32 v = 0; v < n; v++)
    x[v] = 0;
  for (gint32 k = 0; k < blocks.n_order; k++)
    {
      gint32 b = blocks.order[k];
      for (gint32 i = blocks.start[b]; i < blocks.start[b + 1]; i++)
        x[blocks.target[i]] = MAX (x[blocks.target[i]], x[b] + blocks.least[i]);
    }
  for (gint32 k = blocks.n_order - 1; k >= 0; k--)
    {
      gint32 b = blocks.order[k];
      double room = G_MAXDOUBLE;
      for (gint32 i = blocks.start[b]; i < blocks.start[b + 1]; i++)
        room = MIN (room, x[blocks.target[i]] - blocks.least[i]);
      if (room < G_MAXDOUBLE)
        x[b] = MAX (x[b], room);
    }
  for (gint32 v = 0; v < n; v++)
    if (run->root[v] != v)
      x[v] = x[run->root[v]] + run->shift[v];
  if (run->mirrored)
    for (gint32 v = 0; v < n; v++)
      x[v] = -x[v];
}

/* Segments that cross a segment inside a trunk are never made straight. */
static void
mark_conflicts (IrFlat *flat)
{
  for (gint32 l = 1; l < flat->n_layers; l++)
    {
      gint32 first = flat->layer_start[l], n = flat->layer_start[l + 1] - first, done = 0;
      gint32 left = -1;
      for (gint32 i = 0; i < n; i++)
        {
          gint32 v = flat->order[first + i], right = G_MAXINT32;
          for (gint32 k = flat->up_start[v]; k < flat->up_start[v + 1]; k++)
            if (flat->segs[flat->up[k]].inner)
              right = flat->v[flat->segs[flat->up[k]].u].pos;
          if (right == G_MAXINT32 && i + 1 < n)
            continue;
          for (; done <= i; done++)
            {
              gint32 w = flat->order[first + done];
              for (gint32 k = flat->up_start[w]; k < flat->up_start[w + 1]; k++)
                {
                  IrFlatSeg *s = &flat->segs[flat->up[k]];
                  gint32 pos = flat->v[s->u].pos;
                  s->conflict = !s->inner && (pos < left || pos > right);
                }
            }
          left = right;
        }
    }
}

static void
extent (const IrFlat *flat, const double *x, double *lo, double *hi)
{
  *lo = G_MAXDOUBLE;
  *hi = -G_MAXDOUBLE;
  for (gint32 v = 0; v < flat->n_vertices; v++)
    {
      *lo = MIN (*lo, x[v] - flat->v[v].width / 2);
      *hi = MAX (*hi, x[v] + flat->v[v].width / 2);
    }
}

/* Cost of a run: a bend is as bad as @bend px of horizontal line. */
static double
badness (const IrFlat *flat, const double *x)
{
  const double bend = 60;
  double lo, hi, sum = 0;

  for (gint32 s = 0; s < flat->n_segs; s++)
    {
      const IrFlatSeg *seg = &flat->segs[s];
      double d = ABS (x[seg->u] + seg->udx - x[seg->v] - seg->vdx);
      sum += d + (d > 0.5 ? bend : 0);
    }
  extent (flat, x, &lo, &hi);
  return sum + (hi - lo) * 2;
}

/* Shifts the runs onto the narrowest one and takes the middle of each four. */
static void
balance (const IrFlat *flat, double *run[4], double *x)
{
  double lo[4], hi[4];
  int narrow = 0;

  for (int k = 0; k < 4; k++)
    {
      extent (flat, run[k], &lo[k], &hi[k]);
      if (hi[k] - lo[k] < hi[narrow] - lo[narrow])
        narrow = k;
    }
  for (int k = 0; k < 4; k++)
    {
      double by = k % 2 == 0 ? lo[narrow] - lo[k] : hi[narrow] - hi[k];
      for (gint32 v = 0; v < flat->n_vertices; v++)
        run[k][v] += by;
    }
  for (gint32 v = 0; v < flat->n_vertices; v++)
    {
      double a = run[0][v], b = run[1][v], c = run[2][v], d = run[3][v];
      double least = MIN (MIN (a, b), MIN (c, d)), most = MAX (MAX (a, b), MAX (c, d));
      x[v] = (a + b + c + d - least - most) / 2;
    }
}

/* Nets that pass a good part of the picture: masks, shared shapes. */
static gboolean
is_long (const IrFlat *flat, const IrFlatNet *net)
{
  return net->n_trunk > 24 || (net->n_trunk > 4 && net->n_trunk > flat->n_layers / 3);
}

/* Per boundary below a layer: the one net that crosses it, a few long ones left
 * out; or -1 for none or several. */
static gint32 *
find_waists (const IrFlat *flat)
{
  gint32 n = flat->n_layers;
  g_autofree gint32 *count = g_new0 (gint32, n + 1);
  g_autofree gint32 *n_long = g_new0 (gint32, n + 1);
  g_autofree gint64 *sum = g_new0 (gint64, n + 1);
  gint32 *waist = g_new (gint32, n + 1);

  for (gint32 k = 0; k < flat->n_nets; k++)
    {
      const IrFlatNet *net = &flat->nets[k];
      gint32 first = flat->v[net->src].layer, last = MIN (n, first + net->n_trunk + 1);
      if (is_long (flat, net))
        {
          n_long[first]++;
          n_long[last]--;
          continue;
        }
      count[first]++;
      count[last]--;
      sum[first] += k;
      sum[last] -= k;
    }
  for (gint32 l = 0; l <= n; l++)
    {
      if (l > 0)
        {
          count[l] += count[l - 1];
          sum[l] += sum[l - 1];
          n_long[l] += n_long[l - 1];
        }
      waist[l] = count[l] == 1 && n_long[l] <= MAX_LONG ? (gint32) sum[l] : -1;
    }
  return waist;
}

/* A part of a long net that runs along one side of the picture: trunk vertices
 * first .. last, where -1 is its source, if that is nothing else's: a port of
 * the group, or an input. */
typedef struct
{
  gint32 net;
  gint32 first, last;
  gint32 rank; /* most vertices between it and the side */
} SideRun;

static int
compare_side_runs (gconstpointer a, gconstpointer b)
{
  const SideRun *x = a, *y = b;

  if (x->rank != y->rank)
    return y->rank - x->rank;
  return x->net != y->net ? x->net - y->net : x->first - y->first;
}

static gint32
line_start (const IrFlat *flat, const IrFlatNet *net)
{
  gint32 v = net->src, first = flat->down_start[v], last = flat->down_start[v + 1] - 1;
  gboolean source = flat->up_start[v + 1] == flat->up_start[v] && first <= last &&
                    flat->segs[flat->down[first]].udx == flat->segs[flat->down[last]].udx;

  return source ? -1 : 0;
}

static gint32
line_vertex (const IrFlatNet *net, gint32 i)
{
  return i < 0 ? net->src : net->trunk + i;
}

static gint32
layer_size (const IrFlat *flat, gint32 layer)
{
  return flat->layer_start[layer + 1] - flat->layer_start[layer];
}

/* Marks the vertices of long nets that have nothing but others of their kind
 * on the @right (or left) of them. */
static guint8 *
find_outside (const IrFlat *flat, gboolean right)
{
  g_autofree guint8 *is_line = g_new0 (guint8, MAX (1, flat->n_vertices));
  guint8 *outside = g_new0 (guint8, MAX (1, flat->n_vertices));

  for (gint32 k = 0; k < flat->n_nets; k++)
    if (is_long (flat, &flat->nets[k]))
      for (gint32 i = line_start (flat, &flat->nets[k]); i < flat->nets[k].n_trunk; i++)
        is_line[line_vertex (&flat->nets[k], i)] = TRUE;
  for (gint32 l = 0; l < flat->n_layers; l++)
    {
      gint32 first = flat->layer_start[l], n = layer_size (flat, l);
      for (gint32 i = 0; i < n; i++)
        {
          gint32 v = flat->order[first + (right ? n - 1 - i : i)];
          if (!is_line[v])
            break;
          outside[v] = TRUE;
        }
    }
  return outside;
}

/* Innermost first. */
static GArray *
find_side_runs (const IrFlat *flat, gboolean right)
{
  g_autofree guint8 *outside = find_outside (flat, right);
  GArray *runs = g_array_new (FALSE, FALSE, sizeof (SideRun));

  for (gint32 k = 0; k < flat->n_nets; k++)
    {
      const IrFlatNet *net = &flat->nets[k];
      SideRun run = { .net = k, .first = line_start (flat, net) };
      if (!is_long (flat, net))
        continue;
      for (gint32 i = run.first; i <= net->n_trunk; i++)
        {
          gint32 v = i < net->n_trunk ? line_vertex (net, i) : -1;
          if (v >= 0 && outside[v])
            {
              gint32 pos = flat->v[v].pos;
              run.last = i;
              run.rank = MAX (run.rank,
                              right ? layer_size (flat, flat->v[v].layer) - 1 - pos : pos);
              continue;
            }
          if (run.first < i)
            g_array_append_val (runs, run);
          run.first = i + 1;
          run.rank = 0;
        }
    }
  g_array_sort (runs, compare_side_runs);
  return runs;
}

static void
straighten_run (const IrFlat *flat, const SideRun *run, gboolean right, double *x)
{
  const IrFlatNet *net = &flat->nets[run->net];
  double at = right ? -G_MAXDOUBLE : G_MAXDOUBLE;

  for (gint32 i = run->first; i <= run->last; i++)
    {
      const IrFlatVertex *v = &flat->v[line_vertex (net, i)];
      gint32 inner = v->pos + (right ? -1 : 1);
      if (inner < 0 || inner >= layer_size (flat, v->layer))
        continue;
      gint32 w = flat->order[flat->layer_start[v->layer] + inner];
      double gap = ir_flat_gap (flat, v, &flat->v[w]), dx = i < 0 ? net->dx : 0;
      at = right ? MAX (at, x[w] + gap + dx) : MIN (at, x[w] - gap + dx);
    }
  for (gint32 i = run->first; ABS (at) < G_MAXDOUBLE && i <= run->last; i++)
    x[line_vertex (net, i)] = i < 0 ? at - net->dx : at;
}

static gboolean
distances_hold (const IrFlat *flat, const double *x)
{
  for (gint32 l = 0; l < flat->n_layers; l++)
    for (gint32 i = flat->layer_start[l] + 1; i < flat->layer_start[l + 1]; i++)
      {
        gint32 a = flat->order[i - 1], b = flat->order[i];
        if (x[b] - x[a] < ir_flat_gap (flat, &flat->v[a], &flat->v[b]) - 1e-6)
          return FALSE;
      }
  return TRUE;
}

/* Makes long nets beside the picture straight again, as near as what lies
 * inside of them allows. Should two of them cross so that one is in the other's
 * way, all is left as it was. */
static void
straighten_sides (const IrFlat *flat, double *x)
{
  g_autofree double *before = g_memdup2 (x, sizeof (double) * (gsize) flat->n_vertices);

  for (int right = 0; right < 2; right++)
    {
      g_autoptr (GArray) runs = find_side_runs (flat, right);
      for (guint k = 0; k < runs->len; k++)
        straighten_run (flat, &g_array_index (runs, SideRun, k), right, x);
    }
  if (!distances_hold (flat, x))
    memcpy (x, before, sizeof (double) * (gsize) flat->n_vertices);
}

/* Straight lines that lean on one another may carry a deep graph further and
 * further to one side. Where all of it passes through one line, what follows is
 * put back below the first such line: layers move as wholes, so distances hold. */
static void
straighten_spine (const IrFlat *flat, const gint32 *waist, double *x)
{
  g_autofree double *shift = g_new0 (double, flat->n_layers + 1);
  double spine = 0, by = 0;
  gboolean known = FALSE, moved = FALSE;

  for (gint32 l = 0; l < flat->n_layers; l++)
    {
      const IrFlatNet *net = waist[l] >= 0 ? &flat->nets[waist[l]] : NULL;
      if (net != NULL && flat->v[net->src].layer == l)
        {
          double at = x[net->src] + net->dx + by;
          if (!known)
            spine = at;
          else if (ABS (spine - at) > SPINE_SLACK)
            {
              by += floor (spine - at + 0.5);
              moved = TRUE;
            }
          known = TRUE;
        }
      shift[l] = by;
    }
  for (gint32 v = 0; v < flat->n_vertices; v++)
    x[v] += shift[flat->v[v].layer];
  if (moved)
    straighten_sides (flat, x);
}

static gboolean
place_freely (IrFlat *flat, double *x, GCancellable *cancellable, GError **error)
{
  g_autofree double *all = g_new (double, 4 * (gsize) MAX (1, flat->n_vertices));
  g_autofree gint32 *above = sort_by_place (flat, TRUE);
  g_autofree gint32 *below = sort_by_place (flat, FALSE);
  g_autofree gint32 *waist = NULL;
  double *runs[4];
  double best;

  mark_conflicts (flat);
  for (int k = 0; k < 4; k++)
    {
      g_auto (Run) run = {
        .flat = flat, .from_above = k < 2, .mirrored = k % 2 == 1, .sorted = k < 2 ? above : below
      };
      if (g_cancellable_set_error_if_cancelled (cancellable, error))
        return FALSE;
      run.root = g_new (gint32, MAX (1, flat->n_vertices));
      run.align = g_new (gint32, MAX (1, flat->n_vertices));
      run.shift = g_new (double, MAX (1, flat->n_vertices));
      run_align (&run);
      runs[k] = all + (gsize) k * (gsize) flat->n_vertices;
      run_compact (&run, runs[k]);
    }
  balance (flat, runs, x);
  waist = find_waists (flat);
  straighten_spine (flat, waist, x);
  for (int k = 0; k < 4; k++)
    straighten_spine (flat, waist, runs[k]);
  best = badness (flat, x);
  for (int k = 0; k < 4; k++)
    {
      double bad = badness (flat, runs[k]);
      if (bad < best * 0.98)
        {
          best = bad;
          memcpy (x, runs[k], sizeof (double) * (gsize) flat->n_vertices);
        }
    }
  return TRUE;
}

/* A run of vertices that touch, in the pooling of one layer. */
typedef struct
{
  double weight;
  double sum; /* of weight × wanted place of its first vertex */
  gint32 n;
} Pool;

static void
pool_layer (const IrFlat *flat, gint32 layer, const double *want, Pool *pools, double *x)
{
  gint32 first = flat->layer_start[layer], n = flat->layer_start[layer + 1] - first, n_pools = 0;
  double offset = 0;

  for (gint32 i = 0; i < n; i++)
    {
      gint32 v = flat->order[first + i];
      double weight = flat->v[v].seeded ? SEEDED_WEIGHT : 1;
      if (i > 0)
        offset += ir_flat_gap (flat, &flat->v[flat->order[first + i - 1]], &flat->v[v]);
      pools[n_pools++] = (Pool){ .weight = weight, .sum = weight * (want[v] - offset), .n = 1 };
      while (n_pools > 1)
        {
          Pool *a = &pools[n_pools - 2], *b = &pools[n_pools - 1];
          if (a->sum / a->weight <= b->sum / b->weight + 1e-7)
            break;
          a->weight += b->weight;
          a->sum += b->sum;
          a->n += b->n;
          n_pools--;
        }
    }
  offset = 0;
  for (gint32 p = 0, i = 0; p < n_pools; p++)
    for (gint32 k = 0; k < pools[p].n; k++, i++)
      {
        gint32 v = flat->order[first + i];
        if (i > 0)
          offset += ir_flat_gap (flat, &flat->v[flat->order[first + i - 1]], &flat->v[v]);
        x[v] = pools[p].sum / pools[p].weight + offset;
      }
}

/* Where a vertex without a seed wants to be: straight below what feeds it, else
 * straight above what it feeds. */
static double
wanted (const IrFlat *flat, gint32 v, const double *x, double otherwise)
{
  double sum = 0;
  gint32 n = 0;

  for (gint32 i = flat->up_start[v]; i < flat->up_start[v + 1]; i++)
    {
      const IrFlatSeg *s = &flat->segs[flat->up[i]];
      sum += x[s->u] + s->udx - s->vdx;
      n++;
    }
  for (gint32 i = flat->down_start[v]; n == 0 && i < flat->down_start[v + 1]; i++)
    {
      const IrFlatSeg *s = &flat->segs[flat->down[i]];
      if (flat->v[s->v].seeded)
        return flat->v[s->v].seed_x + s->vdx - s->udx;
    }
  return n > 0 ? sum / n : otherwise;
}

/* @x holds the free places on entry and the kept ones on return. */
static void
place_by_seed (IrFlat *flat, double *x)
{
  g_autofree double *want = g_new (double, MAX (1, flat->n_vertices));
  g_autofree Pool *pools = g_new (Pool, MAX (1, flat->n_vertices));
  double offset = 0;
  gint32 n = 0;

  for (gint32 v = 0; v < flat->n_real; v++)
    if (flat->v[v].seeded)
      {
        offset += flat->v[v].seed_x - x[v];
        n++;
      }
  if (n == 0)
    return;
  for (gint32 l = 0; l < flat->n_layers; l++)
    {
      for (gint32 i = flat->layer_start[l]; i < flat->layer_start[l + 1]; i++)
        {
          gint32 v = flat->order[i];
          want[v] = flat->v[v].seeded ? flat->v[v].seed_x : wanted (flat, v, x, x[v] + offset / n);
        }
      pool_layer (flat, l, want, pools, x);
    }
}

/* Sets x of every vertex. Centres are whole px and neighbours keep the distance of
 * ir_flat_gap(). Cost: O(n + s). Source: Brandes, Koepf 2002, "Fast and Simple Horizontal
 * Coordinate Assignment". */
gboolean
ir_flat_place (IrFlat *flat, GCancellable *cancellable, GError **error)
{
  g_autofree double *x = g_new0 (double, MAX (1, flat->n_vertices));

  if (!place_freely (flat, x, cancellable, error))
    return FALSE;
  if (flat->keep == IR_LAYOUT_KEEP_PLACES)
    place_by_seed (flat, x);
  for (gint32 v = 0; v < flat->n_vertices; v++)
    flat->v[v].x = floor (x[v] + 0.5);
  return TRUE;
}
