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
  decline,
  entryOf,
  mayMessage,
  mobileOf,
  PeoplePool,
  type Person,
  relationOf,
  relations,
  remove,
  unblock,
  updateContact,
} from '../support/contacts.js'
import { aGroup, memberIds } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { integrityFaults, sendText, textTo } from '../support/messaging/messaging.js'
import { recordedEvents } from '../support/messaging/recorded-events.js'

/** Positive and never issued. */
const nobody = 1
const huge = 9_223_372_036_854_775_807n
const dayMs = 24 * 3_600_000

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
    ;[alice, bob, carol] = (await people(3)) as [Person, Person, Person]
  })

  const people = (count: number): Promise<Person[]> => pool.take(count)

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

  describe('applying', () => {
    it('apply: an open user becomes a contact at once', async () => {
      expect((await apply(alice.api, bob.id, { alias: 'Bobby', reason: 'hi' })).envelope).toEqual({
        code: 200,
        data: true,
        message: null,
      })
      await areContacts(alice, bob)
      expect(await contactIds(alice.api)).toEqual([bob.id])
      expect(await contactIds(bob.api)).toEqual([alice.id])
      expect((await entryOf(alice.api, bob.id)).alias).toBe('Bobby')
      expect((await entryOf(bob.api, alice.id)).alias).toBe('')
      expect(await contactRequests(bob.api)).toEqual([])
      expect(await eventsBy(alice)).toEqual([['contact.added', [bob.id], '']])
    })

    it('apply: a user who asks for consent gets a request, which expires after the days that the application sets', async () => {
      await changeSettings(bob, { auth_mode: authModes.consent })
      const before = Date.now()
      await expectCode(apply(alice.api, bob.id, { alias: 'Bobby', reason: 'It is Alice' }), 'ok')
      await areStrangers(alice, bob)
      const [request] = await contactRequests(bob.api)
      expect(request).toEqual({
        expired_time: expect.any(Number),
        reason: 'It is Alice',
        status: 0,
        user_id: alice.id,
      })
      // Clocks of two processes may differ a little, days do not.
      const days = (expiredTime: unknown) => Math.round((Number(expiredTime) - before) / dayMs)
      expect(days(request?.expired_time)).toBe(7)
      expect(await contactRequests(alice.api)).toEqual([])
      expect(await eventsBy(alice)).toEqual([['contact.applied', [bob.id], 'It is Alice']])
      await changeApp({ contact_application_days: 30 })
      try {
        await apply(carol.api, bob.id)
        expect(
          (await contactRequests(bob.api)).map(({ expired_time }) => days(expired_time)),
        ).toEqual([30, 7])
      } finally {
        await changeApp({ contact_application_days: 7 })
      }
    })

    it('apply: a user with a question becomes a contact after the right answer only', async () => {
      await changeSettings(bob, {
        auth_mode: authModes.question,
        auth_question: 'Which colour?',
        auth_answer: 'Blue',
      })
      for (const auth_answer of [undefined, '', 'Red', 'blue', 'Blue '])
        await expectCode(apply(alice.api, bob.id, { auth_answer }), 'wrong_auth_answer')
      await areStrangers(alice, bob)
      expect(await contactRequests(bob.api)).toEqual([])
      expect(await eventsBy(alice)).toEqual([])
      await expectCode(apply(alice.api, bob.id, { auth_answer: 'Blue' }), 'ok')
      await areContacts(alice, bob)
    })

    it('apply: a question without an answer refuses every answer', async () => {
      await changeSettings(bob, { auth_mode: authModes.question, auth_question: 'Which colour?' })
      for (const auth_answer of [undefined, '', 'Blue'])
        await expectCode(apply(alice.api, bob.id, { auth_answer }), 'wrong_auth_answer')
    })

    it('apply: a closed user refuses requests', async () => {
      await changeSettings(bob, { auth_mode: authModes.closed, auth_answer: 'Blue' })
      await expectCode(
        apply(alice.api, bob.id, { auth_answer: 'Blue' }),
        'contact_requests_refused',
      )
      await areStrangers(alice, bob)
    })

    it('apply: the caller, unknown users, deleted users, contacts and blocks are refused', async () => {
      await deletePerson(carol)
      expect((await apply(alice.api, alice.id)).envelope).toMatchObject({
        code: answerCode.invalid_parameter,
        message: expect.stringContaining('user_id'),
      })
      for (const id of [nobody, 0, -5, Number.MAX_SAFE_INTEGER])
        await expectCode(apply(alice.api, id), 'user_not_found')
      await expectCode(
        alice.api.call('POST', '/roster/apply', { body: { user_id: huge } }),
        'user_not_found',
      )
      await expectCode(apply(alice.api, carol.id), 'user_deleted')
      await block(alice.api, bob.id)
      await expectCode(apply(alice.api, bob.id), 'in_block_list')
      await expectCode(apply(bob.api, alice.id), 'in_block_list')
      await unblock(alice.api, bob.id)
      await connect(alice, bob)
      await expectCode(apply(alice.api, bob.id), 'already_contact')
      await expectCode(apply(bob.api, alice.id), 'already_contact')
    })

    it.each([
      [{}, 'user_id'],
      [{ user_id: 'x' }, 'user_id'],
      [{ user_id: 5, alias: 'x'.repeat(129) }, 'alias'],
      [{ user_id: 5, reason: 7 }, 'reason'],
      [{ user_id: 5, reason: 'x'.repeat(1025) }, 'reason'],
      [{ user_id: 5, auth_answer: ['x'] }, 'auth_answer'],
    ])('names what is wrong with %j', async (body, field) => {
      const answer = await alice.api.call('POST', '/roster/apply', { body })
      expect(answer.code).toBe(answerCode.invalid_parameter)
      expect(answer.envelope.message).toContain(field)
    })

    it('apply: a second request replaces the pending one', async () => {
      await changeSettings(bob, { auth_mode: authModes.consent })
      await apply(alice.api, bob.id, { reason: 'first', alias: 'one' })
      await sql(
        `update contact_requests set expires_at = expires_at - 1000 where applicant_id = ${alice.id}`,
      )
      const [first] = await contactRequests(bob.api)
      await expectCode(apply(alice.api, bob.id, { reason: 'second', alias: 'two' }), 'ok')
      const received = await contactRequests(bob.api)
      expect(received).toEqual([{ ...first, reason: 'second', expired_time: expect.any(Number) }])
      expect(Number(received[0]?.expired_time)).toBeGreaterThan(Number(first?.expired_time))
      await accept(bob.api, alice.id)
      expect((await entryOf(alice.api, bob.id)).alias).toBe('two')
    })

    it('apply: two requests in opposite directions make contacts, whatever the mode of either user', async () => {
      for (const mode of [authModes.consent, authModes.question, authModes.closed]) {
        const [one, other] = (await people(2)) as [Person, Person]
        await changeSettings(other, { auth_mode: authModes.consent })
        await apply(one.api, other.id, { alias: 'from one' })
        await changeSettings(one, { auth_mode: mode })
        await expectCode(apply(other.api, one.id, { alias: 'from other' }), 'ok')
        await areContacts(one, other)
        expect((await entryOf(one.api, other.id)).alias).toBe('from one')
        expect((await entryOf(other.api, one.id)).alias).toBe('from other')
        expect((await contactRequests(other.api)).map(({ status }) => status)).toEqual([1])
        expect(await eventsBy(other)).toEqual([['contact.accepted', [one.id], '']])
      }
    })

    it('apply: simultaneous requests of both users make contacts and leave no pending request', async () => {
      for (let round = 0; round < 10; round++) {
        const [one, other] = (await people(2)) as [Person, Person]
        await Promise.all(
          [one, other].map((person) => changeSettings(person, { auth_mode: authModes.consent })),
        )
        expect(
          codes(await Promise.all([apply(one.api, other.id), apply(other.api, one.id)])),
        ).toEqual([200, 200])
        await areContacts(one, other)
        const open = [...(await contactRequests(one.api)), ...(await contactRequests(other.api))]
        expect(open.map(({ status }) => status)).toEqual([1])
      }
    })

    it('apply: simultaneous requests of one user make contacts once', async () => {
      const answers = codes(
        await Promise.all(Array.from({ length: 6 }, () => apply(alice.api, bob.id))),
      )
      expect(answers.toSorted((a, b) => a - b)).toEqual([
        200,
        ...Array(5).fill(answerCode.already_contact),
      ])
      expect(await eventsBy(alice)).toHaveLength(1)
    })

    it('apply: a request at the moment of a block leaves a blocked contact or none', async () => {
      for (let round = 0; round < 10; round++) {
        const [one, other] = (await people(2)) as [Person, Person]
        const [applied, blocked] = await Promise.all([
          apply(one.api, other.id),
          block(other.api, one.id),
        ])
        expect(blocked.code).toBe(answerCode.ok)
        expect([answerCode.ok, answerCode.in_block_list]).toContain(applied.code)
        await unblock(other.api, one.id)
        await (applied.code === answerCode.ok ? areContacts : areStrangers)(one, other)
      }
    })
  })

  describe('applying to several', () => {
    const applyMany = (list: unknown) =>
      alice.api.call('POST', '/roster/apply/batch', { body: list })

    it('apply to several users: each result is independent', async () => {
      const [dave, erin, frank] = (await people(3)) as [Person, Person, Person]
      await changeSettings(bob, { auth_mode: authModes.consent })
      await changeSettings(carol, { auth_mode: authModes.closed })
      await changeSettings(dave, { auth_mode: authModes.question, auth_answer: 'x' })
      await deletePerson(erin)
      const list = [
        { user_id: bob.id, reason: 'please' },
        { user_id: carol.id },
        { user_id: nobody },
        { user_id: String(frank.id), alias: 'Franky' },
        { user_id: dave.id },
        { user_id: alice.id },
        { user_id: erin.id },
        { user_id: frank.id },
        { user_id: bob.id, alias: 5 },
        { alias: 'x' },
        'text',
      ]
      const { data } = (await applyMany(list)).envelope
      expect(data.success).toEqual([bob.id, frank.id])
      expect(data.fails.map(({ user_id }: Json) => user_id)).toEqual([
        carol.id,
        nobody,
        dave.id,
        alice.id,
        erin.id,
        frank.id,
        bob.id,
        0,
        0,
      ])
      expect(data.fails.map(({ reason }: Json) => reason)).toEqual([
        'user refuses contact applications',
        'user does not exist',
        'wrong answer to the verification question',
        expect.stringContaining('user_id'),
        'user has been deregistered',
        'already in the contact list',
        expect.stringContaining('alias must be a string'),
        expect.stringContaining('user_id is required'),
        expect.stringContaining('invalid request parameter'),
      ])
      expect(await contactIds(alice.api)).toEqual([frank.id])
      expect((await entryOf(alice.api, frank.id)).alias).toBe('Franky')
      expect((await contactRequests(bob.api)).map(({ reason }) => reason)).toEqual(['please'])
    })

    it('apply to several users: 0 to 500 users are accepted', async () => {
      expect((await applyMany([])).data).toEqual({ success: [], fails: [] })
      const { data } = await applyMany(Array(500).fill({ user_id: bob.id }))
      expect(data.success).toEqual([bob.id])
      expect(data.fails).toHaveLength(499)
      expect(await applyMany(Array(501).fill({ user_id: carol.id }))).toMatchObject({
        code: answerCode.invalid_parameter,
      })
      expect(await contactIds(alice.api)).toEqual([bob.id])
    })

    it.each([{ list: [{ user_id: 5 }] }, 'text', 5, null])(
      'is not a list when it is %j',
      async (body) => {
        expect(await applyMany(body)).toMatchObject({ code: answerCode.invalid_parameter })
      },
    )
  })

  describe('an application', () => {
    beforeEach(async () => {
      await changeSettings(bob, { auth_mode: authModes.consent })
      await apply(alice.api, bob.id, { alias: 'Bobby' })
    })

    it('contact request: accept makes contacts and ends the request', async () => {
      expect((await accept(bob.api, alice.id)).envelope).toEqual({
        code: 200,
        data: true,
        message: null,
      })
      await areContacts(alice, bob)
      expect((await entryOf(alice.api, bob.id)).alias).toBe('Bobby')
      expect(await contactRequests(bob.api)).toMatchObject([{ user_id: alice.id, status: 1 }])
      await expectCode(accept(bob.api, alice.id), 'contact_request_not_found')
      await expectCode(decline(bob.api, alice.id), 'contact_request_not_found')
      expect(await eventsBy(bob)).toEqual([['contact.accepted', [alice.id], '']])
    })

    it('contact request: decline makes no contacts and allows another request', async () => {
      expect((await decline(bob.api, alice.id, { reason: 'sorry' })).envelope).toEqual({
        code: 200,
        data: true,
        message: null,
      })
      await areStrangers(alice, bob)
      expect(await contactRequests(bob.api)).toMatchObject([{ user_id: alice.id, status: 2 }])
      await expectCode(accept(bob.api, alice.id), 'contact_request_not_found')
      await expectCode(decline(bob.api, alice.id), 'contact_request_not_found')
      expect(await eventsBy(bob)).toEqual([['contact.declined', [alice.id], 'sorry']])
      await apply(alice.api, bob.id)
      expect(await contactRequests(bob.api)).toMatchObject([{ user_id: alice.id, status: 0 }])
      await expectCode(accept(bob.api, alice.id), 'ok')
    })

    it('contact request: it expires', async () => {
      await sql(
        `update contact_requests set expires_at = ${Date.now() - 1} where applicant_id = ${alice.id}`,
      )
      await expectCode(accept(bob.api, alice.id), 'contact_request_not_found')
      await expectCode(decline(bob.api, alice.id), 'contact_request_not_found')
      expect(await contactRequests(bob.api)).toMatchObject([{ user_id: alice.id, status: 0 }])
      await areStrangers(alice, bob)
      await changeSettings(alice, { auth_mode: authModes.consent })
      await expectCode(apply(bob.api, alice.id), 'ok')
      await areStrangers(alice, bob)
      await expectCode(apply(alice.api, bob.id), 'ok')
      await areContacts(alice, bob)
    })

    it('contact request: only its recipient can answer', async () => {
      for (const answer of [accept, decline]) {
        for (const [caller, applicant] of [
          [alice, bob],
          [carol, alice],
          [bob, carol],
          [bob, bob],
        ] as const)
          await expectCode(answer(caller.api, applicant.id), 'contact_request_not_found')
        await expectCode(answer(bob.api, nobody), 'contact_request_not_found')
      }
      await areStrangers(alice, bob)
    })

    it('contact request: it stays pending during a block', async () => {
      for (const [blocker, other] of [
        [alice, bob],
        [bob, alice],
      ] as const) {
        await block(blocker.api, other.id)
        await expectCode(accept(bob.api, alice.id), 'in_block_list')
        await unblock(blocker.api, other.id)
      }
      await expectCode(accept(bob.api, alice.id), 'ok')
      await areContacts(alice, bob)
    })

    it('contact request: it ends when the two users become contacts in another way', async () => {
      await connect(carol, bob)
      await connect(alice, bob)
      expect(await contactRequests(bob.api)).toMatchObject([{ user_id: alice.id, status: 1 }])
      await expectCode(decline(bob.api, alice.id), 'contact_request_not_found')
      await areContacts(alice, bob)
    })

    it('contact request: simultaneous accept and decline have one winner', async () => {
      for (let round = 0; round < 10; round++) {
        const [one] = (await people(1)) as [Person]
        await apply(one.api, bob.id)
        const answers = codes(
          await Promise.all([accept(bob.api, one.id), decline(bob.api, one.id)]),
        )
        expect(answers.toSorted((a, b) => a - b)).toEqual([
          200,
          answerCode.contact_request_not_found,
        ])
        await (answers[0] === answerCode.ok ? areContacts : areStrangers)(one, bob)
        expect((await contactRequests(bob.api))[0]).toMatchObject({
          user_id: one.id,
          status: answers[0] === answerCode.ok ? 1 : 2,
        })
      }
    })

    it('contact request: simultaneous accepts succeed once', async () => {
      const answers = codes(
        await Promise.all(Array.from({ length: 6 }, () => accept(bob.api, alice.id))),
      )
      expect(answers.toSorted((a, b) => a - b)).toEqual([
        200,
        ...Array(5).fill(answerCode.contact_request_not_found),
      ])
      expect(await eventsBy(bob)).toHaveLength(1)
    })

    it('contact request: deletion of the applicant removes it', async () => {
      await deletePerson(alice)
      expect(await contactRequests(bob.api)).toEqual([])
      await expectCode(accept(bob.api, alice.id), 'contact_request_not_found')
    })
  })

  describe('the list of applications', () => {
    it('contact request list: newest first, each once, while requests are answered between pages', async () => {
      await changeSettings(bob, { auth_mode: authModes.consent })
      const applicants = await people(23)
      for (const { api } of applicants) await apply(api, bob.id)
      const newestFirst = applicants.map(({ id }) => id).toReversed()
      expect((await contactRequests(bob.api)).map(({ user_id }) => user_id)).toEqual(newestFirst)
      const first = await bob.api.succeed('GET', '/roster/apply/list', { query: { limit: 10 } })
      expect(first.data).toHaveLength(10)
      await accept(bob.api, newestFirst[3] as number)
      await accept(bob.api, newestFirst[12] as number)
      const second = await bob.api.succeed('GET', '/roster/apply/list', {
        query: { limit: 10, cursor: first.cursor },
      })
      const third = await bob.api.succeed('GET', '/roster/apply/list', {
        query: { limit: 10, cursor: second.cursor },
      })
      expect(
        [...first.data, ...second.data, ...third.data].map(({ user_id }: Json) => user_id),
      ).toEqual(newestFirst)
      expect(third).not.toHaveProperty('cursor')
      expect(second.data[2]).toMatchObject({ user_id: newestFirst[12], status: 1 })
      const whole = await bob.api.succeed('GET', '/roster/apply/list', { query: { limit: 23 } })
      expect(whole.data).toHaveLength(23)
      expect(whole).not.toHaveProperty('cursor')
      for (const limit of [1, 7, 23, 24])
        expect((await contactRequests(bob.api, limit)).map(({ user_id }) => user_id)).toEqual(
          newestFirst,
        )
    })

    it('contact request list: requests of the same millisecond appear once', async () => {
      await changeSettings(bob, { auth_mode: authModes.consent })
      const applicants = await people(7)
      await Promise.all(applicants.map(({ api }) => apply(api, bob.id)))
      await sql(`update contact_requests set created_at = 5 where user_id = ${bob.id}`)
      for (const limit of [1, 2, 3]) {
        const ids = (await contactRequests(bob.api, limit)).map(({ user_id }) => user_id)
        expect(ids).toEqual(applicants.map(({ id }) => id).sort((a, b) => b - a))
      }
    })

    it('contact request list: its version changes with every answer', async () => {
      const version = async () => (await bob.api.succeed('GET', '/roster/apply/list')).version
      expect(await version()).toBe(0)
      await changeSettings(bob, { auth_mode: authModes.consent })
      await apply(alice.api, bob.id)
      await sql(
        `update contact_requests set created_at = 5, updated_at = 5 where user_id = ${bob.id}`,
      )
      expect(await version()).toBe(5)
      await decline(bob.api, alice.id)
      expect(await version()).toBeGreaterThan(5)
    })

    it.each(['x', '1', '-1-5', '5-', '5-x', '99999999999999999-5', '5-99999999999999999', "5-'"])(
      'has no cursor %j',
      async (cursor) => {
        const answer = await bob.api.call('GET', '/roster/apply/list', { query: { cursor } })
        expect(answer.code).toBe(answerCode.invalid_parameter)
        expect(answer.envelope.message).toContain('cursor')
      },
    )

    it('contact request list: the page limit is at least 1', async () => {
      const answer = await bob.api.call('GET', '/roster/apply/list', { query: { limit: 0 } })
      expect(answer.envelope).toMatchObject({
        code: answerCode.invalid_parameter,
        message: expect.stringContaining('limit'),
      })
      expect(await contactRequests(bob.api, 2_147_483_647)).toEqual([])
    })
  })

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
        const [one, other] = (await people(2)) as [Person, Person]
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

    it.each([
      [{ alias: 'x'.repeat(129) }, 'alias'],
      [{ ext: 'x'.repeat(8193) }, 'ext'],
      [{ mute_notification: 'maybe' }, 'mute_notification'],
    ])('names what is wrong, and changes nothing', async (fields, name) => {
      await connect(alice, bob)
      const answer = await updateContact(alice.api, bob.id, { alias: 'y', ext: 'y', ...fields })
      expect(answer.envelope).toMatchObject({
        code: answerCode.invalid_parameter,
        message: expect.stringContaining(name),
      })
      expect((await entryOf(alice.api, bob.id)).alias).toBe('')
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
      const [dave] = (await people(1)) as [Person]
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
      const [dave] = (await people(1)) as [Person]
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

    it('user lookup of several: at most 10,000 users', async () => {
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
      const tooMany = await find([...list, 5])
      expect(tooMany.envelope).toMatchObject({
        code: answerCode.invalid_parameter,
        message: expect.stringContaining('list'),
      })
      expect((await find([1, 'x'])).envelope).toMatchObject({
        code: answerCode.invalid_parameter,
        message: expect.stringContaining('list[1]'),
      })
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
      expect(await add([])).toBe(answerCode.invalid_parameter)
      expect(await add(Array(501).fill(bob.id))).toBe(answerCode.invalid_parameter)
      expect(await contactIds(alice.api)).toEqual([])
      await areStrangers(alice, bob)
    })

    it('add contacts: user tokens are refused', async () => {
      const session = await server.api.newSession()
      await expectCode(
        session.api.call('POST', '/user/add_roster', { body: { list: [bob.id] } }),
        'no_permission',
      )
      const withoutUser = await server.api
        .admin()
        .call('POST', '/user/add_roster', { body: { list: [bob.id] } })
      expect(withoutUser.envelope).toMatchObject({
        code: answerCode.invalid_parameter,
        message: expect.stringContaining('user_id'),
      })
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

  describe('sending', () => {
    /** With the user's own token, for an Admin token passes over all of this. */
    const sender = async () => server.api.newSession()
    const send = (api: Person['api'], targets: readonly number[]) =>
      api.call('POST', '/message/send', { body: textTo(targets, 'hi') })

    it('send: a block refuses the sender immediately, until it is lifted', async () => {
      const mallory = await sender()
      await expectCode(send(mallory.api, [alice.id]), 'ok')
      await block(alice.api, mallory.id)
      const refused = await send(mallory.api, [alice.id])
      expect(refused.envelope).toEqual({
        code: answerCode.blocked_by_recipient,
        data: null,
        message: 'you have been blocked by the recipient',
      })
      expect(await mayMessage(alice.api, mallory.id, alice.id)).toBe(false)
      expect(await mayMessage(alice.api, alice.id, mallory.id)).toBe(true)
      await connect(alice, mallory)
      await expectCode(send(mallory.api, [alice.id]), 'blocked_by_recipient')
      await unblock(alice.api, mallory.id)
      await expectCode(send(mallory.api, [alice.id]), 'ok')
      expect(await mayMessage(alice.api, mallory.id, alice.id)).toBe(true)
    })

    it('send: a user who refuses strangers gets messages of contacts only, immediately', async () => {
      const bobby = await sender()
      await expectCode(send(bobby.api, [alice.id]), 'ok')
      await changeSettings(alice, { stranger_chat: 2 })
      const refused = await send(bobby.api, [alice.id])
      expect(refused.envelope).toEqual({
        code: answerCode.stranger_refused,
        data: null,
        message: 'your relation with target does not allow chat',
      })
      expect(await mayMessage(alice.api, bobby.id, alice.id)).toBe(false)
      await connect(alice, bobby)
      await expectCode(send(bobby.api, [alice.id]), 'ok')
      await remove(bobby.api, alice.id)
      await expectCode(send(bobby.api, [alice.id]), 'stranger_refused')
      await changeSettings(bobby, { auth_mode: authModes.consent })
      await apply(alice.api, bobby.id)
      await accept(server.api.admin({ userId: bobby.id }), alice.id)
      await expectCode(send(bobby.api, [alice.id]), 'ok')
      await remove(alice.api, bobby.id)
      await expectCode(send(bobby.api, [alice.id]), 'stranger_refused')
      await alice.api.succeed('PUT', '/user/stranger_chat', { query: { value: 1 } })
      await expectCode(send(bobby.api, [alice.id]), 'ok')
    })

    it('send: a contact that the sender alone has made opens no door to a user who refuses strangers', async () => {
      const [mallory, bobby, dora, eve] = [
        await sender(),
        await sender(),
        await sender(),
        await sender(),
      ]
      await changeSettings(alice, { stranger_chat: 2, auth_mode: authModes.open })
      for (const each of [mallory, bobby, dora]) await apply(each.api, alice.id)
      const codes = async () =>
        Promise.all(
          [mallory, bobby, dora, eve].map(async ({ api }) => (await send(api, [alice.id])).code),
        )
      const { ok, stranger_refused: refused } = answerCode
      expect(await codes()).toEqual([refused, refused, refused, refused])
      expect(await mayMessage(alice.api, mallory.id, alice.id)).toBe(false)
      const group = await aGroup(mallory, { members: [alice] })
      expect(await memberIds(mallory.api, group)).not.toContain(alice.id)
      // Alice writes to the one, edits her entry of the other, applies to the third, and has
      // written before the fourth applies.
      expect((await send(alice.api, [mallory.id, eve.id])).code).toBe(ok)
      await alice.api.succeed('POST', '/roster/ext', { body: { user_id: bobby.id, alias: 'B' } })
      await apply(alice.api, dora.id)
      await apply(eve.api, alice.id)
      expect(await codes()).toEqual([ok, ok, ok, ok])
      // She ends a contact. What she has written before opens no door again.
      await alice.api.succeed('DELETE', '/roster/delete', { body: { user_id: eve.id } })
      await apply(eve.api, alice.id)
      expect(await codes()).toEqual([ok, ok, ok, refused])
    })

    it('send: the setting of the application holds for users without their own', async () => {
      const bobby = await sender()
      await changeSettings(carol, { stranger_chat: 1 })
      await changeApp({ stranger_chat_default: 2 })
      try {
        await expectCode(send(bobby.api, [alice.id]), 'stranger_refused')
        await expectCode(send(bobby.api, [carol.id]), 'ok')
        await connect(alice, bobby)
        await expectCode(send(bobby.api, [alice.id]), 'ok')
      } finally {
        await changeApp({ stranger_chat_default: 1 })
      }
      await expectCode(send(bobby.api, [bob.id]), 'ok')
    })

    it('send: the check of each target is independent', async () => {
      const mallory = await sender()
      await block(alice.api, mallory.id)
      await changeSettings(bob, { stranger_chat: 2 })
      await expectCode(send(mallory.api, [alice.id, bob.id, carol.id]), 'ok')
      const shown = async ({ api }: Person) => {
        const query = { opposite_id: mallory.id, msg_id_start: 0, limit: 10 }
        return (await api.succeed('GET', '/message/conversation', { query })).data.messages.length
      }
      expect([await shown(alice), await shown(bob), await shown(carol)]).toEqual([0, 0, 1])
      await expectCode(send(mallory.api, [bob.id, alice.id]), 'stranger_refused')
      await expectCode(send(mallory.api, [alice.id, bob.id]), 'blocked_by_recipient')
    })

    it('send: an Admin token ignores blocks and the stranger setting', async () => {
      await block(alice.api, bob.id)
      await changeSettings(alice, { stranger_chat: 2 })
      await sendText(bob.api, alice.id, 'as Bob')
      await sendText(server.api.admin(), alice.id, 'as the system')
    })

    it('send: the sender can send to itself and to users that it blocked', async () => {
      const me = await sender()
      await changeSettings(me, { stranger_chat: 2 })
      await block(me.api, alice.id)
      await expectCode(send(me.api, [me.id]), 'ok')
      await expectCode(send(me.api, [alice.id]), 'ok')
      expect(await mayMessage(me.api, me.id, me.id)).toBe(true)
    })

    it('send: online-only messages are checked as well', async () => {
      const mallory = await sender()
      await block(alice.api, mallory.id)
      for (const extras of [
        { online_only: true },
        { content: '', ext: '{"input_status":"typing"}' },
      ]) {
        const body = { ...textTo([alice.id], 'x'), ...extras }
        await expectCode(
          mallory.api.call('POST', '/message/send', { body }),
          'blocked_by_recipient',
        )
      }
    })
  })

  describe('may_message', () => {
    it('may_message: one of the two users or an Admin token can call it', async () => {
      const [one, other] = [await server.api.newSession(), await server.api.newSession()]
      await block(one.api, other.id)
      expect(await mayMessage(one.api, other.id, one.id)).toBe(false)
      expect(await mayMessage(other.api, other.id, one.id)).toBe(false)
      expect(await mayMessage(server.api.admin(), other.id, one.id)).toBe(false)
      expect(await mayMessage(server.api.admin(), one.id, other.id)).toBe(true)
      const query = { user_id: alice.id, roster_id: bob.id }
      await expectCode(one.api.call('GET', '/roster/may_message', { query }), 'no_permission')
    })

    it('may_message: unknown and deleted users are refused; disabled users may not message', async () => {
      await deletePerson(carol)
      const ask = async (user_id: number, roster_id: number) =>
        (await alice.api.call('GET', '/roster/may_message', { query: { user_id, roster_id } })).code
      expect(await ask(alice.id, nobody)).toBe(answerCode.user_not_found)
      expect(await ask(nobody, alice.id)).toBe(answerCode.user_not_found)
      expect(await ask(alice.id, carol.id)).toBe(answerCode.user_deleted)
      expect(await ask(carol.id, alice.id)).toBe(answerCode.user_deleted)
      await server.api.admin().succeed('PUT', '/user/disable', { body: { list: [bob.id] } })
      expect(await mayMessage(server.api.admin(), bob.id, alice.id)).toBe(false)
      const answer = await alice.api.call('GET', '/roster/may_message', { query: { user_id: 'x' } })
      expect(answer.envelope.message).toMatch(/roster_id.*user_id|user_id.*roster_id/)
    })
  })

  describe('a deleted user', () => {
    it('deleted user: it disappears from contact and block lists', async () => {
      await connect(alice, bob, carol)
      await block(alice.api, bob.id)
      await block(bob.api, alice.id)
      await deletePerson(bob)
      expect(await contactIds(alice.api)).toEqual([carol.id])
      expect(await blockedIds(alice.api)).toEqual([])
      expect((await alice.api.succeed('GET', '/user/rosters')).data).toHaveLength(1)
    })

    it('deleted user: simultaneous calls about it leave no rows', async () => {
      const others = await people(8)
      await connect(bob, ...others.slice(0, 2))
      await Promise.all([
        ...others.flatMap(({ api }) => [apply(api, bob.id), block(api, bob.id)]),
        deletePerson(bob),
        ...others.map(({ api, id }) => connect({ api }, carol).then(() => apply(bob.api, id))),
      ])
      for (const { api } of others) expect(await contactIds(api)).toEqual([carol.id])
      expect(
        await sql(`select * from contacts where user_id = ${bob.id} or peer_id = ${bob.id}`),
      ).toEqual([])
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
