/* irscope conformance: the ONNX backend tests of a folder. Each case runs in a child process with a
 * limit on time and memory, so that none can take the rest down. One that has opened a device runs the next
 * case as well, as long as it lives: opening takes longer than most cases. */
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
#include <sys/socket.h>
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

/* A child; @pid 0: there is none. */
typedef struct
{
  pid_t pid;
  int fd; /* a socket: indices of cases go to it, answers that end with NUL come from it */
} Worker;

typedef struct
{
  const Cli *cli;
  const Options *options;
  const IrBackend *backends[2];
  gboolean stand_in; /* of a device */
  guint n_backends;
  GPtrArray *cases;
  Worker worker;
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

static gboolean
has_device (const Suite *suite)
{
  return suite->backends[0]->memory != NULL;
}

/* Devices map more memory into a process than it uses, and the process lives for many cases. */
static void
set_limits (const Suite *suite)
{
  limit (RLIMIT_CORE, 0);
  if (has_device (suite))
    return;
  limit (RLIMIT_CPU, (guint64) suite->options->seconds + 1);
#ifndef __SANITIZE_ADDRESS__ /* its shadow memory is larger than any limit */
  limit (RLIMIT_AS, (guint64) suite->options->mib << 20);
#endif
}

/* (transfer full) A line with status and numbers of nodes, then the reason. */
static char *
run_by_backends (const Suite *suite, const Case *test)
{
  IrCaseStatus status = IR_CASE_PASSED;
  char *text = NULL;
  IrCaseNodes nodes = { 0 };

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
  return text;
}

static void
run_child (const Suite *suite, int fd)
{
  guint32 index;

  set_limits (suite);
  if (has_device (suite))
    ir_backend_require (suite->options->device, NULL);
  while (read (fd, &index, sizeof index) == sizeof index)
    {
      g_autofree char *text = run_by_backends (suite, suite->cases->pdata[index]);
      gsize done = 0, bytes = strlen (text) + 1;
      while (done < bytes)
        {
          gssize n = send (fd, text + done, bytes - done, MSG_NOSIGNAL);
          if (n < 0 && errno != EINTR)
            _exit (1);
          done += n > 0 ? (gsize) n : 0;
        }
    }
  _exit (0);
}

/* -- the parent -- */

typedef enum
{
  CHILD_ANSWERED,
  CHILD_ENDED,
  CHILD_TIMED_OUT,
  CHILD_CANCELLED
} ChildEnd;

/* Reads until the answer is whole, or the child closes its end. */
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
      if (n > 0 && buffer[n - 1] == '\0')
        return CHILD_ANSWERED;
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
  else if (end == CHILD_ANSWERED)
    read_result (test, answer->str);
  else if (WIFSIGNALED (status))
    test->reason = g_strdup_printf ("ended by signal %d (%s)", WTERMSIG (status),
                                    g_strsignal (WTERMSIG (status)));
  else
    test->reason = g_strdup (answer->len == 0 ? "ended without an answer"
                                              : "ended with half an answer");
}

static gboolean
begin_worker (Suite *suite, GError **error)
{
  int fds[2] = { -1, -1 };
  pid_t child = socketpair (AF_UNIX, SOCK_STREAM, 0, fds) == 0 ? fork () : -1;

  if (child == 0)
    {
      close (fds[0]);
      run_child (suite, fds[1]);
    }
  if (child < 0)
    g_set_error (error, G_IO_ERROR, g_io_error_from_errno (errno), "no process: %s",
                 g_strerror (errno));
  if (fds[1] >= 0)
    close (fds[1]);
  if (child < 0 && fds[0] >= 0)
    close (fds[0]);
  suite->worker = (Worker){ MAX (child, 0), fds[0] };
  return child > 0;
}

/* Returns: how it ended, as waitpid() says it */
static int
end_worker (Suite *suite, gboolean by_force)
{
  Worker *worker = &suite->worker;
  int status = 0;

  if (worker->pid == 0)
    return 0;
  if (by_force)
    kill (worker->pid, SIGKILL);
  close (worker->fd);
  while (waitpid (worker->pid, &status, 0) < 0 && errno == EINTR)
    ;
  worker->pid = 0;
  return status;
}

/* @status: (out): of a child that has ended */
static ChildEnd
ask_worker (Suite *suite, guint32 index, GString *answer, int *status)
{
  ChildEnd end = CHILD_ENDED;

  g_string_truncate (answer, 0);
  if (send (suite->worker.fd, &index, sizeof index, MSG_NOSIGNAL) == sizeof index)
    end = read_answer (suite, suite->worker.fd, answer);
  if (end != CHILD_ANSWERED || !has_device (suite))
    *status = end_worker (suite, end == CHILD_TIMED_OUT || end == CHILD_CANCELLED);
  return end;
}

static gboolean
run_case (Suite *suite, guint index, GError **error)
{
  g_autoptr (GString) answer = g_string_new (NULL);
  Case *test = suite->cases->pdata[index];
  ChildEnd end = CHILD_ENDED;
  int status = 0;

  if (suite->worker.pid != 0)
    end = ask_worker (suite, index, answer, &status);
  if (end == CHILD_ENDED) /* or what other cases have left in the child was its end */
    {
      if (!begin_worker (suite, error))
        {
          g_prefix_error (error, "%s: ", test->name);
          return FALSE;
        }
      end = ask_worker (suite, index, answer, &status);
    }
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
      if (!run_case (suite, i, &error))
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
  status = run_suite (&suite, cli->args[0]);
  end_worker (&suite, FALSE);
  return status;
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
