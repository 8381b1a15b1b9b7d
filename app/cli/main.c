/* The program `irscope`: picks the command. It links no display library. */
#include "config.h"

#include "app/cli/command.h"
#include "app/cli/leave.h"
#include "app/cli/output.h"
#include "core/exec/kernel/threads.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

/* What a full disk or a closed pipe has swallowed must not look like success. */
static CliStatus
end_output (CliStatus status)
{
  if (fflush (stdout) != 0 || ferror (stdout))
    {
      cli_printerr ("irscope: standard output: %s\n", g_strerror (errno));
      status = CLI_FAILED;
    }
  cli_leave_end (status);
  return status;
}

static void
print_help (void)
{
  guint n;
  const CliCommand *const *commands = cli_commands (&n);

  cli_print ("Usage: irscope COMMAND [OPTION…] ARGUMENTS\n\n"
             "Looks into computation graphs: steps through optimization passes, proves each\n"
             "rewrite, runs the graph and shows every value.\n\nCommands:\n");
  for (guint i = 0; i < n; i++)
    cli_print ("  %-12s %s\n", commands[i]->name, commands[i]->summary);
  cli_print (
      "\n'irscope COMMAND --help' explains one. FILE@N is the graph after step N.\n"
      "Exit status: 0 done; 1 done, and the answer is no; 2 bad input or usage; 3 could not.\n");
}

static void
print_completion (void)
{
  guint n;
  const CliCommand *const *commands = cli_commands (&n);

  cli_print ("complete -f -W '");
  for (guint i = 0; i < n; i++)
    cli_print ("%s%s", i > 0 ? " " : "", commands[i]->name);
  cli_print ("' irscope\n");
}

static CliStatus
unknown_command (const char *name)
{
  cli_printerr ("irscope: there is no command '%s'; 'irscope --help' lists them.\n", name);
  return CLI_BAD;
}

int
main (int argc, char **argv)
{
  static GCancellable *cancellable; /* for the thread of signals, to the end */
  const CliCommand *command;

  cli_print_init ();
  setlocale (LC_ALL, "");
  setlocale (LC_NUMERIC, "C");
  if (argc < 2)
    {
      cli_printerr ("irscope: needs a command; 'irscope --help' lists them.\n");
      return CLI_BAD;
    }
  if (strcmp (argv[1], "help") == 0 && argc > 2)
    {
      command = cli_command_find (argv[2]);
      return command != NULL
                 ? cli_main (command, 2, (char *[]){ argv[0], (char *) "--help", NULL }, NULL)
                 : unknown_command (argv[2]);
    }
  if (strcmp (argv[1], "--help") == 0 || strcmp (argv[1], "-h") == 0 ||
      strcmp (argv[1], "help") == 0)
    {
      print_help ();
      return end_output (CLI_OK);
    }
  if (strcmp (argv[1], "--version") == 0)
    {
      cli_print ("irscope %s\n", IR_VERSION);
      return end_output (CLI_OK);
    }
  if (strcmp (argv[1], "--completion") == 0)
    {
      print_completion ();
      return CLI_OK;
    }
  command = cli_command_find (argv[1]);
  if (command == NULL)
    return unknown_command (argv[1]);
  ir_threads_limit_spinning (argv);
  cancellable = g_cancellable_new ();
  cli_leave_init (cancellable);
  return end_output (cli_main (command, argc - 1, argv + 1, cancellable));
}
