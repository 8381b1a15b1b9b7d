#include "config.h"

/* Long edges. A net gets one trunk: a vertex in each layer between its source
 * and its deepest near consumer, and all consumers branch off it. Trunks are
 * what costs time, so they have a budget that is linear in the input; the
 * longest edges, those which do not fit in it, become far edges and run in a
 * lane beside the picture (routing.c) at a cost that does not depend on their
 * length. Only graphs with thousands of long edges ever have any. */

#include "core/layout/layout-private.h"

#define TRUNKS_FREE       20000
#define TRUNKS_PER_OBJECT 2

static gint32
edge_span (const IrFlat *flat, const IrFlatEdge *e)
{
  return flat->v[e->dst].layer - flat->v[flat->nets[e->net].src].layer - 1;
}

/* Number of trunk vertices if edges longer than @limit run in lanes. */
static gint64
trunks_needed (const IrFlat *flat, gint32 limit)
{
  gint64 total = 0;

  for (gint32 k = 0; k < flat->n_nets; k++)
    {
      gint32 longest = 0;
      for (gint32 i = 0; i < flat->nets[k].n; i++)
        {
          const IrFlatEdge *e = &flat->edges[flat->nets[k].first + i];
          gint32 span = e->route == IR_FLAT_BACK ? 0 : edge_span (flat, e);
          if (span <= limit)
            longest = MAX (longest, span);
        }
      total += longest;
    }
  return total;
}

static gint32
find_limit (const IrFlat *flat)
{
  const gint64 budget = TRUNKS_FREE + TRUNKS_PER_OBJECT * ((gint64) flat->n_real + flat->n_edges);
  gint32 lo = 0, hi = flat->n_layers;

  if (trunks_needed (flat, hi) <= budget)
    return hi;
  while (lo + 1 < hi)
    {
      gint32 mid = lo + (hi - lo) / 2;
      if (trunks_needed (flat, mid) <= budget)
        lo = mid;
      else
        hi = mid;
    }
  return lo;
}

static void
seed_trunk (IrFlat *flat, const IrFlatNet *net)
{
  const IrFlatSeedTrunk *seed = flat->seed_trunks
                                    ? g_hash_table_lookup (flat->seed_trunks, &net->key)
                                    : NULL;

  if (seed == NULL || seed->n == 0)
    return;
  for (gint32 i = 0; i < net->n_trunk; i++)
    {
      IrFlatVertex *v = &flat->v[net->trunk + i];
      v->seeded = TRUE;
      v->seed_x = seed->x[MIN ((guint) i, seed->n - 1)];
    }
}

static void
add_trunk_vertices (IrFlat *flat, gint32 limit)
{
  gint64 total = trunks_needed (flat, limit);
  gint32 next = flat->n_real;

  flat->n_vertices = flat->n_real + (gint32) total;
  flat->v = g_renew (IrFlatVertex, flat->v, MAX (1, flat->n_vertices));
  for (gint32 k = 0; k < flat->n_nets; k++)
    {
      IrFlatNet *net = &flat->nets[k];
      net->trunk = next;
      net->n_trunk = 0;
      for (gint32 i = 0; i < net->n; i++)
        {
          IrFlatEdge *e = &flat->edges[net->first + i];
          if (e->route == IR_FLAT_BACK)
            continue;
          gint32 span = edge_span (flat, e);
          e->route = span <= limit ? IR_FLAT_NEAR : IR_FLAT_FAR;
          if (span <= limit)
            net->n_trunk = MAX (net->n_trunk, span);
        }
      for (gint32 i = 0; i < net->n_trunk; i++)
        flat->v[next++] = (IrFlatVertex){
          .kind = IR_FLAT_TRUNK, .width = 2, .net = k, .layer = flat->v[net->src].layer + 1 + i
        };
      seed_trunk (flat, net);
    }
}

static void
add_segments (IrFlat *flat)
{
  gint32 n_near = 0, s = 0;

  for (gint32 i = 0; i < flat->n_edges; i++)
    n_near += flat->edges[i].route == IR_FLAT_NEAR;
  flat->segs = g_new (IrFlatSeg, MAX (1, n_near + flat->n_vertices - flat->n_real));
  for (gint32 k = 0; k < flat->n_nets; k++)
    {
      const IrFlatNet *net = &flat->nets[k];
      for (gint32 i = 0; i < net->n_trunk; i++)
        flat->segs[s++] = (IrFlatSeg){ .u = i == 0 ? net->src : net->trunk + i - 1,
                                       .v = net->trunk + i,
                                       .udx = i == 0 ? net->dx : 0,
                                       .inner = i > 0 };
      for (gint32 i = 0; i < net->n; i++)
        {
          const IrFlatEdge *e = &flat->edges[net->first + i];
          if (e->route != IR_FLAT_NEAR)
            continue;
          gint32 span = edge_span (flat, e);
          flat->segs[s++] = (IrFlatSeg){ .u = span == 0 ? net->src : net->trunk + span - 1,
                                         .v = e->dst,
                                         .udx = span == 0 ? net->dx : 0,
                                         .vdx = e->dx };
        }
    }
  flat->n_segs = s;
}

static int
compare_by_udx (gconstpointer a, gconstpointer b, gpointer data)
{
  const IrFlatSeg *segs = data;
  gint32 i = *(const gint32 *) a, j = *(const gint32 *) b;

  if (segs[i].udx != segs[j].udx)
    return segs[i].udx < segs[j].udx ? -1 : 1;
  return i - j;
}

static int
compare_by_vdx (gconstpointer a, gconstpointer b, gpointer data)
{
  const IrFlatSeg *segs = data;
  gint32 i = *(const gint32 *) a, j = *(const gint32 *) b;

  if (segs[i].vdx != segs[j].vdx)
    return segs[i].vdx < segs[j].vdx ? -1 : 1;
  return i - j;
}

static void
index_segments (IrFlat *flat)
{
  const gint32 n = flat->n_vertices;

  flat->up_start = g_new0 (gint32, n + 1);
  flat->down_start = g_new0 (gint32, n + 1);
  flat->up = g_new (gint32, MAX (1, flat->n_segs));
  flat->down = g_new (gint32, MAX (1, flat->n_segs));
  for (gint32 s = 0; s < flat->n_segs; s++)
    {
      flat->down_start[flat->segs[s].u + 1]++;
      flat->up_start[flat->segs[s].v + 1]++;
    }
  for (gint32 v = 0; v < n; v++)
    {
      flat->down_start[v + 1] += flat->down_start[v];
      flat->up_start[v + 1] += flat->up_start[v];
    }
  g_autofree gint32 *up_at = g_memdup2 (flat->up_start, sizeof (gint32) * (gsize) (n + 1));
  g_autofree gint32 *down_at = g_memdup2 (flat->down_start, sizeof (gint32) * (gsize) (n + 1));
  for (gint32 s = 0; s < flat->n_segs; s++)
    {
      flat->down[down_at[flat->segs[s].u]++] = s;
      flat->up[up_at[flat->segs[s].v]++] = s;
    }
  for (gint32 v = 0; v < n; v++)
    {
      gint32 n_up = flat->up_start[v + 1] - flat->up_start[v];
      gint32 n_down = flat->down_start[v + 1] - flat->down_start[v];
      if (n_up > 1)
        g_qsort_with_data (flat->up + flat->up_start[v], n_up, sizeof (gint32), compare_by_vdx,
                           flat->segs);
      if (n_down > 1)
        g_qsort_with_data (flat->down + flat->down_start[v], n_down, sizeof (gint32),
                           compare_by_udx, flat->segs);
    }
}

static void
index_layers (IrFlat *flat)
{
  flat->layer_start = g_new0 (gint32, flat->n_layers + 1);
  flat->order = g_new (gint32, MAX (1, flat->n_vertices));
  for (gint32 v = 0; v < flat->n_vertices; v++)
    flat->layer_start[flat->v[v].layer + 1]++;
  for (gint32 l = 0; l < flat->n_layers; l++)
    flat->layer_start[l + 1] += flat->layer_start[l];
}

/* Adds the trunk vertices and all segments between neighbouring layers, and decides which edges
 * run in lanes. At most 20,000 + 2 (n + m) vertices are added. Cost: O((n + m) log (layers)). */
void
ir_flat_make_trunks (IrFlat *flat)
{
  add_trunk_vertices (flat, find_limit (flat));
  add_segments (flat);
  index_segments (flat);
  index_layers (flat);
}
