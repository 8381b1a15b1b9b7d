#include "config.h"

#include "app/gui/application.h"
#include "core/exec/kernel/threads.h"
#include "core/ir/printable.h"

#include <signal.h>
#include <stdio.h>

/* Names in messages must not steer the terminal that the window was started from. */
static void
print_text (FILE *to, const char *text)
{
  g_autofree char *printable = ir_printable (text, TRUE);

  fputs (printable, to);
}

static void
print (const char *text)
{
  print_text (stdout, text);
}

static void
print_error (const char *text)
{
  print_text (stderr, text);
}

int
main (int argc, char **argv)
{
  g_autoptr (IrApplication) application = NULL;

  signal (SIGXFSZ, SIG_IGN); /* a file that must not grow is an error of the write */
  g_set_print_handler (print);
  g_set_printerr_handler (print_error);
  ir_threads_limit_spinning (argv);
  g_set_application_name ("irscope");
  application = ir_application_new ();
  return g_application_run (G_APPLICATION (application), argc, argv);
}
