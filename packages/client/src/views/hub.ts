import type { ClientOptions } from '../api.js'
import { Listeners } from '../lib/listeners.js'
import { reporterOf } from '../lib/reporter.js'
import type { Batch } from '../model/batch.js'
import { isDraft } from '../model/draft-key.js'
import type { Session, StateChange } from '../sessions/session.js'

/** The state of a session for all views of a client, with what several of them derive from it. */
export interface Hub {
  readonly session: Session
  /** Grows with each change, so that views compute once for each. */
  readonly version: number
  /** Grows with each change of a cached read. */
  readonly cacheVersion: number
  /** The own user; 0: not known yet. */
  readonly me: number
  /** True: nothing more comes until the app connects again. */
  readonly isEnded: boolean
  /** Listens to changes, after the version has grown. @returns ends the listening */
  watch(listener: (change: StateChange) => void): () => void
  /** Reports errors of listeners of the app. */
  report(error: unknown): void
}

/** Follows a session, with one subscription. */
export function createHub(
  session: Session,
  options: Pick<ClientOptions, 'userId' | 'onError'>,
): Hub {
  const report = reporterOf(options)
  const listeners = new Listeners<StateChange>(report)
  let version = 0
  let cacheVersion = 0
  session.subscribe((change) => {
    version++
    if (change.type === 'reload' || (change.type === 'batch' && hasCachedReads(change.batch)))
      cacheVersion++
    listeners.notify(change)
  })
  return {
    session,
    get version() {
      return version
    },
    get cacheVersion() {
      return cacheVersion
    },
    get me() {
      const { live, meta } = session.state
      return live.userId || meta.userId || options.userId || 0
    },
    get isEnded() {
      return session.state.live.connection.state === 'ended'
    },
    watch: (listener) => listeners.add(listener),
    report,
  }
}

function hasCachedReads({ cached, isReset }: Batch): boolean {
  return isReset || cached.some(({ key }) => !isDraft(key))
}

/** Returns a function that derives a value again only when one of its inputs is another object. */
export function memoized<const Inputs extends readonly unknown[], T>(
  derive: (...inputs: Inputs) => T,
): (...inputs: Inputs) => T {
  let last: { readonly inputs: Inputs; readonly value: T } | undefined
  return (...inputs) => {
    if (last === undefined || !isSameList(last.inputs, inputs))
      last = { inputs, value: derive(...inputs) }
    return last.value
  }
}

/** Tests whether two lists have identical elements. */
export function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((each, index) => Object.is(each, b[index]))
}

/** Returns the former list when it has the same elements, so that views do not change. */
export function shareList<T>(former: readonly T[] | undefined, next: readonly T[]): readonly T[] {
  return former !== undefined && isSameList(former, next) ? former : next
}

/** Returns the former object when all its members are identical. */
export function shareObject<T extends object>(former: T | undefined, next: T): T {
  if (former === undefined) return next
  const keys = Object.keys(next) as (keyof T)[]
  const isSame =
    keys.length === Object.keys(former).length &&
    keys.every((key) => Object.is(former[key], next[key]))
  return isSame ? former : next
}
