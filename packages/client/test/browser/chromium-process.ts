import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Child, waitFor } from '@hermod/testkit'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'

const args = [
  '--headless=new',
  '--remote-debugging-port=0',
  // Root has no sandbox.
  '--no-sandbox',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // http is a secure context on localhost, not on this host.
  '--host-resolver-rules=MAP chat.test 127.0.0.1',
]

/**
 * Chromium with a profile on disk and tabs in one window: only the newest one is visible. A browser that
 * Playwright starts shows every tab as visible, and a visible tab cannot be frozen.
 */
export class ChromiumProcess implements AsyncDisposable {
  private constructor(
    private readonly child: Child,
    private readonly profile: string,
    readonly browser: Browser,
  ) {}

  static async start(path: string): Promise<ChromiumProcess> {
    const profile = mkdtempSync(join(tmpdir(), 'hermod-chromium-'))
    const child = new Child([path, ...args, `--user-data-dir=${profile}`, 'about:blank'])
    try {
      const address = await waitFor(
        () =>
          /DevTools listening on (\S+)/.exec(child.output())?.[1] ?? (child.exit ? '' : undefined),
        { what: 'the debugging port of Chromium', timeoutMs: 30_000 },
      )
      if (address === '') throw new Error(`Chromium has ended: ${child.output()}`)
      const browser = await chromium.connectOverCDP(String(address), { noDefaults: true })
      return new ChromiumProcess(child, profile, browser)
    } catch (error) {
      child.killTree()
      rmSync(profile, { recursive: true, force: true })
      throw error
    }
  }

  /** The window of the profile. */
  get context(): BrowserContext {
    const [context] = this.browser.contexts()
    if (!context) throw new Error('Chromium has no window')
    return context
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close()
    this.child.killTree()
    await this.child.exited
    // Processes of the browser may still write for a moment.
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
}
