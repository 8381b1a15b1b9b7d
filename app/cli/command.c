/* The table of commands, and what every command line has in common. */
#include "config.h"

#include "app/cli/command.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"

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
option_context (const CliCommand *command, gpointer options, Cli *cli)
{
  GOptionContext *context = g_option_context_new (command->arguments);
  g_autoptr (GArray) entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));
  GOptionEntry common[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &cli->json,
      "Print JSON (keys are documented in the schemas)", NULL },
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

static CliStatus
parse_and_run (
    const CliCommand *command, gpointer options, int argc, char **argv, GCancellable *cancellable)
{
  Cli cli = { .command = command, .options = options, .cancellable = cancellable };
  CliStatus status;
  g_autoptr (GOptionContext) context = option_context (command, options, &cli);
  g_autoptr (GError) error = NULL;
  g_autofree char *program = g_strdup_printf ("irscope %s", command->name);

  g_set_prgname (program);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      cli_printerr ("irscope %s: %s\nSee 'irscope %s --help'.\n", command->name, error->message,
                    command->name);
      return CLI_BAD;
    }
  cli.args = argv + 1;
  cli.n_args = argc - 1;
  if (cli.n_args > 0 && strcmp (cli.args[0], "--") == 0)
    {
      cli.args++;
      cli.n_args--;
    }
  if (cli.n_args < command->min_args || cli.n_args > command->max_args)
    {
      cli_printerr ("irscope %s: needs %s, %u given.\nSee 'irscope %s --help'.\n", command->name,
                    command->arguments[0] != '\0' ? command->arguments : "no arguments", cli.n_args,
                    command->name);
      return CLI_BAD;
    }
  status = command->run (&cli);
  return cli.cut && (status == CLI_OK || status == CLI_NO) ? cli_cancelled (&cli) : status;
}

CliStatus
cli_main (const CliCommand *command, int argc, char **argv, GCancellable *cancellable)
{
  g_autofree gpointer options = g_malloc0 (MAX (command->options_size, 1));
  CliStatus status = parse_and_run (command, options, argc, argv, cancellable);

  free_texts (command->options, options);
  free_texts (command->model_options, options);
  return status;
}
