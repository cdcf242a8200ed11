import { describe, expect, it } from 'vitest'
import { dayMs, hourMs } from '../../lib/clock.js'
import type { BackupState } from '../backup/backup-state.js'
import { type AlertKind, alertConditions, type AlertSources } from './alert-conditions.js'

const now = Date.UTC(2026, 10, 29, 12)
const healthy: AlertSources = {
  backup: async () => null,
  disks: async () => [{ node: null, free: 2_000_000, floor: 1_000_000 }],
  certificates: async () => [],
  disabledEndpoints: async () => [],
  nodes: async () => [],
  lostHistories: async () => 0,
  integrityFinding: async () => '',
}
const backups = (state: Partial<BackupState>): Partial<AlertSources> => ({
  backup: async () => ({
    ...{ everyMs: 6 * hourMs, since: now, newestAt: now, isEncrypted: false },
    ...{ verifiedAt: now, failure: null },
    ...state,
  }),
})
const certificate = (expiresAt: number): Partial<AlertSources> => ({
  certificates: async () => [{ appId: 'demo', name: 'ios', expiresAt }],
})
const disk = (node: string | null, free: number): Partial<AlertSources> => ({
  disks: async () => [
    { node: 'other', free: 1_000_000, floor: 1_000_000 },
    { node, free, floor: 1_000_000 },
  ],
})
const node = (state: string, heartbeatAgeMs: number): Partial<AlertSources> => ({
  nodes: async () => [{ nodeId: 'n1', host: 'a:8080', state, heartbeatAgeMs }],
})

/** A condition, what it looks at, and a part of its sentence; null: it does not hold. */
const cases: readonly (readonly [AlertKind, Partial<AlertSources>, string | null])[] = [
  ['backup_failed', backups({ failure: { at: now, reason: 'the target is gone' } }), 'is gone'],
  ['backup_failed', backups({}), null],
  ['backup_late', backups({ newestAt: now - 12 * hourMs }), null],
  ['backup_late', backups({ newestAt: now - 12 * hourMs - 1 }), 'every 6 hours'],
  ['backup_late', backups({ newestAt: null, since: now - 13 * hourMs }), 'missing'],
  ['backup_late', backups({ newestAt: null, since: now - hourMs }), null],
  ['backup_late', backups({ newestAt: now - 90 * dayMs, everyMs: null }), null],
  ['backup_unverified', backups({ verifiedAt: now - 8 * dayMs }), null],
  ['backup_unverified', backups({ verifiedAt: now - 8 * dayMs - 1 }), 'hermod backup verify'],
  ['backup_unverified', backups({ verifiedAt: null, since: now - 9 * dayMs }), 'yet'],
  ['backup_unverified', backups({ verifiedAt: null, newestAt: null, since: 0 }), null],
  ['disk_low', disk(null, 999_999), ': the disk has 1 MB'],
  ['disk_low', disk(null, 1_000_000), null],
  ['disk_low', disk('n1 (a:8080)', 0), 'the disk of node n1 (a:8080) has 0 MB'],
  ['certificate_expiring', certificate(now + 14 * dayMs), 'ios of demo'],
  ['certificate_expiring', certificate(now + 14 * dayMs + 1), null],
  ['certificate_expiring', certificate(now - dayMs), 'have expired'],
  [
    'endpoint_disabled',
    {
      disabledEndpoints: async () =>
        Array.from({ length: 7 }, (_, endpointId) => ({ appId: 'demo', endpointId })),
    },
    'endpoint 4 of demo, and 2 more',
  ],
  ['node_dead', node('dead', 60_000), 'n1 (a:8080)'],
  ['node_dead', node('dead', 2 * hourMs), null],
  ['node_dead', node('live', 60_000), null],
  ['lost_history', { lostHistories: async () => 2 }, '2 applications'],
  ['integrity_fault', { integrityFinding: async () => '3 wrong facts' }, '3 wrong facts'],
]

describe('the conditions of alerts', () => {
  it.each(cases)('%s holds or not (%#)', async (kind, sources, expected) => {
    const found = await alertConditions({ ...healthy, ...sources })[kind](now)
    if (expected === null) expect(found).toBeNull()
    else expect(found).toContain(expected)
  })

  it('none holds in a healthy service without backups', async () => {
    for (const find of Object.values(alertConditions(healthy))) expect(await find(now)).toBeNull()
  })
})
