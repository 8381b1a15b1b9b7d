/* How many warps of a kernel a multiprocessor can hold at once. Sources: CUDA C Programming Guide, technical
 * specifications per compute capability; cuda_occupancy.h of the toolkit (sizes in which registers and shared memory are
 * given out, and blocks of a multiprocessor). */
#include "config.h"

#include "core/exec/gpu/occupancy.h"

#define REGISTERS         65536 /* of a multiprocessor, in four parts */
#define PARTS             4
#define REGISTERS_AT_ONCE 256 /* that a warp gets */
#define KIB               1024

/* clang-format off */
static const struct
{
  int architecture;
  guint warps, blocks, shared_kib; /* of a multiprocessor */
  guint shared_at_once, shared_own; /* bytes that a block gets at once, and that the driver keeps of each */
} rows[] = {
  { 75, 32, 16, 64, 256, 0 },
  { 80, 64, 32, 164, 128, KIB },
  { 86, 48, 16, 100, 128, KIB },
  { 87, 48, 16, 164, 128, KIB },
  { 89, 48, 24, 100, 128, KIB },
  { 90, 64, 32, 228, 128, KIB },
  { 100, 64, 32, 228, 128, KIB },
  { 103, 64, 32, 228, 128, KIB },
  { 120, 48, 24, 100, 128, KIB },
  { 121, 48, 24, 100, 128, KIB },
};
/* clang-format on */

static guint64
round_up (guint64 n, guint64 by)
{
  return (n + by - 1) / by * by;
}

/**
 * ir_gpu_occupancy:
 * @architecture: 90 for sm_90
 * @threads: of a block
 * @registers: of a thread
 * @shared_bytes: of a block
 * @occupancy: (out): what a multiprocessor holds
 *
 * Returns: %FALSE for architectures whose sizes are not known here
 */
gboolean
ir_gpu_occupancy (int architecture,
                  guint threads,
                  guint registers,
                  guint64 shared_bytes,
                  IrGpuOccupancy *occupancy)
{
  guint row = 0;

  while (row < G_N_ELEMENTS (rows) && rows[row].architecture != architecture)
    row++;
  if (row == G_N_ELEMENTS (rows) || threads == 0)
    return FALSE;
  const guint warps = (threads + 31) / 32;
  const guint64 warp_registers = round_up (MAX (registers, 1) * 32, REGISTERS_AT_ONCE);
  const guint64 shared = round_up (shared_bytes + rows[row].shared_own, rows[row].shared_at_once);
  const struct
  {
    const char *by;
    guint64 blocks;
  } limits[] = {
    { "threads", rows[row].warps / warps },
    { "blocks", rows[row].blocks },
    { "registers", REGISTERS / PARTS / warp_registers * PARTS / warps },
    { "shared memory", shared > 0 ? rows[row].shared_kib * KIB / shared : G_MAXUINT },
  };
  guint least = 0;
  for (guint i = 1; i < G_N_ELEMENTS (limits); i++)
    if (limits[i].blocks < limits[least].blocks)
      least = i;
  *occupancy = (IrGpuOccupancy){ (guint) limits[least].blocks * warps, rows[row].warps,
                                 limits[least].by };
  return TRUE;
}
