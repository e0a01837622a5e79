// Tensors from and to files on disk, by path.
import type { Tensor } from '../tensor.ts';
import { readBytes, writeBytes } from './bytes.ts';
import { decodeNpy, encodeNpy } from './npy.ts';
import { decodeSafetensors, encodeSafetensors } from './safetensors.ts';
import type { SafeTensors } from './safetensors.ts';

/** The array of an .npy file. */
export const loadNpy = async (path: string | URL): Promise<Tensor> => decodeNpy(await readBytes(path));

/** Writes a tensor as an .npy file. */
export const saveNpy = (path: string | URL, tensor: Tensor): Promise<void> => writeBytes(path, encodeNpy(tensor));

/** The tensors of a .safetensors file. */
export const loadSafetensors = async (path: string | URL): Promise<SafeTensors> =>
  decodeSafetensors(await readBytes(path));

/** Writes named tensors as a .safetensors file. */
export const saveSafetensors = (
  path: string | URL,
  tensors: ReadonlyMap<string, Tensor> | Readonly<Record<string, Tensor>>,
  metadata: Readonly<Record<string, string>> = {},
): Promise<void> => writeBytes(path, encodeSafetensors(tensors, metadata));
