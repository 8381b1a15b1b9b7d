/* irscope session: what a session holds, and what of it is another than when it was written; writes one. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/given.h"
#include "app/cli/model.h"
#include "app/cli/output.h"
#include "app/cli/session.h"
#include "core/ir/history.h"
#include "core/look/kept.h"
#include "passes/debug/breakpoint.h"
#include "passes/session/session-file.h"

#include <string.h>

typedef struct
{
  CliModelOptions model;
  char **acts, **breaks, **watches, **notes;
  char *output;
  gint at;
} Options;

#define AT(field) G_STRUCT_OFFSET (Options, field)
static const CliOption session_options[] = {
  { "do", 0, G_OPTION_ARG_STRING_ARRAY, AT (acts),
    "An act and its words, as irscope edit takes them; before the pipeline", "'ACT WORD..'" },
  { "break", 'b', G_OPTION_ARG_STRING_ARRAY, AT (breaks),
    "A breakpoint of steps, as irscope steps takes it", "EXPR" },
  { "watch", 0, G_OPTION_ARG_STRING_ARRAY, AT (watches),
    "A breakpoint of runs, as irscope run takes it", "COND" },
  { "note", 0, G_OPTION_ARG_STRING_ARRAY, AT (notes), "A note that is pinned to a node",
    "NODE=TEXT" },
  { "at", 0, G_OPTION_ARG_INT, AT (at), "The step that is on screen; without it the last one",
    "N" },
  { "output", 'o', G_OPTION_ARG_FILENAME, AT (output), "Where the session is written", "OUT" },
  { 0 },
};

/* -- what it is made of -- */

/* Those of a session come before, as options. */
static void
take_texts (GPtrArray *to, char **texts)
{
  g_ptr_array_set_size (to, 0);
  for (guint i = 0; texts != NULL && texts[i] != NULL; i++)
    g_ptr_array_add (to, g_strdup (texts[i]));
}

static gboolean
take_inputs (
    IrSessionFile *file, const char *kind, const char *option, char **texts, GError **error)
{
  /* NAME=WHAT,KEY=VALUE */
  const gboolean has_keys = strcmp (kind, "picture") == 0 || strcmp (kind, "fill") == 0;

  for (guint i = 0; texts != NULL && texts[i] != NULL; i++)
    {
      g_autofree char *name = NULL;
      const char *text;

      if (strchr (texts[i], '=') == NULL && g_str_has_suffix (texts[i], ".npz"))
        {
          g_set_error (
              error, CLI_ERROR, 0,
              "--%s %s: a session keeps what each input is given; needs NAME=%s:ARRAY, once "
              "for each of them",
              option, texts[i], texts[i]);
          return FALSE;
        }
      if (!cli_split_assignment (texts[i], option, &name, &text, error))
        return FALSE;
      if (has_keys && (text = strchr (texts[i], '=') + 1) != NULL)
        {
          g_free (name);
          name = g_strndup (texts[i], (gsize) (text - 1 - texts[i]));
        }
      ir_session_file_add_input (file, name, kind, text);
    }
  return TRUE;
}

static gboolean
take_notes (IrSessionFile *file, char **notes, GError **error)
{
  for (guint i = 0; notes != NULL && notes[i] != NULL; i++)
    {
      const char *equals = strchr (notes[i], '=');
      g_autofree char *name = equals != NULL ? g_strndup (notes[i], (gsize) (equals - notes[i]))
                                             : NULL;

      if (name == NULL || name[0] == '\0')
        {
          g_set_error (error, CLI_ERROR, 0, "--note %s: needs NODE=TEXT", notes[i]);
          return FALSE;
        }
      ir_session_file_add_note (file, name, equals + 1);
    }
  return TRUE;
}

static gboolean
take_breaks (IrSessionFile *file, char **breaks, GError **error)
{
  for (guint i = 0; breaks != NULL && breaks[i] != NULL; i++)
    {
      g_autoptr (IrBreakpoint) breakpoint = ir_breakpoint_parse (breaks[i], error);

      if (breakpoint == NULL)
        return FALSE;
      ir_session_file_add_breakpoint (file, breaks[i], TRUE);
    }
  return TRUE;
}

/* What is done stands behind what was; where that is, replay finds out. */
static void
add_done (IrSessionFile *file, IrDoneKind kind, const char *text, const char *const *skips)
{
  guint at = 0;

  g_ptr_array_set_size (file->done, (int) file->n_done);
  if (file->n_done > 0)
    {
      const IrDone *last = file->done->pdata[file->n_done - 1];
      const gboolean instead = kind == IR_DONE_PIPELINE && !ir_done_is_edit (last);

      at = instead ? last->at : last->n_steps;
      g_ptr_array_set_size (file->done, (int) (file->n_done - (instead ? 1 : 0)));
    }
  g_ptr_array_add (file->done, ir_done_new (kind, text, skips, at));
  file->n_done = file->done->len;
}

/* One that is given is that of all that was done, too. */
static void
take_class (IrSessionFile *file, const char *step_class)
{
  if (g_strcmp0 (step_class, cli_session_class (file)) == 0)
    return;
  g_free (file->step_class);
  file->step_class = g_strdup (step_class);
  for (guint i = 0; i < file->done->len; i++)
    g_clear_pointer (&((IrDone *) file->done->pdata[i])->step_class, g_free);
}

/* What a session has no word for is not left out silently. */
static gboolean
check_kept (const CliModelOptions *model, gboolean runs, GError **error)
{
  const struct
  {
    const char *name;
    gboolean given;
  } some[] = {
    { "shape", model->shapes != NULL },       { "opset", model->opset != 0 },
    { "device", model->device != NULL },      { "kernel", model->kernels != NULL },
    { "threads", model->threads != 0 },       { "set", model->set != NULL && !runs },
    { "skip", model->skip != NULL && !runs },
  };

  for (guint i = 0; i < G_N_ELEMENTS (some); i++)
    if (some[i].given)
      {
        g_set_error (error, CLI_ERROR, 0,
                     "--%s: a session does not keep it%s; give it to the "
                     "command that opens the session",
                     some[i].name,
                     strcmp (some[i].name, "set") == 0 || strcmp (some[i].name, "skip") == 0
                         ? " without --pipeline or --pass"
                         : "");
        return FALSE;
      }
  return TRUE;
}

static gboolean
take_options (Cli *cli, IrSessionFile *file, const Options *options, GError **error)
{
  const CliModelOptions *model = &options->model;

  if (!check_kept (model, model->pipeline != NULL || model->passes != NULL || cli->session_set,
                   error))
    return FALSE;
  take_texts (file->sizes, model->dims);
  g_ptr_array_set_size (file->inputs, 0);
  file->seed = (guint64) model->seed;
  take_class (file, model->step_class);
  if (model->set != NULL && !cli->session_set)
    take_texts (file->set, model->set);
  take_texts (file->watches, options->watches);
  if (!take_inputs (file, "file", "input", model->inputs, error) ||
      !take_inputs (file, "picture", "image", model->images, error) ||
      !take_inputs (file, "numbers", "value", model->values, error) ||
      !take_inputs (file, "fill", "fill", model->fills, error) ||
      !take_breaks (file, options->breaks, error) || !take_notes (file, options->notes, error))
    return FALSE;
  for (guint i = 0; options->acts != NULL && options->acts[i] != NULL; i++)
    add_done (file, IR_DONE_ACT, options->acts[i], NULL);
  if (model->pipeline != NULL && !cli->session_pipeline)
    {
      g_free (file->pipeline);
      file->pipeline = g_strdup (model->pipeline);
      add_done (file, IR_DONE_PIPELINE, model->pipeline, (const char *const *) model->skip);
    }
  if (model->passes != NULL && !cli->session_pipeline)
    {
      g_free (file->pipeline);
      file->pipeline = g_strdup (IR_SESSION_PASSES);
      g_strfreev (file->passes);
      file->passes = g_strsplit (model->passes, ",", -1);
      add_done (file, IR_DONE_PIPELINE, IR_SESSION_PASSES, (const char *const *) model->skip);
      ((IrDone *) file->done->pdata[file->n_done - 1])->passes = g_strdupv (file->passes);
    }
  return TRUE;
}

/* -- what came of it -- */

/* What was done as it is now: with the steps that it makes, without what cannot be done. */
static GPtrArray *
done_now (const GPtrArray *line, guint from)
{
  GPtrArray *done = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_done_free);

  for (guint i = from; i < line->len; i++)
    {
      const IrSessionReplayed *state = line->pdata[i];
      IrDone *now = ir_done_copy (state->done);

      now->at = state->base;
      ir_done_expect (now, state->model, state->n_steps);
      g_ptr_array_add (done, now);
    }
  return done;
}

/* The like of those that were left. */
static GPtrArray *
branches_now (const IrSessionReplay *replay)
{
  GPtrArray *branches = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_done_branch_free);

  for (guint i = 0; i < replay->branches->len; i++)
    {
      const GPtrArray *line = replay->branches->pdata[i];
      IrDoneBranch *branch = g_new0 (IrDoneBranch, 1);
      guint n = 0;

      while (n < line->len && n < replay->line->len && line->pdata[n] == replay->line->pdata[n])
        n++;
      branch->n_shared = n - 1; /* the first state is the model as it was opened */
      branch->done = done_now (line, n);
      g_ptr_array_add (branches, branch);
    }
  return branches;
}

static void
check_views (const IrSessionFile *file, const IrModel *model, GPtrArray *said)
{
  for (guint i = 0; i < IR_N_SESSION_VIEWS; i++)
    {
      g_autoptr (GPtrArray)
          missing = file->views[i] != NULL ? ir_kept_view_missing (file->views[i], model) : NULL;

      for (guint k = 0; missing != NULL && k < missing->len; k++)
        g_ptr_array_add (said, g_strdup_printf ("view %u: there is no node %s", i + 1,
                                                (char *) missing->pdata[k]));
    }
  for (guint i = 0; i < file->breakpoints->len; i++)
    {
      const IrSessionBreakpoint *one = file->breakpoints->pdata[i];
      g_autoptr (GError) why = NULL;
      g_autoptr (IrBreakpoint) breakpoint = ir_breakpoint_parse (one->text, &why);

      if (breakpoint == NULL || !ir_breakpoint_check (breakpoint, model, &why))
        g_ptr_array_add (said, g_strdup_printf ("the breakpoint %s: %s", one->text, why->message));
    }
}

static void
print_done (const GPtrArray *done, guint n_done, const char *indent)
{
  for (guint i = 0; i < done->len; i++)
    {
      const IrDone *one = done->pdata[i];
      g_autofree char *title = ir_done_title (one);
      const guint n = one->n_steps - MIN (one->at, one->n_steps);

      cli_print ("%s%s%s", indent, i == n_done ? "(undone) " : "", title);
      if (one->kind == IR_DONE_ACT || one->kind == IR_DONE_KERNEL)
        cli_print (": %s", one->text);
      cli_print ("  behind step %u, %u %s\n", one->at, n, n == 1 ? "step" : "steps");
    }
}

static void
print_session (const IrSessionFile *file, const GPtrArray *said)
{
  cli_print ("model     %s\n", file->model != NULL ? file->model : "a graph that was begun empty");
  cli_print ("step      %u\n", file->step);
  print_done (file->done, file->n_done, "done      ");
  for (guint i = 0; i < file->branches->len; i++)
    {
      const IrDoneBranch *branch = file->branches->pdata[i];

      cli_print ("branch    behind the first %u of these\n", branch->n_shared);
      print_done (branch->done, branch->done->len, "          ");
    }
  for (guint i = 0; i < file->sizes->len; i++)
    cli_print ("size      %s\n", (char *) file->sizes->pdata[i]);
  for (guint i = 0; i < file->inputs->len; i++)
    {
      const IrSessionInput *input = file->inputs->pdata[i];

      cli_print ("input     %s: %s %s\n", input->name, input->kind, input->text);
    }
  for (guint i = 0; i < file->breakpoints->len; i++)
    {
      const IrSessionBreakpoint *breakpoint = file->breakpoints->pdata[i];

      cli_print ("break     %s%s\n", breakpoint->text, breakpoint->on ? "" : " (off)");
    }
  for (guint i = 0; i < file->watches->len; i++)
    cli_print ("watch     %s\n", (char *) file->watches->pdata[i]);
  for (guint i = 0; i < file->notes->len; i++)
    {
      const IrSessionNote *note = file->notes->pdata[i];

      cli_print ("note      %s: %s\n", note->node, note->text);
    }
  for (guint i = 0; i < said->len; i++)
    cli_print ("differs   %s\n", (char *) said->pdata[i]);
}

/* What a file would hold, and what differs. */
static void
print_json (const IrSessionFile *file, const GPtrArray *said)
{
  g_autofree char *text = ir_session_file_text (file, NULL);
  cJSON *json = cJSON_Parse (text), *array = cJSON_AddArrayToObject (json, "differs");

  for (guint i = 0; i < said->len; i++)
    cJSON_AddItemToArray (array, cJSON_CreateString (said->pdata[i]));
  cli_json_print (json);
}

/* What is written holds what could be done, as it is now. */
static gboolean
take_replay (IrSessionFile *file,
             const Options *options,
             const IrSessionReplay *replay,
             GError **error)
{
  const IrSessionReplayed *now = replay->line->pdata[replay->at];
  GPtrArray *done = done_now (replay->line, 1), *branches = branches_now (replay);

  g_ptr_array_unref (file->done); /* of which these were copies */
  g_ptr_array_unref (file->branches);
  file->done = done;
  file->branches = branches;
  file->n_done = replay->at;
  file->n_undone = 0; /* which is how it is now */
  file->step = options->at > 0 ? (guint) options->at
               : options->acts != NULL || options->model.pipeline != NULL ||
                       options->model.passes != NULL
                   ? now->n_steps
                   : replay->step;
  if (file->step > now->n_steps)
    {
      g_set_error (error, CLI_ERROR, 0, "--at %u: there are %u steps", file->step, now->n_steps);
      return FALSE;
    }
  ir_history_goto (now->model, file->step);
  return TRUE;
}

static IrSessionFile *
begin_session (Cli *cli, GError **error)
{
  IrSessionFile *file = cli->session;
  g_autoptr (GError) unread = NULL;

  if (file == NULL)
    {
      file = cli->session = ir_session_file_new ();
      file->model = g_canonicalize_filename (cli->args[0], NULL);
      file->sha256 = ir_session_hash (file->model, &unread);
    }
  return take_options (cli, file, cli->options, error) ? file : NULL;
}

static CliStatus
answer (Cli *cli, IrSessionFile *file, const GPtrArray *said, gboolean is_new, GError **error)
{
  const Options *options = cli->options;

  if (said->len > 0 && is_new) /* nothing of what was asked for is left out of a new one */
    {
      g_set_error (error, CLI_ERROR, 0, "%s", (char *) said->pdata[0]);
      return CLI_BAD;
    }
  if (options->output != NULL && cli_same_file (options->output, file->model))
    {
      g_set_error (error, CLI_ERROR, 0,
                   "--output %s: is the model itself; give the session a name "
                   "of its own, such as NAME.json",
                   options->output);
      return CLI_BAD;
    }
  if (options->output != NULL)
    {
      g_free (file->program);
      file->program = g_strdup (IR_VERSION);
      if (file->model != NULL)
        {
          g_free (file->sha256);
          file->sha256 = ir_session_hash (file->model, NULL);
        }
      if (!ir_session_file_write (file, options->output, error))
        return CLI_FAILED;
    }
  if (cli->json)
    print_json (file, said);
  else
    print_session (file, said);
  return said->len > 0 ? CLI_NO : CLI_OK;
}

/* What inputs are given is tried, so that a new session holds nothing that every run would refuse. */
static gboolean
check_inputs (const Options *options, IrModel *model, GError **error)
{
  g_autoptr (GHashTable) fills = NULL;
  g_autoptr (GArray) given = cli_given (&options->model, model, error);

  if (given != NULL)
    fills = cli_fills (&options->model, model, error);
  return fills != NULL;
}

static CliStatus
run (Cli *cli)
{
  const Options *options = cli->options;
  const gboolean is_new = cli->session == NULL;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GPtrArray) said = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GError) error = NULL;
  g_auto (IrSessionReplay) replay = { 0 };
  const IrSessionReplayOptions how = { .backend = ir_backend_find ("cpu"),
                                       .expect = !is_new,
                                       .keep_states = TRUE };
  IrSessionFile *file = begin_session (cli, &error);
  g_autoptr (IrModel) model = NULL;
  CliStatus status = CLI_BAD;

  if (file != NULL)
    model = ir_session_file_load (file, problems, said, cli->cancellable, &error);
  if (model == NULL)
    return cli_fail (file != NULL && g_file_test (cli->args[0], G_FILE_TEST_IS_REGULAR)
                         ? cli_status_of (error)
                         : CLI_BAD,
                     error);
  cli_print_problems (problems, IR_SEVERITY_ERROR);
  if (is_new && !check_inputs (options, model, &error))
    return cli_fail (CLI_BAD, error);
  ir_session_file_check_names (file, model, said);
  if (!ir_session_file_replay (file, model, &how, &replay, cli->cancellable, &error))
    return cli_fail (CLI_FAILED, error);
  for (guint i = 0; i < replay.said->len; i++)
    g_ptr_array_add (said, g_strdup (replay.said->pdata[i]));
  if (take_replay (file, options, &replay, &error))
    {
      const IrModel *shown = ((IrSessionReplayed *) replay.line->pdata[replay.at])->model;

      ir_session_file_check_notes (file, shown, said);
      check_views (file, shown, said);
      status = answer (cli, file, said, is_new, &error);
    }
  return error != NULL ? cli_fail (status, error) : status;
}

const CliCommand cli_command_session = {
  .name = "session",
  .arguments = "FILE",
  .takes_model = TRUE,
  .summary = "Write a session of a model, or what one holds and what differs since",
  .doc =
      "A session names a model and what was done to it: edits, pipelines, branches; what its inputs are\n"
      "given, sizes, breakpoints, notes and kept views. The window writes one (Save Session), and so\n"
      "does this command with -o. Every command that takes FILE takes --session F instead, and\n"
      "'irscope view --session F' opens it. Here it is replayed, and what could not be restored, or is\n"
      "another than when it was written, is said line by line; then the exit status is 1, and -o\n"
      "writes what is left.\n\n"
      "  irscope session net.onnx --do 'insert Sigmoid x' --pipeline default --note 'conv1=why?' -o s.json\n"
      "  irscope session --session s.json\n"
      "  irscope run --session s.json --capture all",
  .min_args = 1,
  .max_args = 1,
  .options = session_options,
  .model_options = cli_run_options,
  .options_size = sizeof (Options),
  .run = run,
};
