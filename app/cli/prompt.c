#include "config.h"

#include "app/cli/prompt.h"

#include "app/cli/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

gboolean
cli_prompt_number (const char *text, guint fallback, guint *number, GError **error)
{
  guint64 read = fallback;

  if (text[0] != '\0' && !g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT32, &read, NULL))
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "\"%s\" is no number", text);
      return FALSE;
    }
  *number = (guint) read;
  return TRUE;
}

void
cli_prompt_help (const CliPrompt *prompt)
{
  for (guint i = 0; i < prompt->n; i++)
    cli_print ("%s %-9s %-13s %s\n", prompt->commands[i].letter, prompt->commands[i].name,
               prompt->commands[i].argument, prompt->commands[i].doc);
}

gboolean
cli_prompt_is_terminal (void)
{
  return isatty (STDIN_FILENO) && isatty (STDOUT_FILENO);
}

static const CliPromptCommand *
find_command (const CliPrompt *prompt, const char *name)
{
  for (guint i = 0; i < prompt->n; i++)
    if (strcmp (name, prompt->commands[i].name) == 0 ||
        strcmp (name, prompt->commands[i].letter) == 0)
      return &prompt->commands[i];
  return NULL;
}

static void
execute (CliPrompt *prompt, const char *line)
{
  gsize length = strcspn (line, " \t");
  g_autofree char *name = g_strndup (line, length);
  g_autofree char *argument = g_strstrip (g_strdup (line + length));
  const CliPromptCommand *command = find_command (prompt, name);
  g_autoptr (GError) error = NULL;

  if (command == NULL)
    g_set_error (&error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                 "there is no command \"%s\"; help lists them", name);
  if (command != NULL && command->run (prompt->state, argument, &error))
    return;
  cli_printerr ("%s: %s\n", prompt->program, error->message);
  prompt->failed = TRUE;
}

gboolean
cli_prompt_read (CliPrompt *prompt, char *(*ask) (gpointer state))
{
  const gboolean asks = cli_prompt_is_terminal ();
  char *line = NULL;
  size_t size = 0;

  while (!prompt->done)
    {
      if (asks && ask != NULL)
        {
          g_autofree char *text = ask (prompt->state);
          cli_print ("%s> ", text);
          fflush (stdout);
        }
      if (getline (&line, &size, stdin) < 0)
        break;
      g_strstrip (line);
      if (line[0] != '\0')
        {
          g_free (prompt->last);
          prompt->last = g_strdup (line);
        }
      if (prompt->last != NULL && line[0] != '#' && (line[0] != '\0' || asks))
        execute (prompt, prompt->last);
    }
  free (line);
  return prompt->done;
}

void
cli_prompt_clear (CliPrompt *prompt)
{
  g_clear_pointer (&prompt->last, g_free);
}
