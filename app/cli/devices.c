/* What the machine has to run graphs on. Of a GPU that cannot be used it says what is missing, and
 * where that was looked for. */
#include "config.h"

#include "app/cli/devices.h"
#include "app/cli/output.h"
#include "core/exec/gpu/cache.h"
#include "core/exec/gpu/devices.h"
#include "core/exec/gpu/library.h"
#include "core/exec/gpu/places.h"
#include "core/exec/kernel/backend.h"

typedef struct
{
  IrGpu *gpu;
  GPtrArray *devices;    /* (nullable) of IrGpuDevice */
  GArray *architectures; /* (nullable) of int */
  char *reason;          /* (nullable) why there is no GPU */
  char *cache;           /* (nullable) where compiled programs are kept */
  IrGpuCacheUse kept;
} Facts;

static void
facts_clear (Facts *facts)
{
  ir_gpu_free (facts->gpu);
  g_clear_pointer (&facts->devices, g_ptr_array_unref);
  g_clear_pointer (&facts->architectures, g_array_unref);
  g_free (facts->reason);
  g_free (facts->cache);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Facts, facts_clear)

static Facts
find_facts (void)
{
  Facts facts = { .gpu = ir_gpu_open (ir_gpu_places (g_getenv (IR_GPU_PATH))) };
  g_autoptr (GError) error = NULL;

  facts.devices = ir_gpu_devices (facts.gpu, &error);
  if (facts.devices == NULL)
    facts.reason = g_strdup (error->message);
  else if (facts.devices->len == 0)
    facts.reason = g_strdup ("the driver sees no GPU");
  if (facts.gpu->libraries[IR_GPU_NVRTC].state == IR_GPU_USABLE)
    facts.architectures = ir_gpu_architectures (facts.gpu, NULL);
  facts.cache = ir_gpu_cache_folder ();
  if (facts.cache != NULL)
    facts.kept = ir_gpu_cache_use (facts.cache);
  return facts;
}

/* -- JSON -- */

static void
add_text (cJSON *object, const char *key, const char *text)
{
  if (text != NULL)
    cJSON_AddStringToObject (object, key, text);
  else
    cJSON_AddNullToObject (object, key);
}

static cJSON *
library_json (const IrGpuLibrary *library)
{
  cJSON *json = cJSON_CreateObject ();

  cJSON_AddStringToObject (json, "name", library->name);
  cJSON_AddStringToObject (json, "title", library->title);
  cJSON_AddStringToObject (json, "state", ir_gpu_state_name (library->state));
  add_text (json, "file", library->path);
  add_text (json, "version", library->version);
  add_text (json, "reason", library->reason);
  add_text (json, "without", library->state != IR_GPU_USABLE ? library->without : NULL);
  return json;
}

static cJSON *
device_json (const IrGpuDevice *device)
{
  cJSON *json = cJSON_CreateObject ();
  g_autofree char *name = g_strdup_printf ("gpu:%d", device->index);
  g_autofree char *capability = g_strdup_printf ("%d.%d", device->major, device->minor);

  cJSON_AddStringToObject (json, "name", name);
  cJSON_AddStringToObject (json, "title", device->name);
  cJSON_AddStringToObject (json, "compute_capability", capability);
  cJSON_AddNumberToObject (json, "multiprocessors", device->n_multiprocessors);
  cli_json_add_uint (json, "bytes", device->bytes);
  cli_json_add_uint (json, "cache_bytes", device->cache_bytes);
  return json;
}

static cJSON *
cache_json (const Facts *facts)
{
  cJSON *json = cJSON_CreateObject ();
  g_autofree char *problem = facts->cache != NULL ? ir_gpu_cache_problem (facts->cache) : NULL;

  add_text (json, "folder", facts->cache);
  add_text (json, "problem", problem);
  cJSON_AddNumberToObject (json, "programs", facts->kept.n_programs);
  cli_json_add_uint (json, "bytes", facts->kept.bytes);
  cli_json_add_uint (json, "most_bytes", IR_GPU_CACHE_BYTES);
  return json;
}

static void
print_json (const Facts *facts)
{
  cJSON *json = cJSON_CreateObject (), *list;
  guint n;
  const IrBackend *const *backends = ir_backends (&n);

  list = cJSON_AddArrayToObject (json, "backends");
  for (guint i = 0; i < n; i++)
    {
      if (backends[i]->memory != NULL && facts->reason != NULL)
        continue;
      cJSON *row = cJSON_CreateObject ();
      cJSON_AddStringToObject (row, "name", backends[i]->name);
      cJSON_AddStringToObject (row, "title", backends[i]->title);
      cJSON_AddItemToArray (list, row);
    }
  cJSON_AddNumberToObject (json, "processors", g_get_num_processors ());
  list = cJSON_AddArrayToObject (json, "gpus");
  for (guint i = 0; facts->devices != NULL && i < facts->devices->len; i++)
    cJSON_AddItemToArray (list, device_json (facts->devices->pdata[i]));
  add_text (json, "reason", facts->reason);
  cJSON_AddBoolToObject (json, "stand_in", facts->gpu->stand_in);
  list = cJSON_AddArrayToObject (json, "libraries");
  for (guint i = 0; i < IR_GPU_N_LIBRARIES; i++)
    cJSON_AddItemToArray (list, library_json (&facts->gpu->libraries[i]));
  list = cJSON_AddArrayToObject (json, "architectures");
  for (guint i = 0; facts->architectures != NULL && i < facts->architectures->len; i++)
    cJSON_AddItemToArray (list, cJSON_CreateNumber (g_array_index (facts->architectures, int, i)));
  cJSON_AddItemToObject (json, "cache", cache_json (facts));
  list = cJSON_AddArrayToObject (json, "looked_in");
  for (guint i = 0; i < facts->gpu->places->len; i++)
    {
      const IrGpuPlace *place = facts->gpu->places->pdata[i];
      cJSON *row = cJSON_CreateObject ();
      add_text (row, "folder", place->folder);
      cJSON_AddStringToObject (row, "from", place->why);
      cJSON_AddItemToArray (list, row);
    }
  cli_json_print (json);
}

/* -- text -- */

static void
print_library (const IrGpuLibrary *library)
{
  if (library->state == IR_GPU_USABLE)
    cli_print ("  %-9s %s%s%s\n", library->name, library->version != NULL ? library->version : "",
               library->version != NULL ? ", " : "",
               library->path != NULL ? library->path : "found by the loader");
  else
    cli_print ("  %-9s %s: %s%s%s; without it, %s\n", library->name,
               ir_gpu_state_name (library->state), library->path != NULL ? library->path : "",
               library->path != NULL ? ": " : "", library->reason, library->without);
}

static void
print_device (const Facts *facts, const IrGpuDevice *device)
{
  g_autofree char *bytes = cli_format_bytes (device->bytes);

  cli_print ("gpu:%-7d %s%s: compute capability %d.%d, %d multiprocessors, %s\n", device->index,
             device->name, facts->gpu->stand_in ? " (a stand-in, no device)" : "", device->major,
             device->minor, device->n_multiprocessors, bytes);
}

static void
print_architectures (const GArray *architectures)
{
  cli_print ("  %-9s compiles for", "");
  for (guint i = 0; i < architectures->len; i++)
    cli_print ("%s sm_%d", i > 0 ? "," : "", g_array_index (architectures, int, i));
  cli_print ("\n");
}

static void
print_cache (const Facts *facts)
{
  g_autofree char *bytes = cli_format_bytes (facts->kept.bytes),
                  *most = cli_format_bytes (IR_GPU_CACHE_BYTES),
                  *problem = facts->cache != NULL ? ir_gpu_cache_problem (facts->cache) : NULL;

  if (facts->cache == NULL)
    cli_print ("  %-9s no compiled program is kept, as " IR_GPU_CACHE " asks for\n", "cache");
  else if (problem != NULL)
    cli_print ("  %-9s no compiled program can be kept in %s: %s (" IR_GPU_CACHE
               " names another folder, or -: none)\n",
               "cache", facts->cache, problem);
  else
    cli_print ("  %-9s %u compiled programs, %s of at most %s, in %s (" IR_GPU_CACHE
               " names another folder, or -: none)\n",
               "cache", facts->kept.n_programs, bytes, most, facts->cache);
}

static void
print_text (const Facts *facts)
{
  guint n;
  const IrBackend *const *backends = ir_backends (&n);

  for (guint i = 0; i < n; i++)
    if (backends[i]->memory == NULL)
      cli_print ("%-11s %s, %u processors\n", backends[i]->name, backends[i]->title,
                 g_get_num_processors ());
  for (guint i = 0; facts->devices != NULL && i < facts->devices->len; i++)
    print_device (facts, facts->devices->pdata[i]);
  if (facts->reason != NULL)
    cli_print ("%-11s not here: %s\n", "gpu", facts->reason);
  if (facts->gpu->stand_in)
    cli_print ("%-11s a stand-in, which imitates a GPU on the processor: it says nothing of one\n",
               "");
  for (guint i = 0; i < IR_GPU_N_LIBRARIES; i++)
    {
      print_library (&facts->gpu->libraries[i]);
      if (i == IR_GPU_NVRTC && facts->architectures != NULL)
        print_architectures (facts->architectures);
    }
  print_cache (facts);
  cli_print ("  looked in, in this order (%s puts folders before them):\n", IR_GPU_PATH);
  for (guint i = 0; i < facts->gpu->places->len; i++)
    {
      const IrGpuPlace *place = facts->gpu->places->pdata[i];
      cli_print ("    %s (%s)\n", place->folder != NULL ? place->folder : "its own folders",
                 place->why);
    }
  if (facts->gpu->places->len == 0)
    cli_print ("    nowhere\n");
}

/* Prints them. That there is no GPU is an answer, and no failure. */
CliStatus
cli_devices (const Cli *cli)
{
  g_auto (Facts) facts = find_facts ();

  if (cli->json)
    print_json (&facts);
  else
    print_text (&facts);
  return CLI_OK;
}
