import { expect, test } from 'vitest'
import { parseExactJson, stringifyExactJson } from './exact-json.js'

test('integers beyond 2^53 keep every digit', () => {
  expect(
    parseExactJson('{"a":9007199254740993,"b":[-9223372036854775808,9007199254740991,1.5]}'),
  ).toEqual({
    a: 9007199254740993n,
    b: [-9223372036854775808n, 9007199254740991, 1.5],
  })
})

test('digits inside strings stay strings', () => {
  const text = '{"a":"9007199254740993","b":"quote \\" 9007199254740993","9007199254740993":0}'
  expect(parseExactJson(text)).toEqual({
    a: '9007199254740993',
    b: 'quote " 9007199254740993',
    '9007199254740993': 0,
  })
})

test('fractions and exponents are ordinary numbers', () => {
  expect(parseExactJson('[0.1234567890123456,1234567890123456.5,1234567890123456e2]')).toEqual([
    0.1234567890123456, 1234567890123456.5, 1234567890123456e2,
  ])
})

test('bigints are written as integers', () => {
  expect(stringifyExactJson({ a: 9007199254740993n, b: ['text', -1n] })).toBe(
    '{"a":9007199254740993,"b":["text",-1]}',
  )
})

test('broken JSON is refused', () => {
  expect(() => parseExactJson('{"a":9007199254740993')).toThrow(SyntaxError)
})
