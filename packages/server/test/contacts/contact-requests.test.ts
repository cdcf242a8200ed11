/** Requests to become contacts, by themselves and in lists. */
import { anyBackend, type Json } from '@hermod/testkit'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import {
  accept,
  apply,
  authModes,
  block,
  changeSettings,
  codes,
  connect,
  contactIds,
  contactRequests,
  decline,
  entryOf,
  PeoplePool,
  type Person,
  relationOf,
  relations,
  unblock,
} from '../support/contacts.js'
import { ownServer } from '../support/in-process-server.js'
import { integrityFaults } from '../support/messaging/messaging.js'
import { recordedEvents } from '../support/messaging/recorded-events.js'

/** Positive and never issued. */
const nobody = 1

const huge = 9_223_372_036_854_775_807n

const dayMs = 24 * 3_600_000

describe.each(anyBackend())('contact requests on $name', (backend) => {
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
        const [one, other] = await people(2)
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
        const [one, other] = await people(2)
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
        const [one, other] = await people(2)
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
      const [dave, erin, frank] = await people(3)
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
      await expectCode(applyMany(Array(501).fill({ user_id: carol.id })), 'invalid_parameter')
      expect(await contactIds(alice.api)).toEqual([bob.id])
    })

    it.each([{ list: [{ user_id: 5 }] }, 'text', 5, null])(
      'is not a list when it is %j',
      async (body) => {
        await expectCode(applyMany(body), 'invalid_parameter')
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
        const [one] = await people(1)
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
  })

  it('the integrity check finds no fault after all tests', async () => {
    expect(await integrityFaults(server)).toEqual([])
  })
})
