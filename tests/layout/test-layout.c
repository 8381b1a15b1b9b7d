#include "config.h"

/* What every layout must hold, on fixed and on seeded random graphs. */

#include "tests/layout/graphs.h"

#include <math.h>
#include <string.h>

static IrLayout *
lay_out (const TestGraph *graph)
{
  IrLayoutInput input = test_graph_input (graph);
  g_autoptr (GError) error = NULL;
  IrLayout *layout = ir_layout_new (&input, NULL, &error);

  g_assert_no_error (error);
  g_assert_nonnull (layout);
  return layout;
}

static IrLayout *
lay_out_again (const TestGraph *graph, const IrLayout *previous, IrLayoutKeep keep)
{
  IrLayoutInput input = test_graph_input (graph);
  g_autoptr (GError) error = NULL;

  input.previous = previous;
  input.keep = keep;
  IrLayout *layout = ir_layout_new (&input, NULL, &error);
  g_assert_no_error (error);
  return layout;
}

static gboolean
rects_overlap (IrLayoutRect a, IrLayoutRect b)
{
  const double slack = 0.01;

  return a.x + slack < b.x + b.width && b.x + slack < a.x + a.width &&
         a.y + slack < b.y + b.height && b.y + slack < a.y + a.height;
}

static gboolean
rect_contains (IrLayoutRect a, IrLayoutRect b)
{
  const double slack = 1.01;

  return b.x >= a.x - slack && b.y >= a.y - slack && b.x + b.width <= a.x + a.width + slack &&
         b.y + b.height <= a.y + a.height + slack;
}

/* Frame or box @i of the list "boxes, then groups", and the group it is in. */
static IrLayoutRect
item_rect (const TestGraph *graph, const IrLayout *layout, guint i, gint32 *group)
{
  if (i < graph->boxes->len)
    {
      *group = g_array_index (graph->boxes, IrLayoutBox, i).group;
      return ir_layout_box (layout, i);
    }
  *group = g_array_index (graph->groups, IrLayoutGroup, i - graph->boxes->len).parent;
  return ir_layout_group (layout, i - graph->boxes->len);
}

typedef struct
{
  IrLayoutRect rect;
  gint32 group;
} Item;

static int
compare_items (gconstpointer a, gconstpointer b)
{
  const Item *x = a, *y = b;

  return x->rect.x < y->rect.x ? -1 : x->rect.x > y->rect.x;
}

/* Boxes and frames of one group are apart and lie within the group. */
static void
check_overlaps (const TestGraph *graph, const IrLayout *layout)
{
  guint n = graph->boxes->len + graph->groups->len;
  g_autoptr (GArray) items = g_array_new (FALSE, FALSE, sizeof (Item));

  for (guint i = 0; i < n; i++)
    {
      Item item;
      item.rect = item_rect (graph, layout, i, &item.group);
      g_assert_true (isfinite (item.rect.x) && isfinite (item.rect.y));
      g_assert_true (rect_contains (ir_layout_bounds (layout), item.rect));
      if (item.group >= 0)
        g_assert_true (rect_contains (ir_layout_group (layout, (guint) item.group), item.rect));
      g_array_append_val (items, item);
    }
  g_array_sort (items, compare_items);
  for (guint i = 0; i < n; i++)
    for (guint j = i + 1; j < n; j++)
      {
        const Item *a = &g_array_index (items, Item, i), *b = &g_array_index (items, Item, j);
        if (b->rect.x >= a->rect.x + a->rect.width)
          break;
        if (a->group == b->group)
          g_assert_false (rects_overlap (a->rect, b->rect));
      }
}

static double
port_x (const IrLayoutBox *box, guint port, guint n, const double *x)
{
  return x ? x[port] : (port + 1) * box->width / (n + 1);
}

/* Lines begin at the out port, end at the in port, and turn at right angles. */
static void
check_edges (const TestGraph *graph, const IrLayout *layout)
{
  for (guint i = 0; i < graph->edges->len; i++)
    {
      const IrLayoutEdge *e = &g_array_index (graph->edges, IrLayoutEdge, i);
      const IrLayoutBox *from = &g_array_index (graph->boxes, IrLayoutBox, e->from);
      const IrLayoutBox *to = &g_array_index (graph->boxes, IrLayoutBox, e->to);
      IrLayoutRect a = ir_layout_box (layout, (guint) e->from);
      IrLayoutRect b = ir_layout_box (layout, (guint) e->to);
      guint n;
      const IrLayoutPoint *p = ir_layout_edge (layout, i, &n);

      g_assert_cmpuint (n, >=, 2);
      double out = port_x (from, (guint) e->from_port, from->n_out, from->out_x);
      double in = port_x (to, (guint) e->to_port, to->n_in, to->in_x);
      g_assert_cmpfloat (ABS (p[0].x - a.x - out), <=, 2.01);
      g_assert_cmpfloat (ABS (p[0].y - a.y - a.height), <=, 1.01);
      g_assert_cmpfloat (ABS (p[n - 1].x - b.x - in), <=, 2.01);
      g_assert_cmpfloat (ABS (p[n - 1].y - b.y), <=, 1.01);
      for (guint k = 1; k < n; k++)
        g_assert_true (ABS (p[k].x - p[k - 1].x) < 0.51 || ABS (p[k].y - p[k - 1].y) < 0.01);
    }
}

/* No line runs through a box of its own level. Only for graphs without groups. */
static void
check_lines_avoid_boxes (const TestGraph *graph, const IrLayout *layout)
{
  for (guint i = 0; i < graph->edges->len; i++)
    {
      guint n;
      const IrLayoutPoint *p = ir_layout_edge (layout, i, &n);
      for (guint k = 1; k < n; k++)
        {
          IrLayoutRect line = { MIN (p[k - 1].x, p[k].x) - 0.1, MIN (p[k - 1].y, p[k].y) + 1.1,
                                ABS (p[k].x - p[k - 1].x) + 0.2, ABS (p[k].y - p[k - 1].y) - 2.2 };
          if (line.height < 0)
            line.height = 0.2;
          for (guint b = 0; b < graph->boxes->len; b++)
            g_assert_false (rects_overlap (line, ir_layout_box (layout, b)));
        }
    }
}

typedef struct
{
  double y, lo, hi;
  guint64 source;
} Track;

static int
compare_tracks (gconstpointer a, gconstpointer b)
{
  const Track *x = a, *y = b;

  if (x->y != y->y)
    return x->y < y->y ? -1 : 1;
  return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Horizontal parts of lines from different ports never lie on each other. */
static void
check_tracks (const TestGraph *graph, const IrLayout *layout)
{
  g_autoptr (GArray) tracks = g_array_new (FALSE, FALSE, sizeof (Track));

  for (guint i = 0; i < graph->edges->len; i++)
    {
      const IrLayoutEdge *e = &g_array_index (graph->edges, IrLayoutEdge, i);
      guint n;
      const IrLayoutPoint *p = ir_layout_edge (layout, i, &n);
      for (guint k = 1; k < n; k++)
        {
          Track track = { .y = p[k].y,
                          .lo = MIN (p[k - 1].x, p[k].x),
                          .hi = MAX (p[k - 1].x, p[k].x),
                          .source = (guint64) e->from << 8 | (guint64) e->from_port };
          if (track.hi - track.lo > 0.6)
            g_array_append_val (tracks, track);
        }
    }
  g_array_sort (tracks, compare_tracks);
  for (guint i = 0; i < tracks->len; i++)
    for (guint j = i + 1; j < tracks->len; j++)
      {
        const Track *a = &g_array_index (tracks, Track, i), *b = &g_array_index (tracks, Track, j);
        if (b->y - a->y > 0.01 || b->lo >= a->hi)
          break;
        g_assert_cmpuint (a->source, ==, b->source);
      }
}

static void
check_monotone (const TestGraph *graph, const IrLayout *layout)
{
  for (guint i = 0; i < graph->edges->len; i++)
    {
      const IrLayoutEdge *e = &g_array_index (graph->edges, IrLayoutEdge, i);
      g_assert_cmpint (ir_layout_box_layer (layout, (guint) e->from), <,
                       ir_layout_box_layer (layout, (guint) e->to));
      g_assert_cmpfloat (ir_layout_box (layout, (guint) e->from).y, <,
                         ir_layout_box (layout, (guint) e->to).y);
    }
}

static void
check_all (const TestGraph *graph, const IrLayout *layout)
{
  check_overlaps (graph, layout);
  check_edges (graph, layout);
  if (graph->groups->len == 0)
    check_tracks (graph, layout);
}

static void
test_empty (void)
{
  g_autoptr (TestGraph) graph = test_graph_new ();
  g_autoptr (IrLayout) layout = lay_out (graph);

  g_assert_cmpuint (ir_layout_n_boxes (layout), ==, 0);
  g_assert_cmpfloat (ir_layout_bounds (layout).width, ==, 0);
}

static void
test_single (void)
{
  g_autoptr (TestGraph) graph = test_graph_new ();

  test_graph_box (graph, 1, 101, 33, 0, 0);
  g_autoptr (IrLayout) layout = lay_out (graph);
  IrLayoutRect r = ir_layout_box (layout, 0);
  g_assert_cmpfloat (r.width, ==, 101);
  g_assert_cmpfloat (r.height, ==, 33);
  g_assert_true (rect_contains (ir_layout_bounds (layout), r));
}

static void
test_chain_is_straight (void)
{
  g_autoptr (TestGraph) graph = test_graph_chain (10000);
  g_autoptr (IrLayout) layout = lay_out (graph);

  check_all (graph, layout);
  check_monotone (graph, layout);
  for (guint i = 0; i < ir_layout_n_edges (layout); i++)
    {
      guint n;
      ir_layout_edge (layout, i, &n);
      g_assert_cmpuint (n, ==, 2);
    }
}

static void
test_wide (void)
{
  g_autoptr (TestGraph) graph = test_graph_new ();
  gint32 hub = test_graph_box (graph, 1, 96, 40, 0, 1);

  for (guint i = 0; i < 3000; i++)
    test_graph_edge (graph, hub, 0, test_graph_box (graph, 2 + i, 48, 24, 1, 0), 0);
  g_autoptr (IrLayout) layout = lay_out (graph);
  check_all (graph, layout);
  check_monotone (graph, layout);
}

static void
test_sources_are_near (void)
{
  g_autoptr (TestGraph) graph = test_graph_chain (6);
  gint32 weight = test_graph_box (graph, 100, 64, 24, 0, 1);
  gint32 shape = test_graph_box (graph, 101, 64, 24, 1, 1);
  g_array_index (graph->boxes, IrLayoutBox, 4).n_in = 2;
  test_graph_edge (graph, weight, 0, shape, 0);
  test_graph_edge (graph, shape, 0, 4, 1);

  g_autoptr (IrLayout) layout = lay_out (graph);
  check_all (graph, layout);
  g_assert_cmpint (ir_layout_box_layer (layout, 4), ==, 4);
  g_assert_cmpint (ir_layout_box_layer (layout, (guint) shape), ==, 3);
  g_assert_cmpint (ir_layout_box_layer (layout, (guint) weight), ==, 2);
}

static void
test_cycles (void)
{
  g_autoptr (TestGraph) graph = test_graph_chain (4);

  g_array_index (graph->boxes, IrLayoutBox, 0).n_in = 2;
  test_graph_edge (graph, 3, 0, 0, 1);
  test_graph_edge (graph, 2, 0, 2, 0);
  g_autoptr (IrLayout) layout = lay_out (graph);
  check_all (graph, layout);
  check_lines_avoid_boxes (graph, layout);
  g_assert_cmpint (ir_layout_box_layer (layout, 3), ==, 3);
  g_assert_cmpuint (ir_layout_stats (layout)->n_lanes, ==, 2);
}

static void
test_random_dags (void)
{
  for (guint32 seed = 0; seed < 60; seed++)
    {
      g_autoptr (TestGraph) graph = test_graph_random (5 + seed * 2, seed * 4, FALSE, 0, seed);
      g_autoptr (IrLayout) layout = lay_out (graph);
      check_all (graph, layout);
      check_monotone (graph, layout);
      check_lines_avoid_boxes (graph, layout);
    }
}

static void
test_random_cyclic (void)
{
  for (guint32 seed = 0; seed < 40; seed++)
    {
      g_autoptr (TestGraph) graph = test_graph_random (4 + seed, seed * 2, TRUE, 0, seed);
      g_autoptr (IrLayout) layout = lay_out (graph);
      check_all (graph, layout);
      check_lines_avoid_boxes (graph, layout);
    }
}

static void
test_random_groups (void)
{
  for (guint32 seed = 0; seed < 60; seed++)
    {
      g_autoptr (TestGraph)
          graph = test_graph_random (3 + seed, seed * 2, seed % 2 == 0, 1 + seed % 9, seed);
      g_autoptr (IrLayout) layout = lay_out (graph);
      check_all (graph, layout);
    }
}

static void
test_frames_have_ports (void)
{
  g_autoptr (TestGraph) graph = test_graph_new ();
  gint32 group = test_graph_group (graph, 9, -1);
  gint32 a = test_graph_box (graph, 1, 64, 32, 0, 1), b = test_graph_box (graph, 2, 64, 32, 1, 1);
  gint32 c = test_graph_box (graph, 3, 64, 32, 1, 0);
  g_array_index (graph->boxes, IrLayoutBox, b).group = group;
  test_graph_edge (graph, a, 0, IR_LAYOUT_END_GROUP (group), 0);
  test_graph_edge (graph, a, 0, b, 0);
  test_graph_edge (graph, IR_LAYOUT_END_GROUP (group), 0, c, 0);

  g_autoptr (IrLayout) layout = lay_out (graph);
  IrLayoutRect frame = ir_layout_group (layout, 0);
  guint n;
  const IrLayoutPoint *p = ir_layout_edge (layout, 0, &n);
  g_assert_cmpfloat (p[n - 1].y, ==, frame.y);
  p = ir_layout_edge (layout, 2, &n);
  g_assert_cmpfloat (p[0].y, ==, frame.y + frame.height);
  p = ir_layout_edge (layout, 1, &n);
  g_assert_cmpfloat (p[n - 1].y, ==, ir_layout_box (layout, (guint) b).y);
}

static void
test_equal_input_gives_equal_output (void)
{
  for (guint32 seed = 0; seed < 10; seed++)
    {
      g_autoptr (TestGraph) graph = test_graph_random (80, 140, seed % 2 == 0, seed, seed);
      g_autoptr (TestGraph) copy = test_graph_random (80, 140, seed % 2 == 0, seed, seed);
      g_autoptr (IrLayout) a = lay_out (graph);
      g_autoptr (IrLayout) b = lay_out (copy);
      g_autofree char *x = ir_layout_to_text (a), *y = ir_layout_to_text (b);
      g_assert_cmpstr (x, ==, y);
    }
}

static void
test_same_graph_stays (void)
{
  for (guint32 seed = 0; seed < 12; seed++)
    {
      g_autoptr (TestGraph) graph = test_graph_random (60, 100, seed % 3 == 0, seed % 4, seed);
      g_autoptr (IrLayout) before = lay_out (graph);
      g_autoptr (IrLayout) after = lay_out_again (graph, before, IR_LAYOUT_KEEP_PLACES);
      for (guint i = 0; i < graph->boxes->len; i++)
        {
          IrLayoutRect a = ir_layout_box (before, i), b = ir_layout_box (after, i);
          g_assert_cmpfloat (ABS (a.x - b.x), <, 0.01);
          g_assert_cmpfloat (ABS (a.y - b.y), <, 0.01);
        }
      check_all (graph, after);
    }
}

static int
compare_doubles (gconstpointer a, gconstpointer b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

/* How far the boxes of @before moved; boxes are matched by key. */
static double
median_move (const TestGraph *before,
             const IrLayout *a,
             const TestGraph *after,
             const IrLayout *b,
             double *share_moved)
{
  g_autoptr (GHashTable) places = g_hash_table_new (g_int64_hash, g_int64_equal);
  g_autoptr (GArray) moves = g_array_new (FALSE, FALSE, sizeof (double));
  guint n_moved = 0;

  for (guint i = 0; i < before->boxes->len; i++)
    g_hash_table_insert (places, &g_array_index (before->boxes, IrLayoutBox, i).key,
                         GUINT_TO_POINTER (i + 1));
  for (guint i = 0; i < after->boxes->len; i++)
    {
      guint j = GPOINTER_TO_UINT (
          g_hash_table_lookup (places, &g_array_index (after->boxes, IrLayoutBox, i).key));
      if (j == 0)
        continue;
      IrLayoutRect p = ir_layout_box (a, j - 1), q = ir_layout_box (b, i);
      double move = hypot (p.x - q.x, p.y - q.y);
      n_moved += move > 1;
      g_array_append_val (moves, move);
    }
  g_array_sort (moves, compare_doubles);
  *share_moved = (double) n_moved / moves->len;
  return g_array_index (moves, double, moves->len / 2);
}

/* Takes a box out and joins what was above and below it. */
static TestGraph *
without_box (const TestGraph *graph, gint32 box)
{
  TestGraph *copy = test_graph_new ();

  for (guint i = 0; i < graph->boxes->len; i++)
    if ((gint32) i != box)
      g_array_append_val (copy->boxes, g_array_index (graph->boxes, IrLayoutBox, i));
  gint32 above = -1;
  for (guint i = 0; i < graph->edges->len; i++)
    if (g_array_index (graph->edges, IrLayoutEdge, i).to == box)
      above = g_array_index (graph->edges, IrLayoutEdge, i).from;
  for (guint i = 0; i < graph->edges->len; i++)
    {
      IrLayoutEdge e = g_array_index (graph->edges, IrLayoutEdge, i);
      if (e.to == box)
        continue;
      if (e.from == box)
        {
          if (above < 0)
            continue;
          e.from = above;
          e.from_port = 0;
        }
      e.from -= e.from > box;
      e.to -= e.to > box;
      g_array_append_val (copy->edges, e);
    }
  return copy;
}

static void
test_removal_moves_nothing (void)
{
  for (guint32 seed = 0; seed < 20; seed++)
    {
      g_autoptr (TestGraph) graph = test_graph_layered (150, 1.4, seed);
      g_autoptr (TestGraph) less = without_box (graph, 20 + (gint32) seed * 5);
      g_autoptr (IrLayout) before = lay_out (graph);
      g_autoptr (IrLayout) after = lay_out_again (less, before, IR_LAYOUT_KEEP_PLACES);
      double share, median = median_move (graph, before, less, after, &share);
      g_assert_cmpfloat (median, <, 0.01);
      g_assert_cmpfloat (share, <, 0.05);
      check_all (less, after);
      check_monotone (less, after);
    }
}

static void
test_insertion_moves_little (void)
{
  double sum = 0;

  for (guint32 seed = 0; seed < 20; seed++)
    {
      g_autoptr (TestGraph) graph = test_graph_layered (150, 1.4, seed);
      g_autoptr (TestGraph) less = without_box (graph, 20 + (gint32) seed * 5);
      g_autoptr (IrLayout) before = lay_out (less);
      g_autoptr (IrLayout) after = lay_out_again (graph, before, IR_LAYOUT_KEEP_PLACES);
      double share, median = median_move (less, before, graph, after, &share);
      g_assert_cmpfloat (median, <, 0.01);
      sum += share;
      check_all (graph, after);
      check_monotone (graph, after);
    }
  g_test_message ("boxes that moved: %.1f %%", sum / 20 * 100);
  g_assert_cmpfloat (sum / 20, <, 0.25);
}

static double
area_of (const IrLayout *layout)
{
  IrLayoutRect r = ir_layout_bounds (layout);

  return r.width * r.height;
}

/* A box in the middle of edge @edge. */
static TestGraph *
with_box (const TestGraph *graph, guint edge, guint64 key)
{
  TestGraph *copy = test_graph_new ();

  g_array_append_vals (copy->boxes, graph->boxes->data, graph->boxes->len);
  g_array_append_vals (copy->edges, graph->edges->data, graph->edges->len);
  gint32 box = test_graph_box (copy, key, 96, 40, 1, 1);
  IrLayoutEdge *e = &g_array_index (copy->edges, IrLayoutEdge, edge);
  gint32 to = e->to, port = e->to_port;
  e->to = box;
  e->to_port = 0;
  test_graph_edge (copy, box, 0, to, port);
  return copy;
}

/* Each step takes two boxes out and puts one in, as fusions do. */
static void
fuse_for_long (TestGraph *graph, guint n_steps, guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (TestGraph) now = graph;
  g_autoptr (IrLayout) layout = lay_out (graph);
  double worst = 0, sum = 0;
  guint n_still = 0;

  for (guint step = 0; step < n_steps; step++)
    {
      double share;
      gint32 at = g_rand_int_range (rand, 0, (gint32) now->boxes->len - 1);
      g_autoptr (TestGraph) less = without_box (now, at);
      g_autoptr (TestGraph) least = without_box (less, at);
      g_autoptr (TestGraph) next = with_box (
          least, (guint) g_rand_int_range (rand, 0, (gint32) least->edges->len), 100000 + step);
      g_autoptr (IrLayout) after = lay_out_again (next, layout, IR_LAYOUT_KEEP_PLACES);
      g_autoptr (IrLayout) fresh = lay_out (next);
      check_all (next, after);
      worst = MAX (worst, area_of (after) / area_of (fresh));
      sum += area_of (after) / area_of (fresh);
      median_move (now, layout, next, after, &share);
      n_still += share < 0.5;
      g_clear_pointer (&now, test_graph_free);
      now = g_steal_pointer (&next);
      g_clear_pointer (&layout, ir_layout_unref);
      layout = g_steal_pointer (&after);
    }
  g_test_message ("steps that moved less than half: %u of %u; area %.2f of a new one, at most %.2f",
                  n_still, n_steps, sum / n_steps, worst);
  g_assert_cmpfloat (worst, <=, 1.6); /* a box less may make a new one smaller by a quarter */
  g_assert_cmpfloat (sum, <=, 1.25 * n_steps);
  g_assert_cmpuint (n_still * 10, >=, n_steps * 8);
}

static void
test_holes_are_closed (void)
{
  fuse_for_long (test_graph_chain (120), 100, 1);
  fuse_for_long (test_graph_transformer (140), 100, 2);
  fuse_for_long (test_graph_layered (140, 1.4, 3), 100, 3);
}

/* The keys are the same, the graphs are not: everything must hold all the same. */
static void
test_foreign_seed_does_no_harm (void)
{
  for (guint32 seed = 0; seed < 60; seed++)
    {
      guint n_groups = seed % 5;
      g_autoptr (TestGraph) first = test_graph_random (20 + seed, 50, seed % 2, n_groups, seed);
      g_autoptr (TestGraph)
          other = test_graph_random (30 + seed, 60, seed % 3 == 0, n_groups, seed + 1000);
      g_autoptr (IrLayout) a = lay_out (first);
      IrLayoutKeep keep = seed % 4 == 0 ? IR_LAYOUT_KEEP_ORDER : IR_LAYOUT_KEEP_PLACES;
      g_autoptr (IrLayout) b = lay_out_again (other, a, keep);
      g_autoptr (IrLayout) c = lay_out_again (other, a, keep);
      g_autoptr (IrLayout) d = lay_out_again (first, b, keep);
      g_autofree char *x = ir_layout_to_text (b), *y = ir_layout_to_text (c);
      check_all (other, b);
      check_all (first, d);
      g_assert_cmpstr (x, ==, y);
    }
}

static void
test_order_is_kept (void)
{
  g_autoptr (TestGraph) graph = test_graph_layered (100, 1.4, 5);
  g_autoptr (TestGraph) less = without_box (graph, 50);
  g_autoptr (IrLayout) before = lay_out (graph);
  g_autoptr (IrLayout) after = lay_out_again (less, before, IR_LAYOUT_KEEP_ORDER);

  check_all (less, after);
  for (guint i = 0; i < less->boxes->len; i++)
    for (guint j = 0; j < less->boxes->len; j++)
      {
        guint p = i + (i >= 50), q = j + (j >= 50);
        /* Components may be packed in another order. */
        if (ir_layout_box_layer (before, p) != ir_layout_box_layer (before, q) ||
            ir_layout_box_layer (after, i) != ir_layout_box_layer (after, j) ||
            ir_layout_box (before, p).y != ir_layout_box (before, q).y ||
            ir_layout_box (after, i).y != ir_layout_box (after, j).y)
          continue;
        if (ir_layout_box (before, p).x < ir_layout_box (before, q).x)
          g_assert_cmpfloat (ir_layout_box (after, i).x, <, ir_layout_box (after, j).x);
      }
}

static void
test_left_to_right (void)
{
  g_autoptr (TestGraph) graph = test_graph_chain (5);
  IrLayoutInput input = test_graph_input (graph);
  g_autoptr (GError) error = NULL;

  input.direction = IR_LAYOUT_LEFT_TO_RIGHT;
  g_autoptr (IrLayout) layout = ir_layout_new (&input, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 1; i < 5; i++)
    {
      IrLayoutRect a = ir_layout_box (layout, i - 1), b = ir_layout_box (layout, i);
      guint n;
      const IrLayoutPoint *p = ir_layout_edge (layout, i - 1, &n);
      g_assert_cmpfloat (a.x + a.width, <, b.x);
      g_assert_cmpfloat (p[0].x, ==, a.x + a.width);
      g_assert_cmpfloat (ABS (p[n - 1].x - b.x), <=, 1);
    }
  check_overlaps (graph, layout);
}

/* A stack of blocks stays a column, and the mask beside it a straight line. */
static void
test_deep_graphs_stay_narrow (void)
{
  g_autoptr (TestGraph) graph = test_graph_transformer (1000);
  g_autoptr (IrLayout) layout = lay_out (graph);

  check_all (graph, layout);
  check_monotone (graph, layout);
  g_assert_cmpfloat (ir_layout_bounds (layout).width, <, 1600);
}

static void
test_long_edges_are_cheap (void)
{
  g_autoptr (TestGraph) graph = test_graph_long_skips (20000, 8000, 3);
  g_autoptr (IrLayout) layout = lay_out (graph);
  const IrLayoutStats *stats = ir_layout_stats (layout);

  g_assert_cmpuint (stats->n_trunk, <=, 20000 + 2 * (20000 + graph->edges->len));
  g_assert_cmpuint (stats->n_lanes, >, 0);
  check_edges (graph, layout);
  check_tracks (graph, layout);
  check_overlaps (graph, layout);
}

static void
test_bad_input (void)
{
  g_autoptr (TestGraph) graph = test_graph_chain (3);
  IrLayoutInput input = test_graph_input (graph);
  g_autoptr (GError) error = NULL;

  test_graph_edge (graph, 1, 0, 7, 0);
  input = test_graph_input (graph);
  g_assert_null (ir_layout_new (&input, NULL, &error));
  g_assert_error (error, IR_LAYOUT_ERROR, IR_LAYOUT_ERROR_BAD_INPUT);
  g_clear_error (&error);

  g_array_index (graph->edges, IrLayoutEdge, 2).to = 2;
  g_array_index (graph->boxes, IrLayoutBox, 1).width = NAN;
  g_assert_null (ir_layout_new (&input, NULL, &error));
  g_assert_error (error, IR_LAYOUT_ERROR, IR_LAYOUT_ERROR_BAD_INPUT);
}

static void
test_cancel (void)
{
  g_autoptr (TestGraph) graph = test_graph_chain (100);
  IrLayoutInput input = test_graph_input (graph);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;

  g_cancellable_cancel (cancellable);
  g_assert_null (ir_layout_new (&input, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/layout/an empty graph has an empty picture", test_empty);
  g_test_add_func ("/layout/a single box keeps its size", test_single);
  g_test_add_func ("/layout/a chain of 10000 is one straight line", test_chain_is_straight);
  g_test_add_func ("/layout/3000 consumers of one value do not overlap", test_wide);
  g_test_add_func ("/layout/sources lie just above their users", test_sources_are_near);
  g_test_add_func ("/layout/cycles and loops are drawn beside the boxes", test_cycles);
  g_test_add_func ("/layout/random acyclic graphs hold every rule", test_random_dags);
  g_test_add_func ("/layout/random cyclic graphs hold every rule", test_random_cyclic);
  g_test_add_func ("/layout/random groups contain their boxes", test_random_groups);
  g_test_add_func ("/layout/edges may end at the frame of a group", test_frames_have_ports);
  g_test_add_func ("/layout/equal input gives equal output", test_equal_input_gives_equal_output);
  g_test_add_func ("/layout/the same graph laid out again stays", test_same_graph_stays);
  g_test_add_func ("/layout/taking a box out moves nothing", test_removal_moves_nothing);
  g_test_add_func ("/layout/putting a box in moves little", test_insertion_moves_little);
  g_test_add_func ("/layout/many changes leave no holes", test_holes_are_closed);
  g_test_add_func ("/layout/places from another graph do no harm", test_foreign_seed_does_no_harm);
  g_test_add_func ("/layout/the order is kept when asked for", test_order_is_kept);
  g_test_add_func ("/layout/left to right is the same turned", test_left_to_right);
  g_test_add_func ("/layout/deep graphs stay narrow", test_deep_graphs_stay_narrow);
  g_test_add_func ("/layout/long edges cost no more than short ones", test_long_edges_are_cheap);
  g_test_add_func ("/layout/bad input is an error", test_bad_input);
  g_test_add_func ("/layout/a cancelled layout stops", test_cancel);
  return g_test_run ();
}
