/* What the options of a run say: back end, limits, what is left out, threads. */
#include "config.h"

#include "app/cli/leave.h"
#include "app/cli/model.h"
#include "app/cli/print.h"

#include "core/exec/gpu/runtime.h"
#include "core/exec/kernel/size.h"

/* Beside a GPU, for which it is, there may be another back end that values are held against. */
static gboolean
take_precision (const char *text, const IrBackend *backend, GError **error)
{
  IrGpuPrecision precision = IR_GPU_STRICT;

  if (text == NULL)
    return TRUE;
  if (!ir_gpu_precision_find (text, &precision))
    {
      g_set_error (error, CLI_ERROR, 0, "--precision %s: needs strict, tf32 or half", text);
      return FALSE;
    }
  if (precision != IR_GPU_STRICT && backend->memory == NULL)
    {
      g_set_error (error, CLI_ERROR, 0,
                   "--precision %s: is of products on a GPU; give --device gpu, or leave it out",
                   text);
      return FALSE;
    }
  ir_gpu_runtime_round (precision);
  return TRUE;
}

static gboolean
take_streams (const char *text, const IrBackend *backend, GError **error)
{
  guint64 n = IR_GPU_MAX_STREAMS;

  if (text != NULL && !g_ascii_string_to_unsigned (text, 10, 1, IR_GPU_MAX_STREAMS, &n, NULL))
    g_set_error (error, CLI_ERROR, 0, "--streams %s: needs a number from 1 to %d", text,
                 IR_GPU_MAX_STREAMS);
  else if (text != NULL && backend->memory == NULL)
    g_set_error (error, CLI_ERROR, 0,
                 "--streams %s: is of a GPU; give --device gpu, or leave it out", text);
  else
    {
      ir_gpu_runtime_beside ((guint) n);
      return TRUE;
    }
  return FALSE;
}

const IrBackend *
cli_backend (const CliModelOptions *options, GError **error)
{
  const char *name = options->device != NULL ? options->device : "cpu";
  const IrBackend *backend = ir_backend_find (name);

  if (options->threads < 0)
    {
      g_set_error (error, CLI_ERROR, 0, "--threads %d: needs a number from 1, or 0 for all cores",
                   options->threads);
      return NULL;
    }
  if (backend == NULL)
    {
      g_set_error (error, CLI_ERROR, 0,
                   "--device %s: there is no such back end; use cpu, ref, gpu or gpu:N", name);
      return NULL;
    }
  if (!take_precision (options->precision, backend, error) ||
      !take_streams (options->streams, backend, error))
    return NULL;
  backend = ir_backend_require (name, error);
  if (backend == NULL)
    {
      g_prefix_error (error, "--");
      return NULL;
    }
  static gboolean told;
  if (backend->available != NULL && ir_gpu_runtime_is_stand_in () && !told)
    cli_printerr ("irscope: the device is a stand-in, which imitates a GPU on the processor: "
                  "values are checked, times say nothing\n");
  told = TRUE;
  return backend;
}

gboolean
cli_parse_size (const char *option, const char *text, gsize *bytes, GError **error)
{
  guint64 size = 0;

  if (text != NULL && !ir_size_parse (text, 0, &size))
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                   "%s %s: needs a size from 1 on and below 8388608T, such as 500M or 2G", option,
                   text);
      return FALSE;
    }
  *bytes = size;
  return TRUE;
}

gboolean
cli_limits (const CliModelOptions *options, IrRunLimits *limits, GError **error)
{
  double seconds = options->seconds;

  *limits = (IrRunLimits){ 0 };
  if (!cli_parse_size ("--memory-limit", options->memory_limit, &limits->memory_limit, error) ||
      !cli_parse_size ("--output-limit", options->output_limit, &limits->output_limit, error))
    return FALSE;
  if (options->iterations < 0 || !(seconds >= 0))
    {
      g_set_error_literal (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT,
                           "--max-iterations and --time-limit must be positive; 0: the default");
      return FALSE;
    }
  limits->iteration_limit = (guint64) options->iterations;
  limits->time_limit_ms = seconds >= 4e6 ? G_MAXUINT
                          : seconds > 0  ? (guint) MAX (seconds * 1000, 1)
                                         : 0;
  if (limits->time_limit_ms != 0)
    cli_leave_limited ();
  return TRUE;
}

gboolean
cli_without (char **names, IrDecisions *without, GError **error)
{
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (!ir_decisions_parse (names[i], without, error))
      {
        g_prefix_error (error, "--without ");
        return FALSE;
      }
  return TRUE;
}

/* @text: (nullable): off */
gboolean
cli_parallel (const char *text, IrParallelMode *mode, GError **error)
{
  if (text == NULL || ir_parallel_mode_find (text, mode))
    return TRUE;
  g_set_error (error, CLI_ERROR, 0, "--parallel %s: needs off, on or auto", text);
  return FALSE;
}
