/* Programs: launches with their texts. Templates are the files of kernels/, with $name where something
 * is put in. A kernel is named after its text, so that the same text is compiled once. */
#include "config.h"

#include "core/exec/gpu/emit.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

static const struct
{
  const char *name, *text;
} templates[] = {
#include "gpu-texts.inc"
};

static const char *
template_of (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (templates); i++)
    if (strcmp (templates[i].name, name) == 0)
      return templates[i].text;
  g_return_val_if_reached ("");
}

/* -- programs -- */

static void
launch_free (gpointer data)
{
  IrGpuLaunch *launch = data;

  g_free (launch->name);
  g_free (launch->text);
  g_free (launch->product);
  if (launch->finish != NULL)
    launch_free (launch->finish);
  g_free (launch);
}

/**
 * ir_gpu_program_new:
 *
 * Returns: (transfer full): a program without launches
 */
IrGpuProgram *
ir_gpu_program_new (void)
{
  IrGpuProgram *program = g_new0 (IrGpuProgram, 1);

  program->launches = g_ptr_array_new_with_free_func (launch_free);
  return program;
}

/**
 * ir_gpu_program_free:
 * @program: (transfer full) (nullable): a program
 */
void
ir_gpu_program_free (IrGpuProgram *program)
{
  if (program == NULL)
    return;
  g_ptr_array_unref (program->launches);
  g_free (program);
}

/**
 * ir_gpu_program_add:
 * @program: a program
 * @call: a call after inference: inputs and outputs have types
 *
 * Adds the launches that compute the outputs of @call. Where there are none, it needs no work, which is
 * so of outputs without elements.
 *
 * Returns: (nullable): %NULL, or, where nothing was added, why there is no kernel for @call
 */
const char *
ir_gpu_program_add (IrGpuProgram *program, IrCall *call)
{
  const IrGpuKernel *kernel = gpu_kernel (call->op);
  guint before = program->launches->len;
  const char *why = kernel != NULL                   ? kernel->emit (kernel, call, program)
                    : gpu_scalars (call->op) != NULL ? gpu_emit_scalar (call, program)
                                                     : "the operator has no GPU kernel";

  if (why != NULL)
    g_ptr_array_set_size (program->launches, (gint) before);
  return why;
}

/**
 * ir_gpu_program_add_text:
 * @program: a program that is not run, but compiled
 * @name: of a kernel
 * @text: its text, with its name in it
 *
 * Adds a kernel as another program has it.
 */
void
ir_gpu_program_add_text (IrGpuProgram *program, const char *name, const char *text)
{
  IrGpuLaunch *launch = g_new0 (IrGpuLaunch, 1);

  launch->name = g_strdup (name);
  launch->text = g_strdup (text);
  g_ptr_array_add (program->launches, launch);
}

/**
 * ir_gpu_kernel_name:
 * @op: an operator
 *
 * Returns: (nullable): what schedules call its kernel; %NULL: it has none
 */
const char *
ir_gpu_kernel_name (const IrOp *op)
{
  const IrGpuKernel *kernel = gpu_kernel (op);

  return kernel != NULL ? kernel->name : gpu_scalars (op) != NULL ? "elementwise" : NULL;
}

/* Functions that kernels share, in float and in double. */
static void
print_common (GString *text)
{
  static const char *const types[][2] = { { "float", "f" }, { "double", "" } };
  static const char *const together[] = { "max", "min", "add" };
  g_autofree char *four = gpu_fill ("four", NULL);

  g_string_append (text, four);
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    {
      g_autofree char *common = gpu_fill ("common", "compute", types[i][0], "f", types[i][1], NULL);
      g_string_append (text, common);
      for (guint k = 0; k < G_N_ELEMENTS (together); k++)
        {
          g_autofree char *combine = g_strconcat ("k_", together[k], types[i][1], NULL);
          g_autofree char *function = g_strconcat ("k_block_", together[k], types[i][1], NULL);
          g_autofree char *filled = gpu_fill ("together", "function", function, "compute",
                                              types[i][0], "joining", combine, NULL);
          g_string_append (text, filled);
        }
    }
}

/**
 * ir_gpu_program_text:
 * @program: a program
 *
 * Returns: (transfer full): the texts of its kernels, each once, without a prelude
 */
char *
ir_gpu_program_text (const IrGpuProgram *program)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  GString *text = g_string_new (NULL);

  print_common (text);
  for (guint i = 0; i < program->launches->len; i++)
    {
      const IrGpuLaunch *launch = program->launches->pdata[i];
      for (; launch != NULL; launch = launch->finish)
        if (g_hash_table_add (seen, launch->name))
          g_string_append_printf (text, "%s\n", launch->text);
    }
  return g_string_free (text, FALSE);
}

/**
 * ir_gpu_prelude:
 *
 * Returns: (transfer none): what goes before the kernels for NVRTC
 */
const char *
ir_gpu_prelude (void)
{
  return template_of ("prelude");
}

/* -- for those who write kernels -- */

/* Puts @words, @n texts of which each second one stands for the name before it, into @text; of two of a
 * name the last counts. */
static char *
fill (const char *text, const char *const *words, guint n)
{
  GString *filled = g_string_new (NULL);

  for (const char *at = text; *at != '\0';)
    {
      gsize length = 0;
      const char *value = NULL;

      if (*at == '$')
        while (g_ascii_islower (at[1 + length]) || at[1 + length] == '_')
          length++;
      for (guint i = 0; length > 0 && i < n; i += 2)
        if (strlen (words[i]) == length && strncmp (words[i], at + 1, length) == 0)
          value = words[i + 1];
      if (value != NULL)
        g_string_append (filled, value);
      else
        g_string_append_len (filled, at, (gssize) length + 1);
      at += length + 1;
    }
  return g_string_free (filled, FALSE);
}

char *
gpu_fill_text (const char *text, const GPtrArray *words)
{
  return fill (text, (const char *const *) words->pdata, words->len);
}

char *
gpu_fill_words (const char *template_name, const GPtrArray *words)
{
  return gpu_fill_text (template_of (template_name), words);
}

char *
gpu_fill (const char *template_name, ...)
{
  const char *words[64];
  guint n = 0;
  va_list list;

  va_start (list, template_name);
  while (n < G_N_ELEMENTS (words) && (words[n] = va_arg (list, const char *)) != NULL)
    n++;
  va_end (list);
  return fill (template_of (template_name), words, n);
}

char *
gpu_number (double value, gboolean is_double)
{
  char text[64];

  if (isnan (value))
    return g_strdup ("K_NAN");
  if (isinf (value))
    return g_strdup (value > 0 ? "K_INFINITY" : "(-K_INFINITY)");
  g_ascii_formatd (text, sizeof text, is_double ? "%.17g" : "%.9g", value);
  return g_strdup_printf ("(%s%s%s)", text, strpbrk (text, ".e") == NULL ? ".0" : "",
                          is_double ? "" : "f");
}

guint64
gpu_blocks (guint64 n, guint threads)
{
  guint64 blocks = n / threads + (n % threads != 0);

  return blocks <= G_MAXINT32 ? blocks : 0;
}

IrGpuLaunch *
gpu_launch (IrGpuProgram *program, const char *family, char *text, guint64 blocks, guint threads)
{
  IrGpuLaunch *launch = g_new0 (IrGpuLaunch, 1);
  g_autofree char *hash = g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);
  const char *words[] = { "name", NULL };

  launch->name = g_strdup_printf ("ir_%s_%.12s", family, hash);
  words[1] = launch->name;
  launch->text = fill (text, words, G_N_ELEMENTS (words));
  launch->blocks = (guint) blocks;
  launch->threads = threads;
  g_free (text);
  g_ptr_array_add (program->launches, launch);
  return launch;
}

void
gpu_launch_arg (IrGpuLaunch *launch, IrGpuArgKind kind, guint slot)
{
  g_return_if_fail (launch->n_args < IR_GPU_MAX_ARGS);
  launch->args[launch->n_args++] = (IrGpuArg){ kind, slot };
}
