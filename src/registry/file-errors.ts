/** What the disk says, for the person who can mend it. */
import { isServingError, ServingError } from '../errors.ts';

export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** `doing` reads as "writing /models/a"; the error itself where it is no error of the disk. */
export function asFileError(error: unknown, doing: string): unknown {
  if (isServingError(error)) return error;
  switch (errnoOf(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new ServingError(
        'DISK_FULL',
        `${doing}: the disk (or quota) is full; free space and run it again, which goes on where it stopped`,
      );
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new ServingError(
        'REGISTRY_ACCESS_DENIED',
        `${doing}: this user may not (${errnoOf(error)}); give it rights there`,
      );
    case 'EIO':
    case 'ESTALE':
      return new ServingError('REGISTRY_UNAVAILABLE', `${doing}: the disk or its network fails (${errnoOf(error)})`);
    default:
      return error;
  }
}
