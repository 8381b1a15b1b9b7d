/* A function run in a forked child with limits, which answers through a pipe; private. */
#pragma once

#include "core/graphviz/graphviz.h"

/* In the child: only libc and Graphviz may be used, not GLib, whose locks another thread of the
 * parent may have held when it was forked. */
typedef struct
{
  int fd;
  gsize length;
  char buffer[16384];
} IrChildPipe;

void ir_child_put (IrChildPipe *out, const void *data, gsize length);
void ir_child_put_byte (IrChildPipe *out, char byte);
void ir_child_put_number (IrChildPipe *out, guint32 number);
void ir_child_put_double (IrChildPipe *out, double number);
void ir_child_put_string (IrChildPipe *out, const char *string);

typedef void (*IrChildFunc) (IrChildPipe *out, gpointer user_data);

GBytes *ir_child_run (IrChildFunc func,
                      gpointer user_data,
                      const IrGraphvizLimits *limits,
                      GCancellable *cancellable,
                      GError **error);

/* In the parent: the answer, never read beyond its end. */
typedef struct
{
  const guint8 *next, *end;
  gboolean failed;
} IrChildAnswer;

void ir_child_answer_init (IrChildAnswer *answer, GBytes *bytes);
guint8 ir_child_get_byte (IrChildAnswer *answer); /* 0 at the end */
guint32 ir_child_get_number (IrChildAnswer *answer);
double ir_child_get_double (IrChildAnswer *answer);
char *ir_child_get_string (IrChildAnswer *answer); /* (transfer full), valid UTF-8 */
