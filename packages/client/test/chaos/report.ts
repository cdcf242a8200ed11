import { isFullRun } from '@hermod/testkit'
import type { CheckedHistory } from '@hermod/testkit/chaos'
import type { ChaosRun } from './chaos-run.js'

/** Returns the table of a run, and the command that repeats it. */
export function reportOf(run: ChaosRun, checked: CheckedHistory, seed: number): string {
  const { counts, violations } = checked
  const found = (...kinds: readonly string[]) =>
    violations.filter(({ kind }) => kinds.includes(kind)).length
  const faults = [...run.cluster.faults].sort(([a], [b]) => (a < b ? -1 : 1))
  const rows: readonly (readonly [string, string | number])[] = [
    ['faults', faults.reduce((sum, [, count]) => sum + count, 0)],
    ...faults.map(([kind, count]) => [`  ${kind}`, count] as const),
    ['invocations', counts.invocations],
    ['ok', counts.ok],
    ['refused', counts.failed],
    ['info', counts.info],
    ['received', counts.received],
    ['lost', found('lost')],
    ['doubled', found('doubled')],
    ['disordered', found('reordered', 'gap', 'stale', 'position_back', 'event_order')],
    ['phantoms', found('phantom')],
    ['ok, and lost with commits of the database', counts.doubtful],
    ['events', counts.events],
    ['events missing', found('event_missing')],
    ['pushes', counts.pushes],
    ['pushes missing', found('push_missing')],
    [
      'delivery p50 / max (ms)',
      `${percentile(run.deliveries, 0.5)} / ${percentile(run.deliveries, 1)}`,
    ],
    ['well again after, max (ms)', percentile(run.healings, 1)],
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  const table = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`)
  const settings = `${isFullRun ? 'HERMOD_TEST_FULL=on ' : ''}HERMOD_TEST_SEED=${seed}`
  const command = 'npx vitest run --project integration packages/client/test/chaos'
  return [...table, `repeat: ${settings} ${command}`].join('\n')
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0)
}
