#include "config.h"

#include "views/colours.h"

#include <adwaita.h>

IrPaletteKind
ir_colours_wanted (void)
{
  AdwStyleManager *style = adw_style_manager_get_default ();

  return (adw_style_manager_get_dark (style) ? IR_PALETTE_DARK : IR_PALETTE_LIGHT) |
         (adw_style_manager_get_high_contrast (style) ? IR_PALETTE_HIGH_CONTRAST : 0);
}

/* As long as @object, a #GObject, lives. */
void
ir_colours_watch (gpointer object, GCallback changed)
{
  AdwStyleManager *style = adw_style_manager_get_default ();

  g_signal_connect_object (style, "notify::dark", changed, object, G_CONNECT_SWAPPED);
  g_signal_connect_object (style, "notify::high-contrast", changed, object, G_CONNECT_SWAPPED);
}
