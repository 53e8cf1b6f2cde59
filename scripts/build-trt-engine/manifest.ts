/**
 * What is known of an engine, in a file beside it. A plan has the same description of what would be built and nothing of what only
 * a build can tell, so that no reader takes it for an engine.
 */
import { z } from 'zod';
import { ENCODER_INPUTS, modelTypes } from '../model-config/tensor-contract.ts';

export const MANIFEST_FORMAT = 'rag-serving-trt-engine/1';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const file = z.object({ file: z.string().min(1), bytes: z.number().int().positive(), sha256 });
const extent = z.object({ batch: z.number().int().positive(), tokens: z.number().int().positive() });

const described = {
  format: z.literal(MANIFEST_FORMAT),
  createdAt: z.iso.datetime(),
  profile: z.enum(['online_embed', 'online_rerank', 'batch_ingestion']),
  modelType: z.enum(modelTypes),
  precision: z.enum(['fp16', 'fp32']),
  /** The ONNX file, and the one with its weights where it has one. */
  source: file,
  sourceData: file.nullable(),
  /** What the exporter wrote of the model: model, revision, tokenizer_sha256, pooling, dims, dtype … */
  fingerprint: z.record(z.string(), z.string()),
  inputs: z.array(z.enum(ENCODER_INPUTS)).min(2),
  shapes: z.object({ min: extent, opt: extent, max: extent }),
  workspaceMib: z.number().int().positive(),
  /** As it was run, or would be. */
  command: z.array(z.string()).min(1),
  /** Shapes that the graph was run at on a CPU before; null where that was not done. */
  trial: z.array(extent.extend({ ran: z.boolean() })).nullable(),
};

export const planManifestSchema = z.object({ ...described, status: z.literal('planned') });

export const engineManifestSchema = z.object({
  ...described,
  status: z.literal('built'),
  engine: file,
  /** Version of TensorRT, as 10.3.0: an engine runs with this one only. */
  tensorrt: z.string().regex(/^\d+\.\d+\.\d+$/),
  cuda: z.string().nullable(),
  driver: z.string().nullable(),
  gpu: z.object({ name: z.string().min(1), computeCapability: z.string().regex(/^\d+\.\d+$/) }),
  buildSeconds: z.number().int().nonnegative(),
});

export type PlanManifest = z.infer<typeof planManifestSchema>;
export type EngineManifest = z.infer<typeof engineManifestSchema>;
export type Described = Omit<PlanManifest, 'status'>;

export const manifestPath = (enginePath: string) => `${enginePath}.manifest.json`;
export const planPath = (enginePath: string) => `${enginePath}.plan.json`;
