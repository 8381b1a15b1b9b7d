/* Above the steps: how many have no verdict, and a button that gets them one. */
#pragma once

#include "views/session/session.h"

#include <gtk/gtk.h>

GtkWidget *ir_unchecked_bar_new (IrSession *session);
