#include "config.h"

#include "app/gui/application.h"
#include "core/exec/kernel/threads.h"
#include "core/ir/release.h"

int
main (int argc, char **argv)
{
  g_autoptr (IrApplication) application = NULL;

  ir_threads_limit_spinning (argv);
  ir_release_steadily ();
  g_set_application_name ("irscope");
  application = ir_application_new ();
  return g_application_run (G_APPLICATION (application), argc, argv);
}
