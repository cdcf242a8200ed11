import { crc32 } from 'node:zlib'
import type { Endpoint } from '../../domain/webhooks/endpoints/endpoint-model.js'
import { chunksOf } from '../../lib/chunks.js'
import { Mutex } from '../../lib/concurrency/mutex.js'
import { Slots } from '../../lib/concurrency/slots.js'
import { groupBy } from '../../lib/group-by.js'
import type { Share, Shares } from '../../nodes/shares.js'
import type { OutboxStore } from '../../outbox/outbox-store.js'
import { AppReader, type AppReaderOptions } from './app-reader.js'
import { EndpointWorker, type EndpointWorkerOptions } from './endpoint-worker.js'
import { MemoryBudget } from './memory-budget.js'

export interface DispatcherOptions
  extends Omit<EndpointWorkerOptions, 'drained' | 'isServed' | 'budget'>,
    Omit<AppReaderOptions, 'catchUps' | 'outbox'> {
  readonly outbox: Pick<OutboxStore, 'head' | 'heads' | 'listAfter'>
  readonly shares: Shares
  readonly pollMs?: number
  /** Time in which requests in flight may end when the dispatcher stops. */
  readonly graceMs?: number
}

const shardCount = 16
const maxCatchUps = 8
/** Bytes of the events in memory. Above them an endpoint reads on when it has none left. */
const maxMemoryBytes = 128 * 1024 * 1024
/** Endpoints of one transaction that stores progress. */
const savedTogether = 100

/** The applications of one shard, which one node at a time serves. */
interface Shard {
  readonly share: Share
  /** Enabled endpoints by application. */
  readonly endpoints: Map<string, readonly Endpoint[]>
  readonly apps: Map<string, AppReader>
}

/**
 * Sends events to the endpoints of webhooks. Applications fall into shards; the node with the share of
 * a shard serves its applications. It is woken by commits, and looks each second.
 */
export class Dispatcher {
  readonly #shards: readonly Shard[]
  readonly #catchUps = new Slots({
    parallel: maxCatchUps,
    maxWaiting: Number.POSITIVE_INFINITY,
    full: () => new Error('too many endpoints catch up'),
  })
  readonly #budget = new MemoryBudget(maxMemoryBytes)
  #version = ''
  /** Held while queues are opened and closed. */
  readonly #opening = new Mutex()
  #timer: NodeJS.Timeout | undefined
  #polling: Promise<void> | null = null
  #isStopped = false

  constructor(private readonly options: DispatcherOptions) {
    this.#shards = Array.from({ length: shardCount }, (_, index) => {
      const shard: Shard = {
        endpoints: new Map(),
        apps: new Map(),
        share: options.shares.add('webhooks', `${index}`, () => this.#end(shard)),
      }
      return shard
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

  /**
   * Endpoints of an application have changed. Resolves when their queues act by it, if they are on
   * this node.
   */
  async changed(appId: string): Promise<void> {
    await this.#exclusively(async () => {
      const { database, endpoints } = this.options
      const served = await database.read((db) => endpoints.listServed(db, appId))
      const shard = this.#shardOf(appId)
      if (served.length > 0) shard.endpoints.set(appId, served)
      else shard.endpoints.delete(appId)
      await this.#pollShard(shard)
      const app = shard.apps.get(appId)
      if (app === undefined) return
      app.run()
      await this.#save([...app.workers.values()])
    })
  }

  /** Looks for changed endpoints and shares, and for events that no wake announced, and stores progress. */
  poll(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = null
    })
    return this.#polling
  }

  /** Ends requests in flight and stores progress. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#timer)
    await this.#opening.lock()
    this.#opening.unlock()
    const readers = this.#shards.flatMap(({ apps }) => [...apps.values()])
    await this.#stopReaders(readers, this.options.graceMs)
  }

  /** Ends the work of a shard, whose share is lost or to be given back. */
  async #end({ share, apps }: Shard): Promise<void> {
    const graceMs = share.isOwn ? this.options.graceMs : 0
    // At once, and not behind a poll that waits for the database.
    if (!share.isOwn) await Promise.all([...apps.values()].map((reader) => reader.stop()))
    await this.#opening.run(async () => {
      const readers = [...apps.values()]
      apps.clear()
      await this.#stopReaders(readers, graceMs)
    })
  }

  async #stopReaders(readers: readonly AppReader[], graceMs = 0): Promise<void> {
    await Promise.all(readers.map((reader) => reader.stop(graceMs)))
    await this.#save(readers.flatMap((app) => [...app.workers.values()]))
  }

  #poll(): Promise<void> {
    return this.#exclusively(async () => {
      await this.#loadEndpoints()
      for (const shard of this.#shards) await this.#pollShard(shard)
      await this.#runApps()
    })
  }

  /** Runs work that opens and closes queues. The next poll repeats what failed. */
  #exclusively(work: () => Promise<void>): Promise<void> {
    return this.#opening.run(async () => {
      try {
        if (!this.#isStopped) await work()
      } catch (error) {
        this.options.observer.failed('', error)
      }
    })
  }

  /** Reads all endpoints when one has changed. */
  async #loadEndpoints(): Promise<void> {
    const { database, endpoints } = this.options
    const version = await database.read((db) => endpoints.version(db))
    if (version === this.#version) return
    const served = await database.read((db) => endpoints.listServed(db))
    for (const { endpoints } of this.#shards) endpoints.clear()
    for (const [appId, ofApp] of groupBy(served, ({ appId }) => appId))
      this.#shardOf(appId).endpoints.set(appId, ofApp)
    this.#version = version
  }

  async #pollShard({ share, apps, endpoints }: Shard): Promise<void> {
    if (!share.isHeld) return
    for (const [appId, app] of apps)
      if (!endpoints.has(appId)) {
        apps.delete(appId)
        await app.stop()
        await this.#save([...app.workers.values()])
      }
    for (const [appId, wanted] of endpoints) {
      const app =
        apps.get(appId) ?? new AppReader(appId, { ...this.options, catchUps: this.#catchUps })
      apps.set(appId, app)
      try {
        await this.#openEndpoints(app, wanted)
      } catch (error) {
        // The other applications go on; the next poll tries again.
        this.options.observer.failed(appId, error)
      }
    }
  }

  /** Starts endpoints that are new or changed, and stops those that are gone. */
  async #openEndpoints(
    { appId, workers }: AppReader,
    endpoints: readonly Endpoint[],
  ): Promise<void> {
    const wanted = new Map(endpoints.map((each) => [Number(each.endpointId), each]))
    const ended = [...workers].filter(
      ([id, worker]) =>
        worker.queue.isStopped || wanted.get(id)?.version !== worker.endpoint.version,
    )
    for (const [id] of ended) workers.delete(id)
    await Promise.all(ended.map(([, worker]) => worker.stop()))
    await this.#save(ended.map(([, worker]) => worker))
    if ([...wanted.keys()].every((id) => workers.has(id))) return
    const { database, endpoints: store, waiting } = this.options
    // The positions are those of the last workers, which may be newer than the list.
    const [current, counts] = await database.read((db) =>
      Promise.all([store.list(db, appId), waiting.counts(db, appId)]),
    )
    const drained = (id: string) => this.wake(id)
    const isServed = (id: string) => this.#shardOf(id).share.isOwn
    for (const endpoint of current) {
      const id = Number(endpoint.endpointId)
      if (!endpoint.isEnabled || workers.has(id)) continue
      const stored = counts.has(id) ? await this.#storedEvents(endpoint) : { waiting: [], dead: [] }
      const options = { ...this.options, drained, isServed, budget: this.#budget }
      workers.set(id, new EndpointWorker(endpoint, stored, options))
    }
  }

  async #storedEvents(endpoint: Endpoint) {
    const { database, waiting } = this.options
    const [places, dead] = await database.read((db) =>
      Promise.all([
        waiting.listWaiting(db, endpoint),
        waiting.listDead(db, endpoint, endpoint.position),
      ]),
    )
    return { waiting: places, dead }
  }

  /** Wakes the apps with something to do, and stores their progress. */
  async #runApps(): Promise<void> {
    const { database, outbox } = this.options
    const served = this.#shards.flatMap(({ apps }) => [...apps.values()])
    if (served.length === 0) return
    const heads = await database.read((db) => outbox.heads(db))
    for (const app of served) {
      const head = heads.get(app.appId) ?? 0
      if ([...app.workers.values()].some((each) => each.hasWork(head))) app.run()
    }
    await this.#save(served.flatMap(({ workers }) => [...workers.values()]))
  }

  /** Stores the progress of endpoints that this node still serves. */
  async #save(workers: readonly EndpointWorker[]): Promise<void> {
    const { database, endpoints, observer } = this.options
    const changed = workers.flatMap((worker) => {
      const { progress, endpoint } = worker
      if (progress === null || !this.#shardOf(endpoint.appId).share.isOwn) return []
      return [{ worker, progress, key: endpoint }]
    })
    for (const part of chunksOf(changed, savedTogether))
      try {
        const rows = part.map(({ key, progress }) => ({ key, ...progress }))
        await database.transaction((tx) => endpoints.saveProgress(tx, rows))
        for (const { worker, progress } of part) worker.saved(progress)
      } catch (error) {
        observer.failed('', error)
      }
  }

  #shardOf(appId: string): Shard {
    return this.#shards[crc32(appId) % shardCount] as Shard
  }
}
