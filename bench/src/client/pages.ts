/** Chromium with the benchmark's page. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { bundlePage } from './bundles.js'
import type { BenchPage, PageOptions } from './page.js'

type Method = keyof BenchPage

const callLimitMs = 120_000
const html =
  '<!doctype html><meta charset="utf-8"><ul id="list"></ul><ul id="messages"></ul><script type="module" src="/page.js"></script>'

/** Shows a frame and says when, without a client. */
const bare = `<!doctype html><meta charset="utf-8"><p>bare</p><script type="module">
const shown = new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(performance.now()))))
globalThis.bench = { firstScreenMs: () => shown }
</script>`

/** Chromium, with a site that serves the page of the bench. */
export class BenchPages implements AsyncDisposable {
  readonly version: string
  readonly #browser: Browser
  readonly #site: Server

  private constructor(browser: Browser, site: Server) {
    this.#browser = browser
    this.#site = site
    this.version = browser.version()
  }

  static async start(executablePath: string): Promise<BenchPages> {
    const script = await bundlePage()
    const site = createServer(({ url }, response) => {
      const [type, body] =
        url === '/page.js'
          ? ['text/javascript', script]
          : ['text/html', url === '/bare' ? bare : html]
      response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(body)
    })
    site.listen(0, '127.0.0.1')
    await once(site, 'listening')
    // Root has no sandbox.
    const args = ['--no-sandbox', '--disable-dev-shm-usage']
    return new BenchPages(await chromium.launch({ executablePath, args }), site)
  }

  /** A new profile, without anything stored. */
  newProfile(): Promise<BrowserContext> {
    return this.#browser.newContext()
  }

  /** @param screen makes the page show its first screen at once; `bare`: a page without a client */
  async open(profile: BrowserContext, screen?: PageOptions | 'bare'): Promise<OpenPage> {
    const page = await profile.newPage()
    // localhost is a secure context, as https is.
    const address = `http://localhost:${(this.#site.address() as AddressInfo).port}/`
    const rest =
      screen === 'bare' ? screen : screen ? `#${encodeURIComponent(JSON.stringify(screen))}` : ''
    await page.goto(address + rest)
    return new OpenPage(page)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close()
    this.#site.closeAllConnections()
    this.#site.close()
  }
}

/** An open page of the bench. */
export class OpenPage {
  readonly #page: Page

  constructor(page: Page) {
    this.#page = page
  }

  /** Calls a function of the page. @throws Error when it takes minutes */
  call<Name extends Method>(
    name: Name,
    ...args: Parameters<BenchPage[Name]>
  ): Promise<Awaited<ReturnType<BenchPage[Name]>>> {
    const called = this.#page.evaluate<Awaited<ReturnType<BenchPage[Name]>>>(
      `bench.${name}(...${JSON.stringify(args)})`,
    )
    return Promise.race([called, this.#expiry(name)])
  }

  async #expiry(name: string): Promise<never> {
    await sleep(callLimitMs, undefined, { ref: false })
    throw new Error(`${name} of the page has not ended after ${callLimitMs} ms`)
  }

  /** Bytes of JavaScript that are in use after a garbage collection. */
  async heapBytes(): Promise<number> {
    const devtools = await this.#page.context().newCDPSession(this.#page)
    await devtools.send('HeapProfiler.enable')
    await devtools.send('HeapProfiler.collectGarbage')
    const { usedSize } = await devtools.send('Runtime.getHeapUsage')
    await devtools.detach()
    return usedSize
  }

  async close(): Promise<void> {
    await this.#page.close()
  }
}
