/* The row of the back end, and how it runs a call: launches that were written when the plan was made, on
 * operands that lie on the device. Where nothing was planned, as in bodies of loops, operands are
 * copied in before the call and out behind it. */
#include "config.h"

#include "core/exec/cpu/cpu.h"
#include "core/exec/gpu/backend.h"
#include "core/exec/gpu/facts.h"
#include "core/exec/gpu/runtime.h"

static const char unsettled[] = "a type is not known before the run";

static gboolean
has_settled_outputs (const IrCall *call)
{
  const IrNode *node = call->node;
  guint n = 0;

  for (guint i = 0; i < node->n_outputs; i++)
    {
      const IrType *type = node->outputs[i] != NULL ? node->outputs[i]->type : NULL;
      gsize bytes = 0;
      if (node->outputs[i] == NULL)
        continue;
      if (type == NULL || type->kind != IR_TYPE_TENSOR || type != call->outputs[i].type ||
          !ir_type_n_bytes (type, &bytes))
        return FALSE;
      n++;
    }
  return n > 0;
}

static gboolean
is_empty (const IrNode *node)
{
  gsize bytes = 0;

  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && ir_type_n_bytes (node->outputs[i]->type, &bytes) && bytes == 0)
      return TRUE;
  return FALSE;
}

/* Operands from IR_GPU_MAX_ARGS on have no place in a call. */
static const char *
refuses_slots (const IrGpuProgram *program)
{
  for (guint i = 0; i < program->launches->len; i++)
    {
      const IrGpuLaunch *launch = program->launches->pdata[i];
      for (guint k = 0; k < launch->n_args; k++)
        if (launch->args[k].slot >= IR_GPU_MAX_ARGS)
          return "it has more than 16 inputs or outputs";
    }
  return NULL;
}

/* Adds the launches for @node, by types and constants alone; returns why there are none. */
static const char *
emit (const IrNode *node, IrGpuProgram *program)
{
  const char *why = unsettled;
  IrCall call;

  if (node->op == NULL)
    return "irscope does not know this operator";
  if (ir_gpu_kernel_name (node->op) == NULL)
    return "the operator has no GPU kernel";
  ir_call_init (&call, node);
  if (call.n_inputs >= node->n_inputs && call.n_outputs == node->n_outputs &&
      ir_call_check (&call, NULL) && node->op->infer != NULL && node->op->infer (&call, NULL) &&
      has_settled_outputs (&call))
    why = is_empty (node) ? "it has no elements" : ir_gpu_program_add (program, &call);
  if (why == NULL)
    why = refuses_slots (program);
  for (guint i = 0; why == NULL && i < call.n_inputs; i++)
    if (call.inputs[i].align_axis != 0)
      why = "its inputs line up as in versions before 7";
  if (why == NULL)
    why = ir_gpu_lacks (program);
  ir_call_clear (&call);
  return why;
}

static const char *
refuses (const IrNode *node)
{
  g_autoptr (IrGpuProgram) program = ir_gpu_program_new ();

  return emit (node, program);
}

/* Of a product, also what computes it. */
static const char *
kernel_name (const IrNode *node)
{
  const char *name = ir_gpu_kernel_name (node->op), *by = NULL;
  g_autoptr (IrGpuProgram) program = ir_gpu_program_new ();
  g_autofree char *text = NULL;

  if (name == NULL ||
      (!g_str_equal (name, "matmul") && !g_str_equal (name, "gemm") && !g_str_equal (name, "conv")))
    return name;
  if (emit (node, program) == NULL && program->launches->len == 1)
    {
      const IrGpuLaunch *launch = program->launches->pdata[0];
      by = launch->product != NULL ? ir_gpu_runtime_product (launch->product) : NULL;
    }
  if (by == NULL)
    return name;
  text = g_strdup_printf ("%s (%s)", name, by);
  return g_intern_string (text);
}

static GPtrArray *
facts (const IrNode *node)
{
  g_autoptr (IrGpuProgram) program = ir_gpu_program_new ();

  return emit (node, program) == NULL ? ir_gpu_facts (program) : NULL;
}

static gboolean
reads (const IrGpuProgram *program, IrGpuArgKind kind, guint slot)
{
  for (guint i = 0; i < program->launches->len; i++)
    {
      const IrGpuLaunch *launch = program->launches->pdata[i];
      for (guint k = 0; k < launch->n_args; k++)
        if (launch->args[k].kind == kind && launch->args[k].slot == slot)
          return TRUE;
    }
  return FALSE;
}

static IrInputTerms
input_terms (const IrNode *node, guint slot, gboolean blocks)
{
  g_autoptr (IrGpuProgram) program = ir_gpu_program_new ();

  emit (node, program);
  return (IrInputTerms){ .layouts = IR_LAYOUT_PLAIN, .there = reads (program, IR_GPU_INPUT, slot) };
}

static gpointer
prepare (IrCall *call, GError **error)
{
  g_autoptr (IrGpuProgram) program = ir_gpu_program_new ();

  if (emit (call->node, program) != NULL)
    return NULL;
  return ir_gpu_add_kernels (program, error) ? g_steal_pointer (&program) : NULL;
}

static void
release (gpointer state)
{
  ir_gpu_program_free (state);
}

/* Contents that may be wrong are told of behind the call. */
static gboolean
waits (gconstpointer state)
{
  return state == NULL || ir_gpu_may_fault (state);
}

/* -- a call -- */

static gboolean
fail_by (const IrCall *call, IrGpuFault fault, GError **error)
{
  return ir_call_fail (call, error, IR_OP_ERROR_VALUE, "%s",
                       fault == IR_GPU_FAULT_DIVISION ? "an integer is divided by zero"
                                                      : "an index is outside of its axis");
}

static gboolean
new_outputs (IrCall *call, GError **error)
{
  for (guint i = 0; i < call->n_outputs; i++)
    {
      const IrType *type = call->outputs[i].type;
      if (call->outputs[i].present &&
          ir_call_new_output (call, i, type->dtype, (guint) type->rank, type->dims, error) == NULL)
        return FALSE;
    }
  return TRUE;
}

/* The memory of one call whose operands lie in the host's. */
typedef struct
{
  IrMemoryBlock blocks[2 * IR_GPU_MAX_ARGS];
  gpointer inputs[IR_GPU_MAX_ARGS], outputs[IR_GPU_MAX_ARGS];
  guint n;
} Staged;

static void
staged_clear (Staged *staged)
{
  for (guint i = 0; i < staged->n; i++)
    ir_gpu_memory.free (&staged->blocks[i]);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Staged, staged_clear)

static gboolean
stage (Staged *staged,
       const IrTensor *tensor,
       gboolean there,
       gboolean in,
       gpointer *at,
       GError **error)
{
  IrMemoryBlock *block = &staged->blocks[staged->n];
  gsize bytes = ir_tensor_n_bytes (tensor);

  if (there)
    {
      *at = (gpointer) ir_tensor_data (tensor);
      return TRUE;
    }
  if (!ir_gpu_memory.alloc (MAX (bytes, 1), block, error))
    return FALSE;
  staged->n++;
  *at = block->data;
  return !in || ir_gpu_memory.copy_in (block->data, ir_tensor_data (tensor), bytes, error);
}

static gboolean
run_operands (IrCall *call, const IrGpuProgram *program, GError **error)
{
  g_auto (Staged) staged = { 0 };
  IrGpuFault fault;

  for (guint i = 0; i < MIN (call->n_inputs, IR_GPU_MAX_ARGS); i++)
    if (reads (program, IR_GPU_INPUT, i) &&
        !stage (&staged, call->inputs[i].tensor, call->inputs[i].there, TRUE, &staged.inputs[i],
                error))
      return FALSE;
  for (guint i = 0; i < MIN (call->n_outputs, IR_GPU_MAX_ARGS); i++)
    if (call->outputs[i].present &&
        !stage (&staged, call->outputs[i].tensor, call->outputs[i].there, FALSE, &staged.outputs[i],
                error))
      return FALSE;
  if (!ir_gpu_run (program, staged.inputs, staged.outputs, &fault, error))
    return FALSE;
  if (fault != IR_GPU_FAULT_NONE)
    return fail_by (call, fault, error);
  for (guint i = 0; i < MIN (call->n_outputs, IR_GPU_MAX_ARGS); i++)
    if (call->outputs[i].present && !call->outputs[i].there &&
        !ir_gpu_memory.copy_out (ir_tensor_data_writable (call->outputs[i].tensor),
                                 staged.outputs[i], ir_tensor_n_bytes (call->outputs[i].tensor),
                                 error))
      return FALSE;
  return TRUE;
}

/* As a range of the node's name, for profilers. */
static gboolean
run_program (IrCall *call, const IrGpuProgram *program, GError **error)
{
  const char *name = call->node != NULL && call->node->name[0] != '\0' ? call->node->name
                                                                       : call->op->name;
  gboolean told = ir_gpu_range_begin (name), done = run_operands (call, program, error);

  if (told)
    ir_gpu_range_end ();
  return done;
}

/* Contents that were not known when the plan was made may ask for another kernel, or for none. */
static gboolean
run_as_it_comes (IrCall *call, GError **error)
{
  g_autoptr (IrGpuProgram) program = ir_gpu_program_new ();

  if (!call->op->infer (call, error))
    return FALSE;
  for (guint i = 0; i < call->n_outputs; i++)
    {
      gsize bytes = 0;
      if (call->outputs[i].present &&
          (!ir_type_n_bytes (call->outputs[i].type, &bytes) || bytes == 0))
        return ir_ref_run (call, error);
    }
  if (ir_gpu_program_add (program, call) != NULL || ir_gpu_lacks (program) != NULL)
    return ir_ref_run (call, error);
  ir_call_ready (call, FALSE);
  return new_outputs (call, error) && run_program (call, program, error);
}

static gboolean
run (IrCall *call, GError **error)
{
  if (!call->shape_static || call->kernel_state == NULL)
    return run_as_it_comes (call, error);
  ir_call_ready (call, FALSE);
  return new_outputs (call, error) && run_program (call, call->kernel_state, error);
}

static IrKernelFunc
kernel (const IrNode *node)
{
  return node->op != NULL && ir_gpu_kernel_name (node->op) != NULL ? run : NULL;
}

const IrBackend ir_backend_gpu = {
  .name = "gpu",
  .title = "GPU kernels",
  .memory = &ir_gpu_memory,
  .take = ir_gpu_runtime_take,
  .available = ir_gpu_runtime_open,
  .refuses = refuses,
  .kernel = kernel,
  .kernel_name = kernel_name,
  .facts = facts,
  .prepare = prepare,
  .release = release,
  .waits = waits,
  .falls_back = &ir_backend_cpu,
  .input_terms = input_terms,
};
