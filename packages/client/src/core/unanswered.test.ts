import { describe, expect, it } from 'vitest'
import { CoreBench } from '../../test/support/core-bench.js'
import { list, message } from '../../test/support/sync-bench.js'
import { createParts } from './parts.js'

/** A session that stays open, while one call gets no answer. */
class Living extends CoreBench {
  constructor() {
    super({ parts: createParts })
    this.open()
  }

  /** Drops the oldest call of an operation, and waits until the client calls it again. */
  expectAgain(op: string): void {
    const { id } = this.take(op)
    for (let seconds = 0; seconds < 120; seconds++) {
      this.advance(1_000)
      const again = this.calls.find((each) => each.op === op)
      if (again) {
        expect(again.id).toBeGreaterThan(id)
        return
      }
    }
    expect.fail(`${op} was not called again`)
  }

  sync(): this {
    this.answer(this.take('message.sync'), list)
    return this
  }
}

describe('a call without an answer in a session that lives on is repeated', () => {
  it('when it is the first sync', () => {
    const bench = new Living()
    bench.expectAgain('message.sync')
    bench.sync()
    expect(bench.live.connection.state).toBe('online')
  })

  it('when it reads missing changes', () => {
    const bench = new Living().sync()
    bench.event('message.stored', message(4), 4)
    bench.advance(1_000)
    bench.expectAgain('message.changes')
  })

  it('when it subscribes to the presence of users', () => {
    const bench = new Living().sync()
    bench.command({ type: 'presence', caller: 'a', userIds: [9] })
    bench.advance(100)
    bench.expectAgain('presence.subscribe')
  })

  it('when it confirms what was received', () => {
    const bench = new Living().sync()
    bench.advance(1)
    bench.expectAgain('message.delivered')
  })

  it('when it says what was read', () => {
    const bench = new Living().sync()
    bench.command({ type: 'read', conversationId: 9, msgId: 102 })
    bench.expectAgain('message.ack')
  })
})
