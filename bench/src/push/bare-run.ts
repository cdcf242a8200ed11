/** Baseline of an HTTP client alone, which repeats requests that the service has made. */
import { once } from 'node:events'
import { type ClientHttp2Session, connect } from 'node:http2'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request as sendRequest } from 'undici'

/** A request as the gateway received it. */
export interface BareRequest {
  readonly path: string
  /** Without the headers that clients add. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** One run of the bare client. */
export interface BareOrder {
  /** The gateway's origin. */
  readonly url: string
  /** PEM of the gateway's authority. */
  readonly ca: string
  readonly isHttp2: boolean
  /** Sent in turn. */
  readonly requests: readonly BareRequest[]
  readonly atOnce: number
  readonly connections: number
  /** Time without measurement. */
  readonly warmUpMs: number
  readonly measureMs: number
}

/** Figures of the measured time. */
export interface BareResult {
  readonly requests: number
  readonly seconds: number
  /** User and system time of the process. */
  readonly cpuMs: number
}

/** @returns the status of an answer that was read to its end */
type Send = (request: BareRequest) => Promise<number>

interface Client {
  readonly send: Send
  close(): Promise<void>
}

/** @throws Error when an answer is not 200 */
export async function runBare(order: BareOrder): Promise<BareResult> {
  const client = order.isHttp2 ? await openHttp2(order) : openHttp1(order)
  let sent = 0
  let answered = 0
  let isOver = false
  const worker = async () => {
    while (!isOver) {
      const request = order.requests[sent++ % order.requests.length] as BareRequest
      const status = await client.send(request)
      if (status !== 200) throw new Error(`${request.path} was answered with ${status}`)
      answered++
    }
  }
  const workers = Promise.all(Array.from({ length: order.atOnce }, worker))
  await Promise.race([sleep(order.warmUpMs), workers])
  const [startedAt, startedCpu, before] = [performance.now(), process.cpuUsage(), answered]
  await Promise.race([sleep(order.measureMs), workers])
  const { user, system } = process.cpuUsage(startedCpu)
  const result = {
    requests: answered - before,
    seconds: (performance.now() - startedAt) / 1000,
    cpuMs: (user + system) / 1000,
  }
  isOver = true
  await workers
  await client.close()
  return result
}

function openHttp1({ url, ca, connections }: BareOrder): Client {
  const dispatcher = new Agent({ connections, pipelining: 1, connect: { ca } })
  return {
    async send({ path, headers, body }) {
      const answer = await sendRequest(url + path, { dispatcher, method: 'POST', headers, body })
      await answer.body.text()
      return answer.statusCode
    },
    close: () => dispatcher.close(),
  }
}

async function openHttp2({ url, ca, connections }: BareOrder): Promise<Client> {
  const sessions = Array.from({ length: connections }, () => connect(url, { ca }))
  await Promise.all(sessions.map((session) => once(session, 'remoteSettings')))
  let turn = 0
  return {
    send: (request) => sendHttp2(sessions[turn++ % connections] as ClientHttp2Session, request),
    async close() {
      await Promise.all(
        sessions.map((session) => new Promise<void>((resolve) => session.close(resolve))),
      )
    },
  }
}

function sendHttp2(
  session: ClientHttp2Session,
  { path, headers, body }: BareRequest,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': 'POST', ':path': path, ...headers })
    let status = 0
    stream.on('response', (head) => {
      status = head[':status'] ?? 0
    })
    stream.on('error', reject)
    stream.on('close', () => resolve(status))
    stream.resume()
    stream.end(body)
  })
}
