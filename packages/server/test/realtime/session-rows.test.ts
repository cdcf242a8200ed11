import { setTimeout as pause } from 'node:timers/promises'
import { testBackends } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { emptyUser } from '../../dist/db/personal-data.js'
import { sql } from '../../dist/db/kysely.js'
import type { DisplacedSession, SessionOpening } from '../../dist/domain/sessions/session-model.js'
import { SessionRepair } from '../../dist/domain/sessions/session-repair.js'
import { SessionStore } from '../../dist/domain/sessions/session-store.js'
import { SessionWriter } from '../../dist/domain/sessions/session-writer.js'
import { SessionRegistry } from '../../dist/sessions/registry.js'
import type { Session } from '../../dist/sessions/session.js'
import { DatabasePlace } from '../support/database/database-place.js'

const appId = 'shop'
const limit = 3
let nextId = 1_000_000

/** A session with a link that keeps the code with which it was closed. */
interface TestSession {
  readonly session: Session
  closed: string | null
}

function addSession(sessions: SessionRegistry, userId: number, deviceSn: number): TestSession {
  const test: { session?: Session; closed: string | null } = { closed: null }
  const link = {
    ...{ isBehind: false, heardAt: 0, write() {}, ping() {} },
    close(code: string) {
      test.closed = code
      sessions.remove(session)
    },
  }
  const session: Session = {
    ...{ id: nextId++, appId, userId, deviceSn, tokenHash: '', scopes: null, link },
    ...{ phase: 'live', hasMissed: false, features: new Set<never>() },
  }
  sessions.add(session)
  return Object.assign(test, { session })
}
const waitMs = 150
const app = {
  ...{ app_id: appId, name: '', status: 0, open_registration: 0, created_at: 1 },
  ...{ registration_secret: '', file_link_key: '', settings: '' },
}
const store = new SessionStore()

describe.each(testBackends().filter(({ name }) => name === 'postgres'))(
  'the rows of sessions',
  (backend) => {
    let place: DatabasePlace
    let displaced: DisplacedSession[]
    let dropped = 0
    let nextUser = 1

    beforeAll(async () => {
      place = await DatabasePlace.create(backend)
    })
    afterAll(async () => {
      await place[Symbol.asyncDispose]()
    })

    function node(id: string, lease = 1) {
      displaced = []
      return new SessionWriter({
        database: place.database,
        store,
        node: { id, lease },
        sessionsPerUser: limit,
        waitMs,
        displaced: (sessions) => displaced.push(...sessions),
        leaseChanged() {},
        failed() {},
        observer: { refused() {}, finished() {}, dropped: () => dropped++ },
      })
    }

    function opening(userId: number, deviceSn: number | null, ownId: number): SessionOpening {
      return { appId, userId, deviceSn, isReader: false, ownId }
    }

    async function openRows() {
      const { rows } = await place.database.read((db) => store.page(db, null, 1_000))
      const open = rows.filter(({ closedForMs }) => closedForMs === null)
      return open.map(({ userId, deviceSn, nodeId, id }) => [userId, deviceSn, nodeId, id])
    }

    it('a device that moves: its session gets a greater ID whatever the clocks say', async () => {
      const [one, other] = [node('one'), node('other')]
      const user = nextUser++
      expect(await one.open(opening(user, 1, 8_000), () => false)).toBe(8_000)
      expect(await other.open(opening(user, 1, 50), () => false)).toBe(8_001)
      expect(displaced).toEqual([{ appId, userId: user, id: 8_000, nodeId: 'one' }])
      // The closing of the replaced session leaves the row of the later one alone.
      one.close({ appId, userId: user, id: 8_000 })
      one.close({ appId, userId: user, id: 8_001 })
      await one.idle()
      expect(await openRows()).toEqual([[user, 1, 'other', 8_001]])
      other.close({ appId, userId: user, id: 8_001 })
      await other.idle()
      expect(await openRows()).toEqual([])
      expect(await one.open(opening(user, 1, 60), () => false)).toBe(8_002)
    })

    it('the limit of a user: holds for openings of several nodes at once', async () => {
      const nodes = ['a', 'b', 'c'].map((id) => node(id))
      const user = nextUser++
      await place.database.transaction(async (tx) => {
        await tx.insertInto('apps').values(app).execute()
        await tx
          .insertInto('users')
          .values({ ...emptyUser, app_id: appId, user_id: user, username: 'u' })
          .execute()
      })
      const outcomes = await Promise.allSettled(
        Array.from({ length: 9 }, (_, index) =>
          nodes[index % 3]?.open(opening(user, index, 100 + index), () => false),
        ),
      )
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(limit)
      const [refused] = outcomes.filter((each) => each.status === 'rejected')
      expect(refused?.reason).toMatchObject({ errorName: 'session_limit_reached' })
      // A device that is connected takes its own place.
      const [[, deviceSn] = []] = (await openRows()).filter(([userId]) => userId === user)
      await nodes[0]?.open(opening(user, deviceSn as number, 900), () => false)
    })

    it('an opening that waits for too long, or whose client has left, is given up', async () => {
      const writer = node('slow')
      const user = nextUser++
      await expect(writer.open(opening(user, 1, 1), () => true)).rejects.toMatchObject({
        errorName: 'storage_failed',
      })
      const held = await place.database.transaction(async (tx) => {
        await sql`lock table sessions in access exclusive mode`.execute(tx)
        const begun: Promise<number>[] = []
        for (const each of [1, 2]) {
          begun.push(writer.open(opening(user + each, 1, 1), () => false))
          await pause(waitMs / 4)
        }
        const waiting = writer.open(opening(user + 3, 1, 1), () => false)
        await expect(waiting).rejects.toMatchObject({ errorName: 'storage_failed' })
        return begun
      })
      await Promise.all(held)
      expect(dropped).toBe(2)
      expect((await openRows()).some(([userId]) => userId === user + 3)).toBe(false)
    })

    it('rows that were lost are written again, unless the device has moved', async () => {
      const self = { id: 'again', lease: 7 }
      const [one, other] = [node(self.id, self.lease), node('elsewhere')]
      const [stays, moves, reader] = [nextUser++, nextUser++, nextUser++]
      const held = [
        { appId, userId: stays, id: 10, deviceSn: 1, isReader: false },
        { appId, userId: moves, id: 11, deviceSn: 1, isReader: false },
        { appId, userId: reader, id: 12, deviceSn: null, isReader: true },
      ]
      await Promise.all([other.open(opening(moves, 1, 20), () => false)])
      const restored = await place.database.transaction((tx) => store.restore(tx, self, held))
      expect(restored.map(({ id }) => id).sort()).toEqual([10, 12])
      const figures = () => place.database.read((db) => store.figures(db, self))
      expect(await figures()).toEqual({ count: 2, sum: 22n })
      // A new lease takes them over, and the old one has none.
      const renewed = { ...self, lease: 8 }
      await place.database.transaction((tx) => store.restore(tx, renewed, held))
      expect(await figures()).toEqual({ count: 0, sum: 0n })
      await place.database.statement((tx) => store.closeEarlier(tx, { ...self, lease: 9 }))
      expect(await place.database.read((db) => store.figures(db, renewed))).toEqual({
        count: 0,
        sum: 0n,
      })
      await one.idle()
    })

    it('a repair makes the rows what the sessions of the node are', async () => {
      const self = { id: 'repaired', lease: 1 }
      const sessions = new SessionRegistry()
      const repairs: unknown[] = []
      const repair = new SessionRepair({
        ...{ database: place.database, store, node: self, sessions },
        repaired: (counts) => repairs.push(counts),
      })
      const opened = [1, 2, 3].map((deviceSn) => addSession(sessions, nextUser++, deviceSn))
      const [lost, moved, kept] = opened as [TestSession, TestSession, TestSession]
      const key = ({ session }: TestSession) => opening(Number(session.userId), session.deviceSn, 0)
      await node('far').open({ ...key(moved), ownId: moved.session.id + 1 }, () => false)
      await node(self.id).open({ ...key(kept), ownId: kept.session.id }, () => false)
      await node(self.id).open(opening(nextUser++, 1, 77), () => false)
      await sql`update sessions set changed_at = changed_at - ${11 * 1_000} where session_id = 77`.execute(
        place.database.writer,
      )
      await repair.run()
      expect(repairs).toEqual([{ restored: 1, closed: 1 }])
      expect([lost.closed, moved.closed, kept.closed]).toEqual([null, 'replaced', null])
      const figures = await place.database.read((db) => store.figures(db, self))
      expect(figures).toEqual({ count: 2, sum: BigInt(lost.session.id + kept.session.id) })
      await repair.run()
      // A new lease takes its sessions with it.
      self.lease = 2
      await repair.run()
      expect(await place.database.read((db) => store.figures(db, self))).toEqual(figures)
      expect(repairs).toEqual([
        { restored: 1, closed: 1 },
        { restored: 2, closed: 0 },
      ])
    })

    it('changes are read by the clock of the database, and closed rows are deleted later', async () => {
      const writer = node('feed')
      const user = nextUser++
      const { now } = await place.database.read((db) => store.changedSince(db, 0))
      await writer.open(opening(user, 1, 500), () => false)
      writer.close({ appId, userId: user, id: 500 })
      await writer.idle()
      const { rows } = await place.database.read((db) => store.changedSince(db, now - 1))
      expect(rows.filter(({ userId }) => userId === user)).toMatchObject([
        { id: 500, nodeId: 'feed', closedForMs: expect.any(Number) },
      ])
      expect(await place.database.statement((tx) => store.deleteClosed(tx, 60_000, 100))).toBe(0)
      expect(
        await place.database.statement((tx) => store.deleteClosed(tx, -1, 100)),
      ).toBeGreaterThan(0)
      const left = await place.database.read((db) => store.changedSince(db, 0))
      expect(left.rows.every(({ closedForMs }) => closedForMs === null)).toBe(true)
    })

    it('those of a dead node close, and nobody reads all of them as changed', async () => {
      const { database } = place
      const [user, dead] = [nextUser++, { id: 'dead', lease: 7 }]
      await node(dead.id, dead.lease).open(opening(user, 1, 600), () => false)
      await sql`update sessions set changed_at = changed_at - ${60_000} where node_id = ${dead.id}`.execute(
        database.writer,
      )
      const { now } = await database.read((db) => store.changedSince(db, 0))
      expect(await database.statement((tx) => store.closeEnded(tx, dead, 100))).toBe(1)
      expect(await database.read((db) => store.figures(db, dead))).toEqual({ count: 0, sum: 0n })
      const { rows } = await database.read((db) => store.changedSince(db, now - 6_000))
      expect(rows.filter(({ userId }) => userId === user)).toEqual([])
    })
  },
)
