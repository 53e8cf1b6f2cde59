/** Public surface for the search side. Everything not listed here is private. */
export { type ErrorCode, ServingError } from '../src/errors.ts';
export { DEFAULT_RRF_K, type FusedResult, type FuseOptions, fuse } from './fuse.ts';
