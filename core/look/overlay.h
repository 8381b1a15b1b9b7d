#pragma once

/* Overlays: a number per node that colours the graph. Each is a row of data, so that what draws
 * knows nothing of what it shows. */

#include "core/exec/check/check.h"
#include "core/exec/run/run.h"
#include "core/ir/history.h"
#include "core/layout/scene.h"

G_BEGIN_DECLS

typedef struct _IrNumbers IrNumbers;

/* What came back to a node of a derivation, in percent but for the norm; NAN: not known. */
typedef struct
{
  double norm, zeros, not_finite, dead;
  double ratio; /* no percentage: of the derivative by what it reads to that, the largest */
} IrNodeGradient;

/* What a training run did to the parameters that a node reads. */
typedef struct
{
  double ratio;          /* norm of the last change by their own, the largest; NAN: not known */
  IrSceneThumb *history; /* (owned) the same over the steps */
} IrNodeUpdate;

/* What is known of the nodes from elsewhere; rows say what they need. Immutable once it is shared. */
typedef struct
{
  gatomicrefcount refs;
  GHashTable *time_ns;   /* (nullable) node id -> gint64 *, of a run */
  GHashTable *devices;   /* (nullable) node id -> interned name, where a run put it */
  GHashTable *copies;    /* (nullable) value id -> interned text: to which memory a run copied it */
  GHashTable *thumbs;    /* (nullable) node id -> IrSceneThumb *: what it made, of a run */
  GHashTable *zeros;     /* (nullable) node id -> double *: part of its elements, of a run */
  GHashTable *errors;    /* (nullable) node id -> double *: part of what is allowed, of a check */
  GHashTable *gradients; /* (nullable) node id -> IrNodeGradient *, of a derivation */
  GHashTable *updates;   /* (nullable) node id -> IrNodeUpdate *, of a training run */
  guint step;            /* at which the graph is drawn */
  GArray *touched;    /* (nullable) of guint, by node id: the step that touched it last, 0 none */
  GArray *verdicts;   /* (nullable) of IrVerdict, by step - 1 */
  IrNumbers *numbers; /* (nullable) of a file */
} IrOverlayFacts;

typedef enum
{
  IR_OVERLAY_AMOUNT, /* adds up over the nodes of a group */
  IR_OVERLAY_MOST,   /* of a group the largest counts */
  IR_OVERLAY_CLASS,  /* names, not sizes */
  IR_OVERLAY_PICTURE /* no colour: a picture in each box */
} IrOverlayKind;

typedef enum
{
  IR_OVERLAY_NEEDS_RUN = 1 << 0,
  IR_OVERLAY_NEEDS_VALUES = 1 << 1, /* a run that keeps them */
  IR_OVERLAY_NEEDS_CHECK = 1 << 2,  /* an execution check */
  IR_OVERLAY_NEEDS_FILE = 1 << 3,
  IR_OVERLAY_NEEDS_GRADIENTS = 1 << 4, /* a derivation */
  IR_OVERLAY_NEEDS_CONTENTS = 1 << 5,  /* a run that keeps them all, not their statistics */
  IR_OVERLAY_NEEDS_VERDICTS = 1 << 6,  /* proofs of the steps */
  IR_OVERLAY_NEEDS_TRAINING = 1 << 7,
} IrOverlayNeeds;

typedef struct
{
  const char *id, *title;
  const char *unit; /* "s", "B", "FLOP", "" */
  const char *doc;
  const char *lacks; /* what to do where nothing is known */
  IrOverlayKind kind;
  IrOverlayNeeds needs;
  double (*value) (const IrOverlayFacts *facts, const IrNode *node);     /* NAN: nothing to say */
  const char *(*name) (const IrOverlayFacts *facts, const IrNode *node); /* of a class */
  IrSceneThumb *(*thumb) (const IrOverlayFacts *facts,
                          const IrNode *node);                             /* (nullable) it gives */
  const char *(*line) (const IrOverlayFacts *facts, const IrValue *value); /* (nullable) of lines */
} IrOverlay;

const IrOverlay *ir_overlays (guint *n);
const IrOverlay *ir_overlay_find (const char *id);
char *ir_overlay_ids (void);

/* -- small pictures (thumbs.c) -- */
IrSceneThumb *ir_thumb_of_tensor (const IrTensor *tensor);

/* -- what is known from elsewhere (facts.c) -- */
IrOverlayFacts *ir_overlay_facts_new (void);
IrOverlayFacts *ir_overlay_facts_ref (IrOverlayFacts *facts);
void ir_overlay_facts_unref (IrOverlayFacts *facts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrOverlayFacts, ir_overlay_facts_unref)
void ir_overlay_facts_add_run (IrOverlayFacts *facts, const IrRun *run);
void ir_overlay_facts_add_zeros (IrOverlayFacts *facts, const IrRun *run);
void ir_overlay_facts_add_thumbs (IrOverlayFacts *facts,
                                  const IrRun *run,
                                  GCancellable *cancellable);
GHashTable *ir_overlay_errors (const IrExecutionCheck *check);
void ir_overlay_facts_add_errors (IrOverlayFacts *facts, GHashTable *errors);
void ir_overlay_facts_add_gradients (IrOverlayFacts *facts, GHashTable *gradients);
void ir_overlay_facts_add_updates (IrOverlayFacts *facts, GHashTable *updates);
void ir_node_update_free (IrNodeUpdate *update);
void ir_overlay_facts_add_history (IrOverlayFacts *facts, IrModel *history, guint step);
void ir_overlay_facts_add_numbers (IrOverlayFacts *facts, IrNumbers *numbers);

/* -- a file of numbers (numbers.c) -- */
#define IR_NUMBERS_ERROR (ir_numbers_error_quark ())

typedef enum
{
  IR_NUMBERS_ERROR_SYNTAX, /* no JSON, or no object of numbers */
  IR_NUMBERS_ERROR_EMPTY,  /* none of its names is a node of the model */
} IrNumbersError;

GQuark ir_numbers_error_quark (void);
IrNumbers *ir_numbers_load (const char *path, GError **error);
IrNumbers *ir_numbers_parse (const char *text, gssize length, const char *name, GError **error);
IrNumbers *ir_numbers_ref (IrNumbers *numbers);
void ir_numbers_unref (IrNumbers *numbers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrNumbers, ir_numbers_unref)
gboolean ir_numbers_check (const IrNumbers *numbers,
                           const IrModel *model,
                           char **note,
                           GError **error);
double ir_numbers_of (const IrNumbers *numbers, const IrNode *node);
const char *ir_numbers_title (const IrNumbers *numbers);
const char *ir_numbers_unit (const IrNumbers *numbers);
const char *ir_numbers_path (const IrNumbers *numbers);

G_END_DECLS
