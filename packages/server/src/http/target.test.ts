import { describe, expect, it } from 'vitest'
import { originForm } from './target.js'

describe('originForm', () => {
  it.each([
    ['/token/id', '/token/id'],
    ['/a?b=http://c', '/a?b=http://c'],
    ['//a/b', '//a/b'],
    ['*', '*'],
    ['http://example.org/token/id?x=1', '/token/id?x=1'],
    ['HTTPS://example.org:8443/a', '/a'],
    ['http://example.org', '/'],
    ['http://example.org?x=1', '/?x=1'],
    ['http://[::1]:80/a', '/a'],
    ['ftp://example.org/a', 'ftp://example.org/a'],
  ])('makes of %j %j', (url, expected) => {
    expect(originForm(url)).toBe(expected)
  })
})
