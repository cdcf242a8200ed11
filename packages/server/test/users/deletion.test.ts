/** What is left of a deleted user, on both databases (rule D5). */
import { userChangeKind } from '@hermod/protocol'
import {
  type Answer,
  type Api,
  anyBackend,
  type Json,
  type Session,
  waitFor,
} from '@hermod/testkit'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { personalData } from '../../dist/db/personal-data.js'
import { answerCode, expectCode } from '../support/answer-codes.js'
import {
  aGroup,
  expectSuccess,
  type GroupEvent,
  groupCall,
  groupEventsOf,
  types,
} from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import {
  erasedTables,
  PersonalSample,
  personalColumns as columns,
  tablesOfData,
} from '../support/personal-sample.js'
import { contents, integrityFaults, peers, sendText } from '../support/messaging/messaging.js'

const password = 'correct horse'

describe.each(anyBackend())('deletion of a user on $name', (backend) => {
  const server = ownServer(backend)
  let api: Api
  let alice: Session
  let bob: Session
  let carol: Session

  beforeAll(async () => {
    api = server.api
  })

  beforeEach(async () => {
    ;[alice, bob, carol] = await Promise.all([api.newSession(), api.newSession(), api.newSession()])
  })

  const query = (statement: string) => server.sql.run(statement)
  const sample = new PersonalSample(server)

  async function textsAreErased(): Promise<void> {
    const isDone = async () =>
      (await query("select job_id from jobs where outcome = ''")).length === 0
    await waitFor(isDone, { what: 'the end of the erasure', timeoutMs: 10_000 })
  }

  function remove(caller: Api, body: object = { password }): Promise<Answer> {
    return caller.call('POST', '/user/delete', { body })
  }

  /** Events of the outbox as dead letters of an endpoint. */
  async function copyToWaitingEvents(): Promise<void> {
    await query(`insert into webhook_events
        (app_id, endpoint_id, position, place, is_last, name, event_key, kind, payload, created_at, state, attempts, next_at, last_status, last_error)
        select app_id, 1, position, 1, 0, '', 'app', kind, payload, created_at, 'dead', 5, 0, 400, ''
        from outbox where kind not like 'message.%'`)
  }

  it('knows the personal data of every table', async () => {
    const ofService = (await sample.tables()).filter((table) => !table.startsWith('kysely_'))
    expect(ofService).toEqual(Object.keys(personalData).sort())
  })

  it('leaves nothing but the ID and what belongs to others', async () => {
    const marker = `alice_${alice.id.toString(36)}`
    await sample.fill(alice, { bob, carol }, marker)
    await copyToWaitingEvents()
    const before = await Promise.all(
      erasedTables.map(async (table) => [table, (await sample.rowsOf(table, alice.id)).length > 0]),
    )
    expect(before).toEqual(erasedTables.map((table) => [table, true]))
    expect(await sample.columnsThatSay(marker)).toEqual(
      expect.arrayContaining([
        'contacts.alias',
        'group_join_requests.reason',
        'group_members.display_name',
        'messages.content',
        'outbox.payload',
        'users.nick_name',
      ]),
    )
    expect(await remove(alice.api)).toMatchObject({ status: 200, code: 200, data: true })

    for (const table of erasedTables)
      expect([table, await sample.rowsOf(table, alice.id)]).toEqual([table, []])
    await textsAreErased()
    expect(await sample.rowsOf('user_changes', alice.id)).toEqual([])
    // The user's own words, which stay with those to whom they were said.
    const words = [
      'group_announcements.content',
      'group_announcements.title',
      'group_files.name',
      'group_files.url',
      'messages.content',
      'outbox.payload',
      'webhook_events.payload',
    ]
    expect(await sample.columnsThatSay(marker)).toEqual(words)
    const left = columns.filter(({ left, reason }) => left ?? reason)
    expect(left.map(({ table, column }) => `${table}.${column}`)).toEqual(
      expect.arrayContaining(words),
    )
    for (const table of ['outbox', 'webhook_events']) {
      const said = await query(
        `select distinct kind from ${table} where payload like '%${marker}%' order by kind`,
      )
      expect(said.map(({ kind }) => kind)).toEqual([
        'group.announcement_updated',
        'group.file_uploaded',
      ])
    }
    await query('delete from webhook_events')
    const id = String(alice.id)
    for (const [table, entries] of tablesOfData)
      for (const row of await query(`select * from ${table}`))
        for (const [column, { erase }] of Object.entries(entries))
          if (erase === 'none')
            expect([table, column, String(row[column]).includes(id)]).toEqual([
              table,
              column,
              false,
            ])
    const [row = {}] = await query(`select * from users where user_id = ${alice.id}`)
    const { app_id, user_id, deleted_at, ...rest } = row
    expect([app_id, user_id]).toEqual([server.appId, alice.id])
    expect(deleted_at).toBeGreaterThan(0)
    expect(
      Object.entries(rest).filter(([, value]) => value !== '' && value !== null && value !== 0),
    ).toEqual([])
    const emptied = columns.filter(({ erase }) => erase === 'anonymise')
    expect([...new Set(emptied.map(({ table }) => table))]).toEqual(['users'])
    expect(emptied.map(({ column }) => column).sort()).toEqual(Object.keys(rest).sort())
    expect(await integrityFaults(server)).toEqual([])
  })

  it('announces the deletion to contacts, and to users with a request between them', async () => {
    const dave = await api.newSession()
    await api.admin({ userId: alice.id }).succeed('POST', '/user/add_roster', {
      body: { list: [bob.id] },
    })
    await carol.api.succeed('POST', '/user/authmode', { body: { value: 1 } })
    await alice.api.succeed('POST', '/roster/apply', { body: { user_id: carol.id } })
    expect(await remove(alice.api)).toMatchObject({ code: 200 })
    await textsAreErased()
    const related = [bob.id, carol.id].sort((a, b) => a - b)
    const [event] = await query(
      `select payload, position from outbox where kind = 'contact.user_removed' and payload like '%"actor_id":${alice.id},%'`,
    )
    expect(JSON.parse(String(event?.payload))).toEqual({
      actor_id: alice.id,
      user_ids: related,
    })
    const stale = await query(
      `select user_id, kind from user_changes where ref = ${alice.id} and position = ${event?.position} order by user_id, kind`,
    )
    const { contact, contactRequest } = userChangeKind
    expect(stale).toEqual(
      related.flatMap((user_id) => [contact, contactRequest].map((kind) => ({ user_id, kind }))),
    )
    expect((await query(`select * from user_changes where user_id = ${dave.id}`)).length).toBe(0)
  })

  it('erases the texts of those whose erasure was interrupted, and nobody else’s', async () => {
    const texts = async () => {
      const rows = await query("select payload from outbox where kind = 'contact.applied'")
      const payloads = rows.map(({ payload }) => JSON.parse(String(payload)))
      return new Map(payloads.map(({ actor_id, reason }) => [actor_id, reason]))
    }
    const neighbours = await api.as(server.operatorToken).succeed('POST', '/operator/v1/app/create')
    await bob.api.succeed('POST', '/user/authmode', { body: { value: 1 } })
    for (const user of [alice, carol])
      await user.api.succeed('POST', '/roster/apply', {
        body: { user_id: bob.id, reason: 'hello' },
      })
    // As a server leaves it that was killed; the other user is somebody of another application.
    for (const [appId, user] of [
      [server.appId, alice],
      [neighbours.data.app_id, carol],
    ] as const)
      await query(
        `insert into jobs (app_id, job_id, kind, payload, owner, attempts, run_at, created_at, updated_at)
            values ('${appId}', 1, 'text_erasure', '{"userId":${user.id}}', 'killed', 1, 1, 1, 1)`,
      )
    await remove((await api.newSession()).api)
    await textsAreErased()
    const found = await texts()
    expect([found.get(alice.id), found.get(carol.id)]).toEqual(['', 'hello'])
  })

  it('leaves the events of a group, without the deleted user’s own words and name', async () => {
    const dave = await api.newSession()
    const invited = await aGroup(bob)
    const group = await aGroup(bob, {
      members: [carol],
      admins: [alice],
      more: { type: types.public },
    })
    for (const person of [alice, dave])
      await person.api.succeed('POST', '/user/settings', {
        body: { user_id: person.id, group_confirm: true },
      })
    const applied = await aGroup(bob, { more: { type: types.public } })
    const inGroup = async (caller: Session, path: string, params: object, group_id = group) =>
      expectSuccess(await groupCall(caller.api, path, group_id, params))
    const both = [carol.id, alice.id].sort((a, b) => a - b)
    await inGroup(bob, '/group/ban', { user_list: both, duration: 60 })
    await inGroup(bob, '/group/unban', { user_list: both })
    await inGroup(alice, '/group/info/name', { value: 'of the group' })
    await inGroup(alice, '/group/announcement/edit', { title: 'of the group', content: 'x' })
    await inGroup(alice, '/group/file/upload', { name: 'of the group', size: 1, url: '/x' })
    for (const user of [alice, carol])
      await inGroup(user, '/group/display_name', { value: `name of ${user.id}` })
    await inGroup(alice, '/group/invite', { user_list: [dave.id], reason: 'by alice' })
    await inGroup(
      bob,
      '/group/invite',
      { user_list: [alice.id, dave.id], reason: 'to both' },
      invited,
    )
    await inGroup(bob, '/group/invite', { user_list: [alice.id], reason: 'to alice' }, invited)
    for (const user of [alice, carol])
      await inGroup(user, '/group/apply', { reason: `by ${user.id}` }, applied)
    const before = new Map<number, GroupEvent[]>()
    for (const group_id of [group, invited, applied]) before.set(group_id, await events(group_id))
    await remove(alice.api)
    await textsAreErased()
    // What the deletion itself tells comes after.
    const after = async (group_id: number) =>
      (await events(group_id)).slice(0, before.get(group_id)?.length)
    const emptied = [`name of ${alice.id}`, 'by alice', 'to alice', `by ${alice.id}`]
    for (const [group_id, told] of before) {
      const without = told.map((event) =>
        emptied.some((text) => event.content.includes(text)) ? { ...event, content: '' } : event,
      )
      expect(await after(group_id)).toEqual(without)
    }
    const texts = [...(await after(group)), ...(await after(invited)), ...(await after(applied))]
      .filter(({ content }) => content !== '')
      .map(({ kind, actor, users, content }) => [
        kind,
        actor,
        [...users].sort((a, b) => a - b),
        content,
      ])
    const named = (name: string) => expect.stringContaining(name)
    const nameSet = (property: string, value: string) =>
      JSON.stringify({ property, [property]: value })
    expect(texts).toEqual([
      ['banned', bob.id, both, '60'],
      ['info_updated', alice.id, [], nameSet('name', 'of the group')],
      ['announcement_updated', alice.id, [], named('of the group')],
      ['file_uploaded', alice.id, [], named('of the group')],
      ['info_updated', carol.id, [carol.id], nameSet('display_name', `name of ${carol.id}`)],
      ['invited', bob.id, [alice.id, dave.id].sort((a, b) => a - b), 'to both'],
      ['applied', carol.id, [carol.id], `by ${carol.id}`],
    ])
  })

  const events = (group_id: number): Promise<GroupEvent[]> => groupEventsOf(server.sql, group_id)

  it('leaves the messages, the conversation and the pin to the others', async () => {
    await sendText(alice.api, bob.id, 'from alice')
    await sendText(bob.api, alice.id, 'from bob')
    await bob.api.succeed('POST', '/user/conversation/pin', { body: { conversation_id: alice.id } })
    await remove(alice.api)
    expect(await contents(bob.api, alice.id)).toEqual(['from bob', 'from alice'])
    expect(await peers(bob.api)).toEqual([alice.id])
    expect((await bob.api.succeed('GET', '/user/conversation/pin_list')).data).toEqual({
      conversation_ids: [alice.id],
    })
    expect(
      (await bob.api.succeed('GET', '/message/conversation_list')).data.conversations[0]
        .conversation_id.uid,
    ).toBe(alice.id)
  })

  it('asks a user for the password, and an administrator for none', async () => {
    for (const body of [{}, { password: '' }]) {
      const missing = await remove(alice.api, body)
      expect(missing).toMatchObject({ status: 200, code: answerCode.invalid_parameter, data: null })
      expect(missing.envelope.message).toContain('password is required')
    }
    expect(await remove(alice.api, { password: 'wrong one' })).toMatchObject({
      status: 200,
      code: answerCode.password_incorrect,
      data: null,
    })
    expect(await alice.api.call('GET', '/user/profile')).toMatchObject({ code: 200 })
    expect(await alice.api.call('DELETE', '/user/delete', { body: { password } })).toMatchObject({
      code: 200,
    })
    const admin = api.admin({ userId: bob.id })
    expect(await remove(admin, { password: 'wrong one' })).toMatchObject({ code: 200 })
    expect(await remove(api.admin({ userId: carol.id }), { password: '' })).toMatchObject({
      code: 200,
    })
    expect(await remove(api.admin({ userId: 1 }), {})).toMatchObject({
      code: answerCode.user_not_found,
    })
    expect(await remove(api.admin(), {})).toMatchObject({ code: answerCode.invalid_parameter })
  })

  it('ends the tokens at once and is seen by users who look the user up', async () => {
    const second = await api.login(alice, 'phone')
    await remove(alice.api)
    expect(await alice.api.call('GET', '/user/profile')).toMatchObject({
      code: answerCode.token_expired,
    })
    expect(await second.api.call('GET', '/user/profile')).toMatchObject({
      code: answerCode.token_expired,
    })
    expect(await remove(alice.api)).toMatchObject({ code: answerCode.token_expired })
    const admin = api.admin({ userId: alice.id })
    const lookUps: [string, Promise<Answer>][] = [
      ['deletion', remove(admin)],
      ['profile', admin.call('GET', '/user/profile')],
      ['settings', admin.call('GET', '/user/settings')],
      ['login', api.call('POST', '/token/id', { body: { user_id: alice.id, password } })],
      ['contact', bob.api.call('GET', '/roster/id', { query: { user_id: alice.id } })],
      ['application', bob.api.call('POST', '/roster/apply', { body: { user_id: alice.id } })],
      ['ban', api.admin().call('PUT', '/user/disable', { body: { list: [alice.id] } })],
      [
        'message',
        bob.api.call('POST', '/message/send', {
          body: { type: 1, content_type: 0, content: 'x', targets: [alice.id] },
        }),
      ],
    ]
    const codes = await Promise.all(
      lookUps.map(async ([name, answer]) => [name, (await answer).code]),
    )
    expect(codes).toEqual(lookUps.map(([name]) => [name, answerCode.user_deleted]))
    expect(
      await api.call('POST', '/token/user', { body: { name: alice.username, password } }),
    ).toMatchObject({ code: answerCode.user_not_found })
    const { data } = await api.admin().succeed('GET', '/user/list', { query: { page_size: 200 } })
    expect(data.map((user: Json) => user.user_id)).not.toContain(alice.id)
  })

  it('frees what nobody else could have', async () => {
    const unique = { mobile: '+4915188888888', email: 'free@example.org' }
    for (const [field, value] of Object.entries(unique))
      await alice.api.succeed('POST', `/user/${field}`, { body: { [field]: value } })
    await alice.api.succeed('POST', '/user/push/alias', { body: { alias: 'free' } })
    await remove(alice.api)
    const again = await api.login(await api.register(alice.username))
    expect(again.id).not.toBe(alice.id)
    for (const [field, value] of Object.entries(unique))
      await again.api.succeed('POST', `/user/${field}`, { body: { [field]: value } })
    await again.api.succeed('POST', '/user/push/alias', { body: { alias: 'free' } })
  })

  it('succeeds once when it is asked for several times at once', async () => {
    const sessions = [alice, await api.login(alice), await api.login(alice)]
    const codes = await Promise.all(
      sessions.map(async (session) => (await remove(session.api)).code),
    )
    expect(codes.filter((code) => code === 200)).toHaveLength(1)
    expect(
      codes.every((code) =>
        [
          200,
          answerCode.token_expired,
          answerCode.user_deleted,
          answerCode.password_incorrect,
        ].includes(code),
      ),
    ).toBe(true)
  })

  it('leaves nothing behind of what is under way', async () => {
    for (let round = 0; round < 5; round++) {
      const user = await api.newSession()
      const marker = `m${round}`
      const busy = Array.from({ length: 4 }, (_, index) => [
        api.call('POST', '/token/id', {
          body: { user_id: user.id, password, device_guid: `${marker}-${index}` },
        }),
        user.api.call('POST', '/user/sounds', { query: { value: true } }),
        user.api.call('POST', '/user/profile', { body: { nick_name: marker } }),
        user.api.call('POST', '/user/push/alias', { body: { alias: `${marker}-${index}` } }),
        user.api.call('POST', '/user/push/tag', { body: { tags: [`${marker}-${index}`] } }),
        user.api.call('POST', '/user/conversation/pin', { body: { conversation_id: bob.id } }),
        user.api.call('POST', '/roster/apply', { body: { user_id: bob.id, reason: marker } }),
        carol.api.call('POST', '/roster/apply', { body: { user_id: user.id, reason: marker } }),
        bob.api.call('PUT', '/roster/block', { query: { user_id: user.id } }),
        api.call('POST', '/user/register/anonymous', {
          body: { username: marker, password, cid: user.id },
        }),
      ]).flat()
      const deleted = remove(api.admin({ userId: user.id }))
      const tokens = (await Promise.all(busy))
        .map(({ data }) => data?.token)
        .filter((token) => token !== undefined)
      expect(await deleted).toMatchObject({ code: 200 })
      for (const table of erasedTables)
        expect([table, await sample.rowsOf(table, user.id)]).toEqual([table, []])
      expect(
        await query(
          `select token_hash from user_tokens where user_id = ${user.id} and revoked_at is null`,
        ),
      ).toEqual([])
      for (const token of tokens)
        await expectCode(api.as(token).call('GET', '/user/profile'), 'token_expired')
      const [row] = await query(
        `select username, nick_name, last_device_sn from users where user_id = ${user.id}`,
      )
      expect(row).toEqual({ username: '', nick_name: '', last_device_sn: 0 })
    }
    expect(await integrityFaults(server)).toEqual([])
  })

  it('lets no message be lost that was answered', async () => {
    const sends = Array.from({ length: 10 }, (_, index) =>
      bob.api.call('POST', '/message/send', {
        body: { type: 1, content_type: 0, content: `${index}`, targets: [alice.id] },
      }),
    )
    await remove(alice.api)
    const answers = await Promise.all(sends)
    expect(answers.every(({ code }) => code === 200 || code === answerCode.user_deleted)).toBe(true)
    const stored = new Set(await contents(bob.api, alice.id))
    for (const [index, { code }] of answers.entries())
      expect(stored.has(`${index}`)).toBe(code === 200)
    expect(await integrityFaults(server)).toEqual([])
  })
})
