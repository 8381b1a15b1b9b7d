/* Programs: what NVRTC's stand-in has compiled, and launches of its kernels in the emulator. Types of
 * parameters are read from the text, so that what a kernel may write, and how large its elements are,
 * is known. */
#define _GNU_SOURCE
#include "tests/gpu/stand-in/stand-in.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

typedef struct
{
  gboolean writable;
  guint element_bytes;
} Parameter;

struct CUmod_st
{
  EmuProgram *program;
  char *text;
  GPtrArray *functions; /* of CUfunc_st */
};

struct CUfunc_st
{
  struct CUmod_st *module;
  char *name;
  guint n_parameters;
  Parameter parameters[IR_GPU_MAX_ARGS];
};

static GPtrArray *modules;

static void
function_free (gpointer data)
{
  struct CUfunc_st *function = data;

  g_free (function->name);
  g_free (function);
}

static void
module_free (gpointer data)
{
  struct CUmod_st *module = data;

  g_ptr_array_unref (module->functions);
  emu_free (module->program);
  g_free (module->text);
  g_free (module);
}

void
modules_clear (void)
{
  g_clear_pointer (&modules, g_ptr_array_unref);
}

/* -- what NVRTC has given -- */

/* The size of a shared object, which nobody tells: its sections' headers are at its end. */
static gsize
object_bytes (const guint8 *image)
{
  guint64 at;
  guint16 size, n;

  memcpy (&at, image + 40, sizeof at);
  memcpy (&size, image + 58, sizeof size);
  memcpy (&n, image + 60, sizeof n);
  return (gsize) at + (gsize) size * n;
}

static EmuProgram *
load (const guint8 *image, gsize bytes)
{
  g_autofree char *path = NULL;
  g_autoptr (EmuProgram) program = NULL;
  int file = g_file_open_tmp ("irscope-module-XXXXXX", &path, NULL);
  gboolean done = file >= 0 && write (file, image, bytes) == (gssize) bytes;

  if (file >= 0)
    close (file);
  program = done ? emu_load (path, NULL) : NULL;
  if (file >= 0)
    g_remove (path);
  return g_steal_pointer (&program);
}

unsigned int
cuModuleLoadData (struct CUmod_st **out, const void *image)
{
  ENTER;
  const guint8 *bytes = image;
  StandInTail tail;
  gsize n;

  if (memcmp (bytes, "\177ELF", 4) != 0)
    return leave (problem (INVALID_IMAGE, "cuModuleLoadData: this is no program"));
  n = object_bytes (bytes);
  memcpy (&tail, bytes + n, sizeof tail);
  if (memcmp (tail.magic, STAND_IN_MAGIC, sizeof tail.magic) != 0 || tail.object_bytes != n)
    return leave (problem (NO_BINARY, "cuModuleLoadData: this program is for a real GPU"));
  if (tail.make != stand_in_make ())
    return leave (problem (NO_BINARY, "cuModuleLoadData: this program is for another stand-in"));
  struct CUmod_st *module = g_new0 (struct CUmod_st, 1);
  module->functions = g_ptr_array_new_with_free_func (function_free);
  module->text = g_strndup ((const char *) bytes + n + sizeof tail, tail.text_bytes);
  module->program = load (bytes, n);
  if (modules == NULL)
    modules = g_ptr_array_new_with_free_func (module_free);
  g_ptr_array_add (modules, module);
  *out = module;
  return leave (module->program != NULL ? OK : INVALID_IMAGE);
}

unsigned int
cuModuleUnload (struct CUmod_st *module)
{
  ENTER;
  unsigned int result = streams_finish ();

  if (modules == NULL || !g_ptr_array_remove_fast (modules, module))
    return leave (problem (INVALID_HANDLE, "cuModuleUnload of what is no module"));
  return leave (result);
}

/* -- functions -- */

static guint
bytes_of (const char *type)
{
  static const struct
  {
    const char *name;
    guint bytes;
  } types[] = { { "long long", 8 }, { "k_i64", 8 }, { "k_u64", 8 }, { "double", 8 },
                { "char", 1 },      { "short", 2 }, { "int", 4 },   { "float", 4 } };

  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    if (strstr (type, types[i].name) != NULL)
      return types[i].bytes;
  return 1;
}

/* Reads "IR_KERNEL (name) (const float *x, float *y)"; FALSE: there is no such kernel. */
static gboolean
read_parameters (struct CUfunc_st *function)
{
  g_autofree char *head = g_strdup_printf ("IR_KERNEL (%s)", function->name);
  const char *at = strstr (function->module->text, head);
  const char *open = at != NULL ? strchr (at + strlen (head), '(') : NULL;
  const char *close = open != NULL ? strchr (open, ')') : NULL;

  if (close == NULL)
    return FALSE;
  g_autofree char *list = g_strndup (open + 1, (gsize) (close - open - 1));
  g_auto (GStrv) parts = g_strsplit (list, ",", -1);
  for (guint i = 0; parts[i] != NULL && i < IR_GPU_MAX_ARGS; i++)
    function->parameters[function->n_parameters++] = (Parameter){
      strstr (parts[i], "const") == NULL, bytes_of (parts[i])
    };
  return TRUE;
}

unsigned int
cuModuleGetFunction (struct CUfunc_st **out, struct CUmod_st *module, const char *name)
{
  ENTER;
  struct CUfunc_st *function;

  if (modules == NULL || !g_ptr_array_find (modules, module, NULL))
    return leave (problem (INVALID_HANDLE, "cuModuleGetFunction of what is no module"));
  function = g_new0 (struct CUfunc_st, 1);
  function->module = module;
  function->name = g_strdup (name);
  g_ptr_array_add (module->functions, function);
  *out = function;
  return leave (read_parameters (function) ? OK
                                           : problem (NOT_FOUND, "there is no kernel %s", name));
}

const char *
function_name (const struct CUfunc_st *function)
{
  return function->name;
}

guint
function_n_parameters (const struct CUfunc_st *function)
{
  return function->n_parameters;
}

static gboolean
is_function (const struct CUfunc_st *function)
{
  for (guint i = 0; modules != NULL && i < modules->len; i++)
    if (g_ptr_array_find (((struct CUmod_st *) modules->pdata[i])->functions, function, NULL))
      return TRUE;
  return FALSE;
}

unsigned int
function_check (const struct CUfunc_st *function,
                const IrGpuLaunch *launch,
                void **parameters,
                gpointer *args)
{
  if (!is_function (function))
    return problem (INVALID_HANDLE, "cuLaunchKernel of what is no kernel of a loaded program");
  if (launch->blocks == 0 || launch->blocks > G_MAXINT32 || launch->threads == 0 ||
      launch->threads > 1024 || launch->threads % 32 != 0)
    return problem (INVALID_VALUE, "%s: %u blocks of %u threads", function->name, launch->blocks,
                    launch->threads);
  for (guint i = 0; i < function->n_parameters; i++)
    {
      guint64 at;
      memcpy (&at, parameters[i], sizeof at);
      args[i] = (gpointer) (gsize) at;
      if (block_find (args[i], 1) == NULL)
        return problem (INVALID_VALUE, "%s: argument %u, %p, is in no block of memory",
                        function->name, i, args[i]);
      if (at % function->parameters[i].element_bytes != 0)
        return problem (INVALID_VALUE, "%s: argument %u, %p, is at no multiple of %u bytes",
                        function->name, i, args[i], function->parameters[i].element_bytes);
    }
  return OK;
}

/* Where the buffer of argument @i ends: at the next one of the same block, or with the block. */
static gsize
extent_of (const struct CUfunc_st *function, gpointer *args, guint i)
{
  gsize most = block_left (block_find (args[i], 1), args[i]);

  for (guint k = 0; k < function->n_parameters; k++)
    if (args[k] > args[i])
      most = MIN (most, (gsize) ((guint8 *) args[k] - (guint8 *) args[i]));
  return most;
}

static void
make_buffers (const struct CUfunc_st *function, gpointer *args, EmuBuffer *buffers, gboolean fast)
{
  for (guint i = 0; i < function->n_parameters; i++)
    {
      EmuBuffer *buffer = &buffers[i];
      *buffer = (EmuBuffer){ args[i], fast ? 0 : extent_of (function, args, i),
                             function->parameters[i].element_bytes,
                             function->parameters[i].writable, "an argument" };
      /* Arguments at one address are one buffer. */
      for (guint k = 0; k < function->n_parameters; k++)
        if (args[k] == args[i])
          {
            buffer->writable |= function->parameters[k].writable;
            buffer->element_bytes = MIN (buffer->element_bytes,
                                         function->parameters[k].element_bytes);
          }
    }
}

/* What the option "wrong" asks for. */
static void
spoil (const struct CUfunc_st *function, gpointer *args)
{
  g_autofree char *family = stand_in_text ("wrong");
  g_autofree char *head = g_strdup_printf ("ir_%s_", family != NULL ? family : "");

  if (family == NULL || !g_str_has_prefix (function->name, head))
    return;
  for (guint i = 0; i < function->n_parameters; i++)
    if (function->parameters[i].writable && function->parameters[i].element_bytes == 4)
      *(float *) args[i] += 1;
}

unsigned int
function_run (struct CUfunc_st *function, IrGpuLaunch *launch, gpointer *args, const Toucher *by)
{
  EmuBuffer buffers[IR_GPU_MAX_ARGS];
  const EmuBuffer *list[IR_GPU_MAX_ARGS];
  guint64 seed, unused;
  gboolean fast = stand_in_option ("fast", 0, &unused), seeded = stand_in_option ("seed", 0, &seed);
  g_autofree char *wrong = NULL;
  unsigned int result = OK;

  make_buffers (function, args, buffers, fast);
  for (guint i = 0; i < function->n_parameters; i++)
    {
      list[i] = &buffers[i];
      block_open (block_find (args[i], 1));
    }
  if (!emu_run (function->module->program, launch, list, seeded ? EMU_SEEDED : EMU_FORWARD,
                (guint32) seed + by->epoch, &wrong))
    return problem (ILLEGAL_ADDRESS, "%s: %s", function->name, wrong);
  spoil (function, args);
  for (guint i = 0; i < function->n_parameters && result == OK; i++)
    {
      gsize low = 0, high = 0;
      gboolean writes = FALSE;
      if (!fast && emu_touched (i, &low, &high, &writes))
        result = touch ((guint8 *) args[i] + low, high - low, writes, by);
    }
  return result;
}
