import { describe, expect, it } from 'vitest'
import { BackupError } from './backup-error.js'
import { type Manifest, manifestText, parseManifest } from './manifest.js'

const hash = 'a'.repeat(64)
const manifest: Manifest = {
  format: 1,
  created_at: '2026-11-29T16:00:00.000Z',
  version: '0.1.0',
  schema: { number: 1, name: '001-initial-0123456789ab' },
  engine: 'sqlite',
  epoch: '0d6c1a52-6f0f-4b57-8c0a-3f4a2f0a9d10',
  secret_key_fingerprint: 'k3f9a1bc',
  parts: ['hermod.db', 'files.ndjson'].map((name) => ({ name, size: 4096, sha256: hash })),
  digest: { users: { count: 2, sum: hash } },
  positions: { test: 7 },
  newest_message: { at: '2026-11-29T15:59:59.000Z', msg_id: 1_540_000_000_000_001 },
  files: { store: 'folder', count: 3, bytes: 30, missing: 0 },
  key_inside: false,
}
const encryption: NonNullable<Manifest['encryption']> = {
  kdf: { name: 'scrypt', n: 2 ** 17, r: 8, p: 1, salt: 'b'.repeat(32) },
  data_key: 'c'.repeat(120),
  files: { id: 'd'.repeat(16), key: 'e'.repeat(120) },
  mac: hash,
}
const changed = (change: object) => JSON.stringify({ ...manifest, ...change })

describe('manifest.json', () => {
  it('is read as it was written', () => {
    for (const each of [manifest, { ...manifest, encryption }])
      expect(parseManifest(manifestText(each))).toEqual(each)
  })

  it('is read with the ID of a key that begins with any of its letters', () => {
    for (const secret_key_fingerprint of ['_k3f9a1b', '-k3f9a1b', 'Zk3f9a_-'])
      expect(parseManifest(changed({ secret_key_fingerprint }))).toMatchObject({
        secret_key_fingerprint,
      })
  })

  it.each([
    ['created_at', 'yesterday'],
    ['version', ''],
    ['version', '1.0\u001b[2J'],
    ['schema', { number: 1 }],
    ['engine', 'mysql'],
    ['epoch', null],
    ['secret_key_fingerprint', 3],
    ['secret_key_fingerprint', 'k3f\u001b[2J'],
    ['parts', [{ name: '../hermod.db', size: 1, sha256: hash }]],
    ['parts', [{ name: 'hermod.db', size: -1, sha256: hash }]],
    ['parts', [{ name: 'hermod.db', size: 1, sha256: 'ab' }]],
    ['digest', { users: { count: 1 } }],
    ['positions', { test: '7' }],
    ['newest_message', { at: '2026-11-29T15:59:59Z' }],
    ['files', { store: 'folder', count: 3, bytes: 30, missing: 0, more: 1 }],
    ['key_inside', 'no'],
    ['encryption', { ...encryption, mac: '' }],
    ['encryption', { ...encryption, data_key: 'x'.repeat(120) }],
    ['encryption', { ...encryption, files: { ...encryption.files, id: '../files' } }],
    // Memory that a stranger chooses.
    ['encryption', { ...encryption, kdf: { ...encryption.kdf, n: 2 ** 24 } }],
    ['encryption', { ...encryption, kdf: { ...encryption.kdf, r: 1024 } }],
    ['encryption', { ...encryption, kdf: { ...encryption.kdf, p: 1024 } }],
    ['encryption', { ...encryption, kdf: { ...encryption.kdf, n: 2 } }],
  ])('with a bad %s is refused by its name', (field, value) => {
    expect(() => parseManifest(changed({ [field]: value }))).toThrow(`bad field ${field}`)
  })

  it.each([
    [
      'hermod.db twice',
      ['hermod.db', 'hermod.db', 'files.ndjson'],
      'lists the part hermod.db twice',
    ],
    ['no hermod.db', ['files.ndjson'], 'does not list the part hermod.db'],
    ['no files.ndjson', ['hermod.db'], 'does not list the part files.ndjson'],
    ...['secret.key', 'hermod.db-wal'].map((name): [string, string[], string] => [
      name,
      ['hermod.db', 'files.ndjson', name],
      `lists the part ${name}, which no backup has`,
    ]),
  ])('with %s is refused by the name of the part', (_, names, text) => {
    const parts = names.map((name) => ({ name, size: 1, sha256: hash }))
    expect(() => parseManifest(changed({ parts }))).toThrow(text)
    expect(() => parseManifest(changed({ parts }))).toThrow(BackupError)
  })

  it('without a field, or with an unknown one, is refused by its name', () => {
    expect(() => parseManifest(changed({ epoch: undefined }))).toThrow('bad field epoch')
    expect(() => parseManifest(changed({ more: 1 }))).toThrow('unknown field more')
  })

  it('of a newer format says to use the newer build', () => {
    expect(() => parseManifest(changed({ format: 2 }))).toThrow('use the newer build')
  })
})
