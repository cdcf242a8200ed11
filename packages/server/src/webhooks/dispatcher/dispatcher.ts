import { createHash } from 'node:crypto'
import type { Endpoint } from '../../domain/webhooks/endpoints/endpoint-model.js'
import { Lease } from '../../lib/concurrency/lease.js'
import { Slots } from '../../lib/concurrency/slots.js'
import { groupBy } from '../../lib/group-by.js'
import type { OutboxStore } from '../../outbox/outbox-store.js'
import type { Leases } from '../../outbox/relay.js'
import { AppRun, type AppRunOptions } from './app-run.js'
import { EndpointRun, type EndpointRunOptions } from './endpoint-run.js'

export interface DispatcherOptions
  extends Omit<EndpointRunOptions, 'drained' | 'isServed'>,
    Omit<AppRunOptions, 'catchUps' | 'outbox'> {
  readonly outbox: Pick<OutboxStore, 'head' | 'heads' | 'listAfter'>
  readonly leases: Leases
  /** Names this node among those that share the database. */
  readonly node: string
  readonly pollMs?: number
  readonly leaseMs?: number
}

const shardCount = 16
const maxCatchUps = 8

/** The applications of one shard, which one node at a time serves. */
interface Shard {
  readonly lease: Lease
  readonly apps: Map<string, AppRun>
}

/**
 * Sends events to the endpoints of webhooks. Applications fall into shards; the node with the lease of
 * a shard serves its applications. It is woken by commits, and looks each second.
 */
export class Dispatcher {
  readonly #shards: readonly Shard[]
  readonly #catchUps = new Slots({
    parallel: maxCatchUps,
    maxWaiting: Number.POSITIVE_INFINITY,
    full: () => new Error('too many endpoints catch up'),
  })
  #endpoints: ReadonlyMap<string, readonly Endpoint[]> = new Map()
  #version = ''
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | null = null
  #isStopped = false

  constructor(private readonly options: DispatcherOptions) {
    const { leases, node, leaseMs = 10_000 } = options
    this.#shards = Array.from({ length: shardCount }, (_, index) => {
      const name = `webhooks/${index}`
      return {
        apps: new Map(),
        lease: new Lease({
          ttlMs: leaseMs,
          acquire: (ttlMs) => leases.acquire(name, node, ttlMs),
          release: () => leases.release(name, node),
        }),
      }
    })
  }

  async start(): Promise<void> {
    await this.poll()
    this.#timer = setInterval(() => void this.poll(), this.options.pollMs ?? 1_000)
    this.#timer.unref()
  }

  /** Sends what was appended for an app. */
  wake(appId: string): void {
    this.#shardOf(appId).apps.get(appId)?.run()
  }

  /** Looks for changed endpoints, leases and events that no wake announced, and stores progress. */
  poll(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = null
    })
    return this.#polling
  }

  /** Ends requests in flight, stores progress, and gives the leases back. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#timer)
    await this.#polling
    for (const shard of this.#shards) {
      const runs = [...shard.apps.values()]
      await Promise.all(runs.map((run) => run.stop()))
      await Promise.all(runs.map((run) => this.#save(run)))
      await shard.lease.release()
    }
  }

  async #poll(): Promise<void> {
    if (this.#isStopped) return
    try {
      await this.#loadEndpoints()
      const byShard = groupBy([...this.#endpoints.keys()], (appId) => this.#shardOf(appId))
      for (const shard of this.#shards) await this.#pollShard(shard, byShard.get(shard) ?? [])
      await this.#runApps()
    } catch (error) {
      this.options.observer.failed('', error)
    }
  }

  /** Reads all endpoints when one has changed. */
  async #loadEndpoints(): Promise<void> {
    const { database, endpoints } = this.options
    const version = await database.read((db) => endpoints.version(db))
    if (version === this.#version) return
    const all = await database.read((db) => endpoints.listAll(db))
    const enabled = all.filter(({ isEnabled }) => isEnabled)
    this.#endpoints = groupBy(enabled, ({ appId }) => appId)
    this.#version = version
  }

  async #pollShard({ lease, apps }: Shard, wanted: readonly string[]): Promise<void> {
    const isHeld = wanted.length > 0 && (await lease.take())
    for (const [appId, run] of apps)
      if (!isHeld || !wanted.includes(appId)) {
        apps.delete(appId)
        await run.stop()
      }
    if (!isHeld) return lease.release()
    for (const appId of wanted) {
      const run = apps.get(appId) ?? this.#newApp(appId)
      apps.set(appId, run)
      await this.#openEndpoints(run)
    }
  }

  #newApp(appId: string): AppRun {
    return new AppRun(appId, { ...this.options, catchUps: this.#catchUps })
  }

  /** Starts endpoints that are new or changed, and stops those that are gone. */
  async #openEndpoints({ appId, runs }: AppRun): Promise<void> {
    const wanted = new Map(
      this.#endpoints.get(appId)?.map((each) => [Number(each.endpointId), each]),
    )
    for (const [id, run] of runs)
      if (run.runner.isStopped || wanted.get(id)?.updatedAt !== run.endpoint.updatedAt) {
        runs.delete(id)
        run.stop()
        await run.save()
      }
    for (const [id, { appId, endpointId }] of wanted) {
      if (runs.has(id)) continue
      const { database, endpoints } = this.options
      // The position is that of the last run, which may be newer than the list.
      const endpoint = await database.read((db) => endpoints.find(db, { appId, endpointId }))
      if (!endpoint?.isEnabled) continue
      const drained = (id: string) => this.wake(id)
      const isServed = (id: string) => this.#shardOf(id).lease.isHeld
      runs.set(id, await EndpointRun.open(endpoint, { ...this.options, drained, isServed }))
    }
  }

  /** Wakes the apps with something to do, and stores their progress. */
  async #runApps(): Promise<void> {
    const { database, outbox } = this.options
    if (this.#endpoints.size === 0) return
    const heads = await database.read((db) => outbox.heads(db))
    for (const { apps } of this.#shards)
      for (const [appId, run] of apps) {
        const head = heads.get(appId) ?? 0
        if ([...run.runs.values()].some((each) => each.hasWork(head))) run.run()
        await this.#save(run)
      }
  }

  async #save({ appId, runs }: AppRun): Promise<void> {
    try {
      for (const run of runs.values()) await run.save()
    } catch (error) {
      this.options.observer.failed(appId, error)
    }
  }

  #shardOf(appId: string): Shard {
    const index = createHash('sha256').update(appId).digest().readUInt16BE(0) % shardCount
    return this.#shards[index] as Shard
  }
}
