import { expect, it } from 'vitest'
import { ClientError } from '../errors.js'
import { fileUrl } from './file-url.js'

const options = { url: 'https://chat.example/', appId: 'my app', token: 'a+b' }

it('fileUrl: a download address gets the token, the application and the size of a thumbnail', () => {
  const address = 'https://chat.example/file/download/chat?file_sign=abc&sign=abc'
  expect(fileUrl(address, options)).toBe(`${address}&access-token=a%2Bb&app_id=my%20app`)
  expect(fileUrl(address, { ...options, thumbnail: 99.5 })).toBe(
    `${address}&access-token=a%2Bb&app_id=my%20app&image_type=2&w=100&h=100`,
  )
})

it('fileUrl: an address without a host, or with another one, leads to the own service', () => {
  for (const host of ['', 'http://10.0.0.1:8080', 'https://evil.example', '//evil.example'])
    expect(fileUrl(`${host}/file/download/chat?sign=x`, options)).toBe(
      'https://chat.example/file/download/chat?sign=x&access-token=a%2Bb&app_id=my%20app',
    )
})

it('fileUrl: a service below a path', () => {
  const url = 'https://example.org/chat'
  expect(fileUrl(`${url}/file/download/chat?sign=x`, { ...options, url })).toMatch(
    /^https:\/\/example\.org\/chat\/file\/download\/chat\?sign=x&/,
  )
})

it('fileUrl: the stored name of an avatar', () => {
  expect(fileUrl('avatar/1 2', options)).toBe(
    'https://chat.example/file/download/avatar?object_name=avatar%2F1%202&access-token=a%2Bb&app_id=my%20app',
  )
})

it('fileUrl: its own parameters take the place of those in the address, however these are written', () => {
  const query = 'sign=x&access%2Dtoken=theirs&app_id=theirs&note=a?b&constructor=c'
  expect(fileUrl(`/file/download/chat?${query}`, options)).toBe(
    'https://chat.example/file/download/chat?sign=x&note=a?b&constructor=c&access-token=a%2Bb&app_id=my%20app',
  )
})

it('fileUrl: a path that a browser would resolve to another one has no address', () => {
  for (const path of ['/file/download/../user/list', '/file/download/%2e%2E/x', '/file/download/.'])
    expect(fileUrl(`https://chat.example${path}`, options)).toBeUndefined()
})

it('fileUrl: what an address may not have is escaped', () => {
  expect(fileUrl('https://cdn.example/a b"<ü>.png', options)).toBe(
    'https://cdn.example/a%20b%22%3C%C3%BC%3E.png',
  )
})

it('fileUrl: addresses of other services get no token, and scripts no address', () => {
  expect(fileUrl('https://cdn.example/a.png', options)).toBe('https://cdn.example/a.png')
  for (const address of ['', 'javascript:alert(1)', 'data:text/html,x', 'https://'])
    expect(fileUrl(address, options)).toBeUndefined()
})

it.each(['/avatars/a.png', '/', 'http:a.png'])(
  'fileUrl: %s, which has no host and is no download, has no address',
  (file) => {
    expect(fileUrl(file, options)).toBeUndefined()
  },
)

it('fileUrl: without a token there is no address of the service yet', () => {
  expect(fileUrl('/file/download/chat?sign=x', { ...options, token: '' })).toBeUndefined()
})

it('fileUrl: wrong arguments are named', () => {
  expect(() => fileUrl(5 as never, options)).toThrow(/url must be a text/)
  expect(() => fileUrl('x', { ...options, thumbnail: 5_000 })).toThrow(/thumbnail must be/)
  expect(() => fileUrl('x', { ...options, thumbnail: Number.NaN })).toThrow(ClientError)
})
