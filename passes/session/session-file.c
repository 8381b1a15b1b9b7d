#include "config.h"

#include "passes/session/session-file.h"

#include "core/act/act.h"
#include "core/ir/history.h"

#include <gio/gio.h>
#include <string.h>

#define HASH_BLOCK (1 << 20) /* bytes that are read at once */

/**
 * ir_session_error_quark:
 *
 * Returns: the domain of #IrSessionError
 */
GQuark
ir_session_error_quark (void)
{
  return g_quark_from_static_string ("ir-session-error-quark");
}

/* -- what was done -- */

static const char *const kind_names[IR_N_DONE_KINDS] = {
  [IR_DONE_ACT] = "act",     [IR_DONE_TEXT] = "text",         [IR_DONE_KERNEL] = "kernel",
  [IR_DONE_OPSET] = "opset", [IR_DONE_PIPELINE] = "pipeline",
};

/**
 * ir_done_kind_name:
 * @kind: a kind
 *
 * Returns: (transfer none): its name in files, such as "act"
 */
const char *
ir_done_kind_name (IrDoneKind kind)
{
  return kind_names[kind];
}

/**
 * ir_done_is_edit:
 * @done: what was done
 *
 * Returns: %FALSE if it is a run of a pipeline, which the next run replaces
 */
gboolean
ir_done_is_edit (const IrDone *done)
{
  return done->kind != IR_DONE_PIPELINE;
}

static void
count_clear (gpointer count)
{
  g_free (((IrDoneCount *) count)->rule);
}

/**
 * ir_done_new:
 * @kind: how @text is read
 * @text: what was done
 * @skips: (nullable) (array zero-terminated=1): what a pipeline left out; copied
 * @at: the number of steps that it was done behind
 *
 * Returns: (transfer full): of which it is not known what it made
 */
IrDone *
ir_done_new (IrDoneKind kind, const char *text, const char *const *skips, guint at)
{
  IrDone *done = g_new0 (IrDone, 1);

  done->kind = kind;
  done->text = g_strdup (text);
  done->skips = g_strdupv ((char **) skips);
  done->at = done->n_steps = at;
  return done;
}

/**
 * ir_done_expect_nothing:
 * @done: what was done
 *
 * Nothing is made by it, until ir_done_expect_rule() says what.
 */
void
ir_done_expect_nothing (IrDone *done)
{
  g_clear_pointer (&done->made, g_array_unref);
  done->made = g_array_new (FALSE, FALSE, sizeof (IrDoneCount));
  g_array_set_clear_func (done->made, count_clear);
}

/**
 * ir_done_expect_rule:
 * @done: of which something is expected
 * @rule: a pass, '/' and a rule of it
 * @n: steps
 *
 * Adds that @rule makes @n steps.
 */
void
ir_done_expect_rule (IrDone *done, const char *rule, guint n)
{
  const IrDoneCount count = { g_strdup (rule), n };

  g_array_append_val (done->made, count);
}

/**
 * ir_done_copy:
 * @done: what was done
 *
 * Returns: (transfer full): the same
 */
IrDone *
ir_done_copy (const IrDone *done)
{
  IrDone *copy = ir_done_new (done->kind, done->text, (const char *const *) done->skips, done->at);

  copy->passes = g_strdupv (done->passes);
  copy->set = g_strdupv (done->set);
  copy->step_class = g_strdup (done->step_class);
  copy->n_steps = done->n_steps;
  copy->n_nodes = done->n_nodes;
  if (done->made != NULL)
    ir_done_expect_nothing (copy);
  for (guint i = 0; done->made != NULL && i < done->made->len; i++)
    {
      const IrDoneCount *count = &g_array_index (done->made, IrDoneCount, i);

      ir_done_expect_rule (copy, count->rule, count->n);
    }
  return copy;
}

/**
 * ir_done_free:
 * @done: (nullable) (transfer full): what was done
 */
void
ir_done_free (IrDone *done)
{
  if (done == NULL)
    return;
  g_free (done->text);
  g_strfreev (done->skips);
  g_strfreev (done->passes);
  g_strfreev (done->set);
  g_free (done->step_class);
  g_clear_pointer (&done->made, g_array_unref);
  g_free (done);
}

static void
count_step (GArray *made, GHashTable *places, const IrModel *model, guint step)
{
  const char *pass = ir_history_pass_of (model, step), *rule = ir_history_step (model, step)->rule;
  char *name = g_strdup_printf ("%s/%s", pass, rule);
  gpointer place;

  if (g_hash_table_lookup_extended (places, name, NULL, &place))
    {
      g_array_index (made, IrDoneCount, GPOINTER_TO_UINT (place)).n++;
      g_free (name);
      return;
    }
  g_hash_table_insert (places, name, GUINT_TO_POINTER (made->len));
  g_array_append_val (made, ((IrDoneCount){ name, 1 }));
}

/**
 * ir_done_expect:
 * @done: what was done
 * @model: with the history that it has led to
 * @n_steps: so many of its steps were there then
 *
 * Keeps which rules made the steps behind @done->at, to compare a replay with. Number of nodes is
 * known where @model is at step @n_steps, or the step has costs.
 */
void
ir_done_expect (IrDone *done, const IrModel *model, guint n_steps)
{
  g_autoptr (GHashTable) places = g_hash_table_new (g_str_hash, g_str_equal);

  ir_done_expect_nothing (done);
  for (guint step = done->at + 1; step <= n_steps; step++)
    count_step (done->made, places, model, step);
  done->n_steps = n_steps;
  done->n_nodes = ir_history_cursor (model) == n_steps ? ir_model_n_counted_nodes (model)
                  : n_steps > 0 ? ir_history_step (model, n_steps)->cost_after.n_nodes
                                : 0;
}

/**
 * ir_done_title:
 * @done: what was done
 *
 * Returns: (transfer full): as menus call it, such as "Rename Node" or "Run Pipeline default"
 */
char *
ir_done_title (const IrDone *done)
{
  g_autofree char *name = g_strndup (done->text, strcspn (done->text, " "));
  const IrAct *act = done->kind == IR_DONE_ACT ? ir_act_find (name) : NULL;
  const guint n = done->passes != NULL ? g_strv_length (done->passes) : 0;

  switch (done->kind)
    {
    case IR_DONE_ACT:
      return g_strdup (act != NULL ? act->title : name);
    case IR_DONE_TEXT:
      return g_strdup ("Apply Text");
    case IR_DONE_KERNEL:
      return g_strdup ("Choose Kernel");
    case IR_DONE_OPSET:
      return g_strdup_printf ("Upgrade to Opset %s", done->text);
    case IR_DONE_PIPELINE:
      return n == 0   ? g_strdup_printf ("Run Pipeline %s", done->text)
             : n == 1 ? g_strdup_printf ("Run Pass %s", done->passes[0])
                      : g_strdup_printf ("Run %u Passes", n);
    case IR_N_DONE_KINDS:
    default:
      g_return_val_if_reached (NULL);
    }
}

/* -- the session -- */

/**
 * ir_done_branch_free:
 * @branch: (transfer full): a history that was left
 */
void
ir_done_branch_free (IrDoneBranch *branch)
{
  g_ptr_array_unref (branch->done);
  g_free (branch);
}

static void
input_free (gpointer data)
{
  IrSessionInput *input = data;

  g_free (input->name);
  g_free (input->kind);
  g_free (input->text);
  g_free (input);
}

static void
breakpoint_free (gpointer data)
{
  g_free (((IrSessionBreakpoint *) data)->text);
  g_free (data);
}

static void
note_free (gpointer data)
{
  g_free (((IrSessionNote *) data)->node);
  g_free (((IrSessionNote *) data)->text);
  g_free (data);
}

/**
 * ir_session_file_new:
 *
 * Returns: (transfer full): a session of an empty graph, to which nothing was done
 */
IrSessionFile *
ir_session_file_new (void)
{
  IrSessionFile *self = g_new0 (IrSessionFile, 1);

  self->program = g_strdup (IR_VERSION);
  self->prove = TRUE;
  self->set = g_ptr_array_new_with_free_func (g_free);
  self->done = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_done_free);
  self->branches = g_ptr_array_new_with_free_func ((GDestroyNotify) ir_done_branch_free);
  self->sizes = g_ptr_array_new_with_free_func (g_free);
  self->inputs = g_ptr_array_new_with_free_func (input_free);
  self->breakpoints = g_ptr_array_new_with_free_func (breakpoint_free);
  self->watches = g_ptr_array_new_with_free_func (g_free);
  self->notes = g_ptr_array_new_with_free_func (note_free);
  self->window = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  return self;
}

/**
 * ir_session_file_free:
 * @self: (nullable) (transfer full): a session
 */
void
ir_session_file_free (IrSessionFile *self)
{
  if (self == NULL)
    return;
  g_free (self->file);
  g_free (self->program);
  g_free (self->model);
  g_free (self->sha256);
  g_free (self->other);
  g_free (self->pipeline);
  g_free (self->step_class);
  g_strfreev (self->passes);
  g_strfreev (self->passes_set);
  g_free (self->compare);
  g_free (self->view);
  for (guint i = 0; i < IR_N_SESSION_VIEWS; i++)
    g_free (self->views[i]);
  g_ptr_array_unref (self->set);
  g_ptr_array_unref (self->done);
  g_ptr_array_unref (self->branches);
  g_ptr_array_unref (self->sizes);
  g_ptr_array_unref (self->inputs);
  g_ptr_array_unref (self->breakpoints);
  g_ptr_array_unref (self->watches);
  g_ptr_array_unref (self->notes);
  g_hash_table_unref (self->window);
  g_free (self);
}

static void
spell_out (const IrSessionFile *self, const GPtrArray *all)
{
  for (guint i = 0; i < all->len; i++)
    {
      IrDone *done = all->pdata[i];

      if (done->kind != IR_DONE_PIPELINE)
        continue;
      if (done->step_class == NULL)
        done->step_class = g_strdup (self->step_class);
      if (done->set == NULL && self->set->len > 0)
        {
          done->set = g_new0 (char *, self->set->len + 1);
          for (guint k = 0; k < self->set->len; k++)
            done->set[k] = g_strdup (self->set->pdata[k]);
        }
    }
}

/**
 * ir_session_file_spell_out:
 * @self: a session
 *
 * Gives every run of a pipeline the class and the options that the session says for all of them.
 */
void
ir_session_file_spell_out (IrSessionFile *self)
{
  spell_out (self, self->done);
  for (guint i = 0; i < self->branches->len; i++)
    spell_out (self, ((IrDoneBranch *) self->branches->pdata[i])->done);
}

/**
 * ir_session_file_add_input:
 * @name: of an input of the model
 * @kind: a name of ir_given_name(), or "fill"
 * @text: what it is given
 */
void
ir_session_file_add_input (IrSessionFile *self,
                           const char *name,
                           const char *kind,
                           const char *text)
{
  IrSessionInput *input = g_new0 (IrSessionInput, 1);

  *input = (IrSessionInput){ g_strdup (name), g_strdup (kind), g_strdup (text) };
  g_ptr_array_add (self->inputs, input);
}

/**
 * ir_session_file_add_breakpoint:
 * @text: as ir_breakpoint_parse() reads it
 * @on: whether it stops
 */
void
ir_session_file_add_breakpoint (IrSessionFile *self, const char *text, gboolean on)
{
  IrSessionBreakpoint *breakpoint = g_new0 (IrSessionBreakpoint, 1);

  *breakpoint = (IrSessionBreakpoint){ g_strdup (text), on };
  g_ptr_array_add (self->breakpoints, breakpoint);
}

/**
 * ir_session_file_add_note:
 * @node: name of a node, or # and its id
 * @text: what is pinned to it
 */
void
ir_session_file_add_note (IrSessionFile *self, const char *node, const char *text)
{
  IrSessionNote *note = g_new0 (IrSessionNote, 1);

  *note = (IrSessionNote){ g_strdup (node), g_strdup (text) };
  g_ptr_array_add (self->notes, note);
}

/**
 * ir_session_hash:
 * @path: a file
 * @error: return location for an error, or %NULL
 *
 * Reads all of the file. Weights in files beside it are not part of it.
 *
 * Fails with a #GIOErrorEnum.
 *
 * Returns: (transfer full) (nullable): the SHA-256 of its contents, in hexadecimal digits
 */
char *
ir_session_hash (const char *path, GError **error)
{
  g_autoptr (GFile) file = g_file_new_for_path (path);
  g_autoptr (GFileInputStream) stream = g_file_read (file, NULL, error);
  g_autoptr (GChecksum) checksum = g_checksum_new (G_CHECKSUM_SHA256);
  g_autofree guchar *block = g_malloc (HASH_BLOCK);
  gssize n = 1;

  while (stream != NULL && n > 0)
    {
      n = g_input_stream_read (G_INPUT_STREAM (stream), block, HASH_BLOCK, NULL, error);
      if (n > 0)
        g_checksum_update (checksum, block, n);
    }
  return stream != NULL && n == 0 ? g_strdup (g_checksum_get_string (checksum)) : NULL;
}
