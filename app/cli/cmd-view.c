/* irscope view: starts the window, a program of its own so that this one needs no display. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "passes/session/session-file.h"

#include <errno.h>
#include <unistd.h>

#define WINDOW_PROGRAM "irscope-gtk"

/* The window program lies beside this one, built or installed; else on PATH. */
static char *
find_program (void)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autofree char *dir = self != NULL ? g_path_get_dirname (self) : NULL;
  g_autofree char *beside = dir != NULL ? g_build_filename (dir, WINDOW_PROGRAM, NULL) : NULL;

  if (beside != NULL && g_file_test (beside, G_FILE_TEST_IS_EXECUTABLE))
    return g_steal_pointer (&beside);
  return g_find_program_in_path (WINDOW_PROGRAM);
}

static gboolean
has_display (void)
{
  const char *x11 = g_getenv ("DISPLAY"), *wayland = g_getenv ("WAYLAND_DISPLAY");
  return (x11 != NULL && x11[0] != '\0') || (wayland != NULL && wayland[0] != '\0');
}

static CliStatus
run (Cli *cli)
{
  g_autofree char *program = find_program ();
  char *argv[] = { program, (char *) "--", cli->n_args > 0 ? cli->args[0] : NULL, NULL };
  char *of_session[] = { program, (char *) "--", NULL, NULL };

  if (cli->session != NULL)
    of_session[2] = cli->session->file;

  if (program == NULL)
    {
      cli_printerr (
          "irscope view: %s is not installed; build it with -Dgui=enabled (needs GTK 4.8, libadwaita, GtkSourceView)\n",
          WINDOW_PROGRAM);
      return CLI_FAILED;
    }
  if (!has_display ())
    {
      cli_printerr (
          "irscope view: no display (DISPLAY and WAYLAND_DISPLAY are unset); 'irscope render' draws to a file\n");
      return CLI_FAILED;
    }
  execv (program, cli->session != NULL ? of_session : argv);
  cli_printerr ("irscope view: cannot start %s: %s\n", program, g_strerror (errno));
  return CLI_FAILED;
}

const CliCommand cli_command_view = {
  .name = "view",
  .arguments = "[FILE]",
  .takes_model = TRUE,
  .summary = "Open the window",
  .doc = "",
  .min_args = 0,
  .max_args = 1,
  .run = run,
};
