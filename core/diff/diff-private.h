/* What the files diff*.c share: the pairing that they work out, and the comparison of pairs. */
#pragma once

#include "core/diff/diff.h"
#include "core/ir/origin.h"

/* Twins by id, 0 = none. Index is the id on the own side. */
typedef struct
{
  const IrModel *a, *b;
  IrOrigins *origins;             /* (nullable) what b says that it was made of */
  guint32 *node_of_a, *node_of_b; /* b's id by a's, a's by b's */
  guint32 *value_of_a, *value_of_b;
  guint8 *how_of_a, *how_of_b; /* IrPaired of nodes */
  IrPaired how;                /* of the pairs that are made now */
} IrPairing;

gboolean ir_pair_nodes (IrPairing *p, const IrNode *a, const IrNode *b); /* all nullable */
void ir_pair_values (IrPairing *p, const IrValue *a, const IrValue *b);
void ir_pair_outputs (IrPairing *p); /* of all pairs of nodes */

void ir_pair_constants (IrPairing *p, const IrNode *a, const IrNode *b); /* that two nodes take */

/* Each leaves the pairs that it finds alone. */
void ir_pair_by_id (IrPairing *p);
void ir_pair_by_name (IrPairing *p);
void ir_pair_rest_by_name (IrPairing *p);
void ir_pair_graph_inputs (IrPairing *p);
void ir_pair_by_origin (IrPairing *p);
void ir_pair_by_subtree (IrPairing *p);
void ir_pair_by_neighbours (IrPairing *p);
void ir_pair_by_fingerprints (IrPairing *p);
void ir_pair_by_order (IrPairing *p, gboolean alike);

gboolean ir_diff_same_operator (const IrNode *a, const IrNode *b);
/* Name -> the live one of that name; names that occur twice lead to NULL. */
GHashTable *ir_diff_index_nodes (const IrModel *model);
GHashTable *ir_diff_index_values (const IrModel *model);
guint64 *ir_diff_own_numbers (const IrModel *model);
guint64 ir_diff_mix (guint64 hash, guint64 word);
guint64 ir_diff_hash_text (const char *text);
guint64 ir_diff_value_key (const IrPairing *p, const IrValue *value, gboolean side_b);

/* (transfer full) (nullable): of char *; NULL: they are the same. */
GPtrArray *ir_diff_note (GPtrArray *changes, const char *format, ...) G_GNUC_PRINTF (2, 3);
GPtrArray *ir_diff_compare_nodes (const IrPairing *p, const IrNode *a, const IrNode *b);
GPtrArray *ir_diff_compare_values (const IrPairing *p, const IrValue *a, const IrValue *b);
void ir_diff_add_descent_by_origin (IrDiff *diff, const IrPairing *p);
