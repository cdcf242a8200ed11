/** The Range header (RFC 9110, section 14). */
import type { ByteRange } from '../../lib/system/byte-range.js'

/** Most ranges of one request; a request for more gets the whole file. */
const maxRanges = 32
const oneRange = /^(\d*)-(\d*)$/

/**
 * Returns the ranges in the order of the request; those that overlap or touch are merged.
 * @param header undefined where there is none
 * @param size of the file in bytes
 * @returns `whole` when the whole file is the answer, also to unknown units and forms; `outside`
 * when no range is within the file
 */
export function requestedRanges(
  header: string | undefined,
  size: number,
): readonly ByteRange[] | 'whole' | 'outside' {
  if (header === undefined) return 'whole'
  const [unit = '', list = ''] = header.split('=', 2)
  if (unit.trim().toLowerCase() !== 'bytes') return 'whole'
  const specs = list.split(',', maxRanges + 1).map(parseRange)
  if (specs.length > maxRanges || specs.includes(null)) return 'whole'
  const ranges = specs.map((spec) => spec && within(spec, size)).filter((range) => range !== null)
  return ranges.length === 0 ? 'outside' : mergedRanges(ranges)
}

/** A range of the header: `first-last`, `first-` to the end, `-count` from the end. */
interface WrittenRange {
  readonly first: string
  readonly last: string
}

/** @returns null when it is no range */
function parseRange(text: string): WrittenRange | null {
  const [, first = '', last = ''] = oneRange.exec(text.trim()) ?? []
  if (first === '' && last === '') return null
  const isTurnedRound = first !== '' && last !== '' && Number(first) > Number(last)
  return isTurnedRound ? null : { first, last }
}

/** @returns null when the range is outside of the file */
function within({ first, last }: WrittenRange, size: number): ByteRange | null {
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  return start <= end ? { start, end } : null
}

function mergedRanges(ranges: readonly ByteRange[]): readonly ByteRange[] {
  const result: ByteRange[] = []
  for (const range of ranges) {
    let grown = range
    let at = result.length
    for (let index = result.length - 1; index >= 0; index--) {
      const other = result[index] as ByteRange
      if (other.start > grown.end + 1 || grown.start > other.end + 1) continue
      grown = { start: Math.min(grown.start, other.start), end: Math.max(grown.end, other.end) }
      result.splice(index, 1)
      at = index
    }
    result.splice(at, 0, grown)
  }
  return result
}
