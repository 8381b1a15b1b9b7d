/* Jobs: work that takes longer than a frame (about 4 ms) runs in a thread, says how far it is and
 * can be cancelled. A job works on what it owns alone or on frozen snapshots; its result comes back
 * to the main thread as a value. Everything but ir_job_report() is for the main thread. */
#pragma once

#include <gio/gio.h>

typedef struct _IrJob IrJob;

/* Runs in the thread. Returns its result, or NULL with @error set. */
typedef gpointer (*IrJobFunc) (IrJob *job,
                               gpointer data,
                               GCancellable *cancellable,
                               GError **error);
/* Runs in the main thread, exactly once, unless @owner is gone. @result: (transfer full)
 * (nullable);
 * @error: (nullable), G_IO_ERROR_CANCELLED after ir_job_cancel(); then the thread may still use
 * @data. */
typedef void (*IrJobDone) (gpointer owner, gpointer result, const GError *error, gpointer data);
/* Runs in the main thread, at most every 50 ms. @fraction in 0..1, or < 0 when unknown. */
typedef void (*IrJobProgress) (gpointer owner, double fraction, const char *text);

typedef struct
{
  IrJobFunc run;
  gpointer data;
  GDestroyNotify data_free;   /* (nullable) */
  GDestroyNotify result_free; /* (nullable) for results that nobody takes any more */
  IrJobDone done;
  IrJobProgress progress; /* (nullable) */
  IrJob *before;          /* (nullable) one that was left: this one begins at its end, and says so */
} IrJobSpec;

IrJob *ir_job_start (gpointer owner, const IrJobSpec *spec);
IrJob *ir_job_ref (IrJob *job);
void ir_job_unref (IrJob *job);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrJob, ir_job_unref)
void ir_job_cancel (IrJob *job);
gboolean ir_job_is_cancelled (IrJob *job);
gboolean ir_job_is_left (IrJob *job);
void ir_job_report (IrJob *job, double fraction, const char *text); /* any thread */
/* Frees what is big in a thread: unmapping gigabytes takes longer than a frame. */
void ir_job_free_later (gpointer data, GDestroyNotify free_func); /* data nullable */
