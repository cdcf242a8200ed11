import type { Tabs } from '../ports/tabs.js'

/** Returns the tabs of a client that shares nothing: it always leads. */
export function soloTabs(): Tabs {
  return {
    isShared: false,
    lead: async () => ({ lost: new Promise<void>(() => {}), release() {} }),
    post() {},
    listen: () => () => {},
    isVisible: () => true,
    watch: () => () => {},
    close() {},
  }
}
