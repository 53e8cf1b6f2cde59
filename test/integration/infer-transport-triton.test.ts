/** The transports of an inference against a real Triton, for what only it knows: how it answers on a stream. */
import { describe } from 'vitest';
import { textRequest, transportContract, transports } from '../contract/infer-transport.ts';
import { useTriton } from '../support/stack.ts';

const triton = useTriton({ models: ['batch_embedder_ensemble', 'slow'] });

describe.each(transports)('%s', (inferOver) => {
  transportContract(inferOver, () => ({
    target: triton().grpcUrl,
    embedder: 'batch_embedder_ensemble',
    slow: { target: triton().grpcUrl, request: textRequest('slow', ['x']) },
  }));
});
