import { groupBy } from '../lib/group-by.js'
import type { ThisNode } from './node.js'
import type { ShareStore } from './share-store.js'
import type { RunningShares, Share, ShareKind } from './shares.js'

interface LiveSharesOptions {
  readonly node: Pick<ThisNode, 'lease' | 'isLive' | 'isDraining'>
  readonly store: Pick<ShareStore, 'view' | 'take' | 'release'>
  readonly failed: (error: unknown) => void
  readonly pollMs?: number
  /** Time between two shares of a kind that are given back. */
  readonly giveBackMs?: number
}

/** A work that this node can run. */
interface Work {
  readonly kind: ShareKind
  readonly name: string
  readonly end: () => Promise<void>
  state: 'free' | 'held' | 'ending'
  /** The lease under which it was taken last. */
  lease: number
}

/**
 * The shares of one of several nodes. Once a second it looks who holds what: it takes free shares
 * while it holds fewer than an even part of their kind, and gives one back each 5 s while it holds
 * more. A share is given back when its work has ended.
 */
export class LiveShares implements RunningShares {
  readonly #works: Work[] = []
  /** By kind the time from which another share may be given back. */
  readonly #giveBackFrom = new Map<ShareKind, number>()
  readonly #ending = new Set<Promise<void>>()
  #polling: Promise<void> | null = null
  #timer: NodeJS.Timeout | undefined

  constructor(private readonly options: LiveSharesOptions) {}

  add(kind: ShareKind, name: string, end: () => Promise<void>): Share {
    const work: Work = { kind, name, end, state: 'free', lease: 0 }
    this.#works.push(work)
    const isOwn = () => work.state !== 'free' && this.#isValid(work)
    return {
      get isHeld() {
        return work.state === 'held' && isOwn()
      },
      get isOwn() {
        return isOwn()
      },
    }
  }

  /** The number of held shares of each kind. */
  get counts(): ReadonlyMap<ShareKind, number> {
    const counts = new Map(this.#works.map(({ kind }) => [kind, 0]))
    for (const { kind, state } of this.#works)
      if (state !== 'free') counts.set(kind, (counts.get(kind) ?? 0) + 1)
    return counts
  }

  async start(): Promise<void> {
    await this.poll()
    this.#timer = setInterval(() => void this.poll(), this.options.pollMs ?? 1_000)
    this.#timer.unref()
  }

  /** Gives all shares back. The caller has ended their work. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#polling
    await Promise.all(this.#ending)
    for (const work of this.#works) work.state = 'free'
    const { node, store } = this.options
    // Those that stay are free when the node has left.
    await store.release(node.lease).catch(() => {})
  }

  /** Ends work without a valid lease, and looks what to take and to give back. */
  poll(): Promise<void> {
    // Not behind a read that the database does not answer.
    for (const work of this.#works)
      if (work.state === 'held' && !this.#isValid(work)) this.#end(work)
    this.#polling ??= this.#poll()
      .catch(this.options.failed)
      .finally(() => {
        this.#polling = null
      })
    return this.#polling
  }

  #isValid(work: Work): boolean {
    const { node } = this.options
    return node.isLive && node.lease === work.lease
  }

  async #poll(): Promise<void> {
    const { node, store } = this.options
    const { lease } = node
    if (!node.isLive) return
    // What ends during the read may not be as it was read.
    const idle = new Set(this.#works.filter(({ state }) => state === 'free'))
    const { nodes, shares } = await store.view()
    const live = new Set(nodes.map((each) => each.lease))
    if (!live.has(lease)) return
    const holders = new Map(shares.map((each) => [keyOf(each), each.lease]))
    const takers = nodes.filter(({ isDraining }) => !isDraining).length
    const wanted: Work[] = []
    for (const [kind, works] of groupBy(this.#works, ({ kind }) => kind)) {
      const even = node.isDraining ? 0 : Math.ceil(works.length / Math.max(1, takers))
      // Work that had to end while the database was away.
      for (const work of works)
        if (idle.has(work) && holders.get(keyOf(work)) === lease) hold(work, lease)
      const held = works.filter(({ state }) => state !== 'free')
      const free = works.filter(
        (work) => idle.has(work) && !live.has(holders.get(keyOf(work)) ?? 0),
      )
      wanted.push(...free.slice(0, Math.max(0, even - held.length)))
      this.#giveBack(kind, held, even)
    }
    const dead = [...new Set(holders.values())].filter((each) => !live.has(each))
    const taken = new Set((await store.take(lease, wanted, dead)).map(keyOf))
    for (const work of wanted) if (taken.has(keyOf(work))) hold(work, lease)
  }

  /** Gives one share back, or all of them when the node leaves. */
  #giveBack(kind: ShareKind, held: readonly Work[], even: number): void {
    const { node, giveBackMs = 5_000 } = this.options
    const now = performance.now()
    if (held.length <= even || held.some(({ state }) => state === 'ending')) return
    if (!node.isDraining && now < (this.#giveBackFrom.get(kind) ?? 0)) return
    this.#giveBackFrom.set(kind, now + giveBackMs)
    for (const work of node.isDraining ? held : held.slice(-1)) this.#end(work)
  }

  /** Ends a work, then gives its share back if the lease is still valid. */
  #end(work: Work): void {
    const { store, failed } = this.options
    work.state = 'ending'
    const isReturned = this.#isValid(work)
    const ending = work
      .end()
      .then(() => (isReturned ? store.release(work.lease, work) : undefined))
      .catch(failed)
      .finally(() => {
        work.state = 'free'
        this.#ending.delete(ending)
      })
    this.#ending.add(ending)
  }
}

function hold(work: Work, lease: number): void {
  work.state = 'held'
  work.lease = lease
}

function keyOf({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind}/${name}`
}
