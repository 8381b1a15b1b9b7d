/* A command of the program `irscope`: one file each, ending in its descriptor; help, completion and
 * option parsing come from the descriptors. */
#pragma once

#include "core/ir/problem.h"

#include <cjson/cJSON.h>
#include <gio/gio.h>

/* What the process returns. */
typedef enum
{
  CLI_OK = 0,
  CLI_NO = 1,     /* done, and the answer is no: a check failed, graphs differ */
  CLI_BAD = 2,    /* bad input or usage */
  CLI_FAILED = 3, /* could not: memory, input and output, device, cancelled */
} CliStatus;

/* One option: where its value goes is an offset into the command's options struct. */
typedef struct
{
  const char *name;
  char short_name;
  GOptionArg arg;
  gsize offset;
  const char *doc;
  const char *arg_name;
} CliOption;

typedef struct _CliCommand CliCommand;

typedef struct
{
  const CliCommand *command;
  gpointer options; /* the command's options struct, zeroed before parsing */
  char **args;      /* NULL-terminated positional arguments */
  guint n_args;
  gboolean json;
  gboolean quiet;
  GCancellable *cancellable;      /* triggered by SIGINT and SIGTERM */
  struct _IrSessionFile *session; /* (nullable) (owned): given in the place of FILE */
  gint session_step;              /* N of --session F@N, -1 if none was given */
  gboolean session_pipeline;      /* the pipeline is that of the session */
  gboolean session_set;           /* and so are the options of its passes */
  char **session_args;            /* (nullable) (owned): what args is then */
  gboolean cut;                   /* that was seen by cli_cut(): what was printed is not whole */
} Cli;

struct _CliCommand
{
  const char *name;
  const char *arguments; /* "FILE" */
  const char *summary;   /* one line */
  const char *doc;       /* what the help says below the options */
  guint min_args, max_args;
  gboolean takes_model;           /* as its first argument, or --session F in the place of it */
  const CliOption *options;       /* (nullable) ends with a NULL name */
  const CliOption *model_options; /* (nullable) a second table: options shared by commands */
  gsize options_size;
  void (*defaults) (
      gpointer options); /* (nullable): numbers that are not 0 where they are not given */
  CliStatus (*run) (Cli *cli);
};

/* The first option of @table that was given, and not as 0; (nullable) */
const char *cli_given_option (const CliOption *table, gconstpointer options);
const CliCommand *const *cli_commands (guint *n);
const CliCommand *cli_command_find (const char *name);
CliStatus cli_main (const CliCommand *command, int argc, char **argv, GCancellable *cancellable);
