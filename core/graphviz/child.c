#include "config.h"

#include "core/graphviz/child.h"

#include "core/io/io.h"
#include "core/io/sanitizer.h"

#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_MEMORY_BYTES ((gsize) 512 * 1024 * 1024)
#define DEFAULT_SECONDS      10
#define DEFAULT_OUTPUT_BYTES ((gsize) 64 * 1024 * 1024)
#define POLL_MS              50

/* -- in the child -- */

static void
flush (IrChildPipe *out)
{
  for (gsize done = 0; done < out->length;)
    {
      ssize_t n = write (out->fd, out->buffer + done, out->length - done);

      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        _exit (2);
      done += (gsize) n;
    }
  out->length = 0;
}

/* Sends bytes to the parent. Ends the child if the parent does not listen. @data: bytes. */
void
ir_child_put (IrChildPipe *out, const void *data, gsize length)
{
  const char *from = data;

  while (length > 0)
    {
      gsize room = sizeof out->buffer - out->length, n = length < room ? length : room;

      memcpy (out->buffer + out->length, from, n);
      out->length += n;
      from += n;
      length -= n;
      if (out->length == sizeof out->buffer)
        flush (out);
    }
}

/* Sends one byte: the mark of a record */
void
ir_child_put_byte (IrChildPipe *out, char byte)
{
  ir_child_put (out, &byte, 1);
}

/* Sends a 32-bit number, in the byte order of the machine */
void
ir_child_put_number (IrChildPipe *out, guint32 number)
{
  ir_child_put (out, &number, sizeof number);
}

/* Sends a number, in the byte order of the machine */
void
ir_child_put_double (IrChildPipe *out, double number)
{
  ir_child_put (out, &number, sizeof number);
}

/* Sends a string: its length, then its bytes. @string: a string; none is sent as "". */
void
ir_child_put_string (IrChildPipe *out, const char *string)
{
  gsize length = string != NULL ? strlen (string) : 0;

  ir_child_put_number (out, (guint32) length);
  ir_child_put (out, string, length);
}

/* Address space that the process has now, from /proc/self/statm, in bytes. */
static gsize
address_space (void)
{
  char text[128] = "";
  int fd = open ("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  gsize pages = 0;

  if (fd < 0)
    return 0;
  if (read (fd, text, sizeof text - 1) > 0)
    for (const char *p = text; *p >= '0' && *p <= '9'; p++)
      pages = pages * 10 + (gsize) (*p - '0');
  close (fd);
  return pages * (gsize) sysconf (_SC_PAGESIZE);
}

static void
set_limit (int resource, rlim_t value)
{
  struct rlimit limit;

  if (getrlimit ((__rlimit_resource_t) resource, &limit) != 0)
    return;
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < value)
    value = limit.rlim_max;
  limit.rlim_cur = limit.rlim_max = value;
  setrlimit ((__rlimit_resource_t) resource, &limit);
}

static void
run_child (int fd, IrChildFunc func, gpointer user_data, const IrGraphvizLimits *limits)
{
  static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGTERM, SIGINT, SIGXCPU };
  IrChildPipe out = { .fd = fd };
  int null = open ("/dev/null", O_RDWR);
  sigset_t none; /* threads block what comes from outside */

  for (gsize i = 0; i < G_N_ELEMENTS (signals); i++)
    signal (signals[i], SIG_DFL);
  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
  if (null >= 0)
    {
      dup2 (null, STDIN_FILENO);
      dup2 (null, STDOUT_FILENO);
      dup2 (null, STDERR_FILENO);
    }
  set_limit (RLIMIT_CORE, 0);
  set_limit (RLIMIT_CPU, limits->max_seconds);
  /* cgraph keeps its complaints in a temporary file. */
  signal (SIGXFSZ, SIG_IGN);
  set_limit (RLIMIT_FSIZE, 1024 * 1024);
  if (!HAVE_SANITIZER) /* which reserve terabytes */
    set_limit (RLIMIT_AS, address_space () + limits->max_memory_bytes);
  func (&out, user_data);
  flush (&out);
  _exit (0);
}

/* -- in the parent -- */

static gboolean
read_answer (int fd,
             const IrGraphvizLimits *limits,
             GCancellable *cancellable,
             GByteArray *answer,
             GError **error)
{
  gint64 deadline = g_get_monotonic_time () + (gint64) limits->max_seconds * 2 * G_USEC_PER_SEC;
  guint8 buffer[65536];

  for (;;)
    {
      struct pollfd poll_fd = { fd, POLLIN, 0 };
      int ready = poll (&poll_fd, 1, POLL_MS);
      ssize_t n;

      if (g_cancellable_set_error_if_cancelled (cancellable, error))
        return FALSE;
      if (g_get_monotonic_time () > deadline)
        {
          g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_LIMIT,
                       "Graphviz needs more than %u seconds for this graph.", limits->max_seconds);
          return FALSE;
        }
      if (ready <= 0)
        continue;
      n = read (fd, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return TRUE;
      g_byte_array_append (answer, buffer, (guint) n);
      if (answer->len > limits->max_output_bytes)
        {
          g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_LIMIT,
                       "The graph becomes larger than %" G_GSIZE_FORMAT " bytes.",
                       limits->max_output_bytes);
          return FALSE;
        }
    }
}

static gboolean
check_end (int status, const IrGraphvizLimits *limits, GError **error)
{
  if (WIFEXITED (status) && WEXITSTATUS (status) == 0)
    return TRUE;
  if (WIFSIGNALED (status) && (WTERMSIG (status) == SIGXCPU || WTERMSIG (status) == SIGKILL))
    g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_LIMIT,
                 "Graphviz needs more than %u seconds for this graph.", limits->max_seconds);
  else
    g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_LIMIT,
                 "Graphviz gave up on this graph (it may take %" G_GSIZE_FORMAT " MiB of memory).",
                 limits->max_memory_bytes / (1024 * 1024));
  return FALSE;
}

static IrGraphvizLimits
with_defaults (const IrGraphvizLimits *limits)
{
  IrGraphvizLimits result = limits != NULL ? *limits : (IrGraphvizLimits){ 0, 0, 0 };

  if (result.max_memory_bytes == 0)
    result.max_memory_bytes = DEFAULT_MEMORY_BYTES;
  if (result.max_seconds == 0)
    result.max_seconds = DEFAULT_SECONDS;
  if (result.max_output_bytes == 0)
    result.max_output_bytes = DEFAULT_OUTPUT_BYTES;
  return result;
}

/* Fails with %IR_IO_ERROR_LIMIT if the child crosses a limit or crashes. Returns what the child
 * has put. @func: run in a child process; must not use GLib. */
GBytes *
ir_child_run (IrChildFunc func,
              gpointer user_data,
              const IrGraphvizLimits *limits,
              GCancellable *cancellable,
              GError **error)
{
  IrGraphvizLimits bounds = with_defaults (limits);
  g_autoptr (GByteArray) answer = g_byte_array_new ();
  int pipe_fds[2], status = 0;
  gboolean ok;
  pid_t pid;

  if (!g_unix_open_pipe (pipe_fds, FD_CLOEXEC, error))
    return NULL;
  pid = fork ();
  if (pid == 0)
    run_child (pipe_fds[1], func, user_data, &bounds);
  close (pipe_fds[1]);
  if (pid < 0)
    {
      close (pipe_fds[0]);
      g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_OPEN, "No child process (%s).",
                   g_strerror (errno));
      return NULL;
    }
  ok = read_answer (pipe_fds[0], &bounds, cancellable, answer, error);
  close (pipe_fds[0]);
  if (!ok)
    kill (pid, SIGKILL);
  while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
    ;
  if (!ok || !check_end (status, &bounds, error))
    return NULL;
  return g_byte_array_free_to_bytes (g_steal_pointer (&answer));
}

/* Starts reading the answer of a child. @bytes: what ir_child_run() gave; must outlive @answer. */
void
ir_child_answer_init (IrChildAnswer *answer, GBytes *bytes)
{
  gsize length;

  answer->next = g_bytes_get_data (bytes, &length);
  /* The data of empty bytes is NULL, to which C allows no addition, not even of 0. */
  answer->end = length > 0 ? answer->next + length : answer->next;
  answer->failed = FALSE;
}

static gboolean
take (IrChildAnswer *answer, void *data, gsize length)
{
  if (answer->failed || (gsize) (answer->end - answer->next) < length)
    {
      answer->failed = TRUE;
      memset (data, 0, length);
      return FALSE;
    }
  memcpy (data, answer->next, length);
  answer->next += length;
  return TRUE;
}

/* The next byte; 0 at the end */
guint8
ir_child_get_byte (IrChildAnswer *answer)
{
  guint8 byte = 0;

  if (answer->next < answer->end)
    take (answer, &byte, 1);
  return byte;
}

/* The next 32-bit number; 0 and a mark of failure where there is none */
guint32
ir_child_get_number (IrChildAnswer *answer)
{
  guint32 number;

  take (answer, &number, sizeof number);
  return number;
}

/* The next number; 0 and a mark of failure where there is none */
double
ir_child_get_double (IrChildAnswer *answer)
{
  double number;

  take (answer, &number, sizeof number);
  return number;
}

/* The next string, made valid UTF-8; "" and a mark of failure where there is none. */
char *
ir_child_get_string (IrChildAnswer *answer)
{
  guint32 length = ir_child_get_number (answer);
  char *text;

  if (answer->failed || (gsize) (answer->end - answer->next) < length)
    {
      answer->failed = TRUE;
      return g_strdup ("");
    }
  text = g_utf8_make_valid ((const char *) answer->next, length);
  answer->next += length;
  return text;
}
