/* What is known of how a device runs a node: its launches, what the compiler says of their kernels, and their texts. */
#include "config.h"

#include "core/exec/gpu/facts.h"
#include "core/exec/gpu/occupancy.h"
#include "core/exec/gpu/runtime.h"

/**
 * ir_gpu_facts_text:
 * @launch: a launch
 * @facts: (nullable): what the compiler says of its kernel
 * @architecture: what it was compiled for
 *
 * Returns: (transfer full): that in words
 */
char *
ir_gpu_facts_text (const IrGpuLaunch *launch, const IrGpuKernelFacts *facts, int architecture)
{
  GString *text = g_string_new (NULL);
  IrGpuOccupancy occupancy;

  g_string_append_printf (text, "%u block%s of %u threads", launch->blocks,
                          launch->blocks == 1 ? "" : "s", launch->threads);
  if (facts == NULL || facts->registers == 0) /* of the stand-in, which has none */
    return g_string_free (text, FALSE);
  g_string_append_printf (text,
                          "; sm_%d: %d registers, %" G_GINT64_FORMAT
                          " bytes spilled, %" G_GINT64_FORMAT " of shared memory",
                          architecture, facts->registers, facts->spill_bytes, facts->shared_bytes);
  if (ir_gpu_occupancy (architecture, launch->threads, (guint) facts->registers,
                        (guint64) facts->shared_bytes, &occupancy))
    g_string_append_printf (text, "; occupancy %u of %u warps (%u %%), by %s (computed)",
                            occupancy.warps, occupancy.most, 100 * occupancy.warps / occupancy.most,
                            occupancy.by);
  return g_string_free (text, FALSE);
}

static void
add (GPtrArray *facts, char *title, char *text, const char *code)
{
  IrKernelFact *fact = g_new0 (IrKernelFact, 1);

  fact->title = title;
  fact->text = text;
  fact->code = g_strdup (code);
  g_ptr_array_add (facts, fact);
}

/**
 * ir_gpu_facts:
 * @program: launches of a node
 *
 * Returns: (transfer full) (element-type IrKernelFact): a row for each product that the library computes and for each
 *   kernel; of those that are loaded also what the compiler says of them
 */
GPtrArray *
ir_gpu_facts (const IrGpuProgram *program)
{
  GPtrArray *facts = g_ptr_array_new_with_free_func (ir_kernel_fact_free);

  for (guint i = 0; i < program->launches->len; i++)
    {
      const IrGpuLaunch *launch = program->launches->pdata[i];
      IrGpuKernelFacts compiled;
      int architecture = 0;
      const IrGpuLaunch *kernel = ir_gpu_runtime_kernel (launch, &compiled, &architecture);

      if (kernel != launch)
        add (facts, g_strdup (ir_gpu_runtime_product (launch->product)),
             g_strdup_printf ("%" G_GINT64_FORMAT " × %" G_GINT64_FORMAT " × %" G_GINT64_FORMAT
                              ", %" G_GINT64_FORMAT " of them",
                              launch->product->m, launch->product->k, launch->product->n,
                              launch->product->batch),
             NULL);
      if (kernel != NULL)
        add (facts, g_strdup (kernel->name),
             ir_gpu_facts_text (kernel, architecture > 0 ? &compiled : NULL, architecture),
             kernel->text);
    }
  return facts;
}
