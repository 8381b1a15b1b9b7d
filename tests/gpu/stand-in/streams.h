/* Work that streams are asked for, and what is captured of it. Inside of the driver's stand-in alone. */
#pragma once

#include "tests/gpu/stand-in/stand-in.h"

typedef struct _Capture Capture; /* graphs.c */

typedef enum
{
  LAUNCH,
  TO_DEVICE,
  TO_HOST,
  WITHIN,
  SET,
  CALL,
  RECORD,
  WAIT
} Kind;

typedef struct
{
  Kind kind;
  Clock clock;
  guint32 epoch;
  struct CUfunc_st *function;
  IrGpuLaunch launch;
  gpointer args[IR_GPU_MAX_ARGS];
  gpointer to;
  gconstpointer from;
  gsize bytes;
  guint8 value;
  struct CUevent_st *event;
  guint64 recorded; /* RECORD, WAIT: which record of the event */
  const char *name; /* CALL */
  void (*call) (gpointer data);
  gpointer data;
  gsize data_bytes;
  StandInTouch touches[MAX_TOUCHES];
  guint n_touches;
} Op;

struct CUstream_st
{
  guint agent;
  guint32 epoch;
  Clock clock;
  GQueue ops;
  Capture *capture; /* (nullable) that writes down what it is asked for */
  Clock written;    /* of each agent: the how many-th of the capture its last work known here is */
};

struct CUevent_st
{
  Clock clock;
  guint64 asked, done; /* records */
  unsigned int flags;
  guint64 at;       /* of the last record that was done: pieces of work before it */
  Capture *capture; /* (nullable) in which it was recorded last */
  Clock written;
};

/* -- streams.c -- */
void clock_join (Clock *clock, const Clock *other);
gboolean is_stream (const struct CUstream_st *stream);
gboolean is_event (const struct CUevent_st *event);
struct CUstream_st *stream_new (void); /* (transfer none) (nullable) */
struct CUevent_st *event_new (unsigned int flags);
/* What is done, or written down: it is right so far. */
unsigned int stream_ask (struct CUstream_st *stream, const Op *what);
unsigned int stream_record (struct CUstream_st *stream, struct CUevent_st *event);
unsigned int stream_wait (struct CUstream_st *stream, struct CUevent_st *event);

/* -- graphs.c -- */
unsigned int capture_ask (struct CUstream_st *stream, const Op *what);
unsigned int capture_record (struct CUstream_st *stream, struct CUevent_st *event);
/* Whether a wait is one of a capture, which this stream may become part of; @result: of it. */
gboolean capture_wait (struct CUstream_st *stream, struct CUevent_st *event, unsigned int *result);
unsigned int capture_break (Capture *capture, unsigned int result, const char *what);
