/* One program with control flow in several ways to run it, each held against the tree walker. */
#pragma once

#include "core/exec/exec.h"

#define FLOW_PASSES    6 /* behind each other in a way that has any */
#define FLOW_MAX_FORMS 24
#define FLOW_PLACES    6 /* on ref, on ref behind passes, on cpu; on one thread or two */

/* How a program is run: in which form, behind which passes, where. */
typedef struct
{
  guint form;        /* flow_form_name() */
  GPtrArray *passes; /* (owned) of const IrPass; empty: none */
  guint n_threads;
  gboolean on_cpu; /* held against cpu's own run of the program as it is */
  guint32 seed;    /* of what the form draws */
} FlowWay;

void flow_way_clear (FlowWay *way);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (FlowWay, flow_way_clear)
char *flow_way_to_string (const FlowWay *way);

typedef struct
{
  IrModel *model;       /* (owned) as it is written */
  GHashTable *contents; /* (owned) name -> IrTensor, of inputs */
  guint64 seed;
  GPtrArray *expected;         /* (owned) (nullable) of IrTensor: what the tree walker gives */
  IrModel *lowered, *closures; /* (owned) (nullable) once a way has wanted them */
} FlowTrial;

typedef struct
{
  guint runs[FLOW_MAX_FORMS][FLOW_PLACES];
  guint n_behind; /* behind passes */
  guint n_threads, n_cpu;
  guint n_left;    /* programs of which something could not be lowered */
  guint n_divided; /* loops written out in part */
  guint n_broken, n_ran;
} FlowCounts;

guint flow_n_forms (void);
const char *flow_form_name (guint form);

/* @contents: (nullable): by name; drawn by @seed if not given. */
void flow_trial_init (FlowTrial *trial, const IrModel *model, GHashTable *contents, guint64 seed);
void flow_trial_clear (FlowTrial *trial);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (FlowTrial, flow_trial_clear)

/* Draws way @index of the program by its seed. */
void flow_way_draw (FlowWay *way, guint64 seed, guint index);
/* (nullable) (transfer full): NULL, or what is wrong. @way: (nullable): the tree walker alone */
char *flow_trial_check (FlowTrial *trial, const FlowWay *way, FlowCounts *counts);
/* The same of graphs of tokens, and of closures, of which some edges are moved: that they end is what is tried. */
char *flow_trial_check_broken (FlowTrial *trial, guint n, FlowCounts *counts);
