#include "config.h"

/* The walk: frames, lines, labels, boxes, in that order. Shapes and colours of
 * everything in a picture are decided here and nowhere else. */

#include "core/render/painter-private.h"

#include <math.h>

#define ARROW_LENGTH 8.0 /* px */
#define ARROW_HALF   4.0 /* px */
#define BADGE_RADIUS 7.0 /* px */

#define N_SPECKS 64

/* The last bar that was no wider than a pixel of those that stand on one line. */
typedef struct
{
  double foot, height;
  double column; /* px, on screen; 0: none yet */
} Speck;

typedef struct
{
  const IrScene *scene;
  const IrPalette *palette;
  IrPainter *painter;
  GArray *ops;           /* of IrPathOp, reused */
  GArray *boxes, *lines; /* of gint32: what meets the clip */
  double zoom;           /* at which it is going to be seen */
  double hair;           /* px, as wide as one on screen at most */
  IrSceneDetail detail;
  Speck specks[N_SPECKS];
} Paint;

static void
op (Paint *p, char kind, double x, double y, double cx, double cy)
{
  IrPathOp o = { kind, x, y, cx, cy };

  g_array_append_val (p->ops, o);
}

static void
flush_path (Paint *p, const IrPen *pen)
{
  p->painter->path (p->painter, (const IrPathOp *) (void *) p->ops->data, p->ops->len, pen);
  g_array_set_size (p->ops, 0);
}

static void
begin (Paint *p, const char *kind, IrSceneHit item)
{
  if (p->painter->begin != NULL)
    p->painter->begin (p->painter, kind, p->scene, item);
}

static void
end (Paint *p)
{
  if (p->painter->end != NULL)
    p->painter->end (p->painter);
}

/* --- lines ------------------------------------------------------------------ */

static double
length (const IrLayoutPoint *a, const IrLayoutPoint *b)
{
  return MAX (ABS (a->x - b->x), ABS (a->y - b->y));
}

static IrLayoutPoint
toward (const IrLayoutPoint *from, const IrLayoutPoint *to, double by)
{
  double whole = hypot (to->x - from->x, to->y - from->y);

  if (whole <= 0)
    return *from;
  return (IrLayoutPoint){ from->x + (to->x - from->x) * by / whole,
                          from->y + (to->y - from->y) * by / whole };
}

/* Turns are rounded; the end is cut back to the base of the arrow head. */
static void
trace_line (Paint *p, const IrLayoutPoint *points, guint n, gboolean arrow)
{
  op (p, 'M', points[0].x, points[0].y, 0, 0);
  for (guint i = 1; i + 1 < n; i++)
    {
      double r = MIN (
          IR_SCENE_BEND,
          MIN (length (&points[i - 1], &points[i]), length (&points[i], &points[i + 1])) / 2);
      IrLayoutPoint a = toward (&points[i], &points[i - 1], r);
      IrLayoutPoint b = toward (&points[i], &points[i + 1], r);
      op (p, 'L', a.x, a.y, 0, 0);
      op (p, 'Q', b.x, b.y, points[i].x, points[i].y);
    }
  double cut = MIN (ARROW_LENGTH - 1, length (&points[n - 2], &points[n - 1]));
  IrLayoutPoint last = arrow ? toward (&points[n - 1], &points[n - 2], cut) : points[n - 1];
  op (p, 'L', last.x, last.y, 0, 0);
}

static void
trace_curve (Paint *p, const IrLayoutPoint *points, guint n)
{
  for (guint i = 0; i < n; i++)
    op (p, i == 0 ? 'M' : 'L', points[i].x, points[i].y, 0, 0);
}

static void
paint_arrow (Paint *p, const IrLayoutPoint *points, guint n, guint32 colour)
{
  IrLayoutPoint tip = points[n - 1], base = toward (&tip, &points[n - 2], ARROW_LENGTH);
  IrPen pen = { .fill = colour, .stroke = IR_NO_COLOUR };
  double whole = hypot (tip.x - base.x, tip.y - base.y);
  double dx, dy;

  if (whole < 0.1)
    return;
  dx = (tip.y - base.y) / whole * ARROW_HALF;
  dy = (tip.x - base.x) / whole * ARROW_HALF;
  op (p, 'M', tip.x, tip.y, 0, 0);
  op (p, 'L', base.x + dx, base.y + dy, 0, 0);
  op (p, 'L', base.x - dx, base.y - dy, 0, 0);
  op (p, 'Z', 0, 0, 0, 0);
  flush_path (p, &pen);
}

static void
paint_line (Paint *p, gint32 index)
{
  guint n;
  const IrSceneLine *line = &ir_scene_lines (p->scene, &n)[index];
  const IrLayoutPoint *points = ir_scene_line_points (p->scene, line);
  static const double dots[] = { 2, 4 };
  const gboolean arrow = line->kind != IR_SCENE_LINE_PLAIN && line->kind != IR_SCENE_LINE_BRACKET;
  const guint32 colour = ir_line_ink (p->palette, p->scene, line);
  IrPen pen = { .fill = IR_NO_COLOUR, .stroke = colour, .width = 1.5 * p->hair };

  pen.dash = ir_scene_state_dash (line->state, &pen.n_dash);
  if (line->state != IR_SCENE_SAME)
    pen.width = 2 * p->hair;
  if (line->captured && pen.n_dash == 0)
    pen.dash = ir_scene_state_dash (IR_SCENE_REMOVED, &pen.n_dash);
  if (line->kind == IR_SCENE_LINE_CONTROL && pen.n_dash == 0)
    {
      pen.dash = dots;
      pen.n_dash = G_N_ELEMENTS (dots);
    }
  begin (p, "line", (IrSceneHit){ -1, index });
  if (line->accent > 0)
    trace_curve (p, points, line->n_points);
  else
    trace_line (p, points, line->n_points, arrow);
  flush_path (p, &pen);
  if (arrow)
    paint_arrow (p, points, line->n_points, colour);
  end (p);
}

/* --- boxes ------------------------------------------------------------------ */

/* The upper part of a rounded box. */
static void
trace_header (Paint *p, const IrSceneBox *b, double radius)
{
  double right = b->x + b->width, bottom = b->y + b->header;

  op (p, 'M', b->x, bottom, 0, 0);
  op (p, 'L', b->x, b->y + radius, 0, 0);
  op (p, 'Q', b->x + radius, b->y, b->x, b->y);
  op (p, 'L', right - radius, b->y, 0, 0);
  op (p, 'Q', right, b->y + radius, right, b->y);
  op (p, 'L', right, bottom, 0, 0);
  op (p, 'Z', 0, 0, 0, 0);
}

static void
paint_badge (Paint *p, double x, double y, const char *glyph, guint32 colour)
{
  IrPen pen = { .fill = colour, .stroke = p->palette->box, .width = 1.5 };
  IrSceneText text = { .style = IR_SCENE_TEXT_PILL,
                       .align = IR_SCENE_ALIGN_MIDDLE,
                       .box = -1,
                       .x = x,
                       .y = y + 4,
                       .text = glyph };

  p->painter->rect (
      p->painter,
      (IrLayoutRect){ x - BADGE_RADIUS, y - BADGE_RADIUS, 2 * BADGE_RADIUS, 2 * BADGE_RADIUS },
      BADGE_RADIUS, &pen);
  p->painter->text (p->painter, &text, ir_palette_on (p->palette, colour), IR_NO_COLOUR);
}

static void
paint_badges (Paint *p, const IrSceneBox *b)
{
  double inset = b->kind == IR_SCENE_CLUSTER || b->header < b->height ? 14 : 16;
  double x = b->x + b->width - inset, y = b->y + MIN (b->header, 32) / 2;

  if (b->kind == IR_SCENE_INPUT || b->kind == IR_SCENE_OUTPUT || b->kind == IR_SCENE_CONSTANT)
    y = b->y + b->height / 2;
  if (b->state != IR_SCENE_SAME)
    {
      paint_badge (p, x, y, ir_scene_state_glyph (b->state), p->palette->state[b->state]);
      x -= 2 * BADGE_RADIUS + 4;
    }
  if (b->problem > 0)
    paint_badge (p, x, y, b->problem == 1 ? "i" : "!", p->palette->problem[b->problem - 1]);
}

static guint32
header_colour (const Paint *p, const IrSceneBox *b, guint32 *text)
{
  return ir_box_header (p->palette, p->scene, b, p->zoom, text);
}

static void
paint_texts (Paint *p, const IrSceneBox *b)
{
  guint n;
  const IrSceneText *texts = ir_scene_texts (p->scene, &n);
  guint32 on_header;

  header_colour (p, b, &on_header);
  for (guint i = b->first_text; i < b->first_text + b->n_texts; i++)
    {
      guint32 colour = ir_scene_text_look (texts[i].style)->muted ? p->palette->muted
                                                                  : p->palette->text;
      colour = texts[i].on_header || b->kind == IR_SCENE_PLAIN ? on_header
                                                               : ir_box_ink (p->palette, b, colour);
      p->painter->text (p->painter, &texts[i], colour, IR_NO_COLOUR);
    }
}

/* In place of the texts where these cannot be read. */
static void
paint_name (Paint *p, gint32 index, const IrSceneBox *b)
{
  const gboolean group = b->kind == IR_SCENE_CLUSTER;
  guint32 on_header;
  const guint32 header = header_colour (p, b, &on_header);
  IrSceneName name;
  IrSceneText text = { .style = IR_SCENE_TEXT_TITLE, .align = IR_SCENE_ALIGN_MIDDLE, .box = -1 };

  if (!ir_scene_name (p->scene, index, p->zoom, &name))
    return;
  text.text = name.text;
  text.x = name.x;
  text.y = name.y;
  if (!group && (name.patch.width > b->width || name.patch.height > b->height))
    p->painter->rect (p->painter, name.patch, IR_SCENE_RADIUS,
                      &(IrPen){ .fill = header, .stroke = IR_NO_COLOUR });
  p->painter->text_scale = name.size / ir_scene_text_look (text.style)->size / p->zoom;
  p->painter->text (p->painter, &text, group ? p->palette->muted : on_header,
                    group ? p->palette->frame : IR_NO_COLOUR);
  p->painter->text_scale = 0;
}

static void
outline (const Paint *p, const IrSceneBox *b, IrPen *pen)
{
  pen->stroke = ir_box_border (p->palette, b);
  pen->width = (b->state == IR_SCENE_SAME ? 1 : 2) * p->hair;
  pen->dash = ir_scene_state_dash (b->state, &pen->n_dash);
}

static void
paint_frame (Paint *p, const IrSceneBox *b, gint32 index)
{
  IrPen pen = { .fill = ir_box_body (p->palette, p->scene, b) };

  outline (p, b, &pen);
  begin (p, "cluster", (IrSceneHit){ index, -1 });
  p->painter->rect (p->painter, (IrLayoutRect){ b->x, b->y, b->width, b->height },
                    IR_SCENE_RADIUS + 2, &pen);
  end (p);
}

/* Titles of frames lie over the lines that enter there. */
static void
paint_frame_title (Paint *p, const IrSceneBox *b, gint32 index)
{
  guint n;
  const IrSceneText *texts = ir_scene_texts (p->scene, &n);

  if (p->detail != IR_SCENE_DETAIL_ALL)
    {
      paint_name (p, index, b);
      return;
    }
  for (guint i = b->first_text; i < b->first_text + b->n_texts; i++)
    p->painter->text (p->painter, &texts[i], p->palette->muted,
                      ir_box_body (p->palette, p->scene, b));
  paint_badges (p, b);
}

static void
paint_round (Paint *p, const IrSceneBox *b, double radius)
{
  guint32 on_header;
  IrPen pen = { .fill = header_colour (p, b, &on_header), .stroke = IR_NO_COLOUR };

  /* Bars that touch are kept apart by a hair. */
  if (b->kind == IR_SCENE_PLAIN && MIN (b->width, b->height) > 4)
    {
      pen.stroke = p->palette->background;
      pen.width = 1;
    }
  if (b->state != IR_SCENE_SAME)
    outline (p, b, &pen);
  p->painter->rect (p->painter, (IrLayoutRect){ b->x, b->y, b->width, b->height }, radius, &pen);
}

/* Several sheets behind a closed box: there is more in it. */
static void
paint_stack (Paint *p, const IrSceneBox *b)
{
  IrPen pen = { .fill = p->palette->box, .stroke = p->palette->border, .width = 1 };

  for (int k = 2; k > 0; k--)
    p->painter->rect (p->painter, (IrLayoutRect){ b->x + 3 * k, b->y + 3 * k, b->width, b->height },
                      IR_SCENE_RADIUS, &pen);
}

static void
paint_thumb (Paint *p, const IrSceneBox *b)
{
  const IrLayoutRect *r = &b->thumb_rect;

  if (b->thumb != NULL && p->detail == IR_SCENE_DETAIL_ALL)
    p->painter->thumb (p->painter, (IrLayoutRect){ b->x + r->x, b->y + r->y, r->width, r->height },
                       b->thumb, p->palette);
}

static void
paint_card (Paint *p, const IrSceneBox *b)
{
  guint32 on_header;
  IrPen body = { .fill = ir_box_body (p->palette, p->scene, b), .stroke = IR_NO_COLOUR };
  IrPen header = { .fill = header_colour (p, b, &on_header), .stroke = IR_NO_COLOUR };
  IrPen rim = { .fill = IR_NO_COLOUR };
  IrLayoutRect r = { b->x, b->y, b->width, b->height };

  if (b->header < b->height && p->detail == IR_SCENE_DETAIL_ALL)
    {
      p->painter->rect (p->painter, r, IR_SCENE_RADIUS, &body);
      trace_header (p, b, IR_SCENE_RADIUS);
      flush_path (p, &header);
    }
  else
    p->painter->rect (p->painter, r, IR_SCENE_RADIUS, &header);
  outline (p, b, &rim);
  if (b->state != IR_SCENE_SAME || (b->header < b->height && p->detail == IR_SCENE_DETAIL_ALL))
    p->painter->rect (p->painter, r, IR_SCENE_RADIUS, &rim);
}

static void
paint_box (Paint *p, gint32 index)
{
  static const char *const kinds[IR_N_SCENE_BOX_KINDS] = {
    "node", "input", "output", "constant", "fold", "cluster", "plain",
  };
  guint n;
  const IrSceneBox *b = &ir_scene_boxes (p->scene, &n)[index];

  begin (p, kinds[b->kind], (IrSceneHit){ index, -1 });
  if (b->kind == IR_SCENE_INPUT || b->kind == IR_SCENE_OUTPUT || b->kind == IR_SCENE_CONSTANT)
    paint_round (p, b, b->height / 2);
  else if (b->kind == IR_SCENE_PLAIN)
    paint_round (p, b, MIN (2, b->height / 4));
  else
    {
      if (b->kind == IR_SCENE_FOLD)
        paint_stack (p, b);
      paint_card (p, b);
    }
  paint_thumb (p, b);
  if (p->detail == IR_SCENE_DETAIL_ALL || b->kind == IR_SCENE_PLAIN)
    paint_texts (p, b);
  else
    paint_name (p, index, b);
  if (p->zoom >= 0.25)
    paint_badges (p, b);
  end (p);
}

static void
collect (IrSceneHit hit, gpointer data)
{
  Paint *p = data;

  if (hit.box >= 0)
    g_array_append_val (p->boxes, hit.box);
  else
    g_array_append_val (p->lines, hit.line);
}

static void
paint_loose_texts (Paint *p, const IrLayoutRect *clip)
{
  guint n;
  const IrSceneText *texts = ir_scene_texts (p->scene, &n);

  for (guint i = 0; i < n; i++)
    {
      const IrSceneText *t = &texts[i];
      if (t->box >= 0 || t->x - t->width > clip->x + clip->width || t->x + t->width < clip->x ||
          t->y - 20 > clip->y + clip->height || t->y + 20 < clip->y)
        continue;
      p->painter->text (p->painter, t,
                        ir_scene_text_look (t->style)->muted ? p->palette->muted : p->palette->text,
                        p->palette->background);
    }
}

/* @clip: px; only what meets it. @zoom: px on screen for one of the scene: what can be read then */
/* Whether a bar that is as high has been painted in the pixel of @box: there may be 100,000 in a chart of 1,000 px. */
static gboolean
hides (Paint *p, const IrSceneBox *box)
{
  Speck now = { box->y + box->height, box->height, floor (box->x * p->zoom) + 1 };
  Speck *last = &p->specks[(guint) (gint64) now.foot % N_SPECKS];

  if (!p->painter->pixels || box->kind != IR_SCENE_PLAIN || box->width * p->zoom > 1)
    return FALSE;
  if (last->foot == now.foot && last->column == now.column && last->height >= now.height)
    return TRUE;
  *last = now;
  return FALSE;
}

void
ir_scene_paint (const IrScene *scene,
                const IrPalette *palette,
                const IrLayoutRect *clip,
                double zoom,
                IrPainter *painter)
{
  Paint p = { .scene = scene,
              .palette = palette,
              .painter = painter,
              .zoom = zoom,
              .hair = MAX (1, 1 / zoom),
              .detail = ir_scene_detail (zoom) };
  IrLayoutRect all = clip ? *clip : ir_scene_bounds (scene);
  guint n;
  const IrSceneBox *boxes = ir_scene_boxes (scene, &n);

  p.ops = g_array_new (FALSE, FALSE, sizeof (IrPathOp));
  p.boxes = g_array_new (FALSE, FALSE, sizeof (gint32));
  p.lines = g_array_new (FALSE, FALSE, sizeof (gint32));
  ir_scene_foreach_in_rect (scene, &all, collect, &p);
  for (guint i = 0; i < p.boxes->len; i++)
    {
      gint32 index = g_array_index (p.boxes, gint32, i);
      if (boxes[index].kind == IR_SCENE_CLUSTER)
        paint_frame (&p, &boxes[index], index);
    }
  for (guint i = 0; i < p.lines->len; i++)
    paint_line (&p, g_array_index (p.lines, gint32, i));
  if (p.detail == IR_SCENE_DETAIL_ALL)
    paint_loose_texts (&p, &all);
  for (guint i = 0; i < p.boxes->len; i++)
    if (boxes[g_array_index (p.boxes, gint32, i)].kind == IR_SCENE_CLUSTER)
      paint_frame_title (&p, &boxes[g_array_index (p.boxes, gint32, i)],
                         g_array_index (p.boxes, gint32, i));
  for (guint i = 0; i < p.boxes->len; i++)
    {
      gint32 index = g_array_index (p.boxes, gint32, i);
      if (boxes[index].kind != IR_SCENE_CLUSTER && !hides (&p, &boxes[index]))
        paint_box (&p, index);
    }
  g_array_unref (p.ops);
  g_array_unref (p.boxes);
  g_array_unref (p.lines);
}

/* The legend stands at the left, and is as large as it is at 1:1 whatever the zoom. */
IrLayoutRect
ir_render_page (const IrScene *scene, const IrRenderOptions *options, IrLayoutPoint *at)
{
  const double zoom = options != NULL && options->zoom > 0 ? options->zoom : 1;
  IrLayoutRect page = options != NULL && options->clip != NULL ? *options->clip
                                                               : ir_scene_bounds (scene);
  IrLayoutRect below;

  *at = (IrLayoutPoint){ page.x, page.y + page.height };
  if (options == NULL || options->legend == NULL)
    return page;
  below = ir_scene_bounds (options->legend);
  page.width = MAX (page.width, below.width / zoom);
  page.height += below.height / zoom;
  return page;
}
