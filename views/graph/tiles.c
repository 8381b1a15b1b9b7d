#include "config.h"

#include "views/graph/tiles.h"

#include "views/graph/flat.h"

#include <math.h>

#define SIDE      512  /* px */
#define MANY      6000 /* boxes and lines: fewer are drawn at once, in less than a frame */
#define MOST      96   /* tiles that are kept, of 1 MB each */
#define N_WORKERS 2
#define SETTLE_MS 60 /* a zoom that lasts so long is drawn */

typedef struct
{
  double zoom;
  gint32 column, row;
} Place;

typedef struct
{
  Place place;
  cairo_surface_t *surface; /* (nullable) it is being drawn */
  guint64 used;
} Tile;

/* Lives as long as the last worker that may look at it. */
typedef struct
{
  gatomicrefcount refs;
  gint epoch; /* atomic: of what is drawn now; work for others is dropped */
} Shared;

struct _IrTiles
{
  void (*changed) (gpointer data);
  gpointer data;
  GThreadPool *pool;
  Shared *shared;
  GPtrArray *tiles; /* of Tile */
  double zoom;      /* that is drawn; others only stand in */
  double last_zoom;
  guint settle; /* timeout */
  guint64 clock;
  gboolean is_complete;
};

typedef struct
{
  IrTiles *tiles; /* looked at in the main thread alone, while the epoch is right */
  Shared *shared; /* referenced */
  IrScene *scene; /* referenced */
  Place place;
  gint epoch;
  int scale;
  IrPaletteKind colours;
  cairo_surface_t *surface; /* (nullable) */
} Work;

static Shared *
shared_ref (Shared *shared)
{
  g_atomic_ref_count_inc (&shared->refs);
  return shared;
}

static void
shared_unref (Shared *shared)
{
  if (g_atomic_ref_count_dec (&shared->refs))
    g_free (shared);
}

static void
work_free (Work *work)
{
  g_clear_pointer (&work->surface, cairo_surface_destroy);
  ir_scene_unref (work->scene);
  shared_unref (work->shared);
  g_free (work);
}

static void
tile_free (gpointer data)
{
  Tile *tile = data;

  g_clear_pointer (&tile->surface, cairo_surface_destroy);
  g_free (tile);
}

static gboolean
is_place (const Place *a, const Place *b)
{
  return a->zoom == b->zoom && a->column == b->column && a->row == b->row;
}

static Tile *
find_tile (const IrTiles *self, const Place *place)
{
  for (guint i = 0; i < self->tiles->len; i++)
    if (is_place (&((Tile *) self->tiles->pdata[i])->place, place))
      return self->tiles->pdata[i];
  return NULL;
}

/* -- in a worker -- */

typedef struct
{
  GArray *boxes, *lines; /* of gint32 */
} Found;

static void
collect (IrSceneHit hit, gpointer data)
{
  Found *found = data;

  if (hit.box >= 0)
    g_array_append_val (found->boxes, hit.box);
  else
    g_array_append_val (found->lines, hit.line);
}

static void
draw (Work *work)
{
  const IrPalette *palette = ir_palette (work->colours);
  const double x = work->place.column * (double) SIDE, y = work->place.row * (double) SIDE;
  const double zoom = work->place.zoom;
  const IrLayoutRect rect = { (x - 2) / zoom, (y - 2) / zoom, (SIDE + 4) / zoom,
                              (SIDE + 4) / zoom };
  Found found = { g_array_new (FALSE, FALSE, sizeof (gint32)),
                  g_array_new (FALSE, FALSE, sizeof (gint32)) };
  cairo_t *cr;

  ir_scene_foreach_in_rect (work->scene, &rect, collect, &found);
  work->surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, SIDE * work->scale,
                                              SIDE * work->scale);
  cairo_surface_set_device_scale (work->surface, work->scale, work->scale);
  cr = cairo_create (work->surface);
  cairo_set_source_rgb (cr, (palette->background >> 16 & 0xff) / 255.0,
                        (palette->background >> 8 & 0xff) / 255.0,
                        (palette->background & 0xff) / 255.0);
  cairo_paint (cr);
  ir_flat_paint (work->scene, palette, zoom, x, y, found.boxes, found.lines, cr);
  cairo_destroy (cr);
  g_array_unref (found.boxes);
  g_array_unref (found.lines);
}

static gboolean
on_drawn (gpointer data)
{
  Work *work = data;

  if (work->epoch == g_atomic_int_get (&work->shared->epoch))
    {
      IrTiles *self = work->tiles;
      Tile *tile = find_tile (self, &work->place);

      if (tile != NULL)
        {
          g_clear_pointer (&tile->surface, cairo_surface_destroy);
          tile->surface = g_steal_pointer (&work->surface);
          self->changed (self->data);
        }
    }
  work_free (work);
  return G_SOURCE_REMOVE;
}

static void
run (gpointer data, gpointer user_data)
{
  Work *work = data;

  if (work->epoch == g_atomic_int_get (&work->shared->epoch))
    draw (work);
  g_idle_add_full (G_PRIORITY_DEFAULT, on_drawn, work, NULL);
}

/* -- in the main thread -- */

IrTiles *
ir_tiles_new (void (*changed) (gpointer data), gpointer data)
{
  IrTiles *self = g_new0 (IrTiles, 1);

  self->changed = changed;
  self->data = data;
  self->pool = g_thread_pool_new (run, NULL, N_WORKERS, FALSE, NULL);
  self->shared = g_new0 (Shared, 1);
  g_atomic_ref_count_init (&self->shared->refs);
  self->tiles = g_ptr_array_new_with_free_func (tile_free);
  self->is_complete = TRUE;
  return self;
}

void
ir_tiles_forget (IrTiles *self)
{
  g_atomic_int_inc (&self->shared->epoch);
  g_ptr_array_set_size (self->tiles, 0);
  self->zoom = self->last_zoom = 0;
  g_clear_handle_id (&self->settle, g_source_remove);
}

/* What is under way ends by itself, and is dropped. */
void
ir_tiles_free (IrTiles *self)
{
  ir_tiles_forget (self);
  g_thread_pool_free (self->pool, FALSE, FALSE);
  g_ptr_array_unref (self->tiles);
  shared_unref (self->shared);
  g_free (self);
}

gboolean
ir_tiles_are_wanted (const IrScene *scene)
{
  guint n_boxes, n_lines;

  ir_scene_boxes (scene, &n_boxes);
  ir_scene_lines (scene, &n_lines);
  return n_boxes + n_lines > MANY;
}

gboolean
ir_tiles_are_complete (const IrTiles *self)
{
  return self->is_complete;
}

/* The one that was needed longest ago goes, never one that is needed now. */
static void
make_room (IrTiles *self)
{
  while (self->tiles->len > MOST)
    {
      guint oldest = 0;

      for (guint i = 1; i < self->tiles->len; i++)
        if (((Tile *) self->tiles->pdata[i])->used < ((Tile *) self->tiles->pdata[oldest])->used)
          oldest = i;
      if (((Tile *) self->tiles->pdata[oldest])->used == self->clock)
        return;
      g_ptr_array_remove_index_fast (self->tiles, oldest);
    }
}

static Tile *
ask_for (IrTiles *self, IrScene *scene, IrPaletteKind colours, int scale, const Place *place)
{
  Tile *tile = find_tile (self, place);

  if (tile == NULL)
    {
      Work *work = g_new0 (Work, 1);

      tile = g_new0 (Tile, 1);
      tile->place = *place;
      g_ptr_array_add (self->tiles, tile);
      *work = (Work){ self,
                      shared_ref (self->shared),
                      ir_scene_ref (scene),
                      *place,
                      g_atomic_int_get (&self->shared->epoch),
                      scale,
                      colours,
                      NULL };
      g_thread_pool_push (self->pool, work, NULL);
    }
  tile->used = self->clock;
  return tile;
}

static gboolean
on_settled (gpointer data)
{
  IrTiles *self = data;

  self->settle = 0;
  self->zoom = self->last_zoom;
  self->changed (self->data);
  return G_SOURCE_REMOVE;
}

/* While one zooms what was drawn stands in; nothing is begun that is of no use a frame later. */
static void
follow_zoom (IrTiles *self, double zoom)
{
  if (self->zoom == 0)
    self->zoom = zoom;
  if (zoom == self->last_zoom)
    return;
  self->last_zoom = zoom;
  g_clear_handle_id (&self->settle, g_source_remove);
  if (zoom != self->zoom)
    self->settle = g_timeout_add (SETTLE_MS, on_settled, self);
}

static void
blit (cairo_t *cr, const Tile *tile, const IrCamera *camera)
{
  const double ratio = camera->zoom / tile->place.zoom;
  cairo_pattern_t *pattern;

  cairo_save (cr);
  cairo_translate (cr, -round (camera->x), -round (camera->y));
  cairo_scale (cr, ratio, ratio);
  cairo_translate (cr, tile->place.column * (double) SIDE, tile->place.row * (double) SIDE);
  pattern = cairo_pattern_create_for_surface (tile->surface);
  cairo_pattern_set_filter (pattern, ratio == 1 ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_BILINEAR);
  cairo_pattern_set_extend (pattern, CAIRO_EXTEND_PAD); /* no seams between tiles */
  cairo_set_source (cr, pattern);
  cairo_rectangle (cr, 0, 0, SIDE, SIDE);
  cairo_fill (cr);
  cairo_pattern_destroy (pattern);
  cairo_restore (cr);
}

static void
paint_other_zooms (const IrTiles *self, cairo_t *cr, const IrCamera *camera)
{
  for (guint i = 0; i < self->tiles->len; i++)
    {
      const Tile *tile = self->tiles->pdata[i];

      if (tile->surface != NULL && tile->place.zoom != camera->zoom)
        blit (cr, tile, camera);
    }
}

void
ir_tiles_paint (IrTiles *self,
                GtkSnapshot *snapshot,
                IrScene *scene,
                IrPaletteKind colours,
                int scale,
                const IrCamera *camera)
{
  const gint32 first_column = (gint32) floor (round (camera->x) / SIDE);
  const gint32 first_row = (gint32) floor (round (camera->y) / SIDE);
  const gint32 last_column = (gint32) floor ((round (camera->x) + camera->width) / SIDE);
  const gint32 last_row = (gint32) floor ((round (camera->y) + camera->height) / SIDE);
  cairo_t *cr = gtk_snapshot_append_cairo (
      snapshot, &GRAPHENE_RECT_INIT (0, 0, (float) camera->width, (float) camera->height));
  g_autoptr (GPtrArray) ready = g_ptr_array_new ();

  self->clock++;
  self->is_complete = TRUE;
  follow_zoom (self, camera->zoom);
  for (gint32 row = first_row; row <= last_row; row++)
    for (gint32 column = first_column; column <= last_column; column++)
      {
        const Place place = { camera->zoom, column, row };
        Tile *tile = camera->zoom == self->zoom ? ask_for (self, scene, colours, scale, &place)
                                                : find_tile (self, &place);

        if (tile != NULL && tile->surface != NULL)
          g_ptr_array_add (ready, tile);
        else
          self->is_complete = FALSE;
      }
  if (!self->is_complete)
    paint_other_zooms (self, cr, camera);
  for (guint i = 0; i < ready->len; i++)
    blit (cr, ready->pdata[i], camera);
  cairo_destroy (cr);
  make_room (self);
}
