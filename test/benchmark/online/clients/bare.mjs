/** The bare call, as most would write it: @grpc/grpc-js and @grpc/proto-loader, one client, one unary call a query. */
import { fileURLToPath } from 'node:url';
import { credentials, loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { measure, queryOf } from './measure.mjs';

const spec = JSON.parse(process.argv[2]);
const folder = fileURLToPath(new URL('../../../../proto', import.meta.url));
const definition = loadSync('grpc_service.proto', { includeDirs: [folder], keepCase: true, longs: Number });
const { inference } = loadPackageDefinition(definition);
const client = new inference.GRPCInferenceService(spec.target, credentials.createInsecure());

function embed(index) {
  const text = Buffer.from(queryOf(index));
  const element = Buffer.alloc(4 + text.length);
  element.writeUInt32LE(text.length);
  text.copy(element, 4);
  const request = {
    model_name: spec.model,
    inputs: [{ name: 'TEXT', datatype: 'BYTES', shape: [1, 1] }],
    outputs: [{ name: 'EMBEDDING' }],
    raw_input_contents: [element],
  };
  return new Promise((resolve, reject) => {
    client.ModelInfer(request, { deadline: Date.now() + 5_000 }, (error, response) => {
      if (error) reject(error);
      else resolve(response.raw_output_contents[0].length > 0 ? 'embed' : 'empty');
    });
  });
}

await measure(spec, embed);
client.close();
