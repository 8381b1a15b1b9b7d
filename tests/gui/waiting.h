/* How tests of the window begin, and wait for what it does by itself: the main loop runs until it is so,
 * or ends the test. */
#pragma once

#include "views/session/frame.h"
#include "views/session/timeline.h"
#include "tests/support/folder.h"

#include <adwaita.h>

#define TIMEOUT_S 60

/* Begins as gtk_test_init(), with user's folders of the tests' own, and without animations. */
static inline void
start_window_tests (int *argc, char ***argv)
{
  g_autofree char *folder = test_folder ();

  g_setenv ("XDG_CONFIG_HOME", folder, TRUE);
  g_setenv ("XDG_DATA_HOME", folder, TRUE);
  gtk_test_init (argc, argv, NULL);
  adw_init ();
  g_object_set (gtk_settings_get_default (), "gtk-enable-animations", FALSE, NULL);
}

/* Runs what was added since start_window_tests(). */
static inline int
run_window_tests (void)
{
  const int status = g_test_run ();

  test_remove_folder (g_get_user_config_dir ());
  return status;
}

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

static inline gboolean
is_idle (gpointer data)
{
  const IrFrame *frame = ir_session_get_frame (data);

  return !ir_session_get_busy (data) &&
         (frame == NULL || frame->to == ir_session_get_cursor (data));
}
