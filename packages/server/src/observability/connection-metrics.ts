import type { MetricRegistry } from './metric-registry.js'
import type { Counter, Histogram } from './prom-client.js'
import { requestBuckets } from './request-metrics.js'

/** Figures of what the service holds for its clients. */
export interface ConnectionFigures {
  readonly connections: number
  readonly waitingRequests: number
  readonly unreadBytes: number
  readonly bodyBytes: number
}

/** Figures of the gateway, delivery and presence. */
export interface GatewayFigures {
  readonly connections: number
  readonly unopened: number
  readonly waitingCallBytes: number
  readonly sessions: number
  readonly memberships: number
  readonly followedUsers: number
}

/** Connections of HTTP and WebSocket clients, and their bounds. */
export class ConnectionMetrics {
  readonly #closed: Counter<'reason'>
  readonly #refused: Counter<'reason'>
  readonly #frames: Counter
  readonly #gatewayRefusals: Counter<'error'>
  readonly #gatewayOpens: Histogram
  readonly #gatewayCloses: Counter<'code'>
  /** Observes the bounds of connections and requests. */
  readonly bounds = {
    closed: (reason: string) => this.#closed.inc({ reason }),
    refused: (reason: string) => this.#refused.inc({ reason }),
  }
  /** Observes the connections of the gateway. */
  readonly gateway = {
    received: () => this.#frames.inc(),
    refused: (error: string) => this.#gatewayRefusals.inc({ error }),
    opened: (seconds: number) => this.#gatewayOpens.observe(seconds),
    closed: (code: number) => this.#gatewayCloses.inc({ code }),
  }

  constructor(private readonly registry: MetricRegistry) {
    this.#closed = registry.counter(
      'hermod_connections_closed_total',
      'Connections that were closed at a limit, by reason: connections, address_connections, waiting_requests, unread_bytes, unread_stalled, body_stalled.',
      ['reason'],
    )
    this.#refused = registry.counter(
      'hermod_requests_refused_total',
      'Requests that were answered 503 at a limit, by reason: unread_bytes, body_bytes, files.',
      ['reason'],
    )
    this.#frames = registry.counter(
      'hermod_gateway_frames_total',
      'Frames of WebSocket clients, pings and pongs included.',
    )
    this.#gatewayRefusals = registry.counter(
      'hermod_gateway_refused_total',
      'Handshakes and frames of WebSocket clients that were refused before a call began, by the name of the error.',
      ['error'],
    )
    this.#gatewayOpens = registry.histogram(
      'hermod_gateway_open_duration_seconds',
      'Time from the frame session.open to its answer, of sessions that were opened.',
      requestBuckets,
    )
    this.#gatewayCloses = registry.counter(
      'hermod_gateway_closed_total',
      'WebSocket connections that have ended, by close code; 1006: the connection was cut.',
      ['code'],
    )
  }

  /** @param read returns the current figures */
  watch(read: () => ConnectionFigures): void {
    this.registry.readGauges(read, [
      ['hermod_connections', 'Open connections.', ({ connections }) => connections],
      [
        'hermod_waiting_requests',
        'Requests that wait on their connection for the answers before them.',
        ({ waitingRequests }) => waitingRequests,
      ],
      [
        'hermod_unread_answer_bytes',
        'Bytes of answers that clients have not read.',
        ({ unreadBytes }) => unreadBytes,
      ],
      [
        'hermod_arriving_body_bytes',
        'Memory of request bodies in progress.',
        ({ bodyBytes }) => bodyBytes,
      ],
    ])
  }

  /** @param read returns the current figures */
  watchGateway(read: () => GatewayFigures): void {
    this.registry.readGauges(read, [
      [
        'hermod_gateway_connections',
        'Open WebSocket connections.',
        ({ connections }) => connections,
      ],
      [
        'hermod_gateway_unopened_connections',
        'WebSocket connections that have not sent session.open.',
        ({ unopened }) => unopened,
      ],
      ['hermod_gateway_sessions', 'Open sessions.', ({ sessions }) => sessions],
      [
        'hermod_gateway_waiting_call_bytes',
        'Bytes of frames whose calls wait for other calls of their connection.',
        ({ waitingCallBytes }) => waitingCallBytes,
      ],
      [
        'hermod_delivery_memberships',
        'Group memberships of connected users that delivery holds in memory.',
        ({ memberships }) => memberships,
      ],
      [
        'hermod_presence_followed_users',
        'Users in presence lists; one counts once for each user who follows it.',
        ({ followedUsers }) => followedUsers,
      ],
    ])
  }
}
