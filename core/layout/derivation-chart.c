/* A derivation in all ways beside each other: a row for each value, in the order in which they came to
 * be; forwards each value with its tangent, backwards its adjoint, mirrored, and what other ways say of
 * it. Arrows lead from operands to results on the left, and back on the right, each with its slope. */
#include "config.h"

#include "core/layout/charts-private.h"

#include "core/op/op.h"

#include <math.h>
#include <string.h>

#define TITLE_HEIGHT 16.0
#define HEAD_HEIGHT  44.0 /* titles of the ways, and what they cost or why they cannot be taken */
#define BOX_HEIGHT   60.0
#define BOX_HEADER   20.0
#define ROW          78.0
#define BOX_WIDTH    200.0
#define WAY_WIDTH    180.0
#define GAP          28.0
#define LANE         9.0
#define MOST_LANES   12
#define SLOPE_WIDTH  52.0
#define MOST_ROWS    2000

typedef struct
{
  guint from, to; /* rows */
  guint lane;
  guint slot, n_slots; /* among those that come into @to */
  double slope, adjoint;
  IrValueId value;
} Edge;

typedef struct
{
  IrScene *scene;
  const IrTape *tape;
  const IrModel *model;
  GArray *edges;              /* of Edge */
  GHashTable *rows;           /* value id -> row + 1 */
  gint32 *forward, *backward; /* boxes by row */
  double left, right, top;    /* px: of the forward boxes, of the backward boxes, of the rows */
  double gutter;
} Page;

/* The element, or of several the norm, marked as such */
static char *
figure_of (const IrTensor *tensor)
{
  IrTensorStats stats = { 0 };

  if (tensor == NULL)
    return g_strdup ("0");
  if (ir_tensor_kind (tensor) != IR_TYPE_TENSOR || ir_tensor_dtype (tensor) == IR_DTYPE_STRING)
    return g_strdup ("…");
  if (ir_tensor_n_elements (tensor) == 1)
    return g_strdup_printf ("%.4g", ir_tensor_get_double (tensor, 0));
  ir_tensor_stats (tensor, 0, &stats);
  return g_strdup_printf ("‖%.4g‖", stats.l2);
}

static char *
figures_of (const GPtrArray *tensors, const char *between)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < tensors->len; i++)
    {
      g_autofree char *one = figure_of (tensors->pdata[i]);
      g_string_append_printf (text, "%s%s", i > 0 ? between : "", one);
    }
  return g_string_free (text, FALSE);
}

static const IrTapeRow *
row_at (const Page *page, guint i)
{
  return &g_array_index (page->tape->rows, IrTapeRow, i);
}

static guint
n_rows (const Page *page)
{
  return page->tape != NULL ? MIN (page->tape->rows->len, MOST_ROWS) : 0;
}

/* -- edges, in lanes -- */

static gint
by_length (gconstpointer a, gconstpointer b)
{
  const Edge *x = a, *y = b;

  return (gint) (x->to - x->from) - (gint) (y->to - y->from);
}

/* Short ones lie next to the boxes. */
static guint
find_lanes (GArray *edges)
{
  guint n = 0;

  g_array_sort (edges, by_length);
  for (guint i = 0; i < edges->len; i++)
    {
      Edge *edge = &g_array_index (edges, Edge, i);
      gboolean taken[MOST_LANES] = { FALSE };
      for (guint k = 0; k < i; k++)
        {
          const Edge *other = &g_array_index (edges, Edge, k);
          if (other->from <= edge->to && edge->from <= other->to && other->from != edge->from)
            taken[other->lane] = TRUE;
        }
      while (edge->lane < MOST_LANES - 1 && taken[edge->lane])
        edge->lane++;
      n = MAX (n, edge->lane + 1);
    }
  return n;
}

static void
find_edges (Page *page)
{
  for (guint i = 0; i < n_rows (page); i++)
    {
      const IrTapeRow *row = row_at (page, i);
      for (guint k = 0; k < row->partials->len; k++)
        {
          const IrTapePartial *partial = &g_array_index (row->partials, IrTapePartial, k);
          guint from = GPOINTER_TO_UINT (
              g_hash_table_lookup (page->rows, GUINT_TO_POINTER (partial->input)));
          Edge edge = { .from = from - 1, .to = i, .slot = k, .n_slots = row->partials->len };
          const IrTensor *adjoint = row->adjoints->len > 0
                                        ? row->adjoints->pdata[row->adjoints->len - 1]
                                        : NULL;
          edge.slope = partial->slope;
          edge.value = partial->input;
          edge.adjoint = adjoint != NULL && !isnan (partial->slope)
                             ? partial->slope * ir_tensor_get_double (adjoint, 0)
                             : NAN;
          if (from != 0)
            g_array_append_val (page->edges, edge);
        }
    }
}

/* Where edges leave it: at its header */
static double
middle_of (const Page *page, guint row)
{
  return page->top + row * ROW + BOX_HEADER / 2;
}

/* Where in its height an edge comes to a box */
static double
port_of (const Page *page, const Edge *edge)
{
  return page->top + edge->to * ROW + BOX_HEADER +
         (BOX_HEIGHT - BOX_HEADER) * (edge->slot + 1.0) / (edge->n_slots + 1.0);
}

static void
add_edge (Page *page, const Edge *edge, gboolean back)
{
  const double side = back ? page->right + BOX_WIDTH : page->left, sign = back ? 1 : -1;
  const double lane = side + sign * (SLOPE_WIDTH + LANE * (edge->lane + 1));
  const double from = middle_of (page, edge->from), to = port_of (page, edge);
  const gint32 *boxes = back ? page->backward : page->forward;
  const double number = back ? edge->adjoint : edge->slope;
  g_autofree char *tip = NULL, *slope = NULL;
  IrLayoutPoint points[4] = { { side, from }, { lane, from }, { lane, to }, { side, to } };
  IrSceneLine line = { .kind = IR_SCENE_LINE_DATA,
                       .from = boxes[back ? edge->to : edge->from],
                       .to = boxes[back ? edge->from : edge->to],
                       .value = edge->value };

  if (back)
    {
      points[0] = (IrLayoutPoint){ side, to };
      points[1] = (IrLayoutPoint){ lane, to };
      points[2] = (IrLayoutPoint){ lane, from };
      points[3] = (IrLayoutPoint){ side, from };
    }
  if (!isnan (number))
    slope = g_strdup_printf ("%.4g", number);
  tip = isnan (edge->slope)
            ? g_strdup_printf ("%s, of several elements", back ? "what comes back" : "a Jacobian")
            : g_strdup_printf ("slope %.6g%s%s", edge->slope, back ? ", and back comes " : "",
                               back && slope != NULL ? slope : "");
  line.tip = tip;
  ir_scene_add_line (page->scene, &line, points, 4);
  if (slope != NULL)
    chart_add_text (page->scene, slope, IR_SCENE_TEXT_LABEL,
                    back ? IR_SCENE_ALIGN_START : IR_SCENE_ALIGN_END, -1, side + sign * 6, to - 3,
                    SLOPE_WIDTH - 8);
}

/* -- boxes -- */

static guint8
colour_of (const IrNode *node)
{
  if (node == NULL)
    return IR_SCENE_COLOUR_INPUT;
  return node->op != NULL ? (guint8) node->op->family : IR_SCENE_COLOUR_UNKNOWN;
}

static gint32
add_box (Page *page,
         const char *prefix,
         guint row,
         double x,
         double width,
         IrValueId value,
         const char *tip)
{
  const IrValue *what = ir_model_value (page->model, value);
  const IrNode *node = what != NULL ? what->producer : NULL;
  g_autofree char *id = g_strdup_printf ("%s%u", prefix, value);
  const IrSceneBox box = { .kind = IR_SCENE_NODE,
                           .colour = colour_of (node),
                           .parent = -1,
                           .x = x,
                           .y = page->top + row * ROW,
                           .width = width,
                           .height = BOX_HEIGHT,
                           .header = BOX_HEADER,
                           .node = node != NULL ? node->id : 0,
                           .value = value,
                           .key = value,
                           .id = id,
                           .tip = tip };

  return ir_scene_add_box (page->scene, &box);
}

static void
add_header (Page *page,
            gint32 index,
            const char *text,
            IrSceneTextStyle style,
            IrSceneAlign align,
            double x,
            double width)
{
  guint n;
  const IrSceneBox *box = &ir_scene_boxes (page->scene, &n)[index];
  const IrSceneText head = { .style = style,
                             .align = align,
                             .box = index,
                             .on_header = TRUE,
                             .x = x,
                             .y = box->y + 15,
                             .text = text };

  ir_scene_add_text (page->scene, &head, width);
}

static void
fill_box (Page *page, gint32 index, const char *title, const char *name, const char *figures)
{
  guint n;
  const IrSceneBox box = ir_scene_boxes (page->scene, &n)[index];

  add_header (page, index, title, IR_SCENE_TEXT_TITLE, IR_SCENE_ALIGN_START, box.x + 8,
              *name != '\0' ? box.width / 2 - 8 : box.width - 16);
  if (*name != '\0')
    add_header (page, index, name, IR_SCENE_TEXT_SUBTITLE, IR_SCENE_ALIGN_END,
                box.x + box.width - 8, box.width / 2 - 12);
  chart_add_text (page->scene, figures, IR_SCENE_TEXT_ROW, IR_SCENE_ALIGN_START, index, box.x + 8,
                  box.y + BOX_HEADER + 24, box.width - 16);
}

/* All forwards, then all backwards: the keys go through them in this order. */
static void
add_row (Page *page, guint i, gboolean backwards)
{
  const IrTapeRow *row = row_at (page, i);
  const IrValue *value = ir_model_value (page->tape->model, row->value);
  const char *op = value->producer != NULL ? value->producer->op_type : "Input";
  g_autofree char *contents = figure_of (row->contents);
  g_autofree char *tangents = figures_of (row->tangents, ", ");
  g_autofree char *adjoints = figures_of (row->adjoints, " → ");
  g_autofree char *pair = g_strdup_printf ("%s  ·  tangent %s", contents, tangents);
  g_autofree char *back = row->adjoints->len > 0 ? g_strdup_printf ("adjoint %s", adjoints)
                                                 : g_strdup ("nothing comes back");
  g_autofree char *tip = g_strdup_printf ("%s (%s)\n%s\n%s", value->name, op, pair, back);
  gint32 index = add_box (page, backwards ? "r" : "f", i, backwards ? page->right : page->left,
                          BOX_WIDTH, row->value, tip);

  (backwards ? page->backward : page->forward)[i] = index;
  fill_box (page, index, op, value->name, backwards ? back : pair);
}

/* -- the other ways -- */

static void
add_head (Page *page, const char *title, const char *note, double x, double width)
{
  chart_add_text (page->scene, title, IR_SCENE_TEXT_TITLE, IR_SCENE_ALIGN_START, -1, x,
                  TITLE_HEIGHT + 14, width);
  chart_add_text (page->scene, note != NULL ? note : "", IR_SCENE_TEXT_CAPTION,
                  IR_SCENE_ALIGN_START, -1, x, TITLE_HEIGHT + 32, width);
}

/* Why it cannot be taken: a box that leads to the node which stops it first. */
static void
add_refusal (Page *page, const IrChartWay *way, guint number, double x, double width)
{
  g_auto (GStrv) words = g_strsplit (way->why, " ", -1);
  g_autoptr (GString) line = g_string_new (NULL);
  const guint n_columns = (guint) (width / 6.8);
  g_autofree char *id = g_strdup_printf ("w%u", number);
  const IrSceneBox box = { .kind = IR_SCENE_NODE,
                           .colour = IR_SCENE_COLOUR_UNKNOWN,
                           .state = IR_SCENE_MISFIT,
                           .parent = -1,
                           .x = x,
                           .y = page->top,
                           .width = width,
                           .height = 132,
                           .header = BOX_HEADER,
                           .node = way->stop,
                           .key = G_MAXUINT32 + (guint64) number,
                           .id = id,
                           .tip = way->why };
  gint32 index = ir_scene_add_box (page->scene, &box);
  double y = page->top + BOX_HEADER + 17;

  add_header (page, index, "Cannot be taken", IR_SCENE_TEXT_TITLE, IR_SCENE_ALIGN_START, x + 8,
              width - 40);
  for (guint i = 0; words[i] != NULL; i++)
    {
      gboolean last = words[i + 1] == NULL;
      g_string_append_printf (line, "%s%s", line->len > 0 ? " " : "", words[i]);
      if (!last && g_utf8_strlen (line->str, -1) + g_utf8_strlen (words[i + 1], -1) < n_columns)
        continue;
      if (y < page->top + 132)
        chart_add_text (page->scene, line->str, IR_SCENE_TEXT_SUBTITLE, IR_SCENE_ALIGN_START, index,
                        x + 8, y, width - 16);
      y += 15;
      g_string_truncate (line, 0);
    }
}

/* -- errors by step -- */

#define PLOT_HEIGHT 130.0
#define PLOT_INSET  36.0

static IrLayoutRect
range_of (const GArray *curves)
{
  double low_x = G_MAXDOUBLE, high_x = -G_MAXDOUBLE, low_y = G_MAXDOUBLE, high_y = -G_MAXDOUBLE;

  for (guint i = 0; i < curves->len; i++)
    {
      const GArray *points = g_array_index (curves, IrChartCurve, i).points;
      for (guint k = 0; k < points->len; k++)
        {
          const IrLayoutPoint *point = &g_array_index (points, IrLayoutPoint, k);
          low_x = MIN (low_x, point->x);
          high_x = MAX (high_x, point->x);
          low_y = MIN (low_y, point->y);
          high_y = MAX (high_y, point->y);
        }
    }
  return (IrLayoutRect){ low_x, low_y, MAX (high_x - low_x, 1), MAX (high_y - low_y, 1) };
}

static void
add_plain_line (Page *page, const IrLayoutPoint *points, guint n)
{
  const IrSceneLine line = { .kind = IR_SCENE_LINE_PLAIN, .from = -1, .to = -1 };

  ir_scene_add_line (page->scene, &line, points, n);
}

/* Beside its least error, where the others are not; above one that stays there. */
static void
add_curve_name (Page *page, const char *name, const IrLayoutPoint *points, guint n, gboolean flat)
{
  guint least = 0;

  for (guint k = 1; k < n; k++)
    if (points[k].y > points[least].y)
      least = k; /* y grows downwards */
  chart_add_text (
      page->scene, name, IR_SCENE_TEXT_LABEL, flat ? IR_SCENE_ALIGN_END : IR_SCENE_ALIGN_START, -1,
      points[least].x + (flat ? -4 : 14), points[least].y + (flat ? -16 : 8), WAY_WIDTH / 2);
}

/* The logarithm of the error over that of the step: both branches are straight. */
static void
add_plot (Page *page, const GArray *curves, double x, double y)
{
  const IrLayoutRect range = range_of (curves);
  const double left = x + PLOT_INSET, width = WAY_WIDTH - PLOT_INSET, bottom = y + PLOT_HEIGHT;
  const IrLayoutPoint axes[3] = { { left, y }, { left, bottom }, { x + WAY_WIDTH, bottom } };
  g_autofree char *most = g_strdup_printf ("1e%.0f", range.y + range.height);
  g_autofree char *least = g_strdup_printf ("1e%.0f", range.y);
  g_autofree char *steps = g_strdup_printf ("step 1e%.0f to 1e%.0f", range.x,
                                            range.x + range.width);

  chart_add_text (page->scene, "error by step", IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, -1,
                  left, y - 6, width);
  chart_add_text (page->scene, most, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_END, -1, left - 3, y + 8,
                  PLOT_INSET);
  chart_add_text (page->scene, least, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_END, -1, left - 3,
                  bottom, PLOT_INSET);
  chart_add_text (page->scene, steps, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, -1, left,
                  bottom + 14, width);
  add_plain_line (page, axes, 3);
  for (guint i = 0; i < curves->len; i++)
    {
      const IrChartCurve *curve = &g_array_index (curves, IrChartCurve, i);
      g_autofree IrLayoutPoint *points = g_new (IrLayoutPoint, curve->points->len + 1);
      for (guint k = 0; k < curve->points->len; k++)
        {
          const IrLayoutPoint *point = &g_array_index (curve->points, IrLayoutPoint, k);
          points[k].x = left + (point->x - range.x) / range.width * width;
          points[k].y = bottom - (point->y - range.y) / range.height * PLOT_HEIGHT;
        }
      if (curve->points->len < 2)
        continue;
      add_plain_line (page, points, curve->points->len);
      add_curve_name (page, curve->name, points, curve->points->len,
                      g_array_index (curve->points, IrLayoutPoint, curve->points->len - 1).y <
                          range.y + range.height / 4);
    }
}

static void
add_way (Page *page, const IrChartWay *way, guint number, double x)
{
  GHashTableIter iter;
  gpointer id, text;
  guint extra = n_rows (page);

  add_head (page, way->title, way->note, x, WAY_WIDTH);
  if (way->why != NULL)
    {
      add_refusal (page, way, number, x, WAY_WIDTH);
      return;
    }
  g_hash_table_iter_init (&iter, way->texts);
  while (g_hash_table_iter_next (&iter, &id, &text))
    {
      guint row = GPOINTER_TO_UINT (g_hash_table_lookup (page->rows, id));
      g_autofree char *prefix = g_strdup_printf ("w%u_", number);
      const IrValue *value = ir_model_value (page->model, GPOINTER_TO_UINT (id));
      g_autofree char *tip = g_strdup_printf ("%s\n%s: %s", value->name, way->title,
                                              (const char *) text);
      gint32 index = add_box (page, prefix, row != 0 ? row - 1 : extra++, x, WAY_WIDTH,
                              GPOINTER_TO_UINT (id), tip);
      g_autofree char *head = g_strdup_printf ("by %s", value->name);
      fill_box (page, index, head, "", text);
    }
  if (way->curves != NULL && way->curves->len > 0)
    add_plot (page, way->curves, x,
              page->top + MAX (g_hash_table_size (way->texts), 1) * ROW + TITLE_HEIGHT);
}

static void
add_tape (Page *page)
{
  const IrTape *tape = page->tape;
  g_autofree char *forward = g_strdup_printf ("values and how they move: %u pass%s",
                                              tape->n_directions,
                                              tape->n_directions != 1 ? "es" : "");
  guint64 held = 0;

  for (guint i = 0; i < tape->events->len; i++)
    held = MAX (held, g_array_index (tape->events, IrTapeEvent, i).bytes_held);
  g_autofree char *bytes = g_format_size_full (held, G_FORMAT_SIZE_IEC_UNITS);
  g_autofree char *back = g_strdup_printf ("one pass back; the tape holds %s", bytes);
  add_head (page, "Forward", forward, page->left, BOX_WIDTH + GAP);
  add_head (page, "Reverse and tape", back, page->right, BOX_WIDTH + GAP);
  for (guint i = 0; i < n_rows (page); i++)
    add_row (page, i, FALSE);
  for (guint i = 0; i < n_rows (page); i++)
    add_row (page, i, TRUE);
  for (guint i = 0; i < page->edges->len; i++)
    {
      const Edge *edge = &g_array_index (page->edges, Edge, i);
      add_edge (page, edge, FALSE);
      if (page->tape->events->len > page->tape->n_pushed)
        add_edge (page, edge, TRUE);
    }
  if (tape->rows->len > MOST_ROWS)
    {
      g_autofree char *more = g_strdup_printf ("and %u more", tape->rows->len - MOST_ROWS);
      chart_add_text (page->scene, more, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, -1,
                      page->left, page->top + MOST_ROWS * ROW, BOX_WIDTH);
    }
}

/**
 * ir_chart_derivation:
 * @tape: (nullable): what happened forwards and back; %NULL: neither can be had
 * @model: the model that is derived
 * @title: what is derived by what
 * @ways: (array length=n_ways): the others
 * @n_ways: how many
 * @options: (nullable): the drawing area
 *
 * Returns: (transfer full): the ways beside each other; boxes are values
 */
IrScene *
ir_chart_derivation (const IrTape *tape,
                     const IrModel *model,
                     const char *title,
                     const IrChartWay *ways,
                     guint n_ways,
                     const IrChartOptions *options)
{
  g_autoptr (GArray) edges = g_array_new (FALSE, TRUE, sizeof (Edge));
  g_autoptr (GHashTable) rows = g_hash_table_new (NULL, NULL);
  Page page = {
    .tape = tape, .model = tape != NULL ? tape->model : model, .edges = edges, .rows = rows
  };
  guint lanes = 0;

  page.scene = ir_scene_new (options != NULL ? options->measure : NULL,
                             options != NULL ? options->measure_data : NULL);
  for (guint i = 0; i < n_rows (&page); i++)
    g_hash_table_insert (rows, GUINT_TO_POINTER (row_at (&page, i)->value),
                         GUINT_TO_POINTER (i + 1));
  find_edges (&page);
  if (edges->len > 0)
    lanes = find_lanes (edges);
  g_autofree gint32 *forward = g_new0 (gint32, n_rows (&page) + 1);
  g_autofree gint32 *backward = g_new0 (gint32, n_rows (&page) + 1);
  page.forward = forward;
  page.backward = backward;
  page.gutter = lanes > 0 ? SLOPE_WIDTH + LANE * (lanes + 1) : 0;
  page.left = page.gutter;
  page.right = page.left + BOX_WIDTH + GAP;
  page.top = TITLE_HEIGHT + HEAD_HEIGHT;
  chart_add_text (page.scene, title, IR_SCENE_TEXT_CAPTION, IR_SCENE_ALIGN_START, -1, 0, 4, 900);
  double x = 0;
  if (tape != NULL)
    {
      add_tape (&page);
      x = page.right + BOX_WIDTH + page.gutter + GAP;
    }
  for (guint i = 0; i < n_ways; i++)
    {
      add_way (&page, &ways[i], i, x);
      x += WAY_WIDTH + GAP;
    }
  ir_scene_finish (page.scene);
  return page.scene;
}
