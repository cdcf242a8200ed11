import { AppError } from '@hermod/protocol'
import type { HealthObserver } from '../../db/health.js'
import { LineLimit } from '../../observability/line-limit.js'
import type { Logger } from '../../observability/log.js'

/**
 * Logs failures of the database: one line a second, however many calls, jobs and tasks fail with
 * it.
 */
export function databaseLog(log: Logger): HealthObserver {
  const failures = new LineLimit()
  return {
    failed(kind, cause) {
      const more = failures.next()
      if (more !== null) log.error({ kind, ...causeFields(cause), more }, 'the database has failed')
    },
    worksAgain: (ms) =>
      log.info({ seconds: Math.round(ms / 100) / 10 }, 'the database works again'),
    stalled: () => log.error('PostgreSQL does not answer; calls are refused until it does'),
  }
}

/** Logs lost idle connections, which are lost together. */
export function lostConnectionLog(log: Logger): (error: Error) => void {
  const losses = new LineLimit()
  return (error) => {
    const more = losses.next()
    if (more !== null) log.warn({ ...causeFields(error), more }, 'idle database connection lost')
  }
}

/** True for errors that {@link databaseLog} logs. */
export function isDatabaseFailure(error: unknown): boolean {
  return error instanceof AppError && error.errorName === 'storage_failed'
}

/** Without a stack, which says nothing about a database failure. */
function causeFields(cause: unknown) {
  const { message, code, errcode } = cause as {
    message?: string
    code?: unknown
    errcode?: unknown
  }
  return { cause: message, code: code ?? errcode }
}
