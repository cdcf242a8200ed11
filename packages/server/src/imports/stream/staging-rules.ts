/** The tables of the staging, and the rules that relate their rows. */

/**
 * `left_out` has the items without a row, `gone` the messages among them, `known` the rowids of
 * messages that the service had before. Times are microseconds.
 */
export const stagingTables = `
create table left_out (type text, line integer, reason text, is_fault integer);
create table gone (id text);
create table known (message integer primary key);
create table users (line integer, subject text, username text, nick_name text, avatar text, status integer, at integer, user_id integer);
create table channels (line integer, cid text, name text, avatar text, creator text, truncated integer, is_distinct integer, at integer,
  low text, high text, conv text, owner text, group_id integer);
create table named_members (cid text, subject text, line integer);
create table members (line integer, cid text, subject text, role integer, last_read integer, at integer);
create table messages (line integer, id text, cid text, sender text, at integer, content text, ext text, original text, mentions text,
  pinned_by text, pinned_at integer);
create table reactions (line integer, message text, subject text, key text, at integer);
`

/** Statements that run one after the other. */
interface StagingRule {
  /** The work of the statements, for the progress. */
  readonly text: string
  readonly statements: readonly string[]
  /** Names what the last statement changed. */
  readonly note?: string
}

const limits = { keysPerMessage: 50, keysPerUser: 20, perMessage: 1000, pins: 50 }

/** Leaves out the rows of a table that a condition finds. */
function leaveOut(
  table: string,
  reason: string,
  where: string,
  options: { readonly isFault: boolean },
): StagingRule {
  const type = table.replace(/s$/, '')
  const gone =
    table === 'messages' ? [`insert into gone select id from ${table} where ${where}`] : []
  return {
    text: `checking ${table}`,
    statements: [
      `insert into left_out select '${type}', line, '${reason}', ${options.isFault ? 1 : 0} from ${table} where ${where}`,
      ...gone,
      `delete from ${table} where ${where}`,
    ],
  }
}

const fault = { isFault: true }
const rule = { isFault: false }

function twice(table: string, key: string): StagingRule {
  const first = `select min(rowid) from ${table} group by ${key}`
  return leaveOut(table, 'the same item again', `rowid not in (${first})`, rule)
}

function index(table: string, key: string): StagingRule {
  return {
    text: `sorting ${table}`,
    statements: [`create index ${table}_by_${key.replaceAll(/\W+/g, '_')} on ${table} (${key})`],
  }
}

const unknownChannel = (table: string) =>
  leaveOut(
    table,
    'names a channel that the file does not have',
    `not exists (select 1 from channels where channels.cid = ${table}.cid)`,
    fault,
  )
const unknownUser = (table: string, column: string) =>
  leaveOut(
    table,
    'names a user whom the file does not have',
    `not exists (select 1 from users where users.subject = ${table}.${column})`,
    fault,
  )

/** Rows beyond a number in a partition. */
const beyond = (partition: string, most: number, order = 'at, rowid') =>
  `rowid in (select rowid from (select rowid, row_number() over (partition by ${partition} order by ${order}) as place from reactions) where place > ${most})`

const isDirect = `is_distinct = 1 and 2 = (select count(*) from members where members.cid = channels.cid)`

export const stagingRules: readonly StagingRule[] = [
  twice('users', 'subject'),
  index('users', 'subject'),
  twice('channels', 'cid'),
  index('channels', 'cid'),
  twice('members', 'cid, subject'),
  index('members', 'cid, subject'),
  {
    text: 'adding the members of channels without an ID',
    statements: [
      `insert into members select distinct line, cid, subject, 0, 0, 0 from named_members n
       where not exists (select 1 from members m where m.cid = n.cid and m.subject = n.subject)`,
    ],
  },
  unknownChannel('members'),
  unknownUser('members', 'subject'),
  {
    text: 'finding conversations',
    statements: [
      `update channels set owner = coalesce(
         (select subject from members m where m.cid = channels.cid
          order by m.role = 2 desc, m.subject = channels.creator desc, m.role desc, m.at, m.rowid limit 1),
         (select subject from users where subject = channels.creator))`,
      `update channels set (low, high) = (select min(subject), max(subject) from members m where m.cid = channels.cid)
       where ${isDirect}`,
      `update channels set conv = case when low is null then 'group ' || cid else 'direct ' || low || char(10) || high end`,
    ],
  },
  leaveOut('channels', 'has no member who could own the group', 'owner is null', fault),
  {
    text: 'finding owners of groups',
    statements: [`update channels set creator = owner where creator <> owner and low is null`],
    note: 'the creator of a channel is no member: another member owns the group',
  },
  {
    text: 'finding channels of the same two members',
    statements: [
      'create index channels_by_conv on channels (conv)',
      'create table shared as select conv from channels group by conv having count(*) > 1',
      // Both channels share one position here: the later one.
      `update members set last_read =
       (select max(o.last_read) from members o where o.subject = members.subject and o.cid in
        (select cid from channels where conv = (select conv from channels c where c.cid = members.cid)))
       where cid in (select cid from channels where conv in (select conv from shared))`,
      // Changes nothing: it counts them for the note.
      'update channels set conv = conv where conv in (select conv from shared)',
    ],
    note: 'channels of the same two members become one conversation',
  },
  twice('messages', 'id'),
  unknownChannel('messages'),
  unknownUser('messages', 'sender'),
  leaveOut(
    'messages',
    'has a sender who is none of the two members of its channel',
    `exists (select 1 from channels c where c.cid = messages.cid and messages.sender not in (c.low, c.high))`,
    fault,
  ),
  leaveOut(
    'messages',
    'a message from before its channel was truncated',
    'at <= (select truncated from channels where channels.cid = messages.cid)',
    rule,
  ),
  {
    text: 'sorting messages',
    statements: [
      `create table sorted as
       select m.*, c.conv from messages m join channels c on c.cid = m.cid order by c.conv, m.at, m.line`,
      'drop table messages',
      'create table written as select conv, min(rowid) as first from sorted group by conv',
      'create index written_by_conv on written (conv)',
    ],
  },
  index('sorted', 'id'),
  {
    text: 'finding replies',
    statements: [
      `update sorted set original = '' where original <> '' and not exists
       (select 1 from sorted o where o.id = sorted.original and o.conv = sorted.conv and o.rowid < sorted.rowid)`,
    ],
    note: 'a message that replies to none that is imported is no reply',
  },
  {
    text: 'finding pins',
    statements: [
      `update sorted set pinned_at = 0 where rowid in (select rowid from
       (select rowid, row_number() over (partition by conv order by pinned_at desc) as place from sorted where pinned_at > 0)
       where place > ${limits.pins})`,
    ],
    note: `pins beyond the newest ${limits.pins} of a conversation are left out`,
  },
  index('gone', 'id'),
  leaveOut(
    'reactions',
    'a reaction to a message that is left out',
    `exists (select 1 from gone where gone.id = reactions.message)
     and not exists (select 1 from sorted where sorted.id = reactions.message)`,
    rule,
  ),
  leaveOut(
    'reactions',
    'names a message that the file does not have',
    'not exists (select 1 from sorted where sorted.id = reactions.message)',
    fault,
  ),
  unknownUser('reactions', 'subject'),
  twice('reactions', `message, subject, replace(key, char(65039), '')`),
  leaveOut(
    'reactions',
    `more than ${limits.keysPerUser} reactions of one user to a message`,
    beyond('message, subject', limits.keysPerUser),
    rule,
  ),
  leaveOut(
    'reactions',
    `more than ${limits.keysPerMessage} different reactions to a message`,
    `rowid in (select r.rowid from reactions r join
     (select message, key, row_number() over (partition by message order by min(at), min(rowid)) as place
      from reactions group by message, key) k on k.message = r.message and k.key = r.key
     where k.place > ${limits.keysPerMessage})`,
    rule,
  ),
  leaveOut(
    'reactions',
    `more than ${limits.perMessage} reactions to a message`,
    beyond('message', limits.perMessage),
    rule,
  ),
  index('reactions', 'message, at'),
]
