/**
 * Ranges of message IDs, by which the outbox refers to the messages of a batch without a row for each. Loaded by the writer's thread
 * too.
 */
import { toBase36 } from '../../../lib/ids/base36.js'
import type { Conversation } from './conversation-model.js'

/** Messages of one conversation that were stored together: those with IDs from `firstId` to `lastId`. */
export interface MessageRange {
  readonly conversation: Conversation
  readonly firstId: number
  readonly lastId: number
  readonly count: number
}

/**
 * Encodes ranges as short text, because every send stores it: `low.high.first`, followed by `.span.count` for more than one message.
 * Numbers have base 36, a first ID is the difference from the one before, and the second ID of a group, which equals the first, is
 * omitted.
 */
export function encodeRanges(ranges: readonly MessageRange[]): string {
  let text = ''
  let before = 0
  for (const { conversation, firstId, lastId, count } of ranges) {
    const { lowId, highId, isGroup } = conversation
    const second = isGroup ? '' : toBase36(highId)
    const more = count === 1 ? '' : `.${toBase36(lastId - firstId)}.${toBase36(count)}`
    const separator = text === '' ? '' : ' '
    text += `${separator}${toBase36(lowId)}.${second}.${toBase36(firstId - before)}${more}`
    before = firstId
  }
  return text
}

export function decodeRanges(appId: string, text: string): MessageRange[] {
  let before = 0
  return text.split(' ').map((range) => {
    const [low = '', second = '', first = '', span = '0', count = '1'] = range.split('.')
    const firstId = before + number(first)
    before = firstId
    const isGroup = second === ''
    const lowId = number(low)
    return {
      conversation: { appId, lowId, highId: isGroup ? lowId : number(second), isGroup },
      firstId,
      lastId: firstId + number(span),
      count: number(count),
    }
  })
}

function number(text: string): number {
  return Number.parseInt(text, 36)
}
