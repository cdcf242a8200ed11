import { relation, systemUserId } from '@hermod/protocol'
import type { Queryable } from '../../db/database.js'
import { type RawBuilder, sql } from '../../db/kysely.js'
import { broadcastChecks } from './broadcast-checks.js'
import { changeChecks } from './change-checks.js'
import { fieldChecks } from './field-checks.js'
import { fileChecks } from './file-checks.js'
import { groupChecks } from './group-checks.js'
import { historyChecks } from './history-checks.js'
import { importChecks } from './import-checks.js'
import { type FaultRow, type IntegrityCheck, log, sameConversation } from './integrity-check.js'
import { outboxChecks } from './outbox-checks.js'
import { outboxLogChecks } from './outbox-log-checks.js'
import { readerChecks } from './reader-checks.js'
import { streamChecks } from './stream-checks.js'
import { webhookChecks } from './webhook-checks.js'

const conversation = (alias: string) => sql.raw(`${alias}.low_id || '/' || ${alias}.high_id`)

/** Rows of a table about two users of which one is unknown or deleted. */
function pairOwners(table: string, first: string, second: string): RawBuilder<FaultRow> {
  const names = sql.raw(`r.${first} || ' and ' || r.${second}`)
  return sql`select r.app_id, ${names} as subject, 'a row of a user who does not exist' as detail
    from ${sql.table(table)} r
    left join users a on a.app_id = r.app_id and a.user_id = ${sql.ref(`r.${first}`)} and a.deleted_at is null
    left join users b on b.app_id = r.app_id and b.user_id = ${sql.ref(`r.${second}`)} and b.deleted_at is null
    where a.user_id is null or b.user_id is null`
}

/** Checks of all derived data against the log. A new derived column or table gets a line here. */
export const integrityChecks: readonly IntegrityCheck[] = [
  {
    name: 'conversation_end',
    count: sql`select count(*) as count from conversations`,
    faults: sql`select c.app_id, ${conversation('c')} as subject,
        'ends at ' || c.seq || ' (message ' || c.last_msg_id || '), its log at ' || coalesce(m.seq, 0) || ' (message ' || coalesce(m.msg_id, 0) || ')' as detail
      from conversations c
      left join (select app_id, low_id, high_id, max(seq) as seq, max(msg_id) as msg_id from ${log} l group by app_id, low_id, high_id) m
        on ${sameConversation('m', 'c')}
      where coalesce(m.seq, c.removed_seq) <> c.seq or coalesce(m.msg_id, c.last_msg_id) <> c.last_msg_id
        or (c.seq = 0 and not exists (select 1 from groups g where g.app_id = c.app_id and g.group_id = c.low_id))`,
  },
  {
    name: 'message_order',
    count: sql`select count(*) as count from ${log} l`,
    faults: sql`select app_id, low_id || '/' || high_id as subject,
        'message ' || msg_id || ' has position ' || seq || ' where ' || place || ' is due' as detail
      from (select app_id, low_id, high_id, msg_id, seq, min(seq) over (partition by app_id, low_id, high_id) - 1
          + row_number() over (partition by app_id, low_id, high_id order by msg_id) as place
        from ${log} l) numbered
      where seq <> place`,
  },
  {
    name: 'message_conversation',
    count: sql`select count(*) as count from ${log} l`,
    faults: sql`select distinct m.app_id, ${conversation('m')} as subject, 'messages without a conversation' as detail
      from ${log} m left join conversations c on ${sameConversation('c', 'm')} where c.seq is null`,
  },
  {
    name: 'last_recall',
    count: sql`select count(*) as count from conversations`,
    faults: sql`select c.app_id, ${conversation('c')} as subject,
        'has its last recall at ' || c.last_recalled_seq || ' where ' || coalesce(r.seq, 0) || ' is due' as detail
      from conversations c
      left join (select app_id, low_id, high_id, max(seq) as seq from recalled_messages group by app_id, low_id, high_id) r
        on ${sameConversation('r', 'c')}
      where c.last_recalled_seq <> coalesce(r.seq, 0) and (c.last_recalled_seq > c.removed_seq or r.seq > c.last_recalled_seq)`,
  },
  {
    name: 'own_notifications',
    count: sql`select count(*) as count from own_notifications`,
    faults: sql`select m.app_id, ${conversation('m')} as subject,
        'does not note the notification ' || m.msg_id || ' in the name of ' || m.sender_id as detail
      from messages m
      join conversations c on ${sameConversation('c', 'm')}
      left join own_notifications n on ${sameConversation('n', 'm')} and n.user_id = m.sender_id and n.seq = m.seq
      where m.is_system = 1 and m.sender_id <> ${sql.lit(systemUserId)}
        and (n.seq is null or n.msg_id <> m.msg_id or c.last_notified_seq < m.seq)
      union all
      select n.app_id, ${conversation('n')} as subject, 'notes a notification ' || n.msg_id || ' that is none' as detail
      from own_notifications n
      left join messages m on ${sameConversation('m', 'n')} and m.msg_id = n.msg_id and m.sender_id = n.user_id and m.is_system = 1
      where m.msg_id is null`,
  },
  {
    name: 'closed_conversation',
    count: sql`select count(*) as count from conversations`,
    faults: sql`select c.app_id, ${conversation('c')} as subject,
        case when c.closed = 0 then 'takes messages although a party is deleted' else 'takes no messages although no party is deleted' end as detail
      from conversations c
      where c.closed <> case when exists (select 1 from users u where u.app_id = c.app_id and u.user_id in (c.low_id, c.high_id)
        and u.deleted_at is not null) then 1 else 0 end`,
  },
  {
    name: 'settings_owner',
    count: sql`select count(*) as count from user_settings`,
    faults: sql`select s.app_id, '' || s.user_id as subject, 'settings without a user' as detail
      from user_settings s left join users u on u.app_id = s.app_id and u.user_id = s.user_id where u.user_id is null`,
  },
  {
    name: 'contact_sides',
    count: sql`select count(*) as count from contacts`,
    faults: sql`select c.app_id, c.user_id || ' and ' || c.peer_id as subject, 'the one is a contact of the other on one side only' as detail
      from contacts c left join contacts o on o.app_id = c.app_id and o.user_id = c.peer_id and o.peer_id = c.user_id and o.state = ${sql.lit(relation.contact)}
      where c.state = ${sql.lit(relation.contact)} and o.user_id is null`,
  },
  {
    name: 'contact_owner',
    count: sql`select count(*) as count from contacts`,
    faults: pairOwners('contacts', 'user_id', 'peer_id'),
  },
  {
    name: 'contact_request_owner',
    count: sql`select count(*) as count from contact_requests`,
    faults: pairOwners('contact_requests', 'user_id', 'applicant_id'),
  },
  {
    name: 'token_owner',
    count: sql`select count(*) as count from user_tokens`,
    faults: sql`select t.app_id, '' || t.user_id as subject, 'a token without a user' as detail
      from user_tokens t left join users u on u.app_id = t.app_id and u.user_id = t.user_id where u.user_id is null`,
  },
  {
    name: 'identity_owner',
    count: sql`select count(*) as count from user_identities`,
    faults: sql`select i.app_id, '' || i.user_id as subject, 'an identity without a user' as detail
      from user_identities i left join users u on u.app_id = i.app_id and u.user_id = i.user_id and u.deleted_at is null
      where u.user_id is null`,
  },
  {
    name: 'badge_owner',
    count: sql`select count(*) as count from user_badges`,
    faults: sql`select u.app_id, '' || u.user_id as subject, 'a user without a badge' as detail
      from users u left join user_badges b on b.app_id = u.app_id and b.user_id = u.user_id
      where u.deleted_at is null and b.user_id is null
      union all select b.app_id, '' || b.user_id as subject, 'a badge without a user' as detail
      from user_badges b left join users u on u.app_id = b.app_id and u.user_id = b.user_id and u.deleted_at is null
      where u.user_id is null`,
  },
  {
    name: 'alias_owner',
    count: sql`select count(*) as count from push_aliases`,
    faults: sql`select a.app_id, '' || a.user_id as subject, 'a push alias without a user' as detail
      from push_aliases a left join users u on u.app_id = a.app_id and u.user_id = a.user_id where u.user_id is null`,
  },
  {
    name: 'device_owner',
    count: sql`select count(*) as count from devices`,
    faults: sql`select d.app_id, d.user_id || ' device ' || d.device_sn as subject, 'device without a user, or above the user''s counter' as detail
      from devices d left join users u on u.app_id = d.app_id and u.user_id = d.user_id
      where u.user_id is null or d.device_sn > u.last_device_sn`,
  },
  ...broadcastChecks,
  ...changeChecks,
  ...fieldChecks,
  ...streamChecks,
  ...groupChecks,
  ...readerChecks,
  ...outboxChecks,
  ...outboxLogChecks,
  ...webhookChecks,
  ...historyChecks,
  ...importChecks,
  ...fileChecks,
]

/** Runs the statements of integrity checks. */
export class IntegrityStore {
  async count(db: Queryable, check: IntegrityCheck): Promise<number> {
    const { rows } = await check.count.execute(db)
    return Number(rows[0]?.count ?? 0)
  }

  /** @returns at most `limit` errors, by app and subject */
  async faults(db: Queryable, check: IntegrityCheck, limit: number): Promise<readonly FaultRow[]> {
    if (typeof check.faults === 'function') return check.faults(db, limit)
    const { rows } =
      await sql<FaultRow>`select * from (${check.faults}) f order by app_id, subject limit ${limit}`.execute(
        db,
      )
    return rows
  }
}
