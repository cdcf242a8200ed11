import { describe, expect, it } from 'vitest'
import { Core, type CoreOptions } from './core.js'
import type { CoreContext } from './core-context.js'
import type { Effect } from './effects.js'
import type { InputBody } from './inputs.js'
import type { Part } from './part.js'

const emptyState = { logs: [], unsent: [], cached: [] }

/** A core with one part under test, and a clock that the test sets. */
class Bench {
  readonly core: Core
  context!: CoreContext
  now = 1_000

  constructor(
    part: (context: CoreContext) => Part = () => ({}),
    options: Partial<CoreOptions> = {},
  ) {
    this.core = new Core({
      appId: 'app',
      userId: 0,
      deviceGuid: null,
      platform: 6,
      userAgent: 'test',
      sdk: 'test',
      random: () => 0.5,
      isDurable: true,
      parts: (context) => {
        this.context = context
        return [part(context)]
      },
      ...options,
    })
    this.step({ type: 'start', state: emptyState })
  }

  step(input: InputBody): readonly Effect[] {
    return this.core.step({ now: this.now, ...input })
  }
}

const putUnsent = (context: CoreContext, userId: number) => context.batch.setMeta({ userId })

describe('the batches of the core', () => {
  it('are applied one after the other; changes collect while one is applied', () => {
    const bench = new Bench((context) => ({
      command(id) {
        putUnsent(context, Number(id))
        return true
      },
    }))
    const command = { type: 'typing', conversationId: 1, isGroup: false } as const
    const first = bench.step({ type: 'command', id: '1', command })
    expect(first).toMatchObject([{ type: 'apply', batch: { meta: { userId: 1, commit: 1 } } }])
    expect(bench.step({ type: 'command', id: '2', command })).toEqual([])
    expect(bench.step({ type: 'command', id: '3', command })).toEqual([])
    const next = bench.step({ type: 'applied' })
    expect(next).toMatchObject([{ type: 'apply', batch: { meta: { userId: 3, commit: 2 } } }])
    expect(bench.step({ type: 'applied' })).toEqual([])
  })

  it('run callbacks when everything that was changed before is in the store', () => {
    const done: string[] = []
    const bench = new Bench((context) => ({
      command(id) {
        if (id !== 'none') putUnsent(context, 1)
        context.afterCommit(() => done.push(id))
        return true
      },
    }))
    const command = { type: 'typing', conversationId: 1, isGroup: false } as const
    bench.step({ type: 'command', id: 'none', command })
    expect(done).toEqual(['none'])
    bench.step({ type: 'command', id: 'a', command })
    bench.step({ type: 'command', id: 'none', command })
    bench.step({ type: 'command', id: 'b', command })
    expect(done).toEqual(['none'])
    bench.step({ type: 'applied' })
    expect(done).toEqual(['none', 'a', 'none'])
    bench.step({ type: 'applied' })
    expect(done).toEqual(['none', 'a', 'none', 'b'])
  })

  it('end with the store: after a failure the core does nothing more', () => {
    const bench = new Bench()
    bench.step({ type: 'storeFailed', failure: 'quota' })
    expect(bench.step({ type: 'connect' })).toEqual([])
  })
})
