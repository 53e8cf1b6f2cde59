/**
 * The library with the operators that a tokenizer graph needs, for the server to load: onnxruntime-extensions.
 *
 * It is taken out of the Java package, since the one of the Python wheel asks for symbols of Python and so cannot be loaded
 * by Triton. It is for Linux on x86-64.
 */
import { join } from 'node:path';
import type { Report } from '../stack/cache.ts';
import { jarFiles } from '../stack/maven.ts';

export const EXTENSIONS_VERSION = '0.13.0';
export const EXTENSIONS_SHA256 = '3b08d44f849f3400b338edbd147654c60d83cf704796967dcd4c21114e231d66';
/** Its name in a model folder. */
export const LIBRARY_FILE = 'libonnxruntime_extensions.so';

const MEMBER = 'ai/onnxruntime/extensions/native/linux-x64/libonnxruntime_extensions4j_jni.so';

/** Path of the library in the cache, fetched when missing. Throws DEPENDENCY_MISSING saying what to install. */
export async function operatorLibrary(report: Report): Promise<string> {
  const folder = await jarFiles(
    {
      artifact: `com.microsoft.onnxruntime:onnxruntime-extensions:${EXTENSIONS_VERSION}`,
      what: `onnxruntime-extensions ${EXTENSIONS_VERSION}`,
      files: [{ member: MEMBER, name: LIBRARY_FILE, sha256: EXTENSIONS_SHA256 }],
    },
    report,
  );
  return join(folder, LIBRARY_FILE);
}
