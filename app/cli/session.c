#include "config.h"

#include "app/cli/session.h"

#include "app/cli/kernel-requests.h"
#include "app/cli/output.h"
#include "core/io/io.h"

#include <string.h>

static const CliOption *
find_in (const CliOption *table, const char *name)
{
  for (; table != NULL && table->name != NULL; table++)
    if (strcmp (table->name, name) == 0)
      return table;
  return NULL;
}

static const CliOption *
find_option (const Cli *cli, const char *name)
{
  const CliOption *option = find_in (cli->command->options, name);

  return option != NULL ? option : find_in (cli->command->model_options, name);
}

/* -- before the command line is read -- */

/* (transfer none) (nullable): F of --session F or --session=F */
static const char *
find_session (int argc, char **argv)
{
  for (int i = 1; i < argc && strcmp (argv[i], "--") != 0; i++)
    if (g_str_has_prefix (argv[i], "--session="))
      return argv[i] + strlen ("--session=");
    else if (strcmp (argv[i], "--session") == 0 && i + 1 < argc)
      return argv[i + 1];
  return NULL;
}

/* F, or F@N for the graph at step N. */
static IrSessionFile *
read_session (Cli *cli, const char *path, GError **error)
{
  const char *at = strrchr (path, '@');
  g_autofree char *file = g_strdup (path);
  gint64 step;

  cli->session_step = -1;
  if (at != NULL && !g_file_test (path, G_FILE_TEST_EXISTS) &&
      g_ascii_string_to_signed (at + 1, 10, 0, G_MAXINT, &step, NULL))
    {
      file[at - path] = '\0';
      cli->session_step = (gint) step;
    }
  return ir_session_file_read (file, error);
}

/* Where the command has no such option, what it would say does not matter there. */
static void add (const Cli *cli, GStrvBuilder *builder, const char *option, const char *format, ...)
    G_GNUC_PRINTF (4, 5);

static void
add (const Cli *cli, GStrvBuilder *builder, const char *option, const char *format, ...)
{
  va_list args;
  g_autofree char *text = NULL, *word = NULL;

  if (find_option (cli, option) == NULL)
    return;
  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  word = g_strdup_printf ("--%s=%s", option, text);
  g_strv_builder_add (builder, word);
}

static void
add_input (const Cli *cli, GStrvBuilder *builder, const IrSessionInput *input)
{
  static const struct
  {
    const char *kind, *option;
  } options[] = {
    { "file", "input" }, { "picture", "image" }, { "numbers", "value" }, { "fill", "fill" }
  };

  for (guint i = 0; i < G_N_ELEMENTS (options); i++)
    if (strcmp (input->kind, options[i].kind) == 0)
      add (cli, builder, options[i].option, "%s=%s", input->name, input->text);
}

/* (nullable): the run of a pipeline that was the last thing done, or the last before that */
static const IrDone *
last_pipeline (const IrSessionFile *session)
{
  for (guint i = session->n_done; i-- > 0;)
    if (!ir_done_is_edit (session->done->pdata[i]))
      return session->done->pdata[i];
  return NULL;
}

const char *
cli_session_class (const IrSessionFile *session)
{
  const IrDone *last = last_pipeline (session);

  return last != NULL && last->step_class != NULL ? last->step_class : session->step_class;
}

GStrv
cli_session_arguments (Cli *cli, int argc, char **argv, GError **error)
{
  const char *path = find_session (argc, argv);
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  IrSessionFile *session = NULL;

  g_strv_builder_add (builder, argv[0]);
  if (path != NULL && cli->command->takes_model)
    {
      session = cli->session = read_session (cli, path, error);
      if (session == NULL)
        return NULL;
    }
  for (guint i = 0; session != NULL && i < session->sizes->len; i++)
    add (cli, builder, "dim", "%s", (char *) session->sizes->pdata[i]);
  for (guint i = 0; session != NULL && i < session->inputs->len; i++)
    add_input (cli, builder, session->inputs->pdata[i]);
  if (session != NULL && session->seed != 0)
    add (cli, builder, "random", "%" G_GINT64_FORMAT, (gint64) session->seed); /* as it was given */
  if (session != NULL && cli_session_class (session) != NULL)
    add (cli, builder, "class", "%s", cli_session_class (session));
  for (guint i = 0; session != NULL && i < session->watches->len; i++)
    add (cli, builder, "watch", "%s", (char *) session->watches->pdata[i]);
  for (int i = 1; i < argc; i++)
    g_strv_builder_add (builder, argv[i]);
  return g_strv_builder_end (builder);
}

/* -- when it was read -- */

/* (nullable): where the option's value is */
static gpointer
field_of (const Cli *cli, const char *name)
{
  const CliOption *option = find_option (cli, name);

  return option != NULL ? (char *) cli->options + option->offset : NULL;
}

static void
apply_passes (Cli *cli)
{
  char **pipeline = field_of (cli, "pipeline"), **passes = field_of (cli, "pass");
  GStrv *skips = field_of (cli, "skip"), *set = field_of (cli, "set");
  const IrDone *last = last_pipeline (cli->session);
  const char *name = last != NULL ? last->text : cli->session->pipeline;
  const GStrv names = last != NULL                               ? last->passes
                      : g_strcmp0 (name, IR_SESSION_PASSES) == 0 ? cli->session->passes
                                                                 : NULL,
              values = last != NULL    ? last->set
                       : names != NULL ? cli->session->passes_set
                                       : NULL;

  if (pipeline == NULL || passes == NULL || *pipeline != NULL || *passes != NULL || name == NULL)
    return;
  if (names != NULL)
    *passes = g_strjoinv (",", names);
  else
    *pipeline = g_strdup (name);
  cli->session_pipeline = TRUE;
  if (skips != NULL && *skips == NULL && last != NULL)
    *skips = g_strdupv (last->skips);
  if (set == NULL || *set != NULL)
    return;
  cli->session_set = TRUE;
  if (values != NULL)
    *set = g_strdupv (values);
  else if (cli->session->set->len > 0)
    {
      *set = g_new0 (char *, cli->session->set->len + 1);
      for (guint i = 0; i < cli->session->set->len; i++)
        (*set)[i] = g_strdup (cli->session->set->pdata[i]);
    }
}

void
cli_session_apply (Cli *cli)
{
  if (cli->session == NULL)
    return;
  apply_passes (cli);
  cli->session_args = g_new0 (char *, cli->n_args + 2);
  cli->session_args[0] = cli->session->model != NULL ? cli->session->model : cli->session->file;
  memcpy (cli->session_args + 1, cli->args, cli->n_args * sizeof (char *));
  cli->args = cli->session_args;
  cli->n_args++;
}

void
cli_session_clear (Cli *cli)
{
  g_clear_pointer (&cli->session, ir_session_file_free);
  g_clear_pointer (&cli->session_args, g_free);
}

/* -- opening -- */

/* One line each, also where they are of two lines. */
static void
print_said (const Cli *cli, const GPtrArray *said)
{
  for (guint i = 0; i < said->len; i++)
    cli_printerr ("irscope %s: session: %s\n", cli->command->name, (char *) said->pdata[i]);
}

static gboolean
go_to_step (const Cli *cli, CliModel *model, guint step, GError **error)
{
  const guint n = ir_history_n_steps (model->model);

  if (step <= n)
    {
      ir_history_goto (model->model, step);
      model->step = n > 0 || cli->session_step >= 0 ? (gint) step : -1;
      return TRUE;
    }
  g_set_error (error, CLI_ERROR, 0, "%s@%u: the session has %u steps; steps 0 to %u exist",
               cli->session->file, step, n, n);
  return FALSE;
}

/* Passes that the command wants, or that its options name, take the place of those of the session. */
gboolean
cli_session_open (
    Cli *cli, const CliModelOptions *options, gboolean with_passes, CliModel *model, GError **error)
{
  const IrSessionFile *session = cli->session;
  g_autoptr (GPtrArray) said = g_ptr_array_new_with_free_func (g_free);
  const gboolean own = with_passes || options->opset != 0 ||
                       (!cli->session_pipeline &&
                        (options->pipeline != NULL || options->passes != NULL));
  g_auto (IrSessionReplay) replay = { 0 };
  IrSessionReplayOptions how = { .backend = ir_backend_find (
                                     options->device != NULL ? options->device : "cpu"),
                                 .edits_only = own };
  IrPipelineResult result;

  model->path = g_strdup (cli->args[0]);
  model->step = -1;
  model->problems = ir_problems_new ();
  model->model = ir_session_file_load (session, model->problems, said, cli->cancellable, error);
  if (model->model == NULL)
    {
      cli_print_problems (model->problems, IR_SEVERITY_WARNING);
      return FALSE;
    }
  ir_session_file_check_names (session, model->model, said);
  how.expect = options->dims == NULL && options->shapes == NULL;
  if (!cli_bind_dims (options, model->model, model->problems, error) ||
      !ir_session_file_replay (session, model->model, &how, &replay, cli->cancellable, error))
    return FALSE;
  print_said (cli, said);
  print_said (cli, replay.said);
  if (!own)
    return go_to_step (cli, model, cli->session_step >= 0 ? (guint) cli->session_step : replay.step,
                       error) &&
           cli_ask_for_kernels (options, model->model, error);
  return cli_run_pipeline (cli, options, model->model, &result, error) &&
         (cli->session_step < 0 || go_to_step (cli, model, (guint) cli->session_step, error)) &&
         cli_ask_for_kernels (options, model->model, error);
}
