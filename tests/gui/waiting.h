/* Waiting for what a window does by itself: the main loop runs until it is so, or ends the test. */
#pragma once

#include "views/session/frame.h"
#include "views/session/timeline.h"

#define TIMEOUT_S 60

typedef gboolean (*Condition) (gpointer data);

static inline gboolean
on_timeout (gpointer data)
{
  *(gboolean *) data = TRUE;
  return G_SOURCE_REMOVE;
}

static inline void
wait_for (const char *what, Condition condition, gpointer data)
{
  gboolean late = FALSE;
  const guint timer = g_timeout_add_seconds (TIMEOUT_S, on_timeout, &late);

  while (!condition (data) && !late)
    g_main_context_iteration (NULL, TRUE);
  if (late)
    g_error ("waited in vain for: %s", what);
  g_source_remove (timer);
}

static inline gboolean
is_open_and_idle (gpointer data)
{
  const IrFrame *frame = ir_session_get_frame (data);

  return !ir_session_get_busy (data) && frame != NULL && frame->scene != NULL &&
         frame->to == ir_session_get_cursor (data);
}
