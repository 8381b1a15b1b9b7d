/* A line per step, as CSV: what curves are drawn from. */
#include "config.h"

#include "app/cli/train-log.h"

#include "passes/training/curves.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>

struct _CliTrainLog
{
  char *path;
  GOutputStream *stream;
  GError *error; /* (nullable) the first that was met */
};

static void
put (CliTrainLog *log, const char *text)
{
  if (log->error == NULL)
    g_output_stream_write_all (log->stream, text, strlen (text), NULL, NULL, &log->error);
}

/* @parameters: (transfer full): behind the columns of all together */
static void
put_line (CliTrainLog *log, const char *text, char *parameters)
{
  put (log, text);
  put (log, parameters);
  put (log, "\n");
  g_free (parameters);
}

CliTrainLog *
cli_train_log_open (const char *path, gboolean append, const GPtrArray *parameters, GError **error)
{
  g_autoptr (GFile) file = g_file_new_for_path (path);
  gboolean there = append && g_file_test (path, G_FILE_TEST_EXISTS);
  g_autoptr (GFileOutputStream)
      stream = append ? g_file_append_to (file, G_FILE_CREATE_NONE, NULL, error)
                      : g_file_replace (file, NULL, FALSE, G_FILE_CREATE_NONE, NULL, error);

  if (stream == NULL)
    {
      g_prefix_error (error, "--log %s: ", path);
      return NULL;
    }
  CliTrainLog *log = g_new0 (CliTrainLog, 1);
  log->path = g_strdup (path);
  log->stream = g_buffered_output_stream_new (G_OUTPUT_STREAM (stream));
  if (!there)
    put_line (log, ir_training_csv_head (), ir_parameter_courses_csv_head (parameters));
  return log;
}

/* @check: (nullable): of what is held out, after this step */
void
cli_train_log_step (CliTrainLog *log,
                    const IrTrainerResult *step,
                    const IrTrainerResult *check,
                    const GPtrArray *parameters)
{
  const IrTrainingPoint point = ir_training_point (step, check);
  g_autofree char *line = ir_training_point_to_csv (&point);

  if (log == NULL)
    return;
  put_line (log, line, ir_parameter_courses_csv (parameters));
  if (check != NULL && log->error == NULL)
    g_output_stream_flush (log->stream, NULL, &log->error);
}

gboolean
cli_train_log_close (CliTrainLog *log, GError **error)
{
  gboolean good;

  if (log == NULL)
    return TRUE;
  if (log->error == NULL)
    g_output_stream_close (log->stream, NULL, &log->error);
  good = log->error == NULL;
  if (!good)
    g_propagate_prefixed_error (error, g_steal_pointer (&log->error), "--log %s: ", log->path);
  g_object_unref (log->stream);
  g_free (log->path);
  g_free (log);
  return good;
}
