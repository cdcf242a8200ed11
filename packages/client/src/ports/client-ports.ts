import type { platforms } from '../model/words.js'
import type { Clock } from './clock.js'
import type { OpenStore, StoreName } from './store.js'
import type { Tabs } from './tabs.js'
import type { Connect, Upload, Wakeups } from './transport.js'

/** Everything that a client needs of its environment: the browser, Node, or a test. */
export interface ClientPorts {
  readonly clock: Clock
  readonly connect: Connect
  /** False: no connection can be opened here, now or later. Absent: it can. */
  readonly canConnect?: () => boolean
  readonly upload: Upload
  readonly wakeups: Wakeups
  /**
   * Opens the durable store; absent: there is none, and everything is in memory. Browsers have one
   * only together with Web Locks, which let one tab at a time write it.
   */
  readonly openStore?: OpenStore
  /** Returns the tabs that share the store of a user. */
  readonly openTabs: (name: StoreName) => Tabs
  /** The platform of the device, unless the options name another one. */
  readonly platform: (typeof platforms)[number]
}
