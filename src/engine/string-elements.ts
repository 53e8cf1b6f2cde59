/**
 * Splits a serialised BYTES tensor into views of its elements, refusing what Triton refuses, in its words.
 *
 * Not src/kserve's decoder: that one serves our own clients and has their error class.
 */
import { invalidArgument } from './wire-fault.ts';

export type ElementOwner = { readonly input: string; readonly model: string; readonly prefix: string };

/** `payload`: the serialised tensor, or its elements where the request gave typed contents. */
export function readStringElements(
  payload: Uint8Array | readonly Uint8Array[],
  count: number,
  owner: ElementOwner,
): readonly Uint8Array[] {
  const elements = payload instanceof Uint8Array ? split(payload, count, owner) : payload;
  if (elements.length > count) throw tooMany(elements.length, count, owner);
  if (elements.length === count && count > 0) return elements;
  throw invalidArgument(
    `${owner.prefix} expected ${Math.max(count, 1)} string elements for inference input '${owner.input}' for model '${owner.model}', got ${elements.length}`,
  );
}

function split(bytes: Uint8Array, count: number, owner: ElementOwner): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const elements: Uint8Array[] = [];
  let at = 0;
  while (at < bytes.byteLength) {
    if (elements.length === count) throw tooMany(count + 1, count, owner);
    const left = bytes.byteLength - at;
    if (left < 4) {
      throw invalidArgument(
        `incomplete string length indicator for inference input '${owner.input}', expecting 4 bytes but only ${left} bytes available`,
      );
    }
    const length = view.getUint32(at, true);
    if (length > left - 4) {
      throw invalidArgument(
        `incomplete string data for inference input '${owner.input}', expecting string of length ${length} but only ${left - 4} bytes available`,
      );
    }
    elements.push(bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return elements;
}

function tooMany(found: number, count: number, { input, model, prefix }: ElementOwner) {
  return invalidArgument(
    `${prefix} unexpected number of string elements ${found} for inference input '${input}' for model '${model}', expecting ${count}`,
  );
}
