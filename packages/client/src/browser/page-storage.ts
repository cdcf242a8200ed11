import type { ClientPorts } from '../ports/client-ports.js'
import type { Clock } from '../ports/clock.js'
import { databaseName, indexedDbStores } from '../stores/indexed-db-store.js'
import { soloTabs } from '../tabs/solo-tabs.js'
import { webLockTabs } from '../tabs/web-lock-tabs.js'

/**
 * Returns the store of a page and its tabs. Without Web Locks, which browsers have in secure contexts
 * only, nothing elects the tab that writes: then there is no store, and each tab is alone.
 */
export function pageStorage(clock: Clock): Pick<ClientPorts, 'openStore' | 'openTabs'> {
  const { indexedDB, navigator, BroadcastChannel: channel } = globalThis
  if (!indexedDB || !channel || !navigator.locks) return { openTabs: soloTabs }
  return {
    openStore: indexedDbStores(clock),
    openTabs: (name) => webLockTabs(databaseName(name)),
  }
}
