/* Where windows lie along up to three axes: axes that are not there have size 1. */
#pragma once

#include "core/op/infer-window.h"

#define CPU_GEOMETRY_AXES 3

typedef struct
{
  gint64 in[CPU_GEOMETRY_AXES], out[CPU_GEOMETRY_AXES], kernel[CPU_GEOMETRY_AXES];
  gint64 stride[CPU_GEOMETRY_AXES], dilation[CPU_GEOMETRY_AXES], pad[CPU_GEOMETRY_AXES];
  gint64 in_plane, out_plane, taps; /* elements */
} CpuGeometry;

/* @window has at most CPU_GEOMETRY_AXES axes, of known sizes. */
static inline void
cpu_geometry_init (CpuGeometry *g, const IrWindow *window)
{
  guint missing = CPU_GEOMETRY_AXES - window->n_axes;

  g->in_plane = g->out_plane = g->taps = 1;
  for (guint i = 0; i < CPU_GEOMETRY_AXES; i++)
    {
      gboolean there = i >= missing;
      guint own = there ? i - missing : 0;

      g->in[i] = there ? window->in[own] : 1;
      g->out[i] = there ? window->out[own] : 1;
      g->kernel[i] = there ? window->kernel[own] : 1;
      g->stride[i] = there ? window->stride[own] : 1;
      g->dilation[i] = there ? window->dilation[own] : 1;
      g->pad[i] = there ? window->pad_begin[own] : 0;
      g->in_plane *= g->in[i];
      g->out_plane *= g->out[i];
      g->taps *= g->kernel[i];
    }
}
