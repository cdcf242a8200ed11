import { expect, it } from 'vitest'
import { parseAddress } from './address.js'

it('address: its parts', () => {
  expect(parseAddress('HTTPS://chat.example:8443/a/b?x=1&y#z')).toEqual({
    scheme: 'https',
    host: 'chat.example:8443',
    path: '/a/b',
    query: '?x=1&y',
  })
  expect(parseAddress('http://[::1]')).toEqual({
    ...{ scheme: 'http', host: '[::1]', path: '', query: '' },
  })
  expect(parseAddress('https://cdn.example/my file?a b')).toMatchObject({
    ...{ path: '/my file', query: '?a b' },
  })
})

it.each([
  ...['', 'chat.example', '//chat.example', '/path', 'https://', 'https:chat.example'],
  ...['javascript:alert(1)', 'ftp://chat.example', ' https://chat.example', 'https://a b/'],
  ...['https://chat.example/a/../b', 'https://chat.example/%2E%2e/b', 'https://chat.example/.'],
  ...['https://chat.example\\@evil.example/', 'https://chat.example/a\\..\\b'],
])('address: %j is none', (text) => {
  expect(parseAddress(text)).toBeUndefined()
})
