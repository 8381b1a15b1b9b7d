/* A dialog that asks for the words of an act that menus and keys do not know. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

typedef struct
{
  const char *label;   /* "Name"; NULL ends a list */
  const char *initial; /* (nullable) */
  gboolean is_file;    /* a button beside chooses a file */
} IrAskField;

/* Does the act @words[0] with @words when it is confirmed; what is entered stands before @words[at]. */
void ir_ask_act (GtkWidget *view,
                 IrSession *session,
                 const char *const *words,
                 guint at,
                 const IrAskField *fields);
