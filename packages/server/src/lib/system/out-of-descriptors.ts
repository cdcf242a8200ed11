const codes = new Set(['EMFILE', 'ENFILE'])
/** Of what the system's loader says of a native module. */
const text = /too many open files/i
const maxDepth = 8

/** Whether the process, or the machine, has no file descriptor left, by the error or what caused it; it may have one a moment later. */
export function isOutOfDescriptors(error: unknown): boolean {
  let cause = error
  for (let depth = 0; depth < maxDepth && cause instanceof Error; depth++) {
    if (codes.has(String((cause as NodeJS.ErrnoException).code)) || text.test(cause.message))
      return true
    cause = cause.cause
  }
  return false
}
