/**
 * SIGUSR2 switches the log of a running program to DEBUG, and the next one back to the level it was started with (to INFO where
 * that is DEBUG). Nothing else changes: no restart, no lost work.
 */
import type { LogLevel } from '../src/config/setting.ts';
import type { LevelledLog } from '../src/telemetry/logger.ts';

/** Pure: the level after one more signal. */
export function levelAfterSignal(current: LogLevel, started: LogLevel): LogLevel {
  if (current !== 'DEBUG') return 'DEBUG';
  return started === 'DEBUG' ? 'INFO' : started;
}

export function switchLevelOnSignal(log: LevelledLog): void {
  const started = log.level;
  process.on('SIGUSR2', () => {
    const level = levelAfterSignal(log.level, started);
    // While DEBUG holds, so that it is seen whichever way it goes.
    if (log.level === 'DEBUG') log.info('log level changed', { to: level });
    log.setLevel(level);
    if (level === 'DEBUG') log.info('log level changed', { to: level });
  });
}
