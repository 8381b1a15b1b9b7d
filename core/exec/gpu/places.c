/* Where the libraries of CUDA are looked for: folders that the user names, the loader's own, and those
 * into which toolkits, drivers of containers and Python's packages put them. */
#define _GNU_SOURCE /* strverscmp() */
#include "config.h"

#include "core/exec/gpu/places.h"

#include <stdlib.h>
#include <string.h>

static void
place_free (gpointer data)
{
  IrGpuPlace *place = data;

  g_free (place->folder);
  g_free (place);
}

/**
 * ir_gpu_places_new:
 *
 * Returns: (transfer full) (element-type IrGpuPlace): an empty list
 */
GPtrArray *
ir_gpu_places_new (void)
{
  return g_ptr_array_new_with_free_func (place_free);
}

static gboolean
is_same_folder (const char *a, const char *b)
{
  char *real_a, *real_b;
  gboolean same;

  if (a == NULL || b == NULL)
    return a == b;
  real_a = realpath (a, NULL);
  real_b = realpath (b, NULL);
  same = strcmp (real_a != NULL ? real_a : a, real_b != NULL ? real_b : b) == 0;
  free (real_a);
  free (real_b);
  return same;
}

/**
 * ir_gpu_places_add:
 * @places: (element-type IrGpuPlace): a list
 * @folder: (nullable): a folder; %NULL: where the loader looks by itself
 * @why: (transfer none): whence it is known; static
 *
 * Adds a place behind the others, unless it is one of them under another name.
 */
void
ir_gpu_places_add (GPtrArray *places, const char *folder, const char *why)
{
  IrGpuPlace *place;

  for (guint i = 0; i < places->len; i++)
    if (is_same_folder (((const IrGpuPlace *) places->pdata[i])->folder, folder))
      return;
  place = g_new0 (IrGpuPlace, 1);
  place->folder = g_strdup (folder);
  place->why = why;
  g_ptr_array_add (places, place);
}

/* TRUE if the list ends with "-". */
static gboolean
add_list (GPtrArray *places, const char *list, const char *why)
{
  g_auto (GStrv) folders = g_strsplit (list != NULL ? list : "", ":", -1);
  guint n = g_strv_length (folders);

  for (guint i = 0; i < n; i++)
    if (i + 1 == n && g_str_equal (folders[i], "-"))
      return TRUE;
    else if (*folders[i] != '\0')
      ir_gpu_places_add (places, folders[i], why);
  return FALSE;
}

static int
compare_versions (gconstpointer a, gconstpointer b)
{
  return strverscmp (*(const char *const *) a, *(const char *const *) b);
}

/* Those of "/usr/local/cuda-*" and the like that are there, the last name first, which is the newest
 * version; one star at most, in the last part of @pattern. */
static void
add_folders (GPtrArray *places, const char *pattern, const char *below, const char *why)
{
  g_autofree char *parent = g_path_get_dirname (pattern), *name = g_path_get_basename (pattern);
  g_autoptr (GPtrArray) found = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) dir = g_dir_open (parent, 0, NULL);

  for (const char *entry; dir != NULL && (entry = g_dir_read_name (dir)) != NULL;)
    if (g_pattern_match_simple (name, entry))
      g_ptr_array_add (found, g_build_filename (parent, entry, below, NULL));
  g_ptr_array_sort (found, compare_versions);
  for (guint i = found->len; i > 0; i--)
    if (g_file_test (found->pdata[i - 1], G_FILE_TEST_IS_DIR))
      ir_gpu_places_add (places, found->pdata[i - 1], why);
}

/* The folders of the packages nvidia-cuda-nvrtc and nvidia-cublas: of CUDA 13, and before. */
static void
add_packages (GPtrArray *places, const char *packages)
{
  static const char *const below[] = { "cu13/lib", "cuda_nvrtc/lib", "cublas/lib" };

  for (guint i = 0; i < G_N_ELEMENTS (below); i++)
    {
      g_autofree char *folder = g_build_filename (packages, "nvidia", below[i], NULL);
      if (g_file_test (folder, G_FILE_TEST_IS_DIR))
        ir_gpu_places_add (places, folder, "Python package");
    }
}

static void
add_python (GPtrArray *places)
{
  g_autoptr (GPtrArray) folders = ir_gpu_places_new ();
  const char *environment = g_getenv ("VIRTUAL_ENV");
  const char *roots[] = { environment, NULL, "/usr/local", "/usr" };
  g_autofree char *home = g_build_filename (g_get_home_dir (), ".local", NULL);

  roots[1] = home;
  for (guint i = 0; i < G_N_ELEMENTS (roots); i++)
    {
      if (roots[i] == NULL)
        continue;
      g_autofree char *pattern = g_build_filename (roots[i], "lib", "python3*", NULL);
      add_folders (folders, pattern, "site-packages", "");
      add_folders (folders, pattern, "dist-packages", "");
    }
  for (guint i = 0; i < folders->len; i++)
    add_packages (places, ((const IrGpuPlace *) folders->pdata[i])->folder);
}

/**
 * ir_gpu_places:
 * @path: (nullable): what %IR_GPU_PATH holds
 *
 * The order is that of loaders, with what the user names before it and what they do not know behind
 * it: CUDA_HOME and CUDA_PATH, toolkits below /usr/local and /opt, the folders by which containers and
 * WSL hand in the driver, and Python's packages.
 *
 * Returns: (transfer full) (element-type IrGpuPlace): where libraries are looked for
 */
GPtrArray *
ir_gpu_places (const char *path)
{
  static const char *const homes[] = { "CUDA_HOME", "CUDA_PATH" };
  GPtrArray *places = ir_gpu_places_new ();

  if (add_list (places, path, IR_GPU_PATH))
    return places;
  add_list (places, g_getenv ("LD_LIBRARY_PATH"), "LD_LIBRARY_PATH");
  ir_gpu_places_add (places, NULL, "loader");
  for (guint i = 0; i < G_N_ELEMENTS (homes); i++)
    if (g_getenv (homes[i]) != NULL)
      {
        g_autofree char *folder = g_build_filename (g_getenv (homes[i]), "lib64", NULL);
        ir_gpu_places_add (places, folder, homes[i]);
      }
  add_folders (places, "/usr/local/cuda", "lib64", "toolkit");
  add_folders (places, "/usr/local/cuda-*", "lib64", "toolkit");
  add_folders (places, "/opt/cuda", "lib64", "toolkit");
  add_folders (places, "/usr/local/nvidia", "lib64", "container");
  add_folders (places, "/usr/lib/wsl", "lib", "WSL");
  add_python (places);
  return places;
}
