import { AppError } from '@hermod/protocol'
import type { HealthObserver } from '../../db/health.js'
import type { LostRow } from '../../db/identity/identity-store.js'
import { LineLimit } from '../../observability/line-limit.js'
import type { Logger } from '../../observability/log.js'

/** Apps of a lost history that are logged. */
const loggedRows = 20

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

/** Logs the rows that the database has lost. */
export function lostHistoryLog(
  log: Logger,
): (lost: readonly LostRow[], epoch: string | null) => void {
  return (lost, epoch) => {
    const rows = lost.slice(0, loggedRows).map(({ appId: app, position, time, head, timeNow }) => ({
      ...{ app, position, time: dateText(time), head },
      ...(timeNow !== null && { timeNow: dateText(timeNow) }),
    }))
    log.error(
      { lost: rows, apps: lost.length, ...(epoch !== null && { epoch }) },
      'the database has lost events that this node has had, as after a failover to a standby that lagged; all devices load everything again, and hermod check reports the loss until it is acknowledged',
    )
  }
}

function dateText(time: number): string | null {
  return time === 0 ? null : new Date(time).toISOString()
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
