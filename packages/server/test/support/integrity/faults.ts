/** Faults that the integrity check must find, as statements that break the data. */
import type { Sql } from '../database/sql.js'
import type { IntegrityCast } from './cast.js'

export interface Fault {
  readonly check: string
  /** The subject that the finding names. */
  readonly subject: string
  readonly statements: readonly string[]
}

type Row = readonly [subject: string | number, ...statements: string[]]
type Rows = readonly Row[]

/** Breaks the data, and repairs it after the work. */
export async function withFaults<Result>(
  sql: Sql,
  faults: readonly Fault[],
  work: () => Promise<Result>,
): Promise<Result> {
  const statements = faults.flatMap((fault) => fault.statements)
  const tables = new Set(statements.map(tableOf))
  for (const table of tables) await sql.run(`create table kept_${table} as select * from ${table}`)
  for (const statement of statements) await sql.run(statement)
  try {
    return await work()
  } finally {
    for (const table of tables) {
      await sql.run(`delete from ${table}`)
      await sql.run(`insert into ${table} select * from kept_${table}`)
      await sql.run(`drop table kept_${table}`)
    }
    // Consumers of the running server may have moved to the end that was planted.
    await sql.run(
      'delete from outbox_positions where position > (select position from outbox_heads h where h.app_id = outbox_positions.app_id)',
    )
  }
}

/** Tables that many checks compare with: a fault in them can hide one in another table. */
const sharedTables = new Set(['users', 'groups', 'group_members', 'conversations'])

/** Groups of faults that do not hide each other: in different tables, and alone in a shared one. */
export function apartFaults(faults: readonly Fault[]): Fault[][] {
  const alone: Fault[][] = []
  const groups: { readonly faults: Fault[]; readonly tables: Set<string> }[] = []
  for (const fault of faults) {
    const tables = fault.statements.map(tableOf)
    if (tables.some((table) => sharedTables.has(table))) {
      alone.push([fault])
      continue
    }
    const group = groups.find((each) => !tables.some((table) => each.tables.has(table)))
    if (group === undefined) groups.push({ faults: [fault], tables: new Set(tables) })
    else {
      group.faults.push(fault)
      for (const table of tables) group.tables.add(table)
    }
  }
  return [...groups.map((group) => group.faults), ...alone]
}

function tableOf(statement: string): string {
  const table = /^(?:update|delete from|insert into) (\w+)/.exec(statement)?.[1]
  if (table === undefined) throw new Error(`${statement} changes no table`)
  return table
}

/** Faults in the data of the cast; those of a check follow each other. */
export function faultsOf(cast: IntegrityCast): Fault[] {
  return Object.entries(table(cast)).flatMap(([check, rows]) =>
    rows.map(([subject, ...statements]) => ({ check, subject: `${subject}`, statements })),
  )
}

const nobody = 5
const noGroup = 6
const beyondAll = 2 ** 52

/**
 * The faults by the check that must find them. The recall of message 5 is change 7 of the conversation
 * of Alice and Bob, the edit of message 3 is change 8.
 */
function table(cast: IntegrityCast): Readonly<Record<string, Rows>> {
  const { alice, bob, carol, dave, erin, frank, ids, broadcastId, group, receiptId } = cast
  const note = `msg_id = ${cast.noteId}`
  const [first, second, third, , fifth, sixth] = ids
  const [low, high] = [Math.min(alice, bob), Math.max(alice, bob)]
  const [pair, pairRows] = [`${low}/${high}`, `low_id = ${low} and high_id = ${high}`]
  const range = `${low.toString(36)}.${high.toString(36)}.`
  const firstRange = `(select min(position) from outbox where payload like '${range}%')`

  const conversation = (set: string): Row => [
    pair,
    `update conversations set ${set} where ${pairRows}`,
  ]
  const reader = (userId: number, set: string): Row => [
    `${userId} in ${pair}`,
    `update readers set ${set} where user_id = ${userId} and ${pairRows}`,
  ]
  const change = (change: number, set: string): Row => [
    pair,
    `update message_changes set ${set} where ${pairRows} and change = ${change}`,
  ]
  const broadcasts = (table: string, set: string): Row => [
    'broadcasts',
    `update ${table} set ${set} where app_id = 'test'`,
  ]
  const deleted = (subject: string | number, userId: number): Row => [
    subject,
    `update users set deleted_at = 1 where user_id = ${userId}`,
  ]

  const inGroup = (userId: number) => `${userId} in ${group}`
  const readerIn = (userId: number) => `${inGroup(userId)}/${group}`
  const groupConversation = (set: string): Row => [
    `${group}/${group}`,
    `update conversations set ${set} where low_id = ${group}`,
  ]
  const ofGroup = (set: string): Row => [
    group,
    `update groups set ${set} where group_id = ${group}`,
  ]
  const member = (userId: number, set: string) =>
    `update group_members set ${set} where group_id = ${group} and user_id = ${userId}`
  const position = (userId: number, set: string) =>
    `update readers set ${set} where user_id = ${userId} and low_id = ${group}`
  const gap = (set: string) =>
    `update group_mute_gaps set ${set} where group_id = ${group} and user_id = ${bob}`
  const noReader = `delete from readers where user_id = ${bob} and low_id = ${group}`

  /** Rows of a table about a user in the group. */
  const owner = (table: string, column: string, userId: number): Rows => {
    const where = `where group_id = ${group} and ${column} = ${userId}`
    return [
      [inGroup(nobody), `update ${table} set ${column} = ${nobody} ${where}`],
      deleted(inGroup(userId), userId),
      [`${userId} in ${noGroup}`, `update ${table} set group_id = ${noGroup} ${where}`],
    ]
  }
  /** Rows of a table of users who may become members: one is a member, is blocked, has no group. */
  const open = (table: string, column: string, userId: number): Rows => [
    [inGroup(bob), `update ${table} set ${column} = ${bob} where ${column} = ${userId}`],
    [inGroup(carol), `update ${table} set ${column} = ${carol} where ${column} = ${userId}`],
    [inGroup(userId), ofGroup('status = 1')[1] as string],
  ]

  return {
    outbox_positions: [
      ['outbox', 'delete from outbox where position = 2'],
      ['outbox', 'update outbox_heads set position = position + 1'],
    ],
    outbox_consumer: [
      [
        'early',
        "insert into outbox_positions (consumer, app_id, position) select 'early', app_id, position + 1 from outbox_heads",
      ],
    ],
    outbox_messages: [
      [pair, `delete from conversations where ${pairRows}`],
      [pair, `update outbox set payload = payload || '1' where position = ${firstRange}`],
    ],
    outbox_alterations: [
      [
        pair,
        `update outbox set payload = replace(payload, '"change":', '"change":9') where kind = 'message.recalled'`,
      ],
    ],
    outbox_last_message: [
      ['outbox', "update outbox_heads set last_msg_id = last_msg_id - 1 where app_id = 'test'"],
    ],
    user_change_position: [
      [carol, `update user_changes set position = position + 1000000 where user_id = ${carol}`],
    ],
    identity_owner: [[1, "insert into user_identities values ('test', 'app', '1', 1, 1)"]],
    badge_owner: [
      [bob, `delete from user_badges where user_id = ${bob}`],
      [1, "insert into user_badges (app_id, user_id) values ('test', 1)"],
    ],

    reaction_message: [[`${carol}/${carol}`, `update messages set fields = null where ${note}`]],
    reaction_number: [
      [`${carol}/${carol}`, `update message_reactions set change = 1 where ${note}`],
    ],
    pinned_message: [
      [`${carol}/${carol}`, `update pinned_messages set msg_id = msg_id + 1 where ${note}`],
    ],
    message_fields: [
      [`${carol}/${carol}`, `delete from message_reactions where ${note}`],
      [`${carol}/${carol}`, `update message_reactions set user_id = ${alice} where ${note}`],
      [`${carol}/${carol}`, `update pinned_messages set pinned_at = pinned_at + 1 where ${note}`],
    ],
    conversation_end: [
      conversation('seq = seq + 1'),
      conversation('last_msg_id = last_msg_id - 1'),
      [pair, `delete from messages where msg_id = ${sixth}`],
      ['-1/0', 'update conversations set seq = 2 where low_id = -1'],
      groupConversation('seq = 4'),
    ],
    message_order: [
      [pair, `delete from messages where msg_id = ${second}`],
      [pair, `update messages set seq = 1 where msg_id = ${third}`],
      [pair, `delete from recalled_messages where msg_id = ${fifth}`],
      [pair, recalledAgain(fifth)],
    ],
    message_conversation: [[pair, `delete from conversations where ${pairRows}`]],
    last_recall: [conversation('last_recalled_seq = 4')],
    change_order: [
      conversation('alterations = 3'),
      conversation('alterations = 1'),
      [pair, `delete from message_changes where ${pairRows} and change = 7`],
      [pair, `delete from message_changes where ${pairRows} and change = 8`],
      change(7, 'alteration = 0'),
      change(7, 'alteration = 2'),
    ],
    change_number: [change(7, 'change = 5'), change(8, 'change = 9')],
    change_kind: [
      // An edit of a message of another conversation.
      change(8, `msg_id = ${receiptId}`),
      change(8, 'kind = 1'),
      change(8, 'kind = 7'),
      // An edit of a recalled message.
      change(8, `msg_id = ${fifth}`),
      // An edit of a message that was never edited.
      change(8, `msg_id = ${first}`),
    ],
    altered_message: [
      change(7, 'kind = 0'),
      [pair, `update messages set edited_at = 5 where msg_id = ${first}`],
      [pair, `update messages set fields = '{"pinned":{}}' where msg_id = ${first}`],
    ],
    reply_original: [
      [pair, `update messages set reply_to_id = ${first} where msg_id = ${third}`],
      [
        pair,
        `update messages set reply_to_id = ${first}, reply_to_seq = 2 where msg_id = ${third}`,
      ],
      [
        pair,
        `update messages set reply_to_id = ${third}, reply_to_seq = 3 where msg_id = ${third}`,
      ],
    ],
    log_start: [
      conversation('changes_kept_from = 100'),
      conversation('changes_kept_from = -1'),
      conversation('removed_seq = 1'),
      [pair, `delete from messages where msg_id = ${first}`],
    ],
    removed_history: [conversation(`removed_msg_id = ${first}`)],
    closed_conversation: [conversation('closed = 1'), deleted(pair, bob)],

    reader_positions: [
      reader(bob, 'read_seq = 100'),
      reader(bob, 'delivered_seq = 100'),
      reader(alice, `hidden_msg_id = ${sixth + 1}`),
      [`${bob} in -1/0`, `update readers set seen_seq = 2 where user_id = ${bob} and low_id = -1`],
      [`${bob} in -1/5`, `update readers set high_id = 5 where user_id = ${bob} and low_id = -1`],
      ...[
        'seen_seq = 4',
        'read_seq = 3',
        'read_seq = -1',
        'acked_seq = 3',
        'acked_seq = -1',
        'delivered_seq = 4',
        'delivered_seq = -1',
        `hidden_msg_id = ${beyondAll}`,
        `start_msg_id = ${beyondAll}`,
        'muted_seq = 4',
        'muted_seq = -1',
        'gaps_end_seq = 4',
        'gaps_end_seq = -1',
      ].map((set): Row => [readerIn(bob), position(bob, set)]),
    ],
    furthest_readers: [
      conversation('furthest_seq = furthest_seq - 1'),
      groupConversation('furthest_seq = 2'),
      groupConversation('furthest_seq = 4'),
      groupConversation('others_seq = 4'),
    ],
    party_reader: [
      [`${bob} in ${pair}`, `delete from readers where user_id = ${bob} and ${pairRows}`],
    ],
    reader_owner: [
      deleted(`${bob} in ${pair}`, bob),
      [
        readerIn(carol),
        `insert into readers (app_id, user_id, low_id, high_id) values ('test', ${carol}, ${group}, ${group})`,
      ],
    ],

    settings_owner: [
      [nobody, `update user_settings set user_id = ${nobody} where user_id = ${carol}`],
    ],
    contact_sides: [
      [`${alice} and ${bob}`, `update contacts set state = 1 where user_id = ${bob}`],
      [`${bob} and ${alice}`, `delete from contacts where user_id = ${alice}`],
    ],
    contact_owner: [
      [`${nobody} and ${alice}`, `update contacts set user_id = ${nobody} where user_id = ${bob}`],
      deleted(`${bob} and ${alice}`, alice),
    ],
    contact_request_owner: [deleted(`${bob} and ${carol}`, carol)],
    device_owner: [
      [`${nobody} device 1`, `update devices set user_id = ${nobody} where user_id = ${carol}`],
      [`${carol} device 2`, `update devices set device_sn = 2 where user_id = ${carol}`],
    ],

    user_count: [['users', "update user_counts set users = users + 1 where app_id = 'test'"]],
    last_broadcast: [
      broadcasts('user_counts', 'last_broadcast_id = last_broadcast_id - 1'),
      broadcasts('outbox_heads', 'last_broadcast_id = last_broadcast_id - 1'),
    ],
    broadcast_sender: [[broadcastId, `update messages set sender_id = ${bob} where low_id = -1`]],
    broadcasts_after: [
      [carol, `update users set broadcasts_after = ${broadcastId + 1} where user_id = ${carol}`],
    ],

    group_count: [ofGroup('member_count = 3')],
    group_ban_count: [ofGroup('ban_count = 2'), ofGroup('ban_count = 0')],
    group_join_request_count: [ofGroup('join_request_count = 2')],
    group_block_count: [ofGroup('block_count = 2')],
    group_invitation_count: [
      [erin, `update group_invitation_counts set invitations = 2 where user_id = ${erin}`],
      [erin, `delete from group_invitation_counts where user_id = ${erin}`],
    ],
    group_owner: [
      ofGroup(`owner_id = ${bob}`),
      [group, member(alice, 'role = 1')],
      [group, member(bob, 'role = 2')],
    ],
    group_member_owner: owner('group_members', 'user_id', bob),
    group_mute_gap_owner: owner('group_mute_gaps', 'user_id', bob),
    group_block_owner: owner('group_blocks', 'user_id', carol),
    group_removal_owner: owner('group_removals', 'user_id', frank),
    group_join_request_owner: owner('group_join_requests', 'applicant_id', dave),
    group_invitation_owner: owner('group_invitations', 'invitee_id', erin),
    group_join_request_open: open('group_join_requests', 'applicant_id', dave),
    group_invitation_open: open('group_invitations', 'invitee_id', erin),
    group_block_member: [
      [
        inGroup(bob),
        `insert into group_blocks (app_id, group_id, user_id, created_at) values ('test', ${group}, ${bob}, 1)`,
      ],
    ],
    group_pin: [
      [
        inGroup(carol),
        `update pinned_conversations set user_id = ${carol} where conversation_id = ${group}`,
      ],
    ],
    member_reader: [
      [inGroup(bob), noReader],
      [inGroup(bob), member(bob, 'msg_mute_mode = 2')],
    ],
    member_sends: [[readerIn(alice), position(alice, 'read_seq = 2')]],
    group_mute_gap: [
      [inGroup(bob), gap('from_seq = 2')],
      [inGroup(bob), gap('from_seq = -1')],
      [inGroup(bob), gap('to_seq = 4')],
      [inGroup(bob), position(bob, 'gaps_end_seq = 1')],
      [inGroup(bob), ofGroup('status = 1')[1] as string],
      [inGroup(bob), noReader],
      [inGroup(bob), position(bob, 'muted_seq = 1')],
      // A gap that holds the end of another.
      [
        inGroup(bob),
        gap('from_seq = 0'),
        `insert into group_mute_gaps (app_id, group_id, user_id, to_seq, from_seq) values ('test', ${group}, ${bob}, 1, 0)`,
      ],
    ],
    group_mute_gap_end: [[inGroup(bob), position(bob, 'gaps_end_seq = 3')]],
    receipt_request: [
      [inGroup(alice), 'update receipt_requests set seq = 2'],
      [inGroup(bob), `update receipt_requests set sender_id = ${bob}`],
      [inGroup(alice), 'update receipt_requests set msg_id = 1'],
      [`${alice} in ${noGroup}`, `update receipt_requests set group_id = ${noGroup}`],
    ],

    webhook_position: [
      [cast.endpoint, 'update webhook_endpoints set position = position + 1000000'],
    ],
    webhook_disabled: [[cast.endpoint, "update webhook_endpoints set state_reason = 'failing'"]],
    lost_history: [
      ['earlier', "insert into lost_histories values ('earlier', 'test', 120, 0, 100, null)"],
    ],
    finished_import: [
      [
        'other',
        "insert into imports values ('test', 'other', 0, 1, 1, 1, 1, 1)",
        "insert into imported_items values ('test', 'other', 1, 'a', 1, 1, 2, 1, '', 1)",
      ],
    ],
    import_position: [
      ['other', `insert into imports values ('test', 'other', 0, 1, 1, 1, 1, ${beyondAll})`],
    ],
    webhook_event_owner: [
      [
        nobody,
        `insert into webhook_events values ('test', ${nobody}, 1, 1, 0, '', 'app', 'user.removed', '{}', 0, 'dead', 5, 0, 400, '')`,
      ],
    ],
    webhook_attempt_owner: [
      [
        nobody,
        `insert into webhook_attempts values ('test', ${nobody}, 1, 0, 'evt', 'user.removed', 'app', 1, 1, 'refused', 400, 1, '', '', 0)`,
      ],
    ],
  }
}

/** A message that was recalled and is stored all the same. */
function recalledAgain(messageId: number): string {
  const columns = 'app_id, low_id, high_id, msg_id, seq, sender_id, sent_at'
  const rest = 'sender_device_sn, content_type, content, attachment, config, ext, is_system'
  return `insert into messages (${columns}, ${rest}) select ${columns}, 0, 0, '', '', '', '', 0 from recalled_messages where msg_id = ${messageId}`
}
