/* Kernels that are loaded. Those that were asked for are compiled together when the first of them runs, one program
 * for all that wait. Without a compiler there are those of programs that were compiled before. */
#include "config.h"

#include "core/exec/gpu/cache.h"
#include "core/exec/gpu/modules.h"
#include "core/exec/gpu/state.h"

#include <string.h>

/* Fails where there is neither a compiler nor anything that was compiled for the device. */
gboolean
gpu_modules_open (GError **error)
{
  const IrGpuLibrary *nvrtc = &gpu_state.gpu->libraries[IR_GPU_NVRTC];
  g_autofree char *folder = NULL;

  gpu_state.modules = g_ptr_array_new ();
  gpu_state.kernels = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  gpu_state.facts = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, ir_gpu_kernel_facts_free);
  gpu_state.waiting = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_atomic_int_set (&gpu_state.without_compiler, nvrtc->state != IR_GPU_USABLE);
  if (nvrtc->state == IR_GPU_USABLE)
    return TRUE;
  folder = ir_gpu_cache_folder ();
  gpu_state.kept = ir_gpu_cache_kernels (folder, gpu_state.architecture);
  if (g_hash_table_size (gpu_state.kept) > 0)
    return TRUE;
  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE,
               "%s: %s, and no kernels for sm_%d were compiled before (%s)", nvrtc->title,
               nvrtc->reason, gpu_state.architecture,
               folder != NULL ? folder : IR_GPU_CACHE " says that none are kept");
  return FALSE;
}

void
gpu_modules_close (void)
{
  for (guint i = 0; gpu_state.modules != NULL && i < gpu_state.modules->len; i++)
    gpu_state.gpu->functions.cuModuleUnload (gpu_state.modules->pdata[i]);
  g_clear_pointer (&gpu_state.kernels, g_hash_table_unref);
  g_clear_pointer (&gpu_state.waiting, g_hash_table_unref);
  g_clear_pointer (&gpu_state.facts, g_hash_table_unref);
  g_clear_pointer (&gpu_state.kept, g_hash_table_unref);
  g_clear_pointer (&gpu_state.modules, g_ptr_array_unref);
}

/* Whether the kernel of @launch can be had. */
gboolean
gpu_modules_have (const IrGpuLaunch *launch)
{
  return gpu_state.kept == NULL || g_hash_table_contains (gpu_state.kept, launch->name) ||
         g_hash_table_contains (gpu_state.kernels, launch->name);
}

/* Loads it with all others that are wanted, when one of them is asked for. */
void
gpu_modules_want (const IrGpuLaunch *launch)
{
  if (!g_hash_table_contains (gpu_state.kernels, launch->name) &&
      !g_hash_table_contains (gpu_state.waiting, launch->name))
    g_hash_table_insert (gpu_state.waiting, g_strdup (launch->name), g_strdup (launch->text));
}

/* (nullable) The kernel of that name, if it is gpu_state. */
struct CUfunc_st *
gpu_modules_kernel (const char *name)
{
  return g_hash_table_lookup (gpu_state.kernels, name);
}

/* (nullable) What the compiler said of the kernel of that name, if it is loaded. */
const IrGpuKernelFacts *
gpu_modules_facts (const char *name)
{
  return g_hash_table_lookup (gpu_state.facts, name);
}

static void
keep_facts (const IrGpuCode *code)
{
  for (guint i = 0; i < code->kernels->len; i++)
    {
      IrGpuKernelFacts *own = g_memdup2 (code->kernels->pdata[i], sizeof (IrGpuKernelFacts));
      own->name = g_strdup (own->name);
      g_hash_table_replace (gpu_state.facts, own->name, own);
    }
}

static gboolean
load (const IrGpuCode *code, GPtrArray *names, GError **error)
{
  struct CUmod_st *module = NULL;

  if (!GPU_CALL (cuModuleLoadData, error, &module, g_bytes_get_data (code->cubin, NULL)))
    return FALSE;
  g_ptr_array_add (gpu_state.modules, module);
  keep_facts (code);
  for (guint i = 0; i < names->len; i++)
    {
      struct CUfunc_st *function = NULL;
      if (!GPU_CALL (cuModuleGetFunction, error, &function, module, names->pdata[i]))
        return FALSE;
      g_hash_table_insert (gpu_state.kernels, g_strdup (names->pdata[i]), function);
    }
  return TRUE;
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
  if (!gpu_state.lost)
    ir_gpu_cache_remove (folder, key);
  return FALSE;
}

/* -- with a compiler -- */

static gboolean
load_program (const char *text, GPtrArray *names, GError **error)
{
  g_autofree char *folder = ir_gpu_cache_folder ();
  g_autofree char *key = ir_gpu_compile_key (gpu_state.gpu, text, gpu_state.architecture);
  g_autoptr (IrGpuCode) code = NULL;

  if (folder != NULL && load_kept (folder, key, names))
    return TRUE;
  code = ir_gpu_compile (gpu_state.gpu, text, gpu_state.architecture, error);
  if (code == NULL || !load (code, names, error))
    return FALSE;
  if (folder != NULL) /* where nothing can be kept, it is compiled each time */
    ir_gpu_cache_store (folder, key, code, IR_GPU_CACHE_BYTES, NULL);
  return TRUE;
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Of all that wait, or (nullable) of those that the program of @key has; in order, so that the same ones make the same
 * text. */
static GPtrArray *
waiting_names (const char *key)
{
  GPtrArray *names = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer name;

  g_hash_table_iter_init (&iter, gpu_state.waiting);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    if (key == NULL || g_strcmp0 (g_hash_table_lookup (gpu_state.kept, name), key) == 0)
      g_ptr_array_add (names, name);
  g_ptr_array_sort (names, compare_names);
  return names;
}

/* All that wait, as one program. */
static gboolean
compile_waiting (GError **error)
{
  g_autoptr (IrGpuProgram) program = ir_gpu_program_new ();
  g_autoptr (GPtrArray) names = waiting_names (NULL);

  for (guint i = 0; i < names->len; i++)
    ir_gpu_program_add_text (program, names->pdata[i],
                             g_hash_table_lookup (gpu_state.waiting, names->pdata[i]));
  g_autofree char *text = ir_gpu_program_text (program);
  return load_program (text, names, error);
}

/* -- without one -- */

/* From then on they are not to be had. */
static gboolean
fail_kept (GPtrArray *names, GError **error)
{
  g_set_error (
      error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE,
      "%s: the program on disk that has it is damaged, or the driver does not take it, and there is "
      "no NVRTC to compile it anew; the next run does without this kernel",
      (const char *) names->pdata[0]);
  for (guint i = 0; i < names->len; i++)
    g_hash_table_remove (gpu_state.kept, names->pdata[i]);
  return FALSE;
}

static gboolean
load_waiting (GError **error)
{
  g_autoptr (GPtrArray) all = waiting_names (NULL);
  g_autofree char *folder = ir_gpu_cache_folder ();

  for (guint i = 0; i < all->len; i++)
    {
      const char *key = g_hash_table_lookup (gpu_state.kept, all->pdata[i]);
      g_autoptr (GPtrArray) names = waiting_names (key);
      if (!g_hash_table_contains (gpu_state.kernels, all->pdata[i]) &&
          (folder == NULL || key == NULL || !load_kept (folder, key, names)))
        return fail_kept (names, error);
    }
  return TRUE;
}

/* Loads all that wait. */
gboolean
gpu_modules_load (GError **error)
{
  gboolean done = g_hash_table_size (gpu_state.waiting) == 0 ||
                  (gpu_state.kept == NULL ? compile_waiting (error) : load_waiting (error));

  g_hash_table_remove_all (
      gpu_state.waiting); /* or, if it failed, whatever comes next would, too */
  return done;
}
