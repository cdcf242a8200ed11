/** WebSocket clients that are not ours, behind one interface. */
import { fileURLToPath } from 'node:url'
import { gatewayPath, gatewayProtocol } from '@hermod/protocol/gateway'
import { Child, type GatewayFrame, waitFor } from '@hermod/testkit'
import { WebSocket } from 'undici'

export interface ForeignClient extends Disposable {
  /** The frames so far. */
  readonly frames: readonly GatewayFrame[]
  send(frame: object): void
  /** Sends one text frame in fragments; absent: the library offers no way. */
  sendFragments?(parts: readonly string[]): void
  /** Sends a ping and waits for the pong; absent: the library offers no way. */
  ping?(): Promise<void>
  /** Number of pings of the server; absent: the library answers them out of sight. */
  pings?(): number
  /** Closes with a code, without waiting for the server. */
  close(code: number): void
  /** Resolves when the connection has ended. */
  ended(): Promise<{ code: number; reason: string }>
}

/** Ways to connect to a service, by the names of the libraries. */
export function foreignClients(
  python: string | null,
): Readonly<Record<string, (url: string) => Promise<ForeignClient>>> {
  return {
    "undici's WebSocket": openUndici,
    ...(python !== null && {
      'python3-websockets': (url: string) => PythonClient.open([python, 'websockets'], url),
      'python3-aiohttp': (url: string) => PythonClient.open([python, 'aiohttp'], url),
    }),
  }
}

const patience = { what: 'a report of a foreign client', timeoutMs: 20_000 }

async function openUndici(url: string): Promise<ForeignClient> {
  const socket = new WebSocket(gatewayUrl(url), [gatewayProtocol])
  const frames: GatewayFrame[] = []
  let end: { code: number; reason: string } | undefined
  socket.addEventListener('message', ({ data }) => frames.push(JSON.parse(data)))
  socket.addEventListener('close', ({ code, reason }) => {
    end = { code, reason }
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true })
    socket.addEventListener('error', ({ error }) => reject(error), { once: true })
  })
  return {
    frames,
    send: (frame) => socket.send(JSON.stringify(frame)),
    close: (code) => socket.close(code),
    ended: () => waitFor(() => end, patience),
    [Symbol.dispose]: () => socket.close(),
  }
}

/** A Python program that obeys commands and reports, one JSON object a line. */
class PythonClient implements ForeignClient {
  readonly frames: GatewayFrame[] = []
  readonly sendFragments?: (parts: readonly string[]) => void
  readonly #child: Child
  readonly #reports: Readonly<Record<string, unknown>>[] = []

  private constructor(python: string, library: string, url: string) {
    const script = fileURLToPath(new URL(`./${library}_client.py`, import.meta.url))
    this.#child = new Child([python, script, gatewayUrl(url), gatewayProtocol], {
      takesInput: true,
    })
    this.#child.watch((line) => this.#take(line))
    if (library === 'websockets') this.sendFragments = (fragments) => this.#command({ fragments })
  }

  static async open([python, library]: [string, string], url: string): Promise<PythonClient> {
    const client = new PythonClient(python, library, url)
    await client.#reported('opened')
    return client
  }

  send(frame: object): void {
    this.#command({ send: JSON.stringify(frame) })
  }

  async ping(): Promise<void> {
    this.#command({ ping: true })
    await this.#reported('ponged')
  }

  pings(): number {
    return this.#reports.filter(({ pinged }) => pinged).length
  }

  close(code: number): void {
    this.#command({ close: code })
  }

  async ended(): Promise<{ code: number; reason: string }> {
    const { code, reason } = await this.#reported('code')
    return { code: Number(code), reason: String(reason ?? '') }
  }

  [Symbol.dispose](): void {
    this.#child.killTree()
  }

  #command(command: object): void {
    this.#child.write(JSON.stringify(command))
  }

  #take(line: string): void {
    if (!line.startsWith('{')) return
    const report = JSON.parse(line)
    if (report.frame === undefined) this.#reports.push(report)
    else this.frames.push(JSON.parse(report.frame))
  }

  /** Waits for the first report with a member. */
  #reported(member: string): Promise<Readonly<Record<string, unknown>>> {
    return waitFor(() => {
      const report = this.#reports.find((each) => member in each)
      if (report === undefined && this.#child.exit) throw new Error(this.#child.output())
      return report
    }, patience)
  }
}

function gatewayUrl(url: string): string {
  return url.replace(/^http/, 'ws') + gatewayPath
}
