/* Launches what a program lists: its kernels, and the products of matrices that cuBLAS does in place of one. */
#include "config.h"

#include "core/exec/gpu/modules.h"
#include "core/exec/gpu/state.h"

#include <string.h>

/* -- products -- */

/* Looks for cuBLAS, once; without it, kernels do its work. */
static void
want_blas (void)
{
  g_autoptr (GError) error = NULL;

  if (gpu_state.blas != NULL || gpu_state.no_blas != NULL)
    return;
  gpu_state.blas = gpu_blas_new (gpu_state.gpu, gpu_state.streams[0], &error);
  if (gpu_state.blas == NULL)
    gpu_state.no_blas = g_strdup (error->message);
}

/* Whether the library computes what the kernel of @launch would. */
static gboolean
is_of_blas (const IrGpuLaunch *launch)
{
  if (launch->product != NULL)
    want_blas ();
  return gpu_blas_takes (gpu_state.blas, launch->product);
}

/**
 * ir_gpu_runtime_product:
 * @product: a product
 *
 * Returns: (transfer none) (nullable): what computes it, in words: cuBLAS and at which precision, or why a kernel
 *   of irscope does; %NULL: no device is open
 */
const char *
ir_gpu_runtime_product (const IrGpuProduct *product)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);
  g_autofree char *text = NULL;

  if (gpu_state.gpu == NULL || !gpu_enter (NULL))
    return NULL;
  want_blas ();
  if (!gpu_blas_takes (gpu_state.blas, product))
    text = g_strdup_printf ("strict, by a kernel of irscope: %s",
                            gpu_state.no_blas != NULL
                                ? gpu_state.no_blas
                                : gpu_state.gpu->libraries[IR_GPU_CUBLASLT].reason);
  else if (gpu_state.precision == IR_GPU_STRICT || product->dtype != IR_DTYPE_FLOAT)
    return "cuBLAS";
  else
    text = g_strdup_printf ("cuBLAS, %s", ir_gpu_precision_name (gpu_state.precision));
  return g_intern_string (text);
}

/* -- kernels -- */

/* (nullable) The kernel that runs for @launch: its own, or the one behind a product of the library. */
static const IrGpuLaunch *
kernel_of (const IrGpuLaunch *launch)
{
  return is_of_blas (launch) ? launch->finish : launch;
}

/* Kernels of @program that are not loaded yet wait for the first launch of one of them. */
static void
want_kernels (const IrGpuProgram *program)
{
  for (guint i = 0; i < program->launches->len; i++)
    {
      const IrGpuLaunch *launch = kernel_of (program->launches->pdata[i]);
      if (launch != NULL)
        gpu_modules_want (launch);
    }
}

/**
 * ir_gpu_runtime_kernel:
 * @launch: a launch
 * @facts: (out): what the compiler said of the kernel, whose name it lends
 * @architecture: (out): for which it was compiled; unchanged: it is not loaded
 *
 * Returns: (transfer none) (nullable): the launch whose kernel runs, behind a product of the library or in its place;
 *   %NULL: the library does all of it
 */
const IrGpuLaunch *
ir_gpu_runtime_kernel (const IrGpuLaunch *launch, IrGpuKernelFacts *facts, int *architecture)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);
  const IrGpuKernelFacts *found;

  if (gpu_state.gpu == NULL)
    return launch;
  launch = kernel_of (launch);
  found = launch != NULL ? gpu_modules_facts (launch->name) : NULL;
  if (found == NULL)
    return launch;
  *facts = *found;
  facts->name = launch->name;
  *architecture = gpu_state.architecture;
  return launch;
}

/**
 * ir_gpu_lacks:
 * @program: launches
 *
 * Returns: (transfer none) (nullable): why one of its kernels cannot be had, where there is no compiler; %NULL: all
 *   can, or no device is open
 */
const char *
ir_gpu_lacks (const IrGpuProgram *program)
{
  /* Whoever compiles holds the lock meanwhile: who asks about a node is not to wait for that. */
  if (!g_atomic_int_get (&gpu_state.without_compiler))
    return NULL;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);
  for (guint i = 0; gpu_state.gpu != NULL && i < program->launches->len; i++)
    {
      const IrGpuLaunch *launch = kernel_of (program->launches->pdata[i]);
      if (launch != NULL && !gpu_modules_have (launch))
        return "there is no NVRTC to compile its kernel, nor was it compiled before";
    }
  return NULL;
}

/**
 * ir_gpu_add_kernels:
 * @program: launches
 * @error: return location for an error
 *
 * Says that the kernels of @program are going to be run; they are compiled with all others of which that
 * was said, when the first of them is.
 *
 * Returns: %TRUE if there is a device
 */
gboolean
ir_gpu_add_kernels (const IrGpuProgram *program, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  if (!gpu_enter (error))
    return FALSE;
  want_kernels (program);
  return TRUE;
}

static gboolean
launch_product (const IrGpuProduct *product,
                gpointer const *inputs,
                gpointer const *outputs,
                GError **error)
{
  const unsigned long long at[] = {
    (unsigned long long) (gsize) inputs[product->a],
    (unsigned long long) (gsize) inputs[product->b],
    (unsigned long long) (gsize) outputs[product->y],
    product->bias >= 0 ? (unsigned long long) (gsize) inputs[product->bias] : 0,
  };

  return gpu_blas_run (gpu_state.blas, gpu_state.streams[gpu_stream], gpu_stream, product,
                       gpu_state.precision, at, error);
}

gboolean
gpu_launch_kernel (const IrGpuLaunch *launch,
                   gpointer const *inputs,
                   gpointer const *outputs,
                   GError **error)
{
  unsigned long long addresses[IR_GPU_MAX_ARGS];
  void *parameters[IR_GPU_MAX_ARGS];
  struct CUfunc_st *function = gpu_modules_kernel (launch->name);

  for (guint i = 0; i < launch->n_args; i++)
    {
      const IrGpuArg *arg = &launch->args[i];
      addresses[i] = arg->kind == IR_GPU_INPUT    ? (unsigned long long) (gsize) inputs[arg->slot]
                     : arg->kind == IR_GPU_OUTPUT ? (unsigned long long) (gsize) outputs[arg->slot]
                                                  : gpu_state.fault;
      parameters[i] = &addresses[i];
    }
  return GPU_CALL (cuLaunchKernel, error, function, launch->blocks, 1, 1, launch->threads, 1, 1, 0,
                   gpu_state.streams[gpu_stream], parameters, NULL);
}

static gboolean
launch_one (const IrGpuLaunch *launch,
            gpointer const *inputs,
            gpointer const *outputs,
            GError **error)
{
  const IrGpuLaunch *kernel = kernel_of (launch);

  return (kernel == launch || launch_product (launch->product, inputs, outputs, error)) &&
         (kernel == NULL || gpu_launch_kernel (kernel, inputs, outputs, error));
}

/**
 * ir_gpu_range_begin:
 * @name: of what this thread asks the device for from now on
 *
 * Tells profilers, where NVTX is there, until ir_gpu_range_end().
 *
 * Returns: whether somebody is told
 */
gboolean
ir_gpu_range_begin (const char *name)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  if (gpu_state.gpu == NULL || gpu_state.gpu->functions.nvtxRangePushA == NULL)
    return FALSE;
  gpu_state.gpu->functions.nvtxRangePushA (name);
  return TRUE;
}

/**
 * ir_gpu_range_end:
 *
 * The range that this thread began last is over.
 */
void
ir_gpu_range_end (void)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  if (gpu_state.gpu != NULL && gpu_state.gpu->functions.nvtxRangePop != NULL)
    gpu_state.gpu->functions.nvtxRangePop ();
}

/**
 * ir_gpu_may_fault:
 * @program: launches
 *
 * Returns: whether contents of operands may be wrong, for which ir_gpu_run() waits
 */
gboolean
ir_gpu_may_fault (const IrGpuProgram *program)
{
  for (guint i = 0; i < program->launches->len; i++)
    {
      const IrGpuLaunch *launch = program->launches->pdata[i];
      for (guint k = 0; k < launch->n_args; k++)
        if (launch->args[k].kind == IR_GPU_FAULT)
          return TRUE;
    }
  return FALSE;
}

static gboolean
run (const IrGpuProgram *program,
     gpointer const *inputs,
     gpointer const *outputs,
     IrGpuFault *fault,
     GError **error)
{
  gboolean asks = ir_gpu_may_fault (program);
  guint32 word = 0;

  want_kernels (program);
  if (!gpu_modules_load (error))
    return FALSE;
  if (asks && !GPU_CALL (cuMemsetD8Async, error, gpu_state.fault, 0, sizeof (guint32),
                         gpu_state.streams[gpu_stream]))
    return FALSE;
  for (guint i = 0; i < program->launches->len; i++)
    if (!launch_one (program->launches->pdata[i], inputs, outputs, error))
      return FALSE;
  if (asks && (!GPU_CALL (cuMemcpyDtoHAsync_v2, error, gpu_state.staging, gpu_state.fault,
                          sizeof (guint32), gpu_state.streams[gpu_stream]) ||
               !GPU_CALL (cuStreamSynchronize, error, gpu_state.streams[gpu_stream])))
    return FALSE;
  if (asks)
    memcpy (&word, gpu_state.staging, sizeof word);
  *fault = (IrGpuFault) word;
  return TRUE;
}

/**
 * ir_gpu_run:
 * @program: launches
 * @inputs: addresses on the device, by the slots of the launches
 * @outputs: the same of what is written
 * @fault: (out): what the contents of operands were wrong about
 * @error: return location for an error
 *
 * Launches the kernels. They may not have run when it returns; what copies out waits for them, and so
 * does this where a kernel may find that contents are wrong.
 *
 * Returns: %TRUE if they were launched
 */
gboolean
ir_gpu_run (const IrGpuProgram *program,
            gpointer const *inputs,
            gpointer const *outputs,
            IrGpuFault *fault,
            GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&gpu_state.lock);

  *fault = IR_GPU_FAULT_NONE;
  return gpu_enter (error) && run (program, inputs, outputs, fault, error);
}
