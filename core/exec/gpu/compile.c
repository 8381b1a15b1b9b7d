/* Compiles the kernels of a program at once: that is several times faster than one by one. The options
 * are those of strict arithmetic: nothing is contracted, and division and square roots are exact. */
#include "config.h"

#include "core/exec/gpu/compile.h"
#include "core/exec/gpu/program.h"

#include <glib/gstdio.h>
#include <string.h>

/**
 * ir_gpu_kernel_facts_free:
 * @data: (transfer full): an #IrGpuKernelFacts with a name of its own
 */
void
ir_gpu_kernel_facts_free (gpointer data)
{
  IrGpuKernelFacts *facts = data;

  g_free (facts->name);
  g_free (facts);
}

/**
 * ir_gpu_code_new:
 *
 * Returns: (transfer full): code without kernels
 */
IrGpuCode *
ir_gpu_code_new (void)
{
  IrGpuCode *code = g_new0 (IrGpuCode, 1);

  code->kernels = g_ptr_array_new_with_free_func (ir_gpu_kernel_facts_free);
  return code;
}

/**
 * ir_gpu_code_free:
 * @code: (transfer full) (nullable): what was compiled
 */
void
ir_gpu_code_free (IrGpuCode *code)
{
  if (code == NULL)
    return;
  g_clear_pointer (&code->cubin, g_bytes_unref);
  g_ptr_array_unref (code->kernels);
  g_free (code->ptx);
  g_free (code->basis);
  g_free (code);
}

/* The number before @what in @line, 0 where there is none. */
static gint64
number_before (const char *line, const char *what)
{
  const char *at = strstr (line, what);

  while (at != NULL && at > line && (at[-1] == ' ' || g_ascii_isdigit (at[-1])))
    at--;
  return at != NULL ? g_ascii_strtoll (at, NULL, 10) : 0;
}

/* What ptxas writes of each kernel:
 *   ptxas info    : Compiling entry function 'k' for 'sm_90'
 *       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *   ptxas info    : Used 26 registers, used 1 barriers, 128 bytes smem */
static void
read_log (IrGpuCode *code, const char *log)
{
  g_auto (GStrv) lines = g_strsplit (log, "\n", -1);
  IrGpuKernelFacts *facts = NULL;

  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *name = strstr (lines[i], "Compiling entry function '");
      if (name != NULL)
        {
          name += strlen ("Compiling entry function '");
          facts = g_new0 (IrGpuKernelFacts, 1);
          facts->name = g_strndup (name, strcspn (name, "'"));
          g_ptr_array_add (code->kernels, facts);
        }
      else if (facts != NULL && strstr (lines[i], "bytes stack frame") != NULL)
        {
          facts->stack_bytes = number_before (lines[i], "bytes stack frame");
          facts->spill_bytes = number_before (lines[i], "bytes spill stores") +
                               number_before (lines[i], "bytes spill loads");
        }
      else if (facts != NULL && strstr (lines[i], "Used ") != NULL)
        {
          facts->registers = (int) number_before (lines[i], "registers");
          facts->shared_bytes = number_before (lines[i], "bytes smem");
        }
    }
}

static char *
log_of (const IrGpu *gpu, struct _nvrtcProgram *program)
{
  size_t bytes = 0;
  char *log;

  if (!IR_GPU_CALL (gpu, nvrtcGetProgramLogSize, NULL, program, &bytes) || bytes == 0)
    return g_strdup ("");
  log = g_malloc0 (bytes + 1);
  if (!IR_GPU_CALL (gpu, nvrtcGetProgramLog, NULL, program, log))
    log[0] = '\0';
  return log;
}

static gboolean
take_results (const IrGpu *gpu, struct _nvrtcProgram *program, IrGpuCode *code, GError **error)
{
  size_t ptx_bytes = 0, bytes = 0;
  g_autofree char *cubin = NULL;

  if (!IR_GPU_CALL (gpu, nvrtcGetPTXSize, error, program, &ptx_bytes) ||
      !IR_GPU_CALL (gpu, nvrtcGetCUBINSize, error, program, &bytes))
    return FALSE;
  code->ptx = g_malloc0 (ptx_bytes + 1);
  cubin = g_malloc0 (bytes + 1);
  if (!IR_GPU_CALL (gpu, nvrtcGetPTX, error, program, code->ptx) ||
      !IR_GPU_CALL (gpu, nvrtcGetCUBIN, error, program, cubin))
    return FALSE;
  code->cubin = g_bytes_new_take (g_steal_pointer (&cubin), bytes);
  return TRUE;
}

/* Beside the architecture. */
static const char *const strict[] = { "--std=c++17",         "--fmad=false", "--prec-div=true",
                                      "--prec-sqrt=true",    "--ftz=false",  "--ptxas-options=-v",
                                      "--generate-line-info" };

static gboolean
compile (const IrGpu *gpu,
         struct _nvrtcProgram *program,
         int architecture,
         IrGpuCode *code,
         GError **error)
{
  g_autofree char *target = g_strdup_printf ("--gpu-architecture=sm_%d", architecture);
  const char *options[1 + G_N_ELEMENTS (strict)] = { target };
  IrGpuResult result;
  g_autofree char *log = NULL;

  memcpy (options + 1, strict, sizeof strict);
  result = gpu->functions.nvrtcCompileProgram (program, G_N_ELEMENTS (options), options);
  log = log_of (gpu, program);

  if (!ir_gpu_check (gpu, IR_GPU_FUNCTION_nvrtcCompileProgram, result, error))
    {
      g_strstrip (log);
      if (error != NULL && log[0] != '\0')
        {
          char *whole = g_strdup_printf ("%s: %.4000s", (*error)->message, log);
          g_free ((*error)->message);
          (*error)->message = whole;
        }
      return FALSE;
    }
  read_log (code, log);
  return take_results (gpu, program, code, error);
}

/**
 * ir_gpu_compile:
 * @gpu: the libraries
 * @kernels: texts, as from ir_gpu_program_text()
 * @architecture: 90 for sm_90
 * @error: return location for an error
 *
 * Needs no device and no driver. Fails with %IR_EXEC_ERROR_DEVICE without NVRTC, and with its log where
 * it refuses the text.
 *
 * Returns: (transfer full) (nullable): the code
 */
IrGpuCode *
ir_gpu_compile (const IrGpu *gpu, const char *kernels, int architecture, GError **error)
{
  const IrGpuLibrary *nvrtc = &gpu->libraries[IR_GPU_NVRTC];
  g_autoptr (IrGpuCode) code = ir_gpu_code_new ();
  g_autofree char *text = g_strconcat (ir_gpu_prelude (), "#line 1 \"kernels\"\n", kernels, NULL);
  struct _nvrtcProgram *program = NULL;
  gboolean done;

  if (nvrtc->state != IR_GPU_USABLE)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE, "%s: %s", nvrtc->title,
                   nvrtc->reason);
      return NULL;
    }
  if (!IR_GPU_CALL (gpu, nvrtcCreateProgram, error, &program, text, "irscope.cu", 0, NULL, NULL))
    return NULL;
  code->architecture = architecture;
  code->basis = ir_gpu_compile_basis ();
  done = compile (gpu, program, architecture, code, error);
  gpu->functions.nvrtcDestroyProgram (&program);
  return done ? g_steal_pointer (&code) : NULL;
}

/* Of the file of NVRTC: releases that correct it have the version of what they correct. */
static void
print_file (const char *path, GString *text)
{
  GStatBuf found;

  if (path != NULL && g_stat (path, &found) == 0)
    g_string_append_printf (text, "%s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT "\n", path,
                            (gint64) found.st_size, (gint64) found.st_mtime);
}

/**
 * ir_gpu_compile_basis:
 *
 * Returns: (transfer full): 64 hexadecimal digits that stand for what compiled kernels of one name and architecture
 *   have together, whoever compiled them: the functions that they share, and the options
 */
char *
ir_gpu_compile_basis (void)
{
  g_autoptr (IrGpuProgram) none = ir_gpu_program_new ();
  g_autoptr (GString) text = g_string_new (ir_gpu_prelude ());
  g_autofree char *shared = ir_gpu_program_text (none);

  g_string_append (text, shared);
  for (guint i = 0; i < G_N_ELEMENTS (strict); i++)
    g_string_append_printf (text, "%s\n", strict[i]);
  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, text->str, (gssize) text->len);
}

/**
 * ir_gpu_compile_key:
 * @gpu: the libraries
 * @kernels: texts, as from ir_gpu_program_text()
 * @architecture: 90 for sm_90
 *
 * Returns: (transfer full): 64 hexadecimal digits that stand for all that ir_gpu_compile() depends on
 */
char *
ir_gpu_compile_key (const IrGpu *gpu, const char *kernels, int architecture)
{
  const IrGpuLibrary *nvrtc = &gpu->libraries[IR_GPU_NVRTC];
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char *basis = ir_gpu_compile_basis ();

  g_string_append_printf (text, "2\nsm_%d\n%s\n", architecture,
                          nvrtc->version != NULL ? nvrtc->version : "");
  print_file (nvrtc->path, text);
  g_string_append (text, basis);
  g_string_append (text, kernels);
  return g_compute_checksum_for_string (G_CHECKSUM_SHA256, text->str, (gssize) text->len);
}
