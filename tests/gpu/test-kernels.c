/* Every row of the op table that has a GPU kernel, against the reference kernel: random calls become
 * text, the C compiler makes a program of all of them, and the emulator runs it in several orders, which
 * have to give the same bits.
 *
 *     test-gpu-kernels [--op NAME] [--trials N] [--orders 4] [--show] */
#include "config.h"

#include "tests/gpu/cases.h"
#include "tests/gpu/emulator/emulator.h"

#include <string.h>

#define MAX_OUTPUTS   16
#define MAX_SEEDS     400
#define MOST_ELEMENTS 4000

static guint wanted_trials = 4, n_orders = 2;
static char *only;
static gboolean show;

static const GOptionEntry options[] = {
  { "op", 0, 0, G_OPTION_ARG_STRING, &only, "This operator alone", "NAME" },
  { "trials", 0, 0, G_OPTION_ARG_INT, &wanted_trials, "Calls of each operator", "N" },
  { "orders", 0, 0, G_OPTION_ARG_INT, &n_orders, "1 to 4", "N" },
  { "show", 0, 0, G_OPTION_ARG_NONE, &show, "Print calls and kernels", NULL },
  { NULL },
};

typedef struct
{
  Cases cases;
  EmuProgram *compiled;
} All;

/* -- running them -- */

/* Of one run of a case. */
typedef struct
{
  EmuBuffer inputs[TRIAL_MAX_INPUTS], outputs[MAX_OUTPUTS], fault;
} Memory;

static EmuBuffer *
buffer_of (Memory *memory, const Case *c, IrGpuArg arg)
{
  static const char *const inputs[] = { "input 0", "input 1", "input 2", "input 3", "an input" };
  static const char *const outputs[] = { "output 0", "output 1", "output 2", "an output" };
  EmuBuffer *buffer = arg.kind == IR_GPU_INPUT    ? &memory->inputs[arg.slot]
                      : arg.kind == IR_GPU_OUTPUT ? &memory->outputs[arg.slot]
                                                  : &memory->fault;
  guint size;

  if (buffer->data != NULL)
    return buffer;
  if (arg.kind == IR_GPU_INPUT)
    {
      const IrTensor *tensor = c->trial.tensors[arg.slot];
      size = ir_dtype_bits (ir_tensor_dtype (tensor)) / 8;
      *buffer = emu_buffer_new (inputs[MIN (arg.slot, 4)], ir_tensor_n_elements (tensor) * size,
                                size, FALSE);
      memcpy (buffer->data, ir_tensor_data (tensor), buffer->bytes);
    }
  else if (arg.kind == IR_GPU_OUTPUT)
    {
      size = ir_dtype_bits (c->outputs[arg.slot].dtype) / 8;
      *buffer = emu_buffer_new (outputs[MIN (arg.slot, 3)], c->outputs[arg.slot].n * size, size,
                                TRUE);
      memset (buffer->data, 0xcd, buffer->bytes);
    }
  else
    *buffer = emu_buffer_new ("the fault", sizeof (guint32), sizeof (guint32), TRUE);
  return buffer;
}

static void
memory_clear (Memory *memory)
{
  for (guint i = 0; i < TRIAL_MAX_INPUTS; i++)
    emu_buffer_clear (&memory->inputs[i]);
  for (guint i = 0; i < MAX_OUTPUTS; i++)
    emu_buffer_clear (&memory->outputs[i]);
  emu_buffer_clear (&memory->fault);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Memory, memory_clear)

static char *
run_launches (const All *all, const Case *c, EmuOrder order, Memory *memory)
{
  const EmuBuffer *args[IR_GPU_MAX_ARGS];
  char *problem = NULL;

  for (guint i = c->first; i < c->end; i++)
    {
      const IrGpuLaunch *launch = all->cases.program->launches->pdata[i];
      for (guint k = 0; k < launch->n_args; k++)
        args[k] = buffer_of (memory, c, launch->args[k]);
      if (!emu_run (all->compiled, launch, args, order, c->seed + i, &problem))
        return problem;
    }
  return NULL;
}

/* What is wrong with the outputs, or NULL. */
static char *
judge (const Case *c, const Memory *memory)
{
  guint32 fault = memory->fault.data != NULL ? *(const guint32 *) (gpointer) memory->fault.data : 0;

  if (c->refused != (fault != IR_GPU_FAULT_NONE))
    return g_strdup_printf ("the reference %s, the fault is %u",
                            c->refused ? "refuses the contents" : "runs", fault);
  for (guint i = 0; i < MAX_OUTPUTS && !c->refused; i++)
    {
      const IrTensor *wanted = c->wanted[i];
      if (wanted == NULL)
        continue;
      g_autoptr (IrTensor) found = ir_tensor_new_alloc (
          c->outputs[i].dtype, ir_tensor_rank (wanted), ir_tensor_dims (wanted), NULL);
      if (ir_tensor_n_elements (wanted) != c->outputs[i].n ||
          ir_tensor_dtype (wanted) != c->outputs[i].dtype)
        return g_strdup_printf ("output %u was inferred as another type", i);
      if (c->outputs[i].n > 0 && memory->outputs[i].data == NULL)
        return g_strdup_printf ("no launch writes output %u", i);
      if (c->outputs[i].n > 0)
        memcpy (ir_tensor_data_writable (found), memory->outputs[i].data, memory->outputs[i].bytes);
      char *text = trial_difference (&c->trial, i, found, wanted);
      if (text != NULL)
        return text;
    }
  return NULL;
}

static gboolean
same_bits (const Memory *a, const Memory *b)
{
  for (guint i = 0; i < MAX_OUTPUTS; i++)
    if (a->outputs[i].data != NULL &&
        memcmp (a->outputs[i].data, b->outputs[i].data, a->outputs[i].bytes) != 0)
      return FALSE;
  return TRUE;
}

static char *
run_case (const All *all, const Case *c)
{
  g_auto (Memory) first = { 0 };
  char *problem = run_launches (all, c, EMU_FORWARD, &first);

  if (problem == NULL)
    problem = judge (c, &first);
  for (guint order = EMU_SEEDED; problem == NULL && order < n_orders; order++)
    {
      g_auto (Memory) again = { 0 };
      problem = run_launches (all, c, order, &again);
      if (problem == NULL && !c->refused && !same_bits (&first, &again))
        problem = g_strdup_printf ("order %u of threads gives other bits than order 0", order);
    }
  return problem;
}

/* -- tests -- */

static void
show_case (const All *all, const Case *c)
{
  g_autofree char *text = trial_to_string (&c->trial);

  g_printerr ("%s\n", text);
  for (guint i = c->first; i < c->end; i++)
    {
      const IrGpuLaunch *launch = all->cases.program->launches->pdata[i];
      g_printerr ("%u blocks of %u threads:\n%s\n", launch->blocks, launch->threads, launch->text);
    }
}

typedef struct
{
  const All *all;
  const IrOp *op;
} Row;

static void
test_row (gconstpointer data)
{
  const Row *row = data;
  guint n = 0;

  for (guint i = 0; i < row->all->cases.list->len; i++)
    {
      const Case *c = row->all->cases.list->pdata[i];
      if (c->trial.node->op != row->op)
        continue;
      g_autofree char *problem = run_case (row->all, c);
      if (problem != NULL || show)
        show_case (row->all, c);
      if (problem != NULL)
        {
          g_test_message ("seed %u: %s", c->seed, problem);
          g_printerr ("%s, seed %u: %s\n", row->op->name, c->seed, problem);
          g_test_fail ();
          return;
        }
      n++;
    }
  if (n == 0)
    {
      g_printerr ("%s: no call of it had a kernel: %s\n", row->op->name,
                  (const char *) g_hash_table_lookup (row->all->cases.why, row->op->name));
      g_test_fail ();
    }
  g_test_message ("%u calls", n);
}

static void
test_compiles (gconstpointer data)
{
  All *all = (All *) data;
  g_autofree char *text = ir_gpu_program_text (all->cases.program);
  g_autoptr (GError) error = NULL;

  all->compiled = emu_compile (text, &error);
  g_assert_no_error (error);
}

int
main (int argc, char **argv)
{
  All all = { .compiled = NULL };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autofree Row *rows = g_new0 (Row, ir_op_n ());

  cases_init (&all.cases);
  g_option_context_add_main_entries (context, options, NULL);
  g_option_context_set_ignore_unknown_options (context, TRUE);
  g_option_context_set_help_enabled (context, FALSE);
  if (!g_option_context_parse (context, &argc, &argv, NULL))
    return 2;
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/gpu/kernels/compile", &all, test_compiles);
  for (IrOpId id = 1; id < (IrOpId) ir_op_n (); id++)
    {
      rows[id] = (Row){ &all, ir_op_by_id (id) };
      if (ir_gpu_kernel_name (rows[id].op) == NULL ||
          (only != NULL && !g_str_equal (only, rows[id].op->name)))
        continue;
      cases_add (&all.cases, rows[id].op, wanted_trials);
      g_autofree char *path = g_strdup_printf (
          "/gpu/kernels/%s/%s",
          rows[id].op->domain != NULL && *rows[id].op->domain != '\0' ? rows[id].op->domain
                                                                      : "ai.onnx",
          rows[id].op->name);
      g_test_add_data_func (path, &rows[id], test_row);
    }
  int failed = g_test_run ();
  cases_clear (&all.cases);
  emu_free (all.compiled);
  return failed;
}
