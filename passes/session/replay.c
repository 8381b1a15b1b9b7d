/* A session, done again on a model: the same file and the same program give the same steps. Where the model
 * or the program has changed, what still fits is done, and what is not as it was is said, line by line.
 *
 * States share a model as long as its history only gets longer; a state that begins earlier has a
 * copy. Numbers of steps in a session are those of its own history, so they are brought over by what
 * each thing done has made then and now. */
#include "config.h"

#include "passes/session/session-file.h"

#include "core/act/act.h"
#include "core/exec/exec.h"
#include "core/exec/schedule/kernel-choice.h"
#include "core/io/io.h"
#include "core/ir/history.h"
#include "core/op/op.h"
#include "passes/rewrites/upgrade.h"

#include <string.h>

#define EDIT_PASS "edit" /* of what is done by hand */

typedef struct
{
  const IrSessionFile *file;
  const IrSessionReplayOptions *options;
  GCancellable *cancellable;
  GPtrArray *said;
  guint n_began, n_all;
  gboolean copies; /* the next thing is done to a copy, even where the history gets longer */
} Replaying;

static void G_GNUC_PRINTF (2, 3) say (GPtrArray *said, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_ptr_array_add (said, g_strdup_vprintf (format, args));
  va_end (args);
}

/* -- states -- */

static void
replayed_clear (gpointer data)
{
  ir_model_unref (((IrSessionReplayed *) data)->model);
}

static void
replayed_unref (gpointer data)
{
  g_rc_box_release_full (data, replayed_clear);
}

static gpointer
replayed_ref (gconstpointer data, gpointer unused)
{
  return g_rc_box_acquire ((gpointer) data);
}

/* Takes @model. */
static IrSessionReplayed *
replayed_new (const IrDone *done, IrModel *model, guint base)
{
  IrSessionReplayed *state = g_rc_box_new0 (IrSessionReplayed);

  *state = (IrSessionReplayed){ done, model, ir_history_n_steps (model), base };
  return state;
}

static const IrSessionReplayed *
last_of (const GPtrArray *line)
{
  return line->pdata[line->len - 1];
}

/* Which step of the history of now is step @step of that of then. */
static guint
step_now (const GPtrArray *line, guint n_states, guint step)
{
  for (guint i = n_states; i-- > 0;)
    {
      const IrSessionReplayed *state = line->pdata[i];

      if (state->done == NULL || step >= state->done->n_steps)
        return state->done == NULL ? MIN (step, state->n_steps) : state->n_steps;
      if (step > state->done->at)
        return state->base + MIN (step - state->done->at, state->n_steps - state->base);
    }
  return 0;
}

/* A model that is at @base, with nothing behind it, to go on from. (transfer full) */
static IrModel *
begin_at (Replaying *replaying, const IrSessionReplayed *before, guint base)
{
  IrModel *model = before->model;
  const gboolean cuts = base < ir_history_n_steps (model);

  model = replaying->copies || (cuts && replaying->options->keep_states) ? ir_history_clone (model)
                                                                         : ir_model_ref (model);
  replaying->copies = FALSE;
  ir_history_goto (model, base);
  if (cuts)
    ir_edit_free (ir_edit_new (model)); /* forgets the steps behind */
  return model;
}

/* -- doing one thing -- */

static gboolean
do_act (IrEdit *edit, const char *text, GError **error)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_auto (GStrv) words = NULL;
  g_auto (IrActDone) done = { 0 };

  return g_shell_parse_argv (text, NULL, &words, error) &&
         ir_act_do (edit, (const char *const *) words, &done, problems, error);
}

static gboolean
do_text (IrEdit *edit, const char *text, GError **error)
{
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (IrModel) target = ir_text_read_over (text, -1, ir_edit_model (edit), problems, error);

  for (guint i = 0; target != NULL && i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];

      if (problem->severity < IR_SEVERITY_ERROR)
        continue;
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT, "line %u: %s", problem->line,
                   problem->message);
      return FALSE;
    }
  if (target != NULL)
    ir_act_apply_text (edit, target, problems);
  return target != NULL;
}

/* By its name, or as # and its id; one that is live, else one that was. (nullable) */
static IrNode *
find_any_node (const IrModel *model, const char *name)
{
  IrNode *was = NULL;
  guint64 id;

  if (name[0] == '#' && g_ascii_string_to_unsigned (name + 1, 10, 1, G_MAXUINT32, &id, NULL))
    return id < model->nodes->len ? model->nodes->pdata[id] : NULL;
  for (guint i = 1; i < model->nodes->len; i++)
    {
      IrNode *node = model->nodes->pdata[i];

      if (node->name[0] == '\0' || strcmp (node->name, name) != 0)
        continue;
      if (node->state == IR_STATE_LIVE)
        return node;
      was = node;
    }
  return was;
}

static IrNode *
find_node (const IrModel *model, const char *name)
{
  IrNode *node = find_any_node (model, name);

  return node != NULL && node->state == IR_STATE_LIVE ? node : NULL;
}

static gboolean
do_kernel (IrEdit *edit, const char *text, GError **error)
{
  const char *equals = strrchr (text, '=');
  g_autofree char *name = equals != NULL ? g_strndup (text, (gsize) (equals - text)) : NULL;
  IrNode *node = name != NULL ? find_node (ir_edit_model (edit), name) : NULL;

  if (node == NULL)
    g_set_error (error, IR_ACT_ERROR, IR_ACT_ERROR_NOT_FOUND, "there is no node '%s'",
                 name != NULL ? name : text);
  else
    ir_edit_ask_for_kernel (edit, node, equals[1] != '\0' ? equals + 1 : NULL);
  return node != NULL;
}

static gboolean
do_edit (IrModel *model, const IrDone *done, GError **error)
{
  static gboolean (*const edits[]) (IrEdit *, const char *, GError **) = {
    [IR_DONE_ACT] = do_act, [IR_DONE_TEXT] = do_text, [IR_DONE_KERNEL] = do_kernel
  };
  const guint before = ir_history_n_steps (model);
  const IrCost cost = ir_cost_model (model, NULL);
  g_autoptr (IrEdit) edit = ir_edit_new (model);
  gboolean ok;

  ir_edit_begin_pass (edit, EDIT_PASS);
  ok = edits[done->kind](edit, done->text, error);
  ir_edit_end_pass (edit);
  if (ok && ir_history_n_steps (model) == before + 1)
    {
      const IrCost after = ir_cost_model (model, NULL);

      ir_history_set_cost (model, before + 1, &cost, &after);
    }
  return ok;
}

static gboolean
set_options (IrPipeline *pipeline, const IrSessionFile *file, const IrDone *done, GError **error)
{
  for (guint i = 0; done->set != NULL && done->set[i] != NULL; i++)
    if (!ir_pipeline_set (pipeline, done->set[i], error))
      return FALSE;
  for (guint i = 0; done->set == NULL && i < file->set->len; i++)
    if (!ir_pipeline_set (pipeline, file->set->pdata[i], error))
      return FALSE;
  return TRUE;
}

/* (nullable) */
static IrPipeline *
pipeline_of (const IrSessionFile *file, const IrDone *done, GError **error)
{
  static const char *const upgrade[] = { IR_PASS_UPGRADE_OPSET, NULL };
  const gboolean is_upgrade = done->kind == IR_DONE_OPSET;
  const char *const *names = is_upgrade ? upgrade : (const char *const *) done->passes;
  g_autoptr (IrPipeline) pipeline = names != NULL ? ir_pipeline_new_from_names (names, error)
                                                  : ir_pipeline_load (done->text, error);
  g_autofree char *opset = g_strconcat (IR_PASS_UPGRADE_OPSET ".opset=", done->text, NULL);

  if (pipeline == NULL || !(is_upgrade ? ir_pipeline_set (pipeline, opset, error)
                                       : set_options (pipeline, file, done, error)))
    return NULL;
  if (is_upgrade) /* an edit: other pipelines leave it in place */
    {
      g_free (pipeline->name);
      pipeline->name = g_strdup (EDIT_PASS);
    }
  return g_steal_pointer (&pipeline);
}

static IrClass
class_of (const IrSessionFile *file, const IrDone *done)
{
  const char *name = done->step_class != NULL ? done->step_class : file->step_class;

  for (IrClass c = IR_CLASS_EXACT; c <= IR_CLASS_UNSAFE; c++)
    if (g_strcmp0 (name, ir_class_name (c)) == 0)
      return c;
  return IR_CLASS_ROUNDING;
}

static gboolean
do_pipeline (const Replaying *replaying, IrModel *model, const IrDone *done, GError **error)
{
  g_autoptr (IrPipeline) pipeline = pipeline_of (replaying->file, done, error);
  IrPolicy policy = { ir_policy_skip_named, done->skips };
  const IrPipelineOptions options = { .max_class = class_of (replaying->file, done),
                                      .policy = done->skips != NULL ? &policy : NULL,
                                      .record_refusals = replaying->options->keep_states,
                                      .backend = replaying->options->backend };
  IrPipelineResult result = { 0 };

  return pipeline != NULL &&
         ir_pipeline_run (model, pipeline, &options, &result, replaying->cancellable, error);
}

/* -- what is not as it was -- */

static guint
made_by (const IrDone *done, const char *rule)
{
  for (guint i = 0; i < done->made->len; i++)
    if (strcmp (g_array_index (done->made, IrDoneCount, i).rule, rule) == 0)
      return g_array_index (done->made, IrDoneCount, i).n;
  return 0;
}

static void
compare_rules (GPtrArray *said, const char *title, const IrDone *then, const IrDone *now)
{
  for (guint i = 0; i < then->made->len; i++)
    {
      const IrDoneCount *count = &g_array_index (then->made, IrDoneCount, i);
      const guint n = made_by (now, count->rule);

      if (n != count->n)
        say (said, "%s: %s makes %u %s, it made %u when the session was written", title,
             count->rule, n, n == 1 ? "step" : "steps", count->n);
    }
  for (guint i = 0; i < now->made->len; i++)
    {
      const IrDoneCount *count = &g_array_index (now->made, IrDoneCount, i);

      if (made_by (then, count->rule) == 0)
        say (said, "%s: %s makes %u %s, it made none when the session was written", title,
             count->rule, count->n, count->n == 1 ? "step" : "steps");
    }
}

static void
compare_made (const Replaying *replaying, const char *title, const IrSessionReplayed *state)
{
  const IrDone *then = state->done;
  g_autoptr (GPtrArray) own = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_done_free);
  IrDone *now = ir_done_new (then->kind, then->text, NULL, state->base);

  g_ptr_array_add (own, now);
  if (!replaying->options->expect || then->made == NULL)
    return;
  ir_done_expect (now, state->model, state->n_steps);
  compare_rules (replaying->said, title, then, now);
  if (then->n_nodes > 0 && now->n_nodes != then->n_nodes)
    say (replaying->said, "%s: the graph has %u nodes then, it had %u when the session was written",
         title, now->n_nodes, then->n_nodes);
}

/* Does it behind the last state of @line. Returns: FALSE, with @error, if it was cancelled */
static gboolean
do_next (Replaying *replaying, GPtrArray *line, const IrDone *done, GError **error)
{
  const guint base = step_now (line, line->len, done->at);
  g_autofree char *title = ir_done_title (done);
  g_autoptr (IrModel) model = NULL;
  g_autoptr (GError) why = NULL;
  gboolean ok;

  if (g_cancellable_set_error_if_cancelled (replaying->cancellable, error))
    return FALSE;
  if (replaying->options->progress != NULL)
    replaying->options->progress (replaying->n_began, replaying->n_all, title,
                                  replaying->options->progress_data);
  replaying->n_began++;
  model = begin_at (replaying, last_of (line), base);
  ok = done->kind == IR_DONE_OPSET || done->kind == IR_DONE_PIPELINE
           ? do_pipeline (replaying, model, done, &why)
           : do_edit (model, done, &why);
  if (ok)
    {
      g_ptr_array_add (line, replayed_new (done, g_steal_pointer (&model), base));
      compare_made (replaying, title, last_of (line));
      return TRUE;
    }
  ir_history_goto (model, base);
  ir_edit_free (ir_edit_new (model)); /* forgets what was done of it */
  if (g_cancellable_set_error_if_cancelled (replaying->cancellable, error))
    return FALSE;
  if (done->kind == IR_DONE_TEXT)
    say (replaying->said, "%s is left out: %s", title,
         why != NULL ? why->message : "it cannot be done");
  else
    say (replaying->said, "%s (%s) is left out: %s", title, done->text,
         why != NULL ? why->message : "it cannot be done");
  return TRUE;
}

/* @n_states: (nullable): gets, for each number of things done, how many states there were then. */
static gboolean
do_all (Replaying *replaying,
        GPtrArray *line,
        const GPtrArray *done,
        guint n_done,
        guint *n_states,
        GError **error)
{
  for (guint i = 0; i < n_done; i++)
    {
      if (!do_next (replaying, line, done->pdata[i], error))
        return FALSE;
      if (n_states != NULL)
        n_states[i + 1] = line->len;
    }
  return TRUE;
}

static gboolean
do_branches (Replaying *replaying, IrSessionReplay *replay, const guint *n_states, GError **error)
{
  const IrSessionFile *file = replaying->file;

  for (guint i = 0; i < file->branches->len; i++)
    {
      const IrDoneBranch *branch = file->branches->pdata[i];
      GPtrArray *line = g_ptr_array_new_with_free_func (replayed_unref);

      g_ptr_array_add (replay->branches, line);
      for (guint k = 0; k < n_states[branch->n_shared]; k++)
        g_ptr_array_add (line, replayed_ref (replay->line->pdata[k], NULL));
      replaying->copies = TRUE; /* the model of the line ends where the line ends */
      if (!do_all (replaying, line, branch->done, branch->done->len, NULL, error))
        return FALSE;
    }
  return TRUE;
}

static guint
n_to_do (const IrSessionFile *file, const IrSessionReplayOptions *options)
{
  guint n = options->keep_states ? file->done->len : file->n_done;

  while (options->edits_only && n > 0 && !ir_done_is_edit (file->done->pdata[n - 1]))
    n--;
  return n;
}

/**
 * ir_session_file_replay:
 * @self: a session
 * @model: the model that it is of, to which nothing was done; referenced, and edited
 * @options: what is to be done
 * @replay: (out caller-allocates): clear with ir_session_replay_clear(), also on failure
 * @cancellable: (nullable): ends it
 * @error: return location for an error, or %NULL
 *
 * Does again what was done. What cannot be done is left out, and the rest follows; with
 * @options->expect, what another number of steps or nodes comes of than then is said.
 *
 * Fails with %G_IO_ERROR_CANCELLED alone.
 *
 * Returns: %FALSE if it was cancelled
 */
gboolean
ir_session_file_replay (const IrSessionFile *self,
                        IrModel *model,
                        const IrSessionReplayOptions *options,
                        IrSessionReplay *replay,
                        GCancellable *cancellable,
                        GError **error)
{
  const guint n = n_to_do (self, options);
  Replaying replaying = { self, options, cancellable, NULL, 0, n };
  g_autofree guint *n_states = g_new0 (guint, n + 1);

  *replay = (IrSessionReplay){ .line = g_ptr_array_new_with_free_func (replayed_unref),
                               .branches = g_ptr_array_new_with_free_func (
                                   (GDestroyNotify) g_ptr_array_unref),
                               .said = g_ptr_array_new_with_free_func (g_free) };
  replaying.said = replay->said;
  g_ptr_array_add (replay->line, replayed_new (NULL, ir_model_ref (model), 0));
  n_states[0] = 1;
  if (!do_all (&replaying, replay->line, self->done, n, n_states, error) ||
      (options->keep_states && !do_branches (&replaying, replay, n_states, error)))
    return FALSE;
  if (self->n_undone > 0)
    say (replay->said, "%u %s undone that the model's file holds: %s there again", self->n_undone,
         self->n_undone == 1 ? "thing was" : "things were",
         self->n_undone == 1 ? "it is" : "they are");
  replay->at = n_states[MIN (self->n_done, n)] - 1;
  replay->step = step_now (replay->line, replay->at + 1, self->step);
  return TRUE;
}

/**
 * ir_session_replay_clear:
 * @replay: what ir_session_file_replay() filled, or zeros
 */
void
ir_session_replay_clear (IrSessionReplay *replay)
{
  g_clear_pointer (&replay->line, g_ptr_array_unref);
  g_clear_pointer (&replay->branches, g_ptr_array_unref);
  g_clear_pointer (&replay->said, g_ptr_array_unref);
}

/* -- the model -- */

/**
 * ir_session_file_check_model:
 * @self: a session
 * @said: (element-type utf8): gets a line for each thing that differs
 *
 * Compares the contents of the model's file, and the program, with those that wrote the session. All
 * of the file is read.
 */
void
ir_session_file_check_model (const IrSessionFile *self, GPtrArray *said)
{
  g_autofree char *sha256 = self->model != NULL && self->sha256 != NULL
                                ? ir_session_hash (self->model, NULL)
                                : NULL;

  if (sha256 != NULL && strcmp (sha256, self->sha256) != 0)
    say (said, "%s has changed since the session was written", self->model);
  if (strcmp (self->program, IR_VERSION) != 0)
    say (said, "the session was written by irscope %s, this is %s", self->program, IR_VERSION);
}

static gboolean
is_free_dim (const GArray *dims, const char *size)
{
  const gsize n = strlen (size) - (strrchr (size, '=') != NULL ? strlen (strrchr (size, '=')) : 0);

  for (guint i = 0; i < dims->len; i++)
    {
      const char *name = g_array_index (dims, IrFreeDim, i).name;

      if (strlen (name) == n && strncmp (name, size, n) == 0)
        return TRUE;
    }
  return FALSE;
}

/**
 * ir_session_file_check_names:
 * @self: a session
 * @model: that it is replayed on
 * @said: (element-type utf8): gets a line for each name that @model does not have
 *
 * Looks for the inputs, sizes and nodes that the session says something of.
 */
void
ir_session_file_check_names (const IrSessionFile *self, const IrModel *model, GPtrArray *said)
{
  g_autoptr (GArray) dims = self->sizes->len > 0 ? ir_free_dims (model, NULL) : NULL;

  for (guint i = 0; i < self->sizes->len; i++)
    if (!is_free_dim (dims, self->sizes->pdata[i]))
      say (said, "the size %s is left out: the model has no free dimension of that name",
           (char *) self->sizes->pdata[i]);
  for (guint i = 0; i < self->inputs->len; i++)
    {
      const IrSessionInput *input = self->inputs->pdata[i];
      const IrValue *value = ir_graph_find_value (model->main, input->name);

      if (value == NULL || !ir_value_is_graph_input (value))
        say (said, "the input %s is left out: the model has none of that name", input->name);
    }
}

/**
 * ir_session_file_check_notes:
 * @self: a session
 * @model: that it is replayed on
 * @said: (element-type utf8): gets a line for each note whose node was at no step of @model
 */
void
ir_session_file_check_notes (const IrSessionFile *self, const IrModel *model, GPtrArray *said)
{
  for (guint i = 0; i < self->notes->len; i++)
    {
      const IrSessionNote *note = self->notes->pdata[i];

      if (find_any_node (model, note->node) == NULL)
        say (said, "the note on %s has no node: it is kept", note->node);
    }
}

/**
 * ir_session_file_load:
 * @self: a session
 * @problems: (element-type IrProblem): gets what the model's file has wrong
 * @said: (nullable) (element-type utf8): gets a line for what is another than then
 * @cancellable: (nullable): ends it
 * @error: return location for an error, or %NULL
 *
 * Fails as ir_model_load() does, with the session's name before it.
 *
 * Returns: (transfer full) (nullable): the model that the session is of, to which nothing was done
 */
IrModel *
ir_session_file_load (const IrSessionFile *self,
                      GPtrArray *problems,
                      GPtrArray *said,
                      GCancellable *cancellable,
                      GError **error)
{
  IrModel *model;

  if (self->model == NULL)
    return ir_act_new_model ();
  model = ir_model_load (self->model, problems, cancellable, error);
  if (model == NULL)
    g_prefix_error (
        error, "the model of the session %s: ", self->file != NULL ? self->file : "that was kept");
  else if (said != NULL)
    ir_session_file_check_model (self, said);
  return model;
}
