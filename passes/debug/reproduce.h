/* A reproducer: the smallest part of a graph on which a pass, run alone, still makes the failure
 * that a bisection found, with the contents of its inputs. */
#pragma once

#include "passes/debug/bisect.h"
#include "passes/pipeline/pipeline.h"

typedef struct
{
  const IrPass *pass;        /* run alone */
  IrClass max_class;         /* as in the pipeline whose history was bisected */
  const IrBackend *backend;  /* (nullable): reference kernels */
  guint n_threads;           /* 0: number of cores */
  GCancellable *cancellable; /* (nullable) */
} IrReproduceOptions;

typedef struct
{
  IrModel *model;        /* (owned) the part; its history is the pass run on it */
  GHashTable *inputs;    /* (owned) value id of @model -> IrTensor */
  char *predicate;       /* (owned) what fails on it */
  gboolean is_whole;     /* nothing smaller fails: @model is the whole graph before the step */
  guint n_whole, n_part; /* nodes of that graph, and of the part, counted */
  guint tries;           /* parts on which the pass was run */
  guint step;            /* the step of @model that fails */
  double value;          /* measured after it */
} IrReproducer;

/* @found: of ir_bisect() and ir_bisect_find_divergence() on @trial. @predicate: its text. */
gboolean ir_reproduce (IrTrial *trial,
                       const IrBisection *found,
                       const char *predicate,
                       const IrReproduceOptions *options,
                       IrReproducer *result,
                       GError **error);
/* Runs the pass on @model, as it was opened, and bisects: whether the predicate finds a step. */
gboolean ir_reproduce_check (IrModel *model,
                             GHashTable *inputs,
                             const char *predicate,
                             const IrReproduceOptions *options,
                             IrBisection *found,
                             GError **error);
void ir_reproducer_clear (IrReproducer *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (IrReproducer, ir_reproducer_clear)
