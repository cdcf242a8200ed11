import type { PushChannel } from '@hermod/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type DeviceCounts, noDevices, settle } from './batch-model.js'

const channels = ['ios_gw', 'vendor_h', 'core'] as const satisfies readonly PushChannel[]
const counts = fc
  .tuple(...channels.map(() => fc.nat({ max: 5 })), fc.nat({ max: 5 }))
  .map((numbers): DeviceCounts => {
    const targets = new Map(channels.map((channel, index) => [channel, numbers[index] ?? 0]))
    const suppressed = numbers.at(-1) ?? 0
    return { devices: numbers.reduce((sum, each) => sum + each, 0) + suppressed, targets }
  })
const plus = (a: DeviceCounts, b: DeviceCounts): DeviceCounts => ({
  devices: a.devices + b.devices,
  targets: new Map(
    channels.map((channel) => [
      channel,
      (a.targets.get(channel) ?? 0) + (b.targets.get(channel) ?? 0),
    ]),
  ),
})

describe('settle', () => {
  it('counts in the end what was found, whatever was expected', () => {
    fc.assert(
      fc.property(counts, fc.array(counts, { minLength: 1, maxLength: 5 }), (expected, parts) => {
        let counted = expected
        let left = expected
        for (const [index, found] of parts.entries()) {
          const { change, rest } = settle(left, found, { isLast: index === parts.length - 1 })
          counted = plus(counted, change)
          left = rest
        }
        expect(left).toEqual(noDevices)
        expect(counted).toEqual(parts.reduce(plus, plus(noDevices, noDevices)))
      }),
    )
  })

  it('never counts fewer than were found so far', () => {
    fc.assert(
      fc.property(counts, counts, (expected, found) => {
        const { change, rest } = settle(expected, found, { isLast: false })
        expect(plus(expected, change)).toEqual(plus(plus(noDevices, rest), found))
        for (const count of [change.devices, ...change.targets.values()])
          expect(count).toBeGreaterThanOrEqual(0)
      }),
    )
  })
})
