/** Connects to one of several addresses (RFC 8305). */
import { connect as connectTcp, isIPv6, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'

/** The server of a connection. */
export interface ConnectTarget {
  readonly address: string
  readonly port: number
  /** The name in the certificate; null: without TLS. An address has none. */
  readonly servername: string | null
}

/** Connects to a server. Rejects, and leaves nothing open, when the signal aborts before. */
export type ConnectSocket = (target: ConnectTarget, signal: AbortSignal) => Promise<Socket>

/** The next address is tried after this time. */
const nextMs = 250

/** Connects by TCP, or TLS. */
export const openSocket: ConnectSocket = ({ address, port, servername }, signal) =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const tcp = { host: address, port, noDelay: true }
    const socket =
      servername === null
        ? connectTcp(tcp)
        : connectTls({ ...tcp, servername, ALPNProtocols: ['http/1.1'] })
    const abort = () => socket.destroy(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    const settled = () => signal.removeEventListener('abort', abort)
    // The listener stays: an error between two requests ends the connection, and nothing else.
    socket.on('error', (error) => {
      settled()
      reject(error)
    })
    socket.once(servername === null ? 'connect' : 'secureConnect', () => {
      settled()
      resolve(socket)
    })
  })

/**
 * Returns addresses in the order of attempts: a preferred one, then the families in turn.
 * @param preferred the address that connected last
 */
export function attemptOrder(
  addresses: readonly string[],
  preferred: string | undefined,
): readonly string[] {
  const [first = ''] = addresses
  const isOfFirst = (address: string) => isIPv6(address) === isIPv6(first)
  const [same, other] = [addresses.filter(isOfFirst), addresses.filter((each) => !isOfFirst(each))]
  const inTurn = addresses.flatMap((_, index) => [same[index], other[index]])
  const ordered = inTurn.filter((address) => address !== undefined)
  return preferred !== undefined && ordered.includes(preferred)
    ? [preferred, ...ordered.filter((address) => address !== preferred)]
    : ordered
}

/**
 * Connects to the first address that answers. The next one is tried when one fails, or after 250 ms;
 * the other attempts end.
 *
 * @throws Error of the last address, or the reason of the signal
 */
export async function connectToFirst(
  addresses: readonly string[],
  connect: (address: string, signal: AbortSignal) => Promise<Socket>,
  signal: AbortSignal,
): Promise<Socket> {
  const won = new AbortController()
  const ended = AbortSignal.any([signal, won.signal])
  const attempt = async (address: string, turn: Promise<unknown>) => {
    await turn
    ended.throwIfAborted()
    const socket = await connect(address, ended)
    if (!ended.aborted) {
      won.abort()
      return socket
    }
    socket.destroy()
    throw ended.reason
  }
  let turn: Promise<unknown> = Promise.resolve()
  const attempts = addresses.map((address) => {
    const started = turn
    const connection = attempt(address, started)
    const delay = () => pause(nextMs, undefined, { signal: ended })
    turn = started.then(() => Promise.race([connection, delay()])).catch(() => {})
    return connection
  })
  try {
    return await Promise.any(attempts)
  } catch (error) {
    signal.throwIfAborted()
    throw (error as AggregateError).errors.at(-1)
  }
}
