import type { Leadership, TabChange, Tabs } from '../ports/tabs.js'

/** A worker has no document: it counts as visible, since the user may see a page that uses it. */
const page = globalThis as Partial<typeof globalThis>
const isVisible = () => (page.document?.visibilityState ?? 'visible') === 'visible'

/**
 * Returns the tabs of a browser that share a name: the holder of a Web Lock leads, and a
 * BroadcastChannel connects them. Needs a secure context.
 */
export function webLockTabs(name: string): Tabs {
  const channel = new BroadcastChannel(name)
  const ends: (() => void)[] = []
  let isClosed = false
  return {
    isShared: true,
    lead: ({ steal, signal }) => holdLock(name, steal, signal),
    post(message) {
      // A closed channel throws.
      if (!isClosed) channel.postMessage(message)
    },
    listen(listener) {
      const heard = ({ data }: MessageEvent<unknown>) => listener(data)
      channel.addEventListener('message', heard)
      return () => channel.removeEventListener('message', heard)
    },
    isVisible,
    watch(listener) {
      const end = watchPage(listener)
      ends.push(end)
      return end
    },
    close() {
      isClosed = true
      // The page outlives its client: it must not wake a closed one.
      for (const end of ends) end()
      channel.close()
    },
  }
}

/** Requests the lock once and holds it: the promise of its callback is pending until the release. */
function holdLock(name: string, steal: boolean, signal: AbortSignal): Promise<Leadership> {
  return new Promise((resolve, reject) => {
    let lose = () => {}
    const lost = new Promise<void>((resolveLost) => {
      lose = resolveLost
    })
    const hold = () =>
      new Promise<void>((release) => {
        resolve({ lost, release })
        if (signal.aborted) release()
      })
    // A request that steals takes no signal.
    const options = steal ? { steal } : { signal }
    // The request of a stolen lock rejects, though its callback still runs.
    navigator.locks.request(name, options, hold).catch((error: unknown) => {
      lose()
      reject(error)
    })
  })
}

/**
 * `freeze` comes before the browser stops a hidden tab; `pagehide` before it leaves the page, maybe
 * to come back.
 */
function watchPage(listener: (change: TabChange) => void): () => void {
  const shown = () => {
    if (isVisible()) listener('visible')
  }
  const suspended = () => listener('suspended')
  const resumed = () => listener('resumed')
  const { document } = page
  const kinds: readonly (readonly [EventTarget | undefined, string, () => void])[] = [
    [document, 'visibilitychange', shown],
    [document, 'freeze', suspended],
    [document, 'resume', resumed],
    [globalThis, 'pagehide', suspended],
    [globalThis, 'pageshow', resumed],
  ]
  for (const [target, kind, run] of kinds) target?.addEventListener(kind, run)
  return () => {
    for (const [target, kind, run] of kinds) target?.removeEventListener(kind, run)
  }
}
