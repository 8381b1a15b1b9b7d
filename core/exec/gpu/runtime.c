/* One device, its context and its streams. Kernels that were asked for are compiled together when the
 * first of them runs, one program for all that wait. What is found to be wrong with the device
 * closes it; the next call opens it again, empty, and blocks of memory tell by their generation that
 * they are gone. */
#include "config.h"

#include "core/exec/gpu/blas.h"
#include "core/exec/gpu/cache.h"
#include "core/exec/gpu/runtime.h"

#include <string.h>

#define STAGING_BYTES (4 << 20) /* of one half */
#define ALIGN_BYTES   256
#define STREAM_FLAGS  1 /* does not wait for the default stream */
#define WITH_TIMES    0
#define WITHOUT_TIMES 2
#define LATE_STREAM   IR_GPU_MAX_STREAMS /* behind those of kernels */
#define N_STREAMS     (LATE_STREAM + 1)

static GMutex lock;            /* of all below */
static __thread guint current; /* the stream that this thread asks */
static struct
{
  guint index; /* of the device that is wanted: as in gpu:N */
  IrGpuPrecision precision;
  IrGpu *gpu; /* (nullable) NULL: closed */
  int device, architecture;
  struct CUctx_st *context;
  struct CUstream_st *streams[N_STREAMS]; /* (nullable), but the first: once it was asked */
  guint n_streams;                        /* that plans may use */
  void *staging;                          /* pinned memory of the host */
  GHashTable *pinned;                     /* set of memory of the host that is so, too */
  unsigned long long fault;               /* one word */
  GHashTable *kernels;                    /* name -> CUfunc_st */
  GHashTable *waiting;                    /* name -> text, of what is to be compiled */
  GPtrArray *modules;
  GpuBlas *blas; /* (nullable) once a product was wanted, unless there is none */
  char *no_blas; /* (nullable) why */
  gboolean lost; /* no call of it can succeed any more */
  guint generation;
} runtime = { .n_streams = IR_GPU_MAX_STREAMS, .generation = 1 };

/* Looks at what the driver has returned, and remembers when the device is of no use any more. */
static gboolean
check (IrGpuFunction function, IrGpuResult result, GError **error)
{
  /* 712 and 713 are of memory of the host that is pinned already, or not. */
  if (result >= 700 && result < 800 && result != 712 && result != 713)
    runtime.lost = TRUE;
  return ir_gpu_check (runtime.gpu, function, result, error);
}

#define CALL(symbol, error, ...)                                                                   \
  check (IR_GPU_FUNCTION_##symbol, runtime.gpu->functions.symbol (__VA_ARGS__), error)

/* -- opening and closing -- */

static void
unpin_all (void)
{
  GHashTableIter iter;
  gpointer data;

  g_hash_table_iter_init (&iter, runtime.pinned);
  while (g_hash_table_iter_next (&iter, &data, NULL))
    runtime.gpu->functions.cuMemHostUnregister (data);
  g_clear_pointer (&runtime.pinned, g_hash_table_unref);
}

static void
close_runtime (void)
{
  if (runtime.gpu == NULL)
    return;
  for (guint i = 0; i < runtime.modules->len; i++)
    runtime.gpu->functions.cuModuleUnload (runtime.modules->pdata[i]);
  g_clear_pointer (&runtime.blas, gpu_blas_free);
  g_clear_pointer (&runtime.no_blas, g_free);
  if (runtime.fault != 0)
    runtime.gpu->functions.cuMemFree_v2 (runtime.fault);
  if (runtime.staging != NULL)
    runtime.gpu->functions.cuMemFreeHost (runtime.staging);
  for (guint i = 0; i < N_STREAMS; i++)
    if (runtime.streams[i] != NULL)
      runtime.gpu->functions.cuStreamDestroy_v2 (runtime.streams[i]);
  unpin_all ();
  if (runtime.context != NULL)
    runtime.gpu->functions.cuDevicePrimaryCtxRelease_v2 (runtime.device);
  g_clear_pointer (&runtime.kernels, g_hash_table_unref);
  g_clear_pointer (&runtime.waiting, g_hash_table_unref);
  g_clear_pointer (&runtime.modules, g_ptr_array_unref);
  g_clear_pointer (&runtime.gpu, ir_gpu_free);
  runtime.context = NULL;
  memset (runtime.streams, 0, sizeof runtime.streams);
  runtime.staging = NULL;
  runtime.fault = 0;
  runtime.lost = FALSE;
  runtime.generation++;
}

/* What is not there says where it was looked for: that is what somebody can mend. */
static void
add_places (GError *error)
{
  g_autoptr (GString) text = g_string_new (error->message);

  g_string_append (text, "; looked for in");
  for (guint i = 0; i < runtime.gpu->places->len; i++)
    {
      const IrGpuPlace *place = runtime.gpu->places->pdata[i];
      g_string_append_printf (text, "%s %s (%s)", i > 0 ? "," : "",
                              place->folder != NULL ? place->folder : "the loader's folders",
                              place->why);
    }
  g_string_append_printf (text, "%s. All that is known of it says: irscope info --devices",
                          runtime.gpu->places->len == 0 ? " nothing" : "");
  g_free (error->message);
  error->message = g_string_free (g_steal_pointer (&text), FALSE);
}

static gboolean
find_device (GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autoptr (GPtrArray) devices = ir_gpu_devices (runtime.gpu, &local);
  const IrGpuLibrary *nvrtc = &runtime.gpu->libraries[IR_GPU_NVRTC];

  if (devices != NULL && devices->len == 0)
    g_set_error (&local, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE, "the driver sees no GPU");
  else if (devices != NULL && devices->len <= runtime.index)
    g_set_error (&local, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE,
                 "there is none of this number; the driver sees %u, from gpu:0 on", devices->len);
  else if (devices != NULL && nvrtc->state != IR_GPU_USABLE)
    g_set_error (&local, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE, "%s: %s", nvrtc->title,
                 nvrtc->reason);
  if (local == NULL)
    {
      const IrGpuDevice *device = devices->pdata[runtime.index];
      runtime.architecture = device->major * 10 + device->minor;
      return TRUE;
    }
  add_places (local);
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

static gboolean
open_device (GError **error)
{
  void *staging = NULL;

  if (!CALL (cuDeviceGet, error, &runtime.device, (int) runtime.index) ||
      !CALL (cuDevicePrimaryCtxRetain, error, &runtime.context, runtime.device) ||
      !CALL (cuCtxSetCurrent, error, runtime.context) ||
      !CALL (cuStreamCreate, error, &runtime.streams[0], STREAM_FLAGS) ||
      !CALL (cuMemAllocHost_v2, error, &staging, 2 * STAGING_BYTES))
    return FALSE;
  runtime.staging = staging;
  return CALL (cuMemAlloc_v2, error, &runtime.fault, sizeof (guint32));
}

/* The stream that this thread asks is there. */
static gboolean
open_stream (GError **error)
{
  return runtime.streams[current] != NULL ||
         CALL (cuStreamCreate, error, &runtime.streams[current], STREAM_FLAGS);
}

/* Opens the device where it is closed, and makes it the one of this thread. */
static gboolean
enter (GError **error)
{
  if (runtime.gpu != NULL && runtime.lost)
    close_runtime ();
  if (runtime.gpu != NULL)
    return CALL (cuCtxSetCurrent, error, runtime.context) && open_stream (error);
  runtime.gpu = ir_gpu_open (ir_gpu_places (g_getenv (IR_GPU_PATH)));
  runtime.pinned = g_hash_table_new (NULL, NULL);
  runtime.modules = g_ptr_array_new ();
  runtime.kernels = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  runtime.waiting = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  if (find_device (error) && open_device (error) && open_stream (error))
    return TRUE;
  if (runtime.index == 0)
    g_prefix_error (error, "device gpu: ");
  else
    g_prefix_error (error, "device gpu:%u: ", runtime.index);
  close_runtime ();
  return FALSE;
}

/**
 * ir_gpu_runtime_take:
 * @index: number of a device, as in gpu:N
 *
 * Kernels run there from now on; of another device that is open, everything is let go of.
 */
void
ir_gpu_runtime_take (guint index)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  if (runtime.gpu != NULL && runtime.index != index)
    {
      runtime.gpu->functions.cuCtxSetCurrent (runtime.context);
      close_runtime ();
    }
  runtime.index = index;
}

/**
 * ir_gpu_runtime_open:
 * @error: return location for an error
 *
 * Opens the device, unless that was done. Fails with %IR_EXEC_ERROR_DEVICE, saying what is missing and where
 * it was looked for.
 *
 * Returns: %TRUE if kernels can run
 */
gboolean
ir_gpu_runtime_open (GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  return enter (error);
}

/**
 * ir_gpu_runtime_close:
 *
 * Gives the device back. What lies on it is gone; the next call opens it again.
 */
void
ir_gpu_runtime_close (void)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  if (runtime.gpu != NULL)
    runtime.gpu->functions.cuCtxSetCurrent (runtime.context);
  close_runtime ();
}

/**
 * ir_gpu_runtime_is_stand_in:
 *
 * Returns: whether the device that is open is one that imitates a GPU on the processor
 */
gboolean
ir_gpu_runtime_is_stand_in (void)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  return runtime.gpu != NULL && runtime.gpu->stand_in;
}

/* -- products -- */

/* Looks for cuBLAS, once; without it, kernels do its work. */
static void
want_blas (void)
{
  g_autoptr (GError) error = NULL;

  if (runtime.blas != NULL || runtime.no_blas != NULL)
    return;
  runtime.blas = gpu_blas_new (runtime.gpu, runtime.streams[0], &error);
  if (runtime.blas == NULL)
    runtime.no_blas = g_strdup (error->message);
}

/* Whether the library computes what the kernel of @launch would. */
static gboolean
is_of_blas (const IrGpuLaunch *launch)
{
  if (launch->product != NULL)
    want_blas ();
  return gpu_blas_takes (runtime.blas, launch->product);
}

/**
 * ir_gpu_runtime_round:
 * @precision: of all products of float32 from now on; it is strict before
 */
void
ir_gpu_runtime_round (IrGpuPrecision precision)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  runtime.precision = precision;
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
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);
  g_autofree char *text = NULL;

  if (runtime.gpu == NULL || !enter (NULL))
    return NULL;
  want_blas ();
  if (!gpu_blas_takes (runtime.blas, product))
    text = g_strdup_printf (
        "strict, by a kernel of irscope: %s",
        runtime.no_blas != NULL ? runtime.no_blas : runtime.gpu->libraries[IR_GPU_CUBLASLT].reason);
  else if (runtime.precision == IR_GPU_STRICT || product->dtype != IR_DTYPE_FLOAT)
    return "cuBLAS";
  else
    text = g_strdup_printf ("cuBLAS, %s", ir_gpu_precision_name (runtime.precision));
  return g_intern_string (text);
}

/* -- memory -- */

static gboolean
memory_alloc (gsize bytes, IrMemoryBlock *block, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);
  unsigned long long at = 0;

  *block = (IrMemoryBlock){ NULL };
  if (!enter (error) || !CALL (cuMemAlloc_v2, error, &at, MAX (bytes, 1)))
    {
      g_autofree char *size = g_format_size (bytes);
      g_prefix_error (error, "%s of the device's memory: ", size);
      return FALSE;
    }
  *block = (IrMemoryBlock){ (gpointer) (gsize) at, bytes, runtime.generation };
  return TRUE;
}

static gboolean
is_there (const IrMemoryBlock *block)
{
  return block->data != NULL && runtime.gpu != NULL && !runtime.lost &&
         block->generation == runtime.generation;
}

static gboolean
memory_is_there (const IrMemoryBlock *block)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  return is_there (block);
}

static void
memory_free (IrMemoryBlock *block)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  if (is_there (block) && enter (NULL))
    CALL (cuMemFree_v2, NULL, (unsigned long long) (gsize) block->data);
  *block = (IrMemoryBlock){ NULL };
}

static guint8 *
staging_half (gsize at)
{
  return (guint8 *) runtime.staging + at / STAGING_BYTES % 2 * STAGING_BYTES;
}

/* By pinned memory: a copy from any other may read it late. While one half of it is on its way the other is
 * filled. */
static gboolean
memory_copy_in (gpointer to, gconstpointer from, gsize bytes, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  if (!enter (error))
    return FALSE;
  for (gsize at = 0; at < bytes; at += STAGING_BYTES)
    {
      gsize n = MIN (bytes - at, STAGING_BYTES);
      memcpy (staging_half (at), (const guint8 *) from + at, n);
      if ((at > 0 && !CALL (cuStreamSynchronize, error, runtime.streams[current])) ||
          !CALL (cuMemcpyHtoDAsync_v2, error, (unsigned long long) (gsize) to + at,
                 staging_half (at), n, runtime.streams[current]))
        return FALSE;
    }
  return bytes == 0 || CALL (cuStreamSynchronize, error, runtime.streams[current]);
}

/* Asks for what lies at @at, to the half of the staging memory that it is for. */
static gboolean
ask_out (gconstpointer from, gsize at, gsize bytes, GError **error)
{
  return at >= bytes || CALL (cuMemcpyDtoHAsync_v2, error, staging_half (at),
                              (unsigned long long) (gsize) from + at,
                              MIN (bytes - at, STAGING_BYTES), runtime.streams[current]);
}

static gboolean
memory_copy_out (gpointer to, gconstpointer from, gsize bytes, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  if (!enter (error) || !ask_out (from, 0, bytes, error))
    return FALSE;
  for (gsize at = 0; at < bytes; at += STAGING_BYTES)
    {
      if (!CALL (cuStreamSynchronize, error, runtime.streams[current]) ||
          !ask_out (from, at + STAGING_BYTES, bytes, error))
        return FALSE;
      memcpy ((guint8 *) to + at, staging_half (at), MIN (bytes - at, STAGING_BYTES));
    }
  return TRUE;
}

static gboolean
memory_pin (gpointer data, gsize bytes, gboolean *pinned, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);
  g_autoptr (GError) refused = NULL;

  *pinned = FALSE;
  if (!enter (error))
    return FALSE;
  *pinned = CALL (cuMemHostRegister_v2, &refused, data, bytes, 0) &&
            g_hash_table_add (runtime.pinned, data);
  if (runtime.lost)
    g_propagate_error (error, g_steal_pointer (&refused));
  return !runtime.lost;
}

/* What was closed meanwhile has let go of it already. */
static void
memory_unpin (gpointer data)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  if (runtime.gpu != NULL && enter (NULL) && g_hash_table_remove (runtime.pinned, data))
    CALL (cuMemHostUnregister, NULL, data);
}

static gboolean
memory_copy (gpointer to, gconstpointer from, gsize bytes, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  return bytes == 0 || (enter (error) &&
                        CALL (cuMemcpyDtoDAsync_v2, error, (unsigned long long) (gsize) to,
                              (unsigned long long) (gsize) from, bytes, runtime.streams[current]));
}

static gboolean
memory_copy_out_late (gpointer to, gconstpointer from, gsize bytes, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  return bytes == 0 ||
         (enter (error) && CALL (cuMemcpyDtoHAsync_v2, error, to, (unsigned long long) (gsize) from,
                                 bytes, runtime.streams[current]));
}

/* -- streams -- */

/**
 * ir_gpu_runtime_beside:
 * @n_streams: how many streams plans that are made from now on may use, from 1 to %IR_GPU_MAX_STREAMS
 */
void
ir_gpu_runtime_beside (guint n_streams)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  runtime.n_streams = CLAMP (n_streams, 1, IR_GPU_MAX_STREAMS);
}

static guint
memory_n_streams (void)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  return runtime.n_streams;
}

static void
memory_take_stream (guint stream)
{
  current = MIN (stream, LATE_STREAM);
}

static gboolean
is_event_there (const IrMemoryEvent *event)
{
  return event->event != NULL && runtime.gpu != NULL && !runtime.lost &&
         event->generation == runtime.generation;
}

static gboolean
record (IrMemoryEvent *event, unsigned int flags, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);
  struct CUevent_st *made = NULL;

  if (!enter (error))
    return FALSE;
  if (!is_event_there (event))
    {
      if (!CALL (cuEventCreate, error, &made, flags))
        return FALSE;
      *event = (IrMemoryEvent){ made, runtime.generation };
    }
  return CALL (cuEventRecord, error, event->event, runtime.streams[current]);
}

static gboolean
memory_record (IrMemoryEvent *event, GError **error)
{
  return record (event, WITHOUT_TIMES, error);
}

static gboolean
memory_stamp (IrMemoryEvent *event, GError **error)
{
  return record (event, WITH_TIMES, error);
}

static gboolean
memory_between (const IrMemoryEvent *from, const IrMemoryEvent *to, gint64 *ns, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);
  float ms = 0;

  if (!enter (error) || (is_event_there (from) && is_event_there (to) &&
                         !CALL (cuEventElapsedTime, error, &ms, from->event, to->event)))
    return FALSE;
  *ns = (gint64) ((double) ms * 1e6 + 0.5);
  return TRUE;
}

static gboolean
memory_wait (const IrMemoryEvent *event, GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  return enter (error) &&
         (!is_event_there (event) ||
          CALL (cuStreamWaitEvent, error, runtime.streams[current], event->event, 0));
}

static void
memory_free_event (IrMemoryEvent *event)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  if (is_event_there (event) && enter (NULL))
    CALL (cuEventDestroy_v2, NULL, event->event);
  *event = (IrMemoryEvent){ NULL };
}

static gboolean
memory_finish (GError **error)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  if (runtime.gpu == NULL || runtime.lost)
    return TRUE;
  if (!enter (error))
    return FALSE;
  for (guint i = 0; i < N_STREAMS; i++)
    if (runtime.streams[i] != NULL && !CALL (cuStreamSynchronize, error, runtime.streams[i]))
      return FALSE;
  return TRUE;
}

const IrMemory ir_gpu_memory = {
  .name = "device",
  .align_bytes = ALIGN_BYTES,
  .alloc = memory_alloc,
  .free = memory_free,
  .is_there = memory_is_there,
  .copy_in = memory_copy_in,
  .copy_out = memory_copy_out,
  .pin = memory_pin,
  .unpin = memory_unpin,
  .copy = memory_copy,
  .copy_out_late = memory_copy_out_late,
  .late_stream = LATE_STREAM,
  .n_streams = memory_n_streams,
  .take_stream = memory_take_stream,
  .record = memory_record,
  .wait = memory_wait,
  .stamp = memory_stamp,
  .between = memory_between,
  .free_event = memory_free_event,
  .finish = memory_finish,
};

/* -- kernels -- */

/* (nullable) The kernel that runs for @launch: its own, or the one behind a product of the library. */
static const IrGpuLaunch *
kernel_of (const IrGpuLaunch *launch)
{
  return is_of_blas (launch) ? launch->finish : launch;
}

/* Texts of @program that are not compiled yet wait for the first launch of one of them. */
static void
add_waiting (const IrGpuProgram *program)
{
  for (guint i = 0; i < program->launches->len; i++)
    {
      const IrGpuLaunch *launch = kernel_of (program->launches->pdata[i]);
      if (launch != NULL && !g_hash_table_contains (runtime.kernels, launch->name) &&
          !g_hash_table_contains (runtime.waiting, launch->name))
        g_hash_table_insert (runtime.waiting, g_strdup (launch->name), g_strdup (launch->text));
    }
}

static gboolean
load (const IrGpuCode *code, GPtrArray *names, GError **error)
{
  struct CUmod_st *module = NULL;

  if (!CALL (cuModuleLoadData, error, &module, g_bytes_get_data (code->cubin, NULL)))
    return FALSE;
  g_ptr_array_add (runtime.modules, module);
  for (guint i = 0; i < names->len; i++)
    {
      struct CUfunc_st *function = NULL;
      if (!CALL (cuModuleGetFunction, error, &function, module, names->pdata[i]))
        return FALSE;
      g_hash_table_insert (runtime.kernels, g_strdup (names->pdata[i]), function);
    }
  return TRUE;
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* One that was compiled before, unless the driver does not take it. */
static gboolean
load_kept (const char *folder, const char *key, GPtrArray *names)
{
  g_autoptr (IrGpuCode) code = ir_gpu_cache_load (folder, key);

  if (code == NULL)
    return FALSE;
  if (load (code, names, NULL))
    return TRUE;
  if (!runtime.lost)
    ir_gpu_cache_remove (folder, key);
  return FALSE;
}

static gboolean
load_program (const char *text, GPtrArray *names, GError **error)
{
  g_autofree char *folder = ir_gpu_cache_folder ();
  g_autofree char *key = ir_gpu_compile_key (runtime.gpu, text, runtime.architecture);
  g_autoptr (IrGpuCode) code = NULL;

  if (folder != NULL && load_kept (folder, key, names))
    return TRUE;
  code = ir_gpu_compile (runtime.gpu, text, runtime.architecture, error);
  if (code == NULL || !load (code, names, error))
    return FALSE;
  if (folder != NULL) /* where nothing can be kept, it is compiled each time */
    ir_gpu_cache_store (folder, key, code, IR_GPU_CACHE_BYTES, NULL);
  return TRUE;
}

/* All that wait, as one program; in the order of their names, so that the same ones make the same text. */
static gboolean
compile_waiting (GError **error)
{
  g_autoptr (IrGpuProgram) program = ir_gpu_program_new ();
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer name;

  g_hash_table_iter_init (&iter, runtime.waiting);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    g_ptr_array_add (names, name);

  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len; i++)
    ir_gpu_program_add_text (program, names->pdata[i],
                             g_hash_table_lookup (runtime.waiting, names->pdata[i]));
  g_autofree char *text = ir_gpu_program_text (program);
  gboolean done = load_program (text, names, error);
  g_hash_table_remove_all (runtime.waiting); /* or, if it failed, whatever comes next would, too */
  return done;
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
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  if (!enter (error))
    return FALSE;
  add_waiting (program);
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

  return gpu_blas_run (runtime.blas, runtime.streams[current], current, product, runtime.precision,
                       at, error);
}

static gboolean
launch_kernel (const IrGpuLaunch *launch,
               gpointer const *inputs,
               gpointer const *outputs,
               GError **error)
{
  unsigned long long addresses[IR_GPU_MAX_ARGS];
  void *parameters[IR_GPU_MAX_ARGS];
  struct CUfunc_st *function;

  function = g_hash_table_lookup (runtime.kernels, launch->name);
  for (guint i = 0; i < launch->n_args; i++)
    {
      const IrGpuArg *arg = &launch->args[i];
      addresses[i] = arg->kind == IR_GPU_INPUT    ? (unsigned long long) (gsize) inputs[arg->slot]
                     : arg->kind == IR_GPU_OUTPUT ? (unsigned long long) (gsize) outputs[arg->slot]
                                                  : runtime.fault;
      parameters[i] = &addresses[i];
    }
  return CALL (cuLaunchKernel, error, function, launch->blocks, 1, 1, launch->threads, 1, 1, 0,
               runtime.streams[current], parameters, NULL);
}

static gboolean
launch_one (const IrGpuLaunch *launch,
            gpointer const *inputs,
            gpointer const *outputs,
            GError **error)
{
  const IrGpuLaunch *kernel = kernel_of (launch);

  return (kernel == launch || launch_product (launch->product, inputs, outputs, error)) &&
         (kernel == NULL || launch_kernel (kernel, inputs, outputs, error));
}

static gboolean
has_fault (const IrGpuProgram *program)
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
  gboolean asks = has_fault (program);
  guint32 word = 0;

  add_waiting (program);
  if (g_hash_table_size (runtime.waiting) > 0 && !compile_waiting (error))
    return FALSE;
  if (asks &&
      !CALL (cuMemsetD8Async, error, runtime.fault, 0, sizeof (guint32), runtime.streams[current]))
    return FALSE;
  for (guint i = 0; i < program->launches->len; i++)
    if (!launch_one (program->launches->pdata[i], inputs, outputs, error))
      return FALSE;
  if (asks && (!CALL (cuMemcpyDtoHAsync_v2, error, runtime.staging, runtime.fault, sizeof (guint32),
                      runtime.streams[current]) ||
               !CALL (cuStreamSynchronize, error, runtime.streams[current])))
    return FALSE;
  if (asks)
    memcpy (&word, runtime.staging, sizeof word);
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
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&lock);

  *fault = IR_GPU_FAULT_NONE;
  return enter (error) && run (program, inputs, outputs, fault, error);
}
