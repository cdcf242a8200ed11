/** Messages from and to a user who is being deleted (rule D5), on both databases and with two nodes. */
import {
  type Answer,
  type Api,
  type ServerProcess,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from './support/answer-codes.js'
import { PeoplePool, type Person } from './support/contacts.js'
import { aGroup } from './support/groups.js'
import { holdWrites } from './support/held-writes.js'
import { integrityFaults, sendText, textTo } from './support/messaging.js'
import { openSql, type Sql } from './support/sql.js'
import { WatchedServer } from './support/watched-server.js'

const timeoutMs = 60_000
const tokens = { adminToken: `hma_${'a'.repeat(48)}`, operatorToken: `hmo_${'b'.repeat(48)}` }
const countOfWaiting = `select count(*) as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

interface Sent {
  readonly content: string
  readonly begunAt: number
  readonly code: number
}

for (const backend of testBackends()) {
  describe(`sends beside a deletion on ${backend.name}`, { timeout: 240_000 }, () => {
    let watched: WatchedServer
    let nodes: ServerProcess[] = []
    let first: ServerProcess
    let sql: Sql
    let people: PeoplePool

    beforeAll(async () => {
      // Nodes that share a database are given one secret key.
      const env = { HERMOD_CHECK_ANSWERS: 'on', HERMOD_SECRET_KEY: `key-${'k'.repeat(40)}` }
      watched = await WatchedServer.start(backend, { ...tokens, env })
      const { server, databaseUrl } = watched
      first = server
      nodes = [first]
      if (databaseUrl !== undefined) nodes.push(await startServer({ ...tokens, databaseUrl, env }))
      sql = watched.sql
      people = new PeoplePool(first, 60)
    })

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
      expect(await sql.run(`select * from user_conversations where user_id = ${userId}`)).toEqual(
        [],
      )
      expect(await integrityFaults(first)).toEqual([])
    }

    /** Deletes a user and has the sends arrive while that is under way. @returns their answers */
    async function deleteBefore(
      user: Person,
      sends: () => readonly Promise<Answer>[],
    ): Promise<readonly Answer[]> {
      if (watched.databaseUrl === undefined) {
        await using held = await holdWrites(watched.place)
        const deletion = remove(user.id)
        // Answered after the deletion has begun to wait, in the order in which they were asked.
        for (let read = 0; read < 5; read++) await user.api.call('GET', '/user/profile')
        const answers = sends()
        for (let read = 0; read < 5; read++) await user.api.call('GET', '/user/profile')
        await held.release()
        expect((await deletion).code).toBe(200)
        return Promise.all(answers)
      }
      const waiting = (count: number) => async () =>
        Number((await sql.run(countOfWaiting))[0]?.count) >= count
      await using gate = await openSql(watched.place)
      await gate.run('begin')
      // The deletion gets there when it has locked the user and closed the conversations.
      await gate.run(`select 1 from user_settings where user_id = ${user.id} for update`)
      const deletion = remove(user.id)
      await waitFor(waiting(1), { what: 'the deletion to wait', timeoutMs })
      const answers = sends()
      await waitFor(waiting(2), { what: 'the sends to wait', timeoutMs })
      await gate.run('commit')
      expect((await deletion).code).toBe(200)
      return Promise.all(answers)
    }

    async function aUser(): Promise<Person> {
      const [user] = (await people.take(1)) as [Person]
      await user.api.succeed('POST', '/user/sounds', { query: { value: true } })
      return user
    }

    it('are not stored in a conversation that the deletion has closed', async () => {
      for (const isSender of [true, false]) {
        // What else is under way may let the send come before the deletion, which then finds it.
        let code = answerCode.ok
        for (let attempt = 0; attempt < 20 && code === answerCode.ok; attempt++) {
          const user = await aUser()
          const [peer] = (await people.take(1)) as [Person]
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

    it('begin no conversation with a user who is deleted meanwhile', async () => {
      for (const isSender of [true, false]) {
        const user = await aUser()
        const [peer] = (await people.take(1)) as [Person]
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

    it('are not stored in a group that the deletion has taken the sender out of', async () => {
      const user = await aUser()
      const [owner] = (await people.take(1)) as [Person]
      const group = await aGroup(owner, { members: [user] })
      await sendText(user.api, group, `${user.id} before`, { type: 2 })
      const late = `${user.id} late`
      const [answer] = await deleteBefore(user, () => [send(user.id, [group], late, 2)])
      expect(answer?.code).toBe(answerCode.user_deleted)
      expect(await stored(late)).toEqual([])
      expect(await stored(`${user.id} before`)).toEqual([group])
      await nothingIsLeft(user.id)
    })

    it('reach the other targets, and keep nobody else’s from being stored', async () => {
      const user = await aUser()
      const [peer, known, stranger] = (await people.take(3)) as [Person, Person, Person]
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

    it('are stored or refused whatever many callers do at once, and refused after it', async () => {
      for (let round = 0; round < 6; round++) {
        const user = await aUser()
        const others = await people.take(8)
        const [friend, other] = others as [Person, Person]
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
  })
}
