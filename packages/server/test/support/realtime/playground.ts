/** A real server with users, groups and clients that keep stores, and what goes wrong between them. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Api,
  type Backend,
  type BackendDatabase,
  type ServerProcess,
  type Session,
  startServer,
  waitFor,
} from '@hermod/testkit'
import { aGroup, expectSuccess, groupCall } from '../groups/groups.js'
import { runHermod } from '../hermod-command.js'
import { deleteConversation, textTo } from '../messaging/messaging.js'
import type { Random } from '../random.js'
import { DataBackup } from './data-backup.js'
import { RandomWork } from './random-work.js'
import { StoreClient } from './store-client.js'
import { differences, readStale, type Surroundings, unnoticedChanges } from './store-comparison.js'

export interface PlaygroundOptions {
  readonly backend: Backend
  readonly random: Random
  readonly users: number
  readonly groups: number
  /** Newest messages that a list brings of each log. */
  readonly window: number
}

const patienceMs = 20_000
/** Together more than the buffers of a connection. */
const [floodMessages, floodChars] = [800, 60_000]

export class Playground implements AsyncDisposable {
  readonly clients: StoreClient[] = []
  readonly people: Session[] = []
  readonly groups: number[] = []
  readonly work: RandomWork
  readonly faults = new Map<string, number>()
  #backup: DataBackup | undefined

  private constructor(
    /** The process that runs now. */
    public server: ServerProcess,
    private readonly database: BackendDatabase,
    private readonly options: PlaygroundOptions,
  ) {
    const { random } = options
    this.work = new RandomWork({
      random,
      people: [],
      groups: this.groups,
      admin: () => this.server.api.admin(),
    })
  }

  static async start(options: PlaygroundOptions): Promise<Playground> {
    const database = await options.backend.createDatabase()
    const { url: databaseUrl } = database
    const server = await startServer(databaseUrl === undefined ? {} : { databaseUrl })
    const playground = new Playground(server, database, options)
    await playground.#fill()
    return playground
  }

  get about(): Surroundings {
    return { userIds: this.people.map(({ id }) => id), groupIds: this.groups }
  }

  /** A caller for reading, whose token belongs to no device. */
  apiOf(userId: number): Api {
    const { token } = this.people.find(({ id }) => id === userId) as Session
    return this.server.api.as(token)
  }

  /** Calls at random for some time, several at once, and lets `fault` happen meanwhile. */
  async run(ms: number, workers: number, fault: () => Promise<unknown>): Promise<void> {
    const end = performance.now() + ms
    const isOver = () => performance.now() > end
    await Promise.all([
      ...Array.from({ length: workers }, async () => {
        while (!isOver()) {
          await this.work.step()
          await sleep(this.options.random.integer(0, 20))
        }
      }),
      (async () => {
        while (!isOver()) {
          await fault()
          await sleep(this.options.random.integer(10, 100))
        }
      })(),
    ])
  }

  count(fault: string): void {
    this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1)
  }

  /** Cuts one client after any byte. */
  cut(): void {
    this.count('cuts')
    this.options.random.pick(this.clients).cutAfter(this.options.random.integer(0, 3_000))
  }

  /** One client reads nothing for a while. */
  async pause(): Promise<void> {
    this.count('paused readers')
    const client = this.options.random.pick(this.clients)
    client.pause()
    await sleep(this.options.random.integer(50, 300))
    client.resume()
  }

  /**
   * One client reads nothing while more is written to it than sockets hold, so that the server
   * skips it, or ends its connection.
   */
  async flood(): Promise<void> {
    this.count('floods')
    const [sender, ...others] = this.people as [Session, ...Session[]]
    const client = this.clients.find(({ store }) => store.userId === others[0]?.id) as StoreClient
    const { skips, connections } = client.counts
    client.pause()
    const body = textTo([client.store.userId], 'x'.repeat(floodChars))
    const api = this.apiOf(sender.id)
    await this.apiOf(client.store.userId).call('POST', '/roster/unblock', {
      body: { user_id: sender.id },
    })
    for (let sent = 0; sent < floodMessages; sent += 8)
      await Promise.all(
        Array.from({ length: 8 }, () => api.succeed('POST', '/message/send', { body })),
      )
    client.resume()
    const isSkipped = () => {
      if (client.counts.skips > skips) this.count('skipped readers')
      else if (client.counts.connections === connections) return false
      return true
    }
    await waitFor(isSkipped, { what: 'the end of a flood', timeoutMs: patienceMs })
    // So that the comparison does not read it all.
    await deleteConversation(api, client.store.userId)
    await deleteConversation(this.apiOf(client.store.userId), sender.id)
  }

  async halt(): Promise<void> {
    this.count('stopped processes')
    this.server.signal('SIGSTOP')
    await sleep(this.options.random.integer(50, 300))
    this.server.signal('SIGCONT')
  }

  async kill(): Promise<void> {
    this.count('kills')
    await this.server.kill9()
    this.server = await this.server.startAgain()
  }

  /** Copies the data of the server, which restarts. */
  async backUp(): Promise<void> {
    await this.server.stop()
    // The issuer of tokens of the first process is connected to the database; that of the second is not yet.
    this.server = await this.server.startAgain()
    await this.server.stop()
    this.#backup = await DataBackup.make(this.server.dataDir, this.database.url)
    this.server = await this.server.startAgain()
  }

  /** Kills the server, goes back to the copy and begins a new history. */
  async restore(): Promise<void> {
    this.count('restores')
    await this.server.kill9()
    await this.#backup?.restore()
    const settings = {
      HERMOD_DATA_DIR: this.server.dataDir,
      HERMOD_DATABASE_URL: this.database.url,
    }
    const { code, err } = await runHermod(['database', 'new-epoch'], settings)
    if (code !== 0) throw new Error(`no new epoch: ${err}`)
    this.server = await this.server.startAgain()
  }

  /**
   * Waits until every store equals the server's answers.
   * @returns the differences that stay
   */
  async settle(): Promise<string[]> {
    let found: string[] = ['not compared']
    const settled = async () => {
      if (!this.clients.every(({ isIdle }) => isIdle)) {
        found = ['a client is behind']
        return false
      }
      found = []
      for (const client of this.clients) {
        await client.readHeads().catch((error: Error) => found.push(error.message))
        found.push(...(await differences(client.store, this.apiOf(client.store.userId))))
      }
      return found.length === 0
    }
    const patience = { what: 'stores that equal the answers', timeoutMs: patienceMs, everyMs: 100 }
    await waitFor(settled, patience).catch(() => {})
    return [...found, ...this.clients.flatMap(({ wrong }) => wrong)]
  }

  /** @returns changes of other things that a client did not hear of; reads the stale ones */
  async compareThings(): Promise<string[]> {
    const found: string[] = []
    for (const { store } of this.clients) {
      const api = this.apiOf(store.userId)
      found.push(...(await unnoticedChanges(store, api, this.about)))
      await readStale(store, api, this.about)
    }
    return found
  }

  /**
   * Waits until every client comes back without a head: the position of a frame may trail, and what
   * a return has delivered is written a moment later.
   */
  async comeBackWithoutCost(): Promise<void> {
    const isFree = async () => (await this.#comeBack()) === 0
    await waitFor(isFree, { what: 'returns that cost nothing', timeoutMs: patienceMs })
  }

  /** @returns the heads that the return of every client has cost */
  async #comeBack(): Promise<number> {
    const heads = () => this.clients.reduce((sum, { counts }) => sum + counts.heads, 0)
    const [before, connections] = [heads(), this.clients.map(({ counts }) => counts.connections)]
    for (const client of this.clients) client.cutAfter(0)
    for (const client of this.clients) client.leave()
    await waitFor(
      () =>
        this.clients.every(
          ({ isIdle, counts }, index) => isIdle && counts.connections > (connections[index] ?? 0),
        ),
      { what: 'clients that are back', timeoutMs: patienceMs },
    )
    return heads() - before
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.clients.map((client) => client.stop()))
    await this.server[Symbol.asyncDispose]()
    await this.database[Symbol.asyncDispose]()
    await this.#backup?.[Symbol.asyncDispose]()
  }

  async #fill(): Promise<void> {
    const { users, groups, random, window } = this.options
    for (let index = 0; index < users; index++) this.people.push(await this.server.api.newSession())
    const [owner, ...others] = this.people as [Session, ...Session[]]
    for (let index = 0; index < groups; index++) {
      const members = others.filter(() => random.chance(0.6))
      const groupId = await aGroup(owner, { members })
      this.groups.push(groupId)
      const settings = { apply_approval: index % 2 }
      expectSuccess(
        await groupCall(owner.api, '/group/settings/require_admin_approval', groupId, settings),
      )
    }
    this.work.people.push(...this.people.map(({ id }) => ({ id, api: () => this.apiOf(id) })))
    for (const person of this.people)
      for (const deviceGuid of ['a device', undefined]) {
        const { token } = await this.server.api.sessionOf(person)
        const client = new StoreClient({
          url: () => this.server.url,
          appId: this.server.appId,
          token,
          userId: person.id,
          deviceGuid,
          random,
          window,
        })
        this.clients.push(client)
      }
  }
}
