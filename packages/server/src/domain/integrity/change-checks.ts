import {
  alterationKind,
  type ChangeableField,
  changeableFields,
  fieldsOfSends,
} from '@hermod/protocol'
import { sql } from '../../db/kysely.js'
import { type IntegrityCheck, log, sameConversation } from './integrity-check.js'

const recalled = sql.lit(alterationKind.recalled)
type AlterationName = keyof typeof alterationKind & string

/**
 * For each kind of alteration the condition that the message `m`, or the recalled message `r`, was
 * altered so. A recalled message does not tell its earlier alterations.
 */
const wasAltered: Readonly<Record<AlterationName, string>> = {
  edited: 'r.msg_id is not null or coalesce(m.edited_at, 0) > 0',
  recalled: 'r.msg_id is not null',
  updated: 'r.msg_id is not null or m.msg_id is not null',
}
const isAltered = sql.raw(
  `case x.kind ${Object.entries(wasAltered)
    .map(([name, condition]) => {
      const kind = alterationKind[name as AlterationName]
      return `when ${kind} then case when ${condition} then 1 else 0 end`
    })
    .join(' ')} else 0 end`,
)

/** Condition that a message has a field which no send sets. */
const hasUpdatedField = sql.raw(
  (Object.keys(changeableFields) as ChangeableField[])
    .filter((name) => !fieldsOfSends.includes(name))
    .map((name) => `fields like '%"${name}":%'`)
    .join(' or '),
)

/** For each kind of alteration that a message shows the messages with it. */
const alteredMessages = sql.join(
  (
    [
      ['edited', sql`messages where edited_at <> 0`],
      ['updated', sql`messages where ${hasUpdatedField}`],
      ['recalled', sql`recalled_messages`],
    ] as const
  ).map(
    ([name, messages]) =>
      sql`select app_id, low_id, high_id, msg_id, seq, ${sql.lit(alterationKind[name])} as kind, ${sql.lit(name)} as what from ${messages}`,
  ),
  sql` union all `,
)
const named = (alias: string) => sql.raw(`${alias}.low_id || '/' || ${alias}.high_id`)

/**
 * Conversations with `kept_seq`: the number of their messages at or below the number from which
 * changes are kept. The changes of these messages may have been removed.
 */
const keptConversations = sql`(with kept as materialized (select k.*, k.changes_kept_from - coalesce(f.first_row - 1, k.alterations) as kept_seq
  from conversations k
  left join (select x.app_id, x.low_id, x.high_id, min(x.alteration) as first_row
    from message_changes x join conversations o on ${sameConversation('o', 'x')}
    where x.change > o.changes_kept_from group by x.app_id, x.low_id, x.high_id) f on ${sameConversation('f', 'k')}) select * from kept)`

/**
 * The change log against the messages, and the remains of recalled messages (decision page 027).
 */
export const changeChecks: readonly IntegrityCheck[] = [
  {
    name: 'log_start',
    count: sql`select count(*) as count from conversations`,
    faults: sql`select c.app_id, ${named('c')} as subject,
        'has messages from position ' || coalesce(l.seq, 0) || ' on, where those up to ' || c.removed_seq || ' were removed; keeps changes from number ' || c.changes_kept_from || ', message ' || c.kept_seq as detail
      from ${keptConversations} c
      left join (select app_id, low_id, high_id, min(seq) as seq from ${log} l group by app_id, low_id, high_id) l on ${sameConversation('l', 'c')}
      where coalesce(l.seq, c.seq + 1) <> c.removed_seq + 1 or c.kept_seq not between c.removed_seq and c.seq or c.changes_kept_from < 0`,
  },
  {
    name: 'removed_history',
    count: sql`select count(*) as count from conversations where removed_seq > 0`,
    faults: sql`select c.app_id, ${named('c')} as subject,
        'says that messages up to ' || c.removed_msg_id || ' were removed, and has ' || coalesce(l.msg_id, 0) || ' of ' || c.last_msg_id || ', or what belongs to those that were' as detail
      from conversations c
      left join (select app_id, low_id, high_id, min(msg_id) as msg_id from ${log} l group by app_id, low_id, high_id) l on ${sameConversation('l', 'c')}
      where c.removed_msg_id >= coalesce(l.msg_id, c.last_msg_id + 1) or (c.removed_seq > 0) <> (c.removed_msg_id > 0)
        or (c.removed_seq = c.seq and c.removed_msg_id <> c.last_msg_id)
        or exists (select 1 from own_notifications n where ${sameConversation('n', 'c')} and n.seq <= c.removed_seq)
        or (c.low_id = c.high_id and exists (select 1 from receipt_requests r
          where r.app_id = c.app_id and r.group_id = c.low_id and r.seq <= c.removed_seq))`,
  },
  {
    name: 'change_order',
    count: sql`select count(*) as count from message_changes`,
    faults: sql`select c.app_id, ${named('c')} as subject,
        'counts ' || c.alterations || ' edits and recalls, where there are ' || coalesce(x.rows_kept, 0) || ', the last of them number ' || coalesce(x.last_row, 0) as detail
      from conversations c
      left join (select app_id, low_id, high_id, count(*) as rows_kept, min(alteration) as first_row, max(alteration) as last_row, max(place_error) as place_error
        from (select app_id, low_id, high_id, alteration, abs(alteration
            - min(alteration) over (partition by app_id, low_id, high_id)
            - row_number() over (partition by app_id, low_id, high_id order by change) + 1) as place_error from message_changes) numbered
        group by app_id, low_id, high_id) x on ${sameConversation('x', 'c')}
      where coalesce(x.last_row, c.alterations) <> c.alterations or coalesce(x.place_error, 0) <> 0
        or (c.changes_kept_from = 0 and coalesce(x.first_row, c.alterations + 1) <> 1)
        or coalesce(x.first_row, c.alterations + 1) - 1 > c.changes_kept_from`,
  },
  {
    name: 'change_number',
    count: sql`select count(*) as count from message_changes`,
    faults: sql`select x.app_id, ${named('x')} as subject,
        'has number ' || x.change || ' for edit or recall ' || x.alteration || ' of message ' || x.msg_id || ' at position ' || x.seq || ', where ' || coalesce(c.seq, 0) || ' messages are' as detail
      from (select y.*, coalesce((select m.seq from messages m where ${sameConversation('m', 'y')} and m.msg_id = y.msg_id),
          (select r.seq from recalled_messages r where ${sameConversation('r', 'y')} and r.msg_id = y.msg_id), 0) as seq from message_changes y) x
      left join conversations c on ${sameConversation('c', 'x')}
      where c.seq is null or x.change - x.alteration not between x.seq and c.seq`,
  },
  {
    name: 'change_kind',
    count: sql`select count(*) as count from message_changes`,
    faults: sql`select x.app_id, ${named('x')} as subject,
        'has number ' || x.change || ' for what was not done to message ' || x.msg_id || ', or for what came before it' as detail
      from message_changes x
      join conversations c on ${sameConversation('c', 'x')}
      left join messages m on ${sameConversation('m', 'x')} and m.msg_id = x.msg_id
      left join recalled_messages r on ${sameConversation('r', 'x')} and r.msg_id = x.msg_id
      where x.change > c.changes_kept_from and x.msg_id > c.removed_msg_id and (${isAltered} = 0
        or exists (select 1 from message_changes e where ${sameConversation('e', 'x')} and e.msg_id = x.msg_id and e.kind = ${recalled} and e.change < x.change))`,
  },
  {
    name: 'reply_original',
    count: sql`select count(*) as count from messages where reply_to_id is not null or reply_to_seq is not null`,
    faults: sql`select m.app_id, ${named('m')} as subject,
        'message ' || m.msg_id || ' at position ' || m.seq || ' replies to message ' || coalesce(m.reply_to_id, 0) || ' at position ' || coalesce(m.reply_to_seq, 0) || ', which was never there' as detail
      from messages m
      join conversations c on ${sameConversation('c', 'm')}
      where (m.reply_to_id is not null or m.reply_to_seq is not null)
        and (m.reply_to_id is null or m.reply_to_seq is null or m.reply_to_seq >= m.seq
          or (m.reply_to_seq > c.removed_seq and not exists (select 1 from ${log} l
            where ${sameConversation('l', 'm')} and l.msg_id = m.reply_to_id and l.seq = m.reply_to_seq)))`,
  },
  {
    name: 'altered_message',
    count: sql`select count(*) as count from ${log} l`,
    faults: sql`select a.app_id, ${named('a')} as subject, 'message ' || a.msg_id || ' was ' || a.what || ', of which there is no change' as detail
      from (${alteredMessages}) a
      join ${keptConversations} c on ${sameConversation('c', 'a')}
      where a.seq > c.kept_seq and not exists (select 1 from message_changes x where ${sameConversation('x', 'a')} and x.msg_id = a.msg_id and x.kind = a.kind)`,
  },
]
