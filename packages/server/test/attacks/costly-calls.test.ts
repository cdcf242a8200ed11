/**
 * Calls that cost much: they take from their user's limit what they cost, and delay nobody else
 * (rules A2a, A2b).
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import {
  type Answer,
  type Api,
  anyBackend,
  type Backend,
  isFullRun,
  type ServerProcess,
  type Session,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import {
  attackMs,
  behindProxy,
  defaultLimits,
  expectUnharmed,
  flood,
  fromAttacker,
  Honest,
  startAttacked,
} from '../support/attack.js'
import { WatchedServer } from '../support/watched-server.js'

const limited = { env: { HERMOD_CHECK_ANSWERS: 'on', HERMOD_RATE_LIMIT: 'on' } }
/** Registered by Admin token, in lists, so that a test has many of them soon. */
const usersPerList = 250
/** Existing users among the 10,000 entries of a look-up. */
const knownUsers = isFullRun ? 2_500 : 500
const mebibyte = 1_048_576

function together(count: number, call: (index: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => call(index)))
}

async function importUsers(
  api: Api,
  appId: string,
  token: string,
  count: number,
): Promise<number[]> {
  const ids: number[] = []
  for (let start = 0; start < count; start += usersPerList) {
    const users = Array.from({ length: Math.min(usersPerList, count - start) }, (_, index) => ({
      username: `crowd_${start + index}`,
      nick_name: `Somebody with number ${start + index} and a long name`,
    }))
    const { data } = await api
      .as(token)
      .succeed('POST', '/operator/v1/user/import', { body: { app_id: appId, users } })
    for (const { user_id: id } of data) ids.push(id)
  }
  return ids
}

function send(user: Session, targets: readonly number[], content: string): Promise<Answer> {
  const body = { targets, type: 1, content_type: 0, content }
  return user.api.call('POST', '/message/send', { body })
}

/** What has been written so far: by the service to its files, or by PostgreSQL to its log. */
async function writtenBytes({ server, sql, databaseUrl }: WatchedServer): Promise<number> {
  if (databaseUrl === undefined)
    return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${server.pid}/io`, 'utf8'))?.[1])
  const [row] = await sql.run("select pg_current_wal_lsn() - '0/0'::pg_lsn as bytes")
  return Number(row?.bytes)
}

/** Refused as A2a has it; @returns the seconds to wait */
function requireRefusal({ status, code, headers }: Answer): number {
  expect([status, code]).toEqual([200, answerCode.too_many_requests])
  expect(headers['retry-after']).toMatch(/^[1-9]\d*$/)
  return Number(headers['retry-after'])
}

function bounds(backend: Backend): void {
  describe('default limits', () => {
    let server: ServerProcess
    beforeAll(async () => {
      server = await backend.startServer(limited)
    })
    afterAll(() => server?.[Symbol.asyncDispose]())

    it('a send to many targets: charges the sender for each copy and its bytes', async () => {
      const admin = server.api.admin()
      const [alice, bob] = [await admin.newSession(), await admin.newSession()]
      const ids = await importUsers(server.api, server.appId, server.operatorToken, 100)
      const big = 'x'.repeat(64_000)
      // 100 copies of 16 tokens each, of which 200 are there.
      expect((await send(alice, ids, big)).code).toBe(200)
      for (const answer of await together(20, () => send(alice, ids, big)))
        expect(requireRefusal(answer)).toBeGreaterThan(8)
      expect(requireRefusal(await alice.api.call('GET', '/user/profile'))).toBeGreaterThan(8)
      expect((await send(bob, ids, 'a word')).code).toBe(200)
      expect((await bob.api.call('GET', '/user/profile')).code).toBe(200)
      const asAlice = server.api.admin({ userId: alice.id })
      const body = { targets: ids, type: 1, content_type: 0, content: big }
      for (let count = 0; count < 3; count++)
        expect((await asAlice.call('POST', '/message/send', { body })).code).toBe(200)
    })

    it('a refused send: charges for its targets only', async () => {
      const alice = await server.api.admin().newSession()
      const unknown = Array.from({ length: 20 }, (_, index) => index + 1)
      const answer = await send(alice, unknown, 'x'.repeat(64_000))
      expect(answer.code).toBe(answerCode.user_not_found)
      expect((await alice.api.call('GET', '/user/profile')).code).toBe(200)
    })
  })

  describe('a small limit', () => {
    let server: ServerProcess
    beforeAll(async () => {
      server = await backend.startServer({
        env: { ...limited.env, HERMOD_USER_RATE: '1', HERMOD_USER_BURST: '20' },
      })
    })
    afterAll(() => server?.[Symbol.asyncDispose]())

    it('a page of history: charges for its bytes', async () => {
      const admin = server.api.admin()
      const [alice, bob] = [await admin.newSession(), await admin.newSession()]
      const write = server.api.admin({ userId: bob.id })
      for (let count = 0; count < 8; count++)
        await write.succeed('POST', '/message/send', {
          body: { targets: [alice.id], type: 1, content_type: 0, content: 'x'.repeat(60_000) },
        })
      const read = (limit: number) =>
        alice.api.call('GET', '/message/conversation', {
          query: { opposite_id: bob.id, limit, msg_id_start: 0 },
        })
      // Some 480 KB, which are 29 tokens.
      expect((await read(8)).code).toBe(200)
      expect(requireRefusal(await read(1))).toBeGreaterThanOrEqual(5)
    })

    it('a list: charges for its entries', async () => {
      const alice = await server.api.admin().newSession()
      const list = Array.from({ length: 10_000 }, (_, index) => index + 1)
      const lookUp = () => alice.api.call('POST', '/roster/list', { body: { list } })
      expect((await lookUp()).code).toBe(200)
      expect(requireRefusal(await lookUp())).toBeGreaterThan(60)
    })
  })

  it('calls of one user at once: are bounded', async () => {
    await using server = await backend.startServer({
      env: {
        ...limited.env,
        HERMOD_USER_CALLS: '4',
        HERMOD_USER_RATE: '1000000',
        HERMOD_USER_BURST: '1000000',
      },
    })
    const admin = server.api.admin()
    const [alice, bob] = [await admin.newSession(), await admin.newSession()]
    const answers = await together(60, (index) => send(alice, [bob.id], `message ${index}`))
    const refused = answers.filter(({ code }) => code !== 200)
    expect(answers.length - refused.length).toBeGreaterThanOrEqual(4)
    expect(refused.length).toBeGreaterThan(0)
    for (const answer of refused) {
      requireRefusal(answer)
      expect(answer.envelope.message).toBe('too many requests: 4 are under way')
    }
    expect((await send(bob, [alice.id], 'a word')).code).toBe(200)
    expect((await send(alice, [bob.id], 'a word')).code).toBe(200)
  })

  it('large look-ups: run in chunks with other calls between them', async () => {
    await using server = await backend.startServer({ env: { HERMOD_CHECK_ANSWERS: 'off' } })
    const { api } = server
    const [alice, bob] = [await api.newSession(), await api.newSession()]
    const ids = await importUsers(api, server.appId, server.operatorToken, knownUsers)
    const list = [...ids, ...Array.from({ length: 10_000 - knownUsers }, (_, index) => -1 - index)]
    const lookUp = () => alice.api.call('POST', '/roster/list', { body: { list } })
    let finished = 0
    let between = 0
    const lookUps = together(8, async () => {
      const answer = await lookUp()
      finished++
      return answer
    })
    while (finished < 8) {
      expect((await bob.api.call('GET', '/user/profile')).code).toBe(200)
      if (finished < 8) between++
    }
    // 8 look-ups have 40 pieces each; with each in one piece one call would come between two of them.
    expect(between).toBeGreaterThan(10)
    for (const { data } of await lookUps) expect(data).toHaveLength(knownUsers)
    expect((await lookUp()).data.at(-1)).toMatchObject({ user_id: ids.at(-1) })
  })
}

function attacks(backend: Backend): void {
  it.skipIf(process.platform !== 'linux')(
    '64 KiB to 500 users as fast as allowed: other callers are served and the disk does not fill',
    async () => {
      const env = { ...defaultLimits, ...behindProxy, HERMOD_CHECK_ANSWERS: 'off' }
      await using watched = await WatchedServer.start(backend, { env })
      const { server, api } = watched
      const honest = await Honest.on(server)
      const alice = await api.newSession()
      const ids = await importUsers(api, server.appId, server.operatorToken, 500)
      // No database makes it smaller.
      const content = randomBytes(48_000).toString('base64')
      const before = await writtenBytes(watched)
      const body = { targets: ids, type: 1, content_type: 0, content }
      const call = () => alice.api.call('POST', '/message/send', { body, ...fromAttacker })
      const attack = () => flood({ ms: isFullRun ? 20_000 : attackMs, lines: 8 }, call)
      expectUnharmed(await honest.beside(`64 KiB to 500 others (${backend.name})`, attack))
      const written = (await writtenBytes(watched)) - before
      if (process.env.HERMOD_SHOW_FIGURES === '1') console.info({ writtenMiB: written / mebibyte })
      expect(written).toBeLessThan(400 * mebibyte)
    },
  )

  if (isFullRun)
    it('repeated look-ups of 10,000 entries by 10 users: other callers are served', async () => {
      await using server = await startAttacked({ env: behindProxy }, backend)
      const { api } = server
      const honest = await Honest.on(server)
      const users = await Promise.all(Array.from({ length: 10 }, () => api.newSession()))
      const bob = await api.newSession()
      const ids = await importUsers(api, server.appId, server.operatorToken, knownUsers)
      const list = [
        ...ids,
        ...Array.from({ length: 10_000 - knownUsers }, (_, index) => -1 - index),
      ]
      const lookUp = (line: number) =>
        (users[line % users.length] as Session).api.call('POST', '/roster/list', {
          body: { list },
          ...fromAttacker,
        })
      const attack = async () => {
        const codes = await flood({ ms: attackMs, lines: 40 }, lookUp)
        expect(codes.get(answerCode.ok)).toBeGreaterThanOrEqual(users.length)
      }
      const reads = () => bob.api.call('GET', '/user/profile')
      const figures = await honest.beside(`look-ups (${backend.name})`, attack, { reads })
      expectUnharmed(figures)
    })
}

// The service counts and divides calls, whatever the database is.
for (const backend of anyBackend()) {
  describe(`bounds of costly calls on ${backend.name}`, () => bounds(backend))
  if (isFullRun) describe(`costly calls on ${backend.name}`, () => attacks(backend))
}
