/* The kernels that a graph has for GPUs, as files: their text, and, where NVRTC is installed, what it
 * makes of them. No device is needed, and nothing is run. */
#include "config.h"

#include "app/cli/kernel-dump.h"
#include "app/cli/output.h"
#include "app/cli/plans.h"
#include "core/exec/gpu/cache.h"
#include "core/exec/gpu/compile.h"
#include "core/exec/gpu/facts.h"
#include "core/exec/gpu/library.h"
#include "core/exec/gpu/occupancy.h"
#include "core/exec/gpu/places.h"
#include "core/exec/gpu/program.h"
#include "core/exec/gpu/stats.h"
#include "core/op/check.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

typedef struct
{
  char *label, *name, *op;
  guint first, end;   /* launches */
  const char *reason; /* (nullable) why there is no kernel */
} Row;

typedef struct
{
  const char *folder;
  int architecture;
  gboolean keeps;
  IrGpuProgram *program;
  GArray *rows;    /* of Row */
  IrGpuCode *code; /* (nullable) without NVRTC */
  char *reason;    /* (nullable) why nothing was compiled */
  char *kept;      /* (nullable) folder of programs that it was kept in */
  GPtrArray *files;
} Dump;

static void
row_clear (gpointer data)
{
  Row *row = data;

  g_free (row->label);
  g_free (row->name);
  g_free (row->op);
}

static void
dump_clear (Dump *dump)
{
  g_clear_pointer (&dump->program, ir_gpu_program_free);
  g_clear_pointer (&dump->rows, g_array_unref);
  g_clear_pointer (&dump->code, ir_gpu_code_free);
  g_clear_pointer (&dump->files, g_ptr_array_unref);
  g_free (dump->reason);
  g_free (dump->kept);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Dump, dump_clear)

static void
add_node (Dump *dump, const IrNode *node)
{
  Row row = { .label = ir_node_label (node),
              .name = g_strdup (node->name),
              .op = g_strdup (node->op_type),
              .first = dump->program->launches->len };
  IrCall call;

  if (!ir_node_valid_op (node))
    row.reason = "it is no node that can run";
  else
    {
      ir_call_init (&call, node);
      row.reason = ir_call_check (&call, NULL) && call.op->infer (&call, NULL)
                       ? ir_gpu_program_add (dump->program, &call)
                       : "its types are not known before the run";
      ir_call_clear (&call);
    }
  row.end = dump->program->launches->len;
  g_array_append_val (dump->rows, row);
}

static gboolean
write_file (Dump *dump, const char *name, const char *data, gssize length, GError **error)
{
  char *path = g_build_filename (dump->folder, name, NULL);

  g_ptr_array_add (dump->files, path);
  return g_file_set_contents (path, data, length, error);
}

/* What an earlier dump has left would pass for what this text becomes. */
static gboolean
remove_compiled (const Dump *dump, GError **error)
{
  static const char *const names[] = { "kernels.ptx", "kernels.cubin" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename (dump->folder, names[i], NULL);
      if (g_remove (path) != 0 && errno != ENOENT)
        {
          g_set_error (error, G_FILE_ERROR, g_file_error_from_errno (errno),
                       "%s, of an earlier dump, cannot be removed: %s", path, g_strerror (errno));
          return FALSE;
        }
    }
  return TRUE;
}

static gboolean
keep (Dump *dump, const IrGpu *gpu, const char *text, GError **error)
{
  g_autofree char *key = ir_gpu_compile_key (gpu, text, dump->architecture);

  dump->kept = ir_gpu_cache_folder ();
  if (dump->kept != NULL)
    return ir_gpu_cache_store (dump->kept, key, dump->code, IR_GPU_CACHE_BYTES, error);
  g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE,
               "--keep: %s says that no programs are kept; give it a folder", IR_GPU_CACHE);
  return FALSE;
}

/* Without NVRTC the text alone is written, and it is said why. */
static gboolean
compile (Dump *dump, const char *text, GError **error)
{
  g_autoptr (IrGpu) gpu = ir_gpu_open (ir_gpu_places (g_getenv (IR_GPU_PATH)));
  const IrGpuLibrary *nvrtc = &gpu->libraries[IR_GPU_NVRTC];
  gsize bytes;

  if (dump->program->launches->len == 0)
    return TRUE;
  if (nvrtc->state != IR_GPU_USABLE)
    {
      dump->reason = g_strdup_printf ("%s: %s", nvrtc->title, nvrtc->reason);
      return TRUE;
    }
  dump->code = ir_gpu_compile (gpu, text, dump->architecture, error);
  if (dump->code == NULL)
    return FALSE;
  const char *cubin = g_bytes_get_data (dump->code->cubin, &bytes);
  return write_file (dump, "kernels.ptx", dump->code->ptx, -1, error) &&
         write_file (dump, "kernels.cubin", cubin, (gssize) bytes, error) &&
         (!dump->keeps || keep (dump, gpu, text, error));
}

/* Runs that keep statistics count values where they are made: with what is kept they can do so without a compiler. */
static void
add_stats (Dump *dump, const IrModel *model)
{
  gboolean seen[IR_N_DTYPES] = { FALSE };

  for (IrValueId id = 1; id < model->values->len; id++)
    {
      const IrValue *value = ir_model_live_value (model, id);
      if (value == NULL || value->producer == NULL || value->type == NULL ||
          !ir_type_is_tensor (value->type) || seen[value->type->dtype])
        continue;
      seen[value->type->dtype] = TRUE;
      g_autoptr (IrGpuProgram) program = ir_gpu_stats_program (value->type->dtype);
      for (guint i = 0; program != NULL && i < program->launches->len; i++)
        {
          const IrGpuLaunch *launch = program->launches->pdata[i];
          ir_gpu_program_add_text (dump->program, launch->name, launch->text);
        }
    }
}

static gboolean
make (Dump *dump, const IrModel *model, GError **error)
{
  guint n;
  IrNode *const *nodes = ir_graph_order (model->main, &n);

  for (guint i = 0; i < n; i++)
    add_node (dump, nodes[i]);
  if (dump->keeps)
    add_stats (dump, model);
  g_autofree char *kernels = ir_gpu_program_text (dump->program);
  g_autofree char *whole = g_strconcat (ir_gpu_prelude (), kernels, NULL);
  if (g_mkdir_with_parents (dump->folder, 0777) != 0)
    {
      g_set_error (error, G_FILE_ERROR, g_file_error_from_errno (errno), "%s: %s", dump->folder,
                   g_strerror (errno));
      return FALSE;
    }
  return remove_compiled (dump, error) && write_file (dump, "kernels.cu", whole, -1, error) &&
         compile (dump, kernels, error);
}

/* -- what is printed -- */

static const IrGpuLaunch *
launch_at (const Dump *dump, guint i)
{
  return dump->program->launches->pdata[i];
}

static const IrGpuLaunch *
launch_of (const Dump *dump, const char *kernel)
{
  for (guint i = 0; i < dump->program->launches->len; i++)
    for (const IrGpuLaunch *launch = launch_at (dump, i); launch != NULL; launch = launch->finish)
      if (g_str_equal (launch->name, kernel))
        return launch;
  return NULL;
}

static void
add_occupancy (cJSON *json,
               const IrGpuLaunch *launch,
               const IrGpuKernelFacts *facts,
               int architecture)
{
  IrGpuOccupancy occupancy;

  if (launch == NULL || facts->registers == 0 ||
      !ir_gpu_occupancy (architecture, launch->threads, (guint) facts->registers,
                         (guint64) facts->shared_bytes, &occupancy))
    return;
  cJSON *object = cJSON_AddObjectToObject (json, "occupancy");
  cJSON_AddNumberToObject (object, "warps", occupancy.warps);
  cJSON_AddNumberToObject (object, "most", occupancy.most);
  cJSON_AddStringToObject (object, "by", occupancy.by);
}

static void
print_json (const Dump *dump)
{
  cJSON *json = cJSON_CreateObject (), *list = cJSON_AddArrayToObject (json, "files");

  for (guint i = 0; i < dump->files->len; i++)
    cJSON_AddItemToArray (list, cJSON_CreateString (dump->files->pdata[i]));
  cJSON_AddNumberToObject (json, "architecture", dump->architecture);
  if (dump->reason != NULL)
    cJSON_AddStringToObject (json, "not_compiled", dump->reason);
  if (dump->kept != NULL)
    cJSON_AddStringToObject (json, "kept", dump->kept);
  list = cJSON_AddArrayToObject (json, "nodes");
  for (guint i = 0; i < dump->rows->len; i++)
    {
      const Row *row = &g_array_index (dump->rows, Row, i);
      cJSON *node = cJSON_CreateObject (), *launches;
      cJSON_AddStringToObject (node, "node", row->name);
      cJSON_AddStringToObject (node, "op", row->op);
      launches = cJSON_AddArrayToObject (node, "launches");
      for (guint k = row->first; k < row->end; k++)
        {
          cJSON *launch = cJSON_CreateObject ();
          cJSON_AddStringToObject (launch, "kernel", launch_at (dump, k)->name);
          cJSON_AddNumberToObject (launch, "blocks", launch_at (dump, k)->blocks);
          cJSON_AddNumberToObject (launch, "threads", launch_at (dump, k)->threads);
          cJSON_AddItemToArray (launches, launch);
        }
      if (row->reason != NULL)
        cJSON_AddStringToObject (node, "reason", row->reason);
      cJSON_AddItemToArray (list, node);
    }
  list = cJSON_AddArrayToObject (json, "kernels");
  for (guint i = 0; dump->code != NULL && i < dump->code->kernels->len; i++)
    {
      const IrGpuKernelFacts *facts = dump->code->kernels->pdata[i];
      cJSON *kernel = cJSON_CreateObject ();
      cJSON_AddStringToObject (kernel, "kernel", facts->name);
      cJSON_AddNumberToObject (kernel, "registers", facts->registers);
      cJSON_AddNumberToObject (kernel, "spill_bytes", (double) facts->spill_bytes);
      cJSON_AddNumberToObject (kernel, "shared_bytes", (double) facts->shared_bytes);
      add_occupancy (kernel, launch_of (dump, facts->name), facts, dump->architecture);
      cJSON_AddItemToArray (list, kernel);
    }
  cli_json_print (json);
}

static void
print_text (const Dump *dump)
{
  guint n_with = 0;

  for (guint i = 0; i < dump->rows->len; i++)
    {
      const Row *row = &g_array_index (dump->rows, Row, i);
      n_with += row->reason == NULL;
      cli_print ("%-32s", row->label);
      if (row->reason != NULL)
        cli_print (" none: %s", row->reason);
      else if (row->first == row->end)
        cli_print (" no work");
      for (guint k = row->first; k < row->end; k++)
        cli_print ("%s %s, %u blocks of %u", k > row->first ? ";" : "", launch_at (dump, k)->name,
                   launch_at (dump, k)->blocks, launch_at (dump, k)->threads);
      cli_print ("\n");
    }
  for (guint i = 0; dump->code != NULL && i < dump->code->kernels->len; i++)
    {
      const IrGpuKernelFacts *facts = dump->code->kernels->pdata[i];
      const IrGpuLaunch *launch = launch_of (dump, facts->name);
      g_autofree char *text = launch != NULL ? ir_gpu_facts_text (launch, facts, dump->architecture)
                                             : NULL;
      if (text != NULL)
        cli_print ("%-32s %s\n", facts->name, text);
    }
  cli_print ("%u of %u nodes have a kernel; nothing was run\n", n_with, dump->rows->len);
  if (dump->reason != NULL)
    cli_print ("not compiled: %s\n", dump->reason);
  if (dump->kept != NULL)
    cli_print ("kept in %s\n", dump->kept);
  for (guint i = 0; i < dump->files->len; i++)
    cli_print ("%s\n", (const char *) dump->files->pdata[i]);
}

CliStatus
cli_dump_kernels (
    Cli *cli, const CliModelOptions *options, const char *folder, int architecture, gboolean keeps)
{
  g_auto (Dump) dump = { folder, architecture, keeps, ir_gpu_program_new (),
                         g_array_new (FALSE, FALSE, sizeof (Row)) };
  g_auto (CliModel) opened = { 0 };
  g_autoptr (IrModel) sized = NULL;
  g_autoptr (GError) error = NULL;
  CliStatus status;

  g_array_set_clear_func (dump.rows, row_clear);
  dump.files = g_ptr_array_new_with_free_func (g_free);
  if (!cli_model_open (cli, options, cli->args[0], FALSE, &opened, &status))
    return status;
  sized = cli_sized_model (options, opened.model, &error);
  if (sized == NULL)
    return cli_fail (cli_status_of (error), error);
  if (!make (&dump, sized, &error))
    return cli_fail (CLI_FAILED, error);
  if (cli->json)
    print_json (&dump);
  else
    print_text (&dump);
  return CLI_OK;
}
