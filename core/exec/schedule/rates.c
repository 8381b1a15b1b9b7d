/* Rates of kernels: time of a call, and what each operation and each byte adds to it. They compare
 * nodes before and after a rewrite, and predict no machine. */
#include "config.h"

#include "core/exec/schedule/rates.h"

#include "core/exec/kernel/backend.h"
#include "core/op/infer.h"

#include <string.h>

typedef struct
{
  const char *op; /* of whatever domain */
  gboolean own;   /* of the back end cpu; FALSE: of the reference, which it falls back to */
  double call_ns, flop_ps, byte_ps;
} Rate;

#define IR_RATE(OP, OWN, CALL_NS, FLOP_PS, BYTE_PS) { OP, OWN, CALL_NS, FLOP_PS, BYTE_PS },
static const Rate rates[] = {
#include "core/exec/schedule/rates.def"
};
#undef IR_RATE

static const Rate *
find_rate (const IrNode *node, gboolean own)
{
  for (guint i = 0; i < G_N_ELEMENTS (rates); i++)
    if (rates[i].own == own && strcmp (rates[i].op, node->op_type) == 0)
      return &rates[i];
  return NULL;
}

/* What only constants lead to is computed once. */
static gboolean
is_constant (const IrNode *node)
{
  for (guint i = 0; i < node->n_inputs; i++)
    if (node->inputs[i] != NULL && ir_value_constant (node->inputs[i]) == NULL)
      return FALSE;
  return TRUE;
}

/**
 * ir_rates_node_us:
 * @node: a node with types
 * @known: (inout): set to %FALSE if some size is not known, or nothing can run the node; else left
 *   alone
 *
 * What one execution takes by the table of rates, core/exec/schedule/rates.def, which
 * tests/bench/bench-rates.py writes. It compares rewrites: views, what only constants lead to and
 * what the table leaves out take nothing.
 *
 * Returns: microseconds
 */
double
ir_rates_node_us (const IrNode *node, gboolean *known)
{
  const IrBackend *backend = ir_backend_find ("cpu"), *chosen;
  gboolean partial = FALSE;
  const char *why;
  IrKernelFunc kernel;

  if (is_constant (node) || (node->op != NULL && (node->op->flags & IR_OP_VIEW)))
    return 0;
  double flops = (double) ir_cost_node_flops (node, &partial);
  double bytes = (double) ir_cost_node_bytes (node, &partial);
  if (partial || !ir_backend_choose (backend, node, &kernel, &chosen, &why, NULL))
    {
      *known = FALSE;
      return 0;
    }
  const Rate *rate = find_rate (node, chosen == backend);
  return rate == NULL
             ? 0
             : (rate->call_ns + (flops * rate->flop_ps + bytes * rate->byte_ps) / 1e3) / 1e3;
}
