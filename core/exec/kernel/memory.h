/* A memory beside the host's, in which the kernels of a back end read and write. Its addresses mean
 * nothing to the host. */
#pragma once

#include <glib.h>

typedef struct
{
  gpointer data; /* an address of that memory; %NULL: none */
  gsize bytes;
  guint generation; /* of the device: after an error it may be opened anew, and empty */
} IrMemoryBlock;

/* What streams wait for. */
typedef struct
{
  gpointer event; /* NULL: none was recorded */
  guint generation;
} IrMemoryEvent;

/* What streams were asked for once, to be asked for again at once. */
typedef struct
{
  gpointer graph; /* NULL: nothing */
  guint generation;
} IrMemoryGraph;

/* The device does what it is asked for in streams, each in its order. Each thread asks one of them: the first,
 * until it takes another. */
typedef struct
{
  const char *name; /* "device" */
  guint align_bytes;
  /* Fails with %IR_EXEC_ERROR_MEMORY where there is too little. */
  gboolean (*alloc) (gsize bytes, IrMemoryBlock *block, GError **error);
  void (*free) (IrMemoryBlock *block);
  /* FALSE: it was lost with the device, and need not be freed. */
  gboolean (*is_there) (const IrMemoryBlock *block);
  /* Between the host's memory and this one, in the order of the kernels. @from may be written again, and
   * @to be read, when they return. */
  gboolean (*copy_in) (gpointer to, gconstpointer from, gsize bytes, GError **error);
  gboolean (*copy_out) (gpointer to, gconstpointer from, gsize bytes, GError **error);
  /* Memory of the host that is copied to while the host goes on, where the system can pin it; it has to be let go of
   * before it is freed. */
  gboolean (*pin) (gpointer data, gsize bytes, gboolean *pinned, GError **error);
  void (*unpin) (gpointer data);
  /* Within this memory, in the order of the kernels. */
  gboolean (*copy) (gpointer to, gconstpointer from, gsize bytes, GError **error);
  /* To memory that is pinned, which may be read behind @finish. */
  gboolean (*copy_out_late) (gpointer to, gconstpointer from, gsize bytes, GError **error);
  guint late_stream;         /* that is for such copies alone */
  guint (*n_streams) (void); /* that a plan may use */
  void (*take_stream) (guint stream);
  /* Behind what the stream of this thread was asked for, and that it goes on behind that. */
  gboolean (*record) (IrMemoryEvent *event, GError **error);
  gboolean (*wait) (const IrMemoryEvent *event, GError **error);
  /* Like @record, of an event that knows when that was; and the time from one to another, behind @finish. */
  gboolean (*stamp) (IrMemoryEvent *event, GError **error);
  gboolean (*between) (const IrMemoryEvent *from,
                       const IrMemoryEvent *to,
                       gint64 *ns,
                       GError **error);
  void (*free_event) (IrMemoryEvent *event);
  /* From @graph_begin to @graph_end what this thread asks any stream for is written down and not done; all that it asks
   * for must come behind the beginning by events or the order of streams, and nothing of it may make the host wait.
   * @graph_launch asks for it, behind all that was asked for before and before all that is asked for then. */
  gboolean (*graph_begin) (GError **error);
  gboolean (*graph_end) (IrMemoryGraph *graph, GError **error);
  gboolean (*graph_launch) (const IrMemoryGraph *graph, GError **error);
  void (*graph_free) (IrMemoryGraph *graph);
  gboolean (*finish) (GError **error); /* waits for all streams */
} IrMemory;
