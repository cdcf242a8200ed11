import { muteMode, systemUserId } from '@hermod/protocol'
import { sql } from '../../db/kysely.js'
import { broadcastUserId } from '../messaging/model/conversation-model.js'
import { type IntegrityCheck, log, sameConversation } from './integrity-check.js'

const named = (alias: string) => sql.raw(`${alias}.low_id || '/' || ${alias}.high_id`)
const reader = sql.raw(`r.user_id || ' in ' || r.low_id || '/' || r.high_id`)
const readers = sql<{ count: number }>`select count(*) as count from readers`
const conversations = sql<{ count: number }>`select count(*) as count from conversations`

/** A reader `r` is a party of a direct conversation. */
const isParty = sql.raw(
  `(r.low_id <> ${broadcastUserId} and (r.low_id = r.user_id or r.high_id = r.user_id))`,
)
/** The member `m` of a group is the reader `r` of its conversation. */
const isMember = sql.raw(
  'r.app_id = m.app_id and r.user_id = m.user_id and r.low_id = m.group_id and r.high_id = m.group_id',
)

/** Readers of direct conversations, groups and broadcasts, and the positions of senders. */
export const readerChecks: readonly IntegrityCheck[] = [
  {
    name: 'reader_positions',
    count: readers,
    faults: sql`select r.app_id, ${reader} as subject,
        'has read to ' || r.read_seq || ', acknowledged to ' || r.acked_seq || ', got to ' || r.delivered_seq || ', seen to ' || r.seen_seq || ', muted at ' || coalesce(r.muted_seq, 0) || ' and last before ' || r.gaps_end_seq || ', hidden to message ' || r.hidden_msg_id || ' and begun at message ' || r.start_msg_id || ' of a conversation that ends at ' || coalesce(c.seq, 0) as detail
      from readers r left join conversations c on ${sameConversation('c', 'r')}
      where c.seq is null or r.read_seq not between 0 and r.seen_seq or r.seen_seq > c.seq
        or r.acked_seq not between 0 and r.read_seq or r.delivered_seq not between 0 and c.seq
        or r.muted_seq not between 0 and c.seq or r.gaps_end_seq not between 0 and c.seq
        or r.hidden_msg_id not between 0 and c.last_msg_id or r.start_msg_id not between 0 and c.last_msg_id`,
  },
  {
    name: 'reader_owner',
    count: readers,
    faults: sql`select r.app_id, ${reader} as subject, 'a reader of a conversation of others, or a deleted user whose positions may move' as detail
      from readers r
      left join users u on u.app_id = r.app_id and u.user_id = r.user_id and u.deleted_at is null
      left join group_members m on ${isMember}
      where r.closed <> case when u.user_id is null then 1 else 0 end or (u.user_id is null and not ${isParty})
        or (m.user_id is null and r.low_id <> ${sql.lit(broadcastUserId)} and not ${isParty})`,
  },
  {
    name: 'party_reader',
    count: conversations,
    faults: sql`select c.app_id, u.user_id || ' in ' || ${named('c')} as subject, 'a party is no reader of the conversation' as detail
      from conversations c join users u on u.app_id = c.app_id and u.user_id in (c.low_id, c.high_id)
      left join readers r on ${sameConversation('r', 'c')} and r.user_id = u.user_id
      where c.low_id <> ${sql.lit(broadcastUserId)} and r.user_id is null`,
  },
  {
    name: 'member_reader',
    count: sql`select count(*) as count from group_members`,
    faults: sql`select m.app_id, m.user_id || ' in ' || m.group_id as subject, 'a member is no reader of the group, or does not receive what the mode says' as detail
      from group_members m left join readers r on ${isMember}
      where r.user_id is null
        or (m.msg_mute_mode = ${sql.lit(muteMode.notReceived)} and r.muted_seq is null)
        or (m.msg_mute_mode <> ${sql.lit(muteMode.notReceived)} and r.muted_seq is not null)`,
  },
  {
    name: 'furthest_readers',
    count: conversations,
    faults: sql`select c.app_id, ${named('c')} as subject,
        'is read to ' || c.furthest_seq || ' by one and to ' || c.others_seq || ' by others, of a conversation that ends at ' || c.seq || ', or has a later message of theirs' as detail
      from conversations c
      where c.others_seq not between 0 and c.furthest_seq or c.furthest_seq > c.seq
        or exists (select 1 from (select app_id, low_id, high_id, sender_id, max(seq) as seq from ${log} l
            where is_system = 0 and sender_id <> ${sql.lit(systemUserId)} group by app_id, low_id, high_id, sender_id) s
          where ${sameConversation('s', 'c')} and s.seq > case when s.sender_id = c.furthest_id then c.furthest_seq else c.others_seq end)`,
  },
  {
    name: 'member_sends',
    count: sql`select count(*) as count from group_members`,
    faults: sql`select r.app_id, ${reader} as subject, 'has read to ' || r.read_seq || ' but sent at ' || s.seq as detail
      from readers r
      join (select l.app_id, l.low_id, l.high_id, l.sender_id, max(l.seq) as seq from ${log} l
          join readers j on ${sameConversation('j', 'l')} and j.user_id = l.sender_id and l.msg_id > j.start_msg_id
          where l.low_id = l.high_id and l.is_system = 0 group by l.app_id, l.low_id, l.high_id, l.sender_id) s
        on ${sameConversation('s', 'r')} and s.sender_id = r.user_id
      where s.seq > r.read_seq and r.user_id <> r.low_id`,
  },
]
