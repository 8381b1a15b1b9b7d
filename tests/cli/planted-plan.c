/* Plans that are wrong on purpose, linked into a program that only tests have: its environment says
 * which decision is taken wrongly, and bisection must name it.
 *
 *     IRSCOPE_PLANT=sharing   Transpose says that it may be written over its input
 *     IRSCOPE_PLANT=blocks    Transpose spoils what it makes of blocks
 *     IRSCOPE_PLANT=chains    chains spoil what they give
 *     IRSCOPE_PLANT=prepack   packed constants are spoiled
 */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/exec/run/chain.h"

#include <string.h>

/* Of the linker's --wrap. */
IrInputTerms __real_ir_backend_input_terms (const IrBackend *backend,
                                            const IrNode *node,
                                            guint slot,
                                            gboolean blocks);
IrInputTerms __wrap_ir_backend_input_terms (const IrBackend *backend,
                                            const IrNode *node,
                                            guint slot,
                                            gboolean blocks);
gboolean __real_cpu_run_blocks (const IrCpuKernel *kernel, IrCall *call, GError **error);
gboolean __wrap_cpu_run_blocks (const IrCpuKernel *kernel, IrCall *call, GError **error);
gboolean __real_ir_chain_run (
    IrRunState *state, IrRunStep *head, IrThreads threads, IrScratch *scratch, GError **error);
gboolean __wrap_ir_chain_run (
    IrRunState *state, IrRunStep *head, IrThreads threads, IrScratch *scratch, GError **error);
gconstpointer __real_ir_packed_get (
    IrPacked *packed, const IrTensor *constant, guint64 form, IrPackFunc pack, gpointer data);
gconstpointer __wrap_ir_packed_get (
    IrPacked *packed, const IrTensor *constant, guint64 form, IrPackFunc pack, gpointer data);

static gboolean
is_planted (const char *decision)
{
  return g_strcmp0 (g_getenv ("IRSCOPE_PLANT"), decision) == 0;
}

IrInputTerms
__wrap_ir_backend_input_terms (const IrBackend *backend,
                               const IrNode *node,
                               guint slot,
                               gboolean blocks)
{
  IrInputTerms terms = __real_ir_backend_input_terms (backend, node, slot, blocks);

  if (is_planted ("sharing") && slot == 0 && strcmp (node->op_type, "Transpose") == 0)
    terms.overwritten = TRUE;
  return terms;
}

gboolean
__wrap_cpu_run_blocks (const IrCpuKernel *kernel, IrCall *call, GError **error)
{
  gboolean done = __real_cpu_run_blocks (kernel, call, error);

  if (done && is_planted ("blocks") && strcmp (call->node->op_type, "Transpose") == 0)
    ((float *) ir_tensor_data_writable (call->outputs[0].tensor))[0] += 1;
  return done;
}

gboolean
__wrap_ir_chain_run (
    IrRunState *state, IrRunStep *head, IrThreads threads, IrScratch *scratch, GError **error)
{
  gboolean done = __real_ir_chain_run (state, head, threads, scratch, error);

  if (done && is_planted ("chains"))
    ((float *) ir_tensor_data_writable (head[head->chain - 1].outputs[0]))[0] += 1;
  return done;
}

gconstpointer
__wrap_ir_packed_get (
    IrPacked *packed, const IrTensor *constant, guint64 form, IrPackFunc pack, gpointer data)
{
  gconstpointer memory = __real_ir_packed_get (packed, constant, form, pack, data);

  if (memory != NULL && is_planted ("prepack"))
    *(float *) memory = 7;
  return memory;
}
