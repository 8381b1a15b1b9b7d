/* Long jobs of the session: what a request takes along and how it ends, but for what is its own. */
#pragma once

#include "views/session/frame-private.h"
#include "views/session/inputs-private.h"
#include "views/session/timeline-private.h"

typedef struct _IrRequest IrRequest;

/* A kind of job. Functions get the request, which begins with an #IrRequest. */
typedef struct
{
  IrJobFunc run;
  void (*done) (IrSession *self, gpointer result, gpointer request); /* (transfer full) @result */
  const char *failure; /* the title of "failed"; or what says it */
  void (*failed) (IrSession *self, const GError *error, gpointer request);
  GDestroyNotify clear;       /* (nullable) of what the request has beyond an #IrRequest */
  GDestroyNotify result_free; /* (nullable) */
  gboolean runs;              /* the graph, on command: sizes that are open are shown before */
  void (*fed) (IrSession *self, gpointer request); /* (nullable): starts now, with this feed */
} IrWork;

struct _IrRequest
{
  const IrWork *work;
  IrTimeline *timeline; /* (nullable): nothing was open */
  IrFrame *frame;       /* (nullable) */
  IrFeed feed;
  IrJob *job; /* (transfer none) while it runs */
};

/* Of @size bytes, with what is on screen now. */
gpointer ir_session_new_request (IrSession *self, const IrWork *work, gsize size);
void ir_request_free (gpointer request);
/* Takes @request. Its done function begins when the long job has ended. It is held while sizes are
 * shown, fed again then, or fails as what is cancelled does. */
void ir_session_start (IrSession *self, const char *text, gpointer request);
/* For a job that runs beside the long one: the kind's done function is not called. */
IrJob *ir_session_start_beside (IrSession *self, gpointer request, IrJobDone done);
void ir_session_forget_seen (IrSession *self); /* sizes: they are those of another graph */
gboolean ir_request_is_current (gpointer request,
                                IrSession *self); /* the timeline is still there */
