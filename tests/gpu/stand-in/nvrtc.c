/* NVRTC: the C compiler of the machine makes a shared object of the kernels, behind the emulator's
 * prelude in place of the one for a GPU. */
#define _GNU_SOURCE
#include "tests/gpu/stand-in/stand-in.h"

#include <glib/gstdio.h>
#include <string.h>

struct _nvrtcProgram
{
  char *text;
  char *log;
  GByteArray *cubin;
};

/* Accesses that nobody watches. */
static const char unwatched[] = "#undef K_GET\n#undef K_SET\n#undef K_LOAD\n#undef K_STORE\n"
                                "#undef K_LOAD4\n#undef K_STORE4\n"
                                "#define K_GET(name, i) name[i]\n"
                                "#define K_SET(name, i, value) name[i] = (value)\n"
                                "#define K_LOAD(p, i) p[i]\n"
                                "#define K_STORE(p, i, value) p[i] = (value)\n"
                                "#define K_LOAD4(p, i) (*(const k_float4 *) (p + (i)))\n"
                                "#define K_STORE4(p, i, value) *(k_float4 *) (p + (i)) = (value)\n"
                                "#line 1 \"kernels\"\n";

static const char kernels_begin[] = "#line 1 \"kernels\"\n";

unsigned int
nvrtcVersion (int *major, int *minor)
{
  *major = 13;
  *minor = 0;
  return stand_in_fails (__func__);
}

unsigned int
nvrtcGetNumSupportedArchs (int *n)
{
  *n = 2;
  return stand_in_fails (__func__);
}

unsigned int
nvrtcGetSupportedArchs (int *architectures)
{
  architectures[0] = 80;
  architectures[1] = 90;
  return stand_in_fails (__func__);
}

unsigned int
nvrtcCreateProgram (struct _nvrtcProgram **program,
                    const char *source,
                    const char *name,
                    int n_headers,
                    const char *const *headers,
                    const char *const *names)
{
  unsigned int fails = stand_in_fails (__func__);

  if (fails != 0)
    return fails;
  *program = g_new0 (struct _nvrtcProgram, 1);
  (*program)->text = g_strdup (source);
  (*program)->log = g_strdup ("");
  return 0;
}

static gboolean
run_compiler (const char *source, const char *object, gboolean fast, char **log)
{
  const char *argv[] = { "cc",
                         "-x",
                         "c",
                         "-std=gnu17",
                         fast ? "-O2" : "-O0",
                         "-w",
                         "-shared",
                         "-fPIC",
                         "-ffp-contract=off",
                         "-fno-strict-aliasing",
                         "-o",
                         object,
                         source,
                         "-lm",
                         NULL };
  int status = 0;

  return g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, log,
                       &status, NULL) &&
         g_spawn_check_wait_status (status, NULL);
}

static void
take_object (struct _nvrtcProgram *program, const char *object, const char *kernels)
{
  g_autofree char *bytes = NULL;
  gsize n = 0;
  StandInTail tail = { .make = stand_in_make (), .text_bytes = strlen (kernels) };

  if (!g_file_get_contents (object, &bytes, &n, NULL))
    return;
  memcpy (tail.magic, STAND_IN_MAGIC, sizeof tail.magic);
  tail.object_bytes = n;
  program->cubin = g_byte_array_new ();
  g_byte_array_append (program->cubin, (const guint8 *) bytes, (guint) n);
  g_byte_array_append (program->cubin, (const guint8 *) &tail, sizeof tail);
  g_byte_array_append (program->cubin, (const guint8 *) kernels, (guint) tail.text_bytes);
}

/* As ptxas does. */
static void
log_kernels (struct _nvrtcProgram *program, const char *kernels)
{
  GString *log = g_string_new (program->log);

  for (const char *at = kernels; (at = strstr (at, "IR_KERNEL (")) != NULL;)
    {
      at += strlen ("IR_KERNEL (");
      g_string_append_printf (log, "ptxas info    : Compiling entry function '%.*s' for 'sm_%d'\n",
                              (int) strcspn (at, ")"), at, STAND_IN_ARCHITECTURE);
    }
  g_free (program->log);
  program->log = g_string_free (log, FALSE);
}

unsigned int
nvrtcCompileProgram (struct _nvrtcProgram *program, int n_options, const char *const *options)
{
  const char *at = strstr (program->text, kernels_begin);
  const char *kernels = at != NULL ? at + strlen (kernels_begin) : "";
  g_autofree char *prelude = NULL, *whole = NULL, *source = NULL, *object = NULL;
  g_autofree char *folder = g_dir_make_tmp ("irscope-nvrtc-XXXXXX", NULL);
  unsigned int fails = stand_in_fails (__func__);
  guint64 unused;
  gboolean fast = stand_in_option ("fast", 0, &unused);

  if (fails != 0 || folder == NULL || !g_file_get_contents (STAND_IN_PRELUDE, &prelude, NULL, NULL))
    return fails != 0 ? fails : 6;
  source = g_build_filename (folder, "kernels.c", NULL);
  object = g_build_filename (folder, "kernels.so", NULL);
  whole = g_strconcat (prelude, fast ? unwatched : "", kernels, NULL);
  g_clear_pointer (&program->log, g_free);
  if (g_file_set_contents (source, whole, -1, NULL) &&
      run_compiler (source, object, fast, &program->log))
    {
      take_object (program, object, kernels);
      log_kernels (program, kernels);
    }
  g_remove (source);
  g_remove (object);
  g_rmdir (folder);
  return program->cubin != NULL ? 0 : 6;
}

unsigned int
nvrtcGetProgramLogSize (struct _nvrtcProgram *program, size_t *bytes)
{
  *bytes = program->log != NULL ? strlen (program->log) + 1 : 1;
  return stand_in_fails (__func__);
}

unsigned int
nvrtcGetProgramLog (struct _nvrtcProgram *program, char *log)
{
  strcpy (log, program->log != NULL ? program->log : "");
  return stand_in_fails (__func__);
}

/* No PTX is made of it. */
static const char ptx[] = "// the stand-in makes no PTX\n";

unsigned int
nvrtcGetPTXSize (struct _nvrtcProgram *program, size_t *bytes)
{
  *bytes = sizeof ptx;
  return stand_in_fails (__func__);
}

unsigned int
nvrtcGetPTX (struct _nvrtcProgram *program, char *text)
{
  memcpy (text, ptx, sizeof ptx);
  return stand_in_fails (__func__);
}

unsigned int
nvrtcGetCUBINSize (struct _nvrtcProgram *program, size_t *bytes)
{
  *bytes = program->cubin->len;
  return stand_in_fails (__func__);
}

unsigned int
nvrtcGetCUBIN (struct _nvrtcProgram *program, char *cubin)
{
  memcpy (cubin, program->cubin->data, program->cubin->len);
  return stand_in_fails (__func__);
}

unsigned int
nvrtcDestroyProgram (struct _nvrtcProgram **program)
{
  g_clear_pointer (&(*program)->cubin, g_byte_array_unref);
  g_free ((*program)->text);
  g_free ((*program)->log);
  g_clear_pointer (program, g_free);
  return stand_in_fails (__func__);
}

const char *
nvrtcGetErrorString (unsigned int result)
{
  return result == 6 ? "NVRTC_ERROR_COMPILATION" : "an error of the stand-in";
}
