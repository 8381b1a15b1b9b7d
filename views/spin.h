#pragma once

#include <gtk/gtk.h>

/* Whole numbers of a form: the wheel over it scrolls the form, and changes nothing. */
GtkWidget *ir_spin_new (double least, double most); /* (transfer floating) */
