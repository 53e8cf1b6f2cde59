/**
 * Compression codecs for kafkajs, which brings only gzip: snappy, lz4 and zstd come from producers outside our control,
 * and a batch in a codec that is not registered crashes the consumer. We read all of them and write all but zstd.
 *
 * kafkajs keeps codecs in one table a process, so they are registered once. A batch that does not unpack is
 * KAFKA_CODEC_UNSUPPORTED: fatal, for a broken batch stays broken, and skipping it would lose its records.
 */
import { decompress as zstdDecompress } from 'fzstd';
import kafkajs from 'kafkajs';
import snappy from 'kafkajs-snappy';
import { compressFrame, decompressFrame } from 'lz4-napi';
import { ServingError } from '../errors.ts';

const { CompressionCodecs, CompressionTypes } = kafkajs;

type Packer = (encoder: { readonly buffer: Buffer }) => Promise<Buffer>;
type Unpacker = (packed: Buffer) => Promise<Buffer>;

let registered = false;

export function registerCodecs(): void {
  if (registered) return;
  registered = true;
  const { compress, decompress } = snappy();
  register(
    'snappy',
    CompressionTypes.Snappy,
    async (encoder) => toBuffer(await compress(encoder)),
    async (packed) => toBuffer(await decompress(packed)),
  );
  register('lz4', CompressionTypes.LZ4, (encoder) => compressFrame(encoder.buffer), decompressFrame);
  register('zstd', CompressionTypes.ZSTD, undefined, async (packed) => toBuffer(zstdDecompress(packed)));
}

function register(name: string, type: number, pack: Packer | undefined, unpack: Unpacker): void {
  const codec = {
    compress: async (encoder: { readonly buffer: Buffer }) => {
      if (pack === undefined) throw unsupported(`cannot write ${name}; choose gzip, snappy, lz4 or none`);
      return pack(encoder);
    },
    decompress: async (packed: Buffer) => {
      try {
        return await unpack(packed);
      } catch (error) {
        const why = error instanceof Error ? error.name : typeof error;
        throw unsupported(`cannot unpack a ${name} record batch of ${packed.byteLength} bytes (${why})`);
      }
    },
  };
  CompressionCodecs[type as keyof typeof CompressionCodecs] = () => codec;
}

function unsupported(message: string): ServingError {
  return new ServingError('KAFKA_CODEC_UNSUPPORTED', message);
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
