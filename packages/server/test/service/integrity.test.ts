import type { CheckReport } from '@hermod/protocol'
import { anyBackend, isFullRun, type ServerProcess, testBackends } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { apply, authModes, changeSettings, connect, registerPeople } from '../support/contacts.js'
import { aGroup, expectSuccess, groupCall, types } from '../support/groups/groups.js'
import { type CommandResult, callHermod, runHermod } from '../support/hermod-command.js'
import { broadcast, newestId } from '../support/messaging/broadcasts.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  deleteConversation,
  integrityFaults,
  notify,
  sendText,
} from '../support/messaging/messaging.js'
import { WatchedServer } from '../support/watched-server.js'

/** One thing that is wrong, and the way back. */
interface Fault {
  readonly name: string
  readonly plant: readonly string[]
  readonly repair: readonly string[]
  /** The check that must find it. */
  readonly check: string
  /** What its finding must name. */
  readonly subject: string
}

function copyOfRecalled(messageId: number): string {
  const columns = 'app_id, low_id, high_id, msg_id, seq, sender_id, sent_at'
  const rest = 'sender_device_sn, content_type, content, attachment, config, ext, is_system'
  return `insert into messages (${columns}, ${rest}) select ${columns}, 0, 0, '', '', '', '', 0 from recalled_messages where msg_id = ${messageId}`
}

function finding({ check, subject }: Fault) {
  return { check, app_id: 'test', subject, detail: expect.any(String) }
}

for (const backend of testBackends()) {
  describe(`hermod check on ${backend.name}`, () => {
    /** What the command prints does not depend on the database. */
    const isFirst = anyBackend().some(({ name }) => name === backend.name)
    let watched: WatchedServer
    let server: ServerProcess
    /**
     * Alice wrote 1, 2 and 3 to Bob, who read 1 and then wrote 4; then she wrote 5 and 6, recalled
     * 5 and edited 3. Both are contacts. Carol has a device and settings and applied to Bob. They
     * have a group: Alice owns it, Bob is a banned member, Carol is blocked, Dave applied, Erin is
     * invited and Frank was kicked; Alice wrote three messages to it, of which Bob did not receive
     * the second, read two and is asked for a receipt of the third.
     */
    let alice: number
    let bob: number
    let carol: number
    let ids: number[]
    let broadcastId: number
    let group: number
    /** Of the group. */
    let thirdMessage: number
    let dave: number
    /** A disabled endpoint of webhooks. */
    let endpoint: number
    let erin: number
    let frank: number

    beforeAll(async () => {
      // Of the disabled endpoint.
      const env = { HERMOD_OUTBOUND_ALLOW: '127.0.0.1' }
      watched = await WatchedServer.start(backend, { env })
      server = watched.server
      const admin = server.api.admin()
      alice = (await server.api.register()).id
      bob = (await server.api.register()).id
      const body = {
        username: 'carol',
        password: 'correct horse',
        device_guid: 'phone',
        push_token: 'push',
      }
      carol = (await server.api.succeed('POST', '/user/register/push', { body })).data.user_id
      const from = (userId: number) => server.api.admin({ userId })
      ids = [
        await sendText(from(alice), bob, '1'),
        await sendText(from(alice), bob, '2'),
        await sendText(from(alice), bob, '3'),
      ]
      await acknowledge(from(bob), { peer: alice, message: ids[0] as number })
      ids.push(await sendText(from(bob), alice, '4'))
      ids.push(await sendText(from(alice), bob, '5'), await sendText(from(alice), bob, '6'))
      await recall(from(alice), bob, ids[4] as number)
      expectSuccess(
        await operate(from(alice), 'append', {
          peer: bob,
          message: ids[2] as number,
          content: '!',
        }),
      )
      await sendText(from(carol), carol, 'note to self')
      await notify(admin, carol, 'welcome')
      await sendText(from(alice), carol, 'hidden')
      await deleteConversation(from(carol), alice)
      await connect({ api: from(alice) }, { id: bob })
      await changeSettings({ id: bob, api: from(bob) }, { auth_mode: authModes.consent })
      await apply(from(carol), bob)
      await fillGroup()
      await fillBroadcasts()
      // Nothing is sent to it.
      const url = 'http://localhost:9/hook'
      const made = await admin.succeed('POST', '/app/webhook/create', { body: { url } })
      endpoint = made.data.endpoint_id
      const disabled = { endpoint_id: endpoint, state: 'disabled' }
      await admin.succeed('POST', '/app/webhook/update', { body: disabled })
    })

    /** The system has told everybody, and Bob has read it. */
    async function fillBroadcasts(): Promise<void> {
      await broadcast(server.api.admin(), 'hello')
      const ofBob = server.api.admin({ userId: bob })
      broadcastId = await newestId(ofBob, 0)
      await acknowledge(ofBob, { peer: 0 })
    }

    async function fillGroup(): Promise<void> {
      const [applicant, invitee, kicked] = await registerPeople(server, 3)
      if (!applicant || !invitee || !kicked) throw new Error('nobody')
      dave = applicant.id
      erin = invitee.id
      frank = kicked.id
      const owner = server.api.admin({ userId: alice })
      group = await aGroup(
        { api: owner },
        { members: [{ id: bob }, kicked], more: { type: types.public } },
      )
      await changeSettings(invitee, { group_confirm: true })
      expectSuccess(await groupCall(owner, '/group/kick', group, { user_list: [frank] }))
      expectSuccess(await groupCall(owner, '/group/ban', group, { user_list: [bob], duration: -1 }))
      expectSuccess(await groupCall(owner, '/group/block', group, { user_list: [carol] }))
      expectSuccess(await groupCall(owner, '/group/invite', group, { user_list: [erin] }))
      expectSuccess(await groupCall(applicant.api, '/group/apply', group))
      await owner.succeed('POST', '/user/conversation/pin', { body: { conversation_id: group } })
      const sent: number[] = []
      const hearer = server.api.admin({ userId: bob })
      for (const [content, msg_mute_mode] of [
        ['1', 2],
        ['2', 0],
      ] as const) {
        sent.push(await sendText(owner, group, content, { type: 2 }))
        expectSuccess(await groupCall(hearer, '/group/msg/mute_mode', group, { msg_mute_mode }))
      }
      expectSuccess(
        await groupCall(owner, '/group/settings/enable_read_ack', group, { value: true }),
      )
      thirdMessage = await sendText(owner, group, '3', {
        type: 2,
        config: JSON.stringify({ groupMemberList: [bob] }),
      })
      await acknowledge(hearer, {
        peer: group,
        message: sent[1] as number,
      })
    }

    afterAll(() => watched?.[Symbol.asyncDispose]())

    function check(): Promise<CommandResult> {
      return callHermod(['check', '--json'], watched.settings)
    }

    async function sql(statements: readonly string[]): Promise<void> {
      for (const statement of statements) await watched.sql.run(statement)
    }

    /** Rows that are put away, and the way back. */
    const moved = (table: string, where: string) => ({
      plant: [
        `create table moved as select * from ${table} where ${where}`,
        `delete from ${table} where ${where}`,
      ],
      repair: [`insert into ${table} select * from moved`, 'drop table moved'],
    })

    function faults(): Fault[] {
      const conversation = `low_id = ${Math.min(alice, bob)} and high_id = ${Math.max(alice, bob)}`
      const pair = `${Math.min(alice, bob)}/${Math.max(alice, bob)}`
      const [low, high] = [Math.min(alice, bob), Math.max(alice, bob)].map((id) => id.toString(36))
      const firstRange = `(select min(position) from outbox where payload like '${low}.${high}.%')`
      const changed = (
        userId: number,
        column: string,
        [wrong, right]: readonly [number, number],
      ) => {
        const set = (value: number) =>
          `update readers set ${column} = ${value} where user_id = ${userId} and ${conversation}`
        return {
          plant: [set(wrong)],
          repair: [set(right)],
          check: 'reader_positions',
          subject: `${userId} in ${pair}`,
        }
      }
      return [
        {
          name: 'a hole in the outbox',
          ...moved('outbox', 'position = 2'),
          check: 'outbox_positions',
          subject: 'outbox',
        },
        {
          name: 'an outbox that ends later than its rows',
          plant: ['update outbox_heads set position = position + 1'],
          // Consumers of the running server may have moved there meanwhile.
          repair: [
            'update outbox_heads set position = position - 1',
            'delete from outbox_positions where position > (select position from outbox_heads h where h.app_id = outbox_positions.app_id)',
          ],
          check: 'outbox_positions',
          subject: 'outbox',
        },
        {
          name: 'a consumer that is beyond the outbox',
          plant: [
            "insert into outbox_positions (consumer, app_id, position) select 'early', app_id, position + 1 from outbox_heads",
          ],
          repair: ['delete from outbox_positions'],
          check: 'outbox_consumer',
          subject: 'early',
        },
        {
          name: 'a message of the outbox that its conversation has not got',
          ...moved('conversations', conversation),
          check: 'outbox_messages',
          subject: pair,
        },
        {
          name: 'a range of the outbox with the numbers of other messages',
          plant: [
            `create table moved as select position, payload from outbox where kind = 'message.stored' and position = ${firstRange}`,
            `update outbox set payload = payload || '1' where position = ${firstRange}`,
          ],
          repair: [
            `update outbox set payload = (select payload from moved) where position = ${firstRange}`,
            'drop table moved',
          ],
          check: 'outbox_messages',
          subject: pair,
        },
        {
          name: 'a recall whose number is not in the log',
          plant: [
            `create table moved as select position, payload from outbox where kind = 'message.recalled'`,
            `update outbox set payload = replace(payload, '"change":', '"change":9') where kind = 'message.recalled'`,
          ],
          repair: [
            `update outbox set payload = (select payload from moved) where kind = 'message.recalled'`,
            'drop table moved',
          ],
          check: 'outbox_alterations',
          subject: pair,
        },
        {
          name: 'a change of a user beyond the outbox',
          plant: [`update user_changes set position = position + 1000000 where user_id = ${carol}`],
          repair: [
            `update user_changes set position = position - 1000000 where user_id = ${carol}`,
          ],
          check: 'user_change_position',
          subject: `${carol}`,
        },
        {
          name: 'a user whose badge is gone',
          ...moved('user_badges', `user_id = ${bob}`),
          check: 'badge_owner',
          subject: String(bob),
        },
        {
          name: 'a badge of nobody',
          plant: [
            "insert into user_badges (app_id, user_id) select app_id, 1 from apps where app_id = 'test'",
          ],
          repair: ['delete from user_badges where user_id = 1'],
          check: 'badge_owner',
          subject: '1',
        },
        {
          name: 'a conversation that ends later than its log',
          plant: [`update conversations set seq = seq + 1 where ${conversation}`],
          repair: [`update conversations set seq = seq - 1 where ${conversation}`],
          check: 'conversation_end',
          subject: pair,
        },
        {
          name: 'a conversation that names another last message',
          plant: [`update conversations set last_msg_id = last_msg_id - 1 where ${conversation}`],
          repair: [`update conversations set last_msg_id = last_msg_id + 1 where ${conversation}`],
          check: 'conversation_end',
          subject: pair,
        },
        {
          name: 'a missing message in the middle',
          ...moved('messages', `msg_id = ${ids[1]}`),
          check: 'message_order',
          subject: pair,
        },
        {
          name: 'a missing last message',
          ...moved('messages', `msg_id = ${ids[5]}`),
          check: 'conversation_end',
          subject: pair,
        },
        {
          name: 'a message at the position of another',
          plant: [`update messages set seq = 1 where msg_id = ${ids[2]}`],
          repair: [`update messages set seq = 3 where msg_id = ${ids[2]}`],
          check: 'message_order',
          subject: pair,
        },
        {
          name: 'a recall that is forgotten',
          ...moved('recalled_messages', `msg_id = ${ids[4]}`),
          check: 'message_order',
          subject: pair,
        },
        {
          name: 'a recalled message that is still there',
          plant: [copyOfRecalled(ids[4] as number)],
          repair: [`delete from messages where msg_id = ${ids[4]}`],
          check: 'message_order',
          subject: pair,
        },
        {
          name: 'a last recall that was none',
          plant: [`update conversations set last_recalled_seq = 4 where ${conversation}`],
          repair: [`update conversations set last_recalled_seq = 5 where ${conversation}`],
          check: 'last_recall',
          subject: pair,
        },
        {
          name: 'a delivered position beyond the end',
          ...changed(bob, 'delivered_seq', [100, 0]),
        },
        {
          name: 'messages without their conversation',
          ...moved('conversations', conversation),
          check: 'message_conversation',
          subject: pair,
        },
        { name: 'a read position beyond the end', ...changed(bob, 'read_seq', [100, 1]) },
        {
          name: 'a position before the message that its owner sent',
          plant: [`update conversations set furthest_seq = furthest_seq - 1 where ${conversation}`],
          repair: [
            `update conversations set furthest_seq = furthest_seq + 1 where ${conversation}`,
          ],
          check: 'furthest_readers',
          subject: pair,
        },
        {
          name: 'messages hidden that are not there yet',
          ...changed(alice, 'hidden_msg_id', [(ids[5] as number) + 1, 0]),
        },
        {
          name: 'a party whose row is gone',
          ...moved('readers', `user_id = ${bob} and ${conversation}`),
          check: 'party_reader',
          subject: `${bob} in ${pair}`,
        },
        {
          name: 'settings of nobody',
          plant: [`update user_settings set user_id = 5 where user_id = ${carol}`],
          repair: [`update user_settings set user_id = ${carol} where user_id = 5`],
          check: 'settings_owner',
          subject: '5',
        },
        {
          name: 'a contact on one side only',
          plant: [`update contacts set state = 1 where user_id = ${bob}`],
          repair: [`update contacts set state = 0 where user_id = ${bob}`],
          check: 'contact_sides',
          subject: `${alice} and ${bob}`,
        },
        {
          name: 'a contact whose other side is gone',
          ...moved('contacts', `user_id = ${alice}`),
          check: 'contact_sides',
          subject: `${bob} and ${alice}`,
        },
        {
          name: 'a contact of nobody',
          plant: [`update contacts set user_id = 5 where user_id = ${bob}`],
          repair: [`update contacts set user_id = ${bob} where user_id = 5`],
          check: 'contact_owner',
          subject: `5 and ${alice}`,
        },
        {
          name: 'a contact with a deleted user',
          plant: [`update users set deleted_at = 1 where user_id = ${alice}`],
          repair: [`update users set deleted_at = null where user_id = ${alice}`],
          check: 'contact_owner',
          subject: `${bob} and ${alice}`,
        },
        {
          name: 'an application of a deleted user',
          plant: [`update users set deleted_at = 1 where user_id = ${carol}`],
          repair: [`update users set deleted_at = null where user_id = ${carol}`],
          check: 'contact_request_owner',
          subject: `${bob} and ${carol}`,
        },
        {
          name: 'a device of nobody',
          plant: [`update devices set user_id = 5 where user_id = ${carol}`],
          repair: [`update devices set user_id = ${carol} where user_id = 5`],
          check: 'device_owner',
          subject: '5 device 1',
        },
        {
          name: 'a device above the counter of its user',
          plant: [`update devices set device_sn = 2 where user_id = ${carol}`],
          repair: [`update devices set device_sn = 1 where user_id = ${carol}`],
          check: 'device_owner',
          subject: `${carol} device 2`,
        },
        ...changeFaults(conversation, pair),
        ...broadcastFaults(),
        ...groupFaults(),
      ]
    }

    /** The recall of 5 is the 7th change, the edit of 3 the 8th. */
    function changeFaults(conversation: string, subject: string): Fault[] {
      const set = (
        [table, column, where]: readonly [string, string, string],
        [wrong, right]: readonly [number, number],
      ) => {
        const update = (value: number, rows: string) =>
          `update ${table} set ${column} = ${value} where ${conversation} and ${rows}`
        return {
          plant: [update(wrong, where)],
          repair: [update(right, where.replace(`${column} = ${right}`, `${column} = ${wrong}`))],
        }
      }
      const changes = (column: string, where: string, values: readonly [number, number]) =>
        set(['message_changes', column, where], values)
      const conversations = (column: string, values: readonly [number, number]) =>
        set(['conversations', column, 'seq = 6'], values)
      const moved = (where: string) => ({
        plant: [
          `create table moved as select * from message_changes where ${conversation} and ${where}`,
          `delete from message_changes where ${conversation} and ${where}`,
        ],
        repair: ['insert into message_changes select * from moved', 'drop table moved'],
      })
      const faults: readonly (readonly [
        check: string,
        name: string,
        change: Pick<Fault, 'plant' | 'repair'>,
      ])[] = [
        [
          'change_order',
          'that counts more edits and recalls',
          conversations('alterations', [3, 2]),
        ],
        [
          'change_order',
          'that counts fewer edits and recalls',
          conversations('alterations', [1, 2]),
        ],
        ['change_order', 'without its first change', moved('change = 7')],
        ['change_order', 'without its last change', moved('change = 8')],
        ['change_order', 'with a gap between edits', changes('alteration', 'change = 7', [0, 1])],
        [
          'change_order',
          'with two edits of one number',
          changes('alteration', 'change = 7', [2, 1]),
        ],
        [
          'change_number',
          'with a recall before its message',
          changes('change', 'change = 7', [5, 7]),
        ],
        ['change_number', 'with a change after its end', changes('change', 'change = 8', [9, 8])],
        [
          'change_kind',
          'with an edit of a message of others',
          changes('msg_id', 'change = 8', [thirdMessage, ids[2] as number]),
        ],
        ['change_kind', 'with a recall of what is there', changes('kind', 'change = 8', [1, 0])],
        ['change_kind', 'with a change of no kind', changes('kind', 'change = 8', [7, 0])],
        [
          'change_kind',
          'with an edit after the recall',
          changes('msg_id', 'change = 8', [ids[4] as number, ids[2] as number]),
        ],
        [
          'change_kind',
          'with an edit of what was never edited',
          changes('msg_id', 'change = 8', [ids[0] as number, ids[2] as number]),
        ],
        [
          'altered_message',
          'with a recall that has no number',
          changes('kind', 'change = 7', [0, 1]),
        ],
        [
          'altered_message',
          'with an edit that has no number',
          set(['messages', 'edited_at', 'seq = 1'], [5, 0]),
        ],
        [
          'log_start',
          'that keeps changes it never had',
          conversations('changes_kept_from', [100, 0]),
        ],
        [
          'log_start',
          'that keeps changes from before',
          conversations('changes_kept_from', [-1, 0]),
        ],
        [
          'log_start',
          'whose beginning is not removed as it says',
          conversations('removed_seq', [1, 0]),
        ],
        [
          'removed_history',
          'with messages that it says were removed',
          conversations('removed_msg_id', [ids[0] as number, 0]),
        ],
        ['closed_conversation', 'closed by nobody', conversations('closed', [1, 0])],
      ]
      return [
        ...faults.map(
          ([check, name, change]): Fault => ({
            check,
            name: `a conversation ${name}`,
            ...change,
            subject,
          }),
        ),
        {
          name: 'a conversation without its beginning',
          plant: [
            `create table moved as select * from messages where msg_id = ${ids[0]}`,
            `delete from messages where msg_id = ${ids[0]}`,
          ],
          repair: ['insert into messages select * from moved', 'drop table moved'],
          check: 'log_start',
          subject,
        },
        ...(['closed_conversation', 'reader_owner'] as const).map(
          (check): Fault => ({
            name: `${check} of a deleted user`,
            plant: [`update users set deleted_at = 1 where user_id = ${bob}`],
            repair: [`update users set deleted_at = null where user_id = ${bob}`],
            check,
            subject: check === 'reader_owner' ? `${bob} in ${subject}` : subject,
          }),
        ),
      ]
    }

    function broadcastFaults(): Fault[] {
      const change = (table: string, set: string, back: string, where = 'low_id = -1') => ({
        plant: [`update ${table} set ${set} where ${where}`],
        repair: [`update ${table} set ${back} where ${where}`],
      })
      const reader = `user_id = ${bob} and low_id = -1`
      return [
        {
          name: 'a count of users that is too great',
          ...change('user_counts', 'users = users + 1', 'users = users - 1', "app_id = 'test'"),
          check: 'user_count',
          subject: 'users',
        },
        {
          name: 'another last broadcast',
          ...change(
            'user_counts',
            'last_broadcast_id = last_broadcast_id - 1',
            'last_broadcast_id = last_broadcast_id + 1',
            "app_id = 'test'",
          ),
          check: 'last_broadcast',
          subject: 'broadcasts',
        },
        {
          name: 'an outbox that does not know the last broadcast',
          ...change(
            'outbox_heads',
            'last_broadcast_id = last_broadcast_id - 1',
            'last_broadcast_id = last_broadcast_id + 1',
            "app_id = 'test'",
          ),
          check: 'last_broadcast',
          subject: 'broadcasts',
        },
        {
          name: 'an outbox that does not know the last message',
          ...change(
            'outbox_heads',
            'last_msg_id = last_msg_id - 1',
            'last_msg_id = last_msg_id + 1',
            "app_id = 'test'",
          ),
          check: 'outbox_last_message',
          subject: 'outbox',
        },
        {
          name: 'a broadcast of somebody else',
          ...change('messages', `sender_id = ${bob}`, 'sender_id = 0'),
          check: 'broadcast_sender',
          subject: `${broadcastId}`,
        },
        {
          name: 'a user who came after a broadcast that is to come',
          ...change(
            'users',
            `broadcasts_after = ${broadcastId + 1}`,
            'broadcasts_after = 0',
            `user_id = ${carol}`,
          ),
          check: 'broadcasts_after',
          subject: `${carol}`,
        },
        {
          name: 'a reader beyond the end of the broadcasts',
          ...change('readers', 'seen_seq = 2', 'seen_seq = 1', reader),
          check: 'reader_positions',
          subject: `${bob} in -1/0`,
        },
        {
          name: 'a reader of broadcasts of nobody',
          ...change('readers', 'high_id = 5', 'high_id = 0', reader),
          check: 'reader_positions',
          subject: `${bob} in -1/5`,
        },
        {
          name: 'broadcasts that end later than their log',
          ...change('conversations', 'seq = 2', 'seq = 1'),
          check: 'conversation_end',
          subject: '-1/0',
        },
      ]
    }

    /** In the group: a change of rows, and the way back. */
    function changed(
      table: string,
      where: string,
      column: string,
      [wrong, right]: readonly [number, number],
    ) {
      const set = (value: number, rows: string) =>
        `update ${table} set ${column} = ${value} where ${rows}`
      const isWrong = where === '' ? `group_id = ${group}` : `group_id = ${group} and ${where}`
      const isNow = isWrong.replace(`${column} = ${right}`, `${column} = ${wrong}`)
      return { plant: [set(wrong, isWrong)], repair: [set(right, isNow)] }
    }

    function groupFaults(): Fault[] {
      const nobody = 5
      const inGroup = (userId: number) => `${userId} in ${group}`
      const mark = (column: string, values: readonly [number, number]) =>
        changed('group_members', `user_id = ${bob}`, column, values)
      /** Changes the reader of the group's conversation. */
      const position = (
        column: string,
        [wrong, right]: readonly [number | null, number | null],
        userId = bob,
      ) => {
        const set = (value: number | null) =>
          `update readers set ${column} = ${value} where user_id = ${userId} and low_id = ${group}`
        return { plant: [set(wrong)], repair: [set(right)] }
      }
      const readerIn = (userId: number) => `${userId} in ${group}/${group}`
      const gap = (column: string, values: readonly [number, number]) =>
        changed('group_mute_gaps', `user_id = ${bob}`, column, values)
      const anotherGap = `insert into group_mute_gaps (app_id, group_id, user_id, to_seq, from_seq) values ('test', ${group}, ${bob}, 1, 0)`
      const set = (column: string, value: number) =>
        `update receipt_requests set ${column} = ${value}`
      const request = (column: string, [wrong, right]: readonly [number, number]) => ({
        plant: [set(column, wrong)],
        repair: [set(column, right)],
      })
      const owners: Readonly<Record<string, readonly [column: string, userId: number]>> = {
        group_members: ['user_id', bob],
        group_mute_gaps: ['user_id', bob],
        group_blocks: ['user_id', carol],
        group_removals: ['user_id', frank],
        group_join_requests: ['applicant_id', dave],
        group_invitations: ['invitee_id', erin],
      }
      const conversation = (column: string, values: readonly [number, number]) => {
        const set = (value: number) =>
          `update conversations set ${column} = ${value} where low_id = ${group}`
        return {
          plant: [set(values[0])],
          repair: [set(values[1])],
          check: 'furthest_readers',
          subject: `${group}/${group}`,
        }
      }
      return [
        {
          name: 'a group that counts more members than it has',
          ...changed('groups', '', 'member_count', [3, 2]),
          check: 'group_count',
          subject: `${group}`,
        },
        {
          name: 'a group that counts more banned members than it has',
          ...changed('groups', '', 'ban_count', [2, 1]),
          check: 'group_ban_count',
          subject: `${group}`,
        },
        {
          name: 'a group that counts no ban of a banned member',
          ...changed('groups', '', 'ban_count', [0, 1]),
          check: 'group_ban_count',
          subject: `${group}`,
        },
        {
          name: 'a group that counts more join requests than it has',
          ...changed('groups', '', 'join_request_count', [2, 1]),
          check: 'group_join_request_count',
          subject: `${group}`,
        },
        {
          name: 'a user with fewer invitations than are counted',
          plant: [`update group_invitation_counts set invitations = 2 where user_id = ${erin}`],
          repair: [`update group_invitation_counts set invitations = 1 where user_id = ${erin}`],
          check: 'group_invitation_count',
          subject: `${erin}`,
        },
        {
          name: 'a user whose invitations nobody counts',
          ...moved('group_invitation_counts', `user_id = ${erin}`),
          check: 'group_invitation_count',
          subject: `${erin}`,
        },
        {
          name: 'a group that counts more blocked users than it has',
          ...changed('groups', '', 'block_count', [2, 1]),
          check: 'group_block_count',
          subject: `${group}`,
        },
        {
          name: 'a group that names another owner',
          ...changed('groups', '', 'owner_id', [bob, alice]),
          check: 'group_owner',
          subject: `${group}`,
        },
        {
          name: 'a group without an owner among its members',
          ...changed('group_members', `user_id = ${alice}`, 'role', [1, 2]),
          check: 'group_owner',
          subject: `${group}`,
        },
        {
          name: 'a group with two owners',
          ...changed('group_members', `user_id = ${bob}`, 'role', [2, 0]),
          check: 'group_owner',
          subject: `${group}`,
        },
        ...Object.entries(owners).flatMap(([table, [column, userId]]): Fault[] => {
          const check = `${table.slice(0, -1)}_owner`
          const moved = `update ${table} set group_id`
          return [
            {
              name: `a row of ${table} about nobody`,
              ...changed(table, `${column} = ${userId}`, column, [nobody, userId]),
              check,
              subject: inGroup(nobody),
            },
            {
              name: `a row of ${table} about a deleted user`,
              plant: [`update users set deleted_at = 1 where user_id = ${userId}`],
              repair: [`update users set deleted_at = null where user_id = ${userId}`],
              check,
              subject: inGroup(userId),
            },
            {
              name: `a row of ${table} about a group that does not exist`,
              plant: [`${moved} = 6 where group_id = ${group} and ${column} = ${userId}`],
              repair: [`${moved} = ${group} where group_id = 6`],
              check,
              subject: `${userId} in 6`,
            },
          ]
        }),
        {
          name: 'a member who is blocked',
          plant: [
            `insert into group_blocks (app_id, group_id, user_id, created_at) values ('test', ${group}, ${bob}, 1)`,
          ],
          repair: [`delete from group_blocks where user_id = ${bob}`],
          check: 'group_block_member',
          subject: inGroup(bob),
        },
        ...(
          [
            ['group_join_requests', 'applicant_id', dave],
            ['group_invitations', 'invitee_id', erin],
          ] as const
        ).flatMap(([table, column, userId]): Fault[] => {
          const check = `${table.slice(0, -1)}_open`
          return [
            {
              name: `${check} of a member`,
              ...changed(table, `${column} = ${userId}`, column, [bob, userId]),
              check,
              subject: inGroup(bob),
            },
            {
              name: `${check} of somebody blocked`,
              ...changed(table, `${column} = ${userId}`, column, [carol, userId]),
              check,
              subject: inGroup(carol),
            },
            {
              name: `${check} of a dissolved group`,
              ...changed('groups', '', 'status', [1, 0]),
              check,
              subject: inGroup(userId),
            },
          ]
        }),
        {
          name: 'a group that somebody pinned who is no member',
          plant: [
            `update pinned_conversations set user_id = ${carol} where conversation_id = ${group}`,
          ],
          repair: [
            `update pinned_conversations set user_id = ${alice} where conversation_id = ${group}`,
          ],
          check: 'group_pin',
          subject: inGroup(carol),
        },
        ...(
          [
            ['seen beyond the end', position('seen_seq', [4, 2])],
            ['read beyond what is seen', position('read_seq', [3, 2])],
            ['read to before the beginning', position('read_seq', [-1, 2])],
            ['acknowledged what is not read', position('acked_seq', [3, 2])],
            ['acknowledged to before the beginning', position('acked_seq', [-1, 2])],
            ['got beyond the end', position('delivered_seq', [4, 0])],
            ['got to before the beginning', position('delivered_seq', [-1, 0])],
            ['hidden beyond the end', position('hidden_msg_id', [2 ** 52, 0])],
            ['joined beyond the end', position('start_msg_id', [2 ** 52, 0])],
            ['received nothing from beyond the end on', position('muted_seq', [4, null])],
            ['received nothing from before the beginning on', position('muted_seq', [-1, null])],
            ['not received what is beyond the end', position('gaps_end_seq', [4, 2])],
            ['not received what is before the beginning', position('gaps_end_seq', [-1, 2])],
          ] as const
        ).map(
          ([name, change]): Fault => ({
            name: `a member who has ${name}`,
            ...change,
            check: 'reader_positions',
            subject: readerIn(bob),
          }),
        ),
        ...(
          [
            ['that is empty', gap('from_seq', [2, 1])],
            ['from before the beginning', gap('from_seq', [-1, 1])],
            ['to beyond the end', gap('to_seq', [4, 2])],
            ['that its member does not know of', position('gaps_end_seq', [1, 2])],
            ['in a group that is dissolved', changed('groups', '', 'status', [1, 0])],
            [
              'of somebody who is no member',
              moved('readers', `user_id = ${bob} and low_id = ${group}`),
            ],
            [
              'above what a member who receives nothing has received',
              position('muted_seq', [1, null]),
            ],
            [
              'that holds the end of another',
              {
                plant: [...gap('from_seq', [0, 1]).plant, anotherGap],
                repair: [
                  `delete from group_mute_gaps where group_id = ${group} and to_seq = 1`,
                  ...gap('from_seq', [0, 1]).repair,
                ],
              },
            ],
          ] as const
        ).map(
          ([which, change]): Fault => ({
            name: `a gap ${which}`,
            ...change,
            check: 'group_mute_gap',
            subject: inGroup(bob),
          }),
        ),
        {
          name: 'a member whose last gap is not there',
          ...position('gaps_end_seq', [3, 2]),
          check: 'group_mute_gap_end',
          subject: inGroup(bob),
        },
        {
          name: 'a member who has not read an own message',
          ...position('read_seq', [2, 3], alice),
          check: 'member_sends',
          subject: readerIn(alice),
        },
        ...(
          [
            ['at another position', request('seq', [2, 3]), alice],
            ['of another sender', request('sender_id', [bob, alice]), bob],
            ['with another ID', request('msg_id', [1, thirdMessage]), alice],
            ['of another group', request('group_id', [6, group]), alice],
          ] as const
        ).map(([which, change, sender]): Fault => {
          const subject = which === 'of another group' ? `${sender} in 6` : inGroup(sender)
          return {
            name: `a receipt asked for of a message ${which}`,
            ...change,
            check: 'receipt_request',
            subject,
          }
        }),
        {
          name: 'a group that is read less far than its members have sent',
          ...conversation('furthest_seq', [2, 3]),
        },
        { name: 'a group that is read beyond its end', ...conversation('furthest_seq', [4, 3]) },
        {
          name: 'a group that others have read further than the furthest',
          ...conversation('others_seq', [4, 2]),
        },
        {
          name: 'a reader of a group who is no member',
          plant: [
            `insert into readers (app_id, user_id, low_id, high_id) values ('test', ${carol}, ${group}, ${group})`,
          ],
          repair: [`delete from readers where user_id = ${carol} and low_id = ${group}`],
          check: 'reader_owner',
          subject: readerIn(carol),
        },
        {
          name: 'a member who is no reader',
          ...moved('readers', `user_id = ${bob} and low_id = ${group}`),
          check: 'member_reader',
          subject: inGroup(bob),
        },
        {
          name: 'a member who receives against the mode',
          ...mark('msg_mute_mode', [2, 0]),
          check: 'member_reader',
          subject: inGroup(bob),
        },
        {
          name: 'an endpoint that is beyond the outbox',
          plant: [`update webhook_endpoints set position = position + 1000000`],
          repair: [`update webhook_endpoints set position = position - 1000000`],
          check: 'webhook_position',
          subject: `${endpoint}`,
        },
        {
          name: 'an endpoint that was disabled because it fails',
          plant: [`update webhook_endpoints set state_reason = 'failing'`],
          repair: [`update webhook_endpoints set state_reason = 'caller'`],
          check: 'webhook_disabled',
          subject: `${endpoint}`,
        },
        {
          name: 'a waiting event of no endpoint',
          plant: [
            "insert into webhook_events values ('test', 5, 1, 1, 0, '', 'app', 'user.removed', '{}', 0, 'dead', 5, 0, 400, '')",
          ],
          repair: ['delete from webhook_events'],
          check: 'webhook_event_owner',
          subject: '5',
        },
        {
          name: 'an attempt of no endpoint',
          plant: [
            "insert into webhook_attempts values ('test', 5, 1, 0, 'evt', 'user.removed', 'app', 1, 1, 'refused', 400, 1, '', '', 0)",
          ],
          repair: ['delete from webhook_attempts'],
          check: 'webhook_attempt_owner',
          subject: '5',
        },
        {
          name: 'a group whose conversation ends later than its log',
          plant: [`update conversations set seq = 4 where low_id = ${group}`],
          repair: [`update conversations set seq = 3 where low_id = ${group}`],
          check: 'conversation_end',
          subject: `${group}/${group}`,
        },
      ]
    }

    /** All of them in the full run, else one for each check: the faults of a check have one statement. */
    function tried(): Fault[] {
      const all = faults()
      return isFullRun
        ? all
        : all.filter(({ check }, index) => all.findIndex((each) => each.check === check) === index)
    }

    it('finds no fault in the data of a server, while it runs and after', async () => {
      for (const stop of [async () => {}, () => server.stop()]) {
        await stop()
        const { code, out, err } = await check()
        expect({ code, err }).toEqual({ code: 0, err: '' })
        const report: CheckReport = JSON.parse(out)
        expect(report).toEqual({ checked: expect.any(Number), faults: [], truncated: false })
        expect(report.checked).toBeGreaterThan(20)
      }
    })

    if (isFirst)
      it('faults: the command names each with its subject and fails', async () => {
        // One of each kind of table; the running server is asked for all of them below.
        const kinds = [
          'a conversation that ends later than its log',
          'a missing message in the middle',
          'a read position beyond the end',
          'settings of nobody',
        ]
        const planted = faults().filter(({ name }) => kinds.includes(name))
        expect(planted).toHaveLength(kinds.length)
        for (const fault of planted) await sql(fault.plant)
        const { code, out, err } = await check()
        for (const fault of planted) await sql(fault.repair)
        expect(code).toBe(1)
        expect(err).toContain('wrong')
        const found = (JSON.parse(out) as CheckReport).faults
        for (const fault of planted) expect(found, fault.name).toContainEqual(finding(fault))
        expect(await check()).toMatchObject({ code: 0 })
      })

    if (isFirst)
      it('a fault: the command prints text for people', async () => {
        const [fault] = faults() as [Fault]
        expect((await callHermod(['check'], watched.settings)).out).toMatch(
          /^\d+ facts checked, all agree\.\n$/,
        )
        await sql(fault.plant)
        const { code, out, err } = await runHermod(['check'], watched.settings)
        expect(code).toBe(1)
        for (const word of [fault.check, fault.subject]) expect(out).toContain(word)
        expect(err).toContain('1 wrong')
        await sql(fault.repair)
      })

    // That each check runs on PostgreSQL is seen above.
    if (isFirst)
      it('a running server: finds every kind of fault', async () => {
        server = await watched.startAgain()
        for (const fault of tried()) {
          await sql(fault.plant)
          expect(await integrityFaults(server), fault.name).toContainEqual(finding(fault))
          await sql(fault.repair)
        }
        expect(await integrityFaults(server)).toEqual([])
      })

    if (isFirst)
      it('many faults: lists 100 and says that there are more', async () => {
        const many = 150
        const values = Array.from({ length: many }, (_, index) => `('test', ${index + 1})`).join(
          ', ',
        )
        await sql([`insert into user_settings (app_id, user_id) values ${values}`])
        const { data } = await server.api
          .as(server.operatorToken)
          .succeed<CheckReport>('POST', '/operator/v1/check')
        expect(data.truncated).toBe(true)
        expect(data.faults).toHaveLength(100)
        const { code, err } = await check()
        expect(code).toBe(1)
        expect(err).toContain('more than 100 wrong')
        await sql([`delete from user_settings where user_id <= ${many}`])
        expect(await check()).toMatchObject({ code: 0 })
      })
  })
}
