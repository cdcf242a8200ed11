/**
 * What the tabs of a browser profile share: a lock, a channel and a store. Each tab can be frozen,
 * and can end without a word.
 */
import { type Store, StoreError, type StoreFailure } from '../../../src/ports/store.js'
import type { Leadership, TabChange, Tabs } from '../../../src/ports/tabs.js'
import type { Surroundings } from '../device.js'
import { VirtualStore } from '../virtual-store.js'

/** The event loop of a tab. */
export class TabLoop {
  #isEnded = false
  #isFrozen = false
  #waiting: (() => void)[] = []

  get isEnded(): boolean {
    return this.#isEnded
  }

  get isFrozen(): boolean {
    return this.#isFrozen
  }

  /** Runs now, when the tab is thawed, or never. */
  run(task: () => void): void {
    if (this.#isEnded) return
    if (this.#isFrozen) this.#waiting.push(task)
    else task()
  }

  freeze(): void {
    this.#isFrozen = true
  }

  thaw(): void {
    this.#isFrozen = false
    for (const task of this.#waiting.splice(0)) this.run(task)
  }

  end(): void {
    this.#isEnded = true
  }
}

interface Request {
  readonly loop: TabLoop
  readonly grant: () => void
  readonly lose: () => void
}

interface Member {
  readonly loop: TabLoop
  readonly listeners: Set<(message: unknown) => void>
  arrivesAt: number
}

function raise(failure: StoreFailure | undefined): void {
  if (failure) throw new StoreError(failure)
}

export class VirtualBrowser {
  readonly store = new VirtualStore()
  slowMs = 0
  #guid: string | undefined
  #holder: Request | undefined
  #queue: Request[] = []
  readonly #members = new Set<Member>()

  constructor(private readonly world: Surroundings) {}

  /** Ends what a tab holds, as the browser does when its process is gone. */
  forget(loop: TabLoop): void {
    for (const member of this.#members) if (member.loop === loop) this.#members.delete(member)
    this.#queue = this.#queue.filter((each) => each.loop !== loop)
    if (this.#holder?.loop === loop) this.#grantNext()
  }

  storeOf(loop: TabLoop): Store {
    const { store } = this
    const call = <T>(work: () => T) => this.#later(loop, work)
    return {
      load: () => call(() => store.load()),
      messages: (query) => call(() => store.read(query)),
      lead: () => call(() => ({ generation: store.lead(), commit: store.meta?.commit ?? 0 })),
      check: (generation) => call(() => raise(store.check(generation))),
      apply: (batch, generation) => call(() => raise(store.apply(batch, generation))),
      deviceGuid: () =>
        call(() => {
          this.#guid ??= 'browser'
          return this.#guid
        }),
      close() {},
      destroy: async () => {},
    }
  }

  tabsOf(
    loop: TabLoop,
    isVisible: () => boolean,
    watchers: Set<(change: TabChange) => void>,
  ): Tabs {
    const member: Member = { loop, listeners: new Set(), arrivesAt: 0 }
    this.#members.add(member)
    return {
      isShared: true,
      lead: ({ steal, signal }) => this.#lead(loop, steal, signal),
      post: (message) => this.#post(member, message),
      listen(listener) {
        member.listeners.add(listener)
        return () => member.listeners.delete(listener)
      },
      isVisible,
      watch(listener) {
        watchers.add(listener)
        return () => watchers.delete(listener)
      },
      close: () => this.#members.delete(member),
    }
  }

  /** A transaction that has begun is done, also when its tab is frozen or gone. */
  #later<T>(loop: TabLoop, work: () => T): Promise<T> {
    const { agenda, random } = this.world
    return new Promise((resolve, reject) => {
      const ms = random.integer(0, this.slowMs > 0 ? this.slowMs : 4)
      agenda.after(ms, () => {
        if (loop.isEnded && random.chance(0.5)) return
        try {
          const value = work()
          loop.run(() => resolve(value))
        } catch (error) {
          loop.run(() => reject(error))
        }
      })
    })
  }

  #lead(loop: TabLoop, steal: boolean, signal: AbortSignal): Promise<Leadership> {
    return new Promise((resolve, reject) => {
      let lose = () => {}
      const lost = new Promise<void>((resolveLost) => {
        lose = () => loop.run(resolveLost)
      })
      const release = () => {
        if (this.#holder === request) this.#grantNext()
      }
      const grant = () =>
        loop.run(() => {
          resolve({ lost, release })
          if (signal.aborted) release()
        })
      const request: Request = { loop, grant, lose }
      if (steal) {
        this.#holder?.lose()
        this.#holder = request
        grant()
        return
      }
      signal.addEventListener('abort', () => {
        this.#queue = this.#queue.filter((each) => each !== request)
        reject(new Error('aborted'))
      })
      this.#queue.push(request)
      if (!this.#holder) this.#grantNext()
    })
  }

  #grantNext(): void {
    this.#holder = this.#queue.shift()
    this.#holder?.grant()
  }

  #post(sender: Member, message: unknown): void {
    const { agenda, random } = this.world
    for (const member of this.#members) {
      if (member === sender || !this.#members.has(sender)) continue
      const copy = structuredClone(message)
      member.arrivesAt = Math.max(member.arrivesAt, agenda.now + random.integer(0, 3))
      agenda.after(member.arrivesAt - agenda.now, () =>
        member.loop.run(() => {
          for (const listener of member.listeners) listener(copy)
        }),
      )
    }
  }
}
