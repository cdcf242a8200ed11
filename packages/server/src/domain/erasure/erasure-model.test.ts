import { expect, it } from 'vitest'
import { type Certificate, digestOf } from './erasure-model.js'

const certificate: Certificate = {
  ...{ app_id: 'app', user_id: 7, begun_at: 1, finished_at: 2, messages: 'delete' },
  ...{ reason: 'why', counts: { users: 1, messages: 2 }, files: 0, is_scrubbed: true, digest: '' },
}

it('the digest of a certificate depends on its values alone, not on their order or on itself', () => {
  const digest = digestOf(certificate)
  expect(digest).toMatch(/^[0-9a-f]{64}$/)
  const { counts, ...rest } = certificate
  expect(digestOf({ ...rest, counts: { messages: 2, users: 1 }, digest })).toBe(digest)
  expect(digestOf({ ...certificate, files: 1 })).not.toBe(digest)
  expect(digestOf({ ...certificate, counts: { ...counts, messages: 3 } })).not.toBe(digest)
})
