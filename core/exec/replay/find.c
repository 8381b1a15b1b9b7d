/* Any value of a run: from memory, from the file of a budget, or by running again the few nodes
 * that lead to it; and in words, how it was had. */
#include "config.h"

#include "core/exec/run/capture.h"
#include "core/exec/run/iterations.h"
#include "core/exec/replay/replay.h"

static IrTensor *
known_to_run (const IrValue *value, GCancellable *cancellable, gpointer data)
{
  return ir_capture_peek (data, value->id);
}

/**
 * ir_replay_of_run:
 * @run: a run
 * @attachment: by ir_capture_attachment(); whoever uses the replay has its lock
 * @error: return location for an error
 *
 * Returns: (transfer none) (nullable): what gives values of @run again; it ends with it
 */
IrReplay *
ir_replay_of_run (IrRun *run, IrCaptureAttachment *attachment, GError **error)
{
  attachment->free = (GDestroyNotify) ir_replay_free;
  if (attachment->data == NULL)
    attachment->data = ir_replay_new (run->model, run->schedule, ir_run_options (run),
                                      ir_run_inputs (run), known_to_run, run, error);
  if (attachment->data != NULL)
    ir_replay_set_run (attachment->data, run);
  return attachment->data;
}

static IrTensor *
compute_again (
    IrRun *run, const IrValue *value, GCancellable *cancellable, IrFound *found, GError **error)
{
  IrCaptureAttachment *attachment = ir_capture_attachment (run);
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&attachment->lock);
  IrReplay *replay = ir_replay_of_run (run, attachment, error);

  return replay != NULL ? ir_replay_find (replay, value, cancellable, found, error) : NULL;
}

/**
 * ir_run_find:
 * @run: a run
 * @value: id of a value of its model
 * @cancellable: (nullable): looked at while nodes run
 * @found: (out caller-allocates) (optional): how the contents were had
 * @error: return location for an error
 *
 * Gives what @value held in @run: from memory, from the file that a budget sent it to, or else by
 * running the smallest set of nodes that leads to it from values that are there, with the same
 * kernels on as many threads, hence with the same bits. A value in a body of a loop is that of the
 * last round. May be called from any thread.
 *
 * Fails with an %IR_EXEC_ERROR where the run did not come through @value, or where a node fails.
 *
 * Returns: (transfer full) (nullable): the contents, as the graph has them
 */
IrTensor *
ir_run_find (IrRun *run, IrValueId value, GCancellable *cancellable, IrFound *found, GError **error)
{
  const IrValue *what = ir_model_live_value (run->model, value);
  g_auto (IrFound) unwanted = { 0 };
  g_autoptr (GError) local = NULL;
  const IrTensor *constant = what != NULL ? ir_value_constant (what) : NULL;
  IrTensor *tensor;

  found = found != NULL ? found : &unwanted;
  *found = (IrFound){ 0 };
  if (what == NULL)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                   "The graph that ran has no such value");
      return NULL;
    }
  found->in_body = what->graph->kind == IR_GRAPH_SUBGRAPH;
  found->how = constant != NULL ? IR_FOUND_CONSTANT : IR_FOUND_GIVEN;
  tensor = constant != NULL ? (IrTensor *) constant
                            : g_hash_table_lookup (ir_run_inputs (run), GUINT_TO_POINTER (value));
  if (tensor != NULL)
    return ir_tensor_ref (tensor);
  found->how = ir_capture_is_spilled (run, value) ? IR_FOUND_SPILLED : IR_FOUND_KEPT;
  tensor = ir_capture_present (run, value, cancellable, &local);
  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return NULL;
    }
  if (tensor == NULL && what->initializer != NULL)
    tensor = what->initializer;
  if (tensor != NULL)
    return ir_tensor_ref (tensor);
  found->how = IR_FOUND_NOT;
  return compute_again (run, what, cancellable, found, error);
}

/**
 * ir_run_find_iteration:
 * @run: a run
 * @name: a value of its model in an iteration; none is left open
 * @cancellable: (nullable): looked at while nodes run
 * @found: (out caller-allocates) (optional): how the contents were had
 * @error: return location for an error
 *
 * Gives what a value held in one iteration: what the run has kept of it, or by running the loop again. Where
 * the run has taken checkpoints (#IrRunOptions.iterations), these are at most 2 sqrt (n) of the n iterations
 * of an outermost loop. The bits are those of the run. May be called from any thread.
 *
 * Fails with an %IR_EXEC_ERROR where there was no such iteration, or it did not come through the value.
 *
 * Returns: (transfer full) (nullable): the contents, as the graph has them
 */
IrTensor *
ir_run_find_iteration (IrRun *run,
                       const IrIterationName *name,
                       GCancellable *cancellable,
                       IrFound *found,
                       GError **error)
{
  IrCaptureAttachment *attachment = ir_capture_attachment (run);
  g_auto (IrFound) unwanted = { 0 };
  IrTensor *kept = run->iterations != NULL
                       ? ir_iteration_values_find (run->iterations, name->value->id, name->frame,
                                                   name->iteration)
                       : NULL;

  found = found != NULL ? found : &unwanted;
  *found = (IrFound){ .how = IR_FOUND_KEPT };
  if (kept != NULL)
    return ir_tensor_ref (kept);
  found->how = IR_FOUND_NOT;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&attachment->lock);
  IrReplay *replay = ir_replay_of_run (run, attachment, error);
  return replay != NULL ? ir_replay_find_iteration (replay, name, cancellable, found, error) : NULL;
}

/**
 * ir_found_clear:
 * @found: what a function that finds contents has filled in
 */
void
ir_found_clear (IrFound *found)
{
  g_clear_pointer (&found->from, g_ptr_array_unref);
  *found = (IrFound){ 0 };
}

/**
 * ir_found_name:
 * @how: how contents were had
 *
 * Returns: one word for it
 */
const char *
ir_found_name (IrFoundHow how)
{
  static const char *const names[IR_N_FOUNDS] = {
    [IR_FOUND_NOT] = "none",  [IR_FOUND_CONSTANT] = "constant", [IR_FOUND_GIVEN] = "input",
    [IR_FOUND_KEPT] = "kept", [IR_FOUND_SPILLED] = "spilled",   [IR_FOUND_COMPUTED] = "recomputed",
  };

  return how < IR_N_FOUNDS ? names[how] : "";
}

#define MAX_NAMES 4 /* where computing began; more are counted */

static void
append_from (GString *text, const IrFound *found)
{
  guint n = found->from != NULL ? found->from->len : 0;

  for (guint i = 0; i < MIN (n, MAX_NAMES); i++)
    g_string_append_printf (text, "%s%s", i == 0 ? " from " : ", ",
                            (const char *) g_ptr_array_index (found->from, i));
  if (n > MAX_NAMES)
    g_string_append_printf (text, " and %u more", n - MAX_NAMES);
}

/**
 * ir_found_text:
 * @found: how contents were had
 * @model: the model that ran
 *
 * Returns: (transfer full): the same as a sentence without its end
 */
char *
ir_found_text (const IrFound *found, const IrModel *model)
{
  static const char *const words[IR_N_FOUNDS] = {
    [IR_FOUND_NOT] = "there are no contents",
    [IR_FOUND_CONSTANT] = "a constant",
    [IR_FOUND_GIVEN] = "given as an input",
    [IR_FOUND_KEPT] = "kept by the run",
    [IR_FOUND_SPILLED] = "kept by the run, in a file",
    [IR_FOUND_COMPUTED] = "recomputed",
  };
  GString *text = g_string_new (words[found->how]);

  if (found->how == IR_FOUND_COMPUTED && found->n_nodes == 0)
    g_string_append (text, " before");
  else if (found->how == IR_FOUND_COMPUTED)
    {
      append_from (text, found);
      g_string_append_printf (text, " by %u %s in %.3g ms", found->n_nodes,
                              found->n_nodes == 1 ? "node" : "nodes",
                              (double) found->duration_ns / 1e6);
      if (found->n_iterations > 0)
        g_string_append_printf (text, ", %" G_GUINT64_FORMAT " iterations of loops again",
                                found->n_iterations);
    }
  if (found->stands_for != 0)
    {
      const IrValue *value = ir_model_value (model, found->stands_for);
      g_string_append_printf (text, ", as %s of the optimized graph",
                              value != NULL ? value->name : "a value");
    }
  if (found->in_body)
    g_string_append (text, "; the last round");
  return g_string_free (text, FALSE);
}
