#include "config.h"

/* Groups, components and the result.
 *
 * Each group is a level: a flat problem whose vertices are its boxes, its
 * child groups (already laid out, so they have a size) and, where edges cross
 * its frame, ports. An edge becomes one piece per level it passes through; a
 * net that enters a group twice enters by one port. Levels are solved from the
 * innermost outwards and placed from the outermost inwards.
 *
 * Components of a level without ports are laid out one by one and packed in
 * rows, those of one box last. */

#include "core/layout/layout-private.h"

#include <math.h>

#define COMPONENT_GAP 48.0 /* px */

/* Places are kept until the picture takes LOOSE times the room per box that a
 * new one took, or has many more or fewer boxes than then: one in CHANGED. It is
 * made anew if that does save room, by CLOSE or more. */
#define LOOSE   1.25
#define CHANGED 24
#define CLOSE   1.15

/* The domain of IR_LAYOUT_ERROR */
GQuark
ir_layout_error_quark (void)
{
  return g_quark_from_static_string ("ir-layout-error-quark");
}

typedef struct
{
  gint32 ref;  /* box or group index */
  gint32 net;  /* of a port: the net that passes it, else -1 */
  guint8 kind; /* IrFlatKind */
  gboolean is_group;
  guint64 key;
  double x, y; /* px, centre and top, within the level */
  gint32 layer;
  double layer_top; /* px */
  double drop;      /* px, from its bottom to that of its layer */
} LevelVertex;

typedef struct
{
  guint64 key; /* stable name */
  gint32 net;
  gint32 src;      /* vertex */
  gint32 src_port; /* of a box or a frame; of a child group: vertex of its out port */
  gboolean inner;  /* src is a group and src_port a vertex within it */
  gint32 n_edges;
} LevelNet;

typedef struct
{
  gint32 net; /* index into the level's nets */
  gint32 dst;
  gint32 dst_port;
  gboolean inner, back;
  guint first_point, n_points;
} LevelEdge;

typedef struct
{
  GArray *vertices; /* of LevelVertex */
  GArray *nets;     /* of LevelNet */
  GArray *edges;    /* of LevelEdge */
  GArray *points;   /* of IrLayoutPoint, within the level */
  gint32 item;      /* vertex of the parent level */
  gboolean has_ports;
  IrLayoutRect box;     /* px, of the content */
  double width, height; /* px, with padding */
  double dx, dy;        /* px, from level to frame coordinates */
  double abs_x, abs_y;  /* px, from level to picture coordinates */
} Level;

/* The place of one vertex or trunk, for the next layout. */
typedef struct
{
  guint64 key;
  double x, top;
  gint32 layer;
} SeedItem;

typedef struct
{
  guint64 key;
  guint first, n; /* range of seed_x */
} SeedTrunk;

struct _IrLayout
{
  gatomicrefcount refs;
  guint n_boxes, n_groups, n_edges;
  IrLayoutRect *boxes;
  gint32 *layers;
  double *drops;
  IrLayoutRect *groups;
  guint *edge_start; /* n_edges + 1 offsets into points */
  GArray *points;
  IrLayoutRect bounds;
  IrLayoutStats stats;
  IrLayoutDirection direction;
  double airiness;     /* area per area of the boxes, of the last one made anew */
  guint n_then;        /* boxes of that */
  GArray *seed_items;  /* of SeedItem */
  GArray *seed_trunks; /* of SeedTrunk */
  GArray *seed_x;      /* of double */
};

/* What one call works with. */
typedef struct
{
  const IrLayoutInput *input;
  GCancellable *cancellable;
  IrLayout *layout;
  Level *levels; /* n_groups + 1; level 0 is the picture, level 1 + g is group g */
  gint32 n_levels;
  gint32 *box_vertex; /* per box: vertex in its level */
  gint32 *net_start;  /* per box, then per group: first net */
  gint32 n_nets;
  GHashTable *net_at;  /* level and net -> index of the level net + 1 */
  GHashTable *port_at; /* level, direction and net -> index of the port vertex + 1 */
  GHashTable *edge_at; /* level, net and child or out port -> index of the level edge + 1 */
  GArray *pieces;      /* of Piece */
  guint *piece_start;  /* n_edges + 1 */
  GHashTable *seeds;   /* (nullable): key -> SeedItem of the previous layout */
  GHashTable *seed_trunks;
  GArray *seed_trunk_store; /* of IrFlatSeedTrunk */
  double box_gap, layer_gap, track_gap, lead;
  gboolean turned; /* left to right: x and y are exchanged inside */
} Work;

typedef struct
{
  gint32 level, edge;
} Piece;

static guint64
mix (guint64 a, guint64 b)
{
  guint64 h = a * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15) + b;

  h ^= h >> 32;
  h *= G_GUINT64_CONSTANT (0xd6e8feb86659fd93);
  h ^= h >> 32;
  h *= G_GUINT64_CONSTANT (0xd6e8feb86659fd93);
  return h ^ (h >> 32);
}

static void
level_clear (Level *level)
{
  g_clear_pointer (&level->vertices, g_array_unref);
  g_clear_pointer (&level->nets, g_array_unref);
  g_clear_pointer (&level->edges, g_array_unref);
  g_clear_pointer (&level->points, g_array_unref);
}

static void
work_clear (Work *work)
{
  for (gint32 i = 0; work->levels != NULL && i < work->n_levels; i++)
    level_clear (&work->levels[i]);
  g_free (work->levels);
  g_free (work->box_vertex);
  g_free (work->net_start);
  g_clear_pointer (&work->net_at, g_hash_table_unref);
  g_clear_pointer (&work->port_at, g_hash_table_unref);
  g_clear_pointer (&work->edge_at, g_hash_table_unref);
  g_clear_pointer (&work->pieces, g_array_unref);
  g_free (work->piece_start);
  g_clear_pointer (&work->seeds, g_hash_table_unref);
  g_clear_pointer (&work->seed_trunks, g_hash_table_unref);
  g_clear_pointer (&work->seed_trunk_store, g_array_unref);
  g_clear_pointer (&work->layout, ir_layout_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Work, work_clear)

G_STATIC_ASSERT (sizeof (gpointer) >= sizeof (guint64));

/* Tables from a pair of small numbers to an index; the key is made by pack(). */
static guint
hash_key (gconstpointer key)
{
  return (guint) mix ((guint64) (guintptr) key, 0);
}

static gpointer
pack (gint32 level, gint32 kind, gint32 number)
{
  return (gpointer) (guintptr) (((guint64) (guint32) level << 34) ^ ((guint64) kind << 32) ^
                                (guint64) (guint32) number);
}

static gint32
look_up (GHashTable *table, gpointer key)
{
  return GPOINTER_TO_INT (g_hash_table_lookup (table, key)) - 1;
}

static LevelVertex *
vertex_at (const Level *level, gint32 i)
{
  return &g_array_index (level->vertices, LevelVertex, i);
}

/* --- checking ---------------------------------------------------------- */

static gboolean
is_size (double size)
{
  return isfinite (size) && size > 0 && size < 1e7;
}

static gboolean
bad_input (GError **error, const char *what, guint index)
{
  g_set_error (error, IR_LAYOUT_ERROR, IR_LAYOUT_ERROR_BAD_INPUT, "layout: %s %u is out of range",
               what, index);
  return FALSE;
}

static gboolean
check_boxes (const IrLayoutInput *input, GError **error)
{
  for (guint i = 0; i < input->n_boxes; i++)
    {
      const IrLayoutBox *box = &input->boxes[i];
      if (!is_size (box->width) || !is_size (box->height))
        return bad_input (error, "the size of box", i);
      if (box->group < -1 || box->group >= (gint32) input->n_groups)
        return bad_input (error, "the group of box", i);
      if (box->n_in > G_MAXINT16 * 64 || box->n_out > G_MAXINT16 * 64)
        return bad_input (error, "the number of ports of box", i);
    }
  for (guint i = 0; i < input->n_groups; i++)
    {
      const IrLayoutGroup *group = &input->groups[i];
      if (group->parent < -1 || group->parent >= (gint32) i)
        return bad_input (error, "the parent of group", i);
      if (!(group->pad_left >= 0 && group->pad_top >= 0 && group->pad_right >= 0 &&
            group->pad_bottom >= 0 && group->min_width >= 0 && group->min_width < 1e6))
        return bad_input (error, "the padding of group", i);
    }
  return TRUE;
}

static gboolean
check_end (const IrLayoutInput *input, gint32 end, gint32 port, gboolean out)
{
  guint n;

  if (end >= 0)
    {
      if ((guint) end >= input->n_boxes)
        return FALSE;
      n = out ? input->boxes[end].n_out : input->boxes[end].n_in;
    }
  else
    {
      if ((guint) (-1 - end) >= input->n_groups)
        return FALSE;
      n = out ? input->groups[-1 - end].n_out : input->groups[-1 - end].n_in;
    }
  return port >= 0 && (guint) port < n;
}

static gint32
end_level (const IrLayoutInput *input, gint32 end)
{
  return 1 + (end >= 0 ? input->boxes[end].group : input->groups[-1 - end].parent);
}

static gint32
parent_level (const IrLayoutInput *input, gint32 level)
{
  return 1 + input->groups[level - 1].parent;
}

/* Whether the end @inner lies within the group that @frame is. */
static gboolean
is_within (const IrLayoutInput *input, gint32 inner, gint32 frame)
{
  if (frame >= 0)
    return FALSE;
  for (gint32 l = end_level (input, inner); l > 0; l = parent_level (input, l))
    if (l - 1 == -1 - frame)
      return TRUE;
  return FALSE;
}

static gboolean
check_input (const IrLayoutInput *input, GError **error)
{
  guint64 n_ports = 0;

  if (input->n_boxes > G_MAXINT32 / 8 || input->n_edges > G_MAXINT32 / 8 ||
      input->n_groups > G_MAXINT32 / 8)
    {
      g_set_error (error, IR_LAYOUT_ERROR, IR_LAYOUT_ERROR_TOO_BIG,
                   "layout: %u boxes and %u edges are too many", input->n_boxes, input->n_edges);
      return FALSE;
    }
  if (!check_boxes (input, error))
    return FALSE;
  for (guint i = 0; i < input->n_boxes; i++)
    n_ports += input->boxes[i].n_out;
  for (guint i = 0; i < input->n_groups; i++)
    n_ports += input->groups[i].n_out;
  if (n_ports > G_MAXINT32 / 8)
    return bad_input (error, "the number of ports before box", input->n_boxes);
  for (guint i = 0; i < input->n_edges; i++)
    {
      const IrLayoutEdge *e = &input->edges[i];
      if (!check_end (input, e->from, e->from_port, TRUE) ||
          !check_end (input, e->to, e->to_port, FALSE))
        return bad_input (error, "an end of edge", i);
      if (is_within (input, e->from, e->to) || is_within (input, e->to, e->from))
        return bad_input (error, "edge (from a group to its own content)", i);
    }
  return TRUE;
}

/* --- levels -------------------------------------------------------------- */

static gint32
add_vertex (Level *level, LevelVertex vertex)
{
  g_array_append_val (level->vertices, vertex);
  return (gint32) level->vertices->len - 1;
}

static void
make_levels (Work *work)
{
  const IrLayoutInput *input = work->input;
  gint32 n_nets = 0;

  work->n_levels = (gint32) input->n_groups + 1;
  work->levels = g_new0 (Level, work->n_levels);
  for (gint32 i = 0; i < work->n_levels; i++)
    {
      work->levels[i].vertices = g_array_new (FALSE, FALSE, sizeof (LevelVertex));
      work->levels[i].nets = g_array_new (FALSE, FALSE, sizeof (LevelNet));
      work->levels[i].edges = g_array_new (FALSE, FALSE, sizeof (LevelEdge));
      work->levels[i].points = g_array_new (FALSE, FALSE, sizeof (IrLayoutPoint));
    }
  work->box_vertex = g_new (gint32, MAX (1, input->n_boxes));
  work->net_start = g_new (gint32, input->n_boxes + input->n_groups + 1);
  for (guint i = 0; i < input->n_boxes; i++)
    {
      LevelVertex v = { .ref = (gint32) i, .net = -1, .key = mix (input->boxes[i].key, 1) };
      work->box_vertex[i] = add_vertex (&work->levels[input->boxes[i].group + 1], v);
      work->net_start[i] = n_nets;
      n_nets += (gint32) input->boxes[i].n_out;
    }
  for (guint i = 0; i < input->n_groups; i++)
    {
      LevelVertex v = {
        .ref = (gint32) i, .net = -1, .is_group = TRUE, .key = mix (input->groups[i].key, 2)
      };
      work->levels[i + 1].item = add_vertex (&work->levels[input->groups[i].parent + 1], v);
      work->net_start[input->n_boxes + i] = n_nets;
      n_nets += (gint32) input->groups[i].n_out;
    }
  work->n_nets = n_nets;
}

static gint32
end_vertex (const Work *work, gint32 end)
{
  return end >= 0 ? work->box_vertex[end] : work->levels[-end].item;
}

/* The port of @level through which @net passes; made at first use. */
static gint32
port_vertex (Work *work, gint32 level, gint32 net, guint64 net_key, IrFlatKind kind)
{
  gpointer key = pack (level, kind == IR_FLAT_IN_PORT, net);
  gint32 vertex = look_up (work->port_at, key);

  if (vertex >= 0)
    return vertex;
  LevelVertex v = { .ref = -1,
                    .net = net,
                    .kind = kind,
                    .key = mix (mix (net_key, work->input->groups[level - 1].key), 3 + kind) };
  work->levels[level].has_ports = TRUE;
  vertex = add_vertex (&work->levels[level], v);
  g_hash_table_insert (work->port_at, key, GINT_TO_POINTER (vertex + 1));
  return vertex;
}

static gint32
level_net (Work *work,
           gint32 level,
           gint32 net,
           guint64 net_key,
           gint32 src,
           gint32 src_port,
           gboolean inner)
{
  guint64 level_key = level > 0 ? work->input->groups[level - 1].key : 0;
  gpointer key = pack (level, 0, net);
  gint32 at = look_up (work->net_at, key);
  LevelNet n = {
    .key = mix (net_key, level_key), .net = net, .src = src, .src_port = src_port, .inner = inner
  };

  if (at >= 0)
    return at;
  at = (gint32) work->levels[level].nets->len;
  g_array_append_val (work->levels[level].nets, n);
  g_hash_table_insert (work->net_at, key, GINT_TO_POINTER (at + 1));
  return at;
}

/* Adds the piece of an edge on one level. Pieces that end at a port or at a
 * port of a child are shared by all edges of the net (@shared). */
static void
add_piece (Work *work, gint32 level, gint32 net, LevelEdge edge, gboolean shared)
{
  gpointer key = pack (level, 0, (gint32) mix ((guint64) net, (guint64) edge.dst));
  GArray *edges = work->levels[level].edges;
  Piece piece = { .level = level };

  edge.net = net;
  if (shared)
    {
      gint32 at = look_up (work->edge_at, key);
      if (at >= 0 && g_array_index (edges, LevelEdge, at).net == net &&
          g_array_index (edges, LevelEdge, at).dst == edge.dst)
        {
          piece.edge = at;
          g_array_append_val (work->pieces, piece);
          return;
        }
      g_hash_table_insert (work->edge_at, key, GINT_TO_POINTER ((gint32) edges->len + 1));
    }
  piece.edge = (gint32) edges->len;
  g_array_append_val (edges, edge);
  g_array_append_val (work->pieces, piece);
}

static gint32
common_level (const IrLayoutInput *input, gint32 a, gint32 b)
{
  /* A parent has a smaller index than its children. */
  while (a != b)
    {
      if (a > b)
        a = parent_level (input, a);
      else
        b = parent_level (input, b);
    }
  return a;
}

static void
split_edge (Work *work, guint index)
{
  const IrLayoutInput *input = work->input;
  const IrLayoutEdge *e = &input->edges[index];
  gint32 level = end_level (input, e->from), last = end_level (input, e->to);
  gint32 top = common_level (input, level, last);
  gboolean back = e->back;
  guint from = e->from >= 0 ? (guint) e->from : input->n_boxes + (guint) (-1 - e->from);
  gint32 net = work->net_start[from] + e->from_port;
  guint64 net_key = mix (
      mix (e->from >= 0 ? input->boxes[e->from].key : input->groups[-1 - e->from].key,
           e->from >= 0),
      (guint64) e->from_port);
  gint32 src = end_vertex (work, e->from), src_port = e->from_port;
  gboolean inner = FALSE;
  g_autoptr (GArray) way = NULL;

  while (level != top)
    {
      gint32 port = port_vertex (work, level, net, net_key, IR_FLAT_OUT_PORT);
      gint32 ln = level_net (work, level, net, net_key, src, src_port, inner);
      add_piece (work, level, ln, (LevelEdge){ .dst = port }, TRUE);
      src = work->levels[level].item;
      src_port = port;
      inner = TRUE;
      level = parent_level (input, level);
    }
  if (last != top)
    {
      way = g_array_new (FALSE, FALSE, sizeof (gint32));
      for (gint32 l = last; l != top; l = parent_level (input, l))
        g_array_append_val (way, l);
    }
  for (guint i = way ? way->len : 0; i > 0; i--)
    {
      gint32 child = g_array_index (way, gint32, i - 1);
      gint32 port = port_vertex (work, child, net, net_key, IR_FLAT_IN_PORT);
      gint32 ln = level_net (work, level, net, net_key, src, src_port, inner);
      LevelEdge piece = {
        .dst = work->levels[child].item, .dst_port = port, .inner = TRUE, .back = back
      };
      add_piece (work, level, ln, piece, TRUE);
      back = FALSE;
      level = child;
      src = port;
      src_port = 0;
      inner = FALSE;
    }
  gint32 ln = level_net (work, level, net, net_key, src, src_port, inner);
  LevelEdge piece = { .dst = end_vertex (work, e->to), .dst_port = e->to_port, .back = back };
  add_piece (work, level, ln, piece, FALSE);
}

static void
split_edges (Work *work)
{
  work->net_at = g_hash_table_new (hash_key, g_direct_equal);
  work->port_at = g_hash_table_new (hash_key, g_direct_equal);
  work->edge_at = g_hash_table_new (hash_key, g_direct_equal);
  work->pieces = g_array_new (FALSE, FALSE, sizeof (Piece));
  work->piece_start = g_new0 (guint, work->input->n_edges + 1);
  for (guint i = 0; i < work->input->n_edges; i++)
    {
      split_edge (work, i);
      work->piece_start[i + 1] = work->pieces->len;
    }
}

/* --- one component of a level ------------------------------------------- */

static double
even (double size)
{
  return 2 * ceil (size / 2);
}

static double
spread (guint port, guint n, double width)
{
  return floor ((port + 1) * width / (n + 1));
}

/* Offset of a port of the frame itself: spread, but off the inner ports. */
static double
frame_port (const Work *work, gint32 group, gint32 port, gboolean out)
{
  const Level *level = &work->levels[group + 1];
  guint n = out ? work->input->groups[group].n_out : work->input->groups[group].n_in;
  double x = spread ((guint) port, n, level->width);

  for (guint i = 0; i < level->vertices->len; i++)
    {
      const LevelVertex *v = vertex_at (level, (gint32) i);
      guint8 kind = out ? IR_FLAT_OUT_PORT : IR_FLAT_IN_PORT;
      if (v->kind == kind && ABS (v->x + level->dx - x) < 6)
        x += 12;
    }
  return MIN (x, level->width - 4);
}

/* Offset of a port from the centre of its vertex. */
static double
port_dx (const Work *work, const LevelVertex *v, gint32 port, gboolean inner, gboolean out)
{
  double x;

  if (v->kind != IR_FLAT_BOX)
    return 0;
  if (v->is_group)
    {
      const Level *level = &work->levels[v->ref + 1];
      x = inner ? vertex_at (level, port)->x + level->dx : frame_port (work, v->ref, port, out);
      return floor (x - level->width / 2 + 0.5);
    }
  const IrLayoutBox *box = &work->input->boxes[v->ref];
  double width = work->turned ? box->height : box->width;
  const double *offsets = out ? box->out_x : box->in_x;
  x = offsets ? CLAMP (offsets[port], 0, width)
              : spread ((guint) port, out ? box->n_out : box->n_in, width);
  return floor (x - width / 2 + 0.5);
}

static void
fill_vertex (const Work *work, const LevelVertex *v, IrFlatVertex *out)
{
  const SeedItem *seed = work->seeds ? g_hash_table_lookup (work->seeds, &v->key) : NULL;

  out->key = v->key;
  out->kind = v->kind;
  out->net = -1;
  if (v->kind != IR_FLAT_BOX)
    out->width = 2;
  else if (v->is_group)
    {
      out->width = work->levels[v->ref + 1].width;
      out->height = work->levels[v->ref + 1].height;
    }
  else
    {
      const IrLayoutBox *box = &work->input->boxes[v->ref];
      out->width = even (work->turned ? box->height : box->width);
      out->height = ceil (work->turned ? box->width : box->height);
    }
  if (seed == NULL)
    return;
  out->seeded = TRUE;
  out->seed_x = seed->x;
  out->seed_layer = seed->layer;
  out->seed_top = seed->top;
}

typedef struct
{
  IrFlat *flat;
  gint32 *vertices; /* of the level */
  gint32 *edges;    /* of the level, in the order of the flat edges */
  gboolean seeded;
} Component;

static void
component_clear (Component *component)
{
  g_clear_pointer (&component->flat, ir_flat_free);
  g_free (component->vertices);
  g_free (component->edges);
}

static gint32
find_root (gint32 *root, gint32 v)
{
  while (root[v] != v)
    v = root[v] = root[root[v]];
  return v;
}

/* Numbers the components; returns how many there are. */
static gint32
find_components (const Level *level, gint32 *of_vertex)
{
  gint32 n = (gint32) level->vertices->len, count = 0;
  g_autofree gint32 *root = g_new (gint32, MAX (1, n));

  for (gint32 v = 0; v < n; v++)
    root[v] = v;
  for (guint i = 0; i < level->edges->len; i++)
    {
      const LevelEdge *e = &g_array_index (level->edges, LevelEdge, i);
      gint32 a = find_root (root, g_array_index (level->nets, LevelNet, e->net).src);
      gint32 b = find_root (root, e->dst);
      root[MAX (a, b)] = MIN (a, b);
    }
  for (gint32 v = 0; v < n; v++)
    {
      gint32 r = level->has_ports ? 0 : find_root (root, v);
      of_vertex[v] = r == v ? count++ : of_vertex[r];
    }
  return count;
}

/* Copies the level's vertices, nets and edges into one flat problem per
 * component. Edges come sorted by net. */
static void
fill_components (
    const Work *work, const Level *level, const gint32 *of_vertex, Component *comps, gint32 n)
{
  g_autofree gint32 *local = g_new (gint32, MAX (1, level->vertices->len));
  g_autofree gint32 *net_local = g_new (gint32, MAX (1, level->nets->len));
  g_autofree gint32 *count = g_new0 (gint32, 3 * (gsize) MAX (1, n));
  g_autofree gint32 *edge_at = g_new (gint32, MAX (1, level->nets->len));

  for (guint v = 0; v < level->vertices->len; v++)
    local[v] = count[3 * of_vertex[v]]++;
  for (guint i = 0; i < level->nets->len; i++)
    {
      const LevelNet *net = &g_array_index (level->nets, LevelNet, i);
      gint32 *at = &count[3 * of_vertex[net->src]];
      net_local[i] = at[1]++;
      edge_at[i] = at[2];
      at[2] += net->n_edges;
    }
  for (gint32 c = 0; c < n; c++)
    {
      comps[c].flat = ir_flat_new (count[3 * c], count[3 * c + 1], count[3 * c + 2]);
      comps[c].vertices = g_new (gint32, MAX (1, count[3 * c]));
      comps[c].edges = g_new (gint32, MAX (1, count[3 * c + 2]));
      comps[c].flat->box_gap = work->box_gap;
      comps[c].flat->layer_gap = work->layer_gap;
      comps[c].flat->track_gap = work->track_gap;
      comps[c].flat->lead = work->lead;
      comps[c].flat->keep = work->seeds ? work->input->keep : IR_LAYOUT_KEEP_NOTHING;
      comps[c].flat->seed_trunks = work->seed_trunks;
    }
  for (guint v = 0; v < level->vertices->len; v++)
    {
      Component *comp = &comps[of_vertex[v]];
      comp->vertices[local[v]] = (gint32) v;
      fill_vertex (work, vertex_at (level, (gint32) v), &comp->flat->v[local[v]]);
      comp->seeded |= comp->flat->v[local[v]].seeded;
    }
  for (guint i = 0; i < level->nets->len; i++)
    {
      const LevelNet *net = &g_array_index (level->nets, LevelNet, i);
      const LevelVertex *src = vertex_at (level, net->src);
      comps[of_vertex[net->src]].flat->nets[net_local[i]] = (IrFlatNet){
        .key = net->key,
        .src = local[net->src],
        .dx = port_dx (work, src, net->src_port, net->inner, TRUE),
        .first = edge_at[i],
        .n = net->n_edges
      };
    }
  for (guint i = 0; i < level->edges->len; i++)
    {
      const LevelEdge *e = &g_array_index (level->edges, LevelEdge, i);
      Component *comp = &comps[of_vertex[e->dst]];
      const LevelVertex *dst = vertex_at (level, e->dst);
      gint32 at = edge_at[e->net]++;
      comp->edges[at] = (gint32) i;
      comp->flat->edges[at] = (IrFlatEdge){ .net = net_local[e->net],
                                            .dst = local[e->dst],
                                            .route = e->back ? IR_FLAT_BACK : IR_FLAT_NEAR,
                                            .dx = port_dx (work, dst, e->dst_port, e->inner,
                                                           FALSE) };
    }
}

static void
remember_trunks (Work *work, const IrFlat *flat)
{
  for (gint32 i = 0; i < flat->n_nets; i++)
    {
      const IrFlatNet *net = &flat->nets[i];
      SeedTrunk trunk = { .key = net->key,
                          .first = work->layout->seed_x->len,
                          .n = (guint) net->n_trunk };
      if (net->n_trunk == 0)
        continue;
      for (gint32 k = 0; k < net->n_trunk; k++)
        g_array_append_val (work->layout->seed_x, flat->v[net->trunk + k].x);
      g_array_append_val (work->layout->seed_trunks, trunk);
    }
}

static void
read_component (Work *work, Level *level, const Component *comp, double dx, double dy)
{
  const IrFlat *flat = comp->flat;
  IrLayoutStats *stats = &work->layout->stats;
  g_autofree double *tops = g_new (double, MAX (1, flat->n_layers));
  g_autofree double *bottoms = g_new (double, MAX (1, flat->n_layers));

  for (gint32 l = 0; l < flat->n_layers; l++)
    {
      tops[l] = G_MAXDOUBLE;
      bottoms[l] = -G_MAXDOUBLE;
    }
  for (gint32 i = 0; i < flat->n_real; i++)
    {
      const IrFlatVertex *v = &flat->v[i];
      tops[v->layer] = MIN (tops[v->layer], v->y);
      bottoms[v->layer] = MAX (bottoms[v->layer], v->y + v->height);
    }
  for (gint32 i = 0; i < flat->n_real; i++)
    {
      LevelVertex *v = vertex_at (level, comp->vertices[i]);
      v->x = flat->v[i].x + dx;
      v->y = flat->v[i].y + dy;
      v->layer = flat->v[i].layer;
      v->layer_top = tops[flat->v[i].layer] + dy;
      v->drop = bottoms[flat->v[i].layer] - flat->v[i].y - flat->v[i].height;
    }
  for (gint32 i = 0; i < flat->n_edges; i++)
    {
      LevelEdge *e = &g_array_index (level->edges, LevelEdge, comp->edges[i]);
      e->first_point = level->points->len;
      e->n_points = flat->edges[i].n_points;
      for (guint k = 0; k < e->n_points; k++)
        {
          IrLayoutPoint p = g_array_index (flat->points, IrLayoutPoint,
                                           flat->edges[i].first_point + k);
          p.x += dx;
          p.y += dy;
          g_array_append_val (level->points, p);
        }
    }
  for (gint32 i = flat->n_real; i < flat->n_vertices; i++)
    flat->v[i].x += dx;
  remember_trunks (work, flat);
  stats->n_trunk += (guint) (flat->n_vertices - flat->n_real);
  stats->n_lanes += flat->n_lanes;
  stats->crossings += flat->crossings;
  if (level == work->levels)
    stats->n_layers = MAX (stats->n_layers, (guint) flat->n_layers);
}

static void
grow (IrLayoutRect *all, gboolean *any, IrLayoutRect r)
{
  if (*any)
    {
      double right = MAX (all->x + all->width, r.x + r.width);
      double bottom = MAX (all->y + all->height, r.y + r.height);
      all->x = MIN (all->x, r.x);
      all->y = MIN (all->y, r.y);
      all->width = right - all->x;
      all->height = bottom - all->y;
    }
  else
    *all = r;
  *any = TRUE;
}

static gboolean
touch (IrLayoutRect a, IrLayoutRect b)
{
  return a.x < b.x + b.width + COMPONENT_GAP / 2 && b.x < a.x + a.width + COMPONENT_GAP / 2 &&
         a.y < b.y + b.height + COMPONENT_GAP / 2 && b.y < a.y + a.height + COMPONENT_GAP / 2;
}

/* A component and how far it was moved. */
typedef struct
{
  const IrFlat *flat;
  double dx, dy; /* px */
} Placed;

/* Whether a line of one lies on one of the other. */
static gboolean
lines_touch (const IrFlat *a, const Placed *placed)
{
  const IrFlat *b = placed->flat;

  if ((gint64) a->points->len * b->points->len > 4000000)
    return TRUE;
  for (guint i = 1; i < a->points->len; i++)
    {
      const IrLayoutPoint *p = &g_array_index (a->points, IrLayoutPoint, i - 1);

      for (guint j = 1; p[0].y == p[1].y && j < b->points->len; j++)
        {
          const IrLayoutPoint *q = &g_array_index (b->points, IrLayoutPoint, j - 1);

          if (q[0].y == q[1].y && ABS (p->y - q->y - placed->dy) < 4 &&
              MIN (p[0].x, p[1].x) < MAX (q[0].x, q[1].x) + placed->dx &&
              MIN (q[0].x, q[1].x) + placed->dx < MAX (p[0].x, p[1].x))
            return TRUE;
        }
    }
  return FALSE;
}

/* Whether boxes or lines of the two come too close. What was one component may have
 * become two that lie within each other's bounds. */
static gboolean
components_touch (const IrFlat *a, const Placed *placed)
{
  const IrFlat *b = placed->flat;
  IrLayoutRect r = b->box;

  r.x += placed->dx;
  r.y += placed->dy;
  if (!touch (a->box, r))
    return FALSE;
  if ((gint64) a->n_real * b->n_real > 4000000)
    return TRUE;
  for (gint32 i = 0; i < a->n_real; i++)
    for (gint32 j = 0; j < b->n_real; j++)
      {
        const IrFlatVertex *v = &a->v[i], *w = &b->v[j];
        double top = w->y + placed->dy;
        if (ABS (v->x - w->x - placed->dx) < (v->width + w->width) / 2 + 8 &&
            v->y < top + w->height + 8 && top < v->y + v->height + 8)
          return TRUE;
      }
  return lines_touch (a, placed);
}

/* Components that were there before stay, if they do not touch one another;
 * the others come to the right of them. */
static void
keep_components (Work *work, Level *level, const Component *comps, gint32 n)
{
  g_autofree Placed *placed = g_new (Placed, MAX (1, n));
  gint32 n_placed = 0;
  gboolean any = FALSE;

  for (int pass = 0; pass < 2; pass++)
    for (gint32 c = 0; c < n; c++)
      {
        IrLayoutRect r = comps[c].flat->box;
        /* Looking at all pairs is for the few components that graphs have. */
        gboolean move = pass == 1 || n > 2000;
        Placed *at = &placed[n_placed];
        if (comps[c].seeded != (pass == 0))
          continue;
        for (gint32 i = 0; !move && i < n_placed; i++)
          move = components_touch (comps[c].flat, &placed[i]);
        *at = (Placed){ .flat = comps[c].flat };
        if (move && any)
          {
            at->dx = floor (level->box.x + level->box.width + COMPONENT_GAP - r.x);
            at->dy = floor (level->box.y - r.y);
          }
        n_placed++;
        r.x += at->dx;
        r.y += at->dy;
        grow (&level->box, &any, r);
        read_component (work, level, &comps[c], at->dx, at->dy);
      }
}

static void
pack_components (Work *work, Level *level, const Component *comps, gint32 n)
{
  double area = 0, widest = 0, x = 0, y = 0, row = 0, target;
  gboolean any = FALSE;

  for (gint32 c = 0; c < n; c++)
    {
      IrLayoutRect r = comps[c].flat->box;
      area += (r.width + COMPONENT_GAP) * (r.height + COMPONENT_GAP);
      widest = MAX (widest, r.width);
    }
  target = MAX (widest, 1.3 * sqrt (area));
  for (int pass = 0; pass < 2; pass++)
    for (gint32 c = 0; c < n; c++)
      {
        IrLayoutRect r = comps[c].flat->box;
        double gap = pass == 1 ? work->box_gap : COMPONENT_GAP;
        if ((comps[c].flat->n_real == 1) != (pass == 1))
          continue;
        if (x > 0 && x + r.width > target)
          {
            x = 0;
            y += row + gap;
            row = 0;
          }
        read_component (work, level, &comps[c], x - r.x, y - r.y);
        grow (&level->box, &any, (IrLayoutRect){ x, y, r.width, r.height });
        x += ceil (r.width) + gap;
        row = MAX (row, r.height);
      }
}

static void
remember_level (Work *work, const Level *level)
{
  for (guint i = 0; i < level->vertices->len; i++)
    {
      const LevelVertex *v = vertex_at (level, (gint32) i);
      SeedItem item = { .key = v->key, .x = v->x, .top = v->layer_top, .layer = v->layer };
      g_array_append_val (work->layout->seed_items, item);
    }
}

/* Size of a group around its content. */
static void
frame_level (const Work *work, gint32 index)
{
  Level *level = &work->levels[index];
  const IrLayoutGroup *group = &work->input->groups[index - 1];
  double left = work->turned ? group->pad_top : group->pad_left;
  double right = work->turned ? group->pad_bottom : group->pad_right;
  double top = work->turned ? group->pad_left : group->pad_top;
  double bottom = work->turned ? group->pad_right : group->pad_bottom;
  double width = left + level->box.width + right;

  level->width = MAX (32, even (work->turned ? width : MAX (width, group->min_width)));
  level->height = 8 * ceil ((top + level->box.height + bottom) / 8);
  if (work->turned)
    level->height = MAX (level->height, 8 * ceil (group->min_width / 8));
  level->height = MAX (level->height, 16);
  level->dx = floor (left + (level->width - width) / 2) - level->box.x;
  level->dy = top - level->box.y;
}

static gboolean
solve_level (Work *work, gint32 index, GError **error)
{
  Level *level = &work->levels[index];
  g_autofree gint32 *of_vertex = g_new (gint32, MAX (1, level->vertices->len));
  gboolean ok = TRUE;

  for (guint i = 0; i < level->edges->len; i++)
    {
      const LevelEdge *e = &g_array_index (level->edges, LevelEdge, i);
      g_array_index (level->nets, LevelNet, e->net).n_edges++;
    }
  gint32 n = find_components (level, of_vertex);
  g_autofree Component *comps = g_new0 (Component, MAX (1, n));
  fill_components (work, level, of_vertex, comps, n);
  for (gint32 c = 0; ok && c < n; c++)
    ok = ir_flat_run (comps[c].flat, work->cancellable, error);
  if (ok && work->seeds != NULL && work->input->keep == IR_LAYOUT_KEEP_PLACES)
    keep_components (work, level, comps, n);
  else if (ok)
    pack_components (work, level, comps, n);
  for (gint32 c = 0; c < n; c++)
    component_clear (&comps[c]);
  if (!ok)
    return FALSE;
  remember_level (work, level);
  if (index > 0)
    frame_level (work, index);
  return TRUE;
}

/* --- the result ---------------------------------------------------------- */

static void
turn_rect (IrLayoutRect *r)
{
  *r = (IrLayoutRect){ r->y, r->x, r->height, r->width };
}

static void
place_levels (Work *work)
{
  const IrLayoutInput *input = work->input;

  for (gint32 i = 1; i < work->n_levels; i++)
    {
      Level *level = &work->levels[i];
      const Level *parent = &work->levels[parent_level (input, i)];
      const LevelVertex *v = vertex_at (parent, level->item);
      IrLayoutRect r = { v->x - level->width / 2 + parent->abs_x, v->y + parent->abs_y,
                         level->width, level->height };
      level->abs_x = r.x + level->dx;
      level->abs_y = r.y + level->dy;
      work->layout->groups[i - 1] = r;
    }
  for (guint i = 0; i < input->n_boxes; i++)
    {
      const Level *level = &work->levels[input->boxes[i].group + 1];
      const LevelVertex *v = vertex_at (level, work->box_vertex[i]);
      double w = work->turned ? input->boxes[i].height : input->boxes[i].width;
      double h = work->turned ? input->boxes[i].width : input->boxes[i].height;
      work->layout->boxes[i] = (IrLayoutRect){ v->x - w / 2 + level->abs_x, v->y + level->abs_y, w,
                                               h };
      work->layout->layers[i] = v->layer;
      work->layout->drops[i] = v->drop;
    }
}

static void
append_point (GArray *points, guint first, IrLayoutPoint p)
{
  if (points->len >= first + 2)
    {
      IrLayoutPoint *a = &g_array_index (points, IrLayoutPoint, points->len - 2);
      IrLayoutPoint *b = &g_array_index (points, IrLayoutPoint, points->len - 1);
      if (a->x == b->x && b->x == p.x)
        {
          b->y = p.y;
          return;
        }
    }
  g_array_append_val (points, p);
}

static void
join_edge (Work *work, guint index)
{
  GArray *points = work->layout->points;
  guint first = points->len;

  for (guint i = work->piece_start[index]; i < work->piece_start[index + 1]; i++)
    {
      const Piece *piece = &g_array_index (work->pieces, Piece, i);
      const Level *level = &work->levels[piece->level];
      const LevelEdge *e = &g_array_index (level->edges, LevelEdge, piece->edge);
      for (guint k = 0; k < e->n_points; k++)
        {
          IrLayoutPoint p = g_array_index (level->points, IrLayoutPoint, e->first_point + k);
          p.x += level->abs_x;
          p.y += level->abs_y;
          append_point (points, first, p);
        }
    }
}

static void
join_edges (Work *work)
{
  IrLayout *layout = work->layout;

  for (guint i = 0; i < layout->n_edges; i++)
    {
      join_edge (work, i);
      layout->edge_start[i + 1] = layout->points->len;
    }
  if (work->turned)
    for (guint i = 0; i < layout->points->len; i++)
      {
        IrLayoutPoint *p = &g_array_index (layout->points, IrLayoutPoint, i);
        *p = (IrLayoutPoint){ p->y, p->x };
      }
}

static void
turn_result (IrLayout *layout)
{
  for (guint i = 0; i < layout->n_boxes; i++)
    turn_rect (&layout->boxes[i]);
  for (guint i = 0; i < layout->n_groups; i++)
    turn_rect (&layout->groups[i]);
  turn_rect (&layout->bounds);
}

/* --- the seed ------------------------------------------------------------ */

static void
read_seed (Work *work)
{
  const IrLayout *previous = work->input->previous;

  if (previous == NULL || work->input->keep == IR_LAYOUT_KEEP_NOTHING ||
      previous->direction != work->input->direction)
    return;
  work->seeds = g_hash_table_new (g_int64_hash, g_int64_equal);
  for (guint i = 0; i < previous->seed_items->len; i++)
    {
      SeedItem *item = &g_array_index (previous->seed_items, SeedItem, i);
      g_hash_table_insert (work->seeds, &item->key, item);
    }
  work->seed_trunks = g_hash_table_new (g_int64_hash, g_int64_equal);
  work->seed_trunk_store = g_array_sized_new (FALSE, FALSE, sizeof (IrFlatSeedTrunk),
                                              previous->seed_trunks->len);
  for (guint i = 0; i < previous->seed_trunks->len; i++)
    {
      SeedTrunk *trunk = &g_array_index (previous->seed_trunks, SeedTrunk, i);
      IrFlatSeedTrunk seed = { .x = &g_array_index (previous->seed_x, double, trunk->first),
                               .n = trunk->n };
      g_array_append_val (work->seed_trunk_store, seed);
      g_hash_table_insert (work->seed_trunks, &trunk->key,
                           &g_array_index (work->seed_trunk_store, IrFlatSeedTrunk, i));
    }
}

static IrLayout *
layout_alloc (const IrLayoutInput *input)
{
  IrLayout *layout = g_new0 (IrLayout, 1);

  g_atomic_ref_count_init (&layout->refs);
  layout->n_boxes = input->n_boxes;
  layout->n_groups = input->n_groups;
  layout->n_edges = input->n_edges;
  layout->boxes = g_new0 (IrLayoutRect, MAX (1, input->n_boxes));
  layout->layers = g_new0 (gint32, MAX (1, input->n_boxes));
  layout->drops = g_new0 (double, MAX (1, input->n_boxes));
  layout->groups = g_new0 (IrLayoutRect, MAX (1, input->n_groups));
  layout->edge_start = g_new0 (guint, input->n_edges + 1);
  layout->points = g_array_new (FALSE, FALSE, sizeof (IrLayoutPoint));
  layout->seed_items = g_array_new (FALSE, FALSE, sizeof (SeedItem));
  layout->seed_trunks = g_array_new (FALSE, FALSE, sizeof (SeedTrunk));
  layout->seed_x = g_array_new (FALSE, FALSE, sizeof (double));
  layout->direction = input->direction;
  return layout;
}

static IrLayout *
lay_out (const IrLayoutInput *input, GCancellable *cancellable, GError **error)
{
  g_auto (Work) work = { .input = input, .cancellable = cancellable };

  work.layout = layout_alloc (input);
  work.turned = input->direction == IR_LAYOUT_LEFT_TO_RIGHT;
  work.box_gap = even (input->box_gap > 0 ? input->box_gap : 24);
  work.layer_gap = ceil (input->layer_gap > 0 ? input->layer_gap : 40);
  work.track_gap = ceil (input->track_gap > 0 ? input->track_gap : 10);
  work.lead = ceil (input->lead > 0 ? input->lead : 12);

  read_seed (&work);
  make_levels (&work);
  split_edges (&work);
  for (gint32 i = work.n_levels - 1; i >= 0; i--)
    if (!solve_level (&work, i, error))
      return NULL;
  place_levels (&work);
  work.layout->bounds = work.levels[0].box;
  join_edges (&work);
  if (work.turned)
    turn_result (work.layout);
  return g_steal_pointer (&work.layout);
}

/* px of picture per px of box. */
static double
layout_airiness (const IrLayout *layout)
{
  double boxes = 0;

  for (guint i = 0; i < layout->n_boxes; i++)
    boxes += layout->boxes[i].width * layout->boxes[i].height;
  return boxes > 0 ? layout->bounds.width * layout->bounds.height / boxes : 0;
}

static gboolean
is_loose (const IrLayout *layout)
{
  const guint n = layout->n_boxes, then = layout->n_then;

  return layout_airiness (layout) > LOOSE * layout->airiness ||
         (n > then ? n - then : then - n) > then / CHANGED;
}

/* Boxes that go leave holes, and those that come push the others down: after
 * many small changes a picture with kept places is mostly empty. Then it is
 * made anew, with the order from left to right as it was if that is not what
 * takes the room. */
static IrLayout *
close_holes (IrLayout *kept, const IrLayoutInput *input, GCancellable *cancellable, GError **error)
{
  g_autoptr (IrLayout) old = kept;
  IrLayoutInput again = *input;

  again.keep = IR_LAYOUT_KEEP_NOTHING;
  g_autoptr (IrLayout) best = lay_out (&again, cancellable, error);
  if (best == NULL)
    return NULL;
  double airiness = layout_airiness (best);
  old->airiness = best->airiness = airiness;
  old->n_then = best->n_then = input->n_boxes;
  if (layout_airiness (old) <= CLOSE * airiness)
    return g_steal_pointer (&old);
  again.keep = IR_LAYOUT_KEEP_ORDER;
  g_autoptr (IrLayout) ordered = lay_out (&again, cancellable, error);
  if (ordered == NULL)
    return NULL;
  ordered->airiness = airiness;
  ordered->n_then = input->n_boxes;
  return layout_airiness (ordered) <= CLOSE * airiness ? g_steal_pointer (&ordered)
                                                       : g_steal_pointer (&best);
}

/* Lays out a graph. Equal input (the previous layout included) gives an equal result. Cycles,
 * loops, parallel edges and the empty graph are fine. With IrLayoutInput.previous, boxes with
 * the same key keep their order, or their places too, as IrLayoutInput.keep says; the picture is
 * then not moved to the origin: see ir_layout_bounds(). Places are given up once the holes that
 * many changes leave make the picture clearly larger than a new one. Fails with
 * %IR_LAYOUT_ERROR_BAD_INPUT if an index or size is out of range, or %G_IO_ERROR_CANCELLED.
 * Source: Sugiyama, Tagawa, Toda 1981; Gansner et al. 1993; Brandes, Koepf 2002. Cost: O((n + m)
 * log (n + m)); 50,000 boxes and 70,000 edges take well under a second. Returns the layout.
 * @input: boxes, edges and groups; only read during the call. */
IrLayout *
ir_layout_new (const IrLayoutInput *input, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (input != NULL, NULL);

  gint64 start = g_get_monotonic_time ();
  if (!check_input (input, error))
    return NULL;
  const IrLayout *previous = input->keep == IR_LAYOUT_KEEP_PLACES ? input->previous : NULL;
  g_autoptr (IrLayout) layout = lay_out (input, cancellable, error);
  if (layout == NULL)
    return NULL;
  layout->airiness = previous ? previous->airiness : layout_airiness (layout);
  layout->n_then = previous ? previous->n_then : input->n_boxes;
  if (previous != NULL && is_loose (layout))
    layout = close_holes (g_steal_pointer (&layout), input, cancellable, error);
  if (layout != NULL)
    layout->stats.time_us = g_get_monotonic_time () - start;
  return g_steal_pointer (&layout);
}

IrLayout *
ir_layout_ref (IrLayout *layout)
{
  g_return_val_if_fail (layout != NULL, NULL);

  g_atomic_ref_count_inc (&layout->refs);
  return layout;
}

/* @layout: a layout; freed with its last reference */
void
ir_layout_unref (IrLayout *layout)
{
  g_return_if_fail (layout != NULL);

  if (!g_atomic_ref_count_dec (&layout->refs))
    return;
  g_free (layout->boxes);
  g_free (layout->layers);
  g_free (layout->drops);
  g_free (layout->groups);
  g_free (layout->edge_start);
  g_array_unref (layout->points);
  g_array_unref (layout->seed_items);
  g_array_unref (layout->seed_trunks);
  g_array_unref (layout->seed_x);
  g_free (layout);
}

/* How many boxes the input had */
guint
ir_layout_n_boxes (const IrLayout *layout)
{
  return layout->n_boxes;
}

/* How many groups the input had */
guint
ir_layout_n_groups (const IrLayout *layout)
{
  return layout->n_groups;
}

/* How many edges the input had */
guint
ir_layout_n_edges (const IrLayout *layout)
{
  return layout->n_edges;
}

IrLayoutRect
ir_layout_box (const IrLayout *layout, guint box)
{
  g_return_val_if_fail (box < layout->n_boxes, ((IrLayoutRect){ 0 }));

  return layout->boxes[box];
}

/* Its layer within its group and component, from 0 */
gint32
ir_layout_box_layer (const IrLayout *layout, guint box)
{
  g_return_val_if_fail (box < layout->n_boxes, -1);

  return layout->layers[box];
}

/* Px from its bottom to the bottom of the tallest box of its layer; what stands below that is
 * clear of other boxes. */
double
ir_layout_box_drop (const IrLayout *layout, guint box)
{
  g_return_val_if_fail (box < layout->n_boxes, 0);

  return layout->drops[box];
}

/* The place of its frame, px */
IrLayoutRect
ir_layout_group (const IrLayout *layout, guint group)
{
  g_return_val_if_fail (group < layout->n_groups, ((IrLayoutRect){ 0 }));

  return layout->groups[group];
}

/* The line of an edge, from the rim of its source to the rim of its target, each part vertical
 * or horizontal. Returns its points, px. */
const IrLayoutPoint *
ir_layout_edge (const IrLayout *layout, guint edge, guint *n_points)
{
  g_return_val_if_fail (edge < layout->n_edges, NULL);

  *n_points = layout->edge_start[edge + 1] - layout->edge_start[edge];
  return &g_array_index (layout->points, IrLayoutPoint, layout->edge_start[edge]);
}

/* The box around everything, px; its corner is the origin unless places were kept. */
IrLayoutRect
ir_layout_bounds (const IrLayout *layout)
{
  return layout->bounds;
}

/* What the bench and the inspector show */
const IrLayoutStats *
ir_layout_stats (const IrLayout *layout)
{
  return &layout->stats;
}

/* Every number of the result in a stable form, for tests. Returns the text. */
char *
ir_layout_to_text (const IrLayout *layout)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "bounds %g %g %g %g\n", layout->bounds.x, layout->bounds.y,
                          layout->bounds.width, layout->bounds.height);
  for (guint i = 0; i < layout->n_groups; i++)
    g_string_append_printf (text, "group %u %g %g %g %g\n", i, layout->groups[i].x,
                            layout->groups[i].y, layout->groups[i].width, layout->groups[i].height);
  for (guint i = 0; i < layout->n_boxes; i++)
    g_string_append_printf (text, "box %u layer %d %.2f %.2f %.2f %.2f\n", i, layout->layers[i],
                            layout->boxes[i].x, layout->boxes[i].y, layout->boxes[i].width,
                            layout->boxes[i].height);
  for (guint i = 0; i < layout->n_edges; i++)
    {
      guint n;
      const IrLayoutPoint *p = ir_layout_edge (layout, i, &n);
      g_string_append_printf (text, "edge %u", i);
      for (guint k = 0; k < n; k++)
        g_string_append_printf (text, " %.2f,%.2f", p[k].x, p[k].y);
      g_string_append_c (text, '\n');
    }
  return g_string_free (text, FALSE);
}
