import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { completeExport, type ExportManifest, readExport } from './manifest.js'
import { TransferError } from './transfer-error.js'

const hash = 'a'.repeat(64)
const fileList = { name: 'files.ndjson', size: 0, sha256: hash }
const users = { name: 'lines/users.ndjson', size: 7, sha256: hash }
const manifest: ExportManifest = {
  format: 1,
  kind: 'move',
  apps: {},
  created_at: '2026-11-29T16:00:00.000Z',
  version: '0.1.0',
  schema: { number: 1, name: '001-initial-0123456789ab' },
  engine: 'sqlite',
  epoch: '0d6c1a52-6f0f-4b57-8c0a-3f4a2f0a9d10',
  is_copy: false,
  secret_key_fingerprint: 'k3f9a1bc',
  ids_reserved_until: 7,
  parts: [users, fileList],
  digest: { users: { count: 2, sum: hash } },
  files: { store: 'folder', count: 3, bytes: 30, missing: 0 },
  dropped: { 'jobs of the kind push.send': 2 },
}

describe('the manifest of an export', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hermod-export-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  /** Reads a text with a sound mark. */
  async function read(text: string): Promise<ExportManifest> {
    await writeFile(join(folder, 'manifest.json'), text)
    await writeFile(join(folder, 'COMPLETE'), createHash('sha256').update(text).digest('hex'))
    return (await readExport(folder)).manifest
  }

  it('is read as it was written', async () => {
    await completeExport(folder, manifest)
    expect((await readExport(folder)).manifest).toEqual(manifest)
  })

  it('is read with the ID of a key that begins with any of its letters', async () => {
    for (const secret_key_fingerprint of ['_k3f9a1b', '-k3f9a1b', 'Zk3f9a_-'])
      expect(await read(JSON.stringify({ ...manifest, secret_key_fingerprint }))).toMatchObject({
        secret_key_fingerprint,
      })
  })

  it.each([
    ['format', '1'],
    ['kind', 'all'],
    ['created_at', 'yesterday'],
    ['version', ''],
    ['version', '1.0\u001b[2J'],
    ['created_at', '2026-11-29 (\u001b[2J) Z'],
    ['schema', { number: 1 }],
    ['engine', 'mysql'],
    ['epoch', undefined],
    ['is_copy', 0],
    ['secret_key_fingerprint', 3],
    ['secret_key_fingerprint', 'k3f\u001b[2J'],
    ['ids_reserved_until', -1],
    ['parts', undefined],
    ['parts', [users]],
    ['parts', [fileList, { ...users, name: 'lines/../../users.ndjson' }]],
    ['parts', [fileList, { ...users, name: '/lines/users.ndjson' }]],
    ['parts', [fileList, { ...users, size: '7' }]],
    ['parts', [fileList, { ...users, sha256: 'ab' }]],
    ['digest', { users: { count: 1 } }],
    ['files', { store: 'folder', count: 3, bytes: 30, missing: 0, more: 1 }],
    ['dropped', ['jobs']],
  ])('with a bad %s is refused by the name of the field: %j', async (field, value) => {
    const reading = read(JSON.stringify({ ...manifest, [field]: value }))
    await expect(reading).rejects.toThrow(`bad field ${field}`)
    await expect(reading).rejects.toThrow(TransferError)
  })

  it.each(['COMPLETE', 'manifest.json'])(
    'is refused when %s is a FIFO, or too long',
    async (name) => {
      await read(JSON.stringify(manifest))
      const path = join(folder, name)
      await truncate(path, 16 * 2 ** 20 + 1)
      await expect(readExport(folder)).rejects.toThrow(
        `${name} of the export in ${folder} has more than 16 MiB`,
      )
      await rm(path)
      execFileSync('mkfifo', [path])
      await expect(readExport(folder)).rejects.toThrow(
        `${name} of the export in ${folder} is no regular file`,
      )
      await rm(path)
    },
  )

  it('with an unknown field, or that is no JSON object, is refused', async () => {
    const changed = JSON.stringify({ ...manifest, more: 1 })
    await expect(read(changed)).rejects.toThrow('unknown field more')
    await expect(read('{')).rejects.toThrow('is not JSON')
    await expect(read('[]')).rejects.toThrow('is no object')
  })
})
