import { describe, expect, it } from 'vitest'
import type { Database } from '../../db/database.js'
import { requireUsable } from './start-check.js'

/** The refusal of a database whose first connection fails. */
function refusal(failure: string | Error): Promise<string> {
  const error = typeof failure === 'string' ? new Error(failure) : failure
  const dialect = { findProblem: () => Promise.reject(error) }
  return requireUsable({ dialect } as unknown as Database, {
    name: 'of a test',
    wayBack: () => '',
  }).then(
    () => 'accepted',
    (error: Error) => error.message,
  )
}

describe('a database that cannot be used', () => {
  it('names the remedy where PostgreSQL, its driver or a pooler do not', async () => {
    expect(
      await refusal('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'),
    ).toContain('PostgreSQL asks for a password, and the URL has none')
    expect(await refusal('unsupported startup parameter: statement_timeout')).toContain(
      'name PostgreSQL itself in the URL',
    )
    expect(await refusal('database "none" does not exist')).toBe(
      'the database of a test cannot be used: database "none" does not exist',
    )
  })

  it('is not what a build that is not whole is called', async () => {
    const text = "The requested module './a.js' does not provide an export named 'b'"
    expect(await refusal(new SyntaxError(text))).toBe(
      `the build of Hermod is not whole: ${text}; build it again`,
    )
  })
})
