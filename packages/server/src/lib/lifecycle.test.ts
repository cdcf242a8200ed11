import { describe, expect, it } from 'vitest'
import { Lifecycle } from './lifecycle.js'

function recorder() {
  const told: string[] = []
  return {
    told,
    part: (parts: Lifecycle, name: string, stop: () => unknown = () => {}) => {
      told.push(`start ${name}`)
      return parts.add(name, async (part) => {
        await Promise.resolve()
        told.push(`stop ${part}`)
        await stop()
      })
    },
  }
}

const fail = (message: string) => () => Promise.reject(new Error(message))

describe('Lifecycle', () => {
  it('stops parts in the reverse of the order in which they were started, one after another', async () => {
    const { told, part } = recorder()
    const parts = await Lifecycle.start(async (parts) => {
      for (const name of ['a', 'b', 'c']) part(parts, name)
      return parts
    })
    await parts.stop()
    expect(told).toEqual(['start a', 'start b', 'start c', 'stop c', 'stop b', 'stop a'])
  })

  it('stops the started parts when a start fails, and throws its error', async () => {
    const { told, part } = recorder()
    const starting = Lifecycle.start(async (parts) => {
      part(parts, 'a')
      part(parts, 'b', fail('b does not stop'))
      throw new Error('c does not start')
    })
    await expect(starting).rejects.toThrow('c does not start')
    expect(told).toEqual(['start a', 'start b', 'stop b', 'stop a'])
  })

  it('stops the other parts when one does not stop, and throws its error afterwards', async () => {
    const { told, part } = recorder()
    const parts = new Lifecycle()
    part(parts, 'a')
    part(parts, 'b', fail('b does not stop'))
    part(parts, 'c')
    await expect(parts.stop()).rejects.toThrow('b does not stop')
    expect(told.slice(3)).toEqual(['stop c', 'stop b', 'stop a'])
  })

  it('stops parts that stop together at the same time, and waits for all of them when one fails', async () => {
    const { told, part } = recorder()
    let finish = () => {}
    const last = new Promise<void>((resolve) => {
      finish = resolve
    })
    const stopping = (name: string, end: Promise<void>) => ({
      async stop() {
        told.push(`stop ${name}`)
        await end
        told.push(`stopped ${name}`)
      },
    })
    const parts = new Lifecycle()
    part(parts, 'before')
    parts.addTogether([
      stopping('a', fail('a does not stop')()),
      stopping('b', last),
      stopping('c', Promise.resolve()),
    ])
    const stopped = parts.stop()
    expect(told.slice(1)).toEqual(['stop a', 'stop b', 'stop c'])
    finish()
    await expect(stopped).rejects.toThrow('a does not stop')
    expect(told.slice(4)).toEqual(['stopped c', 'stopped b', 'stop before'])
  })

  it('stops once, also when stop is called again', async () => {
    const { told, part } = recorder()
    const parts = new Lifecycle()
    part(parts, 'a')
    await Promise.all([parts.stop(), parts.stop()])
    await parts.stop()
    expect(told).toEqual(['start a', 'stop a'])
  })
})
