/** A real server with users, groups and apps, random work on it, and what goes wrong between them. */
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
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
import { makeBackup } from '../../../server/test/support/backup/backups.js'
import { aGroup, groupCall } from '../../../server/test/support/groups/groups.js'
import { callHermod } from '../../../server/test/support/hermod-command.js'
import type { Random } from '../../../server/test/support/random.js'
import type { DataPlace } from '../../../server/test/support/database/sql.js'
import { DataBackup } from '../../../server/test/support/realtime/data-backup.js'
import { RandomWork } from '../../../server/test/support/realtime/random-work.js'
import type { Client } from '../../src/api.js'
import { App } from './app.js'

/** What an app is made with. */
export interface AppSetup {
  readonly url: string
  readonly appId: string
  readonly token: string
  readonly userId: number
  readonly deviceGuid: string | null
}

export interface AppPlaygroundOptions {
  readonly backend: Backend
  readonly random: Random
  readonly users: number
  readonly groups: number
  readonly settings?: Readonly<Record<string, string>>
  /** Ways to make a client: each user has an app of each. */
  readonly apps: Readonly<Record<string, (setup: AppSetup) => Client>>
  /** Tells all apps that the network is back, so that none waits for the end of its back-off. */
  readonly wake?: () => void
}

/** Apps that were cut again and again wait for up to half a minute before they connect. */
const patienceMs = 90_000

export class AppPlayground implements AsyncDisposable {
  readonly apps: App[] = []
  readonly people: Session[] = []
  readonly groups: number[] = []
  readonly faults = new Map<string, number>()
  readonly work: RandomWork
  #observer: Session | undefined
  #backup: DataBackup | undefined
  #texts = 0

  private constructor(
    /** The process that runs now. */
    public server: ServerProcess,
    private readonly database: BackendDatabase,
    private readonly options: AppPlaygroundOptions,
  ) {
    const admin = () => this.server.api.admin()
    const { random } = options
    this.work = new RandomWork({ random, people: [], groups: this.groups, admin })
  }

  static async start(options: AppPlaygroundOptions): Promise<AppPlayground> {
    const database = await options.backend.createDatabase()
    const { url: databaseUrl } = database
    const { settings: env = {} } = options
    const server = await startServer({ env, ...(databaseUrl !== undefined && { databaseUrl }) })
    const playground = new AppPlayground(server, database, options)
    await playground.#fill()
    return playground
  }

  /** Where the server keeps its data. */
  get place(): DataPlace {
    return { dataDir: this.server.dataDir, databaseUrl: this.database.url }
  }

  /** A caller whose token belongs to no device. */
  apiOf(userId: number): Api {
    const { token } = this.people.find(({ id }) => id === userId) as Session
    return this.server.api.as(token)
  }

  /** Makes a group of the first of the people and some others. */
  async addGroup(more: object = {}): Promise<void> {
    const [owner, ...others] = this.people as [Session, ...Session[]]
    const isMember = () => this.options.random.chance(0.6)
    const api = this.apiOf(owner.id)
    const group = await aGroup({ api }, { more })
    // One who blocks the owner does not become a member.
    const user_list = [this.#observer as Session, ...others.filter(isMember)].map(({ id }) => id)
    await groupCall(api, '/group/admin/member_join', group, { user_list })
    this.groups.push(group)
  }

  /** Works at random for some time, over HTTP and with the apps, and lets `fault` happen. */
  async run(ms: number, fault: () => Promise<unknown>): Promise<void> {
    const end = performance.now() + ms
    const { random } = this.options
    const repeat = async (what: () => Promise<unknown>, pauseMs: number) => {
      while (performance.now() < end) {
        await what()
        await sleep(random.integer(0, pauseMs))
      }
    }
    await Promise.all([
      repeat(() => this.work.step(), 20),
      repeat(() => this.work.step(), 20),
      repeat(() => this.#useApp(), 20),
      repeat(fault, 100),
    ])
  }

  /** One app is cut after any byte. */
  cut(): void {
    this.#count('cuts')
    this.options.random.pick(this.apps).proxy.cutAfter(this.options.random.integer(0, 3_000))
  }

  /** One app has no network for a while. */
  async goOffline(): Promise<void> {
    this.#count('apps offline')
    const { proxy } = this.options.random.pick(this.apps)
    proxy.isAway = true
    proxy.cutAfter(0)
    await sleep(this.options.random.integer(50, 300))
    proxy.isAway = false
  }

  /** One app receives nothing for a while. */
  async pause(): Promise<void> {
    this.#count('paused apps')
    const { proxy } = this.options.random.pick(this.apps)
    proxy.pause(true)
    await sleep(this.options.random.integer(50, 300))
    proxy.pause(false)
  }

  /** One app is closed and opened again on its store. */
  async reopen(): Promise<void> {
    this.#count('reopened apps')
    await this.options.random.pick(this.apps).reopen()
  }

  async halt(): Promise<void> {
    this.#count('stopped processes')
    this.server.signal('SIGSTOP')
    await sleep(this.options.random.integer(50, 300))
    this.server.signal('SIGCONT')
  }

  async kill(): Promise<void> {
    this.#count('kills')
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
    this.#count('restores')
    await this.server.kill9()
    await this.#backup?.restore()
    const settings = {
      HERMOD_DATA_DIR: this.server.dataDir,
      HERMOD_DATABASE_URL: this.database.url,
    }
    const { code, err } = await callHermod(['database', 'new-epoch'], settings)
    if (code !== 0) throw new Error(`no new epoch: ${err}`)
    this.server = await this.server.startAgain()
  }

  /** Makes a backup beside the server. @returns the folder of the backup */
  async backUpInto(target: string): Promise<string> {
    const { folder } = await makeBackup(target, { HERMOD_DATA_DIR: this.server.dataDir })
    return folder
  }

  /** Each app sends a text to each group and to the observer. */
  async sendAll(text: string): Promise<void> {
    for (const app of this.apps)
      for (const peer of [...this.groups, (this.#observer as Session).id])
        await app.send(peer, this.groups.includes(peer), `${app.name} ${text} ${++this.#texts}`)
  }

  /**
   * Loses the server with its data, and restores a backup in their place.
   * @param whileLost what apps do while there is no server
   */
  async restoreBackup(backup: string, whileLost: () => Promise<unknown>): Promise<void> {
    this.#count('restores')
    const { dataDir } = this.server
    await this.server.kill9()
    await whileLost()
    const lost = `${dataDir}-lost`
    await rename(dataDir, lost)
    const key = join(lost, 'secret.key')
    const settings = { HERMOD_DATA_DIR: dataDir }
    for (const args of [
      ['restore', backup, '--to', dataDir, '--key-file', key],
      ['restore', 'finish'],
    ]) {
      const { code, err } = await callHermod(args, settings)
      if (code !== 0) throw new Error(`not restored: ${err}`)
    }
    await rm(lost, { recursive: true })
    this.server = await this.server.startAgain()
  }

  /**
   * Waits until every app shows what the server answers.
   * @returns the differences that stay
   */
  async settle(): Promise<string[]> {
    for (const app of this.apps) {
      app.leaveConversations()
      // Cuts that are still to come would make it wait once more.
      app.proxy.cutAfter(Number.POSITIVE_INFINITY)
    }
    this.options.wake?.()
    let found: string[] = []
    const isSettled = async () => {
      found = []
      for (const app of this.apps)
        found.push(...(await app.differences(this.apiOf(app.userId), this.groups)))
      return found.length === 0
    }
    const patience = { what: 'apps that equal the answers', timeoutMs: patienceMs, everyMs: 100 }
    await waitFor(isSettled, patience).catch(() => {})
    return found
  }

  /** @returns texts of apps that are lost or stored twice */
  async lost(): Promise<string[]> {
    const observer = this.server.api.as((this.#observer as Session).token)
    const found: string[] = []
    for (const app of this.apps) found.push(...(await app.lost(observer, this.groups)))
    return found
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.apps.map((app) => app[Symbol.asyncDispose]()))
    await this.server[Symbol.asyncDispose]()
    await this.database[Symbol.asyncDispose]()
    await this.#backup?.[Symbol.asyncDispose]()
  }

  #count(fault: string): void {
    this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1)
  }

  async #useApp(): Promise<void> {
    const { random } = this.options
    const app = random.pick(this.apps)
    const isGroup = random.chance(0.5)
    const peer = isGroup ? random.pick(this.groups) : (this.#observer as Session).id
    const action = random.next()
    // An app that is being closed refuses.
    if (action < 0.6) await app.send(peer, isGroup, `${app.name} ${++this.#texts}`).catch(() => {})
    else if (action < 0.8) await app.read(peer, isGroup).catch(() => {})
    else app.show(peer, isGroup)
  }

  async #fill(): Promise<void> {
    const { users, groups, apps } = this.options
    this.#observer = await this.server.api.newSession()
    for (let index = 0; index < users; index++) this.people.push(await this.server.api.newSession())
    for (let index = 0; index < groups; index++) await this.addGroup()
    this.work.people.push(...this.people.map(({ id }) => ({ id, api: () => this.apiOf(id) })))
    for (const person of this.people)
      for (const [name, create] of Object.entries(apps)) {
        const { token } = await this.server.api.sessionOf(person)
        const { appId } = this.server
        this.apps.push(
          await App.start({
            name: `${name} of ${person.id}`,
            userId: person.id,
            isDurable: name !== 'memory',
            port: () => Number(new URL(this.server.url).port),
            create: (url) =>
              create({ url, appId, token, userId: person.id, deviceGuid: `${name}` }),
          }),
        )
      }
  }
}
