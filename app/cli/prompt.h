/* Commands of a debugger, read from standard input line by line: a word or its letter, and what stands
 * behind it. An empty line of a terminal repeats the last one; "#" begins a comment. */
#pragma once

#include "app/cli/command.h"

typedef struct
{
  const char *name, *letter, *argument, *doc;
  gboolean (*run) (gpointer state, const char *argument, GError **error);
} CliPromptCommand;

typedef struct
{
  const char *program; /* "irscope steps": before messages */
  const CliPromptCommand *commands;
  guint n;
  gpointer state;
  gboolean done;   /* a command sets it: nothing more is read */
  gboolean failed; /* one was not understood */
  char *last;      /* (nullable) (owned) */
} CliPrompt;

/* Reads until @done, or until standard input ends: FALSE. @ask: (nullable): (transfer full) what stands
 * before a line on a terminal */
gboolean cli_prompt_read (CliPrompt *prompt, char *(*ask) (gpointer state));
void cli_prompt_help (const CliPrompt *prompt);
gboolean cli_prompt_is_terminal (void);
void cli_prompt_clear (CliPrompt *prompt);
/* A number behind a command; @fallback if there is none. */
gboolean cli_prompt_number (const char *text, guint fallback, guint *number, GError **error);
