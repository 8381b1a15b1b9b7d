#include "config.h"

/* Horizontal tracks, the y of the layers, and the lines.
 *
 * A wire is what one net does in one channel (the space between two layers):
 * pins at its upper and lower border, joined by one horizontal line. Wires
 * whose pins are apart need a track. Tracks are given as in ELK: of two wires
 * that overlap in x the one goes above that causes fewer crossings, and must
 * go above where its upper pin meets the other's lower pin; wires that overlap
 * never share a track. Where the "must" is circular (two lines that change
 * places) one wire is split in two tracks with a short vertical between.
 *
 *      |     |          pins of upper vertices
 *      +--+  |          track 0
 *         |  +-----+    track 1
 *         |        |    pins of lower vertices
 *
 * Far and back edges have a pin at their lane, outside of all boxes. */

#include "core/layout/layout-private.h"

#include <math.h>

#define PIN_CLEARANCE 5.0  /* px, closer verticals would look like one line */
#define TRACK_BOTTOM  18.0 /* px below the last one: an arrow head fits */
#define SQUEEZED_ENDS 22.0 /* px above and below the tracks, at the least */
#define LANE_GAP      12.0 /* px */
#define PORT_ROW_GAP  24.0 /* px between a row without boxes and the next one */
#define MAX_PAIRS     200000
#define MAX_WIRES     4000 /* per channel, for comparing all pairs */

typedef struct
{
  double x;
  gint32 wire;
  gboolean lower;
} Pin;

typedef struct
{
  gint32 channel;
  gint32 first_upper, n_upper; /* into pin_x, sorted */
  gint32 first_lower, n_lower;
  double lo, hi;     /* px, extent of the pins */
  double score;      /* > 0 wants to be above its neighbours */
  gint32 slot;       /* track; lower part if split */
  gint32 split_slot; /* track of the upper part, or -1 */
  double mid;        /* px, x of the vertical between the parts */
} Wire;

typedef struct
{
  gint32 net;
  gint32 first, last; /* channels, first <= last */
  gboolean right;
  double x;
} Lane;

typedef struct
{
  IrFlat *flat;
  GArray *wires;      /* of Wire */
  GArray *pins;       /* of Pin */
  GArray *lanes;      /* of Lane */
  double *pin_x;      /* pins sorted by wire, upper ones first, by x */
  gint32 *by_channel; /* wires sorted by channel */
  gint32 *channel_start;
  double *channel_y; /* px, top of each channel */
  double *layer_y;   /* px, top of each layer */
  double *layer_h;   /* px */
  double *pitch;     /* px between the tracks of each channel */
  double *lead;      /* px above the first track of each channel */
} Router;

static void
router_clear (Router *router)
{
  g_clear_pointer (&router->wires, g_array_unref);
  g_clear_pointer (&router->pins, g_array_unref);
  g_clear_pointer (&router->lanes, g_array_unref);
  g_free (router->pin_x);
  g_free (router->by_channel);
  g_free (router->channel_start);
  g_free (router->channel_y);
  g_free (router->layer_y);
  g_free (router->layer_h);
  g_free (router->pitch);
  g_free (router->lead);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Router, router_clear)

static Wire *
wire_at (const Router *router, gint32 i)
{
  return &g_array_index (router->wires, Wire, i);
}

static gint32
add_wire (Router *router, gint32 channel)
{
  Wire wire = { .channel = channel, .split_slot = -1 };

  g_array_append_val (router->wires, wire);
  return (gint32) router->wires->len - 1;
}

static void
add_pin (Router *router, gint32 wire, double x, gboolean lower)
{
  Pin pin = { .x = x, .wire = wire, .lower = lower };

  g_array_append_val (router->pins, pin);
}

static double
source_x (const IrFlat *flat, const IrFlatNet *net)
{
  return flat->v[net->src].x + net->dx;
}

static double
target_x (const IrFlat *flat, const IrFlatEdge *e)
{
  return flat->v[e->dst].x + e->dx;
}

/* Channel c lies above layer c; channel n_layers below the last one. */
static void
make_trunk_wires (Router *router, IrFlatNet *net)
{
  const IrFlat *flat = router->flat;
  gint32 channel = flat->v[net->src].layer + 1;

  net->wire = (gint32) router->wires->len;
  for (gint32 i = 0; i <= net->n_trunk; i++)
    {
      gint32 wire = add_wire (router, channel + i);
      add_pin (router, wire, i == 0 ? source_x (flat, net) : flat->v[net->trunk + i - 1].x, FALSE);
      if (i < net->n_trunk)
        add_pin (router, wire, flat->v[net->trunk + i].x, TRUE);
    }
  for (gint32 i = 0; i < net->n; i++)
    {
      IrFlatEdge *e = &flat->edges[net->first + i];
      if (e->route != IR_FLAT_NEAR)
        continue;
      e->wire = net->wire + flat->v[e->dst].layer - channel;
      add_pin (router, e->wire, target_x (flat, e), TRUE);
    }
}

static gint32
add_lane (Router *router, gint32 net, gint32 first, gint32 last, double centre, double mean)
{
  Lane lane = { .net = net, .first = first, .last = last, .right = mean >= centre };

  g_array_append_val (router->lanes, lane);
  return (gint32) router->lanes->len - 1;
}

static void
make_lanes (Router *router, double centre)
{
  const IrFlat *flat = router->flat;

  for (gint32 k = 0; k < flat->n_nets; k++)
    {
      IrFlatNet *net = &flat->nets[k];
      gint32 own = flat->v[net->src].layer + 1, deepest = -1, highest = G_MAXINT32;
      gint32 n_down = 0, n_up = 0;
      double down = source_x (flat, net), up = down;
      for (gint32 i = 0; i < net->n; i++)
        {
          const IrFlatEdge *e = &flat->edges[net->first + i];
          gint32 channel = flat->v[e->dst].layer;
          if (e->route == IR_FLAT_FAR)
            down += target_x (flat, e), n_down++, deepest = MAX (deepest, channel);
          else if (e->route == IR_FLAT_BACK)
            up += target_x (flat, e), n_up++, highest = MIN (highest, channel);
        }
      net->lane_down = net->lane_up = -1;
      if (n_down > 0)
        net->lane_down = add_lane (router, k, own, deepest, centre, down / (n_down + 1));
      if (n_up > 0)
        net->lane_up = add_lane (router, k, highest, own, centre, up / (n_up + 1));
    }
}

static int
compare_lanes (gconstpointer a, gconstpointer b, gpointer data)
{
  const Lane *lanes = data;
  const Lane *x = &lanes[*(const gint32 *) a], *y = &lanes[*(const gint32 *) b];

  if (x->first != y->first)
    return x->first - y->first;
  if (x->last != y->last)
    return x->last - y->last;
  return x->net - y->net;
}

/* The innermost free lane for each, in order of their first channel. A binary
 * tree over the lanes holds the least "free from" of each half. */
static void
place_lanes (Router *router, double left, double right)
{
  gint32 n = (gint32) router->lanes->len, size = 1;
  Lane *lanes = (Lane *) (void *) router->lanes->data;

  if (n == 0)
    return;
  while (size < n)
    size *= 2;
  g_autofree gint32 *order = g_new (gint32, n);
  g_autofree gint32 *free_from = g_new0 (gint32, 4 * (gsize) size);
  for (gint32 i = 0; i < n; i++)
    order[i] = i;
  g_qsort_with_data (order, n, sizeof (gint32), compare_lanes, lanes);
  for (gint32 i = 0; i < n; i++)
    {
      Lane *lane = &lanes[order[i]];
      gint32 *tree = free_from + (lane->right ? 2 * (gsize) size : 0);
      gint32 k = 1;
      while (k < size)
        k = tree[2 * k] <= lane->first ? 2 * k : 2 * k + 1;
      double away = LANE_GAP * (k - size + 2);
      lane->x = lane->right ? right + away : left - away;
      tree[k] = lane->last + 1;
      for (k /= 2; k >= 1; k /= 2)
        tree[k] = MIN (tree[2 * k], tree[2 * k + 1]);
    }
}

static int
compare_edges_by_layer (gconstpointer a, gconstpointer b, gpointer data)
{
  const IrFlat *flat = data;
  gint32 i = *(const gint32 *) a, j = *(const gint32 *) b;
  gint32 x = flat->v[flat->edges[i].dst].layer, y = flat->v[flat->edges[j].dst].layer;

  return x != y ? x - y : i - j;
}

/* The wires where a lane is left, one per channel with a target. */
static void
make_lane_wires (Router *router, const Lane *lane, gboolean down)
{
  IrFlat *flat = router->flat;
  const IrFlatNet *net = &flat->nets[lane->net];
  guint8 route = down ? IR_FLAT_FAR : IR_FLAT_BACK;
  gint32 own = flat->v[net->src].layer + 1, channel = -1, wire = -1, n = 0;
  g_autofree gint32 *list = g_new (gint32, net->n);

  for (gint32 i = 0; i < net->n; i++)
    if (flat->edges[net->first + i].route == route)
      list[n++] = net->first + i;
  g_qsort_with_data (list, n, sizeof (gint32), compare_edges_by_layer, flat);

  add_pin (router, net->wire, lane->x, down);
  for (gint32 i = 0; i < n; i++)
    {
      IrFlatEdge *e = &flat->edges[list[i]];
      gint32 c = flat->v[e->dst].layer;
      if (c == own)
        wire = net->wire;
      else if (c != channel)
        {
          wire = add_wire (router, c);
          if (down || c > lane->first)
            add_pin (router, wire, lane->x, FALSE);
          if (!down || c < lane->last)
            add_pin (router, wire, lane->x, TRUE);
        }
      channel = c;
      e->wire = wire;
      add_pin (router, wire, target_x (flat, e), TRUE);
    }
}

static int
compare_pins (const void *a, const void *b)
{
  const Pin *p = a, *q = b;

  if (p->wire != q->wire)
    return p->wire - q->wire;
  if (p->lower != q->lower)
    return p->lower - q->lower;
  return p->x < q->x ? -1 : p->x > q->x;
}

static void
index_pins (Router *router)
{
  gint32 n = (gint32) router->pins->len;
  Pin *pins = (Pin *) (void *) router->pins->data;

  if (n > 1)
    qsort (pins, (size_t) n, sizeof (Pin), compare_pins);
  router->pin_x = g_new (double, MAX (1, n));
  for (gint32 i = 0; i < n; i++)
    {
      Wire *wire = wire_at (router, pins[i].wire);
      gboolean first = wire->n_upper + wire->n_lower == 0;
      router->pin_x[i] = pins[i].x;
      wire->lo = first ? pins[i].x : MIN (wire->lo, pins[i].x);
      wire->hi = first ? pins[i].x : MAX (wire->hi, pins[i].x);
      if (pins[i].lower && wire->n_lower++ == 0)
        wire->first_lower = i;
      if (!pins[i].lower && wire->n_upper++ == 0)
        wire->first_upper = i;
    }
}

static void
index_channels (Router *router)
{
  const gint32 n_channels = router->flat->n_layers + 1;

  router->channel_start = g_new0 (gint32, n_channels + 1);
  router->by_channel = g_new (gint32, MAX (1, router->wires->len));
  for (guint i = 0; i < router->wires->len; i++)
    router->channel_start[wire_at (router, (gint32) i)->channel + 1]++;
  for (gint32 c = 0; c < n_channels; c++)
    router->channel_start[c + 1] += router->channel_start[c];
  g_autofree gint32 *at = g_memdup2 (router->channel_start,
                                     sizeof (gint32) * (gsize) (n_channels + 1));
  for (guint i = 0; i < router->wires->len; i++)
    router->by_channel[at[wire_at (router, (gint32) i)->channel]++] = (gint32) i;
}

/* Number of sorted @x in (lo, hi). */
static gint32
count_between (const double *x, gint32 n, double lo, double hi)
{
  gint32 a = 0, b = n, end = n;

  while (a < b)
    {
      gint32 m = (a + b) / 2;
      if (x[m] > lo)
        b = m;
      else
        a = m + 1;
    }
  for (b = a; b < end;)
    {
      gint32 m = (b + end) / 2;
      if (x[m] < hi)
        b = m + 1;
      else
        end = m;
    }
  return b - a;
}

/* Crossings of the two wires if @a is above @b. */
static gint32
crossings_above (const Router *router, const Wire *a, const Wire *b)
{
  return count_between (router->pin_x + a->first_lower, a->n_lower, b->lo, b->hi) +
         count_between (router->pin_x + b->first_upper, b->n_upper, a->lo, a->hi);
}

/* Whether an upper pin of @a lies over a lower pin of @b. */
static gboolean
must_be_above (const Router *router, const Wire *a, const Wire *b)
{
  const double *x = router->pin_x + a->first_upper, *y = router->pin_x + b->first_lower;

  if (a->n_upper <= b->n_lower)
    {
      for (gint32 i = 0; i < a->n_upper; i++)
        if (count_between (y, b->n_lower, x[i] - PIN_CLEARANCE, x[i] + PIN_CLEARANCE) > 0)
          return TRUE;
      return FALSE;
    }
  for (gint32 i = 0; i < b->n_lower; i++)
    if (count_between (x, a->n_upper, y[i] - PIN_CLEARANCE, y[i] + PIN_CLEARANCE) > 0)
      return TRUE;
  return FALSE;
}

typedef struct
{
  gint32 above, below; /* indices into the wires of the channel */
} Must;

/* The wires of one channel that need a track. */
typedef struct
{
  Router *router;
  gint32 *wires; /* sorted by lo */
  gint32 n;
  GArray *musts;  /* of Must */
  double *pin_xs; /* (nullable): all pins of the channel, sorted */
  gint32 n_pin_xs;
} Channel;

static void
channel_clear (Channel *channel)
{
  g_free (channel->wires);
  g_clear_pointer (&channel->musts, g_array_unref);
  g_free (channel->pin_xs);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Channel, channel_clear)

static int
compare_wires_by_lo (gconstpointer a, gconstpointer b, gpointer data)
{
  const Router *router = data;
  const Wire *x = wire_at (router, *(const gint32 *) a), *y = wire_at (router, *(const gint32 *) b);

  if (x->lo != y->lo)
    return x->lo < y->lo ? -1 : 1;
  return *(const gint32 *) a - *(const gint32 *) b;
}

static int
compare_doubles (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

static void
channel_collect (Channel *channel, gint32 c)
{
  Router *router = channel->router;
  gint32 first = router->channel_start[c], last = router->channel_start[c + 1];

  channel->wires = g_new (gint32, MAX (1, last - first));
  for (gint32 i = first; i < last; i++)
    {
      const Wire *wire = wire_at (router, router->by_channel[i]);
      if (wire->hi - wire->lo >= 0.5)
        channel->wires[channel->n++] = router->by_channel[i];
    }
  g_qsort_with_data (channel->wires, channel->n, sizeof (gint32), compare_wires_by_lo, router);
}

/* Scores and constraints of all pairs that overlap. Returns %FALSE if they are
 * too many to look at. */
static gboolean
channel_compare (Channel *channel)
{
  Router *router = channel->router;
  gint64 n_pairs = 0;

  if (channel->n > MAX_WIRES)
    return FALSE;
  channel->musts = g_array_new (FALSE, FALSE, sizeof (Must));
  for (gint32 i = 0; i < channel->n; i++)
    for (gint32 j = i + 1; j < channel->n; j++)
      {
        Wire *a = wire_at (router, channel->wires[i]), *b = wire_at (router, channel->wires[j]);
        if (b->lo >= a->hi + PIN_CLEARANCE)
          break;
        if (++n_pairs > MAX_PAIRS)
          return FALSE;
        gint32 over = crossings_above (router, a, b), under = crossings_above (router, b, a);
        a->score += under - over;
        b->score += over - under;
        if (must_be_above (router, a, b))
          g_array_append_vals (channel->musts, &(Must){ i, j }, 1);
        if (must_be_above (router, b, a))
          g_array_append_vals (channel->musts, &(Must){ j, i }, 1);
      }
  return TRUE;
}

static void
channel_sort_pins (Channel *channel)
{
  Router *router = channel->router;

  if (channel->n == 0 || channel->pin_xs != NULL)
    return;
  gint32 c = wire_at (router, channel->wires[0])->channel, n = 0;
  for (gint32 i = router->channel_start[c]; i < router->channel_start[c + 1]; i++)
    n += wire_at (router, router->by_channel[i])->n_upper +
         wire_at (router, router->by_channel[i])->n_lower;
  channel->pin_xs = g_new (double, MAX (1, n));
  for (gint32 i = router->channel_start[c]; i < router->channel_start[c + 1]; i++)
    {
      const Wire *wire = wire_at (router, router->by_channel[i]);
      for (gint32 k = 0; k < wire->n_upper; k++)
        channel->pin_xs[channel->n_pin_xs++] = router->pin_x[wire->first_upper + k];
      for (gint32 k = 0; k < wire->n_lower; k++)
        channel->pin_xs[channel->n_pin_xs++] = router->pin_x[wire->first_lower + k];
    }
  qsort (channel->pin_xs, (size_t) channel->n_pin_xs, sizeof (double), compare_doubles);
}

/* Cuts a wire in two: its upper pins on one track, its lower pins on another
 * below it, with a vertical between at an x that is free of pins. */
static void
channel_split (Channel *channel, gint32 i)
{
  Wire *wire = wire_at (channel->router, channel->wires[i]);
  double centre = floor ((wire->lo + wire->hi) / 2);

  if (wire->split_slot >= 0)
    return;
  channel_sort_pins (channel);
  wire->split_slot = 0;
  wire->mid = centre;
  for (int k = 0; k < 60; k++)
    {
      double x = centre + (k % 2 ? 1 : -1) * ((k + 1) / 2) * 6.0;
      if (count_between (channel->pin_xs, channel->n_pin_xs, x - PIN_CLEARANCE, x + PIN_CLEARANCE) >
          0)
        continue;
      wire->mid = x;
      break;
    }
  wire->lo = MIN (wire->lo, wire->mid);
  wire->hi = MAX (wire->hi, wire->mid);
}

/* Parts of wires: part 2 i is wire i (its lower half if split), 2 i + 1 the
 * upper half. Sorted so that every constraint points down, and by score
 * otherwise; a part that is left over stands on a cycle, and its wire is split. */
typedef struct
{
  gint32 *start, *below; /* constraints by part */
  gint32 *missing;
} Parts;

static void
parts_clear (Parts *parts)
{
  g_free (parts->start);
  g_free (parts->below);
  g_free (parts->missing);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Parts, parts_clear)

static gboolean
is_split (const Channel *channel, gint32 i)
{
  return wire_at (channel->router, channel->wires[i])->split_slot >= 0;
}

static void
parts_fill (Parts *parts, const Channel *channel)
{
  gint32 n = 2 * channel->n;

  parts->start = g_new0 (gint32, n + 1);
  parts->missing = g_new0 (gint32, n + 1);
  parts->below = g_new (gint32, channel->musts->len + (guint) channel->n + 1);
  for (int fill = 0; fill < 2; fill++)
    {
      for (guint k = 0; k < channel->musts->len + (guint) channel->n; k++)
        {
          gint32 from, to;
          if (k < channel->musts->len)
            {
              const Must *must = &g_array_index (channel->musts, Must, k);
              from = 2 * must->above + is_split (channel, must->above);
              to = 2 * must->below;
            }
          else
            {
              gint32 i = (gint32) (k - channel->musts->len);
              if (!is_split (channel, i))
                continue;
              from = 2 * i + 1;
              to = 2 * i;
            }
          if (fill)
            parts->below[parts->start[from]++] = to;
          else
            {
              parts->start[from + 1]++;
              parts->missing[to]++;
            }
        }
      if (!fill)
        for (gint32 i = 0; i < n; i++)
          parts->start[i + 1] += parts->start[i];
    }
  memmove (parts->start + 1, parts->start, sizeof (gint32) * (gsize) n);
  parts->start[0] = 0;
}

static double
part_score (const Channel *channel, gint32 part)
{
  return wire_at (channel->router, channel->wires[part / 2])->score;
}

/* A binary heap, highest score first, then lowest index. */
static gboolean
heap_before (const Channel *channel, gint32 a, gint32 b)
{
  double x = part_score (channel, a), y = part_score (channel, b);

  return x != y ? x > y : a < b;
}

static void
heap_push (const Channel *channel, gint32 *heap, gint32 *n, gint32 part)
{
  gint32 k = (*n)++;

  while (k > 0 && heap_before (channel, part, heap[(k - 1) / 2]))
    {
      heap[k] = heap[(k - 1) / 2];
      k = (k - 1) / 2;
    }
  heap[k] = part;
}

static gint32
heap_pop (const Channel *channel, gint32 *heap, gint32 *n)
{
  gint32 top = heap[0], part = heap[--*n], k = 0;

  for (;;)
    {
      gint32 child = 2 * k + 1;
      if (child >= *n)
        break;
      if (child + 1 < *n && heap_before (channel, heap[child + 1], heap[child]))
        child++;
      if (!heap_before (channel, heap[child], part))
        break;
      heap[k] = heap[child];
      k = child;
    }
  if (*n > 0)
    heap[k] = part;
  return top;
}

/* One attempt; returns the number of sorted parts. On a cycle the wire of the
 * best part that is left over is split. */
static gint32
channel_sort_parts (Channel *channel, gint32 *order, gboolean *complete)
{
  g_auto (Parts) parts = { 0 };
  g_autofree gint32 *heap = g_new (gint32, 2 * channel->n + 1);
  gint32 n_heap = 0, n = 0, total = 0, worst = -1;

  parts_fill (&parts, channel);
  for (gint32 p = 0; p < 2 * channel->n; p++)
    {
      if (p % 2 == 1 && !is_split (channel, p / 2))
        continue;
      total++;
      if (parts.missing[p] == 0)
        heap_push (channel, heap, &n_heap, p);
    }
  while (n_heap > 0)
    {
      gint32 p = heap_pop (channel, heap, &n_heap);
      order[n++] = p;
      parts.missing[p] = -1;
      for (gint32 i = parts.start[p]; i < parts.start[p + 1]; i++)
        if (--parts.missing[parts.below[i]] == 0)
          heap_push (channel, heap, &n_heap, parts.below[i]);
    }
  *complete = n == total;
  for (gint32 p = 0; !*complete && p < 2 * channel->n; p += 2)
    if (parts.missing[p] > 0 && !is_split (channel, p / 2) && parts.start[p + 1] > parts.start[p] &&
        (worst < 0 || heap_before (channel, p, worst)))
      worst = p;
  if (worst >= 0)
    channel_split (channel, worst / 2);
  else
    *complete = TRUE;
  return n;
}

static void
part_extent (const Channel *channel, gint32 part, double *lo, double *hi)
{
  const Router *router = channel->router;
  const Wire *wire = wire_at (router, channel->wires[part / 2]);

  *lo = wire->lo;
  *hi = wire->hi;
  if (wire->split_slot < 0)
    return;
  gint32 first = part % 2 ? wire->first_upper : wire->first_lower;
  gint32 n = part % 2 ? wire->n_upper : wire->n_lower;
  *lo = MIN (router->pin_x[first], wire->mid);
  *hi = MAX (router->pin_x[first + n - 1], wire->mid);
}

/* Each part in the first track below all earlier parts that it overlaps. */
static gint32
channel_fill_slots (Channel *channel, const gint32 *order, gint32 n)
{
  g_autofree double *lo = g_new (double, MAX (1, n));
  g_autofree double *hi = g_new (double, MAX (1, n));
  g_autofree gint32 *slot = g_new (gint32, MAX (1, n));
  gint32 n_slots = 0;

  for (gint32 k = 0; k < n; k++)
    {
      Wire *wire = wire_at (channel->router, channel->wires[order[k] / 2]);
      part_extent (channel, order[k], &lo[k], &hi[k]);
      slot[k] = 0;
      for (gint32 i = 0; i < k; i++)
        if (slot[i] >= slot[k] && lo[i] < hi[k] + PIN_CLEARANCE && lo[k] < hi[i] + PIN_CLEARANCE)
          slot[k] = slot[i] + 1;
      if (order[k] % 2)
        wire->split_slot = slot[k];
      else
        wire->slot = slot[k];
      n_slots = MAX (n_slots, slot[k] + 1);
    }
  return n_slots;
}

/* For channels with too many pairs: the left-edge algorithm, which gives the
 * fewest tracks and looks at nothing else. A heap holds the tracks by the end
 * of their last wire. */
static gint32
channel_fill_greedily (Channel *channel)
{
  Router *router = channel->router;
  g_autofree double *end = g_new (double, channel->n + 1);
  g_autofree gint32 *track = g_new (gint32, channel->n + 1);
  gint32 n = 0;

  for (gint32 i = 0; i < channel->n; i++)
    {
      Wire *wire = wire_at (router, channel->wires[i]);
      double last = wire->hi + PIN_CLEARANCE;
      gint32 k;
      if (n > 0 && end[0] < wire->lo)
        {
          gint32 t = track[0];
          for (k = 0; 2 * k + 1 < n;)
            {
              gint32 child = 2 * k + 1;
              child += child + 1 < n && end[child + 1] < end[child];
              if (end[child] >= last)
                break;
              end[k] = end[child];
              track[k] = track[child];
              k = child;
            }
          end[k] = last;
          track[k] = t;
          wire->slot = t;
          continue;
        }
      for (k = n; k > 0 && end[(k - 1) / 2] > last; k = (k - 1) / 2)
        {
          end[k] = end[(k - 1) / 2];
          track[k] = track[(k - 1) / 2];
        }
      end[k] = last;
      track[k] = wire->slot = n++;
    }
  return n;
}

static gint32
assign_tracks (Router *router, gint32 c)
{
  g_auto (Channel) channel = { .router = router };
  gboolean complete = FALSE;
  gint32 n = 0;

  channel_collect (&channel, c);
  if (channel.n == 0)
    return 0;
  if (!channel_compare (&channel))
    return channel_fill_greedily (&channel);
  g_autofree gint32 *order = g_new (gint32, 2 * channel.n);
  while (!complete)
    n = channel_sort_parts (&channel, order, &complete);
  return channel_fill_slots (&channel, order, n);
}

static void
measure_layers (Router *router)
{
  IrFlat *flat = router->flat;

  router->layer_h = g_new0 (double, flat->n_layers + 1);
  router->layer_y = g_new0 (double, flat->n_layers + 1);
  router->channel_y = g_new0 (double, flat->n_layers + 2);
  router->pitch = g_new0 (double, flat->n_layers + 1);
  router->lead = g_new0 (double, flat->n_layers + 1);
  for (gint32 v = 0; v < flat->n_vertices; v++)
    router->layer_h[flat->v[v].layer] = MAX (router->layer_h[flat->v[v].layer], flat->v[v].height);
}

static double
channel_height (Router *router, gint32 c, gint32 n_tracks)
{
  const IrFlat *flat = router->flat;
  double pitch = flat->track_gap, height = 0;

  /* A channel with hundreds of tracks is drawn tighter, or it would tear the
   * picture apart. */
  if (n_tracks > 60)
    pitch = MAX (3, floor (pitch * 60 / n_tracks));
  router->pitch[c] = pitch;
  router->lead[c] = flat->lead;
  if (n_tracks > 0)
    height = flat->lead + (n_tracks - 1) * pitch + TRACK_BOTTOM;
  if (c > 0 && c < flat->n_layers)
    {
      gboolean bare = router->layer_h[c - 1] == 0 || router->layer_h[c] == 0;
      height = MAX (height, bare ? MIN (PORT_ROW_GAP, flat->layer_gap) : flat->layer_gap);
    }
  return ceil (height / 8) * 8;
}

/* Squeezes the tracks into @room px, if they need more and can do with less:
 * better than moving all that lies below. */
static gboolean
channel_squeeze (Router *router, gint32 c, gint32 n_tracks, double room)
{
  if (room >= channel_height (router, c, n_tracks))
    return TRUE;
  if (n_tracks == 0 || room < SQUEEZED_ENDS + (n_tracks - 1) * 4)
    return n_tracks == 0 && room >= 8;
  router->lead[c] = SQUEEZED_ENDS / 2 - 3;
  router->pitch[c] = n_tracks > 1 ? floor ((room - SQUEEZED_ENDS) / (n_tracks - 1)) : 0;
  return TRUE;
}

/* The y of layers and channels; the previous top of a layer is kept if there is
 * room above it. */
static gboolean
stack_layers (Router *router, GCancellable *cancellable, GError **error)
{
  IrFlat *flat = router->flat;
  g_autofree double *seed = g_new (double, flat->n_layers + 1);
  double y = 0;

  for (gint32 l = 0; l <= flat->n_layers; l++)
    seed[l] = -G_MAXDOUBLE;
  if (flat->keep == IR_LAYOUT_KEEP_PLACES)
    for (gint32 v = 0; v < flat->n_real; v++)
      if (flat->v[v].seeded && flat->v[v].seed_layer == flat->v[v].layer)
        seed[flat->v[v].layer] = MAX (seed[flat->v[v].layer], flat->v[v].seed_top);

  for (gint32 c = 0; c <= flat->n_layers; c++)
    {
      gint32 n_tracks = assign_tracks (router, c);
      gboolean empty = c < flat->n_layers && flat->layer_start[c] == flat->layer_start[c + 1];
      if (c % 64 == 0 && g_cancellable_set_error_if_cancelled (cancellable, error))
        return FALSE;
      router->channel_y[c] = y;
      if (c == 0 && seed[0] > -G_MAXDOUBLE)
        router->channel_y[0] = y = seed[0] - channel_height (router, 0, n_tracks);
      if (c < flat->n_layers && c > 0 && seed[c] > y &&
          channel_squeeze (router, c, n_tracks, seed[c] - y))
        y = seed[c];
      else if (!empty || n_tracks > 0)
        y += channel_height (router, c, n_tracks);
      if (c < flat->n_layers)
        {
          router->layer_y[c] = y = MAX (y, seed[c]);
          y += router->layer_h[c];
        }
    }
  router->channel_y[flat->n_layers + 1] = y;

  for (gint32 v = 0; v < flat->n_vertices; v++)
    {
      IrFlatVertex *u = &flat->v[v];
      double room = router->layer_h[u->layer] - u->height;
      u->y = router->layer_y[u->layer] + floor (room / 2);
    }
  return TRUE;
}

static double
track_y (const Router *router, const Wire *wire, gboolean lower)
{
  gint32 slot = wire->split_slot >= 0 && !lower ? wire->split_slot : wire->slot;

  return router->channel_y[wire->channel] + router->lead[wire->channel] +
         slot * router->pitch[wire->channel];
}

static void
add_point (GArray *points, guint first, double x, double y)
{
  IrLayoutPoint p = { x, y };

  if (points->len >= first + 2)
    {
      IrLayoutPoint *a = &g_array_index (points, IrLayoutPoint, points->len - 2);
      IrLayoutPoint *b = &g_array_index (points, IrLayoutPoint, points->len - 1);
      if ((ABS (a->x - b->x) < 0.5 && ABS (b->x - x) < 0.5) ||
          (ABS (a->y - b->y) < 0.01 && ABS (b->y - y) < 0.01))
        {
          b->x = ABS (a->x - b->x) < 0.5 ? a->x : x;
          b->y = y;
          return;
        }
    }
  g_array_append_val (points, p);
}

/* From one pin of a wire to another. */
static void
follow_wire (const Router *router,
             guint first,
             const Wire *wire,
             double from_x,
             gboolean from_lower,
             double to_x,
             gboolean to_lower)
{
  GArray *points = router->flat->points;
  double from_y = track_y (router, wire, from_lower), to_y = track_y (router, wire, to_lower);

  if (ABS (from_x - to_x) < 0.5 && from_lower != to_lower)
    return;
  add_point (points, first, from_x, from_y);
  if (from_y != to_y)
    {
      add_point (points, first, wire->mid, from_y);
      add_point (points, first, wire->mid, to_y);
    }
  add_point (points, first, to_x, to_y);
}

static void
draw_edge (const Router *router, IrFlatEdge *e)
{
  const IrFlat *flat = router->flat;
  const IrFlatNet *net = &flat->nets[e->net];
  const IrFlatVertex *src = &flat->v[net->src], *dst = &flat->v[e->dst];
  double x = source_x (flat, net), end = target_x (flat, e);
  GArray *points = flat->points;
  guint first = points->len;

  e->first_point = first;
  add_point (points, first, x, src->y + src->height);
  if (e->route == IR_FLAT_NEAR)
    {
      gint32 n = dst->layer - src->layer;
      for (gint32 i = 0; i < n; i++)
        {
          double next = i + 1 < n ? flat->v[net->trunk + i].x : end;
          follow_wire (router, first, wire_at (router, net->wire + i), x, FALSE, next, TRUE);
          x = next;
        }
    }
  else if (e->wire == net->wire)
    follow_wire (router, first, wire_at (router, net->wire), x, FALSE, end, TRUE);
  else
    {
      gboolean down = e->route == IR_FLAT_FAR;
      const Lane *lane = &g_array_index (router->lanes, Lane, down ? net->lane_down : net->lane_up);
      follow_wire (router, first, wire_at (router, net->wire), x, FALSE, lane->x, down);
      follow_wire (router, first, wire_at (router, e->wire), lane->x, !down, end, TRUE);
    }
  add_point (points, first, end, dst->y);
  e->n_points = points->len - first;
}

static void
find_extent (const IrFlat *flat, double *left, double *right)
{
  *left = G_MAXDOUBLE;
  *right = -G_MAXDOUBLE;
  for (gint32 v = 0; v < flat->n_vertices; v++)
    {
      *left = MIN (*left, flat->v[v].x - flat->v[v].width / 2);
      *right = MAX (*right, flat->v[v].x + flat->v[v].width / 2);
    }
}

static void
find_bounds (const Router *router, double left, double right)
{
  IrFlat *flat = router->flat;
  gint32 last = flat->n_layers;

  for (guint i = 0; i < router->lanes->len; i++)
    {
      const Lane *lane = &g_array_index (router->lanes, Lane, i);
      left = MIN (left, lane->x);
      right = MAX (right, lane->x);
    }
  flat->box = (IrLayoutRect){ .x = left,
                              .y = router->channel_y[0],
                              .width = right - left,
                              .height = router->channel_y[last + 1] - router->channel_y[0] };
}

/* Sets y of every vertex, the points of every edge (from the bottom of its source to the top of
 * its target, all turns at right angles) and the bounds. Source: the routing of ELK layered
 * (Sander 2004, "Layout of directed hypergraphs with orthogonal hyperedges"); left-edge:
 * Hashimoto, Stevens 1971. */
gboolean
ir_flat_route (IrFlat *flat, GCancellable *cancellable, GError **error)
{
  g_auto (Router) router = { .flat = flat };
  double left, right;

  router.wires = g_array_new (FALSE, FALSE, sizeof (Wire));
  router.pins = g_array_new (FALSE, FALSE, sizeof (Pin));
  router.lanes = g_array_new (FALSE, FALSE, sizeof (Lane));
  find_extent (flat, &left, &right);
  for (gint32 k = 0; k < flat->n_nets; k++)
    make_trunk_wires (&router, &flat->nets[k]);
  make_lanes (&router, (left + right) / 2);
  place_lanes (&router, left, right);
  for (guint i = 0; i < router.lanes->len; i++)
    {
      const Lane *lane = &g_array_index (router.lanes, Lane, i);
      make_lane_wires (&router, lane, flat->nets[lane->net].lane_down == (gint32) i);
    }
  flat->n_lanes = router.lanes->len;
  index_pins (&router);
  index_channels (&router);
  measure_layers (&router);
  if (!stack_layers (&router, cancellable, error))
    return FALSE;
  for (gint32 i = 0; i < flat->n_edges; i++)
    draw_edge (&router, &flat->edges[i]);
  find_bounds (&router, left, right);
  return TRUE;
}
