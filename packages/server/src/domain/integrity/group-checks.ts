import { admissionStatus, groupStatus, memberRole } from '@hermod/protocol'
import { type RawBuilder, sql } from '../../db/kysely.js'
import type { FaultRow, IntegrityCheck } from './integrity-check.js'

/** A row of a table, joined with its group `g`. */
const sameGroup = (alias: string) =>
  sql.raw(`g.app_id = ${alias}.app_id and g.group_id = ${alias}.group_id`)
/** The reader `r` of a group's conversation who has the mute gap `y`. */
const readerOfGap = sql.raw(
  'r.app_id = y.app_id and r.user_id = y.user_id and r.low_id = y.group_id and r.high_id = y.group_id',
)
const inGroup = (user: string, group: string) => sql.raw(`${user} || ' in ' || ${group}`)

function counted(table: string): RawBuilder<{ count: number | bigint }> {
  return sql`select count(*) as count from ${sql.table(table)}`
}

/** Every table of rows about a user in a group, with the column that names the user. */
const personalTables = {
  group_members: 'user_id',
  group_mute_gaps: 'user_id',
  group_blocks: 'user_id',
  group_removals: 'user_id',
  group_join_requests: 'applicant_id',
  group_invitations: 'invitee_id',
} as const

/** Checks that no row refers to a missing group, or to a user who does not exist or is deleted. */
const ownerChecks = Object.entries(personalTables).map(
  ([table, column]): IntegrityCheck => ({
    name: `${table.slice(0, -1)}_owner`,
    count: counted(table),
    faults: sql`select r.app_id, ${inGroup(`r.${column}`, 'r.group_id')} as subject, 'a row of a user or of a group that does not exist' as detail
      from ${sql.table(table)} r
      left join groups g on ${sameGroup('r')}
      left join users u on u.app_id = r.app_id and u.user_id = ${sql.ref(`r.${column}`)} and u.deleted_at is null
      where g.group_id is null or u.user_id is null`,
  }),
)

/** Open requests and invitations of users who cannot join any more, or who are members. */
function openRows(table: 'group_join_requests' | 'group_invitations'): RawBuilder<FaultRow> {
  const column = personalTables[table]
  const isSame = (alias: string) =>
    sql.raw(
      `${alias}.app_id = r.app_id and ${alias}.group_id = r.group_id and ${alias}.user_id = r.${column}`,
    )
  return sql`select r.app_id, ${inGroup(`r.${column}`, 'r.group_id')} as subject,
      'open although the user is a member or blocked, or the group is dissolved' as detail
    from ${sql.table(table)} r
    left join groups g on ${sameGroup('r')}
    left join group_members m on ${isSame('m')}
    left join group_blocks b on ${isSame('b')}
    where r.status = ${sql.lit(admissionStatus.pending)} and r.expires_at > r.updated_at
      and (g.status <> ${sql.lit(groupStatus.normal)} or m.user_id is not null or b.user_id is not null)`
}

/** The counts in the row of a group. @param rows of groups, in SQL */
function countCheck(name: string, column: string, what: string, rows: string): IntegrityCheck {
  const said = sql.raw(`g.${column}`)
  return {
    name,
    count: counted('groups'),
    faults: sql`select g.app_id, '' || g.group_id as subject,
        'counts ' || ${said} || ${sql.lit(` ${what} and has `)} || coalesce(r.found, 0) as detail
      from groups g
      left join (select app_id, group_id, count(*) as found from ${sql.raw(rows)} counted group by app_id, group_id) r on ${sameGroup('r')}
      where ${said} <> coalesce(r.found, 0)`,
  }
}

/** Checks of all derived data of groups. */
export const groupChecks: readonly IntegrityCheck[] = [
  countCheck('group_count', 'member_count', 'members', 'group_members'),
  countCheck(
    'group_ban_count',
    'ban_count',
    'banned members',
    '(select app_id, group_id from group_members where ban_expires_at <> 0)',
  ),
  countCheck('group_block_count', 'block_count', 'blocked users', 'group_blocks'),
  countCheck(
    'group_join_request_count',
    'join_request_count',
    'join requests',
    'group_join_requests',
  ),
  {
    name: 'group_invitation_count',
    count: counted('group_invitation_counts'),
    faults: sql`select app_id, '' || user_id as subject, 'counts ' || said || ' invitations and has ' || found as detail
      from (select app_id, user_id, sum(said) as said, sum(found) as found
        from (select app_id, user_id, invitations as said, 0 as found from group_invitation_counts
          union all select app_id, invitee_id, 0, count(*) from group_invitations group by app_id, invitee_id) either
        group by app_id, user_id) counts
      where said <> found`,
  },
  {
    name: 'group_owner',
    count: counted('groups'),
    faults: sql`select g.app_id, '' || g.group_id as subject,
        'names ' || g.owner_id || ' as its owner, and has ' || coalesce(m.owners, 0) || ' owners among its members' as detail
      from groups g
      left join (select app_id, group_id, count(*) as owners, max(user_id) as owner_id from group_members where role <> 0 and role = ${sql.lit(memberRole.owner)}
        group by app_id, group_id) m on ${sameGroup('m')}
      where g.status = ${sql.lit(groupStatus.normal)} and (m.owners is null or m.owners <> 1 or m.owner_id <> g.owner_id)`,
  },
  ...ownerChecks,
  {
    name: 'group_block_member',
    count: counted('group_blocks'),
    faults: sql`select b.app_id, ${inGroup('b.user_id', 'b.group_id')} as subject, 'a member who is blocked' as detail
      from group_blocks b join group_members m on m.app_id = b.app_id and m.group_id = b.group_id and m.user_id = b.user_id`,
  },
  {
    name: 'group_join_request_open',
    count: counted('group_join_requests'),
    faults: openRows('group_join_requests'),
  },
  {
    name: 'group_invitation_open',
    count: counted('group_invitations'),
    faults: openRows('group_invitations'),
  },
  {
    name: 'group_pin',
    count: counted('pinned_conversations'),
    faults: sql`select p.app_id, ${inGroup('p.user_id', 'p.conversation_id')} as subject, 'pinned a group without being a member' as detail
      from pinned_conversations p
      join groups g on g.app_id = p.app_id and g.group_id = p.conversation_id
      left join group_members m on m.app_id = p.app_id and m.group_id = p.conversation_id and m.user_id = p.user_id
      where m.user_id is null`,
  },
  {
    name: 'group_mute_gap',
    count: counted('group_mute_gaps'),
    faults: sql`select y.app_id, ${inGroup('y.user_id', 'y.group_id')} as subject,
        'does not count as unread what is after ' || y.from_seq || ' up to ' || y.to_seq || ', with gaps up to ' || coalesce(r.gaps_end_seq, 0) || ' of a conversation that ends at ' || coalesce(c.seq, 0) as detail
      from group_mute_gaps y
      left join groups g on ${sameGroup('y')} and g.status = ${sql.lit(groupStatus.normal)}
      left join readers r on ${readerOfGap}
      left join conversations c on c.app_id = y.app_id and c.low_id = y.group_id and c.high_id = y.group_id
      where g.group_id is null or r.user_id is null or c.seq is null
        or y.from_seq not between 0 and y.to_seq - 1 or y.to_seq > c.seq or y.to_seq > r.gaps_end_seq or y.to_seq > r.muted_seq
        or exists (select 1 from group_mute_gaps o where o.app_id = y.app_id and o.group_id = y.group_id and o.user_id = y.user_id
          and o.to_seq < y.to_seq and o.to_seq > y.from_seq)`,
  },
  {
    name: 'group_mute_gap_end',
    count: counted('group_members'),
    faults: sql`select r.app_id, ${inGroup('r.user_id', 'r.low_id')} as subject,
        'has seen to ' || r.seen_seq || ', and the gap that ends at ' || r.gaps_end_seq || ' is not there' as detail
      from readers r
      join groups g on g.app_id = r.app_id and g.group_id = r.low_id and g.status = ${sql.lit(groupStatus.normal)}
      left join group_mute_gaps y on ${readerOfGap} and y.to_seq = r.gaps_end_seq
      where r.gaps_end_seq > r.seen_seq and y.to_seq is null`,
  },
  {
    name: 'receipt_request',
    count: counted('receipt_requests'),
    faults: sql`select r.app_id, ${inGroup('r.sender_id', 'r.group_id')} as subject,
        'asks for receipts of a message that is not there: ' || r.msg_id as detail
      from (select app_id, group_id, seq, msg_id, sender_id from receipt_requests
        except select app_id, low_id, seq, msg_id, sender_id from messages where low_id = high_id) r`,
  },
]
