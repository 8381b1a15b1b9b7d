/* Run at build time: prints the rows of ops.def in the order of their names, as the index that
 * ir_op_find() searches. So a new operator stays one row, and the program needs no table that is
 * filled at run time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  const char *id, *name;
} Row;

static Row rows[] = {
#define IR_OP(ID, NAME, ...) { "IR_OP_" #ID, NAME },
#include "core/op/ops.def"
};

static int
compare (const void *a, const void *b)
{
  return strcmp (((const Row *) a)->name, ((const Row *) b)->name);
}

int
main (void)
{
  size_t n = sizeof rows / sizeof rows[0];
  qsort (rows, n, sizeof rows[0], compare);
  for (size_t i = 0; i < n; i++)
    printf ("  %s, /* %s */\n", rows[i].id, rows[i].name);
  return 0;
}
