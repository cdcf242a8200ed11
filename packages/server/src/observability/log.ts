import type { Writable } from 'node:stream'
import { type Logger, pino } from 'pino'

export type { Logger } from 'pino'

/** Names of fields that hold secrets anywhere in a log line. */
const secretFields = [
  'password',
  'token',
  'access_token',
  'accessToken',
  'secret',
  'authorization',
  'access-token',
]

/** The bytes of lines that wait for a reader of the log; beyond them lines are dropped. */
const maxWaitingBytes = 1024 * 1024

/**
 * Returns a logger of JSON lines on standard output. A reader that stops reading delays nothing:
 * lines beyond 1 MiB are dropped, and a line counts them when it reads again.
 */
export function createLog(level: string, output: Writable = process.stdout): Logger {
  const redact = {
    paths: secretFields.flatMap((field) => [field, `*.${field}`]),
    censor: '[secret]',
  }
  let dropped = 0
  const log = pino(
    { level, redact },
    {
      write(line: string) {
        if (output.writableLength > maxWaitingBytes) {
          dropped++
          return
        }
        output.write(line)
        if (dropped === 0) return
        const lines = dropped
        dropped = 0
        log.warn({ lines }, 'log lines were dropped because the reader of the log had stopped')
      },
    },
  )
  return log
}
