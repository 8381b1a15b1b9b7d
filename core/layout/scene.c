#include "config.h"

/* The container: items, strings, the grid index and the text form. What a
 * graph looks like is in scene-graph.c. */

#include "core/layout/scene-private.h"

#include <math.h>
#include <string.h>

#define CELL 512.0 /* px; the size at which looking up has no measurable cost */

/* clang-format off */
static const IrSceneTextLook looks[IR_N_SCENE_TEXT_STYLES] = {
  [IR_SCENE_TEXT_TITLE]    = { "title",    13,   20, TRUE,  FALSE, 0.62 },
  [IR_SCENE_TEXT_SUBTITLE] = { "subtitle", 11,   16, FALSE, TRUE,  0.56 },
  [IR_SCENE_TEXT_ROW]      = { "row",      11,   16, FALSE, FALSE, 0.56 },
  [IR_SCENE_TEXT_NUMBER]   = { "number",   11,   16, FALSE, TRUE,  0.60 },
  [IR_SCENE_TEXT_LABEL]    = { "label",    10,   14, FALSE, TRUE,  0.58 },
  [IR_SCENE_TEXT_CLUSTER]  = { "cluster",  12,   16, TRUE,  TRUE,  0.62 },
  [IR_SCENE_TEXT_PILL]     = { "pill",     12,   16, TRUE,  FALSE, 0.62 },
  [IR_SCENE_TEXT_CAPTION]  = { "caption",  11,   16, FALSE, TRUE,  0.56 },
};

static const struct
{
  const char *name, *glyph;
  guint n_dash;
  double dash[4];
} states[IR_N_SCENE_STATES] = {
  [IR_SCENE_SAME]    = { "same",    "",       0, { 0 } },
  [IR_SCENE_NEW]     = { "new",     "+",      0, { 0 } },
  [IR_SCENE_REMOVED] = { "removed", "\342\210\222", 2, { 5, 4 } },
  [IR_SCENE_CHANGED] = { "changed", "~",      4, { 10, 3, 2, 3 } },
  [IR_SCENE_MATCHED] = { "matched", "\342\234\223", 0, { 0 } },
  [IR_SCENE_MISFIT]  = { "unfit",   "\303\227",  0, { 0 } },
  [IR_SCENE_MISSING] = { "missing", "?",      2, { 5, 4 } },
};
/* clang-format on */

/**
 * ir_scene_text_look:
 * @style: a style
 *
 * Returns: (transfer none): sizes in px, weight and colour of its texts
 */
const IrSceneTextLook *
ir_scene_text_look (IrSceneTextStyle style)
{
  g_return_val_if_fail (style < IR_N_SCENE_TEXT_STYLES, &looks[0]);

  return &looks[style];
}

/**
 * ir_scene_average_width:
 * @text: UTF-8
 * @style: how it is set
 * @data: unused; fits #IrSceneMeasure
 *
 * The width from mean character widths: narrow letters count half, wide ones
 * one and a half. Within some 10 % of a usual sans-serif font, and the same
 * on every machine.
 *
 * Returns: px
 */
double
ir_scene_average_width (const char *text, IrSceneTextStyle style, gpointer data)
{
  double units = 0;

  for (const char *p = text; *p != '\0'; p = g_utf8_next_char (p))
    {
      gunichar c = g_utf8_get_char (p);
      if (c < 128 && strchr ("iljtfrI.,:;'|!()[] ", (int) c) != NULL)
        units += 0.6;
      else if (c < 128 && strchr ("mwMW@%", (int) c) != NULL)
        units += 1.5;
      else
        units += g_unichar_iswide (c) ? 1.8 : g_unichar_iszerowidth (c) ? 0 : 1.0;
    }
  return units * looks[style].average * looks[style].size;
}

/**
 * ir_scene_state_name:
 * @state: a state
 *
 * Returns: "same", "new", "removed", "changed", "matched", "unfit" or "missing"
 */
const char *
ir_scene_state_name (IrSceneState state)
{
  g_return_val_if_fail (state < IR_N_SCENE_STATES, "same");

  return states[state].name;
}

/**
 * ir_scene_state_glyph:
 * @state: a state
 *
 * Returns: (transfer none): its badge; "" for the same
 */
const char *
ir_scene_state_glyph (IrSceneState state)
{
  g_return_val_if_fail (state < IR_N_SCENE_STATES, "");

  return states[state].glyph;
}

/**
 * ir_scene_state_dash:
 * @state: a state
 * @n: (out): length of the pattern; 0 = a solid line
 *
 * Returns: (array length=n): the dash pattern of outlines and lines, px
 */
const double *
ir_scene_state_dash (IrSceneState state, guint *n)
{
  g_return_val_if_fail (state < IR_N_SCENE_STATES, NULL);

  *n = states[state].n_dash;
  return states[state].dash;
}

static void
clear_ghost (gpointer data)
{
  IrSceneGhost *ghost = data;

  g_free (ghost->title);
  g_free (ghost->detail);
}

/**
 * ir_scene_marks_new:
 *
 * Returns: (transfer full): no marks yet; fill them before they are shared
 */
IrSceneMarks *
ir_scene_marks_new (void)
{
  IrSceneMarks *marks = g_new0 (IrSceneMarks, 1);

  g_atomic_ref_count_init (&marks->refs);
  marks->states = g_hash_table_new (NULL, NULL);
  marks->ghosts = g_array_new (FALSE, FALSE, sizeof (IrSceneGhost));
  g_array_set_clear_func (marks->ghosts, clear_ghost);
  return marks;
}

/**
 * ir_scene_marks_ref:
 * @marks: marks
 *
 * Returns: (transfer full): @marks
 */
IrSceneMarks *
ir_scene_marks_ref (IrSceneMarks *marks)
{
  g_atomic_ref_count_inc (&marks->refs);
  return marks;
}

/**
 * ir_scene_marks_unref:
 * @marks: (transfer full): marks
 */
void
ir_scene_marks_unref (IrSceneMarks *marks)
{
  if (!g_atomic_ref_count_dec (&marks->refs))
    return;
  g_hash_table_unref (marks->states);
  g_array_unref (marks->ghosts);
  g_free (marks);
}

/**
 * ir_scene_new:
 * @measure: (nullable): measures texts; %NULL: ir_scene_average_width()
 * @measure_data: passed to it
 *
 * An empty scene, to be filled by hand and finished: a schedule, a histogram.
 *
 * Returns: (transfer full): the scene
 */
IrScene *
ir_scene_new (IrSceneMeasure measure, gpointer measure_data)
{
  IrScene *scene = g_new0 (IrScene, 1);

  g_atomic_ref_count_init (&scene->refs);
  scene->strings = g_string_chunk_new (4096);
  scene->boxes = g_array_new (FALSE, FALSE, sizeof (IrSceneBox));
  scene->texts = g_array_new (FALSE, FALSE, sizeof (IrSceneText));
  scene->lines = g_array_new (FALSE, FALSE, sizeof (IrSceneLine));
  scene->points = g_array_new (FALSE, FALSE, sizeof (IrLayoutPoint));
  scene->thumbs = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_scene_thumb_unref);
  scene->by_node = g_hash_table_new (NULL, NULL);
  scene->by_value = g_hash_table_new (NULL, NULL);
  scene->measure = measure ? measure : ir_scene_average_width;
  scene->measure_data = measure ? measure_data : NULL;
  return scene;
}

/**
 * ir_scene_ref:
 * @scene: a scene
 *
 * Returns: (transfer full): @scene
 */
IrScene *
ir_scene_ref (IrScene *scene)
{
  g_return_val_if_fail (scene != NULL, NULL);

  g_atomic_ref_count_inc (&scene->refs);
  return scene;
}

/**
 * ir_scene_unref:
 * @scene: (transfer full): a scene; freed with its last reference
 */
void
ir_scene_unref (IrScene *scene)
{
  g_return_if_fail (scene != NULL);

  if (!g_atomic_ref_count_dec (&scene->refs))
    return;
  g_string_chunk_free (scene->strings);
  g_array_unref (scene->boxes);
  g_array_unref (scene->texts);
  g_array_unref (scene->lines);
  g_array_unref (scene->points);
  g_ptr_array_unref (scene->thumbs);
  g_hash_table_unref (scene->by_node);
  g_hash_table_unref (scene->by_value);
  g_clear_pointer (&scene->layout, ir_layout_unref);
  g_clear_pointer (&scene->cuts, g_array_unref);
  g_free (scene->cell_start);
  g_free (scene->cell_items);
  g_free (scene);
}

double
ir_scene_measure (const IrScene *scene, const char *text, IrSceneTextStyle style)
{
  return scene->measure (text, style, scene->measure_data);
}

#define MAX_LETTERS 4096

static const char *
keep (IrScene *scene, const char *text)
{
  return text ? g_string_chunk_insert_const (scene->strings, text) : NULL;
}

/* Of what is longer than its room however narrow the letters are, only the beginning is measured:
 * that of a name of a million letters takes a second each time. */
static glong
n_worth_measuring (const char *text, double max_width)
{
  glong room = max_width > 0 ? (glong) MIN (max_width, MAX_LETTERS) + 1 : MAX_LETTERS, n = 0;

  for (; n < room && *text != '\0'; text = g_utf8_next_char (text))
    n++;
  return n;
}

/* @text, or its beginning and an ellipsis */
char *
ir_scene_ellipsize (const IrScene *scene,
                    const char *text,
                    IrSceneTextStyle style,
                    double max_width)
{
  glong lo = 0, hi = n_worth_measuring (text, max_width);
  gboolean whole = *g_utf8_offset_to_pointer (text, hi) == '\0';

  if (whole && (max_width <= 0 || ir_scene_measure (scene, text, style) <= max_width))
    return g_strdup (text);
  if (max_width <= 0)
    lo = hi;
  while (lo < hi)
    {
      glong mid = (lo + hi + 1) / 2;
      g_autofree char *head = g_utf8_substring (text, 0, mid);
      g_autofree char *cut = g_strconcat (head, "\342\200\246", NULL);
      if (ir_scene_measure (scene, cut, style) <= max_width)
        lo = mid;
      else
        hi = mid - 1;
    }
  g_autofree char *head = g_utf8_substring (text, 0, lo);
  return g_strconcat (g_strchomp (head), "\342\200\246", NULL);
}

/**
 * ir_scene_add_box:
 * @scene: a scene that is not finished
 * @box: copied, its strings too; its texts are those added with its index next
 *
 * Boxes are painted in the order in which they are added.
 *
 * Returns: its index
 */
gint32
ir_scene_add_box (IrScene *scene, const IrSceneBox *box)
{
  g_return_val_if_fail (!scene->finished, -1);

  IrSceneBox copy = *box;
  gint32 index = (gint32) scene->boxes->len;
  g_autofree char *id = g_strdup_printf ("b%d", index);
  copy.id = keep (scene, box->id ? box->id : id);
  copy.tip = keep (scene, box->tip ? box->tip : "");
  copy.fold = keep (scene, box->fold);
  copy.brief = keep (scene, box->brief);
  copy.class_name = keep (scene, box->class_name);
  copy.brief_width = box->brief != NULL ? ir_scene_measure (scene, box->brief, IR_SCENE_TEXT_TITLE)
                                        : 0;
  copy.first_text = scene->texts->len;
  copy.n_texts = 0;
  if (copy.thumb != NULL)
    g_ptr_array_add (scene->thumbs, ir_scene_thumb_ref (copy.thumb));
  g_array_append_val (scene->boxes, copy);
  return index;
}

/**
 * ir_scene_add_text:
 * @scene: a scene that is not finished
 * @text: copied; x is the start, middle or end by its alignment
 * @max_width: px; longer texts end with an ellipsis; 0 for no limit
 *
 * Invalid UTF-8 is replaced.
 *
 * Returns: its index
 */
gint32
ir_scene_add_text (IrScene *scene, const IrSceneText *text, double max_width)
{
  g_return_val_if_fail (!scene->finished, -1);

  IrSceneText copy = *text;
  g_autofree char *valid = g_utf8_make_valid (text->text, -1);
  g_strdelimit (valid, "\n\r\t", ' ');
  g_autofree char *shown = ir_scene_ellipsize (scene, valid, text->style, max_width);
  copy.text = keep (scene, shown);
  copy.width = ir_scene_measure (scene, shown, text->style);
  if (text->box >= 0)
    {
      IrSceneBox *box = &g_array_index (scene->boxes, IrSceneBox, text->box);
      if (box->n_texts == 0)
        box->first_text = scene->texts->len;
      g_return_val_if_fail (box->first_text + box->n_texts == scene->texts->len, -1);
      box->n_texts++;
    }
  g_array_append_val (scene->texts, copy);
  return (gint32) scene->texts->len - 1;
}

/**
 * ir_scene_add_line:
 * @scene: a scene that is not finished
 * @line: copied
 * @points: (array length=n): px
 * @n: at least 2
 *
 * Returns: its index
 */
gint32
ir_scene_add_line (IrScene *scene, const IrSceneLine *line, const IrLayoutPoint *points, guint n)
{
  g_return_val_if_fail (!scene->finished && n >= 2, -1);

  IrSceneLine copy = *line;
  copy.first_point = scene->points->len;
  copy.n_points = n;
  copy.tip = keep (scene, line->tip);
  g_array_append_vals (scene->points, points, n);
  g_array_append_val (scene->lines, copy);
  return (gint32) scene->lines->len - 1;
}

/* --- the grid ------------------------------------------------------------- */

static void
grow (IrLayoutRect *r, gboolean *any, double x, double y, double width, double height)
{
  double right = *any ? MAX (r->x + r->width, x + width) : x + width;
  double bottom = *any ? MAX (r->y + r->height, y + height) : y + height;

  r->x = *any ? MIN (r->x, x) : x;
  r->y = *any ? MIN (r->y, y) : y;
  r->width = right - r->x;
  r->height = bottom - r->y;
  *any = TRUE;
}

static void
find_bounds (IrScene *scene)
{
  gboolean any = FALSE;
  IrLayoutRect *r = &scene->bounds;

  for (guint i = 0; i < scene->boxes->len; i++)
    {
      const IrSceneBox *b = &g_array_index (scene->boxes, IrSceneBox, i);
      grow (r, &any, b->x, b->y, b->width, b->height);
    }
  for (guint i = 0; i < scene->points->len; i++)
    {
      const IrLayoutPoint *p = &g_array_index (scene->points, IrLayoutPoint, i);
      grow (r, &any, p->x, p->y, 0, 0);
    }
  for (guint i = 0; i < scene->texts->len; i++)
    {
      const IrSceneText *t = &g_array_index (scene->texts, IrSceneText, i);
      double left = t->align == IR_SCENE_ALIGN_START    ? t->x
                    : t->align == IR_SCENE_ALIGN_MIDDLE ? t->x - t->width / 2
                                                        : t->x - t->width;
      grow (r, &any, left, t->y - looks[t->style].size, t->width, looks[t->style].size * 1.25);
    }
  if (!any)
    return;
  double right = ceil (r->x + r->width + IR_SCENE_MARGIN);
  double bottom = ceil (r->y + r->height + IR_SCENE_MARGIN);
  r->x = floor (r->x - IR_SCENE_MARGIN);
  r->y = floor (r->y - IR_SCENE_MARGIN);
  r->width = right - r->x;
  r->height = bottom - r->y;
}

typedef struct
{
  gint32 x0, y0, x1, y1; /* cells, inclusive */
} CellRange;

static gint32
cell_of (double at, double start, double size, gint32 n)
{
  return n > 0 ? (gint32) CLAMP ((at - start) / size, 0, n - 1) : 0;
}

static CellRange
cells_of (const IrScene *scene, double x, double y, double width, double height)
{
  const IrLayoutRect *b = &scene->bounds;

  return (CellRange){ cell_of (x, b->x, scene->cell, scene->n_columns),
                      cell_of (y, b->y, scene->cell, scene->n_rows),
                      cell_of (x + width, b->x, scene->cell, scene->n_columns),
                      cell_of (y + height, b->y, scene->cell, scene->n_rows) };
}

/* Counts or stores one rectangle's item in all cells that it touches. */
static void
enter (IrScene *scene, CellRange range, guint32 item, gboolean store)
{
  for (gint32 row = range.y0; row <= range.y1; row++)
    for (gint32 column = range.x0; column <= range.x1; column++)
      {
        gsize cell = (gsize) row * (gsize) scene->n_columns + (gsize) column;
        if (store)
          scene->cell_items[scene->cell_start[cell]++] = item;
        else
          scene->cell_start[cell + 1]++;
      }
}

static CellRange
segment_cells (const IrScene *scene, const IrLayoutPoint *p)
{
  return cells_of (scene, MIN (p[0].x, p[1].x), MIN (p[0].y, p[1].y), ABS (p[1].x - p[0].x),
                   ABS (p[1].y - p[0].y));
}

static void
enter_all (IrScene *scene, gboolean store)
{
  for (guint i = 0; i < scene->boxes->len; i++)
    {
      const IrSceneBox *b = &g_array_index (scene->boxes, IrSceneBox, i);
      enter (scene, cells_of (scene, b->x, b->y, b->width, b->height), i << 1, store);
    }
  for (guint i = 0; i < scene->lines->len; i++)
    {
      const IrSceneLine *line = &g_array_index (scene->lines, IrSceneLine, i);
      const IrLayoutPoint *p = ir_scene_line_points (scene, line);
      for (guint k = 0; k + 1 < line->n_points; k++)
        enter (scene, segment_cells (scene, p + k), i << 1 | 1, store);
    }
}

/* A long line enters every cell on its way; in pictures of millions of px the
 * cells grow, so that the index stays small. */
static void
build_grid (IrScene *scene)
{
  const gsize most = 4u << 20;
  gsize n_cells;

  for (scene->cell = CELL;; scene->cell *= 2)
    {
      scene->n_columns = MAX (1, (gint32) ceil (scene->bounds.width / scene->cell));
      scene->n_rows = MAX (1, (gint32) ceil (scene->bounds.height / scene->cell));
      n_cells = (gsize) scene->n_columns * (gsize) scene->n_rows;
      if (n_cells > most)
        continue;
      g_free (scene->cell_start);
      scene->cell_start = g_new0 (gsize, n_cells + 2);
      enter_all (scene, FALSE);
      for (gsize i = 0; i < n_cells; i++)
        scene->cell_start[i + 1] += scene->cell_start[i];
      if (scene->cell_start[n_cells] <= 8 * most || n_cells == 1)
        break;
    }
  scene->cell_items = g_new (guint32, MAX (1, scene->cell_start[n_cells]));
  enter_all (scene, TRUE);
  memmove (scene->cell_start + 1, scene->cell_start, sizeof (gsize) * n_cells);
  scene->cell_start[0] = 0;
}

/**
 * ir_scene_finish:
 * @scene: a scene
 *
 * Finds the bounds and builds the index; nothing may be added afterwards.
 */
void
ir_scene_finish (IrScene *scene)
{
  g_return_if_fail (!scene->finished);

  find_bounds (scene);
  build_grid (scene);
  for (guint i = 0; i < scene->boxes->len; i++)
    {
      const IrSceneBox *b = &g_array_index (scene->boxes, IrSceneBox, i);
      if (b->node != 0)
        g_hash_table_insert (scene->by_node, GUINT_TO_POINTER (b->node), GUINT_TO_POINTER (i + 1));
      if (b->before != 0 && b->state == IR_SCENE_REMOVED)
        g_hash_table_insert (scene->by_node, GUINT_TO_POINTER (b->before),
                             GUINT_TO_POINTER (i + 1));
    }
  for (guint i = scene->lines->len; i > 0; i--)
    {
      const IrSceneLine *l = &g_array_index (scene->lines, IrSceneLine, i - 1);
      IrValueId value = l->value != 0 ? l->value : l->before;
      if (value != 0)
        g_hash_table_insert (scene->by_value, GUINT_TO_POINTER (value), GUINT_TO_POINTER (i));
    }
  scene->finished = TRUE;
}

/* --- reading -------------------------------------------------------------- */

/**
 * ir_scene_bounds:
 * @scene: a finished scene
 *
 * Returns: the rectangle of the picture, with its margin, in whole px; empty
 *   for an empty scene. Its corner need not be the origin.
 */
IrLayoutRect
ir_scene_bounds (const IrScene *scene)
{
  return scene->bounds;
}

/**
 * ir_scene_boxes:
 * @scene: a scene
 * @n: (out): how many
 *
 * Returns: (transfer none) (array length=n): the boxes, frames before what lies in them
 */
const IrSceneBox *
ir_scene_boxes (const IrScene *scene, guint *n)
{
  *n = scene->boxes->len;
  return (const IrSceneBox *) (void *) scene->boxes->data;
}

/**
 * ir_scene_texts:
 * @scene: a scene
 * @n: (out): how many
 *
 * Returns: (transfer none) (array length=n): the texts; those of a box are neighbours
 */
const IrSceneText *
ir_scene_texts (const IrScene *scene, guint *n)
{
  *n = scene->texts->len;
  return (const IrSceneText *) (void *) scene->texts->data;
}

/**
 * ir_scene_lines:
 * @scene: a scene
 * @n: (out): how many
 *
 * Returns: (transfer none) (array length=n): the lines, in painting order
 */
const IrSceneLine *
ir_scene_lines (const IrScene *scene, guint *n)
{
  *n = scene->lines->len;
  return (const IrSceneLine *) (void *) scene->lines->data;
}

/**
 * ir_scene_line_points:
 * @scene: a scene
 * @line: one of its lines
 *
 * Returns: (transfer none): its n_points points, px
 */
const IrLayoutPoint *
ir_scene_line_points (const IrScene *scene, const IrSceneLine *line)
{
  return &g_array_index (scene->points, IrLayoutPoint, line->first_point);
}

/**
 * ir_scene_layout:
 * @scene: a finished scene
 *
 * Returns: (transfer none) (nullable): the layout that it was made with; %NULL for scenes made by
 * hand
 */
const IrLayout *
ir_scene_layout (const IrScene *scene)
{
  return scene->layout;
}

/**
 * ir_scene_is_diff:
 * @scene: a scene
 *
 * Returns: whether it was made from two models
 */
gboolean
ir_scene_is_diff (const IrScene *scene)
{
  return scene->is_diff;
}

/**
 * ir_scene_n_nodes:
 * @scene: of a graph
 *
 * Returns: how many nodes are in @state: of those that are drawn, and of those in closed groups
 */
guint
ir_scene_n_nodes (const IrScene *scene, IrSceneState state)
{
  return scene->n_nodes[state];
}

/**
 * ir_scene_is_wrapped:
 * @scene: a scene
 *
 * Returns: whether it stands in columns
 */
gboolean
ir_scene_is_wrapped (const IrScene *scene)
{
  return scene->cuts != NULL;
}

/**
 * ir_scene_find_node:
 * @scene: a finished scene
 * @node: id of a node; of removed ones in a diff the earlier id
 *
 * Returns: the box that shows it (for a node within a fold: -1), or -1
 */
gint32
ir_scene_find_node (const IrScene *scene, IrNodeId node)
{
  return (gint32) GPOINTER_TO_UINT (g_hash_table_lookup (scene->by_node, GUINT_TO_POINTER (node))) -
         1;
}

/**
 * ir_scene_find_value:
 * @scene: a finished scene
 * @value: a value of the later model
 *
 * Returns: the first line that carries @value, or -1
 */
gint32
ir_scene_find_value (const IrScene *scene, IrValueId value)
{
  return (gint32) GPOINTER_TO_UINT (
             g_hash_table_lookup (scene->by_value, GUINT_TO_POINTER (value))) -
         1;
}

static double
distance (const IrLayoutPoint *p, double x, double y)
{
  double dx = MAX (MAX (MIN (p[0].x, p[1].x) - x, x - MAX (p[0].x, p[1].x)), 0);
  double dy = MAX (MAX (MIN (p[0].y, p[1].y) - y, y - MAX (p[0].y, p[1].y)), 0);

  return hypot (dx, dy);
}

static double
line_distance (const IrScene *scene, const IrSceneLine *line, double x, double y)
{
  const IrLayoutPoint *p = ir_scene_line_points (scene, line);
  double least = G_MAXDOUBLE;

  for (guint k = 0; k + 1 < line->n_points; k++)
    least = MIN (least, distance (p + k, x, y));
  return least;
}

/**
 * ir_scene_pick:
 * @scene: a finished scene
 * @x: px
 * @y: px
 * @reach: px, how far from a line still hits it
 *
 * What a click there means: the box on top, else the nearest line, else the
 * innermost frame.
 *
 * Returns: the hit; both of its fields are -1 for nothing
 */
IrSceneHit
ir_scene_pick (const IrScene *scene, double x, double y, double reach)
{
  IrSceneHit hit = { -1, -1 };
  gint32 frame = -1;
  double nearest = reach;

  if (!scene->finished)
    return hit;
  CellRange range = cells_of (scene, x - reach, y - reach, 2 * reach, 2 * reach);
  for (gint32 row = range.y0; row <= range.y1; row++)
    for (gint32 column = range.x0; column <= range.x1; column++)
      {
        gsize cell = (gsize) row * (gsize) scene->n_columns + (gsize) column;
        for (gsize i = scene->cell_start[cell]; i < scene->cell_start[cell + 1]; i++)
          {
            gint32 index = (gint32) (scene->cell_items[i] >> 1);
            if (scene->cell_items[i] & 1)
              {
                double d = line_distance (scene, &g_array_index (scene->lines, IrSceneLine, index),
                                          x, y);
                if (d <= nearest && (d < nearest || hit.line < 0 || index < hit.line))
                  {
                    nearest = d;
                    hit.line = index;
                  }
                continue;
              }
            const IrSceneBox *b = &g_array_index (scene->boxes, IrSceneBox, index);
            if (x < b->x || y < b->y || x >= b->x + b->width || y >= b->y + b->height)
              continue;
            if (b->kind == IR_SCENE_CLUSTER)
              frame = MAX (frame, index);
            else
              hit.box = MAX (hit.box, index);
          }
      }
  if (hit.box >= 0)
    hit.line = -1;
  else if (hit.line < 0)
    hit.box = frame;
  return hit;
}

static int
compare_items (gconstpointer a, gconstpointer b)
{
  guint32 x = *(const guint32 *) a, y = *(const guint32 *) b;

  return x < y ? -1 : x > y;
}

static gboolean
line_meets (const IrScene *scene, const IrSceneLine *line, const IrLayoutRect *r)
{
  const IrLayoutPoint *p = ir_scene_line_points (scene, line);

  for (guint k = 0; k + 1 < line->n_points; k++)
    if (MIN (p[k].x, p[k + 1].x) <= r->x + r->width && MAX (p[k].x, p[k + 1].x) >= r->x &&
        MIN (p[k].y, p[k + 1].y) <= r->y + r->height && MAX (p[k].y, p[k + 1].y) >= r->y)
      return TRUE;
  return FALSE;
}

#define MANY_ITEMS 4000 /* more are put in order by marks, as sorting them would take a frame */

static GArray *
sort_items (const IrScene *scene, const CellRange *range)
{
  GArray *items = g_array_new (FALSE, FALSE, sizeof (guint32));
  guint n = 0;

  for (gint32 row = range->y0; row <= range->y1; row++)
    for (gint32 column = range->x0; column <= range->x1; column++)
      {
        gsize cell = (gsize) row * (gsize) scene->n_columns + (gsize) column;
        g_array_append_vals (items, scene->cell_items + scene->cell_start[cell],
                             (guint) (scene->cell_start[cell + 1] - scene->cell_start[cell]));
      }
  g_array_sort (items, compare_items);
  for (guint i = 0; i < items->len; i++)
    if (n == 0 || g_array_index (items, guint32, n - 1) != g_array_index (items, guint32, i))
      g_array_index (items, guint32, n++) = g_array_index (items, guint32, i);
  g_array_set_size (items, n);
  return items;
}

/* The same, in time that is linear in the scene. */
static GArray *
mark_items (const IrScene *scene, const CellRange *range)
{
  const guint n = 2 * MAX (scene->boxes->len, scene->lines->len);
  g_autofree guint8 *marks = g_new0 (guint8, n + 1);
  GArray *items = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (gint32 row = range->y0; row <= range->y1; row++)
    {
      const gsize first = (gsize) row * (gsize) scene->n_columns;

      for (gsize k = scene->cell_start[first + (gsize) range->x0];
           k < scene->cell_start[first + (gsize) range->x1 + 1]; k++)
        marks[scene->cell_items[k]] = 1;
    }
  for (guint32 i = 0; i < n; i++)
    if (marks[i])
      g_array_append_val (items, i);
  return items;
}

/**
 * ir_scene_foreach_in_rect:
 * @scene: a finished scene
 * @rect: px
 * @func: (scope call): called for each box and each line that meets @rect, in
 *   their order, once
 * @data: passed to @func
 */
void
ir_scene_foreach_in_rect (const IrScene *scene,
                          const IrLayoutRect *rect,
                          IrSceneFunc func,
                          gpointer data)
{
  g_autoptr (GArray) items = NULL;
  gsize n_items = 0;

  if (!scene->finished)
    return;
  CellRange range = cells_of (scene, rect->x, rect->y, rect->width, rect->height);
  for (gint32 row = range.y0; row <= range.y1; row++)
    n_items += scene->cell_start[(gsize) row * (gsize) scene->n_columns + (gsize) range.x1 + 1] -
               scene->cell_start[(gsize) row * (gsize) scene->n_columns + (gsize) range.x0];
  items = n_items > MANY_ITEMS ? mark_items (scene, &range) : sort_items (scene, &range);
  for (guint i = 0; i < items->len; i++)
    {
      guint32 item = g_array_index (items, guint32, i);
      gint32 index = (gint32) (item >> 1);
      if (item & 1)
        {
          if (line_meets (scene, &g_array_index (scene->lines, IrSceneLine, index), rect))
            func ((IrSceneHit){ -1, index }, data);
          continue;
        }
      const IrSceneBox *b = &g_array_index (scene->boxes, IrSceneBox, index);
      if (b->x <= rect->x + rect->width && b->x + b->width >= rect->x &&
          b->y <= rect->y + rect->height && b->y + b->height >= rect->y)
        func ((IrSceneHit){ index, -1 }, data);
    }
}

static const char *const kind_names[IR_N_SCENE_BOX_KINDS] = {
  "node", "input", "output", "constant", "fold", "cluster", "plain",
};

/**
 * ir_scene_to_text:
 * @scene: a finished scene
 *
 * Everything that is painted, one item a line, for golden tests.
 *
 * Returns: (transfer full): the text
 */
char *
ir_scene_to_text (const IrScene *scene)
{
  GString *out = g_string_new (NULL);
  const IrLayoutRect *r = &scene->bounds;

  g_string_append_printf (out, "scene %g %g %g %g\n", r->x, r->y, r->width, r->height);
  for (guint i = 0; i < scene->boxes->len; i++)
    {
      const IrSceneBox *b = &g_array_index (scene->boxes, IrSceneBox, i);
      g_string_append_printf (out, "box %s %s %s colour %d %g %g %g %g", b->id, kind_names[b->kind],
                              states[b->state].name, b->colour, b->x, b->y, b->width, b->height);
      if (b->parent >= 0)
        g_string_append_printf (out, " in %s",
                                g_array_index (scene->boxes, IrSceneBox, b->parent).id);
      if (b->problem)
        g_string_append_printf (out, " problem %d", b->problem - 1);
      if (b->has_tint)
        g_string_append_printf (out, " tint %.3f", b->tint);
      if (b->accent > 0)
        g_string_append_printf (out, " accent %u", b->accent);
      if (b->dimmed)
        g_string_append (out, " dimmed");
      for (guint k = 0; k < b->n_texts; k++)
        {
          const IrSceneText *t = &g_array_index (scene->texts, IrSceneText, b->first_text + k);
          g_string_append_printf (out, " | %s: %s", looks[t->style].name, t->text);
        }
      g_string_append_c (out, '\n');
    }
  for (guint i = 0; i < scene->lines->len; i++)
    {
      const IrSceneLine *l = &g_array_index (scene->lines, IrSceneLine, i);
      const IrLayoutPoint *p = ir_scene_line_points (scene, l);
      g_string_append_printf (
          out, "line %s.%u -> %s.%u %s",
          l->from >= 0 ? g_array_index (scene->boxes, IrSceneBox, l->from).id : "-", l->from_slot,
          l->to >= 0 ? g_array_index (scene->boxes, IrSceneBox, l->to).id : "-", l->to_slot,
          states[l->state].name);
      if (l->captured)
        g_string_append (out, " captured");
      if (l->dimmed)
        g_string_append (out, " dimmed");
      for (guint k = 0; k < l->n_points; k++)
        g_string_append_printf (out, " %g,%g", p[k].x, p[k].y);
      g_string_append_c (out, '\n');
    }
  for (guint i = 0; i < scene->texts->len; i++)
    {
      const IrSceneText *t = &g_array_index (scene->texts, IrSceneText, i);
      if (t->box < 0)
        g_string_append_printf (out, "text %s %g %g: %s\n", looks[t->style].name, t->x, t->y,
                                t->text);
    }
  return g_string_free (out, FALSE);
}
