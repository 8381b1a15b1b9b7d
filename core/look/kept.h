#pragma once

/* Views that are kept: a look, what is selected, and the place that is looked at, under the keys 1
 * to 9 of a model. They live in a JSON file, an object per model by its path. */

#include "core/look/look.h"

#include <gio/gio.h>

G_BEGIN_DECLS

#define IR_N_KEPT 9

typedef struct
{
  IrLook *look;
  double zoom, x, y;    /* px of the scene in the middle of the view */
  double width, height; /* px of the scene that were seen */
  GHashTable *selected; /* set of node ids */
  GHashTable *moves;    /* key of a box -> IrLayoutPoint: how far it was moved by hand */
  char *numbers;        /* (nullable) path of the file that the overlay "file" shows */
} IrKeptView;

#define IR_KEPT_ERROR (ir_kept_error_quark ())

typedef enum
{
  IR_KEPT_ERROR_SYNTAX, /* the file is no JSON */
  IR_KEPT_ERROR_NONE,   /* nothing is kept there */
} IrKeptError;

GQuark ir_kept_error_quark (void);
IrKeptView *ir_kept_view_new (const IrLook *look);
void ir_kept_view_move (IrKeptView *view, guint64 key, IrLayoutPoint by);
void ir_kept_view_free (IrKeptView *view);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrKeptView, ir_kept_view_free)
char *ir_kept_view_text (const IrKeptView *view, const IrModel *model);
IrKeptView *ir_kept_view_parse (const char *text, const IrModel *model);
GPtrArray *ir_kept_view_missing (const char *text, const IrModel *model);
char *ir_kept_file (void);
GPtrArray *ir_kept_load (const char *file, const IrModel *model, const char *path, GError **error);
gboolean ir_kept_save (const char *file,
                       const IrModel *model,
                       const char *path,
                       const GPtrArray *views,
                       GError **error);
IrKeptView *ir_kept_find (
    const char *file, const IrModel *model, const char *path, guint number, GError **error);

G_END_DECLS
