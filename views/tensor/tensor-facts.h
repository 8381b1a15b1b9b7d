/* What the tensor view says of a value: statistics of both sides and of their difference. Pure and
 * linear in the number of elements: made in a job. */
#pragma once

#include "core/exec/check/metrics.h"
#include "core/exec/exec.h"
#include "views/session/runs.h"

typedef enum
{
  IR_TENSORS_NOT_COMPARED, /* one is missing, or they have no numbers */
  IR_TENSORS_SHAPES_DIFFER,
  IR_TENSORS_EQUAL, /* bit for bit */
  IR_TENSORS_DIFFER,
  IR_TENSORS_NAN_DIFFERS, /* NaN or an infinity on one side only */
  IR_TENSORS_RECOMPUTED   /* the same nodes made both, so that they say nothing of each other */
} IrTensorRelation;

typedef struct
{
  IrTensor *tensors[IR_N_SIDES]; /* (nullable) dense */
  IrTensorStats stats[IR_N_SIDES];
  IrTensorPlaces places[IR_N_SIDES]; /* of tensors of numbers */
  IrTensorRelation relation;
  IrTensorStats difference;   /* of after - before; n = 0 where they are not compared */
  IrTensorMetrics metrics;    /* of after against before, where they are compared */
  guint64 n_different, worst; /* elements that differ; where most */
  double worst_difference;
  guint64 n_sampled; /* elements that it is of, of each large side; 0: all */
} IrTensorFacts;

IrTensorFacts *ir_tensor_facts_new (IrTensor *before, IrTensor *after, const IrStatsWatch *watch);
/* Of a part of the elements, in a few milliseconds; (nullable): there are not so many */
IrTensorFacts *ir_tensor_facts_new_sampled (IrTensor *before, IrTensor *after);
void ir_tensor_facts_free (IrTensorFacts *facts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (IrTensorFacts, ir_tensor_facts_free)
void ir_tensor_facts_set_recomputed (IrTensorFacts *facts);
char *ir_tensor_facts_text (const IrTensorFacts *facts, IrSide side);
char *ir_tensor_facts_warning (const IrTensorFacts *facts, IrSide side); /* (nullable) */
char *ir_tensor_facts_relation_text (const IrTensorFacts *facts);
/* What buttons lead to; the place is that of an element, or the number of elements: there is none */
typedef enum
{
  IR_TENSOR_LINK_LEAST,
  IR_TENSOR_LINK_LARGEST,
  IR_TENSOR_LINK_NAN,
  IR_TENSOR_LINK_FIRST,
  IR_TENSOR_LINK_WORST,
  IR_N_TENSOR_LINKS
} IrTensorLink;
guint64 ir_tensor_facts_place (const IrTensorFacts *facts, IrTensorLink link);
const char *ir_tensor_link_title (IrTensorLink link);
const char *ir_tensor_link_tip (IrTensorLink link);
char *ir_tensor_facts_metrics_text (const IrTensorFacts *facts);
