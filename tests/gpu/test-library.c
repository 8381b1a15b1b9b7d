/* The libraries of CUDA as they may be on a machine: missing, older, stubs, without a device, and what
 * of that is told. The drivers here are planted (fake-driver.c). */
#include "config.h"

#include "core/exec/gpu/devices.h"
#include "core/exec/gpu/occupancy.h"

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* A folder that is gone at the end. */
typedef struct
{
  char *path;
} Folder;

static Folder
folder_new (void)
{
  return (Folder){ g_dir_make_tmp ("irscope-gpu-XXXXXX", NULL) };
}

static void
folder_clear (Folder *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder->path, 0, NULL);

  for (const char *name; (name = g_dir_read_name (dir)) != NULL;)
    {
      g_autofree char *path = g_build_filename (folder->path, name, NULL);
      g_remove (path);
    }
  g_rmdir (folder->path);
  g_free (folder->path);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Folder, folder_clear)

static void
plant (const Folder *folder, const char *fake, const char *name)
{
  g_autofree char *from = g_test_build_filename (G_TEST_BUILT, fake, NULL);
  g_autofree char *to = g_build_filename (folder->path, name, NULL);

  g_assert_true (g_file_test (from, G_FILE_TEST_EXISTS));
  g_assert_cmpint (symlink (from, to), ==, 0);
}

static void
plant_text (const Folder *folder, const char *text, const char *name)
{
  g_autofree char *to = g_build_filename (folder->path, name, NULL);

  g_assert_true (g_file_set_contents (to, text, -1, NULL));
}

static IrGpu *
open_folders (const Folder *first, const Folder *second)
{
  GPtrArray *places = ir_gpu_places_new ();

  ir_gpu_places_add (places, first->path, "test");
  if (second != NULL)
    ir_gpu_places_add (places, second->path, "test");
  return ir_gpu_open (places);
}

static void
assert_has (const char *text, const char *part)
{
  if (text == NULL || strstr (text, part) == NULL)
    g_error ("“%s” lacks “%s”", text, part);
}

typedef struct
{
  const char *name, *fake;
  IrGpuLibraryState state;
  const char *says[3];
} Case;

static const Case cases[] = {
  { "old", "fake-driver-1.so", IR_GPU_TOO_OLD, { "CUDA 9.0", "CUDA 11.4" } },
  { "no-device", "fake-driver-2.so", IR_GPU_FAILED, { "cuInit returned 100", "sees no GPU" } },
  { "stub", "fake-driver-3.so", IR_GPU_STUB, { "34", "no driver" } },
  { "mismatch",
    "fake-driver-4.so",
    IR_GPU_FAILED,
    { "803", "in the words of the driver", "restart" } },
  { "lacking", "fake-driver-5.so", IR_GPU_TOO_OLD, { "cuDeviceTotalMem_v2", "CUDA 3.2" } },
};

static void
test_kind (gconstpointer data)
{
  const Case *c = data;
  g_auto (Folder) folder = folder_new ();
  g_autoptr (GError) error = NULL;

  plant (&folder, c->fake, "libcuda.so.1");
  g_autoptr (IrGpu) gpu = open_folders (&folder, NULL);
  const IrGpuLibrary *driver = &gpu->libraries[IR_GPU_DRIVER];
  g_assert_cmpstr (ir_gpu_state_name (driver->state), ==, ir_gpu_state_name (c->state));
  for (guint i = 0; i < G_N_ELEMENTS (c->says) && c->says[i] != NULL; i++)
    assert_has (driver->reason, c->says[i]);
  g_assert_true (g_str_has_prefix (driver->path, folder.path));
  /* Nothing of it is left to be called. */
  g_assert_true (gpu->functions.cuInit == NULL);
  g_assert_null (driver->handle);
  g_assert_null (ir_gpu_devices (gpu, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE);
  assert_has (error->message, driver->path);
  assert_has (error->message, driver->reason);
}

static void
test_missing (void)
{
  g_auto (Folder) folder = folder_new ();
  g_autoptr (IrGpu) gpu = open_folders (&folder, NULL);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < IR_GPU_N_LIBRARIES; i++)
    {
      g_assert_cmpint (gpu->libraries[i].state, ==, IR_GPU_MISSING);
      g_assert_nonnull (gpu->libraries[i].reason);
      g_assert_null (gpu->libraries[i].path);
    }
  assert_has (gpu->libraries[IR_GPU_DRIVER].reason, "libcuda.so.1");
  g_assert_null (ir_gpu_devices (gpu, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE);
  g_clear_error (&error);
  g_assert_null (ir_gpu_architectures (gpu, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE);
}

/* Linker scripts, files that were cut off, folders. */
static void
test_not_a_library (void)
{
  static const char *const texts[] = { "/* GNU ld script */ GROUP (x)", "\177ELF", "" };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_auto (Folder) folder = folder_new ();
      plant_text (&folder, texts[i], "libcuda.so.1");
      g_autoptr (IrGpu) gpu = open_folders (&folder, NULL);
      g_assert_cmpint (gpu->libraries[IR_GPU_DRIVER].state, ==, IR_GPU_UNLOADED);
      g_assert_nonnull (gpu->libraries[IR_GPU_DRIVER].reason);
    }
  g_auto (Folder) folder = folder_new ();
  g_autofree char *path = g_build_filename (folder.path, "libcuda.so.1", NULL);
  g_assert_cmpint (g_mkdir (path, 0700), ==, 0);
  g_autoptr (IrGpu) gpu = open_folders (&folder, NULL);
  g_assert_cmpint (gpu->libraries[IR_GPU_DRIVER].state, ==, IR_GPU_UNLOADED);
}

/* What cannot be used does not stand in the way of what can. */
static void
test_the_first_usable (void)
{
  g_auto (Folder) stub = folder_new (), good = folder_new ();

  plant (&stub, "fake-driver-3.so", "libcuda.so.1");
  plant (&good, "fake-driver-0.so", "libcuda.so.1");
  g_autoptr (IrGpu) gpu = open_folders (&stub, &good);
  const IrGpuLibrary *driver = &gpu->libraries[IR_GPU_DRIVER];
  g_assert_cmpint (driver->state, ==, IR_GPU_USABLE);
  g_assert_true (g_str_has_prefix (driver->path, good.path));
  g_assert_null (driver->reason);
  g_assert_cmpstr (driver->version, ==, "12.4");
  g_assert_cmpint (gpu->driver_version, ==, 12040);
  g_assert_false (gpu->stand_in);
}

static void
test_devices (void)
{
  g_auto (Folder) folder = folder_new ();
  g_autoptr (GError) error = NULL;

  plant (&folder, "fake-driver-0.so", "libcuda.so.1");
  g_autoptr (IrGpu) gpu = open_folders (&folder, NULL);
  g_autoptr (GPtrArray) devices = ir_gpu_devices (gpu, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (devices->len, ==, 2);
  const IrGpuDevice *one = devices->pdata[0], *two = devices->pdata[1];
  g_assert_cmpstr (one->name, ==, "Fake One");
  g_assert_cmpint (one->major, ==, 9);
  g_assert_cmpint (one->n_multiprocessors, ==, 132);
  g_assert_cmpuint (one->bytes, ==, (guint64) 141 << 30);
  g_assert_cmpuint (one->cache_bytes, ==, 50 << 20);
  g_assert_cmpint (two->index, ==, 1);
  g_assert_cmpint (two->major, ==, 12);
  g_assert_true (g_utf8_validate (two->name, -1, NULL));
}

/* Each call in turn: an error that names it, and the next try is right. */
static void
test_each_call_fails (void)
{
  g_auto (Folder) folder = folder_new ();
  guint failed = 0;

  plant (&folder, "fake-driver-0.so", "libcuda.so.1");
  g_autoptr (IrGpu) gpu = open_folders (&folder, NULL);
  int *fail_at = dlsym (gpu->libraries[IR_GPU_DRIVER].handle, "fake_fail_at");
  int *calls = dlsym (gpu->libraries[IR_GPU_DRIVER].handle, "fake_calls");
  for (int i = 1;; i++)
    {
      g_autoptr (GError) error = NULL;
      *calls = 0;
      *fail_at = i;
      g_autoptr (GPtrArray) devices = ir_gpu_devices (gpu, &error);
      if (devices != NULL)
        {
          g_assert_cmpuint (devices->len, ==, 2);
          break;
        }
      g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE);
      assert_has (error->message, "cuDevice");
      assert_has (error->message, "719 CUDA_ERROR_LAUNCH_FAILED: in the words of the driver");
      assert_has (error->message, "lost");
      failed++;
    }
  g_assert_cmpuint (failed, ==, 1 + 2 * 7); /* the count, and seven questions for each device */
}

static void
test_out_of_memory (void)
{
  g_auto (Folder) folder = folder_new ();
  g_autoptr (GError) error = NULL;

  plant (&folder, "fake-driver-0.so", "libcuda.so.1");
  g_autoptr (IrGpu) gpu = open_folders (&folder, NULL);
  g_assert_true (ir_gpu_check (gpu, IR_GPU_FUNCTION_cuDeviceGet, 0, &error));
  g_assert_false (ir_gpu_check (gpu, IR_GPU_FUNCTION_cuDeviceGet, 2, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_MEMORY);
  g_clear_error (&error);
  /* 2 of another library is another thing. */
  g_assert_false (ir_gpu_check (gpu, IR_GPU_FUNCTION_nvrtcVersion, 2, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE);
  assert_has (error->message, "NVRTC");
}

static void
test_places (void)
{
  g_autoptr (GPtrArray) two = ir_gpu_places ("/a::/b:/a:-");
  g_autoptr (GPtrArray) none = ir_gpu_places ("-");
  g_autoptr (GPtrArray) all = ir_gpu_places ("/a:/b");

  g_assert_cmpuint (none->len, ==, 0);
  g_assert_cmpuint (two->len, ==, 2);
  g_assert_cmpstr (((const IrGpuPlace *) two->pdata[1])->folder, ==, "/b");
  g_assert_cmpuint (all->len, >, 2);
  g_assert_cmpstr (((const IrGpuPlace *) all->pdata[0])->folder, ==, "/a");
  gboolean loader = FALSE;
  for (guint i = 2; i < all->len; i++)
    loader |= ((const IrGpuPlace *) all->pdata[i])->folder == NULL;
  g_assert_true (loader);
}

/* Against what the sizes of a multiprocessor give by hand. */
static void
test_occupancy (void)
{
  static const struct
  {
    int architecture;
    guint threads, registers, shared, warps;
    const char *by;
  } rows[] = {
    { 90, 256, 32, 0, 64, "threads" },
    { 90, 256, 255, 0, 8, "registers" }, /* two warps of 8,192 in each part of 16,384 */
    { 80, 128, 40, 40000, 16,
      "shared memory" }, /* 41,088 bytes with what the driver keeps: 4 blocks of 164 KiB */
    { 89, 32, 24, 0, 24, "blocks" },      /* of one warp each */
    { 86, 1024, 32, 0, 32, "threads" },   /* a second block would have 64 of 48 */
    { 120, 256, 64, 0, 32, "registers" }, /* 8 of 2,048 in each part */
    { 75, 256, 96, 0, 16, "registers" },  /* 5 warps of 3,072 in each part, but whole blocks of 8 */
  };
  IrGpuOccupancy found;

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_assert_true (ir_gpu_occupancy (rows[i].architecture, rows[i].threads, rows[i].registers,
                                       rows[i].shared, &found));
      g_test_message ("row %u: %u of %u by %s", i, found.warps, found.most, found.by);
      g_assert_cmpuint (found.warps, ==, rows[i].warps);
      g_assert_cmpstr (found.by, ==, rows[i].by);
    }
  g_assert_false (ir_gpu_occupancy (61, 256, 32, 0, &found));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/gpu/library/%s", cases[i].name);
      g_test_add_data_func (path, &cases[i], test_kind);
    }
  g_test_add_func ("/gpu/library/missing", test_missing);
  g_test_add_func ("/gpu/library/not a library", test_not_a_library);
  g_test_add_func ("/gpu/library/the first usable one is taken", test_the_first_usable);
  g_test_add_func ("/gpu/library/devices", test_devices);
  g_test_add_func ("/gpu/library/each call fails in turn", test_each_call_fails);
  g_test_add_func ("/gpu/library/out of memory is told apart", test_out_of_memory);
  g_test_add_func ("/gpu/occupancy", test_occupancy);
  g_test_add_func ("/gpu/library/places", test_places);
  return g_test_run ();
}
