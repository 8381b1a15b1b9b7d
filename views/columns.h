/* Tables: rows of things under titles, sorted by a click on one. A view gives columns and items. */
#pragma once

#include <gtk/gtk.h>

typedef enum
{
  IR_FIGURE_NUMBER,
  IR_FIGURE_COUNT,
  IR_FIGURE_PERCENT
} IrFigure;

typedef struct
{
  const char *title;
  const char *tip; /* (nullable) what the title means; the widest column has the text itself */
  int width;       /* px; -1: what is left */
  char *(*text) (
      gpointer item); /* (nullable) what a cell says, (transfer full); NULL: its number */
  double (*number) (gpointer item); /* (nullable) what it is sorted by, NaN last; NULL: the text */
  IrFigure figure;                  /* how a number is written; NaN: a dash */
  gboolean warns;                   /* what is said there is a warning */
  char *(*about) (
      gpointer
          item); /* (nullable) more of a row, as a tip in place of the others, (transfer full) */
} IrColumn;

/* The title of the column that @table got last stands on the right, as its numbers do. */
void ir_columns_end_title (GtkColumnView *table);
/* A GtkColumnView of @store, in which one row or none can be chosen; @columns outlive it */
GtkWidget *ir_columns_new (const char *name, GListStore *store, const IrColumn *columns, guint n);
GtkSingleSelection *ir_columns_selection (GtkWidget *table);
