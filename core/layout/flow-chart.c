/* The control flow of a run: a lane for each loop, nested as the loops are, with a row for each node that ran in
 * it and a column for each iteration. In an iteration of a loop lie those of the loops inside of it, so what
 * stands below each other happened together. A cell says what its node gave, or what became of it: dead, waiting,
 * which input a Merge took, which branch was called. */
#include "config.h"

#include "core/exec/run/flow-log.h"
#include "core/exec/run/iterations.h"
#include "core/layout/charts-private.h"

#include <math.h>
#include <string.h>

#define NAMES        220.0
#define INDENT       14.0
#define CELL         84.0
#define ROW          22.0
#define TITLE        24.0 /* of a lane */
#define HEAD         18.0 /* numbers of iterations */
#define PAD          4.0
#define MOST_COLUMNS 16 /* of one time that a loop runs */
#define MOST_ROWS    400

/* A loop inside of others, whatever iteration these are in; the first is what lies in no loop. */
typedef struct
{
  const char *name; /* interned by the log */
  gint parent;      /* -1: none */
  GArray *nodes;    /* of IrNodeId, in the order in which they first ran */
  GArray *lanes;    /* of guint: inside of it */
  guint64 n_iterations;
  double y, height; /* px; y: below the title */
} Lane;

/* One time that a loop runs. */
typedef struct
{
  guint lane;
  gint parent;     /* -1: none */
  gint64 around;   /* iteration of the parent */
  gint64 first;    /* iteration that has the first column */
  gint64 n;        /* iterations, from 0 */
  GArray *inside;  /* of guint: instances */
  double x, width; /* px */
  double ends[MOST_COLUMNS];
} Instance;

/* What became of a node in an iteration. */
typedef struct
{
  const IrFlowEvent *event; /* what is told of it */
  guint64 n_times;
} Cell;

typedef struct
{
  ChartPage page;
  const IrFlowLog *log;
  GArray *lanes;     /* of Lane */
  GArray *instances; /* of Instance */
  GHashTable *by_path;
  GHashTable *cells;  /* "instance:iteration:node" -> Cell */
  GHashTable *series; /* "value@iteration path" -> IrSeriesPoint */
} Flow;

static void
lane_clear (gpointer data)
{
  g_array_unref (((Lane *) data)->nodes);
  g_array_unref (((Lane *) data)->lanes);
}

static void
instance_clear (gpointer data)
{
  g_array_unref (((Instance *) data)->inside);
}

static Lane *
lane_at (const Flow *flow, guint index)
{
  return &g_array_index (flow->lanes, Lane, index);
}

static Instance *
instance_at (const Flow *flow, guint index)
{
  return &g_array_index (flow->instances, Instance, index);
}

/* -- what happened -- */

static guint
lane_of (Flow *flow, gint parent, const char *name)
{
  const Lane lane = { .name = name,
                      .parent = parent,
                      .nodes = g_array_new (FALSE, FALSE, sizeof (IrNodeId)),
                      .lanes = g_array_new (FALSE, FALSE, sizeof (guint)) };
  const guint index = flow->lanes->len;

  for (guint i = 0; i < flow->lanes->len; i++)
    if (lane_at (flow, i)->parent == parent && strcmp (lane_at (flow, i)->name, name) == 0)
      {
        g_array_unref (lane.nodes);
        g_array_unref (lane.lanes);
        return i;
      }
  g_array_append_val (flow->lanes, lane);
  if (parent >= 0)
    g_array_append_val (lane_at (flow, (guint) parent)->lanes, index);
  return index;
}

static guint instance_of (Flow *flow, const char *path, const char *name);

/* "outer@3/inner" lies in iteration 3 of "outer". */
static guint
instance_around (Flow *flow, const char *path, const char *name, gint64 *iteration)
{
  const gsize length = strlen (path), own = strlen (name);
  g_autofree char *outer = length > own ? g_strndup (path, length - own - 1) : g_strdup ("");
  char *at = strrchr (outer, '@');
  const char *outer_name;

  *iteration = 0;
  if (at == NULL)
    return 0;
  *iteration = g_ascii_strtoll (at + 1, NULL, 10);
  *at = '\0';
  if (g_hash_table_contains (flow->by_path, outer))
    return instance_of (flow, outer, NULL);
  outer_name = strrchr (outer, '/');
  return instance_of (flow, outer, outer_name != NULL ? outer_name + 1 : outer);
}

/* @name: of the innermost; names may have / in them. (nullable): it is known */
static guint
instance_of (Flow *flow, const char *path, const char *name)
{
  gpointer found = g_hash_table_lookup (flow->by_path, path);
  Instance instance = { .parent = -1, .n = 1 };

  if (found != NULL)
    return GPOINTER_TO_UINT (found) - 1;
  if (flow->instances->len > 0)
    instance.parent = (gint) instance_around (flow, path, name, &instance.around);
  instance.inside = g_array_new (FALSE, FALSE, sizeof (guint));
  instance.lane = lane_of (
      flow, instance.parent >= 0 ? (gint) instance_at (flow, (guint) instance.parent)->lane : -1,
      name);
  const guint index = flow->instances->len;
  g_array_append_val (flow->instances, instance);
  if (instance.parent >= 0)
    g_array_append_val (instance_at (flow, (guint) instance.parent)->inside, index);
  if (instance.parent == 0)
    instance_at (flow, index)->first = ir_flow_log_first_round (flow->log, path);
  g_hash_table_insert (flow->by_path, g_strdup (path), GUINT_TO_POINTER (index + 1));
  return index;
}

static char *
cell_key (guint instance, gint64 iteration, IrNodeId node)
{
  return g_strdup_printf ("%u:%" G_GINT64_FORMAT ":%u", instance, iteration, node);
}

/* Of several things that are told of a node in an iteration the later says more, but for what came of a branch. */
static void
note_cell (Flow *flow, guint index, const IrFlowEvent *event)
{
  GArray *nodes = lane_at (flow, instance_at (flow, index)->lane)->nodes;
  g_autofree char *key = cell_key (index, event->iteration, event->node);
  Cell *cell = g_hash_table_lookup (flow->cells, key);
  gboolean is_new = TRUE;

  for (guint i = 0; i < nodes->len && is_new; i++)
    is_new = g_array_index (nodes, IrNodeId, i) != event->node;
  if (is_new && nodes->len < MOST_ROWS)
    g_array_append_val (nodes, event->node);
  if (cell == NULL)
    {
      cell = g_new0 (Cell, 1);
      g_hash_table_insert (flow->cells, g_steal_pointer (&key), cell);
    }
  if (cell->event == NULL || cell->event->kind != IR_FLOW_CALLED)
    cell->event = event;
  cell->n_times++;
}

/* What owns a body has its row around it; inside, it only begins and ends iterations. Constants are as they are. */
static gboolean
has_cell (const Flow *flow, const IrFlowEvent *event)
{
  const IrNode *node = ir_model_node (ir_flow_log_model (flow->log), event->node);
  const gboolean is_turn = event->kind == IR_FLOW_ENTERED || event->kind == IR_FLOW_NEXT ||
                           event->kind == IR_FLOW_EXITED;

  if (node->n_outputs > 0 && node->outputs[0] != NULL &&
      ir_value_constant (node->outputs[0]) != NULL)
    return FALSE;
  return event->kind != IR_FLOW_RETURNED && (!is_turn || ir_node_attr_graph (node, "body") == NULL);
}

static void
read_events (Flow *flow)
{
  const GArray *events = ir_flow_log_events (flow->log), *frames = ir_flow_log_frames (flow->log);

  instance_of (flow, "", "");
  for (guint i = 0; i < events->len; i++)
    {
      const IrFlowEvent *event = &g_array_index (events, IrFlowEvent, i);
      const guint index = instance_of (flow, event->frame, event->loop);
      Instance *instance = instance_at (flow, index);

      instance->n = MAX (instance->n, event->iteration + 1);
      if (has_cell (flow, event))
        note_cell (flow, index, event);
    }
  for (guint i = 0; i < frames->len; i++)
    {
      const IrFlowFrame *frame = &g_array_index (frames, IrFlowFrame, i);
      const gpointer found = g_hash_table_lookup (flow->by_path, frame->name);
      if (found != NULL && ir_flow_log_outer_loop (flow->log, frame->name) != 0)
        instance_at (flow, GPOINTER_TO_UINT (found) - 1)->n = (gint64) frame->n_iterations;
    }
}

static void
read_values (Flow *flow)
{
  const IrModel *model = ir_flow_log_model (flow->log);
  const IrRun *run = ir_flow_log_get_run (flow->log);

  for (IrValueId id = 1; run != NULL && id < model->values->len; id++)
    {
      const GArray *series = ir_flow_log_series (flow->log, id);
      for (guint i = 0; series != NULL && i < series->len; i++)
        {
          const IrSeriesPoint *point = &g_array_index (series, IrSeriesPoint, i);
          const gint64 first = ir_flow_log_first_round (flow->log, point->frame);
          if (point->iteration >= first && point->iteration < first + MOST_COLUMNS)
            g_hash_table_insert (
                flow->series,
                g_strdup_printf ("%u@%" G_GINT64_FORMAT " %s", id, point->iteration, point->frame),
                (gpointer) point);
        }
    }
}

/* -- where it stands -- */

static guint
n_columns (const Instance *instance)
{
  return (guint) MIN (instance->n - instance->first, MOST_COLUMNS);
}

static gint64
n_behind (const Instance *instance)
{
  return instance->n - instance->first - n_columns (instance);
}

/* Of one column: as wide as what lies in it, of one lane beside each other. */
static double
measure (Flow *flow, guint index, double x)
{
  Instance *instance = instance_at (flow, index);
  double at = x;

  instance->x = x;
  for (guint i = 0; i < n_columns (instance); i++)
    {
      double end = at + CELL;
      for (guint k = 0; k < instance->inside->len; k++)
        {
          const guint inner = g_array_index (instance->inside, guint, k);
          if (instance_at (flow, inner)->around == instance->first + i)
            end = MAX (end, measure (flow, inner, at + PAD) + PAD);
        }
      instance->ends[i] = at = end;
    }
  instance->width = at - x;
  return at + (n_behind (instance) > 0 ? CELL : 0);
}

static double
stack (Flow *flow, guint index, double y)
{
  Lane *lane = lane_at (flow, index);

  lane->y = y;
  y += HEAD * (index > 0) + ROW * lane->nodes->len;
  for (guint i = 0; i < lane->lanes->len; i++)
    y = stack (flow, g_array_index (lane->lanes, guint, i), y + TITLE) + PAD;
  lane->height = y - lane->y;
  return y;
}

static guint
depth_of (const Flow *flow, guint lane)
{
  guint depth = 0;

  for (gint i = lane_at (flow, lane)->parent; i > 0; i = lane_at (flow, (guint) i)->parent)
    depth++;
  return depth;
}

/* -- drawing -- */

/* (transfer full) (nullable) What @node gave there, if it is known */
static char *
value_text (const Flow *flow, const IrNode *node, const IrFlowEvent *event)
{
  const guint output = event->slot > 0 && event->slot < (gint) node->n_outputs ? (guint) event->slot
                                                                               : 0;
  const IrValue *value = node->n_outputs > 0 ? node->outputs[output] : NULL;
  g_autofree char *key = value != NULL ? g_strdup_printf ("%u@%" G_GINT64_FORMAT " %s", value->id,
                                                          event->iteration, event->frame)
                                       : NULL;
  const IrSeriesPoint *point = key != NULL ? g_hash_table_lookup (flow->series, key) : NULL;

  if (point == NULL || point->n == 0)
    return NULL;
  if (point->n_nan + point->n_inf > 0)
    return g_strdup (point->n_nan > 0 ? "NaN" : "Inf");
  if (point->n == 1 && ir_value_dtype (value) == IR_DTYPE_BOOL)
    return g_strdup (point->mean != 0 ? "true" : "false");
  return point->n == 1 ? g_strdup_printf ("%.4g", point->mean)
                       : g_strdup_printf ("%.2g … %.2g", point->min, point->max);
}

/* (transfer full) What a cell says of what happened, with what came of it (nullable) */
char *
chart_flow_cell_text (const IrNode *node, const IrFlowEvent *event, const char *value)
{
  const char *of = value != NULL ? value : "";

  switch (event->kind)
    {
    case IR_FLOW_DEAD:
      return g_strdup ("dead");
    case IR_FLOW_DEFERRED:
      return g_strdup ("waits");
    case IR_FLOW_CALLED:
      return g_strdup (event->slot > 0 ? "then" : event->slot == 0 ? "else" : "called");
    case IR_FLOW_MERGED:
      return g_strdup_printf ("%d ▸ %s", event->slot, of);
    case IR_FLOW_EXITED:
      return g_strdup_printf ("out %s", of);
    case IR_FLOW_NEXT:
      return g_strdup_printf ("↻ %s", of);
    case IR_FLOW_ENTERED:
      return g_strdup_printf ("in %s", of);
    case IR_FLOW_FIRED:
    case IR_FLOW_RETURNED:
    case IR_N_FLOW_KINDS:
    default:
      return event->slot >= 0 && node->n_outputs > 1 ? g_strdup_printf ("▸ %d %s", event->slot, of)
                                                     : g_strdup (value != NULL ? value : "ran");
    }
}

static void
draw_cell (Flow *flow, guint index, gint64 iteration, IrNodeId id, double x, double width, double y)
{
  const IrNode *node = ir_model_node (ir_flow_log_model (flow->log), id);
  g_autofree char *key = cell_key (index, iteration, id);
  const Cell *cell = g_hash_table_lookup (flow->cells, key);

  if (cell == NULL)
    return;
  const IrFlowEvent *event = cell->event;
  const gboolean idle = event->kind == IR_FLOW_DEAD || event->kind == IR_FLOW_DEFERRED;
  g_autofree char *value = value_text (flow, node, event),
                  *text = g_strchomp (chart_flow_cell_text (node, event, value)),
                  *label = ir_node_label (node),
                  *id_text = g_strdup_printf ("c%u-%" G_GINT64_FORMAT "-%u", index, iteration, id),
                  *place = *event->frame != '\0'
                               ? g_strdup_printf (" in iteration %" G_GINT64_FORMAT " of %s",
                                                  iteration, event->frame)
                               : g_strdup (""),
                  *tip = g_strdup_printf ("%s%s\n%s: %s\nevent %" G_GUINT64_FORMAT, label, place,
                                          ir_flow_kind_name (event->kind), text, event->index);
  const IrSceneBox box = { .kind = IR_SCENE_PLAIN,
                           .colour = idle ? IR_SCENE_COLOUR_CLUSTER : chart_colour_of (node),
                           .dimmed = idle,
                           .parent = -1,
                           .x = x + 2,
                           .y = y + 2,
                           .width = MIN (width, CELL) - 4,
                           .height = ROW - 4,
                           .header = ROW - 4,
                           .node = id,
                           .value = node->n_outputs > 0 && node->outputs[0] != NULL
                                        ? node->outputs[0]->id
                                        : 0,
                           .key = id,
                           .id = id_text,
                           .tip = tip };
  const gint32 at = ir_scene_add_box (flow->page.scene, &box);

  chart_add_text (flow->page.scene, text, IR_SCENE_TEXT_ROW, IR_SCENE_ALIGN_START, at, box.x + 6,
                  y + ROW / 2 + 4, box.width - 10);
}

static void
draw_frame (Flow *flow, guint index)
{
  const Instance *instance = instance_at (flow, index);
  const Lane *lane = lane_at (flow, instance->lane);
  g_autofree char *id = g_strdup_printf ("f%u", index),
                  *tip = g_strdup_printf ("%s: %" G_GINT64_FORMAT " iteration%s", lane->name,
                                          instance->n, instance->n == 1 ? "" : "s");
  const IrSceneBox box = { .kind = IR_SCENE_CLUSTER,
                           .colour = IR_SCENE_COLOUR_CLUSTER,
                           .parent = -1,
                           .x = instance->x,
                           .y = lane->y,
                           .width = instance->width + (n_behind (instance) > 0 ? CELL : 0),
                           .height = lane->height,
                           .id = id,
                           .tip = tip };

  ir_scene_add_box (flow->page.scene, &box);
}

static void
draw_instance (Flow *flow, guint index)
{
  const Instance *instance = instance_at (flow, index);
  const Lane *lane = lane_at (flow, instance->lane);
  double x = instance->x, y = lane->y;

  if (index > 0)
    draw_frame (flow, index);
  for (guint i = 0; i < n_columns (instance); x = instance->ends[i++])
    {
      const double width = instance->ends[i] - x;
      const gint64 iteration = instance->first + i;
      g_autofree char *number = g_strdup_printf (
          "%s%" G_GINT64_FORMAT, iteration + 1 == instance->n ? "last: " : "", iteration);

      y = lane->y;
      if (index > 0)
        {
          chart_add_text (flow->page.scene, number, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, -1,
                          x + 8, y + 13, width - 8);
          y += HEAD;
        }
      for (guint k = 0; k < lane->nodes->len; k++, y += ROW)
        draw_cell (flow, index, iteration, g_array_index (lane->nodes, IrNodeId, k), x, width, y);
    }
  if (n_behind (instance) > 0)
    {
      g_autofree char *more = g_strdup_printf ("+ %" G_GINT64_FORMAT, n_behind (instance));
      chart_add_text (flow->page.scene, more, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, -1,
                      x + 8, lane->y + 13, CELL - 12);
    }
  for (guint i = 0; i < instance->inside->len; i++)
    {
      const guint inner = g_array_index (instance->inside, guint, i);
      if (instance_at (flow, inner)->around - instance->first < n_columns (instance))
        draw_instance (flow, inner);
    }
}

static void
draw_names (Flow *flow)
{
  for (guint i = 0; i < flow->lanes->len; i++)
    {
      const Lane *lane = lane_at (flow, i);
      const double x = INDENT * (i > 0 ? depth_of (flow, i) + 1 : 0);
      double y = lane->y + (i > 0 ? HEAD : 0);

      if (i > 0)
        chart_add_text (flow->page.scene, lane->name, IR_SCENE_TEXT_TITLE, IR_SCENE_ALIGN_START, -1,
                        x - INDENT, lane->y - 6, NAMES - x);
      for (guint k = 0; k < lane->nodes->len; k++, y += ROW)
        {
          const IrNodeId id = g_array_index (lane->nodes, IrNodeId, k);
          g_autofree char *label = ir_node_label (
              ir_model_node (ir_flow_log_model (flow->log), id));
          chart_add_text (flow->page.scene, label, IR_SCENE_TEXT_ROW, IR_SCENE_ALIGN_START, -1, x,
                          y + ROW / 2 + 4, NAMES - x - 8);
        }
    }
}

/**
 * ir_chart_flow:
 * @log: events of a run; with %IR_ITERATIONS_SERIES cells say what nodes gave
 * @options: (nullable): how texts are measured; it is as wide as it needs
 *
 * Of each time that a loop runs, the first 16 iterations have columns, or of a part the first 16 of it; how many more
 * there are is said.
 *
 * Returns: (transfer full): the picture
 */
IrScene *
ir_chart_flow (const IrFlowLog *log, const IrChartOptions *options)
{
  Flow flow = { .page = chart_page_new (0, options),
                .log = log,
                .lanes = g_array_new (FALSE, FALSE, sizeof (Lane)),
                .instances = g_array_new (FALSE, FALSE, sizeof (Instance)),
                .by_path = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
                .cells = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free),
                .series = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL) };

  g_array_set_clear_func (flow.lanes, lane_clear);
  g_array_set_clear_func (flow.instances, instance_clear);
  read_events (&flow);
  read_values (&flow);
  measure (&flow, 0, NAMES);
  stack (&flow, 0, flow.page.y);
  draw_instance (&flow, 0);
  draw_names (&flow);
  ir_scene_finish (flow.page.scene);
  g_array_unref (flow.lanes);
  g_array_unref (flow.instances);
  g_hash_table_unref (flow.by_path);
  g_hash_table_unref (flow.cells);
  g_hash_table_unref (flow.series);
  return flow.page.scene;
}
