/* Which kernel runs a node, and asking for another by an edit. */
#include "config.h"

#include "core/exec/schedule/kernel-choice.h"
#include "views/session/frame.h"
#include "views/session/kernels.h"
#include "views/session/runs.h"
#include "views/session/timeline.h"

/* (nullable) What the run on screen, of the graph on screen, has planned for @node. */
static const IrScheduleItem *
item_of (IrSession *self, IrNodeId node)
{
  const IrRun *run = ir_session_get_run (self, IR_SIDE_AFTER);

  if (run == NULL || run->schedule == NULL ||
      ir_session_get_run_step (self) != ir_session_get_frame (self)->to)
    return NULL;
  for (guint i = 0; i < run->schedule->items->len; i++)
    if (g_array_index (run->schedule->items, IrScheduleItem, i).node == node)
      return &g_array_index (run->schedule->items, IrScheduleItem, i);
  return NULL;
}

/**
 * ir_session_get_kernel:
 * @node: a node of the graph on screen
 * @why: (out) (nullable): why it is not the back end's own kernel, or which of its own it is
 * @layout: (out) (nullable): what it does about values in NCHWc
 *
 * Returns: (transfer none) (nullable): what ran @node, where the graph on screen was run; else what
 *   would run it; %NULL: nothing can
 */
const char *
ir_session_get_kernel (IrSession *self, const IrNode *node, const char **why, const char **layout)
{
  const IrScheduleItem *item = item_of (self, node->id);

  *layout = NULL;
  if (item == NULL)
    return ir_kernel_taken (ir_session_get_backend (self), node, why);
  *why = item->why != NULL ? item->why : item->choice;
  *layout = item->layout != item->choice ? item->layout : NULL;
  return item->kernel;
}

/**
 * ir_session_get_kernel_facts:
 * @node: a node of the graph on screen
 *
 * Returns: (transfer full) (nullable) (element-type IrKernelFact): what the kernel consists of that has run @node, where
 *   the back end says so
 */
GPtrArray *
ir_session_get_kernel_facts (IrSession *self, const IrNode *node)
{
  const IrScheduleItem *item = item_of (self, node->id);
  const IrBackend *backend = ir_session_get_backend (self);
  const IrNode *ran = item != NULL ? ir_model_live_node (
                                         ir_session_get_run (self, IR_SIDE_AFTER)->model, node->id)
                                   : NULL;

  /* What is compiled now would be waited for. */
  return ran != NULL && item->why == NULL && backend->facts != NULL && !ir_session_get_busy (self)
             ? backend->facts (ran)
             : NULL;
}

/* -- asking for one -- */

typedef struct
{
  IrNodeId node;
  char *kernel; /* (nullable) */
} Wish;

static void
wish_free (gpointer data)
{
  Wish *wish = data;

  g_free (wish->kernel);
  g_free (wish);
}

static gboolean
grant (IrEdit *edit, gpointer data, GPtrArray *problems, GCancellable *cancellable, GError **error)
{
  const Wish *wish = data;
  IrNode *node = ir_model_live_node (ir_edit_model (edit), wish->node);

  if (node != NULL)
    ir_edit_ask_for_kernel (edit, node, wish->kernel);
  return TRUE;
}

/**
 * ir_session_ask_for_kernel:
 * @node: a node of the graph on screen
 * @kernel: (nullable): a name of ir_kernel_choices(); %NULL: the back end chooses
 *
 * Makes a step in which @node asks for that kernel. Runs from then on have it.
 */
void
ir_session_ask_for_kernel (IrSession *self, IrNodeId node, const char *kernel)
{
  const IrFrame *frame = ir_session_get_frame (self);
  const IrNode *found = frame != NULL ? ir_model_live_node (frame->model, node) : NULL;
  g_autofree char *text = NULL;
  Wish *wish;

  if (found == NULL || g_strcmp0 (ir_node_wanted_kernel (found), kernel) == 0)
    return;
  wish = g_new0 (Wish, 1);
  wish->node = node;
  wish->kernel = g_strdup (kernel);
  text = found->name[0] != '\0'
             ? g_strdup_printf ("%s=%s", found->name, kernel != NULL ? kernel : "")
             : g_strdup_printf ("#%u=%s", node, kernel != NULL ? kernel : "");
  ir_session_edit (self, "Choose Kernel", ir_done_new (IR_DONE_KERNEL, text, NULL, 0), grant, wish,
                   wish_free);
}
