/** What every store of files does, as its port says; and what is only true of a folder. */
import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { crc32 } from 'node:zlib'
import { Child, isFullRun, TempFolder, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BlobStore } from '../../dist/blobs/blob-store.js'
import { DiskFloor } from '../../dist/blobs/disk-floor.js'
import { FolderStore } from '../../dist/blobs/folder-store.js'
import { SmallDisk } from '../support/database/system-faults.js'
import { blobStoreKinds, type StoreOfTest } from '../support/files/blob-stores.js'

const moverPath = fileURLToPath(new URL('../support/files/blob-mover.mjs', import.meta.url))
const contentType = 'application/octet-stream'
const anySize = { contentType, maxBytes: 1024 * 1024 * 1024 }
/** More than is read at once from a folder and than one part of an upload to S3 has. */
const largeBytes = 9 * 1024 * 1024 + 17

let number = 0
/** Below a folder of the test's own. */
function aKey(folder = 'app'): string {
  return `${folder}/${String(number++ % 32).padStart(2, '0')}/${randomBytes(13).toString('hex')}`
}

async function stored(store: BlobStore, content: Buffer, key = aKey()): Promise<string> {
  await store.put(key, Readable.from([content]), anySize)
  return key
}

async function contentOf(store: BlobStore, key: string): Promise<Buffer> {
  return buffer(await store.open(key))
}

/** The bytes in pieces as a socket hands them out. */
function inPieces(content: Buffer, size = 60_000): Readable {
  const pieces = Array.from({ length: Math.ceil(content.length / size) }, (_, index) =>
    content.subarray(index * size, (index + 1) * size),
  )
  return Readable.from(pieces, { objectMode: false })
}

/** Every key that a store has below a prefix. */
async function keysOf(store: BlobStore, prefix = ''): Promise<string[]> {
  const { blobs } = await store.list(prefix, null, 1000)
  return blobs.map(({ key }) => key)
}

for (const kind of blobStoreKinds)
  describe.skipIf(kind.missing)(`blob store: ${kind.name}`, () => {
    let subject: StoreOfTest
    let store: BlobStore
    beforeAll(async () => {
      subject = await kind.start()
      store = subject.store
    })
    afterAll(() => subject?.[Symbol.asyncDispose]())

    it.each([0, 1, 65_536, 65_537, largeBytes])('keeps %i bytes', async (size) => {
      const content = randomBytes(size)
      const key = aKey()
      expect(await store.put(key, inPieces(content), anySize)).toEqual({
        size,
        crc32: crc32(content),
      })
      expect((await contentOf(store, key)).equals(content)).toBe(true)
      const expected = { size, crc32: crc32(content) }
      expect((await buffer(await store.open(key, { expected }))).equals(content)).toBe(true)
      expect((await store.read(key, expected)).equals(content)).toBe(true)
      const stat = await store.stat(key)
      expect(stat?.size).toBe(size)
      expect(Math.abs((stat?.modifiedAt ?? 0) - Date.now())).toBeLessThan(60_000)
    })

    it.each([
      [0, 0],
      [0, 9],
      [5, 70_000],
      [99_999, 99_999],
      [30_000, 99_999],
    ])('opens the bytes from %i to %i', async (start, end) => {
      const content = randomBytes(100_000)
      const key = await stored(store, content)
      const part = await buffer(await store.open(key, { range: { start, end } }))
      expect(part.equals(content.subarray(start, end + 1))).toBe(true)
    })

    it('replaces the blob of a key', async () => {
      const key = await stored(store, Buffer.from('first, and longer'))
      await stored(store, Buffer.from('second'), key)
      expect(String(await contentOf(store, key))).toBe('second')
    })

    it('takes exactly as many bytes as it may', async () => {
      const body = Readable.from([randomBytes(60), randomBytes(40)])
      const { size } = await store.put(aKey(), body, { contentType, maxBytes: 100 })
      expect(size).toBe(100)
    })

    it.each([101, largeBytes])('keeps nothing of %i bytes that are too many', async (size) => {
      const key = aKey()
      const body = inPieces(randomBytes(size), 50_000)
      const storing = store.put(key, body, { contentType, maxBytes: size - 1 })
      await expect(storing).rejects.toMatchObject({ name: 'BlobError', reason: 'too_large' })
      expect(body.destroyed).toBe(true)
      expect(await store.stat(key)).toBeNull()
      expect(await subject.leftovers()).toEqual([])
    })

    it.each([
      ['fails', 1000, new Error('gone')],
      ['is closed', 1000, undefined],
      ['fails', largeBytes, new Error('gone')],
      ['is closed', largeBytes, undefined],
    ])('keeps nothing of a body that %s after %i bytes', async (_, size, error) => {
      const key = aKey()
      const body = new PassThrough()
      const storing = store.put(key, body, anySize)
      inPieces(randomBytes(size))
        .on('end', () => body.destroy(error))
        .pipe(body, { end: false })
      await expect(storing).rejects.toMatchObject({ name: 'BlobError', reason: 'cut' })
      expect(await store.stat(key)).toBeNull()
      expect(await subject.leftovers()).toEqual([])
    })

    it('says of a key without a blob that there is none', async () => {
      const key = await stored(store, randomBytes(10))
      for (const missing of [aKey(), `${key}.s200x200`, `${key}/below`]) {
        expect(await store.stat(missing)).toBeNull()
        const opening = store.open(missing)
        const isMissing = { name: 'BlobError', reason: 'not_found' }
        await expect(opening).rejects.toMatchObject(isMissing)
        await expect(store.read(missing, { size: 10 })).rejects.toMatchObject(isMissing)
      }
    })

    it('removes blobs, and does not mind those that are missing', async () => {
      const keys = [await stored(store, randomBytes(10)), await stored(store, randomBytes(10))]
      const other = await stored(store, Buffer.from('stays'))
      await store.remove([...keys, aKey()])
      await store.remove(keys)
      await store.remove([])
      for (const key of keys) expect(await store.stat(key)).toBeNull()
      expect(String(await contentOf(store, other))).toBe('stays')
    })

    if (isFullRun)
      it('removes more than go into one request', async () => {
        const key = await stored(store, randomBytes(10))
        const many = Array.from({ length: 210 }, (_, index) => `app/zz/missing-${index}`)
        await store.remove([...many, key])
        expect(await store.stat(key)).toBeNull()
      })

    it('lists keys in the order of their bytes, page by page, below a prefix', async () => {
      const app = `list-${randomBytes(4).toString('hex')}`
      // A folder's slash counts like any other byte: a dash and a dot come before it.
      const names = ['a/b', 'a-b', 'a.b', 'a0', 'ab/c', 'ab/c.s200x200', 'b/a/c', '_x', '-y']
      const keys = names.map((name) => `${app}/${name}`)
      for (const key of keys) await stored(store, Buffer.from(key), key)
      await stored(store, Buffer.from('of another'), `${app}0/a`)
      const listed: string[] = []
      const { blobs } = await store.list(`${app}/`, null, 1000)
      expect(blobs.map(({ size }) => size)).toEqual(blobs.map(({ key }) => key.length))
      for (let after: string | null = null, pages = 0; pages === 0 || after !== null; pages++) {
        const page = await store.list(`${app}/`, after, 2)
        expect(page.blobs.length).toBeLessThanOrEqual(2)
        listed.push(...page.blobs.map(({ key }) => key))
        after = page.next
      }
      expect(listed).toEqual(keys.toSorted())
      expect(await keysOf(store, `${app}/ab`)).toEqual([`${app}/ab/c`, `${app}/ab/c.s200x200`])
      expect(await keysOf(store, 'nothing-at-all/')).toEqual([])
    })

    it.each([
      '',
      '/',
      '.',
      '..',
      'a//b',
      '/etc/passwd',
      '../../secret.key',
      'a/../../secret.key',
      'a/./b',
      'a/..',
      '.incoming/x',
      'a/b/',
      'A/b',
      'a\\b',
      'a\0b',
      'a b',
      'a%2e',
      `a/${'b'.repeat(199)}`,
    ])('does not take %j as a key', async (key) => {
      const body = Readable.from([Buffer.from('x')])
      await expect(store.put(key, body, anySize)).rejects.toBeInstanceOf(RangeError)
      await expect(store.open(key)).rejects.toBeInstanceOf(RangeError)
      await expect(store.stat(key)).rejects.toBeInstanceOf(RangeError)
      await expect(store.remove([key])).rejects.toBeInstanceOf(RangeError)
    })

    it('notices another size than expected', async () => {
      const small = await stored(store, randomBytes(1000))
      const large = await stored(store, randomBytes(200_000))
      for (const [key, size] of [
        [small, 999],
        [small, 1001],
        [large, 199_999],
        [large, 200_001],
      ] as const) {
        const isDamaged = { name: 'BlobError', reason: 'damaged' }
        const opening = store.open(key, { expected: { size } }).then(buffer)
        await expect(opening).rejects.toMatchObject(isDamaged)
        await expect(store.read(key, { size })).rejects.toMatchObject(isDamaged)
      }
    })

    if (isFullRun)
      it('moves more bytes than the 96 MiB of memory that it may take', async () => {
        const bytes = 256 * 1024 * 1024
        const mover = new Child([
          process.execPath,
          '--expose-gc',
          moverPath,
          JSON.stringify({ ...subject.recipe, bytes }),
        ])
        await mover.exited
        const { read, grown } = JSON.parse(mover.output()) as { read: number; grown: number }
        expect(read).toBe(bytes)
        if (process.env.HERMOD_SHOW_FIGURES) console.log(`${kind.name}: ${grown} bytes`)
        expect(grown).toBeLessThan(96 * 1024 * 1024)
      })

    it('checks itself and leaves nothing of that', async () => {
      await store.check()
      expect(await keysOf(store, 'check/')).toEqual([])
    })
  })

describe('folder store', () => {
  it('removes at its start what an earlier process did not finish, and nothing else', async () => {
    using folder = new TempFolder('blobs')
    const first = await FolderStore.open(join(folder.path, 'files'))
    const key = await stored(first, Buffer.from('kept'))
    const incoming = join(folder.path, 'files/.incoming')
    writeFileSync(join(incoming, 'half'), 'half')
    mkdirSync(join(incoming, 'folder'))
    const second = await FolderStore.open(join(folder.path, 'files'))
    expect(readdirSync(incoming)).toEqual([])
    expect(String(await contentOf(second, key))).toBe('kept')
  })

  it('shared by nodes: a start removes what it and nodes that are gone did not finish', async () => {
    using folder = new TempFolder('blobs')
    const open = (id: string, live: readonly string[]) =>
      FolderStore.open(folder.path, new DiskFloor(folder.path, 0), { id, live })
    const left = () => readdirSync(join(folder.path, '.incoming'), { recursive: true }).toSorted()
    const [first, second] = [await open('a', []), await open('b', ['a'])]
    const isUploading = () =>
      waitFor(() => left().length === 2, { what: 'the file of the upload', timeoutMs: 10_000 })
    const body = new PassThrough()
    const key = aKey()
    const storing = second.put(key, body, anySize)
    body.write(randomBytes(largeBytes))
    await isUploading()
    for (const name of ['a/half', 'gone/half', 'half'])
      cpSync(import.meta.filename, join(folder.path, '.incoming', name))
    const again = await open('a', ['b', 'c'])
    expect(left()).toEqual(['b', expect.stringMatching(/^b\/[0-9a-f]{32}$/)])
    body.end()
    await storing
    for (const store of [first, again]) expect((await store.stat(key))?.size).toBe(largeBytes)
    // An upload of a node that was taken for gone fails, and the next one does not.
    const lost = new PassThrough()
    const losing = second.put(aKey(), lost, anySize)
    lost.write(randomBytes(largeBytes))
    await isUploading()
    await open('a', [])
    lost.end()
    await expect(losing).rejects.toMatchObject({ name: 'BlobError', reason: 'unavailable' })
    await stored(second, Buffer.from('next'))
  })

  it('shared by nodes: takes many first uploads at once', async () => {
    using folder = new TempFolder('blobs')
    const node = { id: 'a', live: [] }
    const store = await FolderStore.open(folder.path, new DiskFloor(folder.path, 0), node)
    const uploads = Array.from({ length: 20 }, () => stored(store, Buffer.from('content')))
    expect(new Set(await Promise.all(uploads)).size).toBe(20)
  })

  it('not mounted any more: fails, and takes no file for missing', async () => {
    using folder = new TempFolder('blobs')
    const place = join(folder.path, 'mounted')
    const store = await FolderStore.open(place, new DiskFloor(place, 0), { id: 'a', live: [] })
    const key = await stored(store, Buffer.from('content'))
    renameSync(place, join(folder.path, 'away'))
    mkdirSync(place)
    const failed = { name: 'BlobError', reason: 'unavailable' }
    await expect(store.open(key)).rejects.toMatchObject(failed)
    await expect(stored(store, Buffer.from('more'))).rejects.toMatchObject(failed)
    expect(readdirSync(place)).toEqual([])
  })

  it('spreads keys over folders as they say, and lists nothing that is not its own', async () => {
    using folder = new TempFolder('blobs')
    const store = await FolderStore.open(folder.path)
    await stored(store, Buffer.from('content'), 'app/ab/abcdef')
    mkdirSync(join(folder.path, 'lost+found'))
    writeFileSync(join(folder.path, 'app/ab/.nfs0001'), '')
    expect(readFileSync(join(folder.path, 'app/ab/abcdef'), 'utf8')).toBe('content')
    expect(await keysOf(store)).toEqual(['app/ab/abcdef'])
  })

  it('says that its folder cannot be written', async () => {
    using folder = new TempFolder('blobs')
    const store = await FolderStore.open(join(folder.path, 'files'))
    writeFileSync(join(folder.path, 'files/check'), 'a file where a folder should be')
    await expect(store.check()).rejects.toMatchObject({
      name: 'BlobError',
      message: expect.stringContaining(store.location),
    })
  })

  const disk = SmallDisk.mount(24)
  const isFull = { name: 'BlobError', reason: 'full' }
  afterAll(() => {
    if (disk instanceof SmallDisk) disk[Symbol.dispose]()
  })

  it.skipIf(!(disk instanceof SmallDisk))(
    'full disk: keeps nothing of what does not fit, keeps what is there, and goes on when there is room',
    async () => {
      const { path } = disk as SmallDisk
      const store = await FolderStore.open(join(path, 'files'))
      const content = randomBytes(4 * 1024 * 1024)
      const key = await stored(store, content)
      const tooMuch = store.put(aKey(), inPieces(randomBytes(24 * 1024 * 1024)), anySize)
      await expect(tooMuch).rejects.toMatchObject(isFull)
      const empty = (disk as SmallDisk).fill()
      await expect(stored(store, randomBytes(8192))).rejects.toMatchObject(isFull)
      expect(readdirSync(join(path, 'files/.incoming'))).toEqual([])
      expect((await contentOf(store, key)).equals(content)).toBe(true)
      expect(await keysOf(store)).toEqual([key])
      empty()
      await stored(store, randomBytes(12 * 1024 * 1024))
    },
  )
})
