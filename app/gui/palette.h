/* All that can be done, by name: a list that is filtered as one types, with the keys. */
#pragma once

#include <gtk/gtk.h>

typedef struct
{
  const char *title;  /* "Next Step" */
  const char *action; /* "win.next-step", with its target */
} IrCommand;

const IrCommand *ir_commands (guint *n);
void ir_palette_present (GtkWindow *parent);
