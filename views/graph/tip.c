#include "config.h"

#include "views/graph/canvas-private.h"

#include <math.h>

#define REST_MS       500  /* the pointer stays until it is said */
#define REST_AGAIN_MS 120  /* from one tip to the next */
#define MAX_WIDTH     420  /* px */
#define PADDING_X     10.0 /* px */
#define PADDING_Y     6.0
#define GAP           8.0 /* px from what it is about */
#define NEAR          40  /* px along a line, for which a tip stays */
#define FAR           144 /* px that it may be from what it is about */
#define STEP          8   /* px between the places that are tried */
#define RADIUS        8.0F

struct _IrTip
{
  IrCanvas *canvas;
  IrSceneHit hit; /* that is pointed at */
  double x, y;    /* px, the pointer */
  guint timer;
  PangoLayout *layout;  /* (nullable) NULL: nothing is shown */
  graphene_rect_t rect; /* px, of what is shown */
};

IrTip *
ir_tip_new (IrCanvas *canvas)
{
  IrTip *self = g_new0 (IrTip, 1);

  self->canvas = canvas;
  self->hit = (IrSceneHit){ -1, -1 };
  return self;
}

void
ir_tip_free (IrTip *self)
{
  g_clear_handle_id (&self->timer, g_source_remove);
  g_clear_object (&self->layout);
  g_free (self);
}

void
ir_tip_hide (IrTip *self)
{
  self->hit = (IrSceneHit){ -1, -1 };
  g_clear_handle_id (&self->timer, g_source_remove);
  if (self->layout != NULL)
    gtk_widget_queue_draw (GTK_WIDGET (self->canvas));
  g_clear_object (&self->layout);
}

/* -- what is said -- */

#define READABLE_ZOOM 0.65

/* Whether the box itself says all of it. */
static gboolean
is_readable (IrCanvas *canvas, const IrSceneBox *box)
{
  guint n;
  const IrSceneText *texts = ir_scene_texts (ir_canvas_get_scene (canvas), &n);

  if (ir_canvas_get_zoom (canvas) < READABLE_ZOOM || box->problem != 0)
    return FALSE;
  for (guint i = box->first_text; i < box->first_text + box->n_texts; i++)
    if (g_str_has_suffix (texts[i].text, "…"))
      return FALSE;
  return TRUE;
}

/* (nullable) */
static const char *
text_of (IrTip *self)
{
  const IrSceneBox *box = canvas_box (self->canvas, self->hit.box);
  guint n;

  if (box != NULL)
    return is_readable (self->canvas, box) ? NULL : box->tip;
  return self->hit.line >= 0 ? ir_scene_lines (canvas_scene (self->canvas), &n)[self->hit.line].tip
                             : NULL;
}

/* -- where -- */

static graphene_rect_t
rect (double x, double y, double width, double height)
{
  return GRAPHENE_RECT_INIT ((float) x, (float) y, (float) width, (float) height);
}

typedef struct
{
  const IrScene *scene;
  IrCamera camera;
  graphene_rect_t about, tip;
  graphene_rect_t corners[2]; /* that are taken: map, legend */
  gint32 box;                 /* it is about, or -1 */
  double cost;                /* px² that are covered, weighed */
} Place;

static double
common_area (const graphene_rect_t *a, const graphene_rect_t *b)
{
  graphene_rect_t both;

  return graphene_rect_intersection (a, b, &both) ? both.size.width * both.size.height : 0;
}

/* Titles of neighbours are read while one looks around; their rows less so. */
#define TITLES_ZOOM 0.2
#define COST_ABOUT  100
#define COST_HEADER 10

static void
add_cost (IrSceneHit at, gpointer data)
{
  Place *place = data;
  guint n;
  const IrSceneBox *box = at.box >= 0 ? &ir_scene_boxes (place->scene, &n)[at.box] : NULL;
  graphene_rect_t r, header;

  if (box == NULL || box->kind == IR_SCENE_CLUSTER || at.box == place->box)
    return;
  header = r = ir_camera_rect (&place->camera, box);
  header.size.height = MIN (r.size.height, (float) (box->header * place->camera.zoom));
  place->cost += common_area (&place->tip, &r) + COST_HEADER * common_area (&place->tip, &header);
}

static void
judge (Place *place)
{
  const IrCamera *now = &place->camera;
  const IrLayoutRect world = { (place->tip.origin.x + now->x) / now->zoom,
                               (place->tip.origin.y + now->y) / now->zoom,
                               place->tip.size.width / now->zoom,
                               place->tip.size.height / now->zoom };

  place->cost = COST_ABOUT * common_area (&place->tip, &place->about);
  for (guint i = 0; i < G_N_ELEMENTS (place->corners); i++)
    place->cost += COST_ABOUT * common_area (&place->tip, &place->corners[i]);
  if (now->zoom > TITLES_ZOOM)
    ir_scene_foreach_in_rect (place->scene, &world, add_cost, place);
}

/* px, as it were, between what it is about and the tip, and from the middle of one to that of the other. */
static double
distance (const Place *place)
{
  const graphene_rect_t *a = &place->about, *b = &place->tip;
  const double x = fabs (a->origin.x + a->size.width / 2 - b->origin.x - b->size.width / 2),
               y = fabs (a->origin.y + a->size.height / 2 - b->origin.y - b->size.height / 2);

  return hypot (MAX (x - (a->size.width + b->size.width) / 2, 0),
                MAX (y - (a->size.height + b->size.height) / 2, 0)) +
         0.1 * hypot (x, y);
}

/* The nearest one of the places around it where it covers least. */
static graphene_rect_t
find_place (IrTip *self, const graphene_rect_t *about, double width, double height)
{
  const IrCanvas *c = self->canvas;
  const IrCamera now = ir_canvas_get_camera (self->canvas);
  Place place = {
    .scene = canvas_scene (self->canvas),
    .camera = now,
    .about = *about,
    .corners = { rect (c->map_left ? 0 : now.width - c->map_width, 0, c->map_width, c->map_height),
                 rect (0, now.height - c->inset - c->note_height, c->note_width, c->note_height) },
    .box = self->hit.box,
  };
  const double right = MAX (now.width - width, 0), bottom = MAX (now.height - c->inset - height, 0),
               below = about->origin.y + about->size.height,
               middle = about->origin.x + (about->size.width - width) / 2;
  const double reach = STEP * ceil ((width + about->size.width) / 2 / STEP) + FAR;
  graphene_rect_t best = rect (0, 0, width, height);
  double least = INFINITY;

  for (double y = below + FAR; y > about->origin.y - height - FAR; y -= STEP)
    for (double x = middle - reach; x <= middle + reach; x += STEP)
      {
        double cost;

        place.tip = rect (CLAMP (x, 0, right), CLAMP (y, 0, bottom), width, height);
        judge (&place);
        cost = place.cost + distance (&place);
        if (cost < least)
          {
            least = cost;
            best = place.tip;
          }
      }
  return best;
}

static graphene_rect_t
rect_of_hit (IrTip *self)
{
  const IrCamera now = ir_canvas_get_camera (self->canvas);

  if (self->hit.box < 0) /* the pointer, with an arrow's size */
    return rect (self->x - 6, self->y - 6, 24, 28);
  return ir_camera_rect (&now, canvas_box (self->canvas, self->hit.box));
}

gboolean
ir_tip_show (IrTip *self)
{
  const IrCamera now = ir_canvas_get_camera (self->canvas);
  const char *text = canvas_scene (self->canvas) != NULL ? text_of (self) : NULL;
  graphene_rect_t about, sight, seen;
  int width, height;

  if (text == NULL || text[0] == '\0')
    return FALSE;
  g_clear_object (&self->layout);
  self->layout = gtk_widget_create_pango_layout (GTK_WIDGET (self->canvas), text);
  pango_layout_set_width (self->layout, MAX_WIDTH * PANGO_SCALE);
  pango_layout_set_wrap (self->layout, PANGO_WRAP_WORD_CHAR);
  pango_layout_get_pixel_size (self->layout, &width, &height);
  about = rect_of_hit (self);
  graphene_rect_inset (&about, -GAP / 2, -GAP / 2);
  seen = about;
  sight = rect (0, 0, now.width, now.height);
  graphene_rect_intersection (&about, &sight, &seen);
  self->rect = find_place (self, &seen, width + 2 * PADDING_X, height + 2 * PADDING_Y);
  gtk_widget_queue_draw (GTK_WIDGET (self->canvas));
  return TRUE;
}

static gboolean
on_rest (gpointer data)
{
  IrTip *self = data;

  self->timer = 0;
  ir_tip_show (self);
  return G_SOURCE_REMOVE;
}

void
ir_tip_point (IrTip *self, IrSceneHit hit, double x, double y)
{
  const gboolean was_shown = self->layout != NULL;
  const IrSceneBox *box = canvas_box (self->canvas, hit.box);

  if (box != NULL && box->kind != IR_SCENE_CLUSTER)
    hit.line = -1;
  else
    hit.box = -1;
  if (hit.box == self->hit.box && hit.line == self->hit.line &&
      (hit.line < 0 || hypot (x - self->x, y - self->y) < NEAR))
    return;
  ir_tip_hide (self);
  self->hit = hit;
  self->x = x;
  self->y = y;
  if (hit.box >= 0 || hit.line >= 0)
    self->timer = g_timeout_add (was_shown ? REST_AGAIN_MS : REST_MS, on_rest, self);
}

gboolean
ir_tip_get_rect (const IrTip *self, graphene_rect_t *rect)
{
  *rect = self->rect;
  return self->layout != NULL;
}

/* As the desktop's tips look: light on dark, in every theme. */
void
ir_tip_snapshot (IrTip *self, GtkSnapshot *snapshot)
{
  static const GdkRGBA ground = { 0.1F, 0.1F, 0.1F, 0.92F }, rim = { 1, 1, 1, 0.25F },
                       ink = { 1, 1, 1, 1 };
  const float thin[] = { 1, 1, 1, 1 };
  const GdkRGBA rims[] = { rim, rim, rim, rim };
  GskRoundedRect shape;

  if (self->layout == NULL)
    return;
  gsk_rounded_rect_init_from_rect (&shape, &self->rect, RADIUS);
  gtk_snapshot_push_rounded_clip (snapshot, &shape);
  gtk_snapshot_append_color (snapshot, &ground, &self->rect);
  gtk_snapshot_pop (snapshot);
  gtk_snapshot_append_border (snapshot, &shape, thin, rims);
  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT (self->rect.origin.x + (float) PADDING_X,
                                                          self->rect.origin.y + (float) PADDING_Y));
  gtk_snapshot_append_layout (snapshot, self->layout, &ink);
  gtk_snapshot_restore (snapshot);
}
