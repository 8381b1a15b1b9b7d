/* The GPUs of the machine, and what can be compiled for. */
#include "config.h"

#include "core/exec/gpu/devices.h"

/* Of CUdevice_attribute, in the driver's header. */
typedef enum
{
  MULTIPROCESSOR_COUNT = 16,
  L2_CACHE_SIZE = 38,
  COMPUTE_CAPABILITY_MAJOR = 75,
  COMPUTE_CAPABILITY_MINOR = 76
} Attribute;

static void
device_free (gpointer data)
{
  IrGpuDevice *device = data;

  g_free (device->name);
  g_free (device);
}

static IrGpuDevice *
ask (const IrGpu *gpu, int index, GError **error)
{
  char name[256] = "";
  int id, major, minor, n, cache;
  size_t bytes;
  IrGpuDevice *device;

  if (!IR_GPU_CALL (gpu, cuDeviceGet, error, &id, index) ||
      !IR_GPU_CALL (gpu, cuDeviceGetName, error, name, sizeof name - 1, id) ||
      !IR_GPU_CALL (gpu, cuDeviceTotalMem_v2, error, &bytes, id) ||
      !IR_GPU_CALL (gpu, cuDeviceGetAttribute, error, &major, COMPUTE_CAPABILITY_MAJOR, id) ||
      !IR_GPU_CALL (gpu, cuDeviceGetAttribute, error, &minor, COMPUTE_CAPABILITY_MINOR, id) ||
      !IR_GPU_CALL (gpu, cuDeviceGetAttribute, error, &n, MULTIPROCESSOR_COUNT, id) ||
      !IR_GPU_CALL (gpu, cuDeviceGetAttribute, error, &cache, L2_CACHE_SIZE, id))
    return NULL;
  device = g_new0 (IrGpuDevice, 1);
  device->index = index;
  device->name = g_utf8_make_valid (name, -1);
  device->major = major;
  device->minor = minor;
  device->n_multiprocessors = n;
  device->bytes = bytes;
  device->cache_bytes = (guint64) MAX (cache, 0);
  return device;
}

/**
 * ir_gpu_devices:
 * @gpu: the libraries
 * @error: return location for an error
 *
 * Fails with %IR_EXEC_ERROR_DEVICE without a driver, and where the driver fails.
 *
 * Returns: (transfer full) (nullable) (element-type IrGpuDevice): the devices; none is no error
 */
GPtrArray *
ir_gpu_devices (const IrGpu *gpu, GError **error)
{
  const IrGpuLibrary *driver = &gpu->libraries[IR_GPU_DRIVER];
  g_autoptr (GPtrArray) devices = g_ptr_array_new_with_free_func (device_free);
  int n = 0;

  if (driver->state != IR_GPU_USABLE)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE, "%s%s%s: %s", driver->title,
                   driver->path != NULL ? " " : "", driver->path != NULL ? driver->path : "",
                   driver->reason);
      return NULL;
    }
  if (!IR_GPU_CALL (gpu, cuDeviceGetCount, error, &n))
    return NULL;
  for (int i = 0; i < n; i++)
    {
      IrGpuDevice *device = ask (gpu, i, error);
      if (device == NULL)
        return NULL;
      g_ptr_array_add (devices, device);
    }
  return g_steal_pointer (&devices);
}

/**
 * ir_gpu_architectures:
 * @gpu: the libraries
 * @error: return location for an error
 *
 * Fails with %IR_EXEC_ERROR_DEVICE without NVRTC.
 *
 * Returns: (transfer full) (nullable) (element-type int): what NVRTC compiles for, ascending: 90 is
 *   sm_90
 */
GArray *
ir_gpu_architectures (const IrGpu *gpu, GError **error)
{
  const IrGpuLibrary *nvrtc = &gpu->libraries[IR_GPU_NVRTC];
  g_autoptr (GArray) architectures = g_array_new (FALSE, TRUE, sizeof (int));
  int n = 0;

  if (nvrtc->state != IR_GPU_USABLE)
    {
      g_set_error (error, IR_EXEC_ERROR, IR_EXEC_ERROR_DEVICE, "%s: %s", nvrtc->title,
                   nvrtc->reason);
      return NULL;
    }
  if (!IR_GPU_CALL (gpu, nvrtcGetNumSupportedArchs, error, &n))
    return NULL;
  g_array_set_size (architectures, (guint) MAX (n, 0));
  if (n > 0 &&
      !IR_GPU_CALL (gpu, nvrtcGetSupportedArchs, error, (int *) (gpointer) architectures->data))
    return NULL;
  return g_steal_pointer (&architectures);
}
