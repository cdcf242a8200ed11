/** A server, a page with the client, and the wire between them, which tests cut. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { type ServerProcess, type Session, startServer, waitFor } from '@hermod/testkit'
import type { BrowserContext, Page } from 'playwright-core'
import { type OutputChunk, rolldown } from 'rolldown'

/** Bounds each wait for a state of a page. */
export const patience = { timeoutMs: 20_000 }

/** The state of the client in a page. */
export interface PageView {
  readonly texts: readonly string[]
  /** Texts that the server has not confirmed. */
  readonly waiting: readonly string[]
  readonly state: string
  readonly isDurable: boolean
  /** Open WebSockets of the page. */
  readonly sockets: number
  readonly errors: readonly string[]
}

/** A user with a page, and the other user, who has HTTP only. */
export interface Pair {
  readonly alice: Session
  readonly bob: Session
}

export class Lab implements AsyncDisposable {
  private constructor(
    readonly server: ServerProcess,
    readonly wire: Wire,
    private readonly site: HttpServer,
  ) {}

  static async start(): Promise<Lab> {
    const [server, script] = await Promise.all([startServer(), bundleClient()])
    const html = readFileSync(join(import.meta.dirname, 'page.html'))
    const site = createHttpServer(({ url }, response) => {
      const [type, body] = url === '/client.js' ? ['javascript', script] : ['html', html]
      response.writeHead(200, { 'content-type': `text/${type}; charset=utf-8` }).end(body)
    })
    site.listen(0, '127.0.0.1')
    await once(site, 'listening')
    return new Lab(server, await Wire.start(Number(new URL(server.url).port)), site)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.site.closeAllConnections()
    this.site.close()
    this.wire.close()
    await this.server[Symbol.asyncDispose]()
  }

  /** The address of the page: http is a secure context on localhost only. */
  pageUrl(host = 'localhost'): string {
    return `http://${host}:${(this.site.address() as AddressInfo).port}/`
  }

  async newPair(): Promise<Pair> {
    const { api } = this.server
    return { alice: await api.newSession(), bob: await api.newSession() }
  }

  /** Opens a page of Alice with a client, and waits until it is current. */
  async open(context: BrowserContext, pair: Pair, host?: string): Promise<Page> {
    const page = await context.newPage()
    await page.goto(this.pageUrl(host))
    await this.startClient(page, pair, host)
    await until(page, 'is current', ({ state }) => state === 'online')
    return page
  }

  async startClient(page: Page, pair: Pair, host = '127.0.0.1'): Promise<void> {
    await run(page, 'start', { ...this.#options(pair, host), peer: pair.bob.id })
  }

  /** Starts a client in a worker of a page. @returns its state once it is connected, or why it is not */
  async connectWorker(page: Page, pair: Pair): Promise<unknown> {
    const { token, ...options } = this.#options(pair, '127.0.0.1')
    const program = `
      import { createClient } from '${this.pageUrl()}client.js'
      const client = createClient({ ...${JSON.stringify(options)}, token: () => '${token}' })
      await client.connect().catch(postMessage)
      const { state } = client.connection.getSnapshot()
      postMessage({ state, isDurable: client.isDurable.getSnapshot() })`
    return page.evaluate(`new Promise((resolve) => {
      const program = new Blob([${JSON.stringify(program)}], { type: 'text/javascript' })
      const worker = new Worker(URL.createObjectURL(program), { type: 'module' })
      worker.onmessage = ({ data }) => resolve(data)
      worker.onerror = ({ message }) => resolve(message)
    })`)
  }

  #options({ alice }: Pair, host: string) {
    const url = `http://${host}:${this.wire.port}`
    return { url, appId: this.server.appId, userId: alice.id, token: alice.token }
  }

  /** Bob writes to Alice over HTTP. */
  async bobSends({ alice, bob }: Pair, content: string): Promise<void> {
    const body = { type: 1, content_type: 0, targets: [alice.id], content }
    await bob.api.succeed('POST', '/message/send', { body })
  }

  /** The texts of the conversation as the server answers them, oldest first. */
  async stored({ alice, bob }: Pair): Promise<readonly string[]> {
    const [low, high] = [alice.id, bob.id].toSorted((a, b) => a - b)
    const log = { low_id: low, high_id: high, is_group: false }
    const { data } = await bob.api.succeed('POST', '/message/history', {
      body: { log, limit: 100 },
    })
    return (data.messages as { readonly content: string }[]).map(({ content }) => content).reverse()
  }

  /** Waits until pages show the same messages as the server, confirmed ones only. */
  async untilEqual(pair: Pair, pages: readonly Page[], texts: readonly string[]): Promise<void> {
    for (const page of pages)
      await until(
        page,
        `shows ${texts.length} messages`,
        (view) => view.waiting.length === 0 && JSON.stringify(view.texts) === JSON.stringify(texts),
      )
    const stored = await this.stored(pair)
    if (JSON.stringify(stored) !== JSON.stringify(texts))
      throw new Error(`the server has ${JSON.stringify(stored)}`)
  }
}

/** Calls a function of the page. */
export function run<T = unknown>(page: Page, name: string, ...parameters: unknown[]): Promise<T> {
  return page.evaluate(`${name}(...${JSON.stringify(parameters)})`)
}

export function viewOf(page: Page): Promise<PageView> {
  return run<PageView>(page, 'view')
}

/** Waits for a state of the client in a page. */
export async function until(
  page: Page,
  what: string,
  isReached: (view: PageView) => boolean,
): Promise<PageView> {
  let last: PageView | undefined
  try {
    return await waitFor(
      async () => {
        last = await viewOf(page)
        return isReached(last) && last
      },
      { what, ...patience },
    )
  } catch (error) {
    throw new Error(`the page shows ${JSON.stringify(last)}`, { cause: error })
  }
}

/** The pages that have the connection. */
export async function connected(pages: readonly Page[]): Promise<readonly Page[]> {
  const views = await Promise.all(pages.map((page) => viewOf(page)))
  return pages.filter((_, index) => views[index]?.sockets === 1)
}

/** A way to the server that can be cut, as by a lost network. */
class Wire {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #isCut = false

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(target: number): Promise<Wire> {
    const server = createServer()
    const wire = new Wire(server)
    server.on('connection', (socket) => wire.#join(socket, target))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return wire
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  cut(): void {
    this.#isCut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  restore(): void {
    this.#isCut = false
  }

  close(): void {
    this.cut()
    this.#server.close()
  }

  #join(socket: Socket, target: number): void {
    if (this.#isCut) {
      socket.destroy()
      return
    }
    const upstream = connect(target, '127.0.0.1')
    const ends = [socket, upstream] as const
    for (const end of ends) {
      this.#sockets.add(end)
      end.on('error', () => {})
      end.on('close', () => {
        this.#sockets.delete(end)
        for (const each of ends) each.destroy()
      })
    }
    socket.pipe(upstream).pipe(socket)
  }
}

/** The entry for browsers as one file. */
async function bundleClient(): Promise<string> {
  const input = join(import.meta.dirname, '../../dist/index.js')
  const build = await rolldown({ input, platform: 'browser', logLevel: 'warn' })
  const { output } = await build.generate({ format: 'esm' })
  await build.close()
  return (output[0] as OutputChunk).code
}
