import type { AppError } from '@hermod/protocol'
import { stringifyJson } from '../lib/json.js'

/** `envelope`: failures are HTTP 200; `mirror`: they have their own HTTP class (rule A1). */
export type StatusMode = 'envelope' | 'mirror'

/** A failure on HTTP. */
export interface FailureAnswer {
  readonly status: number
  readonly retryAfterSeconds: number | undefined
  /** The envelope as JSON text. */
  readonly body: string
}

/** The wait after a short condition, such as a full queue. */
const briefWaitSeconds = 1

/**
 * Returns the answer of a failure: nearly always HTTP 200 with its code, and a real status where no
 * operation was involved (rule A2).
 */
export function failureAnswer(error: AppError, mode: StatusMode): FailureAnswer {
  const { entry, options } = error
  return {
    status: entry.always || mode === 'mirror' ? entry.http : 200,
    retryAfterSeconds:
      options.retryAfterSeconds ?? (entry.always && entry.retryable ? briefWaitSeconds : undefined),
    body: stringifyJson({
      code: entry.code,
      data: null,
      message: error.message,
      ...options.members,
    }),
  }
}
