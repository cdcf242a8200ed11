import { alterationKind, type ChangeableFields } from '@hermod/protocol'
import type { Queryable } from '../../db/database.js'
import { sql } from '../../db/kysely.js'
import { type FaultRow, type IntegrityCheck, sameConversation } from './integrity-check.js'

const updated = sql.lit(alterationKind.updated)
const named = (alias: string) => sql.raw(`${alias}.low_id || '/' || ${alias}.high_id`)

interface MessageKey {
  readonly app_id: string
  readonly low_id: number
  readonly high_id: number
  readonly msg_id: number
}

interface FieldsRow extends MessageKey {
  readonly fields: string
}

interface ReactionRow {
  readonly reaction: string
  readonly user_id: number
  readonly users: number
}

interface PinRow {
  readonly pinned_by: number
  readonly pinned_at: number
}

/** The users that a sum has. */
const shownUsers = 5
const messagesPerPage = 500
/** The key of a row, for comparisons. */
const rowKey = sql.raw('(app_id, low_id, high_id, msg_id)')

/** The fields of messages against the rows of reactions and pinned messages. */
export const fieldChecks: readonly IntegrityCheck[] = [
  {
    name: 'reaction_message',
    count: sql`select count(*) as count from message_reactions`,
    faults: sql`select r.app_id, ${named('r')} as subject,
        'has a reaction of user ' || r.user_id || ' to message ' || r.msg_id || ', which shows none' as detail
      from message_reactions r left join messages m on ${sameConversation('m', 'r')} and m.msg_id = r.msg_id
      where m.fields is null`,
  },
  {
    name: 'reaction_number',
    count: sql`select count(*) as count from message_reactions`,
    faults: sql`select r.app_id, ${named('r')} as subject,
        'has a reaction of user ' || r.user_id || ' to message ' || r.msg_id || ' with number ' || r.change || ', which is none of its changes' as detail
      from message_reactions r join conversations c on ${sameConversation('c', 'r')}
      where r.change > c.changes_kept_from and not exists (select 1 from message_changes x
        where ${sameConversation('x', 'r')} and x.change = r.change and x.msg_id = r.msg_id and x.kind = ${updated})`,
  },
  {
    name: 'pinned_message',
    count: sql`select count(*) as count from pinned_messages`,
    faults: sql`select p.app_id, ${named('p')} as subject,
        'has the pin of message ' || p.msg_id || ', which does not show it' as detail
      from pinned_messages p left join messages m on ${sameConversation('m', 'p')} and m.msg_id = p.msg_id
      where m.fields is null`,
  },
  {
    name: 'message_fields',
    count: sql`select count(*) as count from messages where fields is not null`,
    faults: fieldFaults,
  },
]

/** Compares the fields of each message with its rows, page by page. */
async function fieldFaults(db: Queryable, limit: number): Promise<FaultRow[]> {
  const faults: FaultRow[] = []
  let after: MessageKey = { app_id: '', low_id: -2, high_id: 0, msg_id: 0 }
  while (faults.length < limit) {
    const page: FieldsRow[] = (
      await sql<FieldsRow>`select app_id, low_id, high_id, msg_id, fields
        from messages where fields is not null and ${rowKey} > ${rowKeyOf(after)}
        order by app_id, low_id, high_id, msg_id limit ${messagesPerPage}`.execute(db)
    ).rows
    const [first, last] = [page[0], page.at(-1)]
    if (!first || !last) break
    const stored = await storedOf(db, first, last)
    for (const row of page)
      if (stateText(shownOf(row)) !== stateText(stored.get(nameOf(row))))
        faults.push({
          app_id: row.app_id,
          subject: `${row.low_id}/${row.high_id}`,
          detail: `message ${row.msg_id} shows other reactions, or another pin, than are stored`,
        })
    if (page.length < messagesPerPage) break
    after = last
  }
  return faults.slice(0, limit)
}

/** The reactions of a message, and its pin: user and time. */
interface MessageState {
  readonly reactions: { key: string; count: number; latest: number[] }[]
  pinned: readonly [by: number, at: number] | null
}

/** The state as text; the order of the keys is not in the rows. */
function stateText({ reactions, pinned }: MessageState = noState): string {
  const sums = reactions.map(({ key, count, latest }) => JSON.stringify([key, count, latest]))
  return JSON.stringify([sums.sort(), pinned])
}

const noState: MessageState = { reactions: [], pinned: null }

/** Returns the reactions and the pin that a message shows. */
function shownOf({ fields }: FieldsRow): MessageState {
  const { reactions = [], pinned } = JSON.parse(fields) as ChangeableFields
  return {
    reactions: reactions.map(({ key, count, latest }) => ({
      key,
      count,
      latest: latest.map(Number),
    })),
    pinned: pinned ? [Number(pinned.by), Number(pinned.at)] : null,
  }
}

/** The states of the messages from one to another by their rows. */
async function storedOf(
  db: Queryable,
  first: MessageKey,
  last: MessageKey,
): Promise<ReadonlyMap<string, MessageState>> {
  const isBetween = sql`${rowKey} between ${rowKeyOf(first)} and ${rowKeyOf(last)}`
  const reactions = await sql<MessageKey & ReactionRow>`select * from (
      select app_id, low_id, high_id, msg_id, reaction, user_id, change,
        count(*) over (partition by app_id, low_id, high_id, msg_id, reaction) as users,
        row_number() over (partition by app_id, low_id, high_id, msg_id, reaction
          order by change desc, user_id desc) as place
      from message_reactions where ${isBetween}) x
    where place <= ${shownUsers} order by change, user_id`.execute(db)
  const pins = await sql<
    MessageKey & PinRow
  >`select app_id, low_id, high_id, msg_id, pinned_by, pinned_at
    from pinned_messages where ${isBetween}`.execute(db)
  const states = new Map<string, MessageState>()
  const stateOf = (row: MessageKey): MessageState => {
    const state = states.get(nameOf(row)) ?? { reactions: [], pinned: null }
    states.set(nameOf(row), state)
    return state
  }
  for (const row of reactions.rows) {
    const sums = stateOf(row).reactions
    const sum = sums.find((each) => each.key === row.reaction)
    if (sum) sum.latest.push(Number(row.user_id))
    else sums.push({ key: row.reaction, count: Number(row.users), latest: [Number(row.user_id)] })
  }
  for (const row of pins.rows) stateOf(row).pinned = [Number(row.pinned_by), Number(row.pinned_at)]
  return states
}

function nameOf({ app_id, low_id, high_id, msg_id }: MessageKey): string {
  return `${app_id}/${low_id}/${high_id}/${msg_id}`
}

function rowKeyOf({ app_id, low_id, high_id, msg_id }: MessageKey) {
  return sql`(${app_id}, ${low_id}, ${high_id}, ${msg_id})`
}
