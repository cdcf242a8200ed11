import { AlertMetrics } from './alert-metrics.js'
import { BackgroundMetrics } from './background-metrics.js'
import { ConnectionMetrics } from './connection-metrics.js'
import { BusMetrics } from './bus-metrics.js'
import { DeliveryMetrics } from './delivery-metrics.js'
import { IdentityMetrics } from './identity-metrics.js'
import { LoginMetrics } from './login-metrics.js'
import { MetricRegistry } from './metric-registry.js'
import { NodeMetrics } from './node-metrics.js'
import { PushMetrics } from './push-metrics.js'
import { RequestMetrics } from './request-metrics.js'
import { SessionMetrics } from './session-metrics.js'
import { type BatchKind, StorageMetrics } from './storage-metrics.js'
import { WebhookMetrics } from './webhook-metrics.js'

/** The metrics of one process, by subsystem. */
export class Metrics {
  readonly #registry = new MetricRegistry()
  readonly requests = new RequestMetrics(this.#registry)
  readonly connections = new ConnectionMetrics(this.#registry)
  readonly delivery = new DeliveryMetrics(this.#registry)
  readonly background = new BackgroundMetrics(this.#registry)
  readonly logins = new LoginMetrics(this.#registry)
  readonly identity = new IdentityMetrics(this.#registry)
  readonly push = new PushMetrics(this.#registry)
  readonly alerts = new AlertMetrics(this.#registry)
  readonly webhooks = new WebhookMetrics(this.#registry)
  readonly nodes = new NodeMetrics(this.#registry)
  readonly sessions = new SessionMetrics(this.#registry)
  readonly bus = new BusMetrics(this.#registry)
  readonly storage: StorageMetrics

  /** @param queued the size that waits for a commit now */
  constructor(queued: Readonly<Record<BatchKind | 'messageBytes', () => number>>) {
    this.storage = new StorageMetrics(this.#registry, queued)
  }

  /** Returns the text of /metrics and its content type. */
  render(): Promise<{ readonly contentType: string; readonly text: string }> {
    return this.#registry.render()
  }
}
