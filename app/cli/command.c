/* The table of commands, and what every command line has in common. */
#include "config.h"

#include "app/cli/command.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/session.h"

#include <string.h>

static const CliCommand *const commands[] = {
#define COMMAND(name) &cli_command_##name,
  CLI_COMMANDS (COMMAND)
#undef COMMAND
};

const CliCommand *const *
cli_commands (guint *n)
{
  *n = G_N_ELEMENTS (commands);
  return commands;
}

const CliCommand *
cli_command_find (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (strcmp (commands[i]->name, name) == 0)
      return commands[i];
  return NULL;
}

static void
append_entries (GArray *entries, const CliOption *options, gpointer base)
{
  for (; options != NULL && options->name != NULL; options++)
    {
      GOptionEntry entry = {
        options->name, options->short_name, 0, options->arg, (char *) base + options->offset,
        options->doc,  options->arg_name
      };
      g_array_append_val (entries, entry);
    }
}

static GOptionContext *
option_context (const CliCommand *command, gpointer options, Cli *cli, char **session)
{
  GOptionContext *context = g_option_context_new (command->arguments);
  g_autoptr (GArray) entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));
  GOptionEntry common[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &cli->json,
      "Print JSON (keys are documented in the schemas)", NULL },
    { "session", 0, command->takes_model ? 0 : G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_FILENAME, session,
      "In the place of FILE: the model, edits, passes, inputs and sizes of a session (F@N: its step N)",
      "F" },
    { "quiet", 'q', 0, G_OPTION_ARG_NONE, &cli->quiet, "No progress on the terminal", NULL },
  };

  append_entries (entries, command->options, options);
  append_entries (entries, command->model_options, options);
  g_array_append_vals (entries, common, G_N_ELEMENTS (common));
  g_option_context_add_main_entries (context, (GOptionEntry *) entries->data, NULL);
  g_option_context_set_summary (context, command->summary);
  g_option_context_set_description (context, command->doc);
  return context;
}

/* GOption allocated the texts that the options struct points to. */
static void
free_texts (const CliOption *table, gpointer options)
{
  for (; table != NULL && table->name != NULL; table++)
    {
      gpointer *field = (gpointer *) ((char *) options + table->offset);

      if (table->arg == G_OPTION_ARG_STRING || table->arg == G_OPTION_ARG_FILENAME)
        g_clear_pointer (field, g_free);
      else if (table->arg == G_OPTION_ARG_STRING_ARRAY || table->arg == G_OPTION_ARG_FILENAME_ARRAY)
        g_strfreev (g_steal_pointer (field));
    }
}

static gsize
size_of (GOptionArg arg)
{
  if (arg == G_OPTION_ARG_NONE || arg == G_OPTION_ARG_INT)
    return sizeof (gint);
  return arg == G_OPTION_ARG_INT64    ? sizeof (gint64)
         : arg == G_OPTION_ARG_DOUBLE ? sizeof (double)
                                      : sizeof (gpointer);
}

const char *
cli_given_option (const CliOption *table, gconstpointer options)
{
  static const gint64 nothing = 0;

  for (; table->name != NULL; table++)
    if (memcmp ((const char *) options + table->offset, &nothing, size_of (table->arg)) != 0)
      return table->name;
  return NULL;
}

static CliStatus
parse_and_run (Cli *cli, gpointer options, int argc, char **argv)
{
  const CliCommand *command = cli->command;
  CliStatus status;
  g_autofree char *session = NULL;
  g_autoptr (GOptionContext) context = option_context (command, options, cli, &session);
  g_autoptr (GError) error = NULL;

  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      cli_printerr ("irscope %s: %s\nSee 'irscope %s --help'.\n", command->name, error->message,
                    command->name);
      return CLI_BAD;
    }
  if (session != NULL && !command->takes_model)
    {
      cli_printerr ("irscope %s: --session %s: it takes no model\n", command->name, session);
      return CLI_BAD;
    }
  cli->args = argv + 1;
  cli->n_args = argc - 1;
  if (cli->n_args > 0 && strcmp (cli->args[0], "--") == 0)
    {
      cli->args++;
      cli->n_args--;
    }
  cli_session_apply (cli);
  if (cli->n_args < command->min_args || cli->n_args > command->max_args)
    {
      if (cli->session != NULL && cli->n_args > command->max_args)
        cli_printerr ("irscope %s: --session is in the place of the model: give one of them.\n",
                      command->name);
      else
        cli_printerr ("irscope %s: needs %s, %u given.\nSee 'irscope %s --help'.\n", command->name,
                      command->arguments[0] != '\0' ? command->arguments : "no arguments",
                      cli->n_args - (cli->session != NULL), command->name);
      return CLI_BAD;
    }
  status = command->run (cli);
  return cli->cut && (status == CLI_OK || status == CLI_NO) ? cli_cancelled (cli) : status;
}

/* The session's options come first, so that those of the command line are the later ones. */
static CliStatus
parse_with_session (Cli *cli, int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) arguments = cli_session_arguments (cli, argc, argv, &error);
  const int n = arguments != NULL ? (int) g_strv_length (arguments) : 0;
  g_autofree char **left = g_memdup2 (arguments, (gsize) (n + 1) * sizeof (char *));

  /* GOption takes out of the list what it has read */
  return arguments != NULL ? parse_and_run (cli, cli->options, n, left) : cli_fail (CLI_BAD, error);
}

CliStatus
cli_main (const CliCommand *command, int argc, char **argv, GCancellable *cancellable)
{
  g_autofree gpointer options = g_malloc0 (MAX (command->options_size, 1));
  Cli cli = { .command = command, .options = options, .cancellable = cancellable };
  g_autofree char *program = g_strdup_printf ("irscope %s", command->name);
  CliStatus status;

  g_set_prgname (program);
  if (command->defaults != NULL)
    command->defaults (options);
  status = parse_with_session (&cli, argc, argv);
  cli_session_clear (&cli);
  free_texts (command->options, options);
  free_texts (command->model_options, options);
  return status;
}
