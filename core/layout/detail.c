#include "config.h"

/* What a picture says at a scale at which its own texts cannot be read: names of operators as large
 * as letters must be, where they fit without touching a neighbour; farther out titles of groups. All
 * that paint a scene ask here, so that they agree. */

#include "core/layout/scene-private.h"

#define NAME_SIZE  9.0  /* px on screen, of letters */
#define NAME_LINE  11.0 /* px on screen */
#define PADDING    1.0  /* px on screen, beside letters */
#define RIM        3.5  /* the same just before all texts are shown, where one sees it */
#define FEW_NAMES  0.2  /* zoom from which on there are names */
#define ALL_TEXTS  0.58
#define BESIDE     11.0 /* px of the gap between boxes that a name may take on either side */
#define ABOVE      14.0 /* px of the gap between layers; of it 48 are */
#define GROUP_SIZE 10.0 /* px on screen */
#define GROUP_LINE 13.0
#define FRAME_TOP  40.0 /* px between a frame's upper edge and what is in it */

/**
 * ir_scene_detail:
 * @zoom: px on screen for one of the scene
 *
 * Returns: how much a picture says at that scale
 */
IrSceneDetail
ir_scene_detail (double zoom)
{
  return zoom >= ALL_TEXTS   ? IR_SCENE_DETAIL_ALL
         : zoom >= FEW_NAMES ? IR_SCENE_DETAIL_NAMES
         : zoom >= 0.1       ? IR_SCENE_DETAIL_GROUPS
                             : IR_SCENE_DETAIL_HEAT;
}

static const IrSceneText *
title_of (const IrScene *scene, const IrSceneBox *box)
{
  return box->n_texts > 0 ? &g_array_index (scene->texts, IrSceneText, box->first_text) : NULL;
}

static void
put_name (IrSceneName *name, const char *text, double width, double size)
{
  name->text = text;
  name->width = width;
  name->size = size;
}

/* The full name, else the short one; letters @size px high in @room px. */
static gboolean
choose_name (
    const IrScene *scene, const IrSceneBox *box, double room, double size, IrSceneName *name)
{
  const IrSceneText *title = title_of (scene, box);
  double width;

  if (title == NULL)
    return FALSE;
  width = title->width * size / ir_scene_text_look (title->style)->size;
  if (width <= room)
    put_name (name, title->text, width, size);
  else
    {
      width = box->brief_width * size / ir_scene_text_look (IR_SCENE_TEXT_TITLE)->size;
      if (box->brief == NULL || width > room)
        return FALSE;
      put_name (name, box->brief, width, size);
    }
  return TRUE;
}

/* Within the box, and within its part of the gaps around it. */
static gboolean
name_box (const IrScene *scene, const IrSceneBox *box, double zoom, IrSceneName *name)
{
  const double part = CLAMP ((zoom - FEW_NAMES) / (ALL_TEXTS - FEW_NAMES), 0, 1);
  const double rim = PADDING + part * (RIM - PADDING);
  const double room = (box->width + 2 * BESIDE) * zoom - 2 * rim;
  double width, height;

  if ((box->height + 2 * ABOVE) * zoom < NAME_LINE ||
      !choose_name (scene, box, room, NAME_SIZE, name))
    return FALSE;
  width = MAX (box->width, (name->width + 2 * rim) / zoom);
  height = MAX (box->height, NAME_LINE / zoom);
  name->patch = (IrLayoutRect){ box->x + (box->width - width) / 2,
                                box->y + (box->height - height) / 2, width, height };
  name->x = box->x + box->width / 2;
  name->y = name->patch.y + height / 2 + 0.36 * name->size / zoom;
  return TRUE;
}

/* At the upper edge of the frame, over the lines and never over what is in it. */
static gboolean
name_group (const IrScene *scene, const IrSceneBox *box, double zoom, IrSceneName *name)
{
  const double size = MAX (GROUP_SIZE, ir_scene_text_look (IR_SCENE_TEXT_CLUSTER)->size * zoom);
  const double line = GROUP_LINE * size / GROUP_SIZE;
  IrSceneName around;
  double top;

  if (box->height * zoom < line ||
      !choose_name (scene, box, box->width * zoom - 4 * PADDING, size, name))
    return FALSE;
  top = MIN (3 / zoom, FRAME_TOP - line / zoom);
  if (box->parent >= 0 && ir_scene_name (scene, box->parent, zoom, &around) &&
      box->y + top < around.patch.y + around.patch.height)
    return FALSE;
  name->patch = (IrLayoutRect){ box->x + 2 * PADDING / zoom, box->y + top,
                                (name->width + 2 * PADDING) / zoom, line / zoom };
  name->x = name->patch.x + name->patch.width / 2;
  name->y = name->patch.y + line / zoom / 2 + 0.36 * size / zoom;
  return TRUE;
}

/**
 * ir_scene_name:
 * @scene: a finished scene
 * @index: a box
 * @zoom: px on screen for one of the scene, at which not all texts are shown
 * @name: (out): what is written, and where
 *
 * What one box says instead of its texts.
 *
 * Returns: whether there is something that fits
 */
gboolean
ir_scene_name (const IrScene *scene, gint32 index, double zoom, IrSceneName *name)
{
  const IrSceneBox *box = &g_array_index (scene->boxes, IrSceneBox, index);
  const IrSceneDetail detail = ir_scene_detail (zoom);

  *name = (IrSceneName){ 0 };
  if (box->kind == IR_SCENE_CLUSTER)
    return name_group (scene, box, zoom, name);
  if (detail == IR_SCENE_DETAIL_NAMES ||
      (detail != IR_SCENE_DETAIL_ALL && box->kind == IR_SCENE_FOLD))
    return name_box (scene, box, zoom, name);
  return FALSE;
}

/**
 * ir_scene_shows_heat:
 * @scene: a finished scene
 * @zoom: px on screen for one of the scene
 *
 * Returns: whether boxes have the colour of what they cost: far out, where nothing else is told by
 *   colours
 */
gboolean
ir_scene_shows_heat (const IrScene *scene, double zoom)
{
  return scene->has_heat && !scene->is_diff && ir_scene_detail (zoom) == IR_SCENE_DETAIL_HEAT;
}
