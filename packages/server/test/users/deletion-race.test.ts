/**
 * What is done by, to and about a user who is being deleted (rule D5), on both databases and with
 * two nodes.
 */
import { isDeepStrictEqual } from 'node:util'
import {
  type Answer,
  type Api,
  isFullRun,
  parallelBackend,
  type ServerProcess,
  sharedPassword,
  startServer,
  waitFor,
} from '@hermod/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { PeoplePool, type Person } from '../support/contacts.js'
import { countOfWaiting, openSql, type Sql } from '../support/database/sql.js'
import { aGroup } from '../support/groups/groups.js'
import { type HeldWrites, holdWrites } from '../support/messaging/held-writes.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import { contents, integrityFaults, sendText, textTo } from '../support/messaging/messaging.js'
import { recordedEvents } from '../support/messaging/recorded-events.js'
import { WatchedServer } from '../support/watched-server.js'
import { sharedKey, sharedTokens } from '../support/shared-settings.js'

const timeoutMs = 60_000

/**
 * Statements wait for the locks of a test without the time limits of the service, which a busy
 * machine exceeds.
 */
const patience = {
  options: 'options=-c%20lock_timeout%3D60s',
  env: { HERMOD_DATABASE_TIMEOUT_SECONDS: '60' },
}

interface Sent {
  readonly content: string
  readonly begunAt: number
  readonly code: number
}

for (const backend of parallelBackend('durable')) {
  describe(`beside a deletion on ${backend.name}`, { timeout: 240_000 }, () => {
    let watched: WatchedServer
    let nodes: ServerProcess[] = []
    let first: ServerProcess
    let sql: Sql
    let people: PeoplePool
    /** In a later round more is done before the deletion. */
    const rounds = isFullRun ? [0, 1, 2, 3, 4, 5] : [1]

    beforeAll(async () => {
      // Nodes that share a database are given one secret key.
      const env = {
        ...patience.env,
        HERMOD_CHECK_ANSWERS: 'on',
        ...sharedKey,
      }
      const createDatabase = async () => {
        const made = await backend.createDatabase()
        return { ...made, ...(made.url && { url: `${made.url}?${patience.options}` }) }
      }
      watched = await WatchedServer.start({ ...backend, createDatabase }, { ...sharedTokens, env })
      const { server, databaseUrl } = watched
      first = server
      nodes = [first]
      if (databaseUrl !== undefined)
        nodes.push(await startServer({ ...sharedTokens, databaseUrl, env }))
      sql = watched.sql
      people = new PeoplePool(first, 60)
    })

    afterEach(async () => expect(await integrityFaults(first)).toEqual([]))

    afterAll(async () => {
      for (const node of nodes.slice(1)) await node[Symbol.asyncDispose]()
      nodes = []
      await watched?.[Symbol.asyncDispose]()
    })

    /** On the node that did not delete, where there is one. */
    const elsewhere = (userId: number): Api => (nodes.at(-1) as ServerProcess).api.admin({ userId })

    const remove = (userId: number): Promise<Answer> =>
      first.api.admin({ userId }).call('POST', '/user/delete')

    function send(
      sender: number,
      targets: readonly number[],
      content: string,
      type = 1,
    ): Promise<Answer> {
      return elsewhere(sender).call('POST', '/message/send', {
        body: textTo(targets, content, { type }),
      })
    }

    /** The targets to which a text was stored; in a group, and to oneself, it is the one ID. */
    async function stored(content: string): Promise<number[]> {
      const rows = await sql.run(
        `select low_id, high_id, sender_id from messages where content = '${content}' order by msg_id`,
      )
      return rows.map(({ low_id, high_id, sender_id }) =>
        Number(low_id === sender_id ? high_id : low_id),
      )
    }

    async function nothingIsLeft(userId: number): Promise<void> {
      const open = `select * from readers where user_id = ${userId} and closed = 0`
      expect(await sql.run(open)).toEqual([])
    }

    const waiting = (count: number) => async () =>
      Number((await sql.run(countOfWaiting))[0]?.count) >= count

    /**
     * Has the embedded database take no writes, while none waits: what is sent goes before a
     * deletion that waits behind one.
     */
    async function holdIdleWrites(): Promise<HeldWrites> {
      for (;;) {
        const held = await holdWrites(watched.place)
        if ((await writesUnderWay()) === 0) return held
        await held.release()
        await waitFor(async () => (await writesUnderWay()) === 0, { what: 'no writes', timeoutMs })
      }
    }

    /** Begins calls while the embedded database takes no writes. @returns when they wait for it */
    async function begin(
      user: Person,
      calls: () => readonly Promise<Answer>[],
    ): Promise<readonly Promise<Answer>[]> {
      const before = await writesUnderWay()
      const answers = calls()
      const wait = async () => (await writesUnderWay()) > before
      await waitFor(wait, { what: 'the calls to wait', timeoutMs })
      // A write of the service itself may have been counted: calls that came with these are answered too.
      for (let read = 0; read < 5; read++) await user.api.call('GET', '/user/profile')
      return answers
    }

    async function writesUnderWay(): Promise<number> {
      const { text } = await first.api.call('GET', '/metrics')
      return Number(/^hermod_database_writes_in_progress (\d+)/m.exec(text)?.[1])
    }

    /** Deletes a user and has the calls arrive while that is under way. @returns their answers */
    async function deleteBefore(
      user: Person,
      calls: () => readonly Promise<Answer>[],
    ): Promise<readonly Answer[]> {
      if (watched.databaseUrl === undefined) {
        await using held = await holdIdleWrites()
        const [deletion] = await begin(user, () => [remove(user.id)])
        const answers = await begin(user, calls)
        await held.release()
        expect((await deletion)?.code).toBe(200)
        return Promise.all(answers)
      }
      await using gate = await openSql(watched.place)
      await gate.run('begin')
      // The deletion gets there when it has locked the user and closed the conversations.
      await gate.run(`select 1 from user_settings where user_id = ${user.id} for update`)
      const deletion = remove(user.id)
      await waitFor(waiting(1), { what: 'the deletion to wait', timeoutMs })
      const answers = calls()
      await waitFor(waiting(2), { what: 'the calls to wait', timeoutMs })
      await gate.run('commit')
      expect((await deletion).code).toBe(200)
      return Promise.all(answers)
    }

    async function aUser(): Promise<Person> {
      const [user] = await people.take(1)
      await user.api.succeed('POST', '/user/sounds', { query: { value: true } })
      return user
    }

    it('sends are not stored in a conversation that the deletion has closed', async () => {
      for (const isSender of [true, false]) {
        // What else is under way may let the send come before the deletion, which then finds it.
        let code = answerCode.ok
        for (let attempt = 0; attempt < 20 && code === answerCode.ok; attempt++) {
          const user = await aUser()
          const [peer] = await people.take(1)
          const answered = `${user.id} before`
          await sendText(user.api, peer.id, answered)
          const late = `${user.id} late`
          const [answer] = await deleteBefore(user, () => [
            isSender ? send(user.id, [peer.id], late) : send(peer.id, [user.id], late),
          ])
          code = answer?.code ?? 0
          expect(await stored(late)).toHaveLength(code === answerCode.ok ? 1 : 0)
          expect(await stored(answered)).toEqual([peer.id])
          await nothingIsLeft(user.id)
        }
        expect(code).toBe(answerCode.user_deleted)
      }
    })

    it('sends begin no conversation with a user who is deleted meanwhile', async () => {
      for (const isSender of [true, false]) {
        const user = await aUser()
        const [peer] = await people.take(1)
        const late = `${user.id} late`
        const [answer] = await deleteBefore(user, () => [
          isSender ? send(user.id, [peer.id], late) : send(peer.id, [user.id], late),
        ])
        expect(answer?.code).toBe(answerCode.user_deleted)
        expect(await stored(late)).toEqual([])
        expect(
          await sql.run(`select * from conversations where ${user.id} in (low_id, high_id)`),
        ).toEqual([])
        await nothingIsLeft(user.id)
      }
    })

    it('sends are not stored in a group that the deletion has taken the sender out of', async () => {
      const user = await aUser()
      const [owner] = await people.take(1)
      const group = await aGroup(owner, { members: [user] })
      await sendText(user.api, group, `${user.id} before`, { type: 2 })
      const late = `${user.id} late`
      const [answer] = await deleteBefore(user, () => [send(user.id, [group], late, 2)])
      expect(answer?.code).toBe(answerCode.user_deleted)
      expect(await stored(late)).toEqual([])
      expect(await stored(`${user.id} before`)).toEqual([group])
      await nothingIsLeft(user.id)
    })

    it('sends reach the other targets, and keep nobody else’s from being stored', async () => {
      const user = await aUser()
      const [peer, known, stranger] = await people.take(3)
      await sendText(peer.api, user.id, 'known')
      const [toSome, toOthers] = await deleteBefore(user, () => [
        send(peer.id, [known.id, user.id, stranger.id], `${user.id} to some`),
        send(stranger.id, [known.id], `${user.id} to others`),
      ])
      expect([toSome?.code, toOthers?.code]).toEqual([200, 200])
      expect((await stored(`${user.id} to some`)).toSorted()).toEqual(
        [known.id, stranger.id].toSorted(),
      )
      expect(await stored(`${user.id} to others`)).toEqual([known.id])
      await nothingIsLeft(user.id)
    })

    if (backend.name === 'postgres')
      describe('sends are stored while the deletion waits', () => {
        /** @param lock keeps the deletion waiting, and not the send */
        async function sendWhileWaiting(user: Person, targets: readonly Person[], lock: string) {
          await using gate = await openSql(watched.place)
          await gate.run('begin')
          await gate.run(lock)
          const deletion = remove(user.id)
          await waitFor(waiting(1), { what: 'the deletion to wait', timeoutMs })
          const text = `${user.id} meanwhile`
          const ids = targets.map(({ id }) => id)
          expect((await send(user.id, ids, text)).code).toBe(200)
          await gate.run('commit')
          expect((await deletion).code).toBe(200)
          expect((await stored(text)).toSorted((a, b) => a - b)).toEqual(ids)
          const open = `select * from conversations where ${user.id} in (low_id, high_id) and closed = 0`
          expect(await sql.run(open), 'conversations that are not closed').toEqual([])
          await nothingIsLeft(user.id)
        }
        const byId = (people: readonly Person[]) => people.toSorted((a, b) => a.id - b.id)

        it('for another conversation', async () => {
          const all = byId(await people.take(4))
          const [user, held, known, fresh] = all as [Person, Person, Person, Person]
          for (const peer of [held, known]) await sendText(peer.api, user.id, 'hello')
          const lock = `select 1 from conversations where low_id = ${user.id} and high_id = ${held.id} for update`
          await sendWhileWaiting(user, [known, fresh], lock)
        })

        it('for the user, and begin a conversation', async () => {
          const [user, fresh] = await people.take(2)
          const lock = `select 1 from users where user_id = ${user.id} for no key update`
          await sendWhileWaiting(user, [fresh], lock)
        })
      })

    it('sends are stored or refused whatever many callers do at once, and refused after it', async () => {
      for (const round of rounds) {
        const user = await aUser()
        const others = await people.take(8)
        const [friend, other] = others
        const group = await aGroup(friend, { members: [user] })
        await sendText(friend.api, user.id, 'hello')
        const sent: Sent[] = []
        let deletedAt = Number.POSITIVE_INFINITY
        let number = 0

        /** Until some sends have been begun after the deletion was answered. */
        async function hammer(
          target: () => readonly [sender: number, target: number, type: number],
        ) {
          for (let after = 0; after < 3; ) {
            const content = `${user.id}/${number++}`
            const begunAt = performance.now()
            if (begunAt > deletedAt) after++
            const [sender, to, type] = target()
            const { code } = await send(sender, [to], content, type)
            sent.push({ content, begunAt, code })
          }
        }

        const fresh = others.slice(2)
        let next = 0
        const somebody = () => (fresh[next++ % fresh.length] as Person).id
        const storm = Promise.all([
          hammer(() => [user.id, friend.id, 1]),
          hammer(() => [friend.id, user.id, 1]),
          hammer(() => [other.id, user.id, 1]),
          hammer(() => [user.id, somebody(), 1]),
          hammer(() => [somebody(), user.id, 1]),
          hammer(() => [user.id, group, 2]),
          hammer(() => [user.id, user.id, 1]),
        ])
        await waitFor(async () => sent.length > 10 * round, { what: 'some sends', timeoutMs })
        expect((await remove(user.id)).code).toBe(200)
        deletedAt = performance.now()
        await storm
        const rows = await sql.run(`select content from messages where content like '${user.id}/%'`)
        const there = new Set(rows.map(({ content }) => content))
        for (const { content, code, begunAt } of sent) {
          expect(there.has(content), `${content}: ${code}`).toBe(code === 200)
          if (begunAt > deletedAt) expect(code, content).not.toBe(200)
        }
        await nothingIsLeft(user.id)
      }
    })

    interface Sight {
      readonly user: Person
      readonly peer: Person
      /** The peer, or a group of both. */
      readonly place: number
      /** 1 = users, 2 = groups */
      readonly type: number
      /** Of the user. */
      readonly message: number
    }

    const ofUsers = async (user: Person, peer: Person): Promise<Sight> => {
      const message = await sendText(user.api, peer.id, 'as it was')
      await sendText(peer.api, user.id, 'unread')
      return { user, peer, place: peer.id, type: 1, message }
    }
    const closedBefore = async (user: Person, peer: Person): Promise<Sight> => {
      const sight = await ofUsers(user, peer)
      expect((await remove(peer.id)).code).toBe(200)
      return sight
    }
    const ofGroup = async (user: Person, peer: Person): Promise<Sight> => {
      const place = await aGroup(peer, { members: [user] })
      const message = await sendText(user.api, place, 'as it was', { type: 2 })
      await sendText(peer.api, place, 'unread', { type: 2 })
      return { user, peer, place, type: 2, message }
    }
    const places = { ofUsers, closedBefore, ofGroup }
    const own = async ({ id, username }: Person): Promise<Api> => {
      const { api } = nodes.at(-1) as ServerProcess
      return (await api.login({ id, username, password: sharedPassword })).api
    }
    const admin = async ({ id }: Person): Promise<Api> => elsewhere(id)
    const edit = (api: Api, { place: peer, type, message }: Sight) =>
      operate(api, 'replace', { peer, type, message, content: 'late' })
    const withdraw = (api: Api, { place, message }: Sight) => recall(api, place, message)
    const withdrawByMessage = (api: Api, { place: peer, type, message }: Sight) =>
      operate(api, 'recall', { peer, type, message, transaction_id: message })

    /** What is stored of a conversation, except who has read what. */
    async function stateOf({ user, peer, place, type }: Sight): Promise<unknown> {
      const which = whichConversation(type, place, user, peer)
      return {
        messages: await sql.run(
          `select msg_id, content, edited_at from messages where ${which} order by msg_id`,
        ),
        recalled: await sql.run(`select msg_id from recalled_messages where ${which}`),
        changes: await sql.run(`select msg_id from message_changes where ${which}`),
      }
    }

    type Change = [
      name: string,
      change: (api: Api, sight: Sight) => Promise<Answer>,
      callerOf: (user: Person) => Promise<Api>,
    ]
    const changes: Change[] = [
      ['edits', edit, admin],
      ['recalls with a user token', withdraw, own],
      ['recalls that are messages', withdrawByMessage, admin],
    ]
    if (isFullRun)
      changes.push(['edits with a user token', edit, own], ['recalls', withdraw, admin])

    it.each(changes)(
      '%s of a user who is deleted meanwhile change nothing',
      async (_, change, callerOf) => {
        for (const prepare of Object.values(places)) {
          // What else is under way may let the call come before the deletion.
          let code = answerCode.ok
          for (let attempt = 0; attempt < 20 && code === answerCode.ok; attempt++) {
            const sight = await prepare(await aUser(), ...(await people.take(1)))
            const caller = await callerOf(sight.user)
            const before = await stateOf(sight)
            const [answer] = await deleteBefore(sight.user, () => [change(caller, sight)])
            code = answer?.code ?? 0
            if (code !== answerCode.ok) expect(await stateOf(sight)).toEqual(before)
            await nothingIsLeft(sight.user.id)
          }
          expect(code, prepare.name).toBe(answerCode.user_deleted)
        }
      },
    )

    it('edits that come while the deletion waits for one that came before it do not go before it', async () => {
      const user = await aUser()
      const [before, after] = await people.take(2)
      const sights = [await ofGroup(user, before), await ofGroup(user, after)] as const
      const text = (mark: string) => ({ type: 2, content: mark })
      const append = ({ place: peer, message }: Sight, mark: string) =>
        operate(elsewhere(user.id), 'append', { peer, message, ...text(mark) })
      const answers: Promise<Answer>[] = []
      const steps = [
        () => append(sights[0], ' first'),
        () => remove(user.id),
        () => append(sights[1], ' second'),
      ]
      if (watched.databaseUrl === undefined) {
        await using held = await holdIdleWrites()
        for (const step of steps) answers.push(...(await begin(user, () => [step()])))
        await held.release()
      } else {
        await using gate = await openSql(watched.place)
        await gate.run('begin')
        await gate.run(
          `select 1 from conversations where low_id = ${sights[0].place} and high_id = low_id for update`,
        )
        for (const [index, step] of steps.entries()) {
          answers.push(step())
          await waitFor(waiting(index + 1), { what: `step ${index} to wait`, timeoutMs })
        }
        await gate.run('commit')
      }
      const [first, removed, second] = await Promise.all(answers)
      expect([first?.code, removed?.code, second?.code]).toEqual([
        200,
        200,
        answerCode.user_deleted,
      ])
      const contentOf = async ({ message }: Sight) =>
        (await sql.run(`select content from messages where msg_id = ${message}`))[0]?.content
      expect(await contentOf(sights[0])).toBe('as it was first')
      expect(await contentOf(sights[1])).toBe('as it was')
      await nothingIsLeft(user.id)
    })

    it('edits of what a deleted user has got go on', async () => {
      const user = await aUser()
      const [peer] = await people.take(1)
      const { message } = await ofUsers(peer, user)
      const [answer] = await deleteBefore(user, () => [
        operate(elsewhere(peer.id), 'append', { peer: user.id, message, content: '!' }),
      ])
      expect(answer?.code).toBe(answerCode.ok)
      const after = { peer: user.id, message, content: '?' }
      await expectCode(operate(peer.api, 'append', after), 'ok')
      expect(await contents(peer.api, user.id)).toContain('as it was!?')
      await nothingIsLeft(user.id)
    })

    /** How far a conversation, or a group's, was read, and what the user told of reading. */
    async function readingsOf({ user, peer, place, type }: Sight): Promise<unknown> {
      const which = whichConversation(type, place, user, peer)
      const furthest = `select furthest_id, furthest_seq, others_seq from conversations where ${which}`
      const party = `user_id = ${user.id} and (low_id = user_id or high_id = user_id)`
      const positions = `select read_seq, acked_seq, seen_seq, delivered_seq from readers where ${party} and ${which}`
      const marks = [await sql.run(furthest), await sql.run(positions)]
      const told = await recordedEvents(sql, 'message.')
      return { marks, told: told.filter(({ actor }) => actor === user.id) }
    }

    it('acknowledgements of a user who is deleted meanwhile move no mark', async () => {
      for (const prepare of Object.values(places))
        for (const isEverything of isFullRun ? [false, true] : [prepare === ofGroup]) {
          let isMoved = true
          for (let attempt = 0; attempt < 20 && isMoved; attempt++) {
            const sight = await prepare(await aUser(), ...(await people.take(1)))
            const caller = await own(sight.user)
            const query = isEverything ? {} : { conversation_id: sight.place }
            const before = await readingsOf(sight)
            await deleteBefore(sight.user, () => [caller.call('GET', '/message/ack', { query })])
            isMoved = !isDeepStrictEqual(await readingsOf(sight), before)
            await nothingIsLeft(sight.user.id)
          }
          expect(isMoved, `${prepare.name}, everything: ${isEverything}`).toBe(false)
        }
    })

    it('edits and acknowledgements happen or not whatever many callers do at once, and not after it', async () => {
      for (const round of rounds) {
        const user = await aUser()
        const sights: Sight[] = []
        for (const prepare of Object.values(places))
          sights.push(await prepare(user, ...(await people.take(1))))
        const appended = sights.map(() => new Set<string>())
        let number = 0
        let deletedAt = Number.POSITIVE_INFINITY

        /** Until some calls have been begun after the deletion was answered. */
        async function hammer(call: (mark: string) => Promise<Answer>): Promise<void> {
          for (let after = 0; after < 3; ) {
            if (performance.now() > deletedAt) after++
            await call(`<${number++}>`)
          }
        }

        const storm = Promise.all(
          sights.flatMap((sight, index) => {
            const { place: peer, type, message } = sight
            const append = async (content: string) => {
              const what = { peer, type, message, content }
              const begunAt = performance.now()
              const answer = await operate(elsewhere(user.id), 'append', what)
              if (begunAt > deletedAt) expect(answer.code).not.toBe(answerCode.ok)
              if (answer.code === answerCode.ok) appended[index]?.add(content)
              return answer
            }
            const query = { conversation_id: peer }
            const read = () => elsewhere(user.id).call('GET', '/message/ack', { query })
            return [hammer(append), hammer(append), hammer(read)]
          }),
        )
        await waitFor(async () => number > 15 * round, { what: 'some calls', timeoutMs })
        await expectCode(remove(user.id), 'ok')
        deletedAt = performance.now()
        const readings = await Promise.all(sights.map(readingsOf))
        await storm
        expect(await Promise.all(sights.map(readingsOf))).toEqual(readings)
        for (const [index, { message }] of sights.entries()) {
          const [row] = await sql.run(`select content from messages where msg_id = ${message}`)
          const marks = String(row?.content).replace('as it was', '').match(/<\d+>/g)
          expect(new Set(marks)).toEqual(appended[index])
        }
        await nothingIsLeft(user.id)
      }
    })
  })
}

/** As a condition on the tables of messages. @param type 2: `place` is a group */
function whichConversation(type: number, place: number, ...parties: readonly Person[]): string {
  const ids = type === 2 ? [place, place] : parties.map(({ id }) => id)
  return `low_id = ${Math.min(...ids)} and high_id = ${Math.max(...ids)}`
}
