/* What is derived and by what: the two lists that views of derivatives have. */
#pragma once

#include "core/ir/model.h"

#include <gtk/gtk.h>

typedef struct
{
  GtkWidget *of, *by;
  GPtrArray *outputs; /* (nullable) of char *: names, as @of has them */
  gboolean listing;   /* @of is being filled */
  void (*changed) (gpointer data);
  gpointer data;
} IrDeriveLists;

/* Puts both into @bar. @changed: hears of every choice of the user */
void ir_derive_lists_init (IrDeriveLists *self,
                           GtkWidget *bar,
                           void (*changed) (gpointer data),
                           gpointer data);
void ir_derive_lists_clear (IrDeriveLists *self);
void ir_derive_lists_update (IrDeriveLists *self, const IrModel *model);
const char *ir_derive_lists_of (const IrDeriveLists *self); /* "": there is none */
const char *ir_derive_lists_by (const IrDeriveLists *self); /* as the option wrt of gradient */
void ir_derive_lists_set_by (IrDeriveLists *self, const char *wrt);
