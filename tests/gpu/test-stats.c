/* Statistics that kernels count: in every order the bits that the host gives, for every element type and
 * what lies at the edges of blocks. The kernels run in the emulator. */
#include "config.h"

#include "core/exec/gpu/stats.h"
#include "core/exec/kernel/stats-blocks.h"
#include "tests/gpu/emulator/emulator.h"

#include <math.h>
#include <string.h>

static const IrDtype dtypes[] = { IR_DTYPE_FLOAT,    IR_DTYPE_DOUBLE, IR_DTYPE_FLOAT16,
                                  IR_DTYPE_BFLOAT16, IR_DTYPE_INT8,   IR_DTYPE_INT16,
                                  IR_DTYPE_INT32,    IR_DTYPE_INT64,  IR_DTYPE_UINT8,
                                  IR_DTYPE_UINT16,   IR_DTYPE_UINT32, IR_DTYPE_UINT64,
                                  IR_DTYPE_BOOL };

/* -- what is counted -- */

typedef enum
{
  RANDOM_BITS, /* of real numbers, many are none */
  SMALL,       /* whole numbers around 0 */
  FAR,         /* a large mean */
  EQUAL,
  NO_NUMBERS,
  ZEROS, /* of both signs */
  N_KINDS
} Kind;

static double
element_of (Kind kind, guint64 i, GRand *rand)
{
  switch (kind)
    {
    case SMALL:
      return g_rand_int_range (rand, -3, 4);
    case FAR:
      return 30000 + g_rand_double (rand);
    case EQUAL:
      return 7;
    case NO_NUMBERS:
      return i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY;
    case ZEROS:
      return g_rand_boolean (rand) ? 0.0 : -0.0;
    case RANDOM_BITS:
    case N_KINDS:
      break;
    }
  return 0;
}

static IrTensor *
tensor_of (IrDtype dtype, guint64 n, Kind kind, guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  const gint64 dims[] = { (gint64) n };
  IrTensor *tensor = ir_tensor_new_alloc (dtype, 1, dims, NULL);
  guint8 *data = ir_tensor_data_writable (tensor);
  gboolean by_bits = kind == RANDOM_BITS, whole = ir_dtype_is_integer (dtype);

  for (guint64 i = 0; i < n * ir_dtype_bits (dtype) / 8 && by_bits; i++)
    data[i] = dtype == IR_DTYPE_BOOL ? (guint8) g_rand_int_range (rand, 0, 2)
                                     : (guint8) g_rand_int_range (rand, 0, 256);
  for (guint64 i = 0; i < n && !by_bits; i++)
    {
      double x = dtype == IR_DTYPE_BOOL ? (double) (i % 2) : element_of (kind, i, rand);
      ir_dtype_set_double (dtype, data, (gsize) i, whole && !isfinite (x) ? 0 : x);
    }
  return tensor;
}

/* -- the kernels -- */

static EmuProgram *compiled;
static IrGpuProgram *programs[G_N_ELEMENTS (dtypes)];

static void
test_compiles (void)
{
  g_autoptr (IrGpuProgram) all = ir_gpu_program_new ();
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (dtypes); i++)
    {
      programs[i] = ir_gpu_stats_program (dtypes[i]);
      g_assert_nonnull (programs[i]);
      for (guint k = 0; k < programs[i]->launches->len; k++)
        {
          const IrGpuLaunch *launch = programs[i]->launches->pdata[k];
          ir_gpu_program_add_text (all, launch->name, launch->text);
        }
    }
  g_assert_null (ir_gpu_stats_program (IR_DTYPE_STRING));
  g_autofree char *text = ir_gpu_program_text (all);
  compiled = emu_compile (text, &error);
  g_assert_no_error (error);
}

typedef struct
{
  EmuBuffer data, sizes, numbers, wholes, bins;
} Memory;

static void
memory_init (Memory *memory, const IrTensor *tensor, const IrStatsLayout *layout)
{
  const guint64 sizes[] = { ir_tensor_n_elements (tensor), layout->n_parts };
  guint bytes = ir_dtype_bits (ir_tensor_dtype (tensor)) / 8;

  memory->data = emu_buffer_new ("the value", ir_tensor_n_bytes (tensor), bytes, FALSE);
  memcpy (memory->data.data, ir_tensor_data (tensor), ir_tensor_n_bytes (tensor));
  memory->sizes = emu_buffer_new ("the sizes", sizeof sizes, 8, FALSE);
  memcpy (memory->sizes.data, sizes, sizeof sizes);
  memory->numbers = emu_buffer_new ("numbers", layout->wholes - layout->numbers, 8, TRUE);
  memory->wholes = emu_buffer_new ("whole numbers", layout->bins - layout->wholes, 8, TRUE);
  memory->bins = emu_buffer_new ("the histogram", layout->bytes - layout->bins, 4, TRUE);
}

static void
memory_clear (Memory *memory)
{
  emu_buffer_clear (&memory->data);
  emu_buffer_clear (&memory->sizes);
  emu_buffer_clear (&memory->numbers);
  emu_buffer_clear (&memory->wholes);
  emu_buffer_clear (&memory->bins);
}

static void
run (const IrGpuLaunch *launch, guint blocks, const EmuBuffer *const *args, EmuOrder order)
{
  g_autofree char *problem = NULL;
  IrGpuLaunch own = *launch;

  own.blocks = blocks;
  if (!emu_run (compiled, &own, args, order, 1, &problem))
    g_error ("%s: %s", launch->name, problem);
}

/* What the kernels count, as the device hands it to the host. */
static guint8 *
count (const IrGpuProgram *program, const IrTensor *tensor, EmuOrder order)
{
  IrStatsLayout layout;
  Memory memory;

  ir_stats_layout (ir_tensor_n_elements (tensor), &layout);
  memory_init (&memory, tensor, &layout);
  const EmuBuffer *blocks[] = { &memory.data, &memory.data, &memory.sizes, &memory.numbers,
                                &memory.wholes };
  const EmuBuffer *bins[] = { &memory.data, &memory.sizes, &memory.numbers, &memory.bins };
  run (program->launches->pdata[0], (guint) (layout.n_blocks + 7) / 8, blocks, order);
  memory.numbers.writable = FALSE;
  run (program->launches->pdata[1], layout.n_parts, bins, order);
  guint8 *counted = g_malloc0 (layout.bytes);
  memcpy (counted + layout.numbers, memory.numbers.data, memory.numbers.bytes);
  memcpy (counted + layout.wholes, memory.wholes.data, memory.wholes.bytes);
  memcpy (counted + layout.bins, memory.bins.data, memory.bins.bytes);
  memory_clear (&memory);
  return counted;
}

/* -- tests -- */

/* The checksum of a tensor differs where statistics are the same but not its bytes; the rest is compared by bits. */
static void
test_equal_bits (gconstpointer data)
{
  guint which = GPOINTER_TO_UINT (data);
  static const guint64 sizes[] = { 1, 7, 8, 1023, 1024, 1029, 9000, 33000 };

  for (guint s = 0; s < G_N_ELEMENTS (sizes); s++)
    for (Kind kind = 0; kind < N_KINDS; kind++)
      {
        g_autoptr (IrTensor) tensor = tensor_of (dtypes[which], sizes[s], kind, s + 1);
        IrTensorStats wanted, found;

        ir_tensor_stats (tensor, IR_STATS_BINS, &wanted);
        for (EmuOrder order = EMU_FORWARD; order <= (sizes[s] < 9000 ? EMU_BEHIND : EMU_SEEDED);
             order++)
          {
            g_autofree guint8 *counted = count (programs[which], tensor, order);
            ir_stats_of_counted (dtypes[which], sizes[s], counted, IR_STATS_BINS, &found);
            if (memcmp (&found, &wanted, sizeof found) != 0)
              g_error ("%u bits, %" G_GUINT64_FORMAT " elements of kind %d, order %d: mean %.17g "
                       "instead of %.17g, checksum %" G_GINT64_MODIFIER "x instead of "
                       "%" G_GINT64_MODIFIER "x",
                       ir_dtype_bits (dtypes[which]), sizes[s], kind, order, found.mean,
                       wanted.mean, found.checksum, wanted.checksum);
          }
      }
}

/* Squares that overflow, and what is so small that a part of it is lost, are added as the host adds them. */
static void
test_ends_of_range (void)
{
  static const double ends[] = { 1e200, 1.7e308, 5e-324, 1e-310 };
  static const gint64 sizes[] = { 2048 + 5, 5 };

  for (guint e = 0; e < G_N_ELEMENTS (ends) * G_N_ELEMENTS (sizes); e++)
    {
      const double end = ends[e / G_N_ELEMENTS (sizes)];
      const gint64 dims[] = { sizes[e % G_N_ELEMENTS (sizes)] };
      g_autoptr (IrTensor) tensor = ir_tensor_new_alloc (IR_DTYPE_DOUBLE, 1, dims, NULL);
      IrTensorStats wanted, found;

      for (gint64 i = 0; i < dims[0]; i++)
        ((double *) ir_tensor_data_writable (tensor))[i] = i % 5 == 0 ? -end
                                                                      : end * (double) (i % 3);
      ir_tensor_stats (tensor, IR_STATS_BINS, &wanted);
      g_autofree guint8 *counted = count (programs[1], tensor, EMU_FORWARD);
      ir_stats_of_counted (IR_DTYPE_DOUBLE, (guint64) dims[0], counted, IR_STATS_BINS, &found);
      g_assert_cmpmem (&found, sizeof found, &wanted, sizeof wanted);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gpu/stats/compile", test_compiles);
  for (guint i = 0; i < G_N_ELEMENTS (dtypes); i++)
    {
      g_autofree char *path = g_strdup_printf ("/gpu/stats/equal bits/%s",
                                               ir_dtype_name (dtypes[i]));
      g_test_add_data_func (path, GUINT_TO_POINTER (i), test_equal_bits);
    }
  g_test_add_func ("/gpu/stats/ends of the range", test_ends_of_range);
  int failed = g_test_run ();
  for (guint i = 0; i < G_N_ELEMENTS (dtypes); i++)
    g_clear_pointer (&programs[i], ir_gpu_program_free);
  emu_free (compiled);
  return failed;
}
