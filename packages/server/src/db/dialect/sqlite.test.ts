import { describe, expect, it } from 'vitest'
import { sqliteDialect } from './sqlite.js'

// Nothing is opened before the first statement.
const dialect = sqliteDialect('/nonexistent/hermod.db')

describe('errors of SQLite', () => {
  it.each([
    ['SQLITE_BUSY', 5],
    ['SQLITE_READONLY', 8],
    ['SQLITE_IOERR', 10],
    ['SQLITE_IOERR_FSYNC', 10 | (4 << 8)],
    ['SQLITE_CORRUPT', 11],
    ['SQLITE_FULL', 13],
    ['SQLITE_CANTOPEN', 14],
    ['SQLITE_NOTADB', 26],
  ])('%s means that the store is not available', (_, errcode) => {
    expect(dialect.isUnavailable(Object.assign(new Error('failed'), { errcode }))).toBe(true)
  })

  it.each(['disk I/O error', 'database or disk is full', 'database disk image is malformed'])(
    '"%s" does so too where there is no code',
    (text) => {
      expect(dialect.isUnavailable(new Error(text))).toBe(true)
    },
  )

  it('a row that its table refuses is known with and without a code', () => {
    const text = 'CHECK constraint failed: messages_after_broadcasts'
    expect(dialect.isRefused(new Error(text))).toBe(true)
    expect(dialect.isRefused(Object.assign(new Error(text), { errcode: 275 }))).toBe(true)
    expect(dialect.isRefused(Object.assign(new Error(text), { errcode: 2067 }))).toBe(false)
    expect(dialect.isUnavailable(new Error(text))).toBe(false)
  })

  it.each([
    ['SQLITE_ERROR', 1],
    ['SQLITE_CONSTRAINT_UNIQUE', 19 | (8 << 8)],
    ['SQLITE_MISMATCH', 20],
    ['SQLITE_RANGE', 25],
  ])('%s is an error of the statement', (_, errcode) => {
    expect(dialect.isUnavailable(Object.assign(new Error('failed'), { errcode }))).toBe(false)
  })

  it.each([new Error('no code'), 'text', null, undefined])(
    'what is none of SQLite says nothing about the store: %s',
    (error) => {
      expect(dialect.isUnavailable(error)).toBe(false)
      expect(dialect.isRetryable(error, 0)).toBe(false)
    },
  )
})
