/* Schedules and memory plans, judged by checkers that share no code with the planners. */
#include "config.h"

#include "core/exec/kernel/backend.h"
#include "core/io/io.h"
#include "tests/exec/graphs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- blocks in one arena -- */

static void
check_blocks (const IrMemBlock *blocks, guint n, guint64 align, guint64 peak)
{
  guint64 end = 0, most = 0;

  for (guint i = 0; i < n; i++)
    {
      g_assert_cmpuint (blocks[i].offset % align, ==, 0);
      g_assert_cmpuint (blocks[i].offset + blocks[i].size, <=, peak);
      end = MAX (end, blocks[i].offset + blocks[i].size);
      for (guint j = 0; j < i; j++)
        {
          gboolean together = blocks[i].first <= blocks[j].last &&
                              blocks[j].first <= blocks[i].last;
          gboolean overlap = blocks[i].offset < blocks[j].offset + blocks[j].size &&
                             blocks[j].offset < blocks[i].offset + blocks[i].size;
          g_assert_false (together && overlap);
        }
    }
  /* The most lives at some step where a block begins. */
  for (guint k = 0; k < n; k++)
    {
      guint64 live = 0;
      for (guint i = 0; i < n; i++)
        if (blocks[i].first <= blocks[k].first && blocks[k].first <= blocks[i].last)
          live += (blocks[i].size + align - 1) / align * align;
      most = MAX (most, live);
    }
  g_assert_cmpuint (ir_mem_blocks_lower_bound (blocks, n, align), ==, most);
  g_assert_cmpuint (peak, >=, most);
  g_assert_cmpuint (peak, <, end + align);
}

static void
test_random_blocks (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (17);

  for (guint round = 0; round < 500; round++)
    {
      guint n = (guint) g_rand_int_range (rand, 0, 60);
      guint64 align = round % 2 == 0 ? 1 : 64;
      g_autofree IrMemBlock *blocks = g_new0 (IrMemBlock, n);
      for (guint i = 0; i < n; i++)
        {
          blocks[i].size = (guint64) g_rand_int_range (rand, 1, 1000);
          blocks[i].first = (guint) g_rand_int_range (rand, 0, 40);
          blocks[i].last = blocks[i].first + (guint) g_rand_int_range (rand, 0, 12);
        }
      IrMemOptions options = { .align_bytes = (guint) align };
      guint64 peak = ir_mem_blocks_place (blocks, n, &options);
      check_blocks (blocks, n, align, peak);
    }
}

static void
test_chain_of_blocks (void)
{
  /* Two buffers that take turns are enough for a chain. */
  IrMemBlock blocks[10];
  IrMemOptions options = { .align_bytes = 64 };

  for (guint i = 0; i < 10; i++)
    blocks[i] = (IrMemBlock){ .size = 64, .first = i, .last = i + 1 };
  g_assert_cmpuint (ir_mem_blocks_place (blocks, 10, &options), ==, 128);
}

/* Whatever is left to chance, all are placed within their capacity, which the name of the file has.
 */
static void
check_search (const IrMemBlock *blocks, guint n, const char *name)
{
  g_auto (GStrv) parts = g_strsplit (name, ".", -1);
  g_autofree IrMemBlock *first = g_memdup2 (blocks, n * sizeof *blocks);
  g_autofree IrMemBlock *again = g_memdup2 (blocks, n * sizeof *blocks);

  g_assert_cmpuint (g_strv_length (parts), ==, 3);
  for (guint seed = 0; seed < 2; seed++)
    {
      IrMemOptions options = { .align_bytes = 1,
                               .capacity = g_ascii_strtoull (parts[1], NULL, 10),
                               .max_steps = 1000000,
                               .seed = seed };
      guint64 n_steps = 0, n_steps_again = 0;
      g_assert_cmpint (ir_mem_search (first, n, &options, &n_steps), ==, IR_MEM_SEARCH_FOUND);
      guint64 end = 0;
      for (guint i = 0; i < n; i++)
        end = MAX (end, first[i].offset + first[i].size);
      check_blocks (first, n, 1, end);
      g_assert_cmpuint (end, <=, options.capacity);
      g_test_message ("%s: %u steps", name, (guint) n_steps);
      if (seed > 0 || n_steps > 10000)
        continue;
      ir_mem_search (again, n, &options, &n_steps_again);
      g_assert_cmpuint (n_steps, ==, n_steps_again);
      g_assert_cmpmem (first, n * sizeof *first, again, n * sizeof *again);
    }
}

static void
test_hard_instances (void)
{
  g_autofree char *folder = g_test_build_filename (G_TEST_DIST, "..", "..", "..", "shared", "data",
                                                   "minimalloc", NULL);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;
  guint n_files = 0;

  if (dir == NULL)
    {
      g_test_skip ("the folder ../shared/data/minimalloc is not there");
      return;
    }
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      g_autofree char *text = NULL;
      if (!g_str_has_suffix (name, ".csv") || !g_file_get_contents (path, &text, NULL, NULL))
        continue;
      g_auto (GStrv) lines = g_strsplit (g_strstrip (text), "\n", -1);
      g_autoptr (GArray) blocks = g_array_new (FALSE, TRUE, sizeof (IrMemBlock));
      for (guint i = 1; lines[i] != NULL; i++)
        {
          g_auto (GStrv) cells = g_strsplit (lines[i], ",", -1);
          g_assert_cmpuint (g_strv_length (cells), >=, 4);
          IrMemBlock block = { .size = g_ascii_strtoull (cells[3], NULL, 10),
                               .first = (guint) g_ascii_strtoull (cells[1], NULL, 10),
                               .last = (guint) g_ascii_strtoull (cells[2], NULL, 10) - 1 };
          g_array_append_val (blocks, block);
        }
      IrMemBlock *data = (IrMemBlock *) (void *) blocks->data;
      IrMemOptions options = { .align_bytes = 1 };
      guint64 peak = ir_mem_blocks_place (data, blocks->len, &options);
      check_blocks (data, blocks->len, 1, peak);
      guint64 bound = ir_mem_blocks_lower_bound (data, blocks->len, 1);
      g_test_message ("%s: %.3f of the lower bound", name, (double) peak / (double) bound);
      g_assert_cmpfloat ((double) peak, <, 1.5 * (double) bound);
      if (!g_str_has_prefix (name, "I.")) /* which takes seconds: tests/bench/bench-memory.py */
        check_search (data, blocks->len, name);
      n_files++;
    }
  g_assert_cmpuint (n_files, >, 0);
}

/* -- the best placement, by trying everything -- */

/* Blocks one by one on the highest top of those that live with them, in every order: some order
 * gives a lowest placement. */
static guint64
lowest_of_all (IrMemBlock *blocks, guint n, guint placed, guint64 height, guint64 best)
{
  if (height >= best)
    return best;
  if (placed == n)
    return height;
  for (guint i = placed; i < n; i++)
    {
      IrMemBlock block = blocks[i];
      blocks[i] = blocks[placed];
      block.offset = 0;
      for (guint k = 0; k < placed; k++)
        if (blocks[k].first <= block.last && block.first <= blocks[k].last)
          block.offset = MAX (block.offset, blocks[k].offset + blocks[k].size);
      blocks[placed] = block;
      best = lowest_of_all (blocks, n, placed + 1, MAX (height, block.offset + block.size), best);
      blocks[placed] = blocks[i];
      blocks[i] = block;
    }
  return best;
}

static guint
random_blocks (GRand *rand, IrMemBlock *blocks, guint max_n, gint max_size)
{
  guint n = (guint) g_rand_int_range (rand, 1, (gint) max_n + 1);

  for (guint i = 0; i < n; i++)
    {
      guint first = (guint) g_rand_int_range (rand, 0, 8);
      blocks[i] = (IrMemBlock){ .size = (guint64) g_rand_int_range (rand, 1, max_size),
                                .first = first,
                                .last = first + (guint) g_rand_int_range (rand, 0, 5) };
    }
  return n;
}

static void
test_exact_search_is_exact (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);

  for (guint round = 0; round < 800; round++)
    {
      IrMemBlock blocks[9], copy[9];
      guint n = random_blocks (rand, blocks, 9, 4);
      memcpy (copy, blocks, sizeof blocks);
      guint64 best = lowest_of_all (copy, n, 0, 0, G_MAXUINT64);
      IrMemOptions options = { .align_bytes = 1, .capacity = best, .max_steps = 1000000 };
      guint64 n_steps = 0;
      g_assert_cmpint (ir_mem_search (blocks, n, &options, &n_steps), ==, IR_MEM_SEARCH_FOUND);
      check_blocks (blocks, n, 1, best);
      options.capacity = best - 1;
      g_assert_cmpint (ir_mem_search (blocks, n, &options, &n_steps), ==, IR_MEM_SEARCH_IMPOSSIBLE);
    }
}

static void
test_best_of_all_algorithms (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);

  for (guint round = 0; round < 300; round++)
    {
      IrMemBlock blocks[7], copy[7];
      IrMemResult result;
      guint align = round % 2 == 0 ? 1 : 4;
      guint n = random_blocks (rand, blocks, 7, 9);
      for (guint i = 0; i < n; i++)
        blocks[i].size *= align;
      memcpy (copy, blocks, sizeof blocks);
      IrMemOptions options = { .align_bytes = align, .max_steps = 1000000 };
      ir_mem_place (blocks, n, &options, &result);
      check_blocks (blocks, n, align, result.peak_bytes);
      g_assert_cmpuint (result.peak_bytes, ==, lowest_of_all (copy, n, 0, 0, G_MAXUINT64));
      g_assert_true (result.proven);
      for (guint i = 0; i < IR_MEM_N_ALGORITHMS; i++)
        g_assert_true (result.peaks[i] == 0 || result.peaks[i] >= result.peak_bytes);
      g_assert_cmpuint (result.peaks[result.algorithm], ==, result.peak_bytes);
    }
}

/* A filled rectangle cut into pieces at random: a placement without a hole exists. */
static guint
cut_rectangle (GRand *rand, IrMemBlock *blocks, guint n)
{
  guint count = 1;

  blocks[0] = (IrMemBlock){ .size = 256, .first = 0, .last = 63 };
  while (count < n)
    {
      IrMemBlock *block = &blocks[g_rand_int_range (rand, 0, (gint) count)];
      IrMemBlock part = *block;
      if (g_rand_boolean (rand) && block->size > 1)
        {
          block->size = (guint64) g_rand_int_range (rand, 1, (gint) block->size);
          part.size -= block->size;
        }
      else if (block->last > block->first)
        {
          block->last = (guint) g_rand_int_range (rand, (gint) block->first, (gint) block->last);
          part.first = block->last + 1;
        }
      else
        continue;
      blocks[count++] = part;
    }
  return count;
}

static void
test_perfect_packing (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (23);

  for (guint round = 0; round < 30; round++)
    {
      IrMemBlock blocks[40];
      IrMemResult result;
      guint n = cut_rectangle (rand, blocks, 40);
      IrMemOptions options = { .align_bytes = 1, .max_steps = 2000000 };
      ir_mem_place (blocks, n, &options, &result);
      check_blocks (blocks, n, 1, result.peak_bytes);
      g_assert_cmpuint (result.peak_bytes, ==, 256);
    }
}

static guint64
steps_of (IrMemBlock *blocks, guint n, guint64 capacity)
{
  IrMemOptions options = { .align_bytes = 1, .capacity = capacity, .max_steps = 2000000 };
  guint64 n_steps = 0;

  g_assert_cmpint (ir_mem_search (blocks, n, &options, &n_steps), ==, IR_MEM_SEARCH_FOUND);
  check_blocks (blocks, n, 1, capacity);
  return n_steps;
}

static void
test_names_units_and_time_make_no_difference (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (29);

  for (guint round = 0; round < 10; round++)
    {
      IrMemBlock blocks[40], changed[40];
      guint n = cut_rectangle (rand, blocks, 40);
      guint64 n_steps = steps_of (blocks, n, 256);
      for (guint i = 0; i < n; i++)
        {
          /* Ids reversed, time reversed, sizes tripled. */
          changed[n - 1 - i] = (IrMemBlock){ .size = blocks[i].size * 3,
                                             .first = 63 - blocks[i].last,
                                             .last = 63 - blocks[i].first };
        }
      g_assert_cmpuint (steps_of (changed, n, 768), ==, n_steps);
    }
}

static void
test_search_gives_up_and_changes_nothing (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (31);
  IrMemBlock blocks[40], copy[40];
  guint n = cut_rectangle (rand, blocks, 40);
  IrMemOptions options = { .align_bytes = 1, .capacity = 256, .max_steps = 5 };
  guint64 n_steps = 0;

  memcpy (copy, blocks, sizeof blocks);
  g_assert_cmpint (ir_mem_search (blocks, n, &options, &n_steps), ==, IR_MEM_SEARCH_GAVE_UP);
  g_assert_cmpmem (blocks, sizeof blocks, copy, sizeof copy);
  g_assert_cmpuint (n_steps, <=, 6);
}

/* -- lists of buffers as text -- */

static void
assert_csv_error (const char *text, const char *needle)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrMemInstance) instance = ir_mem_instance_parse (text, strlen (text), &error);

  g_assert_null (instance);
  g_assert_nonnull (error);
  g_assert_nonnull (strstr (error->message, needle));
}

static void
test_csv (void)
{
  g_autoptr (GError) error = NULL;
  const char *text = "id,lower,upper,size\r\na,-5,10,7\n\nb,10,1000000000000,3\n";
  g_autoptr (IrMemInstance) instance = ir_mem_instance_parse (text, strlen (text), &error);
  IrMemOptions options = { .align_bytes = 1 };
  IrMemResult result;

  g_assert_no_error (error);
  g_assert_cmpuint (instance->rows->len, ==, 2);
  ir_mem_place ((IrMemBlock *) (void *) instance->blocks->data, 2, &options, &result);
  g_assert_cmpuint (result.peak_bytes, ==, 7);
  g_autofree char *csv = ir_mem_instance_to_csv (instance);
  g_assert_cmpstr (csv, ==, "id,lower,upper,size,offset\na,-5,10,7,0\nb,10,1000000000000,3,0\n");
  assert_csv_error ("", "line 1");
  assert_csv_error ("id,lower,size\n", "upper");
  assert_csv_error ("id,lower,upper,size,gaps\n", "gaps");
  assert_csv_error ("id,lower,upper,size\n1,2,3\n", "line 2: found 3 cells");
  assert_csv_error ("id,lower,upper,size\n1,2,3,x\n", "“x” for size");
  assert_csv_error ("id,lower,upper,size\n1,2,3,-4\n", "“-4” for size");
  assert_csv_error ("id,lower,upper,size\n1,2,3,4\n1,3,3,4\n", "line 3");
  assert_csv_error ("id,lower,upper,size\n1,2,99999999999999999999,4\n", "upper");
}

static void
test_extreme_csv (void)
{
  const char *numbers[] = { "-1",
                            "1.5",
                            "1e3",
                            "+",
                            "",
                            " 1",
                            "1 ",
                            "0x10",
                            "nan",
                            "18446744073709551616",
                            "9223372036854775807",
                            "-9223372036854775808",
                            "1125899906842625",
                            "\xd9\xa3" };
  const struct
  {
    const char *line;
    gboolean valid;
  } lines[] = {
    { "a,0,1,0", TRUE }, /* nothing to place, nowhere in the way */
    { "a,0,1,1125899906842624", TRUE },
    { "a,-2305843009213693951,2305843009213693951,1", TRUE },
    { "a,0,0,1", FALSE },
    { "a,1,0,1", FALSE },
    { "a,0,2305843009213693953,1", FALSE },
    { "a,0,1,1,1", FALSE },
    { ",,,", FALSE },
    { "\"a,b\",0,1,1", FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      g_autofree char *text = g_strdup_printf ("id,lower,upper,size\na,0,9,%s\n", numbers[i]);
      /* White space at the end of a line belongs to the line. */
      if (!g_str_equal (numbers[i], "1 "))
        assert_csv_error (text, "line 2");
    }
  for (guint i = 0; i < G_N_ELEMENTS (lines); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *text = g_strdup_printf ("id,lower,upper,size\n%s\n", lines[i].line);
      g_autoptr (IrMemInstance) instance = ir_mem_instance_parse (text, strlen (text), &error);
      IrMemOptions options = { .align_bytes = 64, .max_steps = 100 };
      IrMemResult result;
      g_assert_true ((instance != NULL) == lines[i].valid);
      if (instance == NULL)
        continue;
      IrMemBlock *blocks = (IrMemBlock *) (void *) instance->blocks->data;
      ir_mem_place (blocks, instance->blocks->len, &options, &result);
      check_blocks (blocks, instance->blocks->len, 64, result.peak_bytes);
    }
}

/* Offsets are sums of sizes: those that could wrap around are refused, the largest that cannot are
 * placed. */
static void
test_huge_csv (void)
{
  g_autoptr (GString) text = g_string_new ("id,lower,upper,size\n");
  g_autoptr (GError) error = NULL;
  IrMemOptions options = { .align_bytes = 1, .max_steps = 100 };
  IrMemResult result;

  for (guint i = 0; i < 1024; i++)
    g_string_append_printf (text, "%u,0,9,1125899906842624\n", i);
  g_autoptr (IrMemInstance) instance = ir_mem_instance_parse (text->str, text->len, &error);
  g_assert_no_error (error);
  ir_mem_place ((IrMemBlock *) (void *) instance->blocks->data, 1024, &options, &result);
  g_assert_cmpuint (result.peak_bytes, ==, (guint64) 1 << 60);
  g_string_append (text, "last,20,30,1\n");
  assert_csv_error (text->str, "line 1026: found sizes that add up");
}

static void
test_damaged_csv (void)
{
  const char *text = "id,start,end,size,offset\n0,0,3,4,0\n1,3,9,4,0\n2,0,9,4,0\n3,9,21,4,0\n";
  const char bytes[] = "0123456789,,,\n\n-x\"\0\xff";
  g_autoptr (GRand) rand = g_rand_new_with_seed (41);

  for (guint round = 0; round < 3000; round++)
    {
      g_autofree char *damaged = g_strdup (text);
      gsize length = strlen (text);
      for (guint i = 0; i < 1 + round % 4; i++)
        damaged[g_rand_int_range (rand, 0, (gint) length)] =
            bytes[g_rand_int_range (rand, 0, (gint) sizeof bytes)];
      if (round % 5 == 0)
        length = (gsize) g_rand_int_range (rand, 0, (gint) length);
      g_autoptr (GError) error = NULL;
      g_autoptr (IrMemInstance) instance = ir_mem_instance_parse (damaged, length, &error);
      g_assert_true ((instance == NULL) == (error != NULL));
      if (instance == NULL)
        continue;
      IrMemOptions options = { .align_bytes = 1, .max_steps = 100 };
      IrMemResult result;
      IrMemBlock *blocks = (IrMemBlock *) (void *) instance->blocks->data;
      ir_mem_place (blocks, instance->blocks->len, &options, &result);
      check_blocks (blocks, instance->blocks->len, 1, result.peak_bytes);
    }
}

/* -- plans of graphs -- */

/* A random graph of Relu, Add, Reshape and MatMul over [8,8] values. */
static void
build_random (Builder *b, GRand *rand, guint n_nodes)
{
  g_autoptr (GPtrArray) values = g_ptr_array_new ();
  IrValue *shape = build_constant (b, "shape", ir_tensor_new_int64s ((gint64[]){ 8, 8 }, 2));

  g_ptr_array_add (values, build_input (b, "x", "float[8,8]"));
  for (guint i = 0; i < n_nodes; i++)
    {
      guint recent = (guint) g_rand_int_range (rand, MAX (0, (int) values->len - 6),
                                               (int) values->len);
      IrValue *a = g_ptr_array_index (values, recent);
      IrValue *c = g_ptr_array_index (values,
                                      (guint) g_rand_int_range (rand, 0, (int) values->len));
      IrNode *node = NULL;
      switch (g_rand_int_range (rand, 0, 4))
        {
        case 0:
          node = build_node (b, NULL, "Relu", 1, a, END);
          break;
        case 1:
          node = build_node (b, NULL, "Add", 1, a, c, END);
          break;
        case 2:
          node = build_node (b, NULL, "Reshape", 1, a, shape, END);
          break;
        default:
          node = build_node (b, NULL, "Tanh", 1, c, END);
          break;
        }
      g_ptr_array_add (values, node->outputs[0]);
    }
  build_output (b, g_ptr_array_index (values, values->len - 1));
  build_output (b, g_ptr_array_index (values, values->len / 2));
  build_done (b);
}

static int
step_of (const IrSchedule *schedule, IrNodeId node)
{
  for (guint i = 0; i < schedule->items->len; i++)
    if (g_array_index (schedule->items, IrScheduleItem, i).node == node)
      return (int) i;
  return -1;
}

static void
check_schedule (const IrModel *model, const IrSchedule *schedule)
{
  guint n_nodes;
  double work = 0, end = 0;

  ir_graph_order (model->main, &n_nodes);
  g_assert_cmpuint (schedule->items->len, ==, n_nodes);
  for (guint i = 0; i < schedule->items->len; i++)
    {
      const IrScheduleItem *item = &g_array_index (schedule->items, IrScheduleItem, i);
      const IrNode *node = ir_model_node (model, item->node);
      g_assert_cmpuint (item->worker, <, schedule->n_workers);
      g_assert_cmpfloat (item->end_ms, >, item->start_ms);
      work += item->end_ms - item->start_ms;
      end = MAX (end, item->end_ms);
      for (guint slot = 0; slot < node->n_inputs; slot++)
        if (node->inputs[slot] != NULL && node->inputs[slot]->producer != NULL)
          {
            int before = step_of (schedule, node->inputs[slot]->producer->id);
            g_assert_cmpint (before, >=, 0);
            g_assert_cmpint (before, <, (int) i);
            g_assert_cmpfloat (g_array_index (schedule->items, IrScheduleItem, before).end_ms, <=,
                               item->start_ms + 1e-9);
          }
      for (guint j = 0; j < i; j++)
        {
          const IrScheduleItem *other = &g_array_index (schedule->items, IrScheduleItem, j);
          if (other->worker == item->worker)
            g_assert_true (other->end_ms <= item->start_ms + 1e-9 ||
                           item->end_ms <= other->start_ms + 1e-9);
        }
    }
  g_assert_cmpfloat_with_epsilon (schedule->work_ms, work, 1e-6);
  g_assert_cmpfloat_with_epsilon (schedule->makespan_ms, end, 1e-9);
  g_assert_cmpfloat (schedule->critical_path_ms, <=, schedule->makespan_ms + 1e-9);
  g_assert_cmpfloat (schedule->makespan_ms, <=, schedule->work_ms + 1e-9);
  g_assert_cmpfloat (schedule->work_ms, <=, schedule->makespan_ms * schedule->n_workers + 1e-9);
}

/* Writes a stamp per value, step by step, and looks whether it is still there when it is read.
 * Values that share bytes on purpose carry the stamp of what was written last. */
static void
simulate (const IrModel *model, const IrSchedule *schedule, const IrMemPlan *plan)
{
  g_autofree guint32 *arena = g_new0 (guint32, plan->peak_bytes / 4 + 1);
  g_autoptr (GHashTable) stamp_of = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable) item_of = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < plan->items->len; i++)
    {
      IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      g_hash_table_insert (item_of, GUINT_TO_POINTER (item->value), item);
    }
  for (guint step = 0; step < schedule->items->len; step++)
    {
      const IrNode *node = ir_model_node (
          model, g_array_index (schedule->items, IrScheduleItem, step).node);
      for (guint slot = 0; slot < node->n_inputs; slot++)
        {
          const IrValue *value = node->inputs[slot];
          const IrMemItem *item = g_hash_table_lookup (item_of, GUINT_TO_POINTER (value->id));
          g_assert_nonnull (item);
          g_assert_cmpuint (item->last, >=, step);
          if (item->offset == IR_PLACE_EXTERNAL)
            continue;
          for (guint64 k = 0; k < item->size / 4; k++)
            g_assert_cmpuint (
                arena[item->offset / 4 + k], ==,
                GPOINTER_TO_UINT (g_hash_table_lookup (stamp_of, GUINT_TO_POINTER (value->id))));
        }
      const IrValue *output = node->outputs[0];
      const IrMemItem *item = g_hash_table_lookup (item_of, GUINT_TO_POINTER (output->id));
      g_assert_cmpuint (item->first, ==, step);
      if (item->offset == IR_PLACE_EXTERNAL)
        continue;
      g_assert_cmpuint (item->offset % plan->align_bytes, ==, 0);
      g_assert_cmpuint (item->offset + item->size, <=, plan->peak_bytes);
      guint32 stamp = output->id;
      if (ir_op_is (node, IR_OP_RESHAPE) && item->alias_of != 0)
        stamp = GPOINTER_TO_UINT (
            g_hash_table_lookup (stamp_of, GUINT_TO_POINTER (node->inputs[0]->id)));
      for (guint64 k = 0; k < item->size / 4; k++)
        arena[item->offset / 4 + k] = stamp;
      g_hash_table_insert (stamp_of, GUINT_TO_POINTER (output->id), GUINT_TO_POINTER (stamp));
    }
}

static void
test_random_graphs (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);

  for (guint round = 0; round < 60; round++)
    {
      g_autoptr (GError) error = NULL;
      g_auto (Builder) b = { 0 };
      builder_init (&b, 17);
      build_random (&b, rand, 40);
      g_autoptr (IrSchedule)
          schedule = ir_schedule_new (b.model, &ir_backend_ref, 1 + round % 4, &error);
      g_assert_no_error (error);
      check_schedule (b.model, schedule);
      g_autoptr (IrMemPlan) plan = ir_mem_plan_new (b.model, schedule, 64);
      g_assert_cmpuint (plan->lower_bound_bytes, <=, plan->peak_bytes);
      g_assert_cmpuint (plan->peak_bytes, <=, plan->naive_bytes);
      simulate (b.model, schedule, plan);
    }
}

static void
test_in_place_and_views (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[4,16]");
  IrValue *shape = build_constant (&b, "shape", ir_tensor_new_int64s ((gint64[]){ 64 }, 1));
  IrNode *first = build_node (&b, NULL, "Exp", 1, x, END);
  IrNode *view = build_node (&b, NULL, "Reshape", 1, first->outputs[0], shape, END);
  IrNode *second = build_node (&b, NULL, "Tanh", 1, view->outputs[0], END);
  IrNode *last = build_node (&b, NULL, "Sqrt", 1, second->outputs[0], END);
  build_output (&b, last->outputs[0]);
  build_done (&b);
  g_autoptr (IrSchedule) schedule = ir_schedule_new (b.model, &ir_backend_ref, 1, &error);
  g_assert_no_error (error);
  g_autoptr (IrMemPlan) plan = ir_mem_plan_new (b.model, schedule, 64);
  /* Exp's result is looked at as [64], and Tanh writes over it: one block of 256 bytes. */
  g_assert_cmpuint (plan->peak_bytes, ==, 256);
  g_assert_cmpuint (plan->naive_bytes, ==, 512);
  for (guint i = 0; i < plan->items->len; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      if (item->value == view->outputs[0]->id || item->value == second->outputs[0]->id)
        g_assert_cmpuint (item->alias_of, ==, first->outputs[0]->id);
      if (item->value == x->id || item->value == last->outputs[0]->id)
        g_assert_cmpuint (item->offset, ==, IR_PLACE_EXTERNAL);
    }
}

/* Sizes whose sums would wrap around: nothing of them is in the arena, so that a run comes to them
 * and says what they would need. */
static void
test_vast_values (void)
{
  static const char *const ops[] = { "Sigmoid", "Tanh", "Exp", "Abs", "Neg" };
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[1]");
  IrValue *n = build_constant (&b, "n", ir_tensor_new_int64s (&(gint64){ (gint64) 1 << 60 }, 1));
  IrNode *small = build_node (&b, NULL, "Exp", 1, x, END);
  IrNode *vast = build_node (&b, NULL, "Expand", 1, small->outputs[0], n, END);
  IrValue *sum = vast->outputs[0];
  for (guint i = 0; i < G_N_ELEMENTS (ops); i++)
    sum = build_node (&b, NULL, "Add", 1, sum,
                      build_node (&b, NULL, ops[i], 1, vast->outputs[0], END)->outputs[0], END)
              ->outputs[0];
  build_output (&b, build_node (&b, NULL, "ReduceSum", 1, sum, END)->outputs[0]);
  build_done (&b);
  g_autoptr (IrSchedule) schedule = ir_schedule_new (b.model, &ir_backend_ref, 1, &error);
  g_assert_no_error (error);
  g_autoptr (IrMemPlan) plan = ir_mem_plan_new (b.model, schedule, 64);
  g_assert_cmpuint (plan->n_too_large, ==, 1 + 2 * G_N_ELEMENTS (ops));
  g_assert_cmpuint (plan->peak_bytes, ==, 64);
  g_assert_cmpuint (plan->naive_bytes, ==, 64);
  g_autofree char *text = ir_mem_plan_explain (plan, b.model, sum->id);
  g_assert_nonnull (strstr (text, "no memory has room for it"));
}

static void
assert_explained (const IrMemPlan *plan,
                  const IrModel *model,
                  const IrValue *value,
                  const char *why)
{
  g_autofree char *text = ir_mem_plan_explain (plan, model, value->id);
  g_autofree char *wanted = g_strdup_printf ("%s lies outside the arena: %s", value->name, why);

  g_assert_cmpstr (text, ==, wanted);
}

static void
test_outside_the_arena (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[4,16]"), *unread = build_input (&b, "u", "float[2]");
  IrValue *shape = build_constant (&b, "shape", ir_tensor_new_int64s ((gint64[]){ 64 }, 1));
  IrNode *view = build_node (&b, NULL, "Reshape", 1, x, shape, END);
  IrNode *exp = build_node (&b, NULL, "Exp", 1, view->outputs[0], END);
  IrNode *where = build_node (&b, NULL, "NonZero", 1, x, END);
  IrNode *size = build_node (&b, NULL, "Size", 1, where->outputs[0], END);
  IrNode *last = build_node (&b, NULL, "Tanh", 1, exp->outputs[0], END);
  build_output (&b, exp->outputs[0]);
  build_output (&b, size->outputs[0]);
  build_output (&b, last->outputs[0]);
  build_output (&b, unread);
  build_done (&b);
  g_autoptr (IrSchedule) schedule = ir_schedule_new (b.model, &ir_backend_ref, 1, &error);
  g_assert_no_error (error);
  g_autoptr (IrMemPlan) plan = ir_mem_plan_new (b.model, schedule, 64);
  assert_explained (plan, b.model, x,
                    "it is an input of the graph: the bytes are the caller's, and only read.\n"
                    "It has 256 bytes.\n2 steps read it, the first 0 and the last 2.\n");
  assert_explained (plan, b.model, unread,
                    "it is an input of the graph: the bytes are the caller's, and only read.\n"
                    "It has 8 bytes.\nIt is an output of the graph as well, handed out as it "
                    "is.\nNo step reads it.\n");
  assert_explained (plan, b.model, shape,
                    "it is a constant: the bytes are the model's, and stay.\nIt has 8 bytes.\n"
                    "Step 0 reads it.\n");
  g_autofree char *shared = g_strdup_printf ("it shares the bytes of what lies there.\nIt is what "
                                             "%s holds from byte 0 on.\nIt has 256 bytes.\n"
                                             "Step 0 makes it.\nStep 1 reads it.\n",
                                             x->name);
  assert_explained (plan, b.model, view->outputs[0], shared);
  assert_explained (plan, b.model, exp->outputs[0],
                    "it is an output of the graph: it is handed out, and the next run uses the "
                    "arena again.\nIt has 256 bytes.\nStep 1 makes it, and it stays when the run "
                    "has ended.\nStep 4 reads it.\n");
  assert_explained (plan, b.model, where->outputs[0],
                    "its size is known only when the run comes to it, which then makes the "
                    "bytes.\nStep 2 makes it.\nStep 3 reads it.\n");
}

/* Runs with the arena, and with every value captured, which leaves the arena unused. */
static void
check_run_in_arena (Builder *b, GHashTable *inputs, const IrValue *output, const char *backend)
{
  g_autoptr (GError) error = NULL;
  IrRunOptions options = { .backend = ir_backend_find (backend), .n_threads = 1 };
  g_autoptr (IrRun) run = ir_model_run (b->model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  options.capture = IR_CAPTURE_ALL;
  g_autoptr (IrRun) captured = ir_model_run (b->model, inputs, &options, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (run->trace->arena_bytes, ==, run->memplan->peak_bytes);
  g_assert_cmpuint (captured->trace->arena_bytes, ==, 0);
  const IrTensor *y = ir_run_value (run, output->id), *z = ir_run_value (captured, output->id);
  g_assert_cmpmem (ir_tensor_data (y), ir_tensor_n_bytes (y), ir_tensor_data (z),
                   ir_tensor_n_bytes (z));
}

static void
test_second_operand_in_place (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  g_autoptr (GHashTable) inputs = inputs_new ();
  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[3,50]");
  IrNode *first = build_node (&b, NULL, "Exp", 1, x, END);
  IrNode *second = build_node (&b, NULL, "Tanh", 1, x, END);
  IrNode *third = build_node (&b, NULL, "Sub", 1, first->outputs[0], second->outputs[0], END);
  IrNode *sum = build_node (&b, NULL, "Sum", 1, third->outputs[0], first->outputs[0], END);
  IrNode *last = build_node (&b, NULL, "Sqrt", 1, sum->outputs[0], END);
  build_output (&b, last->outputs[0]);
  build_done (&b);
  inputs_add (inputs, x, tensor_random ("float[3,50]", 7));
  g_autoptr (IrSchedule) schedule = ir_schedule_new (b.model, &ir_backend_ref, 1, &error);
  g_autoptr (IrMemPlan) plan = ir_mem_plan_new (b.model, schedule, 64);
  /* 600 bytes each: Sub writes over its second operand, for the first is read once more. */
  g_assert_cmpuint (plan->peak_bytes, ==, 2 * 640);
  for (guint i = 0; i < plan->items->len; i++)
    {
      const IrMemItem *item = &g_array_index (plan->items, IrMemItem, i);
      if (item->value == third->outputs[0]->id)
        g_assert_cmpuint (item->alias_of, ==, second->outputs[0]->id);
    }
  g_autofree char *why = ir_mem_plan_explain (plan, b.model, third->outputs[0]->id);
  g_assert_nonnull (strstr (why, second->outputs[0]->name));
  IrMemOptions options = { .align_bytes = 64 };
  g_autoptr (IrMemPlan)
      separate = ir_mem_plan_new_full (b.model, schedule, IR_MEM_SEPARATE, &options);
  g_assert_cmpuint (separate->peak_bytes, ==, 3 * 640);
  check_run_in_arena (&b, inputs, last->outputs[0], "ref");
  check_run_in_arena (&b, inputs, last->outputs[0], "cpu");
}

static void
test_order_for_memory (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  IrValue *sums[6], *total = NULL;
  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[64]");
  IrValue *sizes = build_constant (&b, "sizes", ir_tensor_new_int64s ((gint64[]){ 100, 64 }, 2));
  IrNode *wide[6];
  /* As written, all six wide values live at once; each can be reduced before the next is made. */
  for (guint i = 0; i < 6; i++)
    wide[i] = build_node (&b, NULL, "Expand", 1, x, sizes, END);
  for (guint i = 0; i < 6; i++)
    {
      IrNode *node = build_node (&b, NULL, "ReduceMax", 1, wide[i]->outputs[0], END);
      sums[i] = node->outputs[0];
    }
  for (guint i = 0; i < 6; i++)
    total = i == 0 ? sums[0] : build_node (&b, NULL, "Add", 1, total, sums[i], END)->outputs[0];
  build_output (&b, total);
  build_done (&b);
  g_autoptr (IrSchedule) schedule = ir_schedule_new (b.model, &ir_backend_ref, 1, &error);
  g_assert_no_error (error);
  g_autoptr (IrMemPlan) before = ir_mem_plan_new (b.model, schedule, 64);
  g_assert_true (ir_schedule_order_for_memory (schedule, b.model));
  g_autoptr (IrMemPlan) after = ir_mem_plan_new (b.model, schedule, 64);
  g_assert_cmpuint (before->peak_bytes, >=, 6 * 25600);
  g_assert_cmpuint (after->peak_bytes, <, 2 * 25600);
  simulate (b.model, schedule, after);
  g_assert_false (ir_schedule_order_for_memory (schedule, b.model));
}

/* -- peaks at their lower bounds -- */

static void
check_at_bound (IrModel *model, const char *name, double table_mib, double table_in_place_mib)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrSchedule) schedule = ir_schedule_new (model, &ir_backend_ref, 1, &error);
  IrMemOptions options = { .align_bytes = 64, .max_steps = IR_MEM_DEFAULT_STEPS };

  g_assert_no_error (error);
  g_autoptr (IrMemPlan) apart = ir_mem_plan_new_full (model, schedule, IR_MEM_SEPARATE, &options);
  g_autoptr (IrMemPlan) shared = ir_mem_plan_new_full (model, schedule, 0, &options);
  const double mib = 1 << 20;
  g_test_message ("%s: %.3f MiB, in place %.3f MiB", name, (double) apart->peak_bytes / mib,
                  (double) shared->peak_bytes / mib);
  g_assert_cmpuint (apart->peak_bytes, ==, apart->lower_bound_bytes);
  g_assert_cmpuint (shared->peak_bytes, ==, shared->lower_bound_bytes);
  g_assert_cmpuint (shared->peak_bytes, <=, apart->peak_bytes);
  /* The table has two decimals, and no constants that a node only gives another shape: 256 bytes.
   */
  g_assert_cmpfloat ((double) apart->peak_bytes / mib, <=, table_mib + 0.0053);
  g_assert_cmpfloat ((double) shared->peak_bytes / mib, <=, table_in_place_mib + 0.0053);
}

static void
test_light_networks (void)
{
  /* MiB, without and with writing over inputs: the most that lives at once, as computed by another
   * program from the same files. */
  static const struct
  {
    const char *name;
    double apart, in_place;
  } rows[] = {
    { "bvlc_alexnet", 2.14, 2.14 }, { "densenet121", 8.04, 6.89 }, { "inception_v1", 6.12, 4.43 },
    { "inception_v2", 6.12, 3.83 }, { "resnet50", 9.19, 6.89 },    { "shufflenet", 2.97, 2.97 },
    { "squeezenet", 6.02, 3.75 },   { "vgg19", 24.50, 24.50 },     { "zfnet512", 8.70, 8.70 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *file = g_strdup_printf ("light_%s.onnx", rows[i].name);
      g_autofree char *path = g_test_build_filename (G_TEST_DIST, "..", "..", "..", "shared",
                                                     "data", "light", file, NULL);
      g_autoptr (GError) error = NULL;
      if (!g_file_test (path, G_FILE_TEST_EXISTS))
        {
          g_test_skip ("the folder ../shared/data/light is not there");
          return;
        }
      g_autoptr (IrModel) model = ir_model_load (path, NULL, NULL, &error);
      g_assert_no_error (error);
      check_at_bound (model, rows[i].name, rows[i].apart, rows[i].in_place);
    }
}

/* A dense block: every layer reads all before it, joined to one value that grows. */
static IrValue *
build_dense (Builder *b, IrValue *value, guint width, guint n_layers)
{
  for (guint i = 0; i < n_layers; i++, width += 16)
    {
      g_autofree char *type = g_strdup_printf ("float[%u,16]", width);
      g_autofree char *name = g_strdup_printf ("w%u", width);
      IrNode *relu = build_node (b, NULL, "Relu", 1, value, END);
      IrValue *weights = build_constant (b, name, tensor_random (type, i));
      IrNode *layer = build_node (b, NULL, "MatMul", 1, relu->outputs[0], weights, END);
      IrNode *tanh = build_node (b, NULL, "Tanh", 1, layer->outputs[0], END);
      IrNode *join = build_node (b, NULL, "Concat", 1, value, tanh->outputs[0], END);
      build_int (b, join, "axis", 1);
      value = join->outputs[0];
    }
  return value;
}

/* Branches of one input, each a few layers deep, joined: an inception module. */
static IrValue *
build_module (Builder *b, IrValue *value, IrValue *weights, guint depth)
{
  IrValue *branches[3];

  for (guint i = 0; i < 3; i++)
    {
      branches[i] = value;
      for (guint k = 0; k <= i % depth; k++)
        {
          IrNode *layer = build_node (b, NULL, "MatMul", 1, branches[i], weights, END);
          branches[i] = build_node (b, NULL, "Relu", 1, layer->outputs[0], END)->outputs[0];
        }
    }
  IrNode *sum = build_node (b, NULL, "Sum", 1, branches[0], branches[1], branches[2], END);
  return build_node (b, NULL, "Add", 1, sum->outputs[0], value, END)->outputs[0];
}

static void
test_networks_of_blocks (void)
{
  g_auto (Builder) dense = { 0 };
  g_auto (Builder) modules = { 0 };

  builder_init (&dense, 17);
  IrValue *value = build_input (&dense, "x", "float[64,32]");
  build_output (&dense,
                build_node (&dense, NULL, "ReduceMax", 1, build_dense (&dense, value, 32, 14), END)
                    ->outputs[0]);
  build_done (&dense);
  check_at_bound (dense.model, "dense", G_MAXDOUBLE, G_MAXDOUBLE);
  builder_init (&modules, 17);
  value = build_input (&modules, "x", "float[32,48]");
  IrValue *weights = build_constant (&modules, "w", tensor_random ("float[48,48]", 1));
  for (guint i = 0; i < 8; i++)
    value = build_module (&modules, value, weights, 1 + i % 3);
  build_output (&modules, value);
  build_done (&modules);
  check_at_bound (modules.model, "modules", G_MAXDOUBLE, G_MAXDOUBLE);
}

static void
test_parallel_branches (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[64,64]");
  IrNode *left = build_node (&b, NULL, "MatMul", 1, x, x, END);
  IrNode *right = build_node (&b, NULL, "MatMul", 1, x, x, END);
  build_output (
      &b, build_node (&b, NULL, "Add", 1, left->outputs[0], right->outputs[0], END)->outputs[0]);
  build_done (&b);
  g_autoptr (IrSchedule) one = ir_schedule_new (b.model, &ir_backend_ref, 1, &error);
  g_autoptr (IrSchedule) two = ir_schedule_new (b.model, &ir_backend_ref, 2, &error);
  g_assert_cmpfloat_with_epsilon (one->makespan_ms, one->work_ms, 1e-9);
  g_assert_cmpfloat_with_epsilon (two->makespan_ms, two->critical_path_ms, 1e-9);
  g_assert_cmpfloat (two->makespan_ms, <, 0.7 * one->makespan_ms);
}

static void
test_unknown_operator (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[1]");
  IrNode *node = build_node (&b, NULL, "FooBar", 1, x, END);
  ir_edit_rename_node (b.edit, node, "conv1");
  build_output (&b, node->outputs[0]);
  g_assert_null (ir_schedule_new (b.model, &ir_backend_ref, 1, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_UNSUPPORTED);
  g_assert_nonnull (strstr (error->message, "conv1 (FooBar)"));
  g_assert_nonnull (strstr (error->message, "no operator FooBar of domain ai.onnx"));
}

static void
test_cycle (void)
{
  g_autoptr (GError) error = NULL;
  g_auto (Builder) b = { 0 };
  builder_init (&b, 17);
  IrValue *x = build_input (&b, "x", "float[1]");
  IrNode *one = build_node (&b, NULL, "Add", 1, x, x, END);
  IrNode *two = build_node (&b, NULL, "Relu", 1, one->outputs[0], END);
  ir_edit_set_input (b.edit, one, 1, two->outputs[0]);
  g_assert_null (ir_schedule_new (b.model, &ir_backend_ref, 1, &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_INPUT);
}

static void
test_devices (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_nonnull (ir_backend_find ("ref"));
  /* One that is built, and not here. */
  g_setenv ("IRSCOPE_GPU_PATH", "/nonexistent:-", TRUE);
  g_assert_nonnull (ir_backend_find ("gpu"));
  g_assert_null (ir_backend_require ("gpu", &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE);
  g_assert_nonnull (strstr (error->message, "libcuda.so.1"));
  g_assert_nonnull (strstr (error->message, "/nonexistent (IRSCOPE_GPU_PATH)"));
  g_clear_error (&error);
  g_assert_null (ir_backend_require ("toaster", &error));
  g_assert_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/memory/random blocks never overlap", test_random_blocks);
  g_test_add_func ("/memory/a chain needs two buffers", test_chain_of_blocks);
  g_test_add_func ("/memory/the exact search finds what exists and refutes what does not",
                   test_exact_search_is_exact);
  g_test_add_func ("/memory/the best of all algorithms is taken", test_best_of_all_algorithms);
  g_test_add_func ("/memory/a placement without holes is found", test_perfect_packing);
  g_test_add_func ("/memory/names, units and the direction of time make no difference",
                   test_names_units_and_time_make_no_difference);
  g_test_add_func ("/memory/a search that gives up changes nothing",
                   test_search_gives_up_and_changes_nothing);
  g_test_add_func ("/memory/lists of buffers are read and written as text", test_csv);
  g_test_add_func ("/memory/numbers that are none and lives that end before they begin are refused",
                   test_extreme_csv);
  g_test_add_func ("/memory/sizes that add up to too much are refused", test_huge_csv);
  g_test_add_func ("/memory/damaged lists are errors or valid lists", test_damaged_csv);
  g_test_add_func ("/memory/hard instances are placed validly and near the bound",
                   test_hard_instances);
  g_test_add_func ("/plans/random graphs keep every value until its last use", test_random_graphs);
  g_test_add_func ("/plans/views and kernels in place share bytes", test_in_place_and_views);
  g_test_add_func ("/plans/values that no memory has room for are left out", test_vast_values);
  g_test_add_func ("/plans/what lies outside the arena says whose bytes it has, and when",
                   test_outside_the_arena);
  g_test_add_func ("/plans/a run stays within the arena of its plan, and fills it",
                   test_second_operand_in_place);
  g_test_add_func ("/plans/the order for memory needs less where the file's wastes some",
                   test_order_for_memory);
  g_test_add_func ("/plans/peaks of the light networks are at their lower bounds",
                   test_light_networks);
  g_test_add_func ("/plans/peaks of dense blocks and modules are at their lower bounds",
                   test_networks_of_blocks);
  g_test_add_func ("/schedule/two workers run branches at once", test_parallel_branches);
  g_test_add_func ("/schedule/an unknown operator is named", test_unknown_operator);
  g_test_add_func ("/schedule/a cycle is refused", test_cycle);
  g_test_add_func ("/devices/an absent device is an error", test_devices);
  return g_test_run ();
}
