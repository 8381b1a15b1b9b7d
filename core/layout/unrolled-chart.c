/* Some iterations of a loop written out, as they ran: the loop as it is, with its edges back, and beside it a column for
 * each of these iterations. Columns are alike, so the same node stands at the same height in all of them; in the loop it
 * says its name, in an iteration what it gave there; what one iteration hands to the next is an edge from column to column. Of tokens and of bodies alike: what
 * there is comes from the graph, what became of it from the events. */
#include "config.h"

#include "core/exec/run/flow-state.h"
#include "core/exec/run/iteration-name.h"
#include "core/exec/run/iterations.h"
#include "core/ir/frames.h"
#include "core/layout/charts-private.h"
#include "core/op/op.h"

#include <string.h>

#define WIDTH      120.0
#define HEADER     22.0
#define LINE       18.0 /* of the name, or of what it gave */
#define PILL       38.0
#define PAD        14.0
#define TITLE      26.0 /* of a column */
#define INDENT     10.0
#define GUTTER     20.0 /* between columns, and TRACK more for each edge that goes up there */
#define TRACK      8.0
#define ARROW      64.0 /* from the loop to its iterations */
#define MOST_BOXES 4000

typedef struct
{
  const IrNode *node;   /* (nullable): a value that comes in, or a loop inside */
  const IrValue *value; /* (nullable) */
  const char *inner;    /* (nullable): a loop inside, as one box */
  gboolean captured;    /* @value is one of around */
} Item;

typedef struct
{
  const IrFlowLog *log;
  const IrModel *model;
  const char *path;    /* "outer@3/inner" */
  const char *loop;    /* the innermost of these by itself */
  const IrGraph *body; /* (nullable): of tokens there is none */
  const IrNode *owner; /* (nullable): of @body */
  gint64 first, last;
  GArray *items;      /* of Item */
  GArray *edges;      /* of IrLayoutEdge: within an iteration */
  GArray *carried;    /* of IrLayoutEdge: from an iteration to the next */
  GHashTable *index;  /* node, value or name -> item + 1 */
  GHashTable *linked; /* "from:to" */
  GHashTable *events; /* "iteration:node" -> IrFlowEvent */
  GPtrArray *names;   /* (owned) of loops inside */
  IrLayout *layout;   /* of one column */
  IrLayoutRect frame; /* of it */
  IrScene *scene;
} Unrolled;

/* -- what there is -- */

static gint32
find (const Unrolled *u, gconstpointer what)
{
  return GPOINTER_TO_INT (g_hash_table_lookup (u->index, what)) - 1;
}

static gint32
add (Unrolled *u, gconstpointer what, Item item)
{
  g_array_append_val (u->items, item);
  g_hash_table_insert (u->index, (gpointer) what, GUINT_TO_POINTER (u->items->len));
  return (gint32) u->items->len - 1;
}

static const Item *
item_at (const Unrolled *u, guint i)
{
  return &g_array_index (u->items, Item, i);
}

static void
link_items (Unrolled *u, gint32 from, gint32 to, gboolean back)
{
  const IrLayoutEdge edge = { .from = from, .to = to };
  char *key = g_strdup_printf ("%d:%d", from, to);

  if (from < 0 || from == to || g_hash_table_contains (u->linked, key))
    {
      g_free (key);
      return;
    }
  g_hash_table_add (u->linked, key);
  g_array_append_val (back ? u->carried : u->edges, edge);
}

/* What a node gives that says in which loop it is: an Exit takes it out of there. */
static const IrValue *
value_inside (const IrNode *node)
{
  if (ir_node_tokens (node) == IR_TOKENS_EXIT)
    return ir_node_input (node, 0);
  return node->n_outputs > 0 ? node->outputs[0] : NULL;
}

static gboolean
is_of_loop (const IrValue *value, const char *loop)
{
  g_autofree char *own = value != NULL ? ir_value_loop (value) : NULL;

  return own != NULL && strcmp (own, loop) == 0;
}

static void
read_graph (Unrolled *u)
{
  for (IrNodeId id = 1; id < u->model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (u->model, id);
      const IrValue *value = node != NULL ? value_inside (node) : NULL;
      if (value != NULL && ir_value_constant (value) == NULL && is_of_loop (value, u->loop))
        add (u, node, (Item){ .node = node });
    }
}

/* -- what each of them reads -- */

/* Which output of the body an input of the next iteration is; -1: none */
static gint
carried_from (const Unrolled *u, const IrValue *input)
{
  const guint n_scanned = (guint) ir_node_attr_int (u->owner, "num_scan_inputs", 0);
  const gboolean is_loop = ir_node_is (u->owner, "Loop");
  const guint n = ir_graph_n_inputs (u->body);

  for (guint i = is_loop ? 1 : 0; i < n; i++)
    if (ir_graph_input (u->body, i) == input)
      return is_loop                                              ? (gint) i - 1
             : ir_node_is (u->owner, "Scan") && i + n_scanned < n ? (gint) i
                                                                  : -1;
  return -1;
}

static gint32
pill (Unrolled *u, const IrValue *value, gboolean captured)
{
  const gint32 at = find (u, value);

  return at >= 0 ? at : add (u, value, (Item){ .value = value, .captured = captured });
}

static gint32
inner_loop (Unrolled *u, const IrValue *value)
{
  g_autofree char *loop = ir_value_loop (value);
  const char *name = NULL;

  for (guint i = 0; i < u->names->len && name == NULL; i++)
    if (g_strcmp0 (u->names->pdata[i], loop) == 0)
      name = u->names->pdata[i];
  if (name != NULL || loop == NULL)
    return name != NULL ? find (u, name) : -1;
  name = g_steal_pointer (&loop);
  g_ptr_array_add (u->names, (gpointer) name);
  return add (u, name, (Item){ .inner = name });
}

/* Whether the loop is one of those around the one that @value is computed in */
static gboolean
is_deeper (const Unrolled *u, const IrValue *value)
{
  g_autofree char *loops = ir_value_loops (value), *all = g_strconcat ("/", loops, "/", NULL),
                  *own = g_strconcat ("/", u->loop, "/", NULL);

  return loops != NULL && strstr (all, own) != NULL && !is_of_loop (value, u->loop);
}

/* -1: a constant, or nothing that is drawn */
static gint32
source (Unrolled *u, const IrValue *value)
{
  const IrNode *producer = value != NULL ? value->producer : NULL;
  const gint32 at = producer != NULL ? find (u, producer) : -1;

  if (value == NULL || at >= 0 || ir_value_constant (value) != NULL)
    return at;
  if (producer != NULL && ir_node_tokens (producer) == IR_TOKENS_EXIT &&
      is_deeper (u, ir_node_input (producer, 0)))
    return inner_loop (u, ir_node_input (producer, 0));
  if (producer == NULL && u->body != NULL && ir_graph_has_input (u->body, value))
    return pill (u, value, FALSE);
  return is_of_loop (value, u->loop) || is_deeper (u, value) ? -1 : pill (u, value, TRUE);
}

static void
link_node (Unrolled *u, gint32 to, const IrNode *node)
{
  const gboolean merges = ir_node_tokens (node) == IR_TOKENS_MERGE;
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node), captures = ir_node_captures (node);

  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrNode *producer = node->inputs[i] != NULL ? node->inputs[i]->producer : NULL;
      link_items (u, source (u, node->inputs[i]), to,
                  merges && producer != NULL &&
                      ir_node_tokens (producer) == IR_TOKENS_NEXT_ITERATION);
    }
  if (ir_node_attr_graph (node, "body") != NULL) /* a loop inside is one box, a branch is not */
    for (guint i = 0; i < captures->len; i++)
      link_items (u, source (u, captures->pdata[i]), to, FALSE);
  else
    for (guint i = 0; i < graphs->len; i++)
      for (guint k = 0; k < ir_graph_n_outputs (graphs->pdata[i]); k++)
        link_items (u, source (u, ir_graph_output (graphs->pdata[i], k)), to, FALSE);
}

/* What a loop of tokens inside reads of this one */
static void
link_inner (Unrolled *u, gint32 to, const char *inner)
{
  for (IrNodeId id = 1; id < u->model->nodes->len; id++)
    {
      const IrNode *node = ir_model_live_node (u->model, id);
      if (node != NULL && ir_node_tokens (node) == IR_TOKENS_ENTER &&
          is_of_loop (ir_node_output (node, 0), inner))
        link_items (u, source (u, ir_node_input (node, 0)), to, FALSE);
    }
}

/* What the body gives comes in again. */
static void
link_back (Unrolled *u, gint32 to, const IrValue *input)
{
  const gint from = carried_from (u, input);

  if (from >= 0 && from < (gint) ir_graph_n_outputs (u->body))
    link_items (u, source (u, ir_graph_output (u->body, (guint) from)), to, TRUE);
}

static void
link_all (Unrolled *u)
{
  for (guint i = 0; i < u->items->len && u->items->len <= MOST_BOXES; i++)
    {
      const Item item = *item_at (u, i);
      if (item.node != NULL)
        link_node (u, (gint32) i, item.node);
      else if (item.inner != NULL)
        link_inner (u, (gint32) i, item.inner);
      else if (!item.captured)
        link_back (u, (gint32) i, item.value);
    }
}

/* -- what became of it -- */

static char *
event_key (gint64 iteration, IrNodeId node)
{
  return g_strdup_printf ("%" G_GINT64_FORMAT ":%u", iteration, node);
}

/* What is told last says most, but for which branch was called. A token that goes on is told of where it comes to. */
static void
read_events (Unrolled *u)
{
  const GArray *events = ir_flow_log_events (u->log);

  for (guint i = 0; i < events->len; i++)
    {
      const IrFlowEvent *event = &g_array_index (events, IrFlowEvent, i);
      const gboolean goes_on = event->kind == IR_FLOW_NEXT;
      if (strcmp (event->frame, u->path) != 0 || event->iteration - goes_on < u->first ||
          event->iteration - goes_on > u->last)
        continue;
      g_autofree char *key = event_key (event->iteration - goes_on, event->node);
      const IrFlowEvent *known = g_hash_table_lookup (u->events, key);
      if (known == NULL || known->kind != IR_FLOW_CALLED)
        g_hash_table_insert (u->events, g_steal_pointer (&key), (gpointer) event);
    }
}

/* (nullable) */
static const IrFlowEvent *
event_of (const Unrolled *u, const Item *item, gint64 iteration)
{
  g_autofree char *key = item->node != NULL ? event_key (iteration, item->node->id) : NULL;

  return key != NULL ? g_hash_table_lookup (u->events, key) : NULL;
}

/* (transfer full) (nullable) */
static char *
value_text (const Unrolled *u, const Item *item, const IrFlowEvent *event, gint64 iteration)
{
  const guint slot = event != NULL && ir_node_tokens (item->node) == IR_TOKENS_SWITCH
                         ? (guint) MAX (event->slot, 0)
                         : 0;
  const IrValue *value = item->value != NULL  ? item->value
                         : item->node != NULL ? ir_node_output (item->node, slot)
                                              : NULL;
  const gboolean goes_on = event != NULL && event->kind == IR_FLOW_NEXT;

  if (value == NULL)
    return NULL;
  return item->captured ? ir_flow_value_text (u->log, value, "", 0)
                        : ir_flow_value_text (u->log, value, u->path, iteration + goes_on);
}

/* -- drawing -- */

/* What is carried comes in from above all boxes and goes out below all, by two more that are not drawn; so no line of
 * it crosses a box. */
static GArray *
edges_with_ends (const Unrolled *u)
{
  const guint n = u->items->len, n_carried = u->carried->len;
  const gint32 top = (gint32) n, bottom = (gint32) n + 1;
  GArray *all = g_array_copy (u->edges);
  g_autofree gboolean *reads = g_new0 (gboolean, n + 1), *is_read = g_new0 (gboolean, n + 1);

  for (guint i = 0; i < u->edges->len; i++)
    {
      const IrLayoutEdge *edge = &g_array_index (u->edges, IrLayoutEdge, i);
      reads[edge->to] = is_read[edge->from] = TRUE;
    }
  for (guint i = 0; i < n_carried; i++)
    {
      const IrLayoutEdge *edge = &g_array_index (u->carried, IrLayoutEdge, i);
      const IrLayoutEdge ends[] = { { edge->from, 0, bottom, (gint32) i, FALSE },
                                    { top, (gint32) i, edge->to, 0, FALSE } };
      g_array_append_vals (all, ends, G_N_ELEMENTS (ends));
    }
  for (guint i = 0; i < n; i++)
    {
      const IrLayoutEdge ends[] = { { top, (gint32) n_carried, (gint32) i, 0, FALSE },
                                    { (gint32) i, 0, bottom, (gint32) n_carried, FALSE } };
      if (!reads[i])
        g_array_append_val (all, ends[0]);
      if (!is_read[i])
        g_array_append_val (all, ends[1]);
    }
  return all;
}

static gboolean
place (Unrolled *u, GCancellable *cancellable, GError **error)
{
  const guint n = u->items->len, n_ports = u->carried->len + 1;
  g_autofree IrLayoutBox *boxes = g_new0 (IrLayoutBox, n + 2);
  g_autoptr (GArray) edges = edges_with_ends (u);
  const double tracks = TRACK * u->carried->len;
  const IrLayoutGroup group = { .key = 1,
                                .parent = -1,
                                .pad_left = PAD,
                                .pad_top = TITLE + tracks,
                                .pad_right = PAD,
                                .pad_bottom = PAD + tracks,
                                .min_width = 7.5 * (double) strlen (u->path) + 64 };
  const IrLayoutInput input = { .boxes = boxes,
                                .n_boxes = n + 2,
                                .edges = (const IrLayoutEdge *) (gconstpointer) edges->data,
                                .n_edges = edges->len,
                                .groups = &group,
                                .n_groups = 1,
                                .box_gap = 14,
                                .layer_gap = 24 };

  for (guint i = 0; i < n; i++)
    boxes[i] = (IrLayoutBox){ .key = i + 1,
                              .width = WIDTH,
                              .height = item_at (u, i)->value != NULL ? PILL : HEADER + LINE + 4,
                              .n_in = 1,
                              .n_out = 1 };
  for (guint i = n; i < n + 2; i++)
    boxes[i] = (IrLayoutBox){
      .key = i + 1, .width = TRACK * (n_ports + 1), .height = 1, .n_in = n_ports, .n_out = n_ports
    };
  u->layout = ir_layout_new (&input, cancellable, error);
  if (u->layout != NULL)
    u->frame = ir_layout_group (u->layout, 0);
  return u->layout != NULL;
}

static void
add_text (const Unrolled *u,
          gint32 box,
          IrSceneTextStyle style,
          const char *text,
          const IrLayoutRect *at,
          double y)
{
  const IrSceneText item = {
    .style = style,
    .align = style == IR_SCENE_TEXT_PILL ? IR_SCENE_ALIGN_MIDDLE : IR_SCENE_ALIGN_START,
    .box = box,
    .on_header = style == IR_SCENE_TEXT_TITLE || style == IR_SCENE_TEXT_PILL,
    .x = at->x + (style == IR_SCENE_TEXT_PILL ? at->width / 2 : INDENT),
    .y = at->y + y,
    .text = text
  };

  if (text != NULL && *text != '\0')
    ir_scene_add_text (u->scene, &item, at->width - 2 * INDENT + 4);
}

static char *
tip_of (const Unrolled *u, const Item *item, const char *said, gint64 iteration)
{
  g_autofree char *label = item->node != NULL ? ir_node_label (item->node) : NULL;
  const char *name = label != NULL ? label : item->inner != NULL ? item->inner : item->value->name;

  if (iteration < 0)
    return g_strdup (name);
  return g_strdup_printf ("%s in iteration %" G_GINT64_FORMAT " of %s%s%s", name, iteration,
                          u->path, said != NULL ? ": " : "", said != NULL ? said : "");
}

/* @iteration: -1: the loop as it is */
static void
draw_item (Unrolled *u, guint index, gint64 iteration, gint32 column, const IrLayoutRect *at)
{
  const Item *item = item_at (u, index);
  const IrFlowEvent *event = iteration >= 0 ? event_of (u, item, iteration) : NULL;
  const gboolean stays = item->node != NULL && ir_node_attr_int (item->node, "is_constant", 0) != 0,
                 idle = item->node != NULL && iteration >= 0 && (event != NULL || !stays) &&
                        (event == NULL || event->kind == IR_FLOW_DEAD ||
                         event->kind == IR_FLOW_DEFERRED);
  g_autofree char *value = iteration >= 0
                               ? value_text (u, item, event, event == NULL && stays ? 0 : iteration)
                               : NULL,
                  *said = event != NULL ? chart_flow_cell_text (item->node, event, value)
                          : idle        ? g_strdup ("not run")
                                        : g_strdup (value),
                  *tip = tip_of (u, item, said, iteration),
                  *id = g_strdup_printf ("u%u-%d", index, column);
  const IrSceneBox box = {
    .kind = item->value != NULL   ? IR_SCENE_INPUT
            : item->inner != NULL ? IR_SCENE_FOLD
                                  : IR_SCENE_NODE,
    .colour = item->node != NULL    ? chart_colour_of (item->node)
              : item->inner != NULL ? IR_SCENE_COLOUR_FOLD
                                    : IR_SCENE_COLOUR_INPUT,
    .dimmed = idle,
    .parent = column,
    .x = at->x,
    .y = at->y,
    .width = at->width,
    .height = at->height,
    .header = item->value != NULL ? PILL : HEADER,
    .node = item->node != NULL ? item->node->id : 0,
    .value = item->value != NULL ? item->value->id : 0,
    .key = (guint64) (column + 1) << 32 | (index + 1),
    .id = id,
    .tip = tip,
  };
  const gint32 added = ir_scene_add_box (u->scene, &box);

  if (item->value != NULL)
    {
      add_text (u, added, IR_SCENE_TEXT_PILL, item->value->name, at, said != NULL ? 16 : 23);
      add_text (u, added, IR_SCENE_TEXT_PILL, said, at, 31);
      return;
    }
  add_text (u, added, IR_SCENE_TEXT_TITLE, item->node != NULL ? item->node->op_type : "Loop", at,
            16);
  if (iteration < 0)
    add_text (u, added, IR_SCENE_TEXT_SUBTITLE, item->node != NULL ? item->node->name : item->inner,
              at, HEADER + LINE - 4);
  else
    add_text (u, added, IR_SCENE_TEXT_ROW, said, at, HEADER + LINE - 4);
}

/* px from the layout's place to that of a column, -1: of the loop as it is */
static double
shift_of (const Unrolled *u, gint32 column)
{
  const double gutter = GUTTER + TRACK * u->carried->len;

  return column < 0 ? 0 : ARROW + (column + 1) * (u->frame.width + gutter);
}

/* A frame with all that is in it. Returns the index of its first box in the scene. */
static gint32
draw_column (Unrolled *u, gint32 column)
{
  const gint64 iteration = column < 0 ? -1 : u->first + column;
  const double dx = shift_of (u, column);
  g_autofree char *title = column < 0
                               ? g_strdup (u->path)
                               : g_strdup_printf ("%s@%" G_GINT64_FORMAT, u->path, iteration),
                  *id = g_strdup_printf ("g%d", column + 1);
  IrLayoutRect at = u->frame;
  const IrSceneBox box = { .kind = IR_SCENE_CLUSTER,
                           .colour = IR_SCENE_COLOUR_CLUSTER,
                           .parent = -1,
                           .x = at.x + dx,
                           .y = at.y,
                           .width = at.width,
                           .height = at.height,
                           .header = TITLE,
                           .id = id,
                           .tip = title };
  const gint32 frame = ir_scene_add_box (u->scene, &box);

  at.x += dx;
  add_text (u, frame, IR_SCENE_TEXT_CLUSTER, title, &at, 18);
  for (guint i = 0; i < u->items->len; i++)
    {
      at = ir_layout_box (u->layout, i);
      at.x += dx;
      draw_item (u, i, iteration, frame, &at);
    }
  return frame + 1;
}

static void
add_points (const Unrolled *u, GArray *points, guint edge, gint32 column)
{
  guint n;
  const IrLayoutPoint *places = ir_layout_edge (u->layout, edge, &n);

  for (guint i = 0; i < n; i++)
    {
      const IrLayoutPoint point = { places[i].x + shift_of (u, column), places[i].y };
      g_array_append_val (points, point);
    }
}

static void
draw_line (Unrolled *u, const IrSceneLine *line, const GArray *points)
{
  ir_scene_add_line (u->scene, line, (const IrLayoutPoint *) (gconstpointer) points->data,
                     points->len);
}

static void
draw_edges (Unrolled *u, gint32 column, gint32 first_box)
{
  for (guint i = 0; i < u->edges->len; i++)
    {
      const IrLayoutEdge *edge = &g_array_index (u->edges, IrLayoutEdge, i);
      g_autoptr (GArray) points = g_array_new (FALSE, FALSE, sizeof (IrLayoutPoint));
      const IrSceneLine line = { .kind = IR_SCENE_LINE_DATA,
                                 .from = first_box + edge->from,
                                 .to = first_box + edge->to,
                                 .captured = item_at (u, (guint) edge->from)->captured };
      add_points (u, points, i, column);
      draw_line (u, &line, points);
    }
}

/* From a column to the next, or back into the loop as it is: out below, up beside the column, in from above. */
static void
draw_carried (Unrolled *u, gint32 column, gint32 first_box, gint32 next_box)
{
  const double beside = u->frame.x + u->frame.width + GUTTER / 2 + shift_of (u, column);

  for (guint i = 0; i < u->carried->len; i++)
    {
      const IrLayoutEdge *edge = &g_array_index (u->carried, IrLayoutEdge, i);
      g_autoptr (GArray) points = g_array_new (FALSE, FALSE, sizeof (IrLayoutPoint)),
                         in = g_array_new (FALSE, FALSE, sizeof (IrLayoutPoint));
      add_points (u, points, u->edges->len + 2 * i, column);
      add_points (u, in, u->edges->len + 2 * i + 1, column < 0 ? column : column + 1);
      if (points->len == 0 || in->len == 0)
        continue;
      const IrLayoutPoint out = g_array_index (points, IrLayoutPoint, points->len - 1),
                          to = g_array_index (in, IrLayoutPoint, 0);
      const double x = beside + TRACK * i, below = out.y + TRACK * (i + 1),
                   above = to.y - TRACK * (i + 1);
      const IrLayoutPoint way[] = { { out.x, below }, { x, below }, { x, above }, { to.x, above } };
      const IrSceneLine line = { .kind = IR_SCENE_LINE_DATA,
                                 .from = first_box + edge->from,
                                 .to = next_box + edge->to };
      g_array_set_size (points, points->len - 1);
      g_array_append_vals (points, way, G_N_ELEMENTS (way));
      g_array_append_vals (points, &g_array_index (in, IrLayoutPoint, 1), in->len - 1);
      draw_line (u, &line, points);
    }
}

static void
draw (Unrolled *u)
{
  const gint32 n = (gint32) (u->last - u->first + 1);
  g_autofree gint32 *boxes = g_new0 (gint32, (gsize) n + 1);
  const double y = u->frame.y + u->frame.height / 2, x = u->frame.x + u->frame.width + ARROW / 4;
  const IrLayoutPoint arrow[] = { { x, y }, { x + ARROW / 2, y } };

  for (gint32 i = -1; i < n; i++)
    boxes[i + 1] = draw_column (u, i);
  for (gint32 i = -1; i < n; i++)
    draw_edges (u, i, boxes[i + 1]);
  draw_carried (u, -1, boxes[0], boxes[0]);
  for (gint32 i = 0; i + 1 < n; i++)
    draw_carried (u, i, boxes[i + 1], boxes[i + 2]);
  ir_scene_add_line (u->scene, &(IrSceneLine){ .kind = IR_SCENE_LINE_DATA, .from = -1, .to = -1 },
                     arrow, G_N_ELEMENTS (arrow));
  ir_scene_finish (u->scene);
}

/* -- all -- */

/* What owns a body with this name */
static void
find_owner (Unrolled *u)
{
  for (IrNodeId id = 1; id < u->model->nodes->len && u->owner == NULL; id++)
    {
      const IrNode *node = ir_model_live_node (u->model, id);
      const IrGraph *body = node != NULL ? ir_node_attr_graph (node, "body") : NULL;
      g_autofree char *name = body != NULL ? ir_loop_name (node) : NULL;
      if (name == NULL || strcmp (name, u->loop) != 0)
        continue;
      u->owner = node;
      u->body = body;
    }
}

/* FALSE: it did not run */
static gboolean
find_loop (Unrolled *u, const char *path)
{
  const GArray *events = ir_flow_log_events (u->log);

  for (guint i = 0; i < events->len; i++)
    {
      const IrFlowEvent *event = &g_array_index (events, IrFlowEvent, i);
      const gboolean is_it = strcmp (event->frame, path) == 0;
      if (!is_it && (u->path != NULL || strcmp (event->loop, path) != 0 || *path == '\0'))
        continue;
      u->path = event->frame;
      u->loop = event->loop;
      if (is_it)
        break;
    }
  return u->path != NULL;
}

/* As far as there are iterations. FALSE: there is not even the first */
static gboolean
find_last (Unrolled *u, gint64 last)
{
  const GArray *events = ir_flow_log_events (u->log);

  u->last = -1;
  for (guint i = 0; i < events->len; i++)
    {
      const IrFlowEvent *event = &g_array_index (events, IrFlowEvent, i);
      if (event->iteration <= last && strcmp (event->frame, u->path) == 0)
        u->last = MAX (u->last, event->iteration);
    }
  return u->last >= u->first;
}

/* FALSE: it is refused */
static gboolean
find_all (Unrolled *u, const char *path, gint64 last, GError **error)
{
  if (!find_loop (u, path))
    g_set_error (error, IR_LAYOUT_ERROR, IR_LAYOUT_ERROR_BAD_INPUT,
                 "%s: no loop of this name ran; 'irscope play --summary' lists those that did",
                 path);
  else if (!find_last (u, last))
    g_set_error (error, IR_LAYOUT_ERROR, IR_LAYOUT_ERROR_BAD_INPUT,
                 "%s: of iteration %" G_GINT64_FORMAT " there are no events; the last one that has "
                 "some is %" G_GINT64_FORMAT,
                 u->path, u->first, u->last);
  else
    {
      find_owner (u);
      read_graph (u);
      link_all (u);
      if (u->items->len * (guint64) (u->last - u->first + 2) <= MOST_BOXES)
        return TRUE;
      g_set_error (error, IR_LAYOUT_ERROR, IR_LAYOUT_ERROR_TOO_BIG,
                   "%s: these iterations are more than %d boxes; ask for fewer of them", u->path,
                   MOST_BOXES);
    }
  return FALSE;
}

/**
 * ir_chart_unrolled:
 * @log: events of a run; with %IR_ITERATIONS_SERIES boxes say what nodes gave
 * @path: a loop: "outer@3/inner", or "inner": where it was entered first
 * @first: an iteration
 * @last: one that is not before it
 * @options: (nullable): how texts are measured; it is as wide as it needs
 * @error: #IrLayoutError: nothing of it is kept, or it would be too much to draw
 *
 * Returns: (transfer full) (nullable): the loop as it is, and beside it those of these iterations that there were
 */
IrScene *
ir_chart_unrolled (const IrFlowLog *log,
                   const char *path,
                   gint64 first,
                   gint64 last,
                   const IrChartOptions *options,
                   GCancellable *cancellable,
                   GError **error)
{
  Unrolled u = { .log = log,
                 .model = ir_flow_log_model (log),
                 .first = first,
                 .items = g_array_new (FALSE, FALSE, sizeof (Item)),
                 .edges = g_array_new (FALSE, FALSE, sizeof (IrLayoutEdge)),
                 .carried = g_array_new (FALSE, FALSE, sizeof (IrLayoutEdge)),
                 .index = g_hash_table_new (NULL, NULL),
                 .linked = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
                 .events = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
                 .names = g_ptr_array_new_with_free_func (g_free) };

  if (find_all (&u, path, last, error) && place (&u, cancellable, error))
    {
      u.scene = ir_scene_new (options != NULL ? options->measure : NULL,
                              options != NULL ? options->measure_data : NULL);
      read_events (&u);
      draw (&u);
    }
  g_clear_pointer (&u.layout, ir_layout_unref);
  g_array_unref (u.items);
  g_array_unref (u.edges);
  g_array_unref (u.carried);
  g_hash_table_unref (u.index);
  g_hash_table_unref (u.linked);
  g_hash_table_unref (u.events);
  g_ptr_array_unref (u.names);
  return u.scene;
}
