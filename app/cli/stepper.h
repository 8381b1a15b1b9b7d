/* Going through the steps of a history by commands, forwards and back, with breakpoints. */
#pragma once

#include "app/cli/command.h"
#include "passes/debug/breakpoint.h"

typedef struct
{
  IrModel *model;
  GPtrArray *breaks; /* of IrBreakpoint; commands add and remove */
  gpointer data;
  /* Prints one step; @details: with its records. */
  void (*show) (guint step, gboolean details, gpointer data);
  /* Before a breakpoint is used that needs them: proofs, scores. FALSE + @error: not to be had. */
  gboolean (*prepare) (const IrBreakpoint *breakpoint,
                       const IrScoreboard **board,
                       gpointer data,
                       GError **error);
} CliStepper;

/* Reads commands from standard input until it ends, or until "quit". CLI_BAD: one was not
 * understood, and nobody was there to be told (standard input is no terminal). */
CliStatus cli_step_through (const Cli *cli, CliStepper *stepper);
