/* The one way of commands to the terminal. Names come from files, and must not steer it: control
 * characters in them are shown as escapes. */
#pragma once

#include <glib.h>

/* As printf(); in what %s stands for, line breaks are escaped too. */
void cli_print (const char *format, ...) G_GNUC_PRINTF (1, 2);    /* to stdout */
void cli_printerr (const char *format, ...) G_GNUC_PRINTF (1, 2); /* to stderr */
/* A text of many lines, whose line breaks and tabs stay; to stdout. */
void cli_write (const char *text);
/* What GLib prints by itself, such as --help, goes the same way. */
void cli_print_init (void);
