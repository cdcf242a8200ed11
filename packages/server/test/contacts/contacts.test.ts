/** Contacts, what users keep about them, look-ups and the block list. */
import type { RosterEntry } from '@hermod/protocol'
import { anyBackend, type Json } from '@hermod/testkit'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import {
  accept,
  apply,
  authModes,
  block,
  blockedIds,
  changeSettings,
  codes,
  connect,
  contactIds,
  contactRequests,
  entryOf,
  mobileOf,
  PeoplePool,
  type Person,
  relationOf,
  relations,
  remove,
  unblock,
  updateContact,
} from '../support/contacts.js'
import { ownServer } from '../support/in-process-server.js'
import { integrityFaults } from '../support/messaging/messaging.js'
import { recordedEvents } from '../support/messaging/recorded-events.js'

/** Positive and never issued. */
const nobody = 1

const huge = 9_223_372_036_854_775_807n

describe.each(anyBackend())('contacts on $name', (backend) => {
  const server = ownServer(backend)
  let pool: PeoplePool
  let alice: Person
  let bob: Person
  let carol: Person

  beforeAll(async () => {
    pool = new PeoplePool(server, 150)
  })

  beforeEach(async () => {
    ;[alice, bob, carol] = await people(3)
  })

  const people = <Count extends number>(count: Count) => pool.take(count)

  const sql = (statement: string) => server.sql.run(statement)

  /** What is recorded of what this user did, oldest first. */
  async function eventsBy({ id }: Person): Promise<Json[]> {
    return (await recordedEvents(server.sql, 'contact.'))
      .filter(({ actor }) => actor === id)
      .map(({ kind, users, content }) => [kind, users, content])
  }

  async function deletePerson({ api }: Person): Promise<void> {
    await api.succeed('POST', '/user/delete', { body: {} })
  }

  async function changeApp(settings: object): Promise<void> {
    const body = { app_id: server.appId, settings }
    await server.api.as(server.operatorToken).succeed('POST', '/operator/v1/app/update', { body })
  }

  /** Both sides see each other so. */
  async function expectRelations(
    a: Person,
    b: Person,
    expected: readonly [number, number],
  ): Promise<void> {
    expect([await relationOf(a.api, b.id), await relationOf(b.api, a.id)]).toEqual(expected)
  }

  const areContacts = (a: Person, b: Person) =>
    expectRelations(a, b, [relations.contact, relations.contact])

  const areStrangers = (a: Person, b: Person) =>
    expectRelations(a, b, [relations.stranger, relations.stranger])

  describe('ending a contact', () => {
    it('remove contact: both users become former contacts and the notes of the caller are cleared', async () => {
      await connect(alice, bob)
      await updateContact(alice.api, bob.id, { alias: 'Bobby', ext: 'e', mute_notification: true })
      await updateContact(bob.api, alice.id, { alias: 'Ali', ext: 'x', mute_notification: true })
      expect((await remove(alice.api, bob.id)).envelope).toEqual({
        code: 200,
        data: true,
        message: null,
      })
      expect(await entryOf(alice.api, bob.id)).toMatchObject({
        relation: relations.former,
        alias: '',
        ext: '',
        mute_notification: false,
      })
      expect(await entryOf(bob.api, alice.id)).toMatchObject({
        relation: relations.former,
        alias: 'Ali',
        ext: 'x',
        mute_notification: true,
      })
      expect(await contactIds(alice.api)).toEqual([])
      expect(await contactIds(bob.api)).toEqual([])
      expect((await eventsBy(alice)).at(-1)).toEqual(['contact.removed', [bob.id], ''])
    })

    it('remove contact: a stranger is refused', async () => {
      await connect(alice, bob)
      await remove(alice.api, bob.id)
      for (const [caller, peer] of [
        [alice.api, bob.id],
        [bob.api, alice.id],
        [alice.api, carol.id],
        [alice.api, alice.id],
        [alice.api, nobody],
      ] as const)
        await expectCode(remove(caller, peer), 'not_contact')
    })

    it('remove contact: simultaneous removals succeed once', async () => {
      for (let round = 0; round < 5; round++) {
        const [one, other] = await people(2)
        await connect(one, other)
        const answers = codes(
          await Promise.all([remove(one.api, other.id), remove(other.api, one.id)]),
        )
        expect(answers.toSorted((a, b) => a - b)).toEqual([200, answerCode.not_contact])
        await expectRelations(one, other, [relations.former, relations.former])
      }
    })

    it('remove contact: users can become contacts again, and the other user keeps its notes', async () => {
      await connect(alice, bob)
      await updateContact(bob.api, alice.id, { alias: 'Ali' })
      await remove(alice.api, bob.id)
      await expectCode(apply(alice.api, bob.id, { alias: 'new' }), 'ok')
      await areContacts(alice, bob)
      expect((await entryOf(alice.api, bob.id)).alias).toBe('new')
      expect((await entryOf(bob.api, alice.id)).alias).toBe('Ali')
    })
  })

  describe('what is kept about a contact', () => {
    it.each(['PUT', 'POST'])(
      'is changed by %s in what is sent and in nothing else',
      async (method) => {
        await connect(alice, bob)
        const kept: Record<string, unknown> = { alias: 'a', ext: 'e', mute_notification: true }
        const change = (fields: object) =>
          alice.api.call(method, '/roster/ext', { body: { user_id: bob.id, ...fields } })
        expect((await change(kept)).data).toBe(true)
        for (const [name, value] of [
          ['alias', 'b'],
          ['ext', '{"k":1}'],
          ['mute_notification', false],
          ['alias', ''],
          ['mute_notification', true],
          ['ext', ''],
        ] as const) {
          await expectCode(change({ [name]: value }), 'ok')
          kept[name] = value
          expect(await entryOf(alice.api, bob.id)).toMatchObject(kept)
        }
        await expectCode(change({}), 'ok')
        await expectCode(change({ alias: null }), 'ok')
        expect(await entryOf(alice.api, bob.id)).toMatchObject(kept)
        expect(await entryOf(bob.api, alice.id)).toMatchObject({
          alias: '',
          ext: '',
          mute_notification: false,
        })
      },
    )

    it('contact notes: the event names the changed fields', async () => {
      await connect(alice, bob)
      await updateContact(alice.api, bob.id, { alias: 'Bobby' })
      await updateContact(alice.api, bob.id, { ext: 'e', mute_notification: true })
      await updateContact(alice.api, bob.id, { mute_notification: true })
      await updateContact(alice.api, bob.id, { mute_notification: false })
      expect((await eventsBy(alice)).slice(1)).toEqual([
        ['contact.info_updated', [bob.id], '{"alias":"Bobby"}'],
        ['contact.info_updated', [bob.id], '{"ext":"e"}'],
        ['contact.muted', [bob.id], ''],
        ['contact.unmuted', [bob.id], ''],
      ])
    })

    it('contact notes: simultaneous changes of different fields are all kept', async () => {
      await connect(alice, bob)
      const fields = [{ alias: 'a' }, { ext: 'e' }, { mute_notification: true }]
      expect(
        codes(await Promise.all(fields.map((field) => updateContact(alice.api, bob.id, field)))),
      ).toEqual([200, 200, 200])
      expect(await entryOf(alice.api, bob.id)).toMatchObject({
        alias: 'a',
        ext: 'e',
        mute_notification: true,
      })
    })

    it('contact notes: strangers have none', async () => {
      await connect(alice, bob)
      await remove(alice.api, bob.id)
      await block(alice.api, carol.id)
      for (const id of [bob.id, carol.id, alice.id, nobody, 0]) {
        await expectCode(updateContact(alice.api, id, { alias: 'x' }), 'not_contact')
        await expectCode(updateContact(alice.api, id), 'not_contact')
      }
      expect((await entryOf(alice.api, carol.id)).alias).toBe('')
    })
  })

  describe('the contact list', () => {
    it('contact list: each contact appears once over the pages; without a limit one page has all', async () => {
      const others = await people(130)
      await connect(alice, ...others)
      const ids = others.map(({ id }) => id).sort((a, b) => a - b)
      const page = await alice.api.succeed('GET', '/roster/list')
      expect(page.data).toEqual(ids)
      expect(page).not.toHaveProperty('cursor')
      const whole = await alice.api.succeed('GET', '/roster/list', { query: { limit: 130 } })
      expect(whole).not.toHaveProperty('cursor')
      for (const limit of [1, 9, 130, 131, 2_147_483_647])
        expect(await contactIds(alice.api, limit)).toEqual(ids)
      const first = await alice.api.succeed('GET', '/roster/list', { query: { limit: 50 } })
      await remove(alice.api, ids[10] as number)
      await remove(alice.api, ids[60] as number)
      const second = await alice.api.succeed('GET', '/roster/list', {
        query: { cursor: first.cursor },
      })
      expect([...first.data, ...second.data]).toEqual(ids.filter((_, index) => index !== 60))
    })

    it('contact list: it starts empty and its version is that of the newest change', async () => {
      const list = () => alice.api.succeed('GET', '/roster/list')
      expect(await list()).toEqual({ code: 200, data: [], message: null, version: 0 })
      await connect(alice, bob)
      await sql(`update contacts set updated_at = 5 where user_id = ${alice.id}`)
      expect(await list()).toEqual({ code: 200, data: [bob.id], message: null, version: 5 })
      await remove(bob.api, alice.id)
      const { data, version } = await list()
      expect(data).toEqual([])
      expect(version).toBeGreaterThan(5)
    })

    it.each(['x', '-1', '1.5', '99999999999999999', '9007199254740993'])(
      'has no cursor %j',
      async (cursor) => {
        const answer = await alice.api.call('GET', '/roster/list', { query: { cursor } })
        expect(answer.envelope).toMatchObject({
          code: answerCode.invalid_parameter,
          message: expect.stringContaining('cursor'),
        })
      },
    )

    it('contact list: entries show the nickname, else the username', async () => {
      await connect(alice, bob, carol)
      await bob.api.succeed('PUT', '/user/nickname', { query: { nick_name: 'Bobby' } })
      const { data } = await alice.api.succeed('GET', '/user/rosters')
      expect(data).toEqual([
        { user_id: bob.id, name: 'Bobby' },
        { user_id: carol.id, name: carol.username },
      ])
      expect((await bob.api.succeed('GET', '/user/rosters')).data).toEqual([
        { user_id: alice.id, name: alice.username },
      ])
      const [dave] = await people(1)
      expect((await dave.api.succeed('GET', '/user/rosters')).data).toEqual([])
    })
  })

  describe('looking up users', () => {
    const find = (list: unknown) =>
      alice.api.call<RosterEntry[]>('POST', '/roster/list', { body: { list } })

    it('user lookup: it shows public fields and the relation as the caller sees it', async () => {
      await bob.api.succeed('PUT', '/user/profile', {
        body: {
          nick_name: 'Bobby',
          description: 'd',
          public_info: 'public',
          private_info: 'private',
        },
      })
      await bob.api.succeed('PUT', '/user/avatar', {
        body: { avatar: 'https://example.org/b.png' },
      })
      await bob.api.succeed('PUT', '/user/mobile', { query: { mobile: mobileOf(bob.id) } })
      await changeSettings(bob, {
        auth_mode: authModes.question,
        auth_question: 'Which colour?',
        auth_answer: 'Blue',
      })
      const stranger = {
        alias: '',
        auth_mode: 2,
        auth_question: 'Which colour?',
        avatar: 'https://example.org/b.png',
        description: 'd',
        ext: '',
        mute_notification: false,
        nick_name: 'Bobby',
        public_info: 'public',
        relation: relations.stranger,
        user_id: bob.id,
        username: bob.username,
        is_bot: false,
      }
      const lookUps = [
        () => alice.api.call('GET', '/roster/id', { query: { user_id: bob.id } }),
        () =>
          alice.api.call('GET', '/roster/name', {
            query: { username: bob.username.toUpperCase() },
          }),
        () => alice.api.call('GET', '/roster/mobile', { query: { mobile: mobileOf(bob.id) } }),
      ]
      for (const lookUp of lookUps) expect((await lookUp()).data).toEqual(stranger)
      expect((await find([bob.id])).data).toEqual([stranger])
      await connect(alice, bob)
      await updateContact(alice.api, bob.id, { alias: 'A', ext: 'e', mute_notification: true })
      const contact = {
        ...stranger,
        alias: 'A',
        ext: 'e',
        mute_notification: true,
        relation: relations.contact,
      }
      for (const lookUp of lookUps) expect((await lookUp()).data).toEqual(contact)
      expect((await find([bob.id])).data).toEqual([contact])
      expect(await entryOf(bob.api, bob.id)).toEqual(stranger)
    })

    it('user lookup by name: an Admin token needs no user, and sees what a stranger sees', async () => {
      await connect(alice, bob)
      const lookUp = (path: string, query: Record<string, string | number>, userId?: number) =>
        server.api.call('GET', path, {
          query,
          token: server.adminToken,
          ...(userId === undefined ? {} : { userId }),
        })
      const byName = { username: bob.username }
      const found = await lookUp('/roster/name', byName)
      expect(found.data).toMatchObject({ user_id: bob.id, relation: relations.stranger })
      const ofAlice = await lookUp('/roster/name', byName, alice.id)
      expect(ofAlice.data).toMatchObject({ user_id: bob.id, relation: relations.contact })
      await expectCode(lookUp('/roster/name', byName, nobody), 'user_not_found')
      await expectCode(lookUp('/roster/id', { user_id: bob.id }), 'invalid_parameter')
    })

    it('user lookup: deleted and unknown IDs have different errors, and names of deleted users find no user', async () => {
      await bob.api.succeed('PUT', '/user/mobile', { query: { mobile: mobileOf(bob.id) } })
      await deletePerson(bob)
      const lookUp = async (path: string, query: Record<string, string | number>) =>
        (await alice.api.call('GET', path, { query })).code
      expect(await lookUp('/roster/id', { user_id: bob.id })).toBe(answerCode.user_deleted)
      expect(await lookUp('/roster/id', { user_id: nobody })).toBe(answerCode.user_not_found)
      expect(await lookUp('/roster/id', { user_id: 'x' })).toBe(answerCode.invalid_parameter)
      expect(await lookUp('/roster/name', { username: bob.username })).toBe(
        answerCode.user_not_found,
      )
      expect(await lookUp('/roster/name', { username: '%' })).toBe(answerCode.user_not_found)
      expect(await lookUp('/roster/name', {})).toBe(answerCode.invalid_parameter)
      expect(await lookUp('/roster/mobile', { mobile: mobileOf(bob.id) })).toBe(
        answerCode.user_not_found,
      )
      expect(await lookUp('/roster/mobile', { mobile: 'x' })).toBe(answerCode.invalid_parameter)
    })

    it('user lookup of several: results keep the order, include strangers and the caller, and omit unknown and deleted users', async () => {
      await deletePerson(bob)
      await connect(alice, carol)
      const [dave] = await people(1)
      const list = [dave.id, nobody, alice.id, bob.id, carol.id, dave.id, huge, 0, -1]
      const { data } = await find(list)
      expect(data.map(({ user_id, relation, username }) => [user_id, relation, username])).toEqual([
        [dave.id, relations.stranger, dave.username],
        [alice.id, relations.stranger, alice.username],
        [carol.id, relations.contact, carol.username],
        [0, relations.stranger, ''],
      ])
      expect((await find([])).data).toEqual([])
    })

    it('user lookup: the system has the name and avatar of the application', async () => {
      const system = async () => {
        const byId = await alice.api.succeed('GET', '/roster/id', { query: { user_id: 0 } })
        const [inList] = (await find([0])).data
        expect(inList).toEqual(byId.data)
        return byId.data
      }
      expect(await system()).toMatchObject({ user_id: 0, nick_name: 'System', avatar: '' })
      const settings = { system_name: 'Concierge', system_avatar: 'bell.png' }
      await server.api.as(server.operatorToken).succeed('POST', '/operator/v1/app/update', {
        body: { app_id: server.appId, settings },
      })
      expect(await system()).toMatchObject({ nick_name: 'Concierge', avatar: 'bell.png' })
    })

    it('user lookup of several: 10,000 users are looked up', async () => {
      const others = await people(40)
      const fillers = Array.from({ length: 9_960 }, (_, index) => index + 1)
      const list = [
        ...others.slice(0, 20).map(({ id }) => id),
        ...fillers,
        ...others.slice(20).map(({ id }) => id),
      ]
      expect((await find(list)).data.map(({ user_id }) => user_id)).toEqual(
        others.map(({ id }) => id),
      )
    })

    it('user lookup: users of other applications are unknown', async () => {
      const appId = `other-${backend.name}`
      const operator = server.api.as(server.operatorToken)
      const { data } = await operator.succeed('POST', '/operator/v1/app/create', {
        body: { app_id: appId },
      })
      const foreign = { appId, token: data.admin_token as string }
      const body = { list: [{ username: 'stranger', password: 'correct horse' }] }
      const registered = await server.api.succeed('POST', '/user/register/batch', {
        ...foreign,
        body,
      })
      const foreigner: number = registered.data[0].user_id
      await expectCode(apply(alice.api, foreigner), 'user_not_found')
      await expectCode(block(alice.api, foreigner), 'user_not_found')
      expect((await find([foreigner])).data).toEqual([])
      const look = await server.api.call('GET', '/roster/id', {
        ...foreign,
        userId: foreigner,
        query: { user_id: alice.id },
      })
      expect(look.code).toBe(answerCode.user_not_found)
    })
  })

  describe('the block list', () => {
    it('block list: it has each blocked user once and is visible to its owner only', async () => {
      const order = [carol, bob]
      for (const { id } of [...order, ...order])
        expect((await block(alice.api, id)).envelope.data).toBe(true)
      expect(await blockedIds(alice.api)).toEqual([bob.id, carol.id])
      expect(await blockedIds(bob.api)).toEqual([])
      await expectRelations(alice, bob, [relations.blocked, relations.stranger])
      for (let times = 0; times < 2; times++)
        expect((await unblock(alice.api, bob.id)).envelope.data).toBe(true)
      expect(await blockedIds(alice.api)).toEqual([carol.id])
      await areStrangers(alice, bob)
      expect(await eventsBy(alice)).toEqual([
        ['contact.blocked', [carol.id], ''],
        ['contact.blocked', [bob.id], ''],
        ['contact.unblocked', [bob.id], ''],
      ])
    })

    it('block list: a block keeps the contact', async () => {
      await connect(alice, bob)
      await updateContact(alice.api, bob.id, { alias: 'Bobby' })
      await block(alice.api, bob.id)
      expect(await entryOf(alice.api, bob.id)).toMatchObject({
        relation: relations.blocked,
        alias: 'Bobby',
      })
      expect(await relationOf(bob.api, alice.id)).toBe(relations.contact)
      expect(await contactIds(alice.api)).toEqual([bob.id])
      await unblock(alice.api, bob.id)
      await areContacts(alice, bob)
      await block(bob.api, alice.id)
      await remove(alice.api, bob.id)
      await expectRelations(alice, bob, [relations.former, relations.blocked])
      await unblock(bob.api, alice.id)
      await expectRelations(alice, bob, [relations.former, relations.former])
    })

    it('block list: unknown users, deleted users and the caller are refused', async () => {
      await deletePerson(carol)
      await expectCode(block(alice.api, nobody), 'user_not_found')
      await expectCode(block(alice.api, carol.id), 'user_deleted')
      const self = await block(alice.api, alice.id)
      expect(self.envelope).toMatchObject({
        code: answerCode.invalid_parameter,
        message: expect.stringContaining('user_id'),
      })
      expect((await alice.api.call('PUT', '/roster/block')).envelope.message).toContain(
        'user_id is required',
      )
      await expectCode(unblock(alice.api, nobody), 'ok')
      expect(await blockedIds(alice.api)).toEqual([])
    })
  })

  describe('making contacts without asking', () => {
    it('add contacts: all users become contacts, whatever their modes', async () => {
      await changeSettings(bob, { auth_mode: authModes.closed })
      await block(carol.api, alice.id)
      await connect(alice, bob, carol, bob)
      await connect(alice, bob)
      await areContacts(alice, bob)
      await expectRelations(alice, carol, [relations.contact, relations.blocked])
      expect(await eventsBy(alice)).toEqual([
        ['contact.added', [bob.id], ''],
        ['contact.added', [carol.id], ''],
      ])
    })

    it('add contacts: an unknown user makes the whole call fail', async () => {
      await deletePerson(carol)
      const add = async (list: unknown) =>
        (await alice.api.call('POST', '/user/add_roster', { body: { list } })).code
      expect(await add([bob.id, nobody])).toBe(answerCode.user_not_found)
      expect(await add([bob.id, carol.id])).toBe(answerCode.user_deleted)
      expect(await add([bob.id, alice.id])).toBe(answerCode.invalid_parameter)
      expect(await contactIds(alice.api)).toEqual([])
      await areStrangers(alice, bob)
    })

    it('add contacts: simultaneous calls in both directions make contacts once', async () => {
      const others = await people(6)
      await Promise.all([
        connect(alice, ...others),
        ...others.map((other) => connect(other, alice)),
        connect(alice, ...others.toReversed()),
      ])
      expect(await contactIds(alice.api)).toEqual(others.map(({ id }) => id).sort((a, b) => a - b))
      for (const { api } of others) expect(await contactIds(api)).toEqual([alice.id])
    })
  })

  describe('the number of contacts', () => {
    it('contact limit: it holds for both users in every way to make contacts', async () => {
      await changeApp({ contact_limit: 3 })
      try {
        const others = await people(5)
        const [first, second, third, fourth, fifth] = others as [
          Person,
          Person,
          Person,
          Person,
          Person,
        ]
        const add = async (person: Person, ...list: Person[]) =>
          (
            await person.api.call('POST', '/user/add_roster', {
              body: { list: list.map(({ id }) => id) },
            })
          ).code
        expect(await add(alice, first, second, third, fourth)).toBe(
          answerCode.contact_limit_reached,
        )
        expect(await contactIds(alice.api)).toEqual([])
        await changeSettings(alice, { auth_mode: authModes.consent })
        await apply(fifth.api, alice.id)
        expect(await add(alice, first, second, third)).toBe(answerCode.ok)
        expect(await add(alice, first, second)).toBe(answerCode.ok)
        await expectCode(apply(alice.api, fourth.id), 'contact_limit_reached')
        await expectCode(accept(alice.api, fifth.id), 'contact_limit_reached')
        expect(await add(fourth, alice)).toBe(answerCode.contact_limit_reached)
        await changeSettings(alice, { auth_mode: authModes.open })
        await expectCode(apply(fourth.api, alice.id), 'contact_limit_reached')
        expect(await contactRequests(alice.api)).toMatchObject([{ user_id: fifth.id, status: 0 }])
        await remove(first.api, alice.id)
        await expectCode(accept(alice.api, fifth.id), 'ok')
        expect(await contactIds(alice.api)).toHaveLength(3)
      } finally {
        await changeApp({ contact_limit: 5_000 })
      }
    })

    it('contact limit: it holds for simultaneous requests', async () => {
      await changeApp({ contact_limit: 3 })
      try {
        const others = await people(10)
        const answers = codes(await Promise.all(others.map(({ api }) => apply(api, alice.id))))
        expect(answers.toSorted((a, b) => a - b)).toEqual([
          ...Array(3).fill(answerCode.ok),
          ...Array(7).fill(answerCode.contact_limit_reached),
        ])
        expect(await contactIds(alice.api)).toHaveLength(3)
      } finally {
        await changeApp({ contact_limit: 5_000 })
      }
    })
  })

  it('a restart keeps contacts, blocks, settings and requests', async () => {
    await connect(alice, bob)
    await block(alice.api, carol.id)
    await changeSettings(bob, { auth_mode: authModes.consent })
    await apply(carol.api, bob.id, { reason: 'still there' })
    await server.stop()
    await server.startAgain()
    const as = ({ id }: Person) => server.api.admin({ userId: id })
    pool = new PeoplePool(server, 150)
    expect(await contactIds(as(alice))).toEqual([bob.id])
    expect(await blockedIds(as(alice))).toEqual([carol.id])
    expect(await contactRequests(as(bob))).toMatchObject([
      { user_id: carol.id, reason: 'still there' },
    ])
    await expectCode(accept(as(bob), carol.id), 'ok')
  })

  it('the integrity check finds no fault after all tests', async () => {
    expect(await integrityFaults(server)).toEqual([])
  })
})
