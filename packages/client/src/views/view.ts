import type { View } from '../api.js'
import { Listeners } from '../lib/listeners.js'
import { type Hub, memoized } from './hub.js'

/** A view that also changes for other reasons than the state, such as loaded messages. */
export interface OwnView<T> extends View<T> {
  /** Computes again, and notifies listeners of another value. */
  refresh(): void
}

/** Parts of every view. */
interface ViewOptions<T> {
  /** The value of a client that knows nothing yet, as a server renders it. */
  readonly initial: T
  /** Runs with the first listener, after a computation; what it returns runs after the last one. */
  readonly start?: () => () => void
}

/**
 * Makes a view of the state. It computes when it is read or has listeners, and at most once for
 * each change of the state.
 * @param options.compute returns the former value when nothing has changed
 */
export function createView<T>(
  hub: Hub,
  { initial, compute, start }: ViewOptions<T> & { readonly compute: (former: T | undefined) => T },
): OwnView<T> {
  const listeners = new Listeners<void>(hub.report)
  let computedAt = -1
  let value: T | undefined
  let stop: (() => void) | undefined

  const getSnapshot = (): T => {
    if (computedAt !== hub.version) {
      // Before the computation, since that may lead back here.
      computedAt = hub.version
      value = compute(value)
    }
    return value as T
  }
  const check = () => {
    const former = value
    if (getSnapshot() !== former) listeners.notify()
  }
  return {
    getSnapshot,
    getServerSnapshot: () => initial,
    subscribe(run) {
      if (listeners.size === 0) {
        getSnapshot()
        const end = start?.()
        const unwatch = hub.watch(check)
        stop = () => {
          unwatch()
          end?.()
        }
      }
      const remove = listeners.add(run)
      return () => {
        if (remove() && listeners.size === 0) stop?.()
      }
    },
    refresh() {
      computedAt = -1
      if (listeners.size > 0) check()
    },
  }
}

/**
 * Makes a view of a few parts of the state, which is derived again only when one of them is another
 * object.
 */
export function deriveView<const Inputs extends readonly unknown[], T>(
  hub: Hub,
  {
    inputs,
    derive,
    ...options
  }: ViewOptions<T> & {
    readonly inputs: () => Inputs
    readonly derive: (...inputs: Inputs) => T
  },
): View<T> {
  const memo = memoized(derive)
  return createView<T>(hub, { ...options, compute: () => memo(...inputs()) })
}
