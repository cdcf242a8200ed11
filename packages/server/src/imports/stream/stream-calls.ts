/** The rows of the staging as items of calls. */
import { createHash } from 'node:crypto'
import type { CallItem } from '../call-batches.js'
import type { StagedRow, StreamStaging } from './stream-staging.js'

export type StagedItem = CallItem<StagedRow>
/** An item; without a body, when a user or the group of it could not be imported. */
export type PossibleItem = { readonly row: StagedRow; readonly body: StagedItem['body'] | null }

const pageRows = 500
const maxExternalIdLength = 255

/** Returns the time of a row in milliseconds; undefined where there is none. */
function msOf(at: unknown): number | undefined {
  return Number(at) === 0 ? undefined : Math.floor(Number(at) / 1000)
}

/** Removes members without a value. */
function given(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(body).filter(([, value]) => value !== undefined && value !== ''),
  )
}

export function* userItems(staging: StreamStaging, issuer: string): Generator<StagedItem> {
  const sql = 'select rowid, * from users where rowid > ? order by rowid limit ?'
  for (const rows of staging.pages(sql, pageRows))
    for (const row of rows) {
      const { username, nick_name, avatar, status, subject } = row
      const identities = [{ issuer, subject }]
      const created_at = msOf(row.at)
      yield { row, body: given({ username, nick_name, avatar, status, created_at, identities }) }
    }
}

export function* groupItems(staging: StreamStaging): Generator<PossibleItem> {
  const sql = `select c.rowid, c.*, u.user_id as owner_id from channels c join users u on u.subject = c.owner
    where c.low is null and c.rowid > ? order by c.rowid limit ?`
  for (const rows of staging.pages(sql, pageRows))
    for (const row of rows) {
      const { owner_id, name, avatar } = row
      const external_id = groupIdOf(String(row.cid))
      const group = { external_id, owner_id, name, avatar, created_at: msOf(row.at) }
      yield { row, body: owner_id === null ? null : given(group) }
    }
}

function groupIdOf(cid: string): string {
  if (cid.length <= maxExternalIdLength) return cid
  return `sha256:${createHash('sha256').update(cid).digest('base64url')}`
}

/** Joins a conversation to a row: `group_id`, or `low_id` and `high_id` of the two users. */
const conversation = `join channels c on c.cid = m.cid left join users l on l.subject = c.low
  left join users h on h.subject = c.high join users u`
const conversationColumns = `u.user_id, c.group_id, c.low, l.user_id as low_id, h.user_id as high_id`

/** @returns null where a user or the group could not be imported */
function placeOf(row: StagedRow): Readonly<Record<string, unknown>> | null {
  const { user_id, group_id, low, low_id, high_id } = row
  if (user_id === null) return null
  if (low === null) return group_id === null ? null : { group_id }
  const peer_id = user_id === low_id ? high_id : low_id
  return peer_id === null ? null : { peer_id }
}

/** Messages in the order of their conversations and times. */
export function* messageItems(
  staging: StreamStaging,
  after = 0,
  most = Number.POSITIVE_INFINITY,
): Generator<PossibleItem> {
  const sql = `select m.rowid, m.*, ${conversationColumns} from sorted m ${conversation} on u.subject = m.sender
    where m.rowid > ? order by m.rowid limit ?`
  let count = 0
  for (const rows of staging.pages(sql, Math.min(pageRows, most), after))
    for (const row of rows) {
      if (count++ === most) return
      yield { row, body: messageBody(staging, row) }
    }
}

/** @returns null for a message whose sender or conversation could not be imported */
function messageBody(
  staging: StreamStaging,
  row: StagedRow,
): Readonly<Record<string, unknown>> | null {
  const place = placeOf(row)
  if (place === null) return null
  const created_at = msOf(row.at)
  const reactions = reactionsOf(staging, String(row.id))
  const pinner = userId(staging, String(row.pinned_by)) ?? 0
  return given({
    external_id: row.id,
    created_at,
    sender_id: row.user_id,
    ...place,
    content: row.content,
    ext: row.ext,
    config: configOf(staging, String(row.mentions)),
    reply_to: row.original,
    reactions: reactions.length === 0 ? undefined : reactions,
    pinned: row.pinned_at === 0 ? undefined : { user_id: pinner, at: msOf(row.pinned_at) },
  })
}

function reactionsOf(staging: StreamStaging, message: string) {
  const rows = staging.all(
    `select r.key, r.at, u.user_id from reactions r join users u on u.subject = r.subject
     where r.message = ? and u.user_id is not null order by r.at, r.rowid`,
    message,
  )
  return rows.map(({ user_id, key, at }) => given({ user_id, key, created_at: msOf(at) }))
}

function userId(staging: StreamStaging, subject: string): number | null {
  const found = staging.get('select user_id from users where subject = ?', subject)
  return (found?.user_id ?? null) as number | null
}

/** Returns the `config` of a message with its mentions, as clients read it. */
function configOf(staging: StreamStaging, mentions: string): string | undefined {
  const named = JSON.parse(mentions) as string[]
  const mentionAll = named[0] === '*'
  const mentionList = named.flatMap((subject) => userId(staging, subject) ?? [])
  if (!mentionAll && mentionList.length === 0) return undefined
  return JSON.stringify({ ...(mentionAll ? { mentionAll } : { mentionList }) })
}

/** Members of groups, and the two users of direct conversations with messages. */
export function* memberItems(staging: StreamStaging): Generator<PossibleItem> {
  const sql = `select m.rowid, m.*, c.owner, ${conversationColumns} from members m ${conversation} on u.subject = m.subject
    where m.rowid > ? and (c.low is null or exists (select 1 from written w where w.conv = c.conv))
    order by m.rowid limit ?`
  for (const rows of staging.pages(sql, pageRows))
    for (const row of rows) {
      const place = placeOf(row)
      const isAdmin = row.low === null && Number(row.role) > 0 && row.subject !== row.owner
      const joined_at = row.low === null ? msOf(row.at) : undefined
      const role = isAdmin ? 1 : undefined
      const last_read = msOf(row.last_read)
      const body =
        place === null
          ? null
          : given({ user_id: row.user_id, ...place, role, joined_at, last_read })
      yield { row, body }
    }
}
