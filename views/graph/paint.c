#include "config.h"

#include "views/graph/paint.h"

#include "core/render/palette.h"
#include "views/graph/flat.h"
#include "views/graph/letters.h"
#include "views/graph/strokes.h"
#include "views/graph/thumbs.h"
#include "views/graph/tiles.h"
#include "views/graph/tween.h"

#include <math.h>

#define DETAIL_MIN_ZOOM  0.15 /* below, boxes are flat and lines straight */
#define MAX_DETAIL_BOXES 2000 /* more boxes in sight are painted flat, in one cairo node */
#define MAX_TEXT_NODES   20000
#define BADGE_RADIUS     7.0 /* px at 1:1 */
#define ARROW_LENGTH     8.0 /* px at 1:1 */
#define ARROW_HALF_WIDTH 4.0

typedef enum
{
  DOWN,
  UP,
  RIGHT,
  LEFT
} Direction;

struct _IrPainter
{
  IrScene *scene; /* (nullable) */
  IrPaletteKind colours;
  double zoom; /* of the frame that is painted */
  IrSceneSides sides;
  const IrTween *tween; /* (nullable) boxes are on their way */
  double tween_at;      /* 0 … 1 */
  IrLetters *letters;
  IrTiles *tiles;
  GArray *groups;     /* of gint32: boxes that have titles far out */
  int scale;          /* px of the device for one */
  GHashTable *texts;  /* text index + 1 -> GskRenderNode */
  GHashTable *arrows; /* direction and colour -> GskRenderNode */
  GHashTable *badges; /* glyph -> GskRenderNode */
  GHashTable *thumbs; /* IrSceneThumb -> GdkTexture */
};

IrLayoutRect
ir_camera_world (const IrCamera *camera)
{
  return (IrLayoutRect){ .x = camera->x / camera->zoom,
                         .y = camera->y / camera->zoom,
                         .width = camera->width / camera->zoom,
                         .height = camera->height / camera->zoom };
}

/* Whole pixels: edges stay sharp and equally wide everywhere. */
static double
screen_x (const IrCamera *camera, double x)
{
  return round (x * camera->zoom) - round (camera->x);
}

static double
screen_y (const IrCamera *camera, double y)
{
  return round (y * camera->zoom) - round (camera->y);
}

graphene_rect_t
ir_camera_rect (const IrCamera *camera, const IrSceneBox *box)
{
  const double x0 = screen_x (camera, box->x), x1 = screen_x (camera, box->x + box->width);
  const double y0 = screen_y (camera, box->y), y1 = screen_y (camera, box->y + box->height);

  return GRAPHENE_RECT_INIT (x0, y0, MAX (x1 - x0, 1), MAX (y1 - y0, 1));
}

/* -- colours: the palette's, as GDK wants them -- */

static GdkRGBA
rgba (guint32 colour, double alpha)
{
  return (GdkRGBA){ (float) (colour >> 16 & 0xff) / 255, (float) (colour >> 8 & 0xff) / 255,
                    (float) (colour & 0xff) / 255, (float) alpha };
}

static const IrPalette *
palette (const IrNodePainter *self)
{
  return ir_palette (self->colours);
}

static guint32
header_colour (const IrNodePainter *self, const IrSceneBox *box, guint32 *text)
{
  return ir_box_header (palette (self), self->scene, box, self->zoom, text);
}

/* -- life -- */

/* @changed: called when what workers draw is there: what was painted is to be painted anew */
IrNodePainter *
ir_node_painter_new (void (*changed) (gpointer data), gpointer data)
{
  IrNodePainter *self = g_new0 (IrNodePainter, 1);

  self->tiles = ir_tiles_new (changed, data);
  self->groups = g_array_new (FALSE, FALSE, sizeof (gint32));
  self->scale = 1;
  self->texts = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) gsk_render_node_unref);
  self->letters = ir_letters_new ();
  self->arrows = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) gsk_render_node_unref);
  self->badges = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) gsk_render_node_unref);
  self->thumbs = g_hash_table_new_full (NULL, NULL, NULL, g_object_unref);
  return self;
}

static void
forget_nodes (IrNodePainter *self)
{
  g_hash_table_remove_all (self->texts);
  g_hash_table_remove_all (self->arrows);
  g_hash_table_remove_all (self->badges);
  g_hash_table_remove_all (self->thumbs);
}

void
ir_node_painter_free (IrNodePainter *self)
{
  g_clear_pointer (&self->tiles, ir_tiles_free);
  g_clear_pointer (&self->groups, g_array_unref);
  g_clear_pointer (&self->letters, ir_letters_free);
  g_clear_pointer (&self->texts, g_hash_table_unref);
  g_clear_pointer (&self->arrows, g_hash_table_unref);
  g_clear_pointer (&self->badges, g_hash_table_unref);
  g_clear_pointer (&self->thumbs, g_hash_table_unref);
  g_clear_pointer (&self->scene, ir_scene_unref);
  g_free (self);
}

static void
find_groups (IrNodePainter *self)
{
  guint n = 0;
  const IrSceneBox *boxes = self->scene != NULL ? ir_scene_boxes (self->scene, &n) : NULL;

  g_array_set_size (self->groups, 0);
  for (gint32 i = 0; i < (gint32) n; i++)
    if (boxes[i].kind == IR_SCENE_CLUSTER || boxes[i].kind == IR_SCENE_FOLD)
      g_array_append_val (self->groups, i);
}

void
ir_node_painter_set_scene (IrNodePainter *self, IrScene *scene)
{
  g_clear_pointer (&self->scene, ir_scene_unref);
  self->scene = scene != NULL ? ir_scene_ref (scene) : NULL;
  find_groups (self);
  g_hash_table_remove_all (self->texts);
  g_hash_table_remove_all (self->thumbs);
  ir_tiles_forget (self->tiles);
}

/* px of the device for one of the widget */
void
ir_node_painter_set_scale (IrNodePainter *self, int scale)
{
  if (self->scale == scale)
    return;
  self->scale = scale;
  ir_tiles_forget (self->tiles);
}

void
ir_node_painter_set_sides (IrNodePainter *self, IrSceneSides sides)
{
  self->sides = sides;
}

void
ir_node_painter_set_colours (IrNodePainter *self, IrPaletteKind colours)
{
  self->colours = colours;
  ir_tiles_forget (self->tiles);
  forget_nodes (self);
}

/* -- texts -- */

static GdkRGBA
text_colour (const IrNodePainter *self, const IrSceneText *text)
{
  const IrPalette *p = palette (self);
  guint n;
  const IrSceneBox *box = text->box >= 0 ? &ir_scene_boxes (self->scene, &n)[text->box] : NULL;

  guint32 colour = ir_scene_text_look (text->style)->muted ? p->muted : p->text, on_header;

  if (box != NULL && box->kind == IR_SCENE_CLUSTER)
    return rgba (p->muted, 1);
  if (box == NULL)
    return rgba (colour, 1);
  header_colour (self, box, &on_header);
  return rgba (text->on_header ? on_header : ir_box_ink (p, box, colour), 1);
}

/* The text at 1:1 with its baseline start at the origin. */
static GskRenderNode *
make_text (IrNodePainter *self, PangoContext *pango, const IrSceneText *text)
{
  g_autoptr (PangoLayout) layout = pango_layout_new (ir_letters_context (self->letters, pango));
  PangoFontDescription *font = ir_letters_font (ir_scene_text_look (text->style));
  GtkSnapshot *snapshot = gtk_snapshot_new ();
  const GdkRGBA colour = text_colour (self, text);
  int width;
  double x = 0;

  pango_layout_set_font_description (layout, font);
  pango_font_description_free (font);
  pango_layout_set_text (layout, text->text, -1);
  pango_layout_get_size (layout, &width, NULL);
  if (text->align == IR_SCENE_ALIGN_MIDDLE)
    x = -width / 2.0 / PANGO_SCALE;
  else if (text->align == IR_SCENE_ALIGN_END)
    x = -width / (double) PANGO_SCALE;
  gtk_snapshot_translate (
      snapshot,
      &GRAPHENE_POINT_INIT (round (x), -pango_layout_get_baseline (layout) / PANGO_SCALE));
  gtk_snapshot_append_layout (snapshot, layout, &colour);
  return gtk_snapshot_free_to_node (snapshot);
}

static void
paint_text (IrNodePainter *self,
            GtkSnapshot *snapshot,
            PangoContext *pango,
            const IrCamera *camera,
            guint index)
{
  guint n;
  const IrSceneText *text = &ir_scene_texts (self->scene, &n)[index];
  GskRenderNode *node = g_hash_table_lookup (self->texts, GUINT_TO_POINTER (index + 1));

  if (node == NULL)
    {
      if (g_hash_table_size (self->texts) > MAX_TEXT_NODES)
        g_hash_table_remove_all (self->texts);
      node = make_text (self, pango, text);
      if (node == NULL)
        return;
      g_hash_table_insert (self->texts, GUINT_TO_POINTER (index + 1), node);
    }
  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (
      snapshot, &GRAPHENE_POINT_INIT (screen_x (camera, text->x), screen_y (camera, text->y)));
  if (camera->zoom != 1)
    gtk_snapshot_scale (snapshot, camera->zoom, camera->zoom);
  gtk_snapshot_append_node (snapshot, node);
  gtk_snapshot_restore (snapshot);
}

/* Many boxes have one name, and it is drawn at its size on screen. */
static void
draw_name (IrNodePainter *self,
           GtkSnapshot *snapshot,
           PangoContext *pango,
           const IrCamera *camera,
           const IrSceneName *name,
           guint32 colour)
{
  GskRenderNode *node = ir_letters_dup_name (self->letters, pango, name, colour);

  if (node == NULL)
    return;
  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT ((float) screen_x (camera, name->x),
                                                          (float) screen_y (camera, name->y)));
  gtk_snapshot_append_node (snapshot, node);
  gtk_snapshot_restore (snapshot);
  gsk_render_node_unref (node);
}

static graphene_rect_t
patch_rect (const IrCamera *camera, const IrLayoutRect *r)
{
  const double x0 = screen_x (camera, r->x), x1 = screen_x (camera, r->x + r->width);
  const double y0 = screen_y (camera, r->y), y1 = screen_y (camera, r->y + r->height);

  return GRAPHENE_RECT_INIT (x0, y0, MAX (x1 - x0, 1), MAX (y1 - y0, 1));
}

/* -- lines -- */

static void
draw_triangle (cairo_t *cr, Direction direction)
{
  static const double angles[] = { [DOWN] = 0, [UP] = G_PI, [RIGHT] = -G_PI_2, [LEFT] = G_PI_2 };

  cairo_rotate (cr, angles[direction]);
  cairo_move_to (cr, 0, 0);
  cairo_line_to (cr, -ARROW_HALF_WIDTH, -ARROW_LENGTH);
  cairo_line_to (cr, ARROW_HALF_WIDTH, -ARROW_LENGTH);
  cairo_close_path (cr);
  cairo_fill (cr);
}

/* The head of an arrow at 1:1 with its tip at the origin. */
static GskRenderNode *
arrow_node (IrNodePainter *self, Direction direction, const GdkRGBA *colour)
{
  const guint packed = ((guint) (colour->red * 255) << 16) | ((guint) (colour->green * 255) << 8) |
                       (guint) (colour->blue * 255);
  const gpointer key = GUINT_TO_POINTER (((guint) direction << 24 | packed) + 1);
  GskRenderNode *node = g_hash_table_lookup (self->arrows, key);
  const float reach = ARROW_LENGTH + 1;
  cairo_t *cr;

  if (node != NULL)
    return node;
  node = gsk_cairo_node_new (&GRAPHENE_RECT_INIT (-reach, -reach, 2 * reach, 2 * reach));
  cr = gsk_cairo_node_get_draw_context (node);
  gdk_cairo_set_source_rgba (cr, colour);
  draw_triangle (cr, direction);
  cairo_destroy (cr);
  g_hash_table_insert (self->arrows, key, node);
  return node;
}

static void
draw_arrow (
    IrNodePainter *self, const IrStroke *pen, double zoom, const graphene_point_t *p, guint n)
{
  const graphene_point_t *tip = &p[n - 1], *before = &p[n - 2];
  Direction direction;

  if (tip->x == before->x)
    direction = tip->y >= before->y ? DOWN : UP;
  else
    direction = tip->x >= before->x ? RIGHT : LEFT;
  gtk_snapshot_save (pen->snapshot);
  gtk_snapshot_translate (pen->snapshot, tip);
  gtk_snapshot_scale (pen->snapshot, (float) MAX (zoom, 0.4), (float) MAX (zoom, 0.4));
  gtk_snapshot_append_node (pen->snapshot, arrow_node (self, direction, &pen->colour));
  gtk_snapshot_restore (pen->snapshot);
}

/* Points that a rounding moved off the straight are put back on it. */
static guint
screen_points (const IrNodePainter *self,
               const IrCamera *camera,
               const IrSceneLine *line,
               graphene_point_t *p,
               guint max)
{
  const IrLayoutPoint *points = ir_scene_line_points (self->scene, line);
  const guint n = MIN (line->n_points, max);

  for (guint i = 0; i < n; i++)
    p[i] = GRAPHENE_POINT_INIT (screen_x (camera, points[i].x), screen_y (camera, points[i].y));
  return n;
}

#define MAX_POINTS 64

static void
draw_line (IrNodePainter *self,
           GtkSnapshot *snapshot,
           const IrCamera *camera,
           const IrSceneLine *line,
           const GdkRGBA *colour,
           double width)
{
  graphene_point_t p[MAX_POINTS];
  const guint n = screen_points (self, camera, line, p, MAX_POINTS);
  IrStroke pen = {
    .snapshot = snapshot, .colour = *colour, .width = width, .low = floor (width / 2)
  };

  if (n < 2)
    return;
  pen.dash = ir_scene_state_dash (line->state, &pen.n_dash);
  if ((line->kind == IR_SCENE_LINE_CONTROL || line->captured) && pen.n_dash == 0)
    pen.dash = ir_scene_state_dash (IR_SCENE_REMOVED, &pen.n_dash);
  ir_stroke_polyline (&pen, p, n, round (IR_SCENE_BEND * camera->zoom));
  if (line->kind != IR_SCENE_LINE_PLAIN && line->kind != IR_SCENE_LINE_BRACKET &&
      camera->zoom >= DETAIL_MIN_ZOOM)
    draw_arrow (self, &pen, camera->zoom, p, n);
}

static GdkRGBA
line_colour (const IrNodePainter *self, const IrSceneLine *line)
{
  return rgba (ir_line_ink (palette (self), self->scene, line), 1);
}

static double
line_width (const IrCamera *camera, const IrSceneLine *line)
{
  return camera->zoom >= 1.5 || (line->state != IR_SCENE_SAME && camera->zoom > 0.3) ? 2 : 1;
}

/* -- boxes -- */

static void
box_outline (GskRoundedRect *outline, const IrCamera *camera, const IrSceneBox *box, double grow)
{
  graphene_rect_t rect = ir_camera_rect (camera, box);
  double radius = IR_SCENE_RADIUS * camera->zoom;

  if (box->kind == IR_SCENE_INPUT || box->kind == IR_SCENE_OUTPUT || box->kind == IR_SCENE_CONSTANT)
    radius = rect.size.height / 2;
  else if (box->kind == IR_SCENE_PLAIN)
    radius = MIN (2, rect.size.height / 4);
  else if (box->kind == IR_SCENE_CLUSTER)
    radius += 2 * camera->zoom;
  graphene_rect_inset (&rect, (float) -grow, (float) -grow);
  gsk_rounded_rect_init_from_rect (outline, &rect, (float) (radius + grow));
}

static void
draw_border (IrNodePainter *self,
             GtkSnapshot *snapshot,
             const IrSceneBox *box,
             const GskRoundedRect *outline,
             double zoom)
{
  const gboolean differs = box->state != IR_SCENE_SAME;
  const GdkRGBA colour = rgba (ir_box_border (palette (self), box), 1);
  const float width = differs && zoom >= 0.3 ? 2 : 1;
  IrStroke pen = { .snapshot = snapshot, .colour = colour, .width = width };

  pen.dash = ir_scene_state_dash (box->state, &pen.n_dash);
  if (pen.n_dash > 0 && zoom >= 0.3)
    ir_stroke_outline (&pen, outline);
  else
    gtk_snapshot_append_border (snapshot, outline, (const float[4]){ width, width, width, width },
                                (const GdkRGBA[4]){ colour, colour, colour, colour });
}

static guint32
body_colour (const IrNodePainter *self, const IrSceneBox *box)
{
  return ir_box_body (palette (self), self->scene, box);
}

/* Several sheets behind a closed box: there is more in it. */
static void
draw_stack (IrNodePainter *self,
            GtkSnapshot *snapshot,
            const IrCamera *camera,
            const GskRoundedRect *outline)
{
  const GdkRGBA fill = rgba (palette (self)->box, 1), rim = rgba (palette (self)->border, 1);

  for (int k = 2; k > 0; k--)
    {
      GskRoundedRect sheet = *outline;
      const float by = (float) round (3 * k * camera->zoom);

      gsk_rounded_rect_offset (&sheet, by, by);
      gtk_snapshot_push_rounded_clip (snapshot, &sheet);
      gtk_snapshot_append_color (snapshot, &fill, &sheet.bounds);
      gtk_snapshot_pop (snapshot);
      gtk_snapshot_append_border (snapshot, &sheet, (const float[4]){ 1, 1, 1, 1 },
                                  (const GdkRGBA[4]){ rim, rim, rim, rim });
    }
}

static void
draw_box (IrNodePainter *self, GtkSnapshot *snapshot, const IrCamera *camera, const IrSceneBox *box)
{
  const gboolean all_header = box->kind != IR_SCENE_CLUSTER &&
                              (box->header >= box->height ||
                               ir_scene_detail (camera->zoom) != IR_SCENE_DETAIL_ALL);
  const GdkRGBA body = rgba (body_colour (self, box), 1);
  guint32 on_header;
  const GdkRGBA header = rgba (header_colour (self, box, &on_header), 1);
  const gboolean rounded = camera->zoom >= 0.3;
  graphene_rect_t strip;
  GskRoundedRect outline;

  box_outline (&outline, camera, box, 0);
  strip = outline.bounds;
  strip.size.height = (float) round (box->header * camera->zoom);
  if (box->kind == IR_SCENE_FOLD && rounded)
    draw_stack (self, snapshot, camera, &outline);
  if (rounded)
    gtk_snapshot_push_rounded_clip (snapshot, &outline);
  gtk_snapshot_append_color (snapshot, all_header ? &header : &body, &outline.bounds);
  if (!all_header && box->kind != IR_SCENE_CLUSTER && box->header > 0)
    gtk_snapshot_append_color (snapshot, &header, &strip);
  if (rounded)
    gtk_snapshot_pop (snapshot);
  if (box->state != IR_SCENE_SAME || !all_header)
    draw_border (self, snapshot, box, &outline, camera->zoom);
}

/* -- badges: a disc with a glyph, so that a state is told by shape as well as colour -- */

static GskRenderNode *
make_badge (IrNodePainter *self, PangoContext *pango, const char *glyph, guint32 colour)
{
  g_autoptr (PangoLayout) layout = pango_layout_new (pango);
  PangoFontDescription *font = ir_letters_font (ir_scene_text_look (IR_SCENE_TEXT_PILL));
  const GdkRGBA fill = rgba (colour, 1), rim = rgba (palette (self)->box, 1);
  const GdkRGBA text = rgba (ir_palette_on (palette (self), colour), 1);
  const float radius = BADGE_RADIUS + 1;
  GtkSnapshot *snapshot = gtk_snapshot_new ();
  GskRoundedRect disc;
  int width, height;

  gsk_rounded_rect_init_from_rect (
      &disc, &GRAPHENE_RECT_INIT (-radius, -radius, 2 * radius, 2 * radius), radius);
  gtk_snapshot_push_rounded_clip (snapshot, &disc);
  gtk_snapshot_append_color (snapshot, &rim, &disc.bounds);
  gtk_snapshot_pop (snapshot);
  gsk_rounded_rect_shrink (&disc, 1, 1, 1, 1);
  gtk_snapshot_push_rounded_clip (snapshot, &disc);
  gtk_snapshot_append_color (snapshot, &fill, &disc.bounds);
  gtk_snapshot_pop (snapshot);
  pango_layout_set_font_description (layout, font);
  pango_font_description_free (font);
  pango_layout_set_text (layout, glyph, -1);
  pango_layout_get_pixel_size (layout, &width, &height);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT (-width / 2.0F, -height / 2.0F));
  gtk_snapshot_append_layout (snapshot, layout, &text);
  return gtk_snapshot_free_to_node (snapshot);
}

static void
draw_badge (IrNodePainter *self,
            GtkSnapshot *snapshot,
            PangoContext *pango,
            const IrCamera *camera,
            double x,
            double y,
            const char *glyph,
            guint32 colour)
{
  const gpointer key = GUINT_TO_POINTER (colour + 1);
  const float scale = (float) MAX (camera->zoom, 0.5);
  GskRenderNode *node = g_hash_table_lookup (self->badges, key);

  if (node == NULL)
    {
      node = make_badge (self, pango, glyph, colour);
      g_hash_table_insert (self->badges, key, node);
    }
  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (snapshot,
                          &GRAPHENE_POINT_INIT (screen_x (camera, x), screen_y (camera, y)));
  gtk_snapshot_scale (snapshot, scale, scale);
  gtk_snapshot_append_node (snapshot, node);
  gtk_snapshot_restore (snapshot);
}

static void
draw_badges (IrNodePainter *self,
             GtkSnapshot *snapshot,
             PangoContext *pango,
             const IrCamera *camera,
             const IrSceneBox *box)
{
  const IrPalette *p = palette (self);
  double x = box->x + box->width -
             (box->kind == IR_SCENE_CLUSTER || box->header < box->height ? 14 : 16);
  double y = box->y + MIN (box->header, 32) / 2;

  if (box->kind == IR_SCENE_INPUT || box->kind == IR_SCENE_OUTPUT || box->kind == IR_SCENE_CONSTANT)
    y = box->y + box->height / 2;
  if (box->state != IR_SCENE_SAME)
    {
      draw_badge (self, snapshot, pango, camera, x, y, ir_scene_state_glyph (box->state),
                  p->state[box->state]);
      x -= 2 * BADGE_RADIUS + 4;
    }
  if (box->problem > 0)
    draw_badge (self, snapshot, pango, camera, x, y, box->problem == 1 ? "i" : "!",
                p->problem[box->problem - 1]);
}

/* -- the picture -- */

typedef struct
{
  GArray *boxes, *lines; /* of gint32, in painting order */
} Visible;

static void
collect (IrSceneHit hit, gpointer data)
{
  Visible *visible = data;

  if (hit.box >= 0)
    g_array_append_val (visible->boxes, hit.box);
  else
    g_array_append_val (visible->lines, hit.line);
}

/* In place; the order stays. */
static void
leave_out_other_side (IrNodePainter *self, Visible *visible)
{
  guint n, n_boxes = 0, n_lines = 0;
  const IrSceneBox *boxes = ir_scene_boxes (self->scene, &n);
  const IrSceneLine *lines = ir_scene_lines (self->scene, &n);

  for (guint i = 0; i < visible->boxes->len; i++)
    {
      const gint32 index = g_array_index (visible->boxes, gint32, i);

      if (ir_scene_shows_box (self->sides, &boxes[index]))
        g_array_index (visible->boxes, gint32, n_boxes++) = index;
    }
  for (guint i = 0; i < visible->lines->len; i++)
    {
      const gint32 index = g_array_index (visible->lines, gint32, i);

      if (ir_scene_shows_line (self->sides, &lines[index]))
        g_array_index (visible->lines, gint32, n_lines++) = index;
    }
  g_array_set_size (visible->boxes, n_boxes);
  g_array_set_size (visible->lines, n_lines);
}

/* What stands in place of the texts, on the box or over a frame. */
static void
paint_name (IrNodePainter *self,
            GtkSnapshot *snapshot,
            PangoContext *pango,
            const IrCamera *camera,
            const IrSceneBox *box)
{
  guint n;
  const gint32 index = (gint32) (box - ir_scene_boxes (self->scene, &n));
  const gboolean group = box->kind == IR_SCENE_CLUSTER;
  const IrPalette *p = palette (self);
  guint32 on_header;
  const guint32 header = header_colour (self, box, &on_header);
  const guint32 fill = group ? body_colour (self, box) : header;
  GskRoundedRect outline;
  graphene_rect_t patch;
  IrSceneName name;
  GdkRGBA colour;

  if (!ir_scene_name (self->scene, index, camera->zoom, &name))
    return;
  patch = patch_rect (camera, &name.patch);
  colour = rgba (fill, group ? 0.85 : 1);
  if (group)
    gtk_snapshot_append_color (snapshot, &colour, &patch);
  else if (name.patch.width > box->width || name.patch.height > box->height)
    {
      gsk_rounded_rect_init_from_rect (&outline, &patch, 2);
      gtk_snapshot_push_rounded_clip (snapshot, &outline);
      gtk_snapshot_append_color (snapshot, &colour, &patch);
      gtk_snapshot_pop (snapshot);
    }
  draw_name (self, snapshot, pango, camera, &name, group ? p->muted : on_header);
}

static void
paint_thumb (IrNodePainter *self,
             GtkSnapshot *snapshot,
             const IrCamera *camera,
             const IrSceneBox *box)
{
  const IrLayoutRect r = { box->x + box->thumb_rect.x, box->y + box->thumb_rect.y,
                           box->thumb_rect.width, box->thumb_rect.height };

  ir_thumb_paint (self->thumbs, snapshot, box->thumb, palette (self), patch_rect (camera, &r));
}

/* A text on a patch of that colour, so that lines do not run through it. */
static void
paint_text_on (IrNodePainter *self,
               GtkSnapshot *snapshot,
               PangoContext *pango,
               const IrCamera *camera,
               guint index,
               guint32 fill)
{
  guint n;
  const IrSceneText *text = &ir_scene_texts (self->scene, &n)[index];
  const IrSceneTextLook *look = ir_scene_text_look (text->style);
  const double shift = text->align == IR_SCENE_ALIGN_START    ? 0
                       : text->align == IR_SCENE_ALIGN_MIDDLE ? text->width / 2
                                                              : text->width;
  const GdkRGBA patch = rgba (fill, 0.85);

  gtk_snapshot_append_color (snapshot, &patch,
                             &GRAPHENE_RECT_INIT ((float) screen_x (camera, text->x - shift),
                                                  (float) screen_y (camera, text->y - look->size),
                                                  (float) (text->width * camera->zoom),
                                                  (float) (look->size * 1.25 * camera->zoom)));
  paint_text (self, snapshot, pango, camera, index);
}

static void
paint_box_texts (IrNodePainter *self,
                 GtkSnapshot *snapshot,
                 PangoContext *pango,
                 const IrCamera *camera,
                 const IrSceneBox *box)
{
  const gboolean frame = box->kind == IR_SCENE_CLUSTER;

  if (ir_scene_detail (camera->zoom) != IR_SCENE_DETAIL_ALL)
    paint_name (self, snapshot, pango, camera, box);
  else
    {
      for (guint t = 0; t < box->n_texts; t++)
        if (frame)
          paint_text_on (self, snapshot, pango, camera, box->first_text + t,
                         body_colour (self, box));
        else
          paint_text (self, snapshot, pango, camera, box->first_text + t);
      if (box->thumb != NULL)
        paint_thumb (self, snapshot, camera, box);
    }
  if (camera->zoom >= 0.25)
    draw_badges (self, snapshot, pango, camera, box);
}

typedef enum
{
  PART_BODY = 1 << 0,
  PART_TEXTS = 1 << 1,
} BoxParts;

/* What of a box is asked for, on its way. */
static void
paint_box_at (IrNodePainter *self,
              GtkSnapshot *snapshot,
              PangoContext *pango,
              const IrCamera *camera,
              const IrSceneBox *box,
              BoxParts parts)
{
  guint n;
  const gint32 index = (gint32) (box - ir_scene_boxes (self->scene, &n));
  IrSceneBox moved = *box;
  gboolean is_new = FALSE;

  if (self->tween != NULL)
    {
      const IrLayoutRect now = ir_tween_rect (self->tween, index, self->tween_at, &is_new);

      moved.width = now.width;
      moved.height = now.height;
      if (is_new)
        gtk_snapshot_push_opacity (snapshot, self->tween_at);
      gtk_snapshot_save (snapshot);
      gtk_snapshot_translate (
          snapshot, &GRAPHENE_POINT_INIT ((float) round ((now.x - box->x) * camera->zoom),
                                          (float) round ((now.y - box->y) * camera->zoom)));
    }
  if (parts & PART_BODY)
    draw_box (self, snapshot, camera, &moved);
  if (parts & PART_TEXTS)
    paint_box_texts (self, snapshot, pango, camera, box);
  if (self->tween != NULL)
    gtk_snapshot_restore (snapshot);
  if (is_new)
    gtk_snapshot_pop (snapshot);
}

/* Those that stay, or those that are drawn anew because an end moves. */
static void
paint_lines (IrNodePainter *self,
             GtkSnapshot *snapshot,
             const IrCamera *camera,
             const Visible *visible,
             gboolean moving)
{
  guint n;
  const IrSceneLine *lines = ir_scene_lines (self->scene, &n);

  for (guint i = 0; i < visible->lines->len; i++)
    {
      const IrSceneLine *line = &lines[g_array_index (visible->lines, gint32, i)];
      const GdkRGBA colour = line_colour (self, line);

      if (self->tween == NULL || ir_tween_moves_line (self->tween, line) == moving)
        draw_line (self, snapshot, camera, line, &colour, line_width (camera, line));
    }
}

static void
paint_labels (IrNodePainter *self,
              GtkSnapshot *snapshot,
              PangoContext *pango,
              const IrCamera *camera)
{
  guint n;
  const IrSceneText *texts = ir_scene_texts (self->scene, &n);
  const IrLayoutRect world = ir_camera_world (camera);

  for (guint t = 0; ir_scene_detail (camera->zoom) == IR_SCENE_DETAIL_ALL && t < n; t++)
    if (texts[t].box < 0 && ir_scene_shows_text (self->sides, &texts[t]) &&
        texts[t].x - texts[t].width < world.x + world.width &&
        texts[t].x + texts[t].width > world.x && texts[t].y > world.y &&
        texts[t].y < world.y + world.height + 20)
      paint_text_on (self, snapshot, pango, camera, t, palette (self)->background);
}

/* All frames, or all that are none. */
static void
paint_boxes (IrNodePainter *self,
             GtkSnapshot *snapshot,
             PangoContext *pango,
             const IrCamera *camera,
             const Visible *visible,
             gboolean frames,
             BoxParts parts)
{
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (self->scene, &n);

  for (guint i = 0; i < visible->boxes->len; i++)
    {
      const IrSceneBox *box = &boxes[g_array_index (visible->boxes, gint32, i)];

      if ((box->kind == IR_SCENE_CLUSTER) == frames)
        paint_box_at (self, snapshot, pango, camera, box, parts);
    }
}

/* Titles of frames lie over the lines that enter there. */
static void
paint_detailed (IrNodePainter *self,
                GtkSnapshot *snapshot,
                PangoContext *pango,
                const IrCamera *camera,
                const Visible *visible)
{
  paint_boxes (self, snapshot, pango, camera, visible, TRUE, PART_BODY);
  paint_lines (self, snapshot, camera, visible, FALSE);
  if (self->tween != NULL)
    {
      gtk_snapshot_push_opacity (snapshot, self->tween_at * self->tween_at);
      paint_lines (self, snapshot, camera, visible, TRUE);
      paint_labels (self, snapshot, pango, camera);
      gtk_snapshot_pop (snapshot);
    }
  else
    paint_labels (self, snapshot, pango, camera);
  if (ir_scene_detail (camera->zoom) == IR_SCENE_DETAIL_ALL)
    paint_boxes (self, snapshot, pango, camera, visible, TRUE, PART_TEXTS);
  paint_boxes (self, snapshot, pango, camera, visible, FALSE, PART_BODY | PART_TEXTS);
}

/* Titles of groups, and names where there is room, over all that is drawn. */
static void
paint_group_names (IrNodePainter *self,
                   GtkSnapshot *snapshot,
                   PangoContext *pango,
                   const IrCamera *camera)
{
  const IrLayoutRect world = ir_camera_world (camera);
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (self->scene, &n);

  for (guint i = 0; i < self->groups->len; i++)
    {
      const IrSceneBox *box = &boxes[g_array_index (self->groups, gint32, i)];

      if (ir_scene_shows_box (self->sides, box) && box->x < world.x + world.width &&
          box->x + box->width > world.x && box->y < world.y + world.height &&
          box->y + box->height > world.y)
        paint_name (self, snapshot, pango, camera, box);
    }
}

/* Plain rectangles and straight hairlines, in one cairo node. */
static void
paint_flat (IrNodePainter *self,
            GtkSnapshot *snapshot,
            const IrCamera *camera,
            const Visible *visible)
{
  cairo_t *cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) camera->width, (float) camera->height));

  ir_flat_paint (self->scene, palette (self), camera->zoom, round (camera->x), round (camera->y),
                 visible->boxes, visible->lines, cr);
  cairo_destroy (cr);
}

/* Tiles have both sides of a difference. */
static gboolean
takes_tiles (const IrNodePainter *self)
{
  return self->sides == IR_SCENE_BOTH_SIDES && ir_tiles_are_wanted (self->scene);
}

static void
paint_visible (IrNodePainter *self,
               GtkSnapshot *snapshot,
               PangoContext *pango,
               const IrCamera *camera)
{
  const IrLayoutRect world = ir_camera_world (camera);
  const double margin = (BADGE_RADIUS + 2) * MAX (1, 1 / camera->zoom);
  const IrLayoutRect grown = { world.x - margin, world.y - margin, world.width + 2 * margin,
                               world.height + 2 * margin };
  Visible visible = { g_array_new (FALSE, FALSE, sizeof (gint32)),
                      g_array_new (FALSE, FALSE, sizeof (gint32)) };

  ir_scene_foreach_in_rect (self->scene, &grown, collect, &visible);
  leave_out_other_side (self, &visible);
  if (camera->zoom >= DETAIL_MIN_ZOOM && visible.boxes->len <= MAX_DETAIL_BOXES)
    paint_detailed (self, snapshot, pango, camera, &visible);
  else if (takes_tiles (self))
    ir_tiles_paint (self->tiles, snapshot, self->scene, self->colours, self->scale, camera);
  else
    paint_flat (self, snapshot, camera, &visible);
  g_array_unref (visible.boxes);
  g_array_unref (visible.lines);
}

/* Paints background and picture; what is outside the viewport is left out. Returns the node;
 * append the same one again while nothing changes. */
GskRenderNode *
ir_node_painter_paint (IrNodePainter *self, PangoContext *pango, const IrCamera *camera)
{
  GtkSnapshot *snapshot = gtk_snapshot_new ();
  const GdkRGBA background = rgba (palette (self)->background, 1);

  gtk_snapshot_append_color (
      snapshot, &background,
      &GRAPHENE_RECT_INIT (0, 0, (float) camera->width, (float) camera->height));
  if (self->scene == NULL)
    return gtk_snapshot_free_to_node (snapshot);
  self->zoom = camera->zoom;
  if (camera->zoom < DETAIL_MIN_ZOOM && takes_tiles (self))
    ir_tiles_paint (self->tiles, snapshot, self->scene, self->colours, self->scale, camera);
  else
    paint_visible (self, snapshot, pango, camera);
  if (ir_scene_detail (camera->zoom) != IR_SCENE_DETAIL_ALL)
    paint_group_names (self, snapshot, pango, camera);
  return gtk_snapshot_free_to_node (snapshot);
}

/* @tween: (nullable): boxes are on their way, at @t of it */
void
ir_node_painter_set_tween (IrNodePainter *self, const IrTween *tween, double t)
{
  self->tween = tween;
  self->tween_at = t;
}

/* Draws a ring around a box that is selected or under the pointer */
void
ir_node_painter_outline (IrNodePainter *self,
                         GtkSnapshot *snapshot,
                         const IrCamera *camera,
                         gint32 box,
                         double width,
                         double alpha)
{
  guint n;
  const IrSceneBox *boxes = self->scene != NULL ? ir_scene_boxes (self->scene, &n) : NULL;
  const GdkRGBA c = rgba (palette (self)->selection, alpha);
  const float w = (float) width;
  GskRoundedRect outline;

  if (boxes == NULL || box < 0 || (guint) box >= n ||
      !ir_scene_shows_box (self->sides, &boxes[box]))
    return;
  box_outline (&outline, camera, &boxes[box], width + 1);
  gtk_snapshot_append_border (snapshot, &outline, (const float[4]){ w, w, w, w },
                              (const GdkRGBA[4]){ c, c, c, c });
}

void
ir_node_painter_highlight_line (IrNodePainter *self,
                                GtkSnapshot *snapshot,
                                const IrCamera *camera,
                                gint32 line)
{
  guint n;
  const IrSceneLine *lines = self->scene != NULL ? ir_scene_lines (self->scene, &n) : NULL;
  const GdkRGBA accent = rgba (palette (self)->selection, 1);

  if (lines != NULL && line >= 0 && (guint) line < n &&
      ir_scene_shows_line (self->sides, &lines[line]))
    draw_line (self, snapshot, camera, &lines[line], &accent, 2);
}
