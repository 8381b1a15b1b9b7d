#include "config.h"

#include "views/steps/step-picture.h"
#include "views/colours.h"

#include "core/render/render.h"

#include <math.h>

#define MAX_HEIGHT 380.0 /* px */
#define MIN_WIDTH  120   /* px */
#define TRIM       22.0  /* px of the picture's margin that are left out */
#define READABLE   0.68  /* zoom from which on the wide form is taken */

struct _IrStepPicture
{
  GtkWidget parent;
  IrFrame *frame;
};

G_DEFINE_FINAL_TYPE (IrStepPicture, ir_step_picture, GTK_TYPE_WIDGET)

static double
zoom_in (const IrScene *scene, double width)
{
  const IrLayoutRect r = ir_scene_bounds (scene);

  return MIN (1, MIN (width / (r.width - 2 * TRIM), MAX_HEIGHT / (r.height - 2 * TRIM)));
}

/* Across, if it can be read in the width that there is; else the form that is larger. */
static const IrScene *
scene_for (IrStepPicture *self, double width)
{
  const IrScene *across = self->frame->rewrite_across, *down = self->frame->rewrite_down;

  if (across == NULL || down == NULL)
    return across != NULL ? across : down;
  return zoom_in (across, width) >= MIN (READABLE, zoom_in (down, width)) ? across : down;
}

static GtkSizeRequestMode
ir_step_picture_get_request_mode (GtkWidget *widget)
{
  return GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH;
}

static void
ir_step_picture_measure (GtkWidget *widget,
                         GtkOrientation orientation,
                         int for_size,
                         int *minimum,
                         int *natural,
                         int *minimum_baseline,
                         int *natural_baseline)
{
  IrStepPicture *self = IR_STEP_PICTURE (widget);
  const double width = for_size >= 0 ? MAX (for_size, MIN_WIDTH) : 2 * MIN_WIDTH;
  const IrScene *scene = scene_for (self, width);
  const IrLayoutRect r = ir_scene_bounds (scene);

  if (orientation == GTK_ORIENTATION_HORIZONTAL)
    {
      *minimum = MIN_WIDTH;
      *natural = MAX (MIN_WIDTH, (int) (r.width - 2 * TRIM));
    }
  else
    *minimum = *natural = (int) ceil (zoom_in (scene, width) * (r.height - 2 * TRIM));
}

static void
ir_step_picture_snapshot (GtkWidget *widget, GtkSnapshot *snapshot)
{
  const int width = gtk_widget_get_width (widget), height = gtk_widget_get_height (widget);
  const IrScene *scene = scene_for (IR_STEP_PICTURE (widget), width);
  const IrPalette *palette = ir_palette (ir_colours_wanted ());
  const IrLayoutRect r = ir_scene_bounds (scene);
  const double zoom = zoom_in (scene, width);
  cairo_t *cr = gtk_snapshot_append_cairo (snapshot, &GRAPHENE_RECT_INIT (0, 0, width, height));

  cairo_translate (cr, MAX (0, (width - zoom * (r.width - 2 * TRIM)) / 2), 0);
  cairo_scale (cr, zoom, zoom);
  cairo_translate (cr, -r.x - TRIM, -r.y - TRIM);
  ir_render_cairo (scene, palette, NULL, zoom, cr);
  cairo_destroy (cr);
}

static void
ir_step_picture_finalize (GObject *object)
{
  g_clear_pointer (&IR_STEP_PICTURE (object)->frame, ir_frame_unref);
  G_OBJECT_CLASS (ir_step_picture_parent_class)->finalize (object);
}

static void
ir_step_picture_class_init (IrStepPictureClass *klass)
{
  GtkWidgetClass *widget_class = GTK_WIDGET_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = ir_step_picture_finalize;
  widget_class->get_request_mode = ir_step_picture_get_request_mode;
  widget_class->measure = ir_step_picture_measure;
  widget_class->snapshot = ir_step_picture_snapshot;
  gtk_widget_class_set_accessible_role (widget_class, GTK_ACCESSIBLE_ROLE_IMG);
}

static void
ir_step_picture_init (IrStepPicture *self)
{
  gtk_widget_set_overflow (GTK_WIDGET (self), GTK_OVERFLOW_HIDDEN);
  ir_colours_watch (self, G_CALLBACK (gtk_widget_queue_draw));
}

GtkWidget *
ir_step_picture_new (IrFrame *frame, const char *sentence)
{
  IrStepPicture *self = g_object_new (IR_TYPE_STEP_PICTURE, NULL);

  self->frame = ir_frame_ref (frame);
  gtk_accessible_update_property (GTK_ACCESSIBLE (self), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                  "The rewrite as a picture", GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
                                  sentence, -1);
  return GTK_WIDGET (self);
}
