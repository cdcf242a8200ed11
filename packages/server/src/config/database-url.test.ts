import { describe, expect, it } from 'vitest'
import { databaseUrlProblem } from './database-url.js'

describe('databaseUrlProblem', () => {
  it.each([
    'postgres://hermod:password@127.0.0.1:5432/hermod',
    'postgresql://hermod@db.example.org/hermod?sslmode=verify-full&sslrootcert=/etc/a@b.pem',
    'postgres://hermod:p%40%2Fss@[::1]:5432/hermod',
    'postgres://hermod:p@ss@127.0.0.1/hermod',
    'postgres://hermod:100%sure@127.0.0.1/hermod',
    'postgres://127.0.0.1',
    'postgres:///hermod?host=/var/run/postgresql',
    'postgres://hermod@/hermod?host=/var/run/postgresql&port=5433',
    'postgres://%2Fvar%2Frun%2Fpostgresql/hermod',
    'postgres://hermod:password@127.0.0.1/hermod?options=-c%20search_path%3Dchat',
  ])('accepts %s', (url) => {
    expect(databaseUrlProblem(url)).toBeNull()
  })

  it.each([
    ['mysql://hermod@127.0.0.1/hermod', 'must be a postgres:// or postgresql:// URL'],
    ['127.0.0.1:5432/hermod', 'must be a postgres:// or postgresql:// URL'],
    ['postgres://hermod:pass word@127.0.0.1/hermod', '%20'],
    ['postgres://hermod:pa/ss@127.0.0.1/hermod', '%2F'],
    ['postgres://hermod:12/ss@127.0.0.1/hermod', '%2F'],
    ['postgres://hermod:p@s/s@127.0.0.1/hermod', '%2F'],
    ['postgres://hermod:pa#ss@127.0.0.1/hermod', '%23'],
    ['postgres://hermod:pa?ss@127.0.0.1/hermod', '%3F'],
    ['postgres://hermod:p@127.0.0.1:5432,127.0.0.2:5432/hermod', 'several hosts'],
    ['postgres://hermod:p@one.example,two.example/hermod', 'several hosts'],
    ['postgres:///hermod?host=one.example,two.example', 'several hosts'],
    ['postgres://hermod:p@127.0.0.1:port/hermod', 'a host or port that cannot be read'],
    ['postgres://hermod:p@127.0.0.1/hermod/', 'name of its database'],
    ['postgres://hermod:p@127.0.0.1/hermod?schema=chat', 'has the parameter schema'],
    ['postgres://hermod:p%E4ss@127.0.0.1/hermod', 'write %25'],
  ])('refuses %s', (url, problem) => {
    expect(databaseUrlProblem(url)).toContain(problem)
  })
})
