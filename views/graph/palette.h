/* The palette of operators: a list from the op table, filtered by what is typed and by what takes
 * the values that a new node is to read. */
#pragma once

#include "core/ir/model.h"

#include <gtk/gtk.h>

typedef struct _IrPalette IrPalette;

/* @words: (array zero-terminated=1): what was typed, the operator first; @data as given */
typedef void (*IrPaletteChosen) (const char *const *words, gpointer data);

IrPalette *ir_palette_new (GtkWidget *parent, IrPaletteChosen chosen, gpointer data);
void ir_palette_free (IrPalette *self);
/* @value: (nullable): what the new node is to read, of the frame on screen; only looked at now */
void ir_palette_open (IrPalette *self, double x, double y, const char *title, const IrValue *value);
