/* The palette of operators: a list from the op table, filtered by what is typed and by what takes
 * the values that a new node is to read. */
#pragma once

#include "core/ir/model.h"

#include <gtk/gtk.h>

typedef struct _IrOpPalette IrOpPalette;

/* @words: (array zero-terminated=1): what was typed, the operator first; @data as given */
typedef void (*IrOpPaletteChosen) (const char *const *words, gpointer data);

IrOpPalette *ir_op_palette_new (GtkWidget *parent, IrOpPaletteChosen chosen, gpointer data);
void ir_op_palette_free (IrOpPalette *self);
/* @value: (nullable): what the new node is to read, of the frame on screen; only looked at now */
void ir_op_palette_open (
    IrOpPalette *self, double x, double y, const char *title, const IrValue *value);
/* As it was when something was chosen, with what was typed and @why that was refused. FALSE: it is open
 * for something else by now. */
gboolean ir_op_palette_reopen (IrOpPalette *self, const char *why);
