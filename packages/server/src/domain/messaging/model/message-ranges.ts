/**
 * Ranges of message IDs, by which the outbox refers to the messages of a batch without a row for
 * each. Loaded by the writer's thread too.
 */
import { toBase36 } from '../../../lib/ids/base36.js'
import type { LogPattern } from '../../../outbox/consumer.js'
import type { Conversation } from './conversation-model.js'

/** Messages of one conversation that were stored together: those with IDs from `firstId` to `lastId`. */
export interface MessageRange {
  readonly conversation: Conversation
  readonly firstId: number
  readonly lastId: number
  readonly count: number
  /** Position of the first message; the others follow without a gap. */
  readonly firstSeq: number
  /** Change number of the first message; the others follow without a gap. */
  readonly firstChange: number
}

/**
 * Encodes ranges as short text, because every send stores it: `low.high.first`, followed by
 * `.span.count` for more than one message, then `:seq`, followed by `.alterations` when there are
 * any: the change number is the sum of both. Numbers have base 36, a first ID is the difference
 * from the one before, and the second ID of a group, which equals the first, is omitted.
 */
export function encodeRanges(ranges: readonly MessageRange[]): string {
  let text = ''
  let before = 0
  for (const { conversation, firstId, lastId, count, firstSeq, firstChange } of ranges) {
    const { lowId, highId, isGroup } = conversation
    const second = isGroup ? '' : toBase36(highId)
    const more = count === 1 ? '' : `.${toBase36(lastId - firstId)}.${toBase36(count)}`
    const alterations = firstChange - firstSeq
    const numbers = alterations === 0 ? '' : `.${toBase36(alterations)}`
    const separator = text === '' ? '' : ' '
    text += `${separator}${toBase36(lowId)}.${second}.${toBase36(firstId - before)}${more}:${toBase36(firstSeq)}${numbers}`
    before = firstId
  }
  return text
}

/** Reads the ranges of a payload as `encodeRanges` writes them. */
export function decodeRanges(appId: string, text: string): MessageRange[] {
  let before = 0
  return text.split(' ').map((range) => {
    const [ids = '', numbers = ''] = range.split(':')
    const [low = '', second = '', first = '', span = '0', count = '1'] = ids.split('.')
    const [seq = '', alterations = '0'] = numbers.split('.')
    const firstSeq = number(seq)
    const firstId = before + number(first)
    before = firstId
    const isGroup = second === ''
    const lowId = number(low)
    return {
      conversation: { appId, lowId, highId: isGroup ? lowId : number(second), isGroup },
      firstId,
      lastId: firstId + number(span),
      count: number(count),
      firstSeq,
      firstChange: firstSeq + number(alterations),
    }
  })
}

/**
 * Returns a pattern of encoded ranges that have messages of a log.
 * @param log.highId null: any log with the low ID
 */
export function rangesWithLog({ lowId, highId, isGroup }: LogPattern): RegExp {
  const second = isGroup ? '\\.' : highId === null ? '' : `${toBase36(highId)}\\.`
  return new RegExp(`(?:^| )${toBase36(lowId)}\\.${second}`)
}

function number(text: string): number {
  return Number.parseInt(text, 36)
}
