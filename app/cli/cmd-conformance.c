/* irscope conformance: the ONNX backend tests of a folder. Each case runs in a child process with a
 * limit on time and memory, so that none can take the rest down. */
#include "config.h"

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "core/exec/eval/conformance.h"
#include "core/exec/gpu/runtime.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_SECONDS 60
#define DEFAULT_MIB     4096
#define POLL_MS         100

typedef struct
{
  char *device;
  gint64 seconds, mib;
} Options;

static const CliOption conformance_options[] = {
  { "device", 'd', G_OPTION_ARG_STRING, offsetof (Options, device),
    "Only this back end: ref, cpu or gpu (default: ref and cpu, and a case passes when both do)",
    "NAME" },
  { "time-limit", 0, G_OPTION_ARG_INT64, offsetof (Options, seconds),
    "Seconds that a case may take (default 60)", "S" },
  { "memory-limit", 0, G_OPTION_ARG_INT64, offsetof (Options, mib),
    "Memory that a case may address (default 4096)", "MIB" },
  { NULL },
};

typedef struct
{
  char *dir, *name, *reason; /* reason: (nullable) */
  IrCaseStatus status;
  IrCaseNodes nodes; /* of the run with the last back end */
} Case;

typedef struct
{
  const Cli *cli;
  const Options *options;
  const IrBackend *backends[2];
  gboolean stand_in; /* of a device */
  guint n_backends;
  GPtrArray *cases;
  guint counts[IR_N_CASE_STATUSES];
  IrCaseNodes nodes; /* of all cases */
  guint n_own_cases; /* cases whose nodes all ran on cpu kernels */
} Suite;

static void
case_free (gpointer data)
{
  Case *test = data;

  g_free (test->dir);
  g_free (test->name);
  g_free (test->reason);
  g_free (test);
}

/* -- the folder -- */

static int
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static void
add_case (Suite *suite, const char *dir, const char *name)
{
  Case *test = g_new0 (Case, 1);

  test->dir = g_strdup (dir);
  test->name = *name != '\0' ? g_strdup (name) : g_path_get_basename (dir);
  g_ptr_array_add (suite->cases, test);
}

/* Links to folders are not followed: they might lead back. */
static gboolean
find_cases (Suite *suite, const char *dir, const char *name, GError **error)
{
  g_autoptr (GDir) handle = NULL;
  g_autoptr (GPtrArray) entries = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *model = g_build_filename (dir, "model.onnx", NULL);
  const char *entry;

  if (g_file_test (model, G_FILE_TEST_EXISTS))
    {
      add_case (suite, dir, name);
      return TRUE;
    }
  handle = g_dir_open (dir, 0, error);
  if (handle == NULL)
    return FALSE;
  while ((entry = g_dir_read_name (handle)) != NULL)
    g_ptr_array_add (entries, g_strdup (entry));
  g_ptr_array_sort (entries, compare_texts);
  for (guint i = 0; i < entries->len; i++)
    {
      g_autofree char *path = g_build_filename (dir, entries->pdata[i], NULL);
      g_autofree char *longer = *name != '\0' ? g_build_filename (name, entries->pdata[i], NULL)
                                              : g_strdup (entries->pdata[i]);
      if (g_file_test (path, G_FILE_TEST_IS_DIR) && !g_file_test (path, G_FILE_TEST_IS_SYMLINK) &&
          !find_cases (suite, path, longer, error))
        return FALSE;
    }
  return TRUE;
}

/* -- the child -- */

static void
limit (int resource, guint64 most)
{
  struct rlimit value = { most, most };

  setrlimit (resource, &value);
}

/* Devices map more memory into a process than it uses. */
static void
set_limits (const Options *options, gboolean has_device)
{
  limit (RLIMIT_CORE, 0);
  limit (RLIMIT_CPU, (guint64) options->seconds + 1);
#ifndef __SANITIZE_ADDRESS__ /* its shadow memory is larger than any limit */
  if (!has_device)
    limit (RLIMIT_AS, (guint64) options->mib << 20);
#endif
}

/* Runs the case and writes a line with status and numbers of nodes, then the reason. */
static void
run_child (const Suite *suite, const Case *test, int fd)
{
  IrCaseStatus status = IR_CASE_PASSED;
  g_autofree char *text = NULL;
  IrCaseNodes nodes = { 0 };
  gsize done = 0;

  set_limits (suite->options, suite->backends[0]->memory != NULL);
  if (suite->backends[0]->memory != NULL)
    ir_backend_require (suite->options->device, NULL);
  for (guint i = 0; i < suite->n_backends && status == IR_CASE_PASSED; i++)
    {
      g_autofree char *why = NULL;
      status = ir_case_run (test->dir, suite->backends[i], &why,
                            suite->backends[i]->falls_back ? &nodes : NULL);
      g_free (text);
      text = g_strdup_printf ("%d %u %u %u\n%s%s%s", (int) status, nodes.own, nodes.fallback,
                              nodes.control, why != NULL ? suite->backends[i]->name : "",
                              why != NULL ? ": " : "", why != NULL ? why : "");
    }
  while (done < strlen (text))
    {
      gssize n = write (fd, text + done, strlen (text) - done);
      if (n < 0 && errno != EINTR)
        break;
      done += n > 0 ? (gsize) n : 0;
    }
  _exit (0);
}

/* -- the parent -- */

typedef enum
{
  CHILD_ENDED,
  CHILD_TIMED_OUT,
  CHILD_CANCELLED
} ChildEnd;

/* Reads until the child closes its end. */
static ChildEnd
read_answer (const Suite *suite, int fd, GString *answer)
{
  gint64 deadline = g_get_monotonic_time () + suite->options->seconds * G_USEC_PER_SEC;
  char buffer[4096];

  for (;;)
    {
      struct pollfd wait = { .fd = fd, .events = POLLIN };
      int ready = poll (&wait, 1, POLL_MS);
      if (g_cancellable_is_cancelled (suite->cli->cancellable))
        return CHILD_CANCELLED;
      if (g_get_monotonic_time () > deadline)
        return CHILD_TIMED_OUT;
      if (ready <= 0)
        continue;
      gssize n = read (fd, buffer, sizeof buffer);
      if (n == 0 || (n < 0 && errno != EINTR))
        return CHILD_ENDED;
      if (n > 0)
        g_string_append_len (answer, buffer, n);
    }
}

static void
read_result (Case *test, const char *answer)
{
  const char *reason = strchr (answer, '\n');
  IrCaseNodes *nodes = &test->nodes;
  int status = IR_CASE_FAILED;

  if (reason == NULL ||
      sscanf (answer, "%d %u %u %u", &status, &nodes->own, &nodes->fallback, &nodes->control) != 4)
    {
      test->reason = g_strdup ("ended with half an answer");
      return;
    }
  test->status = (IrCaseStatus) CLAMP (status, 0, IR_N_CASE_STATUSES - 1);
  test->reason = reason[1] != '\0' ? g_utf8_make_valid (reason + 1, -1) : NULL;
}

static void
take_answer (Case *test, const GString *answer, ChildEnd end, int status, const Options *options)
{
  test->status = IR_CASE_FAILED;
  if (end == CHILD_TIMED_OUT)
    test->reason = g_strdup_printf ("took longer than %" G_GINT64_FORMAT " s", options->seconds);
  else if (WIFSIGNALED (status))
    test->reason = g_strdup_printf ("ended by signal %d (%s)", WTERMSIG (status),
                                    g_strsignal (WTERMSIG (status)));
  else if (answer->len == 0)
    test->reason = g_strdup ("ended without an answer");
  else
    read_result (test, answer->str);
}

static gboolean
run_case (Suite *suite, Case *test, GError **error)
{
  g_autoptr (GString) answer = g_string_new (NULL);
  int fds[2], status = 0;
  pid_t child;

  if (pipe (fds) != 0)
    {
      g_set_error (error, G_IO_ERROR, g_io_error_from_errno (errno), "%s: no pipe: %s", test->name,
                   g_strerror (errno));
      return FALSE;
    }
  child = fork ();
  if (child == 0)
    {
      close (fds[0]);
      run_child (suite, test, fds[1]);
    }
  close (fds[1]);
  if (child < 0)
    {
      close (fds[0]);
      g_set_error (error, G_IO_ERROR, g_io_error_from_errno (errno), "%s: no process: %s",
                   test->name, g_strerror (errno));
      return FALSE;
    }
  ChildEnd end = read_answer (suite, fds[0], answer);
  if (end != CHILD_ENDED)
    kill (child, SIGKILL);
  close (fds[0]);
  while (waitpid (child, &status, 0) < 0 && errno == EINTR)
    ;
  if (end == CHILD_CANCELLED)
    return !g_cancellable_set_error_if_cancelled (suite->cli->cancellable, error);
  take_answer (test, answer, end, status, suite->options);
  suite->counts[test->status]++;
  suite->nodes.own += test->nodes.own;
  suite->nodes.fallback += test->nodes.fallback;
  suite->nodes.control += test->nodes.control;
  if (test->nodes.own > 0 && test->nodes.fallback == 0)
    suite->n_own_cases++;
  return TRUE;
}

/* -- the report -- */

/* Whether the last run of a case is one of the cpu back end. */
static gboolean
counts_nodes (const Suite *suite)
{
  return suite->backends[suite->n_backends - 1]->falls_back != NULL;
}

static void
add_nodes (cJSON *object, const Suite *suite, const IrCaseNodes *nodes)
{
  cJSON *json = cJSON_AddObjectToObject (object, "nodes");
  const IrBackend *backend = suite->backends[suite->n_backends - 1];

  cJSON_AddNumberToObject (json, backend->name, nodes->own);
  cJSON_AddNumberToObject (json, backend->falls_back == &ir_backend_ref ? "ref" : "elsewhere",
                           nodes->fallback);
  cJSON_AddNumberToObject (json, "runner", nodes->control);
}

static void
print_json (const Suite *suite)
{
  cJSON *json = cJSON_CreateObject (), *array;

  cJSON_AddNumberToObject (json, "total", suite->cases->len);
  for (guint i = 0; i < IR_N_CASE_STATUSES; i++)
    cJSON_AddNumberToObject (json, ir_case_status_name ((IrCaseStatus) i), suite->counts[i]);
  if (counts_nodes (suite))
    {
      g_autofree char *key = g_strdup_printf ("cases_on_%s",
                                              suite->backends[suite->n_backends - 1]->name);
      add_nodes (json, suite, &suite->nodes);
      cJSON_AddNumberToObject (json, key, suite->n_own_cases);
    }
  if (suite->stand_in)
    cJSON_AddBoolToObject (json, "stand_in", TRUE);
  array = cJSON_AddArrayToObject (json, "cases");
  for (guint i = 0; i < suite->cases->len; i++)
    {
      const Case *test = suite->cases->pdata[i];
      cJSON *object = cJSON_CreateObject ();
      cJSON_AddStringToObject (object, "name", test->name);
      cJSON_AddStringToObject (object, "status", ir_case_status_name (test->status));
      if (test->reason != NULL)
        cJSON_AddStringToObject (object, "reason", test->reason);
      if (counts_nodes (suite))
        add_nodes (object, suite, &test->nodes);
      cJSON_AddItemToArray (array, object);
    }
  cli_json_print (json);
}

static void
print_text (const Suite *suite)
{
  const IrBackend *last = suite->backends[suite->n_backends - 1];
  const char *name = last->name;

  for (guint i = 0; i < suite->cases->len; i++)
    {
      const Case *test = suite->cases->pdata[i];
      if (test->status != IR_CASE_PASSED)
        cli_print ("%-11s %s: %s\n", ir_case_status_name (test->status), test->name,
                   test->reason != NULL ? test->reason : "");
    }
  cli_print ("%u cases: %u passed, %u failed, %u unsupported\n", suite->cases->len,
             suite->counts[IR_CASE_PASSED], suite->counts[IR_CASE_FAILED],
             suite->counts[IR_CASE_UNSUPPORTED]);
  if (suite->stand_in)
    cli_print ("by a stand-in, which imitates a GPU on the processor\n");
  if (counts_nodes (suite))
    cli_print ("%s back end: %u nodes on %s kernels, %u on %s kernels, %u control flow; "
               "%u cases on %s kernels alone\n",
               name, suite->nodes.own, name, suite->nodes.fallback,
               last->falls_back == &ir_backend_ref ? "ref" : "other", suite->nodes.control,
               suite->n_own_cases, name);
}

enum
{
  DEVICE_IS_THERE,
  DEVICE_IS_STAND_IN,
  DEVICE_IS_MISSING
};

/* In a process of its own: of one that has opened a device, no other can be made that uses it. */
static int
ask_for_device (const char *device)
{
  int status;
  const pid_t child = fork ();

  if (child == 0)
    {
      g_autoptr (GError) error = NULL;
      if (ir_backend_require (device, &error) == NULL)
        cli_printerr ("irscope conformance: %s\n", error->message);
      _exit (error != NULL                   ? DEVICE_IS_MISSING
             : ir_gpu_runtime_is_stand_in () ? DEVICE_IS_STAND_IN
                                             : DEVICE_IS_THERE);
    }
  return child > 0 && waitpid (child, &status, 0) == child && WIFEXITED (status)
             ? WEXITSTATUS (status)
             : DEVICE_IS_MISSING;
}

static CliStatus
choose_device (Suite *suite)
{
  const char *device = suite->options->device;
  const IrBackend *backend = ir_backend_find (device);

  if (backend == NULL)
    {
      cli_printerr (
          "irscope conformance: device %s: there is no such device; use ref, cpu or gpu.\n",
          device);
      return CLI_FAILED;
    }
  const int found = ask_for_device (device);
  if (found == DEVICE_IS_MISSING)
    return CLI_FAILED;
  suite->stand_in = found == DEVICE_IS_STAND_IN;
  suite->backends[suite->n_backends++] = backend;
  return CLI_OK;
}

static CliStatus
choose_backends (Suite *suite)
{
  static const char *const both[] = { "ref", "cpu" };

  for (guint i = 0; i < G_N_ELEMENTS (both); i++)
    if (suite->options->device == NULL || strcmp (suite->options->device, both[i]) == 0)
      suite->backends[suite->n_backends++] = ir_backend_find (both[i]);
  return suite->n_backends > 0 ? CLI_OK : choose_device (suite);
}

static CliStatus
run_suite (Suite *suite, const char *dir)
{
  g_autoptr (GError) error = NULL;

  if (!find_cases (suite, dir, "", &error))
    return cli_fail (CLI_BAD, error);
  if (suite->cases->len == 0)
    {
      cli_printerr ("irscope conformance: %s: no model.onnx below this folder.\n", dir);
      return CLI_BAD;
    }
  for (guint i = 0; i < suite->cases->len; i++)
    {
      cli_progress (suite->cli, "cases", i, suite->cases->len);
      if (!run_case (suite, suite->cases->pdata[i], &error))
        {
          cli_progress_end (suite->cli);
          return cli_fail (CLI_FAILED, error);
        }
    }
  cli_progress_end (suite->cli);
  (suite->cli->json ? print_json : print_text) (suite);
  return suite->counts[IR_CASE_FAILED] > 0 ? CLI_NO : CLI_OK;
}

static CliStatus
run (Cli *cli)
{
  Options *options = cli->options;
  Suite suite = { .cli = cli, .options = options };

  if (options->seconds == 0)
    options->seconds = DEFAULT_SECONDS;
  if (options->mib == 0)
    options->mib = DEFAULT_MIB;
  if (options->seconds < 1 || options->seconds > G_MAXINT32 || options->mib < 1 ||
      options->mib > G_MAXINT32)
    {
      cli_printerr ("irscope conformance: limits must be positive.\n");
      return CLI_BAD;
    }
  CliStatus status = choose_backends (&suite);
  if (status != CLI_OK)
    return status;
  g_autoptr (GPtrArray) cases = g_ptr_array_new_with_free_func (case_free);
  suite.cases = cases;
  return run_suite (&suite, cli->args[0]);
}

const CliCommand cli_command_conformance = {
  .name = "conformance",
  .arguments = "DIR",
  .summary = "Run the ONNX backend tests that lie in a folder",
  .doc = "Cases are folders with model.onnx and test_data_set_N/{input,output}_N.pb. Shapes and\n"
         "types must be equal, elements within 1e-7 + 1e-3 |wanted|. Exit status 1 if one failed.",
  .min_args = 1,
  .max_args = 1,
  .options = conformance_options,
  .options_size = sizeof (Options),
  .run = run,
};
