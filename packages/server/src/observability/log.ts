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

/** Returns a logger of JSON lines on standard output. */
export function createLog(level: string): Logger {
  return pino({
    level,
    redact: { paths: secretFields.flatMap((field) => [field, `*.${field}`]), censor: '[secret]' },
  })
}
