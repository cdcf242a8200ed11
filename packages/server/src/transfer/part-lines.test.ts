import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readLineBatches } from './part-lines.js'
import { TransferError } from './transfer-error.js'

describe('the lines of a part', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hermod-part-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  async function read(text: string, from?: number) {
    await writeFile(join(folder, 'part.ndjson'), text)
    const batches = []
    for await (const batch of readLineBatches(folder, 'part.ndjson', from)) batches.push(batch)
    return batches
  }

  it('are read from the end of any batch', async () => {
    // Longer than a batch.
    const lines = ['a', 'é'.repeat(3 * 2 ** 20), '', 'b']
    const text = lines.map((line) => `${line}\n`).join('')
    const batches = await read(text)
    expect(batches.flatMap((batch) => batch.lines)).toEqual(lines)
    expect(batches.length).toBeGreaterThan(1)
    for (const [index, { end }] of batches.entries()) {
      const rest = await read(text, end)
      expect(rest.flatMap((batch) => batch.lines)).toEqual(
        batches.slice(index + 1).flatMap((batch) => batch.lines),
      )
    }
    expect(await read('')).toEqual([])
  })

  it('are refused without the last line break, by the name of the part', async () => {
    await expect(read('a\nb')).rejects.toThrow('part.ndjson of the export in')
    await expect(read('a\nb')).rejects.toThrow('has a last line without a line break')
    await expect(read('a')).rejects.toThrow(TransferError)
  })
})
