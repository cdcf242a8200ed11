import { randomBytes } from 'node:crypto'

/** Cheap IDs that are unique over restarts: a random part per process and a counter. */
export function createRequestIds(): () => string {
  const process = randomBytes(6).toString('hex')
  let count = 0
  return () => `${process}-${(++count).toString(36)}`
}
