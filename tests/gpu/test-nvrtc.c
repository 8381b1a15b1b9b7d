/* The kernels through NVRTC, where it is installed: those of each row compile for the oldest architecture that
 * counts, each template in each element type for all that do, and nothing is spilled. No device is needed;
 * nothing is run.
 *
 *     test-gpu-nvrtc [--trials N] [--all] */
#include "config.h"

#include "core/exec/gpu/compile.h"
#include "core/exec/gpu/devices.h"
#include "core/exec/gpu/stats.h"
#include "tests/gpu/cases.h"

#include <string.h>

static guint wanted_trials = 1;
static gboolean all_architectures;

static const GOptionEntry options[] = {
  { "trials", 0, 0, G_OPTION_ARG_INT, &wanted_trials, "Random calls of each operator", "N" },
  { "all", 0, 0, G_OPTION_ARG_NONE, &all_architectures, "For each architecture that NVRTC knows",
    NULL },
  { NULL },
};

typedef struct
{
  IrGpu *gpu;
  Cases cases;
} All;

/* Whether the text of the kernel that @entry begins with asks for a sum of a product in one rounding itself. */
static gboolean
asks_for_fma (const IrGpuProgram *program, const char *entry)
{
  for (guint i = 0; entry != NULL && i < program->launches->len; i++)
    {
      const IrGpuLaunch *launch = program->launches->pdata[i];
      if (g_str_has_prefix (entry + strlen (".entry "), launch->name))
        return strstr (launch->text, "fmaf (") != NULL;
    }
  return FALSE;
}

/* What strict arithmetic has not: contraction, approximation, flushing. */
static void
check_ptx (const char *ptx, const IrGpuProgram *program)
{
  static const char *const forbidden[] = { "fma.rn.f32", "div.approx", "sqrt.approx" };

  for (guint i = 0; i < G_N_ELEMENTS (forbidden); i++)
    for (const char *at = strstr (ptx, forbidden[i]); at != NULL;
         at = strstr (at + 1, forbidden[i]))
      {
        const char *entry = g_strrstr_len (ptx, at - ptx, ".entry ");
        if (i > 0 || !asks_for_fma (program, entry))
          g_error ("%s in %.60s", forbidden[i], entry != NULL ? entry : "?");
      }
}

static void
compile_for (const All *all, const char *text, int architecture)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrGpuCode) code = ir_gpu_compile (all->gpu, text, architecture, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (g_bytes_get_size (code->cubin), >, 0);
  g_assert_cmpuint (code->kernels->len, >, 0);
  for (guint i = 0; i < code->kernels->len; i++)
    {
      const IrGpuKernelFacts *facts = code->kernels->pdata[i];
      if (facts->spill_bytes > 0 || facts->registers <= 0 || facts->registers > 255)
        g_error ("sm_%d: %s spills %d bytes, with %d registers", architecture, facts->name,
                 (int) facts->spill_bytes, facts->registers);
    }
  g_test_message ("sm_%d: %u kernels", architecture, code->kernels->len);
}

#define OLDEST 80

static gboolean
is_wanted (int architecture, int newest)
{
  return all_architectures || architecture == OLDEST || architecture == 90 ||
         architecture == newest;
}

/* What kernels have in common that were made of one template for the same element types: the family in their
 * names, and their parameters. */
static char *
template_of (const IrGpuLaunch *launch)
{
  const char *parameters = strchr (strstr (launch->text, "IR_KERNEL"), ')') + 1;

  return g_strdup_printf ("%.*s %.*s", (int) (strrchr (launch->name, '_') - launch->name),
                          launch->name, (int) strcspn (parameters, ")"), parameters);
}

/* The texts of one kernel of each template in each element type. */
static char *
one_of_each (const IrGpuProgram *program)
{
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (IrGpuProgram) chosen = ir_gpu_program_new ();

  for (guint i = 0; i < program->launches->len; i++)
    {
      const IrGpuLaunch *launch = program->launches->pdata[i];
      if (g_hash_table_add (seen, template_of (launch)))
        ir_gpu_program_add_text (chosen, launch->name, launch->text);
    }
  return ir_gpu_program_text (chosen);
}

static void
test_compiles (gconstpointer data)
{
  const All *all = data;
  g_autoptr (GError) error = NULL;

  if (all->gpu->libraries[IR_GPU_NVRTC].state != IR_GPU_USABLE)
    {
      g_test_skip ("NVRTC is not installed");
      return;
    }
  g_autoptr (GArray) architectures = ir_gpu_architectures (all->gpu, &error);
  g_assert_no_error (error);
  g_autofree char *text = ir_gpu_program_text (all->cases.program);
  g_autofree char *templates = all_architectures ? g_strdup (text)
                                                 : one_of_each (all->cases.program);
  int newest = g_array_index (architectures, int, architectures->len - 1);
  for (guint i = 0; i < architectures->len; i++)
    {
      int architecture = g_array_index (architectures, int, i);
      if (is_wanted (architecture, newest))
        compile_for (all, architecture == OLDEST ? text : templates, architecture);
    }
}

/* Kernels whose text calls no function of the library. */
static void
test_strict (gconstpointer data)
{
  static const char *const names[] = { "Add",    "Mul",  "Div",       "Sqrt",        "Relu",
                                       "MatMul", "Conv", "ReduceSum", "AveragePool", "LeakyRelu" };
  const All *all = data;
  g_autoptr (GError) error = NULL;
  Cases cases;

  if (all->gpu->libraries[IR_GPU_NVRTC].state != IR_GPU_USABLE)
    {
      g_test_skip ("NVRTC is not installed");
      return;
    }
  cases_init (&cases);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    cases_add (&cases, ir_op_find ("", names[i]), 2);
  g_autofree char *text = ir_gpu_program_text (cases.program);
  g_autoptr (IrGpuCode) code = ir_gpu_compile (all->gpu, text, 80, &error);
  g_assert_no_error (error);
  check_ptx (code->ptx, cases.program);
  g_assert_nonnull (strstr (code->ptx, "ld.global.v4.f32"));
  g_assert_nonnull (strstr (code->ptx, "st.global.v4.f32"));
  cases_clear (&cases);
}

static void
add_stats (IrGpuProgram *to)
{
  for (IrDtype dtype = 0; dtype < IR_N_DTYPES; dtype++)
    {
      g_autoptr (IrGpuProgram) program = ir_gpu_stats_program (dtype);
      for (guint i = 0; program != NULL && i < program->launches->len; i++)
        {
          const IrGpuLaunch *launch = program->launches->pdata[i];
          ir_gpu_program_add_text (to, launch->name, launch->text);
        }
    }
}

/* Sums of statistics are in double, and rounded as the host rounds them. */
static void
test_stats (gconstpointer data)
{
  const All *all = data;
  g_autoptr (IrGpuProgram) program = ir_gpu_program_new ();
  g_autoptr (GError) error = NULL;

  if (all->gpu->libraries[IR_GPU_NVRTC].state != IR_GPU_USABLE)
    {
      g_test_skip ("NVRTC is not installed");
      return;
    }
  add_stats (program);
  g_autofree char *text = ir_gpu_program_text (program);
  g_autoptr (IrGpuCode) code = ir_gpu_compile (all->gpu, text, OLDEST, &error);
  g_assert_no_error (error);
  g_assert_nonnull (strstr (code->ptx, "add.rn.f64"));
  g_assert_null (strstr (code->ptx, "fma.rn.f64"));
}

static void
test_errors (gconstpointer data)
{
  const All *all = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (IrGpu) none = ir_gpu_open (ir_gpu_places_new ());

  g_assert_null (ir_gpu_compile (none, "", 80, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE);
  g_clear_error (&error);
  if (all->gpu->libraries[IR_GPU_NVRTC].state != IR_GPU_USABLE)
    {
      g_test_skip ("NVRTC is not installed");
      return;
    }
  g_assert_null (
      ir_gpu_compile (all->gpu, "IR_KERNEL (k) (float *y)\n{\n  nonsense;\n}\n", 80, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE);
  g_assert_nonnull (strstr (error->message, "kernels(3)"));
  g_clear_error (&error);
  g_assert_null (ir_gpu_compile (all->gpu, "", 1, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE);
}

int
main (int argc, char **argv)
{
  All all = { ir_gpu_open (ir_gpu_places (g_getenv (IR_GPU_PATH))) };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);

  g_option_context_add_main_entries (context, options, NULL);
  g_option_context_set_ignore_unknown_options (context, TRUE);
  g_option_context_set_help_enabled (context, FALSE);
  if (!g_option_context_parse (context, &argc, &argv, NULL))
    return 2;
  g_test_init (&argc, &argv, NULL);
  cases_init (&all.cases);
  for (IrOpId id = 1; id < (IrOpId) ir_op_n (); id++)
    if (ir_gpu_kernel_name (ir_op_by_id (id)) != NULL)
      cases_add (&all.cases, ir_op_by_id (id), wanted_trials);
  add_stats (all.cases.program);
  g_test_add_data_func ("/gpu/nvrtc/compiles without spills", &all, test_compiles);
  g_test_add_data_func ("/gpu/nvrtc/is strict", &all, test_strict);
  g_test_add_data_func ("/gpu/nvrtc/statistics", &all, test_stats);
  g_test_add_data_func ("/gpu/nvrtc/errors", &all, test_errors);
  int failed = g_test_run ();
  cases_clear (&all.cases);
  ir_gpu_free (all.gpu);
  return failed;
}
