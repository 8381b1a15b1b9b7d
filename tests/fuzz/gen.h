/* Private to the makers of random models: the state while one is made, and its verbs. Every node is
 * evaluated when it is added, so that what comes out runs. */
#pragma once

#include "core/exec/exec.h"
#include "core/ir/edit.h"

#define GEN_MAX_IN       8
#define GEN_OUTPUT_LIMIT (1 << 14) /* bytes of one value, for most */

typedef struct _Gen
{
  IrModel *model;
  IrEdit *edit;
  IrContext *context;
  IrGraph *graph; /* where nodes go: the main one, or a branch */
  GRand *rand;
  GPtrArray *pool;     /* of IrValue, those that may be read */
  GPtrArray *seen;     /* of IrValue, those that are outputs in any case */
  GHashTable *tensors; /* IrValue -> IrTensor: what it holds for the inputs of this trial */
  gint64 n;            /* the size called "n" */
  guint32 seed;
  gsize output_limit; /* bytes of one value */
  /* (nullable) Whether nodes that compute @tensor may stay; operators are then those of the opset.
   */
  gboolean (*accepts) (const IrTensor *tensor);
  gboolean smooth;
  guint free; /* symbols among the sizes of inputs: 0 none, 1 of the first axes, 2 of others too */
  gboolean containers; /* nodes may give sequences and optional values, which are not offered */
  gboolean edge;       /* sizes of inputs are 0 and 1 more often than not */
  gboolean wild;       /* an idiom is changed while it is planted */
  guint depth, n_names;
} Gen;

/* -- chance -- */
guint gen_below (Gen *gen, guint n);
gboolean gen_one_in (Gen *gen, guint n);
void gen_shuffle (Gen *gen, gint64 *list, guint n);
#define CHOOSE(GEN, LIST) ((LIST)[gen_below (GEN, G_N_ELEMENTS (LIST))])

/* -- values -- */
IrTensor *gen_held (Gen *gen, const IrValue *value);
void gen_offer (Gen *gen, IrValue *value, IrTensor *tensor);
/* An initializer or a Constant; not offered. */
IrValue *gen_tensor (Gen *gen, IrTensor *tensor);

/* -- nodes -- */
#define ATTRS(...)         ((const IrAttr *const[]){ __VA_ARGS__, NULL })
#define INT(NAME, VALUE)   ir_attr_int (gen->context, NAME, VALUE)
#define INTS(NAME, V, N)   ir_attr_ints (gen->context, NAME, V, N)
#define FLOAT(NAME, VALUE) ir_attr_float (gen->context, NAME, (float) (VALUE))

/* Adds a node and what it computes; NULL if it cannot be computed. */
IrNode *gen_emit (Gen *gen,
                  const char *op,
                  const char *domain,
                  guint n_in,
                  IrValue *const *in,
                  guint n_out,
                  const IrAttr *const *attrs);
/* One output; where it cannot be, the first input, so that chains go on. */
IrValue *gen_one (Gen *gen, const char *op, IrValue *a, IrValue *b, const IrAttr *const *attrs);

gboolean gen_infer (Gen *gen, IrNode *node);

/* -- subgraphs -- */
/* From here on, nodes go into a new one. */
IrGraph *gen_enter (Gen *gen, const char *name);
/* They go into @outer again, and no value of the one that was left can be read. */
void gen_leave (Gen *gen, IrGraph *outer);
/* A node that owns subgraphs; it is not evaluated. */
IrNode *gen_add_owner (Gen *gen,
                       const char *op,
                       guint n_in,
                       IrValue *const *in,
                       guint n_out,
                       const IrAttr *const *attrs);

/* -- for passes: pass-trial.c -- */
IrValue *gen_input (Gen *gen, IrDtype dtype, guint rank, const gint64 *dims);
/* Of numbers that rules look for, and some that they do not; shared now and then. */
IrValue *gen_constant (Gen *gen, IrDtype dtype, guint rank, const gint64 *dims);
/* A value with at least @min_rank dimensions, of @dtype if that is not UNDEFINED; the newest ones
 * most often, so that chains grow. */
IrValue *gen_pick (Gen *gen, IrDtype dtype, guint min_rank);

/* -- idioms: pass-plant.c -- */
/* Node for node, among what is there already. */
void gen_plant (Gen *gen, IrModel *idiom);
/* A model that begins as @text, with its subgraphs and functions, a little changed if @wild; NULL
 * if that does not run. */
IrModel *gen_start (const char *text, GRand *rand, gint64 n, guint32 seed, gboolean wild);
/* Offers what the main graph of a started model holds. */
void gen_offer_all (Gen *gen);
