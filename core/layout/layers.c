#include "config.h"

/* Cycles and layers.
 *
 * Where the caller does not say which edges close a cycle, a depth-first search
 * marks those that do; they are left out
 * of everything below and drawn as loops beside the picture. Layers are
 * longest paths from the sources, followed by a balancing that pulls vertices
 * to the side where more of their edges are: constants and the little chains
 * that prepare shapes come to lie just above their users. It is the local
 * search form of network simplex (Gansner et al. 1993, 2.3), linear per round. */

#include "core/layout/layout-private.h"

/* Adjacency of the caller's vertices by edges that are not back edges. */
typedef struct
{
  gint32 *out_start, *out; /* target vertices */
  gint32 *in_start, *in;   /* source vertices */
} Adjacency;

static void
adjacency_clear (Adjacency *adj)
{
  g_free (adj->out_start);
  g_free (adj->out);
  g_free (adj->in_start);
  g_free (adj->in);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Adjacency, adjacency_clear)

static void
adjacency_fill (Adjacency *adj, const IrFlat *flat)
{
  const gint32 n = flat->n_real;

  adj->out_start = g_new0 (gint32, n + 1);
  adj->in_start = g_new0 (gint32, n + 1);
  for (gint32 i = 0; i < flat->n_edges; i++)
    if (flat->edges[i].route != IR_FLAT_BACK)
      {
        adj->out_start[flat->nets[flat->edges[i].net].src + 1]++;
        adj->in_start[flat->edges[i].dst + 1]++;
      }
  for (gint32 i = 0; i < n; i++)
    {
      adj->out_start[i + 1] += adj->out_start[i];
      adj->in_start[i + 1] += adj->in_start[i];
    }

  g_autofree gint32 *out_at = g_memdup2 (adj->out_start, sizeof (gint32) * (gsize) (n + 1));
  g_autofree gint32 *in_at = g_memdup2 (adj->in_start, sizeof (gint32) * (gsize) (n + 1));
  adj->out = g_new (gint32, MAX (1, adj->out_start[n]));
  adj->in = g_new (gint32, MAX (1, adj->in_start[n]));
  for (gint32 i = 0; i < flat->n_edges; i++)
    {
      const IrFlatEdge *e = &flat->edges[i];
      if (e->route == IR_FLAT_BACK)
        continue;
      gint32 src = flat->nets[e->net].src;
      adj->out[out_at[src]++] = e->dst;
      adj->in[in_at[e->dst]++] = src;
    }
}

/* The search goes net by net; @net_start lists the nets of a vertex. */
static void
visit_component (IrFlat *flat,
                 gint32 root,
                 const gint32 *net_start,
                 const gint32 *nets,
                 guint8 *colour,
                 gint32 *stack,
                 gint32 *at_net,
                 gint32 *at_edge)
{
  gint32 depth = 0;

  stack[depth++] = root;
  colour[root] = 1;
  while (depth > 0)
    {
      gint32 v = stack[depth - 1];
      if (at_net[v] == net_start[v + 1])
        {
          colour[v] = 2;
          depth--;
          continue;
        }
      const IrFlatNet *net = &flat->nets[nets[at_net[v]]];
      if (at_edge[v] == net->n)
        {
          at_net[v]++;
          at_edge[v] = 0;
          continue;
        }
      IrFlatEdge *e = &flat->edges[net->first + at_edge[v]++];
      if (e->route == IR_FLAT_BACK)
        continue;
      if (colour[e->dst] == 1)
        e->route = IR_FLAT_BACK;
      else if (colour[e->dst] == 0)
        {
          colour[e->dst] = 1;
          stack[depth++] = e->dst;
        }
    }
}

static void
break_cycles (IrFlat *flat)
{
  const gint32 n = flat->n_real;
  g_autofree gint32 *net_start = g_new0 (gint32, n + 1);
  g_autofree gint32 *nets = g_new (gint32, MAX (1, flat->n_nets));
  g_autofree guint8 *colour = g_new0 (guint8, MAX (1, n));
  g_autofree guint8 *has_input = g_new0 (guint8, MAX (1, n));
  g_autofree gint32 *stack = g_new (gint32, MAX (1, n));
  g_autofree gint32 *at_net = g_new (gint32, n + 1);
  g_autofree gint32 *at_edge = g_new0 (gint32, MAX (1, n));

  for (gint32 k = 0; k < flat->n_nets; k++)
    net_start[flat->nets[k].src + 1]++;
  for (gint32 v = 0; v < n; v++)
    net_start[v + 1] += net_start[v];
  memcpy (at_net, net_start, sizeof (gint32) * (gsize) (n + 1));
  for (gint32 k = 0; k < flat->n_nets; k++)
    nets[at_net[flat->nets[k].src]++] = k;
  memcpy (at_net, net_start, sizeof (gint32) * (gsize) (n + 1));

  for (gint32 i = 0; i < flat->n_edges; i++)
    has_input[flat->edges[i].dst] |= flat->edges[i].route != IR_FLAT_BACK;
  for (int pass = 0; pass < 2; pass++)
    for (gint32 v = 0; v < n; v++)
      if (colour[v] == 0 && (pass == 1 || !has_input[v]))
        visit_component (flat, v, net_start, nets, colour, stack, at_net, at_edge);
}

/* Topological order; @order has room for every vertex. */
static void
sort_topologically (const IrFlat *flat, const Adjacency *adj, gint32 *order)
{
  const gint32 n = flat->n_real;
  g_autofree gint32 *missing = g_new (gint32, MAX (1, n));
  gint32 head = 0, tail = 0;

  for (gint32 v = 0; v < n; v++)
    {
      missing[v] = adj->in_start[v + 1] - adj->in_start[v];
      if (missing[v] == 0)
        order[tail++] = v;
    }
  while (head < tail)
    {
      gint32 v = order[head++];
      for (gint32 i = adj->out_start[v]; i < adj->out_start[v + 1]; i++)
        if (--missing[adj->out[i]] == 0)
          order[tail++] = adj->out[i];
    }
  g_assert (tail == n);
}

/* Marks the in-edges of a vertex that do not hold it back: they come from
 * vertices that feed nothing else and float themselves. */
static void
count_anchors (const IrFlat *flat, const Adjacency *adj, const gint32 *order, gint32 *anchors)
{
  g_autofree guint8 *floats = g_new0 (guint8, MAX (1, flat->n_real));

  for (gint32 k = 0; k < flat->n_real; k++)
    {
      gint32 v = order[k];
      anchors[v] = 0;
      for (gint32 i = adj->in_start[v]; i < adj->in_start[v + 1]; i++)
        {
          gint32 u = adj->in[i];
          if (!floats[u] || adj->out_start[u + 1] - adj->out_start[u] != 1)
            anchors[v]++;
        }
      floats[v] = anchors[v] == 0 && flat->v[v].kind == IR_FLAT_BOX;
    }
}

static gboolean
is_pinned (const IrFlat *flat, const IrFlatVertex *v)
{
  return v->kind != IR_FLAT_BOX || (flat->keep == IR_LAYOUT_KEEP_PLACES && v->seeded);
}

static void
pull_down (IrFlat *flat, const Adjacency *adj, const gint32 *order, const gint32 *anchors)
{
  for (gint32 k = flat->n_real - 1; k >= 0; k--)
    {
      IrFlatVertex *v = &flat->v[order[k]];
      gint32 first = adj->out_start[order[k]], last = adj->out_start[order[k] + 1];
      gint32 low = G_MAXINT32;

      if (first == last || is_pinned (flat, v) || anchors[order[k]] > last - first)
        continue;
      for (gint32 i = first; i < last; i++)
        low = MIN (low, flat->v[adj->out[i]].layer - 1);
      v->layer = MAX (v->layer, low);
    }
}

static void
pull_up (IrFlat *flat, const Adjacency *adj, const gint32 *order, const gint32 *anchors)
{
  for (gint32 k = 0; k < flat->n_real; k++)
    {
      IrFlatVertex *v = &flat->v[order[k]];
      gint32 first = adj->in_start[order[k]], last = adj->in_start[order[k] + 1];
      gint32 n_out = adj->out_start[order[k] + 1] - adj->out_start[order[k]];
      gint32 high = 0;

      if (first == last || is_pinned (flat, v) || anchors[order[k]] <= n_out)
        continue;
      for (gint32 i = first; i < last; i++)
        high = MAX (high, flat->v[adj->in[i]].layer + 1);
      v->layer = MIN (v->layer, high);
    }
}

static void
pin_ports (IrFlat *flat)
{
  gint32 last = -1;

  for (gint32 i = 0; i < flat->n_real; i++)
    if (flat->v[i].kind != IR_FLAT_OUT_PORT)
      last = MAX (last, flat->v[i].layer);
  for (gint32 i = 0; i < flat->n_real; i++)
    if (flat->v[i].kind == IR_FLAT_OUT_PORT)
      flat->v[i].layer = last + 1;
}

static void
normalise (IrFlat *flat)
{
  gint32 first = G_MAXINT32, last = -1;

  /* Empty layers at the top are part of what is kept. */
  if (flat->keep != IR_LAYOUT_KEEP_PLACES)
    for (gint32 i = 0; i < flat->n_real; i++)
      first = MIN (first, flat->v[i].layer);
  if (first == G_MAXINT32)
    first = 0;
  for (gint32 i = 0; i < flat->n_real; i++)
    {
      flat->v[i].layer -= first;
      last = MAX (last, flat->v[i].layer);
    }
  flat->n_layers = last + 1;
}

/* Marks the edges that close cycles and gives every vertex a layer, so that every other edge
 * leads to a deeper one. Cost: O(n + m) per round. */
gboolean
ir_flat_assign_layers (IrFlat *flat, GCancellable *cancellable, GError **error)
{
  g_auto (Adjacency) adj = { 0 };
  gboolean has_in_port = FALSE;

  break_cycles (flat);
  adjacency_fill (&adj, flat);
  g_autofree gint32 *order = g_new (gint32, MAX (1, flat->n_real));
  g_autofree gint32 *anchors = g_new (gint32, MAX (1, flat->n_real));
  sort_topologically (flat, &adj, order);
  count_anchors (flat, &adj, order, anchors);

  for (gint32 i = 0; i < flat->n_real; i++)
    has_in_port |= flat->v[i].kind == IR_FLAT_IN_PORT;
  for (gint32 k = 0; k < flat->n_real; k++)
    {
      IrFlatVertex *v = &flat->v[order[k]];
      v->layer = has_in_port && v->kind != IR_FLAT_IN_PORT ? 1 : 0;
      if (flat->keep == IR_LAYOUT_KEEP_PLACES && v->seeded && v->kind == IR_FLAT_BOX)
        v->layer = MAX (v->layer, v->seed_layer);
      for (gint32 i = adj.in_start[order[k]]; i < adj.in_start[order[k] + 1]; i++)
        v->layer = MAX (v->layer, flat->v[adj.in[i]].layer + 1);
    }
  pin_ports (flat);

  for (int round = 0; round < 3; round++)
    {
      if (g_cancellable_set_error_if_cancelled (cancellable, error))
        return FALSE;
      pull_down (flat, &adj, order, anchors);
      pull_up (flat, &adj, order, anchors);
    }
  pull_down (flat, &adj, order, anchors);
  pin_ports (flat);
  normalise (flat);
  return TRUE;
}
