/** The package has no types of its own. */
declare module 'kafkajs-snappy' {
  const codec: () => {
    compress(encoder: { readonly buffer: Buffer }): Promise<Uint8Array>;
    decompress(packed: Buffer): Promise<Uint8Array>;
  };
  export = codec;
}
