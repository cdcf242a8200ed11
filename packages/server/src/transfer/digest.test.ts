import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Schema } from '../db/schema.js'
import { digestDifferences, LineSum } from './digest.js'
import { LineError, lineOf, type LineRow, type LineType, lineTypes, valuesOf } from './lines.js'

function typeOf(name: keyof Schema): LineType {
  const found = lineTypes.move.find((type) => type.name === name)
  if (!found) throw new Error(`no lines of ${name}`)
  return found
}

function rowOf(type: LineType, values: LineRow): LineRow {
  const empty = type.columns.map(({ name, kind }) => [name, kind === 'text' ? '' : null] as const)
  return { ...Object.fromEntries(empty), ...values }
}

describe('a line', () => {
  it('has its members in the order of RFC 8785, and no null', () => {
    for (const type of lineTypes.move) {
      const row = rowOf(type, {})
      const members = Object.keys(JSON.parse(lineOf(type, row)))
      expect(members).toEqual([...members].sort())
      expect(members).toContain('type')
      const texts = type.columns.filter(({ kind }) => kind === 'text')
      expect(members.length).toBe(texts.length + 1)
    }
  })

  it('has 64-bit integers as texts, and other numbers as numbers', () => {
    const line = lineOf(typeOf('admin_tokens'), {
      token_id: '9223372036854775807',
      app_id: 'a',
      name: 'é"\\\u0001😀',
      token_hash: '',
      scopes: null,
      created_at: '-1',
      expires_at: null,
      revoked_at: '0',
    })
    expect(line).toBe(
      '{"app_id":"a","created_at":"-1","name":"é\\"\\\\\\u0001😀","revoked_at":"0","token_hash":"","token_id":"9223372036854775807","type":"admin_tokens"}',
    )
    expect(lineOf(typeOf('groups'), rowOf(typeOf('groups'), { type: 2 }))).toMatch(
      /"kind":2.*"type":"groups"/,
    )
  })

  it.each(lineTypes.move)('of $name gives the values of its row back', (type) => {
    const row = Object.fromEntries(
      type.columns.map(({ name, kind }, at) => [
        name,
        {
          text: `${name} é`,
          bigint: String(2n ** 63n - BigInt(at + 1)),
          integer: at,
          smallint: -at,
        }[kind],
      ]),
    )
    const values = valuesOf(type, JSON.parse(lineOf(type, row)))
    expect(values).toEqual(type.columns.map(({ name }) => row[name]))
    expect(type.columns.map(({ name }) => name)).toEqual(expect.arrayContaining([...type.key]))
  })

  it.each([
    ['of another type', { type: 'users', token_hash: 'a' }, 'has the type users'],
    [
      'with an unknown member',
      { type: 'operator_tokens', token_hash: 'a', colour: 1 },
      'has a member colour',
    ],
    [
      'with a number for a text',
      { type: 'operator_tokens', token_hash: 1 },
      'no text in token_hash',
    ],
    ['without its key', { type: 'operator_tokens', created_at: '1' }, 'has no token_hash'],
    ['with a number for an int64', { type: 'operator_tokens', created_at: 1 }, 'no bigint'],
    ['above int64', { type: 'operator_tokens', created_at: '9223372036854775808' }, 'no bigint'],
    ['with another form of 0', { type: 'operator_tokens', created_at: '-0' }, 'no bigint'],
    ['that is no object', ['operator_tokens'], 'is no object'],
  ])('%s is refused', (_, line, text) => {
    expect(() => valuesOf(typeOf('operator_tokens'), line)).toThrow(LineError)
    expect(() => valuesOf(typeOf('operator_tokens'), line)).toThrow(text)
  })
})

describe('the sum of lines', () => {
  const lines = Array.from({ length: 300 }, (_, at) => `line ${at}`)
  const sumOf = (each: readonly string[]) => {
    const sum = new LineSum()
    for (const line of each) sum.add(line)
    return sum.digest
  }

  it('is that of their hashes modulo 2^256, in any order', () => {
    const expected = lines.reduce(
      (sum, line) => sum + BigInt(`0x${createHash('sha256').update(line).digest('hex')}`),
      0n,
    )
    const sum = (expected % 2n ** 256n).toString(16).padStart(64, '0')
    expect(sumOf(lines)).toEqual({ count: 300, sum })
    expect(sumOf([...lines].reverse())).toEqual({ count: 300, sum })
    expect(sumOf([])).toEqual({ count: 0, sum: '0'.repeat(64) })
  })

  it('differs when a line is changed, missing or there twice', () => {
    const digest = { messages: sumOf(lines) }
    const differences = (changed: readonly string[]) =>
      digestDifferences(digest, { messages: sumOf(changed) })
    expect(differences(lines)).toEqual([])
    expect(differences([...lines.slice(1), 'another'])).toEqual(['messages: other rows'])
    expect(differences(lines.slice(1))).toEqual(['messages: 299 of 300 rows'])
    expect(differences([...lines, 'line 1'])).toEqual(['messages: 301 of 300 rows'])
    expect(digestDifferences(digest, {})).toEqual(['messages: 0 of 300 rows'])
  })
})
