/* irscope steps --debug: a debugger's commands over the recorded history. Everything is recorded
 * before; so going back is as cheap as going on. */
#include "config.h"

#include "app/cli/stepper.h"
#include "app/cli/output.h"
#include "app/cli/prompt.h"

typedef struct
{
  const Cli *cli;
  CliStepper *given;
  const IrScoreboard *board; /* (nullable) */
  guint at, n_steps;
  CliPrompt prompt;
} State;

static gboolean
refuse (GError **error, const char *format, const char *text)
{
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, format, text);
  return FALSE;
}

static void
arrive (State *state, guint step, const IrBreakpoint *hit)
{
  state->at = MIN (step, state->n_steps);
  if (!state->cli->json && hit != NULL)
    cli_print ("stopped by %s\n", ir_breakpoint_text (hit));
  if (state->at > 0)
    state->given->show (state->at, FALSE, state->given->data);
  else if (!state->cli->json)
    cli_print ("at the start: no step is applied\n");
  if (!state->cli->json && state->at == state->n_steps && state->n_steps > 0)
    cli_print ("at the end: no step is left\n");
}

static gboolean
step_on (gpointer data, const char *argument, GError **error)
{
  State *state = data;
  guint n;

  if (!cli_prompt_number (argument, 1, &n, error))
    return FALSE;
  arrive (state, n > state->n_steps - state->at ? state->n_steps : state->at + n, NULL);
  return TRUE;
}

static gboolean
step_back (gpointer data, const char *argument, GError **error)
{
  State *state = data;
  guint n;

  if (!cli_prompt_number (argument, 1, &n, error))
    return FALSE;
  arrive (state, n > state->at ? 0 : state->at - n, NULL);
  return TRUE;
}

static const IrPassRun *
pass_run_of (const State *state, guint step)
{
  return ir_history_pass_run (state->given->model,
                              ir_history_step (state->given->model, step)->pass_run);
}

/* The rest of the pass, or the next one. */
static gboolean
next_pass (gpointer data, const char *argument, GError **error)
{
  State *state = data;

  if (state->at < state->n_steps)
    {
      const IrPassRun *run = pass_run_of (state, state->at + 1);
      arrive (state, run->first_step + run->n_steps - 1, NULL);
    }
  else
    arrive (state, state->at, NULL);
  return TRUE;
}

static gboolean
previous_pass (gpointer data, const char *argument, GError **error)
{
  State *state = data;

  arrive (state, state->at > 0 ? pass_run_of (state, state->at)->first_step - 1 : 0, NULL);
  return TRUE;
}

static void
run_on (State *state, gboolean forward)
{
  const IrBreakpoint *hit = NULL;
  guint step = ir_breakpoints_run (state->given->breaks, state->given->model, state->board,
                                   state->at, forward, &hit);

  arrive (state, step, hit);
}

static gboolean
go_on (gpointer data, const char *argument, GError **error)
{
  State *state = data;

  run_on (state, TRUE);
  return TRUE;
}

static gboolean
go_back (gpointer data, const char *argument, GError **error)
{
  State *state = data;

  run_on (state, FALSE);
  return TRUE;
}

static gboolean
run_to (gpointer data, const char *argument, GError **error)
{
  State *state = data;
  guint step;

  if (argument[0] == '\0')
    return refuse (error, "%s needs the number of a step", "to");
  if (!cli_prompt_number (argument, 0, &step, error))
    return FALSE;
  if (step > state->n_steps)
    return refuse (error, "there is no step %s", argument);
  arrive (state, step, NULL);
  return TRUE;
}

static gboolean
add_break (gpointer data, const char *argument, GError **error)
{
  State *state = data;
  IrBreakpoint *breakpoint;

  if (argument[0] != '\0')
    {
      breakpoint = ir_breakpoint_parse (argument, error);
      if (breakpoint == NULL)
        return FALSE;
      if (!ir_breakpoint_check (breakpoint, state->given->model, error) ||
          !state->given->prepare (breakpoint, &state->board, state->given->data, error))
        {
          ir_breakpoint_free (breakpoint);
          return FALSE;
        }
      g_ptr_array_add (state->given->breaks, breakpoint);
    }
  for (guint i = 0; i < state->given->breaks->len && !state->cli->json; i++)
    cli_print ("%u  %s\n", i + 1, ir_breakpoint_text (state->given->breaks->pdata[i]));
  return TRUE;
}

static gboolean
drop_break (gpointer data, const char *argument, GError **error)
{
  State *state = data;
  guint number;

  if (!cli_prompt_number (argument, 0, &number, error))
    return FALSE;
  if (argument[0] == '\0')
    g_ptr_array_set_size (state->given->breaks, 0);
  else if (number < 1 || number > state->given->breaks->len)
    return refuse (error, "there is no breakpoint %s", argument);
  else
    g_ptr_array_remove_index (state->given->breaks, number - 1);
  return TRUE;
}

static gboolean
show (gpointer data, const char *argument, GError **error)
{
  State *state = data;
  guint step;

  if (!cli_prompt_number (argument, state->at, &step, error))
    return FALSE;
  if (step < 1 || step > state->n_steps)
    return refuse (error, "there is no step %s", argument[0] != '\0' ? argument : "0");
  state->given->show (step, TRUE, state->given->data);
  return TRUE;
}

static gboolean
quit (gpointer data, const char *argument, GError **error)
{
  ((State *) data)->prompt.done = TRUE;
  return TRUE;
}

static gboolean help (gpointer data, const char *argument, GError **error);

static const CliPromptCommand commands[] = {
  { "step", "s", "[N]", "one step on, or N", step_on },
  { "back", "b", "[N]", "one step back, or N", step_back },
  { "next", "n", "", "to the end of the pass, or of the next one", next_pass },
  { "previous", "p", "", "to where the pass began", previous_pass },
  { "continue", "c", "", "on to the next breakpoint", go_on },
  { "reverse", "r", "", "back to the breakpoint before", go_back },
  { "to", "t", "N", "to step N, forwards or back", run_to },
  { "break", "k", "[BREAKPOINT]", "stop there, too; alone: lists them", add_break },
  { "delete", "d", "[N]", "forget breakpoint N, or all", drop_break },
  { "show", "w", "[N]", "this step, or N, with its records", show },
  { "help", "h", "", "these commands", help },
  { "quit", "q", "", "end", quit },
};

static gboolean
help (gpointer data, const char *argument, GError **error)
{
  cli_prompt_help (&((State *) data)->prompt);
  return TRUE;
}

static char *
ask (gpointer data)
{
  const State *state = data;

  return g_strdup_printf ("step %u of %u", state->at, state->n_steps);
}

CliStatus
cli_step_through (const Cli *cli, CliStepper *stepper)
{
  State state = { .cli = cli, .given = stepper, .n_steps = ir_history_n_steps (stepper->model) };
  g_autoptr (GError) error = NULL;

  state.prompt = (CliPrompt){
    .program = "irscope steps", .commands = commands, .n = G_N_ELEMENTS (commands), .state = &state
  };
  for (guint i = 0; i < stepper->breaks->len; i++)
    if (!stepper->prepare (stepper->breaks->pdata[i], &state.board, stepper->data, &error))
      {
        cli_printerr ("irscope steps: %s\n", error->message);
        return CLI_FAILED;
      }
  cli_prompt_read (&state.prompt, ask);
  cli_prompt_clear (&state.prompt);
  return state.prompt.failed && !cli_prompt_is_terminal () ? CLI_BAD : CLI_OK;
}
