/* Programs that were compiled before, on disk: a file each, named by what it depends on. A file begins with
 * the checksum of what follows, a GVariant. It appears under its name when it is whole, and one that is not
 * what it should be is removed and made anew. Only files of such names are touched. */
#include "config.h"

#include "core/exec/gpu/cache.h"

#include <glib/gstdio.h>
#include <unistd.h>
#include <string.h>
#include <utime.h>

#define SUFFIX     ".irgpu"
#define FORMAT     "(isayaya(sixxx))"
#define SUM_BYTES  64 /* of a SHA-256 in hexadecimal digits */
#define TEMP_BYTES 7  /* what stands behind the name while a file is written: ".A1b2C3" */

/**
 * ir_gpu_cache_folder:
 *
 * Returns: (transfer full) (nullable): where programs are kept: what %IR_GPU_CACHE says, else the user's
 *   folder for such things; %NULL: nowhere
 */
char *
ir_gpu_cache_folder (void)
{
  const char *given = g_getenv (IR_GPU_CACHE);

  if (given != NULL && *given != '\0')
    return strcmp (given, "-") != 0 ? g_strdup (given) : NULL;
  return g_build_filename (g_get_user_cache_dir (), "irscope", "gpu", NULL);
}

/**
 * ir_gpu_cache_problem:
 * @folder: where programs are kept
 *
 * Returns: (transfer full) (nullable): why none can be kept there; %NULL: they can, or the folder can be made
 */
char *
ir_gpu_cache_problem (const char *folder)
{
  g_autofree char *at = g_strdup (folder);

  while (!g_file_test (at, G_FILE_TEST_EXISTS))
    {
      char *above = g_path_get_dirname (at);
      if (g_str_equal (above, at))
        return above;
      g_free (at);
      at = above;
    }
  if (!g_file_test (at, G_FILE_TEST_IS_DIR))
    return g_strdup_printf ("%s is no folder", at);
  return g_access (at, W_OK | X_OK) != 0 ? g_strdup_printf ("%s cannot be written", at) : NULL;
}

static char *
path_of (const char *folder, const char *key)
{
  g_autofree char *name = g_strconcat (key, SUFFIX, NULL);

  return g_build_filename (folder, name, NULL);
}

/* -- what a file holds -- */

static GBytes *
pack (const IrGpuCode *code)
{
  GVariantBuilder kernels;

  g_variant_builder_init (&kernels, G_VARIANT_TYPE ("a(sixxx)"));
  for (guint i = 0; i < code->kernels->len; i++)
    {
      const IrGpuKernelFacts *facts = code->kernels->pdata[i];
      g_variant_builder_add (&kernels, "(sixxx)", facts->name, facts->registers, facts->stack_bytes,
                             facts->spill_bytes, facts->shared_bytes);
    }
  g_autoptr (GVariant) whole = g_variant_ref_sink (
      g_variant_new ("(is@ay^ay@a(sixxx))", code->architecture, code->basis,
                     g_variant_new_from_bytes (G_VARIANT_TYPE_BYTESTRING, code->cubin, TRUE),
                     code->ptx, g_variant_builder_end (&kernels)));
  return g_variant_get_data_as_bytes (whole);
}

static IrGpuCode *
unpack (GBytes *bytes)
{
  g_autoptr (GVariant)
      whole = g_variant_ref_sink (g_variant_new_from_bytes (G_VARIANT_TYPE (FORMAT), bytes, FALSE));
  g_autoptr (GVariant) cubin = NULL, kernels = NULL;
  IrGpuCode *code;
  IrGpuKernelFacts facts;
  GVariantIter iter;

  if (!g_variant_is_normal_form (whole))
    return NULL;
  code = ir_gpu_code_new ();
  g_variant_get (whole, "(is@ay^ay@a(sixxx))", &code->architecture, &code->basis, &cubin,
                 &code->ptx, &kernels);
  code->cubin = g_bytes_new (g_variant_get_data (cubin), g_variant_get_size (cubin));
  g_variant_iter_init (&iter, kernels);
  while (g_variant_iter_next (&iter, "(sixxx)", &facts.name, &facts.registers, &facts.stack_bytes,
                              &facts.spill_bytes, &facts.shared_bytes))
    g_ptr_array_add (code->kernels, g_memdup2 (&facts, sizeof facts));
  return code;
}

/* -- all of them -- */

typedef struct
{
  char *path;
  guint64 bytes;
  gint64 used; /* when */
} File;

static void
file_free (gpointer data)
{
  File *file = data;

  g_free (file->path);
  g_free (file);
}

/* Also what is left of one that was being written. */
static gboolean
is_ours (const char *name)
{
  gsize length = strlen (name), whole = SUM_BYTES + strlen (SUFFIX);

  return strspn (name, "0123456789abcdef") == SUM_BYTES &&
         g_str_has_prefix (name + SUM_BYTES, SUFFIX) &&
         (length == whole || (length == whole + TEMP_BYTES && name[whole] == '.'));
}

static GPtrArray *
list (const char *folder)
{
  GPtrArray *files = g_ptr_array_new_with_free_func (file_free);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);

  for (const char *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      GStatBuf found;
      if (!is_ours (name) || g_lstat (path, &found) != 0 || !S_ISREG (found.st_mode))
        continue;
      File *file = g_new0 (File, 1);
      file->path = g_steal_pointer (&path);
      file->bytes = (guint64) found.st_size;
      file->used = found.st_mtime;
      g_ptr_array_add (files, file);
    }
  return files;
}

static int
compare_use (gconstpointer a, gconstpointer b)
{
  const File *x = *(const File *const *) a, *y = *(const File *const *) b;

  return x->used != y->used ? (x->used < y->used ? -1 : 1) : strcmp (x->path, y->path);
}

/* Takes what was used longest ago away, but not @kept. */
static void
shrink (const char *folder, const char *kept, guint64 most_bytes)
{
  g_autoptr (GPtrArray) files = list (folder);
  guint64 bytes = 0;

  g_ptr_array_sort (files, compare_use);
  for (guint i = 0; i < files->len; i++)
    bytes += ((const File *) files->pdata[i])->bytes;
  for (guint i = 0; i < files->len && bytes > most_bytes; i++)
    {
      const File *file = files->pdata[i];
      if (strcmp (file->path, kept) == 0 || g_remove (file->path) != 0)
        continue;
      bytes -= file->bytes;
    }
}

/**
 * ir_gpu_cache_use:
 * @folder: a folder, which need not be there
 *
 * Returns: what is in it
 */
IrGpuCacheUse
ir_gpu_cache_use (const char *folder)
{
  g_autoptr (GPtrArray) files = list (folder);
  IrGpuCacheUse use = { files->len, 0 };

  for (guint i = 0; i < files->len; i++)
    use.bytes += ((const File *) files->pdata[i])->bytes;
  return use;
}

/* -- one of them -- */

/* (nullable) What the file holds, unless it is damaged. */
static IrGpuCode *
read_file (const char *path)
{
  g_autofree char *text = NULL, *sum = NULL;
  g_autoptr (GBytes) bytes = NULL;
  gsize n;

  if (!g_file_get_contents (path, &text, &n, NULL) || n <= SUM_BYTES)
    return NULL;
  bytes = g_bytes_new_static (text + SUM_BYTES, n - SUM_BYTES);
  sum = g_compute_checksum_for_bytes (G_CHECKSUM_SHA256, bytes);
  return memcmp (text, sum, SUM_BYTES) == 0 ? unpack (bytes) : NULL;
}

/**
 * ir_gpu_cache_load:
 * @folder: where programs are kept
 * @key: as of ir_gpu_compile_key()
 *
 * One that is damaged is removed.
 *
 * Returns: (transfer full) (nullable): the program, if it is there
 */
IrGpuCode *
ir_gpu_cache_load (const char *folder, const char *key)
{
  g_autofree char *path = path_of (folder, key);
  IrGpuCode *code = read_file (path);

  if (code != NULL)
    utime (path, NULL);
  else
    g_remove (path);
  return code;
}

/**
 * ir_gpu_cache_store:
 * @folder: where programs are kept; it is made
 * @key: as of ir_gpu_compile_key()
 * @code: what was compiled
 * @most_bytes: of all that are kept together
 * @error: return location for a #GFileError
 *
 * Keeps @code, and lets go of what was used longest ago. What does not fit alone is not kept.
 *
 * Returns: %FALSE if nothing can be written there
 */
gboolean
ir_gpu_cache_store (
    const char *folder, const char *key, const IrGpuCode *code, guint64 most_bytes, GError **error)
{
  g_autofree char *path = path_of (folder, key), *sum = NULL;
  g_autoptr (GBytes) packed = pack (code);
  g_autoptr (GString) text = NULL;
  gsize n = g_bytes_get_size (packed);

  if (n + SUM_BYTES > most_bytes)
    return TRUE;
  sum = g_compute_checksum_for_bytes (G_CHECKSUM_SHA256, packed);
  text = g_string_new (sum);
  g_string_append_len (text, g_bytes_get_data (packed, NULL), (gssize) n);
  g_mkdir_with_parents (folder, 0700); /* what cannot be made cannot be written to */
  if (!g_file_set_contents_full (path, text->str, (gssize) text->len,
                                 G_FILE_SET_CONTENTS_CONSISTENT, 0600, error))
    return FALSE;
  shrink (folder, path, most_bytes);
  return TRUE;
}

/* A device runs what was compiled for it, and for earlier ones of its major number. */
static gboolean
runs_on (const IrGpuCode *code, int architecture)
{
  return code->architecture / 10 == architecture / 10 && code->architecture <= architecture;
}

/**
 * ir_gpu_cache_kernels:
 * @folder: (nullable): where programs are kept
 * @architecture: of a device: 90 for sm_90
 *
 * Returns: (transfer full) (element-type utf8 utf8): of each kernel that the device can run and that this program
 *   would compile to the same, by its name, the key of the file that has it; the newest architecture counts
 */
GHashTable *
ir_gpu_cache_kernels (const char *folder, int architecture)
{
  g_autoptr (GHashTable) best = g_hash_table_new (g_str_hash, g_str_equal);
  GHashTable *keys = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr (GPtrArray) files = folder != NULL ? list (folder) : g_ptr_array_new ();
  g_autofree char *basis = ir_gpu_compile_basis ();

  for (guint i = 0; i < files->len; i++)
    {
      const File *file = files->pdata[i];
      g_autoptr (IrGpuCode) code = read_file (file->path);
      g_autofree char *name = g_path_get_basename (file->path);
      if (code == NULL || !g_str_equal (code->basis, basis) || !runs_on (code, architecture))
        continue;
      for (guint k = 0; k < code->kernels->len; k++)
        {
          const char *kernel = ((const IrGpuKernelFacts *) code->kernels->pdata[k])->name;
          if (GPOINTER_TO_INT (g_hash_table_lookup (best, kernel)) >= code->architecture)
            continue;
          char *own = g_strdup (kernel);
          g_hash_table_replace (best, own, GINT_TO_POINTER (code->architecture));
          g_hash_table_replace (keys, own, g_strndup (name, SUM_BYTES));
        }
    }
  return keys;
}

/**
 * ir_gpu_cache_remove:
 * @folder: where programs are kept
 * @key: of one that is of no use
 */
void
ir_gpu_cache_remove (const char *folder, const char *key)
{
  g_autofree char *path = path_of (folder, key);

  g_remove (path);
}
