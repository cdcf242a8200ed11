import { randomUUID } from 'node:crypto'
import type { GatewayCertificate } from '../../certificate.js'
import type { PushNotification } from '../../notification.js'

const lifeMs = 60_000

/**
 * Returns a plain text for the probe, which no device receives. It has the default template of the
 * certificate, else the first one.
 */
export function probeNotification(now: number, certificate?: GatewayCertificate): PushNotification {
  const { channel, templates = [] } = certificate ?? {}
  const template = templates.find(({ name }) => name === 'default') ?? templates[0]
  return {
    origin: 'task',
    kind: 'text',
    title: 'Hermod',
    body: 'Check of a push certificate',
    bigText: '',
    attachmentUrl: '',
    badge: null,
    ext: null,
    expiresAt: now + lifeMs,
    priority: 'normal',
    isSilent: true,
    collapseKey: null,
    deduplicationId: randomUUID(),
    taskId: 'check',
    receiptTag: 'check',
    ios: {},
    android: {},
    channels: channel && template ? { [channel]: { template: template.name } } : {},
  }
}
