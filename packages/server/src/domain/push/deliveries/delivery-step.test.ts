import { describe, expect, it } from 'vitest'
import { type DeliveryStep, readSteps, withSteps } from './delivery-step.js'

const smile = '😀'
const begun = withSteps(
  '',
  { at: 1, step: 'matched' },
  { at: 1, step: 'channel_chosen', channel: 'vendor_f' },
)

function tried(at: number, words: Partial<DeliveryStep> = {}): DeliveryStep {
  return { at, step: 'tried', channel: 'vendor_f', result: 'throttled', ...words }
}

function triedOften(times: number, steps = begun, reason = 'the rate of requests'): string {
  let text = steps
  for (let time = 1; time <= times; time++)
    text = withSteps(text, tried(time, { code: '110010', reason }))
  return text
}

describe('the steps of a delivery', () => {
  it('are all kept while there is room', () => {
    const steps = readSteps(triedOften(10))
    expect(steps).toHaveLength(12)
    expect(steps.map(({ step }) => step)).not.toContain('left_out')
  })

  it('keep how it began and how it ended, and say how many were left out', () => {
    const text = triedOften(500)
    expect(text.length).toBeLessThanOrEqual(4_000)
    expect(text.length).toBeGreaterThan(3_000)
    const steps = readSteps(text)
    expect(steps.slice(0, 3).map(({ at, step }) => [at, step])).toEqual([
      [1, 'matched'],
      [1, 'channel_chosen'],
      [1, 'tried'],
    ])
    const [leftOut, next] = [steps[3], steps[4]]
    expect(leftOut).toMatchObject({ step: 'left_out', count: 502 - (steps.length - 1) })
    expect(leftOut?.at).toBe((next?.at ?? 0) - 1)
    expect(steps.at(-1)?.at).toBe(500)
  })

  it('cut long words between characters, and keep the steps that have them', () => {
    const reason = smile.repeat(5_000)
    const [only] = readSteps(withSteps('', tried(1, { code: 'c'.repeat(5_000), reason })))
    expect(only?.reason).toBe(`${smile.repeat(149)}…`)
    expect(only?.code).toHaveLength(100)
    const changed = readSteps(withSteps('', tried(1, { changes: 'x'.repeat(400) })))[0]
    expect(changed?.changes).toHaveLength(300)
    const fitting = smile.repeat(150)
    expect(readSteps(withSteps('', tried(1, { reason: fitting })))[0]?.reason).toBe(fitting)
    const full = triedOften(30, begun, reason)
    expect(full.length).toBeLessThanOrEqual(4_000)
    expect(readSteps(full).at(-1)).toMatchObject({ at: 30, step: 'tried' })
  })

  it('keep receipts rather than tries', () => {
    const receipt: DeliveryStep = { at: 3, step: 'receipt', result: 'muted', code: '110010' }
    const steps = readSteps(triedOften(500, withSteps(triedOften(3), receipt)))
    expect(steps).toContainEqual(receipt)
  })
})
