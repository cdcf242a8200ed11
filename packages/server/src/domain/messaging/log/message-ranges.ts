/**
 * How the messages of a batch stand in the outbox: as ranges of message IDs, so that no message costs a row there. Loaded by the
 * writer's thread too.
 */
import type { Conversation } from './conversation-model.js'

/** Messages of one conversation that were stored together: those with IDs from `firstId` to `lastId`. */
export interface MessageRange {
  readonly conversation: Conversation
  readonly firstId: number
  readonly lastId: number
  readonly count: number
}

/** Four numbers a range: the conversation, the first ID, and how far the last one is from it; then the count. */
const numbersPerRange = 5

/** A list of numbers as JSON; of a group, whose pair is its ID twice, the second is 0. */
export function encodeRanges(ranges: readonly MessageRange[]): string {
  const numbers = ranges.flatMap(({ conversation, firstId, lastId, count }) => {
    const { lowId, highId, isGroup } = conversation
    return [lowId, isGroup ? 0 : highId, firstId, lastId - firstId, count]
  })
  return JSON.stringify(numbers)
}

export function decodeRanges(appId: string, text: string): MessageRange[] {
  const numbers = JSON.parse(text) as number[]
  const ranges: MessageRange[] = []
  for (let at = 0; at < numbers.length; at += numbersPerRange) {
    const [lowId = 0, secondId = 0, firstId = 0, span = 0, count = 0] = numbers.slice(
      at,
      at + numbersPerRange,
    )
    const isGroup = secondId === 0
    ranges.push({
      conversation: { appId, lowId, highId: isGroup ? lowId : secondId, isGroup },
      firstId,
      lastId: firstId + span,
      count,
    })
  }
  return ranges
}
