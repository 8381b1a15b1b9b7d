/* The emulator catches what is wrong with kernels: each of these is right but for one thing, and is tried
 * in all orders. */
#include "config.h"

#include "tests/gpu/emulator/emulator.h"

#include <string.h>

#define N 256

typedef struct
{
  const char *name, *text;
  const char *says[3]; /* (nullable) of the problem; none: it is right */
} Kernel;

/* Sums of the values of a block, in shared memory, by halves. @between goes between two halves. */
#define REDUCTION(before, between)                                                                 \
  "IR_KERNEL (k) (const float *x, float *y)\n{\n"                                                  \
  "  K_SHARED (float, s, 64);\n"                                                                   \
  "  unsigned int t = K_THREAD;\n"                                                                 \
  "  K_SET (s, t, K_LOAD (x, K_BLOCK * 64 + t));\n" before                                         \
  "  for (int h = 32; h > 0; h /= 2)\n    {\n"                                                     \
  "      if (t < h)\n        K_SET (s, t, K_GET (s, t) + K_GET (s, t + h));\n" between "    }\n"   \
  "  if (t == 0)\n    K_STORE (y, K_BLOCK, K_GET (s, 0));\n}\n"

/* The largest of each warp, then of all; what follows reads it, and the next turn writes it again. */
#define TURNS(after)                                                                               \
  "IR_KERNEL (k) (const float *x, float *y)\n{\n"                                                  \
  "  K_SHARED (float, s, 2);\n"                                                                    \
  "  unsigned int t = K_THREAD;\n"                                                                 \
  "  float v = K_LOAD (x, K_BLOCK * 64 + t);\n"                                                    \
  "  for (int turn = 0; turn < 2; turn++)\n    {\n"                                                \
  "      float m = v + turn;\n"                                                                    \
  "      for (int mask = 16; mask > 0; mask /= 2)\n"                                               \
  "        m = fmaxf (m, K_SHUFFLE_XOR (m, mask));\n"                                              \
  "      if (t % 32 == 0)\n        K_SET (s, t / 32, m);\n"                                        \
  "      K_BARRIER ();\n"                                                                          \
  "      v = fmaxf (K_GET (s, 0), K_GET (s, 1));\n" after "    }\n"                                \
  "  if (t == 0)\n    K_STORE (y, K_BLOCK, v);\n}\n"

static const Kernel kernels[] = {
  { "right", REDUCTION ("  K_BARRIER ();\n", "      K_BARRIER ();\n"), { NULL } },
  { "no barrier before", REDUCTION ("", "      K_BARRIER ();\n"), { "race", "line 5", "line 9" } },
  { "no barrier between",
    REDUCTION ("  K_BARRIER ();\n", ""),
    { "race", "shared memory", "line" } },
  { "right, with shuffles", TURNS ("      K_BARRIER ();\n"), { NULL } },
  { "written while others read", TURNS (""), { "race", "shared memory", "writes" } },
  { "a lane reads what another writes",
    "IR_KERNEL (k) (const float *x, float *y)\n{\n  K_SHARED (float, s, 64);\n"
    "  K_SET (s, K_THREAD, K_LOAD (x, K_THREAD));\n"
    "  float v = K_GET (s, K_THREAD ^ 1);\n"
    "  if (K_THREAD == 0)\n    K_STORE (y, K_BLOCK, v);\n}\n",
    { "race", "line 4", "line 5" } },
  { "lanes with a sync of the warp",
    "IR_KERNEL (k) (const float *x, float *y)\n{\n  K_SHARED (float, s, 64);\n"
    "  K_SET (s, K_THREAD, K_LOAD (x, K_THREAD));\n  K_WARP_SYNC ();\n"
    "  float v = K_GET (s, K_THREAD ^ 1);\n"
    "  if (K_THREAD == 0)\n    K_STORE (y, K_BLOCK, v);\n}\n",
    { NULL } },
  { "a shuffle orders no memory",
    "IR_KERNEL (k) (const float *x, float *y)\n{\n  K_SHARED (float, s, 64);\n"
    "  K_SET (s, K_THREAD, K_LOAD (x, K_THREAD));\n  float u = K_SHUFFLE_XOR (1.0f, 1);\n"
    "  float v = K_GET (s, K_THREAD ^ 1) + u;\n"
    "  if (K_THREAD == 0)\n    K_STORE (y, K_BLOCK, v);\n}\n",
    { "race" } },
  { "two blocks write one place",
    "IR_KERNEL (k) (const float *x, float *y)\n{\n"
    "  if (K_THREAD == 0)\n    K_STORE (y, 0, K_LOAD (x, K_BLOCK));\n}\n",
    { "race", "output", "block" } },
  { "one block reads what another writes",
    "IR_KERNEL (k) (const float *x, float *y)\n{\n"
    "  if (K_THREAD == 0)\n    K_STORE (y, K_BLOCK, K_LOAD (y, 3 - K_BLOCK));\n}\n",
    { "race", "output" } },
  { "a word that is not its own",
    "IR_KERNEL (k) (const float *x, float *y)\n{\n"
    "  if (K_THREAD == 0)\n    K_STORE (y, K_BLOCK, K_LOAD (x, 253 + K_BLOCK));\n}\n",
    { "line 4", "reads 4 bytes", "no buffer" } },
  { "outside of shared memory",
    "IR_KERNEL (k) (const float *x, float *y)\n{\n  K_SHARED (float, s, 63);\n"
    "  K_SET (s, K_THREAD, 1.0f);\n}\n",
    { "line 4", "thread 63", "shared memory" } },
  { "an input is written",
    "IR_KERNEL (k) (float *x, float *y)\n{\n  K_STORE (x, K_THREAD, 1.0f);\n}\n",
    { "line 3", "writes input" } },
  { "four at an odd address",
    "IR_KERNEL (k) (const float *x, float *y)\n{\n"
    "  k_float4 v = K_LOAD4 (x, K_THREAD + 1);\n  if (K_THREAD == 0)\n    K_STORE (y, K_BLOCK, v.x);\n}\n",
    { "line 3", "16 bytes", "odd address" } },
  { "a barrier that half of them reach",
    "IR_KERNEL (k) (const float *x, float *y)\n{\n  if (K_THREAD < 32)\n    K_BARRIER ();\n}\n",
    { "deadlock", "is at the barrier (line 4)", "has ended" } },
  { "two barriers",
    "IR_KERNEL (k) (const float *x, float *y)\n{\n"
    "  if (K_THREAD < 32)\n    K_BARRIER ();\n  else\n    K_BARRIER ();\n}\n",
    { "deadlock", "line 4", "line 6" } },
  { "a shuffle without some of the lanes",
    "IR_KERNEL (k) (const float *x, float *y)\n{\n"
    "  float v = 0;\n  if (K_THREAD % 32 < 31)\n    v = K_SHUFFLE_XOR (1.0f, 1);\n}\n",
    { "deadlock", "shuffle (line 5)" } },
  { "shared memory as it is found",
    "IR_KERNEL (k) (const float *x, float *y)\n{\n  K_SHARED (float, s, 64);\n"
    "  if (K_THREAD == 0)\n    K_STORE (y, K_BLOCK, K_GET (s, 0) != K_GET (s, 0) ? 64.0f : 0.0f);\n}\n",
    { NULL } },
};

static void
test_kernel (gconstpointer data)
{
  const Kernel *kernel = data;
  IrGpuLaunch launch = { .name = (char *) "k", .blocks = 4, .threads = 64, .n_args = 2 };
  g_autoptr (GError) error = NULL;
  g_autoptr (EmuProgram) program = emu_compile (kernel->text, &error);

  g_assert_no_error (error);
  for (EmuOrder order = EMU_FORWARD; order <= EMU_BEHIND; order++)
    {
      EmuBuffer x = emu_buffer_new ("input", N * sizeof (float), 4, FALSE);
      EmuBuffer y = emu_buffer_new ("output", 4 * sizeof (float), 4, TRUE);
      const EmuBuffer *args[] = { &x, &y };
      g_autofree char *problem = NULL;
      for (guint i = 0; i < N; i++)
        ((float *) (gpointer) x.data)[i] = 1;
      emu_run (program, &launch, args, order, 7, &problem);
      for (guint i = 0; i < G_N_ELEMENTS (kernel->says) && kernel->says[i] != NULL; i++)
        if (problem == NULL || strstr (problem, kernel->says[i]) == NULL)
          g_error ("order %u: “%s” lacks “%s”", order, problem, kernel->says[i]);
      if (kernel->says[0] == NULL)
        g_assert_cmpstr (problem, ==, NULL);
      emu_buffer_clear (&x);
      emu_buffer_clear (&y);
    }
}

/* The functions that threads of a block call together, twice in a row with one array. */
static void
test_together (void)
{
  static const char *const types[] = { "float", "double" }, *const suffixes[] = { "f", "" };
  g_autoptr (IrGpuProgram) none = ir_gpu_program_new ();
  g_autofree char *common = ir_gpu_program_text (none);

  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    {
      const char *t = types[i], *f = suffixes[i];
      g_autofree char *kernel = g_strdup_printf (
          "IR_KERNEL (k) (const float *x, float *y)\n{\n  K_SHARED (%s, parts, 2);\n"
          "  %s v = K_LOAD (x, K_BLOCK * 64 + K_THREAD), a, b, c, d;\n"
          "  a = k_block_max%s (v, parts, 2);\n  b = k_block_max%s (-v, parts, 2);\n"
          "  c = k_block_add%s (v, parts, 2);\n  d = k_block_add%s (1, parts, 2);\n"
          "  if (K_THREAD == 63)\n    K_STORE (y, K_BLOCK, a - b * 1000 + c * 0.5 + d);\n}\n",
          t, t, f, f, f, f);
      g_autofree char *text = g_strconcat (common, kernel, NULL);
      IrGpuLaunch launch = { .name = (char *) "k", .blocks = 4, .threads = 64, .n_args = 2 };
      EmuBuffer x = emu_buffer_new ("input", N * sizeof (float), 4, FALSE);
      EmuBuffer y = emu_buffer_new ("output", 4 * sizeof (float), 4, TRUE);
      const EmuBuffer *args[] = { &x, &y };
      g_autoptr (GError) error = NULL;
      g_autoptr (EmuProgram) program = emu_compile (text, &error);
      g_assert_no_error (error);
      /* 1 to 64 in each block, in an order in which each lane may have the largest. */
      for (guint k = 0; k < N; k++)
        ((float *) (gpointer) x.data)[k] = (float) (1 + (k * 37 + k / 64 * 16) % 64);
      for (EmuOrder order = EMU_FORWARD; order <= EMU_BEHIND; order++)
        {
          g_autofree char *problem = NULL;
          emu_run (program, &launch, args, order, 3, &problem);
          g_assert_cmpstr (problem, ==, NULL);
          for (guint k = 0; k < 4; k++)
            g_assert_cmpfloat (((float *) (gpointer) y.data)[k], ==, 64 + 1000 + 1040 + 64);
        }
      emu_buffer_clear (&x);
      emu_buffer_clear (&y);
    }
}

/* What the right ones compute. */
static void
test_results (void)
{
  IrGpuLaunch launch = { .name = (char *) "k", .blocks = 4, .threads = 64, .n_args = 2 };
  EmuBuffer x = emu_buffer_new ("input", N * sizeof (float), 4, FALSE);
  EmuBuffer y = emu_buffer_new ("output", 4 * sizeof (float), 4, TRUE);
  const EmuBuffer *args[] = { &x, &y };

  for (guint i = 0; i < N; i++)
    ((float *) (gpointer) x.data)[i] = (float) i;
  for (guint k = 0; k < 2; k++)
    for (EmuOrder order = EMU_FORWARD; order <= EMU_BEHIND; order++)
      {
        g_autoptr (EmuProgram) program = emu_compile (kernels[k == 0 ? 0 : 3].text, NULL);
        g_autofree char *problem = NULL;
        g_assert_true (emu_run (program, &launch, args, order, 1, &problem));
        for (guint block = 0; block < 4; block++)
          g_assert_cmpfloat (((float *) (gpointer) y.data)[block], ==,
                             k == 0 ? (float) (64 * 64 * block + 63 * 32)
                                    : (float) (64 * block + 63 + 1));
      }
  emu_buffer_clear (&x);
  emu_buffer_clear (&y);
}

static void
test_no_c (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (emu_compile ("IR_KERNEL (k) (float *y)\n{\n  nonsense;\n}\n", &error));
  g_assert_nonnull (strstr (error->message, "kernels:3"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
    {
      g_autofree char *path = g_strdup_printf ("/gpu/emulator/%s", kernels[i].name);
      g_test_add_data_func (path, &kernels[i], test_kernel);
    }
  g_test_add_func ("/gpu/emulator/what threads do together", test_together);
  g_test_add_func ("/gpu/emulator/results", test_results);
  g_test_add_func ("/gpu/emulator/what is no C is told with its line", test_no_c);
  return g_test_run ();
}
