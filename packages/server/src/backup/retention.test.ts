import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dayMs, hourMs } from '../lib/clock.js'
import { expiredBackups, type RetainedBackup } from './retention.js'

const now = Date.UTC(2026, 10, 29, 16)
const retention = { daily: 7, weekly: 4 }
const at = (createdAt: number, more: Partial<RetainedBackup> = {}): RetainedBackup => ({
  ...{ name: String(createdAt), createdAt, engine: 'sqlite', isVerified: false },
  ...more,
})
const keptOf = (backups: readonly RetainedBackup[]) => {
  const expired = new Set(expiredBackups(backups, retention, now))
  return backups.filter((each) => !expired.has(each))
}

describe('retention of backups', () => {
  it('keeps the last 24 hours, 7 days and 4 weeks of a backup every 6 hours', () => {
    const backups = Array.from({ length: 60 * 4 }, (_, index) => at(now - index * 6 * hourMs))
    const days = keptOf(backups).map(({ createdAt }) => (now - createdAt) / dayMs)
    // Four of today and yesterday, five earlier days, and the Sundays of three earlier weeks.
    expect(days).toHaveLength(4 + 5 + 3)
    expect(Math.max(...days)).toBeLessThan(28)
  })

  it('counts days and weeks that have a backup, so that none goes while no new one comes', () => {
    const backups = [100, 101, 102].map((days) => at(now - days * dayMs))
    expect(keptOf(backups)).toEqual(backups)
  })

  const anyBackup = fc.record({
    createdAt: fc.integer({ min: 0, max: 90 * 24 }).map((hours) => now - hours * hourMs),
    engine: fc.constantFrom('sqlite', 'postgres', null),
    isVerified: fc.boolean(),
  })

  it('keeps what a simple model keeps', () => {
    const day = ({ createdAt }: RetainedBackup) => new Date(createdAt).toISOString().slice(0, 10)
    const week = (each: RetainedBackup) => {
      const date = new Date(each.createdAt)
      date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7))
      return date.toISOString().slice(0, 10)
    }
    /** No newer backup of the same period, and fewer than `count` newer periods. */
    const isKeptBy = (
      periodOf: (each: RetainedBackup) => string,
      count: number,
      each: RetainedBackup,
      newer: readonly RetainedBackup[],
    ) => {
      const periods = new Set(newer.map(periodOf))
      return !periods.has(periodOf(each)) && periods.size < count
    }
    const model = (backups: readonly RetainedBackup[]) =>
      backups.filter((each) => {
        if (each.engine === null) return now - each.createdAt <= 7 * dayMs
        const newer = backups.filter(
          (other) => other.engine === each.engine && other.createdAt > each.createdAt,
        )
        return (
          now - each.createdAt < dayMs ||
          newer.length === 0 ||
          isKeptBy(day, 7, each, newer) ||
          isKeptBy(week, 4, each, newer) ||
          (each.isVerified && !newer.some(({ isVerified }) => isVerified))
        )
      })
    fc.assert(
      fc.property(
        fc.uniqueArray(anyBackup, { selector: ({ createdAt }) => createdAt }),
        (given) => {
          const backups = given.map(({ createdAt, ...more }) => at(createdAt, more))
          expect(keptOf(backups)).toEqual(model(backups))
        },
      ),
      { numRuns: 300, seed: 20_260_101 },
    )
  })
})
