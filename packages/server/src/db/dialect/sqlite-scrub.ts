import { fstatSync, fsyncSync, readSync, writeSync } from 'node:fs'

// https://www.sqlite.org/fileformat2.html#b_tree_pages
const pageSizeAt = 16
const reservedAt = 20
const fileHeadBytes = 100
const pointerBytes = 2
const freeblockHeadBytes = 4
/** The bytes of the head of a b-tree page, by its type; other pages have none of these types. */
const headBytesByType: ReadonlyMap<number, number> = new Map([
  [2, 12],
  [5, 12],
  [10, 8],
  [13, 8],
])
/** Other pages begin with the number of a page, which is smaller than a type of b-tree pages up to here. */
const maxPages = 2 ** 25

/**
 * The first page of the next step; null: it was the last one; `held`: a read or a pause holds the
 * log, nothing was done; `too_large`: nothing of such a file is overwritten.
 */
export type ScrubResult = number | null | 'held' | 'too_large'

const pagesPerStep = 512
const zeros = Buffer.alloc(65_536)

/**
 * Overwrites the bytes of b-tree pages that SQLite does not use: copies of rows stay there when rows
 * move to other pages, also with `secure_delete`. No reader sees a change, since none reads them.
 *
 * It runs on the writer's thread, with an empty log and between two transactions. The writer must
 * forget its pages afterwards, because it writes them as a whole.
 *
 * @param descriptor of the database file
 * @param from the first page, from 1
 */
export function scrubPages(descriptor: number, from: number): Exclude<ScrubResult, 'held'> {
  const head = Buffer.alloc(fileHeadBytes)
  if (readSync(descriptor, head, 0, fileHeadBytes, 0) < fileHeadBytes) return null
  const pageSize = head.readUInt16BE(pageSizeAt) === 1 ? 65_536 : head.readUInt16BE(pageSizeAt)
  const usable = pageSize - (head[reservedAt] ?? 0)
  const pages = Math.floor(fstatSync(descriptor).size / pageSize)
  if (pages > maxPages) return 'too_large'
  const count = Math.min(pagesPerStep, pages - from + 1)
  if (count <= 0) return null
  const bytes = Buffer.allocUnsafe(count * pageSize)
  const length = readSync(descriptor, bytes, 0, bytes.length, (from - 1) * pageSize)
  for (let index = 0; (index + 1) * pageSize <= length; index++) {
    const page = bytes.subarray(index * pageSize, (index + 1) * pageSize)
    const isFirst = from + index === 1
    if (scrubPage(page, usable, isFirst ? fileHeadBytes : 0))
      writeSync(descriptor, page, 0, pageSize, (from - 1 + index) * pageSize)
  }
  fsyncSync(descriptor)
  return from + count > pages ? null : from + count
}

/**
 * Overwrites the unused bytes of a page.
 * @param headAt where its head begins
 * @returns whether there were any; false for a page that is no b-tree page, or is not understood
 */
export function scrubPage(page: Buffer, usable: number, headAt: number): boolean {
  const headBytes = headBytesByType.get(page[headAt] ?? 0)
  if (headBytes === undefined) return false
  const contentAt = page.readUInt16BE(headAt + 5) || 65_536
  const pointersEnd = headAt + headBytes + pointerBytes * page.readUInt16BE(headAt + 3)
  if (pointersEnd > contentAt || contentAt > usable) return false
  const unused: (readonly [number, number])[] = [[pointersEnd, contentAt]]
  for (let at = page.readUInt16BE(headAt + 1), before = contentAt; at !== 0; ) {
    const isValid = at >= before && at + freeblockHeadBytes <= usable
    const end = isValid ? at + page.readUInt16BE(at + 2) : 0
    if (!isValid || end > usable || end < at + freeblockHeadBytes) return false
    unused.push([at + freeblockHeadBytes, end])
    before = end
    at = page.readUInt16BE(at)
  }
  const used = unused.filter(
    ([start, end]) => page.compare(zeros, 0, end - start, start, end) !== 0,
  )
  for (const [start, end] of used) page.fill(0, start, end)
  return used.length > 0
}
