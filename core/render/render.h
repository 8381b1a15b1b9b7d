#pragma once

/* Scenes as files, without a display. The one place with Pango and cairo. */

#include "core/render/palette.h"
#include "core/render/palette.h"

#include <cairo.h>

G_BEGIN_DECLS

#define IR_RENDER_MAX_SIDE   32000     /* px per side of a PNG: cairo ends at 32,767 */
#define IR_RENDER_MAX_PIXELS 100000000 /* of a PNG: 400 MB of memory */
#define IR_RENDER_MAX_POINTS 14400     /* per side of a PDF page: what readers accept */

#define IR_RENDER_ERROR (ir_render_error_quark ())

typedef enum
{
  IR_RENDER_ERROR_FORMAT, /* the file name ends with nothing known */
  IR_RENDER_ERROR_CAIRO,  /* cairo refused: memory, size */
} IrRenderError;

/* All zero is a light picture at 1:1. */
typedef struct
{
  IrPaletteKind colours;
  gboolean transparent; /* no background */
  double scale;         /* px of a PNG per px of the scene; 0 = 1 */
  double zoom; /* the picture as it is seen at this scale: smaller, and with the names that can
                         * be read then; 0 = 1 */
  const IrLayoutRect *clip; /* (nullable) px: the part that is drawn; NULL = all */
  const GArray *tokens;     /* (nullable) of IrSceneToken: above the picture */
  const IrScene *legend;    /* (nullable) what colours mean: below the picture, always at 1:1 */
  char *note;               /* (out) (nullable) (transfer full): what could not be done as asked */
} IrRenderOptions;

typedef struct _IrTextMeasure IrTextMeasure;

GQuark ir_render_error_quark (void);

IrTextMeasure *ir_text_measure_new (void);
void ir_text_measure_free (IrTextMeasure *measure);
double ir_text_measure_width (const char *text, IrSceneTextStyle style, gpointer measure);

GBytes *ir_render_svg (const IrScene *scene, IrRenderOptions *options, GError **error);
GBytes *ir_render_pdf (const IrScene *scene, IrRenderOptions *options, GError **error);
GBytes *ir_render_png (const IrScene *scene, IrRenderOptions *options, GError **error);
GBytes *ir_render_dot (const IrScene *scene, IrRenderOptions *options, GError **error);
gboolean ir_render_file (const IrScene *scene,
                         const char *path,
                         IrRenderOptions *options,
                         GError **error);
GBytes *ir_surface_png (cairo_surface_t *surface, GError **error);
cairo_surface_t *ir_thumb_surface (const IrSceneThumb *thumb, const IrPalette *palette);
void ir_render_tokens (const GArray *tokens,
                       const IrPalette *palette,
                       const IrLayoutRect *clip,
                       cairo_t *cr);
void ir_render_cairo (const IrScene *scene,
                      const IrPalette *palette,
                      const IrLayoutRect *clip,
                      double zoom,
                      cairo_t *cr);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrTextMeasure, ir_text_measure_free)

G_END_DECLS
