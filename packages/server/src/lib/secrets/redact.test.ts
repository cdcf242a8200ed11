import { describe, expect, it } from 'vitest'
import { redactText, redactUrl } from './redact.js'

describe('redactUrl', () => {
  it.each([
    ['postgres://user:pa%40ss@db:5432/hermod', 'postgres://user:***@db:5432/hermod'],
    [
      'postgres://db/hermod?password=hunter2&sslmode=require',
      'postgres://db/hermod?password=***&sslmode=require',
    ],
    ['postgres://user:1/secret@db/hermod', 'postgres://user:***@db/hermod'],
    ['postgres://user@db/hermod', 'postgres://user@db/hermod'],
    ['postgres://user:secret@/hermod?host=/run', 'postgres://***'],
  ])('prints %s without its password', (url, shown) => {
    expect(redactUrl(url)).toBe(shown)
  })
})

describe('redactText', () => {
  it('hides tokens and URL passwords', () => {
    expect(redactText('"hma_abc123" and http://me:pw@host/')).toBe(
      '"hma_***" and http://me:***@host/',
    )
  })

  it('leaves other text alone', () => {
    expect(redactText('http://host:80/a 70000')).toBe('http://host:80/a 70000')
  })
})
