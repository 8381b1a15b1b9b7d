/* Which colours the desktop asks for: light or dark, with a high contrast or not. */
#pragma once

#include "core/render/palette.h"

#include <glib-object.h>

IrPaletteKind ir_colours_wanted (void);
void ir_colours_watch (gpointer object, GCallback changed); /* called with @object alone */
