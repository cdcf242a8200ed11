/** A user with personal data in every table, and what the database has of it. */
import { pushDeliveryState } from '@hermod/protocol'
import type { Api, Session } from '@hermod/testkit'
import { type PersonalColumn, personalData } from '../../dist/db/personal-data.js'
import type { SqlRow } from './database/sql.js'
import { png, sendFile, upload } from './files/files.js'
import { aGroup, expectSuccess, groupCall, types } from './groups/groups.js'
import type { InProcessServer } from './in-process-server.js'
import { broadcast } from './messaging/broadcasts.js'
import { acknowledge, notify, sendText } from './messaging/messaging.js'
import { append, begin } from './messaging/streams.js'

const password = 'correct horse'

export const tablesOfData: [string, Record<string, PersonalColumn>][] = Object.entries(personalData)
/** Every column, with its table. */
export const personalColumns = tablesOfData.flatMap(([table, entries]) =>
  Object.entries(entries).map(([column, entry]) => ({ table, column, ...entry })),
)
const owners = personalColumns.filter(({ isOwner }) => isOwner)
/** The tables with rows that an erasure deletes with their user. */
export const ownedTables: readonly string[] = [...new Set(owners.map(({ table }) => table))]
/**
 * The tables whose rows the deletion of a user deletes at once; those of user_changes and
 * message_reactions are deleted by jobs.
 */
export const erasedTables: readonly string[] = [
  ...new Set(owners.filter(({ left }) => left === undefined).map(({ table }) => table)),
].filter((table) => table !== 'user_changes' && table !== 'message_reactions')

/** The others of the sample, who know the user. */
export interface Others {
  readonly bob: Session
  readonly carol: Session
}

export class PersonalSample {
  constructor(
    private readonly server: Pick<InProcessServer, 'api' | 'http' | 'appId' | 'place' | 'sql'>,
  ) {}

  async tables(): Promise<string[]> {
    const rows = await this.server.sql.run(
      this.server.place.databaseUrl === undefined
        ? "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
        : "select table_name as name from information_schema.tables where table_schema = 'public'",
    )
    return rows.map(({ name }) => String(name)).sort()
  }

  /** The columns with a value that says this anywhere, as `table.column`. */
  async columnsThatSay(text: string): Promise<string[]> {
    const found = new Set<string>()
    for (const table of await this.tables())
      for (const row of await this.server.sql.run(`select * from ${table}`))
        for (const [column, value] of Object.entries(row))
          if (JSON.stringify(value)?.includes(text)) found.add(`${table}.${column}`)
    return [...found].sort()
  }

  /** The rows of a table that name the user as an owner. */
  async rowsOf(table: string, userId: number): Promise<SqlRow[]> {
    const names = owners.filter((owner) => owner.table === table)
    return (await this.server.sql.run(`select * from ${table}`)).filter((row) =>
      names.some(({ column }) => row[column] === userId),
    )
  }

  /** Writes the marker wherever a user leaves something personal, also with others. */
  async fill(user: Session, others: Others, marker: string): Promise<void> {
    const { api, sql, appId } = this.server
    const query = (statement: string) => sql.run(statement)
    const { bob, carol } = others
    const post = (caller: Api, path: string, body: object) => caller.succeed('POST', path, { body })
    const { api: own, id } = user
    await post(own, '/user/profile', {
      description: marker,
      nick_name: marker,
      private_info: marker,
      public_info: marker,
    })
    await post(own, '/user/avatar', { avatar: marker })
    await post(own, '/user/email', { email: `${marker}@example.org` })
    await post(own, '/user/mobile', { mobile: `+49151${String(id).slice(-9)}` })
    await post(own, '/user/username', { username: marker })
    const words = {
      auth_answer: marker,
      auth_question: marker,
      push_nick_name: marker,
      push_token: marker,
    }
    await post(own, '/user/settings', { ...words, auth_mode: 1, user_id: id })
    await post(own, '/user/push/alias', { alias: marker })
    await post(own, '/user/push/tag', { tags: [marker] })
    await post(own, '/user/push/badge', { badge: 7 })
    const headers = { 'user-agent': marker }
    const login = { user_id: id, password, device_guid: marker }
    const { data: record } = await api.succeed('POST', '/token/id', { body: login, headers })
    const { data: devices } = await own.succeed('GET', '/user/device/list')
    const binding = { device_sn: devices[0].device_sn, device_token: marker, notifier_name: marker }
    await post(api.as(record.token), '/user/token/bind', binding)
    await query(`insert into push_deliveries
        (app_id, task_id, user_id, device_sn, batch_id, state, channel, certificate_id, token_hash, steps)
        values ('${appId}', 1, ${id}, 1, 0, ${pushDeliveryState.suppressed}, '', 0, '', '')`)
    await query(`insert into silent_push_bindings
        (app_id, user_id, device_guid, notifier_name, device_token, bound_at, paused_until, silent_since)
        values ('${appId}', ${id}, '${marker}', '${marker}', '${marker}', 1, 0, 1)`)
    await query(`insert into imported_items
      (app_id, source, kind, external_id, item_id, low_id, high_id, seq, hash, user_id)
      values ('${appId}', 'other', 1, 'm1', 1, ${id}, ${id}, 1, '', ${id})`)
    await query(`insert into login_networks (app_id, user_id, network, logged_in_at)
        values ('${appId}', ${id}, '${marker}', 1)`)
    await post(api.admin({ userId: id }), '/user/identity/link', {
      issuer: marker,
      subject: marker,
    })
    await post(own, '/user/conversation/pin', { conversation_id: bob.id })
    await post(bob.api, '/user/conversation/pin', { conversation_id: id })
    // Contacts of both sides, an application that was declined, and two that are open.
    await post(own, '/roster/apply', { user_id: bob.id, alias: marker, reason: marker })
    await post(own, '/roster/ext', { user_id: bob.id, alias: `${marker} of bob`, ext: marker })
    await post(bob.api, '/roster/ext', { user_id: id, alias: `${marker} of alice`, ext: marker })
    const dave = await api.newSession()
    await post(dave.api, '/roster/apply', { user_id: id, alias: marker, reason: marker })
    await post(own, '/roster/decline', { user_id: dave.id, reason: marker })
    await post(carol.api, '/roster/apply', { user_id: id, alias: marker, reason: marker })
    await post(carol.api, '/user/authmode', { value: 1 })
    await post(own, '/roster/apply', { user_id: carol.id, alias: marker, reason: marker })
    const sent = await sendText(own, bob.id, `${marker} was here`, { transaction_id: id })
    const reaction = { conversation_id: bob.id, type: 1, msg_id: sent, key: marker, on: true }
    await post(own, '/message/reaction', reaction)
    await sendText(bob.api, id, `dear ${marker}`)
    await broadcast(api.admin(), 'hello')
    await acknowledge(own, { peer: 0 })
    await this.#fillGroups(user, others, marker)
  }

  /** Writes the marker wherever a user leaves something personal in groups, and what groups keep. */
  async #fillGroups(
    { api: own, id }: Session,
    { bob, carol }: Others,
    marker: string,
  ): Promise<void> {
    const inGroup = async (group_id: number, path: string, params: object = {}, caller = bob.api) =>
      expectSuccess(await groupCall(caller, path, group_id, params))
    const user = { user_list: [id] }
    const joined = await aGroup(bob, { members: [{ id }], admins: [{ id }] })
    await inGroup(joined, '/group/display_name', { value: marker }, own)
    await own.succeed('POST', '/user/conversation/pin', { body: { conversation_id: joined } })
    await inGroup(joined, '/group/announcement/edit', { title: marker, content: marker }, own)
    await inGroup(joined, '/group/file/upload', { name: marker, size: 1, url: `/${marker}` }, own)
    for (const msg_mute_mode of [2, 0]) {
      await sendText(bob.api, joined, 'news', { type: 2 })
      await inGroup(joined, '/group/msg/mute_mode', { msg_mute_mode }, own)
    }
    await inGroup(await aGroup(bob, { members: [{ id }] }), '/group/kick', user)
    for (const person of [{ api: own, id }, carol])
      await person.api.succeed('POST', '/user/settings', {
        body: { user_id: person.id, group_confirm: true },
      })
    await inGroup(joined, '/group/invite', { user_list: [carol.id], reason: marker }, own)
    await inGroup(await aGroup(bob), '/group/invite', { ...user, reason: marker })
    await inGroup(
      await aGroup(bob, { more: { type: types.public } }),
      '/group/apply',
      { reason: marker },
      own,
    )
    await inGroup(await aGroup(bob), '/group/block', user)
  }

  /**
   * Writes the marker where an erasure finds it and a deletion leaves it: beside the messages, in
   * files, pushes and answers of receivers.
   * @returns the addresses of the uploaded files
   */
  async fillMore(user: Session, { bob, carol }: Others, marker: string): Promise<string[]> {
    const { api, http, sql, appId } = this.server
    const own = http.as(user.token)
    const group = await aGroup(bob, { members: [{ id: user.id }, carol] })
    const receipt = { config: JSON.stringify({ antispam_prompt: marker, readAck: 1 }) }
    await sendText(user.api, group, `${marker} to all`, { type: 2, ext: marker, ...receipt })
    await sql.run(`insert into receipt_requests (app_id, group_id, seq, msg_id, sender_id, member_ids)
      select app_id, low_id, seq, msg_id, sender_id, ',${bob.id},' from messages
      where sender_id = ${user.id} and low_id = ${group} and low_id = high_id
      on conflict do nothing`)
    await notify(api.admin({ userId: user.id }), bob.id, `${marker} is here`)
    const stream = await begin(user, bob)
    await append(user, bob, { msg_id: stream, index: 1, text: `${marker} writes` })
    const sent = await sendFile(own, { to_id: bob.id }, png, { name: `${marker}.png` })
    await sendText(user.api, bob.id, '', {
      content_type: 1,
      attachment: JSON.stringify({ url: sent, fName: marker }),
    })
    const { data: ticket } = await own.succeed('GET', '/file/upload/avatar/user')
    await upload(own, ticket, png, { name: `${marker}-avatar.png` })
    await user.api.succeed('POST', '/user/avatar', { body: { avatar: ticket.download_url } })
    await sql.run(`insert into push_tasks (app_id, task_id, msg_id, request_id, content, state,
        begins_at, expires_at, created_at, updated_at)
      values ('${appId}', ${user.id}, 0, '${marker}', '${JSON.stringify({
        audience: { kind: 'user_id', values: [user.id] },
        strategy: 'combined',
        sequence: [],
        notification: { body: marker },
      })}', 4, 1, 2, 1, 1)`)
    await sql.run(`insert into webhook_attempts (app_id, endpoint_id, attempt_id, at, event_id, kind,
        event_key, events, attempt, outcome, status, duration_ms, error, answer, next_at)
      values ('${appId}', 1, ${user.id}, 1, 'evt', 'user.removed', 'app', 1, 1, 'refused', 400, 1,
        '', 'no such user: ${marker}', 0)`)
    return [sent, ticket.download_url]
  }
}
