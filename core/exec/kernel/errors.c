/* What every room of the execution needs to fail alike: the error domain, errors of kernels with
 * the node's label, and the limits that hold where nobody sets them. */
#include "config.h"

#include "core/exec/kernel/backend.h"
#include "core/ir/hash.h"
#include "core/ir/inline.h"
#include "core/ir/node-prop.h"

#include <string.h>
#include <unistd.h>

#define POLL_NODES 256 /* nodes between two polls for cancellation */

/**
 * ir_exec_error_quark:
 *
 * Returns: the domain of errors in planning and running, %IR_EXEC_ERROR
 */
GQuark
ir_exec_error_quark (void)
{
  return g_quark_from_static_string ("ir-exec-error-quark");
}

/**
 * ir_exec_label:
 * @node: a node of what is run
 *
 * Returns: (transfer full): its label, with the functions in whose bodies it was written:
 *   "norm/Div (Div) in local.norm"
 */
char *
ir_exec_label (const IrNode *node)
{
  g_autofree char *label = ir_node_label (node), *around = ir_inline_functions_around (node);

  return g_strconcat (label, around != NULL ? " in " : NULL, around, NULL);
}

/**
 * ir_exec_error_from_kernel:
 * @node: the node that failed
 * @error: (transfer full): what its kernel said
 *
 * Returns: (transfer full): the same as an %IR_EXEC_ERROR, with the node's label in front, and of a copy of
 *   what was written in a loop the iteration that it is
 */
GError *
ir_exec_error_from_kernel (const IrNode *node, GError *error)
{
  g_autofree char *label = ir_node_label (node), *place = ir_exec_label (node);
  gboolean labelled = g_str_has_prefix (error->message, label);
  const char *rest = error->message + (labelled ? strlen (label) : 0);
  IrExecErrorCode code = IR_EXEC_ERROR_KERNEL;

  if (error->domain == IR_EXEC_ERROR)
    return error;
  if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_CANCELLED) ||
      g_error_matches (error, IR_OP_ERROR, IR_OP_ERROR_CANCELLED))
    code = IR_EXEC_ERROR_CANCELLED;
  else if (g_error_matches (error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT))
    code = IR_EXEC_ERROR_LIMIT;
  else if (g_error_matches (error, IR_OP_ERROR, IR_OP_ERROR_LIMIT))
    code = IR_EXEC_ERROR_MEMORY;
  else if (g_error_matches (error, IR_OP_ERROR, IR_OP_ERROR_UNSUPPORTED))
    code = IR_EXEC_ERROR_UNSUPPORTED;
  const char *written = ir_node_prop (node, IR_PROP_ITERATION);
  GError *result = g_error_new (IR_EXEC_ERROR, code, "%s%s%s%s%s%s", place, labelled ? "" : ": ",
                                rest, written != NULL ? " (written as " : "",
                                written != NULL ? written : "", written != NULL ? ")" : "");
  g_error_free (error);
  return result;
}

/**
 * ir_exec_default_memory_limit:
 *
 * Returns: a quarter of the machine's memory, in bytes
 */
gsize
ir_exec_default_memory_limit (void)
{
  long pages = sysconf (_SC_PHYS_PAGES), page_bytes = sysconf (_SC_PAGESIZE);

  return pages > 0 && page_bytes > 0 ? (gsize) pages / 4 * (gsize) page_bytes : (gsize) 1 << 30;
}

/**
 * ir_exec_random_seed:
 * @node: a node
 * @seed: of the run
 * @round: how often the node has run before
 *
 * Two runs agree; two nodes do not, and neither do two rounds of a loop. Names rather than ids, as
 * those survive when passes change the graph.
 *
 * Returns: what a random operator without a seed of its own draws from; 0 for other operators
 */
guint64
ir_exec_random_seed (const IrNode *node, guint64 seed, guint round)
{
  const IrValue *value = ir_node_output (node, 0);

  if (node->op == NULL || (node->op->flags & IR_OP_RANDOM) == 0)
    return 0;
  seed ^= ((guint64) round << 32) ^ g_str_hash (value != NULL ? value->name : node->name);
  /* Spreads what differs in few bits. */
  return ir_mix64 (seed);
}

/**
 * ir_exec_cancelled:
 * @cancellable: (nullable): what may stop a plan under way
 * @index: of the node that is next; it is polled at every 256th, the first among them
 * @error: return location for an error
 *
 * Returns: %TRUE with an %IR_EXEC_ERROR_CANCELLED if it was cancelled
 */
gboolean
ir_exec_cancelled (GCancellable *cancellable, guint index, GError **error)
{
  if (index % POLL_NODES != 0 || !g_cancellable_is_cancelled (cancellable))
    return FALSE;
  g_set_error_literal (error, IR_EXEC_ERROR, IR_EXEC_ERROR_CANCELLED,
                       "Cancelled while the run was prepared");
  return TRUE;
}
