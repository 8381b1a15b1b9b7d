#include "config.h"

/* Two pictures as one, and one of the two in a picture of both. */

#include "core/layout/scene-private.h"

#define GAP   48.0 /* px between them */
#define ARROW 40.0 /* px, of an arrow between them */
#define AIR   12.0 /* px before and behind the arrow */

static const char *
keep (IrScene *scene, const char *text)
{
  return text != NULL ? g_string_chunk_insert_const (scene->strings, text) : NULL;
}

/* -- sides -- */

static gboolean
is_on_side (IrSceneSides sides, IrSceneState state)
{
  return !(sides == IR_SCENE_BEFORE && state == IR_SCENE_NEW) &&
         !(sides == IR_SCENE_AFTER && state == IR_SCENE_REMOVED);
}

/**
 * ir_scene_shows_box:
 * @sides: what is to be seen
 * @box: of the scene of a difference
 *
 * Returns: whether it is on that side, or on both
 */
gboolean
ir_scene_shows_box (IrSceneSides sides, const IrSceneBox *box)
{
  return is_on_side (sides, box->state);
}

/**
 * ir_scene_shows_line:
 * @sides: what is to be seen
 * @line: of the scene of a difference
 *
 * Returns: whether it is on that side; brackets join both, and mean nothing on one
 */
gboolean
ir_scene_shows_line (IrSceneSides sides, const IrSceneLine *line)
{
  return is_on_side (sides, line->state) &&
         (sides == IR_SCENE_BOTH_SIDES || line->kind != IR_SCENE_LINE_BRACKET);
}

/**
 * ir_scene_shows_text:
 * @sides: what is to be seen
 * @text: that belongs to no box
 *
 * Returns: whether what it is written beside is on that side
 */
gboolean
ir_scene_shows_text (IrSceneSides sides, const IrSceneText *text)
{
  return is_on_side (sides, text->state) &&
         (sides == IR_SCENE_BOTH_SIDES || text->style != IR_SCENE_TEXT_CAPTION);
}

/* -- copies -- */

/* Where things go, and which do not. */
typedef struct
{
  char prefix;   /* of ids, which are unique in one picture; 0: none */
  double dx, dy; /* px */
  IrSceneSides sides;
} Way;

static void
append_text (IrScene *to, IrSceneText text, const Way *way, gint32 box)
{
  text.x += way->dx;
  text.y += way->dy;
  text.box = box;
  text.text = keep (to, text.text);
  g_array_append_val (to->texts, text);
}

/* Of -1 for those that are left out. (transfer full) */
static gint32 *
append_boxes (IrScene *to, const IrScene *from, const Way *way)
{
  gint32 *places = g_new (gint32, MAX (1, from->boxes->len));

  for (guint i = 0; i < from->boxes->len; i++)
    {
      IrSceneBox box = g_array_index (from->boxes, IrSceneBox, i);
      const guint first_text = box.first_text;
      g_autofree char *id = way->prefix != 0 ? g_strdup_printf ("%c-%s", way->prefix, box.id)
                                             : g_strdup (box.id);

      places[i] = -1;
      if (!ir_scene_shows_box (way->sides, &box))
        continue;
      places[i] = (gint32) to->boxes->len;
      box.x += way->dx;
      box.y += way->dy;
      box.parent = box.parent >= 0 ? places[box.parent] : -1;
      box.first_text = to->texts->len;
      box.id = keep (to, id);
      box.tip = keep (to, box.tip);
      box.fold = keep (to, box.fold);
      box.brief = keep (to, box.brief);
      box.class_name = keep (to, box.class_name);
      if (box.thumb != NULL)
        g_ptr_array_add (to->thumbs, ir_scene_thumb_ref (box.thumb));
      g_array_append_val (to->boxes, box);
      for (guint k = 0; k < box.n_texts; k++)
        append_text (to, g_array_index (from->texts, IrSceneText, first_text + k), way, places[i]);
    }
  return places;
}

static void
append (IrScene *to, const IrScene *from, const Way *way)
{
  g_autofree gint32 *places = append_boxes (to, from, way);

  for (guint i = 0; i < from->texts->len; i++)
    {
      const IrSceneText *text = &g_array_index (from->texts, IrSceneText, i);

      if (text->box < 0 && ir_scene_shows_text (way->sides, text))
        append_text (to, *text, way, -1);
    }
  for (guint i = 0; i < from->lines->len; i++)
    {
      IrSceneLine line = g_array_index (from->lines, IrSceneLine, i);
      const guint first = line.first_point;

      if (!ir_scene_shows_line (way->sides, &line) || (line.from >= 0 && places[line.from] < 0) ||
          (line.to >= 0 && places[line.to] < 0))
        continue;
      line.from = line.from >= 0 ? places[line.from] : -1;
      line.to = line.to >= 0 ? places[line.to] : -1;
      line.first_point = to->points->len;
      line.tip = keep (to, line.tip);
      g_array_append_val (to->lines, line);
      for (guint k = 0; k < line.n_points; k++)
        {
          IrLayoutPoint point = g_array_index (from->points, IrLayoutPoint, first + k);

          point.x += way->dx;
          point.y += way->dy;
          g_array_append_val (to->points, point);
        }
    }
  to->is_diff |= from->is_diff;
  to->has_heat |= from->has_heat;
}

/**
 * ir_scene_new_for_side:
 * @scene: a finished scene of a difference
 * @side: which one
 *
 * Returns: (transfer full): a finished scene without what only the other side has; what it has
 *   stays where it is
 */
IrScene *
ir_scene_new_for_side (const IrScene *scene, IrSceneSides side)
{
  IrScene *one = ir_scene_new (scene->measure, scene->measure_data);

  append (one, scene, &(Way){ .sides = side });
  ir_scene_finish (one);
  return one;
}

static void
add_arrow (IrScene *scene, IrLayoutPoint from, IrLayoutPoint to)
{
  const IrLayoutPoint points[] = { from, to };

  ir_scene_add_line (scene, &(IrSceneLine){ .kind = IR_SCENE_LINE_DATA, .from = -1, .to = -1 },
                     points, G_N_ELEMENTS (points));
}

/**
 * ir_scene_new_joined:
 * @first: a finished scene
 * @second: a finished scene
 * @join: where the second one is
 *
 * Returns: (transfer full): a finished scene with the boxes of both
 */
IrScene *
ir_scene_new_joined (const IrScene *first, const IrScene *second, IrSceneJoin join)
{
  IrScene *scene = ir_scene_new (first->measure, first->measure_data);
  const IrLayoutRect a = first->bounds, b = second->bounds;
  const double gap = (join == IR_SCENE_JOIN_SIDES ? GAP : ARROW + 2 * AIR) - 2 * IR_SCENE_MARGIN;
  const double width = MAX (a.width, b.width), height = MAX (a.height, b.height);

  if (join == IR_SCENE_JOIN_SIDES)
    {
      append (scene, first, &(Way){ 'a', -a.x, -a.y });
      append (scene, second, &(Way){ 'b', a.width + gap - b.x, -a.y });
    }
  else if (join == IR_SCENE_JOIN_RIGHT)
    {
      const double x = a.width - IR_SCENE_MARGIN + AIR;

      append (scene, first, &(Way){ 'a', -a.x, (height - a.height) / 2 - a.y });
      append (scene, second, &(Way){ 'b', a.width + gap - b.x, (height - b.height) / 2 - b.y });
      add_arrow (scene, (IrLayoutPoint){ x, height / 2 }, (IrLayoutPoint){ x + ARROW, height / 2 });
    }
  else
    {
      const double y = a.height - IR_SCENE_MARGIN + AIR;

      append (scene, first, &(Way){ 'a', (width - a.width) / 2 - a.x, -a.y });
      append (scene, second, &(Way){ 'b', (width - b.width) / 2 - b.x, a.height + gap - b.y });
      add_arrow (scene, (IrLayoutPoint){ width / 2, y }, (IrLayoutPoint){ width / 2, y + ARROW });
    }
  ir_scene_finish (scene);
  return scene;
}
