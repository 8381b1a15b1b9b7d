/* One trial of the fuzzer of whole graphs: a graph, a pipeline and three ways to run it that must
 * agree with each other and with the reference kernels, node by node. */
#pragma once

#include "passes/pipeline/pipeline.h"
#include "tests/fuzz/graph-gen.h"
#include "tests/fuzz/graph-ways.h"

#define GRAPH_WAYS 3

/* Where the pipeline that a trial draws comes from. */
typedef enum
{
  GRAPH_PIPELINE_BASIC,
  GRAPH_PIPELINE_DEFAULT,
  GRAPH_PIPELINE_CANONICAL,
  GRAPH_PIPELINE_RANDOM, /* some of the passes, in any order */
  GRAPH_PIPELINE_ONE,    /* one pass */
  GRAPH_N_PIPELINES
} GraphPipeline;
const char *graph_pipeline_name (GraphPipeline pipeline);

typedef struct
{
  guint32 seed;
  Graph graph;
  const Way *ways[GRAPH_WAYS];
  GraphPipeline pipeline;
  GPtrArray *passes; /* of const IrPass */
  guint max_iterations;
  IrClass max_class;
} GraphTrial;

void graph_trial_init (GraphTrial *trial, guint32 seed, const GraphFamily *family);
void graph_trial_clear (GraphTrial *trial);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (GraphTrial, graph_trial_clear)

/* How the outputs were judged. */
typedef struct
{
  guint n_close;      /* by the least bound */
  guint n_disturbed;  /* by what disturbing the graph does to them */
  guint n_sensitive;  /* not: they depend on rounding too much */
  gboolean optimized; /* the pipeline ran */
} GraphJudgement;

/* NULL, or what is wrong: a word for the kind, the way, a colon, and the rest. */
char *graph_trial_check (const GraphTrial *trial, GraphJudgement *judgement);
/* Puts @model, and what it gives node by node, into @trial. FALSE if that cannot be had. */
gboolean graph_trial_replace (GraphTrial *trial, IrModel *model);
/* A run that keeps every value; (nullable) */
IrRun *graph_trial_captured (const GraphTrial *trial);
