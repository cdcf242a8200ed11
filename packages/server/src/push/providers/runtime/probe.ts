import { randomUUID } from 'node:crypto'
import type { PushNotification } from '../../sender.js'

const lifeMs = 60_000

/** A plain text for the probe, which no device receives. */
export function probeNotification(now: number): PushNotification {
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
    channels: {},
  }
}
