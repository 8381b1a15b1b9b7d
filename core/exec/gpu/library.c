/* Opens the libraries of CUDA. Each is looked for under the names of the versions that it may have,
 * place by place; the first file that can be used is taken. Where none can, the first one that was
 * found says why: a linker's stub, a version without a function that is needed, and a library that
 * the loader refuses are different things to whoever has to mend it. */
#define _GNU_SOURCE /* dlinfo() */
#include "config.h"

#include "core/exec/gpu/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#define LEAST_DRIVER 11040 /* what NVRTC, cuBLAS and graphs need */

/* What the driver returns that has a sentence of its own. */
#define CUDA_ERROR_STUB_LIBRARY 34
#define CUDA_ERROR_NO_DEVICE    100

typedef struct
{
  const char *name, *title, *without;
  const char *files[4]; /* the newest first */
} Row;

/* clang-format off */
static const Row rows[IR_GPU_N_LIBRARIES] = {
  [IR_GPU_DRIVER] = { "driver", "CUDA driver", "nothing can run on a GPU",
                      { "libcuda.so.1" } },
  [IR_GPU_NVRTC] = { "nvrtc", "NVRTC, the compiler of kernels", "there are only kernels that were compiled before",
                     { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2" } },
  [IR_GPU_CUBLASLT] = { "cublasLt", "cuBLASLt", "no product has its bias added by cuBLASLt",
                        { "libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11" } },
  [IR_GPU_CUBLAS] = { "cublas", "cuBLAS", "products of matrices are done by kernels of irscope",
                      { "libcublas.so.13", "libcublas.so.12", "libcublas.so.11" } },
  [IR_GPU_NVTX] = { "nvtx", "NVTX", "profilers are told of no ranges by the names of nodes",
                    { "libnvToolsExt.so.1" } },
};

typedef struct
{
  IrGpuLibraryId library;
  const char *symbol;
  int since;
  gsize offset; /* in IrGpuFunctions */
} Function;

static const Function functions[IR_GPU_N_FUNCTIONS] = {
#define ROW(LIBRARY, symbol, since) { IR_GPU_##LIBRARY, #symbol, since, G_STRUCT_OFFSET (IrGpuFunctions, symbol) },
#define GPU_FUNCTION(LIBRARY, symbol, since, ...) ROW (LIBRARY, symbol, since)
#define GPU_TEXT_FUNCTION(LIBRARY, symbol, since, ...) ROW (LIBRARY, symbol, since)
#define GPU_SIZE_FUNCTION(LIBRARY, symbol, since, ...) ROW (LIBRARY, symbol, since)
#define GPU_LEVEL_FUNCTION(LIBRARY, symbol, since, ...) ROW (LIBRARY, symbol, since)
#include "core/exec/gpu/functions.def"
};

static const char *const state_names[] = {
  [IR_GPU_USABLE] = "usable", [IR_GPU_MISSING] = "missing", [IR_GPU_UNLOADED] = "unloaded",
  [IR_GPU_TOO_OLD] = "too old", [IR_GPU_STUB] = "stub", [IR_GPU_FAILED] = "failed",
};
/* clang-format on */

/**
 * ir_gpu_state_name:
 * @state: what became of a library
 *
 * Returns: (transfer none): its name, as JSON has it
 */
const char *
ir_gpu_state_name (IrGpuLibraryState state)
{
  return state_names[state];
}

/* -- what calls return -- */

/* What to do about results of the driver that say less than they mean. */
static const struct
{
  IrGpuResult result;
  const char *hint;
} hints[] = {
  { 2, "the memory of the device is used up" },
  { CUDA_ERROR_STUB_LIBRARY, "this is the toolkit's library for linking, and no driver" },
  { CUDA_ERROR_NO_DEVICE, "the driver sees no GPU; in a container, it may not be handed in" },
  { 209, "the program is for GPUs of another kind" },
  { 214, "the device has an error in its memory; it has to be reset" },
  { 218, "the driver does not take this program; it may be older than the compiler" },
  { 222, "the driver is older than the compiler that made the program" },
  { 700, "a kernel has used an address that is not its own; what was on the device is lost" },
  { 701, "a kernel needs more registers or shared memory than there are" },
  { 702, "a kernel took too long; what was on the device is lost" },
  { 716, "a kernel has used an odd address; what was on the device is lost" },
  { 719, "a kernel has failed; what was on the device is lost" },
  { 803,
    "the driver in use and its library are of different versions; restarting loads the new one" },
  { 804, "the driver cannot do what the newer library needs" },
};

/* The library's own words for @result of a function of @library, or NULL. */
static const char *
text_of (const IrGpuFunctions *f, IrGpuLibraryId library, IrGpuResult result)
{
  const char *text = NULL;

  if (library == IR_GPU_NVRTC)
    return f->nvrtcGetErrorString != NULL ? f->nvrtcGetErrorString (result) : NULL;
  if (library == IR_GPU_CUBLAS)
    return f->cublasGetStatusString != NULL ? f->cublasGetStatusString (result) : NULL;
  if (library == IR_GPU_CUBLASLT)
    return f->cublasLtGetStatusString != NULL ? f->cublasLtGetStatusString (result) : NULL;
  return f->cuGetErrorString != NULL && f->cuGetErrorString (result, &text) == 0 ? text : NULL;
}

static char *
describe (const IrGpuFunctions *f, const Function *function, IrGpuResult result)
{
  const char *text = text_of (f, function->library, result), *hint = NULL, *name = NULL;

  for (guint i = 0; function->library == IR_GPU_DRIVER && i < G_N_ELEMENTS (hints); i++)
    if (hints[i].result == result)
      hint = hints[i].hint;
  if (function->library == IR_GPU_DRIVER && f->cuGetErrorName != NULL)
    f->cuGetErrorName (result, &name);
  return g_strdup_printf ("%s returned %u%s%s%s%s%s%s", function->symbol, result,
                          name != NULL ? " " : "", name != NULL ? name : "",
                          text != NULL ? ": " : "", text != NULL ? text : "",
                          hint != NULL ? "; " : "", hint != NULL ? hint : "");
}

/**
 * ir_gpu_check:
 * @gpu: the libraries
 * @function: what was called
 * @result: what it returned
 * @error: return location for an error
 *
 * The one place where results are looked at: fails with %IR_EXEC_ERROR_MEMORY where the device's
 * memory is used up, else with %IR_EXEC_ERROR_DEVICE, with the function and the library's own text.
 *
 * Returns: %TRUE if all is well
 */
gboolean
ir_gpu_check (const IrGpu *gpu, IrGpuFunction function, IrGpuResult result, GError **error)
{
  const Function *row = &functions[function];

  if (result == 0)
    return TRUE;
  g_autofree char *text = describe (&gpu->functions, row, result);
  g_set_error (error, IR_EXEC_ERROR,
               row->library == IR_GPU_DRIVER && result == 2 ? IR_EXEC_ERROR_MEMORY
                                                            : IR_EXEC_ERROR_DEVICE,
               "%s: %s", rows[row->library].title, text);
  return FALSE;
}

/* -- one file -- */

/* What became of one file. */
typedef struct
{
  IrGpuLibraryState state;
  char *path, *version, *reason;
  gpointer handle;
} Candidate;

static void
candidate_clear (Candidate *candidate)
{
  g_clear_pointer (&candidate->path, g_free);
  g_clear_pointer (&candidate->version, g_free);
  g_clear_pointer (&candidate->reason, g_free);
  if (candidate->handle != NULL)
    dlclose (candidate->handle);
  candidate->handle = NULL;
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Candidate, candidate_clear)

static char *
version_text (int version)
{
  return g_strdup_printf ("%d.%d", version / 1000, version % 1000 / 10);
}

static gboolean
is_shared_object (const char *path)
{
  char magic[4] = { 0 };
  FILE *file = fopen (path, "rb");
  gboolean is = file != NULL && fread (magic, 1, 4, file) == 4 && memcmp (magic, "\177ELF", 4) == 0;

  if (file != NULL)
    fclose (file);
  return is;
}

/* Takes the addresses of the functions of @id from @candidate. */
static void
resolve (IrGpuLibraryId id, IrGpuFunctions *f, Candidate *candidate)
{
  for (guint i = 0; i < IR_GPU_N_FUNCTIONS; i++)
    {
      const Function *row = &functions[i];
      gpointer address = row->library == id ? dlsym (candidate->handle, row->symbol) : NULL;

      if (row->library != id)
        continue;
      memcpy (G_STRUCT_MEMBER_P (f, row->offset), &address, sizeof address);
      if (address != NULL || candidate->state != IR_GPU_USABLE)
        continue;
      g_autofree char *since = version_text (row->since);
      candidate->state = IR_GPU_TOO_OLD;
      candidate->reason = g_strdup_printf (
          "it lacks %s, which is there since CUDA %s; a newer one is needed", row->symbol, since);
    }
}

static void
forget (IrGpuLibraryId id, IrGpuFunctions *f)
{
  for (guint i = 0; i < IR_GPU_N_FUNCTIONS; i++)
    if (functions[i].library == id)
      memset (G_STRUCT_MEMBER_P (f, functions[i].offset), 0, sizeof (gpointer));
}

/* A driver says by its first call whether it is one. */
static void
try_driver (const IrGpuFunctions *f, Candidate *candidate)
{
  int version = 0;
  IrGpuResult result = f->cuInit (0);

  if (f->cuDriverGetVersion (&version) == 0 && version > 0)
    candidate->version = version_text (version);
  if (result == 0 && version < LEAST_DRIVER)
    {
      g_autofree char *least = version_text (LEAST_DRIVER);
      candidate->state = IR_GPU_TOO_OLD;
      candidate->reason = g_strdup_printf (
          "it is of CUDA %s; a driver of CUDA %s or newer is needed",
          candidate->version != NULL ? candidate->version : "?", least);
    }
  else if (result != 0)
    {
      candidate->state = result == CUDA_ERROR_STUB_LIBRARY ? IR_GPU_STUB : IR_GPU_FAILED;
      candidate->reason = describe (f, &functions[IR_GPU_FUNCTION_cuInit], result);
    }
}

static void
ask_version (IrGpuLibraryId id, const IrGpuFunctions *f, Candidate *candidate)
{
  int v[3] = { 0 };

  if (id == IR_GPU_NVRTC && f->nvrtcVersion (&v[0], &v[1]) == 0)
    candidate->version = g_strdup_printf ("%d.%d", v[0], v[1]);
  else if (id == IR_GPU_CUBLAS && f->cublasGetProperty (0, &v[0]) == 0 &&
           f->cublasGetProperty (1, &v[1]) == 0 && f->cublasGetProperty (2, &v[2]) == 0)
    candidate->version = g_strdup_printf ("%d.%d.%d", v[0], v[1], v[2]);
  else if (id == IR_GPU_CUBLASLT)
    {
      size_t version = f->cublasLtGetVersion ();
      candidate->version = g_strdup_printf ("%zu.%zu.%zu", version / 10000, version / 100 % 100,
                                            version % 100);
    }
}

/* Where the loader has found what it was asked for by name. */
static char *
path_of (gpointer handle)
{
  struct link_map *map = NULL;

  return dlinfo (handle, RTLD_DI_LINKMAP, &map) == 0 && map != NULL && map->l_name[0] != '\0'
             ? g_strdup (map->l_name)
             : NULL;
}

/* %FALSE: there is no such file. */
static gboolean
try_file (
    IrGpuLibraryId id, const IrGpuPlace *place, const char *name, IrGpu *gpu, Candidate *candidate)
{
  g_autofree char *path = place->folder != NULL ? g_build_filename (place->folder, name, NULL)
                                                : g_strdup (name);

  *candidate = (Candidate){ .state = IR_GPU_USABLE };
  if (place->folder != NULL && !g_file_test (path, G_FILE_TEST_EXISTS))
    return FALSE;
  if (place->folder != NULL && !is_shared_object (path))
    {
      candidate->state = IR_GPU_UNLOADED;
      candidate->path = g_steal_pointer (&path);
      candidate->reason = g_strdup ("it is no shared object");
      return TRUE;
    }
  candidate->handle = dlopen (path, RTLD_NOW | RTLD_LOCAL);
  if (candidate->handle == NULL)
    {
      const char *text = dlerror ();
      candidate->state = IR_GPU_UNLOADED;
      candidate->path = g_steal_pointer (&path);
      candidate->reason = g_strdup_printf ("the loader refuses it: %s", text);
      /* The loader says by a text alone that there is none. */
      if (place->folder == NULL && strstr (text, "No such file") != NULL &&
          g_str_has_prefix (text, name))
        {
          candidate_clear (candidate);
          return FALSE;
        }
      return TRUE;
    }
  candidate->path = place->folder != NULL ? g_steal_pointer (&path) : path_of (candidate->handle);
  resolve (id, &gpu->functions, candidate);
  if (candidate->state == IR_GPU_USABLE && id == IR_GPU_DRIVER)
    try_driver (&gpu->functions, candidate);
  else if (candidate->state == IR_GPU_USABLE)
    ask_version (id, &gpu->functions, candidate);
  return TRUE;
}

/* -- all of them -- */

/* Takes what @candidate is, and leaves nothing in it. */
static void
take (IrGpuLibrary *library, Candidate *candidate)
{
  library->state = candidate->state;
  library->path = g_steal_pointer (&candidate->path);
  library->version = g_steal_pointer (&candidate->version);
  library->reason = g_steal_pointer (&candidate->reason);
  library->handle = g_steal_pointer (&candidate->handle);
}

static void
open_library (IrGpu *gpu, IrGpuLibraryId id)
{
  const Row *row = &rows[id];
  IrGpuLibrary *library = &gpu->libraries[id];

  library->name = row->name;
  library->title = row->title;
  library->without = row->without;
  library->state = IR_GPU_MISSING;
  for (guint i = 0; i < gpu->places->len; i++)
    for (guint k = 0; k < G_N_ELEMENTS (row->files) && row->files[k] != NULL; k++)
      {
        g_auto (Candidate) candidate = { 0 };
        if (!try_file (id, gpu->places->pdata[i], row->files[k], gpu, &candidate))
          continue;
        if (candidate.state == IR_GPU_USABLE)
          {
            g_clear_pointer (&library->path, g_free);
            g_clear_pointer (&library->version, g_free);
            g_clear_pointer (&library->reason, g_free);
            take (library, &candidate);
            return;
          }
        /* What cannot be used is let go of at once; the first of these is what is told of. */
        forget (id, &gpu->functions);
        if (candidate.handle != NULL)
          dlclose (g_steal_pointer (&candidate.handle));
        if (library->state == IR_GPU_MISSING)
          take (library, &candidate);
      }
  if (library->state == IR_GPU_MISSING)
    library->reason = g_strdup_printf ("there is no %s%s", row->files[0],
                                       row->files[1] != NULL ? ", nor an older one" : "");
}

/**
 * ir_gpu_open:
 * @places: (transfer full) (element-type IrGpuPlace): where to look, as from ir_gpu_places()
 *
 * Looks for the libraries, and opens those that are there. That one is missing is no error:
 * #IrGpuLibrary says what is there and why it cannot be used.
 *
 * Returns: (transfer full): what was found
 */
IrGpu *
ir_gpu_open (GPtrArray *places)
{
  IrGpu *gpu = g_new0 (IrGpu, 1);
  int version = 0;

  gpu->places = places;
  for (IrGpuLibraryId id = 0; id < IR_GPU_N_LIBRARIES; id++)
    open_library (gpu, id);
  if (gpu->libraries[IR_GPU_DRIVER].state == IR_GPU_USABLE)
    {
      gpu->stand_in = dlsym (gpu->libraries[IR_GPU_DRIVER].handle, "irscope_stand_in") != NULL;
      if (gpu->functions.cuDriverGetVersion (&version) == 0)
        gpu->driver_version = version;
    }
  return gpu;
}

/**
 * ir_gpu_free:
 * @gpu: (transfer full) (nullable): what was opened
 */
void
ir_gpu_free (IrGpu *gpu)
{
  if (gpu == NULL)
    return;
  for (guint i = IR_GPU_N_LIBRARIES; i > 0; i--)
    {
      IrGpuLibrary *library = &gpu->libraries[i - 1];
      /* Its handle stays: these libraries keep memory of their own and are not made to be unloaded. */
      g_free (library->path);
      g_free (library->version);
      g_free (library->reason);
    }
  g_ptr_array_unref (gpu->places);
  g_free (gpu);
}
