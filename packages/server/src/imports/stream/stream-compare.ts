/** The comparison of a file with what the service has of it. */
import { randomInt } from 'node:crypto'
import type { FoundImportedMessage } from '@hermod/protocol'
import { messageItems, type StagedItem } from './stream-calls.js'
import type { StreamStaging } from './stream-staging.js'

/** A message that differs, with the fields that do. */
export interface Difference {
  readonly external_id: string
  readonly line: number
  readonly differs: readonly string[]
}

export interface Comparison {
  readonly compared: number
  /** Messages of earlier runs that are not there any more: recalled, or too old. They are not compared. */
  readonly removed: number
  readonly different: number
  /** The first of them. */
  readonly differences: readonly Difference[]
}

/** A call names at most 100 messages: these, those before them, and the originals of replies. */
const messagesPerCall = 25
const mostShown = 20

/**
 * Compares random messages with those of the service: sender, conversation, time, texts, reply, and
 * the order with the message before.
 * @param read answers the messages of external IDs, unknown ones left out
 */
export async function compareMessages(
  staging: StreamStaging,
  most: number,
  read: (externalIds: readonly string[]) => Promise<readonly FoundImportedMessage[]>,
): Promise<Comparison> {
  const places = randomPlaces(staging.number('select count(*) from sorted'), most)
  const different: Difference[] = []
  let [compared, removed] = [0, 0]
  for (let at = 0; at < places.length; at += messagesPerCall) {
    const pairs = places.slice(at, at + messagesPerCall).map((place) => pairAt(staging, place))
    const ids = new Set(pairs.flatMap(({ item, before }) => [...idsOf(item), ...idsOf(before)]))
    const answers = ids.size === 0 ? [] : await read([...ids])
    const found = new Map<unknown, FoundImportedMessage>(
      answers.map((message) => [message.external_id, message]),
    )
    for (const { item, before } of pairs) {
      if (item === null) continue
      if (isRemoved(staging, item.body.external_id, found)) {
        removed++
        continue
      }
      compared++
      const differs = differencesOf(staging, { item, before }, found)
      if (differs.length > 0)
        different.push({ external_id: String(item.row.id), line: Number(item.row.line), differs })
    }
  }
  return {
    compared,
    removed,
    different: different.length,
    differences: different.slice(0, mostShown),
  }
}

/** Returns distinct numbers from 1 to `count`, all of them when they are not more than wanted. */
function randomPlaces(count: number, most: number): number[] {
  if (count <= most) return Array.from({ length: count }, (_, index) => index + 1)
  const places = new Set<number>()
  while (places.size < most) places.add(randomInt(1, count + 1))
  return [...places]
}

/** A message that was sent to the service, and the one before it in its conversation. */
function pairAt(staging: StreamStaging, place: number) {
  const [before, item] =
    place === 1
      ? [undefined, ...messageItems(staging, 0, 1)]
      : [...messageItems(staging, place - 2, 2)]
  const isNeighbour = before?.row.conv === item?.row.conv
  return { item: sentOf(item), before: isNeighbour ? sentOf(before) : null }
}

function sentOf(
  item: { readonly row: StagedItem['row']; readonly body: StagedItem['body'] | null } | undefined,
) {
  return item === undefined || item.body === null ? null : { row: item.row, body: item.body }
}

/** Returns the IDs of a message and of the one that it replies to. */
function idsOf(item: StagedItem | null): string[] {
  return [item?.body.external_id, item?.body.reply_to].flatMap((id) =>
    id === undefined ? [] : [String(id)],
  )
}

const fields = [
  'sender_id',
  'group_id',
  'peer_id',
  'created_at',
  'content',
  'ext',
  'config',
] as const

/** Tests for a message that the service had before this run and does not answer now. */
function isRemoved(
  staging: StreamStaging,
  id: unknown,
  found: ReadonlyMap<unknown, FoundImportedMessage>,
): boolean {
  const sql = 'select 1 from sorted s join known k on k.message = s.rowid where s.id = ?'
  return !found.has(id) && staging.get(sql, id as string) !== undefined
}

function differencesOf(
  staging: StreamStaging,
  { item: { body }, before }: { readonly item: StagedItem; readonly before: StagedItem | null },
  found: ReadonlyMap<unknown, FoundImportedMessage>,
): string[] {
  const message = found.get(body.external_id)
  if (message === undefined) return ['missing']
  const differs: string[] = fields.filter((name) => (body[name] ?? '') !== (message[name] ?? ''))
  const hasReply = found.get(body.reply_to)?.msg_id === message.reply_to
  if (!hasReply && !isRemoved(staging, body.reply_to ?? '', found)) differs.push('reply_to')
  const earlier = found.get(before?.body.external_id)
  if (earlier !== undefined && earlier.seq >= message.seq) differs.push('order')
  return differs
}
