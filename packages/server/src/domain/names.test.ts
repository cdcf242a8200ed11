import { describe, expect, it } from 'vitest'
import { nameViolation } from './names.js'

describe('nameViolation', () => {
  it.each([
    '',
    'Alice',
    ' Alice  B. ',
    'علي',
    'دانش\u200cآموز',
    '👩‍👩‍👧',
    '한\u1160',
    '\u202bעברית\u202c',
    'a \u2067עברית\u2069 b',
    '\u2066a\u202eb\u202cc\u2069',
    '\u200fAlice',
  ])('accepts %j', (name) => {
    expect(nameViolation(name, 'nick_name')).toBeNull()
  })

  it.each(['a\nb', 'a\u0007b', '\u0085', 'a\u2028b', 'a\u2029b', '\u0000'])(
    'refuses %j, which is no line of text',
    (name) => {
      expect(nameViolation(name, 'nick_name')).toBe('nick_name must not contain control characters')
    },
  )

  it.each([
    ' ',
    '\u00a0\u3000',
    '\u200b',
    '\u200d\ufeff',
    '\u3164',
    '\uffa0\u115f',
    '\u2800',
    '\u00ad',
    '\ufe0f',
    '\u{e0041}',
    '\u202e\u202c',
  ])('refuses %j, of which nothing is seen', (name) => {
    expect(nameViolation(name, 'alias')).toBe(
      'alias must be empty or contain a character that is seen',
    )
  })

  it.each([
    'a\u202eb',
    'a\u202db',
    '\u202aa',
    '\u202ba',
    '\u2066a',
    '\u2067a',
    '\u2068a',
    'a\u202c',
    'a\u2069',
    '\u202ea\u2069',
    '\u2068a\u202c',
    '\u202e\u202ea\u202c',
    '\u2066\u202ea\u2069\u202c',
  ])('refuses %j, which turns the text around it', (name) => {
    expect(nameViolation(name, 'name')).toBe(
      'name must end every change of the direction of its text',
    )
  })
})
