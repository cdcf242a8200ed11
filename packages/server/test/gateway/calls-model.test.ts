/** Random calls on one connection, against a simple model: which run, which wait, and which are refused. */
import { AppError } from '@hermod/protocol'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import { success, turns, World } from '../support/gateway/gateway-world.js'

type Step =
  | { readonly kind: 'calls'; readonly count: number }
  | { readonly kind: 'ends'; readonly count: number; readonly fails: boolean }
  | { readonly kind: 'tick' }

const steps = fc.array(
  fc.oneof(
    fc.record<Step & { kind: 'calls' }>({
      kind: fc.constant('calls'),
      count: fc.integer({ min: 1, max: 30 }),
    }),
    fc.record<Step & { kind: 'ends' }>({
      kind: fc.constant('ends'),
      count: fc.integer({ min: 1, max: 20 }),
      fails: fc.boolean(),
    }),
    fc.constant<Step>({ kind: 'tick' }),
  ),
  { minLength: 5, maxLength: 30 },
)

/** The rules of section "calls" of the contract, as counts. */
class Model {
  running = 0
  waiting = 0
  refused = 0
  answered = 0

  call(): void {
    if (this.running < 16 && this.waiting === 0) this.running++
    else if (this.waiting < 64) this.waiting++
    else this.refused++
  }

  end(): void {
    this.running--
    this.answered++
    if (this.waiting === 0) return
    this.waiting--
    this.running++
  }
}

async function run(script: readonly Step[]): Promise<void> {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  const world = await new World().listen()
  try {
    const client = await world.open()
    const model = new Model()
    const ended = new Set<number>()
    let id = 0
    const answers = () => client.frames.filter((frame) => frame.id !== undefined)
    for (const step of script) {
      if (step.kind === 'tick') await world.pass(250)
      if (step.kind === 'calls')
        for (let left = step.count; left > 0; left--) {
          client.call(++id)
          model.call()
        }
      if (step.kind === 'ends')
        for (let left = Math.min(step.count, model.running); left > 0; left--) {
          const index = world.running.findIndex((_, at) => !ended.has(at))
          ended.add(index)
          world.running[index]?.(step.fails ? new AppError('user_not_found') : success)
          model.end()
        }
      const expected = model.answered + model.refused
      // What a paused connection has sent is read with the next tick.
      for (let i = 0; i < 200 && answers().length < expected; i++) {
        await turns()
        if (model.refused > 0) await world.pass(250)
      }
      await turns()
      expect(answers()).toHaveLength(expected)
      expect(world.running.length - ended.size).toBe(model.running)
    }
    const ids = answers().map((frame) => frame.id)
    expect(new Set(ids).size).toBe(ids.length)
    const refused = answers().filter(({ code }) => code === answerCode.too_many_requests)
    expect(refused).toHaveLength(model.refused)
    expect(client.closeCode).toBe(null)
  } finally {
    vi.useRealTimers()
    await world[Symbol.asyncDispose]()
  }
}

describe('calls of a connection', () => {
  it(
    'follow the model: 16 run, 64 wait, and each is answered once',
    async () => {
      const property = fc.asyncProperty(steps, run)
      await checkProperty({ name: 'sqlite' }, property, { share: 0.1 })
    },
    propertyTimeoutMs,
  )
})
