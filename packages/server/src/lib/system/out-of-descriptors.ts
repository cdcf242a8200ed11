const codes = new Set(['EMFILE', 'ENFILE'])
/** The message of the system's loader about a native module. */
const text = /too many open files/i
const maxDepth = 8

/**
 * Tells, by an error or its cause, whether the process or the machine has no file descriptor left.
 * There may be one a moment later.
 */
export function isOutOfDescriptors(error: unknown): boolean {
  let cause = error
  for (let depth = 0; depth < maxDepth && cause instanceof Error; depth++) {
    if (codes.has(String((cause as NodeJS.ErrnoException).code)) || text.test(cause.message))
      return true
    cause = cause.cause
  }
  return false
}
