/* What the fuzzer of whole graphs has tried: how many graphs of each family, by which ways and
 * pairs of ways, behind which pipelines. Files of counts add up. */
#pragma once

#include "tests/fuzz/graph-trial.h"

#define GRAPH_MAX_FAMILIES 32

/* Plain data, as children share it. */
typedef struct
{
  guint64 graphs, findings, nodes;
  guint64 close, disturbed, sensitive; /* outputs, by how they were judged */
  guint64 family[GRAPH_MAX_FAMILIES];
  guint64 way[MAX_WAYS], pair[MAX_WAYS][MAX_WAYS];
  guint64 pipeline[GRAPH_N_PIPELINES];
} GraphCounts;

void graph_counts_count (GraphCounts *counts,
                         const GraphTrial *trial,
                         const GraphJudgement *judgement);
void graph_counts_add (GraphCounts *counts, const GraphCounts *more);
char *graph_counts_to_text (const GraphCounts *counts);

/* Adds @counts to those of the file, and says which seed comes after those that were tried. */
gboolean graph_counts_save (const GraphCounts *counts,
                            guint64 next_seed,
                            const char *path,
                            GError **error);
/* The seed that is next; @otherwise where there is no such file. */
guint64 graph_counts_next_seed (const char *path, guint64 otherwise);
