import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  emailKey,
  emailViolation,
  loginNameKind,
  passwordViolation,
  registrationSign,
  usernameKey,
  usernameViolation,
} from './user-model.js'

const noRules = { reservedPrefixes: [] }
const ideographBeyond16Bits = '\u{20BB7}'

describe('usernameViolation', () => {
  it.each([
    'a',
    '_',
    '用',
    '1a',
    'Alice_2',
    '张三',
    '用户1',
    'x'.repeat(64),
    ideographBeyond16Bits.repeat(64),
  ])('accepts %j', (username) => {
    expect(usernameViolation(username, noRules)).toBeNull()
  })

  it.each([
    ['', 'username must have 1 to 64 characters'],
    ['x'.repeat(65), 'username must have 1 to 64 characters'],
    [ideographBeyond16Bits.repeat(65), 'username must have 1 to 64 characters'],
    ['7', 'username must contain a character that is not a digit'],
    ['13812345678', 'username must contain a character that is not a digit'],
    ['a b', 'username must consist of letters, digits, underscores and CJK ideographs'],
    [' a', 'username must consist of letters, digits, underscores and CJK ideographs'],
    ['a\n', 'username must consist of letters, digits, underscores and CJK ideographs'],
    ['a@b', 'username must consist of letters, digits, underscores and CJK ideographs'],
    ['+1a', 'username must consist of letters, digits, underscores and CJK ideographs'],
    ['a-b', 'username must consist of letters, digits, underscores and CJK ideographs'],
    ['a%', 'username must consist of letters, digits, underscores and CJK ideographs'],
    ['naïve', 'username must consist of letters, digits, underscores and CJK ideographs'],
    ['😀', 'username must consist of letters, digits, underscores and CJK ideographs'],
    ['１２', 'username must consist of letters, digits, underscores and CJK ideographs'],
  ])('refuses %j', (username, text) => {
    expect(usernameViolation(username, noRules)).toBe(text)
  })

  it('refuses reserved prefixes without regard to case, at the beginning only', () => {
    const rules = { reservedPrefixes: ['admin', '系统'] }
    expect(usernameViolation('admin', rules)).toBe('username must not start with admin')
    expect(usernameViolation('AdMinistrator', rules)).toBe('username must not start with admin')
    expect(usernameViolation('系统消息', rules)).toBe('username must not start with 系统')
    expect(usernameViolation('my_admin', rules)).toBeNull()
    expect(usernameViolation('adm', rules)).toBeNull()
  })

  it('lets no user take a name that a login would read as a mobile number or an e-mail address', () => {
    const names = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 70 }),
      fc.string({ unit: fc.constantFrom(...'0123456789+@_aZ用'), minLength: 1, maxLength: 12 }),
    )
    fc.assert(
      fc.property(names, (name) => {
        if (usernameViolation(name, noRules) === null) expect(loginNameKind(name)).toBe('username')
      }),
    )
  })
})

describe('usernameKey', () => {
  it('is the same for names that differ in case only', () => {
    expect(usernameKey('ALICE_用')).toBe(usernameKey('alice_用'))
    expect(usernameKey('alice')).not.toBe(usernameKey('alice_'))
  })

  it('is the same for names that are compatible', () => {
    expect(usernameKey('\uf900')).toBe(usernameKey('\u8c48'))
    expect(usernameKey('\uff21lice')).toBe('alice')
  })
})

describe('emailKey', () => {
  it.each([
    ['', ''],
    ['Alice@Example.ORG', 'alice@example.org'],
    ['alice@example.org.', 'alice@example.org'],
    ['alice@b\u00fccher.example', 'alice@xn--bcher-kva.example'],
    ['alice@example\u3002org', 'alice@example.org'],
    ['Al.I+ce@x', 'al.i+ce@x'],
    ['alice@[IPv6:2001:db8::1]', 'alice@[ipv6:2001:db8::1]'],
    ['alice@a/b', 'alice@a/b'],
    ['alice', 'alice'],
  ])('makes of %j %j', (email, key) => {
    expect(emailKey(email)).toBe(key)
  })
})

describe('emailViolation', () => {
  it.each([
    '',
    'alice@example.org',
    'alice@localhost',
    'alice@[192.0.2.7]',
    '\u7528@\u4f8b.example',
    'alice@xn--fsq.example',
  ])('accepts %j', (email) => {
    expect(emailViolation(email)).toBeNull()
  })

  it.each([
    'alice@a/b',
    'alice@%61',
    'alice@xn--a.example',
    'alice@xn--.example',
    'alice@example.xn--abc-',
    'alice@XN--ASDF',
    'alice@b\u00fccher.xn--0.example',
    'alice@xn--xn--a--gua.example',
    'a\uff20b@c',
    'alice@a\u200b',
    'a\u0007@b',
  ])('refuses %j', (email) => {
    expect(emailViolation(email)).toMatch(/^email must /)
  })
})

describe('passwordViolation', () => {
  it.each([
    ['x'.repeat(5), 6, 'password must have 6 to 128 characters'],
    ['x'.repeat(6), 6, null],
    ['x'.repeat(11), 12, 'password must have 12 to 128 characters'],
    ['x'.repeat(128), 6, null],
    ['x'.repeat(129), 6, 'password must have 6 to 128 characters'],
    ['😀'.repeat(5), 6, 'password must have 6 to 128 characters'],
    ['😀'.repeat(128), 6, null],
  ])('accepts or refuses %j with a minimum of %d', (password, minLength, text) => {
    expect(passwordViolation(password, minLength)).toBe(text)
  })

  it('names the parameter that contains the password', () => {
    expect(passwordViolation('x', 6, 'new_password')).toBe(
      'new_password must have 6 to 128 characters',
    )
  })
})

describe('loginNameKind', () => {
  it.each([
    ['alice', 'username'],
    ['1a', 'username'],
    ['用户', 'username'],
    ['13812345678', 'mobile'],
    ['+15551234567', 'mobile'],
    ['7', 'mobile'],
    ['alice@example.org', 'email'],
    ['1@2', 'email'],
  ])('takes %j for a %s', (name, kind) => {
    expect(loginNameKind(name)).toBe(kind)
  })
})

describe('registrationSign', () => {
  it('is the lower-case hex HMAC-SHA256 of app_id, a line feed and the username (rule D8)', () => {
    const expected = createHmac('sha256', 'secret').update('demo\nalice_用').digest('hex')
    expect(registrationSign('secret', 'demo', 'alice_用')).toBe(expected)
    expect(expected).toMatch(/^[0-9a-f]{64}$/)
  })
})
