import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { FileReads } from './file-reads.js'

const bytes = randomBytes(500_000)
let folder: string
let path: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'hermod-reads-'))
  path = join(folder, 'file')
  writeFileSync(path, bytes)
})

afterAll(() => rmSync(folder, { recursive: true }))

async function readAll(reads: FileReads, recycles: boolean): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of reads) {
    chunks.push(Buffer.from(chunk))
    if (recycles) reads.recycle(chunk)
  }
  return Buffer.concat(chunks)
}

it.each([false, true])(
  'reads all of a file or a part of it, memory given back: %s',
  async (recycles) => {
    for (let round = 0; round < 3; round++) {
      expect((await readAll(new FileReads(await open(path)), recycles)).equals(bytes)).toBe(true)
      for (const [start, end] of [
        [0, 0],
        [0, 131_071],
        [131_071, 131_072],
        [100, 499_999],
        [499_999, 499_999],
        [400_000, 999_999],
      ] as const) {
        const part = await readAll(new FileReads(await open(path), { start, end }), recycles)
        expect(part.equals(bytes.subarray(start, end + 1)), `${start}-${end}`).toBe(true)
      }
    }
  },
)

it('two files read at once do not mix when one gives memory back', async () => {
  const other = join(folder, 'other')
  const otherBytes = randomBytes(700_000)
  writeFileSync(other, otherBytes)
  const [one, two] = await Promise.all([
    readAll(new FileReads(await open(path)), true),
    readAll(new FileReads(await open(other)), true),
  ])
  expect([one.equals(bytes), two.equals(otherBytes)]).toEqual([true, true])
})

it('the stream closes its file at the end, when destroyed during a read, and when reading fails', async () => {
  const [whole, destroyed, failing] = await Promise.all([open(path), open(path), open(folder)])
  await readAll(new FileReads(whole), false)
  const reads = new FileReads(destroyed)
  reads.read()
  reads.destroy()
  await new Promise((resolve) => reads.once('close', resolve))
  await expect(readAll(new FileReads(failing), false)).rejects.toThrow('EISDIR')
  expect([whole.fd, destroyed.fd, failing.fd]).toEqual([-1, -1, -1])
})
