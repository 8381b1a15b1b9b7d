/* The window with the bundled digits in it. */
#pragma once

#include "app/gui/window.h"
#include "tests/gui/driving.h"
#include "tests/gui/waiting.h"
#include "views/session/inputs.h"

typedef struct
{
  IrWindow *window;
  IrSession *session;
  const char *text; /* waited for */
} Opened;

static inline void
open_digits (Opened *self)
{
  g_autofree char *path = g_build_filename (g_getenv ("IRSCOPE_DATADIR"), "examples", "digits.onnx",
                                            NULL);
  g_autoptr (GFile) file = g_file_new_for_path (path);

  self->window = ir_window_new (NULL);
  self->session = ir_window_get_session (self->window);
  gtk_window_present (GTK_WINDOW (self->window));
  gtk_test_widget_wait_for_draw (GTK_WIDGET (self->window));
  ir_window_open (self->window, file);
  wait_for ("the graph", is_open_and_idle, self->session);
  ir_session_see_sizes (self->session); /* what runs does not ask for a batch */
}

static inline void
close_window (Opened *self)
{
  gtk_window_destroy (GTK_WINDOW (self->window));
  while (g_main_context_iteration (NULL, FALSE))
    ;
}

static inline gboolean
shows_text (gpointer data)
{
  Opened *self = data;

  return is_shown (self->window, self->text);
}

static inline void
wait_for_text (Opened *self, const char *text)
{
  self->text = text;
  wait_for (text, shows_text, self);
}
