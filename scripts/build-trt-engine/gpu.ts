/**
 * The driver and the CUDA version that a build ran with. The GPU itself is named by trtexec: nvidia-smi may count the GPUs of a
 * machine in another order.
 */
import { versionOf } from '../stack/command.ts';

export type Platform = { readonly cuda: string | null; readonly driver: string | null };

/** NVIDIA's containers say which CUDA they hold; elsewhere it is the newest one that the driver can do. */
export async function readPlatform(cudaVariable: string | undefined): Promise<Platform> {
  const driver = await versionOf('nvidia-smi', ['--query-gpu=driver_version', '--format=csv,noheader']);
  const header = cudaVariable === undefined || cudaVariable === '' ? await versionOf('nvidia-smi', []) : undefined;
  return {
    cuda: cudaVariable || (/CUDA Version: (\d+\.\d+)/.exec(header ?? '')?.[1] ?? null),
    driver: driver?.split('\n')[0]?.trim() || null,
  };
}
