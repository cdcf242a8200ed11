import type { CoreContext } from './core-context.js'

/** Returns a random time before the next try, up to a bound that doubles with each failure from 1 s to a minute. */
export function backOffMs({ random }: Pick<CoreContext, 'random'>, failures: number): number {
  return 250 + Math.floor(random() * Math.min(60_000, 1_000 * 2 ** Math.min(failures, 6)))
}
