#include "config.h"

/* Brackets beside what became something else: "4 became 1". They stand where no box is, or not at
 * all: the tooltips and the properties say it, too. */

#include "core/layout/draft-private.h"
#include "core/layout/scene-private.h"

#include <math.h>

#define AWAY      10.0    /* px between the boxes and the bracket */
#define TICK      6.0     /* px, of its ends */
#define GAP       6.0     /* px between the bracket and its words */
#define ROOM      14.0    /* px beside the boxes that have to be free */
#define MAX_WORK  4000000 /* descents × boxes: tenths of a second */
#define MAX_NAMES 6       /* in the tooltip */

typedef struct
{
  IrScene *scene;
  const IrDiff *diff;
  GHashTable *by_a, *by_b; /* node id -> box + 1 */
} Brackets;

static const IrSceneBox *
box_of (const Brackets *b, const GArray *ids, guint i, gboolean later)
{
  const guint found = GPOINTER_TO_UINT (g_hash_table_lookup (
      later ? b->by_b : b->by_a, GUINT_TO_POINTER (g_array_index (ids, IrNodeId, i))));

  return found > 0 ? &g_array_index (b->scene->boxes, IrSceneBox, found - 1) : NULL;
}

/* FALSE: none of them is drawn. */
static gboolean
rect_of (const Brackets *b, const GArray *ids, gboolean later, IrLayoutRect *r, guint *n)
{
  double right = 0, bottom = 0;

  *n = 0;
  for (guint i = 0; i < ids->len; i++)
    {
      const IrSceneBox *box = box_of (b, ids, i, later);

      if (box == NULL)
        continue;
      right = *n > 0 ? MAX (right, box->x + box->width) : box->x + box->width;
      bottom = *n > 0 ? MAX (bottom, box->y + box->height) : box->y + box->height;
      r->x = *n > 0 ? MIN (r->x, box->x) : box->x;
      r->y = *n > 0 ? MIN (r->y, box->y) : box->y;
      (*n)++;
    }
  r->width = right - r->x;
  r->height = bottom - r->y;
  return *n > 0;
}

/* How many boxes meet it. */
static guint
count_in (const Brackets *b, const IrLayoutRect *r)
{
  guint n = 0;

  for (guint i = 0; i < b->scene->boxes->len; i++)
    {
      const IrSceneBox *box = &g_array_index (b->scene->boxes, IrSceneBox, i);

      n += box->kind != IR_SCENE_CLUSTER && box->x < r->x + r->width &&
           box->x + box->width > r->x && box->y < r->y + r->height && box->y + box->height > r->y;
    }
  return n;
}

/* Whether words that lie beside a line meet it. */
static gboolean
meets_words (const Brackets *b, const IrLayoutRect *r)
{
  for (guint i = 0; i < b->scene->texts->len; i++)
    {
      const IrSceneText *text = &g_array_index (b->scene->texts, IrSceneText, i);
      const double left = text->align == IR_SCENE_ALIGN_END ? text->x - text->width : text->x;

      if (text->box < 0 && left < r->x + r->width && left + text->width > r->x &&
          text->y - 12 < r->y + r->height && text->y + 4 > r->y)
        return TRUE;
    }
  return FALSE;
}

static gboolean
is_free (const Brackets *b, const IrLayoutRect *r, gboolean right)
{
  const IrLayoutRect strip = { right ? r->x + r->width + 1 : r->x - ROOM, r->y, ROOM - 1,
                               r->height };

  return count_in (b, &strip) == 0;
}

static void
name_nodes (GString *text, const IrModel *model, const GArray *ids)
{
  const guint n = MIN (ids->len, MAX_NAMES);

  for (guint i = 0; i < n; i++)
    {
      const IrNode *node = ir_model_node (model, g_array_index (ids, IrNodeId, i));
      g_autofree char *label = node != NULL ? ir_node_label (node) : g_strdup ("?");

      g_string_append_printf (text, "\n%s", label);
    }
  if (n < ids->len)
    g_string_append_printf (text, "\nand %u more", ids->len - n);
}

static char *
label_of (const IrDescent *descent)
{
  return g_strdup_printf ("%u became %u", descent->a->len, descent->b->len);
}

static char *
tip_of (const Brackets *b, const IrDescent *descent)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "%u became %u:", descent->a->len, descent->b->len);
  name_nodes (text, b->diff->a, descent->a);
  g_string_append (text, "\nbecame");
  name_nodes (text, b->diff->b, descent->b);
  return g_string_free (text, FALSE);
}

/* Where along the bracket its words stand on nothing; NAN: nowhere. */
static double
find_line (const Brackets *b, const IrLayoutRect *r, gboolean right, double width)
{
  static const double tries[] = { 0.5, 0.25, 0.75, 0.1, 0.9 };
  const double x = right ? r->x + r->width + AWAY + GAP : r->x - AWAY - GAP - width;

  for (guint i = 0; i < G_N_ELEMENTS (tries); i++)
    {
      const double y = r->y + tries[i] * r->height;
      const IrLayoutRect place = { x, y - 8, width, 16 };

      if (count_in (b, &place) == 0 && !meets_words (b, &place))
        return y + 4;
    }
  return NAN;
}

static void
draw (Brackets *b, const IrDescent *descent, const IrLayoutRect *r, gboolean right, double line)
{
  const double side = right ? 1 : -1, edge = right ? r->x + r->width : r->x, x = edge + side * AWAY;
  const IrLayoutPoint points[] = { { x - side * TICK, r->y },
                                   { x, r->y },
                                   { x, r->y + r->height },
                                   { x - side * TICK, r->y + r->height } };
  g_autofree char *tip = tip_of (b, descent), *label = label_of (descent);

  ir_scene_add_line (
      b->scene,
      &(IrSceneLine){
          .kind = IR_SCENE_LINE_BRACKET, .state = IR_SCENE_NEW, .from = -1, .to = -1, .tip = tip },
      points, G_N_ELEMENTS (points));
  if (!isnan (line))
    ir_scene_add_text (b->scene,
                       &(IrSceneText){ .style = IR_SCENE_TEXT_CAPTION,
                                       .align = right ? IR_SCENE_ALIGN_START : IR_SCENE_ALIGN_END,
                                       .box = -1,
                                       .x = x + side * GAP,
                                       .y = line,
                                       .text = label },
                       0);
}

/* On the side of what they became, if there is room, with words if there is room for these. */
static void
add_bracket (Brackets *b, const IrDescent *descent)
{
  g_autofree char *label = label_of (descent);
  const double width = ir_scene_measure (b->scene, label, IR_SCENE_TEXT_CAPTION);
  IrLayoutRect r, to;
  gboolean near, free[2];
  double line[2];
  guint n, n_after;

  if (!rect_of (b, descent->a, FALSE, &r, &n) || !rect_of (b, descent->b, TRUE, &to, &n_after) ||
      count_in (b, &r) > 2 * (n + n_after))
    return;
  near = to.x + to.width / 2 >= r.x + r.width / 2;
  for (gboolean right = FALSE; right <= TRUE; right++)
    {
      free[right] = is_free (b, &r, right);
      line[right] = free[right] ? find_line (b, &r, right, width) : NAN;
    }
  if (free[near] && !isnan (line[near]))
    draw (b, descent, &r, near, line[near]);
  else if (free[!near] && (!isnan (line[!near]) || !free[near]))
    draw (b, descent, &r, !near, line[!near]);
  else if (free[near])
    draw (b, descent, &r, near, NAN);
}

void
scene_add_brackets (IrScene *scene, const IrDiff *diff)
{
  g_autoptr (GHashTable) by_a = g_hash_table_new (NULL, NULL), by_b = g_hash_table_new (NULL, NULL);
  Brackets b = { scene, diff, by_a, by_b };

  if ((guint64) diff->descents->len * scene->boxes->len > MAX_WORK)
    return;
  for (guint i = 0; i < scene->boxes->len; i++)
    {
      const IrSceneBox *box = &g_array_index (scene->boxes, IrSceneBox, i);

      if (box->kind != IR_SCENE_NODE)
        continue;
      g_hash_table_insert (by_a, GUINT_TO_POINTER (box->before), GUINT_TO_POINTER (i + 1));
      g_hash_table_insert (by_b, GUINT_TO_POINTER (box->node), GUINT_TO_POINTER (i + 1));
    }
  for (guint i = 0; i < diff->descents->len; i++)
    add_bracket (&b, diff->descents->pdata[i]);
}
