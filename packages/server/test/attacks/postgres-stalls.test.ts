import {
  descendants,
  isFullRun,
  type PostgresBackend,
  PostgresCluster,
  type ServerProcess,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { expectUnharmed, flood, Honest } from '../support/attack.js'
import {
  becomesReady,
  FaultSubject,
  shortStatements,
  statementSeconds,
} from '../support/database/fault-subject.js'
import { StallingProxy } from '../support/database/stalling-proxy.js'

const postgres = testBackends().find(
  (backend): backend is PostgresBackend => backend.name === 'postgres',
)
const timeoutMs = 120_000
const patienceMs = 30_000
/** The time limit of statements, with a margin. */
const answerMs = (statementSeconds + 3) * 1_000
const soonMs = 1_500
const checked = { HERMOD_CHECK_ANSWERS: 'on' }
const env = { ...checked, ...shortStatements }
const connections = 30

describe.runIf(postgres)('PostgreSQL', () => {
  let cluster: PostgresCluster

  beforeAll(async () => {
    // Of its own in the full run, which halts it.
    cluster = isFullRun
      ? await PostgresCluster.start({ settings: { max_connections: String(connections) } })
      : await (postgres as PostgresBackend).cluster()
  }, timeoutMs)

  afterAll(() => isFullRun && cluster?.[Symbol.asyncDispose]())

  // The quick run has the same claim behind a network that drops packets.
  if (isFullRun)
    test('PostgreSQL halted: calls are refused, /readyz says so within seconds, the same server recovers', {
      timeout: timeoutMs,
    }, async () => {
      await using server = await startServer({ env, database: await cluster.createDatabase() })
      await staysUsable(server, { begin: () => halt(cluster), end: () => resume(cluster) })
    })

  test('PostgreSQL behind a network that drops packets: calls are refused, the same server recovers', {
    timeout: timeoutMs,
  }, async () => {
    await using database = await cluster.createDatabase()
    const { proxy, url } = await StallingProxy.start(database.url)
    await using _ = proxy
    await using server = await startServer({ env, databaseUrl: url })
    await staysUsable(server, { begin: () => proxy.stall(), end: () => proxy.resume() })
  })

  if (isFullRun)
    test('PostgreSQL halted: a flood of sends keeps memory, health checks and log bounded', {
      timeout: timeoutMs,
    }, async () => {
      const database = await cluster.createDatabase()
      await using server = await startServer({ env: shortStatements, database })
      const honest = await Honest.on(server)
      halt(cluster)
      try {
        await becomesReady(server, false)
        const linesBefore = server.output().split('\n').length
        const startedAt = performance.now()
        expectUnharmed(
          await honest.watching('sends to a PostgreSQL that is halted', async () => {
            const content = 'x'.repeat(32_768)
            // The first statements wait for seconds; the refusals at once come after them.
            const codes = await flood({ ms: (statementSeconds + 2) * 1_000, lines: 200 }, () =>
              honest.send(content),
            )
            expect([...codes.keys()]).toEqual([answerCode.storage_failed])
            // At once, and not when a statement has had its time: then there would be two of each line.
            expect(codes.get(answerCode.storage_failed)).toBeGreaterThan(600)
          }),
        )
        const seconds = Math.ceil((performance.now() - startedAt) / 1_000)
        const lines = server.output().split('\n').length - linesBefore
        expect(lines).toBeLessThanOrEqual(2 * seconds + 3)
      } finally {
        resume(cluster)
      }
      await becomesReady(server, true, patienceMs)
      expect((await honest.send('after it')).code).toBe(200)
    })

  if (isFullRun)
    test('PostgreSQL halted: SIGTERM ends the service in order', {
      timeout: timeoutMs,
    }, async () => {
      await using server = await startServer({ env, database: await cluster.createDatabase() })
      await using subject = await FaultSubject.start(server, 'unknown')
      await subject.answers(20)
      halt(cluster)
      try {
        await becomesReady(server, false)
        const startedAt = performance.now()
        const exit = await server.stop()
        expect(exit).toEqual({ code: 0, signal: null })
        expect(performance.now() - startedAt).toBeLessThan(15_000)
      } finally {
        resume(cluster)
      }
    })

  if (isFullRun)
    test('a halted node with locks: other nodes wait for 5 s at most', {
      timeout: timeoutMs,
    }, async () => {
      await using database = await cluster.createDatabase()
      const shared = {
        env: { ...checked, HERMOD_SECRET_KEY: 'k'.repeat(40) },
        databaseUrl: database.url,
      }
      const tokens = { adminToken: `hma_${'a'.repeat(40)}`, operatorToken: `hmo_${'o'.repeat(40)}` }
      await using stalling = await startServer({ ...shared, ...tokens })
      await using other = await startServer({ ...shared, ...tokens })
      const [alice, bob] = [await other.api.newSession(), await other.api.newSession()]
      const sendFrom = (server: ServerProcess) =>
        server.api.as(alice.token).call('POST', '/message/send', {
          body: { content: 'x', content_type: 0, type: 1, targets: [bob.id] },
        })
      await sendFrom(other)
      await haltInTransaction(stalling, () => sendFrom(stalling), database.url)
      const startedAt = performance.now()
      const { status, code } = await sendFrom(other)
      expect({ status, code }).toEqual({ status: 200, code: 200 })
      expect(performance.now() - startedAt).toBeLessThan(5_000)
      stalling.signal('SIGCONT')
      await waitFor(async () => (await sendFrom(stalling)).code === 200, {
        what: 'a send on the node that went on',
        timeoutMs: patienceMs,
      })
    })

  if (isFullRun)
    test('PostgreSQL without a free connection: calls are refused with one log line a second, then served', {
      timeout: timeoutMs,
    }, async () => {
      await using database = await cluster.createDatabase()
      await using server = await startServer({ env, databaseUrl: database.url })
      const session = await server.api.newSession()
      const taken = await takeAllConnections(database.url)
      // PostgreSQL does not list a connection that is still starting, so one look is not enough.
      let emptyLooks = 0
      await waitFor(
        async () => {
          const ended = await endConnectionsOf('hermod', taken[0] as pg.Client)
          emptyLooks = ended === 0 ? emptyLooks + 1 : 0
          if (emptyLooks === 2) return true
          taken.push(...(await takeAllConnections(database.url)))
          return false
        },
        { what: 'the end of the connections of the service', timeoutMs: patienceMs, everyMs: 100 },
      )
      const linesBefore = server.output().split('\n').length
      const startedAt = performance.now()
      let refused = 0
      while (performance.now() - startedAt < 3_000 || refused <= 200) {
        const answers = await Promise.all(
          Array.from({ length: 50 }, () =>
            server.api.as(session.token).call('GET', '/user/profile'),
          ),
        )
        for (const { status, code, headers } of answers) {
          expect({ status, code }).toEqual({ status: 503, code: answerCode.storage_failed })
          expect(Number(headers['retry-after'])).toBeGreaterThan(0)
          refused++
        }
      }
      const lines = server.output().split('\n').slice(linesBefore)
      const seconds = Math.ceil((performance.now() - startedAt) / 1_000)
      expect(lines.filter((line) => line.includes('has failed')).length).toBeGreaterThan(0)
      expect(lines.length).toBeLessThanOrEqual(2 * seconds + 3)
      expect(lines.filter((line) => line.includes('"stack"'))).toEqual([])
      await Promise.all(taken.map((client) => client.end()))
      await waitFor(
        async () => (await server.api.as(session.token).call('GET', '/user/profile')).code === 200,
        {
          what: 'an answer',
          timeoutMs: patienceMs,
        },
      )
    })
})

/** What callers see while PostgreSQL answers nobody, and after it. */
async function staysUsable(
  server: ServerProcess,
  stall: { readonly begin: () => void; readonly end: () => void },
): Promise<void> {
  await using subject = await FaultSubject.start(server, 'unknown')
  await subject.answers(20)
  stall.begin()
  try {
    await becomesReady(server, false)
    // Those that were under way, and those that come now.
    await subject.failures(1)
    const first = await timed(() => server.api.newSession().catch((error: unknown) => error))
    expect(first).toBeLessThan(answerMs)
    await subject.refusesEverything()
    const names = ['a', 'b', 'c'].map((name) => `${name}_of_the_stall`)
    for (const username of names) {
      const body = { username, password: 'correct horse' }
      const startedAt = performance.now()
      const { status, code, headers } = await server.api.call('POST', '/user/register/v2', { body })
      expect({ status, code }).toEqual({ status: 503, code: answerCode.storage_failed })
      expect(Number(headers['retry-after'])).toBeGreaterThan(0)
      expect(performance.now() - startedAt).toBeLessThan(soonMs)
    }
    expect((await fetch(`${server.url}/livez`)).status).toBe(200)
  } finally {
    stall.end()
  }
  await becomesReady(server, true, 10_000)
  await subject.goesOn()
  await subject.survivesKill()
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

function pidsOf(cluster: PostgresCluster): number[] {
  return [cluster.postmasterPid, ...descendants(cluster.postmasterPid)]
}

function halt(cluster: PostgresCluster): void {
  for (const pid of pidsOf(cluster)) process.kill(pid, 'SIGSTOP')
}

function resume(cluster: PostgresCluster): void {
  for (const pid of pidsOf(cluster)) process.kill(pid, 'SIGCONT')
}

/**
 * Halts a node again and again until that meets it in the middle of a transaction for which another
 * one of it waits.
 */
async function haltInTransaction(
  node: ServerProcess,
  act: () => Promise<unknown>,
  url: string,
): Promise<void> {
  await using watcher = await connected(url)
  let isDone = false
  const acting = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (!isDone) await act().catch(() => {})
    }),
  )
  await waitFor(
    async () => {
      node.signal('SIGSTOP')
      const { rows } = await watcher.client.query<{ held: boolean; waiting: boolean }>(
        `select bool_or(state = 'idle in transaction' and backend_xid is not null) as held,
            bool_or(state = 'active' and wait_event_type = 'Lock') as waiting
          from pg_stat_activity where application_name = 'hermod' and datname = current_database()`,
      )
      if (rows[0]?.held && rows[0].waiting) return true
      node.signal('SIGCONT')
      return false
    },
    { what: 'a halt in a transaction for which another one waits', timeoutMs: patienceMs },
  )
  isDone = true
  void acting
}

async function connected(url: string): Promise<{ client: pg.Client } & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  return { client, [Symbol.asyncDispose]: () => client.end() }
}

async function takeAllConnections(url: string): Promise<pg.Client[]> {
  const clients: pg.Client[] = []
  try {
    for (;;) clients.push((await connected(url)).client)
  } catch {
    return clients
  }
}

/** @returns how many there were */
async function endConnectionsOf(name: string, client: pg.Client): Promise<number> {
  const { rowCount } = await client.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1',
    [name],
  )
  return rowCount ?? 0
}
