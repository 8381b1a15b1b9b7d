/* The list of commands: one line each, in the order of the help. */
#pragma once

#include "app/cli/command.h"

#define CLI_COMMANDS(C)                                                                            \
  C (info)                                                                                         \
  C (summary)                                                                                      \
  C (run)                                                                                          \
  C (play)                                                                                         \
  C (bench)                                                                                        \
  C (optimize)                                                                                     \
  C (grad)                                                                                         \
  C (gradcheck)                                                                                    \
  C (train)                                                                                        \
  C (steps)                                                                                        \
  C (diff)                                                                                         \
  C (bisect)                                                                                       \
  C (reproduce)                                                                                    \
  C (why)                                                                                          \
  C (trace_node)                                                                                   \
  C (find_nodes)                                                                                   \
  C (tensor)                                                                                       \
  C (schedule)                                                                                     \
  C (kernels)                                                                                      \
  C (memory)                                                                                       \
  C (render)                                                                                       \
  C (convert)                                                                                      \
  C (edit)                                                                                         \
  C (extract)                                                                                      \
  C (session)                                                                                      \
  C (check)                                                                                        \
  C (conformance)                                                                                  \
  C (ops)                                                                                          \
  C (passes)                                                                                       \
  C (rules)                                                                                        \
  C (view)

#define COMMAND(name) extern const CliCommand cli_command_##name;
CLI_COMMANDS (COMMAND)
#undef COMMAND
