import { expect, it } from 'vitest'
import { uploadAddress } from './upload-address.js'

it.each([
  ['http://chat.example/file/upload?ticket=t', 'https://chat.example:8443'],
  ['http://10.0.0.1:8080/file/upload?ticket=t', 'https://chat.example:8443/'],
  ['/file/upload?ticket=t', 'https://chat.example:8443'],
  ['http://10.0.0.1/im/file/upload?ticket=t', 'https://chat.example/chat'],
])('a ticket of the service, %s, leads to its address %s', (ticket, service) => {
  const expected = `${service.replace(/\/$/, '')}/file/upload?ticket=t`
  expect(uploadAddress(ticket, service)).toBe(expected)
})

it.each([
  'https://bucket.s3.example/',
  'https://s3.example/file/upload',
  'http://s3.example/b?ticket=t',
])('a ticket of an object store, %s, keeps its address', (ticket) => {
  expect(uploadAddress(ticket, 'https://chat.example')).toBe(ticket)
})
